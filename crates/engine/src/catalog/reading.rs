//! One reading of `information_schema`: what is asked, and what becomes of the rows.
//!
//! Definitions are read as they come; what they call is followed when all are there.

use std::collections::HashMap;

use sql::{Effects, Modes, Role};

use super::rows::{CELLS, CatalogRows, NoRows};
use super::{Catalog, Code, Numbered, OF_UNKNOWN_TABLE, key};

/// A question of a reading. All have four columns, and a limit, for sessions may have one that
/// holds where a statement has none; texts come as bytes, whatever the character set is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    /// Whether all triggers are seen: by the software, or by privileges.
    Sight,
    /// Tables, views and sequences.
    Tables,
    /// Queries of views.
    Views,
    /// Bodies of functions and procedures.
    Routines,
    /// Bodies of triggers.
    Triggers,
    /// Expressions of columns, and those that number rows.
    Columns,
}

/// All of them, in the order of asking.
pub const PARTS: [Part; 6] =
    [Part::Sight, Part::Tables, Part::Views, Part::Routines, Part::Triggers, Part::Columns];

impl Part {
    /// The part that a text asks for.
    pub fn asked_by(text: &[u8]) -> Option<Self> {
        let limited = text.strip_prefix(LIMIT[0].as_bytes()).and_then(|it| it.get(1..));
        let text = limited.and_then(|it| it.strip_prefix(LIMIT[1].as_bytes())).unwrap_or(text);
        PARTS.into_iter().find(|part| part.text().as_bytes() == text)
    }

    /// The question, which a server may answer for so many seconds, 9 at most; MySQL, which locks
    /// nothing of its dictionary, for as long as it likes.
    pub fn limited_text(self, limit_s: u32) -> String {
        let digit = char::from_digit(limit_s, 10).unwrap_or('9');
        format!("{}{digit}{}{}", LIMIT[0], LIMIT[1], self.text())
    }

    /// The question.
    pub const fn text(self) -> &'static str {
        match self {
            Self::Sight => SIGHT,
            Self::Tables => TABLES,
            Self::Views => VIEWS,
            Self::Routines => ROUTINES,
            Self::Triggers => TRIGGERS,
            Self::Columns => COLUMNS,
        }
    }
}

/// What has come of a reading.
#[derive(Debug, Default)]
pub struct Reading {
    rows: CatalogRows,
    /// Bytes of all answers so far.
    bytes: usize,
    failed: bool,
    /// The software shows all triggers.
    shows_triggers: bool,
    /// Schemas of which all triggers are seen, as patterns.
    seen: Vec<Vec<u8>>,
    relations: HashMap<u64, Code>,
    /// Tables of which not all triggers may be seen.
    unseen: Vec<u64>,
    functions: HashMap<u64, Effects>,
    procedures: HashMap<u64, Effects>,
    bodies: Vec<Body>,
    /// Columns that number the rows of tables, also where there are none.
    numbered: HashMap<u64, Vec<u64>>,
    /// Views, whose tables' rows may get numbers.
    views: Vec<u64>,
    /// Tables with triggers, which may give rows their numbers.
    triggered: Vec<u64>,
    /// Definitions that the account may not read.
    hidden: usize,
}

/// A definition.
#[derive(Debug)]
struct Body {
    of: Of,
    own: Effects,
    names: Box<[(u64, Role)]>,
}

/// What a definition belongs to.
#[derive(Clone, Copy, Debug)]
enum Of {
    View(u64),
    Function(u64),
    Procedure(u64),
    Trigger(u64),
    /// A value that a row gets.
    Default(u64),
    /// A value that is computed when it is read.
    Generated(u64),
}

impl Of {
    fn key(self) -> u64 {
        match self {
            Self::View(key)
            | Self::Function(key)
            | Self::Procedure(key)
            | Self::Trigger(key)
            | Self::Default(key)
            | Self::Generated(key) => key,
        }
    }
}

impl Reading {
    /// Bytes of the answer to a part.
    pub fn feed(&mut self, part: Part, bytes: &[u8], eof: bool) {
        self.bytes += bytes.len();
        if self.failed || self.bytes > BYTES_MAX {
            self.fail();
            return;
        }
        let mut rows = std::mem::take(&mut self.rows);
        let fed = rows.feed(bytes, eof, |cells| self.row(part, cells));
        self.rows = rows;
        if fed == Err(NoRows) {
            self.fail();
        }
    }

    /// The answer to a part is over.
    pub fn next(&mut self) {
        self.rows = CatalogRows::default();
    }

