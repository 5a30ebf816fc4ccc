//! `tidegate check FILE`: what a file would run, or everything that is wrong with it.

use std::path::Path;

use crate::summary;

/// Reads `file` and prints what it would run; fails with all errors rendered.
pub(crate) fn run(file: &Path) -> anyhow::Result<()> {
    let loaded = crate::config::load(file)?;
    for warning in &loaded.warnings {
        eprintln!("{warning}\n");
    }
    for line in summary::lines(&loaded) {
        println!("{line}");
    }
    let warnings = match loaded.warnings.len() {
        0 => String::new(),
        1 => ", with 1 warning".to_owned(),
        count => format!(", with {count} warnings"),
    };
    println!("{} is valid{warnings}", file.display());
    Ok(())
}
