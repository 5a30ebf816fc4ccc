//! SHA-256 crypt, the password hash of Unix, as MySQL uses it: with a salt of 20 bytes.

use aws_lc_rs::digest::{Context, SHA256};

use super::sha2::{Hash, sha256};

/// The 43 letters of the hash.
pub(super) fn sha256_crypt(password: &[u8], salt: &[u8], rounds: u32) -> [u8; 43] {
    let mut hash = first_hash(password, salt);
    let [salt_rounds, ..] = hash;
    let password_bytes = stretched(password, password.len(), password.len());
    let salt_bytes = stretched(salt, 16 + usize::from(salt_rounds), salt.len());
    for round in 0..rounds {
        let mut context = Context::new(&SHA256);
        match round % 2 {
            0 => context.update(&hash),
            _ => context.update(&password_bytes),
        }
        if round % 3 != 0 {
            context.update(&salt_bytes);
        }
        if round % 7 != 0 {
            context.update(&password_bytes);
        }
        match round % 2 {
            0 => context.update(&password_bytes),
            _ => context.update(&hash),
        }
        hash.copy_from_slice(context.finish().as_ref());
    }
    letters(&hash)
}

/// The hash that the rounds begin with.
fn first_hash(password: &[u8], salt: &[u8]) -> Hash {
    let inner = sha256(&[password, salt, password]);
    let mut context = Context::new(&SHA256);
    context.update(password);
    context.update(salt);
    for part in password.chunks(inner.len()) {
        context.update(inner.get(..part.len()).unwrap_or_default());
    }
    let mut bits = password.len();
    while bits > 0 {
        context.update(if bits & 1 == 1 { &inner } else { password });
        bits >>= 1;
    }
    let mut hash = Hash::default();
    hash.copy_from_slice(context.finish().as_ref());
    hash
}

/// The first `len` bytes of an endless repetition of the hash of `text` taken `times` times.
fn stretched(text: &[u8], times: usize, len: usize) -> Vec<u8> {
    let mut context = Context::new(&SHA256);
    (0..times).for_each(|_| context.update(text));
    context.finish().as_ref().iter().copied().cycle().take(len).collect()
}

/// The hash in crypt's own order and alphabet.
fn letters(hash: &Hash) -> [u8; 43] {
    let mut out = [b'.'; 43];
    for (four, places) in out.chunks_mut(4).zip(ORDER) {
        let byte = |place: u8| hash.get(usize::from(place)).copied().unwrap_or(0);
        let [high, middle, low] = places.map(byte);
        let bits = u32::from_be_bytes([0, high, middle, low]);
        for (digit, letter) in four.iter_mut().enumerate() {
            let index = (bits >> (6 * digit)) & 0x3f;
            *letter = ALPHABET.get(index as usize).copied().unwrap_or(b'.');
        }
    }
    out
}

/// Which bytes of the hash make up each group of letters; a place of 32 stands for no byte.
const ORDER: [[u8; 3]; 11] = [
    [0, 10, 20],
    [21, 1, 11],
    [12, 22, 2],
    [3, 13, 23],
    [24, 4, 14],
    [15, 25, 5],
    [6, 16, 26],
    [27, 7, 17],
    [18, 28, 8],
    [9, 19, 29],
    [32, 31, 30],
];

const ALPHABET: &[u8; 64] = b"./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_test_vectors_come_out() {
        let hash = sha256_crypt(b"Hello world!", b"saltstring", 5000);
        assert_eq!(&hash, b"5B8vYYiY.CVt1RlTTf8KbXBH3hsxY/GNooZaBBGWEc5");
        let hash = sha256_crypt(b"Hello world!", b"saltstringsaltst", 10_000);
        assert_eq!(&hash, b"3xv.VbSHBb41AL9AvLeujZkZRBAwqFMz2.opqey6IcA");
        let hash = sha256_crypt(&[b'x'; 70], b"salt", 1000);
        assert_eq!(&hash, b"9ygFvSB9q7MhSY0QM3eyGMw5y1Bur861yB1tBtPX252");
    }
}
