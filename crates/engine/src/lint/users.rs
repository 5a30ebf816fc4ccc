//! Users and schemas that rules ask for.

use super::rule::text;
use super::{Findings, Kind, Lint};
use crate::vars::nearest;

pub(super) fn look(lint: &Lint<'_>, findings: &mut Findings) {
    for rule in &lint.rules {
        if let Some((kind, reason, suggestion)) =
            text(&rule.row.username).and_then(|name| user_fault(lint, name))
        {
            findings.rule(kind, rule, "username", (reason, suggestion));
        }
        if let Some((reason, suggestion)) =
            text(&rule.row.schemaname).and_then(|name| schema_fault(lint, rule.row.rule_id, name))
        {
            findings.rule(Kind::SchemaCase, rule, "schemaname", (reason, suggestion));
        }
    }
    for (place, row) in lint.draft.fast_routing.iter().enumerate() {
        let name = Some(row.username.as_str()).filter(|name| !name.is_empty());
        if let Some((kind, reason, suggestion)) = name.and_then(|name| user_fault(lint, name)) {
            let cell = ("mysql_query_rules_fast_routing", Some(place), "username");
            findings.row(kind, cell, (reason, suggestion));
        }
    }
}

/// What is the matter with a user, when there are users at all.
fn user_fault(lint: &Lint<'_>, name: &str) -> Option<(Kind, String, String)> {
    let users = &lint.draft.users;
    if users.is_empty() || lint.users().any(|user| user.username == name) {
        return None;
    }
    if let Some(user) = users.iter().find(|user| user.username == name) {
        let why = if user.active == 1 { "may not be used by clients" } else { "is not active" };
        let reason = format!("user `{name}` {why}, so that nothing matches");
        let suggestion = format!("enable `{name}` in mysql_users, or switch this off");
        return Some((Kind::InactiveUser, reason, suggestion));
    }
    let reason = format!("there is no user `{name}`, so that nothing matches");
    let suggestion = match nearest(name, lint.users().map(|user| user.username.as_str())) {
        Some(meant) => format!("write `{meant}`, if that is meant; names are compared exactly"),
        None => format!("add `{name}` to mysql_users, or correct the name"),
    };
    Some((Kind::UnknownUser, reason, suggestion))
}

/// Another spelling of a schema, from where it is likelier to be right.
fn schema_fault(lint: &Lint<'_>, rule_id: i64, name: &str) -> Option<(String, String)> {
    let of_users = lint.users().filter_map(|user| {
        let schema = text(&user.default_schema)?;
        Some((schema, format!("user `{}` has `{schema}`", user.username)))
    });
    let of_rows = lint
        .draft
        .fast_routing
        .iter()
        .map(|row| (row.schemaname.as_str(), format!("fast routing has `{}`", row.schemaname)));
    let of_rules = lint.rules.iter().filter(|rule| rule.row.rule_id < rule_id).filter_map(|rule| {
        let schema = text(&rule.row.schemaname)?;
        Some((schema, format!("rule {} has `{schema}`", rule.row.rule_id)))
    });
    let known: Vec<_> = of_users.chain(of_rows).chain(of_rules).collect();
    if known.iter().any(|(schema, _)| *schema == name) {
        return None;
    }
    let (schema, who) = known.iter().find(|(schema, _)| schema.eq_ignore_ascii_case(name))?;
    let reason = format!("`{name}` is compared exactly, but {who}");
    Some((reason, format!("write `{schema}`, if that is the schema's name")))
}
