//! The data that the servers of a group share: SQLite files in memory, and connections to them.
//!
//! SQLite's own in-memory databases let no reader past an open write transaction. A WAL database
//! does, as MySQL does; so the files lie in a private directory of the memory file system
//! (`/dev/shm`; where there is none, of the temporary directory) that goes when the store goes.
//! Directories left by killed processes are removed by the next store.
//!
//! I-STORE-1: a connection in the pool has no open transaction, no temporary table and no facts.

use std::fs::{self, DirBuilder, File};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rusqlite::Connection;

use crate::facts::Facts;
use crate::functions::{self, Slot};

/// What servers of one group share.
#[derive(Debug)]
pub struct Store {
    schema: String,
    path: PathBuf,
    idle: Vec<Database>,
    /// Whether a write lock was given up since somebody looked.
    pub(crate) released: bool,
    /// Goes last: its lock tells others that the directory is in use.
    _directory: Directory,
}

/// One connection to the data.
#[derive(Debug)]
pub(crate) struct Database {
    /// SQLite's connection.
    pub(crate) connection: Connection,
    /// The name of the schema, for error messages.
    pub(crate) schema: String,
    slot: Slot,
    deadline: Arc<Mutex<Option<Instant>>>,
    foreign_keys: bool,
}

impl Store {
    /// An empty store whose only schema is `schema`.
    pub fn in_memory(schema: impl Into<String>) -> Result<Self, StoreFault> {
        let directory = Directory::create()?;
        let path = directory.path.join("data.db");
        let mut store = Self {
            schema: schema.into(),
            path,
            idle: Vec::new(),
            released: false,
            _directory: directory,
        };
        let first = store.open()?;
        first.connection.execute_batch(
            "PRAGMA journal_mode = WAL;
             CREATE TABLE x (id INTEGER PRIMARY KEY AUTOINCREMENT);
             DROP TABLE x;",
        )?;
        store.idle.push(first);
        Ok(store)
    }

    /// The name of the schema.
    pub fn schema(&self) -> &str {
        &self.schema
    }

    /// Where the data lies while the store lives.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A connection for a session; it comes back by [`Store::check_in`] or is dropped.
    pub(crate) fn check_out(&mut self) -> Result<Database, StoreFault> {
        match self.idle.pop() {
            Some(database) => Ok(database),
            None => self.open(),
        }
    }

    /// Takes a clean connection back.
    pub(crate) fn check_in(&mut self, database: Database) {
        if database.connection.is_autocommit() && self.idle.len() < IDLE_MAX {
            self.idle.push(database);
        }
    }

    fn open(&mut self) -> Result<Database, StoreFault> {
        let mut connection = Connection::open(&self.path)?;
        connection.busy_timeout(Duration::ZERO)?;
        let slot = Slot::default();
        functions::register(&connection, &slot)?;
        connection.execute_batch(
            "PRAGMA synchronous = OFF;
             PRAGMA temp_store = MEMORY;
             PRAGMA wal_autocheckpoint = 500;",
        )?;
        connection.execute_batch(CATALOGUE)?;
        let deadline = Arc::new(Mutex::new(None::<Instant>));
        let watched = Arc::clone(&deadline);
        connection.progress_handler(
            PROGRESS_STEPS,
            Some(move || {
                let deadline = *watched.lock().unwrap_or_else(PoisonError::into_inner);
                deadline.is_some_and(|at| Instant::now() > at)
            }),
        )?;
        Ok(Database { connection, schema: self.schema.clone(), slot, deadline, foreign_keys: true })
    }
}

impl Database {
    /// Runs `work` for the session with these facts, for `limit` at the longest.
    pub(crate) fn with<T>(
        &mut self,
        facts: &mut Facts,
        limit: Duration,
        work: impl FnOnce(&Self) -> T,
    ) -> T {
        let empty = Facts::new(Arc::clone(&facts.server), facts.connection_id, String::new());
        let lent = std::mem::replace(facts, empty);
        self.follow_settings(&lent);
        *lock(&self.slot) = Some(lent);
        *lock(&self.deadline) = Some(Instant::now() + limit);
        let result = work(self);
        *lock(&self.deadline) = None;
        if let Some(lent) = lock(&self.slot).take() {
            *facts = lent;
        }
        result
    }

