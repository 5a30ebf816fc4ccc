//! G8, dependencies: each is used by the crate that declares it, and each has its reason written
//! in DEPENDENCIES.md.
//!
//! Decides by looking for the name in the crate's sources.

use std::fs;
use std::path::Path;

use anyhow::Result;

use crate::gate::GateOutcome;
use crate::manifests::{self, Manifest};
use crate::rust_text::whole_words;
use crate::tree::{self, Source};

/// Declared for what declaring does, never named in code: crate folder, dependency, why.
const SILENT: [(&str, &str, &str); 1] =
    [("crates/wire", "flate2", "mysql_common needs a back end chosen for it")];

/// Whether the reasons are written, which only a whole repository needs.
pub(crate) fn check() -> Result<GateOutcome> {
    let root = tree::root();
    let sources = tree::load(&root)?;
    let manifests = manifests::members(&root)?;
    let mut findings: Vec<String> = manifests.iter().flat_map(|m| unused(m, &sources)).collect();
    findings.extend(unexplained(&root, &manifests)?);
    let count: usize = manifests.iter().map(|m| m.dependencies.len()).sum();
    if findings.is_empty() {
        return Ok(GateOutcome::Ok(format!("{count} declarations, all used and explained")));
    }
    Ok(GateOutcome::Red(findings))
}

fn unused(manifest: &Manifest, sources: &[Source]) -> Vec<String> {
    let prefix = format!("{}/", manifest.folder);
    let own: Vec<&Source> = sources.iter().filter(|s| s.path.starts_with(&prefix)).collect();
    let idle = manifest.dependencies.iter().filter(|dependency| {
        let name = dependency.name.replace('-', "_");
        let silent =
            SILENT.iter().any(|s| s.0 == manifest.folder && s.1 == dependency.name.as_str());
        !silent && !own.iter().any(|s| whole_words(&s.code, &name).next().is_some())
    });
    idle.map(|d| format!("{}: `{}` is declared and not used", manifest.path(), d.name)).collect()
}

fn unexplained(root: &Path, manifests: &[Manifest]) -> Result<Vec<String>> {
    let text = fs::read_to_string(root.join("DEPENDENCIES.md")).unwrap_or_default();
    let mut findings = Vec::new();
    for name in manifests::workspace_dependencies(root)? {
        let is_own = manifests.iter().any(|m| m.own_name().as_deref() == Some(&name));
        let used = manifests.iter().any(|m| m.dependencies.iter().any(|d| d.name == name));
        if !used && !is_own {
            findings.push(format!("Cargo.toml: no member uses `{name}`"));
        }
        if !is_own && !text.contains(&format!("`{name}`")) {
            findings.push(format!("DEPENDENCIES.md: `{name}` has no line"));
        }
    }
    Ok(findings)
}
