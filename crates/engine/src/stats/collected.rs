//! What workers tell of themselves when they are asked, and what their shares add up to.

use cache::Figures;
use std::collections::BTreeMap;

use super::{
    CacheStats, CommandCounters, Counters, DigestPage, DigestStats, ErrorStats, LaneRow, PoolPage,
    RedirectRow, RepeatRows, ServerShare, Servers, SessionPage, SessionRow, StmtCounts, StmtRows,
};

/// What is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Parts {
    /// By digest: the largest part, which comes in pages unless it is reset.
    pub digests: bool,
    /// The next page by digest instead of the first.
    pub next_page: bool,
    /// By class of statement.
    pub commands: bool,
    /// Of the query cache, by digest.
    pub cached: bool,
    /// How soon the same is asked again.
    pub repeats: bool,
    /// By server.
    pub servers: bool,
    /// Errors of servers.
    pub errors: bool,
    /// Of sessions, some at a time.
    pub sessions: Option<Walk>,
    /// Of lanes, some at a time.
    pub lanes: Option<Walk>,
    /// By prepared text.
    pub statements: bool,
    /// Where servers would rather have connections.
    pub redirects: bool,
    /// The parts asked for begin anew, losing nothing in between.
    pub reset: bool,
}

impl Parts {
    /// Only what is always told.
    pub const NONE: Self = Self {
        digests: false,
        next_page: false,
        commands: false,
        cached: false,
        repeats: false,
        statements: false,
        redirects: false,
        servers: false,
        errors: false,
        sessions: None,
        lanes: None,
        reset: false,
    };
}

/// Some of many things of one kind.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Walk {
    /// Where to begin; 0 at first, then what the page before said.
    pub from: u32,
    /// Whether there is to be a row for each; sums alone are cheaper.
    pub rows: bool,
}

impl Walk {
    /// All of them, a row for each.
    pub const ROWS: Self = Self { from: 0, rows: true };
    /// All of them, sums alone.
    pub const SUMS: Self = Self { from: 0, rows: false };
}

/// What one worker answers. Counters and hits are always there and are never reset.
#[derive(Debug)]
pub struct Share {
    /// When it was told, in microseconds of the loops' clock.
    pub now_us: u64,
    /// What happened on the worker.
    pub counters: Counters,
    /// Its sessions now.
    pub sessions: usize,
    /// Its backend connections now.
    pub lanes: usize,
    /// Of those, with several sessions' commands on them.
    pub lanes_shared: usize,
    /// What the cache of all workers holds now.
    pub cache: Figures,
    /// Copies of queries that it runs now.
    pub mirrors: usize,
    /// Copies of queries that wait there to be set off.
    pub mirrors_queued: usize,
    /// Nanoseconds spent on digests and rules, while that was timed.
    pub processor_ns: u64,
    /// What became of each active rule, by its id.
    pub rule_hits: Vec<(i64, RuleHits)>,
    /// Its prepared statements now.
    pub stmt_counts: StmtCounts,
    /// By prepared text, if asked for.
    pub statements: Option<StmtRows>,
    /// By class of statement, if asked for.
    pub commands: Option<CommandCounters>,
    /// Of the query cache, if asked for.
    pub cached: Option<CacheStats>,
    /// How soon the same is asked again, if asked for.
    pub repeats: Option<RepeatRows>,
    /// By digest, if asked for.
    pub digests: Option<DigestShare>,
    /// By server, if asked for.
    pub servers: Vec<ServerShare>,
    /// Errors of servers, if asked for.
    pub errors: Option<ErrorStats>,
    /// Where servers would rather have connections, if asked for.
    pub redirects: Vec<RedirectRow>,
    /// Bytes of memory for statistics by server and of errors, if lanes are asked for.
    pub other_bytes: usize,
    /// Of its sessions, if asked for.
    pub session_page: SessionPage,
    /// Of its lanes, if asked for.
    pub pool_page: PoolPage,
    /// Time since it began, in microseconds.
    pub uptime_us: u64,
    /// Bytes of memory for statistics by digest.
    pub digest_bytes: usize,
    /// Bytes of buffers that are kept for commands and digests to come, if lanes are asked for.
    pub spare_bytes: usize,
}

