//! The service that scenarios are written with: it records everything and follows a few habits.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use io::{Addr, Codec, Driver, Edge, Failure, Listener, Service, Sock};

/// Makes the codecs of a socket, from the wire to the service.
pub type MakeCodecs = Rc<dyn Fn() -> Vec<Box<dyn Codec>>>;

pub fn no_codecs() -> MakeCodecs {
    Rc::new(Vec::new)
}

pub fn put_on<D: Driver>(io: &mut Edge<D>, sock: Sock, codecs: &MakeCodecs) {
    codecs().into_iter().for_each(|codec| io.put_on(sock, codec));
}

/// Something that was reported.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Seen {
    Accepted(Sock),
    Connected(Sock, Result<(), Failure>),
    /// And whether the other side is gone.
    HungUp(Sock, bool),
    Gone(Sock, Option<Failure>),
    Drained(Sock),
    Timer(u64),
    Mail(u64),
}

/// How the recorder treats bytes that arrive.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Habit {
    /// Takes everything.
    Take,
    /// Takes everything, and pauses behind it.
    TakeAndPause,
    /// Takes nothing.
    Leave,
    /// Sends everything back, pausing while much is not sent.
    Echo,
    /// Sends back whole frames of a little-endian length and that many bytes.
    EchoFrames,
}

pub struct Recorder {
    pub habit: Habit,
    /// What accepted sockets get.
    pub codecs: MakeCodecs,
    /// Takes so many bytes as they are, and has what is behind them decoded.
    pub upgrades_after: Option<usize>,
    /// Pauses sockets as they are accepted.
    pub pauses_accepted: bool,
    /// How many bytes it takes before it has no use for a socket whose other side has ended.
    pub stays_until: usize,
    /// What to send when the other side has ended.
    pub farewell: Vec<u8>,
    pub seen: Vec<Seen>,
    pub received: HashMap<Sock, Vec<u8>>,
    /// How many bytes `on_bytes` was offered, kept ones counted again.
    pub offered: u64,
    pub turns: u64,
    pub closed: HashSet<Sock>,
}

impl Recorder {
    pub fn new(habit: Habit) -> Self {
        Recorder {
            habit,
            codecs: no_codecs(),
            upgrades_after: None,
            pauses_accepted: false,
            stays_until: 0,
            farewell: Vec::new(),
            seen: Vec::new(),
            received: HashMap::new(),
            offered: 0,
            turns: 0,
            closed: HashSet::new(),
        }
    }

    pub fn received(&self, sock: Sock) -> &[u8] {
        self.received.get(&sock).map_or(&[], |bytes| bytes)
    }

    pub fn accepted(&self) -> Vec<Sock> {
        let accepted = self.seen.iter().filter_map(|seen| match seen {
            Seen::Accepted(sock) => Some(*sock),
            _ => None,
        });
        accepted.collect()
    }

    pub fn gone(&self, sock: Sock) -> Option<Option<Failure>> {
        self.seen.iter().find_map(|seen| match seen {
            Seen::Gone(gone, why) if *gone == sock => Some(*why),
            _ => None,
        })
    }

    pub fn connected(&self, sock: Sock) -> bool {
        self.seen.contains(&Seen::Connected(sock, Ok(())))
    }

    fn live(&self, sock: Sock) {
        assert!(!self.closed.contains(&sock), "{sock:?} was reported after it was closed");
    }
}

impl Service for Recorder {
    type Mail = u64;

    fn on_accepted<D: Driver>(&mut self, io: &mut Edge<D>, _: Listener, sock: Sock, _: Addr) {
        put_on(io, sock, &self.codecs);
        if self.pauses_accepted {
            io.pause(sock);
        }
        self.seen.push(Seen::Accepted(sock));
    }

    fn on_connected<D: Driver>(
        &mut self,
        _: &mut Edge<D>,
        sock: Sock,
        result: Result<(), Failure>,
    ) {
        self.live(sock);
        if result.is_err() {
            self.closed.insert(sock);
        }
        self.seen.push(Seen::Connected(sock, result));
    }

    fn on_bytes<D: Driver>(&mut self, io: &mut Edge<D>, sock: Sock, bytes: &[u8]) -> usize {
        self.live(sock);
        assert!(!bytes.is_empty(), "nothing was offered");
        self.offered += bytes.len() as u64;
        let mut taken = 0;
        if let Some(count) = self.upgrades_after {
            if bytes.len() < count {
                return 0;
            }
            self.upgrades_after = None;
            put_on(io, sock, &self.codecs);
            self.received.entry(sock).or_default().extend_from_slice(&bytes[..count]);
            return count;
        }
        match self.habit {
            Habit::Leave => {}
            Habit::Take => taken = bytes.len(),
            Habit::TakeAndPause => {
                taken = bytes.len();
                io.pause(sock);
            }
            Habit::Echo => {
                taken = bytes.len();
                if io.send(sock, &[bytes]) > 128 * 1024 {
                    io.pause(sock);
                }
            }
            Habit::EchoFrames => {
                while let Some((head, rest)) = bytes[taken..].split_first_chunk::<4>()
                    && let Some(frame) = rest.get(..u32::from_le_bytes(*head) as usize)
                {
                    io.queue(sock, &[head]);
                    io.queue(sock, &[frame]);
                    taken += 4 + frame.len();
                }
            }
        }
        self.received.entry(sock).or_default().extend_from_slice(&bytes[..taken]);
        taken
    }

    fn on_end<D: Driver>(&mut self, _: &mut Edge<D>, sock: Sock) -> bool {
        self.live(sock);
        self.received(sock).len() < self.stays_until
    }

    fn on_hung_up<D: Driver>(&mut self, _: &mut Edge<D>, sock: Sock, is_gone: bool) {
        self.live(sock);
        self.seen.push(Seen::HungUp(sock, is_gone));
    }

    fn on_gone<D: Driver>(&mut self, io: &mut Edge<D>, sock: Sock, why: Option<Failure>) {
        self.live(sock);
        self.closed.insert(sock);
        if !self.farewell.is_empty() {
            io.send(sock, &[&self.farewell]);
            io.close_drained(sock);
        }
        self.seen.push(Seen::Gone(sock, why));
    }

    fn on_drained<D: Driver>(&mut self, io: &mut Edge<D>, sock: Sock) {
        self.live(sock);
        if self.habit == Habit::Echo {
            io.resume(sock);
        }
        self.seen.push(Seen::Drained(sock));
    }

    fn on_timer<D: Driver>(&mut self, _: &mut Edge<D>, key: u64) {
        self.seen.push(Seen::Timer(key));
    }

    fn on_mail<D: Driver>(&mut self, _: &mut Edge<D>, mail: u64) {
        self.seen.push(Seen::Mail(mail));
    }

    fn on_turn_end<D: Driver>(&mut self, _: &mut Edge<D>) {
        self.turns += 1;
    }
}

/// Bytes that differ from place to place.
pub fn noise(seed: usize, count: usize) -> Vec<u8> {
    let mut state = seed as u64 * 0x9e37_79b9 + 1;
    let step = move |_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
        (state >> 56) as u8
    };
    (0..count).map(step).collect()
}
