//! Reading what stored code there is: on lanes that no session has or, where none is left, on one
//! that its idle session keeps for nothing else.
//!
//! What is known is `catalog`'s, and what a statement reaches of it is asked by
//! `command::stored_code`; when a lane is free for a reading is decided here.

use sql::Effects;
use wire::result::Event;
use wire::{Caps, Status};

use crate::catalog::{
    CatalogId, Catalogs, Finished, Known, Named, PARTS, Part, Reading, Redefined, UnderWay, Untold,
};
use crate::ids::{HostgroupId, LaneId, SessionId};
use crate::lane::{Lane, Lease, Upkeep};
use crate::orders::{End, Order};
use crate::proxy::Proxy;
use crate::report::LogEvent;
use crate::session::maintenance::presumed::Unread;
use crate::session::maintenance::upkeep::is_in_use;
use crate::session::{Phase, Session};
use crate::topology::{LastFault, ServerRef};

/// What a worker knows of stored code, and how it is being read.
#[derive(Default)]
pub(crate) struct Surveys {
    pub catalogs: Catalogs,
    /// Definitions of whose end nobody will hear, each until it counts as ended.
    pub out_of_sight: Vec<(Box<UnderWay>, u64)>,
    running: Vec<Survey>,
    waiting: Vec<Waiting>,
}

/// A reading that is due and found no lane.
struct Waiting {
    catalog: CatalogId,
    since_us: u64,
    /// The lane that was dialed for it last.
    dialed: Option<LaneId>,
    dials: u32,
    /// When another one may be dialed.
    dial_at_us: u64,
}

/// A reading under way.
struct Survey {
    catalog: CatalogId,
    lane: LaneId,
    reading: Reading,
    /// Definitions that had been seen to change when it began.
    definitions: u64,
    began_us: u64,
    /// The error that a question was answered with last; 0 for none.
    error: u16,
}

/// Time for a reading, in microseconds.
const LIMIT_US: u64 = 30_000_000;

/// What a server answers to a question that took longer than `max_statement_time`.
const STATEMENT_TIMEOUT: u16 = 1969;

/// Whatever `completion_type` is.
const END_TRANSACTION: &str = "ROLLBACK AND NO CHAIN NO RELEASE";

/// Readings of one worker at a time.
const RUNNING_MAX: usize = 2;

/// How long a reading waits for a lane that nobody wants, in microseconds: the first one of its
/// catalog, without which nothing is known, or one for which lanes are kept, and any other.
const PATIENCE_US: (u64, u64) = (100_000, 1_000_000);

/// The pause between two dials for a reading, in microseconds, and how often it is doubled.
const DIAL_PAUSE: (u64, u32) = (1_000_000, 6);

/// The pause between two looks for a server that takes one more, in microseconds.
const LOOK_PAUSE_US: u64 = 10_000;

impl Proxy {
    /// Begins all readings that are due; once a second. No session is amid a command then, so that
    /// one may be read for on a lane that an idle session keeps.
    pub(crate) fn survey_all(&mut self) {
        self.forget_lost_surveys();
        self.forget_out_of_sight();
        for id in self.surveys.catalogs.ids() {
            self.survey(id);
            if self.is_left_waiting(id) {
                self.survey_on_kept(id);
            }
        }
    }

    /// Whether a reading has waited for too long, and no lane is on its way.
    fn is_left_waiting(&self, id: CatalogId) -> bool {
        let Surveys { catalogs, running, waiting, .. } = &self.surveys;
        let waiting = waiting.iter().find(|it| it.catalog == id);
        let is_left =
            catalogs.get(id).zip(waiting).is_some_and(|(known, it)| self.is_overdue(known, it));
        is_left && running.len() < RUNNING_MAX && !self.is_dialing_for(id) && self.is_survey_due(id)
    }

    /// Somebody waits for a lane of a hostgroup: what has waited for too long there is read where
    /// an idle session keeps one.
    pub(crate) fn survey_for_waiters(&mut self, hostgroup: HostgroupId) {
        if self.surveys.waiting.is_empty() {
            return;
        }
        for id in self.surveys.catalogs.ids() {
            let known = self.surveys.catalogs.get(id);
            let is_of = known.is_some_and(|known| known.hostgroup == hostgroup);
            if is_of && self.is_left_waiting(id) {
                self.survey_on_kept(id);
            }
        }
    }

