//! `tidegate check FILE`: what a file would run, or everything that is wrong with it.

use std::path::Path;

/// Reads `file` and prints what it would run; fails with all errors rendered.
pub(crate) fn run(file: &Path) -> anyhow::Result<()> {
    let loaded = crate::config::load(file)?;
    println!("{}", loaded.origin.display());
    Ok(())
}
