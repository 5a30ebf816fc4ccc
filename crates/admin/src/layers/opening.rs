//! How a process comes to its first configuration: from the file, from the database, or both.

use std::path::{Path, PathBuf};

use engine::config_fault::ConfigFault;
use engine::snapshot::{Draft, Snapshot};
use engine::vars;
use rusqlite::types::Value;

use super::diff::changes;
use super::modules::MODULES;
use super::moving::{drafted, told};
use super::programs::Programs;
use super::{ConfigFile, Store};
use crate::database::{DISK_FILE, Database};
use crate::fault::AdminFault;
use crate::private_files;
use crate::rows::Rows;
use crate::secrets::is_secret;
use crate::tables::{self, Schema};

/// Where the first configuration comes from.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum OpeningSource {
    /// The database if there is one, else the file.
    #[default]
    Auto,
    /// The file; the database is brought to what it says.
    File,
    /// The database; without one there is nothing to begin with.
    Database,
}

/// How to begin.
pub struct Opening {
    /// Where the database files are; `None` keeps nothing on disk.
    pub dir: Option<PathBuf>,
    /// Where the configuration comes from.
    pub source: OpeningSource,
    /// Whether an existing database is put aside.
    pub initial: bool,
    /// Whether the file is laid over what the database says.
    pub reload: bool,
    /// The configuration file.
    pub file: Box<dyn ConfigFile>,
}

/// The layers at the beginning.
pub struct Opened {
    /// Memory, disk and file.
    pub store: Store,
    /// What is to be put in force.
    pub snapshot: Snapshot,
    /// What to tell the operator.
    pub notes: Vec<String>,
}

impl Opening {
    /// Opens the layers; every reason why not is in the error.
    pub fn open(mut self) -> Result<Opened, AdminFault> {
        let mut notes = Vec::new();
        let existed = self.prepare_dir(&mut notes)?;
        let database = self.database(existed, &mut notes)?;
        // what was saved has every variable; a first save that failed has none
        let existed = existed && !database.rows(Schema::Disk, "global_variables")?.is_empty();
        let file = || self.file.read().map_err(AdminFault::configuration);
        add_defaults(&database, Schema::Main)?;
        let of_database = existed && self.source != OpeningSource::File;
        match (self.source, existed) {
            (OpeningSource::Database, false) => return Err(AdminFault::refused(NO_DATABASE)),
            (OpeningSource::File, _) | (OpeningSource::Auto, false) => {
                take(&database, &file()?, Keep::OnlyThese)?;
            }
            (_, true) => {
                take(&database, &rows_of(&database, Schema::Disk)?, Keep::OnlyThese)?;
                if self.reload {
                    take(&database, &file()?, Keep::Others)?;
                } else if self.source == OpeningSource::Auto {
                    notes.extend(differences(&database, self.file.as_ref())?);
                }
            }
        }
        let snapshot =
            compiled(&rows_of(&database, Schema::Main)?).map_err(|faults| {
                match self.dir.as_ref().filter(|_| of_database) {
                    Some(dir) => unfit(&dir.join(DISK_FILE), faults),
                    None => AdminFault::configuration(faults),
                }
            })?;
        if self.reload || !of_database {
            match (save(&database), &self.dir) {
                (Err(fault), Some(dir)) if fault.is_of_disk() => notes.push(not_saved(dir, &fault)),
                (saved, _) => saved?,
            }
        }
        Ok(Opened { store: Store { database, dir: self.dir, file: self.file }, snapshot, notes })
    }

    /// The database of the directory; in memory where there is none yet and no room to make one.
    fn database(&mut self, existed: bool, notes: &mut Vec<String>) -> Result<Database, AdminFault> {
        let Some(dir) = self.dir.clone() else { return Database::administrators(None) };
        let path = dir.join(DISK_FILE);
        let free = io::free_bytes(&dir).unwrap_or(u64::MAX);
        match Database::administrators(Some(&dir)) {
            Err(fault) if fault.is_of_disk() && !existed => {
                notes.push(format!(
                    "{}: {}{}; Tidegate runs with what the file says, and until a restart SAVE … \
                     TO DISK and the history in a file do not work",
                    path.display(),
                    fault.message,
                    missing(free)
                ));
                self.dir = None;
                Database::administrators(None)
            }
            Err(fault) if fault.is_of_disk() => {
                let message = format!("{}: {}{}", path.display(), fault.message, missing(free));
                Err(AdminFault { message, ..fault })
            }
            opened => {
                if free < ROOM_BYTES {
                    notes.push(format!(
                        "{}: there is hardly any room{}; until there is more, SAVE … TO DISK and \
                         the history do not work",
                        path.display(),
                        missing(free)
                    ));
                }
                opened
            }
        }
    }

    /// Sees to the directory; whether there is a database in it.
    fn prepare_dir(&self, notes: &mut Vec<String>) -> Result<bool, AdminFault> {
        let Some(dir) = &self.dir else { return Ok(false) };
        let told = |what: &str, path: &Path, error: std::io::Error| {
            AdminFault::refused(format!("cannot {what} {}: {error}", path.display()))
        };
        private_files::make_dir(dir).map_err(|error| told("make", dir, error))?;
        let path = dir.join(DISK_FILE);
        if self.initial && path.exists() {
            let aside = dir.join(format!("{DISK_FILE}.bak"));
            private_files::prepare(&path)
                .map_err(|error| told("keep to its owner", &path, error))?;
            std::fs::rename(&path, &aside).map_err(|error| told("rename", &path, error))?;
            notes.push(format!("{} was put aside as {}", path.display(), aside.display()));
        }
        // one that nothing was written to is none
        Ok(path.metadata().is_ok_and(|found| found.len() > 0))
    }
}