    /// A lane came to the pool: one that is due may be read.
    #[inline]
    pub(crate) fn survey_waiting(&mut self) {
        if !self.surveys.waiting.is_empty() {
            self.survey_each_waiting();
        }
    }

    #[cold]
    fn survey_each_waiting(&mut self) {
        let waiting: Vec<_> = self.surveys.waiting.iter().map(|it| it.catalog).collect();
        waiting.into_iter().for_each(|id| self.survey(id));
    }

    /// A lane is free, and clients wait: what was not read for too long is read on it first, if it
    /// may be. Whether that is so.
    pub(crate) fn survey_first(&mut self, lane: LaneId) -> bool {
        let catalog = self.overdue_on(lane);
        if let Some(id) = catalog {
            self.with(End::Lane(lane), |proxy| proxy.begin_survey(id, lane));
        }
        catalog.is_some()
    }

    /// The reading for which a lane that is free comes before clients do.
    #[inline]
    pub(crate) fn overdue_on(&self, lane: LaneId) -> Option<CatalogId> {
        match self.surveys.waiting.is_empty() {
            true => None,
            false => self.waiting_for(lane, |known, it| self.is_overdue(known, it)),
        }
    }

    /// The first reading that is due, may be on a lane, and is such.
    #[inline(never)]
    fn waiting_for(
        &self,
        lane: LaneId,
        is_such: impl Fn(&Known, &Waiting) -> bool,
    ) -> Option<CatalogId> {
        let Surveys { catalogs, running, waiting, .. } = &self.surveys;
        if running.len() >= RUNNING_MAX {
            return None;
        }
        let lane = self.lanes.get(lane)?;
        let is_next = |it: &&Waiting| {
            let known = catalogs.get(it.catalog);
            known.is_some_and(|known| may_be_read_on(known, lane) && is_such(known, it))
                && self.is_survey_due(it.catalog)
        };
        waiting.iter().find(is_next).map(|it| it.catalog)
    }

    fn is_overdue(&self, known: &Known, waiting: &Waiting) -> bool {
        let patience_us = match known.is_read() && !known.is_wanted() {
            true => PATIENCE_US.1,
            false => PATIENCE_US.0,
        };
        self.now_us.saturating_sub(waiting.since_us) >= patience_us
    }

    fn is_dialing_for(&self, id: CatalogId) -> bool {
        let waiting = self.surveys.waiting.iter().find(|it| it.catalog == id);
        let dialed = waiting.and_then(|it| it.dialed).and_then(|lane| self.lanes.get(lane));
        dialed.is_some_and(|lane| matches!(lane.lease, Lease::Dialing(_)))
    }

    /// A reading that is due gets the next lane that nobody wants: the statement goes first. After
    /// a while it gets one of its own.
    pub(crate) fn ask_survey(&mut self, id: CatalogId) {
        if !self.is_survey_due(id) {
            return;
        }
        let since_us = self.now_us;
        let waiting = &mut self.surveys.waiting;
        let at = waiting.iter().position(|it| it.catalog == id).unwrap_or_else(|| {
            let (dialed, dials, dial_at_us) = (None, 0, 0);
            waiting.push(Waiting { catalog: id, since_us, dialed, dials, dial_at_us });
            waiting.len() - 1
        });
        let known = self.surveys.catalogs.get(id);
        let may_dial = known.zip(self.surveys.waiting.get(at)).is_some_and(|(known, it)| {
            let is_overdue = self.is_overdue(known, it);
            is_overdue && self.now_us >= it.dial_at_us && !self.is_dialing_for(id)
        });
        if may_dial && self.surveys.running.len() < RUNNING_MAX {
            self.dial_for_survey(id, at);
        }
    }

