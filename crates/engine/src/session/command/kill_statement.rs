//! A client's `KILL`: whose session it means, and what the client is told.
//!
//! The ids that clients know are the proxy's, and servers use the same numbers for others. So no
//! `KILL` reaches a server as it came: what is understood is done here, and all else is refused.

use sql::{Effects, Facts, KillOperand, Killed, RunTexts, Verb};
use wire::frame::Span;

use crate::error::{self, SqlError};
use crate::holds::Holds;
use crate::ids::{ClientStmtId, SessionId};
use crate::orders::{End, KillRequest, Order, Whose};
use crate::proxy::Proxy;
use crate::session::Session;

/// What became of a request to kill.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Killing {
    Done,
    /// The session is another user's.
    Denied,
    /// There is no such session here.
    Unknown,
}

impl Proxy {
    /// Serves a text that kills; `false` when it does not.
    pub(crate) fn served_as_kill(
        &mut self,
        id: SessionId,
        text: &[u8],
        facts: &Facts,
        upload: Option<Span>,
    ) -> bool {
        let Some(session) = self.sessions.get(id) else { return self.impossible(true) };
        if !facts.effects.intersects(Effects::KILLS) {
            let error = refused_texts(session, text, facts.effects);
            let may_kill = || self.may_kill(id, text).then(error::kill_not_supported);
            let Some(error) = error.or_else(may_kill) else {
                return false;
            };
            self.refuse_command(id, upload, error);
            return true;
        }
        let known = |operand: KillOperand<'_>| known(session, operand);
        let kill = sql::parse_kill(text, session.want.modes(), &known);
        let is_mariadb = self.offer.collations.are_of_mariadb();
        match kill.filter(|_| upload.is_none()).map(|kill| (kill.whose, kill.query_only)) {
            Some((Killed::Connection(whom), query_only)) => {
                self.answer_kill(id, whom, query_only);
            }
            Some((Killed::User(name), query_only)) if is_mariadb => {
                self.kill_user(id, name, query_only);
            }
            Some((Killed::OwnUser, query_only)) if is_mariadb => {
                let name = session.user().as_bytes().to_vec();
                self.kill_user(id, &name, query_only);
            }
            Some((Killed::Query(number), _)) => {
                self.answer_error(id, &error::unknown_query(number));
            }
            _ => {
                let error = refused_texts(session, text, facts.effects);
                let error = error.unwrap_or_else(error::kill_not_supported);
                self.refuse_command(id, upload, error);
            }
        }
        true
    }

    /// Serves the execution of a prepared `KILL`.
    pub(crate) fn execute_kill(
        &mut self,
        id: SessionId,
        stmt: ClientStmtId,
        raw: &[u8],
        upload: Option<Span>,
    ) {
        let text = match upload {
            None => self.kill_spelled(id, stmt, raw),
            Some(_) => None,
        };
        let text = text.unwrap_or_default();
        let facts = Facts { verb: Verb::Kill, effects: Effects::KILLS, ..Facts::default() };
        self.served_as_kill(id, &text, &facts, upload);
    }

    /// Whether a text may be a `KILL` to its server, which may read it as nobody was told.
    #[inline]
    pub(crate) fn may_kill(&self, id: SessionId, text: &[u8]) -> bool {
        let is_untold = |session: &Session| session.held_for(Holds::UNTOLD_SETTINGS).is_some();
        let beginning = text.get(..self.snapshot.vars.threshold_query_length as usize);
        self.sessions.get(id).is_some_and(is_untold) && sql::may_kill(beginning.unwrap_or(text))
    }

    /// Why texts are refused that a prepared statement has run.
    #[cold]
    pub(crate) fn refused_texts_of(&self, id: SessionId, stmt: ClientStmtId) -> Option<SqlError> {
        let session = self.sessions.get(id)?;
        let text = &session.handle(stmt)?.text;
        refused_texts(session, &text.text, text.effects)
    }

