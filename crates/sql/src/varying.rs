//! Whether a text that reads may give something else though no data has changed.
//!
//! Decides by names. Variables, locks and the like are among the effects of a text, and stored code
//! that it reaches is its reader's to know.

use crate::Modes;
use crate::calls::is_native;
use crate::lexer::{Lexer, TokenKind};

/// Whether a text may give something else when it is asked once more: it calls a function that
/// depends on the time, on who asks, on chance or on nobody knows what, or reads what a server
/// tells of itself.
///
/// Names of stored functions count as such, and so does a text that can be read in two ways.
pub fn varies(text: &[u8], modes: Modes) -> bool {
    let mut lexer = Lexer::new(text, modes);
    let mut before = Before::Sign;
    while let Some(token) = lexer.next_token() {
        before = match (token.kind, before) {
            (TokenKind::Punct(b'('), Before::Name) => return true,
            (TokenKind::Punct(b'('), Before::Word(word)) if !is_stable(word) => return true,
            (TokenKind::Comment, before) => before,
            (TokenKind::Punct(b'.'), _) => Before::Dot,
            (TokenKind::Word, before) => {
                let word = lexer.slice(token);
                let is_column = matches!(before, Before::Dot);
                if is_of_the_server(word) || !is_column && is_among(word, CONSTANTS) {
                    return true;
                }
                if is_column { Before::Name } else { Before::Word(word) }
            }
            (TokenKind::Quoted | TokenKind::Text, _) => {
                if is_of_the_server(lexer.unquoted(token)) {
                    return true;
                }
                Before::Name
            }
            _ => Before::Sign,
        };
    }
    lexer.is_ambiguous()
}

/// Whether a text may read a table of the schema that its session has chosen: one that it names
/// without a schema. A name behind a comma counts as one.
pub fn names_bare_tables(text: &[u8], modes: Modes) -> bool {
    let mut lexer = Lexer::new(text, modes);
    let (mut expects, mut seen_from, mut bare) = (false, false, false);
    while let Some(token) = lexer.next_token() {
        let is_dot = token.kind == TokenKind::Punct(b'.');
        if bare && !is_dot || expects && is_dot {
            return true;
        }
        bare = false;
        match token.kind {
            // a table of a list, an outer join, or a query of its own
            TokenKind::Comment | TokenKind::Punct(b'(' | b'{') => {}
            TokenKind::Word if is_among(lexer.slice(token), BEFORE_TABLES) => {
                (expects, seen_from) = (true, true);
            }
            TokenKind::Word if expects && is_among(lexer.slice(token), &["OJ", "LATERAL"]) => {}
            TokenKind::Word | TokenKind::Quoted => {
                let is_query = lexer.slice(token).eq_ignore_ascii_case(b"SELECT");
                bare = std::mem::replace(&mut expects, false) && !is_query;
            }
            TokenKind::Punct(b',') => expects = seen_from,
            _ => expects = false,
        }
    }
    bare || lexer.is_ambiguous()
}

/// Words that tables stand behind.
const BEFORE_TABLES: &[&str] = &["FROM", "JOIN", "STRAIGHT_JOIN", "TABLE"];

/// What stands before a token.
#[derive(Clone, Copy)]
enum Before<'a> {
    /// A word that may be the name of a server's own function.
    Word(&'a [u8]),
    /// Any other name.
    Name,
    /// The dot of a qualified name.
    Dot,
    /// Anything else.
    Sign,
}

/// Whether a function that is called so computes from its arguments alone.
fn is_stable(word: &[u8]) -> bool {
    is_native(word) && !is_among(word, FUNCTIONS)
}

/// Whether a schema is one in which a server tells of itself.
pub fn is_of_the_server(schema: &[u8]) -> bool {
    is_among(schema, OF_THE_SERVER)
}

fn is_among(name: &[u8], list: &[&str]) -> bool {
    list.iter().any(|listed| name.eq_ignore_ascii_case(listed.as_bytes()))
}

/// Schemas in which a server tells of itself.
const OF_THE_SERVER: &[&str] = &["information_schema", "performance_schema", "sys"];

/// Functions that need no parentheses.
const CONSTANTS: &[&str] = &[
    "CURRENT_DATE",
    "CURRENT_ROLE",
    "CURRENT_TIME",
    "CURRENT_TIMESTAMP",
    "CURRENT_USER",
    "LOCALTIME",
    "LOCALTIMESTAMP",
    "SYSDATE",
    "UTC_DATE",
    "UTC_TIME",
    "UTC_TIMESTAMP",
];

