//! A bare TCP relay: what moving bytes costs before any code looks at them.
//!
//! ```text
//! cargo run --release --example relay -- LISTEN TO
//! ```
//!
//! Prints the loop's counters and the process's CPU time when its standard input ends.

use std::io::Read;
use std::net::SocketAddr;

use io::{Addr, Driver, Edge, EpollDriver, Failure, Listener, Loop, Options, Service, Sock};

const BACKLOG_MAX: usize = 256 * 1024;

/// Relays each accepted connection to one server.
struct Relay {
    to: Addr,
    /// The other side of each socket, by slot.
    other: Vec<Option<Sock>>,
}

impl Relay {
    fn pair(&mut self, sock: Sock, other: Sock) {
        let needed = sock.index().max(other.index()) + 1;
        if self.other.len() < needed {
            self.other.resize(needed, None);
        }
        self.other[sock.index()] = Some(other);
        self.other[other.index()] = Some(sock);
    }

    fn part(&mut self, sock: Sock) -> Option<Sock> {
        let other = self.other[sock.index()].take()?;
        self.other[other.index()] = None;
        Some(other)
    }
}

impl Service for Relay {
    type Mail = ();

    fn on_accepted<D: Driver>(&mut self, io: &mut Edge<D>, _: Listener, sock: Sock, _: Addr) {
        match io.connect(&self.to) {
            Ok(server) => self.pair(sock, server),
            Err(failure) => {
                eprintln!("{}: {failure}", self.to);
                io.close(sock);
            }
        }
    }

    fn on_connected<D: Driver>(
        &mut self,
        io: &mut Edge<D>,
        sock: Sock,
        result: Result<(), Failure>,
    ) {
        if let Err(failure) = result {
            eprintln!("{}: {failure}", self.to);
            if let Some(client) = self.part(sock) {
                io.close(client);
            }
        }
    }

    fn on_bytes<D: Driver>(&mut self, io: &mut Edge<D>, sock: Sock, bytes: &[u8]) -> usize {
        if let Some(other) = self.other[sock.index()]
            && io.send(other, &[bytes]) > BACKLOG_MAX
        {
            io.pause(sock);
        }
        bytes.len()
    }

    fn on_gone<D: Driver>(&mut self, io: &mut Edge<D>, sock: Sock, _: Option<Failure>) {
        if let Some(other) = self.part(sock) {
            io.close_drained(other);
        }
    }

    fn on_drained<D: Driver>(&mut self, io: &mut Edge<D>, sock: Sock) {
        if let Some(other) = self.other[sock.index()] {
            io.resume(other);
        }
    }

    fn on_timer<D: Driver>(&mut self, _: &mut Edge<D>, _: u64) {}

    fn on_mail<D: Driver>(&mut self, io: &mut Edge<D>, (): ()) {
        io.stop();
    }

    fn on_turn_end<D: Driver>(&mut self, _: &mut Edge<D>) {}
}

fn relay(listen: SocketAddr, to: SocketAddr) -> Result<(), Failure> {
    let service = Relay { to: Addr::Tcp(to), other: Vec::new() };
    let mut relay = Loop::new(EpollDriver::new()?, service, Options::default());
    relay.add_listener(io::listen(&Addr::Tcp(listen), 1024, false)?);
    let mailbox = relay.mailbox();
    std::thread::spawn(move || {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        let _ = mailbox.post(());
    });
    relay.run();
    println!("{:?}", relay.stats());
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let ticks: Vec<&str> = stat.split_whitespace().skip(13).take(2).collect();
    println!("CPU in hundredths of a second, user and system: {ticks:?}");
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [listen, to] = arguments.as_slice() else {
        return Err("usage: relay LISTEN TO".into());
    };
    relay(listen.parse()?, to.parse()?)?;
    Ok(())
}
