//! The Rust files of this repository, each with what the checks ask about it.
//!
//! Decides which files count and which of their lines are test code; knows no rule.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::rust_text::{closing_brace, is_word, line_of, mask, whole_words};

/// One Rust file.
pub(crate) struct Source {
    /// Path from the root of the repository, with `/`.
    pub(crate) path: String,
    /// The file as it is.
    pub(crate) text: String,
    /// The same with comments and literals blanked.
    pub(crate) code: String,
    /// Line ranges (from 1, inclusive) of `#[cfg(test)]` items; the whole file for test files.
    tests: Vec<(usize, usize)>,
}

/// A function with a body.
pub(crate) struct Function {
    pub(crate) name: String,
    pub(crate) line: usize,
    pub(crate) lines: usize,
}

impl Source {
    pub(crate) fn new(path: String, text: String) -> Self {
        let code = mask(&text);
        let tests = if is_test_path(&path) { vec![(1, usize::MAX)] } else { test_items(&code) };
        Self { path, text, code, tests }
    }

    pub(crate) fn is_test_line(&self, line: usize) -> bool {
        self.tests.iter().any(|&(from, to)| (from..=to).contains(&line))
    }

    pub(crate) fn is_test_file(&self) -> bool {
        self.tests.first() == Some(&(1, usize::MAX))
    }

    /// Lines taken by test items inside a file that is not itself a test.
    pub(crate) fn inline_test_blocks(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        self.tests.iter().copied().filter(|&(_, to)| to != usize::MAX)
    }

    /// The crate the file belongs to: its folder under `crates/`, or its first folder.
    pub(crate) fn krate(&self) -> &str {
        let rest = self.path.strip_prefix("crates/").unwrap_or(&self.path);
        rest.split('/').next().unwrap_or("")
    }

    /// Lines (from 1) of non-test code that contain `token` as a whole word.
    pub(crate) fn lines_with(&self, token: &str) -> Vec<usize> {
        let lines = whole_words(&self.code, token).map(|at| line_of(&self.code, at));
        lines.filter(|&line| !self.is_test_line(line)).collect()
    }

    pub(crate) fn functions(&self) -> Vec<Function> {
        whole_words(&self.code, "fn").filter_map(|at| self.function_at(at)).collect()
    }

    fn function_at(&self, at: usize) -> Option<Function> {
        let rest = self.code[at + 2..].trim_start();
        let name: String = rest.chars().take_while(|&c| c.is_alphanumeric() || c == '_').collect();
        if name.is_empty() {
            return None;
        }
        let open = body_start(&self.code, at)?;
        let line = line_of(&self.code, at);
        let end = line_of(&self.code, closing_brace(&self.code, open) - 1);
        Some(Function { name, line, lines: end + 1 - line })
    }
}

/// The opening brace of the item at `from`, or nothing when it ends with `;` first.
fn body_start(code: &str, from: usize) -> Option<usize> {
    let mut depth = 0i32;
    for (at, byte) in code.bytes().enumerate().skip(from) {
        match byte {
            b'(' | b'[' => depth += 1,
            b')' | b']' => depth -= 1,
            b'{' if depth == 0 => return Some(at),
            b';' if depth == 0 => return None,
            _ => {}
        }
    }
    None
}

fn is_test_path(path: &str) -> bool {
    let folders = ["/tests/", "/benches/", "/examples/"];
    path.ends_with("/tests.rs")
        || path.starts_with("tests/")
        || folders.iter().any(|folder| path.contains(folder))
}

fn test_items(code: &str) -> Vec<(usize, usize)> {
    let marker = "#[cfg(test)]";
    let items = code.match_indices(marker).map(|(at, _)| {
        let behind = at + marker.len();
        let end = match body_start(code, skip_attributes(code, behind)) {
            Some(open) => closing_brace(code, open) - 1,
            None => behind,
        };
        (line_of(code, at), line_of(code, end))
    });
    items.collect()
}

fn skip_attributes(code: &str, mut at: usize) -> usize {
    loop {
        let rest = &code[at..];
        let blank = rest.len() - rest.trim_start().len();
        let Some(stripped) = rest.trim_start().strip_prefix("#[") else {
            return at + blank;
        };
        let mut depth = 1;
        let len = stripped.bytes().take_while(|b| {
            depth += i32::from(*b == b'[') - i32::from(*b == b']');
            depth > 0
        });
        at += blank + 2 + len.count() + 1;
    }
}

