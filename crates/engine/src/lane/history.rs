//! What statements came to before, by digest: how long they took, how large their replies were,
//! and whether they are fit to share a lane.
//!
//! One worker's memory, bounded and without order: a digest has two places where it may stand, and
//! takes the one that was not used for longer. It decides nothing.

use crate::ids::HostgroupId;

/// How many digests are remembered.
const PLACES: usize = 4096;

/// How long a digest must not have been seen before another one takes its place, in microseconds.
const FRESH_US: u64 = 1_000_000;

/// Runs over which the least time and the largest reply are taken.
const WINDOW: u32 = 64;

/// How many runs in good order make up for one that held up others.
const ATONE: u32 = 64;

/// For how long runs that had to wait for their server say nothing against one that had not, in
/// microseconds.
const TRUSTED_US: u64 = 10_000_000;

/// What holds up others within so long counts once, in microseconds.
const TOGETHER_US: u64 = 30_000;

/// How long a digest that held up others runs alone the first time, and at most; microseconds.
const BARRED_US: (u64, u64) = (1_000_000, 64_000_000);

/// One run of a statement.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    /// When it ended, in microseconds.
    pub now_us: u64,
    /// How long its server took, in microseconds.
    pub latency_us: u64,
    /// Bytes of its reply.
    pub reply_bytes: u64,
    /// It carried warnings or changed the state of its connection.
    pub untidy: bool,
    /// It was with its server when the reply before it on its connection ended: the time is what
    /// the server worked on it. Otherwise it may have waited for the server, as long as others
    /// keep that busy.
    pub behind: bool,
}

/// What one digest came to in one hostgroup.
#[derive(Clone, Debug, Default)]
pub struct Past {
    /// Runs before it counts as known.
    needed: u32,
    runs: u32,
    /// The least time of the window at hand, and of the one before.
    least_us: [u64; 2],
    /// The largest reply, likewise.
    most_bytes: [u64; 2],
    /// When the last run ended that was behind another one; 0 for none.
    behind_us: u64,
    /// Such a run is not among those of the window at hand, and not long ago.
    waited: bool,
    calls: bool,
    untidy: bool,
    guilt: u32,
    blamed_us: u64,
    barred_until_us: u64,
    barred_for_us: u64,
}

impl Past {
    /// Nothing yet; known after so many runs. `calls`: its text calls functions that may do more
    /// than compute.
    pub fn new(needed: u32, calls: bool) -> Self {
        Self { needed: needed.min(WINDOW), calls, ..Self::default() }
    }

    /// Takes a run into account.
    pub fn note(&mut self, run: &Run) {
        self.untidy |= run.untidy;
        self.guilt = self.guilt.saturating_sub(1);
        if run.behind {
            self.behind_us = run.now_us.max(1);
        }
        let at = self.runs % WINDOW;
        let (least, [most, _]) = (self.least_us(), self.most_bytes);
        let is_recent = self.behind_us > 0 && run.now_us < self.behind_us + TRUSTED_US;
        self.waited = is_recent && !run.behind && (at == 0 || self.waited);
        if at == 0 {
            self.least_us = [run.latency_us, least];
            self.most_bytes = [run.reply_bytes, most];
        } else {
            let [now, before] = self.least_us;
            self.least_us = [now.min(run.latency_us), before];
            let [_, before] = self.most_bytes;
            self.most_bytes = [most.max(run.reply_bytes), before];
        }
        // never back to the beginning
        self.runs = self.runs.checked_add(1).unwrap_or(WINDOW);
    }

    /// It held up others on its lane. When that happens more than now and then, it runs alone for
    /// a while, longer each time. Lanes that stand still together count once: that is more often
    /// the machine than the statement.
    pub fn held_up(&mut self, now_us: u64) {
        if now_us < self.blamed_us.saturating_add(TOGETHER_US) {
            return;
        }
        self.blamed_us = now_us;
        self.guilt += ATONE;
        if self.guilt > 2 * ATONE {
            self.bar(now_us);
        }
    }

