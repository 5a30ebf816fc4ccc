//! `COM_CHANGE_USER`: authentication anew on a connection that stands.

use crate::{Caps, Malformed};

/// A `COM_CHANGE_USER` command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChangeUser<'a> {
    /// The user's name.
    pub user: &'a [u8],
    /// The answer to the plugin that the client assumed, by the nonce of the greeting or of the
    /// last authentication switch.
    pub auth_response: &'a [u8],
    /// The schema to begin with; empty for none.
    pub schema: &'a [u8],
    /// The id of the client's collation, when it names one.
    pub collation: Option<u16>,
    /// The name of the plugin that the client assumed, when it names one.
    pub plugin: Option<&'a [u8]>,
    /// The connection attributes as sent, without their total length.
    pub attributes: &'a [u8],
}

impl<'a> ChangeUser<'a> {
    /// Reads the whole payload, command byte included. `caps` are those of the connection.
    pub fn parse(payload: &'a [u8], caps: Caps) -> Result<Self, Malformed> {
        let _ = (payload, caps);
        unimplemented!()
    }

    /// Appends the whole payload, command byte included.
    pub fn encode(&self, caps: Caps, out: &mut Vec<u8>) {
        let _ = (caps, out);
    }
}
