//! Hostgroups between which servers move by what they say of themselves: replication, Group
//! Replication, Galera and Aurora.
//!
//! Rows become typed here, with every fault named. Which server is where is decided elsewhere, of
//! this and of what was seen of the servers.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::config_fault::ConfigFault;
use crate::json;
use crate::rows::{AuroraRow, GaleraRow, GroupReplicationRow, ReplicationRow, Row};

/// All of them.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Clusters {
    /// `mysql_replication_hostgroups`.
    pub pairs: Vec<Pair>,
    /// The active rows of `mysql_group_replication_hostgroups` and `mysql_galera_hostgroups`.
    pub members: Vec<Cluster>,
    /// The active rows of `mysql_aws_aurora_hostgroups`.
    pub aurora: Vec<Aurora>,
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
    pub kind: ClusterKind,
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
pub enum ClusterKind {
    /// MySQL Group Replication.
    Group,
    /// Galera, in MariaDB or Percona XtraDB Cluster.
    Galera,
}

/// A row of `mysql_aws_aurora_hostgroups` that is active.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Aurora {
    /// Hostgroup of the server that is written to.
    pub writer: i64,
    /// Hostgroup of its replicas.
    pub reader: i64,
    /// Port of all servers that are found.
    pub port: i64,
    /// What follows the id of a server in its host name.
    pub domain: String,
    /// How far a replica may be behind.
    pub max_lag_ms: u64,
    /// Pause between checks.
    pub every_ms: u64,
    /// Time that one may take.
    pub limit_ms: u64,
    /// The server that is written to is read from as well.
    pub writer_is_read: bool,
    /// Weight of readers that nobody typed as such.
    pub reader_weight: i64,
    /// What is added to every lag.
    pub add_lag_ms: u64,
    /// What a lag counts as at least.
    pub min_lag_ms: u64,
    /// Checks of which the worst lag counts.
    pub lag_checks: usize,
}

impl Aurora {
    /// Its hostgroups.
    pub fn hostgroups(&self) -> [i64; 2] {
        [self.writer, self.reader]
    }
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
            || self.aurora.iter().any(|cluster| cluster.hostgroups().contains(&hostgroup))
    }

    /// The Aurora cluster with that hostgroup of writers.
    pub fn find_aurora(&self, writer: i64) -> Option<&Aurora> {
        self.aurora.iter().find(|cluster| cluster.writer == writer)
    }

    /// Whether a hostgroup is one of an Aurora cluster.
    pub fn has_aurora(&self, hostgroup: i64) -> bool {
        self.aurora.iter().any(|cluster| cluster.hostgroups().contains(&hostgroup))
    }

    /// What a hostgroup is for, where servers come and go by themselves; empty elsewhere.
    pub fn role(&self, hostgroup: i64) -> &'static str {
        for pair in &self.pairs {
            match hostgroup {
                own if own == pair.writer => return "writer",
                own if own == pair.reader => return "reader",
                _ => {}
            }
        }
        let places = self.members.iter().flat_map(|cluster| {
            cluster.hostgroups().into_iter().zip(["writer", "backup writer", "reader", "offline"])
        });
        let aurora = self.aurora.iter();
        let aurora =
            aurora.flat_map(|cluster| cluster.hostgroups().into_iter().zip(["writer", "reader"]));
        places.chain(aurora).find(|(own, _)| *own == hostgroup).map_or("", |(_, role)| role)
    }

    /// Checks the rows of the four tables; all faults at once.
    pub fn compile(
        pairs: &[ReplicationRow],
        groups: &[GroupReplicationRow],
        galera: &[GaleraRow],
        aurora: &[AuroraRow],
    ) -> Result<Self, Vec<ConfigFault>> {
        let mut faults = Vec::new();
        let mut made = Self::default();
        let mut of_pairs = Checked::new(ReplicationRow::TABLE.name, &mut faults);
        for (at, row) in pairs.iter().enumerate() {
            made.pairs.extend(of_pairs.pair(at, row));
        }
        let mut of_groups = Checked::new(GroupReplicationRow::TABLE.name, &mut faults);
        for (at, row) in groups.iter().enumerate() {
            let cluster = of_groups.cluster(at, ClusterKind::Group, &Members::of_group(row));
            made.members.extend(cluster.filter(|_| row.active == 1));
        }
        let mut of_galera = Checked::new(GaleraRow::TABLE.name, &mut faults);
        for (at, row) in galera.iter().enumerate() {
            let cluster = of_galera.cluster(at, ClusterKind::Galera, &Members::of_galera(row));
            made.members.extend(cluster.filter(|_| row.active == 1));
        }
        let mut of_aurora = Checked::new(AuroraRow::TABLE.name, &mut faults);
        for (at, row) in aurora.iter().enumerate() {
            if row.active == 1 {
                of_aurora.unshared(at, row, &made);
            }
            let cluster = of_aurora.aurora(at, row);
            made.aurora.extend(cluster.filter(|_| row.active == 1));
        }
        if faults.is_empty() { Ok(made) } else { Err(faults) }
    }
}

