//! One client of the interface: packets in, packets out.
//!
//! Knows no sockets. A packet is answered at once, but for a password: when that is judged is for
//! the service to say.

mod encode;
mod login;
mod prepared;

use std::collections::HashMap;
use std::time::Instant;

use wire::command::Command;
use wire::frame::write_with;
use wire::reply::{self, ErrPacket, OkPacket};
use wire::{Caps, Status};

use crate::admin::{Admin, Outcome, Reply, Role, Session};
use crate::database::{ResultSet, STATEMENT_LIMIT};
use crate::fault::AdminFault;
use crate::statement::split;
use encode::Form;
use login::Stage;
use prepared::Statements;

/// A connection of the interface.
pub(crate) struct Client {
    /// Where it comes from; `localhost` for a Unix socket.
    pub(crate) from: String,
    /// Whether that is this machine.
    pub(crate) local: bool,
    id: u32,
    caps: Caps,
    seq: u8,
    stage: Stage,
    session: Session,
    statements: Statements,
}

/// What becomes of a client after a packet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Next {
    /// More packets.
    Go,
    /// The end.
    Close,
    /// It has said who it is; nothing is read from it until that is judged.
    Judge,
    /// It has proved who it is.
    Welcome,
    /// It was refused, and the answer is written.
    Refused {
        /// The account.
        user: String,
        /// Why, for the log.
        why: String,
    },
}

/// What is so after every statement. SQLite has no escapes in texts, and drivers that know double
/// quotes instead of putting `\` before them.
const STATUS: Status = Status::AUTOCOMMIT.union(Status::NO_BACKSLASH_ESCAPES);

impl Client {
    /// A client that was accepted; the greeting is written to `out`.
    pub(crate) fn greet(
        admin: &Admin,
        id: u32,
        from: &io::Addr,
        scramble: [u8; 20],
        out: &mut Vec<u8>,
    ) -> Self {
        let (from, local) = match from {
            io::Addr::Tcp(address) => {
                let ip = address.ip().to_canonical();
                (ip.to_string(), ip.is_loopback())
            }
            io::Addr::Unix(_) => ("localhost".to_owned(), true),
        };
        let mut client = Self {
            from,
            local,
            id,
            caps: Caps::OF_OWN_SERVERS,
            seq: 0,
            stage: Stage::Greeted { scramble },
            session: Session::new(Role::Reader, "", id),
            statements: Statements::default(),
        };
        client.write_greeting(admin, scramble, out);
        client
    }

    /// A whole packet.
    pub(crate) fn on_packet(
        &mut self,
        admin: &mut Admin,
        payload: &[u8],
        seq: u8,
        out: &mut Vec<u8>,
    ) -> Next {
        self.seq = seq.wrapping_add(1);
        match std::mem::replace(&mut self.stage, Stage::Out) {
            Stage::In => {
                self.stage = Stage::In;
                self.on_command(admin, payload, out)
            }
            stage => self.on_credentials(stage, payload, out),
        }
    }

    /// Whether it has proved who it is, and says nothing else now.
    pub(crate) fn is_in(&self) -> bool {
        matches!(self.stage, Stage::In)
    }

    /// The number of its next packet.
    pub(crate) fn seq(&self) -> u8 {
        self.seq
    }

    /// The account that it has proved to have last.
    pub(crate) fn user(&self) -> &str {
        &self.session.user
    }

    /// Whether it reads statistics only.
    pub(crate) fn is_reader(&self) -> bool {
        self.session.role == Role::Reader
    }

    /// An error outside of any statement.
    pub(crate) fn write_fault(&mut self, fault: &AdminFault, out: &mut Vec<u8>) {
        let err = ErrPacket {
            code: fault.code,
            sqlstate: fault.sqlstate,
            message: fault.message.as_bytes(),
        };
        reply::write_err(out, &mut self.seq, &err);
    }

