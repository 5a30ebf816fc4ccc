//! Reads patterns written for PCRE or RE2. What means the same is kept, and what means something
//! else is translated. What the linear-time engine cannot do, or would silently do otherwise, is
//! refused with its position.

use std::fmt;

use regex_syntax::ast::{
    self, AssertionKind, Ast, ClassSetBinaryOp, ClassSetItem, Flag, FlagsItemKind, Span,
};
use regex_syntax::hir::{Hir, HirKind};

use super::Engine;
use super::pattern::Options;
use super::spelling::{NEWLINE_GROUP, Spelled};

/// Why a pattern cannot be used, or not by the linear-time engine.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct PatternRefusal {
    pattern: String,
    /// Place of the offending character, from 0; `None` when the whole pattern is at fault.
    offset: Option<usize>,
    reason: String,
    /// It is a valid pattern as far as is known, with something that one engine does not have.
    about_engine: bool,
}

impl PatternRefusal {
    pub(super) fn of_all(pattern: &str, reason: impl Into<String>) -> Self {
        Self { pattern: pattern.into(), offset: None, reason: reason.into(), about_engine: false }
    }

    /// The fault of the character at a byte of the pattern.
    pub(super) fn at_byte(pattern: &str, byte: usize, reason: impl Into<String>) -> Self {
        let before = pattern.get(..byte).unwrap_or(pattern);
        let offset = Some(before.chars().count());
        Self { pattern: pattern.into(), offset, reason: reason.into(), about_engine: false }
    }

    fn for_engine(mut self) -> Self {
        self.about_engine = true;
        self
    }

    /// Whether no engine would read the pattern.
    pub(super) fn is_about_syntax(&self) -> bool {
        !self.about_engine
    }
}

