//! The numbers of compressed packets, and those of the packets inside of them.
//!
//! Both ends count compressed packets: from 0 where a command begins, on from the last one that was
//! heard or sent else. A reply begins with 1. Servers read one command from a compressed packet
//! that they ask for, so a packet holds no more than that. Inside of a compressed connection they
//! check no numbers, and give some that go astray (behind the first of several results, behind a
//! file): whoever is not compressed would stumble over these, so they are counted here anew.
//!
//! What belongs together is told by the numbers, and by how many commands a server has to answer: a
//! reply begins only where one is due. A command that is sent ahead, beside a reply whose packets
//! come to 256 just then, is the one thing that can be mistaken: the compressed packets of that
//! reply count from 1 again. Clients that check these numbers send none ahead.

use wire::frame;

use crate::results::is_answered;

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

    /// The number with which begins what that end sends.
    const fn first_heard(self) -> u8 {
        1 - self.first_sent()
    }
}

/// The header of a packet that is not compressed.
pub(crate) const HEADER_BYTES: usize = 4;

/// Where a stream is within its packets.
#[derive(Default)]
struct Place {
    /// How many bytes of a header came, and what length they tell.
    header: usize,
    length: usize,
    /// What is to come of a packet's content, of which nothing came yet.
    content: usize,
    is_fresh: bool,
    /// The packet before was the first part of a longer one.
    goes_on: bool,
}

/// What is seen of a packet.
enum Seen<'a> {
    /// Its number, which may be changed, and whether it goes on with the one before.
    Number(&'a mut u8, bool),
    /// The first byte of its content.
    First(u8),
}

impl Place {
    /// Goes over bytes.
    fn pass(&mut self, bytes: &mut [u8], mut see: impl FnMut(Seen<'_>)) {
        let mut at = 0;
        while let Some(byte) = bytes.get_mut(at) {
            if self.content > 0 {
                if std::mem::take(&mut self.is_fresh) {
                    see(Seen::First(*byte));
                }
                let step = self.content.min(bytes.len() - at);
                (self.content, at) = (self.content - step, at + step);
                continue;
            }
            at += 1;
            if self.header < HEADER_BYTES - 1 {
                self.length |= usize::from(*byte) << (8 * self.header);
                self.header += 1;
            } else {
                see(Seen::Number(byte, self.goes_on));
                let (content, goes_on) = (self.length, self.length == frame::MAX_PAYLOAD);
                *self = Self { content, goes_on, is_fresh: true, ..Self::default() };
            }
        }
    }
}

/// The numbers of one connection.
pub(crate) struct Numbers {
    leg: Leg,
    heard: Place,
    /// The number of the packet sent last.
    sent_last: Option<u8>,
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
    /// The command sent last, where it was of several packets.
    long: Option<Long>,
    /// How many commands were sent whose replies have not begun.
    due: usize,
}

/// A command of several packets.
struct Long {
    /// How many, and how many compressed ones, both as numbers.
    packets: u8,
    compressed: u8,
}

impl Numbers {
    pub(crate) fn new(leg: Leg) -> Self {
        Self {
            leg,
            heard: Place::default(),
            sent_last: None,
            next: leg.first_sent(),
            heard_since: None,
            answers: false,
            heard_last: None,
            heard_begins: false,
            given_last: 0,
            is_answered: false,
            turn: None,
            shift: Some(0),
            long: None,
            due: 0,
        }
    }

    /// A compressed packet with this number came.
    pub(crate) fn hear(&mut self, number: u8) {
        self.heard_since = Some(number);
    }

    /// Bytes of the stream came: their packets are counted anew where they have to be. Tells of
    /// each that begins something its first byte.
    pub(crate) fn recount(&mut self, bytes: &mut [u8], mut begun: impl FnMut(u8)) {
        let mut place = std::mem::take(&mut self.heard);
        place.pass(bytes, |seen| match seen {
            Seen::Number(number, true) => *number = self.given_part(*number),
            Seen::Number(number, false) => *number = self.given(*number),
            Seen::First(first) if self.heard_begins => begun(first),
            Seen::First(_) => {}
        });
        self.heard = place;
    }

