//! Descriptors that are not sockets, and the clock. Deliberately knows no loop.

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use super::{checked, errno};
use crate::micros::Micros;

/// A new non-blocking `eventfd`.
pub(crate) fn eventfd() -> Result<OwnedFd, i32> {
    // SAFETY: takes no pointers.
    let fd = checked(unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) })?;
    // SAFETY: the call just made this descriptor and nobody else knows it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Adds one to an `eventfd`. Its counter cannot overflow in practice and every addition makes an
/// edge, so nobody has to read it.
pub(crate) fn ring_eventfd(bell: &OwnedFd) {
    let one = 1_u64.to_ne_bytes();
    // SAFETY: `one` is eight readable bytes.
    let written = unsafe { libc::write(bell.as_raw_fd(), one.as_ptr().cast(), one.len()) };
    debug_assert!(written == 8, "eventfd: errno {}", errno());
}

/// The most descriptors that room is made for: two megabytes.
const RESERVED_MAX: u64 = 1 << 18;

/// Lets the process open as many descriptors as it may at all, which is often more than it may at
/// first, and makes room for them, for 262,144 at most; to be called while it has one thread. Of a
/// process with several, Linux makes the table larger only after a moment in which every processor
/// was seen at rest, and nobody opens anything meanwhile (`expand_fdtable` in `fs/file.c`): some
/// milliseconds mostly, and more than fifteen seconds were seen on a busy machine. Where the system
/// refuses, the table grows with the need.
pub fn reserve_descriptors() {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is writable.
    if unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) } != 0 {
        return;
    }
    let whole = libc::rlimit { rlim_cur: limit.rlim_max, ..limit };
    // SAFETY: `whole` is readable.
    if unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &whole) } == 0 {
        limit = whole;
    }
    let highest = limit.rlim_cur.min(RESERVED_MAX).saturating_sub(1) as i32;
    let Ok(any) = eventfd() else { return };
    // SAFETY: takes no pointers.
    let copy = unsafe { libc::fcntl(any.as_raw_fd(), libc::F_DUPFD_CLOEXEC, highest) };
    if let Ok(copy) = checked(copy) {
        // SAFETY: the call just made this descriptor and nobody else knows it.
        drop(unsafe { OwnedFd::from_raw_fd(copy) });
    }
}

/// The monotonic clock, counted from the boot of the machine.
pub(crate) fn monotonic() -> Micros {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is writable; the clock exists on every Linux, so the call cannot fail.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    Micros(time.tv_sec as u64 * 1_000_000 + time.tv_nsec as u64 / 1_000)
}
