//! `parsec` of MariaDB 11.6 and later: both sides' nonces under a key that is derived from the
//! password slowly, with a salt that the server tells.
//!
//! Ed25519 (RFC 8032) with a secret of PBKDF2 and HMAC-SHA-512 (RFC 8018).

use std::num::NonZeroU32;

use aws_lc_rs::pbkdf2::{self, PBKDF2_HMAC_SHA512};
use aws_lc_rs::rand;
use ed25519_dalek::{Signer, SigningKey};

use crate::connect::CHALLENGE_BYTES;

/// The length of a client's answer: its nonce and the signature.
pub const ANSWER_BYTES: usize = CHALLENGE_BYTES + 64;
/// The length of what a server says of the salt: `P`, the rounds, the salt itself.
pub const SALT_BYTES: usize = 20;

/// The highest power of two by which rounds are multiplied: more would take a worker's time for as
/// long as a server likes.
const FACTOR_MAX: u8 = 3;
const ROUNDS_MIN: u32 = 1024;

/// The key of a password with a salt.
pub struct Key {
    key: SigningKey,
    salt: [u8; SALT_BYTES],
}

impl Key {
    /// Derives it, which takes some milliseconds at most; `None` for a salt of another algorithm,
    /// or with more than 8192 rounds.
    pub fn derive(password: &[u8], salt: &[u8]) -> Option<Self> {
        // some servers mark what their plugins send besides
        let salt = salt.strip_prefix(&[1]).filter(|rest| rest.len() == SALT_BYTES).unwrap_or(salt);
        let salt: [u8; SALT_BYTES] = salt.try_into().ok()?;
        let [b'P', factor @ 0..=FACTOR_MAX, own @ ..] = &salt else { return None };
        let rounds = NonZeroU32::new(ROUNDS_MIN << factor)?;
        let mut secret = [0; 32];
        pbkdf2::derive(PBKDF2_HMAC_SHA512, rounds, own, password, &mut secret);
        Some(Self { key: SigningKey::from_bytes(&secret), salt })
    }

    /// What a client answers to a server's nonce; `None` when no randomness is to be had.
    pub fn answer(&self, nonce: &[u8; CHALLENGE_BYTES]) -> Option<[u8; ANSWER_BYTES]> {
        let mut own = [0; CHALLENGE_BYTES];
        rand::fill(&mut own).ok()?;
        Some(self.answer_with(nonce, &own))
    }

    fn answer_with(
        &self,
        nonce: &[u8; CHALLENGE_BYTES],
        own: &[u8; CHALLENGE_BYTES],
    ) -> [u8; ANSWER_BYTES] {
        let signature = self.key.sign(&[nonce.as_slice(), own].concat()).to_bytes();
        let mut answer = [0; ANSWER_BYTES];
        answer[..CHALLENGE_BYTES].copy_from_slice(own);
        answer[CHALLENGE_BYTES..].copy_from_slice(&signature);
        answer
    }

    /// What a server stores: the salt and the public key.
    pub fn stored(&self) -> Vec<u8> {
        [self.salt.as_slice(), self.key.verifying_key().as_bytes()].concat()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::oracle::Oracle;
    use mysql_common::auth::plugins::parsec::Parsec;
    use proptest::prelude::*;

    fn salt(factor: u8) -> [u8; SALT_BYTES] {
        let mut salt = *b"P.eighteen bytes 567";
        salt[1] = factor;
        salt
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20))]
        #[test]
        fn answers_and_keys_are_those_of_another_client(
            password in proptest::collection::vec(any::<u8>(), 1..80),
            nonce: [u8; CHALLENGE_BYTES],
            factor in 0..=FACTOR_MAX,
        ) {
            let salt = salt(factor);
            let oracle = Oracle::new(&password);
            let (answer, stored) = oracle.answers(Parsec::default(), &[&nonce, &salt]);
            let key = Key::derive(&password, &salt).expect("a salt");
            let own = answer.first_chunk().expect("a nonce");
            prop_assert_eq!(answer.as_slice(), key.answer_with(&nonce, own));
            prop_assert_eq!(stored, key.stored());
        }
    }

    #[test]
    fn answers_differ_and_marked_salts_are_salts() {
        let key = Key::derive(b"secret", &salt(0)).expect("a salt");
        let nonce = [7; CHALLENGE_BYTES];
        assert_ne!(key.answer(&nonce), key.answer(&nonce));
        let marked = [&[1], salt(0).as_slice()].concat();
        assert_eq!(Key::derive(b"secret", &marked).expect("a salt").stored(), key.stored());
    }

    #[test]
    fn other_salts_are_none() {
        for wrong in [&salt(FACTOR_MAX + 1)[..], b"Q\0eighteen bytes 567", &salt(0)[1..], b"P", b""]
        {
            assert!(Key::derive(b"secret", wrong).is_none(), "{wrong:?}");
        }
    }
}
