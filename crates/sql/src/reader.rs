//! Walks over the tokens of a text and notes what words mean wherever they stand.
//!
//! What a statement as a whole does is decided in `statement`, which drives this cursor.

use std::ops::Range;

use crate::as_run::Version;
use crate::blocks::blocks_are_clear;
use crate::facts::{contains_word, names_kill};
use crate::keyword::{Keyword, function, is_dull, keyword, table};
use crate::lexer::{Lexer, Token, TokenKind};
use crate::run_texts::{Room, RunTexts, run_texts_within};
use crate::{Access, Effects, Facts, Modes, Verb};

/// A cursor over one text: the token at hand, and what was noted so far.
pub(crate) struct Reader<'a> {
    text: &'a [u8],
    lexer: Lexer<'a>,
    token: Option<Token>,
    keyword: Keyword,
    effects: Effects,
    /// What the statement at hand does to data.
    access: Access,
    schema: Option<Range<usize>>,
    depth: usize,
    /// Effects of the function just named, in force when a parenthesis follows.
    called: Effects,
    /// `LAST_INSERT_ID(` was just seen.
    opens_insert_id: bool,
    system: System,
    /// `@` follows an account's name here and is no variable.
    accounts: bool,
    definer: Definer,
    /// User variables are where a file's fields go.
    loads: bool,
    /// The statement puts rows into a table.
    inserts: bool,
    /// Texts that it makes are run as statements.
    runs_texts: bool,
    body: Body,
    /// What stands in the statement is kept as stored code: nothing of it runs.
    keeps_code: bool,
    /// What looks like a statement of a block kills.
    kills_in_block: bool,
    /// Where the first statement ends that may set how those behind it are read.
    setter_end: Option<usize>,
    /// Something may be a string of newer servers.
    has_dollars: bool,
    room: Room,
}

/// A text with one of these may run more than the definition that it is.
const BESIDE_CODE: Effects =
    Effects::UNCLEAR.union(Effects::MULTI_STATEMENT).union(Effects::SET_STATEMENT);

/// Effects that code has when it runs, and not when it is kept.
const OF_CODE: Effects = Effects::LOCKING_READ
    .union(Effects::USER_VARIABLE)
    .union(Effects::SETS_USER_VARIABLE)
    .union(Effects::USER_LOCK)
    .union(Effects::CALC_FOUND_ROWS)
    .union(Effects::READS_FOUND_ROWS)
    .union(Effects::READS_ROW_COUNT)
    .union(Effects::READS_LAST_INSERT_ID)
    .union(Effects::SETS_LAST_INSERT_ID)
    .union(Effects::SHOW_WARNINGS)
    .union(Effects::CONNECTION_ID)
    .union(Effects::SEQUENCE);

impl<'a> Reader<'a> {
    pub(crate) fn new(text: &'a [u8], modes: Modes) -> Self {
        Self::reading(text, Lexer::new(text, modes))
    }

    /// The same for one server, of which it is known which comments are code.
    pub(crate) fn of_version(text: &'a [u8], modes: Modes, version: Version) -> Self {
        Self::reading(text, Lexer::of_version(text, modes, version))
    }

    fn reading(text: &'a [u8], lexer: Lexer<'a>) -> Self {
        Self {
            text,
            lexer,
            token: None,
            keyword: Keyword::None,
            effects: Effects::NONE,
            access: Access::Changes,
            schema: None,
            depth: 0,
            called: Effects::NONE,
            opens_insert_id: false,
            system: System::No,
            accounts: false,
            definer: Definer::No,
            loads: false,
            inserts: false,
            runs_texts: false,
            body: Body::No,
            keeps_code: false,
            kills_in_block: false,
            setter_end: None,
            has_dollars: false,
            room: Room::of(text),
        }
    }

    /// With so much room to read the texts that it has run.
    pub(crate) fn within(self, room: Room) -> Self {
        Self { room, ..self }
    }

    /// The room that is left.
    pub(crate) fn room(&self) -> Room {
        self.room
    }

    /// Reads all statements of the text.
    pub(crate) fn read(&mut self) -> Facts {
        self.read_all::<true>()
    }

    /// Whether servers tell comments from code in different ways.
    pub(crate) fn is_ambiguous(&self) -> bool {
        self.lexer.is_ambiguous()
    }

    /// Where the first of several statements ends that may set how those behind it are read.
    pub(crate) fn setter_end(&self) -> Option<usize> {
        self.setter_end
    }

