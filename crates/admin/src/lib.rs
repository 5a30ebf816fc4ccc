//! The administrative interface: SQL over the MySQL protocol, layered configuration, statistics.
//!
//! ```text
//!   service ─► client ──► admin ─► command        bytes → packets → statements → what they do
//!                           │         │
//!                        database   layers ─► runtime       SQLite · RUNTIME, MEMORY, DISK, FILE
//! ```
//!
//! Everything that can be typed is answered by [`Admin`], which knows no sockets. What is in force
//! is the process's own knowledge, behind [`Runtime`].
#![forbid(unsafe_code)]

mod admin;
mod client;
mod clock;
mod command;
mod database;
#[cfg(test)]
mod fake_process;
mod fault;
mod fault_table;
mod history;
mod layers;
mod private_files;
mod rows;
mod runtime;
mod secrets;
mod service;
mod statement;
pub mod statistics;
pub mod tables;

pub use admin::{Admin, Outcome, Prepared, Reply, Role, Session, Warning};
pub use clock::calendar;
pub use command::commands_table::{COMMANDS, CommandRow, refused};
pub use database::ResultSet;
pub use fault::AdminFault;
pub use fault_table::{FAULTS, FaultRow};
pub use layers::{ConfigFile, Opened, Opening, OpeningSource, Store};
pub use rows::{Rows, cell, cell_text, of_draft, of_file, value};
pub use runtime::{Applied, Control, FailedClient, Kill, MakeDraft, Runtime};
pub use service::{Mail, Report, Service};
