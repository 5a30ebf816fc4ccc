//! `tidegate check FILE`: what a file would run, or everything that is wrong with it.

use std::path::Path;

use crate::certificates::Certificates;
use crate::config::Told;
use crate::summary;

/// Reads `file` and prints what it would run; fails with all errors rendered.
pub(crate) fn run(file: &Path) -> anyhow::Result<()> {
    let mut loaded = crate::config::load(file)?;
    let no_tls = Certificates::faults(&loaded.snapshot).into_iter().map(Told::warning);
    loaded.warnings.splice(..0, no_tls);
    let notes = loaded.warnings.iter().filter(|told| told.is_note).count();
    let warnings = loaded.warnings.len() - notes;
    for (at, told) in loaded.warnings.iter().enumerate() {
        if at == warnings && at > 0 {
            eprintln!();
        }
        eprintln!("{told}");
    }
    if !loaded.warnings.is_empty() {
        eprintln!();
    }
    for line in summary::lines(&loaded) {
        println!("{line}");
    }
    let counts = [(warnings, "warning"), (notes, "note")];
    let counts: Vec<_> =
        counts.into_iter().filter_map(|(count, what)| counted(count, what)).collect();
    let with = if counts.is_empty() { "" } else { ", with " };
    println!("{} is valid{with}{}", file.display(), counts.join(" and "));
    Ok(())
}

fn counted(count: usize, what: &str) -> Option<String> {
    let plural = if count == 1 { "" } else { "s" };
    (count > 0).then(|| format!("{count} {what}{plural}"))
}