    /// `FAST` changes nothing but the time it takes.
    pub(crate) fn read_all<const FAST: bool>(&mut self) -> Facts {
        self.advance();
        let mut verb = self.statement(true);
        self.skip_statement::<FAST>();
        self.find_setter(verb, 0);
        if verb == Verb::Select && self.effects.contains(Effects::LOCKING_READ) {
            verb = Verb::SelectForUpdate;
        }
        let (begins, schema) = (self.access, self.schema.take());
        let mut access = begins;
        while self.next_statement() {
            self.note(Effects::MULTI_STATEMENT);
            let start = self.token.map_or(0, |token| token.start);
            let verb = self.statement(false);
            access = access.max(self.access);
            self.skip_statement::<FAST>();
            self.find_setter(verb, start);
        }
        // a block without an end is none: `BEGIN` was a name, as it may have been elsewhere
        if self.kills_in_block
            && (self.body.is_open() || !blocks_are_clear(self.text, self.lexer.modes()))
        {
            self.note(Effects::KILLS);
        }
        if self.runs_texts {
            let modes = self.lexer.modes();
            let found = run_texts_within(self.text, modes, &|_| None, &mut self.room);
            self.note(if found == RunTexts::Harmless { Effects::NONE } else { Effects::KILLS });
        }
        let mut effects = self.effects();
        if self.keeps_code && !effects.intersects(BESIDE_CODE) {
            effects = effects.without(OF_CODE) | Effects::KEEPS_CODE;
        }
        if effects.intersects(Effects::UNCLEAR | Effects::SEQUENCE) {
            access = Access::Changes;
        }
        Facts { verb, effects, begins, access, schema }
    }

    /// At the end of a statement that begins at `start`.
    fn find_setter(&mut self, verb: Verb, start: usize) {
        let Some(end) = self.token.filter(|_| self.setter_end.is_none()) else { return };
        if matches!(verb, Verb::Set | Verb::Execute | Verb::Begin | Verb::Unknown) {
            let statement = self.lexer.between(start, end.start);
            let sets = |word| contains_word(statement, word);
            let words: [&[u8]; 4] = [b"sql_mode", b"names", b"char", b"execute"];
            self.setter_end = words.into_iter().any(sets).then_some(end.end);
        }
    }

    /// Goes on to the next token, noting the effects of the one it leaves behind.
    pub(crate) fn advance(&mut self) {
        let before = std::mem::replace(&mut self.keyword, Keyword::None);
        let previous = self.token;
        self.token = self.lexer.next_token();
        let called = std::mem::take(&mut self.called);
        let Some(token) = self.token else {
            if self.opens_insert_id {
                self.note(Effects::SETS_LAST_INSERT_ID);
            }
            return;
        };
        if self.opens_insert_id {
            self.opens_insert_id = false;
            if token.kind != TokenKind::Punct(b')') {
                self.note(Effects::SETS_LAST_INSERT_ID);
            }
        }
        let system = std::mem::take(&mut self.system);
        let definer = self.definer;
        self.definer = definer.then(token.kind);
        if matches!(self.body, Body::Block { .. }) {
            self.nest(token);
        }
        match token.kind {
            TokenKind::Word => {
                let word = match keyword(self.lexer.slice(token)) {
                    // reserved: a name only there
                    Keyword::Kill if self.follows_dot(previous) => Keyword::None,
                    word => word,
                };
                if system == System::Name {
                    self.system_name(word);
                } else if !follows_at(previous, token) {
                    self.keyword = word;
                    if word != Keyword::None {
                        self.word(word, before);
                    } else {
                        self.other_word(token);
                    }
                }
            }
            TokenKind::Quoted | TokenKind::Text => {
                let word = keyword(self.lexer.unquoted(token));
                match system {
                    System::Name => self.system_name(word),
                    _ => {
                        self.called = function(word);
                        self.note(table_in(token.kind, word));
                    }
                }
            }
            TokenKind::Punct(b'(') => {
                self.depth += 1;
                self.note(called);
                self.opens_insert_id = called.contains(Effects::READS_LAST_INSERT_ID);
            }
            TokenKind::Punct(b')') => self.depth = self.depth.saturating_sub(1),
            TokenKind::Punct(b'.') if system == System::Scope => self.system = System::Name,
            TokenKind::At => self.at(before, definer),
            TokenKind::Assign if self.effects.contains(Effects::USER_VARIABLE) => {
                self.note(Effects::SETS_USER_VARIABLE);
            }
            TokenKind::SystemAt => {
                self.note(Effects::SYSTEM_VARIABLE);
                self.system = System::Name;
            }
            _ => {}
        }
    }

    /// The keyword at hand.
    pub(crate) fn keyword(&self) -> Keyword {
        self.keyword
    }

    /// The keyword at hand, which is left behind.
    pub(crate) fn take_keyword(&mut self) -> Keyword {
        let keyword = self.keyword;
        self.advance();
        keyword
    }

    /// Leaves the keyword at hand behind if it is `keyword`.
    pub(crate) fn takes(&mut self, keyword: Keyword) -> bool {
        let found = self.keyword == keyword;
        if found {
            self.advance();
        }
        found
    }

