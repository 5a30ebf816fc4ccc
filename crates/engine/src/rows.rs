//! Rows an operator may configure, exactly as typed: columns and defaults of ProxySQL's tables.
//!
//! Nothing here is validated; `snapshot` does that and gives every fault by table, row and column.

/// A row of `mysql_servers`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ServerRow {
    /// Hostgroup the server serves in.
    pub hostgroup_id: i64,
    /// DNS name, IP address, or absolute path of a Unix socket (then `port` is 0).
    pub hostname: String,
    /// TCP port; 0 for a Unix socket.
    pub port: i64,
    /// Port of a GTID reader on that machine; 0 for none.
    pub gtid_port: i64,
    /// `ONLINE`, `SHUNNED`, `OFFLINE_SOFT` or `OFFLINE_HARD`.
    pub status: String,
    /// Share of the hostgroup's traffic relative to its other servers; 0 means never picked.
    pub weight: i64,
    /// 1 asks for protocol compression to this server.
    pub compression: i64,
    /// Most backend connections to this server in this hostgroup.
    pub max_connections: i64,
    /// Seconds of replication lag above which the server is left out; 0 for no check.
    pub max_replication_lag: i64,
    /// 1 asks for TLS to this server.
    pub use_ssl: i64,
    /// Milliseconds of latency above which the server is left out; 0 for the global default.
    pub max_latency_ms: i64,
    /// Free text.
    pub comment: String,
}

impl Default for ServerRow {
    fn default() -> Self {
        Self {
            hostgroup_id: 0,
            hostname: String::new(),
            port: 3306,
            gtid_port: 0,
            status: "ONLINE".into(),
            weight: 1,
            compression: 0,
            max_connections: 1000,
            max_replication_lag: 0,
            use_ssl: 0,
            max_latency_ms: 0,
            comment: String::new(),
        }
    }
}

/// A row of `mysql_hostgroup_attributes`: what holds for a hostgroup in place of variables.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HostgroupRow {
    /// The hostgroup.
    pub hostgroup_id: i64,
    /// Servers that may be online; with more of them none is used.
    pub max_num_online_servers: i64,
    /// Accepted; without effect.
    pub autocommit: i64,
    /// Idle connections kept, as a share of a server's `max_connections`.
    pub free_connections_pct: i64,
    /// Statement run on each new connection.
    pub init_connect: String,
    /// 0 keeps each session its connection.
    pub multiplex: i64,
    /// 1 opens connections ahead of need.
    pub connection_warming: i64,
    /// New connections in a second.
    pub throttle_connections_per_sec: i64,
    /// Accepted; without effect.
    pub ignore_session_variables: String,
    /// JSON settings, or empty.
    pub hostgroup_settings: String,
    /// JSON defaults of servers that are found, or empty.
    pub servers_defaults: String,
    /// Free text.
    pub comment: String,
}

impl Default for HostgroupRow {
    fn default() -> Self {
        Self {
            hostgroup_id: 0,
            max_num_online_servers: 1_000_000,
            autocommit: -1,
            free_connections_pct: 10,
            init_connect: String::new(),
            multiplex: 1,
            connection_warming: 0,
            throttle_connections_per_sec: 1_000_000,
            ignore_session_variables: String::new(),
            hostgroup_settings: String::new(),
            servers_defaults: String::new(),
            comment: String::new(),
        }
    }
}

/// A row of `mysql_users`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UserRow {
    /// Name of the account; there is no host part.
    pub username: String,
    /// Clear text, `*` and 40 hex digits, or a `$A$005$` hash (may hold any byte).
    pub password: Vec<u8>,
    /// 1 when the row is in force.
    pub active: i64,
    /// 1 when clients must use TLS.
    pub use_ssl: i64,
    /// Hostgroup when no rule decides.
    pub default_hostgroup: i64,
    /// Schema when the client names none.
    pub default_schema: Option<String>,
    /// Accepted; without effect.
    pub schema_locked: i64,
    /// 1 keeps a transaction on the hostgroup it began on.
    pub transaction_persistent: i64,
    /// 1 relays the session byte for byte after authentication.
    pub fast_forward: i64,
    /// 1 when the account may be used towards servers.
    pub backend: i64,
    /// 1 when clients may use the account.
    pub frontend: i64,
    /// Most client connections of this account at a time.
    pub max_connections: i64,
    /// JSON attributes, or empty.
    pub attributes: String,
    /// Free text.
    pub comment: String,
}

impl Default for UserRow {
    fn default() -> Self {
        Self {
            username: String::new(),
            password: Vec::new(),
            active: 1,
            use_ssl: 0,
            default_hostgroup: 0,
            default_schema: None,
            schema_locked: 0,
            transaction_persistent: 1,
            fast_forward: 0,
            backend: 1,
            frontend: 1,
            max_connections: 10_000,
            attributes: String::new(),
            comment: String::new(),
        }
    }
}

