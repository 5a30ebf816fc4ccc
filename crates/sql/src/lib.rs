//! SQL text to facts: what a proxy must know of a statement, without understanding all of SQL.
//!
//! [`facts`] answers in one pass which kind of statement a text is and what it may leave behind on
//! a connection. [`parse_set`] reads the assignments of a `SET` that may be replayed on another
//! connection. [`names`] and [`definition`] say what stored code a text may reach, and what that
//! does. [`as_run()`] writes a text as servers run it. [`Results`] puts in what the statement
//! before came to. [`lexer`] cuts text into tokens for these and for query digests.
//!
//! Everything here is conservative: where the server's version, mode or character set decides how
//! a text is read, an effect is reported rather than left out. The crate knows no connection, no
//! session and no rule; it never keeps bytes and never fails.
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

mod access;
mod as_run;
mod blocks;
mod calls;
mod calls_table;
mod command_class;
mod cursor;
mod definition;
mod diagnostics;
mod digest;
mod effects;
mod facts;
mod halves;
mod high_bytes;
mod hints;
mod insert;
mod keyword;
mod keyword_table;
mod kill;
mod kinds_table;
mod known_facts;
pub mod lexer;
mod names;
mod objects;
mod parameters;
mod reader;
mod results;
mod run_texts;
mod set;
pub mod spooky;
mod statement;
mod user_variables;
mod varying;
mod verb;

pub use access::Access;
pub use as_run::{Version, Versions, as_run, may_deceive, may_have_dollars};
pub use calls::{has_word, is_native, only_computes};
pub use command_class::{CommandClass, command_class};
pub use definition::definition;
pub use diagnostics::{Asked, DiagnosticsAsked, gets_diagnostics, parse_diagnostics_asked};
pub use digest::{Digest, DigestOptions, Digester, Omitted};
pub use effects::Effects;
pub use facts::{
    Facts, facts, facts_in, is_read_only, is_repeatable, may_kill, parse_use, parse_use_in,
    sets_reading,
};
pub use halves::without_halves;
pub use high_bytes::HighBytes;
pub use hints::{Hints, parse_hints};
pub use insert::{Given, Insert, parse_insert};
pub use kill::{KillOperand, KillStatement, Killed, parse_kill};
pub use known_facts::{KnownFacts, Reach};
pub use names::{Names, Role, names, names_objects};
pub use objects::{
    LockCall, TableName, ends_xa, parse_create_temporary, parse_drop_schema, parse_drop_tables,
    parse_lock_call,
};
pub use parameters::{count_parameters, put_parameters};
pub use results::Results;
pub use run_texts::{KnownVariables, RunTexts, may_run_parameters, run_texts};
pub use set::value::{Read, quote};
pub use set::{
    Assignment, IsolationLevel, SetStatement, SetValue, ValueKind, parse_set, parse_set_in,
};
pub use user_variables::user_variables;
pub use varying::{is_of_the_server, names_bare_tables, varies};
pub use verb::Verb;

/// How the session reads text; the default is a server's default.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Modes {
    /// `NO_BACKSLASH_ESCAPES` is in `sql_mode`: a backslash in a string is itself.
    pub no_backslash_escapes: bool,
    /// `ANSI_QUOTES` is in `sql_mode`: `"x"` is an identifier.
    pub ansi_quotes: bool,
    /// What bytes from 0x80 up are in the client's character set.
    pub high_bytes: HighBytes,
}

impl Modes {
    /// Whether a text is read as by a server's default modes.
    #[inline]
    pub fn read_as_default(self, text: &[u8]) -> bool {
        self == Self::default() || self.reads_alike(text)
    }

    fn reads_alike(self, text: &[u8]) -> bool {
        let names = self.ansi_quotes && text.contains(&b'"');
        let itself = self.no_backslash_escapes && text.contains(&b'\\');
        !(names || itself) && self.high_bytes.are_letters_in(text)
    }

    /// Every way in which a text may be read.
    pub fn all() -> impl Iterator<Item = Self> {
        let flags = [(false, false), (false, true), (true, false), (true, true)];
        flags.into_iter().flat_map(|(no_backslash_escapes, ansi_quotes)| {
            HighBytes::ALL.map(|high_bytes| Self { no_backslash_escapes, ansi_quotes, high_bytes })
        })
    }

    /// A way for each in which this text may be read.
    pub fn all_in(text: &[u8]) -> impl Iterator<Item = Self> {
        let (quotes, escapes) = (text.contains(&b'"'), text.contains(&b'\\'));
        let is_ascii = text.is_ascii();
        Self::all().filter(move |modes| {
            (quotes || !modes.ansi_quotes)
                && (escapes || !modes.no_backslash_escapes)
                && (!is_ascii || modes.high_bytes == HighBytes::default())
        })
    }

    /// Whether it makes a difference to a text in which of [`Modes::all`] it is read.
    pub fn matter_to(text: &[u8]) -> bool {
        memchr::memchr2(b'"', b'\\', text).is_some() || !text.is_ascii()
    }
}
