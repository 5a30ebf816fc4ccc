//! Prepared statements: kept as text, run anew each time with the client's values.

use std::collections::BTreeMap;

use rusqlite::types::Value;
use wire::Status;
use wire::command::LAST_PREPARED;
use wire::execute::{ParamType, Params};
use wire::reply::{self, ColumnDef};

use super::encode::{Form, columns};
use super::{ById, Client};
use crate::admin::Admin;
use crate::fault::AdminFault;

/// The statements that a client prepared.
#[derive(Default)]
pub(super) struct Statements {
    by_id: ById<Kept>,
    last: u32,
}

/// One of them.
struct Kept {
    text: String,
    parameters: u16,
    types: Vec<ParamType>,
    /// Values that came by COM_STMT_SEND_LONG_DATA.
    long: BTreeMap<u16, Vec<u8>>,
}

impl Statements {
    pub(super) fn close(&mut self, id: u32) {
        self.by_id.remove(&id);
    }

    /// COM_STMT_SEND_LONG_DATA; an unknown statement is told of at its execution.
    /// Whatever would make all of them more than `bytes_max` is not kept.
    pub(super) fn add(&mut self, id: u32, param: u16, data: &[u8], bytes_max: usize) {
        if self.bytes() + VALUE_BYTES + data.len() > bytes_max {
            return;
        }
        if let Some(kept) = self.by_id.get_mut(&id)
            && param < kept.parameters
        {
            let value = kept.long.entry(param).or_default();
            if value.len() + data.len() <= LONG_BYTES_MAX {
                value.extend_from_slice(data);
            }
        }
    }
}

impl Statements {
    /// What they take, in bytes.
    fn bytes(&self) -> usize {
        self.by_id.values().map(Kept::bytes).sum()
    }
}

impl Kept {
    fn bytes(&self) -> usize {
        let long = self.long.values().map(|value| VALUE_BYTES + value.len()).sum::<usize>();
        STATEMENT_BYTES + self.text.len() + usize::from(self.parameters) * PARAMETER_BYTES + long
    }
}

impl Client {
    /// Bytes that its prepared statements may take.
    pub(super) fn statement_bytes_max(&self) -> usize {
        if self.is_reader() { READERS_STATEMENT_BYTES_MAX } else { usize::MAX }
    }

    /// COM_STMT_PREPARE.
    pub(super) fn prepare(&mut self, admin: &mut Admin, text: &[u8], out: &mut Vec<u8>) {
        let text = String::from_utf8_lossy(text).into_owned();
        if self.statements.by_id.len() >= STATEMENTS_MAX {
            let message = format!("Can't create more than {STATEMENTS_MAX} prepared statements");
            return self.write_fault(&AdminFault::new(1461, *b"42000", message), out);
        }
        let prepared = match admin.prepare(&mut self.session, &text) {
            Ok(prepared) => prepared,
            Err(fault) => return self.write_fault(&fault, out),
        };
        let parameters = u16::try_from(prepared.parameters).unwrap_or(u16::MAX);
        let kept = Kept { text, parameters, types: Vec::new(), long: BTreeMap::new() };
        if self.statements.bytes() + kept.bytes() > self.statement_bytes_max() {
            let message = "ProxySQL Admin Error: the prepared statements of a statistics account \
                           may have 256 KiB; close some";
            return self.write_fault(&AdminFault::refused(message), out);
        }
        self.statements.last = self.statements.last.wrapping_add(1);
        let marks = vec![ColumnDef::text(b"?"); usize::from(parameters)];
        let columns = columns(&prepared.columns);
        let id = self.statements.last;
        reply::write_prepare_ok(out, &mut self.seq, self.caps, id, &marks, &columns, Status::NONE);
        self.statements.by_id.insert(id, kept);
    }

    /// COM_STMT_EXECUTE.
    pub(super) fn execute(&mut self, admin: &mut Admin, id: u32, rest: &[u8], out: &mut Vec<u8>) {
        match self.bind(id, rest) {
            Err(fault) => self.write_fault(&fault, out),
            Ok((text, values)) => {
                let outcome = admin.run(&mut self.session, &text, &values);
                self.write_outcome(outcome, Form::Binary, false, out);
            }
        }
    }

    fn bind(&mut self, id: u32, rest: &[u8]) -> Result<(String, Vec<Value>), AdminFault> {
        let id = if id == LAST_PREPARED { self.statements.last } else { id };
        let kept = self.statements.by_id.get_mut(&id).ok_or_else(|| {
            let message = format!("Unknown prepared statement handler ({id})");
            AdminFault::new(1243, *b"HY000", message)
        })?;
        let long = std::mem::take(&mut kept.long);
        let params = Params::parse(rest, kept.parameters, &kept.types, |at| long.contains_key(&at))
            .map_err(|_| AdminFault::new(1835, *b"HY000", "Malformed communication packet"))?;
        let values = (0_u16..)
            .zip(&params.values)
            .map(|(at, value)| match long.get(&at) {
                Some(bytes) => bytes_value(bytes),
                None => sqlite_value(value),
            })
            .collect();
        kept.types = params.types;
        Ok((kept.text.clone(), values))
    }
}

fn sqlite_value(value: &wire::value::Value<'_>) -> Value {
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

/// Prepared statements of one client.
const STATEMENTS_MAX: usize = 1024;
/// Bytes of a value that comes in pieces.
const LONG_BYTES_MAX: usize = 16 << 20;
/// Bytes of texts and values of all prepared statements of a statistics account's client.
const READERS_STATEMENT_BYTES_MAX: usize = 256 << 10;
/// Bytes that a statement takes besides its text.
const STATEMENT_BYTES: usize = 128;
/// Bytes that a parameter takes.
const PARAMETER_BYTES: usize = 8;
/// Bytes that a value that comes in pieces takes, however short it is.
const VALUE_BYTES: usize = 64;
