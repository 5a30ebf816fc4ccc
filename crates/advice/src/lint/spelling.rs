//! How patterns are written: signs that mean something else than SQL's, repetitions of
//! repetitions, and what is about the structure of a statement.

use regex_syntax::ast::{Ast, RepetitionKind};

use super::Kind;
use super::rule::LintedPattern;

/// A sign that hardly means what it says.
pub(super) fn fault(pattern: &LintedPattern<'_>) -> Option<(Kind, String, String)> {
    let source = pattern.source;
    let inner = source.strip_prefix('^').unwrap_or(source);
    let at_end = source.ends_with('%') && !source.ends_with(r"\%");
    if inner.starts_with('%') || at_end {
        let reason = format!("`{source}` asks for a percent sign; that is a wildcard of LIKE only");
        let suggestion = "write `.*`, or nothing: patterns are found anywhere unless anchored";
        return Some((Kind::LikeWildcard, reason, suggestion.to_owned()));
    }
    let mut signs = Vec::new();
    find_signs(pattern.tree.as_ref()?, &mut signs);
    let (sign, means, suggestion) = signs.into_iter().next()?;
    let reason = format!("in `{source}`, `{sign}` means {means}");
    Some((Kind::Unescaped, reason, format!("write `{suggestion}`, if the SQL is meant")))
}

/// Signs, what they mean, and how they are escaped.
type Sign = (&'static str, &'static str, &'static str);

fn find_signs(tree: &Ast, signs: &mut Vec<Sign>) {
    match tree {
        Ast::Group(group) => match group.ast.as_ref() {
            Ast::Empty(_) => signs.push(("()", "an empty group, so nothing", r"\(\)")),
            inner => find_signs(inner, signs),
        },
        Ast::Repetition(repetition) => find_signs(&repetition.ast, signs),
        Ast::Alternation(parts) => parts.asts.iter().for_each(|part| find_signs(part, signs)),
        Ast::Concat(parts) => {
            for (at, part) in parts.asts.iter().enumerate() {
                let before = at.checked_sub(1).and_then(|at| literal(parts.asts.get(at)?));
                let after = parts.asts.get(at + 1).and_then(literal);
                match (before, repeated(part), after) {
                    (_, Some((' ', RepetitionKind::ZeroOrMore)), Some(' ')) => {
                        signs.push((" *", "any number of blanks", r" \*"));
                    }
                    (Some('=' | '<' | '>'), Some((' ', RepetitionKind::ZeroOrOne)), _) => {
                        signs.push((" ?", "a blank or none", r" \?"));
                    }
                    (Some(sign), Some(('=', RepetitionKind::ZeroOrOne)), _)
                        if !matches!(sign, '<' | '>' | '!' | ':') =>
                    {
                        signs.push(("=?", "an equals sign or none", r"=\?"));
                    }
                    _ => find_signs(part, signs),
                }
            }
        }
        _ => {}
    }
}

fn literal(tree: &Ast) -> Option<char> {
    match tree {
        Ast::Literal(literal) => Some(literal.c),
        _ => None,
    }
}

fn repeated(tree: &Ast) -> Option<(char, RepetitionKind)> {
    match tree {
        Ast::Repetition(repetition) => {
            Some((literal(&repetition.ast)?, repetition.op.kind.clone()))
        }
        _ => None,
    }
}

/// A group that repeats without bound what repeats without bound; and what says the same, where
/// that is all there is in the group.
pub(super) fn nested_repetition<'a>(
    pattern: &LintedPattern<'a>,
) -> Option<(&'a str, Option<String>)> {
    let source = pattern.source;
    let mut open = Vec::new();
    let mut escaped = false;
    let mut in_class = false;
    for (at, sign) in source.char_indices() {
        match sign {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '[' => in_class = true,
            ']' => in_class = false,
            _ if in_class => {}
            '(' => open.push(at),
            ')' => {
                let from = open.pop()?;
                let inner = source.get(from + 1..at)?;
                let repeat = source.get(at + 1..)?.chars().next();
                if !matches!(repeat, Some('+' | '*')) {
                    continue;
                }
                let whole = source.get(from..at + 2)?;
                let inner = inner.strip_prefix("?:").unwrap_or(inner);
                let alone = is_one_repetition(inner);
                if alone || !pattern.is_linear && inner.ends_with(['+', '*']) {
                    return Some((whole, alone.then(|| inner.to_owned())));
                }
            }
            _ => {}
        }
    }
    None
}

/// Whether a text is one sign, class or group with `+` or `*`.
fn is_one_repetition(text: &str) -> bool {
    match &regex_syntax::ast::parse::Parser::new().parse(text) {
        Ok(Ast::Repetition(repetition)) => {
            matches!(repetition.op.kind, RepetitionKind::OneOrMore | RepetitionKind::ZeroOrMore)
        }
        _ => false,
    }
}

/// Whether a pattern asks for nothing but how a statement begins, as in most manuals: `^SELECT`,
/// `^SELECT .*`. Who copied it has nothing to gain that is worth a remark.
pub(super) fn is_commonplace(source: &str) -> bool {
    let Some(rest) = source.strip_prefix('^') else { return false };
    let word = rest.strip_suffix('$').unwrap_or(rest);
    let Some(word) = word.strip_suffix(".*") else { return false };
    let word = word.trim_end();
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_alphabetic())
}

/// Whether a pattern names a keyword and nothing that digests do not have: no number, quoted text
/// or comment.
pub(super) fn is_about_structure(pattern: &LintedPattern<'_>) -> bool {
    let source = pattern.source;
    let mut before = ' ';
    let mut braces = false;
    for sign in source.chars() {
        match sign {
            '\'' | '"' | '#' | '\n' | '\t' | ';' => return false,
            '{' => braces = true,
            '}' => braces = false,
            '0'..='9' if !(braces || before == '_' || before.is_ascii_alphanumeric()) => {
                return false;
            }
            'd' | 'n' | 't' | 'x' if before == '\\' => return false,
            '*' if before == '/' => return false,
            '-' if before == '-' => return false,
            _ => {}
        }
        before = sign;
    }
    let upper = source.to_ascii_uppercase();
    let comment = upper.contains(r"/\*");
    !comment
        && upper
            .split(|sign: char| !sign.is_ascii_alphabetic())
            .any(|word| KEYWORDS.contains(&word))
}

/// Words that make a pattern one about SQL and not about what is in a comment.
const KEYWORDS: [&str; 14] = [
    "SELECT", "INSERT", "UPDATE", "DELETE", "REPLACE", "FROM", "WHERE", "INTO", "JOIN", "SHOW",
    "CALL", "CREATE", "ALTER", "DROP",
];
