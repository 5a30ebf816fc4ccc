//! A module from one layer to another.

use std::collections::BTreeMap;

use advice::without_effect::without_effect;
use engine::config_fault::ConfigFault;
use engine::rows::{Saved, Use};
use engine::snapshot::Draft;
use engine::vars::{self, Kind};
use rusqlite::types::Value;

use super::diff::key_of;
use super::in_force::used;
use super::programs::Programs;
use super::{Layer, MODULES, Module};
use crate::admin::{Admin, Reply, Session};
use crate::database::Database;
use crate::fault::AdminFault;
use crate::rows::{self, Rows};
use crate::statistics::Row;
use crate::tables::{self, Schema};

impl Admin {
    /// Moves a module; says how many rows.
    pub(crate) fn move_module(
        &mut self,
        session: &mut Session,
        module: &Module,
        from: Layer,
        to: Layer,
    ) -> Result<Reply, AdminFault> {
        let rows = self.layer(from, module)?;
        let count = rows.values().map(Vec::len).sum::<usize>() as u64;
        match to {
            Layer::Runtime => {
                self.put_in_force(session, module, &rows)?;
                if let Some(variables) = rows.get("global_variables") {
                    let written = Rows::from([("global_variables", rows::canonical(variables))]);
                    self.keep_in_memory(module, &written)?;
                }
            }
            Layer::Memory => self.keep(Schema::Main, module, from, &rows)?,
            Layer::Disk if !self.store.database.is_on_disk() => {
                return Err(AdminFault::refused(NO_DISK));
            }
            Layer::Disk => {
                // else the next start fails, when nobody remembers what was saved
                let (_, faults) = self.trial(module, &rows);
                if !faults.is_empty() {
                    return Err(AdminFault::not_saved(faults));
                }
                self.keep(Schema::Disk, module, from, &rows)?;
            }
            Layer::File => {
                return Err(AdminFault::refused("a single module is not saved to a file"));
            }
        }
        // as ProxySQL: only reading a file tells how much was read
        Ok(Reply::done(if from == Layer::File { count } else { 0 }))
    }

    /// The rows of a module on a layer.
    pub(crate) fn layer(&self, layer: Layer, module: &Module) -> Result<Rows, AdminFault> {
        match layer {
            Layer::Memory => self.store.rows(Schema::Main, module),
            Layer::Disk => self.store.rows(Schema::Disk, module),
            Layer::Runtime => {
                let mut rows = self.rows_in_force();
                module.narrow(&mut rows);
                Ok(rows)
            }
            Layer::File => {
                let mut rows = self.store.file().read().map_err(|reasons| {
                    let first = reasons.first().cloned().unwrap_or_default();
                    AdminFault { all: reasons, ..AdminFault::refused(first) }
                })?;
                module.narrow(&mut rows);
                Ok(rows)
            }
        }
    }

    /// The same as a process would have it: variables that a file does not name have their
    /// defaults.
    pub(crate) fn whole_layer(&self, layer: Layer, module: &Module) -> Result<Rows, AdminFault> {
        let mut rows = self.layer(layer, module)?;
        if layer == Layer::File
            && let Some(variables) = rows.get("global_variables")
        {
            let named = Draft { variables: rows::pairs(variables), ..Draft::default() };
            rows.extend(rows::of_draft(&named).remove_entry("global_variables"));
            module.narrow(&mut rows);
        }
        Ok(rows)
    }

    /// Brings memory to what was put in force.
    pub(crate) fn keep_in_memory(&self, module: &Module, rows: &Rows) -> Result<(), AdminFault> {
        self.keep(Schema::Main, module, Layer::Memory, rows)
    }

    /// Writes a module to memory or disk, whole.
    fn keep(
        &self,
        schema: Schema,
        module: &Module,
        from: Layer,
        rows: &Rows,
    ) -> Result<(), AdminFault> {
        self.store.database.all_or_nothing(|database| {
            for (table, rows) in rows {
                keep_table(database, schema, table, from, rows)?;
            }
            Ok(())
        })?;
        // what a file or a runtime does not say of a module's tables is left as it is
        debug_assert!(rows.keys().all(|table| module.tables.contains(table)));
        Ok(())
    }

