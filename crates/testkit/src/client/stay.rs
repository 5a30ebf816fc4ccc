//! One stay of a simulated client: from connecting to the end, command by command.

use std::collections::VecDeque;

use io::{Driver, Edge, Micros, Sock};
use wire::Caps;
use wire::command::code;
use wire::connect::Greeting;
use wire::frame::{self, Framed};

use super::login::{self, AuthStep, Persona};
use super::model::{Effect, Model};
use super::plan::{Sending, Setting, packet};
use super::reply::{Expect, ReplyProgress};
use super::{Alarm, Habits, key};
use crate::answer::{self, Voice};
use crate::board::{Board, SharedBoard};
use crate::coverage::END_OF_ALL_SESSIONS;
use crate::dice::Dice;
use crate::mysqld::login::ACCOUNTS;

/// Whether a stay goes on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Goes {
    On,
    Away,
}

/// What the proxy says to a command that is longer than it allows.
const TOO_LONG: u16 = 1153;

/// What the proxy says when it ends all sessions.
const SHUT_DOWN: &[u8] = b"$\0\0\0\xff\x1d\x04#08S01Server shutdown in progress";

/// What a stay has around it.
pub(super) struct Around<'a, D: Driver> {
    pub(super) io: &'a mut Edge<D>,
    pub(super) client: usize,
    pub(super) dice: &'a mut Dice,
    pub(super) board: &'a SharedBoard,
    pub(super) habits: &'a Habits,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum StayPhase {
    Greeting,
    Login,
    Ready,
    /// It said good-bye and waits for the end.
    Leaving,
    /// It sent nonsense: an error and the end are right.
    Garbled,
    /// A command was too long. Whatever it sent behind that counts on it, and runs only if it
    /// arrived after the error: answers and the end are right.
    Unheeded,
}

/// One stay.
pub(super) struct Stay {
    pub(super) tag: u32,
    pub(super) sock: Sock,
    persona: Persona,
    pub(super) phase: StayPhase,
    caps: Caps,
    connection: u32,
    pub(super) model: Model,
    input: Vec<u8>,
    pub(super) expects: VecDeque<Expect>,
    /// When it ended its side.
    pub(super) shut: Option<Micros>,
    commands_left: u64,
    number: u32,
}

impl Stay {
    pub(super) fn new(tag: u32, sock: Sock, dice: &mut Dice, habits: &Habits) -> Self {
        let is_alike = habits.crowd && (habits.drills || dice.percent(90))
            || habits.shares && dice.percent(if habits.follows { 95 } else { 80 });
        let mut persona = match is_alike {
            true => Persona::of_crowd(dice),
            false => Persona::new(dice),
        };
        while habits.careless && persona.user == "fay" {
            // who has a connection for good leaves too few to the others
            persona = Persona::new(dice);
        }
        persona.garbled &= habits.rude;
        let commands = dice.within(1..=habits.commands);
        Self {
            tag,
            sock,
            model: Model::new(tag, "", "", 0, Caps::NONE),
            persona,
            phase: StayPhase::Greeting,
            caps: Caps::NONE,
            connection: 0,
            input: Vec::new(),
            expects: VecDeque::new(),
            shut: None,
            commands_left: if habits.drills { habits.commands } else { commands },
            number: 0,
        }
    }

    pub(super) fn doing(&self) -> String {
        let awaited: Vec<_> = self.expects.iter().map(|expect| expect.number).collect();
        let position = self.expects.front().map_or(0, |expect| expect.position);
        format!(
            "s{} (connection {}) {:?}, awaits {awaited:?}, {position} bytes came",
            self.tag, self.connection, self.phase
        )
    }

    pub(super) fn on_bytes<D: Driver>(&mut self, around: &mut Around<'_, D>, bytes: &[u8]) -> Goes {
        self.input.extend_from_slice(bytes);
        loop {
            if self.is_shut_down(&around.board.borrow()) {
                return Goes::On;
            }
            let goes = match self.phase {
                StayPhase::Greeting => self.on_greeting(around),
                StayPhase::Login => self.on_login(around),
                StayPhase::Ready => self.on_reply(around),
                StayPhase::Leaving => {
                    if !self.input.is_empty() {
                        self.wrong(around, "bytes came after the good-bye");
                    }
                    None
                }
                StayPhase::Garbled => self.on_garbled(around),
                StayPhase::Unheeded => {
                    self.input.clear();
                    None
                }
            };
            match goes {
                Some(Goes::Away) => return Goes::Away,
                Some(Goes::On) => {}
                None => return Goes::On,
            }
        }
    }

