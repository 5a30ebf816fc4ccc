//! The simulated network's state: ends of connections and what is on its way between them.
//! Deliberately knows no loops: owners are numbers.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::os::fd::RawFd;

use super::faults::{Dice, Faults};
use super::places::Place;
use super::signs::When;
use crate::addr::Addr;
use crate::driver::Interest;
use crate::micros::Micros;
use crate::sockets::Sock;

/// Bytes on their way or arrived.
#[derive(Debug)]
pub(super) struct Segment {
    pub(super) at: Micros,
    bytes: Vec<u8>,
    /// How many of the bytes were received.
    taken: usize,
}

impl Segment {
    pub(super) fn len(&self) -> usize {
        self.bytes.len() - self.taken
    }
}

/// Where an end stands.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum WireStage {
    /// The answer to the connect arrives at the moment: 0 or a failure.
    Connecting(Micros, i32),
    Open,
    Closed,
}

/// One end of a connection.
#[derive(Debug)]
pub(super) struct WireEnd {
    pub(super) stage: WireStage,
    /// The driver and its name for the socket, once it is registered.
    pub(super) owner: usize,
    pub(super) sock: Option<Sock>,
    pub(super) interest: Interest,
    pub(super) other: usize,
    /// The address of the listener that this connection goes to.
    pub(super) to: Addr,
    pub(super) inbox: VecDeque<Segment>,
    pub(super) inbox_bytes: usize,
    pub(super) window: usize,
    /// When the stream ends, with 0 or the failure that ends it.
    pub(super) end: Option<(Micros, i32)>,
    /// Which end was told since its interest changed.
    pub(super) told: Option<i32>,
    /// It announced that it sends nothing more.
    shut: bool,
    slow: bool,
    pub(super) rests_until: Micros,
}

/// What belongs to one driver.
#[derive(Debug, Default)]
pub(super) struct DriverEnds {
    pub(super) ends: BTreeSet<usize>,
    /// When its next sign comes; unknown after anything of its ends changed.
    pub(super) first: Option<When>,
}

/// Everything between the loops.
#[derive(Debug)]
pub(super) struct Wires {
    pub(super) now: Micros,
    pub(super) dice: Dice,
    pub(super) faults: Faults,
    pub(super) drivers: Vec<DriverEnds>,
    pub(super) ends: BTreeMap<usize, WireEnd>,
    pub(super) places: BTreeMap<usize, Place>,
    pub(super) stalls: Vec<(Addr, Micros)>,
    pub(super) stopped: Vec<Addr>,
    /// Ends between two drivers, by the number of what stands for them.
    between: BTreeMap<RawFd, usize>,
    made: usize,
}

impl Wires {
    pub(super) fn new(seed: u64, faults: Faults) -> Self {
        Wires {
            now: Micros(1_000_000),
            dice: Dice::new(seed),
            faults,
            drivers: Vec::new(),
            ends: BTreeMap::new(),
            places: BTreeMap::new(),
            stalls: Vec::new(),
            stopped: Vec::new(),
            between: BTreeMap::new(),
            made: 0,
        }
    }

    pub(super) fn add_driver(&mut self) -> usize {
        self.drivers.push(DriverEnds::default());
        self.drivers.len() - 1
    }

    /// Something about an end changed: what its driver and the other's would report is unknown.
    fn touch(&mut self, id: usize) {
        let Some(end) = self.ends.get(&id) else { return };
        let other = self.ends.get(&end.other).map(|end| end.owner);
        for owner in [Some(end.owner), other].into_iter().flatten() {
            self.touch_driver(owner);
        }
    }

    pub(super) fn touch_driver(&mut self, owner: usize) {
        if let Some(reach) = self.drivers.get_mut(owner) {
            reach.first = None;
        }
    }

    pub(super) fn touch_place(&mut self, id: usize) {
        if let Some(owner) = self.places.get(&id).map(|place| place.owner) {
            self.touch_driver(owner);
        }
    }

    fn touch_all(&mut self) {
        self.drivers.iter_mut().for_each(|reach| reach.first = None);
    }

    pub(super) fn fresh(&mut self) -> usize {
        self.made += 1;
        self.made
    }

    pub(super) fn delay(&mut self) -> Micros {
        Micros(self.dice.within(&self.faults.delay_us))
    }

    pub(super) fn connect(&mut self, owner: usize, to: &Addr) -> usize {
        let (client, server) = (self.fresh(), self.fresh());
        let open: Vec<usize> = if self.stopped.contains(to) {
            Vec::new()
        } else {
            self.places.iter().filter(|(_, at)| at.addr == *to).map(|(id, _)| *id).collect()
        };
        let arrives = self.now + self.delay();
        let answered = arrives + self.delay();
        let refused = open.is_empty() || self.dice.percent(self.faults.refuse_percent);
        let errno = if refused { libc::ECONNREFUSED } else { 0 };
        let stage = WireStage::Connecting(answered, errno);
        self.add_end(client, owner, server, to, stage);
        if !refused {
            self.add_end(server, usize::MAX, client, to, WireStage::Open);
            let chosen = open.get(self.dice.index(open.len())).copied().unwrap_or_default();
            if let Some(place) = self.places.get_mut(&chosen) {
                place.queue.push_back((arrives, server));
            }
            self.touch_place(chosen);
        }
        client
    }

