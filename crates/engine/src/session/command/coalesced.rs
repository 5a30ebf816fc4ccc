//! Queries that are answered as the same query of another session is, which runs already or is
//! about to: who waits, for how long, and what becomes of those who wait in vain.
//!
//! One leads, and the others wait without a connection. Which answers are young enough is decided
//! where flights are kept (`cache::Flights`). The leader's client has no part in it: an answer is
//! whole when its server has sent it, which is read on for those who wait.

use std::collections::BTreeMap;
use std::sync::Arc;

use cache::{Allowed, Asking, CachedReply, Flight, Joining, Landing, Lead, Lookup, Wait};

use crate::error;
use crate::ids::SessionId;
use crate::orders::{End, Order};
use crate::proxy::Proxy;
use crate::session::placing::destination::Placing;
use crate::session::replying::filling::Filling;
use crate::session::{Job, Phase};

/// Waiting for the answer to another session's query.
#[derive(Debug)]
pub(crate) struct Joined {
    pub job: Job,
    placing: Option<Placing>,
    wait: Wait,
    /// Its place among those who wait for the same.
    place: u64,
    /// Until when it waits.
    due_us: u64,
    /// Its time is over by then, and not only its patience.
    times_out: bool,
}

/// The sessions that wait for flights, in the order in which they came.
#[derive(Default)]
pub(crate) struct Joiners {
    /// By the numbers of flights, and their places.
    waiting: BTreeMap<(u64, u64), SessionId>,
    places: u64,
}

impl Joiners {
    /// How many they are.
    pub(crate) fn len(&self) -> usize {
        self.waiting.len()
    }

    fn enter(&mut self, flight: &Flight, id: SessionId) -> u64 {
        self.places += 1;
        self.waiting.insert((flight.number(), self.places), id);
        self.places
    }

    fn of(&self, flight: &Flight) -> Vec<SessionId> {
        let number = flight.number();
        self.waiting.range((number, 0)..=(number, u64::MAX)).map(|(_, id)| *id).collect()
    }
}

/// Bytes of answers that are told in a millisecond to those who waited for the same: clients that
/// take them have their memory back by then.
const BYTES_PER_MS: u64 = 4 << 20;

impl Proxy {
    /// A session asks what others may be asking, and its answer was not found: it leads, or waits
    /// for who does. Whether it was told after all; without `looks_again` it fetches what is there
    /// already.
    pub(crate) fn ask_with_others(&mut self, id: SessionId, looks_again: bool) -> bool {
        let flushes = self.offer.cache.flushes();
        let (worker, now_us) = (self.number, self.now_us);
        let Some(filling) = self.filling(id) else { return self.impossible(false) };
        filling.flushes = flushes;
        let (allowed, key) = (filling.allowed(now_us), filling.key.clone());
        let Allowed { lives_us, from_us, .. } = allowed;
        let asking = Asking { worker, now_us, lives_us, from_us, flushes };
        match self.offer.cache.flights().join(&key, &asking) {
            Joining::Leads(lead) => {
                // whoever led before may have landed since this one looked
                let found = match looks_again && allowed.lives_us > 0 {
                    true => self.offer.cache.find(key.sought(), allowed),
                    false => Lookup::Nothing,
                };
                match found {
                    Lookup::Answer(answer) => {
                        self.land(lead, Landing::Lost);
                        self.note_hit(id);
                        self.end_told(id, answer);
                        return true;
                    }
                    Lookup::Changed => self.note_cached(id, |row| row.invalidations += 1),
                    Lookup::Late(_) | Lookup::Nothing => {}
                }
                self.with_filling(id, |filling| filling.lead = Some(lead));
            }
            Joining::LeadsNext(lead, wait) => self.with_filling(id, |filling| {
                (filling.lead, filling.awaited) = (Some(lead), Some(wait));
            }),
            Joining::Waits(wait) => self.with_filling(id, |filling| filling.awaited = Some(wait)),
            Joining::Full => {
                self.stats.cache_coalesce_full += 1;
                self.with_filling(id, Filling::run_beside_others);
            }
        }
        false
    }

