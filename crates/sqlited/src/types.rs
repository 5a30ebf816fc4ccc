//! Declared types of columns as MySQL's types, and texts of dates as values.
//!
//! Pure tables and conversions; what a column of a result finally is, is decided in `rows`.

use wire::reply::ColumnKind;
use wire::value::{DateTime, TimeSpan};

/// What MySQL would say of a column.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ColumnType {
    /// The type on the wire.
    pub(crate) kind: ColumnKind,
    /// Whether integers are unsigned.
    pub(crate) unsigned: bool,
    /// Digits after the point.
    pub(crate) decimals: u8,
    /// Characters at most.
    pub(crate) length: u32,
    /// Whether text has the collation `binary`.
    pub(crate) binary: bool,
}

impl ColumnType {
    const fn new(kind: ColumnKind, length: u32) -> Self {
        Self { kind, unsigned: false, decimals: 0, length, binary: true }
    }

    /// A text of any length.
    pub(crate) const TEXT: Self =
        Self { binary: false, ..Self::new(ColumnKind::VAR_STRING, 65_535) };
    /// Bytes of any length.
    pub(crate) const BYTES: Self = Self::new(ColumnKind::BLOB, 65_535);
    /// A 64-bit integer.
    pub(crate) const INTEGER: Self = Self::new(ColumnKind::LONGLONG, 21);
    /// A double.
    pub(crate) const DOUBLE: Self = Self { decimals: 31, ..Self::new(ColumnKind::DOUBLE, 22) };

    /// Whether an integer fits the type.
    pub(crate) fn fits(self, value: i64) -> bool {
        let (signed, unsigned) = match self.kind {
            ColumnKind::TINY => (8, u64::from(u8::MAX)),
            ColumnKind::SHORT | ColumnKind::YEAR => (16, u64::from(u16::MAX)),
            ColumnKind::INT24 => (24, 0xff_ffff),
            ColumnKind::LONG => (32, u64::from(u32::MAX)),
            _ => return true,
        };
        if self.unsigned || self.kind == ColumnKind::YEAR {
            return u64::try_from(value).is_ok_and(|value| value <= unsigned);
        }
        let limit = 1_i64 << (signed - 1);
        (-limit..limit).contains(&value)
    }

    /// Whether integers are what the type holds.
    pub(crate) fn is_integer(self) -> bool {
        matches!(
            self.kind,
            ColumnKind::TINY
                | ColumnKind::SHORT
                | ColumnKind::INT24
                | ColumnKind::LONG
                | ColumnKind::LONGLONG
                | ColumnKind::YEAR
        )
    }

    /// Whether a date, a time or both is what the type holds.
    pub(crate) fn is_temporal(self) -> bool {
        matches!(
            self.kind,
            ColumnKind::DATE | ColumnKind::DATETIME | ColumnKind::TIMESTAMP | ColumnKind::TIME
        )
    }
}

/// The type behind a declaration, if it is one we know.
pub(crate) fn declared(declaration: &str) -> Option<ColumnType> {
    let (word, numbers, unsigned) = split(declaration);
    let (length, decimals) = match numbers.split_once(',') {
        Some((length, decimals)) => (length.trim().parse().ok(), decimals.trim().parse().ok()),
        None => (numbers.parse().ok(), None),
    };
    let mut found = match word.as_str() {
        "tinyint" | "int1" => ColumnType::new(ColumnKind::TINY, 4),
        "smallint" | "int2" => ColumnType::new(ColumnKind::SHORT, 6),
        "mediumint" | "int3" => ColumnType::new(ColumnKind::INT24, 9),
        "int" | "integer" | "int4" => ColumnType::new(ColumnKind::LONG, 11),
        "bigint" | "int8" | "bit" => ColumnType::INTEGER,
        "year" => ColumnType::new(ColumnKind::YEAR, 4),
        "float" => ColumnType { decimals: 31, ..ColumnType::new(ColumnKind::FLOAT, 12) },
        "double" | "real" => ColumnType::DOUBLE,
        "decimal" => ColumnType {
            decimals: decimals.unwrap_or(0),
            ..ColumnType::new(ColumnKind::NEWDECIMAL, length.unwrap_or(10) + 2)
        },
        "date" => ColumnType::new(ColumnKind::DATE, 10),
        "datetime" => ColumnType::new(ColumnKind::DATETIME, 19),
        "timestamp" => ColumnType::new(ColumnKind::TIMESTAMP, 19),
        "time" => ColumnType::new(ColumnKind::TIME, 10),
        "char" => ColumnType { kind: ColumnKind::STRING, ..text(length.unwrap_or(1)) },
        "varchar" | "enum" | "set" => text(length.unwrap_or(255)),
        "tinytext" => ColumnType { kind: ColumnKind::BLOB, ..text(255) },
        "text" | "mediumtext" | "longtext" => ColumnType { kind: ColumnKind::BLOB, ..text(65_535) },
        "json" => ColumnType::new(ColumnKind::JSON, u32::MAX),
        "binary" => ColumnType::new(ColumnKind::STRING, length.unwrap_or(1)),
        "varbinary" => ColumnType::new(ColumnKind::VAR_STRING, length.unwrap_or(255)),
        "tinyblob" | "blob" | "mediumblob" | "longblob" => ColumnType::BYTES,
        _ => return None,
    };
    found.unsigned = unsigned;
    if matches!(word.as_str(), "datetime" | "timestamp" | "time") && !numbers.is_empty() {
        found.decimals = numbers.parse().unwrap_or(0);
    }
    Some(found)
}

