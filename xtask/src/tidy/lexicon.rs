//! The words of `docs/lexicon.md`, kept by looking at every identifier.
//!
//! Decides by whole words inside identifiers (`PeerAddr` and `peer_addr` both hold `peer`). Names
//! that come from other people's libraries are in `RIGHT`, each with its reason.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Result;

use super::{Checked, Finding};
use crate::rust_text::{is_word, line_of};
use crate::tree::Source;

/// The word, and what we say instead.
const NOT_OURS: [(&str, &str); 12] = [
    ("frontend", "client"),
    ("upstream", "backend or server"),
    ("downstream", "client"),
    ("peer", "client, backend, or side"),
    ("remote", "client, backend or server"),
    ("node", "server"),
    ("myconn", "backend connection"),
    ("fingerprint", "digest"),
    ("grab", "checkout"),
    ("acquire", "checkout"),
    ("steal", "donate"),
    ("helper", "the noun it is about"),
];

/// Identifiers that hold such a word and are right all the same, each with its reason.
const RIGHT: [(&str, &str); 10] = [
    ("frontend", "a column of mysql_users"),
    ("fingerprint", "the digest of an X.509 certificate"),
    ("peer_certificates", "the name rustls gave this"),
    ("peer_has_closed", "the name rustls gave this"),
    ("PeerIncompatible", "the name rustls gave this"),
    ("PeerFault", "the other side of a protocol, whichever it is"),
    ("set_remote_host", "the name nonstick gave this"),
    ("acquire_owned", "the name tokio gave this"),
    ("try_acquire_owned", "the name tokio gave this"),
    ("get_mut", "the name the standard library gave this"),
];

/// Names that say where something was put rather than what it is.
const NOT_MODULES: [&str; 6] = ["utils", "util", "common", "helpers", "manager", "misc"];

pub(super) fn check(_: &Path, sources: &[Source]) -> Result<Checked> {
    let mut findings = Vec::new();
    let mut identifiers = 0;
    for source in sources {
        findings.extend(bad_module(source));
        let mut first_seen = BTreeMap::new();
        for (name, at) in identifiers_of(&source.code) {
            identifiers += 1;
            if RIGHT.iter().any(|(right, _)| *right == name) {
                continue;
            }
            for word in words(name) {
                first_seen.entry(word).or_insert(at);
            }
        }
        for (word, instead) in NOT_OURS {
            let Some(&at) = first_seen.get(word) else { continue };
            let line = line_of(&source.code, at);
            let why = format!("not a word of ours: say {instead}");
            findings.push(Finding::new("lexicon", source, line, word, &why));
        }
        findings.extend(getters(source));
    }
    Ok(Checked { detail: format!("{identifiers} identifiers"), findings })
}

fn bad_module(source: &Source) -> Option<Finding> {
    let mut parts = source.path.trim_end_matches(".rs").split('/');
    let bad = parts.find(|part| NOT_MODULES.contains(part))?;
    Some(Finding::new("lexicon", source, 1, bad, "a module is named after what it decides"))
}

fn getters(source: &Source) -> Vec<Finding> {
    let functions = source.functions().into_iter().filter(|f| {
        let is_right = RIGHT.iter().any(|(right, _)| *right == f.name);
        f.name.starts_with("get_") && !is_right
    });
    functions
        .map(|f| {
            let thing = format!("fn {}", f.name);
            Finding::new("lexicon", source, f.line, &thing, "drop the `get_`")
        })
        .collect()
}

fn identifiers_of(code: &str) -> impl Iterator<Item = (&str, usize)> {
    let mut at = 0;
    code.split(|c: char| !c.is_ascii() || !is_word(c as u8)).filter_map(move |piece| {
        let from = at;
        at += piece.len() + code[from + piece.len()..].chars().next().map_or(0, char::len_utf8);
        let is_name = piece.bytes().next().is_some_and(|b| b.is_ascii_alphabetic() || b == b'_');
        is_name.then_some((piece, from))
    })
}

/// The lower-case words of an identifier, whichever way they are joined.
fn words(name: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut before_lower = false;
    for c in name.chars() {
        let boundary = c == '_' || (c.is_ascii_uppercase() && before_lower);
        if boundary && !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        if c != '_' {
            word.push(c.to_ascii_lowercase());
        }
        before_lower = c.is_ascii_lowercase() || c.is_ascii_digit();
    }
    words.push(word);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_are_split_into_words() {
        assert_eq!(words("PeerFault"), ["peer", "fault"]);
        assert_eq!(words("on_peer_gone"), ["on", "peer", "gone"]);
        assert_eq!(words("peerage"), ["peerage"]);
    }

    #[test]
    fn a_foreign_word_is_found_where_it_first_stands() {
        let text = "fn ok() {}\nlet upstreamAddr = 1; // upstream\n";
        let source = Source::new("crates/worker/src/a.rs".into(), text.into());
        let checked = check(Path::new("."), &[source]).expect("reads only its arguments");
        let keys: Vec<_> = checked.findings.iter().map(|f| (&*f.at, &*f.key)).collect();
        let path = "crates/worker/src/a.rs";
        assert_eq!(keys, [(&*format!("{path}:2"), &*format!("lexicon {path} upstream"))]);
    }
}
