//! Several transactions of one session, each on a connection of its own: without
//! `transaction_persistent`, rules send its statements to several servers.
//!
//! In one of them at most data is changed. That one is the session's transaction: what changes data
//! is part of it, or is refused, and so is whatever else is no plain read. The others have only
//! read, and end with that one.

use sql::{Access, Assignment, Effects};

use crate::holds::{Holds, How};
use crate::ids::{LaneId, SessionId};
use crate::lane::Held;
use crate::proxy::Proxy;
use crate::route::Conduct;
use crate::session::replying::ties;
use crate::session::{Job, Session, What};

impl Proxy {
    /// Ends the transactions that have only read, and that a command about to run on another
    /// connection ends.
    pub(crate) fn end_elsewhere(&mut self, id: SessionId, job: &Job, stays: Option<LaneId>) {
        let Some(session) = self.sessions.get(id) else { return self.impossible(()) };
        let is_over = |held: &&Held| {
            held.why.intersects(Holds::TRANSACTION) && !held.changed && Some(held.lane) != stays
        };
        let over: Vec<Held> = session.held.iter().filter(is_over).copied().collect();
        if over.is_empty() || !ends_transactions(session, job) {
            return;
        }
        for held in over {
            let Some(session) = self.sessions.get_mut(id) else { return self.impossible(()) };
            if held.why.intersects(OUTLASTS) {
                let its = |other: &&mut Held| other.lane == held.lane;
                session.held.iter_mut().filter(its).for_each(|held| held.over = true);
                continue;
            }
            session.held.retain(|other| other.lane != held.lane);
            session.forget_lane(held.lane);
            session.forget_calls(held.lane);
            let fate = self.fate_of(&held, true);
            self.part_with(held.lane, fate);
            self.hear_without(id, held.lane);
        }
    }
}

/// Ends what a transaction has read, whatever `completion_type` is.
pub(crate) const END_READ: &[u8] = b"ROLLBACK WORK AND NO CHAIN NO RELEASE";

/// What a session keeps on a connection whether its transaction ends or not.
const OUTLASTS: Holds = Holds::PINNING.union(Holds::CURSOR).union(Holds::LONG_DATA);

impl Session {
    /// The connection with its transaction: of several, the one in which data was changed.
    pub(crate) fn transaction(&self) -> Option<&Held> {
        let is_open = |held: &&Held| held.why.intersects(Holds::TRANSACTION) && !held.over;
        let mut open = self.held.iter().filter(is_open);
        let first = open.next()?;
        Some(if first.changed { first } else { open.find(|held| held.changed).unwrap_or(first) })
    }

    /// The same where rules may send other statements elsewhere.
    pub(crate) fn parted_transaction(&self) -> Option<&Held> {
        let is_parted = self.account.as_ref().is_some_and(|a| !a.transaction_persistent);
        self.transaction().filter(|held| is_parted && self.is_its_own(held))
    }

    /// Whether a transaction is the session's, and not one that only reads: data was changed there,
    /// or it was begun by a statement, since no other one begins with autocommit on.
    fn is_its_own(&self, transaction: &Held) -> bool {
        transaction.changed || self.want.autocommit
    }
}

/// Whether a statement belongs to the session's transaction, wherever rules send it.
pub(crate) fn is_part(session: &Session, transaction: &Held, conduct: &Conduct) -> bool {
    if session.is_its_own(transaction) {
        conduct.access != Access::Reads
            || conduct.effects.intersects(ENDS.union(Effects::LOCKING_READ))
            || conduct.why_with_writes().is_some()
    } else {
        conduct.effects.intersects(Effects::TRANSACTION_END) && !conduct.changes()
    }
}

/// Whether a transaction that is open after a command has what must not be lost.
pub(crate) fn has_changed(before: bool, job: &Job, how: How) -> bool {
    let begins_anew = how == How::Done && job.effects.intersects(ENDS);
    let does = job.changes || job.effects.intersects(Effects::SAVEPOINT);
    (before && !begins_anew) || (does && how != How::Refused)
}

/// What ends a transaction, and what begins one, which ends the one before.
pub(crate) const ENDS: Effects =
    Effects::TRANSACTION_END.union(Effects::TRANSACTION_START).union(Effects::IMPLICIT_COMMIT);

/// Whether a command ends transactions, wherever they are.
fn ends_transactions(session: &Session, job: &Job) -> bool {
    if job.effects.intersects(ENDS) {
        return true;
    }
    let (text, modes) = ties::text_of(session, job);
    let is_autocommit = |assignment: &Assignment<'_>| *assignment == Assignment::Autocommit(true);
    job.what == What::Set
        && sql::parse_set_in(text, modes)
            .is_some_and(|set| set.assignments.iter().any(is_autocommit))
}
