//! What must always hold between a session and its lanes; checked after each call about a session,
//! in debug builds and in the simulator.

use crate::ids::SessionId;
use crate::lane::{Lane, Lease};
use crate::proxy::Proxy;
use crate::session::Phase;

impl Proxy {
    /// What must always hold of a session and its lanes.
    pub fn check_invariants(&self, id: SessionId) {
        if !cfg!(debug_assertions) {
            return;
        }
        let Some(session) = self.sessions.get(id) else { return };
        for held in &session.held {
            let lane = self.lanes.get(held.lane);
            debug_assert!(lane.is_some(), "I-SESSION-1: a held lane exists");
            if let Some(lane) = lane {
                lane.check_invariants();
                debug_assert_eq!(
                    lane.lease,
                    Lease::Exclusive(id),
                    "I-SESSION-2: a held lane is leased to its session"
                );
            }
        }
        if let Some(read) = session.read_on {
            debug_assert!(
                session.held.iter().any(|held| held.lane == read),
                "I-SESSION-4: a session waits for a reading on a lane that it holds"
            );
        }
        if let Phase::Running(running) = &session.phase {
            let lane = self.lanes.get(running.lane);
            let shares = |lane: &Lane| lane.lease == Lease::Shared && lane.place_of(id).is_some();
            debug_assert!(
                match running.shared {
                    true => lane.is_some_and(shares),
                    false => session.held.iter().any(|held| held.lane == running.lane),
                },
                "I-SESSION-3: a command runs on a lane that the session holds or shares"
            );
        }
    }
}
