//! The configuration in force: compiled from rows as a whole, or not at all.
//!
//! A [`Draft`] is what was typed. A [`Snapshot`] is immutable and shared by all workers; a change
//! is another snapshot, compiled to follow the one in force. Files and databases are the loader's
//! business.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::clusters::{self, Clusters};
use crate::config_fault::ConfigFault;
use crate::hostgroups::Hostgroups;
use crate::ids::HostgroupId;
use crate::login_checks::{CheckedBy, LDAP_NEEDS, LdapSettings, is_pam_service};
use crate::rows::{
    AuroraRow, FastRoutingRow, GaleraRow, GroupReplicationRow, HostgroupRow, ReplicationClusterRow,
    ReplicationRow, Row, RuleRow, ServerRow, ServerTlsRow, TableRows, UserRow,
};
use crate::rules::{FastRouting, RuleOptions, RuleSet};
use crate::topology::{Placed, Topology};
use crate::users::{Account, ReadPasswords, Users};
use crate::vars::{self, AfterRestart, VERIFY, Vars};

/// Rows exactly as typed.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Draft {
    /// `mysql_servers`.
    pub servers: Vec<ServerRow>,
    /// `mysql_servers_ssl_params`.
    pub server_tls: Vec<ServerTlsRow>,
    /// `mysql_hostgroup_attributes`.
    pub hostgroups: Vec<HostgroupRow>,
    /// `mysql_replication_hostgroups`.
    pub replication: Vec<ReplicationRow>,
    /// `mysql_group_replication_hostgroups`.
    pub group_replication: Vec<GroupReplicationRow>,
    /// `mysql_galera_hostgroups`.
    pub galera: Vec<GaleraRow>,
    /// `mysql_aws_aurora_hostgroups`.
    pub aurora: Vec<AuroraRow>,
    /// `tidegate_replication_clusters`.
    pub replication_clusters: Vec<ReplicationClusterRow>,
    /// `mysql_users`.
    pub users: Vec<UserRow>,
    /// `mysql_query_rules`.
    pub rules: Vec<RuleRow>,
    /// `mysql_query_rules_fast_routing`.
    pub fast_routing: Vec<FastRoutingRow>,
    /// Global variables, names with their prefix.
    pub variables: Vec<(String, String)>,
}

impl Draft {
    /// The rows of its tables.
    pub fn tables(&self) -> [&dyn TableRows; 11] {
        [
            &self.servers,
            &self.server_tls,
            &self.hostgroups,
            &self.replication,
            &self.group_replication,
            &self.galera,
            &self.aurora,
            &self.replication_clusters,
            &self.users,
            &self.rules,
            &self.fast_routing,
        ]
    }

    /// Whether servers come to a hostgroup by what they say of themselves, wherever their rows are.
    pub fn moves_servers_to(&self, hostgroup: i64) -> bool {
        let pairs = self.replication.iter().map(|row| [row.writer_hostgroup, row.reader_hostgroup]);
        macro_rules! of_members {
            ($rows:expr) => {
                $rows.iter().filter(|row| row.active == 1).flat_map(|row| {
                    [
                        row.writer_hostgroup,
                        row.backup_writer_hostgroup,
                        row.reader_hostgroup,
                        row.offline_hostgroup,
                    ]
                })
            };
        }
        let members = of_members!(self.group_replication).chain(of_members!(self.galera));
        let aurora = self.aurora.iter().filter(|row| row.active == 1);
        let aurora = aurora.flat_map(|row| [row.writer_hostgroup, row.reader_hostgroup]);
        pairs.flatten().chain(members).chain(aurora).any(|own| own == hostgroup)
    }

    /// The rows of one of its tables.
    pub fn table_mut(&mut self, name: &str) -> Option<&mut dyn TableRows> {
        let tables: [&mut dyn TableRows; 11] = [
            &mut self.servers,
            &mut self.server_tls,
            &mut self.hostgroups,
            &mut self.replication,
            &mut self.group_replication,
            &mut self.galera,
            &mut self.aurora,
            &mut self.replication_clusters,
            &mut self.users,
            &mut self.rules,
            &mut self.fast_routing,
        ];
        tables.into_iter().find(|rows| rows.table().name == name)
    }
}

