//! What servers give sessions that begin. That is the `sql_mode`, as far as it says how texts are
//! read, `autocommit`, whether `COMMIT` does more than that, and the status flags by which clients
//! escape texts. Every lane asks its server before it is used, and a session is told at its login
//! what a server of its own would tell. What a server's `init_connect` sets is not known, and no
//! reset brings it back: lanes that began with one are never reset, and lose no setting.
//!
//! Lanes that began otherwise, because their servers differ or were changed since, are brought to
//! the session's state as to anything that was set. How a mode is read is `link`'s.

use std::ops::Range;
use std::sync::Arc;

use wire::Status;

use crate::ids::{HostgroupId, LaneId, SessionId};
use crate::lane::Upkeep;
use crate::link::{LinkState, Settings};
use crate::proxy::Proxy;
use crate::session::maintenance::upkeep::row_in;

/// What a connection begins with.
#[derive(Clone, Default)]
pub struct Defaults {
    /// The `sql_mode`, where texts are not read as by default under it.
    settings: Option<Arc<Settings>>,
    /// Status flags of a session that has done nothing.
    status: Status,
    /// By `completion_type`, a `COMMIT` or `ROLLBACK` does something without a transaction, too.
    completes: bool,
}

/// Asks for what a connection begins with. Under which flags it does, its answer's end tells.
pub(crate) const QUESTION: &str =
    "SELECT @@sql_mode, @@autocommit, @@completion_type, @@init_connect<>''";

/// MySQL begins every connection with the flag of `autocommit`, whatever was set globally, and puts
/// it right when the value changes. This changes it and back: values are read before any is set.
const MEND_FLAGS: &str = "SET autocommit=1, autocommit=@@session.autocommit";

/// Flags that stay as they are as long as a session sets nothing.
const LASTING: Status =
    Status::AUTOCOMMIT.union(Status::NO_BACKSLASH_ESCAPES).union(Status::ANSI_QUOTES);

impl Proxy {
    /// A part of the answer to a question of the proxy's own; `false` where that is longer than any
    /// server's.
    pub(crate) fn note_upkeep_answer(
        &mut self,
        id: LaneId,
        range: Range<usize>,
        bytes: &[u8],
    ) -> bool {
        const ANSWER_MAX: usize = 64 << 10;
        let Some(lane) = self.lanes.get_mut(id) else { return self.impossible(false) };
        let part = bytes.get(range).unwrap_or_default();
        let is_some_servers = lane.answer.len() + part.len() <= ANSWER_MAX;
        if is_some_servers {
            lane.answer.extend_from_slice(part);
        }
        is_some_servers
    }

    /// The answer is there: the lane is as it says, and new sessions will be. `false` where it has
    /// to be asked for again.
    pub(crate) fn note_defaults(&mut self, id: LaneId) -> bool {
        let Some(lane) = self.lanes.get_mut(id) else { return self.impossible(false) };
        let answer = std::mem::take(&mut lane.answer);
        let mut row = row_in(&answer, lane.caps, 4);
        let mut value = || row.as_mut().and_then(|row| row.lenenc_bytes().ok());
        let settings = value().and_then(Settings::of_mode);
        let is_misflagged = value() == Some(b"0") && lane.status.contains(Status::AUTOCOMMIT);
        let completes = value().is_some_and(|value| value != b"NO_CHAIN");
        lane.marks.init_connect |= value() == Some(b"1");
        // one that shows the wrong flag even then is not asked a third time
        if is_misflagged && !std::mem::replace(&mut lane.marks.reflagged, true) {
            self.send_upkeep_text(id, Upkeep::Names, MEND_FLAGS);
            self.send_upkeep_text(id, Upkeep::Defaults, QUESTION);
            return false;
        }
        let (index, status) = (lane.server.index, lane.status.intersect(LASTING));
        lane.state.autocommit = status.contains(Status::AUTOCOMMIT);
        let state = LinkState { settings, ..lane.state.clone() };
        let state = self.shared(state);
        self.defaults.retain(|(other, _)| *other != index);
        let settings = state.settings.clone();
        self.defaults.push((index, Defaults { settings, status, completes }));
        if let Some(lane) = self.lanes.get_mut(id) {
            lane.state = state;
        }
        true
    }

    /// Whether a server of a hostgroup has to be met before it is known how sessions begin there.
    pub(crate) fn has_to_meet(&self, hostgroup: HostgroupId) -> bool {
        let tries =
            |(of, until_us): &(HostgroupId, u64)| *of != hostgroup || *until_us <= self.now_us;
        self.defaults_of(hostgroup).is_none()
            && !self.snapshot.topology.hostgroup(hostgroup).is_empty()
            && self.unmet.iter().all(tries)
    }

    /// A login has met no server of its hostgroup: for a moment no other one waits for that.
    pub(crate) fn note_unmet(&mut self, id: SessionId) {
        const PAUSE_US: u64 = 1_000_000;
        let account = self.sessions.get(id).and_then(|session| session.account.as_ref());
        let Some(hostgroup) = account.map(|account| account.default_hostgroup) else { return };
        if self.defaults_of(hostgroup).is_none() {
            self.unmet.retain(|(of, _)| *of != hostgroup);
            self.unmet.push((hostgroup, self.now_us.saturating_add(PAUSE_US)));
        }
    }

    /// How sessions begin in a hostgroup: as on a server that is well, if any such is known.
    fn defaults_of(&self, hostgroup: HostgroupId) -> Option<&Defaults> {
        let known = |index| self.defaults.iter().find(|(of, _)| *of == index).map(|(_, it)| it);
        let mut of_any = None;
        for server in self.snapshot.topology.hostgroup(hostgroup) {
            let Some(found) = known(server.index) else { continue };
            if server.state(self.now_us).is_serving() {
                return Some(found);
            }
            of_any.get_or_insert(found);
        }
        of_any
    }

    /// A session that logs in begins as on its server, if that is known.
    pub(crate) fn begin_by_default(&mut self, id: SessionId) -> bool {
        let Some(account) = self.sessions.get(id).and_then(|session| session.account.as_ref())
        else {
            return false;
        };
        let Some(defaults) = self.defaults_of(account.default_hostgroup).cloned() else {
            return false;
        };
        let settings = match account.isolation {
            Some(level) => Settings::with_isolation(defaults.settings.as_deref(), level),
            None => defaults.settings.clone(),
        };
        let Some(session) = self.sessions.get_mut(id) else { return self.impossible(false) };
        for state in [&mut session.first, &mut session.want] {
            state.settings.clone_from(&settings);
            state.autocommit = defaults.status.contains(Status::AUTOCOMMIT);
        }
        session.completes = defaults.completes;
        session.auth.told = defaults.status;
        session.last.told = defaults.status;
        true
    }

    /// The flags of a greeting: whose session it will be is not known yet.
    pub(crate) fn greeted_status(&self) -> Status {
        let met = self.defaults.last().map(|(_, defaults)| defaults.status);
        met.unwrap_or(self.offer.status).intersect(LASTING)
    }
}
