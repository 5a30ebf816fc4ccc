//! How a login ends: its client is let in or refused, and counted.
//!
//! Decides whether the account still stands and has a place. Whether the password was right is
//! `passwords`; what a server is asked about the schema is `schema`.

use std::sync::Arc;

use wire::auth::Plugin;
use wire::connect::AuthMore;
use wire::reply::write_auth_more;

use crate::error::{self, SqlError};
use crate::ids::{HostgroupId, LaneId, SessionId};
use crate::orders::{End, Order};
use crate::pool;
use crate::proxy::Proxy;
use crate::report::LogEvent;
use crate::server_error::Meaning;
use crate::session::arriving::login::{Expect, Login};
use crate::session::command::variable_texts::VariableTexts;
use crate::session::{Phase, Session};
use crate::topology::Server;
use crate::users::{Account, ClientCertificate, PasswordRank};

impl Proxy {
    /// The password is wrong, or the account is gone: the client gets 1045, and the try counts.
    pub(crate) fn deny(&mut self, id: SessionId, login: &Login) {
        self.stats.denied_password += 1;
        self.note_login(id, true);
        let Some(session) = self.sessions.get(id) else { return self.impossible(()) };
        let error = error::access_denied(&login.user, &session.client.addr, login.with_password);
        self.refuse(id, login.seq, error);
    }

    /// What a client's TLS, or the certificate that it has shown, lacks for an account.
    fn lacks_of(&self, id: SessionId, account: &Account) -> Option<String> {
        if account.use_ssl && self.sessions.get(id)?.client.tls.is_none() {
            return Some("SSL is required".to_owned());
        }
        account.demands.lack(self.certificate_of(id)).map(|lack| lack.to_string())
    }

    /// The certificate that a client has shown.
    pub(super) fn certificate_of(&self, id: SessionId) -> Option<&dyn ClientCertificate> {
        self.sessions.get(id)?.client.tls.as_deref()?.certificate.as_deref()
    }

    /// The log has why a client is refused that is told no more than one with a wrong password.
    pub(crate) fn report_insecure(&mut self, id: SessionId, login: &Login, reason: &str) {
        self.stats.denied_without_tls += 1;
        let Some(session) = self.sessions.get(id) else { return self.impossible(()) };
        let error = error::insecure(&login.user, &session.client.addr, true, reason);
        self.report_refusal(id, &error);
    }

    /// The password is right, but not the way by which it came.
    fn deny_insecure(&mut self, id: SessionId, login: &Login, reason: &str) {
        self.stats.denied_without_tls += 1;
        let Some(session) = self.sessions.get(id) else { return self.impossible(()) };
        let (user, client) = (&login.user, &session.client.addr);
        let error = error::insecure(user, client, login.with_password, reason);
        self.refuse(id, login.seq, error);
    }

    /// Whether so many logins from an address failed in a row that no further one is tried.
    pub(crate) fn has_failed_often(&self, times: u32) -> bool {
        self.counts_failed_logins() && times >= self.snapshot.vars.client_host_error_counts
    }

    /// Whether it matters how many logins from an address failed.
    pub(crate) fn counts_failed_logins(&self) -> bool {
        let vars = &self.snapshot.vars;
        vars.client_host_cache_size > 0 && vars.client_host_error_counts > 0
    }

    /// Has it remembered by its address how a client's login ended.
    pub(crate) fn note_login(&mut self, id: SessionId, failed: bool) {
        let vars = &self.snapshot.vars;
        let addresses_max = vars.client_host_cache_size;
        let failures_max = vars.client_host_error_counts;
        if addresses_max > 0
            && let Some(session) =
                self.sessions.get(id).filter(|session| session.client.has_address())
        {
            let client = session.client.addr.clone();
            let order = Order::LoginEnded { client, failed, addresses_max, failures_max };
            self.orders.push(order);
        }
    }

