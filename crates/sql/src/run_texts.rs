//! What the texts are that a text has run by `EXECUTE IMMEDIATE` and `PREPARE … FROM`, as far as
//! that can be told without a server.
//!
//! Literals, variables and a few functions that put texts together are read. Of what a variable was
//! set to in the same text, the ways that lead there are not told apart. A part that any other
//! function makes matters where it may begin a statement.

use std::collections::HashMap;

use crate::cursor::Cursor;
use crate::facts::{facts_within, may_kill_within};
use crate::lexer::{Lexer, Token, TokenKind};
use crate::{Effects, Modes, Verb};
use expression::DEPTH;
use made::{ALTERNATIVES, Made};

/// What was found of the texts that a text has run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum RunTexts {
    /// None of them is seen to kill.
    #[default]
    Harmless,
    /// A function begins one of them that is not read: it may be any statement.
    Unread,
    /// One of them is a `KILL`.
    Kill,
}

/// What a user variable was set to, by its name without `@` and in small letters: an expression.
pub type KnownVariables<'k> = &'k dyn Fn(&[u8]) -> Option<&'k [u8]>;

/// What is found of the texts that `text` has run.
pub fn run_texts(text: &[u8], modes: Modes, known: KnownVariables<'_>) -> RunTexts {
    run_texts_within(text, modes, known, &mut Room::of(text))
}

/// The same with so much room, of which it takes some.
pub(crate) fn run_texts_within(
    text: &[u8],
    modes: Modes,
    known: KnownVariables<'_>,
    room: &mut Room,
) -> RunTexts {
    let Some(depth) = room.depth.checked_sub(1) else { return RunTexts::Unread };
    let mut walk = Walk::new(text, (modes, known), Room { depth, ..*room });
    walk.all();
    room.bytes = walk.room.bytes;
    walk.found
}

/// Whether a text that is to be prepared has parameters and may run one of them.
pub fn may_run_parameters(text: &[u8], modes: Modes) -> bool {
    let mut lexer = Lexer::new(text, modes);
    let (mut has_parameters, mut runs_texts) = (false, false);
    while let Some(token) = lexer.next_token() {
        let is = |word: &[u8]| lexer.slice(token).eq_ignore_ascii_case(word);
        has_parameters |= token.kind == TokenKind::Punct(b'?');
        runs_texts |= token.kind == TokenKind::Word && (is(b"EXECUTE") || is(b"PREPARE"));
    }
    has_parameters && runs_texts
}

/// What may still be read of the texts that a text has run, and of what it may be in other modes.
/// Each level multiplies what there is to read, so all of them share it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Room {
    /// Bytes of texts that are put together or read.
    bytes: usize,
    /// How deep texts that run texts are followed.
    depth: usize,
}

impl Room {
    /// That of a whole text: enough to read what people write in every way.
    pub(crate) fn of(text: &[u8]) -> Self {
        const ALWAYS: usize = 1 << 16;
        const MOST: usize = 24 << 20;
        let len = text.len();
        let bytes = len.saturating_mul(64).min(MOST).max(len.saturating_mul(4));
        Self { bytes: bytes.saturating_add(ALWAYS), depth: 5 }
    }

    /// Takes so many bytes of it; whether there were so many.
    pub(crate) fn spends(&mut self, bytes: usize) -> bool {
        let left = self.bytes.checked_sub(bytes);
        self.bytes = left.unwrap_or(0);
        left.is_some()
    }
}

/// A walk over the tokens of one text.
struct Walk<'a, 'k> {
    words: Cursor<'a>,
    modes: Modes,
    known: KnownVariables<'k>,
    /// What variables may be, by name in small letters; with `@` those of the user.
    set: HashMap<Vec<u8>, Vec<Made>>,
    /// What follows is maybe not run.
    branches: bool,
    /// Words of the statement at hand that may be variables of a block.
    listed: Vec<Vec<u8>>,
    /// The next word may be one.
    lists: bool,
    room: Room,
    found: RunTexts,
}

