//! What patterns mean, whichever engine searches them.

use super::*;

fn compiled(row: RuleRow, engine: Engine) -> Result<RuleSet, Vec<ConfigFault>> {
    RuleSet::compile(&[row], RuleOptions { engine, iterations: 0 })
}

/// Whether a pattern needs the engine that backtracks.
fn is_slow(pattern: &str) -> bool {
    !compiled(routed(1, pattern, 1), Engine::Pcre).expect(pattern).slow_patterns().is_empty()
}

fn replaced(pattern: &str, replacement: &str, modifiers: &str, text: &[u8]) -> Option<Vec<u8>> {
    let row = RuleRow {
        replace_pattern: Some(replacement.into()),
        re_modifiers: Some(modifiers.into()),
        ..routed(1, pattern, 1)
    };
    let set = compiled(row, Engine::Pcre).expect(pattern);
    let mut scratch = set.scratch();
    let verdict = set.evaluate(&bare(text), &mut scratch, &mut ());
    verdict.rewritten.then(|| scratch.rewritten().to_vec())
}

#[test]
fn what_needs_backtracking_works_and_is_reported() {
    for (pattern, yes, no) in [
        (r"^(?!INSERT)", "SELECT", "insert"),
        ("a(?=b)", "ab", "ac"),
        ("(?<!a)b", "cb", "ab"),
        ("(?<=a)b", "ab", "cb"),
        (r"'(a+)'.*'\1'", "'aa','aa'", "'aa','ab'"),
        ("a++b", "aab", "aac"),
        ("(?>a+)b", "aab", "aac"),
        (r"^(\((?1)*\))$", "(()())", "(()"),
        (r"x\Ky$", "xy", "yx"),
        (r"a\Rb", "a\nb", "a b"),
        ("(?m)^b$", "a\nb\nc", "ab"),
        ("(?m)^$", "a\n\nb", "a\n"),
        ("(?x) a b # c", "ab", "a b"),
        (r"a\vb", "a\rb", "ab"),
        ("[é]x", "éx", "ex"),
        ("é*x", "ééx", "x"),
        ("(a{1000}){1000}", &"a".repeat(1_000_000), "a"),
    ] {
        assert!(is_slow(pattern), "{pattern}");
        assert!(matches(pattern, yes), "{pattern} on {:.40?}", yes);
        assert!(!matches(pattern, no), "{pattern} on {no:?}");
    }
    let set = compiled(routed(7, "^(?!SELECT)", 0), Engine::Pcre).expect("valid");
    assert_eq!(
        set.slow_patterns()[0].to_string(),
        "mysql_query_rules row 1 column match_pattern: rule 7: `^(?!SELECT)` at character 2: \
         look-around is not supported by the linear-time engine; it is searched by PCRE2 within \
         limits, slowly"
    );
}

#[test]
fn what_is_only_spelled_otherwise_stays_linear() {
    for (pattern, text, expected) in [
        ("a{,3}b", "a{,3}b", true),
        ("a{,3}b", "aab", false),
        ("a{x}", "A{X}", true),
        ("a{", "a{", true),
        (r"\bstart\b{start}", "start{start}", true),
        (r"[[:<:]]ab[[:>:]]", "x ab.", true),
        (r"[[:<:]]ab[[:>:]]", "xab ab_", false),
        (r"a\h\hb", "a\t b", true),
        (r"a[\h]b", "a\nb", false),
        (r"\Qa.b(\E+", "a.b((", true),
        (r"\Qa.b", "axb", false),
        ("[a[b]c", "[c", true),
        ("[a&&b]c", "&c", true),
        ("[]x]y", "]y", true),
        ("[^]x]y", "zy", true),
        (r"a\Z", "a\n", true),
        (r"a\Z", "a\n\n", false),
        (r"a\z", "a\n", false),
        (r"\x41{2}", "aa", true),
        (r"\x{41}b", "ab", true),
    ] {
        assert!(!is_slow(pattern), "{pattern}");
        assert_eq!(matches(pattern, text), expected, "{pattern} on {text:?}");
    }
}

#[test]
fn re2_has_no_backtracking_and_a_dollar_is_the_very_end() {
    for pattern in ["a(?=b)", r"(a)\1", "a++", "(a{1000}){1000}"] {
        let faults = compiled(routed(1, pattern, 1), Engine::Re2).expect_err(pattern);
        assert_eq!(faults.len(), 1, "{pattern}");
    }
    let set = compiled(routed(1, "a$", 1), Engine::Re2).expect("valid");
    let mut scratch = set.scratch();
    assert!(set.evaluate(&bare(b"a"), &mut scratch, &mut ()).applied);
    assert!(!set.evaluate(&bare(b"a\n"), &mut scratch, &mut ()).applied);
}

