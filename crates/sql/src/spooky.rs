//! SpookyHash V2 of Bob Jenkins, 64 bits of it: what a digest's hash is.
//!
//! The algorithm is in the public domain; only what a text in memory needs is here.

/// First half of the 128-bit hash of `bytes`, with both halves of the seed being `seed`.
pub fn hash64(bytes: &[u8], seed: u64) -> u64 {
    if bytes.len() < LONG { short(bytes, seed) } else { long(bytes, seed) }
}

fn short(bytes: &[u8], seed: u64) -> u64 {
    let mut state = [seed, seed, FILL, FILL];
    let (blocks, rest) = bytes.as_chunks::<32>();
    for block in blocks {
        let [w0, w1, w2, w3] = words(block);
        state[2] = state[2].wrapping_add(w0);
        state[3] = state[3].wrapping_add(w1);
        short_mix(&mut state);
        state[0] = state[0].wrapping_add(w2);
        state[1] = state[1].wrapping_add(w3);
    }
    let mut tail = rest;
    if let Some((block, rest)) = rest.split_first_chunk::<16>() {
        let [w0, w1] = words(block);
        state[2] = state[2].wrapping_add(w0);
        state[3] = state[3].wrapping_add(w1);
        short_mix(&mut state);
        tail = rest;
    }
    // the length goes to the top byte, whose own place no tail of 15 bytes reaches
    let length = (bytes.len() as u64) << 56;
    state[3] = state[3].wrapping_add(length);
    if tail.is_empty() {
        state[2] = state[2].wrapping_add(FILL);
        state[3] = state[3].wrapping_add(FILL);
    } else {
        let mut block = [0; 16];
        block.iter_mut().zip(tail).for_each(|(to, from)| *to = *from);
        let [w0, w1] = words(&block);
        state[2] = state[2].wrapping_add(w0);
        state[3] = state[3].wrapping_add(w1);
    }
    short_end(state)
}

fn short_mix(state: &mut [u64; 4]) {
    let [mut h0, mut h1, mut h2, mut h3] = *state;
    macro_rules! step {
        ($a:ident, $b:ident, $c:ident, $turn:literal) => {
            $a = $a.rotate_left($turn).wrapping_add($b);
            $c ^= $a;
        };
    }
    step!(h2, h3, h0, 50);
    step!(h3, h0, h1, 52);
    step!(h0, h1, h2, 30);
    step!(h1, h2, h3, 41);
    step!(h2, h3, h0, 54);
    step!(h3, h0, h1, 48);
    step!(h0, h1, h2, 38);
    step!(h1, h2, h3, 37);
    step!(h2, h3, h0, 62);
    step!(h3, h0, h1, 34);
    step!(h0, h1, h2, 5);
    step!(h1, h2, h3, 36);
    *state = [h0, h1, h2, h3];
}

fn short_end([mut h0, mut h1, mut h2, mut h3]: [u64; 4]) -> u64 {
    macro_rules! step {
        ($a:ident, $b:ident, $turn:literal) => {
            $a ^= $b;
            $b = $b.rotate_left($turn);
            $a = $a.wrapping_add($b);
        };
    }
    step!(h3, h2, 15);
    step!(h0, h3, 52);
    step!(h1, h0, 26);
    step!(h2, h1, 51);
    step!(h3, h2, 28);
    step!(h0, h3, 9);
    step!(h1, h0, 47);
    step!(h2, h1, 54);
    step!(h3, h2, 32);
    step!(h0, h3, 25);
    step!(h1, h0, 63);
    let _ = (h1, h2, h3);
    h0
}

fn long(bytes: &[u8], seed: u64) -> u64 {
    let mut state = [seed, seed, FILL, seed, seed, FILL, seed, seed, FILL, seed, seed, FILL];
    let (blocks, rest) = bytes.as_chunks::<BLOCK>();
    for block in blocks {
        mix(&words(block), &mut state);
    }
    let mut last = [0; BLOCK];
    last.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
    if let (Some(end), Ok(length)) = (last.last_mut(), u8::try_from(rest.len())) {
        *end = length;
    }
    end(&words(&last), &mut state);
    state[0]
}

