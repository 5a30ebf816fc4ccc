//! What follows the servers' logs in a simulation: the product's own decisions (`following`), told
//! by streams that are late, break and begin anew, and by servers that are asked.
//!
//! In place of threads there are events in virtual time. What each of them is told is looked up
//! where a server would: a moment after it was asked, and a moment before that is known.

mod kind;
mod places;

use std::collections::BTreeMap;
use std::sync::Arc;

use binlog::{LogChange, Noted, Position, Why};
use cache::Follows;
use engine::caching::server_key;
use engine::ids::HostgroupId;
use engine::snapshot::Snapshot;
use following::{
    FollowedGroup, FollowedLog, LogAnswers, LogQuestions, LogStand, Pulse, Visible, writers_of,
};
use io::Micros;
use keeper::gtid_sets::GtidSet;

pub use self::kind::SimFollowing;
use self::places::{
    begin, binlogged, cascades, end_of, end_of_entry, executed, gtid_of, maria_set, may_answer,
    place_of, place_of_event,
};
use crate::board::Board;
use crate::data::{Followable, LogEntry, LoggedAs, SCHEMA, TABLES};
use crate::dice::Dice;
use crate::mysqld::SERVERS;
use crate::planted::Planted;

/// The pause between the beginnings of two pulses, as in the product.
const PULSE_EVERY_US: u64 = 25_000;

/// How long before answers are told no more the next one begins where nothing happens.
const PULSE_AHEAD_US: u64 = 25_000;

/// How often it is looked whether a pulse is late.
const LOOK_EVERY_US: u64 = 10_000;

/// How long a question to a server is on its way, or its answer, at most.
const ASK_US: u64 = 600;

/// How long the end of an XA transaction may be hidden; there are none.
const HIDDEN: Micros = Micros(0);

/// All that is followed.
pub(super) struct SimFollower {
    kind: SimFollowing,
    dice: Dice,
    bug: Option<Planted>,
    logs: Vec<SimLog>,
    groups: BTreeMap<u32, SimGroup>,
    due: BTreeMap<(Micros, u64), Due>,
    numbers: u64,
    /// The configuration that is relied on.
    snapshot: Arc<Snapshot>,
    next: Option<(Arc<Snapshot>, u64)>,
    activity: u64,
}

/// The stream of a server.
struct SimLog {
    log: FollowedLog,
    key: u64,
    /// Goes up with each connection: what came by another is nobody's.
    connection: u64,
    /// The next entry of the log, and which of its events.
    next: (usize, usize),
    is_cut: bool,
    /// One is on its way.
    delivers: bool,
    asks: bool,
}

/// A hostgroup.
struct SimGroup {
    group: Arc<FollowedGroup>,
    streams: Vec<usize>,
    pulse: Option<Pulse>,
    /// Who was written to by the configuration that is relied on.
    writers: Option<Vec<usize>>,
    /// Its streams were told of the pulse.
    is_awaited: bool,
    /// Until when answers are told unless another pulse is passed.
    good_until: Micros,
    began: Micros,
    /// When the next pulse begins, and the number of the event that does so.
    next: (Micros, u64),
}

/// What happens at a moment.
#[derive(Debug)]
enum Due {
    /// A log is read from its end on.
    Begin(usize),
    Stands(usize, u64, Position, usize),
    /// An event arrives.
    Event(usize, u64),
    /// A server is asked, hears that, and its answer arrives.
    Ask(usize, u64),
    Hears(usize, u64, LogQuestions, usize),
    Says(usize, u64, LogQuestions, LogAnswers, Vec<usize>),
    /// The writers of a hostgroup are asked, hear that, and their answers arrive.
    Pulse(u32),
    PulseHeard(u32, u64),
    PulseSaid(u32, u64, Option<GtidSet>),
    /// All streams may have passed the pulse.
    Passed(u32, u64),
    Look(u32),
    /// The configuration is another one.
    Adopt,
}

