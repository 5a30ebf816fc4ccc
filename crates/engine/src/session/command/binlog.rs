//! Replication: a dump of a binary log is a command with a long reply, and no more.
//!
//! Whether an account may read binary logs is asked of the server, by its privileges, and of the
//! operator. While a dump runs its client may acknowledge events and leave; anything else waits
//! until the dump has ended, and is then a command like any other.

use std::ops::Range;

use wire::command::{Command, code};
use wire::frame::{self, Framed};
use wire::result::ReplyKind;

use crate::error;
use crate::holds::Holds;
use crate::ids::SessionId;
use crate::proxy::Proxy;
use crate::session::{Job, Phase, What};

impl Proxy {
    /// `COM_REGISTER_SLAVE`, and the dumps that may follow it on the same connection.
    pub(crate) fn on_replication(&mut self, id: SessionId, raw: &[u8], command: &Command<'_>) {
        let Some(session) = self.sessions.get(id) else { return self.impossible(()) };
        if session.account.as_ref().is_some_and(|account| !account.replication) {
            return self.answer_error(id, &error::replication_denied());
        }
        let reply = command.reply_kind().unwrap_or(ReplyKind::Simple);
        let mut job =
            Job { holds: Holds::NOT_UNDERSTOOD, ..self.unrouted(What::Replication, reply) };
        if reply == ReplyKind::Binlog {
            job.timeout_us = u64::MAX;
        }
        self.begin_unrouted(id, raw, job);
    }

    /// Bytes of a client during a dump; returns how many were taken.
    pub(crate) fn dump_bytes(&mut self, id: SessionId, taken: usize, rest: &[u8]) -> usize {
        match said_during_dump(rest) {
            Said::Acknowledged(bytes) => {
                let Some(session) = self.sessions.get(id) else {
                    return self.impossible(rest.len());
                };
                let Phase::Running(running) = &session.phase else { return 0 };
                self.relay_to_lane(running.lane, taken + bytes.start..taken + bytes.end);
                bytes.end
            }
            Said::Quit(bytes) => {
                self.close_session(id, None);
                bytes
            }
            Said::Else => self.hold_input(id, rest),
        }
    }
}

/// What a client says during a dump.
#[derive(PartialEq, Eq, Debug)]
enum Said {
    /// So many bytes acknowledge an event.
    Acknowledged(Range<usize>),
    /// It leaves, by so many bytes.
    Quit(usize),
    /// Something for later, or nothing that is whole.
    Else,
}

fn said_during_dump(bytes: &[u8]) -> Said {
    let Framed::Packet(packet) = frame::next_packet(bytes) else { return Said::Else };
    match packet.payload {
        [ACKNOWLEDGES, ..] if packet.len <= ACKNOWLEDGEMENT_BYTES_MAX => {
            Said::Acknowledged(0..packet.len)
        }
        [code::QUIT] => Said::Quit(packet.len),
        _ => Said::Else,
    }
}

/// The first byte of what a replica sends when it has an event, with semi-synchronous replication.
const ACKNOWLEDGES: u8 = 0xef;

/// A position in a log, and its name.
const ACKNOWLEDGEMENT_BYTES_MAX: usize = 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_acknowledgements_are_passed_on_and_only_whole() {
        let ack = b"\x0a\0\0\0\xef\x04\0\0\0\0\0\0\0b";
        let both = [ack.as_slice(), b"\x09\0\0\0\x03DELETE t"].concat();
        assert_eq!(said_during_dump(&both), Said::Acknowledged(0..14));
        assert_eq!(said_during_dump(&both[14..]), Said::Else);
        assert_eq!(said_during_dump(&ack[..13]), Said::Else);
        assert_eq!(said_during_dump(b"\x01\0\0\0\x01"), Said::Quit(5));
        assert_eq!(said_during_dump(b"\x02\0\0\0\x01\x01"), Said::Else);
        assert_eq!(said_during_dump(b"\x05\0\0\0\x11root"), Said::Else);
        let long = [&[0xd0, 7, 0, 0, 0xef][..], &[0; 1999]].concat();
        assert_eq!(said_during_dump(&long), Said::Else);
    }
}
