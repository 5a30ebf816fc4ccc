//! A hostgroup whose servers' logs are followed: whether all of them are, and closely enough.
//!
//! A thread asks its writer again and again where that is (a pulse), and waits until each stream
//! has passed that. The first pulse that was passed by all streams makes the hostgroup stand.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use cache::Followed;
use client::Client;
use engine::stats::LogStreamRow;
use io::Micros;
use keeper::gtid_sets::GtidSet;

use super::source::LogSource;
use super::stream::ServerLog;
use crate::connections::Stream;
use crate::publisher::Publisher;

/// A hostgroup, and what is told of it.
pub(super) struct FollowedGroup {
    pub(super) hostgroup: u32,
    pub(super) followed: Arc<Followed>,
    state: Mutex<GroupState>,
    news: Condvar,
    ends: AtomicBool,
}

#[derive(Default)]
struct GroupState {
    streams: Vec<Arc<ServerLog>>,
    /// Who knows its writes; `None` for each of its own servers.
    writers: Option<Vec<LogSource>>,
    /// How often changes may have gone untold.
    falls: u64,
    /// The generations of the streams when it stood up.
    stood_on: Option<Vec<u64>>,
    stands: bool,
    /// When the pulse began that is under way, and how long it may take.
    pulse_since: Option<Instant>,
    lag_max: Duration,
}

/// The pause between the beginnings of two pulses.
const PULSE_EVERY: Duration = Duration::from_millis(25);

/// Within that time behind the last pulse that was passed another one is, beside what it may take:
/// else nothing is told.
const BETWEEN_PASSED: Duration = Duration::from_millis(75);

/// How often it is looked whether all streams are there.
const LOOK_EVERY: Duration = Duration::from_millis(10);

impl FollowedGroup {
    /// One that nobody tells of changes.
    fn new(hostgroup: u32, followed: Arc<Followed>) -> Self {
        let (state, news, ends) = Default::default();
        Self { hostgroup, followed, state, news, ends }
    }

    /// One whose pulses begin on a thread of its own.
    pub(super) fn begin(
        hostgroup: u32,
        followed: Arc<Followed>,
        publisher: Arc<Publisher>,
    ) -> std::io::Result<(Arc<Self>, JoinHandle<()>)> {
        let group = Arc::new(Self::new(hostgroup, followed));
        let own = group.clone();
        let run = move || {
            let mut asked = Vec::new();
            while !own.is_over() {
                let began = Instant::now();
                let pulse = AssertUnwindSafe(|| own.pulse(&publisher, &mut asked));
                if !catch_unwind(pulse).unwrap_or(false) {
                    thread::sleep(LOOK_EVERY);
                }
                thread::sleep(PULSE_EVERY.saturating_sub(began.elapsed()));
            }
        };
        let thread = thread::Builder::new().name("log pulses".to_owned()).spawn(run)?;
        Ok((group, thread))
    }

    /// Ends its pulses.
    pub(super) fn end(&self) {
        self.ends.store(true, Ordering::Relaxed);
        self.fall();
        self.wake();
    }

    fn is_over(&self) -> bool {
        self.ends.load(Ordering::Relaxed)
    }

    /// Changes may have gone untold: nothing that was kept is told any more.
    pub(super) fn fall(&self) {
        let mut state = self.state();
        state.falls += 1;
        (state.stands, state.stood_on) = (false, None);
        self.followed.fall();
    }

    /// Somebody has passed a pulse.
    pub(super) fn wake(&self) {
        drop(self.state());
        self.news.notify_all();
    }

    /// Whether it is told by exactly these, in this order.
    pub(super) fn has(&self, streams: &[Arc<ServerLog>]) -> bool {
        let own = &self.state().streams;
        own.len() == streams.len() && own.iter().zip(streams).all(|(a, b)| Arc::ptr_eq(a, b))
    }

    /// It is told by these from now on, which is to begin with a fall.
    pub(super) fn follow(&self, streams: Vec<Arc<ServerLog>>) {
        self.state().streams = streams;
    }

