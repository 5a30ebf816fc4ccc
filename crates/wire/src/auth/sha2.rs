//! `caching_sha2_password`: `SHA256(p) XOR SHA256(SHA256(SHA256(p)) + nonce)`, and stored hashes.

use aws_lc_rs::constant_time::verify_slices_are_equal;
use aws_lc_rs::digest::{Context, SHA256};

use crate::auth::{PASSWORD_BYTES_MAX, crypt};
use crate::connect::SCRAMBLE_BYTES;

/// A SHA-256 hash.
pub type Hash = [u8; 32];

/// What a client answers to `nonce`. An empty password is answered by nothing at all, which is
/// left to the caller.
pub fn scramble(password: &[u8], nonce: &[u8; SCRAMBLE_BYTES]) -> Hash {
    scramble_from_sha256(&sha256(&[password]), nonce)
}

/// The same from `SHA256(password)`.
pub fn scramble_from_sha256(stage1: &Hash, nonce: &[u8; SCRAMBLE_BYTES]) -> Hash {
    let mut answer = sha256(&[&sha256(&[stage1]), nonce]);
    super::xor(&mut answer, stage1);
    answer
}

/// `SHA256(SHA256(password))`: what a server may keep to verify the fast path.
pub fn double_sha256(password: &[u8]) -> Hash {
    sha256(&[&sha256(&[password])])
}

/// Whether `response` is the answer of one who knows `password`.
pub fn verify_fast(response: &[u8], nonce: &[u8; SCRAMBLE_BYTES], password: &[u8]) -> bool {
    verify_cached(response, nonce, &double_sha256(password)).is_some()
}

/// Whether `response` proves the password that `double` was made of; if so, `SHA256(password)`,
/// with which a backend can be answered in turn.
pub fn verify_cached(response: &[u8], nonce: &[u8; SCRAMBLE_BYTES], double: &Hash) -> Option<Hash> {
    let response: &Hash = response.try_into().ok()?;
    let mut stage1 = sha256(&[double, nonce]);
    super::xor(&mut stage1, response);
    verify_slices_are_equal(&sha256(&[&stage1]), double).ok()?;
    Some(stage1)
}

/// Whether `stored`, in the form `$A$005$…` of MySQL's `authentication_string`, was made of
/// `password`. Takes thousands of hash rounds: about a millisecond. No password is longer than
/// [`PASSWORD_BYTES_MAX`].
pub fn verify_stored(password: &[u8], stored: &[u8]) -> bool {
    if password.len() > PASSWORD_BYTES_MAX {
        return false;
    }
    let Some((rounds, salt, hash)) = split_stored(stored) else { return false };
    let made = crypt::sha256_crypt(password, salt, rounds);
    verify_slices_are_equal(&made, hash).is_ok()
}

/// The stored form of a password: `$A$005$`, the salt, and the hash. The salt must not hold a NUL
/// or a `$`; [`super::nonce_of`] makes one of random bytes.
pub fn make_stored_hash(password: &[u8], salt: &[u8; SALT_BYTES]) -> Vec<u8> {
    let mut stored = STORED_PREFIX.to_vec();
    stored.extend_from_slice(salt);
    stored.extend_from_slice(&crypt::sha256_crypt(password, salt, 5 * ROUNDS_FACTOR));
    stored
}

/// Takes as long as it does to look at a stored password of so many rounds.
pub fn spend(password: &[u8], rounds: u32) {
    std::hint::black_box(crypt::sha256_crypt(password, &[b'.'; SALT_BYTES], rounds));
}

/// How many rounds it takes to look at a stored password, if it is one of the full length.
pub fn rounds(stored: &[u8]) -> Option<u32> {
    let (rounds, _, hash) = split_stored(stored)?;
    (hash.len() == HASH_BYTES).then_some(rounds)
}

/// The rounds, the salt and the hash in a stored password. The three digits of the rounds are
/// hexadecimal.
fn split_stored(stored: &[u8]) -> Option<(u32, &[u8], &[u8])> {
    let (digits, rest) = stored.strip_prefix(b"$A$")?.split_at_checked(3)?;
    let rounds = u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    let (salt, hash) = rest.strip_prefix(b"$")?.split_at_checked(SALT_BYTES)?;
    (rounds > 0).then_some((rounds * ROUNDS_FACTOR, salt, hash))
}

