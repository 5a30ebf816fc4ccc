//! Routes of recorded queries, and what annotations and fast routing change.

use serde_json::Value as Json;

use super::*;
use crate::rows::{FastRoutingRow, RuleRow};
use crate::snapshot::Draft;

fn query(text: &str) -> Query<'_> {
    Query {
        username: b"app",
        schemaname: b"sbtest",
        client_addr: b"127.0.0.1",
        proxy_addr: b"127.0.0.1",
        proxy_port: 26033,
        server_name: b"",
        flag_in: 0,
        text: text.as_bytes(),
        digest: None,
        execute: false,
        annotations: true,
        modes: sql::Modes::default(),
        modes_known: true,
    }
}

fn compiled(draft: &Draft) -> (Snapshot, QueryProcessor) {
    let snapshot = Snapshot::compile(draft).unwrap_or_else(|faults| panic!("{faults:?}"));
    let processor = QueryProcessor::new(&snapshot, 1);
    (snapshot, processor)
}

fn text(json: &Json) -> String {
    json.as_str().unwrap_or_else(|| panic!("{json:?} is no text")).to_owned()
}

fn number(json: &Json) -> i64 {
    json.as_i64().unwrap_or_else(|| panic!("{json:?} is no whole number"))
}

fn list(json: Option<&Json>) -> &[Json] {
    match json {
        Some(Json::Array(list)) => list,
        other => panic!("{other:?} is no list"),
    }
}

fn row(json: &Json) -> RuleRow {
    let Json::Object(members) = json else { panic!("a rule is an object") };
    let mut row = RuleRow { active: 1, ..RuleRow::default() };
    for (name, value) in members {
        match name.as_str() {
            "rule_id" => row.rule_id = number(value),
            "active" => row.active = number(value),
            "username" => row.username = Some(text(value)),
            "schemaname" => row.schemaname = Some(text(value)),
            "flagIN" => row.flag_in = number(value),
            "flagOUT" => row.flag_out = Some(number(value)),
            "client_addr" => row.client_addr = Some(text(value)),
            "proxy_addr" => row.proxy_addr = Some(text(value)),
            "proxy_port" => row.proxy_port = Some(number(value)),
            "digest" => row.digest = Some(text(value)),
            "match_digest" => row.match_digest = Some(text(value)),
            "match_pattern" => row.match_pattern = Some(text(value)),
            "negate_match_pattern" => row.negate_match_pattern = number(value),
            "re_modifiers" => row.re_modifiers = Some(text(value)),
            "replace_pattern" => row.replace_pattern = Some(text(value)),
            "destination_hostgroup" => row.destination_hostgroup = Some(number(value)),
            "next_query_flagIN" => row.next_query_flag_in = Some(number(value)),
            "error_msg" => row.error_msg = Some(text(value)),
            "OK_msg" => row.ok_msg = Some(text(value)),
            "apply" => row.apply = number(value),
            other => panic!("{other} is no column"),
        }
    }
    row
}

/// Compares a route with the outcome of a recorded case; says what differs.
fn difference(case: &Json, route: &Route, digest: &str) -> Option<String> {
    let user = text(case.get("user").expect("user"));
    let default = HostgroupId(if user == "rep" { 5 } else { 0 });
    let recorded_digest = text(&list(case.get("digest_text"))[0]);
    if digest != recorded_digest {
        return Some(format!("digest {digest} instead of {recorded_digest}"));
    }
    let outcome = case.get("outcome").expect("outcome");
    let error = outcome.get("error").map(|error| list(Some(error)));
    let refused = error.filter(|error| number(&error[0]) == 1148).map(|error| text(&error[1]));
    let answered = match route.answer.as_deref() {
        Some(Answer::Error(text)) => Some(text.to_string()),
        _ => None,
    };
    if refused != answered {
        return Some(format!("error {answered:?} instead of {refused:?}"));
    }
    // what the proxy answers is recorded under the default hostgroup: so are rules' answers, and
    // a COMMIT that is a session's first query
    let is = |key, value: &str| case.get(key) == Some(&Json::String(value.into()));
    let commit = is("query", "COMMIT") && !is("set", "next_flag");
    let local = route.answer.is_some() || commit;
    let found = route.destination.filter(|_| !local).unwrap_or(default);
    let recorded = number(&list(case.get("hostgroup"))[0]);
    (i64::from(found.0) != recorded).then(|| format!("hostgroup {} instead of {recorded}", found.0))
}

