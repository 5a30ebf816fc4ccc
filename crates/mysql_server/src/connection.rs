//! One client: packets in, packets out.

use wire::command::Command;
use wire::frame::write_with;
use wire::reply::{self, ErrPacket, OkPacket};
use wire::{Caps, Status};

use crate::handler::{Answer, Fault, Handler};
use crate::login::LoginStage;
use crate::prepared::Statements;
use crate::results::{Form, write_fields, write_rows};

pub use crate::login::Greets;

/// A connection of a client.
///
/// A packet is answered at once, but for a proof of the password, which [`Connection::judge`]
/// answers.
#[derive(Debug)]
pub struct Connection {
    pub(crate) caps: Caps,
    /// The number of its next packet.
    pub(crate) seq: u8,
    pub(crate) stage: LoginStage,
    pub(crate) tls: Tls,
    pub(crate) statements: Statements,
}

/// How far a connection is encrypted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Tls {
    /// It is not, and cannot be.
    None,
    /// The client may ask for it.
    Offered,
    /// The client has asked, and the handshake is not over.
    Begun,
    /// Whatever comes is encrypted.
    On {
        /// SHA-256 of the certificate that the client was shown.
        certificate: Option<[u8; 32]>,
    },
}

/// What becomes of a client after a packet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Next {
    /// More packets.
    Go,
    /// The end.
    Close,
    /// TLS, in front of anything else; then [`Connection::secured`].
    Secure,
    /// It has said who it is; no packet may come before [`Connection::judge`].
    Judge,
    /// It has proved who it is.
    Welcome {
        /// The account.
        user: String,
    },
    /// It was refused, and the answer is written.
    Refused {
        /// The account.
        user: String,
        /// Why, for the log.
        why: String,
    },
}

impl Connection {
    /// A client that was accepted; the greeting is appended to `out`.
    pub fn greet(greets: &Greets<'_>, out: &mut Vec<u8>) -> Self {
        let mut seq = 0;
        greets.write(&mut seq, out);
        let stage = LoginStage::Greeted { scramble: greets.scramble };
        let tls = if greets.offers_tls { Tls::Offered } else { Tls::None };
        Self { caps: Caps::OF_OWN_SERVERS, seq, stage, tls, statements: Statements::default() }
    }

    /// The handshake is over in which the client was shown a certificate with that SHA-256.
    pub fn secured(&mut self, certificate: Option<[u8; 32]>) {
        self.tls = Tls::On { certificate };
    }

    /// A whole packet. `scramble` makes the nonce of a login that it begins.
    pub fn on_packet<H: Handler>(
        &mut self,
        handler: &mut H,
        scramble: impl FnOnce() -> Option<[u8; 20]>,
        (payload, seq): (&[u8], u8),
        out: &mut Vec<u8>,
    ) -> Next {
        self.seq = seq.wrapping_add(1);
        match std::mem::replace(&mut self.stage, LoginStage::Out) {
            LoginStage::In => {
                self.stage = LoginStage::In;
                match Command::parse(payload) {
                    Command::Quit => Next::Close,
                    Command::ChangeUser(payload) => {
                        self.change_user(handler, scramble(), payload, out)
                    }
                    command => {
                        self.on_command(handler, command, out);
                        Next::Go
                    }
                }
            }
            stage => self.on_credentials(handler, stage, payload, out),
        }
    }

    /// Whether it has proved who it is, and says nothing else now.
    pub fn is_in(&self) -> bool {
        matches!(self.stage, LoginStage::In)
    }

    /// Appends an error outside of any statement.
    pub fn write_fault(&mut self, fault: &Fault, out: &mut Vec<u8>) {
        let Fault { code, sqlstate, message } = fault;
        let err = ErrPacket { code: *code, sqlstate: *sqlstate, message: message.as_bytes() };
        reply::write_err(out, &mut self.seq, &err);
    }