    /// Puts a module in force, or nothing of it.
    pub(crate) fn put_in_force(
        &mut self,
        session: &mut Session,
        module: &Module,
        rows: &Rows,
    ) -> Result<(), AdminFault> {
        let (mut programs, mut unused) = (Programs::default(), Vec::new());
        // of what is in force then: nobody else's change is undone
        let applied = self.runtime.apply(&mut |current| {
            let (draft, mut faults) = drafted(current, module, rows);
            programs = Programs::read(rows, &mut faults);
            if !faults.is_empty() {
                return Err(faults);
            }
            unused = without_effect(&draft);
            Ok(draft)
        });
        let applied = applied.map_err(|faults| refusal(&faults, rows))?;
        unused.retain(|fault| rows.contains_key(fault.table));
        for fault in &applied.warnings {
            session.warn("Warning", told(fault, rows));
        }
        programs.put(self.runtime.as_ref());
        for (table, rows) in rows.iter().filter(|(table, _)| used(table) == Use::Nothing) {
            if !rows.is_empty() {
                let count = rows.len();
                session.warn(
                    "Note",
                    format!(
                        "{table}: {count} rows are kept; nothing in this version acts on \
                        them"
                    ),
                );
            }
        }
        for_each_column(&unused, rows, |text| session.warn("Note", text));
        for (name, _) in rows::pairs(rows.get("global_variables").map_or(&[], Vec::as_slice)) {
            self.warn_of_idle(session, &name);
        }
        self.in_force.put(module, rows);
        let all = self.rows_in_force();
        self.in_force.versions.push(&module.title(), &session.user, all);
        if module.prefix == Some("admin-") {
            self.follow_variables();
        }
        Ok(())
    }

    /// Another caller, such as SIGHUP, has put a configuration in force in place of `before`.
    /// Modules that it changed are a version. They are in memory, too, so that the next LOAD does
    /// not undo them.
    pub(crate) fn take_over(&mut self, before: &Draft) {
        let (before, after) = (self.in_force.rows(before), self.rows_in_force());
        let narrowed = |rows: &Rows, module: &Module| {
            let mut rows = rows.clone();
            module.narrow(&mut rows);
            rows
        };
        let mut changed = false;
        let mut is_saved = true;
        for module in MODULES {
            let rows = narrowed(&after, module);
            if narrowed(&before, module) == rows {
                continue;
            }
            changed = true;
            if let Err(fault) = self.keep_in_memory(module, &rows) {
                self.runtime.log(&format!("{}: {}", module.title(), fault.message));
            }
            is_saved &= self.layer(Layer::Disk, module).is_ok_and(|saved| saved == rows);
            self.in_force.put(module, &rows);
        }
        if changed {
            self.in_force.versions.push("SIGHUP", "", after);
            self.follow_variables();
        }
        if changed && !is_saved && self.store.database.is_on_disk() {
            self.runtime.log(NOT_SAVED);
        }
    }

    /// Says of a variable that was changed and that nothing looks at.
    pub(crate) fn warn_of_idle(&self, session: &mut Session, name: &str) {
        if let Some(variable) = vars::find(name)
            && variable.effect == vars::Effect::NotYet
            && self.variable(name) != variable.default_value().to_string()
        {
            session.warn("Note", idle(variable));
        }
    }

    /// What is wrong with putting a module's rows in force, without doing so.
    pub(crate) fn trial(&self, module: &Module, rows: &Rows) -> (Draft, Vec<String>) {
        let (draft, mut faults) = drafted(&self.runtime.current(), module, rows);
        Programs::read(rows, &mut faults);
        if faults.is_empty() {
            faults = engine::snapshot::Snapshot::compile(&draft).err().unwrap_or_default();
        }
        let faults = faults.iter().map(|fault| told(fault, rows)).collect();
        (draft, faults)
    }
}

/// What there is to say of values, once for each column: a table may have many rows.
fn for_each_column(values: &[ConfigFault], rows: &Rows, mut say: impl FnMut(String)) {
    let mut columns = BTreeMap::<_, Vec<_>>::new();
    for value in values {
        columns
            .entry((value.table, value.column.as_str(), value.reason.as_str()))
            .or_default()
            .push(value);
    }
    for alike in columns.values() {
        let Some(first) = alike.first() else { continue };
        let others = match alike.len() {
            1 => String::new(),
            2 => " (and in 1 other row)".to_owned(),
            count => format!(" (and in {} other rows)", count - 1),
        };
        say(format!("{}{others}", told(first, rows)));
    }
}

/// That a variable is accepted and has no effect, and why.
pub(crate) fn idle(variable: &vars::Variable) -> String {
    let reason = variable.idle_reason().unwrap_or("it is not there yet");
    format!("{} is accepted and has no effect in this version: {reason}", variable.full_name())
}

