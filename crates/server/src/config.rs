//! From `tidegate.toml` or `proxysql.cnf` to a compiled configuration, and back: the file's tables
//! and keys are those of the admin interface.
//!
//! Both formats become one tree, which is read by one reader.
//! Shapes and types are judged here, values by `engine`; both kinds of fault are shown together,
//! each at its place in the file. Nothing is converted silently and nothing is left out silently.

mod columns;
mod conceal;
mod document;
mod fault;
mod file_permissions;
mod format;
mod loosen;
mod mend;
mod places;
mod tree;
mod undrafted;
mod undrafted_table;
mod variables;
mod write;

use std::path::{Path, PathBuf};

use advice::without_effect::without_effect;
use anyhow::{Context, anyhow, bail};
use engine::snapshot::{Draft, Snapshot};
use libconfig::Sources;

use document::Document;
use fault::{FileFault, Severity};

pub(crate) use columns::scalar;
pub(crate) use document::left_out;
pub(crate) use fault::Told;
pub(crate) use format::Format;
pub(crate) use undrafted::Undrafted;
pub(crate) use write::{
    Scalar, Section, hex, text as written, text_of as written_sections,
    variable as written_variable,
};

/// A configuration that was read without an error.
pub(crate) struct Loaded {
    /// File it came from; `None` when it is a database's.
    pub(crate) origin: Option<PathBuf>,
    /// The rows as written.
    pub(crate) draft: Draft,
    /// The rows compiled.
    pub(crate) snapshot: Snapshot,
    /// What is odd but not wrong, for people: a line for each kind.
    pub(crate) warnings: Vec<Told>,
}

/// The file to read: the one asked for, or the first that exists of the usual places.
pub(crate) fn find(asked: Option<&Path>) -> anyhow::Result<PathBuf> {
    if let Some(asked) = asked {
        return Ok(asked.to_path_buf());
    }
    match USUAL_PLACES.iter().map(Path::new).find(|place| place.exists()) {
        Some(place) => Ok(place.to_path_buf()),
        None => bail!(
            "no configuration: neither {} exists; write one with `tidegate init` or name one \
             with --config",
            USUAL_PLACES.join(" nor ")
        ),
    }
}

/// Reads `file`; on failure the error's text shows every fault with its place.
pub(crate) fn load(file: &Path) -> anyhow::Result<Loaded> {
    load_after(file, None)
}

/// Reads `file` for what is to follow the configuration `before`.
pub(crate) fn load_after(file: &Path, before: Option<&Snapshot>) -> anyhow::Result<Loaded> {
    load_all(file, before).map(|(loaded, _)| loaded)
}

/// Reads `file` likewise, with what is carried without effect.
pub(crate) fn load_all(
    file: &Path,
    before: Option<&Snapshot>,
) -> anyhow::Result<(Loaded, Undrafted)> {
    let bytes = std::fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
    let text = text_of(file, bytes)?;
    let origin = file.display().to_string();
    let judged = judge(document::read(Format::of(file, &text), &origin, &text), before);
    match judged.snapshot {
        Some(snapshot) if !judged.refused() => {
            let files = judged.sources.origins();
            let open = files.filter_map(|file| file_permissions::warning(file, &judged.draft));
            let mut warnings = fault::told(&judged.faults, &judged.sources);
            let notes = warnings.iter().position(|told| told.is_note).unwrap_or(warnings.len());
            warnings.splice(notes..notes, open.map(Told::warning));
            let Judged { draft, undrafted, .. } = judged;
            let origin = Some(file.to_path_buf());
            Ok((Loaded { origin, draft, snapshot, warnings }, undrafted))
        }
        _ => bail!(fault::render(&judged.faults, &judged.sources)),
    }
}

/// A file that was read and compiled, with everything that there is to say of it.
struct Judged {
    draft: Draft,
    undrafted: Undrafted,
    /// `None` when the rows do not compile.
    snapshot: Option<Snapshot>,
    /// What is wrong or odd, in the order of the file.
    faults: Vec<FileFault>,
    sources: Sources,
}

