//! What an answer depends on, as a key of the query cache, and what keeps one out of it.
//!
//! Everything that may change the bytes of a reply is in its key, or keeps the statement from the
//! cache. So every server of a hostgroup tells two sessions with one key the same.

use std::hash::{DefaultHasher, Hasher};

use cache::{About, Followed, Follows};
use sql::{Access, Facts, Modes, Verb};
use wire::Caps;

use crate::catalog::{How, Naming, table_key};
use crate::ids::HostgroupId;
use crate::link::{LinkState, read_part, write_part};
use crate::route::Route;
use crate::stats::Counters;
use crate::stmt::Text;

/// Why a statement is neither answered from the cache nor kept there, though a rule says so.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Uncached {
    /// It is no plain `SELECT`, or uses variables, locks or the like.
    Statement,
    /// It gives other values without any change of data.
    Varies,
    /// It reaches stored code that does more than read, or that nobody has read yet.
    Code,
    /// The session has a transaction, keeps a connection, reads what is not committed, or no server
    /// has seen its password.
    Session,
    /// It says how far behind its server may be.
    Freshness,
    /// Its execution has a cursor, several rows of parameters, or parameters sent ahead.
    Execution,
    /// It is to end with a change of its tables, and which they are is not known.
    Tables,
    /// Likewise, and changes are not seen at the moment.
    Unfollowed,
    /// Likewise, and the session has written what may not have been seen yet.
    OwnWrites,
}

impl Uncached {
    /// What it is called where it is told.
    pub fn name(self) -> &'static str {
        match self {
            Self::Statement => "statement",
            Self::Varies => "varies",
            Self::Code => "code",
            Self::Session => "session",
            Self::Freshness => "freshness",
            Self::Execution => "execution",
            Self::Tables => "tables",
            Self::Unfollowed => "unfollowed",
            Self::OwnWrites => "own_writes",
        }
    }

    /// The same in a sentence.
    pub fn reason(self) -> &'static str {
        match self {
            Self::Statement => "it is no plain SELECT, or uses variables, locks or the like",
            Self::Varies => "it calls what gives other values without a change of data",
            Self::Code => "it reaches stored code, or tables that have not been read yet",
            Self::Session => {
                "its session has a transaction, keeps a connection or reads uncommitted"
            }
            Self::Freshness => "it says how far behind its server may be",
            Self::Execution => "its execution has a cursor, or parameters in several parts",
            Self::Tables => "which tables it reads is not known",
            Self::Unfollowed => "the servers' binary logs are not followed at the moment",
            Self::OwnWrites => "its session has written what the logs may not have told of yet",
        }
    }

    /// Where it is counted.
    pub(crate) fn counter(self, stats: &mut Counters) -> &mut u64 {
        match self {
            Self::Statement => &mut stats.uncached_statement,
            Self::Varies => &mut stats.uncached_varies,
            Self::Code => &mut stats.uncached_code,
            Self::Session => &mut stats.uncached_session,
            Self::Freshness => &mut stats.uncached_freshness,
            Self::Execution => &mut stats.uncached_execution,
            Self::Tables => &mut stats.uncached_tables,
            Self::Unfollowed => &mut stats.uncached_unfollowed,
            Self::OwnWrites => &mut stats.uncached_own_writes,
        }
    }
}

/// Whose question it is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asker<'a> {
    /// Where it would be sent.
    pub hostgroup: HostgroupId,
    /// The account, as servers know it.
    pub account: &'a str,
    /// The client's address, where its server is told: privileges depend on it.
    pub client: Option<&'a str>,
    /// Capabilities that change what servers send.
    pub class: Caps,
    /// What its connection looks like.
    pub want: &'a LinkState,
}

