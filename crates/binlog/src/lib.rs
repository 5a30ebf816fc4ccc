//! What a server's binary log tells of changes, out of the packets of a dump.
//!
//! ```text
//!   parts of packets ── LogStream::feed ──> event by event ──> Noted: a table, or any, has changed
//!                                             │
//!                          compressed transactions, whose events are read in the same way
//! ```
//!
//! Outside formats: the events of MySQL 8 and 9 and of MariaDB 10 and 11, as in "Replication
//! Protocol" of either manual. Rows are never read: an event's head says whose they are. So an
//! event of any length takes no more memory than [`HEAD_BYTES_MAX`].
//!
//! **Invariant.** Whatever is not understood is a change of any table ([`Why`]), or ends the stream
//! ([`LogFault`]); it is never passed over. Events are the same however their bytes are cut.
//! **Not here:** sockets, and when a change can be seen on its server.
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

mod change;
mod event;
mod fault;
mod gtid;
mod packed;
mod position;
mod request;
mod statement;
mod stream;

pub use change::{LogChange, Noted, Why};
pub use event::HEAD_BYTES_MAX;
pub use fault::{Flaw, LogFault};
pub use gtid::Gtid;
pub use position::Position;
pub use request::{REGISTER, dump};
pub use stream::LogStream;

#[cfg(test)]
mod tests;
