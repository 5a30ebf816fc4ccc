//! What the end of a command tells of stored code: something may be defined anew, a name is missed,
//! or was met.
//!
//! It notes, and asks for readings; what a definition makes unsure is `catalog`'s.

use sql::{Effects, Modes, Role, Verb};

use crate::catalog::{Defined, Naming, UnderWay};
use crate::holds::{Holds, How};
use crate::ids::SessionId;
use crate::proxy::Proxy;
use crate::server_error::Meaning;
use crate::session::Job;
use crate::session::maintenance::altered_schemas::may_alter_schema;
use crate::session::replying::query_end::QueryRows;
use crate::session::replying::ties;

/// What may change what a statement's result looks like.
const CHANGES_RESULTS: Effects =
    Effects::IMPLICIT_COMMIT.union(Effects::UNCLEAR).union(Effects::CALLS_PROCEDURE);

/// What may define something.
const MAY_DEFINE: Effects = CHANGES_RESULTS.union(Effects::DEFINES);

/// What may alter a schema.
const MAY_ALTER_SCHEMAS: Effects = Effects::IMPLICIT_COMMIT.union(HIDES_NAMES);

/// What a statement reaches that nobody has read.
pub(crate) const OF_UNREAD_CODE: Effects = Effects::UNKNOWN_CODE.union(Effects::PRESUMED);

/// How long a definition may go on of which nobody hears, in microseconds.
const OUT_OF_SIGHT_US: u64 = 60_000_000;

/// What makes a statement define what its text does not name.
const HIDES_NAMES: Effects = Effects::MULTI_STATEMENT
    .union(Effects::UNCLEAR)
    .union(Effects::CALLS_PROCEDURE)
    .union(Effects::TEXT_EXECUTE);

/// Whether a statement may have run a text that defines something, of which nobody knows the words:
/// such a text comes to no rows.
fn may_run_definition(effects: Effects, rows: QueryRows) -> bool {
    effects.intersects(Effects::TEXT_EXECUTE) && rows.affected == 0 && rows.sent == 0
}

/// What a text may have made of what it names. A table that gets another's name brings what that
/// ran, one that is made like another its columns, and a column may draw from a sequence.
fn defined_by(text: &[u8], modes: Modes, (how, rows): (How, QueryRows)) -> Defined {
    const MAKES_CODE: Effects = HIDES_NAMES.union(Effects::SEQUENCE);
    const OF_TABLES: [Verb; 3] = [Verb::CreateTable, Verb::AlterTable, Verb::DropTable];
    let facts = sql::facts_in(text, modes);
    let has = |word: &[u8]| text.windows(word.len()).any(|at| at.eq_ignore_ascii_case(word));
    let may_be_code = !OF_TABLES.contains(&facts.verb)
        || facts.effects.intersects(MAKES_CODE)
        || has(b"RENAME")
        || has(b"LIKE");
    // a note tells that there was something of that name
    let was_there = has(b"EXISTS") && rows.warnings > 0;
    let is_made = how == How::Done && facts.verb == Verb::CreateTable && !was_there;
    match may_be_code {
        true => Defined::Code,
        false if is_made => Defined::Table,
        false => Defined::NothingNew,
    }
}

/// Whether a text may take triggers from tables that it does not name, or drop a schema.
fn takes_unnamed(text: &[u8]) -> bool {
    let has = |word: &[u8]| text.windows(word.len()).any(|at| at.eq_ignore_ascii_case(word));
    has(b"DROP") && (has(b"TRIGGER") || has(b"DATABASE") || has(b"SCHEMA"))
}

/// What a text may define: names in front of its first query, or all of them where it may define
/// something behind that.
fn defined_names(text: &[u8], modes: Modes, hides: bool) -> impl Iterator<Item = (&[u8], Role)> {
    let mut names = sql::names(text, modes);
    std::iter::from_fn(move || {
        let named = names.next()?;
        (hides || !names.is_in_query()).then_some(named)
    })
}

