//! What a statement may do, and which live tables it reads; asked by SQLite while it prepares one.

use std::collections::BTreeSet;
use std::path::Path;

use rusqlite::hooks::{AuthAction, AuthContext, Authorization};

use crate::private_files;
use crate::tables::Schema;

/// Whose statement it is.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) enum Rights {
    /// Our own.
    #[default]
    Own,
    /// An administrator's.
    Administrator,
    /// A reader's of statistics.
    Reader,
}

/// What is seen of one statement.
#[derive(Default, Debug)]
pub(super) struct Watch {
    rights: Rights,
    read: BTreeSet<(Schema, String)>,
    written: BTreeSet<(Schema, String)>,
    refusal: Option<String>,
    /// Calls of functions in its text.
    calls: usize,
    registry: Registry,
}

/// The names of the registry's tables, which are asked for at each column of each statement.
#[derive(Debug)]
struct Registry(Vec<(Schema, Vec<String>)>);

impl Default for Registry {
    fn default() -> Self {
        let names = |schema: Schema| schema.tables().into_iter().map(|(name, _)| name).collect();
        Self(Schema::ALL.into_iter().map(|schema| (schema, names(schema))).collect())
    }
}

impl Registry {
    /// The name of a table as the registry has it.
    fn find(&self, schema: Schema, name: &str) -> Option<&str> {
        let (_, names) = self.0.iter().find(|(found, _)| *found == schema)?;
        names.iter().map(String::as_str).find(|found| found.eq_ignore_ascii_case(name))
    }
}

/// The tables of the registry that a statement concerns.
#[derive(Debug)]
pub(super) struct SeenTables {
    /// Live tables that it reads.
    pub(super) read: Vec<(Schema, String)>,
    /// Tables whose rows it adds or changes.
    pub(super) written: Vec<(Schema, String)>,
}

impl Watch {
    /// A statement is about to be prepared.
    pub(super) fn begin(&mut self, rights: Rights) {
        self.end();
        self.rights = rights;
    }

    /// It was: what it concerns, and why it was refused, if it was.
    pub(super) fn end(&mut self) -> (SeenTables, Option<String>) {
        let taken = |tables: &mut BTreeSet<_>| std::mem::take(tables).into_iter().collect();
        let (read, written) = (taken(&mut self.read), taken(&mut self.written));
        self.rights = Rights::default();
        self.calls = 0;
        (SeenTables { read, written }, self.refusal.take())
    }

    /// The schema in which a name without one is found.
    fn first_with(&self, table: &str) -> Option<Schema> {
        let hidden = match self.rights {
            Rights::Reader => [Schema::Main, Schema::Disk].as_slice(),
            Rights::Own | Rights::Administrator => &[],
        };
        let mut seen = Schema::ALL.into_iter().filter(|schema| !hidden.contains(schema));
        seen.find(|schema| self.registry.find(*schema, table).is_some())
    }

    /// Whether one step of the statement is allowed.
    pub(super) fn judge(&mut self, context: &AuthContext<'_>) -> Authorization {
        let schema = schema_of(context.database_name);
        if let AuthAction::Read { table_name, .. } = context.action
            // when no column matters SQLite tells the schema only if it is written
            && let Some(schema) = schema.or_else(|| self.first_with(table_name))
            && let Some(name) = self.registry.find(schema, table_name)
            && schema.is_live(name)
        {
            self.read.insert((schema, name.to_owned()));
        }
        if let AuthAction::Insert { table_name } | AuthAction::Update { table_name, .. } =
            context.action
            && let Some(schema) = schema
            && let Some(name) = self.registry.find(schema, table_name)
        {
            self.written.insert((schema, name.to_owned()));
        }
        self.calls += usize::from(matches!(context.action, AuthAction::Function { .. }));
        let refusal = match self.rights {
            Rights::Own => None,
            Rights::Administrator => of_administrators(&self.registry, &context.action, schema),
            Rights::Reader => of_readers(&context.action, self.calls),
        };
        if let (AuthAction::Attach { filename }, Rights::Administrator) =
            (context.action, self.rights)
            && refusal.is_none()
            && !filename.is_empty()
            && !filename.starts_with(':')
        {
            // VACUUM INTO makes it by this, with everything that is in memory
            private_files::make(Path::new(filename));
        }
        match refusal {
            None => Authorization::Allow,
            Some(reason) => {
                self.refusal = Some(reason);
                Authorization::Deny
            }
        }
    }
}

