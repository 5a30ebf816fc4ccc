//! Which kept answers end by what servers' logs tell, and when nothing that is kept may be told.
//!
//! ```text
//!   Noted ──> FollowedLog::note ──┬─ at once ────────────────> Followed::changed
//!                                 └─ Unseen, until the server says that it is visible ──> again
//!   a pulse ──> FollowedLog::await_pulse ── all have passed it ──> FollowedGroup::pass ──> stand
//! ```
//!
//! A [`FollowedLog`] is what is known of one server's log, a [`FollowedGroup`] whether the answers
//! of a hostgroup may be told. Both are told what came and what servers say, and what time it is.
//!
//! **Invariant.** Nothing that was asked for before a change was visible, and has not seen it, is
//! told once a server has said that the change is.
//! **Not here:** connections and threads, which are the server's; the bytes of logs, which are
//! `binlog`'s.
#![forbid(unsafe_code)]

mod cascades;
mod group;
mod log;
mod unseen;

pub use cascades::Cascades;
pub use group::{BETWEEN_PASSED, FollowedGroup, Pulse, writers_of};
pub use log::{Condition, Figures, FollowedLog, LogAnswers, LogQuestions, LogStand};
pub use unseen::Visible;
