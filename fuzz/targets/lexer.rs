//! Tokens: in order, not empty, and all of a text's words read alike by every reader of facts.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sql::{HighBytes, Modes};
use sql::lexer::Lexer;

/// One of each kind.
const CHARSETS: [&str; 5] = ["utf8mb4", "latin1", "big5", "sjis", "gbk"];

fuzz_target!(|data: &[u8]| {
    let Some((choice, text)) = data.split_first() else { return };
    let modes = Modes {
        no_backslash_escapes: choice & 1 != 0,
        ansi_quotes: choice & 2 != 0,
        high_bytes: HighBytes::of(CHARSETS[usize::from(choice >> 2) % CHARSETS.len()]),
    };
    let mut lexer = Lexer::new(text, modes);
    let mut end = 0;
    while let Some(token) = lexer.next_lexeme() {
        assert!(token.start >= end && token.end > token.start && token.end <= text.len());
        end = token.end;
    }
    let facts = sql::facts_in(text, modes);
    if let Some(schema) = facts.schema {
        assert!(text.get(schema).is_some());
    }
    sql::parse_use(text);
    sql::is_read_only(&sql::facts(text));
});
