//! Explanations against the routes of traffic, and how they read.

use proptest::prelude::*;

use super::*;
use engine::holds::Holds;
use engine::rows::{FastRoutingRow, ServerRow, UserRow};
use engine::snapshot::Draft;

fn routed(rule_id: i64, match_digest: &str, hostgroup: i64) -> RuleRow {
    RuleRow {
        rule_id,
        active: 1,
        match_digest: Some(match_digest.to_owned()).filter(|text| !text.is_empty()),
        destination_hostgroup: Some(hostgroup),
        apply: 1,
        ..RuleRow::default()
    }
}

fn server(hostgroup_id: i64, hostname: &str, weight: i64, status: &str) -> ServerRow {
    let (hostname, status) = (hostname.to_owned(), status.to_owned());
    ServerRow { hostgroup_id, hostname, weight, status, ..ServerRow::default() }
}

fn draft(rules: Vec<RuleRow>) -> Draft {
    let user = UserRow { username: "app".into(), password: b"x".into(), ..UserRow::default() };
    Draft {
        rules,
        users: vec![user],
        servers: vec![
            server(0, "primary", 1, "ONLINE"),
            server(1, "r1", 1, "ONLINE"),
            server(1, "r2", 3, "ONLINE"),
            server(1, "r3", 1, "OFFLINE_SOFT"),
            server(1, "r4", 0, "ONLINE"),
        ],
        ..Draft::default()
    }
}

fn explained(draft: &Draft, sql: &str) -> Explanation {
    let snapshot = Snapshot::compile(draft).expect("valid");
    let request = Request { sql: sql.to_owned(), ..Request::default() };
    explain(&snapshot, &draft.rules, &request, 0).expect("explained")
}

#[test]
fn says_which_column_missed_with_both_values() {
    let mut rules = vec![routed(1, "^INSERT", 0), routed(3, "^SELECT", 1)];
    rules.push(RuleRow { username: Some("ann".into()), ..routed(2, "", 0) });
    let explanation = explained(&draft(rules), "SELECT 1");
    let missed: Vec<_> = explanation.steps.iter().map(|step| step.missed.clone()).collect();
    let miss = |column, asked: &str, found: &str| {
        Some(Missed { column, asked: asked.into(), found: found.into() })
    };
    assert_eq!(
        missed,
        [miss("match_digest", "^INSERT", "SELECT ?"), miss("username", "ann", "app"), None]
    );
    assert_eq!(explanation.reason, Reason::Rule(3));
    assert_eq!(explanation.hostgroup, HostgroupId(1));
    assert_eq!(explanation.command, "SELECT");
    assert_eq!(explanation.digest, Some((0x1C46_AE52_9DD5_A40E, "SELECT ?".to_owned())));
}

