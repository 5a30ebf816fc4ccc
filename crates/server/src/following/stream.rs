//! The stream of one server's log: a thread that reads it and one that asks the same server what is
//! visible there. What changes is told to all hostgroups that have the server.
//!
//! A stream that breaks begins anew at the end of the log, after a pause that grows. Whoever relied
//! on it is told at once, and relies on it again after the next pulse that it has passed.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use binlog::{Gtid, LogChange, LogStream, Noted, Position, Why};
use engine::caching::server_key;
use engine::catalog::table_key;
use engine::report::Printable;
use engine::stats::LogStreamRow;
use keeper::Endpoint;
use keeper::gtid_sets::GtidSet;

use super::dump::Dump;
use super::hostgroup::FollowedGroup;
use super::server::{Cascades, LogStand, LoggingServer};
use super::source::LogSource;
use super::unseen::{Subject, Unseen, Visible};
use crate::publisher::Publisher;

/// A server whose log is followed.
pub(super) struct ServerLog {
    pub(super) target: LogSource,
    /// By which servers tell readers apart.
    reader_id: u32,
    state: Mutex<State>,
    /// There is something to ask about, or an end.
    news: Condvar,
    ends: AtomicBool,
}

#[derive(Default)]
struct State {
    condition: Condition,
    /// Goes up when whatever was told before may not be all there was to tell.
    generation: u64,
    /// Whoever is told, by hostgroup.
    told: BTreeMap<u32, Arc<FollowedGroup>>,
    cascades: Cascades,
    /// The number of the last change of a definition, and of the one up to which foreign keys were
    /// read.
    defined: u64,
    known_defined: u64,
    position: Position,
    unseen: Unseen,
    awaited: Vec<Awaited>,
    figures: Figures,
}

/// How a stream is.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(super) enum Condition {
    /// It is being begun.
    #[default]
    Beginning,
    /// It is read.
    Following,
    /// It cannot be, for that reason.
    Failed(String),
}

/// What is counted of a stream.
#[derive(Clone, Default, Debug)]
pub(super) struct Figures {
    pub(super) events: u64,
    pub(super) tables_changed: u64,
    pub(super) all_changed: u64,
    pub(super) reconnects: u64,
    /// The last transaction.
    pub(super) gtid: Option<Gtid>,
    /// How long the last pulse took that was passed.
    pub(super) lag: Duration,
    /// What makes following it of little use; mostly empty.
    pub(super) hint: String,
}

/// A pulse that has not been passed.
struct Awaited {
    hostgroup: u32,
    pulse: u64,
    since: Instant,
    /// What the server has to have; `None` for what it has anyway.
    has: Option<GtidSet>,
    /// The server was asked since the pulse began.
    is_asked: bool,
    /// Where its log went to when it had that.
    end: Option<Position>,
}

/// Pauses between attempts.
const PAUSE_MIN: Duration = Duration::from_millis(100);
const PAUSE_MAX: Duration = Duration::from_secs(5);

/// Pauses between questions that come to nothing.
const ASK_MIN: Duration = Duration::from_millis(1);
const ASK_MAX: Duration = Duration::from_millis(20);

/// What is told of a thread that panicked; the log says more.
const PANIC: &str = "a panic";

/// How often it is asked whether the log still tells of everything.
const CHECK_EVERY: Duration = Duration::from_secs(2);

/// How long the end of an XA transaction of MariaDB may take from its log to its rows: these come
/// into sight in no order with others.
const XA_HIDDEN: Duration = Duration::from_secs(1);

impl ServerLog {
    /// One that begins on a thread of its own.
    pub(super) fn begin(
        target: LogSource,
        reader_id: u32,
        publisher: Arc<Publisher>,
    ) -> std::io::Result<(Arc<Self>, JoinHandle<()>)> {
        let log = Arc::new(Self {
            target,
            reader_id,
            state: Mutex::default(),
            news: Condvar::new(),
            ends: AtomicBool::new(false),
        });
        let own = log.clone();
        let thread =
            thread::Builder::new().name("log".to_owned()).spawn(move || own.run(&publisher))?;
        Ok((log, thread))
    }

    /// Ends it: soon, as its server says something twice a second.
    pub(super) fn end(&self) {
        self.ends.store(true, Ordering::Relaxed);
        drop(self.state());
        self.news.notify_all();
    }

