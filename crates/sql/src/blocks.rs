//! Whether each `BEGIN` of stored code opens a block. The word is not reserved, so it may be a name
//! or an alias. Knows nothing of what blocks hold.

use crate::Modes;
use crate::lexer::{Lexer, TokenKind};

/// Whether every `BEGIN` stands where a statement begins, and none where a name may.
pub(crate) fn blocks_are_clear(text: &[u8], modes: Modes) -> bool {
    let mut lexer = Lexer::new(text, modes);
    let (mut before, mut is_amid): (&[u8], bool) = (b"", false);
    let mut token = lexer.next_token();
    while let Some(at) = token {
        token = lexer.next_token();
        let word = lexer.slice(at);
        let is_one_of = |all: &[&[u8]]| all.iter().any(|one| word.eq_ignore_ascii_case(one));
        if at.kind == TokenKind::Word && is_one_of(&[b"BEGIN"]) {
            let names = |name: &&[u8]| before.eq_ignore_ascii_case(name);
            let is_called = token.is_some_and(|next| next.kind == TokenKind::Punct(b'('));
            if is_amid || is_called || BEFORE_NAMES.iter().any(names) {
                return false;
            }
        }
        is_amid = (is_amid && !is_one_of(BEFORE_STATEMENTS)) || is_one_of(STATEMENTS);
        before = word;
    }
    true
}

/// What a name, and no statement, stands behind.
const BEFORE_NAMES: &[&[u8]] =
    &[b"AS", b".", b"@", b",", b"(", b"PROCEDURE", b"FUNCTION", b"EVENT", b"TRIGGER", b"EXISTS"];

/// What a statement stands behind, whatever came before.
const BEFORE_STATEMENTS: &[&[u8]] =
    &[b";", b":", b"THEN", b"ELSE", b"DO", b"LOOP", b"REPEAT", b"ROW", b"BEGIN"];

/// Statements with names in them; those that stand in the head of a trigger end at its `ROW`.
const STATEMENTS: &[&[u8]] = &[
    b"SELECT", b"VALUES", b"TABLE", b"WITH", b"SET", b"CALL", b"RETURN", b"UPDATE", b"DELETE",
    b"INSERT", b"REPLACE",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_begins_where_a_statement_does() {
        for text in [
            "CREATE PROCEDURE p() BEGIN KILL 5; END",
            "CREATE PROCEDURE p() COMMENT 'x' a: BEGIN IF (SELECT 1) THEN BEGIN KILL 5; END; \
             END IF; END",
            "CREATE TRIGGER t BEFORE UPDATE ON x FOR EACH ROW BEGIN KILL 5; END",
            "CREATE EVENT e ON SCHEDULE EVERY 1 DAY DO BEGIN KILL 5; END",
            "CREATE PROCEDURE p() BEGIN DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN KILL 5; END; \
             END",
        ] {
            assert!(blocks_are_clear(text.as_bytes(), Modes::default()), "{text}");
        }
        for text in [
            "CREATE PROCEDURE p() SELECT 1 AS begin; KILL 5; SELECT 1 AS end",
            "CREATE PROCEDURE p() SELECT 1 begin; KILL 5; SELECT 1 end",
            "CREATE PROCEDURE begin() SELECT 1; KILL 5; SELECT 1 AS end",
            "CREATE TRIGGER t BEFORE UPDATE ON x FOR EACH ROW UPDATE y begin SET a = 1; KILL 5; \
             SELECT 1 AS end",
            "CREATE PROCEDURE p() BEGIN SELECT 1 AS begin; END; KILL 5; SELECT 1 AS end",
        ] {
            assert!(!blocks_are_clear(text.as_bytes(), Modes::default()), "{text}");
        }
    }
}
