//! What a moment is: microseconds of the monotonic clock. Deliberately knows no calendar.

use std::ops::{Add, Sub};

/// Monotonic time in microseconds since an epoch that all loops of a process share.
///
/// Real drivers count from the boot of the machine (`CLOCK_MONOTONIC`), the simulated network
/// from its own zero; so moments may travel between the loops of one process.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Micros(pub u64);

impl Micros {
    /// This moment, by the clock of real drivers.
    pub fn now() -> Self {
        crate::sys::fds::monotonic()
    }

    /// A span of whole milliseconds.
    pub const fn from_ms(ms: u64) -> Self {
        Micros(ms.saturating_mul(1_000))
    }

    /// A span of whole seconds.
    pub const fn from_secs(secs: u64) -> Self {
        Micros(secs.saturating_mul(1_000_000))
    }

    /// How long after `earlier` this moment is; zero when it is not after it.
    pub const fn since(self, earlier: Micros) -> Micros {
        Micros(self.0.saturating_sub(earlier.0))
    }

    /// The span in milliseconds, rounded down.
    pub const fn as_ms(self) -> u64 {
        self.0 / 1_000
    }
}

impl Add for Micros {
    type Output = Micros;

    fn add(self, span: Micros) -> Micros {
        Micros(self.0.saturating_add(span.0))
    }
}

impl Sub for Micros {
    type Output = Micros;

    fn sub(self, span: Micros) -> Micros {
        Micros(self.0.saturating_sub(span.0))
    }
}