    fn add_end(&mut self, id: usize, owner: usize, other: usize, to: &Addr, stage: WireStage) {
        let range = &self.faults.window_bytes;
        let window = self.dice.within(&(*range.start() as u64..=*range.end() as u64));
        let window = usize::try_from(window).unwrap_or(usize::MAX);
        let slow = self.dice.percent(self.faults.slow_percent);
        let end = WireEnd {
            stage,
            owner,
            sock: None,
            interest: Interest::NONE,
            other,
            to: to.clone(),
            inbox: VecDeque::new(),
            inbox_bytes: 0,
            window: window.max(1),
            end: None,
            told: None,
            shut: false,
            slow,
            rests_until: Micros(0),
        };
        self.ends.insert(id, end);
    }

    pub(super) fn register(&mut self, id: usize, owner: usize, sock: Sock, interest: Interest) {
        if let Some(end) = self.ends.get_mut(&id) {
            end.owner = owner;
            end.sock = Some(sock);
            end.interest = interest;
            end.told = None;
        }
        if let Some(reach) = self.drivers.get_mut(owner) {
            reach.ends.insert(id);
        }
        self.touch(id);
    }

    /// The end of a stream is told to its driver.
    pub(super) fn note_told(&mut self, owner: usize, sock: Sock) {
        let mut ends = self.ends.values_mut();
        if let Some(end) = ends.find(|end| end.owner == owner && end.sock == Some(sock)) {
            end.told = end.end.map(|(_, errno)| errno);
        }
        self.touch_driver(owner);
    }

    /// A driver has an end no more; another one may take it over by what stands for it.
    pub(super) fn let_go(&mut self, id: usize, token: RawFd) {
        self.touch(id);
        if let Some(end) = self.ends.get_mut(&id) {
            if let Some(reach) = self.drivers.get_mut(end.owner) {
                reach.ends.remove(&id);
            }
            (end.owner, end.sock, end.interest) = (usize::MAX, None, Interest::NONE);
        }
        // a number is free again when nobody took over what it stood for
        if let Some(lost) = self.between.insert(token, id) {
            self.close(lost);
        }
    }

    /// The end that this stands for; it has to be registered.
    pub(super) fn take_over(&mut self, token: RawFd) -> Option<usize> {
        self.between.remove(&token)
    }

    /// How many ends of connections to `to` are between two drivers.
    pub(super) fn count_between(&self, to: &Addr) -> usize {
        let ends = self.between.values().filter_map(|id| self.ends.get(id));
        ends.filter(|end| end.to == *to).count()
    }

    /// The failure a connect ended with; completes a connect that succeeded.
    pub(super) fn pending_error(&mut self, id: usize) -> i32 {
        self.touch(id);
        let Some(end) = self.ends.get_mut(&id) else { return libc::ECONNRESET };
        if let WireStage::Connecting(_, errno) = end.stage {
            if errno == 0 {
                end.stage = WireStage::Open;
            }
            return errno;
        }
        0
    }

    pub(super) fn recv(&mut self, id: usize, into: &mut [u8]) -> Result<usize, i32> {
        match self.readable(id) {
            When::Now => {}
            _ => return Err(libc::EAGAIN),
        }
        let now = self.now;
        self.touch(id);
        let cut = self.dice.percent(self.faults.cut_percent);
        let Some(end) = self.ends.get_mut(&id) else { return Err(libc::EBADF) };
        let there: usize = end.inbox.iter().filter(|s| s.at <= now).map(Segment::len).sum();
        if there == 0 {
            let errno = end.end.map_or(0, |(_, errno)| errno);
            return if errno == 0 { Ok(0) } else { Err(errno) };
        }
        let mut count = there.min(into.len());
        if end.slow {
            count = count.min(self.faults.slow_bytes.max(1));
            end.rests_until = now + Micros(self.faults.slow_rest_us);
        }
        if cut {
            count = self.dice.part(count);
        }
        let mut filled = 0;
        while filled < count
            && let Some(segment) = end.inbox.front_mut()
        {
            let taken = segment.len().min(count - filled);
            let room = into.iter_mut().skip(filled).take(taken);
            let from = segment.bytes.iter().skip(segment.taken);
            room.zip(from).for_each(|(to, from)| *to = *from);
            segment.taken += taken;
            filled += taken;
            if segment.len() == 0 {
                end.inbox.pop_front();
            }
        }
        end.inbox_bytes -= filled;
        Ok(filled)
    }

