//! Rows of the registry: running queries, that is limits, digests, prepared statements, firewall.
//!
//! Data only; what a row means is in the parent module.

use super::{Effect, Kind, Unit, Variable, int, mysql};

/// The rows.
pub(super) const ROWS: &[Variable] = &[
    mysql("query_processor_regex", int(1, 2), "1", "Syntax of patterns in rules: 1 PCRE, 2 RE2.")
        .acts(Effect::AtOnce),
    mysql(
        "query_processor_first_comment_parsing",
        int(0, 3),
        "2",
        "Whether annotations in the first comment are followed: 0 never, 1 where no rule says \
         anything, 2 and 3 whatever rules say.",
    )
    .acts(Effect::AtOnce),
    mysql(
        "query_processor_iterations",
        int(0, 1_000_000),
        "0",
        "Times the rules may be gone through again after a flagOUT.",
    )
    .acts(Effect::AtOnce),
    mysql(
        "query_rules_fast_routing_algorithm",
        int(1, 2),
        "1",
        "How fast routing is looked up; Tidegate has one way.",
    ),
    mysql("default_query_delay", int(0, 3_600_000), "0", "Delay before each query.")
        .unit(Unit::Milliseconds)
        .acts(Effect::AtOnce),
    mysql(
        "default_query_timeout",
        int(1000, 1_728_000_000),
        "86400000",
        "Time a query may run before it is killed.",
    )
    .unit(Unit::Milliseconds)
    .acts(Effect::AtOnce),
    mysql(
        "long_query_time",
        int(0, 1_728_000_000),
        "1000",
        "Time from which a query counts as slow.",
    )
    .unit(Unit::Milliseconds)
    .acts(Effect::AtOnce),
    mysql(
        "max_transaction_time",
        int(1000, 1_728_000_000),
        "14400000",
        "Time a transaction may last; its session is ended then, as soon as no statement runs.",
    )
    .unit(Unit::Milliseconds)
    .acts(Effect::AtOnce),
    mysql(
        "max_transaction_idle_time",
        int(1000, 1_728_000_000),
        "14400000",
        "Time a session may be idle inside a transaction before it is ended.",
    )
    .unit(Unit::Milliseconds)
    .acts(Effect::AtOnce),
    mysql(
        "commands_stats",
        Kind::Bool,
        "true",
        "Whether queries are counted by kind of statement.",
    )
    .acts(Effect::AtOnce),
    mysql("query_digests", Kind::Bool, "true", "Whether queries are counted by digest.")
        .acts(Effect::AtOnce),
    mysql(
        "query_digests_max_digest_length",
        int(16, 1_048_576),
        "2048",
        "Bytes of a digest text that are kept.",
    )
    .unit(Unit::Bytes)
    .acts(Effect::AtOnce),
    mysql(
        "query_digests_max_query_length",
        int(16, 1_048_576),
        "65000",
        "Bytes of a query that are normalised.",
    )
    .unit(Unit::Bytes)
    .acts(Effect::AtOnce),
    mysql("query_digests_lowercase", Kind::Bool, "false", "Whether digest texts are lower-cased.")
        .acts(Effect::AtOnce),
    mysql(
        "query_digests_replace_null",
        Kind::Bool,
        "false",
        "Whether NULL becomes ? in digest texts.",
    )
    .acts(Effect::AtOnce),
    mysql(
        "query_digests_no_digits",
        Kind::Bool,
        "false",
        "Whether digits in names become ? in digest texts.",
    )
    .acts(Effect::AtOnce),
    mysql(
        "query_digests_grouping_limit",
        int(1, 2089),
        "3",
        "Values of a list that a digest text keeps.",
    )
    .acts(Effect::AtOnce),
    mysql(
        "query_digests_groups_grouping_limit",
        int(0, 2089),
        "10",
        "Row groups that a digest text keeps; 0 for all.",
    )
    .acts(Effect::AtOnce),
    mysql(
        "query_digests_normalize_digest_text",
        Kind::Bool,
        "false",
        "Whether each digest text is stored only once, as Tidegate always does.",
    ),
    mysql(
        "query_digests_track_hostname",
        Kind::Bool,
        "false",
        "Whether digests are counted by client address too.",
    )
    .acts(Effect::AtOnce),
    mysql("query_digests_keep_comment", Kind::Bool, "false", "Whether digest texts keep comments.")
        .acts(Effect::AtOnce),
    mysql(
        "parse_failure_logs_digest",
        Kind::Bool,
        "false",
        "Whether a SET that is not understood is logged as its digest only.",
    ),
    mysql(
        "verbose_query_error",
        Kind::Bool,
        "false",
        "Whether logged server errors name user, schema and digest.",
    ),
    mysql(
        "log_mysql_warnings_enabled",
        Kind::Bool,
        "false",
        "Whether warnings of servers are fetched and logged.",
    ),
    mysql(
        "log_unhealthy_connections",
        Kind::Bool,
        "true",
        "Whether a client connection found broken is logged.",
    ),
    mysql(
        "handle_warnings",
        int(0, 1),
        "1",
        "1 keeps the connection of a session that may ask for its warnings.",
    )
    .acts(Effect::AtOnce),
    mysql(
        "max_stmts_per_connection",
        int(1, 1024),
        "20",
        "Prepared statements kept on a backend connection; those unused for longest are closed.",
    )
    .acts(Effect::AtOnce),
    mysql(
        "max_stmts_cache",
        int(128, 1_048_576),
        "10000",
        "Prepared statements known in all before unused ones are dropped.",
    )
    .acts(Effect::AtOnce),
    mysql(
        "firewall_whitelist_enabled",
        Kind::Bool,
        "false",
        "Whether the query firewall is in force.",
    ),
    mysql(
        "firewall_whitelist_errormsg",
        Kind::Text,
        "Firewall blocked this query",
        "Text of the error for a query that the firewall stops.",
    ),
    mysql(
        "automatic_detect_sqli",
        Kind::Bool,
        "false",
        "Whether queries are searched for SQL injection.",
    ),
    mysql(
        "mirror_max_concurrency",
        int(1, 8192),
        "16",
        "Copies of mirrored queries that run at a time, shared out to the workers.",
    )
    .acts(Effect::AtOnce),
    mysql(
        "mirror_max_queue_length",
        int(0, 1_048_576),
        "32000",
        "Copies of mirrored queries that may wait, shared out to the workers; at most 16 MiB of \
         text wait on a worker. More are dropped.",
    )
    .acts(Effect::AtOnce),
    mysql(
        "stats_time_backend_query",
        Kind::Bool,
        "false",
        "Whether the time servers take is summed up.",
    )
    .acts(Effect::AtOnce),
    mysql(
        "stats_time_query_processor",
        Kind::Bool,
        "false",
        "Whether the time that digests and rules take is summed up.",
    )
    .acts(Effect::AtOnce),
    mysql("servers_stats", Kind::Bool, "true", "Whether bytes and queries are counted by server."),
];