    /// From now on changes are told to exactly these.
    pub(super) fn tell(&self, groups: BTreeMap<u32, Arc<FollowedGroup>>) {
        let mut state = self.state();
        state.awaited.retain(|awaited| groups.contains_key(&awaited.hostgroup));
        state.told = groups;
    }

    /// The generation of a stream that tells of every change; `None` for one that does not.
    pub(super) fn generation(&self) -> Option<u64> {
        let state = self.state();
        let tells = state.condition == Condition::Following && !state.is_stale();
        tells.then_some(state.generation)
    }

    /// Waits for a pulse in place of the one before, which is to have passed when the server's
    /// readers see what it then `has`, and all of that is told.
    pub(super) fn await_pulse(&self, hostgroup: u32, pulse: u64, has: Option<GtidSet>) {
        let mut state = self.state();
        state.awaited.retain(|awaited| awaited.hostgroup != hostgroup);
        let (since, is_asked, end) = (Instant::now(), false, None);
        state.awaited.push(Awaited { hostgroup, pulse, since, has, is_asked, end });
        drop(state);
        self.news.notify_all();
    }

    /// Whether a pulse of a hostgroup is still awaited.
    pub(super) fn awaits(&self, hostgroup: u32, pulse: u64) -> bool {
        let state = self.state();
        state.awaited.iter().any(|it| it.hostgroup == hostgroup && it.pulse == pulse)
    }

    /// What its server is known by where it answers.
    pub(super) fn key(&self) -> u64 {
        let Endpoint { hostname, port } = &self.target.server;
        server_key(hostname, u16::try_from(*port).unwrap_or_default())
    }

    /// How it is for a hostgroup, which `stands` or does not.
    pub(super) fn row(&self, hostgroup: u32, stands: bool) -> LogStreamRow {
        let state = self.state();
        let figures = &state.figures;
        let awaited = state.awaited.iter().find(|awaited| awaited.hostgroup == hostgroup);
        let lag = awaited.map_or(figures.lag, |it| it.since.elapsed().max(figures.lag));
        let (told, reason) = match &state.condition {
            Condition::Beginning => ("beginning", String::new()),
            Condition::Following if stands => ("following", figures.hint.clone()),
            Condition::Following => ("lagging", figures.hint.clone()),
            Condition::Failed(reason) => ("failed", reason.clone()),
        };
        LogStreamRow {
            hostgroup,
            hostname: self.target.server.hostname.clone(),
            port: self.target.server.port,
            state: told,
            reason,
            gtid: figures.gtid.as_ref().map(ToString::to_string).unwrap_or_default(),
            position: state.position.to_string(),
            lag_ms: u64::try_from(lag.as_millis()).unwrap_or(u64::MAX),
            events: figures.events,
            tables_changed: figures.tables_changed,
            all_changed: figures.all_changed,
            reconnects: figures.reconnects,
        }
    }

    fn run(&self, publisher: &Publisher) {
        let mut pause = PAUSE_MIN;
        while !self.is_over() {
            let began = Instant::now();
            let followed = catch_unwind(AssertUnwindSafe(|| self.follow(publisher)));
            if let Err(reason) = followed.unwrap_or_else(|_| Err(PANIC.to_owned())) {
                self.fail(reason);
            }
            pause = if began.elapsed() > PAUSE_MAX { PAUSE_MIN } else { pause };
            let state = self.state();
            // woken only to end
            drop(self.news.wait_timeout_while(state, pause, |_| !self.is_over()));
            pause = (pause * 2).min(PAUSE_MAX);
        }
    }

    fn is_over(&self) -> bool {
        self.ends.load(Ordering::Relaxed)
    }

    /// Follows the log from its end on, until it cannot be; fails where it cannot be at all.
    fn follow(&self, publisher: &Publisher) -> Result<(), String> {
        let mut server = LoggingServer::new(self.target.connect(publisher, "tidegate_cache")?)?;
        let LogStand { end, .. } = server.standing()?;
        server.check()?;
        server.check_engines()?;
        let cascades = server.cascades()?;
        let client = self.target.connect(publisher, "tidegate_log")?;
        let dump = Dump::begin(client, self.reader_id, &end, server.is_mariadb)?;
        let stream = LogStream::new(end.clone(), server.has_checksums);
        self.stand(end, cascades, &server);
        // each ends the other one, and says why
        let is_broken = AtomicBool::new(false);
        let is_over = || self.is_over() || is_broken.load(Ordering::Relaxed);
        let breaks = |ended: Result<(), String>| match ended {
            Err(reason) if !is_broken.swap(true, Ordering::Relaxed) => self.fail(reason),
            _ => {}
        };
        let hidden = if server.is_mariadb { XA_HIDDEN } else { Duration::ZERO };
        thread::scope(|scope| {
            let asks = || {
                let asked = catch_unwind(AssertUnwindSafe(|| self.ask(&mut server, is_over)));
                breaks(asked.unwrap_or_else(|_| Err(PANIC.to_owned())));
            };
            let asking = thread::Builder::new().name("log asker".to_owned());
            asking.spawn_scoped(scope, asks).map_err(|error| error.to_string())?;
            breaks(self.read(dump, stream, hidden, is_over));
            Ok(())
        })
    }

