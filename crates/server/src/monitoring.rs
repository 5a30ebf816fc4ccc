//! The threads that know how servers are: one checks them, one has what follows come into force.
//!
//! A check never waits for a configuration, and workers never wait for either.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use engine::report::Printable;
use io::{EpollDriver, Loop, Options};
use keeper::{Endpoint, Seen};
use monitor::{Check, Checked, Monitor, Outside};

use crate::clock;
use crate::publisher::Publisher;

/// What the second thread hears.
pub(crate) enum Heard {
    /// A check has come to something.
    Checked(Checked),
    /// A worker saw something of a server that is a reason to check it.
    Doubted(Endpoint),
}

/// The thread that checks servers.
pub(crate) struct Checks {
    publisher: Arc<Publisher>,
    ends: Arc<AtomicBool>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Checks {
    /// Ends it: when this returns no server is asked any more.
    pub(crate) fn stop(&self) {
        self.ends.store(true, Ordering::Relaxed);
        self.publisher.stop_monitor();
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            // it says in the log why it panicked
            let _ = thread.join();
        }
    }
}

/// Starts both threads; the second ends with the process. Workers tell what they see by `tell`.
pub(crate) fn start(
    publisher: Arc<Publisher>,
    (tell, told): (Sender<Heard>, Receiver<Heard>),
) -> anyhow::Result<Checks> {
    let mut events = open(&publisher, &tell)?;
    let ends = Arc::new(AtomicBool::new(false));
    let checks = {
        let (publisher, ends) = (publisher.clone(), ends.clone());
        move || {
            while catch_unwind(AssertUnwindSafe(|| events.run())).is_err() {
                tracing::error!("the thread that checks servers panicked, and begins anew");
                thread::sleep(AFTER_PANIC);
                if ends.load(Ordering::Relaxed) {
                    return;
                }
                match open(&publisher, &tell) {
                    Ok(anew) => events = anew,
                    Err(error) => return tracing::error!("servers are not checked: {error:#}"),
                }
            }
        }
    };
    let of_checks = publisher.clone();
    let decisions = move || {
        let mut failing = Failing::default();
        let now_and_then = || {
            publisher.release_forgotten();
            publisher.certificates().warn_of_ends();
        };
        while let Some(heard) = next(&told, now_and_then) {
            let heard = AssertUnwindSafe(|| match heard {
                Heard::Checked(checked) => {
                    failing.tell(&checked);
                    publisher.hear(checked);
                }
                Heard::Doubted(server) => publisher.look(server),
            });
            if catch_unwind(heard).is_err() {
                tracing::error!("what follows from a check is not known: a panic");
            }
        }
    };
    let thread = thread::Builder::new().name("monitor".to_owned()).spawn(checks)?;
    thread::Builder::new().name("keeper".to_owned()).spawn(decisions)?;
    Ok(Checks { publisher: of_checks, ends, thread: Mutex::new(Some(thread)) })
}

/// What is told next; `idle` is called now and then in between. `None` when nobody tells any more.
fn next(told: &Receiver<Heard>, idle: impl Fn()) -> Option<Heard> {
    loop {
        idle();
        match told.recv_timeout(IDLE) {
            Ok(heard) => return Some(heard),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return None,
        }
    }
}

/// How often it is looked whether a hostgroup was forgotten that is held.
const IDLE: Duration = Duration::from_millis(200);

/// How long the checks pause that panicked.
const AFTER_PANIC: Duration = Duration::from_secs(1);

/// The loop of the checks.
fn open(publisher: &Publisher, tell: &Sender<Heard>) -> anyhow::Result<Loop<EpollDriver, Monitor>> {
    let driver = EpollDriver::new().map_err(|failure| anyhow::anyhow!("{failure}"))?;
    let tell = tell.clone();
    let outside = Outside {
        unix_us: Box::new(clock::unix_us),
        connectors: publisher.certificates().connectors(),
        // nobody listens when the process ends
        tell: Box::new(move |checked| drop(tell.send(Heard::Checked(checked)))),
    };
    let monitor = Monitor::new(publisher.plan(), outside);
    let mut events = Loop::new(driver, monitor, Options::default());
    publisher.tell_monitor(events.mailbox());
    let (monitor, edge) = events.parts_mut();
    monitor.start(edge);
    Ok(events)
}

/// Checks of which it is known that they fail; beyond so many all are told anew. Servers may come
/// and go by names that others tell.
const FAILING_MAX: usize = 10_000;

/// Checks that came to nothing the last time.
#[derive(Default)]
struct Failing(BTreeSet<(Endpoint, Check)>);

impl Failing {
    /// Logs when a check begins to fail, and when it no longer does.
    fn tell(&mut self, checked: &Checked) {
        let Checked { server, check, found, seen, .. } = checked;
        if seen.as_ref().is_some_and(Seen::is_own_delay) {
            return;
        }
        let key = (server.clone(), *check);
        if self.0.len() >= FAILING_MAX {
            self.0.clear();
        }
        match found {
            Err(reason) if self.0.insert(key.clone()) => {
                let reason = Printable(reason);
                tracing::warn!(%server, %check, "the check of a server fails: {reason}");
            }
            Ok(_) if self.0.remove(&key) => {
                tracing::info!(%server, %check, "the check of a server is answered again");
            }
            _ => {}
        }
    }
}
