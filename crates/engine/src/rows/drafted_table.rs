//! The columns that the engine makes something of: one entry each, from which the row's type, its
//! table and everything about a value follow.
//!
//! Data only; what the attributes mean is in `column`. Names, types, defaults and conditions are
//! those of ProxySQL.

use super::column::{Saved, bytes, flag, int, table, text};
use super::rows;

rows! {
    /// A row of `mysql_servers`.
    ServerRow, table("mysql_servers", "Servers by hostgroup.")
        .key(&["hostgroup_id", "hostname", "port"]).drafted();
    /// Hostgroup the server serves in.
    hostgroup_id: i64 = int("hostgroup_id")
        .default("0").check("hostgroup_id>=0").needed().also(&["hostgroup"]);
    /// DNS name, IP address, or absolute path of a Unix socket (then `port` is 0).
    hostname: String = text("hostname").also(&["address"]);
    /// TCP port; 0 for a Unix socket.
    port: i64 = int("port").default("3306").check("port >= 0 AND port <= 65535").always_written();
    /// Port of a GTID reader on that machine; 0 for none.
    gtid_port: i64 = int("gtid_port")
        .default("0")
        .check("(gtid_port <> port OR gtid_port=0) AND gtid_port >= 0 AND gtid_port <= 65535")
        .not_yet();
    /// `ONLINE`, `SHUNNED`, `OFFLINE_SOFT` or `OFFLINE_HARD`.
    status: String = text("status")
        .default("'ONLINE'")
        .check("UPPER(status) IN ('ONLINE','SHUNNED','OFFLINE_SOFT', 'OFFLINE_HARD')")
        .saved(Saved::Instead("SHUNNED", "ONLINE"));
    /// Share of the hostgroup's traffic relative to its other servers; 0 means never picked.
    weight: i64 = int("weight").default("1").check("weight >= 0 AND weight <=10000000");
    /// 1 compresses new connections to this server, by zstd where it can, else by zlib.
    compression: i64 = flag("compression").default("0").check("compression IN(0,1)");
    /// Most backend connections to this server in this hostgroup.
    max_connections: i64 = int("max_connections").default("1000").check("max_connections >=0");
    /// Seconds of replication lag above which the server is left out; 0 for no check.
    max_replication_lag: i64 = int("max_replication_lag")
        .default("0").check("max_replication_lag >= 0 AND max_replication_lag <= 126144000");
    /// 1 asks for TLS to this server.
    use_ssl: i64 = flag("use_ssl").default("0").check("use_ssl IN(0,1)");
    /// Milliseconds of latency above which the server is left out; 0 for the global default.
    max_latency_ms: i64 = int("max_latency_ms")
        .kind("INT UNSIGNED").default("0").check("max_latency_ms>=0");
    /// Free text.
    comment: String = text("comment").default("''");
}

rows! {
    /// A row of `mysql_servers_ssl_params`: all of it in place of the variables `mysql-ssl_p2s_...`.
    ServerTlsRow, table("mysql_servers_ssl_params", "TLS to one server, for one account or all, in place of the variables mysql-ssl_p2s_….")
        .key(&["hostname", "port", "username"]).drafted();
    /// The server.
    hostname: String = text("hostname");
    /// Its port.
    port: i64 = int("port").default("3306").check("port >= 0 AND port <= 65535");
    /// The account; empty for all that have no row.
    username: String = text("username").default("''");
    /// File of authorities that vouch for the server, or with its own certificate.
    ssl_ca: String = text("ssl_ca").default("''");
    /// File of the certificate that the server is shown.
    ssl_cert: String = text("ssl_cert").default("''");
    /// File of its private key.
    ssl_key: String = text("ssl_key").default("''");
    /// Directory of files of authorities.
    ssl_capath: String = text("ssl_capath").default("''");
    /// File of lists of revoked certificates.
    ssl_crl: String = text("ssl_crl").default("''");
    /// Directory of such files.
    ssl_crlpath: String = text("ssl_crlpath").default("''");
    /// Cipher suites by OpenSSL's names, separated by `:`; empty for all.
    ssl_cipher: String = text("ssl_cipher").default("''");
    /// Versions, separated by `,`; empty for all.
    tls_version: String = text("tls_version").default("''");
    /// Free text.
    comment: String = text("comment").default("''");
    /// What is verified of the server: `none`, `ca`, `identity` or `password`; empty for what the variable
    /// `mysql-ssl_p2s_verify` says. Tidegate's own.
    ssl_verify: String = text("ssl_verify")
        .default("''").check("ssl_verify IN ('','none','ca','identity','password')");
}

