//! A cursor over the tokens of a text, for readers of a statement from left to right.
//!
//! It knows tokens and words; which statements there are is known to its users.

use crate::Modes;
use crate::keyword::{Keyword, keyword};
use crate::lexer::{Lexer, Token, TokenKind};

/// The token at hand and those behind it.
#[derive(Clone, Debug)]
pub(crate) struct Cursor<'a> {
    pub(crate) lexer: Lexer<'a>,
    pub(crate) token: Option<Token>,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(text: &'a [u8], modes: Modes) -> Self {
        let mut lexer = Lexer::new(text, modes);
        let token = lexer.next_token();
        Self { lexer, token }
    }

    pub(crate) fn advance(&mut self) {
        self.token = self.lexer.next_token();
    }

    pub(crate) fn kind(&self) -> Option<TokenKind> {
        self.token.map(|token| token.kind)
    }

    pub(crate) fn keyword(&self) -> Keyword {
        match self.token {
            Some(token) if token.kind == TokenKind::Word => keyword(self.lexer.slice(token)),
            _ => Keyword::None,
        }
    }

    pub(crate) fn take_keyword(&mut self) -> Keyword {
        let keyword = self.keyword();
        self.advance();
        keyword
    }

    /// Goes past a token of that kind; what it is.
    pub(crate) fn take(&mut self, kind: TokenKind) -> Option<&'a [u8]> {
        let token = self.token.filter(|token| token.kind == kind)?;
        self.advance();
        Some(self.lexer.slice(token))
    }

    pub(crate) fn take_punct(&mut self, punct: u8) -> bool {
        self.take(TokenKind::Punct(punct)).is_some()
    }

    /// Goes past that word.
    pub(crate) fn takes(&mut self, word: &[u8]) -> bool {
        let found = self.token.is_some_and(|token| {
            token.kind == TokenKind::Word && self.lexer.slice(token).eq_ignore_ascii_case(word)
        });
        found && self.take(TokenKind::Word).is_some()
    }

    /// Goes past a name; what stands in its quotes, doubled ones as they are.
    pub(crate) fn identifier(&mut self) -> Option<&'a [u8]> {
        let token = self.token?;
        let name = match token.kind {
            TokenKind::Word => self.lexer.slice(token),
            TokenKind::Quoted if self.lexer.is_closed(token) => self.lexer.unquoted(token),
            _ => return None,
        };
        self.advance();
        Some(name)
    }

    /// Nothing but semicolons follow, and no part of the text can be read in two ways.
    pub(crate) fn is_over(&mut self) -> bool {
        while self.take_punct(b';') {}
        self.token.is_none() && !self.lexer.is_ambiguous()
    }
}
