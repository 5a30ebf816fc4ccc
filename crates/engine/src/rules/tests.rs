//! What rules decide, what patterns match, and what is refused.

use proptest::prelude::*;
use regex_automata::nfa::thompson::pikevm::PikeVM;
use regex_automata::util::syntax;

use super::*;
use crate::ids::HostgroupId;

mod chains;
mod patterns;
mod remembering;

fn rule(rule_id: i64) -> RuleRow {
    RuleRow { rule_id, active: 1, ..RuleRow::default() }
}

fn routed(rule_id: i64, pattern: &str, hostgroup: i64) -> RuleRow {
    RuleRow {
        match_pattern: Some(pattern.into()),
        destination_hostgroup: Some(hostgroup),
        apply: 1,
        ..rule(rule_id)
    }
}

fn split() -> Vec<RuleRow> {
    vec![routed(1, "^SELECT.*FOR UPDATE", 10), routed(2, "^SELECT", 20)]
}

fn bare(text: &[u8]) -> RuleInput<'_> {
    RuleInput {
        username: b"",
        schemaname: b"",
        client_addr: b"",
        proxy_addr: b"",
        proxy_port: 0,
        server_name: b"",
        flag_in: 0,
        text,
        digest: None,
        execute: false,
        random: 0,
    }
}

fn input(text: &str) -> RuleInput<'_> {
    RuleInput { username: b"app", schemaname: b"shop", ..bare(text.as_bytes()) }
}

fn compile(rows: &[RuleRow]) -> Result<RuleSet, Vec<ConfigFault>> {
    RuleSet::compile(rows, RuleOptions::default())
}

fn destination(rules: &[RuleRow], input: &RuleInput<'_>) -> Option<u32> {
    let set = compile(rules).expect("rules compile");
    set.evaluate(input, &mut RuleScratch::default(), &mut ()).destination.map(|id| id.0)
}

fn matches(pattern: &str, text: impl AsRef<[u8]>) -> bool {
    let set = compile(&[routed(1, pattern, 0)]).expect(pattern);
    let input = bare(text.as_ref());
    set.evaluate(&input, &mut set.scratch(), &mut ()).applied
}

fn refusal(pattern: &str) -> String {
    let faults = compile(&[routed(7, pattern, 0)]).expect_err(pattern);
    assert_eq!(faults.len(), 1, "{pattern}");
    assert_eq!((faults[0].table, faults[0].row), ("mysql_query_rules", Some(0)));
    assert_eq!(faults[0].column, "match_pattern");
    faults[0].reason.clone()
}

#[test]
fn splits_reads_from_writes() {
    for (text, expected) in [
        ("SELECT 1", Some(20)),
        ("select c from t where id=1", Some(20)),
        ("SELECT c FROM t FOR UPDATE", Some(10)),
        ("select c from t for update", Some(10)),
        ("SELECT c\nFROM t FOR UPDATE", Some(20)),
        ("INSERT INTO t SELECT 1 FOR UPDATE", None),
        (" SELECT 1", None),
        ("SELEC", None),
        ("", None),
    ] {
        assert_eq!(destination(&split(), &input(text)), expected, "{text:?}");
    }
}

#[test]
fn later_rules_override_until_one_applies() {
    let mut rules = vec![routed(30, "a", 3), routed(10, "a", 1), routed(20, "b", 2)];
    for rule in &mut rules {
        rule.apply = 0;
    }
    assert_eq!(destination(&rules, &input("a")), Some(3));
    assert_eq!(destination(&rules, &input("b")), Some(2));
    rules[1].apply = 1;
    assert_eq!(destination(&rules, &input("ab")), Some(1));
}

#[test]
fn a_rule_without_destination_leaves_what_was_decided() {
    let rules = [
        RuleRow { apply: 0, ..routed(1, "a", 5) },
        RuleRow { destination_hostgroup: None, ..routed(2, "a", 0) },
        routed(3, "a", 6),
    ];
    assert_eq!(destination(&rules, &input("a")), Some(5));
}

