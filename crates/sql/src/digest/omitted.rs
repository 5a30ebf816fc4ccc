//! What is in a query and not in its digest.

/// What of a query the text of its digest does not show, beside how many blanks it has and where it
/// has none; each includes those before it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Omitted {
    /// Which numbers there are, with their signs. They consist of digits, with a point at most.
    Numbers,
    /// What is in single quotes. There is no backslash in it.
    Strings,
    /// Anything: comments, signs, literals that look otherwise, what is beyond a limit.
    #[default]
    More,
}
