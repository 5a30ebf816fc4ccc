//! What patterns find: nothing, everything, or what digests never hold.

use super::language::{FoundText, Language, find_text};
use super::rule::{LintedPattern, LintedRule, text};
use super::shape::Absent;
use super::spelling;
use super::{Findings, Kind, Lint};

pub(super) fn look(lint: &Lint<'_>, findings: &mut Findings) {
    for rule in &lint.rules {
        if !lint.snapshot.vars.query_digests {
            digests_off(rule, findings);
        }
        for pattern in rule.patterns() {
            look_at(lint, rule, pattern, findings);
        }
        memo(lint, rule, findings);
    }
}

fn digests_off(rule: &LintedRule<'_>, findings: &mut Findings) {
    let row = rule.row;
    for (column, cell) in [("digest", &row.digest), ("match_digest", &row.match_digest)] {
        if text(cell).is_some() {
            let reason = "mysql-query_digests is false, so that this matches every query";
            let suggestion = "set mysql-query_digests=true, or use match_pattern";
            findings.rule(Kind::DigestsOff, rule, column, (reason.to_owned(), suggestion));
        }
    }
}

fn look_at(
    lint: &Lint<'_>,
    rule: &LintedRule<'_>,
    pattern: &LintedPattern<'_>,
    findings: &mut Findings,
) {
    let column = pattern.column;
    let misspelled = spelling::fault(pattern);
    if let Some((kind, reason, suggestion)) = &misspelled {
        findings.rule(*kind, rule, column, (reason.clone(), suggestion.clone()));
    }
    if let Some((repetition, simpler)) = spelling::nested_repetition(pattern) {
        findings.rule(Kind::Catastrophic, rule, column, catastrophic(pattern, repetition, simpler));
    } else if !pattern.is_linear {
        let reason = format!(
            "`{}` needs an engine that backtracks: it takes longer and is given up when it takes \
             too long",
            pattern.source
        );
        let suggestion = "write two rules instead: the exception first, with the smaller id";
        findings.rule(Kind::SlowPath, rule, column, (reason, suggestion));
    }
    let (Some(language), Some(statement)) = (&pattern.language, &lint.statement) else { return };
    let absent = if column == "match_digest" { lint.shape.all() } else { Vec::new() };
    if find_text(&[language, statement], &absent) == FoundText::Nothing {
        if misspelled.is_none() {
            never(lint, rule, pattern, (language, statement), findings);
        }
        return;
    }
    let mut none = absent;
    none.push(language);
    if find_text(&[statement], &none) == FoundText::Nothing {
        let reason = match rule.negates() {
            false => format!("`{}` is found in every query", pattern.source),
            true => format!(
                "`{}` is found in every query and negated, so that the rule never matches",
                pattern.source
            ),
        };
        let suggestion = format!("leave out {column}; that says the same and costs nothing");
        findings.rule(Kind::AlwaysMatches, rule, column, (reason, suggestion));
    }
}

/// Why a pattern is found in nothing.
fn never(
    lint: &Lint<'_>,
    rule: &LintedRule<'_>,
    pattern: &LintedPattern<'_>,
    (language, statement): (&Language, &Language),
    findings: &mut Findings,
) {
    let finds = |none: &[&Language]| find_text(&[language, statement], none) != FoundText::Nothing;
    let (kind, why, suggestion) = if pattern.column != "match_digest" || !finds(&[]) {
        (Kind::NeverMatches, "in no text".to_owned(), "correct it; `^` begins and `$` ends a text")
    } else {
        match lint.shape.absent().find(|absent| finds(&lint.shape.except(*absent))) {
            Some(absent) => of_absent(absent),
            None => (
                Kind::DigestImpossible,
                "in no digest: literals are `?` there, and comments are taken out".to_owned(),
                "compare with stats_mysql_query_digest.digest_text, or use match_pattern",
            ),
        }
    };
    let so = if rule.negates() { "; negated, it matches every query" } else { "" };
    let reason = format!("`{}` is found {why}{so}", pattern.source);
    findings.rule(kind, rule, pattern.column, (reason, suggestion));
}

fn of_absent(absent: Absent) -> (Kind, String, &'static str) {
    let (kind, why, suggestion) = match absent {
        Absent::Numbers => (
            Kind::DigestNumber,
            "in no digest: numbers are `?` there",
            r"write `\?` for the number, or use match_pattern",
        ),
        Absent::Quotes => (
            Kind::DigestString,
            "in no digest: quoted texts are `?` there, without their quotes",
            r"write `\?` for the text, or use match_pattern",
        ),
        Absent::Comments => (
            Kind::DigestComment,
            "in no digest: comments are taken out",
            "use match_pattern, or set mysql-query_digests_keep_comment=true",
        ),
        Absent::Spacing => (
            Kind::DigestSpacing,
            "in no digest: white space is one blank there, and none around commas or inside \
             parentheses",
            "write it as digests are, such as `IN (?,?)`",
        ),
        Absent::Capitals => (
            Kind::DigestCapitals,
            "in no digest: mysql-query_digests_lowercase is true, and the rule is case-sensitive",
            "write it in lower case, or set re_modifiers=CASELESS",
        ),
        Absent::Digits => (
            Kind::DigestDigits,
            "in no digest: mysql-query_digests_no_digits is true, so that digits of names are `?`",
            r"write `\?` for the digits, or use match_pattern",
        ),
    };
    (kind, why.to_owned(), suggestion)
}

fn catastrophic(
    pattern: &LintedPattern<'_>,
    repetition: &str,
    simpler: Option<String>,
) -> (String, String) {
    let reason = if pattern.is_linear {
        format!(
            "`{repetition}` repeats a repetition; this engine takes it in linear time, but one \
             that backtracks, such as PCRE, in exponential time"
        )
    } else {
        format!(
            "`{repetition}` repeats a repetition, which takes exponential time: searching is given \
             up on long texts, and then the rule does not match"
        )
    };
    let suggestion = match simpler {
        Some(simpler) => format!("write `{simpler}`, which says the same"),
        None => "have only one of the two repeat".to_owned(),
    };
    (reason, suggestion)
}

/// Whether `match_pattern` asks for what is in the digest just as well.
fn memo(lint: &Lint<'_>, rule: &LintedRule<'_>, findings: &mut Findings) {
    let (Some(pattern), Some(statement)) = (&rule.text, &lint.statement) else { return };
    let Some(language) = &pattern.language else { return };
    if !lint.snapshot.vars.query_digests
        || rule.row.replace_pattern.is_some()
        || !spelling::is_about_structure(pattern)
        || spelling::is_commonplace(pattern.source)
        || findings.has(Kind::AlwaysMatches, rule)
        || !matches!(find_text(&[language, statement], &lint.shape.all()), FoundText::Text(_))
    {
        return;
    }
    let mut reason = format!(
        "`{}` asks for nothing but what is in the digest; looking into the text keeps the verdict \
         from being remembered",
        pattern.source
    );
    if pattern.source.starts_with('^') {
        reason += ", and misses statements behind a comment or a blank";
    }
    let suggestion = format!("use match_digest = `{}`", pattern.source);
    findings.rule(Kind::MemoDefeated, rule, "match_pattern", (reason, suggestion));
}
