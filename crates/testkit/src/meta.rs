//! What a simulated client writes into its statements: who it is, which statement this is, what
//! its connection must look like when it arrives, and what the answer shall be.
//!
//! Knows no bytes of the protocol. A [`Meta`] travels as words: in a comment of a text, or as the
//! first parameter of a prepared statement.

use std::fmt;

/// What kind of answer a statement asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AnswerKind {
    /// Rows.
    Rows,
    /// Some rows, then an error.
    Break,
    /// OK, once: running it twice is wrong.
    Write,
    /// Rows, once; nothing tells the insert id that is made.
    Returning,
    /// OK.
    Plain,
    /// OK, then an error: two statements in one text.
    Half,
    /// OK, and the transaction is over.
    End,
    /// An error.
    Refuse,
    /// An error that ends the transaction.
    Deadlock,
    /// A request for a file, then OK.
    File,
    /// A prepared statement's text: what its executions say counts.
    Prepare,
    /// The warnings of the statement before.
    Diagnostics,
}

const KINDS: [(AnswerKind, &str); 12] = [
    (AnswerKind::Rows, "rows"),
    (AnswerKind::Break, "break"),
    (AnswerKind::Write, "write"),
    (AnswerKind::Returning, "returning"),
    (AnswerKind::Plain, "plain"),
    (AnswerKind::Half, "half"),
    (AnswerKind::End, "end"),
    (AnswerKind::Refuse, "refuse"),
    (AnswerKind::Deadlock, "deadlock"),
    (AnswerKind::File, "file"),
    (AnswerKind::Prepare, "prepare"),
    (AnswerKind::Diagnostics, "diagnostics"),
];

/// What is to be answered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shape {
    /// Which kind.
    pub kind: AnswerKind,
    /// Rows in each result; for what writes, none when it makes no insert id.
    pub rows: u32,
    /// Filling of each row, or length of the file, in bytes.
    pub width: u32,
    /// Results.
    pub results: u32,
    /// Warnings.
    pub warnings: u16,
}

impl Shape {
    /// A shape without rows.
    pub fn of(kind: AnswerKind) -> Self {
        Self { kind, rows: 0, width: 0, results: 1, warnings: 0 }
    }
}

/// What the connection must look like for a statement.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Bearing {
    /// The account.
    pub user: String,
    /// The schema; empty for none.
    pub schema: String,
    /// The collation of the client's character set.
    pub collation: u16,
    /// Autocommit.
    pub autocommit: bool,
    /// Variables that were set, as [`Settings`](crate::settings::Settings) are shown.
    pub settings: String,
    /// The session's transaction; 0 for none.
    pub transaction: u32,
    /// What ties the session to its connection; 0 for nothing.
    pub pin: u32,
}

/// What a connection was when a statement was prepared on it, as far as that says what the
/// statement means.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Home {
    /// The schema; empty for none.
    pub schema: String,
    /// The collation of the client's character set.
    pub collation: u16,
    /// Variables that were set.
    pub settings: String,
}

impl Home {
    /// The same without variables by which no text is read: what a statement means on a connection
    /// whose session has settings there that nobody was told of.
    pub fn as_read(&self) -> Self {
        let is_read_by = |setting: &&str| setting.starts_with("sql_mode:");
        let settings = self.settings.split('|').filter(is_read_by).collect::<String>();
        Self { settings: format!("~{settings}"), ..self.clone() }
    }
}

impl fmt::Display for Home {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { schema, collation, settings } = self;
        write!(f, "{schema}/{collation}/{settings}")
    }
}

/// What the statement before came to, as a session may ask for it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Counts {
    /// `FOUND_ROWS()`; `None` where that is an earlier statement's.
    pub found: Option<u64>,
    /// `ROW_COUNT()`.
    pub affected: i64,
}

/// A statement's words.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Meta {
    /// The session.
    pub tag: u32,
    /// The statement within the session.
    pub number: u32,
    /// What must hold.
    pub bearing: Bearing,
    /// The statement opens that transaction.
    pub opens: bool,
    /// The statement makes that pin.
    pub pins: bool,
    /// The last insert id that the statement asks for.
    pub insert_id: Option<u64>,
    /// The statement whose warnings it asks for; 0 for none.
    pub warned: u32,
    /// What the statement before came to, which it asks for.
    pub counts: Option<Counts>,
    /// The answer.
    pub shape: Shape,
}

