//! SQLite as the interface sees it: the schemas of an administrator, or of a reader of statistics.
//!
//! Which tables a statement reads, and what it may not do, is told by SQLite itself while it
//! prepares the statement (its authorizer); so no text is searched for names. Rows of live tables
//! are put there between preparing and running.

mod bounds;
mod file;
mod functions;
mod guard;
mod refusal;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, Statement};
use wire::collation_table::{self, Collation};

use crate::fault::AdminFault;
use crate::private_files;
use crate::statistics::Row;
use crate::tables::{self, Schema};

use bounds::Bounds;
pub(crate) use bounds::STATEMENT_LIMIT;
pub(crate) use functions::{FunctionFacts, random};
pub(crate) use guard::Rights;
use guard::{SeenTables, Watch};
pub(crate) use refusal::no_such_table;

/// A connection to SQLite with schemas attached.
pub(crate) struct Database {
    connection: Connection,
    watch: Arc<Mutex<Watch>>,
    facts: Arc<Mutex<FunctionFacts>>,
    on_disk: bool,
    /// What a statement may cost; an administrator's may cost anything.
    bounds: Option<Bounds>,
}

/// The rows of a result, as a client reads them.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct ResultSet {
    /// Names of the columns.
    pub columns: Vec<String>,
    /// Values; `None` is NULL.
    pub rows: Vec<Vec<Option<Vec<u8>>>>,
}

/// What a statement came to.
#[derive(Debug)]
pub(crate) enum Ran {
    /// Rows.
    Rows(ResultSet),
    /// So many rows were changed.
    Changed(u64),
}

/// What a statement will need and give.
pub(crate) struct Description {
    /// Names of the result's columns; none when it has no result.
    pub(crate) columns: Vec<String>,
    /// Parameters it has.
    pub(crate) parameters: usize,
}

/// Who runs a statement, and with what.
pub(crate) struct Run<'a> {
    /// What it may do.
    pub(crate) rights: Rights,
    /// Whether writing is refused.
    pub(crate) read_only: bool,
    /// What functions tell of the session.
    pub(crate) facts: FunctionFacts,
    /// Values of its `?`, in order.
    pub(crate) values: &'a [Value],
    /// Values of its `:name`s, by name with the colon.
    pub(crate) named: &'a [(String, Value)],
}

/// Makes the rows of a live table.
pub(crate) type Fill<'a> = &'a mut dyn FnMut(Schema, &str) -> Vec<Row>;

impl Database {
    /// An administrator's: all schemas, two of them in files of `dir`, or in memory without one.
    pub(crate) fn administrators(dir: Option<&Path>) -> Result<Self, AdminFault> {
        let database = Self::new(dir.is_some())?;
        database.create(Schema::Main)?;
        database.attach(Schema::Disk, dir.map(|dir| dir.join(DISK_FILE)))?;
        database.attach(Schema::Stats, None)?;
        database.attach(Schema::Monitor, None)?;
        database.attach_history(dir)?;
        let collations = collations();
        for schema in [Schema::Main, Schema::Disk] {
            // a start that has nothing new to keep needs no room on the disk
            if database.rows(schema, "mysql_collations")? != collations {
                database.write_rows(schema, "mysql_collations", &collations)?;
            }
        }
        Ok(database)
    }

    /// A reader's: statistics, what monitoring found, and history.
    pub(crate) fn readers(dir: Option<&Path>) -> Result<Self, AdminFault> {
        let mut database = Self::new(dir.is_some())?;
        database.attach(Schema::Stats, None)?;
        database.attach(Schema::Monitor, None)?;
        database.attach_history(dir)?;
        database.bounds = Some(Bounds::set(&mut database.connection)?);
        Ok(database)
    }

