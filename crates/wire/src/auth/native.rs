//! `mysql_native_password`: `SHA1(p) XOR SHA1(nonce + SHA1(SHA1(p)))`.

use aws_lc_rs::constant_time::verify_slices_are_equal;
use aws_lc_rs::digest::{Context, SHA1_FOR_LEGACY_USE_ONLY};

use crate::connect::SCRAMBLE_BYTES;

/// A SHA-1 hash.
pub type Hash = [u8; 20];

/// What a client answers to `nonce`. An empty password is answered by nothing at all, which is
/// left to the caller.
pub fn scramble(password: &[u8], nonce: &[u8; SCRAMBLE_BYTES]) -> Hash {
    scramble_from_sha1(&sha1(&[password]), nonce)
}

/// The same from `SHA1(password)`.
pub fn scramble_from_sha1(stage1: &Hash, nonce: &[u8; SCRAMBLE_BYTES]) -> Hash {
    let mut answer = sha1(&[nonce, &sha1(&[stage1])]);
    super::xor(&mut answer, stage1);
    answer
}

/// `SHA1(SHA1(password))`: what servers store.
pub fn double_sha1(password: &[u8]) -> Hash {
    sha1(&[&sha1(&[password])])
}

/// The stored form of the password whose SHA-1 that is.
pub fn double_sha1_of_sha1(sha1_of_password: &Hash) -> Hash {
    sha1(&[sha1_of_password])
}

/// Whether `response` proves the password that `double` was made of; if so, `SHA1(password)`,
/// with which a backend can be answered in turn.
pub fn verify(response: &[u8], nonce: &[u8; SCRAMBLE_BYTES], double: &Hash) -> Option<Hash> {
    let response: &Hash = response.try_into().ok()?;
    let mut stage1 = sha1(&[nonce, double]);
    super::xor(&mut stage1, response);
    verify_slices_are_equal(&sha1(&[&stage1]), double).ok()?;
    Some(stage1)
}

/// The hash in a stored password of the form `*` and 40 hexadecimal digits.
pub fn parse_stored(stored: &[u8]) -> Option<Hash> {
    let digits = stored.strip_prefix(b"*")?;
    if digits.len() != 40 {
        return None;
    }
    let mut hash = Hash::default();
    for (byte, pair) in hash.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    digits.iter().all(u8::is_ascii_hexdigit).then_some(hash)
}

/// The stored form of a hash: `*` and 40 upper-case hexadecimal digits.
pub fn to_stored(double: &Hash) -> String {
    use std::fmt::Write;
    double.iter().fold(String::from("*"), |mut text, byte| {
        let _ = write!(text, "{byte:02X}");
        text
    })
}

/// Whether a password is the one that is stored, in clear text or as [`parse_stored`] reads it.
pub fn is_password(shown: &str, stored: &str) -> bool {
    let stored = parse_stored(stored.as_bytes()).unwrap_or_else(|| double_sha1(stored.as_bytes()));
    verify_slices_are_equal(&double_sha1(shown.as_bytes()), &stored).is_ok()
}

fn sha1(parts: &[&[u8]]) -> Hash {
    let mut context = Context::new(&SHA1_FOR_LEGACY_USE_ONLY);
    parts.iter().for_each(|part| context.update(part));
    let mut hash = Hash::default();
    hash.copy_from_slice(context.finish().as_ref());
    hash
}

/// What the OK of a login tells of the server's certificate, by whose digest (SHA-256) a client
/// knows that nobody stands in between: SHA-256 of the stored hash, the scramble and the digest, in
/// hexadecimal behind the number of that way. MariaDB's servers from 11.4.1 on, "TLS without
/// configuration".
pub fn proof_of_certificate(stored: &[u8], scramble: &[u8; 20], certificate: &[u8; 32]) -> Vec<u8> {
    const SHA256: u8 = 1;
    let all = [stored, scramble, certificate].concat();
    let digest = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, &all);
    let mut proof = vec![SHA256];
    for byte in digest.as_ref() {
        proof.extend_from_slice(format!("{byte:02X}").as_bytes());
    }
    proof
}

/// Whether a server's text proves so that the certificate is its own.
pub fn proves_certificate(
    proof: &[u8],
    stored: &[u8],
    scramble: &[u8; 20],
    certificate: &[u8; 32],
) -> bool {
    let awaited = proof_of_certificate(stored, scramble, certificate);
    verify_slices_are_equal(&awaited, proof).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use mysql_common::auth::plugins::mysql_native_password::scramble_native;
    use mysql_common::crypto::verify_mariadb_shared_secret;
    use proptest::prelude::*;

    #[test]
    fn stored_passwords_are_those_of_the_servers() {
        let stored = b"*2470C0C06DEE42FD1618BB99005ADCA2EC9D1E19";
        assert_eq!(to_stored(&double_sha1(b"password")).as_bytes(), stored);
        assert_eq!(parse_stored(stored), Some(double_sha1(b"password")));
    }

    #[test]
    fn broken_stored_passwords_are_refused() {
        assert_eq!(parse_stored(b""), None);
        assert_eq!(parse_stored(b"*2470C0"), None);
        assert_eq!(parse_stored(b"2470C0C06DEE42FD1618BB99005ADCA2EC9D1E19"), None);
        assert_eq!(parse_stored(b"*+470C0C06DEE42FD1618BB99005ADCA2EC9D1E19"), None);
    }

    proptest! {
        #[test]
        fn mysql_common_scrambles_the_same(
            password in "[ -~]{1,40}",
            nonce in any::<[u8; 20]>(),
        ) {
            let theirs = scramble_native(&nonce, password.as_bytes());
            let ours = scramble(password.as_bytes(), &nonce);
            prop_assert_eq!(Some(ours), theirs);
        }

        #[test]
        fn mysql_common_trusts_the_certificate_that_is_proved(
            password in "[ -~]{1,40}",
            nonce in any::<[u8; 20]>(),
            certificate in any::<[u8; 32]>(),
        ) {
            let stored = double_sha1(password.as_bytes());
            let proof = proof_of_certificate(&stored, &nonce, &certificate);
            prop_assert_eq!(proof[0], 1);
            let trusts = |certificate: &[u8; 32]| {
                verify_mariadb_shared_secret(&proof[1..], &stored, &nonce, certificate)
            };
            prop_assert!(trusts(&certificate));
            prop_assert!(!trusts(&certificate.map(|byte| byte ^ 1)));
        }

        #[test]
        fn the_right_password_is_verified_and_no_other(
            password in any::<Vec<u8>>(),
            other in any::<Vec<u8>>(),
            nonce in any::<[u8; 20]>(),
        ) {
            let response = scramble(&password, &nonce);
            let stage1 = verify(&response, &nonce, &double_sha1(&password)).unwrap();
            prop_assert_eq!(scramble_from_sha1(&stage1, &nonce), response);
            let fooled = verify(&response, &nonce, &double_sha1(&other)).is_some();
            prop_assert_eq!(fooled, password == other);
            prop_assert_eq!(verify(&response[1..], &nonce, &double_sha1(&password)), None);
        }
    }
}
