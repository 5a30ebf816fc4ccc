//! Diagnostics of a session's last statement, warnings and errors, where they alone keep a lane and
//! another session waits for one. The server is asked for them, the session keeps the answers, and
//! the lane is free. Statements that ask for nothing else are answered from what is kept, as the
//! server did. For any other statement about diagnostics, the first condition is raised once more
//! on the lane that it gets.
//!
//! No server is asked as long as no session waits, but for the last insert id. Where only the
//! lane's server knows that, and nothing else keeps the lane, it is asked at once. Where this is
//! sure before the command is sent, the question goes in the same send, right behind it.

use std::ops::Range;

use sql::{Asked, DiagnosticsAsked, Effects};
use wire::Caps;
use wire::command;
use wire::frame::{self, Framed};
use wire::reader::Reader;
use wire::reply::ColumnDef;
use wire::result::{Event, ReplyKind};

use crate::holds::Holds;
use crate::ids::{HostgroupId, LaneId, SessionId};
use crate::lane::{Held, Lane, Lease, Step};
use crate::orders::{End, Order};
use crate::proxy::Proxy;
use crate::session::replying::query_end::QueryRows;
use crate::session::replying::recall::Recall;
use crate::session::replying::reply::slice;
use crate::session::{Job, Phase, Session};
use crate::topology::LastFault;

/// What a server is asked, in this order. None of it changes what the others are answered.
const QUESTIONS: [&str; 4] =
    ["SHOW WARNINGS", "SHOW COUNT(*) WARNINGS", "SHOW COUNT(*) ERRORS", INSERT_ID];

/// Asked last: it ends the diagnostics. The limit is for sessions that have one of no rows.
const INSERT_ID: &str = "SELECT LAST_INSERT_ID() LIMIT 1";

/// Reasons that a server can take away by telling what it knows.
const TOLD: Holds = Holds::WARNINGS.union(Holds::LAST_INSERT_ID);

/// Bytes of answers that are kept, at most. By default a server tells of no more than 64
/// conditions, which fit; where it tells of more, the session keeps its lane.
const ANSWER_BYTES_MAX: usize = 1 << 16;

/// What a server has told, or is telling, about a session's last statement.
pub(crate) struct Diagnostics {
    /// Where that statement ran.
    pub hostgroup: HostgroupId,
    /// The lane that is being asked.
    lane: LaneId,
    /// Which of the questions it is asked.
    questions: &'static [&'static str],
    /// The answers to all questions, one behind the other.
    bytes: Vec<u8>,
    /// Where each ends.
    ends: Vec<usize>,
    /// They are not to be kept: there are too many, or the server has failed to tell.
    in_vain: bool,
    /// To read a variable that counts them takes them away: not in MariaDB.
    pub end_when_counted: bool,
}

/// Lanes by the numbers of their servers that a session may keep for nothing but diagnostics.
#[derive(Default)]
pub(crate) struct Warned(Vec<Vec<LaneId>>);

impl Warned {
    fn add(&mut self, server: usize, lane: LaneId) {
        if self.0.len() <= server {
            self.0.resize_with(server + 1, Vec::new);
        }
        if let Some(list) = self.0.get_mut(server)
            && !list.contains(&lane)
        {
            list.push(lane);
        }
    }

    /// A lane is gone.
    pub(crate) fn remove(&mut self, server: usize, lane: LaneId) {
        if let Some(list) = self.0.get_mut(server) {
            list.retain(|other| *other != lane);
        }
    }

    fn of(&self, server: usize) -> &[LaneId] {
        self.0.get(server).map_or(&[], Vec::as_slice)
    }
}

impl Proxy {
    /// A session keeps a lane for these reasons: notes whether for what its last statement left.
    pub(crate) fn note_warned(&mut self, lane_id: LaneId, why: Holds) {
        if why.intersects(TOLD)
            && let Some(lane) = self.lanes.get(lane_id)
        {
            self.warned.add(lane.server.index, lane_id);
        }
    }

    /// A session has ended a command and may keep its lane for nothing but diagnostics: it does not
    /// where somebody waits. For the last insert id alone it keeps none.
    #[inline]
    pub(crate) fn relieve_if_wanted(&mut self, id: SessionId) {
        let keeps = self.sessions.get(id).and_then(|session| session.held_for(TOLD));
        if let Some(held) = keeps.copied() {
            self.relieve_or_await(id, held);
        }
    }

