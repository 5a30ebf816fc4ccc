//! What rules look at.

use sql::{Digest, Omitted};

/// One query, as rules see it.
#[derive(Clone, Copy, Debug)]
pub struct RuleInput<'a> {
    /// Client's user name.
    pub username: &'a [u8],
    /// Session's current schema; empty for none.
    pub schemaname: &'a [u8],
    /// Client's address without its port, `localhost` for a Unix socket; empty when it is not
    /// known, and then no rule asks for it.
    pub client_addr: &'a [u8],
    /// Local address the client connected to; empty when it is not known, and then no rule asks
    /// for it.
    pub proxy_addr: &'a [u8],
    /// Local port the client connected to; 0 for a Unix socket.
    pub proxy_port: u16,
    /// The host by which the client called in TLS (SNI); empty for none.
    pub server_name: &'a [u8],
    /// The flag that the chain begins with.
    pub flag_in: u32,
    /// Query text; of an execute, the text that was prepared.
    pub text: &'a [u8],
    /// `None` when digests are off; then `digest` and `match_digest` match anything.
    pub digest: Option<DigestRef<'a>>,
    /// A prepared statement is executed: its text is never rewritten.
    pub execute: bool,
    /// A random number, for flags that are chosen by weight.
    pub random: u64,
}

/// A query's digest: its normalised text and the hash of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DigestRef<'a> {
    /// The hash, as `stats_mysql_query_digest.digest` shows it.
    pub hash: u64,
    /// The text.
    pub text: &'a [u8],
    /// What of the query it does not show.
    pub omitted: Omitted,
}

impl<'a> From<Digest<'a>> for DigestRef<'a> {
    fn from(digest: Digest<'a>) -> Self {
        Self { hash: digest.hash, text: digest.text, omitted: digest.omitted }
    }
}
