//! What the end of a command means to its session and its lane. The state of both follows what the
//! command set, and the session keeps the lane or parts with it.
//!
//! For which reasons it is kept, and what becomes of it, is decided in `holds`.

use sql::Effects;
use wire::Status;
use wire::frame;
use wire::result::End as ReplyEnd;

use crate::catalog::InsertId;
use crate::holds::{self, Ended, Fate, Holds, How};
use crate::ids::{HostgroupId, LaneId, SessionId};
use crate::lane::{Held, Lane};
use crate::proxy::Proxy;
use crate::rules::Multiplex;
use crate::session::placing::transactions;
use crate::session::replying::reply::{Outcome, is_prepare};
use crate::session::{Job, Running, Session, What};
use crate::snapshot::Snapshot;

impl Proxy {
    /// Brings the session's and the lane's state up to date with a command that succeeded, but for
    /// `autocommit`.
    fn follow(&mut self, id: SessionId, lane_id: LaneId, job: &Job, end: &ReplyEnd) {
        if job.insert_id_told(end).is_some() {
            self.insert_id_told(id, Some(lane_id));
        }
        if matches!(job.what, What::Schema | What::Set) {
            self.follow_state(id, lane_id, job);
        }
    }

    #[inline(never)]
    fn follow_state(&mut self, id: SessionId, lane_id: LaneId, job: &Job) {
        let schema = match job.what {
            What::Schema => self.schema_of_kept(id),
            _ => None,
        };
        let assigned = match job.what {
            What::Set => self.assigned_by_kept(id),
            _ => None,
        };
        let Some(session) = self.sessions.get_mut(id) else { return self.impossible(()) };
        let Some(lane) = self.lanes.get_mut(lane_id) else { return self.impossible(()) };
        if let Some(schema) = schema {
            lane.state.schema = Some(schema.clone());
            session.want.schema = Some(schema);
        }
        if let Some(assigned) = assigned {
            lane.state.charset = assigned.charset;
            lane.state.settings.clone_from(&assigned.settings);
            session.want.charset = assigned.charset;
            session.want.settings = assigned.settings;
        }
    }

    /// Says why the session keeps the lane from now on, and lets the lane go if it may.
    pub(crate) fn settle(
        &mut self,
        id: SessionId,
        lane_id: LaneId,
        running: &Running,
        outcome: &Outcome,
    ) {
        let job = &running.job;
        if let Outcome::Done(end) = outcome {
            self.follow(id, lane_id, job, end);
        }
        let mut standing = self.standing(job.hostgroup);
        let Some(session) = self.sessions.get_mut(id) else { return self.impossible(()) };
        let Some(lane) = self.lanes.get_mut(lane_id) else { return self.impossible(()) };
        let was_off = !session.want.autocommit;
        if matches!(outcome, Outcome::Done(_)) && !is_prepare(job) {
            session.follow_autocommit(lane);
        }
        let is_on_now = was_off && session.want.autocommit;
        let Some(at) = session.held.iter().position(|held| held.lane == lane_id) else {
            return self.impossible(());
        };
        let Some(held_before) = session.held.get(at).copied() else { return self.impossible(()) };
        let before = held_before.why;
        standing.set(Holds::NO_MULTIPLEX, !shares(job, before));
        let how = session.how(job, outcome);
        mark(lane, job, how);
        let gives = session.gives(job, how).without(told(lane, job, outcome));
        let came = (how, outcome.rows());
        let in_transaction = lane.status.contains(Status::IN_TRANS);
        let ended = Ended {
            how,
            effects: job.effects,
            gives,
            over: session.follow_ties(job, came, (before, gives)),
            standing,
            several: outcome.is_several(),
            // to look at them leaves them there
            warned: (outcome.has_warned(how)
                || (before.intersects(Holds::WARNINGS)
                    && job.effects.intersects(Effects::SHOW_WARNINGS)))
                && handles_warnings(&self.snapshot, job),
            hidden: how != How::Refused && running.has_hidden_change(outcome),
            in_transaction,
            autocommit: session.want.autocommit,
            only_schema: job.what == What::Schema
                && !job.effects.intersects(Effects::MULTI_STATEMENT),
            locks: !in_transaction && !session.want.autocommit && session.names_objects(job),
        };
        let why = holds::after(before, &ended);
        let untold = how != How::Refused && !running.changed && outcome.is_untold();
        let presumed = session.presumed_after(&held_before, (job, untold), why, self.now_us);
        if let Some(held) = session.held.get_mut(at) {
            (held.why, held.presumed) = (why, presumed);
            held.own = why.intersects(Holds::TRANSACTION)
                && transactions::is_own_after(held_before.own, job, how);
        }
        session.note_told(how, in_transaction);
        session.end_ties();
        self.follow_code(id, job, came, presumed);
        self.settle_prepared(id, lane_id, job, outcome);
        self.follow_transaction(id, lane_id, is_on_now);
        if let Some(held) = self.held_on(id, lane_id) {
            self.stats.note_holds(before, held.why, job.what == What::Set);
            self.note_warned(lane_id, held.why);
            self.let_go_of(id, &held);
        }
    }