/// The names of the modules that are test code because of `#[cfg(test)] mod name;`.
fn test_modules(code: &str) -> Vec<String> {
    let marker = "#[cfg(test)]";
    let names = code.match_indices(marker).filter_map(|(at, _)| {
        let rest = code[skip_attributes(code, at + marker.len())..].trim_start();
        let rest = rest.trim_start_matches("pub(crate)").trim_start().strip_prefix("mod ")?;
        let name: String = rest.bytes().take_while(|&b| is_word(b)).map(char::from).collect();
        rest[name.len()..].trim_start().starts_with(';').then_some(name)
    });
    names.collect()
}

/// Where the repository is.
pub(crate) fn root() -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest.parent().map_or_else(|| PathBuf::from("."), Path::to_path_buf)
}

/// Every Rust file of the repository, sorted by path.
pub(crate) fn load(root: &Path) -> Result<Vec<Source>> {
    let mut sources = Vec::new();
    for folder in ["crates", "xtask", "bench", "tests", "fuzz"] {
        for path in files_under(&root.join(folder), "rs")? {
            let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
            sources.push(Source::new(relative(root, &path), text));
        }
    }
    sources.sort_by(|a, b| a.path.cmp(&b.path));
    mark_test_modules(&mut sources);
    Ok(sources)
}

fn mark_test_modules(sources: &mut [Source]) {
    let mut prefixes = Vec::new();
    for source in sources.iter() {
        let stem = source.path.trim_end_matches(".rs");
        let name = stem.rsplit('/').next().unwrap_or(stem);
        let folder = match name {
            "lib" | "main" | "mod" => &stem[..stem.len() - name.len()],
            _ => &format!("{stem}/"),
        };
        prefixes.extend(test_modules(&source.code).into_iter().map(|m| format!("{folder}{m}")));
    }
    for source in sources {
        let stem = source.path.trim_end_matches(".rs");
        let is_test = |p: &String| stem == p || stem.starts_with(&format!("{p}/"));
        if prefixes.iter().any(is_test) {
            source.tests = vec![(1, usize::MAX)];
        }
    }
}

/// Every Markdown file, with its path from the root.
pub(crate) fn documents(root: &Path) -> Result<Vec<(String, String)>> {
    let mut documents = Vec::new();
    for path in files_under(root, "md")? {
        let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        documents.push((relative(root, &path), text));
    }
    Ok(documents)
}

/// The path from the root, with `/`.
pub(crate) fn relative(root: &Path, path: &Path) -> String {
    path.strip_prefix(root).unwrap_or(path).to_string_lossy().replace('\\', "/")
}

/// Files below `folder` with this extension; build output and dependencies are left out.
pub(crate) fn files_under(folder: &Path, extension: &str) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_path_buf()];
    while let Some(folder) = open.pop() {
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        for entry in entries {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if path.is_dir() {
                let skipped = ["target", "node_modules", "corpus", "artifacts", "__pycache__"];
                if !skipped.contains(&name.as_str()) && !name.starts_with('.') {
                    open.push(path);
                }
            } else if path.extension().is_some_and(|e| e == extension) {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_measured_and_declarations_skipped() {
        let text = "trait T { fn a(&self) -> [u8; 4]; }\nfn b(x: [u8; 2])\n{\n  1\n}\n";
        let source = Source::new("crates/x/src/y.rs".into(), text.into());
        let found = source.functions();
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].name.as_str(), found[0].line, found[0].lines), ("b", 2, 4));
    }

    #[test]
    fn lines_of_test_modules_are_test_lines() {
        let text = "fn a() {}\n#[cfg(test)]\n#[allow(x[1])]\nmod t {\n fn b() {}\n}\nfn c() {}\n";
        let source = Source::new("crates/x/src/y.rs".into(), text.into());
        let lines: Vec<_> = (1..=7).map(|l| source.is_test_line(l)).collect();
        assert_eq!(lines, [false, true, true, true, true, true, false]);
    }

    #[test]
    fn files_of_a_test_module_are_test_files() {
        let mut sources = vec![
            Source::new("crates/x/src/lib.rs".into(), "#[cfg(test)]\nmod oracle;\n".into()),
            Source::new("crates/x/src/oracle.rs".into(), "fn f() {}".into()),
            Source::new("crates/x/src/other.rs".into(), "fn f() {}".into()),
        ];
        mark_test_modules(&mut sources);
        assert!(sources[1].is_test_file());
        assert!(!sources[2].is_test_file());
    }
}