#[test]
fn asks_for_user_and_schema_exactly() {
    let rules = [
        RuleRow { username: Some("app".into()), ..routed(1, "x", 1) },
        RuleRow { schemaname: Some("shop".into()), ..routed(2, "y", 2) },
        RuleRow { username: Some(String::new()), ..routed(3, "z", 3) },
        RuleRow { destination_hostgroup: Some(4), match_pattern: None, ..rule(4) },
    ];
    assert_eq!(destination(&rules, &input("x")), Some(1));
    assert_eq!(destination(&rules, &input("y")), Some(2));
    assert_eq!(destination(&rules, &input("z")), Some(3));
    let other = RuleInput { username: b"App", schemaname: b"shop2", ..bare(b"xy") };
    assert_eq!(destination(&rules, &other), Some(4));
}

#[test]
fn inverts_the_pattern_only() {
    let rules = [RuleRow {
        negate_match_pattern: 1,
        username: Some("app".into()),
        ..routed(1, "^SELECT", 1)
    }];
    assert_eq!(destination(&rules, &input("UPDATE t")), Some(1));
    assert_eq!(destination(&rules, &input("SELECT 1")), None);
    let other = RuleInput { username: b"x", ..input("UPDATE t") };
    assert_eq!(destination(&rules, &other), None);
}

#[test]
fn passes_over_inactive_rules_and_their_patterns() {
    let rules = [RuleRow { active: 0, ..routed(1, "((", 1) }, routed(2, "a", 2)];
    assert_eq!(destination(&rules, &input("a")), Some(2));
}

#[test]
fn counts_the_hits_of_each_rule() {
    let set = compile(&split()).expect("rules compile");
    let mut scratch = RuleScratch::default();
    for text in ["SELECT 1", "SELECT 2", "SELECT 1 FOR UPDATE", "INSERT"] {
        set.evaluate(&input(text), &mut scratch, &mut ());
    }
    assert_eq!(set.rule_ids().collect::<Vec<_>>(), [1, 2]);
    assert_eq!(scratch.hits(), [1, 2]);
}

#[test]
fn a_scratch_adapts_to_another_set() {
    let first = compile(&split()).expect("rules compile");
    let second = compile(&[routed(1, "[0-9]+ ?x", 7)]).expect("rules compile");
    let mut scratch = first.scratch();
    first.evaluate(&input("SELECT 1"), &mut scratch, &mut ());
    let verdict = second.evaluate(&input("15 x"), &mut scratch, &mut ());
    assert_eq!(
        verdict,
        RuleVerdict { destination: Some(HostgroupId(7)), applied: true, ..RuleVerdict::default() }
    );
    assert_eq!(scratch.hits(), [1]);
    assert_eq!(
        first.evaluate(&input("SELECT 1"), &mut scratch, &mut ()).destination,
        Some(HostgroupId(20))
    );
    assert_eq!(scratch.hits(), [0, 1]);
}

#[test]
fn gives_all_faults_at_once() {
    let rows = [
        RuleRow { apply: 2, ..routed(1, "(", -1) },
        RuleRow { active: 3, negate_match_pattern: -1, ..rule(2) },
        RuleRow { destination_hostgroup: Some(1 << 31), ..rule(1) },
    ];
    let faults = compile(&rows).expect_err("faults");
    let mut found: Vec<_> =
        faults.iter().map(|fault| (fault.row.unwrap(), fault.column.as_str())).collect();
    found.sort_unstable();
    assert_eq!(
        found,
        [
            (0, "apply"),
            (0, "destination_hostgroup"),
            (0, "match_pattern"),
            (1, "active"),
            (1, "negate_match_pattern"),
            (2, "destination_hostgroup"),
            (2, "rule_id"),
        ]
    );
}

#[test]
fn names_rule_and_position_of_a_broken_pattern() {
    for (pattern, position, reason) in [
        ("^SELECT (", "9", "unclosed group"),
        ("a)", "2", "unopened group"),
        ("[a", "1", "unclosed character class"),
        ("é*(", "3", "unclosed group"),
        ("*", "1", "repetition operator missing expression"),
        (r"a\y", "2", "unrecognized escape sequence"),
    ] {
        let expected = format!("rule 7: `{pattern}` at character {position}: {reason}");
        assert_eq!(refusal(pattern), expected);
    }
}

