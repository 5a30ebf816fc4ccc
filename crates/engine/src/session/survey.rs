//! Reading what stored code there is, on lanes that no session has, and asking what of it a
//! statement reaches.
//!
//! What is known is `catalog`'s; when a lane is free for a reading, and when a statement has to be
//! judged anew, is decided here.

use sql::{Effects, Facts, Modes, Reach};
use wire::result::Event;
use wire::{Caps, Status};

use crate::catalog::{Asked, CatalogId, Catalogs, Finished, Naming, PARTS, Part, Reading};
use crate::ids::{ClientStmtId, HostgroupId, LaneId, SessionId};
use crate::lane::{Lane, Lease, Upkeep};
use crate::proxy::Proxy;
use crate::route::Route;
use crate::session::Job;

/// What a worker knows of stored code, and how it is being read.
#[derive(Default)]
pub(crate) struct Surveys {
    catalogs: Catalogs,
    running: Vec<Survey>,
    /// Catalogs that are due and found no lane.
    waiting: Vec<CatalogId>,
}

/// A reading under way.
struct Survey {
    catalog: CatalogId,
    lane: LaneId,
    reading: Reading,
    /// Definitions that had been seen to change when it began.
    definitions: u64,
    began_us: u64,
}

/// What may change what a statement's result looks like.
const CHANGES_RESULTS: Effects =
    Effects::IMPLICIT_COMMIT.union(Effects::UNCLEAR).union(Effects::CALLS_PROCEDURE);

/// Time for a reading, in microseconds.
const LIMIT_US: u64 = 30_000_000;

/// Readings of one worker at a time.
const RUNNING_MAX: usize = 2;

impl Proxy {
    /// What the stored code does that a text may reach which was routed last; `cut` tells that only
    /// its beginning is there.
    pub(crate) fn reach_of_routed(
        &mut self,
        id: SessionId,
        text: &[u8],
        facts: &Facts,
        (route, cut): (&Route, bool),
    ) -> Effects {
        let Some(catalog) = self.catalog_of(id, route.destination) else { return Effects::NONE };
        // else its facts are not remembered either
        let is_whole = !cut && text.len() <= self.snapshot.vars.threshold_query_length as usize;
        let by_digest = is_whole && self.modes(id).read_as_default(text);
        let epoch = self.epoch_of(catalog).filter(|_| by_digest);
        if let Some(effects) = epoch.and_then(|epoch| self.processor.reach(epoch)) {
            return effects;
        }
        let (effects, is_sure) = self.reach_in(catalog, text, (self.modes(id), Naming::of(facts)));
        if let Some(epoch) = epoch.filter(|_| is_sure) {
            self.processor.note_reach(Reach { epoch, effects });
        }
        effects
    }

    /// The same of a prepared statement that is executed.
    pub(crate) fn reach_of_handle(
        &mut self,
        id: SessionId,
        stmt: ClientStmtId,
        destination: Option<HostgroupId>,
    ) -> Effects {
        let Some(catalog) = self.catalog_of(id, destination) else { return Effects::NONE };
        let epoch = self.epoch_of(catalog);
        let Some(handle) = self.sessions.get(id).and_then(|session| session.handle(stmt)) else {
            return Effects::NONE;
        };
        if Some(handle.reach.epoch) == epoch {
            return handle.reach.effects;
        }
        let text = handle.text.clone();
        let how = (text.state.modes(), text.naming);
        let (effects, is_sure) = self.reach_in(catalog, &text.text, how);
        let handle = self.sessions.get_mut(id).and_then(|session| session.handle_mut(stmt));
        if let (Some(handle), Some(epoch), true) = (handle, epoch, is_sure) {
            handle.reach = Reach { epoch, effects };
        }
        effects
    }

    /// What the stored code does that a text may reach in a hostgroup.
    pub(crate) fn reach(
        &mut self,
        id: SessionId,
        text: &[u8],
        facts: &Facts,
        hostgroup: HostgroupId,
    ) -> Effects {
        let Some(catalog) = self.catalog_of(id, Some(hostgroup)) else { return Effects::NONE };
        self.reach_in(catalog, text, (self.modes(id), Naming::of(facts))).0
    }

    /// A statement that may have changed definitions has ended.
    pub(crate) fn follow_definitions(&mut self, job: &Job) {
        if job.effects.intersects(CHANGES_RESULTS) {
            self.offer.stmts.definitions_changed();
        }
        if job.effects.intersects(Effects::DEFINES) {
            self.offer.stmts.code_defined();
            self.surveys.catalogs.ids().for_each(|id| self.ask_survey(id));
        }
    }

    fn reach_in(
        &mut self,
        id: CatalogId,
        text: &[u8],
        (modes, naming): (Modes, Naming),
    ) -> (Effects, bool) {
        let definitions = self.offer.stmts.code();
        let asked = Asked { text, modes, naming };
        let Some(known) = self.surveys.catalogs.get_mut(id) else { return (Effects::NONE, false) };
        let (effects, is_sure) = known.reach(&asked, definitions);
        if !is_sure {
            self.ask_survey(id);
        }
        (effects, is_sure)
    }

    fn epoch_of(&self, id: CatalogId) -> Option<u64> {
        self.surveys.catalogs.get(id)?.epoch(self.offer.stmts.code())
    }

