//! The rows of a result, kept whole until the client has taken them.
//!
//! A statement runs to its end before its first row is sent: so no lock outlives it, and the type
//! of every column is known although SQLite types values and not columns. The values lie packed
//! in one buffer; `encode` makes packets of them bit by bit.

use rusqlite::types::ValueRef;
use wire::reply::ColumnKind;

use crate::types::{self, ColumnType};

/// The rows of one result.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Rows {
    /// The columns.
    pub(crate) columns: Vec<Column>,
    /// How many rows there are.
    pub(crate) count: u64,
    cells: Vec<u8>,
}

/// One column and what was seen in it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Column {
    /// The name the client sees.
    pub(crate) name: String,
    declared: Option<ColumnType>,
    seen: u8,
}

/// One value.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Cell<'a> {
    /// NULL.
    Null,
    /// An integer.
    Integer(i64),
    /// A floating-point number.
    Real(f64),
    /// Text or bytes.
    Bytes(&'a [u8]),
}

const INTEGER: u8 = 1;
const REAL: u8 = 2;
const TEXT: u8 = 4;
const BLOB: u8 = 8;
/// An integer that the declared type cannot hold, or a text that is no date.
const MISFIT: u8 = 16;

impl Column {
    /// A column whose declaration is `declaration`, if it is one of a table.
    pub(crate) fn new(name: String, declaration: Option<&str>) -> Self {
        Self { name, declared: declaration.and_then(types::declared), seen: 0 }
    }

    /// The type that holds for every value seen.
    pub(crate) fn settled(&self) -> ColumnType {
        let by_values = match self.seen {
            0 => return self.declared.unwrap_or(ColumnType::TEXT),
            seen if seen & BLOB != 0 => ColumnType::BYTES,
            seen if seen & TEXT != 0 => ColumnType::TEXT,
            seen if seen & REAL != 0 => ColumnType::DOUBLE,
            _ => ColumnType::INTEGER,
        };
        let Some(declared) = self.declared else { return by_values };
        let allowed = if declared.is_integer() {
            INTEGER
        } else if declared.is_temporal() {
            TEXT
        } else {
            match declared.kind {
                ColumnKind::FLOAT | ColumnKind::DOUBLE | ColumnKind::NEWDECIMAL => INTEGER | REAL,
                _ if declared.binary => TEXT | BLOB,
                _ => TEXT,
            }
        };
        if self.seen & !allowed == 0 { declared } else { by_values }
    }

    fn see(&mut self, value: ValueRef<'_>) {
        self.seen |= match value {
            ValueRef::Null => 0,
            ValueRef::Integer(number) if self.declared.is_some_and(|t| !t.fits(number)) => {
                INTEGER | MISFIT
            }
            ValueRef::Integer(_) => INTEGER,
            ValueRef::Real(_) => REAL,
            ValueRef::Text(text) if !self.is_date(text) => TEXT | MISFIT,
            ValueRef::Text(_) => TEXT,
            ValueRef::Blob(_) => BLOB,
        };
    }

    /// Whether a text is of the declared kind of date; true when none is declared.
    fn is_date(&self, text: &[u8]) -> bool {
        let Some(declared) = self.declared.filter(|t| t.is_temporal()) else { return true };
        let Ok(text) = std::str::from_utf8(text) else { return false };
        match declared.kind {
            ColumnKind::TIME => types::parse_time(text).is_some(),
            _ => types::parse_datetime(text).is_some(),
        }
    }
}

impl Rows {
    /// No rows yet.
    pub(crate) fn new(columns: Vec<Column>) -> Self {
        Self { columns, count: 0, cells: Vec::new() }
    }

    /// Adds a value of the column at `index`.
    pub(crate) fn push(&mut self, index: usize, value: ValueRef<'_>) {
        if let Some(column) = self.columns.get_mut(index) {
            column.see(value);
        }
        match value {
            ValueRef::Null => self.cells.push(0),
            ValueRef::Integer(number) => {
                self.cells.push(1);
                self.cells.extend_from_slice(&number.to_le_bytes());
            }
            ValueRef::Real(number) => {
                self.cells.push(2);
                self.cells.extend_from_slice(&number.to_le_bytes());
            }
            ValueRef::Text(bytes) | ValueRef::Blob(bytes) => {
                self.cells.push(3);
                self.cells.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
                self.cells.extend_from_slice(bytes);
            }
        }
    }

    /// Bytes held.
    pub(crate) fn bytes(&self) -> usize {
        self.cells.len()
    }

    /// The value at `at`, and where the next one is.
    pub(crate) fn cell(&self, at: usize) -> (Cell<'_>, usize) {
        let number = |from: usize| {
            let bytes = self.cells.get(from..from + 8).and_then(|bytes| bytes.first_chunk());
            bytes.copied().unwrap_or_default()
        };
        match self.cells.get(at) {
            Some(1) => (Cell::Integer(i64::from_le_bytes(number(at + 1))), at + 9),
            Some(2) => (Cell::Real(f64::from_le_bytes(number(at + 1))), at + 9),
            Some(3) => {
                let len = usize::try_from(u64::from_le_bytes(number(at + 1))).unwrap_or(0);
                let bytes = self.cells.get(at + 9..at + 9 + len).unwrap_or_default();
                (Cell::Bytes(bytes), at + 9 + len)
            }
            _ => (Cell::Null, at + 1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settled(declaration: Option<&str>, values: &[ValueRef<'_>]) -> ColumnKind {
        let mut rows = Rows::new(vec![Column::new("c".into(), declaration)]);
        for value in values {
            rows.push(0, *value);
        }
        rows.columns[0].settled().kind
    }

    #[test]
    fn a_column_is_of_its_declared_type_while_its_values_are() {
        assert_eq!(settled(Some("TINYINT"), &[ValueRef::Integer(1)]), ColumnKind::TINY);
        assert_eq!(settled(Some("TINYINT"), &[]), ColumnKind::TINY);
        assert_eq!(settled(Some("TINYINT"), &[ValueRef::Integer(999)]), ColumnKind::LONGLONG);
        assert_eq!(settled(Some("INT"), &[ValueRef::Text(b"x")]), ColumnKind::VAR_STRING);
        assert_eq!(settled(Some("TEXT DATE"), &[ValueRef::Text(b"soon")]), ColumnKind::VAR_STRING);
    }

    #[test]
    fn an_expression_is_of_the_type_that_holds_all_its_values() {
        let (one, half) = (ValueRef::Integer(1), ValueRef::Real(0.5));
        assert_eq!(settled(None, &[one, ValueRef::Null]), ColumnKind::LONGLONG);
        assert_eq!(settled(None, &[one, half]), ColumnKind::DOUBLE);
        assert_eq!(settled(None, &[one, ValueRef::Text(b"a")]), ColumnKind::VAR_STRING);
        assert_eq!(settled(None, &[ValueRef::Blob(b"a")]), ColumnKind::BLOB);
    }

    #[test]
    fn cells_come_back_in_order() {
        let mut rows = Rows::new(vec![]);
        for value in [ValueRef::Integer(-7), ValueRef::Null, ValueRef::Text(b"ab")] {
            rows.push(0, value);
        }
        let (first, at) = rows.cell(0);
        let (second, at) = rows.cell(at);
        let (third, _) = rows.cell(at);
        assert_eq!((first, second, third), (Cell::Integer(-7), Cell::Null, Cell::Bytes(b"ab")));
    }
}
