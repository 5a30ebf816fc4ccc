//! What a rule's cells mean, for `advice`, which looks at rules without evaluating them.

use regex_syntax::hir::Hir;

use super::Engine;
use super::choice::FlagChoice;
use super::conditions::read_server_names;
use super::dialect;
use super::pattern::Options;

/// What a pattern means to the linear-time engine; `None` when that cannot run it.
pub fn meaning_of_pattern(text: &str, caseless: bool, engine: Engine) -> Option<Hir> {
    let options = Options { engine, caseless, replaces: false, global: false };
    dialect::read(text, options).ok().map(|reading| reading.meaning)
}

/// The hosts, called by in TLS, that `attributes` ask for; empty where they do not.
pub fn server_names_of_attributes(attributes: &str) -> Vec<String> {
    read_server_names(attributes).unwrap_or_default()
}

/// The flags that `attributes` choose from.
pub fn flags_of_attributes(attributes: &str) -> Vec<i64> {
    let choice = FlagChoice::read(attributes).ok().flatten();
    choice.iter().flat_map(FlagChoice::flags).map(i64::from).collect()
}
