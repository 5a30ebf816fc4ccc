//! The OK packet and the EOF packet: a command succeeded, a part of a reply ends.

use crate::fault::What;
use crate::reader::Reader;
use crate::{Caps, Malformed, Status, lenenc};

/// An OK packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OkPacket<'a> {
    /// Rows changed, or found with [`Caps::FOUND_ROWS`].
    pub affected_rows: u64,
    /// The value of `LAST_INSERT_ID()` when the statement made one.
    pub last_insert_id: u64,
    /// The session's status.
    pub status: Status,
    /// How many warnings the statement left.
    pub warnings: u16,
    /// Text for people.
    pub info: &'a [u8],
    /// What changed in the session, as sent: for [`crate::reply::SessionTrack`].
    pub session_track: &'a [u8],
}

impl<'a> OkPacket<'a> {
    /// The first byte of the payload of an OK packet.
    pub const MARKER: u8 = 0x00;
    /// The first byte when it stands in the place of an EOF packet.
    pub const EOF_MARKER: u8 = 0xfe;

    /// Reads the payload of an OK packet, be it one or in the place of an EOF packet.
    pub fn parse(payload: &'a [u8], caps: Caps) -> Result<Self, Malformed> {
        let mut read = Reader::new(payload);
        match read.u8().map_err(|_| Malformed::new(What::Empty, 0))? {
            Self::MARKER | Self::EOF_MARKER => {}
            _ => return Err(Malformed::new(What::Marker, 0)),
        }
        let mut ok = Self {
            affected_rows: read.lenenc()?,
            last_insert_id: read.lenenc()?,
            status: Status(read.u16()?),
            warnings: read.u16()?,
            ..Self::default()
        };
        if !caps.contains(Caps::SESSION_TRACK) {
            let mut strict = read;
            ok.info = strict.lenenc_bytes().unwrap_or(read.rest());
        } else if !read.is_empty() {
            ok.info = read.lenenc_bytes()?;
            if ok.status.contains(Status::SESSION_STATE_CHANGED) {
                ok.session_track = read.lenenc_bytes()?;
            }
        }
        Ok(ok)
    }

    /// Appends the payload.
    pub fn encode(&self, caps: Caps, out: &mut Vec<u8>) {
        self.encode_as(Self::MARKER, caps, out);
    }

    /// Appends the payload for the place of an EOF packet.
    pub fn encode_as_eof(&self, caps: Caps, out: &mut Vec<u8>) {
        self.encode_as(Self::EOF_MARKER, caps, out);
    }

    fn encode_as(&self, marker: u8, caps: Caps, out: &mut Vec<u8>) {
        let tracks = caps.contains(Caps::SESSION_TRACK) && !self.session_track.is_empty();
        let status = match tracks {
            true => self.status | Status::SESSION_STATE_CHANGED,
            false => self.status.without(Status::SESSION_STATE_CHANGED),
        };
        out.push(marker);
        lenenc::write_int(out, self.affected_rows);
        lenenc::write_int(out, self.last_insert_id);
        out.extend_from_slice(&status.0.to_le_bytes());
        out.extend_from_slice(&self.warnings.to_le_bytes());
        if tracks || !self.info.is_empty() {
            lenenc::write_bytes(out, self.info);
        }
        if tracks {
            lenenc::write_bytes(out, self.session_track);
        }
    }
}

/// Where the status flags lie in the payload of an OK or EOF packet.
pub fn status_at(payload: &[u8]) -> Option<usize> {
    let mut read = Reader::new(payload);
    match (read.u8().ok()?, payload.len()) {
        (EofPacket::MARKER, EofPacket::BYTES) => {
            read.u16().ok()?;
        }
        (OkPacket::MARKER | OkPacket::EOF_MARKER, _) => {
            read.lenenc().ok()?;
            read.lenenc().ok()?;
        }
        _ => return None,
    }
    Some(read.offset())
}

/// An EOF packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EofPacket {
    /// How many warnings the statement left.
    pub warnings: u16,
    /// The session's status.
    pub status: Status,
}

impl EofPacket {
    /// The first byte of the payload.
    pub const MARKER: u8 = 0xfe;
    /// The payload's length.
    pub const BYTES: usize = 5;

    /// Reads the payload.
    pub fn parse(payload: &[u8]) -> Result<Self, Malformed> {
        let mut read = Reader::new(payload);
        read.marker(Self::MARKER)?;
        Ok(Self { warnings: read.u16()?, status: Status(read.u16()?) })
    }

    /// Appends the payload.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.push(Self::MARKER);
        out.extend_from_slice(&self.warnings.to_le_bytes());
        out.extend_from_slice(&self.status.0.to_le_bytes());
    }
}
