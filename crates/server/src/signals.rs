//! From signals to decisions. The first SIGTERM or SIGINT drains, a second one stops at once.
//! SIGUSR1 asks for a report of the statistics, SIGHUP for the configuration to be read again.
//!
//! Everything that ends a process arrives as a [`Notice`] in one channel, workers that end
//! included, so that nothing is polled.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1};
use signal_hook::iterator::Signals;

/// What the main thread waits for.
#[derive(Debug)]
pub(crate) enum Notice {
    /// SIGTERM or SIGINT came.
    Stop,
    /// SIGUSR1 came.
    Report,
    /// SIGHUP came.
    Reload,
    /// The process is to end at once and to begin anew.
    Restart,
    /// A worker's loop returned; the error says why it could not go on.
    WorkerEnded(Result<(), String>),
}

/// What the main thread may ask of the workers.
pub(crate) trait Workers {
    /// How many were started.
    fn count(&self) -> usize;
    /// Accept no more clients; each worker ends when its last transaction has ended.
    fn drain(&self);
    /// End every session and worker.
    fn stop_now(&self);
    /// Write what was counted where the operator wants it.
    fn report(&mut self);
    /// Read the configuration again.
    fn reload(&mut self);
    /// How long sessions may take to end their transactions.
    fn drain_for(&self) -> Duration;
}

/// Sends a notice for every signal from now on.
pub(crate) fn watch(notices: Sender<Notice>) -> anyhow::Result<()> {
    let mut signals =
        Signals::new([SIGTERM, SIGINT, SIGUSR1, SIGHUP]).context("cannot watch for signals")?;
    let forward = move || {
        for signal in signals.forever() {
            let notice = match signal {
                SIGUSR1 => Notice::Report,
                SIGHUP => Notice::Reload,
                _ => Notice::Stop,
            };
            if notices.send(notice).is_err() {
                return;
            }
        }
    };
    std::thread::Builder::new()
        .name("signals".to_owned())
        .spawn(forward)
        .context("cannot start the thread that watches for signals")?;
    Ok(())
}

/// Why serving ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ServingEnded {
    /// It was told to stop.
    Stopped,
    /// It is to begin anew.
    Restart,
}

/// Waits for a signal to stop, whatever else is said before.
pub(crate) fn wait_for_stop(notices: &Receiver<Notice>) {
    while let Ok(notice) = notices.recv() {
        if let Notice::Stop = notice {
            return;
        }
    }
}

/// Serves until the workers have ended: drained after the first signal, for `drain_for` at most.
pub(crate) fn serve(
    workers: &mut impl Workers,
    notices: &Receiver<Notice>,
) -> anyhow::Result<ServingEnded> {
    let mut running = workers.count();
    let ended = loop {
        match notices.recv().context("nobody is left to tell the process to stop")? {
            Notice::Report => workers.report(),
            Notice::Reload => workers.reload(),
            Notice::WorkerEnded(Err(reason)) => {
                workers.stop_now();
                bail!("a worker ended: {reason}");
            }
            Notice::WorkerEnded(Ok(())) => {
                running = running.saturating_sub(1);
                if running == 0 {
                    bail!("all workers ended without being told to");
                }
            }
            Notice::Stop => break ServingEnded::Stopped,
            Notice::Restart => break ServingEnded::Restart,
        }
    };
    let drain_for = match ended {
        ServingEnded::Stopped => workers.drain_for(),
        ServingEnded::Restart => Duration::ZERO,
    };
    tracing::info!(
        deadline_ms = drain_for.as_millis() as u64,
        "stopping: no new clients; transactions may end; a second signal stops at once"
    );
    workers.drain();
    drain(running, workers, notices, drain_for);
    tracing::info!("stopped");
    Ok(ended)
}

