//! The layers of a configuration and what moves between them.
//!
//! RUNTIME is in force, MEMORY is edited, DISK outlives the process, FILE is what an operator
//! wrote. Moving a module from one to another is one function over [`modules`].

mod diff;
mod in_force;
mod modules;
mod moving;
mod opening;
mod programs;
mod versions;

use std::path::{Path, PathBuf};

pub(crate) use diff::{Change, changes, key_of, shown};
pub(crate) use in_force::{InForce, checksum};
pub(crate) use modules::{MODULES, Module};
pub(crate) use moving::{drafted, idle};
pub(crate) use opening::faults;
pub use opening::{Opened, Opening, OpeningSource};

use crate::database::Database;
use crate::fault::AdminFault;
use crate::rows::Rows;
use crate::tables::Schema;

/// The configuration file, as the interface needs it.
pub trait ConfigFile: Send {
    /// Reads it: rows of the tables that it has something of, or everything that is wrong.
    fn read(&self) -> Result<Rows, Vec<String>>;

    /// The text of a file that says what `rows` say; `target` is where it will be written, whose
    /// name may choose the format.
    fn text(&self, rows: &Rows, target: Option<&Path>) -> String;
}

/// The layers that are kept by the interface: memory, disk, and where the file is.
pub struct Store {
    pub(crate) database: Database,
    dir: Option<PathBuf>,
    file: Box<dyn ConfigFile>,
}

/// One layer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Layer {
    /// What is in force.
    Runtime,
    /// What is edited.
    Memory,
    /// What outlives the process.
    Disk,
    /// What an operator wrote.
    File,
}

impl Layer {
    /// The layer that a word of a command names.
    pub(crate) fn named(word: &str) -> Option<Self> {
        let named = |words: &[&str]| words.iter().any(|name| name.eq_ignore_ascii_case(word));
        match () {
            () if named(&["RUNTIME", "RUN"]) => Some(Self::Runtime),
            () if named(&["MEMORY", "MEM"]) => Some(Self::Memory),
            () if named(&["DISK"]) => Some(Self::Disk),
            () if named(&["CONFIG", "FILE"]) => Some(Self::File),
            () => None,
        }
    }
}

impl Store {
    /// Where the database files are; `None` when there are none.
    pub(crate) fn dir(&self) -> Option<&Path> {
        self.dir.as_deref()
    }

    /// The configuration file.
    pub(crate) fn file(&self) -> &dyn ConfigFile {
        self.file.as_ref()
    }

    /// Opens the database files anew, after somebody put other ones in their place.
    pub(crate) fn reopen(&self) -> Result<(), AdminFault> {
        match self.dir() {
            Some(dir) => self.database.reopen(dir),
            None => Err(AdminFault::refused("there is no database on disk")),
        }
    }

    /// All rows of a module in memory or on disk.
    pub(crate) fn rows(&self, schema: Schema, module: &Module) -> Result<Rows, AdminFault> {
        let mut rows = Rows::new();
        for table in module.tables {
            rows.insert(table, self.database.rows(schema, table)?);
        }
        module.narrow(&mut rows);
        Ok(rows)
    }
}
