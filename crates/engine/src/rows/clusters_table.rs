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