impl fmt::Display for PatternRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`", self.pattern)?;
        if let Some(offset) = self.offset {
            write!(f, " at character {}", offset + 1)?;
        }
        write!(f, ": {}", self.reason)
    }
}

/// A pattern that was read.
pub(super) struct ReadPattern {
    /// What it means to the linear-time engine.
    pub(super) meaning: Hir,
    /// Places of the groups that the operator wrote among those of the meaning; the first is the
    /// whole.
    pub(super) groups: Box<[usize]>,
    /// Groups of the meaning that stand for a final newline before which `$` matches.
    pub(super) newlines: Box<[usize]>,
}

/// What a pattern means.
pub(super) fn read(pattern: &str, options: Options) -> Result<ReadPattern, PatternRefusal> {
    let spelled = Spelled::for_linear(pattern, options.engine);
    let dialect = Dialect { pattern, spelled: &spelled, options };
    let tree = dialect.parse(&spelled.text)?;
    // first as written, so that positions in faults are those of the pattern
    let meaning = dialect.translate(&spelled.text, &tree)?;
    let survey = Survey { dialect: &dialect, rewrites: Vec::new() };
    let Some(rewritten) = ast::visit(&tree, survey)? else { return Ok(reading(meaning)) };
    let whole = |refusal: PatternRefusal| PatternRefusal { offset: None, ..refusal };
    let tree = dialect.parse(&rewritten).map_err(whole)?;
    Ok(reading(dialect.translate(&rewritten, &tree).map_err(whole)?))
}

/// A pattern while it is read.
struct Dialect<'a> {
    pattern: &'a str,
    spelled: &'a Spelled,
    options: Options,
}

impl Dialect<'_> {
    fn parse(&self, text: &str) -> Result<Ast, PatternRefusal> {
        ast::parse::Parser::new().parse(text).map_err(|error| {
            let refusal = self.at(error.span(), &reason(error.kind()));
            match error.kind() {
                ast::ErrorKind::UnsupportedLookAround
                | ast::ErrorKind::UnsupportedBackreference => refusal.for_engine(),
                _ => refusal,
            }
        })
    }

    fn translate(&self, text: &str, tree: &Ast) -> Result<Hir, PatternRefusal> {
        regex_syntax::hir::translate::TranslatorBuilder::new()
            .unicode(false)
            .utf8(false)
            .case_insensitive(self.options.caseless)
            .build()
            .translate(text, tree)
            .map_err(|error| self.at(error.span(), &error.kind().to_string()).for_engine())
    }

    fn at(&self, span: &Span, reason: &str) -> PatternRefusal {
        PatternRefusal::at_byte(self.pattern, self.spelled.origin(span.start.offset), reason)
    }

    fn is_pcre(&self) -> bool {
        self.options.engine == Engine::Pcre
    }
}

/// Tells the groups of a meaning apart.
fn reading(meaning: Hir) -> ReadPattern {
    let mut newlines = Vec::new();
    find_newlines(&meaning, &mut newlines);
    let count = meaning.properties().explicit_captures_len();
    let groups = (0..=count).filter(|group| !newlines.contains(group)).collect();
    ReadPattern { meaning, groups, newlines: newlines.into() }
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

fn reason(kind: &ast::ErrorKind) -> String {
    match kind {
        ast::ErrorKind::UnsupportedLookAround => format!("look-around is {NOT_LINEAR}"),
        ast::ErrorKind::UnsupportedBackreference => format!("a back-reference is {NOT_LINEAR}"),
        _ => kind.to_string(),
    }
}

const NOT_LINEAR: &str = "not supported by the linear-time engine";

/// Looks for what PCRE reads otherwise.
struct Survey<'a> {
    dialect: &'a Dialect<'a>,
    /// Where the respelled pattern is replaced by what.
    rewrites: Vec<(Span, String)>,
}

impl Survey<'_> {
    fn refuse(&self, span: &Span, reason: &str) -> Result<(), PatternRefusal> {
        Err(self.dialect.at(span, reason).for_engine())
    }

    fn look_at_flags(&self, flags: &ast::Flags) -> Result<(), PatternRefusal> {
        let foreign = flags.items.iter().find(|item| match item.kind {
            FlagsItemKind::Flag(Flag::MultiLine) => self.dialect.is_pcre(),
            FlagsItemKind::Flag(Flag::Unicode | Flag::CRLF | Flag::IgnoreWhitespace) => true,
            _ => false,
        });
        match foreign {
            Some(item) => self.refuse(&item.span, "this flag has another meaning in PCRE"),
            None => Ok(()),
        }
    }

    fn look_at_literal(&self, literal: &ast::Literal) -> Result<(), PatternRefusal> {
        use ast::{HexLiteralKind, LiteralKind, SpecialLiteralKind};
        match literal.kind {
            LiteralKind::Special(SpecialLiteralKind::VerticalTab) if self.dialect.is_pcre() => {
                self.refuse(&literal.span, r"`\v` is every vertical space")
            }
            LiteralKind::HexFixed(HexLiteralKind::UnicodeShort | HexLiteralKind::UnicodeLong)
            | LiteralKind::HexBrace(HexLiteralKind::UnicodeShort | HexLiteralKind::UnicodeLong) => {
                self.refuse(&literal.span, r"`\u` and `\U` are not known")
            }
            _ => Ok(()),
        }
    }
}

impl ast::Visitor for Survey<'_> {
    type Output = Option<String>;
    type Err = PatternRefusal;

    fn finish(mut self) -> Result<Option<String>, PatternRefusal> {
        self.rewrites.sort_by_key(|(span, _)| span.start.offset);
        let pattern = &self.dialect.spelled.text;
        let mut out = String::with_capacity(pattern.len() + 16);
        let mut at = 0;
        for (span, text) in &self.rewrites {
            out.push_str(pattern.get(at..span.start.offset).unwrap_or_default());
            out.push_str(text);
            at = span.end.offset;
        }
        out.push_str(pattern.get(at..).unwrap_or_default());
        Ok((!self.rewrites.is_empty()).then_some(out))
    }

    fn visit_pre(&mut self, ast: &Ast) -> Result<(), PatternRefusal> {
        match ast {
            Ast::Assertion(assertion) => {
                let text = match assertion.kind {
                    // also before a newline that ends the text: that newline is taken, and
                    // known by its group, so that replacing leaves it out
                    AssertionKind::EndLine if self.dialect.is_pcre() => {
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
            Ast::Flags(flags) => self.look_at_flags(&flags.flags),
            Ast::Group(group) => group.flags().map_or(Ok(()), |flags| self.look_at_flags(flags)),
            Ast::Literal(literal) => self.look_at_literal(literal),
            Ast::Repetition(outer) => match &*outer.ast {
                Ast::Repetition(_) => {
                    let reason = format!("a possessive quantifier is {NOT_LINEAR}");
                    self.refuse(&outer.op.span, &reason)
                }
                Ast::Literal(literal) if !literal.c.is_ascii() => {
                    let reason = "a repetition behind a character of several bytes is one of its \
                                  last byte";
                    self.refuse(&outer.op.span, reason)
                }
                _ => Ok(()),
            },
            _ => Ok(()),
        }
    }

    fn visit_class_set_item_pre(&mut self, item: &ClassSetItem) -> Result<(), PatternRefusal> {
        match item {
            ClassSetItem::Bracketed(class) => {
                self.refuse(&class.span, r"a `[` within a class must be written `\[`")
            }
            ClassSetItem::Literal(literal) => self.look_at_literal(literal),
            _ => Ok(()),
        }
    }

    fn visit_class_set_binary_op_pre(
        &mut self,
        operation: &ClassSetBinaryOp,
    ) -> Result<(), PatternRefusal> {
        self.refuse(&operation.span, "`--` within a class must be escaped")
    }
}
