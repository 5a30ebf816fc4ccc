//! What goes when something about an end panicked: its state cannot be trusted, so its session and
//! every lane with something of that session on it go at once.
//!
//! Everybody else stays: what was ordered for them before the panic is done, and commands that
//! shared a lane which goes are issued again, unless their answers have begun.

use crate::ids::{LaneId, SessionId};
use crate::lane::{Lane, Lease};
use crate::orders::{End, Order};
use crate::proxy::Proxy;
use crate::report::LogEvent;
use crate::session::running::kill::Errand;
use crate::session::running::shared::Who;
use crate::session::{Held, Phase, Session};

/// What the log says of a session that goes.
const PANICKED: &str = "a panic; see the lines before";

/// Sessions and lanes that go together.
struct Doomed {
    sessions: Vec<SessionId>,
    lanes: Vec<LaneId>,
}

impl Proxy {
    /// Something about this end panicked.
    pub(crate) fn abandon(&mut self, end: End) {
        let doomed = self.doomed_with(end);
        self.orders.drop_for(|end| doomed.has(end));
        for id in &doomed.sessions {
            self.leave_shared(*id);
        }
        for lane in &doomed.lanes {
            self.abandon_lane(*lane);
        }
        for id in &doomed.sessions {
            self.abandon_session(*id);
        }
    }

    /// Whatever a call has left half done goes: the ends that it was amid, sessions that nothing
    /// would lead on, and lanes whose session knows nothing of them. Whether it was amid any.
    pub(crate) fn abandon_half_done(&mut self) -> bool {
        let amid = std::mem::take(&mut self.amid);
        amid.iter().for_each(|end| self.abandon(*end));
        let strays = self.sessions.iter().filter(|(id, session)| self.is_stray(*id, session));
        let strays: Vec<_> = strays.map(|(id, _)| id).collect();
        strays.into_iter().for_each(|id| self.abandon(End::Client(id)));
        let strays = self.lanes.iter().filter(|(id, lane)| self.is_nobodys(*id, lane));
        let strays: Vec<_> = strays.map(|(id, _)| id).collect();
        strays.into_iter().for_each(|id| self.abandon(End::Lane(id)));
        self.abandon_parcels();
        let copies = self.sessions.iter().filter(|(_, session)| session.is_mirror()).count();
        self.mirrors.count_anew(copies);
        self.served.clear();
        !amid.is_empty()
    }

    /// Lanes that were to be given away, and no order says so.
    fn abandon_parcels(&mut self) {
        let is_ordered = |id: LaneId| {
            let gives = |order: &Order| matches!(order, Order::Give { lane, .. } if *lane == id);
            self.orders.list.iter().any(gives)
        };
        let lost = self.parcels.iter().map(|(id, _)| *id).filter(|id| !is_ordered(*id));
        let lost: Vec<_> = lost.collect();
        lost.into_iter().for_each(|id| self.abandon_lane(id));
    }

    /// What happens now is about this session.
    pub(crate) fn note_served(&mut self, id: SessionId) {
        if self.served.last() != Some(&id) {
            self.served.push(id);
        }
    }

    /// Whether a session waits for what will not come.
    fn is_stray(&self, id: SessionId, session: &Session) -> bool {
        let lease = |lane: LaneId| self.lanes.get(lane).map(|lane| lane.lease);
        let holds = |lane: LaneId| session.held.iter().any(|held| held.lane == lane);
        let is_led_on = match &session.phase {
            // a command is kept until its answer begins; where the end of one is is not known
            Phase::Idle => session.serving.kept.is_empty() && !self.served.contains(&id),
            Phase::Waiting(waiting) => {
                let dials = |lane| lease(lane) == Some(Lease::Dialing(Some(id)));
                self.pool.waiters(waiting.job.hostgroup).any(|waiter| waiter == id)
                    && waiting.dialing.is_none_or(dials)
            }
            Phase::Joined(joined) => self.is_in_line(id, joined),
            Phase::Running(running) if running.shared => {
                let lane = self.lanes.get(running.lane);
                lane.is_some_and(|lane| lane.place_of(id).is_some())
            }
            Phase::Running(running) => holds(running.lane),
            Phase::Relaying(lane) | Phase::Dialing { lane: Some(lane) } => {
                lease(*lane) == Some(Lease::Relay(id))
            }
            _ => true,
        };
        let is_its = |held: &Held| lease(held.lane) == Some(Lease::Exclusive(id));
        !(is_led_on && session.held.iter().all(is_its))
    }