impl fmt::Display for Meta {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { tag, number, bearing, shape, .. } = self;
        let Bearing { user, schema, collation, transaction, pin, .. } = bearing;
        let kind = KINDS.iter().find(|(kind, _)| *kind == shape.kind).map_or("", |(_, name)| name);
        write!(
            f,
            "s{tag} q{number} u={user} db={schema} cs={collation} ac={} tx={transaction} op={} \
             pin={pin} pop={} lid={} sw={} k={kind} r={} w={} n={} wa={} st={}",
            u8::from(bearing.autocommit),
            u8::from(self.opens),
            u8::from(self.pins),
            self.insert_id.map_or(-1, |id| id as i64),
            self.warned,
            shape.rows,
            shape.width,
            shape.results,
            shape.warnings,
            bearing.settings,
        )?;
        let Some(counts) = self.counts else { return Ok(()) };
        let found = counts.found.map_or(-1, |found| found as i64);
        write!(f, " fr={found} rc={}", counts.affected)
    }
}

impl Meta {
    /// The words in a text's comment.
    pub fn in_text(text: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(text).ok()?;
        let (_, rest) = text.split_once("/*")?;
        let comment = rest.split_once("*/")?.0;
        // annotations stand before the words
        Self::parse(comment.rsplit_once(';').map_or(comment, |(_, words)| words))
    }

    /// The words as they are.
    pub fn parse(words: &str) -> Option<Self> {
        let mut fields = words.split(' ');
        let tag = fields.next()?.strip_prefix('s')?.parse().ok()?;
        let number = fields.next()?.strip_prefix('q')?.parse().ok()?;
        let mut next = |name: &str| fields.next()?.split_once('=').filter(|f| f.0 == name);
        let mut word = |name| next(name).map(|(_, value)| value);
        let bearing = Bearing {
            user: word("u")?.into(),
            schema: word("db")?.into(),
            collation: word("cs")?.parse().ok()?,
            autocommit: word("ac")? == "1",
            settings: String::new(),
            transaction: word("tx")?.parse().ok()?,
            pin: 0,
        };
        let opens = word("op")? == "1";
        let pin = word("pin")?.parse().ok()?;
        let pins = word("pop")? == "1";
        let insert_id: i64 = word("lid")?.parse().ok()?;
        let warned = word("sw")?.parse().ok()?;
        let kind = word("k")?;
        let shape = Shape {
            kind: KINDS.iter().find(|(_, name)| *name == kind)?.0,
            rows: word("r")?.parse().ok()?,
            width: word("w")?.parse().ok()?,
            results: word("n")?.parse().ok()?,
            warnings: word("wa")?.parse().ok()?,
        };
        let settings = word("st").unwrap_or("-").into();
        let found = word("fr").and_then(|found| found.parse::<i64>().ok());
        let affected = word("rc").and_then(|affected| affected.parse().ok());
        let counts = found.zip(affected).map(|(found, affected)| {
            let found = u64::try_from(found).ok();
            Counts { found, affected }
        });
        Some(Self {
            tag,
            number,
            bearing: Bearing { settings, pin, ..bearing },
            opens,
            pins,
            insert_id: u64::try_from(insert_id).ok(),
            warned,
            counts,
            shape,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_come_back_as_they_were() {
        let meta = Meta {
            tag: 17,
            number: 4,
            bearing: Bearing {
                user: "ann".into(),
                schema: String::new(),
                collation: 45,
                autocommit: false,
                settings: "@a:5|sql_mode:|".into(),
                transaction: 2,
                pin: 3,
            },
            opens: true,
            pins: false,
            insert_id: Some(9),
            warned: 1,
            counts: Some(Counts { found: None, affected: -1 }),
            shape: Shape { kind: AnswerKind::Break, rows: 5, width: 70, results: 2, warnings: 1 },
        };
        assert_eq!(Meta::in_text(format!("SELECT /*{meta}*/ 1").as_bytes()), Some(meta));
        assert_eq!(Meta::in_text(b"SELECT 1"), None);
    }
}
