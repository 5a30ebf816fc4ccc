//! What a name is known by.
//!
//! Servers tell names of functions and columns apart as `utf8mb3_general_ci` does: neither by the
//! case of letters nor by their accents. Names that this collation compares as equal have one key.
//! Names without any ASCII equivalent may share a key, and then count as the same. So do names that
//! differ by quotes within them, which texts have doubled.

use std::hash::{DefaultHasher, Hasher};

/// What a name is known by, in any case of its letters and with any accents.
pub fn key(name: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    if name.is_ascii() {
        let meant = name.iter().filter(|byte| !QUOTES.contains(byte));
        meant.for_each(|byte| hasher.write_u8(byte.to_ascii_lowercase()));
        return hasher.finish();
    }
    for chunk in name.utf8_chunks() {
        let meant = chunk.valid().chars().map(base).filter(|byte| !QUOTES.contains(byte));
        meant.for_each(|byte| hasher.write_u8(byte));
        chunk.invalid().iter().for_each(|_| hasher.write_u8(NONE));
    }
    hasher.finish()
}

/// What a table or view of a schema is known by.
pub fn table_key(schema: &[u8], table: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write_u64(key(schema));
    hasher.write_u64(key(table));
    hasher.finish()
}

/// The ASCII letter that servers take a letter for.
fn base(letter: char) -> u8 {
    let at = |table: &[u8], first: u32| {
        let offset = u32::from(letter).checked_sub(first)?;
        table.get(usize::try_from(offset).ok()?).copied()
    };
    match u8::try_from(letter) {
        Ok(byte) if byte.is_ascii() => byte.to_ascii_lowercase(),
        _ => at(LATIN, 0xc0).or_else(|| at(LATIN_ADDITIONAL, 0x1e00)).unwrap_or(NONE),
    }
}

/// What is doubled within a name in quotes.
const QUOTES: &[u8] = b"`\"";

/// Stands for whatever servers take for no ASCII letter.
const NONE: u8 = b'.';

/// U+00C0 to U+0233, as MariaDB 10.11 compares them.
const LATIN: &[u8] = b"\
    aaaaaa.ceeeeiiii.nooooo..uuuuy.saaaaaa.ceeeeiiii.nooooo..uuuuy.yaaaaaaccccccccdd\
    ..eeeeeeeeeegggggggghh..iiiiiiiiii..jjkk.llllll....nnnnnn...oooooo..rrrrrrssssss\
    sstttt..uuuuuuuuuuuuwwyyyzzzzzzs................................oo.............u\
    u............................aaiioouuuuuuuuuu.aaaa....ggkkoooo..j...gg..nnaa....\
    aaaaeeeeiiiioooorrrruuuusstt..hh......aaeeooooooooyy";

/// U+1E00 to U+1EFF, likewise.
const LATIN_ADDITIONAL: &[u8] = b"\
    aabbbbbbccddddddddddeeeeeeeeeeffgghhhhhhhhhhiiiikkkkkkllllllllmmmmmmnnnnnnnnoooo\
    oooopppprrrrrrrrssssssssssttttttttuuuuuuuuuuvvvvwwwwwwwwwwxxxxyyzzzzzzhtwy.s....\
    aaaaaaaaaaaaaaaaaaaaaaaaeeeeeeeeeeeeeeeeiiiioooooooooooooooooooooooouuuuuuuuuuuu\
    uuyyyyyyyy......";

#[cfg(test)]
mod tests {
    use super::key;

    #[test]
    fn names_are_one_that_servers_take_for_one() {
        for (one, other) in [
            ("pay", "PAY"),
            ("payé", "PAYE"),
            ("straße", "strase"),
            ("Ễ", "e"),
            ("ÿ", "Y"),
            ("支払", "請求"),
            ("v``q", "v`q"),
            ("é\"\"q", "e\"q"),
        ] {
            assert_eq!(key(one.as_bytes()), key(other.as_bytes()), "{one} {other}");
        }
        for (one, other) in [("pay", "pey"), ("ø", "o"), ("payé", "payø"), ("支", "a")] {
            assert_ne!(key(one.as_bytes()), key(other.as_bytes()), "{one} {other}");
        }
        assert_ne!(key(b"verrou"), key(b"v\xe9rrou"), "in another character set");
    }
}