/// A whole configuration, checked and compiled; its parts are shared, so a copy is cheap.
#[derive(Clone)]
pub struct Snapshot {
    /// What it was compiled from.
    pub draft: Arc<Draft>,
    /// Global variables.
    pub vars: Arc<Vars>,
    /// Accounts.
    pub users: Arc<Users>,
    /// Query rules.
    pub rules: Arc<RuleSet>,
    /// Where queries go that no rule with `apply=1` matched.
    pub fast_routing: Arc<FastRouting>,
    /// The servers that are in force: as typed until checks have told more.
    pub placed: Arc<[Placed]>,
    /// Hostgroups and servers, made of these.
    pub topology: Arc<Topology>,
    /// Hostgroups between which servers move by what they say of themselves.
    pub clusters: Arc<Clusters>,
    /// What holds for hostgroups in place of variables.
    pub hostgroups: Arc<Hostgroups>,
    /// Hostgroups in which nothing new is to begin for a while.
    pub held: Arc<BTreeSet<HostgroupId>>,
}

impl Snapshot {
    /// Compiles a draft; every fault of every table is in the error.
    pub fn compile(draft: &Draft) -> Result<Self, Vec<ConfigFault>> {
        Self::after(draft, None)
    }

    /// Compiles what is to follow this configuration. Parts that did not change are shared with
    /// it, and so are accounts and servers in parts that did: what is known of a server, and the
    /// connections to it, outlive the change.
    ///
    /// Of the configurations that are made to follow one, only one may come into force.
    pub fn recompile(&self, draft: &Draft) -> Result<Self, Vec<ConfigFault>> {
        Self::after(draft, Some(self))
    }

    /// What of `wanted` can follow this configuration while the process runs, and the variables
    /// that cannot: they stay as they are.
    pub fn at_run_time(&self, wanted: Self) -> (Self, Vec<AfterRestart>) {
        let late = self.vars.after_restart(&wanted.vars);
        if late.is_empty() {
            return (wanted, late);
        }
        let is_late = |name: &str| late.iter().any(|late| late.name == name);
        let mut draft = Draft::clone(&wanted.draft);
        draft.variables.retain(|(name, _)| !is_late(name));
        let running = self.draft.variables.iter().filter(|(name, _)| is_late(name));
        draft.variables.extend(running.cloned());
        let vars = Arc::new(wanted.vars.staying(&late));
        (Self { draft: Arc::new(draft), vars, ..wanted }, late)
    }

    /// Connections to each server that an account may have.
    pub fn backends_max(&self, account: &Account) -> u32 {
        let own = account.max_backend_connections;
        match own.unwrap_or(self.vars.max_backend_connections_per_user) {
            0 => u32::MAX,
            most => most,
        }
    }

    /// Whether statements for a hostgroup wait, but for those of transactions that are open.
    #[inline]
    pub fn holds_back(&self, hostgroup: HostgroupId) -> bool {
        !self.held.is_empty() && self.held.contains(&hostgroup)
    }

    /// The same with these hostgroups held.
    pub fn holding(self, held: BTreeSet<HostgroupId>) -> Self {
        Self { held: Arc::new(held), ..self }
    }

    /// Whether servers may come to a hostgroup by what is seen of them.
    pub fn may_get_servers(&self, hostgroup: HostgroupId) -> bool {
        self.vars.monitor_enabled && self.clusters.has(i64::from(hostgroup.0))
    }

    /// What follows this with passwords as they were read on servers.
    pub fn with_passwords(&self, read: ReadPasswords) -> Result<Self, Vec<ConfigFault>> {
        let users = Arc::new(self.users.reading(&self.draft.users, Arc::new(read))?);
        Ok(Self { users, ..self.clone() })
    }

    /// The same with servers where they are found to be, to follow `before`. Rows that were typed
    /// and copies of them in other hostgroups are valid.
    pub fn place(self, placed: &[Placed], before: &Self) -> Result<Self, Vec<ConfigFault>> {
        if *self.placed == *placed {
            return Ok(self);
        }
        let topology = match *before.placed == *placed {
            true => before.topology.clone(),
            false => Arc::new(before.topology.place(placed)?),
        };
        Ok(Self { placed: placed.into(), topology, ..self })
    }

    /// Whether a server is in a hostgroup, by its host and port.
    pub fn has_server(&self, hostgroup: HostgroupId, server: &(Box<str>, i64)) -> bool {
        self.placed.iter().any(|placed| {
            placed.row.hostgroup_id == i64::from(hostgroup.0) && is_server(&placed.row, server)
        })
    }