rows! {
    /// A row of `mysql_hostgroup_attributes`: what holds for a hostgroup in place of variables.
    HostgroupRow, table("mysql_hostgroup_attributes", "What holds for a whole hostgroup instead of the global variables.")
        .key(&["hostgroup_id"]).drafted();
    /// The hostgroup.
    hostgroup_id: i64 = int("hostgroup_id").also(&["hostgroup"]);
    /// Servers that may be online; with more of them none is used.
    max_num_online_servers: i64 = int("max_num_online_servers")
        .default("1000000")
        .check("max_num_online_servers>=0 AND max_num_online_servers <= 1000000");
    /// Accepted; without effect.
    autocommit: i64 = int("autocommit").default("-1").check("autocommit IN (-1, 0, 1)").not_yet();
    /// Idle connections kept, as a share of a server's `max_connections`.
    free_connections_pct: i64 = int("free_connections_pct")
        .default("10").check("free_connections_pct >= 0 AND free_connections_pct <= 100");
    /// Statement run on each new connection.
    init_connect: String = text("init_connect").default("''");
    /// 0 keeps each session its connection.
    multiplex: i64 = flag("multiplex").default("1").check("multiplex IN (0, 1)");
    /// 1 opens connections ahead of need.
    connection_warming: i64 = flag("connection_warming")
        .default("0").check("connection_warming IN (0, 1)");
    /// New connections in a second.
    throttle_connections_per_sec: i64 = int("throttle_connections_per_sec")
        .default("1000000")
        .check("throttle_connections_per_sec >= 1 AND throttle_connections_per_sec <= 1000000");
    /// Accepted; without effect.
    ignore_session_variables: String = text("ignore_session_variables")
        .default("''")
        .check("JSON_VALID(ignore_session_variables) OR ignore_session_variables = ''").not_yet();
    /// JSON settings, or empty.
    hostgroup_settings: String = text("hostgroup_settings")
        .default("''").check("JSON_VALID(hostgroup_settings) OR hostgroup_settings = ''")
        .members(&[
            "invalidate", "pipeline_depth", "handle_warnings", "balance", "zones", "zone_min_servers",
            "several_writers", "proxy_protocol",
        ]);
    /// JSON defaults of servers that are found, or empty.
    servers_defaults: String = text("servers_defaults")
        .default("''").check("JSON_VALID(servers_defaults) OR servers_defaults = ''")
        .members(&["weight", "max_connections", "use_ssl"]);
    /// Free text.
    comment: String = text("comment").default("''");
}

