//! The numbers of compressed packets, and those of the packets inside of them.
//!
//! Both ends count compressed packets. A command begins with 0, a reply with 1; any other packet
//! has the number behind the last one, heard or sent. Servers read one command from a compressed
//! packet, so a packet holds no more than one. Inside of a compressed connection, servers check no
//! numbers, and send some that go astray: behind the first of several results, and behind a file.
//! A client without compression would stumble over these, so they are counted here anew.
//!
//! The numbers tell which packets belong together, and so does the count of commands that are to
//! be answered: a reply begins only where one is due. The packets behind a request for a file are
//! that file, whatever their numbers. One thing can be mistaken: a command that is sent ahead while
//! the packets of a reply come to 256. The compressed packets of that reply then count from 1
//! again. Clients that check these numbers send no command ahead.

use std::collections::VecDeque;

use wire::command::code;
use wire::frame;
use wire::reply::{ErrPacket, OkPacket};

use crate::results::{FILE_REQUEST, is_answered};

/// What is at the other end of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Leg {
    /// A client.
    Client,
    /// A server.
    Server,
}

impl Leg {
    /// The number with which begins what is sent to that end.
    const fn first_sent(self) -> u8 {
        match self {
            Self::Client => 1,
            Self::Server => 0,
        }
    }
}

/// The header of a packet that is not compressed.
pub(crate) const HEADER_BYTES: usize = 4;

/// How much is looked at of what a packet contains.
const FIRST_BYTES: usize = 3;
/// An event of a binary log that its replica is to acknowledge begins with this.
const ACKNOWLEDGED: [u8; FIRST_BYTES] = [0, ACKNOWLEDGEMENT, 1];
/// With this begins what a replica says to that, which is no command.
const ACKNOWLEDGEMENT: u8 = 0xef;

/// Where a stream is within its packets.
#[derive(Default)]
struct Place {
    /// How many bytes of a header came, and what length they tell.
    header: usize,
    length: usize,
    /// What is to come of a packet's content, and how much of it came, up to what is looked at.
    content: usize,
    seen: usize,
    /// The packet before was the first part of a longer one.
    goes_on: bool,
}

/// What is seen of a packet.
enum Seen<'a> {
    /// Its number, which may be changed.
    Number {
        number: &'a mut u8,
        /// It goes on with the packet before.
        is_part: bool,
        /// How long its content is.
        length: usize,
    },
    /// One of the first bytes of its content, and which.
    Content(usize, u8),
}

impl Place {
    /// Goes over bytes.
    fn pass(&mut self, mut bytes: &mut [u8], mut see: impl FnMut(Seen<'_>)) {
        loop {
            if self.content > 0 && !bytes.is_empty() {
                let step = self.content.min(bytes.len());
                let (content, rest) = bytes.split_at_mut(step);
                for byte in content.iter().take(FIRST_BYTES - self.seen) {
                    see(Seen::Content(self.seen, *byte));
                    self.seen += 1;
                }
                (self.content, bytes) = (self.content - step, rest);
                continue;
            }
            let Some((byte, rest)) = bytes.split_first_mut() else { return };
            bytes = rest;
            if self.header < HEADER_BYTES - 1 {
                self.length |= usize::from(*byte) << (8 * self.header);
                self.header += 1;
                continue;
            }
            let (is_part, length) = (self.goes_on, self.length);
            see(Seen::Number { number: byte, is_part, length });
            let (content, goes_on) = (length, length == frame::MAX_PAYLOAD);
            *self = Self { content, goes_on, ..Self::default() };
        }
    }
}

/// The numbers of one connection.
pub(crate) struct Numbers {
    leg: Leg,
    heard: Place,
    /// What the packet heard last begins with.
    heard_first: [u8; FIRST_BYTES],
    /// The number of the packet sent last, and whether a further part of it follows.
    sent_last: Option<u8>,
    sent_goes_on: bool,
    /// Of the compressed packet to be sent next, where nothing begins.
    next: u8,
    /// Of the compressed packet heard last, since something began that was sent.
    heard_since: Option<u8>,
    /// What is sent now answers: it has no number of its own to begin with.
    answers: bool,
    /// The number of the packet heard last, as it came and as it was given.
    heard_last: Option<u8>,
    given_last: u8,
    /// Something begins with it.
    heard_begins: bool,
    /// Something was sent since what is heard now began.
    is_answered: bool,
    /// The number behind which an answer counts on.
    turn: Option<u8>,
    /// By how much the numbers of what is sent now are higher there, if that is known.
    shift: Option<u8>,
    /// Commands that are to be answered.
    due: Due,
    /// A client sends a file.
    file: bool,
    /// A server sends a binary log.
    dumps: bool,
}

/// Commands whose replies have not begun.
#[derive(Default)]
struct Due {
    /// How many commands there were, and how many replies to them have begun.
    commands: u64,
    begun: u64,
    /// Those of several packets, or of several compressed ones.
    long: VecDeque<LongCommand>,
    /// Those whose replies may go on behind what looks like an OK, by their places: the rest of a
    /// prepare, and rows of a cursor.
    prepares: VecDeque<u64>,
    /// The command that is sent now has a reply.
    is_open: bool,
    /// The reply that began last is that to a prepare.
    prepared: bool,
}

/// A command of several packets.
struct LongCommand {
    /// Which one it is.
    place: u64,
    /// How many, and how many compressed ones, both as numbers.
    packets: u8,
    compressed: u8,
}

impl Due {
    fn is_none(&self) -> bool {
        self.commands == self.begun
    }