    fn after(draft: &Draft, before: Option<&Self>) -> Result<Self, Vec<ConfigFault>> {
        let mut faults = Vec::new();
        let old = |is_same: fn(&Draft, &Draft) -> bool| {
            before.filter(|before| is_same(&before.draft, draft))
        };
        let servers = match old(|a, b| a.servers == b.servers) {
            Some(same) => Ok((same.placed.clone(), same.topology.clone())),
            None => as_typed(draft, before),
        };
        let servers = keep(servers, &mut faults);
        let hostgroups = match old(|a, b| a.hostgroups == b.hostgroups) {
            Some(same) => Ok(same.hostgroups.clone()),
            None => Hostgroups::compile(&draft.hostgroups).map(Arc::new),
        };
        let hostgroups = keep(hostgroups, &mut faults);
        let clusters = match old(has_same_clusters) {
            Some(same) => Ok(same.clusters.clone()),
            None => clusters(draft).map(Arc::new),
        };
        let clusters = keep(clusters, &mut faults);
        faults.extend(unpaired(draft).chain(unsound_programs(draft)).chain(unsound_tls(draft)));
        let users = keep(users(draft, before), &mut faults);
        let vars = match old(|a, b| a.variables == b.variables) {
            Some(same) => Ok(same.vars.clone()),
            None => Vars::from_pairs(&draft.variables).map(Arc::new),
        };
        let vars = keep(vars, &mut faults);
        faults.extend(unfit_checks(draft, vars.as_deref(), users.as_deref()));
        let options = vars.as_deref().map(RuleOptions::of_vars).unwrap_or_default();
        let rules = match old(|a, b| a.rules == b.rules) {
            Some(same) if RuleOptions::of_vars(&same.vars) == options => Ok(same.rules.clone()),
            _ => match before {
                Some(before) => before.rules.recompile(&draft.rules, options).map(Arc::new),
                None => RuleSet::compile(&draft.rules, options).map(Arc::new),
            },
        };
        let rules = keep(rules, &mut faults);
        let fast_routing = match old(|a, b| a.fast_routing == b.fast_routing) {
            Some(same) => Ok(same.fast_routing.clone()),
            None => FastRouting::compile(&draft.fast_routing).map(Arc::new),
        };
        let fast_routing = keep(fast_routing, &mut faults);
        match (servers, hostgroups.zip(clusters), users, rules.zip(fast_routing), vars) {
            (
                Some((placed, topology)),
                Some((hostgroups, clusters)),
                Some(users),
                Some((rules, fast_routing)),
                Some(vars),
            ) if faults.is_empty() => Ok(Self {
                draft: Arc::new(draft.clone()),
                vars,
                users,
                rules,
                fast_routing,
                placed,
                topology,
                clusters,
                hostgroups,
                held: before.map(|before| before.held.clone()).unwrap_or_default(),
            }),
            _ => Err(faults),
        }
    }
}

/// The accounts of a draft, without what was read of passwords on servers that have left their
/// hostgroups. One that was found to be there stays, wherever it was typed.
fn users(draft: &Draft, before: Option<&Snapshot>) -> Result<Arc<Users>, Vec<ConfigFault>> {
    let Some(before) = before else { return Users::compile(&draft.users).map(Arc::new) };
    let read = match before.draft.servers == draft.servers {
        true => None,
        false => before.users.read_where(|hostgroup, server| {
            let mut rows = draft.servers.iter().filter(|row| is_server(row, server));
            let was_there = before.has_server(hostgroup, server);
            rows.any(|row| was_there || row.hostgroup_id == i64::from(hostgroup.0))
        }),
    };
    match read {
        Some(read) => before.users.reading(&draft.users, Arc::new(read)).map(Arc::new),
        None if before.draft.users == draft.users => Ok(before.users.clone()),
        None => before.users.recompile(&draft.users).map(Arc::new),
    }
}

fn is_server(row: &ServerRow, (host, port): &(Box<str>, i64)) -> bool {
    *row.hostname == **host && row.port == *port
}

/// Servers in force, and what is made of them.
type Standing = (Arc<[Placed]>, Arc<Topology>);

/// The servers of a draft where they were typed.
fn as_typed(draft: &Draft, before: Option<&Snapshot>) -> Result<Standing, Vec<ConfigFault>> {
    let topology = match before {
        Some(before) => before.topology.recompile(&draft.servers)?,
        None => Topology::compile(&draft.servers)?,
    };
    Ok((draft.servers.iter().map(Placed::as_typed).collect(), Arc::new(topology)))
}

