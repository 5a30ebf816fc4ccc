//! What clients are offered in the greeting: found out by asking each server for its own.
//!
//! A greeting is read from every server and the connection closed again, without a login. Servers
//! that do not answer in time are left out.

use std::io::Read;
use std::net::TcpStream;
use std::thread;
use std::time::Duration;

use engine::backend::CLASS;
use engine::guesses::Guesses;
use engine::link::KnownCollations;
use engine::proxy::Offer;
use engine::stmt::StmtsOfAll;
use engine::vars::Vars;
use io::{Addr, Micros};
use wire::auth::rsa::ServerKey;
use wire::connect::Greeting;
use wire::frame::{Framed, next_packet};
use wire::{Caps, Status};

use crate::clock;

/// How long a server may take to greet.
const GREETING_WAIT: Duration = Duration::from_millis(1000);

/// Capabilities that the proxy itself serves; those of the class also need the servers'.
const OWN: Caps = Caps::PROTOCOL_41
    .union(Caps::SECURE_CONNECTION)
    .union(Caps::PLUGIN_AUTH)
    .union(Caps::PLUGIN_AUTH_LENENC)
    .union(Caps::CONNECT_ATTRS)
    .union(Caps::CONNECT_WITH_DB)
    .union(Caps::TRANSACTIONS)
    .union(Caps::LONG_FLAG)
    .union(Caps::IGNORE_SIGPIPE)
    .union(Caps::SESSION_TRACK);

/// What a server said of itself.
struct Said {
    version: Vec<u8>,
    caps: Caps,
    /// Its default collation, when a reset goes back to it.
    after_reset: Option<u16>,
    collations: KnownCollations,
    status: Status,
}

/// The offer that fits every server that answers; what is asked of names that do not exist follows
/// from `secret`.
pub(crate) fn find(places: impl Iterator<Item = Addr>, secret: [u8; 32]) -> anyhow::Result<Offer> {
    let asked: Vec<_> = places.map(|addr| thread::spawn(move || ask(&addr))).collect();
    let said: Vec<Said> =
        asked.into_iter().filter_map(|thread| thread.join().ok().flatten()).collect();
    let Some(key) = ServerKey::generate() else {
        anyhow::bail!("cannot make a key for caching_sha2_password");
    };
    let server_version = match said.first() {
        Some(first) => first.version.clone(),
        None => Vars::FALLBACK_VERSION.as_bytes().to_vec(),
    };
    let collation_after_reset = said.first().and_then(|first| first.after_reset);
    Ok(Offer {
        server_version,
        caps: caps_of(&said),
        collation_after_reset,
        collations: said.first().map_or(KnownCollations::ANY, |first| first.collations),
        login_checks: Default::default(),
        guesses: Guesses::new(secret),
        cache: Offer::cache_by(key.secret()),
        status: said.first().map_or(Status::AUTOCOMMIT, |first| first.status),
        key: key.into(),
        stmts: StmtsOfAll::default(),
        epoch_us: clock::unix_us().saturating_sub(Micros::now().0),
    })
}

/// What all servers can do, and the proxy with them.
fn caps_of(said: &[Said]) -> Caps {
    let fallback = CLASS.without(Caps::MARIADB_ALL);
    let common = said.iter().fold(CLASS, |all, one| all.intersect(one.caps));
    let class = if said.is_empty() { fallback } else { common };
    // whether files may be loaded is each server's own decision, told by an error
    let caps = OWN.union(class).union(Caps::LOCAL_FILES);
    if class.intersects(Caps::MARIADB_ALL) { caps } else { caps.union(Caps::MYSQL) }
}

fn ask(addr: &Addr) -> Option<Said> {
    match addr {
        Addr::Tcp(addr) => {
            let stream = TcpStream::connect_timeout(addr, GREETING_WAIT).ok()?;
            stream.set_read_timeout(Some(GREETING_WAIT)).ok()?;
            read(stream)
        }
        Addr::Unix(path) => {
            let stream = io::connect_unix(path, GREETING_WAIT).ok()?;
            stream.set_read_timeout(Some(GREETING_WAIT)).ok()?;
            read(stream)
        }
    }
}

fn read(mut stream: impl Read) -> Option<Said> {
    const LONGEST: usize = 4096;
    let mut bytes = Vec::new();
    let mut chunk = [0; 512];
    while bytes.len() < LONGEST {
        let count = stream.read(&mut chunk).ok().filter(|count| *count > 0)?;
        bytes.extend_from_slice(&chunk[..count]);
        if let Framed::Packet(packet) = next_packet(&bytes) {
            let greeting = Greeting::parse(packet.payload).ok()?;
            let version = greeting.server_version.to_vec();
            let after_reset =
                Some(u16::from(greeting.collation)).filter(|_| !greeting.is_mariadb());
            let is_mariadb = greeting.is_mariadb();
            let collations =
                KnownCollations::told(greeting.version(), is_mariadb, greeting.collation);
            let (caps, status) = (greeting.caps, greeting.status);
            return Some(Said { version, caps, after_reset, collations, status });
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(caps: Caps) -> Said {
        let collations = KnownCollations::told(b"8.0.36", false, 255);
        let status = Status::AUTOCOMMIT;
        Said { version: b"8.0.36".to_vec(), caps, after_reset: Some(255), collations, status }
    }

    #[test]
    fn only_what_every_server_can_do_is_offered() {
        let all = said(CLASS);
        let old = said(CLASS.without(Caps::DEPRECATE_EOF).without(Caps::MARIADB_ALL));
        assert!(caps_of(&[said(CLASS)]).contains(Caps::DEPRECATE_EOF));
        let caps = caps_of(&[all, old]);
        assert!(!caps.contains(Caps::DEPRECATE_EOF));
        assert!(caps.contains(OWN.union(Caps::MYSQL).union(Caps::LOCAL_FILES)));
    }

    #[test]
    fn with_no_server_to_ask_nothing_of_one_kind_of_server_is_offered() {
        let caps = caps_of(&[]);
        assert!(!caps.intersects(Caps::MARIADB_ALL));
        assert!(caps.contains(Caps::MYSQL.union(Caps::DEPRECATE_EOF)));
    }

    #[test]
    fn a_greeting_is_read_however_it_is_cut() {
        let mut payload = Vec::new();
        Greeting {
            server_version: b"5.5.5-10.11.19-MariaDB",
            connection_id: 1,
            scramble: [7; 20],
            caps: OWN.union(CLASS),
            collation: 45,
            status: wire::Status::AUTOCOMMIT,
            plugin: b"mysql_native_password",
        }
        .encode(&mut payload);
        let mut bytes = Vec::new();
        wire::frame::write_packet(&mut bytes, &mut 0, &payload);
        let (head, tail) = bytes.split_at(10);
        let said = read(head.chain(tail)).expect("it is whole");
        assert_eq!(said.version, b"5.5.5-10.11.19-MariaDB");
        assert!(said.caps.contains(Caps::MARIADB_BULK));
    }
}
