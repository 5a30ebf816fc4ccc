//! Clients that have not logged in, in the order in which they came.
//!
//! To connect costs a client nothing, so the places of `mysql-max_connections` are for clients that
//! have logged in, and these never give way. All others share what is left, and have a few places
//! of their own on each worker when nothing is; beyond that, the first gives way to the last. What
//! a client says makes no difference: a byte now and then costs nothing, either.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::error;
use crate::ids::{ConnectionId, SessionId};
use crate::orders::End;
use crate::proxy::Proxy;
use crate::session::Phase;

/// A client that was just accepted.
pub struct Arrival {
    /// Its address without the port; `localhost` for a Unix socket.
    pub client: Arc<str>,
    /// Its port; 0 for a Unix socket.
    pub client_port: u16,
    /// Whether nobody can listen in, so that it may say its password in clear: it came through a
    /// Unix socket.
    pub secure: bool,
    /// Whether TLS can be had on its socket.
    pub can_have_tls: bool,
    /// The address it was accepted on as it is listened on, and its port; the path and 0 for a
    /// Unix socket.
    pub proxy: (Arc<str>, u16),
    /// Its connection id.
    pub connection: ConnectionId,
    /// Twenty random bytes.
    pub random: [u8; 20],
    /// Clients of the process, itself included.
    pub clients: u32,
    /// Logins from its address that failed in a row.
    pub failed_logins: u32,
}

/// Clients that have logged in, on all workers of a process.
#[derive(Default)]
pub struct LoggedIn(AtomicU32);

/// Those of a worker that have not logged in, and how many have on all.
#[derive(Default)]
pub(crate) struct Newcomers {
    queue: VecDeque<SessionId>,
    logged_in: Arc<LoggedIn>,
}

impl LoggedIn {
    /// How many there are.
    pub fn count(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }

    /// Counts one more, unless there are so many.
    fn enter(&self, clients_max: u32) -> bool {
        let more = |count: u32| (count < clients_max).then_some(count + 1);
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_ok()
    }

    fn leave(&self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Newcomers {
    /// A client is gone, or one of the newcomers no more.
    pub(crate) fn leave(&mut self, id: SessionId, logged_in: bool) {
        if logged_in {
            return self.logged_in.leave();
        }
        if let Some(at) = self.queue.iter().position(|other| *other == id) {
            self.queue.remove(at);
        }
    }
}

impl Proxy {
    /// Counts clients that log in together with the other workers; before any has come.
    pub fn count_with(&mut self, logged_in: Arc<LoggedIn>) {
        self.newcomers.logged_in = logged_in;
    }

    /// Greets a client that has just come, unless clients that have logged in have all places.
    /// `clients` are in the process, itself included.
    pub(crate) fn receive_client(&mut self, id: SessionId, scramble: [u8; 20], clients: u32) {
        let clients_max = self.snapshot.vars.max_connections;
        if self.newcomers.logged_in.count() >= clients_max {
            return self.turn_away(id);
        }
        self.newcomers.queue.push_back(id);
        self.greet(id, scramble);
        if clients > clients_max
            && self.newcomers.queue.len() > NEWCOMERS_ALWAYS
            && let Some(first) = self.newcomers.queue.pop_front()
        {
            self.with(End::Client(first), |proxy| proxy.give_way(first));
        }
    }

    fn give_way(&mut self, id: SessionId) {
        self.stats.newcomers_gave_way += 1;
        let seq = match self.sessions.get(id).map(|session| &session.phase) {
            Some(Phase::Login(login)) => login.seq,
            Some(Phase::Unjudged(unjudged)) => unjudged.seq(),
            Some(Phase::Checking(checking)) => checking.seq(),
            Some(Phase::Greeting { .. } | Phase::Presented { .. } | Phase::Securing { .. })
            | None => 1,
            // a server is asked about its password
            Some(_) => self.sessions.get(id).map_or(1, |session| session.auth.end_seq),
        };
        self.refuse(id, seq, error::too_many_connections());
    }

    /// Whether a client whose login is right has a place, or finds one now.
    pub(crate) fn has_place(&mut self, id: SessionId) -> bool {
        let Some(session) = self.sessions.get_mut(id) else { return self.impossible(false) };
        if session.client.logged_in {
            return true;
        }
        if !self.newcomers.logged_in.enter(self.snapshot.vars.max_connections) {
            return false;
        }
        session.client.logged_in = true;
        self.newcomers.leave(id, false);
        true
    }
}

/// Newcomers of a worker that stay however many clients there are: an honest login among strangers
/// has the time in which so many others come.
const NEWCOMERS_ALWAYS: usize = 256;
