//! What the numbers of servers' errors mean: every one that anything is decided by, in one table.
//!
//! Numbers and names are those of MySQL's and MariaDB's lists of server errors.

/// There is no such table.
pub(crate) const NO_SUCH_TABLE: u16 = 1146;

/// There is no such function or procedure.
pub(crate) const NO_SUCH_ROUTINE: u16 = 1305;

/// The data of a parameter that was sent ahead is of no use: told to every execution until the
/// statement is reset.
pub(crate) const WRONG_ARGUMENTS: u16 = 1210;

/// The statement is not prepared.
pub(crate) const UNKNOWN_STATEMENT: u16 = 1243;

/// A statement was interrupted.
pub(crate) const INTERRUPTED: u16 = 1317;

/// No more statements may be prepared.
pub(crate) const TOO_MANY_STATEMENTS: u16 = 1461;

/// A statement could not be prepared again after its tables had changed.
pub(crate) const NEEDS_PREPARE: u16 = 1615;

/// What follows from an error's number, whatever the server was asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Meaning(u16);

impl Meaning {
    /// Nothing but that something failed.
    const NONE: Self = Self(0);
    /// The server serves nobody any more on this connection, and did nothing: another one may.
    pub(crate) const GOING_AWAY: Self = Self(1);
    /// Of a login: it fails until the configuration changes, here or there.
    pub(crate) const FINAL: Self = Self(1 << 1);
    /// Of a login: the server is well, and has as many clients as it lets in.
    pub(crate) const FULL: Self = Self(1 << 2);
    /// Of a login: the same of the clients of one account.
    pub(crate) const ACCOUNT_FULL: Self = Self(1 << 3);
    /// Of a login: about what the session asks for, its schema or its character set.
    pub(crate) const OF_SESSION: Self = Self(1 << 4);
    /// Of a prepared statement: it did nothing, and may be mended.
    pub(crate) const MENDABLE: Self = Self(1 << 5);
    /// Of a statement: a schema, table, column, routine or privilege that it names is missing.
    pub(crate) const MISSING: Self = Self(1 << 6);
    /// Of a statement that writes: this server takes none.
    pub(crate) const READ_ONLY: Self = Self(1 << 7);
    /// Of a login: about the address that it comes from.
    pub(crate) const OF_ADDRESS: Self = Self(1 << 8);
    /// Of a question: about the account that asks: it is refused, locked or expired, or lacks a
    /// privilege.
    pub const OF_ACCOUNT: Self = Self(1 << 9);
    /// Of a login: the password is wrong.
    pub(crate) const WRONG_PASSWORD: Self = Self(1 << 10);
    /// Of a login: told to nobody but who has shown the right password.
    pub(crate) const BEHIND_PASSWORD: Self = Self(1 << 11);

    /// What a number means.
    pub fn of(code: u16) -> Self {
        let found = MEANINGS.binary_search_by_key(&code, |(number, _)| *number).ok();
        found.and_then(|at| MEANINGS.get(at)).map_or(Self::NONE, |(_, meaning)| *meaning)
    }

    /// Both.
    pub(crate) const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether it means any of this.
    pub const fn is(self, any: Self) -> bool {
        self.0 & any.0 != 0
    }
}

/// The schema that a login names is not there, or not for its account.
const OF_SCHEMA: Meaning = Meaning::FINAL.and(Meaning::OF_SESSION).and(Meaning::BEHIND_PASSWORD);