impl Judged {
    /// Whether the file cannot be put in force.
    fn refused(&self) -> bool {
        self.faults.iter().any(|fault| fault.severity.refuses())
    }
}

/// What was read of a file that is to be converted.
pub(crate) struct Survey {
    /// The rows, those that cannot be put in force included.
    pub(crate) draft: Draft,
    /// What is carried without effect.
    pub(crate) undrafted: Undrafted,
    /// What has to be corrected before it can be put in force, rendered for people.
    pub(crate) unfit: Vec<String>,
    /// Names that are not known; they are not among the rows.
    pub(crate) unknown: Vec<String>,
    /// What is known and has no place here.
    pub(crate) left_out: Vec<String>,
    /// What is odd, or has no effect.
    pub(crate) odd: Vec<String>,
}

/// Reads the text of the file `origin` to convert it; the error shows everything that keeps it
/// from being read.
pub(crate) fn survey(format: Format, origin: &str, text: &str) -> anyhow::Result<Survey> {
    let Judged { draft, undrafted, faults, sources, .. } =
        judge(document::read(format, origin, text), None);
    let (wrong, rest): (Vec<_>, Vec<_>) =
        faults.into_iter().partition(|fault| fault.severity == Severity::Error);
    if !wrong.is_empty() {
        bail!(fault::render(&wrong, &sources));
    }
    let of = |severity| rest.iter().filter(move |fault: &&FileFault| fault.severity == severity);
    let titles =
        |severity| of(severity).map(|fault| fault::sentence(fault, &sources)).collect::<Vec<_>>();
    let (unknown, left_out) = (titles(Severity::Unknown), titles(Severity::LeftOut));
    let odd = [Severity::Warning, Severity::Note].map(titles).concat();
    let unfit = fault::render_each(of(Severity::Unfit), &sources);
    Ok(Survey { draft, undrafted, unfit, unknown, left_out, odd })
}

/// The text of a file, or where it is none.
pub(crate) fn text_of(file: &Path, bytes: Vec<u8>) -> anyhow::Result<String> {
    String::from_utf8(bytes)
        .map_err(|error| anyhow!(fault::not_utf8(error.as_bytes(), &file.display().to_string())))
}

/// The name that a table has in `proxysql.cnf`; `None` for one that no file has.
pub(crate) fn section(table: &str) -> Option<&'static str> {
    let found = engine::rows::find(table).filter(|found| found.name != "global_variables");
    found.map(|found| found.section)
}

/// Compiles what was read, to follow the configuration `before`.
fn judge(mut document: Document, before: Option<&Snapshot>) -> Judged {
    let compile = |draft: &Draft| match before {
        Some(before) => before.recompile(draft),
        None => Snapshot::compile(draft),
    };
    if document.format == Format::Cnf {
        document.take_last_of_each();
        document.verify_as_there();
        document.open_as_there();
    }
    document.leave_rows_out();
    let mut compiled = compile(&document.draft);
    while let Err(found) = &compiled
        && document.format == Format::Cnf
        && document.mend(found)
    {
        document.leave_rows_out();
        compiled = compile(&document.draft);
    }
    let snapshot = match compiled {
        Ok(snapshot) => {
            document.warn_of(snapshot.rules.slow_patterns());
            Some(snapshot)
        }
        Err(found) => {
            document.refuse(&found);
            None
        }
    };
    document.warn_of(&without_effect(&document.draft));
    if !document.faults.iter().any(|fault| fault.severity.refuses()) {
        let mut odd = document.oddities();
        document.faults.append(&mut odd);
    }
    let mut faults = document.faults;
    faults.sort_by_key(|fault| fault.span.start);
    let Document { draft, undrafted, sources, .. } = document;
    Judged { draft, undrafted, snapshot, faults, sources }
}

const USUAL_PLACES: [&str; 2] = ["./tidegate.toml", "/etc/tidegate/tidegate.toml"];

#[cfg(test)]
mod tests;
