//! The names of servers, looked up again while the process serves: on an interval, when the
//! configuration has changed, and after connects that failed.
//!
//! The system's resolver may take as long as it likes, so threads of their own ask it: one for
//! typed servers, one for names that servers offer. A server stays at its address as long as the
//! name has that one, or none can be found.

use std::collections::{BTreeSet, HashMap};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::thread;
use std::time::{Duration, Instant};

use engine::topology::{LastFault, Server, ServerRef, Topology};
use io::Addr;
use worker::ServerAddresses;

use crate::addresses;
use crate::publisher::Publisher;

/// How often there is a look at which names have to be looked up.
const LOOK: Duration = Duration::from_secs(1);

/// The addresses of a name and a port, or why there is none.
type Found = Result<Vec<SocketAddr>, String>;

/// Starts the thread that keeps the workers' addresses as the names have them, and another one that
/// looks up what they have `asked` for: names that servers offer may take long, and keep no
/// server's own name waiting.
pub(crate) fn follow(publisher: Arc<Publisher>, asked: Receiver<Arc<str>>) -> std::io::Result<()> {
    let of_workers = publisher.clone();
    let answer_all = move || asked.iter().for_each(|name| answer(&of_workers, &name));
    thread::Builder::new().name("offers".to_owned()).spawn(answer_all)?;
    let run = move || {
        let mut names = Names::default();
        loop {
            thread::sleep(LOOK);
            names.look(&publisher, Instant::now());
        }
    };
    thread::Builder::new().name("names".to_owned()).spawn(run).map(drop)
}

/// Looks up a name for workers.
fn answer(publisher: &Publisher, name: &Arc<str>) {
    let found = addresses::look_up(name, 0).unwrap_or_default();
    publisher.tell_found(name, found.first().map(SocketAddr::ip));
}

/// What the names were when they were last looked up.
#[derive(Default)]
struct Names {
    /// When all of them were, and after which change of the configuration.
    all: Option<(Instant, u64)>,
    /// Servers whose name could not be looked up the last time.
    unknown: BTreeSet<usize>,
}

impl Names {
    /// Looks up what has to be, and tells the workers what is elsewhere now.
    fn look(&mut self, publisher: &Publisher, now: Instant) {
        let (snapshot, addresses, change) = publisher.addresses();
        let interval = Duration::from_millis(snapshot.vars.dns_refresh_interval_ms);
        let (at, of) = *self.all.get_or_insert((now, change));
        let is_due = of != change || !interval.is_zero() && now - at >= interval;
        if is_due {
            self.all = Some((now, change));
        }
        let topology = &snapshot.topology;
        let moved = self.moved(topology, &addresses, is_due, addresses::look_up);
        if !moved.is_empty() {
            publisher.relocate(change, moved);
        }
    }

    /// The servers that are elsewhere than `addresses` say: of all, or of those that failed.
    fn moved(
        &mut self,
        topology: &Topology,
        addresses: &ServerAddresses,
        all: bool,
        look_up: impl Fn(&str, u16) -> Found,
    ) -> Vec<(usize, Option<Addr>)> {
        let mut found = HashMap::new();
        let mut moved = Vec::new();
        let servers = topology.servers().iter().filter(|server| addresses::is_name(server));
        for server in servers.filter(|server| all || has_failed(server)) {
            let key = (server.hostname.as_str(), server.port);
            let current = match addresses.find(server) {
                Some(Addr::Tcp(addr)) => Some(*addr),
                _ => None,
            };
            match found.entry(key).or_insert_with(|| look_up(key.0, key.1)) {
                Ok(addrs) => {
                    self.unknown.remove(&server.index);
                    let Some(addr) = choose(current, addrs, has_failed(server)) else { continue };
                    if current != Some(addr) {
                        tracing::info!(%server, %addr, "the server has another address");
                        moved.push((server.index, Some(Addr::Tcp(addr))));
                    }
                }
                Err(reason) => self.note_unknown(server, reason),
            }
        }
        moved
    }

    /// Tells once that a name cannot be looked up any more.
    fn note_unknown(&mut self, server: &ServerRef, reason: &str) {
        if self.unknown.insert(server.index) {
            tracing::warn!(%server, "{reason}");
        }
    }
}

/// Whether the last connect did not reach the server.
fn has_failed(server: &Server) -> bool {
    let fault = server.gauge.last_fault();
    fault != LastFault::None && !fault.is_answer()
}

