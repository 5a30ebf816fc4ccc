//! How texts are read under a `sql_mode`, and in a client's character set.

use std::borrow::Cow;

use sql::{HighBytes, Modes};
use wire::collation_table as collation;

/// The character set that `character_set_client` has when it is set by this text; `None` where that
/// is not known.
pub(super) fn client_of(value: &[u8]) -> Option<&'static str> {
    let value = value.trim_ascii();
    if let Some(id) = std::str::from_utf8(value).ok().and_then(|text| text.parse().ok()) {
        return collation::find_id(id).map(|found| found.charset);
    }
    let is_quote = |byte: &u8| matches!(byte, b'\'' | b'"');
    // a string may say what it is itself written in
    let name = match value.iter().any(is_quote) {
        true => value.split(is_quote).nth(1)?,
        false => value,
    };
    collation::find_charset_default(name).map(|found| found.charset)
}

/// Whether each character of ASCII takes several bytes in a character set.
pub(super) fn is_padded(charset: &str) -> bool {
    matches!(charset, "ucs2" | "utf16" | "utf16le" | "utf32")
}

/// What bytes from 0x80 up are in the character set of a collation; every query asks.
#[inline]
pub(super) fn high_bytes_of(id: u16) -> HighBytes {
    match id {
        // those that most clients have
        33 | 45 | 224 | 255 => HighBytes::Letters,
        8 => HighBytes::Latin,
        _ => high_bytes_of_any(id),
    }
}

#[inline(never)]
fn high_bytes_of_any(id: u16) -> HighBytes {
    collation::find_id(id).map_or(HighBytes::Letters, |known| HighBytes::of(known.charset))
}

/// How texts are read on a connection whose `sql_mode` is set by this text; `None` where that is
/// not known, or not how this proxy reads.
pub(super) fn modes_of(value: &[u8]) -> Option<Modes> {
    /// Grammars of their own.
    const OTHERS: [&[u8]; 2] = [b"MSSQL", b"ORACLE"];
    let upper = without_plain(value).to_ascii_uppercase();
    let has = |word: &[u8]| upper.windows(word.len()).any(|part| part == word);
    let is_number = !upper.is_empty() && upper.iter().all(u8::is_ascii_digit) && upper != b"0";
    if is_number || OTHERS.into_iter().any(has) {
        return None;
    }
    let modes = named_by(value);
    // other functions may take out of a value what stands in it
    let calls = upper.iter().filter(|byte| **byte == b'(').count();
    let only_adds = calls == 0 || (calls == 1 && upper.starts_with(b"CONCAT("));
    (modes == Modes::default() || only_adds).then_some(modes)
}

/// The modes that a value names, whatever else it says.
pub(super) fn named_by(value: &[u8]) -> Modes {
    const ANSI: [&[u8]; 4] = [b"ANSI", b"DB2", b"MAXDB", b"POSTGRES"];
    let upper = without_plain(value).to_ascii_uppercase();
    let has = |word: &[u8]| upper.windows(word.len()).any(|part| part == word);
    Modes {
        no_backslash_escapes: has(b"NO_BACKSLASH"),
        ansi_quotes: ANSI.into_iter().any(has),
        ..Modes::default()
    }
}

/// The `sql_mode` that a server begins with, unless texts are read in another way under it: what a
/// session has that was told of no such mode at its login. Has no comma, as what it stands beside.
pub(super) const PLAIN: &str = "CASE WHEN @@global.sql_mode REGEXP \
    'ANSI|NO_BACKSLASH|DB2|MAXDB|MSSQL|ORACLE|POSTGRES' THEN '' ELSE @@global.sql_mode END";

/// A value with nothing in the places of that one.
fn without_plain(value: &[u8]) -> Cow<'_, [u8]> {
    let plain = PLAIN.as_bytes();
    match value.windows(plain.len()).position(|part| part == plain) {
        None => Cow::Borrowed(value),
        Some(at) => {
            let (before, rest) = value.split_at(at);
            let rest = rest.get(plain.len()..).unwrap_or_default();
            Cow::Owned([before, &without_plain(rest)].concat())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_collations_of_most_clients_have_the_bytes_of_their_character_sets() {
        for known in collation::ALL {
            assert_eq!(high_bytes_of(known.id), HighBytes::of(known.charset), "{}", known.name);
        }
    }

    #[test]
    fn a_client_s_character_set_is_known_in_every_form() {
        let is_wide = |charset: &str| HighBytes::of(charset) == HighBytes::Pairs;
        let wide =
            ["gbk", "GBK", "'gbk'", "\"sjis\"", "28", "_utf8'big5'", "N'cp932'", " gb18030 "];
        assert!(wide.iter().all(|value| client_of(value.as_bytes()).is_some_and(is_wide)));
        let narrow = ["utf8", "'utf8mb4'", "45", "latin1", "_latin1'utf8' COLLATE latin1_bin"];
        assert!(narrow.iter().all(|value| !client_of(value.as_bytes()).is_none_or(is_wide)));
        let unknown = ["DEFAULT", "CONCAT('gb','k')", "NULL", "'", "@@global.x", "x'67626b'"];
        assert!(unknown.iter().all(|value| client_of(value.as_bytes()).is_none()));
    }

    #[test]
    fn a_mode_says_how_texts_are_read_where_its_value_is_known() {
        let plain = Modes::default();
        let ansi = Modes { ansi_quotes: true, ..plain };
        let both = Modes { no_backslash_escapes: true, ..ansi };
        for (value, modes) in [
            ("''", Some(plain)),
            ("0", Some(plain)),
            ("'PIPES_AS_CONCAT,IGNORE_SPACE'", Some(plain)),
            ("CONCAT(@@global.sql_mode,',STRICT_ALL_TABLES')", Some(plain)),
            (PLAIN, Some(plain)),
            (&format!("CONCAT({PLAIN},',ANSI_QUOTES')"), Some(ansi)),
            (&format!("REPLACE({PLAIN},'STRICT_ALL_TABLES','')"), Some(plain)),
            ("REPLACE(@@global.sql_mode,'STRICT_ALL_TABLES','')", Some(plain)),
            ("'ANSI,TRADITIONAL'", Some(ansi)),
            ("ansi_quotes", Some(ansi)),
            ("_utf8'postgresql'", Some(ansi)),
            ("CONCAT(@@global.sql_mode,',ANSI_QUOTES')", Some(ansi)),
            ("'NO_BACKSLASH_ESCAPES,ANSI_QUOTES'", Some(both)),
            ("REPLACE(@@global.sql_mode,'ANSI_QUOTES','')", None),
            ("CONCAT(REPLACE('ANSI_QUOTES','ANSI_QUOTES',''),'A')", None),
            ("'ORACLE'", None),
            ("'MSSQL'", None),
            ("4", None),
        ] {
            assert_eq!(modes_of(value.as_bytes()), modes, "{value}");
        }
    }
}
