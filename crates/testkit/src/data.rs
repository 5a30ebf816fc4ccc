//! Tables whose changes the proxy may follow: who wrote to them, what each server's log tells of
//! that, and from when on its readers see it.
//!
//! A write goes to one server, and from there to the others, which may be long behind. Each logs it
//! a moment before its readers see it. [`Followable::oldest`] is the rule that every answer is held
//! against which the proxy has from its cache.

use std::collections::BTreeMap;

use io::Micros;

use crate::dice::Dice;
use crate::mysqld::SERVERS;

/// Where all of them are.
pub(crate) const SCHEMA: &str = "one";

/// Their names.
pub(crate) const TABLES: [&str; 4] = ["live_t", "mixed_t", "home_t", "side_t"];

/// A view of the last of them.
pub(crate) const VIEW: &str = "side_v";

/// The call of a function that writes to the first of them.
pub(crate) const FEEDS: &str = "feed(";

/// Some of the tables, a bit for each.
pub(crate) type TableSet = u8;

/// All tables that a text names.
pub(crate) fn tables_in(text: &str) -> TableSet {
    let is_named = |table: &str| text.contains(&format!("{SCHEMA}.{table}"));
    let bits = TABLES.iter().enumerate().filter(|(_, table)| is_named(table));
    let named = bits.map(|(at, _)| 1 << at).sum::<TableSet>();
    if is_named(VIEW) { named | 1 << (TABLES.len() - 1) } else { named }
}

/// How a log tells of a write.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum LoggedAs {
    /// By the tables whose rows have changed.
    Rows,
    /// As a text that changes no definition.
    Text,
    /// As a text that may change definitions.
    Definition,
}

/// A write.
#[derive(Clone, Debug)]
pub(crate) struct DataWrite {
    pub(crate) tables: TableSet,
    pub(crate) logged_as: LoggedAs,
    /// The session and its statement whose end is that of the write.
    by: Option<(u32, u32)>,
    /// When the session was told that.
    acknowledged: Option<Micros>,
}

/// A write in the log of a server.
#[derive(Clone, Debug)]
pub(crate) struct LogEntry {
    pub(crate) write: usize,
    /// When its readers saw it.
    pub(crate) visible: Micros,
}

/// The log of a server.
#[derive(Default, Debug)]
pub(crate) struct ServerData {
    pub(crate) log: Vec<LogEntry>,
    /// From when on readers see each write; by its number.
    visible: BTreeMap<usize, Micros>,
    /// When the proxy was told that they do.
    told: BTreeMap<usize, Micros>,
}

/// The most that time goes on by between two looks.
const MOMENT: Micros = Micros::from_ms(1);

/// What is known of the proxy's hostgroups.
#[derive(Default, Debug)]
pub(crate) struct HostgroupData {
    /// When changes could go unseen last.
    pub(crate) broke: Option<Micros>,
    /// When answers went by their time alone last, and whether they do not any more.
    pub(crate) unstanding: Micros,
    pub(crate) stands: bool,
    /// Until when they do not, unless there is more to say.
    pub(crate) good_until: Micros,
}

/// How far logs are behind, and how long rows are hidden that are logged.
#[derive(Clone, Copy, Debug)]
pub struct DataDelays {
    /// From the log to the rows, in microseconds at most.
    pub hidden_us: u64,
    /// From one server to another, in microseconds at most.
    pub replica_us: u64,
    /// How many of a hundred writes are that late there.
    pub lags: u64,
    /// How late, in microseconds at most.
    pub lag_us: u64,
}

/// All tables.
#[derive(Debug)]
pub(crate) struct Followable {
    pub(crate) writes: Vec<DataWrite>,
    pub(crate) servers: [ServerData; SERVERS],
    pub(crate) hostgroups: BTreeMap<u32, HostgroupData>,
    /// What has happened that the proxy may have to see soon.
    pub(crate) activity: u64,
    /// What becomes visible does so in the order of the log.
    pub(crate) in_order: bool,
    /// How long a change may go unseen where nothing breaks, in microseconds.
    pub(crate) unseen_max_us: u64,
    /// The last moment that is known.
    now: Micros,
    /// Writes on their way to other servers.
    replicating: BTreeMap<(Micros, usize, usize), ()>,
    delays: DataDelays,
    dice: Dice,
}

