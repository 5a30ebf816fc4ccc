//! G14: no method of the engine's `Proxy` leads back to itself, and the ways through them that
//! ARCHITECTURE.md tells are the ways that calls take.
//!
//! Decides by names: a method is what is called on `self` or `proxy`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context as _, Result};

use super::{Checked, Finding};
use crate::rust_text::{closing_brace, is_word, whole_words};
use crate::tree::Source;

const MAP: &str = "ARCHITECTURE.md";

/// Each method, and those that it calls.
type Calls = BTreeMap<String, BTreeSet<String>>;

pub(super) fn check(root: &Path, sources: &[Source]) -> Result<Checked> {
    let map = std::fs::read_to_string(root.join(MAP)).with_context(|| format!("read {MAP}"))?;
    let calls = calls(sources);
    let found = |thing: String, why: &str| Finding::whole("ways", MAP, &thing, why);
    let circles = circle(&calls).map(|circle| found(circle.join(" > "), "leads back to itself"));
    let steps = steps(&map);
    let wrong =
        steps.iter().filter(|(from, to)| !calls.get(*from).is_some_and(|c| c.contains(*to)));
    let wrong = wrong.map(|(from, to)| found(format!("{from} > {to}"), "there is no such call"));
    let findings = circles.into_iter().chain(wrong).collect();
    let detail = format!("{} methods, {} steps told", calls.len(), steps.len());
    Ok(Checked { detail, findings })
}

/// The steps of all ways: what stands around each `>` of the blocks that are marked as ways.
fn steps(map: &str) -> Vec<(&str, &str)> {
    let blocks = map.split("```ways\n").skip(1).filter_map(|block| block.split("```").next());
    let ways = blocks.flat_map(str::lines).map(|line| line.split(" > "));
    let mut steps = Vec::new();
    for way in ways {
        let names: Vec<_> = way.filter_map(|name| name.split_whitespace().last()).collect();
        steps.extend(names.windows(2).map(|pair| (pair[0], pair[1])));
    }
    steps
}

fn calls(sources: &[Source]) -> Calls {
    let engine = sources.iter().filter(|source| source.path.starts_with("crates/engine/src/"));
    let code = engine.filter(|source| !source.is_test_file()).map(|source| source.code.as_str());
    let blocks: Vec<&str> = code.flat_map(blocks).collect();
    let bodies: BTreeMap<&str, &str> = blocks.iter().flat_map(|block| methods(block)).collect();
    let all = bodies.iter().map(|(name, body)| {
        let others = bodies.keys().filter(|other| *other != name && calls_it(body, other));
        ((*name).to_owned(), others.map(|other| (*other).to_owned()).collect())
    });
    all.collect()
}

/// What stands in the `impl Proxy` of a file.
fn blocks(code: &str) -> impl Iterator<Item = &str> {
    let starts = code.match_indices("\nimpl Proxy {").map(|(at, found)| at + found.len() - 1);
    starts.map(|open| &code[open..closing_brace(code, open)])
}

/// The methods of such a block with their bodies.
fn methods(block: &str) -> impl Iterator<Item = (&str, &str)> {
    whole_words(block, "fn").filter_map(|at| {
        let rest = block[at + 2..].trim_start();
        let name = &rest[..rest.bytes().position(|byte| !is_word(byte))?];
        // a closure's type is no method
        let open = rest.find(" {\n")? + 1;
        (!name.is_empty()).then(|| (name, &rest[open..closing_brace(rest, open)]))
    })
}

fn calls_it(body: &str, name: &str) -> bool {
    whole_words(body, name).any(|at| {
        let before = body[..at].trim_end();
        let owner = before.strip_suffix('.').map(str::trim_end);
        owner.is_some_and(|owner| ends_in(owner, "self") || ends_in(owner, "proxy"))
            || before.ends_with("Self::")
    })
}

fn ends_in(text: &str, word: &str) -> bool {
    let before = text.strip_suffix(word);
    before.is_some_and(|before| !before.ends_with(['_', '.']))
}

/// A circle of calls, if there is one.
fn circle(calls: &Calls) -> Option<Vec<&str>> {
    let mut done = BTreeSet::new();
    calls.keys().find_map(|from| circle_from(calls, from, &mut Vec::new(), &mut done))
}

fn circle_from<'a>(
    calls: &'a Calls,
    at: &'a str,
    path: &mut Vec<&'a str>,
    done: &mut BTreeSet<&'a str>,
) -> Option<Vec<&'a str>> {
    if let Some(start) = path.iter().position(|before| *before == at) {
        return Some(path[start..].iter().chain([&at]).copied().collect());
    }
    if done.contains(at) {
        return None;
    }
    path.push(at);
    let next = calls.get(at).into_iter().flatten();
    let found = next.into_iter().find_map(|to| circle_from(calls, to, path, done));
    path.pop();
    done.insert(at);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn engine(text: &str) -> Calls {
        calls(&[Source::new("crates/engine/src/session/a.rs".into(), text.into())])
    }

    const TEXT: &str = "
impl Proxy {
    fn a(&mut self) {
        self
            .b();
    }
    pub fn b(&self, f: impl Fn(u8)) {
        lane.a();
        self.with(|proxy| proxy.c());
    }
    fn c(&self) {
    }
}
";

    #[test]
    fn calls_are_what_stands_behind_self_and_proxy() {
        let calls = engine(TEXT);
        let told: Vec<_> =
            calls.iter().map(|(name, called)| (name.as_str(), called.len())).collect();
        assert_eq!(told, [("a", 1), ("b", 1), ("c", 0)]);
        assert_eq!(circle(&calls), None);
    }

    #[test]
    fn a_circle_is_found() {
        let calls = engine(&TEXT.replace("lane.a()", "self.a()"));
        assert_eq!(circle(&calls), Some(vec!["a", "b", "a"]));
    }

    #[test]
    fn ways_are_told_in_blocks_of_their_own() {
        let map = "x > y\n```ways\nA query  a > b > c\n         b > d\n```\n";
        assert_eq!(steps(map), [("a", "b"), ("b", "c"), ("b", "d")]);
    }
}
