//! The errors Tidegate itself gives to clients: code, SQLSTATE and wording in one place.
//!
//! Errors of servers are passed on as they are and never come through here. When an error is due is
//! decided elsewhere; this module only says it.

use std::fmt;

use crate::ids::HostgroupId;

/// An error for a client, ready to be written as an ERR packet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SqlError {
    /// MySQL or ProxySQL error number.
    pub code: u16,
    /// SQLSTATE, five characters.
    pub sqlstate: [u8; 5],
    /// The sentence.
    pub message: String,
}

impl fmt::Display for SqlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = String::from_utf8_lossy(&self.sqlstate);
        write!(f, "{} ({state}): {}", self.code, self.message)
    }
}

/// A row of the reference: an error of Tidegate's own, and when a client gets it.
#[derive(Clone, Copy, Debug)]
pub struct ErrorRow {
    /// Its number.
    pub code: u16,
    /// Its SQLSTATE.
    pub sqlstate: &'static str,
    /// When a client gets it.
    pub when: &'static str,
}

/// Every error of this module, by number.
pub const ERRORS: &[ErrorRow] = &[
    row(
        1040,
        "08004",
        "`mysql-max_connections` clients have logged in, or this one took too long to log in and \
         gave way",
    ),
    row(
        1041,
        "HY000",
        "a worker keeps too many bytes of incomplete long commands and of parameter data sent \
         ahead",
    ),
    row(
        1043,
        "08S01",
        "a login does not follow the protocol; or a header of the PROXY protocol is malformed, or \
         comes from outside of `mysql-proxy_protocol_networks`",
    ),
    row(
        1045,
        "28000",
        "wrong user or password; or TLS, or a client certificate, that the account or the \
         listener demands is missing (the reason stands behind the text)",
    ),
    row(1047, "08S01", "a command of the protocol is not known"),
    row(1047, "HY000", "`LOAD DATA LOCAL`, while `mysql-enable_load_data_local_infile` is false"),
    row(1053, "08S01", "Tidegate stops"),
    row(1064, "42000", "`PROXYSQL INTERNAL` with another word than `SESSION`"),
    row(1094, "HY000", "`KILL` names a connection that there is not"),
    row(1095, "HY000", "`KILL` names a connection of another user"),
    row(
        1105,
        "HY000",
        "parameter data sent ahead is longer than `mysql-max_allowed_packet`; \
         `mysql-init_connect` gives a result; or, with `Internal error`, a defect of Tidegate",
    ),
    row(
        1129,
        "HY000",
        "so many wrong passwords came from the same address for the same account that this login \
         was not looked at within `mysql-connect_timeout_client`",
    ),
    row(
        1148,
        "42000",
        "a rule's `error_msg`; or a text that servers may read in too many ways, while a rule may \
         answer it",
    ),
    row(1153, "08S01", "a command is longer than `mysql-max_allowed_packet`"),
    row(1156, "08S01", "a packet does not continue the numbering"),
    row(1157, "08S01", "a compressed packet cannot be decompressed"),
    row(1158, "08S01", "the server was lost, and the command may not be repeated"),
    row(1210, "HY000", "data was sent for a parameter that a prepared statement does not have"),
    row(1226, "42000", "the account has as many clients as its `max_connections`"),
    row(1227, "42000", "a replication command of an account whose attributes forbid it"),
    row(1231, "42000", "a client asks for a character set that servers cannot read"),
    row(
        1235,
        "42000",
        "a `KILL` in a form that Tidegate cannot read, or not alone in its text; or a text that \
         may be a `KILL`, since a function makes its first word",
    ),
    row(1243, "HY000", "a prepared statement does not exist"),
    row(1251, "08004", "an account goes by a plugin, and its client knows of none"),
    row(1295, "HY000", "a text that hides a `KILL` is to be prepared"),
    row(1317, "70100", "the query was killed"),
    row(1421, "HY000", "a prepared statement has no open cursor"),
    row(
        1461,
        "42000",
        "a client has prepared 16,382 statements, or texts of as many bytes as \
         `mysql-prepared_texts_memory_bytes_max` allows it",
    ),
    row(1835, "HY000", "a packet cannot be read as a command"),
    row(1907, "70100", "the query ran longer than its limit"),
    row(1927, "70100", "a client killed its own connection, with MariaDB servers"),
    row(1957, "HY000", "`KILL QUERY ID`, whose numbers are a server's"),
    row(2003, "HY000", "a server cannot be connected to, for a user with `fast_forward`"),
    row(
        3159,
        "HY000",
        "a client in clear text, where `mysql-require_secure_transport` or its listener in \
         `mysql-interfaces_tls` demands TLS",
    ),
    row(
        9001,
        "HY000",
        "no server of the hostgroup could be had within `mysql-connect_timeout_server_max`, or the \
         user has as many connections to its servers as it may",
    ),
    row(
        9006,
        "Y0000",
        "a statement that changes data or definitions goes to a hostgroup without the server that \
         the session is tied to, and `mysql-set_query_lock_on_hostgroup` is 1",
    ),
];

