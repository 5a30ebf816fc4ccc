//! `COM_CHANGE_USER`: authentication anew on a connection that stands.

use crate::command::code;
use crate::connect::response::write_short;
use crate::reader::Reader;
use crate::{Caps, Malformed, lenenc};

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
        let mut read = Reader::new(payload);
        read.marker(code::CHANGE_USER)?;
        let user = read.nul_bytes()?;
        let auth_response = match caps.contains(Caps::SECURE_CONNECTION) {
            true => read.short_bytes()?,
            false => read.nul_bytes()?,
        };
        let schema = read.nul_bytes_or_rest();
        let collation = if read.is_empty() { None } else { Some(read.u16()?) };
        let named = caps.contains(Caps::PLUGIN_AUTH) && !read.is_empty();
        let plugin = named.then(|| read.nul_bytes_or_rest());
        let attributes = match caps.contains(Caps::CONNECT_ATTRS) && !read.is_empty() {
            true => read.lenenc_bytes()?,
            false => &[],
        };
        Ok(Self { user, auth_response, schema, collation, plugin, attributes })
    }

    /// Appends the whole payload, command byte included. What follows a part that is left out is
    /// left out too. An answer of more than 255 bytes cannot be sent in this command.
    pub fn encode(&self, caps: Caps, out: &mut Vec<u8>) {
        out.push(code::CHANGE_USER);
        out.extend_from_slice(self.user);
        out.push(0);
        if caps.contains(Caps::SECURE_CONNECTION) {
            write_short(out, self.auth_response);
        } else {
            out.extend_from_slice(self.auth_response);
            out.push(0);
        }
        out.extend_from_slice(self.schema);
        out.push(0);
        let Some(collation) = self.collation else { return };
        out.extend_from_slice(&collation.to_le_bytes());
        if caps.contains(Caps::PLUGIN_AUTH) {
            let Some(plugin) = self.plugin else { return };
            out.extend_from_slice(plugin);
            out.push(0);
        }
        if caps.contains(Caps::CONNECT_ATTRS) {
            lenenc::write_bytes(out, self.attributes);
        }
    }
}
