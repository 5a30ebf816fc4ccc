//! What one pass over a text tells.
//!
//! This file holds the answer and its callers' questions. `reader` reads effects that a word has
//! wherever it stands, `statement` effects of a statement as a whole.

use std::borrow::Cow;
use std::ops::Range;

use crate::as_run::Version;
use crate::lexer::{Lexer, Token, TokenKind};
use crate::reader::Reader;
use crate::run_texts::Room;
use crate::{Access, Effects, Modes, Verb, Versions};

/// What the proxy must know of a text.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Facts {
    /// Kind of the (first) statement.
    pub verb: Verb,
    /// What all its statements may leave behind or read of what was left.
    pub effects: Effects,
    /// What the first statement does to data.
    pub begins: Access,
    /// What all statements together do to data.
    pub access: Access,
    /// For a text that begins with `USE x`: where the name stands in it, without its quotes.
    pub schema: Option<Range<usize>>,
}

/// The facts of `text`, read as a server's default modes read it.
///
/// A text that was cut short gives the facts of what is there; the caller knows that it was cut.
pub fn facts(text: &[u8]) -> Facts {
    facts_in(text, Modes::default())
}

/// The facts of `text`, read as `modes` say.
pub fn facts_in(text: &[u8], modes: Modes) -> Facts {
    facts_within(text, modes, &mut Room::of(text))
}

/// The same with so much room to read what it has run, and what it may be in other modes.
#[inline]
pub(crate) fn facts_within(text: &[u8], modes: Modes, room: &mut Room) -> Facts {
    let mut reader = Reader::new(text, modes).within(*room);
    let mut facts = reader.read();
    *room = reader.room();
    let set_ends = reader.setter_end();
    if set_ends.is_some() || facts.effects.intersects(Effects::SET_STATEMENT) {
        facts.effects.insert(behind_a_set(text, set_ends, room));
    }
    if reader.is_ambiguous() && names_kill(text) && kills_somewhere(text, modes, room) {
        facts.effects.insert(Effects::KILLS);
    }
    facts
}

/// Whether one of several statements may set how those behind it are read, to any server.
pub fn sets_reading(text: &[u8], modes: Modes) -> bool {
    let mut reader = Reader::new(text, modes);
    reader.read();
    reader.setter_end().is_some() || reader.is_ambiguous()
}

/// What a `SET` may add: behind it, or within a `SET STATEMENT`, a text may be read otherwise.
#[cold]
#[inline(never)]
fn behind_a_set(text: &[u8], set_ends: Option<usize>, room: &mut Room) -> Effects {
    let behind = set_ends.and_then(|end| text.get(end..));
    let mut effects = Effects::NONE;
    if behind.is_some_and(|behind| may_kill_within(behind, room)) {
        effects.insert(Effects::KILLS);
    }
    let means_more =
        behind.unwrap_or(text).iter().any(|byte| matches!(byte, b'"' | b'\\' | 0x80..));
    let sets = |word: &&[u8]| contains_word(text, word);
    if means_more && [&b"sql_mode"[..], b"names", b"char"].iter().any(sets) {
        effects.insert(Effects::UNCLEAR);
    }
    effects
}

/// Whether a text whose modes nobody knows is a `KILL`, or has one, in any of them; also where that
/// would take too long to tell.
pub fn may_kill(text: &[u8]) -> bool {
    may_kill_within(text, &mut Room::of(text))
}

pub(crate) fn may_kill_within(text: &[u8], room: &mut Room) -> bool {
    names_kill(text) && Modes::all_in(text).any(|modes| kills_somewhere(text, modes, room))
}

/// Whether a text kills on any server, whichever of its comments are code there.
#[cold]
fn kills_somewhere(text: &[u8], modes: Modes, room: &mut Room) -> bool {
    let Some(versions) = Versions::named_in(text) else { return true };
    versions.iter().any(|version| {
        let (kills, behind) = kills_on(text, modes, version, room);
        // what that server takes for code may set how it reads the rest
        kills
            || behind.filter(|behind| names_kill(behind)).is_some_and(|behind| {
                Modes::all_in(behind).any(|modes| kills_on(behind, modes, version, room).0)
            })
    })
}

/// Whether a text kills on one server, and what of it stands behind what may set how it is read.
fn kills_on<'a>(
    text: &'a [u8],
    modes: Modes,
    version: Version,
    room: &mut Room,
) -> (bool, Option<&'a [u8]>) {
    if !room.spends(text.len()) {
        return (true, None);
    }
    let mut reader = Reader::of_version(text, modes, version).within(*room);
    let kills = reader.read().effects.intersects(Effects::KILLS);
    *room = reader.room();
    (kills, reader.setter_end().and_then(|end| text.get(end..)))
}

