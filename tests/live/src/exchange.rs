//! Commands and their replies packet by packet, for comparisons of every byte.

use std::io::{Read, Write};

use client::{Login, Packets, frame};
use wire::Caps;
use wire::command::code;
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
    let mut reply = reply(packets, asked.kind, what);
    if asked.kind == ReplyKind::Prepare {
        // each has its own numbers for statements
        *stmt = u32::from_le_bytes(reply[5..9].try_into().expect("four bytes"));
        reply[5..9].fill(0);
    }
    reply
}

/// Every packet of a reply, with its header. A file that is asked for is sent.
pub fn reply<S: Read + Write>(packets: &mut Packets<S>, kind: ReplyKind, what: &str) -> Vec<u8> {
    let caps = Login::new("", "").caps.union(CAPS);
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
