//! Rows of the registry: character sets and what a session starts with.
//!
//! Data only; what a row means is in the parent module.

use super::{Effect, Kind, Variable, int, mysql};

/// The rows.
pub(super) const ROWS: &[Variable] = &[
    mysql(
        "default_charset",
        Kind::Text,
        "utf8",
        "Character set assumed when a client asks for none that is known.",
    ),
    mysql(
        "default_collation_connection",
        Kind::Text,
        "utf8_general_ci",
        "Collation that goes with the default character set.",
    ),
    mysql(
        "handle_unknown_charset",
        int(0, 2),
        "1",
        "Collation a server does not know: 0 disconnects, 1 replaces and logs, 2 replaces.",
    ),
    mysql(
        "default_session_track_gtids",
        Kind::OneOf(&["OFF", "OWN_GTID"]),
        "OFF",
        "Value of session_track_gtids on backend connections.",
    ),
    mysql(
        "client_session_track_gtid",
        Kind::Bool,
        "true",
        "Whether clients that track their session are told GTIDs.",
    ),
    mysql(
        "init_connect",
        Kind::Text,
        "",
        "Statement sent once on each new backend connection, and again when one is reset; it must \
         give no result. What it sets lasts until a session sets the same.",
    )
    .acts(Effect::NewConnections),
    mysql(
        "set_query_lock_on_hostgroup",
        int(0, 1),
        "1",
        "1 refuses (9006) statements that change data or definitions and that rules send to a \
         hostgroup without the server that their session is tied to; 0 runs them on that server.",
    )
    .acts(Effect::AtOnce),
    mysql(
        "set_parser_algorithm",
        int(1, 2),
        "2",
        "Which parser reads SET statements; Tidegate has one.",
    ),
    mysql(
        "keep_multiplexing_variables",
        Kind::Text,
        "tx_isolation,transaction_isolation,version",
        "Server variables that may be read without tying the session to its connection.",
    ),
    mysql(
        "enforce_autocommit_on_reads",
        Kind::Bool,
        "false",
        "Whether reads under autocommit=0 keep that setting on the server.",
    ),
    mysql(
        "autocommit_false_is_transaction",
        Kind::Bool,
        "false",
        "Whether autocommit=0 alone counts as an open transaction.",
    ),
    mysql(
        "autocommit_false_not_reusable",
        Kind::Bool,
        "false",
        "Whether connections with autocommit=0 stay out of the pool.",
    ),
    mysql(
        "add_ldap_user_comment",
        Kind::Text,
        "",
        "Comment that carries the LDAP user name to servers.",
    ),
    mysql(
        "ldap_user_variable",
        Kind::Text,
        "",
        "User variable that carries the LDAP user name to servers.",
    ),
];
