//! Rows of the registry: connections to servers and the pool that keeps them.
//!
//! Data only; what a row means is in the parent module.

use super::{Effect, Kind, Unit, Variable, int, mysql};

/// The rows.
pub(super) const ROWS: &[Variable] = &[
    mysql(
        "connect_timeout_server",
        int(10, 120_000),
        "1000",
        "Time one attempt to connect to a server may take, handshake included.",
    )
    .unit(Unit::Milliseconds)
    .acts(Effect::AtOnce),
    mysql(
        "connect_timeout_server_max",
        int(10, 3_600_000),
        "10000",
        "Time a query may wait for a connection in all; then error 9001.",
    )
    .unit(Unit::Milliseconds)
    .acts(Effect::AtOnce),
    mysql(
        "connect_retries_on_failure",
        int(0, 1000),
        "10",
        "Further attempts to connect for one query.",
    )
    .acts(Effect::AtOnce),
    mysql("connect_retries_delay", int(0, 10_000), "1", "Pause between two attempts to connect.")
        .unit(Unit::Milliseconds)
        .acts(Effect::AtOnce),
    mysql(
        "query_retries_on_failure",
        int(0, 1000),
        "1",
        "Times a query is sent again when its connection broke before any byte of a reply.",
    )
    .acts(Effect::AtOnce),
    mysql(
        "default_reconnect",
        Kind::Bool,
        "true",
        "Whether queries may be repeated on another connection at all.",
    ),
    mysql("multiplexing", Kind::Bool, "true", "Whether sessions share backend connections.")
        .acts(Effect::AtOnce),
    mysql(
        "auto_increment_delay_multiplex",
        int(0, 1_000_000),
        "5",
        "Queries for which a session keeps its connection after an auto-increment insert.",
    ),
    mysql(
        "auto_increment_delay_multiplex_timeout_ms",
        int(0, 3_600_000),
        "10000",
        "Time after which that connection is given back all the same; 0 sets no limit.",
    )
    .unit(Unit::Milliseconds),
    mysql(
        "connection_delay_multiplex_ms",
        int(0, 300_000),
        "0",
        "Time a session keeps its connection after a query that did not share it.",
    )
    .unit(Unit::Milliseconds)
    .acts(Effect::AtOnce),
    mysql(
        "connection_max_age_ms",
        int(0, 86_400_000),
        "0",
        "Age at which an idle backend connection is closed; 0 for never.",
    )
    .unit(Unit::Milliseconds)
    .acts(Effect::AtOnce),
    mysql(
        "free_connections_pct",
        int(0, 100),
        "10",
        "Idle connections kept, as a share of the server's max_connections.",
    )
    .unit(Unit::Percent)
    .acts(Effect::AtOnce),
    mysql(
        "connection_warming",
        Kind::Bool,
        "false",
        "Whether connections are opened ahead of need.",
    )
    .acts(Effect::AtOnce),
    mysql(
        "throttle_connections_per_sec_to_hostgroup",
        int(1, 100_000_000),
        "1000000",
        "New backend connections a hostgroup may get in a second.",
    )
    .acts(Effect::AtOnce),
    mysql(
        "connpoll_reset_queue_length",
        int(0, 10_000),
        "50",
        "Connections that may wait to be reset before they are used again.",
    ),
    mysql(
        "reset_connection_algorithm",
        int(1, 2),
        "2",
        "Who resets connections; Tidegate resets them on the worker.",
    ),
    mysql(
        "ping_interval_server_msec",
        int(1000, 604_800_000),
        "10000",
        "Pause between pings of an idle backend connection.",
    )
    .unit(Unit::Milliseconds)
    .acts(Effect::AtOnce),
    mysql(
        "ping_timeout_server",
        int(10, 600_000),
        "200",
        "Time a ping of an idle backend connection may take.",
    )
    .unit(Unit::Milliseconds)
    .acts(Effect::AtOnce),
    mysql(
        "shun_on_failures",
        int(0, 10_000_000),
        "5",
        "Connect errors within a second after which a server is shunned.",
    )
    .acts(Effect::AtOnce),
    mysql(
        "shun_recovery_time_sec",
        int(0, 31_536_000),
        "10",
        "Time until a shunned server is used again that did not answer before.",
    )
    .unit(Unit::Seconds)
    .acts(Effect::AtOnce),
    mysql(
        "unshun_algorithm",
        int(0, 1),
        "0",
        "1 takes a server back in all its hostgroups together.",
    ),
    mysql(
        "default_max_latency_ms",
        int(0, 1_728_000_000),
        "1000",
        "Latency limit of servers whose row sets none.",
    )
    .unit(Unit::Milliseconds)
    .acts(Effect::AtOnce),
    mysql(
        "min_num_servers_lantency_awareness",
        int(0, 10_000),
        "1000",
        "From this many servers in a hostgroup on, those whose pings take longer than the mean of \
         all are tried last; 0 for never.",
    )
    .acts(Effect::AtOnce),
    mysql(
        "aurora_max_lag_ms_only_read_from_replicas",
        int(0, 100),
        "2",
        "From this many servers within a query's `max_lag_ms` on, the query is kept off Aurora's \
         writer; 0 for never.",
    )
    .acts(Effect::AtOnce),
    mysql(
        "evaluate_replication_lag_on_servers_load",
        int(0, 1),
        "1",
        "1 keeps lagging servers left out when servers are loaded anew.",
    )
    .acts(Effect::AtOnce),
    mysql("poll_timeout", int(10, 20_000), "2000", "Longest time a worker's loop sleeps.")
        .unit(Unit::Milliseconds),
    mysql("poll_timeout_on_failure", int(10, 20_000), "100", "The same while connections fail.")
        .unit(Unit::Milliseconds),
    mysql(
        "binlog_reader_connect_retry_msec",
        int(200, 120_000),
        "3000",
        "Pause before a GTID reader is connected to again.",
    )
    .unit(Unit::Milliseconds),
    mysql(
        "kill_backend_connection_when_disconnect",
        Kind::Bool,
        "true",
        "Whether a running query is killed on its server when its client goes away.",
    )
    .acts(Effect::AtOnce),
    mysql(
        "ssl_p2s_ca",
        Kind::Text,
        "",
        "File of authorities that vouch for servers, or with their own certificates; without one \
         and ssl_p2s_capath those that the system trusts.",
    )
    .acts(Effect::NewConnections),
    mysql("ssl_p2s_capath", Kind::Text, "", "Directory of such files.")
        .acts(Effect::NewConnections),
    mysql("ssl_p2s_cert", Kind::Text, "", "File of the certificate that servers are shown.")
        .acts(Effect::NewConnections),
    mysql("ssl_p2s_key", Kind::Text, "", "File of its private key.").acts(Effect::NewConnections),
    mysql(
        "ssl_p2s_cipher",
        Kind::Text,
        "",
        "Cipher suites towards servers, by OpenSSL's names and separated by `:`; empty for all.",
    )
    .acts(Effect::NewConnections),
    mysql(
        "ssl_p2s_crl",
        Kind::Text,
        "",
        "File of lists of servers' certificates that are revoked.",
    )
    .acts(Effect::NewConnections),
    mysql("ssl_p2s_crlpath", Kind::Text, "", "Directory of such files.")
        .acts(Effect::NewConnections),
];
