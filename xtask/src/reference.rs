//! G11: the reference pages are made from the registries, and the committed copies are fresh.
//!
//! Decides which pages there are and where they lie; `examples/reference.rs` writes them.

use std::fs;

use anyhow::{Context, Result, bail};

use crate::gate::GateOutcome;
use crate::{selection, tree};

const PAGES: [&str; 4] = ["variables", "tables", "commands", "errors"];

/// Whether every committed page is what would be written now.
pub(crate) fn check() -> Result<GateOutcome> {
    let mut stale = Vec::new();
    for page in PAGES {
        let path = tree::root().join(place(page));
        if fs::read_to_string(&path).unwrap_or_default() != made(page)? {
            stale.push(format!("{} is stale: run `cargo xtask docs`", place(page)));
        }
    }
    if stale.is_empty() {
        return Ok(GateOutcome::Ok(format!("{} pages", PAGES.len())));
    }
    Ok(GateOutcome::Red(stale))
}

/// Writes every page.
pub(crate) fn write() -> Result<()> {
    for page in PAGES {
        let path = tree::root().join(place(page));
        fs::create_dir_all(path.parent().context("a page lies in a folder")?)?;
        fs::write(&path, made(page)?)?;
        println!("written: {}", place(page));
    }
    Ok(())
}

fn place(page: &str) -> String {
    format!("docs/reference/{page}.md")
}

fn made(page: &str) -> Result<String> {
    let mut command = selection::workspace("run");
    command.args(["--quiet", "--example", "reference", "--", page]);
    let output = command.output().context("cargo")?;
    if !output.status.success() {
        bail!("{}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(String::from_utf8(output.stdout)?)
}