#[test]
fn recorded_queries_go_where_they_went() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/rules.json");
    let recorded = std::fs::read_to_string(path).expect(path);
    let recorded = crate::json::parse(&recorded).expect("JSON");
    let Some(Json::Object(sets)) = recorded.get("rule_sets") else { panic!("no rule sets") };
    let digest_of_select_1 = Digester::new().digest(b"SELECT 1", &Default::default()).hash;
    let mut wrong = Vec::new();
    let mut count = 0;
    for (name, rows) in sets {
        let mut rows: Vec<_> = list(Some(rows)).iter().map(row).collect();
        if let Some(digest) = rows.iter_mut().find_map(|row| row.digest.as_mut()) {
            *digest = format!("0x{digest_of_select_1:016X}");
        }
        let (snapshot, mut processor) = compiled(&Draft { rules: rows, ..Draft::default() });
        let cases = list(recorded.get("cases")).iter();
        for case in cases.filter(|case| case.get("set") == Some(&Json::String(name.clone()))) {
            let [user, schema, sql] =
                ["user", "schema", "query"].map(|key| text(case.get(key).expect(key)));
            let query = Query {
                username: user.as_bytes(),
                schemaname: schema.as_bytes(),
                // the first query of such a session was another one
                flag_in: if name == "next_flag" { 7 } else { 0 },
                ..query(&sql)
            };
            let route = processor.route(&snapshot, &query);
            let digest = processor.digest().map(|digest| digest.text.to_vec()).expect("on");
            let digest = String::from_utf8(digest).expect("text");
            if let Some(difference) = difference(case, &route, &digest) {
                wrong.push(format!("{name} {user} {schema} {sql:?}: {difference}"));
            }
            count += 1;
        }
    }
    assert_eq!(count, 2767);
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn annotations_win_over_rules_but_not_for_mirrored_copies() {
    let rule = RuleRow {
        rule_id: 1,
        active: 1,
        destination_hostgroup: Some(1),
        timeout: Some(10),
        delay: Some(20),
        retries: Some(3),
        cache_ttl: Some(40),
        mirror_flag_out: Some(5),
        apply: 1,
        ..RuleRow::default()
    };
    let variables = vec![("mysql-default_query_delay".to_owned(), "1000".to_owned())];
    let (snapshot, mut processor) =
        compiled(&Draft { rules: vec![rule], variables, ..Draft::default() });
    let annotated = "/* hostgroup=4;query_timeout=11;query_delay=21;query_retries=4;cache_ttl=41;\
                     mirror=6;max_lag_ms=7;min_epoch_ms=8;create_new_connection=1;\
                     min_gtid=3e11fa47-71ca-11e1-9e33-c80aa9429562:23 */ SELECT 1";
    let plain = processor.route(&snapshot, &query("SELECT 1"));
    let expected = Route {
        destination: Some(HostgroupId(1)),
        delay_ms: 1020,
        timeout_ms: 10,
        retries: 3,
        caching: Caching { ttl_ms: Some(40), empty_result: true, ..Caching::default() },
        mirror: Some(Mirror { hostgroup: None, flag_in: Some(5) }),
        applied: true,
        digest: plain.digest,
        ..Route::default()
    };
    assert_eq!(plain, expected);
    let found = processor.route(&snapshot, &query(annotated));
    let annotated_route = Route {
        destination: Some(HostgroupId(4)),
        delay_ms: 1021,
        timeout_ms: 11,
        retries: 4,
        caching: Caching { ttl_ms: Some(41), ..expected.caching },
        mirror: Some(Mirror { hostgroup: Some(HostgroupId(6)), flag_in: Some(5) }),
        freshness: Some(Box::new(Freshness {
            max_lag_ms: Some(7),
            min_epoch_ms: Some(8),
            min_gtid: Some(b"3e11fa47-71ca-11e1-9e33-c80aa9429562:23".as_slice().into()),
        })),
        create_new_connection: true,
        ..expected.clone()
    };
    assert_eq!(found, annotated_route);
    let mirrored = processor.route(&snapshot, &Query { annotations: false, ..query(annotated) });
    assert_eq!(mirrored, expected);
}

