//! The columns of hostgroups between which servers move by what they say of themselves.
//!
//! Data only; what the attributes mean is in `column`. Names, types, defaults and conditions are
//! those of ProxySQL.

use super::column::{flag, int, table, text};
use super::rows;

rows! {
    /// A row of `mysql_replication_hostgroups`: a pair of hostgroups.
    ReplicationRow, table("mysql_replication_hostgroups", "Pairs of hostgroups between which servers move by their read-only flag.")
        .key(&["writer_hostgroup"]).unique(&["reader_hostgroup"]).drafted();
    /// Hostgroup of servers that take writes.
    writer_hostgroup: i64 = int("writer_hostgroup").check("writer_hostgroup>=0");
    /// Hostgroup of servers that do not.
    reader_hostgroup: i64 = int("reader_hostgroup")
        .check("reader_hostgroup<>writer_hostgroup AND reader_hostgroup>=0");
    /// Which variables tell whether a server takes writes.
    check_type: String = text("check_type")
        .default("'read_only'")
        .check("LOWER(check_type) IN ('read_only','innodb_read_only','super_read_only','read_only|innodb_read_only','read_only&innodb_read_only')");
    /// Free text.
    comment: String = text("comment").default("''");
}

rows! {
    /// A row of `tidegate_replication_clusters`: a pair of hostgroups whose primary may be replaced.
    ReplicationClusterRow, table("tidegate_replication_clusters", "Pairs of hostgroups whose primary is replaced, by TIDEGATE SWITCHOVER or when it is gone, and accounts for that.")
        .key(&["writer_hostgroup"]).drafted();
    /// That of a row of `mysql_replication_hostgroups`.
    writer_hostgroup: i64 = int("writer_hostgroup").check("writer_hostgroup>=0");
    /// `observe` never tells servers anything; `switchover` does when an administrator orders it;
    /// `failover` also when the primary is gone.
    mode: String = text("mode").default("'observe'").check("mode IN ('observe','switchover','failover')");
    /// Account that may administer the servers.
    username: String = text("username");
    /// Its password.
    password: String = text("password").default("''").secret();
    /// Account as which replicas log in to their source.
    replication_username: String = text("replication_username");
    /// Its password.
    replication_password: String = text("replication_password").default("''").secret();
    /// Milliseconds that clients may wait for a switchover; beyond them it is undone.
    timeout_ms: i64 = int("timeout_ms").default("8000").check("timeout_ms >= 1000 AND timeout_ms <= 60000");
    /// Program with its arguments, as an array of JSON, without which nothing is changed; empty
    /// for none.
    before_program: String = text("before_program").default("''");
    /// The same of one that is told what came of it.
    after_program: String = text("after_program").default("''");
    /// Free text.
    comment: String = text("comment").default("''");
}

