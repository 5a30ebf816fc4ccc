//! Length-encoded integers and strings, written.
//!
//! Reading them is the business of [`crate::reader::Reader`].

/// The first byte of a NULL in a text row.
pub const NULL: u8 = 0xfb;

/// Appends a length-encoded integer.
pub fn write_int(out: &mut Vec<u8>, value: u64) {
    let [a, b, c, d, e, f, g, h] = value.to_le_bytes();
    match value {
        0..=0xfa => out.push(a),
        0xfb..=0xffff => out.extend_from_slice(&[0xfc, a, b]),
        0x1_0000..=0xff_ffff => out.extend_from_slice(&[0xfd, a, b, c]),
        _ => out.extend_from_slice(&[0xfe, a, b, c, d, e, f, g, h]),
    }
}

/// Appends a string after its length.
pub fn write_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    write_int(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// How many bytes [`write_int`] appends for `value`.
pub const fn int_len(value: u64) -> usize {
    match value {
        0..=0xfa => 1,
        0xfb..=0xffff => 3,
        0x1_0000..=0xff_ffff => 4,
        _ => 9,
    }
}
