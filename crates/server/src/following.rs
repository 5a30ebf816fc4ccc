//! The threads that follow servers' logs, so that kept answers end when what they read changes.
//!
//! One thread looks what is wanted and which servers there are. Each server that may answer has a
//! [`stream`] of two threads, however many hostgroups have it; each hostgroup has a thread for its
//! pulses (`hostgroup`). What the bytes of a log say is `binlog`'s, what ends an answer `cache`'s.

mod dump;
mod hostgroup;
mod server;
mod source;
mod stream;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use aws_lc_rs::rand;
use cache::QueryCache;
use engine::ids::HostgroupId;
use engine::snapshot::Snapshot;
use engine::stats::LogStreamRow;
use engine::topology::ServerRef;
use following::writers_of;
use io::Micros;
use worker::ServerAddresses;

use crate::publisher::Publisher;
use hostgroup::GroupPulses;
use source::LogSource;
use stream::ServerLog;

/// All that is followed.
pub(crate) struct Following {
    publisher: Arc<Publisher>,
    cache: Arc<QueryCache>,
    followed: Mutex<AllFollowed>,
    ends: AtomicBool,
}

#[derive(Default)]
struct AllFollowed {
    groups: BTreeMap<u32, Arc<GroupPulses>>,
    logs: Vec<Arc<ServerLog>>,
    threads: Vec<JoinHandle<()>>,
    /// The id of the reader of the last log.
    reader_id: u32,
}

/// How often it is looked whether anything is wanted, is another, or is late.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// How long threads have to end.
const END_WITHIN: Duration = Duration::from_secs(1);

impl Following {
    /// Follows what the cache's users want, from now on.
    pub(crate) fn begin(
        publisher: Arc<Publisher>,
        cache: Arc<QueryCache>,
    ) -> std::io::Result<Arc<Self>> {
        let followed = AllFollowed { reader_id: reader_id(), ..AllFollowed::default() };
        let (followed, ends) = (Mutex::new(followed), AtomicBool::new(false));
        let following = Arc::new(Self { publisher, cache, followed, ends });
        let own = following.clone();
        let run = move || {
            while !own.ends.load(Ordering::Relaxed) {
                own.look();
                thread::sleep(LOOK_EVERY);
            }
        };
        thread::Builder::new().name("logs".to_owned()).spawn(run)?;
        Ok(following)
    }

