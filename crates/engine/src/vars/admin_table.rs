//! Rows of the registry: the `admin-` variables.
//!
//! Data only; what a row means is in the parent module.

use super::{Effect, Kind, Unit, Variable, admin, int};

/// The rows.
pub(super) const ROWS: &[Variable] = &[
    admin(
        "admin_credentials",
        Kind::Credentials,
        "admin:admin",
        "Accounts with full access to the admin interface.",
    )
    .acts(Effect::NewConnections)
    .secret(),
    admin(
        "stats_credentials",
        Kind::Credentials,
        "stats:stats",
        "Accounts that may only read statistics.",
    )
    .acts(Effect::NewConnections)
    .secret(),
    admin(
        "mysql_ifaces",
        Kind::Interfaces,
        "0.0.0.0:6032",
        "Addresses and Unix sockets of the admin interface.",
    )
    .acts(Effect::AtOnce),
    admin("telnet_admin_ifaces", Kind::Text, "", "An interface that does not exist any more."),
    admin("telnet_stats_ifaces", Kind::Text, "", "An interface that does not exist any more."),
    admin("read_only", Kind::Bool, "false", "Whether tables of the admin interface are read-only.")
        .acts(Effect::AtOnce),
    admin(
        "refresh_interval",
        int(101, 99_999),
        "2000",
        "Least age at which some statistics are gathered anew.",
    )
    .unit(Unit::Milliseconds),
    admin(
        "vacuum_stats",
        Kind::Bool,
        "true",
        "Whether statistics tables are emptied after a read.",
    ),
    admin(
        "version",
        Kind::ReadOnly,
        concat!("2.7.2-tidegate-", env!("CARGO_PKG_VERSION")),
        "Version of ProxySQL whose interface this is, then Tidegate's own.",
    ),
    admin(
        "cluster_username",
        Kind::Text,
        "",
        "Account used towards other members of a cluster; empty forms none.",
    ),
    admin("cluster_password", Kind::Text, "", "Password of that account.").secret(),
    admin(
        "cluster_check_interval_ms",
        int(10, 300_000),
        "1000",
        "Pause between looks at the other members.",
    )
    .unit(Unit::Milliseconds),
    admin(
        "cluster_check_status_frequency",
        int(0, 10_000),
        "10",
        "Looks between two that also fetch metrics; 0 never fetches them.",
    ),
    admin(
        "cluster_admin_variables_diffs_before_sync",
        int(0, 1000),
        "3",
        "Looks that must differ before admin variables are copied; 0 never copies.",
    ),
    admin(
        "cluster_ldap_variables_diffs_before_sync",
        int(0, 1000),
        "3",
        "Looks that must differ before LDAP variables are copied; 0 never copies.",
    ),
    admin(
        "cluster_mysql_query_rules_diffs_before_sync",
        int(0, 1000),
        "3",
        "Looks that must differ before query rules are copied; 0 never copies.",
    ),
    admin(
        "cluster_mysql_servers_diffs_before_sync",
        int(0, 1000),
        "3",
        "Looks that must differ before servers are copied; 0 never copies.",
    ),
    admin(
        "cluster_mysql_users_diffs_before_sync",
        int(0, 1000),
        "3",
        "Looks that must differ before users are copied; 0 never copies.",
    ),
    admin(
        "cluster_mysql_variables_diffs_before_sync",
        int(0, 1000),
        "3",
        "Looks that must differ before mysql variables are copied; 0 never copies.",
    ),
    admin(
        "cluster_proxysql_servers_diffs_before_sync",
        int(0, 1000),
        "3",
        "Looks that must differ before cluster members are copied; 0 never copies.",
    ),
    admin(
        "cluster_admin_variables_save_to_disk",
        Kind::Bool,
        "true",
        "Whether copied admin variables are saved to disk.",
    ),
    admin(
        "cluster_ldap_variables_save_to_disk",
        Kind::Bool,
        "true",
        "Whether copied LDAP variables are saved to disk.",
    ),
    admin(
        "cluster_mysql_query_rules_save_to_disk",
        Kind::Bool,
        "true",
        "Whether copied query rules are saved to disk.",
    ),
    admin(
        "cluster_mysql_servers_save_to_disk",
        Kind::Bool,
        "true",
        "Whether copied servers are saved to disk.",
    ),
    admin(
        "cluster_mysql_users_save_to_disk",
        Kind::Bool,
        "true",
        "Whether copied users are saved to disk.",
    ),
    admin(
        "cluster_mysql_variables_save_to_disk",
        Kind::Bool,
        "true",
        "Whether copied mysql variables are saved to disk.",
    ),
    admin(
        "cluster_proxysql_servers_save_to_disk",
        Kind::Bool,
        "true",
        "Whether copied cluster members are saved to disk.",
    ),
    admin(
        "cluster_mysql_servers_sync_algorithm",
        int(1, 3),
        "1",
        "Which servers are copied: 1 configured and live, 2 configured, 3 by monitoring.",
    ),
    admin(
        "checksum_admin_variables",
        Kind::Bool,
        "true",
        "Whether admin variables have a checksum to compare.",
    ),
    admin(
        "checksum_ldap_variables",
        Kind::Bool,
        "true",
        "Whether LDAP variables have a checksum to compare.",
    ),
    admin(
        "checksum_mysql_query_rules",
        Kind::Bool,
        "true",
        "Whether query rules have a checksum to compare.",
    ),
    admin(
        "checksum_mysql_servers",
        Kind::Bool,
        "true",
        "Whether servers have a checksum to compare.",
    ),
    admin("checksum_mysql_users", Kind::Bool, "true", "Whether users have a checksum to compare."),
    admin(
        "checksum_mysql_variables",
        Kind::Bool,
        "true",
        "Whether mysql variables have a checksum to compare.",
    ),
    admin(
        "stats_mysql_connections",
        int(0, 300),
        "60",
        "Pause between recorded samples of client connections; 0 records none.",
    )
    .unit(Unit::Seconds)
    .acts(Effect::AtOnce),
    admin(
        "stats_mysql_connection_pool",
        int(0, 300),
        "60",
        "Pause between recorded samples of the connection pool; 0 records none.",
    )
    .unit(Unit::Seconds)
    .acts(Effect::AtOnce),
    admin(
        "stats_mysql_query_cache",
        int(0, 300),
        "60",
        "Pause between recorded samples of the query cache; 0 records none.",
    )
    .unit(Unit::Seconds)
    .acts(Effect::AtOnce),
    admin(
        "stats_system_cpu",
        int(0, 600),
        "60",
        "Pause between recorded samples of processor use; 0 records none.",
    )
    .unit(Unit::Seconds)
    .acts(Effect::AtOnce),
    admin(
        "stats_system_memory",
        int(0, 600),
        "60",
        "Pause between recorded samples of memory use; 0 records none.",
    )
    .unit(Unit::Seconds)
    .acts(Effect::AtOnce),
    admin(
        "stats_mysql_query_digest_to_disk",
        int(0, 86_400),
        "0",
        "Pause between copies of the digest table to disk; 0 makes none.",
    )
    .unit(Unit::Seconds)
    .acts(Effect::AtOnce),
    admin(
        "require_secure_transport",
        Kind::Bool,
        "false",
        "Whether administrators and statistics accounts have to use TLS, except from this machine.",
    )
    .acts(Effect::AtOnce),
    admin(
        "proxy_protocol_networks",
        Kind::Networks,
        "",
        "Networks whose connections to the ports of administrators and of HTTP may begin with a \
         PROXY protocol header; * for all.",
    )
    .acts(Effect::NewConnections),
    admin("restapi_enabled", Kind::Bool, "false", "Whether REST calls and /metrics are served.")
        .acts(Effect::AtOnce),
    admin("restapi_port", int(1, 65_534), "6070", "Port of REST calls and /metrics.")
        .acts(Effect::AtOnce),
    admin(
        "restapi_address",
        Kind::Ip,
        "0.0.0.0",
        "Address of this machine on which REST calls and /metrics are served.",
    )
    .acts(Effect::AtOnce),
    admin(
        "restapi_authentication",
        Kind::Bool,
        "true",
        "Whether metrics and REST calls are answered to accounts and tokens only.",
    )
    .acts(Effect::AtOnce),
    admin(
        "restapi_tokens",
        Kind::Tokens,
        "",
        "Tokens that count like an account, separated by ;, or their `*` hashes.",
    )
    .acts(Effect::AtOnce)
    .secret(),
    admin("web_enabled", Kind::Bool, "false", "Whether the pages for browsers are served."),
    admin("web_port", int(1, 65_534), "6080", "Port of the pages for browsers."),
    admin("web_verbosity", int(0, 10), "0", "How much the pages for browsers log."),
    admin(
        "prometheus_memory_metrics_interval",
        int(1, 604_799),
        "61",
        "Pause between readings of memory metrics.",
    )
    .unit(Unit::Seconds),
    admin(
        "coredump_generation_interval_ms",
        int(0, 2_147_483_647),
        "30000",
        "Pause between two core dumps that filters ask for.",
    )
    .unit(Unit::Milliseconds),
    admin(
        "coredump_generation_threshold",
        int(1, 500),
        "10",
        "Most core dumps that filters may ask for.",
    ),
    admin(
        "ssl_keylog_file",
        Kind::Text,
        "",
        "File to which TLS session keys are written; empty writes none.",
    ),
    admin("debug", Kind::Bool, "false", "A switch of debug builds."),
    admin("debug_output", int(1, 3), "1", "Where debug builds write to."),
];