const fn row(code: u16, sqlstate: &'static str, when: &'static str) -> ErrorRow {
    ErrorRow { code, sqlstate, when }
}

fn error(code: u16, sqlstate: [u8; 5], message: String) -> SqlError {
    SqlError { code, sqlstate, message }
}

/// ProxySQL 9006, for a statement that cannot run where its session is tied to. `why` names the
/// reasons.
pub fn locked_on_hostgroup(locked: HostgroupId, wanted: HostgroupId, why: &str) -> SqlError {
    let message = format!(
        "Tidegate: the connection is locked to hostgroup {locked} ({why}) but the statement goes \
         to hostgroup {wanted}"
    );
    error(9006, *b"Y0000", message)
}

/// MySQL 1040, sent in place of a greeting.
pub fn too_many_connections() -> SqlError {
    error(1040, *b"08004", "Too many connections".into())
}

/// MySQL 1045, in MySQL's words.
pub fn access_denied(user: &[u8], client: &str, with_password: bool) -> SqlError {
    let user = String::from_utf8_lossy(user);
    let using = if with_password { "YES" } else { "NO" };
    error(
        1045,
        *b"28000",
        format!("Access denied for user '{user}'@'{client}' (using password: {using})"),
    )
}

/// MySQL 1045, for a right password over a connection that its account does not allow, with the
/// reason behind it as ProxySQL has it.
pub fn insecure(user: &[u8], client: &str, with_password: bool, reason: &str) -> SqlError {
    let denied = access_denied(user, client, with_password);
    SqlError { message: format!("{}. {reason}", denied.message), ..denied }
}

/// MySQL 1251, for a client that knows of no plugins and whose account asks for one.
pub fn plugin_unsupported() -> SqlError {
    let message = "Client does not support authentication protocol requested by server; consider \
                   upgrading MySQL client";
    error(1251, *b"08004", message.into())
}

/// MySQL 3159, for a client in clear text where TLS is demanded.
pub fn insecure_transport() -> SqlError {
    let message = "Connections using insecure transport are prohibited while \
                   mysql-require_secure_transport is true or mysql-interfaces_tls demands TLS.";
    error(3159, *b"HY000", message.into())
}

/// The password of a client is right or wrong, and no server was there to say which.
pub fn unproved() -> SqlError {
    let message = "no server could say whether the password is right".to_owned();
    error(9001, *b"HY000", message)
}

/// The password of a client is right or wrong, and PAM or LDAP could not say which.
pub fn unchecked(by: &str) -> SqlError {
    error(9001, *b"HY000", format!("{by} could not say whether the password is right"))
}

/// The same, as it did not say so in time.
pub fn check_timed_out(by: &str) -> SqlError {
    let message =
        format!("{by} did not say within mysql-login_check_timeout whether the password is right");
    error(9001, *b"HY000", message)
}