    /// It runs alone for a while, longer each time that it has to again.
    pub fn bar(&mut self, now_us: u64) {
        let (first_us, most_us) = BARRED_US;
        let relapses = now_us < self.barred_until_us.saturating_add(10 * self.barred_for_us);
        self.barred_for_us = match relapses {
            true => (2 * self.barred_for_us).clamp(first_us, most_us),
            false => first_us,
        };
        self.barred_until_us = now_us.saturating_add(self.barred_for_us);
        // what it took before says nothing any more
        (self.runs, self.guilt, self.behind_us) = (0, 0, 0);
    }

    /// What it takes on its server when nothing is in its way, in microseconds; `None` while that
    /// is not known.
    pub fn latency_us(&self) -> Option<u64> {
        let [_, before] = self.least_us;
        match self.runs {
            runs if runs < self.needed => None,
            runs if runs <= WINDOW => Some(self.least_us()),
            // the window at hand may have only just begun
            runs if (1..WINDOW / 4).contains(&(runs % WINDOW)) => Some(before),
            _ => Some(self.least_us()),
        }
    }

    /// The least time of the window at hand; of the one before, where it is less and all runs since
    /// may have waited for a busy server.
    fn least_us(&self) -> u64 {
        let [now, before] = self.least_us;
        if self.waited { now.min(before) } else { now }
    }

    /// Bytes of its largest reply of late.
    pub fn reply_bytes(&self) -> u64 {
        let [now, before] = self.most_bytes;
        now.max(before)
    }

    /// Whether its text calls functions that may do more than compute.
    pub fn calls(&self) -> bool {
        self.calls
    }

    /// Whether its replies carried warnings or changed their connection.
    pub fn is_untidy(&self) -> bool {
        self.untidy
    }

    /// Whether it runs alone because it held up others.
    pub fn is_barred(&self, now_us: u64) -> bool {
        now_us < self.barred_until_us
    }
}

/// The digests of one worker.
#[derive(Default)]
pub struct History {
    /// Empty until something is noted.
    places: Vec<Place>,
}

#[derive(Clone, Default)]
struct Place {
    digest: u64,
    hostgroup: HostgroupId,
    taken: bool,
    used_us: u64,
    past: Past,
}

impl Place {
    fn is_of(&self, hostgroup: HostgroupId, digest: u64) -> bool {
        self.taken && self.digest == digest && self.hostgroup == hostgroup
    }
}

impl History {
    /// What a digest came to in a hostgroup.
    pub fn find(&self, hostgroup: HostgroupId, digest: u64) -> Option<&Past> {
        let places = places_of(digest).into_iter().filter_map(|at| self.places.get(at));
        places
            .map(|place| (place, &place.past))
            .find_map(|(place, past)| place.is_of(hostgroup, digest).then_some(past))
    }

    /// The past of a digest, to be changed; `new` makes it where there is none. `None` where both
    /// its places belong to digests that are in use.
    pub fn of(
        &mut self,
        hostgroup: HostgroupId,
        digest: u64,
        now_us: u64,
        new: impl FnOnce() -> Past,
    ) -> Option<&mut Past> {
        if self.places.is_empty() {
            self.places.resize(PLACES, Place::default());
        }
        let [one, other] = places_of(digest);
        let used_us = |at: usize| {
            self.places.get(at).map_or(0, |place| if place.taken { place.used_us } else { 0 })
        };
        let is_of =
            |at: &usize| self.places.get(*at).is_some_and(|place| place.is_of(hostgroup, digest));
        let found = [one, other].into_iter().find(is_of);
        let at = found.unwrap_or(if used_us(other) < used_us(one) { other } else { one });
        let place = self.places.get_mut(at)?;
        if found.is_none() {
            if place.taken && now_us < place.used_us.saturating_add(FRESH_US) {
                return None;
            }
            *place = Place { digest, hostgroup, taken: true, used_us: now_us, past: new() };
        }
        place.used_us = now_us;
        Some(&mut place.past)
    }
}

/// The two places where a digest may stand.
fn places_of(digest: u64) -> [usize; 2] {
    let at = |bits: u64| usize::try_from(bits % PLACES as u64).unwrap_or(0);
    [at(digest), at(digest >> 32)]
}

#[cfg(test)]
mod tests {
    use super::*;

    const GROUP: HostgroupId = HostgroupId(1);

