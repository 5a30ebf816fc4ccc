//! Where a statement goes: the lane the session is tied to, or a hostgroup.
//!
//! One function decides it, for text and prepared statements alike; which lane of a hostgroup is
//! the pool's choice.

use sql::Effects;

use crate::error::SqlError;
use crate::holds::Holds;
use crate::ids::{HostgroupId, LaneId, SessionId};
use crate::proxy::Proxy;
use crate::route::Conduct;
use crate::session::placing::transactions;
use crate::session::{Job, Session, What};
use crate::topology::ServerRef;

/// Where a statement goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Destination {
    /// To this lane, which the session holds.
    Lane(LaneId),
    /// To any lane of this hostgroup.
    Hostgroup(HostgroupId),
}

/// What placing a statement looks at.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Placing {
    /// What it does.
    pub conduct: Conduct,
    /// What the rules say.
    pub destination: Option<HostgroupId>,
    /// A connection is made for it unless the session is tied to one.
    pub fresh: bool,
}

impl Placing {
    /// For a job that does nothing to data.
    pub(crate) fn of(job: &Job) -> Self {
        let conduct = Conduct::of_session(job.effects, job.holds);
        Self { conduct, destination: None, fresh: job.fresh }
    }
}

impl Proxy {
    /// Where a statement goes that the session's writes must be able to follow, or that has some
    /// in it: to where the rules send writes.
    pub(crate) fn with_its_writes(&mut self, id: SessionId, what: What, placing: &mut Placing) {
        let Some(session) = self.sessions.get_mut(id) else { return self.impossible(()) };
        if session.stays_parted {
            session.stays_parted = session.in_transaction();
        }
        let persistent = session.account.is_some() && !session.is_parted();
        let opens = persistent && !session.want.autocommit;
        if !placing.conduct.goes_with_writes(placing.destination, opens) {
            return;
        }
        let stays = match persistent {
            true => Holds::PINNING.union(Holds::TRANSACTION),
            false => Holds::PINNING,
        };
        // on the lane that the session is tied to, it is refused if it changes what is elsewhere
        if session.held_for(stays).is_none() || placing.conduct.hides_changes() {
            placing.destination = self.destination_of_writes(id, what);
        }
    }

    /// Why a statement cannot run on the lane that its session is tied to: it may change data, and
    /// is meant for a hostgroup that the lane's server is not in.
    pub(crate) fn conflict(
        &self,
        id: SessionId,
        (job, placing): (&Job, &Placing),
        place: Destination,
    ) -> Option<SqlError> {
        let Destination::Lane(lane) = place else { return None };
        if !placing.conduct.changes() {
            return None;
        }
        let session = self.sessions.get(id)?;
        if session.drops_its_own(job) {
            return None;
        }
        if let Some(error) = session.parted_from(lane) {
            return Some(error);
        }
        let locks = self.snapshot.vars.set_query_lock_on_hostgroup != 0;
        let held = match session.held_for(Holds::PINNING).filter(|held| held.lane == lane) {
            Some(pinned) => Some(pinned).filter(|_| locks),
            None => session.parted_transaction(),
        }?;
        let account = session.account.as_ref()?;
        let wanted = placing.destination.unwrap_or(account.default_hostgroup);
        let server = &self.lanes.get(lane)?.server;
        let is_same =
            |other: &ServerRef| (&other.hostname, other.port) == (&server.hostname, server.port);
        if wanted == held.hostgroup || self.snapshot.topology.hostgroup(wanted).iter().any(is_same)
        {
            return None;
        }
        Some(transactions::locked(held, wanted))
    }
}

/// Decides where a statement of a session goes.
pub(crate) fn place(session: &Session, placing: &Placing) -> Destination {
    let Some(account) = &session.account else { return Destination::Hostgroup(HostgroupId(0)) };
    if placing.conduct.effects.intersects(transactions::ENDS)
        && let Some(held) = session.parted_transaction()
    {
        return Destination::Lane(held.lane);
    }
    if let Some(held) = session.held_for(Holds::PINNING) {
        return Destination::Lane(held.lane);
    }
    let about_the_last = [
        (Effects::SHOW_WARNINGS, Holds::WARNINGS),
        (Effects::READS_FOUND_ROWS, Holds::FOUND_ROWS),
        (MAY_READ_INSERT_ID, Holds::LAST_INSERT_ID),
    ];
    for (effect, hold) in about_the_last {
        if placing.conduct.effects.intersects(effect)
            && placing.conduct.may_follow()
            && let Some(held) = session.held_for(hold)
        {
            return Destination::Lane(held.lane);
        }
    }
    if let Some(held) = session.transaction()
        && (!session.is_parted() || transactions::is_part(session, held, &placing.conduct))
    {
        return Destination::Lane(held.lane);
    }
    let hostgroup = placing.destination.unwrap_or(account.default_hostgroup);
    if placing.fresh {
        return Destination::Hostgroup(hostgroup);
    }
    match session.held_in(hostgroup) {
        Some(lane) => Destination::Lane(lane),
        None => Destination::Hostgroup(hostgroup),
    }
}

/// Whether a command runs right only where the session's last insert id is set.
pub(crate) fn needs_insert_id(effects: Effects, holds: Holds) -> bool {
    effects.intersects(MAY_READ_INSERT_ID) || holds.intersects(Holds::LAST_INSERT_ID)
}

/// May read the last insert id, in sight or not, or leave it as it was.
const MAY_READ_INSERT_ID: Effects = Effects::READS_LAST_INSERT_ID
    .union(Effects::SETS_LAST_INSERT_ID)
    .union(Effects::CALLS_PROCEDURE)
    .union(Effects::UNCLEAR)
    .union(Effects::TEXT_PREPARE)
    .union(Effects::TEXT_EXECUTE);
