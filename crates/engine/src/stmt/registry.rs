//! The texts that a worker's sessions have prepared, each once.
//!
//! Bounded in number and bytes. Beyond these bounds, texts that no client has any more go, longest
//! unused first. No room is left for others when the texts in use are too long. Connections may
//! still have a text that went; they lose it when others need its place.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use wire::Caps;

use crate::catalog::Definitions;
use crate::ids::StmtKey;
use crate::link::LinkState;
use crate::slab::Slab;
use crate::stats::StmtRow;
use crate::stmt::{KeptAnswer, Text};

/// How long a server's answer to a prepare is given again. Longer than clients take to come one
/// after the other, so that few of many ask a server.
const ANSWER_US: u64 = 10_000_000;

/// What the workers of a process share about statements: nothing that an execution looks at.
#[derive(Debug, Default)]
pub struct StmtsOfAll {
    last_number: AtomicU64,
    /// Counted up whenever data definition was seen: kept answers may be out of date.
    definitions: AtomicU64,
    /// Counted up whenever what a schema's tables begin with was altered.
    schemas: AtomicU64,
    /// Tables and stored code that were defined.
    pub code: Arc<Definitions>,
}

impl StmtsOfAll {
    /// A number for a new text.
    pub fn next_number(&self) -> u64 {
        self.last_number.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Tables or views may have changed.
    pub fn definitions_changed(&self) {
        self.definitions.fetch_add(1, Ordering::Relaxed);
    }

    /// What a schema's tables begin with was altered.
    pub fn schema_altered(&self) {
        self.schemas.fetch_add(1, Ordering::Relaxed);
    }

    /// A number that is another one after that.
    pub fn altered_schemas(&self) -> u64 {
        self.schemas.load(Ordering::Relaxed)
    }

    /// A number that is another one after they may have changed.
    pub fn definitions(&self) -> u64 {
        self.definitions.load(Ordering::Relaxed)
    }
}

/// A text that is looked for.
#[derive(Clone, Copy)]
pub struct Sought<'a> {
    /// The account.
    pub user: &'a str,
    /// Capability class of its client.
    pub class: Caps,
    /// What its client's connection looks like.
    pub state: &'a LinkState,
    /// The text.
    pub text: &'a [u8],
    /// Hash of the digest of what the client sent, when digests are on.
    pub digest: Option<u64>,
}

impl Sought<'_> {
    /// What connections and clients agree about when they mean the same statement.
    pub fn hash(&self) -> u64 {
        hash(self.user, self.state, self.text)
    }

    fn is(&self, text: &Text) -> bool {
        let alike = self.class == text.class
            && *self.text == *text.text
            && *self.user == *text.user
            && self.digest == text.digest().map(|digest| digest.hash);
        // whether each statement is a transaction of its own does not change what one means
        alike && {
            let autocommit = text.state.autocommit;
            LinkState { autocommit, ..self.state.clone() } == text.state
        }
    }
}

fn hash(user: &str, state: &LinkState, text: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    for part in [user.as_bytes(), state.schema.as_deref().unwrap_or_default(), text] {
        hasher.write_usize(part.len());
        hasher.write(part);
    }
    hasher.finish()
}

struct Entry {
    text: Arc<Text>,
    hash: u64,
    /// Others who prepare the text find it.
    found: bool,
    /// Columns and parameters, once a server told them.
    counts: Option<(u16, u16)>,
    answer: Option<KeptAnswer>,
    /// [`StmtsOfAll::definitions`] when the answer was given.
    definitions: u64,
    kept_us: u64,
    used_us: u64,
}

impl Entry {
    fn clients(&self) -> usize {
        Arc::strong_count(&self.text) - 1
    }
}

