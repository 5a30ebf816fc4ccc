//! Simulated clients that leave in mid-word, send nonsense, or end their side and still listen, and
//! clients that are turned away.

use io::{Driver, Micros};
use wire::command::code;
use wire::connect::AuthSwitch;
use wire::reply::ErrPacket;

use super::Alarm;
use super::reply::Expect;
use super::stay::{Around, Goes, Stay, StayPhase};
use crate::board::Board;
use crate::dice::Dice;

impl Stay {
    /// Sends nonsense in place of the packet with that number.
    pub(super) fn garble<D: Driver>(
        &mut self,
        around: &mut Around<'_, D>,
        seq: u8,
        name: &'static str,
    ) -> Goes {
        around.io.send(self.sock, &[&garbage(around.dice, seq)]);
        around.board.borrow_mut().count(name);
        self.phase = StayPhase::Garbled;
        self.alarm(around, Alarm::Leave, 50_000);
        Goes::On
    }

    /// After nonsense only errors are right, and then the end; but bytes that happen to be a login
    /// or a change of user are asked for a password.
    pub(super) fn on_garbled<D: Driver>(&mut self, around: &mut Around<'_, D>) -> Option<Goes> {
        let (payload, _) = self.packet()?;
        let asks =
            AuthSwitch::parse(&payload).is_ok_and(|switch| switch.plugin.ends_with(b"_password"));
        if payload.first() != Some(&0xff) && !asks {
            self.wrong(around, &format!("nonsense was answered by {payload:?}"));
        }
        Some(Goes::On)
    }

    /// Sends commands, or only a part of them, and is gone then; `None` where it stays.
    pub(super) fn sends_and_leaves<D: Driver>(
        &mut self,
        around: &mut Around<'_, D>,
        bytes: &[u8],
    ) -> Option<Goes> {
        let left = match around.dice.below(100) {
            0 | 1 => "client: left in a command",
            2 | 3 => "client: left without a word",
            4 | 5 if self.awaits_only() => "client: says no more",
            _ => return None,
        };
        let whole = left != "client: left in a command";
        let end = if whole { bytes.len() } else { around.dice.index(bytes.len()) };
        around.io.send(self.sock, &[&bytes[..end]]);
        let shuts = left == "client: says no more" && around.io.end_sending(self.sock);
        self.shut = shuts.then(|| around.io.now());
        around.board.borrow_mut().count(left);
        Some(if shuts { Goes::On } else { Goes::Away })
    }

    /// An error in place of the greeting; false for anything else.
    pub(super) fn is_turned_away(&mut self, payload: &[u8], board: &mut Board) -> bool {
        let [ErrPacket::MARKER, low, high, ..] = payload else { return false };
        let code = u16::from_le_bytes([*low, *high]);
        if code != 1040 || board.limits.clients.is_none() {
            board.wrong(format!("{}: turned away with {code}", self.doing()));
        }
        board.count("client: turned away");
        self.phase = StayPhase::Garbled;
        true
    }

    /// Whether the connection may end like this, as far as it is not the network's or a server's
    /// fault.
    pub(super) fn expects_the_end(&self, board: &Board) -> bool {
        match self.phase {
            StayPhase::Leaving | StayPhase::Garbled | StayPhase::Unheeded => true,
            // an address of which too many logins failed is not even greeted
            StayPhase::Greeting => board.limits.failed_logins.is_some(),
            StayPhase::Login | StayPhase::Ready => self.shut.is_some(),
        }
    }

    /// Whether it has ended its side, and not long ago, and waits for answers that need not another
    /// byte of it.
    pub(super) fn is_owed_answers(&self, now: Micros) -> bool {
        let lately = |at: Micros| now.since(at) < Micros::from_ms(900);
        self.phase == StayPhase::Ready && !self.expects.is_empty() && self.shut.is_some_and(lately)
    }

    /// Whether it waits for answers, and not for being asked for more.
    fn awaits_only(&self) -> bool {
        let asked = self.expects.iter().any(Expect::asks_for_more);
        !self.expects.is_empty() && !asked && !self.model.relayed
    }
}

/// Bytes that are no packet that anybody may send now.
fn garbage(dice: &mut Dice, seq: u8) -> Vec<u8> {
    let len = dice.within(1..=60) as usize;
    let mut bytes: Vec<u8> = (0..len).map(|_| dice.below(256) as u8).collect();
    match dice.below(5) {
        // out of order
        0 => [vec![len as u8, 0, 0, 7], bytes].concat(),
        // cut short
        1 => [vec![0xff, 0xff, 0x7f, seq], bytes].concat(),
        // too long by far
        2 => [vec![0xff, 0xff, 0xff, seq], bytes].concat(),
        // an unknown command
        3 => {
            bytes[0] = 0x20 | bytes[0] & 0x4f;
            [vec![len as u8, 0, 0, seq], bytes].concat()
        }
        // fields cut short
        _ => vec![3, 0, 0, seq, code::STMT_EXECUTE, 1, 2],
    }
}
