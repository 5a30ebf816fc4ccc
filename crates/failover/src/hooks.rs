//! Programs around what an order changes: one without which nothing is changed, and one that is
//! told what came of it.

use keeper::Endpoint;

use crate::run::OrderRun;
use crate::switchover::Order;

/// The programs of a cluster, each with its arguments; none where there are no words.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Hooks {
    /// Runs before anything is changed; where it fails nothing is.
    pub before: Vec<String>,
    /// Runs in the end, whatever came of the order.
    pub after: Vec<String>,
}

/// What programs are told of an order.
pub(crate) struct Occasion<'a> {
    pub(crate) order: &'a Order,
    pub(crate) operation: &'static str,
    /// The server that is to be the primary, as far as that is known.
    pub(crate) new: Option<Endpoint>,
}

impl OrderRun<'_> {
    /// Runs the program that is a gate; gives whether there is one.
    pub(crate) fn before(&mut self, occasion: &Occasion<'_>) -> Result<bool, String> {
        let words = &occasion.order.hooks.before;
        if words.is_empty() {
            return Ok(false);
        }
        let done = self.clients.run_program(words, occasion.environment(None));
        self.note(&occasion.order.primary.server, BEFORE, done.clone());
        done.map(|_| true).map_err(|why| format!("{BEFORE}: {why}"))
    }

    /// Runs the program that is told what came of it.
    pub(crate) fn after(&mut self, occasion: &Occasion<'_>, is_done: bool) {
        let words = &occasion.order.hooks.after;
        if words.is_empty() {
            return;
        }
        let told = self.clients.run_program(words, occasion.environment(Some(is_done)));
        self.note(&occasion.order.primary.server, AFTER, told);
    }
}

impl Occasion<'_> {
    fn environment(&self, is_done: Option<bool>) -> Vec<(String, String)> {
        let new = self.new.as_ref().map(ToString::to_string).unwrap_or_default();
        let outcome = is_done.map(|is_done| if is_done { "done" } else { "failed" });
        let told = [
            ("TIDEGATE_WRITER_HOSTGROUP", Some(self.order.writer_hostgroup.to_string())),
            ("TIDEGATE_OPERATION", Some(self.operation.to_owned())),
            ("TIDEGATE_OLD_PRIMARY", Some(self.order.primary.server.to_string())),
            ("TIDEGATE_NEW_PRIMARY", Some(new)),
            ("TIDEGATE_OUTCOME", outcome.map(str::to_owned)),
        ];
        told.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
    }
}

/// Names of the steps, which are those of the columns.
const BEFORE: &str = "before_program";
const AFTER: &str = "after_program";
