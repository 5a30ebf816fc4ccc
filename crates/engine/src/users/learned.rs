//! What clients' logins teach about an account of which only a hash is stored.

use std::sync::OnceLock;

use wire::auth::parsec;

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
    /// The public key that was derived first of a password in clear text, which takes long.
    parsec: OnceLock<parsec::Stored>,
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

    /// The key that was derived with a salt.
    pub(crate) fn parsec(&self, salt: &[u8; parsec::SALT_BYTES]) -> Option<&parsec::Stored> {
        self.parsec.get().filter(|stored| stored.salt == *salt)
    }

    /// Keeps the first key that was derived.
    pub(crate) fn keep_parsec(&self, stored: parsec::Stored) {
        let _ = self.parsec.set(stored);
    }
}
