//! Where the servers of an Aurora cluster stand. Each of them tells of all: the server that is
//! asked says which one is written to, which copy it, and how far these are behind.

use std::collections::{BTreeSet, VecDeque};

use engine::clusters::Aurora;
use engine::rows::ServerRow;
use engine::topology::{Placed, Stand, Status};

use crate::Keeper;
use crate::cluster;
use crate::event::{Reason, StatusChange};
use crate::placement::copied;
use crate::recording::recorded;
use crate::report::{Endpoint, Report, is_name};
use crate::wanted::Wanted;

/// What a server said of its cluster.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct AuroraAnswer {
    /// The servers that are alive, each once.
    pub instances: Vec<AuroraInstance>,
}

/// What was said of one of them.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct AuroraInstance {
    /// `SERVER_ID`: its host name without the domain.
    pub server_id: String,
    /// It is the one that is written to.
    pub writes: bool,
    /// How far it is behind that.
    pub lag_ms: u64,
    /// How long ago that was so.
    pub age_us: u64,
}

impl AuroraAnswer {
    /// Most servers that are believed to be one cluster; Aurora has sixteen.
    pub const INSTANCES_MAX: usize = 64;

    /// Whether a cluster can look like this: few servers with host names, one writer at most.
    pub fn is_sound(&self) -> bool {
        self.instances.len() <= Self::INSTANCES_MAX
            && self.instances.iter().all(|it| is_name(&it.server_id, ID_BYTES))
            && self.instances.iter().filter(|it| it.writes).count() <= 1
    }

    /// What it says of each server, which its id and the row of the cluster name.
    fn by_server(&self, cluster: &Aurora) -> Vec<(Endpoint, &AuroraInstance)> {
        let named = self.instances.iter();
        named.map(|it| (endpoint(cluster, &it.server_id), it)).collect()
    }
}

/// Bytes of a `SERVER_ID`, at most: one label of a host name.
const ID_BYTES: usize = 63;

fn endpoint(cluster: &Aurora, server_id: &str) -> Endpoint {
    Endpoint { hostname: format!("{server_id}{}", cluster.domain), port: cluster.port }
}

/// What is known of a server of a cluster.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct Instance {
    /// Whether it is written to; `None` until that was told.
    writes: Option<bool>,
    /// When it was last so that it is, by the clock of reports.
    wrote_at_us: u64,
    /// How far it was behind at the last checks, the latest last.
    lags_ms: VecDeque<u64>,
}

recorded!(Instance { writes, wrote_at_us, lags_ms } or default);

impl Instance {
    fn note_lag(&mut self, told: &AuroraInstance, cluster: &Aurora) {
        if told.writes {
            // what it was as a replica says nothing of it any more
            self.lags_ms.clear();
            return;
        }
        self.lags_ms.push_back(told.lag_ms);
        while self.lags_ms.len() > cluster.lag_checks {
            self.lags_ms.pop_front();
        }
    }

    /// What was measured before counts no more.
    pub(crate) fn forget_lag(&mut self) {
        self.lags_ms.clear();
    }

    /// How far it counts as behind. A lag of nothing counts as nothing, whatever is added.
    fn lag_ms(&self, cluster: &Aurora) -> u64 {
        let last = self.lags_ms.iter().rev().take(cluster.lag_checks);
        let counting = last.filter(|lag_ms| **lag_ms > 0);
        let counted = counting.map(|lag_ms| (lag_ms + cluster.add_lag_ms).max(cluster.min_lag_ms));
        counted.max().unwrap_or(0)
    }

    fn stand(&self, cluster: &Aurora) -> Stand {
        match self.lag_ms(cluster) {
            lag_ms if lag_ms > cluster.max_lag_ms => Stand::Lagging { lag_us: lag_ms * 1_000 },
            _ => Stand::Well,
        }
    }
}

impl Keeper {
    /// How far a server of an Aurora cluster counts as behind; `None` for one that is unknown.
    pub fn aurora_lag_ms(&self, writer: i64, server_id: &str) -> Option<u64> {
        let cluster = self.wanted.clusters.find_aurora(writer)?;
        let key = (writer, endpoint(cluster, server_id));
        self.instances.get(&key).map(|instance| instance.lag_ms(cluster))
    }

    /// How far a server of an Aurora cluster with that hostgroup counts as behind, in microseconds;
    /// a replica is at least one behind.
    pub(crate) fn aurora_lag_us(&self, hostgroup: i64, server: &Endpoint) -> Option<u64> {
        let mut clusters = self.wanted.clusters.aurora.iter();
        let cluster = clusters.find(|cluster| cluster.hostgroups().contains(&hostgroup))?;
        let instance = self.instances.get(&(cluster.writer, server.clone()))?;
        let is_replica = !instance.writes?;
        Some((instance.lag_ms(cluster) * 1_000).max(u64::from(is_replica)))
    }

