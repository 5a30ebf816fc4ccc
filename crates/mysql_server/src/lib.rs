//! The server side of MySQL's protocol for services that answer statements themselves: the
//! administrative interface and the demo's servers.
//!
//! ```text
//!   bytes ─► Packets ─► Connection ─► Handler         framing, commands, answers
//!                           │
//!                  login · prepared · results
//! ```
//!
//! Knows no sockets, no time and no SQL: a [`Connection`] is given whole packets and appends its
//! answers to a buffer; what a statement comes to is the [`Handler`]'s. A result is written whole.
//! The capabilities are [`wire::Caps::OF_OWN_SERVERS`], so no compression and no cursors. The owner
//! of the socket puts TLS on, where [`Next::Secure`] asks for it.
#![forbid(unsafe_code)]

mod connection;
mod handler;
mod login;
mod packets;
mod prepared;
mod results;

pub use connection::{Connection, Greets, Next};
pub use handler::{Account, Answer, Description, Fault, Handler, Refusal};
pub use packets::{Packet, Packets, TooLong};
pub use results::{Cell, Column, Rows};
