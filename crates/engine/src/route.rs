//! From a query to its route: digest, rules, fast routing, annotations.
//!
//! Traffic and explanations call the same function. Whether a destination is obeyed (a
//! transaction may keep the session elsewhere) is the session's decision.

use std::sync::Arc;

use sql::{Digest, Digester, Effects, Facts, Hints, KnownFacts, Modes, Omitted, Reach};

use crate::ids::HostgroupId;
use crate::rules::{
    DigestRef, Invalidation, Multiplex, Observer, RuleInput, RuleScratch, RuleStep, RuleVerdict,
};
use crate::snapshot::Snapshot;
use crate::vars::Vars;

mod conduct;
mod decision;
mod forms;

pub use conduct::{Conduct, Why};
pub use decision::Decision;
use decision::Matched;
use forms::{Forms, Reading, UNCERTAIN};

/// A query and who sent it.
#[derive(Clone, Copy, Debug)]
pub struct Query<'a> {
    /// Client's user name.
    pub username: &'a [u8],
    /// Session's current schema; empty for none.
    pub schemaname: &'a [u8],
    /// Client's address without its port, `localhost` for a Unix socket; empty when not known.
    pub client_addr: &'a [u8],
    /// Local address the client connected to; empty when not known.
    pub proxy_addr: &'a [u8],
    /// Local port the client connected to; 0 for a Unix socket.
    pub proxy_port: u16,
    /// The host by which the client called in TLS (SNI); empty for none.
    pub server_name: &'a [u8],
    /// The flag that the chain begins with: what an earlier query of the session left as
    /// [`Route::next_query_flag_in`], or a mirrored copy's; else 0.
    pub flag_in: u32,
    /// Query text; of an execute, the text that was prepared.
    pub text: &'a [u8],
    /// The digest, where it is known already, as that of a prepared statement is.
    pub digest: Option<Digest<'a>>,
    /// A prepared statement is executed: its text is never rewritten.
    pub execute: bool,
    /// Annotations are looked at: not in the copy of a query that is mirrored, nor where the
    /// account has none.
    pub annotations: bool,
    /// How its server reads the text.
    pub modes: Modes,
    /// Whether that is certain: no statement of the session may have changed it unseen.
    pub modes_known: bool,
}

/// Everything that was decided about a query before it is placed.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Route {
    /// Hostgroup it goes to; `None` for the user's default.
    pub destination: Option<HostgroupId>,
    /// The proxy answers it; nothing is sent to a server.
    pub answer: Option<Box<Answer>>,
    /// The text was rewritten; see [`QueryProcessor::rewritten`].
    pub rewritten: bool,
    /// Milliseconds it waits before it is run; 0 for none.
    pub delay_ms: u64,
    /// Milliseconds after which it is killed.
    pub timeout_ms: u64,
    /// Times it is run again after a failure.
    pub retries: u32,
    /// What becomes of sharing the connection.
    pub multiplex: Option<Multiplex>,
    /// Commands of several sessions that its connection may carry; `None` for what the user, the
    /// hostgroup or the variable says.
    pub pipeline_depth: Option<u32>,
    /// Flag that the chains of the session's next queries begin with, until another query says
    /// otherwise; `None` leaves it.
    pub next_query_flag_in: Option<u32>,
    /// A copy is sent elsewhere.
    pub mirror: Option<Mirror>,
    /// A connection is made for this query, and not pooled.
    pub create_new_connection: bool,
    /// What the query cache has to do with it.
    pub caching: Caching,
    /// The server must have what this session last wrote in that hostgroup.
    pub gtid_from_hostgroup: Option<HostgroupId>,
    /// How new its server's data must be by its annotations.
    pub freshness: Option<Box<Freshness>>,
    /// Whether the query is logged; `None` for the default.
    pub log: Option<bool>,
    /// Hash of the digest, of the text as rewritten; `None` when digests are off. Its text is
    /// [`QueryProcessor::digest`].
    pub digest: Option<u64>,
    /// The chain's flag at its end.
    pub flag: u32,
    /// Whether a rule with `apply=1` ended the evaluation.
    pub applied: bool,
    /// Whether `destination` is fast routing's.
    pub fast_routed: bool,
}

/// Made and moved for each query: of this size that takes no call.
const _: () = assert!(size_of::<Route>() <= 128);

/// What the query cache has to do with a query.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Caching {
    /// Milliseconds for which the result is cached; `None` for not at all.
    pub ttl_ms: Option<u32>,
    /// Whether an empty result is cached too.
    pub empty_result: bool,
    /// What ends the cached result beside its time, by its rules.
    pub invalidation: Option<Invalidation>,
    /// Whether those who ask the same at the same time share an answer; `None` for: where it is
    /// cached.
    pub coalesce: Option<bool>,
    /// Milliseconds for which a cached result may be told beyond its time where no server can
    /// answer.
    pub serve_stale_ms: u32,
}