/// Hostgroups that the members of a cluster move between, and how many of them are written to.
macro_rules! of_members {
    ($(#[$doc:meta])* $row:ident, $name:literal, $comment:literal) => {
        rows! {
            $(#[$doc])*
            $row, table($name, $comment)
                .key(&["writer_hostgroup"])
                .unique(&["reader_hostgroup", "offline_hostgroup", "backup_writer_hostgroup"])
                .drafted();
            /// Hostgroup of members that are written to.
            writer_hostgroup: i64 = int("writer_hostgroup").check("writer_hostgroup>=0");
            /// Hostgroup of members that could be written to, and are not.
            backup_writer_hostgroup: i64 = int("backup_writer_hostgroup")
                .check("backup_writer_hostgroup>=0 AND backup_writer_hostgroup<>writer_hostgroup");
            /// Hostgroup of members that refuse writes.
            reader_hostgroup: i64 = int("reader_hostgroup")
                .check("reader_hostgroup<>writer_hostgroup AND backup_writer_hostgroup<>reader_hostgroup AND reader_hostgroup>0");
            /// Hostgroup of members that are of no use now.
            offline_hostgroup: i64 = int("offline_hostgroup")
                .check("offline_hostgroup<>writer_hostgroup AND offline_hostgroup<>reader_hostgroup AND backup_writer_hostgroup<>offline_hostgroup AND offline_hostgroup>=0");
            /// 1 when the row is in force.
            active: i64 = flag("active").default("1").check("active IN (0,1)");
            /// Members that are written to, at most.
            max_writers: i64 = int("max_writers").default("1").check("max_writers >= 0");
            /// 0: writers are not read from; 1: they are; 2: those are that could be written to.
            writer_is_also_reader: i64 = int("writer_is_also_reader")
                .default("0").check("writer_is_also_reader IN (0,1,2)");
            /// Transactions that a member may have to apply yet; 0 for any number.
            max_transactions_behind: i64 = int("max_transactions_behind")
                .default("0").check("max_transactions_behind>=0");
            /// Free text.
            comment: Option<String> = text("comment").null();
        }
    };
}

of_members! {
    /// A row of `mysql_group_replication_hostgroups`.
    GroupReplicationRow, "mysql_group_replication_hostgroups",
    "Hostgroups of a Group Replication cluster."
}

of_members! {
    /// A row of `mysql_galera_hostgroups`.
    GaleraRow, "mysql_galera_hostgroups", "Hostgroups of a Galera cluster."
}

rows! {
    /// A row of `mysql_aws_aurora_hostgroups`.
    AuroraRow, table("mysql_aws_aurora_hostgroups", "Hostgroups of an Aurora cluster.")
        .key(&["writer_hostgroup"]).unique(&["reader_hostgroup"]).drafted();
    /// Hostgroup of the server that is written to.
    writer_hostgroup: i64 = int("writer_hostgroup").check("writer_hostgroup>=0");
    /// Hostgroup of its replicas.
    reader_hostgroup: i64 = int("reader_hostgroup")
        .check("reader_hostgroup<>writer_hostgroup AND reader_hostgroup>0");
    /// 1 when the row is in force.
    active: i64 = flag("active").default("1").check("active IN (0,1)");
    /// Port of servers that are found.
    aurora_port: i64 = int("aurora_port").default("3306");
    /// What follows the id of a server in its host name.
    domain_name: String = text("domain_name").check("SUBSTR(domain_name,1,1) = '.'");
    /// Milliseconds that a replica may be behind.
    max_lag_ms: i64 = int("max_lag_ms")
        .default("600000").check("max_lag_ms>= 10 AND max_lag_ms <= 600000");
    /// Milliseconds between checks.
    check_interval_ms: i64 = int("check_interval_ms")
        .default("1000").check("check_interval_ms >= 100 AND check_interval_ms <= 600000");
    /// Milliseconds that one may take.
    check_timeout_ms: i64 = int("check_timeout_ms")
        .default("800").check("check_timeout_ms >= 80 AND check_timeout_ms <= 3000");
    /// 1 when the server that is written to is read from as well.
    writer_is_also_reader: i64 = int("writer_is_also_reader")
        .default("0").check("writer_is_also_reader IN (0,1)");
    /// Weight of readers that are found, and of a writer that becomes one.
    new_reader_weight: i64 = int("new_reader_weight")
        .default("1").check("new_reader_weight >= 0 AND new_reader_weight <=10000000");
    /// Milliseconds that are added to every lag.
    add_lag_ms: i64 = int("add_lag_ms")
        .default("30").check("add_lag_ms >= 0 AND add_lag_ms <= 600000");
    /// What a lag counts as at least, in milliseconds.
    min_lag_ms: i64 = int("min_lag_ms")
        .default("30").check("min_lag_ms >= 0 AND min_lag_ms <= 600000");
    /// Checks of which the worst lag counts.
    lag_num_checks: i64 = int("lag_num_checks")
        .default("1").check("lag_num_checks >= 1 AND lag_num_checks <= 16");
    /// Free text.
    comment: Option<String> = text("comment").null();
}
