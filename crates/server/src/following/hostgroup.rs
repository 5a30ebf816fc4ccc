//! A hostgroup whose servers' logs are followed: whether all of them are, and closely enough.
//!
//! A thread asks its writer again and again where that is (a pulse), and waits until each stream
//! has passed that. The first pulse that was passed by all streams makes the hostgroup stand.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use cache::Followed;
use client::Client;
use engine::stats::LogStreamRow;
use following::FollowedGroup;
use io::Micros;
use keeper::gtid_sets::GtidSet;

use super::source::LogSource;
use super::stream::ServerLog;
use crate::connections::Stream;
use crate::publisher::Publisher;

/// A hostgroup with its streams.
pub(super) struct GroupPulses {
    pub(super) group: Arc<FollowedGroup>,
    sources: Mutex<PulseSources>,
    ends: AtomicBool,
}

#[derive(Default)]
struct PulseSources {
    streams: Vec<Arc<ServerLog>>,
    /// Who knows its writes; `None` for each of its own servers.
    writers: Option<Vec<LogSource>>,
}

/// The pause between the beginnings of two pulses.
const PULSE_EVERY: Duration = Duration::from_millis(25);

/// How often it is looked whether all streams are there.
const LOOK_EVERY: Duration = Duration::from_millis(10);

impl GroupPulses {
    /// One whose pulses begin on a thread of its own.
    pub(super) fn begin(
        hostgroup: u32,
        followed: Arc<Followed>,
        publisher: Arc<Publisher>,
    ) -> std::io::Result<(Arc<Self>, JoinHandle<()>)> {
        let (sources, ends) = Default::default();
        let group = Arc::new(FollowedGroup::new(hostgroup, followed));
        let pulses = Arc::new(Self { group, sources, ends });
        let own = pulses.clone();
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
        Ok((pulses, thread))
    }

    /// Ends its pulses.
    pub(super) fn end(&self) {
        self.ends.store(true, Ordering::Relaxed);
        self.group.fall();
        self.group.wake();
    }

    fn is_over(&self) -> bool {
        self.ends.load(Ordering::Relaxed)
    }

    /// Whether it is told by exactly these, in this order.
    pub(super) fn has(&self, streams: &[Arc<ServerLog>]) -> bool {
        let own = &self.sources().streams;
        own.len() == streams.len() && own.iter().zip(streams).all(|(a, b)| Arc::ptr_eq(a, b))
    }

    /// It is told by these from now on, which is to begin with a fall.
    pub(super) fn follow(&self, streams: Vec<Arc<ServerLog>>) {
        self.sources().streams = streams;
    }

    /// Its writes are known by these servers, or by each of its own; a pulse may take that long.
    pub(super) fn ask_of(&self, writers: Option<Vec<LogSource>>, lag_max: Micros) {
        let mut sources = self.sources();
        if sources.writers != writers {
            sources.writers = writers;
            self.group.note_other_writers();
        }
        self.group.allow_lag(lag_max);
    }

    /// How its streams are.
    pub(super) fn rows(&self) -> Vec<LogStreamRow> {
        let (streams, stands) = (self.sources().streams.clone(), self.group.stands());
        streams.iter().map(|stream| stream.row(self.group.hostgroup, stands)).collect()
    }

    /// One pulse; `false` where none could be begun, or has not been passed.
    fn pulse(&self, publisher: &Publisher, asked: &mut Vec<Writer>) -> bool {
        let falls = self.group.falls();
        let sources = self.sources();
        let (streams, writers) = (sources.streams.clone(), sources.writers.clone());
        drop(sources);
        let Some(generations) = generations(&streams) else { return false };
        let pulse = self.group.begin_pulse(falls, generations, Micros::now());
        let Ok(has) = positions(publisher, writers.as_deref(), asked) else { return false };
        let hostgroup = self.group.hostgroup;
        for stream in &streams {
            stream.await_pulse(hostgroup, pulse.number, has.clone());
        }
        while streams.iter().any(|stream| stream.awaits(hostgroup, pulse.number)) {
            if !self.group.holds(&pulse) || self.is_over() {
                return false;
            }
            self.group.wait(LOOK_EVERY);
            // whoever looks beside this may wait for a change of the configuration
            self.group.look(Micros::now());
        }
        self.group.pass(&pulse, streams.iter().map(|stream| stream.key()))
    }

    fn sources(&self) -> MutexGuard<'_, PulseSources> {
        // between two statements all of it is whole
        self.sources.lock().unwrap_or_else(PoisonError::into_inner)
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
