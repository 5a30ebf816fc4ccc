//! As much of JSON as `attributes` and settings in rows need: it is valid as a whole, and members
//! are found.

/// A value of a JSON text.
#[derive(Debug, PartialEq)]
pub(crate) enum Json {
    /// `true` or `false`.
    Bool(bool),
    /// `null`.
    Null,
    /// A number as it is written.
    Number(String),
    /// A text, its escapes resolved.
    Text(String),
    /// A list.
    List(Vec<Json>),
    /// An object's members in order.
    Object(Vec<(String, Json)>),
}

impl Json {
    /// Reads a whole text; the error says where it is wrong.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut reader = Reader { rest: text, depth: 0 };
        let value = reader.value().filter(|_| reader.skip_space().is_empty());
        value.ok_or_else(|| {
            let read = text.len() - reader.rest.len();
            let at = text.get(..read).unwrap_or(text).chars().count() + 1;
            format!("not JSON: at character {at}")
        })
    }

    /// A member of an object.
    pub(crate) fn member(&self, name: &str) -> Option<&Json> {
        match self {
            Self::Object(members) => {
                members.iter().rev().find(|(key, _)| key == name).map(|(_, value)| value)
            }
            _ => None,
        }
    }
}

/// The `pipeline_depth` of a column that holds JSON: commands of several sessions on one
/// connection. `None` where it says nothing of that; the error is for whoever wrote it.
pub(crate) fn pipeline_depth(text: &str) -> Result<Option<u32>, String> {
    number(text, "pipeline_depth", 1024)
}

/// A whole number of a column that holds JSON; `None` where it says nothing of that.
pub(crate) fn number(text: &str, name: &str, max: u32) -> Result<Option<u32>, String> {
    if text.is_empty() {
        return Ok(None);
    }
    let json = Json::parse(text)?;
    let Some(number) = json.member(name) else { return Ok(None) };
    let number = match number {
        Json::Number(number) => number.parse::<u32>().ok().filter(|number| *number <= max),
        _ => None,
    };
    match number {
        Some(number) => Ok(Some(number)),
        None => Err(format!("{name} is no whole number from 0 to {max}")),
    }
}

/// A switch of a column that holds JSON: on, unless it says `false`.
pub(crate) fn switch(text: &str, name: &str) -> Result<bool, String> {
    if text.is_empty() {
        return Ok(true);
    }
    match Json::parse(text)?.member(name) {
        None => Ok(true),
        Some(Json::Bool(is_on)) => Ok(*is_on),
        Some(_) => Err(format!("{name} is neither true nor false")),
    }
}

struct Reader<'a> {
    rest: &'a str,
    depth: usize,
}

