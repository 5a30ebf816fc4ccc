//! The blocks that the kernel receives into, and the ring in which they are offered to it.
//! Deliberately knows no sockets: which block holds whose bytes is told by completions.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU16, Ordering};

use io_uring::IoUring;
use io_uring::types::BufRingEntry;

/// How many blocks; a power of two.
const COUNT: u16 = 128;
const BLOCK_BYTES: usize = 16 * 1024;
const PAGE_BYTES: usize = 4096;

/// A block with received bytes, not offered to the kernel until it is given back.
#[derive(Debug)]
pub struct Block {
    memory: Box<[u8]>,
    filled: usize,
    id: u16,
}

impl AsRef<[u8]> for Block {
    fn as_ref(&self) -> &[u8] {
        &self.memory[..self.filled]
    }
}

/// All blocks and the ring of those that the kernel may use.
pub(crate) struct Blocks {
    ring: NonNull<BufRingEntry>,
    tail: u16,
    /// The memory of each block while the kernel has it.
    lent: Vec<Option<NonNull<[u8]>>>,
    lent_count: usize,
}

// SAFETY: the pointers are to memory that this value alone owns (together with the kernel).
unsafe impl Send for Blocks {}

impl Blocks {
    /// The only group of provided buffers in a ring.
    pub(crate) const GROUP: u16 = 0;

    /// Makes the blocks and registers their ring with `with`, which must be dropped or done with
    /// all receives before these are.
    pub(crate) fn new(with: &IoUring) -> Result<Self, i32> {
        let layout = Self::layout();
        // SAFETY: the layout is not empty.
        let memory = unsafe { alloc_zeroed(layout) };
        let Some(ring) = NonNull::new(memory.cast::<BufRingEntry>()) else {
            handle_alloc_error(layout)
        };
        let lent = (0..COUNT).map(|_| None).collect();
        let mut blocks = Blocks { ring, tail: 0, lent, lent_count: 0 };
        let address = ring.as_ptr() as u64;
        // SAFETY: the memory is page-aligned, has room for COUNT entries, and lives until the
        // kernel is done with it (see `Ring`'s drop).
        let registered = unsafe {
            with.submitter().register_buf_ring_with_flags(address, COUNT, Self::GROUP, 0)
        };
        registered.map_err(|error| error.raw_os_error().unwrap_or(libc::EIO))?;
        for id in 0..COUNT {
            let memory = vec![0; BLOCK_BYTES].into_boxed_slice();
            blocks.give(Block { memory, filled: 0, id });
        }
        Ok(blocks)
    }

    fn layout() -> Layout {
        Layout::array::<BufRingEntry>(usize::from(COUNT))
            .and_then(|layout| layout.align_to(PAGE_BYTES))
            .expect("a small constant size")
    }

    /// The block that a completion says was filled.
    pub(crate) fn take(&mut self, id: u16, filled: usize) -> Option<Block> {
        let memory = self.lent.get_mut(usize::from(id))?.take()?;
        self.lent_count -= 1;
        // SAFETY: the pointer came from a box, and the completion says that the kernel is done
        // with it.
        let memory = unsafe { Box::from_raw(memory.as_ptr()) };
        let filled = filled.min(memory.len());
        Some(Block { memory, filled, id })
    }

    /// How many blocks the kernel has.
    pub(crate) fn free(&self) -> usize {
        self.lent_count
    }

    /// Offers a block to the kernel.
    pub(crate) fn give(&mut self, block: Block) {
        let Some(place) = self.lent.get_mut(usize::from(block.id)) else { return };
        let bytes = block.memory.len();
        let memory = NonNull::from(Box::leak(block.memory));
        *place = Some(memory);
        self.lent_count += 1;
        let slot = usize::from(self.tail & (COUNT - 1));
        // SAFETY: `slot` is below COUNT, and the kernel does not look at entries from the tail on.
        let entry = unsafe { self.ring.add(slot).as_mut() };
        entry.set_addr(memory.cast::<u8>().as_ptr() as u64);
        entry.set_len(bytes as u32);
        entry.set_bid(block.id);
        self.tail = self.tail.wrapping_add(1);
        // SAFETY: the ring starts with an entry, in whose last field the kernel expects the tail;
        // it is aligned for `u16`, and the kernel reads it as an atomic.
        let tail =
            unsafe { AtomicU16::from_ptr(BufRingEntry::tail(self.ring.as_ptr()).cast_mut()) };
        tail.store(self.tail, Ordering::Release);
    }
}

impl Drop for Blocks {
    fn drop(&mut self) {
        for memory in self.lent.iter_mut().filter_map(Option::take) {
            // SAFETY: the pointer came from a box; by now the kernel is done with all blocks.
            drop(unsafe { Box::from_raw(memory.as_ptr()) });
        }
        // SAFETY: the memory came from `alloc_zeroed` with this layout; the ring that used it is
        // being dropped and has no receives left.
        unsafe { dealloc(self.ring.as_ptr().cast(), Self::layout()) };
    }
}
