//! Chains of rules: conditions, flags, rewriting, and who is told of it.

use super::*;

fn flagged(rule_id: i64, flag_in: i64, flag_out: Option<i64>, hostgroup: i64) -> RuleRow {
    RuleRow { flag_in, flag_out, destination_hostgroup: Some(hostgroup), ..rule(rule_id) }
}

fn decide(rows: &[RuleRow], iterations: u32, input: &RuleInput<'_>) -> RuleVerdict {
    let options = RuleOptions { iterations, ..RuleOptions::default() };
    let set = RuleSet::compile(rows, options).expect("rules compile");
    set.evaluate(input, &mut set.scratch(), &mut ())
}

#[test]
fn flags_lead_forward_only() {
    let rows = [
        flagged(5, 1, None, 1),
        flagged(10, 0, Some(1), 2),
        flagged(15, 1, Some(2), 3),
        flagged(20, 0, None, 4),
        RuleRow { apply: 1, ..flagged(30, 2, None, 5) },
        flagged(40, 2, None, 6),
    ];
    let verdict = decide(&rows, 0, &input("x"));
    assert_eq!(
        (verdict.destination, verdict.flag, verdict.applied),
        (Some(HostgroupId(5)), 2, true)
    );
    let verdict = decide(&rows[..4], 0, &input("x"));
    assert_eq!(
        (verdict.destination, verdict.flag, verdict.applied),
        (Some(HostgroupId(3)), 2, false)
    );
    let verdict = decide(&rows, 0, &RuleInput { flag_in: 1, ..input("x") });
    assert_eq!(verdict.destination, Some(HostgroupId(5)));
}

#[test]
fn iterations_begin_the_chain_again() {
    let rows = [flagged(1, 1, None, 1), flagged(2, 0, Some(1), 2), flagged(3, 1, None, 3)];
    assert_eq!(decide(&rows, 0, &input("x")).destination, Some(HostgroupId(3)));
    let rows = [flagged(1, 1, None, 1), flagged(2, 0, Some(1), 2)];
    assert_eq!(decide(&rows, 0, &input("x")).destination, Some(HostgroupId(2)));
    assert_eq!(decide(&rows, 1, &input("x")).destination, Some(HostgroupId(1)));
    // a circle ends when the iterations do
    let circle = [flagged(1, 0, Some(1), 1), flagged(2, 1, Some(0), 2)];
    for (iterations, flag) in [(0, 0), (1, 0), (2, 0), (3, 0), (1000, 0)] {
        assert_eq!(decide(&circle, iterations, &input("x")).flag, flag, "{iterations}");
    }
    let set = RuleSet::compile(&circle, RuleOptions { iterations: 5, ..RuleOptions::default() });
    let set = set.expect("rules compile");
    let mut scratch = set.scratch();
    set.evaluate(&input("x"), &mut scratch, &mut ());
    assert_eq!(scratch.hits(), [3, 3]);
}

#[test]
fn a_flag_is_chosen_by_weight_unless_a_column_says_it() {
    let attributes = r#"{"flagOUTs":[{"id":1,"weight":1},{"id":2,"weight":3}]}"#;
    let chooser = RuleRow { attributes: attributes.into(), ..rule(1) };
    let rows = [chooser.clone(), flagged(2, 1, None, 1), flagged(3, 2, None, 2)];
    let picks: Vec<_> =
        (0..8).map(|random| decide(&rows, 0, &RuleInput { random, ..input("x") }).flag).collect();
    assert_eq!(picks, [1, 2, 2, 2, 1, 2, 2, 2]);
    let rows = [RuleRow { flag_out: Some(9), ..chooser }];
    assert_eq!(decide(&rows, 0, &input("x")).flag, 9);
}