/// MySQL 1040, for a login that would be one too many to wait for PAM or LDAP.
pub fn too_many_checks(by: &str) -> SqlError {
    let message = format!("Too many logins wait for {by} (mysql-login_check_queue_max)");
    error(1040, *b"08004", message)
}

/// MySQL's 2061, for a server whose public key is not one of those that it may have; not sent to
/// clients but as the last reason why none could be had.
pub fn server_key_refused(key: &dyn fmt::Display) -> SqlError {
    let message = format!(
        "Authentication requires secure connection: the server shows the public key {key}, which \
         mysql-server_public_keys does not have"
    );
    SqlError { code: 2061, sqlstate: *b"HY000", message }
}

/// MySQL's 2026, for a server that is not reached as securely as it has to be; not sent to clients
/// but as the last reason why none could be had.
pub fn tls_failed(server: &str, why: &str) -> SqlError {
    let message = format!("TLS to {server} failed: {why}");
    SqlError { code: 2026, sqlstate: *b"HY000", message }
}

/// What a server said in refusing a login, with what may be the reason; `server` is its place.
pub fn tls_may_be_demanded(said: &str, server: &str) -> String {
    format!(
        "{said}; the server may demand TLS of this account: set use_ssl = 1 for {server} in \
         mysql_servers"
    )
}

/// MySQL 1129, for a login that was not looked at in its time.
pub fn too_many_wrong_passwords() -> SqlError {
    let message = "Too many wrong passwords for this account from this address: try again later";
    error(1129, *b"HY000", message.into())
}

/// MySQL 1043, for a login that does not follow the protocol.
pub fn bad_handshake(why: &str) -> SqlError {
    error(1043, *b"08S01", format!("Bad handshake: {why}"))
}

/// MySQL 1045, for a login that is refused whoever it is.
pub fn access_refused(why: &str) -> SqlError {
    error(1045, *b"28000", format!("Access denied: {why}"))
}

/// MySQL 1047, for a command that is not known or not possible here.
pub fn unknown_command(name: &str) -> SqlError {
    error(1047, *b"08S01", format!("Unknown command: {name}"))
}

/// ProxySQL's 1064 to what it does not tell of itself.
pub fn unknown_internal() -> SqlError {
    error(1064, *b"42000", "Unknown PROXYSQL INTERNAL command".into())
}

/// ProxySQL's 1047, for a file of the client that may not be asked for.
pub fn local_files_unsupported() -> SqlError {
    error(1047, *b"HY000", "Unsupported 'LOAD DATA LOCAL INFILE' command".into())
}

/// MySQL 1835, for bytes that are no command.
pub fn malformed_packet(why: &str) -> SqlError {
    error(1835, *b"HY000", format!("Malformed communication packet: {why}"))
}

/// MySQL 1156, for a packet that does not continue the numbering.
pub fn packets_out_of_order() -> SqlError {
    error(1156, *b"08S01", "Got packets out of order".into())
}

/// MySQL 1157, for what cannot be decompressed.
pub fn not_decompressed() -> SqlError {
    error(1157, *b"08S01", "Couldn't uncompress communication packet".into())
}

/// MySQL 1227, for an account that the operator lets read no binary logs.
pub fn replication_denied() -> SqlError {
    let message = "Access denied: mysql_users has replication as false in the attributes of this \
                   account";
    error(1227, *b"42000", message.into())
}

/// MySQL 1153 with ProxySQL's limit.
pub fn packet_too_large() -> SqlError {
    error(1153, *b"08S01", "Got a packet bigger than 'max_allowed_packet' bytes".into())
}

/// MySQL 1041 for long commands that are kept until their end has come.
pub fn commands_too_long(kept_max: usize) -> SqlError {
    let kept_mib = kept_max >> 20;
    let text = format!(
        "Out of memory for long commands: a worker keeps {kept_mib} MiB of those that are not \
         complete yet (4 times mysql-max_allowed_packet); try again"
    );
    error(1041, *b"HY000", text)
}