impl SimFollower {
    /// Follows what the hostgroups 0 and 1 have, from now on.
    pub(super) fn new(
        kind: SimFollowing,
        (snapshot, follows): (&Arc<Snapshot>, &Follows),
        mut dice: Dice,
        bug: Option<Planted>,
    ) -> Self {
        let log = |server: usize| SimLog {
            log: FollowedLog::default(),
            key: server_key(&format!("10.0.0.{}", server + 1), 3306),
            connection: 0,
            next: (0, 0),
            is_cut: true,
            delivers: false,
            asks: false,
        };
        let group = |hostgroup: u32| {
            let followed = follows.of(hostgroup);
            // another run may have left it standing
            followed.fall();
            let group = Arc::new(FollowedGroup::new(hostgroup, followed));
            group.allow_lag(Micros::from_ms(kind.lag_max_ms));
            let (streams, pulse, writers, is_awaited) = Default::default();
            let (good_until, began, next) = Default::default();
            (
                hostgroup,
                SimGroup { group, streams, pulse, writers, is_awaited, good_until, began, next },
            )
        };
        let mut own = Self {
            kind,
            dice: dice.split(),
            bug,
            logs: (0..SERVERS).map(log).collect(),
            groups: [0, 1].into_iter().map(group).collect(),
            due: BTreeMap::new(),
            numbers: 0,
            snapshot: snapshot.clone(),
            next: Some((snapshot.clone(), follows.moves())),
            activity: 0,
        };
        own.plan(Micros(0), Due::Adopt);
        for server in 0..SERVERS {
            own.plan(Micros(server as u64), Due::Begin(server));
        }
        [0, 1].into_iter().for_each(|hostgroup| own.plan_pulse(hostgroup, Micros(1)));
        own
    }

    /// Nothing is followed any more.
    pub(super) fn end(&mut self) {
        self.groups.values().for_each(|of| of.group.fall());
    }

    /// The configuration that is in force after so many moves of servers; what was relied on before
    /// is relied on for a while.
    pub(super) fn note_snapshot(&mut self, snapshot: &Arc<Snapshot>, moves: u64, now: Micros) {
        let is_known = |known: &Arc<Snapshot>| Arc::ptr_eq(known, snapshot);
        let is_next = |(next, _): &(Arc<Snapshot>, u64)| is_known(next);
        if !self.next.as_ref().map_or(is_known(&self.snapshot), is_next) {
            self.next = Some((snapshot.clone(), moves));
            let after = self.dice.below(50_000);
            self.plan(Micros(now.0 + after), Due::Adopt);
        }
    }

    /// Does what is due by now.
    pub(super) fn run_until(&mut self, now: Micros, board: &mut Board) {
        let Some(mut data) = board.data.take() else { return };
        self.hurry(now, &data);
        while let Some(first) = self.due.first_entry() {
            let at = first.key().0;
            if at > now {
                break;
            }
            let ((_, number), due) = first.remove_entry();
            data.advance(at);
            self.note_standing(&mut data, at);
            board.tell(|| format!("  log at {}: {due:?}", at.0));
            self.happens((at, number), due, &mut data, board);
            self.note_standing(&mut data, at);
            self.go_on(at, &data);
        }
        data.advance(now);
        self.go_on(now, &data);
        board.data = Some(data);
    }

    fn note_standing(&self, data: &mut Followable, at: Micros) {
        for (hostgroup, of) in &self.groups {
            let known = data.hostgroups.entry(*hostgroup).or_default();
            known.stands = of.group.followed.stands() && of.good_until > at;
            known.good_until = of.good_until;
            if !known.stands {
                known.unstanding = at;
            }
        }
    }

    /// Pulses that took their time as nothing happened begin soon where something has.
    fn hurry(&mut self, now: Micros, data: &Followable) {
        if std::mem::replace(&mut self.activity, data.activity) == data.activity {
            return;
        }
        let at = Micros(now.0 + PULSE_EVERY_US);
        let far = |of: &SimGroup| of.pulse.is_none() && of.next.0 > at;
        let far: Vec<_> = self.groups.iter().filter(|(_, of)| far(of)).map(|(it, _)| *it).collect();
        far.into_iter().for_each(|hostgroup| self.plan_pulse(hostgroup, at));
    }

