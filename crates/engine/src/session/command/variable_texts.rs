//! The texts by which a session set user variables to what only a server knows. Some of it can be
//! told from the texts all the same, and a text may be made of it that the session has run.

use std::collections::VecDeque;

/// Such texts, and those behind them that set user variables.
#[derive(Default)]
pub(crate) struct VariableTexts {
    texts: VecDeque<Box<[u8]>>,
    bytes: usize,
}

impl VariableTexts {
    /// Bytes of texts that are kept: of more, the first ones are forgotten.
    const MAX: usize = 2048;

    /// A text sets variables; where their values are known, only what was set before matters.
    pub(crate) fn note(&mut self, text: &[u8], is_known: bool) {
        if (is_known && self.texts.is_empty()) || text.len() > Self::MAX {
            return;
        }
        self.bytes += text.len();
        self.texts.push_back(text.into());
        while self.bytes > Self::MAX {
            let forgotten = self.texts.pop_front();
            self.bytes -= forgotten.map_or(0, |text| text.len());
        }
    }

    /// All of them in front of a text, as if it were one; `None` without any.
    pub(crate) fn in_front_of(&self, text: &[u8]) -> Option<Vec<u8>> {
        if self.texts.is_empty() {
            return None;
        }
        let mut all = Vec::with_capacity(self.bytes + 3 * self.texts.len() + text.len());
        for before in &self.texts {
            all.extend_from_slice(before);
            // behind a comment, too
            all.extend_from_slice(b"\n;\n");
        }
        all.extend_from_slice(text);
        Some(all)
    }
}