/// The type as DESCRIBE shows it.
pub(crate) fn shown(declaration: &str) -> String {
    let (word, numbers, unsigned) = split(declaration);
    let word = if word == "integer" { "int".to_owned() } else { word };
    let numbers = if numbers.is_empty() { String::new() } else { format!("({numbers})") };
    format!("{word}{numbers}{}", if unsigned { " unsigned" } else { "" })
}

/// A table's definition without the affinity words, with MySQL's word for counting columns, and
/// with its indexes (a CREATE INDEX a line) as keys.
pub(crate) fn definition_shown(definition: &str, indexes: &str) -> String {
    let mut text = definition
        .replace(" INTEGER PRIMARY KEY AUTOINCREMENT", " INT NOT NULL AUTO_INCREMENT PRIMARY KEY");
    for kind in ["DATETIME", "DATE", "TIMESTAMP", "TIME", "JSON", "ENUM", "`SET`"] {
        text = text.replace(&format!(" TEXT {kind}"), &format!(" {}", kind.trim_matches('`')));
    }
    for kind in ["BINARY", "VARBINARY"] {
        text = text.replace(&format!(" BLOB {kind}"), &format!(" {kind}"));
    }
    if let Some(open) = text.strip_suffix(')') {
        let keys: Vec<String> = indexes.lines().filter_map(key_shown).collect();
        text = format!("{open}{})", keys.concat());
    }
    text
}

/// ``CREATE UNIQUE INDEX `t.k` ON `t` (`a`)`` as ``, UNIQUE KEY `k` (`a`)``.
fn key_shown(index: &str) -> Option<String> {
    let (head, rest) = index.split_once(" INDEX `")?;
    let (name, columns) = rest.split_once("` ON ")?;
    let name = name.split_once('.').map_or(name, |(_, name)| name);
    let columns = columns.split_once(" (").map(|(_, columns)| columns)?;
    let kind = if head.ends_with("UNIQUE") { "UNIQUE KEY" } else { "KEY" };
    Some(format!(", {kind} `{name}` ({columns}"))
}

/// Word, what stands in brackets, and UNSIGNED; an affinity word in front is taken off.
fn split(declaration: &str) -> (String, String, bool) {
    let lower = declaration.to_ascii_lowercase();
    let unsigned = lower.contains("unsigned");
    let (words, numbers) = match lower.split_once('(') {
        Some((words, rest)) => (words, rest.split(')').next().unwrap_or_default()),
        None => (lower.as_str(), ""),
    };
    let words = words.replace("unsigned", "").replace('`', "");
    let word = words.split_whitespace().last().unwrap_or("text");
    (word.to_owned(), numbers.to_owned(), unsigned)
}

const fn text(length: u32) -> ColumnType {
    ColumnType { length: length.saturating_mul(4), ..ColumnType::TEXT }
}

