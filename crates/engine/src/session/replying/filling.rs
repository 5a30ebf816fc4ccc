//! Replies that are kept for the query cache while they go to their client.
//!
//! Decides which of them are kept, by how they end. Which statements may be asked of the cache is
//! decided before, in `command::cached`; how long bytes stay is the store's.

use std::sync::Arc;

use cache::{
    About, Allowed, Basis, CacheKey, CachedReply, Fill, Keeping, Landing, Lead, Renewal, Wait,
};
use wire::Status;
use wire::result::End as ReplyEnd;

use crate::caching::server_key;
use crate::ids::SessionId;
use crate::proxy::Proxy;
use crate::session::Running;
use crate::session::replying::reply::Outcome;
use crate::stats::Counters;
use crate::topology::ServerRef;

/// A reply that is to be kept, or told to others who wait for it.
pub(crate) struct Filling {
    pub key: CacheKey,
    /// How often the cache was flushed before it was asked for.
    pub flushes: u64,
    /// What has come of it, or why no more is held.
    reply: Result<Fill, Unkept>,
    /// How old an answer may be.
    allowed: Allowed,
    /// How much longer it may be told where no server can answer, in microseconds.
    pub stale_us: u64,
    /// What it rests on, where it ends with a change of that.
    basis: Option<Basis>,
    /// Also if it has no row.
    empty_too: bool,
    /// Somebody can be told, now or later.
    pub copies: bool,
    /// Others may wait for it.
    pub lead: Option<Lead>,
    /// What is waited for before it is asked for, or told in its place.
    pub awaited: Option<Wait>,
    /// It takes the place of another answer, as long as this is here.
    pub renewal: Option<Renewal>,
}

/// Why a reply is not kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Unkept {
    /// What it reads changed meanwhile.
    Changed,
    /// It takes too many bytes.
    Large,
    /// Others on their way take too many.
    Room,
    /// It has no row.
    Empty,
    /// There are warnings behind it.
    Warnings,
    /// It is an error, no result or several, or tells of a change.
    Other,
}

impl Unkept {
    /// What it is called where it is told.
    fn name(self) -> &'static str {
        match self {
            Self::Changed => "changed",
            Self::Large => "large",
            Self::Room => "room",
            Self::Empty => "empty",
            Self::Warnings => "warnings",
            Self::Other => "other",
        }
    }

    /// Where it is counted.
    fn counter(self, stats: &mut Counters) -> &mut u64 {
        match self {
            Self::Changed => &mut stats.unkept_changed,
            Self::Large => &mut stats.unkept_large,
            Self::Room => &mut stats.unkept_room,
            Self::Empty => &mut stats.unkept_empty,
            Self::Warnings => &mut stats.unkept_warnings,
            Self::Other => &mut stats.unkept_other,
        }
    }
}

/// Flags behind a read that left nothing.
const OF_ANY_READ: Status = Status(
    Status::AUTOCOMMIT.0
        | Status::NO_GOOD_INDEX_USED.0
        | Status::NO_INDEX_USED.0
        | Status::NO_BACKSLASH_ESCAPES.0
        | Status::QUERY_WAS_SLOW.0
        | Status::ANSI_QUOTES.0,
);

impl Filling {
    /// One of which nothing has come, that nobody waits for.
    pub(crate) fn new(
        (key, reply): (CacheKey, Fill),
        (allowed, stale_us, basis): (Allowed, u64, Option<Basis>),
        empty_too: bool,
    ) -> Box<Self> {
        let (flushes, copies, reply) = (0, true, Ok(reply));
        let (lead, awaited, renewal) = (None, None, None);
        Box::new(Self {
            key,
            flushes,
            reply,
            allowed,
            stale_us,
            basis,
            empty_too,
            copies,
            lead,
            awaited,
            renewal,
        })
    }

    /// Its statement runs beside another one of the same question: of the two the one that is sent
    /// later may be answered with what is older. So it is not kept where that is not allowed.
    pub(crate) fn run_beside_others(&mut self) {
        self.copies &= self.basis.is_none();
    }

    /// How long it is kept, in microseconds; 0 for not at all.
    pub(crate) fn lives_us(&self) -> u64 {
        self.allowed.lives_us
    }

