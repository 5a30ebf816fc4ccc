//! Hostgroups between which servers move by what they say of themselves: replication, Group
//! Replication and Galera.
//!
//! Rows become typed here, with every fault named. Which server is where is decided elsewhere, of
//! this and of what was seen of the servers.

use std::collections::BTreeSet;

use crate::config_fault::ConfigFault;
use crate::rows::{GaleraRow, GroupReplicationRow, ReplicationRow, Row};

/// All of them.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Clusters {
    /// `mysql_replication_hostgroups`.
    pub pairs: Vec<Pair>,
    /// The active rows of `mysql_group_replication_hostgroups` and `mysql_galera_hostgroups`.
    pub members: Vec<Cluster>,
}

/// A row of `mysql_replication_hostgroups`: servers move between two hostgroups.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pair {
    /// Hostgroup of servers that take writes.
    pub writer: i64,
    /// Hostgroup of servers that do not.
    pub reader: i64,
    /// What tells which they are.
    pub check: Check,
}

/// Which variables tell whether a server takes writes: `check_type`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Check {
    /// `@@read_only`.
    ReadOnly,
    /// `@@innodb_read_only`.
    InnodbReadOnly,
    /// `@@super_read_only`.
    SuperReadOnly,
    /// `@@read_only` and `@@innodb_read_only`.
    Both,
    /// `@@read_only` or `@@innodb_read_only`.
    Either,
}

impl Check {
    /// All of them, by the name in `check_type`.
    pub const ALL: [(&'static str, Self); 5] = [
        ("read_only", Self::ReadOnly),
        ("innodb_read_only", Self::InnodbReadOnly),
        ("super_read_only", Self::SuperReadOnly),
        ("read_only&innodb_read_only", Self::Both),
        ("read_only|innodb_read_only", Self::Either),
    ];

    /// The one of that name, in any case.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(own, _)| own.eq_ignore_ascii_case(name)).map(|(_, check)| *check)
    }

    /// The query whose only column tells.
    pub fn query(self) -> &'static str {
        match self {
            Self::ReadOnly => "SELECT @@global.read_only read_only",
            Self::InnodbReadOnly => "SELECT @@global.innodb_read_only read_only",
            Self::SuperReadOnly => "SELECT @@global.super_read_only read_only",
            Self::Both => "SELECT @@global.read_only&@@global.innodb_read_only read_only",
            Self::Either => "SELECT @@global.read_only|@@global.innodb_read_only read_only",
        }
    }
}

/// A row of `mysql_group_replication_hostgroups` or `mysql_galera_hostgroups` that is active.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cluster {
    /// Which of the two.
    pub kind: Kind,
    /// Hostgroup of members that are written to.
    pub writer: i64,
    /// Hostgroup of members that could be.
    pub backup: i64,
    /// Hostgroup of members that are read from only.
    pub reader: i64,
    /// Hostgroup of members that are of no use.
    pub offline: i64,
    /// Members that are written to, at most.
    pub max_writers: usize,
    /// Who of those that take writes is read from.
    pub also_read: AlsoRead,
    /// How far a member may be behind: transactions, for Galera those that it has received and not
    /// applied. 0 for no limit.
    pub max_behind: u64,
}

impl Cluster {
    /// Its hostgroups.
    pub fn hostgroups(&self) -> [i64; 4] {
        [self.writer, self.backup, self.reader, self.offline]
    }
}

/// What makes the members agree.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Kind {
    /// MySQL Group Replication.
    Group,
    /// Galera, in MariaDB or Percona XtraDB Cluster.
    Galera,
}

/// `writer_is_also_reader`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AlsoRead {
    /// 0: nobody.
    Nobody,
    /// 1: whoever is written to.
    Writers,
    /// 2: whoever could be and is not.
    Backups,
}

impl Clusters {
    /// Whether servers move to and from a hostgroup.
    pub fn has(&self, hostgroup: i64) -> bool {
        let mut pairs = self.pairs.iter();
        pairs.any(|pair| [pair.writer, pair.reader].contains(&hostgroup))
            || self.members.iter().any(|cluster| cluster.hostgroups().contains(&hostgroup))
    }

