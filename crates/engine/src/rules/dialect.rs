//! Reads patterns written for PCRE: what means the same is kept, what is spelled otherwise is
//! translated, and what the linear-time engine cannot do, or would silently do otherwise, is
//! refused with its position.

use std::fmt;

use regex_syntax::ast::{self, AssertionKind, Ast, ClassSetBinaryOp, ClassSetItem, Span};
use regex_syntax::hir::{Hir, HirKind};

use super::Engine;
use super::pattern::Options;

/// Why a pattern cannot be used.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Refusal {
    pattern: String,
    /// Place of the offending character, from 0; `None` when the whole pattern is at fault.
    offset: Option<usize>,
    reason: String,
}

impl Refusal {
    pub(super) fn of_all(pattern: &str, reason: impl Into<String>) -> Self {
        Self { pattern: pattern.into(), offset: None, reason: reason.into() }
    }

    fn at(pattern: &str, span: &Span, reason: impl Into<String>) -> Self {
        let before = pattern.get(..span.start.offset).unwrap_or(pattern);
        let offset = Some(before.chars().count());
        Self { pattern: pattern.into(), offset, reason: reason.into() }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`", self.pattern)?;
        if let Some(offset) = self.offset {
            write!(f, " at character {}", offset + 1)?;
        }
        write!(f, ": {}", self.reason)
    }
}

/// A pattern that was read.
pub(super) struct Reading {
    /// What it means to the linear-time engine.
    pub(super) meaning: Hir,
    /// Places of the groups that the operator wrote among those of the meaning; the first is the
    /// whole.
    pub(super) groups: Box<[usize]>,
    /// Groups of the meaning that stand for a final newline before which `$` matches.
    pub(super) newlines: Box<[usize]>,
}

/// What a pattern means.
pub(super) fn read(pattern: &str, options: Options) -> Result<Reading, Refusal> {
    let tree = ast::parse::Parser::new()
        .parse(pattern)
        .map_err(|error| Refusal::at(pattern, error.span(), reason(error.kind())))?;
    // first as written, so that positions in faults are those of the pattern
    let meaning = translate(pattern, &tree, options)?;
    let survey = Survey { pattern, engine: options.engine, rewrites: Vec::new() };
    let Some(rewritten) = ast::visit(&tree, survey)? else { return Ok(reading(meaning)) };
    let tree = ast::parse::Parser::new()
        .parse(&rewritten)
        .map_err(|error| Refusal::of_all(pattern, reason(error.kind())))?;
    let meaning = translate(&rewritten, &tree, options)
        .map_err(|refusal| Refusal::of_all(pattern, refusal.reason))?;
    Ok(reading(meaning))
}

/// Tells the groups of a meaning apart.
fn reading(meaning: Hir) -> Reading {
    let mut newlines = Vec::new();
    find_newlines(&meaning, &mut newlines);
    let count = meaning.properties().explicit_captures_len();
    let groups = (0..=count).filter(|group| !newlines.contains(group)).collect();
    Reading { meaning, groups, newlines: newlines.into() }
}

fn find_newlines(meaning: &Hir, found: &mut Vec<usize>) {
    match meaning.kind() {
        HirKind::Capture(group) => {
            if group.name.as_deref().is_some_and(|name| name.starts_with(NEWLINE_GROUP)) {
                found.extend(usize::try_from(group.index));
            }
            find_newlines(&group.sub, found);
        }
        HirKind::Repetition(repetition) => find_newlines(&repetition.sub, found),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => {
            parts.iter().for_each(|part| find_newlines(part, found));
        }
        _ => {}
    }
}

fn translate(pattern: &str, tree: &Ast, options: Options) -> Result<Hir, Refusal> {
    regex_syntax::hir::translate::TranslatorBuilder::new()
        .unicode(false)
        .utf8(false)
        .case_insensitive(options.caseless)
        .build()
        .translate(pattern, tree)
        .map_err(|error| Refusal::at(pattern, error.span(), error.kind().to_string()))
}

fn reason(kind: &ast::ErrorKind) -> String {
    match kind {
        ast::ErrorKind::UnsupportedLookAround => format!("look-around is {NOT_LINEAR}"),
        ast::ErrorKind::UnsupportedBackreference => format!("a back-reference is {NOT_LINEAR}"),
        _ => kind.to_string(),
    }
}

const NOT_LINEAR: &str = "not supported by the linear-time engine";

/// Begins the names of groups that stand for a final newline.
const NEWLINE_GROUP: &str = "tidegate_newline_";

/// Looks for what PCRE reads otherwise.
struct Survey<'a> {
    pattern: &'a str,
    engine: Engine,
    /// Where the pattern is replaced by what.
    rewrites: Vec<(Span, String)>,
}

impl Survey<'_> {
    fn refuse(&self, span: &Span, reason: &str) -> Result<(), Refusal> {
        Err(Refusal::at(self.pattern, span, reason))
    }
}

impl ast::Visitor for Survey<'_> {
    type Output = Option<String>;
    type Err = Refusal;

    fn finish(mut self) -> Result<Option<String>, Refusal> {
        self.rewrites.sort_by_key(|(span, _)| span.start.offset);
        let mut out = String::with_capacity(self.pattern.len() + 16);
        let mut at = 0;
        for (span, text) in &self.rewrites {
            out.push_str(self.pattern.get(at..span.start.offset).unwrap_or_default());
            out.push_str(text);
            at = span.end.offset;
        }
        out.push_str(self.pattern.get(at..).unwrap_or_default());
        Ok((!self.rewrites.is_empty()).then_some(out))
    }

    fn visit_pre(&mut self, ast: &Ast) -> Result<(), Refusal> {
        match ast {
            Ast::Assertion(assertion) => {
                let text = match assertion.kind {
                    // also before a newline that ends the text: that newline is taken, and
                    // known by its group, so that replacing leaves it out
                    AssertionKind::EndLine if self.engine == Engine::Pcre => {
                        let number = self.rewrites.len();
                        format!(r"(?:$|(?P<{NEWLINE_GROUP}{number}>\n)\z)")
                    }
                    AssertionKind::WordBoundaryStartAngle => "<".to_owned(),
                    AssertionKind::WordBoundaryEndAngle => ">".to_owned(),
                    _ => return Ok(()),
                };
                self.rewrites.push((assertion.span, text));
                Ok(())
            }
            Ast::Repetition(outer) if matches!(*outer.ast, Ast::Repetition(_)) => {
                let reason = format!("a possessive quantifier is {NOT_LINEAR}");
                self.refuse(&outer.op.span, &reason)
            }
            _ => Ok(()),
        }
    }

    fn visit_class_set_item_pre(&mut self, item: &ClassSetItem) -> Result<(), Refusal> {
        match item {
            ClassSetItem::Bracketed(class) => {
                self.refuse(&class.span, r"a `[` within a class must be written `\[`")
            }
            _ => Ok(()),
        }
    }

    fn visit_class_set_binary_op_pre(
        &mut self,
        operation: &ClassSetBinaryOp,
    ) -> Result<(), Refusal> {
        self.refuse(&operation.span, r"`&&`, `--` and `~~` within a class must be escaped")
    }
}
