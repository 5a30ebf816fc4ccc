//! Which servers stand still, as far as one worker's connections to them tell: they take what is
//! sent and answer no client. Connects and logins that fail are the `Gauge`'s.
//!
//! One statement that takes long is no sign of it, nor are several of unknown length. Statements
//! that are known to be quick, waiting on several connections, are a sign. So is a test without an
//! answer, on a connection that was idle or is new. Any byte from the server says that it is there;
//! what was sent before that says nothing any more.
//!
//! Also, which servers are slow to all their connections: then no single statement is to blame.

use crate::topology::{Server, ServerRef, Topology};

/// What the connections to one server say together.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Signs {
    /// When a byte last came over any of them, in microseconds.
    pub heard_us: u64,
    /// Those that wait for an answer.
    pub busy: usize,
    /// Of those, that do since it was last heard of.
    pub recent: usize,
    /// Of those, whose answer should long be there: what they carry is known to be quick.
    pub overdue: usize,
    /// Those that wait for an answer which was always quick so far.
    pub quick: usize,
    /// Of those, that have waited for half as long as a stall takes, or longer.
    pub late: usize,
    /// Those that are being tested, or logged in to.
    pub tests: usize,
    /// Of those, whose test should long be answered.
    pub failed_tests: usize,
    /// Of those, whose login takes long.
    pub strangers: usize,
}

impl Signs {
    /// Whether nobody has heard of the server for so long (µs), though somebody waits for it.
    pub fn is_silent(&self, now_us: u64, for_us: u64) -> bool {
        self.busy > 0 && self.heard_us.saturating_add(for_us) <= now_us
    }

    /// Whether there is anything that makes the silence strange, or may do so.
    pub fn is_odd(&self) -> bool {
        self.overdue + self.tests > 0
    }

    /// Whether that is enough to say that the server stands still.
    fn is_enough(&self) -> bool {
        let several = self.overdue > 0 && self.overdue + self.strangers > 1;
        several || self.failed_tests > 0 || self.is_crowded() && self.strangers > 0
    }

    /// Whether the server is slow to most of those that it was always quick to: none of them holds
    /// up the others, and none would be served sooner if it were asked anew.
    pub fn is_slow_to_all(&self) -> bool {
        self.late > 1 && self.late * 2 > self.quick
    }

    /// Whether several wait, so that it is worth a new connection to know more.
    pub fn is_crowded(&self) -> bool {
        self.recent > 1
    }
}

/// What is made of it, by server.
#[derive(Default)]
pub struct Health {
    servers: Vec<OfServer>,
    /// Those that stand still now.
    still: usize,
}

#[derive(Clone, Copy, Default)]
struct OfServer {
    /// Since when it has stood still; 0 when it does not.
    still_since_us: u64,
    /// When it is looked at next; 0 for not before a command is sent.
    look_us: u64,
    /// When it was last told that it stands still.
    told_us: u64,
    /// Whether it was told of this time.
    is_told: bool,
}

/// How long it is not told again that a server stands still, in microseconds.
const TELL_AGAIN_US: u64 = 10_000_000;

impl Health {
    /// There are so many servers.
    pub fn resize(&mut self, servers: usize) {
        self.servers.resize(servers.max(self.servers.len()), OfServer::default());
    }

    /// Whether nobody is to look at a server, to which a command goes now.
    pub fn is_unwatched(&self, server: usize, now_us: u64) -> bool {
        // a time that has passed is that of a connection that is gone
        self.servers.get(server).is_some_and(|of| of.look_us < now_us)
    }

    /// Whether the time has come to look at a server.
    pub fn is_due(&self, server: usize, now_us: u64) -> bool {
        self.servers.get(server).is_some_and(|of| (1..=now_us).contains(&of.look_us))
    }

    /// When a server is looked at next; 0 for not before a command is sent.
    pub fn look_at(&mut self, server: usize, at_us: u64) {
        if let Some(of) = self.servers.get_mut(server) {
            of.look_us = at_us;
        }
    }

    /// A server was silent for so long (µs). Returns whether it is found to stand still by that.
    pub fn judge(&mut self, server: usize, signs: &Signs, now_us: u64, for_us: u64) -> bool {
        let Some(of) = self.servers.get_mut(server) else { return false };
        let found = of.still_since_us == 0 && signs.is_silent(now_us, for_us) && signs.is_enough();
        if found {
            of.still_since_us = now_us;
            of.is_told = false;
            self.still += 1;
        }
        found
    }

    /// Whether it is worth a line in the log that a server stands still.
    pub fn is_news(&mut self, server: usize, now_us: u64) -> bool {
        let Some(of) = self.servers.get_mut(server) else { return false };
        let news = of.told_us == 0 || now_us.saturating_sub(of.told_us) >= TELL_AGAIN_US;
        if news {
            of.told_us = now_us;
        }
        of.is_told = news;
        news
    }

    /// A server does not stand still, or it cannot be told any more. Returns since when it did, if
    /// the log has heard of it.
    pub fn lift(&mut self, server: usize) -> Option<u64> {
        let of = self.servers.get_mut(server)?;
        let since_us = std::mem::take(&mut of.still_since_us);
        if since_us == 0 {
            return None;
        }
        self.still -= 1;
        of.is_told.then_some(since_us)
    }

    /// Whether any server stands still.
    pub fn is_any_still(&self) -> bool {
        self.still > 0
    }

    /// Since when the one has stood still that does so for the shortest time, of the usable ones
    /// of these servers.
    pub(super) fn latest_still_us(&self, servers: &[ServerRef], now_us: u64) -> u64 {
        let usable = servers.iter().filter(|server| server.state(now_us).is_serving());
        usable.map(|server| self.still_since_us(server.index)).max().unwrap_or(0)
    }

