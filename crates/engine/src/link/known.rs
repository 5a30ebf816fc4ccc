//! What servers make of the collation id that a client logs in with: which ids they know, which no
//! client may have, and what they take in place of others.
//!
//! Told by a server's greeting; how a connection gets a character set is the parent's.

use std::borrow::Cow;

use wire::collation_table::{self as collation, Collation};

use super::Charset;

/// The collations that servers know by their ids.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KnownCollations {
    server: Server,
    /// What clients get whose id is not known.
    default: Charset,
}

/// A server's version, as far as collations differ.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Server {
    Untold,
    MySql(Version),
    MariaDb(Version),
}

type Version = (u32, u32, u32);

impl KnownCollations {
    /// With no server to ask: all that any server knows.
    pub const ANY: Self = Self { server: Server::Untold, default: Charset::Named("utf8mb4") };

    /// Those of a server with this version and default collation, as told by its greeting.
    pub fn told(version: &[u8], is_mariadb: bool, default: u8) -> Self {
        let version = read_version(version);
        let server = if is_mariadb { Server::MariaDb(version) } else { Server::MySql(version) };
        let known = Self { server, ..Self::ANY };
        // a greeting has no room for ids that are longer than a byte, such as that of MariaDB's
        // default for utf8mb4
        match known.find(default.into()).filter(|found| !is_refused(found.charset)) {
            Some(found) => Self { default: Charset::Collation(found.id), ..known },
            None => known,
        }
    }

    /// Whether they are those of a MariaDB.
    pub fn are_of_mariadb(&self) -> bool {
        matches!(self.server, Server::MariaDb(_))
    }

    /// The character sets of a client that logs in with this id, as servers give them; the name of
    /// one that servers let no client have.
    pub fn of_client(&self, id: u16) -> Result<Charset, &'static str> {
        match self.find(id) {
            _ if id == FILENAME => Err("filename"),
            Some(found) if is_refused(found.charset) => Err(found.charset),
            Some(_) => Ok(Charset::Collation(id)),
            None => Ok(self.default),
        }
    }

    fn find(&self, id: u16) -> Option<&'static Collation> {
        let is_known = match (self.server, id) {
            (Server::Untold, _) | (_, ..GB18030) => true,
            (Server::MySql(version), GB18030..UCA_0900) => version >= (5, 7, 0),
            (Server::MySql(version), UCA_0900..OF_MARIADB) => version >= (8, 0, 0),
            (Server::MySql(_), _) => false,
            (Server::MariaDb(_), GB18030..UCA_0900) => false,
            (Server::MariaDb(version), UCA_0900..OF_MARIADB) => knows_0900(version, id),
            (Server::MariaDb(version), UCA_1400..) => version >= (10, 10, 0),
            (Server::MariaDb(_), _) => true,
        };
        collation::find_id(id).filter(|_| is_known)
    }
}

impl Charset {
    /// What a client of it means by a name that is no UTF-8; any other is what it is. Of the
    /// character sets that are not, only latin1 is read.
    pub fn read_name(self, name: &[u8]) -> Cow<'_, [u8]> {
        if self.charset() != Some("latin1") || std::str::from_utf8(name).is_ok() {
            return Cow::Borrowed(name);
        }
        let read = |byte: &u8| match byte.checked_sub(0x80).map(usize::from) {
            Some(at) => LATIN1_HIGH.get(at).copied().unwrap_or(char::from(*byte)),
            None => char::from(*byte),
        };
        Cow::Owned(name.iter().map(read).collect::<String>().into_bytes())
    }

    /// Whether any server gives it to a client, so that none has to be asked.
    pub(super) fn is_everywhere(self) -> bool {
        let (charset, id) = match self {
            Self::Named(charset) => (charset, 0),
            Self::Collation(id) => (collation::find_id(id).map_or("", |found| found.charset), id),
        };
        let is_of_all = id < GB18030 && id != UTF8_TOLOWER && charset != "gb18030";
        is_of_all && !is_refused(charset)
    }
}

/// Whether servers take these bytes of UTF-8 for the name that they are, from a client that logs in
/// with this collation: they convert names from its character set.
pub fn takes_name(collation: u8, name: &[u8]) -> bool {
    let charset = collation::find_id(collation.into()).map_or("", |found| found.charset);
    match charset {
        "utf8mb4" | "utf8mb3" => true,
        // it has other letters in the place of these signs
        "swe7" => name.iter().all(|byte| byte.is_ascii() && !b"@[\\]^`{|}~".contains(byte)),
        _ => name.is_ascii(),
    }
}

/// What servers' latin1, which is Windows-1252, has between 0x80 and 0x9f.
const LATIN1_HIGH: [char; 32] = [
    '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž', '\u{8f}',
    '\u{90}', '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}', 'ž', 'Ÿ',
];

/// Whether servers let no client have this character set: they could not read its texts.
pub(super) fn is_refused(charset: &str) -> bool {
    matches!(charset, "ucs2" | "utf16" | "utf16le" | "utf32")
}

