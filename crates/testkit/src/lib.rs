//! The other ends of our sockets, for tests. Fake servers check what arrives, clients check what
//! comes back, and the simulator lets them meet through the real engine and worker.
//!
//! * [`sim`]: whole runs on a network in memory; start here.
//! * [`mysqld`] and [`client`]: the two ends. Both take every byte of an answer from [`answer`],
//!   by the words ([`meta`]) that the client wrote into its statement.
//! * [`shared_questions`]: what many ask in the same words, and which answers are right.
//! * `data`: tables whose changes are followed, and how old answers of them may be.
//! * [`coverage`]: what many runs have to bring about.
//! * [`raw`]: a client that sends what a test tells it to.
//! * [`planted`]: bugs put in on purpose, to see that they are found.
#![forbid(unsafe_code)]

pub mod answer;
pub mod board;
pub mod client;
pub mod coverage;
pub(crate) mod data;
pub mod dice;
pub mod meta;
pub mod mysqld;
pub mod planted;
pub mod raw;
pub mod settings;
pub mod shared_questions;
pub mod sim;
