//! One connection to a server: logging in, and the answers to what was asked on it. Bytes in,
//! bytes out; deliberately knows no sockets and no time.

use engine::backend::{BackendLogin, LoginStep, ServerTls};
use engine::error;
use engine::topology::LastFault;
use engine::vars::KeyHash;
use keeper::{Endpoint, Failure};
use tls::Watch;
use wire::Caps;
use wire::collation_table::UTF8MB4_GENERAL_CI;
use wire::command::code;
use wire::connect::Greeting;
use wire::error_table::ACCESS_DENIED_ERROR;
use wire::frame::{self, Framed};

use crate::answer::{AnswerReader, ServerAnswer, Unanswered};
use crate::plan::Plan;
use crate::question::Dialect;

/// A connection.
pub(crate) struct Link {
    /// The server that it goes to.
    pub(crate) server: Endpoint,
    /// The check that it is used for.
    pub(crate) slot: Option<u32>,
    /// Since when it has no use, microseconds of the loop's clock.
    pub(crate) idle_since_us: u64,
    /// How often the account had changed when it was made.
    pub(crate) accounts: u64,
    /// It is to be in TLS.
    pub(crate) in_tls: bool,
    /// Its TLS, until the handshake is over.
    pub(crate) securing: Option<Watch>,
    stage: Stage,
    dialect: Dialect,
    reading: AnswerReader,
    /// Answers of its own that come first and say nothing of the check.
    skips: usize,
    awaited: usize,
    answers: Vec<ServerAnswer>,
}

enum Stage {
    Login(Box<BackendLogin>),
    Ready,
}

/// What came of some bytes.
#[derive(Debug)]
pub(crate) enum Came {
    /// More are awaited.
    Nothing,
    /// What follows is in TLS, and then [`Link::respond`] is sent.
    Secure {
        /// The server may prove by the password that its certificate is its own.
        may_prove: bool,
    },
    /// The login is over: commands may be sent.
    LoggedIn,
    /// All answers to what was asked.
    Answers(Vec<ServerAnswer>),
    /// The connection is of no use any more.
    Failed(Option<Failure>, String),
    /// A statement was refused; the connection may be used on.
    Refused(u16, String),
}

impl Link {
    /// A connection that is being opened, for a check.
    pub(crate) fn new(
        server: Endpoint,
        slot: u32,
        plan: &Plan,
        (secure, in_tls): (bool, bool),
    ) -> Self {
        let login =
            BackendLogin::new(plan.account.clone(), Caps::NONE, None, UTF8MB4_GENERAL_CI, secure)
                .untracked()
                .named("tidegate_monitor")
                .trusting(plan.keys.clone());
        let login = if in_tls { login.in_tls() } else { login };
        Self {
            server,
            slot: Some(slot),
            idle_since_us: 0,
            accounts: 0,
            in_tls,
            securing: None,
            stage: Stage::Login(Box::new(login)),
            dialect: Dialect::MariaDb,
            reading: AnswerReader::default(),
            skips: 0,
            awaited: 0,
            answers: Vec::new(),
        }
    }

    /// Whether it can be asked something.
    pub(crate) fn is_idle(&self) -> bool {
        matches!(self.stage, Stage::Ready) && self.slot.is_none()
    }

    /// What its server understands.
    pub(crate) fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// Appends a statement whose answer nobody looks at.
    pub(crate) fn prepare(&mut self, statement: &str, out: &mut Vec<u8>) {
        query(statement, out);
        self.skips += 1;
    }

    /// Appends what is asked: statements, or a ping where there are none.
    pub(crate) fn ask(&mut self, statements: &[String], out: &mut Vec<u8>) {
        self.answers.clear();
        self.awaited = statements.len().max(1);
        match statements {
            [] => frame::write_packet(out, &mut 0, &[code::PING]),
            _ => statements.iter().for_each(|statement| query(statement, out)),
        }
    }

    /// Appends what is to be sent first in TLS.
    pub(crate) fn respond(&mut self, out: &mut Vec<u8>) {
        if let Stage::Login(login) = &mut self.stage {
            login.respond(out);
        }
    }

