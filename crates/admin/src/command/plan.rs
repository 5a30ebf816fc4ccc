//! PLAN, SHOW CONFIG DIFF, SHOW CONFIG VERSIONS, ROLLBACK and LINT: what would change, what did,
//! and what is hardly meant.

use advice::lint::{Finding, lint};
use engine::report::Printable;
use engine::snapshot::{Draft, Snapshot};

use super::layers::module_of;
use super::unknown::{unknown, unknown_module};
use super::{CommandStep, Found};
use crate::admin::{Admin, Reply, Session};
use crate::clock::calendar;
use crate::fault::AdminFault;
use crate::layers::{Change, Layer, MODULES, Module, changes};
use crate::statement::{Statement, is};

pub(super) fn find(_: &mut Admin, _: &Session, statement: &Statement<'_>) -> Found {
    let show = |words: &[&str]| {
        let plain = [["SHOW", "CONFIG"].as_slice(), words].concat();
        let named = [["SHOW", "TIDEGATE", "CONFIG"].as_slice(), words].concat();
        statement.begins(&plain) || statement.begins(&named)
    };
    if show(&["DIFF"]) {
        return diff(statement);
    }
    if show(&["VERSIONS"]) {
        return CommandStep::act(|admin, _| Ok(versions(admin)));
    }
    if is(statement.word(0), "PLAN") {
        let Some((module, words)) = module_of(statement, 1) else {
            return Err(unknown_module(statement, 1, &[]));
        };
        if !statement.after(1 + words).is_empty() {
            return Err(unknown(statement, 1 + words, &[]));
        }
        return CommandStep::act(move |admin, _| plan(admin, module));
    }
    if is(statement.word(0), "LINT") {
        let module = module_of(statement, 1).map(|(module, _)| module);
        if module.is_some() || statement.after(1).is_empty() {
            return CommandStep::act(move |admin, _| Ok(lint_all(admin, module)));
        }
        return Err(unknown_module(statement, 1, &[]));
    }
    if is(statement.word(0), "ROLLBACK") {
        return rollback(statement);
    }
    Ok(None)
}

/// SHOW CONFIG DIFF [module] [FROM layer TO layer]
fn diff(statement: &Statement<'_>) -> Found {
    let at = if is(statement.word(1), "CONFIG") { 3 } else { 4 };
    let (module, words) = module_of(statement, at).map_or((None, 0), |(m, n)| (Some(m), n));
    let at = at + words;
    let (from, to) = match statement.after(at) {
        [] => (Layer::Runtime, Layer::Memory),
        [f, from, t, to] if is(f, "FROM") && is(t, "TO") => {
            let named = |word: &str| {
                Layer::named(word).ok_or_else(|| {
                    let word = Printable(word);
                    let message =
                        format!("`{word}` is no layer; layers are RUNTIME, MEMORY, DISK, FILE");
                    AdminFault::new(1064, *b"42000", message)
                })
            };
            (named(from)?, named(to)?)
        }
        _ => {
            return Err(AdminFault::new(1064, *b"42000", "SHOW CONFIG DIFF [FROM layer TO layer]"));
        }
    };
    CommandStep::act(move |admin, _| {
        let mut rows = Vec::new();
        for module in MODULES.iter().filter(|found| module.is_none_or(|m| m.name == found.name)) {
            let (before, after) =
                (admin.whole_layer(from, module)?, admin.whole_layer(to, module)?);
            rows.extend(changes(&before, &after).into_iter().map(row_of));
        }
        Ok(Reply::table(&["change", "table", "row", "column", "before", "after"], rows))
    })
}

