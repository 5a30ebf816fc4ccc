//! Answers of before, told while no server can give another one.
//!
//! Decides when that is: never in place of what a server has said, and never once a part of a reply
//! is out. How long answers are kept for it is the store's.

use crate::ids::SessionId;
use crate::proxy::Proxy;
use crate::session::Phase;

impl Proxy {
    /// No server can answer a session's command: tells an answer whose time is over, where its rule
    /// allows that and there is one. Whether it did.
    pub(crate) fn is_bridged(&mut self, id: SessionId) -> bool {
        let now_us = self.now_us;
        let Some(session) = self.sessions.get_mut(id) else { return self.impossible(false) };
        let (is_killed, was_sent) = match &session.phase {
            Phase::Running(running) => (running.killed.is_some() || running.delivered, true),
            _ => (false, false),
        };
        let Some(filling) = session.serving.filling.as_ref().filter(|it| it.stale_us > 0) else {
            return false;
        };
        let allowed = filling.allowed(now_us);
        let found = self.offer.cache.find_stale(filling.key.sought(), allowed, filling.stale_us);
        let Some(answer) = found.filter(|_| !is_killed) else { return false };
        self.stats.cache_stale_told += 1;
        session.phase = Phase::Idle;
        self.let_go_of_empty(id);
        self.leave_definition(id, was_sent);
        self.end_told(id, answer);
        true
    }
}