    /// The handshake of its TLS is over.
    pub(crate) fn on_secured(&mut self, tls: ServerTls) {
        if let Stage::Login(login) = &mut self.stage {
            login.on_secured(tls);
        }
    }

    /// Takes the packets that are whole; says how many bytes these are. What is to be sent is
    /// appended.
    pub(crate) fn on_bytes(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> (usize, Came) {
        let mut taken = 0;
        loop {
            let rest = bytes.get(taken..).unwrap_or_default();
            let packet = match frame::next_packet(rest) {
                Framed::Packet(packet) => packet,
                Framed::Need(_) => return (taken, Came::Nothing),
                Framed::Long { .. } => return (bytes.len(), malformed()),
            };
            taken += packet.len;
            let came = match &mut self.stage {
                Stage::Login(login) => {
                    if let Ok(greeting) = Greeting::parse(packet.payload)
                        && packet.seq == 0
                    {
                        self.dialect = Dialect::of(greeting.version(), greeting.is_mariadb());
                    }
                    let mut step = login.on_packet(&packet, out);
                    if let LoginStep::Failed { said: Some((code, _, said)), .. } = &mut step
                        && login.may_lack_tls(*code)
                    {
                        let text = String::from_utf8_lossy(said);
                        *said = error::tls_may_be_demanded(&text, "it").into_bytes();
                    }
                    self.on_login(step)
                }
                Stage::Ready => self.on_answer(packet.payload),
            };
            if !matches!(came, Came::Nothing) {
                return (taken, came);
            }
        }
    }

    fn on_login(&mut self, step: LoginStep) -> Came {
        match step {
            LoginStep::Wait => Came::Nothing,
            LoginStep::Secure { may_prove } => Came::Secure { may_prove },
            LoginStep::Insecure(why) => {
                // it answers, so that it lives: what is amiss is to be mended by hand
                let failure = Some(Failure::Error(SSL_CONNECTION_ERROR));
                Came::Failed(failure, format!("TLS failed: {why}"))
            }
            LoginStep::Ready { .. } => {
                self.stage = Stage::Ready;
                Came::LoggedIn
            }
            LoginStep::Failed { fault, said } => match said {
                Some((code, _, message)) => {
                    let text = String::from_utf8_lossy(&message).into_owned();
                    Came::Failed(Some(Failure::Error(code)), text)
                }
                // whatever speaks there, it is no server
                None if fault == LastFault::Protocol => {
                    Came::Failed(Some(Failure::NoAnswer), fault.to_string())
                }
                // it greeted, so that it lives: the account is what does not fit
                None => Came::Failed(
                    Some(Failure::Error(ACCESS_DENIED_ERROR.number)),
                    fault.to_string(),
                ),
            },
            LoginStep::KeyRefused(KeyHash(_)) => {
                let fault = LastFault::PublicKey;
                Came::Failed(Some(Failure::Error(ACCESS_DENIED_ERROR.number)), fault.to_string())
            }
        }
    }

    fn on_answer(&mut self, payload: &[u8]) -> Came {
        let Some(answer) = self.reading.on_packet(payload) else { return Came::Nothing };
        self.reading = AnswerReader::default();
        if self.skips > 0 {
            self.skips -= 1;
            return Came::Nothing;
        }
        self.awaited = self.awaited.saturating_sub(1);
        match answer {
            Ok(answer) => self.answers.push(answer),
            // the answers behind it say nothing more
            Err(Unanswered::Refused(code, message)) => {
                self.skips += std::mem::take(&mut self.awaited);
                return Came::Refused(code, message);
            }
            Err(Unanswered::Malformed) => return malformed(),
        }
        match self.awaited {
            0 => Came::Answers(std::mem::take(&mut self.answers)),
            _ => Came::Nothing,
        }
    }
}

fn malformed() -> Came {
    Came::Failed(Some(Failure::NoAnswer), "the answer is not understood".to_owned())
}

fn query(statement: &str, out: &mut Vec<u8>) {
    frame::write_with(out, &mut 0, |payload| {
        payload.push(code::QUERY);
        payload.extend_from_slice(statement.as_bytes());
    });
}

/// The error of a client whose TLS failed.
pub(crate) const SSL_CONNECTION_ERROR: u16 = 2026;
