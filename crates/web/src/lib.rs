//! What Prometheus, a load balancer or a script may see over HTTP, and programs that the process
//! starts: metrics, health, readiness, routes that run a script, and the scheduler.
//!
//! [`Web`] is a thread with a runtime of its own; it never touches workers. What it shows is
//! computed from a [`View`]: what workers counted, the configuration in force, and whether clients
//! are accepted. Decides nothing about traffic, and knows neither the administrative interface nor
//! where rows come from.
#![forbid(unsafe_code)]

mod access;
mod exposer;
mod health;
mod http;
mod idle_clients;
mod metrics;
mod program;
mod raw_quotes;
mod routes;
mod schedule;
mod stream;
mod view;
mod web;

pub use health::{alive, unready};
pub use metrics::{PARTS, names, text};
pub use view::{Process, Serving, System, View};
pub use web::{Launcher, Log, Web};
