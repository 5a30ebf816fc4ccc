//! What is in a lane's queue: whose commands these are, and what the proxy's own are for.

use wire::result::ReplyKind;

use crate::catalog::Part;
use crate::ids::{SessionId, StmtKey};

/// A command of the proxy's own that moves a lane to a session's state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// `COM_INIT_DB` of one that every server has, because the schema of before is to be chosen
    /// again: servers take no notice where it is the current one.
    Leave,
    /// `COM_INIT_DB`.
    Schema,
    /// A `SET` of character sets and other variables.
    Settings,
    /// A `SET` that puts aside what the server alone knows, takes its place, or brings it back.
    Aside,
    /// `SET autocommit`.
    Autocommit,
    /// `SET last_insert_id`.
    InsertId,
    /// `COM_STMT_PREPARE` of a statement that is executed next.
    Prepare(StmtKey),
    /// A read once more, for the warnings it leaves behind, or something to take others' away.
    Again,
    /// What is left of the last statement, so that the lane can be somebody else's.
    Diagnostics,
}

/// A command of the proxy's own on a lane that no session has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Upkeep {
    /// `COM_PING`.
    Ping,
    /// How long the server lets a connection be idle.
    IdleMax,
    /// `COM_RESET_CONNECTION`.
    Reset,
    /// Which schema it is in, behind a reset.
    Schema,
    /// `COM_INIT_DB` of that: a server stays in it, and forgets its character set.
    SchemaAgain,
    /// A `SET` that brings it to what it was after the login: `SET NAMES`, for servers go back to
    /// different character sets, and what puts status flags right.
    Names,
    /// The operator's statement for new connections (`mysql-init_connect`).
    InitConnect,
    /// What it begins with, all of that done.
    Defaults,
    /// What there is of stored code.
    Catalog(Part),
    /// The end of the transaction that reading it began, on the lane of a session without
    /// autocommit.
    CatalogRead,
}

/// Whose reply it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Owner {
    /// The client of a session.
    Session(SessionId),
    /// Nobody's but the proxy's: moving the lane for a session.
    Step(SessionId, Step),
    /// The proxy's, on a lane that no session has.
    Upkeep(Upkeep),
    /// Nobody's: it is read to its end and thrown away.
    Nobody,
}

/// A command on its way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct InFlight {
    /// Whose reply comes back.
    pub owner: Owner,
    /// Which shape the reply has.
    pub kind: ReplyKind,
    /// How long it will take the server, in microseconds; 0 on a lane that is not shared.
    pub cost_us: u64,
}

/// Where a session's command is on a lane.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// Its reply comes next, or has begun.
    Head,
    /// Others are before it.
    Behind,
    /// It was not sent.
    Gathered,
}
