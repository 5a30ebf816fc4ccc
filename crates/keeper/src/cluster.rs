//! Where the members of a cluster stand that agree among themselves which may write: Group
//! Replication and Galera.

use std::cmp::Reverse;

use engine::clusters::{AlsoRead, Cluster, ClusterKind};
use engine::rows::ServerRow;
use engine::topology::{Placed, Stand, Status};

use crate::event::Reason;
use crate::facts::is_of_account;
use crate::placement::copied;
use crate::recording::recorded;
use crate::report::{Endpoint, Failure};
use crate::wanted::{Limits, Wanted};

/// What a member of a group said of itself.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct GroupAnswer {
    /// It is in the majority and online.
    pub is_viable: bool,
    /// It refuses writes.
    pub read_only: bool,
    /// Transactions that it has received and not applied.
    pub behind: u64,
    /// The members of its group that are online.
    pub members: Vec<Endpoint>,
}

/// What a node of a Galera cluster said of itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GaleraAnswer {
    /// `wsrep_cluster_status` is `Primary`.
    pub is_primary: bool,
    /// `wsrep_local_state`: 4 synced, 2 a donor.
    pub local_state: u32,
    /// `wsrep_desync`.
    pub desync: bool,
    /// `wsrep_reject_queries` is not `NONE`.
    pub rejects_queries: bool,
    /// `wsrep_sst_donor_rejects_queries`.
    pub donor_rejects: bool,
    /// `pxc_maint_mode` is not `DISABLED`.
    pub in_maintenance: bool,
    /// It refuses writes.
    pub read_only: bool,
    /// `wsrep_local_recv_queue`.
    pub behind: u64,
}

/// What a member is good for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Verdict {
    /// Nothing.
    Offline,
    /// What it has begun may end there.
    Leaving,
    /// To be read from.
    Reader,
    /// To be written to.
    Writer,
}

/// What is known of a member.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct Member {
    verdict: Option<Verdict>,
    /// Checks without an answer, one behind the other.
    missed: u32,
    /// Checks at which it was too far behind, one behind the other.
    behind: u32,
    refuses_writes: bool,
    /// It would take writes where nobody is better.
    serves_in_need: bool,
}

recorded!(Member { verdict, missed, behind, refuses_writes, serves_in_need });

/// `wsrep_local_state` of a node that has all that the cluster has.
const SYNCED: u32 = 4;

/// The same of one that sends its data to another.
const DONOR: u32 = 2;

impl Member {
    fn comes_to(&mut self, verdict: Verdict, reason: Reason) -> Option<Reason> {
        (self.verdict.replace(verdict) != Some(verdict)).then_some(reason)
    }

    /// A check that came to nothing.
    fn note_failure(&mut self, failure: &Failure, most: u32) -> Option<Reason> {
        let reason = match failure {
            Failure::OwnDelay => return None,
            Failure::Error(code) if is_of_account(*code) => return None,
            Failure::Error(code) => {
                self.missed = 0;
                Reason::CheckRefused { code: *code }
            }
            Failure::NoAnswer => {
                self.missed = self.missed.saturating_add(1);
                if self.missed < most {
                    return None;
                }
                Reason::ChecksMissed { count: self.missed }
            }
        };
        let served = std::mem::take(&mut self.serves_in_need);
        let was_offline = self.verdict.replace(Verdict::Offline) == Some(Verdict::Offline);
        (served || !was_offline).then_some(reason)
    }

    pub(crate) fn note_group(
        &mut self,
        outcome: &Result<GroupAnswer, Failure>,
        cluster: &Cluster,
        limits: &Limits,
    ) -> Option<Reason> {
        let answer = match outcome {
            Ok(answer) => answer,
            Err(failure) => return self.note_failure(failure, limits.group_failures),
        };
        self.missed = 0;
        self.refuses_writes = answer.read_only;
        let was_behind = self.behind_at(limits);
        self.behind = match cluster.max_behind > 0 && answer.behind > cluster.max_behind {
            true => self.behind.saturating_add(1),
            false => 0,
        };
        let is_behind = (self.behind_at(limits) != was_behind)
            .then_some(Reason::Behind { by: answer.behind, limit: cluster.max_behind });
        let (verdict, reason) = match (answer.is_viable, answer.read_only) {
            (false, _) => (Verdict::Offline, Reason::NotViable),
            (true, true) => (Verdict::Reader, Reason::ReadOnly { is: true }),
            (true, false) => (Verdict::Writer, Reason::ReadOnly { is: false }),
        };
        self.comes_to(verdict, reason).or(is_behind)
    }

