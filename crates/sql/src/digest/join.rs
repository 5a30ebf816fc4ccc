//! Decides which blanks and signs stay between the pieces of a query.
//!
//! ProxySQL does this in a second pass that moves the bytes of its buffer towards the beginning. To
//! decide about a byte, it looks at the two places before it. Some of these hold bytes that were
//! moved, others what stood there before. So what is seen depends on how many bytes were dropped so
//! far, none, one or more; [`Join::before`] tells. The pieces that come in are what its first pass
//! makes, and "place" below is a place in that buffer.

use super::lists::Lists;
use super::scan::is_word;
use super::{DigestOptions, Omitted};

/// Writes the pieces of one query.
pub(super) struct Join {
    lists: Lists,
    no_digits: bool,
    limit: usize,
    /// How many bytes the buffer holds: what was settled, and every byte that came in since.
    held: usize,
    /// What came in.
    came: Last,
    /// What stayed.
    stayed: Last,
    dropped: usize,
    /// A blank or sign whose next byte is not known yet; 0 for none.
    waiting: u8,
    /// What is seen before the byte that waits.
    seen: Last,
    omitted: Omitted,
}

/// The last two bytes of something, 0 where there are none.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Last(u16);

impl Last {
    const NONE: Self = Self(0);

    fn then(self, byte: u8) -> Self {
        Self(self.0 << 8 | u16::from(byte))
    }

    fn then_all(self, bytes: &[u8]) -> Self {
        match bytes.last_chunk() {
            Some(last) => Self(u16::from_be_bytes(*last)),
            None => bytes.iter().fold(self, |last, byte| last.then(*byte)),
        }
    }

    fn byte(self) -> u8 {
        self.0.to_be_bytes()[1]
    }

    fn before(self) -> u8 {
        self.0.to_be_bytes()[0]
    }
}

impl Join {
    pub(super) fn new(out: Vec<u8>, limit: usize, options: &DigestOptions) -> Self {
        Self {
            lists: Lists::new(out, options),
            no_digits: options.no_digits,
            limit,
            held: 0,
            came: Last::NONE,
            stayed: Last::NONE,
            dropped: 0,
            waiting: 0,
            seen: Last::NONE,
            omitted: Omitted::Numbers,
        }
    }

    /// Notes that something of the query will not be seen.
    #[inline]
    pub(super) fn omits(&mut self, what: Omitted) {
        self.omitted = self.omitted.max(what);
    }

    /// A word or a part of one, or any bytes that all stay: words, marks other than signs, commas
    /// and parentheses, and blanks between these.
    #[inline]
    pub(super) fn word(&mut self, word: &[u8], lowercase: bool) {
        let Some(&first) = word.first() else { return };
        self.decide(first);
        self.held += word.len();
        if self.no_digits && word.iter().any(u8::is_ascii_digit) {
            self.word_without_digits(word, lowercase);
        } else {
            self.lists.word(word, lowercase);
            self.stayed = self.stayed.then_all(word);
        }
        self.came = self.came.then_all(word);
    }

    /// Any mark that is no blank.
    #[inline]
    pub(super) fn mark(&mut self, byte: u8) {
        self.decide(byte);
        self.held += 1;
        if matches!(byte, b'+' | b'-') {
            self.wait(byte);
        } else {
            self.lists.mark(byte);
            self.stayed = self.stayed.then(byte);
        }
        self.came = self.came.then(byte);
    }

    /// A literal.
    #[inline]
    pub(super) fn value(&mut self) {
        self.decide(b'?');
        self.held += 1;
        self.lists.value();
        self.stayed = self.stayed.then(b'?');
        self.came = self.came.then(b'?');
    }

    /// One blank for any number of them, none at the beginning.
    #[inline]
    pub(super) fn blank(&mut self) {
        match self.came.byte() {
            0 | b' ' => {}
            // whatever follows, it would be dropped
            b',' | b'(' => {
                self.held += 1;
                self.dropped += 1;
                self.came = self.came.then(b' ');
            }
            _ => self.one_blank(),
        }
    }

    /// A byte of a comment that is kept.
    pub(super) fn raw(&mut self, byte: u8) {
        match byte {
            b' ' => self.one_blank(),
            _ if is_word(byte) => self.word(&[byte], false),
            _ => self.mark(byte),
        }
    }

