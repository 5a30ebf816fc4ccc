//! `client_ed25519` of MariaDB: the server's nonce under a key that is made of the password.
//!
//! Ed25519 (RFC 8032), but that the secret which is hashed is a password of any length.

use aws_lc_rs::digest::{SHA512, digest};
use ed25519_dalek::hazmat::{ExpandedSecretKey, raw_sign};
use ed25519_dalek::{Sha512, VerifyingKey};

use crate::connect::CHALLENGE_BYTES;

/// The length of a public key.
pub const PUBLIC_BYTES: usize = 32;
/// The length of a signature.
pub const SIGNATURE_BYTES: usize = 64;

/// What a client answers to `nonce`. An empty password is answered by nothing at all, which is left
/// to the caller.
pub fn sign(password: &[u8], nonce: &[u8; CHALLENGE_BYTES]) -> [u8; SIGNATURE_BYTES] {
    let secret = secret(password);
    raw_sign::<Sha512>(&secret, nonce, &VerifyingKey::from(&secret)).to_bytes()
}

/// The public key, which is what servers store.
pub fn public_key(password: &[u8]) -> [u8; PUBLIC_BYTES] {
    VerifyingKey::from(&secret(password)).to_bytes()
}

fn secret(password: &[u8]) -> ExpandedSecretKey {
    let hash = digest(&SHA512, password);
    let mut bytes = [0; 64];
    bytes.copy_from_slice(hash.as_ref());
    ExpandedSecretKey::from_bytes(&bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::oracle::Oracle;
    use mysql_common::auth::plugins::client_ed25519::ClientEd25519;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn answers_and_keys_are_those_of_another_client(
            password in proptest::collection::vec(any::<u8>(), 1..80),
            nonce: [u8; CHALLENGE_BYTES],
        ) {
            let (answer, key) = Oracle::new(&password).answers(ClientEd25519::default(), &[&nonce]);
            prop_assert_eq!(answer.as_slice(), sign(&password, &nonce));
            prop_assert_eq!(key.as_slice(), public_key(&password));
        }
    }

    #[test]
    fn a_public_key_is_what_mariadb_stores() {
        // SELECT ed25519_password('secret')
        let stored = "ZIgUREUg5PVgQ6LskhXmO+eZLS0nC8be6HPjYWR4YJY";
        assert_eq!(base64(&public_key(b"secret")), stored);
    }

    fn base64(bytes: &[u8]) -> String {
        const LETTERS: &[u8; 64] =
            b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let letters = bytes.chunks(3).flat_map(|chunk| {
            let mut group = [0; 3];
            group[..chunk.len()].copy_from_slice(chunk);
            let group = u32::from_be_bytes([0, group[0], group[1], group[2]]);
            let of_group = [18, 12, 6, 0].map(|shift| LETTERS[(group >> shift & 63) as usize]);
            of_group.into_iter().take(chunk.len() + 1)
        });
        letters.map(char::from).collect()
    }
}