impl Proxy {
    /// A statement that may have changed definitions has ended.
    fn follow_definitions(&mut self, id: SessionId, job: &Job, came: (How, QueryRows)) {
        if job.effects.intersects(CHANGES_RESULTS) {
            self.offer.stmts.definitions_changed();
        }
        if job.effects.intersects(MAY_ALTER_SCHEMAS) && self.alters_schema(id, job) {
            self.schema_altered();
        }
        if !job.effects.intersects(Effects::DEFINES) && !may_run_definition(job.effects, came.1) {
            return;
        }
        let code = &self.offer.stmts.code;
        let Some(session) = self.sessions.get(id) else { return self.impossible(()) };
        let (text, modes) = ties::text_of(session, job);
        let hides = text.is_empty() || job.effects.intersects(HIDES_NAMES);
        if session.serving.defining.is_none() {
            code.note_names(defined_names(text, modes, hides), defined_by(text, modes, came));
        }
        if hides {
            code.note_anything();
        }
        if takes_unnamed(text) {
            code.note_unnamed();
        }
        self.read_anew();
    }

    fn alters_schema(&self, id: SessionId, job: &Job) -> bool {
        let session = self.sessions.get(id);
        session.is_some_and(|session| may_alter_schema(ties::text_of(session, job).0))
    }

    /// A statement is about to be sent that may make what it names run something anew: that is not
    /// trusted from now on, and not what readings tell of it before it has ended.
    #[inline]
    pub(crate) fn begin_definition(
        &mut self,
        id: SessionId,
        (text, modes): (&[u8], Modes),
        effects: Effects,
    ) {
        if effects.intersects(Effects::DEFINES) {
            self.note_begun(id, (text, modes), effects);
        }
    }

    #[cold]
    fn note_begun(&mut self, id: SessionId, (text, modes): (&[u8], Modes), effects: Effects) {
        const BY_OTHERS: Effects = Effects::CALLS_PROCEDURE.union(Effects::TEXT_EXECUTE);
        let is_code = defined_by(text, modes, (How::Done, QueryRows::default())) == Defined::Code;
        let Some(session) = self.sessions.get_mut(id) else { return self.impossible(()) };
        if is_code && !effects.intersects(BY_OTHERS) {
            let names = defined_names(text, modes, effects.intersects(HIDES_NAMES));
            let names = names.map(|(name, _)| name);
            let under_way = UnderWay::begin(&self.offer.stmts.code, names);
            if takes_unnamed(text) {
                self.offer.stmts.code.note_unnamed();
            }
            session.serving.defining = Some(Box::new(under_way));
        }
    }

    /// A server has told the end of a statement.
    #[cold]
    pub(crate) fn end_definition(&mut self, id: SessionId) {
        let Some(session) = self.sessions.get_mut(id) else { return self.impossible(()) };
        session.serving.defining = None;
        self.read_anew();
    }

    /// Nobody will hear of the end of a statement that may define something. If it was sent, its
    /// server may not have noticed that, and go on with it.
    #[cold]
    pub(crate) fn leave_definition(&mut self, id: SessionId, was_sent: bool) {
        let Some(session) = self.sessions.get_mut(id) else { return self.impossible(()) };
        if let Some(under_way) = session.serving.defining.take().filter(|_| was_sent) {
            let until_us = self.now_us.saturating_add(OUT_OF_SIGHT_US);
            self.surveys.out_of_sight.push((under_way, until_us));
        }
    }

    /// What nobody will hear of counts as ended after a while.
    pub(crate) fn forget_out_of_sight(&mut self) {
        let now_us = self.now_us;
        let is_over = |(_, until_us): &mut (Box<UnderWay>, u64)| *until_us <= now_us;
        if self.surveys.out_of_sight.extract_if(.., is_over).count() > 0 {
            self.read_anew();
        }
    }

    /// What is known of stored code is to be read again.
    pub(crate) fn read_anew(&mut self) {
        for id in self.surveys.catalogs.ids() {
            if let Some(known) = self.surveys.catalogs.get_mut(id) {
                known.want();
            }
            self.ask_survey(id);
        }
    }

    /// A server told of an error to what a session runs: maybe it misses what a name stands for.
    pub(crate) fn note_missed(&mut self, id: SessionId, code: u16) {
        let Some(job) = self.running(id).map(|running| running.job) else {
            return self.impossible(());
        };
        let Some(session) =
            self.sessions.get(id).filter(|_| Meaning::of(code).is(Meaning::MISSING))
        else {
            return;
        };
        let (text, modes) = ties::text_of(session, &job);
        for (_, catalog) in &session.catalogs {
            self.surveys.catalogs.miss(*catalog, text, modes);
        }
    }