    /// Whether a lane is leased to a session that does not know it, shared by nobody, or idle and
    /// nobody would come upon it, or upon something on its way there.
    fn is_nobodys(&self, id: LaneId, lane: &Lane) -> bool {
        let session = |id: SessionId| self.sessions.get(id);
        match lane.lease {
            Lease::Exclusive(of) => {
                session(of).is_none_or(|session| session.held.iter().all(|held| held.lane != id))
            }
            Lease::Relay(of) => session(of).is_none(),
            Lease::Shared => lane.depth() == 0,
            Lease::Freed => !self.dues.has(id),
            Lease::Dialing(_) | Lease::Upkeep => {
                lane.login.is_none() && lane.is_quiet() && !self.dues.has(id)
            }
            Lease::Idle => !lane.is_quiet() || !self.pool.idle_of(&lane.server).contains(&id),
            _ => false,
        }
    }

    fn doomed_with(&self, end: End) -> Doomed {
        let (mut sessions, mut lanes) = (Vec::new(), Vec::new());
        match end {
            End::Client(id) => sessions.push(id),
            End::Lane(id) => {
                lanes.push(id);
                if let Some(lane) = self.lanes.get(id) {
                    sessions.extend(leased(lane));
                    sessions.extend(lane.sharers().map(|(id, _)| id).filter(|id| self.begun(*id)));
                }
            }
        }
        let is_theirs = |lane: &Lane| leased(lane).is_some_and(|id| sessions.contains(&id));
        lanes.extend(self.lanes.iter().filter(|(_, lane)| is_theirs(lane)).map(|(id, _)| id));
        // a command that is not sent is not answered either: whoever is behind it would wait
        lanes.extend(self.orders.list.iter().filter_map(|order| match order {
            Order::SendKept { session, lane } | Order::SendData { session, lane }
                if sessions.contains(session) =>
            {
                Some(*lane)
            }
            _ => None,
        }));
        Doomed { sessions, lanes }
    }

    /// Whether the client got a part of its answer.
    fn begun(&self, id: SessionId) -> bool {
        self.sessions.get(id).is_some_and(Session::has_begun_reply)
    }

    fn abandon_lane(&mut self, id: LaneId) {
        self.scatter(id, Who::Unanswered);
        // it was about to be given away: its permit comes back with it
        if self.take_parcel(id).is_some() {
            return self.orders.push(Order::Close(End::Lane(id)));
        }
        let Some(lane) = self.lanes.get(id) else { return };
        let (at, lease) = (lane.spot(), lane.lease);
        self.orders.push(Order::Close(End::Lane(id)));
        self.forget(id);
        if let Lease::Errand(thread_id) = lease {
            self.errand_over(at, thread_id, Errand::Told);
        }
    }

    fn abandon_session(&mut self, id: SessionId) {
        let owes = self.owes_answer(id);
        self.stop_waiting(id);
        self.leave_joined(id);
        self.lead_no_more(id);
        self.forget_connection(id);
        let Some(session) = self.sessions.remove(id) else { return };
        self.pool.forget_everywhere(id);
        self.hand_over_watch(id);
        if session.is_mirror() {
            self.stats.mirrors_failed += u64::from(owes);
            self.copy_ended();
        } else {
            self.stats.killed += u64::from(owes);
            if let Some(account) = &session.account {
                account.leave();
            }
        }
        let connection = session.client.connection;
        let what = PANICKED.into();
        self.orders.report(LogEvent::Broken { connection, what });
        self.orders.push(Order::Close(End::Client(id)));
    }
}

impl Doomed {
    fn has(&self, end: End) -> bool {
        match end {
            End::Client(id) => self.sessions.contains(&id),
            End::Lane(id) => self.lanes.contains(&id),
        }
    }
}

/// The session that a lane is for.
fn leased(lane: &Lane) -> Option<SessionId> {
    match lane.lease {
        Lease::Exclusive(id) | Lease::Relay(id) | Lease::Dialing(Some(id)) => Some(id),
        _ => None,
    }
}