    /// Opens a lane for a reading, if one more may be.
    fn dial_for_survey(&mut self, id: CatalogId, at: usize) {
        let Some(known) = self.surveys.catalogs.get(id) else { return self.impossible(()) };
        // what an account calls in one hostgroup may run in another
        let is_model = |lane: &&Lane| is_in_use(lane) && lane.account.name == known.user;
        let model = self.lanes.iter().map(|(_, lane)| lane).find(is_model);
        let model = model
            .filter(|lane| !lane.account.backends.is_full(lane.server.index, self.now_us))
            .map(|lane| lane.id);
        let hostgroup = known.hostgroup;
        let topology = self.snapshot.topology.clone();
        let is_well = |server: &&ServerRef| {
            server.state(self.now_us).is_serving() && !self.pool.health.is_still(server.index)
        };
        let servers: Vec<_> = topology.hostgroup(hostgroup).iter().filter(is_well).collect();
        let dialed = model.and_then(|model| {
            servers.into_iter().find_map(|server| self.dial_like(model, server, None))
        });
        let now_us = self.now_us;
        if let Some(it) = self.surveys.waiting.get_mut(at) {
            let pause_us = match dialed {
                Some(_) => DIAL_PAUSE.0 << it.dials.min(DIAL_PAUSE.1),
                None => LOOK_PAUSE_US,
            };
            it.dial_at_us = now_us.saturating_add(pause_us);
            it.dials += u32::from(dialed.is_some());
            it.dialed = dialed.or(it.dialed);
        }
    }

    /// Reads on a lane that an idle session keeps for nothing but what nobody has read; where there
    /// is none, one comes to that whose session keeps it for diagnostics besides.
    fn survey_on_kept(&mut self, id: CatalogId) {
        let Some(known) = self.surveys.catalogs.get(id) else { return self.impossible(()) };
        let keeper_of = |lane: &Lane| {
            let keeper = self.presumer(lane.id).filter(|_| may_be_read_on(known, lane))?;
            Some((lane.id, keeper))
        };
        let kept = self.lanes.iter().find_map(|(_, lane)| keeper_of(lane));
        let (user, hostgroup) = (known.user.clone(), known.hostgroup);
        match kept {
            Some((lane, keeper)) => {
                self.with(End::Lane(lane), |proxy| proxy.begin_survey_on_kept(id, lane, keeper));
            }
            None => self.relieve_first_of(hostgroup, |lane| lane.account.name == user),
        }
    }

    /// A session has ended a command, and may keep its lane for what nobody has read: that is read
    /// on it, if no other lane is on its way.
    pub(crate) fn survey_on_own(&mut self, id: SessionId) {
        if self.surveys.waiting.is_empty() {
            return;
        }
        let Some(session) = self.sessions.get(id) else { return self.impossible(()) };
        let own = session.held.iter().find_map(|held| {
            let catalog = self.waiting_for(held.lane, |known, _| known.is_wanted())?;
            let is_keeper = self.presumer(held.lane) == Some(id);
            (is_keeper && !self.is_dialing_for(catalog)).then_some((catalog, held.lane))
        });
        if let Some((catalog, lane)) = own {
            self.begin_survey_on_kept(catalog, lane, id);
        }
    }

    fn begin_survey_on_kept(&mut self, id: CatalogId, lane: LaneId, keeper: SessionId) {
        self.note_survey(id, lane);
        let at = self.now_us.saturating_add(LIMIT_US);
        if let Some(lane) = self.lanes.get_mut(lane) {
            (lane.times.alarm_us, lane.times.turned_us) = (at, self.now_us);
        }
        self.orders.push(Order::Deadline { end: End::Lane(lane), at });
        let Some(session) = self.sessions.get_mut(keeper) else { return self.impossible(()) };
        session.read_on = Some(lane);
        let begins_transaction = !session.want.autocommit;
        let limit_s = self.surveys.catalogs.get(id).map_or(1, Known::limit_s);
        for part in PARTS {
            self.send_upkeep_text(lane, Upkeep::Catalog(part), &part.limited_text(limit_s));
        }
        if begins_transaction {
            self.send_upkeep_text(lane, Upkeep::CatalogRead, END_TRANSACTION);
        }
    }

    /// A timer of a lane that its session keeps: a server that does not tell in time loses it.
    pub(crate) fn check_survey(&mut self, id: LaneId) {
        let Some(lane) = self.lanes.get(id) else { return };
        let Lease::Exclusive(keeper) = lane.lease else { return };
        let is_read = self.sessions.get(keeper).is_some_and(|it| it.read_on == Some(id));
        if is_read && lane.times.alarm_us <= self.now_us {
            self.lose_lane(id, LastFault::Timeout);
        }
    }

