//! What is to be said of a configuration: why a query goes where it goes, what is hardly meant,
//! what another configuration would change, what has no effect, and which reads to cache.
//!
//! It runs the engine's own functions and stands beside traffic, never in front of it. Like the
//! engine it decides and does not act; how something is shown is its callers' business.
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

pub mod caching;
pub mod candidate;
pub mod explain;
pub mod lint;
pub mod without_effect;
