//! What is worth a line in the log, as data; the text is made where logs are written.
//!
//! There is no event per query. Whether a line is shown is the edge's decision, by [`Level`].

mod printable;
mod quota;

use std::fmt;
use std::panic::Location;

use crate::error::SqlError;
use crate::ids::{ConnectionId, HostgroupId};
use crate::topology::{LastFault, ServerRef};

pub use printable::Printable;
pub use quota::Quota;

/// How much attention a line deserves.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Level {
    /// Of interest when looking for something.
    Debug,
    /// A change of state.
    Info,
    /// An operator should know.
    Warn,
}

/// One event.
#[derive(Clone, Debug)]
pub enum LogEvent {
    /// A client was refused before or during login.
    LoginRefused {
        /// Its connection id.
        connection: ConnectionId,
        /// Where it came from.
        client: String,
        /// What it was told.
        error: SqlError,
    },
    /// Clients were refused, or broke the protocol, without a line each.
    Untold {
        /// How many.
        clients: u64,
    },
    /// So many logins from an address failed in a row that none is tried any more.
    HostRefused {
        /// The address.
        client: String,
        /// How many failed.
        failures: u32,
    },
    /// PAM or LDAP lets an account in no more, or could not say whether a password is right.
    LoginUnchecked {
        /// The client's connection id.
        connection: ConnectionId,
        /// Where it came from.
        client: String,
        /// Who was asked.
        by: &'static str,
        /// What was said of it.
        why: String,
    },
    /// A client broke the protocol; its session ended.
    ClientFault {
        /// Its connection id.
        connection: ConnectionId,
        /// Where it came from.
        client: String,
        /// Phase the session was in.
        phase: &'static str,
        /// What was wrong.
        fault: String,
    },
    /// A client's TLS came to nothing.
    ClientTls {
        /// The connection's id.
        connection: ConnectionId,
        /// Its address.
        client: String,
        /// Why.
        reason: String,
    },
    /// A server broke the protocol; that backend connection is closed.
    ServerFault {
        /// Which server.
        server: ServerRef,
        /// What was wrong.
        fault: String,
    },
    /// Calls ended because a session or lane was gone that had to be there.
    Defect {
        /// Where in the source, the last one.
        place: &'static Location<'static>,
        /// How many.
        count: u64,
    },
    /// A connect to a server failed. Told now and then while it fails for the same reason.
    ConnectFailed {
        /// Which server.
        server: ServerRef,
        /// Why, in short.
        fault: LastFault,
        /// What the server said, if it said something.
        said: String,
    },
    /// A server's error says that it may stand elsewhere than it did. Told now and then.
    Doubted {
        /// Which server.
        server: ServerRef,
        /// The error's number.
        code: u16,
    },
    /// The operator's statement for new connections failed. Told now and then.
    InitConnectFailed {
        /// Which server.
        server: ServerRef,
        /// What clients are told.
        error: SqlError,
    },
    /// An account may not read all stored code. Told once.
    CodeHidden {
        /// The account.
        user: String,
        /// Where.
        hostgroup: HostgroupId,
        /// How many definitions, and tables whose triggers are not shown.
        count: usize,
    },
    /// What an account's questions about stored code were answered with. Told once, until an answer
    /// comes.
    CodeUnread {
        /// The account.
        user: String,
        /// Where.
        hostgroup: HostgroupId,
        /// The server's error.
        code: u16,
    },
    /// A server sends its connections to another place, and they go there.
    SentElsewhere {
        /// Which server.
        server: ServerRef,
        /// The place.
        to: String,
    },
    /// A server sends its connections to a place where they do not go. Told once.
    OfferRefused {
        /// Which server.
        server: ServerRef,
        /// Why.
        reason: String,
    },
    /// A connection failed at the place that its server sent it to.
    PlaceFailed {
        /// Which server.
        server: ServerRef,
        /// The place.
        to: String,
        /// Why.
        why: String,
    },
    /// Failures in one second reached the limit: the server is left out for a while.
    Shunned {
        /// Which server.
        server: ServerRef,
        /// The failure that tipped it.
        fault: LastFault,
        /// For how long.
        for_ms: u64,
    },
    /// A server that was shunned has let somebody in.
    ServesAgain {
        /// Which server.
        server: ServerRef,
    },
    /// A server says nothing to anybody, though answers are due: others serve in its place, where
    /// there are any. Told now and then.
    StandsStill {
        /// Which server.
        server: ServerRef,
        /// For how long nobody has heard of it.
        for_ms: u64,
    },
    /// A server that stood still has said something.
    Answers {
        /// Which server.
        server: ServerRef,
        /// How long after it was found to stand still.
        after_ms: u64,
    },
    /// A backend connection broke while a command was on it.
    LaneLost {
        /// Which server.
        server: ServerRef,
        /// The session that used it.
        connection: ConnectionId,
        /// Whether the command is tried again elsewhere.
        retried: bool,
    },
    /// No connection to a hostgroup could be had.
    NoConnection {
        /// Which hostgroup.
        hostgroup: HostgroupId,
        /// The session that wanted it.
        connection: ConnectionId,
        /// What it was told.
        error: SqlError,
    },
    /// A state that must not occur was met; the session ended.
    Broken {
        /// Its connection id.
        connection: ConnectionId,
        /// Which state.
        what: String,
    },
}