    /// What is known to a session where its statement is sent.
    fn catalog_of(&mut self, id: SessionId, to: Option<HostgroupId>) -> Option<CatalogId> {
        let session = self.sessions.get_mut(id).filter(|_| self.snapshot.vars.stored_code)?;
        let account = session.account.as_ref()?;
        let hostgroup = to.unwrap_or(account.default_hostgroup);
        if let Some((_, known)) = session.catalogs.iter().find(|(of, _)| *of == hostgroup) {
            return Some(*known);
        }
        let catalog = self.surveys.catalogs.of(&account.name, hostgroup);
        session.catalogs.push((hostgroup, catalog));
        Some(catalog)
    }

    /// Begins all readings that are due; once a second.
    pub(crate) fn survey_all(&mut self) {
        self.forget_lost_surveys();
        self.surveys.catalogs.ids().for_each(|id| self.survey(id));
    }

    /// A lane came to the pool: one that is due may be read.
    pub(crate) fn survey_waiting(&mut self) {
        if self.surveys.waiting.is_empty() {
            return;
        }
        for id in std::mem::take(&mut self.surveys.waiting) {
            self.survey(id);
        }
    }

    /// A reading that is due gets the next lane that comes free: the statement goes first.
    fn ask_survey(&mut self, id: CatalogId) {
        if self.is_survey_due(id) && !self.surveys.waiting.contains(&id) {
            self.surveys.waiting.push(id);
        }
    }

    fn is_survey_due(&self, id: CatalogId) -> bool {
        let vars = &self.snapshot.vars;
        let interval_us = vars.stored_code_refresh_interval_ms * 1000;
        let definitions = self.offer.stmts.code();
        let known = self.surveys.catalogs.get(id);
        let is_due = known.is_some_and(|it| it.is_due(definitions, interval_us, self.now_us));
        is_due
            && vars.stored_code
            && !self.draining
            && !self.surveys.running.iter().any(|it| it.catalog == id)
    }

    /// Begins a reading if it is due, and a lane is free.
    fn survey(&mut self, id: CatalogId) {
        if !self.is_survey_due(id) {
            return;
        }
        let definitions = self.offer.stmts.code();
        let Surveys { catalogs, running, waiting } = &mut self.surveys;
        let Some(known) = catalogs.get_mut(id) else { return };
        let (user, hostgroup) = (known.user.clone(), known.hostgroup);
        let fits = |lane: &Lane| {
            lane.account.name == user
                && lane.may_be_passed_on()
                && !lane.status.contains(Status::IN_TRANS)
        };
        let servers = self.snapshot.topology.hostgroup(hostgroup).iter();
        let mut idle = servers.flat_map(|server| self.pool.idle_of(server));
        let lane = idle.find(|lane| self.lanes.get(**lane).is_some_and(fits)).copied();
        let Some(lane) = lane.filter(|_| running.len() < RUNNING_MAX) else {
            if !waiting.contains(&id) {
                waiting.push(id);
            }
            return;
        };
        known.begin();
        let (reading, began_us) = (Reading::default(), self.now_us);
        running.push(Survey { catalog: id, lane, reading, definitions, began_us });
        self.stats.stored_code_readings += 1;
        self.begin_upkeep(lane, LIMIT_US);
        for part in PARTS {
            self.send_upkeep_text(lane, Upkeep::Catalog(part), part.text());
        }
    }

    /// A part of the answer to a question of a reading.
    pub(crate) fn on_survey_part(&mut self, id: LaneId, part: Part, bytes: &[u8], event: &Event) {
        let Some(lane) = self.lanes.get(id) else { return };
        let eof = !lane.caps.contains(Caps::DEPRECATE_EOF);
        let survey = self.surveys.running.iter_mut().find(|survey| survey.lane == id);
        let reading = survey.map(|survey| &mut survey.reading);
        let status = match event {
            Event::Err { .. } => {
                reading.into_iter().for_each(Reading::fail);
                None
            }
            Event::End(end) => {
                if let Some(reading) = reading {
                    reading.feed(part, bytes, eof);
                    reading.next();
                }
                Some(end.status)
            }
            _ => {
                reading.into_iter().for_each(|reading| reading.feed(part, bytes, eof));
                return;
            }
        };
        self.pop(id, status);
        let Some(lane) = self.lanes.get(id).filter(|lane| lane.depth() == 0) else { return };
        let in_trans = lane.status.contains(Status::IN_TRANS);
        self.end_survey(id);
        match in_trans {
            true => self.drop_lane(id),
            false => self.upkeep_over(id),
        }
    }

    fn end_survey(&mut self, lane: LaneId) {
        let running = &mut self.surveys.running;
        let Some(at) = running.iter().position(|survey| survey.lane == lane) else { return };
        let Survey { catalog: id, reading, definitions, began_us, .. } = running.swap_remove(at);
        let catalog = reading.finish();
        self.stats.stored_code_readings_failed += u64::from(catalog.is_none());
        let finished = Finished { catalog, definitions, began_us, now_us: self.now_us };
        self.surveys.catalogs.finish(id, finished);
    }

    /// Readings whose lanes were lost have failed.
    fn forget_lost_surveys(&mut self) {
        let is_lost = |survey: &Survey| {
            self.lanes.get(survey.lane).is_none_or(|lane| lane.lease != Lease::Upkeep)
        };
        let lost = self.surveys.running.iter_mut().filter(|survey| is_lost(survey));
        let lanes: Vec<_> = lost
            .map(|survey| {
                survey.reading.fail();
                survey.lane
            })
            .collect();
        lanes.into_iter().for_each(|lane| self.end_survey(lane));
    }
}