    fn command(&mut self) {
        self.commands += 1;
        self.is_open = true;
    }

    /// The command that is sent now has so many packets and compressed ones by now.
    fn note_length(&mut self, packets: u8, compressed: u8) {
        if !self.is_open || (packets, compressed) == (1, 1) {
            return;
        }
        let place = self.commands - 1;
        match self.long.back_mut() {
            Some(last) if last.place == place => {
                (last.packets, last.compressed) = (packets, compressed);
            }
            _ => self.long.push_back(LongCommand { place, packets, compressed }),
        }
    }

    /// The number with which the next reply begins, if it may come with this one.
    fn reply(&self, number: u8) -> Option<u8> {
        let long = self.long.front().filter(|long| long.place == self.begun);
        let (packets, compressed) = long.map_or((1, 1), |long| (long.packets, long.compressed));
        let is_it = number == packets || number == compressed;
        (is_it && !self.is_none()).then_some(packets)
    }

    fn begin_reply(&mut self) {
        self.prepared = self.prepares.pop_front_if(|place| *place == self.begun).is_some();
        self.long.pop_front_if(|long| long.place == self.begun);
        self.begun = self.commands.min(self.begun + 1);
    }
}

impl Numbers {
    pub(crate) fn new(leg: Leg) -> Self {
        Self {
            leg,
            heard: Place::default(),
            heard_first: [0; FIRST_BYTES],
            sent_last: None,
            sent_goes_on: false,
            next: leg.first_sent(),
            heard_since: None,
            answers: false,
            heard_last: None,
            heard_begins: false,
            given_last: 0,
            is_answered: false,
            turn: None,
            shift: Some(0),
            due: Due::default(),
            file: false,
            dumps: false,
        }
    }

    /// A compressed packet with this number came.
    pub(crate) fn hear(&mut self, number: u8) {
        self.heard_since = Some(number);
    }

    /// Bytes of the stream came: their packets are counted anew where they have to be. Tells of
    /// each command its first byte.
    pub(crate) fn recount(&mut self, bytes: &mut [u8], mut begun: impl FnMut(u8)) {
        let mut place = std::mem::take(&mut self.heard);
        place.pass(bytes, |seen| match seen {
            Seen::Number { number, is_part: true, .. } => *number = self.given_part(*number),
            Seen::Number { number, length, .. } => {
                *number = self.given(*number, length);
                self.heard_first = [0; FIRST_BYTES];
            }
            Seen::Content(at, byte) => {
                self.heard_first.iter_mut().skip(at).take(1).for_each(|first| *first = byte);
                if at == 0 && self.heard_begins && self.leg == Leg::Client {
                    if is_answered(byte) {
                        self.due.command();
                    }
                    begun(byte);
                }
            }
        });
        self.heard = place;
    }

    /// Of a further part of a packet: some clients count it from their compressed packets.
    fn given_part(&mut self, number: u8) -> u8 {
        (self.heard_last, self.heard_begins) = (Some(number), false);
        self.given_last = self.given_last.wrapping_add(1);
        self.given_last
    }

    fn given(&mut self, number: u8, length: usize) -> u8 {
        let goes_on = self.heard_last.map(|last| last.wrapping_add(1)) == Some(number);
        self.heard_last = Some(number);
        let begun_with = self.begun_with(number, goes_on);
        self.heard_begins = begun_with.is_some();
        // a file ends with a packet that is empty
        self.file &= length > 0;
        let is_for_nobody = self.is_for_nobody(number, length);
        self.given_last = if let Some(first) = begun_with {
            (self.is_answered, self.turn) = (false, None);
            if self.leg == Leg::Server {
                self.due.begin_reply();
            }
            first
        } else if self.dumps && self.heard_first == ACKNOWLEDGED {
            1
        } else if goes_on {
            self.given_last.wrapping_add(1)
        } else {
            match self.turn.take() {
                Some(turn) => turn.wrapping_add(1),
                None if is_for_nobody => 0,
                None => self.given_last.wrapping_add(1),
            }
        };
        self.given_last
    }