    /// The byte that came in last, 0 for none.
    pub(super) fn last(&self) -> u8 {
        self.came.byte()
    }

    /// How many more bytes may come in.
    pub(super) fn room(&self) -> usize {
        self.limit.saturating_sub(self.held)
    }

    pub(super) fn is_full(&self) -> bool {
        self.held >= self.limit
    }

    /// Makes room of what was dropped or folded; whether that gave any.
    #[cold]
    pub(super) fn settle(&mut self) -> bool {
        self.omits(Omitted::More);
        if self.waiting == b' ' && !blank_stays(self.seen, 0) {
            self.waiting = 0;
        }
        let held = self.lists.len() + usize::from(self.waiting != 0);
        let gained = held < self.held;
        self.held = held;
        self.came = match self.waiting {
            0 => self.stayed,
            waiting => self.stayed.then(waiting),
        };
        self.dropped = 0;
        gained && held < self.limit
    }

    /// The text is over.
    pub(super) fn finish(mut self) -> (Vec<u8>, Omitted) {
        self.decide(0);
        (self.lists.finish(), self.omitted)
    }

    #[inline]
    fn one_blank(&mut self) {
        self.decide(b' ');
        self.held += 1;
        self.wait(b' ');
        self.came = self.came.then(b' ');
    }

    /// Lets `byte` wait, with what is seen in the two places before it.
    #[inline]
    fn wait(&mut self, byte: u8) {
        self.waiting = byte;
        self.seen = match self.dropped {
            0 => self.stayed,
            1 => Last::NONE.then(self.stayed.byte()).then(self.came.byte()),
            _ => self.came,
        };
    }

    /// Keeps or drops what is waiting, now that the byte after it is known; 0 is the end.
    #[inline]
    fn decide(&mut self, next: u8) {
        if self.waiting != 0 {
            self.decide_waiting(next);
        }
    }

    fn decide_waiting(&mut self, next: u8) {
        let stays = match self.waiting {
            b' ' => blank_stays(self.seen, next),
            _ => sign_stays(self.seen, next),
        };
        if stays {
            self.lists.plain(self.waiting);
            self.stayed = self.stayed.then(self.waiting);
        } else {
            self.dropped += 1;
            if self.waiting != b' ' && next != b'?' {
                self.omits(Omitted::More);
            }
        }
        self.waiting = 0;
    }

    /// Digits become one `?`, and nothing at the very beginning.
    #[cold]
    fn word_without_digits(&mut self, word: &[u8], lowercase: bool) {
        let mut came = self.came.byte();
        for run in word.chunk_by(|a, b| a.is_ascii_digit() == b.is_ascii_digit()) {
            let Some(&last) = run.last() else { continue };
            if !last.is_ascii_digit() {
                self.stayed = self.stayed.then_all(run);
                self.lists.word(run, lowercase);
            } else if came == 0 || came.is_ascii_digit() {
                self.dropped += run.len();
            } else {
                self.dropped += run.len() - 1;
                self.lists.value();
                self.stayed = self.stayed.then(b'?');
            }
            came = last;
        }
    }
}

/// Blanks go beside commas, inside parentheses, and where a value meets a sign of arithmetic; the
/// end of a comment keeps what follows it.
#[inline]
fn blank_stays(seen: Last, next: u8) -> bool {
    let before = seen.byte();
    if before == b'/' && seen.before() == b'*' {
        return true;
    }
    let at_list = matches!(before, b',' | b'(') || matches!(next, b',' | b')');
    let at_value =
        (before == b'?' && is_arithmetic(next)) || (is_arithmetic(before) && next == b'?');
    !at_list && !at_value
}

/// A sign goes where it seems to belong to what follows and not to join two operands.
fn sign_stays(seen: Last, next: u8) -> bool {
    let operand = match seen.byte() {
        0 => return true,
        b' ' if is_word(seen.before()) => return false,
        b' ' => seen.before(),
        before => before,
    };
    is_word(operand) || matches!(operand, b')' | b'?') || !matches!(next, b'?' | b' ')
}

fn is_arithmetic(byte: u8) -> bool {
    matches!(byte, b'+' | b'-' | b'*' | b'/' | b'%')
}