impl LogEvent {
    /// How much attention it deserves.
    pub fn level(&self) -> Level {
        match self {
            Self::LoginRefused { .. }
            | Self::ClientFault { .. }
            | Self::ClientTls { .. }
            | Self::Untold { .. }
            | Self::Doubted { .. }
            | Self::ServesAgain { .. }
            | Self::SentElsewhere { .. }
            | Self::Answers { .. } => Level::Info,
            _ => Level::Warn,
        }
    }

    /// The server that this is a reason to check, if it is one.
    pub fn doubts(&self) -> Option<&ServerRef> {
        match self {
            Self::ConnectFailed { server, .. }
            | Self::Doubted { server, .. }
            | Self::ServerFault { server, .. }
            | Self::Shunned { server, .. }
            | Self::StandsStill { server, .. } => Some(server),
            _ => None,
        }
    }
}

/// What an account is told of stored code, and what follows from that.
fn about_code(f: &mut fmt::Formatter<'_>, event: &LogEvent) -> fmt::Result {
    match event {
        LogEvent::CodeHidden { user, hostgroup, count } => write!(
            f,
            "user {} may not read what {count} views, tables or routines of hostgroup {hostgroup} \
             run: statements that reach them are taken to do anything",
            Printable(user)
        ),
        LogEvent::CodeUnread { user, hostgroup, code } => write!(
            f,
            "user {} gets error {code} when it reads what views, tables and routines of hostgroup \
             {hostgroup} run: locks that their code takes are not seen",
            Printable(user)
        ),
        _ => Ok(()),
    }
}

/// Why a client is not let in.
fn about_logins(f: &mut fmt::Formatter<'_>, event: &LogEvent) -> fmt::Result {
    match event {
        LogEvent::LoginRefused { connection, client, error } => {
            let (id, error) = (connection.0, Printable(error));
            write!(f, "client {client} (connection {id}) refused: {error}")
        }
        LogEvent::LoginUnchecked { connection, client, by, why } => {
            let (id, why) = (connection.0, Printable(why));
            write!(f, "client {client} (connection {id}) is not let in by {by}: {why}")
        }
        _ => Ok(()),
    }
}

/// Whether a server is given anything to do.
fn about_standing(f: &mut fmt::Formatter<'_>, event: &LogEvent) -> fmt::Result {
    match event {
        LogEvent::Shunned { server, fault, for_ms } => {
            write!(f, "{} shunned for {for_ms} ms: {fault}", placed(server))
        }
        LogEvent::ServesAgain { server } => {
            write!(f, "{} serves again: it accepts connections", placed(server))
        }
        LogEvent::StandsStill { server, for_ms } => {
            write!(f, "{} stands still: nothing came of it for {for_ms} ms", placed(server))
        }
        LogEvent::Answers { server, after_ms } => {
            write!(f, "{} answers again after {after_ms} ms", placed(server))
        }
        _ => Ok(()),
    }
}