    /// The kind of the token at hand.
    pub(crate) fn kind(&self) -> Option<TokenKind> {
        self.token.map(|token| token.kind)
    }

    /// The bytes of the token at hand, those between its quotes if it has any.
    pub(crate) fn bytes(&self) -> &'a [u8] {
        match self.token {
            Some(token) if token.kind == TokenKind::Quoted => self.lexer.unquoted(token),
            Some(token) => self.lexer.slice(token),
            None => &[],
        }
    }

    /// What was noted so far; a text that can be read in two ways is unclear.
    pub(crate) fn effects(&self) -> Effects {
        match self.lexer.is_ambiguous() {
            true => self.effects | Effects::UNCLEAR,
            false => self.effects,
        }
    }

    /// Whether the statement at hand is over.
    pub(crate) fn at_end(&self) -> bool {
        matches!(self.kind(), None | Some(TokenKind::Punct(b';')))
    }

    /// The statement at hand does this to data.
    pub(crate) fn accesses(&mut self, access: Access) {
        self.access = access;
    }

    /// How many parentheses are open.
    pub(crate) fn depth(&self) -> usize {
        self.depth
    }

    pub(crate) fn keeps_code(&mut self, is_kept: bool) {
        self.keeps_code = is_kept;
    }

    pub(crate) fn note(&mut self, effects: Effects) {
        self.effects.insert(effects);
    }

    /// From here on `@` follows the name of an account.
    pub(crate) fn expect_accounts(&mut self) {
        self.accounts = true;
    }

    /// From here on user variables are given values.
    pub(crate) fn expect_assignments(&mut self) {
        self.loads = true;
    }

    /// Notes the name at hand as the schema of a `USE`; false when it is no plain name.
    pub(crate) fn take_schema(&mut self) -> bool {
        let Some(token) = self.token else { return false };
        let range = match token.kind {
            TokenKind::Word => token.start..token.end,
            TokenKind::Quoted => {
                let body = self.lexer.unquoted(token);
                if body.contains(&b'`') {
                    return false;
                }
                token.start + 1..token.start + 1 + body.len()
            }
            _ => return false,
        };
        self.advance();
        let plain = self.at_end();
        if plain {
            self.schema = Some(range);
        }
        plain
    }

    fn skip_statement<const FAST: bool>(&mut self) {
        while !self.at_end() {
            let quiet = FAST
                && self.called.is_empty()
                && !self.opens_insert_id
                && self.system == System::No
                && self.definer == Definer::No
                && self.body == Body::No
                && !self.effects.contains(Effects::USER_VARIABLE);
            if quiet && self.lexer.skip_dull(is_dull) {
                self.token = None;
                self.keyword = Keyword::None;
            }
            self.advance();
        }
    }

    /// The statement at hand defines stored code: nothing of its body is run now.
    pub(crate) fn expect_body(&mut self) {
        self.body = Body::Single;
    }

    /// Texts that the statement at hand makes are run as statements.
    pub(crate) fn expect_texts(&mut self) {
        self.runs_texts |= self.body == Body::No;
    }

    /// The statement at hand puts rows into a table.
    pub(crate) fn expect_rows(&mut self) {
        self.inserts = true;
    }

    /// Goes past semicolons; whether a statement follows.
    fn next_statement(&mut self) -> bool {
        self.depth = 0;
        self.accounts = false;
        self.loads = false;
        self.inserts = false;
        if self.body == Body::Single {
            self.body = Body::No;
        }
        while self.kind() == Some(TokenKind::Punct(b';')) {
            self.advance();
        }
        self.token.is_some()
    }

    fn word(&mut self, word: Keyword, before: Keyword) {
        self.called = function(word);
        let effects = match (before, word) {
            (Keyword::For, Keyword::Update | Keyword::Share) | (Keyword::Lock, Keyword::In) => {
                Effects::LOCKING_READ
            }
            (Keyword::Into, Keyword::Outfile | Keyword::Dumpfile) => Effects::INTO_FILE,
            (Keyword::Next | Keyword::Previous, Keyword::Value) => Effects::SEQUENCE,
            // the result tells the rows, and not the id that was made
            (_, Keyword::Returning) if self.inserts => Effects::SETS_LAST_INSERT_ID,
            (_, Keyword::SqlCalcFoundRows) => Effects::CALC_FOUND_ROWS,
            (_, Keyword::SessionVariables | Keyword::SystemVariables) => table(word),
            (_, Keyword::Nextval | Keyword::Lastval | Keyword::Setval | Keyword::Currval) => {
                Effects::SEQUENCE
            }
            (_, Keyword::Definer) => {
                self.definer = Definer::Word;
                return;
            }
            (_, Keyword::Kill) => {
                self.kills_in_block |= matches!(self.body, Body::Block { .. });
                if self.body == Body::No { Effects::KILLS } else { return }
            }
            (_, Keyword::Immediate | Keyword::Prepare) => {
                // names of anything elsewhere
                if self.effects.contains(Effects::UNCLEAR) {
                    self.expect_texts();
                }
                return;
            }
            (_, Keyword::Begin) if self.body == Body::Single => {
                self.body = Body::Block { depth: 1, ends: false };
                return;
            }
            _ => return,
        };
        self.note(effects);
    }

    /// A token of a block: behind the `END` that is its own, other statements may follow.
    #[cold]
    fn nest(&mut self, token: Token) {
        const WITH_AN_END_OF_THEIR_OWN: [&[u8]; 5] = [b"IF", b"LOOP", b"REPEAT", b"WHILE", b"FOR"];
        let Body::Block { depth, ends } = &mut self.body else { return };
        let word = match token.kind {
            TokenKind::Word => self.lexer.slice(token),
            _ => &[],
        };
        let is = |name: &[u8]| word.eq_ignore_ascii_case(name);
        if std::mem::take(ends) {
            *depth -= usize::from(!WITH_AN_END_OF_THEIR_OWN.into_iter().any(is));
        } else if is(b"BEGIN") || is(b"CASE") {
            *depth += 1;
        }
        *ends = is(b"END");
        if *depth == 0 {
            self.body = Body::Single;
        }
    }

    /// `$$` and `$tag$` begin a string in newer servers, whose end is not looked for here.
    fn other_word(&mut self, token: Token) {
        if let [b'$', rest @ ..] = self.lexer.slice(token)
            && rest.contains(&b'$')
            && !std::mem::replace(&mut self.has_dollars, true)
        {
            self.note(Effects::UNCLEAR);
            if names_kill(self.text) {
                self.note(Effects::KILLS);
            }
        }
    }

    /// Whether the token at hand follows a dot; `previous` is none where tokens were skipped.
    fn follows_dot(&self, previous: Option<Token>) -> bool {
        previous.map_or(self.lexer.skipped_dot(), |token| token.kind == TokenKind::Punct(b'.'))
    }

    fn at(&mut self, before: Keyword, definer: Definer) {
        if !self.accounts && definer != Definer::Name {
            self.note(Effects::USER_VARIABLE);
        }
        if before == Keyword::Into || self.loads {
            self.note(Effects::SETS_USER_VARIABLE);
        }
    }

    /// The name after `@@` or `@@session.`.
    fn system_name(&mut self, word: Keyword) {
        let effects = match word {
            Keyword::Global
            | Keyword::Session
            | Keyword::Local
            | Keyword::Persist
            | Keyword::PersistOnly => {
                self.system = System::Scope;
                return;
            }
            Keyword::Identity | Keyword::LastInsertId | Keyword::InsertId => {
                Effects::READS_LAST_INSERT_ID
            }
            Keyword::WarningCount | Keyword::ErrorCount => Effects::SHOW_WARNINGS,
            Keyword::PseudoThreadId => Effects::CONNECTION_ID,
            Keyword::LastGtid => Effects::UNCLEAR,
            _ => return,
        };
        self.note(effects);
    }
}

