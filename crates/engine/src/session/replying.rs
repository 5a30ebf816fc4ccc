//! What comes back from a server, and what it leaves.
//!
//! - `reply`: parts of replies and their ends;
//! - `session_track`: changes of the session that servers tell of;
//! - `settle`: what the end of a command means to its session and its lane;
//! - `definitions`: what it means for what is known of stored code;
//! - `ties`: what a session made on its lane that has an end;
//! - `filling`: replies that are kept for the query cache;
//! - `last_results`: what is kept for statements that ask for it later;
//! - `recall`, `diagnostics`: what is kept where the lane is not;
//! - `query_end`: what the statistics are told.

pub(crate) mod definitions;
pub(crate) mod diagnostics;
pub(crate) mod filling;
pub(crate) mod last_results;
pub(crate) mod query_end;
pub(crate) mod recall;
pub(crate) mod reply;
pub(crate) mod session_track;
pub(crate) mod settle;
pub(crate) mod ties;
