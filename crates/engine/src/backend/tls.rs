//! The part of a login that is about TLS: asking for it, and what its server has to show then.
//!
//! Encryption itself is not done here. The answer behind the request is held back until the
//! handshake is over. Before a byte of the server comes in TLS, [`BackendLogin::on_secured`] is
//! told what was seen of the handshake.

use wire::auth::{Plugin, ed25519, native};
use wire::connect::{SCRAMBLE_BYTES, SslRequest};
use wire::frame;

use super::{BackendLogin, LoginStep, Secret, Stage};
use crate::topology::Verified;

/// What is known of a server's TLS.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ServerTls {
    /// The version as MySQL writes it: `TLSv1.3`.
    pub version: &'static str,
    /// The cipher suite by OpenSSL's name.
    pub cipher: &'static str,
    /// What was verified.
    pub verified: Verified,
    /// SHA-256 of a certificate that nothing vouches for, and why: the server has to prove that it
    /// knows the account's password.
    pub unproved: Option<([u8; 32], String)>,
}

impl ServerTls {
    /// What a handshake came to, for which that was verified, by the operator's name for it.
    pub fn seen(
        (version, cipher): (&'static str, &'static str),
        verified: &str,
        unproved: Option<([u8; 32], String)>,
    ) -> Self {
        let verified = match verified {
            _ if unproved.is_some() => Verified::Password,
            "ca" => Verified::Authority,
            "identity" => Verified::Identity,
            _ => Verified::Nothing,
        };
        Self { version, cipher, verified, unproved }
    }
}

/// What servers answer to a wrong password.
const ACCESS_DENIED: u16 = 1045;

/// How secure the way to a server is.
#[derive(PartialEq, Eq, Debug)]
pub(super) enum Channel {
    /// Anybody can listen in.
    Plain,
    /// It does not leave the machine.
    Local,
    /// It is to be TLS, and is not yet.
    Wanted,
    /// It is.
    Tls(ServerTls),
}

/// Whether servers prove with this plugin that they know the password.
pub(super) fn proves(plugin: Plugin) -> bool {
    matches!(plugin, Plugin::NativePassword | Plugin::Ed25519 | Plugin::Parsec)
}

impl BackendLogin {
    /// Asks for TLS; what is sent in it is kept.
    pub(super) fn ask_for_tls(
        &mut self,
        (plugin, scramble): (Plugin, [u8; SCRAMBLE_BYTES]),
        mut seq: u8,
        response: Vec<u8>,
        may_prove: bool,
        out: &mut Vec<u8>,
    ) -> LoginStep {
        let request = response.get(..SslRequest::BYTES).unwrap_or(&response);
        frame::write_packet(out, &mut seq, request);
        self.stage = Stage::ExpectTls { plugin, scramble, seq, response };
        LoginStep::Secure { may_prove }
    }

    /// Appends what is to be sent first in TLS.
    pub fn respond(&mut self, out: &mut Vec<u8>) {
        match std::mem::replace(&mut self.stage, Stage::Over) {
            Stage::ExpectTls { plugin, scramble, mut seq, response } => {
                frame::write_packet(out, &mut seq, &response);
                self.stage = Stage::ExpectResult { plugin, scramble };
            }
            other => self.stage = other,
        }
    }

    /// The handshake is over, and this was seen of the server.
    pub fn on_secured(&mut self, tls: ServerTls) {
        if self.channel == Channel::Wanted {
            self.channel = Channel::Tls(tls);
        }
    }

    /// Whether what comes next has to come by way of a handshake that is not over.
    pub fn is_securing(&self) -> bool {
        self.channel == Channel::Wanted && !matches!(self.stage, Stage::ExpectGreeting)
    }

    /// What was seen of the server in a handshake.
    pub fn server_tls(&self) -> Option<&ServerTls> {
        match &self.channel {
            Channel::Tls(tls) => Some(tls),
            _ => None,
        }
    }

    /// Whether a password may be sent as it is. A place that a server sent a connection to has to
    /// be verified for that, whatever the operator demands of the server itself.
    pub(super) fn is_secure(&self) -> bool {
        match &self.channel {
            Channel::Plain | Channel::Wanted => false,
            Channel::Local => true,
            Channel::Tls(tls) => match tls.verified {
                Verified::Nothing => self.mark.is_none(),
                Verified::Authority | Verified::Identity => true,
                // it would prove afterwards that it knows what it was told
                Verified::Password => false,
            },
        }
    }

    /// Whether a server can prove with this plugin that it knows the password.
    pub(super) fn can_be_proved(&self, plugin: Plugin) -> bool {
        let has_password = matches!(self.secret(), Secret::Clear(_) | Secret::Sha1(_));
        has_password && plugin == Plugin::NativePassword
    }

    /// Whether the OK of a login has the proof that is awaited, if one is.
    pub(super) fn is_proved(
        &self,
        info: &[u8],
        plugin: Plugin,
        scramble: &[u8; SCRAMBLE_BYTES],
    ) -> bool {
        let Some((digest, _)) = self.server_tls().and_then(|tls| tls.unproved.as_ref()) else {
            return true;
        };
        let stored = match (plugin, self.secret()) {
            (Plugin::NativePassword, Secret::Clear(password)) => {
                native::double_sha1(password).to_vec()
            }
            (Plugin::NativePassword, Secret::Sha1(sha1)) => {
                native::double_sha1_of_sha1(sha1).to_vec()
            }
            (Plugin::Ed25519, Secret::Clear(password)) => ed25519::public_key(password).to_vec(),
            (Plugin::Parsec, Secret::Clear(_)) => self.stored.clone().unwrap_or_default(),
            _ => return false,
        };
        !stored.is_empty() && native::proves_certificate(info, &stored, scramble, digest)
    }

    /// Whether the server may have refused the login, with that error, because it is not in TLS: to
    /// an account that demands it servers say the same as to a wrong password.
    pub fn may_lack_tls(&self, code: u16) -> bool {
        self.leaves_tls && code == ACCESS_DENIED
    }

    /// Whether the server has to prove that it knows the password.
    pub(super) fn is_unproved(&self) -> bool {
        self.server_tls().is_some_and(|tls| tls.unproved.is_some())
    }

    /// Why a connection does not go on whose server has proved nothing.
    pub(super) fn unproved(&self) -> String {
        let doubt = self.server_tls().and_then(|tls| tls.unproved.as_ref());
        let doubt = doubt.map_or("", |(_, doubt)| doubt);
        format!("{doubt}; nor did the server prove that it knows the account's password")
    }
}