    /// A command did not fail of which something was not read.
    fn note_met(&mut self, id: SessionId, job: &Job) {
        let Some(session) = self.sessions.get(id) else { return self.impossible(()) };
        let (text, modes) = ties::text_of(session, job);
        if let Some(unread) = session.unread
            && let Some(known) = self.surveys.catalogs.get_mut(unread.catalog)
            && Naming::is_resolved(&sql::facts_in(text, modes))
        {
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
        (how, rows): (How, QueryRows),
        presumed: Holds,
    ) {
        if !presumed.is_empty() && job.effects.intersects(Effects::PRESUMED) {
            self.want_survey(id);
        }
        if how == How::Done && job.effects.intersects(OF_UNREAD_CODE) {
            self.note_met(id, job);
        }
        let may_define = job.effects.intersects(MAY_DEFINE);
        if how != How::Refused && (may_define || may_run_definition(job.effects, rows)) {
            self.follow_definitions(id, job, (how, rows));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_makes_or_changes_a_base_table_makes_it_run_nothing_new() {
        for (text, defined) in [
            ("CREATE TABLE t (a INT)", Defined::Table),
            ("CREATE TABLE IF NOT EXISTS t (a INT)", Defined::Table),
            ("ALTER TABLE t ADD b INT", Defined::NothingNew),
            ("DROP TABLE t", Defined::NothingNew),
            ("CREATE TABLE t LIKE u", Defined::Code),
            ("ALTER TABLE u RENAME TO t", Defined::Code),
            ("RENAME TABLE u TO t", Defined::Code),
            ("CREATE TABLE t (a INT DEFAULT (NEXT VALUE FOR s))", Defined::Code),
            ("CREATE TABLE t (a INT DEFAULT NEXTVAL(s))", Defined::Code),
            ("DROP TABLE t; CREATE VIEW t AS SELECT 1", Defined::Code),
            ("CREATE VIEW t AS SELECT 1", Defined::Code),
            ("CREATE TRIGGER x AFTER INSERT ON t FOR EACH ROW SET @a = 1", Defined::Code),
            ("CREATE FUNCTION f() RETURNS INT RETURN 1", Defined::Code),
            ("CALL p()", Defined::Code),
        ] {
            let came = (How::Done, QueryRows::default());
            assert_eq!(defined_by(text.as_bytes(), Modes::default(), came), defined, "{text}");
        }
        let warned = QueryRows { warnings: 1, ..QueryRows::default() };
        for (text, how, defined) in [
            ("CREATE TABLE t (a INT)", How::Done, Defined::Table),
            ("CREATE TABLE t (a INT)", How::Failed, Defined::NothingNew),
            ("CREATE TABLE IF NOT EXISTS t (a INT)", How::Done, Defined::NothingNew),
        ] {
            assert_eq!(defined_by(text.as_bytes(), Modes::default(), (how, warned)), defined);
        }
    }

    #[test]
    fn what_the_query_of_a_definition_names_is_not_defined() {
        for (text, hides, defined) in [
            ("CREATE VIEW v AS SELECT a FROM t", false, "CREATE VIEW v AS"),
            ("CREATE TABLE x AS SELECT a FROM t", false, "CREATE TABLE x AS"),
            ("RENAME TABLE u TO t", false, "RENAME TABLE u TO t"),
            ("SELECT a FROM t; DROP TABLE x", true, "SELECT a FROM t DROP TABLE x"),
        ] {
            let names = defined_names(text.as_bytes(), Modes::default(), hides);
            let names: Vec<&[u8]> = names.map(|(name, _)| name).collect();
            let has = |word: &str| names.contains(&word.as_bytes());
            for word in ["v", "x", "u", "t"] {
                assert_eq!(has(word), defined.split(' ').any(|it| it == word), "{word}: {text}");
            }
        }
        let trigger = b"CREATE TRIGGER x AFTER INSERT ON t FOR EACH ROW SET @a = (SELECT b FROM u)";
        let names = defined_names(trigger, Modes::default(), false);
        let names: Vec<&[u8]> = names.map(|(name, _)| name).collect();
        assert!(names.contains(&b"t".as_slice()) && !names.contains(&b"u".as_slice()));
    }

    #[test]
    fn a_text_that_nobody_has_read_may_define_something_if_it_comes_to_no_rows() {
        let rows = |affected, sent| QueryRows { affected, sent, warnings: 0 };
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
