//! A value of a column, whatever field, file or database it is in.

use super::Column;

/// A value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Cell {
    /// Nothing.
    Null,
    /// A whole number.
    Int(i64),
    /// Text.
    Text(String),
    /// Bytes that need not be text.
    Bytes(Vec<u8>),
}

impl Cell {
    /// As a person reads it; NULL is empty.
    pub fn shown(&self) -> String {
        match self {
            Cell::Null => String::new(),
            Cell::Int(number) => number.to_string(),
            Cell::Text(text) => text.clone(),
            Cell::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        }
    }
}

/// A type that fields of rows have.
pub trait Typed: Default {
    /// Takes a value; the error says what is wanted.
    fn read(cell: Cell) -> Result<Self, String>;

    /// The value.
    fn cell(&self) -> Cell;

    /// What a field is that was not written; empty where its column has no default.
    fn initial(column: Option<&Column>) -> Self {
        column.and_then(|column| Self::read(column.initial()).ok()).unwrap_or_default()
    }
}

impl Typed for i64 {
    fn read(cell: Cell) -> Result<Self, String> {
        match cell {
            Cell::Int(number) => Ok(number),
            Cell::Null => Err("a number is wanted, not NULL".to_owned()),
            other => Err(format!("`{}` is not a whole number", other.shown())),
        }
    }

    fn cell(&self) -> Cell {
        Cell::Int(*self)
    }
}

impl Typed for String {
    fn read(cell: Cell) -> Result<Self, String> {
        match cell {
            Cell::Null => Err("a text is wanted, not NULL".to_owned()),
            Cell::Bytes(bytes) => {
                String::from_utf8(bytes).map_err(|_| "the text is not UTF-8".to_owned())
            }
            Cell::Text(text) => Ok(text),
            Cell::Int(number) => Ok(number.to_string()),
        }
    }

    fn cell(&self) -> Cell {
        Cell::Text(self.clone())
    }
}

impl Typed for Vec<u8> {
    fn read(cell: Cell) -> Result<Self, String> {
        Ok(match cell {
            Cell::Bytes(bytes) => bytes,
            other => other.shown().into_bytes(),
        })
    }

    fn cell(&self) -> Cell {
        match std::str::from_utf8(self) {
            Ok(text) => Cell::Text(text.to_owned()),
            Err(_) => Cell::Bytes(self.clone()),
        }
    }
}

impl<T: Typed> Typed for Option<T> {
    fn read(cell: Cell) -> Result<Self, String> {
        match cell {
            Cell::Null => Ok(None),
            cell => T::read(cell).map(Some),
        }
    }

    fn cell(&self) -> Cell {
        self.as_ref().map_or(Cell::Null, Typed::cell)
    }
}