impl Share {
    /// What is to be asked of the worker next, until it has told everything.
    pub fn rest(&self, asked: Parts) -> Option<Parts> {
        let more = matches!(&self.digests, Some(DigestShare::Page(page)) if page.more);
        let after = |walk: Option<Walk>, next: Option<u32>| Some(Walk { from: next?, ..walk? });
        let sessions = after(asked.sessions, self.session_page.next);
        let lanes = after(asked.lanes, self.pool_page.next);
        let rest = Parts { digests: more, next_page: true, sessions, lanes, ..Parts::default() };
        (more || sessions.is_some() || lanes.is_some()).then_some(rest)
    }
}

/// What became of a rule.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct RuleHits {
    /// Times it matched.
    pub hits: u64,
    /// Times a search for one of its patterns was given up at a limit, which is no match.
    pub limit_hits: u64,
}

/// What a worker tells of its digests.
#[derive(Debug)]
pub enum DigestShare {
    /// Everything, moved out.
    Moved(Box<DigestStats>),
    /// Some rows, copied.
    Page(DigestPage),
}

impl DigestShare {
    /// What `digests` is to tell.
    pub fn of(digests: &mut DigestStats, parts: Parts) -> Self {
        match parts.reset {
            true => Self::Moved(Box::new(digests.take())),
            false => Self::Page(digests.read(!parts.next_page, PAGE_ROWS)),
        }
    }
}

/// Rows that are copied at once: some tenths of a millisecond of a worker's time.
const PAGE_ROWS: usize = 1000;

/// The shares of several workers, added up.
#[derive(Debug)]
pub struct Collected {
    /// When the last share was told, in microseconds of the loops' clock.
    pub now_us: u64,
    /// What happened.
    pub counters: Counters,
    /// Sessions now.
    pub sessions: usize,
    /// Backend connections now.
    pub lanes: usize,
    /// Of those, with several sessions' commands on them.
    pub lanes_shared: usize,
    /// What the cache holds now.
    pub cache: Figures,
    /// Copies of queries that run now.
    pub mirrors: usize,
    /// Copies of queries that wait to be set off.
    pub mirrors_queued: usize,
    /// Nanoseconds spent on digests and rules, while that was timed.
    pub processor_ns: u64,
    /// What became of each active rule, by its id.
    pub rule_hits: BTreeMap<i64, RuleHits>,
    /// By class of statement.
    pub commands: CommandCounters,
    /// Of the query cache, by digest.
    pub cached: CacheStats,
    /// How soon the same is asked again.
    pub repeats: RepeatRows,
    /// Prepared statements now.
    pub stmt_counts: StmtCounts,
    /// By prepared text.
    pub statements: StmtRows,
    /// By digest.
    pub digests: DigestStats,
    /// By server, if asked for.
    pub servers: Servers,
    /// Errors of servers, if asked for.
    pub errors: ErrorStats,
    /// Where servers would rather have connections, if asked for.
    pub redirects: Vec<RedirectRow>,
    /// Bytes of the workers' memory for statistics by server and of errors.
    pub other_bytes: usize,
    /// Of all sessions, if asked for.
    pub session_page: SessionPage,
    /// Of all lanes, if asked for.
    pub pool_page: PoolPage,
    /// Time since the first worker began, in microseconds.
    pub uptime_us: u64,
    /// Workers that have told their share.
    pub workers: usize,
    /// Bytes of the workers' memory for statistics by digest.
    pub digest_bytes: usize,
    /// Bytes of buffers that workers keep for commands and digests to come.
    pub spare_bytes: usize,
}

