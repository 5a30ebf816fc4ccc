//! Commands and their replies packet by packet, for comparisons of every byte.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::time::Duration;

use anyhow::{Context, Result};
use client::{Login, Packets, frame};
use wire::Caps;
use wire::command::code;
use wire::frame::HEADER_BYTES;
use wire::reply::ErrPacket;
use wire::result::{Event, ReplyKind, ReplyTracker};

/// What a client can do besides what [`Login::new`] says, for replies of every kind.
pub const CAPS: Caps = Caps::MULTI_STATEMENTS
    .union(Caps::MULTI_RESULTS)
    .union(Caps::PS_MULTI_RESULTS)
    .union(Caps::LOCAL_FILES);
/// What a client asks, and with which file it answers.
pub struct Asked {
    /// The command.
    pub first: u8,
    /// What stands behind it; of `COM_STMT_EXECUTE`, what stands behind the id.
    pub body: Vec<u8>,
    /// How its reply is read.
    pub kind: ReplyKind,
}

impl Asked {
    /// As much of it as tells which it is.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body[..self.body.len().min(60)]).into()
    }
}

/// A command.
pub fn asked(first: u8, body: impl Into<Vec<u8>>, kind: ReplyKind) -> Asked {
    Asked { first, body: body.into(), kind }
}

/// A statement.
pub fn query(text: &str) -> Asked {
    asked(code::QUERY, text, ReplyKind::Result)
}

/// Every packet of a reply with its header; the number of a prepared statement is kept, and zero in
/// the reply. A file that is asked for is sent.
pub fn exchange<S: Read + Write>(
    to: (&mut Packets<S>, &mut u32),
    asked: &Asked,
    what: &str,
) -> Vec<u8> {
    exchange_as(Login::new("", "").caps.union(CAPS), to, asked, what)
}

/// The same for a client that logged in with these capabilities.
fn exchange_as<S: Read + Write>(
    caps: Caps,
    (packets, stmt): (&mut Packets<S>, &mut u32),
    asked: &Asked,
    what: &str,
) -> Vec<u8> {
    let number = stmt.to_le_bytes();
    let id: &[u8] = if asked.kind == ReplyKind::Execute { &number } else { &[] };
    packets.command(asked.first, &[id, &asked.body].concat()).expect("sent");
    if asked.kind == ReplyKind::Auth {
        packets.authenticate("app").unwrap_or_else(|error| panic!("{error:?}: {what}"));
        return Vec::new();
    }
    let mut reply = reply_as(caps, packets, asked.kind, what);
    if asked.kind == ReplyKind::Prepare && !is_refusal(&reply) {
        // each has its own numbers for statements
        *stmt = u32::from_le_bytes(reply[5..9].try_into().expect("four bytes"));
        reply[5..9].fill(0);
    }
    reply
}

/// Every packet of a reply, with its header. A file that is asked for is sent.
pub fn reply<S: Read + Write>(packets: &mut Packets<S>, kind: ReplyKind, what: &str) -> Vec<u8> {
    reply_as(Login::new("", "").caps.union(CAPS), packets, kind, what)
}

fn reply_as<S: Read + Write>(
    caps: Caps,
    packets: &mut Packets<S>,
    kind: ReplyKind,
    what: &str,
) -> Vec<u8> {
    let mut tracker = ReplyTracker::new(kind, caps);
    let mut reply = Vec::new();
    let mut fed = 0;
    while !tracker.is_done() {
        let (header, payload) = frame(&mut packets.stream).unwrap_or_else(|error| {
            panic!("{error} behind {what}");
        });
        reply.extend_from_slice(&header.len.to_le_bytes()[..3]);
        reply.push(header.seq);
        reply.extend_from_slice(&payload);
        let mut is_more = false;
        while !is_more && !tracker.is_done() {
            let step = tracker.feed(&reply[fed..]).expect("a reply");
            fed += step.consumed;
            is_more = step.event == Event::More;
            if step.event == Event::Infile {
                send_file(packets, header.seq);
            }
        }
    }
    reply
}

/// A client that has logged in, and is given every byte of each reply.
#[derive(Debug)]
pub struct Exchanger {
    packets: Packets<TcpStream>,
    caps: Caps,
    stmt: u32,
}

impl Exchanger {
    /// Logs in to a port of 127.0.0.1.
    pub fn log_in(port: u16, login: &Login<'_>) -> Result<Self> {
        let address = (Ipv4Addr::LOCALHOST, port).into();
        let mut packets = Packets::tcp(address, Duration::from_secs(15))?;
        packets.log_in(login).with_context(|| login.user.to_owned())?;
        Ok(Self { packets, caps: login.caps, stmt: 0 })
    }

    /// The reply to a command.
    pub fn ask(&mut self, asked: &Asked) -> Vec<u8> {
        exchange_as(self.caps, (&mut self.packets, &mut self.stmt), asked, &asked.text())
    }

    /// The replies to preparing a text and to its executions, which begin behind the statement's
    /// number; none to these where it cannot be prepared. It is closed at the end.
    pub fn execute(&mut self, text: &str, executions: &[Vec<u8>]) -> Vec<Vec<u8>> {
        let mut replies = vec![self.ask(&asked(code::STMT_PREPARE, text, ReplyKind::Prepare))];
        if is_refusal(&replies[0]) {
            return replies;
        }
        let execution = |body: &Vec<u8>| asked(code::STMT_EXECUTE, &body[..], ReplyKind::Execute);
        replies.extend(executions.iter().map(execution).map(|asked| self.ask(&asked)));
        let number = self.stmt.to_le_bytes();
        self.packets.command(code::STMT_CLOSE, &number).expect("sent");
        replies
    }
}

/// Whether a reply is nothing but an error.
pub fn is_refusal(reply: &[u8]) -> bool {
    reply.get(HEADER_BYTES) == Some(&ErrPacket::MARKER)
}

/// A file of many packets, so that their numbers begin anew.
fn send_file<S: Read + Write>(packets: &mut Packets<S>, behind: u8) {
    let mut seq = behind.wrapping_add(1);
    for row in 0..700 {
        let line = format!("{row}\t{}\n", "x".repeat(row % 90));
        packets.send(seq, line.as_bytes()).expect("sent");
        seq = seq.wrapping_add(1);
    }
    packets.send(seq, b"").expect("sent");
}

/// What differs between two replies, in few words.
pub fn difference(direct: &[u8], through: &[u8]) -> Option<String> {
    let at = direct.iter().zip(through).take_while(|(one, other)| one == other).count();
    let around = |reply: &[u8]| {
        reply[at.saturating_sub(8).min(reply.len())..(at + 24).min(reply.len())]
            .escape_ascii()
            .to_string()
    };
    (direct != through).then(|| {
        let lengths = (direct.len(), through.len());
        format!("at {at} of {lengths:?}: {} directly, {}", around(direct), around(through))
    })
}
