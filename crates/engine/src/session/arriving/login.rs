//! A client logs in: greeting, handshake response, authentication, and `COM_CHANGE_USER` later.
//!
//! What passwords look like on the wire is `wire::auth`; which accounts there are is `users`;
//! whether a password is right, and when that is looked at, is `passwords`.

use std::sync::Arc;

use wire::auth::{Plugin, parsec};
use wire::connect::{ChangeUser, Compression, Greeting, HandshakeResponse};
use wire::connect::{PublicKeyRequest, SslRequest};
use wire::frame::Packet;
use wire::reply::{ErrPacket, write_auth_more};
use wire::{Caps, Status, frame};

use crate::error::{self, SqlError};
use crate::guesses::Proof;
use crate::ids::SessionId;
use crate::link::{Charset, LinkState, Settings};
use crate::orders::End;
use crate::proxy::Proxy;
use crate::report::LogEvent;
use crate::session::arriving::passwords::Shown;
use crate::session::placing::elsewhere;
use crate::session::{LastResults, Phase};
use crate::users::{Account, PasswordRank};

/// What is being waited for in the middle of an authentication.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Expect {
    /// The response of the plugin that was switched to.
    Response,
    /// The password itself where nobody can listen in, or the request for the key.
    Password,
    /// The password, encrypted with the key.
    Encrypted,
    /// What a client of `parsec` says that was told no salt.
    BeforeSalt,
}

/// The last authentication of a session.
pub(crate) struct Auth {
    /// The challenge, for as long as the connection lasts: libmariadb answers a change of user by
    /// the greeting's, whatever the switch says. Servers repeat it too.
    pub scramble: [u8; 20],
    /// Sequence number of the packet that ends the login.
    pub end_seq: u8,
    /// Status flags that the login ends with.
    pub told: Status,
    /// What its OK tells besides.
    pub info: Vec<u8>,
    /// A server that is to prove the password may have got it.
    pub was_shown: bool,
    /// What was agreed on, until that comes into force behind the OK.
    pub compression: Option<Compression>,
}

/// An authentication under way.
pub(crate) struct Login {
    pub(crate) scramble: [u8; 20],
    pub(crate) user: Box<[u8]>,
    pub(crate) account: Option<Arc<Account>>,
    /// Which of its passwords the client has proved.
    pub(crate) proved: PasswordRank,
    pub(super) first: LinkState,
    /// The client itself named the schema, so that its absence is an error.
    pub(super) schema_named: bool,
    pub(crate) with_password: bool,
    pub(crate) plugin: Plugin,
    pub(crate) expect: Expect,
    /// Its place among those that servers are asked about.
    pub(super) proof: Option<Proof>,
    /// The client has answered by a salt of before, and that answer holds the places it took.
    pub(crate) was_stale: bool,
    pub(crate) seq: u8,
}

impl Login {
    /// Servers, PAM or LDAP are shown the password.
    pub(super) fn is_passed_on(&self) -> bool {
        self.account.as_ref().is_some_and(|account| account.credential.is_passed_on())
    }
}

impl std::fmt::Debug for Login {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let user = String::from_utf8_lossy(&self.user);
        write!(f, "Login({user}, {:?}, {:?})", self.plugin, self.expect)
    }
}

impl Proxy {
    /// Sends the greeting.
    pub(crate) fn greet(&mut self, id: SessionId, scramble: [u8; 20]) {
        let Some(session) = self.sessions.get_mut(id) else { return self.impossible(()) };
        let vars = &self.snapshot.vars;
        let configured = Some(vars.server_version.as_bytes()).filter(|version| !version.is_empty());
        let greeting = Greeting {
            server_version: configured.unwrap_or(&self.offer.server_version),
            connection_id: session.client.connection.0,
            scramble,
            caps: self.offered(id),
            collation: wire::collation_table::UTF8MB4_GENERAL_CI,
            status: self.greeted_status(),
            plugin: vars.default_authentication_plugin.as_bytes(),
        };
        let at_us = self.now_us + vars.connect_timeout_client_ms * 1000;
        let end = End::Client(id);
        self.orders.send(end, |out| {
            frame::write_with(out, &mut 0, |payload| greeting.encode(payload));
        });
        self.wake(id, at_us);
    }

    /// What clients may ask for.
    fn offered(&self, id: SessionId) -> Caps {
        let vars = &self.snapshot.vars;
        let mut caps = self.offer.caps;
        if !vars.enable_load_data_local_infile {
            caps = caps.without(Caps::LOCAL_FILES);
        }
        if vars.have_compress {
            caps = caps.union(Compression::CAPS);
        }
        if self.offers_tls(id) { caps.union(Caps::SSL) } else { caps }
    }

