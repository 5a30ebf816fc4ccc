//! What the administrative interface asks of the process it administers.
//!
//! `server` answers with workers behind it, tests with a fake. Nothing here knows sockets or SQL.

use std::sync::{Arc, Mutex};

use engine::caching::CachedOf;
use engine::config_fault::ConfigFault;
use engine::first_bytes::HeaderCounts;
use engine::proxy::Offer;
use engine::rows::{RestapiRouteRow, SchedulerRow};
use engine::snapshot::{Draft, Snapshot};
use engine::stats::{Collected, LogStreamRow, Parts};
use failover::Journal;
use keeper::Endpoint;
use monitor::Logs;

/// Makes a configuration that is to follow another one, or says what is wrong with it. It is called
/// once.
pub type MakeDraft<'a> = &'a mut dyn FnMut(&Draft) -> Result<Draft, Vec<ConfigFault>>;

/// The process that is administered. Calls may wait for workers, but not for clients.
pub trait Runtime: Send + Sync {
    /// The configuration in force.
    fn snapshot(&self) -> Arc<Snapshot>;

    /// The configuration in force, as it was typed.
    fn current(&self) -> Arc<Draft> {
        self.snapshot().draft.clone()
    }

    /// Puts in force what `make` makes of the configuration in force, as it was typed; or nothing
    /// of it. No other one comes into force meanwhile.
    fn apply(&self, make: MakeDraft<'_>) -> Result<Applied, Vec<ConfigFault>>;

    /// Client addresses that failed to log in; with `reset` they are forgotten.
    fn failed_clients(&self, reset: bool) -> Vec<FailedClient>;

    /// Certificates that clients are shown, and authorities that vouch for theirs.
    fn certificates(&self) -> Vec<tls::Certificate> {
        Vec::new()
    }

    /// What administrators have TLS from; `None` where they can have none.
    fn acceptor(&self) -> Option<Arc<tls::Acceptor>> {
        None
    }

    /// What clients are offered: by its key, administrators show passwords that are stored as
    /// hashes. `None` where they can show none.
    fn offer(&self) -> Option<Arc<Offer>> {
        None
    }

    /// Where headers of the PROXY protocol are counted.
    fn header_counts(&self) -> Arc<HeaderCounts> {
        Arc::default()
    }

    /// How the logs of servers are followed.
    fn log_streams(&self) -> Vec<LogStreamRow> {
        Vec::new()
    }

    /// What checks of servers came to, and what followed from them.
    fn logs(&self) -> Arc<Mutex<Logs>>;

    /// The mean of what the last pings of a server took, in microseconds.
    fn latency_us(&self, server: &Endpoint) -> Option<u64>;

    /// What workers have counted.
    fn collect(&self, parts: Parts) -> Collected;

    /// Whether clients are accepted: not while it is paused, and not after a stop.
    fn is_open(&self) -> bool;

    /// Everything there is to measure, in Prometheus' text format.
    fn metrics(&self) -> String;

    /// These programs run at intervals from now on.
    fn schedule(&self, rows: Vec<SchedulerRow>);

    /// These paths of the REST interface run scripts from now on.
    fn route(&self, rows: Vec<RestapiRouteRow>);

    /// Ends a client's connection, or what it does; `false` when there is no such client.
    fn kill(&self, id: u32, what: Kill) -> bool;

    /// Connections to servers that are open now, of that user or of all, serve nobody new; says how
    /// many they are.
    fn flush_connections(&self, user: Option<&str>) -> u64;

    /// Forgets some answers of the query cache; says how many they were.
    fn flush_cached(&self, some: &CachedOf) -> u64;

    /// Writes a line of an administrator to the log.
    fn log(&self, text: &str);

    /// Puts another server, that one or the best, in the place of a hostgroup's writer, or with
    /// `dry` only tells which; gives the number by which [`Runtime::switchovers`] tells of it.
    fn switch_over(
        &self,
        hostgroup: u32,
        target: Option<Endpoint>,
        dry: bool,
    ) -> Result<u64, String>;

    /// What was done to put servers in others' places.
    fn switchovers(&self) -> Arc<Mutex<Journal>>;

    /// Carries out what is asked; says how many things were concerned, or why it is not done.
    fn control(&self, order: Control) -> Result<u64, String>;
}

/// An address from which logins failed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FailedClient {
    /// The address.
    pub address: Arc<str>,
    /// Logins that failed since the last one that did not.
    pub times: u32,
    /// When the last one failed, in microseconds of the loops' clock.
    pub updated_us: u64,
}

/// What became of a configuration that is in force now.
#[derive(Clone, Default, Debug)]
pub struct Applied {
    /// What was adjusted, or acts later than now; never an error.
    pub warnings: Vec<ConfigFault>,
}

/// What a KILL ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kill {
    /// The connection.
    Connection,
    /// The query it runs.
    Query,
}

/// What can be asked of the process as a whole.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Control {
    /// Begin to serve.
    Start,
    /// Serve nobody; the administrative interface goes on.
    Stop,
    /// Accept no clients, end idle ones.
    Pause,
    /// Accept clients again.
    Resume,
    /// End and begin again.
    Restart,
    /// End at once.
    Kill,
    /// End without waiting for transactions.
    Shutdown,
    /// End when the last transaction has ended.
    ShutdownGraceful,
    /// Open log files anew.
    FlushLogs,
    /// Forget cached results, all of them.
    FlushQueryCache,
    /// Forget errors by client address.
    FlushClientHosts,
    /// Let nothing new begin in a hostgroup for so many seconds.
    Hold {
        /// Which.
        hostgroup: u32,
        /// For how long at most.
        seconds: u32,
    },
    /// Let everything begin there again.
    Release {
        /// Which.
        hostgroup: u32,
    },
    /// Forget statistics by digest.
    FlushDigests,
    /// Read certificates and keys anew.
    ReloadTls,
}
