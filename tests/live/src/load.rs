//! Clients that work in threads of their own until they are told to stop, and what came of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use mysql::prelude::Queryable;
use mysql::{Conn, OptsBuilder};

use crate::{Proxy, client};

/// Some clients repeating a piece of work.
#[derive(Debug)]
pub struct Load {
    stop: Arc<AtomicBool>,
    done: Arc<AtomicU64>,
    threads: Vec<JoinHandle<Vec<String>>>,
}

impl Load {
    /// Starts `count` clients that repeat `work`; it says what was wrong, and then goes on with a
    /// new connection.
    pub fn start(
        count: usize,
        options: &OptsBuilder,
        work: impl Fn(&mut Conn, u64) -> Result<(), String> + Send + Sync + 'static,
    ) -> Self {
        let (stop, done) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let work = Arc::new(work);
        let threads = (0..count).map(|_| {
            let (stop, done, work) = (Arc::clone(&stop), Arc::clone(&done), Arc::clone(&work));
            let options = options.clone();
            std::thread::spawn(move || repeat(&options, &stop, &done, &*work))
        });
        let threads = threads.collect();
        Load { stop, done, threads }
    }

    /// Clients that each read a number through a statement of its own and check it.
    pub fn reads(count: usize, options: &OptsBuilder) -> Self {
        Load::start(count, options, |conn, turn| {
            let answer: Result<Option<u64>, _> = conn.query_first(format!("SELECT {turn} + 1"));
            match answer {
                Ok(Some(sum)) if sum == turn + 1 => Ok(()),
                Ok(other) => Err(format!("asked for {turn} + 1, got {other:?}")),
                Err(error) => Err(error.to_string()),
            }
        })
    }

    /// How often the work was done.
    pub fn done(&self) -> u64 {
        self.done.load(Ordering::Relaxed)
    }

    /// Waits until the work was done so often again.
    pub fn await_more(&self, times: u64) {
        let goal = self.done() + times;
        crate::eventually("the load goes on", Duration::from_secs(30), || self.done() >= goal);
    }

    /// The proxy's processor time for a piece of the work, in nanoseconds, over a second: whatever
    /// else runs on the machine may slow the work down, but hardly makes it dearer.
    pub fn cost_ns(&self, proxy: &Proxy) -> u64 {
        let (done, spent) = (self.done(), proxy.cpu_ns());
        std::thread::sleep(Duration::from_secs(1));
        self.await_more(100);
        (proxy.cpu_ns() - spent) / (self.done() - done)
    }

    /// The least cost of some seconds.
    pub fn least_cost_ns(&self, proxy: &Proxy) -> u64 {
        (0..5).map(|_| self.cost_ns(proxy)).min().unwrap_or(0)
    }

    /// Stops the clients; gives everything that was wrong.
    pub fn stop(self) -> Vec<String> {
        self.stop.store(true, Ordering::Relaxed);
        let ended = self.threads.into_iter().map(|thread| thread.join().expect("no panic"));
        ended.flatten().collect()
    }
}

fn repeat(
    options: &OptsBuilder,
    stop: &AtomicBool,
    done: &AtomicU64,
    work: &(impl Fn(&mut Conn, u64) -> Result<(), String> + ?Sized),
) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut conn = client::connect(options.clone());
    let mut turn = 0;
    while !stop.load(Ordering::Relaxed) && wrong.len() < 100 {
        turn += 1;
        match work(&mut conn, turn) {
            Ok(()) => {
                done.fetch_add(1, Ordering::Relaxed);
            }
            Err(what) => {
                wrong.push(what);
                match Conn::new(options.clone()) {
                    Ok(new) => conn = new,
                    Err(error) => wrong.push(format!("a new connection: {error}")),
                }
            }
        }
    }
    wrong
}