impl Reader<'_> {
    fn skip_space(&mut self) -> &str {
        self.rest = self.rest.trim_start_matches([' ', '\t', '\n', '\r']);
        self.rest
    }

    fn take(&mut self, sign: &str) -> bool {
        let rest = self.skip_space().len();
        if let Some(behind) = self.rest.strip_prefix(sign) {
            self.rest = behind;
        }
        self.rest.len() < rest
    }

    fn value(&mut self) -> Option<Json> {
        if self.depth == DEPTH_MAX {
            return None;
        }
        self.depth += 1;
        let value = match self.skip_space().bytes().next()? {
            b'{' => self.object(),
            b'[' => self.list(),
            b'"' => self.text().map(Json::Text),
            b'-' | b'0'..=b'9' => self.number(),
            _ => [("null", Json::Null), ("true", Json::Bool(true)), ("false", Json::Bool(false))]
                .into_iter()
                .find_map(|(word, value)| self.take(word).then_some(value)),
        };
        self.depth -= 1;
        value
    }

    fn object(&mut self) -> Option<Json> {
        let mut members = Vec::new();
        self.take("{");
        if self.take("}") {
            return Some(Json::Object(members));
        }
        loop {
            self.skip_space();
            let name = self.text()?;
            if !self.take(":") {
                return None;
            }
            members.push((name, self.value()?));
            if self.take("}") {
                return Some(Json::Object(members));
            }
            if !self.take(",") {
                return None;
            }
        }
    }

    fn list(&mut self) -> Option<Json> {
        let mut values = Vec::new();
        self.take("[");
        if self.take("]") {
            return Some(Json::List(values));
        }
        loop {
            values.push(self.value()?);
            if self.take("]") {
                return Some(Json::List(values));
            }
            if !self.take(",") {
                return None;
            }
        }
    }

    fn number(&mut self) -> Option<Json> {
        let whole = self.rest;
        self.rest = whole.strip_prefix('-').unwrap_or(whole);
        let leading_zero = self.rest.starts_with('0');
        match self.digits() {
            0 => return None,
            1 => {}
            _ if leading_zero => return None,
            _ => {}
        }
        if let Some(fraction) = self.rest.strip_prefix('.') {
            self.rest = fraction;
            if self.digits() == 0 {
                return None;
            }
        }
        if let Some(exponent) = self.rest.strip_prefix(['e', 'E']) {
            self.rest = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
            if self.digits() == 0 {
                return None;
            }
        }
        let written = whole.get(..whole.len() - self.rest.len())?;
        Some(Json::Number(written.to_owned()))
    }

    fn digits(&mut self) -> usize {
        let behind = self.rest.trim_start_matches(|sign: char| sign.is_ascii_digit());
        let count = self.rest.len() - behind.len();
        self.rest = behind;
        count
    }

    fn text(&mut self) -> Option<String> {
        let mut out = String::new();
        self.rest = self.rest.strip_prefix('"')?;
        loop {
            let mut signs = self.rest.chars();
            let sign = signs.next()?;
            match sign {
                '"' => {
                    self.rest = signs.as_str();
                    return Some(out);
                }
                '\\' => {
                    self.rest = signs.as_str();
                    out.push(self.escape()?);
                    continue;
                }
                '\0'..='\x1f' => return None,
                _ => out.push(sign),
            }
            self.rest = signs.as_str();
        }
    }

    fn escape(&mut self) -> Option<char> {
        let mut signs = self.rest.chars();
        let sign = match signs.next()? {
            'b' => '\x08',
            'f' => '\x0c',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'u' => {
                let (digits, behind) = signs.as_str().split_at_checked(4)?;
                let unit = u16::from_str_radix(digits, 16).ok()?;
                self.rest = behind;
                // half of a character outside the basic plane has no meaning for any member
                return Some(
                    char::from_u32(u32::from(unit)).unwrap_or(char::REPLACEMENT_CHARACTER),
                );
            }
            sign @ ('"' | '\\' | '/') => sign,
            _ => return None,
        };
        self.rest = signs.as_str();
        Some(sign)
    }
}

const DEPTH_MAX: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn valid_texts_are_read() {
        let json = Json::parse(r#" {"a" : [1, -0.5e+3, "x\"\u0041\n", null, {}], "a":true} "#);
        let expected = Json::Object(vec![
            (
                "a".into(),
                Json::List(vec![
                    Json::Number("1".into()),
                    Json::Number("-0.5e+3".into()),
                    Json::Text("x\"A\n".into()),
                    Json::Null,
                    Json::Object(Vec::new()),
                ]),
            ),
            ("a".into(), Json::Bool(true)),
        ]);
        assert_eq!(json, Ok(expected));
    }

    #[test]
    fn invalid_texts_are_refused_with_their_place() {
        for (text, at) in [
            ("", 1),
            ("[1,]", 4),
            ("{\"a\"}", 5),
            ("01", 3),
            ("1 2", 3),
            ("\"\t\"", 2),
            ("{a:1}", 2),
            ("[1", 3),
            ("nul", 1),
            ("\"\\x\"", 3),
            ("-", 2),
            ("1.", 3),
            ("[\"é\" 1]", 6),
        ] {
            assert_eq!(Json::parse(text), Err(format!("not JSON: at character {at}")), "{text}");
        }
        assert!(Json::parse(&"[".repeat(10_000)).is_err());
    }
}
