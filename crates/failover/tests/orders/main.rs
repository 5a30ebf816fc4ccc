//! Orders about scripted servers: what these are told, in which order, and what is undone when one
//! of them fails at any step.

mod encrypted;
mod failover;
mod hooks;
mod returning;
mod script;
mod switchover;