#[test]
fn says_what_the_cache_has_to_do_with_it() {
    let cached = |text: &str, attributes: &str| {
        let rule = RuleRow {
            cache_ttl: Some(500),
            attributes: attributes.into(),
            replace_pattern: Some("RAND()".into()),
            match_pattern: Some("DICE".into()),
            ..routed(1, "", 1)
        };
        let plain =
            RuleRow { replace_pattern: None, match_pattern: None, rule_id: 2, ..rule.clone() };
        explained(&draft(vec![rule, plain]), text).cached()
    };
    let is = |text: &str| Some(text.to_owned());
    assert_eq!(cached("SELECT 1", ""), is("for 500 ms, outside transactions"));
    assert_eq!(
        cached("SELECT 1", r#"{"invalidate": "binlog"}"#),
        is("for 500 ms or until its tables change, outside transactions")
    );
    let never = |why: &str| Some(format!("never, in spite of cache_ttl=500: {why}"));
    let varies = "it calls what gives other values without a change of data";
    assert_eq!(cached("SELECT NOW()", ""), never(varies));
    assert_eq!(cached("SELECT DICE", ""), never(varies));
    assert_eq!(
        cached("SELECT 1 FOR UPDATE", ""),
        never("it is no plain SELECT, or uses variables, locks or the like")
    );
    assert_eq!(explained(&draft(vec![routed(1, "", 1)]), "SELECT 1").cached(), None);
}

#[test]
fn names_the_servers_with_their_shares_and_why_one_gets_nothing() {
    let explanation = explained(&draft(vec![routed(1, "^SELECT", 1)]), "SELECT 1");
    let servers: Vec<_> = explanation
        .servers
        .iter()
        .map(|one| (one.server.as_str(), one.share_permille, one.unused.as_deref()))
        .collect();
    assert_eq!(
        servers,
        [
            ("r1:3306", 250, None),
            ("r2:3306", 750, None),
            ("r3:3306", 0, Some("its status is OFFLINE_SOFT")),
            ("r4:3306", 0, Some("its weight is 0")),
        ]
    );
    let servers = vec![server(0, "a", 2, "ONLINE"), server(0, "b", 1, "ONLINE")];
    let explanation = explained(&Draft { servers, ..draft(Vec::new()) }, "SELECT 1");
    let shares: Vec<_> = explanation.servers.iter().map(|one| one.share_permille).collect();
    assert_eq!(shares, [667, 333], "to the nearest");
}

#[test]
fn shows_rewrites_flags_and_where_the_hostgroup_came_from() {
    let rewrite = RuleRow {
        match_pattern: Some("foo".into()),
        replace_pattern: Some("bar".into()),
        flag_out: Some(5),
        apply: 0,
        ..routed(1, "", 0)
    };
    let mut with_row = draft(vec![rewrite]);
    with_row.fast_routing.push(FastRoutingRow {
        username: "app".into(),
        schemaname: "information_schema".into(),
        flag_in: 5,
        destination_hostgroup: 1,
        comment: String::new(),
    });
    let explanation = explained(&with_row, "SELECT foo");
    assert_eq!(explanation.steps[0].flags, (0, 5));
    let rewrite = ("SELECT foo".to_owned(), "SELECT bar".to_owned());
    assert_eq!(explanation.steps[0].rewrite, Some(rewrite));
    assert_eq!(explanation.rewritten.as_deref(), Some("SELECT bar"));
    assert_eq!(explanation.reason, Reason::FastRouting);
    let explanation = explained(&with_row, "/* hostgroup=1; mirror=x */ SELECT 1");
    assert_eq!(explanation.reason, Reason::Annotation);
    assert_eq!(explanation.comment.unwrap().1.as_deref(), Some("mirror=x"));
    assert_eq!(explained(&draft(Vec::new()), "SELECT 1").reason, Reason::Default);
}

#[test]
fn a_read_that_keeps_its_connection_goes_where_writes_go() {
    let draft = draft(vec![routed(1, "^SELECT", 1)]);
    for text in
        ["SELECT @a := 1, GET_LOCK('x', 1)", "/* hostgroup=1 */ SELECT GET_LOCK('x', 1), @a := 1"]
    {
        let explanation = explained(&draft, text);
        assert_eq!(explanation.hostgroup, HostgroupId(0), "{text}");
        let why = Why::Ties(Holds::USER_VARIABLE.union(Holds::GET_LOCK));
        assert_eq!(explanation.reason, Reason::WithWrites(why), "{text}");
    }
    let several = explained(&draft, "SELECT 1; DELETE FROM t");
    assert_eq!(several.hostgroup, HostgroupId(0));
    assert_eq!(several.reason, Reason::WithWrites(Why::HasMore));
    assert_eq!(explained(&draft, "SELECT @a").hostgroup, HostgroupId(1));
}

proptest! {
    /// An explanation and traffic decide the same.
    #[test]
    fn explanations_agree_with_traffic(
        rules in prop::collection::vec(
            (
                prop::sample::select(&["", "^SELECT", "UPDATE", "t1", "id", "[ab]"][..]),
                0..3_i64, 0..2_i64, 0..2_i64, prop::option::of(0..3_i64), 0..2_i64,
            ),
            0..8,
        ),
        texts in prop::collection::vec(
            "(SELECT|UPDATE|/\\* hostgroup=[0-2] \\*/) (t1|t2|a) id=[0-9]",
            6,
        ),
    ) {
        let rules = rules.into_iter().enumerate().map(|(place, rule)| {
            let (pattern, hostgroup, apply, flag_in, flag_out, negate) = rule;
            RuleRow {
                apply, flag_in, flag_out,
                negate_match_pattern: negate,
                ..routed(i64::try_from(place).unwrap(), pattern, hostgroup)
            }
        });
        let draft = draft(rules.collect());
        let snapshot = Snapshot::compile(&draft).expect("valid");
        let mut processor = QueryProcessor::new(&snapshot, 0);
        for sql in texts {
            let request = Request { sql, ..Request::default() };
            let explanation = explain(&snapshot, &draft.rules, &request, 0).expect("explained");
            let complete = complete(&snapshot, &request).expect("complete");
            // twice: the second time from what was remembered
            for _ in 0..2 {
                let route = processor.route(&snapshot, &query_of(&complete));
                prop_assert_eq!(&route, &explanation.route);
                let hostgroup = route.destination.unwrap_or(HostgroupId(0));
                prop_assert_eq!(hostgroup, explanation.hostgroup);
            }
        }
    }
}

#[test]
fn says_how_many_connections_the_user_has_to_each_server_where_it_may_have_few() {
    let of_user = |attributes: &str| {
        let mut draft = draft(Vec::new());
        draft.users[0].attributes = attributes.into();
        let snapshot = Snapshot::compile(&draft).expect("valid");
        let app = snapshot.users.find(b"app").expect("it is there");
        let server = &snapshot.topology.hostgroup(HostgroupId(0))[0];
        assert!(app.backends.take(server.index, 3) && app.backends.take(server.index, 3));
        let request = Request { sql: "SELECT 1".into(), ..Request::default() };
        explain(&snapshot, &draft.rules, &request, 0).expect("explained").servers[0].of_user
    };
    assert_eq!(of_user(r#"{"max_backend_connections": 3}"#), Some((2, 3)));
    assert_eq!(of_user(""), None);
}