/// Where a server sends its connections, and what comes of it.
fn about_places(f: &mut fmt::Formatter<'_>, event: &LogEvent) -> fmt::Result {
    match event {
        LogEvent::SentElsewhere { server, to } => {
            write!(f, "{} sends its connections to {}", placed(server), Printable(to))
        }
        LogEvent::OfferRefused { server, reason } => {
            let reason = Printable(reason);
            write!(f, "{} sends its connections elsewhere in vain: {reason}", placed(server))
        }
        LogEvent::PlaceFailed { server, to, why } => {
            let (to, why) = (Printable(to), Printable(why));
            write!(f, "{} sends its connections to {to}, which fails: {why}", placed(server))
        }
        _ => Ok(()),
    }
}

impl fmt::Display for LogEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LoginRefused { .. } | Self::LoginUnchecked { .. } => about_logins(f, self),
            Self::ClientTls { connection, client, reason } => {
                let (id, reason) = (connection.0, Printable(reason));
                write!(f, "client {client} (connection {id}): TLS failed: {reason}")
            }
            Self::Untold { clients } => write!(f, "{clients} {UNTOLD}"),
            Self::HostRefused { client, failures } => write!(
                f,
                "clients from {client} are refused from now on: {failures} logins in a row failed \
                 (mysql-client_host_error_counts); PROXYSQL FLUSH MYSQL CLIENT HOSTS lets them in"
            ),
            Self::ClientFault { connection, client, phase, fault } => write!(
                f,
                "client {client} (connection {}) broke the protocol while {phase}: {}",
                connection.0,
                Printable(fault)
            ),
            Self::ServerFault { server, fault } => {
                write!(f, "{} broke the protocol: {}", placed(server), Printable(fault))
            }
            Self::Defect { place, count } => {
                write!(f, "{count} calls ended at {place} without what they were about: a defect")
            }
            Self::ConnectFailed { server, fault, said } => {
                write!(f, "connect to {} failed: {fault}", placed(server))?;
                if !said.is_empty() {
                    write!(f, ": {}", Printable(said))?;
                }
                Ok(())
            }
            Self::Doubted { server, code } => {
                write!(f, "{} answered with error {code}: it is checked", placed(server))
            }
            Self::InitConnectFailed { server, error } => {
                let (hostgroup, error) = (server.hostgroup, Printable(error));
                write!(f, "no new connection in hostgroup {hostgroup} can be used: {error}")
            }
            Self::CodeHidden { .. } | Self::CodeUnread { .. } => about_code(f, self),
            Self::SentElsewhere { .. } | Self::OfferRefused { .. } | Self::PlaceFailed { .. } => {
                about_places(f, self)
            }
            Self::Shunned { .. }
            | Self::ServesAgain { .. }
            | Self::StandsStill { .. }
            | Self::Answers { .. } => about_standing(f, self),
            Self::LaneLost { server, connection, retried } => {
                let then = if *retried { "retried elsewhere" } else { "not retried" };
                write!(
                    f,
                    "connection to server {server} in hostgroup {} \
                     lost under connection {}, {then}",
                    server.hostgroup, connection.0
                )
            }
            Self::NoConnection { hostgroup, connection, error } => {
                let (id, error) = (connection.0, Printable(error));
                write!(f, "connection {id} got no server of hostgroup {hostgroup}: {error}")
            }
            Self::Broken { connection, what } => {
                let (id, what) = (connection.0, Printable(what));
                write!(f, "connection {id} ended by an internal error: {what}")
            }
        }
    }
}

/// A server and where it stands.
fn placed(server: &ServerRef) -> String {
    format!("server {server} in hostgroup {}", server.hostgroup)
}

const UNTOLD: &str = "more clients were refused or broke the protocol within a minute";
