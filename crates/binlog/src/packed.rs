//! What servers compress: transactions of MySQL, which are fields and then events without checksums
//! by zstd, and statements of MariaDB, by zlib.

use flate2::{Decompress, FlushDecompress};
use wire::reader::Reader;
use zstd::stream::raw::{DParameter, Decoder, Operation};

use crate::event::{HEAD_BYTES_MAX, Pieces};
use crate::fault::Flaw;

/// Reads the events of one transaction as they come. What is kept is a window of zstd and one
/// event's head.
#[derive(Default)]
pub(crate) struct Unpacker {
    /// Fields that have come in part.
    fields: Vec<u8>,
    decoder: Option<Decoder<'static>>,
    event: Pieces,
    /// Bytes of the content that have not come.
    left: u64,
    /// Whether the content may end here.
    is_frame_over: bool,
}

/// What takes the events.
type Read<'r> = &'r mut dyn FnMut(&Pieces) -> Result<(), Flaw>;

/// The largest window: what MySQL's levels take at most.
const WINDOW_LOG_MAX: u32 = 27;

/// Fields together are shorter than that.
const FIELDS_BYTES_MAX: usize = 256;

impl Unpacker {
    /// Takes the next bytes behind an event's header.
    pub(crate) fn feed(&mut self, bytes: &[u8], read: Read<'_>) -> Result<(), Flaw> {
        if self.decoder.is_some() {
            return self.unpack(bytes, read);
        }
        self.fields.extend_from_slice(bytes);
        let Some(Fields { decoder, content_bytes, length }) = fields(&self.fields)? else {
            let is_long = self.fields.len() > FIELDS_BYTES_MAX;
            return if is_long { Err(Flaw::Packed) } else { Ok(()) };
        };
        (self.decoder, self.left) = (Some(decoder), content_bytes);
        let fields = std::mem::take(&mut self.fields);
        self.unpack(fields.get(length..).unwrap_or_default(), read)
    }

    fn unpack(&mut self, bytes: &[u8], read: Read<'_>) -> Result<(), Flaw> {
        let Some(decoder) = &mut self.decoder else { return Ok(()) };
        let mut plain = [0; 1 << 14];
        // behind the content is the checksum of the event around it
        let length = usize::try_from(self.left).unwrap_or(usize::MAX).min(bytes.len());
        let mut packed = bytes.get(..length).unwrap_or_default();
        self.left -= packed.len() as u64;
        loop {
            if packed.is_empty() && self.is_frame_over {
                return Ok(());
            }
            let step = decoder.run_on_buffers(packed, &mut plain).map_err(|_| Flaw::Packed)?;
            packed = packed.get(step.bytes_read..).unwrap_or_default();
            let mut come = plain.get(..step.bytes_written).unwrap_or_default();
            while !come.is_empty() {
                let taken = self.event.take(come)?;
                come = come.get(taken.count..).unwrap_or_default();
                if taken.is_whole {
                    read(&self.event)?;
                    self.event.clear();
                }
            }
            self.is_frame_over = step.remaining == 0;
            if step.bytes_written < plain.len() && packed.is_empty() {
                return Ok(());
            }
        }
    }

    /// Whether all events have come.
    pub(crate) fn is_at_end(&self) -> bool {
        self.left == 0 && self.is_frame_over && self.event.is_empty()
    }
}

/// What is said of the content.
struct Fields {
    decoder: Decoder<'static>,
    content_bytes: u64,
    /// Bytes of the fields.
    length: usize,
}

/// What the fields say; `None` where they have not come.
fn fields(bytes: &[u8]) -> Result<Option<Fields>, Flaw> {
    const END: u64 = 0;
    const SIZE: u64 = 1;
    const ALGORITHM: u64 = 2;
    const ZSTD: u64 = 0;
    let mut reader = Reader::new(bytes);
    let (mut size, mut algorithm) = (None, None);
    loop {
        let Ok(field) = reader.lenenc() else { return Ok(None) };
        if field == END {
            break;
        }
        let Ok(value) = reader.lenenc_bytes() else { return Ok(None) };
        match field {
            SIZE => size = Some(Reader::new(value).lenenc()?),
            ALGORITHM => algorithm = Some(Reader::new(value).lenenc()?),
            _ => {}
        }
    }
    let (Some(content_bytes), Some(ZSTD)) = (size, algorithm) else { return Err(Flaw::Packed) };
    let mut decoder = Decoder::new().map_err(|_| Flaw::Packed)?;
    let window = DParameter::WindowLogMax(WINDOW_LOG_MAX);
    decoder.set_parameter(window).map_err(|_| Flaw::Packed)?;
    Ok(Some(Fields { decoder, content_bytes, length: reader.offset() }))
}

/// The beginning of a compressed statement of MariaDB; nothing where it cannot be read. In front
/// of it is its length, in front of that how many bytes of it there are.
pub(crate) fn statement(packed: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(HEAD_BYTES_MAX);
    let Some((form, rest)) = packed.split_first() else { return plain };
    let content = rest.get(usize::from(form & 7)..).unwrap_or_default();
    let mut zlib = Decompress::new(true);
    // what was cut off is not needed, and what is wrong is no known statement
    let _ = zlib.decompress_vec(content, &mut plain, FlushDecompress::None);
    plain
}
