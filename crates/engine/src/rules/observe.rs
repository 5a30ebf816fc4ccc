//! Watching an evaluation: what an explanation is made of, and nothing at all for traffic.

/// Is told of every rule that an evaluation looks at, in order.
///
/// Traffic uses `()`: nothing is called, nothing is computed for it. With one that watches, every
/// rule is looked at by its columns alone, without memo and without index, and hits are not
/// counted; the verdict is the same.
pub trait Observer {
    /// Whether it wants to be told.
    const WATCHES: bool;

    /// Whether the rules that match count it as a hit, if nobody watches.
    const COUNTS: bool = true;

    /// A rule was looked at.
    fn on_rule(&mut self, step: &RuleStep<'_>);

    /// A rule matched at this place, while nobody watches; the flag after it may be a matter of
    /// chance.
    #[inline]
    fn on_match(&mut self, _place: u32, _by_chance: bool) {}
}

impl Observer for () {
    const WATCHES: bool = false;

    fn on_rule(&mut self, _: &RuleStep<'_>) {}
}

/// One rule that an evaluation looked at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RuleStep<'a> {
    /// The rule.
    pub rule_id: i64,
    /// The chain's flag before it.
    pub flag_before: u32,
    /// The chain's flag after it.
    pub flag_after: u32,
    /// The first column that did not match; `None` when the rule matched.
    pub missed: Option<Condition>,
    /// The query text from here on, when the rule rewrote it.
    pub rewritten: Option<&'a [u8]>,
    /// The rule ended the evaluation.
    pub applied: bool,
    /// How often the rules were begun again before.
    pub iteration: u32,
}

/// A column that must match.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Condition {
    /// `flagIN`
    FlagIn,
    /// `username`
    Username,
    /// `schemaname`
    Schemaname,
    /// `client_addr`
    ClientAddr,
    /// `proxy_addr`
    ProxyAddr,
    /// `proxy_port`
    ProxyPort,
    /// `sni` in `attributes`
    ServerName,
    /// `digest`
    Digest,
    /// `match_digest`
    MatchDigest,
    /// `match_pattern`
    MatchPattern,
}

impl Condition {
    /// The column's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::FlagIn => "flagIN",
            Self::Username => "username",
            Self::Schemaname => "schemaname",
            Self::ClientAddr => "client_addr",
            Self::ProxyAddr => "proxy_addr",
            Self::ProxyPort => "proxy_port",
            Self::ServerName => "attributes.sni",
            Self::Digest => "digest",
            Self::MatchDigest => "match_digest",
            Self::MatchPattern => "match_pattern",
        }
    }
}
