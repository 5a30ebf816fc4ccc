//! What digest texts never hold: a pattern that needs it is never found in one.

use super::language::Language;
use engine::vars::Vars;

/// Something that a digest text never holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Absent {
    /// Numbers that are no part of a name: they became `?`.
    Numbers,
    /// Quoted texts: they became `?`.
    Quotes,
    /// Comments: they were taken out.
    Comments,
    /// Blanks in a row, around commas, inside parentheses or at an end, and other white space.
    Spacing,
    /// Capitals, where digests are lower-cased.
    Capitals,
    /// Digits in names, where digests have none.
    Digits,
}

/// What digest texts never hold, as languages.
#[derive(Debug, Default)]
pub(super) struct DigestShape {
    each: Vec<(Absent, Language)>,
    /// All of them as one.
    all: Option<Language>,
}

impl DigestShape {
    /// What digests never hold under the variables; nothing when there are no digests, or when
    /// they keep comments, which may hold anything.
    pub(super) fn of_digests(vars: &Vars) -> Self {
        if !vars.query_digests || vars.query_digests_keep_comment {
            return Self::default();
        }
        let absent = [
            (Absent::Numbers, Some(r"(?:^|[^0-9A-Za-z_@$`\x80-\xff])[0-9]")),
            (Absent::Quotes, Some(r#"['"]"#)),
            (Absent::Comments, Some(r"/\*|#|--[ \t]")),
            (Absent::Spacing, Some(r"[\t\r\n]|  |, | ,|\( | \)|^ | $|;$")),
            (Absent::Capitals, vars.query_digests_lowercase.then_some("[A-Z]")),
            (Absent::Digits, vars.query_digests_no_digits.then_some("[0-9]")),
        ];
        let patterns: Vec<&str> = absent.iter().filter_map(|(_, pattern)| *pattern).collect();
        let each = absent
            .iter()
            .filter_map(|(absent, pattern)| Some((*absent, Language::parse((*pattern)?)?)));
        Self { each: each.collect(), all: Language::parse(&patterns.join("|")) }
    }

    /// The languages that no digest is in.
    pub(super) fn all(&self) -> Vec<&Language> {
        self.all.iter().collect()
    }

    /// The same without one of them.
    pub(super) fn except(&self, but: Absent) -> Vec<&Language> {
        let others = self.each.iter().filter(|(absent, _)| *absent != but);
        others.map(|(_, language)| language).collect()
    }

    /// What is absent.
    pub(super) fn absent(&self) -> impl Iterator<Item = Absent> + '_ {
        self.each.iter().map(|(absent, _)| *absent)
    }
}