#[test]
fn fast_routing_wins_unless_a_rule_applied() {
    let rule = |rule_id, pattern: &str, flag_out, apply| RuleRow {
        rule_id,
        active: 1,
        match_pattern: Some(pattern.into()),
        destination_hostgroup: Some(rule_id),
        flag_out,
        apply,
        ..RuleRow::default()
    };
    let fast = |username: &str, flag_in, hostgroup| FastRoutingRow {
        username: username.into(),
        schemaname: "sbtest".into(),
        flag_in,
        destination_hostgroup: hostgroup,
        ..FastRoutingRow::default()
    };
    let (snapshot, mut processor) = compiled(&Draft {
        // the last rule ends the evaluation, but only where it matches
        rules: vec![rule(1, "a", None, 0), rule(2, "b", Some(9), 0), rule(3, "c", None, 1)],
        fast_routing: vec![fast("app", 0, 10), fast("", 0, 11), fast("", 9, 12)],
        ..Draft::default()
    });
    for (user, text, expected, fast_routed) in [
        ("app", "x", 10, true),
        ("app", "a", 10, true),
        ("rep", "a", 11, true),
        ("app", "b", 12, true),
        ("app", "c", 3, false),
        ("app", "/* hostgroup=7 */ x", 7, false),
    ] {
        let query = Query { username: user.as_bytes(), ..query(text) };
        let route = processor.route(&snapshot, &query);
        assert_eq!(route.destination, Some(HostgroupId(expected)), "{user} {text}");
        assert_eq!(route.fast_routed, fast_routed, "{user} {text}");
    }
}

#[test]
fn a_rewritten_query_is_known_by_its_new_digest() {
    let rule = RuleRow {
        rule_id: 1,
        active: 1,
        match_pattern: Some("FROM a".into()),
        replace_pattern: Some("FROM b".into()),
        ..RuleRow::default()
    };
    let (snapshot, mut processor) = compiled(&Draft { rules: vec![rule], ..Draft::default() });
    let rewritten = processor.route(&snapshot, &query("SELECT x FROM a"));
    assert_eq!(processor.rewritten(), b"SELECT x FROM b");
    let direct = processor.route(&snapshot, &query("SELECT x FROM b"));
    assert!(rewritten.rewritten && !direct.rewritten);
    assert_eq!(rewritten.digest, direct.digest);
}

#[test]
fn without_digests_nothing_asks_for_them() {
    let rule = RuleRow {
        rule_id: 1,
        active: 1,
        match_digest: Some("^UPDATE".into()),
        destination_hostgroup: Some(1),
        ..RuleRow::default()
    };
    let variables = vec![("mysql-query_digests".to_owned(), "false".to_owned())];
    let (snapshot, mut processor) =
        compiled(&Draft { rules: vec![rule], variables, ..Draft::default() });
    let route = processor.route(&snapshot, &query("/* hostgroup=3 */ SELECT 1"));
    assert_eq!((route.destination, route.digest), (Some(HostgroupId(1)), None));
    assert_eq!(processor.digest(), None);
}

