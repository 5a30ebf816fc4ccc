//! Commands on lanes that other sessions use too: which are let on, what goes out together, and
//! what becomes of commands behind one that does not end.
//!
//! A session on a shared lane has one command there and holds nothing. If anything goes wrong, its
//! command is taken off and issued again by itself, for it only reads. What the server answers to a
//! command that was taken off is thrown away. Whether a command shares is `lane::policy`.

use std::ops::Range;

use sql::Effects;
use wire::Status;
use wire::frame::HEADER_BYTES;
use wire::result::Event;

use crate::error::{self, SqlError};
use crate::ids::{LaneId, SessionId};
use crate::lane::history::{Past, Run};
use crate::lane::policy::{self, Asked, Bounds};
use crate::lane::{Closing, Lane, Lease, Owner, Place};
use crate::orders::{End, Order};
use crate::pool;
use crate::proxy::Proxy;
use crate::report::LogEvent;
use crate::route::Route;
use crate::rules::Multiplex;
use crate::server_error::Meaning;
use crate::session::replying::reply::Outcome;
use crate::session::{Job, Phase, Running, Session, Stage, What};
use crate::snapshot::Snapshot;
use crate::topology::LastFault;

/// Whether a command may run among other sessions' commands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Sharing {
    /// Not by what it is.
    Never,
    /// It was taken off a shared lane once.
    Alone,
    /// If the policy says so.
    May,
    /// It does; the server is expected to take so many microseconds.
    Does(u64),
}

/// Which commands are taken off a shared lane.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Who {
    /// All behind the one whose reply comes next.
    Behind,
    /// All sessions that have got nothing of their replies.
    Unanswered,
    /// All.
    All,
}

/// Gathered commands go out when not more than so many are under way: the server has something to
/// do until they arrive.
const IN_FLIGHT_LOW: usize = 1;

impl Proxy {
    /// Whether a command may share a lane, as far as the command and its route say.
    pub(crate) fn sharing_of(shareable: bool, route: &Route) -> Sharing {
        let shares = shareable && route.digest.is_some();
        if shares { Sharing::May } else { Sharing::Never }
    }

    /// Decides whether a command that may share a lane does.
    pub(crate) fn ask_to_share(&mut self, id: SessionId, job: &mut Job) {
        if job.sharing != Sharing::May {
            return;
        }
        let Some(session) = self.sessions.get(id) else { return self.impossible(()) };
        let Snapshot { hostgroups, vars, .. } = &*self.snapshot;
        let of_user = session.account.as_ref().and_then(|account| account.pipeline_depth);
        let said = job.depth.or(of_user);
        let depth = said.unwrap_or_else(|| hostgroups.pipeline_depth(job.hostgroup, vars));
        job.depth = Some(depth);
        if depth == 0 && vars.pipeline_depth == 0 {
            job.sharing = Sharing::Never;
            return;
        }
        let digest = session.serving.asked.digest();
        let asked = Asked {
            forbidden: depth == 0
                || !hostgroups.multiplexing(job.hostgroup, vars)
                || matches!(job.multiplex, Some(Multiplex::Off))
                || job.fresh
                || session.is_mirror(),
            autocommit: session.want.autocommit,
            keeps: (!session.held.is_empty()).then(|| session.reasons()),
            recalls: session.last.recall.is_some(),
            bytes: job.upload.is_none().then_some(session.serving.kept.len()),
            past: digest.and_then(|digest| self.history.find(job.hostgroup, digest)),
            now_us: self.now_us,
        };
        match policy::admit(&asked, &self.bounds(job)) {
            Ok(cost_us) => job.sharing = Sharing::Does(cost_us),
            Err(refusal) => *refusal.counter(&mut self.stats) += 1,
        }
    }

    pub(crate) fn bounds(&self, job: &Job) -> Bounds {
        let vars = &self.snapshot.vars;
        let depth = job.depth.unwrap_or(vars.pipeline_depth);
        Bounds {
            depth: usize::try_from(depth).unwrap_or(usize::MAX),
            latency_us: vars.pipeline_max_latency_us,
            reply_bytes: vars.pipeline_max_reply_bytes,
        }
    }

    /// What a checkout is told of a command that shares.
    pub(crate) fn share_of(&self, job: &Job) -> Option<(Bounds, u64)> {
        match job.sharing {
            Sharing::Does(cost_us) => Some((self.bounds(job), cost_us)),
            Sharing::Never | Sharing::Alone | Sharing::May => None,
        }
    }

