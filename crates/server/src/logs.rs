//! Where log events become text: sets `tracing` up as the command line asked, and writes the
//! engine's events through it.
//!
//! Lines reach standard error by a queue and a thread of their own: a reader that is slow, or
//! missing, holds up no client. Lines that the queue cannot take are dropped and counted. What a
//! thread says when it panics goes the same way, so that a thread whose words are lost still ends.

use std::backtrace::{Backtrace, BacktraceStatus};
use std::cell::Cell;
use std::io::{IsTerminal, Write};
use std::panic::PanicHookInfo;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread;
use std::time::Duration;

use anyhow::Context;
use engine::report::{Level, LogEvent};

use crate::cli::{LogFormat, LogLevel};

/// How many lines wait for standard error.
const LINES_MAX: usize = 4096;
/// How long the end of the process waits for them, and for its own last words.
const FLUSH_WITHIN: Duration = Duration::from_secs(1);

/// Lines that were dropped since the process began.
static LOST: AtomicU64 = AtomicU64::new(0);

thread_local! {
    /// Whether this is the thread behind the queue, whose own lines need no place in it.
    static WRITES_OUT: Cell<bool> = const { Cell::new(false) };
}

/// Logging; when it is dropped, the lines before are written, if standard error takes them.
#[must_use = "lines that wait are lost when the process ends"]
pub(crate) struct Log(Lines);

/// The way to standard error.
#[derive(Clone)]
struct Lines(SyncSender<Entry>);

enum Entry {
    Line(Box<[u8]>),
    /// Everything before is to be written; then this is told.
    Flush(Sender<()>),
}

/// Starts logging to standard error.
pub(crate) fn start(format: LogFormat, level: LogLevel) -> anyhow::Result<Log> {
    let level = match level {
        LogLevel::Error => tracing::Level::ERROR,
        LogLevel::Warn => tracing::Level::WARN,
        LogLevel::Info => tracing::Level::INFO,
        LogLevel::Debug => tracing::Level::DEBUG,
        LogLevel::Trace => tracing::Level::TRACE,
    };
    let (entries, written) = sync_channel(LINES_MAX);
    let lines = Lines(entries);
    let into = lines.clone();
    let builder = tracing_subscriber::fmt()
        .with_max_level(level)
        .with_target(false)
        .with_writer(move || into.clone());
    match format {
        LogFormat::Text => builder.with_ansi(std::io::stderr().is_terminal()).init(),
        LogFormat::Json => builder.json().init(),
    }
    thread::Builder::new()
        .name("log".into())
        .spawn(move || {
            WRITES_OUT.set(true);
            write_out(&written, &mut std::io::stderr(), &LOST);
        })
        .context("cannot start the thread of the log")?;
    std::panic::set_hook(Box::new(|panic| tracing::error!("{}", text_of(panic))));
    Ok(Log(lines))
}

/// What a panic says, and where; with the calls that led there if `RUST_BACKTRACE` asks for them.
fn text_of(panic: &PanicHookInfo<'_>) -> String {
    let thread = thread::current();
    let name = thread.name().unwrap_or("unnamed");
    let said = panic.payload_as_str().unwrap_or("without a message");
    let place = panic.location().map(|place| format!(" at {place}")).unwrap_or_default();
    let calls = Backtrace::capture();
    let calls = match calls.status() {
        BacktraceStatus::Captured => format!("\n{calls}"),
        _ => String::new(),
    };
    format!("thread {name} panicked{place}: {said}{calls}")
}

/// Lines of the log that were dropped because standard error did not take them.
pub(crate) fn lines_lost() -> u64 {
    LOST.load(Ordering::Relaxed)
}

/// Writes why the process ends, unless standard error does not take it in time.
pub(crate) fn say_last(text: String) {
    let (tell, told) = channel::<()>();
    thread::spawn(move || {
        let written = std::io::stderr().write_all(text.as_bytes());
        drop((written, tell));
    });
    // an error means that the other end is gone: it is written
    let _ = told.recv_timeout(FLUSH_WITHIN);
}