#[test]
fn faults_of_either_engine_name_their_place() {
    for (pattern, expected) in [
        ("(?=a", "`(?=a` at character 5: missing closing parenthesis"),
        (r"é{,2}(?=a)\2", r"`é{,2}(?=a)\2` at character 12: reference to non-existent subpattern"),
        ("(?<=a+)b", "`(?<=a+)b` at character 1: length of lookbehind assertion is not limited"),
        (
            r"\u0041",
            r"`\u0041` at character 3: PCRE2 does not support \F, \L, \l, \N{name}, \U, or \u",
        ),
    ] {
        assert_eq!(refusal(pattern), format!("rule 7: {expected}"), "{pattern}");
    }
}

#[test]
fn hostile_texts_reach_a_limit_and_are_counted() {
    for pattern in [r"^(a+)+(?!b)$", r"(?=(\w+\w+\w+)x)a", r"^(\w+\s?)*\1$"] {
        let set = compiled(routed(1, pattern, 1), Engine::Pcre).expect(pattern);
        let mut scratch = set.scratch();
        let text = [b"a".repeat(30_000).as_slice(), b"!"].concat();
        assert!(!set.evaluate(&bare(&text), &mut scratch, &mut ()).applied, "{pattern}");
        assert_eq!(scratch.limit_hits().collect::<Vec<_>>(), [1], "{pattern}");
    }
    // nobody passes a rule that refuses by a text that is hard to search, or is told OK by it
    for negate_match_pattern in [0, 1] {
        for (error_msg, ok_msg) in [(Some("no".to_owned()), None), (None, Some("yes".to_owned()))] {
            let by_text = RuleRow {
                negate_match_pattern,
                error_msg,
                ok_msg,
                ..routed(1, r"^(?!INSERT).*okdenied", 1)
            };
            let refuses = by_text.error_msg.is_some();
            let by_digest = RuleRow {
                match_digest: by_text.match_pattern.clone(),
                match_pattern: None,
                ..by_text.clone()
            };
            let text = [b"SELECT a FROM okdenied -- ".as_slice(), &b"x".repeat(150_000)].concat();
            let digest = DigestRef { hash: 1, text: &text, omitted: sql::Omitted::More };
            for (row, input) in [
                (by_text, bare(&text)),
                (by_digest, RuleInput { digest: Some(digest), ..bare(b"") }),
            ] {
                let set = compiled(row, Engine::Pcre).expect("valid");
                let mut scratch = set.scratch();
                let verdict = set.evaluate(&input, &mut scratch, &mut ());
                assert_eq!(verdict.applied, refuses || negate_match_pattern == 1);
                assert_eq!(scratch.limit_hits().collect::<Vec<_>>(), [1]);
            }
        }
    }
    // the same without anything that backtracks is linear, and finds out
    assert!(!is_slow("^(a+)+$"));
    assert!(!matches("^(a+)+$", [b"a".repeat(100_000).as_slice(), b"!"].concat()));
}

#[test]
fn replacing_takes_the_first_place_or_all() {
    for (pattern, replacement, modifiers, text, expected) in [
        ("foo", "bar", "CASELESS", "foo FOO", Some("bar FOO")),
        ("foo", "bar", "CASELESS,GLOBAL", "foo FOO", Some("bar bar")),
        ("foo", "bar", "global", "FOO foo", Some("FOO bar")),
        ("foo", "bar", "", "FOO", None),
        (
            r"^SELECT 1 AS (\w+)",
            r"SELECT 2 AS \1_rw",
            "CASELESS",
            "select 1 as x, 2",
            Some("SELECT 2 AS x_rw, 2"),
        ),
        ("a(.*)b", r"[\0]<\1>", "CASELESS", "xaxxby", Some("x[axxb]<xx>y")),
        ("(a)|(b)", r"<\1\2>", "GLOBAL", "ab", Some("<a><b>")),
        ("x*", "-", "GLOBAL", "axb", Some("-a-b-")),
        ("$", ";", "CASELESS", "a\n", Some("a;\n")),
        (r"(b$)", r"<\1>", "CASELESS", "ab\n", Some("a<b>\n")),
        (r"b\Z", "c", "CASELESS", "ab\n", Some("ac\n")),
        (r"\s*$", "", "CASELESS", "a \n", Some("a")),
        (r"(\w)$|(x)", r"<\1>", "CASELESS", "ab\n", Some("a<b>\n")),
        (r"(?=b)", "-", "GLOBAL", "abb", Some("a-b-b")),
        (r"(a)(?!b)", r"\1\1", "GLOBAL", "abac", Some("abaac")),
        (r"x", r"\\", "CASELESS", "x", Some(r"\")),
        ("a", "", "GLOBAL", "aba", Some("b")),
    ] {
        let found = replaced(pattern, replacement, modifiers, text.as_bytes());
        let found = found.map(|text| String::from_utf8(text).expect("text"));
        assert_eq!(found.as_deref(), expected, "{pattern} -> {replacement} on {text:?}");
    }
    let bytes = replaced("b", "c", "", b"a\xffb\0").expect("found");
    assert_eq!(bytes, b"a\xffc\0");
}