#[test]
fn writes_are_found_by_the_rules_that_do_not_look_at_the_text() {
    let sharded = |id, schema: &str, hostgroup| RuleRow {
        rule_id: id,
        active: 1,
        schemaname: Some(schema.into()),
        destination_hostgroup: Some(hostgroup),
        apply: 1,
        ..RuleRow::default()
    };
    let reads = RuleRow {
        rule_id: 2,
        active: 1,
        match_digest: Some("^SELECT".into()),
        destination_hostgroup: Some(7),
        apply: 1,
        ..RuleRow::default()
    };
    let rules = vec![sharded(1, "shard", 3), reads];
    let (snapshot, mut processor) = compiled(&Draft { rules, ..Draft::default() });
    let of_shard = Query { schemaname: b"shard", ..query("SELECT @a := 1") };
    let destination = processor.destination_of_writes(&snapshot, &of_shard);
    assert_eq!(destination, Some(HostgroupId(3)));
    let read = query("SELECT @a := 1");
    assert_eq!(processor.route(&snapshot, &read).destination, Some(HostgroupId(7)));
    assert_eq!(processor.destination_of_writes(&snapshot, &read), None);
    assert_eq!(processor.hits(), [0, 1], "only traffic counts");
}

#[test]
fn a_text_is_answered_for_what_a_server_runs_and_known_by_what_is_written() {
    let refuse = RuleRow {
        rule_id: 1,
        active: 1,
        username: Some("app".into()),
        match_digest: Some("^DELETE".into()),
        error_msg: Some("no".into()),
        ..RuleRow::default()
    };
    let (snapshot, mut processor) = compiled(&Draft { rules: vec![refuse], ..Draft::default() });
    let mut answer =
        |query: &Query<'_>| processor.route(&snapshot, query).answer.map(|answer| *answer);
    let refused = Some(Answer::Error("no".into()));
    for text in ["DELETE FROM t", "\u{b}DELETE FROM t", "/*M! DELETE FROM t */"] {
        assert_eq!(answer(&query(text)), refused, "{text:?}");
        assert_eq!(answer(&Query { username: b"other", ..query(text) }), None, "{text:?}");
    }
    for text in ["/* DELETE */ SELECT 1", "SELECT `DELETE`, \"DELETE\"", "/*!50700 SELECT */ 1"] {
        assert_eq!(answer(&query(text)), None, "{text:?}");
    }
    let hidden = query("SELECT '\\'; DELETE FROM t -- '");
    assert_eq!(answer(&hidden), None, "one string");
    let modes = Modes { no_backslash_escapes: true, ..Modes::default() };
    let first = Query { modes, ..query("/*!1*/ '\\'; DELETE -- '") };
    assert_eq!(answer(&first), None, "a statement behind another one is not at the beginning");
    let latin = Modes { high_bytes: sql::HighBytes::Latin, ..Modes::default() };
    let blank = Query { text: b"\xa0DELETE FROM t", ..query("") };
    assert_eq!(answer(&blank), None, "a letter");
    assert_eq!(answer(&Query { modes: latin, ..blank }), refused, "a blank");
    let many: String = (60_000..60_020).map(|number| format!("/*!{number} x */")).collect();
    assert_eq!(answer(&query(&many)), Some(Answer::Error(UNCERTAIN.into())));
    assert_eq!(processor.hits(), [4], "each counts once");
    let raw = Digester::new().digest(b"\x0bDELETE FROM t", &sql::DigestOptions::default()).hash;
    assert_eq!(processor.route(&snapshot, &query("\u{b}DELETE FROM t")).digest, Some(raw));
}

/// Refuses what has this in its digest.
fn refusing(digest: &str) -> (Snapshot, QueryProcessor) {
    let refuse = RuleRow {
        rule_id: 1,
        active: 1,
        match_digest: Some(digest.into()),
        error_msg: Some("no".into()),
        ..RuleRow::default()
    };
    compiled(&Draft { rules: vec![refuse], ..Draft::default() })
}

