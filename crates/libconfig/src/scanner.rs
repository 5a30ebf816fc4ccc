//! Text to tokens, with included files in their places.

use std::ops::Range;

use crate::sources::Sources;
use crate::{Include, SyntaxFault, text};

/// A token at its place.
#[derive(Clone, Debug)]
pub(crate) struct Token {
    pub(crate) span: Range<usize>,
    pub(crate) kind: ScannedKind,
}

/// What a token is.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum ScannedKind {
    /// A name, or `true` or `false`.
    Word(String),
    Int(i64),
    Float(f64),
    Text(Vec<u8>),
    /// A bracket, a separator, `=` or `:`.
    Sign(char),
}

/// Reads a file and those it includes.
pub(crate) struct Scanner<'a> {
    include: Include<'a>,
    sources: Sources,
    tokens: Vec<Token>,
    faults: Vec<SyntaxFault>,
    /// Files that are being read, each included by the one before.
    depth: usize,
}

impl<'a> Scanner<'a> {
    pub(crate) fn new(include: Include<'a>) -> Self {
        let (tokens, faults) = (Vec::new(), Vec::new());
        Self { include, sources: Sources::default(), tokens, faults, depth: 0 }
    }

    /// Reads one file.
    pub(crate) fn scan(&mut self, origin: &str, text: &str) {
        let base = self.sources.add(origin, text);
        let mut cursor = Cursor { text, at: 0 };
        while self.skip_blanks(&mut cursor, base) {
            let start = cursor.at;
            let Some(first) = cursor.peek() else { break };
            let kind = match first {
                '"' => Some(ScannedKind::Text(self.text(&mut cursor, base))),
                '@' => {
                    self.directive(origin, &mut cursor, base);
                    continue;
                }
                '{' | '}' | '(' | ')' | '[' | ']' | '=' | ':' | ';' | ',' => {
                    cursor.skip(first);
                    Some(ScannedKind::Sign(first))
                }
                '0'..='9' | '+' | '-' | '.' => Some(self.number(&mut cursor, base)),
                _ if is_name_start(first) => {
                    Some(ScannedKind::Word(cursor.take_while(is_name).to_owned()))
                }
                other => {
                    cursor.skip(other);
                    let reason = format!("`{}` has no meaning here", other.escape_debug());
                    self.fault(base + start..base + cursor.at, reason);
                    None
                }
            };
            if let Some(kind) = kind {
                self.tokens.push(Token { span: base + start..base + cursor.at, kind });
            }
        }
    }

    /// What was read.
    pub(crate) fn finish(self) -> (Vec<Token>, Vec<SyntaxFault>, Sources) {
        (self.tokens, self.faults, self.sources)
    }

    /// Skips blanks and comments; `false` at the end of the text.
    fn skip_blanks(&mut self, cursor: &mut Cursor<'_>, base: usize) -> bool {
        loop {
            cursor.take_while(char::is_whitespace);
            let rest = cursor.rest();
            if rest.starts_with('#') || rest.starts_with("//") {
                cursor.take_while(|found| found != '\n');
            } else if rest.starts_with("/*") {
                let start = cursor.at;
                match rest.get(2..).and_then(|inner| inner.find("*/")) {
                    Some(length) => cursor.at += length + 4,
                    None => {
                        cursor.at = cursor.text.len();
                        self.fault(base + start..base + start + 2, "this comment is never closed");
                    }
                }
            } else {
                return !rest.is_empty();
            }
        }
    }

    fn text(&mut self, cursor: &mut Cursor<'_>, base: usize) -> Vec<u8> {
        let start = cursor.at;
        let faults = &mut self.faults;
        let read = text::read(cursor.rest(), |range, reason, fatal| {
            let span = base + start + range.start..base + start + range.end;
            faults.push(SyntaxFault { span, reason, fatal });
        });
        match read {
            Some((bytes, length)) => {
                cursor.at += length;
                bytes
            }
            None => {
                cursor.at = cursor.text.len();
                self.fault(base + start..base + start + 1, "this text is never closed");
                Vec::new()
            }
        }
    }

    fn number(&mut self, cursor: &mut Cursor<'_>, base: usize) -> ScannedKind {
        let start = cursor.at;
        let mut before = ' ';
        let mut hex = false;
        let word = cursor.take_while(|found| {
            let sign = matches!(found, '+' | '-');
            let goes_on = found.is_alphanumeric()
                || matches!(found, '.' | '_')
                || (sign && (before == ' ' || (matches!(before, 'e' | 'E') && !hex)));
            hex = hex || matches!(found, 'x' | 'X');
            before = found;
            goes_on
        });
        number(word).unwrap_or_else(|reason| {
            self.fault(base + start..base + start + word.len(), reason);
            ScannedKind::Int(0)
        })
    }

