//! What workers tell of themselves when they are asked, and what their shares add up to.

use std::collections::BTreeMap;

use super::{CommandCounters, Counters, DigestPage, DigestStats};

/// What is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Parts {
    /// By digest: the largest part, which comes in pages unless it is reset.
    pub digests: bool,
    /// The next page by digest instead of the first.
    pub next_page: bool,
    /// By class of statement.
    pub commands: bool,
    /// The parts asked for begin anew, losing nothing in between.
    pub reset: bool,
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
    /// Copies of queries that it runs now.
    pub mirrors: usize,
    /// Copies of queries that wait there to be set off.
    pub mirrors_queued: usize,
    /// Nanoseconds spent on digests and rules, while that was timed.
    pub processor_ns: u64,
    /// What became of each active rule, by its id.
    pub rule_hits: Vec<(i64, RuleHits)>,
    /// By class of statement, if asked for.
    pub commands: Option<CommandCounters>,
    /// By digest, if asked for.
    pub digests: Option<DigestShare>,
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
    /// By digest.
    pub digests: DigestStats,
}

impl Default for Collected {
    fn default() -> Self {
        Self {
            now_us: 0,
            counters: Counters::default(),
            sessions: 0,
            lanes: 0,
            lanes_shared: 0,
            mirrors: 0,
            mirrors_queued: 0,
            processor_ns: 0,
            rule_hits: BTreeMap::new(),
            commands: CommandCounters::default(),
            // the shares are bounded already
            digests: DigestStats::new(usize::MAX, 0),
        }
    }
}

impl Collected {
    /// Adds a worker's share.
    pub fn merge(&mut self, share: &Share) {
        self.now_us = self.now_us.max(share.now_us);
        self.counters.merge(&share.counters);
        self.sessions += share.sessions;
        self.lanes += share.lanes;
        self.lanes_shared += share.lanes_shared;
        self.mirrors += share.mirrors;
        self.mirrors_queued += share.mirrors_queued;
        self.processor_ns += share.processor_ns;
        for (rule, hits) in &share.rule_hits {
            let sum = self.rule_hits.entry(*rule).or_default();
            sum.hits += hits.hits;
            sum.limit_hits += hits.limit_hits;
        }
        self.merge_moved(share);
    }

    /// Adds only what a worker has moved out for good: of a share that came too late to be
    /// counted otherwise.
    pub fn merge_moved(&mut self, share: &Share) {
        if let Some(commands) = &share.commands {
            self.commands.merge(commands);
        }
        self.merge_digests(share);
    }

    /// Adds only what a share has by digest: of the pages after the first.
    pub fn merge_digests(&mut self, share: &Share) {
        match &share.digests {
            Some(DigestShare::Moved(digests)) => self.digests.merge(digests),
            Some(DigestShare::Page(page)) => self.digests.merge_page(page),
            None => {}
        }
    }
}