    fn new(on_disk: bool) -> Result<Self, AdminFault> {
        let mut connection = Connection::open_in_memory()?;
        let watch = Arc::new(Mutex::new(Watch::default()));
        let facts = Arc::new(Mutex::new(FunctionFacts::default()));
        functions::register(&connection, &facts)?;
        let watching = Arc::clone(&watch);
        connection.authorizer(Some(move |context: rusqlite::hooks::AuthContext<'_>| {
            lock(&watching).judge(&context)
        }))?;
        Ok(Self { connection, watch, facts, on_disk, bounds: None })
    }

    /// The history in its file, or in memory when there is none or it cannot be written.
    fn attach_history(&self, dir: Option<&Path>) -> Result<(), AdminFault> {
        match self.attach(Schema::History, dir.map(|dir| dir.join(HISTORY_FILE))) {
            Err(fault) if fault.is_of_disk() => {
                drop(self.own(&format!("DETACH {}", Schema::History.name())));
                self.attach(Schema::History, None)
            }
            attached => attached,
        }
    }

    fn attach(&self, schema: Schema, file: Option<PathBuf>) -> Result<(), AdminFault> {
        let path = file.as_deref().map_or(":memory:".into(), Path::to_string_lossy);
        if let Some(file) = &file {
            private_files::prepare(file)
                .map_err(|error| AdminFault::refused(format!("{path}: {error}")))?;
        }
        let sql = format!("ATTACH ?1 AS {}", schema.name());
        self.connection.execute(&sql, [path.as_ref()]).map_err(|error| {
            let fault = AdminFault::sqlite(&error);
            AdminFault { message: format!("{path}: {}", fault.message), ..fault }
        })?;
        if file.is_some() {
            // a save that was answered is on the disk; samples of statistics need not be
            let level = if schema == Schema::Disk { "FULL" } else { "NORMAL" };
            self.own(&format!("PRAGMA {}.synchronous = {level}", schema.name()))?;
            file::migrate(&self.connection, schema)?;
        }
        self.create(schema)
    }

    /// Lets go of the database file and opens what is now in its place.
    pub(crate) fn reopen(&self, dir: &Path) -> Result<(), AdminFault> {
        self.own(&format!("DETACH {}", Schema::Disk.name()))?;
        let opened = self.attach(Schema::Disk, Some(dir.join(DISK_FILE)));
        if opened.is_err() {
            // whatever is there, the interface goes on: with an empty schema until the next time
            drop(self.own(&format!("DETACH {}", Schema::Disk.name())));
            self.attach(Schema::Disk, None)?;
        }
        opened?;
        self.write_rows(Schema::Disk, "mysql_collations", &collations())
    }

    fn create(&self, schema: Schema) -> Result<(), AdminFault> {
        for (name, table) in schema.tables() {
            if !file::exists(&self.connection, schema, &name)? {
                self.connection.execute(&tables::create(table, schema.name(), &name), ())?;
            }
        }
        Ok(())
    }

    /// Whether what is saved outlives the process.
    pub(crate) fn is_on_disk(&self) -> bool {
        self.on_disk
    }

    /// Bytes that it has in memory: the pages of schemas in memory, and of files as many as are
    /// kept of them.
    pub(crate) fn memory_bytes(&self) -> u64 {
        let number = |sql: String| {
            self.connection.query_row(&sql, (), |row| row.get::<_, i64>(0)).unwrap_or(0)
        };
        let bytes = Schema::ALL.map(|schema| {
            let name = schema.name();
            let pages = number(format!("PRAGMA {name}.page_count"));
            let bytes = pages * number(format!("PRAGMA {name}.page_size"));
            // the cache is in pages, or negative in kilobytes
            match number(format!("PRAGMA {name}.cache_size")) {
                kilobytes if kilobytes < 0 && self.is_in_file(schema) => {
                    bytes.min(-kilobytes * 1024)
                }
                _ => bytes,
            }
        });
        bytes.iter().map(|bytes| u64::try_from(*bytes).unwrap_or(0)).sum()
    }

    fn is_in_file(&self, schema: Schema) -> bool {
        self.on_disk && matches!(schema, Schema::Disk | Schema::History)
    }

    /// What a statement will need and give.
    pub(crate) fn describe(&self, sql: &str, rights: Rights) -> Result<Description, AdminFault> {
        let (statement, _) = self.prepare(sql, rights)?;
        let named = (1..=statement.parameter_count())
            .filter(|at| statement.parameter_name(*at).is_some_and(|name| name.starts_with(':')))
            .count();
        Ok(Description {
            columns: statement.column_names().map(str::to_owned).collect(),
            parameters: statement.parameter_count() - named,
        })
    }

    /// Runs a statement; `fill` makes the rows of the live tables that it reads.
    pub(crate) fn run(&self, sql: &str, run: Run<'_>, fill: Fill<'_>) -> Result<Ran, AdminFault> {
        *lock(&self.facts) = run.facts.clone();
        let (mut statement, seen) = self.prepare(sql, run.rights)?;
        let SeenTables { read: live, written } = seen;
        // one that resets goes first, and its twin shows the same rows
        let mut ordered: Vec<&(Schema, String)> = live.iter().collect();
        ordered.sort_by_key(|(_, name)| !name.ends_with(RESET));
        for (schema, name) in &ordered {
            let twin = format!("{name}{RESET}");
            if ordered.iter().any(|(_, other)| *other == twin) {
                let (to, from) =
                    (format!("{}.{name}", schema.name()), format!("{}.{twin}", schema.name()));
                self.own(&format!("DELETE FROM {to}"))?;
                self.own(&format!("INSERT INTO {to} SELECT * FROM {from}"))?;
            } else {
                let mut rows = fill(*schema, name);
                if self.bounds.is_some() {
                    bounds::cut(&mut rows);
                }
                self.write_rows(*schema, name, &rows)?;
            }
        }
        let changes_before = self.connection.total_changes();
        if run.read_only {
            self.own("PRAGMA query_only = 1")?;
        }
        let ran = self.step_within_rights(&mut statement, &run);
        drop(statement);
        let ran = ran.map_err(|fault| self.refusal(sql, &run, &written, fault));
        if run.read_only {
            self.own("PRAGMA query_only = 0")?;
        }
        for (schema, name) in &live {
            self.own(&format!("DELETE FROM {}.{name}", schema.name()))?;
        }
        match ran? {
            Some(rows) => Ok(Ran::Rows(rows)),
            // statements that define something leave the count of the one before
            None if self.connection.total_changes() == changes_before => Ok(Ran::Changed(0)),
            None => Ok(Ran::Changed(self.connection.changes())),
        }
    }

    /// Runs what is prepared. Some of it is judged only now: SQLite may prepare it once more, and
    /// VACUUM attaches a file.
    fn step_within_rights(
        &self,
        statement: &mut Statement<'_>,
        run: &Run<'_>,
    ) -> Result<Option<ResultSet>, AdminFault> {
        lock(&self.watch).begin(run.rights);
        if let Some(bounds) = &self.bounds {
            bounds.begin();
        }
        let ran = step(statement, run, self.bounds.is_some());
        if let Some(bounds) = &self.bounds {
            bounds.end();
        }
        let (_, refusal) = lock(&self.watch).end();
        match refusal {
            Some(refusal) => Err(AdminFault::refused(format!("ProxySQL Admin Error: {refusal}"))),
            None => ran,
        }
    }

    /// Runs statements of our own.
    pub(crate) fn own(&self, sql: &str) -> Result<(), AdminFault> {
        Ok(self.connection.execute_batch(sql)?)
    }

    /// Does several things or none.
    pub(crate) fn all_or_nothing<T>(
        &self,
        work: impl FnOnce(&Self) -> Result<T, AdminFault>,
    ) -> Result<T, AdminFault> {
        self.own("BEGIN IMMEDIATE")?;
        match work(self).and_then(|made| self.own("COMMIT").map(|()| made)) {
            Ok(made) => Ok(made),
            Err(fault) => {
                // the first fault is the one to tell; SQLite may have rolled back already
                let _ = self.own("ROLLBACK");
                Err(fault)
            }
        }
    }

    /// All rows of a table of the registry, in the order of its key.
    pub(crate) fn rows(&self, schema: Schema, table: &str) -> Result<Vec<Row>, AdminFault> {
        let Some(found) = tables::find(table) else { return Ok(Vec::new()) };
        let (columns, order) = (tables::column_list(found), tables::order(found));
        let sql = format!("SELECT {columns} FROM {}.{table} ORDER BY {order}", schema.name());
        let mut statement = self.connection.prepare(&sql)?;
        let width = statement.column_count();
        let rows = statement.query_map((), |row| (0..width).map(|at| row.get(at)).collect())?;
        Ok(rows.collect::<Result<Vec<Row>, _>>()?)
    }

    /// Replaces all rows of a table.
    pub(crate) fn write_rows(
        &self,
        schema: Schema,
        table: &str,
        rows: &[Row],
    ) -> Result<(), AdminFault> {
        self.own(&format!("DELETE FROM {}.{table}", schema.name()))?;
        self.add_rows(schema, table, rows)
    }

    /// Adds rows to a table; one with the same key gives way.
    pub(crate) fn add_rows(
        &self,
        schema: Schema,
        table: &str,
        rows: &[Row],
    ) -> Result<(), AdminFault> {
        let Some(first) = rows.first() else { return Ok(()) };
        let marks = vec!["?"; first.len()].join(",");
        let sql = format!("INSERT OR REPLACE INTO {}.{table} VALUES ({marks})", schema.name());
        let whole = self.connection.is_autocommit();
        if whole {
            self.own("BEGIN")?;
        }
        let mut added = Ok(());
        if let Err(error) = self.connection.prepare(&sql).and_then(|mut statement| {
            rows.iter()
                .try_for_each(|row| statement.execute(rusqlite::params_from_iter(row)).map(drop))
        }) {
            added = Err(AdminFault::sqlite(&error));
        }
        if whole {
            self.own(if added.is_ok() { "COMMIT" } else { "ROLLBACK" })?;
        }
        added
    }

    /// One value, of a statement of our own.
    pub(crate) fn value(&self, sql: &str, key: &str) -> Result<Option<String>, AdminFault> {
        let mut statement = self.connection.prepare(sql)?;
        let mut rows = statement.query([key])?;
        Ok(match rows.next()? {
            Some(row) => row.get_ref(0).map(text_of)?.map(lossy),
            None => None,
        })
    }

    fn prepare(
        &self,
        sql: &str,
        rights: Rights,
    ) -> Result<(Statement<'_>, SeenTables), AdminFault> {
        lock(&self.watch).begin(rights);
        let prepared = self.connection.prepare(sql);
        let (seen, refusal) = lock(&self.watch).end();
        match (prepared, refusal) {
            (Ok(statement), _) => Ok((statement, seen)),
            (Err(_), Some(refusal)) => {
                Err(AdminFault::refused(format!("ProxySQL Admin Error: {refusal}")))
            }
            (Err(error), None) if self.bounds.is_some() && bounds::is_too_long(&error) => {
                Err(AdminFault::refused(TOO_LONG))
            }
            (Err(error), None) => Err(refusal::of_names(sql, error.into())),
        }
    }
}

