//! A hostgroup whose servers' logs are followed: whether all of them are, and closely enough.
//!
//! Its writer is asked again and again where that is (a pulse), and each stream is waited for until
//! it has passed that. The first pulse that was passed by all streams makes the hostgroup stand.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use cache::Followed;
use engine::ids::HostgroupId;
use engine::snapshot::Snapshot;
use engine::topology::ServerRef;
use io::Micros;

/// A hostgroup, and what is told of it.
#[derive(Debug)]
pub struct FollowedGroup {
    /// Its number.
    pub hostgroup: u32,
    /// Where its changes are told.
    pub followed: Arc<Followed>,
    state: Mutex<GroupState>,
    news: Condvar,
}

#[derive(Default, Debug)]
struct GroupState {
    /// How often what pulses under way say became worth nothing.
    falls: u64,
    /// The generations of the streams when it stood up.
    stood_on: Option<Vec<u64>>,
    stands: bool,
    /// When the first pulse began since one was passed, and how long it may take.
    pulse_since: Option<Micros>,
    lag_max: Micros,
}

/// A question for what the writers have, until all streams have passed that.
#[derive(Debug)]
pub struct Pulse {
    /// Its number, by which streams await it.
    pub number: u64,
    began: Micros,
    falls: u64,
    generations: Vec<u64>,
}

/// Within that time behind the beginning of the last pulse that was passed another one is, beside
/// what it may take: else nothing is told.
pub const BETWEEN_PASSED: Micros = Micros::from_ms(75);

impl FollowedGroup {
    /// One that nobody tells of changes.
    pub fn new(hostgroup: u32, followed: Arc<Followed>) -> Self {
        let (state, news) = Default::default();
        Self { hostgroup, followed, state, news }
    }

    /// Changes may have gone untold: nothing that was kept is told any more.
    pub fn fall(&self) {
        let mut state = self.state();
        state.falls += 1;
        (state.stands, state.stood_on) = (false, None);
        self.followed.fall();
    }

    /// How often what pulses say became worth nothing, to be read in front of whatever the next one
    /// relies on.
    pub fn falls(&self) -> u64 {
        self.state().falls
    }

    /// Other servers are written to: whoever was asked in a pulse that is under way may not know of
    /// a write.
    pub fn note_other_writers(&self) {
        self.state().falls += 1;
    }

    /// A pulse may take that long.
    pub fn allow_lag(&self, lag_max: Micros) {
        self.state().lag_max = lag_max;
    }

    /// Falls for a while where the pulse that is under way takes too long.
    pub fn look(&self, now: Micros) {
        let mut state = self.state();
        let is_late = |since: Micros| now.since(since) > state.lag_max;
        if state.stands && state.pulse_since.is_some_and(is_late) {
            state.stands = false;
            self.followed.fall();
        }
    }

    /// Whether answers are told.
    pub fn stands(&self) -> bool {
        self.state().stands
    }

    /// A pulse that begins now; `falls` and then the generations were read in front of it.
    pub fn begin_pulse(&self, falls: u64, generations: Vec<u64>, now: Micros) -> Pulse {
        let number = self.followed.begin_pulse();
        self.state().pulse_since.get_or_insert(now);
        Pulse { number, began: now, falls, generations }
    }

    /// Whether nothing has happened that makes a pulse worth nothing.
    pub fn holds(&self, pulse: &Pulse) -> bool {
        self.state().falls == pulse.falls
    }

    /// All streams, which are those of `servers`, have passed a pulse; `false` where one of them
    /// broke meanwhile, or another server is written to.
    pub fn pass(&self, pulse: &Pulse, servers: impl Iterator<Item = u64>) -> bool {
        let mut state = self.state();
        if state.falls != pulse.falls {
            return false;
        }
        state.pulse_since = None;
        if state.stood_on.as_ref() != Some(&pulse.generations) {
            self.followed.stand(servers);
        } else if !state.stands {
            self.followed.resume();
        }
        (state.stands, state.stood_on) = (true, Some(pulse.generations.clone()));
        let good_until = pulse.began + state.lag_max + BETWEEN_PASSED;
        self.followed.passed(pulse.number, good_until.0);
        true
    }

    /// Somebody has passed a pulse, or there is another reason to look.
    pub fn wake(&self) {
        drop(self.state());
        self.news.notify_all();
    }

