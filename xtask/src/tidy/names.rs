//! A name of a type means one thing, or two at most.
//!
//! Decides by the names of types that are seen outside of their files. How well a name says what
//! it stands for is for reviewers.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Result;

use super::{Checked, Finding};
use crate::rust_text::{is_word, line_of, whole_words};
use crate::tree::Source;

const KEYWORDS: [&str; 5] = ["struct", "enum", "trait", "union", "type"];

/// Files that may each have a type of one name.
const FILES_MAX: usize = 2;

pub(super) fn check(_: &Path, sources: &[Source]) -> Result<Checked> {
    let mut places: BTreeMap<&str, Vec<(&Source, usize)>> = BTreeMap::new();
    let folders = ["crates/", "xtask/"];
    for source in sources.iter().filter(|s| folders.iter().any(|f| s.path.starts_with(f))) {
        for (name, line) in visible_types(source) {
            let files = places.entry(name).or_default();
            if files.last().is_none_or(|(last, _)| last.path != source.path) {
                files.push((source, line));
            }
        }
    }
    let detail = format!("{} names of types", places.len());
    let findings = places.iter().filter_map(|(name, files)| too_many(name, files)).collect();
    Ok(Checked { detail, findings })
}

fn too_many(name: &str, files: &[(&Source, usize)]) -> Option<Finding> {
    let (source, line) = files.get(FILES_MAX)?;
    let paths: Vec<&str> = files.iter().map(|(source, _)| source.path.as_str()).collect();
    let why = format!(
        "means {} things, {FILES_MAX} at most: say more in one name ({})",
        files.len(),
        paths.join(", ")
    );
    Some(Finding::new("names", source, *line, name, &why))
}

/// Types of code that is no test, each with its line.
///
/// A private one is known to its file alone. Associated types have no visibility of their own.
fn visible_types(source: &Source) -> Vec<(&str, usize)> {
    let code = source.code.as_str();
    let keywords =
        KEYWORDS.iter().flat_map(|&word| whole_words(code, word).map(move |at| (word, at)));
    let declared = keywords.filter(|&(_, at)| is_visible(&code[..at])).filter_map(|(word, at)| {
        let rest = code[at + word.len()..].trim_start();
        let len = rest.bytes().take_while(|&b| is_word(b)).count();
        let is_type = rest.starts_with(|c: char| c.is_ascii_uppercase());
        is_type.then(|| (&rest[..len], line_of(code, at)))
    });
    declared.filter(|&(_, line)| !source.is_test_line(line)).collect()
}

/// Whether what stands in front of a declaration's keyword ends with `pub`, for whomever.
fn is_visible(before: &str) -> bool {
    let before = before.trim_end();
    let before = before.strip_suffix("unsafe").unwrap_or(before).trim_end();
    let word = match before.strip_suffix(')') {
        Some(whom) => whom.rsplit_once('(').map_or("", |(word, _)| word),
        None => before,
    };
    let ahead = word.strip_suffix("pub");
    ahead.is_some_and(|ahead| !ahead.bytes().next_back().is_some_and(is_word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(path: &str, text: &str) -> Source {
        Source::new(path.into(), text.into())
    }

    fn found(sources: &[Source]) -> Vec<String> {
        let checked = check(Path::new("."), sources).expect("reads only its arguments");
        checked.findings.into_iter().map(|finding| finding.at).collect()
    }

    #[test]
    fn the_third_file_with_a_name_is_refused() {
        let mut sources = vec![
            source("crates/io/src/a.rs", "pub struct Step;\npub(crate) mod m { pub enum Step {} }"),
            source("crates/sql/src/b.rs", "\npub(in crate::x) unsafe trait Step {}"),
        ];
        assert!(found(&sources).is_empty(), "one file counts once");
        sources.push(source("xtask/src/c.rs", "use x;\n\npub(super) type Step<'a> = &'a u8;"));
        assert_eq!(found(&sources), ["xtask/src/c.rs:3"]);
    }

    #[test]
    fn private_and_associated_types_tests_and_other_folders_do_not_count() {
        let sources = [
            source("crates/io/src/a.rs", "pub union Step { a: u8 }"),
            source("crates/io/src/b.rs", "pub struct Step(u8);"),
            source("crates/io/src/c.rs", "struct Step;\npub use d::Step;\npub fn union() {}"),
            source("crates/io/src/d.rs", "pub trait T { type Step; }\n// pub struct Step;"),
            source("crates/io/src/e.rs", "#[cfg(test)]\nmod tests {\n pub struct Step;\n}"),
            source("crates/io/src/f/tests.rs", "pub struct Step;"),
            source("tests/live/src/g.rs", "pub struct Step;"),
        ];
        assert!(found(&sources).is_empty());
    }
}