/// All texts of a worker.
#[derive(Default)]
pub struct Registry {
    entries: Slab<StmtKey, Entry>,
    /// Several where capabilities, character sets or settings differ.
    by_hash: HashMap<u64, Vec<StmtKey>>,
    /// Bytes of all texts and answers.
    bytes: usize,
    /// Letting go of texts was not enough, and is not tried again until then.
    in_use_until_us: u64,
}

/// How many texts there may be, and bytes of them.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Number.
    pub count: usize,
    /// Bytes.
    pub bytes: usize,
}

/// A text of more bytes goes as soon as no client has it.
const LONG: usize = 1 << 15;

impl Registry {
    /// The entry of a text.
    pub fn find(&mut self, sought: &Sought<'_>, now_us: u64) -> Option<(StmtKey, Arc<Text>)> {
        let keys = self.by_hash.get(&sought.hash())?;
        let is = |key: &&StmtKey| self.entries.get(**key).is_some_and(|e| sought.is(&e.text));
        let key = *keys.iter().find(is)?;
        let entry = self.entries.get_mut(key)?;
        entry.used_us = now_us;
        Some((key, entry.text.clone()))
    }

    /// Adds a text. Whoever prepares the same from now on finds it, unless it is `hidden`.
    pub fn add(&mut self, text: &Arc<Text>, hidden: bool, now_us: u64) -> StmtKey {
        let hash = hash(&text.user, &text.state, &text.text);
        let entry = Entry {
            text: text.clone(),
            hash,
            found: !hidden,
            counts: None,
            answer: None,
            definitions: 0,
            kept_us: 0,
            used_us: now_us,
        };
        self.bytes += text.bytes();
        let key = self.entries.insert_with(|_| entry);
        if !hidden {
            self.publish(hash, key);
        }
        key
    }

    fn publish(&mut self, hash: u64, key: StmtKey) {
        const ALIKE: usize = 16;
        let keys = self.by_hash.entry(hash).or_default();
        keys.push(key);
        if keys.len() > ALIKE {
            let oldest = keys.remove(0);
            if let Some(entry) = self.entries.get_mut(oldest) {
                entry.found = false;
            }
            self.forget_unused(oldest);
        }
    }

    /// How many columns and parameters a text has, by a server's answer.
    pub fn learn(&mut self, key: StmtKey, counts: (u16, u16)) {
        let Some(entry) = self.entries.get_mut(key) else { return };
        if entry.counts.replace(counts) != Some(counts) {
            self.forget_answer(key);
        }
    }

    /// Keeps a server's answer for others, if it may be kept; `definitions` is what
    /// [`StmtsOfAll::definitions`] was when it was given.
    pub fn keep_answer(&mut self, key: StmtKey, answer: &[u8], definitions: u64, now_us: u64) {
        self.forget_answer(key);
        if let Some(entry) = self.entries.get_mut(key).filter(|entry| entry.found) {
            entry.answer = KeptAnswer::of(answer);
            self.bytes += entry.answer.as_ref().map_or(0, KeptAnswer::bytes);
            (entry.definitions, entry.kept_us) = (definitions, now_us);
        }
    }

    /// The answer kept for a text and its number of parameters, unless definitions changed since.
    /// Nobody tells of those that change past the proxy: a server is asked again after a while.
    pub fn answer(
        &self,
        key: StmtKey,
        definitions: u64,
        now_us: u64,
    ) -> Option<(&KeptAnswer, u16)> {
        let entry = self.entries.get(key)?;
        let (_, params) = entry.counts?;
        let is_fresh = now_us.saturating_sub(entry.kept_us) < ANSWER_US;
        let is_true = entry.definitions == definitions && is_fresh;
        let answer = entry.answer.as_ref().filter(|_| is_true)?;
        Some((answer, params))
    }

    /// The answer that was kept for a text is out of date.
    pub fn forget_answer(&mut self, key: StmtKey) {
        if let Some(entry) = self.entries.get_mut(key)
            && let Some(answer) = entry.answer.take()
        {
            self.bytes -= answer.bytes();
        }
    }

