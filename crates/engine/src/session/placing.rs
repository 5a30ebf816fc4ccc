//! From a command to the lane that it runs on.
//!
//! - `setting_off`: on to a lane that is tied, or to a checkout;
//! - `destination`: which hostgroup, or the lane that the session is tied to;
//! - `transactions`: which of several transactions is meant;
//! - `lag`: how far behind its server may be;
//! - `checkout`: a lane of the pool, a new one, or a place in the queue;
//! - `dialing`: a new one, and whose it tells its server to be;
//! - `wait_queue`: which session gets a lane that comes free, or room on one;
//! - `securing`: TLS of a new one, in front of its login;
//! - `server_login`: its login;
//! - `failed_dial`: a connection that could not be had;
//! - `elsewhere`: the place that a server sends its connections to;
//! - `donation`: lanes that other workers get.

pub(crate) mod checkout;
pub(crate) mod destination;
pub(crate) mod dialing;
pub(crate) mod donation;
pub(crate) mod elsewhere;
pub(crate) mod failed_dial;
pub(crate) mod lag;
pub(crate) mod securing;
pub(crate) mod server_login;
pub(crate) mod setting_off;
pub(crate) mod transactions;
pub(crate) mod wait_queue;