/// Runs a prepared statement; `None` when it has no result.
fn step(
    statement: &mut Statement<'_>,
    run: &Run<'_>,
    bounded: bool,
) -> Result<Option<ResultSet>, AdminFault> {
    let mut values = run.values.iter();
    for at in 1..=statement.parameter_count() {
        let named = statement.parameter_name(at).filter(|name| name.starts_with(':'));
        let value = match named {
            Some(name) => run.named.iter().find(|(found, _)| found == name).map(|(_, v)| v),
            None => values.next(),
        };
        statement.raw_bind_parameter(at, value.unwrap_or(&Value::Null))?;
    }
    let columns: Vec<String> = statement.column_names().map(str::to_owned).collect();
    let width = columns.len();
    let mut result = ResultSet { columns, rows: Vec::new() };
    let mut rows = statement.raw_query();
    let mut bytes = 0;
    while let Some(row) = rows.next().map_err(|error| bounds::fault(&error))? {
        let values = (0..width).map(|at| row.get_ref(at).map(text_of));
        let values: Vec<Option<Vec<u8>>> = values.collect::<Result<_, _>>()?;
        bytes += size_of_val(values.as_slice());
        bytes += values.iter().flatten().map(Vec::len).sum::<usize>();
        if bounded && bounds::is_too_much(bytes) {
            return Err(AdminFault::refused(TOO_MUCH));
        }
        result.rows.push(values);
    }
    Ok((width > 0).then_some(result))
}