    /// SQLite has one setting that a session may change.
    fn follow_settings(&mut self, facts: &Facts) {
        let wanted = facts.variables.get("foreign_key_checks").is_none_or(|text| text == "1");
        if wanted != self.foreign_keys && self.connection.is_autocommit() {
            let changed = self.connection.pragma_update(None, "foreign_keys", wanted);
            self.foreign_keys = if changed.is_ok() { wanted } else { self.foreign_keys };
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Why a store cannot be had.
#[derive(Debug)]
pub enum StoreFault {
    /// The directory could not be made.
    Directory(std::io::Error),
    /// SQLite refused.
    Sqlite(rusqlite::Error),
}

impl std::fmt::Display for StoreFault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Directory(error) => write!(f, "cannot keep the embedded data: {error}"),
            Self::Sqlite(error) => write!(f, "SQLite: {error}"),
        }
    }
}

impl std::error::Error for StoreFault {}

impl From<std::io::Error> for StoreFault {
    fn from(error: std::io::Error) -> Self {
        Self::Directory(error)
    }
}

impl From<rusqlite::Error> for StoreFault {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

/// A directory of our own, removed on drop.
#[derive(Debug)]
struct Directory {
    path: PathBuf,
    _lock: File,
}

impl Directory {
    fn create() -> std::io::Result<Self> {
        let memory = Path::new("/dev/shm");
        let base = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
        Self::create_in(&base).or_else(|error| {
            let other = std::env::temp_dir();
            if other == base { Err(error) } else { Self::create_in(&other) }
        })
    }

