//! The password exchanges, for both sides.
//!
//! Pure computations over passwords, nonces and stored hashes; which plugin is used, and when,
//! is decided by the caller. Secrets are compared in constant time.

use crate::connect::{CHALLENGE_BYTES, SCRAMBLE_BYTES};

mod crypt;
pub mod ed25519;
pub mod native;
#[cfg(test)]
mod oracle;
pub mod parsec;
mod pem;
pub mod rsa;
pub mod sha2;

/// The authentication plugins that are spoken here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Plugin {
    /// `mysql_native_password`: SHA-1 scramble.
    NativePassword,
    /// `caching_sha2_password`: SHA-256 scramble, or the password itself in a safe channel.
    CachingSha2,
    /// `sha256_password`: the password itself in a safe channel, or under the server's key.
    Sha256Password,
    /// `mysql_clear_password`: the password itself.
    ClearPassword,
    /// `client_ed25519` of MariaDB.
    Ed25519,
    /// `parsec` of MariaDB.
    Parsec,
    /// Any other.
    Other,
}

impl Plugin {
    /// The plugin called `name`.
    pub fn from_name(name: &[u8]) -> Self {
        match name {
            b"mysql_native_password" => Self::NativePassword,
            b"caching_sha2_password" => Self::CachingSha2,
            b"sha256_password" => Self::Sha256Password,
            b"mysql_clear_password" => Self::ClearPassword,
            b"client_ed25519" => Self::Ed25519,
            b"parsec" => Self::Parsec,
            _ => Self::Other,
        }
    }

    /// Whether its clients answer with a signature, of which no password is learned.
    pub const fn signs(self) -> bool {
        matches!(self, Self::Ed25519 | Self::Parsec)
    }

    /// The plugin's name on the wire; empty for [`Plugin::Other`].
    pub const fn name(self) -> &'static str {
        match self {
            Self::NativePassword => "mysql_native_password",
            Self::CachingSha2 => "caching_sha2_password",
            Self::Sha256Password => "sha256_password",
            Self::ClearPassword => "mysql_clear_password",
            Self::Ed25519 => "client_ed25519",
            Self::Parsec => "parsec",
            Self::Other => "",
        }
    }
}

/// The longest password that full authentication takes, as with MySQL. To hash one takes time by
/// the square of its length, and whoever has none yet may send any.
pub const PASSWORD_BYTES_MAX: usize = 256;

/// Makes a nonce, or a salt, of random bytes: seven bits of each, without the NUL and the `$` at
/// which some clients and servers stop reading.
pub fn nonce_of<const N: usize>(random: [u8; N]) -> [u8; N] {
    random.map(|byte| match byte & 0x7f {
        0 | b'$' => b'x',
        letter => letter,
    })
}

/// The longer nonce of a connection, which its scramble and a secret make: nobody else knows it
/// before it is told.
pub fn challenge_of(scramble: &[u8; SCRAMBLE_BYTES], secret: &[u8; 32]) -> [u8; CHALLENGE_BYTES] {
    nonce_of(sha2::sha256(&[b"challenge", secret, scramble]))
}

/// XORs `key` over `data`, repeating it.
fn xor(data: &mut [u8], key: &[u8]) {
    for (byte, mask) in data.iter_mut().zip(key.iter().cycle()) {
        *byte ^= mask;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nonces_hold_neither_nul_nor_dollar() {
        assert_eq!(&nonce_of([0, b'$', 0x80, 0xa4, 1, 255]), b"xxxx\x01\x7f");
    }

    #[test]
    fn a_longer_nonce_takes_the_secret_and_the_scramble() {
        let longer = |scramble, secret| challenge_of(&[scramble; 20], &[secret; 32]);
        assert_eq!(longer(1, 2), longer(1, 2));
        assert!(longer(1, 2) != longer(1, 3) && longer(1, 2) != longer(2, 2));
    }
}