impl Caching {
    /// For how many milliseconds an answer is good for others; 0 for those alone who have asked
    /// before its statement is sent, and `None` for nobody.
    #[inline]
    pub(crate) fn shared_for_ms(&self) -> Option<u32> {
        self.ttl_ms.or((self.coalesce == Some(true)).then_some(0))
    }
}

/// How new the data of a query's server must be.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Freshness {
    /// It must have this transaction, as `uuid:number`.
    pub min_gtid: Option<Box<[u8]>>,
    /// It may lag at most so many milliseconds.
    pub max_lag_ms: Option<u32>,
    /// Its data must be as new as this time since 1970, in milliseconds.
    pub min_epoch_ms: Option<u64>,
}

/// What the proxy answers itself.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Answer {
    /// OK with this text as its information.
    Ok(Arc<str>),
    /// Error 1148 (42000) with this text.
    Error(Arc<str>),
}

/// Where the copy of a query goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mirror {
    /// Its hostgroup unless its own chain says otherwise; `None` for that of the original.
    pub hostgroup: Option<HostgroupId>,
    /// Flag that its chain begins with; `None` when no rule looks at the copy.
    pub flag_in: Option<u32>,
}

/// One worker's way from queries to routes, with the memory it needs.
pub struct QueryProcessor {
    rules: RuleScratch,
    digester: Digester,
    forms: Forms,
    facts: KnownFacts,
    last: LastDigest,
    random: u64,
    clock_ns: fn() -> u64,
    time_ns: u64,
    /// How many configurations came into force.
    configurations: u64,
    /// Which rules matched, where that was asked last.
    matched: Matched,
}

/// The digest of the last query; its parts are kept from one query to the next.
#[derive(Default)]
struct LastDigest {
    hash: Option<u64>,
    text: Vec<u8>,
    comment: Vec<u8>,
    has_comment: bool,
    omitted: Omitted,
}

impl QueryProcessor {
    /// One for a worker; `seed` only chooses among flags with weights.
    pub fn new(snapshot: &Snapshot, seed: u64) -> Self {
        Self {
            rules: snapshot.rules.scratch(),
            digester: Digester::new(),
            forms: Forms::default(),
            facts: KnownFacts::default(),
            last: LastDigest::default(),
            random: seed,
            clock_ns: || 0,
            time_ns: 0,
            configurations: 0,
            matched: Matched::default(),
        }
    }

    /// Another configuration is in force: what was remembered and counted for other rules is given
    /// back, and begins anew. It is worth nothing, but letting go of it takes time.
    pub fn adopt(&mut self, snapshot: &Snapshot) -> Option<RuleScratch> {
        self.configurations += 1;
        let changed = !snapshot.rules.owns(&self.rules);
        changed.then(|| std::mem::replace(&mut self.rules, snapshot.rules.scratch()))
    }

    /// Decides about a query.
    pub fn route(&mut self, snapshot: &Snapshot, query: &Query<'_>) -> Route {
        self.route_timed(snapshot, query, &mut ())
    }

    #[inline]
    fn route_timed<O: Observer>(
        &mut self,
        snapshot: &Snapshot,
        query: &Query<'_>,
        observer: &mut O,
    ) -> Route {
        if !snapshot.vars.stats_time_query_processor {
            return self.route_observed(snapshot, query, observer);
        }
        let began_ns = (self.clock_ns)();
        let route = self.route_observed(snapshot, query, observer);
        self.time_ns += (self.clock_ns)().saturating_sub(began_ns);
        route
    }

    /// Takes the time by this clock, where `mysql-stats_time_query_processor` asks for it; without
    /// one no time passes.
    pub fn time_with(&mut self, clock_ns: fn() -> u64) {
        self.clock_ns = clock_ns;
    }

    /// Nanoseconds that were spent on decisions while they were timed.
    pub fn time_ns(&self) -> u64 {
        self.time_ns
    }

