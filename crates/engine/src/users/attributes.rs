//! What the column `attributes` says of an account, and which of it cannot be had together.
//! The other columns, and what comes of all of them, are not known here.

use std::sync::Arc;

use wire::auth::Plugin;

use super::{Demands, NamePattern, asked, checked};
use crate::json;
use crate::login_checks::CheckedBy;
use crate::rows::{Row, UserRow};
use crate::vars::misspelt;

pub(super) const LOGIN_NEEDS: &str = "password_from \"login\" needs fast_forward = 0";

pub(super) const REDIRECT_NEEDS: &str =
    "redirect needs fast_forward = 1: where rules decide, no server is a client's for good";

pub(super) const LOGIN_SHOWS: &str =
    "password_from \"login\" needs a password to show to servers: no spiffe_id stands for it";

const LOGIN_PLUGINS: &str = "password_from \"login\" needs clients that show the password: as \
    authentication_plugin, name caching_sha2_password, sha256_password, mysql_clear_password or \
    none";

const CHECK_PLUGINS: &str = "password_from \"pam\" and \"ldap\" need clients that show the \
    password: as authentication_plugin, name caching_sha2_password, sha256_password, \
    mysql_clear_password or none";

/// What `attributes` say of an account.
#[derive(Default)]
pub(super) struct AccountAttributes {
    pub(super) max_backend_connections: Option<u32>,
    pub(super) pipeline_depth: Option<u32>,
    pub(super) redirect: bool,
    pub(super) replication: bool,
    pub(super) annotations: bool,
    pub(super) isolation: Option<&'static str>,
    pub(super) name_at_servers: Option<Arc<str>>,
    pub(super) password_from: Option<PasswordFrom>,
    pub(super) plugin: Option<Plugin>,
    pub(super) names: Option<Arc<NamePattern>>,
    pub(super) demands: Demands,
}

impl AccountAttributes {
    pub(super) fn read(text: &str) -> Result<Self, String> {
        let read = Self {
            max_backend_connections: json::number(text, "max_backend_connections", 1_000_000)?,
            pipeline_depth: json::pipeline_depth(text)?,
            redirect: json::flag(text, "redirect")?,
            replication: json::switch(text, "replication")?,
            annotations: json::switch(text, "annotations")?,
            isolation: isolation(text)?,
            name_at_servers: name_at_servers(text)?,
            password_from: password_from(text)?,
            plugin: asked::plugin(text)?,
            names: NamePattern::read(text)?,
            demands: Demands::read(text)?,
        };
        refuse_misspelt(text)?;
        Ok(read)
    }

    /// Why some of them cannot be had together, of an account that relays or not.
    pub(super) fn misfits(&self, relays: bool) -> impl Iterator<Item = &'static str> + use<> {
        let is_proved = self.password_from == Some(PasswordFrom::Login);
        let is_checked = matches!(self.password_from, Some(PasswordFrom::Check(_)));
        let is_shown = asked::shows_password(self.plugin);
        let rules = [
            (self.redirect && !relays, REDIRECT_NEEDS),
            (is_proved && relays, LOGIN_NEEDS),
            (is_proved && self.demands.replace_password(), LOGIN_SHOWS),
            (is_proved && !is_shown, LOGIN_PLUGINS),
            (is_checked && !is_shown, CHECK_PLUGINS),
        ];
        rules.into_iter().filter_map(|(is_broken, reason)| is_broken.then_some(reason))
    }
}

/// A name that hardly is another program's: one of ours was meant, and would have no effect.
fn refuse_misspelt(text: &str) -> Result<(), String> {
    let column = UserRow::TABLE.columns.iter().find(|column| column.name == "attributes");
    let known = column.and_then(|column| column.members).unwrap_or_default();
    for name in json::names(text)?.iter().filter(|name| !known.contains(&name.as_str())) {
        if let Some(meant) = misspelt(name, known.iter().copied()) {
            return Err(format!("{name} is unknown; did you mean {meant}?"));
        }
    }
    Ok(())
}

/// The name of the account that servers are logged in to with.
fn name_at_servers(text: &str) -> Result<Option<Arc<str>>, String> {
    const NAME: &str = "backend_username";
    let Some(said) = json::member(text, NAME)? else { return Ok(None) };
    let name = said.as_str().filter(|name| !name.is_empty());
    name.map(|name| Some(name.into())).ok_or_else(|| format!("{NAME} is no name"))
}

/// Where a password is that is not in its account's row.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum PasswordFrom {
    /// Servers have a hash, which is read.
    Servers,
    /// Servers are logged in to with what a client shows.
    Login,
    /// Others than servers are asked whether what a client shows is right.
    Check(CheckedBy),
}

fn password_from(text: &str) -> Result<Option<PasswordFrom>, String> {
    const NAME: &str = "password_from";
    // one that is ignored would leave an account without a password
    let strange = |name: &String| name.to_lowercase().starts_with("password") && name != NAME;
    if let Some(strange) = json::names(text)?.into_iter().find(strange) {
        return Err(format!("{strange} is unknown; there is {NAME}"));
    }
    let service = checked::pam_service(text)?;
    let said = json::member(text, NAME)?;
    let said = said.as_ref().map(|said| said.as_str().unwrap_or_default());
    match said {
        Some("pam") => Ok(Some(PasswordFrom::Check(CheckedBy::Pam(service)))),
        _ if service.is_some() => Err("pam_service needs password_from \"pam\"".to_owned()),
        None => Ok(None),
        Some("servers") => Ok(Some(PasswordFrom::Servers)),
        Some("login") => Ok(Some(PasswordFrom::Login)),
        Some("ldap") => Ok(Some(PasswordFrom::Check(CheckedBy::Ldap))),
        Some(_) => Err(format!("{NAME} is not \"servers\", \"login\", \"pam\" or \"ldap\"")),
    }
}

/// The isolation level that sessions begin with, in quotes as a `SET` takes it.
fn isolation(text: &str) -> Result<Option<&'static str>, String> {
    const NAME: &str = "default-transaction_isolation";
    const LEVELS: [&str; 4] =
        ["'READ-UNCOMMITTED'", "'READ-COMMITTED'", "'REPEATABLE-READ'", "'SERIALIZABLE'"];
    let Some(said) = json::member(text, NAME)? else { return Ok(None) };
    let said = said.as_str().map(|said| format!("'{}'", said.replace(' ', "-")));
    let level = said.and_then(|said| LEVELS.into_iter().find(|it| it.eq_ignore_ascii_case(&said)));
    level.map(Some).ok_or_else(|| format!("{NAME} is no isolation level"))
}
