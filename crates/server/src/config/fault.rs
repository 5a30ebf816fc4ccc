//! Faults of a configuration file and how they are shown: the place, the line, a caret, the reason.

use std::io::IsTerminal;
use std::ops::Range;

use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};
use libconfig::Sources;

use super::conceal::Concealed;

/// One thing that is wrong, or odd, at a place of the file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Fault {
    /// Bytes of the file that are shown underlined.
    pub(super) span: Range<usize>,
    /// What is wrong, in one line.
    pub(super) title: String,
    /// Whether the configuration is refused because of it.
    pub(super) severity: Severity,
}

/// How bad a fault is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Severity {
    /// The configuration is refused: it cannot be read.
    Error,
    /// The configuration is refused: a name is not known.
    Unknown,
    /// The configuration is refused: it was read, but cannot be put in force.
    Unfit,
    /// The operator is told: it is known, and has no place here.
    LeftOut,
    /// The operator is told.
    Warning,
}

impl Severity {
    /// Whether the configuration is refused.
    pub(super) fn refuses(self) -> bool {
        matches!(self, Severity::Error | Severity::Unknown | Severity::Unfit)
    }
}

impl Fault {
    /// A name that is not known.
    pub(super) fn unknown(span: Range<usize>, title: impl Into<String>) -> Self {
        Self { span, title: title.into(), severity: Severity::Unknown }
    }

    /// Something that makes the configuration unusable.
    pub(super) fn error(span: Range<usize>, title: impl Into<String>) -> Self {
        Self { span, title: title.into(), severity: Severity::Error }
    }

    /// Something that is probably not meant.
    pub(super) fn warning(span: Range<usize>, title: impl Into<String>) -> Self {
        Self { span, title: title.into(), severity: Severity::Warning }
    }
}

/// All faults that refuse the configuration as one text, with their number at the end.
pub(super) fn render(faults: &[Fault], sources: &Sources) -> String {
    let refusing = faults.iter().filter(|fault| fault.severity.refuses());
    let mut shown = render_each(refusing.clone(), sources);
    let errors = refusing.count();
    let plural = if errors == 1 { "" } else { "s" };
    let origin = sources.find(0).map_or("", |first| first.origin.as_str());
    shown.push(format!("{origin}: {errors} error{plural}"));
    shown.join("\n\n")
}

/// Each fault as a text of its own.
pub(super) fn render_each<'a>(
    faults: impl Iterator<Item = &'a Fault>,
    sources: &Sources,
) -> Vec<String> {
    let styled = std::io::stderr().is_terminal();
    let renderer = if styled { Renderer::styled() } else { Renderer::plain() };
    faults.map(|fault| render_one(fault, sources, &renderer)).collect()
}

/// What is shown of a file that is no text.
pub(super) fn not_utf8(bytes: &[u8], origin: &str) -> String {
    let valid = std::str::from_utf8(bytes).map_or_else(|error| error.valid_up_to(), str::len);
    let before = String::from_utf8_lossy(bytes.get(..valid).unwrap_or(bytes));
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().map_or(0, |last| last.chars().count()) + 1;
    format!("{origin}:{line}:{column}: the file is not UTF-8 text")
}

fn render_one(fault: &Fault, sources: &Sources, renderer: &Renderer) -> String {
    let level = if fault.severity.refuses() { Level::ERROR } else { Level::WARNING };
    let Some(source) = sources.find(fault.span.start) else {
        return fault.title.clone();
    };
    let span = fault.span.start - source.start..fault.span.end.saturating_sub(source.start);
    let span = within_line(&span, &source.text);
    let concealed = Concealed::new(&source.text, &span);
    let title = level.primary_title(concealed.sentence(&fault.title));
    let annotation = AnnotationKind::Primary.span(span);
    let origin = source.origin.as_str();
    let snippet = Snippet::source(concealed.text).path(origin).annotation(annotation);
    renderer.render(&[title.element(snippet)])
}

/// The part of `span` on its first line, so that one line is shown.
fn within_line(span: &Range<usize>, text: &str) -> Range<usize> {
    let start = span.start.min(text.len());
    let line_end = text.get(start..).and_then(|rest| rest.find('\n')).map(|at| start + at);
    let end = span.end.min(line_end.unwrap_or(text.len()));
    start..end.max(start)
}
