//! Clients of the Rust `mysql` crate for the tests: how they connect, and how their errors are
//! looked at.

use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use mysql::prelude::Queryable;
use mysql::{Conn, Opts, OptsBuilder, Row};

/// Options for a loopback port, as `app` with the schema `test`.
pub fn options(port: u16) -> OptsBuilder {
    account(port, "app", "app")
}

/// Options for a loopback port and an account whose name may differ from `app`.
pub fn account(port: u16, user: &str, password: &str) -> OptsBuilder {
    OptsBuilder::new()
        .ip_or_hostname(Some("127.0.0.1"))
        .tcp_port(port)
        .user(Some(user))
        .pass(Some(password))
        .db_name(Some("test"))
        .prefer_socket(false)
        .tcp_connect_timeout(Some(Duration::from_secs(10)))
        .read_timeout(Some(Duration::from_secs(60)))
        .max_allowed_packet(Some(1 << 30))
}

/// Options for a Unix socket.
pub fn socket_options(socket: &Path) -> OptsBuilder {
    options(0).socket(Some(socket.to_string_lossy()))
}

/// A connection that must succeed.
pub fn connect(options: impl Into<Opts>) -> Conn {
    Conn::new(options).expect("the client connects")
}

/// The id that the server gives the connection it is asked on, by its list of what runs; a
/// statement with `CONNECTION_ID()` would be answered the proxy's, or keep the connection. `words`
/// stand behind `SELECT`.
pub fn server_id(conn: &mut Conn, words: &str) -> u64 {
    // what another connection has asked may still be listed
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_nanos();
    let text = format!(
        "SELECT {words} ID FROM information_schema.PROCESSLIST WHERE INFO LIKE 'SELECT%{now}%'"
    );
    let row: Row = conn.query_first(text).expect("answered").expect("it runs");
    row.get(row.len() - 1).expect("an id")
}

/// Number, SQLSTATE and text of a server's error; 0 and empty for any other failure.
pub fn refusal(error: &mysql::Error) -> (u16, String, String) {
    match error {
        mysql::Error::MySqlError(error) => (error.code, error.state.clone(), error.message.clone()),
        other => (0, String::new(), other.to_string()),
    }
}