    /// The process is full: an error in place of the greeting, as MySQL does.
    pub(crate) fn turn_away(&mut self, id: SessionId) {
        self.stats.denied_max_connections += 1;
        let error = error::too_many_connections();
        self.report_refusal(id, &error);
        self.stats.errors_generated += 1;
        // no capability is agreed on yet, so the packet has no SQLSTATE
        self.orders.send(End::Client(id), |out| {
            frame::write_with(out, &mut 0, |payload| {
                payload.push(ErrPacket::MARKER);
                payload.extend_from_slice(&error.code.to_le_bytes());
                payload.extend_from_slice(error.message.as_bytes());
            });
        });
        self.close_session(id, None);
    }

    pub(super) fn report_refusal(&mut self, id: SessionId, error: &SqlError) {
        if let Some(session) = self.sessions.get(id) {
            let (connection, client) = (session.client.connection, session.client.addr.to_string());
            let error = error.clone();
            self.report_client(LogEvent::LoginRefused { connection, client, error });
        }
    }

    /// What whoever reaches the port can have written into the log.
    pub(crate) fn report_client(&mut self, event: LogEvent) {
        if self.admits_client_line() {
            self.orders.report(event);
        }
    }

    /// Whether one more line of that kind is to be written now.
    pub fn admits_client_line(&mut self) -> bool {
        self.client_lines.admits(self.now_us)
    }

    /// Says how much was not told one by one.
    pub(crate) fn report_untold(&mut self) {
        if let Some(untold) = self.client_lines.take_untold(self.now_us) {
            self.orders.report(LogEvent::Untold { clients: untold });
        }
    }

    pub(crate) fn refuse(&mut self, id: SessionId, seq: u8, error: SqlError) {
        self.report_refusal(id, &error);
        self.send_error(id, seq, &error);
        self.close_session(id, None);
    }

    /// The handshake response.
    pub(crate) fn on_handshake(&mut self, id: SessionId, packet: &Packet<'_>, scramble: [u8; 20]) {
        let seq = packet.seq.wrapping_add(1);
        if SslRequest::parse(packet.payload).is_some() {
            return self.on_tls_request(id, seq, scramble);
        }
        let response = match HandshakeResponse::parse(packet.payload) {
            Ok(response) => response,
            Err(malformed) => return self.bad_handshake(id, seq, &malformed.to_string()),
        };
        if self.is_itself(response.attributes) {
            return self.refuse(id, seq, elsewhere::sent_to_itself());
        }
        let caps = response.caps.intersect(self.offered(id));
        let Some(session) = self.sessions.get_mut(id) else { return self.impossible(()) };
        session.caps = caps;
        session.auth.compression = Compression::agreed(caps, response.zstd_level);
        session.class = caps.intersect(crate::backend::CLASS);
        if let Some(error) = self.lack_at_listener(id) {
            self.stats.denied_without_tls += 1;
            return self.refuse(id, seq, error);
        }
        let named = response.schema.filter(|schema| !schema.is_empty());
        let charset = match self.offer.collations.of_client(u16::from(response.collation)) {
            Ok(charset) => charset,
            Err(name) => return self.refuse(id, seq, error::charset_refused(name)),
        };
        let user = charset.read_name(response.user);
        let account = self.snapshot.users.of_client(&user);
        let first = self.first_state(account.as_deref(), named, charset);
        let by = response.plugin.filter(|_| caps.contains(Caps::PLUGIN_AUTH));
        let greeted_by = self.snapshot.vars.default_authentication_plugin.as_bytes();
        let plugin = match by.map(Plugin::from_name) {
            // a client that goes by another plugin than the greeting may wait to be asked
            _ if response.auth_response.is_empty() && by.is_some_and(|it| it != greeted_by) => {
                Plugin::Other
            }
            Some(plugin @ (Plugin::NativePassword | Plugin::CachingSha2)) => plugin,
            // it answers a nonce that the greeting does not have
            Some(_) => Plugin::Other,
            None => Plugin::NativePassword,
        };
        let login = Login {
            scramble,
            user: (*user).into(),
            account,
            proved: PasswordRank::Primary,
            first,
            schema_named: named.is_some(),
            with_password: says_something(response.auth_response),
            plugin,
            expect: Expect::Response,
            proof: None,
            was_stale: false,
            seq,
        };
        let auth = response.auth_response.to_vec();
        self.come_in_or_wait(id, Box::new(login), &auth);
    }

