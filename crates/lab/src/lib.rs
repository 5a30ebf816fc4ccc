//! Starts real MariaDB and MySQL servers on loopback.
//!
//! It decides where their files lie, with which settings they run and when they are ready. A
//! [`Cluster`] is a primary with any number of replicas that follow it by GTID. The sandbox
//! command, the live tests and the benchmarks all stand on it. It deliberately knows nothing of the
//! proxy but the text of a configuration that would fit ([`split_toml`]).
//!
//! ```no_run
//! let cluster = lab::Cluster::start(lab::LabOptions { replicas: 2, ..Default::default() })?;
//! cluster.primary().sql("CREATE TABLE test.t (a INT PRIMARY KEY)")?;
//! cluster.wait_replicated()?;
//! println!("{}", cluster.replicas()[0].port);
//! # anyhow::Ok(())
//! ```
//!
//! Every server has the schema `test`, and these users: `app`/`app` and `ff`/`ff` (may do
//! everything but write to a read-only server), `monitor`/`monitor` (replication status only),
//! `root` without a password (this machine only). Their passwords are for `mysql_native_password`
//! in MariaDB and `caching_sha2_password` in MySQL.
#![forbid(unsafe_code)]

mod cluster;
mod debian;
mod flavour;
mod place;
mod process;
mod server;
mod settings;
mod split;
mod template;

pub use cluster::{Cluster, LabOptions};
pub use flavour::{Flavour, Software};
pub use place::{RunDir, free_port};
pub use process::Process;
pub use server::Server;
pub use split::{SplitOptions, split_toml};
