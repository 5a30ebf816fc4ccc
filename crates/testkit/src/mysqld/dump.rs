//! How a fake server sends a binary log: some events, and then an end, or acknowledgements of a
//! client that are answered by one more.

use wire::{command, frame};

use super::Reaction;
use super::conn::Conn;
use crate::answer;
use crate::board::Board;

impl Conn {
    /// `COM_REGISTER_SLAVE`, which is refused where its text says so.
    pub(super) fn on_register(&self, text: &[u8]) -> Reaction {
        Reaction::Reply(match text.starts_with(REFUSED) {
            true => answer::error(1227, "Access denied; you need REPLICATION SLAVE"),
            false => self.plain_ok(&[]),
        })
    }

    /// A dump: refused, with an end, or without one.
    pub(super) fn on_dump(&mut self, text: &[u8]) -> Reaction {
        if text.starts_with(REFUSED) {
            return Reaction::Reply(answer::error(1236, "Could not find first log file name"));
        }
        let (mut out, mut seq) = (Vec::new(), 1);
        for _ in 0..EVENTS {
            frame::write_packet(&mut out, &mut seq, b"\0an event");
        }
        self.dumping = !text.starts_with(ENDING);
        if !self.dumping {
            frame::write_packet(&mut out, &mut seq, b"\xfe\0\0\x02\0");
        }
        Reaction::Reply(out)
    }

    /// What a client says in a dump that has no end: its numbers begin anew.
    pub(super) fn on_packet_of_dump(&self, payload: &[u8], board: &mut Board) -> Reaction {
        if payload == [command::code::QUIT] {
            return Reaction::Close;
        }
        if payload.first() != Some(&0xef) {
            board.count("server: told something in a dump");
            return Reaction::Silent;
        }
        board.count("server: event acknowledged");
        let (mut out, mut seq) = (Vec::new(), 1);
        frame::write_packet(&mut out, &mut seq, b"\0one more");
        Reaction::Reply(out)
    }
}

/// Events of a dump.
const EVENTS: usize = 300;

const REFUSED: &[u8] = b"no";
const ENDING: &[u8] = b"end";