/// The rows of `mysql_collations`.
fn collations() -> Vec<Row> {
    let row = |collation: &Collation| {
        let default = if collation.is_default { "Yes" } else { "" };
        let text = |text: &str| Value::Text(text.to_owned());
        vec![
            Value::Integer(collation.id.into()),
            text(collation.name),
            text(collation.charset),
            text(default),
        ]
    };
    collation_table::ALL.iter().map(row).collect()
}

fn text_of(value: ValueRef<'_>) -> Option<Vec<u8>> {
    match value {
        ValueRef::Null => None,
        ValueRef::Integer(number) => Some(number.to_string().into_bytes()),
        ValueRef::Real(number) => Some(format!("{number:?}").into_bytes()),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Some(bytes.to_vec()),
    }
}

fn lossy(bytes: Vec<u8>) -> String {
    String::from_utf8_lossy(&bytes).into_owned()
}

/// A guard is whole between its calls, whatever happened to the thread that held it.
fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What a reader is told that asks for more than may be kept for it.
const TOO_MUCH: &str =
    "ProxySQL Admin Error: a result for a statistics account may have 64 MiB; ask for fewer rows";
/// What a reader is told whose statement has too many steps.
const TOO_LONG: &str = "ProxySQL Admin Error: the statement is too long for a statistics account";
/// Name of the file with the configuration, in the data directory.
pub(crate) const DISK_FILE: &str = "tidegate.db";
/// Name of the file with samples of statistics.
const HISTORY_FILE: &str = "tidegate_stats.db";
/// How the name of a table ends that begins anew when it is read.
const RESET: &str = "_reset";

#[cfg(test)]
mod tests;