impl Followable {
    /// Tables that nobody has written to.
    pub(crate) fn new(delays: DataDelays, in_order: bool, unseen_max_us: u64, dice: Dice) -> Self {
        let (writes, servers, hostgroups, activity, replicating) = Default::default();
        Self {
            writes,
            servers,
            hostgroups,
            activity,
            in_order,
            unseen_max_us,
            now: Micros(0),
            replicating,
            delays,
            dice,
        }
    }

    /// A write at a server; when its readers see it.
    pub(crate) fn write(
        &mut self,
        (server, now): (usize, Micros),
        (tables, logged_as): (TableSet, LoggedAs),
        by: Option<(u32, u32)>,
    ) -> Micros {
        self.advance(now);
        self.activity += 1;
        let write = self.writes.len();
        self.writes.push(DataWrite { tables, logged_as, by, acknowledged: None });
        for other in (0..SERVERS).filter(|other| *other != server) {
            let lags = self.dice.percent(self.delays.lags);
            let most = if lags { self.delays.lag_us } else { self.delays.replica_us };
            let mut due = Micros(now.0 + self.dice.within(1..=most));
            if self.in_order {
                let of_it = self.replicating.keys().filter(|(_, to, _)| *to == other);
                due = of_it.map(|(at, ..)| *at).max().unwrap_or(due).max(due);
            }
            self.replicating.insert((due, other, write), ());
        }
        self.log(server, write, now)
    }

    /// A server logs a write.
    fn log(&mut self, server: usize, write: usize, at: Micros) -> Micros {
        let mut visible = Micros(at.0 + self.dice.below(self.delays.hidden_us));
        let of = &mut self.servers[server];
        if self.in_order {
            visible = of.log.last().map_or(visible, |last| last.visible.max(visible));
        }
        of.log.push(LogEntry { write, visible });
        of.visible.insert(write, visible);
        visible
    }

    /// What was written elsewhere arrives.
    pub(crate) fn advance(&mut self, now: Micros) {
        self.now = self.now.max(now);
        while let Some(first) = self.replicating.first_entry() {
            let (at, server, write) = *first.key();
            if at > now {
                return;
            }
            first.remove();
            self.log(server, write, at);
        }
    }

    /// A server is to have all that was ever written, as it takes the writes from now on.
    pub(crate) fn catch_up(&mut self, server: usize, now: Micros) {
        self.advance(now);
        self.replicating.retain(|(_, to, _), ()| *to != server);
        let lacks = |write: &usize| !self.servers[server].visible.contains_key(write);
        let lacking: Vec<_> = (0..self.writes.len()).filter(lacks).collect();
        lacking.into_iter().for_each(|write| {
            self.log(server, write, now);
        });
    }

    /// Nothing is seen of changes now.
    pub(crate) fn fall(&mut self, now: Micros) {
        for hostgroup in self.hostgroups.values_mut() {
            (hostgroup.unstanding, hostgroup.stands) = (now, false);
        }
    }

    /// The session of a statement was told of its end.
    pub(crate) fn acknowledge(&mut self, by: (u32, u32), now: Micros) {
        let own = self.writes.iter_mut().filter(|write| write.by == Some(by));
        own.for_each(|write| write.acknowledged = Some(now));
    }

    /// The proxy was told that readers of a server see these writes.
    pub(crate) fn note_told(&mut self, server: usize, seen: &[usize], now: Micros) {
        let told = &mut self.servers[server].told;
        seen.iter().for_each(|write| {
            told.entry(*write).or_insert(now);
        });
    }

    /// Whether readers of a server see a write by then.
    pub(crate) fn is_visible(&self, server: usize, write: usize, now: Micros) -> bool {
        self.servers[server].visible.get(&write).is_some_and(|at| *at <= now)
    }