/// Whether a MariaDB knows one of MySQL's collations under another name of its own.
fn knows_0900(version: Version, id: u16) -> bool {
    const LAST: u16 = 308;
    let is_new = match version {
        (11, 4, patch) => patch >= 5,
        (11, 7, patch) => patch >= 2,
        (major, minor, _) => (major, minor) >= (11, 8),
    };
    is_new && id <= LAST
}

/// The first three numbers of a version; zero for what is missing.
fn read_version(text: &[u8]) -> Version {
    let text = text.strip_prefix(b"5.5.5-").unwrap_or(text);
    let mut numbers = text.split(|byte| !byte.is_ascii_digit()).map(|digits| {
        std::str::from_utf8(digits).ok().and_then(|digits| digits.parse().ok()).unwrap_or(0)
    });
    let mut next = || numbers.next().unwrap_or(0);
    (next(), next(), next())
}

/// The character set of file names, which is in no table.
const FILENAME: u16 = 17;

/// MySQL's `utf8mb3_tolower_ci`.
const UTF8_TOLOWER: u16 = 76;

/// The first of MySQL's `gb18030`, of its `utf8mb4_0900_…`, of those that only MariaDB has, and of
/// its `…_uca1400_…`.
const GB18030: u16 = 248;
const UCA_0900: u16 = 255;
const OF_MARIADB: u16 = 576;
const UCA_1400: u16 = 2048;

#[cfg(test)]
mod tests {
    use super::*;

    const LATIN1: Result<Charset, &str> = Ok(Charset::Collation(8));
    const UTF8MB4: Result<Charset, &str> = Ok(Charset::Named("utf8mb4"));

    fn itself(id: u16) -> Result<Charset, &'static str> {
        Ok(Charset::Collation(id))
    }

    #[test]
    fn an_id_that_a_server_does_not_know_means_its_default() {
        let maria = |version: &[u8]| KnownCollations::told(version, true, 8);
        let mysql = |version: &[u8]| KnownCollations::told(version, false, 8);
        let (old, new) = (maria(b"5.5.5-10.11.19-MariaDB"), maria(b"11.4.5-MariaDB-log"));
        let (five, eight) = (mysql(b"5.7.44-log"), mysql(b"8.0.36"));
        for (server, ids) in [
            (old, [LATIN1, LATIN1, LATIN1, itself(608), itself(2308)]),
            (maria(b"10.6.20-MariaDB"), [LATIN1, LATIN1, LATIN1, itself(608), LATIN1]),
            (new, [LATIN1, itself(255), itself(308), itself(608), itself(2308)]),
            (five, [itself(250), LATIN1, LATIN1, LATIN1, LATIN1]),
            (eight, [itself(250), itself(255), itself(308), LATIN1, LATIN1]),
            (
                KnownCollations::ANY,
                [itself(250), itself(255), itself(308), itself(608), itself(2308)],
            ),
        ] {
            let found = [250, 255, 308, 608, 2308].map(|id| server.of_client(id));
            assert_eq!(found, ids, "{server:?}");
            assert_eq!(server.of_client(45), itself(45));
        }
        assert_eq!([0, 100, 1273, 9999].map(|id| old.of_client(id)), [LATIN1; 4]);
        assert_eq!([0, 100, 1273, 9999].map(|id| KnownCollations::ANY.of_client(id)), [UTF8MB4; 4]);
        let late = KnownCollations::told(b"11.8.2-MariaDB", true, 0);
        assert_eq!(late.of_client(9999), UTF8MB4, "its own is 2304");
    }

    #[test]
    fn names_that_servers_would_take_for_others_are_known() {
        let umlaut = "müller".as_bytes();
        for (id, name, is_taken) in [
            (45, umlaut, true),
            (33, umlaut, true),
            (8, umlaut, false),
            (8, b"m~ller", true),
            (10, b"app_1.x", true),
            (10, b"m~ller", false),
            (82, b"own@r", false),
            (0, b"m~ller", true),
            (0, umlaut, false),
        ] {
            assert_eq!(takes_name(id, name), is_taken, "{id} {name:?}");
        }
    }

    #[test]
    fn a_name_in_latin1_is_read_and_one_in_utf8_stays() {
        let read = |charset: Charset, name: &[u8]| charset.read_name(name).into_owned();
        let latin1 = Charset::Collation(8);
        assert_eq!(read(latin1, b"m\xfcller\x80\x9f"), "müller€Ÿ".as_bytes());
        assert_eq!(read(latin1, "müller".as_bytes()), "müller".as_bytes());
        assert_eq!(read(Charset::Collation(45), b"m\xfcller"), b"m\xfcller");
        assert_eq!(read(Charset::Collation(10), b"m~ller"), b"m~ller");
    }

    #[test]
    fn no_client_has_a_character_set_that_servers_cannot_read() {
        let server = KnownCollations::told(b"5.5.5-10.11.19-MariaDB", true, 8);
        for (id, name) in [(17, "filename"), (35, "ucs2"), (54, "utf16"), (56, "utf16le")] {
            assert_eq!(server.of_client(id), Err(name));
        }
        assert_eq!([60, 736, 160].map(|id| server.of_client(id)), [Err("utf32"); 3]);
    }
}
