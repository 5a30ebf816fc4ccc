//! One client of one server, from greeting to goodbye, as bytes in and bytes out.
//!
//! Knows no socket: commands come as payloads, replies are appended to a buffer. What cannot be
//! answered at once (a lock, SLEEP, a result larger than the caller wants to hold) leaves the
//! session busy, and [`Session::go_on`] is called until it is done. There is never more than one
//! command at work.

mod assign;
mod auth;
mod command;
mod prepared;
mod run;
mod transaction;

use std::collections::{BTreeMap, VecDeque};

use rusqlite::types::Value;
use wire::reply::{self, ErrPacket, OkPacket};
use wire::{Caps, Status};

use crate::encode::{Outgoing, RowForm};
use crate::facts::Facts;
use crate::fault::{Fault, Stop};
use crate::store::Store;
use crate::translate::Plan;
use auth::Exchange;
use prepared::Prepared;
use run::{Answer, Work};

/// A client's session.
#[derive(Debug)]
pub(crate) struct Session {
    work: Work,
    exchange: Exchange,
    authenticating: bool,
    caps: Caps,
    /// Number of the next packet to be sent.
    seq: u8,
    statements: BTreeMap<u32, Prepared>,
    last_statement: u32,
    queue: VecDeque<Job>,
    stage: Stage,
    /// What it does, for the process list.
    doing: String,
}

/// One statement that is to be answered.
#[derive(Debug)]
struct Job {
    plan: Result<Plan, Fault>,
    values: Vec<Value>,
    form: RowForm,
}

/// What the statement at the head of the queue is waiting for.
#[derive(Debug)]
enum Stage {
    /// Nothing: it may run.
    Ready,
    /// The write lock, until then.
    Locked { until_us: u64 },
    /// A SLEEP, until then.
    Asleep { until_us: u64, rows: crate::rows::Rows },
    /// The client, to take the rest of a result.
    Sending(Outgoing),
}

/// How things stand after some bytes or some time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Step {
    /// Everything is answered: the next command may come.
    Idle,
    /// There is more to send, when what there is has been taken.
    More,
    /// Nothing can be done before then (microseconds), or before a lock is given up.
    Wait(u64),
    /// The last bytes were written: close.
    Close,
    /// Another session is to be ended; then go on.
    Kill { id: u32, query_only: bool },
}

/// Time and data, for the length of a call.
#[derive(Debug)]
pub(crate) struct Cx<'a> {
    /// The data.
    pub(crate) store: &'a mut Store,
    /// Microseconds on the loop's clock.
    pub(crate) now_us: u64,
    /// Where replies are appended.
    pub(crate) out: &'a mut Vec<u8>,
}

impl Session {
    /// A client that has just connected.
    pub(crate) fn new(facts: Facts, scramble: [u8; 20]) -> Self {
        Self {
            work: Work::new(facts),
            exchange: Exchange::new(scramble),
            authenticating: true,
            caps: Caps::NONE,
            seq: 0,
            statements: BTreeMap::new(),
            last_statement: 0,
            queue: VecDeque::new(),
            stage: Stage::Ready,
            doing: String::new(),
        }
    }

    /// A whole packet from the client. Must not be called while the session is busy.
    pub(crate) fn on_packet(&mut self, cx: &mut Cx<'_>, payload: &[u8], seq: u8) -> Step {
        self.seq = seq.wrapping_add(1);
        if self.authenticating {
            return match self.on_credentials(cx.store, payload, cx.out) {
                Ok(()) => Step::Idle,
                Err(fault) => {
                    self.write_fault(&fault, cx.out);
                    Step::Close
                }
            };
        }
        self.on_command(cx, payload)
    }

