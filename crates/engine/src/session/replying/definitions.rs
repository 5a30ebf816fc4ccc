//! What the end of a command tells of stored code: something may be defined anew, a name is missed,
//! or was met.
//!
//! It notes, and asks for readings; what a definition makes unsure is `catalog`'s.

use sql::Effects;

use crate::holds::{Holds, How};
use crate::ids::SessionId;
use crate::proxy::Proxy;
use crate::session::Job;
use crate::session::replying::query_end::Rows;
use crate::session::replying::ties;

/// What may change what a statement's result looks like.
const CHANGES_RESULTS: Effects =
    Effects::IMPLICIT_COMMIT.union(Effects::UNCLEAR).union(Effects::CALLS_PROCEDURE);

/// What may define something.
const MAY_DEFINE: Effects = CHANGES_RESULTS.union(Effects::DEFINES);

/// What makes a statement define what its text does not name.
const HIDES_NAMES: Effects = Effects::MULTI_STATEMENT
    .union(Effects::UNCLEAR)
    .union(Effects::CALLS_PROCEDURE)
    .union(Effects::TEXT_EXECUTE);

/// Whether a statement may have run a text that defines something, of which nobody knows the words:
/// such a text comes to no rows.
fn may_run_definition(effects: Effects, rows: Rows) -> bool {
    effects.intersects(Effects::TEXT_EXECUTE) && rows.affected == 0 && rows.sent == 0
}

impl Proxy {
    /// A statement that may have changed definitions has ended.
    fn follow_definitions(&mut self, id: SessionId, job: &Job, runs_definition: bool) {
        if job.effects.intersects(CHANGES_RESULTS) {
            self.offer.stmts.definitions_changed();
        }
        if !job.effects.intersects(Effects::DEFINES) && !runs_definition {
            return;
        }
        let code = &self.offer.stmts.code;
        let text = self.sessions.get(id).map(|session| ties::text_of(session, job));
        match text.filter(|(text, _)| !text.is_empty() && !job.effects.intersects(HIDES_NAMES)) {
            Some((text, modes)) => code.note_names(sql::names(text, modes).map(|(name, _)| name)),
            None => code.note_anything(),
        }
        for id in self.surveys.catalogs.ids() {
            if let Some(known) = self.surveys.catalogs.get_mut(id) {
                known.want();
            }
            self.ask_survey(id);
        }
    }

    /// A command of a session failed, maybe for a name that is nobody's.
    pub(crate) fn note_missed(&mut self, id: SessionId) {
        let Some(job) = self.running(id).map(|running| running.job) else { return };
        let Some(catalog) = self.catalog_of(id, Some(job.hostgroup)) else { return };
        let Some(session) = self.sessions.get(id) else { return self.impossible(()) };
        let (text, modes) = ties::text_of(session, &job);
        self.surveys.catalogs.miss(catalog, text, modes);
    }

    /// A command did not fail of which something was not read.
    fn note_met(&mut self, id: SessionId, job: &Job) {
        let Some(catalog) = self.catalog_of(id, Some(job.hostgroup)) else { return };
        let Some(session) = self.sessions.get(id) else { return self.impossible(()) };
        let (text, modes) = ties::text_of(session, job);
        if let Some(known) = self.surveys.catalogs.get_mut(catalog) {
            known.meet(text, modes);
        }
    }

    /// What a command means for what is known of stored code: it may have defined some, a lane is
    /// kept for what nobody has read, or names that nobody knows were somebody's.
    #[inline]
    pub(crate) fn follow_code(
        &mut self,
        id: SessionId,
        job: &Job,
        (how, rows): (How, Rows),
        presumed: Holds,
    ) {
        if !presumed.is_empty() && job.effects.intersects(Effects::PRESUMED) {
            self.want_survey(id);
        }
        if how == How::Done && job.effects.intersects(Effects::UNKNOWN_CODE) {
            self.note_met(id, job);
        }
        let runs_definition = may_run_definition(job.effects, rows);
        if how != How::Refused && (runs_definition || job.effects.intersects(MAY_DEFINE)) {
            self.follow_definitions(id, job, runs_definition);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_nobody_has_read_may_define_something_if_it_comes_to_no_rows() {
        let rows = |affected, sent| Rows { affected, sent };
        for (text, rows, may_define) in [
            ("EXECUTE s", rows(0, 0), true),
            ("EXECUTE IMMEDIATE @v", rows(0, 0), true),
            ("EXECUTE s", rows(1, 0), false),
            ("EXECUTE s", rows(0, 1), false),
            ("PREPARE s FROM @v", rows(0, 0), false),
            ("UPDATE t SET a = 1", rows(0, 0), false),
        ] {
            let effects = sql::facts(text.as_bytes()).effects;
            assert_eq!(may_run_definition(effects, rows), may_define, "{text}, {rows:?}");
        }
    }
}
