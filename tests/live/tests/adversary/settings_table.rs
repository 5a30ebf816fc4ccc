//! What servers begin every session with, in the sets that the suite is run with.

/// A set: its name, and what is set globally.
pub(crate) struct Settings {
    pub(crate) name: &'static str,
    /// For both kinds of server.
    pub(crate) both: &'static str,
    pub(crate) mariadb: &'static str,
    pub(crate) mysql: &'static str,
    /// Names of the session suite's scripts that ask for what is set here.
    pub(crate) except: &'static [&'static str],
    /// Status flags that are not compared.
    pub(crate) flags: u16,
    /// One of so many lines at least is served by a connection that somebody else has marked.
    pub(crate) marked_of: usize,
}

const fn set(name: &'static str, both: &'static str) -> Settings {
    let except = &[];
    Settings { name, both, mariadb: "", mysql: "", except, flags: 0, marked_of: 6 }
}

const IN_TRANS: u16 = 1;
const AUTOCOMMIT: u16 = 2;

/// The sets; the first is what the lab's servers have anyway.
pub(crate) const SETTINGS: &[Settings] = &[
    set("defaults", ""),
    set("modes", "SET GLOBAL sql_mode = 'ANSI_QUOTES,NO_BACKSLASH_ESCAPES'"),
    // sessions keep their connections in transactions that each statement begins
    // and servers do not tell what a statement that failed has begun; and MySQL shows the flag of
    // `autocommit` until a session has set it
    Settings {
        marked_of: 12,
        flags: IN_TRANS | AUTOCOMMIT,
        ..set("autocommit", "SET GLOBAL autocommit = 0")
    },
    Settings {
        mysql: "SET GLOBAL session_track_transaction_info = 'STATE'",
        except: &["tracking_is_off_for_clients"],
        ..set(
            "tracking",
            "SET GLOBAL session_track_schema = OFF; \
             SET GLOBAL session_track_system_variables = ''; \
             SET GLOBAL session_track_state_change = ON",
        )
    },
    Settings {
        mariadb: "SET GLOBAL tx_isolation = 'SERIALIZABLE'",
        mysql: "SET GLOBAL transaction_isolation = 'SERIALIZABLE'",
        ..set("completion and isolation", "SET GLOBAL completion_type = 1")
    },
    set(
        "character sets",
        "SET GLOBAL character_set_server = latin1; \
                           SET GLOBAL collation_server = latin1_bin",
    ),
];