    /// Whether the proxy says that it ends all sessions, or begins to: between two answers.
    fn is_shut_down(&mut self, board: &Board) -> bool {
        let between = self.expects.front().is_none_or(|expect| expect.position == 0);
        let may_be = between && board.tally.contains_key(END_OF_ALL_SESSIONS);
        let says = may_be && !self.input.is_empty() && SHUT_DOWN.starts_with(&self.input);
        if says && self.input.len() == SHUT_DOWN.len() {
            self.input.clear();
        }
        says
    }

    pub(super) fn wrong<D: Driver>(&mut self, around: &Around<'_, D>, what: &str) {
        let doing = self.doing();
        around.board.borrow_mut().wrong(format!("{doing}: {what}"));
        self.input.clear();
    }

    /// The packet at the front of the input, taken out of it.
    pub(super) fn packet(&mut self) -> Option<(Vec<u8>, u8)> {
        let Framed::Packet(packet) = frame::next_packet(&self.input) else { return None };
        let found = (packet.payload.to_vec(), packet.seq);
        let len = packet.len;
        self.input.drain(..len);
        Some(found)
    }

    fn on_greeting<D: Driver>(&mut self, around: &mut Around<'_, D>) -> Option<Goes> {
        let (payload, _) = self.packet()?;
        if self.is_turned_away(&payload, &mut around.board.borrow_mut()) {
            return Some(Goes::On);
        }
        let Ok(greeting) = Greeting::parse(&payload) else {
            self.wrong(around, "the greeting cannot be read");
            return None;
        };
        self.connection = greeting.connection_id;
        self.caps = self.persona.caps.intersect(greeting.caps);
        if self.persona.garbled {
            return Some(self.garble(around, 1, "garbled login"));
        }
        around.io.send(self.sock, &[&self.persona.respond(&greeting)]);
        self.phase = StayPhase::Login;
        Some(Goes::On)
    }

    fn on_login<D: Driver>(&mut self, around: &mut Around<'_, D>) -> Option<Goes> {
        let (payload, seq) = self.packet()?;
        let persona = self.persona.clone();
        match login::step(&payload, seq, &persona.password, self.caps) {
            AuthStep::Wait => Some(Goes::On),
            AuthStep::Answer(bytes) => {
                around.io.send(self.sock, &[&bytes]);
                Some(Goes::On)
            }
            AuthStep::Welcome(status) => {
                let losses = around.board.borrow().losses;
                // where a server cannot be asked in time, the first query will tell
                let is_unchecked = losses || around.habits.wander;
                if persona.impostor || (persona.lost && !is_unchecked) {
                    self.wrong(
                        around,
                        &format!("the login of {persona:?} should have been refused"),
                    );
                }
                if persona.lost {
                    return Some(Goes::Away);
                }
                let mut board = around.board.borrow_mut();
                board.count("client: login");
                board.connections.insert(self.connection, self.tag);
                drop(board);
                self.model = Model::new(
                    self.tag,
                    &persona.user,
                    &persona.schema,
                    persona.collation.into(),
                    self.caps,
                );
                self.model.wanders = around.habits.wander;
                if status != self.model.status() {
                    self.wrong(around, &format!("{status:?} after the login"));
                }
                self.phase = StayPhase::Ready;
                Some(self.on_act(around))
            }
            AuthStep::Refused(code) => {
                let Board { losses, limits, .. } = *around.board.borrow();
                let right = match code {
                    1040 => limits.clients.is_some(),
                    1045 => persona.impostor,
                    1049 => persona.lost,
                    1226 => limits.of_account.is_some(),
                    9001 => losses,
                    _ => false,
                };
                if !right {
                    self.wrong(around, &format!("the login was refused with {code}"));
                }
                around.board.borrow_mut().count("client: refused");
                self.phase = StayPhase::Garbled;
                Some(Goes::On)
            }
            AuthStep::Nonsense => {
                self.wrong(around, "a packet of the login cannot be read");
                None
            }
        }
    }