/// The program and its arguments that a column has as an array of JSON; none where it is empty.
/// The error is for whoever wrote it.
pub fn program(text: &str) -> Result<Vec<String>, String> {
    if text.is_empty() {
        return Ok(Vec::new());
    }
    let Value::Array(words) = json::parse(text)? else { return Err(NO_PROGRAM.to_owned()) };
    let word = |word: &Value| word.as_str().map(str::to_owned);
    let words: Option<Vec<String>> = words.iter().map(word).collect();
    let words = words.filter(|words| words.first().is_some_and(|path| path.starts_with('/')));
    let words = words.ok_or_else(|| NO_PROGRAM.to_owned())?;
    match words.iter().any(|word| word.contains('\0')) {
        true => Err("a program's words have no NUL".to_owned()),
        false => Ok(words),
    }
}

/// What is told of a column that has no program.
const NO_PROGRAM: &str = "a program is an array of texts, the first of which is an absolute path: \
                          [\"/usr/local/bin/told\", \"an argument\"]";

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

/// Most that a lag or its limit may be: `max_lag_ms` and its like.
const LAG_MS: u64 = 600_000;

/// Most that a domain may have for a host name with an id of 63 characters to be one.
const DOMAIN_BYTES: usize = 190;

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

    fn cluster(&mut self, at: usize, kind: ClusterKind, row: &Members) -> Option<Cluster> {
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

    /// Nothing else moves servers between the hostgroups of a row: two checks would contend.
    fn unshared(&mut self, at: usize, row: &AuroraRow, others: &Clusters) {
        let hostgroups = [
            ("writer_hostgroup", row.writer_hostgroup),
            ("reader_hostgroup", row.reader_hostgroup),
        ];
        for (column, hostgroup) in hostgroups {
            let mut of_aurora = others.aurora.iter();
            let is_here = of_aurora.any(|other| other.hostgroups().contains(&hostgroup));
            // that a row of its own table has it is told with the others
            if others.has(hostgroup) && !is_here {
                let reason = format!("servers move to and from {hostgroup} by another table too");
                self.fault(at, column, reason);
            }
        }
    }

    fn aurora(&mut self, at: usize, row: &AuroraRow) -> Option<Aurora> {
        let (writer, reader) = (row.writer_hostgroup, row.reader_hostgroup);
        self.hostgroups(at, &[("writer_hostgroup", writer), ("reader_hostgroup", reader)]);
        let domain = &row.domain_name;
        let is_of_a_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        let is_domain = domain.starts_with('.') && domain.bytes().all(is_of_a_name);
        if !is_domain || domain.len() > DOMAIN_BYTES {
            let reason = format!("'{domain}' is no domain that begins with a dot");
            self.fault(at, "domain_name", reason);
        }
        let before = self.faults.len();
        let mut number = |column: &str, value: i64, least: u64, most: u64| {
            let read = u64::try_from(value).ok().filter(|value| (least..=most).contains(value));
            if read.is_none() {
                self.fault(at, column, format!("{value} is not in {least}..{most}"));
            }
            read.unwrap_or_default()
        };
        let made = Aurora {
            writer,
            reader,
            port: number("aurora_port", row.aurora_port, 1, 65_535).cast_signed(),
            domain: domain.clone(),
            max_lag_ms: number("max_lag_ms", row.max_lag_ms, 10, LAG_MS),
            every_ms: number("check_interval_ms", row.check_interval_ms, 100, 600_000),
            limit_ms: number("check_timeout_ms", row.check_timeout_ms, 80, 3_000),
            writer_is_read: number("writer_is_also_reader", row.writer_is_also_reader, 0, 1) == 1,
            reader_weight: number("new_reader_weight", row.new_reader_weight, 0, 10_000_000)
                .cast_signed(),
            add_lag_ms: number("add_lag_ms", row.add_lag_ms, 0, LAG_MS),
            min_lag_ms: number("min_lag_ms", row.min_lag_ms, 0, LAG_MS),
            lag_checks: usize::try_from(number("lag_num_checks", row.lag_num_checks, 1, 16))
                .unwrap_or_default(),
        };
        (self.faults.len() == before).then_some(made)
    }
}

#[cfg(test)]
mod tests;