    /// Carries on with the command at work.
    pub(crate) fn go_on(&mut self, cx: &mut Cx<'_>) -> Step {
        loop {
            let form = match self.queue.front() {
                None => return Step::Idle,
                Some(job) => job.form,
            };
            match std::mem::replace(&mut self.stage, Stage::Ready) {
                Stage::Ready => match self.attempt(cx, None) {
                    None => {}
                    Some(step) => return step,
                },
                Stage::Locked { until_us } => match self.attempt(cx, Some(until_us)) {
                    None => {}
                    Some(step) => return step,
                },
                Stage::Asleep { until_us, rows } if cx.now_us < until_us => {
                    self.stage = Stage::Asleep { until_us, rows };
                    return Step::Wait(until_us);
                }
                Stage::Asleep { rows, .. } => self.send_rows(rows, form, cx.out),
                Stage::Sending(mut outgoing) => {
                    if !outgoing.fill(PORTION_BYTES, cx.out, &mut self.seq) {
                        self.stage = Stage::Sending(outgoing);
                        return Step::More;
                    }
                    let (status, warnings) = (self.status_before_pop(), self.warnings());
                    let eof = reply::EofPacket { warnings, status };
                    reply::write_eof(cx.out, &mut self.seq, self.caps, eof);
                    self.queue.pop_front();
                }
            }
        }
    }

    /// Runs the statement at the head; `None` when the loop may look again.
    fn attempt(&mut self, cx: &mut Cx<'_>, waiting_until_us: Option<u64>) -> Option<Step> {
        let Self { queue, work, .. } = self;
        let job = queue.front()?;
        let form = job.form;
        let result = match &job.plan {
            Ok(plan) => work.run(cx.store, plan, &job.values),
            Err(fault) => {
                work.note_failure(fault);
                Err(Stop::Failed(fault.clone()))
            }
        };
        match result {
            Ok(Answer::Done { affected_rows, last_insert_id }) => {
                self.queue_done(affected_rows, last_insert_id, cx.out);
            }
            Ok(Answer::Rows(rows)) => self.send_rows(rows, form, cx.out),
            Ok(Answer::Later { milliseconds, rows }) => {
                let until_us = cx.now_us.saturating_add(milliseconds.saturating_mul(1000));
                self.stage = Stage::Asleep { until_us, rows };
            }
            Ok(Answer::Kill { id, query_only }) => {
                self.queue_done(0, 0, cx.out);
                return Some(Step::Kill { id, query_only });
            }
            Err(Stop::Locked) => {
                let wait_us = self.work.facts.lock_wait_us();
                let until_us = waiting_until_us.unwrap_or(cx.now_us.saturating_add(wait_us));
                if cx.now_us >= until_us {
                    let fault = Fault::lock_wait();
                    self.work.note_failure(&fault);
                    self.fail(&fault, cx.out);
                    return None;
                }
                self.stage = Stage::Locked { until_us };
                return Some(Step::Wait(until_us.min(cx.now_us + LOCK_POLL_US)));
            }
            Err(Stop::Failed(fault)) => self.fail(&fault, cx.out),
        }
        None
    }

    /// Whether it waits for the write lock.
    pub(crate) fn awaits_lock(&self) -> bool {
        matches!(self.stage, Stage::Locked { .. })
    }

    /// Whether a command is at work.
    pub(crate) fn is_busy(&self) -> bool {
        !self.queue.is_empty()
    }

    /// KILL QUERY: what waits is given up.
    pub(crate) fn interrupt(&mut self, out: &mut Vec<u8>) {
        if matches!(self.stage, Stage::Locked { .. } | Stage::Asleep { .. }) {
            self.stage = Stage::Ready;
            let fault = Fault::new(1317, b"70100", "Query execution was interrupted");
            self.fail(&fault, out);
        }
    }

    /// The client is gone, or will be.
    pub(crate) fn end(&mut self, store: &mut Store) {
        self.queue.clear();
        self.stage = Stage::Ready;
        self.work.reset(store);
    }

    /// What SQL functions see of it.
    pub(crate) fn facts_mut(&mut self) -> &mut Facts {
        &mut self.work.facts
    }

