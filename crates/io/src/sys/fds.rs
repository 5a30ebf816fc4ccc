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

/// The monotonic clock, counted from the boot of the machine.
pub(crate) fn monotonic() -> Micros {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is writable; the clock exists on every Linux, so the call cannot fail.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    Micros(time.tv_sec as u64 * 1_000_000 + time.tv_nsec as u64 / 1_000)
}
