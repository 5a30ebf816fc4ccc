//! What there is to know of a column and of a table, as data.
//!
//! What a value may be beyond its shape is judged where the rows are compiled.

use super::Cell;

/// One table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Table {
    /// Its name, without schema.
    pub name: &'static str,
    /// One sentence on what its rows are.
    pub doc: &'static str,
    /// Its name in `proxysql.cnf`.
    pub section: &'static str,
    /// Columns in order; people insert without naming them.
    pub columns: &'static [Column],
    /// Columns of the primary key; empty for none.
    pub key: &'static [&'static str],
    /// Further columns, or lists of them, that are unique.
    pub unique: &'static [&'static str],
    /// Whether the key counts itself.
    pub numbered: bool,
    /// What becomes of its rows.
    pub used: Use,
}

/// What becomes of the rows of a table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Use {
    /// They are part of a draft, and so of what decides about queries.
    Drafted,
    /// They name programs that the process runs.
    Programs,
    /// They are kept, and nothing in this version acts on them.
    Nothing,
}

/// One column.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Column {
    /// Its name.
    pub name: &'static str,
    /// Its declared type; SQLite enforces none.
    pub kind: &'static str,
    /// Whether NULL is allowed.
    pub null: bool,
    /// Default as an SQL expression; empty for none.
    pub default: &'static str,
    /// Condition that values must meet, as an SQL expression; empty for none.
    pub check: &'static str,
    /// What values look like in files.
    pub shape: Shape,
    /// Other names that files may call it by.
    pub aliases: &'static [&'static str],
    /// Whether files have to say it.
    pub needed: bool,
    /// Whether files are written with it even where it is the default.
    pub always_written: bool,
    /// Whether its values are passwords, which only administrators see.
    pub secret: bool,
    /// Whether anything looks at it.
    pub acts: Acts,
    /// Members of the JSON it holds that something looks at; `None` for a column without.
    pub members: Option<&'static [&'static str]>,
    /// What is saved of it when what is in force replaces what is edited.
    pub saved: Saved,
}

/// What the values of a column look like in files.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shape {
    /// A whole number.
    Int,
    /// 0 or 1, also written as `false` or `true`.
    Flag,
    /// Text.
    Text,
    /// Text whose bytes are taken, or hexadecimal digits under the name with `_hex`.
    Bytes,
}

/// Whether anything looks at a column.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Acts {
    /// Something does.
    Yes,
    /// Nothing in this version does; an operator is told of values.
    NotYet,
    /// Nothing ever will, as in ProxySQL: nobody waits for it.
    Never,
}

/// What is saved of a column when what is in force replaces what is edited.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Saved {
    /// The value.
    Value,
    /// In place of the first, which is passing, the second.
    Instead(&'static str, &'static str),
    /// The value; rows that are not in force stay, with 0.
    ZeroInOthers,
}

impl Table {
    /// The position of a column.
    pub fn position(&self, column: &str) -> Option<usize> {
        self.columns.iter().position(|found| found.name.eq_ignore_ascii_case(column))
    }

    pub(super) const fn key(mut self, key: &'static [&'static str]) -> Self {
        self.key = key;
        self
    }

    pub(super) const fn unique(mut self, unique: &'static [&'static str]) -> Self {
        self.unique = unique;
        self
    }

    pub(super) const fn numbered(mut self) -> Self {
        self.numbered = true;
        self
    }

    pub(super) const fn section(mut self, section: &'static str) -> Self {
        self.section = section;
        self
    }

    pub(super) const fn drafted(mut self) -> Self {
        self.used = Use::Drafted;
        self
    }

    pub(super) const fn programs(mut self) -> Self {
        self.used = Use::Programs;
        self
    }

    pub(super) const fn columns(mut self, columns: &'static [Column]) -> Self {
        self.columns = columns;
        self
    }
}

impl Column {
    /// A column that nobody configures.
    pub const fn shown(
        name: &'static str,
        kind: &'static str,
        null: bool,
        default: &'static str,
        check: &'static str,
    ) -> Self {
        Self { kind, null, default, check, ..text(name) }
    }

    /// What it is in a row that does not say it.
    pub fn initial(&self) -> Cell {
        let literal = self.default.trim_matches(['(', ')']);
        match literal.parse() {
            Ok(number) => Cell::Int(number),
            Err(_) if literal.is_empty() => Cell::Null,
            Err(_) => Cell::Text(literal.trim_matches('\'').to_owned()),
        }
    }

    /// Whether it holds numbers.
    pub fn is_number(&self) -> bool {
        matches!(self.shape, Shape::Int | Shape::Flag)
    }

    /// Whether a file calls it by that name.
    pub fn is_called(&self, name: &str) -> bool {
        self.name == name || self.aliases.contains(&name) || self.is_called_in_hex(name)
    }

    /// Whether a file that calls it by that name has hexadecimal digits.
    pub fn is_called_in_hex(&self, name: &str) -> bool {
        self.shape == Shape::Bytes && name.strip_suffix("_hex") == Some(self.name)
    }

    pub(super) const fn kind(mut self, kind: &'static str) -> Self {
        self.kind = kind;
        self
    }

    pub(super) const fn null(mut self) -> Self {
        self.null = true;
        self.needed = false;
        self
    }

    pub(super) const fn default(mut self, default: &'static str) -> Self {
        self.default = default;
        self.needed = false;
        self
    }

    pub(super) const fn check(mut self, check: &'static str) -> Self {
        self.check = check;
        self
    }

    pub(super) const fn also(mut self, aliases: &'static [&'static str]) -> Self {
        self.aliases = aliases;
        self
    }

    pub(super) const fn needed(mut self) -> Self {
        self.needed = true;
        self
    }

    pub(super) const fn not_needed(mut self) -> Self {
        self.needed = false;
        self
    }

    pub(super) const fn always_written(mut self) -> Self {
        self.always_written = true;
        self
    }

    pub(super) const fn secret(mut self) -> Self {
        self.secret = true;
        self
    }

    pub(super) const fn not_yet(mut self) -> Self {
        self.acts = Acts::NotYet;
        self
    }

    pub(super) const fn never(mut self) -> Self {
        self.acts = Acts::Never;
        self
    }

    pub(super) const fn members(mut self, members: &'static [&'static str]) -> Self {
        self.members = Some(members);
        self
    }

    pub(super) const fn saved(mut self, saved: Saved) -> Self {
        self.saved = saved;
        self
    }
}

pub(super) const fn table(name: &'static str, doc: &'static str) -> Table {
    Table {
        name,
        doc,
        section: name,
        columns: &[],
        key: &[],
        unique: &[],
        numbered: false,
        used: Use::Nothing,
    }
}

pub(super) const fn int(name: &'static str) -> Column {
    Column { kind: "INT", shape: Shape::Int, ..text(name) }
}

pub(super) const fn flag(name: &'static str) -> Column {
    Column { shape: Shape::Flag, ..int(name) }
}

pub(super) const fn bytes(name: &'static str) -> Column {
    Column { shape: Shape::Bytes, ..text(name) }
}

pub(super) const fn text(name: &'static str) -> Column {
    Column {
        name,
        kind: "VARCHAR",
        null: false,
        default: "",
        check: "",
        shape: Shape::Text,
        aliases: &[],
        needed: true,
        always_written: false,
        secret: false,
        acts: Acts::Yes,
        members: None,
        saved: Saved::Value,
    }
}
