//! How servers of MariaDB and of MySQL are told the same. MariaDB counts transactions by domain
//! (Knowledge Base, "Global Transaction ID"), MySQL by server (manual, "Replication with GTIDs").

use keeper::Endpoint;

use crate::Account;

/// What a server understands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Dialect {
    /// MariaDB 10.0 and later.
    MariaDb,
    /// MySQL 8.0.26 and later, which has no word `SLAVE` any more.
    MySql,
}

impl Dialect {
    /// That of a server whose `VERSION()` this is; an error for one that is not known.
    pub(crate) fn of(version: &str) -> Result<Self, String> {
        let mut numbers = version.split(['.', '-']).map(|part| part.parse::<u32>().unwrap_or(0));
        let mut next = || numbers.next().unwrap_or(0);
        let number = [next(), next(), next()];
        match version.contains("MariaDB") {
            true => Ok(Self::MariaDb),
            false if number >= [8, 0, 26] => Ok(Self::MySql),
            false => Err(format!("it is a MySQL {version}; 8.0.26 is the first that is known")),
        }
    }

    /// One row: read-only, its number, whether it can have replicas, whether it counts
    /// transactions.
    pub(crate) const fn itself(self) -> &'static str {
        match self {
            Self::MariaDb => {
                "SELECT @@global.read_only, @@server_id, @@log_bin AND @@log_slave_updates, 1"
            }
            Self::MySql => {
                "SELECT @@global.read_only, @@server_id, @@log_bin AND @@log_replica_updates, \
                 @@gtid_mode='ON'"
            }
        }
    }

    /// A row for each source that it replicates from.
    pub(crate) const fn sources(self) -> &'static str {
        match self {
            Self::MariaDb => "SHOW ALL SLAVES STATUS",
            Self::MySql => "SHOW REPLICA STATUS",
        }
    }

    /// Names of the columns in that: number, host and port of the source, whether the receiver and
    /// the applier run, how it knows where it is, seconds behind, what the applier does.
    pub(crate) const fn columns(self) -> [&'static str; 8] {
        match self {
            Self::MariaDb => [
                "Master_Server_Id",
                "Master_Host",
                "Master_Port",
                "Slave_IO_Running",
                "Slave_SQL_Running",
                "Using_Gtid",
                "Seconds_Behind_Master",
                "Slave_SQL_State",
            ],
            Self::MySql => [
                "Source_Server_Id",
                "Source_Host",
                "Source_Port",
                "Replica_IO_Running",
                "Replica_SQL_Running",
                "Auto_Position",
                "Seconds_Behind_Source",
                "Replica_SQL_Running_State",
            ],
        }
    }

    /// From then on nobody but administrators writes.
    pub(crate) const fn close(self) -> &'static [&'static str] {
        match self {
            Self::MariaDb => &["SET GLOBAL read_only=1"],
            Self::MySql => &["SET GLOBAL super_read_only=1"],
        }
    }

    /// From then on everybody may write.
    pub(crate) const fn open(self) -> &'static [&'static str] {
        match self {
            Self::MariaDb => &["SET GLOBAL read_only=0"],
            Self::MySql => &["SET GLOBAL super_read_only=0", "SET GLOBAL read_only=0"],
        }
    }

    /// Which transactions it has.
    pub(crate) const fn position(self) -> &'static str {
        match self {
            Self::MariaDb => "SELECT @@global.gtid_binlog_pos",
            Self::MySql => "SELECT @@global.gtid_executed",
        }
    }

    /// Waits so many seconds until it has these transactions; 0 when it has.
    pub(crate) fn wait(self, position: &str, seconds: u64) -> String {
        match self {
            Self::MariaDb => format!("SELECT MASTER_GTID_WAIT({}, {seconds})", quote(position)),
            Self::MySql => {
                format!("SELECT WAIT_FOR_EXECUTED_GTID_SET({}, {seconds})", quote(position))
            }
        }
    }

    /// It takes nothing more of its source, and applies what it has.
    pub(crate) const fn stop_receiving(self) -> &'static str {
        match self {
            Self::MariaDb => "STOP SLAVE IO_THREAD",
            Self::MySql => "STOP REPLICA IO_THREAD",
        }
    }

    /// The opposite.
    pub(crate) const fn receive(self) -> &'static str {
        match self {
            Self::MariaDb => "START SLAVE IO_THREAD",
            Self::MySql => "START REPLICA IO_THREAD",
        }
    }

    /// Asks a server which transactions others have that it has not: it knows `own`, they `theirs`.
    /// MariaDB is asked nothing: see [`crate::positions`].
    pub(crate) fn lacking(theirs: &str, own: &str) -> String {
        format!("SELECT GTID_SUBTRACT({}, {})", quote(theirs), quote(own))
    }

    /// Which transactions it has written, of each server that they come from.
    pub(crate) const fn written(self) -> &'static str {
        match self {
            Self::MariaDb => "SELECT @@global.gtid_binlog_state",
            Self::MySql => "SELECT @@global.gtid_executed",
        }
    }

    /// It replicates from nobody any more.
    pub(crate) const fn leave(self) -> &'static [&'static str] {
        match self {
            Self::MariaDb => &["STOP ALL SLAVES", "RESET SLAVE ALL"],
            Self::MySql => &["STOP REPLICA", "RESET REPLICA ALL"],
        }
    }

    /// It replicates from `source` as `account`; with `position`, as one that was a primary and has
    /// these transactions.
    pub(crate) fn follow(
        self,
        source: &Endpoint,
        account: &Account,
        position: Option<&str>,
    ) -> Vec<String> {
        let host = quote(&source.hostname);
        let (port, user, password) = (source.port, quote(&account.user), quote(&account.password));
        match self {
            Self::MariaDb => {
                let stand = position.map(|at| format!("SET GLOBAL gtid_slave_pos={}", quote(at)));
                let mut statements = vec!["STOP ALL SLAVES".to_owned()];
                statements.extend(stand);
                statements.push(format!(
                    "CHANGE MASTER TO MASTER_HOST={host}, MASTER_PORT={port}, MASTER_USER={user}, \
                     MASTER_PASSWORD={password}, MASTER_USE_GTID=slave_pos"
                ));
                statements.push("START SLAVE".to_owned());
                statements
            }
            Self::MySql => vec![
                "STOP REPLICA".to_owned(),
                format!(
                    "CHANGE REPLICATION SOURCE TO SOURCE_HOST={host}, SOURCE_PORT={port}, \
                     SOURCE_USER={user}, SOURCE_PASSWORD={password}, SOURCE_AUTO_POSITION=1, \
                     GET_SOURCE_PUBLIC_KEY=1"
                ),
                "START REPLICA".to_owned(),
            ],
        }
    }
}

/// A text as a literal, on a connection whose `sql_mode` is empty.
fn quote(text: &str) -> String {
    format!("'{}'", text.replace('\\', r"\\").replace('\'', "''"))
}