    /// The state a session of this account begins with.
    fn first_state(
        &self,
        account: Option<&Account>,
        schema: Option<&[u8]>,
        charset: Charset,
    ) -> LinkState {
        let default = account.and_then(|account| account.default_schema.as_deref());
        let fallback = Some(self.snapshot.vars.default_schema.as_str()).filter(|s| !s.is_empty());
        let schema = schema.or(default.or(fallback).map(str::as_bytes)).map(Into::into);
        let isolation = account.and_then(|account| account.isolation);
        let settings = isolation.and_then(|level| Settings::with_isolation(None, level));
        LinkState { settings, ..LinkState::new(schema, charset) }
    }

    /// What should be a part of a login is none, for that reason.
    pub(crate) fn bad_handshake(&mut self, id: SessionId, seq: u8, why: &str) {
        self.client_fault(id, why);
        self.note_login(id, true);
        self.refuse(id, seq, error::bad_handshake(why));
    }

    /// `COM_CHANGE_USER`: everything begins anew on the same socket.
    pub(crate) fn on_change_user(&mut self, id: SessionId, payload: &[u8]) {
        let Some(session) = self.sessions.get(id) else { return self.impossible(()) };
        let request = match ChangeUser::parse(payload, session.caps) {
            Ok(request) => request,
            Err(malformed) => return self.bad_handshake(id, 1, &malformed.to_string()),
        };
        let own = session.first.charset;
        let asked = request.collation.map(|asked| self.offer.collations.of_client(asked));
        let charset = match asked.unwrap_or(Ok(own)) {
            Ok(charset) => charset,
            Err(name) => return self.refuse(id, 1, error::charset_refused(name)),
        };
        let user = charset.read_name(request.user);
        let account = self.snapshot.users.of_client(&user);
        let named = Some(request.schema).filter(|schema| !schema.is_empty());
        let login = Login {
            scramble: session.auth.scramble,
            user: (*user).into(),
            first: self.first_state(account.as_deref(), named, charset),
            account,
            proved: PasswordRank::Primary,
            schema_named: named.is_some(),
            with_password: says_something(request.auth_response),
            plugin: Plugin::Other,
            expect: Expect::Response,
            proof: None,
            was_stale: false,
            seq: 1,
        };
        self.clear_all(id, false);
        self.leave_account(id);
        let now_us = self.now_us;
        if let Some(session) = self.sessions.get_mut(id) {
            session.timing.idle_since_us = now_us;
            session.last = LastResults::default();
        }
        self.wake(id, now_us + self.snapshot.vars.connect_timeout_client_ms * 1000);
        self.judge(id, Box::new(login), b"");
    }

    /// A packet in the middle of an authentication.
    pub(crate) fn on_login_packet(&mut self, id: SessionId, packet: &Packet<'_>) {
        let Some(session) = self.sessions.get_mut(id) else { return self.impossible(()) };
        let Phase::Login(mut login) = std::mem::replace(&mut session.phase, Phase::Idle) else {
            return self.impossible(());
        };
        let secure = session.client.secure;
        login.seq = packet.seq.wrapping_add(1);
        login.with_password |= says_something(packet.payload);
        match login.expect {
            Expect::Response => self.judge(id, login, packet.payload),
            Expect::BeforeSalt if packet.payload.is_empty() => self.tell_salt(id, login),
            // by a salt that it was told before
            Expect::BeforeSalt if packet.payload.len() == parsec::ANSWER_BYTES => {
                self.judge_first(id, login, Shown::Response(packet.payload.into()));
            }
            Expect::Password if PublicKeyRequest::is(packet.payload, login.plugin) => {
                let pem = self.offer.key.public_pem();
                let seq = &mut login.seq;
                self.orders.send(End::Client(id), |out| write_auth_more(out, seq, pem));
                login.expect = Expect::Encrypted;
                self.await_login(id, login);
            }
            // a lone zero is no password, which anybody may hear
            Expect::Password if secure || packet.payload == [0] => {
                let clear = packet.payload.strip_suffix(&[0]).unwrap_or(packet.payload);
                self.judge_first(id, login, Shown::Password(clear.into()));
            }
            Expect::Encrypted => {
                self.judge_first(id, login, Shown::Encrypted(packet.payload.into()));
            }
            Expect::Password | Expect::BeforeSalt => self.deny(id, &login),
        }
    }

    pub(crate) fn await_login(&mut self, id: SessionId, login: Box<Login>) {
        if let Some(session) = self.sessions.get_mut(id) {
            session.phase = Phase::Login(login);
        }
    }
}

/// Whether a response is one of a client with a password: some send a lone zero for none.
fn says_something(response: &[u8]) -> bool {
    response.iter().any(|byte| *byte != 0)
}

#[cfg(test)]
mod tests;
