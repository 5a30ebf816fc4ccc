//! What a `KILL` is to end: a connection or its query, named by an id or by a user.
//!
//! Ids are small expressions. Ids that can be known without a server are computed; what variables
//! and the connection's own id are is asked of the caller.

use crate::Modes;
use crate::cursor::Cursor;
use crate::keyword::{Keyword, keyword};
use crate::lexer::TokenKind;

/// A `KILL` that was understood.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KillStatement<'a> {
    /// Only what runs is ended, and the connection stays.
    pub query_only: bool,
    /// Whose.
    pub whose: Killed<'a>,
}

/// What a `KILL` names.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Killed<'a> {
    /// A connection's id.
    Connection(u64),
    /// MariaDB's `QUERY ID`: the number of a statement on its server.
    Query(u64),
    /// All connections of a user, by name without quotes.
    User(&'a [u8]),
    /// All connections of the user that asks.
    OwnUser,
}

/// What the id of a `KILL` is made of and its text does not tell.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum KillOperand<'a> {
    /// `CONNECTION_ID()` or `@@pseudo_thread_id`.
    OwnId,
    /// `@x`, without `@` and quotes; compare without regard to case.
    Variable(&'a [u8]),
}

/// How deep parentheses and signs may lie in each other.
const DEPTH: usize = 16;

/// What the one statement of a text kills; `None` where it does not say so by itself.
pub fn parse_kill<'a>(
    text: &'a [u8],
    modes: Modes,
    known: &dyn Fn(KillOperand<'a>) -> Option<u64>,
) -> Option<KillStatement<'a>> {
    let mut words = Cursor::new(text, modes);
    if !words.takes(b"KILL") {
        return None;
    }
    let _ = words.takes(b"HARD") || words.takes(b"SOFT");
    let query_only = words.takes(b"QUERY");
    if !query_only {
        words.takes(b"CONNECTION");
    }
    let whose = if words.takes(b"USER") {
        words.killed_user()?
    } else if query_only && words.takes(b"ID") {
        Killed::Query(words.id(known, DEPTH)?.cast_unsigned())
    } else {
        Killed::Connection(words.id(known, DEPTH)?.cast_unsigned())
    };
    words.is_over().then_some(KillStatement { query_only, whose })
}

impl<'a> Cursor<'a> {
    /// A user without a host, or with any.
    fn killed_user(&mut self) -> Option<Killed<'a>> {
        if self.takes(b"CURRENT_USER") {
            let is_alone = !self.take_punct(b'(') || self.take_punct(b')');
            return is_alone.then_some(Killed::OwnUser);
        }
        let name = self.account_part()?;
        if self.take(TokenKind::At).is_some() && self.account_part()? != b"%" {
            return None;
        }
        Some(Killed::User(name))
    }

    fn account_part(&mut self) -> Option<&'a [u8]> {
        let token = self.token?;
        let part = match token.kind {
            TokenKind::Word => self.lexer.slice(token),
            TokenKind::Quoted | TokenKind::Text if self.lexer.is_closed(token) => {
                self.lexer.unquoted(token)
            }
            _ => return None,
        };
        self.advance();
        (!part.iter().any(|byte| b"\\'\"`".contains(byte))).then_some(part)
    }

    /// Operands with signs between them.
    fn id(&mut self, known: &dyn Fn(KillOperand<'a>) -> Option<u64>, depth: usize) -> Option<i64> {
        let mut sum = self.operand(known, depth)?;
        loop {
            if self.take_punct(b'+') {
                sum = sum.checked_add(self.operand(known, depth)?)?;
            } else if self.take_punct(b'-') {
                sum = sum.checked_sub(self.operand(known, depth)?)?;
            } else {
                return Some(sum);
            }
        }
    }

    fn operand(
        &mut self,
        known: &dyn Fn(KillOperand<'a>) -> Option<u64>,
        depth: usize,
    ) -> Option<i64> {
        let depth = depth.checked_sub(1)?;
        let token = self.token?;
        self.advance();
        let of_variable = |operand| i64::try_from(known(operand)?).ok();
        match token.kind {
            TokenKind::Number => number(self.lexer.slice(token)),
            TokenKind::Text if self.lexer.is_closed(token) => number(self.lexer.unquoted(token)),
            TokenKind::Punct(b'-') => self.operand(known, depth)?.checked_neg(),
            TokenKind::Punct(b'+') => self.operand(known, depth),
            TokenKind::Punct(b'(') => {
                let inner = self.id(known, depth)?;
                self.take_punct(b')').then_some(inner)
            }
            TokenKind::At => {
                let end = token.end;
                let name = self.token.filter(|name| name.start == end)?;
                of_variable(KillOperand::Variable(self.account_part_of(name.kind)?))
            }
            TokenKind::SystemAt => {
                if (self.takes(b"SESSION") || self.takes(b"LOCAL")) && !self.take_punct(b'.') {
                    return None;
                }
                self.takes(b"PSEUDO_THREAD_ID").then_some(())?;
                of_variable(KillOperand::OwnId)
            }
            TokenKind::Word => match keyword(self.lexer.slice(token)) {
                Keyword::ConnectionId => {
                    let is_call = self.take_punct(b'(') && self.take_punct(b')');
                    is_call.then(|| of_variable(KillOperand::OwnId))?
                }
                Keyword::Null => Some(0),
                _ => None,
            },
            _ => None,
        }
    }

    /// The name of a user variable.
    fn account_part_of(&mut self, kind: TokenKind) -> Option<&'a [u8]> {
        let named = matches!(kind, TokenKind::Word | TokenKind::Quoted | TokenKind::Text);
        let name = self.account_part().filter(|_| named)?;
        (self.kind() != Some(TokenKind::Punct(b'.'))).then_some(name)
    }
}

