//! A login whose password PAM or LDAP checks: it waits for the answer, for a while.
//!
//! What is asked, and how many may wait, is `login_checks`; what a right password leads to is
//! `admission`. A client that leaves takes what its check was awaited by with it.

use std::sync::Arc;

use crate::error;
use crate::ids::SessionId;
use crate::login_checks::{self, CheckAwaited, CheckOutcome, CheckSubject, CheckTicket};
use crate::orders::Order;
use crate::proxy::Proxy;
use crate::report::LogEvent;
use crate::session::Phase;
use crate::session::arriving::login::Login;

/// A login that waits for what comes of a check.
#[derive(Debug)]
pub(crate) struct Checking {
    login: Box<Login>,
    awaited: CheckAwaited,
    due_us: u64,
}

impl Checking {
    /// The sequence number of what it is answered with.
    pub(crate) fn seq(&self) -> u8 {
        self.login.seq
    }
}

impl Proxy {
    /// PAM or LDAP is to say whether a password is right; the places of the try stay taken until
    /// then.
    pub(super) fn ask_others(&mut self, id: SessionId, login: Box<Login>, password: &[u8]) {
        let account = login.account.clone();
        let Some((account, by)) = account.as_ref().and_then(|it| Some((it, it.checked_by()?)))
        else {
            return self.impossible(());
        };
        let Some(session) = self.sessions.get(id) else { return self.impossible(()) };
        let (user, client) = (&account.name, &session.client.addr);
        let subject = CheckSubject { session: id, user, password, client, by };
        let vars = &self.snapshot.vars;
        let due_us = self.now_us.saturating_add(vars.login_check_timeout_ms * 1000);
        match login_checks::begin(&subject, vars, &self.offer.login_checks) {
            Err(outcome) => self.conclude_check(id, login, outcome),
            Ok((check, awaited)) => {
                if let Some(session) = self.sessions.get_mut(id) {
                    session.phase = Phase::Checking(Checking { login, awaited, due_us });
                }
                self.orders.push(Order::CheckLogin(Arc::new(check)));
                self.wake(id, due_us);
            }
        }
    }

    /// A check has come to something. Nobody waits for it where its client has gone, or its time
    /// was over.
    pub fn on_login_checked(&mut self, ticket: &CheckTicket, outcome: CheckOutcome) {
        let id = ticket.session;
        let Some(session) = self.sessions.get_mut(id) else { return };
        match std::mem::replace(&mut session.phase, Phase::Idle) {
            Phase::Checking(checking) if checking.awaited.is_of(ticket) => {
                self.conclude_check(id, checking.login, outcome);
                if self.sessions.get(id).is_some_and(|it| matches!(it.phase, Phase::Idle)) {
                    self.resume_input(id);
                }
            }
            other => session.phase = other,
        }
        self.work_off();
    }

    /// Looks whether a check has had its time.
    pub(crate) fn end_check_in_time(&mut self, id: SessionId) {
        let now_us = self.now_us;
        let Some(session) = self.sessions.get_mut(id) else { return self.impossible(()) };
        match std::mem::replace(&mut session.phase, Phase::Idle) {
            Phase::Checking(Checking { login, due_us, .. }) if now_us >= due_us => {
                self.conclude_check(id, login, CheckOutcome::TimedOut);
            }
            Phase::Checking(checking) => {
                let due_us = checking.due_us;
                session.phase = Phase::Checking(checking);
                self.wake(id, due_us);
            }
            other => session.phase = other,
        }
    }

    /// Lets a client in or refuses it. Whoever was not judged has not guessed.
    fn conclude_check(&mut self, id: SessionId, login: Box<Login>, outcome: CheckOutcome) {
        let by = login.account.as_ref().and_then(|account| account.checked_by());
        let by = by.map_or("", |by| by.name());
        match outcome {
            CheckOutcome::Right => {
                self.stats.login_checks_right += 1;
                self.give_guesses_back(id, &login.user);
                self.accept_login(id, login);
            }
            CheckOutcome::Wrong => {
                self.stats.login_checks_wrong += 1;
                self.deny(id, &login);
            }
            CheckOutcome::Refused(why) => {
                self.stats.login_checks_wrong += 1;
                self.report_check(id, by, why);
                self.deny(id, &login);
            }
            CheckOutcome::Failed(why) => {
                self.stats.login_checks_failed += 1;
                self.give_guesses_back(id, &login.user);
                self.report_check(id, by, why);
                self.refuse(id, login.seq, error::unchecked(by));
            }
            CheckOutcome::TimedOut => {
                self.stats.login_checks_timed_out += 1;
                self.give_guesses_back(id, &login.user);
                self.refuse(id, login.seq, error::check_timed_out(by));
            }
            CheckOutcome::Full => {
                self.stats.login_checks_full += 1;
                self.give_guesses_back(id, &login.user);
                self.refuse(id, login.seq, error::too_many_checks(by));
            }
        }
    }

    /// The log has what the client is not told.
    fn report_check(&mut self, id: SessionId, by: &'static str, why: String) {
        if let Some(session) = self.sessions.get(id) {
            let (connection, client) = (session.client.connection, session.client.addr.to_string());
            self.report_client(LogEvent::LoginUnchecked { connection, client, by, why });
        }
    }
}
