//! `COM_QUERY` and the other commands with a reply that are not about prepared statements.

use sql::{Access, Assignment, Effects, Facts, Modes, SetStatement, Verb};
use wire::Caps;
use wire::command::{Command, code};
use wire::frame::{HEADER_BYTES, Span};
use wire::result::ReplyKind;

use crate::catalog::{How, InsertId, Naming};
use crate::error;
use crate::holds::{self, Holds};
use crate::ids::SessionId;
use crate::lane::policy::is_shareable;
use crate::link::LinkState;
use crate::link::assign::{OF_THE_PROXY, assigned};
use crate::proxy::Proxy;
use crate::route::{Conduct, Route};
use crate::rules::Multiplex;
use crate::session::command::cached::{CachedText, FromCache};
use crate::session::placing::destination::{Placing, needs_insert_id};
use crate::session::replying::ties;
use crate::session::running::run::KNOW_BETTER;
use crate::session::{Job, Session, What};

/// What a `SET` amounts to.
enum SetPlan {
    /// Its outcome is certain: nothing needs to be sent, and it is answered.
    Answered,
    /// It is sent, and replayed elsewhere once the server has accepted it.
    /// With the reasons to keep the lane, whether it may run again should it be lost, and what
    /// ends with it.
    Replayed((Holds, bool, Effects)),
    /// It is sent, and holds the lane.
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
        let route = self.route(id, text);
        if route.answer.is_some() {
            let facts = self.facts_of(id, text, upload.is_some());
            self.note_class(id, sql::command_class(&facts));
            return self.answer_by_rule(id, &route, upload);
        }
        match self.take_rewritten(&route) {
            Some(new) if self.is_too_long(&new) => {
                self.answer_error(id, &error::packet_too_large());
            }
            Some(new) => {
                self.serve_query(id, None, &new, None, &route);
                self.spare_buffer(new);
            }
            None => self.serve_query(id, Some(raw), text, upload, &route),
        }
    }

    /// Serves a text; `raw` is the command that carried it, if it is to be sent as it came.
    pub(crate) fn serve_query(
        &mut self,
        id: SessionId,
        raw: Option<&[u8]>,
        text: &[u8],
        upload: Option<Span>,
        route: &Route,
    ) {
        let modes = self.modes(id);
        let mut facts = self.facts_of_routed(text, modes, upload.is_some());
        self.note_class(id, sql::command_class(&facts));
        self.count_verb(id, facts.verb);
        if self.needs_no_server(id, text, &facts, upload) {
            return;
        }
        let judged = self.defined();
        let reach = self.reach_of_routed(id, text, &facts, route.destination);
        self.begin_definition(id, (text, modes), facts.effects | reach);
        let with_results = self.with_results(id, text, &facts).filter(|_| upload.is_none());
        if with_results.is_some() {
            facts.effects = self.without_results(id, text, &facts);
        }
        let raw = raw.filter(|_| with_results.is_none());
        let text = with_results.as_deref().unwrap_or(text);
        let asked = CachedText { text, modes, facts: &facts, reach, is_cut: upload.is_some() };
        let FromCache::NotTold { fills } = self.text_from_cache(id, &asked, route) else { return };
        let whole = (text, upload.is_some());
        let (insert_id, reach) = self.insert_id_of_text(id, whole, &facts, reach, route);
        facts.effects |= reach;
        let mut holds = holds_of(&facts, text);
        let mut what = What::Plain;
        let (mut repeatable, mut ends) = (sql::is_repeatable(&facts), Effects::NONE);
        if facts.verb == Verb::Set && upload.is_none() {
            match self.track_set(id, text, &facts) {
                SetPlan::Answered => return,
                SetPlan::Replayed(plan) => (holds, repeatable, ends) = plan,
                SetPlan::Sent => {}
            }
            what = What::Set;
        } else if facts.schema.is_some() && sql::parse_use_in(text, modes).is_some() {
            what = self.choosing_schema();
        } else if may_set_variables(facts.effects) {
            self.note_variables(id, text, false);
        }
        self.look_closer(id, (text, modes), &facts, &mut holds);
        let is_shareable = is_shareable(facts.verb, facts.effects) && modes.read_as_default(text);
        let job = Job {
            repeatable,
            effects: facts.effects,
            holds: without_ignored(holds, route),
            needs_insert_id: needs_insert_id(facts.effects, holds),
            insert_id,
            upload,
            judged,
            // what is a name to the server counts as a value in the digest
            sharing: Self::sharing_of(is_shareable, route),
            lag_max_us: self.lag_max_us(route),
            fills,
            ..Job::routed(what, ReplyKind::Result, route)
        };
        match raw {
            Some(raw) => self.keep(id, raw),
            None => self.keep_text(id, code::QUERY, text),
        }
        let copy = upload.map_or_else(|| self.copy_of(id, text, &facts, route), |_| None);
        let conduct = Conduct::of_text(&facts, job.holds).reaching(reach | ends);
        let placing = Placing { conduct, destination: route.destination, fresh: job.fresh };
        self.begin_after(id, route.delay_ms, job, Some(placing));
        self.mirror(copy);
    }

    /// What the last insert id is after a text, and what the text reaches besides; `cut` tells that
    /// only its beginning is there.
    fn insert_id_of_text(
        &mut self,
        id: SessionId,
        (text, cut): (&[u8], bool),
        facts: &Facts,
        reach: Effects,
        route: &Route,
    ) -> (InsertId, Effects) {
        let own = facts.effects;
        if !own.union(reach).intersects(MAY_GIVE_INSERT_ID) {
            return (InsertId::Told, reach);
        }
        let how = self.how(id, Naming::of(facts));
        self.insert_id_of(id, (text, how), (own, reach), (route, cut))
    }

    /// The same of a text that may give numbers to rows: where it certainly does, or does not,
    /// nothing has to be asked.
    #[cold]
    pub(crate) fn insert_id_of(
        &mut self,
        id: SessionId,
        (text, how): (&[u8], How),
        (own, reach): (Effects, Effects),
        (route, cut): (&Route, bool),
    ) -> (InsertId, Effects) {
        if cut || own.intersects(Effects::TEXT_EXECUTE) {
            return (InsertId::Asked, reach);
        }
        match self.insert_id_after(id, text, how, route.destination) {
            // it may set the id as well
            known @ (InsertId::Told | InsertId::Kept | InsertId::ByRows)
                if !own.intersects(Effects::SETS_LAST_INSERT_ID) =>
            {
                (known, reach.without(Effects::GIVES_INSERT_ID))
            }
            _ => (InsertId::Asked, reach),
        }
    }

    /// Answers a statement, or refuses it, that no server has to see.
    fn needs_no_server(
        &mut self,
        id: SessionId,
        text: &[u8],
        facts: &Facts,
        upload: Option<Span>,
    ) -> bool {
        // each is known by an effect, but a KILL to a server that reads texts in another way
        if facts.effects.is_empty() && !self.may_kill(id, text) {
            return false;
        }
        self.refused_file(id, facts, upload)
            || self.served_as_kill(id, text, facts, upload)
            || self.answered_locally(id, text, facts)
    }

    /// The text with what the statement before came to, if it asks for that: a lane may be another
    /// one than then, or run something in front of the text.
    fn with_results(&self, id: SessionId, text: &[u8], facts: &Facts) -> Option<Vec<u8>> {
        let several = Effects::MULTI_STATEMENT.union(Effects::UNCLEAR);
        if !facts.effects.intersects(RESULTS) || facts.effects.intersects(several) {
            return None;
        }
        let session = self.sessions.get(id)?;
        let is_told = session.held_for(Holds::FOUND_ROWS).is_none();
        let found_rows = Some(session.last.found_rows).filter(|_| is_told);
        let row_count = session.last.row_count;
        let connection_id =
            session.reads_own_id(text, facts).then_some(session.client.connection.0);
        let results = sql::Results { row_count, found_rows, connection_id };
        // where these tie the session, the connection knows what the statement before came to
        let is_certain = session.held_for(KNOW_BETTER.without(Holds::LAST_INSERT_ID)).is_none();
        results.put_into(text, facts.verb, session.want.modes()).filter(|_| is_certain)
    }

    /// The effects of a text that results were put into: the connection's id and the count of found
    /// rows are among them or not.
    fn without_results(&self, id: SessionId, text: &[u8], facts: &Facts) -> Effects {
        let Some(session) = self.sessions.get(id) else { return self.impossible(facts.effects) };
        let mut effects = facts.effects.without(Effects::READS_ROW_COUNT);
        if session.reads_own_id(text, facts) {
            effects = effects.without(Effects::CONNECTION_ID);
        }
        match session.held_for(Holds::FOUND_ROWS) {
            None => effects.without(Effects::READS_FOUND_ROWS),
            Some(_) => effects,
        }
    }

    /// Counts a statement that has a counter of its own.
    fn count_verb(&mut self, id: SessionId, verb: Verb) {
        let count = match verb {
            Verb::Commit => &mut self.stats.commits,
            Verb::Rollback => &mut self.stats.rollbacks,
            Verb::Use => &mut self.stats.use_dbs,
            Verb::SelectForUpdate => {
                let Some(session) = self.sessions.get(id) else { return self.impossible(()) };
                self.stats.selects_for_update += u64::from(!session.want.autocommit);
                return;
            }
            _ => return,
        };
        *count += 1;
    }

    /// Whether a `DROP DATABASE` leaves the session the schema that it has.
    fn drops_another_schema(&self, id: SessionId, text: &[u8]) -> bool {
        let Some(want) = self.sessions.get(id).map(|session| &session.want) else { return false };
        let own = want.schema.as_deref();
        sql::parse_drop_schema(text, want.modes()).is_some_and(|dropped| match own {
            Some(own) => !own.eq_ignore_ascii_case(dropped),
            None => true,
        })
    }

    /// The facts of a text, of which only the beginning may be there; the rest of one that is
    /// longer than what is usually kept is not looked at either.
    pub(crate) fn facts_of(&self, id: SessionId, text: &[u8], is_cut: bool) -> Facts {
        let modes = self.modes(id);
        self.long_facts_of(text, is_cut, modes).unwrap_or_else(|| sql::facts_in(text, modes))
    }

    /// The same for the text that was routed last, as rewritten.
    fn facts_of_routed(&mut self, text: &[u8], modes: Modes, is_cut: bool) -> Facts {
        let long = self.long_facts_of(text, is_cut, modes);
        long.unwrap_or_else(|| match modes.read_as_default(text) {
            true => self.processor.facts(text),
            false => sql::facts_in(text, modes),
        })
    }

    /// How a session's texts are read.
    #[inline]
    pub(crate) fn modes(&self, id: SessionId) -> Modes {
        self.sessions.get(id).map_or(Modes::default(), |session| session.want.modes())
    }

    fn long_facts_of(&self, text: &[u8], is_cut: bool, modes: Modes) -> Option<Facts> {
        let longest = self.snapshot.vars.threshold_query_length as usize;
        match text.get(..longest) {
            Some(beginning) if text.len() > longest => Some(long_facts(beginning, modes)),
            _ if is_cut => Some(long_facts(text, modes)),
            _ => None,
        }
    }

    /// Takes back reasons to keep a connection where a look at the text shows that there are none.
    #[inline]
    fn look_closer(
        &self,
        id: SessionId,
        (text, modes): (&[u8], Modes),
        facts: &Facts,
        holds: &mut Holds,
    ) {
        if facts.effects.intersects(Effects::USER_LOCK) && ties::takes_no_lock(text, modes) {
            holds.set(Holds::GET_LOCK, false);
        }
        if facts.verb == Verb::DropDatabase && self.drops_another_schema(id, text) {
            holds.set(Holds::SET, false);
        }
    }

    /// What becomes of a `SET`; takes note of what only a server knows, or may.
    fn track_set(&mut self, id: SessionId, text: &[u8], facts: &Facts) -> SetPlan {
        let plan = self.follow_set(id, text, facts);
        if facts.effects.intersects(Effects::USER_VARIABLE) {
            self.note_variables(id, text, !matches!(plan, SetPlan::Sent));
        }
        plan
    }

    /// A text sets user variables, by what is known of them or to what its server says.
    #[inline(never)]
    fn note_variables(&mut self, id: SessionId, text: &[u8], is_known: bool) {
        let Some(session) = self.sessions.get_mut(id) else { return self.impossible(()) };
        session.variable_texts.note(text, is_known);
    }

    /// Answers a `SET` whose outcome is certain, unless its lane has to know of it; else says
    /// what becomes of it.
    fn follow_set(&mut self, id: SessionId, text: &[u8], facts: &Facts) -> SetPlan {
        const KNOWN: Effects = Effects::SYSTEM_VARIABLE
            .union(Effects::USER_VARIABLE)
            .union(Effects::SETS_USER_VARIABLE)
            .union(Effects::READS_LAST_INSERT_ID)
            .union(Effects::CALLS_CODE);
        let Some(session) = self.sessions.get_mut(id) else {
            return self.impossible(SetPlan::Sent);
        };
        if !facts.effects.without(KNOWN).is_empty() {
            return SetPlan::Sent;
        }
        let Some(set) = sql::parse_set_in(text, session.want.modes()) else { return SetPlan::Sent };
        let Some(assigned) = assigned(&session.want, &set) else {
            let can_be_told = session.caps.contains(Caps::SESSION_TRACK);
            session.told_any_change |= can_be_told && sets_tracking(&set);
            return SetPlan::Sent;
        };
        // the name of the schema is in the character set of before
        if assigned.state.charset != session.want.charset
            && session.want.schema.as_ref().is_some_and(|schema| !schema.is_ascii())
        {
            return SetPlan::Sent;
        }
        for assignment in &set.assignments {
            self.stats.set_names += u64::from(matches!(assignment, Assignment::Names { .. }));
            self.stats.autocommits += u64::from(matches!(assignment, Assignment::Autocommit(_)));
        }
        let settings = session.want.settings.as_deref();
        // what its client is told of is not what servers tell of by default
        let tells = settings.is_some_and(|settings| settings.get(TRACKED).is_some());
        let busy = tells || session.held_for(Holds::PINNING.union(Holds::TRANSACTION)).is_some();
        if assigned.is_certain && !busy {
            let is_autocommit = |a: &&Assignment<'_>| matches!(a, Assignment::Autocommit(_));
            let filtered = set.assignments.iter().filter(is_autocommit).count();
            self.stats.autocommits_filtered += filtered as u64;
            let state = self.shared(assigned.state);
            if let Some(session) = self.sessions.get_mut(id) {
                session.want = state;
                session.last.insert_id = assigned.insert_id.unwrap_or(session.last.insert_id);
            }
            if assigned.insert_id.is_some() {
                self.insert_id_told(id, None);
            }
            self.answer_set(id, &set);
            return SetPlan::Answered;
        }
        let mut holds = Holds::NONE;
        holds.set(Holds::NEXT_TRANSACTION, assigned.next_transaction);
        // a global one may be made of what it was
        let repeatable = !set.assignments.contains(&Assignment::Global);
        let commits = set.assignments.contains(&Assignment::Autocommit(true));
        let ends = if commits { Effects::IMPLICIT_COMMIT } else { Effects::NONE };
        SetPlan::Replayed((holds, repeatable, ends))
    }

    /// What the kept command, a `SET` that its server has accepted, makes of the session.
    pub(crate) fn assigned_by_kept(&mut self, id: SessionId) -> Option<LinkState> {
        let text = self.kept(id).get(HEADER_BYTES + 1..)?;
        let want = &self.sessions.get(id)?.want;
        let assigned = assigned(want, &sql::parse_set_in(text, want.modes())?)?;
        if let (Some(session), Some(insert_id)) = (self.sessions.get_mut(id), assigned.insert_id) {
            session.last.insert_id = insert_id;
        }
        let state = self.shared(assigned.state);
        if state.wait_timeout_us() < u64::MAX {
            self.wake(id, self.now_us.saturating_add(state.wait_timeout_us()));
        }
        Some(state)
    }

    /// Sessions with the same settings share them, so that they are mostly compared by address.
    pub(crate) fn shared(&mut self, mut state: LinkState) -> LinkState {
        const SEEN_MAX: usize = 64;
        let Some(settings) = &state.settings else { return state };
        match self.settings_seen.iter().find(|seen| *seen == settings) {
            Some(seen) => state.settings = Some(seen.clone()),
            None => {
                self.settings_seen.truncate(SEEN_MAX - 1);
                self.settings_seen.insert(0, settings.clone());
            }
        }
        state
    }

    pub(crate) fn on_init_db(&mut self, id: SessionId, raw: &[u8]) {
        self.stats.init_dbs += 1;
        let what = self.choosing_schema();
        let job = self.unrouted(what, ReplyKind::Simple);
        self.begin_unrouted(id, raw, Job { repeatable: true, ..job });
    }

    pub(crate) fn on_plain(&mut self, id: SessionId, raw: &[u8], command: &Command<'_>) {
        let kind = command.reply_kind().unwrap_or(ReplyKind::Simple);
        let job = self.unrouted(What::Plain, kind);
        // the fields of a view have it opened
        let effects = match command {
            Command::FieldList { .. } => Effects::CALLS_CODE,
            _ => Effects::NONE,
        };
        self.begin_unrouted(id, raw, Job { repeatable: true, effects, ..job });
    }

    /// A command that is passed on and ties the session to its lane.
    pub(crate) fn on_pinning(&mut self, id: SessionId, raw: &[u8], holds: Holds) {
        let job = self.unrouted(What::Plain, ReplyKind::Simple);
        self.begin_unrouted(id, raw, Job { holds, ..job });
    }

    /// Sets off with a command that no rule looks at.
    pub(crate) fn begin_unrouted(&mut self, id: SessionId, raw: &[u8], job: Job) {
        self.keep(id, raw);
        self.begin(id, job, Placing::of(&job));
    }

    /// A command that no rule looks at; it does nothing that is known of yet.
    pub(crate) fn unrouted(&self, what: What, reply: ReplyKind) -> Job {
        let vars = &self.snapshot.vars;
        let (retries, timeout_ms) = (vars.query_retries_on_failure, vars.default_query_timeout_ms);
        Job::routed(what, reply, &Route { retries, timeout_ms, ..Route::default() })
    }
}

