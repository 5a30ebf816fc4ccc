//! Chains of flags: which rules set a flag, and which wait for it.

use super::{Findings, Kind, Lint, LintedRule};
use engine::rows::RuleRow;

pub(super) fn look(lint: &Lint<'_>, findings: &mut Findings) {
    for rule in &lint.rules {
        look_at_in(rule, lint, findings);
        look_at_out(rule, lint, findings);
        let row = rule.row;
        for (column, flag) in
            [("next_query_flagIN", row.next_query_flag_in), ("mirror_flagOUT", row.mirror_flag_out)]
        {
            if let Some(flag) = flag.filter(|flag| *flag != 0)
                && !lint.rules.iter().any(|taker| taker.row.flag_in == flag)
                && !is_fast_routed(lint, flag)
            {
                findings.rule(Kind::FlagUnused, rule, column, unused(flag, lint));
            }
        }
    }
}

/// Whether a chain may begin with a flag.
pub(super) fn is_start(lint: &Lint<'_>, flag: i64) -> bool {
    flag == 0
        || lint.rules.iter().any(|rule| {
            rule.row.next_query_flag_in == Some(flag) || rule.row.mirror_flag_out == Some(flag)
        })
}

/// A rule that waits for a flag.
fn look_at_in(rule: &LintedRule<'_>, lint: &Lint<'_>, findings: &mut Findings) {
    let flag = rule.row.flag_in;
    let mut setters = lint.rules.iter().filter(|other| other.sets(flag));
    if is_start(lint, flag) || setters.next().is_some() {
        return;
    }
    let would = ids(lint.inactive().filter(|row| row.flag_out == Some(flag)));
    let reason = match would.as_str() {
        "" => format!("no rule sets flag {flag}, so that this one is never looked at"),
        would => format!(
            "flag {flag} is set by inactive rules only ({would}), so that this one is never \
             looked at"
        ),
    };
    let suggestion = format!("set flagOUT={flag} in the rule that leads here, or flagIN=0");
    findings.rule(Kind::FlagNeverSet, rule, "flagIN", (reason, suggestion));
}

/// A rule that sets flags.
fn look_at_out(rule: &LintedRule<'_>, lint: &Lint<'_>, findings: &mut Findings) {
    let column = if rule.row.flag_out.is_some() { "flagOUT" } else { "attributes" };
    let iterations = lint.snapshot.vars.query_processor_iterations;
    for flag in rule.flags_out.iter().copied().filter(|flag| *flag != rule.row.flag_in) {
        if rule.row.apply == 1 {
            let reason = format!("apply=1 ends the evaluation, so that flag {flag} is of no use");
            let suggestion = "set apply=0 for the rules of the flag to be looked at";
            findings.rule(Kind::FlagAfterApply, rule, column, (reason, suggestion));
            return;
        }
        let takers = || lint.rules.iter().filter(|taker| taker.row.flag_in == flag);
        if is_fast_routed(lint, flag) {
            continue;
        }
        if takers().next().is_none() {
            findings.rule(Kind::FlagUnused, rule, column, unused(flag, lint));
        } else if iterations == 0 && takers().all(|taker| taker.row.rule_id <= rule.row.rule_id) {
            let reason = format!(
                "flag {flag} is taken up by rule {} only, which has been passed: rules are gone \
                 through once, in the order of their ids",
                ids(takers().map(|taker| taker.row))
            );
            let suggestion = "give the rules of the flag greater ids than the rule that sets it, \
                              or set mysql-query_processor_iterations";
            findings.rule(Kind::FlagSetTooLate, rule, column, (reason, suggestion));
        }
    }
}

fn unused(flag: i64, lint: &Lint<'_>) -> (String, String) {
    let would = ids(lint.inactive().filter(|row| row.flag_in == flag));
    let reason = match would.as_str() {
        "" => format!("no rule has flagIN={flag}: no rule is looked at after this one"),
        would => format!(
            "flag {flag} is taken up by inactive rules only ({would}): no rule is looked at \
             after this one"
        ),
    };
    (reason, "correct the flag, or set apply=1 if the evaluation is to end here".to_owned())
}

fn is_fast_routed(lint: &Lint<'_>, flag: i64) -> bool {
    lint.draft.fast_routing.iter().any(|row| row.flag_in == flag)
}

fn ids<'a>(rows: impl Iterator<Item = &'a RuleRow>) -> String {
    let ids: Vec<_> = rows.map(|row| row.rule_id.to_string()).collect();
    ids.join(", ")
}