    /// Its writes are known by these servers, or by each of its own; a pulse may take that long.
    pub(super) fn ask_of(&self, writers: Option<Vec<LogSource>>, lag_max: Duration) {
        let mut state = self.state();
        // whoever was asked in a pulse that is under way may not know of a write
        state.falls += u64::from(state.writers != writers);
        (state.writers, state.lag_max) = (writers, lag_max);
    }

    /// Falls for a while where the pulse that is under way takes too long.
    pub(super) fn look(&self) {
        let mut state = self.state();
        let is_late = |since: Instant| since.elapsed() > state.lag_max;
        if state.stands && state.pulse_since.is_some_and(is_late) {
            state.stands = false;
            self.followed.fall();
        }
    }

    /// How its streams are.
    pub(super) fn rows(&self) -> Vec<LogStreamRow> {
        let state = self.state();
        let (streams, stands) = (state.streams.clone(), state.stands);
        drop(state);
        streams.iter().map(|stream| stream.row(self.hostgroup, stands)).collect()
    }

    /// One pulse; `false` where none could be begun, or has not been passed.
    fn pulse(&self, publisher: &Publisher, asked: &mut Vec<Writer>) -> bool {
        let state = self.state();
        let (falls, streams) = (state.falls, state.streams.clone());
        let writers = state.writers.clone();
        drop(state);
        let Some(generations) = generations(&streams) else { return false };
        let began = Micros::now();
        let pulse = self.followed.begin_pulse();
        self.state().pulse_since.get_or_insert_with(Instant::now);
        let Ok(has) = positions(publisher, writers.as_deref(), asked) else { return false };
        for stream in &streams {
            stream.await_pulse(self.hostgroup, pulse, has.clone());
        }
        let awaits = |stream: &Arc<ServerLog>| stream.awaits(self.hostgroup, pulse);
        while streams.iter().any(awaits) {
            let state = self.state();
            if state.falls != falls || self.is_over() {
                return false;
            }
            drop(self.news.wait_timeout(state, LOOK_EVERY));
            // whoever looks beside this may wait for a change of the configuration
            self.look();
        }
        self.note_passed((pulse, began), falls, generations)
    }

    /// All streams have passed a pulse, unless one of them broke meanwhile.
    fn note_passed(
        &self,
        (pulse, began): (u64, Micros),
        falls: u64,
        generations: Vec<u64>,
    ) -> bool {
        let mut state = self.state();
        if state.falls != falls {
            return false;
        }
        state.pulse_since = None;
        if state.stood_on.as_ref() != Some(&generations) {
            self.followed.stand(state.streams.iter().map(|stream| stream.key()));
        } else if !state.stands {
            self.followed.resume();
        }
        (state.stands, state.stood_on) = (true, Some(generations));
        let good_for = state.lag_max + BETWEEN_PASSED;
        let good_for_us = u64::try_from(good_for.as_micros()).unwrap_or(u64::MAX);
        self.followed.passed(pulse, began.0.saturating_add(good_for_us));
        true
    }

