//! `tidegate explain`: why a query goes where it goes.

use advice::explain::{Candidate, ExplainedRule, Explanation, Reason, Request, explain};
use anyhow::{anyhow, bail};
use engine::route::Answer;
use serde_json::{Value, json};

use crate::cli::ExplainOptions;
use crate::config;

/// Prints how a query would be routed.
pub(crate) fn run(options: &ExplainOptions) -> anyhow::Result<()> {
    let loaded = config::load(&config::find(options.config.as_deref())?)?;
    let request = request(options)?;
    let explanation = explain(&loaded.snapshot, &loaded.draft.rules, &request, 0);
    let explanation = explanation.map_err(|reason| anyhow!(reason))?;
    if options.json {
        println!("{:#}", as_json(&explanation));
    } else {
        print!("{}", shown(&explanation));
    }
    Ok(())
}

/// The options win over the clauses of the statement.
fn request(options: &ExplainOptions) -> anyhow::Result<Request> {
    let sql = options.sql.clone();
    let mut request = Request::parse(&sql).unwrap_or_else(|| Request { sql, ..Request::default() });
    if request.sql.trim().is_empty() {
        bail!("there is no statement to explain");
    }
    for (clause, option) in [
        (&mut request.username, &options.user),
        (&mut request.schemaname, &options.schema),
        (&mut request.client_addr, &options.from),
        (&mut request.proxy_addr, &options.proxy_addr),
    ] {
        if option.is_some() {
            clause.clone_from(option);
        }
    }
    request.proxy_port = options.proxy_port;
    Ok(request)
}

fn shown(explanation: &Explanation) -> String {
    let Explanation { request, route, hostgroup, .. } = explanation;
    let name = |text: &Option<String>| text.clone().unwrap_or_else(|| "any".to_owned());
    let mut lines = vec![
        format!("query      {}", request.sql),
        format!(
            "client     user {}, schema {}, from {}, to {}:{}",
            name(&request.username),
            name(&request.schemaname),
            name(&request.client_addr),
            name(&request.proxy_addr),
            request.proxy_port.unwrap_or(0)
        ),
        match &explanation.digest {
            Some((hash, text)) => format!("digest     0x{hash:016X}  {text}"),
            None => "digest     none".to_owned(),
        },
        format!("command    {}", explanation.command),
    ];
    if let Some((comment, wrong)) = &explanation.comment {
        lines.push(format!("comment    {}", comment.trim()));
        lines.extend(wrong.as_ref().map(|wrong| format!("           not understood: {wrong}")));
    }
    lines.push("rules".to_owned());
    lines.extend(explanation.steps.iter().flat_map(step));
    if explanation.steps.is_empty() {
        lines.push("  none is looked at".to_owned());
    }
    lines.extend(explanation.rewritten.iter().map(|text| format!("sent as    {text}")));
    lines.push(match route.answer.as_deref() {
        Some(Answer::Ok(text)) => format!("answer     OK {text}; nothing is sent to a server"),
        Some(Answer::Error(text)) => {
            format!("answer     error 1148 {text}; nothing is sent to a server")
        }
        None => format!("hostgroup  {hostgroup}: {}", because(explanation)),
    });
    if route.answer.is_none() {
        lines.extend(explanation.servers.iter().map(server));
        if explanation.servers.is_empty() {
            lines.push("  it has no servers: the query fails with error 9001".to_owned());
        }
        if explanation.transaction_persistent {
            lines.push("           within a transaction, the one it began on".to_owned());
        }
    }
    lines.extend(explanation.cached().map(|cached| format!("cached     {cached}")));
    lines.extend(actions(explanation).iter().map(|line| format!("action     {line}")));
    lines.join("\n") + "\n"
}

fn step(step: &ExplainedRule) -> Vec<String> {
    let again = match step.iteration {
        0 => String::new(),
        count => format!(" (begun again {count} times)"),
    };
    let outcome = match &step.missed {
        Some(missed) => {
            format!("no: {} is `{}`, not `{}`", missed.column, missed.found, missed.asked)
        }
        None => {
            let set: Vec<_> =
                step.actions.iter().map(|(column, value)| format!("{column}={value}")).collect();
            let set = if set.is_empty() { "nothing is set".to_owned() } else { set.join(", ") };
            format!("MATCH: {set}{}", if step.applied { ", apply=1: the end" } else { "" })
        }
    };
    let mut lines = vec![format!("  {:>6}{again}  {outcome}", step.rule_id)];
    let (before, after) = step.flags;
    if before != after {
        lines.push(format!("          flag {before} becomes {after}"));
    }
    if let Some((before, after)) = &step.rewrite {
        lines.push(format!("          rewritten: {before}"));
        lines.push(format!("                 → {after}"));
    }
    let looked = step.missed.as_ref().is_none_or(|missed| missed.column == "match_pattern");
    if step.reads_text && looked {
        lines.push("          looks into the text: the verdict is not remembered".to_owned());
    }
    if step.slow {
        lines.push("          slow: its pattern needs an engine that backtracks".to_owned());
    }
    lines
}

fn because(explanation: &Explanation) -> String {
    match &explanation.reason {
        Reason::Rule(id) => format!("rule {id}"),
        Reason::FastRouting => {
            format!("fast routing, flag {}", explanation.route.flag)
        }
        Reason::Annotation => "the comment of the query".to_owned(),
        Reason::Default => "no rule names one; the default of the user".to_owned(),
        Reason::FastForward => "the user has fast_forward, so that no rule is asked".to_owned(),
        Reason::WithWrites(why) => format!("where the session's writes go, for {why}"),
    }
}

