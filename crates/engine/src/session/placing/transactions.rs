//! Several transactions of one session, each on a connection of its own: without
//! `transaction_persistent`, rules send its statements to several servers.
//!
//! One of them may have changed data, and is what `COMMIT` and `ROLLBACK` mean; the others have
//! only read, and end with that one.

use sql::{Assignment, Effects, Verb};

use crate::error::{self, SqlError};
use crate::holds::Holds;
use crate::ids::SessionId;
use crate::lane::Held;
use crate::proxy::Proxy;
use crate::session::placing::destination::Place;
use crate::session::replying::ties;
use crate::session::{Job, Session, What};

impl Proxy {
    /// Where a command goes that was to go there, if it ends the session's transactions; ends those
    /// that it does not reach. An error where they cannot all be ended.
    #[inline]
    pub(crate) fn place_of_end(
        &mut self,
        id: SessionId,
        job: &Job,
        place: Place,
    ) -> Result<Place, SqlError> {
        match self.sessions.get(id).is_some_and(|session| session.held.len() > 1) {
            true => self.place_among(id, job, place),
            false => Ok(place),
        }
    }

    #[cold]
    fn place_among(&mut self, id: SessionId, job: &Job, place: Place) -> Result<Place, SqlError> {
        let Some(session) = self.sessions.get(id) else { return self.impossible(Ok(place)) };
        let open = session.held.iter().filter(|held| held.why.intersects(Holds::TRANSACTION));
        let open: Vec<Held> = open.copied().collect();
        if open.len() < 2 || !ends_transactions(session, job) {
            return Ok(place);
        }
        let changed: Vec<_> = open.iter().filter(|held| held.changed).collect();
        let rolls_back = is_rollback(session, job);
        if changed.len() > 1 && !rolls_back {
            let hostgroups: Vec<_> = changed.iter().map(|held| held.hostgroup).collect();
            return Err(error::several_transactions(&hostgroups));
        }
        let is_tied = |held: &&&Held| held.why.intersects(Holds::PINNING);
        let is_placed = |held: &&Held| place == Place::Lane(held.lane);
        let of_changes = changed.iter().find(is_tied).or(changed.first()).copied();
        let meant = of_changes.or(open.iter().find(is_placed)).or(open.first());
        let Some(meant) = meant.map(|held| held.lane) else { return Ok(place) };
        for held in open.iter().filter(|held| held.lane != meant) {
            // what else it made there stays, and with it a transaction that has only read
            if held.changed || !held.why.intersects(Holds::PINNING) {
                self.end_elsewhere(id, held);
            }
        }
        Ok(Place::Lane(meant))
    }

    /// A transaction is rolled back by giving up its connection.
    fn end_elsewhere(&mut self, id: SessionId, held: &Held) {
        let Some(session) = self.sessions.get_mut(id) else { return self.impossible(()) };
        session.held.retain(|other| other.lane != held.lane);
        session.forget_lane(held.lane);
        session.forget_calls(held.lane);
        let fate = self.fate_of(held, true);
        self.part_with(held.lane, fate);
        self.hear_without(id, held.lane);
    }
}

impl Session {
    /// The connection with its transaction: of several, the one in which more than reads ran.
    pub(crate) fn transaction(&self) -> Option<&Held> {
        let mut open = self.held.iter().filter(|held| held.why.intersects(Holds::TRANSACTION));
        let first = open.next()?;
        Some(if first.changed { first } else { open.find(|held| held.changed).unwrap_or(first) })
    }
}

/// Whether a command ends transactions, wherever they are.
fn ends_transactions(session: &Session, job: &Job) -> bool {
    if job.effects.intersects(Effects::TRANSACTION_END) {
        return true;
    }
    let (text, modes) = ties::text_of(session, job);
    let commits = |assignment: &Assignment<'_>| *assignment == Assignment::Autocommit(true);
    job.what == What::Set
        && sql::parse_set_in(text, modes).is_some_and(|set| set.assignments.iter().any(commits))
}

fn is_rollback(session: &Session, job: &Job) -> bool {
    let (text, modes) = ties::text_of(session, job);
    let facts = sql::facts_in(text, modes);
    facts.verb == Verb::Rollback && !facts.effects.intersects(Effects::MULTI_STATEMENT)
}
