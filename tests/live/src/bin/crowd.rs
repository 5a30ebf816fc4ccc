//! Thousands of clients, a thread each. A program of its own because the files it opens count
//! against the limit of a process. It prints what was wrong, a line each, and at last its figures.
//!
//! Usage: `crowd stay PORT text|prepared|transactions CLIENTS SECONDS`: clients that connect again
//! after every ten questions; `crowd storm PORT RATE SECONDS`: so many clients a second that
//! connect, ask once and go.
#![forbid(unsafe_code)]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use live::Asker;

/// Questions on a connection.
const QUESTIONS: u64 = 10;

/// Threads of a storm: as many clients may be on their way at once.
const STORM_THREADS: u64 = 512;

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["stay", port, kind, clients, seconds] => {
            let (port, seconds) = (port.parse()?, seconds.parse()?);
            stay(port, Kind::named(kind)?, clients.parse()?, Duration::from_secs(seconds))
        }
        ["storm", port, rate, seconds] => storm(port.parse()?, rate.parse()?, seconds.parse()?),
        _ => bail!("usage: crowd stay PORT KIND CLIENTS SECONDS, or crowd storm PORT RATE SECONDS"),
    }
}

#[derive(Clone, Copy)]
enum Kind {
    Text,
    Prepared,
    Transactions,
}

impl Kind {
    fn named(name: &str) -> Result<Self> {
        Ok(match name {
            "text" => Self::Text,
            "prepared" => Self::Prepared,
            "transactions" => Self::Transactions,
            _ => bail!("no kind is called {name}"),
        })
    }

    fn ask(self, asker: &mut Asker, text: &str) -> Result<()> {
        match self {
            Self::Text => asker.ask(text),
            Self::Prepared => asker.ask_prepared(text),
            Self::Transactions => {
                asker.run("BEGIN")?;
                asker.ask(text)?;
                asker.run("COMMIT")
            }
        }
    }
}

fn stay(port: u16, kind: Kind, clients: u64, time: Duration) -> Result<()> {
    let (stop, done) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let threads = (0..clients).map(|client| {
        let (stop, done) = (Arc::clone(&stop), Arc::clone(&done));
        spawn(move || {
            let mut seen = Seen::default();
            while !stop.load(Ordering::Relaxed) && seen.wrong.len() < 3 {
                let began = Instant::now();
                let questions = done_by(port, kind, client, seen.times_us.len() as u64);
                seen.note(began, questions.map(|()| done.fetch_add(QUESTIONS, Ordering::Relaxed)));
            }
            seen
        })
    });
    let threads = threads.collect::<Result<Vec<_>>>()?;
    thread::sleep(time);
    stop.store(true, Ordering::Relaxed);
    let seen = Seen::of(threads);
    let answers = done.load(Ordering::Relaxed);
    println!("answers={answers} {}", seen.figures());
    Ok(())
}

/// One stay of a client.
fn done_by(port: u16, kind: Kind, client: u64, turn: u64) -> Result<()> {
    let mut asker = Asker::connect(port).context("the login")?;
    for question in 0..QUESTIONS {
        let text = format!("{client}-{turn}-{question}");
        kind.ask(&mut asker, &text).with_context(|| format!("question {question}"))?;
    }
    asker.quit()
}

fn storm(port: u16, rate: u64, seconds: u64) -> Result<()> {
    let (next, began) = (Arc::new(AtomicU64::new(0)), Instant::now());
    let threads = (0..STORM_THREADS).map(|_| {
        let next = Arc::clone(&next);
        spawn(move || {
            let mut seen = Seen::default();
            loop {
                let client = next.fetch_add(1, Ordering::Relaxed);
                if client >= rate * seconds {
                    return seen;
                }
                let due = began + Duration::from_micros(client * 1_000_000 / rate);
                thread::sleep(due.saturating_duration_since(Instant::now()));
                // who is late for want of a free thread waited as well
                seen.note(due, one_question(port, client).map(|()| 0));
            }
        })
    });
    let seen = Seen::of(threads.collect::<Result<Vec<_>>>()?);
    let reached = (rate * seconds) as f64 / began.elapsed().as_secs_f64();
    println!("rate={reached:.0} {}", seen.figures());
    Ok(())
}

fn one_question(port: u16, client: u64) -> Result<()> {
    let mut asker = Asker::connect(port).context("the login")?;
    asker.ask(&format!("{client}"))?;
    asker.quit()
}

fn spawn(work: impl FnOnce() -> Seen + Send + 'static) -> Result<JoinHandle<Seen>> {
    Ok(thread::Builder::new().stack_size(128 << 10).spawn(work)?)
}

/// What clients saw: how long each stay took, and what was wrong.
#[derive(Default)]
struct Seen {
    times_us: Vec<u64>,
    wrong: Vec<String>,
}

impl Seen {
    fn of(threads: Vec<JoinHandle<Seen>>) -> Self {
        let mut all = Seen::default();
        for thread in threads {
            let seen = thread.join().expect("no panic");
            all.times_us.extend(seen.times_us);
            all.wrong.extend(seen.wrong);
        }
        all.times_us.sort_unstable();
        all
    }

    fn note(&mut self, began: Instant, outcome: Result<u64>) {
        match outcome {
            Ok(_) => self.times_us.push(began.elapsed().as_micros().try_into().unwrap_or(u64::MAX)),
            Err(error) => self.wrong.push(format!("after {:?}: {error:#}", began.elapsed())),
        }
    }

    /// Prints what was wrong; gives the figures.
    fn figures(&self) -> String {
        for wrong in self.wrong.iter().take(20) {
            println!("wrong: {wrong}");
        }
        let (stays, wrong) = (self.times_us.len(), self.wrong.len());
        let at = |share: usize| self.times_us.get(stays * share / 1000).copied().unwrap_or(0);
        let (p50, p99, most) = (at(500), at(990), self.times_us.last().copied().unwrap_or(0));
        format!("connects={stays} wrong={wrong} p50_us={p50} p99_us={p99} max_us={most}")
    }
}
