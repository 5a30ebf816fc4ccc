//! When the statements of statistics accounts are served. All of them together have half of the
//! interface's one thread, so that administrators wait for one statement and not for a row of them.

use std::time::Duration;

use io::{Micros, Sock};

/// The time that readers have taken, and those who wait for more.
#[derive(Default)]
pub(super) struct Readers {
    /// When what they took has passed twice.
    even_at: Micros,
    waiting: Vec<Sock>,
}

impl Readers {
    /// A packet of one took so long; `now` is when its turn of the loop began.
    pub(super) fn took(&mut self, now: Micros, span: Duration) {
        let span = u64::try_from(span.as_micros()).unwrap_or(u64::MAX);
        self.even_at = Micros(self.even_at.max(now).0.saturating_add(span.saturating_mul(2)));
    }

    /// Until when none of them is served; `None` when one may be.
    pub(super) fn wait(&self, now: Micros) -> Option<Micros> {
        let until = Micros(self.even_at.0.saturating_sub(AHEAD.0));
        (until > now).then_some(until)
    }

    /// One has to wait; whether it is the first.
    pub(super) fn put_off(&mut self, sock: Sock) -> bool {
        self.waiting.push(sock);
        self.waiting.len() == 1
    }

    /// Those who have waited, in the order in which they came.
    pub(super) fn called(&mut self) -> Vec<Sock> {
        std::mem::take(&mut self.waiting)
    }
}

/// What they may be ahead by: short statements do not wait for each other.
const AHEAD: Micros = Micros::from_ms(200);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readers_wait_as_long_as_they_took_and_short_statements_for_nothing() {
        let mut readers = Readers::default();
        let now = Micros::from_secs(100);
        for _ in 0..100 {
            readers.took(now, Duration::from_millis(1));
            assert_eq!(readers.wait(now), None);
        }
        readers.took(now, Duration::from_millis(1900));
        // 2 s were taken, and as many are others'
        assert_eq!(readers.wait(now), Some(now + Micros::from_ms(3800)));
        assert_eq!(readers.wait(now + Micros::from_ms(3799)), Some(now + Micros::from_ms(3800)));
        assert_eq!(readers.wait(now + Micros::from_ms(3800)), None);
        let [first, second] = [1, 2].map(Sock::from_raw);
        assert!(readers.put_off(first));
        assert!(!readers.put_off(second));
        assert_eq!(readers.called(), [first, second]);
        assert!(readers.put_off(first));
    }
}
