//! One statement of one session, from its plan to what it answers.
//!
//! Knows no packets. A statement that finds the write lock taken leaves everything as it was, so
//! that it can be repeated ([`Stop::Locked`]); how long that goes on is the caller's business.

use std::time::Duration;

use rusqlite::types::{Value, ValueRef};
use rusqlite::{Statement, params_from_iter};

use super::transaction::{Transaction, execute};
use crate::facts::Facts;
use crate::fault::{Fault, Stop, from_sqlite};
use crate::rows::{Column, Rows};
use crate::store::{Database, Store};
use crate::translate::{Action, Plan, Sql};

/// The part of a session that statements work on.
#[derive(Debug)]
pub(crate) struct Work {
    /// What SQL functions see.
    pub(crate) facts: Facts,
    /// The transaction.
    pub(crate) transaction: Transaction,
    /// Kept while a transaction is open in SQLite or temporary tables exist.
    database: Option<Database>,
    temporary_tables: bool,
}

/// What a statement answers.
#[derive(Debug)]
pub(crate) enum Answer {
    /// It was carried out.
    Done { affected_rows: u64, last_insert_id: u64 },
    /// It has a result.
    Rows(Rows),
    /// The result of SLEEP comes later.
    Later { milliseconds: u64, rows: Rows },
    /// A session is to be ended, or what it does.
    Kill { id: u32, query_only: bool },
}

impl Answer {
    /// Carried out, nothing to tell.
    pub(crate) const DONE: Self = Self::Done { affected_rows: 0, last_insert_id: 0 };
}

impl Work {
    /// A session that has done nothing yet.
    pub(crate) fn new(facts: Facts) -> Self {
        Self { facts, transaction: Transaction::NONE, database: None, temporary_tables: false }
    }

    /// Carries out one statement.
    pub(crate) fn run(
        &mut self,
        store: &mut Store,
        plan: &Plan,
        values: &[Value],
    ) -> Result<Answer, Stop> {
        if !matches!(plan.action, Action::Look(_)) {
            self.facts.warnings.clear();
        }
        let result = self.act(store, &plan.action, values);
        match &result {
            Ok(Answer::Done { affected_rows, .. }) => {
                self.facts.row_count = i64::try_from(*affected_rows).unwrap_or(i64::MAX);
            }
            Ok(Answer::Rows(rows)) => {
                self.facts.row_count = -1;
                self.facts.found_rows = rows.count;
            }
            Ok(_) | Err(Stop::Locked) => {}
            Err(Stop::Failed(fault)) => self.note_failure(fault),
        }
        result
    }

    /// What SHOW WARNINGS says after a failure.
    pub(crate) fn note_failure(&mut self, fault: &Fault) {
        self.facts.row_count = -1;
        self.facts.warnings = vec![("Error", fault.code, fault.message.clone())];
    }

    fn act(
        &mut self,
        store: &mut Store,
        action: &Action,
        values: &[Value],
    ) -> Result<Answer, Stop> {
        match action {
            Action::Look(sql) => {
                let limit = self.result_limit();
                self.with(store, |_, db| read(db, prepare(db, sql)?, sql, values, limit))
            }
            Action::Run { sql, table } => self.statement(store, sql, table.as_deref(), values),
            Action::LockingRead(sql) => self.locking_read(store, sql, values),
            Action::Schema { steps, temporary } => self.schema(store, steps, *temporary),
            Action::Begin => {
                self.end(store, "COMMIT")?;
                self.transaction.announce();
                Ok(Answer::DONE)
            }
            Action::Commit { chain } => self.ended(store, "COMMIT", *chain),
            Action::Rollback { chain } => self.ended(store, "ROLLBACK", *chain),
            Action::Savepoint { sql, opens } => self.savepoint(store, sql, *opens),
            Action::Set(assignments) => self.set(store, assignments).map(|()| Answer::DONE),
            Action::Use(name) => Ok(self.use_schema(name).map(|()| Answer::DONE)?),
            Action::Kill { id, query_only } => {
                Ok(Answer::Kill { id: *id, query_only: *query_only })
            }
            Action::Sleep { milliseconds, column } => {
                let mut rows = Rows::new(vec![Column::new(column.clone(), None)]);
                rows.push(0, ValueRef::Integer(0));
                rows.count = 1;
                Ok(Answer::Later { milliseconds: *milliseconds, rows })
            }
            Action::Nothing(note) => {
                self.facts.warnings.push(("Note", 1235, (*note).to_owned()));
                Ok(Answer::DONE)
            }
        }
    }

