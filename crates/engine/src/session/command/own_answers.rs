//! Answers that need no server: OK, errors, and statements about the proxy's own connection.

use sql::{Effects, Facts, SetStatement, Verb};
use wire::frame::Span;
use wire::reply::{
    ColumnDef, ColumnFlags, ColumnKind, EofPacket, ErrPacket, OkPacket, write_eof, write_err,
    write_ok, write_text_result,
};
use wire::{Caps, Status, frame};

use crate::error::{self, SqlError};
use crate::holds::Holds;
use crate::ids::SessionId;
use crate::orders::End;
use crate::proxy::Proxy;
use crate::route::{Answer, Route};
use crate::session::replying::query_end::QueryRows;
use crate::session::replying::session_track::changes_by;
use crate::session::{Session, Then};

/// The status flags a session shows when the proxy answers.
pub(crate) fn status_of(session: &Session) -> Status {
    let mut status = Status::default();
    if session.want.autocommit {
        status = status.union(Status::AUTOCOMMIT);
    }
    let mut lasts = Status::NO_BACKSLASH_ESCAPES.union(Status::ANSI_QUOTES);
    if session.in_transaction() && session.tells_transaction {
        status = status.union(Status::IN_TRANS);
        lasts = lasts.union(Status::IN_TRANS_READONLY);
    }
    // clients escape texts by it
    status.union(session.last.told.intersect(lasts))
}

impl Proxy {
    /// An OK packet; `info` is text for people.
    pub(crate) fn send_ok(&mut self, id: SessionId, seq: u8, info: &[u8]) {
        self.send_ok_telling(id, seq, info, &[]);
    }

    /// The same with what has changed, for a client that asks to be told.
    pub(crate) fn send_ok_telling(
        &mut self,
        id: SessionId,
        mut seq: u8,
        info: &[u8],
        session_track: &[u8],
    ) {
        let Some(session) = self.sessions.get(id) else { return self.impossible(()) };
        let status = status_of(session);
        let ok = OkPacket { status, info, session_track, ..OkPacket::default() };
        let caps = session.caps;
        self.orders.send(End::Client(id), |out| write_ok(out, &mut seq, caps, &ok));
    }

    /// An ERR packet.
    pub(crate) fn send_error(&mut self, id: SessionId, mut seq: u8, error: &SqlError) {
        if self.sessions.get(id).is_some_and(Session::is_mirror) {
            return;
        }
        self.stats.errors_generated += 1;
        let packet = ErrPacket {
            code: error.code,
            sqlstate: error.sqlstate,
            message: error.message.as_bytes(),
        };
        self.orders.send(End::Client(id), |out| write_err(out, &mut seq, &packet));
    }

    /// Answers a command with OK.
    pub(crate) fn answer_ok(&mut self, id: SessionId) {
        self.answer_ok_saying(id, 1, b"");
    }

    fn answer_ok_saying(&mut self, id: SessionId, seq: u8, info: &[u8]) {
        self.answered(id, true);
        if let Some(session) = self.sessions.get_mut(id) {
            session.last.row_count = 0;
        }
        self.send_ok(id, seq, info);
    }

    /// Tells a client what became of a command that no server served; `seq` comes after its last
    /// packet.
    pub(crate) fn tell(&mut self, id: SessionId, seq: u8, then: &Then) {
        match then {
            Then::Nothing => {}
            Then::Ok(text) => self.answer_ok_saying(id, seq, text.as_bytes()),
            Then::Error(error) | Then::Unserved(error) => {
                self.answered(id, false);
                self.send_error(id, seq, error);
            }
        }
        if matches!(then, Then::Unserved(_)) {
            self.end_if_more_sent(id);
        }
    }

    /// Answers a `SET` that no server was asked about.
    pub(crate) fn answer_set(&mut self, id: SessionId, set: &SetStatement<'_>) {
        self.answered(id, true);
        let Some(session) = self.sessions.get_mut(id) else { return self.impossible(()) };
        session.last.row_count = 0;
        let track = match session.caps.contains(Caps::SESSION_TRACK) {
            true => changes_by(set),
            false => Vec::new(),
        };
        self.send_ok_telling(id, 1, b"", &track);
    }

    /// Answers a query, or the execution of a statement, as a rule says.
    pub(crate) fn answer_by_rule(&mut self, id: SessionId, route: &Route, upload: Option<Span>) {
        let Some(answer) = &route.answer else { return };
        self.stats.answered_by_rules += 1;
        let then = match &**answer {
            Answer::Error(text) => Then::Error(error::refused_by_rule(text)),
            Answer::Ok(text) => Then::Ok(text.clone()),
        };
        self.refuse_with(id, upload, then);
    }

    /// A command was answered by the proxy itself.
    pub(crate) fn answered(&mut self, id: SessionId, is_ok: bool) {
        self.count(id, is_ok);
        self.tell_end(id, None, QueryRows::default());
    }

    /// Answers a command with an EOF, or the OK that stands for it.
    pub(crate) fn answer_eof(&mut self, id: SessionId) {
        self.answered(id, true);
        let Some(session) = self.sessions.get_mut(id) else { return self.impossible(()) };
        session.last.row_count = 0;
        let eof = EofPacket { warnings: 0, status: status_of(session) };
        let caps = session.caps;
        self.orders.send(End::Client(id), |out| write_eof(out, &mut 1, caps, eof));
    }