    pub(crate) fn note_galera(
        &mut self,
        outcome: &Result<GaleraAnswer, Failure>,
        cluster: &Cluster,
        limits: &Limits,
    ) -> Option<Reason> {
        let answer = match outcome {
            Ok(answer) => answer,
            Err(failure) => return self.note_failure(failure, limits.galera_failures),
        };
        self.missed = 0;
        let is_willing = answer.is_primary
            && !answer.rejects_queries
            && !answer.read_only
            && !answer.donor_rejects;
        let was_willing = std::mem::replace(&mut self.serves_in_need, is_willing);
        let is_synced =
            answer.local_state == SYNCED || answer.local_state == DONOR && !answer.donor_rejects;
        let (by, limit) = (answer.behind, cluster.max_behind);
        let (verdict, reason) = match () {
            () if !answer.is_primary => (Verdict::Offline, Reason::NoPrimaryPartition),
            () if answer.desync => (Verdict::Offline, Reason::Desynced),
            () if !is_synced => {
                (Verdict::Offline, Reason::NotSynced { local_state: answer.local_state })
            }
            () if answer.rejects_queries => (Verdict::Offline, Reason::RejectsQueries),
            () if answer.in_maintenance => (Verdict::Leaving, Reason::InMaintenance),
            () if answer.read_only && limit > 0 && by > limit => {
                (Verdict::Offline, Reason::Behind { by, limit })
            }
            () if answer.read_only => (Verdict::Reader, Reason::ReadOnly { is: true }),
            () => (Verdict::Writer, Reason::ReadOnly { is: false }),
        };
        let change = self.comes_to(verdict, reason.clone());
        change.or_else(|| (was_willing != is_willing).then_some(reason))
    }

    /// Whether it is left out for being behind (1), and its connections given up as well (2).
    fn behind_at(&self, limits: &Limits) -> u32 {
        match self.behind {
            count if count >= limits.group_behind_count.saturating_mul(2) => 2,
            count if count >= limits.group_behind_count => 1,
            _ => 0,
        }
    }

    /// How it stands among those that are written to, or read from.
    fn stand(&self, limits: &Limits) -> Stand {
        let counts = match limits.group_behind_for {
            0 => !self.refuses_writes,
            1 => self.refuses_writes,
            _ => true,
        };
        match self.behind_at(limits) {
            _ if !counts => Stand::Well,
            0 => Stand::Well,
            1 => Stand::Behind,
            _ => Stand::FarBehind,
        }
    }
}

/// The members of a cluster: whoever has a row in one of its hostgroups and is to do any work, each
/// with the row that copies are made of. In the order in which they come to be written to.
pub(crate) fn members<'a>(
    hostgroups: &[i64],
    wanted: &'a Wanted,
) -> Vec<(Endpoint, &'a ServerRow)> {
    let mut members: Vec<(Endpoint, &ServerRow)> = Vec::new();
    for hostgroup in hostgroups {
        let rows = wanted.servers.iter().filter(|row| row.hostgroup_id == *hostgroup);
        for row in rows.filter(|row| !Status::OfflineHard.is_set(row)) {
            let server = Endpoint::of(row);
            if members.iter().all(|(other, _)| *other != server) {
                members.push((server, row));
            }
        }
    }
    members.sort_by(|(a, one), (b, other)| {
        let key = |row: &ServerRow, server: &Endpoint| {
            Reverse((row.weight, server.hostname.clone(), server.port))
        };
        key(one, a).cmp(&key(other, b))
    });
    members
}

