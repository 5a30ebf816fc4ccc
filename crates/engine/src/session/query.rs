//! `COM_QUERY` and the other commands with a reply that are not about prepared statements.

use sql::{Assignment, Effects, Facts, Verb};
use wire::command::Command;
use wire::frame::Span;
use wire::result::ReplyKind;

use crate::holds::{self, Holds};
use crate::ids::SessionId;
use crate::link::Charset;
use crate::proxy::Proxy;
use crate::session::place::{Place, Placing, place};
use crate::session::{Job, What};

/// What a `SET` amounts to.
enum SetPlan {
    /// Everything is tracked: nothing needs to be sent.
    Tracked,
    /// Everything is tracked, but the lane in use has to be told too.
    Followed,
    /// It has to be sent, and holds the lane.
    Sent,
}

impl Proxy {
    pub(crate) fn on_query(
        &mut self,
        id: SessionId,
        raw: &[u8],
        text: &[u8],
        upload: Option<Span>,
    ) {
        let facts = if upload.is_some() { long_facts(text) } else { sql::facts(text) };
        if self.answered_locally(id, text, &facts) {
            return;
        }
        let mut holds = holds::of_statement(facts.verb, facts.effects, false);
        let mut what = What::Plain;
        if facts.verb == Verb::Set && upload.is_none() {
            match self.track_set(id, text, &facts) {
                SetPlan::Tracked => return,
                SetPlan::Followed => holds.set(Holds::SET, false),
                SetPlan::Sent => {}
            }
            what = What::Set;
        } else if facts.schema.is_some() {
            what = What::Schema;
        }
        if facts.effects.intersects(Effects::READS_ROW_COUNT) {
            holds.set(Holds::LAST_INSERT_ID, true);
        }
        let destination = self.route(id, text).destination;
        let placing = Placing { effects: facts.effects, holds, destination, stays: false };
        let job = Job {
            what,
            reply: ReplyKind::Result,
            hostgroup: Default::default(),
            repeatable: sql::is_read_only(&facts),
            effects: facts.effects,
            holds,
            retries_left: self.snapshot.vars.query_retries_on_failure,
            needs_insert_id: facts.effects.intersects(Effects::READS_LAST_INSERT_ID),
            upload,
        };
        self.keep(id, raw);
        self.begin(id, job, &placing);
    }

    /// Finds the lane or the hostgroup for a kept command and sets off.
    pub(crate) fn begin(&mut self, id: SessionId, mut job: Job, placing: &Placing) {
        let Some(session) = self.sessions.get_mut(id) else { return };
        let place = place(session, placing);
        let stays = match place {
            Place::Lane(lane) => Some(lane),
            Place::Hostgroup(_) => None,
        };
        self.release_until_next(id, stays, job.effects);
        match place {
            Place::Lane(lane) => {
                if let Some(session) = self.sessions.get(id)
                    && let Some(held) = session.held.iter().find(|held| held.lane == lane)
                {
                    job.hostgroup = held.hostgroup;
                }
                self.run(id, lane, job);
            }
            Place::Hostgroup(hostgroup) => {
                job.hostgroup = hostgroup;
                self.check_out(id, job, None);
            }
        }
    }

    /// Records a `SET` that is tracked whole, and answers it, unless it has to be sent.
    fn track_set(&mut self, id: SessionId, text: &[u8], facts: &Facts) -> SetPlan {
        let Some(session) = self.sessions.get_mut(id) else { return SetPlan::Sent };
        if !facts.effects.without(Effects::SYSTEM_VARIABLE).is_empty() {
            return SetPlan::Sent;
        }
        let busy = session.held_for(Holds::PINNING.union(Holds::TRANSACTION)).is_some();
        let Some(set) = sql::parse_set(text) else { return SetPlan::Sent };
        let mut want = session.want.clone();
        for assignment in &set.assignments {
            match assignment {
                Assignment::Names { charset, collation } => {
                    match Charset::named(charset, *collation) {
                        Some(charset) => want.charset = charset,
                        None => return SetPlan::Sent,
                    }
                }
                Assignment::Autocommit(on) => want.autocommit = *on,
                _ => return SetPlan::Sent,
            }
        }
        if busy {
            return SetPlan::Followed;
        }
        session.want = want;
        self.answer_ok(id);
        SetPlan::Tracked
    }

    pub(crate) fn on_init_db(&mut self, id: SessionId, raw: &[u8]) {
        self.on_simple(id, raw, What::Schema, ReplyKind::Simple, Holds::NONE, true);
    }

    pub(crate) fn on_plain(&mut self, id: SessionId, raw: &[u8], command: &Command<'_>) {
        let kind = command.reply_kind().unwrap_or(ReplyKind::Simple);
        self.on_simple(id, raw, What::Plain, kind, Holds::NONE, true);
    }

    /// A command that is passed on and ties the session to its lane.
    pub(crate) fn on_pinning(&mut self, id: SessionId, raw: &[u8], holds: Holds) {
        self.on_simple(id, raw, What::Plain, ReplyKind::Simple, holds, false);
    }

    /// From here on the session is relayed.
    pub(crate) fn on_replication(&mut self, id: SessionId, raw: &[u8]) {
        let reply = ReplyKind::None;
        self.on_simple(id, raw, What::Relay, reply, Holds::NOT_UNDERSTOOD, false);
    }

    fn on_simple(
        &mut self,
        id: SessionId,
        raw: &[u8],
        what: What,
        reply: ReplyKind,
        holds: Holds,
        repeatable: bool,
    ) {
        self.keep(id, raw);
        self.begin_simple(id, what, reply, holds, repeatable);
    }

    /// Sets off with a kept command that no rule looks at.
    pub(crate) fn begin_simple(
        &mut self,
        id: SessionId,
        what: What,
        reply: ReplyKind,
        holds: Holds,
        repeatable: bool,
    ) {
        let job = Job {
            what,
            reply,
            hostgroup: Default::default(),
            repeatable,
            effects: Effects::NONE,
            holds,
            retries_left: self.snapshot.vars.query_retries_on_failure,
            needs_insert_id: false,
            upload: None,
        };
        let placing = Placing { effects: Effects::NONE, holds, destination: None, stays: true };
        self.begin(id, job, &placing);
    }
}

/// The facts of a text that is longer than what is kept: its rest is not seen, so whatever its
/// beginning does not rule out is assumed where data does not follow by nature.
pub(crate) fn long_facts(text: &[u8]) -> Facts {
    let mut facts = sql::facts(text);
    let data = matches!(facts.verb, Verb::Insert | Verb::Replace | Verb::Update);
    if !data {
        facts.effects.insert(Effects::UNCLEAR);
    } else {
        // an unfinished string may have been read as something else
        facts.effects = facts.effects.without(Effects::UNCLEAR);
    }
    facts
}
