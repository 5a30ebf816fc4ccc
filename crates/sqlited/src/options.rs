//! What an embedded server is told: its name, where it listens, who may come in.
//!
//! Plain values; nothing is opened here.

use io::Addr;
use wire::auth::Plugin;

/// One embedded server.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ServerOptions {
    /// `@@hostname`.
    pub name: String,
    /// Where it listens; port 0 lets the system choose.
    pub addr: Addr,
    /// `@@server_id`.
    pub server_id: u32,
    /// Whether writes are refused with error 1290; `SET GLOBAL read_only` changes it later.
    pub read_only: bool,
    /// Who may connect.
    pub users: Vec<User>,
    /// Most sessions at a time; more are turned away with error 1040.
    pub max_connections: usize,
    /// How long a write waits for another session's transaction before error 1205.
    pub lock_wait_ms: u64,
    /// How long one statement may run before error 3024; it has the whole server while it runs.
    pub statement_ms: u64,
    /// Longest command in bytes (`@@max_allowed_packet`).
    pub max_packet_bytes: usize,
    /// Largest result in bytes; results are kept whole until the client has taken them.
    pub max_result_bytes: usize,
}

impl ServerOptions {
    /// A writable server called `name` with server id 1, no users, and room for most uses.
    pub fn new(name: impl Into<String>, addr: Addr) -> Self {
        Self {
            name: name.into(),
            addr,
            server_id: 1,
            read_only: false,
            users: Vec::new(),
            max_connections: 1000,
            lock_wait_ms: 5_000,
            statement_ms: 10_000,
            max_packet_bytes: 64 << 20,
            max_result_bytes: 512 << 20,
        }
    }
}

/// An account; there is no host part.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct User {
    /// The name.
    pub name: String,
    /// The password in clear text; empty for none.
    pub password: String,
    /// How the password is proved: `NativePassword` or `CachingSha2`.
    pub plugin: Plugin,
    /// Whether `read_only` does not bind the user and `SET GLOBAL` is allowed.
    pub superuser: bool,
}

impl User {
    /// An ordinary user who proves the password by `mysql_native_password`.
    pub fn new(name: impl Into<String>, password: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            password: password.into(),
            plugin: Plugin::NativePassword,
            superuser: false,
        }
    }
}
