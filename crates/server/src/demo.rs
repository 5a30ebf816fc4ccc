//! `tidegate demo`: three embedded servers, Tidegate in front of them, a short tour, then serving
//! until Ctrl-C.
//!
//! Wires the pieces and prints what surrounds the tour; what the tour shows is in `demo/tour.rs`.

mod setup;
mod tour;

use std::io::Write;
use std::net::SocketAddr;
use std::sync::mpsc::channel;

use anyhow::Context;
use io::Addr;

use crate::cli::{ConfigSource, LogFormat, LogLevel, StoreOptions};
use crate::signals::Workers;
use crate::{administration, logs, signals, threads};
use setup::Embedded;

/// Runs the demo; returns after the tour when `tour_only`, with an error if anything did not do
/// what the text says.
pub(crate) fn run(tour_only: bool) -> anyhow::Result<()> {
    let _log = logs::start(LogFormat::Text, LogLevel::Warn)?;
    let embedded = Embedded::start()?;
    let store = StoreOptions {
        datadir: None,
        config_source: ConfigSource::File,
        initial: false,
        reload: false,
    };
    let (loaded, store) = administration::load(Some(embedded.configuration()), &store)?;
    let (sender, notices) = channel();
    signals::watch(sender.clone())?;
    let listening = administration::listen(&loaded)?;
    let admin = tcp(&listening.addresses()).context("the interface listens on no port")?;
    let mut running = threads::start(&loaded, None, None, &sender)?;
    let front = tcp(running.listeners()).context("Tidegate listens on no port")?;
    let administration = administration::open(&loaded, listening, store, running.reach(), sender)?;
    running.tell_interface(administration.mailbox());
    introduce(&embedded, front, admin)?;
    tour::run(front, admin, &embedded.places())?;
    if tour_only {
        running.stop_now();
        return say("\nThe tour is over and everything did what it should.");
    }
    invite(&embedded, front, admin)?;
    let outcome = signals::serve(&mut running, &notices);
    say("\nStopped.")?;
    outcome.map(drop)
}

fn tcp(listeners: &[Addr]) -> Option<SocketAddr> {
    listeners.iter().find_map(|listener| match listener {
        Addr::Tcp(address) => Some(*address),
        Addr::Unix(_) => None,
    })
}

/// Prints a line; a reader that is gone is an error, not a panic.
fn say(line: &str) -> anyhow::Result<()> {
    writeln!(std::io::stdout(), "{line}").context("cannot print")
}

/// What runs, before the tour.
fn introduce(embedded: &Embedded, front: SocketAddr, admin: SocketAddr) -> anyhow::Result<()> {
    let version = env!("CARGO_PKG_VERSION");
    say(&format!("Tidegate {version} and three embedded servers, in one process\n"))?;
    for place in embedded.places() {
        let (address, hostgroup) = (place.address.to_string(), place.hostgroup());
        let name = place.name;
        say(&format!("  {name:<10} {address:<16} hostgroup {hostgroup}, {}", place.role))?;
    }
    let address = front.to_string();
    say(&format!("  {:<10} {address:<16} in front of them: clients connect here", "Tidegate"))?;
    let address = admin.to_string();
    say(&format!("  {:<10} {address:<16} its administrative interface: SQL, too", ""))?;
    say("\nThe servers speak the MySQL protocol over one SQLite file. The replicas see what the")?;
    say("primary has because they share its data; nothing is replicated. The query rules:\n")?;
    for rule in setup::RULES {
        say(&format!("  {:<20} goes to hostgroup {}", rule.pattern, rule.hostgroup))?;
    }
    say(&format!("  {:<20} goes to the user's default hostgroup, 0", "anything else"))
}

/// How to go on by hand, after the tour.
fn invite(embedded: &Embedded, front: SocketAddr, admin: SocketAddr) -> anyhow::Result<()> {
    let command = |address: SocketAddr| {
        format!("mariadb -h127.0.0.1 -P{} -udemo -pdemo demo", address.port())
    };
    say("\nNow by hand, with this or any other MySQL client:\n")?;
    say(&format!("  {}", command(front)))?;
    say("\nTry SELECT @@hostname; a few times, then BEGIN; and the same again. Past Tidegate,")?;
    say("straight to a server:\n")?;
    for place in embedded.places() {
        say(&format!("  {:<52} {}", command(place.address), place.name))?;
    }
    say("\nAnd as its administrator:\n")?;
    say(&format!("  mariadb -h127.0.0.1 -P{} -uadmin -padmin", admin.port()))?;
    say(&format!("\nThe configuration in use: {}", embedded.configuration().display()))?;
    say("Ctrl-C stops everything and leaves nothing behind.")
}
