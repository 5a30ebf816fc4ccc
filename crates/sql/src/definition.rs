//! What stored code does: the body of a function, procedure or trigger, the query of a view, the
//! expression of a column.
//!
//! A body is read word by word, as if each of its statements were executed: what stands in a branch
//! counts like anything else. What the names in it stand for is for its owner to find out.

use crate::calls::is_session_variable;
use crate::keyword::Keyword;
use crate::lexer::TokenKind;
use crate::reader::Reader;
use crate::{Effects, Modes};

/// The effects of all statements and expressions of a definition.
pub fn definition(text: &[u8], modes: Modes) -> Effects {
    let mut reader = Reader::new(text, modes);
    let mut body = Body::default();
    reader.advance();
    while let Some(kind) = reader.kind() {
        let at = At { kind, word: reader.keyword(), bytes: reader.bytes(), depth: reader.depth() };
        reader.advance();
        let effects = body.token(&at, &reader);
        reader.note(effects);
    }
    // about its own statements
    let effects = reader.effects().without(Effects::READS_ROW_COUNT);
    match effects.intersects(STAYS) {
        true => effects | Effects::STORED_CODE,
        false => effects,
    }
}

/// A token of a body.
struct At<'a> {
    kind: TokenKind,
    word: Keyword,
    bytes: &'a [u8],
    depth: usize,
}

/// What is known of a body so far.
#[derive(Default)]
struct Body<'a> {
    statement: Statement,
    /// Variables that it declares, and how many of them before a block within it.
    locals: Vec<&'a [u8]>,
    outer: Option<usize>,
    blocks: usize,
    before: Option<Keyword>,
    /// A dot was the last token.
    dot: bool,
}

/// What is known of the statement at hand.
#[derive(Default)]
struct Statement {
    /// Its `SET` is about columns.
    of_rows: bool,
    /// Values go into variables: `INTO`, `GET DIAGNOSTICS`.
    into: bool,
    /// Names of local variables follow.
    declares: bool,
    /// How deep in parentheses its `SET` stands.
    set: Option<usize>,
    /// A variable is set next.
    target: bool,
}

impl<'a> Body<'a> {
    /// What a token does, by what stood before it; `next` is at the one behind it.
    fn token(&mut self, at: &At<'a>, next: &Reader<'a>) -> Effects {
        let before = self.before.replace(at.word);
        let is_behind_dot = std::mem::replace(&mut self.dot, at.kind == TokenKind::Punct(b'.'));
        self.nest(at, next);
        let statement = &mut self.statement;
        if at.kind == TokenKind::Punct(b';') {
            *statement = Statement::default();
            return Effects::NONE;
        }
        let is_target = std::mem::take(&mut statement.target);
        if statement.set.is_some() && is_untold(at.bytes, is_target, next) {
            return Effects::STORED_CODE | Effects::CHANGES_SESSION;
        }
        if is_target {
            return self.set(at, next);
        }
        let is_name = matches!(at.kind, TokenKind::Word | TokenKind::Quoted);
        if statement.declares && is_name && self.locals.len() < LOCALS_MAX {
            self.locals.push(at.bytes);
            statement.declares = next.kind() == Some(TokenKind::Punct(b','));
        }
        statement.declares |= at.bytes.eq_ignore_ascii_case(b"DECLARE");
        // Oracle's way needs no `SET`
        if next.kind() == Some(TokenKind::Assign) && is_session_variable(at.bytes) {
            return match is_untold(at.bytes, true, next) {
                true => Effects::STORED_CODE | Effects::CHANGES_SESSION,
                false => Effects::STORED_CODE,
            };
        }
        match at.kind {
            TokenKind::Punct(b',') => statement.target = statement.set == Some(at.depth),
            TokenKind::At if statement.into => return Effects::SETS_USER_VARIABLE,
            // a column's name
            TokenKind::Word if is_behind_dot => {}
            TokenKind::Word => return self.word(at.word, before, (at.depth, next)),
            _ => {}
        }
        Effects::NONE
    }

