//! Simulated clients: each stays a few times, logs in, sends commands, and holds every byte that
//! comes back against its shadow model. They know nothing of the proxy's inside.

mod login;
mod long;
mod model;
mod plan;
mod reads;
mod reply;
mod rude;
mod ruled;
mod sets;
mod statements;
mod stay;

use std::collections::BTreeMap;

use io::{Addr, Driver, Edge, Failure, Listener, Micros, Service, Sock};

use crate::board::SharedBoard;
use crate::dice::Dice;
pub(crate) use model::{PRIMARY, READERS};
use stay::Stay;

/// How clients behave.
#[derive(Clone, Copy, Debug)]
pub struct Habits {
    /// How many clients there are.
    pub clients: usize,
    /// How often each of them comes.
    pub stays: u32,
    /// Commands of a stay, at most.
    pub commands: u64,
    /// Answers may be large.
    pub large: bool,
    /// Commands may be longer than what the proxy keeps, or than it allows.
    pub long: bool,
    /// They send what query rules do something about.
    pub ruled: bool,
    /// They are alike and mostly read.
    pub crowd: bool,
    /// They prepare the same few statements and execute them over and over.
    pub drills: bool,
    /// Most of their statements are prepared ones.
    pub prepares: bool,
    /// They set variables often.
    pub sets: bool,
    /// Their statements leave warnings and errors, and they think for long.
    pub careless: bool,
    /// They leave without a word, send garbage, come under wrong names.
    pub rude: bool,
    /// They ask what others ask as well.
    pub shares: bool,
    /// They write to what these read.
    pub follows: bool,
    /// They take their time, so that what is late is.
    pub ponders: bool,
    /// The server that takes their writes is another one now and then.
    pub wander: bool,
}

/// One client.
struct Client {
    dice: Dice,
    stays_left: u32,
    stay: Option<Stay>,
}

/// All clients of a simulation.
pub struct Clients {
    to: Addr,
    habits: Habits,
    board: SharedBoard,
    list: Vec<Client>,
    socks: BTreeMap<u64, usize>,
    tags: u32,
}

/// What a timer is for; its key is the client and this.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Alarm {
    Come = 0,
    Act = 1,
    Resume = 2,
    Leave = 3,
}

fn key(client: usize, tag: u32, alarm: Alarm) -> u64 {
    (client as u64) << 40 | u64::from(tag) << 8 | alarm as u64
}

impl Clients {
    /// Clients that come as soon as [`Clients::start`] is called.
    pub fn new(to: Addr, habits: Habits, dice: &mut Dice, board: SharedBoard) -> Self {
        let list = (0..habits.clients)
            .map(|_| Client { dice: dice.split(), stays_left: habits.stays, stay: None })
            .collect();
        Self { to, habits, board, list, socks: BTreeMap::new(), tags: 0 }
    }

    /// Lets them come, one after the other.
    pub fn start<D: Driver>(&mut self, io: &mut Edge<D>) {
        for at in 0..self.list.len() {
            let after = self.list[at].dice.below(3000);
            io.set_timer(key(at, 0, Alarm::Come), Micros(io.now().0 + after));
        }
    }

    /// Whether all have gone for good.
    pub fn are_over(&self) -> bool {
        self.list.iter().all(|client| client.stays_left == 0 && client.stay.is_none())
    }

    /// What those who are still here do, for a failure's text.
    pub fn doings(&self) -> Vec<String> {
        let stays = self.list.iter().filter_map(|client| client.stay.as_ref());
        stays.map(Stay::doing).collect()
    }

    fn come<D: Driver>(&mut self, io: &mut Edge<D>, at: usize) {
        let client = &mut self.list[at];
        if client.stays_left == 0 || client.stay.is_some() {
            return;
        }
        client.stays_left -= 1;
        self.tags += 1;
        let Ok(sock) = io.connect(&self.to) else { return self.gone(io, at) };
        let stay = Stay::new(self.tags, sock, &mut client.dice, &self.habits);
        client.stay = Some(stay);
        self.socks.insert(sock.to_raw(), at);
    }

    /// A stay is over; the next one begins later.
    fn gone<D: Driver>(&mut self, io: &mut Edge<D>, at: usize) {
        let client = &mut self.list[at];
        if let Some(stay) = client.stay.take() {
            self.socks.remove(&stay.sock.to_raw());
        }
        let after = client.dice.below(5000);
        io.set_timer(key(at, 0, Alarm::Come), Micros(io.now().0 + after));
    }

    fn stay_of(&mut self, sock: Sock) -> Option<(usize, &mut Client)> {
        let at = *self.socks.get(&sock.to_raw())?;
        Some((at, self.list.get_mut(at)?))
    }

    /// Runs something of a stay, and ends the stay when that ends it.
    fn with<D: Driver>(
        &mut self,
        io: &mut Edge<D>,
        at: usize,
        run: impl FnOnce(&mut Stay, &mut stay::Around<'_, D>) -> stay::Goes,
    ) {
        let client = &mut self.list[at];
        let Some(stay) = &mut client.stay else { return };
        let mut around = stay::Around {
            io,
            client: at,
            dice: &mut client.dice,
            board: &self.board,
            habits: &self.habits,
        };
        around.board.borrow_mut().progress = around.io.now();
        if run(stay, &mut around) == stay::Goes::Away {
            let sock = stay.sock;
            io.close(sock);
            self.gone(io, at);
        }
    }
}

impl Service for Clients {
    type Mail = ();

    fn on_accepted<D: Driver>(&mut self, _: &mut Edge<D>, _: Listener, _: Sock, _: Addr) {}

    fn on_connected<D: Driver>(
        &mut self,
        io: &mut Edge<D>,
        sock: Sock,
        result: Result<(), Failure>,
    ) {
        let Some((at, _)) = self.stay_of(sock) else { return };
        if result.is_err() {
            if !self.board.borrow().losses {
                self.board.borrow_mut().wrong("the proxy refuses a connection".into());
            }
            self.gone(io, at);
        }
    }

    fn on_bytes<D: Driver>(&mut self, io: &mut Edge<D>, sock: Sock, bytes: &[u8]) -> usize {
        let Some((at, _)) = self.stay_of(sock) else { return bytes.len() };
        self.with(io, at, |stay, around| stay.on_bytes(around, bytes));
        bytes.len()
    }

    fn on_gone<D: Driver>(&mut self, io: &mut Edge<D>, sock: Sock, _: Option<Failure>) {
        let Some((at, _)) = self.stay_of(sock) else { return };
        if let Some(stay) = &self.list[at].stay {
            stay.on_gone(io.now(), &mut self.board.borrow_mut());
        }
        self.board.borrow_mut().progress = io.now();
        self.gone(io, at);
    }

    fn on_drained<D: Driver>(&mut self, _: &mut Edge<D>, _: Sock) {}

    fn on_timer<D: Driver>(&mut self, io: &mut Edge<D>, key: u64) {
        let (at, tag) = ((key >> 40) as usize, (key >> 8) as u32);
        if key & 0xff == Alarm::Come as u64 {
            return self.come(io, at);
        }
        let current = self.list[at].stay.as_ref().is_some_and(|stay| stay.tag == tag);
        if !current {
            return;
        }
        self.with(io, at, |stay, around| match key & 0xff {
            1 => stay.on_act(around),
            2 => {
                around.io.resume(stay.sock);
                stay::Goes::On
            }
            _ => stay::Goes::Away,
        });
    }

    fn on_mail<D: Driver>(&mut self, _: &mut Edge<D>, (): ()) {}
    fn on_turn_end<D: Driver>(&mut self, _: &mut Edge<D>) {}
}
