//! What is advised, of traffic that was counted in a hurry.

use engine::rows::UserRow;
use engine::snapshot::Draft;
use engine::stats::{QueryEnd, QueryStats, ReadAsked, Repeats};
use engine::vars::Vars;

use super::*;

const MINUTE: u64 = 60_000_000;

/// A worker's counts while so many reads come, ten milliseconds apart and each taking two.
struct Traffic {
    vars: Vars,
    stats: QueryStats,
    now_us: u64,
}

/// Queries of one kind.
#[derive(Clone, Copy)]
struct Kind {
    text: &'static str,
    schema: &'static str,
    user: &'static str,
    why: Option<&'static str>,
}

const READ: Kind = Kind { text: "SELECT ? FROM items", schema: "shop", user: "app", why: None };

impl Traffic {
    fn new() -> Self {
        let pairs = [("mysql-query_cache_sample".to_owned(), "1".to_owned())];
        let vars = Vars::from_pairs(&pairs).expect("they are variables");
        let stats = QueryStats::new(&vars, 5);
        Self { vars, stats, now_us: MINUTE }
    }

    fn digest(text: &str) -> u64 {
        text.bytes().fold(7, |hash: u64, byte| hash.wrapping_mul(31) + u64::from(byte))
    }

    /// Asks `count` times, with the values that `value` says.
    fn ask(&mut self, kind: Kind, count: u64, value: impl Fn(u64) -> u64) {
        let digest = Self::digest(kind.text);
        for number in 0..count {
            self.now_us += 10_000;
            let value = value(number).to_le_bytes();
            let mark = Repeats::mark(digest, &value);
            let (schema, user) = (kind.schema.as_bytes(), kind.user.as_bytes());
            let parts = [kind.text.as_bytes(), b"", b"", &value];
            let read = ReadAsked { digest, schema, user, parts, mark, why: kind.why };
            let repeats = &mut self.stats.repeats;
            if kind.text.starts_with("SELECT")
                && repeats.looks_at(digest)
                && let Some(looked_at) = repeats.look(mark)
            {
                repeats.note(self.now_us, looked_at, &read);
            }
            self.end(kind, Some(HostgroupId(3)));
        }
    }

    fn end(&mut self, kind: Kind, hostgroup: Option<HostgroupId>) {
        let end = QueryEnd {
            hostgroup,
            user: kind.user.as_bytes(),
            schema: kind.schema.as_bytes(),
            digest: Some(Self::digest(kind.text)),
            digest_text: kind.text.as_bytes(),
            elapsed_us: 2000,
            ..QueryEnd::default()
        };
        self.stats.record(&self.vars, self.now_us, &end);
    }

    fn advice(&self, rules: &[RuleRow]) -> Vec<CacheAdvice> {
        let mut collected = Collected { now_us: self.now_us, ..Collected::default() };
        collected.digests.merge(&self.stats.digests);
        collected.cached.merge(&self.stats.cached);
        collected.repeats.merge(&self.stats.repeats.rows(self.now_us));
        advise(&collected, [&configured(rules), &configured(&[])], rules)
    }
}

fn configured(rules: &[RuleRow]) -> Snapshot {
    let names = ["app", "o'brien"];
    let users = names.map(|name| UserRow { username: name.into(), ..UserRow::default() });
    let draft = Draft { rules: rules.to_vec(), users: users.into(), ..Draft::default() };
    Snapshot::compile(&draft).expect("valid")
}

fn told(advice: &[CacheAdvice]) -> Vec<(&'static str, String)> {
    let text = |it: &CacheAdvice| String::from_utf8_lossy(&it.digest_text).into_owned();
    advice.iter().map(|it| (it.kind.name(), text(it))).collect()
}

#[test]
fn what_repeats_is_advised_and_what_does_not_is_not_spoken_of() {
    let mut traffic = Traffic::new();
    traffic.ask(READ, 200, |number| number % 5);
    let unlike = Kind { text: "SELECT ? FROM orders", ..READ };
    traffic.ask(unlike, 200, |number| number);
    traffic.now_us += 70_000_000;
    let advice = traffic.advice(&[]);
    assert_eq!(told(&advice), [("cache", READ.text.to_owned())]);
    let [one] = &advice[..] else { unreachable!("it is one") };
    assert_eq!((one.calls, one.avg_us, one.ttl_ms), (200, 2000, Some(1000)));
    assert_eq!((one.hostgroup, one.sampled, one.why.as_str()), (Some(HostgroupId(3)), 200, ""));
    assert!(one.repeats.is_some_and(|share| share > 0.9), "{:?}", one.repeats);
    // two milliseconds for each of two hundred, in 74 seconds
    let expected = 400.0 / 74.0 * 60.0 * one.repeats.unwrap_or(0.0);
    assert!((one.saved_ms_per_min - expected).abs() < 1.0, "{} {expected}", one.saved_ms_per_min);
}

#[test]
fn the_time_is_as_short_as_it_may_be() {
    let mut traffic = Traffic::new();
    // each of them comes again behind three seconds
    traffic.ask(READ, 3000, |number| number % 300);
    let ttls: Vec<_> = traffic.advice(&[]).iter().map(|it| it.ttl_ms).collect();
    assert_eq!(ttls, [Some(5000)]);
}

