//! Which user variables a text mentions.

use crate::Modes;
use crate::lexer::{Lexer, TokenKind};

/// The names of the user variables in a text, without `@` and quotes, as often as they are there;
/// compare without regard to case. A name that is not plain is empty.
pub fn user_variables(text: &[u8], modes: Modes) -> impl Iterator<Item = &[u8]> {
    let mut lexer = Lexer::new(text, modes);
    std::iter::from_fn(move || {
        let at = std::iter::from_fn(|| lexer.next_token()).find(|t| t.kind == TokenKind::At)?;
        let name = lexer.next_token().filter(|name| name.start == at.end);
        Some(name.map_or(&[][..], |name| match name.kind {
            TokenKind::Word if text.get(name.end) != Some(&b'.') => lexer.slice(name),
            TokenKind::Quoted | TokenKind::Text => lexer.unquoted(name),
            _ => &[],
        }))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mention_is_found() {
        let names = |text: &'static str| -> Vec<_> {
            user_variables(text.as_bytes(), Modes::default())
                .map(|n| std::str::from_utf8(n).unwrap())
                .collect()
        };
        assert_eq!(names("SELECT 1, '@a', @@b, 'x@y' -- @c"), [""; 0]);
        assert_eq!(
            names("SELECT @a+@A, @`b c` FROM t WHERE @'d'=@e$1"),
            ["a", "A", "b c", "d", "e$1"]
        );
        assert_eq!(names("SELECT @a.b, @, @"), ["", "", ""]);
    }
}
