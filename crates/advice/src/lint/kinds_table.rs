//! The kinds of findings: their names, which never change, and what each means.

/// Declares [`Kind`]: each variant with its name and its meaning.
macro_rules! kinds {
    ($($variant:ident = $name:literal, $meaning:literal;)*) => {
        /// What a finding is about.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum Kind {
            $(#[doc = $meaning] $variant,)*
        }

        impl Kind {
            /// Every kind.
            pub const ALL: &'static [Kind] = &[$(Kind::$variant),*];

            /// Its name, for programs; never changes.
            pub fn name(self) -> &'static str {
                match self { $(Kind::$variant => $name,)* }
            }

            /// What it means, in one sentence.
            pub fn meaning(self) -> &'static str {
                match self { $(Kind::$variant => $meaning,)* }
            }
        }
    };
}

kinds! {
    NoRuleActive = "no-rule-active",
        "There are rules, but `active` is 0 in all of them.";
    Duplicate = "duplicate-rule",
        "Two rules differ in nothing but their ids and comments.";
    Shadowed = "shadowed-rule",
        "An earlier rule takes every query that this one matches.";
    Overridden = "overridden-destination",
        "A later rule sends every query that this one matches elsewhere.";
    NoEffect = "rule-without-effect",
        "The rule neither decides anything nor ends the evaluation.";
    FlagNeverSet = "flag-never-set",
        "The rule waits for a flag that no active rule sets.";
    FlagSetTooLate = "flag-set-too-late",
        "Only rules with smaller ids take up the flag that this rule sets, and they have been passed.";
    FlagUnused = "flag-unused",
        "No rule and no fast routing row takes up the flag that this rule sets.";
    FlagAfterApply = "flag-after-apply",
        "The rule sets a flag, but with `apply` 1 no rule is looked at after it.";
    NoServers = "no-servers",
        "There is not a single server.";
    EmptyHostgroup = "hostgroup-without-servers",
        "Queries are sent to a hostgroup that has no servers.";
    UnusableHostgroup = "hostgroup-unusable",
        "Queries are sent to a hostgroup whose servers are all offline, shunned, or have weight 0 or \
         `max_connections` 0.";
    UnknownUser = "unknown-user",
        "The rule asks for a user that does not exist.";
    InactiveUser = "inactive-user",
        "The rule asks for a user that cannot log in.";
    SchemaCase = "schema-case",
        "The schema is spelled elsewhere with other capitals; names are compared exactly.";
    ClientAddress = "client-addr-never-matches",
        "`client_addr` is neither an address nor the beginning of one.";
    UnknownListener = "no-such-listener",
        "The rule asks for a local address or port that is not listened on.";
    NeverMatches = "pattern-never-matches",
        "No text matches the pattern.";
    AlwaysMatches = "pattern-always-matches",
        "Every text matches the pattern.";
    DigestNumber = "digest-number",
        "`match_digest` needs a number; in digests numbers are `?`.";
    DigestString = "digest-string",
        "`match_digest` needs a quoted text; in digests it is `?`.";
    DigestComment = "digest-comment",
        "`match_digest` needs a comment; digests have none.";
    DigestSpacing = "digest-spacing",
        "`match_digest` needs blanks that digests do not have.";
    DigestCapitals = "digest-capitals",
        "`match_digest` needs capitals, while `mysql-query_digests_lowercase` is true and the rule is \
         case-sensitive.";
    DigestDigits = "digest-digits",
        "`match_digest` needs digits in a name; digests have `?` there.";
    DigestImpossible = "digest-never-matches",
        "`match_digest` needs what no digest has.";
    DigestsOff = "digests-off",
        "Digests are switched off, so `digest` and `match_digest` match everything.";
    LikeWildcard = "like-wildcard",
        "The pattern has a `%` at an end, which is no wildcard in a regular expression.";
    Unescaped = "unescaped-sign",
        "A sign of SQL means something else in a regular expression and was not escaped.";
    Catastrophic = "catastrophic-pattern",
        "A repetition of a repetition, which takes an engine that backtracks exponential time.";
    SlowPath = "slow-path-pattern",
        "The pattern needs an engine that backtracks; it is bounded, but slow.";
    MemoDefeated = "memo-defeated",
        "`match_pattern` says what `match_digest` could say, so verdicts cannot be remembered.";
    NegateNothing = "negate-without-pattern",
        "`negate_match_pattern` is 1, but there is no pattern.";
    ReplaceNegated = "replace-negated",
        "`replace_pattern` replaces what `match_pattern` finds, but the rule matches when it finds nothing.";
    ErrorAndOk = "error-and-ok",
        "Both `error_msg` and `OK_msg` are set; only `OK_msg` is answered.";
    TimeoutZero = "timeout-zero",
        "A `timeout` of 0 is no timeout; the default applies.";
    DelayTimeout = "delay-beyond-timeout",
        "The query waits longer than it may take.";
    MirrorToItself = "mirror-to-itself",
        "The copy of a query goes where the query goes.";
    CacheOnWrite = "cache-on-write",
        "`cache_ttl` is set for statements that change data.";
    LockingReadMissed = "locking-read-missed",
        "A rule for locking reads misses some of their spellings, which go elsewhere.";
    LockingReadToReaders = "locking-read-to-readers",
        "Locking reads of users whose transactions may change hostgroup go where writes do not.";
    UnanchoredSelect = "unanchored-select",
        "A rule for reads also matches statements that write, as `INSERT … SELECT`.";
    WritesToReaders = "writes-to-readers",
        "Writes go to a hostgroup that other rules keep for reads.";
    FastRoutingUnreachable = "fast-routing-unreachable",
        "A rule with `apply` 1 takes every query that the fast routing row is for.";
    FastRoutingFlag = "fast-routing-flag",
        "The fast routing row waits for a flag that no active rule sets.";
}