    /// Time to send something.
    pub(super) fn on_act<D: Driver>(&mut self, around: &mut Around<'_, D>) -> Goes {
        if self.phase != StayPhase::Ready || !self.expects.is_empty() || self.shut.is_some() {
            return Goes::On;
        }
        if self.commands_left == 0 {
            return self.leave(around);
        }
        self.commands_left -= 1;
        if around.habits.rude && !self.model.relayed && around.dice.percent(2) {
            return self.garble(around, 0, "garbled command");
        }
        let mut bytes = Vec::new();
        self.send(around, &mut bytes, false);
        // reads change nothing, so their answers need not be waited for
        let harmless = self.model.autocommit && self.model.cursor.is_none();
        let calm = !self.model.must_roll_back && self.expects.iter().all(Expect::is_harmless);
        if harmless && calm && around.dice.percent(15) {
            around.board.borrow_mut().count("client: pipelined");
            for _ in 0..around.dice.within(1..=4) {
                self.send(around, &mut bytes, true);
            }
        }
        if around.habits.rude
            && let Some(goes) = self.sends_and_leaves(around, &bytes)
        {
            return goes;
        }
        around.io.send(self.sock, &[&bytes]);
        if around.dice.percent(10) {
            around.io.pause(self.sock);
            self.alarm(around, Alarm::Resume, 50_000);
        }
        if self.expects.is_empty() { self.later(around) } else { Goes::On }
    }

    pub(super) fn alarm<D: Driver>(
        &self,
        around: &mut Around<'_, D>,
        alarm: Alarm,
        at_most_us: u64,
    ) {
        let after = 1 + around.dice.below(at_most_us);
        let at = Micros(around.io.now().0 + after);
        around.io.set_timer(key(around.client, self.tag, alarm), at);
    }

    /// Acts again, at once or after a while.
    fn later<D: Driver>(&mut self, around: &mut Around<'_, D>) -> Goes {
        let at_most_us = match around.dice.below(100) {
            // they have few connections to share
            _ if around.habits.drills => 1,
            1..=25 if around.habits.careless => 30_000_000,
            1..=70 if around.habits.ponders => 60_000,
            0 => 15_000_000,
            1..=30 => 10_000,
            _ => 1,
        };
        self.alarm(around, Alarm::Act, at_most_us);
        Goes::On
    }

    /// Adds a command to what is sent.
    fn send<D: Driver>(&mut self, around: &mut Around<'_, D>, bytes: &mut Vec<u8>, read: bool) {
        self.number += 1;
        let connections: Vec<u32> = around.board.borrow().connections.keys().copied().collect();
        let told = std::mem::take(&mut around.board.borrow_mut().told);
        let setting = Setting {
            model: &self.model,
            number: self.number,
            now: around.io.now(),
            connections: &connections,
            own_connection: self.connection,
            large: around.habits.large,
            long: around.habits.long && !self.model.relayed,
            ruled: around.habits.ruled && !self.model.relayed,
            prepares: around.habits.prepares,
            drills: around.habits.drills,
            sets: around.habits.sets,
            careless: around.habits.careless,
            stored_code: around.board.borrow().stored_code,
            losses: around.board.borrow().losses,
            told: &told,
            follows: around.habits.follows,
        };
        let often = if setting.drills { 95 } else { 80 };
        let crowds = around.habits.crowd && self.model.is_at_ease() && around.dice.percent(often);
        let often_shares = if around.habits.follows { 75 } else { 50 };
        let shares = around.habits.shares && self.model.shares();
        let shares = shares && around.dice.percent(often_shares);
        let writes = around.habits.follows && !read && self.model.is_at_ease();
        let writes = writes && !self.model.relayed && around.dice.percent(30);
        let sending = match (read, crowds) {
            _ if shares => setting.shared(around.dice),
            _ if writes => setting.write(around.dice),
            // while data for a statement waits on a connection, others are free to share theirs
            (false, true) if self.model.is_littered() && around.dice.percent(50) => {
                setting.read(around.dice)
            }
            (false, true) if setting.drills => setting.drill(around.dice),
            (false, true) if setting.prepares && around.dice.percent(60) => {
                setting.of_statement(around.dice)
            }
            (false, true) if around.dice.percent(5) => setting.odd_read(around.dice),
            (false, false) => setting.any(around.dice),
            _ => setting.read(around.dice),
        };
        around.board.borrow_mut().told = told;
        let Sending { bytes: more, expect, name, kills, closes, litters, sticks } = sending;
        self.model.stuck |= sticks;
        bytes.extend_from_slice(&more);
        let mut board = around.board.borrow_mut();
        board.count(name);
        let (tag, number) = (self.tag, self.number);
        board.tell(|| format!("s{tag} sends q{number}: {name}: {}", more.escape_ascii()));
        if let Some(tag) = kills.and_then(|id| board.connections.get(&id).copied()) {
            board.kills_asked.insert(tag);
        }
        drop(board);
        if let Some(closed) = closes {
            self.model.handles.retain(|handle| handle.id != closed);
        }
        self.model.litter(litters, true);
        self.expects.extend(expect);
    }

