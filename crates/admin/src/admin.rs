//! The administrative interface without its protocol: statements in, answers out.

use std::sync::{Arc, Mutex};

use engine::rows::{Row as _, UserRow};
use engine::stats::Parts;
use engine::topology::{Placed, Status};
use rusqlite::types::Value;

use crate::command::{self, CommandStep};
use crate::database::{Database, FunctionFacts, Ran, ResultSet, Rights, Run};
use crate::fault::AdminFault;
use crate::history::History;
use crate::layers::{InForce, Store};
use crate::rows::Rows;
use crate::runtime::Runtime;
use crate::secrets;
use crate::statement::Statement;
use crate::statistics::{self, OfInterface, PoolSince, Row};
use crate::tables::Schema;

/// Everything behind the interface.
pub struct Admin {
    pub(crate) store: Store,
    pub(crate) runtime: Arc<dyn Runtime>,
    pub(crate) in_force: InForce,
    /// Whether the tables are refused to everybody's writing.
    pub(crate) read_only: bool,
    pub(crate) history: History,
    /// Clients that got 1040 since the process began.
    pub(crate) turned_away: u64,
    pool_since: Mutex<PoolSince>,
    readers: Database,
}

/// One client of the interface.
#[derive(Clone, Debug)]
pub struct Session {
    /// What it may do.
    pub role: Role,
    /// Name of its account.
    pub user: String,
    /// Number of its connection.
    pub id: u32,
    /// The schema that it believes to be in; names without one are not found there.
    pub schema: String,
    /// What its last statement has to say, for SHOW WARNINGS.
    pub warnings: Vec<Warning>,
}

/// What an account may do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// Everything.
    Administrator,
    /// Read statistics.
    Reader,
}

/// A row of SHOW WARNINGS.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Warning {
    /// `Error`, `Warning` or `Note`.
    pub level: &'static str,
    /// Number of the error.
    pub code: u16,
    /// What to know.
    pub message: String,
}

/// What a statement answers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Reply {
    /// Rows.
    Rows(ResultSet),
    /// It was carried out.
    Done {
        /// Rows that it changed, or things that it concerned.
        affected_rows: u64,
        /// What to know, for the OK packet.
        message: String,
    },
}

/// What a statement comes to.
pub type Outcome = Result<Reply, AdminFault>;

/// What a prepared statement will need and give.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Prepared {
    /// Names of the result's columns, as far as they are known before it runs.
    pub columns: Vec<String>,
    /// Parameters it has.
    pub parameters: usize,
}

impl Reply {
    /// Carried out, nothing to tell.
    pub const DONE: Self = Self::Done { affected_rows: 0, message: String::new() };

    /// Carried out, so many were concerned.
    pub(crate) fn done(affected_rows: u64) -> Self {
        Self::Done { affected_rows, message: String::new() }
    }

    /// Rows of texts.
    pub(crate) fn table(columns: &[&str], rows: Vec<Vec<String>>) -> Self {
        let cell = |text: String| Some(text.into_bytes());
        Self::Rows(ResultSet {
            columns: columns.iter().map(|name| (*name).to_owned()).collect(),
            rows: rows.into_iter().map(|row| row.into_iter().map(cell).collect()).collect(),
        })
    }
}

impl Session {
    /// A client of the account `user`.
    pub fn new(role: Role, user: &str, id: u32) -> Self {
        let schema = match role {
            Role::Administrator => Schema::Main,
            Role::Reader => Schema::Stats,
        };
        let (user, schema) = (user.to_owned(), schema.name().to_owned());
        Self { role, user, id, schema, warnings: Vec::new() }
    }

    /// Nobody: what the interface does by itself.
    pub(crate) fn of_ourselves() -> Self {
        Self::new(Role::Administrator, "", 0)
    }

    /// Adds a row to SHOW WARNINGS.
    pub(crate) fn warn(&mut self, level: &'static str, message: impl Into<String>) {
        self.warnings.push(Warning { level, code: WARNING, message: message.into() });
    }

    fn rights(&self) -> Rights {
        match self.role {
            Role::Administrator => Rights::Administrator,
            Role::Reader => Rights::Reader,
        }
    }
}

