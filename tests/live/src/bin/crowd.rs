//! Thousands of clients, a thread each. A program of its own because the files it opens count
//! against the limit of a process. It prints what was wrong, a line each, and at last its figures.
//!
//! Usage: `crowd stay PORT text|prepared|transactions|mixed CLIENTS SECONDS`: clients that connect
//! again after every ten questions, a third of each kind where they are mixed. Or `crowd storm PORT
//! RATE SECONDS`: so many clients a second that connect, ask once and go.
#![forbid(unsafe_code)]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
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
    const ALL: [(&str, Self); 3] =
        [("text", Self::Text), ("prepared", Self::Prepared), ("transactions", Self::Transactions)];

    fn named(name: &str) -> Result<Vec<(&'static str, Self)>> {
        let named = |kind: &(&str, Self)| name == kind.0 || name == "mixed";
        let kinds: Vec<_> = Self::ALL.into_iter().filter(named).collect();
        ensure!(!kinds.is_empty(), "no kind is called {name}");
        Ok(kinds)
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

fn stay(port: u16, kinds: Vec<(&str, Kind)>, clients: u64, time: Duration) -> Result<()> {
    let (stop, done) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let threads = (0..clients).map(|client| {
        let (stop, done) = (Arc::clone(&stop), Arc::clone(&done));
        let kind = kinds[client as usize % kinds.len()].1;
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
    let seen: Vec<_> = threads.into_iter().map(|thread| thread.join().expect("no panic")).collect();
    let answers = done.load(Ordering::Relaxed);
    for (at, (name, _)) in kinds.iter().enumerate() {
        println!("{}", Seen::of(seen.iter().skip(at).step_by(kinds.len())).times(name));
    }
    println!("answers={answers} {}", Seen::of(&seen).figures());
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
    let threads = threads.collect::<Result<Vec<_>>>()?;
    let seen: Vec<_> = threads.into_iter().map(|thread| thread.join().expect("no panic")).collect();
    let seen = Seen::of(&seen);
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
    fn of<'s>(clients: impl IntoIterator<Item = &'s Seen>) -> Self {
        let mut all = Seen::default();
        for seen in clients {
            all.times_us.extend_from_slice(&seen.times_us);
            all.wrong.extend_from_slice(&seen.wrong);
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
        format!("connects={stays} wrong={wrong} {}", self.times(""))
    }

    /// How long stays took, each figure by its name after that of the kind.
    fn times(&self, kind: &str) -> String {
        let stays = self.times_us.len();
        let at = |share: usize| self.times_us.get(stays * share / 1000).copied().unwrap_or(0);
        let (p50, p99, most) = (at(500), at(990), self.times_us.last().copied().unwrap_or(0));
        let mark = if kind.is_empty() { "" } else { "_" };
        [("p50", p50), ("p99", p99), ("max", most)]
            .map(|(name, time_us)| format!("{kind}{mark}{name}_us={time_us}"))
            .join(" ")
    }
}