    /// Nothing is read any more on a lane that its session keeps, well or not.
    pub(crate) fn end_survey_on_kept(&mut self, id: SessionId, lane_id: LaneId) {
        let Some(session) = self.sessions.get_mut(id) else { return self.impossible(()) };
        if session.read_on.take_if(|lane| *lane == lane_id).is_some() {
            if let Some(lane) = self.lanes.get_mut(lane_id) {
                lane.times.alarm_us = 0;
            }
            self.resume_input(id);
        }
    }

    /// Somebody keeps a lane until there is a reading that begins from now on.
    pub(crate) fn want_survey(&mut self, whose: SessionId) {
        let unread = self.sessions.get(whose).and_then(|session| session.unread);
        let Some(Unread { catalog: id, .. }) = unread else { return };
        if let Some(known) = self.surveys.catalogs.get_mut(id) {
            known.want();
            self.survey(id);
        }
    }

    fn is_survey_due(&self, id: CatalogId) -> bool {
        let vars = &self.snapshot.vars;
        let interval_us = vars.stored_code_refresh_interval_ms * 1000;
        let definitions = &self.offer.stmts.code;
        let known = self.surveys.catalogs.get(id);
        let is_due = known.is_some_and(|it| it.is_due(definitions, interval_us, self.now_us));
        is_due
            && vars.stored_code
            && !self.draining
            && !self.surveys.running.iter().any(|it| it.catalog == id)
    }

    /// Begins a reading if it is due, and a lane is free.
    fn survey(&mut self, id: CatalogId) {
        let Some(known) = self.surveys.catalogs.get(id) else { return self.impossible(()) };
        if !self.is_survey_due(id) {
            // one for which lanes are kept is due soon
            if !known.is_wanted() {
                self.surveys.waiting.retain(|it| it.catalog != id);
            }
            return;
        }
        let running = &self.surveys.running;
        let fits = |lane: &Lane| may_be_read_on(known, lane) && lane.may_be_passed_on();
        let servers = self.snapshot.topology.hostgroup(known.hostgroup).iter();
        let mut idle = servers.flat_map(|server| self.pool.idle_of(server));
        let lane = idle.find(|lane| self.lanes.get(**lane).is_some_and(fits)).copied();
        match lane.filter(|_| running.len() < RUNNING_MAX) {
            Some(lane) => self.with(End::Lane(lane), |proxy| proxy.begin_survey(id, lane)),
            None => self.ask_survey(id),
        }
    }

    /// Reads on a lane that is nobody's.
    fn begin_survey(&mut self, id: CatalogId, lane: LaneId) {
        self.note_survey(id, lane);
        self.begin_upkeep(lane, LIMIT_US);
        for part in PARTS {
            self.send_upkeep_text(lane, Upkeep::Catalog(part), part.text());
        }
    }

    fn note_survey(&mut self, id: CatalogId, lane: LaneId) {
        let definitions = self.offer.stmts.code.count();
        let Surveys { catalogs, running, waiting, .. } = &mut self.surveys;
        let Some(known) = catalogs.get_mut(id) else { return self.impossible(()) };
        waiting.retain(|it| it.catalog != id);
        known.begin();
        let (reading, began_us) = (Reading::default(), self.now_us);
        let error = 0;
        running.push(Survey { catalog: id, lane, reading, definitions, began_us, error });
    }

    /// A part of the answer to a question of a reading.
    pub(crate) fn on_survey_part(&mut self, id: LaneId, part: Part, bytes: &[u8], event: &Event) {
        let Some(lane) = self.lanes.get(id) else { return self.impossible(()) };
        let eof = !lane.caps.contains(Caps::DEPRECATE_EOF);
        let survey = self.surveys.running.iter_mut().find(|survey| survey.lane == id);
        let status = match event {
            Event::Err { code, .. } => {
                if let Some(survey) = survey {
                    survey.reading.fail();
                    survey.error = *code;
                }
                None
            }
            Event::End(end) => {
                if let Some(Survey { reading, .. }) = survey {
                    reading.feed(part, bytes, eof);
                    reading.next();
                }
                Some(end.status)
            }
            _ => {
                survey.into_iter().for_each(|it| it.reading.feed(part, bytes, eof));
                return;
            }
        };
        self.pop(id, status);
        self.survey_answered(id);
    }

