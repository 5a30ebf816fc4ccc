//! A text that an expression may come to, as far as it is known.

/// How many texts an expression may come to.
pub(super) const ALTERNATIVES: usize = 16;

/// A text that an expression may come to.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Made {
    /// Without what is not known.
    pub(super) text: Vec<u8>,
    /// Where the first part is missing that a function makes.
    pub(super) unread: Option<usize>,
}

impl Made {
    pub(super) fn unread() -> Vec<Self> {
        vec![Self { unread: Some(0), ..Self::default() }]
    }

    pub(super) fn unknown() -> Vec<Self> {
        vec![Self::default()]
    }

    pub(super) fn push(&mut self, other: &Self) {
        let before = self.text.len();
        self.unread = self.unread.or(other.unread.map(|at| at + before));
        self.text.extend_from_slice(&other.text);
    }

    pub(super) fn ends_unread(mut self) -> Self {
        self.unread = self.unread.or(Some(self.text.len()));
        self
    }

    /// As `QUOTE` writes it.
    pub(super) fn quoted(&self) -> Self {
        let mut quoted = Self { text: b"'".to_vec(), unread: None };
        for (at, byte) in self.text.iter().enumerate() {
            if self.unread == Some(at) {
                quoted = quoted.ends_unread();
            }
            if matches!(byte, b'\'' | b'\\') {
                quoted.text.push(b'\\');
            }
            quoted.text.push(*byte);
        }
        if self.unread.is_some() {
            quoted = quoted.ends_unread();
        }
        quoted.text.push(b'\'');
        quoted
    }

    /// As `REPLACE` writes it, of what is read to its end.
    pub(super) fn replaced(&self, from: &[u8], to: &Self) -> Self {
        let mut out = Self::default();
        let mut rest = &*self.text;
        while let Some(found) = memchr::memmem::find(rest, from) {
            let (before, behind) = rest.split_at_checked(found).unwrap_or_default();
            out.text.extend_from_slice(before);
            out.push(to);
            rest = behind.get(from.len()..).unwrap_or_default();
        }
        out.text.extend_from_slice(rest);
        out
    }
}
