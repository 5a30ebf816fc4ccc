//! Faults of a configuration file and how they are shown: the place, the line, a caret, the reason.

use std::collections::HashMap;
use std::fmt;
use std::io::IsTerminal;
use std::ops::Range;

use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};
use libconfig::Sources;

use super::conceal::Concealed;

/// One thing that is wrong, or odd, at a place of the file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct FileFault {
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
    /// The operator is told: something is not done that the file asks for.
    Warning,
    /// The operator is told: nothing is lost by it.
    Note,
    /// The same, of what is known and has no place here.
    LeftOut,
}

impl Severity {
    /// Whether the configuration is refused.
    pub(super) fn refuses(self) -> bool {
        matches!(self, Severity::Error | Severity::Unknown | Severity::Unfit)
    }
}

impl FileFault {
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

    /// Something that has no effect, which nobody misses.
    pub(super) fn note(span: Range<usize>, title: impl Into<String>) -> Self {
        Self { span, title: title.into(), severity: Severity::Note }
    }
}

/// All faults that refuse the configuration as one text, what else there is to tell behind them,
/// with their number at the end.
pub(super) fn render(faults: &[FileFault], sources: &Sources) -> String {
    let refusing = faults.iter().filter(|fault| fault.severity.refuses());
    let mut shown = render_each(refusing.clone(), sources);
    let told = told(faults, sources);
    if !told.is_empty() {
        shown.push(told.iter().map(Told::to_string).collect::<Vec<_>>().join("\n"));
    }
    let errors = refusing.count();
    let plural = if errors == 1 { "" } else { "s" };
    let origin = sources.find(0).map_or("", |first| first.origin.as_str());
    shown.push(format!("{origin}: {errors} error{plural}"));
    shown.join("\n\n")
}

/// What does not refuse the configuration: a line for each kind, with all of its places; what the
/// file asks for in vain comes first.
pub(super) fn told(faults: &[FileFault], sources: &Sources) -> Vec<Told> {
    let of = |severity| move |fault: &&FileFault| fault.severity == severity;
    let is_note = |fault: &&FileFault| matches!(fault.severity, Severity::Note | Severity::LeftOut);
    let warnings = by_kind(faults.iter().filter(of(Severity::Warning)), sources);
    let notes = by_kind(faults.iter().filter(is_note), sources);
    let told = |is_note| move |text| Told { is_note, text };
    warnings.into_iter().map(told(false)).chain(notes.into_iter().map(told(true))).collect()
}

/// One thing that is told of a configuration that can be put in force.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Told {
    /// Whether nothing is lost by it.
    pub(crate) is_note: bool,
    /// What it is, in one line.
    pub(crate) text: String,
}

impl Told {
    /// Something that is not done though it is asked for, or not safe.
    pub(crate) fn warning(text: String) -> Self {
        Self { is_note: false, text }
    }
}

impl fmt::Display for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let level = if self.is_note { "note" } else { "warning" };
        write!(f, "{level}: {}", self.text)
    }
}

/// What a reason is told of, and the lines where.
type Subject = (String, Vec<String>);

/// Titles are `what: reason`: those with one reason share a line.
fn by_kind<'a>(faults: impl Iterator<Item = &'a FileFault>, sources: &Sources) -> Vec<String> {
    let mut kinds: Vec<(String, Vec<Subject>)> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    for fault in faults {
        let title = sentence(fault, sources);
        let (subject, reason) = title.split_once(": ").unwrap_or(("", &title));
        let place = *places.entry(reason.to_owned()).or_insert(kinds.len());
        if place == kinds.len() {
            kinds.push((reason.to_owned(), Vec::new()));
        }
        let Some((_, subjects)) = kinds.get_mut(place) else { continue };
        let line = line_of(fault.span.start, sources);
        match subjects.last_mut() {
            Some((last, lines)) if last == subject => {
                if lines.last() != Some(&line) {
                    lines.push(line);
                }
            }
            _ => subjects.push((subject.to_owned(), vec![line])),
        }
    }
    let told = |(reason, subjects): (String, Vec<Subject>)| {
        let subjects: Vec<_> =
            subjects.iter().map(|(what, lines)| of_subject(what, lines)).collect();
        format!("{}: {reason}", subjects.join(", "))
    };
    kinds.into_iter().map(told).collect()
}

/// What a reason is told of, with its first places.
fn of_subject(subject: &str, lines: &[String]) -> String {
    let shown = lines.get(..SHOWN_MAX).unwrap_or(lines);
    let more = match lines.len() - shown.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let plural = if lines.len() == 1 { "" } else { "s" };
    let lines = format!("line{plural} {}{more}", shown.join(", "));
    if subject.is_empty() { lines } else { format!("{subject} ({lines})") }
}

/// The number of the line that a place is on, with the name of its file when that is included.
pub(super) fn line_of(at: usize, sources: &Sources) -> String {
    let Some(source) = sources.find(at) else { return "?".to_owned() };
    let before = source.text.get(..at.saturating_sub(source.start)).unwrap_or(&source.text);
    let line = before.matches('\n').count() + 1;
    if source.start == 0 { line.to_string() } else { format!("{line} of {}", source.origin) }
}

/// What a fault says, without what may be a password.
pub(super) fn sentence(fault: &FileFault, sources: &Sources) -> String {
    let Some(source) = sources.find(fault.span.start) else { return fault.title.clone() };
    let span = fault.span.start - source.start..fault.span.end.saturating_sub(source.start);
    Concealed::new(&source.text, &within_line(&span, &source.text), &fault.title)
        .sentence(&fault.title)
}

/// Each fault that refuses as a text of its own.
pub(super) fn render_each<'a>(
    faults: impl Iterator<Item = &'a FileFault>,
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

fn render_one(fault: &FileFault, sources: &Sources, renderer: &Renderer) -> String {
    let Some(source) = sources.find(fault.span.start) else {
        return fault.title.clone();
    };
    let span = fault.span.start - source.start..fault.span.end.saturating_sub(source.start);
    let span = within_line(&span, &source.text);
    let concealed = Concealed::new(&source.text, &span, &fault.title);
    let title = Level::ERROR.primary_title(concealed.sentence(&fault.title));
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

const SHOWN_MAX: usize = 10;
