//! JSON that is made here and shown, with the members of objects in the order they were put there.

use serde::Serialize;
use serde_json::Serializer;
use serde_json::ser::PrettyFormatter;

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
        serde_json::to_string(self).unwrap_or_default()
    }

    /// In lines, four blanks a level.
    pub fn pretty(&self) -> String {
        let mut out = Vec::new();
        let format = PrettyFormatter::with_indent(b"    ");
        let written = self.serialize(&mut Serializer::with_formatter(&mut out, format));
        written.map(|()| String::from_utf8(out).unwrap_or_default()).unwrap_or_default()
    }
}

impl Serialize for Json {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(text) => to.serialize_str(text),
            Self::Number(number) => to.serialize_u64(*number),
            Self::Signed(number) => to.serialize_i64(*number),
            Self::Bool(on) => to.serialize_bool(*on),
            Self::List(list) => to.collect_seq(list),
            Self::Object(members) => to.collect_map(members.iter().map(|(name, of)| (name, of))),
        }
    }
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