fn clusters(draft: &Draft) -> Result<Clusters, Vec<ConfigFault>> {
    let (pairs, groups) = (&draft.replication, &draft.group_replication);
    Clusters::compile(pairs, groups, &draft.galera, &draft.aurora)
}

fn has_same_clusters(one: &Draft, other: &Draft) -> bool {
    one.replication == other.replication
        && one.group_replication == other.group_replication
        && one.galera == other.galera
        && one.aurora == other.aurora
}

/// Clusters whose writers' hostgroup is none of a pair.
fn unpaired(draft: &Draft) -> impl Iterator<Item = ConfigFault> {
    let is_paired = |row: &ReplicationClusterRow| {
        let mut pairs = draft.replication.iter();
        pairs.any(|pair| pair.writer_hostgroup == row.writer_hostgroup)
    };
    let rows = draft.replication_clusters.iter().enumerate();
    rows.filter(move |(_, row)| !is_paired(row)).map(|(at, row)| ConfigFault {
        table: ReplicationClusterRow::TABLE.name,
        row: Some(at),
        column: "writer_hostgroup".into(),
        reason: format!(
            "mysql_replication_hostgroups has no row with the writer hostgroup {}",
            row.writer_hostgroup
        ),
    })
}

/// What variables and accounts lack so that PAM and LDAP can be asked about passwords.
fn unfit_checks(
    draft: &Draft,
    vars: Option<&Vars>,
    users: Option<&Users>,
) -> impl Iterator<Item = ConfigFault> {
    let of_variable = |(name, reason)| vars::find(name).map(|variable| variable.fault(reason));
    let service = vars.filter(|vars| !is_pam_service(&vars.pam_service)).map(|vars| {
        let reason = format!("`{}` is no name of a file in /etc/pam.d", vars.pam_service);
        ("mysql-pam_service", reason)
    });
    let ldap = vars.map(LdapSettings::of);
    let is_missing = matches!(ldap, Some(Ok(None)));
    let misfit = ldap.and_then(Result::err);
    let rows = draft.users.iter().enumerate().filter(move |(_, row)| {
        let account = users.and_then(|users| users.find(row.username.as_bytes()));
        let is_of_ldap = account.is_some_and(|it| it.checked_by() == Some(&CheckedBy::Ldap));
        is_missing && is_of_ldap && (row.active, row.frontend) == (1, 1)
    });
    let needs = rows.map(|(at, _)| ConfigFault {
        table: UserRow::TABLE.name,
        row: Some(at),
        column: "attributes".into(),
        reason: LDAP_NEEDS.into(),
    });
    service.into_iter().chain(misfit).filter_map(of_variable).chain(needs)
}

/// Columns of clusters that are to have a program and have none.
fn unsound_programs(draft: &Draft) -> impl Iterator<Item = ConfigFault> {
    let columns = |(at, row): (usize, &ReplicationClusterRow)| {
        let both = [("before_program", &row.before_program), ("after_program", &row.after_program)];
        both.map(|(column, text)| Some((at, column, clusters::program(text).err()?)))
    };
    let found = draft.replication_clusters.iter().enumerate().flat_map(columns).flatten();
    found.map(|(at, column, reason)| ConfigFault {
        table: ReplicationClusterRow::TABLE.name,
        row: Some(at),
        column: column.into(),
        reason,
    })
}

/// Rows about TLS to servers that say nothing that could be meant. Files are looked at by whoever
/// reads them.
fn unsound_tls(draft: &Draft) -> impl Iterator<Item = ConfigFault> {
    let reason = |row: &ServerTlsRow| match row.ssl_verify.as_str() {
        _ if row.hostname.is_empty() => Some(("hostname", "must not be empty".to_owned())),
        "" => None,
        word if VERIFY.contains(&word) => None,
        word => Some(("ssl_verify", format!("`{word}` is none of {}", VERIFY.join(", ")))),
    };
    let found = draft.server_tls.iter().enumerate();
    found.filter_map(move |(at, row)| {
        let (column, reason) = reason(row)?;
        let table = ServerTlsRow::TABLE.name;
        Some(ConfigFault { table, row: Some(at), column: column.into(), reason })
    })
}

fn keep<T>(compiled: Result<T, Vec<ConfigFault>>, faults: &mut Vec<ConfigFault>) -> Option<T> {
    compiled.map_err(|mut found| faults.append(&mut found)).ok()
}

#[cfg(test)]
mod tests;