/// By number.
const MEANINGS: [(u16, Meaning); 41] = [
    (1040, Meaning::FULL),
    (1044, OF_SCHEMA.and(Meaning::OF_ACCOUNT)),
    (1045, Meaning::FINAL.and(Meaning::OF_ACCOUNT).and(Meaning::WRONG_PASSWORD)),
    (1047, Meaning::GOING_AWAY),
    (1049, OF_SCHEMA.and(Meaning::MISSING)),
    (1053, Meaning::GOING_AWAY),
    (1109, Meaning::MISSING),
    (1115, Meaning::OF_SESSION),
    (1128, Meaning::MISSING),
    (1129, Meaning::OF_ADDRESS),
    (1130, Meaning::OF_ADDRESS),
    (1142, Meaning::MISSING.and(Meaning::OF_ACCOUNT)),
    (1143, Meaning::MISSING.and(Meaning::OF_ACCOUNT)),
    (NO_SUCH_TABLE, Meaning::MISSING),
    (1203, Meaning::ACCOUNT_FULL),
    (1226, Meaning::ACCOUNT_FULL),
    (1227, Meaning::OF_ACCOUNT),
    (1231, Meaning::OF_SESSION),
    (UNKNOWN_STATEMENT, Meaning::MENDABLE),
    (1251, Meaning::FINAL),
    (1273, Meaning::OF_SESSION),
    (1290, Meaning::READ_ONLY),
    (NO_SUCH_ROUTINE, Meaning::MISSING),
    (1356, Meaning::MISSING),
    (1370, Meaning::MISSING),
    (TOO_MANY_STATEMENTS, Meaning::MENDABLE),
    // the account's plugin is not loaded
    (1524, Meaning::FINAL.and(Meaning::OF_ACCOUNT)),
    (NEEDS_PREPARE, Meaning::MENDABLE),
    (1630, Meaning::MISSING),
    (1698, Meaning::FINAL.and(Meaning::OF_ACCOUNT).and(Meaning::WRONG_PASSWORD)),
    (1820, Meaning::OF_ACCOUNT),
    (1836, Meaning::READ_ONLY),
    (1862, Meaning::FINAL.and(Meaning::OF_ACCOUNT)),
    (1927, Meaning::GOING_AWAY),
    (3118, Meaning::FINAL.and(Meaning::OF_ACCOUNT)),
    (3159, Meaning::FINAL.and(Meaning::OF_ACCOUNT)),
    (3169, Meaning::GOING_AWAY),
    (3955, Meaning::FINAL.and(Meaning::OF_ACCOUNT)),
    (4031, Meaning::GOING_AWAY),
    (4150, Meaning::FINAL.and(Meaning::OF_ACCOUNT)),
    (4151, Meaning::FINAL.and(Meaning::OF_ACCOUNT)),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_means_what_its_row_says_and_others_nothing() {
        assert!(MEANINGS.is_sorted_by_key(|(code, _)| code));
        let of = |any: Meaning| -> Vec<u16> {
            (0..=u16::MAX).filter(|code| Meaning::of(*code).is(any)).collect()
        };
        assert_eq!(of(Meaning::GOING_AWAY), [1047, 1053, 1927, 3169, 4031]);
        let accounts = [3118, 3159, 3955, 4150, 4151];
        let finals = [&[1044, 1045, 1049, 1251, 1524, 1698, 1862][..], &accounts].concat();
        assert_eq!(of(Meaning::FINAL), finals);
        let asking =
            [&[1044, 1045, 1142, 1143, 1227, 1524, 1698, 1820, 1862][..], &accounts].concat();
        assert_eq!(of(Meaning::OF_ACCOUNT), asking);
        assert_eq!(of(Meaning::WRONG_PASSWORD), [1045, 1698]);
        assert_eq!(of(Meaning::BEHIND_PASSWORD), [1044, 1049]);
        assert_eq!(of(Meaning::OF_ADDRESS), [1129, 1130]);
        assert_eq!(of(Meaning::FULL), [1040]);
        assert_eq!(of(Meaning::ACCOUNT_FULL), [1203, 1226]);
        assert_eq!(of(Meaning::OF_SESSION), [1044, 1049, 1115, 1231, 1273]);
        assert_eq!(of(Meaning::MENDABLE), [1243, 1461, 1615]);
        assert_eq!(of(Meaning::READ_ONLY), [1290, 1836]);
    }
}
