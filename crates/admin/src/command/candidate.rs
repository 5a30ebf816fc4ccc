//! CANDIDATE: what the rules in memory would change of the traffic that was counted.

use advice::caching::query_of_digest;
use advice::candidate::{Comparison, Difference};
use engine::snapshot::Snapshot;
use engine::stats::Parts;

use super::{CommandStep, Found};
use crate::admin::{Admin, Outcome, Reply, Session};
use crate::fault::AdminFault;
use crate::layers::{Layer, MODULES};
use crate::statement::{Statement, is};

pub(super) fn find(_: &mut Admin, _: &Session, statement: &Statement<'_>) -> Found {
    let named = statement.is(&["CANDIDATE", "MYSQL", "QUERY", "RULES"]);
    if named || (is(statement.word(0), "CANDIDATE") && statement.after(1).is_empty()) {
        return CommandStep::act(candidate);
    }
    Ok(None)
}

fn candidate(admin: &mut Admin, session: &mut Session) -> Outcome {
    let Some(module) = MODULES.iter().find(|module| module.name == "mysql_query_rules") else {
        return Ok(Reply::DONE);
    };
    let memory = admin.layer(Layer::Memory, module)?;
    let (draft, faults) = admin.trial(module, &memory);
    if !faults.is_empty() {
        return Err(AdminFault::configuration(faults));
    }
    let compiled = |draft| {
        Snapshot::compile(draft).map_err(|faults| {
            AdminFault::configuration(faults.iter().map(ToString::to_string).collect())
        })
    };
    let mut comparison = Comparison::new(&compiled(&admin.runtime.current())?, &compiled(&draft)?);
    let parts = Parts { digests: true, ..Parts::default() };
    for row in admin.runtime.collect(parts).digests.rows() {
        let query = query_of_digest(&row);
        comparison.compare(&query, row.totals.count);
    }
    let outcome = comparison.outcome();
    session.warn("Note", "texts of digests stand for their queries: patterns see `?` for values");
    let rows = outcome.differences.iter().flat_map(told).collect();
    let columns =
        ["digest", "digest_text", "username", "schemaname", "count_star", "what", "live", "new"];
    Ok(Reply::table(&columns, rows))
}

fn told(difference: &Difference) -> impl Iterator<Item = Vec<String>> + '_ {
    difference.changes.iter().map(|change| {
        let (hash, text) = difference.digest.clone().unwrap_or_default();
        vec![
            format!("0x{hash:016X}"),
            text,
            difference.username.clone(),
            difference.schemaname.clone(),
            difference.count.to_string(),
            change.what.to_owned(),
            change.live.clone(),
            change.new.clone(),
        ]
    })
}