impl<'a, 'k: 'a> Walk<'a, 'k> {
    fn new(text: &'a [u8], (modes, known): (Modes, KnownVariables<'k>), room: Room) -> Self {
        Self {
            words: Cursor::new(text, modes),
            modes,
            known,
            set: HashMap::new(),
            branches: false,
            listed: Vec::new(),
            lists: true,
            room,
            found: RunTexts::Harmless,
        }
    }

    /// Walks over all of it.
    fn all(&mut self) {
        let mut target = None;
        while let Some(token) = self.words.token {
            let before = target.take();
            match token.kind {
                TokenKind::At => target = self.variable(token),
                TokenKind::Word | TokenKind::Quoted => {
                    target = self.word();
                    if let Some(name) = target.as_ref().filter(|_| self.lists) {
                        self.listed.push(name.clone());
                        self.lists = false;
                    }
                }
                TokenKind::Assign => {
                    self.words.advance();
                    self.assign(before, true);
                }
                TokenKind::Punct(b'=') => {
                    self.words.advance();
                    if before.is_some() {
                        self.assign(before, false);
                    }
                }
                kind => {
                    self.words.advance();
                    self.lists |= kind == TokenKind::Punct(b',');
                    if kind == TokenKind::Punct(b';') {
                        self.begin();
                    }
                }
            }
        }
    }

    /// A statement begins.
    fn begin(&mut self) {
        self.listed.clear();
        self.lists = true;
    }

    /// At a word: what it says, or its name if it says nothing.
    fn word(&mut self) -> Option<Vec<u8>> {
        let takes = |walk: &mut Self, words: &[&[u8]]| words.iter().any(|w| walk.words.takes(w));
        if takes(self, &[b"EXECUTE"]) {
            if takes(self, &[b"IMMEDIATE"]) {
                self.run();
            }
        } else if takes(self, &[b"PREPARE"]) {
            if self.words.identifier().is_some() && takes(self, &[b"FROM"]) {
                self.run();
            }
        } else if takes(self, &[b"DEFAULT"]) {
            self.assign(None, true);
        } else if takes(self, &[b"DECLARE", b"BEGIN"]) {
            self.begin();
        } else if takes(self, &BRANCHES) {
            self.branches = true;
        } else {
            return self.name();
        }
        None
    }

    /// At the expression that a variable is set to, one of a declaration too.
    fn assign(&mut self, target: Option<Vec<u8>>, declares: bool) {
        let all = self.expression(DEPTH);
        self.put(target, declares, &all);
    }

    fn put(&mut self, target: Option<Vec<u8>>, declares: bool, all: &[Made]) {
        // a variable may be what nobody reads
        let read = |made: &Made| Made { unread: None, ..made.clone() };
        let is_set = self.listed.first().is_some_and(|first| first == b"set");
        if let Some(name) = target.as_ref().filter(|_| is_set && !self.branches) {
            self.set.remove(name);
        }
        let listed = if declares && !is_set { self.listed.clone() } else { Vec::new() };
        let bytes: usize = all.iter().map(|made| made.text.len() + 1).sum();
        for name in listed.into_iter().chain(target) {
            if !self.spends(bytes) {
                return;
            }
            let may_be = self.set.entry(name).or_default();
            may_be.extend(all.iter().map(read));
            may_be.drain(..may_be.len().saturating_sub(ALTERNATIVES));
        }
    }

    /// At the expression that is run.
    fn run(&mut self) {
        for made in self.expression(DEPTH) {
            self.found = self.found.max(self.found_in(&made));
        }
    }

    fn found_in(&mut self, made: &Made) -> RunTexts {
        let text = &made.text;
        if !self.spends(text.len()) {
            return RunTexts::Unread;
        }
        // its character set, or what runs it, may set other modes
        if may_kill_within(text, &mut self.room) {
            return RunTexts::Kill;
        }
        let effects = facts_within(text, self.modes, &mut self.room).effects;
        if let Some(at) = made.unread
            && !self.is_begun(text.get(..at).unwrap_or_default())
        {
            return RunTexts::Unread;
        }
        // parameters are told to whoever runs it, and not here
        if may_run_parameters(text, self.modes) {
            return RunTexts::Unread;
        }
        if !effects.intersects(Effects::RUNS_TEXTS.union(Effects::USER_VARIABLE)) {
            return RunTexts::Harmless;
        }
        let Some(depth) = self.room.depth.checked_sub(1) else { return RunTexts::Unread };
        let mut walk = Walk::new(text, (self.modes, self.known), Room { depth, ..self.room });
        walk.set = std::mem::take(&mut self.set);
        walk.all();
        (self.set, self.room.bytes) = (walk.set, walk.room.bytes);
        walk.found
    }

    /// Whether what a text begins with makes it a statement that nothing behind makes kill.
    fn is_begun(&mut self, head: &[u8]) -> bool {
        let mut words = Cursor::new(head, self.modes);
        let is_whole = |token: Option<Token>| token.is_some_and(|token| token.end < head.len());
        if !is_whole(words.token) || words.takes(b"SET") && !is_whole(words.token) {
            return false;
        }
        let facts = facts_within(head, self.modes, &mut self.room);
        let is_clear = !facts.effects.intersects(Effects::RUNS_TEXTS.union(Effects::SET_STATEMENT));
        is_clear && !matches!(facts.verb, Verb::Unknown | Verb::Begin)
    }

    fn spends(&mut self, bytes: usize) -> bool {
        self.room.spends(bytes)
    }
}

/// Words behind which not everything runs.
const BRANCHES: [&[u8]; 8] =
    [b"IF", b"CASE", b"LOOP", b"WHILE", b"REPEAT", b"FOR", b"HANDLER", b"ELSE"];

mod expression;
mod made;
#[cfg(test)]
mod tests;
