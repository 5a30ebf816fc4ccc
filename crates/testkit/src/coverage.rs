//! What many seeds have to bring about: what never happens is never tried.

use std::collections::BTreeMap;

use crate::sim::RunReport;

/// How often what happened in many runs.
#[derive(Clone, Default, Debug)]
pub struct Tally {
    times: BTreeMap<&'static str, u64>,
}

impl Tally {
    /// Adds what happened in a run.
    pub fn add(&mut self, report: &RunReport) {
        let counters = &report.counters;
        let gathered = counters.shared_sent.saturating_sub(counters.shared_batches);
        let of_run = report.tally.iter().map(|(what, times)| (*what, *times));
        for (what, times) in of_run.chain(counters.pairs()).chain([(GATHERED, gathered)]) {
            *self.times.entry(what).or_default() += times;
        }
    }

    /// What happened, rarest first.
    pub fn rarest_first(&self) -> Vec<(&'static str, u64)> {
        let mut list: Vec<_> = self.times.iter().map(|(what, times)| (*what, *times)).collect();
        list.sort_by_key(|(_, times)| *times);
        list
    }

    /// What has to happen and did not: everything that is counted in a worker, and what servers
    /// and clients do.
    pub fn missing(&self) -> Vec<&'static str> {
        let times = |what: &str| self.times.get(what).copied().unwrap_or(0);
        let counted = self.times.keys().copied().filter(|what| !NEVER.contains(what));
        counted.chain(HAPPENS).filter(|what| times(what) == 0).collect()
    }
}

/// So many seeds bring about everything.
pub const SEEDS_ENOUGH: u64 = 1000;

/// Counters of what must not happen, of what nobody asked to be summed up, of what clients do too
/// rarely, or too slowly, to meet a limit, of lags that no query here asks about, of places that
/// servers here never send anybody to, of proxies in front, of passwords that others check, and of
/// TLS, whose random numbers no seed brings about.
const NEVER: [&str; 34] = [
    "denied_without_tls",
    "proxy_headers",
    "proxy_headers_refused",
    "tls_clients",
    "tls_failures",
    "server_tls_failures",
    "lag_limited",
    "lag_limit_waits",
    "lag_limit_wait_us",
    "clients_redirected",
    "redirects_failed",
    "redirects_followed",
    "redirects_offered",
    "redirects_refused",
    "defects",
    "server_faults",
    "backend_time_us",
    "login_checks_failed",
    "login_checks_full",
    "login_checks_right",
    "login_checks_timed_out",
    "login_checks_wrong",
    "logins_held_up",
    "long_commands_refused",
    "newcomers_gave_way",
    "unfinished_commands",
    "uncached_execution",
    "uncached_freshness",
    "uncached_statement",
    "uncached_tables",
    "uncached_varies",
    "unkept_warnings",
    "cache_coalesce_full",
    "unkept_room",
];

/// An administrator ended all sessions.
pub(crate) const END_OF_ALL_SESSIONS: &str = "end of all sessions";

/// Commands that went out together with one in front of them.
const GATHERED: &str = "lane shared: gathered";

/// What servers and clients do.
const HAPPENS: [&str; 115] = [
    "a server keeps the writes",
    "another server takes the writes",
    "the server that takes the writes is gone",
    "answered by a rule",
    "autocommit",
    "begin",
    "blow",
    "brief",
    "call",
    "chained",
    "change user",
    "changed configuration",
    "client: answered",
    "client: answered by an error",
    "client: left in a command",
    "client: left without a word",
    "client: login",
    "client: pipelined",
    "client: refused",
    "client: says no more",
    "client: turned away",
    "close statement",
    "collect",
    "counts",
    "delayed",
    "end",
    END_OF_ALL_SESSIONS,
    "execute",
    "execute with long data",
    "failing",
    "fetch",
    "file",
    "first of two",
    "garbled command",
    "garbled login",
    "half",
    "hinted",
    "kill",
    "lane shared: gathered",
    "last insert id",
    "local",
    "locking read",
    "long data",
    "long read",
    "long write",
    "names",
    "panic: changed configuration",
    "panic: collect",
    "panic: end of all sessions",
    "panic: pause",
    "pause",
    "pin",
    "pin by rows",
    "ping",
    "prepare",
    "prepared by a rule",
    "read",
    "refused by a rule",
    "refused set",
    "reset",
    "reset statement",
    "returning",
    "rewritten",
    "schema",
    "second of two",
    "server: asked for an id in the same send",
    "server: auth switch",
    "server: cursor opened",
    "server: died in an answer",
    "server: executed",
    "server: executed by types told before",
    "server: file taken",
    "server: full",
    "server: kill query",
    "server: left unasked",
    "server: lost a statement",
    "server: login",
    "server: mirrored",
    "server: prepared",
    "server: query interrupted",
    "server: reset",
    "server: says no more",
    "server: settings",
    "server: settings replayed",
    "server: tells counts",
    "server: tells of warnings",
    "server: tells the last insert id",
    "server: wants a statement prepared anew",
    "set",
    "shared",
    "sticky",
    "too long",
    "twice",
    "warn",
    "warned?",
    "warnings",
    "wordy read",
    "whole count",
    "write",
    "bridged read",
    "flush",
    "joint read",
    "kept read",
    "fed",
    "followed read",
    "followed read of the writer",
    "followed read, or by time",
    "followed table written past the proxy",
    "followed write",
    "log: begun",
    "log: cut",
    "log: lags",
    "log: pulse",
    "log: stands",
    "server: followed table written",
];