    /// Something was not told: what is missing may be anything.
    pub fn fail(&mut self) {
        *self = Self { failed: true, bytes: self.bytes, ..Self::default() };
    }

    /// What it came to; `None` where it failed.
    pub fn finish(mut self) -> Option<Catalog> {
        if self.failed {
            return None;
        }
        let unseen = std::mem::take(&mut self.unseen);
        for table in unseen.into_iter().filter(|_| !self.shows_triggers) {
            self.relations.entry(table).or_default().write.insert(OF_UNKNOWN_TABLE);
            self.triggered.push(table);
            self.hidden += 1;
        }
        let numbered = self.numbered();
        let Self { relations, functions, procedures, bodies, hidden, .. } = self;
        let callers = HashMap::new();
        let mut catalog = Catalog { relations, functions, procedures, numbered, callers, hidden };
        catalog.note_callers(&bodies);
        // each round adds an effect to one of them at least, and there are only so many
        while bodies.iter().fold(false, |changed, body| catalog.follow(body) | changed) {}
        Some(catalog)
    }

    /// What numbers the rows of each table. The parts are read one after another: a table that was
    /// not there when columns were is numbered by anything.
    fn numbered(&self) -> HashMap<u64, Numbered> {
        let unread = self.relations.keys().filter(|table| !self.numbered.contains_key(table));
        let any = self.views.iter().chain(unread);
        let mut numbered: HashMap<_, _> = any.map(|table| (*table, Numbered::Any)).collect();
        for (table, columns) in &self.numbered {
            let by = match columns.as_slice() {
                [] => continue,
                // of tables in several schemas: one may stand in a text that another is meant by
                [_, _, ..] => Numbered::Any,
                [_] if self.triggered.contains(table) => Numbered::Any,
                [column] => Numbered::By(*column),
            };
            numbered.entry(*table).or_insert(by);
        }
        numbered
    }

    fn row(&mut self, part: Part, cells: [Option<&[u8]>; CELLS]) {
        let [first, name, about, text] = cells.map(|cell| cell.unwrap_or_default());
        let is_null = cells.last().is_some_and(Option::is_none);
        let key = key(name);
        let modes = modes_in(about);
        match part {
            Part::Sight if first.is_empty() => {
                self.shows_triggers = name.windows(7).any(|w| w.eq_ignore_ascii_case(b"mariadb"));
            }
            Part::Sight => self.seen.push(first.to_vec()),
            Part::Tables => {
                self.relations.entry(key).or_default();
                if !self.seen.iter().any(|pattern| is_like(first, pattern)) {
                    self.unseen.push(key);
                }
            }
            Part::Views => {
                self.relations.entry(key).or_default();
                self.views.push(key);
                self.define(Of::View(key), text, Modes::default());
            }
            Part::Routines => {
                let text = if is_null { b"" } else { text };
                if first.eq_ignore_ascii_case(b"FUNCTION") {
                    self.functions.entry(key).or_default();
                    self.define(Of::Function(key), text, modes);
                } else {
                    self.procedures.entry(key).or_default();
                    self.define(Of::Procedure(key), text, modes);
                }
                // what is in a package is called by its name in front
                if first.to_ascii_uppercase().starts_with(b"PACKAGE") {
                    let any = Effects::ANY_STORED_CODE;
                    self.relations.insert(key, Code { read: any, write: any });
                }
            }
            Part::Triggers => {
                self.triggered.push(key);
                self.define(Of::Trigger(key), text, modes);
            }
            Part::Columns if first == b"NUMBER" => {
                let columns = self.numbered.entry(key).or_default();
                let column = super::key(text);
                if is_numbering(about) && !columns.contains(&column) {
                    columns.push(column);
                }
            }
            Part::Columns if first.is_empty() => self.define(Of::Default(key), text, modes),
            Part::Columns => self.define(Of::Generated(key), text, modes),
        }
    }

