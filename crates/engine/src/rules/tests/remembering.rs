//! What is remembered and what is found by the index changes nothing but the cost.

use super::*;

/// Counts matches as a plain evaluation sees them.
#[derive(Default)]
struct Matches(Vec<i64>);

impl Observer for Matches {
    const WATCHES: bool = true;

    fn on_rule(&mut self, step: &RuleStep<'_>) {
        if step.missed.is_none() {
            self.0.push(step.rule_id);
        }
    }
}

fn any_rule() -> impl Strategy<Value = RuleRow> {
    const PATTERNS: [&str; 18] = [
        "a",
        "b1",
        "^select",
        "t[0-9]",
        "(t1|t2)",
        "for update$",
        "x*",
        "t1.*t2",
        "(?!select)t1",
        "^(insert|update) t1",
        "t3",
        "t4",
        "t5",
        "\\bt6\\b",
        "7$",
        "select (a|b1) t1",
        "t5 -",
        "'t[1-6]'",
    ];
    let pattern = || prop::option::weighted(0.5, prop::sample::select(&PATTERNS[..]));
    let name = || prop::option::weighted(0.2, prop::sample::select(&["app", "rep"][..]));
    let flag = || prop::option::weighted(0.3, 0..3_i64);
    let choice = prop::option::weighted(
        0.2,
        prop::sample::select(
            &[
                r#"{"flagOUTs":[{"id":1,"weight":1},{"id":2,"weight":2}]}"#,
                r#"{"sni":"one"}"#,
                r#"{"sni":["two","three"]}"#,
            ][..],
        ),
    );
    let conditions = (name(), name(), pattern(), pattern(), prop::bool::weighted(0.2));
    let odd = (
        prop::option::weighted(0.1, prop::sample::select(&["10.%", "10.0.0.1"][..])),
        prop::option::weighted(0.1, 1..3_i64),
        prop::option::weighted(0.1, prop::sample::select(&["0x1", "0x2"][..])),
    );
    let actions = (flag(), choice, 0..4_i64, prop::bool::weighted(0.3), prop::bool::weighted(0.2));
    (0..3_i64, conditions, odd, actions).prop_map(|(flag_in, conditions, odd, actions)| {
        let (username, schemaname, match_digest, match_pattern, negate) = conditions;
        let (client_addr, proxy_port, digest) = odd;
        let (flag_out, choice, destination, apply, replace) = actions;
        RuleRow {
            flag_in: if flag_in == 2 { 1 } else { 0 },
            username: username.map(Into::into),
            schemaname: schemaname.map(Into::into),
            client_addr: client_addr.map(Into::into),
            proxy_port,
            digest: digest.map(Into::into),
            match_digest: match_digest.map(Into::into),
            replace_pattern: match_pattern.filter(|_| replace && !negate).map(|_| "t1 a".into()),
            match_pattern: match_pattern.map(Into::into),
            negate_match_pattern: i64::from(negate),
            flag_out,
            attributes: choice.unwrap_or_default().into(),
            destination_hostgroup: Some(destination),
            apply: i64::from(apply),
            ..rule(0)
        }
    })
}

