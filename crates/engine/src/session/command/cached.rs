//! Commands that are answered from the query cache.
//!
//! Decides which may be, and tells the answer. How an answer gets there is `replying::filling`.

use std::sync::Arc;

use cache::{Allowed, CachedReply, Fill, Followed, Lookup, SoughtKey};
use sql::{Access, Effects, Facts, Modes, Verb};
use wire::Status;

use crate::caching::{
    Asker, Question, Uncached, is_plain_read, reads_of_server, says_how_fresh, varies, write_key,
};
use crate::ids::{ClientStmtId, HostgroupId, SessionId};
use crate::link::LinkState;
use crate::orders::End;
use crate::proxy::Proxy;
use crate::route::Route;
use crate::session::Session;
use crate::session::prepared::handles::Handle;
use crate::session::replying::filling::Filling;
use crate::session::replying::query_end::QueryRows;
use crate::stats::CacheRow;
use crate::stmt::Text;

/// What a look into the cache came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum FromCache {
    /// The client was told what was there.
    Told,
    /// It was not; whether what the server says is to be kept.
    NotTold { fills: bool },
}

/// What most keys need no more of; whoever asks with a longer one waits for nobody.
const KEY_BYTES_KEPT: usize = 1 << 14;

const UNASKED: FromCache = FromCache::NotTold { fills: false };

/// A text, for the cache.
#[derive(Clone, Copy)]
pub(crate) struct CachedText<'a> {
    pub text: &'a [u8],
    pub modes: Modes,
    /// What it does by itself.
    pub facts: &'a Facts,
    /// What the stored code does that it reaches.
    pub reach: Effects,
    /// Only its beginning is there.
    pub is_cut: bool,
}

impl Proxy {
    /// Answers a text from the cache, if its rules have it there.
    #[inline]
    pub(crate) fn text_from_cache(
        &mut self,
        id: SessionId,
        asked: &CachedText<'_>,
        route: &Route,
    ) -> FromCache {
        match route.caching.shared_for_ms().filter(|_| !asked.is_cut) {
            None => {
                self.watch_text(id, asked, route);
                UNASKED
            }
            Some(ttl_ms) => self.look_for_text(id, asked, (route, ttl_ms)),
        }
    }

    #[inline(never)]
    fn look_for_text(
        &mut self,
        id: SessionId,
        asked: &CachedText<'_>,
        (route, ttl_ms): (&Route, u32),
    ) -> FromCache {
        let Some(session) = self.sessions.get(id) else { return self.impossible(FromCache::Told) };
        let why = session.uncached_text(asked, route);
        let varies = |want: &LinkState| varies(asked.text, asked.modes, want.schema.as_deref());
        self.look(id, &Question::Text(asked.text), (route, ttl_ms, why), varies)
    }

    /// The same for the execution of a prepared statement.
    #[inline]
    pub(crate) fn execution_from_cache(
        &mut self,
        id: SessionId,
        (stmt, raw, is_cut): (ClientStmtId, &[u8], bool),
        reach: Effects,
        route: &Route,
    ) -> FromCache {
        match route.caching.shared_for_ms().filter(|_| !is_cut) {
            None => {
                self.watch_execution(id, (stmt, raw, is_cut), reach, route);
                UNASKED
            }
            Some(ttl_ms) => self.look_for_execution(id, (stmt, raw), reach, (route, ttl_ms)),
        }
    }

    #[inline(never)]
    fn look_for_execution(
        &mut self,
        id: SessionId,
        (stmt, raw): (ClientStmtId, &[u8]),
        reach: Effects,
        (route, ttl_ms): (&Route, u32),
    ) -> FromCache {
        let Some(session) = self.sessions.get(id) else { return self.impossible(FromCache::Told) };
        let Some(handle) = session.handle(stmt) else { return self.impossible(FromCache::Told) };
        let (text, types) = (handle.text.clone(), handle.types.clone());
        let values = handle.values_in(raw);
        let why = session.uncached_execution(handle, values.is_some(), (reach, route));
        let values = values.unwrap_or_default();
        let question = Question::Execution { text: &text, types: &types, values };
        self.look(id, &question, (route, ttl_ms, why), |want| execution_varies(&text, want))
    }

