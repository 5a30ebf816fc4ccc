//! The `Cargo.toml` of every member: its names and what it depends on.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use toml::{Table, Value};

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

    fn parse(folder: &str, text: &str) -> Result<Self> {
        let read: Table = text.parse()?;
        let name = |table: &str| Some(read.get(table)?.get("name")?.as_str()?.to_owned());
        let shared_lints = read.get("lints").and_then(|lints| lints.get("workspace"));
        let mut manifest = Self {
            folder: folder.to_owned(),
            package: name("package").unwrap_or_default(),
            lib: name("lib"),
            shared_lints: shared_lints == Some(&Value::Boolean(true)),
            dependencies: Vec::new(),
        };
        manifest.take(&read);
        let targets = read.get("target").and_then(Value::as_table).into_iter().flatten();
        targets.filter_map(|(_, target)| target.as_table()).for_each(|of| manifest.take(of));
        Ok(manifest)
    }

    fn take(&mut self, from: &Table) {
        for (table, section) in [
            ("dependencies", Section::Normal),
            ("dev-dependencies", Section::Dev),
            ("build-dependencies", Section::Build),
        ] {
            let found = from.get(table).and_then(Value::as_table).into_iter().flatten();
            let dependency = |(name, _): (&String, _)| Dependency { name: name.clone(), section };
            self.dependencies.extend(found.map(dependency));
        }
    }
}

/// Every member of the workspace, in the order of `members`.
pub(crate) fn members(root: &Path) -> Result<Vec<Manifest>> {
    let mut members = Vec::new();
    for entry in member_globs(&workspace(root)?) {
        for folder in expand(root, &entry)? {
            let text = fs::read_to_string(root.join(&folder).join("Cargo.toml"))
                .with_context(|| folder.clone())?;
            members.push(Manifest::parse(&folder, &text).with_context(|| folder.clone())?);
        }
    }
    Ok(members)
}

/// The table `workspace` of the root's manifest.
fn workspace(root: &Path) -> Result<Table> {
    let text = fs::read_to_string(root.join("Cargo.toml")).context("Cargo.toml")?;
    let mut manifest: Table = text.parse().context("Cargo.toml")?;
    match manifest.remove("workspace") {
        Some(Value::Table(workspace)) => Ok(workspace),
        _ => anyhow::bail!("Cargo.toml has no workspace"),
    }
}

fn member_globs(workspace: &Table) -> Vec<String> {
    let list = workspace.get("members").and_then(Value::as_array).into_iter().flatten();
    list.filter_map(Value::as_str).map(str::to_owned).collect()
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
    let workspace = workspace(root)?;
    let dependencies = workspace.get("dependencies").and_then(Value::as_table);
    Ok(dependencies.into_iter().flatten().map(|(name, _)| name.clone()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_dependencies_are_read() {
        let text = "[package]\nname = \"tidegate-io\"\n[lib]\nname = \"io\"\n[lints]\n\
                    workspace = true\n[dependencies]\nlibc.workspace = true\n# no\n\
                    [dev-dependencies]\nproptest = { version = \"1\" }\n";
        let manifest = Manifest::parse("crates/io", text).expect("TOML");
        assert_eq!(manifest.own_name().as_deref(), Some("io"));
        assert!(manifest.shared_lints);
        let found: Vec<_> =
            manifest.dependencies.iter().map(|d| (d.name.as_str(), d.section)).collect();
        assert_eq!(found, [("libc", Section::Normal), ("proptest", Section::Dev)]);
    }

    #[test]
    fn members_are_listed() {
        let text = "members = [\"crates/*\", \"xtask\"]\nexclude = [\"fuzz\"]\n";
        assert_eq!(member_globs(&text.parse().expect("TOML")), ["crates/*", "xtask"]);
    }
}
