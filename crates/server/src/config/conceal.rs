//! A line of a configuration file as it may be shown: without passwords.
//!
//! A row is often one line. What is wrong with a row is often a slip that leaves it unsure what is
//! a password: a name with a letter missing, a quote that does not close. So of values only numbers
//! are shown, and the one that the fault is about where its name is known and is no password's.
//! Everything keeps its place, for the caret below.

use std::ops::Range;

use engine::rows::{Column, TABLES, Table};
use engine::vars::{self, Family};

/// A text of which one line may be shown.
pub(super) struct Concealed<'t> {
    /// The text, with that line concealed.
    pub(super) text: String,
    /// What was concealed, without quotes.
    hidden: Vec<&'t str>,
    /// The column that the fault is about, where its title names one.
    column: Option<&'static Column>,
}

impl<'t> Concealed<'t> {
    /// A text of which the line is shown that `span` begins on, for a fault with that title.
    pub(super) fn new(text: &'t str, span: &Range<usize>, title: &str) -> Self {
        let made = String::with_capacity(text.len());
        let mut made = Self { text: made, hidden: Vec::new(), column: column_of(title) };
        let at = span.start.min(text.len());
        let start = text.get(..at).and_then(|before| before.rfind('\n')).map_or(0, |at| at + 1);
        let end = text.get(at..).and_then(|rest| rest.find('\n'));
        let end = end.map_or(text.len(), |end| at + end);
        let parts = (text.get(..start), text.get(start..end), text.get(end..));
        if let (Some(before), Some(line), Some(after)) = parts {
            made.text.push_str(before);
            made.line(line, &(span.start.saturating_sub(start)..span.end.saturating_sub(start)));
            made.text.push_str(after);
        } else {
            made.hide(text);
        }
        made
    }

    /// A sentence about the line, without what was concealed.
    pub(super) fn sentence(&self, sentence: &str) -> String {
        let mut told = sentence.to_owned();
        for hidden in self.hidden.iter().filter(|hidden| !is_known(hidden)) {
            for quote in ['`', '"', '\''] {
                told = told.replace(&format!("{quote}{hidden}{quote}"), "`…`");
            }
            // who reads the file may take a part of it for a word
            for part in sentence.split('`').skip(1).step_by(2) {
                if hidden.contains(part) && !part.is_empty() {
                    told = told.replace(&format!("`{part}`"), "`…`");
                }
            }
            if hidden.parse::<f64>().is_ok() {
                let words = told.split(' ').map(|word| if word == *hidden { "…" } else { word });
                told = words.collect::<Vec<_>>().join(" ");
            }
        }
        told
    }

    fn line(&mut self, line: &'t str, span: &Range<usize>) {
        let is_heading = is_heading(line);
        // the name before a value
        let mut name = None;
        let mut rest = line;
        while let Some(first) = rest.chars().next() {
            let at = line.len() - rest.len();
            let (piece, after) = rest.split_at(piece_len(rest, first));
            rest = after;
            let is_name = is_word(first) && after.trim_start().starts_with(['=', ':']);
            let within = at <= span.start && span.end <= at + piece.len();
            let is_harmless = match name {
                _ if is_name || is_heading || is_sign(first) => true,
                Some(name) if is_number(piece) => !is_like_secret(name),
                Some(name) if within && self.column.is_some_and(|it| it.name == name) => {
                    self.column.is_some_and(|column| !column.secret)
                }
                Some(name) => within && is_known(name) && !is_like_secret(name),
                None => is_number(piece) || is_known(piece),
            };
            match is_harmless {
                true => self.text.push_str(piece),
                false => self.hide(piece),
            }
            if is_name {
                name = Some(piece);
            } else if matches!(first, ',' | ';' | '{' | '(') {
                name = None;
            }
        }
    }

    fn hide(&mut self, piece: &'t str) {
        self.text.push_str(&"*".repeat(piece.len()));
        self.hidden.push(piece.trim_matches(['"', '\'']));
    }
}

/// The column that a title begins with: `mysql_query_rules.attributes: …`. Of two tables, one may
/// have passwords in a column of that name and the other none.
fn column_of(title: &str) -> Option<&'static Column> {
    let (table, rest) = title.split_once('.')?;
    let (name, _) = rest.split_once(':')?;
    let table = TABLES.iter().find(|it| it.name == table)?;
    table.columns.iter().find(|column| column.name == name)
}

/// Bytes of the piece that a text begins with: a quoted one, a word, or a sign.
fn piece_len(text: &str, first: char) -> usize {
    let mut signs = text.char_indices().skip(1);
    match first {
        '"' | '\'' => {
            let mut escaped = false;
            let end = signs.find(|(_, sign)| {
                let closes = *sign == first && !escaped;
                escaped = *sign == '\\' && !escaped;
                closes
            });
            // one that does not close ends with the line
            end.map_or(text.len(), |(at, _)| at + 1)
        }
        first if is_word(first) => {
            signs.find(|(_, sign)| !is_word(*sign)).map_or(text.len(), |(at, _)| at)
        }
        first => first.len_utf8(),
    }
}

