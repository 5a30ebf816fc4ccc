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

/// A row of `mysql_query_rules`: the columns that route.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RuleRow {
    /// Order of evaluation, ascending.
    pub rule_id: i64,
    /// 1 when the row is in force.
    pub active: i64,
    /// Client's user name, exact; `None` matches any.
    pub username: Option<String>,
    /// Session's current schema, exact; `None` matches any.
    pub schemaname: Option<String>,
    /// Regex searched in the query text; `None` matches any.
    pub match_pattern: Option<String>,
    /// 1 inverts `match_pattern`.
    pub negate_match_pattern: i64,
    /// Hostgroup the query goes to; `None` leaves the choice to later rules.
    pub destination_hostgroup: Option<i64>,
    /// 1 ends the evaluation.
    pub apply: i64,
    /// Free text.
    pub comment: Option<String>,
}