    /// Ends all of it, as far as that takes no longer than a moment.
    pub(crate) fn end(&self) {
        self.ends.store(true, Ordering::Relaxed);
        let mut followed = self.followed();
        followed.groups.values().for_each(|group| group.end());
        followed.logs.iter().for_each(|log| log.end());
        let threads = std::mem::take(&mut followed.threads);
        drop(followed);
        let until = Instant::now() + END_WITHIN;
        while threads.iter().any(|thread| !thread.is_finished()) && Instant::now() < until {
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// How all of it is.
    pub(crate) fn rows(&self) -> Vec<LogStreamRow> {
        let groups: Vec<_> = self.followed().groups.values().cloned().collect();
        groups.iter().flat_map(|group| group.rows()).collect()
    }

    /// Begins what is wanted, and ends what is not any more.
    fn look(&self) {
        if self.cache.follows().wanted().next().is_none() {
            return;
        }
        // the configuration is at least as new as that
        let moves = self.cache.follows().moves();
        let (snapshot, addresses, _) = self.publisher.addresses();
        let mut followed = self.followed();
        // whoever ends all of it has the lock, or will have it
        if self.ends.load(Ordering::Relaxed) {
            return;
        }
        followed.threads.retain(|thread| !thread.is_finished());
        for (hostgroup, told) in self.cache.follows().wanted() {
            if followed.groups.contains_key(&hostgroup) {
                continue;
            }
            match GroupPulses::begin(hostgroup, told, self.publisher.clone()) {
                Ok((group, thread)) => {
                    followed.groups.insert(hostgroup, group);
                    followed.threads.push(thread);
                }
                Err(error) => tracing::error!(hostgroup, "logs are not followed: {error}"),
            }
        }
        followed.adopt((&snapshot, &addresses), &self.publisher);
        followed.groups.values().for_each(|group| group.group.followed.know(moves));
    }

    fn followed(&self) -> MutexGuard<'_, AllFollowed> {
        // between two steps all of it is whole
        self.followed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A random id that no replica is likely to have: those are numbered from below.
fn reader_id() -> u32 {
    let mut bytes = [0; 4];
    rand::fill(&mut bytes).expect("the random generator of the system works");
    u32::from_le_bytes(bytes) | 0xc000_0000
}

impl AllFollowed {
    /// Follows the servers that may answer in the hostgroups, as a configuration has them.
    fn adopt(
        &mut self,
        (snapshot, addresses): (&Snapshot, &ServerAddresses),
        publisher: &Arc<Publisher>,
    ) {
        let of = |servers: &[ServerRef]| -> Vec<(LogSource, bool)> {
            let may_answer = |server: &&ServerRef| server.state(u64::MAX).is_serving();
            let target = |server: &ServerRef| {
                let is_needed = !server.gauge.is_unproven();
                (LogSource::of(server, snapshot, addresses), is_needed)
            };
            servers.iter().filter(may_answer).map(target).collect()
        };
        let wanted: BTreeMap<u32, _> = self
            .groups
            .keys()
            .map(|hostgroup| (*hostgroup, of(snapshot.topology.hostgroup(HostgroupId(*hostgroup)))))
            .collect();
        self.begin_wanted(&wanted, publisher);
        let log_of = |target: &LogSource| self.logs.iter().find(|log| log.target == *target);
        let streams_of = |hostgroup: u32| {
            let mut streams = Vec::new();
            for (target, is_needed) in wanted.get(&hostgroup).into_iter().flatten() {
                match log_of(target) {
                    // one that is shunned answers nobody: it counts only while it is followed
                    Some(log) if *is_needed || log.generation().is_some() => {
                        streams.push(log.clone());
                    }
                    None if *is_needed => return Vec::new(),
                    _ => {}
                }
            }
            streams
        };
        let streams: BTreeMap<u32, _> =
            self.groups.keys().map(|hostgroup| (*hostgroup, streams_of(*hostgroup))).collect();
        let others = |group: &&Arc<GroupPulses>| {
            streams.get(&group.group.hostgroup).is_none_or(|streams| !group.has(streams))
        };
        // those whose streams are others rely on none while it is said whom these tell
        let changed: Vec<_> = self.groups.values().filter(others).cloned().collect();
        for group in &changed {
            group.follow(Vec::new());
            group.group.fall();
        }
        for log in &self.logs {
            let is_told = |group: &&Arc<GroupPulses>| {
                let streams = streams.get(&group.group.hostgroup).into_iter().flatten();
                streams.into_iter().any(|stream| Arc::ptr_eq(stream, log))
            };
            let groups = self.groups.values().filter(is_told);
            log.tell(groups.map(|group| (group.group.hostgroup, group.group.clone())).collect());
        }
        let lag_max = Micros::from_ms(snapshot.vars.query_cache_binlog_max_lag_ms);
        for group in self.groups.values() {
            let writers = writers_of(snapshot, group.group.hostgroup);
            let targets = |writers| of(writers).into_iter().map(|(target, _)| target).collect();
            group.ask_of(writers.map(targets), lag_max);
            if changed.iter().any(|other| Arc::ptr_eq(other, group)) {
                group.follow(streams.get(&group.group.hostgroup).cloned().unwrap_or_default());
            }
            group.group.look(Micros::now());
        }
        let is_wanted =
            |log: &ServerLog| wanted.values().flatten().any(|(target, _)| *target == log.target);
        self.logs.extract_if(.., |log| !is_wanted(log)).for_each(|log| log.end());
    }

    /// Begins the streams that are wanted and not there.
    fn begin_wanted(
        &mut self,
        wanted: &BTreeMap<u32, Vec<(LogSource, bool)>>,
        publisher: &Arc<Publisher>,
    ) {
        for (target, _) in wanted.values().flatten() {
            if self.logs.iter().any(|log| log.target == *target) {
                continue;
            }
            self.reader_id = self.reader_id.wrapping_add(1) | 0xc000_0000;
            match ServerLog::begin(target.clone(), self.reader_id, publisher.clone()) {
                Ok((log, thread)) => {
                    self.logs.push(log);
                    self.threads.push(thread);
                }
                Err(error) => {
                    tracing::error!(server = %target.server, "its log is not followed: {error}");
                }
            }
        }
    }
}