/// Reads `YYYY-MM-DD` with or without a time of day.
pub(crate) fn parse_datetime(text: &str) -> Option<DateTime> {
    let (date, time) = match text.split_once([' ', 'T']) {
        Some((date, time)) => (date, Some(time)),
        None => (text, None),
    };
    let mut parts = date.split('-');
    let mut moment = DateTime {
        year: parts.next()?.parse().ok()?,
        month: parts.next()?.parse().ok()?,
        day: parts.next()?.parse().ok()?,
        ..DateTime::default()
    };
    if parts.next().is_some() || moment.month > 12 || moment.day > 31 {
        return None;
    }
    if let Some(time) = time {
        let (hour, minute, second, micro) = clock(time)?;
        moment.hour = u8::try_from(hour).ok().filter(|hour| *hour < 24)?;
        (moment.minute, moment.second, moment.micro) = (minute, second, micro);
    }
    Some(moment)
}

/// Reads `[-]HHH:MM:SS[.ffffff]`.
pub(crate) fn parse_time(text: &str) -> Option<TimeSpan> {
    let (negative, text) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let (hours, minutes, seconds, micros) = clock(text)?;
    Some(TimeSpan {
        negative,
        days: hours / 24,
        hours: u8::try_from(hours % 24).ok()?,
        minutes,
        seconds,
        micros,
    })
}

fn clock(text: &str) -> Option<(u32, u8, u8, u32)> {
    let (text, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let mut parts = text.split(':');
    let hours = parts.next()?.parse().ok()?;
    let minutes = parts.next()?.parse().ok().filter(|minutes| *minutes < 60)?;
    let seconds = parts.next().unwrap_or("0").parse().ok().filter(|seconds| *seconds < 60)?;
    if parts.next().is_some() || fraction.len() > 6 {
        return None;
    }
    let micros = format!("{fraction:0<6}").parse().ok()?;
    Some((hours, minutes, seconds, micros))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declarations_are_read_behind_their_affinity_word() {
        assert_eq!(declared("TEXT DATETIME(6)").map(|t| (t.kind, t.decimals)), {
            Some((ColumnKind::DATETIME, 6))
        });
        assert_eq!(declared("BLOB VARBINARY(16)").map(|t| t.length), Some(16));
        assert_eq!(declared("DECIMAL(10,2)").map(|t| t.decimals), Some(2));
        assert_eq!(declared("BIGINT UNSIGNED").map(|t| t.unsigned), Some(true));
        assert_eq!(declared("WHATEVER"), None);
    }

    #[test]
    fn a_definition_is_shown_with_its_keys() {
        let table = "CREATE TABLE `t` (`id` INTEGER PRIMARY KEY AUTOINCREMENT, `at` TEXT DATE)";
        let indexes = "CREATE UNIQUE INDEX `t.k` ON `t` (`at`, `id` DESC)\n";
        assert_eq!(
            definition_shown(table, indexes),
            "CREATE TABLE `t` (`id` INT NOT NULL AUTO_INCREMENT PRIMARY KEY, `at` DATE, UNIQUE \
             KEY `k` (`at`, `id` DESC))"
        );
    }

    #[test]
    fn types_are_shown_as_mysql_writes_them() {
        assert_eq!(shown("INTEGER"), "int");
        assert_eq!(shown("TEXT DATETIME(6)"), "datetime(6)");
        assert_eq!(shown("INT UNSIGNED"), "int unsigned");
        assert_eq!(shown("VARCHAR(20)"), "varchar(20)");
    }

    #[test]
    fn dates_and_times_are_read_as_they_are_written() {
        let moment = parse_datetime("2024-02-29 23:59:58.25").unwrap();
        assert_eq!(moment.to_string(), "2024-02-29 23:59:58.250000");
        assert_eq!(parse_datetime("2024-13-01"), None);
        assert_eq!(parse_datetime("yesterday"), None);
        let span = parse_time("-49:01:02").unwrap();
        assert_eq!((span.days, span.hours, span.negative), (2, 1, true));
        assert_eq!(parse_time("12:60:00"), None);
    }

    #[test]
    fn an_integer_out_of_the_declared_range_is_seen() {
        let tiny = declared("TINYINT").unwrap();
        assert!(tiny.fits(-128) && tiny.fits(127) && !tiny.fits(128));
        let unsigned = declared("TINYINT UNSIGNED").unwrap();
        assert!(unsigned.fits(255) && !unsigned.fits(-1));
    }
}