    /// The rule: since when an answer of a server to a question of a hostgroup has to be, which
    /// reads these tables, and was asked then by a session.
    ///
    /// * Whatever the session has written itself, and was told of, is in it.
    /// * What others have written is in it once the proxy was told that it is visible there: the
    ///   second telling. An answer from before that was fetched from the same server.
    /// * Without being told, it is so after the lag that is allowed, and the pause between pulses.
    /// * Behind a break of a stream nothing is told that is from before.
    ///
    /// None of that holds for answers that go by their time while nothing is seen of changes, and
    /// all of it for what a server is asked behind the question.
    pub(crate) fn oldest(
        &self,
        (server, hostgroup): (usize, u32),
        tables: TableSet,
        (tag, asked): (u32, Micros),
        by_time_else: bool,
    ) -> Micros {
        let known = self.hostgroups.get(&hostgroup);
        // whoever is told is so a moment behind what is known
        let now = self.now + MOMENT;
        let stands = known.is_some_and(|known| {
            known.stands && known.unstanding < asked && known.good_until > now
        });
        if by_time_else && !stands {
            return Micros(0);
        }
        let of = &self.servers[server];
        let has_to_be_in = |(number, write): &(usize, &DataWrite)| {
            let is_own = write.by.is_some_and(|(by, _)| by == tag)
                && write.acknowledged.is_some_and(|at| at < asked);
            let told = of.told.get(number).is_some_and(|at| *at < asked);
            let visible = of.visible.get(number);
            let is_late = visible.is_some_and(|at| at.0 + self.unseen_max_us < asked.0);
            write.tables & tables != 0 && (is_own || told || is_late)
        };
        let writes = self.writes.iter().enumerate().filter(has_to_be_in);
        // what a server does not have yet is in no answer of before
        let visible = |(number, _)| of.visible.get(&number).copied().unwrap_or(asked);
        let broke = known.and_then(|known| known.broke).filter(|at| *at < asked);
        writes.map(visible).chain(broke).max().unwrap_or_default().min(asked)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIVE: TableSet = 1;
    const SIDE: TableSet = 8;

    fn data() -> Followable {
        let delays = DataDelays { hidden_us: 1, replica_us: 10, lags: 0, lag_us: 1 };
        Followable::new(delays, true, 1_000, Dice::new(1))
    }

    fn oldest(data: &Followable, server: usize, tag: u32, asked: u64) -> u64 {
        data.oldest((server, 1), LIVE, (tag, Micros(asked)), false).0
    }

    #[test]
    fn tables_are_known_by_their_names_and_a_view_by_what_it_reads() {
        assert_eq!(tables_in("SELECT v FROM one.live_t, one.side_t WHERE k=1"), LIVE | SIDE);
        assert_eq!(tables_in("SELECT v FROM one.side_v"), SIDE);
        assert_eq!(tables_in("UPDATE t SET v=1"), 0);
    }

    #[test]
    fn own_writes_are_in_every_answer_and_those_of_others_once_they_were_told_of() {
        let mut data = data();
        data.write((0, Micros(100)), (LIVE, LoggedAs::Rows), Some((7, 1)));
        data.write((0, Micros(100)), (SIDE, LoggedAs::Rows), Some((7, 2)));
        assert_eq!(oldest(&data, 0, 7, 500), 0, "nobody has told the session");
        data.acknowledge((7, 1), Micros(200));
        assert_eq!((oldest(&data, 0, 7, 500), oldest(&data, 0, 8, 500)), (100, 0));
        assert_eq!(oldest(&data, 1, 7, 500), 500, "another server does not have it");
        data.advance(Micros(200));
        let arrived = data.servers[1].log[0].visible.0;
        assert_eq!(oldest(&data, 1, 7, 500), arrived);
        data.note_told(0, &[0], Micros(300));
        assert_eq!((oldest(&data, 0, 8, 300), oldest(&data, 0, 8, 301)), (0, 100));
        assert_eq!((oldest(&data, 1, 8, 1_000), oldest(&data, 1, 8, 1_300)), (0, arrived), "lag");
    }

    #[test]
    fn behind_a_break_nothing_is_from_before_and_by_time_only_while_nothing_is_seen() {
        let mut data = data();
        data.hostgroups.entry(1).or_default().broke = Some(Micros(400));
        assert_eq!((oldest(&data, 0, 1, 400), oldest(&data, 0, 1, 401)), (0, 400));
        let by_time = |data: &Followable| data.oldest((0, 1), LIVE, (1, Micros(500)), true).0;
        assert_eq!(by_time(&data), 0);
        let hostgroup = data.hostgroups.entry(1).or_default();
        (hostgroup.unstanding, hostgroup.stands) = (Micros(499), true);
        hostgroup.good_until = Micros::from_secs(1);
        assert_eq!(by_time(&data), 400);
    }

    #[test]
    fn who_takes_the_writes_has_all_of_them() {
        let mut data = data();
        data.write((0, Micros(100)), (LIVE, LoggedAs::Rows), None);
        data.catch_up(1, Micros(101));
        assert!(data.is_visible(1, 0, Micros(101)));
        data.advance(Micros(900));
        assert_eq!((data.servers[1].log.len(), data.servers[2].log.len()), (1, 1));
    }
}
