//! What is said of a command that is known up to a word: the word, and what is allowed there.

use engine::vars::nearest;

use crate::fault::AdminFault;
use crate::layers::MODULES;
use crate::statement::{Statement, is};

/// The fault of a command whose word `at` is none of `allowed`, or is missing.
pub(super) fn unknown(statement: &Statement<'_>, at: usize, allowed: &[&str]) -> AdminFault {
    let before = statement.after(0).iter().take(at);
    let before = before.map(|word| word.to_ascii_uppercase()).collect::<Vec<_>>().join(" ");
    let word: String = statement.word(at).chars().take(WORD_MAX).collect();
    let choice = match allowed {
        [] => String::new(),
        [only] => (*only).to_owned(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    };
    let message = match (word.as_str(), allowed) {
        ("", _) => format!("the command is not complete: after {before} comes {choice}"),
        (word, []) => format!("`{word}` is too much: nothing comes after {before}"),
        (word, [_]) => format!("`{word}` is not known: after {before} comes {choice}"),
        (word, _) => {
            let meant = nearest(&word.to_ascii_uppercase(), allowed.iter().copied());
            let meant = meant.map_or_else(String::new, |meant| format!("; did you mean {meant}?"));
            format!("`{word}` is not known: after {before} comes {choice}{meant}")
        }
    };
    AdminFault::new(1064, *b"42000", message)
}

/// The fault of a command that names no module from word `at` on, nor anything of `others`.
pub(super) fn unknown_module(
    statement: &Statement<'_>,
    at: usize,
    others: &[&'static [&'static str]],
) -> AdminFault {
    let names = MODULES.iter().map(|module| module.words).chain(others.iter().copied());
    unknown_phrase(statement, at, names.collect())
}

/// The fault of a command whose words from `at` on are none of these.
pub(super) fn unknown_phrase(
    statement: &Statement<'_>,
    mut at: usize,
    mut rests: Vec<&[&str]>,
) -> AdminFault {
    loop {
        let mut allowed = Vec::new();
        for word in rests.iter().filter_map(|rest| rest.first()) {
            if !allowed.contains(word) {
                allowed.push(*word);
            }
        }
        let fits = |rest: &&[&str]| rest.first().is_some_and(|word| same(statement.word(at), word));
        rests.retain(fits);
        if rests.is_empty() {
            return unknown(statement, at, &allowed);
        }
        rests = rests.into_iter().filter_map(|rest| rest.get(1..)).collect();
        at += 1;
    }
}

/// Whether a word is this one of a module's.
pub(super) fn same(found: &str, word: &str) -> bool {
    is(found, word) || word == "PROXYSQL" && is(found, "TIDEGATE")
}

/// Signs of a word that are shown.
const WORD_MAX: usize = 64;