fn any_query() -> impl Strategy<Value = String> {
    "(select|insert|x) (t[1-6]|a|b1|'t[1-6]'|/[*] t[1-6] [*]/) (t[1-6]|b|7|0xb1|-1)( for update)?"
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(120))]
    #[test]
    fn verdicts_texts_and_hits_are_those_of_plain_rules(
        mut rows in prop::collection::vec(any_rule(), 1..80),
        iterations in 0..4_u32,
        queries in prop::collection::vec(
            (any_query(), 0..2_usize, 0..4_u32, any::<bool>()),
            1..12,
        ),
    ) {
        for (place, row) in rows.iter_mut().enumerate() {
            row.rule_id = i64::try_from(place).unwrap();
        }
        let options = RuleOptions { iterations, ..RuleOptions::default() };
        let set = RuleSet::compile(&rows, options).expect("rules compile");
        let mut scratch = set.scratch();
        let mut plain = set.scratch();
        let mut hits = vec![0; rows.len()];
        for (text, who, random, execute) in queries.iter().chain(&queries).chain(&queries) {
            // some of the texts are values to their digests, and some rules ask for what is in them
            let text = text.as_str();
            let with_digest = random % 2 == 0;
            let mut digester = sql::Digester::new();
            let digest = digester.digest(text.as_bytes(), &sql::DigestOptions::default());
            let digest = DigestRef { hash: digest.hash % 3, ..digest.into() };
            let input = RuleInput {
                username: [b"app", b"rep"][*who],
                schemaname: [b"rep", b"app"][*who],
                client_addr: [b"10.0.0.1", b"10.0.0.2"][*who],
                proxy_port: 1 + u16::try_from(*who).unwrap(),
                server_name: [b"one", b"two"][*who],
                digest: with_digest.then_some(digest),
                random: u64::from(*random),
                execute: *execute,
                ..bare(text.as_bytes())
            };
            let mut matches = Matches::default();
            let expected = set.evaluate(&input, &mut plain, &mut matches);
            let found = set.evaluate(&input, &mut scratch, &mut ());
            prop_assert_eq!(&found, &expected, "{}", text);
            if found.rewritten {
                prop_assert_eq!(scratch.rewritten(), plain.rewritten());
            }
            for id in matches.0 {
                hits[usize::try_from(id).unwrap()] += 1;
            }
        }
        prop_assert_eq!(scratch.hits(), hits);
    }
}

/// Enough rules that they are found by their texts, and those of a test.
fn among_many(rows: [RuleRow; 2]) -> RuleSet {
    let filler = (100..120).map(|id| routed(id, &format!("filler{id}"), 0));
    compile(&rows.into_iter().chain(filler).collect::<Vec<_>>()).expect("rules compile")
}

#[test]
fn a_rule_found_by_its_text_leads_to_those_of_its_flag() {
    let set = among_many([
        RuleRow { apply: 0, flag_out: Some(5), ..routed(1, "first", 1) },
        RuleRow { flag_in: 5, destination_hostgroup: Some(2), apply: 1, ..rule(200) },
    ]);
    let mut scratch = set.scratch();
    for (text, expected) in [("none", None), ("first", Some(2)), ("none", None)] {
        let verdict = set.evaluate(&bare(text.as_bytes()), &mut scratch, &mut ());
        assert_eq!(verdict.destination, expected.map(HostgroupId), "{text}");
    }
}

#[test]
fn a_rewritten_text_is_searched_for_rules_anew() {
    let rewriting = RuleRow { replace_pattern: Some("second".into()), ..routed(1, "first", 1) };
    let set = among_many([RuleRow { apply: 0, ..rewriting }, routed(200, "second", 2)]);
    let mut scratch = set.scratch();
    for (text, expected) in [("first", 2), ("second", 2), ("first", 2)] {
        let verdict = set.evaluate(&bare(text.as_bytes()), &mut scratch, &mut ());
        assert_eq!(verdict.destination, Some(HostgroupId(expected)), "{text}");
    }
}

#[test]
fn many_digests_do_not_grow_the_memo() {
    let rows: Vec<_> = (0..100)
        .map(|id| RuleRow { match_digest: Some(format!("t{id}\\b")), ..routed(id, "", id) })
        .collect();
    let set = compile(&rows).expect("rules compile");
    let mut scratch = set.scratch();
    for number in 0..50_000_u64 {
        let text = format!("SELECT c FROM t{} WHERE column_{number} = ?", number % 200);
        let omitted = sql::Omitted::Numbers;
        let digest = Some(DigestRef { hash: number, text: text.as_bytes(), omitted });
        let verdict = set.evaluate(&RuleInput { digest, ..bare(b"") }, &mut scratch, &mut ());
        let expected = u32::try_from(number % 200).ok().filter(|table| *table < 100);
        assert_eq!(verdict.destination, expected.map(HostgroupId), "{text}");
    }
    assert!(scratch.memo_bytes() <= scratch::MEMO_BYTES_MAX);
    assert_eq!(scratch.hits(), [250; 100]);
}
