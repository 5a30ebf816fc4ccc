//! A server that answers what a test says it does: the protocol, and nothing behind it. Lets
//! everybody in, and takes what it is not told of for carried out.

use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

use anyhow::Result;
use wire::command::code;
use wire::connect::{Greeting, HandshakeResponse};
use wire::frame;
use wire::reply::{
    ColumnDef, ErrPacket, OkPacket, SessionChange, write_err, write_ok, write_text_result,
};
use wire::{Caps, Status};

/// What a statement comes to.
#[derive(Clone, Debug)]
pub enum Said {
    /// It is carried out.
    Done,
    /// An error with this number.
    Refused(u16, &'static str),
    /// It is prepared, with so many columns, each defined by so many bytes.
    Defined(u16, usize),
    /// Rows of these columns.
    Rows(Vec<&'static str>, Vec<Vec<Option<String>>>),
}

/// What a login comes to.
#[derive(Clone, Debug)]
pub enum Login {
    /// It is let in.
    In,
    /// It is let in, and told of a system variable that has this value in its session.
    Told(&'static str, String),
    /// It is let in, and told this text.
    Saying(String),
    /// It is refused with an error of this number.
    Refused(u16, &'static str),
    /// Nothing: the server says no more.
    Silent,
}

/// Serves until the process ends; `says` is asked for every statement, also to be prepared.
pub fn scripted(
    at: IpAddr,
    port: u16,
    says: impl Fn(&str) -> Said + Send + Sync + 'static,
) -> Result<()> {
    scripted_login(at, port, |_| Login::In, says)
}

/// The same, where `logs_in` is asked for every user that logs in.
pub fn scripted_login(
    at: IpAddr,
    port: u16,
    logs_in: impl Fn(&str) -> Login + Send + Sync + 'static,
    says: impl Fn(&str) -> Said + Send + Sync + 'static,
) -> Result<()> {
    let listener = TcpListener::bind(SocketAddr::new(at, port))?;
    let script: Arc<(Box<LogsIn>, Box<Says>)> = Arc::new((Box::new(logs_in), Box::new(says)));
    let accepts = move || {
        for stream in listener.incoming().flatten() {
            let script = script.clone();
            // how it ends is the client's to say
            thread::spawn(move || drop(serve(stream, &*script.0, &*script.1)));
        }
    };
    thread::Builder::new().name("scripted".to_owned()).spawn(accepts)?;
    Ok(())
}

type Says = dyn Fn(&str) -> Said + Send + Sync;
type LogsIn = dyn Fn(&str) -> Login + Send + Sync;

fn serve(mut stream: TcpStream, logs_in: &LogsIn, says: &Says) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let greeting = Greeting {
        server_version: b"8.0.39",
        connection_id: 7,
        scramble: [1; 20],
        caps: CAPS,
        collation: 45,
        status: Status::AUTOCOMMIT,
        plugin: b"mysql_native_password",
    };
    let mut out = Vec::new();
    frame::write_with(&mut out, &mut 0, |payload| greeting.encode(payload));
    stream.write_all(&out)?;
    let (login, seq) = packet(&mut stream)?;
    let wants = login.first_chunk().copied().unwrap_or_default();
    let caps = CAPS.intersect(Caps::from_bytes(wants, [0; 4]));
    let response = HandshakeResponse::parse(&login).map_err(|_| io::ErrorKind::InvalidData)?;
    out.clear();
    if !let_in(&mut out, seq, caps, &logs_in(&String::from_utf8_lossy(response.user))) {
        stream.write_all(&out)?;
        return stream.read_to_end(&mut out).map(drop);
    }
    let ok = OkPacket { status: Status::AUTOCOMMIT, ..OkPacket::default() };
    loop {
        stream.write_all(&out)?;
        out.clear();
        let (payload, seq) = packet(&mut stream)?;
        let seq = &mut seq.wrapping_add(1);
        let said = match payload.as_slice() {
            [code::QUIT, ..] => return Ok(()),
            [code::QUERY | code::STMT_PREPARE, text @ ..] => says(&String::from_utf8_lossy(text)),
            _ => Said::Done,
        };
        match said {
            Said::Done => write_ok(&mut out, seq, caps, &ok),
            Said::Refused(code, message) => {
                let (sqlstate, message) = (*b"HY000", message.as_bytes());
                write_err(&mut out, seq, &ErrPacket { code, sqlstate, message });
            }
            Said::Defined(columns, bytes) => {
                let [low, high] = columns.to_le_bytes();
                let answer = [0, 1, 0, 0, 0, low, high, 0, 0, 0, 0, 0];
                frame::write_with(&mut out, seq, |payload| payload.extend_from_slice(&answer));
                let definition = vec![b'x'; bytes];
                for _ in 0..columns {
                    frame::write_with(&mut out, seq, |payload| {
                        payload.extend_from_slice(&definition);
                    });
                    stream.write_all(&out)?;
                    out.clear();
                }
            }
            Said::Rows(names, rows) => {
                let columns: Vec<_> =
                    names.iter().map(|name| ColumnDef::text(name.as_bytes())).collect();
                let bytes = |value: &'_ Option<String>| value.clone().map(String::into_bytes);
                let rows: Vec<Vec<_>> =
                    rows.iter().map(|row| row.iter().map(bytes).collect()).collect();
                let rows: Vec<Vec<_>> =
                    rows.iter().map(|row| row.iter().map(Option::as_deref).collect()).collect();
                let rows: Vec<_> = rows.iter().map(Vec::as_slice).collect();
                write_text_result(&mut out, seq, caps, &columns, &rows, Status::AUTOCOMMIT);
            }
        }
    }
}

/// Ends a login; whether it is let in.
fn let_in(out: &mut Vec<u8>, seq: u8, caps: Caps, login: &Login) -> bool {
    let mut ok = OkPacket { status: Status::AUTOCOMMIT, ..OkPacket::default() };
    let mut session_track = Vec::new();
    match login {
        Login::In => {}
        Login::Told(name, value) => {
            let (name, value) = (name.as_bytes(), value.as_bytes());
            SessionChange::SystemVariable { name, value }.encode(&mut session_track);
            ok.session_track = &session_track;
        }
        Login::Saying(text) => ok.info = text.as_bytes(),
        Login::Refused(code, message) => {
            let (sqlstate, message) = (*b"HY000", message.as_bytes());
            let said = ErrPacket { code: *code, sqlstate, message };
            write_err(out, &mut seq.wrapping_add(1), &said);
            return false;
        }
        Login::Silent => return false,
    }
    write_ok(out, &mut seq.wrapping_add(1), caps, &ok);
    true
}

/// The next packet with its number.
fn packet(stream: &mut TcpStream) -> io::Result<(Vec<u8>, u8)> {
    let mut header = [0; 4];
    stream.read_exact(&mut header)?;
    let [low, middle, high, seq] = header;
    let mut payload = vec![0; u32::from_le_bytes([low, middle, high, 0]) as usize];
    stream.read_exact(&mut payload)?;
    Ok((payload, seq))
}

/// What it can do.
const CAPS: Caps = Caps::OF_OWN_SERVERS.union(Caps::SESSION_TRACK);
