//! A primary and a replica over one store, started for one test.

use mysql::{Conn, OptsBuilder};
use sqlited::{Running, ServerOptions, Store, User};
use wire::auth::Plugin;

/// The servers of one test.
pub(crate) struct Group {
    running: Running,
}

impl Group {
    /// A primary `db-1` and a replica `db-2` that wait for locks as long as usual.
    pub(crate) fn start() -> Self {
        Self::start_with(|_| {})
    }

    /// The same, with options changed on both.
    pub(crate) fn start_with(change: impl Fn(&mut ServerOptions)) -> Self {
        let users = vec![
            User::new("demo", "demo"),
            User { plugin: Plugin::CachingSha2, ..User::new("sha", "secret") },
            User { superuser: true, ..User::new("root", "root") },
            User::new("open", ""),
        ];
        let any = io::Addr::Tcp(([127, 0, 0, 1], 0).into());
        let mut servers = Vec::new();
        for (index, read_only) in [false, true].into_iter().enumerate() {
            let id = u32::try_from(index).unwrap() + 1;
            let mut options = ServerOptions {
                server_id: id,
                read_only,
                users: users.clone(),
                ..ServerOptions::new(format!("db-{id}"), any.clone())
            };
            change(&mut options);
            servers.push(options);
        }
        let store = Store::in_memory("demo").unwrap();
        Self { running: sqlited::start(store, servers).unwrap() }
    }

    /// The port of a server.
    pub(crate) fn port(&self, server: usize) -> u16 {
        self.running.tcp(server).unwrap().port()
    }

    /// Options to connect by.
    pub(crate) fn options(&self, server: usize, user: &str, password: &str) -> OptsBuilder {
        OptsBuilder::new()
            .ip_or_hostname(Some("127.0.0.1"))
            .tcp_port(self.port(server))
            .user(Some(user))
            .pass(Some(password))
            .db_name(Some("demo"))
            .prefer_socket(false)
    }

    /// A connection of the ordinary user to the primary.
    pub(crate) fn primary(&self) -> Conn {
        Conn::new(self.options(0, "demo", "demo")).unwrap()
    }

    /// A connection of the ordinary user to the replica.
    pub(crate) fn replica(&self) -> Conn {
        Conn::new(self.options(1, "demo", "demo")).unwrap()
    }
}
