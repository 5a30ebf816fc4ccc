//! From `tidegate.toml` to a compiled configuration: the file's tables and keys are those of the
//! admin interface.
//!
//! Shapes and types are judged here, values by `engine`; both kinds of fault are shown together,
//! each at its place in the file. Nothing is converted silently and nothing is left out silently.

mod columns;
mod document;
mod fault;
mod places;
mod tables;
mod variables;

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use engine::snapshot::{Draft, Snapshot};

use fault::Fault;

/// A configuration that was read without an error.
pub(crate) struct Loaded {
    /// File it came from.
    pub(crate) origin: PathBuf,
    /// The rows as written.
    pub(crate) draft: Draft,
    /// The rows compiled.
    pub(crate) snapshot: Snapshot,
    /// What is odd but not wrong, rendered for people.
    pub(crate) warnings: Vec<String>,
}

/// The file to read: the one asked for, or the first that exists of the usual places.
pub(crate) fn find(asked: Option<&Path>) -> anyhow::Result<PathBuf> {
    if let Some(asked) = asked {
        return Ok(asked.to_path_buf());
    }
    match USUAL_PLACES.iter().map(Path::new).find(|place| place.exists()) {
        Some(place) => Ok(place.to_path_buf()),
        None => bail!(
            "no configuration: neither {} exists; write one with `tidegate init` or name one \
             with --config",
            USUAL_PLACES.join(" nor ")
        ),
    }
}

/// Reads `file`; on failure the error's text shows every fault with its place.
pub(crate) fn load(file: &Path) -> anyhow::Result<Loaded> {
    let bytes = std::fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
    let origin = file.display().to_string();
    let text = match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => bail!(fault::not_utf8(error.as_bytes(), &origin)),
    };
    match read(&text) {
        Ok((draft, snapshot, warnings)) => {
            let warnings = fault::render_each(&warnings, &text, &origin);
            Ok(Loaded { origin: file.to_path_buf(), draft, snapshot, warnings })
        }
        Err(faults) => bail!(fault::render(&faults, &text, &origin)),
    }
}

/// Reads the text of a file: rows, what they compile to and warnings, or all faults in the order
/// of the file.
fn read(text: &str) -> Result<(Draft, Snapshot, Vec<Fault>), Vec<Fault>> {
    let mut document = document::read(text);
    let compiled = Snapshot::compile(&document.draft).map_err(|found| {
        for fault in found {
            document.places.locate(&fault, &mut document.faults);
        }
    });
    if let Ok(snapshot) = &compiled {
        document.warn_of(snapshot.rules.slow_patterns());
    }
    let warnings = document.warnings();
    match compiled {
        Ok(snapshot) if document.faults.is_empty() => Ok((document.draft, snapshot, warnings)),
        _ => {
            let mut faults = document.faults;
            faults.sort_by_key(|fault| fault.span.start);
            Err(faults)
        }
    }
}

const USUAL_PLACES: [&str; 2] = ["./tidegate.toml", "/etc/tidegate/tidegate.toml"];

#[cfg(test)]
mod tests;
