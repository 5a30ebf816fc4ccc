//! Decides which blanks and signs stay between the pieces of a query.
//!
//! ProxySQL does this in a second pass that moves the bytes of its buffer towards the beginning
//! and, to decide about a byte, looks at the two places before it: some of these hold bytes that
//! were moved, others what stood there before. So what is seen depends on how many bytes were
//! dropped so far, none, one or more; [`Join::before`] tells. The pieces that come in are what
//! its first pass makes, and "place" below is a place in that buffer.

use super::DigestOptions;
use super::lists::Lists;
use super::scan::is_word;

/// Writes the pieces of one query.
pub(super) struct Join<'o> {
    lists: Lists<'o>,
    no_digits: bool,
    limit: usize,
    /// How many bytes the buffer holds: what was settled, and every byte that came in since.
    held: usize,
    /// The last bytes that came in, the very last one first; 0 before the first.
    came: [u8; 2],
    /// The last bytes that stayed, the very last one first.
    stayed: [u8; 2],
    dropped: usize,
    /// A blank or sign whose next byte is not known yet.
    waiting: Option<Waiting>,
}

/// A byte to be decided about, and what is seen before it.
#[derive(Clone, Copy)]
struct Waiting {
    byte: u8,
    before: [u8; 2],
}

impl<'o> Join<'o> {
    pub(super) fn new(out: &'o mut Vec<u8>, limit: usize, options: &DigestOptions) -> Self {
        Self {
            lists: Lists::new(out, options),
            no_digits: options.no_digits,
            limit,
            held: 0,
            came: [0; 2],
            stayed: [0; 2],
            dropped: 0,
            waiting: None,
        }
    }

    /// A word, or a part of one.
    pub(super) fn word(&mut self, word: &[u8], lowercase: bool) {
        let (Some(&first), Some(&last)) = (word.first(), word.last()) else { return };
        self.decide(first);
        self.held += word.len();
        let before_last = match word {
            [.., before, _] => *before,
            _ => self.came[0],
        };
        if self.no_digits && word.iter().any(u8::is_ascii_digit) {
            self.word_without_digits(word, lowercase);
        } else {
            self.lists.word(word, lowercase);
            self.stayed = [last, if word.len() > 1 { before_last } else { self.stayed[0] }];
        }
        self.came = [last, before_last];
    }

    /// Any mark that is no blank.
    pub(super) fn mark(&mut self, byte: u8) {
        self.decide(byte);
        self.held += 1;
        if matches!(byte, b'+' | b'-') {
            self.wait(byte);
        } else {
            self.write(byte);
        }
        self.came = [byte, self.came[0]];
    }

    /// One blank for any number of them, none at the beginning.
    pub(super) fn blank(&mut self) {
        if !matches!(self.came[0], 0 | b' ') {
            self.one_blank();
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

    /// How many more bytes may come in.
    pub(super) fn room(&self) -> usize {
        self.limit.saturating_sub(self.held)
    }

    pub(super) fn is_full(&self) -> bool {
        self.held >= self.limit
    }

    /// Makes room of what was dropped or folded; whether that gave any.
    pub(super) fn settle(&mut self) -> bool {
        let waits = |waiting: &Waiting| waiting.byte != b' ' || blank_stays(waiting.before, 0);
        self.waiting = self.waiting.filter(waits);
        let held = self.lists.len() + usize::from(self.waiting.is_some());
        let gained = held < self.held;
        self.held = held;
        self.came = match self.waiting {
            Some(waiting) => [waiting.byte, self.stayed[0]],
            None => self.stayed,
        };
        self.dropped = 0;
        gained && held < self.limit
    }

    /// The text is over.
    pub(super) fn finish(&mut self) {
        self.decide(0);
    }

    fn one_blank(&mut self) {
        self.decide(b' ');
        self.held += 1;
        self.wait(b' ');
        self.came = [b' ', self.came[0]];
    }

    fn wait(&mut self, byte: u8) {
        self.waiting = Some(Waiting { byte, before: self.before() });
    }

    /// What is seen in the two places before the byte that comes in.
    fn before(&self) -> [u8; 2] {
        match self.dropped {
            0 => self.stayed,
            1 => [self.came[0], self.stayed[0]],
            _ => self.came,
        }
    }

    fn write(&mut self, byte: u8) {
        self.lists.mark(byte);
        self.stayed = [byte, self.stayed[0]];
    }

    /// Keeps or drops what is waiting, now that the byte after it is known; 0 is the end.
    fn decide(&mut self, next: u8) {
        if let Some(waiting) = self.waiting.take() {
            let stays = match waiting.byte {
                b' ' => blank_stays(waiting.before, next),
                _ => sign_stays(waiting.before, next),
            };
            if stays {
                self.write(waiting.byte);
            } else {
                self.dropped += 1;
            }
        }
    }

    /// Digits become one `?`, and nothing at the very beginning.
    fn word_without_digits(&mut self, word: &[u8], lowercase: bool) {
        for run in word.chunk_by(|a, b| a.is_ascii_digit() == b.is_ascii_digit()) {
            let Some(&last) = run.last() else { continue };
            if last.is_ascii_digit() {
                if self.came[0] == 0 || self.came[0].is_ascii_digit() {
                    self.dropped += run.len();
                } else {
                    self.dropped += run.len() - 1;
                    self.lists.word(b"?", false);
                    self.stayed = [b'?', self.stayed[0]];
                }
            } else {
                for byte in run {
                    self.stayed = [*byte, self.stayed[0]];
                }
                self.lists.word(run, lowercase);
            }
            self.came[0] = last;
        }
    }
}

/// Blanks go beside commas, inside parentheses, and where a value meets a sign of arithmetic; the
/// end of a comment keeps what follows it.
fn blank_stays([before, earlier]: [u8; 2], next: u8) -> bool {
    if [earlier, before] == *b"*/" {
        return true;
    }
    let at_list = matches!(before, b',' | b'(') || matches!(next, b',' | b')');
    let at_value =
        (before == b'?' && is_arithmetic(next)) || (is_arithmetic(before) && next == b'?');
    !at_list && !at_value
}

/// A sign goes where it seems to belong to what follows and not to join two operands.
fn sign_stays([before, earlier]: [u8; 2], next: u8) -> bool {
    let operand = match before {
        0 => return true,
        b' ' if is_word(earlier) => return false,
        b' ' => earlier,
        _ => before,
    };
    is_word(operand) || matches!(operand, b')' | b'?') || !matches!(next, b'?' | b' ')
}

fn is_arithmetic(byte: u8) -> bool {
    matches!(byte, b'+' | b'-' | b'*' | b'/' | b'%')
}
