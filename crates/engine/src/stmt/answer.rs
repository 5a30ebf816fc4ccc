//! The answer to a prepare, kept to be given again.

use wire::Status;
use wire::frame::{HEADER_BYTES, Header};

/// Longest answer that is kept.
const LONGEST: usize = 1 << 16;

/// Where the statement's id lies in the answer.
const ID_AT: usize = HEADER_BYTES + 1;

/// Where the number of warnings lies in the answer.
const WARNINGS_AT: usize = HEADER_BYTES + 10;

/// Status flags that the session has, not the statement.
const OF_SESSION: Status = Status::AUTOCOMMIT.union(Status::IN_TRANS);

/// All packets of an answer to `COM_STMT_PREPARE`, as a server gave them.
#[derive(Debug, PartialEq, Eq)]
pub struct KeptAnswer {
    bytes: Box<[u8]>,
    /// Where the status flags lie in the EOF packets.
    status_at: Vec<usize>,
}

impl KeptAnswer {
    /// Whether so many bytes of an answer are too many to be kept.
    pub fn is_too_long(bytes: usize) -> bool {
        bytes > LONGEST
    }

    /// Keeps an answer, unless it is long or told of warnings, which are not there a second time.
    pub fn of(bytes: &[u8]) -> Option<Self> {
        const EOF: u8 = 0xfe;
        const EOF_BYTES: usize = 5;
        if bytes.len() > LONGEST || bytes.get(WARNINGS_AT..WARNINGS_AT + 2) != Some(&[0, 0]) {
            return None;
        }
        let mut status_at = Vec::new();
        let mut at = 0;
        while let Some(header) = Header::parse(bytes.get(at..)?) {
            let payload = at + HEADER_BYTES;
            if header.len == EOF_BYTES && bytes.get(payload) == Some(&EOF) {
                status_at.push(payload + 3);
            }
            at = payload + header.len;
        }
        (at == bytes.len()).then(|| Self { bytes: bytes.into(), status_at })
    }

    /// Bytes of memory that it holds.
    pub fn bytes(&self) -> usize {
        self.bytes.len() + self.status_at.capacity() * size_of::<usize>()
    }

    /// Appends the answer for a client that knows the statement by `id` and whose session has these
    /// status flags.
    pub fn write(&self, out: &mut Vec<u8>, id: u32, status: Status) {
        let start = out.len();
        out.extend_from_slice(&self.bytes);
        let Some(answer) = out.get_mut(start..) else { return };
        if let Some(place) = answer.get_mut(ID_AT..ID_AT + 4) {
            place.copy_from_slice(&id.to_le_bytes());
        }
        for at in &self.status_at {
            if let Some([low, high]) = answer.get_mut(*at..at + 2) {
                let kept = Status(u16::from_le_bytes([*low, *high])).without(OF_SESSION);
                [*low, *high] = kept.union(Status(status.0 & OF_SESSION.0)).0.to_le_bytes();
            }
        }
    }
}