    /// Kills a connection, or what it runs, and tells the client what came of it.
    pub(crate) fn answer_kill(&mut self, id: SessionId, whom: u64, query_only: bool) {
        let Some(session) = self.sessions.get(id) else { return self.impossible(()) };
        let Ok(connection) = u32::try_from(whom) else {
            return self.answer_error(id, &error::unknown_thread(whom));
        };
        if connection == session.client.connection.0 {
            return self.kill_itself(id, query_only);
        }
        let user = Some(session.user().as_bytes().to_vec());
        let request = KillRequest { whose: Whose::Connection(connection), query_only, user };
        match self.kill(&request) {
            Killing::Done => self.answer_ok(id),
            Killing::Denied => self.answer_error(id, &error::not_owner(whom)),
            Killing::Unknown if self.workers == 1 => {
                self.answer_error(id, &error::unknown_thread(whom));
            }
            Killing::Unknown => {
                self.orders.push(Order::Kill(request));
                self.answer_ok(id);
            }
        }
    }

    /// A session kills itself, or what it runs: the `KILL`.
    fn kill_itself(&mut self, id: SessionId, query_only: bool) {
        if query_only {
            return self.answer_error(id, &error::query_interrupted());
        }
        let error = match self.offer.collations.are_of_mariadb() {
            true => error::connection_killed(),
            false => error::query_interrupted(),
        };
        self.answer_error(id, &error);
        self.close_session(id, None);
    }

    /// Kills everything of a user, which can only be the one that asks: servers kill nobody else's
    /// and say nothing of it.
    fn kill_user(&mut self, id: SessionId, name: &[u8], query_only: bool) {
        self.answer_ok(id);
        let Some(session) = self.sessions.get(id) else { return self.impossible(()) };
        if session.user().as_bytes() != name {
            return;
        }
        let whose = Whose::User(name.to_vec());
        let request = KillRequest { whose, query_only, user: Some(name.to_vec()) };
        self.orders.push(Order::Kill(request.clone()));
        self.kill(&request);
    }

    /// Carries out a request on the sessions of this worker.
    pub(crate) fn kill(&mut self, request: &KillRequest) -> Killing {
        let is_meant = |session: &Session| {
            request.user.as_ref().is_none_or(|user| session.user().as_bytes() == user)
        };
        let found: Vec<SessionId> = match &request.whose {
            Whose::Connection(connection) => {
                self.connections.get(connection).copied().into_iter().collect()
            }
            Whose::User(name) => {
                let is_of =
                    |session: &Session| session.user().as_bytes() == name && !session.is_mirror();
                self.sessions.iter().filter(|(_, s)| is_of(s)).map(|(id, _)| id).collect()
            }
        };
        let mut came = Killing::Unknown;
        for id in found {
            match self.sessions.get(id) {
                Some(session) if is_meant(session) => match request.query_only {
                    true => self.with(End::Client(id), |proxy| proxy.kill_query(id)),
                    false => self.with(End::Client(id), |proxy| proxy.close_session(id, None)),
                },
                Some(_) => {
                    came = Killing::Denied;
                    continue;
                }
                None => continue,
            }
            came = Killing::Done;
        }
        came
    }
}

/// Why texts are refused that a text with these effects has run, as far as what variables say is
/// known.
fn refused_texts(session: &Session, text: &[u8], effects: Effects) -> Option<SqlError> {
    if !effects.intersects(Effects::RUNS_TEXTS) {
        return None;
    }
    let (settings, modes) = (session.want.settings.as_deref(), session.want.modes());
    let known = |name: &[u8]| settings?.get(&[b"@", name].concat());
    match sql::run_texts(text, modes, &known) {
        RunTexts::Unread => Some(error::text_not_read()),
        RunTexts::Kill => Some(error::kill_not_supported()),
        RunTexts::Harmless => {
            let all = session.variable_texts.in_front_of(text)?;
            let kills = sql::run_texts(&all, modes, &known) == RunTexts::Kill;
            kills.then(error::kill_not_supported)
        }
    }
}

/// What an operand of the id comes to, where the proxy knows it.
fn known(session: &Session, operand: KillOperand<'_>) -> Option<u64> {
    match operand {
        KillOperand::OwnId => Some(session.client.connection.0.into()),
        KillOperand::Variable(name) => {
            // a server may have given it another value
            if session.held_for(Holds::PINNING).is_some() {
                return None;
            }
            let name = [b"@", &*name.to_ascii_lowercase()].concat();
            let value = session.want.settings.as_deref()?.get(&name)?;
            std::str::from_utf8(value).ok()?.parse().ok()
        }
    }
}
