//! Reads that no rule answers from the cache, of which a sample says what that would come to.
//!
//! Decides which reads are told to the sample, and whether the cache could answer them: as it does
//! where a rule says so. What is counted, and which are picked, is `stats::Repeats`.

use sql::{Effects, Verb};

use crate::ids::{ClientStmtId, SessionId};
use crate::proxy::Proxy;
use crate::route::Route;
use crate::session::command::cached::CachedText;
use crate::stats::{LookedAt, ReadAsked, Repeats};

impl Proxy {
    /// A text is asked that no rule has in the cache.
    #[inline]
    pub(crate) fn watch_text(&mut self, id: SessionId, asked: &CachedText<'_>, route: &Route) {
        if let Some(digest) = route.digest
            && self.query_stats.repeats.looks_at(digest)
        {
            self.look_at_text(id, asked, (route, digest));
        }
    }

    #[inline(never)]
    fn look_at_text(
        &mut self,
        id: SessionId,
        asked: &CachedText<'_>,
        (route, digest): (&Route, u64),
    ) {
        let mark = Repeats::mark(digest, asked.text);
        let Some(looked_at) = self.query_stats.repeats.look(mark) else { return };
        let Some(session) = self.sessions.get(id) else { return self.impossible(()) };
        if asked.facts.verb != Verb::Select || asked.is_cut || session.is_mirror() {
            return;
        }
        let why = match looked_at {
            LookedAt::Picked => session.never_cached_text(asked, route),
            // the same text could be answered when it was picked
            LookedAt::MaybeWatched => session.uncached(asked.reach, route),
        };
        let read = ReadAsked {
            digest,
            schema: session.want.schema.as_deref().unwrap_or_default(),
            user: session.user().as_bytes(),
            parts: [asked.text, b"text", b"", b""],
            mark,
            why: why.map(|why| why.reason()),
        };
        self.query_stats.repeats.note(self.now_us, looked_at, &read);
    }

    /// A prepared statement is executed that no rule has in the cache.
    #[inline]
    pub(crate) fn watch_execution(
        &mut self,
        id: SessionId,
        (stmt, raw, is_cut): (ClientStmtId, &[u8], bool),
        reach: Effects,
        route: &Route,
    ) {
        if let Some(digest) = route.digest
            && self.query_stats.repeats.looks_at(digest)
        {
            // what is cut tells nothing
            let raw = if is_cut { &[] } else { raw };
            self.look_at_execution(id, (stmt, raw), reach, (route, digest));
        }
    }

    #[inline(never)]
    fn look_at_execution(
        &mut self,
        id: SessionId,
        (stmt, raw): (ClientStmtId, &[u8]),
        reach: Effects,
        (route, digest): (&Route, u64),
    ) {
        let mark = Repeats::mark(digest, raw.get(VALUES_FROM..).unwrap_or_default());
        let Some(looked_at) = self.query_stats.repeats.look(mark) else { return };
        let Some(session) = self.sessions.get(id) else { return self.impossible(()) };
        let Some(handle) = session.handle(stmt) else { return self.impossible(()) };
        if handle.text.command != Verb::Select.into() || session.is_mirror() {
            return;
        }
        let values = handle.values_in(raw);
        let why = session.never_cached_execution(handle, values.is_some(), (reach, route));
        let [nulls, values] = values.unwrap_or_default();
        let read = ReadAsked {
            digest,
            // of the session, as where queries are counted
            schema: session.want.schema.as_deref().unwrap_or_default(),
            user: session.user().as_bytes(),
            parts: [&handle.text.text, &handle.types, nulls, values],
            mark,
            why: why.map(|why| why.reason()),
        };
        self.query_stats.repeats.note(self.now_us, looked_at, &read);
    }
}

/// Behind header, code and number of an execution, which are no part of what is asked.
const VALUES_FROM: usize = 9;
