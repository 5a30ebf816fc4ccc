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
        // more by far than the tests beside this one ask for; it is never written to
        let (most, nearly) = (1 << 30, 3 << 28);
        let before = heap();
        let block = std::hint::black_box(vec![0_u8; most]);
        let with = heap();
        assert!(with.in_use >= before.in_use + nearly, "{before:?} {with:?}");
        drop(block);
        let after = heap();
        assert!(after.in_use + nearly <= with.in_use, "{after:?} {with:?}");
    }
}