    /// Answers a command with an error.
    pub(crate) fn answer_error(&mut self, id: SessionId, error: &SqlError) {
        self.answered(id, false);
        self.send_error(id, 1, error);
    }

    /// Answers `COM_STATISTICS`.
    pub(crate) fn answer_statistics(&mut self, id: SessionId) {
        self.answered(id, true);
        let uptime = self.now_us.saturating_sub(self.started_us) / 1_000_000;
        let (all, told) = self.overall;
        let threads = all.clients.max(self.session_count() as u64);
        let questions = all.queries + self.stats.queries.saturating_sub(told.queries);
        let slow = all.slow + self.stats.slow.saturating_sub(told.slow);
        let average = questions as f64 / uptime.max(1) as f64;
        let text = format!(
            "Uptime: {uptime}  Threads: {threads}  Questions: {questions}  \
             Slow queries: {slow}  Opens: 0  Open tables: 0  \
             Queries per second avg: {average:.3}"
        );
        self.orders.send(End::Client(id), |out| {
            frame::write_packet(out, &mut 1, text.as_bytes());
        });
    }

    /// Answers with one whole number, in that column.
    fn answer_number(&mut self, id: SessionId, column: ColumnDef<'_>, value: &str) {
        self.answered(id, true);
        let Some(session) = self.sessions.get_mut(id) else { return self.impossible(()) };
        session.last.row_count = -1;
        session.last.found_rows = 1;
        let (caps, status) = (session.caps, status_of(session));
        self.orders.send(End::Client(id), |out| {
            let row = [Some(value.as_bytes())];
            write_text_result(out, &mut 1, caps, &[column], &[&row], status);
        });
    }

    /// Answers a text that is about the proxy's own connection; `false` when it is not.
    pub(crate) fn answered_locally(&mut self, id: SessionId, text: &[u8], facts: &Facts) -> bool {
        const ASKS: Effects =
            Effects::CONNECTION_ID.union(Effects::READS_ROW_COUNT).union(Effects::READS_FOUND_ROWS);
        if facts.effects == Effects::TRANSACTION_END {
            return self.answer_needless_end(id, facts.verb);
        }
        if facts.effects.intersects(Effects::SHOW_WARNINGS) && self.answer_diagnostics(id, text) {
            return true;
        }
        if facts.effects.intersects(Effects::UNCLEAR) && self.answered_internal(id, bare(text)) {
            return true;
        }
        if !facts.effects.intersects(ASKS) {
            return false;
        }
        let Some(session) = self.sessions.get(id) else { return self.impossible(false) };
        let Some((verb, name)) = bare(text).split_at_checked(b"select ".len()) else {
            return false;
        };
        let is = |called: &[u8]| {
            verb.eq_ignore_ascii_case(b"select ") && name.eq_ignore_ascii_case(called)
        };
        let is_held = session.held_for(Holds::CONNECTION_ID).is_some();
        if is(b"connection_id()") && !is_held {
            let value = session.client.connection.0.to_string();
            let column = match self.offer.collations.are_of_mariadb() {
                true => ColumnDef { kind: ColumnKind::LONG, length: 10, ..number(name) },
                false => number(name),
            };
            let flags = ColumnFlags(column.flags.0 | ColumnFlags::UNSIGNED.0);
            self.answer_number(id, ColumnDef { flags, ..column }, &value);
            return true;
        }
        if session.held_for(Holds::PINNING).is_some() {
            return false;
        }
        if is(b"row_count()") {
            let value = session.last.row_count.to_string();
            self.answer_number(id, number(name), &value);
        } else if is(b"found_rows()") && session.held_for(Holds::FOUND_ROWS).is_none() {
            let value = session.last.found_rows.to_string();
            self.answer_number(id, number(name), &value);
        } else {
            return false;
        }
        true
    }

    /// `COMMIT` or `ROLLBACK` with nothing to end needs no server, unless it does more than that.
    fn answer_needless_end(&mut self, id: SessionId, verb: Verb) -> bool {
        let Some(session) = self.sessions.get(id) else { return self.impossible(false) };
        if session.completes || session.held_for(Holds::PINNING.union(Holds::TRANSACTION)).is_some()
        {
            return false;
        }
        match verb {
            Verb::Commit => self.stats.commits_filtered += 1,
            _ => self.stats.rollbacks_filtered += 1,
        }
        self.answer_ok(id);
        true
    }
}

/// The column of a function that gives a whole number.
fn number(name: &[u8]) -> ColumnDef<'_> {
    ColumnDef {
        kind: ColumnKind::LONGLONG,
        collation: ColumnDef::BINARY,
        length: 21,
        flags: ColumnFlags(ColumnFlags::NOT_NULL.0 | ColumnFlags::BINARY.0),
        ..ColumnDef::text(name)
    }
}

/// A text without blanks around it and without its final semicolon.
fn bare(text: &[u8]) -> &[u8] {
    let text = text.trim_ascii();
    text.strip_suffix(b";").map_or(text, <[u8]>::trim_ascii_end)
}
