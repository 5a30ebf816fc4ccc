//! A command on a lane, until its reply begins.
//!
//! - `run`: what brings the lane to the session's state, then the command;
//! - `shared`: commands among commands of other sessions;
//! - `stall`: an answer that does not come;
//! - `kill`: a query that is ended before its time;
//! - `relay`: a lane that is the session's own wire.

pub(crate) mod kill;
pub(crate) mod relay;
pub(crate) mod run;
pub(crate) mod shared;
pub(crate) mod stall;
