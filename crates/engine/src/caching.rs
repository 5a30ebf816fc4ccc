//! What an answer depends on, as a key of the query cache, and what keeps one out of it.
//!
//! Everything that may change the bytes of a reply is in its key, or keeps the statement from the
//! cache. So every server of a hostgroup tells two sessions with one key the same.

use cache::Follows;
use wire::Caps;

use crate::catalog::{How, Naming, table_key};
use crate::ids::HostgroupId;
use crate::link::{LinkState, write_part};
use crate::stats::Counters;
use crate::stmt::Text;

/// Why a statement is neither answered from the cache nor kept there, though a rule says so.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Uncached {
    /// It is no plain `SELECT`, or uses variables, locks or the like.
    Statement,
    /// It gives other values without any change of data.
    Varies,
    /// It reaches stored code that does more than read, or that nobody has read yet.
    Code,
    /// The session has a transaction, keeps a connection, or no server has seen its password.
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
    pub(crate) fn name(self) -> &'static str {
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
        values: &'a [u8],
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
        let how = How::of(state, Naming::Reads);
        let schema = schema.map(|schema| &**schema);
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
}

/// Whether a schema, or a table of it, may change without a word in the log.
fn is_unlogged(name: &[u8]) -> bool {
    name.eq_ignore_ascii_case(b"mysql")
}

/// What most texts name less of.
const TABLES_MAX: usize = 500;

/// Which of a session's writes the followed logs may not have told of yet.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct OwnWrites {
    /// There was one since `pulse` was set.
    is_new: bool,
    /// What has to be passed before the others are known to have been told of.
    pulse: u64,
}

impl OwnWrites {
    /// A command begins that may write, if it `changes` something.
    pub(crate) fn note_if(&mut self, changes: bool) {
        self.is_new |= changes;
    }

    /// The pulse that has to be passed before all of them have been told of, now that none runs.
    pub(crate) fn pulse(&mut self, follows: &Follows) -> u64 {
        if std::mem::take(&mut self.is_new) {
            self.pulse = follows.next_pulse();
        }
        self.pulse
    }
}

/// Appends the key of a question.
pub(crate) fn write_key(out: &mut Vec<u8>, asker: &Asker<'_>, question: &Question<'_>) {
    out.extend_from_slice(&asker.hostgroup.0.to_le_bytes());
    out.extend_from_slice(&asker.class.0.to_le_bytes());
    write_part(out, asker.account.as_bytes());
    write_part(out, asker.client.unwrap_or_default().as_bytes());
    asker.want.write_key(out);
    match question {
        Question::Text(text) => {
            out.push(TEXT);
            out.extend_from_slice(text);
        }
        Question::Execution { text, types, values } => {
            out.push(EXECUTION);
            text.state.write_key(out);
            write_part(out, &text.text);
            write_part(out, types);
            out.extend_from_slice(values);
        }
    }
}

const TEXT: u8 = 0;
const EXECUTION: u8 = 1;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::Charset;

    fn tables_for(charset: u16, text: &str, schema: Option<&str>) -> Option<Vec<u64>> {
        let schema = schema.map(|schema| schema.as_bytes().into());
        let want = LinkState::new(schema, Charset::Collation(charset));
        Question::Text(text.as_bytes()).tables(&want)
    }

    fn tables(text: &str, schema: Option<&str>) -> Option<Vec<u64>> {
        tables_for(45, text, schema)
    }

    #[test]
    fn whatever_a_text_may_read_is_among_its_tables() {
        let table = [
            ("SELECT a FROM items", "shop.items"),
            ("SELECT a FROM Items AS i", "SHOP.items"),
            ("SELECT a FROM stock . `items` i", "stock.items"),
            ("SELECT a FROM x, stock.items", "stock.items"),
            ("SELECT a FROM x LEFT JOIN (y, items) ON 1", "shop.items"),
            ("SELECT a FROM {OJ x LEFT JOIN items ON 1}", "shop.items"),
            (
                "SELECT a FROM x WHERE b IN (SELECT 1 FROM y WHERE EXISTS (TABLE items))",
                "shop.items",
            ),
            (
                "WITH c AS (SELECT 1 FROM items), d AS (SELECT 2 FROM c) SELECT 3 FROM d",
                "shop.items",
            ),
            ("SELECT 1 FROM x UNION ALL (SELECT 2 FROM stock.items ORDER BY 1)", "stock.items"),
            ("SELECT a FROM .items", "shop.items"),
            ("SELECT `it``ems`.a FROM `it``ems`", "shop.items"),
        ];
        for (text, named) in table {
            let (schema, name) = named.split_once('.').unwrap();
            let found = tables(text, Some("shop")).unwrap();
            assert!(found.contains(&table_key(schema.as_bytes(), name.as_bytes())), "{text}");
            assert!(!found.contains(&table_key(b"other", b"items")), "{text}");
        }
        assert!(tables("SELECT a FROM stock.items", None).unwrap().len() < 4);
    }

    #[test]
    fn what_changes_without_a_word_or_cannot_be_named_has_no_known_tables() {
        assert_eq!(tables("SELECT user FROM mysql.user", Some("shop")), None);
        assert_eq!(tables("SELECT user FROM user", Some("MySQL")), None);
        let many: Vec<_> = (0..=TABLES_MAX).map(|n| format!("t{n}")).collect();
        assert_eq!(tables(&format!("SELECT 1 FROM {}", many.join(", ")), Some("shop")), None);
        assert!(tables("SELECT 1 FROM größe", Some("shop")).is_some());
        assert_eq!(tables_for(8, "SELECT 1 FROM größe", Some("shop")), None, "in latin1");
    }

    #[test]
    fn own_writes_wait_for_a_pulse_that_begins_after_them() {
        let follows = Follows::default();
        let followed = follows.of(1);
        let mut writes = OwnWrites::default();
        assert!(followed.has_passed(writes.pulse(&follows)));
        writes.note_if(true);
        let before = followed.begin_pulse();
        assert!(!followed.has_passed(writes.pulse(&follows)));
        followed.passed(before);
        assert!(!followed.has_passed(writes.pulse(&follows)), "it began before the write ended");
        writes.note_if(false);
        followed.passed(followed.begin_pulse());
        assert!(followed.has_passed(writes.pulse(&follows)));
    }
}
