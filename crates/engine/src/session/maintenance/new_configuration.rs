//! The change of the configuration while clients are served: what becomes of sessions, connections
//! and waiting sessions, when another snapshot comes into force on a worker.
//!
//! It happens between two events, so that every decision sees one configuration; what was decided
//! about a query before, its hostgroup and limits, goes with the query. Nothing here looks at what
//! is the same in both.

use std::sync::Arc;

use crate::holds::Holds;
use crate::ids::LaneId;
use crate::lane::{Held, Lane, Lease};
use crate::orders::End;
use crate::proxy::Proxy;
use crate::rules::RuleScratch;
use crate::session::{Phase, Session};
use crate::snapshot::Snapshot;
use crate::topology::{LastFault, Stand, Status, Topology};
use crate::users::Users;

impl Proxy {
    /// Another configuration is in force from now on, made to follow the one that was. Returns what
    /// was remembered for its rules, if they changed: letting go of it may take long.
    ///
    /// After a panic the call is to be made again, with the same `before`: what it has done stays
    /// done. The configuration itself changes first, so decisions follow it from then on, even if
    /// nothing else of this call should ever succeed.
    pub fn on_snapshot(&mut self, before: &Snapshot, after: &Arc<Snapshot>) -> Option<RuleScratch> {
        self.snapshot = after.clone();
        let scratch = self.processor.adopt(after);
        if !Arc::ptr_eq(&before.vars, &after.vars) {
            self.mirrors.adopt(&after.vars);
            self.query_stats.adopt(&after.vars);
        }
        match after.vars.follow_redirects {
            true => self.redirects.adopt(&after.topology),
            false => self.redirects.clear(),
        }
        if !Arc::ptr_eq(&before.users, &after.users) {
            self.adopt_users();
        }
        if !Arc::ptr_eq(&before.topology, &after.topology) {
            self.adopt_topology(&before.topology, &after.topology);
            self.relieve_all();
        } else if !Arc::ptr_eq(&before.hostgroups, &after.hostgroups)
            || !Arc::ptr_eq(&before.held, &after.held)
        {
            self.wake_all();
            self.relieve_all();
        }
        self.multiplex_again();
        self.work_off();
        scratch
    }

    /// Connections that sessions kept because multiplexing was off are any session's, where it is
    /// on again.
    fn multiplex_again(&mut self) {
        let snapshot = &self.snapshot;
        let is_over = |held: &Held| {
            held.why.intersects(Holds::MULTIPLEXING_OFF)
                && snapshot.hostgroups.multiplexing(held.hostgroup, &snapshot.vars)
        };
        let mut over = Vec::new();
        for (id, session) in self.sessions.iter() {
            // there the end of the command sees to it
            let runs_on = match &session.phase {
                Phase::Running(running) => Some(running.lane),
                _ => None,
            };
            let held = session.held.iter().filter(|held| runs_on != Some(held.lane));
            over.extend(held.filter(|held| is_over(held)).map(|held| (id, held.lane)));
        }
        self.with_each(
            over,
            |(id, _)| End::Client(id),
            |proxy, (id, lane)| {
                let held = proxy.sessions.get_mut(id).map(|session| session.held.iter_mut());
                if let Some(held) = held.and_then(|mut held| held.find(|held| held.lane == lane)) {
                    held.why.set(Holds::MULTIPLEXING_OFF, false);
                }
                proxy.let_go(id, lane);
            },
        );
    }

    /// Sessions and connections go on with their accounts as they are now. A connection that was
    /// logged in with a password of before, or for an account that is no more, serves nobody else.
    fn adopt_users(&mut self) {
        let users = self.snapshot.users.clone();
        self.keep_parted(&users);
        // another account of that name may not use them
        self.schemas_seen.clear();
        let changed = self.lanes_where(|lane| users.has_changed(&lane.account));
        // whoever dials anew for one of these does so as the account is now
        if !self.snapshot.vars.kill_sessions_of_changed_users {
            self.renew_accounts(&users);
        }
        self.with_each(changed, End::Lane, Self::leave_account_of);
        if self.snapshot.vars.kill_sessions_of_changed_users {
            self.end_sessions_of_changed(&users);
        }
        self.renew_accounts(&users);
    }

    /// Sessions and lanes have their accounts as these are now.
    fn renew_accounts(&mut self, users: &Users) {
        let sessions = self.sessions.values_mut().filter_map(|session| session.account.as_mut());
        let lanes = self.lanes.values_mut().map(|lane| &mut lane.account);
        for account in sessions.chain(lanes) {
            if let Some(next) = users.successor(account)
                && !Arc::ptr_eq(next, account)
            {
                *account = next.clone();
            }
        }
    }