    /// Makes a free lane a shared one for a command that shares. `false` for any other command, and
    /// where the lane is not as its session wants it, or lacks what is executed.
    pub(crate) fn opens_shared(&mut self, id: SessionId, lane_id: LaneId, job: &Job) -> bool {
        let shares = matches!(job.sharing, Sharing::Does(_));
        if !shares || self.missing_statement(id, lane_id, job).is_some() {
            return false;
        }
        let Some(session) = self.sessions.get(id) else { return self.impossible(false) };
        let Some(lane) = self.lanes.get_mut(lane_id) else { return self.impossible(false) };
        let shares = session.want == lane.state && !lane.marks.single_use;
        if shares {
            lane.lease = Lease::Shared;
            (lane.shared.closing, lane.shared.passed) = (None, 0);
            lane.marks.used = true;
            self.pool.put_shared(&lane.server, lane_id);
        }
        shares
    }

    /// Puts the kept command on a shared lane, to be sent with commands of others.
    pub(crate) fn run_shared(&mut self, id: SessionId, lane_id: LaneId, job: Job) {
        let Sharing::Does(cost_us) = job.sharing else { return };
        let (started_us, depth_max) = (self.now_us, self.bounds(&job).depth);
        let Some(session) = self.sessions.get_mut(id) else { return self.impossible(()) };
        let Some(lane) = self.lanes.get_mut(lane_id) else { return self.impossible(()) };
        session.phase = Phase::Running(Running {
            job,
            lane: lane_id,
            stage: Stage::Sent,
            delivered: false,
            started_us,
            killed: None,
            file_seq: None,
            step_error: None,
            shared: true,
            reply_bytes: 0,
            changed: false,
        });
        if job.effects.intersects(Effects::CALLS_CODE) {
            // also if nobody waits for the reply any more
            lane.note_code_read(lane.state.read_by(false));
        }
        if lane.depth() == lane.in_flight() {
            self.gathering.push(lane_id);
        }
        lane.gather(id, job.reply, cost_us);
        lane.traffic.checkouts += 1;
        self.stats.checkouts += 1;
        self.stats.shared_queries += 1;
        let executes = u64::from(matches!(job.what, What::Execute(_)));
        self.stats.lane_executes += executes;
        self.stats.shared_executes += executes;
        let is_full = lane.depth() > self.pool.depth_of(&lane.server, depth_max);
        if job.fills {
            self.note_filling_sent(id);
        }
        self.patch_statement(id, lane_id, &job);
        self.watch(id, &job);
        if is_full {
            self.add_lane(id, lane_id);
        }
    }

    /// Opens one more connection to a server whose shared lanes are full; no session waits for it.
    fn add_lane(&mut self, id: SessionId, full: LaneId) {
        let Some(lane) = self.lanes.get(full).filter(|lane| !self.is_scarce(lane)) else { return };
        // one at a time, of all workers together
        if lane.server.gauge.dialing() > 0 {
            return;
        }
        let server = lane.server.clone();
        if self.take_permits(id, &server) {
            self.dial(id, server, Lease::Dialing(None));
        }
    }

    /// A shared lane whose gathered commands are to be sent now; at the end of a turn, until there
    /// is none.
    pub fn next_batch(&mut self) -> Option<LaneId> {
        let lanes = &self.lanes;
        let due = |id: &LaneId| lanes.get(*id).is_none_or(|lane| lane.in_flight() <= IN_FLIGHT_LOW);
        let at = self.gathering.iter().position(due)?;
        Some(self.gathering.swap_remove(at))
    }

    /// Sends what was gathered on a shared lane.
    pub fn send_batch(&mut self, lane_id: LaneId) {
        let Some(lane) = self.lanes.get_mut(lane_id) else { return };
        if lane.depth() == lane.in_flight() {
            return;
        }
        if lane.in_flight() == 0 {
            (lane.times.turned_us, lane.shared.follows) = (self.now_us, false);
        }
        self.stats.shared_batches += 1;
        while let Some(command) = lane.send_gathered() {
            self.stats.shared_sent += 1;
            if let Owner::Session(session) = command.owner {
                let kept =
                    self.sessions.get(session).map_or(0, |session| session.serving.kept.len());
                lane.traffic.note_query(kept);
                self.orders.push(Order::SendKept { session, lane: lane_id });
            }
        }
        if lane.times.alarm_us == 0 {
            let at_us = self.now_us.saturating_add(self.snapshot.vars.pipeline_stall_us);
            self.set_alarm(lane_id, at_us);
        }
    }

