//! What a session is to do: lines that the session suite's files and the generator have in common,
//! read from text and written as text.

use std::fmt;
use std::path::Path;

use lab::Flavour;
use serde_json::Value;

/// One thing that a client asks.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Line {
    /// A text, of one or several statements.
    Text(String),
    /// Prepares a text if the session has not yet, and executes it with these values.
    Execute(String, Vec<Value>),
    /// `COM_INIT_DB`.
    Schema(String),
    /// `COM_RESET_CONNECTION`.
    Reset,
}

/// How the lines of a session are sent.
#[derive(Default, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Manner {
    /// Each after the answer to the one before.
    #[default]
    InTurn,
    /// So many before the first answer is read.
    Ahead(usize),
}

/// The lines of a session.
#[derive(Default, Clone, PartialEq, Debug)]
pub(crate) struct Script {
    pub(crate) name: String,
    pub(crate) manner: Manner,
    /// Whether the client knows results that end without EOF packets.
    pub(crate) no_eof: bool,
    pub(crate) lines: Vec<Line>,
}

impl Line {
    /// Reads a line of a file.
    pub(crate) fn parse(line: &str) -> Self {
        if line == "RESET:" {
            return Self::Reset;
        }
        if let Some(name) = line.strip_prefix("USE: ") {
            return Self::Schema(name.into());
        }
        if let Some(text) = line.strip_prefix("EXEC: ") {
            return Self::Execute(text.into(), Vec::new());
        }
        match line.strip_prefix("EXEC ").and_then(|rest| rest.split_once(": ")) {
            Some((values, text)) => {
                Self::Execute(text.into(), serde_json::from_str(values).expect("a list of values"))
            }
            None => Self::Text(line.into()),
        }
    }

    /// Its text, if it has one.
    pub(crate) fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) | Self::Execute(text, _) => Some(text),
            Self::Schema(_) | Self::Reset => None,
        }
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.write_str(text),
            Self::Execute(text, values) if values.is_empty() => write!(f, "EXEC: {text}"),
            Self::Execute(text, values) => {
                write!(f, "EXEC {}: {text}", serde_json::to_string(values).expect("plain values"))
            }
            Self::Schema(name) => write!(f, "USE: {name}"),
            Self::Reset => f.write_str("RESET:"),
        }
    }
}

impl fmt::Display for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let end = if self.no_eof { ", no EOF" } else { "" };
        writeln!(f, "# {} ({:?}{end})", self.name, self.manner)?;
        self.lines.iter().try_for_each(|line| writeln!(f, "{line}"))
    }
}

/// The line without the mark of its flavour; `None` when it is the other one's.
pub(crate) fn of(flavour: Flavour, line: &str) -> Option<&str> {
    let (own, other) = match flavour {
        Flavour::MariaDb => ("MARIADB: ", "MYSQL: "),
        Flavour::MySql => ("MYSQL: ", "MARIADB: "),
    };
    (!line.starts_with(other)).then(|| line.strip_prefix(own).unwrap_or(line))
}

/// The scripts of the session suite.
pub(crate) fn of_files(flavour: Flavour) -> Vec<Script> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/session_state");
    let mut files: Vec<_> = std::fs::read_dir(dir).expect("the scripts").flatten().collect();
    files.sort_by_key(std::fs::DirEntry::path);
    let mut scripts: Vec<Script> = Vec::new();
    for file in files.iter().filter(|file| file.path().extension().is_some_and(|e| e == "sql")) {
        for line in std::fs::read_to_string(file.path()).expect("readable").lines() {
            match (line.strip_prefix("# "), scripts.last_mut()) {
                (Some(name), _) => {
                    let (name, no_eof) = (name.into(), scripts.len() % 2 == 1);
                    let (manner, lines) = (Manner::InTurn, Vec::new());
                    scripts.push(Script { name, manner, no_eof, lines });
                }
                (None, Some(script)) => script.lines.extend(of(flavour, line).map(Line::parse)),
                (None, None) => panic!("a script begins with its name"),
            }
        }
    }
    scripts
}