    /// Checks the rows of the three tables; all faults at once.
    pub fn compile(
        pairs: &[ReplicationRow],
        groups: &[GroupReplicationRow],
        galera: &[GaleraRow],
    ) -> Result<Self, Vec<ConfigFault>> {
        let mut faults = Vec::new();
        let mut made = Self::default();
        let mut of_pairs = Checked::new(ReplicationRow::TABLE.name, &mut faults);
        for (at, row) in pairs.iter().enumerate() {
            made.pairs.extend(of_pairs.pair(at, row));
        }
        let mut of_groups = Checked::new(GroupReplicationRow::TABLE.name, &mut faults);
        for (at, row) in groups.iter().enumerate() {
            let cluster = of_groups.cluster(at, Kind::Group, &Members::of_group(row));
            made.members.extend(cluster.filter(|_| row.active == 1));
        }
        let mut of_galera = Checked::new(GaleraRow::TABLE.name, &mut faults);
        for (at, row) in galera.iter().enumerate() {
            let cluster = of_galera.cluster(at, Kind::Galera, &Members::of_galera(row));
            made.members.extend(cluster.filter(|_| row.active == 1));
        }
        if faults.is_empty() { Ok(made) } else { Err(faults) }
    }
}

/// [`Members`] of a row of either kind: the columns are the same, the types of rows are not.
macro_rules! members {
    ($row:expr) => {
        Members {
            hostgroups: [
                $row.writer_hostgroup,
                $row.backup_writer_hostgroup,
                $row.reader_hostgroup,
                $row.offline_hostgroup,
            ],
            max_writers: $row.max_writers,
            also_read: $row.writer_is_also_reader,
            max_behind: $row.max_transactions_behind,
        }
    };
}

/// What the rows of both kinds of cluster have.
struct Members {
    /// Writers, backups, readers, those offline.
    hostgroups: [i64; 4],
    max_writers: i64,
    also_read: i64,
    max_behind: i64,
}

impl Members {
    fn of_group(row: &GroupReplicationRow) -> Self {
        members!(row)
    }

    fn of_galera(row: &GaleraRow) -> Self {
        members!(row)
    }
}

/// Names of the columns of a cluster's hostgroups.
const HOSTGROUPS: [&str; 4] =
    ["writer_hostgroup", "backup_writer_hostgroup", "reader_hostgroup", "offline_hostgroup"];

/// The rows of one table as far as they were checked.
struct Checked<'a> {
    table: &'static str,
    faults: &'a mut Vec<ConfigFault>,
    /// Columns and hostgroups that rows have already.
    taken: BTreeSet<(&'static str, i64)>,
}

impl<'a> Checked<'a> {
    fn new(table: &'static str, faults: &'a mut Vec<ConfigFault>) -> Self {
        Self { table, faults, taken: BTreeSet::new() }
    }

    fn fault(&mut self, row: usize, column: &str, reason: String) {
        let (table, column) = (self.table, column.to_owned());
        self.faults.push(ConfigFault { table, row: Some(row), column, reason });
    }

