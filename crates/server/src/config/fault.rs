//! Faults of a configuration file and how they are shown: the place, the line, a caret, the reason.

use std::io::IsTerminal;
use std::ops::Range;

use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};

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
    /// The configuration is refused.
    Error,
    /// The operator is told.
    Warning,
}

impl Fault {
    /// Something that makes the configuration unusable.
    pub(super) fn error(span: Range<usize>, title: impl Into<String>) -> Self {
        Self { span, title: title.into(), severity: Severity::Error }
    }

    /// Something that is probably not meant.
    pub(super) fn warning(span: Range<usize>, title: impl Into<String>) -> Self {
        Self { span, title: title.into(), severity: Severity::Warning }
    }
}

/// All faults as one text, with their number at the end.
pub(super) fn render(faults: &[Fault], text: &str, origin: &str) -> String {
    let mut shown = render_each(faults, text, origin);
    let errors = faults.iter().filter(|fault| fault.severity == Severity::Error).count();
    let plural = if errors == 1 { "" } else { "s" };
    shown.push(format!("{origin}: {errors} error{plural}"));
    shown.join("\n\n")
}

/// Each fault as a text of its own.
pub(super) fn render_each(faults: &[Fault], text: &str, origin: &str) -> Vec<String> {
    let styled = std::io::stderr().is_terminal();
    let renderer = if styled { Renderer::styled() } else { Renderer::plain() };
    faults.iter().map(|fault| render_one(fault, text, origin, &renderer)).collect()
}

/// What is shown of a file that is no text.
pub(super) fn not_utf8(bytes: &[u8], origin: &str) -> String {
    let valid = std::str::from_utf8(bytes).map_or_else(|error| error.valid_up_to(), str::len);
    let before = String::from_utf8_lossy(bytes.get(..valid).unwrap_or(bytes));
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().map_or(0, |last| last.chars().count()) + 1;
    format!("{origin}:{line}:{column}: the file is not UTF-8 text")
}

fn render_one(fault: &Fault, text: &str, origin: &str, renderer: &Renderer) -> String {
    let level = match fault.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let annotation = AnnotationKind::Primary.span(within_line(&fault.span, text));
    let snippet = Snippet::source(text).path(origin).annotation(annotation);
    renderer.render(&[level.primary_title(fault.title.as_str()).element(snippet)])
}

/// The part of `span` on its first line, so that one line is shown.
fn within_line(span: &Range<usize>, text: &str) -> Range<usize> {
    let start = span.start.min(text.len());
    let line_end = text.get(start..).and_then(|rest| rest.find('\n')).map(|at| start + at);
    let end = span.end.min(line_end.unwrap_or(text.len()));
    start..end.max(start)
}
