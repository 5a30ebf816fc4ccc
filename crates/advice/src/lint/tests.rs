//! What lint says of bad configurations, and that it says nothing of good ones.

use proptest::prelude::*;

use super::shape::DigestShape;
use super::{Kind, lint};
use engine::rows::{RuleRow, ServerRow};
use engine::rules::{DigestRef, RuleInput};
use engine::snapshot::{Draft, Snapshot};
use engine::vars::Vars;

/// The value of a member of a line of JSON, as it is written.
fn member<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = line.split_once(&format!("\"{name}\": \""))?;
    rest.split('"').next()
}

fn bytes(hex: &str) -> Vec<u8> {
    let digits = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).expect("hex");
    (0..hex.len()).step_by(2).map(digits).collect()
}

/// The others are random words, and names that begin with a digit.
#[test]
fn ordinary_digests_have_nothing_that_is_said_to_be_absent() {
    let corpus = include_str!("../../../../testdata/digest.jsonl");
    let shape = DigestShape::of_digests(&Vars::default());
    let mut odd = Vec::new();
    let mut count = 0;
    for line in corpus.lines().filter(|line| line.contains("\"settings\": {}")) {
        let text = bytes(member(line, "digest_text_hex").expect("it is there"));
        count += 1;
        if shape.all().iter().any(|absent| absent.contains(&text)) {
            odd.push(String::from_utf8_lossy(&text).into_owned());
        }
    }
    assert!(count > 400, "{count} lines");
    assert!(odd.len() * 10 < count, "{} of {count}:\n{}", odd.len(), odd.join("\n"));
}

fn draft(rules: Vec<RuleRow>) -> Draft {
    let server =
        |hostgroup_id| ServerRow { hostgroup_id, hostname: "db".into(), ..ServerRow::default() };
    Draft { rules, servers: (0..3).map(server).collect(), ..Draft::default() }
}

#[test]
fn a_hostgroup_whose_servers_take_nothing_is_told_with_each_ones_reason() {
    let of = |status: &str, weight, max_connections| {
        let rule =
            RuleRow { rule_id: 1, active: 1, destination_hostgroup: Some(0), ..RuleRow::default() };
        let mut draft = draft(vec![rule]);
        let row = &mut draft.servers[0];
        (row.status, row.weight, row.max_connections) = (status.into(), weight, max_connections);
        let snapshot = Snapshot::compile(&draft).expect("valid");
        let found = lint(&draft, &snapshot).into_iter();
        let found = found.filter(|finding| finding.kind == Kind::UnusableHostgroup);
        found.map(|finding| finding.reason).collect::<Vec<_>>()
    };
    let told = |why: &str| vec![format!("no server of hostgroup 0 takes queries: db:3306 {why}")];
    assert_eq!(of("ONLINE", 1, 10), [""; 0]);
    assert_eq!(of("OFFLINE_SOFT", 1, 10), told("is OFFLINE_SOFT"));
    assert_eq!(of("ONLINE", 0, 10), told("has weight 0"));
    assert_eq!(of("ONLINE", 1, 0), told("has max_connections 0"));
}

const PATTERNS: [&str; 12] =
    ["a", "b", "^a", "b$", "ab", "a|b", "a+b", "^a*b$", "[ab]", "c", "a$^", "^"];

/// Rules over a small alphabet, so that they often stand in each other's way.
fn any_row() -> impl Strategy<Value = RuleRow> {
    let pattern = || prop::option::of(prop::sample::select(&PATTERNS[..]).prop_map(String::from));
    let name = || prop::option::of(prop::sample::select(&["u", "v"][..]).prop_map(String::from));
    let flag = || prop::sample::select(&[0, 0, 0, 1, 2][..]);
    let asks = (name(), name(), pattern(), pattern(), prop::sample::select(&[0, 0, 1][..]));
    let acts = (prop::option::of(0..3_i64), prop::option::of(flag()), 0..=1_i64, any::<bool>());
    (asks, flag(), acts).prop_map(|(asks, flag_in, (destination, flag_out, apply, replaces))| {
        let (username, schemaname, match_digest, match_pattern, negate) = asks;
        let replaces = replaces && match_pattern.is_some();
        RuleRow {
            active: 1,
            username,
            schemaname,
            match_digest,
            match_pattern,
            negate_match_pattern: negate,
            flag_in,
            flag_out,
            destination_hostgroup: destination,
            replace_pattern: replaces.then(|| "b".to_owned()),
            apply,
            ..RuleRow::default()
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    /// What is said to be of no use can be removed, and nothing goes elsewhere.
    #[test]
    fn a_rule_that_is_of_no_use_can_be_removed(
        mut rows in prop::collection::vec(any_row(), 1..7),
        texts in prop::collection::vec("[abc]{1,5}", 8),
        iterations in 0..2_u32,
    ) {
        for (place, row) in rows.iter_mut().enumerate() {
            row.rule_id = i64::try_from(place).unwrap() + 1;
        }
        let mut whole = draft(rows);
        let value = iterations.to_string();
        whole.variables.push(("mysql-query_processor_iterations".into(), value));
        let snapshot = Snapshot::compile(&whole).expect("valid");
        for finding in lint(&whole, &snapshot) {
            let useless = matches!(
                finding.kind,
                Kind::Shadowed | Kind::Duplicate | Kind::FlagNeverSet | Kind::NoEffect
                    | Kind::Overridden
            );
            if !useless {
                continue;
            }
            let mut less = whole.clone();
            less.rules.remove(finding.row.unwrap());
            let less = Snapshot::compile(&less).expect("valid");
            for text in &texts {
                for name in ["u", "v", "w"] {
                    let input = RuleInput {
                        username: name.as_bytes(),
                        schemaname: b"u",
                        client_addr: b"127.0.0.1",
                        proxy_addr: b"127.0.0.1",
                        proxy_port: 6033,
                        server_name: b"",
                        flag_in: 0,
                        text: text.as_bytes(),
                        digest: Some(DigestRef {
                            hash: 1,
                            text: text.as_bytes(),
                            omitted: sql::Omitted::More,
                        }),
                        execute: false,
                        random: 0,
                    };
                    let before =
                        snapshot.rules.evaluate(&input, &mut snapshot.rules.scratch(), &mut ());
                    let after = less.rules.evaluate(&input, &mut less.rules.scratch(), &mut ());
                    prop_assert_eq!(
                        (before.destination, before.flag), (after.destination, after.flag),
                        "{:?} {} {}", finding, name, text
                    );
                }
            }
        }
    }
}
