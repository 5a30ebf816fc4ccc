//! What a statement reaches of stored code, beside what its text says.
//!
//! Asked before a statement is placed. What is known is `catalog`'s; what is unknown leads to a
//! reading, which is `maintenance::code_reading`'s.

use sql::{Effects, Facts, Modes, Reach};

use crate::catalog::{AskedText, CatalogId, How, InsertId, Naming, Reached};
use crate::holds;
use crate::ids::{ClientStmtId, HostgroupId, SessionId};
use crate::proxy::Proxy;
use crate::session::maintenance::presumed::Unread;
use crate::session::replying::ties;
use crate::session::{Job, What};
use crate::stmt::Text;

/// The session, and its command, whose names are meant.
#[derive(Clone, Copy)]
struct Whose {
    id: SessionId,
    what: What,
}

impl Proxy {
    /// What the stored code does that a text may reach which was routed last, and whose facts were
    /// asked.
    pub(crate) fn reach_of_routed(
        &mut self,
        id: SessionId,
        text: &[u8],
        facts: &Facts,
        destination: Option<HostgroupId>,
    ) -> Effects {
        let Some((catalog, epoch)) = self.known_code(id, destination) else {
            return Effects::NONE;
        };
        if let Some(effects) = epoch.and_then(|epoch| self.processor.reach(epoch)) {
            return effects;
        }
        let how = self.how(id, Naming::of(facts));
        let whose = Whose { id, what: What::Plain };
        let (effects, is_sure) = self.reach_in(Some(whose), catalog, text, how);
        if let Some(epoch) = epoch.filter(|_| is_sure) {
            self.processor.note_reach(Reach { epoch, effects });
        }
        effects
    }

    /// What is known to a session of stored code where it sends a statement, and the state of that.
    #[inline]
    pub(crate) fn known_code(
        &mut self,
        id: SessionId,
        destination: Option<HostgroupId>,
    ) -> Option<(CatalogId, Option<u64>)> {
        let catalog = self.catalog_of(id, destination)?;
        Some((catalog, self.epoch_of(catalog)))
    }

    /// What a prepared statement reaches that is executed, of which this was noted.
    #[inline]
    pub(crate) fn reach_of_execution(
        &mut self,
        id: SessionId,
        stmt: ClientStmtId,
        known: Option<(CatalogId, Option<u64>)>,
        noted: Reach,
    ) -> Effects {
        match known {
            None => Effects::NONE,
            Some((_, Some(epoch))) if noted.epoch == epoch => noted.effects,
            Some((catalog, _)) => self.reach_of_handle(id, stmt, catalog),
        }
    }

    #[inline(never)]
    fn reach_of_handle(
        &mut self,
        id: SessionId,
        stmt: ClientStmtId,
        catalog: CatalogId,
    ) -> Effects {
        let epoch = self.epoch_of(catalog);
        let Some(handle) = self.sessions.get(id).and_then(|session| session.handle(stmt)) else {
            return Effects::NONE;
        };
        let text = handle.text.clone();
        let how = How::of(&text.state, text.naming);
        let whose = Whose { id, what: What::Execute(stmt) };
        let (effects, is_sure) = self.reach_in(Some(whose), catalog, &text.text, how);
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
        self.epoch_of(catalog);
        self.reach_in(None, catalog, text, self.how(id, Naming::of(facts))).0
    }

    /// What of stored code a MySQL keeps with the connection that prepares a text.
    pub(crate) fn reach_of_prepare(
        &mut self,
        id: SessionId,
        text: &Text,
        destination: Option<HostgroupId>,
    ) -> Effects {
        let how = How::of(&text.state, text.naming);
        let Some(catalog) = self.catalog_of(id, destination) else { return Effects::NONE };
        self.epoch_of(catalog);
        let (reach, _) = self.reach_in(None, catalog, &text.text, how);
        let kept = [Effects::CALLS_CODE, Effects::VARIABLE_IN_CODE];
        let kept = kept.into_iter().filter(|effect| reach.intersects(*effect));
        kept.fold(Effects::NONE, Effects::union)
    }

    /// How the names of a session's next text are read.
    pub(crate) fn how(&self, id: SessionId, naming: Naming) -> How {
        match self.sessions.get(id) {
            Some(session) => How::of(&session.want, naming),
            None => self.impossible(How { modes: Modes::default(), is_utf8: false, naming }),
        }
    }

    /// What the last insert id is after a text whose rows may have come with their numbers.
    pub(crate) fn insert_id_after(
        &mut self,
        id: SessionId,
        text: &[u8],
        how: How,
        destination: Option<HostgroupId>,
    ) -> InsertId {
        let Some(catalog) = self.catalog_of(id, destination) else { return InsertId::Told };
        self.epoch_of(catalog);
        let (asked, definitions) = (AskedText { text, how }, &self.offer.stmts.code);
        let known = self.surveys.catalogs.get(catalog);
        known.map_or(InsertId::Told, |it| it.insert_id(&asked, definitions, true))
    }

    /// The latest definition. Asked before it is decided what a command reaches, it tells at its
    /// end whether that is to be decided again.
    #[inline]
    pub(crate) fn defined(&self) -> u64 {
        self.offer.stmts.code.count()
    }

