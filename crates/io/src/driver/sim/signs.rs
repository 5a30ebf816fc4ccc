//! What the simulated network would report to which loop, and when: readiness of ends and places.
//! Deliberately changes nothing.

use super::wires::{Segment, WireEnd, WireStage, Wires};
use crate::micros::Micros;
use crate::sockets::{Listener, Sock};

/// What an operation would do now or later.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum When {
    Now,
    At(Micros),
    Never,
}

impl When {
    pub(super) fn arrived(at: Micros, now: Micros) -> When {
        if at <= now { When::Now } else { When::At(at) }
    }

    fn or(self, other: When) -> When {
        match (self, other) {
            (When::Now, _) | (_, When::Now) => When::Now,
            (When::At(one), When::At(two)) => When::At(one.min(two)),
            (When::Never, when) | (when, When::Never) => when,
        }
    }
}

/// Something a driver would report.
#[derive(Copy, Clone, Debug)]
pub(super) enum Sign {
    Acceptable(Listener),
    Ready { sock: Sock, readable: bool, writable: bool, ended: bool },
}

impl Wires {
    fn stalled(&self, end: &WireEnd) -> Option<Micros> {
        let found = self.stalls.iter().find(|(addr, until)| *addr == end.to && *until > self.now);
        found.map(|&(_, until)| until)
    }

    pub(super) fn readable(&self, id: usize) -> When {
        let Some(end) = self.ends.get(&id) else { return When::Never };
        if end.stage != WireStage::Open {
            return When::Never;
        }
        if let Some(until) = self.stalled(end) {
            return When::At(until);
        }
        let bytes = end.inbox.front().map(|segment| segment.at.max(end.rests_until));
        let closing = end.end.filter(|_| end.inbox.is_empty()).map(|(at, _)| at);
        match bytes.or(closing) {
            Some(at) => When::arrived(at, self.now),
            None => When::Never,
        }
    }

    /// When the end of what the other side sends is to be told, whatever came before it.
    fn untold_end(&self, end: &WireEnd) -> When {
        match end.end {
            Some((at, errno)) if end.told != Some(errno) => {
                When::arrived(self.stalled(end).map_or(at, |until| until.max(at)), self.now)
            }
            _ => When::Never,
        }
    }

    fn writable(&self, end: &WireEnd) -> When {
        if let WireStage::Connecting(at, _) = end.stage {
            let at = self.stalled(end).map_or(at, |until| until.max(at));
            return When::arrived(at, self.now);
        }
        let broken = match end.end {
            Some((at, errno)) if errno != 0 => When::arrived(at, self.now),
            _ => When::Never,
        };
        let room = self.ends.get(&end.other).is_none_or(|receiver| {
            receiver.stage == WireStage::Closed || receiver.inbox_bytes < receiver.window
        });
        if room { When::Now } else { broken }
    }

    pub(super) fn unread(&self, id: usize) -> usize {
        let Some(end) = self.ends.get(&id) else { return 0 };
        end.inbox.iter().filter(|s| s.at <= self.now).map(Segment::len).sum()
    }

    /// When a driver's next sign comes.
    pub(super) fn first_sign(&mut self, owner: usize) -> When {
        let known = self.drivers.get(owner).and_then(|reach| reach.first);
        match known {
            Some(When::At(at)) => When::arrived(at, self.now),
            Some(when) => when,
            None => {
                let first = self.signs(owner, &mut Vec::new());
                if let Some(reach) = self.drivers.get_mut(owner) {
                    reach.first = Some(first);
                }
                first
            }
        }
    }

    /// What a driver would report, and when the first of it happens.
    pub(super) fn signs(&self, owner: usize, signs: &mut Vec<Sign>) -> When {
        let mut first = When::Never;
        for place in self.places.values().filter(|place| place.owner == owner && place.on) {
            if let (Some(&(at, _)), Some(listener)) = (place.queue.front(), place.listener) {
                let when = When::arrived(at, self.now);
                first = first.or(when);
                if when == When::Now {
                    signs.push(Sign::Acceptable(listener));
                }
            }
        }
        let owned = self.drivers.get(owner).map(|reach| &reach.ends);
        for id in owned.into_iter().flatten() {
            let Some(end) = self.ends.get(id) else { continue };
            let Some(sock) = end.sock else { continue };
            let read = if end.interest.read { self.readable(*id) } else { When::Never };
            let write = if end.interest.write { self.writable(end) } else { When::Never };
            let ended = if end.interest.is_end() { self.untold_end(end) } else { When::Never };
            first = first.or(read).or(write).or(ended);
            if [read, write, ended].contains(&When::Now) {
                let ended = ended == When::Now;
                let is_gone = ended && end.end.is_some_and(|(_, errno)| errno != 0);
                let (readable, writable) = (read == When::Now || is_gone, write == When::Now);
                signs.push(Sign::Ready { sock, readable, writable, ended });
            }
        }
        first
    }
}