    /// The same of what the command did with a prepared statement.
    fn settle_prepared(&mut self, id: SessionId, lane_id: LaneId, job: &Job, outcome: &Outcome) {
        let end = match outcome {
            Outcome::Done(end) => Some(end.status),
            Outcome::Failed { .. } => None,
        };
        match job.what {
            What::Prepare(stmt) => self.settle_prepare(id, stmt, end.is_some()),
            What::Execute(_) | What::OfStatement(_) => {
                self.settle_statement(id, lane_id, job, end);
            }
            _ => {}
        }
    }

    /// What the command has left of transactions, on this lane and on others.
    #[inline(always)]
    fn follow_transaction(&mut self, id: SessionId, lane_id: LaneId, is_on_now: bool) {
        if self.note_transaction(id) && self.holds_several(id) {
            self.note_beside(id, lane_id);
        }
        if is_on_now {
            self.end_reads(id, Some(lane_id));
        }
    }

    /// What is known of the transaction that a session has on another lane than this one, where a
    /// command has ended.
    #[cold]
    fn note_beside(&mut self, id: SessionId, lane_id: LaneId) {
        let beside = self.flags_beside(id, lane_id);
        let Some(session) = self.sessions.get_mut(id) else { return self.impossible(()) };
        session.tells_transaction |= beside.contains(Status::IN_TRANS);
        session.last.told = session.last.told.union(beside);
    }

    /// The reasons to keep lanes of a hostgroup that follow from the configuration alone.
    fn standing(&self, hostgroup: HostgroupId) -> Holds {
        let Snapshot { hostgroups, vars, .. } = &*self.snapshot;
        let mut standing = Holds::NONE;
        standing.set(Holds::MULTIPLEXING_OFF, !hostgroups.multiplexing(hostgroup, vars));
        standing.set(Holds::DELAY, vars.connection_delay_multiplex_ms > 0);
        standing
    }

    /// A lane that a session keeps.
    pub(crate) fn held_on(&self, id: SessionId, lane_id: LaneId) -> Option<Held> {
        let session = self.sessions.get(id)?;
        session.held.iter().find(|held| held.lane == lane_id).copied()
    }

    /// Checks a lane in that its session has no reason to keep.
    pub(crate) fn let_go(&mut self, id: SessionId, lane_id: LaneId) {
        if let Some(held) = self.held_on(id, lane_id) {
            self.let_go_of(id, &held);
        }
    }

    #[inline(always)]
    fn let_go_of(&mut self, id: SessionId, held: &Held) {
        let fate = self.fate_of(held, false);
        if fate == Fate::Kept {
            return;
        }
        let Some(session) = self.sessions.get_mut(id) else { return self.impossible(()) };
        if let Some(at) = session.held.iter().position(|other| other.lane == held.lane) {
            session.held.swap_remove(at);
            session.forget_calls(held.lane);
            let awaits_kill = session.awaits_kill == Some(held.lane);
            self.part_with(held.lane, fate);
            if awaits_kill {
                self.stop_awaiting_kill(id, held.lane);
            }
            self.hear_without(id, held.lane);
        }
    }

    /// The schema that the kept command, a `USE` or `COM_INIT_DB`, has set.
    fn schema_of_kept(&self, id: SessionId) -> Option<std::sync::Arc<[u8]>> {
        let kept = self.kept(id).get(frame::HEADER_BYTES..)?;
        let (code, body) = kept.split_first()?;
        match *code {
            wire::command::code::INIT_DB => Some(body.into()),
            _ => sql::parse_use_in(body, self.modes(id)).map(|schema| schema.as_ref().into()),
        }
    }
}

impl Session {
    /// Whether the server would tell of an open transaction; an error tells no flags.
    fn note_told(&mut self, how: How, in_transaction: bool) {
        self.tells_transaction = match how {
            How::Done => in_transaction,
            How::Failed => true,
            How::Refused | How::Prepared => self.tells_transaction,
        };
    }