    /// A client let go of a text: one that cannot be found, that no server took, or that is long
    /// goes.
    pub fn forget_unused(&mut self, key: StmtKey) {
        let Some(entry) = self.entries.get(key) else { return };
        let goes = !entry.found || entry.counts.is_none() || entry.text.text.len() > LONG;
        if entry.clients() == 0 && goes {
            self.remove(key);
        }
    }

    fn remove(&mut self, key: StmtKey) {
        self.forget_answer(key);
        let Some(entry) = self.entries.remove(key) else { return };
        self.bytes -= entry.text.bytes();
        let Some(keys) = self.by_hash.get_mut(&entry.hash) else { return };
        keys.retain(|other| *other != key);
        if keys.is_empty() {
            self.by_hash.remove(&entry.hash);
        }
    }

    /// Lets go of texts that no client has, where there would be more than may be: a tenth beyond,
    /// so that it is done seldom. Whether there is room for one of so many bytes.
    pub fn make_room(&mut self, bytes: usize, max: Limits, now_us: u64) -> bool {
        const PAUSE_US: u64 = 1_000_000;
        let fits = |registry: &Self| registry.bytes + bytes <= max.bytes;
        let recent = now_us < self.in_use_until_us;
        if (fits(self) && self.entries.len() <= max.count) || recent {
            return fits(self);
        }
        let unused = self.entries.iter().filter(|(_, entry)| entry.clients() == 0);
        let mut unused: Vec<_> = unused.map(|(key, entry)| (entry.used_us, key)).collect();
        unused.sort_unstable_by_key(|(used_us, _)| *used_us);
        let (count, room) = (max.count - max.count / 10, max.bytes - max.bytes / 10);
        for (_, key) in unused {
            if self.entries.len() <= count && self.bytes + bytes <= room {
                break;
            }
            self.remove(key);
        }
        // what is in use will be so a moment later
        if self.entries.len() > count || self.bytes + bytes > room {
            self.in_use_until_us = now_us.saturating_add(PAUSE_US);
        }
        fits(self)
    }

    /// Checks what must always hold.
    pub(crate) fn check_invariants(&self) {
        let mut bytes = 0;
        for (key, entry) in self.entries.iter() {
            bytes += entry.text.bytes() + entry.answer.as_ref().map_or(0, KeptAnswer::bytes);
            let is_listed = self.by_hash.get(&entry.hash).is_some_and(|keys| keys.contains(&key));
            assert!(is_listed || !entry.found, "I-TEXT-1: a text that may be found is");
        }
        assert_eq!(self.bytes, bytes, "I-TEXT-2: the bytes of texts and answers are counted");
        let mut keys = self.by_hash.values().flatten();
        assert!(
            keys.all(|key| self.entries.get(*key).is_some()),
            "I-TEXT-3: what is found by its hash exists"
        );
    }

    /// Bytes of all texts, and of the answers that are kept for them.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// How many texts there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// How many of them a client has.
    pub fn with_clients(&self) -> usize {
        self.entries.iter().filter(|(_, entry)| entry.clients() > 0).count()
    }

    /// The largest number of a text.
    pub fn last_number(&self) -> u64 {
        self.entries.iter().map(|(_, entry)| entry.text.number).max().unwrap_or(0)
    }

    /// Every text, for the statistics; how many connections have it is left to the caller.
    pub fn rows(&self) -> impl Iterator<Item = (StmtKey, StmtRow)> {
        self.entries.iter().map(|(key, entry)| {
            let (columns, params) = entry.counts.unwrap_or_default();
            let text = &entry.text;
            let row = StmtRow {
                number: text.number,
                user: text.user.clone(),
                schema: text.state.schema.clone().unwrap_or_default(),
                hash: entry.hash,
                text: text.text.clone(),
                clients: entry.clients() as u64,
                servers: 0,
                columns,
                params,
            };
            (key, row)
        })
    }
}