/// MySQL 1226 for the limit of one account.
pub fn too_many_user_connections(user: &str, current: u32) -> SqlError {
    error(
        1226,
        *b"42000",
        format!(
            "User '{user}' has exceeded the 'max_user_connections' resource \
             (current value: {current})"
        ),
    )
}

/// MySQL 1243 for an execute of a statement that does not exist.
pub fn unknown_statement(id: u32, command: &str) -> SqlError {
    error(1243, *b"HY000", format!("Unknown prepared statement handler ({id}) given to {command}"))
}

/// MySQL 1210 for data of a parameter that a statement does not have.
pub fn wrong_arguments(command: &str) -> SqlError {
    error(1210, *b"HY000", format!("Incorrect arguments to {command}"))
}

/// MySQL 1105 for data sent ahead of executions that is more than is kept.
pub fn long_data_too_long(max: usize) -> SqlError {
    let text = format!(
        "Parameter data of prepared statements which is set through mysql_send_long_data() is \
         longer than {max} bytes (mysql-max_allowed_packet) in all"
    );
    error(1105, *b"HY000", text)
}

/// MySQL 1421 for a fetch from a statement without a cursor.
pub fn no_open_cursor(id: u32, is_mariadb: bool) -> SqlError {
    let end = if is_mariadb { "" } else { "." };
    error(1421, *b"HY000", format!("The statement ({id}) has no open cursor{end}"))
}

/// MySQL 1461 for a client that has as many statements as one may have.
pub fn too_many_statements() -> SqlError {
    error(
        1461,
        *b"42000",
        "Can't create more than max_prepared_stmt_count statements (current value: 16382)".into(),
    )
}

/// MySQL 1461 for texts of as many bytes as there may be.
pub fn too_long_statements() -> SqlError {
    error(
        1461,
        *b"42000",
        "Can't create more statements: their texts are as long as \
         mysql-prepared_texts_memory_bytes_max allows"
            .into(),
    )
}

/// MySQL 1158 for a connection to a server that broke while it worked for this client. (Numbers
/// from 2000 on are the clients' own: some refuse them in a packet.)
pub fn lost_connection(server: &str, why: &str) -> SqlError {
    error(
        1158,
        *b"08S01",
        format!("Lost connection to MySQL server during query (server {server}: {why})"),
    )
}

/// MySQL 2003, by which clients know that a connection could not be made.
pub fn cannot_connect(server: &str, why: &str) -> SqlError {
    error(2003, *b"HY000", format!("Can't connect to MySQL server on '{server}' ({why})"))
}

/// MySQL 1053, when Tidegate stops.
pub fn shutting_down() -> SqlError {
    error(1053, *b"08S01", "Server shutdown in progress".into())
}

/// MySQL 1094, for a `KILL` of a connection that there is not.
pub fn unknown_thread(id: u64) -> SqlError {
    error(1094, *b"HY000", format!("Unknown thread id: {id}"))
}

/// MySQL 1095, for a `KILL` of another user's connection.
pub fn not_owner(id: u64) -> SqlError {
    error(1095, *b"HY000", format!("You are not owner of thread {id}"))
}

/// MariaDB 1957, for a `KILL QUERY ID`: the proxy's clients have no such numbers.
pub fn unknown_query(id: u64) -> SqlError {
    error(1957, *b"HY000", format!("Unknown query id: {id}"))
}

/// MySQL 1235, for a `KILL` that does not tell by itself whom it means.
pub fn kill_not_supported() -> SqlError {
    let message = "This version of Tidegate doesn't yet support 'KILL in this form'";
    error(1235, *b"42000", message.into())
}

/// MySQL 1235, for a text that is run and may be any statement.
pub fn text_not_read() -> SqlError {
    let message = "This version of Tidegate doesn't yet support \
                   'a statement whose first word a function makes: it may be a KILL'";
    error(1235, *b"42000", message.into())
}

/// MySQL 1295, for a text that cannot be prepared.
pub fn not_prepared() -> SqlError {
    let message = "This command is not supported in the prepared statement protocol yet";
    error(1295, *b"HY000", message.into())
}

