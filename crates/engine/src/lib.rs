//! Every decision of the proxy, made without sockets, clocks, threads or locks.
//!
//! The crate takes bytes and events in and gives orders out; `worker` carries them out. Start
//! reading at [`rows`] for what an operator may configure.
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

pub mod backend;
pub mod caching;
pub mod catalog;
pub mod clusters;
pub mod config_fault;
pub mod document;
pub mod error;
pub mod first_bytes;
pub mod guesses;
pub mod holds;
pub mod hostgroups;
pub mod ids;
mod json;
pub mod lane;
pub mod link;
pub mod login_checks;
pub mod orders;
pub mod pool;
pub mod proxy;
pub mod redirects;
pub mod report;
pub mod route;
pub mod rows;
pub mod rules;
pub mod server_error;
pub mod session;
pub mod slab;
pub mod snapshot;
pub mod stats;
pub mod stmt;
pub mod topology;
pub mod users;
pub mod vars;
