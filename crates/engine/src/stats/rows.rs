//! Sessions and lanes of a worker as they are told to another thread: some at a time, so that many
//! of them never keep a worker from its work.

use std::sync::Arc;

use crate::holds::Holds;
use crate::ids::{HostgroupId, LaneId};
use crate::link::Settings;
use crate::topology::ServerRef;

/// Some sessions of a worker.
#[derive(Default, Debug)]
pub struct SessionPage {
    /// What they do, if that was asked for.
    pub rows: Vec<SessionRow>,
    /// Those that do anything.
    pub busy: usize,
    /// Those with a transaction open.
    pub in_transaction: usize,
    /// Those that are tied to a lane by something other than a transaction.
    pub pinned: usize,
    /// Statements that they have prepared.
    pub statements: usize,
    /// Bytes of memory that they hold.
    pub bytes: usize,
    /// Of those, for prepared statements.
    pub statement_bytes: usize,
    /// Where the next page begins; `None` when there is none.
    pub next: Option<u32>,
}

/// A row of `stats_mysql_processlist`, as far as a worker knows it.
#[derive(Clone, Debug)]
pub struct SessionRow {
    /// Number of the worker; whoever collects knows it.
    pub worker: usize,
    /// `SessionID`.
    pub connection: u32,
    /// `user`; `None` before it has logged in.
    pub user: Option<Arc<str>>,
    /// `db`.
    pub schema: Option<Arc<[u8]>>,
    /// `cli_host`.
    pub client: Arc<str>,
    /// `cli_port`; 0 for a Unix socket.
    pub client_port: u16,
    /// `hostgroup`.
    pub hostgroup: Option<HostgroupId>,
    /// The lane that its statement runs on, or else the first that it keeps; `None` while it waits
    /// for one.
    pub lane: Option<SessionLane>,
    /// Where the socket of that one is on this side, which whoever has the sockets knows.
    pub local: Option<(String, u16)>,
    /// The others that it keeps.
    pub others: Vec<SessionLane>,
    /// `command`.
    pub command: &'static str,
    /// `time_ms`.
    pub time_ms: u64,
    /// `info`.
    pub text: Option<Vec<u8>>,
    /// What it does, in words.
    pub doing: &'static str,
    /// Whether it is in autocommit mode.
    pub autocommit: bool,
    /// How long its transaction has been open; `None` without one.
    pub transaction_us: Option<u64>,
    /// Statements that it has prepared.
    pub statements: usize,
}

/// A lane that a session uses.
#[derive(Clone, Debug)]
pub struct SessionLane {
    /// Its key on its worker.
    pub lane: LaneId,
    /// The hostgroup it was checked out for.
    pub hostgroup: HostgroupId,
    /// Where it goes.
    pub server: ServerRef,
    /// The server's number of the connection.
    pub thread_id: u32,
    /// Why the session keeps it; nothing where a statement just runs there.
    pub holds: Holds,
}

/// Some lanes of a worker.
#[derive(Default, Debug)]
pub struct PoolPage {
    /// Those that nobody has.
    pub rows: Vec<LaneRow>,
    /// Bytes of memory that lanes hold.
    pub bytes: usize,
    /// Where the next page begins; `None` when there is none.
    pub next: Option<u32>,
}

/// A row of `stats_mysql_free_connections`.
#[derive(Clone, Debug)]
pub struct LaneRow {
    /// Number of the worker; whoever collects knows it.
    pub worker: usize,
    /// Its key on its worker.
    pub lane: LaneId,
    /// The descriptor of its socket, which whoever has the sockets knows.
    pub fd: Option<i32>,
    /// Where it goes.
    pub server: ServerRef,
    /// Whose login it has.
    pub user: Arc<str>,
    /// Its schema.
    pub schema: Option<Arc<[u8]>>,
    /// Whether it is in autocommit mode.
    pub autocommit: bool,
    /// How long nobody has had it.
    pub idle_ms: u64,
    /// How long it has been open.
    pub age_ms: u64,
    /// The server's number of the connection.
    pub thread_id: u32,
    /// Its character set, as it was asked for.
    pub charset: String,
    /// Variables that were set on it.
    pub settings: Option<Arc<Settings>>,
    /// What it was used for.
    pub traffic: super::Traffic,
}

/// A row of `stats_tidegate_redirects`: where a server would rather have connections.
#[derive(Clone, Debug)]
pub struct RedirectRow {
    /// The server.
    pub server: ServerRef,
    /// The place; what was offered, where that is none.
    pub to: String,
    /// The name to log in with there, where it is another one.
    pub user: Option<String>,
    /// How long it holds yet; 0 where it is not followed.
    pub ttl_us: u64,
    /// When it was offered, in microseconds of the loops' clock.
    pub since_us: u64,
    /// Connections that were let in there.
    pub followed: u64,
    /// Connections that were not.
    pub failed: u64,
    /// Why it was not followed the last time.
    pub last_error: String,
}

impl RedirectRow {
    /// Whether another worker's row is about the same.
    pub fn is_like(&self, other: &Self) -> bool {
        self.server.index == other.server.index && self.to == other.to && self.user == other.user
    }

    /// Adds what another worker knows of the same.
    pub fn merge(&mut self, other: Self) {
        self.ttl_us = self.ttl_us.max(other.ttl_us);
        self.since_us = self.since_us.min(other.since_us);
        self.followed += other.followed;
        self.failed += other.failed;
        if self.last_error.is_empty() {
            self.last_error = other.last_error;
        }
    }
}

/// A row of `stats_tidegate_query_cache_streams`: how the log of a server is followed for a
/// hostgroup's cached answers.
#[derive(Clone, Debug)]
pub struct LogStreamRow {
    /// The hostgroup.
    pub hostgroup: u32,
    /// The server's name, or path of its socket.
    pub hostname: String,
    /// Its port.
    pub port: i64,
    /// `beginning`, `following`, `lagging` or `failed`.
    pub state: &'static str,
    /// Why it is not followed, or what makes that of little use.
    pub reason: String,
    /// The last transaction that was read; empty before the first.
    pub gtid: String,
    /// Where its log is read.
    pub position: String,
    /// How long the last pulse took to pass, or has been under way, in milliseconds.
    pub lag_ms: u64,
    /// Events that were read.
    pub events: u64,
    /// Those of them that told of a change of one table.
    pub tables_changed: u64,
    /// Those that told of a change of any table.
    pub all_changed: u64,
    /// How often it was followed again after it could not be.
    pub reconnects: u64,
}
