//! The variables that the engine looks at, or is about to, as typed fields; all others are carried
//! as text.
//!
//! A field here and the row of its variable in the tables are all that a used variable needs. The
//! row says when it acts; [`Effect::NotYet`] until something looks at the field.

use core::net::IpAddr;
use std::collections::BTreeMap;
use std::fmt;

use sql::DigestOptions;

use super::field::Field;
use super::{Effect, Interface, InterfacesTls, KeyHash, Networks, Value};
use crate::config_fault::ConfigFault;

/// Declares [`Vars`]: each field with its type and the variable it is read from.
macro_rules! vars {
    ($($(#[$doc:meta])* $field:ident: $type:ty = $name:literal,)*) => {
        /// Every variable's value; those that decisions need are fields.
        #[derive(Clone, PartialEq, Eq, Debug)]
        pub struct Vars {
            $($(#[$doc])* pub $field: $type,)*
            /// All variables by full name.
            values: BTreeMap<String, Value>,
        }

        impl Vars {
            /// Full names of the variables that have a field.
            pub const FIELDS: &'static [&'static str] = &[$($name),*];

            fn from_values(values: BTreeMap<String, Value>) -> Vars {
                Vars { $($field: <$type>::field(&values, $name),)* values }
            }
        }
    };
}

vars! {
    /// Where clients are listened for.
    interfaces: Vec<Interface> = "mysql-interfaces",
    /// What those listeners demand of clients.
    interfaces_tls: InterfacesTls = "mysql-interfaces_tls",
    /// Worker threads.
    threads: u32 = "mysql-threads",
    /// Length of a listening socket's queue of connections not yet accepted.
    listen_backlog: u32 = "mysql-listen_backlog",
    /// Version told to clients; empty means the servers' own, see [`Vars::FALLBACK_VERSION`].
    server_version: String = "mysql-server_version",
    /// Authentication plugin offered to clients first.
    default_authentication_plugin: String = "mysql-default_authentication_plugin",
    /// Whose connections may begin with a header of the PROXY protocol.
    proxy_protocol_networks: Networks = "mysql-proxy_protocol_networks",
    /// Whether clients are offered TLS.
    have_ssl: bool = "mysql-have_ssl",
    /// Whether TCP clients have to use TLS.
    require_secure_transport: bool = "mysql-require_secure_transport",
    /// Whether clients are offered compression.
    have_compress: bool = "mysql-have_compress",
    /// Files of certificates shown to clients, separated by `;`; empty for those in the directory
    /// of the database, or made there.
    ssl_cert: String = "mysql-ssl_cert",
    /// Files of their private keys.
    ssl_key: String = "mysql-ssl_key",
    /// The file of authorities that vouch for clients' certificates.
    ssl_ca: String = "mysql-ssl_ca",
    /// The file of lists of clients' certificates that are revoked.
    ssl_crl: String = "mysql-ssl_crl",
    /// Versions of TLS.
    tls_version: String = "mysql-tls_version",
    /// Suites up to TLS 1.2.
    ssl_cipher: String = "mysql-ssl_cipher",
    /// Suites of TLS 1.3.
    tls_ciphersuites: String = "mysql-tls_ciphersuites",
    /// The file of authorities that vouch for servers.
    ssl_p2s_ca: String = "mysql-ssl_p2s_ca",
    /// The directory of such files.
    ssl_p2s_capath: String = "mysql-ssl_p2s_capath",
    /// The file of the certificate that servers are shown.
    ssl_p2s_cert: String = "mysql-ssl_p2s_cert",
    /// The file of its key.
    ssl_p2s_key: String = "mysql-ssl_p2s_key",
    /// Suites towards servers.
    ssl_p2s_cipher: String = "mysql-ssl_p2s_cipher",
    /// The file of lists of servers' certificates that are revoked.
    ssl_p2s_crl: String = "mysql-ssl_p2s_crl",
    /// The directory of such files.
    ssl_p2s_crlpath: String = "mysql-ssl_p2s_crlpath",
    /// What is verified of servers.
    ssl_p2s_verify: String = "mysql-ssl_p2s_verify",
    /// Whether clients may be asked for their files.
    enable_load_data_local_infile: bool = "mysql-enable_load_data_local_infile",
    /// Whether any public key is taken that a server shows.
    get_server_public_key: bool = "mysql-get_server_public_key",
    /// The public keys that servers may show.
    server_public_keys: Vec<KeyHash> = "mysql-server_public_keys",
    /// Longest command a client may send, in bytes.
    max_allowed_packet: u32 = "mysql-max_allowed_packet",
    /// Most client connections at a time.
    max_connections: u32 = "mysql-max_connections",
    /// Time a client has to complete its handshake.
    connect_timeout_client_ms: u64 = "mysql-connect_timeout_client",
    /// Wrong passwords that are refused at once; 0 sets no limit.
    failed_connections_threshold: u32 = "mysql-failed_connections_threshold",
    /// Time in which one more is looked at.
    failed_connection_delay_ms: u64 = "mysql-failed_connection_delay",
    /// Checks of passwords by PAM and LDAP that are under way at a time.
    login_check_threads: u32 = "mysql-login_check_threads",
    /// Logins that wait for such checks, those under way included.
    login_check_queue_max: u32 = "mysql-login_check_queue_max",
    /// Time that a login waits for one.
    login_check_timeout_ms: u64 = "mysql-login_check_timeout",
    /// The service of PAM for accounts that name none.
    pam_service: String = "mysql-pam_service",
    /// LDAP servers, separated by blanks.
    ldap_url: String = "mysql-ldap_url",
    /// Whether connections to `ldap://` go over to TLS.
    ldap_starttls: bool = "mysql-ldap_starttls",
    /// The file of authorities that vouch for LDAP servers.
    ldap_ca: String = "mysql-ldap_ca",
    /// The distinguished name of a user's entry, with `{user}` for the name.
    ldap_user_dn: String = "mysql-ldap_user_dn",
    /// The entry below which a user's entry is searched.
    ldap_search_base: String = "mysql-ldap_search_base",
    /// The filter of that search, with `{user}` for the name.
    ldap_search_filter: String = "mysql-ldap_search_filter",
    /// The account that searches; empty for an anonymous search.
    ldap_search_dn: String = "mysql-ldap_search_dn",
    /// What it logs in with.
    ldap_search_secret: String = "mysql-ldap_search_secret",
    /// Time a client may be idle; 0 for ever.
    wait_timeout_ms: u64 = "mysql-wait_timeout",
    /// Time one attempt to connect to a server may take, handshake included.
    connect_timeout_server_ms: u64 = "mysql-connect_timeout_server",
    /// Time a query may wait for a backend connection in all.
    connect_timeout_server_max_ms: u64 = "mysql-connect_timeout_server_max",
    /// Further attempts to connect for one query.
    connect_retries_on_failure: u32 = "mysql-connect_retries_on_failure",
    /// Pause between two attempts.
    connect_retries_delay_ms: u64 = "mysql-connect_retries_delay",
    /// Times a query is sent again when its connection broke before any byte of a reply.
    query_retries_on_failure: u32 = "mysql-query_retries_on_failure",
    /// Whether backend connections are shared between sessions.
    multiplexing: bool = "mysql-multiplexing",
    /// 1 refuses changes of data in a hostgroup other than the one that a session is tied to.
    set_query_lock_on_hostgroup: u32 = "mysql-set_query_lock_on_hostgroup",
    /// Connections of one account to each server; 0 sets no limit.
    max_backend_connections_per_user: u32 = "mysql-max_backend_connections_per_user",
    /// Commands of several sessions on one backend connection; 0 shares none.
    pipeline_depth: u32 = "mysql-pipeline_depth",
    /// Time without a byte after which commands behind are issued again elsewhere.
    pipeline_stall_us: u64 = "mysql-pipeline_stall_us",
    /// Time of a statement up to which it may share a backend connection.
    pipeline_max_latency_us: u64 = "mysql-pipeline_max_latency_us",
    /// Bytes of a reply up to which its statement may share a backend connection.
    pipeline_max_reply_bytes: u64 = "mysql-pipeline_max_reply_bytes",
    /// Runs of a digest after which it is known.
    pipeline_min_runs: u32 = "mysql-pipeline_min_runs",
    /// Whether statements are looked at for stored code that they reach.
    stored_code: bool = "mysql-stored_code",
    /// Time after which stored code is read again; 0 reads none.
    stored_code_refresh_interval_ms: u64 = "mysql-stored_code_refresh_interval_ms",
    /// Connect errors within a second that shun a server.
    shun_on_failures: u32 = "mysql-shun_on_failures",
    /// Time until a shunned server is tried again.
    shun_recovery_time_sec: u64 = "mysql-shun_recovery_time_sec",
    /// Servers of a hostgroup from which on those are left out whose pings take longer than the
    /// mean; 0 for never.
    min_num_servers: u32 = "mysql-min_num_servers_lantency_awareness",
    /// The file that what the keeper is told is recorded to; empty for none.
    topology_recording: String = "mysql-topology_recording",
    /// Bytes at which another file is begun.
    topology_recording_bytes_max: u64 = "mysql-topology_recording_bytes_max",
    /// The zone that the proxy is in; empty for none.
    zone: String = "mysql-zone",
    /// Schema when neither client nor user row names one.
    default_schema: String = "mysql-default_schema",
    /// Character set assumed when a client asks for none that is known.
    default_charset: String = "mysql-default_charset",
    /// Collation assumed with it.
    default_collation_connection: String = "mysql-default_collation_connection",
    /// Bytes of a query above which its backend connection is not pooled again.
    threshold_query_length: u32 = "mysql-threshold_query_length",
    /// Bytes of a result held for a client that does not take them before the server is paused.
    threshold_resultset_size: u32 = "mysql-threshold_resultset_size",
    /// Mebibytes that the cache may take.
    query_cache_size_mb: u32 = "mysql-query_cache_size_MB",
    /// Share of its time after which an answer is fetched anew, in percent.
    query_cache_soft_ttl_pct: u32 = "mysql-query_cache_soft_ttl_pct",
    /// How long a query waits for the answer to another one; 0 for not at all.
    query_cache_coalesce_wait_ms: u64 = "mysql-query_cache_coalesce_wait_ms",
    /// 1 also keeps answers with warnings.
    query_cache_handle_warnings: u32 = "mysql-query_cache_handle_warnings",
    /// Whether answers without rows are kept.
    query_cache_stores_empty_result: bool = "mysql-query_cache_stores_empty_result",
    /// How late changes may be seen in a server's log.
    query_cache_binlog_max_lag_ms: u64 = "mysql-query_cache_binlog_max_lag_ms",
    /// One in so many reads is watched for the advice on the cache; 0 for none.
    query_cache_sample: u32 = "mysql-query_cache_sample",
    /// Idle backend connections kept, as a share of a server's `max_connections`.
    free_connections_pct: u32 = "mysql-free_connections_pct",
    /// Whether connections are opened ahead of need.
    connection_warming: bool = "mysql-connection_warming",
    /// New connections that a hostgroup may get in a second.
    throttle_connections_per_sec_to_hostgroup: u32 =
        "mysql-throttle_connections_per_sec_to_hostgroup",
    /// New connections to a server that may be under way at a time.
    max_connects_per_server: u32 = "mysql-max_connects_per_server",
    /// Pause between tests of an idle connection.
    ping_interval_server_ms: u64 = "mysql-ping_interval_server_msec",
    /// Time that such a test may take.
    ping_timeout_server_ms: u64 = "mysql-ping_timeout_server",
    /// Age at which an idle backend connection is closed; 0 for never.
    connection_max_age_ms: u64 = "mysql-connection_max_age_ms",
    /// Prepared statements that are kept on a backend connection.
    max_stmts_per_connection: u32 = "mysql-max_stmts_per_connection",
    /// Prepared texts that are known at a time, of all workers together, before unused ones go.
    max_stmts_cache: u32 = "mysql-max_stmts_cache",
    /// 1 keeps the connection of a session that may ask for its warnings.
    handle_warnings: u32 = "mysql-handle_warnings",
    /// Time without a byte in the middle of a command; 0 for any.
    unfinished_command_timeout_ms: u64 = "mysql-unfinished_command_timeout_ms",
    /// Whether new connections go where a server's login sends them.
    follow_redirects: bool = "mysql-follow_redirects",
    /// Longest time that such a place is remembered.
    redirect_ttl_max_ms: u64 = "mysql-redirect_ttl_max_ms",
    /// Whether sessions end whose account is removed or gets another password.
    kill_sessions_of_changed_users: bool = "mysql-kill_sessions_of_changed_users",
    /// Memory for texts of prepared statements, of all workers together.
    prepared_texts_memory_bytes_max: u64 = "mysql-prepared_texts_memory_bytes_max",
    /// Whether queries are counted by class of statement.
    commands_stats: bool = "mysql-commands_stats",
    /// Whether digests are counted by client address too.
    query_digests_track_hostname: bool = "mysql-query_digests_track_hostname",
    /// Whether the time that decisions take is summed up.
    stats_time_query_processor: bool = "mysql-stats_time_query_processor",
    /// Memory for statistics by digest, of all workers together.
    query_digests_memory_bytes_max: u64 = "mysql-query_digests_memory_bytes_max",
    /// What rules' patterns are written for: 1 PCRE, 2 RE2.
    query_processor_regex: u32 = "mysql-query_processor_regex",
    /// Whether annotations are followed: 0 never, 1 where no rule says anything, else always.
    query_processor_first_comment_parsing: u32 = "mysql-query_processor_first_comment_parsing",
    /// How often rules may be gone through again after a flag changed.
    query_processor_iterations: u32 = "mysql-query_processor_iterations",
    /// Whether queries have digests, for rules, annotations and statistics.
    query_digests: bool = "mysql-query_digests",
    /// Bytes of a digest text that are kept.
    query_digests_max_digest_length: u32 = "mysql-query_digests_max_digest_length",
    /// Bytes of a query that are normalised.
    query_digests_max_query_length: u32 = "mysql-query_digests_max_query_length",
    /// Whether digest texts are lower-cased.
    query_digests_lowercase: bool = "mysql-query_digests_lowercase",
    /// Whether `NULL` becomes `?` in digest texts.
    query_digests_replace_null: bool = "mysql-query_digests_replace_null",
    /// Whether digits in names become `?` in digest texts.
    query_digests_no_digits: bool = "mysql-query_digests_no_digits",
    /// Whether digest texts keep comments.
    query_digests_keep_comment: bool = "mysql-query_digests_keep_comment",
    /// Values of a list that a digest text keeps.
    query_digests_grouping_limit: u32 = "mysql-query_digests_grouping_limit",
    /// Row groups that a digest text keeps; 0 for all.
    query_digests_groups_grouping_limit: u32 = "mysql-query_digests_groups_grouping_limit",
    /// Time a query waits before it is run.
    default_query_delay_ms: u64 = "mysql-default_query_delay",
    /// Time a query may run.
    default_query_timeout_ms: u64 = "mysql-default_query_timeout",
    /// Time from which a query counts as slow.
    long_query_time_ms: u64 = "mysql-long_query_time",
    /// Whether idle sessions are shown in the process list.
    session_idle_show_processlist: bool = "mysql-session_idle_show_processlist",
    /// How much the process list tells of each session.
    show_processlist_extended: u32 = "mysql-show_processlist_extended",
    /// Client addresses whose failures are remembered; 0 remembers none.
    client_host_cache_size: u32 = "mysql-client_host_cache_size",
    /// Failures after which a remembered client address is turned away; 0 for never.
    client_host_error_counts: u32 = "mysql-client_host_error_counts",
    /// Bytes in a second that each client is sent at most; 0 for no limit.
    bytes_per_s_to_client: u32 = "mysql-throttle_max_bytes_per_second_to_client",
    /// Share of that which may wait for a client before its server is not read from, in percent; 0
    /// for the general bound.
    ratio_server_to_client: u32 = "mysql-throttle_ratio_server_to_client",
    /// Whether the system asks ends of TCP connections that are silent whether they are there.
    use_tcp_keepalive: bool = "mysql-use_tcp_keepalive",
    /// After how many seconds it first does; 0 as it likes.
    tcp_keepalive_time_s: u32 = "mysql-tcp_keepalive_time",
    /// Whether the time servers take is summed up.
    stats_time_backend_query: bool = "mysql-stats_time_backend_query",
    /// Pause between samples of client connections; 0 for none.
    stats_mysql_connections_sec: u64 = "admin-stats_mysql_connections",
    /// Pause between samples of the connection pool; 0 for none.
    stats_mysql_connection_pool_sec: u64 = "admin-stats_mysql_connection_pool",
    /// Seconds between samples of the query cache; 0 for none.
    stats_mysql_query_cache_sec: u64 = "admin-stats_mysql_query_cache",
    /// Pause between samples of processor use; 0 for none.
    stats_system_cpu_sec: u64 = "admin-stats_system_cpu",
    /// Pause between samples of memory use; 0 for none.
    stats_system_memory_sec: u64 = "admin-stats_system_memory",
    /// Pause between copies of the digest table to disk; 0 for none.
    stats_mysql_query_digest_to_disk_sec: u64 = "admin-stats_mysql_query_digest_to_disk",
    /// Time a transaction may last.
    max_transaction_time_ms: u64 = "mysql-max_transaction_time",
    /// Time a session may be idle inside a transaction.
    max_transaction_idle_time_ms: u64 = "mysql-max_transaction_idle_time",
    /// Time a session keeps its connection after a query.
    connection_delay_multiplex_ms: u64 = "mysql-connection_delay_multiplex_ms",
    /// Pause between two resolutions of all server names; 0 for none.
    dns_refresh_interval_ms: u64 = "mysql-monitor_local_dns_cache_refresh_interval",
    /// Whether servers are checked.
    monitor_enabled: bool = "mysql-monitor_enabled",
    /// Account of the checks.
    monitor_username: String = "mysql-monitor_username",
    /// Its password, in clear text.
    monitor_password: String = "mysql-monitor_password",
    /// Age up to which results of checks are kept.
    monitor_history_ms: u64 = "mysql-monitor_history",
    /// Pause between readings of passwords on servers.
    monitor_accounts_interval_ms: u64 = "mysql-monitor_accounts_interval",
    /// Pause between connect checks.
    monitor_connect_interval_ms: u64 = "mysql-monitor_connect_interval",
    /// Time that one may take.
    monitor_connect_timeout_ms: u64 = "mysql-monitor_connect_timeout",
    /// Pause between pings.
    monitor_ping_interval_ms: u64 = "mysql-monitor_ping_interval",
    /// Time that one may take.
    monitor_ping_timeout_ms: u64 = "mysql-monitor_ping_timeout",
    /// Missed pings after which a server is shunned.
    monitor_ping_max_failures: u32 = "mysql-monitor_ping_max_failures",
    /// Mean latency of pings above which a server whose row sets none is left out; 0 for none.
    default_max_latency_ms: u64 = "mysql-default_max_latency_ms",
    /// Pause between checks of `read_only`.
    monitor_read_only_interval_ms: u64 = "mysql-monitor_read_only_interval",
    /// Time that one may take.
    monitor_read_only_timeout_ms: u64 = "mysql-monitor_read_only_timeout",
    /// Missed ones after which a server counts as read-only.
    monitor_read_only_max_timeout_count: u32 = "mysql-monitor_read_only_max_timeout_count",
    /// Pause between checks of replication lag.
    monitor_replication_lag_interval_ms: u64 = "mysql-monitor_replication_lag_interval",
    /// Time that one may take.
    monitor_replication_lag_timeout_ms: u64 = "mysql-monitor_replication_lag_timeout",
    /// Bad ones in a row after which a server is left out.
    monitor_replication_lag_count: u32 = "mysql-monitor_replication_lag_count",
    /// Whether a server in several hostgroups is checked for lag once.
    monitor_replication_lag_group_by_host: bool = "mysql-monitor_replication_lag_group_by_host",
    /// Heartbeat table; empty for none.
    monitor_heartbeat: String = "mysql-monitor_replication_lag_use_percona_heartbeat",
    /// Lag of a replica that does not know its own.
    monitor_lag_when_null_s: u32 = "mysql-monitor_slave_lag_when_null",
    /// Pause between checks of Group Replication.
    monitor_group_interval_ms: u64 = "mysql-monitor_groupreplication_healthcheck_interval",
    /// Time that one may take.
    monitor_group_timeout_ms: u64 = "mysql-monitor_groupreplication_healthcheck_timeout",
    /// Missed ones after which a member is offline.
    monitor_group_max_timeout_count: u32 =
        "mysql-monitor_groupreplication_healthcheck_max_timeout_count",
    /// Checks in a row that a member may be too far behind.
    monitor_group_behind_count: u32 =
        "mysql-monitor_groupreplication_max_transactions_behind_count",
    /// Whose backlog counts: 0 writers, 1 readers, 2 both.
    monitor_group_behind_for: u32 =
        "mysql-monitor_groupreplication_max_transactions_behind_for_read_only",
    /// Pause between checks of Galera.
    monitor_galera_interval_ms: u64 = "mysql-monitor_galera_healthcheck_interval",
    /// Time that one may take.
    monitor_galera_timeout_ms: u64 = "mysql-monitor_galera_healthcheck_timeout",
    /// Missed ones after which a node is offline.
    monitor_galera_max_timeout_count: u32 = "mysql-monitor_galera_healthcheck_max_timeout_count",
    /// Checks of `read_only` between two looks at the RDS topology; 0 for none.
    monitor_rds_interval: u32 = "mysql-monitor_aws_rds_topology_discovery_interval",
    /// Whether connections of the checks set a `wait_timeout`.
    monitor_wait_timeout: bool = "mysql-monitor_wait_timeout",
    /// Whether a server that becomes a writer stays a reader.
    monitor_writer_is_also_reader: bool = "mysql-monitor_writer_is_also_reader",
    /// Replicas within a query's lag limit from which on it is kept off Aurora's writer; 0 never.
    aurora_replicas_min: u32 = "mysql-aurora_max_lag_ms_only_read_from_replicas",
    /// Whether lagging servers stay left out when servers are loaded anew: 1.
    evaluate_lag_on_load: u32 = "mysql-evaluate_replication_lag_on_servers_load",
    /// Statement run on each new connection; empty for none.
    init_connect: String = "mysql-init_connect",
    /// Whether a query whose client went away is killed on its server.
    kill_backend_connection_when_disconnect: bool =
        "mysql-kill_backend_connection_when_disconnect",
    /// Copies of queries that run at a time.
    mirror_max_concurrency: u32 = "mysql-mirror_max_concurrency",
    /// Copies of queries that may wait.
    mirror_max_queue_length: u32 = "mysql-mirror_max_queue_length",
    /// Longest time a worker's loop sleeps.
    poll_timeout_ms: u64 = "mysql-poll_timeout",
    /// Time sessions have to end their transactions at a shutdown.
    shutdown_timeout_ms: u64 = "mysql-shutdown_timeout_ms",
    /// Accounts with full access to the admin interface, as `user:password` separated by `;`.
    admin_credentials: String = "admin-admin_credentials",
    /// Accounts that may only read statistics, written likewise.
    stats_credentials: String = "admin-stats_credentials",
    /// Where the admin interface listens.
    admin_interfaces: Vec<Interface> = "admin-mysql_ifaces",
    /// Whether metrics, health and routes are served over HTTP.
    restapi_enabled: bool = "admin-restapi_enabled",
    /// Address of this machine on which that is.
    restapi_address: IpAddr = "admin-restapi_address",
    /// TCP port of that.
    restapi_port: u32 = "admin-restapi_port",
    /// Whether metrics and routes are for accounts and tokens only.
    restapi_authentication: bool = "admin-restapi_authentication",
    /// Tokens that count like an account, separated by `;`.
    restapi_tokens: String = "admin-restapi_tokens",
    /// Whether administrators and HTTP clients of other machines have to use TLS.
    admin_require_secure_transport: bool = "admin-require_secure_transport",
    /// Whose connections to administrators' and HTTP ports may begin with a header of the PROXY
    /// protocol.
    admin_proxy_protocol_networks: Networks = "admin-proxy_protocol_networks",
    /// Whether tables of the admin interface are read-only.
    admin_read_only: bool = "admin-read_only",
}

impl Vars {
    /// Version told to clients while none is configured and no server has told its own.
    pub const FALLBACK_VERSION: &'static str = "8.0.11";

    /// How digests are made.
    pub fn digest_options(&self) -> DigestOptions {
        let size = |number: u32| usize::try_from(number).unwrap_or(usize::MAX);
        DigestOptions {
            max_query_length: size(self.query_digests_max_query_length),
            max_digest_length: size(self.query_digests_max_digest_length),
            lowercase: self.query_digests_lowercase,
            replace_null: self.query_digests_replace_null,
            no_digits: self.query_digests_no_digits,
            keep_comment: self.query_digests_keep_comment,
            grouping_limit: size(self.query_digests_grouping_limit),
            groups_grouping_limit: size(self.query_digests_groups_grouping_limit),
        }
    }

    /// Validates `(full name, value)` pairs over the defaults; all faults at once.
    pub fn from_pairs(pairs: &[(String, String)]) -> Result<Vars, Vec<ConfigFault>> {
        let mut values = defaults();
        let mut faults = Vec::new();
        for (name, text) in pairs {
            match super::parse(name, text) {
                Ok((_, value)) => {
                    values.insert(name.clone(), value);
                }
                Err(fault) => faults.push(fault),
            }
        }
        if !faults.is_empty() {
            return Err(faults);
        }
        let vars = Vars::from_values(values);
        match vars.interfaces_tls.fault(&vars.interfaces, &vars.tls_version) {
            None => Ok(vars),
            Some(reason) => {
                let variable = super::find("mysql-interfaces_tls");
                Err(variable.map(|variable| variable.fault(reason)).into_iter().collect())
            }
        }
    }

    /// Bytes that the cache may take.
    pub fn query_cache_bytes(&self) -> u64 {
        u64::from(self.query_cache_size_mb) << 20
    }

    /// The variables that act after a restart only and have another value in `wanted`.
    pub fn after_restart(&self, wanted: &Vars) -> Vec<AfterRestart> {
        let late = super::all().filter(|variable| variable.effect == Effect::Restart);
        let differing = late.filter_map(|variable| {
            let name = variable.full_name();
            let (running, wanted) = (self.value(&name)?.clone(), wanted.value(&name)?.clone());
            (running != wanted).then_some(AfterRestart { name, running, wanted })
        });
        differing.collect()
    }

    /// The same with these variables as they are now.
    pub fn staying(&self, late: &[AfterRestart]) -> Vars {
        let mut values = self.values.clone();
        let running = late.iter().map(|late| (late.name.clone(), late.running.clone()));
        values.extend(running);
        Vars::from_values(values)
    }

    /// Seconds of silence after which the system asks whether the other end is there; 0 for its
    /// own, `None` for never.
    pub fn keepalive_s(&self) -> Option<u32> {
        self.use_tcp_keepalive.then_some(self.tcp_keepalive_time_s)
    }

    /// The value of any variable, by full name; `None` for an unknown one.
    pub fn value(&self, name: &str) -> Option<&Value> {
        self.values.get(name)
    }

    /// Every variable with its value, by name.
    pub fn pairs(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.values.iter().map(|(name, value)| (name.as_str(), value))
    }
}

/// A variable that was changed and cannot change while the process runs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AfterRestart {
    /// Its full name.
    pub name: String,
    /// Its value until then.
    pub running: Value,
    /// Its value afterwards.
    pub wanted: Value,
}

impl fmt::Display for AfterRestart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, running, wanted } = self;
        write!(f, "{name} stays {running} until a restart; {wanted} is wanted")
    }
}

impl Default for Vars {
    fn default() -> Self {
        Vars::from_values(defaults())
    }
}

fn defaults() -> BTreeMap<String, Value> {
    super::all().map(|variable| (variable.full_name(), variable.default_value())).collect()
}
