//! Accounts whose passwords PAM or LDAP checks: which of them can be in force.
//!
//! Their clients' passwords are not for servers, so that another row has to say what is.

use std::sync::Arc;

use super::{Account, Credential, PasswordRank};
use crate::json;
use crate::login_checks::{self, CheckFeatures, CheckedBy};

/// Why such an account cannot be used towards servers, or by clients.
const NEEDS_CLIENTS: &str = "password_from \"pam\" and \"ldap\" need frontend = 1: they say \
    nothing of passwords for servers";
const NEEDS_NAME: &str = "name_pattern with password_from \"pam\" or \"ldap\" needs \
    backend_username: a row of its name for servers would be for no name that it matches";

/// The PAM service that attributes name.
pub(super) fn pam_service(text: &str) -> Result<Option<Arc<str>>, String> {
    const NAME: &str = "pam_service";
    let Some(said) = json::member(text, NAME)? else { return Ok(None) };
    match said.as_str().filter(|name| login_checks::is_pam_service(name)) {
        Some(name) => Ok(Some(name.into())),
        None => Err(format!("{NAME} is no name of a file in /etc/pam.d")),
    }
}

impl Account {
    /// Who checks its clients' passwords, where that is neither Tidegate nor a server.
    pub fn checked_by(&self) -> Option<&CheckedBy> {
        match &self.credential {
            Credential::Checked(by) => Some(by),
            _ => None,
        }
    }

    /// What a row whose passwords others check lacks by itself, in a build with these features.
    pub(super) fn lack_for_checks(&self, features: CheckFeatures) -> Option<String> {
        let by = self.checked_by()?;
        let word = by.word();
        if !features.has(by) {
            return Some(format!(
                "password_from \"{word}\" is not in this build of Tidegate: it needs the feature \
                 `{word}` (cargo build --features {word})"
            ));
        }
        let is_named = self.names.is_none() || self.name_at_servers.is_some();
        let lacks = [(!self.frontend, NEEDS_CLIENTS), (!is_named, NEEDS_NAME)];
        lacks.into_iter().find(|(is_lacking, _)| *is_lacking).map(|(_, why)| why.to_owned())
    }

    /// Why no server could be logged in to by it, with what other rows of its name say.
    pub(super) fn lack_for_servers(&self) -> Option<String> {
        let word = self.checked_by()?.word();
        match self.stored_for_servers(PasswordRank::Primary) {
            Some(Credential::Clear { .. } | Credential::Empty) => None,
            Some(Credential::Checked(_)) | None => Some(format!(
                "password_from \"{word}\" says nothing of servers: add a row of the name for them \
                 (frontend = 0, and backend = 0 here), or backend_username"
            )),
            Some(_) => Some(format!(
                "password_from \"{word}\" needs the password for servers in clear text: no login \
                 of a client teaches what a hash is of"
            )),
        }
    }
}

#[cfg(test)]
mod tests;
