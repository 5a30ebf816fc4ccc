//! What came of the connections to each server, and how long its queries took.
//!
//! A connection counts in its own [`Traffic`], which is at hand wherever it is used. This is added
//! to its server's counters when it ends, and to what is told while it lives.

use std::collections::BTreeMap;
use std::sync::Arc;

use sql::CommandClass;

use super::commands::CommandRow;
use crate::topology::ServerRef;

/// What a connection was used for.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Traffic {
    /// Commands that were sent, without those of the proxy's own.
    pub queries: u64,
    /// Bytes that went to the server after the login.
    pub bytes_sent: u64,
    /// Bytes that came from it after the login.
    pub bytes_received: u64,
    /// Times a session was given the connection.
    pub checkouts: u64,
}

/// What happened with one server on one worker.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct ServerCounters {
    /// Connections that were opened.
    pub opened: u64,
    /// Connections that could not be opened.
    pub failed: u64,
    /// Connections now, those being opened included.
    pub open: u32,
    /// Of connections that have ended.
    pub ended: Traffic,
    /// Connections in use, as many as there ever were at a time.
    pub used_max: u32,
    /// Time that the last login took, in microseconds.
    pub login_us: u64,
    /// How long queries took, by class; only those that there were.
    pub classes: Vec<(CommandClass, CommandRow)>,
}

/// The servers of one worker by their numbers.
#[derive(Clone, Default, Debug)]
pub struct ServerStats {
    by_index: Vec<ServerCounters>,
}

/// What a worker tells of a server, or all of them together.
#[derive(Clone, Debug)]
pub struct ServerShare {
    /// The server.
    pub server: ServerRef,
    /// Connections that nobody has; the others of `open` are in use.
    pub idle: u32,
    /// Workers that find that it stands still.
    pub still_workers: u32,
    /// When the first of them did, in microseconds of the loops' clock; `u64::MAX` without any.
    pub still_since_us: u64,
    /// Everything else; `ended` has the traffic of connections that live, too.
    pub counters: ServerCounters,
}

/// The servers of all workers by their numbers.
pub type Servers = BTreeMap<usize, ServerShare>;

impl Traffic {
    /// A command of so many bytes was sent.
    pub fn note_query(&mut self, bytes: usize) {
        self.queries += 1;
        self.bytes_sent += bytes as u64;
    }

    /// Adds the traffic of another connection.
    pub fn merge(&mut self, other: &Self) {
        self.queries += other.queries;
        self.bytes_sent += other.bytes_sent;
        self.bytes_received += other.bytes_received;
        self.checkouts += other.checkouts;
    }
}

impl ServerCounters {
    /// A connection is in use, and so many are not.
    pub fn note_used(&mut self, idle: usize) {
        let idle = u32::try_from(idle).unwrap_or(u32::MAX);
        self.used_max = self.used_max.max(self.open.saturating_sub(idle));
    }

    /// Counts a query of this class that took so long.
    pub fn record(&mut self, class: CommandClass, elapsed_us: u64) {
        match self.classes.iter_mut().find(|(known, _)| *known == class) {
            Some((_, row)) => row.record(elapsed_us),
            None => self.add_class(class, elapsed_us),
        }
    }

    #[cold]
    fn add_class(&mut self, class: CommandClass, elapsed_us: u64) {
        let mut row = CommandRow::default();
        row.record(elapsed_us);
        self.classes.push((class, row));
    }

    /// Adds what another worker counted.
    pub fn merge(&mut self, other: &Self) {
        self.opened += other.opened;
        self.failed += other.failed;
        self.open += other.open;
        self.ended.merge(&other.ended);
        self.used_max += other.used_max;
        self.login_us = self.login_us.max(other.login_us);
        for (class, more) in &other.classes {
            match self.classes.iter_mut().find(|(known, _)| known == class) {
                Some((_, row)) => row.merge(more),
                None => self.classes.push((*class, *more)),
            }
        }
    }
}

impl ServerStats {
    /// The counters of a server by its number, which begin when they are first asked for.
    pub fn of(&mut self, index: usize) -> Option<&mut ServerCounters> {
        if self.by_index.len() <= index {
            self.grow(index);
        }
        self.by_index.get_mut(index)
    }

