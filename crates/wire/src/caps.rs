//! Capability flags: what the two ends of a connection agreed on.
//!
//! One number holds MySQL's 32 flags and, above them, MariaDB's extended ones. Which flags the
//! proxy offers or asks for is not decided here.

use std::fmt;

/// A set of capabilities. The low 32 bits are those of the MySQL protocol; the high 32 bits are
/// MariaDB's extended capabilities.
#[derive(Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct Caps(pub u64);

impl Caps {
    /// No capability.
    pub const NONE: Self = Self(0);
    /// Set by MySQL on both sides; clear when the sender is a MariaDB that uses the extended
    /// flags (it is then the flag once called `LONG_PASSWORD`).
    pub const MYSQL: Self = Self(1);
    /// The affected rows of an UPDATE are the found ones, not the changed ones.
    pub const FOUND_ROWS: Self = Self(1 << 1);
    /// Column flags of two bytes.
    pub const LONG_FLAG: Self = Self(1 << 2);
    /// The handshake response names a schema.
    pub const CONNECT_WITH_DB: Self = Self(1 << 3);
    /// `schema.table.column` is not allowed.
    pub const NO_SCHEMA: Self = Self(1 << 4);
    /// The compressed protocol with zlib.
    pub const COMPRESS: Self = Self(1 << 5);
    /// An ODBC client; without effect.
    pub const ODBC: Self = Self(1 << 6);
    /// `LOAD DATA LOCAL`.
    pub const LOCAL_FILES: Self = Self(1 << 7);
    /// A space may stand before the parenthesis of a function call.
    pub const IGNORE_SPACE: Self = Self(1 << 8);
    /// The protocol since version 4.1; nothing else is spoken here.
    pub const PROTOCOL_41: Self = Self(1 << 9);
    /// The interactive timeout counts, not the other one.
    pub const INTERACTIVE: Self = Self(1 << 10);
    /// TLS after a short handshake response.
    pub const SSL: Self = Self(1 << 11);
    /// Ignore SIGPIPE; without effect on the wire.
    pub const IGNORE_SIGPIPE: Self = Self(1 << 12);
    /// OK and EOF packets carry the status flags.
    pub const TRANSACTIONS: Self = Self(1 << 13);
    /// A former name of [`Self::PROTOCOL_41`].
    pub const RESERVED: Self = Self(1 << 14);
    /// Authentication by a 20-byte scramble.
    pub const SECURE_CONNECTION: Self = Self(1 << 15);
    /// Several statements in one `COM_QUERY`.
    pub const MULTI_STATEMENTS: Self = Self(1 << 16);
    /// Several results for one `COM_QUERY`.
    pub const MULTI_RESULTS: Self = Self(1 << 17);
    /// Several results for one `COM_STMT_EXECUTE`.
    pub const PS_MULTI_RESULTS: Self = Self(1 << 18);
    /// Authentication plugins by name.
    pub const PLUGIN_AUTH: Self = Self(1 << 19);
    /// Connection attributes in the handshake response.
    pub const CONNECT_ATTRS: Self = Self(1 << 20);
    /// The authentication response may be longer than 255 bytes.
    pub const PLUGIN_AUTH_LENENC: Self = Self(1 << 21);
    /// Connections with an expired password are kept in a sandbox.
    pub const EXPIRED_PASSWORDS: Self = Self(1 << 22);
    /// OK packets say how the state of the session changed.
    pub const SESSION_TRACK: Self = Self(1 << 23);
    /// An OK packet in place of the EOF packet.
    pub const DEPRECATE_EOF: Self = Self(1 << 24);
    /// Column definitions may be left out of a result (MySQL).
    pub const OPTIONAL_METADATA: Self = Self(1 << 25);
    /// The compressed protocol with zstd.
    pub const ZSTD: Self = Self(1 << 26);
    /// `COM_QUERY` carries parameters before the text (MySQL).
    pub const QUERY_ATTRIBUTES: Self = Self(1 << 27);
    /// More than one authentication factor.
    pub const MULTI_FACTOR: Self = Self(1 << 28);
    /// The client verifies the server's certificate; never on the wire.
    pub const SSL_VERIFY: Self = Self(1 << 30);
    /// The client remembers options; never on the wire.
    pub const REMEMBER_OPTIONS: Self = Self(1 << 31);
    /// MariaDB: progress reports while a statement runs.
    pub const MARIADB_PROGRESS: Self = Self(1 << 32);
    /// MariaDB: several commands in one packet (never finished, kept for its number).
    pub const MARIADB_MULTI: Self = Self(1 << 33);
    /// MariaDB: `COM_STMT_BULK_EXECUTE`.
    pub const MARIADB_BULK: Self = Self(1 << 34);
    /// MariaDB: type names and formats in column definitions.
    pub const MARIADB_EXTENDED_METADATA: Self = Self(1 << 35);
    /// MariaDB: column definitions of prepared statements are not sent again when unchanged.
    pub const MARIADB_CACHE_METADATA: Self = Self(1 << 36);
    /// MariaDB: a bulk execute answers with a result for each of its parts.
    pub const MARIADB_BULK_UNIT_RESULTS: Self = Self(1 << 37);

    /// What servers offer that Tidegate itself plays: the interface for administrators, and those
    /// that are embedded.
    pub const OF_OWN_SERVERS: Self = Self::MYSQL
        .union(Self::FOUND_ROWS)
        .union(Self::LONG_FLAG)
        .union(Self::CONNECT_WITH_DB)
        .union(Self::IGNORE_SPACE)
        .union(Self::PROTOCOL_41)
        .union(Self::INTERACTIVE)
        .union(Self::TRANSACTIONS)
        .union(Self::RESERVED)
        .union(Self::SECURE_CONNECTION)
        .union(Self::MULTI_STATEMENTS)
        .union(Self::MULTI_RESULTS)
        .union(Self::PS_MULTI_RESULTS)
        .union(Self::PLUGIN_AUTH)
        .union(Self::CONNECT_ATTRS)
        .union(Self::PLUGIN_AUTH_LENENC)
        .union(Self::DEPRECATE_EOF);

    /// All flags that MariaDB added.
    pub const MARIADB_ALL: Self = Self(0xffff_ffff << 32);

    /// Whether every flag of `other` is set.
    #[inline]
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether any flag of `other` is set.
    #[inline]
    pub const fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// The flags of both.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The flags that both have.
    #[must_use]
    pub const fn intersect(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// These flags but for those of `other`.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// The 32 flags of the MySQL protocol.
    pub const fn mysql_bytes(self) -> [u8; 4] {
        let [a, b, c, d, ..] = self.0.to_le_bytes();
        [a, b, c, d]
    }

    /// MariaDB's 32 extended flags.
    pub const fn mariadb_bytes(self) -> [u8; 4] {
        let [.., a, b, c, d] = self.0.to_le_bytes();
        [a, b, c, d]
    }

    /// The capabilities from both halves.
    pub const fn from_bytes(mysql: [u8; 4], mariadb: [u8; 4]) -> Self {
        let [a, b, c, d] = mysql;
        let [e, f, g, h] = mariadb;
        Self(u64::from_le_bytes([a, b, c, d, e, f, g, h]))
    }
}

impl std::ops::BitOr for Caps {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        self.union(other)
    }
}

impl fmt::Debug for Caps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Caps({:#x})", self.0)
    }
}