    fn read(
        &self,
        mut dump: Dump,
        mut stream: LogStream,
        hidden: Duration,
        is_over: impl Fn() -> bool,
    ) -> Result<(), String> {
        while !is_over() {
            let mut is_full = false;
            let mut tell = |noted: Noted<'_>| is_full |= !self.state().note(noted, hidden);
            dump.packet(|part| stream.feed(part, &mut tell).map_err(|fault| fault.to_string()))?;
            stream.end(&mut tell).map_err(|fault| fault.to_string())?;
            if is_full {
                return Err("it has too many changes that are not visible yet".to_owned());
            }
            let mut state = self.state();
            state.figures.events += 1;
            state.figures.gtid = stream.gtid().cloned();
            state.position.clone_from(stream.position());
            state.settle();
            if !state.unseen.is_empty() {
                self.news.notify_all();
            }
        }
        Ok(())
    }

    fn ask(&self, server: &mut LoggingServer, is_over: impl Fn() -> bool) -> Result<(), String> {
        let (mut pause, mut checked) = (ASK_MIN, Instant::now());
        loop {
            let due = CHECK_EVERY.saturating_sub(checked.elapsed());
            let state = self.state();
            let waits = |state: &mut State| !state.asks() && !is_over();
            let waited = self.news.wait_timeout_while(state, due, waits);
            drop(waited);
            if is_over() {
                return Ok(());
            }
            if checked.elapsed() >= CHECK_EVERY {
                server.check()?;
                checked = Instant::now();
            }
            let came_to_something = self.ask_once(server)?;
            pause = if came_to_something { ASK_MIN } else { (pause * 2).min(ASK_MAX) };
            thread::sleep(pause);
        }
    }

    /// Asks for what there is to ask about; whether that came to anything.
    fn ask_once(&self, server: &mut LoggingServer) -> Result<bool, String> {
        let mut state = self.state();
        let (numbers, defined) = (state.unseen.numbers(), state.defined);
        let has_unseen = !state.unseen.is_empty();
        let rereads = state.is_stale() && state.unseen.are_seen(defined);
        state.awaited.iter_mut().for_each(|awaited| awaited.is_asked = true);
        let has_awaited = state.awaited.iter().any(|awaited| awaited.end.is_none());
        let position = state.position.clone();
        drop(state);
        let stand = has_awaited.then(|| server.standing()).transpose()?;
        if stand.as_ref().is_some_and(|stand| !stand.end.is_behind_or_at(&position)) {
            return Err(format!("its log ends in front of {position}: it has begun anew"));
        }
        let visible = has_unseen.then(|| server.visible()).transpose()?;
        let cascades = rereads.then(|| server.cascades()).transpose()?;
        if rereads {
            server.check_engines()?;
        }
        let mut state = self.state();
        let mut came_to_something = cascades.is_some();
        if let Some(cascades) = cascades {
            state.figures.hint = hint(server, &cascades);
            (state.cascades, state.known_defined) = (cascades, defined);
            state.generation += 1;
        }
        if let Some(visible) = visible {
            came_to_something |= state.note_visible(&visible, numbers);
        }
        if let Some(stand) = stand {
            came_to_something |= state.note_stand(&stand);
        }
        state.settle();
        Ok(came_to_something)
    }

    /// It tells of every change from now on.
    fn stand(&self, end: Position, cascades: Cascades, server: &LoggingServer) {
        let mut state = self.state();
        let is_new = matches!(state.condition, Condition::Failed(_));
        state.condition = Condition::Following;
        state.generation += 1;
        state.position = end;
        state.figures.hint = hint(server, &cascades);
        state.cascades = cascades;
        (state.defined, state.known_defined) = (0, 0);
        (state.unseen, state.awaited) = Default::default();
        if is_new {
            state.figures.reconnects += 1;
            tracing::info!(server = %self.target.server, "the log of a server is followed again");
        }
    }