/// The length of the salt in a stored password.
pub const SALT_BYTES: usize = 20;
/// The length of a stored password in all.
pub const STORED_BYTES: usize = 7 + SALT_BYTES + HASH_BYTES;
const HASH_BYTES: usize = 43;
const ROUNDS_FACTOR: u32 = 1000;
const STORED_PREFIX: &[u8] = b"$A$005$";

pub(super) fn sha256(parts: &[&[u8]]) -> Hash {
    let mut context = Context::new(&SHA256);
    parts.iter().for_each(|part| context.update(part));
    let mut hash = Hash::default();
    hash.copy_from_slice(context.finish().as_ref());
    hash
}

#[cfg(test)]
mod tests {
    use super::*;
    use mysql_common::auth::plugins::caching_sha2_password::scramble_sha256;
    use proptest::prelude::*;

    fn unhex(text: &str) -> Vec<u8> {
        let digit = |at: usize| u8::from_str_radix(&text[at..at + 2], 16).unwrap();
        (0..text.len()).step_by(2).map(digit).collect()
    }

    /// The example of hash mode 7401 in hashcat's documentation; the password is "hashcat".
    fn published() -> Vec<u8> {
        let mut stored = b"$A$005$".to_vec();
        stored.extend(unhex("F9CC98CE08892924F50A213B6BC571A2C11778C5"));
        stored.extend(unhex(concat!(
            "625479393559393965414D45316477456B484F41316E64484742577A2E31",
            "62785353526B7554584647562F"
        )));
        stored
    }

    #[test]
    fn a_published_stored_hash_is_verified() {
        assert!(verify_stored(b"hashcat", &published()));
        assert!(!verify_stored(b"hashcaT", &published()));
    }

    #[test]
    fn a_stored_hash_of_a_server_is_verified_with_its_hexadecimal_rounds() {
        let mut stored = b"$A$00A$\"0Kf\x0cF\x1e+[\x05%\x191\x0f@%N-\n\r".to_vec();
        stored.extend_from_slice(b"t4CJfiKqTAZr57HAWOgw8zfYdA6Ov2Xb.7.xin5Vnq9");
        assert!(verify_stored(b"geh eim", &stored));
        assert!(!verify_stored(b"geheim", &stored));
    }

    #[test]
    fn a_stored_hash_is_made_as_published() {
        let stored = published();
        let salt: [u8; 20] = stored[7..27].try_into().unwrap();
        assert_eq!(make_stored_hash(b"hashcat", &salt), stored);
    }

    #[test]
    fn a_password_longer_than_any_is_not_hashed() {
        let longest = [b'p'; PASSWORD_BYTES_MAX];
        let stored = make_stored_hash(&longest, b"abcdefghijklmnopqrst");
        assert!(verify_stored(&longest, &stored));
        let longer = [b'p'; PASSWORD_BYTES_MAX + 1];
        let stored = make_stored_hash(&longer, b"abcdefghijklmnopqrst");
        assert!(!verify_stored(&longer, &stored), "right, and refused all the same");
    }

    #[test]
    fn broken_stored_hashes_verify_nothing() {
        let stored = published();
        assert_eq!((rounds(&stored), stored.len()), (Some(5000), STORED_BYTES));
        assert_eq!((rounds(&stored[..69]), rounds(b"$A$005$"), rounds(b"*AB")), (None, None, None));
        assert!(!verify_stored(b"hashcat", b""));
        assert!(!verify_stored(b"hashcat", b"$A$000$"));
        assert!(!verify_stored(b"hashcat", &stored[..stored.len() - 1]));
        assert!(!verify_stored(b"hashcat", &stored[1..]));
    }

    proptest! {
        #[test]
        fn mysql_common_scrambles_the_same(
            password in "[ -~]{1,40}",
            nonce in any::<[u8; 20]>(),
        ) {
            let theirs = scramble_sha256(&nonce, password.as_bytes());
            let ours = scramble(password.as_bytes(), &nonce);
            prop_assert_eq!(Some(ours), theirs);
        }

        #[test]
        fn the_right_password_is_verified_and_no_other(
            password in any::<Vec<u8>>(),
            other in any::<Vec<u8>>(),
            nonce in any::<[u8; 20]>(),
        ) {
            let response = scramble(&password, &nonce);
            prop_assert!(verify_fast(&response, &nonce, &password));
            prop_assert_eq!(verify_fast(&response, &nonce, &other), password == other);
            prop_assert!(!verify_fast(&response[1..], &nonce, &password));
            let stage1 = verify_cached(&response, &nonce, &double_sha256(&password)).unwrap();
            prop_assert_eq!(scramble_from_sha256(&stage1, &nonce), response);
        }
    }
}