    fn leave<D: Driver>(&mut self, around: &mut Around<'_, D>) -> Goes {
        around.io.send(self.sock, &[&packet(code::QUIT, &[])]);
        self.phase = StayPhase::Leaving;
        Goes::On
    }

    fn on_reply<D: Driver>(&mut self, around: &mut Around<'_, D>) -> Option<Goes> {
        if self.input.is_empty() {
            return None;
        }
        let Some(expect) = self.expects.front_mut() else {
            let bytes = self.input.escape_ascii().to_string();
            self.wrong(around, &format!("nothing was asked, but this came: {bytes}"));
            return None;
        };
        if expect.change_user.is_some() {
            return self.on_change_user(around);
        }
        if let Some(shared) = expect.shared.as_ref().filter(|_| expect.position == 0) {
            let (caps, status) = (self.model.caps, self.model.status());
            expect.candidates = shared.right(&around.board.borrow(), caps, status);
        }
        let (taken, outcome) = expect.take(&self.input);
        self.input.drain(..taken);
        match outcome {
            ReplyProgress::More => return None,
            ReplyProgress::Wrong(what) => {
                self.wrong(around, &what);
                return None;
            }
            ReplyProgress::Done => self.done(around),
            ReplyProgress::Error { code, message } => self.on_error(around, code, &message),
        }
        Some(self.next(around))
    }

    fn next<D: Driver>(&mut self, around: &mut Around<'_, D>) -> Goes {
        if self.expects.is_empty() && self.phase == StayPhase::Ready {
            return self.later(around);
        }
        Goes::On
    }

    /// The right answer is complete.
    fn done<D: Driver>(&mut self, around: &mut Around<'_, D>) {
        let Some(mut expect) = self.expects.pop_front() else { return };
        if let Some(meta) = expect.file.take() {
            return self.send_file(around, &meta, expect);
        }
        let mut board = around.board.borrow_mut();
        board.count("client: answered");
        if let Some(data) = &mut board.data {
            data.acknowledge((self.tag, expect.number), around.io.now());
        }
        board.tell(|| format!("s{} has the answer to q{}", self.tag, expect.number));
        if let Some(shared) = &expect.shared {
            let voice = (self.model.caps, self.model.status());
            let told = shared.kept_since(&board, voice, &expect.candidates);
            if let Some(at) = told.filter(|_| self.model.is_plain) {
                let of_it = (shared.question.clone(), shared.home.clone(), self.model.caps.0);
                let last = board.told.entry(of_it).or_default();
                *last = at.max(*last);
            }
        }
        drop(board);
        self.model.warned = 0;
        self.model.counts = expect.counts;
        let begins = |effect: &Effect| matches!(effect, Effect::Reset | Effect::User(_));
        if expect.effects.iter().any(begins) {
            around.board.borrow_mut().anew.insert(self.tag, expect.number);
        }
        for effect in &mut expect.effects {
            if let Effect::Prepared(handle) = effect {
                let id = expect.masked.first_chunk().copied().unwrap_or_default();
                handle.id = u32::from_le_bytes(id);
            }
            self.model.apply(effect);
        }
    }

