//! The configuration file read again: what it says comes into force, or everything that is wrong
//! with it is logged and nothing changes.

use std::path::Path;
use std::sync::Arc;

use engine::snapshot::{Draft, Snapshot};

use crate::config;
use crate::publisher::Publisher;

/// Brings what `file` says now into force, and logs what came of it. Returns what was in force
/// before, if anything changed.
pub(crate) fn from_file(publisher: &Publisher, file: &Path) -> Option<Arc<Draft>> {
    let config = file.display();
    let mut warnings = Vec::new();
    let mut replaced = None;
    let load = |before: &Snapshot| {
        replaced = Some(before.draft.clone());
        let loaded = config::load_after(file, Some(before))?;
        warnings = loaded.warnings;
        anyhow::Ok(loaded.snapshot)
    };
    let changed = publisher.change(load, |fault| anyhow::anyhow!("{fault}"));
    crate::run::log_told(&warnings);
    if let Err(fault) = publisher.reload_certificates() {
        tracing::error!("certificates are not read again: {fault}");
    }
    let published = match changed {
        Ok(published) => published,
        Err(error) => {
            tracing::error!("the configuration is not changed\n{error:#}");
            return None;
        }
    };
    for late in &published.after_restart {
        tracing::warn!("{late}");
    }
    if !published.unanswered.is_empty() {
        let workers = &published.unanswered;
        tracing::error!(?workers, "workers that have not taken the configuration over yet");
    }
    let took_ms = published.took.as_millis() as u64;
    tracing::info!(%config, took_ms, "configuration changed");
    replaced
}