    /// Checks the hostgroups of a row: each is one, and no other's.
    fn hostgroups(&mut self, row: usize, hostgroups: &[(&'static str, i64)]) {
        for (at, (column, hostgroup)) in hostgroups.iter().enumerate() {
            if !(0..=i64::from(i32::MAX)).contains(hostgroup) {
                self.fault(row, column, format!("{hostgroup} is not in 0..{}", i32::MAX));
                continue;
            }
            let same = hostgroups.iter().take(at).find(|(_, other)| other == hostgroup);
            if let Some((other, _)) = same {
                self.fault(row, column, format!("{hostgroup} is its {other} too"));
            }
            if !self.taken.insert((column, *hostgroup)) {
                self.fault(row, column, format!("another row has {hostgroup} already"));
            }
        }
    }

    fn pair(&mut self, at: usize, row: &ReplicationRow) -> Option<Pair> {
        let (writer, reader) = (row.writer_hostgroup, row.reader_hostgroup);
        self.hostgroups(at, &[("writer_hostgroup", writer), ("reader_hostgroup", reader)]);
        let check = Check::named(&row.check_type);
        if check.is_none() {
            let names = Check::ALL.map(|(name, _)| name).join(", ");
            self.fault(at, "check_type", format!("'{}' is none of {names}", row.check_type));
        }
        Some(Pair { writer, reader, check: check? })
    }

    fn cluster(&mut self, at: usize, kind: Kind, row: &Members) -> Option<Cluster> {
        let [writer, backup, reader, offline] = row.hostgroups;
        let mut named = HOSTGROUPS.into_iter().zip(row.hostgroups);
        let named: [_; 4] = std::array::from_fn(|_| named.next().unwrap_or_default());
        self.hostgroups(at, &named);
        let also_read = match row.also_read {
            0 => Some(AlsoRead::Nobody),
            1 => Some(AlsoRead::Writers),
            2 => Some(AlsoRead::Backups),
            other => {
                self.fault(at, "writer_is_also_reader", format!("{other} is not in 0..2"));
                None
            }
        };
        let mut number = |column: &str, value: i64| {
            let read = u64::try_from(value).ok();
            if read.is_none() {
                self.fault(at, column, format!("{value} is below 0"));
            }
            read
        };
        let max_writers = number("max_writers", row.max_writers);
        let max_behind = number("max_transactions_behind", row.max_behind)?;
        let max_writers = usize::try_from(max_writers?).unwrap_or(usize::MAX);
        let also_read = also_read?;
        Some(Cluster { kind, writer, backup, reader, offline, max_writers, also_read, max_behind })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(writer: i64, reader: i64) -> ReplicationRow {
        ReplicationRow {
            writer_hostgroup: writer,
            reader_hostgroup: reader,
            ..ReplicationRow::default()
        }
    }

    fn galera(hostgroups: [i64; 4]) -> GaleraRow {
        let [writer_hostgroup, backup_writer_hostgroup, reader_hostgroup, offline_hostgroup] =
            hostgroups;
        GaleraRow {
            writer_hostgroup,
            backup_writer_hostgroup,
            reader_hostgroup,
            offline_hostgroup,
            ..GaleraRow::default()
        }
    }

    #[test]
    fn check_types_have_the_names_and_queries_of_proxysql() {
        for (name, check) in Check::ALL {
            assert_eq!(Check::named(&name.to_ascii_uppercase()), Some(check));
            assert!(check.query().ends_with(" read_only"), "{name}");
        }
        assert_eq!(Check::named("writable"), None);
    }

    #[test]
    fn only_active_rows_hold() {
        let idle = GaleraRow { active: 0, ..galera([5, 6, 7, 8]) };
        let rows = [GaleraRow { max_writers: 2, ..galera([1, 2, 3, 4]) }, idle];
        let made = Clusters::compile(&[pair(10, 20)], &[], &rows).expect("valid");
        let expected = Pair { writer: 10, reader: 20, check: Check::ReadOnly };
        assert_eq!(made.pairs, [expected]);
        let members: Vec<_> = made.members.iter().map(|it| (it.kind, it.hostgroups())).collect();
        assert_eq!(members, [(Kind::Galera, [1, 2, 3, 4])]);
        assert_eq!((made.members[0].max_writers, made.members[0].max_behind), (2, 0));
    }

    #[test]
    fn every_fault_is_named_with_its_row_and_column() {
        let odd = ReplicationRow { check_type: "writable".into(), ..pair(1, 2) };
        let wrong = GaleraRow {
            max_writers: -1,
            writer_is_also_reader: 3,
            max_transactions_behind: -2,
            ..galera([1, 1, 3, -4])
        };
        let faults = Clusters::compile(&[odd, pair(1, 1), pair(3, 2)], &[], &[wrong]);
        let told: Vec<_> = faults.expect_err("refused").iter().map(ToString::to_string).collect();
        let pairs = |row: u32, text: &str| format!("mysql_replication_hostgroups row {row} {text}");
        let galera = |text: &str| format!("mysql_galera_hostgroups row 1 column {text}");
        let names = Check::ALL.map(|(name, _)| name).join(", ");
        assert_eq!(
            told,
            [
                pairs(1, &format!("column check_type: 'writable' is none of {names}")),
                pairs(2, "column writer_hostgroup: another row has 1 already"),
                pairs(2, "column reader_hostgroup: 1 is its writer_hostgroup too"),
                pairs(3, "column reader_hostgroup: another row has 2 already"),
                galera("backup_writer_hostgroup: 1 is its writer_hostgroup too"),
                galera("offline_hostgroup: -4 is not in 0..2147483647"),
                galera("writer_is_also_reader: 3 is not in 0..2"),
                galera("max_writers: -1 is below 0"),
                galera("max_transactions_behind: -2 is below 0"),
            ]
        );
    }
}