    /// Whether a packet of this number and length is an error that a server has for nobody. What
    /// it begins with may not have come; a further result begins with a few bytes.
    fn is_for_nobody(&self, number: u8, length: usize) -> bool {
        let is_idle = self.due.is_none() && length >= ERROR_BYTES_MIN;
        self.leg == Leg::Server && number == 0 && (self.is_answered || is_idle)
    }

    /// The number with which something begins that has this one, if it does: a reply to a command
    /// of several packets begins behind these.
    fn begun_with(&self, number: u8, goes_on: bool) -> Option<u8> {
        let is_over = self.leg == Leg::Server && self.is_over();
        if goes_on && !self.is_answered && !is_over {
            return None;
        }
        match self.leg {
            Leg::Client => (number == 0 && !self.file).then_some(number),
            Leg::Server => self.due.reply(number),
        }
    }

    /// Whether the packet heard last was all of its reply: an OK or an error, and nothing behind it
    /// as there is behind that of a prepare.
    fn is_over(&self) -> bool {
        let [first, ..] = self.heard_first;
        let is_ok = first == OkPacket::MARKER && !self.due.prepared;
        self.heard_begins && (is_ok || first == ErrPacket::MARKER)
    }

    /// The number of the compressed packet that is sent now.
    pub(crate) fn take_next(&mut self) -> u8 {
        let number = self.next;
        self.next = self.next.wrapping_add(1);
        self.note_length();
        number
    }

    /// How long the command is by now that is sent.
    fn note_length(&mut self) {
        if self.leg == Leg::Server && !self.answers {
            let packets = self.sent_last.unwrap_or_default().wrapping_add(1);
            self.due.note_length(packets, self.next);
        }
    }

    /// The next packet, with which another result begins, is counted from the number of its
    /// compressed one: servers do, and some clients insist.
    pub(crate) fn count_from_next(&mut self) {
        self.shift = None;
    }

    /// Whether something begins with a packet of this number that is to be sent.
    pub(crate) fn begins(&self, number: u8) -> bool {
        if self.sent_goes_on {
            return false;
        }
        let goes_on = self.sent_last.map(|last| last.wrapping_add(1)) == Some(number);
        let answers = number == self.given_last.wrapping_add(1);
        !goes_on || self.heard_since.is_some() && (answers || number == self.leg.first_sent())
    }

    /// It begins.
    pub(crate) fn begin(&mut self, number: u8) {
        let is_first = number == self.leg.first_sent();
        self.answers = match self.leg {
            Leg::Client => !is_first || self.due.is_none(),
            Leg::Server => !is_first || self.is_asked_for_file(number),
        };
        self.due.is_open = false;
        if self.leg == Leg::Client && (is_first || self.heard_since.is_some()) {
            self.due.begin_reply();
        }
        self.shift = Some(0);
        let behind = self.heard_since.take().filter(|_| self.answers);
        self.next = match (self.answers, behind) {
            (false, _) => number,
            (true, Some(heard)) => heard.wrapping_add(1),
            (true, None) => self.next,
        };
    }

    /// Whether a packet of this number that is sent to a server is the first of a file: the packet
    /// heard last asks for one, and is no end of a reply.
    fn is_asked_for_file(&self, number: u8) -> bool {
        let asks = self.heard_first[0] == FILE_REQUEST && self.due.is_none();
        asks && number == self.given_last.wrapping_add(1)
    }

    /// A client is asked for a file, with the packet sent last.
    pub(crate) fn note_file_asked(&mut self) {
        self.file = true;
    }

    /// What the packet sent last begins with; `None` where it is empty.
    pub(crate) fn note_first(&mut self, first: Option<u8>) {
        let begins = self.sent_last == Some(self.leg.first_sent()) && !self.answers;
        if self.leg != Leg::Server || !begins || first == Some(ACKNOWLEDGEMENT) {
            return;
        }
        self.dumps = first.is_some_and(|first| DUMPS.contains(&first));
        if matches!(first, Some(code::STMT_PREPARE | code::STMT_FETCH)) {
            self.due.prepares.push_back(self.due.commands);
        }
        if first.is_none_or(is_answered) {
            self.due.command();
        }
    }

    /// A packet with this number and length is sent; what it is called there.
    pub(crate) fn note_sent(&mut self, number: u8, length: usize) -> u8 {
        (self.sent_last, self.sent_goes_on) = (Some(number), length == frame::MAX_PAYLOAD);
        self.is_answered = true;
        // a client answers whatever it is sent, a server what is no command
        if self.leg == Leg::Client || self.answers {
            self.turn = Some(number);
        }
        let shift = *self.shift.get_or_insert(self.next.wrapping_sub(number));
        number.wrapping_add(shift)
    }
}

/// No error has fewer bytes, nor has the number of a result's columns as many.
const ERROR_BYTES_MIN: usize = 16;

/// Commands that are answered with a binary log.
const DUMPS: [u8; 2] = [code::BINLOG_DUMP, code::BINLOG_DUMP_GTID];

#[cfg(test)]
mod tests;
