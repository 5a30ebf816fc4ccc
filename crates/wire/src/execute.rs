//! The parameters of `COM_STMT_EXECUTE`, for services that execute statements instead of relaying
//! them.

use crate::Malformed;
use crate::fault::What;
use crate::reader::Reader;
use crate::reply::ColumnKind;
use crate::value::Value;

/// The cursor flags of `COM_STMT_EXECUTE`.
pub mod cursor {
    /// No cursor: the rows come at once.
    pub const NONE: u8 = 0;
    /// A read-only cursor: the rows come by `COM_STMT_FETCH`.
    pub const READ_ONLY: u8 = 1;
}

/// The type of a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParamType {
    /// The type of its values.
    pub kind: ColumnKind,
    /// Whether integers are unsigned.
    pub unsigned: bool,
}

/// The parameters of one execution.
#[derive(Debug, Clone, PartialEq)]
pub struct Params<'a> {
    /// Their types, to be remembered for executions that send none.
    pub types: Vec<ParamType>,
    /// Their values. That of a parameter sent by `COM_STMT_SEND_LONG_DATA` is empty bytes here.
    pub values: Vec<Value<'a>>,
}

impl<'a> Params<'a> {
    /// Reads what [`crate::command::Command::StmtExecute`] calls `rest`. `count` is the
    /// statement's number of parameters, `known` are the types of the execution before, and
    /// `is_long` says which parameters were sent by `COM_STMT_SEND_LONG_DATA`.
    pub fn parse(
        rest: &'a [u8],
        count: u16,
        known: &[ParamType],
        is_long: impl Fn(u16) -> bool,
    ) -> Result<Self, Malformed> {
        let mut read = Reader::new(rest);
        let _iterations = read.u32()?;
        if count == 0 {
            return Ok(Self { types: Vec::new(), values: Vec::new() });
        }
        let nulls = read.bytes(usize::from(count).div_ceil(8))?;
        let types = match read.u8()? {
            1 => read_types(&mut read, count)?,
            _ => known.to_vec(),
        };
        if types.len() != usize::from(count) {
            return Err(read.fault(What::ParameterType));
        }
        let mut values = Vec::with_capacity(types.len());
        for (at, of) in (0..count).zip(&types) {
            let byte = nulls.get(usize::from(at / 8)).copied().unwrap_or(0);
            values.push(match byte >> (at % 8) & 1 {
                1 => Value::Null,
                _ if is_long(at) => Value::Bytes(&[]),
                _ => Value::read(&mut read, of.kind, of.unsigned)?,
            });
        }
        Ok(Self { types, values })
    }
}

fn read_types(read: &mut Reader<'_>, count: u16) -> Result<Vec<ParamType>, Malformed> {
    (0..count)
        .map(|_| {
            let fault = read.fault(What::ParameterType);
            let [kind, flags] = read.array()?;
            let kind = ColumnKind(kind);
            let of = ParamType { kind, unsigned: flags & 0x80 != 0 };
            if Value::is_kind(kind) { Ok(of) } else { Err(fault) }
        })
        .collect()
}

#[cfg(test)]
mod tests;