    /// An empty text is one that may not be read.
    fn define(&mut self, of: Of, text: &[u8], modes: Modes) {
        if text.is_empty() {
            let own = Effects::ANY_STORED_CODE;
            self.hidden += 1;
            return self.bodies.push(Body { of, own, names: Box::default() });
        }
        let blank = with_plain_blanks(text);
        let readings = || [Some(text), blank.as_deref()].into_iter().flatten();
        let mut names: Vec<_> = readings()
            .flat_map(|text| sql::names(text, modes))
            .map(|(name, role)| (key(name), role))
            .collect();
        names.sort_unstable_by_key(|(key, role)| (*key, *role as u8));
        names.dedup();
        let mut own =
            readings().fold(Effects::NONE, |own, text| own.union(sql::definition(text, modes)));
        if own.intersects(Effects::IMPLICIT_COMMIT) {
            own.insert(Effects::DEFINES);
        }
        let is_read = matches!(of, Of::View(_) | Of::Generated(_));
        if is_read && readings().any(|text| sql::varies(text, modes)) {
            own.insert(Effects::VARIES);
        }
        // what triggers met first, a MySQL keeps with the table, whoever comes
        if matches!(of, Of::Function(_) | Of::Procedure(_)) {
            own.insert(Effects::CALLS_CODE);
            if own.intersects(Effects::USER_VARIABLE) {
                own.insert(Effects::VARIABLE_IN_CODE);
            }
        }
        self.bodies.push(Body { of, own, names: names.into() });
    }
}

impl Catalog {
    /// Notes which of its names stand in which definitions.
    fn note_callers(&mut self, bodies: &[Body]) {
        let mut pairs: Vec<_> = Vec::new();
        for body in bodies {
            let names = body.names.iter().map(|(key, _)| *key);
            pairs.extend(names.filter(|key| self.has(*key)).map(|key| (key, body.of.key())));
        }
        pairs.sort_unstable();
        pairs.dedup();
        for of_one in pairs.chunk_by(|a, b| a.0 == b.0) {
            if let Some((key, _)) = of_one.first() {
                self.callers.insert(*key, of_one.iter().map(|(_, caller)| *caller).collect());
            }
        }
    }

    fn has(&self, key: u64) -> bool {
        self.relations.contains_key(&key)
            || self.functions.contains_key(&key)
            || self.procedures.contains_key(&key)
    }

    /// Adds what a definition does, by what is known of the names in it; whether that is news.
    fn follow(&mut self, body: &Body) -> bool {
        let writes = body.own.intersects(Effects::WRITES);
        let (mut reads, mut changes) = (body.own, body.own);
        for (key, role) in &body.names {
            let of_relation = self.relations.get(key).copied();
            let called = match role {
                Role::Table | Role::Call | Role::OwnCall | Role::DoubtfulCall => {
                    self.functions.get(key)
                }
                Role::Procedure => self.procedures.get(key),
                Role::Other => None,
            };
            let code = of_relation.unwrap_or_default();
            reads.insert(if writes { code.write } else { code.read });
            changes.insert(code.write);
            let is_of_server = matches!(role, Role::Other | Role::OwnCall | Role::DoubtfulCall);
            let is_hidden = !is_of_server && of_relation.is_none() && called.is_none();
            let called = match is_hidden {
                true => Effects::ANY_STORED_CODE,
                false => called.copied().unwrap_or_default(),
            };
            reads.insert(called);
            changes.insert(called);
        }
        let mut is_new = false;
        let mut add = |to: &mut Effects, more: Effects| {
            is_new |= !to.contains(more);
            to.insert(more);
        };
        match body.of {
            Of::View(key) | Of::Generated(key) => {
                let code = self.relations.entry(key).or_default();
                add(&mut code.read, reads);
                add(&mut code.write, changes);
            }
            Of::Trigger(key) | Of::Default(key) => {
                add(&mut self.relations.entry(key).or_default().write, reads);
            }
            Of::Function(key) => add(self.functions.entry(key).or_default(), reads),
            Of::Procedure(key) => add(self.procedures.entry(key).or_default(), reads),
        }
        is_new
    }
}

/// A definition with plain blanks where it has no-break ones: in some character sets that its
/// creator may have had, they are what stands between two words. `None` where it has none.
fn with_plain_blanks(text: &[u8]) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(text).ok()?;
    text.contains('\u{a0}').then(|| text.replace('\u{a0}', " ").into())
}

/// How a definition is read that was made under this `sql_mode`.
fn modes_in(sql_mode: &[u8]) -> Modes {
    let has = |mode: &[u8]| sql_mode.split(|byte| *byte == b',').any(|word| word == mode);
    Modes {
        no_backslash_escapes: has(b"NO_BACKSLASH_ESCAPES"),
        ansi_quotes: has(b"ANSI_QUOTES"),
        ..Modes::default()
    }
}

/// Whether what a server says besides of a column tells that it numbers rows.
fn is_numbering(extra: &[u8]) -> bool {
    const WORD: &[u8] = b"auto_increment";
    extra.windows(WORD.len()).any(|word| word.eq_ignore_ascii_case(WORD))
}