impl Admin {
    /// The interface of a process that runs what `store` says.
    pub fn new(store: Store, runtime: Arc<dyn Runtime>) -> Result<Self, AdminFault> {
        let readers = Database::readers(store.dir())?;
        let in_force = InForce::new(&store, runtime.as_ref())?;
        let pool_since = Mutex::default();
        let history = History::default();
        let (read_only, turned_away) = (false, 0);
        let mut admin =
            Self { store, runtime, in_force, read_only, history, turned_away, pool_since, readers };
        admin.follow_variables();
        Ok(admin)
    }

    /// Carries out one statement; `values` are those of its `?`.
    pub fn run(&mut self, session: &mut Session, text: &str, values: &[Value]) -> Outcome {
        let statement = Statement::new(text);
        if !command::asks_for_warnings(&statement) {
            session.warnings.clear();
        }
        let outcome = self.step(session, &statement).and_then(|step| match step {
            CommandStep::Sql { text, named, rights } => {
                self.sql(session, &text, values, &named, rights)
            }
            CommandStep::Act(act) => act(self, session),
        });
        if let Err(fault) = &outcome {
            note(session, fault);
        }
        outcome
    }

    /// What a statement will need and give, without carrying it out.
    pub fn prepare(&mut self, session: &mut Session, text: &str) -> Result<Prepared, AdminFault> {
        match self.step(session, &Statement::new(text))? {
            CommandStep::Act(_) => Ok(Prepared::default()),
            CommandStep::Sql { text, rights, named } => {
                let database = self.database(session.role);
                let found = database.describe(&text, rights.unwrap_or(session.rights()))?;
                let columns = renamed(found.columns, &named);
                Ok(Prepared { columns, parameters: found.parameters })
            }
        }
    }

    /// What the variables of the interface itself say, now that they may have changed.
    pub(crate) fn follow_variables(&mut self) {
        self.read_only = self.variable("admin-read_only") == "true";
    }

    /// The value in force of a variable, by full name.
    pub fn variable(&self, name: &str) -> String {
        let draft = self.runtime.current();
        let typed = draft.variables.iter().rev().find(|(found, _)| found == name);
        let variable = engine::vars::find(name);
        let value = match (typed, variable) {
            (Some((_, text)), Some(variable)) => variable.parse(text).ok(),
            _ => None,
        };
        let value = value.or_else(|| variable.map(engine::vars::Variable::default_value));
        value.map(|value| value.to_string()).unwrap_or_default()
    }

    /// Everything in force, by table.
    pub(crate) fn rows_in_force(&self) -> Rows {
        self.in_force.rows(&self.runtime.current())
    }

    /// Forgets everything by digest.
    pub(crate) fn forget_digests(&self) {
        drop(self.runtime.collect(Parts { digests: true, reset: true, ..Parts::default() }));
    }

    /// Runs SQL and gives its rows.
    pub(crate) fn query(&self, session: &Session, sql: &str) -> Result<ResultSet, AdminFault> {
        match self.sql(session, sql, &[], &[], Some(Rights::Own))? {
            Reply::Rows(rows) => Ok(rows),
            Reply::Done { .. } => Ok(ResultSet::default()),
        }
    }

    fn step(
        &mut self,
        session: &mut Session,
        statement: &Statement<'_>,
    ) -> Result<CommandStep, AdminFault> {
        command::find(self, session, statement)
    }

    fn database(&self, role: Role) -> &Database {
        match role {
            Role::Administrator => &self.store.database,
            Role::Reader => &self.readers,
        }
    }

    fn sql(
        &self,
        session: &Session,
        text: &str,
        values: &[Value],
        named: &[(String, Value, String)],
        rights: Option<Rights>,
    ) -> Outcome {
        let facts = FunctionFacts {
            connection_id: session.id,
            user: session.user.clone(),
            schema: session.schema.clone(),
            version: self.variable("admin-version"),
        };
        let given: Vec<(String, Value)> =
            named.iter().map(|(name, value, _)| (name.clone(), value.clone())).collect();
        let run = Run {
            rights: rights.unwrap_or(session.rights()),
            read_only: session.role == Role::Reader || self.read_only,
            facts,
            values,
            named: &given,
        };
        let ran = self
            .database(session.role)
            .run(text, run, &mut |schema, name| self.rows_for(session.role, schema, name))
            .map_err(|fault| match session.role {
                Role::Administrator if self.read_only && fault.is_of_read_only() => {
                    AdminFault::read_only()
                }
                _ => fault,
            })?;
        Ok(match ran {
            Ran::Changed(count) => Reply::done(count),
            Ran::Rows(mut rows) => {
                rows.columns = renamed(rows.columns, named);
                Reply::Rows(rows)
            }
        })
    }

