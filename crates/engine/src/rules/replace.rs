//! `replace_pattern`: what is put in the place of what a pattern found.

use std::ops::Range;

/// A replacement, taken apart.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Replacement {
    parts: Box<[Part]>,
}

#[derive(Debug, PartialEq, Eq)]
enum Part {
    Literal(Box<[u8]>),
    /// A group of the pattern; 0 for all that it found.
    Group(usize),
}

impl Replacement {
    /// Reads what was typed: `\0` to `\9` stand for groups, `\\` for a backslash. `groups` is how
    /// many the pattern has, `None` when it is not known.
    pub(super) fn parse(written: &str, groups: Option<usize>) -> Result<Self, String> {
        let mut parts = Vec::new();
        let mut literal = Vec::new();
        let mut bytes = written.bytes();
        while let Some(byte) = bytes.next() {
            if byte != b'\\' {
                literal.push(byte);
                continue;
            }
            match bytes.next() {
                Some(b'\\') => literal.push(b'\\'),
                Some(digit @ b'0'..=b'9') => {
                    let number = usize::from(digit - b'0');
                    if let Some(count) = groups.filter(|count| number > *count) {
                        let reason = format!("there is no group {number} in match_pattern");
                        return Err(format!("`{written}`: {reason}, which has {count}"));
                    }
                    if !literal.is_empty() {
                        parts.push(Part::Literal(std::mem::take(&mut literal).into()));
                    }
                    parts.push(Part::Group(number));
                }
                _ => {
                    let reason =
                        r"a backslash is followed by a digit, for a group, or by another \";
                    return Err(format!("`{written}`: {reason}"));
                }
            }
        }
        if !literal.is_empty() {
            parts.push(Part::Literal(literal.into()));
        }
        Ok(Self { parts: parts.into() })
    }

    /// Appends the replacement; `group` tells where each group was found in `text`, and one that
    /// was not is empty.
    pub(super) fn expand(
        &self,
        text: &[u8],
        group: impl Fn(usize) -> Option<Range<usize>>,
        out: &mut Vec<u8>,
    ) {
        for part in &self.parts {
            match part {
                Part::Literal(literal) => out.extend_from_slice(literal),
                Part::Group(number) => {
                    let found = group(*number).and_then(|range| text.get(range));
                    out.extend_from_slice(found.unwrap_or_default());
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expanded(written: &str) -> String {
        let replacement = Replacement::parse(written, None).expect(written);
        let mut out = Vec::new();
        let groups = [Some(0..6), Some(1..2), None, Some(3..6)];
        let group = |number: usize| groups.get(number).cloned().flatten();
        replacement.expand(b"abcdef", group, &mut out);
        String::from_utf8(out).expect("text")
    }

    #[test]
    fn groups_take_the_place_of_their_numbers() {
        for (written, expected) in [
            ("", ""),
            ("x", "x"),
            (r"\1_rw", "b_rw"),
            (r"[\0]", "[abcdef]"),
            (r"\3\1\2!", "defb!"),
            (r"\10", "b0"),
            (r"\\1$1${1}", r"\1$1${1}"),
        ] {
            assert_eq!(expanded(written), expected, "{written}");
        }
    }

    #[test]
    fn a_backslash_needs_a_digit() {
        assert!(Replacement::parse(r"a\n", None).is_err());
        assert!(Replacement::parse("a\\", None).is_err());
    }

    #[test]
    fn a_group_must_be_there() {
        assert_eq!(
            Replacement::parse(r"\2", Some(1)),
            Err(r"`\2`: there is no group 2 in match_pattern, which has 1".to_owned())
        );
        assert!(Replacement::parse(r"\2\0", Some(2)).is_ok());
    }
}
