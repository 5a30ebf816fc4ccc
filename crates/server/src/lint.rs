//! `tidegate lint`: what is allowed in a configuration file and yet hardly meant.

use std::process::ExitCode;

use advice::lint::{Finding, lint};
use serde_json::{Value, json};

use crate::cli::LintOptions;
use crate::config;

/// Prints the findings; 0 for none, 1 for some.
pub(crate) fn run(options: &LintOptions) -> anyhow::Result<ExitCode> {
    let file = config::find(options.file.as_deref().or(options.config.as_deref()))?;
    let loaded = config::load(&file)?;
    let findings = lint(&loaded.draft, &loaded.snapshot);
    if options.json {
        let findings: Vec<_> = findings.iter().map(as_json).collect();
        println!("{:#}", json!({ "file": file, "findings": findings }));
    } else {
        print!("{}", shown(&findings));
        let count = match findings.len() {
            0 => "nothing to say".to_owned(),
            1 => "1 finding".to_owned(),
            count => format!("{count} findings"),
        };
        println!("{}: {count}", file.display());
    }
    Ok(if findings.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

fn as_json(finding: &Finding) -> Value {
    json!({
        "kind": finding.kind.name(),
        "table": finding.table,
        "row": finding.row.map(|row| row + 1),
        "rule_id": finding.rule_id,
        "column": Some(finding.column).filter(|column| !column.is_empty()),
        "reason": finding.reason,
        "suggestion": finding.suggestion,
    })
}

fn shown(findings: &[Finding]) -> String {
    let mut text = String::new();
    for finding in findings {
        let mut place = match (finding.rule_id, finding.row) {
            (Some(id), _) => format!("rule {id}"),
            (None, Some(row)) => format!("{} row {}", finding.table, row + 1),
            (None, None) => finding.table.to_owned(),
        };
        if !finding.column.is_empty() {
            place += &format!(", {}", finding.column);
        }
        let Finding { kind, reason, suggestion, .. } = finding;
        text += &format!("{place}: {reason} [{}]\n  {suggestion}\n\n", kind.name());
    }
    text
}
