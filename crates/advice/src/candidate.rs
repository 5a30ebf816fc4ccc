//! Candidate rules beside the live ones: what would change, by digest.
//!
//! Both ways are gone by the function that routes traffic. Queries come from the feeder of a
//! [`Comparison`]. What flags a session's earlier queries left is not known to it, so that each
//! chain begins with the flag of its query.

use std::collections::HashMap;

use engine::ids::HostgroupId;
use engine::route::{Answer, Mirror, Query, QueryProcessor, Route};
use engine::snapshot::Snapshot;

/// Two configurations, and what their rules decided differently so far.
pub struct Comparison {
    live: Side,
    new: Side,
    differences: HashMap<Key, Difference>,
    queries: u64,
    changed: u64,
    unlisted: u64,
}

/// Queries of one digest that change in one way.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Difference {
    /// Hash and text of the digest with the live variables; `None` when they have digests off.
    pub digest: Option<(u64, String)>,
    /// User of the first such query.
    pub username: String,
    /// Schema of the first such query.
    pub schemaname: String,
    /// The first such query.
    pub example: String,
    /// How many there were.
    pub count: u64,
    /// What changes; never empty.
    pub changes: Vec<RouteChange>,
}

/// One thing that changes.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct RouteChange {
    /// What it is: `hostgroup`, or what a rule's column decides.
    pub what: &'static str,
    /// As it is.
    pub live: String,
    /// As it would be.
    pub new: String,
}

/// What was found so far.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CandidateOutcome {
    /// Queries that were compared.
    pub queries: u64,
    /// Those that change.
    pub changed: u64,
    /// Those of them that are not among the differences, since there are too many kinds.
    pub unlisted: u64,
    /// The most frequent first.
    pub differences: Vec<Difference>,
}

impl Comparison {
    /// Nothing compared yet.
    pub fn new(live: &Snapshot, new: &Snapshot) -> Self {
        Self {
            live: Side::new(live),
            new: Side::new(new),
            differences: HashMap::new(),
            queries: 0,
            changed: 0,
            unlisted: 0,
        }
    }

    /// Compares what becomes of a query that came `count` times.
    pub fn compare(&mut self, query: &Query<'_>, count: u64) {
        let live = self.live.decide(query);
        let new = self.new.decide(query);
        self.queries = self.queries.saturating_add(count);
        let changes: Vec<RouteChange> = live
            .into_iter()
            .zip(new)
            .filter(|(live, new)| live.1 != new.1)
            .map(|((what, live), (_, new))| RouteChange { what, live, new })
            .collect();
        if changes.is_empty() {
            return;
        }
        self.changed = self.changed.saturating_add(count);
        let digest = self.live.processor.digest();
        let key = (digest.map(|digest| digest.hash), changes);
        if let Some(known) = self.differences.get_mut(&key) {
            known.count = known.count.saturating_add(count);
        } else if self.differences.len() >= DIFFERENCES_MAX {
            self.unlisted = self.unlisted.saturating_add(count);
        } else {
            let difference = Difference {
                digest: digest.map(|digest| (digest.hash, lossy(digest.text))),
                username: lossy(query.username),
                schemaname: lossy(query.schemaname),
                example: lossy(query.text),
                count,
                changes: key.1.clone(),
            };
            self.differences.insert(key, difference);
        }
    }

    /// What was found so far.
    pub fn outcome(&self) -> CandidateOutcome {
        let mut differences: Vec<_> = self.differences.values().cloned().collect();
        differences.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.example.cmp(&b.example)));
        let Self { queries, changed, unlisted, .. } = *self;
        CandidateOutcome { queries, changed, unlisted, differences }
    }
}

type Key = (Option<u64>, Vec<RouteChange>);

/// One of the two configurations.
struct Side {
    snapshot: Snapshot,
    processor: QueryProcessor,
}

impl Side {
    fn new(snapshot: &Snapshot) -> Self {
        Self { snapshot: snapshot.clone(), processor: QueryProcessor::new(snapshot, 0) }
    }

    /// Everything that may differ, always in the same order.
    fn decide(&mut self, query: &Query<'_>) -> Vec<(&'static str, String)> {
        let route = self.processor.route(&self.snapshot, query);
        let hostgroup = match (&route.answer, route.destination) {
            (Some(_), _) => "none".to_owned(),
            (None, Some(id)) => id.to_string(),
            (None, None) => {
                let account = self.snapshot.users.of_client(query.username);
                account.map_or("unknown user".to_owned(), |one| one.default_hostgroup.to_string())
            }
        };
        let text =
            if route.rewritten { lossy(self.processor.rewritten()) } else { "as it is".into() };
        let mut decided = vec![("hostgroup", hostgroup), ("text", text)];
        decided.extend(others(&route));
        decided
    }
}

