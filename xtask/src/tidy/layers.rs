//! G1: crates name only the crates below them, modules of `engine` only the modules before them.
//!
//! Decides nothing about what the order should be; that is the table's.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::Result;

use super::layers_table::{CRATES, ENGINE, LayerRow, TOGETHER};
use super::{Checked, Finding};
use crate::manifests::{self, Manifest, Section};
use crate::rust_text::{is_word, line_of};
use crate::tree::Source;

pub(super) fn check(root: &Path, sources: &[Source]) -> Result<Checked> {
    let manifests = manifests::members(root)?;
    let own: Vec<String> = manifests.iter().filter_map(Manifest::own_name).collect();
    let mut findings = Vec::new();
    for manifest in &manifests {
        match CRATES.iter().find(|row| row.folder == manifest.folder) {
            Some(row) => findings.extend(check_manifest(manifest, row, &own)),
            None => findings.push(Finding::whole(
                "G1",
                &manifest.path(),
                &manifest.folder,
                "this member has no row in xtask/src/tidy/layers_table.rs",
            )),
        }
    }
    let modules = check_engine(sources, &mut findings);
    let detail = format!("{} crates, {modules} modules of engine", manifests.len());
    Ok(Checked { detail, findings })
}

fn check_manifest(manifest: &Manifest, row: &LayerRow, own: &[String]) -> Vec<Finding> {
    let refused = manifest.dependencies.iter().filter(|dependency| {
        let name = dependency.name.as_str();
        let is_own = own.iter().any(|o| o == name);
        match (dependency.section, is_own) {
            (Section::Normal, true) => !row.own.contains(&name),
            (Section::Normal, false) => !row.foreign.contains(&name),
            (Section::Dev, true) => !row.own.contains(&name) && !row.own_in_tests.contains(&name),
            (Section::Dev | Section::Build, _) => false,
        }
    });
    refused
        .map(|d| {
            let why = format!("{} may not depend on it", manifest.folder);
            Finding::whole("G1", &manifest.path(), &d.name, &why)
        })
        .collect()
}

/// Checks every `crate::module` named in `engine`; returns how many modules there are.
fn check_engine(sources: &[Source], findings: &mut Vec<Finding>) -> usize {
    let prefix = "crates/engine/src/";
    let files = sources.iter().filter(|s| s.path.starts_with(prefix) && !s.is_test_file());
    let mut modules = BTreeSet::new();
    for source in files {
        let rest = &source.path[prefix.len()..];
        let module = rest.split('/').next().unwrap_or(rest).trim_end_matches(".rs");
        if matches!(module, "lib" | "manual") {
            continue;
        }
        modules.insert(module.to_owned());
        let Some(own_rank) = rank(module) else {
            let why = "this module of engine has no place in layers_table.rs";
            findings.push(Finding::new("G1", source, 1, module, why));
            continue;
        };
        for (used, line) in used_modules(source) {
            let together = TOGETHER
                .iter()
                .any(|&(a, b)| (a == module && b == used) || (b == module && a == used));
            let below = rank(&used).is_some_and(|r| r < own_rank);
            let allowed = used == module || together || below;
            if !allowed {
                let why = format!("engine::{module} may only use modules before it");
                findings.push(Finding::new("G1", source, line, &used, &why));
            }
        }
    }
    let all = sources.iter().any(|source| source.path == format!("{prefix}lib.rs"));
    let named = ENGINE.iter().copied().flatten().filter(|_| all);
    findings.extend(named.filter(|name| !modules.contains(**name)).map(|name| {
        let why = "this row has no module in engine";
        Finding::whole("G1", "xtask/src/tidy/layers_table.rs", name, why)
    }));
    modules.len()
}

fn rank(module: &str) -> Option<usize> {
    ENGINE.iter().position(|group| group.contains(&module))
}

/// Modules named as `crate::x` or inside `use crate::{x, y::…}`, outside test code.
fn used_modules(source: &Source) -> Vec<(String, usize)> {
    let mut used = Vec::new();
    for (at, found) in source.code.match_indices("crate::") {
        let line = line_of(&source.code, at);
        if source.is_test_line(line) || (at > 0 && is_word(source.code.as_bytes()[at - 1])) {
            continue;
        }
        let rest = &source.code[at + found.len()..];
        used.extend(first_segments(rest).into_iter().map(|name| (name, line)));
    }
    used.retain(|(name, _)| name.chars().next().is_some_and(char::is_lowercase));
    used
}

fn first_segments(rest: &str) -> Vec<String> {
    let word = |text: &str| -> String {
        text.trim_start().bytes().take_while(|&b| is_word(b)).map(char::from).collect()
    };
    let Some(list) = rest.strip_prefix('{') else {
        return vec![word(rest)];
    };
    let mut depth = 0;
    let mut names = vec![word(list)];
    for (at, byte) in list.bytes().enumerate() {
        match byte {
            b'{' => depth += 1,
            b'}' if depth == 0 => break,
            b'}' => depth -= 1,
            b',' if depth == 0 => names.push(word(&list[at + 1..])),
            _ => {}
        }
    }
    names.retain(|name| !name.is_empty());
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_module_of_a_use_list_is_seen() {
        let names = first_segments("{ids::{A, B}, rows::Row, self, vars};");
        assert_eq!(names, ["ids", "rows", "self", "vars"]);
        assert_eq!(first_segments("pool::Shard;"), ["pool"]);
    }

    #[test]
    fn a_row_without_a_module_is_found() {
        let source = |path: &str| Source::new(format!("crates/engine/src/{path}"), String::new());
        let but = |left_out: &str| {
            let names = ENGINE.iter().copied().flatten().filter(|name| **name != left_out);
            let names = names.copied().chain(["lib"]);
            let sources: Vec<_> = names.map(|name| source(&format!("{name}.rs"))).collect();
            let mut findings = Vec::new();
            check_engine(&sources, &mut findings);
            findings.into_iter().map(|finding| finding.key).collect::<Vec<_>>()
        };
        assert_eq!(but(""), Vec::<String>::new());
        assert_eq!(but("stmt"), ["G1 xtask/src/tidy/layers_table.rs stmt"]);
    }

    #[test]
    fn a_module_that_looks_forward_is_found() {
        let text = "use crate::session::Session;\nuse crate::ids::LaneId;\n";
        let source = Source::new("crates/engine/src/lane/queue.rs".into(), text.into());
        let mut findings = Vec::new();
        assert_eq!(check_engine(&[source], &mut findings), 1);
        assert_eq!(findings.len(), 1);
        assert_eq!(findings[0].key, "G1 crates/engine/src/lane/queue.rs session");
    }
}
