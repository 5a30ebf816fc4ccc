//! Clients of the Rust `mysql` crate for the tests: how they connect, and how their errors are
//! looked at.

use std::path::Path;
use std::time::Duration;

use mysql::{Conn, Opts, OptsBuilder};

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

/// Number, SQLSTATE and text of a server's error; 0 and empty for any other failure.
pub fn refusal(error: &mysql::Error) -> (u16, String, String) {
    match error {
        mysql::Error::MySqlError(error) => (error.code, error.state.clone(), error.message.clone()),
        other => (0, String::new(), other.to_string()),
    }
}