fn others(route: &Route) -> [(&'static str, String); 10] {
    let number = |value: Option<u32>| value.map_or("none".to_owned(), |value| value.to_string());
    let hostgroup = |id: Option<HostgroupId>| id.map_or("its own".to_owned(), |id| id.to_string());
    let answer = match route.answer.as_deref() {
        None => "none".to_owned(),
        Some(Answer::Ok(text)) => format!("OK {text}"),
        Some(Answer::Error(text)) => format!("error {text}"),
    };
    let mirror = match &route.mirror {
        None => "none".to_owned(),
        Some(Mirror { hostgroup: id, flag_in: None }) => hostgroup(*id),
        Some(Mirror { hostgroup: id, flag_in: Some(flag) }) => {
            format!("{}, flag {flag}", hostgroup(*id))
        }
    };
    [
        ("answer", answer),
        ("mirror", mirror),
        ("cache_ttl", number(route.caching.ttl_ms)),
        ("delay", route.delay_ms.to_string()),
        ("timeout", route.timeout_ms.to_string()),
        ("retries", route.retries.to_string()),
        ("multiplex", format!("{:?}", route.multiplex)),
        ("pipeline_depth", number(route.pipeline_depth)),
        ("next_query_flagIN", number(route.next_query_flag_in)),
        ("log", route.log.map_or("default".to_owned(), |log| u8::from(log).to_string())),
    ]
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Kinds of differences that are kept.
const DIFFERENCES_MAX: usize = 10_000;

#[cfg(test)]
mod tests {
    use super::*;
    use engine::rows::{RuleRow, UserRow};
    use engine::snapshot::Draft;

    fn snapshot(pattern: &str, hostgroup: i64, timeout: Option<i64>) -> Snapshot {
        let rule = RuleRow {
            rule_id: 1,
            active: 1,
            match_digest: Some(pattern.into()),
            destination_hostgroup: Some(hostgroup),
            timeout,
            apply: 1,
            ..RuleRow::default()
        };
        let user = UserRow { username: "app".into(), ..UserRow::default() };
        let draft = Draft { rules: vec![rule], users: vec![user], ..Draft::default() };
        Snapshot::compile(&draft).expect("valid")
    }

    fn query(text: &str) -> Query<'_> {
        let mut query = crate::explain::query_of(EMPTY);
        query.username = b"app";
        query.text = text.as_bytes();
        query
    }

    const EMPTY: &crate::explain::Request = &crate::explain::Request {
        sql: String::new(),
        username: None,
        schemaname: None,
        client_addr: None,
        proxy_addr: None,
        proxy_port: None,
        server_name: None,
    };

    #[test]
    fn changes_are_counted_by_digest_and_kind() {
        let live = snapshot("^SELECT", 1, None);
        let new = snapshot("^(SELECT|SHOW)", 1, Some(5));
        let mut comparison = Comparison::new(&live, &new);
        comparison.compare(&query("SELECT 1"), 2);
        comparison.compare(&query("SELECT 2"), 3);
        comparison.compare(&query("SHOW TABLES"), 7);
        comparison.compare(&query("UPDATE t SET c=1"), 4);
        let outcome = comparison.outcome();
        assert_eq!((outcome.queries, outcome.changed, outcome.unlisted), (16, 12, 0));
        let change =
            |what, live: &str, new: &str| RouteChange { what, live: live.into(), new: new.into() };
        let found: Vec<_> = outcome
            .differences
            .iter()
            .map(|one| (one.count, one.example.as_str(), one.changes.clone()))
            .collect();
        let timeout = change("timeout", "86400000", "5");
        assert_eq!(
            found,
            [
                (7, "SHOW TABLES", vec![change("hostgroup", "0", "1"), timeout.clone()]),
                (5, "SELECT 1", vec![timeout]),
            ]
        );
    }

    #[test]
    fn the_same_rules_change_nothing() {
        let live = snapshot("^SELECT", 1, None);
        let mut comparison = Comparison::new(&live, &live.clone());
        comparison.compare(&query("SELECT 1"), 1);
        let nothing =
            CandidateOutcome { queries: 1, changed: 0, unlisted: 0, differences: Vec::new() };
        assert_eq!(comparison.outcome(), nothing);
    }
}
