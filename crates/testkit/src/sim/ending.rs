//! What must hold when a simulation is over: nobody left, nothing leaked, everything counted.

use std::sync::atomic::Ordering;

use io::Micros;

use super::trio::Trio;
use super::{RunFailure, RunReport};

/// How long the proxy may take to notice that its clients have gone.
const SETTLING: Micros = Micros::from_secs(30);

impl Trio {
    /// Lets everything end, and looks.
    pub fn end(mut self) -> Result<RunReport, RunFailure> {
        self.calm_down();
        self.until("sessions are left", |trio| {
            trio.stage.proxies().all(|proxy| proxy.session_count() == 0)
        })?;
        self.until("copies are left", |trio| {
            trio.stage.proxies().all(|proxy| proxy.mirror_counts() == (0, 0))
        })?;
        self.check_writes()?;
        self.kill_servers();
        self.until("backend connections are left", |trio| {
            trio.stage.proxies().all(|proxy| proxy.lane_count() == 0)
        })?;
        self.until("sockets are left", |trio| {
            let workers = trio.stage.workers.iter();
            let sockets = workers.map(|worker| worker.stats().sockets).sum::<u64>();
            sockets + trio.clients.stats().sockets + trio.stage.servers.stats().sockets == 0
        })?;
        self.check_empty()?;
        self.end_following();
        let counters = self.stage.counters();
        let tally = self.stage.board.borrow().tally.clone();
        let span_us = self.stage.net.now().0;
        Ok(RunReport { seed: self.seed, steps: self.step, span_us, counters, tally })
    }

    /// Steps until something holds, or for too long.
    fn until(&mut self, what: &str, holds: impl Fn(&Self) -> bool) -> Result<(), RunFailure> {
        let deadline = self.stage.net.now().0 + SETTLING.0;
        while !holds(self) {
            if self.stage.net.now().0 > deadline {
                let doing = self.stage.doings();
                let lanes = self.stage.proxies().flat_map(|proxy| proxy.lanes());
                let lanes: Vec<_> = lanes.map(|(_, lane)| lane.lease).collect();
                return Err(self.failure(format!("{what}: {doing:?}, {lanes:?}")));
            }
            self.step()?;
        }
        Ok(())
    }

    fn check_writes(&self) -> Result<(), RunFailure> {
        let board = self.stage.board.borrow();
        match board.writes.iter().find(|(_, times)| **times > 1) {
            Some(((tag, number), times)) => {
                Err(self.failure(format!("s{tag} q{number}, a write, ran {times} times")))
            }
            None => Ok(()),
        }
    }

    fn check_empty(&self) -> Result<(), RunFailure> {
        let clients = self.stage.shared.clients();
        if clients != 0 {
            return Err(self.failure(format!("{clients} clients are counted still")));
        }
        let logged_in = self.stage.shared.logged_in();
        if logged_in != 0 {
            return Err(self.failure(format!("{logged_in} clients are counted as logged in")));
        }
        let cache = &self.stage.offer.cache;
        let (flights, underway) = (cache.flights().count(), cache.figures().underway);
        if (flights, underway) != (0, 0) {
            let what = format!("{flights} questions and {underway} bytes are under way still");
            return Err(self.failure(what));
        }
        for account in self.stage.snapshot.users.iter() {
            let connected = account.connected.load(Ordering::Relaxed);
            if connected != 0 {
                let name = &account.name;
                return Err(self.failure(format!("{connected} clients of {name} are counted")));
            }
        }
        Ok(())
    }
}