    fn create_in(base: &Path) -> std::io::Result<Self> {
        sweep(base);
        let mut number = 0_u64;
        loop {
            number += 1;
            let path = base.join(format!("{PREFIX}{}-{number}", std::process::id()));
            match DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => {}
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => continue,
                Err(error) => return Err(error),
            }
            let lock = File::create(path.join(LOCK))?;
            match lock.try_lock() {
                Ok(()) => return Ok(Self { path, _lock: lock }),
                // a sweep took it for a left one in between
                Err(fs::TryLockError::WouldBlock) => continue,
                Err(fs::TryLockError::Error(error)) => return Err(error),
            }
        }
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// Removes directories whose process is gone: nobody holds their lock.
fn sweep(base: &Path) {
    let Ok(entries) = fs::read_dir(base) else { return };
    for entry in entries.flatten() {
        let ours = entry.file_name().to_string_lossy().starts_with(PREFIX);
        let Some(lock) = ours.then(|| File::open(entry.path().join(LOCK)).ok()).flatten() else {
            continue;
        };
        if lock.try_lock().is_ok() {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

const PREFIX: &str = "tidegate-sqlited-";
const LOCK: &str = "lock";

/// Connections kept for the next statement.
const IDLE_MAX: usize = 32;

/// Steps of SQLite's machine between two looks at the clock.
const PROGRESS_STEPS: i32 = 20_000;

/// The catalogue, as views of every connection; `rewrite` finds them by these names.
const CATALOGUE: &str = "
CREATE TEMP VIEW `information_schema.schemata` AS
  SELECT 'def' AS CATALOG_NAME, own_schema() AS SCHEMA_NAME,
    'utf8mb4' AS DEFAULT_CHARACTER_SET_NAME, 'utf8mb4_general_ci' AS DEFAULT_COLLATION_NAME
  UNION ALL SELECT 'def', 'information_schema', 'utf8mb3', 'utf8mb3_general_ci';
CREATE TEMP VIEW `information_schema.tables` AS
  SELECT 'def' AS TABLE_CATALOG, own_schema() AS TABLE_SCHEMA, name AS TABLE_NAME,
    CASE type WHEN 'view' THEN 'VIEW' ELSE 'BASE TABLE' END AS TABLE_TYPE, 'SQLite' AS ENGINE,
    NULL AS TABLE_ROWS, 0 AS DATA_LENGTH, 0 AS INDEX_LENGTH, NULL AS CREATE_TIME,
    'utf8mb4_general_ci' AS TABLE_COLLATION, '' AS TABLE_COMMENT
  FROM main.sqlite_master WHERE type IN ('table', 'view') AND substr(name, 1, 7) != 'sqlite_';
CREATE TEMP VIEW `information_schema.columns` AS
  SELECT 'def' AS TABLE_CATALOG, own_schema() AS TABLE_SCHEMA, t.name AS TABLE_NAME,
    c.name AS COLUMN_NAME, c.cid + 1 AS ORDINAL_POSITION,
    trim(c.dflt_value, '''') AS COLUMN_DEFAULT,
    CASE WHEN c.\"notnull\" OR c.pk THEN 'NO' ELSE 'YES' END AS IS_NULLABLE,
    substr(column_type(c.type) || '(', 1, instr(column_type(c.type) || '(', '(') - 1) AS DATA_TYPE,
    column_type(c.type) AS COLUMN_TYPE, CASE WHEN c.pk THEN 'PRI' ELSE '' END AS COLUMN_KEY,
    CASE WHEN c.pk AND upper(c.type) = 'INTEGER' THEN 'auto_increment' ELSE '' END AS EXTRA,
    '' AS COLUMN_COMMENT, '' AS GENERATION_EXPRESSION
  FROM main.sqlite_master AS t, pragma_table_xinfo(t.name) AS c
  WHERE t.type IN ('table', 'view') AND substr(t.name, 1, 7) != 'sqlite_';
CREATE TEMP VIEW `information_schema.files` AS
  SELECT '' AS TABLESPACE_NAME, '' AS FILE_NAME, '' AS LOGFILE_GROUP_NAME, 0 AS EXTENT_SIZE,
    0 AS INITIAL_SIZE, '' AS ENGINE, '' AS FILE_TYPE, '' AS EXTRA, 0 AS TOTAL_EXTENTS WHERE 0;
CREATE TEMP VIEW `information_schema.partitions` AS
  SELECT '' AS TABLE_SCHEMA, '' AS TABLE_NAME, '' AS PARTITION_NAME, '' AS TABLESPACE_NAME WHERE 0;
CREATE TEMP VIEW `information_schema.triggers` AS
  SELECT '' AS TRIGGER_SCHEMA, '' AS TRIGGER_NAME, '' AS EVENT_OBJECT_SCHEMA,
    '' AS EVENT_OBJECT_TABLE WHERE 0;
CREATE TEMP VIEW `information_schema.routines` AS
  SELECT '' AS ROUTINE_SCHEMA, '' AS ROUTINE_NAME, '' AS ROUTINE_TYPE WHERE 0;
CREATE TEMP VIEW `information_schema.processlist` AS
  SELECT value ->> 0 AS ID, value ->> 1 AS USER, value ->> 2 AS HOST, value ->> 3 AS DB,
    value ->> 4 AS COMMAND, value ->> 5 AS TIME, value ->> 6 AS STATE, value ->> 7 AS INFO
  FROM json_each(processlist());
CREATE TEMP VIEW `performance_schema.session_variables` AS
  SELECT key AS VARIABLE_NAME, value AS VARIABLE_VALUE FROM json_each(session_variables());
CREATE TEMP VIEW `performance_schema.global_variables` AS
  SELECT key AS VARIABLE_NAME, value AS VARIABLE_VALUE FROM json_each(global_variables());
CREATE TEMP VIEW `performance_schema.global_status` AS
  SELECT key AS VARIABLE_NAME, value AS VARIABLE_VALUE FROM json_each(status_variables());
CREATE TEMP VIEW `performance_schema.session_status` AS
  SELECT key AS VARIABLE_NAME, value AS VARIABLE_VALUE FROM json_each(status_variables());
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_removes_its_directory_and_those_of_dead_processes() {
        let base = std::env::temp_dir().join(format!("sqlited-sweep-{}", std::process::id()));
        fs::create_dir_all(&base).unwrap();
        let dead = base.join(format!("{PREFIX}1-1"));
        fs::create_dir(&dead).unwrap();
        fs::write(dead.join(LOCK), "").unwrap();
        let living = Directory::create_in(&base).unwrap();
        assert!(!dead.exists());
        let other = Directory::create_in(&base).unwrap();
        assert!(living.path.exists() && other.path.exists());
        let path = living.path.clone();
        drop(living);
        assert!(!path.exists());
        drop(other);
        fs::remove_dir_all(&base).unwrap();
    }

    #[test]
    fn a_reader_passes_an_open_write_transaction() {
        let mut store = Store::in_memory("demo").unwrap();
        let writer = store.check_out().unwrap();
        let reader = store.check_out().unwrap();
        writer.connection.execute_batch("CREATE TABLE t (a); BEGIN IMMEDIATE").unwrap();
        writer.connection.execute("INSERT INTO t VALUES (1)", ()).unwrap();
        let count = |database: &Database| -> i64 {
            let sql = "SELECT count(*) FROM t";
            database.connection.query_row(sql, (), |row| row.get(0)).unwrap()
        };
        assert_eq!((count(&writer), count(&reader)), (1, 0));
        writer.connection.execute_batch("COMMIT").unwrap();
        assert_eq!(count(&reader), 1);
    }
}