    /// Sessions whose transactions are to be one from now on go on as they began until the one that
    /// is open, or that a command is about to open, is over.
    fn keep_parted(&mut self, users: &Users) {
        for session in self.sessions.values_mut() {
            let account = session.account.as_deref().filter(|it| !it.transaction_persistent);
            let next = account.and_then(|account| users.successor(account));
            let is_under_way = !session.held.is_empty() || !matches!(session.phase, Phase::Idle);
            session.stays_parted |=
                is_under_way && next.is_some_and(|next| next.transaction_persistent);
        }
    }

    /// The account that a connection was logged in with is not to be used any more. The connection
    /// may be gone: whoever waited for another may have replaced it.
    fn leave_account_of(&mut self, id: LaneId) {
        let Some(lane) = self.lanes.get_mut(id) else { return };
        match lane.lease {
            Lease::Idle | Lease::Freed | Lease::Upkeep => self.close_lane(id),
            Lease::Dialing(_) => self.cancel_dial(id),
            Lease::Shared => {
                lane.close_unfit();
                lane.marks.single_use = true;
            }
            Lease::Exclusive(_) | Lease::Clearing(_) => lane.marks.single_use = true,
            Lease::Relay(_) | Lease::Errand(_) => {}
        }
    }

    /// The connections to servers that are open now, of a user or of all, serve nobody but whoever
    /// has them. Tells how many they are.
    pub fn flush_connections(&mut self, user: Option<&str>) -> u64 {
        let is_meant = |lane: &Lane| user.is_none_or(|user| lane.account.is_called(user));
        let meant = self.lanes_where(is_meant);
        let count = meant.len() as u64;
        self.with_each(meant, End::Lane, Self::leave_account_of);
        self.schemas_seen.clear();
        self.work_off();
        count
    }

    fn end_sessions_of_changed(&mut self, users: &Users) {
        let goes = |session: &Session| {
            let account = session.account.as_deref();
            account.is_some_and(|account| users.has_changed(account)) && !session.is_mirror()
        };
        let sessions: Vec<_> =
            self.sessions.iter().filter(|(_, s)| goes(s)).map(|(id, _)| id).collect();
        self.with_each(sessions, End::Client, |proxy, id| proxy.close_session(id, None));
    }

    fn adopt_topology(&mut self, before: &Topology, after: &Topology) {
        self.pool.adopt(before, after);
        for server in after.servers() {
            let is_known = before.find(server.index).is_some()
                || self.lanes.values_mut().any(|lane| lane.server.index == server.index);
            if !is_known {
                self.server_stats.forget(server.index);
                self.pool.health.lift(server.index);
            }
        }
        // another server may not have them
        self.schemas_seen.clear();
        self.defaults.clear();
        self.unmet.clear();
        for lane in self.lanes.values_mut() {
            match after.find(lane.server.index) {
                Some(server) => lane.server = server.clone(),
                // what is known of it ends what runs on it, whichever hostgroup it is known in
                None => lane.server = Arc::new(lane.server.removed(after)),
            }
        }
        let left = self.lanes_where(|lane| lane.server.is_left());
        self.with_each(left, End::Lane, Self::leave_server);
        self.close_surplus(after);
        self.wake_all();
    }

    /// The server of a connection is not to be used any more. The connection may be gone: the end
    /// of one that a session has can be the end of its others.
    fn leave_server(&mut self, id: LaneId) {
        let Some(lane) = self.lanes.get_mut(id) else { return };
        let cut = lane.server.ends_commands();
        let fault = match (lane.server.status, lane.server.stand) {
            (Status::OfflineHard, _) => LastFault::Offline,
            (_, Stand::Outdone) => LastFault::Outdone,
            _ => LastFault::Unfit,
        };
        match lane.lease {
            Lease::Idle | Lease::Freed | Lease::Upkeep => self.close_lane(id),
            Lease::Dialing(_) => self.cancel_dial(id),
            _ if cut => self.lose_lane(id, fault),
            Lease::Shared => lane.close_unfit(),
            Lease::Exclusive(_) | Lease::Clearing(_) | Lease::Relay(_) | Lease::Errand(_) => {}
        }
    }

    /// Closes idle connections where there are more than may be.
    fn close_surplus(&mut self, topology: &Topology) {
        for server in topology.servers() {
            while server.gauge.used() > server.max_connections
                && let Some(longest_idle) = self.pool.idle_of(server).first().copied()
            {
                self.with_each([longest_idle], End::Lane, |proxy, id| proxy.close_lane(id));
            }
        }
    }

    fn lanes_where(&self, is_meant: impl Fn(&Lane) -> bool) -> Vec<LaneId> {
        self.lanes.iter().filter(|(_, lane)| is_meant(lane)).map(|(id, _)| id).collect()
    }
}
