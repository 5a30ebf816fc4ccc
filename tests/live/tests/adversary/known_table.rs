//! Differences that are not mended yet, or stay, as `docs/connections.md` says. Each is shown by a
//! script that must still differ, so that none is here longer than it is so; what shows it is kept
//! out of everything else.

use lab::Flavour;

/// A difference, and what has it.
pub(crate) struct Known {
    pub(crate) why: &'static str,
    /// Where it is so; `None` for both.
    pub(crate) only: Option<Flavour>,
    /// Lines that show it.
    pub(crate) script: &'static [&'static str],
    /// What statements of the generator that show it have in their texts.
    pub(crate) texts: &'static [&'static str],
    /// What scripts of the session suite that show it have in their names.
    pub(crate) names: &'static [&'static str],
}

/// All of them.
pub(crate) const KNOWN: &[Known] = &[
    Known {
        why: "what a SET without a server leaves of warnings that came before it",
        only: Some(Flavour::MySql),
        script: &["SELECT CAST('x' AS SIGNED)", "SET @a = 1", "SHOW WARNINGS"],
        texts: &[],
        names: &["warnings_after_set"],
    },
    Known {
        why: "under a name without AS it is that of the connection, as the documentation says",
        only: Some(Flavour::MariaDb),
        script: &["SELECT 1 UNION SELECT 2 UNION SELECT 3", "SELECT FOUND_ROWS() n"],
        texts: &["FOUND_ROWS() n"],
        names: &["found_rows_named"],
    },
    Known {
        why: "it does not warn that servers will be without it, as the documentation says",
        only: Some(Flavour::MySql),
        script: &["SELECT FOUND_ROWS()"],
        texts: &["FOUND_ROWS()"],
        names: &["row_count_as_written", "found_rows"],
    },
    Known {
        why: "a function or view that reads the connection's id reads that of the server's",
        only: None,
        script: &["SELECT sees_connection() = CONNECTION_ID()"],
        texts: &["sees_connection", "v_connection"],
        names: &[],
    },
    Known {
        why: "an update by ON DUPLICATE KEY UPDATE counts as an insert",
        only: None,
        script: &[
            "INSERT INTO t (a, b) VALUES (2, 'x') ON DUPLICATE KEY UPDATE b = ''",
            "SELECT LAST_INSERT_ID()",
        ],
        texts: &["ON DUPLICATE"],
        names: &[],
    },
    Known {
        why: "a procedure that changes no row tells how many the statement before it changed",
        only: Some(Flavour::MySql),
        script: &["INSERT INTO t (b) VALUES ('x')", "CALL gives(@hidden)"],
        texts: &["CALL gives"],
        names: &[],
    },
];
