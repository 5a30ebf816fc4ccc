//! `tidegate init`: asks for the essentials and writes a commented file that `check` accepts.
//!
//! Every question shows its default and what is allowed; a wrong answer is asked again with the
//! reason. Reads any input, so a script may answer through a pipe.

mod answers;
mod dialog;
mod file;

use std::fs::OpenOptions;
use std::io::{BufRead, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

use anyhow::{Context, bail};

use crate::cli::InitOptions;
use crate::config;
use answers::Answers;
use dialog::Dialog;

/// Asks on standard input and writes the file.
pub(crate) fn run(options: &InitOptions) -> anyhow::Result<()> {
    let file = options.output.as_path();
    if file.exists() && !options.force {
        bail!("{} exists; --force overwrites it", file.display());
    }
    let text = compose(std::io::stdin().lock(), std::io::stdout().lock())?;
    write(file, &text)?;
    config::load(file).context("the file written is not valid, which should not happen")?;
    println!("wrote {}", file.display());
    println!("check it: tidegate check {0}\nrun it:   tidegate run --config {0}", file.display());
    Ok(())
}

/// The text of the file for the answers on `input`; the questions go to `output`.
fn compose(input: impl BufRead, output: impl Write) -> anyhow::Result<String> {
    let answers = Answers::ask(&mut Dialog::new(input, output))?;
    Ok(file::text(&answers))
}

/// Passwords are in the file, so only its owner may read it.
pub(crate) fn write(file: &Path, text: &str) -> anyhow::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(OWNER_ONLY);
    let writing = || format!("cannot write {}", file.display());
    let mut opened = options.open(file).with_context(writing)?;
    let permissions = std::fs::Permissions::from_mode(OWNER_ONLY);
    opened.set_permissions(permissions).with_context(writing)?;
    opened.write_all(text.as_bytes()).with_context(writing)
}

const OWNER_ONLY: u32 = 0o600;

#[cfg(test)]
mod tests;