    /// Lets a session with a kept command wait, where it found somebody to wait for.
    pub(crate) fn joins(&mut self, id: SessionId, job: &Job, placing: Option<Placing>) -> bool {
        let patience_us = self.snapshot.vars.query_cache_coalesce_wait_ms.saturating_mul(1000);
        let due_us = self.now_us.saturating_add(patience_us.min(job.timeout_us));
        let times_out = job.timeout_us <= patience_us;
        self.join(id, (*job, placing), (due_us, times_out))
    }

    fn join(
        &mut self,
        id: SessionId,
        (job, placing): (Job, Option<Placing>),
        (due_us, times_out): (u64, bool),
    ) -> bool {
        let Some(session) = self.sessions.get_mut(id) else { return self.impossible(true) };
        let filling = session.serving.filling.as_mut();
        let Some(wait) = filling.and_then(|filling| filling.awaited.take()) else { return false };
        let place = self.joined.enter(wait.flight(), id);
        let joined = Joined { job, placing, wait, place, due_us, times_out };
        session.phase = Phase::Joined(Box::new(joined));
        self.wake(id, due_us);
        true
    }

    /// Takes a session out of those who wait for others' queries, if it is there.
    pub(crate) fn leave_joined(&mut self, id: SessionId) -> Option<Box<Joined>> {
        let session = self.sessions.get_mut(id)?;
        // most do not, and what a session is at is large to take out and put back
        let taken = match session.phase {
            Phase::Joined(_) => std::mem::replace(&mut session.phase, Phase::Idle),
            _ => return None,
        };
        let Phase::Joined(joined) = taken else { return self.impossible(None) };
        self.joined.waiting.remove(&(joined.wait.flight().number(), joined.place));
        Some(joined)
    }

    /// Whether a session that waits is found by what it waits for.
    pub(crate) fn is_in_line(&self, id: SessionId, joined: &Joined) -> bool {
        let place = (joined.wait.flight().number(), joined.place);
        self.joined.waiting.get(&place) == Some(&id)
    }

    /// Tells those who wait for a flight here what came of it: few at a time where there is much to
    /// tell.
    pub(crate) fn tell_landed(&mut self, flight: &Flight) {
        let bytes = match flight.landing() {
            Some(Landing::Answer(answer)) => answer.reply.len() as u64,
            _ => 0,
        };
        let mut told = 0_u64;
        let waiting = self.joined.of(flight);
        self.with_each(waiting, End::Client, |proxy, id| {
            match told / BYTES_PER_MS {
                0 => proxy.end_joined(id),
                later_ms => proxy.wake(id, proxy.now_us.saturating_add(later_ms * 1000)),
            }
            told = told.saturating_add(bytes);
        });
    }

    /// A session that waits for another one's query was woken.
    pub(crate) fn check_joined_time(&mut self, id: SessionId) {
        let Some(session) = self.sessions.get(id) else { return self.impossible(()) };
        let Phase::Joined(joined) = &session.phase else { return self.impossible(()) };
        if joined.wait.flight().landing().is_some() {
            return self.end_joined(id);
        }
        let (due_us, times_out, job) = (joined.due_us, joined.times_out, joined.job);
        if self.now_us < due_us {
            return self.wake(id, due_us);
        }
        let Some(joined) = self.leave_joined(id) else { return self.impossible(()) };
        if times_out {
            self.stats.timed_out += 1;
            return self.fail_job(id, &job, &error::query_timeout(job.timeout_us / 1000));
        }
        self.stats.cache_coalesce_gave_up += 1;
        self.with_filling(id, Filling::run_beside_others);
        self.begin_with(id, joined.job, joined.placing);
    }

