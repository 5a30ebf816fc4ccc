//! Rows of the registry: listeners, protocol and authentication towards clients.
//!
//! Data only; what a row means is in the parent module.

use super::{Effect, Kind, Unit, Variable, int, mysql};

/// The rows.
pub(super) const ROWS: &[Variable] = &[
    mysql(
        "interfaces",
        Kind::Interfaces,
        "0.0.0.0:6033",
        "Addresses and Unix sockets on which clients are served.",
    )
    .acts(Effect::AtOnce),
    mysql(
        "interfaces_tls",
        Kind::InterfacesTls,
        "",
        "What listeners of mysql-interfaces demand of clients: `required`, `certificate`, \
         `TLSv1.2` or `TLSv1.3`, as in `0.0.0.0:6034 certificate TLSv1.3`.",
    )
    .acts(Effect::NewConnections),
    mysql("threads", int(1, 255), "4", "Worker threads; each serves its own share of the clients.")
        .acts(Effect::Restart),
    mysql(
        "stacksize",
        int(262_144, 4_194_304),
        "1048576",
        "Stack of a worker thread.",
    )
    .unit(Unit::Bytes),
    mysql(
        "server_version",
        Kind::Text,
        "",
        "Version told to clients; empty tells the one learned from the servers.",
    )
    .acts(Effect::NewConnections),
    mysql(
        "server_capabilities",
        int(11, 2_147_483_647),
        "569867",
        "Capability bits offered to clients, as one number.",
    ),
    mysql(
        "default_authentication_plugin",
        Kind::OneOf(&["mysql_native_password", "caching_sha2_password"]),
        "mysql_native_password",
        "Authentication method that the greeting proposes to clients.",
    )
    .acts(Effect::NewConnections),
    mysql("have_ssl", Kind::Bool, "true", "Whether clients are offered TLS.")
        .acts(Effect::NewConnections),
    mysql(
        "require_secure_transport",
        Kind::Bool,
        "false",
        "Whether TCP clients have to use TLS; without it they get error 3159.",
    )
    .acts(Effect::NewConnections),
    mysql(
        "have_compress",
        Kind::Bool,
        "true",
        "Whether clients are offered compression of the protocol, by zlib or zstd.",
    )
    .acts(Effect::NewConnections),
    mysql(
        "enable_client_deprecate_eof",
        Kind::Bool,
        "true",
        "Whether clients may do without EOF packets in results.",
    ),
    mysql(
        "enable_server_deprecate_eof",
        Kind::Bool,
        "true",
        "Whether servers are asked to leave EOF packets out of results.",
    ),
    mysql(
        "max_allowed_packet",
        int(8192, 1_073_741_824),
        "67108864",
        "Longest command a client may send; a longer one gets error 1153. So much parameter data a \
         session may send ahead of executions.",
    )
    .unit(Unit::Bytes)
    .acts(Effect::NewConnections),
    mysql(
        "max_connections",
        int(1, 1_000_000),
        "10000",
        "Most clients that have logged in; one more gets error 1040.",
    )
    .acts(Effect::AtOnce),
    mysql(
        "connect_timeout_client",
        int(500, 3_600_000),
        "10000",
        "Time a client has to complete its handshake.",
    )
    .unit(Unit::Milliseconds)
    .acts(Effect::NewConnections),
    mysql(
        "wait_timeout",
        int(0, 1_728_000_000),
        "28800000",
        "Time a client may stay idle before it is disconnected; 0 sets no limit.",
    )
    .unit(Unit::Milliseconds)
    .acts(Effect::AtOnce),
    mysql(
        "proxy_protocol_networks",
        Kind::Networks,
        "",
        "Networks whose connections may begin with a PROXY protocol header; * for all.",
    )
    .acts(Effect::NewConnections),
    mysql(
        "client_host_cache_size",
        int(0, 1_048_576),
        "0",
        "Client addresses whose failures are remembered; 0 remembers none.",
    )
    .acts(Effect::AtOnce),
    mysql(
        "client_host_error_counts",
        int(0, 1_048_576),
        "0",
        "Failures after which a remembered client address is turned away.",
    )
    .acts(Effect::AtOnce),
    mysql(
        "use_tcp_keepalive",
        Kind::Bool,
        "true",
        "Whether TCP keepalive is set on client and server sockets.",
    )
    .acts(Effect::NewConnections),
    mysql(
        "tcp_keepalive_time",
        int(0, 7200),
        "120",
        "Idle time before the first keepalive probe; 0 is the system's.",
    )
    .unit(Unit::Seconds)
    .acts(Effect::NewConnections),
    mysql(
        "enable_load_data_local_infile",
        Kind::Bool,
        "false",
        "Whether LOAD DATA LOCAL is allowed: a server may then ask a client for the file. Once true, \
         for clients that come later; once false, at once.",
    )
    .acts(Effect::NewConnections),
    mysql(
        "default_schema",
        Kind::Text,
        "information_schema",
        "Schema of a session when neither the client nor its user row names one.",
    )
    .acts(Effect::NewConnections),
];
