//! The compiled patterns of a set by what was typed, so that the set that follows it takes over the
//! patterns that stay.

use std::collections::HashMap;
use std::sync::Arc;

use super::dialect::PatternRefusal;
use super::pattern::{Options, Pattern};

/// Each pattern of a set once.
#[derive(Debug, Default)]
pub(super) struct Patterns(HashMap<Options, HashMap<Box<str>, KnownPattern>>);

/// A pattern, and why it has to backtrack, when it has.
#[derive(Clone, Debug)]
pub(super) struct KnownPattern {
    pub(super) pattern: Arc<Pattern>,
    pub(super) slow: Option<Arc<PatternRefusal>>,
}

impl Patterns {
    /// A pattern that is known here or was before, or else is compiled.
    pub(super) fn find(
        &mut self,
        before: Option<&Self>,
        text: &str,
        options: Options,
    ) -> Result<KnownPattern, PatternRefusal> {
        if let Some(known) = self.get(text, options) {
            return Ok(known.clone());
        }
        let known = match before.and_then(|before| before.get(text, options)) {
            Some(known) => known.clone(),
            None => {
                let (pattern, slow) = Pattern::compile(text, options)?;
                KnownPattern { pattern: Arc::new(pattern), slow: slow.map(Arc::new) }
            }
        };
        self.0.entry(options).or_default().insert(text.into(), known.clone());
        Ok(known)
    }

    fn get(&self, text: &str, options: Options) -> Option<&KnownPattern> {
        self.0.get(&options)?.get(text)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Engine;
    use super::*;

    #[test]
    fn what_stays_is_taken_over_and_what_is_read_otherwise_is_not() {
        let plain =
            Options { engine: Engine::Pcre, caseless: false, replaces: false, global: false };
        let caseless = Options { caseless: true, ..plain };
        let find = |patterns: &mut Patterns, before: Option<&Patterns>, options| {
            patterns.find(before, "^SELECT a+b", options).expect("it compiles").pattern
        };
        let mut first = Patterns::default();
        let one = find(&mut first, None, plain);
        assert!(Arc::ptr_eq(&one, &find(&mut first, None, plain)));
        let mut second = Patterns::default();
        assert!(Arc::ptr_eq(&one, &find(&mut second, Some(&first), plain)));
        assert!(!Arc::ptr_eq(&one, &find(&mut second, Some(&first), caseless)));
        assert!(second.find(Some(&first), "(", plain).is_err());
    }
}
