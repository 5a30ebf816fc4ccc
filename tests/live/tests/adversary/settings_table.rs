//! What servers begin every session with, in the sets that the suite is run with.

/// A set: its name, and what is set globally.
pub(crate) struct Settings {
    pub(crate) name: &'static str,
    /// For both kinds of server.
    pub(crate) both: &'static str,
    pub(crate) mariadb: &'static str,
    pub(crate) mysql: &'static str,
}

const fn set(name: &'static str, both: &'static str) -> Settings {
    Settings { name, both, mariadb: "", mysql: "" }
}

/// The sets; the first is what the lab's servers have anyway.
pub(crate) const SETTINGS: &[Settings] = &[
    set("defaults", ""),
    set("modes", "SET GLOBAL sql_mode = 'ANSI_QUOTES,NO_BACKSLASH_ESCAPES'"),
    set("autocommit", "SET GLOBAL autocommit = 0"),
    Settings {
        name: "tracking",
        both: "SET GLOBAL session_track_schema = OFF; \
               SET GLOBAL session_track_system_variables = ''; \
               SET GLOBAL session_track_state_change = ON",
        mariadb: "",
        mysql: "SET GLOBAL session_track_transaction_info = 'STATE'",
    },
    Settings {
        name: "completion and isolation",
        both: "SET GLOBAL completion_type = 1",
        mariadb: "SET GLOBAL tx_isolation = 'SERIALIZABLE'",
        mysql: "SET GLOBAL transaction_isolation = 'SERIALIZABLE'",
    },
    set(
        "character sets",
        "SET GLOBAL character_set_server = latin1; \
                           SET GLOBAL collation_server = latin1_bin",
    ),
];
