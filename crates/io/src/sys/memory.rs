//! What the allocator says of itself.

/// Bytes of the heap.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Heap {
    /// That somebody asked for and has not given back.
    pub in_use: u64,
    /// That the allocator keeps for the next who asks.
    pub free: u64,
}

/// The heap of this process now, all threads together.
pub fn heap() -> Heap {
    // SAFETY: takes no pointers; the allocator locks its own lists.
    let info = unsafe { libc::mallinfo2() };
    Heap { in_use: (info.uordblks + info.hblkhd) as u64, free: info.fordblks as u64 }
}

#[cfg(test)]
mod tests {
    use super::heap;

    #[test]
    fn what_is_asked_for_is_in_use() {
        let before = heap();
        let block = std::hint::black_box(vec![1_u8; 64 << 20]);
        let with = heap();
        assert!(with.in_use >= before.in_use + (60 << 20), "{before:?} {with:?}");
        drop(block);
        assert!(heap().in_use + (60 << 20) <= with.in_use, "{:?} {with:?}", heap());
    }
}
