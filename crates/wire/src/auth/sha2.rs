//! `caching_sha2_password`: `SHA256(p) XOR SHA256(SHA256(SHA256(p)) + nonce)`, and stored hashes.

use aws_lc_rs::constant_time::verify_slices_are_equal;
use aws_lc_rs::digest::{Context, SHA256};

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
/// `password`. Takes thousands of hash rounds: about a millisecond.
pub fn verify_stored(password: &[u8], stored: &[u8]) -> bool {
    let _ = (password, stored);
    unimplemented!()
}

/// The stored form of a password: `$A$005$`, the salt, and the hash.
pub fn make_stored_hash(password: &[u8], salt: &[u8; 20]) -> Vec<u8> {
    let _ = (password, salt);
    unimplemented!()
}

fn sha256(parts: &[&[u8]]) -> Hash {
    let mut context = Context::new(&SHA256);
    parts.iter().for_each(|part| context.update(part));
    let mut hash = Hash::default();
    hash.copy_from_slice(context.finish().as_ref());
    hash
}
