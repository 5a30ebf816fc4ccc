//! Ends: of commands, of sessions, of connections to servers.
//!
//! - `ending`: a session or a command ends when it is not by a reply;
//! - `bridged`: no server can answer, and an answer of before is told;
//! - `half_close`: a client that sends nothing more, and may still read;
//! - `clear`: what a session leaves when it begins anew;
//! - `lost_server`: a connection to a server that is gone;
//! - `panic`: what a defect takes with it.

pub(crate) mod bridged;
pub(crate) mod clear;
pub(crate) mod ending;
pub(crate) mod half_close;
pub(crate) mod lost_server;
pub(crate) mod panic;
