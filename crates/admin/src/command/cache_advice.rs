//! TIDEGATE CACHE ADVICE: which of the reads that were counted would gain from the query cache.

use advice::caching::{CacheAdvice, advise};
use engine::snapshot::Snapshot;
use engine::stats::Parts;
use engine::vars::Vars;

use super::{CommandStep, Found};
use crate::admin::{Admin, Outcome, Reply, Session};
use crate::fault::AdminFault;
use crate::layers::{Layer, MODULES};
use crate::statement::Statement;

pub(super) fn find(_: &mut Admin, _: &Session, statement: &Statement<'_>) -> Found {
    match statement.is(&["TIDEGATE", "CACHE", "ADVICE"])
        || statement.is(&["PROXYSQL", "CACHE", "ADVICE"])
    {
        true => CommandStep::act(cache_advice),
        false => Ok(None),
    }
}

const COLUMNS: [&str; 14] = [
    "advice",
    "digest",
    "digest_text",
    "schemaname",
    "username",
    "hostgroup",
    "calls",
    "avg_us",
    "sampled",
    "repeats_pct",
    "saved_ms_per_min",
    "ttl_ms",
    "why",
    "rule",
];

fn cache_advice(admin: &mut Admin, session: &mut Session) -> Outcome {
    let Some(module) = MODULES.iter().find(|module| module.name == "mysql_query_rules") else {
        return Ok(Reply::DONE);
    };
    let rules = admin.layer(Layer::Memory, module)?;
    let (draft, faults) = admin.trial(module, &rules);
    if !faults.is_empty() {
        return Err(AdminFault::configuration(faults));
    }
    let memory = Snapshot::compile(&draft).map_err(|faults| {
        AdminFault::configuration(faults.iter().map(ToString::to_string).collect())
    })?;
    let parts = Parts { digests: true, cached: true, repeats: true, ..Parts::NONE };
    let collected = admin.runtime.collect(parts);
    let snapshot = admin.runtime.snapshot();
    for why in in_the_way(&snapshot.vars) {
        session.warn("Note", why);
    }
    let told = advise(&collected, [&snapshot, &memory], &draft.rules);
    Ok(Reply::table(&COLUMNS, told.iter().map(row_of).collect()))
}

/// Why there may be less to advise than there is, or nothing would come of it.
fn in_the_way(vars: &Vars) -> impl Iterator<Item = &'static str> {
    let all = [
        (vars.query_cache_sample == 0, "mysql-query_cache_sample is 0: no query is watched"),
        (!vars.query_digests, "mysql-query_digests is false: no query is counted by digest"),
        (vars.query_cache_size_mb == 0, "mysql-query_cache_size_MB is 0: nothing is cached"),
    ];
    all.into_iter().filter(|(is_so, _)| *is_so).map(|(_, why)| why)
}

fn row_of(advice: &CacheAdvice) -> Vec<String> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    vec![
        advice.kind.name().to_owned(),
        format!("0x{:016X}", advice.digest),
        text(&advice.digest_text),
        text(&advice.schemaname),
        text(&advice.username),
        advice.hostgroup.map_or("-1".to_owned(), |hostgroup| hostgroup.to_string()),
        advice.calls.to_string(),
        advice.avg_us.to_string(),
        advice.sampled.to_string(),
        advice.repeats.map(|share| format!("{:.1}", 100.0 * share)).unwrap_or_default(),
        format!("{:.1}", advice.saved_ms_per_min),
        advice.ttl_ms.map(|ttl_ms| ttl_ms.to_string()).unwrap_or_default(),
        advice.why.clone(),
        advice.rule.clone().unwrap_or_default(),
    ]
}