    /// A question of a reading is answered, maybe the last one.
    pub(crate) fn survey_answered(&mut self, id: LaneId) {
        if self.lanes.get(id).is_some_and(|lane| lane.depth() == 0) {
            let lease = self.lanes.get(id).map(|lane| lane.lease);
            let mut running = self.surveys.running.iter();
            let error = running.find(|survey| survey.lane == id).map_or(0, |survey| survey.error);
            self.end_survey(
                id,
                match error {
                    STATEMENT_TIMEOUT => Untold::Late,
                    _ => Untold::Refused,
                },
            );
            match lease {
                Some(Lease::Exclusive(keeper)) => {
                    self.end_survey_on_kept(keeper, id);
                    let session = self.sessions.get(keeper);
                    if session.is_some_and(|session| matches!(session.phase, Phase::Idle)) {
                        self.let_go_of_empty(keeper);
                    }
                }
                _ => self.upkeep_over(id),
            }
        }
    }

    /// A reading is over: well, or for that reason not.
    fn end_survey(&mut self, lane: LaneId, untold: Untold) {
        let running = &mut self.surveys.running;
        let Some(at) = running.iter().position(|survey| survey.lane == lane) else { return };
        let Survey { catalog: id, reading, definitions, began_us, error, .. } =
            running.swap_remove(at);
        let catalog = reading.finish().ok_or(untold);
        self.stats.stored_code_readings += 1;
        self.stats.stored_code_readings_failed += u64::from(catalog.is_err());
        let is_told = catalog.is_ok();
        let finished = Finished { catalog, definitions, began_us, now_us: self.now_us };
        self.surveys.catalogs.finish(id, finished, &self.offer.stmts.code);
        if is_told {
            self.judge_presumed(id, began_us);
            self.report_hidden(id);
        } else if error != 0 && error != STATEMENT_TIMEOUT {
            self.report_unread(id, error);
        }
    }

    /// The operator is told once that an account cannot read stored code in a hostgroup.
    fn report_unread(&mut self, id: CatalogId, code: u16) {
        let Some(known) = self.surveys.catalogs.get_mut(id) else { return self.impossible(()) };
        if known.take_unread() {
            let (user, hostgroup) = (known.user.to_string(), known.hostgroup);
            self.orders.report(LogEvent::CodeUnread { user, hostgroup, code });
        }
    }

    /// The operator is told once of what an account may not read in a hostgroup.
    fn report_hidden(&mut self, id: CatalogId) {
        let Some(known) = self.surveys.catalogs.get_mut(id) else { return self.impossible(()) };
        if let Some(count) = known.take_hidden() {
            let (user, hostgroup) = (known.user.to_string(), known.hostgroup);
            self.orders.report(LogEvent::CodeHidden { user, hostgroup, count });
        }
    }

    /// What is known now of what a session named before.
    pub(crate) fn look_back(
        &self,
        id: CatalogId,
        names: &[Named],
        since: u64,
    ) -> Result<Option<Effects>, Redefined> {
        let known = self.surveys.catalogs.get(id).ok_or(Redefined)?;
        known.look_back(names, since, &self.offer.stmts.code)
    }

    /// Readings whose lanes were lost have failed.
    fn forget_lost_surveys(&mut self) {
        let is_lost = |survey: &Survey| {
            let reads_on = |keeper| {
                let session: Option<&Session> = self.sessions.get(keeper);
                session.is_some_and(|session| session.read_on == Some(survey.lane))
            };
            self.lanes.get(survey.lane).is_none_or(|lane| match lane.lease {
                Lease::Exclusive(keeper) => !reads_on(keeper),
                lease => lease != Lease::Upkeep,
            })
        };
        let lost = self.surveys.running.iter_mut().filter(|survey| is_lost(survey));
        let lanes: Vec<_> = lost
            .map(|survey| {
                survey.reading.fail();
                survey.lane
            })
            .collect();
        lanes.into_iter().for_each(|lane| self.end_survey(lane, Untold::Lost));
    }
}

/// Whether a lane sees what an account sees in a hostgroup.
fn is_of(known: &Known, lane: &Lane) -> bool {
    lane.server.hostgroup == known.hostgroup && lane.account.name == known.user
}

/// Whether it may be read on: in a transaction, what is seen may be older.
fn may_be_read_on(known: &Known, lane: &Lane) -> bool {
    is_of(known, lane) && !lane.status.contains(Status::IN_TRANS)
}
