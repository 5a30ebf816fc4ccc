//! `tidegate import`: a configuration of ProxySQL as one of Tidegate.
//!
//! Whatever the source, it becomes a text that the ordinary reader of configuration files reads;
//! this module tells what became of it.

mod database;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, bail};
use engine::rows::Use;

use crate::cli::ImportOptions;
use crate::config::{self, Format, Survey};
use crate::init;

/// Converts a file; 0 when the outcome can run, 1 when it has to be corrected.
pub(crate) fn run(options: &ImportOptions) -> anyhow::Result<ExitCode> {
    if let Some(output) = options.output.as_deref().filter(|file| file.exists())
        && !options.force
    {
        bail!("{} exists; --force overwrites it", output.display());
    }
    let Source { format, text, notes } = read(&options.file)?;
    let survey = config::survey(format, &options.file.display().to_string(), &text)?;
    let format = options.output.as_deref().and_then(Format::of_name).unwrap_or(Format::Toml);
    let comment = format!("# Written by `tidegate import {}`.\n", options.file.display());
    let written = comment + "\n" + &config::written(format, &survey.draft, &survey.undrafted);
    let report = report(&survey, &notes);
    match &options.output {
        Some(output) => {
            print!("{report}");
            init::write(output, &written)?;
            println!("wrote {}", output.display());
        }
        None => {
            eprint!("{report}");
            print!("{written}");
        }
    }
    Ok(if survey.unfit.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

/// What is converted, as a text.
struct Source {
    format: Format,
    text: String,
    /// What is not in the text, and why.
    notes: Vec<String>,
}

fn read(file: &Path) -> anyhow::Result<Source> {
    let bytes = std::fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
    if bytes.starts_with(SQLITE) {
        let database::ReadDatabase { text, notes } = database::read(file)
            .with_context(|| format!("cannot read {} as a proxysql.db", file.display()))?;
        return Ok(Source { format: Format::Cnf, text, notes });
    }
    let text = config::text_of(file, bytes)?;
    Ok(Source { format: Format::of(file, &text), text, notes: Vec::new() })
}

fn report(survey: &Survey, notes: &[String]) -> String {
    let mut report = String::from("taken:\n");
    let mut taken: Vec<(String, usize)> = Vec::new();
    for (prefix, name) in [("mysql-", "mysql_variables"), ("admin-", "admin_variables")] {
        let of = survey.draft.variables.iter().filter(|(variable, _)| variable.starts_with(prefix));
        taken.push((name.to_owned(), of.count()));
    }
    let tables = survey.draft.tables();
    taken.extend(tables.map(|rows| (rows.table().name.to_owned(), rows.count())));
    let undrafted = survey.undrafted.tables.iter();
    taken.extend(undrafted.map(|(table, rows)| {
        let note = if table.used == Use::Programs { "" } else { " (no effect yet)" };
        (format!("{}{note}", table.name), rows.len())
    }));
    for (name, count) in taken.iter().filter(|(_, count)| *count > 0) {
        report += &format!("  {count:>6}  {name}\n");
    }
    if taken.iter().all(|(_, count)| *count == 0) {
        report += "  nothing\n";
    }
    paragraph(&mut report, "to know:", &counted(&survey.odd));
    let left_out: Vec<_> = survey.left_out.iter().chain(notes).cloned().collect();
    paragraph(&mut report, "left out:", &counted(&left_out));
    paragraph(&mut report, "unknown, left out:", &counted(&survey.unknown));
    let differences: Vec<String> = differences(survey).map(str::to_owned).collect();
    paragraph(&mut report, "other than in ProxySQL:", &differences);
    if !survey.unfit.is_empty() {
        report += "\nto be corrected before it can run:\n\n";
        report += &(survey.unfit.join("\n\n") + "\n");
    }
    report + "\n"
}

fn paragraph(report: &mut String, title: &str, lines: &[String]) {
    if !lines.is_empty() {
        *report += &format!("\n{title}\n");
        lines.iter().for_each(|line| *report += &format!("  {line}\n"));
    }
}

/// Each line once, with the number of times it came.
fn counted(lines: &[String]) -> Vec<String> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    lines.iter().for_each(|line| *counts.entry(line).or_default() += 1);
    let times = |(line, count): (&str, usize)| match count {
        1 => line.to_owned(),
        count => format!("{line} ({count} times)"),
    };
    counts.into_iter().map(times).collect()
}

/// What is decided otherwise here, where the configuration has to do with it.
fn differences(survey: &Survey) -> impl Iterator<Item = &'static str> {
    let draft = &survey.draft;
    let is_set = |name: &str| draft.variables.iter().any(|(variable, _)| variable == name);
    let patterns =
        draft.rules.iter().any(|rule| rule.match_digest.is_some() || rule.match_pattern.is_some());
    let names = draft.servers.iter().any(|row| {
        !row.hostname.starts_with('/') && row.hostname.parse::<std::net::IpAddr>().is_err()
    });
    [
        (!is_set("mysql-server_version"), SERVER_VERSION),
        (names, NAMES),
        (patterns, PATTERNS),
        (true, VALUES),
    ]
    .into_iter()
    .filter_map(|(holds, line)| holds.then_some(line))
}

const SERVER_VERSION: &str =
    "mysql-server_version is not set: clients are told the version that their server really has";
const NAMES: &str = "names of servers are resolved when they are loaded, not for each connection";
const PATTERNS: &str =
    "a pattern that is wrong is refused when it is loaded later, not skipped as in a proxysql.cnf";
const VALUES: &str =
    "a value out of range is refused when it is loaded later, not ignored as in a proxysql.cnf";
const SQLITE: &[u8] = b"SQLite format 3\0";
