//! What columns that hold JSON say: it is valid as a whole, and members are found.

use std::collections::HashSet;
use std::fmt;

use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::error::Category;
use serde_json::{Map, Value};

use crate::rows;

/// Reads a whole text; the error says where it is wrong.
pub(crate) fn parse(text: &str) -> Result<Value, String> {
    serde_json::from_str(text).map_err(|error| {
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        let before = lines.iter().take(error.line().saturating_sub(1)).map(|line| line.len());
        let read = before.sum::<usize>() + error.column().saturating_sub(1);
        let is_end = error.classify() == Category::Eof;
        let read = text.get(..read).filter(|_| !is_end).unwrap_or(text);
        format!("not JSON: at character {}", read.chars().count() + 1)
    })
}

/// The names of the members of a column that holds JSON or nothing.
pub(crate) fn names(text: &str) -> Result<Vec<String>, String> {
    Ok(members(text)?.keys().cloned().collect())
}

/// The members of a column that holds JSON or nothing.
fn members(text: &str) -> Result<Map<String, Value>, String> {
    match text {
        "" => Ok(Map::new()),
        text => match parse(text)? {
            Value::Object(members) => match repeated(text) {
                None => Ok(members),
                Some(name) => Err(format!("{name} is given twice")),
            },
            Value::Null => Ok(Map::new()),
            _ => Err("no object: write {\"name\": value}".to_owned()),
        },
    }
}

/// A name that several members of a text have, which holds an object.
fn repeated(text: &str) -> Option<String> {
    struct Names(Option<String>);

    impl<'de> Deserialize<'de> for Names {
        fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
            from.deserialize_map(Self(None))
        }
    }

    impl<'de> Visitor<'de> for Names {
        type Value = Self;

        fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
            to.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(mut self, mut members: A) -> Result<Self, A::Error> {
            let mut known = HashSet::new();
            while let Some((name, IgnoredAny)) = members.next_entry::<String, IgnoredAny>()? {
                if !known.insert(name.clone()) {
                    self.0.get_or_insert(name);
                }
            }
            Ok(self)
        }
    }

    serde_json::from_str::<Names>(text).ok().and_then(|names| names.0)
}

/// The `pipeline_depth` of a column that holds JSON: commands of several sessions on one
/// connection. `None` where it says nothing of that; the error is for whoever wrote it.
pub(crate) fn pipeline_depth(text: &str) -> Result<Option<u32>, String> {
    number(text, "pipeline_depth", 1024)
}

/// The `coalesce` of a column that holds JSON: whether those who ask the same share an answer.
pub(crate) fn coalesce(text: &str) -> Result<Option<bool>, String> {
    const NAME: &str = "coalesce";
    let is_said = member(text, NAME)?.is_some();
    Ok(Some(switch(text, NAME)?).filter(|_| is_said))
}

/// The `serve_stale_ms` of a column that holds JSON: for how long a cached answer may be told
/// beyond its time, a week at most.
pub(crate) fn serve_stale_ms(text: &str) -> Result<Option<u32>, String> {
    number(text, "serve_stale_ms", 7 * 24 * 3_600_000)
}

/// A whole number of a column that holds JSON; `None` where it says nothing of that.
pub(crate) fn number(text: &str, name: &str, max: u32) -> Result<Option<u32>, String> {
    let Some(number) = member(text, name)? else { return Ok(None) };
    let number = whole(&number).filter(|number| *number <= max);
    number.map(Some).ok_or_else(|| format!("{name} is no whole number from 0 to {max}"))
}

/// A switch of a column that holds JSON: on, unless it says `false`.
pub(crate) fn switch(text: &str, name: &str) -> Result<bool, String> {
    match member(text, name)? {
        None => Ok(true),
        Some(Value::Bool(is_on)) => Ok(is_on),
        Some(_) => Err(format!("{name} is neither true nor false")),
    }
}

/// A switch of a column that holds JSON: off, unless it says `true`.
pub(crate) fn flag(text: &str, name: &str) -> Result<bool, String> {
    Ok(member(text, name)?.is_some() && switch(text, name)?)
}

/// What a column that holds JSON or nothing says by that name, which its row of the registry lists.
pub(crate) fn member(text: &str, name: &str) -> Result<Option<Value>, String> {
    debug_assert!(is_listed(name), "{name} is told to be without effect");
    Ok(members(text)?.remove(name))
}

/// One of several words of a column that holds JSON; `None` where it says nothing of that.
pub(crate) fn word<T: Copy>(
    text: &str,
    name: &str,
    words: &[(&str, T)],
) -> Result<Option<T>, String> {
    let Some(value) = member(text, name)? else { return Ok(None) };
    let found = words.iter().find(|(word, _)| value.as_str() == Some(word));
    found.map(|(_, meant)| Some(*meant)).ok_or_else(|| {
        let words: Vec<_> = words.iter().map(|(word, _)| *word).collect();
        format!("{name} is none of {}", words.join(", "))
    })
}

fn is_listed(name: &str) -> bool {
    let mut columns = rows::TABLES.iter().flat_map(|table| table.columns);
    columns.any(|column| column.members.is_some_and(|listed| listed.contains(&name)))
}

/// The whole number that a value is.
pub(crate) fn whole(value: &Value) -> Option<u32> {
    value.as_u64().and_then(|number| u32::try_from(number).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_have_names_of_their_own() {
        let text = r#" {"weight" : [1, -0.5e+3, "x\"\u0041\n", null, {}], "zones":3} "#;
        assert_eq!(number(text, "zones", 3), Ok(Some(3)));
        let twice = r#"{"a": {"a": 1, "b": 2}, "zones": 3, "zon\u0065s": 3}"#;
        assert_eq!(number(twice, "zones", 3), Err("zones is given twice".to_owned()));
        assert_eq!(number(&twice.replace("zon\\u", "x"), "zones", 3), Ok(Some(3)));
        assert_eq!(number(text, "pipeline_depth", 3), Ok(None));
        assert_eq!((names(""), names("null")), (Ok(Vec::new()), Ok(Vec::new())));
        for text in [r#""{\"zones\": 1}""#, r#"[{"zones":1}]"#, "3", "true"] {
            let refused = Err("no object: write {\"name\": value}".to_owned());
            assert_eq!((number(text, "zones", 3), names(text).is_err()), (refused, true), "{text}");
        }
    }

    #[test]
    fn invalid_texts_are_refused_with_their_place() {
        for (text, at) in [
            ("[1,]", 4),
            ("{\"a\"}", 5),
            ("01", 2),
            ("1 2", 3),
            ("\"\t\"", 2),
            ("{a:1}", 2),
            ("[1", 3),
            ("nul", 4),
            ("\"\\x\"", 3),
            ("-", 2),
            ("1.", 3),
            ("[\"é\" 1]", 6),
            ("[\n1,\n]", 6),
        ] {
            assert_eq!(parse(text), Err(format!("not JSON: at character {at}")), "{text}");
        }
        assert!(parse(&"[".repeat(10_000)).is_err());
    }
}