    /// Looks for the answer to a question, unless there is a reason not to. Whether it `varies` is
    /// asked where there is none: what does has never been kept.
    fn look(
        &mut self,
        id: SessionId,
        question: &Question<'_>,
        (route, ttl_ms, why): (&Route, u32, Option<Uncached>),
        varies: impl FnOnce(&LinkState) -> bool,
    ) -> FromCache {
        let Some(session) = self.sessions.get(id) else { return self.impossible(FromCache::Told) };
        let coalesces = route.caching.coalesce != Some(false)
            && route.delay_ms == 0
            && self.snapshot.vars.query_cache_coalesce_wait_ms > 0;
        let is_idle = ttl_ms == 0 && !coalesces;
        if is_idle || !self.offer.cache.is_on() || session.is_mirror() {
            return UNASKED;
        }
        let followed = match why {
            Some(why) => Err(why),
            None if ttl_ms == 0 => Ok(None),
            None => self.invalidated_by(id, route),
        };
        let followed = match followed {
            Ok(followed) => followed,
            Err(why) => {
                self.note_uncached(id, why);
                return UNASKED;
            }
        };
        let from_us = followed.as_ref().map_or(0, |followed| self.seen_until_us(id, followed));
        let Some(session) = self.sessions.get(id) else { return self.impossible(FromCache::Told) };
        let told = |hostgroup| self.snapshot.hostgroups.proxy_protocol(hostgroup).is_some();
        let Some(asker) = session.asker(route.destination, told) else {
            return self.impossible(UNASKED);
        };
        let mut key = std::mem::take(&mut self.cache_key);
        key.clear();
        write_key(&mut key, &asker, question);
        let allowed = self.allowed(ttl_ms, followed.is_some(), from_us);
        let sought = self.offer.cache.sought(&key);
        let found = match allowed.lives_us {
            0 => Lookup::Nothing,
            _ => self.offer.cache.find(sought, allowed),
        };
        let outcome = match found {
            Lookup::Answer(answer) => {
                self.stats.cache_lookups += 1;
                self.note_hit(id);
                self.tell_cached(id, answer);
                FromCache::Told
            }
            Lookup::Nothing if varies(asker.want) => {
                self.note_uncached(id, Uncached::Varies);
                UNASKED
            }
            Lookup::Late(_) | Lookup::Changed | Lookup::Nothing => {
                if allowed.lives_us > 0 {
                    self.stats.cache_lookups += 1;
                    self.note_miss(id, &found);
                }
                match self.filling_of(sought, allowed, (id, question, followed), route) {
                    None => UNASKED,
                    Some(filling) => self.ask_for(id, filling, found, coalesces),
                }
            }
        };
        key.shrink_to(KEY_BYTES_KEPT);
        self.cache_key = key;
        outcome
    }

    /// How old an answer may be.
    fn allowed(&self, ttl_ms: u32, unchanged: bool, from_us: u64) -> Allowed {
        Allowed {
            now_us: self.now_us,
            lives_us: u64::from(ttl_ms) * 1000,
            soft_pct: self.snapshot.vars.query_cache_soft_ttl_pct,
            unchanged,
            from_us,
        }
    }

    /// What is to be kept of what the server says to a question, unless there is a reason not to.
    fn filling_of(
        &mut self,
        key: SoughtKey<'_>,
        allowed: Allowed,
        (id, question, followed): (SessionId, &Question<'_>, Option<Arc<Followed>>),
        route: &Route,
    ) -> Option<Box<Filling>> {
        if key.bytes().len() as u64 > self.cached_bytes_max() {
            self.stats.unkept_large += 1;
            return None;
        }
        let basis = match followed.map(|followed| self.basis(id, question, &followed)) {
            Some(Err(why)) => {
                self.note_uncached(id, why);
                return None;
            }
            noted => noted.and_then(Result::ok),
        };
        let begun = (key.to_key(), Fill::new(&self.offer.cache));
        let stale_us = u64::from(route.caching.serve_stale_ms) * 1000;
        Some(Filling::new(begun, (allowed, stale_us, basis), route.caching.empty_result))
    }

    /// A question is to be sent that nothing may be told to, or that is to be asked anew; with
    /// others who ask the same, where it `coalesces`.
    fn ask_for(
        &mut self,
        id: SessionId,
        mut filling: Box<Filling>,
        found: Lookup,
        coalesces: bool,
    ) -> FromCache {
        filling.renewal = match found {
            Lookup::Late(renewal) => Some(renewal),
            Lookup::Answer(_) | Lookup::Changed | Lookup::Nothing => None,
        };
        let looks_again = filling.renewal.is_none();
        let coalesces = coalesces && filling.key.bytes().len() <= KEY_BYTES_KEPT;
        self.begin_filling(id, filling);
        match coalesces && self.ask_with_others(id, looks_again) {
            true => FromCache::Told,
            false => FromCache::NotTold { fills: true },
        }
    }

    /// Counts a statement that has nothing to do with the cache, though a rule says otherwise.
    fn note_uncached(&mut self, id: SessionId, why: Uncached) {
        *why.counter(&mut self.stats) += 1;
        self.note_cached(id, |row| row.note_reason(why.name()));
    }

    /// Counts a statement that is answered by what was there.
    pub(crate) fn note_hit(&mut self, id: SessionId) {
        self.stats.cache_hits += 1;
        self.note_cached(id, |row| row.hits += 1);
    }

    /// Counts a statement that was looked for and not found.
    fn note_miss(&mut self, id: SessionId, found: &Lookup) {
        let ended = u64::from(matches!(found, Lookup::Changed));
        self.note_cached(id, |row| {
            row.misses += 1;
            row.invalidations += ended;
        });
    }

    /// Counts something of the cache under the digest of the statement at hand.
    pub(crate) fn note_cached(&mut self, id: SessionId, note: impl FnOnce(&mut CacheRow)) {
        let Some(session) = self.sessions.get(id) else { return self.impossible(()) };
        let (digest, text) = session.serving.asked.digest_and_text();
        note(self.query_stats.cached.row(digest, text));
    }

    /// Tells a client what is in the cache, as the server told it.
    pub(crate) fn tell_cached(&mut self, id: SessionId, answer: Arc<CachedReply>) {
        let Some(session) = self.sessions.get_mut(id) else { return self.impossible(()) };
        (session.last.row_count, session.last.found_rows) = (-1, answer.about.rows);
        session.last.told = Status(answer.about.status);
        let bytes = answer.reply.len() as u64;
        self.stats.cache_bytes_told += bytes;
        self.note_cached(id, |row| row.bytes_told += bytes);
        self.count(id, true);
        let rows = QueryRows { sent: answer.about.rows, ..QueryRows::default() };
        self.tell_end(id, None, rows);
        self.orders.send_cached(End::Client(id), answer);
    }
}

/// Whether an execution may give something else though no data has changed.
fn execution_varies(text: &Text, want: &LinkState) -> bool {
    let schema = text.schema(want).map(|schema| &**schema);
    text.varies || reads_of_server(&text.text, text.state.modes(), schema)
}

impl Session {
    /// Why a text of it has nothing to do with the cache, but that it varies.
    fn uncached_text(&self, asked: &CachedText<'_>, route: &Route) -> Option<Uncached> {
        match is_plain_read(asked.facts) {
            false => Some(Uncached::Statement),
            true => self.uncached(asked.reach, route),
        }
    }

