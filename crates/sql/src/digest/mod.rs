//! The normalised text of a query and its hash, equal to ProxySQL's for the same settings.
//!
//! One pass: [`scan`] cuts the query into words, marks and values, [`join`] decides which blanks
//! and signs between them stay, [`lists`] folds lists of values as they are written. None of them
//! understands SQL; what they do to valid and invalid texts was found by observation, corners
//! included, for operators' rules and dashboards know queries by these hashes.

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
        let whole = without_end(&self.out);
        let (text, omitted) = match whole.get(..options.max_digest_length) {
            Some(part) if part.len() < whole.len() => (part, Omitted::More),
            _ => (whole, scanned.omitted),
        };
        let first_comment = scanned.first_comment;
        Digest { hash: spooky::hash64(text, 0), text, first_comment, omitted }
    }
}

/// The text without blanks and a semicolon at its end; a semicolon alone stays.
fn without_end(text: &[u8]) -> &[u8] {
    let text = trim_blanks(text);
    match text {
        [rest @ .., b';'] if !rest.is_empty() => trim_blanks(rest),
        _ => text,
    }
}

fn trim_blanks(mut text: &[u8]) -> &[u8] {
    while let [rest @ .., b' '] = text {
        text = rest;
    }
    text
}

#[cfg(test)]
mod tests;