/// Functions of the servers' own that give other values from one call to the next, or to others;
/// of words that need no parentheses, see [`CONSTANTS`].
const FUNCTIONS: &[&str] = &[
    "ASYMMETRIC_ENCRYPT",
    "ASYMMETRIC_SIGN",
    "BENCHMARK",
    "BINLOG_GTID_POS",
    "CAN_ACCESS_COLUMN",
    "CAN_ACCESS_DATABASE",
    "CAN_ACCESS_TABLE",
    "CAN_ACCESS_USER",
    "CAN_ACCESS_VIEW",
    "CONNECTION_ID",
    "CREATE_ASYMMETRIC_PRIV_KEY",
    "CREATE_ASYMMETRIC_PUB_KEY",
    "CURDATE",
    "CURRVAL",
    "CURTIME",
    "DEFAULT",
    "ENCRYPT",
    "FOUND_ROWS",
    "GET_DD_COLUMN_PRIVILEGES",
    "GET_DD_CREATE_OPTIONS",
    "GET_DD_INDEX_SUB_PART_LENGTH",
    "GET_LOCK",
    "INTERNAL_AUTO_INCREMENT",
    "INTERNAL_AVG_ROW_LENGTH",
    "INTERNAL_CHECKSUM",
    "INTERNAL_CHECK_TIME",
    "INTERNAL_DATA_FREE",
    "INTERNAL_DATA_LENGTH",
    "INTERNAL_GET_ENABLED_ROLE_JSON",
    "INTERNAL_GET_HOSTNAME",
    "INTERNAL_GET_USERNAME",
    "INTERNAL_INDEX_LENGTH",
    "INTERNAL_IS_ENABLED_ROLE",
    "INTERNAL_IS_MANDATORY_ROLE",
    "INTERNAL_KEYS_DISABLED",
    "INTERNAL_MAX_DATA_LENGTH",
    "INTERNAL_TABLE_ROWS",
    "INTERNAL_UPDATE_TIME",
    "IS_FREE_LOCK",
    "IS_USED_LOCK",
    "IS_VISIBLE_DD_OBJECT",
    "LASTVAL",
    "LAST_INSERT_ID",
    "LOAD_FILE",
    "MASTER_GTID_WAIT",
    "MASTER_POS_WAIT",
    "NEXTVAL",
    "NOW",
    "PS_CURRENT_THREAD_ID",
    "PS_THREAD_ID",
    "RAND",
    "RANDOM",
    "RANDOM_BYTES",
    "RELEASE_ALL_LOCKS",
    "RELEASE_LOCK",
    "ROLES_GRAPHML",
    "SERVICE_GET_READ_LOCKS",
    "SERVICE_GET_WRITE_LOCKS",
    "SERVICE_RELEASE_LOCKS",
    "SESSION_USER",
    "SETVAL",
    "SLEEP",
    "SOURCE_POS_WAIT",
    "SYSTEM_USER",
    "SYS_GUID",
    "UNIX_TIMESTAMP",
    "USER",
    "UUID",
    "UUID_SHORT",
    "WAIT_FOR_EXECUTED_GTID_SET",
    "WSREP_LAST_SEEN_GTID",
    "WSREP_LAST_WRITTEN_GTID",
    "WSREP_SYNC_WAIT_UPTO_GTID",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_varies_is_told_from_what_data_alone_decide() {
        let table: &[(&str, bool)] = &[
            ("SELECT c FROM sbtest1 WHERE id=1", false),
            ("SELECT a, COUNT(*), Max(b) FROM d.t JOIN u USING (id) WHERE x IN (1, 2)", false),
            (
                "WITH x AS (SELECT 1) SELECT DATABASE(), VERSION(), AES_DECRYPT(a, 'k') FROM x",
                false,
            ),
            ("SELECT t.now, t.`now`, 'NOW()' FROM t -- NOW()\n", false),
            ("SELECT DATE_ADD(a, INTERVAL 1 DAY) FROM t WHERE EXISTS (SELECT 1)", false),
            ("SELECT NOW()", true),
            ("SELECT now /* x */ ()", true),
            ("SELECT a FROM t WHERE b > CURRENT_TIMESTAMP", true),
            ("SELECT a FROM t ORDER BY RAND()", true),
            ("SELECT current_user", true),
            ("SELECT uuid(), 1", true),
            ("SELECT DEFAULT(id) FROM t", true),
            ("SELECT sysdate(6)", true),
            ("SELECT mine(1)", true),
            ("SELECT d.count(1)", true),
            ("SELECT `count`(1)", true),
            ("SELECT * FROM information_schema.processlist", true),
            ("SELECT * FROM `Performance_Schema`.threads", true),
            ("SELECT /*!50000 NOW() */ 2", true),
        ];
        for (text, expected) in table {
            assert_eq!(varies(text.as_bytes(), Modes::default()), *expected, "{text}");
        }
        let ansi = Modes { ansi_quotes: true, ..Modes::default() };
        assert!(varies(b"SELECT \"mine\"(1)", ansi));
    }

    #[test]
    fn tables_without_a_schema_are_seen_wherever_tables_stand() {
        let table: &[(&str, bool)] = &[
            ("SELECT 1, a", false),
            ("SELECT a FROM d.t", false),
            ("SELECT a, b FROM `d`.`t` JOIN e.u ON t.a = u.a WHERE a IN (1, 2)", false),
            ("SELECT a FROM (SELECT b FROM d.t) AS x", false),
            ("SELECT a FROM {OJ d.t LEFT JOIN d.u ON 1}", false),
            ("SELECT a FROM processlist", true),
            ("SELECT a FROM (processlist)", true),
            ("SELECT a FROM .session_status", true),
            ("SELECT a FROM {OJ processlist LEFT JOIN d.t ON 1=0}", true),
            ("SELECT a FROM d.t, `tables`", true),
            ("SELECT a FROM d.t, .tables", true),
            ("SELECT a FROM d.t /* , */ JOIN tables x USING (a)", true),
            ("SELECT (SELECT COUNT(*) FROM tables)", true),
        ];
        for (text, expected) in table {
            let found = names_bare_tables(text.as_bytes(), Modes::default());
            assert_eq!(found, *expected, "{text}");
        }
    }

    #[test]
    fn tables_hold_names_of_functions_in_order() {
        for list in [CONSTANTS, FUNCTIONS] {
            assert!(list.is_sorted());
            let unknown: Vec<_> = list.iter().filter(|it| !is_native(it.as_bytes())).collect();
            assert!(unknown.is_empty(), "{unknown:?}");
        }
    }
}
