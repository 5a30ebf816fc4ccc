//! Rows of fast routing that no query comes to.

use super::rule::LintedRule;
use super::{Findings, Kind, Lint, flags};
use engine::rows::{FastRoutingRow, RuleRow};

const TABLE: &str = "mysql_query_rules_fast_routing";

pub(super) fn look(lint: &Lint<'_>, findings: &mut Findings) {
    let takers: Vec<_> = lint.rules.iter().filter(|rule| may_take_all(lint, rule)).collect();
    // one finding for each rule, however many rows it takes
    let mut taken: Vec<(usize, usize)> = vec![(0, 0); takers.len()];
    for (place, row) in lint.draft.fast_routing.iter().enumerate() {
        if !flags::is_start(lint, row.flag_in) && !lint.rules.iter().any(|r| r.sets(row.flag_in)) {
            let flag = row.flag_in;
            let reason = format!("no rule sets flag {flag}, so that the row is never looked up");
            let suggestion = format!("set flagOUT={flag} in a rule, or flagIN=0 here");
            findings.row(
                Kind::FastRoutingFlag,
                (TABLE, Some(place), "flagIN"),
                (reason, suggestion),
            );
        }
        let taker = takers.iter().position(|rule| takes(rule, row));
        if let Some((first, count)) = taker.and_then(|at| taken.get_mut(at)) {
            if *count == 0 {
                *first = place;
            }
            *count += 1;
        }
    }
    for (rule, (place, count)) in takers.iter().zip(taken).filter(|(_, (_, count))| *count > 0) {
        let id = rule.row.rule_id;
        let more = match count {
            1 => String::new(),
            count => format!(" (and {} more rows)", count - 1),
        };
        let reason = format!(
            "rule {id} takes every query of this row{more} and has apply=1, after which fast \
             routing is not looked at"
        );
        let suggestion = format!("set apply=0 in rule {id}, or have it match less");
        findings.row(Kind::FastRoutingUnreachable, (TABLE, Some(place), ""), (reason, suggestion));
    }
}

/// Whether a rule ends the evaluation for all queries of some user and schema.
fn may_take_all(lint: &Lint<'_>, rule: &LintedRule<'_>) -> bool {
    let any = RuleRow {
        username: rule.row.username.clone(),
        schemaname: rule.row.schemaname.clone(),
        ..RuleRow::default()
    };
    let everything = LintedRule::without_patterns(&any);
    rule.row.apply == 1 && lint.covers(rule, &everything)
}

fn takes(rule: &LintedRule<'_>, row: &FastRoutingRow) -> bool {
    let is_for = |asked: &Option<String>, name: &str| {
        asked.as_deref().is_none_or(|asked| asked.is_empty() || asked == name)
    };
    rule.row.flag_in == row.flag_in
        && is_for(&rule.row.username, &row.username)
        && is_for(&rule.row.schemaname, &row.schemaname)
}
