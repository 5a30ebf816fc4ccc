//! A session: one client's stay, from accept to close.
//!
//! A session is in one `Phase`, and a phase is a place where it waits. The folders follow the way
//! of its bytes:
//!
//! 1. `arriving`: from the greeting to the end of a login;
//! 2. `command`: bytes become a command, and it is known what that does;
//! 3. `prepared`: the same for statements that a client has prepared;
//! 4. `placing`: the command gets a lane, or waits for one;
//! 5. `running`: it is sent, alone or among commands of other sessions;
//! 6. `replying`: its reply goes to the client, and what it left is kept in mind;
//! 7. `leaving`: it ends otherwise, or the session does, or the server is gone;
//! 8. `maintenance`: timers, lanes that no session has, and what is told of all this.

use core::net::IpAddr;
use std::sync::Arc;

use sql::Effects;
use wire::collation_table::UTF8MB4_GENERAL_CI;
use wire::connect::Compression;
use wire::frame::Span;
use wire::{Caps, Status};

use crate::caching::SessionSeen;
use crate::catalog::{CatalogId, InsertId, UnderWay};
use crate::error::SqlError;
use crate::holds::Holds;
use crate::ids::{ClientStmtId, ConnectionId, HostgroupId, LaneId};
use crate::lane::Held;
use crate::link::{Charset, LinkState};
use crate::pool::queue::Ticket;
use crate::route::Route;
use crate::rules::Multiplex;
use crate::users::Account;
use crate::vars::TlsDemand;

mod arriving;
mod command;
mod due;
mod invariants;
mod leaving;
mod maintenance;
mod placing;
mod prepared;
mod replying;
mod running;

pub(crate) use arriving::login::Login;
pub(crate) use arriving::newcomers::Newcomers;
pub use arriving::newcomers::{Arrival, LoggedIn};
pub(crate) use arriving::passwords::Unjudged;
pub use arriving::secured::Secured;
pub(crate) use command::coalesced::Joiners;
pub(crate) use command::kill_statement::Killing;
pub(crate) use command::mirror::Mirrors;
pub(crate) use due::Dues;
pub(crate) use maintenance::code_reading::Surveys;
pub use maintenance::defaults::Defaults;
pub(crate) use maintenance::defects::Defects;
pub(crate) use maintenance::process_list::share;
pub use placing::donation::Parcel;
pub(crate) use prepared::handles::Handles;
use prepared::long_data::SentAhead;
pub(crate) use replying::diagnostics::Warned;
pub(crate) use replying::last_results::LastResults;

/// What a command is, as far as its way through the proxy depends on it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum What {
    /// `COM_QUERY` and whatever else is passed on as it is.
    Plain,
    /// `COM_INIT_DB` or `USE`: success changes the schema.
    Schema,
    /// A `SET` of which some or all assignments are tracked.
    Set,
    /// `COM_STMT_PREPARE`; the id is the client's.
    Prepare(ClientStmtId),
    /// `COM_STMT_EXECUTE` or a bulk execute.
    Execute(ClientStmtId),
    /// Another command about a statement that answers: fetch, reset.
    OfStatement(ClientStmtId),
    /// `COM_REGISTER_SLAVE`, or the dump of a binary log.
    Replication,
    /// The check, at login, that the client's schema exists.
    LoginSchema,
}

/// A command and what was decided about it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Job {
    pub what: What,
    pub reply: wire::result::ReplyKind,
    pub hostgroup: HostgroupId,
    /// Running it twice does no harm.
    pub repeatable: bool,
    /// It changes data, or may do so.
    pub changes: bool,
    /// What the text may do.
    pub effects: Effects,
    /// Reasons to hold the lane if it succeeds.
    pub holds: Holds,
    pub retries_left: u32,
    /// How often it may run again because a statement was not there, or had no room.
    pub mends_left: u8,
    /// The session's last insert id is set in front of it: it asks for that, or for warnings,
    /// which the `SET` clears of what others left.
    pub needs_insert_id: bool,
    /// What the session's last insert id is afterwards.
    pub insert_id: InsertId,
    /// The rest of a command that is longer than what is kept.
    pub upload: Option<Span>,
    /// Time it may run, in microseconds.
    pub timeout_us: u64,
    /// How far its server may be behind, in microseconds; `u64::MAX` for any.
    pub lag_max_us: u64,
    /// What its rules said about sharing its connection.
    pub multiplex: Option<Multiplex>,
    /// Commands that a shared connection of its own may carry: what its rules said until it asks
    /// to share, and then what holds for it.
    pub depth: Option<u32>,
    /// It asked for a connection of its own.
    pub fresh: bool,
    /// Whether it may run among other sessions' commands.
    pub sharing: running::shared::Sharing,
    /// The latest definition when it was decided what it reaches.
    pub judged: u64,
    /// What its server says is kept for the cache.
    pub fills: bool,
}

