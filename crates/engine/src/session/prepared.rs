//! Statements that clients have prepared.
//!
//! - `handles`: the session's ids, and what stands behind them;
//! - `prepare`: a statement comes into being, by an answer that is known or a server's;
//! - `long_data`: parameter data that is sent ahead of an execution waits for it;
//! - `execute`: it runs, or is mended where its server has lost it.

pub(crate) mod execute;
pub(crate) mod handles;
pub(crate) mod long_data;
pub(crate) mod prepare;
