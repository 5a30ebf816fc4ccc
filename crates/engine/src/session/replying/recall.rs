//! What statements leave behind on lanes that their sessions do not keep: warnings and errors. On a
//! lane of several sessions they cannot be asked for, so a session keeps its read from there.
//! Should its next statement ask, the read runs again on a lane of the session's own, right before
//! that statement. Where a statement ran on a lane of the session's own, that lane is kept until
//! the next statement, or until another session waits for it (`diagnostics`).

use std::sync::Arc;

use sql::Effects;
use wire::command::{self, code};
use wire::frame::HEADER_BYTES;
use wire::result::ReplyKind;

use crate::holds::Holds;
use crate::ids::{HostgroupId, LaneId, SessionId, StmtKey};
use crate::lane::Step;
use crate::proxy::Proxy;
use crate::session::placing::destination::Placing;
use crate::session::replying::diagnostics::Diagnostics;
use crate::session::{Job, Session, What};
use crate::stmt::{Manner, Text, Wanted};

/// What is kept of a statement that left warnings, or an error.
pub(crate) enum Recall {
    /// A read that ran on a shared lane.
    Read(Read),
    /// What the server told of them.
    Told(Diagnostics),
}

/// A read that left warnings, or an error, on a shared lane.
pub(crate) struct Read {
    hostgroup: HostgroupId,
    command: Vec<u8>,
    reply: ReplyKind,
    /// What it executes, if that has to be prepared.
    executed: Option<Executed>,
}

/// A statement that was executed; its client may have closed it since.
pub(crate) struct Executed {
    pub key: StmtKey,
    pub text: Arc<Text>,
    types: Vec<u8>,
    manner: Manner,
}

impl Executed {
    /// What a lane must have to execute it again.
    pub(crate) fn wanted(&self) -> Wanted<'_> {
        Wanted { key: self.key, types: &self.types, manner: self.manner }
    }
}

impl Session {
    /// What has to be executed again in front of a command.
    pub(crate) fn recalled_by(&self, job: &Job) -> Option<&Executed> {
        match self.recall_for(job)? {
            Recall::Read(read) => read.executed.as_ref(),
            Recall::Told(_) => None,
        }
    }

    fn recall_for(&self, job: &Job) -> Option<&Recall> {
        let is_prepared = matches!(job.what, What::Prepare(_));
        if is_prepared || !job.effects.intersects(Effects::SHOW_WARNINGS) {
            return None;
        }
        self.last.recall.as_deref().filter(|_| self.held_for(Holds::WARNINGS).is_none())
    }
}

impl Proxy {
    /// Lets go of lanes that were only kept for the statement that comes now, unless that one is
    /// about them or runs there anyway.
    #[inline]
    pub(crate) fn release_until_next(&mut self, id: SessionId, stays: Option<LaneId>, job: &Job) {
        let Some(session) = self.sessions.get_mut(id) else { return self.impossible(()) };
        if !job.effects.intersects(Effects::SHOW_WARNINGS) && session.last.recall.is_some() {
            session.last.recall = None;
        }
        if session.held.iter().any(|held| held.why.intersects(Holds::UNTIL_NEXT)) {
            self.release_kept_until_next(id, stays, job);
        }
    }

    #[cold]
    fn release_kept_until_next(&mut self, id: SessionId, stays: Option<LaneId>, job: &Job) {
        // rows found before are found after a prepare as well
        let ended = match job.what {
            What::Prepare(_) => Holds::WARNINGS,
            _ => Holds::UNTIL_NEXT,
        };
        let Some(session) = self.sessions.get_mut(id) else { return self.impossible(()) };
        let asks = job.effects.intersects(Effects::SHOW_WARNINGS | Effects::READS_FOUND_ROWS);
        let mut free = Vec::new();
        for held in &mut session.held {
            if asks && stays == Some(held.lane) {
                continue;
            }
            let warned = held.why.intersects(Holds::WARNINGS);
            held.why.set(ended, false);
            if stays != Some(held.lane) {
                free.push((held.lane, warned));
            }
        }
        for (lane_id, warned) in free {
            if warned && let Some(lane) = self.lanes.get_mut(lane_id) {
                // where the lane stays, its session's next statement ran elsewhere
                lane.marks.warned_by = Some(SessionId::NOBODY);
            }
            self.let_go(id, lane_id);
        }
    }

    /// Keeps a read whose warnings, or error, its client may ask for.
    pub(crate) fn keep_for_recall(&mut self, id: SessionId, job: &Job) {
        let Some(session) = self.sessions.get_mut(id) else { return self.impossible(()) };
        let command = std::mem::take(&mut session.serving.kept);
        let handle = match job.what {
            What::Execute(stmt) => session.handle(stmt),
            _ => None,
        };
        let executed = handle.map(|handle| Executed {
            key: handle.key,
            text: handle.text.clone(),
            types: handle.types.clone(),
            manner: handle.wanted().manner,
        });
        let (hostgroup, reply) = (job.hostgroup, job.reply);
        let read = Read { hostgroup, command, reply, executed };
        session.last.recall = Some(Box::new(Recall::Read(read)));
    }