    /// What a command reaches is another thing if something was defined while it waited or ran: it
    /// may have been the one or the other.
    #[inline]
    pub(crate) fn reach_again(&mut self, id: SessionId, job: &mut Job) {
        if job.judged < self.defined() {
            self.reach_redefined(id, job);
        }
    }

    #[cold]
    fn reach_redefined(&mut self, id: SessionId, job: &mut Job) {
        job.judged = self.defined();
        let Some(catalog) = self.catalog_of(id, Some(job.hostgroup)) else { return };
        let Some(session) = self.sessions.get(id) else { return self.impossible(()) };
        let (text, modes) = ties::text_of(session, job);
        let how = How::of(ties::state_of(session, job), Naming::of(&sql::facts_in(text, modes)));
        let text = text.to_vec();
        let presumed = job.effects.intersects(Effects::PRESUMED);
        let before = session.unread.filter(|_| presumed);
        self.epoch_of(catalog);
        let whose = Whose { id, what: job.what };
        let (mut reach, _) = self.reach_in(Some(whose), catalog, &text, how);
        if self.insert_id_after(id, &text, how, Some(job.hostgroup)) == InsertId::Asked {
            job.insert_id = InsertId::Asked;
        } else {
            reach = reach.without(Effects::GIVES_INSERT_ID);
        }
        job.effects |= reach;
        job.holds = job.holds.union(holds::of_effects(reach));
        if let Some(session) = self.sessions.get_mut(id)
            && let (Some(before), Some(unread)) = (before, &mut session.unread)
        {
            unread.since = unread.since.min(before.since);
        }
    }

    /// Whether running a session's command once more does no harm, as far as is known now.
    pub(crate) fn is_repeatable(&mut self, id: SessionId, job: &Job) -> bool {
        let mut again = *job;
        self.reach_again(id, &mut again);
        job.repeatable && again.effects == job.effects
    }

    /// For a session whose command it is, what was presumed is noted. What was defined up to now is
    /// taken in by [`Self::epoch_of`], which comes before.
    fn reach_in(
        &mut self,
        whose: Option<Whose>,
        id: CatalogId,
        text: &[u8],
        how: How,
    ) -> (Effects, bool) {
        let definitions = &self.offer.stmts.code;
        let since = definitions.count();
        let asked = AskedText { text, how };
        let session = whose.and_then(|it| Some((self.sessions.get(it.id)?, it.what)));
        let is_own =
            |table: &[u8]| session.is_some_and(|(session, what)| session.has_made(table, what));
        let Some(known) = self.surveys.catalogs.get_mut(id) else { return (Effects::NONE, false) };
        let will_be_told =
            !known.keeps_failing() && self.snapshot.vars.stored_code_refresh_interval_ms > 0;
        let Reached { mut known, mut presumed, is_sure } = known.reach(&asked, definitions, is_own);
        if will_be_told && !presumed.is_empty() {
            // a table that nobody has read may be a view, or have triggers
            presumed.insert(Effects::CALLS_CODE | Effects::VARIABLE_IN_CODE);
        }
        if (known | presumed).intersects(Effects::CALLS_CODE) && has_settings_of_its_own(text) {
            known.insert(Effects::VARIABLE_IN_CODE);
        }
        if !is_sure {
            self.ask_survey(id);
        }
        if !presumed.is_empty()
            && let Some(session) = whose.and_then(|whose| self.sessions.get_mut(whose.id))
        {
            session.unread = Some(Unread { catalog: id, since, known });
        }
        (known | presumed, is_sure)
    }

    #[inline]
    pub(crate) fn epoch_of(&mut self, id: CatalogId) -> Option<u64> {
        self.surveys.catalogs.epoch(id, &self.offer.stmts.code)
    }

    /// What is known to a session where its statement is sent.
    #[inline]
    pub(crate) fn catalog_of(
        &mut self,
        id: SessionId,
        to: Option<HostgroupId>,
    ) -> Option<CatalogId> {
        let session = self.sessions.get(id).filter(|_| self.snapshot.vars.stored_code)?;
        let account = session.account.as_ref()?;
        let hostgroup = to.unwrap_or(account.default_hostgroup);
        if let Some((_, known)) = session.catalogs.iter().find(|(of, _)| *of == hostgroup) {
            return Some(*known);
        }
        self.catalog_met(id, hostgroup)
    }

    /// The same where a session sends something for the first time.
    #[inline(never)]
    fn catalog_met(&mut self, id: SessionId, hostgroup: HostgroupId) -> Option<CatalogId> {
        let session = self.sessions.get_mut(id)?;
        let account = session.account.as_ref()?;
        let name = match &account.row {
            // nothing is ever read for that, so that all code may do anything
            Some(row) if !self.surveys.catalogs.has_room_for(&account.name, hostgroup) => row,
            _ => &account.name,
        };
        let catalog = self.surveys.catalogs.of(name, hostgroup);
        session.catalogs.push((hostgroup, catalog));
        Some(catalog)
    }
}

/// Whether a text may set variables for itself alone, in a comment for MySQL's optimizer.
fn has_settings_of_its_own(text: &[u8]) -> bool {
    const SET_VAR: &[u8] = b"SET_VAR";
    text.windows(SET_VAR.len()).any(|word| word.eq_ignore_ascii_case(SET_VAR))
}
