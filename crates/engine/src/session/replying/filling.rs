//! Replies that are kept for the query cache while they go to their client.
//!
//! Decides which of them are kept, by how they end. Which statements may be asked of the cache is
//! decided before, in `command::cached`; how long bytes stay is the store's.

use cache::{About, Basis, CachedReply};
use wire::Status;
use wire::result::End as ReplyEnd;

use crate::ids::SessionId;
use crate::proxy::Proxy;
use crate::session::Running;
use crate::session::replying::reply::Outcome;
use crate::stats::Counters;

/// A reply that is to be kept.
pub(crate) struct Filling {
    key: Vec<u8>,
    /// How often the cache was flushed before it was asked for.
    flushes: u64,
    /// What has come of it; nothing more where it is too large.
    reply: Option<Vec<u8>>,
    lives_us: u64,
    /// What it rests on, where it ends with a change of that.
    basis: Option<Basis>,
    /// Also if it has no row.
    empty_too: bool,
}

/// Why a reply is not kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Unkept {
    /// What it reads changed meanwhile.
    Changed,
    /// It takes too many bytes.
    Large,
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
    /// One of which nothing has come.
    pub(crate) fn new(
        (key, flushes): (Vec<u8>, u64),
        (lives_us, basis): (u64, Option<Basis>),
        empty_too: bool,
    ) -> Box<Self> {
        Box::new(Self { key, flushes, reply: Some(Vec::new()), lives_us, basis, empty_too })
    }

    /// Why what has come with this end is not kept.
    fn unkept(&mut self, end: &ReplyEnd, with_warnings: bool) -> Option<Unkept> {
        let is_plain = end.resultsets == 1
            && !end.several
            && end.track.is_none()
            && end.status.contains(Status::AUTOCOMMIT)
            && end.status.without(OF_ANY_READ) == Status::NONE;
        if self.reply.is_none() {
            Some(Unkept::Large)
        } else if !is_plain {
            Some(Unkept::Other)
        } else if end.warnings > 0 && !(with_warnings && self.clear_warnings()) {
            Some(Unkept::Warnings)
        } else if end.rows == 0 && !self.empty_too {
            Some(Unkept::Empty)
        } else if self.basis.as_ref().is_some_and(|basis| !basis.is_current()) {
            Some(Unkept::Changed)
        } else {
            None
        }
    }

    /// Has its end tell of no warnings; `false` where it is none of the one form that has nothing
    /// to tell of them behind its columns as well.
    fn clear_warnings(&mut self) -> bool {
        let Some(reply) = &mut self.reply else { return false };
        let of_ok = reply.last_chunk_mut::<11>().filter(|end| end[..3] == [7, 0, 0]);
        match of_ok {
            Some([_, _, _, _, 0xfe, 0, 0, _, _, warnings @ ..]) => {
                warnings.fill(0);
                true
            }
            _ => false,
        }
    }
}

impl Proxy {
    /// The largest answer that may be kept, with its key, in bytes.
    pub(crate) fn cached_bytes_max(&self) -> u64 {
        let most = u64::from(self.snapshot.vars.threshold_resultset_size);
        most.min(self.offer.cache.largest())
    }

    /// The reply to the session's next command is to be kept.
    pub(crate) fn begin_filling(&mut self, id: SessionId, filling: Box<Filling>) {
        let Some(session) = self.sessions.get_mut(id) else { return self.impossible(()) };
        session.serving.filling = Some(filling);
    }

    /// A part of the reply to a command whose answer is to be kept; the first one, where it is
    /// `first`. A command that failed may have been sent once more.
    #[inline(never)]
    pub(crate) fn fill(&mut self, id: SessionId, part: &[u8], is_first: bool) {
        let most = self.cached_bytes_max();
        let Some(session) = self.sessions.get_mut(id) else { return self.impossible(()) };
        let Some(filling) = &mut session.serving.filling else { return self.impossible(()) };
        if is_first {
            filling.reply = Some(Vec::new());
        }
        let Some(reply) = &mut filling.reply else { return };
        match u64::try_from(filling.key.len() + reply.len() + part.len()) {
            Ok(bytes) if bytes <= most => reply.extend_from_slice(part),
            _ => filling.reply = None,
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
        let why = match outcome {
            Outcome::Done(end) if is_same => filling.unkept(end, with_warnings),
            _ => Some(Unkept::Other),
        };
        if let Some(why) = why {
            return self.note_unkept(id, why);
        }
        let (Filling { key, flushes, reply, lives_us, basis, .. }, Outcome::Done(end)) =
            (*filling, outcome)
        else {
            return self.impossible(());
        };
        let reply = reply.unwrap_or_default().into_boxed_slice();
        let (bytes, flushes_now) = (reply.len() as u64, self.offer.cache.flushes());
        let since_us = running.started_us;
        let digest = session.serving.asked.digest_and_text().0;
        let (rows, status) = (end.rows, end.status.0);
        let about = About { rows, status, since_us, lives_us, basis, digest };
        match self.offer.cache.keep((key, flushes), CachedReply::new(reply, about)) {
            true => {
                self.stats.cache_fills += 1;
                self.stats.cache_bytes_kept += bytes;
                let now_us = self.now_us;
                self.note_cached(id, |row| {
                    row.fills += 1;
                    row.bytes_kept += bytes;
                    row.filled_us = now_us;
                });
            }
            false if flushes != flushes_now => self.note_unkept(id, Unkept::Other),
            false => self.note_unkept(id, Unkept::Large),
        }
    }

    /// Counts an answer that is not kept.
    fn note_unkept(&mut self, id: SessionId, why: Unkept) {
        *why.counter(&mut self.stats) += 1;
        self.note_cached(id, |row| row.note_reason(why.name()));
    }
}