    /// Variables of a block within another one are gone at its end. What is taken for a block and
    /// is none ends too many.
    fn nest(&mut self, at: &At<'a>, next: &Reader<'a>) {
        const CLOSE: [&[u8]; 6] = [b"IF", b"CASE", b"LOOP", b"REPEAT", b"WHILE", b"FOR"];
        if at.kind != TokenKind::Word {
            return;
        }
        let closes = || CLOSE.iter().any(|word| next.bytes().eq_ignore_ascii_case(word));
        if at.bytes.eq_ignore_ascii_case(b"BEGIN") {
            self.blocks += 1;
            if self.blocks == 2 {
                self.outer = Some(self.locals.len());
            }
        } else if let Some(outer) = self.outer
            && at.bytes.eq_ignore_ascii_case(b"END")
            && !closes()
        {
            self.locals.truncate(outer);
        }
    }

    /// What is set by name.
    fn set(&self, at: &At<'a>, next: &Reader<'a>) -> Effects {
        let is_alone = || {
            let assigns = TokenKind::Punct(b'=');
            matches!(next.kind(), Some(kind) if kind == assigns || kind == TokenKind::Assign)
        };
        // whether a local one that is called like the server's is meant is not found out
        let is_known = || {
            self.locals.iter().any(|local| local.eq_ignore_ascii_case(at.bytes))
                && !is_session_variable(at.bytes)
        };
        // not `SESSION`, behind which a variable stands
        let is_local = || is_alone() && is_known();
        match at.kind {
            TokenKind::At => Effects::SETS_USER_VARIABLE,
            // `NEW.a`
            _ if next.kind() == Some(TokenKind::Punct(b'.')) => Effects::NONE,
            TokenKind::Word | TokenKind::Quoted if is_local() => Effects::NONE,
            _ => Effects::STORED_CODE,
        }
    }

    fn word(
        &mut self,
        word: Keyword,
        before: Option<Keyword>,
        (depth, next): (usize, &Reader<'a>),
    ) -> Effects {
        let statement = &mut self.statement;
        let called = next.kind() == Some(TokenKind::Punct(b'('));
        match word {
            Keyword::Insert | Keyword::Replace | Keyword::Truncate if called => {}
            Keyword::Insert | Keyword::Replace | Keyword::Delete | Keyword::Load => {
                statement.of_rows = true;
                return Effects::WRITES;
            }
            // a locking read counts as well
            Keyword::Update => {
                statement.of_rows |= before != Some(Keyword::For);
                return Effects::WRITES;
            }
            // what a condition is told with is set like columns
            Keyword::Signal | Keyword::Resignal => statement.of_rows = true,
            Keyword::Set if !statement.of_rows && before != Some(Keyword::Character) => {
                statement.set = Some(depth);
                statement.target = true;
            }
            // a procedure may give values to variables that it is called with
            Keyword::Into | Keyword::Diagnostics | Keyword::Call => statement.into = true,
            Keyword::Temporary => return Effects::TEMPORARY_TABLE,
            Keyword::Create | Keyword::Drop if next.keyword() == Keyword::Temporary => {}
            Keyword::Create
            | Keyword::Alter
            | Keyword::Drop
            | Keyword::Rename
            | Keyword::Truncate
            | Keyword::Flush
            | Keyword::Grant
            | Keyword::Revoke => return Effects::IMPLICIT_COMMIT | Effects::WRITES,
            Keyword::Lock if next.keyword() == Keyword::Tables => return Effects::LOCKS_TABLES,
            Keyword::Handler if next.keyword() != Keyword::For => return Effects::HANDLER,
            Keyword::Prepare | Keyword::Execute => {
                return Effects::TEXT_EXECUTE | Effects::ANY_STORED_CODE;
            }
            Keyword::Start if next.keyword() == Keyword::Transaction => {
                return Effects::TRANSACTION_START;
            }
            Keyword::Commit | Keyword::Rollback => return Effects::TRANSACTION_END,
            Keyword::Savepoint => return Effects::SAVEPOINT,
            Keyword::Xa => return Effects::XA,
            _ => {}
        }
        Effects::NONE
    }
}

/// Whether a word of a `SET` is about what servers do not tell of: how transactions are to be, as
/// `TRANSACTION`, alone or behind `SESSION`, or as a variable, and whether they tell at all.
fn is_untold(word: &[u8], is_target: bool, next: &Reader<'_>) -> bool {
    const VARIABLES: [&[u8]; 4] =
        [b"transaction_isolation", b"tx_isolation", b"transaction_read_only", b"tx_read_only"];
    let name = word.strip_prefix(b"@@").unwrap_or(word);
    let is_any = |names: &[&[u8]]| names.iter().any(|other| name.eq_ignore_ascii_case(other));
    let is_scope = || is_any(&[b"session", b"local"]);
    let is_alone = || is_any(&[b"transaction"]) && next.kind() == Some(TokenKind::Word);
    let is_behind = || is_scope() && next.bytes().eq_ignore_ascii_case(b"transaction");
    let tells = || name.get(..TELLS.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(TELLS));
    is_any(&VARIABLES) || tells() || is_target && (is_alone() || is_behind())
}

/// The beginning of variables that say what servers tell of.
const TELLS: &[u8] = b"session_track_";

/// What lasts beyond the code that does it, also where that fails.
const STAYS: Effects = Effects::SETS_USER_VARIABLE
    .union(Effects::TEMPORARY_TABLE)
    .union(Effects::USER_LOCK)
    .union(Effects::SEQUENCE)
    .union(Effects::TEXT_EXECUTE)
    .union(Effects::LOCKS_TABLES)
    .union(Effects::HANDLER)
    .union(Effects::XA)
    .union(Effects::UNCLEAR);

/// Variables of more than so many count as the server's.
const LOCALS_MAX: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_called_like_the_servers_is_taken_for_that() {
        let is_none: &[&str] = &["BEGIN total := 1; END", "BEGIN DECLARE a INT; SET a = 1; END"];
        let sets: &[&str] = &[
            "IF a THEN BEGIN DECLARE time_zone INT; END; ELSE SET time_zone = 2; END IF",
            "BEGIN DECLARE sql_mode CURSOR FOR SELECT 1; SET sql_mode = ''; END",
            "BEGIN sql_mode := ''; END",
        ];
        let gives = definition(b"BEGIN CALL q(1, @a); END", Modes::default());
        assert!(gives.contains(Effects::SETS_USER_VARIABLE | Effects::STORED_CODE));
        for (texts, expected) in [(is_none, Effects::NONE), (sets, Effects::STORED_CODE)] {
            for text in texts {
                assert_eq!(definition(text.as_bytes(), Modes::default()), expected, "{text}");
            }
        }
    }

