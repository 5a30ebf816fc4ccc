//! A rule as the lint sees it: its row, and its patterns as languages.

use regex_syntax::ast::Ast;
use regex_syntax::ast::parse::Parser;

use super::language::{FoundText, Language, find_text};
use engine::rows::RuleRow;
use engine::rules::{self, RuleOptions};
use engine::vars::Vars;

/// An active rule.
pub(super) struct LintedRule<'a> {
    /// Position of its row.
    pub(super) place: usize,
    pub(super) row: &'a RuleRow,
    pub(super) digest: Option<LintedPattern<'a>>,
    pub(super) text: Option<LintedPattern<'a>>,
    /// The flags the chain may have after it; none when it leaves the flag alone.
    pub(super) flags_out: Vec<i64>,
    /// Hosts that it asks for.
    pub(super) server_names: Vec<String>,
}

/// A pattern of a rule.
pub(super) struct LintedPattern<'a> {
    pub(super) column: &'static str,
    pub(super) source: &'a str,
    pub(super) caseless: bool,
    /// As it is written; `None` when the linear-time engine cannot read it.
    pub(super) tree: Option<Ast>,
    /// Whether the linear-time engine runs it.
    pub(super) is_linear: bool,
    /// The texts it is found in; `None` when it is not known.
    pub(super) language: Option<Language>,
    /// A text it is found in.
    pub(super) example: Option<Vec<u8>>,
}

impl LintedPattern<'_> {
    /// Whether it is certainly found in `text`.
    pub(super) fn finds(&self, text: &[u8]) -> bool {
        self.language.as_ref().is_some_and(|language| language.contains(text))
    }
}

impl<'a> LintedRule<'a> {
    pub(super) fn new(place: usize, row: &'a RuleRow, vars: &Vars, with_languages: bool) -> Self {
        let modifiers = row.re_modifiers.as_deref().unwrap_or_default();
        let engine = RuleOptions::of_vars(vars).engine;
        let caseless =
            modifiers.split(',').any(|word| word.trim().eq_ignore_ascii_case("CASELESS"));
        let pattern = |column, cell: &'a Option<String>| {
            let source = text(cell)?;
            let meaning = rules::meaning_of_pattern(source, caseless, engine);
            let language = meaning.as_ref().filter(|_| with_languages).and_then(Language::of);
            let example = match language.as_ref().map(|language| find_text(&[language], &[])) {
                Some(FoundText::Text(text)) => Some(text),
                _ => None,
            };
            Some(LintedPattern {
                column,
                source,
                caseless,
                tree: Parser::new().parse(source).ok(),
                is_linear: meaning.is_some(),
                language,
                example,
            })
        };
        let flags_out = match row.flag_out {
            Some(flag) => vec![flag],
            None => rules::flags_of_attributes(&row.attributes),
        };
        let digest = pattern("match_digest", &row.match_digest).filter(|_| vars.query_digests);
        let server_names = rules::server_names_of_attributes(&row.attributes);
        let text = pattern("match_pattern", &row.match_pattern);
        Self { place, row, digest, text, flags_out, server_names }
    }

    /// A rule as its other columns make it.
    pub(super) fn without_patterns(row: &'a RuleRow) -> Self {
        let (flags_out, server_names) = Default::default();
        Self { place: 0, row, digest: None, text: None, flags_out, server_names }
    }

    /// Its patterns.
    pub(super) fn patterns(&self) -> impl Iterator<Item = &LintedPattern<'a>> {
        self.digest.iter().chain(&self.text)
    }

    /// Whether it asks for the digest.
    pub(super) fn asks_for_digest(&self) -> bool {
        text(&self.row.digest).is_some() || text(&self.row.match_digest).is_some()
    }

    /// Whether its patterns must not be found.
    pub(super) fn negates(&self) -> bool {
        self.row.negate_match_pattern == 1
    }

    /// Whether it gives chains with another flag this one.
    pub(super) fn sets(&self, flag: i64) -> bool {
        self.row.flag_in != flag && self.row.apply != 1 && self.flags_out.contains(&flag)
    }

    /// Whether it asks for nothing but patterns.
    pub(super) fn is_for_all_clients(&self) -> bool {
        let row = self.row;
        let texts = [&row.username, &row.schemaname, &row.client_addr, &row.proxy_addr];
        texts.into_iter().all(|cell| text(cell).is_none())
            && row.proxy_port.is_none()
            && self.server_names.is_empty()
            && text(&row.digest).is_none()
    }

    /// Whether it asks for nothing.
    pub(super) fn is_for_everything(&self) -> bool {
        self.is_for_all_clients() && self.patterns().next().is_none()
    }

    /// Whether it ends the evaluation, or gives its queries another flag, so that no later rule
    /// with its flag sees them.
    pub(super) fn takes_away(&self) -> bool {
        let flags = &self.flags_out;
        self.row.apply == 1 || !flags.is_empty() && !flags.contains(&self.row.flag_in)
    }
}

/// A cell's text; the empty one is as none.
pub(super) fn text(cell: &Option<String>) -> Option<&str> {
    cell.as_deref().filter(|text| !text.is_empty())
}
