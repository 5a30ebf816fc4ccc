//! The text of a statement, cut into words: enough to tell commands from SQL.
//!
//! Commands are matched by their words, whatever blanks are between them; everything else goes to
//! SQLite as it is written.

/// One statement.
#[derive(Clone, Debug)]
pub(crate) struct Statement<'t> {
    /// The text, without blanks, comments and `;` around it.
    pub(crate) text: &'t str,
    /// Its words; a quoted text is one, and so is each sign.
    words: Vec<&'t str>,
}

impl<'t> Statement<'t> {
    /// Cuts a text.
    pub(crate) fn new(text: &'t str) -> Self {
        let text = trimmed(text);
        Self { text, words: words(text) }
    }

    /// Whether it begins with these words.
    pub(crate) fn begins(&self, words: &[&str]) -> bool {
        self.words.len() >= words.len() && same(&self.words, words)
    }

    /// Whether these are its words.
    pub(crate) fn is(&self, words: &[&str]) -> bool {
        self.words.len() == words.len() && same(&self.words, words)
    }

    /// The words after so many.
    pub(crate) fn after(&self, count: usize) -> &[&'t str] {
        self.words.get(count..).unwrap_or_default()
    }

    /// A word; empty beyond the last.
    pub(crate) fn word(&self, at: usize) -> &'t str {
        self.words.get(at).copied().unwrap_or_default()
    }

    /// The text from a word on.
    pub(crate) fn text_from(&self, at: usize) -> &'t str {
        self.words.get(at).map_or("", |word| self.text.get(self.offset(word)..).unwrap_or_default())
    }

    /// The name of a table at a word, however it is quoted: its schema, if one is said, the
    /// table, and the word behind them.
    pub(crate) fn table(&self, at: usize) -> (Option<String>, String, usize) {
        let mut end = at + 1;
        let mut written = self.word(at).to_owned();
        while self.word(end).starts_with('.') || (written.ends_with('.') && self.has(end)) {
            written.push_str(self.word(end));
            end += 1;
        }
        match cut_at_dot(&written) {
            Some((schema, table)) => (Some(unquoted(schema)), unquoted(table), end),
            None => (None, unquoted(&written), end),
        }
    }

    fn has(&self, at: usize) -> bool {
        at < self.words.len()
    }

    /// Where a word of it begins.
    fn offset(&self, word: &str) -> usize {
        word.as_ptr() as usize - self.text.as_ptr() as usize
    }
}

/// Whether a word is this one.
pub(crate) fn is(word: &str, wanted: &str) -> bool {
    word.eq_ignore_ascii_case(wanted)
}

/// A quoted word without its quotes; another as it is.
pub(crate) fn unquoted(word: &str) -> String {
    let Some(quote @ ('\'' | '"' | '`')) = word.chars().next() else { return word.to_owned() };
    let inner = word.get(1..).unwrap_or_default();
    let inner = inner.strip_suffix(quote).unwrap_or(inner);
    inner.replace(&format!("{quote}{quote}"), &quote.to_string())
}

/// Cuts a name at its first dot outside of quotes.
fn cut_at_dot(name: &str) -> Option<(&str, &str)> {
    let quote = name.chars().next().filter(|first| matches!(first, '\'' | '"' | '`'));
    let from = match quote {
        Some(quote) => 1 + name.get(1..)?.find(quote)?,
        None => 0,
    };
    let dot = from + name.get(from..)?.find('.')?;
    Some((name.get(..dot)?, name.get(dot + 1..)?))
}

/// A text as it is written in SQL.
pub(crate) fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// The statements of a text. A trigger, which has `;` inside, is not cut.
pub(crate) fn split(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut from = 0;
    let starts = Statement::new(text);
    let trigger = starts.begins(&["CREATE"]) && (1..=2).any(|at| is(starts.word(at), "TRIGGER"));
    if !trigger {
        let mut rest = Scanner { text, at: 0 };
        while let Some((start, end)) = rest.next_word() {
            if text.get(start..end) == Some(";") {
                parts.push(text.get(from..start).unwrap_or_default());
                from = end;
            }
        }
    }
    parts.push(text.get(from..).unwrap_or_default());
    parts.retain(|part| !trimmed(part).is_empty());
    parts
}

fn same(found: &[&str], wanted: &[&str]) -> bool {
    found.iter().zip(wanted).all(|(found, wanted)| is(found, wanted))
}

fn words(text: &str) -> Vec<&str> {
    let mut scanner = Scanner { text, at: 0 };
    let mut words = Vec::new();
    while let Some((start, end)) = scanner.next_word() {
        words.extend(text.get(start..end));
    }
    words
}

