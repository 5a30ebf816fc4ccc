//! The ring itself: operations in, completions out. Deliberately knows sockets only as
//! descriptors and tokens, and keeps no state of them.
//!
//! The only operations used are such that touch no memory of ours but the provided blocks, which
//! live as long as the ring.

use std::io;
use std::os::fd::RawFd;

use io_uring::types::{Fd, SubmitArgs, Timespec};
use io_uring::{IoUring, cqueue, opcode, squeue};

use super::blocks::{Block, Blocks};
use crate::micros::Micros;

const SUBMISSIONS: u32 = 256;
const COMPLETIONS: u32 = 4096;
/// How long a ring may take to let go of everything when it is dropped.
const END_SPAN: Micros = Micros::from_ms(100);
const END_ROUNDS_MAX: usize = 100;

/// What an operation ended with or reports meanwhile.
#[derive(Debug)]
pub(crate) struct Completion {
    pub(crate) token: u64,
    /// A count or descriptor, or a negative error number.
    pub(crate) result: i32,
    /// The operation goes on.
    pub(crate) more: bool,
    pub(crate) block: Option<Block>,
}

/// A ring and the blocks it receives into.
pub(crate) struct Ring {
    /// Emptied only by `drop`, when the kernel may still use the blocks.
    blocks: Option<Blocks>,
    ring: IoUring,
    /// Rings of one submitter start disabled and belong to the thread that first waits.
    enabled: bool,
    /// Operations whose last completion has not come.
    outstanding: usize,
}

fn errno_of(error: &io::Error) -> i32 {
    error.raw_os_error().unwrap_or(libc::EIO)
}

impl Ring {
    pub(crate) fn new() -> Result<Self, i32> {
        let ring = Self::build().map_err(|error| errno_of(&error))?;
        let params = ring.params();
        if !params.is_feature_ext_arg() || !params.is_feature_nodrop() {
            return Err(libc::ENOSYS);
        }
        let blocks = Blocks::new(&ring)?;
        let enabled = !params.is_setup_single_issuer();
        Ok(Ring { blocks: Some(blocks), ring, enabled, outstanding: 0 })
    }

    fn build() -> io::Result<IoUring> {
        let deferred = IoUring::builder()
            .setup_r_disabled()
            .setup_single_issuer()
            .setup_defer_taskrun()
            .setup_submit_all()
            .setup_cqsize(COMPLETIONS)
            .build(SUBMISSIONS);
        match deferred {
            // kernels before 6.1 know less
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {
                IoUring::builder().setup_cqsize(COMPLETIONS).build(SUBMISSIONS)
            }
            result => result,
        }
    }

    /// Receives into the blocks until cancelled, failed, or out of blocks.
    pub(crate) fn recv(&mut self, fd: RawFd, token: u64) {
        self.push(opcode::RecvMulti::new(Fd(fd), Blocks::GROUP).build(), token);
    }

    /// Accepts until cancelled or failed.
    pub(crate) fn accept(&mut self, fd: RawFd, token: u64) {
        let flags = libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
        self.push(opcode::AcceptMulti::new(Fd(fd)).flags(flags).build(), token);
    }

    /// Completes once when the socket can be written to, or is broken.
    pub(crate) fn writable(&mut self, fd: RawFd, token: u64) {
        self.push(opcode::PollAdd::new(Fd(fd), libc::POLLOUT as u32).build(), token);
    }

    /// Completes each time the bell is rung.
    pub(crate) fn bell(&mut self, fd: RawFd, token: u64) {
        self.push(opcode::PollAdd::new(Fd(fd), libc::POLLIN as u32).multi(true).build(), token);
    }

    /// Ends the operation called `target`; it completes once more.
    pub(crate) fn cancel(&mut self, target: u64, token: u64) {
        self.push(opcode::AsyncCancel::new(target).build(), token);
    }

    fn push(&mut self, entry: squeue::Entry, token: u64) {
        let entry = entry.user_data(token);
        self.outstanding += 1;
        loop {
            // SAFETY: none of the operations above points to memory of ours; receives write into
            // the registered blocks, which are freed only after the last completion.
            if unsafe { self.ring.submission().push(&entry) }.is_ok() {
                return;
            }
            self.enable();
            if self.ring.submit().is_err() {
                // completions are waiting; without them taken nothing can be submitted, and the
                // next wait takes them
                debug_assert!(false, "the submission queue stays full");
                self.outstanding -= 1;
                return;
            }
        }
    }

    fn enable(&mut self) {
        if !self.enabled {
            self.enabled = self.ring.submitter().register_enable_rings().is_ok();
        }
    }

    /// Submits everything and waits for a completion, for at most `span` (for ever when `None`).
    pub(crate) fn wait(&mut self, span: Option<Micros>) {
        self.enable();
        // a signal, the end of the span, a full completion queue: the next turn goes on from there
        let _ = match span {
            None => self.ring.submit_and_wait(1),
            Some(span) => {
                let secs = span.0 / 1_000_000;
                let nanos = (span.0 % 1_000_000 * 1_000) as u32;
                let span = Timespec::new().sec(secs).nsec(nanos);
                let args = SubmitArgs::new().timespec(&span);
                self.ring.submitter().submit_with_args(1, &args)
            }
        };
    }

    /// Takes the next completion.
    pub(crate) fn next(&mut self) -> Option<Completion> {
        let entry = self.ring.completion().next()?;
        let more = cqueue::more(entry.flags());
        if !more {
            self.outstanding -= 1;
        }
        let filled = usize::try_from(entry.result()).unwrap_or(0);
        let block = cqueue::buffer_select(entry.flags())
            .and_then(|id| self.blocks.as_mut()?.take(id, filled));
        Some(Completion { token: entry.user_data(), result: entry.result(), more, block })
    }

    /// How many blocks the kernel may receive into.
    pub(crate) fn blocks_free(&self) -> usize {
        self.blocks.as_ref().map_or(0, Blocks::free)
    }

    /// Lets the kernel receive into a block again.
    pub(crate) fn give(&mut self, block: Block) {
        if let Some(blocks) = &mut self.blocks {
            blocks.give(block);
        }
    }

    /// Ends all operations, so that the kernel lets go of the blocks.
    pub(super) fn end_all(&mut self, token: u64) -> bool {
        if !self.enabled {
            // nothing was ever submitted
            return true;
        }
        let any = io_uring::types::CancelBuilder::any();
        self.push(opcode::AsyncCancel2::new(any).build(), token);
        for _ in 0..END_ROUNDS_MAX {
            self.wait(Some(END_SPAN));
            while self.next().is_some() {}
            if self.outstanding == 0 {
                return true;
            }
        }
        false
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        if !self.end_all(u64::MAX) {
            // better lose the memory than have the kernel write into somebody else's
            std::mem::forget(self.blocks.take());
        }
    }
}

impl std::fmt::Debug for Ring {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ring").field("outstanding", &self.outstanding).finish_non_exhaustive()
    }
}
