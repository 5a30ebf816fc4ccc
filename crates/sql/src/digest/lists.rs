//! Folds lists of values as the normalised text is written.
//!
//! `(?,?,?,?,?)` becomes `(?,?,?,...)`, and many such lists in a row become a few of them and
//! `,...`. What is written was decided by `join`.

use super::DigestOptions;

/// The text so far, and how far a list in it goes.
pub(super) struct Lists {
    out: Vec<u8>,
    /// Values of a list that stay; 0 keeps all.
    values_max: usize,
    /// Lists in a row that stay; 0 keeps all.
    lists_max: usize,
    /// A parenthesis was opened, and none closed since.
    inside: bool,
    /// The element of a list that goes on has no `?` yet.
    seeks_value: bool,
    /// The first `?` of an element was just written: a value if a comma or parenthesis follows.
    maybe_value: bool,
    /// Values in a row, each between parentheses or commas.
    values: usize,
    values_start: usize,
    values_end: usize,
    /// Folded lists in a row.
    lists: usize,
    lists_end: usize,
}

impl Lists {
    pub(super) fn new(out: Vec<u8>, options: &DigestOptions) -> Self {
        Self {
            out,
            values_max: options.grouping_limit,
            lists_max: options.groups_grouping_limit,
            inside: false,
            seeks_value: false,
            maybe_value: false,
            values: 0,
            values_start: 0,
            values_end: 0,
            lists: 0,
            lists_end: 0,
        }
    }

    /// The text as it is.
    pub(super) fn finish(self) -> Vec<u8> {
        self.out
    }

    pub(super) fn len(&self) -> usize {
        self.out.len()
    }

    #[inline]
    pub(super) fn word(&mut self, word: &[u8], lowercase: bool) {
        self.maybe_value = false;
        if lowercase {
            self.out.extend(word.iter().map(u8::to_ascii_lowercase));
        } else {
            self.out.extend_from_slice(word);
        }
    }

    /// A blank or sign.
    #[inline]
    pub(super) fn plain(&mut self, byte: u8) {
        self.maybe_value = false;
        self.out.push(byte);
    }

    #[inline]
    pub(super) fn mark(&mut self, byte: u8) {
        match byte {
            b'?' => self.value(),
            b',' => {
                self.seeks_value = self.inside;
                if self.maybe_value { self.value_ends(byte) } else { self.out.push(byte) }
            }
            b'(' => {
                self.inside = self.values_max > 0;
                self.seeks_value = self.inside;
                self.plain(byte);
            }
            b')' => self.close(),
            _ => self.plain(byte),
        }
    }

    fn close(&mut self) {
        self.inside = false;
        self.seeks_value = false;
        if self.maybe_value {
            self.value_ends(b')');
        } else {
            self.out.push(b')');
        }
        if self.lists_max > 0 && self.out.ends_with(b"...)") {
            self.list_ends();
        }
    }

    /// A literal, or a mark that looks like one.
    #[inline]
    pub(super) fn value(&mut self) {
        self.maybe_value = self.seeks_value;
        self.seeks_value = false;
        if self.maybe_value && (self.values == 0 || self.values_end != self.out.len()) {
            self.values = 0;
            self.values_start = self.out.len();
        }
        self.out.push(b'?');
    }

    /// A comma or parenthesis follows a value.
    fn value_ends(&mut self, byte: u8) {
        self.maybe_value = false;
        self.values += 1;
        let folded = self.values_max + 2;
        if self.values == folded {
            self.out.truncate(self.values_start + 2 * self.values_max);
            self.out.extend_from_slice(b"...");
        } else if self.values > folded {
            // `...,?`
            self.out.truncate(self.out.len() - 2);
        }
        self.out.push(byte);
        self.values_end = self.out.len();
    }

    /// A list that may be folded was closed.
    #[cold]
    fn list_ends(&mut self) {
        let Some(start) = self.out.len().checked_sub(2 * self.values_max + b"(...)".len()) else {
            return;
        };
        let list = self.out.get(start..).unwrap_or_default();
        let is_list =
            list.first() == Some(&b'(') && list.get(1..=2 * self.values_max).is_some_and(is_values);
        if !is_list {
            return;
        }
        let goes_on = self.lists > 0
            && start == self.lists_end + 1
            && self.out.get(self.lists_end) == Some(&b',');
        self.lists = if goes_on { self.lists + 1 } else { 1 };
        if self.lists > self.lists_max {
            self.out.truncate(self.lists_end);
            // where its values were, others may come
            self.values = 0;
            if self.lists == self.lists_max + 1 {
                self.out.extend_from_slice(b",...");
            }
        }
        self.lists_end = self.out.len();
    }
}

/// Whether `text` is `?,?,`.
fn is_values(text: &[u8]) -> bool {
    text.chunks(2).all(|pair| pair == b"?,")
}