    /// A row of the process list, as JSON; `asking` is the text of the session that shows it.
    pub(crate) fn process(&self, asking: Option<&str>) -> String {
        let facts = &self.work.facts;
        let text = |text: Option<&str>| text.map_or("null".to_owned(), crate::facts::json);
        let busy = asking.is_some() || self.is_busy();
        let command = if busy { "Query" } else { "Sleep" };
        let state = match self.stage {
            Stage::Ready => "",
            Stage::Locked { .. } => "Waiting for the write lock",
            Stage::Asleep { .. } => "User sleep",
            Stage::Sending(_) => "Sending to client",
        };
        let info = asking.or(self.is_busy().then_some(self.doing.as_str()));
        format!(
            "[{},{},{},{},{},0,{},{}]",
            facts.connection_id,
            text(Some(&facts.user)),
            text(Some(&facts.host)),
            text(facts.schema.as_deref()),
            text(Some(command)),
            text(Some(state)),
            text(info),
        )
    }

    /// A row-less error outside of any statement, and the end of the session.
    pub(crate) fn write_fault(&mut self, fault: &Fault, out: &mut Vec<u8>) {
        let err = ErrPacket {
            code: fault.code,
            sqlstate: fault.sqlstate,
            message: fault.message.as_bytes(),
        };
        reply::write_err(out, &mut self.seq, &err);
    }

    fn send_rows(&mut self, rows: crate::rows::Rows, form: RowForm, out: &mut Vec<u8>) {
        let status = self.status_before_pop();
        let outgoing = Outgoing::begin(rows, form, self.caps, status, out, &mut self.seq);
        self.stage = Stage::Sending(outgoing);
    }

    /// Ends the statement at the head with an OK.
    fn queue_done(&mut self, affected_rows: u64, last_insert_id: u64, out: &mut Vec<u8>) {
        let status = self.status_before_pop();
        self.write_ok(affected_rows, last_insert_id, status, out);
        self.queue.pop_front();
    }

    /// Ends the statement at the head with an error, and those after it.
    fn fail(&mut self, fault: &Fault, out: &mut Vec<u8>) {
        self.write_fault(fault, out);
        self.queue.clear();
    }

    /// An OK to a command that is no statement.
    fn write_done(&mut self, affected_rows: u64, last_insert_id: u64, out: &mut Vec<u8>) {
        let status = self.status();
        self.write_ok(affected_rows, last_insert_id, status, out);
    }

    fn write_ok(&mut self, affected: u64, last_insert_id: u64, status: Status, out: &mut Vec<u8>) {
        let ok = OkPacket {
            affected_rows: affected,
            last_insert_id,
            status,
            warnings: self.warnings(),
            ..OkPacket::default()
        };
        reply::write_ok(out, &mut self.seq, self.caps, &ok);
    }

    fn warnings(&self) -> u16 {
        u16::try_from(self.work.facts.warnings.len()).unwrap_or(u16::MAX)
    }

    fn status(&self) -> Status {
        let mut status = Status::NONE;
        if self.work.transaction.autocommit() {
            status = status | Status::AUTOCOMMIT;
        }
        if self.work.transaction.is_open() {
            status = status | Status::IN_TRANS;
        }
        status
    }

    /// The status for the statement at the head: others may follow.
    fn status_before_pop(&self) -> Status {
        let more = if self.queue.len() > 1 { Status::MORE_RESULTS } else { Status::NONE };
        self.status() | more
    }

    /// COM_RESET_CONNECTION, and COM_CHANGE_USER once it succeeded.
    fn begin_anew(&mut self, store: &mut Store) {
        self.work.reset(store);
        self.statements.clear();
    }
}

/// A portion of a result between two looks at the socket.
const PORTION_BYTES: usize = 64 * 1024;

/// How often a lock is tried that another process may hold; sessions of this one are told.
const LOCK_POLL_US: u64 = 20_000;

#[cfg(test)]
mod tests;