/// Which of its addresses a server is reached at: where it is, unless that failed.
fn choose(current: Option<SocketAddr>, found: &[SocketAddr], failed: bool) -> Option<SocketAddr> {
    let at = found.iter().position(|addr| Some(*addr) == current);
    let chosen = match at {
        Some(at) if failed => (at + 1) % found.len(),
        Some(at) => at,
        None => 0,
    };
    found.get(chosen).copied()
}

#[cfg(test)]
mod tests {
    use engine::rows::ServerRow;

    use super::*;

    const A: &str = "10.0.0.1:3306";
    const B: &str = "10.0.0.2:3306";
    const C: &str = "10.0.0.3:3306";

    fn addr(text: &str) -> SocketAddr {
        text.parse().expect("an address")
    }

    fn topology() -> Topology {
        let row =
            |host: &str, port| ServerRow { hostname: host.into(), port, ..Default::default() };
        let rows = [row("db", 3306), row("127.0.0.1", 3306), row("/run/db.sock", 0)];
        Topology::compile(&rows).expect("valid")
    }

    /// Where the workers look for the first server then, when `db` has these addresses.
    fn look(names: &mut Names, topology: &Topology, at: Option<&str>, has: &[&str]) -> Vec<String> {
        let place = at.map(|at| Addr::Tcp(addr(at)));
        let addresses = ServerAddresses::default().with([(0, place)]);
        let look_up = |host: &str, port: u16| {
            assert_eq!((host, port), ("db", 3306), "nothing else is a name");
            match has {
                [] => Err("cannot resolve db".to_owned()),
                has => Ok(has.iter().map(|text| addr(text)).collect()),
            }
        };
        let moved = names.moved(topology, &addresses, true, look_up);
        moved.iter().map(|(index, to)| format!("{index} {}", to.as_ref().expect("found"))).collect()
    }

    #[test]
    fn a_server_moves_with_its_name_and_stays_where_that_has_its_address() {
        let (mut names, topology) = (Names::default(), topology());
        assert_eq!(look(&mut names, &topology, None, &[A, B]), ["0 10.0.0.1:3306"]);
        assert_eq!(look(&mut names, &topology, Some(A), &[B]), ["0 10.0.0.2:3306"]);
        assert!(look(&mut names, &topology, Some(B), &[A, B]).is_empty());
        assert!(look(&mut names, &topology, Some(B), &[]).is_empty(), "it stays");
        assert!(names.unknown.contains(&0));
        assert_eq!(look(&mut names, &topology, Some(B), &[A]), ["0 10.0.0.1:3306"]);
        assert!(names.unknown.is_empty());
    }

    #[test]
    fn after_a_connect_that_failed_the_next_address_of_the_name_is_tried() {
        let (mut names, topology) = (Names::default(), topology());
        let gauge = &topology.servers()[0].gauge;
        let only_failed = |names: &mut Names| {
            let addresses = ServerAddresses::default().with([(0, Some(Addr::Tcp(addr(A))))]);
            names.moved(&topology, &addresses, false, |_, _| Ok(vec![addr(A), addr(B)])).len()
        };
        assert_eq!(only_failed(&mut names), 0);
        gauge.on_fault(LastFault::Server(1045), 1, 5, 1);
        assert_eq!(only_failed(&mut names), 0, "it answered");
        gauge.on_fault(LastFault::Os(111), 1, 5, 1);
        assert_eq!(only_failed(&mut names), 1);
        assert_eq!(look(&mut names, &topology, Some(A), &[A, B]), ["0 10.0.0.2:3306"]);
        assert_eq!(look(&mut names, &topology, Some(B), &[A, B]), ["0 10.0.0.1:3306"]);
        assert!(look(&mut names, &topology, Some(A), &[A]).is_empty(), "it has no other");
    }
    #[test]
    fn of_three_addresses_the_dead_one_is_left_and_the_next_one_stays() {
        let (mut names, topology) = (Names::default(), topology());
        let gauge = &topology.servers()[0].gauge;
        let all = [A, B, C];
        assert_eq!(look(&mut names, &topology, None, &all), ["0 10.0.0.1:3306"]);
        gauge.on_fault(LastFault::Os(113), 1, 5, 1);
        assert_eq!(look(&mut names, &topology, Some(A), &all), ["0 10.0.0.2:3306"]);
        gauge.on_success();
        assert!(look(&mut names, &topology, Some(B), &all).is_empty(), "it serves there");
        // a resolver that turns them round moves nothing
        assert!(look(&mut names, &topology, Some(B), &[C, A, B]).is_empty());
        gauge.on_fault(LastFault::Os(113), 2, 5, 1);
        assert_eq!(look(&mut names, &topology, Some(B), &all), ["0 10.0.0.3:3306"]);
    }
}