/// MariaDB 1927, for a client that has killed its own connection.
pub fn connection_killed() -> SqlError {
    error(1927, *b"70100", "Connection was killed".into())
}

/// MySQL 1317, for a query that was killed.
pub fn query_interrupted() -> SqlError {
    error(1317, *b"70100", "Query execution was interrupted".into())
}

/// 1907 as ProxySQL gives it, for a query that ran longer than it may; names the limit.
pub fn query_timeout(limit_ms: u64) -> SqlError {
    let message =
        format!("Query execution was interrupted, query_timeout exceeded (limit {limit_ms} ms)");
    error(1907, *b"70100", message)
}

/// 1148, with the text of a rule's `error_msg`.
pub fn refused_by_rule(text: &str) -> SqlError {
    error(1148, *b"42000", text.into())
}

/// 1231: a client may not have this character set, in the words of a server.
pub fn charset_refused(name: &str) -> SqlError {
    let what = "Variable 'character_set_client' can't be set to the value of";
    error(1231, *b"42000", format!("{what} '{name}'"))
}

/// Why nothing could be had, with what a server said last, if it said something.
pub fn with_answer(why: String, said: Option<&SqlError>) -> String {
    match said {
        Some(said) => format!("{why} (last answer: {said})"),
        None => why,
    }
}

/// 9001 when waiting cannot help: nothing in the hostgroup may be used.
pub fn no_server(hostgroup: HostgroupId, why: &str) -> SqlError {
    error(9001, *b"HY000", format!("No server available in hostgroup {hostgroup}: {why}"))
}

/// 9001 after the configured wait, with the words dashboards look for in front.
pub fn connect_timeout(hostgroup: HostgroupId, waited_ms: u64, why: &str) -> SqlError {
    error(
        9001,
        *b"HY000",
        format!(
            "Max connect timeout reached while reaching hostgroup {hostgroup} \
             after {waited_ms}ms: {why}"
        ),
    )
}

/// Why nothing could be had for an account that has as many connections as it may.
pub fn account_limited(account: &str, most: u32) -> String {
    let connections = if most == 1 { "connection" } else { "connections" };
    format!(
        "user '{account}' has {most} {connections} to each of its servers, and may have no more \
         (max_backend_connections)"
    )
}

/// Why nothing could be had for a client that has proved no password yet.
pub const PROOFS_TAKEN: &str = "as many connections to each server as may prove passwords do so";

/// The operator's statement for new connections failed: the error of the server, and where that
/// statement stands, for it is none of the client's.
pub fn init_connect_failed(place: &str, server: &dyn fmt::Display, said: SqlError) -> SqlError {
    let SqlError { code, sqlstate, message } = said;
    SqlError { code, sqlstate, message: format!("{place} failed at server {server}: {message}") }
}

/// What is wrong with a statement for new connections that has a result, which nobody reads.
pub fn init_connect_gives_rows() -> SqlError {
    error(1105, *b"HY000", "it must not give a result".into())
}

/// An internal fault: a state that must not occur. The session ends with it.
pub fn internal(what: &str) -> SqlError {
    error(1105, *b"HY000", format!("Internal error: {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every number in this file is in the table with its SQLSTATE, and no other.
    #[test]
    fn the_reference_has_every_error() {
        let text = include_str!("error.rs").split("#[cfg(test)]").next().unwrap_or_default();
        let mut made = Vec::new();
        for call in text.split("error(").skip(1) {
            let mut words = call.split([',', '"']).map(str::trim).filter(|word| !word.is_empty());
            if let (Some(Ok(code)), Some("*b"), Some(state)) =
                (words.next().map(str::parse::<u16>), words.next(), words.next())
            {
                made.push((code, state));
            }
        }
        made.sort_unstable();
        made.dedup();
        let told: Vec<_> = ERRORS.iter().map(|row| (row.code, row.sqlstate)).collect();
        assert_eq!(told, made);
    }
}