    /// Whether a server gets no further commands because it stands still, and another one of its
    /// hostgroup does not or was heard of later.
    pub fn spares(&self, server: &Server, topology: &Topology, now_us: u64) -> bool {
        let servers = topology.hostgroup(server.hostgroup);
        self.is_still(server.index)
            && self.still_since_us(server.index) < self.latest_still_us(servers, now_us)
    }

    /// Since when a server has stood still; never, if it does not.
    pub fn still_since_us(&self, server: usize) -> u64 {
        match self.servers.get(server).map_or(0, |of| of.still_since_us) {
            0 => u64::MAX,
            since_us => since_us,
        }
    }

    /// Whether a server stands still.
    pub fn is_still(&self, server: usize) -> bool {
        self.still > 0 && self.servers.get(server).is_some_and(|of| of.still_since_us > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOTHING: Signs = Signs {
        heard_us: 0,
        busy: 0,
        recent: 0,
        overdue: 0,
        quick: 0,
        late: 0,
        tests: 0,
        failed_tests: 0,
        strangers: 0,
    };

    /// A server that was last heard of a second ago.
    const SILENT: Signs = Signs { heard_us: 1_000_000, busy: 3, recent: 1, ..NOTHING };

    fn judged(signs: Signs) -> bool {
        let mut health = Health::default();
        health.resize(2);
        let found = health.judge(1, &signs, 2_000_000, 30_000);
        assert_eq!((health.is_still(1), health.is_any_still()), (found, found));
        assert!(!health.is_still(0));
        found
    }

    #[test]
    fn only_what_should_be_there_makes_silence_a_sign() {
        let table = [
            (SILENT, false, "reports take long"),
            (Signs { overdue: 1, ..SILENT }, false, "one statement became slow"),
            (Signs { overdue: 2, ..SILENT }, true, "two did at the same moment"),
            (Signs { strangers: 9, ..SILENT }, false, "logins take long"),
            (Signs { recent: 2, ..SILENT }, false, "two reports began at the same moment"),
            (Signs { recent: 2, strangers: 1, ..SILENT }, true, "and nobody is let in since"),
            (Signs { overdue: 1, strangers: 1, ..SILENT }, true, "and so does a read"),
            (Signs { tests: 1, ..SILENT }, false, "it is being tested"),
            (Signs { tests: 1, failed_tests: 1, ..SILENT }, true, "not even a test is answered"),
            (Signs { overdue: 9, heard_us: 1_980_000, ..SILENT }, false, "it speaks"),
            (Signs { overdue: 9, busy: 0, ..SILENT }, false, "nobody waits"),
        ];
        for (signs, still, why) in table {
            assert_eq!(judged(signs), still, "{why}: {signs:?}");
        }
    }

    #[test]
    fn a_server_is_slow_to_all_when_most_of_several_wait() {
        let table = [
            ((1, 1), false, "nobody else can tell"),
            ((2, 1), false, "one of two"),
            ((2, 2), true, "both"),
            ((8, 1), false, "one of many"),
            ((8, 4), false, "half of them"),
            ((8, 5), true, "most of them"),
        ];
        for ((quick, late), slow, why) in table {
            let signs = Signs { busy: 9, quick, late, ..NOTHING };
            assert_eq!(signs.is_slow_to_all(), slow, "{why}: {signs:?}");
        }
    }

    #[test]
    fn a_server_stands_still_once_until_it_is_heard_of() {
        let mut health = Health::default();
        health.resize(2);
        let signs = Signs { overdue: 2, ..SILENT };
        assert!(health.judge(0, &signs, 2_000_000, 30_000));
        assert!(!health.judge(0, &signs, 2_100_000, 30_000), "that is known");
        assert!(health.judge(1, &signs, 2_000_000, 30_000));
        assert!(health.is_news(0, 2_000_000));
        assert_eq!(health.lift(0), Some(2_000_000));
        assert_eq!((health.lift(0), health.lift(7)), (None, None));
        assert!(health.is_any_still() && health.is_still(1) && !health.is_still(0));
        assert!(health.judge(0, &signs, 3_000_000, 30_000), "again");
    }

    #[test]
    fn the_log_hears_of_it_now_and_then() {
        let mut health = Health::default();
        health.resize(1);
        let news = [5, 6, TELL_AGAIN_US, TELL_AGAIN_US + 5].map(|now_us| health.is_news(0, now_us));
        assert_eq!(news, [true, false, false, true]);
        let signs = Signs { overdue: 2, ..SILENT };
        let ends = [25_000_000, 26_000_000, 36_000_000].map(|now_us| {
            assert!(health.judge(0, &signs, now_us, 30_000));
            health.is_news(0, now_us);
            health.lift(0)
        });
        assert_eq!(ends, [Some(25_000_000), None, Some(36_000_000)], "and so of its end");
    }

    #[test]
    fn a_server_is_looked_at_by_one_timer_at_a_time() {
        let mut health = Health::default();
        health.resize(1);
        assert!(health.is_unwatched(0, 10) && !health.is_due(0, 10));
        health.look_at(0, 40);
        assert!(!health.is_unwatched(0, 40), "its timer fires now");
        assert!(!health.is_due(0, 39) && health.is_due(0, 40));
        assert!(health.is_unwatched(0, 41), "the timer went with its connection");
        health.look_at(0, 0);
        assert!(!health.is_due(0, 1000) && health.is_unwatched(0, 1000));
    }
}
