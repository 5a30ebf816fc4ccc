//! Several transactions of one session, each on a connection of its own: without
//! `transaction_persistent`, rules send its statements to several servers.
//!
//! In one of them at most data is changed. That one is the session's transaction: what changes data
//! is part of it, or is refused, and so is everything else that is no plain read. The others have
//! only read, and end with that one.

use sql::{Access, Effects};
use wire::command;
use wire::result::ReplyKind;

use crate::error::{self, SqlError};
use crate::holds::{Holds, How};
use crate::ids::{HostgroupId, LaneId, SessionId};
use crate::lane::{Held, Owner};
use crate::orders::End;
use crate::proxy::Proxy;
use crate::route::Conduct;
use crate::session::{Job, Session};

impl Proxy {
    /// Ends the transactions that have only read, and that a command about to run on another
    /// connection ends.
    pub(crate) fn end_elsewhere(&mut self, id: SessionId, job: &Job, stays: Option<LaneId>) {
        if job.effects.intersects(ENDS) {
            self.end_reads(id, stays);
        }
    }

    /// Ends the transactions that have only read on other connections than this one. What a session
    /// keeps for something else stays, and rolls back what was read.
    pub(crate) fn end_reads(&mut self, id: SessionId, stays: Option<LaneId>) {
        let Some(session) = self.sessions.get_mut(id) else { return self.impossible(()) };
        let mut free = Vec::new();
        for held in &mut session.held {
            let is_over = held.why.intersects(Holds::TRANSACTION) && !held.own;
            if !is_over || Some(held.lane) == stays {
                continue;
            }
            if !held.why.intersects(OUTLASTS) {
                free.push(*held);
                continue;
            }
            held.why = held.why.without(OF_TRANSACTION);
            if let Some(lane) = self.lanes.get_mut(held.lane) {
                lane.enqueue(Owner::Nobody, ReplyKind::Result);
            }
            self.orders.send(End::Lane(held.lane), |out| command::write_query(out, END_READ));
        }
        for held in free {
            let Some(session) = self.sessions.get_mut(id) else { return self.impossible(()) };
            session.held.retain(|other| other.lane != held.lane);
            session.forget_lane(held.lane);
            session.forget_calls(held.lane);
            let fate = self.fate_of(&held, true);
            self.part_with(held.lane, fate);
            self.hear_without(id, held.lane);
        }
    }
}

/// Ends what a transaction has read, whatever `completion_type` is. In other words than behind a
/// reading of stored code, where no session's transaction may be open.
const END_READ: &[u8] = b"ROLLBACK WORK AND NO CHAIN NO RELEASE";

/// What a session keeps on a connection whether its transaction ends or not.
const OUTLASTS: Holds = Holds::PINNING.union(Holds::CURSOR);

/// What ends with a rollback.
const OF_TRANSACTION: Holds =
    Holds::TRANSACTION.union(Holds::UNTOLD_TRANSACTION).union(Holds::CHARACTERISTICS);

impl Session {
    /// The connection with its transaction: of several, that which is its own.
    pub(crate) fn transaction(&self) -> Option<&Held> {
        let mut open = self.held.iter().filter(|held| held.why.intersects(Holds::TRANSACTION));
        let first = open.next()?;
        Some(if first.own { first } else { open.find(|held| held.own).unwrap_or(first) })
    }

    /// The same where rules may send other statements elsewhere.
    pub(crate) fn parted_transaction(&self) -> Option<&Held> {
        self.transaction().filter(|held| self.is_parted() && self.is_its_own(held))
    }

    /// Whether rules send its reads, and its transaction's first change, to several servers.
    pub(crate) fn is_parted(&self) -> bool {
        self.stays_parted || self.account.as_ref().is_some_and(|a| !a.transaction_persistent)
    }

    /// Why data is not changed on a lane that the session keeps: its transaction is on another one.
    pub(crate) fn parted_from(&self, lane: LaneId) -> Option<SqlError> {
        let transaction = self.parted_transaction().filter(|held| held.lane != lane)?;
        let there = self.held.iter().find(|held| held.lane == lane)?;
        Some(locked(transaction, there.hostgroup))
    }

    /// Whether a transaction is the session's, and not one that only reads. With autocommit on,
    /// only a statement begins one.
    fn is_its_own(&self, transaction: &Held) -> bool {
        transaction.own || self.want.autocommit
    }
}

/// What a statement for another hostgroup is told than that of a connection that has to run it.
pub(crate) fn locked(held: &Held, wanted: HostgroupId) -> SqlError {
    let why: Vec<_> = held.why.names().collect();
    error::locked_on_hostgroup(held.hostgroup, wanted, &why.join(", "))
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

/// Whether a transaction that is open after a command is the session's own.
pub(crate) fn is_own_after(before: bool, job: &Job, how: How) -> bool {
    const MAKES_OWN: Effects = Effects::SAVEPOINT.union(Effects::TRANSACTION_START);
    let ends = job.effects.intersects(Effects::TRANSACTION_END);
    // what is chained to a transaction is whose that one was
    let does = job.changes || job.effects.intersects(MAKES_OWN) && (before || !ends);
    (before && !(ends && how == How::Done)) || (does && how != How::Refused)
}

/// What ends a transaction, and what begins one, which ends the one before.
pub(crate) const ENDS: Effects =
    Effects::TRANSACTION_END.union(Effects::TRANSACTION_START).union(Effects::IMPLICIT_COMMIT);
