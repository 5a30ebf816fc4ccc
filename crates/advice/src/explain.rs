//! Why a query goes where it goes.
//!
//! The answer comes from the same function that routes traffic, watched: here its steps are only
//! written down and put beside the rows they came from.

mod actions;
mod request;

use sql::Hints;

use engine::caching::{self, Uncached};
use engine::holds;
use engine::ids::HostgroupId;
use engine::route::{Conduct, Query, QueryProcessor, Route, Why};
use engine::rows::RuleRow;
use engine::rules::{Condition, Observer, RuleStep, server_names_of_attributes};
use engine::snapshot::Snapshot;
use engine::topology::{Server, ServerState, Status};
use engine::users::Account;
use engine::vars::Interface;

pub use request::Request;

/// How a query was routed.
#[derive(Clone, Debug)]
pub struct Explanation {
    /// The query, its blanks completed.
    pub request: Request,
    /// Hash and text of its digest; `None` when digests are off.
    pub digest: Option<(u64, String)>,
    /// What it is counted as.
    pub command: &'static str,
    /// The first comment, when there is one, and what of it was not understood.
    pub comment: Option<(String, Option<String>)>,
    /// The session relays without looking: no rule is asked.
    pub fast_forward: bool,
    /// Every rule that was looked at, in order.
    pub steps: Vec<ExplainedRule>,
    /// What was decided.
    pub route: Route,
    /// The text that is sent, when rules rewrote it.
    pub rewritten: Option<String>,
    /// Where it goes, unless a transaction keeps the session elsewhere.
    pub hostgroup: HostgroupId,
    /// Why.
    pub reason: Reason,
    /// The user's transactions stay where they began, whatever the rules say.
    pub transaction_persistent: bool,
    /// Why it is never answered from the cache, though its rules say so; `None` also where they do
    /// not.
    pub never_cached: Option<Uncached>,
    /// The servers of the hostgroup.
    pub servers: Vec<Candidate>,
}

/// One rule that was looked at.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ExplainedRule {
    /// The rule.
    pub rule_id: i64,
    /// How often the rules were begun again before.
    pub iteration: u32,
    /// The flag before it and after it.
    pub flags: (u32, u32),
    /// The column that did not match; `None` when the rule matched.
    pub missed: Option<Missed>,
    /// What the rule sets, column and value.
    pub actions: Vec<(&'static str, String)>,
    /// The query text before and after, when the rule rewrote it.
    pub rewrite: Option<(String, String)>,
    /// A pattern of the rule needs the engine that backtracks.
    pub slow: bool,
    /// The rule looks into the text, so that the verdict is not remembered for the digest.
    pub reads_text: bool,
    /// It ended the evaluation.
    pub applied: bool,
}

/// Why a rule did not match.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Missed {
    /// The column.
    pub column: &'static str,
    /// What it asks for.
    pub asked: String,
    /// What the query has.
    pub found: String,
}

/// Why a hostgroup was chosen.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Reason {
    /// A rule named it.
    Rule(i64),
    /// A row of fast routing did.
    FastRouting,
    /// The query's comment did.
    Annotation,
    /// Nobody did: it is the user's default.
    Default,
    /// The user relays without looking, to its default.
    FastForward,
    /// The session's writes must be able to follow it, or are part of it: it goes where they go.
    WithWrites(Why),
}

/// A server of the hostgroup.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Candidate {
    /// Its address.
    pub server: String,
    /// Its state in `mysql_servers`.
    pub status: Status,
    /// Its weight.
    pub weight: u32,
    /// Share of the hostgroup's queries it gets, in thousandths.
    pub share_permille: u32,
    /// Why it gets none.
    pub unused: Option<String>,
    /// Connections that the user has there now, and the most it may have; `None` without a limit.
    pub of_user: Option<(u32, u32)>,
}

