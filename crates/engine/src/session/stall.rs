//! What happens when the reply at the head of a shared lane does not come: those behind leave, and
//! whoever is to blame runs alone for a while.

use crate::ids::LaneId;
use crate::lane::{Lane, Lease, Owner};
use crate::proxy::Proxy;
use crate::session::share::Who;

impl Proxy {
    /// A timer of a shared lane has fired.
    pub(crate) fn check_progress(&mut self, lane_id: LaneId) {
        let Some(lane) = self.lanes.get_mut(lane_id) else { return };
        lane.alarm_us = 0;
        if lane.lease != Lease::Shared || lane.in_flight() == 0 {
            return;
        }
        let stall_us = self.snapshot.vars.pipeline_stall_us;
        let due_us = lane.heard_us.saturating_add(stall_us);
        if self.now_us < due_us {
            return self.set_alarm(lane_id, due_us);
        }
        let head = lane.head().map(|(head, _)| head.owner);
        let holds_up = lane.sharers().nth(1).is_some();
        self.stats.shared_stalls += u64::from(!lane.closing);
        let Some(Owner::Session(id)) = head else {
            self.scatter(lane_id, Who::All);
            return self.forsake(lane_id);
        };
        let (now_us, job) = (self.now_us, self.running(id).map(|running| running.job));
        if holds_up
            && !self.stands_still(lane_id)
            && let Some(past) = job.and_then(|job| self.past_of(id, &job))
        {
            past.held_up(now_us);
        }
        self.scatter(lane_id, Who::Behind);
        self.set_alarm(lane_id, now_us.saturating_add(stall_us));
    }

    /// Whether the server of a shared lane stands still: others wait for it too, and it says
    /// nothing to anybody. Then it is not the fault of what is at the head.
    fn stands_still(&self, lane_id: LaneId) -> bool {
        let Some(index) = self.lanes.get(lane_id).map(|lane| lane.server.index) else {
            return false;
        };
        let others = || {
            let serves = |lane: &Lane| lane.server.index == index && lane.login.is_none();
            self.lanes.iter().filter(move |(id, lane)| *id != lane_id && serves(lane))
        };
        let since_us = self.now_us.saturating_sub(self.snapshot.vars.pipeline_stall_us / 2);
        others().any(|(_, lane)| lane.in_flight() > 0)
            && others().all(|(_, lane)| lane.heard_us < since_us)
    }
}