    fn on_command(&mut self, admin: &mut Admin, payload: &[u8], out: &mut Vec<u8>) -> Next {
        match Command::parse(payload) {
            Command::Quit => return Next::Close,
            Command::Query(text) => self.query(admin, text, out),
            Command::StmtPrepare(text) => self.prepare(admin, text, out),
            Command::StmtExecute { id, rest, .. } => self.execute(admin, id, rest, out),
            Command::StmtClose(id) => self.statements.close(id),
            Command::StmtReset(_) | Command::Ping | Command::Debug => self.write_done(out),
            Command::SendLongData { id, param, data } => {
                let bytes_max = self.statement_bytes_max();
                self.statements.add(id, param, data, bytes_max);
            }
            Command::InitDb(name) => {
                self.session.schema = String::from_utf8_lossy(name).into_owned();
                self.write_done(out);
            }
            Command::ResetConnection => {
                self.statements = Statements::default();
                self.session.warnings.clear();
                self.write_done(out);
            }
            Command::SetOption(option) => {
                self.caps = match option {
                    0 => self.caps.union(Caps::MULTI_STATEMENTS),
                    _ => self.caps.without(Caps::MULTI_STATEMENTS),
                };
                let eof = reply::EofPacket { warnings: 0, status: STATUS };
                reply::write_eof(out, &mut self.seq, self.caps, eof);
            }
            Command::Statistics => {
                let text = b"Uptime: 0  Threads: 1";
                write_with(out, &mut self.seq, |out| out.extend_from_slice(text));
            }
            Command::ProcessInfo => self.query(admin, b"SHOW PROCESSLIST", out),
            Command::ProcessKill(id) => {
                self.query(admin, format!("KILL CONNECTION {id}").as_bytes(), out);
            }
            Command::FieldList { table, .. } => self.field_list(admin, table, out),
            Command::ChangeUser(payload) => return self.change_user(payload, out),
            _ => self.write_fault(&AdminFault::new(1047, *b"08S01", "Unknown command"), out),
        }
        Next::Go
    }

    /// COM_QUERY: one statement, or several if the client said that it sends such.
    fn query(&mut self, admin: &mut Admin, text: &[u8], out: &mut Vec<u8>) {
        let text = String::from_utf8_lossy(text);
        let parts = split(&text);
        if parts.len() > 1 && !self.caps.contains(Caps::MULTI_STATEMENTS) {
            let message = "ProxySQL Admin Error: only one statement is allowed at a time";
            return self.write_fault(&AdminFault::new(1064, *b"42000", message), out);
        }
        let parts = if parts.is_empty() { vec![""] } else { parts };
        let mut left = parts.len();
        let began = Instant::now();
        for part in parts {
            left -= 1;
            // they run one after the other, and nobody else's between them
            let outcome = match self.is_reader() && began.elapsed() >= STATEMENT_LIMIT {
                true => Err(AdminFault::interrupted()),
                false => admin.run(&mut self.session, part, &[]),
            };
            let failed = outcome.is_err();
            self.write_outcome(outcome, Form::Text, left > 0, out);
            if failed {
                return;
            }
        }
    }

    fn write_outcome(&mut self, outcome: Outcome, form: Form, more: bool, out: &mut Vec<u8>) {
        let status = match more {
            true => STATUS | Status::MORE_RESULTS,
            false => STATUS,
        };
        let warnings = u16::try_from(self.session.warnings.len()).unwrap_or(u16::MAX);
        match outcome {
            Err(fault) => self.write_fault(&fault, out),
            Ok(Reply::Rows(rows)) => {
                encode::rows(&rows, form, self.caps, status, warnings, out, &mut self.seq);
            }
            Ok(Reply::Done { affected_rows, message }) => {
                let info = message.as_bytes();
                let ok = OkPacket { affected_rows, status, warnings, info, ..OkPacket::default() };
                reply::write_ok(out, &mut self.seq, self.caps, &ok);
            }
        }
    }

    fn write_done(&mut self, out: &mut Vec<u8>) {
        self.write_outcome(Ok(Reply::DONE), Form::Text, false, out);
    }

    /// COM_FIELD_LIST: the columns of a table, as the command-line client's completion asks.
    fn field_list(&mut self, admin: &mut Admin, table: &[u8], out: &mut Vec<u8>) {
        let table = String::from_utf8_lossy(table).replace('`', "``");
        match admin.prepare(&mut self.session, &format!("SELECT * FROM `{table}`")) {
            Err(fault) => self.write_fault(&fault, out),
            Ok(prepared) => {
                let names = ResultSet { columns: prepared.columns, rows: Vec::new() };
                encode::field_list(&names, self.caps, out, &mut self.seq);
            }
        }
    }
}

/// Statements that a client may have prepared.
type ById<T> = HashMap<u32, T>;

#[cfg(test)]
mod tests;
