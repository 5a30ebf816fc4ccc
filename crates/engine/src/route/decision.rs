//! What was decided about the executions of a prepared statement: it stands while all that it was
//! decided by is the same.

use std::sync::Arc;

use super::{Query, QueryProcessor, Route};
use crate::rules::{Observer, RuleStep};
use crate::snapshot::Snapshot;

/// What was decided about an execution of a session's prepared statement.
///
/// Whose it is, its text and its digest do not change as long as the statement is there.
#[derive(Debug)]
pub struct Decision {
    route: Route,
    /// Places of the rules that matched.
    matched: Box<[u32]>,
    schema: Option<Arc<[u8]>>,
    flag_in: u32,
    /// How many configurations had come into force.
    configurations: u64,
}

impl Decision {
    /// Bytes of memory that it holds.
    pub fn bytes(&self) -> usize {
        size_of::<Self>() + size_of_val(&*self.matched)
    }

    /// Whether `schema` is the very one that it was decided by.
    fn is_of(&self, schema: Option<&Arc<[u8]>>) -> bool {
        match (&self.schema, schema) {
            (None, None) => true,
            (Some(was), Some(is)) => Arc::ptr_eq(was, is),
            _ => false,
        }
    }
}

impl QueryProcessor {
    /// Decides about an execution as [`Self::route`] does. With it comes what is decided about
    /// every further one: nothing where chance has a part in it, or the modes in which servers
    /// read its text.
    pub fn decide(
        &mut self,
        snapshot: &Snapshot,
        query: &Query<'_>,
        schema: Option<&Arc<[u8]>>,
    ) -> (Route, Option<Box<Decision>>) {
        let mut matched = std::mem::take(&mut self.matched);
        matched.places.clear();
        matched.by_chance = false;
        let route = self.route_timed(snapshot, query, &mut matched);
        let has_digest = query.digest.is_some() || route.digest.is_none();
        let stands = has_digest && !matched.by_chance && !snapshot.rules.may_answer(query.username);
        let decision = stands.then(|| {
            Box::new(Decision {
                route: route.clone(),
                matched: matched.places.as_slice().into(),
                schema: schema.cloned(),
                flag_in: query.flag_in,
                configurations: self.configurations,
            })
        });
        self.matched = matched;
        (route, decision)
    }

    /// What was decided before, if it still stands; the rules that matched have matched again.
    #[inline]
    pub fn decided(
        &mut self,
        decision: &Decision,
        schema: Option<&Arc<[u8]>>,
        flag_in: u32,
    ) -> Option<Route> {
        let stands = decision.configurations == self.configurations
            && decision.flag_in == flag_in
            && decision.is_of(schema);
        if !stands {
            return None;
        }
        self.rules.count_hits(&decision.matched);
        Some(decision.route.clone())
    }
}

/// Which rules matched.
#[derive(Default)]
pub(super) struct Matched {
    places: Vec<u32>,
    /// One of them goes on by chance.
    by_chance: bool,
}

impl Observer for Matched {
    const WATCHES: bool = false;

    fn on_rule(&mut self, _: &RuleStep<'_>) {}

    fn on_match(&mut self, place: u32, by_chance: bool) {
        self.places.push(place);
        self.by_chance |= by_chance;
    }
}
