//! Session-track data of OK packets: how a statement changed the state of its session.

use crate::Malformed;
use crate::fault::What;
use crate::lenenc;
use crate::reader::Reader;

/// One change of a session's state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionChange<'a> {
    /// A system variable was set.
    SystemVariable {
        /// Its name.
        name: &'a [u8],
        /// Its value as text.
        value: &'a [u8],
    },
    /// The default schema changed.
    Schema(&'a [u8]),
    /// Whether state changed at all: `1` or `0`.
    StateChange(bool),
    /// GTIDs of the statement.
    Gtids {
        /// The encoding, 0 so far.
        encoding: u8,
        /// The set as text.
        gtids: &'a [u8],
    },
    /// The statements that would start the open transaction anew.
    TransactionCharacteristics(&'a [u8]),
    /// The transaction's state in eight letters.
    TransactionState(&'a [u8]),
    /// A kind not known here.
    Other {
        /// Its number.
        kind: u8,
        /// Its data.
        data: &'a [u8],
    },
}

/// The changes in session-track data, one by one. After a fault nothing follows.
#[derive(Debug, Clone, Copy)]
pub struct SessionTrack<'a> {
    changes: Reader<'a>,
    /// The rest of a list of system variables (MariaDB puts several into one change).
    variables: Reader<'a>,
}

impl<'a> SessionTrack<'a> {
    /// The changes in `session_track` as [`crate::reply::OkPacket`] holds it.
    pub const fn new(session_track: &'a [u8]) -> Self {
        Self { changes: Reader::new(session_track), variables: Reader::new(&[]) }
    }

    /// Appends the changes as they were sent, but for [`SessionChange::StateChange`].
    pub fn write_without_state_change(session_track: &[u8], out: &mut Vec<u8>) {
        let mut rest = Reader::new(session_track);
        while let (Ok(kind), Ok(data)) = (rest.u8(), rest.lenenc_bytes()) {
            if kind != STATE_CHANGE {
                out.push(kind);
                lenenc::write_bytes(out, data);
            }
        }
    }

    fn read(&mut self) -> Result<SessionChange<'a>, Malformed> {
        if !self.variables.is_empty() {
            return variable(&mut self.variables);
        }
        let kind = self.changes.u8()?;
        let data = self.changes.lenenc_bytes()?;
        let mut read = Reader::new(data);
        Ok(match kind {
            0 => {
                let first = variable(&mut read)?;
                self.variables = read;
                first
            }
            1 => SessionChange::Schema(read.lenenc_bytes()?),
            // the letter has no length of its own, as every other text has
            STATE_CHANGE => SessionChange::StateChange(read.u8()? == b'1'),
            3 => SessionChange::Gtids { encoding: read.u8()?, gtids: read.lenenc_bytes()? },
            4 => SessionChange::TransactionCharacteristics(read.lenenc_bytes()?),
            5 => SessionChange::TransactionState(read.lenenc_bytes()?),
            kind => SessionChange::Other { kind, data },
        })
    }
}

fn variable<'a>(read: &mut Reader<'a>) -> Result<SessionChange<'a>, Malformed> {
    Ok(SessionChange::SystemVariable { name: read.lenenc_bytes()?, value: read.lenenc_bytes()? })
}

impl<'a> Iterator for SessionTrack<'a> {
    type Item = Result<SessionChange<'a>, Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.variables.is_empty() && self.changes.is_empty() {
            return None;
        }
        let at = self.changes.offset();
        let change = self.read().map_err(|_| Malformed::new(What::SessionTrack, at));
        if change.is_err() {
            *self = Self::new(&[]);
        }
        Some(change)
    }
}

impl SessionChange<'_> {
    /// Appends the change to session-track data that is being written.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let mut data = Vec::new();
        let kind = match *self {
            Self::SystemVariable { name, value } => {
                lenenc::write_bytes(&mut data, name);
                lenenc::write_bytes(&mut data, value);
                0
            }
            Self::Schema(schema) => {
                lenenc::write_bytes(&mut data, schema);
                1
            }
            Self::StateChange(changed) => {
                data.push(if changed { b'1' } else { b'0' });
                STATE_CHANGE
            }
            Self::Gtids { encoding, gtids } => {
                data.push(encoding);
                lenenc::write_bytes(&mut data, gtids);
                3
            }
            Self::TransactionCharacteristics(text) => {
                lenenc::write_bytes(&mut data, text);
                4
            }
            Self::TransactionState(letters) => {
                lenenc::write_bytes(&mut data, letters);
                5
            }
            Self::Other { kind, data: other } => {
                data.extend_from_slice(other);
                kind
            }
        };
        out.push(kind);
        lenenc::write_bytes(out, &data);
    }
}

/// The number of [`SessionChange::StateChange`].
const STATE_CHANGE: u8 = 2;
