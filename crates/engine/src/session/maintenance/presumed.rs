//! Reasons to keep a lane that only unread code gives: presumed ones. A reading that began after
//! the statement tells what the code does; then they are over, or as good as any other.
//!
//! What is asked again is what the functions and tables of a text do, by their names. Where a
//! server told of a change, that is a reason of its own, which stays. What was defined anew since
//! may have done something else: its reasons stay too.

use sql::{Effects, Facts, Role};

use crate::catalog::{self, CatalogId, How, Named, Naming};
use crate::holds::{self, Holds};
use crate::ids::{LaneId, SessionId};
use crate::lane::{Held, Lease};
use crate::proxy::Proxy;
use crate::session::command::query::holds_of;
use crate::session::replying::ties;
use crate::session::{Job, Phase, Session};

/// What a command reaches of which some was not read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unread {
    /// What is to tell the rest.
    pub catalog: CatalogId,
    /// The latest definition before the command.
    pub since: u64,
    /// What is known that it reaches.
    pub known: Effects,
}

/// What texts named that nobody had read, on a lane that is kept for that.
#[derive(Debug)]
pub(crate) struct Calls {
    lane: LaneId,
    catalog: CatalogId,
    /// The latest definition before the first of them.
    since: u64,
    /// When the last one ended.
    ended_us: u64,
    /// The functions and tables.
    names: Vec<Named>,
}

/// Names that are looked back at for one lane; beyond them its reasons stay.
const NAMES_MAX: usize = 256;

impl Session {
    /// The reasons to keep a lane that are presumed after a command, of those that it is kept for
    /// then; `untold` says that nobody told of changes in its server's session, for it failed or
    /// ended with an EOF packet.
    #[inline]
    pub(crate) fn presumed_after(
        &mut self,
        before: &Held,
        (job, untold): (&Job, bool),
        after: Holds,
        now_us: u64,
    ) -> Holds {
        match before.presumed.is_empty() && !job.effects.intersects(Effects::PRESUMED) {
            true => Holds::NONE,
            false => self.note_presumed(before, (job, untold), after, now_us),
        }
    }

    #[cold]
    fn note_presumed(
        &mut self,
        before: &Held,
        (job, untold): (&Job, bool),
        after: Holds,
        now_us: u64,
    ) -> Holds {
        let unread = self.unread_of(job);
        let of_job = unread.map_or(Holds::NONE, |unread| self.presumed_of(job, untold, &unread));
        let certain = before.why.without(before.presumed).union(job.holds.without(of_job));
        let mut presumed = before.presumed.union(of_job).without(certain).intersection(after);
        if let Some(unread) = unread
            && presumed.intersects(of_job)
            && self.note_calls(before.lane, job, &unread, now_us).is_none()
        {
            presumed = Holds::NONE;
        }
        if presumed.is_empty() {
            self.forget_calls(before.lane);
        }
        presumed
    }

    /// The reasons that only unread code gives, of a command of which nothing was done.
    pub(crate) fn presumed_of_refused(&self, job: &Job) -> Holds {
        let unread = self.unread_of(job);
        unread.map_or(Holds::NONE, |unread| self.presumed_of(job, false, &unread))
    }

    /// What of a command a reading may tell; not of a text whose end was not seen.
    fn unread_of(&self, job: &Job) -> Option<Unread> {
        let is_whole = !job.effects.intersects(Effects::UNREAD);
        self.unread.filter(|_| is_whole && job.effects.intersects(Effects::PRESUMED))
    }

    /// Of all reasons that a command gives those that what is known does not give.
    fn presumed_of(&self, job: &Job, untold: bool, unread: &Unread) -> Holds {
        let (text, modes) = ties::text_of(self, job);
        let facts = sql::facts_in(text, modes);
        let effects = facts.effects | unread.known;
        let mut all = job.holds;
        let is_presumed = untold && !effects.intersects(Effects::STORED_CODE);
        all.set(Holds::STATE_CHANGE, all.intersects(Holds::STATE_CHANGE) || is_presumed);
        // of a long text, less was seen when it was sent
        let may_be = holds::of_effects(Effects::ANY_STORED_CODE | Effects::NEW_TABLE);
        let may_be = may_be.union(Holds::STATE_CHANGE);
        all.without(holds_of(&Facts { effects, ..facts }, text)).intersection(may_be)
    }

