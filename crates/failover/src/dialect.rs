//! How servers of MariaDB and of MySQL are told the same. MariaDB counts transactions by domain
//! (Knowledge Base, "Global Transaction ID"), MySQL by server (manual, "Replication with GTIDs").

use keeper::Endpoint;

use keeper::positions;

use crate::{ServerAccount, SourceTls};

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
        match version.contains("MariaDB") {
            true => Ok(Self::MariaDb),
            false if numbers(version) >= [8, 0, 26] => Ok(Self::MySql),
            false => Err(format!("it is a MySQL {version}; 8.0.26 is the first that is known")),
        }
    }

    /// One row: read-only, its number, whether it can have replicas, whether it counts
    /// transactions, which it has replicated, which it has written, what its own begin with, and
    /// with MySQL which are in its log.
    pub(crate) const fn itself(self) -> &'static str {
        match self {
            Self::MariaDb => {
                "SELECT @@global.read_only, @@server_id, @@log_bin AND @@log_slave_updates, 1, \
                 @@global.gtid_slave_pos, @@global.gtid_binlog_state, @@server_id"
            }
            Self::MySql => {
                "SELECT @@global.read_only, @@server_id, @@log_bin AND @@log_replica_updates, \
                 @@gtid_mode='ON', @@global.gtid_executed, @@global.gtid_executed, @@server_uuid, \
                 GTID_SUBTRACT(@@global.gtid_executed, @@global.gtid_purged)"
            }
        }
    }

    /// One row about its log, in which a server of that version tells what it leaves out there.
    pub(crate) fn log(self, version: &str) -> &'static str {
        match self {
            Self::MySql if numbers(version) >= [8, 2, 0] => "SHOW BINARY LOG STATUS",
            Self::MariaDb | Self::MySql => "SHOW MASTER STATUS",
        }
    }

    /// A row for each source that it replicates from.
    pub(crate) const fn sources(self) -> &'static str {
        match self {
            Self::MariaDb => "SHOW ALL SLAVES STATUS",
            Self::MySql => "SHOW REPLICA STATUS",
        }
    }

    /// Names of the columns in that: the channel, number, host and port of the source, whether the
    /// receiver runs and why not, whether the applier does, how it knows where it is, seconds
    /// behind, what it has received, the source's identifier, which MariaDB has not, and by how
    /// many seconds it is delayed.
    pub(crate) const fn columns(self) -> [&'static str; 13] {
        match self {
            Self::MariaDb => [
                "Connection_name",
                "Master_Server_Id",
                "Master_Host",
                "Master_Port",
                "Slave_IO_Running",
                "Last_IO_Errno",
                "Last_IO_Error",
                "Slave_SQL_Running",
                "Using_Gtid",
                "Seconds_Behind_Master",
                "Gtid_IO_Pos",
                "",
                "SQL_Delay",
            ],
            Self::MySql => [
                "Channel_Name",
                "Source_Server_Id",
                "Source_Host",
                "Source_Port",
                "Replica_IO_Running",
                "Last_IO_Errno",
                "Last_IO_Error",
                "Replica_SQL_Running",
                "Auto_Position",
                "Seconds_Behind_Source",
                "Retrieved_Gtid_Set",
                "Source_UUID",
                "SQL_Delay",
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
            Self::MariaDb => "SELECT @@global.gtid_current_pos",
            Self::MySql => "SELECT @@global.gtid_executed",
        }
    }

    /// What is in any of these sets.
    pub(crate) fn union(self, sets: &[&str]) -> String {
        let sets: Vec<_> = sets.iter().copied().filter(|set| !set.is_empty()).collect();
        match self {
            Self::MariaDb => positions::merged(&sets.join(",")),
            Self::MySql => sets.join(","),
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

    /// It takes what its source has, and applies it.
    pub(crate) const fn start(self) -> &'static str {
        match self {
            Self::MariaDb => "START SLAVE",
            Self::MySql => "START REPLICA",
        }
    }

    /// It neither takes nor applies anything.
    pub(crate) const fn stop(self) -> &'static str {
        match self {
            Self::MariaDb => "STOP SLAVE",
            Self::MySql => "STOP REPLICA",
        }
    }

    /// It has no source any more.
    pub(crate) const fn forget(self) -> &'static str {
        match self {
            Self::MariaDb => "RESET SLAVE ALL",
            Self::MySql => "RESET REPLICA ALL",
        }
    }

    /// Asks a server which transactions others have that it has not: it knows `own`, they `theirs`.
    /// MariaDB is asked nothing: see [`positions`].
    pub(crate) fn lacking(theirs: &str, own: &str) -> String {
        format!("SELECT GTID_SUBTRACT({}, {})", quote(theirs), quote(own))
    }

    /// It replicates from `source` as `account`; with `position`, as one that was a primary and has
    /// these transactions. `tls` is what it has of that, or such a one is to have.
    pub(crate) fn follow(
        self,
        source: &Endpoint,
        account: &ServerAccount,
        position: Option<&str>,
        tls: &SourceTls,
    ) -> Vec<String> {
        let host = quote(&source.hostname);
        let (port, user, password) = (source.port, quote(&account.user), quote(&account.password));
        let tls = tls.clauses(self, position.is_some());
        match self {
            Self::MariaDb => {
                let stand = position.map(|at| format!("SET GLOBAL gtid_slave_pos={}", quote(at)));
                let mut statements = vec![self.stop().to_owned()];
                statements.extend(stand);
                statements.push(format!(
                    "CHANGE MASTER TO MASTER_HOST={host}, MASTER_PORT={port}, MASTER_USER={user}, \
                     MASTER_PASSWORD={password}, MASTER_USE_GTID=slave_pos{tls}"
                ));
                statements.push(self.start().to_owned());
                statements
            }
            Self::MySql => vec![
                self.stop().to_owned(),
                format!(
                    "CHANGE REPLICATION SOURCE TO SOURCE_HOST={host}, SOURCE_PORT={port}, \
                     SOURCE_USER={user}, SOURCE_PASSWORD={password}, SOURCE_AUTO_POSITION=1{tls}"
                ),
                self.start().to_owned(),
            ],
        }
    }
}

/// The first three numbers of a version.
fn numbers(version: &str) -> [u32; 3] {
    let mut numbers = version.split(['.', '-']).map(|part| part.parse().unwrap_or(0));
    let mut next = || numbers.next().unwrap_or(0);
    [next(), next(), next()]
}

/// A text as a literal, on a connection whose `sql_mode` is empty.
pub(crate) fn quote(text: &str) -> String {
    format!("'{}'", text.replace('\\', r"\\").replace('\'', "''"))
}
