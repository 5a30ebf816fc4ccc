//! What one pass over a text tells.

use std::borrow::Cow;
use std::ops::Range;

use crate::{Effects, Modes, Verb};

/// What the proxy must know of a text.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Facts {
    /// Kind of the (first) statement.
    pub verb: Verb,
    /// What all its statements may leave behind or read of what was left.
    pub effects: Effects,
    /// For `USE x`: where the name stands in the text, without its quotes.
    pub schema: Option<Range<usize>>,
}

/// The facts of `text`, read as a server's default modes read it.
pub fn facts(text: &[u8]) -> Facts {
    facts_in(text, Modes::default())
}

/// The facts of `text`, read as `modes` say.
pub fn facts_in(_text: &[u8], _modes: Modes) -> Facts {
    Facts { effects: Effects::UNCLEAR, ..Facts::default() }
}

/// Whether the text only reads: it may be sent once more, to another server, after a failure.
pub fn is_read_only(facts: &Facts) -> bool {
    let reads = matches!(
        facts.verb,
        Verb::Select | Verb::Show | Verb::ShowTableStatus | Verb::Describe | Verb::Explain
    );
    reads && facts.effects.without(Effects::SYSTEM_VARIABLE).is_empty()
}

/// The schema of a text that is one `USE x` and nothing else.
pub fn parse_use(_text: &[u8]) -> Option<Cow<'_, [u8]>> {
    None
}