fn number(digits: &[u8]) -> Option<i64> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kill(text: &str) -> Option<KillStatement<'_>> {
        parse_kill(text.as_bytes(), Modes::default(), &|operand| match operand {
            KillOperand::OwnId => Some(70),
            KillOperand::Variable(name) => name.eq_ignore_ascii_case(b"v").then_some(50),
        })
    }

    #[test]
    fn an_id_is_understood_in_every_spelling_that_tells_it() {
        for text in [
            "KILL 12",
            "kill connection 12;",
            "KILL 12 /* app:x */",
            "/* app */ KILL 12",
            "/*!40000 KILL 12 */",
            "KILL -- why\n 12",
            "KILL 12;;",
            "KILL HARD 12",
            "KILL SOFT CONNECTION 12",
            "KILL (12)",
            "KILL ((12 + 0))",
            "KILL 7+10-5",
            "KILL - -12",
            "KILL '12'",
            "KILL @V-38",
            "KILL CONNECTION_ID() - 58",
            "KILL @@session.pseudo_thread_id-58",
        ] {
            let expected = KillStatement { query_only: false, whose: Killed::Connection(12) };
            assert_eq!(kill(text), Some(expected), "{text}");
        }
        let query = kill("KILL SOFT QUERY 9");
        assert_eq!(query, Some(KillStatement { query_only: true, whose: Killed::Connection(9) }));
        let minus = kill("KILL -1").map(|kill| kill.whose);
        assert_eq!(minus, Some(Killed::Connection(u64::MAX)));
        let of_server = kill("KILL QUERY ID 9").map(|kill| kill.whose);
        assert_eq!(of_server, Some(Killed::Query(9)));
    }

    #[test]
    fn a_user_is_understood_with_any_host_only() {
        for text in ["KILL USER ann", "KILL HARD QUERY USER 'ann'@'%'", "KILL USER `ann`@`%`;"] {
            assert_eq!(kill(text).map(|kill| kill.whose), Some(Killed::User(b"ann")), "{text}");
        }
        for text in ["KILL USER CURRENT_USER", "KILL QUERY USER current_user()"] {
            assert_eq!(kill(text).map(|kill| kill.whose), Some(Killed::OwnUser), "{text}");
        }
        assert_eq!(kill("KILL USER ann@localhost"), None);
        assert_eq!(kill("KILL USER 'a''b'"), None);
    }

    #[test]
    fn what_does_not_tell_is_not_guessed() {
        for text in [
            "KILL",
            "KILL ID 9",
            "KILL 9, 10",
            "KILL 9; KILL 10",
            "KILL 9; SELECT 1",
            "SELECT 1; KILL 9",
            "SET STATEMENT max_statement_time=1 FOR KILL 9",
            "KILL (SELECT 9)",
            "KILL @unset",
            "KILL @a.b",
            "KILL 9*1",
            "KILL 1.5e1",
            "KILL 0x9",
            "KILL ?",
            "KILL (9",
            "KILL 99999999999999999999999",
            "/*M! KILL 9 */",
            "KILL /*!99999 1 + */ 9",
        ] {
            assert_eq!(kill(text), None, "{text}");
        }
        assert_eq!(kill(&format!("KILL {}9{}", "(".repeat(40), ")".repeat(40))), None);
    }
}