    /// The rows of a live table as an account may see them.
    fn rows_for(&self, role: Role, schema: Schema, name: &str) -> Vec<Row> {
        let mut rows = self.live_rows(schema, name);
        if role == Role::Reader {
            secrets::conceal(name, &mut rows);
        }
        rows
    }

    /// The rows of a live table.
    pub(crate) fn live_rows(&self, schema: Schema, name: &str) -> Vec<Row> {
        let interface = || OfInterface {
            sqlite_bytes: self.store.database.memory_bytes() + self.readers.memory_bytes(),
            turned_away: self.turned_away,
            servers_version: self.in_force.version("mysql_servers"),
        };
        if matches!(schema, Schema::Stats | Schema::Monitor)
            && let Some(rows) =
                statistics::read(name, self.runtime.as_ref(), &self.pool_since, interface)
        {
            return rows;
        }
        match (schema, name) {
            (Schema::Main, "runtime_checksums_values") => {
                self.in_force.checksum_rows(&self.rows_in_force())
            }
            (Schema::Main, name) => {
                let name = name.strip_prefix("runtime_").unwrap_or(name);
                let rows = || self.rows_in_force().remove(name).unwrap_or_default();
                match name {
                    "mysql_users" => sides(&rows()),
                    "mysql_servers" => self.placed(),
                    _ => rows(),
                }
            }
            (Schema::Stats, "global_variables") => {
                self.rows_in_force().remove("global_variables").unwrap_or_default()
            }
            _ => Vec::new(),
        }
    }

    /// Servers where they stand, with the status that they have by themselves, where the operator
    /// wants them online.
    fn placed(&self) -> Vec<Row> {
        let (snapshot, now_us) =
            (self.runtime.snapshot(), self.runtime.collect(Parts::NONE).now_us);
        let shown = |placed: &Placed| {
            let mut row = placed.row.clone();
            let server = snapshot.topology.server_of(&row);
            if let Some(server) = server.filter(|server| server.status == Status::Online) {
                row.status = server.state(now_us).column().to_owned();
            }
            row
        };
        let rows: Vec<_> = snapshot.placed.iter().map(shown).collect();
        crate::rows::write_all(&rows)
    }
}

/// Users as `runtime_mysql_users` shows them: a row for each side that an account may be used on.
fn sides(users: &[Row]) -> Vec<Row> {
    let [backend, frontend] = ["backend", "frontend"]
        .map(|name| UserRow::TABLE.position(name).expect("the registry has this column"));
    let set = |row: &Row, at: usize| row.get(at) == Some(&Value::Integer(1));
    let mut rows = Vec::new();
    for (side, other) in [(frontend, backend), (backend, frontend)] {
        for row in users.iter().filter(|row| set(row, side)) {
            let mut row = row.clone();
            if let Some(value) = row.get_mut(other) {
                *value = Value::Integer(0);
            }
            rows.push(row);
        }
    }
    rows
}

/// Columns that SQLite calls after our parameters, by the names that the client wrote.
fn renamed(columns: Vec<String>, named: &[(String, Value, String)]) -> Vec<String> {
    let rename = |mut column: String| {
        for (name, _, written) in named {
            column = column.replace(name.as_str(), written);
        }
        column
    };
    columns.into_iter().map(rename).collect()
}

fn note(session: &mut Session, fault: &AdminFault) {
    let add =
        |message: &String| Warning { level: "Error", code: fault.code, message: message.clone() };
    if fault.all.is_empty() {
        session.warnings.push(add(&fault.message));
    }
    session.warnings.extend(fault.all.iter().map(add));
}

/// The number of what is no error.
const WARNING: u16 = 1105;