fn of_administrators(
    registry: &Registry,
    action: &AuthAction<'_>,
    schema: Option<Schema>,
) -> Option<String> {
    let live = |name: &str| {
        let schema = schema?;
        let live = registry.find(schema, name).is_some_and(|name| schema.is_live(name));
        live.then(|| format!("table {name} may not be modified"))
    };
    match action {
        AuthAction::Insert { table_name }
        | AuthAction::Delete { table_name }
        | AuthAction::Update { table_name, .. }
        | AuthAction::CreateTrigger { table_name, .. }
        | AuthAction::CreateIndex { table_name, .. } => live(table_name),
        AuthAction::DropTable { table_name } => kept(registry, schema?, table_name),
        AuthAction::AlterTable { database_name, table_name } => {
            kept(registry, schema_of(Some(database_name))?, table_name)
        }
        // only of a name that is told and plain a file can be made beforehand, for its owner alone
        AuthAction::Unknown { code: rusqlite::ffi::SQLITE_ATTACH, .. } => {
            Some("ATTACH needs the name of a file, in quotes".to_owned())
        }
        AuthAction::Attach { filename }
            if filename.get(..5).is_some_and(|scheme| scheme.eq_ignore_ascii_case("file:")) =>
        {
            Some(format!("{filename} is an address, the name of a file is needed"))
        }
        AuthAction::Detach { database_name } => {
            let found = schema_of(Some(database_name));
            found.map(|_| format!("database {database_name} may not be detached"))
        }
        AuthAction::Pragma { pragma_name, pragma_value: Some(_) } => {
            let found = PRAGMAS_KEPT.iter().find(|kept| kept.eq_ignore_ascii_case(pragma_name));
            found.map(|name| format!("{name} may not be changed"))
        }
        _ => None,
    }
}

fn kept(registry: &Registry, schema: Schema, name: &str) -> Option<String> {
    let found = registry.find(schema, name)?;
    Some(format!("table {found} may not be dropped or altered"))
}

/// Readers read: what is not known to do no more is refused, and so is what takes long in one step.
fn of_readers(action: &AuthAction<'_>, calls: usize) -> Option<String> {
    let reason = match action {
        AuthAction::Function { function_name }
            if COSTLY.iter().any(|name| name.eq_ignore_ascii_case(function_name)) =>
        {
            return Some(format!("function {function_name} is not allowed here"));
        }
        AuthAction::Function { .. } if calls > CALLS_MAX => {
            return Some(format!(
                "a statement of a statistics account may have {CALLS_MAX} calls of functions"
            ));
        }
        AuthAction::Select
        | AuthAction::Read { .. }
        | AuthAction::Function { .. }
        | AuthAction::Recursive => return None,
        AuthAction::Pragma { .. } => "PRAGMA is not allowed here",
        AuthAction::Attach { .. } | AuthAction::Detach { .. } => {
            "ATTACH and DETACH are not allowed here"
        }
        _ => "attempt to write a readonly database",
    };
    Some(reason.to_owned())
}

fn schema_of(name: Option<&str>) -> Option<Schema> {
    let name = name?;
    Schema::ALL.into_iter().find(|schema| schema.name().eq_ignore_ascii_case(name))
}

/// What keeps the database whole.
const PRAGMAS_KEPT: [&str; 5] =
    ["query_only", "writable_schema", "journal_mode", "synchronous", "locking_mode"];
/// Functions of which one call takes long: hashing in thousands of rounds, and what takes the
/// square of a length.
const COSTLY: [&str; 4] =
    ["caching_sha2_password", "mysql_native_password", "json_patch", "jsonb_patch"];
/// Calls of functions in a reader's statement.
const CALLS_MAX: usize = 64;
