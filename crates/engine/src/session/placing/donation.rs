//! Lanes that are given to other workers, whose clients wait while a server has as many connections
//! as it may, or lets no more in.
//!
//! A lane is only ever given, never taken. The worker that checks it in gives it when a client
//! elsewhere has waited longer than any here, or on request of a worker whose client waits. How the
//! socket gets there is the edge's business.

use std::sync::Arc;

use crate::ids::{HostgroupId, LaneId, SessionId};
use crate::lane::{Lane, Lease};
use crate::orders::{End, Order};
use crate::pool;
use crate::proxy::Proxy;

/// How much longer than one's own client another worker's must have waited to come first; so lanes
/// do not change workers for every query.
const FAIR_US: u64 = 10_000;

/// A lane on its way from one worker to another, with its permit: a worker that loses it gives the
/// permit back.
pub struct Parcel {
    lane: Option<Box<Lane>>,
    /// How many altered schemas its worker had seen.
    altered_schemas: u64,
}

impl Parcel {
    fn open(mut self) -> Box<Lane> {
        self.lane.take().expect("whoever opens a parcel has it no more")
    }
}

impl Drop for Parcel {
    fn drop(&mut self) {
        if let Some(lane) = &self.lane {
            pool::give_permits(&lane.server, &lane.account);
        }
    }
}

impl std::fmt::Debug for Parcel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Parcel").field(&self.lane.as_ref().map(|lane| lane.id)).finish()
    }
}

impl Proxy {
    /// A lane is free: another worker gets it where its client waits for longer than ours, else the
    /// first waiter that it fits, else it becomes idle.
    pub(crate) fn offer_lane(&mut self, lane_id: LaneId) {
        let Some(lane) = self.lanes.get(lane_id) else { return self.impossible(()) };
        let is_ours = matches!(lane.lease, Lease::Dialing(Some(_)));
        let may_stay = lane.may_be_passed_on() && !lane.marks.unsure;
        let need = match is_ours || !may_stay || self.overdue_on(lane_id).is_some() {
            true => None,
            false => self.worker_in_need(lane, u64::MAX),
        };
        match need {
            Some(worker) => self.give_lane(lane_id, worker),
            None => self.offer_lane_here(lane_id),
        }
    }

    /// It is worker `number` of so many.
    pub fn on_peers(&mut self, number: usize, workers: usize) {
        (self.number, self.workers) = (number, workers);
    }

    /// Another worker's client waits for a connection to a hostgroup, and may not open one; with an
    /// account, for one of that.
    pub fn on_want(&mut self, hostgroup: HostgroupId, worker: usize, of: Option<&str>) {
        if worker == self.number || !self.pool.has_no_waiters(hostgroup) {
            return;
        }
        let topology = self.snapshot.topology.clone();
        let mut servers = topology.hostgroup(hostgroup).iter();
        let idle = servers.find_map(|server| {
            let gives = server.state(self.now_us).is_serving() && server.group.board.waits(worker);
            let serves = |id: &&LaneId| {
                let lane = self.lanes.get(**id);
                of.is_none_or(|of| lane.is_some_and(|lane| *lane.account.name == *of))
            };
            self.pool.idle_of(server).iter().find(serves).copied().filter(|_| gives)
        });
        match idle {
            Some(lane) => self.give_lane(lane, worker),
            None => self.relieve_first(hostgroup),
        }
        self.work_off();
    }

    /// A lane comes from another worker; its socket will be known by the id that is returned.
    pub fn on_given(&mut self, parcel: Parcel) -> LaneId {
        let seen = parcel.altered_schemas;
        let mut lane = *parcel.open();
        lane.server = match self.snapshot.topology.find(lane.server.index) {
            Some(server) if Arc::ptr_eq(&server.gauge, &lane.server.gauge) => server.clone(),
            _ => Arc::new(lane.server.removed(&self.snapshot.topology)),
        };
        lane.marks.single_use |= self.snapshot.users.has_changed(&lane.account);
        if let Some(account) = self.snapshot.users.successor(&lane.account) {
            lane.account = account.clone();
        }
        self.follow_altered_schemas();
        if seen != self.altered_schemas {
            lane.leave_schema();
        }
        // ids are a worker's own
        lane.marks.warned_by = lane.marks.warned_by.map(|_| SessionId::NOBODY);
        let server = lane.server.clone();
        if let Some(counters) = self.server_stats.of(server.index) {
            counters.open += 1;
        }
        self.stats.lanes_given += 1;
        let id = self.lanes.insert_with(|id| {
            lane.id = id;
            lane
        });
        self.offer_lane_here(id);
        // what was told of this worker may be out of date
        self.post_wait(server.hostgroup);
        self.want(server.hostgroup);
        self.work_off();
        id
    }

