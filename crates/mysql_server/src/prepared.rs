//! Prepared statements: kept as text, run anew each time with the client's values.

use std::collections::{BTreeMap, HashMap};

use wire::Status;
use wire::command::LAST_PREPARED;
use wire::execute::{ParamType, Params};
use wire::reply::{self, ColumnDef};

use crate::connection::Connection;
use crate::handler::{Fault, Handler};
use crate::results::{Cell, Form, definitions};

/// The statements that a client prepared.
#[derive(Default, Debug)]
pub(crate) struct Statements {
    by_id: HashMap<u32, Kept>,
    last: u32,
}

/// One of them.
#[derive(Debug)]
struct Kept {
    text: String,
    parameters: u16,
    types: Vec<ParamType>,
    /// Values that came by `COM_STMT_SEND_LONG_DATA`.
    long: BTreeMap<u16, Vec<u8>>,
}

impl Statements {
    pub(crate) fn close(&mut self, id: u32) {
        self.by_id.remove(&id);
    }

    /// `COM_STMT_RESET`: values that were sent ahead are forgotten.
    pub(crate) fn reset(&mut self, id: u32) {
        if let Some(kept) = self.by_id.get_mut(&id) {
            kept.long.clear();
        }
    }

    /// `COM_STMT_SEND_LONG_DATA`; an unknown statement is told of at its execution. Whatever would
    /// make all of them more than `bytes_max` is not kept.
    pub(crate) fn add(&mut self, id: u32, param: u16, data: &[u8], bytes_max: usize) {
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

    /// What they take, in bytes.
    fn bytes(&self) -> usize {
        self.by_id.values().map(Kept::bytes).sum()
    }

    /// The text and the values of an execution.
    fn bind(&mut self, id: u32, rest: &[u8]) -> Result<(String, Vec<Cell>), Fault> {
        let id = if id == LAST_PREPARED { self.last } else { id };
        let kept = self.by_id.get_mut(&id).ok_or_else(|| {
            let message = format!("Unknown prepared statement handler ({id})");
            Fault::new(1243, b"HY000", message)
        })?;
        let long = std::mem::take(&mut kept.long);
        let params = Params::parse(rest, kept.parameters, &kept.types, |at| long.contains_key(&at))
            .map_err(|_| Fault::new(1835, b"HY000", "Malformed communication packet"))?;
        let values = (0_u16..)
            .zip(&params.values)
            .map(|(at, value)| match long.get(&at) {
                Some(bytes) => Cell::Bytes(bytes.clone()),
                None => Cell::of(value),
            })
            .collect();
        kept.types = params.types;
        Ok((kept.text.clone(), values))
    }
}

impl Kept {
    fn bytes(&self) -> usize {
        let long = self.long.values().map(|value| VALUE_BYTES + value.len()).sum::<usize>();
        STATEMENT_BYTES + self.text.len() + usize::from(self.parameters) * PARAMETER_BYTES + long
    }
}

impl Connection {
    /// `COM_STMT_PREPARE`.
    pub(crate) fn prepare<H: Handler>(&mut self, handler: &mut H, text: &[u8], out: &mut Vec<u8>) {
        if let Err(fault) = self.try_prepare(handler, text, out) {
            self.write_fault(&fault, out);
        }
    }

    fn try_prepare<H: Handler>(
        &mut self,
        handler: &mut H,
        text: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), Fault> {
        let text = String::from_utf8_lossy(text).into_owned();
        if self.statements.by_id.len() >= STATEMENTS_MAX {
            let message = format!("Can't create more than {STATEMENTS_MAX} prepared statements");
            return Err(Fault::new(1461, b"42000", message));
        }
        let found = handler.describe(&text)?;
        let parameters = u16::try_from(found.parameters).map_err(|_| {
            Fault::new(1390, b"HY000", "Prepared statement has too many parameters")
        })?;
        let kept = Kept { text, parameters, types: Vec::new(), long: BTreeMap::new() };
        if let Some((bytes_max, fault)) = handler.prepared_bytes()
            && self.statements.bytes() + kept.bytes() > bytes_max
        {
            return Err(fault);
        }
        self.statements.last = self.statements.last.wrapping_add(1).max(1);
        let (id, caps) = (self.statements.last, self.caps);
        let marks = vec![ColumnDef::text(b"?"); usize::from(parameters)];
        let columns = definitions(&found.columns);
        reply::write_prepare_ok(out, &mut self.seq, caps, id, &marks, &columns, Status::NONE);
        self.statements.by_id.insert(id, kept);
        Ok(())
    }

    /// `COM_STMT_EXECUTE`.
    pub(crate) fn execute<H: Handler>(
        &mut self,
        handler: &mut H,
        id: u32,
        rest: &[u8],
        out: &mut Vec<u8>,
    ) {
        let bound = self.statements.bind(id, rest);
        let answer = bound.and_then(|(text, values)| handler.run(&text, &values));
        self.write_answer(handler, answer, Form::Binary, false, out);
    }
}

/// Prepared statements of one client.
const STATEMENTS_MAX: usize = 1024;
/// Bytes of a value that comes in pieces.
const LONG_BYTES_MAX: usize = 16 << 20;
/// Bytes that a statement takes besides its text.
const STATEMENT_BYTES: usize = 128;
/// Bytes that a parameter takes.
const PARAMETER_BYTES: usize = 8;
/// Bytes that a value that comes in pieces takes, however short it is.
const VALUE_BYTES: usize = 64;
