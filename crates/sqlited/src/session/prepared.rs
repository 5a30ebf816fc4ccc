//! Prepared statements: translated once, run by SQLite anew each time with the client's values.

use std::collections::BTreeMap;

use rusqlite::types::Value;
use wire::Status;
use wire::command::LAST_PREPARED;
use wire::execute::{ParamType, Params};
use wire::reply::{self, ColumnDef, ColumnKind};

use super::{Cx, Job, Session};
use crate::encode::{RowForm, definition};
use crate::fault::{Fault, Stop};
use crate::lexer::statements;
use crate::translate::{self, Plan};

/// A statement a client prepared.
#[derive(Debug)]
pub(super) struct Prepared {
    plan: Plan,
    types: Vec<ParamType>,
    /// Values that came by COM_STMT_SEND_LONG_DATA.
    long: BTreeMap<u16, Vec<u8>>,
    /// Whether one of them grew beyond what the server takes.
    too_long: bool,
}

impl Session {
    /// COM_STMT_PREPARE.
    pub(super) fn prepare(&mut self, cx: &mut Cx<'_>, text: &[u8]) {
        if let Err(stop) = self.try_prepare(cx, text) {
            let fault = match stop {
                Stop::Failed(fault) => fault,
                Stop::Locked => Fault::lock_wait(),
            };
            self.work.note_failure(&fault);
            self.write_fault(&fault, cx.out);
        }
    }

    fn try_prepare(&mut self, cx: &mut Cx<'_>, text: &[u8]) -> Result<(), Stop> {
        let all = statements(text)?;
        let tokens = match all.as_slice() {
            [] => &[],
            [one] => one.as_slice(),
            [_, second, ..] => {
                let near = second.first().map_or("", |token| token.source);
                return Err(Fault::syntax(near).into());
            }
        };
        let plan = translate::plan(tokens, &self.work.facts.server.schema)?;
        let columns = self.work.columns(cx.store, &plan.action)?;
        if self.statements.len() >= STATEMENTS_MAX {
            return Err(Fault::new(
                1461,
                b"42000",
                format!("Can't create more than {STATEMENTS_MAX} prepared statements"),
            )
            .into());
        }
        self.last_statement = self.last_statement.wrapping_add(1);
        let parameters = vec![ColumnDef::text(b"?"); usize::from(plan.parameters)];
        let definitions: Vec<ColumnDef<'_>> = columns.iter().map(definition).collect();
        reply::write_prepare_ok(
            cx.out,
            &mut self.seq,
            self.caps,
            self.last_statement,
            &parameters,
            &definitions,
            Status::NONE,
        );
        let prepared = Prepared { plan, types: Vec::new(), long: BTreeMap::new(), too_long: false };
        self.statements.insert(self.last_statement, prepared);
        Ok(())
    }

    /// COM_STMT_EXECUTE: puts the statement into the queue.
    pub(super) fn execute(&mut self, id: u32, rest: &[u8]) {
        let id = if id == LAST_PREPARED { self.last_statement } else { id };
        let server = &self.work.facts.server;
        server.questions.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let (plan, values) = match self.bind(id, rest) {
            Ok((plan, values)) => (Ok(plan), values),
            Err(fault) => (Err(fault), Vec::new()),
        };
        self.queue.push_back(Job { plan, values, form: RowForm::Binary });
    }

    fn bind(&mut self, id: u32, rest: &[u8]) -> Result<(Plan, Vec<Value>), Fault> {
        let prepared = self
            .statements
            .get_mut(&id)
            .ok_or_else(|| Fault::unknown_statement(id, "mysqld_stmt_execute"))?;
        let long = std::mem::take(&mut prepared.long);
        if std::mem::take(&mut prepared.too_long) {
            return Err(Fault::too_large());
        }
        let count = prepared.plan.parameters;
        let params = Params::parse(rest, count, &prepared.types, |at| long.contains_key(&at))
            .map_err(|_| Fault::malformed())?;
        let values = (0_u16..)
            .zip(params.values.iter().zip(&params.types))
            .map(|(at, (value, kind))| match long.get(&at) {
                Some(bytes) => bytes_value(bytes),
                None => sqlite_value(value, *kind),
            })
            .collect();
        prepared.types = params.types;
        Ok((prepared.plan.clone(), values))
    }

    /// COM_STMT_SEND_LONG_DATA; an unknown statement is told of at its execution.
    pub(super) fn take_long_data(&mut self, id: u32, param: u16, data: &[u8]) {
        let limit = self.work.facts.server.options.max_packet_bytes;
        if let Some(prepared) = self.statements.get_mut(&id)
            && param < prepared.plan.parameters
        {
            let value = prepared.long.entry(param).or_default();
            prepared.too_long |= value.len() + data.len() > limit;
            if !prepared.too_long {
                value.extend_from_slice(data);
            }
        }
    }

    /// COM_STMT_RESET: forgets long values.
    pub(super) fn reset_statement(&mut self, id: u32, out: &mut Vec<u8>) {
        match self.statements.get_mut(&id) {
            Some(prepared) => {
                prepared.long.clear();
                prepared.too_long = false;
                self.write_done(0, 0, out);
            }
            None => self.write_fault(&Fault::unknown_statement(id, "mysqld_stmt_reset"), out),
        }
    }
}

fn sqlite_value(value: &wire::value::Value<'_>, kind: ParamType) -> Value {
    use wire::value::Value as Wire;
    match value {
        Wire::Null => Value::Null,
        Wire::Int(number) => Value::Integer(*number),
        Wire::UInt(number) => {
            i64::try_from(*number).map_or(Value::Real(*number as f64), Value::Integer)
        }
        Wire::Float(number) => Value::Real(f64::from(*number)),
        Wire::Double(number) => Value::Real(*number),
        Wire::Bytes(bytes) => bytes_value(bytes),
        Wire::Date(date) if kind.kind == ColumnKind::DATE => {
            Value::Text(format!("{:04}-{:02}-{:02}", date.year, date.month, date.day))
        }
        Wire::Date(date) => Value::Text(date.to_string()),
        Wire::Time(time) => Value::Text(time.to_string()),
    }
}

/// Clients send text and bytes alike: what is UTF-8 is text.
fn bytes_value(bytes: &[u8]) -> Value {
    match std::str::from_utf8(bytes) {
        Ok(text) => Value::Text(text.to_owned()),
        Err(_) => Value::Blob(bytes.to_vec()),
    }
}

/// Prepared statements of one session.
const STATEMENTS_MAX: usize = 16_382;