    fn plan(&mut self, at: Micros, due: Due) -> u64 {
        self.numbers += 1;
        self.due.insert((at, self.numbers), due);
        self.numbers
    }

    fn plan_within(&mut self, now: Micros, most_us: u64, due: Due) {
        let after = self.dice.within(1..=most_us);
        self.plan(Micros(now.0 + after), due);
    }

    fn plan_pulse(&mut self, hostgroup: u32, at: Micros) {
        let number = self.plan(at, Due::Pulse(hostgroup));
        if let Some(of) = self.groups.get_mut(&hostgroup) {
            of.next = (at, number);
        }
    }

    /// Whatever follows from what was told: events that arrive, questions and pulses that end.
    fn go_on(&mut self, now: Micros, data: &Followable) {
        for server in 0..SERVERS {
            let log = &self.logs[server];
            let (connection, has_more) =
                (log.connection, log.next.0 < data.servers[server].log.len());
            if !log.is_cut && !log.delivers && has_more {
                self.logs[server].delivers = true;
                let held_up = self.dice.percent(self.kind.held_up.0);
                let most = if held_up { self.kind.held_up.1 } else { self.kind.event_us };
                self.plan_within(now, most, Due::Event(server, connection));
            }
            let log = &mut self.logs[server];
            if !log.is_cut && !log.asks && log.log.asks() {
                log.asks = true;
                self.plan_within(now, 2_000, Due::Ask(server, connection));
            }
        }
        let hostgroups: Vec<_> = self.groups.keys().copied().collect();
        hostgroups.into_iter().for_each(|hostgroup| self.go_on_pulsing(hostgroup, now));
    }

    fn go_on_pulsing(&mut self, hostgroup: u32, now: Micros) {
        let Some(of) = self.groups.get(&hostgroup) else { return };
        if of.pulse.as_ref().is_some_and(|pulse| !of.group.holds(pulse)) {
            self.end_pulse(hostgroup, now);
        }
    }

    /// A pulse has come to nothing; the next one begins behind a pause.
    fn end_pulse(&mut self, hostgroup: u32, now: Micros) {
        if let Some(of) = self.groups.get_mut(&hostgroup) {
            of.pulse = None;
        }
        self.plan_pulse(hostgroup, Micros(now.0 + LOOK_EVERY_US));
        self.plan(Micros(now.0 + LOOK_EVERY_US - 1), Due::Look(hostgroup));
    }

    /// What is due happens.
    fn happens(
        &mut self,
        (at, number): (Micros, u64),
        due: Due,
        data: &mut Followable,
        board: &mut Board,
    ) {
        let is_of = |server: usize, connection: u64, logs: &[SimLog]| {
            logs[server].connection == connection && !logs[server].is_cut
        };
        match due {
            Due::Adopt => self.adopt(data, at),
            Due::Begin(server) => {
                let connection = self.logs[server].connection;
                let (visible, next) = self.beginning(server, at, data);
                self.plan_within(at, 2_000, Due::Stands(server, connection, visible, next));
            }
            Due::Stands(server, connection, visible, next) => {
                let log = &mut self.logs[server];
                if log.connection != connection {
                    return;
                }
                log.log.stand(visible, cascades());
                (log.next, log.is_cut) = ((next, 0), false);
                (log.delivers, log.asks) = (false, false);
                board.count("log: begun");
            }
            Due::Event(server, connection) if is_of(server, connection, &self.logs) => {
                self.deliver(server, at, (data, board));
            }
            Due::Ask(server, connection) if is_of(server, connection, &self.logs) => {
                let log = &mut self.logs[server];
                let (asked, read) = (log.log.ask(), log.next.0);
                self.plan_within(at, ASK_US, Due::Hears(server, connection, asked, read));
            }
            Due::Hears(server, connection, asked, read) => {
                let (told, seen) = self.hears(server, at, &asked, read, data);
                self.plan_within(at, ASK_US, Due::Says(server, connection, asked, told, seen));
            }
            Due::Says(server, connection, asked, told, seen)
                if is_of(server, connection, &self.logs) =>
            {
                data.note_told(server, &seen, at);
                let log = &mut self.logs[server];
                log.asks = false;
                if log.log.told(asked, told, at).is_err() {
                    board.wrong("a log has begun anew".into());
                }
                self.look_for_passed(at);
            }
            due => self.happens_to_group((at, number), due, (data, board)),
        }
    }

