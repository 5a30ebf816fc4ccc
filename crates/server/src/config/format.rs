//! The two formats of a configuration file: which one a file is of, and how things look in it.

use std::path::Path;

use toml::de::DeTable;

/// How a configuration file is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Format {
    /// `tidegate.toml`.
    Toml,
    /// `proxysql.cnf`.
    Cnf,
}

impl Format {
    /// The format of a file: by the end of its name, else by its text.
    pub(crate) fn of(file: &Path, text: &str) -> Self {
        Self::of_name(file).unwrap_or_else(|| Self::of_text(text))
    }

    /// The format that the end of a file's name says; `None` when it says nothing.
    pub(crate) fn of_name(file: &Path) -> Option<Self> {
        let end = file.extension()?.to_str()?;
        match end.to_ascii_lowercase().as_str() {
            "toml" => Some(Format::Toml),
            "cnf" | "cfg" | "conf" => Some(Format::Cnf),
            _ => None,
        }
    }

    /// The format in which the first fault of the text stands later.
    fn of_text(text: &str) -> Self {
        let (_, errors) = DeTable::parse_recoverable(text);
        let starts = |error: &toml::de::Error| error.span().map_or(0, |span| span.start);
        let Some(toml) = errors.iter().map(starts).min() else { return Format::Toml };
        let read = libconfig::parse("", text, &mut |_, _| Ok((String::new(), String::new())));
        let fatal = read.faults.iter().filter(|fault| fault.fatal);
        match fatal.map(|fault| fault.span.start).min() {
            Some(cnf) if cnf <= toml => Format::Toml,
            _ => Format::Cnf,
        }
    }

    /// How a row of a table is written.
    pub(super) fn shown_row(self, name: &str) -> String {
        match self {
            Format::Toml => format!("[[{name}]]"),
            Format::Cnf => format!("{name} = ( {{ … }}, … )"),
        }
    }

    /// How a table that is one group of keys is written.
    pub(super) fn shown_table(self, name: &str) -> String {
        match self {
            Format::Toml => format!("[{name}]"),
            Format::Cnf => format!("{name} = {{ … }}"),
        }
    }
}

/// Reads the file that another one includes; a relative path begins where that file is.
pub(super) fn include(from: &str, path: &str) -> Result<(String, String), String> {
    let file = Path::new(from).parent().unwrap_or_else(|| Path::new("")).join(path);
    let shown = file.display().to_string();
    let bytes = std::fs::read(&file).map_err(|error| format!("cannot read {shown}: {error}"))?;
    match String::from_utf8(bytes) {
        Ok(text) => Ok((shown, text)),
        Err(error) => Err(super::fault::not_utf8(error.as_bytes(), &shown)),
    }
}