    /// How often a search for each active rule's patterns was given up, in the order of
    /// [`crate::rules::RuleSet::rule_ids`].
    pub fn limit_hits(&self) -> impl Iterator<Item = u64> + '_ {
        self.rules.limit_hits()
    }

    /// Decides about a query and tells how; with an observer that watches, nothing is counted.
    pub fn route_observed<O: Observer>(
        &mut self,
        snapshot: &Snapshot,
        query: &Query<'_>,
        observer: &mut O,
    ) -> Route {
        self.take_digest(&snapshot.vars, query);
        let input = RuleInput {
            username: query.username,
            schemaname: query.schemaname,
            client_addr: query.client_addr,
            proxy_addr: query.proxy_addr,
            proxy_port: query.proxy_port,
            server_name: query.server_name,
            flag_in: query.flag_in,
            text: query.text,
            digest: self.last.digest().map(DigestRef::from),
            execute: query.execute,
            random: next_random(&mut self.random),
        };
        let modes = (query.modes, query.modes_known);
        let reading = self.forms.reading(snapshot, &mut self.rules, &input, modes);
        let form;
        let seen = match reading {
            Reading::AsRun => {
                form = self.forms.form_of(&input, &snapshot.vars);
                &form
            }
            Reading::AsWritten | Reading::Uncertain => &input,
        };
        let mut verdict = match reading {
            Reading::Uncertain => uncertain(),
            _ => snapshot.rules.evaluate(seen, &mut self.rules, observer),
        };
        let fast = match verdict.applied {
            true => None,
            false => snapshot.fast_routing.find(query.username, query.schemaname, verdict.flag),
        };
        verdict.destination = fast.or(verdict.destination);
        let hints = self.last.hints(&snapshot.vars, query, &verdict);
        let mut route = of_verdict(&snapshot.vars, verdict);
        route.fast_routed = fast.is_some();
        if let Some(hints) = hints {
            obey(&hints, &snapshot.vars, &mut route);
        }
        if route.rewritten && self.last.hash.is_some() {
            let options = snapshot.vars.digest_options();
            self.last.keep(self.digester.digest(self.rules.rewritten(), &options));
        }
        route.digest = self.last.hash;
        route
    }

    /// Where the writes of whoever sends `query` go, as far as their text does not matter; `None`
    /// for the user's default. No hit is counted, and the last query is forgotten.
    pub fn destination_of_writes(
        &mut self,
        snapshot: &Snapshot,
        query: &Query<'_>,
    ) -> Option<HostgroupId> {
        /// Neither a table nor a column anybody has a rule for.
        const WRITE: &[u8] = b"UPDATE t SET c=1";
        if snapshot.rules.is_empty() && snapshot.fast_routing.is_empty() {
            return None;
        }
        let query = Query { text: WRITE, digest: None, execute: true, ..*query };
        self.route_observed(snapshot, &query, &mut Uncounted).destination
    }

    /// The digest of the last query, as rewritten; `None` when digests are off.
    pub fn digest(&self) -> Option<Digest<'_>> {
        self.last.digest()
    }

    /// The facts of the text of the last query, which is `text`, as rewritten.
    pub fn facts(&mut self, text: &[u8]) -> Facts {
        match self.last.digest() {
            Some(digest) => self.facts.facts(text, &digest),
            None => self.facts.facts_without_digest(text),
        }
    }

    /// What the last query reaches, where facts were asked of it that follow from its digest.
    pub fn reach(&self, epoch: u64) -> Option<Effects> {
        self.facts.reach(epoch)
    }

    /// Notes it.
    pub fn note_reach(&mut self, reach: Reach) {
        self.facts.note_reach(reach);
    }

    /// The text of the last query as rules rewrote it, when its route says so.
    pub fn rewritten(&self) -> &[u8] {
        self.rules.rewritten()
    }

    /// How often each active rule matched, in the order of [`crate::rules::RuleSet::rule_ids`].
    pub fn hits(&self) -> &[u64] {
        self.rules.hits()
    }

    fn take_digest(&mut self, vars: &Vars, query: &Query<'_>) {
        self.facts.forget_last();
        self.last.hash = None;
        self.last.has_comment = false;
        if !vars.query_digests {
            return;
        }
        let digest = match query.digest {
            Some(known) => known,
            None => self.digester.digest(query.text, &vars.digest_options()),
        };
        self.last.keep(digest);
    }
}

/// What becomes of a text that has too many forms.
#[cold]
fn uncertain() -> RuleVerdict {
    RuleVerdict { error_msg: Some(UNCERTAIN.into()), applied: true, ..RuleVerdict::default() }
}

/// Counts nothing: it is asked what would be.
struct Uncounted;

impl Observer for Uncounted {
    const WATCHES: bool = false;
    const COUNTS: bool = false;

    fn on_rule(&mut self, _: &RuleStep<'_>) {}
}

impl LastDigest {
    fn digest(&self) -> Option<Digest<'_>> {
        let first_comment = self.has_comment.then_some(self.comment.as_slice());
        let omitted = self.omitted;
        self.hash.map(|hash| Digest { hash, text: &self.text, first_comment, omitted })
    }