    /// A client has sent nothing more: what it was answered without the lane that it keeps has not
    /// relieved it of that.
    pub(crate) fn relieve_where_idle(&mut self, id: SessionId) {
        let Some(session) = self.sessions.get(id) else { return self.impossible(()) };
        if session.held.iter().any(|held| session.may_be_relieved(held.lane)) {
            self.relieve_if_wanted(id);
        }
    }

    /// Other servers are used than before, or hostgroups are held: whoever keeps a lane for nothing
    /// but diagnostics may be relieved of it.
    pub(crate) fn relieve_all(&mut self) {
        let keeps = |session: &Session| session.held_for(TOLD).is_some();
        let keepers: Vec<_> =
            self.sessions.iter().filter(|(_, it)| keeps(it)).map(|(id, _)| id).collect();
        self.with_each(keepers, End::Client, Self::relieve_where_idle);
    }

    /// It keeps this one: its server is asked now, was asked with the command, or is not wanted.
    fn relieve_or_await(&mut self, id: SessionId, held: Held) {
        let Some(session) = self.sessions.get(id) else { return self.impossible(()) };
        let is_asked = |held: &&Held| self.lanes.get(held.lane).is_some_and(Lane::is_asked);
        if let Some(asked) = session.held.iter().find(is_asked).copied() {
            return self.await_answers(id, asked, &[INSERT_ID]);
        }
        let Some(lane) = self.lanes.get(held.lane) else { return self.impossible(()) };
        // what is kept for an answer alone keeps no session from another server
        let is_wanted = held.why == Holds::LAST_INSERT_ID
            || lane.server.is_left()
            || self.snapshot.holds_back(held.hostgroup)
            || !self.pool.has_no_waiters(held.hostgroup)
            || self.worker_in_need(lane, self.now_us).is_some();
        if is_wanted && session.may_be_relieved(held.lane) {
            self.ask_for_diagnostics(id, held);
        }
    }

    /// Somebody waits for a lane of a hostgroup: of the idle sessions that keep one for nothing but
    /// diagnostics, the first gives its own.
    pub(crate) fn relieve_first(&mut self, hostgroup: HostgroupId) {
        self.relieve_first_of(hostgroup, |_| true);
    }

    /// The same of those whose lanes are such.
    pub(crate) fn relieve_first_of(
        &mut self,
        hostgroup: HostgroupId,
        fits: impl Fn(&Lane) -> bool,
    ) {
        let keeper = |lane: LaneId| {
            let lane = self.lanes.get(lane).filter(|lane| fits(lane))?;
            let Lease::Exclusive(id) = lane.lease else { return None };
            let session = self.sessions.get(id)?;
            let held = session.held.iter().find(|held| held.lane == lane.id)?;
            session.may_be_relieved(lane.id).then_some((id, *held))
        };
        let servers = self.snapshot.topology.hostgroup(hostgroup);
        let lanes = servers.iter().flat_map(|server| self.warned.of(server.index));
        if let Some((id, held)) = lanes.copied().find_map(keeper) {
            self.with(End::Client(id), |proxy| proxy.ask_for_diagnostics(id, held));
        }
    }

    fn ask_for_diagnostics(&mut self, id: SessionId, held: Held) {
        let [diagnostics @ .., _] = &QUESTIONS;
        let questions = match held.why.intersects(Holds::LAST_INSERT_ID) {
            true if held.why.intersects(Holds::WARNINGS) => &QUESTIONS,
            true => &[INSERT_ID][..],
            false => diagnostics,
        };
        for question in questions {
            self.ask(id, held.lane, question);
        }
        self.await_answers(id, held, questions);
    }

    fn ask(&mut self, id: SessionId, lane_id: LaneId, question: &str) {
        self.send_step(id, lane_id, Step::Diagnostics, ReplyKind::Result, |out| {
            command::write_query(out, question.as_bytes());
        });
    }

    /// Asks for the last insert id in the same send as a command that gives no other reason to keep
    /// the lane, where there is none either. In MariaDB alone the question leaves the command's
    /// diagnostics there.
    pub(crate) fn ask_insert_id_behind(&mut self, id: SessionId, lane_id: LaneId, job: &Job) {
        // what reads it as well may be told it by an OK
        let is_one =
            [Effects::SETS_LAST_INSERT_ID, Effects::GIVES_INSERT_ID].contains(&job.effects);
        let is_sure = is_one && job.upload.is_none();
        let (Some(session), Some(lane)) = (self.sessions.get(id), self.lanes.get(lane_id)) else {
            return self.impossible(());
        };
        let stays = |held: &Held| held.lane == lane_id && !held.why.is_empty();
        let is_mariadb = lane.greeted.is_mariadb;
        if is_sure && is_mariadb && session.want.autocommit && !session.held.iter().any(stays) {
            self.ask(id, lane_id, INSERT_ID);
        }
    }