    /// Its own is as a lane's server has told last.
    fn follow_autocommit(&mut self, lane: &mut Lane) {
        lane.state.autocommit = lane.status.contains(Status::AUTOCOMMIT);
        self.want.autocommit = lane.state.autocommit;
    }

    /// The reasons that a command gives, which ended so.
    fn gives(&self, job: &Job, how: How) -> Holds {
        match how {
            How::Refused => job.holds.without(self.presumed_of_refused(job)),
            _ => job.holds,
        }
    }

    /// How a command ended, as far as what it did follows from that.
    fn how(&self, job: &Job, outcome: &Outcome) -> How {
        match outcome {
            Outcome::Done(_) if is_prepare(job) => How::Prepared,
            Outcome::Done(_) => How::Done,
            Outcome::Failed { .. } if self.is_refused(job) => How::Refused,
            Outcome::Failed { .. } => How::Failed,
        }
    }
}

impl Outcome {
    fn is_several(&self) -> bool {
        match self {
            Self::Done(end) => end.several,
            Self::Failed { several } => *several,
        }
    }

    /// Whether its server may have warnings, or an error, to tell.
    pub(crate) fn leaves_warnings(&self) -> bool {
        // of several results, only the last one's are told
        !matches!(self, Self::Done(end) if end.warnings == 0 && !end.several)
    }

    /// Whether the client may ask for warnings, or an error.
    fn has_warned(&self, how: How) -> bool {
        match self {
            Self::Done(end) => end.warnings > 0 && how != How::Prepared,
            Self::Failed { .. } => true,
        }
    }
}

/// Notes what a command may have left that its text does not tell.
#[inline(always)]
fn mark(lane: &mut Lane, job: &Job, how: How) {
    if job.what == What::Set && matches!(how, How::Refused | How::Failed) {
        (lane.marks.traced, lane.marks.unsure) = (true, true);
    }
    if job.effects.intersects(LEAVES_MARKS) {
        mark_code(lane, job, how);
    }
}

/// What may leave more on a connection than its text tells.
const LEAVES_MARKS: Effects = Effects::UNREAD
    .union(Effects::UNKNOWN_CODE)
    .union(Effects::CALLS_CODE)
    .union(Effects::VARIABLE_IN_CODE);

/// By what a MySQL may read stored code otherwise than before or behind a statement.
const READ_BY_OTHERS: Effects = Effects::VARIABLE_IN_CODE
    .union(Effects::MULTI_STATEMENT)
    .union(Effects::UNCLEAR)
    .union(Effects::CHANGES_SESSION);

/// The same of stored code. A MySQL keeps with a connection what it has read; where that was by
/// several settings, the connection is not for others until it is reset.
#[cold]
fn mark_code(lane: &mut Lane, job: &Job, how: How) {
    // code that nobody has read may have left anything, and so may the end of a long text
    lane.marks.unsure |= job.effects.intersects(Effects::UNREAD)
        || how == How::Failed && job.effects.intersects(Effects::UNKNOWN_CODE);
    if job.effects.intersects(Effects::CALLS_CODE | Effects::VARIABLE_IN_CODE) {
        let mixes = job.what == What::Set || job.effects.intersects(READ_BY_OTHERS);
        lane.marks.unsure |= mixes && !lane.greeted.is_mariadb;
        lane.note_code_read(lane.state.read_by(false));
    }
}

/// Whether the hostgroup of a command keeps connections for warnings.
fn handles_warnings(snapshot: &Snapshot, job: &Job) -> bool {
    snapshot.hostgroups.handles_warnings(job.hostgroup, &snapshot.vars)
}

/// Reasons that a text gives and that its server has taken away by telling what they are about:
/// that is replayed. What it is being asked for is awaited.
fn told(lane: &Lane, job: &Job, outcome: &Outcome) -> Holds {
    let is_told = match outcome {
        Outcome::Done(end) if job.insert_id == InsertId::Asked => {
            end.ok_only && end.last_insert_id == 0
        }
        Outcome::Done(end) if job.effects.intersects(Effects::SETS_LAST_INSERT_ID) => {
            end.ok_only && end.last_insert_id != 0
        }
        _ => false,
    };
    if is_told && !lane.is_asked() { Holds::LAST_INSERT_ID } else { Holds::NONE }
}

/// Whether the session's connections may be shared, by its rules.
fn shares(job: &Job, before: Holds) -> bool {
    match job.multiplex {
        Some(Multiplex::Off) => false,
        Some(Multiplex::On) => true,
        Some(Multiplex::IgnoreVariables) | None => !before.intersects(Holds::NO_MULTIPLEX),
    }
}
