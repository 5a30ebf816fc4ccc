//! How an account's password is shown to a server: by the plugin that the server asks for, and in
//! no way that tells it to any other host.

use wire::auth::{Plugin, ed25519, native, parsec, rsa, sha2};
use wire::connect::{AuthMore, AuthSwitch, CHALLENGE_BYTES, PublicKeyRequest, SCRAMBLE_BYTES};
use wire::frame;

use super::{BackendLogin, LoginStep, Stage, failed, tls};
use crate::topology::LastFault;
use crate::users::{Credential, Learned, PasswordRank};
use crate::vars::{KeyHash, Vars};

/// Which public keys of a server a password may be encrypted with.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Keys {
    /// Any that it shows.
    Any,
    /// These.
    Only(Vec<KeyHash>),
}

impl Keys {
    /// Those that the variables name.
    pub fn of_vars(vars: &Vars) -> Self {
        match vars.get_server_public_key && vars.server_public_keys.is_empty() {
            true => Self::Any,
            false => Self::Only(vars.server_public_keys.clone()),
        }
    }

    /// Those of a place that a server sent a connection to: a key that nobody listed could be
    /// anybody's.
    #[must_use]
    pub fn of_elsewhere(self) -> Self {
        match self {
            Self::Any => Self::Only(Vec::new()),
            only => only,
        }
    }

    fn have(&self, key: KeyHash) -> bool {
        match self {
            Self::Any => true,
            Self::Only(keys) => keys.contains(&key),
        }
    }
}