    pub(crate) fn set_alarm(&mut self, lane_id: LaneId, at_us: u64) {
        if let Some(lane) = self.lanes.get_mut(lane_id) {
            lane.times.alarm_us = at_us;
            self.orders.push(Order::Deadline { end: End::Lane(lane_id), at: at_us });
        }
    }

    /// A part of the reply to a session at the head of a shared lane.
    pub(crate) fn on_shared_part(
        &mut self,
        id: SessionId,
        lane_id: LaneId,
        range: Range<usize>,
        event: Event,
        bytes: &[u8],
    ) {
        match event {
            Event::Infile | Event::Prepared { .. } => {
                // no read asks for a file
                self.lose_lane(lane_id, LastFault::Protocol);
            }
            Event::Err { code, .. }
                if Meaning::of(code).is(Meaning::GOING_AWAY) && self.runs_elsewhere(id) =>
            {
                self.lose_lane(lane_id, LastFault::Os(0));
            }
            Event::Err { code, .. } if self.mends(id, lane_id, code) => {
                if let Some(lane) = self.lanes.get_mut(lane_id) {
                    lane.pop();
                }
                self.reissue(id, None);
                self.after_shared(lane_id);
            }
            Event::Err { at, code, .. } => {
                let overdue =
                    self.running(id).and_then(|running| Self::said_of_killed(running, code));
                let end = match &overdue {
                    None => range.end,
                    Some(_) => range.start + at.start.saturating_sub(HEADER_BYTES),
                };
                self.relay_reply(id, range.start..end);
                self.say_instead(id, lane_id, overdue);
                let several = self.lanes.get(lane_id).and_then(Lane::status_so_far).is_some();
                self.finish_shared(id, lane_id, Outcome::Failed { several });
            }
            Event::End(ref end) if let Some(at) = &end.track => {
                let at = range.start + at.start..range.start + at.end;
                self.relay_changes(id, lane_id, range, at, bytes);
                self.finish_shared(id, lane_id, Outcome::Done(end.clone()));
            }
            Event::End(end) => {
                self.relay_reply(id, range);
                self.finish_shared(id, lane_id, Outcome::Done(end));
            }
            _ => self.relay_reply(id, range),
        }
    }

    /// Whether a read whose server goes away may run again on another one.
    fn runs_elsewhere(&mut self, id: SessionId) -> bool {
        let Some(running) = self.running(id) else { return self.impossible(false) };
        let (delivered, job) = (running.delivered, running.job);
        !delivered && job.retries_left > 0 && self.is_repeatable(id, &job)
    }

    /// The reply at the head of a shared lane has ended.
    fn finish_shared(&mut self, id: SessionId, lane_id: LaneId, outcome: Outcome) {
        let Some(lane) = self.lanes.get_mut(lane_id) else { return self.impossible(()) };
        let took_us = self.now_us.saturating_sub(lane.times.turned_us);
        let behind = lane.shared.follows;
        lane.pop();
        let Some(job) = self.running(id).map(|running| running.job) else {
            return self.impossible(());
        };
        let depth_max = self.bounds(&job).depth;
        let (Some(session), Some(lane)) = (self.sessions.get_mut(id), self.lanes.get(lane_id))
        else {
            return self.impossible(());
        };
        let whole_us =
            self.now_us.saturating_sub(session.serving.asked.since_us().unwrap_or(self.now_us));
        self.pool.note_shared(&lane.server, whole_us, self.now_us, depth_max);
        let mut phase = std::mem::replace(&mut session.phase, Phase::Idle);
        let Phase::Running(running) = &mut phase else { return self.impossible(()) };
        self.reach_again(id, &mut running.job);
        if running.job.effects.intersects(Effects::CALLS_CODE)
            && let Some(lane) = self.lanes.get_mut(lane_id)
        {
            lane.note_code_read(lane.state.read_by(false));
        }
        self.conclude(id, running, (took_us, behind), &outcome);
        let told = match &outcome {
            Outcome::Done(end) => Some(end.status.without(Status::CURSOR_EXISTS)),
            Outcome::Failed { .. } => None,
        };
        self.settle_statement(id, lane_id, &running.job, told);
        match &outcome {
            Outcome::Done(end) if end.warnings == 0 => self.drop_kept(id),
            _ => self.keep_for_recall(id, &running.job),
        }
        // what was defined meanwhile may have left anything
        if outcome.has_changed_connection() || !running.job.holds.is_empty() {
            self.scatter(lane_id, Who::All);
            self.drop_lane(lane_id);
        } else {
            self.after_shared(lane_id);
        }
        self.after_command(id);
    }

