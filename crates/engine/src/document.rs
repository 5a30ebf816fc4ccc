//! Just enough JSON for the columns that hold some: values that are made here and shown.

use std::fmt::Write as _;

/// A value.
pub enum Json {
    /// A text.
    Text(String),
    /// A count.
    Number(u64),
    /// A number that may be -1 for none.
    Signed(i64),
    /// `true` or `false`.
    Bool(bool),
    /// A list.
    List(Vec<Json>),
    /// An object's members in order.
    Object(Vec<(&'static str, Json)>),
}

impl Json {
    /// A text, whatever bytes it is of.
    pub fn bytes(bytes: &[u8]) -> Self {
        Self::Text(String::from_utf8_lossy(bytes).into_owned())
    }

    /// In one line.
    pub fn compact(&self) -> String {
        let mut out = String::new();
        self.write(&mut out, None);
        out
    }

    /// In lines, four blanks a level.
    pub fn pretty(&self) -> String {
        let mut out = String::new();
        self.write(&mut out, Some(0));
        out
    }

    fn write(&self, out: &mut String, level: Option<usize>) {
        match self {
            Self::Text(text) => write_text(out, text),
            Self::Number(number) => drop(write!(out, "{number}")),
            Self::Signed(number) => drop(write!(out, "{number}")),
            Self::Bool(on) => drop(write!(out, "{on}")),
            Self::List(list) => {
                write_all(out, ['[', ']'], level, list, |out, value, level| {
                    value.write(out, level);
                });
            }
            Self::Object(pairs) => {
                write_all(out, ['{', '}'], level, pairs, |out, (name, value), level| {
                    write_text(out, name);
                    out.push_str(if level.is_some() { ": " } else { ":" });
                    value.write(out, level);
                });
            }
        }
    }
}

fn write_all<T>(
    out: &mut String,
    [open, close]: [char; 2],
    level: Option<usize>,
    all: &[T],
    mut each: impl FnMut(&mut String, &T, Option<usize>),
) {
    let inner = level.map(|level| level + 1);
    out.push(open);
    for (at, one) in all.iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        new_line(out, inner);
        each(out, one, inner);
    }
    if !all.is_empty() {
        new_line(out, level);
    }
    out.push(close);
}

fn new_line(out: &mut String, level: Option<usize>) {
    if let Some(level) = level {
        out.push('\n');
        (0..level).for_each(|_| out.push_str("    "));
    }
}

fn write_text(out: &mut String, text: &str) {
    out.push('"');
    for char in text.chars() {
        match char {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            char if char < ' ' => drop(write!(out, "\\u{:04x}", u32::from(char))),
            char => out.push(char),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::Json;

    #[test]
    fn texts_are_escaped_and_levels_are_indented() {
        let value = Json::Object(vec![
            ("a", Json::Text("x\"\\\n\u{1}é".into())),
            ("b", Json::List(vec![Json::Number(1), Json::Bool(true)])),
            ("c", Json::List(Vec::new())),
        ]);
        assert_eq!(value.compact(), "{\"a\":\"x\\\"\\\\\\n\\u0001é\",\"b\":[1,true],\"c\":[]}");
        let lines = "{\n    \"a\": \"x\\\"\\\\\\n\\u0001é\",\n    \"b\": [\n        1,\n        \
                     true\n    ],\n    \"c\": []\n}";
        assert_eq!(value.pretty(), lines);
    }
}