    fn state(&self) -> MutexGuard<'_, GroupState> {
        // between two statements all of it is whole
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The generations of streams that all tell of every change; `None` without any stream.
fn generations(streams: &[Arc<ServerLog>]) -> Option<Vec<u64>> {
    let generations = streams.iter().map(|stream| stream.generation()).collect();
    if streams.is_empty() { None } else { generations }
}

/// A connection to a writer.
struct Writer {
    target: LogSource,
    client: Client<Box<dyn Stream>>,
}

/// What all writers together have; `None` where nothing is asked for, or they have nothing.
fn positions(
    publisher: &Publisher,
    writers: Option<&[LogSource]>,
    asked: &mut Vec<Writer>,
) -> Result<Option<GtidSet>, String> {
    let Some(writers) = writers else { return Ok(None) };
    if writers.is_empty() {
        return Err("nobody is written to".to_owned());
    }
    asked.retain(|writer| writers.contains(&writer.target));
    let mut all = Vec::new();
    for target in writers {
        let known = asked.iter().position(|writer| writer.target == *target);
        let mut writer = match known {
            Some(at) => asked.swap_remove(at),
            None => {
                let client = target.connect(publisher, "tidegate_pulse")?;
                Writer { target: target.clone(), client }
            }
        };
        let has = position(&mut writer.client).map_err(|error| error.to_string())?;
        asked.push(writer);
        all.push(has);
    }
    all.retain(|has| !has.is_empty());
    let set = GtidSet::parse(&all.join(","));
    if set.is_none() && !all.is_empty() { Err("its GTIDs are none".to_owned()) } else { Ok(set) }
}

/// What a server has written and received.
fn position(client: &mut Client<Box<dyn Stream>>) -> Result<String, client::Error> {
    const UNKNOWN_VARIABLE: u16 = 1193;
    let answer = match client.query("SELECT @@global.gtid_executed") {
        Err(error) if error.refusal().is_some_and(|it| it.code == UNKNOWN_VARIABLE) => {
            client.query("SELECT @@global.gtid_binlog_pos")?
        }
        answer => answer?,
    };
    Ok(answer.value(0).unwrap_or_default().to_owned())
}

#[cfg(test)]
pub(super) mod tests {
    use cache::{Basis, QueryCache};

    use super::*;

    /// A hostgroup that nobody tells of changes.
    pub(in crate::following) fn group() -> Arc<FollowedGroup> {
        Arc::new(FollowedGroup::new(3, QueryCache::new(7).follows().of(3)))
    }

    /// What an answer rests on that reads a table now; `None` where nothing is seen of changes.
    pub(in crate::following) fn basis(group: &FollowedGroup, table: u64) -> Option<Basis> {
        Basis::note(&group.followed, std::iter::once(table))
    }

    fn begin(group: &FollowedGroup) -> (u64, Micros) {
        (group.followed.begin_pulse(), Micros::now())
    }

    /// A pulse that all streams passed, in these generations.
    fn pass(group: &FollowedGroup, generations: &[u64]) -> bool {
        let (pulse, falls) = (begin(group), group.state().falls);
        group.note_passed(pulse, falls, generations.to_vec()) && group.followed.has_passed(pulse.0)
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
        group.state().pulse_since = Some(Instant::now());
        group.ask_of(None, Duration::from_secs(60));
        group.look();
        assert!(kept.is_current());
        group.ask_of(None, Duration::ZERO);
        group.look();
        assert!(!kept.is_current());
        assert!(pass(&group, &[1]) && kept.is_current());
        group.fall();
        assert!(!kept.is_current() && pass(&group, &[1]) && !kept.is_current());
    }

    #[test]
    fn a_pulse_during_which_its_writers_became_others_says_nothing() {
        let group = group();
        group.ask_of(None, Duration::ZERO);
        let (pulse, falls) = (begin(&group), group.state().falls);
        group.ask_of(Some(Vec::new()), Duration::ZERO);
        assert!(!group.note_passed(pulse, falls, vec![1]));
        let falls = group.state().falls;
        group.ask_of(Some(Vec::new()), Duration::from_secs(1));
        assert!(group.note_passed(pulse, falls, vec![1]), "they are the same");
    }

    #[test]
    fn a_pulse_during_which_a_stream_broke_says_nothing() {
        let group = group();
        let (pulse, falls) = (begin(&group), group.state().falls);
        group.fall();
        assert!(!group.note_passed(pulse, falls, vec![1]));
        assert!(!group.followed.stands() && !group.followed.has_passed(pulse.0));
    }

    #[test]
    fn what_was_kept_is_told_no_longer_than_a_pulse_may_take_behind_the_last_that_was_passed() {
        let group = group();
        group.ask_of(None, Duration::from_millis(500));
        assert!(!group.followed.is_good_at(0));
        let (pulse, falls) = (group.followed.begin_pulse(), group.state().falls);
        assert!(group.note_passed((pulse, Micros(1_000_000)), falls, vec![1]));
        let is_good = |now_us| group.followed.is_good_at(now_us);
        assert!(is_good(1_574_999) && !is_good(1_575_000));
    }
}