#[test]
fn a_dollar_matches_at_the_end_and_before_a_final_newline() {
    for (pattern, text, expected) in [
        ("^SELECT 1$", "SELECT 1", true),
        ("^SELECT 1$", "SELECT 1\n", true),
        ("^SELECT 1$", "SELECT 1\n\n", false),
        ("^SELECT 1$", "SELECT 1\nx", false),
        (r"^SELECT 1\z", "SELECT 1\n", false),
        ("a$|b", "xa\n", true),
        ("(a$)", "a\n", true),
        (r"a\$", "a$", true),
        ("[$]a", "$a", true),
        ("^$", "", true),
        ("^$", "\n", true),
        ("^$", "a\n", false),
        ("(?m)^b$", "a\nb\nc", true),
        ("(?x) a $ # $", "a\n", true),
        ("a\n$", "a\n", true),
        ("a$\\s*$", "a\n", true),
    ] {
        assert_eq!(matches(pattern, text), expected, "{pattern} on {text:?}");
    }
}

#[test]
fn reads_patterns_as_pcre_does() {
    for (pattern, text, expected) in [
        ("a.b", &b"a\nb"[..], false),
        ("(?s)a.b", b"a\nb", true),
        ("a.b", b"a\xffb", true),
        (r"^\d+$", "\u{664}".as_bytes(), false),
        (r"^\w$", "\u{e9}".as_bytes(), false),
        ("\u{e9}", "caf\u{e9}".as_bytes(), true),
        (r"a\sb", b"a\x0bb", true),
        (r"\<b\>", b"a <B>", true),
        ("(?-i)abc", b"ABC", false),
        ("(?-i)ab(?i)c", b"abC", true),
        ("^(?-i)select", b"SELECT", false),
        ("straSSe", "stra\u{df}e".as_bytes(), false),
        ("k", "\u{212a}".as_bytes(), false),
        (r"^SELECT\s+\*\s+FROM\s+`?t1`?\b", b"select * from `t1` where", true),
        (r"\bt1\b", b"t1_a", false),
        ("^(SELECT|SHOW)", b"show tables", true),
        ("^(insert|update) .*where", b"UPDATE t SET a=1 WHERE b", true),
        ("a{2,3}", b"xaay", true),
        ("a|", b"zzz", true),
        ("[[:digit:]]{3}", b"a123", true),
        ("for update", b"SELECT 1 FOR UPDATE", true),
        ("for update", b"SELECT 1 FOR  UPDATE", false),
        ("^.*for update.*$", b"SELECT 1 FOR UPDATE NOWAIT", true),
        ("(for) (update)", b"for update", true),
    ] {
        let shown = String::from_utf8_lossy(text);
        assert_eq!(matches(pattern, text), expected, "{pattern} on {shown:?}");
    }
}

#[test]
fn finds_literals_longer_than_the_prefilter_looks() {
    let long = "abcdefghijklmnopqrstuvwxyz0123456789";
    assert!(matches(long, format!("x{}y", long.to_uppercase())));
    assert!(!matches(long, &long[..35]));
    assert!(!matches(long, format!("{}8", &long[..35])));
}

/// What `rows` decide by the book, one rule after the other, without any preparation.
fn naive(rows: &[RuleRow], input: &RuleInput<'_>) -> RuleVerdict {
    let mut rows: Vec<_> = rows.iter().filter(|row| row.active == 1).collect();
    rows.sort_by_key(|row| row.rule_id);
    let mut verdict = RuleVerdict::default();
    for row in rows {
        let same = |asked: &Option<String>, found: &[u8]| {
            asked.as_ref().is_none_or(|text| text.is_empty() || text.as_bytes() == found)
        };
        let pattern = row.match_pattern.as_ref().filter(|text| !text.is_empty());
        let found = pattern
            .is_none_or(|text| naive_match(text, input.text) != (row.negate_match_pattern == 1));
        if !(same(&row.username, input.username)
            && same(&row.schemaname, input.schemaname)
            && found)
        {
            continue;
        }
        if let Some(hostgroup) = row.destination_hostgroup {
            verdict.destination = Some(HostgroupId(u32::try_from(hostgroup).unwrap()));
        }
        if row.apply == 1 {
            verdict.applied = true;
            break;
        }
    }
    verdict
}