/// A `[table]` or `[[table]]`.
fn is_heading(line: &str) -> bool {
    let line = line.trim();
    let inner = line.trim_start_matches('[').trim_end_matches(']');
    inner.len() < line.len() && inner.chars().all(|sign| sign.is_ascii_lowercase() || sign == '_')
}

fn is_number(piece: &str) -> bool {
    piece.parse::<i64>().is_ok() || matches!(piece, "true" | "false")
}

/// What belongs to words; whatever is no sign of either format does.
fn is_word(sign: char) -> bool {
    !is_sign(sign) && !matches!(sign, '"' | '\'')
}

fn is_sign(sign: char) -> bool {
    sign.is_whitespace() || "=:,;{}()[]#*/".contains(sign)
}

/// Whether a word is a name of the configuration.
fn is_known(word: &str) -> bool {
    let has = |table: &Table| {
        let is = |column: &Column| column.name.eq_ignore_ascii_case(word) || column.is_called(word);
        table.name == word || table.columns.iter().any(is)
    };
    vars::all().any(|variable| variable.name == word)
        || [Family::Mysql, Family::Admin].into_iter().any(|family| family.table() == word)
        || TABLES.iter().any(has)
}

/// Whether a name is a password's, or may have been meant to be.
fn is_like_secret(name: &str) -> bool {
    let variables = vars::all().filter(|variable| variable.secret).map(|variable| variable.name);
    let columns = TABLES.iter().flat_map(|table| table.columns);
    let columns = columns.filter(|column| column.secret).map(|column| column.name);
    let mut all = variables.chain(columns);
    let name = name.to_ascii_lowercase();
    all.any(|secret| name.contains(secret) || vars::nearest(&name, [secret]).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The line as it is shown when the fault is at `what`.
    fn line(text: &str, what: &str) -> String {
        let at = text.find(what).expect("it is there");
        let shown = Concealed::new(text, &(at..at + what.len()), "").text;
        assert_eq!(shown.len(), text.len(), "everything keeps its place");
        shown
    }

    #[test]
    fn of_a_line_only_what_can_be_no_password_is_shown() {
        for (text, what, shown) in [
            (
                r#"users=( { username="app", password="Hunter2!", port=0, lokced=1 } )"#,
                "lokced",
                r#"users=( { username=*****, password=**********, port=0, lokced=1 } )"#,
            ),
            (r#"pasword = "Hunter2""#, "pasword", "pasword = *********"),
            (r#"pasword = "Hunter\q""#, r"Hunter\q", "pasword = **********"),
            (r#"password = "Hunter, x=1"#, r#""Hunter"#, "password = ************"),
            ("password=Hunter2", "Hunter2", "password=*******"),
            ("  password: Hunter2;", "Hunter2", "  password: *******;"),
            (r#"password_hex = "zz""#, r#""zz""#, "password_hex = ****"),
            (r#"admin_credentials = "admin""#, r#""admin""#, "admin_credentials = *******"),
            (r#"monitor_password = 'a"b' # old: c"#, "'a", "monitor_password = ***** # old: *"),
            (r#"status = "UP" # the pässword"#, r#""UP""#, "status = \"UP\" # *** *********"),
            (r#"status = "UP""#, "status", "status = ****"),
            ("port = \"x\", password = \"y\"", "\"x\"", "port = \"x\", password = ***"),
            ("password = 12345", "12345", "password = *****"),
            ("pasword = 12345", "pasword", "pasword = *****"),
            ("threads = 4096", "4096", "threads = 4096"),
            ("[[mysql_users]]", "[[mysql_users]]", "[[mysql_users]]"),
            ("[Hunter2]", "Hunter2", "[*******]"),
            // the end of a text that began on a line before
            ("Hunter2\" }", "Hunter2", "**********"),
        ] {
            assert_eq!(line(text, what), shown, "{text}");
        }
    }

    #[test]
    fn a_sentence_says_nothing_that_is_concealed() {
        for (text, sentence, told) in [
            ("password = Hunter2", "`Hunter2` is no value", "`…` is no value"),
            ("password = Hunter2!", "`Hunter2` is no value", "`…` is no value"),
            ("password = 0123", "0123 is odd; write 123", "… is odd; write 123"),
            ("pasword \"Hunter2\"", "found \"Hunter2\" after it", "found `…` after it"),
            ("port = 'x'", "expected a number of a port", "expected a number of a port"),
            (
                "mysql_users {",
                "expected `=` after `mysql_users`",
                "expected `=` after `mysql_users`",
            ),
        ] {
            assert_eq!(Concealed::new(text, &(0..1), "").sentence(sentence), told);
        }
    }

    #[test]
    fn only_the_line_of_the_fault_is_looked_at_and_odd_places_do_no_harm() {
        let text = "a = \"é\"\nport = \"x\"\nb = \"c\"";
        assert_eq!(line(text, "\"x\""), text);
        for at in 0..text.len() + 3 {
            for end in at..text.len() + 3 {
                assert_eq!(Concealed::new(text, &(at..end), "").text.len(), text.len());
            }
        }
    }
}