    /// `@include "path"`; the included tokens come instead of it.
    fn directive(&mut self, origin: &str, cursor: &mut Cursor<'_>, base: usize) {
        let start = cursor.at;
        cursor.skip('@');
        let name = cursor.take_while(is_name);
        let after_name = base + start..base + cursor.at;
        if name != "include" {
            cursor.take_while(|found| found != '\n');
            self.fault(after_name, "`@include` is the only directive there is");
            return;
        }
        cursor.take_while(|found| found == ' ' || found == '\t');
        let begin = cursor.at;
        if cursor.peek() != Some('"') {
            self.fault(after_name, "the path of a file in quotes must follow `@include`");
            return;
        }
        let path = self.text(cursor, base);
        let span = base + begin..base + cursor.at;
        let path = String::from_utf8_lossy(&path).into_owned();
        if self.depth >= DEPTH_MAX {
            self.fault(span, format!("files are included in each other {DEPTH_MAX} deep at most"));
        } else if self.sources.count() > FILES_MAX || self.sources.end() > BYTES_MAX {
            let limit = format!("{FILES_MAX} files and {} MiB", BYTES_MAX >> 20);
            self.fault(span, format!("too much is included; {limit} at most"));
        } else {
            match (self.include)(origin, &path) {
                Ok((origin, text)) => {
                    self.depth += 1;
                    self.scan(&origin, &text);
                    self.depth -= 1;
                }
                Err(reason) => self.fault(span, reason),
            }
        }
    }

    fn fault(&mut self, span: Range<usize>, reason: impl Into<String>) {
        self.faults.push(SyntaxFault { span, reason: reason.into(), fatal: true });
    }
}

/// How far a text has been read.
struct Cursor<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Cursor<'t> {
    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn skip(&mut self, found: char) {
        self.at += found.len_utf8();
    }

    fn take_while(&mut self, mut goes_on: impl FnMut(char) -> bool) -> &'t str {
        let rest = self.rest();
        let length = rest.find(|found| !goes_on(found)).unwrap_or(rest.len());
        self.at += length;
        rest.get(..length).unwrap_or_default()
    }
}

/// The number that `word` is: decimal, hexadecimal, binary or octal, a fraction, with `L` or not.
fn number(word: &str) -> Result<ScannedKind, String> {
    let wrong = || format!("`{word}` is not a number");
    let (sign, unsigned) = match word.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", word.strip_prefix('+').unwrap_or(word)),
    };
    let digits = unsigned.strip_suffix("LL").or_else(|| unsigned.strip_suffix('L'));
    let long = digits.is_some();
    let digits = digits.unwrap_or(unsigned);
    let based = match digits.get(..2) {
        Some("0x" | "0X") => Some(16),
        Some("0b" | "0B") => Some(2),
        Some("0o" | "0O" | "0q" | "0Q") => Some(8),
        _ => None,
    };
    if let Some(radix) = based {
        let digits = digits.get(2..).unwrap_or_default();
        if digits.is_empty() || !digits.chars().all(|digit| digit.is_digit(radix)) {
            return Err(wrong());
        }
        let parsed = i64::from_str_radix(&format!("{sign}{digits}"), radix);
        return parsed.map(ScannedKind::Int).map_err(|_| format!("{word} does not fit in 64 bits"));
    }
    if !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit()) {
        let plain = digits.trim_start_matches('0');
        let plain = if plain.is_empty() { "0" } else { plain };
        // one octal digit means the same to all
        if digits.len() > 1 && digits.starts_with('0') && !matches!(plain.as_bytes(), [b'0'..=b'7'])
        {
            let say = "is decimal to some versions of libconfig and octal to others";
            return Err(format!("{word} {say}; write {sign}{plain}"));
        }
        let parsed = format!("{sign}{digits}").parse();
        return parsed.map(ScannedKind::Int).map_err(|_| format!("{word} does not fit in 64 bits"));
    }
    let fraction = !long && digits.bytes().any(|byte| byte.is_ascii_digit());
    let shaped = digits.bytes().all(|b| b.is_ascii_digit() || b".eE+-".contains(&b));
    match word.parse::<f64>() {
        Ok(value) if fraction && shaped && value.is_finite() => Ok(ScannedKind::Float(value)),
        _ => Err(wrong()),
    }
}

fn is_name_start(found: char) -> bool {
    found.is_ascii_alphabetic() || matches!(found, '*' | '_')
}

fn is_name(found: char) -> bool {
    found.is_ascii_alphanumeric() || matches!(found, '*' | '_' | '-' | '.')
}

const DEPTH_MAX: usize = 10;
const FILES_MAX: usize = 100;
const BYTES_MAX: usize = 64 << 20;
