//! Servers for the demo: the MySQL protocol over SQLite, a primary and read-only replicas that
//! share one file, so that nothing is replicated.
//!
//! ```text
//!   servers ─► session ─► dialect        threads → statements → SQLite's text
//!                 │
//!     assignments · shows · functions · faults
//! ```
//!
//! They answer what the tour asks, what drivers ask at connect and what people type; a statement
//! that they do not know is refused with error 1235. There is one schema, and one writer at a time.
//! Texts compare byte by byte, types are of values and not of columns, rows that an `UPDATE` found
//! count as changed.
#![forbid(unsafe_code)]

mod assignments;
mod dialect;
mod faults;
mod functions;
mod servers;
mod session;
mod shows;
mod variables_table;

pub use servers::{DemoServers, ServerOptions};