    /// The session goes on when a lane's server has answered these questions.
    fn await_answers(&mut self, id: SessionId, held: Held, questions: &'static [&'static str]) {
        let lane_id = held.lane;
        let Some(lane) = self.lanes.get_mut(lane_id) else { return self.impossible(()) };
        let at = self.now_us + self.snapshot.vars.connect_timeout_server_ms * 1000;
        (lane.times.alarm_us, lane.times.turned_us) = (at, self.now_us);
        self.warned.remove(lane.server.index, lane_id);
        let (hostgroup, end_when_counted) = (lane.server.hostgroup, !lane.greeted.is_mariadb);
        self.orders.push(Order::Deadline { end: End::Lane(lane_id), at });
        if let Some(session) = self.sessions.get_mut(id) {
            let (lane, bytes, ends) = (lane_id, Vec::new(), Vec::new());
            let in_vain = false;
            let asked =
                Diagnostics { hostgroup, lane, questions, bytes, ends, in_vain, end_when_counted };
            session.last.recall = Some(Box::new(Recall::Told(asked)));
        }
    }

    /// A part of what a server tells.
    pub(crate) fn on_diagnostics_part(
        &mut self,
        id: SessionId,
        lane_id: LaneId,
        range: Range<usize>,
        event: &Event,
        bytes: &[u8],
    ) {
        let status = match event {
            Event::End(end) => Some(end.status),
            _ => None,
        };
        let ends = matches!(event, Event::End(_) | Event::Err { .. });
        if ends {
            self.pop(lane_id, status);
        }
        // a command that runs again is asked about again
        let asking = self.sessions.get_mut(id).filter(|session| session.is_asking(lane_id));
        let Some(told) = asking.and_then(Session::diagnostics_mut) else { return };
        told.in_vain |= matches!(event, Event::Err { .. });
        told.take(slice(bytes, range));
        if ends && told.note_end() {
            self.diagnostics_told(id, lane_id);
        }
    }

    /// A server has told everything: the lane is free, unless there is too much to be kept.
    fn diagnostics_told(&mut self, id: SessionId, lane_id: LaneId) {
        let Some(session) = self.sessions.get_mut(id) else { return self.impossible(()) };
        let caps = session.caps;
        let Some(told) = session.diagnostics_mut() else { return };
        let has_diagnostics = told.questions.len() > 1;
        let insert_id = told.insert_id(caps);
        if told.in_vain || told.questions.contains(&INSERT_ID) && insert_id.is_none() {
            // the lane is asked once
            session.last.recall = None;
            return self.resume_input(id);
        }
        told.bytes.shrink_to_fit();
        if let Some(lane) = self.lanes.get_mut(lane_id) {
            lane.times.alarm_us = 0;
        }
        let mut left = Holds::NONE;
        for held in session.held.iter_mut().filter(|held| held.lane == lane_id) {
            held.why.set(if has_diagnostics { TOLD } else { Holds::LAST_INSERT_ID }, false);
            left = held.why;
        }
        session.last.insert_id = insert_id.unwrap_or(session.last.insert_id);
        match has_diagnostics {
            true => self.stats.diagnostics_kept += 1,
            false => session.last.recall = None,
        }
        self.let_go(id, lane_id);
        // asked behind a command that was killed, that failed, or warned
        self.await_kill(id, lane_id);
        if !left.is_empty() {
            self.note_warned(lane_id, left);
            self.relieve_if_wanted(id);
            self.survey_on_own(id);
        }
        self.resume_input(id);
    }

    /// The last insert id is known: no lane is kept for it, but for the one that just served.
    pub(crate) fn insert_id_told(&mut self, id: SessionId, served: Option<LaneId>) {
        loop {
            let Some(session) = self.sessions.get_mut(id) else { return self.impossible(()) };
            let is_kept = |held: &&mut Held| held.why.intersects(Holds::LAST_INSERT_ID);
            let Some(held) = session.held.iter_mut().find(is_kept) else { return };
            held.why.set(Holds::LAST_INSERT_ID, false);
            let lane = held.lane;
            if served != Some(lane) {
                self.let_go(id, lane);
            }
        }
    }

    /// A timer of a lane: a server that does not tell in time loses it.
    pub(crate) fn check_diagnostics(&mut self, lane_id: LaneId) {
        let Some(lane) = self.lanes.get(lane_id) else { return self.impossible(()) };
        let Lease::Exclusive(id) = lane.lease else { return };
        let is_asked = self.sessions.get(id).is_some_and(|session| session.is_asking(lane_id));
        if is_asked && lane.times.alarm_us <= self.now_us {
            self.lose_lane(lane_id, LastFault::Timeout);
        }
    }

    /// A session has lost a lane: should that have been asked, nothing will be told.
    pub(crate) fn stop_asking(&mut self, id: SessionId, lane_id: LaneId) {
        let Some(session) = self.sessions.get_mut(id) else { return self.impossible(()) };
        if session.is_asking(lane_id) {
            session.last.recall = None;
            self.resume_input(id);
        }
    }

    /// Answers a statement that asks for the diagnostics that its session keeps; `false` where they
    /// are not kept, or it asks for more.
    pub(crate) fn answer_diagnostics(&mut self, id: SessionId, text: &[u8]) -> bool {
        let Some(session) = self.sessions.get(id) else { return self.impossible(false) };
        let Some(told) = session.diagnostics() else { return false };
        let Some(asked) = sql::parse_diagnostics_asked(text, session.want.modes()) else {
            return false;
        };
        let ends = told.end_when_counted && matches!(asked.of, Asked::Variable(_));
        let mut answer = Vec::new();
        let Some(rows) = told.answer(&asked, session.caps, &mut answer) else { return false };
        self.orders.send(End::Client(id), |out| out.extend_from_slice(&answer));
        self.stats.diagnostics_told += 1;
        self.count(id, true);
        self.tell_end(id, None, QueryRows { sent: rows, ..QueryRows::default() });
        if let Some(session) = self.sessions.get_mut(id) {
            session.last.row_count = -1;
            if !matches!(asked.of, Asked::List { .. }) {
                session.last.found_rows = rows;
            }
            session.last.recall = session.last.recall.take().filter(|_| !ends);
        }
        true
    }
}