/// PLAN module: what a LOAD TO RUNTIME would change, and what there is to say of it.
fn plan(admin: &mut Admin, module: &'static Module) -> Result<Reply, AdminFault> {
    let (before, after) =
        (admin.layer(Layer::Runtime, module)?, admin.layer(Layer::Memory, module)?);
    let mut rows: Vec<Vec<String>> = changes(&before, &after).into_iter().map(row_of).collect();
    let (draft, faults) = admin.trial(module, &after);
    let remark = |what: &str, text: String| {
        let blank = String::new;
        vec![what.to_owned(), module.name.to_owned(), blank(), blank(), blank(), text]
    };
    rows.extend(faults.into_iter().map(|fault| remark("error", fault)));
    for finding in findings(&draft).into_iter().filter(|found| module.concerns(found.table)) {
        rows.push(remark("lint", said(&finding)));
    }
    Ok(Reply::table(&["change", "table", "row", "column", "before", "after"], rows))
}

/// LINT [module]: what memory says and hardly means.
fn lint_all(admin: &mut Admin, module: Option<&'static Module>) -> Reply {
    let mut draft = (*admin.runtime.current()).clone();
    for own in MODULES {
        if let Ok(rows) = admin.layer(Layer::Memory, own) {
            draft = crate::layers::drafted(&draft, own, &rows).0;
        }
    }
    let wanted = |finding: &Finding| module.is_none_or(|module| module.concerns(finding.table));
    let rows = findings(&draft).into_iter().filter(wanted).map(|finding| {
        vec![
            finding.kind.name().to_owned(),
            finding.table.to_owned(),
            finding.rule_id.map(|id| id.to_string()).unwrap_or_default(),
            finding.column.to_owned(),
            finding.reason,
            finding.suggestion,
        ]
    });
    Reply::table(&["kind", "table", "rule_id", "column", "reason", "suggestion"], rows.collect())
}

fn findings(draft: &Draft) -> Vec<Finding> {
    Snapshot::compile(draft).map(|snapshot| lint(draft, &snapshot)).unwrap_or_default()
}

fn said(finding: &Finding) -> String {
    let rule = finding.rule_id.map(|id| format!("rule {id}: ")).unwrap_or_default();
    format!("{rule}{}; {}", finding.reason, finding.suggestion)
}

fn row_of(change: Change) -> Vec<String> {
    vec![
        change.what.to_owned(),
        change.table.to_owned(),
        change.row,
        change.column.to_owned(),
        change.before,
        change.after,
    ]
}

fn versions(admin: &Admin) -> Reply {
    let rows = admin.in_force.versions.iter().map(|version| {
        vec![
            version.number.to_string(),
            calendar(version.since),
            version.what.clone(),
            version.user.clone(),
        ]
    });
    Reply::table(&["version", "since", "what", "user"], rows.collect())
}

/// ROLLBACK module TO VERSION n: puts in force, and in memory, what was in force then.
fn rollback(statement: &Statement<'_>) -> Found {
    let (modules, words) = match module_of(statement, 1) {
        Some((module, words)) => (vec![module], words),
        None if is(statement.word(1), "CONFIG") => (MODULES.iter().collect(), 1),
        // SQL; without that word it is known already
        None if is(statement.word(1), "TRANSACTION") => return Ok(None),
        None => return Err(unknown_module(statement, 1, &[&["CONFIG"]])),
    };
    let at = 1 + words;
    for (at, word) in [(at, "TO"), (at + 1, "VERSION")] {
        if !is(statement.word(at), word) {
            return Err(unknown(statement, at, &[word]));
        }
    }
    let Ok(number) = statement.word(at + 2).parse::<u64>() else {
        return Err(unknown(statement, at + 2, &["the number of a version"]));
    };
    if !statement.after(at + 3).is_empty() {
        return Err(unknown(statement, at + 3, &[]));
    }
    CommandStep::act(move |admin, session| {
        let Some(version) = admin.in_force.versions.find(number).cloned() else {
            return Err(AdminFault::refused(format!(
                "there is no version {number}; SHOW CONFIG VERSIONS lists them"
            )));
        };
        for module in modules {
            let mut rows = version.rows();
            module.narrow(&mut rows);
            if changes(&admin.layer(Layer::Runtime, module)?, &rows).is_empty() {
                continue;
            }
            admin.put_in_force(session, module, &rows)?;
            admin.keep_in_memory(module, &rows)?;
        }
        Ok(Reply::DONE)
    })
}