#[test]
fn conditions_ask_for_addresses_ports_and_digests() {
    let row = |change: fn(&mut RuleRow)| {
        let mut row = routed(1, "", 1);
        change(&mut row);
        row
    };
    let text = "SELECT ?";
    let here = RuleInput {
        client_addr: b"10.0.3.4",
        proxy_addr: b"10.0.0.1",
        proxy_port: 6033,
        server_name: b"db.example",
        digest: Some(DigestRef {
            hash: 0x1_0000_00ab,
            text: text.as_bytes(),
            omitted: sql::Omitted::More,
        }),
        ..input("SELECT 1")
    };
    let some = |text: &str| Some(text.to_owned());
    for (row, expected) in [
        (row(|row| row.client_addr = Some("10.0.3.4".into())), true),
        (row(|row| row.client_addr = Some("10.0.3".into())), false),
        (row(|row| row.client_addr = Some("10.0.3%".into())), true),
        (row(|row| row.client_addr = Some("10.1.%".into())), false),
        (row(|row| row.client_addr = Some("%".into())), true),
        (row(|row| row.proxy_addr = Some("10.0.0.1".into())), true),
        (row(|row| row.proxy_addr = Some("10.0.0.2".into())), false),
        (row(|row| row.proxy_port = Some(6033)), true),
        (row(|row| row.proxy_port = Some(0)), false),
        (row(|row| row.attributes = r#"{"sni":"DB.example"}"#.into()), true),
        (row(|row| row.attributes = r#"{"sni":["a","db.example"]}"#.into()), true),
        (row(|row| row.attributes = r#"{"sni":["a","b.example"]}"#.into()), false),
        (row(|row| row.digest = Some("0x1000000AB".into())), true),
        (row(|row| row.digest = Some("0x1000000AC".into())), false),
        (row(|row| row.match_digest = Some("^select \\?$".into())), true),
        (row(|row| row.match_digest = Some("1".into())), false),
        (RuleRow { negate_match_pattern: 1, match_digest: some("1"), ..routed(1, "", 1) }, true),
        (RuleRow { negate_match_pattern: 1, match_digest: some("1"), ..routed(1, "1", 1) }, false),
    ] {
        assert_eq!(decide(std::slice::from_ref(&row), 0, &here).applied, expected, "{row:?}");
    }
    for wrong in ["1", "\"\"", "[]", "[\"a\",1]", "{}"] {
        let row = RuleRow { attributes: format!("{{\"sni\":{wrong}}}"), ..routed(1, "", 1) };
        let faults = compile(&[row]).expect_err(wrong);
        let told = r#"sni is no host; write {"sni":["db.example"]}"#;
        assert_eq!((&*faults[0].column, &*faults[0].reason), ("attributes", told), "{wrong}");
    }
    // who calls by no name is none of them
    let asks = row(|row| row.attributes = r#"{"sni":"db.example"}"#.into());
    let nameless = RuleInput { server_name: b"", ..here };
    assert!(!decide(std::slice::from_ref(&asks), 0, &nameless).applied);
    // what is not known is not asked for
    let unknown = RuleInput { client_addr: b"", proxy_addr: b"", digest: None, ..here };
    for row in [
        row(|row| row.client_addr = Some("1.2.3.4".into())),
        row(|row| row.proxy_addr = Some("1.2.3.4".into())),
        row(|row| row.digest = Some("0x1".into())),
        row(|row| row.match_digest = Some("nothing like it".into())),
        RuleRow { negate_match_pattern: 1, match_digest: some("SELECT"), ..routed(1, "", 1) },
    ] {
        assert!(decide(std::slice::from_ref(&row), 0, &unknown).applied, "{row:?}");
    }
}

#[test]
fn later_rules_see_the_text_as_rewritten_and_the_digest_as_sent() {
    let rows = [
        RuleRow { replace_pattern: Some("b".into()), apply: 0, ..routed(1, "a", 1) },
        RuleRow { apply: 0, ..routed(2, "^b$", 2) },
        RuleRow { replace_pattern: Some(r"\0c".into()), apply: 0, ..routed(3, "b", 3) },
        RuleRow { match_digest: Some("^a$".into()), ..routed(4, "^bc$", 4) },
    ];
    let set = compile(&rows).expect("rules compile");
    let mut scratch = set.scratch();
    let sent = RuleInput {
        digest: Some(DigestRef { hash: 1, text: b"a", omitted: sql::Omitted::More }),
        ..input("a")
    };
    let verdict = set.evaluate(&sent, &mut scratch, &mut ());
    assert_eq!((verdict.destination, verdict.rewritten), (Some(HostgroupId(4)), true));
    assert_eq!(scratch.rewritten(), b"bc");
    // an execute is matched by the text that was prepared, and not rewritten
    let verdict = set.evaluate(&RuleInput { execute: true, ..sent }, &mut scratch, &mut ());
    assert_eq!((verdict.destination, verdict.rewritten), (Some(HostgroupId(1)), false));
    assert_eq!(scratch.hits(), [2, 1, 1, 1]);
}

#[test]
fn every_action_is_told_and_the_last_word_wins() {
    let first = RuleRow {
        destination_hostgroup: Some(1),
        cache_ttl: Some(2),
        cache_empty_result: Some(0),
        cache_timeout: Some(3),
        reconnect: Some(1),
        timeout: Some(4),
        retries: Some(5),
        delay: Some(6),
        next_query_flag_in: Some(7),
        mirror_flag_out: Some(8),
        mirror_hostgroup: Some(9),
        error_msg: Some("no".into()),
        ok_msg: Some("yes".into()),
        sticky_conn: Some(1),
        multiplex: Some(2),
        gtid_from_hostgroup: Some(10),
        log: Some(1),
        attributes: r#"{"pipeline_depth": 0, "invalidate": "binlog_or_ttl", "coalesce": false,
                        "serve_stale_ms": 8}"#
            .into(),
        ..rule(1)
    };
    let mut expected = RuleVerdict {
        destination: Some(HostgroupId(1)),
        cache_ttl_ms: Some(2),
        cache_empty_result: Some(false),
        invalidation: Some(Invalidation::BinlogOrTtl),
        timeout_ms: Some(4),
        retries: Some(5),
        delay_ms: Some(6),
        next_query_flag_in: Some(7),
        mirror_flag_out: Some(8),
        mirror_hostgroup: Some(HostgroupId(9)),
        error_msg: Some("no".into()),
        ok_msg: Some("yes".into()),
        multiplex: Some(Multiplex::IgnoreVariables),
        gtid_from_hostgroup: Some(HostgroupId(10)),
        log: Some(true),
        pipeline_depth: Some(0),
        coalesce: Some(false),
        serve_stale_ms: 8,
        flag: 0,
        applied: false,
        rewritten: false,
    };
    assert_eq!(decide(&[first.clone(), rule(2)], 0, &input("x")), expected);
    let second = RuleRow { timeout: Some(40), multiplex: Some(0), apply: 1, ..rule(2) };
    expected.timeout_ms = Some(40);
    expected.multiplex = Some(Multiplex::Off);
    expected.applied = true;
    assert_eq!(decide(&[first, second, flagged(3, 0, Some(3), 3)], 0, &input("x")), expected);
}

#[derive(Default)]
struct Recorder(Vec<String>);

impl Observer for Recorder {
    const WATCHES: bool = true;

    fn on_rule(&mut self, step: &RuleStep<'_>) {
        let outcome = step.missed.map_or("matched", Condition::name);
        let text = step.rewritten.map(String::from_utf8_lossy).unwrap_or_default();
        let RuleStep { rule_id, flag_before, flag_after, iteration, .. } = step;
        self.0.push(format!("{iteration}: {rule_id} {outcome} {flag_before}->{flag_after} {text}"));
    }
}

#[test]
fn an_observer_is_told_of_every_rule_and_changes_nothing() {
    let rows = [
        flagged(1, 3, None, 1),
        RuleRow { username: Some("x".into()), ..rule(2) },
        RuleRow { replace_pattern: Some("b".into()), flag_out: Some(3), ..routed(3, "a", 2) },
    ];
    let rows = rows.map(|row| RuleRow { apply: 0, ..row });
    let options = RuleOptions { iterations: 1, ..RuleOptions::default() };
    let set = RuleSet::compile(&rows, options).expect("rules compile");
    let mut scratch = set.scratch();
    let mut recorder = Recorder::default();
    let verdict = set.evaluate(&input("a"), &mut scratch, &mut recorder);
    assert_eq!(
        recorder.0,
        [
            "0: 1 flagIN 0->0 ",
            "0: 2 username 0->0 ",
            "0: 3 matched 0->3 b",
            "1: 1 matched 3->3 ",
            "1: 2 flagIN 3->3 ",
            "1: 3 flagIN 3->3 ",
        ]
    );
    assert_eq!(scratch.hits(), [0, 0, 0]);
    assert_eq!(set.evaluate(&input("a"), &mut scratch, &mut ()), verdict);
    assert_eq!(scratch.hits(), [1, 0, 1]);
}