#[test]
fn a_string_in_dollars_hides_no_statement() {
    let (snapshot, mut processor) = refusing("DELETE FROM");
    let mut answer =
        |text: &str| processor.route(&snapshot, &query(text)).answer.map(|answer| *answer);
    let refused = Some(Answer::Error("no".into()));
    for text in [
        "CREATE LIBRARY l LANGUAGE JAVASCRIPT AS $$ ' $$; DELETE FROM t; -- '",
        "SELECT '$$'; CREATE LIBRARY l AS $x$ ' $x$; DELETE FROM t; -- '",
    ] {
        assert_eq!(answer(text), refused, "{text}");
    }
    assert_eq!(answer("SELECT JSON_EXTRACT(a, '$.b', '$.c'), d$e FROM t$"), None);
}

#[test]
fn a_long_text_is_read_once_or_refused_where_it_would_take_too_long() {
    let (snapshot, mut processor) = refusing("ledger");
    let mut answer =
        |query: &Query<'_>| processor.route(&snapshot, query).answer.map(|answer| *answer);
    let rows = "(1, \"\u{e9}\\\"\", `a`), ".repeat(200_000);
    let text = format!("INSERT INTO t VALUES {rows} (2); INSERT INTO t VALUES {rows} (3)");
    assert_eq!(answer(&query(&text)), None, "no statement sets how the next one is read");
    let too_many = Some(Answer::Error(UNCERTAIN.into()));
    assert_eq!(answer(&Query { modes_known: false, ..query(&text) }), too_many);
    let set = format!("SET sql_mode=''; {text}");
    assert_eq!(answer(&query(&set)), too_many);
    assert_eq!(answer(&query("SET sql_mode=''; SELECT \"\u{e9}\\\"\" FROM t")), None);
}

#[test]
fn where_it_is_not_certain_how_a_text_is_read_it_is_answered_for_every_way() {
    let (snapshot, mut processor) = refusing("ledger");
    let mut answer =
        |query: &Query<'_>| processor.route(&snapshot, query).answer.map(|answer| *answer);
    let refused = Some(Answer::Error("no".into()));
    for text in [
        "SELECT '\\', count(*) FROM ledger -- '",
        "SELECT 1 AS \"a\\\", count(*) FROM ledger -- \"",
        // half a character of gbk, where it is one
        "SELECT '\u{3bf}\\', count(*) FROM ledger -- '",
    ] {
        assert_eq!(answer(&query(text)), None, "{text}");
        assert_eq!(answer(&Query { modes_known: false, ..query(text) }), refused, "{text}");
        let behind = format!("SET sql_mode = 'x'; {text}");
        assert_eq!(answer(&query(&behind)), refused, "{text}");
    }
    // a server sets them in what is a comment to others
    let text = "SELECT 1 /*!99999 # */; SET sql_mode=NO_BACKSLASH_ESCAPES; SELECT 1\n; \
                SELECT '\\'; SELECT a FROM ledger; -- '";
    assert_eq!(answer(&query(text)), refused);
    for text in ["SELECT '\\'; \"' FROM t", "SELECT 'ledger'", "SELECT \"a;\\\\b\", 'é' -- ledger"]
    {
        assert_eq!(answer(&query(text)), None, "{text}");
        assert_eq!(answer(&Query { modes_known: false, ..query(text) }), None, "{text}");
    }
}

#[test]
fn annotations_are_followed_where_the_account_and_the_variable_let_them() {
    let rule = RuleRow {
        rule_id: 1,
        active: 1,
        match_digest: Some("FROM t".into()),
        destination_hostgroup: Some(1),
        ..RuleRow::default()
    };
    let texts = ["/* hostgroup=7 */ SELECT 1 FROM t", "/* hostgroup=7 */ SELECT 1 FROM u"];
    for (value, expected) in [
        ("0", [Some(1), None]),
        ("1", [Some(1), Some(7)]),
        ("2", [Some(7); 2]),
        ("3", [Some(7); 2]),
    ] {
        let name = "mysql-query_processor_first_comment_parsing".to_owned();
        let variables = vec![(name, value.to_owned())];
        let rules = vec![rule.clone()];
        let (snapshot, mut processor) = compiled(&Draft { rules, variables, ..Draft::default() });
        let mut to = |query: &Query<'_>| {
            processor.route(&snapshot, query).destination.map(|hostgroup| hostgroup.0)
        };
        assert_eq!(texts.map(|text| to(&query(text))), expected, "{value}");
        let without = texts.map(|text| to(&Query { annotations: false, ..query(text) }));
        assert_eq!(without, [Some(1), None], "{value}");
    }
}

