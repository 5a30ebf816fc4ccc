//! How texts are read under a `sql_mode`.

use sql::Modes;

/// How texts are read on a connection whose `sql_mode` is set by this text; `None` where that is
/// not known, or not how this proxy reads.
pub(super) fn modes_of(value: &[u8]) -> Option<Modes> {
    /// Grammars of their own.
    const OTHERS: [&[u8]; 2] = [b"MSSQL", b"ORACLE"];
    const ANSI: [&[u8]; 4] = [b"ANSI", b"DB2", b"MAXDB", b"POSTGRES"];
    let upper = value.to_ascii_uppercase();
    let has = |word: &[u8]| upper.windows(word.len()).any(|part| part == word);
    let is_number = !upper.is_empty() && upper.iter().all(u8::is_ascii_digit) && upper != b"0";
    if is_number || OTHERS.into_iter().any(has) {
        return None;
    }
    let modes = Modes {
        no_backslash_escapes: has(b"NO_BACKSLASH"),
        ansi_quotes: ANSI.into_iter().any(has),
        wide: false,
    };
    // other functions may take out of a value what stands in it
    let calls = upper.iter().filter(|byte| **byte == b'(').count();
    let only_adds = calls == 0 || (calls == 1 && upper.starts_with(b"CONCAT("));
    (modes == Modes::default() || only_adds).then_some(modes)
}

#[cfg(test)]
mod tests {
    use super::*;

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
