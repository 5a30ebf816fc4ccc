//! What a call about one end leaves to be done about others. It is done when that call is over. So
//! no method of the proxy leads back to itself. Nor is what a server sent behind its reply taken
//! for the reply to the next session on that lane.

use std::collections::VecDeque;
use std::sync::Arc;

use cache::Flight;

use crate::ids::{HostgroupId, LaneId};
use crate::lane::Lease;
use crate::proxy::Proxy;

/// What is to be done, first come, first served; nothing between two calls.
#[derive(Default, Debug)]
pub(crate) struct Dues {
    /// The first, where that is a lane: hardly any call leaves more.
    lane: Option<LaneId>,
    others: VecDeque<Due>,
}

#[derive(Debug)]
enum Due {
    /// A lane is free: a session that waits gets it.
    Lane(LaneId),
    /// The same of one that is new.
    Opened(LaneId),
    /// The same of one that the proxy itself had asked something.
    Tended(LaneId),
    /// A lane has gone: there may be another one to this hostgroup.
    Room(HostgroupId),
    /// A copy of a query has ended: another one may set off.
    Copies,
    /// What sessions of this worker wait for has landed.
    Landed(Arc<Flight>),
}

impl Dues {
    /// Whether nothing is left to be done.
    pub(crate) fn is_empty(&self) -> bool {
        self.lane.is_none() && self.others.is_empty()
    }

    /// Whether a lane is to be offered.
    pub(crate) fn has(&self, lane: LaneId) -> bool {
        let is_it = |due: &Due| match due {
            Due::Lane(id) | Due::Opened(id) | Due::Tended(id) => *id == lane,
            Due::Room(_) | Due::Copies | Due::Landed(_) => false,
        };
        self.lane == Some(lane) || self.others.iter().any(is_it)
    }

    /// A lane is new, and can be used.
    pub(crate) fn opened(&mut self, lane: LaneId) {
        self.others.push_back(Due::Opened(lane));
    }

    /// A lane has answered what the proxy itself had asked.
    pub(crate) fn tended(&mut self, lane: LaneId) {
        self.others.push_back(Due::Tended(lane));
    }

    /// A hostgroup has room for another lane.
    pub(crate) fn room(&mut self, hostgroup: HostgroupId) {
        self.others.push_back(Due::Room(hostgroup));
    }

    /// What sessions wait for has landed.
    pub(crate) fn landed(&mut self, flight: Arc<Flight>) {
        self.others.push_back(Due::Landed(flight));
    }

    /// Another copy may set off.
    pub(crate) fn copies(&mut self) {
        self.others.push_back(Due::Copies);
    }
}

impl Proxy {
    /// No session has this lane any more: it is offered when the call is over.
    pub(crate) fn free_lane(&mut self, lane_id: LaneId) {
        let Some(lane) = self.lanes.get_mut(lane_id) else { return self.impossible(()) };
        lane.lease = Lease::Freed;
        lane.stmts.keep_no_more();
        match self.dues.is_empty() {
            true => self.dues.lane = Some(lane_id),
            false => self.dues.others.push_back(Due::Lane(lane_id)),
        }
    }

    /// Does what a call has left to be done; the last thing of each. What is done may leave more.
    #[inline]
    pub(crate) fn work_off(&mut self) {
        while let Some(lane) = self.dues.lane.take() {
            self.offer_freed(lane);
        }
        if !self.dues.others.is_empty() {
            self.work_off_others();
        }
    }

    #[cold]
    fn work_off_others(&mut self) {
        while let Some(due) = self.dues.others.pop_front() {
            match due {
                Due::Lane(lane) => self.offer_freed(lane),
                Due::Opened(lane) => self.offer_opened(lane),
                Due::Tended(lane) => self.offer_tended(lane),
                Due::Room(hostgroup) => self.wake_first(hostgroup),
                Due::Copies => self.set_off_copies(),
                Due::Landed(flight) => self.tell_landed(&flight),
            }
            while let Some(lane) = self.dues.lane.take() {
                self.offer_freed(lane);
            }
        }
    }

    /// Offers a new lane, unless the call has lost it since: it serves the session that waits
    /// first.
    fn offer_opened(&mut self, id: LaneId) {
        let Some(lane) = self.lanes.get(id) else { return };
        let hostgroup = lane.server.hostgroup;
        self.offer_lane(id);
        // a session that was not let dial because too many did may try
        self.wake_first(hostgroup);
    }

    /// The same of one that is any session's again.
    fn offer_tended(&mut self, id: LaneId) {
        let Some(lane) = self.lanes.get(id) else { return };
        let used_us = lane.times.used_us;
        self.offer_lane(id);
        // a test is no use: lanes that are unused for longest go first
        if let Some(lane) = self.lanes.get_mut(id).filter(|lane| lane.is_idle()) {
            lane.times.used_us = used_us;
            let server = lane.server.clone();
            let lanes = &self.lanes;
            self.pool.sort_idle(&server, |id| lanes.get(id).map_or(0, |lane| lane.times.used_us));
        }
    }

    /// Offers a lane, unless the call has lost it since.
    fn offer_freed(&mut self, id: LaneId) {
        if self.lanes.get(id).is_some_and(|lane| lane.lease == Lease::Freed) {
            self.offer_lane(id);
        }
    }
}