/// The draft in force with a module's rows in place of its own; and values of a wrong type.
pub(crate) fn drafted(current: &Draft, module: &Module, rows: &Rows) -> (Draft, Vec<ConfigFault>) {
    let mut draft = current.clone();
    let mut faults = Vec::new();
    for (table, rows) in rows {
        if let Some(into) = draft.table_mut(table) {
            faults.extend(rows::read_all(into, rows));
            continue;
        }
        match *table {
            "global_variables" => {
                let prefix = module.prefix.unwrap_or_default();
                draft.variables.retain(|(name, _)| !name.starts_with(prefix));
                draft.variables.extend(settable(rows, &mut faults));
            }
            _ => wrong_types(table, rows, &mut faults),
        }
    }
    (draft, faults)
}

/// Values in columns of numbers that are none, of a table that the engine does not read.
fn wrong_types(name: &str, rows: &[Row], faults: &mut Vec<ConfigFault>) {
    let Some(table) = tables::find(name) else { return };
    for (at, row) in rows.iter().enumerate() {
        for (column, value) in table.columns.iter().zip(row) {
            if column.is_number() && !matches!(value, Value::Integer(_) | Value::Null) {
                faults.push(ConfigFault {
                    table: table.name,
                    row: Some(at),
                    column: column.name.to_owned(),
                    reason: format!("`{}` is not a whole number", rows::as_text(value)),
                });
            }
        }
    }
}

/// Variables as an operator may set them: those that are shown only are left out.
fn settable(rows: &[Row], faults: &mut Vec<ConfigFault>) -> Vec<(String, String)> {
    let mut pairs = rows::pairs(rows);
    pairs.retain(|(name, text)| match vars::find(name) {
        Some(variable) if variable.kind == Kind::ReadOnly => {
            if text != variable.default {
                faults.push(variable.fault("is read-only"));
            }
            false
        }
        _ => true,
    });
    pairs
}

/// Replaces a table's rows, but for what ProxySQL keeps of it.
fn keep_table(
    database: &Database,
    schema: Schema,
    table: &'static str,
    from: Layer,
    rows: &[Row],
) -> Result<(), AdminFault> {
    if table == "global_variables" || from == Layer::File {
        return database.add_rows(schema, table, rows);
    }
    let Some(found) = tables::find(table).filter(|_| from == Layer::Runtime) else {
        return database.write_rows(schema, table, rows);
    };
    let mut rows = rows.to_vec();
    let mut others_stay = false;
    for (at, column) in found.columns.iter().enumerate() {
        match column.saved {
            Saved::Value => {}
            Saved::Instead(passing, instead) => put_instead(&mut rows, at, passing, instead),
            Saved::ZeroInOthers => {
                let (schema, column) = (schema.name(), column.name);
                database.own(&format!("UPDATE {schema}.{table} SET {column} = 0"))?;
                others_stay = true;
            }
        }
    }
    match others_stay {
        true => database.add_rows(schema, table, &rows),
        false => database.write_rows(schema, table, &rows),
    }
}

/// A value that lasts for a while is nothing to keep.
fn put_instead(rows: &mut [Row], column: usize, passing: &str, instead: &str) {
    for value in rows.iter_mut().filter_map(|row| row.get_mut(column)) {
        if matches!(value, Value::Text(text) if text == passing) {
            *value = Value::Text(instead.to_owned());
        }
    }
}

fn refusal(faults: &[ConfigFault], rows: &Rows) -> AdminFault {
    AdminFault::configuration(faults.iter().map(|fault| told(fault, rows)).collect())
}

/// A fault with the key of its row instead of the row's position.
pub(crate) fn told(fault: &ConfigFault, rows: &Rows) -> String {
    let family = match fault.table {
        "mysql_variables" => "mysql-",
        "admin_variables" => "admin-",
        _ => "",
    };
    if !family.is_empty() {
        return format!("global_variables {family}{}: {}", fault.column, fault.reason);
    }
    let row = fault.row.and_then(|at| rows.get(fault.table)?.get(at));
    let (Some(row), Some(table)) = (row, tables::find(fault.table)) else {
        return fault.to_string();
    };
    let key = key_of(table, row);
    match fault.column.as_str() {
        "" => format!("{} ({key}): {}", fault.table, fault.reason),
        column => format!("{} ({key}) column {column}: {}", fault.table, fault.reason),
    }
}

/// What is told of a file that was read again and is not what the database has.
const NOT_SAVED: &str = "what the file says is in force and in memory, but not in the database: \
    SAVE ALL TO DISK keeps it beyond a restart";

/// Why nothing is saved.
pub(super) const NO_DISK: &str =
    "there is no database on disk; start Tidegate with --datadir to have one";
