//! Scenarios of the hot path without sockets: what `cargo xtask icount` counts instructions over
//! and what the allocation test watches; and a whole worker with sockets (`whole`).
//!
//! Decides what stands for a typical exchange. It measures nothing itself, and its figures leave
//! out the kernel, which costs most of a query.
#![forbid(unsafe_code)]

mod crowd;
pub mod packets;
mod rules;
pub mod scenario;
pub mod whole;
pub mod world;