fn drain(
    mut running: usize,
    workers: &mut impl Workers,
    notices: &Receiver<Notice>,
    drain_for: Duration,
) {
    let mut deadline = Instant::now() + drain_for;
    let mut told = false;
    while running > 0 {
        let left = deadline.saturating_duration_since(Instant::now());
        let why = match notices.recv_timeout(left) {
            Ok(Notice::WorkerEnded(_)) => {
                running -= 1;
                continue;
            }
            Ok(Notice::Report) => {
                workers.report();
                continue;
            }
            Ok(Notice::Reload) => {
                tracing::warn!("stopping: the configuration is not read again");
                continue;
            }
            Ok(Notice::Stop | Notice::Restart) => "second signal",
            Err(RecvTimeoutError::Timeout) => "deadline",
            Err(RecvTimeoutError::Disconnected) => return,
        };
        if told {
            tracing::warn!(workers = running, "workers did not end in time");
            return;
        }
        tracing::warn!(why, "ending the sessions that are left");
        workers.stop_now();
        told = true;
        deadline = Instant::now() + STOP_LIMIT;
    }
}

/// Time workers have to end once every session was told to.
const STOP_LIMIT: Duration = Duration::from_secs(3);

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::sync::mpsc::channel;

    use super::*;

    /// Workers that end when drained (`obedient`) or only when stopped.
    struct Fake {
        notices: Sender<Notice>,
        obedient: bool,
        drain_for: Duration,
        said: RefCell<Vec<&'static str>>,
    }

    impl Fake {
        fn end_both(&self) {
            for _ in 0..2 {
                self.notices.send(Notice::WorkerEnded(Ok(()))).unwrap();
            }
        }
    }

    impl Workers for Fake {
        fn count(&self) -> usize {
            2
        }

        fn drain(&self) {
            self.said.borrow_mut().push("drain");
            if self.obedient {
                self.end_both();
            }
        }

        fn stop_now(&self) {
            self.said.borrow_mut().push("stop_now");
            self.end_both();
        }

        fn report(&mut self) {
            self.said.borrow_mut().push("report");
        }

        fn reload(&mut self) {
            self.said.borrow_mut().push("reload");
        }

        fn drain_for(&self) -> Duration {
            self.drain_for
        }
    }

    fn serve_with(
        obedient: bool,
        drain_for: Duration,
        notices: impl IntoIterator<Item = Notice>,
    ) -> (anyhow::Result<ServingEnded>, Vec<&'static str>) {
        let (sender, receiver) = channel();
        for notice in notices {
            sender.send(notice).unwrap();
        }
        let mut fake = Fake { notices: sender, obedient, drain_for, said: RefCell::default() };
        let outcome = serve(&mut fake, &receiver);
        (outcome, fake.said.into_inner())
    }

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn what_is_asked_for_is_done_and_the_first_signal_to_stop_drains() {
        let asked = [Notice::Report, Notice::Reload, Notice::Stop];
        let (outcome, said) = serve_with(true, LONG, asked);
        assert!(outcome.is_ok());
        assert_eq!(said, ["report", "reload", "drain"]);
    }

    #[test]
    fn a_restart_ends_the_sessions_at_once() {
        let (outcome, said) = serve_with(false, LONG, [Notice::Restart]);
        assert_eq!(outcome.unwrap(), ServingEnded::Restart);
        assert_eq!(said, ["drain", "stop_now"]);
    }

    #[test]
    fn a_second_signal_stops_at_once() {
        let (outcome, said) = serve_with(false, LONG, [Notice::Stop, Notice::Stop]);
        assert!(outcome.is_ok());
        assert_eq!(said, ["drain", "stop_now"]);
    }

    #[test]
    fn sessions_that_outlast_the_deadline_are_ended() {
        let (outcome, said) = serve_with(false, Duration::ZERO, [Notice::Stop]);
        assert!(outcome.is_ok());
        assert_eq!(said, ["drain", "stop_now"]);
    }

    #[test]
    fn a_worker_that_cannot_go_on_ends_the_process_with_its_reason() {
        let broken = Notice::WorkerEnded(Err("epoll_wait: Bad file descriptor".to_owned()));
        let (outcome, said) = serve_with(true, LONG, [broken]);
        let error = outcome.unwrap_err().to_string();
        assert_eq!(error, "a worker ended: epoll_wait: Bad file descriptor");
        assert_eq!(said, ["stop_now"]);
    }
}