/// Writes an event of worker number `worker`.
pub(crate) fn write(worker: usize, event: &LogEvent) {
    match event.level() {
        Level::Debug => tracing::debug!(worker, "{event}"),
        Level::Info => tracing::info!(worker, "{event}"),
        Level::Warn => tracing::warn!(worker, "{event}"),
    }
}

impl Write for Lines {
    /// One line, whole; waits for nothing, but on the thread that writes them out.
    fn write(&mut self, line: &[u8]) -> std::io::Result<usize> {
        if WRITES_OUT.get() {
            return std::io::stderr().write(line);
        }
        if self.0.try_send(Entry::Line(line.into())).is_err() {
            LOST.fetch_add(1, Ordering::Relaxed);
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        let (tell, told) = channel();
        if self.0.0.try_send(Entry::Flush(tell)).is_ok() {
            let _ = told.recv_timeout(FLUSH_WITHIN);
        }
    }
}

/// Writes what comes until nothing can come any more, and says when something was lost.
fn write_out(entries: &Receiver<Entry>, out: &mut impl Write, lost: &AtomicU64) {
    let mut told = 0;
    for entry in entries {
        match entry {
            Entry::Line(line) if out.write_all(&line).is_ok() => {}
            Entry::Line(_) => {
                // to whom should that be said
                lost.fetch_add(1, Ordering::Relaxed);
                told += 1;
            }
            Entry::Flush(tell) => drop(tell.send(())),
        }
        let count = lost.load(Ordering::Relaxed);
        if count > told {
            let lines = count - told;
            tracing::warn!(lines, "lines of the log were lost: standard error did not take them");
            told = count;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_lost_and_counted_and_nobody_waits() {
        let (entries, _standing_still) = sync_channel(2);
        let mut lines = Lines(entries);
        let before = lines_lost();
        for line in ["one\n", "two\n", "three\n", "four\n"] {
            lines.write_all(line.as_bytes()).expect("never fails");
        }
        assert_eq!(lines_lost() - before, 2);
        // nothing is waited for where nothing moves
        drop(Log(lines));
    }

    #[test]
    fn lines_are_written_in_order_and_all_of_them_before_the_end() {
        let (entries, written) = sync_channel(9);
        let mut lines = Lines(entries);
        let log = Log(lines.clone());
        let thread = thread::spawn(move || {
            let (mut out, lost) = (Vec::new(), AtomicU64::new(0));
            write_out(&written, &mut out, &lost);
            (out, lost.into_inner())
        });
        lines.write_all(b"one\n").expect("never fails");
        lines.write_all(b"two\n").expect("never fails");
        drop((log, lines));
        let (out, lost) = thread.join().expect("no panic");
        assert_eq!((out.as_slice(), lost), (b"one\ntwo\n".as_slice(), 0));
    }

    #[test]
    fn a_panic_names_its_thread_and_place() {
        let (tell, told) = channel();
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| match thread::current().name() {
            Some("worker-7") => drop(tell.send(text_of(panic))),
            _ => before(panic),
        }));
        let broken = thread::Builder::new().name("worker-7".into());
        let broken = broken.spawn(|| panic!("{} at once", 2)).expect("a thread starts");
        assert!(broken.join().is_err());
        let text = told.recv().expect("the hook heard it");
        assert!(
            text.starts_with("thread worker-7 panicked at crates/server/src/logs.rs:"),
            "{text}"
        );
        assert!(text.contains(": 2 at once"), "{text}");
    }

    #[test]
    fn lines_that_cannot_be_written_are_lost() {
        let (entries, written) = sync_channel(9);
        let mut lines = Lines(entries);
        lines.write_all(b"one\n").expect("never fails");
        drop(lines);
        let lost = AtomicU64::new(0);
        write_out(&written, &mut [0_u8; 2].as_mut_slice(), &lost);
        assert_eq!(lost.into_inner(), 1);
    }
}
