//! Bytes that have to wait: growing buffers, and the pool they come from and go back to.
//! Deliberately knows neither sockets nor what the bytes say.

/// Blocks larger than this are freed, not pooled.
const POOLED_BLOCK_BYTES_MAX: usize = 64 * 1024;
/// The smallest block.
const BLOCK_BYTES_MIN: usize = 4 * 1024;

/// A first-in first-out run of bytes that owns a block only while it holds any.
#[derive(Debug, Default)]
pub(crate) struct Buffer {
    block: Box<[u8]>,
    start: usize,
    end: usize,
}

impl Buffer {
    pub(crate) fn len(&self) -> usize {
        self.end - self.start
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.start == self.end
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        self.block.get(self.start..self.end).unwrap_or_default()
    }

    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        self.block.get_mut(self.start..self.end).unwrap_or_default()
    }

    /// Drops the first `count` bytes; the block goes back when none is left.
    pub(crate) fn consume(&mut self, count: usize, pool: &mut BufferPool) {
        self.start += count.min(self.len());
        if self.is_empty() {
            self.clear(pool);
        }
    }

    /// Drops everything and gives the block back.
    pub(crate) fn clear(&mut self, pool: &mut BufferPool) {
        pool.give(std::mem::take(&mut self.block));
        self.start = 0;
        self.end = 0;
    }

    pub(crate) fn append(&mut self, bytes: &[u8], pool: &mut BufferPool) {
        if let Some(room) = self.room(bytes.len(), pool).get_mut(..bytes.len()) {
            room.copy_from_slice(bytes);
        }
        self.fill(bytes.len());
    }

    /// At least `wanted` bytes of room behind the content, to be written and then [`Self::fill`]ed.
    pub(crate) fn room(&mut self, wanted: usize, pool: &mut BufferPool) -> &mut [u8] {
        if self.block.len() - self.end < wanted {
            self.make_room(wanted, pool);
        }
        self.block.get_mut(self.end..).unwrap_or_default()
    }

    /// Declares the first `count` bytes of the room content.
    pub(crate) fn fill(&mut self, count: usize) {
        debug_assert!(self.end + count <= self.block.len());
        self.end += count;
    }

    fn make_room(&mut self, wanted: usize, pool: &mut BufferPool) {
        let len = self.len();
        // moving down is worth it only when it frees half of the block: amortised constant
        if self.start >= self.block.len() / 2 && self.block.len() - len >= wanted {
            self.block.copy_within(self.start..self.end, 0);
        } else {
            let mut block = pool.take(len + wanted);
            if let Some(room) = block.get_mut(..len) {
                room.copy_from_slice(self.bytes());
            }
            pool.give(std::mem::replace(&mut self.block, block));
        }
        self.start = 0;
        self.end = len;
    }
}

/// Blocks without content, bounded in all.
#[derive(Debug)]
pub(crate) struct BufferPool {
    blocks: Vec<Box<[u8]>>,
    held_bytes: usize,
    held_bytes_max: usize,
}

impl BufferPool {
    pub(crate) fn new(held_bytes_max: usize) -> Self {
        BufferPool { blocks: Vec::new(), held_bytes: 0, held_bytes_max }
    }

    fn take(&mut self, wanted: usize) -> Box<[u8]> {
        if let Some(at) = self.blocks.iter().rposition(|block| block.len() >= wanted)
            && wanted <= POOLED_BLOCK_BYTES_MAX
        {
            let block = self.blocks.swap_remove(at);
            self.held_bytes -= block.len();
            return block;
        }
        let bytes = wanted.next_power_of_two().max(BLOCK_BYTES_MIN);
        vec![0; bytes].into_boxed_slice()
    }

    fn give(&mut self, block: Box<[u8]>) {
        let bytes = block.len();
        if bytes == 0
            || bytes > POOLED_BLOCK_BYTES_MAX
            || self.held_bytes + bytes > self.held_bytes_max
        {
            return;
        }
        self.held_bytes += bytes;
        self.blocks.push(block);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_out_in_the_order_they_went_in() {
        let mut pool = BufferPool::new(1 << 20);
        let mut buffer = Buffer::default();
        let mut expected = Vec::new();
        for round in 0..200_usize {
            let bytes: Vec<u8> = (0..round * 37 % 5000).map(|i| (i + round) as u8).collect();
            buffer.append(&bytes, &mut pool);
            expected.extend_from_slice(&bytes);
            let taken = expected.len() / 3;
            buffer.consume(taken, &mut pool);
            expected.drain(..taken);
            assert_eq!(buffer.bytes(), expected);
        }
    }

    #[test]
    fn an_empty_buffer_holds_no_block() {
        let mut pool = BufferPool::new(1 << 20);
        let mut buffer = Buffer::default();
        buffer.append(b"hello", &mut pool);
        assert_eq!(pool.held_bytes, 0);
        buffer.consume(5, &mut pool);
        assert_eq!(buffer.block.len(), 0);
        assert_eq!(pool.held_bytes, BLOCK_BYTES_MIN);
    }

    #[test]
    fn big_blocks_and_surplus_are_freed() {
        let mut pool = BufferPool::new(BLOCK_BYTES_MIN);
        let mut big = Buffer::default();
        big.append(&vec![1; POOLED_BLOCK_BYTES_MAX + 1], &mut pool);
        big.clear(&mut pool);
        assert_eq!(pool.held_bytes, 0);
        let (mut one, mut two) = (Buffer::default(), Buffer::default());
        one.append(b"1", &mut pool);
        two.append(b"2", &mut pool);
        one.clear(&mut pool);
        two.clear(&mut pool);
        assert_eq!(pool.held_bytes, BLOCK_BYTES_MIN);
    }
}