/// Of a command that reaches nothing.
const NEVER_JUDGED: u64 = u64::MAX;

/// A mend may be in vain where somebody else's reply about the statement was not waited for.
const MENDS_MAX: u8 = 4;

impl Job {
    /// A command that goes as its route says; it does nothing that is known of yet.
    pub(crate) fn routed(what: What, reply: wire::result::ReplyKind, route: &Route) -> Self {
        Self {
            what,
            reply,
            hostgroup: HostgroupId::default(),
            repeatable: false,
            changes: false,
            effects: Effects::NONE,
            holds: Holds::NONE,
            retries_left: route.retries,
            mends_left: MENDS_MAX,
            needs_insert_id: false,
            insert_id: InsertId::Told,
            upload: None,
            timeout_us: match route.timeout_ms {
                0 => u64::MAX,
                limit_ms => limit_ms.saturating_mul(1000),
            },
            lag_max_us: u64::MAX,
            multiplex: route.multiplex,
            depth: route.pipeline_depth,
            fresh: route.create_new_connection,
            sharing: running::shared::Sharing::Never,
            judged: NEVER_JUDGED,
            fills: false,
        }
    }

    /// The last insert id that the end of its reply tells for sure.
    pub(crate) fn insert_id_told(&self, end: &wire::result::End) -> Option<u64> {
        let is_told = match self.insert_id {
            InsertId::Told => true,
            InsertId::ByRows => end.row_count == 1,
            InsertId::Kept | InsertId::Asked => false,
        };
        (is_told && end.last_insert_id != 0).then_some(end.last_insert_id)
    }
}

/// Waiting for a lane.
#[derive(Debug)]
pub(crate) struct Waiting {
    pub job: Job,
    pub ticket: Ticket,
    pub since_us: u64,
    pub deadline_us: u64,
    /// The lane being dialed on behalf of this session.
    pub dialing: Option<LaneId>,
    pub attempts: u32,
    /// Until when it opens no connection, because one has just failed.
    pub paused_until_us: u64,
    /// Server that failed last.
    pub avoid: Option<usize>,
    /// What the last attempt ended with, when the server said something.
    pub said: Option<SqlError>,
    /// It says how far behind its server may be, and none could serve it when it came.
    pub for_lag: bool,
}

/// How far a command on a lane is.
#[derive(Debug)]
pub(crate) enum Stage {
    /// Steps are on their way whose success must be known before the command is sent.
    /// `toward` is the state that they lead to, where it is not the session's own.
    Aligning { pending: u32, failed: Option<SqlError>, toward: Option<Box<LinkState>> },
    /// The command is with the server.
    Sent,
    /// The server asked for a file; the client is sending it.
    Infile(command::local_file::InfileScan),
}

/// A command on a lane.
#[derive(Debug)]
pub(crate) struct Running {
    pub job: Job,
    pub lane: LaneId,
    pub stage: Stage,
    /// A byte of the reply went to the client.
    pub delivered: bool,
    pub started_us: u64,
    /// It is being ended before its time.
    pub killed: Option<running::kill::Killed>,
    /// The sequence number of the last packet of the file that the client has sent.
    pub file_seq: Option<u8>,
    /// The lane is shared: the session has a command on it and nothing else.
    pub shared: bool,
    /// Bytes of the reply so far.
    pub reply_bytes: u64,
    /// The server told that its session has changed.
    pub changed: bool,
    /// Why the statement that it executes was not prepared: told in place of what the server
    /// says of the execution.
    pub step_error: Option<Box<SqlError>>,
}