fn mix(data: &[u64; WORDS], state: &mut [u64; WORDS]) {
    let [
        mut s0,
        mut s1,
        mut s2,
        mut s3,
        mut s4,
        mut s5,
        mut s6,
        mut s7,
        mut s8,
        mut s9,
        mut s10,
        mut s11,
    ] = *state;
    macro_rules! step {
        ($at:literal, $a:ident, $b:ident, $c:ident, $d:ident, $e:ident, $turn:literal) => {
            $a = $a.wrapping_add(data[$at]);
            $b ^= $d;
            $e ^= $a;
            $a = $a.rotate_left($turn);
            $e = $e.wrapping_add($c);
        };
    }
    step!(0, s0, s2, s1, s10, s11, 11);
    step!(1, s1, s3, s2, s11, s0, 32);
    step!(2, s2, s4, s3, s0, s1, 43);
    step!(3, s3, s5, s4, s1, s2, 31);
    step!(4, s4, s6, s5, s2, s3, 17);
    step!(5, s5, s7, s6, s3, s4, 28);
    step!(6, s6, s8, s7, s4, s5, 39);
    step!(7, s7, s9, s8, s5, s6, 57);
    step!(8, s8, s10, s9, s6, s7, 55);
    step!(9, s9, s11, s10, s7, s8, 54);
    step!(10, s10, s0, s11, s8, s9, 22);
    step!(11, s11, s1, s0, s9, s10, 46);
    *state = [s0, s1, s2, s3, s4, s5, s6, s7, s8, s9, s10, s11];
}

fn end(data: &[u64; WORDS], state: &mut [u64; WORDS]) {
    state.iter_mut().zip(data).for_each(|(to, from)| *to = to.wrapping_add(*from));
    for _ in 0..3 {
        end_part(state);
    }
}

fn end_part(state: &mut [u64; WORDS]) {
    let [
        mut h0,
        mut h1,
        mut h2,
        mut h3,
        mut h4,
        mut h5,
        mut h6,
        mut h7,
        mut h8,
        mut h9,
        mut h10,
        mut h11,
    ] = *state;
    macro_rules! step {
        ($a:ident, $b:ident, $c:ident, $turn:literal) => {
            $a = $a.wrapping_add($b);
            $c ^= $a;
            $b = $b.rotate_left($turn);
        };
    }
    step!(h11, h1, h2, 44);
    step!(h0, h2, h3, 15);
    step!(h1, h3, h4, 34);
    step!(h2, h4, h5, 21);
    step!(h3, h5, h6, 38);
    step!(h4, h6, h7, 33);
    step!(h5, h7, h8, 10);
    step!(h6, h8, h9, 13);
    step!(h7, h9, h10, 38);
    step!(h8, h10, h11, 53);
    step!(h9, h11, h0, 42);
    step!(h10, h0, h1, 54);
    *state = [h0, h1, h2, h3, h4, h5, h6, h7, h8, h9, h10, h11];
}

/// The little-endian words of a block.
fn words<const BYTES: usize, const WORDS: usize>(block: &[u8; BYTES]) -> [u64; WORDS] {
    const { assert!(BYTES == WORDS * 8, "a block is words") };
    let mut words = [0; WORDS];
    let (chunks, _) = block.as_chunks::<8>();
    words.iter_mut().zip(chunks).for_each(|(to, from)| *to = u64::from_le_bytes(*from));
    words
}

/// Texts from here on take the long way.
const LONG: usize = 192;
const WORDS: usize = 12;
const BLOCK: usize = WORDS * 8;
/// An odd number that is no regular mixture of bits.
const FILL: u64 = 0xdead_beef_dead_beef;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_as_the_published_algorithm_does() {
        assert_eq!(hash64(b"this is only a test...", 0), 13_961_228_348_271_205_189);
    }

    #[test]
    fn a_text_of_any_length_has_its_own_hash() {
        let bytes = [b'x'; 600];
        let mut seen = std::collections::HashSet::new();
        for length in 0..bytes.len() {
            assert!(seen.insert(hash64(&bytes[..length], 0)), "{length}");
        }
    }
}