    /// The same of pulses.
    fn happens_to_group(
        &mut self,
        (at, number): (Micros, u64),
        due: Due,
        (data, board): (&Followable, &mut Board),
    ) {
        match due {
            Due::Pulse(hostgroup) => self.begin_pulse(hostgroup, number, at, board),
            Due::PulseHeard(hostgroup, pulse) => {
                let has = self.has_of_writers(hostgroup, at, data);
                match has {
                    Some(has) => {
                        self.plan_within(at, ASK_US, Due::PulseSaid(hostgroup, pulse, has));
                    }
                    None => self.end_pulse(hostgroup, at),
                }
            }
            Due::PulseSaid(hostgroup, pulse, has) => self.await_pulse(hostgroup, pulse, has, at),
            Due::Passed(hostgroup, pulse) => self.pass(hostgroup, pulse, at, board),
            Due::Look(hostgroup) => {
                let of = self.groups.get(&hostgroup);
                if let Some(of) = of {
                    let stood = of.group.stands();
                    of.group.look(at);
                    if stood && !of.group.stands() {
                        board.count("log: lags");
                    }
                }
            }
            _ => {}
        }
    }

    fn has(&self, bug: Planted) -> bool {
        self.bug == Some(bug)
    }

    /// Where a log is read on from, and the number of its next entry: whatever is in front of that
    /// is visible.
    fn beginning(&self, server: usize, at: Micros, data: &Followable) -> (Position, usize) {
        let log = &data.servers[server].log;
        let is_visible = |entry: &&LogEntry| {
            self.has(Planted::BegunAtTheEnd) || data.is_visible(server, entry.write, at)
        };
        let next = log.iter().take_while(is_visible).count();
        (next.checked_sub(1).map_or_else(begin, end_of_entry), next)
    }

    /// An event of a log arrives, or its stream breaks.
    fn deliver(&mut self, server: usize, at: Micros, (data, board): (&mut Followable, &mut Board)) {
        if self.dice.below(1_000) < self.kind.cuts {
            return self.cut(server, at, (data, board));
        }
        let bug = self.bug;
        let log = &mut self.logs[server];
        log.delivers = false;
        let (number, event) = log.next;
        let Some(entry) = data.servers[server].log.get(number) else { return };
        let (gtid, place) = (gtid_of(data, entry), place_of_event(number, event));
        let write = &data.writes[entry.write];
        let mut tables =
            TABLES.iter().enumerate().filter(|(bit, _)| write.tables & (1 << bit) != 0);
        let change = match write.logged_as {
            LoggedAs::Rows => tables.nth(event).map(|(_, table)| LogChange::Table {
                schema: SCHEMA.as_bytes(),
                table: table.as_bytes(),
            }),
            LoggedAs::Text => (event == 0).then_some(LogChange::All(Why::Statement)),
            LoggedAs::Definition => (event == 0).then_some(LogChange::All(Why::Definition)),
        };
        let is_told = !(bug == Some(Planted::OneTableOnly) && event == 1);
        if let Some(change) = change.filter(|_| is_told) {
            let noted = Noted { at: &place, gtid: Some(&gtid), change };
            let has_room = log.log.note(noted, HIDDEN, at);
            assert!(has_room, "there are few writes");
        }
        // the last event is the end of the transaction
        let is_last = change.is_none();
        log.next = if is_last { (number + 1, 0) } else { (number, event + 1) };
        let place = if is_last { end_of_entry(number) } else { place };
        log.log.end_event(&place, Some(&gtid), at);
        self.look_for_passed(at);
    }

