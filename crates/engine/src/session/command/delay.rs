//! Queries that a rule, an annotation or `mysql-default_query_delay` makes wait before they run.

use crate::ids::SessionId;
use crate::proxy::Proxy;
use crate::session::placing::destination::Placing;
use crate::session::{Job, Phase};

/// Waiting for the time to set off.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Delayed {
    pub job: Job,
    placing: Option<Placing>,
    until_us: u64,
}

impl Proxy {
    /// Sets off with a kept command, now or after a while; without a placing, in the hostgroup of
    /// its job and nowhere else. In line, since a job is large to hand on.
    #[inline]
    pub(crate) fn begin_after(
        &mut self,
        id: SessionId,
        delay_ms: u64,
        job: Job,
        placing: Option<Placing>,
    ) {
        if delay_ms == 0 {
            if job.fills && self.joins(id, &job, placing) {
                return;
            }
            return self.begin_with(id, job, placing);
        }
        self.delay(id, delay_ms, job, placing);
    }

    #[cold]
    fn delay(&mut self, id: SessionId, delay_ms: u64, job: Job, placing: Option<Placing>) {
        self.stats.delayed += 1;
        let until_us = self.now_us.saturating_add(delay_ms.saturating_mul(1000));
        if let Some(session) = self.sessions.get_mut(id) {
            session.phase = Phase::Delayed(Delayed { job, placing, until_us });
        }
        self.wake(id, until_us);
    }

    /// Sets off with a kept command.
    #[inline]
    pub(crate) fn begin_with(&mut self, id: SessionId, job: Job, placing: Option<Placing>) {
        match placing {
            Some(placing) => self.begin(id, job, placing),
            None => self.check_out(id, job, None),
        }
    }

    /// Sets off with a delayed command when its time has come.
    pub(crate) fn check_delay(&mut self, id: SessionId) {
        let Some(session) = self.sessions.get_mut(id) else { return self.impossible(()) };
        let Phase::Delayed(delayed) = &session.phase else { return self.impossible(()) };
        let Delayed { job, placing, until_us } = *delayed;
        if self.now_us < until_us {
            return self.wake(id, until_us);
        }
        session.phase = Phase::Idle;
        // what it had went with its server while it waited
        if let Some(error) = session.last.lost.take() {
            self.fail_job(id, &job, &error);
            return self.close_session(id, None);
        }
        self.begin_with(id, job, placing);
    }
}
