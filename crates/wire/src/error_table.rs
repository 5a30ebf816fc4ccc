//! Numbers and SQLSTATEs of the errors that a proxy sends or looks for.
//!
//! A table: what each error is for is said where it is sent.

/// An error's number with its SQLSTATE.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ErrorCode {
    /// The number.
    pub number: u16,
    /// The SQLSTATE.
    pub sqlstate: [u8; 5],
}

impl ErrorCode {
    /// An error of that number and SQLSTATE.
    pub const fn new(number: u16, sqlstate: &[u8; 5]) -> Self {
        Self { number, sqlstate: *sqlstate }
    }
}

macro_rules! errors {
    ($($(#[$doc:meta])* $name:ident = $number:literal $state:literal;)*) => {
        $($(#[$doc])* pub const $name: ErrorCode = ErrorCode::new($number, $state);)*

        /// Every error of the table with its name.
        pub const ALL: &[(&str, ErrorCode)] = &[$((stringify!($name), $name)),*];
    };
}

errors! {
    /// `ER_CON_COUNT_ERROR`: too many connections.
    CON_COUNT_ERROR = 1040 b"08004";
    /// `ER_BAD_HOST_ERROR`
    BAD_HOST_ERROR = 1042 b"08S01";
    /// `ER_HANDSHAKE_ERROR`: bad handshake.
    HANDSHAKE_ERROR = 1043 b"08S01";
    /// `ER_DBACCESS_DENIED_ERROR`: access to the schema denied.
    DBACCESS_DENIED_ERROR = 1044 b"42000";
    /// `ER_ACCESS_DENIED_ERROR`: wrong user or password.
    ACCESS_DENIED_ERROR = 1045 b"28000";
    /// `ER_NO_DB_ERROR`: no schema selected.
    NO_DB_ERROR = 1046 b"3D000";
    /// `ER_UNKNOWN_COM_ERROR`: unknown command.
    UNKNOWN_COM_ERROR = 1047 b"08S01";
    /// `ER_BAD_DB_ERROR`: unknown schema.
    BAD_DB_ERROR = 1049 b"42000";
    /// `ER_TABLE_EXISTS_ERROR`
    TABLE_EXISTS_ERROR = 1050 b"42S01";
    /// `ER_BAD_TABLE_ERROR`: unknown table in DROP.
    BAD_TABLE_ERROR = 1051 b"42S02";
    /// `ER_SERVER_SHUTDOWN`: the server shuts down.
    SERVER_SHUTDOWN = 1053 b"08S01";
    /// `ER_BAD_FIELD_ERROR`: unknown column.
    BAD_FIELD_ERROR = 1054 b"42S22";
    /// `ER_DUP_ENTRY`: duplicate key.
    DUP_ENTRY = 1062 b"23000";
    /// `ER_PARSE_ERROR`: a syntax error.
    PARSE_ERROR = 1064 b"42000";
    /// `ER_EMPTY_QUERY`: no statement.
    EMPTY_QUERY = 1065 b"42000";
    /// `ER_NO_SUCH_THREAD`: unknown connection id.
    NO_SUCH_THREAD = 1094 b"HY000";
    /// `ER_KILL_DENIED_ERROR`: another user's connection.
    KILL_DENIED_ERROR = 1095 b"HY000";
    /// `ER_UNKNOWN_ERROR`
    UNKNOWN_ERROR = 1105 b"HY000";
    /// `ER_UNKNOWN_CHARACTER_SET`
    UNKNOWN_CHARACTER_SET = 1115 b"42000";
    /// `ER_HOST_IS_BLOCKED`: too many failed connects.
    HOST_IS_BLOCKED = 1129 b"HY000";
    /// `ER_NO_SUCH_TABLE`
    NO_SUCH_TABLE = 1146 b"42S02";
    /// `ER_NET_PACKET_TOO_LARGE`: a packet above `max_allowed_packet`.
    NET_PACKET_TOO_LARGE = 1153 b"08S01";
    /// `ER_NET_PACKETS_OUT_OF_ORDER`
    NET_PACKETS_OUT_OF_ORDER = 1156 b"08S01";
    /// `ER_NET_READ_INTERRUPTED`: a read timed out.
    NET_READ_INTERRUPTED = 1159 b"08S01";
    /// `ER_UNKNOWN_SYSTEM_VARIABLE`
    UNKNOWN_SYSTEM_VARIABLE = 1193 b"HY000";
    /// `ER_LOCK_WAIT_TIMEOUT`
    LOCK_WAIT_TIMEOUT = 1205 b"HY000";
    /// `ER_LOCK_DEADLOCK`
    LOCK_DEADLOCK = 1213 b"40001";
    /// `ER_USER_LIMIT_REACHED`: a limit of the user is used up.
    USER_LIMIT_REACHED = 1226 b"42000";
    /// `ER_SPECIFIC_ACCESS_DENIED_ERROR`: a privilege is missing.
    SPECIFIC_ACCESS_DENIED_ERROR = 1227 b"42000";
    /// `ER_WRONG_VALUE_FOR_VAR`
    WRONG_VALUE_FOR_VAR = 1231 b"42000";
    /// `ER_NOT_SUPPORTED_YET`
    NOT_SUPPORTED_YET = 1235 b"42000";
    /// `ER_UNKNOWN_STMT_HANDLER`: unknown prepared statement.
    UNKNOWN_STMT_HANDLER = 1243 b"HY000";
    /// `ER_NOT_SUPPORTED_AUTH_MODE`: the client cannot authenticate as the server asks.
    NOT_SUPPORTED_AUTH_MODE = 1251 b"08004";
    /// `ER_OPTION_PREVENTS_STATEMENT`: `--read-only` and the like.
    OPTION_PREVENTS_STATEMENT = 1290 b"HY000";
    /// `ER_QUERY_INTERRUPTED`: the query was killed.
    QUERY_INTERRUPTED = 1317 b"70100";
    /// `ER_NO_DEFAULT_FOR_FIELD` has its place in tests of servers.
    NO_DEFAULT_FOR_FIELD = 1364 b"HY000";
    /// `ER_MAX_PREPARED_STMT_COUNT_REACHED`
    MAX_PREPARED_STMT_COUNT_REACHED = 1461 b"42000";
    /// `ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION`
    CANT_EXECUTE_IN_READ_ONLY_TRANSACTION = 1792 b"25006";
    /// `ER_MALFORMED_PACKET`
    MALFORMED_PACKET = 1835 b"HY000";
    /// `ER_QUERY_TIMEOUT` of MySQL.
    QUERY_TIMEOUT = 3024 b"HY000";
    /// `ER_SECURE_TRANSPORT_REQUIRED`
    SECURE_TRANSPORT_REQUIRED = 3159 b"HY000";
    /// `ER_CLIENT_INTERACTION_TIMEOUT` of MySQL: the connection was idle for too long.
    CLIENT_INTERACTION_TIMEOUT = 4031 b"HY000";
    /// `CR_CONNECTION_ERROR`: the server cannot be reached.
    CONN_HOST_ERROR = 2003 b"HY000";
    /// `CR_SERVER_GONE_ERROR`: the server has gone away.
    SERVER_GONE_ERROR = 2006 b"HY000";
    /// `CR_SERVER_LOST`: lost connection during a query.
    SERVER_LOST = 2013 b"HY000";
    /// No server of the hostgroup could be used in time (a number of ProxySQL's).
    HOSTGROUP_UNAVAILABLE = 9001 b"HY000";
    /// The proxy is shutting down.
    PROXY_SHUTDOWN = 9002 b"HY000";
}