    /// Remembers how a read went: how long it took, and whether it was behind another one.
    pub(crate) fn learn(
        &mut self,
        id: SessionId,
        running: &Running,
        (latency_us, behind): (u64, bool),
        outcome: &Outcome,
    ) {
        if running.job.sharing == Sharing::Never || !matches!(outcome, Outcome::Done(_)) {
            return;
        }
        let now_us = self.now_us;
        let (reply_bytes, untidy) = (running.reply_bytes, outcome.is_untidy());
        if let Some(past) = self.past_of(id, &running.job) {
            past.note(&Run { now_us, latency_us, reply_bytes, untidy, behind });
        }
    }

    /// What the digest of a session's command came to before, to be changed.
    pub(crate) fn past_of(&mut self, id: SessionId, job: &Job) -> Option<&mut Past> {
        let session = self.sessions.get(id)?;
        let digest = session.serving.asked.digest()?;
        let text = match job.what {
            What::Execute(stmt) => session.handle(stmt).map(|handle| &*handle.text.text),
            _ => session.serving.kept.get(HEADER_BYTES + 1..),
        };
        let text = text.unwrap_or_default();
        let needed = self.snapshot.vars.pipeline_min_runs;
        let new = || Past::new(needed, !sql::only_computes(text));
        self.history.of(job.hostgroup, digest, self.now_us, new)
    }

    /// Takes commands off a shared lane and issues each by itself; the lane takes no other.
    pub(crate) fn scatter(&mut self, lane_id: LaneId, who: Who) {
        let Some(lane) = self.lanes.get_mut(lane_id) else { return };
        if lane.lease != Lease::Shared {
            return;
        }
        lane.shared.closing = Some(Closing::Unfit);
        let sessions = &self.sessions;
        let has_begun = |id| sessions.get(id).is_some_and(Session::has_begun_reply);
        let stays = |id| match who {
            Who::Behind => lane.place_of(id) == Some(Place::Head),
            Who::Unanswered => has_begun(id),
            Who::All => false,
        };
        let sharers: Vec<_> = lane.sharers().map(|(id, _)| id).filter(|id| !stays(*id)).collect();
        for id in &sharers {
            lane.disown(*id);
        }
        let (hostgroup, index) = (lane.server.hostgroup, lane.server.index);
        let topology = &self.snapshot.topology;
        let another = pool::is_another_usable(topology, hostgroup, index, self.now_us);
        let avoid = Some(index).filter(|_| another);
        for id in sharers {
            self.reissue(id, avoid);
        }
    }

    /// Issues a command again, by itself.
    fn reissue(&mut self, id: SessionId, avoid: Option<usize>) {
        let Some(session) = self.sessions.get_mut(id) else { return self.impossible(()) };
        let Phase::Running(running) = &mut session.phase else { return self.impossible(()) };
        let job = Job { sharing: Sharing::Alone, ..running.job };
        session.phase = Phase::Idle;
        self.stats.shared_reissued += 1;
        self.check_out_again(id, job, avoid);
    }

    /// Closes a shared lane whose command at the head nobody waits for any more; the server is
    /// told to end it.
    pub(crate) fn forsake(&mut self, lane_id: LaneId) {
        if self.snapshot.vars.kill_backend_connection_when_disconnect {
            self.order_kill(lane_id);
        }
        self.drop_lane(lane_id);
    }

    /// A session on a shared lane ends: its reply will be thrown away.
    pub(crate) fn leave_shared(&mut self, id: SessionId) {
        let Some(running) = self.running(id).filter(|running| running.shared) else { return };
        let lane_id = running.lane;
        // a call that panicked may have closed the lane and gone no further
        let Some(lane) = self.lanes.get_mut(lane_id) else { return };
        match lane.disown(id) {
            Some(Place::Gathered) if lane.depth() == 0 => self.rest(lane_id),
            // it may be paused for the sake of the one that leaves
            Some(Place::Head)
                if lane.shared.closing.is_some() && lane.sharers().next().is_none() =>
            {
                self.drop_lane(lane_id);
            }
            _ => {}
        }
    }