    /// Waits for that, for so long.
    pub fn wait(&self, at_most: Duration) {
        drop(self.news.wait_timeout(self.state(), at_most));
    }

    fn state(&self) -> MutexGuard<'_, GroupState> {
        // between two statements all of it is whole
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The servers that are written to where a hostgroup's servers replicate; `None` where that is the
/// hostgroup itself, or is not known.
pub fn writers_of(snapshot: &Snapshot, hostgroup: u32) -> Option<&[ServerRef]> {
    let own = i64::from(hostgroup);
    let pairs = snapshot.clusters.pairs.iter().map(|pair| (pair.writer, pair.reader));
    let members = snapshot.clusters.members.iter().map(|cluster| (cluster.writer, cluster.reader));
    let mut pairs = pairs.chain(members);
    let (writer, _) = pairs.find(|(writer, reader)| *reader == own && *writer != own)?;
    Some(snapshot.topology.hostgroup(HostgroupId(u32::try_from(writer).ok()?)))
}

#[cfg(test)]
pub(crate) mod tests {
    use cache::{Basis, QueryCache};

    use super::*;

    const LAG_MAX: Micros = Micros::from_ms(500);
    const NOW: Micros = Micros(1_000_000);

    /// A hostgroup that nobody tells of changes.
    pub(crate) fn group() -> Arc<FollowedGroup> {
        let group = FollowedGroup::new(3, QueryCache::new(7).follows().of(3));
        group.allow_lag(LAG_MAX);
        Arc::new(group)
    }

    /// What an answer rests on that reads a table now; `None` where nothing is seen of changes.
    pub(crate) fn basis(group: &FollowedGroup, table: u64) -> Option<Basis> {
        Basis::note(&group.followed, std::iter::once(table))
    }

    fn begin(group: &FollowedGroup, generations: &[u64]) -> Pulse {
        group.begin_pulse(group.falls(), generations.to_vec(), NOW)
    }

    fn passes(group: &FollowedGroup, pulse: &Pulse) -> bool {
        group.pass(pulse, [7].into_iter())
    }

    /// A pulse that all streams passed, in these generations.
    fn pass(group: &FollowedGroup, generations: &[u64]) -> bool {
        let pulse = begin(group, generations);
        passes(group, &pulse) && group.followed.has_passed(pulse.number)
    }

    #[test]
    fn the_first_pulse_that_is_passed_makes_it_stand_and_ends_what_was_kept() {
        let group = group();
        assert!(basis(&group, 1).is_none());
        assert!(pass(&group, &[1, 1]));
        let kept = basis(&group, 1).expect("it stands");
        assert!(pass(&group, &[1, 1]) && kept.is_current());
        assert!(pass(&group, &[1, 2]) && !kept.is_current(), "a stream began anew");
    }

    #[test]
    fn after_a_lag_what_was_kept_is_good_again_and_after_a_fall_it_is_not() {
        let group = group();
        assert!(pass(&group, &[1]));
        let kept = basis(&group, 1).expect("it stands");
        let pulse = begin(&group, &[1]);
        group.look(NOW + LAG_MAX);
        assert!(kept.is_current());
        group.look(NOW + LAG_MAX + Micros(1));
        assert!(!kept.is_current() && group.holds(&pulse));
        assert!(passes(&group, &pulse) && kept.is_current());
        group.fall();
        assert!(!kept.is_current() && pass(&group, &[1]) && !kept.is_current());
        assert!(!group.holds(&pulse));
    }

    #[test]
    fn a_pulse_during_which_its_writers_became_others_says_nothing() {
        let group = group();
        let pulse = begin(&group, &[1]);
        group.note_other_writers();
        assert!(!passes(&group, &pulse) && pass(&group, &[1]));
    }

    #[test]
    fn a_pulse_during_which_a_stream_broke_says_nothing() {
        let group = group();
        let pulse = begin(&group, &[1]);
        group.fall();
        assert!(!passes(&group, &pulse));
        assert!(!group.followed.stands() && !group.followed.has_passed(pulse.number));
    }

    #[test]
    fn what_was_kept_is_told_no_longer_than_a_pulse_may_take_behind_the_last_that_was_passed() {
        let group = group();
        assert!(!group.followed.is_good_at(0));
        assert!(pass(&group, &[1]));
        let is_good = |now_us| group.followed.is_good_at(now_us);
        assert!(is_good(1_574_999) && !is_good(1_575_000));
    }
}