    /// What a session waits for has landed: it is told, or goes on otherwise.
    fn end_joined(&mut self, id: SessionId) {
        let Some(joined) = self.leave_joined(id) else { return };
        self.note_served(id);
        let Joined { job, placing, due_us, times_out, .. } = *joined;
        let (is_early, now_us) = (joined.wait.is_early(), self.now_us);
        let filling = self.filling(id);
        let leads = filling.as_ref().is_some_and(|filling| filling.lead.is_some());
        let unchanged = filling.is_some_and(|filling| filling.allowed(now_us).unchanged);
        match joined.wait.flight().landing() {
            // it is its turn
            _ if leads => {}
            Some(Landing::Answer(answer)) if is_early || !unchanged || answer.is_current() => {
                self.stats.cache_coalesced += 1;
                self.note_cached(id, |row| row.coalesced += 1);
                return self.end_told(id, answer);
            }
            Some(Landing::Lost) => {
                if self.ask_with_others(id, true)
                    || self.join(id, (job, placing), (due_us, times_out))
                {
                    return;
                }
            }
            Some(Landing::Answer(_) | Landing::Unshared) | None => {
                self.stats.cache_coalesce_unshared += 1;
                self.with_filling(id, Filling::run_beside_others);
            }
        }
        self.begin_with(id, job, placing);
    }

    /// A command ends with an answer that its server, or another one, gave before.
    pub(crate) fn end_told(&mut self, id: SessionId, answer: Arc<CachedReply>) {
        let Some(session) = self.sessions.get_mut(id) else { return self.impossible(()) };
        session.timing.idle_since_us = self.now_us;
        session.phase = Phase::Idle;
        self.drop_kept(id);
        self.tell_cached(id, answer);
        self.after_command(id);
    }

    /// The statement of a session whose answer is kept or shared is about to be sent.
    #[inline(never)]
    pub(crate) fn note_filling_sent(&mut self, id: SessionId) {
        let now_us = self.now_us;
        let Some(filling) = self.filling(id) else { return self.impossible(()) };
        filling.awaited = None;
        let lives_us = filling.lives_us();
        let is_heard = filling.lead.as_ref().is_some_and(|lead| lead.send(now_us, lives_us));
        filling.copies &= is_heard || lives_us > 0;
    }

    /// Whether an answer is read on though its client takes nothing, because others wait for it. It
    /// is no larger than what may be kept, which is counted. Where nobody waits, nobody comes to do
    /// so.
    pub(crate) fn is_heard_by_others(&mut self, id: SessionId) -> bool {
        let filling = self.sessions.get_mut(id).and_then(|it| it.serving.filling.as_deref_mut());
        let is_awaited = filling.is_some_and(|filling| filling.is_awaited());
        if !is_awaited {
            self.lead_no_more(id);
        }
        is_awaited
    }

    /// What a session leads comes to nothing that others can be told: where its client takes
    /// nothing either, its server waits from now on.
    pub(crate) fn land_unshared(&mut self, id: SessionId, lead: Lead) {
        self.land(lead, Landing::Unshared);
        if self.sessions.get(id).is_some_and(|session| session.input.unheard) {
            self.pause_for(End::Client(id));
        }
    }

    /// Nothing comes of what a session leads: one of those who wait leads anew.
    pub(crate) fn lead_no_more(&mut self, id: SessionId) {
        let filling = self.sessions.get_mut(id).and_then(|it| it.serving.filling.as_mut());
        if let Some(lead) = filling.and_then(|filling| filling.lead.take()) {
            self.land(lead, Landing::Lost);
        }
    }

    /// A flight has landed: whoever waits is told, here when this call is over.
    pub(crate) fn land(&mut self, lead: Lead, landing: Landing) {
        let (flight, workers) = lead.land(landing);
        for worker in workers {
            match worker == self.number {
                true => self.dues.landed(flight.clone()),
                false => self.orders.push(Order::Landed { worker, flight: flight.clone() }),
            }
        }
    }
}
