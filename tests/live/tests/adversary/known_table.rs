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

/// Scripts of the session suite that are not run with lines sent ahead, and why.
pub(crate) const IN_TURN: &[(&str, &str)] = &[
    (
        "prepare_fails",
        "the proxy refuses what executes a statement that was not prepared; servers do not know of \
         that error",
    ),
    (
        "ansi_prepared",
        "MySQL prepares anew, under the mode of the execution, what another session had prepared \
         before the tables were made anew",
    ),
];

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
        why: "an answer to COM_INIT_DB repeats no warnings, as the documentation says",
        only: Some(Flavour::MySql),
        // every other time, somebody else needs the connection in between
        script: &[
            "SELECT CAST('x' AS SIGNED)",
            "USE: other",
            "DO 0",
            "SELECT CAST('x' AS SIGNED)",
            "USE: test",
            "SELECT CAST('x' AS SIGNED)",
            "USE: other",
        ],
        texts: &[],
        names: &["warnings_asked_late"],
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
        why: "a procedure that changes no row tells how many the statement before it changed",
        only: Some(Flavour::MySql),
        script: &["INSERT INTO t (b) VALUES ('x')", "CALL gives(@hidden)"],
        texts: &["CALL gives"],
        names: &[],
    },
];
