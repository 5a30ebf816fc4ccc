//! By which plugin the clients of an account log in, and what a client is asked whose name is not
//! there.
//!
//! How a plugin proves a password is `wire::auth`; when that is looked at, `session::arriving`.

use std::collections::BTreeMap;

use wire::auth::{Plugin, ed25519, parsec};

use super::{Account, Credential, Form};
use crate::json;

/// What a login asks of a client, and how long it takes to look at.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct AskedProof {
    /// The only plugin that proves the password; `None` for what the client comes with.
    pub plugin: Option<Plugin>,
    /// The form of what is stored.
    pub form: Form,
}

impl AskedProof {
    /// By which plugin a client goes that has answered the greeting by `came_with`.
    pub fn plugin(self, came_with: Plugin) -> Plugin {
        let by_form = match (self.form, came_with) {
            (Form::CachingSha2 | Form::Ed25519 | Form::Parsec(_), _) => Plugin::CachingSha2,
            (_, Plugin::CachingSha2) => Plugin::CachingSha2,
            _ => Plugin::NativePassword,
        };
        self.plugin.unwrap_or(by_form)
    }
}

impl Account {
    /// What its clients are asked.
    pub fn asked(&self) -> AskedProof {
        AskedProof { plugin: self.plugin, form: self.form() }
    }

    /// Why no server could be logged in to by it: its clients sign, and never show the password.
    pub(super) fn lacks_password(&self) -> Option<String> {
        let plugin = self.plugin.filter(|plugin| plugin.signs())?;
        let is_unknown = matches!(
            self.shown_to_servers(),
            Credential::Unread | Credential::Ed25519(_) | Credential::Parsec(_)
        );
        let reason = format!(
            "clients of {} never show the password that servers want: add a row of the name for \
             servers (frontend = 0), or backend_username",
            plugin.name()
        );
        is_unknown.then_some(reason)
    }
}

impl Credential {
    /// Reads what a row has for clients that go by a plugin; says what is wrong with it.
    pub(super) fn parse_for(plugin: Option<Plugin>, stored: &[u8]) -> Result<Self, String> {
        let may_be_key = plugin.is_some_and(|it| it.signs() || it == Plugin::NativePassword);
        let key = may_be_key.then(|| {
            let key = ed25519::parse_stored(stored).map(Self::Ed25519);
            key.or_else(|| parsec::Stored::parse(stored).map(Self::Parsec))
        });
        key.flatten().map_or_else(|| Self::parse(stored), Ok)?.for_plugin(plugin)
    }

    /// The same, unless clients cannot prove it by a plugin: then says why.
    pub fn for_plugin(self, plugin: Option<Plugin>) -> Result<Self, String> {
        let Some(plugin) = plugin else { return Ok(self) };
        let name = plugin.name();
        let what = match (&self, plugin) {
            (_, Plugin::CachingSha2 | Plugin::Sha256Password | Plugin::ClearPassword)
            | (Self::Empty | Self::Clear { .. } | Self::Unread, _)
            | (Self::AtServers | Self::Checked(_), _)
            | (Self::Native(_), Plugin::NativePassword)
            | (Self::Ed25519(_), Plugin::Ed25519)
            | (Self::Parsec(_), Plugin::Parsec) => return Ok(self),
            (Self::Native(_), _) => "a hash of mysql_native_password",
            (Self::CachingSha2(_), _) => "a hash of caching_sha2_password",
            (Self::Ed25519(_), _) => "a public key of client_ed25519",
            (Self::Parsec(_), _) => "a public key of parsec",
        };
        Err(format!(
            "{name} does not prove {what}: give the password itself, or another \
             authentication_plugin"
        ))
    }
}

/// How many accounts ask the same.
#[derive(Default)]
pub(super) struct ProofCounts {
    by_kind: BTreeMap<AskedProof, u64>,
    all: u64,
}

impl ProofCounts {
    /// Counts an account.
    pub(super) fn count(&mut self, asked: AskedProof) {
        let form = if asked.form == Form::Empty { Form::Clear } else { asked.form };
        *self.by_kind.entry(AskedProof { form, ..asked }).or_default() += 1;
        self.all += 1;
    }

    /// What is asked of a number: each thing of as many numbers as of accounts. One account more
    /// changes what is asked of few numbers.
    pub(super) fn of(&self, number: u64) -> AskedProof {
        let scaled = (u128::from(number) * u128::from(self.all)) >> 64;
        let mut place = u64::try_from(scaled).unwrap_or_default();
        let found = self.by_kind.iter().find(|(_, count)| {
            let is_here = place < **count;
            place = place.saturating_sub(**count);
            is_here
        });
        found.map_or(AskedProof { plugin: None, form: Form::Clear }, |(asked, _)| *asked)
    }
}

/// The plugin that clients have to go by.
pub(super) fn plugin(text: &str) -> Result<Option<Plugin>, String> {
    const NAME: &str = "authentication_plugin";
    let Some(said) = json::member(text, NAME)? else { return Ok(None) };
    let found = PLUGINS.into_iter().find(|plugin| said.as_str() == Some(plugin.name()));
    let names = || PLUGINS.map(Plugin::name).join(", ");
    found.map(Some).ok_or_else(|| format!("{NAME} is none of {}", names()))
}

const PLUGINS: [Plugin; 6] = [
    Plugin::NativePassword,
    Plugin::CachingSha2,
    Plugin::Sha256Password,
    Plugin::ClearPassword,
    Plugin::Ed25519,
    Plugin::Parsec,
];

/// Whether clients show the password itself, where that is needed.
pub(super) fn shows_password(plugin: Option<Plugin>) -> bool {
    match plugin {
        None | Some(Plugin::CachingSha2 | Plugin::Sha256Password | Plugin::ClearPassword) => true,
        Some(_) => false,
    }
}

#[cfg(test)]
mod tests;
