//! Where one of several results ends within a reply to a client.
//!
//! Reads no more of replies than that; what it takes for something else has a packet counted
//! otherwise, and no more.

use std::collections::VecDeque;

use wire::command::code;
use wire::reply::{EofPacket, ErrPacket, OkPacket};
use wire::{Caps, Status, frame};

/// Replies that are to come, and where the present one is.
#[derive(Default)]
pub(crate) struct Results {
    /// Whether each command that is to be answered may have several results.
    asked: VecDeque<bool>,
    part: Part,
    /// The packet before was the first part of a longer one.
    goes_on: bool,
    /// The packet before asks for a file.
    asks_for_file: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum Part {
    /// Nothing is looked for.
    #[default]
    Other,
    /// The first packet of a result.
    First,
    /// Column definitions and rows, with so many EOF packets behind them.
    Rows(u8),
}

/// How many commands that are sent ahead are taken note of.
const ASKED_MAX: usize = 4096;

/// With this begins the request for a file.
pub(crate) const FILE_REQUEST: u8 = 0xfb;

/// Whether a command that begins with this byte has a reply.
pub(crate) fn is_answered(first: u8) -> bool {
    !matches!(first, code::QUIT | code::STMT_SEND_LONG_DATA | code::STMT_CLOSE)
}

impl Results {
    /// A command came that begins with this byte.
    pub(crate) fn command(&mut self, first: u8) {
        if is_answered(first) && self.asked.len() < ASKED_MAX {
            self.asked.push_back(matches!(first, code::QUERY | code::STMT_EXECUTE));
        }
    }

    /// Something begins that is sent: the next reply, unless the present one goes on.
    pub(crate) fn begin(&mut self) {
        if let Some(may_be_several) = self.asked.pop_front() {
            self.part = if may_be_several { Part::First } else { Part::Other };
        }
    }

    /// Whether the packet that was sent last asks for a file.
    pub(crate) fn asks_for_file(&self) -> bool {
        self.asks_for_file
    }

    /// A packet of this length is sent, of which `payload` is all, or what there is if it is long.
    /// Whether a result ends with it, and another one follows.
    pub(crate) fn ends_with(&mut self, payload: &[u8], length: usize) -> bool {
        let is_part = std::mem::replace(&mut self.goes_on, length == frame::MAX_PAYLOAD);
        self.asks_for_file = false;
        if is_part || self.part == Part::Other {
            return false;
        }
        let told = match (self.part, payload.first()) {
            // how far a statement has come
            (_, Some(&ErrPacket::MARKER)) if payload.get(1..3) == Some(&[0xff, 0xff]) => {
                return false;
            }
            (_, Some(&ErrPacket::MARKER)) => None,
            (Part::First, Some(&OkPacket::MARKER)) => status_of(payload),
            (Part::First, Some(&FILE_REQUEST)) => {
                self.asks_for_file = true;
                return false;
            }
            (Part::First, _) => {
                self.part = Part::Rows(2);
                return false;
            }
            (Part::Rows(left), Some(&EofPacket::MARKER)) if length == EofPacket::BYTES => {
                if left > 1 {
                    self.part = Part::Rows(left - 1);
                    return false;
                }
                EofPacket::parse(payload).ok().map(|eof| eof.status)
            }
            (Part::Rows(_), Some(&EofPacket::MARKER)) if payload.len() == length => {
                status_of(payload)
            }
            _ => return false,
        };
        let follows = told.is_some_and(|status| status.contains(Status::MORE_RESULTS));
        self.part = if follows { Part::First } else { Part::Other };
        follows
    }
}

fn status_of(payload: &[u8]) -> Option<Status> {
    OkPacket::parse(payload, Caps::NONE).ok().map(|ok| ok.status)
}

#[cfg(test)]
mod tests;
