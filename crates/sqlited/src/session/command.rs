//! Commands: which of them do what, and those that are answered on the spot.

use std::sync::atomic::Ordering;

use rusqlite::types::Value;
use wire::Caps;
use wire::command::Command;
use wire::frame::write_with;
use wire::reply::{self, EofPacket};

use super::{Cx, Job, Session, Step};
use crate::encode::{RowForm, definition};
use crate::fault::{Fault, Stop};
use crate::lexer::{Token, statements};
use crate::translate::{self, Action, Plan};

impl Session {
    /// A command of a client that is who it says.
    pub(super) fn on_command(&mut self, cx: &mut Cx<'_>, payload: &[u8]) -> Step {
        match Command::parse(payload) {
            Command::Query(text) => {
                self.enqueue(text);
                return self.go_on(cx);
            }
            Command::StmtPrepare(text) => self.prepare(cx, text),
            Command::StmtExecute { id, rest, .. } => {
                self.execute(id, rest);
                return self.go_on(cx);
            }
            Command::StmtClose(id) => {
                self.statements.remove(&id);
            }
            Command::StmtReset(id) => self.reset_statement(id, cx.out),
            Command::SendLongData { id, param, data } => self.take_long_data(id, param, data),
            Command::StmtFetch { id, .. } => {
                self.write_fault(&Fault::unknown_statement(id, "mysqld_stmt_fetch"), cx.out);
            }
            Command::ChangeUser(payload) => {
                if let Err(fault) = self.on_change_user(cx.store, payload, cx.out) {
                    self.write_fault(&fault, cx.out);
                    return Step::Close;
                }
            }
            Command::ProcessInfo => {
                self.enqueue(b"SHOW PROCESSLIST");
                return self.go_on(cx);
            }
            Command::ProcessKill(id) => {
                self.write_done(0, 0, cx.out);
                return Step::Kill { id, query_only: false };
            }
            Command::Quit => return Step::Close,
            other => self.answer(cx, &other),
        }
        Step::Idle
    }

    /// Commands with an answer of one packet, and those there is no answer to but an error.
    fn answer(&mut self, cx: &mut Cx<'_>, command: &Command<'_>) {
        match command {
            Command::Ping => self.write_done(0, 0, cx.out),
            Command::InitDb(name) => {
                let name = String::from_utf8_lossy(name);
                match self.work.use_schema(&name) {
                    Ok(()) => self.write_done(0, 0, cx.out),
                    Err(fault) => self.write_fault(&fault, cx.out),
                }
            }
            Command::ResetConnection => {
                self.begin_anew(cx.store);
                self.write_done(0, 0, cx.out);
            }
            Command::SetOption(option) => self.set_option(*option, cx.out),
            Command::Statistics => {
                let text = self.statistics();
                write_with(cx.out, &mut self.seq, |out| out.extend_from_slice(text.as_bytes()));
            }
            Command::FieldList { table, .. } => self.field_list(cx, table),
            Command::Debug => self.write_eof(cx.out),
            _ => self.write_fault(&Fault::unknown_command(), cx.out),
        }
    }

    /// Puts the statements of a text into the queue. What is wrong with one of them is told in
    /// its turn.
    fn enqueue(&mut self, text: &[u8]) {
        let server = &self.work.facts.server;
        server.questions.fetch_add(1, Ordering::Relaxed);
        self.doing.clear();
        self.doing.extend(String::from_utf8_lossy(text).chars().take(DOING_MAX));
        let schema = server.schema.clone();
        let plans: Vec<Result<Plan, Fault>> = match statements(text) {
            Err(fault) => vec![Err(fault)],
            Ok(all) if all.is_empty() => vec![plan_of(&[], &schema)],
            Ok(all) if all.len() > 1 && !self.caps.contains(Caps::MULTI_STATEMENTS) => {
                vec![Err(Fault::syntax(all[1].first().map_or("", |token| token.source)))]
            }
            Ok(all) => all.iter().map(|tokens| plan_of(tokens, &schema)).collect(),
        };
        self.queue.extend(plans.into_iter().map(|plan| Job {
            plan,
            values: Vec::<Value>::new(),
            form: RowForm::Text,
        }));
    }

    fn set_option(&mut self, option: u16, out: &mut Vec<u8>) {
        self.caps = match option {
            0 => self.caps.union(Caps::MULTI_STATEMENTS),
            1 => self.caps.without(Caps::MULTI_STATEMENTS),
            _ => return self.write_fault(&Fault::unknown_command(), out),
        };
        self.write_eof(out);
    }

    fn write_eof(&mut self, out: &mut Vec<u8>) {
        let eof = EofPacket { warnings: 0, status: self.status() };
        reply::write_eof(out, &mut self.seq, self.caps, eof);
    }

    fn statistics(&self) -> String {
        let server = &self.work.facts.server;
        let uptime = self.work.facts.unix_seconds - server.started_at;
        let questions = server.questions.load(Ordering::Relaxed);
        format!(
            "Uptime: {uptime}  Threads: {}  Questions: {questions}  Slow queries: 0  Opens: 0  \
             Open tables: 0  Queries per second avg: {:.3}",
            server.connected.load(Ordering::Relaxed),
            questions as f64 / uptime.max(1) as f64,
        )
    }

    /// COM_FIELD_LIST: the columns of a table, as the command-line client's completion asks.
    fn field_list(&mut self, cx: &mut Cx<'_>, table: &[u8]) {
        let table = String::from_utf8_lossy(table);
        let text = format!("SELECT * FROM `{}`", table.replace('`', "``"));
        let schema = self.work.facts.server.schema.clone();
        let plan = statements(text.as_bytes()).and_then(|all| {
            let tokens = all.into_iter().next().unwrap_or_default();
            plan_of(&tokens, &schema)
        });
        let columns =
            plan.map_err(Stop::from).and_then(|plan| self.work.columns(cx.store, &plan.action));
        match columns {
            Ok(columns) => {
                for column in &columns {
                    let definition = definition(column);
                    let caps = self.caps;
                    write_with(cx.out, &mut self.seq, |out| {
                        definition.encode(caps, out);
                        // no default value
                        out.push(wire::lenenc::NULL);
                    });
                }
                self.write_eof(cx.out);
            }
            Err(Stop::Failed(fault)) => self.write_fault(&fault, cx.out),
            Err(Stop::Locked) => self.write_fault(&Fault::lock_wait(), cx.out),
        }
    }
}

/// The plan of a statement sent as text: it cannot have parameters.
fn plan_of(tokens: &[Token<'_>], schema: &str) -> Result<Plan, Fault> {
    let plan = translate::plan(tokens, schema)?;
    match (&plan.action, plan.parameters) {
        (_, 0) | (Action::Nothing(_), _) => Ok(plan),
        _ => Err(Fault::syntax("?")),
    }
}

/// Characters of a statement that the process list shows.
const DOING_MAX: usize = 256;