    #[test]
    fn how_transactions_are_to_be_is_the_session_s_of_which_no_server_tells() {
        const SAYS: Effects = Effects::CHANGES_SESSION.union(Effects::STORED_CODE);
        let table = [
            ("BEGIN SET TRANSACTION READ ONLY; END", SAYS),
            ("BEGIN SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE; END", SAYS),
            ("BEGIN SET LOCAL tx_read_only = 1; END", SAYS),
            (
                "BEGIN SET @@session.transaction_isolation = 'SERIALIZABLE'; END",
                SAYS | Effects::SYSTEM_VARIABLE,
            ),
            ("SET NEW.a = 1, @@tx_isolation = 'SERIALIZABLE'", SAYS | Effects::SYSTEM_VARIABLE),
            ("SET NEW.transaction = 1, NEW.a = transaction", Effects::NONE),
            ("BEGIN SET Session_Track_State_Change = 0, time_zone = '+05:00'; END", SAYS),
            ("BEGIN SET SESSION session_track_schema = OFF; END", SAYS),
            (
                "BEGIN SET @@local.session_track_system_variables = ''; END",
                SAYS | Effects::SYSTEM_VARIABLE,
            ),
        ];
        for (text, expected) in table {
            assert_eq!(definition(text.as_bytes(), Modes::default()), expected, "{text}");
        }
    }

