//! A text in the form that a server runs it: without comments, but with the code that is in
//! comments, and with one blank where anything stood between two words. Nothing in quotes is left
//! that could be taken for something else.
//!
//! A digest is made byte by byte and knows neither modes nor versions, so a text may be written
//! that reads differently to it than to the server. What is in its plain form cannot be.

use memchr::{memchr, memchr_iter, memchr3};

use crate::lexer::{Lexer, TokenKind};
use crate::{Modes, Omitted};

/// A server, as far as it decides which comments are code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Version {
    /// MySQL, such as 80036, which takes six digits where there are so many.
    MySql(u32),
    /// One that takes five digits, whatever follows.
    OldMySql(u32),
    /// MariaDB, such as 101100.
    MariaDb(u32),
}

impl Version {
    /// Whether `/*!nnnnn`, or `/*M!nnnnn` if `of_mariadb`, begins code; without a number, for all.
    pub(crate) fn runs(self, of_mariadb: bool, number: Option<u32>) -> bool {
        let number = number.unwrap_or(0);
        match self {
            Self::MySql(version) | Self::OldMySql(version) => !of_mariadb && number <= version,
            Self::MariaDb(version) => {
                let is_of_mysql = (OLDEST_MYSQL..=NEWEST_MYSQL).contains(&number);
                number <= version && (of_mariadb || !is_of_mysql)
            }
        }
    }
}

/// Whether a text may read differently to a server than to its digest, which omits so much.
pub fn may_deceive(text: &[u8], omitted: Omitted, modes: Modes) -> bool {
    omitted == Omitted::More
        || memchr3(b'`', 0x0b, 0x0c, text).is_some()
        || memchr(0, text).is_some()
        || may_have_dollars(text)
        || !modes.high_bytes.are_letters_in(text)
}

/// Whether a text may have strings in dollars, which newer servers of MySQL know.
pub fn may_have_dollars(text: &[u8]) -> bool {
    let is_of_a_tag = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | 0x80..);
    let behind = memchr_iter(b'$', text).filter_map(|at| text.get(at + 1..));
    behind.into_iter().any(|rest| rest.iter().find(|byte| !is_of_a_tag(byte)) == Some(&b'$'))
}

/// Writes the form in which a server of a version, which knows strings in dollars or not, runs a
/// text to `out`, in place of what that had.
pub fn as_run(
    text: &[u8],
    modes: Modes,
    (version, has_dollars): (Version, bool),
    out: &mut Vec<u8>,
) {
    let mut lexer = Lexer::of_version(text, modes, version);
    out.clear();
    let mut end = 0;
    while let Some(token) = lexer.next_token() {
        if token.start > end && !out.is_empty() {
            out.push(b' ');
        }
        end = token.end;
        let slice = lexer.slice(token);
        if has_dollars && let Some(behind) = lexer.skip_dollars(token) {
            out.extend_from_slice(b"'_'");
            end = behind;
            continue;
        }
        match token.kind {
            TokenKind::Text | TokenKind::Quoted | TokenKind::Bits => {
                push_quoted(out, slice, token.kind == TokenKind::Quoted);
            }
            TokenKind::Punct(0) => out.push(b' '),
            _ => out.extend_from_slice(slice),
        }
    }
}

/// Writes what stands in quotes so that everybody finds the same end of it.
fn push_quoted(out: &mut Vec<u8>, slice: &[u8], is_name: bool) {
    let open = slice.iter().position(|byte| matches!(byte, b'\'' | b'"' | b'`'));
    let Some((before, [quote, body @ ..])) = open.and_then(|open| slice.split_at_checked(open))
    else {
        return out.extend_from_slice(slice);
    };
    out.extend_from_slice(before);
    let mark = if is_name { b'`' } else { b'\'' };
    out.push(mark);
    let body = body.strip_suffix(&[*quote]).unwrap_or(body);
    let is_clear = |at: usize, byte: u8| match byte {
        b'\'' | b'"' | b'`' | b'\\' | 0 => false,
        b'#' => !is_name,
        b'-' | b'/' if is_name => body.get(at + 1).is_none_or(|next| !matches!(next, b'-' | b'*')),
        _ => true,
    };
    out.extend(body.iter().enumerate().map(|(at, byte)| match is_clear(at, *byte) {
        true => *byte,
        false => b'_',
    }));
    out.push(mark);
}

/// A look at the comments of a text.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pass {
    /// Which digits there are.
    Look,
    /// Which versions they tell apart.
    Add,
}

/// A version for each way in which servers take the comments of a text.
#[derive(Clone, Copy, Debug)]
pub struct Versions {
    all: [Version; Self::MAX],
    len: usize,
}

impl Versions {
    /// More than a dump for all kinds of servers names in one statement.
    const MAX: usize = 12;

    /// Those that a text tells apart; `None` for so many that they are not worth it.
    pub fn named_in(text: &[u8]) -> Option<Self> {
        let oldest = Version::MySql(OLDEST_MYSQL - 1);
        let mut named = Self { all: [oldest; Self::MAX], len: 1 };
        let (mut has_code, mut has_six) = (false, false);
        for pass in [Pass::Look, Pass::Add] {
            for at in memchr_iter(b'!', text) {
                let before = text.get(..at).unwrap_or_default();
                let of_mariadb = before.ends_with(b"/*M");
                if !of_mariadb && !before.ends_with(b"/*") {
                    continue;
                }
                let digits = text.get(at + 1..).unwrap_or_default().iter().take(6);
                let digits = digits.take_while(|byte| byte.is_ascii_digit());
                let number_of = |most| {
                    let digits = digits.clone().take(most);
                    digits.fold(0, |number, digit| number * 10 + u32::from(*digit - b'0'))
                };
                let (number, of_five) = (number_of(6), number_of(5));
                has_code = true;
                has_six |= digits.clone().count() == 6;
                if pass == Pass::Look {
                    continue;
                }
                if of_mariadb || number >= OLDEST_MYSQL {
                    named.add(Version::MySql(number.max(OLDEST_MYSQL - 1)))?;
                    named.add(Version::MariaDb(NEWEST_MYSQL + 1))?;
                    named.add(Version::MariaDb(number.max(NEWEST_MYSQL + 1)))?;
                }
                if has_six {
                    named.add(Version::OldMySql(of_five.max(OLDEST_MYSQL - 1)))?;
                }
            }
        }
        // whether the second mark opens a comment depends on where the server's statement began
        let is_unsure = has_code && memchr::memmem::find(text, b"*/*").is_some();
        (!is_unsure || memchr(b';', text).is_none()).then_some(named)
    }

    fn add(&mut self, version: Version) -> Option<()> {
        if !self.iter().any(|known| known == version) {
            *self.all.get_mut(self.len)? = version;
            self.len += 1;
        }
        Some(())
    }

    /// Each of them.
    pub fn iter(&self) -> impl Iterator<Item = Version> + '_ {
        self.all.iter().take(self.len).copied()
    }
}

/// From here on to [`NEWEST_MYSQL`], numbers are those of MySQL alone.
const OLDEST_MYSQL: u32 = 50_700;
const NEWEST_MYSQL: u32 = 99_999;

#[cfg(test)]
mod tests;