impl Session {
    /// What its server has told, or is telling, about its last statement.
    pub(crate) fn diagnostics(&self) -> Option<&Diagnostics> {
        match self.last.recall.as_deref() {
            Some(Recall::Told(told)) => Some(told),
            _ => None,
        }
    }

    fn diagnostics_mut(&mut self) -> Option<&mut Diagnostics> {
        match self.last.recall.as_deref_mut() {
            Some(Recall::Told(told)) => Some(told),
            _ => None,
        }
    }

    /// Whether its next command has to wait, because its server is asked about the last one.
    pub(crate) fn awaits_diagnostics(&self) -> bool {
        self.diagnostics().is_some_and(|told| !told.is_whole())
    }

    fn is_asking(&self, lane: LaneId) -> bool {
        self.diagnostics().is_some_and(|told| told.lane == lane && !told.is_whole())
    }

    /// Whether it does nothing and keeps a lane for diagnostics alone, but for what a reading may
    /// prove wrong, which may need the lane.
    fn may_be_relieved(&self, lane: LaneId) -> bool {
        let is_idle = matches!(self.phase, Phase::Idle) && !self.input.waits;
        let may_tell = |why: Holds| why.intersects(TOLD) && why.without(TOLD).is_empty();
        let is_kept_so =
            |held: &Held| held.lane == lane && may_tell(held.why.without(held.presumed));
        is_idle && !self.awaits_server() && self.held.iter().any(is_kept_so)
    }
}

impl Diagnostics {
    fn is_whole(&self) -> bool {
        self.ends.len() == self.questions.len()
    }

    fn take(&mut self, part: &[u8]) {
        self.in_vain |= self.bytes.len() + part.len() > ANSWER_BYTES_MAX;
        if !self.in_vain {
            self.bytes.extend_from_slice(part);
        }
    }

    /// An answer has ended; whether it was the last one.
    fn note_end(&mut self) -> bool {
        self.ends.push(self.bytes.len());
        self.is_whole()
    }

    /// The payloads of the answer to that question.
    fn packets(&self, question: usize) -> Option<Vec<&[u8]>> {
        let end = *self.ends.get(question)?;
        let start = question.checked_sub(1).map_or(Some(&0), |before| self.ends.get(before))?;
        let mut rest = self.bytes.get(*start..end)?;
        let mut packets = Vec::new();
        while let Framed::Packet(packet) = frame::next_packet(rest) {
            packets.push(packet.payload);
            rest = rest.get(packet.len..)?;
        }
        rest.is_empty().then_some(packets)
    }

