//! SET: values are worked out by SQLite, then assigned one after the other.

use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use rusqlite::types::Value;

use super::run::Work;
use crate::fault::{Fault, Stop, from_sqlite};
use crate::store::Store;
use crate::translate::{Assignment, Scope, Sql, Target};
use crate::variables::{self, Settable};

impl Work {
    /// Carries out the assignments of one SET; those before a wrong one stay.
    pub(super) fn set(
        &mut self,
        store: &mut Store,
        assignments: &[Assignment],
    ) -> Result<(), Stop> {
        for Assignment { target, value } in assignments {
            let value = value.as_ref().map(|sql| self.evaluate(store, sql)).transpose()?;
            match target {
                Target::User(name) => {
                    let value = value.unwrap_or(Value::Null);
                    self.facts.user_variables.insert(name.clone(), value);
                }
                Target::System(Scope::Session, name) => {
                    self.set_session(store, name, value.as_ref())?;
                }
                Target::System(Scope::Global, name) => self.set_global(name, value.as_ref())?,
            }
        }
        Ok(())
    }

    fn evaluate(&mut self, store: &mut Store, sql: &Sql) -> Result<Value, Stop> {
        let text = format!("SELECT {}", sql.text);
        self.with(store, |_, db| {
            db.connection
                .query_row(&text, (), |row| row.get(0))
                .map_err(|error| from_sqlite(&error, &db.schema))
        })
    }

    fn set_session(
        &mut self,
        store: &mut Store,
        name: &str,
        value: Option<&Value>,
    ) -> Result<(), Stop> {
        let definition = variables::find(name)?;
        match definition.settable {
            Settable::Both | Settable::Session => {}
            Settable::Global => {
                return Err(Fault::new(
                    1229,
                    b"HY000",
                    format!(
                        "Variable '{name}' is a GLOBAL variable and should be set with SET GLOBAL"
                    ),
                )
                .into());
            }
            Settable::Nowhere => return Err(read_only(name).into()),
        }
        let text = definition.accept(value)?;
        if definition.name == "autocommit" {
            let on = text.as_deref().unwrap_or(definition.default) == "1";
            if on && !self.transaction.autocommit() {
                self.end(store, "COMMIT")?;
            }
            self.transaction.set_autocommit(on);
        }
        if matches!(definition.name, "identity" | "last_insert_id") {
            self.facts.last_insert_id = text.and_then(|id| id.parse().ok()).unwrap_or(0);
            return Ok(());
        }
        match text {
            Some(text) => self.facts.variables.insert(definition.name, text),
            None => self.facts.variables.remove(definition.name),
        };
        Ok(())
    }

    fn set_global(&mut self, name: &str, value: Option<&Value>) -> Result<(), Fault> {
        let definition = variables::find(name)?;
        if matches!(definition.settable, Settable::Session | Settable::Nowhere) {
            return Err(read_only(name));
        }
        if !self.facts.superuser {
            return Err(Fault::new(
                1227,
                b"42000",
                "Access denied; you need (at least one of) the SUPER privilege(s) for this \
                 operation",
            ));
        }
        let server = &self.facts.server;
        if definition.name == "read_only" {
            let on = variables::find("autocommit")?.accept(value)?;
            server.read_only.store(on.as_deref() == Some("1"), Ordering::Relaxed);
            return Ok(());
        }
        let text = definition.accept(value)?;
        let mut globals = server.globals.lock().unwrap_or_else(PoisonError::into_inner);
        match text {
            Some(text) => globals.insert(definition.name, text),
            None => globals.remove(definition.name),
        };
        Ok(())
    }
}

fn read_only(name: &str) -> Fault {
    Fault::new(1238, b"HY000", format!("Variable '{name}' is a read only variable"))
}
