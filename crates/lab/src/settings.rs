//! The options that the lab's servers run with, and the statements that make its users. Everything
//! is chosen for short-lived servers on a small machine: a crash of the machine may lose data.

use std::ffi::OsString;
use std::path::Path;

use crate::flavour::Flavour;

/// What a server is to be, for the options it is started with.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ServerRole<'a> {
    pub(crate) flavour: Flavour,
    pub(crate) data: &'a Path,
    pub(crate) socket: &'a Path,
    /// None: no TCP at all (while a template is prepared).
    pub(crate) port: Option<u16>,
    pub(crate) server_id: u32,
    pub(crate) replica: bool,
}

/// The options for one server, the caller's own last so that they win.
pub(crate) fn options(role: &ServerRole<'_>, extra: &[String]) -> Vec<OsString> {
    let path = |name: &str, path: &Path| {
        let mut option = OsString::from(name);
        option.push(path);
        option
    };
    let mut options = vec![
        path("--datadir=", role.data),
        path("--tmpdir=", role.data),
        path("--socket=", role.socket),
        path("--log-error=", &role.data.join("error.log")),
        path("--pid-file=", &role.data.join("server.pid")),
        path("--secure-file-priv=", role.data),
        format!("--server-id={}", role.server_id).into(),
    ];
    match role.port {
        Some(port) => options.push(format!("--port={port}").into()),
        None => options.push("--skip-networking".into()),
    }
    options.extend(COMMON.iter().map(OsString::from));
    let (both, primary) = match role.flavour {
        Flavour::MariaDb => (MARIADB, MARIADB_PRIMARY),
        Flavour::MySql => (MYSQL, MYSQL_PRIMARY),
    };
    options.extend(both.iter().map(OsString::from));
    if role.replica {
        options.push("--read-only=ON".into());
        if role.flavour == Flavour::MySql {
            options.push("--skip-log-bin".into());
        }
    } else {
        options.extend(primary.iter().map(OsString::from));
    }
    options.extend(extra.iter().map(OsString::from));
    options
}

const COMMON: &[&str] = &[
    "--bind-address=127.0.0.1",
    "--skip-name-resolve",
    "--max-connections=3000",
    "--back-log=1000",
    "--max-connect-errors=1000000000",
    "--max-allowed-packet=1G",
    "--local-infile=1",
    "--character-set-server=utf8mb4",
    "--thread-cache-size=300",
    "--table-open-cache=800",
    "--innodb-buffer-pool-size=64M",
    "--innodb-flush-log-at-trx-commit=0",
    "--innodb-flush-method=nosync",
    "--innodb-doublewrite=0",
    "--innodb-lock-wait-timeout=2",
    "--sync-binlog=0",
    "--log-bin-trust-function-creators=1",
];

const MARIADB: &[&str] = &["--innodb-log-file-size=96M", "--performance-schema=OFF"];

const MARIADB_PRIMARY: &[&str] = &["--log-bin=binlog", "--binlog-format=MIXED"];

const MYSQL: &[&str] = &[
    "--innodb-redo-log-capacity=96M",
    "--performance-schema=OFF",
    "--mysqlx=OFF",
    "--gtid-mode=ON",
    "--enforce-gtid-consistency=ON",
];

const MYSQL_PRIMARY: &[&str] = &["--log-bin=binlog"];

/// The statements that make the lab's users and schema on a fresh server.
pub(crate) fn users(flavour: Flavour) -> String {
    let everything = match flavour {
        Flavour::MariaDb => "BINLOG MONITOR, SLAVE MONITOR",
        Flavour::MySql => "REPLICATION CLIENT",
    };
    let mut statements = String::from("CREATE DATABASE IF NOT EXISTS test;\n");
    for (name, grants) in [
        ("app", format!("{APP_GRANTS}, {everything}")),
        ("ff", format!("{APP_GRANTS}, {everything}")),
        ("monitor", format!("USAGE, {everything}")),
        ("repl", "REPLICATION SLAVE".to_owned()),
    ] {
        statements += &format!("CREATE USER {name}@'%' IDENTIFIED BY '{name}';\n");
        statements += &format!("GRANT {grants} ON *.* TO {name}@'%';\n");
    }
    statements
}

/// Everything that an application may need, and nothing that passes over `read_only`.
const APP_GRANTS: &str = "SELECT, INSERT, UPDATE, DELETE, CREATE, DROP, RELOAD, PROCESS, FILE, \
    REFERENCES, INDEX, ALTER, SHOW DATABASES, CREATE TEMPORARY TABLES, LOCK TABLES, EXECUTE, \
    CREATE VIEW, SHOW VIEW, CREATE ROUTINE, ALTER ROUTINE, EVENT, TRIGGER, CREATE USER, \
    REPLICATION SLAVE";

/// The statements that make a server follow a primary at this port.
pub(crate) fn follow(flavour: Flavour, primary_port: u16) -> String {
    match flavour {
        Flavour::MariaDb => format!(
            "CHANGE MASTER TO MASTER_HOST='127.0.0.1', MASTER_PORT={primary_port}, \
             MASTER_USER='repl', MASTER_PASSWORD='repl', MASTER_USE_GTID=slave_pos, \
             MASTER_CONNECT_RETRY=1; START SLAVE"
        ),
        Flavour::MySql => format!(
            "CHANGE REPLICATION SOURCE TO SOURCE_HOST='127.0.0.1', SOURCE_PORT={primary_port}, \
             SOURCE_USER='repl', SOURCE_PASSWORD='repl', SOURCE_AUTO_POSITION=1, \
             SOURCE_CONNECT_RETRY=1, GET_SOURCE_PUBLIC_KEY=1; START REPLICA"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn role(replica: bool) -> ServerRole<'static> {
        ServerRole {
            flavour: Flavour::MariaDb,
            data: Path::new("/d"),
            socket: Path::new("/d/s"),
            port: Some(3307),
            server_id: 7,
            replica,
        }
    }

    #[test]
    fn only_the_primary_writes_a_binlog_and_only_replicas_are_read_only() {
        let primary = options(&role(false), &[]);
        let replica = options(&role(true), &[]);
        assert!(primary.contains(&"--log-bin=binlog".into()));
        assert!(!primary.contains(&"--read-only=ON".into()));
        assert!(replica.contains(&"--read-only=ON".into()));
        assert!(!replica.contains(&"--log-bin=binlog".into()));
    }

    #[test]
    fn the_callers_options_come_last() {
        let options = options(&role(false), &["--max-connections=5".to_owned()]);
        assert_eq!(options.last(), Some(&"--max-connections=5".into()));
    }

    #[test]
    fn the_application_cannot_write_to_a_read_only_server() {
        for word in ["SUPER", "ALL PRIVILEGES", "READ_ONLY ADMIN"] {
            assert!(!users(Flavour::MariaDb).contains(word), "{word}");
        }
    }
}
