//! Names of transactions, as events have them.

use std::fmt;

use wire::reader::Reader;
use wire::{Malformed, What};

/// The name of a transaction. Its text is what the server's own functions take.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Gtid {
    /// MySQL's.
    MySql {
        /// The server that wrote first.
        origin: [u8; 16],
        /// Empty where there is none.
        tag: String,
        /// Its number there.
        number: u64,
    },
    /// MariaDB's.
    MariaDb {
        /// The domain.
        domain: u32,
        /// The server that wrote first.
        server: u32,
        /// Its number in the domain.
        number: u64,
    },
}

impl Gtid {
    /// Of an event of kind 33.
    pub(crate) fn of_mysql(body: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(body);
        reader.u8()?;
        let origin = reader.array()?;
        Ok(Self::MySql { origin, tag: String::new(), number: reader.u64()? })
    }

    /// Of an event of kind 162, whose header has the server.
    pub(crate) fn of_mariadb(server: u32, body: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(body);
        let number = reader.u64()?;
        Ok(Self::MariaDb { domain: reader.u32()?, server, number })
    }

    /// Of an event of kind 42: a message of fields, each behind its number, in order.
    pub(crate) fn of_mysql_tagged(body: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(body);
        // version, length, and which field must be known
        for _ in 0..3 {
            varint(&mut reader)?;
        }
        field(&mut reader, 0)?;
        varint(&mut reader)?;
        field(&mut reader, 1)?;
        let mut origin = [0; 16];
        for byte in &mut origin {
            *byte = small(&mut reader)?;
        }
        field(&mut reader, 2)?;
        // the sign is the lowest bit
        let number = varint(&mut reader)? >> 1;
        field(&mut reader, 3)?;
        let length = usize::from(small(&mut reader)?);
        let tag = reader.bytes(length)?;
        let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
        if !tag.iter().all(is_name) {
            return Err(reader.fault(What::FixedField));
        }
        let tag = String::from_utf8_lossy(tag).into_owned();
        Ok(Self::MySql { origin, tag, number })
    }
}

/// The number of a field that has to be there.
fn field(reader: &mut Reader<'_>, number: u64) -> Result<(), Malformed> {
    let fault = reader.fault(What::Marker);
    if varint(reader)? == number { Ok(()) } else { Err(fault) }
}

/// A number that fits in a byte.
fn small(reader: &mut Reader<'_>) -> Result<u8, Malformed> {
    let fault = reader.fault(What::FixedField);
    u8::try_from(varint(reader)?).map_err(|_| fault)
}

/// A number of as many further bytes as its first byte ends in ones.
fn varint(reader: &mut Reader<'_>) -> Result<u64, Malformed> {
    let first = reader.u8()?;
    let more = first.trailing_ones();
    let mut rest = 0_u64;
    for place in 0..more {
        rest |= u64::from(reader.u8()?) << (8 * place);
    }
    // of nine bytes the first has no room for a bit of the number
    let low = u64::from(first).checked_shr(more + 1).unwrap_or(0);
    Ok(low | rest.checked_shl(7_u32.saturating_sub(more)).unwrap_or(0))
}

impl fmt::Display for Gtid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MySql { origin, tag, number } => {
                for (at, byte) in origin.iter().enumerate() {
                    let dash = if [4, 6, 8, 10].contains(&at) { "-" } else { "" };
                    write!(f, "{dash}{byte:02x}")?;
                }
                let colon = if tag.is_empty() { "" } else { ":" };
                write!(f, "{colon}{tag}:{number}")
            }
            Self::MariaDb { domain, server, number } => write!(f, "{domain}-{server}-{number}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a number of so many bytes is written as.
    fn written(value: u64, bytes: u32) -> Vec<u8> {
        let ones = (1_u128 << (bytes - 1)) - 1;
        let all = (u128::from(value) << bytes) | ones;
        all.to_le_bytes()[..bytes as usize].to_vec()
    }

    #[test]
    fn numbers_of_every_length_are_read() {
        for bytes in 1..=8 {
            let largest = (1_u64 << (7 * bytes)) - 1;
            for value in [0, 1, largest / 3, largest] {
                let written = written(value, bytes);
                assert_eq!(varint(&mut Reader::new(&written)), Ok(value), "{written:?}");
            }
        }
        let nine = [0xff, 1, 2, 3, 4, 5, 6, 7, 0x88];
        assert_eq!(varint(&mut Reader::new(&nine)), Ok(0x8807_0605_0403_0201));
        assert!(varint(&mut Reader::new(&nine[..8])).is_err());
    }
}