    #[test]
    fn a_body_does_what_all_its_statements_do() {
        let table: &[(&str, &[&str])] = &[
            ("RETURN a + 1", &[]),
            ("BEGIN DECLARE n, m INT DEFAULT 0; SET n = 1, m = n; RETURN n; END", &[]),
            ("BEGIN DECLARE n INT; SELECT COUNT(*) INTO n FROM t; RETURN n; END", &[]),
            ("SET NEW.a = REPLACE(NEW.b, 'x', 'y')", &[]),
            ("SET NEW.a = @tenant", &["USER_VARIABLE"]),
            (
                "BEGIN BEGIN DECLARE time_zone INT; SET time_zone = 1; END; SET time_zone = 2; END",
                &["STORED_CODE"],
            ),
            ("BEGIN DECLARE a INT; BEGIN DECLARE b INT; SET b = 1; END; SET a = 1; END", &[]),
            ("BEGIN DECLARE session INT; SET session time_zone = 1; END", &["STORED_CODE"]),
            ("BEGIN DECLARE local INT; SET local = 1; END", &[]),
            ("BEGIN IF NEW.update = 1 THEN SET time_zone = 1; END IF; END", &["STORED_CODE"]),
            ("BEGIN DECLARE a INT; SET a := 1; END", &[]),
            ("SET NEW.parent = LAST_INSERT_ID()", &["READS_LAST_INSERT_ID"]),
            (
                "BEGIN SET @a = 1; RETURN 1; END",
                &["USER_VARIABLE", "SETS_USER_VARIABLE", "STORED_CODE"],
            ),
            (
                "BEGIN SET NEW.a = 1, @b = 2; END",
                &["USER_VARIABLE", "SETS_USER_VARIABLE", "STORED_CODE"],
            ),
            (
                "BEGIN SELECT a, b INTO c, @d FROM t; END",
                &["USER_VARIABLE", "SETS_USER_VARIABLE", "STORED_CODE"],
            ),
            ("RETURN @a := 1", &["USER_VARIABLE", "SETS_USER_VARIABLE", "STORED_CODE"]),
            ("BEGIN SET sql_mode = ''; RETURN 1; END", &["STORED_CODE"]),
            ("BEGIN SET SESSION time_zone = '+01:00'; END", &["STORED_CODE"]),
            ("BEGIN SET @@time_zone = '+01:00'; END", &["SYSTEM_VARIABLE", "STORED_CODE"]),
            ("IF a THEN INSERT INTO ev VALUES (1); END IF", &["WRITES"]),
            ("BEGIN UPDATE t SET a = 1, b = 2; END", &["WRITES"]),
            (
                "BEGIN INSERT INTO t SET a = 1; SET @x = 2; END",
                &["USER_VARIABLE", "SETS_USER_VARIABLE", "WRITES", "STORED_CODE"],
            ),
            ("RETURN GET_LOCK(n, 0)", &["USER_LOCK", "STORED_CODE"]),
            ("nextval(`test`.`sq`)", &["SEQUENCE", "STORED_CODE"]),
            ("BEGIN CREATE TEMPORARY TABLE x (a INT); END", &["TEMPORARY_TABLE", "STORED_CODE"]),
            ("select connection_id() AS `a`,`t`.`b` from `t`", &["CONNECTION_ID"]),
            ("TRUNCATE(a, 2)", &[]),
            (
                "BEGIN DECLARE EXIT HANDLER FOR SQLEXCEPTION ROLLBACK; DROP TABLE t; END",
                &["TRANSACTION_END", "IMPLICIT_COMMIT", "WRITES"],
            ),
            ("BEGIN IF ROW_COUNT() > 0 THEN SIGNAL SQLSTATE '45000'; END IF; END", &[]),
            ("IF NEW.a < 0 THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'no'; END IF", &[]),
            (
                "BEGIN RESIGNAL SET MYSQL_ERRNO = 5; SET @a = 1; END",
                &["USER_VARIABLE", "SETS_USER_VARIABLE", "STORED_CODE"],
            ),
        ];
        for (text, expected) in table {
            let effects = definition(text.as_bytes(), Modes::default());
            assert_eq!(effects.names().collect::<Vec<_>>(), *expected, "{text}");
        }
        let unclear = definition(b"BEGIN /*M! SET @a = 1 */ END", Modes::default());
        assert!(unclear.contains(Effects::UNCLEAR.union(Effects::STORED_CODE)));
        let sql = definition(b"BEGIN EXECUTE s; END", Modes::default());
        assert!(sql.contains(Effects::ANY_STORED_CODE));
    }
}