    /// The stream of a server breaks, and begins anew after a while.
    fn cut(&mut self, server: usize, at: Micros, (data, board): (&mut Followable, &mut Board)) {
        board.count("log: cut");
        let unnoticed = self.has(Planted::BreakUnnoticed);
        let log = &mut self.logs[server];
        log.connection += 1;
        log.is_cut = true;
        if !unnoticed {
            log.log.fail("cut".into());
        }
        for (hostgroup, of) in &self.groups {
            if of.streams.contains(&server) {
                data.hostgroups.entry(*hostgroup).or_default().broke = Some(at);
            }
        }
        let most = *self.dice.pick(&[10_000, 400_000]);
        self.plan_within(at, most, Due::Begin(server));
    }

    /// What a server says that is asked, and which of the writes that were read before are visible.
    fn hears(
        &self,
        server: usize,
        at: Micros,
        asked: &LogQuestions,
        read: usize,
        data: &Followable,
    ) -> (LogAnswers, Vec<usize>) {
        let log = &data.servers[server].log;
        let visible_until = |entry: &&LogEntry| {
            self.bug == Some(Planted::ToldOnce) || data.is_visible(server, entry.write, at)
        };
        let visible = || match data.in_order {
            true => {
                let seen = log.iter().take_while(visible_until).count();
                Visible::UpTo(seen.checked_sub(1).map_or_else(begin, end_of_entry))
            }
            false => Visible::Executed(executed(log.iter().filter(visible_until))),
        };
        let has = match data.in_order {
            true => binlogged(log),
            false => executed(log.iter().filter(|it| data.is_visible(server, it.write, at))),
        };
        let told = LogAnswers {
            stand: asked.stand.then(|| LogStand { end: end_of(data, server), has }),
            visible: asked.visible.then(visible),
            cascades: asked.cascades.then(cascades),
        };
        let read = log.iter().take(if asked.visible { read } else { 0 });
        let is_seen = |entry: &&LogEntry| data.is_visible(server, entry.write, at);
        (told, read.filter(is_seen).map(|entry| entry.write).collect())
    }

    fn begin_pulse(&mut self, hostgroup: u32, number: u64, at: Micros, board: &mut Board) {
        let Some(of) = self.groups.get_mut(&hostgroup) else { return };
        if of.next.1 != number || of.pulse.is_some() {
            return;
        }
        let falls = of.group.falls();
        let generations: Option<Vec<_>> =
            of.streams.iter().map(|server| self.logs[*server].log.generation()).collect();
        let Some(generations) = generations.filter(|all| !all.is_empty()) else {
            return self.end_pulse(hostgroup, at);
        };
        let pulse = of.group.begin_pulse(falls, generations, at);
        let pulse_number = pulse.number;
        (of.pulse, of.is_awaited, of.began) = (Some(pulse), false, at);
        board.count("log: pulse");
        self.plan_within(at, ASK_US, Due::PulseHeard(hostgroup, pulse_number));
        let late = at.0 + self.kind.lag_max_ms * 1000 + self.dice.within(1..=LOOK_EVERY_US);
        self.plan(Micros(late), Due::Look(hostgroup));
    }

    /// What the writers of a hostgroup have; `None` where there are none.
    fn has_of_writers(
        &self,
        hostgroup: u32,
        at: Micros,
        data: &Followable,
    ) -> Option<Option<GtidSet>> {
        let writers = self.groups.get(&hostgroup).and_then(|of| of.writers.as_ref());
        let Some(writers) = writers else { return Some(None) };
        if writers.is_empty() {
            return None;
        }
        // one of them has what the others have, or will have
        let all = writers.iter().flat_map(|server| {
            let log = data.servers[*server].log.iter();
            log.filter(move |it| data.in_order || data.is_visible(*server, it.write, at))
        });
        Some(match data.in_order {
            true => all.map(|it| it.write).max().and_then(maria_set),
            false => executed(all),
        })
    }

