//! epoll as three safe calls. Deliberately knows no sockets of ours: data is a number.

use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};

use super::{checked, counted};
use crate::micros::Micros;

/// What is to be done with a descriptor's registration.
#[derive(Copy, Clone, Debug)]
pub(crate) enum Change {
    Add,
    Modify,
    Remove,
}

/// An epoll descriptor.
#[derive(Debug)]
pub(crate) struct Epoll {
    fd: OwnedFd,
    /// The wait with nanoseconds; refused by old kernels and some containers.
    precise: AtomicBool,
}

impl Epoll {
    pub(crate) fn new() -> Result<Self, i32> {
        // SAFETY: takes no pointers.
        let fd = checked(unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) })?;
        // SAFETY: the call just made this descriptor and nobody else knows it.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        Ok(Epoll { fd, precise: AtomicBool::new(true) })
    }

    pub(crate) fn control(
        &self,
        change: Change,
        of: BorrowedFd<'_>,
        events: i32,
        data: u64,
    ) -> Result<(), i32> {
        let op = match change {
            Change::Add => libc::EPOLL_CTL_ADD,
            Change::Modify => libc::EPOLL_CTL_MOD,
            Change::Remove => libc::EPOLL_CTL_DEL,
        };
        let mut event = libc::epoll_event { events: events as u32, u64: data };
        // SAFETY: `event` lives through the call; both descriptors are open.
        checked(unsafe { libc::epoll_ctl(self.fd.as_raw_fd(), op, of.as_raw_fd(), &mut event) })?;
        Ok(())
    }

    /// Waits for at most `span` (for ever when `None`) and fills `events` up to its capacity.
    pub(crate) fn wait(&self, span: Option<Micros>, events: &mut Vec<libc::epoll_event>) {
        events.clear();
        // a signal, or nothing that waiting again would not tell: a turn without events
        let count = self.wait_into(span, events).unwrap_or_default();
        // SAFETY: the kernel wrote `count` events, never more than the capacity it was given.
        unsafe { events.set_len(count) };
    }

    fn wait_into(
        &self,
        span: Option<Micros>,
        events: &mut Vec<libc::epoll_event>,
    ) -> Result<usize, i32> {
        let room = libc::c_int::try_from(events.capacity()).unwrap_or(libc::c_int::MAX);
        let fd = self.fd.as_raw_fd();
        let whole_ms = span.is_none_or(|span| span.0 == 0);
        if !whole_ms && self.precise.load(Ordering::Relaxed) {
            let span = span.unwrap_or_default();
            let time = libc::timespec {
                tv_sec: (span.0 / 1_000_000) as libc::time_t,
                tv_nsec: (span.0 % 1_000_000 * 1_000) as libc::c_long,
            };
            let at = events.as_mut_ptr();
            let mask = std::ptr::null::<libc::sigset_t>();
            // SAFETY: `at` has room for `room` events, `time` lives through the call, no mask.
            let result =
                unsafe { libc::syscall(libc::SYS_epoll_pwait2, fd, at, room, &time, mask, 8) };
            match counted(libc::ssize_t::try_from(result).unwrap_or(-1)) {
                Err(libc::ENOSYS | libc::EPERM) => self.precise.store(false, Ordering::Relaxed),
                result => return result,
            }
        }
        let ms = span.map_or(-1, |span| i32::try_from(span.0.div_ceil(1_000)).unwrap_or(i32::MAX));
        // SAFETY: the pointer has room for `room` events.
        let result = unsafe { libc::epoll_wait(fd, events.as_mut_ptr(), room, ms) };
        counted(result as libc::ssize_t)
    }
}
