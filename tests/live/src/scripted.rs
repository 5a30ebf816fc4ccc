//! A server that answers what a test says it does: the protocol, and nothing behind it. Lets
//! everybody in, and takes what it is not told of for carried out.

use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

use anyhow::Result;
use wire::command::code;
use wire::connect::Greeting;
use wire::frame;
use wire::reply::{ColumnDef, ErrPacket, OkPacket, write_err, write_ok, write_text_result};
use wire::{Caps, Status};

/// What a statement comes to.
#[derive(Clone, Debug)]
pub enum Said {
    /// It is carried out.
    Done,
    /// An error with this number.
    Refused(u16, &'static str),
    /// Rows of these columns.
    Rows(Vec<&'static str>, Vec<Vec<Option<String>>>),
}

/// Serves until the process ends; `says` is asked for every statement.
pub fn scripted(
    at: IpAddr,
    port: u16,
    says: impl Fn(&str) -> Said + Send + Sync + 'static,
) -> Result<()> {
    let listener = TcpListener::bind(SocketAddr::new(at, port))?;
    let says: Arc<Says> = Arc::new(says);
    let accepts = move || {
        for stream in listener.incoming().flatten() {
            let says = says.clone();
            // how it ends is the client's to say
            thread::spawn(move || drop(serve(stream, &*says)));
        }
    };
    thread::Builder::new().name("scripted".to_owned()).spawn(accepts)?;
    Ok(())
}

type Says = dyn Fn(&str) -> Said + Send + Sync;

fn serve(mut stream: TcpStream, says: &Says) -> io::Result<()> {
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
    let ok = OkPacket { status: Status::AUTOCOMMIT, ..OkPacket::default() };
    out.clear();
    write_ok(&mut out, &mut seq.wrapping_add(1), caps, &ok);
    loop {
        stream.write_all(&out)?;
        out.clear();
        let (payload, seq) = packet(&mut stream)?;
        let seq = &mut seq.wrapping_add(1);
        let said = match payload.as_slice() {
            [code::QUIT, ..] => return Ok(()),
            [code::QUERY, text @ ..] => says(&String::from_utf8_lossy(text)),
            _ => Said::Done,
        };
        match said {
            Said::Done => write_ok(&mut out, seq, caps, &ok),
            Said::Refused(code, message) => {
                let (sqlstate, message) = (*b"HY000", message.as_bytes());
                write_err(&mut out, seq, &ErrPacket { code, sqlstate, message });
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
const CAPS: Caps = Caps::OF_OWN_SERVERS;