    fn run(latency_us: u64) -> Run {
        Run { now_us: 0, latency_us, reply_bytes: latency_us, untidy: false, behind: false }
    }

    #[test]
    fn the_least_time_of_late_is_what_a_statement_takes() {
        let mut past = Past::new(3, false);
        for latency_us in [700, 500] {
            past.note(&run(latency_us));
            assert_eq!(past.latency_us(), None);
        }
        past.note(&run(900));
        assert_eq!((past.latency_us(), past.reply_bytes()), (Some(500), 900));
        // it became slow: known after another window
        (0..2 * WINDOW).for_each(|_| past.note(&run(8000)));
        assert_eq!(past.latency_us(), Some(8000));
    }

    #[test]
    fn a_crowd_that_keeps_a_server_busy_makes_no_statement_slow() {
        let (quick, waits) = (Run { behind: true, ..run(100) }, run(50_000));
        let mut past = Past::new(3, false);
        let mut note = |run: &Run, now_us: u64| {
            (0..WINDOW).for_each(|_| past.note(&Run { now_us, ..*run }));
            past.latency_us()
        };
        assert_eq!(note(&waits, 0), Some(50_000), "it was never seen to be quick");
        assert_eq!(note(&quick, 1), Some(100));
        for now_us in [2, 3, 4, TRUSTED_US] {
            assert_eq!(note(&waits, now_us), Some(100));
        }
        assert_eq!(note(&quick, TRUSTED_US), Some(100));
        assert_eq!(note(&waits, 2 * TRUSTED_US), Some(50_000), "that was long ago");
        assert_eq!(note(&quick, 2 * TRUSTED_US), Some(100));
        let slow = Run { behind: true, ..waits };
        note(&slow, 2 * TRUSTED_US);
        assert_eq!(note(&slow, 2 * TRUSTED_US), Some(50_000), "the server works on it for long");
    }

    #[test]
    fn one_hindrance_in_many_runs_is_forgiven_and_more_are_punished_harder_each_time() {
        let mut past = Past::new(1, false);
        let mut now_us = 0;
        let mut held_up = |past: &mut Past, times: u32| {
            for _ in 0..times {
                now_us += TOGETHER_US;
                (0..5).for_each(|_| past.held_up(now_us));
            }
            now_us
        };
        for _ in 0..100 {
            (0..ATONE).for_each(|_| past.note(&run(1)));
            let now_us = held_up(&mut past, 1);
            assert!(!past.is_barred(now_us));
        }
        let first_us = held_up(&mut past, 2);
        assert!(past.is_barred(first_us) && !past.is_barred(first_us + BARRED_US.0));
        assert_eq!(past.latency_us(), None, "it has to be learnt anew");
        let second_us = held_up(&mut past, 3);
        assert!(past.is_barred(second_us + BARRED_US.0), "twice as long");
        assert!(!past.is_barred(second_us + 2 * BARRED_US.0));
        past.bar(second_us + 3 * BARRED_US.0);
        assert!(past.is_barred(second_us + 6 * BARRED_US.0), "four times as long");
        assert!(!past.is_barred(second_us + 7 * BARRED_US.0));
    }

    #[test]
    fn a_digest_in_use_keeps_its_place() {
        let mut history = History::default();
        let clashing = [5, 5 + PLACES as u64, 5 + 2 * PLACES as u64];
        for digest in clashing {
            assert!(history.find(GROUP, digest).is_none());
        }
        let mut note = |digest, now_us| {
            history.of(GROUP, digest, now_us, || Past::new(1, false)).map(|past| past.note(&run(1)))
        };
        assert!(note(clashing[0], 10).is_some());
        assert!(note(clashing[1], 10).is_some(), "the other place");
        assert!(note(clashing[2], 20).is_none(), "both are in use");
        assert!(note(clashing[0], FRESH_US).is_some());
        assert!(note(clashing[2], FRESH_US + 20).is_some(), "the one that was not used");
        let known = |digest| history.find(GROUP, digest).is_some();
        assert_eq!(clashing.map(known), [true, false, true]);
        assert!(history.find(HostgroupId(2), clashing[0]).is_none());
    }
}