    /// A query or a change; the latter needs a writable server and the write lock.
    fn statement(
        &mut self,
        store: &mut Store,
        sql: &Sql,
        table: Option<&str>,
        values: &[Value],
    ) -> Result<Answer, Stop> {
        let refusal = self.refusal();
        let limit = self.result_limit();
        let id_before = self.facts.last_insert_id;
        let mut answer = self.with(store, |transaction, db| {
            let prepared = prepare(db, sql)?;
            if prepared.readonly() {
                transaction.before_read(db)?;
                return read(db, prepared, sql, values, limit);
            }
            if let Some(fault) = refusal {
                return Err(fault.into());
            }
            transaction.before_write(db)?;
            if prepared.column_count() > 0 {
                return read(db, prepared, sql, values, limit);
            }
            change(db, prepared, table, values)
        })?;
        if let Answer::Done { last_insert_id: id, .. } = &mut answer {
            match *id {
                // LAST_INSERT_ID(expression) in the statement
                0 if self.facts.last_insert_id != id_before => *id = self.facts.last_insert_id,
                0 => {}
                made => self.facts.last_insert_id = made,
            }
        }
        Ok(answer)
    }

    fn locking_read(
        &mut self,
        store: &mut Store,
        sql: &Sql,
        values: &[Value],
    ) -> Result<Answer, Stop> {
        let refusal = self.refusal();
        let limit = self.result_limit();
        self.with(store, |transaction, db| {
            let prepared = prepare(db, sql)?;
            if let Some(fault) = refusal {
                return Err(fault.into());
            }
            transaction.before_write(db)?;
            if transaction.is_open() {
                return read(db, prepared, sql, values, limit);
            }
            // without a transaction it only waits for those of others
            execute(db, "BEGIN IMMEDIATE")?;
            let result = read(db, prepared, sql, values, limit);
            execute(db, "COMMIT")?;
            result
        })
    }

    fn schema(
        &mut self,
        store: &mut Store,
        steps: &[Sql],
        temporary: bool,
    ) -> Result<Answer, Stop> {
        if self.facts.schema.is_none() {
            return Err(Fault::no_schema().into());
        }
        if temporary {
            self.temporary_tables = true;
            return self.with(store, |_, db| {
                steps.iter().try_for_each(|step| execute(db, &step.text))?;
                Ok(Answer::DONE)
            });
        }
        if let Some(fault) = self.refusal() {
            return Err(fault.into());
        }
        self.end(store, "COMMIT")?;
        self.with(store, |_, db| {
            execute(db, "BEGIN IMMEDIATE")?;
            if let Err(stop) = steps.iter().try_for_each(|step| execute(db, &step.text)) {
                execute(db, "ROLLBACK")?;
                return Err(stop);
            }
            execute(db, "COMMIT").map(|()| Answer::DONE)
        })
    }

    fn savepoint(&mut self, store: &mut Store, sql: &str, opens: bool) -> Result<Answer, Stop> {
        let spans = self.transaction.spans_statements();
        if !spans && opens {
            return Ok(Answer::DONE);
        }
        let writable = self.refusal().is_none();
        self.with(store, |transaction, db| {
            if spans && writable {
                transaction.before_write(db)?;
            } else if spans {
                transaction.before_read(db)?;
            }
            execute(db, sql).map(|()| Answer::DONE)
        })
    }

    fn ended(&mut self, store: &mut Store, how: &str, chain: bool) -> Result<Answer, Stop> {
        self.end(store, how)?;
        if chain {
            self.transaction.announce();
        }
        Ok(Answer::DONE)
    }

    /// Ends the transaction, if there is one, by COMMIT or ROLLBACK.
    pub(super) fn end(&mut self, store: &mut Store, how: &str) -> Result<(), Stop> {
        if self.transaction.reached_sqlite() {
            let locked = self.transaction.holds_lock();
            self.with(store, |_, db| execute(db, how))?;
            store.released |= locked;
        }
        self.transaction.forget();
        Ok(())
    }

    /// Why this session may not write, if it may not.
    fn refusal(&self) -> Option<Fault> {
        if self.facts.server.is_read_only() && !self.facts.superuser {
            return Some(Fault::read_only());
        }
        let read_only = self.facts.variable_text("transaction_read_only", false);
        let read_only = read_only.is_ok_and(|text| text == "1");
        (read_only && self.transaction.spans_statements()).then(|| {
            Fault::new(1792, b"25006", "Cannot execute statement in a READ ONLY transaction.")
        })
    }

    fn result_limit(&self) -> usize {
        self.facts.server.options.max_result_bytes
    }

    /// USE and COM_INIT_DB.
    pub(crate) fn use_schema(&mut self, name: &str) -> Result<(), Fault> {
        let own = &self.facts.server.schema;
        let known = [own.as_str(), "information_schema", "performance_schema"];
        let found = known.into_iter().find(|known| name.eq_ignore_ascii_case(known));
        let found = found.ok_or_else(|| Fault::unknown_schema(name))?.to_owned();
        self.facts.schema = Some(found);
        Ok(())
    }