    /// The last insert id, if the server was asked for it.
    fn insert_id(&self, caps: Caps) -> Option<u64> {
        let place = self.questions.iter().position(|question| *question == INSERT_ID)?;
        let packets = self.packets(place)?;
        let (_, rows, _) = parts(&packets, caps)?;
        let text = Reader::new(rows.first()?).lenenc_bytes().ok()?;
        std::str::from_utf8(text).ok()?.parse().ok()
    }

    /// Appends an answer, framed; how many rows it has.
    fn answer(&self, asked: &DiagnosticsAsked<'_>, caps: Caps, out: &mut Vec<u8>) -> Option<u64> {
        let number = 1 + usize::from(asked.errors);
        let mut seq = 1;
        let mut write = |payload: &[u8]| frame::write_packet(out, &mut seq, payload);
        match asked.of {
            Asked::List { skip, most } => {
                let packets = self.packets(0)?;
                let (head, rows, end) = parts(&packets, caps)?;
                head.iter().for_each(|payload| write(payload));
                let skip = usize::try_from(skip).unwrap_or(usize::MAX);
                let most = usize::try_from(most).unwrap_or(usize::MAX);
                let wanted = rows.iter().filter(|row| !asked.errors || is_error(row));
                let count = wanted.skip(skip).take(most).map(|row| write(row)).count();
                write(end);
                Some(count as u64)
            }
            Asked::Count => {
                self.packets(number)?.into_iter().for_each(write);
                Some(1)
            }
            Asked::Variable(name) => {
                let packets = self.packets(number)?;
                for (at, payload) in packets.into_iter().enumerate() {
                    match at {
                        1 => {
                            let mut named = Vec::new();
                            let column = ColumnDef::parse(payload, caps).ok()?;
                            ColumnDef { name, ..column }.encode(caps, &mut named);
                            write(&named);
                        }
                        _ => write(payload),
                    }
                }
                Some(1)
            }
        }
    }

    /// A statement that raises the error that was told of, else the first condition. The error that
    /// the statement came to has that number and SQLSTATE.
    pub(crate) fn raise(&self, last_error: (u16, [u8; 5]), caps: Caps) -> Option<String> {
        // longer ones are refused by MySQL
        const CHARACTERS_MAX: usize = 128;
        let packets = self.packets(0)?;
        let (_, rows, _) = parts(&packets, caps)?;
        let row = rows.iter().find(|row| is_error(row)).or(rows.first())?;
        let mut cells = Reader::new(row);
        let level = cells.lenenc_bytes().ok()?;
        let code: u16 = std::str::from_utf8(cells.lenenc_bytes().ok()?).ok()?.parse().ok()?;
        let text = String::from_utf8_lossy(cells.lenenc_bytes().ok()?);
        let sqlstate = match level {
            b"Error" if last_error.0 == code && is_sqlstate(last_error.1) => last_error.1,
            b"Error" => *b"HY000",
            _ => *b"01000",
        };
        let hex: String = text.chars().take(CHARACTERS_MAX).map(hex_of).collect();
        let sqlstate = String::from_utf8_lossy(&sqlstate).into_owned();
        Some(format!(
            "SIGNAL SQLSTATE '{sqlstate}' SET MYSQL_ERRNO={code},MESSAGE_TEXT=_utf8mb4 X'{hex}'"
        ))
    }
}

/// Whether a statement may raise it: what the server said of an error is not trusted to be one.
fn is_sqlstate(told: [u8; 5]) -> bool {
    let is_error = !matches!(told, [b'0', b'0'..=b'2', ..]);
    is_error && told.iter().all(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase())
}

fn hex_of(c: char) -> String {
    c.encode_utf8(&mut [0; 4]).bytes().map(|byte| format!("{byte:02X}")).collect()
}

/// The packets of a result before its rows, the rows, and the end.
type Parts<'p, 'a> = (&'p [&'a [u8]], &'p [&'a [u8]], &'a [u8]);

fn parts<'p, 'a>(packets: &'p [&'a [u8]], caps: Caps) -> Option<Parts<'p, 'a>> {
    let columns = usize::from(*packets.first()?.first()?);
    let definitions = 1 + columns + usize::from(!caps.contains(Caps::DEPRECATE_EOF));
    let (head, rest) = packets.split_at_checked(definitions)?;
    let (end, rows) = rest.split_last()?;
    Some((head, rows, end))
}

fn is_error(row: &[u8]) -> bool {
    Reader::new(row).lenenc_bytes() == Ok(b"Error")
}
