//! What clients' logins teach about an account of which only a hash is stored.

use std::sync::OnceLock;

/// What a login taught about a hashed account, good enough to log in to servers.
#[derive(Clone, PartialEq, Eq)]
pub enum Learned {
    /// The password itself.
    Clear(Box<[u8]>),
    /// SHA1(password): enough for `mysql_native_password`.
    Sha1([u8; 20]),
}

/// What all logins taught: each kind is set once, since the stored hash stays the same.
#[derive(Default)]
pub struct Lessons {
    clear: OnceLock<Learned>,
    sha1: OnceLock<Learned>,
}

impl Lessons {
    /// The most that is known: the password itself is good for every plugin, whichever of the two
    /// came first.
    pub fn get(&self) -> Option<&Learned> {
        self.clear.get().or_else(|| self.sha1.get())
    }

    /// Keeps what a login taught; gives it back where that was known.
    pub fn set(&self, learned: Learned) -> Result<(), Learned> {
        match learned {
            Learned::Clear(_) => self.clear.set(learned),
            Learned::Sha1(_) => self.sha1.set(learned),
        }
    }
}
