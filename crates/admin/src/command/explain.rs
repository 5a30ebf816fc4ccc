//! EXPLAIN ROUTE: where a query would go with the configuration in force, and why.

use advice::explain::{Explanation, Reason, Request, explain};
use engine::stats::Parts;

use super::{CommandStep, Found};
use crate::admin::{Admin, Outcome, Reply, Session};
use crate::fault::AdminFault;
use crate::statement::Statement;

pub(super) fn find(_: &mut Admin, _: &Session, statement: &Statement<'_>) -> Found {
    if !statement.begins(&["EXPLAIN", "ROUTE"]) {
        return Ok(None);
    }
    let Some(request) = Request::parse(statement.text) else {
        let usage =
            "EXPLAIN ROUTE statement [FOR USER 'u'] [SCHEMA 's'] [FROM 'addr'] [SNI 'host']";
        return Err(AdminFault::new(1064, *b"42000", usage));
    };
    CommandStep::act(move |admin, _| route(admin, &request))
}

fn route(admin: &Admin, request: &Request) -> Outcome {
    // the servers are those of traffic, with what is known of them by the loops' clock
    let now_us = admin.runtime.collect(Parts::NONE).now_us;
    let snapshot = admin.runtime.snapshot();
    let explanation =
        explain(&snapshot, &snapshot.draft.rules, request, now_us).map_err(AdminFault::refused)?;
    Ok(Reply::table(&["step", "rule_id", "detail"], rows(&explanation)))
}

fn rows(explanation: &Explanation) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    let mut add = |step: &str, rule: Option<i64>, detail: String| {
        let rule = rule.map(|id| id.to_string()).unwrap_or_default();
        rows.push(vec![step.to_owned(), rule, detail]);
    };
    if let Some((hash, text)) = &explanation.digest {
        add("digest", None, format!("0x{hash:016X} {text}"));
    }
    for step in &explanation.steps {
        let rule = Some(step.rule_id);
        match &step.missed {
            Some(missed) => {
                let (column, found, asked) = (missed.column, &missed.found, &missed.asked);
                add("no match", rule, format!("{column} is `{found}`, not `{asked}`"));
            }
            None => {
                let set = step.actions.iter().map(|(column, value)| format!("{column}={value}"));
                let mut set = set.collect::<Vec<_>>();
                set.extend(step.applied.then(|| "apply=1".to_owned()));
                add("match", rule, set.join(", "));
            }
        }
        if let Some((_, after)) = &step.rewrite {
            add("rewritten", rule, after.clone());
        }
    }
    let with_writes;
    let (by, rule) = match &explanation.reason {
        Reason::Rule(id) => ("a rule names it", Some(*id)),
        Reason::FastRouting => ("a row of mysql_query_rules_fast_routing names it", None),
        Reason::Annotation => ("the query's comment names it", None),
        Reason::Default => ("it is the user's default", None),
        Reason::FastForward => ("it is the default of a user with fast_forward", None),
        Reason::WithWrites(why) => {
            with_writes = format!("the session's writes go there, for {why}");
            (with_writes.as_str(), None)
        }
    };
    if let Some(cached) = explanation.cached() {
        add("cached", None, cached);
    }
    add("hostgroup", rule, format!("{}: {by}", explanation.hostgroup.0));
    for server in &explanation.servers {
        let share = f64::from(server.share_permille) / 10.0;
        let unused = server.unused.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
        let of_user = server.of_user.map(|(open, most)| {
            format!("; the user has {open} connections there, of at most {most}")
        });
        let of_user = of_user.unwrap_or_default();
        add("server", None, format!("{} gets {share:.1} %{unused}{of_user}", server.server));
    }
    rows
}
