//! `client_ed25519` of MariaDB: the server's nonce under a key that is made of the password.
//!
//! Ed25519 (RFC 8032), but that the secret which is hashed is a password of any length.

use aws_lc_rs::digest::{SHA512, digest};
use ed25519_dalek::hazmat::{ExpandedSecretKey, raw_sign};
use ed25519_dalek::{Sha512, Signature, VerifyingKey};

use super::pem;
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

/// Whether `signature` is of one who knows the password of a public key.
pub fn verify(signature: &[u8], message: &[u8], public: &[u8; PUBLIC_BYTES]) -> bool {
    let Ok(signature) = Signature::from_slice(signature) else { return false };
    let key = VerifyingKey::from_bytes(public);
    key.is_ok_and(|key| key.verify_strict(message, &signature).is_ok())
}

/// The public key in the form that MariaDB stores: 43 letters of base64.
pub fn parse_stored(stored: &[u8]) -> Option<[u8; PUBLIC_BYTES]> {
    let is_base64 = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
    if stored.len() != STORED_LETTERS || !stored.iter().all(is_base64) {
        return None;
    }
    let public = pem::base64(stored)?.try_into().ok()?;
    VerifyingKey::from_bytes(&public).is_ok().then_some(public)
}

/// A public key of no password: to verify by it takes as long as by any other.
pub const OF_NOBODY: [u8; PUBLIC_BYTES] = {
    let mut base_point = [0x66; PUBLIC_BYTES];
    base_point[0] = 0x58;
    base_point
};

const STORED_LETTERS: usize = 43;

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
            prop_assert!(verify(&answer, &nonce, &public_key(&password)));
            prop_assert!(!verify(&answer, &nonce, &public_key(b"")));
            prop_assert!(!verify(&answer, &nonce.map(|byte| byte ^ 1), &public_key(&password)));
            prop_assert!(!verify(&answer[1..], &nonce, &public_key(&password)));
        }

        #[test]
        fn no_bytes_are_a_signature_of_nobody(
            bytes in proptest::collection::vec(any::<u8>(), 0..100),
            nonce: [u8; CHALLENGE_BYTES],
        ) {
            prop_assert!(!verify(&bytes, &nonce, &OF_NOBODY));
            prop_assert!(!verify(&bytes, &nonce, &[0; PUBLIC_BYTES]));
        }
    }

    #[test]
    fn a_public_key_is_what_mariadb_stores() {
        // SELECT ed25519_password('secret')
        let stored = b"ZIgUREUg5PVgQ6LskhXmO+eZLS0nC8be6HPjYWR4YJY";
        assert_eq!(parse_stored(stored), Some(public_key(b"secret")));
    }

    #[test]
    fn other_texts_are_no_public_key() {
        let stored = b"ZIgUREUg5PVgQ6LskhXmO+eZLS0nC8be6HPjYWR4YJY";
        let with = |at: usize, letter| {
            let mut text = *stored;
            text[at] = letter;
            parse_stored(&text)
        };
        assert_eq!([with(3, b'*'), with(42, b'='), with(9, b' ')], [None; 3]);
        assert_eq!(parse_stored(&stored[1..]), None);
        assert_eq!(parse_stored(&[stored.as_slice(), b"="].concat()), None);
        // half of all numbers belong to no point of the curve
        assert!(b"ABCDEFGH".iter().any(|letter| with(0, *letter).is_none()));
    }
}
