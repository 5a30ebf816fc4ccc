//! Rules that an earlier or a later one makes useless.

use std::collections::HashMap;

use super::language::{FoundText, Language, find_text};
use super::rule::{LintedPattern, text};
use super::{Findings, Kind, Lint, LintedRule};
use engine::rows::RuleRow;

pub(super) fn look(lint: &Lint<'_>, findings: &mut Findings) {
    let digests = lint.snapshot.vars.query_digests;
    let mut pairs = 0;
    // places of the rules after which their queries come to no other, and of those that take all
    let (mut takers, mut takers_of_all) = (Vec::new(), Vec::new());
    duplicates(lint, findings);
    for (at, rule) in lint.rules.iter().enumerate() {
        let Some((earlier, later)) = lint.rules.split_at_checked(at) else { continue };
        if findings.has(Kind::Duplicate, rule) {
            continue;
        }
        pairs += earlier.len();
        let shadows = |place: &usize| {
            earlier.get(*place).is_some_and(|other| {
                (digests || !other.asks_for_digest())
                    && other.row.flag_in == rule.row.flag_in
                    && lint.covers(other, rule)
                    && !may_return(earlier.get(place + 1..).unwrap_or_default(), other, rule)
            })
        };
        let asked = if pairs < PAIRS_MAX { &takers } else { &takers_of_all };
        let shadow = asked.iter().copied().find(shadows);
        if rule.takes_away() {
            takers.push(at);
            if rule.is_for_everything() {
                takers_of_all.push(at);
            }
        }
        let shadow = shadow.and_then(|place| earlier.get(place));
        if let Some(shadow) = shadow {
            findings.rule(Kind::Shadowed, rule, "", shadowed(shadow, rule));
        } else if let Some(winner) = overriding(lint, rule, later.get(1..).unwrap_or_default()) {
            let reason = format!(
                "rule {} matches everything that this one matches and sends it to hostgroup {}",
                winner.row.rule_id,
                winner.row.destination_hostgroup.unwrap_or_default()
            );
            let suggestion = "set apply=1 for this rule to have the last word, or remove it";
            findings.rule(Kind::Overridden, rule, "destination_hostgroup", (reason, suggestion));
        }
    }
}

/// Pairs of rules that are compared; of further ones only those with a rule that asks for nothing.
const PAIRS_MAX: usize = 2_000_000;

fn shadowed(shadow: &LintedRule<'_>, rule: &LintedRule<'_>) -> (String, String) {
    let RuleRow { rule_id, apply, .. } = shadow.row;
    let how = if *apply == 1 { "apply=1" } else { "another flag" };
    let shown = |rule: &LintedRule<'_>| {
        let patterns: Vec<_> = rule.patterns().map(|one| format!("`{}`", one.source)).collect();
        patterns.join(" and ")
    };
    let why = match (shown(shadow), shown(rule)) {
        (all, _) if all.is_empty() => String::new(),
        (all, this) if this.is_empty() || all == this => format!(" (by {all})"),
        (all, this) => format!(" ({all} is found wherever {this} is)"),
    };
    let reason = format!(
        "rule {rule_id} with {how} takes every query that this one matches{why}, so that it is \
         never reached"
    );
    let suggestion =
        format!("give it an id below {rule_id} if it is the exception, else remove it");
    (reason, suggestion)
}

/// Whether queries that met `shadow` or missed it for their flag may come to `rule` after all.
fn may_return(between: &[LintedRule<'_>], shadow: &LintedRule<'_>, rule: &LintedRule<'_>) -> bool {
    between.iter().any(|other| {
        other.sets(rule.row.flag_in) || other.row.replace_pattern.is_some() && shadow.text.is_some()
    })
}

/// A later rule that decides about all queries of `rule`, which decides nothing else.
fn overriding<'a, 'b>(
    lint: &Lint<'_>,
    rule: &LintedRule<'_>,
    later: &'b [LintedRule<'a>],
) -> Option<&'b LintedRule<'a>> {
    let only_routes = RuleRow {
        destination_hostgroup: None,
        comment: None,
        rule_id: 0,
        apply: 0,
        ..rule.row.clone()
    } == RuleRow {
        active: 1,
        username: rule.row.username.clone(),
        schemaname: rule.row.schemaname.clone(),
        flag_in: rule.row.flag_in,
        client_addr: rule.row.client_addr.clone(),
        proxy_addr: rule.row.proxy_addr.clone(),
        proxy_port: rule.row.proxy_port,
        digest: rule.row.digest.clone(),
        match_digest: rule.row.match_digest.clone(),
        match_pattern: rule.row.match_pattern.clone(),
        negate_match_pattern: rule.row.negate_match_pattern,
        re_modifiers: rule.row.re_modifiers.clone(),
        ..RuleRow::default()
    };
    if !only_routes || rule.row.apply == 1 || rule.row.destination_hostgroup.is_none() {
        return None;
    }
    for other in later.iter().filter(|other| other.row.flag_in == rule.row.flag_in) {
        if other.row.destination_hostgroup.is_some() && lint.covers(other, rule) {
            return Some(other);
        }
        if other.takes_away() || other.row.replace_pattern.is_some() {
            return None;
        }
    }
    None
}

