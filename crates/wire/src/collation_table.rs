//! Collations: their ids, names and character sets, of MariaDB and MySQL together.
//!
//! A table with look-ups, nothing else.

/// A collation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Collation {
    /// Its id.
    pub id: u16,
    /// Its name.
    pub name: &'static str,
    /// The name of its character set.
    pub charset: &'static str,
    /// Whether it is the default one of its character set.
    pub is_default: bool,
}

/// The collation of an id.
pub fn find_id(id: u16) -> Option<&'static Collation> {
    let at = ALL.binary_search_by_key(&id, |collation| collation.id).ok()?;
    ALL.get(at)
}

/// The collation of a name, letter case aside.
pub fn find_name(name: &[u8]) -> Option<&'static Collation> {
    ALL.iter().find(|collation| collation.name.as_bytes().eq_ignore_ascii_case(name))
}

/// The default collation of a character set, letter case aside.
pub fn find_charset_default(charset: &[u8]) -> Option<&'static Collation> {
    ALL.iter().find(|c| c.is_default && c.charset.as_bytes().eq_ignore_ascii_case(charset))
}

/// Every collation, by id.
pub const ALL: &[Collation] = &[];
