//! A command that is kept sets off: to the lane that its session is tied to, or to a checkout.
//!
//! Decides what ends on the session's other lanes before that. Which place it is, `destination` and
//! `transactions` say; which lane a hostgroup gives, `checkout`.

use sql::Effects;

use crate::holds::Holds;
use crate::ids::{HostgroupId, SessionId};
use crate::lane::Held;
use crate::proxy::Proxy;
use crate::session::placing::destination::{Destination, Placing, place};
use crate::session::{Job, Session, What};

impl Proxy {
    /// Finds the lane or the hostgroup for a kept command and sets off.
    pub(crate) fn begin(&mut self, id: SessionId, mut job: Job, mut placing: Placing) {
        // which server's logs are read is no matter of writes, nor is the check of a login
        if !matches!(job.what, What::Replication | What::LoginSchema) {
            self.with_its_writes(id, job.what, &mut placing);
        }
        self.with_its_read(id, &mut placing);
        let Some(session) = self.sessions.get(id) else { return self.impossible(()) };
        let is_traced =
            |held: &Held| self.lanes.get(held.lane).is_some_and(|lane| lane.marks.traced);
        placing.fresh |= session.held.iter().any(is_traced) && session.reads_unset_variable(&job);
        placing.fresh |= self.is_held_back(session, placing.destination);
        placing.fresh |= self.holds_laggard(session, &job);
        let place = place(session, &placing);
        if let Some(error) = self.conflict(id, (&job, &placing), place) {
            return self.fail_job(id, &job, &error);
        }
        let stays = match place {
            Destination::Lane(lane) => Some(lane),
            Destination::Hostgroup(_) => None,
        };
        job.changes = placing.conduct.changes();
        let Some(session) = self.sessions.get_mut(id) else { return self.impossible(()) };
        session.seen.note_if(placing.conduct.shows_changes());
        if session.held.len() > usize::from(stays.is_some()) {
            self.end_elsewhere(id, &job, stays);
        }
        self.release_until_next(id, stays, &job);
        match place {
            Destination::Lane(lane) => {
                if let Some(session) = self.sessions.get(id)
                    && let Some(held) = session.held.iter().find(|held| held.lane == lane)
                {
                    job.hostgroup = held.hostgroup;
                    self.stats.pinned_queries += u64::from(held.why.intersects(Holds::PINNING));
                }
                self.run(id, lane, job);
            }
            Destination::Hostgroup(hostgroup) => {
                job.hostgroup = hostgroup;
                job.needs_insert_id |= job.effects.intersects(Effects::SHOW_WARNINGS);
                self.check_out(id, job, None);
            }
        }
    }

    /// Whether a command for that hostgroup, or the default one, waits though its session has a
    /// connection there: the hostgroup is held, and no transaction is open.
    fn is_held_back(&self, session: &Session, hostgroup: Option<HostgroupId>) -> bool {
        if self.snapshot.held.is_empty() {
            return false;
        }
        let default = || session.account.as_ref().map(|account| account.default_hostgroup);
        hostgroup.or_else(default).is_some_and(|it| self.snapshot.holds_back(it))
            && session.held_for(Holds::TRANSACTION).is_none()
    }
}
