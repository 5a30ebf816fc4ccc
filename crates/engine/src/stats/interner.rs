//! Texts that are stored once however many rows name them, and go with the last one.

use super::index::Index;

/// Texts by small numbers.
#[derive(Clone, Default, Debug)]
pub(super) struct Interner {
    slots: Vec<Slot>,
    free: Vec<u32>,
    index: Index,
    /// Of the texts themselves.
    bytes: usize,
}

#[derive(Clone, Debug)]
struct Slot {
    text: Box<[u8]>,
    hash: u64,
    users: u32,
}

impl Interner {
    /// The number of this text, which has one more user now.
    pub(super) fn intern(&mut self, hash: u64, text: &[u8]) -> u32 {
        let slots = &self.slots;
        let is_it = |at: u32| {
            slots.get(at as usize).is_some_and(|slot| slot.hash == hash && *slot.text == *text)
        };
        if let Some(at) = self.index.find(hash, is_it) {
            if let Some(slot) = self.slots.get_mut(at as usize) {
                slot.users += 1;
            }
            return at;
        }
        self.bytes += bytes_of(text.len());
        let slot = Slot { text: text.into(), hash, users: 1 };
        let at = match self.free.pop() {
            Some(at) => {
                if let Some(place) = self.slots.get_mut(at as usize) {
                    *place = slot;
                }
                at
            }
            None => {
                self.slots.push(slot);
                u32::try_from(self.slots.len() - 1).unwrap_or(u32::MAX)
            }
        };
        self.index.insert(hash, at);
        at
    }

    /// A user of this number is gone.
    pub(super) fn release(&mut self, at: u32) {
        let Some(slot) = self.slots.get_mut(at as usize) else { return };
        slot.users -= 1;
        if slot.users == 0 {
            self.bytes -= bytes_of(slot.text.len());
            self.index.remove(slot.hash, at);
            slot.text = Box::default();
            self.free.push(at);
        }
    }

    /// The text of a number.
    pub(super) fn text(&self, at: u32) -> &[u8] {
        self.slots.get(at as usize).map_or(&[], |slot| &slot.text)
    }

    /// Bytes of memory.
    pub(super) fn bytes(&self) -> usize {
        let slots = self.slots.len() * size_of::<Slot>() + self.free.len() * size_of::<u32>();
        self.bytes + slots + self.index.bytes()
    }
}

/// What storing a text of this length takes at most, with the allocator's share.
pub(super) fn bytes_of(text_len: usize) -> usize {
    text_len + 16
}

/// What a number takes beside its text.
pub(super) const SLOT_BYTES: usize = size_of::<Slot>();

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_stored_once_and_goes_with_its_last_user() {
        let mut texts = Interner::default();
        let one = texts.intern(7, b"select ?");
        let bytes = texts.bytes();
        assert_eq!(texts.intern(7, b"select ?"), one);
        assert_eq!(texts.bytes(), bytes);
        // the same hash by accident
        let other = texts.intern(7, b"insert ?");
        assert_ne!(other, one);
        texts.release(one);
        assert_eq!(texts.text(one), b"select ?");
        texts.release(one);
        assert_eq!((texts.text(one), texts.text(other)), (&b""[..], &b"insert ?"[..]));
        assert_eq!(texts.intern(9, b"use"), one, "its number is free again");
    }
}