    #[cold]
    fn grow(&mut self, index: usize) {
        self.by_index.resize_with(index + 1, ServerCounters::default);
    }

    /// Time that the last login at a server took, in microseconds; 0 when there was none.
    pub fn login_us(&self, index: usize) -> u64 {
        self.by_index.get(index).map_or(0, |counters| counters.login_us)
    }

    /// Connections to a server, those being opened included.
    pub fn open(&self, index: usize) -> u64 {
        self.by_index.get(index).map_or(0, |counters| u64::from(counters.open))
    }

    /// How many commands ended on a server, and how long they took together, in microseconds.
    pub fn totals(&self, index: usize) -> (u64, u64) {
        let classes = self.by_index.get(index).into_iter().flat_map(|counters| &counters.classes);
        classes.fold((0, 0), |(count, time_us), (_, row)| {
            (count + row.count, time_us.saturating_add(row.time_us))
        })
    }

    /// The number is another server's from now on.
    pub fn forget(&mut self, index: usize) {
        if let Some(counters) = self.by_index.get_mut(index) {
            *counters = ServerCounters::default();
        }
    }

    /// What is told of a server before its living connections are added.
    pub fn share(&self, server: &ServerRef) -> ServerShare {
        let counters = self.by_index.get(server.index).cloned().unwrap_or_default();
        ServerShare {
            server: server.clone(),
            idle: 0,
            still_workers: 0,
            still_since_us: u64::MAX,
            counters,
        }
    }

    /// From now on the most connections in use at a time are those since now.
    pub fn forget_maxima(&mut self) {
        self.by_index.iter_mut().for_each(|counters| counters.used_max = 0);
    }

    /// Bytes of memory in use.
    pub fn bytes(&self) -> usize {
        let row = size_of::<(CommandClass, CommandRow)>();
        let classes: usize = self.by_index.iter().map(|c| c.classes.capacity() * row).sum();
        self.by_index.capacity() * size_of::<ServerCounters>() + classes
    }
}

impl ServerShare {
    /// Adds what another worker tells of the same server.
    pub fn merge(&mut self, other: &Self) {
        if !Arc::ptr_eq(&self.server.gauge, &other.server.gauge) {
            // the number has just become another server's
            *self = other.clone();
            return;
        }
        self.idle += other.idle;
        self.still_workers += other.still_workers;
        self.still_since_us = self.still_since_us.min(other.still_since_us);
        self.counters.merge(&other.counters);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::ServerRow;
    use crate::topology::Topology;

    fn servers() -> Topology {
        let row = |port| ServerRow { hostname: "db".into(), port, ..ServerRow::default() };
        Topology::compile(&[row(1), row(2)]).expect("they are right")
    }

    fn select() -> CommandClass {
        sql::Verb::Select.into()
    }

    #[test]
    fn shares_of_a_server_add_up_and_another_one_with_its_number_takes_its_place() {
        let (topology, other) = (servers(), servers());
        let server = topology.find(0).expect("there are two");
        let mut stats = ServerStats::default();
        let counters = stats.of(0).expect("made");
        (counters.opened, counters.used_max) = (2, 1);
        counters.record(select(), 400);
        let mut share = stats.share(server);
        share.idle = 1;
        let mut all = share.clone();
        all.merge(&share);
        assert_eq!((all.idle, all.counters.opened, all.counters.used_max), (2, 4, 2));
        let [(_, row)] = &*all.counters.classes else { panic!("one class was counted") };
        assert_eq!((row.count, row.time_us, row.buckets[1]), (2, 800, 2));
        all.merge(&stats.share(other.find(0).expect("there are two")));
        assert_eq!((all.idle, all.counters.opened), (0, 2));
    }

    #[test]
    fn a_number_given_to_another_server_counts_anew() {
        let mut stats = ServerStats::default();
        stats.of(1).expect("made").opened = 5;
        stats.forget(1);
        stats.forget(7);
        assert_eq!(stats.of(1), Some(&mut ServerCounters::default()));
    }
}
