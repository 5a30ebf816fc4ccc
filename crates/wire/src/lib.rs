//! MySQL bytes to values and back.
//!
//! This crate answers two questions: what do these bytes say, and how is that said in bytes. It
//! knows the packets of MySQL and MariaDB, both sides of the connection phase, the password
//! exchanges, and where a reply ends. It does not know sockets, time, threads, sessions or SQL
//! text, and it decides nothing: what to do with a packet is the business of `engine`.
//!
//! Where to start reading:
//!
//! * [`frame`]: packets as they lie on the wire.
//! * [`connect`] and [`auth`]: from the greeting to the OK packet.
//! * [`command`]: what a client asks; [`execute`]: the parameters of a prepared statement.
//! * [`result`]: where the reply to a command ends, without decoding or keeping it.
//! * [`reply`]: the packets of replies, read and written one by one.
//! * [`redirect`]: where the OK packet of a login sends a client instead.
#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    deny(
        clippy::unwrap_used,
        clippy::indexing_slicing,
        clippy::cast_possible_truncation,
        clippy::panic
    )
)]

pub mod auth;
pub mod caps;
pub mod collation_table;
pub mod command;
pub mod connect;
pub mod error_table;
pub mod execute;
pub mod fault;
pub mod frame;
pub mod lenenc;
pub mod proxy_header;
pub mod reader;
pub mod redirect;
pub mod reply;
pub mod result;
pub mod status;
pub mod text_result;
pub mod value;

pub use caps::Caps;
pub use fault::{Fault, Malformed, PeerFault, Side, What};
pub use status::Status;