    /// A command on a shared lane is to end before its time, with this error. `false` when its
    /// reply has begun: then it has its lane to itself from now on, and its server can be told.
    pub(crate) fn interrupt_shared(&mut self, id: SessionId, error: &SqlError) -> bool {
        let Some(running) = self.running(id) else { return self.impossible(true) };
        let (job, lane_id) = (running.job, running.lane);
        if running.delivered {
            self.scatter(lane_id, Who::Behind);
            return false;
        }
        running.shared = false;
        let Some(lane) = self.lanes.get_mut(lane_id) else { return self.impossible(true) };
        match lane.disown(id) {
            Some(Place::Head) => {
                // a kill that comes late must hit no other session
                self.scatter(lane_id, Who::All);
                self.order_kill(lane_id);
                self.drop_lane(lane_id);
            }
            Some(Place::Gathered) if lane.depth() == 0 => self.rest(lane_id),
            _ => {}
        }
        self.fail_job(id, &job, error);
        true
    }

    /// A client does not take its reply: commands behind go elsewhere, so that the lane can be
    /// paused.
    pub(crate) fn make_way_for(&mut self, id: SessionId) {
        let Some(running) = self.running(id).filter(|running| running.shared) else { return };
        let (lane_id, job) = (running.lane, running.job);
        let is_head =
            self.lanes.get(lane_id).is_some_and(|lane| lane.place_of(id) == Some(Place::Head));
        if !is_head {
            return;
        }
        self.stats.shared_slow_clients += 1;
        let now_us = self.now_us;
        if let Some(past) = self.past_of(id, &job) {
            past.bar(now_us);
        }
        self.scatter(lane_id, Who::Behind);
    }

    /// Whether a session is the only one left on its shared lane, and at its head.
    pub(crate) fn has_way(&self, id: SessionId) -> bool {
        let Some(Phase::Running(running)) = self.sessions.get(id).map(|s| &s.phase) else {
            return false;
        };
        self.lanes.get(running.lane).is_some_and(|lane| {
            lane.shared.closing.is_some()
                && lane.place_of(id) == Some(Place::Head)
                && lane.sharers().all(|(other, _)| other == id)
        })
    }

    /// A shared lane broke: a session that got no byte yet is served elsewhere.
    pub(crate) fn lose_shared(&mut self, lane_id: LaneId, fault: LastFault, error_seq: Option<u8>) {
        let Some(lane) = self.lanes.get(lane_id) else { return self.impossible(()) };
        let server = lane.server.clone();
        let sharers: Vec<_> = lane.sharers().collect();
        self.stats.lanes_lost += 1;
        self.stats.shared_losses += 1;
        self.forget(lane_id);
        let error = error::lost_connection(&server.to_string(), &fault.to_string());
        for (id, sent) in sharers {
            self.note_served(id);
            let Some(running) = self.running(id) else { continue };
            running.shared = false;
            let (delivered, job) = (running.delivered, running.job);
            running.job.retries_left = job.retries_left.saturating_sub(u32::from(sent));
            let is_again = job.retries_left > 0 && self.is_repeatable(id, &job);
            let again = !delivered && (!sent || is_again);
            if let Some(session) = self.sessions.get(id) {
                let (server, connection) = (server.clone(), session.client.connection);
                self.orders.report(LogEvent::LaneLost { server, connection, retried: again });
            }
            match (delivered, error_seq) {
                _ if again => {
                    self.stats.retried += u64::from(sent);
                    self.reissue(id, Some(server.index));
                }
                (false, _) => self.fail_unserved(id, &job, &error),
                (true, Some(seq)) => self.fail_reply(id, seq, &error),
                (true, None) => self.close_session(id, None),
            }
        }
    }
}

impl Outcome {
    /// Whether the connection is not as it was before a read in autocommit.
    fn has_changed_connection(&self) -> bool {
        match self {
            Self::Done(end) => Self::changed(end),
            Self::Failed { several } => *several,
        }
    }
}

impl Session {
    /// Whether its command runs among commands of others.
    pub fn shares(&self) -> bool {
        matches!(&self.phase, Phase::Running(running) if running.shared)
    }
}
