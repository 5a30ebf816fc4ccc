//! A relay in front of one server that notes the queries passing through it.
//!
//! Several taps before one server stand for several servers whose work is told apart, without
//! anything of the server's own to read it from.

use std::io::{Read, Write, copy};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use anyhow::Result;

/// A relay on a loopback port of its own. Its threads end with their connections; the one that
/// accepts stays until the process ends.
#[derive(Debug)]
pub struct Tap {
    /// Where it listens on 127.0.0.1.
    pub port: u16,
    queries: Arc<Mutex<Vec<String>>>,
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
        let notes = Arc::clone(&queries);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let notes = Arc::clone(&notes);
                // a connection that cannot be relayed ends, which its client sees
                thread::spawn(move || {
                    thread::sleep(delay);
                    relay(client, server, &notes)
                });
            }
        });
        Ok(Self { port, queries })
    }

    /// The texts of the queries since the last call, as they were sent.
    pub fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.queries.lock().expect("no panic under the lock"))
    }
}

fn relay(client: TcpStream, server: u16, notes: &Mutex<Vec<String>>) -> Option<()> {
    let server = TcpStream::connect(("127.0.0.1", server)).ok()?;
    client.set_nodelay(true).ok()?;
    server.set_nodelay(true).ok()?;
    let (mut from_server, mut to_client) = (server.try_clone().ok()?, client.try_clone().ok()?);
    thread::spawn(move || {
        let _ = copy(&mut from_server, &mut to_client);
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
    const QUERY: u8 = 3;
    loop {
        let mut packet = vec![0; 4];
        client.read_exact(&mut packet)?;
        let len = u32::from_le_bytes([packet[0], packet[1], packet[2], 0]);
        packet.resize(4 + len as usize, 0);
        client.read_exact(&mut packet[4..])?;
        // only commands begin with sequence number 0
        // what the proxy asks of an idle connection's server is nobody's query
        if packet[3] == 0 && packet.get(4) == Some(&QUERY) && !packet.ends_with(b"@@wait_timeout") {
            let text = String::from_utf8_lossy(&packet[5..]).into_owned();
            notes.lock().expect("no panic under the lock").push(text);
        }
        server.write_all(&packet)?;
    }
}