/// Without blanks, comments, `;` and the command line's `\G` around it. A comment that is for MySQL
/// alone stays.
fn trimmed(text: &str) -> &str {
    let around = |sign: char| sign.is_whitespace() || matches!(sign, ';' | '\0');
    let mut text = text.trim_matches(around);
    while let Some(rest) = text.strip_suffix(r"\G").or(text.strip_suffix(r"\g")) {
        text = rest.trim_end_matches(around);
    }
    loop {
        let comment = match text.get(..2) {
            Some("/*") if !text.starts_with("/*!") => text.find("*/").map(|end| end + 2),
            Some("--") => Some(text.find('\n').unwrap_or(text.len())),
            _ => None,
        };
        match comment {
            Some(end) => text = text.get(end..).unwrap_or_default().trim_start(),
            None => return text,
        }
    }
}

/// Finds words, one after the other.
struct Scanner<'t> {
    text: &'t str,
    at: usize,
}

impl Scanner<'_> {
    /// Where the next word begins and ends.
    fn next_word(&mut self) -> Option<(usize, usize)> {
        let bytes = self.text.as_bytes();
        loop {
            let first = *bytes.get(self.at)?;
            if first.is_ascii_whitespace() {
                self.at += 1;
            } else if self.text.get(self.at..).is_some_and(|rest| rest.starts_with("--")) {
                self.at = self.find("\n");
            } else if self
                .text
                .get(self.at..)
                .is_some_and(|rest| rest.starts_with("/*") && !rest.starts_with("/*!"))
            {
                self.at = self.find("*/");
            } else {
                let start = self.at;
                self.at = match first {
                    b'\'' | b'"' | b'`' => self.quoted_end(first),
                    _ if is_sign(first) => start + 1,
                    _ => self.plain_end(),
                };
                return Some((start, self.at));
            }
        }
    }

    fn find(&self, what: &str) -> usize {
        let rest = self.text.get(self.at..).unwrap_or_default();
        rest.find(what).map_or(self.text.len(), |found| self.at + found + what.len())
    }

    fn quoted_end(&self, quote: u8) -> usize {
        let bytes = self.text.as_bytes();
        let mut at = self.at + 1;
        while let Some(byte) = bytes.get(at) {
            at += 1;
            if *byte == quote {
                if bytes.get(at) != Some(&quote) {
                    break;
                }
                at += 1;
            }
        }
        at
    }

    fn plain_end(&self) -> usize {
        let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
        let len = rest.iter().position(|byte| {
            byte.is_ascii_whitespace() || is_sign(*byte) || matches!(byte, b'\'' | b'"' | b'`')
        });
        self.at + len.unwrap_or(rest.len())
    }
}

fn is_sign(byte: u8) -> bool {
    matches!(byte, b'=' | b',' | b'(' | b')' | b';' | b'<' | b'>' | b'|' | b'+')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_known_by_its_words_whatever_is_between_them() {
        let statement = Statement::new(
            " /* hi */ load\n\tMySQL  Servers /* x */ TO\rRUNTIME \
            ; ; ",
        );
        assert!(statement.is(&["LOAD", "MYSQL", "SERVERS", "TO", "RUNTIME"]));
        assert!(statement.begins(&["LOAD", "mysql"]));
        assert!(!statement.is(&["LOAD", "MYSQL", "SERVERS", "TO"]));
        assert!(!Statement::new("LOAD").begins(&["LOAD", "MYSQL"]));
        let statement = Statement::new("SET mysql-a='x; y''z', b=2");
        assert_eq!(statement.after(1), ["mysql-a", "=", "'x; y''z'", ",", "b", "=", "2"]);
        assert_eq!(statement.text_from(3), "'x; y''z', b=2");
        assert_eq!(unquoted(statement.word(3)), "x; y'z");
        assert_eq!(unquoted("`a`"), "a");
    }

    #[test]
    fn statements_are_split_at_semicolons_outside_of_quotes_comments_and_triggers() {
        assert_eq!(split("a; b ';' /*;*/ ;;c"), ["a", " b ';' /*;*/ ", "c"]);
        assert_eq!(split("-- a; b\n c;"), ["-- a; b\n c"]);
        assert_eq!(split(" ; ").len(), 0);
        let trigger = "CREATE TEMP TRIGGER t AFTER INSERT ON x BEGIN DELETE FROM y; END";
        assert_eq!(split(trigger), [trigger]);
    }

    #[test]
    fn odd_texts_do_no_harm() {
        for text in ["", "'", "/*", "/*! SET x", "--", "é'é", "\0", "``", "/**/"] {
            Statement::new(text);
            split(text);
        }
        assert!(Statement::new("/*!40101 SET NAMES utf8 */").begins(&["/*!40101"]));
    }
}