impl Default for Collected {
    fn default() -> Self {
        Self {
            now_us: 0,
            counters: Counters::default(),
            sessions: 0,
            lanes: 0,
            lanes_shared: 0,
            cache: Figures::default(),
            mirrors: 0,
            mirrors_queued: 0,
            processor_ns: 0,
            rule_hits: BTreeMap::new(),
            commands: CommandCounters::default(),
            cached: CacheStats::default(),
            repeats: RepeatRows::default(),
            stmt_counts: StmtCounts::default(),
            statements: StmtRows::default(),
            // the shares are bounded already
            digests: DigestStats::new(usize::MAX, 0),
            servers: Servers::new(),
            errors: ErrorStats::new(usize::MAX, 0),
            redirects: Vec::new(),
            other_bytes: 0,
            session_page: SessionPage::default(),
            pool_page: PoolPage::default(),
            uptime_us: 0,
            workers: 0,
            digest_bytes: 0,
            spare_bytes: 0,
        }
    }
}

impl Collected {
    /// Adds the first share of worker number `worker`.
    pub fn merge(&mut self, worker: usize, share: Share) {
        self.now_us = self.now_us.max(share.now_us);
        self.counters.merge(&share.counters);
        self.sessions += share.sessions;
        self.lanes += share.lanes;
        self.lanes_shared += share.lanes_shared;
        self.cache = share.cache;
        self.mirrors += share.mirrors;
        self.mirrors_queued += share.mirrors_queued;
        self.processor_ns += share.processor_ns;
        for (rule, hits) in &share.rule_hits {
            let sum = self.rule_hits.entry(*rule).or_default();
            sum.hits += hits.hits;
            sum.limit_hits += hits.limit_hits;
        }
        self.stmt_counts.merge(&share.stmt_counts);
        if let Some(repeats) = &share.repeats {
            self.repeats.merge(repeats);
        }
        if let Some(statements) = &share.statements {
            self.statements.merge(statements);
        }
        for server in &share.servers {
            match self.servers.get_mut(&server.server.index) {
                Some(known) => known.merge(server),
                None => drop(self.servers.insert(server.server.index, server.clone())),
            }
        }
        self.uptime_us = self.uptime_us.max(share.uptime_us);
        self.workers += 1;
        self.digest_bytes += share.digest_bytes;
        self.spare_bytes += share.spare_bytes;
        self.other_bytes += share.other_bytes;
        self.merge_counts(&share);
        let mut share = share;
        for row in std::mem::take(&mut share.redirects) {
            match self.redirects.iter_mut().find(|known| known.is_like(&row)) {
                Some(known) => known.merge(row),
                None => self.redirects.push(row),
            }
        }
        self.merge_pages(worker, share);
    }

    /// Adds only what a worker has moved out for good: of a share that came too late to be
    /// counted otherwise.
    pub fn merge_moved(&mut self, share: &Share) {
        self.merge_counts(share);
        self.merge_digests(share);
    }

    fn merge_counts(&mut self, share: &Share) {
        if let Some(commands) = &share.commands {
            self.commands.merge(commands);
        }
        if let Some(cached) = &share.cached {
            self.cached.merge(cached);
        }
        if let Some(errors) = &share.errors {
            self.errors.merge(errors);
        }
    }

    /// Adds only what is told in pages: of the shares of a worker after the first.
    pub fn merge_pages(&mut self, worker: usize, share: Share) {
        self.merge_digests(&share);
        let SessionPage { rows, busy, in_transaction, pinned, statements, .. } = share.session_page;
        let all = &mut self.session_page;
        all.rows.extend(rows.into_iter().map(|row| SessionRow { worker, ..row }));
        all.busy += busy;
        all.in_transaction += in_transaction;
        all.pinned += pinned;
        all.statements += statements;
        all.bytes += share.session_page.bytes;
        all.statement_bytes += share.session_page.statement_bytes;
        let rows = share.pool_page.rows.into_iter().map(|row| LaneRow { worker, ..row });
        self.pool_page.rows.extend(rows);
        self.pool_page.bytes += share.pool_page.bytes;
    }

    fn merge_digests(&mut self, share: &Share) {
        match &share.digests {
            Some(DigestShare::Moved(digests)) => self.digests.merge(digests),
            Some(DigestShare::Page(page)) => self.digests.merge_page(page),
            None => {}
        }
    }
}
