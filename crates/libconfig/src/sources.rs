//! Several files in one space of offsets, so that a range names file and place at once.

/// The files that were read, the first one being the one asked for.
#[derive(Clone, Default, Debug)]
pub struct Sources {
    files: Vec<Source>,
}

/// One file.
#[derive(Clone, Debug)]
pub struct Source {
    /// Its name as it is shown.
    pub origin: String,
    /// Its text.
    pub text: String,
    /// Offset of its first byte.
    pub start: usize,
}

impl Sources {
    /// The space of a single file.
    pub fn of(origin: &str, text: &str) -> Self {
        let mut sources = Self::default();
        sources.add(origin, text);
        sources
    }

    /// The file that holds `offset`; its end belongs to it.
    pub fn find(&self, offset: usize) -> Option<&Source> {
        self.files.iter().rev().find(|source| source.start <= offset)
    }

    /// Names of all files, as they are shown.
    pub fn origins(&self) -> impl Iterator<Item = &str> {
        self.files.iter().map(|source| source.origin.as_str())
    }

    /// Adds a file; the offset of its first byte.
    pub(crate) fn add(&mut self, origin: &str, text: &str) -> usize {
        let start = self.end();
        self.files.push(Source { origin: origin.to_owned(), text: text.to_owned(), start });
        start
    }

    /// Bytes of all files.
    pub(crate) fn end(&self) -> usize {
        self.files.last().map_or(0, |last| last.start + last.text.len() + 1)
    }

    /// How many files there are.
    pub(crate) fn count(&self) -> usize {
        self.files.len()
    }
}