    /// The password is right: the session gets its account, or an error where that has no place.
    pub(crate) fn accept_login(&mut self, id: SessionId, login: Box<Login>) {
        if self.sessions.get(id).is_some_and(Session::is_being_cleared) {
            return self.keep_login(id, login);
        }
        // the account may have been removed since the login began, or ask for something else
        let users = &self.snapshot.users;
        let in_force = |account| users.letting_in(account, login.proved).cloned();
        let now = login.account.as_ref().and_then(in_force);
        let (Some(account), Some(now)) = (login.account.clone(), now) else {
            return self.deny(id, &login);
        };
        if let Some(reason) = self.lacks_of(id, &account) {
            return self.deny_insecure(id, &login, &reason);
        }
        // a change of user is told nothing of it
        let is_first = self.sessions.get(id).is_some_and(|session| !session.client.logged_in);
        let info = self.proof_of_certificate(id, &login).filter(|_| is_first);
        // nobody whose password no server has seen takes the place of others
        let is_unproved = account.unproved != 0;
        let place = if is_unproved { Ok(()) } else { self.take_place(id, &account) };
        if let Err(error) = place {
            return self.refuse(id, login.seq, error);
        }
        // it is counted: its session has to give the place back
        if let Some(session) = self.sessions.get_mut(id) {
            session.account = Some(account.clone());
        }
        let mut seq = login.seq;
        let fast = login.plugin == Plugin::CachingSha2 && login.expect == Expect::Response;
        if fast && !account.credential.is_empty() {
            let end = End::Client(id);
            self.orders.send(end, |out| write_auth_more(out, &mut seq, &[AuthMore::FAST_OK]));
        }
        if !is_unproved {
            self.note_login(id, false);
        }
        // what else of it has changed is in force as well
        let is_now = !Arc::ptr_eq(&account, &now) && account.is_followed_by(&now);
        let account = if is_now { now } else { account };
        let Some(session) = self.sessions.get_mut(id) else { return self.impossible(()) };
        session.auth.info = info.unwrap_or_default();
        session.want = login.first.clone();
        session.first = login.first.clone();
        session.variable_texts = VariableTexts::default();
        session.told_any_change = false;
        session.account = Some(account.clone());
        session.catalogs.clear();
        session.phase = Phase::Idle;
        session.timing.idle_since_us = self.now_us;
        if account.fast_forward {
            return self.begin_relay(id, seq);
        }
        let unseen = session.want.schema.as_ref().filter(|schema| {
            let is_seen = |(name, seen): &(_, _)| *name == account.name && seen == *schema;
            login.schema_named && (is_unproved || !self.schemas_seen.iter().any(is_seen))
        });
        match unseen.cloned() {
            Some(schema) => self.check_schema(id, Some(&schema), seq),
            None if is_unproved || !self.has_met(id, account.default_hostgroup) => {
                self.check_schema(id, None, seq);
            }
            None => self.send_login_ok(id, seq),
        }
    }

    /// Whether a login needs no server: its hostgroup was met before.
    fn has_met(&mut self, id: SessionId, hostgroup: HostgroupId) -> bool {
        self.begin_by_default(id) || !self.has_to_meet(hostgroup)
    }

    /// A session that logs in, and its account, have one client more.
    fn take_place(&mut self, id: SessionId, account: &Account) -> Result<(), SqlError> {
        if !self.has_place(id) {
            self.stats.denied_max_connections += 1;
            return Err(error::too_many_connections());
        }
        account.admit().map_err(|current| {
            self.stats.denied_max_user_connections += 1;
            error::too_many_user_connections(&account.name, current)
        })
    }