/// By the simplest of all engines: the whole automata of the others find `xb.*(?:^a|b)` in `a xb`.
fn naive_match(pattern: &str, text: &[u8]) -> bool {
    let options = syntax::Config::new().unicode(false).utf8(false).case_insensitive(true);
    let engine = PikeVM::builder().syntax(options).build(pattern).expect(pattern);
    let mut cache = engine.create_cache();
    let mut is_match = |text: &[u8]| engine.is_match(&mut cache, text);
    let shorter = text.strip_suffix(b"\n").filter(|_| pattern.ends_with('$'));
    is_match(text) || shorter.is_some_and(is_match)
}

fn any_pattern() -> impl Strategy<Value = String> {
    const PARTS: [&str; 22] = [
        "a", "B", "ab", "(a)", "(ba)", "[ab]", ".", ".*", ".+", "a?", "(ab)?", "b*", "(a|bb)",
        "\\s", "\\b", "^", "(?-i)a", "x", " ", "(?:^a|b)", "b+", "[^a]",
    ];
    let parts = prop::collection::vec(prop::sample::select(&PARTS[..]), 1..6);
    (any::<bool>(), parts, any::<bool>()).prop_map(|(start, parts, end)| {
        format!("{}{}{}", if start { "^" } else { "" }, parts.concat(), if end { "$" } else { "" })
    })
}

fn any_text() -> impl Strategy<Value = String> {
    "[abAB x\n]{0,12}"
}

fn any_row() -> impl Strategy<Value = RuleRow> {
    let name = || prop::option::of(prop::sample::select(&["", "a", "b"][..]));
    let flags = (0..=1_i64, 0..=1_i64, 0..=1_i64);
    let pattern = prop::option::of(any_pattern());
    (flags, name(), name(), pattern, prop::option::of(0..3_i64)).prop_map(
        |((active, negate, apply), username, schemaname, match_pattern, destination)| RuleRow {
            active,
            username: username.map(Into::into),
            schemaname: schemaname.map(Into::into),
            match_pattern,
            negate_match_pattern: negate,
            destination_hostgroup: destination,
            apply,
            ..RuleRow::default()
        },
    )
}

proptest! {
    #[test]
    fn patterns_match_as_without_preparation(pattern in any_pattern(), text in any_text()) {
        prop_assert_eq!(matches(&pattern, &text), naive_match(&pattern, text.as_bytes()));
    }

    #[test]
    fn sets_decide_as_one_rule_after_the_other(
        mut rows in prop::collection::vec(any_row(), 0..6),
        names in prop::sample::select(&[("a", "b"), ("b", "a"), ("", "")][..]),
        text in any_text(),
    ) {
        // ids out of order
        for (place, row) in rows.iter_mut().enumerate() {
            row.rule_id = i64::try_from(place).unwrap() * 5 % 7;
        }
        let input = RuleInput {
            username: names.0.as_bytes(),
            schemaname: names.1.as_bytes(),
            ..bare(text.as_bytes())
        };
        let set = compile(&rows).expect("rules compile");
        let mut scratch = set.scratch();
        for _ in 0..2 {
            prop_assert_eq!(set.evaluate(&input, &mut scratch, &mut ()), naive(&rows, &input));
        }
    }

    #[test]
    fn takes_any_pattern_and_text(
        pattern in "[a-c(){}\\[\\]?*+|^$.\\\\0-3:!<>=&~-]{0,12}",
        text in prop::collection::vec(any::<u8>(), 0..40),
    ) {
        if let Ok(set) = compile(&[routed(1, &pattern, 1)]) {
            let input = bare(&text);
            set.evaluate(&input, &mut RuleScratch::default(), &mut ());
        }
    }
}
