//! The normalised text of a query and its hash, equal to ProxySQL's for the same settings.
//!
//! One pass: [`scan`] cuts the query into words, marks and values, [`join`] decides which blanks
//! and signs between them stay, [`lists`] folds lists of values as they are written. None of them
//! understands SQL; what they do to valid and invalid texts was found by observation, corners
//! included, for operators' rules and dashboards know queries by these hashes.
//!
//! What was observed is what these four machines over bytes do, each over what the one before it
//! wrote; `tests/digest/model.rs` is them as such.
//!
//! 1. *Cutting.* Between words a letter begins a word, a digit a number, a quote a string; `#`,
//!    `--` with a blank and `/*` begin comments. A string is `?` at its closing quote, a number
//!    where it ends. Blanks and comments are one blank, the inside of `/*! */` stays as it is. A
//!    NUL, or the end within a string or `/*`, ends the text. Where 3 bytes of a text are left from
//!    `#`, or 7 from `--`, only that mark goes, and a word in front of it goes on behind it.
//! 2. *Joining.* Each blank and sign goes or stays by the two places before it in a buffer that is
//!    being moved together, and by the byte after it. Digits of names become `?` here.
//! 3. *Folding values.* `(` leads to *seeking*, `)` *outside*, whatever is open. Seeking, the first
//!    `?` of an element leads to *value*, whatever is in front of it. There `,` and `)` count it,
//!    any other byte leads to *spoilt*, until `,` leads back to seeking. A count goes on only if
//!    `?` follows `,` at once; those beyond the limit and one more become `...`.
//! 4. *Folding lists.* `(?,?,?,...)` in a row, with nothing but commas between, are counted; those
//!    beyond the limit become `,...`.
//!
//! In the end, blanks and semicolons at the end of all go.

mod join;
mod lists;
mod omitted;
mod scan;

use crate::spooky;
pub use omitted::Omitted;
use scan::Scan;

/// How texts are normalised: the variables `mysql-query_digests_*`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct DigestOptions {
    /// How many bytes a text being normalised may grow to.
    pub max_query_length: usize,
    /// How many bytes of the normalised text are kept and hashed.
    pub max_digest_length: usize,
    /// Letters become small.
    pub lowercase: bool,
    /// `NULL` becomes `?`.
    pub replace_null: bool,
    /// Digits in names become `?`.
    pub no_digits: bool,
    /// Comments stay in the text.
    pub keep_comment: bool,
    /// How many values of a list are kept; 0 keeps all.
    pub grouping_limit: usize,
    /// How many folded lists of values are kept; 0 keeps all.
    pub groups_grouping_limit: usize,
}

impl Default for DigestOptions {
    fn default() -> Self {
        Self {
            max_query_length: 65_000,
            max_digest_length: 2048,
            lowercase: false,
            replace_null: false,
            no_digits: false,
            keep_comment: false,
            grouping_limit: 3,
            groups_grouping_limit: 10,
        }
    }
}

/// What a query's text is normalised to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Digest<'a> {
    /// What statistics, rules and dashboards know the query by.
    pub hash: u64,
    /// The normalised text, at most `max_digest_length` bytes.
    pub text: &'a [u8],
    /// The inside of the first `/* */` comment, at most 1,024 bytes, for annotations. Optimizer
    /// hints and code comments are none.
    pub first_comment: Option<&'a [u8]>,
    /// What of the query its text does not show.
    pub omitted: Omitted,
}

/// Makes digests, and keeps its memory from one to the next.
#[derive(Clone, Debug, Default)]
pub struct Digester {
    out: Vec<u8>,
}

impl Digester {
    /// A digester without memory yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The digest of `text`.
    pub fn digest<'a>(&'a mut self, text: &'a [u8], options: &DigestOptions) -> Digest<'a> {
        self.out.clear();
        let limit = text.len().min(options.max_query_length);
        self.out.reserve(limit);
        let out = std::mem::take(&mut self.out);
        let scanned = Scan::new(text, limit, options, out).run();
        self.out = scanned.out;
        let (whole, at_end) = without_end(&self.out);
        let (text, omitted) = match whole.get(..options.max_digest_length) {
            Some(part) if part.len() < whole.len() => (part, Omitted::More),
            _ => (whole, scanned.omitted.max(at_end)),
        };
        let first_comment = scanned.first_comment;
        Digest { hash: spooky::hash64(text, 0), text, first_comment, omitted }
    }
}

/// The text without blanks and semicolons at its end, and what that omits; a semicolon that is all
/// there is stays.
fn without_end(text: &[u8]) -> (&[u8], Omitted) {
    let mut text = trim_blanks(text);
    let mut semicolons = 0;
    while let [rest @ .., b';'] = text
        && !rest.is_empty()
    {
        text = trim_blanks(rest);
        semicolons += 1;
    }
    (text, if semicolons > 1 { Omitted::More } else { Omitted::Numbers })
}

fn trim_blanks(mut text: &[u8]) -> &[u8] {
    while let [rest @ .., b' '] = text {
        text = rest;
    }
    text
}

#[cfg(test)]
mod tests;