fn server(candidate: &Candidate) -> String {
    let Candidate { server, weight, share_permille, .. } = candidate;
    match &candidate.unused {
        Some(reason) => format!("  {server}  not used: {reason}"),
        None => {
            let (percent, rest) = (share_permille / 10, share_permille % 10);
            let of_user = candidate.of_user.map(|(open, most)| {
                format!("; the user has {open} connections there, of at most {most}")
            });
            let (status, of_user) = (candidate.status.name(), of_user.unwrap_or_default());
            format!("  {server}  {status}, weight {weight}: {percent}.{rest} %{of_user}")
        }
    }
}

/// What else is done with the query.
fn actions(explanation: &Explanation) -> Vec<String> {
    let route = &explanation.route;
    if explanation.fast_forward {
        return Vec::new();
    }
    let mut actions =
        vec![format!("killed after {} ms, at most {} retries", route.timeout_ms, route.retries)];
    if route.delay_ms > 0 {
        actions.push(format!("delayed by {} ms", route.delay_ms));
    }
    if let Some(mirror) = &route.mirror {
        let hostgroup =
            mirror.hostgroup.map_or_else(|| "by its rules".to_owned(), |id| id.to_string());
        let flag = mirror.flag_in.map_or_else(String::new, |flag| format!(", from flag {flag} on"));
        actions.push(format!("a copy goes to hostgroup {hostgroup}{flag}"));
    }
    if let Some(flag) = route.next_query_flag_in {
        actions.push(format!("the session's next query begins with flag {flag}"));
    }
    actions.extend(route.multiplex.map(|multiplex| format!("multiplex: {multiplex:?}")));
    if route.create_new_connection {
        actions.push("on a connection of its own".to_owned());
    }
    actions
}

fn as_json(explanation: &Explanation) -> Value {
    let Explanation { request, route, .. } = explanation;
    let answer = match route.answer.as_deref() {
        None => Value::Null,
        Some(Answer::Ok(text)) => json!({ "OK_msg": text.as_ref() }),
        Some(Answer::Error(text)) => json!({ "error_msg": text.as_ref() }),
    };
    let reason = match &explanation.reason {
        Reason::Rule(id) => json!({ "rule_id": id }),
        Reason::FastRouting => json!("fast_routing"),
        Reason::Annotation => json!("comment"),
        Reason::Default => json!("default_hostgroup"),
        Reason::FastForward => json!("fast_forward"),
        Reason::WithWrites(why) => json!({ "goes_with_writes": why.to_string() }),
    };
    json!({
        "query": request.sql,
        "username": request.username,
        "schemaname": request.schemaname,
        "client_addr": request.client_addr,
        "proxy_addr": request.proxy_addr,
        "proxy_port": request.proxy_port,
        "digest": explanation.digest.as_ref().map(|(hash, _)| format!("0x{hash:016X}")),
        "digest_text": explanation.digest.as_ref().map(|(_, text)| text),
        "command": explanation.command,
        "comment": explanation.comment.as_ref().map(|(text, _)| text),
        "comment_not_understood": explanation.comment.as_ref().and_then(|(_, wrong)| wrong.clone()),
        "rules": explanation.steps.iter().map(step_as_json).collect::<Vec<_>>(),
        "rewritten": explanation.rewritten,
        "answer": answer,
        "hostgroup": explanation.hostgroup.0,
        "reason": reason,
        "flag": route.flag,
        "transaction_persistent": explanation.transaction_persistent,
        "servers": explanation.servers.iter().map(|one| json!({
            "server": one.server,
            "status": one.status.name(),
            "weight": one.weight,
            "share": f64::from(one.share_permille) / 1000.0,
            "unused": one.unused,
            "user_connections": one.of_user.map(|(open, _)| open),
            "user_max_connections": one.of_user.map(|(_, most)| most),
        })).collect::<Vec<_>>(),
        "cached": explanation.cached(),
        "timeout_ms": route.timeout_ms,
        "retries": route.retries,
        "delay_ms": route.delay_ms,
        "mirror_hostgroup": route.mirror.and_then(|mirror| mirror.hostgroup).map(|id| id.0),
        "mirror_flagOUT": route.mirror.and_then(|mirror| mirror.flag_in),
        "next_query_flagIN": route.next_query_flag_in,
    })
}

fn step_as_json(step: &ExplainedRule) -> Value {
    let set: serde_json::Map<_, _> =
        step.actions.iter().map(|(column, value)| ((*column).to_owned(), json!(value))).collect();
    json!({
        "rule_id": step.rule_id,
        "iteration": step.iteration,
        "flag_before": step.flags.0,
        "flag_after": step.flags.1,
        "matched": step.missed.is_none(),
        "missed_column": step.missed.as_ref().map(|missed| missed.column),
        "asked": step.missed.as_ref().map(|missed| &missed.asked),
        "found": step.missed.as_ref().map(|missed| &missed.found),
        "sets": set,
        "rewritten": step.rewrite.as_ref().map(|(_, after)| after),
        "reads_text": step.reads_text,
        "slow": step.slow,
        "applied": step.applied,
    })
}