/// Whether a text that is no `SET` may set user variables.
fn may_set_variables(effects: Effects) -> bool {
    const IN_A_BLOCK: Effects = Effects::USER_VARIABLE.union(Effects::MULTI_STATEMENT);
    effects.intersects(Effects::SETS_USER_VARIABLE.union(Effects::RUNS_TEXTS))
        || effects.contains(IN_A_BLOCK)
}

/// The variables of which servers tell clients.
const TRACKED: &[u8] = b"session_track_system_variables";

/// Whether a `SET` says if its client is told of any change in the server's session.
fn sets_tracking(set: &SetStatement<'_>) -> bool {
    set.assignments.iter().any(|assignment| match assignment {
        Assignment::Variable { name, .. } => name.eq_ignore_ascii_case(OF_THE_PROXY),
        _ => false,
    })
}

/// The reasons to keep a lane that a statement gives.
#[inline]
pub(crate) fn holds_of(facts: &Facts, text: &[u8]) -> Holds {
    if facts.effects.is_empty() && facts.verb != Verb::Set {
        return Holds::NONE;
    }
    reasons_of(facts, text)
}

#[inline(never)]
fn reasons_of(facts: &Facts, text: &[u8]) -> Holds {
    let mut holds = holds::of_text(facts);
    let may_set = facts.verb == Verb::Set || facts.effects.intersects(Effects::MULTI_STATEMENT);
    if may_set && names_insert_id(text) {
        holds.set(Holds::LAST_INSERT_ID, true);
    }
    let starts = facts.effects.intersects(Effects::TRANSACTION_START) && names(text, b"read");
    // by itself it has no strings, and a comment says nothing; where a word ends may depend on the
    // character set
    if starts && (may_set || !text.is_ascii() || sql::has_word(text, b"read")) {
        holds.set(Holds::CHARACTERISTICS, true);
    }
    // the server tells of a change in any case, not of what a function or trigger did
    let is_harmless = || facts.access == Access::Reads && sql::only_computes(text);
    if facts.effects.intersects(Effects::SET_STATEMENT) && !is_harmless() {
        holds.set(Holds::STATE_CHANGE, true);
    }
    holds
}