    /// It does not tell of changes any more.
    fn fail(&self, reason: String) {
        let mut state = self.state();
        let is_known = matches!(&state.condition, Condition::Failed(known) if *known == reason);
        state.condition = Condition::Failed(reason.clone());
        state.generation += 1;
        state.told.values().for_each(|group| group.fall());
        drop(state);
        if !is_known && !self.is_over() {
            let (server, reason) = (&self.target.server, Printable(&reason));
            tracing::warn!(%server, "the log of a server is not followed: {reason}");
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // between two statements all of it is whole
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What makes following a log of little use; mostly empty.
fn hint(server: &LoggingServer, cascades: &Cascades) -> String {
    match (server.format.as_str(), &cascades.unread) {
        ("ROW" | "", None) => String::new(),
        ("ROW" | "", Some(view)) => format!(
            "the definition of {view} cannot be read: it changes with any table; GRANT SELECT on \
             it and on what it reads"
        ),
        (format, _) => format!("binlog_format is {format}: writes logged as text end all answers"),
    }
}

impl State {
    fn is_stale(&self) -> bool {
        self.defined != self.known_defined
    }

    /// Whether there is something to ask the server about.
    fn asks(&self) -> bool {
        let is_new = |awaited: &Awaited| awaited.end.is_none();
        !self.unseen.is_empty() || self.awaited.iter().any(is_new) || self.is_stale()
    }

    /// Tells what a log told, which is told again when it is visible; `false` where too much waits
    /// for that.
    fn note(&mut self, noted: Noted<'_>, hidden: Duration) -> bool {
        let Noted { at, gtid, change } = noted;
        let mut hidden_until = None;
        let subject = match change {
            LogChange::Table { schema, table } => {
                self.figures.tables_changed += 1;
                Subject::Table(table_key(schema, table))
            }
            LogChange::All(why) => {
                self.figures.all_changed += 1;
                match why {
                    Why::Statement | Why::UnnamedTable => {}
                    Why::Xa => hidden_until = Some(Instant::now() + hidden),
                    Why::Definition | Why::Incident | Why::UnknownEvent(_) => {
                        self.defined = self.unseen.numbers() + 1;
                        self.told.values().for_each(|group| group.fall());
                    }
                }
                Subject::All
            }
        };
        self.tell(subject);
        self.unseen.push((at, gtid), subject, hidden_until)
    }

    /// Tells again of the first so many changes that are visible; whether there were any.
    fn note_visible(&mut self, visible: &Visible, numbers: u64) -> bool {
        let seen = self.unseen.take(visible, numbers, Instant::now());
        seen.iter().for_each(|subject| self.tell(*subject));
        !seen.is_empty()
    }

    /// Tells all hostgroups of a change, with what follows from it.
    fn tell(&self, subject: Subject) {
        for group in self.told.values() {
            match subject {
                Subject::All => group.followed.changed_all(),
                Subject::Table(table) => {
                    group.followed.changed(table);
                    self.cascades.children(table).for_each(|child| group.followed.changed(child));
                }
            }
        }
    }

    /// The server was there when it was asked; whether any pulse's position is known by that.
    fn note_stand(&mut self, stand: &LogStand) -> bool {
        let mut is_any = false;
        for awaited in self.awaited.iter_mut().filter(|it| it.is_asked && it.end.is_none()) {
            let has_all = awaited
                .has
                .as_ref()
                .is_none_or(|wanted| stand.has.as_ref().is_some_and(|has| has.covers(wanted)));
            if has_all {
                awaited.end = Some(stand.end.clone());
                is_any = true;
            }
        }
        is_any
    }

    /// Notes the pulses that have been passed.
    fn settle(&mut self) {
        let Self { awaited, position, unseen, .. } = self;
        let has_passed = |awaited: &mut Awaited| {
            let end = awaited.end.as_ref();
            end.is_some_and(|end| position.is_behind_or_at(end) && unseen.is_seen_up_to(end))
        };
        let passed: Vec<_> = awaited.extract_if(.., has_passed).collect();
        for Awaited { hostgroup, since, .. } in passed {
            self.figures.lag = since.elapsed();
            if let Some(group) = self.told.get(&hostgroup) {
                group.wake();
            }
        }
    }
}

#[cfg(test)]
mod tests;