    fn note_calls(&mut self, lane: LaneId, job: &Job, of: &Unread, ended_us: u64) -> Option<()> {
        let (catalog, since) = (of.catalog, of.since);
        let (text, modes) = ties::text_of(self, job);
        let how = How::of(ties::state_of(self, job), Naming::of(&sql::facts_in(text, modes)));
        let is_meant = |role| !matches!(role, Role::Procedure | Role::Other);
        let mut named: Vec<Named> = Vec::new();
        for (name, role) in sql::names(text, modes).filter(|(_, role)| is_meant(*role)) {
            if how.is_foreign(name) {
                return None;
            }
            named.push(Named { key: catalog::key(name), role, naming: how.naming });
        }
        if named.is_empty() {
            return None;
        }
        let is_same = |calls: &Calls| calls.lane == lane && calls.catalog == catalog;
        let at = self.calls.iter().position(is_same).unwrap_or_else(|| {
            self.calls.push(Calls { lane, catalog, since, ended_us, names: Vec::new() });
            self.calls.len() - 1
        });
        let calls = self.calls.get_mut(at)?;
        (calls.since, calls.ended_us) = (calls.since.min(since), ended_us);
        for name in named {
            let is_noted = calls.names.len() > NAMES_MAX || calls.names.contains(&name);
            calls.names.extend((!is_noted).then_some(name));
        }
        (calls.names.len() <= NAMES_MAX).then_some(())
    }

    /// A lane is kept no more.
    #[inline]
    pub(crate) fn forget_calls(&mut self, lane: LaneId) {
        if !self.calls.is_empty() {
            self.calls.retain(|calls| calls.lane != lane);
        }
    }
}

impl Proxy {
    /// The idle session that keeps a lane for nothing but presumed reasons.
    pub(crate) fn presumer(&self, lane_id: LaneId) -> Option<SessionId> {
        let lane = self.lanes.get(lane_id)?;
        let Lease::Exclusive(id) = lane.lease else { return None };
        let session = self.sessions.get(id)?;
        let held = session.held.iter().find(|held| held.lane == lane_id)?;
        let is_idle = matches!(session.phase, Phase::Idle)
            && !session.input.waits
            && !session.awaits_server()
            && !session.is_mirror();
        let is_presumed = !held.presumed.is_empty()
            && held.why.without(held.presumed.union(Holds::STANDING)).is_empty();
        (is_idle && is_presumed && lane.is_quiet() && lane.may_be_passed_on()).then_some(id)
    }

    /// A reading has told everything that began at that time: which presumed reasons it proves
    /// wrong, or right.
    pub(crate) fn judge_presumed(&mut self, catalog: CatalogId, began_us: u64) {
        let has_called = |session: &Session| {
            session.calls.iter().any(|it| it.catalog == catalog && it.ended_us <= began_us)
        };
        let sessions = self.sessions.iter().filter(|(_, session)| has_called(session));
        let sessions: Vec<_> = sessions.map(|(id, _)| id).collect();
        for id in sessions {
            self.judge_presumed_of(id, catalog, began_us);
        }
    }

    fn judge_presumed_of(&mut self, id: SessionId, catalog: CatalogId, began_us: u64) {
        let Some(session) = self.sessions.get_mut(id) else { return self.impossible(()) };
        let is_told = |it: &mut Calls| it.catalog == catalog && it.ended_us <= began_us;
        let told: Vec<_> = session.calls.extract_if(.., is_told).collect();
        for calls in told {
            let found = self.look_back(catalog, &calls.names, calls.since);
            let Some(session) = self.sessions.get_mut(id) else { return self.impossible(()) };
            let lane = calls.lane;
            let proved = match found {
                Ok(Some(effects)) => {
                    let mut proved = holds::of_effects(effects);
                    proved.set(Holds::STATE_CHANGE, effects.intersects(Effects::STORED_CODE));
                    proved
                }
                Ok(None) => {
                    session.calls.push(calls);
                    continue;
                }
                Err(_) => Holds::ALL,
            };
            let is_last = !session.calls.iter().any(|it| it.lane == lane);
            let Some(held) = session.held.iter_mut().find(|held| held.lane == lane) else {
                continue;
            };
            // of a new table nothing was presumed but that it may do anything
            let is_new = held.presumed.intersects(Holds::NEW_TABLE) && proved != Holds::ALL;
            let gained = if is_new { proved } else { Holds::NONE };
            held.why = held.why.union(gained);
            held.presumed = held.presumed.without(proved);
            if is_last {
                held.why = held.why.without(std::mem::take(&mut held.presumed));
            }
            session.tie_unseen(gained);
            session.end_ties();
            // what runs on it is settled when it ends, and so is another reading
            if matches!(session.phase, Phase::Idle) && session.read_on != Some(lane) {
                self.let_go(id, lane);
            }
        }
    }
}