    /// The same, and whether it varies.
    pub(crate) fn never_cached_text(
        &self,
        asked: &CachedText<'_>,
        route: &Route,
    ) -> Option<Uncached> {
        let varies = || varies(asked.text, asked.modes, self.want.schema.as_deref());
        self.uncached_text(asked, route).or_else(|| varies().then_some(Uncached::Varies))
    }

    /// Why an execution of it has nothing to do with the cache, but that it varies; whether its
    /// values are plain.
    fn uncached_execution(
        &self,
        handle: &Handle,
        is_plain: bool,
        (reach, route): (Effects, &Route),
    ) -> Option<Uncached> {
        let text = &handle.text;
        let is_read = text.command == Verb::Select.into()
            && text.access == Access::Reads
            && text.effects.is_empty();
        match is_plain {
            _ if !is_read => Some(Uncached::Statement),
            false => Some(Uncached::Execution),
            true => self.uncached(reach, route),
        }
    }

    /// The same, and whether it varies.
    pub(crate) fn never_cached_execution(
        &self,
        handle: &Handle,
        is_plain: bool,
        (reach, route): (Effects, &Route),
    ) -> Option<Uncached> {
        let varies = || execution_varies(&handle.text, &self.want);
        let why = self.uncached_execution(handle, is_plain, (reach, route));
        why.or_else(|| varies().then_some(Uncached::Varies))
    }

    /// Why a read of it has nothing to do with the cache, as far as its text does not matter.
    pub(crate) fn uncached(&self, reach: Effects, route: &Route) -> Option<Uncached> {
        let is_seen = self.account.as_ref().is_some_and(|account| account.unproved == 0);
        let is_plain = self.held.is_empty() && self.want.autocommit && self.last.recall.is_none();
        let settings = self.want.settings.as_ref();
        // what is taken back was never there
        let is_unsure = settings.is_some_and(|settings| settings.reads_uncommitted());
        if !is_seen || !is_plain || is_unsure {
            Some(Uncached::Session)
        } else if !reach.without(Effects::VARIES).is_empty() {
            Some(Uncached::Code)
        } else if says_how_fresh(route) {
            Some(Uncached::Freshness)
        } else if reach.intersects(Effects::VARIES) {
            Some(Uncached::Varies)
        } else {
            None
        }
    }

    /// The asker of a session, if it has logged in; servers of some hostgroups are `told` of
    /// clients.
    fn asker(
        &self,
        destination: Option<HostgroupId>,
        told: impl FnOnce(HostgroupId) -> bool,
    ) -> Option<Asker<'_>> {
        let account = self.account.as_ref()?;
        let hostgroup = destination.unwrap_or(account.default_hostgroup);
        Some(Asker {
            hostgroup,
            client: told(hostgroup).then_some(&*self.client.addr),
            account: account.name_at_servers.as_ref().unwrap_or(&account.name),
            class: self.class,
            want: &self.want,
        })
    }
}