/// Where the members of a cluster stand. `known` is what is known of each, `was_in` says where it
/// was.
pub(crate) fn places<'a>(
    cluster: &Cluster,
    wanted: &Wanted,
    known: impl Fn(&Endpoint) -> Option<&'a Member>,
    was_in: impl Fn(i64, &Endpoint) -> bool,
) -> Vec<Placed> {
    let members = members(&cluster.hostgroups(), wanted);
    let (writers, backups) = writers(cluster, wanted, &members, &known);
    let mut places = Vec::new();
    for (server, row) in &members {
        let mut place = |hostgroup: i64, stand: Stand| {
            let row = match wanted.row(hostgroup, server) {
                // it is in force as it is
                Some(typed) if Status::OfflineHard.is_set(typed) => return,
                Some(typed) => typed.clone(),
                None => copied(row, hostgroup),
            };
            places.push(Placed { row, stand });
        };
        let stand = known(server).map_or(Stand::Well, |member| member.stand(&wanted.limits));
        let rank = match known(server).and_then(|member| member.verdict) {
            _ if writers.contains(&server) => Rank::Writer,
            _ if backups.contains(&server) => Rank::Backup,
            verdict => Rank::Other(verdict),
        };
        match rank {
            Rank::Writer => {
                place(cluster.writer, stand);
                if writers_are_read(cluster, backups.is_empty()) {
                    place(cluster.reader, stand);
                }
            }
            Rank::Backup => {
                if cluster.kind == ClusterKind::Galera {
                    place(cluster.writer, Stand::Surplus);
                }
                place(cluster.backup, stand);
                if cluster.also_read != AlsoRead::Nobody {
                    place(cluster.reader, stand);
                }
            }
            Rank::Other(None) => {
                let is_typed = |hostgroup: &i64| wanted.live_row(*hostgroup, server).is_some();
                let typed = cluster.hostgroups().into_iter().filter(is_typed);
                typed.for_each(|hostgroup| place(hostgroup, Stand::Well));
            }
            // it takes writes, and the operator wants it to get no more of them
            Rank::Other(Some(Verdict::Writer)) => place(cluster.writer, stand),
            Rank::Other(Some(Verdict::Reader)) => place(cluster.reader, stand),
            Rank::Other(Some(Verdict::Offline)) => place(cluster.offline, Stand::Well),
            Rank::Other(Some(Verdict::Leaving)) => {
                let was = |hostgroup: &i64| was_in(*hostgroup, server);
                let places = [cluster.writer, cluster.reader].into_iter().filter(was);
                places.for_each(|hostgroup| place(hostgroup, Stand::Leaving));
                place(cluster.offline, Stand::Well);
            }
        }
    }
    places
}

/// Who is written to, and who could be.
fn writers<'m, 'a>(
    cluster: &Cluster,
    wanted: &Wanted,
    members: &'m [(Endpoint, &ServerRow)],
    known: &impl Fn(&Endpoint) -> Option<&'a Member>,
) -> (Vec<&'m Endpoint>, Vec<&'m Endpoint>) {
    let verdict = |server: &Endpoint| known(server).and_then(|member| member.verdict);
    let counts = |row: &ServerRow| !Status::OfflineSoft.is_set(row);
    let counting = members.iter().filter(|(_, row)| counts(row)).map(|(server, _)| server);
    let writes = |server: &&Endpoint| verdict(server) == Some(Verdict::Writer);
    let mut writers: Vec<_> = counting.clone().filter(writes).collect();
    // somebody of whom nothing is known yet may be written to
    let is_typed = |server: &Endpoint| {
        verdict(server).is_none() && wanted.live_row(cluster.writer, server).is_some()
    };
    let is_needy = cluster.kind == ClusterKind::Galera
        && writers.is_empty()
        && !members.iter().any(|(server, _)| is_typed(server));
    if is_needy {
        let serves = |server: &&Endpoint| known(server).is_some_and(|it| it.serves_in_need);
        writers.extend(counting.clone().find(serves));
    }
    let backups = writers.split_off(cluster.max_writers.min(writers.len()));
    (writers, backups)
}

fn writers_are_read(cluster: &Cluster, no_backups: bool) -> bool {
    match cluster.also_read {
        AlsoRead::Nobody => false,
        AlsoRead::Writers => true,
        AlsoRead::Backups => cluster.kind == ClusterKind::Group && no_backups,
    }
}

/// What a member is to its cluster.
enum Rank {
    Writer,
    Backup,
    Other(Option<Verdict>),
}
