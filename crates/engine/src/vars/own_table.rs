//! Rows of the registry: what only Tidegate has.
//!
//! Data only; what a row means is in the parent module.

use super::{Effect, Kind, Unit, Variable, int, mysql};

/// The rows.
pub(super) const ROWS: &[Variable] = &[
    mysql(
        "listen_backlog",
        int(1, 65_535),
        "4096",
        "Connections that may wait to be accepted on each listening socket.",
    )
    .acts(Effect::Restart),
    mysql(
        "server_public_keys",
        Kind::KeyHashes,
        "",
        "RSA keys of servers that a password may be encrypted with for full caching_sha2_password \
         authentication over TCP; each as the SHA-256 of its DER bytes.",
    )
    .acts(Effect::NewConnections),
    mysql(
        "get_server_public_key",
        Kind::Bool,
        "false",
        "Whether, without such a list, the key is taken from whoever answers in the server's place.",
    )
    .acts(Effect::NewConnections),
    mysql(
        "ssl_cert",
        Kind::Text,
        "",
        "Files of certificates shown to clients, separated by `;`; empty for those of the data \
         directory, which are made where there are none.",
    )
    .acts(Effect::NewConnections),
    mysql("ssl_key", Kind::Text, "", "Files of the private keys of these certificates.")
        .acts(Effect::NewConnections),
    mysql(
        "ssl_ca",
        Kind::Text,
        "",
        "File of authorities that vouch for certificates of clients.",
    )
    .acts(Effect::NewConnections),
    mysql("ssl_crl", Kind::Text, "", "File of lists of clients' certificates that are revoked.")
        .acts(Effect::NewConnections),
    mysql(
        "ssl_p2s_verify",
        Kind::OneOf(super::VERIFY),
        "identity",
        "What is verified of servers in TLS: nothing, that an authority vouches for the \
         certificate, or also that it is for the server's host; with `password` that, or that a \
         MariaDB knows the account's password.",
    )
    .acts(Effect::NewConnections),
    mysql(
        "tls_version",
        Kind::Text,
        "TLSv1.2,TLSv1.3",
        "Versions of TLS that clients may use, separated by `,`.",
    )
    .acts(Effect::NewConnections),
    mysql(
        "ssl_cipher",
        Kind::Text,
        "",
        "Cipher suites up to TLS 1.2 that clients may use, by OpenSSL's names and separated by \
         `:`; empty for all.",
    )
    .acts(Effect::NewConnections),
    mysql(
        "tls_ciphersuites",
        Kind::Text,
        "",
        "The same for TLS 1.3.",
    )
    .acts(Effect::NewConnections),
    mysql(
        "failed_connections_threshold",
        int(0, 65_535),
        "20",
        "Wrong passwords from one address for one name that are refused at once; 0 for all.",
    )
    .acts(Effect::AtOnce),
    mysql(
        "failed_connection_delay",
        int(1, 3_600_000),
        "500",
        "Beyond that number, one login is checked in this time, whether its password is right or wrong.",
    )
    .unit(Unit::Milliseconds)
    .acts(Effect::AtOnce),
    mysql(
        "login_check_threads",
        int(1, 256),
        "8",
        "Passwords that PAM and LDAP are asked about at a time.",
    )
    .acts(Effect::AtOnce),
    mysql(
        "login_check_queue_max",
        int(1, 65_535),
        "256",
        "Logins that may wait for PAM and LDAP, those included that they are asked about.",
    )
    .acts(Effect::AtOnce),
    mysql(
        "login_check_timeout",
        int(10, 600_000),
        "5000",
        "Time that a login waits for PAM or LDAP.",
    )
    .unit(Unit::Milliseconds)
    .acts(Effect::AtOnce),
    mysql(
        "pam_service",
        Kind::Text,
        "tidegate",
        "Service of PAM, a file of /etc/pam.d, of accounts that name none.",
    )
    .acts(Effect::AtOnce),
    mysql(
        "ldap_url",
        Kind::Text,
        "",
        "LDAP servers that say whether passwords are right, ldaps://host:port or ldap://host:port, \
         separated by blanks: each is asked if those in front of it are not reached.",
    )
    .acts(Effect::AtOnce),
    mysql(
        "ldap_starttls",
        Kind::Bool,
        "true",
        "Whether connections to ldap:// go over to TLS; only servers on loopback may do without.",
    )
    .acts(Effect::AtOnce),
    mysql(
        "ldap_ca",
        Kind::Text,
        "",
        "File of authorities that vouch for LDAP servers; empty for those of the system.",
    )
    .acts(Effect::AtOnce),
    mysql(
        "ldap_user_dn",
        Kind::Text,
        "",
        "Distinguished name of a user's entry, with {user} for the name: \
         uid={user},ou=people,dc=example,dc=org.",
    )
    .acts(Effect::AtOnce),
    mysql(
        "ldap_search_base",
        Kind::Text,
        "",
        "Entry below which a user's entry is searched instead.",
    )
    .acts(Effect::AtOnce),
    mysql(
        "ldap_search_filter",
        Kind::Text,
        "(uid={user})",
        "Filter of that search, with {user} for the name.",
    )
    .acts(Effect::AtOnce),
    mysql(
        "ldap_search_dn",
        Kind::Text,
        "",
        "Distinguished name of the account that searches; empty for an anonymous search.",
    )
    .acts(Effect::AtOnce),
    mysql("ldap_search_secret", Kind::Text, "", "What that account logs in with.")
        .secret()
        .acts(Effect::AtOnce),
    mysql(
        "monitor_accounts_interval",
        int(100, 604_800_000),
        "10000",
        "Pause between readings of the passwords that accounts leave to servers.",
    )
    .unit(Unit::Milliseconds)
    .acts(Effect::AtOnce),
    mysql(
        "shutdown_timeout_ms",
        int(0, 3_600_000),
        "30000",
        "Time sessions have to end their transactions when Tidegate is told to stop.",
    )
    .unit(Unit::Milliseconds)
    .acts(Effect::AtOnce),
    mysql(
        "query_digests_memory_bytes_max",
        int(1 << 20, 1 << 40),
        "67108864",
        "Memory for statistics by digest, shared out to the workers; what matters least goes first.",
    )
    .unit(Unit::Bytes)
    .acts(Effect::AtOnce),
    mysql(
        "unfinished_command_timeout_ms",
        int(0, 86_400_000),
        "60000",
        "Time without a byte after which a client goes that has sent a part of a command; 0 for none.",
    )
    .unit(Unit::Milliseconds)
    .acts(Effect::AtOnce),
    mysql(
        "kill_sessions_of_changed_users",
        Kind::Bool,
        "false",
        "Whether sessions end whose account is removed or gets another password.",
    )
    .acts(Effect::AtOnce),
    mysql(
        "prepared_texts_memory_bytes_max",
        int(1 << 20, 1 << 40),
        "536870912",
        "Memory for texts of prepared statements, shared out to the workers; a session may have an \
         eighth of its worker's share.",
    )
    .unit(Unit::Bytes)
    .acts(Effect::AtOnce),
    mysql(
        "max_connects_per_server",
        int(1, 100_000),
        "32",
        "New connections to one server that may be under way at a time.",
    )
    .acts(Effect::AtOnce),
    mysql(
        "max_backend_connections_per_user",
        int(0, 1_000_000),
        "0",
        "Connections to each server that one user may have, unless its attributes say another \
         number; 0 for as many as the server may.",
    )
    .acts(Effect::AtOnce),
    mysql(
        "topology_recording",
        Kind::Text,
        "",
        "File that every check and every LOAD is recorded to, with what it changes in the \
         topology, for `tidegate replay-topology`; empty records nothing.",
    )
    .acts(Effect::AtOnce),
    mysql(
        "topology_recording_bytes_max",
        int(1 << 16, 1 << 40),
        "67108864",
        "Size at which that file is renamed, `.1` behind its name, and a new one begun.",
    )
    .unit(Unit::Bytes)
    .acts(Effect::AtOnce),
    mysql(
        "zone",
        Kind::Text,
        "",
        "The zone that Tidegate is in: servers in the same one are preferred, by `zones` of \
         `hostgroup_settings`.",
    )
    .acts(Effect::AtOnce),
    mysql(
        "pipeline_depth",
        int(0, 1024),
        "16",
        "Commands of several sessions that one backend connection carries at a time; 0 for one.",
    )
    .acts(Effect::AtOnce),
    mysql(
        "pipeline_stall_us",
        int(1000, 60_000_000),
        "30000",
        "Microseconds without a byte on a shared connection after which the commands behind the \
         first go elsewhere.",
    )
    .acts(Effect::AtOnce),
    mysql(
        "pipeline_max_latency_us",
        int(1, 60_000_000),
        "5000",
        "Microseconds that a read may take to share a connection, and that those before it there \
         may take together.",
    )
    .acts(Effect::AtOnce),
    mysql(
        "pipeline_max_reply_bytes",
        int(64, 1 << 30),
        "16384",
        "Largest replies of a read that may share a connection.",
    )
    .unit(Unit::Bytes)
    .acts(Effect::AtOnce),
    mysql(
        "pipeline_min_runs",
        int(1, 64),
        "4",
        "Runs of a read by itself before it may share a connection.",
    )
    .acts(Effect::AtOnce),
    mysql(
        "follow_redirects",
        Kind::Bool,
        "false",
        "Whether new connections go where a server's login sends them; whoever answers there is \
         shown the accounts' logins.",
    )
    .acts(Effect::NewConnections),
    mysql(
        "redirect_ttl_max_ms",
        int(1000, 86_400_000),
        "600000",
        "Longest time that such a place is remembered, and that of one that comes without a time.",
    )
    .unit(Unit::Milliseconds)
    .acts(Effect::AtOnce),
    mysql(
        "stored_code",
        Kind::Bool,
        "true",
        "Whether statements are looked at for views, functions and triggers that they reach; without \
         it, these are trusted to do nothing but compute.",
    )
    .acts(Effect::AtOnce),
    mysql(
        "stored_code_refresh_interval_ms",
        int(0, 86_400_000),
        "60000",
        "Time after which views, functions and triggers are read again from each hostgroup; 0 \
         reads none, and any table or function may then be stored code.",
    )
    .unit(Unit::Milliseconds)
    .acts(Effect::AtOnce),
];