#[test]
fn what_speaks_against_it_is_said() {
    let mut traffic = Traffic::new();
    traffic.ask(READ, 50, |_| 1);
    traffic.ask(Kind { why: Some("held"), ..READ }, 50, |_| 1);
    traffic.ask(Kind { text: "UPDATE shop.Items SET n=?", schema: "x", ..READ }, 30, |_| 0);
    traffic.ask(Kind { text: "UPDATE items SET n=?", schema: "x", ..READ }, 30, |_| 0);
    let varying = Kind { text: "SELECT RAND()", why: Some("it varies"), ..READ };
    traffic.ask(varying, 20, |_| 1);
    let advice = traffic.advice(&[]);
    let expected = [("cache", READ.text.to_owned()), ("never", varying.text.to_owned())];
    assert_eq!(told(&advice), expected);
    // thirty of them in nearly nine tenths of a second, of the first to now
    let why = &advice[0].why;
    assert!(why.ends_with(" times a minute; 50 % cannot be answered: held"), "{why}");
    assert_eq!(why.matches("is written").count(), 1, "{why}");
    assert!(why.starts_with("`items` is written "), "{why}");
    assert_eq!((advice[1].why.as_str(), &advice[1].rule), ("it varies", &None));
}

#[test]
fn a_rule_that_is_pasted_works_and_is_told_as_such() {
    let mut traffic = Traffic::new();
    let quoted = Kind { user: "o'brien", ..READ };
    let bare = Kind { text: "SELECT ? FROM t", schema: "", ..READ };
    for kind in [READ, quoted, bare] {
        traffic.ask(kind, 50, |_| 1);
    }
    let routing = RuleRow {
        rule_id: 1,
        active: 1,
        match_digest: Some("^SELECT".into()),
        destination_hostgroup: Some(3),
        apply: 1,
        ..RuleRow::default()
    };
    let behind = RuleRow { rule_id: 7, ..routing.clone() };
    let advice = traffic.advice(&[routing.clone(), behind]);
    let rules: Vec<_> = advice.iter().filter_map(|it| it.rule.clone()).collect();
    assert_eq!(rules.len(), 3);
    let of = |kind: Kind| {
        let digest = format!("'0x{:016X}'", Traffic::digest(kind.text));
        let user = kind.user.replace('\'', "''");
        let find =
            |rule: &&String| rule.contains(&digest) && rule.contains(&format!(" 1, '{user}', "));
        rules.iter().find(find).expect("it has a rule").clone()
    };
    let digest = Traffic::digest(READ.text);
    let ids: Vec<_> = rules.iter().map(|rule| &rule[rule.find("VALUES (").unwrap()..]).collect();
    assert!(ids[0].starts_with("VALUES (-2, ") && ids[2].starts_with("VALUES (0, "), "{ids:?}");
    let columns =
        "(rule_id, active, username, schemaname, digest, cache_ttl, apply, comment) VALUES (";
    let values = format!(", 1, 'o''brien', 'shop', '0x{digest:016X}', 1000, 0, 'cache advice');");
    let rule = of(quoted);
    assert!(rule.contains(columns) && rule.ends_with(&values), "{rule}");
    assert!(!of(bare).contains("schemaname"), "{}", of(bare));
    // as it is read when it is loaded
    let pasted = RuleRow {
        rule_id: 0,
        active: 1,
        username: Some("o'brien".into()),
        schemaname: Some("shop".into()),
        digest: Some(format!("0x{digest:016X}")),
        cache_ttl: Some(1000),
        ..RuleRow::default()
    };
    let after = traffic.advice(&[routing, pasted]);
    let user = |it: &CacheAdvice| String::from_utf8_lossy(&it.username).into_owned();
    let cached = after.iter().find(|it| it.kind == CacheAdviceKind::Cached).expect("it is told");
    assert_eq!((user(cached), cached.ttl_ms), ("o'brien".into(), Some(1000)));
    assert_eq!(cached.why, "a rule says so, and nothing was looked for yet");
    assert_eq!(after.iter().filter(|it| it.kind == CacheAdviceKind::Cache).count(), 2);
}

#[test]
fn what_is_in_the_cache_is_told_with_its_share_and_what_a_rule_has_there_in_vain_with_its_reasons()
{
    let mut traffic = Traffic::new();
    let (hot, vain) = (READ, Kind { text: "SELECT NOW()", ..READ });
    for (kind, hits, misses) in [(hot, 9, 1), (vain, 0, 0)] {
        traffic.end(kind, Some(HostgroupId(3)));
        traffic.end(kind, None);
        let row = traffic.stats.cached.row(Traffic::digest(kind.text), kind.text.as_bytes());
        (row.hits, row.misses) = (hits, misses);
    }
    traffic.stats.cached.row(Traffic::digest(vain.text), b"").note_reason("varies");
    let advice = traffic.advice(&[]);
    let expected = [("cached", hot.text.to_owned()), ("never", vain.text.to_owned())];
    assert_eq!(told(&advice), expected);
    assert_eq!((advice[0].repeats, advice[0].calls), (Some(0.9), 1));
    assert_eq!(advice[0].why, "9 of 10 were answered from the cache");
    assert!(advice[1].why.ends_with("not looked for or not kept: varies: 1"), "{}", advice[1].why);
}

#[test]
fn little_evidence_and_little_gain_are_no_advice() {
    let mut traffic = Traffic::new();
    traffic.ask(READ, 9, |_| 1);
    assert_eq!(told(&traffic.advice(&[])), []);
    traffic.ask(READ, 3, |_| 1);
    assert_eq!(told(&traffic.advice(&[])).len(), 1);
    // a day later it is next to nothing
    traffic.now_us += 1440 * MINUTE;
    assert_eq!(told(&traffic.advice(&[])), []);
}