/// What is asked.
#[derive(Clone, Copy)]
pub(crate) enum Question<'a> {
    /// By a text, as it is sent.
    Text(&'a [u8]),
    /// By executing a prepared one.
    Execution {
        /// What was prepared.
        text: &'a Text,
        /// Types of the parameters, two bytes each.
        types: &'a [u8],
        /// Which of them are `NULL`, and the values of the others.
        values: [&'a [u8]; 2],
    },
}

impl Question<'_> {
    /// Keys of all tables and views that it may read, for a session that wants `want`; `None` where
    /// that is not known.
    ///
    /// Each name of the text counts as one, in the session's schema and in the one that stands in
    /// front of it: to mistake a column for a table only ends an answer early.
    pub(crate) fn tables(&self, want: &LinkState) -> Option<Vec<u64>> {
        let (text, state, schema) = match self {
            Self::Text(text) => (*text, want, want.schema.as_ref()),
            Self::Execution { text, .. } => (&*text.text, &text.state, text.schema(want)),
        };
        tables_named(text, &How::of(state, Naming::Reads), schema.map(|schema| &**schema))
    }
}

/// Keys of all tables and views that the definition of a view in this schema may read; `None` where
/// they are too many, or of those that change without a word in the log.
pub fn tables_of_view(definition: &[u8], schema: &[u8]) -> Option<Vec<u64>> {
    let how = How { modes: Modes::default(), is_utf8: true, naming: Naming::Reads };
    tables_named(definition, &how, Some(schema))
}

/// Keys of what is named, in the schema of those who say nothing of it and in the one that stands
/// in front.
fn tables_named(text: &[u8], how: &How, schema: Option<&[u8]>) -> Option<Vec<u64>> {
    if schema.is_some_and(is_unlogged) {
        return None;
    }
    let (mut tables, mut before) = (Vec::new(), &b""[..]);
    let mut names = sql::names(text, how.modes);
    while let Some((name, _)) = names.next() {
        if how.is_foreign(name) || is_unlogged(name) || tables.len() >= TABLES_MAX {
            return None;
        }
        tables.extend(schema.map(|schema| table_key(schema, name)));
        if names.is_qualified() {
            tables.push(table_key(before, name));
        }
        before = name;
    }
    tables.sort_unstable();
    tables.dedup();
    Some(tables)
}

/// Whether a schema, or a table of it, may change without a word in the log.
fn is_unlogged(name: &[u8]) -> bool {
    name.eq_ignore_ascii_case(b"mysql")
}

/// What most texts name less of.
const TABLES_MAX: usize = 500;

/// What a session knows that the followed logs may not have told of yet: its own writes, and what
/// servers showed it past the cache.
#[derive(Default, Debug)]
pub(crate) struct SessionSeen {
    /// There was a write of its own since the pulse for those was set.
    is_new: bool,
    /// What has to be told of; most sessions have nothing to do with followed logs.
    untold: Option<Box<Untold>>,
}

/// A part of each session, whose size each look at one pays for.
const _: () = assert!(size_of::<SessionSeen>() <= 16);

/// What has to be passed before all that a session knows is known to have been told of.
#[derive(Default, Debug)]
struct Untold {
    /// Of its own writes.
    pulse: u64,
    /// Something was read past the cache since `past_us` was set.
    is_past: bool,
    /// A time by which all else was read that it read there; 0 for nothing.
    past_us: u64,
    /// Of what was read by then.
    past_pulse: u64,
}

impl SessionSeen {
    /// A command begins that may write, if it `changes` something.
    #[inline]
    pub(crate) fn note_if(&mut self, changes: bool) {
        self.is_new |= changes;
    }

    /// A session is told by a server what the cache might have told.
    pub(crate) fn note_past(&mut self) {
        self.untold.get_or_insert_default().is_past = true;
    }

    /// The pulse that has to be passed before all own writes have been told of, now that none runs.
    pub(crate) fn pulse(&mut self, follows: &Follows) -> u64 {
        if std::mem::take(&mut self.is_new) {
            self.untold.get_or_insert_default().pulse = follows.next_pulse();
        }
        self.untold.as_ref().map_or(0, |untold| untold.pulse)
    }

    /// Since when an answer must have been asked for so that it is no older than what was read past
    /// the cache, now that nothing is read; 0 where all that has been told of.
    pub(crate) fn until_us(&mut self, of: &Followed, follows: &Follows, now_us: u64) -> u64 {
        let Some(untold) = &mut self.untold else { return 0 };
        if std::mem::take(&mut untold.is_past) {
            (untold.past_us, untold.past_pulse) = (now_us, follows.next_pulse());
        }
        if of.has_passed(untold.past_pulse) { 0 } else { untold.past_us }
    }
}

