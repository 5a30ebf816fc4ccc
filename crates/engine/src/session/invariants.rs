//! What must always hold between sessions, lanes, the pool, its queues and prepared texts.
//!
//! Checked by debug builds after each call about an end, for that end; by the simulator after each
//! turn, for the whole worker.

use std::collections::HashMap;

use crate::ids::{LaneId, SessionId};
use crate::lane::{Lane, Lease};
use crate::orders::End;
use crate::proxy::Proxy;
use crate::session::{Phase, Session};

impl Proxy {
    /// What must hold of an end, and of what it has, after a call about it.
    pub fn check_end(&self, end: End) {
        if !cfg!(debug_assertions) {
            return;
        }
        self.check_dues();
        match end {
            End::Client(id) => {
                let session = self.sessions.get(id);
                session.into_iter().for_each(|session| self.check_session(id, session));
            }
            End::Lane(id) => {
                let lane = self.lanes.get(id);
                lane.into_iter().for_each(|lane| self.check_lane(id, lane));
            }
        }
    }

    /// What must hold of all of the worker between two calls.
    pub fn check_invariants(&self) {
        for (id, session) in self.sessions.iter() {
            self.check_session(id, session);
        }
        for (id, lane) in self.lanes.iter() {
            self.check_lane(id, lane);
        }
        self.check_pool();
        self.check_queues();
        self.check_joined();
        self.texts.check_invariants();
        for (connection, id) in &self.connections {
            let session = self.sessions.get(*id);
            assert!(
                session.is_some_and(|session| session.client.connection.0 == *connection),
                "I-WORKER-1: an id that a client was told is its session's"
            );
        }
        self.check_counters();
        self.check_dues();
    }

    fn check_dues(&self) {
        let dues = &self.dues;
        assert!(dues.is_empty(), "I-WORKER-4: a call leaves nothing to be done: {dues:?}");
    }

    /// `queries = ok + err + killed + active`, of clients.
    fn check_counters(&self) {
        let clients = || self.sessions.iter().filter(|(_, session)| !session.is_mirror());
        assert_eq!(self.connections.len(), clients().count(), "I-WORKER-2: each client has an id");
        let active = clients().filter(|(id, _)| self.owes_answer(*id)).count() as u64;
        let (stats, ended) = (&self.stats, self.stats.ok + self.stats.err + self.stats.killed);
        // a panic may come between a count and what is counted
        assert!(
            stats.queries.abs_diff(ended + active) <= stats.panics,
            "I-WORKER-3: each command ends once: {active} have not, {stats:?}"
        );
    }

    fn check_session(&self, id: SessionId, session: &Session) {
        for held in &session.held {
            let lane = self.lanes.get(held.lane);
            assert!(lane.is_some(), "I-SESSION-1: a held lane exists");
            assert!(
                lane.is_none_or(|lane| lane.lease == Lease::Exclusive(id)),
                "I-SESSION-2: a held lane is leased to its session"
            );
            lane.into_iter().for_each(Lane::check_invariants);
        }
        let runs_on = match &session.phase {
            Phase::Running(running) => Some(running.lane),
            _ => None,
        };
        let used = session.held.iter().map(|held| held.lane).chain(runs_on);
        let presented = used.filter_map(|lane| self.lanes.get(lane)?.presented.as_deref());
        assert!(
            presented.into_iter().all(|it| it.client() == session.client.ip()),
            "I-SESSION-10: servers are told of no client whose the connection is not"
        );
        let has = |lane: LaneId| {
            let lease = self.lanes.get(lane).map(|lane| lane.lease);
            matches!(lease, Some(Lease::Exclusive(of) | Lease::Relay(of)) if of == id)
        };
        assert!(
            !matches!(session.phase, Phase::Idle) || session.input.paused_for.is_none_or(has),
            "I-SESSION-9: a client waits for the room of no lane that its session has not"
        );
        let holds = |lane: LaneId| session.held.iter().any(|held| held.lane == lane);
        match &session.phase {
            Phase::Running(running) if running.shared => {
                let lane = self.lanes.get(running.lane);
                let has_it =
                    |lane: &Lane| lane.lease == Lease::Shared && lane.place_of(id).is_some();
                assert!(
                    lane.is_some_and(has_it),
                    "I-SESSION-3: a command among others' is on the lane that it runs on"
                );
            }
            Phase::Running(running) => assert!(
                holds(running.lane),
                "I-SESSION-4: a command runs on a lane that its session holds"
            ),
            Phase::Waiting(waiting) => {
                let queue = self.pool.queue(waiting.job.hostgroup);
                let place = queue.and_then(|queue| queue.place_of(waiting.ticket));
                assert_eq!(place, Some(id), "I-SESSION-5: a command waits in its queue");
                let dialing = waiting.dialing.and_then(|lane| self.lanes.get(lane));
                assert_eq!(
                    dialing.map(|lane| lane.lease),
                    waiting.dialing.map(|_| Lease::Dialing(Some(id))),
                    "I-SESSION-6: what is dialed for a session knows so"
                );
            }
            Phase::Joined(joined) => assert!(
                self.is_in_line(id, joined),
                "I-SESSION-11: who waits for the answer to another's query is found by it"
            ),
            Phase::Relaying(lane) => assert_eq!(
                self.lanes.get(*lane).map(|lane| lane.lease),
                Some(Lease::Relay(id)),
                "I-SESSION-7: a lane that is relayed on is its session's"
            ),
            _ => {}
        }
        assert!(
            session.read_on.is_none_or(holds),
            "I-SESSION-8: a session waits for a reading on a lane that it holds"
        );
    }