/// How much room a disk lacks.
fn missing(free: u64) -> String {
    match ROOM_BYTES.saturating_sub(free) {
        0 => String::new(),
        missing => format!(": {free} bytes are free, {missing} more are needed"),
    }
}

/// That a configuration is in force and not saved.
fn not_saved(dir: &Path, fault: &AdminFault) -> String {
    let free = io::free_bytes(dir).unwrap_or(u64::MAX);
    let (path, missing) = (dir.join(DISK_FILE), missing(free));
    format!(
        "{}: {}{missing}; what is in force is not saved, the next start has what was there before",
        path.display(),
        fault.message
    )
}

/// Room on the disk that saving needs: the configuration twice, and some history.
const ROOM_BYTES: u64 = 2 << 20;

/// What becomes of rows in memory that are not given.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Keep {
    OnlyThese,
    Others,
}

fn take(database: &Database, rows: &Rows, keep: Keep) -> Result<(), AdminFault> {
    database.all_or_nothing(|database| {
        for (table, rows) in rows {
            match (*table, keep) {
                ("global_variables", _) | (_, Keep::Others) => {
                    database.add_rows(Schema::Main, table, rows)?;
                }
                (table, Keep::OnlyThese) => database.write_rows(Schema::Main, table, rows)?,
            }
        }
        Ok(())
    })?;
    add_defaults(database, Schema::Main)
}

/// Memory to disk, whole.
fn save(database: &Database) -> Result<(), AdminFault> {
    let rows = rows_of(database, Schema::Main)?;
    database.all_or_nothing(|database| {
        rows.iter().try_for_each(|(table, rows)| database.write_rows(Schema::Disk, table, rows))
    })
}

fn rows_of(database: &Database, schema: Schema) -> Result<Rows, AdminFault> {
    let tables = tables::configured().iter();
    tables.map(|table| Ok((table.name, database.rows(schema, table.name)?))).collect()
}

/// Variables that nobody set have their defaults.
fn add_defaults(database: &Database, schema: Schema) -> Result<(), AdminFault> {
    let mut rows = database.rows(schema, "global_variables")?;
    let known: Vec<Value> = rows.drain(..).filter_map(|row| row.into_iter().next()).collect();
    let missing = vars::all().map(|variable| {
        vec![Value::Text(variable.full_name()), Value::Text(variable.default_value().to_string())]
    });
    let missing: Vec<_> =
        missing.filter(|row| !row.first().is_some_and(|name| known.contains(name))).collect();
    database.add_rows(schema, "global_variables", &missing)
}

/// Each value on which file and database differ, and which of them is in force.
fn differences(database: &Database, file: &dyn ConfigFile) -> Result<Vec<String>, AdminFault> {
    // a file that is wrong does not keep a process from starting with its database
    let rows = match file.read() {
        Ok(rows) => rows,
        Err(reasons) => {
            let first = reasons.first().cloned().unwrap_or_default();
            return Ok(vec![format!("the configuration file is not looked at: {first}")]);
        }
    };
    let mut known = rows_of(database, Schema::Disk)?;
    if let (Some(known), Some(file)) =
        (known.get_mut("global_variables"), rows.get("global_variables"))
    {
        known.retain(|row| file.iter().any(|other| other.first() == row.first()));
    }
    Ok(changes(&known, &rows)
        .into_iter()
        .map(|change| {
            let place = format!("{} ({})", change.table, change.row);
            match change.what {
                "removed" => format!("{place} is in the database and not in the file: it stays"),
                "added" => {
                    format!("{place} is in the file and not in the database: it is left out")
                }
                _ if is_secret(change.table, &change.row, change.column) => {
                    format!("{place} {}: they differ: the database wins", change.column)
                }
                _ => format!(
                    "{place} {}: the file says {}, the database {}: the database wins",
                    change.column, change.after, change.before
                ),
            }
        })
        .collect())
}

/// The configuration that rows make, or everything that is wrong with them.
fn compiled(rows: &Rows) -> Result<Snapshot, Vec<String>> {
    let mut draft = Draft::default();
    let mut faults: Vec<ConfigFault> = Vec::new();
    for module in MODULES {
        let mut own = rows.clone();
        module.narrow(&mut own);
        let (next, mut found) = drafted(&draft, module, &own);
        draft = next;
        faults.append(&mut found);
    }
    let snapshot = match faults.is_empty() {
        true => Snapshot::compile(&draft),
        false => Err(faults),
    };
    snapshot.map_err(|faults| faults.iter().map(|fault| told(fault, rows)).collect())
}

/// What is wrong with the rows of all modules together, as a LOAD or a start would say.
pub(crate) fn faults(rows: &Rows) -> Vec<String> {
    let mut faults = Vec::new();
    Programs::read(rows, &mut faults);
    let told = faults.iter().map(|fault| told(fault, rows));
    told.chain(compiled(rows).err().unwrap_or_default()).collect()
}

/// A database that nothing can begin with, and how to begin without what it says.
fn unfit(database: &Path, mut faults: Vec<String>) -> AdminFault {
    let path = database.display();
    faults.insert(0, format!("the database {path} says what cannot be put in force:"));
    faults.push(
        "to begin with the configuration file instead: --initial puts the database aside, \
         --config-source=file writes it anew"
            .to_owned(),
    );
    AdminFault::configuration(faults)
}

/// Why there is nothing to begin with.
const NO_DATABASE: &str = "there is no database to take the configuration from";
