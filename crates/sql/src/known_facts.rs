//! Remembers the facts of digests, where texts with the same digest have the same facts.
//!
//! A digest shows the words of a text and most of its marks. That is all that facts come from,
//! unless something was [`Omitted`] that may change how the rest is read. Facts of some kinds of
//! statements also come from the number of tokens or from a name's place. So only the most frequent
//! kinds are remembered.
//!
//! Such a digest shows every name of its texts, so it also keeps what they reach.

use crate::{Access, Digest, Effects, Facts, Omitted, Verb, facts};

/// A bounded memory of the facts of digests.
///
/// What came last makes what came longest ago give way, among those that share a place; a digest
/// is compared whole, so that no two are ever taken for each other.
#[derive(Clone, Debug, Default)]
pub struct KnownFacts {
    slots: Vec<Slot>,
    /// Where the digest stands that was asked about last.
    last: Option<usize>,
}

#[derive(Clone, Debug, Default)]
struct Slot {
    hash: u64,
    text: Vec<u8>,
    verb: Verb,
    effects: Effects,
    begins: Access,
    access: Access,
    reach: Reach,
}

/// What the stored code does that a statement reaches, by the one who knows what there is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Reach {
    /// State of that knowledge; 0 for none.
    pub epoch: u64,
    /// What the code does.
    pub effects: Effects,
}

impl KnownFacts {
    /// The facts of `text`, whose digest this is, as [`facts`] gives them.
    pub fn facts(&mut self, text: &[u8], digest: &Digest<'_>) -> Facts {
        self.last = None;
        if digest.omitted == Omitted::More {
            return facts(text);
        }
        if let Some(known) = self.find(digest) {
            debug_assert_eq!(known, facts(text), "facts follow from the digest");
            return known;
        }
        let facts = facts(text);
        if follow_from(digest.text, &facts) {
            self.insert(digest, &facts);
        }
        facts
    }

    /// The facts of `text`, whose digest nobody has made.
    pub fn facts_without_digest(&mut self, text: &[u8]) -> Facts {
        self.last = None;
        facts(text)
    }

    /// From here on no digest was asked about.
    pub fn forget_last(&mut self) {
        self.last = None;
    }

    /// What was noted of the digest that was asked about last, at that epoch.
    pub fn reach(&self, epoch: u64) -> Option<Effects> {
        let Reach { epoch: noted, effects } = self.slots.get(self.last?)?.reach;
        (noted == epoch).then_some(effects)
    }

    /// Notes it, where all texts of that digest reach the same.
    pub fn note_reach(&mut self, reach: Reach) {
        if let Some(slot) = self.last.and_then(|last| self.slots.get_mut(last)) {
            slot.reach = reach;
        }
    }

    fn find(&mut self, digest: &Digest<'_>) -> Option<Facts> {
        let is = |slot: &Slot| slot.hash == digest.hash && slot.text == digest.text;
        for place in [place(digest.hash), place(digest.hash) ^ 1] {
            if let Some(slot) = self.slots.get(place).filter(|slot| is(slot)) {
                self.last = Some(place);
                let Slot { verb, effects, begins, access, .. } = *slot;
                return Some(Facts { verb, effects, begins, access, schema: None });
            }
        }
        None
    }

    fn insert(&mut self, digest: &Digest<'_>, facts: &Facts) {
        if self.slots.is_empty() {
            self.slots.resize(SLOTS, Slot::default());
        }
        let place = place(digest.hash);
        self.slots.swap(place, place ^ 1);
        let Some(slot) = self.slots.get_mut(place) else { return };
        slot.hash = digest.hash;
        slot.text.clear();
        slot.text.extend_from_slice(digest.text);
        (slot.verb, slot.effects) = (facts.verb, facts.effects);
        (slot.begins, slot.access) = (facts.begins, facts.access);
        slot.reach = Reach::default();
        self.last = Some(place);
    }
}

fn place(hash: u64) -> usize {
    usize::try_from(hash >> 32).unwrap_or(0) % SLOTS
}

/// Whether every text with this digest, of which nothing but values was omitted, has these facts.
fn follow_from(digest: &[u8], facts: &Facts) -> bool {
    const TOLD: Effects =
        Effects::UNCLEAR.union(Effects::MULTI_STATEMENT).union(Effects::SYSTEM_VARIABLE);
    digest.len() <= TEXT_BYTES_MAX
        && digest.is_ascii()
        && facts.schema.is_none()
        && !facts.effects.intersects(TOLD)
        && has_head_of(digest, facts.verb)
        && has_plain_names(digest)
        && !calls_or_addresses_value(digest)
}

/// Whether a statement begins as those do whose facts come from words and marks alone, wherever
/// they stand.
fn has_head_of(digest: &[u8], verb: Verb) -> bool {
    let head: &[u8] = match verb {
        Verb::Select | Verb::SelectForUpdate => b"SELECT",
        Verb::Insert => b"INSERT",
        Verb::Replace => b"REPLACE",
        Verb::Update => b"UPDATE",
        Verb::Delete => b"DELETE",
        Verb::Begin => b"BEGIN",
        Verb::StartTransaction => b"START",
        Verb::Commit => b"COMMIT",
        Verb::Rollback => b"ROLLBACK",
        _ => return false,
    };
    let Some((first, rest)) = digest.split_at_checked(head.len()) else { return false };
    first.eq_ignore_ascii_case(head) && !rest.first().is_some_and(|byte| is_of_name(*byte))
}

/// Whether all back quotes enclose one word each: to a digest they mean nothing, to a server what
/// is between them does not.
fn has_plain_names(digest: &[u8]) -> bool {
    let parts = digest.split(|byte| *byte == b'`');
    let quotes = parts.clone().count() - 1;
    let mut names = parts.skip(1).step_by(2);
    quotes.is_multiple_of(2) && names.all(|name| name.iter().all(|byte| is_of_name(*byte)))
}

/// Whether a parenthesis or `@` follows a value, which may be a function's or an account's name in
/// quotes.
fn calls_or_addresses_value(digest: &[u8]) -> bool {
    digest.split(|byte| *byte == b'?').skip(1).any(|after| {
        let mark = after.iter().find(|byte| !byte.is_ascii_whitespace() && **byte != 0x0b);
        matches!(mark, Some(b'(' | b'@'))
    })
}

fn is_of_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$')
}

/// Enough for the digests that matter to an application.
const SLOTS: usize = 2048;

/// Longer digests are too rare to be worth their memory.
const TEXT_BYTES_MAX: usize = 1024;

#[cfg(test)]
mod tests;
