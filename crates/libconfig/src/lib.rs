//! The grammar of `proxysql.cnf`: text to a tree of settings with the place of each, and back.
//!
//! The grammar is libconfig's: groups `{}`, lists `()`, arrays `[]`, scalars, three kinds of
//! comments, `@include`, adjacent texts that are one. [`parse`] never fails: it gives what it could
//! read and every fault with its place. The caller reads files; nothing here knows what a setting
//! means.
#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    deny(
        clippy::unwrap_used,
        clippy::indexing_slicing,
        clippy::cast_possible_truncation,
        clippy::panic
    )
)]

mod parser;
mod scanner;
mod sources;
mod text;

use std::ops::Range;

pub use sources::{Source, Sources};
pub use text::quoted;

/// A file that was read, with everything that is wrong with it.
#[derive(Debug)]
pub struct Document {
    /// The settings outside of all groups, in the order of the file.
    pub settings: Vec<Setting>,
    /// What is wrong or odd, in the order in which it was met.
    pub faults: Vec<SyntaxFault>,
    /// The file and those it includes; every span is a range of them.
    pub sources: Sources,
}

/// `name = value`.
#[derive(Clone, PartialEq, Debug)]
pub struct Setting {
    /// Its name; no two of a group are alike.
    pub name: String,
    /// Where the name stands.
    pub name_span: Range<usize>,
    /// Its value.
    pub item: Item,
}

/// A value at its place.
#[derive(Clone, PartialEq, Debug)]
pub struct Item {
    /// Where it stands, brackets and quotes included.
    pub span: Range<usize>,
    /// What it is.
    pub value: SettingValue,
}

/// A value.
#[derive(Clone, PartialEq, Debug)]
pub enum SettingValue {
    /// A whole number, however it was written.
    Int(i64),
    /// Another number.
    Float(f64),
    /// `true` or `false`.
    Bool(bool),
    /// A text; escapes can make any bytes of it.
    Text(Vec<u8>),
    /// `[…]`: scalars of one kind.
    Array(Vec<Item>),
    /// `(…)`: values of any kind.
    List(Vec<Item>),
    /// `{…}`: settings.
    Group(Vec<Setting>),
}

/// Something wrong, or odd, at a place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SyntaxFault {
    /// Where.
    pub span: Range<usize>,
    /// What, and what would be right.
    pub reason: String,
    /// Whether the file is of no use because of it.
    pub fatal: bool,
}

/// Reads `text` of the file `origin`. For `@include "path"`, `include` is told the origin of the
/// file that says so and the path; it gives the included file's origin and text, or why it cannot.
pub fn parse(origin: &str, text: &str, include: Include<'_>) -> Document {
    let mut scanner = scanner::Scanner::new(include);
    scanner.scan(origin, text);
    let (tokens, mut faults, sources) = scanner.finish();
    let settings = parser::Parser::new(&tokens, &mut faults).document();
    faults.sort_by_key(|fault| fault.span.start);
    Document { settings, faults, sources }
}

/// What reads included files.
pub type Include<'a> = &'a mut dyn FnMut(&str, &str) -> Result<(String, String), String>;

#[cfg(test)]
mod tests;