/// A row of `mysql_query_rules`. In conditions `None` and the empty text match anything; in
/// actions `None` leaves what earlier rules decided.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RuleRow {
    /// Order of evaluation, ascending.
    pub rule_id: i64,
    /// 1 when the row is in force.
    pub active: i64,
    /// Client's user name, exact.
    pub username: Option<String>,
    /// Session's current schema, exact.
    pub schemaname: Option<String>,
    /// The flag a chain must have for the rule to be looked at; chains begin at 0.
    pub flag_in: i64,
    /// Client's address, exact, or its beginning with `%` at the end.
    pub client_addr: Option<String>,
    /// Local address the client connected to, exact.
    pub proxy_addr: Option<String>,
    /// Local port the client connected to.
    pub proxy_port: Option<i64>,
    /// Digest, exact, as `0x` and hexadecimal digits.
    pub digest: Option<String>,
    /// Regex searched in the digest text of the query as the client sent it.
    pub match_digest: Option<String>,
    /// Regex searched in the query text as earlier rules left it.
    pub match_pattern: Option<String>,
    /// 1 inverts `match_digest` and `match_pattern`.
    pub negate_match_pattern: i64,
    /// Words of `CASELESS` and `GLOBAL`, separated by commas.
    pub re_modifiers: Option<String>,
    /// The chain's flag from here on.
    pub flag_out: Option<i64>,
    /// What `match_pattern` found is replaced by it; `\0` to `\9` stand for its groups.
    pub replace_pattern: Option<String>,
    /// Hostgroup the query goes to.
    pub destination_hostgroup: Option<i64>,
    /// Milliseconds for which the result is cached.
    pub cache_ttl: Option<i64>,
    /// 1 when an empty result is cached too.
    pub cache_empty_result: Option<i64>,
    /// Accepted; without effect.
    pub cache_timeout: Option<i64>,
    /// Accepted; without effect.
    pub reconnect: Option<i64>,
    /// Milliseconds after which the query is killed.
    pub timeout: Option<i64>,
    /// Times the query is run again after a failure.
    pub retries: Option<i64>,
    /// Milliseconds the query waits before it is run.
    pub delay: Option<i64>,
    /// Flag that the chain of the session's next query begins with.
    pub next_query_flag_in: Option<i64>,
    /// Flag that the chain of the mirrored copy begins with.
    pub mirror_flag_out: Option<i64>,
    /// Hostgroup of the mirrored copy.
    pub mirror_hostgroup: Option<i64>,
    /// The query is answered with this error.
    pub error_msg: Option<String>,
    /// The query is answered with OK and this text.
    pub ok_msg: Option<String>,
    /// Accepted; without effect.
    pub sticky_conn: Option<i64>,
    /// 0 keeps the connection from being shared, 1 lets it be again, 2 ignores this query's `@`.
    pub multiplex: Option<i64>,
    /// The server must have what this session last wrote in that hostgroup.
    pub gtid_from_hostgroup: Option<i64>,
    /// 1 logs the query, 0 does not, whatever the default.
    pub log: Option<i64>,
    /// 1 ends the evaluation.
    pub apply: i64,
    /// JSON: `{"flagOUTs":[{"id":1,"weight":1}]}` chooses the flag by weight; or empty.
    pub attributes: String,
    /// Free text.
    pub comment: Option<String>,
}

impl Default for RuleRow {
    fn default() -> Self {
        Self {
            rule_id: 0,
            active: 0,
            username: None,
            schemaname: None,
            flag_in: 0,
            client_addr: None,
            proxy_addr: None,
            proxy_port: None,
            digest: None,
            match_digest: None,
            match_pattern: None,
            negate_match_pattern: 0,
            re_modifiers: Some("CASELESS".into()),
            flag_out: None,
            replace_pattern: None,
            destination_hostgroup: None,
            cache_ttl: None,
            cache_empty_result: None,
            cache_timeout: None,
            reconnect: None,
            timeout: None,
            retries: None,
            delay: None,
            next_query_flag_in: None,
            mirror_flag_out: None,
            mirror_hostgroup: None,
            error_msg: None,
            ok_msg: None,
            sticky_conn: None,
            multiplex: None,
            gtid_from_hostgroup: None,
            log: None,
            apply: 0,
            attributes: String::new(),
            comment: None,
        }
    }
}

/// A row of `mysql_query_rules_fast_routing`, looked up when no rule ended the evaluation.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FastRoutingRow {
    /// Client's user name, exact; empty for any.
    pub username: String,
    /// Session's current schema, exact.
    pub schemaname: String,
    /// The flag the chain ended with.
    pub flag_in: i64,
    /// Hostgroup the query goes to.
    pub destination_hostgroup: i64,
    /// Free text.
    pub comment: String,
}

/// A row of `scheduler`: a program that is run at intervals.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SchedulerRow {
    /// Its number.
    pub id: i64,
    /// 1 when the row is in force.
    pub active: i64,
    /// Milliseconds from one run to the next.
    pub interval_ms: i64,
    /// Path of the executable.
    pub filename: String,
    /// Its arguments; the first that is missing ends them.
    pub arg1: Option<String>,
    /// Second argument.
    pub arg2: Option<String>,
    /// Third argument.
    pub arg3: Option<String>,
    /// Fourth argument.
    pub arg4: Option<String>,
    /// Fifth argument.
    pub arg5: Option<String>,
    /// Free text.
    pub comment: String,
}

/// A row of `restapi_routes`: a path of the REST interface that runs a script.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RestapiRouteRow {
    /// Its number.
    pub id: i64,
    /// 1 when the row is in force.
    pub active: i64,
    /// Milliseconds that the script may run.
    pub timeout_ms: i64,
    /// `GET` or `POST`.
    pub method: String,
    /// The path after `/sync/`.
    pub uri: String,
    /// Path of the executable.
    pub script: String,
    /// Free text.
    pub comment: String,
}
