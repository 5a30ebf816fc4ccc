//! Queries that a rule, an annotation or `mysql-default_query_delay` makes wait before they run.

use crate::ids::SessionId;
use crate::proxy::Proxy;
use crate::session::placing::destination::Placing;
use crate::session::{Job, Phase};

/// Waiting for the time to set off.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Delayed {
    pub job: Job,
    to: To,
    until_us: u64,
}

/// How a command finds its lane.
#[derive(Clone, Copy, Debug)]
enum To {
    /// As its session's other commands do.
    Placed(Placing),
    /// In the hostgroup of its job, and nowhere else.
    Hostgroup,
}

impl Proxy {
    /// Sets off with a kept command, now or after a while.
    pub(crate) fn begin_after(
        &mut self,
        id: SessionId,
        delay_ms: u64,
        job: Job,
        placing: &Placing,
    ) {
        match delay_ms {
            0 => self.begin(id, job, *placing),
            _ => self.delay(id, delay_ms, job, To::Placed(*placing)),
        }
    }

    /// Sets off with the copy of a query, now or after a while.
    pub(crate) fn begin_copy(&mut self, id: SessionId, delay_ms: u64, job: Job) {
        match delay_ms {
            0 => self.check_out(id, job, None),
            _ => self.delay(id, delay_ms, job, To::Hostgroup),
        }
    }

    fn delay(&mut self, id: SessionId, delay_ms: u64, job: Job, to: To) {
        self.stats.delayed += 1;
        let until_us = self.now_us.saturating_add(delay_ms.saturating_mul(1000));
        if let Some(session) = self.sessions.get_mut(id) {
            session.phase = Phase::Delayed(Delayed { job, to, until_us });
        }
        self.wake(id, until_us);
    }

    /// Sets off with a delayed command when its time has come.
    pub(crate) fn check_delay(&mut self, id: SessionId) {
        let Some(session) = self.sessions.get_mut(id) else { return self.impossible(()) };
        let Phase::Delayed(delayed) = &session.phase else { return };
        let Delayed { job, to, until_us } = *delayed;
        if self.now_us < until_us {
            return self.wake(id, until_us);
        }
        session.phase = Phase::Idle;
        // what it had went with its server while it waited
        if let Some(error) = session.last.lost.take() {
            self.fail_job(id, &job, &error);
            return self.close_session(id, None);
        }
        match to {
            To::Placed(placing) => self.begin(id, job, placing),
            To::Hostgroup => self.check_out(id, job, None),
        }
    }
}
