//! Nothing is allocated for a query in the steady state.
//!
//! Counts every call of the allocator on this thread's watch while the engine relays queries whose
//! like it has seen before. Buffers may grow in the first passes, never after them.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use icount::packets::{self, POINT_SELECT};
use icount::world::World;

struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

fn count() {
    // A thread that is ending has no counter any more, and is not watched.
    let _ = ALLOCATIONS.try_with(|n| n.set(n.get() + 1));
}

// SAFETY: every call is passed on to the system's allocator with the arguments it came with.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller keeps the contract of `alloc`, which is the same here.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the pointer came from `System.alloc` with this layout.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: the pointer came from `System.alloc` with this layout.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// How often `pass` allocates once it has been done a few times.
fn steady_allocations(mut pass: impl FnMut()) -> u64 {
    (0..16).for_each(|_| pass());
    let before = ALLOCATIONS.with(Cell::get);
    (0..256).for_each(|_| pass());
    ALLOCATIONS.with(Cell::get) - before
}

#[test]
fn the_counter_counts() {
    let allocations = steady_allocations(|| drop(std::hint::black_box(vec![1u8; 100])));
    assert_eq!(allocations, 256);
}

#[test]
fn a_text_query_of_one_row_allocates_nothing() {
    let mut world = World::new();
    let session = world.log_in();
    let (command, reply) = (packets::query(POINT_SELECT), packets::result(1));
    let allocations = steady_allocations(|| {
        assert_eq!(world.exchange(session, &command, &reply), reply.len());
    });
    assert_eq!(allocations, 0);
}

#[test]
fn a_text_query_of_a_thousand_rows_allocates_nothing() {
    let mut world = World::new();
    let session = world.log_in();
    let (command, reply) = (packets::query(POINT_SELECT), packets::result(1000));
    let allocations = steady_allocations(|| {
        assert_eq!(world.exchange(session, &command, &reply), reply.len());
    });
    assert_eq!(allocations, 0);
}

#[test]
fn executing_a_prepared_statement_allocates_nothing() {
    let mut world = World::new();
    let session = world.log_in();
    let command = world.prepare(session, b"SELECT c FROM sbtest1 WHERE id=?");
    let reply = packets::result(1);
    let allocations = steady_allocations(|| {
        assert_eq!(world.exchange(session, &command, &reply), reply.len());
    });
    assert_eq!(allocations, 0);
}

#[test]
fn finding_the_facts_of_a_statement_allocates_nothing() {
    let allocations = steady_allocations(|| {
        std::hint::black_box(sql::facts(std::hint::black_box(packets::LONG_SELECT)));
    });
    assert_eq!(allocations, 0);
}