    /// A server has let a session in with the password that its client showed, if none had before:
    /// it is judged once more as if that had been known at once.
    pub(crate) fn prove(&mut self, id: SessionId, lane_id: LaneId) -> Result<(), SqlError> {
        let Some(session) = self.sessions.get(id) else { return self.impossible(Ok(())) };
        let Some(account) = session.account.as_ref().filter(|it| it.unproved != 0) else {
            return Ok(());
        };
        let proved = Arc::new(account.proved());
        let name = proved.name.as_bytes();
        if let Some(lane) = self.lanes.get_mut(lane_id) {
            lane.account = proved.clone();
            let server = lane.server.clone();
            server.gauge.end_proof();
            self.dues.room(server.hostgroup);
            self.replace_idle(&server, &proved);
        }
        let Some(session) = self.sessions.get(id) else { return self.impossible(Ok(())) };
        if self.snapshot.users.letting_in(&proved, PasswordRank::Primary).is_none() {
            return Err(error::access_denied(name, &session.client.addr, true));
        }
        self.give_guesses_back(id, name);
        self.note_login(id, false);
        self.take_place(id, &proved)?;
        if let Some(session) = self.sessions.get_mut(id) {
            session.account = Some(proved);
        }
        Ok(())
    }

    /// A login has opened a connection of its own: an idle one of before makes room for it, so that
    /// they grow no more by logins than by sessions.
    fn replace_idle(&mut self, server: &Server, account: &Arc<Account>) {
        let is_of = |id: &LaneId| {
            self.lanes.get(*id).is_some_and(|lane| pool::is_same_account(&lane.account, account))
        };
        let idle = self.pool.idle_of(server).iter().copied().find(is_of);
        if let Some(idle) = idle {
            self.drop_lane(idle);
        }
    }

    /// Whether no server has seen yet what a session's client showed for a password.
    pub(crate) fn is_unproved(&self, id: SessionId) -> bool {
        let account = self.sessions.get(id).and_then(|session| session.account.as_ref());
        account.is_some_and(|account| account.unproved != 0)
    }

    /// No server has let a session in: it is refused as by a server.
    pub(crate) fn refuse_unproved(&mut self, id: SessionId, said: &SqlError) {
        let Some(session) = self.sessions.get(id) else { return self.impossible(()) };
        let (connection, address) = (session.client.connection, session.client.addr.clone());
        let was_shown = session.auth.was_shown;
        let Some(account) = session.account.clone() else { return self.impossible(()) };
        let meaning = Meaning::of(said.code);
        let name = account.name.as_bytes();
        let error = if meaning.is(Meaning::WRONG_PASSWORD) {
            self.stats.denied_password += 1;
            self.note_login(id, true);
            error::access_denied(name, &address, true)
        } else if meaning.is(Meaning::OF_SESSION.and(Meaning::OF_ACCOUNT)) {
            if meaning.is(Meaning::BEHIND_PASSWORD) {
                self.give_guesses_back(id, name);
            }
            // of an account that it knows, a server says as much to anybody
            said.clone()
        } else {
            // where a server got it, that may have been an answer which took too long
            if !was_shown {
                self.give_guesses_back(id, name);
            }
            // whoever has proved nothing is told nothing of servers: the log has it
            let (hostgroup, error) = (account.default_hostgroup, said.clone());
            self.report_client(LogEvent::NoConnection { hostgroup, connection, error });
            error::unproved()
        };
        self.refuse_login(id, error);
    }

    /// The OK that ends a login; the session is idle from here on. The deadline of the login is
    /// still to come, and turns into that of an idle session then.
    pub(crate) fn welcome(&mut self, id: SessionId, seq: u8) {
        self.begin_by_default(id);
        self.send_login_ok(id, seq);
    }

    fn send_login_ok(&mut self, id: SessionId, seq: u8) {
        let Some(session) = self.sessions.get_mut(id) else { return self.impossible(()) };
        let info = std::mem::take(&mut session.auth.info);
        self.send_ok(id, seq, &info);
        self.begin_compression(id);
    }

    /// Behind the OK of a login, a client is compressed that has asked for it.
    pub(crate) fn begin_compression(&mut self, id: SessionId) {
        let Some(session) = self.sessions.get_mut(id) else { return self.impossible(()) };
        if let Some(compression) = session.auth.compression.take() {
            session.client.compression = Some(compression);
            self.orders.push(Order::Compress(End::Client(id), compression));
        }
    }
}