    /// A lane on its way from here was lost, or its worker is told that it may dial.
    pub fn on_permit(&mut self, hostgroup: HostgroupId) {
        self.wake_first(hostgroup);
        self.work_off();
    }

    /// Asks the other workers for a lane on behalf of the session that waits first.
    pub(crate) fn want(&mut self, hostgroup: HostgroupId) {
        let first = self.pool.first_waiter(hostgroup);
        let waits = first.is_some_and(|first| self.has_no_dial(first));
        if self.workers > 1 && waits {
            let limited = first.filter(|first| self.is_limited(*first, hostgroup));
            let account = limited.and_then(|first| self.sessions.get(first)?.account.as_ref());
            let of = account.map(|account| account.name.clone());
            self.orders.push(Order::Want { hostgroup, worker: self.number, of });
        }
    }

    /// The lane that is given by an order.
    pub fn take_parcel(&mut self, lane: LaneId) -> Option<Parcel> {
        let at = self.parcels.iter().position(|(id, _)| *id == lane)?;
        Some(self.parcels.swap_remove(at).1)
    }

    /// Tells the other workers since when a session waits here for a hostgroup, or that none does.
    pub(crate) fn post_wait(&self, hostgroup: HostgroupId) {
        if self.workers > 1
            && let Some(server) = self.snapshot.topology.hostgroup(hostgroup).first()
        {
            let since_us = self.first_waits_since(hostgroup).unwrap_or(0);
            server.group.board.post(self.number, since_us);
        }
    }

    /// Since when the session that waits first for a hostgroup does so.
    fn first_waits_since(&self, hostgroup: HostgroupId) -> Option<u64> {
        let first = self.pool.first_waiter(hostgroup)?;
        self.sessions.get(first)?.waiting().map(|waiting| waiting.since_us.max(1))
    }

    /// The worker that is to have a free lane of which there may be no more: its client waits for
    /// longer than anybody here; where nobody does, since before `unless_since_us`.
    pub(crate) fn worker_in_need(&self, lane: &Lane, unless_since_us: u64) -> Option<usize> {
        if self.workers < 2 || !self.is_scarce(lane) {
            return None;
        }
        let server = &lane.server;
        let (worker, since_us) = server.group.board.longest_waiting(self.workers, self.number)?;
        let own_us = self.first_waits_since(server.hostgroup).unwrap_or(unless_since_us);
        (since_us.saturating_add(FAIR_US) < own_us).then_some(worker)
    }

    /// Gives a lane that no session uses to another worker.
    pub(crate) fn give_lane(&mut self, lane_id: LaneId, worker: usize) {
        self.with(End::Lane(lane_id), |proxy| proxy.pack(lane_id, worker));
    }

    fn pack(&mut self, lane_id: LaneId, worker: usize) {
        // the other worker knows texts by other keys
        while self.close_oldest(lane_id) {}
        let Some(lane) = self.lanes.get(lane_id) else { return self.impossible(()) };
        if !lane.stmts.is_empty() {
            return self.close_lane(lane_id);
        }
        self.pool.remove_idle(&lane.server, lane_id);
        let Some(mut lane) = self.lanes.remove(lane_id) else { return self.impossible(()) };
        self.warned.remove(lane.server.index, lane_id);
        let traffic = std::mem::take(&mut lane.traffic);
        if let Some(counters) = self.server_stats.of(lane.server.index) {
            counters.open = counters.open.saturating_sub(1);
            counters.ended.merge(&traffic);
        }
        (lane.lease, lane.times.alarm_us) = (Lease::Upkeep, 0);
        let hostgroup = lane.server.hostgroup;
        let altered_schemas = self.altered_schemas;
        let parcel = Parcel { lane: Some(Box::new(lane)), altered_schemas };
        self.parcels.push((lane_id, parcel));
        self.orders.push(Order::Give { lane: lane_id, hostgroup, worker });
    }
}