/// Whether a schema is one of those that a privilege is about: `%` at the end stands for anything,
/// elsewhere, and `_` without a backslash, only for itself.
fn is_like(schema: &[u8], pattern: &[u8]) -> bool {
    let plain: Vec<u8> = pattern.iter().copied().filter(|byte| *byte != b'\\').collect();
    match plain.strip_suffix(b"%") {
        Some(begin) => schema.get(..begin.len()).is_some_and(|s| s.eq_ignore_ascii_case(begin)),
        None => schema.eq_ignore_ascii_case(&plain),
    }
}

/// Bytes of a reading; a larger one is none.
const BYTES_MAX: usize = 64 << 20;

const SIGHT: &str = "SELECT '', VERSION(), '', '' \
    UNION ALL SELECT '%', '', '', '' FROM information_schema.USER_PRIVILEGES \
    WHERE PRIVILEGE_TYPE = 'TRIGGER' \
    AND GRANTEE = CONCAT('''', REPLACE(CURRENT_USER(), '@', '''@'''), '''') \
    UNION ALL SELECT TABLE_SCHEMA, '', '', '' FROM information_schema.SCHEMA_PRIVILEGES \
    WHERE PRIVILEGE_TYPE = 'TRIGGER' \
    AND GRANTEE = CONCAT('''', REPLACE(CURRENT_USER(), '@', '''@'''), '''') LIMIT 1000000";

/// A comment to MySQL.
const LIMIT: [&str; 2] = ["/*M! SET STATEMENT max_statement_time=", " FOR */ "];

const TABLES: &str = "SELECT CAST(TABLE_SCHEMA AS BINARY), CAST(TABLE_NAME AS BINARY), '', '' \
    FROM information_schema.TABLES WHERE TABLE_SCHEMA NOT IN \
    ('mysql', 'sys', 'performance_schema', 'information_schema') LIMIT 1000000";

const VIEWS: &str = "SELECT '', CAST(TABLE_NAME AS BINARY), '', CAST(VIEW_DEFINITION AS BINARY) \
    FROM information_schema.VIEWS WHERE TABLE_SCHEMA NOT IN \
    ('mysql', 'sys', 'performance_schema', 'information_schema') LIMIT 1000000";

const ROUTINES: &str = "SELECT ROUTINE_TYPE, CAST(ROUTINE_NAME AS BINARY), SQL_MODE, \
    IF(ROUTINE_BODY = 'EXTERNAL', NULL, CAST(ROUTINE_DEFINITION AS BINARY)) \
    FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA <> 'mysql' AND (ROUTINE_SCHEMA <> 'sys' \
    OR DEFINER NOT IN ('mysql.sys@localhost', 'mariadb.sys@localhost')) LIMIT 1000000";

const TRIGGERS: &str = "SELECT '', CAST(EVENT_OBJECT_TABLE AS BINARY), SQL_MODE, \
    CAST(ACTION_STATEMENT AS BINARY) FROM information_schema.TRIGGERS \
    WHERE TRIGGER_SCHEMA NOT IN ('mysql', 'sys') LIMIT 1000000";

/// MariaDB shows literals in quotes, MySQL marks expressions.
const COLUMNS: &str = "SELECT '', CAST(TABLE_NAME AS BINARY), '', CAST(COLUMN_DEFAULT AS BINARY) \
    FROM information_schema.COLUMNS WHERE COLUMN_DEFAULT LIKE '%(%' \
    AND COLUMN_DEFAULT NOT LIKE 'current_timestamp(%' \
    AND (EXTRA LIKE '%DEFAULT_GENERATED%' OR VERSION() LIKE '%MariaDB%') \
    AND TABLE_SCHEMA NOT IN ('mysql', 'sys', 'performance_schema', 'information_schema') \
    UNION ALL \
    SELECT 'GENERATED', CAST(TABLE_NAME AS BINARY), '', CAST(GENERATION_EXPRESSION AS BINARY) \
    FROM information_schema.COLUMNS WHERE LENGTH(GENERATION_EXPRESSION) > 0 \
    AND TABLE_SCHEMA NOT IN ('mysql', 'sys', 'performance_schema', 'information_schema') \
    UNION ALL SELECT 'NUMBER', CAST(TABLE_NAME AS BINARY), EXTRA, CAST(COLUMN_NAME AS BINARY) \
    FROM information_schema.COLUMNS WHERE (EXTRA LIKE '%auto_increment%' OR ORDINAL_POSITION = 1) \
    AND TABLE_SCHEMA NOT IN ('mysql', 'sys', 'performance_schema', 'information_schema') \
    LIMIT 1000000";
