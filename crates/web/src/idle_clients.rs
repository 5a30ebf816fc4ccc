//! Connections that wait for a request or its body, in the order in which they began to.
//!
//! To connect and say nothing costs a client nothing. So where there are too many, the clients that
//! wait longest give way: a client with something to ask finds a place.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// All of them.
#[derive(Clone, Default)]
pub(crate) struct Waiting {
    queue: Arc<Mutex<Queue>>,
}

#[derive(Default)]
struct Queue {
    places: VecDeque<Arc<Notify>>,
    /// Places that are wanted while nobody waits: the next ones are given.
    wanted: usize,
}

/// One connection; it waits from the beginning.
pub(crate) struct IdleClient {
    gives_way: Arc<Notify>,
    of: Waiting,
}

impl Waiting {
    /// A connection that has just come.
    pub(crate) fn enter(&self) -> IdleClient {
        let place = IdleClient { gives_way: Arc::default(), of: self.clone() };
        self.queue().places.push_back(place.gives_way.clone());
        place
    }

    /// Lets the one go that waits longest, or the first that will wait.
    pub(crate) fn let_one_go(&self) {
        let mut queue = self.queue();
        match queue.places.pop_front() {
            Some(place) => place.notify_one(),
            None => queue.wanted += 1,
        }
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        // it is whole between two calls, whatever happened to a thread
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl IdleClient {
    /// A request has come as a whole, and is worked on.
    pub(crate) fn is_busy(&self) {
        self.of.queue().places.retain(|other| !Arc::ptr_eq(other, &self.gives_way));
    }

    /// It has its answer, and waits for a request as the last of all; `false` when it has to go
    /// instead, with that answer.
    #[must_use]
    pub(crate) fn may_wait(&self) -> bool {
        self.is_busy();
        let mut queue = self.of.queue();
        if queue.wanted > 0 {
            queue.wanted -= 1;
            return false;
        }
        queue.places.push_back(self.gives_way.clone());
        true
    }

    /// Ends when the connection has to give way.
    pub(crate) async fn must_go(&self) {
        self.gives_way.notified().await;
    }
}

impl Drop for IdleClient {
    fn drop(&mut self) {
        self.is_busy();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Which of these have to go by now.
    async fn gone(places: &[&IdleClient]) -> Vec<usize> {
        let mut gone = Vec::new();
        for (at, place) in places.iter().enumerate() {
            tokio::select! {
                biased;
                () = place.must_go() => gone.push(at),
                () = std::future::ready(()) => {}
            }
        }
        gone
    }

    #[tokio::test]
    async fn the_one_that_waits_longest_goes_and_who_has_asked_does_not() {
        let waiting = Waiting::default();
        let [a, b, c] = [(); 3].map(|()| waiting.enter());
        a.is_busy();
        waiting.let_one_go();
        assert_eq!(gone(&[&a, &b, &c]).await, [1]);
        assert!(a.may_wait());
        waiting.let_one_go();
        assert_eq!(gone(&[&a, &b, &c]).await, [2]);
        drop(a);
        assert!(waiting.queue().places.is_empty(), "who is gone waits no more");
    }

    #[tokio::test]
    async fn where_nobody_waits_the_next_one_that_would_goes_with_its_answer() {
        let waiting = Waiting::default();
        let [a, b] = [(); 2].map(|()| waiting.enter());
        a.is_busy();
        b.is_busy();
        waiting.let_one_go();
        assert_eq!(gone(&[&a, &b]).await, [0; 0]);
        assert!(!b.may_wait());
        assert!(a.may_wait());
    }
}