/// Whether a `SET` may give the last insert id a value.
fn names_insert_id(text: &[u8]) -> bool {
    names(text, b"last_insert_id") || names(text, b"identity")
}

/// Whether a text has a word in it, in letters of either case.
fn names(text: &[u8], word: &[u8]) -> bool {
    text.windows(word.len()).any(|part| part.eq_ignore_ascii_case(word))
}

/// Asks what the statement before came to, or for the connection's id.
const RESULTS: Effects =
    Effects::READS_ROW_COUNT.union(Effects::READS_FOUND_ROWS).union(Effects::CONNECTION_ID);

impl Session {
    /// Whether `CONNECTION_ID()` in a text is the id that the client was told. Beside tables and
    /// named locks it is the server's own, which those may have.
    fn reads_own_id(&self, text: &[u8], facts: &Facts) -> bool {
        let names_tables = || text.windows(4).any(|word| word.eq_ignore_ascii_case(b"from"));
        facts.verb == Verb::Select
            && facts.effects.intersects(Effects::CONNECTION_ID)
            && !facts.effects.intersects(Effects::USER_LOCK)
            && self.held_for(Holds::CONNECTION_ID.union(Holds::GET_LOCK)).is_none()
            && !names_tables()
    }
}

/// An OK may tell an id that is not the last insert id.
pub(crate) const MAY_GIVE_INSERT_ID: Effects =
    Effects::GIVES_INSERT_ID.union(Effects::TEXT_EXECUTE);

