//! A second password of an account, for as long as one takes the place of another: clients may
//! prove either, and a server may know either.
//!
//! What a login taught belongs to the password that was proved, whichever of the two it is by now.

use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::sync::Arc;

use wire::auth::Plugin;

use super::{Account, Credential, Form, Learned, Lessons};
use crate::json;

/// Which of an account's passwords.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PasswordRank {
    /// The one of its column.
    Primary,
    /// The one of its attribute.
    Additional,
}

const RANKS: [PasswordRank; 2] = [PasswordRank::Primary, PasswordRank::Additional];

/// A password that is right besides the primary one.
#[derive(Clone)]
pub struct AdditionalPassword {
    /// What is stored of it.
    pub credential: Credential,
    /// What logins with it taught.
    pub learned: Arc<Lessons>,
}

impl From<Credential> for AdditionalPassword {
    fn from(credential: Credential) -> Self {
        Self { credential, learned: Arc::default() }
    }
}

impl PartialEq for AdditionalPassword {
    fn eq(&self, other: &Self) -> bool {
        self.credential == other.credential
    }
}

/// What attributes say of one, beside what is stored of the primary password; the error is for the
/// operator, without the password.
pub(super) fn additional_password(
    text: &str,
    primary: &Credential,
    plugin: Option<Plugin>,
) -> Result<Option<AdditionalPassword>, String> {
    const NAME: &str = "additional_password";
    let Some(said) = json::member(text, NAME)? else { return Ok(None) };
    let stored = said.as_str().ok_or_else(|| format!("{NAME} is no text"))?;
    let credential = Credential::parse(stored.as_bytes()).and_then(|it| it.for_plugin(plugin));
    let credential = credential.map_err(|why| format!("{NAME}: {why}"))?;
    match primary {
        _ if credential.is_empty() => Ok(None),
        _ if plugin.is_some_and(Plugin::signs) => {
            Err(format!("{NAME} is not proved by signatures: take another authentication_plugin"))
        }
        Credential::Unread | Credential::AtServers | Credential::Checked(_) => {
            Err(format!("{NAME} is of no use beside password_from"))
        }
        Credential::Empty => Err(format!("{NAME} is of no use beside an empty password")),
        primary => Ok(Some(credential).filter(|it| it != primary).map(Into::into)),
    }
}

impl Account {
    /// What is stored of a password that clients may prove.
    pub fn stored(&self, rank: PasswordRank) -> Option<&Credential> {
        match rank {
            PasswordRank::Primary => Some(&self.credential),
            PasswordRank::Additional => self.additional.as_ref().map(|it| &it.credential),
        }
    }

    /// What logins with such a password taught.
    pub(super) fn lessons_of(&self, credential: &Credential) -> Option<&Arc<Lessons>> {
        if self.credential == *credential {
            return Some(&self.learned);
        }
        self.additional.as_ref().filter(|it| it.credential == *credential).map(|it| &it.learned)
    }

    /// The most that is known of such a password beside what is stored.
    pub fn learned_of(&self, credential: &Credential) -> Option<&Learned> {
        self.lessons_of(credential).and_then(|lessons| lessons.get())
    }

    /// Keeps what a login with such a password taught.
    pub(crate) fn learn(&self, credential: &Credential, learned: Learned) {
        if let Some(lessons) = self.lessons_of(credential) {
            let _ = lessons.set(learned);
        }
    }

    /// The passwords that clients may prove.
    pub(crate) fn passwords(&self) -> impl Iterator<Item = (PasswordRank, &Credential)> {
        RANKS.into_iter().filter_map(|rank| Some((rank, self.stored(rank)?)))
    }

    /// The form that decides what a login asks of a client: a hash of `caching_sha2_password` is
    /// proved by the password itself, which proves whatever is stored of the other one.
    pub(crate) fn form(&self) -> Form {
        let primary = self.credential.form();
        let Some(additional) = &self.additional else { return primary };
        let forms = [primary, additional.credential.form()];
        let asked = [Form::CachingSha2, Form::Native, Form::Clear];
        asked.into_iter().find(|form| forms.contains(form)).unwrap_or(primary)
    }

    /// How many rounds of `caching_sha2_password` it takes to find that a password is wrong.
    pub(super) fn sha2_rounds(&self) -> u32 {
        self.passwords().map(|(_, stored)| stored.sha2_rounds()).fold(0, u32::saturating_add)
    }

    /// Whether clients may prove one password for both.
    pub(super) fn shares_password(&self, other: &Self) -> bool {
        self.passwords().any(|(_, own)| other.passwords().any(|(_, other)| own == other))
    }

    /// What is stored of a password that servers may know.
    pub(crate) fn stored_for_servers(&self, rank: PasswordRank) -> Option<&Credential> {
        match (rank, &self.at_servers) {
            (rank, None) => self.stored(rank),
            (PasswordRank::Primary, Some(primary)) => Some(primary),
            (PasswordRank::Additional, Some(_)) => self.also_at_servers.as_ref(),
        }
    }

    /// The passwords that servers may know.
    pub(super) fn shown_at_all(&self) -> impl Iterator<Item = &Credential> {
        RANKS.into_iter().filter_map(|rank| self.stored_for_servers(rank))
    }

    /// Whether servers may know one password for both, whatever clients prove.
    pub(super) fn shares_at_servers(&self, other: &Self) -> bool {
        match (&self.at_servers, &other.at_servers) {
            (None, None) => true,
            (Some(_), Some(_)) => {
                self.shown_at_all().any(|own| other.shown_at_all().any(|other| own == other))
            }
            _ => false,
        }
    }

    /// Whether a server can be shown such a password.
    pub(super) fn can_show(&self, credential: &Credential) -> bool {
        matches!(credential, Credential::Empty | Credential::Clear { .. })
            || self.learned_of(credential).is_some()
    }

    /// The password that a server is shown first: the one that it took last, or has to take as it
    /// has refused the other one; else the primary.
    pub(crate) fn shown_first(&self, server: usize) -> PasswordRank {
        let can = |rank: &PasswordRank| {
            self.stored_for_servers(*rank).is_some_and(|stored| self.can_show(stored))
        };
        let additional = PasswordRank::Additional;
        if self.is_additional_at(server) && can(&additional) {
            return additional;
        }
        RANKS.into_iter().find(can).unwrap_or(PasswordRank::Primary)
    }

    /// Another password than the one that a server has refused.
    pub(crate) fn shown_instead_of(&self, refused: &Credential) -> Option<PasswordRank> {
        let is_other = |rank: &PasswordRank| {
            let credential = self.stored_for_servers(*rank);
            credential.is_some_and(|it| it != refused && self.can_show(it))
        };
        RANKS.into_iter().find(is_other)
    }

    /// A server has taken that password, or has refused the other one.
    pub(crate) fn note_shown(&self, server: usize, rank: PasswordRank) {
        if let Some(credential) = self.stored_for_servers(rank) {
            self.backends.note_shown(server, mark_of(credential));
        }
    }

    /// Whether a server is shown the additional password first.
    pub fn is_additional_at(&self, server: usize) -> bool {
        let additional = self.stored_for_servers(PasswordRank::Additional);
        additional.is_some_and(|it| self.backends.shown(server) == mark_of(it))
    }
}

/// A number for a password, which tells the two of an account apart whichever is the primary one.
fn mark_of(credential: &Credential) -> u64 {
    BuildHasherDefault::<DefaultHasher>::default().hash_one(credential).max(1)
}

#[cfg(test)]
mod tests;