    /// A statement about the one before goes where that one went, if it may.
    pub(crate) fn with_its_read(&self, id: SessionId, placing: &mut Placing) {
        if placing.conduct.effects.intersects(Effects::SHOW_WARNINGS)
            && placing.conduct.may_follow()
            && let Some(session) = self.sessions.get(id)
            && let Some(recall) = &session.last.recall
        {
            placing.destination = Some(match &**recall {
                Recall::Read(read) => read.hostgroup,
                Recall::Told(told) => told.hostgroup,
            });
        }
    }

    /// Takes away what another statement left on a lane than the session's last one. MariaDB does
    /// so only with a statement that has a table, MySQL with any that does not ask, and not with
    /// `COM_INIT_DB` and its like.
    #[cold]
    pub(crate) fn clear_warnings(&mut self, id: SessionId, lane_id: LaneId, job: &Job) {
        const CLEARS: &[u8] = b"DO (SELECT 1 FROM (SELECT 1) AS t)";
        let Some(lane) = self.lanes.get_mut(lane_id) else { return self.impossible(()) };
        let is_others = lane.marks.warned_by.take_if(|by| *by != id).is_some();
        if !is_others {
            return;
        }
        let asks = job.effects.intersects(Effects::SHOW_WARNINGS);
        let clears = lane.greeted.is_mariadb || asks;
        let is_statement = [code::QUERY, code::STMT_EXECUTE]
            .iter()
            .any(|code| self.kept(id).get(HEADER_BYTES) == Some(code));
        if clears || !is_statement {
            self.send_step(id, lane_id, Step::Again, ReplyKind::Result, |out| {
                command::write_query(out, CLEARS);
            });
        }
    }

    /// A statement asks about a read that ran on a shared lane: that one runs again before it.
    pub(crate) fn read_again(&mut self, id: SessionId, lane_id: LaneId, job: &Job) {
        let Some(session) = self.sessions.get_mut(id) else { return self.impossible(()) };
        if session.recall_for(job).is_none() {
            return;
        }
        let Some(mut recall) = session.last.recall.take() else { return };
        match &mut *recall {
            Recall::Read(read) => {
                if let Some(lane) = self.lanes.get_mut(lane_id) {
                    // it may call code, which is not among the command's own effects
                    lane.note_code_read(lane.state.read_by(false));
                }
                self.name_statement(lane_id, read);
                self.stats.shared_recalls += 1;
                self.send_step(id, lane_id, Step::Again, read.reply, |out| {
                    out.extend_from_slice(&read.command);
                });
            }
            Recall::Told(told) => {
                self.raise_again(id, lane_id, told);
                if told.end_when_counted && job.effects.intersects(Effects::SYSTEM_VARIABLE) {
                    return;
                }
            }
        }
        if let Some(session) = self.sessions.get_mut(id) {
            session.last.recall = Some(recall);
        }
    }

    /// A statement asks about one whose diagnostics are kept, and not so that they answer it: the
    /// first of them is raised before it.
    fn raise_again(&mut self, id: SessionId, lane_id: LaneId, told: &Diagnostics) {
        let Some(session) = self.sessions.get(id) else { return self.impossible(()) };
        let Some(text) = told.raise(session.last.error, session.caps) else { return };
        self.stats.diagnostics_raised += 1;
        self.send_step(id, lane_id, Step::Again, ReplyKind::Result, |out| {
            command::write_query(out, text.as_bytes());
        });
    }

    /// Puts the id that a lane's server gave a statement into an execution with types.
    fn name_statement(&mut self, lane_id: LaneId, recall: &mut Read) {
        let Some(executed) = &recall.executed else { return };
        let Some(lane) = self.lanes.get_mut(lane_id) else { return self.impossible(()) };
        let Some(on_lane) = lane.stmts.take(executed.wanted(), None) else { return };
        let at = HEADER_BYTES + command::STMT_ID.start;
        if let Some(place) = recall.command.get_mut(at..at + 4) {
            place.copy_from_slice(&on_lane.id.0.to_le_bytes());
        }
        // it may fail again, and then nobody knows which types the server remembers
        on_lane.note_execution(executed.wanted());
        on_lane.forget_types();
    }

    /// What is to be executed again cannot be prepared any more, as on the lane where it failed. To
    /// try it once more leaves the same behind; `false` when that is about another statement.
    pub(crate) fn recall_by_prepare(&mut self, id: SessionId, key: StmtKey) -> bool {
        let recall =
            self.sessions.get_mut(id).and_then(|session| session.last.recall.as_deref_mut());
        let Some(Recall::Read(recall)) = recall else { return false };
        let Some(executed) = recall.executed.take_if(|executed| executed.key == key) else {
            return false;
        };
        recall.command.clear();
        command::write(&mut recall.command, command::code::STMT_PREPARE, &executed.text.text);
        recall.reply = ReplyKind::Prepare;
        true
    }
}