    /// The columns that a statement's result would have; none if it has no result.
    pub(crate) fn columns(
        &mut self,
        store: &mut Store,
        action: &Action,
    ) -> Result<Vec<Column>, Stop> {
        let (Action::Look(sql) | Action::Run { sql, .. } | Action::LockingRead(sql)) = action
        else {
            return Ok(Vec::new());
        };
        self.with(store, |_, db| Ok(columns(&prepare(db, sql)?, sql)))
    }

    /// Rolls back, drops temporary tables, forgets variables: COM_RESET_CONNECTION and goodbye.
    pub(crate) fn reset(&mut self, store: &mut Store) {
        // a connection that cannot roll back is dropped below, which does the same
        let _ = self.end(store, "ROLLBACK");
        self.transaction = Transaction::NONE;
        self.temporary_tables = false;
        // dropped, not pooled: its temporary tables go with it
        self.database = None;
        self.facts.reset();
    }

    /// Lends a connection to `work`, and keeps it afterwards if the session needs that very one.
    pub(super) fn with<T>(
        &mut self,
        store: &mut Store,
        work: impl FnOnce(&mut Transaction, &Database) -> Result<T, Stop>,
    ) -> Result<T, Stop> {
        let mut database = match self.database.take() {
            Some(database) => database,
            None => {
                store.check_out().map_err(|fault| Fault::new(1105, b"HY000", fault.to_string()))?
            }
        };
        let limit = Duration::from_millis(self.facts.server.options.statement_ms);
        let transaction = &mut self.transaction;
        let result = database.with(&mut self.facts, limit, |db| {
            let result = work(transaction, db);
            transaction.follow(db);
            result
        });
        if self.temporary_tables || !database.connection.is_autocommit() {
            self.database = Some(database);
        } else {
            store.check_in(database);
        }
        result
    }
}

fn prepare<'d>(db: &'d Database, sql: &Sql) -> Result<Statement<'d>, Stop> {
    db.connection.prepare(&sql.text).map_err(|error| from_sqlite(&error, &db.schema))
}

fn columns(statement: &Statement<'_>, sql: &Sql) -> Vec<Column> {
    let column = |column: &rusqlite::Column<'_>| {
        Column::new(sql.column_name(column.name()), column.decl_type())
    };
    statement.columns().map(|found| column(&found)).collect()
}

/// Runs a statement with a result to its end.
fn read(
    db: &Database,
    mut statement: Statement<'_>,
    sql: &Sql,
    values: &[Value],
    limit: usize,
) -> Result<Answer, Stop> {
    let mut result = Rows::new(columns(&statement, sql));
    let width = result.columns.len();
    let mut collect = || -> rusqlite::Result<bool> {
        let mut rows = statement.query(params_from_iter(values))?;
        while let Some(row) = rows.next()? {
            for index in 0..width {
                result.push(index, row.get_ref(index)?);
            }
            result.count += 1;
            if result.bytes() > limit {
                return Ok(false);
            }
        }
        Ok(true)
    };
    match collect() {
        Ok(true) => Ok(Answer::Rows(result)),
        Ok(false) => Err(Fault::new(
            1301,
            b"HY000",
            format!("The result is larger than this server's limit of {limit} bytes"),
        )
        .into()),
        Err(error) => Err(from_sqlite(&error, &db.schema)),
    }
}

/// Runs a statement that changes something.
fn change(
    db: &Database,
    mut statement: Statement<'_>,
    table: Option<&str>,
    values: &[Value],
) -> Result<Answer, Stop> {
    let affected = statement
        .execute(params_from_iter(values))
        .map_err(|error| from_sqlite(&error, &db.schema))? as u64;
    let last_insert_id = match table {
        Some(table) if affected > 0 && counts_itself(db, table) => {
            // MySQL names the first of several
            let last = match db.connection.last_insert_rowid() {
                0 => largest_id(db, table),
                id => u64::try_from(id).unwrap_or(0),
            };
            (last + 1).saturating_sub(affected)
        }
        _ => 0,
    };
    Ok(Answer::Done { affected_rows: affected, last_insert_id })
}

/// Whether a table has an AUTO_INCREMENT column.
fn counts_itself(db: &Database, table: &str) -> bool {
    let sql = "SELECT 1 FROM sqlite_sequence WHERE name = ?1 COLLATE NOCASE";
    let found = db.connection.prepare(sql).and_then(|mut s| s.exists([table]));
    found.unwrap_or(false)
}

/// The number that a zero became.
fn largest_id(db: &Database, table: &str) -> u64 {
    let sql = format!("SELECT max(rowid) FROM `{}`", table.replace('`', "``"));
    let found: rusqlite::Result<i64> = db.connection.query_row(&sql, (), |row| row.get(0));
    found.ok().and_then(|id| u64::try_from(id).ok()).unwrap_or(0)
}