    /// The annotations of the last query that are to be followed.
    fn hints(&self, vars: &Vars, query: &Query<'_>, verdict: &RuleVerdict) -> Option<Hints<'_>> {
        if !self.has_comment || !query.annotations {
            return None;
        }
        match vars.query_processor_first_comment_parsing {
            0 => None,
            1 => Some(where_silent(sql::parse_hints(&self.comment), verdict)),
            _ => Some(sql::parse_hints(&self.comment)),
        }
    }

    fn keep(&mut self, digest: Digest<'_>) {
        self.hash = Some(digest.hash);
        self.text.clear();
        self.text.extend_from_slice(digest.text);
        self.omitted = digest.omitted;
        self.has_comment = digest.first_comment.is_some();
        if let Some(comment) = digest.first_comment {
            self.comment.clear();
            self.comment.extend_from_slice(comment);
        }
    }
}

fn of_verdict(vars: &Vars, verdict: RuleVerdict) -> Route {
    let answer = match (verdict.ok_msg, verdict.error_msg) {
        (Some(text), _) => Some(Box::new(Answer::Ok(text))),
        (None, Some(text)) => Some(Box::new(Answer::Error(text))),
        (None, None) => None,
    };
    let mirrors = verdict.mirror_hostgroup.is_some() || verdict.mirror_flag_out.is_some();
    Route {
        destination: verdict.destination,
        answer,
        rewritten: verdict.rewritten,
        delay_ms: delay_ms(vars, verdict.delay_ms),
        timeout_ms: timeout_ms(vars, verdict.timeout_ms),
        retries: verdict.retries.unwrap_or(vars.query_retries_on_failure),
        multiplex: verdict.multiplex,
        pipeline_depth: verdict.pipeline_depth,
        next_query_flag_in: verdict.next_query_flag_in,
        mirror: mirrors.then_some(Mirror {
            hostgroup: verdict.mirror_hostgroup,
            flag_in: verdict.mirror_flag_out,
        }),
        create_new_connection: false,
        caching: Caching {
            ttl_ms: verdict.cache_ttl_ms,
            empty_result: {
                let by_default = vars.query_cache_stores_empty_result;
                verdict.cache_empty_result.unwrap_or(by_default)
            },
            invalidation: verdict.invalidation,
            coalesce: verdict.coalesce,
            serve_stale_ms: verdict.serve_stale_ms,
        },
        gtid_from_hostgroup: verdict.gtid_from_hostgroup,
        freshness: None,
        log: verdict.log,
        digest: None,
        flag: verdict.flag,
        applied: verdict.applied,
        fast_routed: false,
    }
}

/// Annotations where no rule said anything.
fn where_silent<'a>(hints: Hints<'a>, verdict: &RuleVerdict) -> Hints<'a> {
    Hints {
        hostgroup: hints.hostgroup.filter(|_| verdict.destination.is_none()),
        cache_ttl_ms: hints.cache_ttl_ms.filter(|_| verdict.cache_ttl_ms.is_none()),
        timeout_ms: hints.timeout_ms.filter(|_| verdict.timeout_ms.is_none()),
        delay_ms: hints.delay_ms.filter(|_| verdict.delay_ms.is_none()),
        retries: hints.retries.filter(|_| verdict.retries.is_none()),
        mirror: hints.mirror.filter(|_| verdict.mirror_hostgroup.is_none()),
        ..hints
    }
}

/// Annotations win over rules.
fn obey(hints: &Hints<'_>, vars: &Vars, route: &mut Route) {
    if let Some(hostgroup) = hints.hostgroup {
        route.destination = Some(HostgroupId(hostgroup));
        route.fast_routed = false;
    }
    if let Some(ttl_ms) = hints.cache_ttl_ms {
        route.caching.ttl_ms = Some(ttl_ms).filter(|ttl_ms| *ttl_ms > 0);
    }
    if hints.timeout_ms.is_some() {
        route.timeout_ms = timeout_ms(vars, hints.timeout_ms);
    }
    if hints.delay_ms.is_some() {
        route.delay_ms = delay_ms(vars, hints.delay_ms);
    }
    if let Some(retries) = hints.retries {
        route.retries = retries;
    }
    if let Some(hostgroup) = hints.mirror {
        let flag_in = route.mirror.and_then(|mirror| mirror.flag_in);
        route.mirror = Some(Mirror { hostgroup: Some(HostgroupId(hostgroup)), flag_in });
    }
    let freshness = Freshness {
        min_gtid: hints.min_gtid.map(Into::into),
        max_lag_ms: hints.max_lag_ms,
        min_epoch_ms: hints.min_epoch_ms,
    };
    route.freshness = (freshness != Freshness::default()).then(|| Box::new(freshness));
    route.create_new_connection = hints.new_connection;
}

/// A delay that is asked for comes on top of that of every query.
fn delay_ms(vars: &Vars, asked: Option<u32>) -> u64 {
    vars.default_query_delay_ms + u64::from(asked.unwrap_or(0))
}

/// 0 asks for the default.
fn timeout_ms(vars: &Vars, asked: Option<u32>) -> u64 {
    let asked = asked.filter(|timeout_ms| *timeout_ms > 0);
    asked.map_or(vars.default_query_timeout_ms, u64::from)
}

fn next_random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests;
