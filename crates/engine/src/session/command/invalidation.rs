//! Answers of the cache that end with a change of what they read, as the servers' logs tell of it.
//!
//! Decides when there are such answers, and what they rest on. Who follows the logs is not known
//! here: `cache::Followed` says whether anybody does.

use std::sync::Arc;

use cache::{Basis, Followed};

use crate::caching::{Question, Uncached};
use crate::ids::{HostgroupId, SessionId};
use crate::proxy::Proxy;
use crate::route::Route;
use crate::rules::Invalidation;

impl Proxy {
    /// The changes that an answer has to be told before; `None` where its time alone ends it.
    #[inline]
    pub(crate) fn invalidated_by(
        &mut self,
        id: SessionId,
        route: &Route,
    ) -> Result<Option<Arc<Followed>>, Uncached> {
        let Some(session) = self.sessions.get(id) else { return self.impossible(Ok(None)) };
        let Some(account) = &session.account else { return self.impossible(Ok(None)) };
        let hostgroup = route.destination.unwrap_or(account.default_hostgroup);
        let of_hostgroup = || self.snapshot.hostgroups.invalidation(hostgroup);
        match route.caching.invalidation.or_else(of_hostgroup) {
            None => Ok(None),
            Some(invalidation) => self.followed_now(id, hostgroup, invalidation),
        }
    }

    #[inline(never)]
    fn followed_now(
        &mut self,
        id: SessionId,
        hostgroup: HostgroupId,
        invalidation: Invalidation,
    ) -> Result<Option<Arc<Followed>>, Uncached> {
        let followed = self.followed(hostgroup);
        let Some(session) = self.sessions.get_mut(id) else { return self.impossible(Ok(None)) };
        let seen = &mut session.seen;
        let pulse = seen.pulse(self.offer.cache.follows());
        let stands = followed.stands() && followed.is_good_at(self.now_us);
        if stands && followed.has_passed(pulse) {
            return Ok(Some(followed));
        }
        seen.note_past();
        match (stands, invalidation) {
            (true, _) => Err(Uncached::OwnWrites),
            (false, Invalidation::BinlogOrTtl) => Ok(None),
            (false, Invalidation::Binlog) => Err(Uncached::Unfollowed),
        }
    }

    /// The changes of a hostgroup.
    fn followed(&mut self, hostgroup: HostgroupId) -> Arc<Followed> {
        if let Some((_, followed)) = self.followed.iter().find(|(of, _)| *of == hostgroup) {
            return followed.clone();
        }
        let followed = self.offer.cache.follows().of(hostgroup.0);
        self.followed.push((hostgroup, followed.clone()));
        followed
    }

    /// Since when an answer must have been asked for that a session is told, in microseconds; 0 for
    /// any.
    pub(crate) fn seen_until_us(&mut self, id: SessionId, followed: &Followed) -> u64 {
        let Some(session) = self.sessions.get_mut(id) else { return self.impossible(0) };
        session.seen.until_us(followed, self.offer.cache.follows(), self.now_us)
    }

    /// What an answer to a question rests on that is about to be asked.
    pub(crate) fn basis(
        &mut self,
        id: SessionId,
        question: &Question<'_>,
        followed: &Arc<Followed>,
    ) -> Result<Basis, Uncached> {
        let Some(session) = self.sessions.get(id) else {
            return self.impossible(Err(Uncached::Session));
        };
        let tables = question.tables(&session.want).ok_or(Uncached::Tables)?;
        let basis = Basis::note(followed, tables.into_iter());
        if basis.is_none() {
            self.note_read_past(id);
        }
        basis.ok_or(Uncached::Unfollowed)
    }

    /// A session was told, or will be, what is not in the cache.
    pub(crate) fn note_read_past(&mut self, id: SessionId) {
        match self.sessions.get_mut(id) {
            Some(session) => session.seen.note_past(),
            None => self.impossible(()),
        }
    }
}
