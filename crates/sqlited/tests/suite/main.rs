//! The embedded servers as a driver and the command-line client see them.

mod errors;
mod group;
mod locks;
mod prepared;
mod queries;
mod shell;
