//! An embedded MySQL-protocol server over SQLite: any number of servers in one process.
//!
//! It answers what drivers ask at connect and what people type, speaks text and binary protocol,
//! and keeps transactions as far as SQLite can. The servers of a group share one [`Store`]: a
//! primary and read-only replicas that see the same data without any replication between them.
//! It is a [`io::Service`] on our own loop and has no thread unless [`start`] makes one.
//!
//! ```text
//!   lexer ─► translate ─► session ─► service     text → tokens → plan → answer → bytes
//!                            │
//!                          store                 SQLite, in memory
//! ```
//!
//! **What it is not.** SQLite's rules hold where MySQL's cannot be had: one writer at a time, one
//! schema a store, types of values and not of columns, affected rows of an UPDATE are the matched
//! ones, text compares byte by byte. There are no stored programs, no XA and no user accounts
//! beyond the options. What is not understood is refused with an error, not ignored; the few
//! statements without effect (LOCK TABLES, FLUSH, GRANT) leave a note in SHOW WARNINGS, and most
//! system variables are only remembered. A result is kept whole until it is sent.
//!
//! ```
//! use sqlited::{ServerOptions, Store, User, start};
//!
//! let mut primary = ServerOptions::new("db-1", io::Addr::Tcp(([127, 0, 0, 1], 0).into()));
//! primary.users.push(User::new("demo", "demo"));
//! let running = start(Store::in_memory("demo")?, vec![primary])?;
//! println!("mariadb -h127.0.0.1 -P{} -udemo -pdemo", running.tcp(0).unwrap().port());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod encode;
mod facts;
mod fault;
mod functions;
mod lexer;
mod options;
mod rows;
mod running;
mod service;
mod session;
mod store;
mod translate;
mod types;
mod variables;
mod variables_table;

pub use options::{ServerOptions, User};
pub use running::{Running, StartFault, start};
pub use service::{Mail, Servers};
pub use store::{Store, StoreFault};
