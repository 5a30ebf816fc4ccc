//! A relay in front of one server that notes the queries passing through it.
//!
//! Several taps before one server stand for several servers whose work is told apart, without
//! anything of the server's own to read it from.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;

use anyhow::Result;
use client::frame;
use wire::command::code;

/// A relay on a loopback port of its own. Its threads end with their connections; the one that
/// accepts stays until the process ends.
#[derive(Debug)]
pub struct Tap {
    /// Where it listens on 127.0.0.1.
    pub port: u16,
    queries: Arc<Mutex<Vec<String>>>,
    gate: Arc<Gate>,
}

/// Whether anything comes of the server.
#[derive(Debug, Default)]
struct Gate {
    shut: Mutex<bool>,
    opened: Condvar,
}

impl Gate {
    fn set(&self, shut: bool) {
        *self.shut.lock().expect("no panic under the lock") = shut;
        self.opened.notify_all();
    }

    fn pass(&self) {
        let shut = self.shut.lock().expect("no panic under the lock");
        drop(self.opened.wait_while(shut, |shut| *shut).expect("no panic under the lock"));
    }
}

impl Tap {
    /// Starts one in front of a loopback port.
    pub fn start(server: u16) -> Result<Self> {
        Self::start_slow(server, Duration::ZERO)
    }

    /// The same of a server that takes so long to greet.
    pub fn start_slow(server: u16, delay: Duration) -> Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        let port = listener.local_addr()?.port();
        let queries = Arc::new(Mutex::new(Vec::new()));
        let gate = Arc::<Gate>::default();
        let (notes, through) = (Arc::clone(&queries), Arc::clone(&gate));
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let (notes, through) = (Arc::clone(&notes), Arc::clone(&through));
                // a connection that cannot be relayed ends, which its client sees
                thread::spawn(move || {
                    thread::sleep(delay);
                    relay(client, server, &notes, &through)
                });
            }
        });
        Ok(Self { port, queries, gate })
    }

    /// From now on nothing comes of the server, not even a greeting; it takes what it is sent.
    pub fn stall(&self) {
        self.gate.set(true);
    }

    /// What has come of the server meanwhile comes now, and everything after it.
    pub fn go_on(&self) {
        self.gate.set(false);
    }

    /// The texts of the queries since the last call, as they were sent.
    pub fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.queries.lock().expect("no panic under the lock"))
    }
}

fn relay(
    client: TcpStream,
    server: u16,
    notes: &Mutex<Vec<String>>,
    gate: &Arc<Gate>,
) -> Option<()> {
    let server = TcpStream::connect(("127.0.0.1", server)).ok()?;
    client.set_nodelay(true).ok()?;
    server.set_nodelay(true).ok()?;
    let (mut from_server, mut to_client) = (server.try_clone().ok()?, client.try_clone().ok()?);
    let gate = Arc::clone(gate);
    thread::spawn(move || {
        let mut bytes = vec![0; 1 << 16];
        while let Ok(len @ 1..) = from_server.read(&mut bytes) {
            gate.pass();
            if to_client.write_all(&bytes[..len]).is_err() {
                break;
            }
        }
        let _ = to_client.shutdown(Shutdown::Both);
    });
    let _ = commands(client, &server, notes);
    let _ = server.shutdown(Shutdown::Both);
    Some(())
}

/// Passes packets on; a query is noted before it is.
fn commands(
    mut client: TcpStream,
    mut server: &TcpStream,
    notes: &Mutex<Vec<String>>,
) -> Result<()> {
    const OWN: [&[u8]; 2] = [b"@@wait_timeout", b" @@completion_type, @@init_connect<>''"];
    loop {
        let (header, payload) = frame(&mut client)?;
        // only commands begin with sequence number 0
        // what the proxy asks of its own, whenever that is, is nobody's query
        let is_own = OWN.iter().any(|text| payload.ends_with(text));
        if header.seq == 0 && payload.first() == Some(&code::QUERY) && !is_own {
            let text = String::from_utf8_lossy(&payload[1..]).into_owned();
            notes.lock().expect("no panic under the lock").push(text);
        }
        server.write_all(&[&header.encode(), &payload[..]].concat())?;
    }
}
