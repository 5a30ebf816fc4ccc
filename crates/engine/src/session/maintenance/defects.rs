//! What cannot happen: a call is about a session or lane that has to be there, and is not.
//!
//! Builds with assertions stop at the place. Others end the call, count it, and tell the place in
//! the log, once a second at most.

use std::cell::Cell;
use std::panic::Location;

use crate::proxy::Proxy;
use crate::report::LogEvent;

/// What cannot happen and did, since it was told last.
#[derive(Default)]
pub(crate) struct Defects(Cell<Option<(u64, &'static Location<'static>)>>);

impl Proxy {
    /// Ends a call with `result` whose session or lane is not there, though it has to be.
    #[cold]
    #[inline(never)]
    #[track_caller]
    pub(crate) fn impossible<R>(&self, result: R) -> R {
        let place = Location::caller();
        debug_assert!(false, "{place}: the session or lane that this is about is not there");
        let count = self.defects.0.get().map_or(0, |(count, _)| count);
        self.defects.0.set(Some((count + 1, place)));
        result
    }

    /// Counts and tells what could not happen.
    pub(crate) fn report_defects(&mut self) {
        if let Some((count, place)) = self.defects.0.take() {
            self.stats.defects += count;
            self.orders.report(LogEvent::Defect { place, count });
        }
    }
}
