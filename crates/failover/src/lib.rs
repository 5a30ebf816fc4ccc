//! A replica becomes the primary: which one may, and what the servers of a cluster are told for it,
//! in which order.
//!
//! [`Servers`] asks servers, and [`Clients`] holds clients meanwhile. Here is neither a socket nor
//! a clock, so that each fault can be tried.
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

mod dialect;
mod failing;
mod hooks;
mod identity;
mod journal;
mod returning;
mod run;
mod source_tls;
mod standing;
mod switchover;

use std::time::Duration;

use keeper::Endpoint;
use wire::text_result::TextResult;

pub use failing::{Failed, Succeeded, fail_over};
pub use hooks::Hooks;
pub use identity::{Former, Identity, identify, source_of};
pub use journal::{Journal, JournalEntry};
pub use returning::{Left, rejoin};
pub use source_tls::SourceTls;
pub use standing::{Channel, Receiver, Standing};
pub use switchover::{Order, switch_over};

/// Runs statements on servers, as an account that may administer them.
pub trait Servers {
    /// The answer of one, or why there is none. A server's statements run on one connection.
    fn ask(&mut self, server: &Endpoint, statement: &str) -> Result<TextResult, String>;

    /// The server that a replica means by the name and port of its source, as it is called here.
    fn place(&mut self, replica: &Endpoint, host: &str, port: i64) -> Endpoint;

    /// An answer may take so long from now on; connections are made anew.
    fn be_patient(&mut self, limit: Duration);

    /// Whether a server says anything to whoever connects: a greeting, or an error in its place.
    fn greets(&mut self, server: &Endpoint) -> bool;
}

/// The proxy that clients come through.
pub trait Clients {
    /// Lets nothing new begin among the writers.
    fn hold(&mut self);

    /// Waits until no client uses a writer; gives how many do after that time.
    fn drain(&mut self, limit: Duration) -> u64;

    /// Waits until a server is the only writer; `false` when it is not after that time.
    fn await_writer(&mut self, server: &Endpoint, limit: Duration) -> bool;

    /// Lets everything begin again.
    fn release(&mut self);

    /// A server was replaced as the primary: it gets no statement, whatever it says of itself. With
    /// `false`, it may again.
    fn depose(&mut self, server: &Endpoint, is_deposed: bool);

    /// Runs a program with its arguments and that environment to its end; gives what it wrote, or
    /// why it did not end well.
    fn run_program(
        &mut self,
        words: &[String],
        environment: Vec<(String, String)>,
    ) -> Result<String, String>;

    /// Time since the order was given.
    fn elapsed(&self) -> Duration;

    /// A step is done, or has failed.
    fn note(&mut self, step: FailoverStep);
}

/// One step of an order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FailoverStep {
    /// The server that it was about.
    pub server: Endpoint,
    /// What was to be done.
    pub what: String,
    /// What came of it.
    pub outcome: Result<String, String>,
}

/// An account of a server.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct ServerAccount {
    /// Its name.
    pub user: String,
    /// Its password.
    pub password: String,
}