/// Whether `KILL` stands anywhere as a word. The number of a version may stand right in front.
pub(crate) fn names_kill(text: &[u8]) -> bool {
    let is_letter = |byte: &u8| byte.is_ascii_alphabetic() || *byte == b'_';
    let is_of_word = |byte: &u8| is_letter(byte) || byte.is_ascii_digit() || *byte == b'$';
    text.windows(4).enumerate().any(|(at, word)| {
        word.eq_ignore_ascii_case(b"kill")
            && !text.get(at + 4).is_some_and(is_of_word)
            && !at.checked_sub(1).and_then(|before| text.get(before)).is_some_and(is_letter)
    })
}

/// Whether a word stands anywhere, letter case aside.
pub(crate) fn contains_word(text: &[u8], word: &[u8]) -> bool {
    text.windows(word.len()).any(|part| part.eq_ignore_ascii_case(word))
}

/// Whether the text only reads: it may be sent once more, to another server, after a failure.
///
/// Stored functions are not seen.
pub fn is_read_only(facts: &Facts) -> bool {
    let reads = matches!(
        facts.verb,
        Verb::Select | Verb::Show | Verb::ShowTableStatus | Verb::Describe | Verb::Explain
    );
    let harmless = Effects::SYSTEM_VARIABLE.union(Effects::CALLS_CODE);
    reads && facts.effects.without(harmless).is_empty()
}

/// Whether the text may be sent once more where the session had nothing on its connection: it only
/// reads, or all that it does is lost with the connection.
pub fn is_repeatable(facts: &Facts) -> bool {
    let begins = matches!(facts.verb, Verb::Begin | Verb::StartTransaction | Verb::Use);
    is_read_only(facts) || begins && facts.effects.without(Effects::TRANSACTION_START).is_empty()
}

/// The schema of a text that is one `USE x` and nothing else.
pub fn parse_use(text: &[u8]) -> Option<Cow<'_, [u8]>> {
    parse_use_in(text, Modes::default())
}

/// The same of a text that is read as `modes` say.
pub fn parse_use_in(text: &[u8], modes: Modes) -> Option<Cow<'_, [u8]>> {
    let mut lexer = Lexer::new(text, modes);
    let verb = lexer.next_token()?;
    if verb.kind != TokenKind::Word || !lexer.slice(verb).eq_ignore_ascii_case(b"USE") {
        return None;
    }
    let name = lexer.next_token()?;
    while let Some(token) = lexer.next_token() {
        if token.kind != TokenKind::Punct(b';') {
            return None;
        }
    }
    let schema = schema_name(&lexer, name)?;
    if lexer.is_ambiguous() { None } else { Some(schema) }
}

fn schema_name<'a>(lexer: &Lexer<'a>, name: Token) -> Option<Cow<'a, [u8]>> {
    match name.kind {
        TokenKind::Word => Some(Cow::Borrowed(lexer.slice(name))),
        TokenKind::Quoted if lexer.is_closed(name) => {
            let quote = lexer.slice(name).first()?;
            Some(undoubled(lexer.unquoted(name), *quote))
        }
        _ => None,
    }
}

/// `body` with every two quotes made one.
pub(crate) fn undoubled(body: &[u8], quote: u8) -> Cow<'_, [u8]> {
    if !body.contains(&quote) {
        return Cow::Borrowed(body);
    }
    let mut out = Vec::with_capacity(body.len());
    let mut bytes = body.iter();
    while let Some(&byte) = bytes.next() {
        out.push(byte);
        if byte == quote {
            bytes.next();
        }
    }
    Cow::Owned(out)
}

/// The same, each escape made the byte that it stands for; a blank for those of invisible bytes.
pub(crate) fn unescaped(body: &[u8], quote: u8, modes: Modes) -> Cow<'_, [u8]> {
    if modes.no_backslash_escapes || !body.contains(&b'\\') {
        return undoubled(body, quote);
    }
    let mut bytes = body.iter().copied();
    let mut out = Vec::with_capacity(body.len());
    while let Some(byte) = bytes.next() {
        out.push(match byte {
            b'\\' => match bytes.next() {
                Some(b'0' | b'b' | b'n' | b'r' | b't' | b'Z') => b' ',
                Some(itself) => itself,
                None => break,
            },
            _ => byte,
        });
        if byte == quote {
            bytes.next();
        }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod corpus_table;
#[cfg(test)]
mod tests;