    fn await_pulse(&mut self, hostgroup: u32, number: u64, has: Option<GtidSet>, at: Micros) {
        let Some(of) = self.groups.get_mut(&hostgroup) else { return };
        if of.pulse.as_ref().is_none_or(|pulse| pulse.number != number) {
            return;
        }
        of.is_awaited = true;
        for server in of.streams.clone() {
            self.logs[server].log.await_pulse((hostgroup, number), has.clone(), at);
        }
        self.look_for_passed(at);
    }

    /// Plans that pulses are passed that no stream awaits any more.
    fn look_for_passed(&mut self, at: Micros) {
        let mut passed = Vec::new();
        for (hostgroup, of) in &self.groups {
            let Some(pulse) = of.pulse.as_ref().filter(|_| of.is_awaited) else { continue };
            let awaits = |server: &usize| self.logs[*server].log.awaits(*hostgroup, pulse.number);
            if !of.streams.iter().any(awaits) || self.has(Planted::PassedEarly) {
                passed.push((*hostgroup, pulse.number));
            }
        }
        for (hostgroup, pulse) in passed {
            self.plan_within(at, 1_000, Due::Passed(hostgroup, pulse));
        }
    }

    fn pass(&mut self, hostgroup: u32, number: u64, at: Micros, board: &mut Board) {
        let Some(of) = self.groups.get_mut(&hostgroup) else { return };
        let Some(pulse) = of.pulse.take_if(|pulse| pulse.number == number) else { return };
        let stood = of.group.stands();
        let keys = of.streams.iter().map(|server| self.logs[*server].key);
        if of.group.pass(&pulse, keys) {
            of.good_until = Micros(of.began.0 + self.kind.unseen_max_us());
            if !stood {
                board.count("log: stands");
            }
        }
        let since = at.0 - of.began.0;
        let is_idle = self.due.values().all(|due| {
            matches!(due, Due::Pulse(_) | Due::Look(_) | Due::Passed(..) | Due::PulseHeard(..))
        });
        let idle = self.kind.unseen_max_us() - PULSE_AHEAD_US;
        let pause = if is_idle { idle } else { PULSE_EVERY_US };
        self.plan_pulse(hostgroup, Micros(at.0 + pause.saturating_sub(since).max(1)));
    }

    /// Other servers may answer: whoever relies on others falls, and relies on these then.
    fn adopt(&mut self, data: &mut Followable, at: Micros) {
        let Some((next, moves)) = self.next.take() else { return };
        self.snapshot = next;
        let snapshot = self.snapshot.clone();
        for (hostgroup, of) in &mut self.groups {
            let servers = snapshot.topology.hostgroup(HostgroupId(*hostgroup));
            let needed = servers.iter().filter(may_answer).filter_map(place_of);
            let streams: Vec<_> = needed.collect();
            if of.streams != streams {
                of.group.fall();
                of.streams = streams;
                data.hostgroups.entry(*hostgroup).or_default().broke = Some(at);
            }
        }
        for (server, log) in self.logs.iter_mut().enumerate() {
            let of_it = self.groups.iter().filter(|(_, of)| of.streams.contains(&server));
            log.log.tell_to(of_it.map(|(it, of)| (*it, of.group.clone())).collect());
        }
        for (hostgroup, of) in &mut self.groups {
            let writers = writers_of(&snapshot, *hostgroup);
            let writers = writers.map(|all| all.iter().filter(may_answer).filter_map(place_of));
            let writers = writers.map(Iterator::collect);
            if of.writers != writers {
                of.writers = writers;
                of.group.note_other_writers();
            }
            of.group.followed.know(moves);
        }
    }
}
