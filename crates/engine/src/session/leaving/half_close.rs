//! A client that will send nothing more, and may still read: what it sent before is answered.
//!
//! One that left looks the same until it is sent something. But a client that still reads ends
//! right behind what it asked, and a client that leaves has mostly lost patience. And commands have
//! a moment, then their client counts as gone: `mysql-kill_backend_connection_when_disconnect`
//! promises that nothing runs on for a client that left.

use crate::ids::SessionId;
use crate::orders::{End, Order};
use crate::proxy::Proxy;
use crate::session::{Phase, Session, Stage};

/// How soon the end comes behind the last bytes of a client that still reads. Whoever waits in vain
/// under load leaves later, and must not be served in place of those who are there.
const PROMPT_US: u64 = 100_000;

/// How long the commands of a client may take that sends nothing more, all of them together.
const PARTING_US: u64 = 1_000_000;

impl Proxy {
    /// The client sends nothing more, and everything was offered that it sent. Returns whether its
    /// socket is still of use.
    pub(crate) fn hear_end(&mut self, id: SessionId) -> bool {
        let reads = self.reads_on(id);
        let Some(session) = self.sessions.get(id) else { return self.impossible(false) };
        if !reads || !session.goes_on_alone() {
            let is_idle = matches!(session.phase, Phase::Idle) && session.awaits_kill.is_none();
            if is_idle {
                // its answers may not all be out
                self.part(id);
            }
            return is_idle;
        }
        self.begin_parting(id);
        true
    }

    /// The same before everything was offered that the client sent, which is not read while its
    /// command runs. Whatever needs more of its bytes finds the end behind these.
    pub(crate) fn hear_hang_up(&mut self, id: SessionId) {
        let reads = self.reads_on(id);
        let Some(session) = self.sessions.get(id) else { return self.impossible(()) };
        if matches!(session.phase, Phase::Relaying(_)) || !session.goes_on_alone() {
            return;
        }
        match reads {
            true => self.begin_parting(id),
            false => self.part(id),
        }
    }

    /// Whether a client that ends what it sends still reads.
    fn reads_on(&self, id: SessionId) -> bool {
        let input = self.sessions.get(id).map(|session| &session.input);
        input.is_some_and(|input| {
            let is_prompt = self.now_us.saturating_sub(input.heard_us) < PROMPT_US;
            input.ended_us.is_some() || is_prompt
        })
    }

    /// The time begins that a client has which sends nothing more.
    fn begin_parting(&mut self, id: SessionId) {
        let Some(session) = self.sessions.get_mut(id) else { return self.impossible(()) };
        if session.input.ended_us.is_none() {
            session.input.ended_us = Some(self.now_us);
            self.watch_parting(id);
        }
    }

    /// Ends a session whose client has sent nothing for too long, because it cannot; returns
    /// whether it did.
    pub(crate) fn end_if_parted(&mut self, id: SessionId) -> bool {
        let is_over = self.parting_due_us(id).is_some_and(|due_us| due_us <= self.now_us);
        if is_over {
            self.part(id);
        }
        is_over
    }

    /// Sees to it that the time of a client that sends nothing more is noticed.
    pub(crate) fn watch_parting(&mut self, id: SessionId) {
        if let Some(due_us) = self.parting_due_us(id) {
            self.wake(id, due_us);
        }
    }

    /// When a client that sends nothing more is taken for one that left; `None` for one that may
    /// send, and where commands run to their ends for nobody.
    fn parting_due_us(&self, id: SessionId) -> Option<u64> {
        let session = self.sessions.get(id)?;
        let ended_us = session.input.ended_us?;
        if let Phase::Relaying(lane) = session.phase {
            // nobody knows what its server still has to do, but by what comes of it
            let heard_us = self.lanes.get(lane).map_or(0, |lane| lane.times.heard_us);
            return Some(heard_us.max(ended_us).saturating_add(PARTING_US));
        }
        let limited = self.snapshot.vars.kill_backend_connection_when_disconnect;
        limited.then(|| ended_us.saturating_add(PARTING_US))
    }

    fn part(&mut self, id: SessionId) {
        self.orders.push(Order::Close(End::Client(id)));
        self.end_session(id, false);
    }
}

impl Session {
    /// Whether what it does comes to an end without another byte of its client.
    fn goes_on_alone(&self) -> bool {
        match &self.phase {
            Phase::Clearing(_) | Phase::Delayed(_) | Phase::Joined(_) | Phase::Waiting(_) => true,
            Phase::Relaying(_) => true,
            Phase::Running(running) => match running.stage {
                Stage::Aligning { .. } => true,
                Stage::Sent => running.job.upload.is_none(),
                Stage::Infile(_) => false,
            },
            Phase::Idle => self.is_held_up(),
            _ => false,
        }
    }
}
