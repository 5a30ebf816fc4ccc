//! How other threads reach a loop: a bounded queue of messages and the bell beside it.
//! Deliberately knows nothing of what is mailed.

use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::lock::Lock;
use crate::sys;

/// The bell of a loop: rung from any thread, it ends the loop's wait.
#[derive(Debug)]
pub struct Waker {
    rung: AtomicBool,
    bell: Option<OwnedFd>,
}

impl Waker {
    /// A bell that is only a flag, for drivers that look before they wait.
    pub fn flag() -> Arc<Self> {
        Arc::new(Waker { rung: AtomicBool::new(false), bell: None })
    }

    /// A bell with an `eventfd`, to be watched edge-triggered by the driver.
    pub(crate) fn eventfd() -> Result<Arc<Self>, i32> {
        let bell = sys::fds::eventfd()?;
        Ok(Arc::new(Waker { rung: AtomicBool::new(false), bell: Some(bell) }))
    }

    pub(crate) fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.bell.as_ref().map(AsFd::as_fd)
    }

    /// Rings; costs a system call only when it was not rung already.
    pub fn wake(&self) {
        if !self.rung.swap(true, Ordering::AcqRel)
            && let Some(bell) = &self.bell
        {
            sys::fds::ring_eventfd(bell);
        }
    }

    /// Whether it was rung and nobody has answered.
    pub fn is_rung(&self) -> bool {
        self.rung.load(Ordering::Relaxed)
    }

    /// Answers the bell: everything posted before is seen by who calls this.
    pub(crate) fn answer(&self) -> bool {
        self.is_rung() && self.rung.swap(false, Ordering::AcqRel)
    }
}

#[derive(Debug)]
struct Queue<M> {
    mail: VecDeque<M>,
    closed: bool,
}

#[derive(Debug)]
struct Shared<M> {
    /// Whole between its calls.
    queue: Lock<Queue<M>>,
    capacity: usize,
    waker: Arc<Waker>,
}

/// The sending end of a loop's mail; cheap to clone, usable from any thread.
#[derive(Debug)]
pub struct Mailbox<M> {
    shared: Arc<Shared<M>>,
}

impl<M> Clone for Mailbox<M> {
    fn clone(&self) -> Self {
        Mailbox { shared: Arc::clone(&self.shared) }
    }
}

impl<M> Mailbox<M> {
    /// Puts a message into the loop's queue and wakes the loop. Gives the message back when the
    /// queue is full or the loop has ended.
    pub fn post(&self, mail: M) -> Result<(), M> {
        {
            let mut queue = self.shared.queue.take();
            if queue.closed || queue.mail.len() >= self.shared.capacity {
                return Err(mail);
            }
            queue.mail.push_back(mail);
        }
        self.shared.waker.wake();
        Ok(())
    }
}

impl<M> Mailbox<M> {
    /// Does so however full the queue is: for the few messages that must not be lost, such as an
    /// administrator's. Gives the message back when the loop has ended.
    pub fn insist(&self, mail: M) -> Result<(), M> {
        {
            let mut queue = self.shared.queue.take();
            if queue.closed {
                return Err(mail);
            }
            queue.mail.push_back(mail);
        }
        self.shared.waker.wake();
        Ok(())
    }
}

/// The receiving end; the loop owns it. Closes the mailbox when dropped.
#[derive(Debug)]
pub(crate) struct Inbox<M> {
    shared: Arc<Shared<M>>,
}

impl<M> Inbox<M> {
    pub(crate) fn new(capacity: usize, waker: Arc<Waker>) -> Self {
        let queue = Lock::new(Queue { mail: VecDeque::new(), closed: false });
        Inbox { shared: Arc::new(Shared { queue, capacity, waker }) }
    }

    pub(crate) fn mailbox(&self) -> Mailbox<M> {
        Mailbox { shared: Arc::clone(&self.shared) }
    }

    pub(crate) fn is_rung(&self) -> bool {
        self.shared.waker.is_rung()
    }

    /// Moves up to `count` messages into `into`; rings again when more are left.
    pub(crate) fn collect(&self, count: usize, into: &mut Vec<M>) {
        if !self.shared.waker.answer() {
            return;
        }
        let mut queue = self.shared.queue.take();
        let count = count.min(queue.mail.len());
        into.extend(queue.mail.drain(..count));
        let more = !queue.mail.is_empty();
        drop(queue);
        if more {
            self.shared.waker.wake();
        }
    }
}

impl<M> Drop for Inbox<M> {
    fn drop(&mut self) {
        let mut queue = self.shared.queue.take();
        queue.closed = true;
        let undelivered = std::mem::take(&mut queue.mail);
        drop(queue);
        drop(undelivered);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mail_arrives_in_order_and_in_portions() {
        let inbox = Inbox::new(10, Waker::flag());
        let mailbox = inbox.mailbox();
        for number in 0..5 {
            mailbox.post(number).unwrap();
        }
        let mut received = Vec::new();
        inbox.collect(3, &mut received);
        assert_eq!(received, [0, 1, 2]);
        assert!(inbox.is_rung());
        inbox.collect(3, &mut received);
        assert_eq!(received, [0, 1, 2, 3, 4]);
        assert!(!inbox.is_rung());
    }

    #[test]
    fn a_full_or_closed_mailbox_gives_the_message_back() {
        let inbox = Inbox::new(1, Waker::flag());
        let mailbox = inbox.mailbox();
        assert_eq!(mailbox.post('a'), Ok(()));
        assert_eq!(mailbox.post('b'), Err('b'));
        // what must not be lost comes behind it
        assert_eq!(mailbox.insist('i'), Ok(()));
        let mut received = Vec::new();
        inbox.collect(9, &mut received);
        assert_eq!(received, ['a', 'i']);
        assert_eq!(mailbox.post('c'), Ok(()));
        drop(inbox);
        assert_eq!((mailbox.post('d'), mailbox.insist('e')), (Err('d'), Err('e')));
    }
}
