//! Places in a server's logs.

use std::cmp::Ordering;
use std::fmt;

/// A place in a server's binary logs: a file, and a byte of it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Position {
    /// The file's name, without a directory.
    pub file: Vec<u8>,
    /// The offset behind the last event.
    pub offset: u64,
}

impl Position {
    /// Whether all that is in front of `other` is in front of this.
    pub fn is_behind_or_at(&self, other: &Self) -> bool {
        self.order(other) != Ordering::Less
    }

    /// Files are numbered; the number has six digits or more.
    fn order(&self, other: &Self) -> Ordering {
        let key = |position: &Self| (number(&position.file), position.offset);
        key(self).cmp(&key(other))
    }

    /// Moves on to the end of an event, of which headers have four bytes: files may be longer.
    pub(crate) fn advance(&mut self, end: u32) {
        let high = self.offset & !u64::from(u32::MAX);
        let end = high | u64::from(end);
        self.offset = match end < self.offset {
            true => end.saturating_add(1 << 32),
            false => end,
        };
    }
}

/// The number at the end of a file's name.
fn number(file: &[u8]) -> u64 {
    let digits = file.rsplit(|byte| *byte == b'.').next().unwrap_or_default();
    std::str::from_utf8(digits).ok().and_then(|digits| digits.parse().ok()).unwrap_or(0)
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", String::from_utf8_lossy(&self.file), self.offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(file: &str, offset: u64) -> Position {
        Position { file: file.as_bytes().to_vec(), offset }
    }

    #[test]
    fn places_are_ordered_by_the_number_of_the_file_and_then_by_the_offset() {
        let is_behind = |a: Position, b: Position| a.is_behind_or_at(&b);
        assert!(is_behind(at("b.000002", 4), at("b.000001", 900)));
        assert!(is_behind(at("b.1000000", 4), at("b.999999", 900)));
        assert!(is_behind(at("b.000001", 4), at("b.000001", 4)));
        assert!(!is_behind(at("b.000001", 4), at("b.000001", 5)));
        assert!(!is_behind(at("b.000009", 800), at("b.000010", 4)));
    }

    #[test]
    fn a_file_may_be_longer_than_four_bytes_say() {
        let mut position = at("b.000001", u64::from(u32::MAX) - 10);
        position.advance(20);
        assert_eq!(position.offset, (1 << 32) + 20);
        position.advance(u32::MAX);
        position.advance(7);
        assert_eq!(position.offset, (2 << 32) + 7);
    }
}
