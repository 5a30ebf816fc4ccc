//! `parsec` of MariaDB 11.6 and later: both sides' nonces under a key that is derived from the
//! password slowly, with a salt that the server tells.
//!
//! Ed25519 (RFC 8032) with a secret of PBKDF2 and HMAC-SHA-512 (RFC 8018).

use std::num::NonZeroU32;

use aws_lc_rs::pbkdf2::{self, PBKDF2_HMAC_SHA512};
use aws_lc_rs::rand;
use ed25519_dalek::{Signer, SigningKey};

use super::{ed25519, pem, sha2::sha256};
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

    /// What a server stores.
    pub fn stored(&self) -> Stored {
        Stored { salt: self.salt, public: self.key.verifying_key().to_bytes() }
    }
}

/// What a server stores of a password.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct Stored {
    /// What is said of the salt.
    pub salt: [u8; SALT_BYTES],
    /// The public key.
    pub public: [u8; ed25519::PUBLIC_BYTES],
}

impl Stored {
    /// Reads MariaDB's text: `P` and the rounds in a digit, the salt and the key in base64, with
    /// colons between them.
    pub fn parse(text: &[u8]) -> Option<Self> {
        let [b'P', digit, b':', salt_and_key @ ..] = text else { return None };
        let factor = digit.checked_sub(b'0').filter(|factor| *factor <= FACTOR_MAX)?;
        let (own, key) = salt_and_key.split_at_checked(OWN_LETTERS)?;
        let own = pem::base64(own).filter(|own| own.len() + 2 == SALT_BYTES)?;
        let public = ed25519::parse_stored(key.strip_prefix(b":")?)?;
        Some(Self { salt: with_own(factor, &own), public })
    }

    /// The power of two by which the rounds are multiplied.
    pub fn factor(&self) -> u8 {
        self.salt.get(1).copied().unwrap_or(0)
    }

    /// The bytes that a client, too, has of it after its login.
    pub fn to_bytes(&self) -> Vec<u8> {
        [self.salt.as_slice(), &self.public].concat()
    }

    /// Whether it was made of a password; takes as long as to derive a key.
    pub fn is_of(&self, password: &[u8]) -> bool {
        Key::derive(password, &self.salt).is_some_and(|key| key.stored() == *self)
    }
}

/// Whether a client's answer is of one who knows the password of a public key.
pub fn verify(
    answer: &[u8],
    nonce: &[u8; CHALLENGE_BYTES],
    public: &[u8; ed25519::PUBLIC_BYTES],
) -> bool {
    let Some((own, signature)) = answer.split_at_checked(CHALLENGE_BYTES) else { return false };
    ed25519::verify(signature, &[nonce, own].concat(), public)
}

/// A salt for a name, which stays the same as long as the secret does.
pub fn salt_for(name: &[u8], secret: &[u8; 32], factor: u8) -> [u8; SALT_BYTES] {
    with_own(factor.min(FACTOR_MAX), &sha256(&[b"salt", secret, name]))
}

fn with_own(factor: u8, own: &[u8]) -> [u8; SALT_BYTES] {
    let mut salt = [0; SALT_BYTES];
    let all = [b'P', factor].into_iter().chain(own.iter().copied());
    salt.iter_mut().zip(all).for_each(|(to, from)| *to = from);
    salt
}

/// The letters of a salt itself.
const OWN_LETTERS: usize = 24;

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
            prop_assert_eq!(stored, key.stored().to_bytes());
            let public = key.stored().public;
            prop_assert!(verify(&answer, &nonce, &public));
            prop_assert!(!verify(&answer, &nonce.map(|byte| byte ^ 1), &public));
            prop_assert!(!verify(&answer[1..], &nonce, &public));
            let other = Key::derive(b"", &salt).expect("a salt").stored().public;
            prop_assert!(!verify(&answer, &nonce, &other));
        }
    }

    #[test]
    fn stored_texts_are_those_of_mariadb() {
        // the example in MariaDB's documentation has a shorter salt than its servers make
        let text = b"P3:c2FsdCBvZiBlaWdodGVlbi4u:ZIgUREUg5PVgQ6LskhXmO+eZLS0nC8be6HPjYWR4YJY";
        let stored = Stored::parse(text).expect("a text of a server");
        assert_eq!(&stored.salt, b"P\x03salt of eighteen..");
        assert_eq!(stored.public, ed25519::public_key(b"secret"));
        assert_eq!(stored.factor(), 3);
        for (at, byte) in [(0, b'Q'), (1, b'4'), (1, b'/'), (2, b';'), (5, b'*'), (27, b'A')] {
            let mut wrong = *text;
            wrong[at] = byte;
            assert_eq!(Stored::parse(&wrong), None, "{}", wrong.escape_ascii());
        }
        assert_eq!(Stored::parse(&text[..text.len() - 1]), None);
        assert_eq!(Stored::parse(b"P0:"), None);
    }

    #[test]
    fn a_salt_for_a_name_is_a_salt_and_stays() {
        let secret = [7; 32];
        let salt = salt_for(b"ann", &secret, 2);
        assert_eq!(salt, salt_for(b"ann", &secret, 2));
        assert_ne!(salt, salt_for(b"bob", &secret, 2));
        assert_ne!(salt, salt_for(b"ann", &[8; 32], 2));
        let stored = Key::derive(b"secret", &salt).expect("a salt").stored();
        assert!(stored.is_of(b"secret") && !stored.is_of(b"Secret"));
        assert_eq!(stored.factor(), 2);
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