    /// How old an answer may be that is told now.
    pub(crate) fn allowed(&self, now_us: u64) -> Allowed {
        Allowed { now_us, ..self.allowed }
    }

    /// Whether others wait for what has come so far, and comes.
    pub(crate) fn is_awaited(&self) -> bool {
        self.reply.is_ok() && self.lead.as_ref().is_some_and(Lead::is_awaited)
    }

    /// Adds a part; why nothing of it is held any more, where that is so from now on.
    fn add(&mut self, part: &[u8], most: u64) -> Option<Unkept> {
        let Ok(reply) = &mut self.reply else { return None };
        let bytes = u64::try_from(self.key.bytes().len() + reply.len() + part.len());
        let why = match bytes {
            Ok(bytes) if bytes > most => Unkept::Large,
            Ok(_) if reply.add(part) => return None,
            Ok(_) => Unkept::Room,
            Err(_) => Unkept::Large,
        };
        self.reply = Err(why);
        Some(why)
    }

    /// Why what has come with this end is not kept.
    fn unkept(
        &mut self,
        end: &ReplyEnd,
        with_warnings: bool,
        server: Option<&ServerRef>,
    ) -> Option<Unkept> {
        let is_plain = end.resultsets == 1
            && !end.several
            && end.track.is_none()
            && end.status.contains(Status::AUTOCOMMIT)
            && end.status.without(OF_ANY_READ) == Status::NONE;
        if let Err(why) = self.reply {
            Some(why)
        } else if !is_plain {
            Some(Unkept::Other)
        } else if end.warnings > 0 && !(with_warnings && self.clear_warnings()) {
            Some(Unkept::Warnings)
        } else if end.rows == 0 && !self.empty_too {
            Some(Unkept::Empty)
        } else if self.basis.as_ref().is_some_and(|basis| !is_current(basis, server)) {
            Some(Unkept::Changed)
        } else {
            None
        }
    }

    /// Has its end tell of no warnings; `false` where it is none of the one form that has nothing
    /// to tell of them behind its columns as well.
    fn clear_warnings(&mut self) -> bool {
        let Ok(reply) = &mut self.reply else { return false };
        let of_ok = reply.bytes_mut().last_chunk_mut::<11>().filter(|end| end[..3] == [7, 0, 0]);
        match of_ok {
            Some([_, _, _, _, 0xfe, 0, 0, _, _, warnings @ ..]) => {
                warnings.fill(0);
                true
            }
            _ => false,
        }
    }
}

/// Whether an answer of a server tells of all changes so far, and will be known not to.
fn is_current(basis: &Basis, server: Option<&ServerRef>) -> bool {
    let key = |server: &ServerRef| server_key(&server.hostname, server.port);
    server.is_some_and(|server| basis.is_current_at(key(server)))
}

impl Proxy {
    /// The largest answer that may be kept, with its key, in bytes.
    pub(crate) fn cached_bytes_max(&self) -> u64 {
        let most = u64::from(self.snapshot.vars.threshold_resultset_size);
        most.min(self.offer.cache.largest())
    }

    /// The reply to the session's next command is to be kept.
    pub(crate) fn begin_filling(&mut self, id: SessionId, mut filling: Box<Filling>) {
        filling.flushes = self.offer.cache.flushes();
        let Some(session) = self.sessions.get_mut(id) else { return self.impossible(()) };
        session.serving.filling = Some(filling);
    }

    /// What is kept of the reply to a session's command.
    pub(crate) fn filling(&mut self, id: SessionId) -> Option<&mut Filling> {
        self.sessions.get_mut(id)?.serving.filling.as_deref_mut()
    }

    /// Changes what is kept of the reply to a session's command.
    pub(crate) fn with_filling(&mut self, id: SessionId, change: impl FnOnce(&mut Filling)) {
        match self.filling(id) {
            Some(filling) => change(filling),
            None => self.impossible(()),
        }
    }