    pub(super) fn send(&mut self, id: usize, parts: &[&[u8]]) -> Result<usize, i32> {
        if self.dice.per_million(self.faults.kill_per_million) {
            self.break_connection(id);
        }
        let now = self.now;
        let Some(end) = self.ends.get(&id) else { return Err(libc::EBADF) };
        if let Some((at, errno)) = end.end
            && at <= now
            && errno != 0
        {
            return Err(errno);
        }
        if end.shut {
            return Err(libc::EPIPE);
        }
        let other = end.other;
        let whole: usize = parts.iter().map(|part| part.len()).sum();
        let Some(receiver) = self.ends.get(&other).filter(|end| end.stage != WireStage::Closed)
        else {
            // as with real sockets, the first bytes to a closed end are taken and answered by a
            // reset
            let at = now + self.delay();
            self.set_end(id, at, libc::ECONNRESET);
            return Ok(whole);
        };
        let room = receiver.window.saturating_sub(receiver.inbox_bytes);
        if room == 0 {
            return Err(libc::EAGAIN);
        }
        let mut count = whole.min(room);
        if self.dice.percent(self.faults.short_send_percent) {
            count = self.dice.part(count);
        }
        let mut bytes = Vec::with_capacity(count);
        for part in parts {
            bytes.extend(part.iter().take(count - bytes.len()));
        }
        self.carry(other, bytes);
        Ok(count)
    }

    fn carry(&mut self, to: usize, bytes: Vec<u8>) {
        let at = self.now + self.delay();
        self.touch(to);
        let Some(end) = self.ends.get_mut(&to) else { return };
        if bytes.is_empty() || end.end.is_some() {
            return;
        }
        // bytes never overtake
        let at = end.inbox.back().map_or(at, |last| at.max(last.at));
        end.inbox_bytes += bytes.len();
        end.inbox.push_back(Segment { at, bytes, taken: 0 });
    }

    /// Ends a stream once everything sent before has arrived, unless it has ended already.
    fn set_end(&mut self, id: usize, at: Micros, errno: i32) {
        self.touch(id);
        let Some(end) = self.ends.get_mut(&id) else { return };
        let at = end.inbox.back().map_or(at, |last| at.max(last.at));
        match end.end {
            Some((_, before)) if before != 0 || errno == 0 => {}
            _ => end.end = Some((at, errno)),
        }
    }

    pub(super) fn shutdown_send(&mut self, id: usize) {
        let at = self.now + self.delay();
        let Some(end) = self.ends.get_mut(&id) else { return };
        end.shut = true;
        let other = end.other;
        self.set_end(other, at, 0);
    }

    /// Closes an end. Bytes it had not read make the other end see a reset, as the system does.
    pub(super) fn close(&mut self, id: usize) {
        let at = self.now + self.delay();
        let now = self.now;
        self.touch(id);
        let Some(end) = self.ends.get_mut(&id) else { return };
        if end.stage == WireStage::Closed {
            return;
        }
        if let Some(reach) = self.drivers.get_mut(end.owner) {
            reach.ends.remove(&id);
        }
        end.stage = WireStage::Closed;
        end.sock = None;
        let unread = end.inbox.iter().any(|segment| segment.at <= now);
        end.inbox.clear();
        end.inbox_bytes = 0;
        let other = end.other;
        self.set_end(other, at, if unread { libc::ECONNRESET } else { 0 });
        if self.ends.get(&other).is_none_or(|end| end.stage == WireStage::Closed) {
            self.ends.remove(&other);
            self.ends.remove(&id);
        }
    }

    /// Breaks a connection: both ends see a reset; what was on its way arrives or not.
    fn break_connection(&mut self, id: usize) {
        let now = self.now;
        let lose = self.dice.percent(50);
        self.touch(id);
        let Some(other) = self.ends.get(&id).map(|end| end.other) else { return };
        for id in [id, other] {
            let Some(end) = self.ends.get_mut(&id) else { continue };
            if lose {
                end.inbox.retain(|segment| segment.at <= now);
                end.inbox_bytes = end.inbox.iter().map(Segment::len).sum();
            }
            let at = end.inbox.back().map_or(now, |last| now.max(last.at));
            end.end = Some((at, libc::ECONNRESET));
            if let WireStage::Connecting(at, _) = end.stage {
                end.stage = WireStage::Connecting(at, libc::ECONNRESET);
            }
        }
    }

    /// Breaks all connections to `to`; says how many.
    pub(super) fn kill(&mut self, to: &Addr) -> usize {
        let clients: Vec<usize> = self
            .ends
            .iter()
            .filter(|(id, end)| end.to == *to && **id < end.other && end.stage != WireStage::Closed)
            .map(|(id, _)| *id)
            .collect();
        for id in &clients {
            self.break_connection(*id);
        }
        clients.len()
    }

    pub(super) fn stall(&mut self, to: &Addr, until: Micros) {
        self.stalls.retain(|(addr, _)| addr != to);
        self.stalls.push((to.clone(), until));
        self.touch_all();
    }
}
