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

use binlog::{LogStream, Noted, Position};
use engine::caching::server_key;
use engine::report::Printable;
use engine::stats::LogStreamRow;
use following::{Cascades, Condition, FollowedGroup, FollowedLog, LogAnswers};
use io::Micros;
use keeper::Endpoint;
use keeper::gtid_sets::GtidSet;

use super::dump::Dump;
use super::server::LoggingServer;
use super::source::LogSource;
use crate::publisher::Publisher;

/// A server whose log is followed.
pub(super) struct ServerLog {
    pub(super) target: LogSource,
    /// By which servers tell readers apart.
    reader_id: u32,
    state: Mutex<FollowedLog>,
    /// What makes following it of little use; mostly empty.
    hint: Mutex<String>,
    /// There is something to ask about, or an end.
    news: Condvar,
    ends: AtomicBool,
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
const XA_HIDDEN: Micros = Micros::from_secs(1);

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
            hint: Mutex::default(),
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
        self.state().tell_to(groups);
    }

    /// The generation of a stream that tells of every change; `None` for one that does not.
    pub(super) fn generation(&self) -> Option<u64> {
        self.state().generation()
    }

    /// Waits for a pulse in place of the one before, which is to have passed when the server's
    /// readers see what it then `has`, and all of that is told.
    pub(super) fn await_pulse(&self, hostgroup: u32, pulse: u64, has: Option<GtidSet>) {
        self.state().await_pulse((hostgroup, pulse), has, Micros::now());
        self.news.notify_all();
    }

    /// Whether a pulse of a hostgroup is still awaited.
    pub(super) fn awaits(&self, hostgroup: u32, pulse: u64) -> bool {
        self.state().awaits(hostgroup, pulse)
    }

    /// What its server is known by where it answers.
    pub(super) fn key(&self) -> u64 {
        let Endpoint { hostname, port } = &self.target.server;
        server_key(hostname, u16::try_from(*port).unwrap_or_default())
    }

    /// How it is for a hostgroup, which `stands` or does not.
    pub(super) fn row(&self, hostgroup: u32, stands: bool) -> LogStreamRow {
        let hint = self.hint().clone();
        let state = self.state();
        let figures = &state.figures;
        let lag = state.lag(hostgroup, Micros::now());
        let (told, reason) = match state.condition() {
            Condition::Beginning => ("beginning", String::new()),
            Condition::Following if stands => ("following", hint),
            Condition::Following => ("lagging", hint),
            Condition::Failed(reason) => ("failed", reason.clone()),
        };
        LogStreamRow {
            hostgroup,
            hostname: self.target.server.hostname.clone(),
            port: self.target.server.port,
            state: told,
            reason,
            gtid: figures.gtid.as_ref().map(ToString::to_string).unwrap_or_default(),
            position: state.position().to_string(),
            lag_ms: lag.as_ms(),
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
            self.wait(pause);
            pause = (pause * 2).min(PAUSE_MAX);
        }
    }

    /// Waits for so long, or until it is to end.
    fn wait(&self, pause: Duration) {
        drop(self.news.wait_timeout_while(self.state(), pause, |_| !self.is_over()));
    }

    fn is_over(&self) -> bool {
        self.ends.load(Ordering::Relaxed)
    }

    /// Follows the log from what is visible on, until it cannot be; fails where it cannot be at
    /// all.
    fn follow(&self, publisher: &Publisher) -> Result<(), String> {
        let mut server = LoggingServer::new(self.target.connect(publisher, "tidegate_cache")?)?;
        let end = server.beginning()?;
        if server.has_ended_xa()? {
            self.wait(Duration::from_micros(XA_HIDDEN.0));
        }
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
        let hidden = if server.is_mariadb { XA_HIDDEN } else { Micros(0) };
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
        hidden: Micros,
        is_over: impl Fn() -> bool,
    ) -> Result<(), String> {
        while !is_over() {
            let mut is_full = false;
            let mut tell = |noted: Noted<'_>| {
                is_full |= !self.state().note(noted, hidden, Micros::now());
            };
            dump.packet(|part| stream.feed(part, &mut tell).map_err(|fault| fault.to_string()))?;
            stream.end(&mut tell).map_err(|fault| fault.to_string())?;
            if is_full {
                return Err("it has too many changes that are not visible yet".to_owned());
            }
            let mut state = self.state();
            state.end_event(stream.position(), stream.gtid(), Micros::now());
            if state.has_unseen() {
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
            let waits = |state: &mut FollowedLog| !state.asks() && !is_over();
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
        let asked = self.state().ask();
        let stand = asked.stand.then(|| server.standing()).transpose()?;
        let visible = asked.visible.then(|| server.visible()).transpose()?;
        let cascades = asked.cascades.then(|| server.cascades()).transpose()?;
        if let Some(cascades) = &cascades {
            server.check_engines()?;
            *self.hint() = hint(server, cascades);
        }
        self.state().told(asked, LogAnswers { stand, visible, cascades }, Micros::now())
    }

    /// It tells of every change from now on.
    fn stand(&self, end: Position, cascades: Cascades, server: &LoggingServer) {
        *self.hint() = hint(server, &cascades);
        if self.state().stand(end, cascades) {
            tracing::info!(server = %self.target.server, "the log of a server is followed again");
        }
    }

    /// It does not tell of changes any more.
    fn fail(&self, reason: String) {
        let is_news = self.state().fail(reason.clone());
        if is_news && !self.is_over() {
            let (server, reason) = (&self.target.server, Printable(&reason));
            tracing::warn!(%server, "the log of a server is not followed: {reason}");
        }
    }

    fn hint(&self) -> MutexGuard<'_, String> {
        self.hint.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn state(&self) -> MutexGuard<'_, FollowedLog> {
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