rows! {
    /// A row of `mysql_users`.
    UserRow, table("mysql_users", "Accounts of clients and towards servers.")
        .key(&["username", "backend"]).unique(&["username, frontend"]).drafted();
    /// Name of the account; there is no host part.
    username: String = text("username");
    /// Clear text, `*` and 40 hex digits, or a `$A$005$` hash (may hold any byte).
    password: Vec<u8> = bytes("password").null().secret();
    /// 1 when the row is in force.
    active: i64 = flag("active").default("1").check("active IN (0,1)").saved(Saved::ZeroInOthers);
    /// 1 when clients must use TLS.
    use_ssl: i64 = flag("use_ssl").default("0").check("use_ssl IN (0,1)");
    /// Hostgroup when no rule decides.
    default_hostgroup: i64 = int("default_hostgroup").default("0");
    /// Schema when the client names none.
    default_schema: Option<String> = text("default_schema").null();
    /// Accepted; without effect.
    schema_locked: i64 = flag("schema_locked").default("0").check("schema_locked IN (0,1)").never();
    /// 1 keeps a transaction on the hostgroup it began on.
    transaction_persistent: i64 = flag("transaction_persistent")
        .default("1").check("transaction_persistent IN (0,1)");
    /// 1 relays the session byte for byte after authentication.
    fast_forward: i64 = flag("fast_forward").default("0").check("fast_forward IN (0,1)");
    /// 1 when the account may be used towards servers.
    backend: i64 = flag("backend").default("1").check("backend IN (0,1)");
    /// 1 when clients may use the account.
    frontend: i64 = flag("frontend").default("1").check("frontend IN (0,1)");
    /// Most client connections of this account at a time.
    max_connections: i64 = int("max_connections").default("10000").check("max_connections >=0");
    /// JSON attributes, or empty.
    attributes: String = text("attributes")
        .default("''").check("JSON_VALID(attributes) OR attributes = ''").secret()
        .members(&[
            "pipeline_depth",
            "max_backend_connections",
            "additional_password",
            "backend_username",
            "password_from",
            "pam_service",
            "authentication_plugin",
            "name_pattern",
            "redirect",
            "replication",
            "require_issuer",
            "require_san",
            "require_subject",
            "require_x509",
            "spiffe_id",
            "annotations",
            "default-transaction_isolation",
        ]);
    /// Free text.
    comment: String = text("comment").default("''");
}

