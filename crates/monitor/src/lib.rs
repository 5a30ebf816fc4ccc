//! Checks servers on connections and a loop of its own, and reports what they came to.
//!
//! ```text
//!   Plan (from the configuration in force) ── MonitorMail ──> Monitor ── Checked ──> keeper, logs
//!                                                               │ ▲
//!                                                               ▼ │ io::Loop
//!                                                             servers
//! ```
//!
//! A check begins when it is due and has a deadline from the moment when it is sent. One that this
//! process read late itself is [`keeper::Failure::OwnDelay`], and never the server's failure. What
//! follows from a check is the keeper's; which checks there are is [`Plan`]'s.
//!
//! **Not here.** No thread, no clock of the calendar, no table: these are given, or made of what is
//! told.
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

mod answer;
mod link;
mod log;
mod plan;
mod question;
mod service;

use std::collections::BTreeMap;
use std::sync::Arc;

use io::Sock;
use keeper::{Endpoint, Seen};

use link::Link;
pub use log::{AuroraStatus, Counts, Entry, Logs, Totals};
pub use plan::{Check, Plan};
pub use question::{CheckFound, ReplicaStatus};

/// What came of a check.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Checked {
    /// Which server was checked.
    pub server: Endpoint,
    /// For what.
    pub check: Check,
    /// When it began, in microseconds since 1970.
    pub began_unix_us: u64,
    /// How long it took, in microseconds; `None` where it came to nothing.
    pub took_us: Option<u64>,
    /// What was found, or why nothing was.
    pub found: Result<CheckFound, String>,
    /// What the keeper is to hear of it.
    pub seen: Option<Seen>,
}

/// What others may tell the monitor.
pub enum MonitorMail {
    /// Another configuration is in force.
    Plan(Box<Plan>),
    /// A server is to be checked at once, but for connecting: somebody saw something of it. What it
    /// answers counts; that it does not is for the checks to find that are due.
    Look(Endpoint),
    /// It is to end.
    Stop,
}

/// What the monitor needs from outside, so that nothing in it is left to chance in a simulation.
pub struct Outside {
    /// The time of the calendar, in microseconds since 1970.
    pub unix_us: Box<dyn FnMut() -> u64 + Send>,
    /// What connections have their TLS from.
    pub connectors: Arc<tls::Connectors>,
    /// Takes what checks came to.
    pub tell: Box<dyn FnMut(Checked) + Send>,
}

/// Checks servers.
pub struct Monitor {
    plan: Plan,
    outside: Outside,
    slots: BTreeMap<u32, Slot>,
    next_slot: u32,
    links: BTreeMap<Sock, Link>,
    /// Connections that had no use when they were put here, by their server, last used last.
    idle: BTreeMap<Endpoint, Vec<Sock>>,
    /// How often the account of the checks has changed.
    accounts: u64,
    /// Kept for its room.
    out: Vec<u8>,
}

/// A check of a server, again and again.
struct Slot {
    server: Endpoint,
    check: Check,
    /// When it is due the next time, microseconds of the loop's clock.
    due_us: u64,
    /// How many timers it has had: the last one counts.
    timer: u32,
    run: Option<Run>,
}

/// A check that has begun.
struct Run {
    sock: Option<Sock>,
    /// When it began, and when what is timed began: the question, not the connection.
    began_unix_us: u64,
    sent_us: u64,
    deadline_us: u64,
    /// The loop was late once already at the deadline, and waits a moment longer.
    excused: bool,
    /// Its connection had been used before: it may have died unseen.
    reused: bool,
    /// It was not due: somebody wants it to be looked at.
    extra: bool,
}

impl Monitor {
    /// A monitor that checks nothing until it has a plan.
    pub fn new(plan: Plan, outside: Outside) -> Self {
        Self {
            plan,
            outside,
            slots: BTreeMap::new(),
            next_slot: 0,
            links: BTreeMap::new(),
            idle: BTreeMap::new(),
            accounts: 0,
            out: Vec::new(),
        }
    }
}