/// Explains a query; `rules` are the rows that the snapshot was compiled from. The error says what
/// is missing in the request.
pub fn explain(
    snapshot: &Snapshot,
    rules: &[RuleRow],
    request: &Request,
    now_us: u64,
) -> Result<Explanation, String> {
    let request = complete(snapshot, request)?;
    let name = request.username.clone().unwrap_or_default();
    let Some(account) = snapshot.users.of_client(name.as_bytes()) else {
        return Err(format!("there is no user `{name}` that may log in"));
    };
    let query = Query { annotations: account.annotations, ..query_of(&request) };
    let mut processor = QueryProcessor::new(snapshot, 0);
    let mut trace = Trace { snapshot, rules, query, text: request.sql.clone(), steps: Vec::new() };
    let mut route = Route::default();
    if !account.fast_forward {
        route = processor.route_observed(snapshot, &query, &mut trace);
    }
    let mut steps = trace.steps;
    let digest = processor.digest().filter(|_| !account.fast_forward);
    let digest_text = digest.map(|digest| lossy(digest.text)).unwrap_or_default();
    fill_in_digest(&mut steps, digest.map_or(0, |digest| digest.hash), &digest_text);
    let comment = digest.and_then(|digest| digest.first_comment);
    let named = steps.iter().rev().find(|step| {
        step.missed.is_none() && step.actions.iter().any(|(column, _)| *column == DESTINATION)
    });
    let hints = followed(snapshot, &account, comment, named.is_some());
    let reason = match (hints.hostgroup, named) {
        _ if account.fast_forward => Reason::FastForward,
        (Some(_), _) => Reason::Annotation,
        _ if route.fast_routed => Reason::FastRouting,
        (None, Some(step)) if route.destination.is_some() => Reason::Rule(step.rule_id),
        _ => Reason::Default,
    };
    let with_writes = with_writes(&request, &route).filter(|_| !account.fast_forward);
    let (destination, reason) = match with_writes {
        Some(why) => {
            let mut processor = QueryProcessor::new(snapshot, 0);
            let of_writes = processor.destination_of_writes(snapshot, &query);
            let is_led = of_writes != route.destination;
            (of_writes, if is_led { Reason::WithWrites(why) } else { reason })
        }
        None => (route.destination, reason),
    };
    let hostgroup = destination.unwrap_or(account.default_hostgroup);
    let of_hostgroup = || snapshot.hostgroups.invalidation(hostgroup);
    route.caching.invalidation = route.caching.invalidation.or_else(of_hostgroup);
    let sent = if route.rewritten { processor.rewritten() } else { request.sql.as_bytes() };
    let never_cached = never_cached(sent, &request, &route);
    Ok(Explanation {
        digest: digest.map(|digest| (digest.hash, digest_text)),
        command: sql::command_class(&sql::facts(request.sql.as_bytes())).name(),
        comment: comment.map(|text| (lossy(text), hints.not_understood.map(lossy))),
        fast_forward: account.fast_forward,
        steps,
        rewritten: route.rewritten.then(|| lossy(processor.rewritten())),
        route,
        hostgroup,
        reason,
        never_cached,
        transaction_persistent: account.transaction_persistent,
        servers: candidates(snapshot, &account, hostgroup, now_us),
        request,
    })
}

/// Says in the steps what the digest is that did not match.
fn fill_in_digest(steps: &mut [ExplainedRule], hash: u64, text: &str) {
    for missed in steps.iter_mut().filter_map(|step| step.missed.as_mut()) {
        match missed.column {
            "digest" => missed.found = format!("0x{hash:016X}"),
            "match_digest" => text.clone_into(&mut missed.found),
            _ => {}
        }
    }
}

fn never_cached(sent: &[u8], request: &Request, route: &Route) -> Option<Uncached> {
    route.caching.ttl_ms?;
    let schema = request.schemaname.as_deref().map(str::as_bytes);
    caching::never_cached(sent, schema, route)
}