fn duplicates(lint: &Lint<'_>, findings: &mut Findings) {
    let mut seen: HashMap<String, (usize, &LintedRule<'_>)> = HashMap::new();
    for (at, rule) in lint.rules.iter().enumerate() {
        // replacing twice is not the same as once
        if rule.row.replace_pattern.is_some() {
            continue;
        }
        let key = format!("{:?}", RuleRow { rule_id: 0, comment: None, ..rule.row.clone() });
        match seen.get(&key) {
            // a rule in between has the last word over the earlier one, and not over this one
            Some((place, _)) if !rule.takes_away() && place + 1 < at => {
                seen.insert(key, (at, rule));
            }
            Some((_, earlier)) => {
                let reason = format!("it says the same as rule {}", earlier.row.rule_id);
                findings.rule(Kind::Duplicate, rule, "", (reason, "remove one of the two"));
            }
            None => {
                seen.insert(key, (at, rule));
            }
        }
    }
}

impl Lint<'_> {
    /// Whether `outer` certainly matches every query that `inner` matches, their flags apart.
    pub(super) fn covers(&self, outer: &LintedRule<'_>, inner: &LintedRule<'_>) -> bool {
        let (all, some) = (outer.row, inner.row);
        is_same(&all.username, &some.username)
            && is_same(&all.schemaname, &some.schemaname)
            && is_same(&all.proxy_addr, &some.proxy_addr)
            && all.proxy_port.is_none_or(|port| some.proxy_port == Some(port))
            && are_within(&outer.server_names, &inner.server_names)
            && is_same(&all.digest, &some.digest)
            && is_within(&all.client_addr, &some.client_addr)
            && self.implies(outer, inner, |rule| rule.digest.as_ref(), &self.shape.all())
            && self.implies(outer, inner, |rule| rule.text.as_ref(), &[])
    }

    /// Whether what `inner` asks of one kind of text is enough for `outer`.
    fn implies<'a>(
        &self,
        outer: &'a LintedRule<'_>,
        inner: &'a LintedRule<'_>,
        pattern: impl Fn(&'a LintedRule<'_>) -> Option<&'a LintedPattern<'a>>,
        absent: &[&'a Language],
    ) -> bool {
        let Some(wanted) = pattern(outer) else { return true };
        let given = pattern(inner);
        if let Some(given) = given
            && given.source == wanted.source
            && given.caseless == wanted.caseless
            && outer.negates() == inner.negates()
        {
            return true;
        }
        let (Some(statement), Some(language)) = (&self.statement, &wanted.language) else {
            return false;
        };
        let (mut all, mut none) = (vec![statement], absent.to_vec());
        if let Some(given) = given {
            let Some(language) = &given.language else { return false };
            let example = given.example.as_deref().filter(|_| !inner.negates());
            if example.is_some_and(|text| wanted.finds(text) == outer.negates()) {
                return false;
            }
            if inner.negates() { none.push(language) } else { all.push(language) }
        }
        if outer.negates() {
            all.push(language)
        } else {
            none.push(language)
        }
        find_text(&all, &none) == FoundText::Nothing
    }
}

fn is_same(all: &Option<String>, some: &Option<String>) -> bool {
    text(all).is_none_or(|all| text(some) == Some(all))
}

/// Whether every host of `some` is one of `all`; none are all of them.
fn are_within(all: &[String], some: &[String]) -> bool {
    let is_one = |some: &String| all.iter().any(|all| all.eq_ignore_ascii_case(some));
    all.is_empty() || !some.is_empty() && some.iter().all(is_one)
}

/// Whether every address of `some` is one of `all`.
fn is_within(all: &Option<String>, some: &Option<String>) -> bool {
    let Some(all) = text(all) else { return true };
    let Some(some) = text(some) else { return all == "%" };
    match all.strip_suffix('%') {
        Some(prefix) => some.strip_suffix('%').unwrap_or(some).starts_with(prefix),
        None => all == some,
    }
}