    /// A server told of its cluster, which is the one with that hostgroup of writers.
    pub(crate) fn hear_aurora(
        &mut self,
        writer: i64,
        answer: &AuroraAnswer,
        report: &Report,
    ) -> Vec<StatusChange> {
        let Report { at_us, server, .. } = report;
        let Some(cluster) = self.wanted.clusters.find_aurora(writer).cloned() else {
            return Vec::new();
        };
        let mut hostgroups = cluster.hostgroups().into_iter();
        let is_member = hostgroups.any(|it| self.wanted.live_row(it, server).is_some());
        if !is_member || answer.instances.is_empty() || !answer.is_sound() {
            return Vec::new();
        }
        let named = answer.by_server(&cluster);
        if self.is_outdated(writer, &named, *at_us) {
            return Vec::new();
        }
        let mut events = Vec::new();
        let mut found: BTreeSet<_> = named.iter().map(|(server, _)| server.clone()).collect();
        if !named.iter().any(|(_, told)| told.writes) {
            // one that has just started sees itself alone
            found.extend(self.found.get(&writer).into_iter().flatten().cloned());
        }
        if let Some(reason) = self.discover(server, [(writer, found)]) {
            events.extend(self.decide(*at_us, &reason));
        }
        if let Some(reason) = self.note_roles(&cluster, &named, *at_us) {
            events.extend(self.decide(*at_us, &reason));
        }
        for (server, told) in named {
            let Some(instance) = self.instances.get_mut(&(writer, server)) else { continue };
            let was_well = instance.stand(&cluster) == Stand::Well;
            instance.note_lag(told, &cluster);
            if was_well != (instance.stand(&cluster) == Stand::Well) {
                let (lag_ms, limit_ms) = (instance.lag_ms(&cluster), cluster.max_lag_ms);
                events.extend(self.decide(*at_us, &Reason::AuroraLag { lag_ms, limit_ms }));
            }
        }
        events
    }

    /// Whether another server is known to write since then: one that is cut off has its old view.
    fn is_outdated(&self, writer: i64, named: &[(Endpoint, &AuroraInstance)], at_us: u64) -> bool {
        let Some((server, told)) = named.iter().find(|(_, told)| told.writes) else { return false };
        let so_at_us = at_us.saturating_sub(told.age_us);
        self.instances.iter().any(|((of, known), instance)| {
            let is_another = *of == writer && known != server && instance.writes == Some(true);
            // a clock that was set back proves nothing
            is_another && (so_at_us + 1..=at_us).contains(&instance.wrote_at_us)
        })
    }

    /// Who writes and who does not. Where one is said to write, nobody else does, named or not.
    fn note_roles(
        &mut self,
        cluster: &Aurora,
        named: &[(Endpoint, &AuroraInstance)],
        at_us: u64,
    ) -> Option<Reason> {
        let told = named.iter().find(|(_, told)| told.writes);
        let so_at_us = told.map_or(0, |(_, told)| at_us.saturating_sub(told.age_us));
        let writer = told.map(|(server, _)| server);
        let mut changed = false;
        for (server, _) in cluster::members(&cluster.hostgroups(), &self.wanted) {
            if writer.is_some() || named.iter().any(|(own, _)| *own == server) {
                let writes = Some(writer == Some(&server));
                let instance = self.instances.entry((cluster.writer, server)).or_default();
                instance.wrote_at_us = match writes {
                    Some(true) => instance.wrote_at_us.max(so_at_us),
                    _ => 0,
                };
                changed |= std::mem::replace(&mut instance.writes, writes) != writes;
            }
        }
        changed.then(|| match writer {
            Some(writer) => Reason::AuroraWriter { writer: writer.clone() },
            None => Reason::AuroraReplica,
        })
    }
}

/// Where the servers of a cluster stand. `known` is what is known of each.
pub(crate) fn places<'a>(
    cluster: &Aurora,
    wanted: &Wanted,
    known: impl Fn(&Endpoint) -> Option<&'a Instance>,
) -> Vec<Placed> {
    let mut places = Vec::new();
    for (server, row) in cluster::members(&cluster.hostgroups(), wanted) {
        let instance = known(&server);
        let is_here = |hostgroup: i64| match instance.and_then(|it| it.writes) {
            None => wanted.live_row(hostgroup, &server).is_some(),
            Some(true) => hostgroup == cluster.writer || cluster.writer_is_read,
            Some(false) => hostgroup == cluster.reader,
        };
        let stand = instance.map_or(Stand::Well, |instance| instance.stand(cluster));
        for hostgroup in cluster.hostgroups().into_iter().filter(|it| is_here(*it)) {
            let row = match wanted.row(hostgroup, &server) {
                // it is in force as it is
                Some(typed) if Status::OfflineHard.is_set(typed) => continue,
                Some(typed) => typed.clone(),
                None => moved(cluster, row, hostgroup),
            };
            places.push(Placed { row, stand });
        }
    }
    places
}

/// The row of a server in the hostgroup in which it has none.
fn moved(cluster: &Aurora, row: &ServerRow, hostgroup: i64) -> ServerRow {
    let row = copied(row, hostgroup);
    match hostgroup == cluster.reader {
        true => ServerRow { weight: cluster.reader_weight, ..row },
        false => row,
    }
}