    fn send_file<D: Driver>(
        &mut self,
        around: &mut Around<'_, D>,
        meta: &crate::meta::Meta,
        expect: Expect,
    ) {
        let file = answer::file(meta);
        let mut bytes = Vec::new();
        let mut seq = 2;
        for piece in file.chunks(1000) {
            frame::write_packet(&mut bytes, &mut seq, piece);
        }
        frame::write_packet(&mut bytes, &mut seq, b"");
        around.io.send(self.sock, &[&bytes]);
        let status = self.model.after(&expect.effects).status();
        let servers = self.model.servers(meta, false);
        let candidates = servers
            .iter()
            .map(|server| {
                let voice =
                    Voice { server, caps: self.caps, binary: false, status, changed: false };
                answer::file_taken(meta, &voice, seq)
            })
            .collect();
        let next = Expect { candidates, position: 0, ..expect };
        self.expects.push_front(next);
    }

    /// An error that no server would have given.
    fn on_error<D: Driver>(&mut self, around: &mut Around<'_, D>, code: u16, message: &str) {
        let Some(expect) = self.expects.pop_front() else { return };
        let mut board = around.board.borrow_mut();
        board.count("client: answered by an error");
        let number = expect.number;
        board.tell(|| format!("s{} has for q{number}: {code} {message}", self.tag));
        self.model.warned = 0;
        self.model.counts = None;
        let right = expect.error == Some(code)
            || match code {
                1094 | 1095 => expect.kills,
                1243 | 1615 => expect.may_be_lost,
                1317 => board.kills_asked.contains(&self.tag),
                1158 | 2013 | 9001 => board.losses,
                // code that could not be read counts as able to tie its session where it ran
                9006 => board.losses && self.model.stuck,
                _ => false,
            };
        drop(board);
        // the rules were asked, whatever came of the statement
        // and types that were sent are not sent again
        let lasting = |effect: &&Effect| matches!(effect, Effect::Flagged(_) | Effect::Typed(..));
        expect.effects.iter().filter(lasting).for_each(|effect| self.model.apply(effect));
        if !right {
            let number = expect.number;
            self.wrong(around, &format!("q{number} was answered by {code}: {message}"));
        }
        if code == TOO_LONG && !self.expects.is_empty() {
            self.expects.clear();
            self.phase = StayPhase::Unheeded;
            self.alarm(around, Alarm::Leave, 50_000);
        }
    }

    fn on_change_user<D: Driver>(&mut self, around: &mut Around<'_, D>) -> Option<Goes> {
        let (payload, seq) = self.packet()?;
        let expect = self.expects.front()?;
        let user = expect.change_user.clone()?;
        let password = ACCOUNTS.iter().find(|(name, _)| *name == user).map_or("", |(_, p)| p);
        match login::step(&payload, seq, password, self.caps) {
            AuthStep::Wait => {}
            AuthStep::Answer(bytes) => {
                around.io.send(self.sock, &[&bytes]);
            }
            AuthStep::Welcome(status) => {
                self.done(around);
                if status != self.model.status() {
                    self.wrong(around, &format!("{status:?} after a change of user"));
                }
                return Some(self.next(around));
            }
            AuthStep::Refused(1226) if around.board.borrow().limits.of_account.is_some() => {
                self.expects.clear();
                self.phase = StayPhase::Garbled;
            }
            other => self.wrong(around, &format!("a change of user led to {other:?}")),
        }
        Some(Goes::On)
    }

    /// The proxy closed the connection.
    pub(super) fn on_gone(&self, now: Micros, board: &mut Board) {
        board.tell(|| format!("s{} sees the end", self.tag));
        let expected = self.expects_the_end(board);
        let killed = board.kills_asked.contains(&self.tag);
        if !(expected || killed || board.losses) {
            board.wrong(format!("{}: the connection was closed", self.doing()));
        }
        if self.is_owed_answers(now) && !(killed || board.losses) {
            board.wrong(format!("{}: the end in place of an answer", self.doing()));
        }
        let begun = self.expects.front().is_none_or(|expect| expect.may_begin(&self.input));
        if self.phase == StayPhase::Ready && !begun {
            board.wrong(format!("{}: wrong bytes, then the end", self.doing()));
        }
        board.connections.remove(&self.connection);
    }
}
