//! The `Cargo.toml` of every member: its names and what it depends on.
//!
//! Reads only the few forms this repository uses; it is not a TOML parser.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

/// One member of the workspace.
pub(crate) struct Manifest {
    /// Its folder from the root, with `/`.
    pub(crate) folder: String,
    /// `[package] name`.
    pub(crate) package: String,
    /// `[lib] name` when there is one.
    pub(crate) lib: Option<String>,
    /// Whether `[lints] workspace = true` is there.
    pub(crate) shared_lints: bool,
    pub(crate) dependencies: Vec<Dependency>,
}

/// One line of a dependency table.
pub(crate) struct Dependency {
    pub(crate) name: String,
    pub(crate) section: Section,
}

/// Which table it stood in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Section {
    Normal,
    Dev,
    Build,
}

impl Manifest {
    pub(crate) fn path(&self) -> String {
        format!("{}/Cargo.toml", self.folder)
    }

    /// The name other members use for it in their dependency tables.
    pub(crate) fn own_name(&self) -> Option<String> {
        self.lib.clone().or_else(|| self.package.strip_prefix("tidegate-").map(str::to_owned))
    }

    /// The names of its integration tests, sorted.
    pub(crate) fn tests(&self, root: &Path) -> Result<Vec<String>> {
        let Ok(entries) = fs::read_dir(root.join(&self.folder).join("tests")) else {
            return Ok(Vec::new());
        };
        let mut names = Vec::new();
        for entry in entries {
            let path = entry?.path();
            let is_test =
                path.extension().is_some_and(|e| e == "rs") || path.join("main.rs").exists();
            if let Some(name) = path.file_stem().filter(|_| is_test) {
                names.push(name.to_string_lossy().into_owned());
            }
        }
        names.sort();
        Ok(names)
    }

    fn parse(folder: &str, text: &str) -> Self {
        let mut manifest = Self {
            folder: folder.to_owned(),
            package: String::new(),
            lib: None,
            shared_lints: false,
            dependencies: Vec::new(),
        };
        let mut table = "";
        for line in text.lines().map(str::trim).filter(|l| !l.is_empty() && !l.starts_with('#')) {
            if let Some(name) = line.strip_prefix('[') {
                table = name.trim_end_matches(']');
                continue;
            }
            manifest.take_line(table, line);
        }
        manifest
    }

    fn take_line(&mut self, table: &str, line: &str) {
        let Some((key, value)) = line.split_once('=') else { return };
        let (key, value) = (key.trim(), value.trim());
        match (table, key) {
            ("package", "name") => self.package = value.trim_matches('"').to_owned(),
            ("lib", "name") => self.lib = Some(value.trim_matches('"').to_owned()),
            ("lints", "workspace") => self.shared_lints = value == "true",
            _ => {
                let Some(section) = section_of(table) else { return };
                let name = key.split('.').next().unwrap_or(key).trim_matches('"');
                self.dependencies.push(Dependency { name: name.to_owned(), section });
            }
        }
    }
}

fn section_of(table: &str) -> Option<Section> {
    let last = table.rsplit('.').next().unwrap_or(table);
    match last {
        "dependencies" if !table.starts_with("workspace") => Some(Section::Normal),
        "dev-dependencies" => Some(Section::Dev),
        "build-dependencies" => Some(Section::Build),
        _ => None,
    }
}

/// Every member of the workspace, in the order of `members`.
pub(crate) fn members(root: &Path) -> Result<Vec<Manifest>> {
    let text = fs::read_to_string(root.join("Cargo.toml")).context("Cargo.toml")?;
    let mut members = Vec::new();
    for entry in member_globs(&text) {
        for folder in expand(root, &entry)? {
            let text = fs::read_to_string(root.join(&folder).join("Cargo.toml"))
                .with_context(|| folder.clone())?;
            members.push(Manifest::parse(&folder, &text));
        }
    }
    Ok(members)
}

fn member_globs(text: &str) -> Vec<String> {
    let list = text.split("members").nth(1).unwrap_or("");
    let list = list.split('[').nth(1).and_then(|l| l.split(']').next()).unwrap_or("");
    list.split('"').skip(1).step_by(2).map(str::to_owned).collect()
}

fn expand(root: &Path, entry: &str) -> Result<Vec<String>> {
    let Some(parent) = entry.strip_suffix("/*") else {
        return Ok(vec![entry.to_owned()]);
    };
    let mut folders = Vec::new();
    for entry in fs::read_dir(root.join(parent)).with_context(|| parent.to_owned())? {
        let path = entry?.path();
        if path.join("Cargo.toml").is_file() {
            folders.push(crate::tree::relative(root, &path));
        }
    }
    folders.sort();
    Ok(folders)
}

/// The names under `[workspace.dependencies]`.
pub(crate) fn workspace_dependencies(root: &Path) -> Result<Vec<String>> {
    let text = fs::read_to_string(root.join("Cargo.toml")).context("Cargo.toml")?;
    let section = text.split("[workspace.dependencies]").nth(1).unwrap_or("");
    let section = section.split("\n[").next().unwrap_or("");
    let lines = section.lines().map(str::trim).filter(|l| !l.starts_with('#'));
    Ok(lines.filter_map(|l| l.split_once('=')).map(|(key, _)| key.trim().to_owned()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_dependencies_are_read() {
        let text = "[package]\nname = \"tidegate-io\"\n[lib]\nname = \"io\"\n[lints]\n\
                    workspace = true\n[dependencies]\nlibc.workspace = true\n# no\n\
                    [dev-dependencies]\nproptest = { version = \"1\" }\n";
        let manifest = Manifest::parse("crates/io", text);
        assert_eq!(manifest.own_name().as_deref(), Some("io"));
        assert!(manifest.shared_lints);
        let found: Vec<_> =
            manifest.dependencies.iter().map(|d| (d.name.as_str(), d.section)).collect();
        assert_eq!(found, [("libc", Section::Normal), ("proptest", Section::Dev)]);
    }

    #[test]
    fn members_are_listed() {
        let text = "[workspace]\nmembers = [\"crates/*\", \"xtask\"]\nexclude = [\"fuzz\"]\n";
        assert_eq!(member_globs(text), ["crates/*", "xtask"]);
    }
}