/// What a client is told when the end of a command that is not served has been seen.
#[derive(Debug)]
pub(crate) enum Then {
    /// Nothing: it asks for no answer.
    Nothing,
    /// OK, with a rule's text.
    Ok(Arc<str>),
    /// An error.
    Error(SqlError),
    /// An error, for there was no server to serve it.
    Unserved(SqlError),
}

/// Where a session waits.
#[derive(Debug)]
pub(crate) enum Phase {
    /// For the client's handshake response.
    Greeting { scramble: [u8; 20] },
    /// For what is known of the address that a proxy in front told, before that.
    Presented { scramble: [u8; 20] },
    /// For the end of the handshake of TLS, in front of that.
    Securing { scramble: [u8; 20] },
    /// For the client in the middle of authentication.
    Login(Box<Login>),
    /// For its turn, because of wrong passwords before.
    Unjudged(Unjudged),
    /// For what PAM or LDAP says of its password.
    Checking(arriving::checked::Checking),
    /// For a command.
    Idle,
    /// For what it left on lanes to be cleared away; then a login goes on, or a reset is answered.
    Clearing(Option<Box<Login>>),
    /// For its time: a rule makes it wait.
    Delayed(command::delay::Delayed),
    /// For the answer that another session has asked for.
    Joined(Box<command::coalesced::Joined>),
    /// For a lane.
    Waiting(Waiting),
    /// For a server.
    Running(Running),
    /// For a lane that it will relay on; for leave to dial one where there is none yet.
    Dialing { lane: Option<LaneId> },
    /// For either side, looking at nothing.
    Relaying(LaneId),
    /// For the rest of a long command that may have to be rewritten as a whole.
    Collecting(Span),
    /// For the end of a packet that is not served; then the client is told why, if it waits for
    /// an answer.
    Skipping { span: Span, then: Then },
    /// For the end of a file whose server is gone; the error follows it.
    Discarding { scan: command::local_file::InfileScan, error: SqlError },
}

impl Phase {
    /// What the session does, for logs and the process list.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Greeting { .. } => "waiting for the handshake response",
            Self::Presented { .. } => "presented by a proxy",
            Self::Securing { .. } => "in a TLS handshake",
            Self::Login(_) => "authenticating",
            Self::Unjudged(_) => "held up by wrong passwords",
            Self::Checking(_) => "waiting for a check of its password",
            Self::Idle => "idle",
            Self::Clearing(_) => "waiting for a reset",
            Self::Delayed(_) => "delayed by a rule",
            Self::Joined(_) => "waiting for the answer to the same query",
            Self::Waiting(_) => "waiting for a connection",
            Self::Running(Running { stage: Stage::Aligning { .. }, .. }) => "aligning",
            Self::Running(Running { stage: Stage::Infile(_), .. }) => "receiving a file",
            Self::Running(_) => "running a command",
            Self::Dialing { .. } => "connecting",
            Self::Relaying(_) => "relaying",
            Self::Collecting(_) => "receiving a long command",
            Self::Skipping { .. } => "skipping a packet that is too long",
            Self::Discarding { .. } => "discarding a file",
        }
    }
}

/// Who is at the other end.
pub(crate) struct Client {
    pub connection: ConnectionId,
    /// The client's address without its port; `localhost` for a Unix socket.
    pub addr: Arc<str>,
    /// The client's port; 0 for a Unix socket.
    pub port: u16,
    /// Who presented it.
    pub presenter: Option<Box<arriving::presented::Presenter>>,
    /// Nobody can listen in: clear text is safe.
    pub secure: bool,
    /// It may ask for TLS, where that is allowed.
    pub can_have_tls: bool,
    /// What the listener that it came to demands of its TLS.
    pub demand: Option<TlsDemand>,
    /// What is known of its TLS.
    pub tls: Option<Arc<Secured>>,
    /// How what it sends and gets is compressed.
    pub compression: Option<Compression>,
    /// The address that it was accepted on, as it is listened on, and its port.
    pub proxy: (Arc<str>, u16),
    /// Nobody: the session runs the copy of a query, and nothing is told.
    pub mirror: bool,
    /// It has logged in, and has one of the places of `mysql-max_connections`.
    pub logged_in: bool,
}

