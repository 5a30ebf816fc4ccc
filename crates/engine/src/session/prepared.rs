//! Statements that clients have prepared.
//!
//! - `handles`: the session's ids, and what stands behind them;
//! - `prepare`: a statement comes into being, by an answer that is known or a server's;
//! - `execute`: it runs, or is mended where its server has lost it.

pub(crate) mod execute;
pub(crate) mod handles;
pub(crate) mod prepare;