rows! {
    /// A row of `mysql_query_rules`. In conditions `None` and the empty text match anything; in
    /// actions `None` leaves what earlier rules decided.
    RuleRow, table("mysql_query_rules", "Rules that route, rewrite, cache and refuse queries.")
        .key(&["rule_id"]).numbered().drafted();
    /// Order of evaluation, ascending.
    rule_id: i64 = int("rule_id").kind("INTEGER");
    /// 1 when the row is in force.
    active: i64 = flag("active").default("0").check("active IN (0,1)").always_written();
    /// Client's user name, exact.
    username: Option<String> = text("username").null();
    /// Session's current schema, exact.
    schemaname: Option<String> = text("schemaname").null();
    /// The flag a chain must have for the rule to be looked at; chains begin at 0.
    flag_in: i64 = int("flagIN").default("0").check("flagIN >= 0");
    /// Client's address, exact, or its beginning with `%` at the end.
    client_addr: Option<String> = text("client_addr").null();
    /// Local address the client connected to, exact.
    proxy_addr: Option<String> = text("proxy_addr").null();
    /// Local port the client connected to.
    proxy_port: Option<i64> = int("proxy_port")
        .null().check("proxy_port >= 0 AND proxy_port <= 65535");
    /// Digest, exact, as `0x` and hexadecimal digits.
    digest: Option<String> = text("digest").null();
    /// Regex searched in the digest text of the query as the client sent it.
    match_digest: Option<String> = text("match_digest").null();
    /// Regex searched in the query text as earlier rules left it.
    match_pattern: Option<String> = text("match_pattern").null();
    /// 1 inverts `match_digest` and `match_pattern`.
    negate_match_pattern: i64 = flag("negate_match_pattern")
        .default("0").check("negate_match_pattern IN (0,1)");
    /// Words of `CASELESS` and `GLOBAL`, separated by commas.
    re_modifiers: Option<String> = text("re_modifiers").null().default("'CASELESS'");
    /// The chain's flag from here on.
    flag_out: Option<i64> = int("flagOUT").null().check("flagOUT >= 0");
    /// What `match_pattern` found is replaced by it; `\0` to `\9` stand for its groups.
    replace_pattern: Option<String> = text("replace_pattern")
        .null()
        .check("CASE WHEN replace_pattern IS NULL THEN 1 WHEN replace_pattern IS NOT NULL AND match_pattern IS NOT NULL THEN 1 ELSE 0 END");
    /// Hostgroup the query goes to.
    destination_hostgroup: Option<i64> = int("destination_hostgroup").null();
    /// Milliseconds for which the result is cached.
    cache_ttl: Option<i64> = int("cache_ttl").null().check("cache_ttl > 0");
    /// 1 when an empty result is cached too.
    cache_empty_result: Option<i64> = flag("cache_empty_result")
        .null().check("cache_empty_result IN (0,1)");
    /// Accepted; without effect.
    cache_timeout: Option<i64> = int("cache_timeout").null().check("cache_timeout >= 0").never();
    /// Accepted; without effect.
    reconnect: Option<i64> = flag("reconnect").null().check("reconnect IN (0,1)").never();
    /// Milliseconds after which the query is killed.
    timeout: Option<i64> = int("timeout").kind("INT UNSIGNED").null().check("timeout >= 0");
    /// Times the query is run again after a failure.
    retries: Option<i64> = int("retries").null().check("retries>=0 AND retries <=1000");
    /// Milliseconds the query waits before it is run.
    delay: Option<i64> = int("delay").kind("INT UNSIGNED").null().check("delay >=0");
    /// Flag that the chain of the session's next query begins with.
    next_query_flag_in: Option<i64> = int("next_query_flagIN").kind("INT UNSIGNED").null();
    /// Flag that the chain of the mirrored copy begins with.
    mirror_flag_out: Option<i64> = int("mirror_flagOUT").kind("INT UNSIGNED").null();
    /// Hostgroup of the mirrored copy.
    mirror_hostgroup: Option<i64> = int("mirror_hostgroup").kind("INT UNSIGNED").null();
    /// The query is answered with this error.
    error_msg: Option<String> = text("error_msg").null();
    /// The query is answered with OK and this text.
    ok_msg: Option<String> = text("OK_msg").null();
    /// Accepted; without effect.
    sticky_conn: Option<i64> = flag("sticky_conn").null().check("sticky_conn IN (0,1)").never();
    /// 0 keeps the connection from being shared, 1 lets it be again, 2 ignores this query's `@`.
    multiplex: Option<i64> = int("multiplex").null().check("multiplex IN (0,1,2)");
    /// The server must have what this session last wrote in that hostgroup.
    gtid_from_hostgroup: Option<i64> = int("gtid_from_hostgroup")
        .kind("INT UNSIGNED").null().not_yet();
    /// 1 logs the query, 0 does not, whatever the default.
    log: Option<i64> = flag("log").null().check("log IN (0,1)").not_yet();
    /// 1 ends the evaluation.
    apply: i64 = flag("apply").default("0").check("apply IN (0,1)");
    /// JSON: `{"flagOUTs":[{"id":1,"weight":1}]}` chooses the flag by weight, `{"sni":["a","b"]}`
    /// asks for the host by which a client called in TLS, `{"coalesce":true}` has those share an
    /// answer who ask the same at once, `{"serve_stale_ms":60000}` tells a cached answer for so
    /// much longer where no server can answer; or empty.
    attributes: String = text("attributes")
        .default("''").check("JSON_VALID(attributes) OR attributes = ''")
        .members(&[
            "pipeline_depth",
            "flagOUTs",
            "sni",
            "invalidate",
            "coalesce",
            "serve_stale_ms",
        ]);
    /// Free text.
    comment: Option<String> = text("comment").null();
}

rows! {
    /// A row of `mysql_query_rules_fast_routing`, looked up when no rule ended the evaluation.
    FastRoutingRow, table("mysql_query_rules_fast_routing", "Where queries go by user and schema when no rule ended the evaluation.")
        .key(&["username", "schemaname", "flagIN"]).drafted();
    /// Client's user name, exact; empty for any.
    username: String = text("username");
    /// Session's current schema, exact.
    schemaname: String = text("schemaname");
    /// The flag the chain ended with.
    flag_in: i64 = int("flagIN").default("0");
    /// Hostgroup the query goes to.
    destination_hostgroup: i64 = int("destination_hostgroup").check("destination_hostgroup >= 0");
    /// Free text.
    comment: String = text("comment").not_needed();
}