/// The secret that can be shown to a server.
pub(super) enum Secret<'a> {
    Empty,
    Clear(&'a [u8]),
    Sha1(&'a [u8; 20]),
    Unknown,
}

impl BackendLogin {
    /// The same with that password of the account, so many having been refused.
    #[must_use]
    pub(crate) fn showing(self, shows: PasswordRank, refusals: u8) -> Self {
        Self { shows, refusals, ..self }
    }

    /// Which of the account's passwords it shows, and how many were refused.
    pub(crate) fn shows(&self) -> (PasswordRank, u8) {
        (self.shows, self.refusals)
    }

    /// What of the password can be shown to the server.
    pub(super) fn secret(&self) -> Secret<'_> {
        let stored = self.account.stored_for_servers(self.shows);
        let learned = stored.and_then(|stored| self.account.learned_of(stored));
        match (stored, learned) {
            (Some(Credential::Empty), _) => Secret::Empty,
            (Some(Credential::Clear { password, .. }), _) => Secret::Clear(password),
            (_, Some(Learned::Clear(password))) => Secret::Clear(password),
            (_, Some(Learned::Sha1(sha1))) => Secret::Sha1(sha1),
            (_, None) => Secret::Unknown,
        }
    }

    /// The answer to a plugin's challenge; `None` when the secret for it is not known.
    pub(super) fn response(
        &self,
        plugin: Plugin,
        scramble: &[u8; SCRAMBLE_BYTES],
    ) -> Option<Vec<u8>> {
        match (plugin, self.secret()) {
            (_, Secret::Unknown) => None,
            (Plugin::Sha256Password, Secret::Empty) => Some(vec![0]),
            (_, Secret::Empty) => Some(Vec::new()),
            (Plugin::NativePassword, Secret::Clear(password)) => {
                Some(native::scramble(password, scramble).to_vec())
            }
            (Plugin::NativePassword, Secret::Sha1(sha1)) => {
                Some(native::scramble_from_sha1(sha1, scramble).to_vec())
            }
            (Plugin::CachingSha2, Secret::Clear(password)) => {
                Some(sha2::scramble(password, scramble).to_vec())
            }
            (Plugin::ClearPassword | Plugin::Sha256Password, Secret::Clear(password))
                if self.is_secure() =>
            {
                Some([password, &[0]].concat())
            }
            _ => None,
        }
    }

    /// The account goes by another plugin than the server's own.
    pub(super) fn on_switch(
        &mut self,
        switch: &AuthSwitch<'_>,
        mut seq: u8,
        scramble: [u8; SCRAMBLE_BYTES],
        out: &mut Vec<u8>,
    ) -> LoginStep {
        let plugin = Plugin::from_name(switch.plugin);
        let scramble = switch.scramble().unwrap_or(scramble);
        if plugin == Plugin::Other {
            return unspoken(switch.plugin);
        }
        if self.is_unproved() && !tls::proves(plugin) {
            return LoginStep::Insecure(self.unproved());
        }
        if plugin == Plugin::ClearPassword && !self.is_secure() {
            return LoginStep::Insecure("the account goes by 'mysql_clear_password'".to_owned());
        }
        let mut stage = Stage::ExpectResult { plugin, scramble };
        let auth = match (plugin, self.secret()) {
            (Plugin::Ed25519, Secret::Clear(password)) => {
                let Ok(challenge) = switch.challenge() else { return failed(LastFault::Protocol) };
                ed25519::sign(password, &challenge).to_vec()
            }
            (Plugin::Parsec, Secret::Clear(_)) => {
                let Ok(challenge) = switch.challenge() else { return failed(LastFault::Protocol) };
                stage = Stage::ExpectSalt { challenge, scramble };
                Vec::new()
            }
            (Plugin::Sha256Password, Secret::Clear(_)) if !self.is_secure() => {
                stage = Stage::ExpectKey { plugin, scramble };
                PublicKeyRequest::OF_SHA256.to_vec()
            }
            _ => match self.response(plugin, &scramble) {
                Some(auth) => auth,
                None => return failed(LastFault::NoPassword),
            },
        };
        frame::write_packet(out, &mut seq, &auth);
        self.stage = stage;
        LoginStep::Wait
    }

    pub(super) fn on_salt(
        &mut self,
        payload: &[u8],
        mut seq: u8,
        challenge: [u8; CHALLENGE_BYTES],
        scramble: [u8; SCRAMBLE_BYTES],
        out: &mut Vec<u8>,
    ) -> LoginStep {
        let Secret::Clear(password) = self.secret() else {
            return failed(LastFault::NoPassword);
        };
        let Some(key) = parsec::Key::derive(password, payload) else {
            return unspoken(b"parsec, with other rounds or salt");
        };
        let Some(answer) = key.answer(&challenge) else { return failed(LastFault::Protocol) };
        frame::write_packet(out, &mut seq, &answer);
        self.stored = Some(key.stored().to_bytes());
        self.stage = Stage::ExpectResult { plugin: Plugin::Parsec, scramble };
        LoginStep::Wait
    }

    pub(super) fn on_more(
        &mut self,
        payload: &[u8],
        mut seq: u8,
        scramble: [u8; SCRAMBLE_BYTES],
        out: &mut Vec<u8>,
    ) -> LoginStep {
        let plugin = Plugin::CachingSha2;
        match AuthMore::parse(payload).map(|more| more.data.first().copied()) {
            Ok(Some(AuthMore::FAST_OK)) => {
                self.stage = Stage::ExpectResult { plugin, scramble };
                LoginStep::Wait
            }
            Ok(Some(AuthMore::FULL_AUTH)) => {
                let Secret::Clear(password) = self.secret() else {
                    return failed(LastFault::NoPassword);
                };
                if self.is_secure() {
                    frame::write_packet(out, &mut seq, &[password, &[0]].concat());
                    self.stage = Stage::ExpectResult { plugin, scramble };
                } else {
                    frame::write_packet(out, &mut seq, &PublicKeyRequest::PAYLOAD);
                    self.stage = Stage::ExpectKey { plugin, scramble };
                }
                LoginStep::Wait
            }
            _ => failed(LastFault::Protocol),
        }
    }

    pub(super) fn on_key(
        &mut self,
        payload: &[u8],
        mut seq: u8,
        plugin: Plugin,
        scramble: [u8; SCRAMBLE_BYTES],
        out: &mut Vec<u8>,
    ) -> LoginStep {
        let Secret::Clear(password) = self.secret() else {
            return failed(LastFault::NoPassword);
        };
        let Ok(shown) = AuthMore::parse(payload) else { return failed(LastFault::Protocol) };
        let Some(key) = rsa::key_hash(shown.data).map(KeyHash) else {
            return failed(LastFault::Protocol);
        };
        if !self.keys.have(key) {
            return LoginStep::KeyRefused(key);
        }
        let encrypted = rsa::encrypt_password(shown.data, password, &scramble);
        let Some(encrypted) = encrypted else { return failed(LastFault::Protocol) };
        frame::write_packet(out, &mut seq, &encrypted);
        self.stage = Stage::ExpectResult { plugin, scramble };
        LoginStep::Wait
    }
}

/// A server asks for a plugin by that name, which is not spoken.
fn unspoken(plugin: &[u8]) -> LoginStep {
    let name = plugin.get(..PLUGIN_NAME_MAX).unwrap_or(plugin).escape_ascii();
    let text = format!("the account goes by the plugin '{name}', which Tidegate does not speak");
    LoginStep::Failed {
        fault: LastFault::Plugin,
        said: Some((CANNOT_LOAD_PLUGIN, *b"HY000", text.into_bytes())),
    }
}

/// How much is told of a plugin's name.
const PLUGIN_NAME_MAX: usize = 64;

/// What clients say who have not the plugin that a server asks for (`CR_AUTH_PLUGIN_CANNOT_LOAD`).
const CANNOT_LOAD_PLUGIN: u16 = 2059;