/// Appends the key of a question. Text and account stand in front, for [`CachedOf`].
pub(crate) fn write_key(out: &mut Vec<u8>, asker: &Asker<'_>, question: &Question<'_>) {
    let (kind, text) = match question {
        Question::Text(text) => (TEXT, *text),
        Question::Execution { text, .. } => (EXECUTION, &*text.text),
    };
    write_part(out, text);
    write_part(out, asker.account.as_bytes());
    out.push(kind);
    out.extend_from_slice(&asker.hostgroup.0.to_le_bytes());
    out.extend_from_slice(&asker.class.0.to_le_bytes());
    write_part(out, asker.client.unwrap_or_default().as_bytes());
    asker.want.write_key(out);
    if let Question::Execution { text, types, values } = question {
        text.state.write_key(out);
        write_part(out, types);
        values.iter().for_each(|part| out.extend_from_slice(part));
    }
}

const TEXT: u8 = 0;
const EXECUTION: u8 = 1;

/// Whether a statement by itself is one that answers are kept of.
pub(crate) fn is_plain_read(facts: &Facts) -> bool {
    facts.verb == Verb::Select && facts.access == Access::Reads && facts.effects.is_empty()
}

/// Whether a statement says how far behind its server may be.
pub(crate) fn says_how_fresh(route: &Route) -> bool {
    route.freshness.is_some() || route.gtid_from_hostgroup.is_some()
}

/// Whether a text may give something else though no data has changed, with this schema.
pub(crate) fn varies(text: &[u8], modes: Modes, schema: Option<&[u8]>) -> bool {
    sql::varies(text, modes) || reads_of_server(text, modes, schema)
}

/// Whether a text may read what a server tells of itself, because its session has chosen that.
pub(crate) fn reads_of_server(text: &[u8], modes: Modes, schema: Option<&[u8]>) -> bool {
    schema.is_some_and(sql::is_of_the_server) && sql::names_bare_tables(text, modes)
}

/// Why a text is never answered from the cache, whoever sends it from this schema; `None` where it
/// is for the session and for what is stored in its servers to say.
pub fn never_cached(text: &[u8], schema: Option<&[u8]>, route: &Route) -> Option<Uncached> {
    let modes = Modes::default();
    if !is_plain_read(&sql::facts(text)) {
        Some(Uncached::Statement)
    } else if says_how_fresh(route) {
        Some(Uncached::Freshness)
    } else if varies(text, modes, schema) {
        Some(Uncached::Varies)
    } else {
        None
    }
}

/// What a server is known by that answers, and whose log is followed.
pub fn server_key(hostname: &str, port: u16) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(hostname.as_bytes());
    hasher.write_u16(port);
    hasher.finish().max(1)
}

/// Some answers of the cache.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CachedOf {
    /// Those of statements with this digest.
    Digest(u64),
    /// Those of an account, by its name at servers.
    User(String),
    /// Those whose text has this name as a word, in any case, in whatever schema.
    Table(String),
}

impl CachedOf {
    /// Whether an answer is among them, by its key and what else is known of it.
    pub fn has(&self, key: &[u8], about: &About) -> bool {
        let Some((text, rest)) = read_part(key) else { return false };
        match self {
            Self::Digest(digest) => about.digest == *digest,
            Self::User(user) => read_part(rest).is_some_and(|(name, _)| name == user.as_bytes()),
            Self::Table(table) => has_word(text, table.as_bytes()),
        }
    }
}

/// Whether a text has a word, in any case.
fn has_word(text: &[u8], word: &[u8]) -> bool {
    let is_of_word =
        |byte: &u8| byte.is_ascii_alphanumeric() || b"_$".contains(byte) || *byte > 127;
    let ends = |at: Option<&u8>| !at.is_some_and(is_of_word);
    let mut places = text.windows(word.len().max(1)).enumerate();
    places.any(|(at, found)| {
        found.eq_ignore_ascii_case(word)
            && ends(at.checked_sub(1).and_then(|before| text.get(before)))
            && ends(text.get(at + word.len()))
    })
}

#[cfg(test)]
mod key_tests;

#[cfg(test)]
mod tests;