/// The reasons to keep a lane that its route leaves of those that a text gives.
pub(crate) fn without_ignored(mut holds: Holds, route: &Route) -> Holds {
    if route.multiplex == Some(Multiplex::IgnoreVariables) {
        holds.set(Holds::USER_VARIABLE.union(Holds::SET), false);
    }
    holds
}

/// The facts of a text that is longer than what is kept. Its rest is not seen, so everything that
/// its beginning does not rule out is assumed, where data does not follow by nature.
fn long_facts(text: &[u8], modes: Modes) -> Facts {
    let mut facts = sql::facts_in(text, modes);
    let data = matches!(facts.verb, Verb::Insert | Verb::Replace | Verb::Update);
    if !data {
        facts.effects.insert(Effects::UNCLEAR);
        facts.access = Access::Changes;
    } else {
        // an unfinished string may have been read as something else
        facts.effects = facts.effects.without(Effects::UNCLEAR);
        facts.effects.insert(Effects::READS_LAST_INSERT_ID.union(Effects::UNREAD));
        // it may return rows, and servers then tell no id
        if facts.verb != Verb::Update {
            facts.effects.insert(Effects::SETS_LAST_INSERT_ID);
        }
    }
    facts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_transaction_is_is_seen_wherever_its_words_end() {
        let texts: [&[u8]; 4] = [
            b"START TRANSACTION READ ONLY",
            b"START TRANSACTION\xa0READ ONLY",
            b"START TRANSACTION READ\xa0ONLY",
            b"START\xa0TRANSACTION/**/READ\xa0WRITE",
        ];
        for text in texts {
            let facts = sql::Modes::all().map(|modes| sql::facts_in(text, modes));
            let starts = |facts: &Facts| facts.effects.intersects(Effects::TRANSACTION_START);
            let starting: Vec<_> = facts.filter(starts).collect();
            assert!(!starting.is_empty(), "{text:?}");
            for facts in starting {
                assert!(holds_of(&facts, text).intersects(Holds::CHARACTERISTICS), "{text:?}");
            }
        }
    }
}
