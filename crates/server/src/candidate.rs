//! `tidegate candidate`: what other rules would change, by the queries of a log.

use std::process::ExitCode;

use advice::candidate::{CandidateOutcome, Comparison, Difference};
use advice::explain::{Request, complete, query_of};
use anyhow::{Context, anyhow};
use serde_json::{Value, json};

use crate::cli::CandidateOptions;
use crate::config;
use crate::query_log::{self, LoggedQuery};

/// Prints what would change; 0 for nothing, 1 for something.
pub(crate) fn run(options: &CandidateOptions) -> anyhow::Result<ExitCode> {
    let live = config::load(&config::find(options.config.as_deref())?)?.snapshot;
    let new = config::load(&options.candidate)?.snapshot;
    let file = options.queries.display();
    let text = std::fs::read(&options.queries).with_context(|| format!("cannot read {file}"))?;
    let queries = query_log::read(&String::from_utf8_lossy(&text));
    let queries = queries.map_err(|reason| anyhow!("{file}: {reason}"))?;
    let mut comparison = Comparison::new(&live, &new);
    for query in &queries {
        let request = complete(&live, &request(query)).map_err(|reason| anyhow!(reason))?;
        comparison.compare(&query_of(&request), query.count);
    }
    let outcome = comparison.outcome();
    if options.json {
        println!("{:#}", as_json(&outcome));
    } else {
        print!("{}", shown(&outcome));
    }
    Ok(if outcome.changed == 0 { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

fn request(query: &LoggedQuery) -> Request {
    let known = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
    Request {
        sql: query.query.clone(),
        username: known(&query.username),
        schemaname: known(&query.schemaname),
        client_addr: known(&query.client_addr),
        ..Request::default()
    }
}

fn shown(outcome: &CandidateOutcome) -> String {
    let CandidateOutcome { queries, changed, unlisted, .. } = outcome;
    let mut text =
        format!("{changed} of {queries} queries change ({})\n", share(*changed, *queries));
    for difference in &outcome.differences {
        let Difference { count, example, username, schemaname, .. } = difference;
        text += &format!("\n{count} ({})", share(*count, *queries));
        if let Some((hash, digest)) = &difference.digest {
            text += &format!("  0x{hash:016X}  {digest}");
        }
        text += "\n";
        for change in &difference.changes {
            text += &format!("  {}: {} → {}\n", change.what, change.live, change.new);
        }
        text += &format!("  such as, of {username} in {schemaname}: {example}\n");
    }
    if *unlisted > 0 {
        text += &format!("\n{unlisted} more change in other ways\n");
    }
    text
}

fn share(part: u64, whole: u64) -> String {
    let permille = part.saturating_mul(1_000).checked_div(whole).unwrap_or(0);
    format!("{}.{} %", permille / 10, permille % 10)
}

fn as_json(outcome: &CandidateOutcome) -> Value {
    let difference = |one: &Difference| {
        let changes = one
            .changes
            .iter()
            .map(|change| json!({ "what": change.what, "live": change.live, "new": change.new }));
        json!({
            "count": one.count,
            "digest": one.digest.as_ref().map(|(hash, _)| format!("0x{hash:016X}")),
            "digest_text": one.digest.as_ref().map(|(_, text)| text),
            "username": one.username,
            "schemaname": one.schemaname,
            "example": one.example,
            "changes": changes.collect::<Vec<_>>(),
        })
    };
    json!({
        "queries": outcome.queries,
        "changed": outcome.changed,
        "unlisted": outcome.unlisted,
        "differences": outcome.differences.iter().map(difference).collect::<Vec<_>>(),
    })
}