    /// Of a further part of a packet: some clients count it from their compressed packets.
    fn given_part(&mut self, number: u8) -> u8 {
        (self.heard_last, self.heard_begins) = (Some(number), false);
        self.given_last = self.given_last.wrapping_add(1);
        self.given_last
    }

    fn given(&mut self, number: u8) -> u8 {
        let goes_on = self.heard_last.map(|last| last.wrapping_add(1)) == Some(number);
        self.heard_last = Some(number);
        let begun_with = self.begun_with(number, goes_on);
        self.heard_begins = begun_with.is_some();
        self.given_last = if let Some(first) = begun_with {
            (self.is_answered, self.turn, self.long) = (false, None, None);
            self.due = self.due.saturating_sub(1);
            first
        } else if goes_on {
            self.given_last.wrapping_add(1)
        } else {
            match self.turn.take() {
                Some(turn) => turn.wrapping_add(1),
                // an error that a server has for nobody
                None if number == 0 && self.is_answered => 0,
                None => self.given_last.wrapping_add(1),
            }
        };
        self.given_last
    }

    /// The number with which something begins that has this one, if it does: a reply to a command
    /// of several packets begins behind these.
    fn begun_with(&self, number: u8, goes_on: bool) -> Option<u8> {
        let is_reply_due = self.leg == Leg::Client || self.due > 0;
        if !is_reply_due || goes_on && !self.is_answered {
            return None;
        }
        let is_long = |long: &&Long| number == long.packets || number == long.compressed;
        match self.long.as_ref().filter(is_long) {
            Some(long) => Some(long.packets),
            None => (number == self.leg.first_heard()).then_some(number),
        }
    }

    /// The number of the compressed packet that is sent now.
    pub(crate) fn take_next(&mut self) -> u8 {
        let number = self.next;
        self.next = self.next.wrapping_add(1);
        if let Some(long) = &mut self.long {
            long.compressed = self.next;
        }
        number
    }

    /// The next packet, with which another result begins, is counted from the number of its
    /// compressed one: servers do, and some clients insist.
    pub(crate) fn count_from_next(&mut self) {
        self.shift = None;
    }

    /// Whether something begins with a packet of this number that is to be sent.
    pub(crate) fn begins(&self, number: u8) -> bool {
        let goes_on = self.sent_last.map(|last| last.wrapping_add(1)) == Some(number);
        let answers = number == self.given_last.wrapping_add(1);
        !goes_on || self.heard_since.is_some() && (answers || number == self.leg.first_sent())
    }

    /// It begins.
    pub(crate) fn begin(&mut self, number: u8) {
        self.answers = number != self.leg.first_sent();
        self.shift = Some(0);
        let behind = self.heard_since.take().filter(|_| self.answers);
        self.next = match (self.answers, behind) {
            (false, _) => number,
            (true, Some(heard)) => heard.wrapping_add(1),
            (true, None) => self.next,
        };
    }

    /// The packet sent last has this byte for its first.
    pub(crate) fn note_first(&mut self, first: u8) {
        let begins = self.sent_last == Some(self.leg.first_sent()) && !self.answers;
        if self.leg == Leg::Server && begins && is_answered(first) {
            self.due += 1;
        }
    }

    /// A packet with this number is sent; what it is called there.
    pub(crate) fn note_sent(&mut self, number: u8) -> u8 {
        self.sent_last = Some(number);
        self.is_answered = true;
        if self.leg == Leg::Server && !self.answers {
            let packets = number.wrapping_add(1);
            self.long = (packets > 1).then_some(Long { packets, compressed: 0 });
        }
        // a client answers whatever it is sent, a server what is no command
        if self.leg == Leg::Client || self.answers {
            self.turn = Some(number);
        }
        let shift = *self.shift.get_or_insert(self.next.wrapping_sub(number));
        number.wrapping_add(shift)
    }
}

#[cfg(test)]
mod tests;
