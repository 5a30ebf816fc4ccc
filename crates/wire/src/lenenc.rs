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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::What;
    use crate::reader::Reader;
    use proptest::prelude::*;

    #[test]
    fn integers_take_as_few_bytes_as_they_can() {
        let cases: [(u64, &[u8]); 7] = [
            (0, &[0]),
            (0xfa, &[0xfa]),
            (0xfb, &[0xfc, 0xfb, 0]),
            (0xffff, &[0xfc, 0xff, 0xff]),
            (0x1_0000, &[0xfd, 0, 0, 1]),
            (0x100_0000, &[0xfe, 0, 0, 0, 1, 0, 0, 0, 0]),
            (u64::MAX, &[0xfe, 255, 255, 255, 255, 255, 255, 255, 255]),
        ];
        for (value, bytes) in cases {
            let mut out = Vec::new();
            write_int(&mut out, value);
            assert_eq!(out, bytes);
        }
    }

    #[test]
    fn a_null_or_a_cut_is_no_integer_and_the_fault_says_where() {
        for bytes in [&[1, 0xfb][..], &[1, 0xff], &[1], &[1, 0xfc, 1], &[1, 0xfe, 1, 2, 3]] {
            let mut read = Reader::new(bytes);
            assert_eq!(read.lenenc(), Ok(1));
            let fault = read.lenenc().unwrap_err();
            assert_eq!((fault.what, fault.offset), (What::LengthInteger, 1));
        }
        let fault = Reader::new(&[5, b'a']).lenenc_bytes().unwrap_err();
        assert_eq!((fault.what, fault.offset), (What::LengthString, 1));
        let huge = [0xfe, 255, 255, 255, 255, 255, 255, 255, 255, 1];
        assert_eq!(Reader::new(&huge).lenenc_bytes().unwrap_err().what, What::LengthString);
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(value: u64, shift in 0..64, text: Vec<u8>) {
            let value = value >> shift;
            let mut out = Vec::new();
            write_int(&mut out, value);
            write_bytes(&mut out, &text);
            let mut read = Reader::new(&out);
            prop_assert_eq!(read.lenenc(), Ok(value));
            prop_assert_eq!(read.lenenc_bytes(), Ok(text.as_slice()));
            prop_assert!(read.is_empty());
            prop_assert_eq!(read.offset(), out.len());
        }
    }
}