    fn check_lane(&self, id: LaneId, lane: &Lane) {
        lane.check_invariants();
        let session = match lane.lease {
            Lease::Exclusive(session) | Lease::Relay(session) => session,
            Lease::Idle => {
                let is_there = self.pool.idle_of(&lane.server).contains(&id);
                return assert!(is_there, "I-LANE-6: an idle lane is in the pool");
            }
            Lease::Shared => {
                let is_there = self.pool.shared_of(&lane.server).contains(&id);
                return assert!(is_there, "I-LANE-7: a shared lane is in the pool");
            }
            _ => return,
        };
        let session = self.sessions.get(session);
        let holds = |session: &Session| match lane.lease {
            Lease::Relay(_) => matches!(
                session.phase,
                Phase::Relaying(on) | Phase::Dialing { lane: Some(on) } if on == id
            ),
            _ => session.held.iter().any(|held| held.lane == id),
        };
        assert!(
            session.is_some_and(holds),
            "I-LANE-8: a lane that is a session's is held by it: {:?}, {:?}",
            lane.lease,
            session.map(|session| &session.phase)
        );
    }

    /// What the pool has is there, once, and nobody's.
    fn check_pool(&self) {
        let mut lists: HashMap<LaneId, Lease> = HashMap::new();
        for (server, idle, shared) in self.pool.lists() {
            let idle = idle.iter().map(|lane| (*lane, Lease::Idle));
            let all = idle.chain(shared.iter().map(|lane| (*lane, Lease::Shared)));
            for (id, lease) in all {
                let lane = self.lanes.get(id);
                assert_eq!(
                    lane.map(|lane| (lane.lease, lane.server.index)),
                    Some((lease, server)),
                    "I-POOL-1: a lane in the pool exists, and is what the list says"
                );
                assert_eq!(lists.insert(id, lease), None, "I-POOL-2: a lane is in one list, once");
            }
        }
    }

    /// Whoever is found by the query of another waits for its answer.
    fn check_joined(&self) {
        let waits =
            |(_, session): &(SessionId, &Session)| matches!(session.phase, Phase::Joined(_));
        assert_eq!(
            self.joined.len(),
            self.sessions.iter().filter(waits).count(),
            "I-QUEUE-4: whoever is found by another's query waits for its answer"
        );
    }

    /// Whoever stands in a queue waits, there and nowhere else.
    fn check_queues(&self) {
        let mut waiting = 0;
        for (hostgroup, queue) in self.pool.queues() {
            for (ticket, id) in queue.tickets() {
                waiting += 1;
                let place = self.sessions.get(id).and_then(Session::waiting);
                assert_eq!(
                    place.map(|waiting| (waiting.job.hostgroup, waiting.ticket)),
                    Some((hostgroup, ticket)),
                    "I-QUEUE-2: whoever stands in a queue waits"
                );
            }
        }
        assert_eq!(waiting, self.pool.waiting(), "I-QUEUE-3: all who wait are counted");
    }
}

#[cfg(test)]
mod tests {
    use crate::ids::SessionId;
    use crate::lane::Lease;
    use crate::proxy::Proxy;
    use crate::session::placing::failed_dial::tests::waiting;

    /// What is said where a worker with a client that waits for a dial is broken so.
    fn said_of(broken: impl FnOnce(&mut Proxy, SessionId)) -> String {
        let (mut proxy, id) = waiting(|_| ());
        proxy.stats.queries = 1;
        proxy.check_invariants();
        broken(&mut proxy, id);
        let check = std::panic::AssertUnwindSafe(|| proxy.check_invariants());
        let panic = std::panic::catch_unwind(check).expect_err("it is noticed");
        let said = panic.downcast_ref::<String>().map(String::as_str);
        let said = said.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or_default();
        said.split(": ").find(|word| word.starts_with("I-")).unwrap_or(said).to_owned()
    }

    fn lend(proxy: &mut Proxy, lease: Lease) {
        let all = proxy.lanes.keys();
        all.iter().for_each(|id| proxy.lanes.get_mut(*id).expect("it is there").lease = lease);
    }

    #[test]
    fn what_does_not_fit_together_is_noticed() {
        assert_eq!(said_of(|proxy, _| proxy.stats.queries += 1), "I-WORKER-3");
        assert_eq!(said_of(|proxy, _| proxy.connections.clear()), "I-WORKER-2");
        assert_eq!(said_of(|proxy, id| proxy.pool.forget_everywhere(id)), "I-SESSION-5");
        assert_eq!(said_of(|proxy, _| lend(proxy, Lease::Dialing(None))), "I-SESSION-6");
        assert_eq!(said_of(|proxy, id| drop(proxy.sessions.remove(id))), "I-QUEUE-2");
        let gone = |proxy: &mut Proxy, id| {
            proxy.pool.forget_everywhere(id);
            proxy.sessions.remove(id);
        };
        assert_eq!(said_of(gone), "I-WORKER-1");
        for (lease, said) in [(Lease::Idle, "I-LANE-6"), (Lease::Shared, "I-LANE-5")] {
            let lent = |proxy: &mut Proxy, id| {
                gone(proxy, id);
                lend(proxy, lease);
            };
            assert_eq!(said_of(lent), said);
        }
        let held = |proxy: &mut Proxy, id| {
            gone(proxy, id);
            lend(proxy, Lease::Exclusive(id));
        };
        assert_eq!(said_of(held), "I-LANE-8");
    }
}