impl Client {
    /// The host by which it called in TLS (SNI); empty for none.
    pub(crate) fn server_name(&self) -> &[u8] {
        let tls = self.tls.as_deref();
        tls.and_then(|tls| tls.server_name.as_deref()).unwrap_or_default().as_bytes()
    }

    /// Its address, unless it came through a Unix socket and nobody told another one.
    pub(crate) fn ip(&self) -> Option<IpAddr> {
        self.addr.parse().ok()
    }

    /// Whether it is known by an address of its own, unlike whoever comes through a Unix socket.
    pub(crate) fn has_address(&self) -> bool {
        self.ip().is_some()
    }
}

/// The command being served, and what it leaves to the next.
#[derive(Default)]
pub(crate) struct Serving {
    /// Its bytes, kept until its reply begins.
    pub kept: Vec<u8>,
    /// Parameter data that goes out in front of it, kept as long.
    pub data: Option<Box<SentAhead>>,
    /// What the statistics will be told about it.
    pub asked: replying::query_end::QueryStart,
    /// What it may make run something anew.
    pub defining: Option<Box<UnderWay>>,
    /// What is kept of its reply for the cache, where its job says so.
    pub filling: Option<Box<replying::filling::Filling>>,
    /// Flag that the rules begin with at the next query, as an earlier one left it.
    pub next_flag: u32,
}

/// What comes from the client.
pub(crate) struct Input {
    /// Bytes lie in its buffer and were not taken.
    pub waits: bool,
    /// The client is not read from: this lane has no room for what it sends.
    pub paused_for: Option<LaneId>,
    /// The same because of what it has sent already and nobody took.
    pub full: bool,
    /// It does not take its answers: no further command is served before it does.
    pub unheard: bool,
    /// When bytes were last offered.
    pub heard_us: u64,
    /// When the client ended what it sends; it still reads, or it left.
    pub ended_us: Option<u64>,
}

impl Input {
    /// Whether there is anything to be served, or read, once the session can.
    pub(crate) fn has_more(&self) -> bool {
        self.paused_for.is_some() || self.full || self.waits || self.ended_us.is_some()
    }
}

/// One client's stay.
pub struct Session {
    pub(crate) client: Client,
    pub(crate) phase: Phase,
    pub(crate) account: Option<Arc<Account>>,
    /// What was negotiated.
    pub(crate) caps: Caps,
    /// Those of them that its lanes must have.
    pub(crate) class: Caps,
    /// What its connection should look like.
    pub(crate) want: LinkState,
    /// What it looked like after login.
    pub(crate) first: LinkState,
    pub(crate) held: Vec<Held>,
    /// What it held and left to be cleared away.
    pub(crate) clearing: leaving::clear::Clearing,
    pub(crate) stmts: Option<Box<Handles>>,
    /// What it made on the lane that it is tied to.
    pub(crate) ties: Option<Box<replying::ties::Ties>>,
    pub(crate) last: LastResults,
    /// What it knows of changes.
    pub(crate) seen: SessionSeen,
    /// A `COMMIT` or `ROLLBACK` does something without a transaction, too.
    pub(crate) completes: bool,
    pub(crate) serving: Serving,
    /// The lane it holds on whose next command a kill is on its way that was meant for the last.
    pub(crate) awaits_kill: Option<LaneId>,
    /// Stored code is being read on that lane, which it keeps.
    pub(crate) read_on: Option<LaneId>,
    /// What its command reaches, of which some was not read; where its effects say so.
    pub(crate) unread: Option<maintenance::presumed::Unread>,
    /// What it called that nobody had read.
    pub(crate) calls: Vec<maintenance::presumed::Calls>,
    /// How it set variables of which only a server knows the values.
    pub(crate) variable_texts: command::variable_texts::VariableTexts,
    /// It has set whether it is told of any change, and is told what the server tells.
    pub(crate) told_any_change: bool,
    /// It may have several transactions though its account no longer has it so.
    pub(crate) stays_parted: bool,
    /// Its server would say that a transaction is open, as far as is known.
    pub(crate) tells_transaction: bool,
    pub(crate) input: Input,
    pub(crate) timing: maintenance::deadline::Timing,
    pub(crate) auth: arriving::login::Auth,
    pub(crate) relay: running::relay::Tries,
    /// What is known of stored code, where it has sent statements to.
    pub(crate) catalogs: Vec<(HostgroupId, CatalogId)>,
}