/// Where a system variable's name is being read.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum System {
    #[default]
    No,
    /// After `@@`, or after `@@session.`.
    Name,
    /// After `@@session`.
    Scope,
}

/// Which part of `DEFINER = name` was just seen; an `@` right after the name is the account's.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Definer {
    No,
    Word,
    Equals,
    Name,
}

impl Definer {
    /// What it is after the next token.
    fn then(self, next: TokenKind) -> Self {
        match (self, next) {
            (Self::Word, TokenKind::Punct(b'=')) => Self::Equals,
            (Self::Equals, TokenKind::Word | TokenKind::Quoted | TokenKind::Text) => Self::Name,
            _ => Self::No,
        }
    }
}

/// Whether the body of stored code is being read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Body {
    No,
    /// One that ends with its statement, as far as is seen.
    Single,
    /// A block: what stands behind its semicolons is taken for its statements, up to its `END`.
    Block {
        /// How many blocks, and `CASE`s, are open.
        depth: usize,
        /// An `END` was just seen.
        ends: bool,
    },
}

impl Body {
    /// Whether it is a block whose `END` was not seen.
    fn is_open(self) -> bool {
        matches!(self, Self::Block { depth, ends } if depth > usize::from(ends))
    }
}

/// Effects of a table whose name stands in quotes; those of a string are not in its digest.
fn table_in(quotes: TokenKind, word: Keyword) -> Effects {
    if quotes == TokenKind::Quoted { table(word) } else { Effects::NONE }
}

/// Whether a word is the name of the user variable whose `@` stands right before it.
fn follows_at(previous: Option<Token>, word: Token) -> bool {
    previous.is_some_and(|token| token.kind == TokenKind::At && token.end == word.start)
}
