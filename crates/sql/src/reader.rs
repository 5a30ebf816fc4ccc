//! Walks over the tokens of a text and notes what words mean wherever they stand.
//!
//! What a statement as a whole does is decided in `statement`, which drives this cursor.

use std::ops::Range;

use crate::keyword::{Keyword, function, is_dull, keyword};
use crate::lexer::{Lexer, Token, TokenKind};
use crate::{Effects, Facts, Modes, Verb};

/// A cursor over one text: the token at hand, and what was noted so far.
pub(crate) struct Reader<'a> {
    lexer: Lexer<'a>,
    token: Option<Token>,
    keyword: Keyword,
    effects: Effects,
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
}

impl<'a> Reader<'a> {
    pub(crate) fn new(text: &'a [u8], modes: Modes) -> Self {
        Self {
            lexer: Lexer::new(text, modes),
            token: None,
            keyword: Keyword::None,
            effects: Effects::NONE,
            schema: None,
            depth: 0,
            called: Effects::NONE,
            opens_insert_id: false,
            system: System::No,
            accounts: false,
            definer: Definer::No,
            loads: false,
            inserts: false,
        }
    }

    /// Reads all statements of the text.
    pub(crate) fn read(self) -> Facts {
        self.read_all::<true>()
    }

    /// `FAST` changes nothing but the time it takes.
    pub(crate) fn read_all<const FAST: bool>(mut self) -> Facts {
        self.advance();
        let mut verb = self.statement(true);
        self.skip_statement::<FAST>();
        if verb == Verb::Select && self.effects.contains(Effects::LOCKING_READ) {
            verb = Verb::SelectForUpdate;
        }
        while self.next_statement() {
            self.note(Effects::MULTI_STATEMENT);
            self.statement(false);
            self.skip_statement::<FAST>();
        }
        if self.lexer.is_ambiguous() {
            self.note(Effects::UNCLEAR);
        }
        Facts { verb, effects: self.effects, schema: self.schema }
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
        match token.kind {
            TokenKind::Word => {
                let word = keyword(self.lexer.slice(token));
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
                    _ => self.called = function(word),
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

    /// Whether the statement at hand is over.
    pub(crate) fn at_end(&self) -> bool {
        matches!(self.kind(), None | Some(TokenKind::Punct(b';')))
    }

    /// How many parentheses are open.
    pub(crate) fn depth(&self) -> usize {
        self.depth
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
                && !self.effects.contains(Effects::USER_VARIABLE);
            if quiet && self.lexer.skip_dull(is_dull) {
                self.token = None;
                self.keyword = Keyword::None;
            }
            self.advance();
        }
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
            (_, Keyword::Nextval | Keyword::Lastval | Keyword::Setval | Keyword::Currval) => {
                Effects::SEQUENCE
            }
            (_, Keyword::Definer) => {
                self.definer = Definer::Word;
                return;
            }
            _ => return,
        };
        self.note(effects);
    }

    /// `$$` and `$tag$` begin a string in newer servers, whose end is not looked for here.
    fn other_word(&mut self, token: Token) {
        if let [b'$', rest @ ..] = self.lexer.slice(token)
            && rest.contains(&b'$')
        {
            self.note(Effects::UNCLEAR);
        }
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

/// Whether a word is the name of the user variable whose `@` stands right before it.
fn follows_at(previous: Option<Token>, word: Token) -> bool {
    previous.is_some_and(|token| token.kind == TokenKind::At && token.end == word.start)
}