impl Session {
    pub(crate) fn new(arrival: Arrival, scramble: [u8; 20], now_us: u64) -> Self {
        let Arrival { connection, client: addr, client_port: port, secure, proxy, .. } = arrival;
        let can_have_tls = arrival.can_have_tls;
        let blank = LinkState::new(None, Charset::Collation(UTF8MB4_GENERAL_CI.into()));
        Self {
            client: Client {
                connection,
                addr,
                port,
                presenter: None,
                secure,
                can_have_tls,
                demand: None,
                tls: None,
                compression: None,
                proxy,
                mirror: false,
                logged_in: false,
            },
            phase: Phase::Greeting { scramble },
            account: None,
            caps: Caps::NONE,
            class: Caps::NONE,
            want: blank.clone(),
            first: blank,
            held: Vec::new(),
            clearing: leaving::clear::Clearing::default(),
            stmts: None,
            ties: None,
            last: LastResults::default(),
            seen: SessionSeen::default(),
            completes: false,
            serving: Serving::default(),
            awaits_kill: None,
            read_on: None,
            unread: None,
            calls: Vec::new(),
            variable_texts: command::variable_texts::VariableTexts::default(),
            told_any_change: false,
            stays_parted: false,
            tells_transaction: false,
            input: Input {
                waits: false,
                paused_for: None,
                full: false,
                unheard: false,
                heard_us: now_us,
                ended_us: None,
            },
            timing: maintenance::deadline::Timing::new(now_us),
            auth: arriving::login::Auth {
                scramble,
                end_seq: 0,
                was_shown: false,
                compression: None,
                told: Status::AUTOCOMMIT,
                info: Vec::new(),
            },
            relay: running::relay::Tries::default(),
            catalogs: Vec::new(),
        }
    }

    /// The lane it holds for one of these reasons.
    pub(crate) fn held_for(&self, why: Holds) -> Option<&Held> {
        self.held.iter().find(|held| held.why.intersects(why))
    }

    /// The lane it holds in a hostgroup.
    pub(crate) fn held_in(&self, hostgroup: HostgroupId) -> Option<LaneId> {
        self.held.iter().find(|held| held.hostgroup == hostgroup).map(|held| held.lane)
    }

    /// Whether it has a transaction open anywhere.
    pub(crate) fn in_transaction(&self) -> bool {
        self.held_for(Holds::TRANSACTION).is_some()
    }

    /// Every reason for which it holds lanes.
    pub fn reasons(&self) -> Holds {
        self.held.iter().fold(Holds::NONE, |all, held| all.union(held.why))
    }

    /// Whether it has no client and runs the copy of a query.
    pub fn is_mirror(&self) -> bool {
        self.client.mirror
    }

    /// Whether its next command has to wait for something that its server is told or asked.
    pub(crate) fn awaits_server(&self) -> bool {
        self.awaits_kill.is_some() || self.awaits_diagnostics() || self.read_on.is_some()
    }

    /// Whether its next command has to wait.
    #[inline]
    pub(crate) fn is_held_up(&self) -> bool {
        self.input.unheard || self.awaits_server()
    }

    /// Whether the client has sent a part of something, and has to go on.
    pub(crate) fn is_in_a_command(&self) -> bool {
        match &self.phase {
            Phase::Idle => self.input.waits && !self.is_held_up(),
            Phase::Running(running) => match running.stage {
                Stage::Sent => running.job.upload.is_some(),
                Stage::Infile(_) => true,
                Stage::Aligning { .. } => false,
            },
            Phase::Collecting(_) | Phase::Skipping { .. } | Phase::Discarding { .. } => true,
            _ => false,
        }
    }

    /// What it does, for logs and the process list.
    pub fn doing(&self) -> &'static str {
        self.phase.name()
    }

    /// The account's name; empty before login.
    pub fn user(&self) -> &str {
        self.account.as_ref().map_or("", |account| &account.name)
    }
}
