//! What a rule decides, looked at by itself: actions that contradict each other or do nothing.

use super::rule::text;
use super::{Findings, Kind, Lint, LintedRule};
use engine::rows::RuleRow;

pub(super) fn look(lint: &Lint<'_>, findings: &mut Findings) {
    if lint.rules.is_empty() && !lint.draft.rules.is_empty() {
        let count = lint.draft.rules.len();
        let reason =
            format!("none of the {count} rules is active; a rule is so only with active=1");
        let place = ("mysql_query_rules", None, "active");
        findings.row(Kind::NoRuleActive, place, (reason, "set active=1 in those that are meant"));
    }
    for rule in &lint.rules {
        look_at(rule, lint, findings);
    }
}

fn look_at(rule: &LintedRule<'_>, lint: &Lint<'_>, findings: &mut Findings) {
    let row = rule.row;
    if row.apply != 1 && rule.flags_out.iter().all(|flag| *flag == row.flag_in) && !acts(row) {
        let reason = "it has apply=0 and sets nothing, so that it only counts hits".to_owned();
        let suggestion = "set destination_hostgroup, or apply=1 to end the evaluation here";
        findings.rule(Kind::NoEffect, rule, "apply", (reason, suggestion));
    }
    let patterns = [&row.match_digest, &row.match_pattern];
    if rule.negates() && patterns.into_iter().all(|cell| text(cell).is_none()) {
        let reason = "there is no pattern to negate: the rule matches as if it were 0".to_owned();
        let suggestion = "set match_digest or match_pattern, or negate_match_pattern=0";
        findings.rule(Kind::NegateNothing, rule, "negate_match_pattern", (reason, suggestion));
    }
    if rule.negates() && row.replace_pattern.is_some() {
        let reason = "the rule matches when match_pattern is not found, and then there is nothing \
                      to replace"
            .to_owned();
        let suggestion = "set negate_match_pattern=0, or leave out replace_pattern";
        findings.rule(Kind::ReplaceNegated, rule, "replace_pattern", (reason, suggestion));
    }
    if let (Some(error), Some(ok)) = (&row.error_msg, &row.ok_msg) {
        let reason = format!("the answer is OK `{ok}`; the error `{error}` is never sent");
        findings.rule(Kind::ErrorAndOk, rule, "error_msg", (reason, "leave out one of the two"));
    }
    look_at_times(rule, lint, findings);
    look_at_mirror(rule, lint, findings);
}

fn look_at_times(rule: &LintedRule<'_>, lint: &Lint<'_>, findings: &mut Findings) {
    let row = rule.row;
    let default_ms = i64::try_from(lint.snapshot.vars.default_query_timeout_ms).unwrap_or(i64::MAX);
    if row.timeout == Some(0) {
        let reason =
            format!("0 is no timeout: mysql-default_query_timeout, {default_ms} ms, applies");
        let suggestion = "leave it out, or set the milliseconds that are meant";
        findings.rule(Kind::TimeoutZero, rule, "timeout", (reason, suggestion));
    }
    let timeout = row.timeout.filter(|timeout| *timeout > 0);
    if let (Some(delay), Some(timeout)) = (row.delay, timeout)
        && delay >= timeout
    {
        let reason = format!("a query waits {delay} ms, but is killed after {timeout} ms");
        findings.rule(Kind::DelayTimeout, rule, "delay", (reason, "both are in milliseconds"));
    }
}

fn look_at_mirror(rule: &LintedRule<'_>, lint: &Lint<'_>, findings: &mut Findings) {
    let row = rule.row;
    let Some(mirror) = row.mirror_hostgroup else { return };
    let mut defaults: Vec<i64> = lint
        .users()
        .filter(|user| text(&row.username).is_none_or(|name| name == user.username))
        .map(|user| user.default_hostgroup)
        .collect();
    defaults.dedup();
    let is_last_word = row.apply == 1;
    let reason = match (row.destination_hostgroup, defaults.as_slice()) {
        (Some(destination), _) if destination == mirror => {
            format!("the query goes to hostgroup {mirror} and so does its copy")
        }
        (None, [default]) if is_last_word && *default == mirror => {
            format!("the query goes to hostgroup {mirror} by default and so does its copy")
        }
        _ => return,
    };
    let suggestion = "name the hostgroup that is tried out; a write would be done twice";
    findings.rule(Kind::MirrorToItself, rule, "mirror_hostgroup", (reason, suggestion));
}

/// Whether a column decides something; those that are carried without effect do not count.
fn acts(row: &RuleRow) -> bool {
    let numbers = [
        row.destination_hostgroup,
        row.cache_ttl,
        row.cache_empty_result,
        row.timeout,
        row.retries,
        row.delay,
        row.next_query_flag_in,
        row.mirror_flag_out,
        row.mirror_hostgroup,
        row.multiplex,
        row.gtid_from_hostgroup,
        row.log,
    ];
    let texts = [&row.replace_pattern, &row.error_msg, &row.ok_msg];
    numbers.iter().any(Option::is_some) || texts.into_iter().any(Option::is_some)
}