impl Explanation {
    /// What the cache has to do with it, in a sentence; `None` where rules say nothing of that.
    pub fn cached(&self) -> Option<String> {
        let ttl_ms = self.route.caching.ttl_ms?;
        Some(match (self.never_cached, self.route.caching.invalidation) {
            (Some(why), _) => format!("never, in spite of cache_ttl={ttl_ms}: {}", why.reason()),
            (None, None) => format!("for {ttl_ms} ms, outside transactions"),
            (None, Some(_)) => {
                format!("for {ttl_ms} ms or until its tables change, outside transactions")
            }
        })
    }
}

/// The annotations in a comment that are followed, where a rule names a hostgroup or none does.
fn followed<'a>(
    snapshot: &Snapshot,
    account: &Account,
    comment: Option<&'a [u8]>,
    is_named: bool,
) -> Hints<'a> {
    let are_followed = match snapshot.vars.query_processor_first_comment_parsing {
        0 => false,
        1 => !is_named,
        _ => true,
    };
    let comment = comment.filter(|_| are_followed && account.annotations);
    comment.map(sql::parse_hints).unwrap_or_default()
}

/// Why a statement goes where the writes of its session go, of one in autocommit and outside a
/// transaction.
fn with_writes(request: &Request, route: &Route) -> Option<Why> {
    let facts = sql::facts(request.sql.as_bytes());
    let conduct = Conduct::of_text(&facts, holds::of_text(&facts));
    let goes = conduct.goes_with_writes(route.destination, false);
    conduct.why_with_writes().filter(|_| goes)
}

/// The query that a complete request describes.
pub fn query_of(request: &Request) -> Query<'_> {
    fn bytes(text: &Option<String>) -> &[u8] {
        text.as_deref().unwrap_or_default().as_bytes()
    }
    Query {
        username: bytes(&request.username),
        schemaname: bytes(&request.schemaname),
        client_addr: bytes(&request.client_addr),
        proxy_addr: bytes(&request.proxy_addr),
        proxy_port: request.proxy_port.unwrap_or(0),
        server_name: bytes(&request.server_name),
        flag_in: 0,
        text: request.sql.as_bytes(),
        digest: None,
        execute: false,
        annotations: true,
        modes: sql::Modes::default(),
        modes_known: true,
    }
}

/// What the request leaves out, as a login would have it.
pub fn complete(snapshot: &Snapshot, request: &Request) -> Result<Request, String> {
    let mut request = request.clone();
    if request.username.is_none() {
        let names = snapshot.users.iter().filter(|it| it.frontend && it.names.is_none());
        let first = names.map(|account| account.name.to_string()).min();
        request.username = Some(first.ok_or("there is no user that may log in")?);
    }
    if request.schemaname.is_none() {
        let name = request.username.as_deref().unwrap_or_default();
        let account = snapshot.users.of_client(name.as_bytes());
        let schema = account.as_ref().and_then(|account| account.default_schema.as_deref());
        request.schemaname = Some(schema.unwrap_or(&snapshot.vars.default_schema).to_owned());
    }
    if request.proxy_port.is_none() {
        request.proxy_port = snapshot.vars.interfaces.iter().find_map(|one| match one {
            Interface::Tcp { port, .. } => Some(*port),
            Interface::Unix(_) => None,
        });
    }
    Ok(request)
}

/// Writes down what an evaluation looks at.
struct Trace<'a> {
    snapshot: &'a Snapshot,
    rules: &'a [RuleRow],
    query: Query<'a>,
    /// The query text as it stands.
    text: String,
    steps: Vec<ExplainedRule>,
}