    fn on_command<H: Handler>(&mut self, handler: &mut H, command: Command<'_>, out: &mut Vec<u8>) {
        match command {
            Command::Query(text) => self.query(handler, text, out),
            Command::StmtPrepare(text) => self.prepare(handler, text, out),
            Command::StmtExecute { id, rest, .. } => self.execute(handler, id, rest, out),
            Command::StmtClose(id) => self.statements.close(id),
            Command::StmtReset(id) => {
                self.statements.reset(id);
                self.write_done(handler, Ok(()), out);
            }
            Command::SendLongData { id, param, data } => {
                let bytes_max = handler.prepared_bytes().map_or(usize::MAX, |(max, _)| max);
                self.statements.add(id, param, data, bytes_max);
            }
            Command::Ping | Command::Debug => self.write_done(handler, Ok(()), out),
            Command::InitDb(name) => {
                let done = handler.use_schema(&String::from_utf8_lossy(name));
                self.write_done(handler, done, out);
            }
            Command::ResetConnection => {
                self.statements = Statements::default();
                let done = handler.reset();
                self.write_done(handler, done, out);
            }
            Command::SetOption(option) => {
                self.caps = match option {
                    0 => self.caps.union(Caps::MULTI_STATEMENTS),
                    _ => self.caps.without(Caps::MULTI_STATEMENTS),
                };
                let eof = reply::EofPacket { warnings: 0, status: handler.status() };
                reply::write_eof(out, &mut self.seq, self.caps, eof);
            }
            Command::Statistics => {
                let text = b"Uptime: 0  Threads: 1";
                write_with(out, &mut self.seq, |out| out.extend_from_slice(text));
            }
            Command::ProcessInfo => self.query(handler, b"SHOW PROCESSLIST", out),
            Command::ProcessKill(id) => {
                self.query(handler, format!("KILL CONNECTION {id}").as_bytes(), out);
            }
            Command::FieldList { table, .. } => self.field_list(handler, table, out),
            _ => self.write_fault(&Fault::new(1047, b"08S01", "Unknown command"), out),
        }
    }

    /// `COM_QUERY`: one statement, or several if the client said that it sends such.
    fn query<H: Handler>(&mut self, handler: &mut H, text: &[u8], out: &mut Vec<u8>) {
        let text = String::from_utf8_lossy(text);
        let several = self.caps.contains(Caps::MULTI_STATEMENTS);
        let parts = match handler.statements(&text, several) {
            Ok(parts) if parts.is_empty() => vec![""],
            Ok(parts) => parts,
            Err(fault) => return self.write_fault(&fault, out),
        };
        let mut left = parts.len();
        for part in parts {
            left -= 1;
            let answer = handler.run(part, &[]);
            let failed = answer.is_err();
            self.write_answer(handler, answer, Form::Text, left > 0, out);
            if failed {
                return;
            }
        }
    }

    pub(crate) fn write_answer<H: Handler>(
        &mut self,
        handler: &H,
        answer: Result<Answer, Fault>,
        form: Form,
        more: bool,
        out: &mut Vec<u8>,
    ) {
        let more = if more { Status::MORE_RESULTS } else { Status::NONE };
        let status = handler.status() | more;
        let warnings = u16::try_from(handler.warnings()).unwrap_or(u16::MAX);
        match answer {
            Err(fault) => self.write_fault(&fault, out),
            Ok(Answer::Rows(rows)) => {
                write_rows(&rows, form, (self.caps, status, warnings), out, &mut self.seq);
            }
            Ok(Answer::Done { affected_rows, last_insert_id, info }) => {
                let info = info.as_bytes();
                let ok = OkPacket {
                    affected_rows,
                    last_insert_id,
                    status,
                    warnings,
                    info,
                    ..OkPacket::default()
                };
                reply::write_ok(out, &mut self.seq, self.caps, &ok);
            }
        }
    }

    fn write_done<H: Handler>(&mut self, handler: &H, done: Result<(), Fault>, out: &mut Vec<u8>) {
        self.write_answer(handler, done.map(|()| Answer::DONE), Form::Text, false, out);
    }

    /// `COM_FIELD_LIST`: the columns of a table, as the command-line client's completion asks.
    fn field_list<H: Handler>(&mut self, handler: &mut H, table: &[u8], out: &mut Vec<u8>) {
        let table = String::from_utf8_lossy(table).replace('`', "``");
        match handler.describe(&format!("SELECT * FROM `{table}`")) {
            Err(fault) => self.write_fault(&fault, out),
            Ok(found) => {
                let of_packet = (self.caps, handler.status());
                write_fields(&found.columns, of_packet, out, &mut self.seq);
            }
        }
    }

    /// The number of its next packet.
    pub fn seq(&self) -> u8 {
        self.seq
    }
}
