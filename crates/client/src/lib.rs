//! A blocking client for our own errands: switchovers, failovers and the reading of passwords,
//! `tidegate topology` and the demo's tour, the lab, the live tests and the benchmarks.
//!
//! [`Client`] runs statements as text and reads their rows; it stands on [`Packets`], which has
//! framing and the login, for everything that a driver would not send. What bytes mean is `wire`'s.
//! It deliberately knows no TLS, no compression, no pool and no prepared statements. It is not on
//! the way of a query: the proxy's own lanes are `engine`'s and `worker`'s.
//!
//! ```no_run
//! use client::{Client, Login, Packets};
//! use std::time::Duration;
//!
//! let packets = Packets::tcp(([127, 0, 0, 1], 6033).into(), Duration::from_secs(10))?;
//! let mut client = Client::log_in(packets, &Login::new("app", "app"))?;
//! println!("{:?}", client.query("SELECT @@hostname")?.value(0));
//! # Ok::<(), client::Error>(())
//! ```
#![forbid(unsafe_code)]

mod error;
mod login;
mod packets;
mod text;

#[cfg(test)]
mod tests;

pub use error::{Error, ServerError};
pub use login::{Login, Welcome};
pub use packets::{Packets, frame};
pub use text::Client;
pub use wire::text_result::{TextResult as Reply, TextRow as Row};
