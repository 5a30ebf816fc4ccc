//! The loop: one turn after another of waiting, delivering and flushing.
//!
//! ```text
//! turn:  wait → events → codecs → held sends → timers → mail → offers ⇄ ends → on_turn_end
//!        → flush → ends
//! ```
//!
//! Work that a callback causes for later is bounded a turn; what is left makes the next turn not
//! wait. Deliberately knows neither the driver's system calls nor the service's purpose.

mod coding;
mod dispatch;
mod edge;
mod options;
mod output;
mod pacing;
mod service;

pub use edge::{Detached, Edge};
pub use options::{LoopStats, Options};
pub use service::Service;

use crate::driver::{Driver, Event};
use crate::mailbox::{Inbox, Mailbox};
use crate::micros::Micros;
use crate::sockets::{Ended, Listener, Sock};

/// How often a turn goes round what callbacks asked for before it lets the next turn go on.
const ROUNDS_MAX: usize = 8;

/// A driver, a service, and the turns between them.
pub struct Loop<D: Driver, S: Service> {
    edge: Edge<D>,
    service: S,
    inbox: Inbox<S::Mail>,
    events: Vec<Event>,
    mails: Vec<S::Mail>,
    /// The one buffer that everything is received into.
    received: Box<[u8]>,
    /// Lists taken out of the edge while they are worked through; kept for their room.
    offers: Vec<Sock>,
    ended: Vec<Ended>,
    /// Callbacks ran after the last `on_turn_end`: the next turn comes without waiting.
    unfinished: bool,
}

impl<D: Driver, S: Service> Loop<D, S> {
    /// A loop of `driver` and `service` without listeners.
    pub fn new(driver: D, service: S, options: Options) -> Self {
        let inbox = Inbox::new(options.mailbox_capacity, driver.waker());
        Loop {
            inbox,
            received: vec![0; options.recv_buffer_bytes.max(1)].into_boxed_slice(),
            edge: Edge::new(driver, options),
            service,
            events: Vec::with_capacity(256),
            mails: Vec::new(),
            offers: Vec::new(),
            ended: Vec::new(),
            unfinished: false,
        }
    }

    /// Takes a listening socket over and accepts from it.
    pub fn add_listener(&mut self, on: D::Listening) -> Listener {
        self.edge.add_listener(on)
    }

    /// Where other threads post mail for the service.
    pub fn mailbox(&self) -> Mailbox<S::Mail> {
        self.inbox.mailbox()
    }

    /// Turns until the service asks to stop.
    pub fn run(&mut self) {
        while self.turn(None) {}
    }

    /// One turn, waiting for at most `max_wait` (for ever when `None`). False once the service
    /// asked to stop.
    pub fn turn(&mut self, max_wait: Option<Micros>) -> bool {
        let until = self.waits_until(max_wait);
        let mut events = std::mem::take(&mut self.events);
        let before = if until.is_some() { self.edge.driver.now() } else { self.edge.now };
        if self.edge.stats.turns > 0 && until.is_some() {
            self.edge.stats.turn_us = before.since(self.edge.now).0;
        }
        self.edge.driver.wait(before, until, &mut events);
        self.edge.now = self.edge.driver.now();
        self.edge.stats.turns += 1;
        self.edge.stats.events += events.len() as u64;
        self.unfinished = false;
        let decoding = std::mem::take(&mut self.edge.decoding);

        self.edge.end_accept_rest();
        self.edge.end_overdue_drains();
        for event in events.drain(..) {
            self.dispatch(event);
        }
        self.events = events;
        self.go_on_decoding(decoding);
        self.send_held();
        self.fire_timers();
        self.hand_over_mail();
        self.settle();
        self.service.on_turn_end(&mut self.edge);
        self.finish();
        !self.edge.stopping
    }

    /// The service.
    pub fn service(&self) -> &S {
        &self.service
    }

    /// The service, to be changed between turns.
    pub fn service_mut(&mut self) -> &mut S {
        &mut self.service
    }

    /// Service and edge together, to start something between turns; its consequences are
    /// delivered by the next one.
    pub fn parts_mut(&mut self) -> (&mut S, &mut Edge<D>) {
        self.unfinished = true;
        (&mut self.service, &mut self.edge)
    }

    /// What the loop has done so far.
    pub fn stats(&self) -> LoopStats {
        self.edge.stats()
    }

    pub(crate) fn driver(&self) -> &D {
        &self.edge.driver
    }

    /// Whether the service asked to stop.
    pub fn is_stopped(&self) -> bool {
        self.edge.stopping
    }

    /// Whether the next turn would find something to do without waiting for the driver.
    pub(crate) fn has_work(&self) -> bool {
        let edge = &self.edge;
        self.unfinished
            || self.inbox.is_rung()
            || !edge.offers.is_empty()
            || !edge.decoding.is_empty()
            || !edge.ended.is_empty()
            || !edge.connected.is_empty()
            || !edge.dirty.is_empty()
    }

    /// The moment by which the next turn has to come even if nothing happens.
    pub(crate) fn due_at(&self) -> Option<Micros> {
        let closing = self.edge.closing.front().map(|&(at, _)| at);
        let timers = [self.edge.timers.earliest(), self.edge.held.earliest()];
        let moments = timers.into_iter().chain([closing, self.edge.accept_retry_at()]);
        moments.flatten().min()
    }

    fn waits_until(&self, max_wait: Option<Micros>) -> Option<Micros> {
        if self.has_work() {
            return Some(Micros(0));
        }
        let latest = max_wait.map(|span| self.edge.driver.now() + span);
        match (self.due_at(), latest) {
            (Some(due), Some(latest)) => Some(due.min(latest)),
            (due, latest) => due.or(latest),
        }
    }

    fn fire_timers(&mut self) {
        let mark = self.edge.timers.mark();
        while let Some(key) = self.edge.timers.pop_due(self.edge.now, mark) {
            self.edge.stats.timers += 1;
            self.service.on_timer(&mut self.edge, key);
        }
    }

    fn hand_over_mail(&mut self) {
        if !self.inbox.is_rung() {
            return;
        }
        self.inbox.collect(self.edge.options.mail_burst, &mut self.mails);
        for mail in self.mails.drain(..) {
            self.edge.stats.mails += 1;
            self.service.on_mail(&mut self.edge, mail);
        }
    }

    /// Reports what callbacks caused, and what that causes, a bounded number of times.
    fn settle(&mut self) {
        for _ in 0..ROUNDS_MAX {
            let idle = self.edge.connected.is_empty()
                && self.edge.offers.is_empty()
                && self.edge.ended.is_empty();
            if idle {
                return;
            }
            self.report_connected();
            self.offer_again();
            self.report_ended();
        }
    }

    /// Flushes; failures found by that are reported in the same turn.
    fn finish(&mut self) {
        self.edge.flush_dirty();
        for _ in 0..ROUNDS_MAX {
            if self.edge.ended.is_empty() && self.edge.drained.is_empty() {
                return;
            }
            self.unfinished = true;
            self.report_ended();
            self.report_drained();
            self.edge.flush_dirty();
        }
    }
}