    /// A part of the reply to a command whose answer is to be kept; the first one, where it is
    /// `first`. A command that failed may have been sent once more.
    #[inline(never)]
    pub(crate) fn fill(&mut self, id: SessionId, part: &[u8], is_first: bool) {
        let most = self.cached_bytes_max();
        let cache = &self.offer.cache;
        let session = self.sessions.get_mut(id);
        let Some(filling) = session.and_then(|it| it.serving.filling.as_deref_mut()) else {
            return self.impossible(());
        };
        if !filling.copies {
            return;
        }
        if is_first {
            filling.reply = Ok(Fill::new(cache));
        }
        // whoever waits for what cannot be held waits no longer
        if filling.add(part, most).is_some()
            && let Some(lead) = filling.lead.take()
        {
            self.land_unshared(id, lead);
        }
    }

    /// A command has ended whose answer is to be kept.
    #[inline(never)]
    pub(crate) fn end_filling(&mut self, id: SessionId, running: &Running, outcome: &Outcome) {
        let Some(session) = self.sessions.get_mut(id) else { return self.impossible(()) };
        let Some(mut filling) = session.serving.filling.take() else { return self.impossible(()) };
        let with_warnings = self.snapshot.vars.query_cache_handle_warnings == 1;
        // what was defined while it ran may have changed what it reaches
        let is_same = running.job.effects.is_empty() && running.killed.is_none();
        let server = self.lanes.get(running.lane).map(|lane| &lane.server);
        let why = match outcome {
            Outcome::Done(end) if is_same => filling.unkept(end, with_warnings, server),
            _ => Some(Unkept::Other),
        };
        let lead = filling.lead.take();
        let (copies, is_followed) = (filling.copies, filling.basis.is_some());
        if copies && let Some(why) = why {
            self.note_unkept(id, why);
        }
        let mut is_kept = false;
        let landing = match (why, outcome) {
            // whether anybody keeps it is no matter of those who wait
            (None | Some(Unkept::Empty | Unkept::Changed), Outcome::Done(end))
                if filling.copies =>
            {
                let keeping = (why.is_none(), running.started_us);
                let answer = self.keep_filled(id, *filling, keeping, end);
                answer.map_or(Landing::Unshared, |(answer, kept)| {
                    is_kept = kept;
                    Landing::Answer(answer)
                })
            }
            _ if running.killed.is_some() => Landing::Lost,
            _ => Landing::Unshared,
        };
        if let Some(lead) = lead {
            self.land(lead, landing);
        }
        // what is kept may be older
        if is_followed && !is_kept {
            self.note_read_past(id);
        }
    }

    /// The answer that has come, and whether it is in the cache, where it `keeps`.
    fn keep_filled(
        &mut self,
        id: SessionId,
        filling: Filling,
        (keeps, since_us): (bool, u64),
        end: &ReplyEnd,
    ) -> Option<(Arc<CachedReply>, bool)> {
        let Filling { key, flushes, reply, allowed, stale_us, basis, .. } = filling;
        let reply = reply.ok()?.into_reply();
        let lives_us = allowed.lives_us;
        let bytes = reply.len() as u64;
        let digest = self.sessions.get(id)?.serving.asked.digest_and_text().0;
        let (rows, status) = (end.rows, end.status.0);
        let about = About { rows, status, since_us, lives_us, stale_us, basis, digest };
        let answer = Arc::new(CachedReply::new(reply, about));
        if !keeps || lives_us == 0 {
            return Some((answer, false));
        }
        let keeping = self.offer.cache.keep((key, flushes), answer.clone());
        match keeping {
            Keeping::Kept => {
                self.stats.cache_fills += 1;
                self.stats.cache_bytes_kept += bytes;
                let now_us = self.now_us;
                self.note_cached(id, |row| {
                    row.fills += 1;
                    row.bytes_kept += bytes;
                    row.filled_us = now_us;
                });
            }
            Keeping::Late => self.note_unkept(id, Unkept::Other),
            Keeping::Large => self.note_unkept(id, Unkept::Large),
        }
        Some((answer, keeping == Keeping::Kept))
    }

    /// Counts an answer that is not kept.
    fn note_unkept(&mut self, id: SessionId, why: Unkept) {
        *why.counter(&mut self.stats) += 1;
        self.note_cached(id, |row| row.note_reason(why.name()));
    }
}