/// What was decided about executions of this query, after several.
fn decided(
    (snapshot, processor): (&Snapshot, &mut QueryProcessor),
    query: &Query<'_>,
    schema: &Arc<[u8]>,
) -> (Route, Option<Box<Decision>>) {
    let query = Query { schemaname: schema, execute: true, ..*query };
    let (route, decision) = processor.decide(snapshot, &query, Some(schema));
    assert_eq!(route, processor.route(snapshot, &query));
    (route, decision)
}

#[test]
fn a_decision_stands_while_schema_flag_and_configuration_are_the_same() {
    let rule = |rule_id, match_digest, flag_out| RuleRow {
        rule_id,
        active: 1,
        match_digest,
        flag_out,
        destination_hostgroup: Some(rule_id),
        ..RuleRow::default()
    };
    let rules = vec![rule(3, Some("^SELECT".into()), None), rule(4, None, Some(7))];
    // evaluated each time, and remembered by digest
    for rules in [rules[1..].to_vec(), rules] {
        let (snapshot, mut processor) = compiled(&Draft { rules, ..Draft::default() });
        let (one, other): (Arc<[u8]>, Arc<[u8]>) = ((*b"one").into(), (*b"other").into());
        let mut digester = Digester::new();
        let text = "SELECT a FROM t";
        let digest = digester.digest(text.as_bytes(), &snapshot.vars.digest_options());
        let query = Query { digest: Some(digest), ..query(text) };
        let (route, decision) = decided((&snapshot, &mut processor), &query, &one);
        let decision = decision.expect("nothing but the rules decides");
        let hits: Vec<_> = processor.hits().iter().map(|hits| hits + 1).collect();
        assert_eq!(hits, vec![3; hits.len()]);
        assert_eq!(processor.decided(&decision, Some(&one), 0), Some(route));
        assert_eq!(processor.hits(), hits);
        for (schema, flag_in) in [(Some(&other), 0), (None, 0), (Some(&one), 7)] {
            assert_eq!(processor.decided(&decision, schema, flag_in), None);
        }
        processor.adopt(&snapshot);
        assert_eq!(processor.decided(&decision, Some(&one), 0), None);
    }
}

#[test]
fn what_chance_or_modes_decide_is_decided_each_time() {
    let schema: Arc<[u8]> = (*b"one").into();
    let flags = r#"{"flagOUTs":[{"id":1,"weight":1},{"id":2,"weight":1}]}"#;
    let plain = RuleRow { rule_id: 1, active: 1, ..RuleRow::default() };
    let by_chance = RuleRow { attributes: flags.into(), ..plain.clone() };
    let answers = RuleRow {
        username: Some("app".into()),
        match_pattern: Some("never".into()),
        error_msg: Some("no".into()),
        ..plain.clone()
    };
    let of_another = RuleRow { username: Some("rep".into()), ..answers.clone() };
    for (rule, stands) in [(plain, true), (of_another, true), (by_chance, false), (answers, false)]
    {
        let draft = Draft { rules: vec![rule], ..Draft::default() };
        let (snapshot, mut processor) = compiled(&draft);
        let text = "SELECT a FROM t";
        let mut digester = Digester::new();
        let digest = digester.digest(text.as_bytes(), &snapshot.vars.digest_options());
        let query =
            Query { schemaname: b"one", digest: Some(digest), execute: true, ..query(text) };
        let (_, decision) = processor.decide(&snapshot, &query, Some(&schema));
        assert_eq!(decision.is_some(), stands, "{:?}", draft.rules);
    }
}
