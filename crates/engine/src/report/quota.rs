//! How many lines a minute a log takes of what strangers do. Further lines are counted, so that
//! guesses of passwords do not fill a disk, and nothing goes untold.

/// The lines of one minute after the other.
#[derive(Default)]
pub struct Quota {
    minute: u64,
    lines: u64,
    untold: u64,
}

impl Quota {
    /// Whether a line is to be written now; if not, it is counted.
    pub fn admits(&mut self, now_us: u64) -> bool {
        let minute = now_us / MINUTE_US;
        if minute != self.minute {
            (self.minute, self.lines) = (minute, 0);
        }
        self.lines += 1;
        let admitted = self.lines <= LINES_MAX;
        self.untold += u64::from(!admitted);
        admitted
    }

    /// How many lines were not written in a minute that is over, once.
    pub fn take_untold(&mut self, now_us: u64) -> Option<u64> {
        let is_over = now_us / MINUTE_US != self.minute;
        (is_over && self.untold > 0).then(|| std::mem::take(&mut self.untold))
    }
}

const MINUTE_US: u64 = 60_000_000;

/// In a minute.
const LINES_MAX: u64 = 60;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_minute_has_so_many_lines_and_the_rest_is_told_as_a_number_once() {
        let mut quota = Quota::default();
        let written = (0..1000).filter(|at| quota.admits(MINUTE_US + at * 1000)).count();
        assert_eq!(written, 60);
        assert_eq!(quota.take_untold(2 * MINUTE_US - 1), None);
        assert_eq!(quota.take_untold(2 * MINUTE_US), Some(940));
        assert_eq!(quota.take_untold(2 * MINUTE_US), None);
        assert!(quota.admits(2 * MINUTE_US));
        // nothing is lost where nobody looked in between
        assert_eq!((0..100).filter(|_| quota.admits(3 * MINUTE_US)).count(), 60);
        assert_eq!((0..100).filter(|_| quota.admits(4 * MINUTE_US)).count(), 60);
        assert_eq!(quota.take_untold(5 * MINUTE_US), Some(80));
    }
}
