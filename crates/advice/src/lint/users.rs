//! Users and schemas that rules ask for.

use std::collections::HashMap;

use super::rule::text;
use super::{Findings, Kind, Lint};
use engine::vars::nearest;

pub(super) fn look(lint: &Lint<'_>, findings: &mut Findings) {
    let known = spellings(lint);
    for rule in &lint.rules {
        if let Some((kind, reason, suggestion)) =
            text(&rule.row.username).and_then(|name| user_fault(lint, name))
        {
            findings.rule(kind, rule, "username", (reason, suggestion));
        }
        if let Some((reason, suggestion)) =
            text(&rule.row.schemaname).and_then(|name| schema_fault(&known, rule.row.rule_id, name))
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
    let is_there = lint.snapshot.users.of_client(name.as_bytes()).is_some();
    if users.is_empty() || is_there {
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

/// Where a schema is spelled in some way.
struct Spelling<'a> {
    schema: &'a str,
    /// The rule that says so; the least number for what is likelier to be right than any rule.
    rule_id: i64,
    who: String,
}

/// Every spelling of every schema, by the name in lower case.
fn spellings<'a>(lint: &Lint<'a>) -> HashMap<String, Vec<Spelling<'a>>> {
    let of_users = lint.users().filter_map(|user| {
        let who = format!("user `{}`", user.username);
        Some(Spelling { schema: text(&user.default_schema)?, rule_id: i64::MIN, who })
    });
    let of_rows = lint.draft.fast_routing.iter().map(|row| Spelling {
        schema: row.schemaname.as_str(),
        rule_id: i64::MIN,
        who: "fast routing".to_owned(),
    });
    let of_rules = lint.rules.iter().filter_map(|rule| {
        let rule_id = rule.row.rule_id;
        let who = format!("rule {rule_id}");
        Some(Spelling { schema: text(&rule.row.schemaname)?, rule_id, who })
    });
    let mut known: HashMap<String, Vec<Spelling<'a>>> = HashMap::new();
    for spelling in of_users.chain(of_rows).chain(of_rules) {
        known.entry(spelling.schema.to_ascii_lowercase()).or_default().push(spelling);
    }
    known
}

/// Another spelling of a schema, from where it is likelier to be right.
fn schema_fault(
    known: &HashMap<String, Vec<Spelling<'_>>>,
    rule_id: i64,
    name: &str,
) -> Option<(String, String)> {
    let known = known.get(&name.to_ascii_lowercase())?;
    let mut earlier = known.iter().filter(|spelling| spelling.rule_id < rule_id);
    let Spelling { schema, who, .. } = earlier.next()?;
    if *schema == name || earlier.any(|spelling| spelling.schema == name) {
        return None;
    }
    let reason = format!("`{name}` is compared exactly, but {who} has `{schema}`");
    Some((reason, format!("write `{schema}`, if that is the schema's name")))
}
