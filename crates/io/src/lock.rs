//! The one kind of lock that threads with a loop may take. What each thread takes is counted, so
//! that a test can say where none is taken.

use std::cell::Cell;
use std::sync::{Mutex, MutexGuard, PoisonError};

thread_local! {
    static TAKEN: Cell<u64> = const { Cell::new(0) };
}

/// Something that only one thread at a time may touch.
#[derive(Debug, Default)]
pub struct Lock<T>(Mutex<T>);

impl<T> Lock<T> {
    /// Nobody has it.
    pub fn new(within: T) -> Self {
        Lock(Mutex::new(within))
    }

    /// Waits until nobody has it, and takes it. What a thread left that panicked with it in hand is
    /// taken as it is, so whoever changes it must leave it whole between calls.
    pub fn take(&self) -> MutexGuard<'_, T> {
        TAKEN.set(TAKEN.get() + 1);
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How often the calling thread took a lock.
pub fn locks_taken() -> u64 {
    TAKEN.get()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_thread_counts_for_itself_and_a_panic_leaves_what_was_there() {
        let lock = Lock::new(1);
        let before = locks_taken();
        let panicked = std::thread::scope(|scope| {
            let thread = scope.spawn(|| {
                *lock.take() = 2;
                let _held = lock.take();
                panic!("with it in hand");
            });
            thread.join().is_err()
        });
        assert!(panicked);
        assert_eq!((*lock.take(), locks_taken()), (2, before + 1));
    }
}
