//! Omissions planted between the proxy and its server. What the proxy asks to bring a connection to
//! a session's state is changed on its way, so that one thing is left as the session before had it.
//! The suite has to find each of them.
//!
//! What the proxy asks of its own is told from what clients ask by its blanks: it has none around
//! the sign of an assignment.

use std::io::Write;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::thread;

use anyhow::Result;
use client::frame;
use wire::frame::Header;

use crate::marks_table::VARIABLES;
use crate::script::Line;

/// What is left out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Omission {
    /// The value of a variable, by the name it is set by.
    Variable(&'static str),
    /// Character sets: `SET NAMES`.
    Names,
    Autocommit,
    InsertId,
    /// `COM_INIT_DB`.
    Schema,
    /// `COM_RESET_CONNECTION`.
    Reset,
}

/// A relay in front of a server that leaves something out; its port.
pub(crate) fn relay(server: u16, omission: Omission) -> Result<u16> {
    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    let port = listener.local_addr()?.port();
    thread::spawn(move || {
        for proxy in listener.incoming().flatten() {
            // a connection that cannot be relayed ends, which the proxy sees
            thread::spawn(move || drop(connect(proxy, server, omission)));
        }
    });
    Ok(port)
}

fn connect(proxy: TcpStream, server: u16, omission: Omission) -> Result<()> {
    let server = TcpStream::connect(("127.0.0.1", server))?;
    proxy.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let (mut from_server, mut to_proxy) = (server.try_clone()?, proxy.try_clone()?);
    thread::spawn(move || {
        drop(std::io::copy(&mut from_server, &mut to_proxy));
        drop(to_proxy.shutdown(Shutdown::Both));
    });
    drop(commands(&proxy, &server, omission));
    drop(server.shutdown(Shutdown::Both));
    Ok(())
}

fn commands(mut proxy: &TcpStream, mut server: &TcpStream, omission: Omission) -> Result<()> {
    loop {
        let (Header { seq, .. }, mut payload) = frame(&mut proxy)?;
        // only commands begin with sequence number 0
        if seq == 0 {
            payload = without(omission, payload);
        }
        let header = Header { len: payload.len(), seq }.encode();
        server.write_all(&[&header, &payload[..]].concat())?;
    }
}

/// A command with something left out; its answer has the same shape.
fn without(omission: Omission, payload: Vec<u8>) -> Vec<u8> {
    const PING: &[u8] = b"\x0e";
    const NOTHING: &[u8] = b"\x03DO 0";
    const RESET: u8 = 0x1f;
    const INIT_DB: u8 = 2;
    // a neighbour gets what it has
    let is_neighbours = payload.windows(11).any(|part| part == b"'neighbour'");
    match (omission, payload.first()) {
        _ if is_neighbours => payload,
        (Omission::Schema, Some(&INIT_DB)) | (Omission::Reset, Some(&RESET)) => PING.into(),
        (_, Some(3)) if !payload.starts_with(b"\x03SET ") => payload,
        (Omission::Autocommit, _) if payload.starts_with(b"\x03SET autocommit=1") => NOTHING.into(),
        (Omission::InsertId, _) if payload.starts_with(b"\x03SET last_insert_id=") => {
            NOTHING.into()
        }
        (Omission::Names, _) if payload.starts_with(b"\x03SET NAMES ") => {
            let from = payload.windows(2).position(|part| part == b", ");
            let rest = from.map_or(&b"@planted=0"[..], |from| &payload[from + 2..]);
            [b"\x03SET ", rest].concat()
        }
        (Omission::Variable(name), Some(3)) => {
            let text = String::from_utf8_lossy(&payload).into_owned();
            given_to_another(&text, name).map_or(payload, String::into_bytes)
        }
        _ => payload,
    }
}

/// The text with an assignment made to another variable; `None` where there is none.
fn given_to_another(text: &str, name: &str) -> Option<String> {
    let set = format!("{name}=");
    let at = text.match_indices(&set).find(|(at, _)| text[..*at].ends_with(' '))?.0;
    let (before, after) = (&text[..at], &text[at + set.len()..]);
    let (value, after) = match after.strip_prefix("DEFAULT") {
        Some(rest) => ("0", rest),
        None => ("", after),
    };
    Some(format!("{before}@planted={value}{after}"))
}

/// The variable that MariaDB does not know.
const OF_MYSQL: &str = "end_markers_in_json";

/// What is planted, and a script that has to differ then.
pub(crate) fn all() -> Vec<(Omission, Vec<Line>)> {
    let texts = |texts: &[&str]| texts.iter().map(|text| Line::parse(text)).collect::<Vec<_>>();
    let mut all = vec![
        (Omission::Names, texts(&["SELECT @@character_set_client, a FROM u"; 3])),
        (Omission::Autocommit, texts(&["SELECT @@autocommit, a FROM u"; 3])),
        (Omission::Schema, texts(&["SELECT a FROM u"; 2])),
        (
            Omission::InsertId,
            texts(&["INSERT INTO t (b) VALUES ('x')", "SELECT LAST_INSERT_ID(), b FROM t"]),
        ),
        (
            Omission::Reset,
            texts(&[
                "CREATE TEMPORARY TABLE z (a INT)",
                "RESET:",
                "SELECT * FROM test.z",
                "SELECT * FROM test.z",
                "SELECT * FROM test.z",
            ]),
        ),
        (Omission::Variable("@a"), texts(&["SET @a = 5", "SELECT @a, a FROM u"])),
        (
            Omission::Variable("/*!50720 transaction_isolation*//*M! tx_isolation*/"),
            texts(&["SELECT @@tx_isolation, a FROM u"; 2]),
        ),
    ];
    for (name, _, _) in VARIABLES.iter().filter(|(name, ..)| *name != OF_MYSQL) {
        // twice: one of the neighbours may have had nothing to give
        let read = format!("SELECT @@{name}, a FROM u");
        all.push((Omission::Variable(name), texts(&[&read, &read])));
    }
    all
}