impl Observer for Trace<'_> {
    const WATCHES: bool = true;

    fn on_rule(&mut self, step: &RuleStep<'_>) {
        let Some((place, row)) =
            self.rules.iter().enumerate().find(|(_, row)| row.rule_id == step.rule_id)
        else {
            return;
        };
        let missed = step.missed.map(|condition| Missed {
            column: condition.name(),
            asked: asked(row, condition),
            found: self.found(condition, step.flag_before),
        });
        let rewrite = step
            .rewritten
            .map(lossy)
            .map(|after| (std::mem::replace(&mut self.text, after.clone()), after));
        let slow = self.snapshot.rules.slow_patterns();
        self.steps.push(ExplainedRule {
            rule_id: step.rule_id,
            iteration: step.iteration,
            flags: (step.flag_before, step.flag_after),
            missed,
            actions: actions::of_row(row),
            rewrite,
            slow: slow.iter().any(|fault| fault.row == Some(place)),
            reads_text: row.match_pattern.as_deref().is_some_and(|text| !text.is_empty()),
            applied: step.applied,
        });
    }
}

impl Trace<'_> {
    /// What the query has where a rule asks; digests are filled in later.
    fn found(&self, condition: Condition, flag: u32) -> String {
        match condition {
            Condition::FlagIn => flag.to_string(),
            Condition::Username => lossy(self.query.username),
            Condition::Schemaname => lossy(self.query.schemaname),
            Condition::ClientAddr => lossy(self.query.client_addr),
            Condition::ProxyAddr => lossy(self.query.proxy_addr),
            Condition::ProxyPort => self.query.proxy_port.to_string(),
            Condition::ServerName => lossy(self.query.server_name),
            Condition::Digest | Condition::MatchDigest => String::new(),
            Condition::MatchPattern => self.text.clone(),
        }
    }
}

/// What a rule asks for, negation included.
fn asked(row: &RuleRow, condition: Condition) -> String {
    let not = if row.negate_match_pattern == 1 { "not " } else { "" };
    let text = |cell: &Option<String>| cell.clone().unwrap_or_default();
    match condition {
        Condition::FlagIn => row.flag_in.to_string(),
        Condition::Username => text(&row.username),
        Condition::Schemaname => text(&row.schemaname),
        Condition::ClientAddr => text(&row.client_addr),
        Condition::ProxyAddr => text(&row.proxy_addr),
        Condition::ProxyPort => row.proxy_port.unwrap_or(0).to_string(),
        Condition::ServerName => server_names_of_attributes(&row.attributes).join(", "),
        Condition::Digest => text(&row.digest),
        Condition::MatchDigest => format!("{not}{}", text(&row.match_digest)),
        Condition::MatchPattern => format!("{not}{}", text(&row.match_pattern)),
    }
}

/// The servers of a hostgroup with their shares.
fn candidates(
    snapshot: &Snapshot,
    account: &Account,
    hostgroup: HostgroupId,
    now_us: u64,
) -> Vec<Candidate> {
    let servers = snapshot.topology.hostgroup(hostgroup);
    let most = snapshot.backends_max(account);
    let unused = |server: &Server| {
        Some(match server.state(now_us) {
            ServerState::Serving => return None,
            ServerState::Set(status) => format!("its status is {}", status.name()),
            ServerState::NoWeight => "its weight is 0".to_owned(),
            ServerState::NoConnections => "its max_connections is 0".to_owned(),
            ServerState::Unfit(stand) => format!("it {stand}"),
            ServerState::Shunned { until_us } => {
                let left_ms = (until_us - now_us) / 1_000;
                format!("shunned for {left_ms} ms more: {}", server.gauge.last_fault())
            }
        })
    };
    let used = servers.iter().filter(|server| unused(server).is_none());
    let total: u64 = used.map(|server| u64::from(server.weight)).sum();
    let candidate = |server: &std::sync::Arc<Server>| {
        let unused = unused(server);
        let weight = if unused.is_none() { u64::from(server.weight) } else { 0 };
        let share = (weight * 1_000 + total / 2).checked_div(total).unwrap_or(0);
        Candidate {
            server: server.to_string(),
            status: server.status,
            weight: server.weight,
            share_permille: u32::try_from(share).unwrap_or(0),
            unused,
            of_user: (most < u32::MAX).then(|| (account.backends.open(server.index), most)),
        }
    };
    servers.iter().map(candidate).collect()
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

const DESTINATION: &str = "destination_hostgroup";

#[cfg(test)]
mod tests;
