//! Tests of the real binary in front of real servers.
//!
//! This library holds what the tests share. [`Proxy`] is a running proxy, [`Program`] a program
//! with a limit on its time, and [`Kits`] what programs in other languages need. Clients are
//! [`client`], [`encrypted`], [`compressed`], [`secured`], [`Load`], [`Raw`] and [`Asker`].
//! [`exchange`] compares what they are told, [`followed`] asks where answers come from, [`cover`]
//! chooses among combinations, and [`eventually`] waits for conditions. It does not know what any
//! test asserts.
//!
//! What cannot run here prints a line that begins with `SKIPPED` and says why ([`skip`]).
//! `TIDEGATE_LIVE=full` asks for the long form of every test, `TIDEGATE_BIN` names the binary,
//! `TIDEGATE_FEATURES_BIN` one with all features.
#![forbid(unsafe_code)]

mod asker;
mod cached;
pub mod client;
pub mod compressed;
pub mod cover;
pub mod dice;
pub mod encrypted;
pub mod exchange;
pub mod followed;
pub mod haproxy;
mod imposter;
mod kits;
mod load;
mod management;
mod pki;
mod program;
mod proxy;
mod raw;
mod scripted;
pub mod secured;
mod shared;
mod tap;

use std::time::{Duration, Instant};

use lab::{Cluster, Flavour, LabOptions};

pub use asker::Asker;
pub use cached::everything_cached;
pub use imposter::imposter;
pub use kits::Kits;
pub use load::Load;
pub use management::management;
pub use pki::Pki;
pub use program::{Finished, Program};
pub use proxy::{Proxy, binary, binary_with, cpu_ns, greeting_of, target_dir};
pub use raw::{Raw, response};
pub use scripted::{Login, Said, scripted, scripted_login};
pub use shared::Shared;
pub use tap::Tap;

/// Says loudly that something was not tested; the gates count these lines.
pub fn skip(what: &str, why: &str) {
    println!("\nSKIPPED: {what}: {why}");
}

/// Whether the long form of the tests was asked for.
pub fn full() -> bool {
    std::env::var_os("TIDEGATE_LIVE").is_some_and(|value| value == "full")
}

/// Servers for a test, or a loud line and `None` where their software cannot be had.
pub fn cluster(what: &str, flavour: Flavour, replicas: usize) -> Option<Cluster> {
    start(what, LabOptions { replicas, flavour, ..LabOptions::default() })
}

/// The same with more words for each server.
pub fn cluster_with(
    what: &str,
    flavour: Flavour,
    replicas: usize,
    words: &[&str],
) -> Option<Cluster> {
    let extra_args = words.iter().map(|word| (*word).to_owned()).collect();
    start(what, LabOptions { replicas, flavour, extra_args, ..LabOptions::default() })
}

fn start(what: &str, options: LabOptions) -> Option<Cluster> {
    let flavour = options.flavour;
    if let Err(why) = flavour.find(true) {
        skip(what, &format!("{} cannot be had: {why:#}", flavour.name()));
        return None;
    }
    let options = LabOptions { may_fetch: true, ..options };
    Some(Cluster::start(options).expect("the servers start"))
}

/// Waits until a condition holds; the text says what was waited for when it never does.
pub fn eventually(what: &str, limit: Duration, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + limit;
    while !holds() {
        assert!(Instant::now() < deadline, "not within {limit:?}: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}
