//! Reading the fields of one payload in order.
//!
//! Each step either yields a field or says what is malformed and where. It does not know which
//! packet it reads.

use crate::fault::{Malformed, What};

/// A position in a payload.
#[derive(Debug, Clone, Copy)]
pub struct Reader<'a> {
    rest: &'a [u8],
    offset: usize,
}

type Read<T> = Result<T, Malformed>;

impl<'a> Reader<'a> {
    /// The beginning of `payload`.
    #[inline]
    pub const fn new(payload: &'a [u8]) -> Self {
        Self { rest: payload, offset: 0 }
    }

    /// How many bytes were read.
    #[inline]
    pub const fn offset(&self) -> usize {
        self.offset
    }

    /// Whether nothing is left.
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// What was not read.
    #[inline]
    pub const fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Everything that is left, read.
    pub fn take_rest(&mut self) -> &'a [u8] {
        let taken = std::mem::take(&mut self.rest);
        self.offset += taken.len();
        taken
    }

    /// The fault of `what` here.
    pub const fn fault(&self, what: What) -> Malformed {
        Malformed::new(what, self.offset)
    }

    /// `len` bytes.
    #[inline]
    pub fn bytes(&mut self, len: usize) -> Read<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(len).ok_or(self.fault(What::FixedField))?;
        self.rest = rest;
        self.offset += len;
        Ok(taken)
    }

    /// A field of `N` bytes.
    #[inline]
    pub fn array<const N: usize>(&mut self) -> Read<[u8; N]> {
        let (taken, rest) = self.rest.split_first_chunk().ok_or(self.fault(What::FixedField))?;
        self.rest = rest;
        self.offset += N;
        Ok(*taken)
    }

    /// One byte.
    #[inline]
    pub fn u8(&mut self) -> Read<u8> {
        self.array().map(|[byte]| byte)
    }

    /// Two bytes, little end first.
    #[inline]
    pub fn u16(&mut self) -> Read<u16> {
        self.array().map(u16::from_le_bytes)
    }

    /// Four bytes, little end first.
    #[inline]
    pub fn u32(&mut self) -> Read<u32> {
        self.array().map(u32::from_le_bytes)
    }

    /// Eight bytes, little end first.
    #[inline]
    pub fn u64(&mut self) -> Read<u64> {
        self.array().map(u64::from_le_bytes)
    }

    /// The byte that must stand here.
    pub fn marker(&mut self, byte: u8) -> Read<()> {
        match self.rest.split_first() {
            None => Err(self.fault(What::Empty)),
            Some((found, _)) if *found != byte => Err(self.fault(What::Marker)),
            Some((_, rest)) => {
                self.rest = rest;
                self.offset += 1;
                Ok(())
            }
        }
    }

    /// A length-encoded integer.
    #[inline]
    pub fn lenenc(&mut self) -> Read<u64> {
        let fault = self.fault(What::LengthInteger);
        let value = match self.u8().map_err(|_| fault)? {
            byte @ 0..=0xfa => Ok(u64::from(byte)),
            0xfc => self.u16().map(u64::from),
            0xfd => self.array().map(|[a, b, c]| u64::from(u32::from_le_bytes([a, b, c, 0]))),
            0xfe => self.u64(),
            _ => Err(fault),
        };
        value.map_err(|_| fault)
    }

    /// A string after its length-encoded length.
    #[inline]
    pub fn lenenc_bytes(&mut self) -> Read<&'a [u8]> {
        let len = self.lenenc()?;
        let fault = self.fault(What::LengthString);
        let len = usize::try_from(len).map_err(|_| fault)?;
        self.bytes(len).map_err(|_| fault)
    }

    /// A string after a length of one byte.
    pub fn short_bytes(&mut self) -> Read<&'a [u8]> {
        let len = usize::from(self.u8()?);
        let fault = self.fault(What::LengthString);
        self.bytes(len).map_err(|_| fault)
    }

    /// A string that ends before a NUL.
    pub fn nul_bytes(&mut self) -> Read<&'a [u8]> {
        let end = memchr::memchr(0, self.rest).ok_or(self.fault(What::NulString))?;
        let taken = self.bytes(end)?;
        self.bytes(1)?;
        Ok(taken)
    }

    /// A string that ends before a NUL or at the end of the payload.
    pub fn nul_bytes_or_rest(&mut self) -> &'a [u8] {
        self.nul_bytes().unwrap_or_else(|_| self.take_rest())
    }
}
