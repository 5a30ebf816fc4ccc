//! Where servers stand: decided of the rows that the operator typed and of what was seen of the
//! servers.
//!
//! What is wanted, what was seen and what is decided are three things and stay three things. A
//! [`Keeper`] takes [`Wanted`] and [`Report`]s with their times, and gives rows to be compiled with
//! a [`StatusChange`] and its [`Reason`] for each change. It has no sockets and no clock: the same
//! input gives the same decisions on any machine.
#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    deny(
        clippy::unwrap_used,
        clippy::indexing_slicing,
        clippy::cast_possible_truncation,
        clippy::panic
    )
)]

mod aurora;
mod cluster;
mod contest;
mod event;
mod facts;
pub mod gtid_sets;
mod placement;
pub mod positions;
mod recording;
mod report;
mod wanted;

use std::collections::{BTreeMap, BTreeSet};

use engine::clusters::{Cluster, ClusterKind, Clusters, Pair};
use engine::rows::ServerRow;
use engine::topology::{Placed, Stand};

use aurora::Instance;
pub use aurora::{AuroraAnswer, AuroraInstance};
use cluster::Member;
pub use cluster::{GaleraAnswer, GroupAnswer};
pub use contest::Because;
use contest::{Contest, Sample};
pub use event::{Reason, StatusChange};
use facts::{Facts, Lagging};
use placement::PlacementRole;
pub use recording::{KeeperInput, Replay, Replayed, beginning, is_recording, line};
pub use report::{Endpoint, Failure, GtidAnswer, Lag, Report, Seen};
pub use wanted::{Limits, Wanted};

/// What is wanted of all servers, what was seen of them, and what follows.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Keeper {
    wanted: Wanted,
    /// The servers of `wanted`.
    known: BTreeSet<Endpoint>,
    facts: BTreeMap<Endpoint, Facts>,
    roles: BTreeMap<(i64, Endpoint), PlacementRole>,
    lags: BTreeMap<(i64, Endpoint), Lagging>,
    members: BTreeMap<(i64, Endpoint), Member>,
    instances: BTreeMap<(i64, Endpoint), Instance>,
    decided: Vec<Placed>,
    /// How many servers of `wanted` were typed: behind them are those of `found`.
    typed: usize,
    /// Servers that were primaries and were replaced: left out, and no writers whatever they say.
    deposed: BTreeSet<Endpoint>,
    /// Who is the writer, by the hostgroups of writers that are to have one only.
    contests: BTreeMap<i64, Contest>,
    /// Servers that no row names and others named, by the hostgroup of their cluster's writers.
    found: BTreeMap<i64, BTreeSet<Endpoint>>,
}

impl Keeper {
    /// The rows that are to be in force, in the order in which they were typed; copies behind them.
    pub fn decided(&self) -> &[Placed] {
        &self.decided
    }

    /// The hostgroups between which servers move.
    pub fn clusters(&self) -> &Clusters {
        &self.wanted.clusters
    }

    /// The latency of a server: the mean of what its last pings took that were answered, in
    /// microseconds.
    pub fn latency_us(&self, server: &Endpoint) -> Option<u64> {
        self.facts.get(server)?.latency_us()
    }

    /// How far a server is behind in a hostgroup, as it was last heard, in microseconds.
    pub fn lag_us(&self, hostgroup: i64, server: &Endpoint) -> Option<u64> {
        let known = self.lags.get(&(hostgroup, server.clone())).map(Lagging::last_us);
        known.or_else(|| self.aurora_lag_us(hostgroup, server))
    }

    /// Whether a server answers its pings.
    pub fn answers(&self, server: &Endpoint) -> bool {
        self.facts.get(server).is_some_and(|facts| !facts.is_silent())
    }

    /// Whether each server of a pair of hostgroups has been asked whether it refuses writes, or is
    /// not to be.
    pub fn knows_pair(&self, writer: i64) -> bool {
        let Some(pair) = self.wanted.pair_of(writer) else { return true };
        let is_asked = |row: &&ServerRow| {
            let is_of_pair = [pair.writer, pair.reader].contains(&row.hostgroup_id);
            is_of_pair && wanted::is_in_use(row)
        };
        let has_answered = |row: &ServerRow| {
            let facts = self.facts.get(&Endpoint::of(row));
            facts.is_some_and(|facts| facts.has_answered(pair.check))
        };
        !self.wanted.limits.enabled || self.wanted.servers.iter().filter(is_asked).all(has_answered)
    }

    /// Another configuration is wanted. Servers whose rows are as before stay where they are;
    /// to others applies what was seen of them, at once.
    pub fn adopt(&mut self, wanted: Wanted, at_us: u64) -> Vec<StatusChange> {
        let before = std::mem::replace(&mut self.wanted, wanted);
        let typed = |wanted: &Wanted, hostgroup: i64, server: &Endpoint| {
            wanted.row(hostgroup, server).cloned()
        };
        self.typed = self.wanted.servers.len();
        self.extend();
        let (wanted, known) = (&self.wanted, &self.known);
        self.roles.retain(|(writer, server), _| {
            let pair = wanted.pair_of(*writer);
            pair.is_some()
                && pair == before.pair_of(*writer)
                && pair.into_iter().flat_map(|pair| [pair.writer, pair.reader]).all(|hostgroup| {
                    typed(wanted, hostgroup, server) == typed(&before, hostgroup, server)
                })
        });
        self.facts.retain(|server, _| known.contains(server));
        self.deposed.retain(|server| known.contains(server));
        self.members.retain(|(writer, server), _| {
            known.contains(server)
                && wanted.clusters.members.iter().any(|cluster| cluster.writer == *writer)
        });
        self.instances.retain(|(writer, server), _| {
            known.contains(server) && wanted.clusters.find_aurora(*writer).is_some()
        });
        let Limits { enabled, evaluate_lag_on_load, .. } = wanted.limits;
        if !enabled || !evaluate_lag_on_load {
            self.lags.clear();
            self.instances.values_mut().for_each(Instance::forget_lag);
        }
        if !enabled {
            // who stops the checks wants servers to stay where they are
            self.facts.clear();
        }
        let several_writers = &self.wanted.several_writers;
        self.contests.retain(|writer, _| {
            let pair = self.wanted.pair_of(*writer);
            enabled && several_writers.contains_key(writer) && pair == before.pair_of(*writer)
        });
        self.judge_all();
        let mut events = self.decide(at_us, &Reason::Configured);
        for settled in self.settle() {
            events.extend(self.follow(&settled, None, at_us));
        }
        events
    }

    /// A server was replaced as the primary: it is left out from now on, or with `false` no longer,
    /// since it follows the new one.
    pub fn depose(&mut self, server: &Endpoint, is_deposed: bool, at_us: u64) -> Vec<StatusChange> {
        let changes = match is_deposed {
            true => self.known.contains(server) && self.deposed.insert(server.clone()),
            false => self.deposed.remove(server),
        };
        if !changes {
            return Vec::new();
        }
        let reason = if is_deposed { Reason::Deposed } else { Reason::Rejoined };
        self.facts.entry(server.clone()).or_default().count_as_read_only();
        let settled = self.settle();
        self.judge(server);
        let mut events = self.decide(at_us, &reason);
        for settled in settled {
            events.extend(self.follow(&settled, None, at_us));
        }
        events
    }

    /// Something was seen of a server. Gives what changes by it.
    pub fn hear(&mut self, report: &Report) -> Vec<StatusChange> {
        let server = &report.server;
        if !self.wanted.limits.enabled || !self.known.contains(server) {
            return Vec::new();
        }
        let mut events = Vec::new();
        if let Seen::Aurora(writer, Ok(answer)) = &report.seen {
            return self.hear_aurora(*writer, answer, report);
        }
        if let Some(reason) = self.discover(server, self.named(report)) {
            events = self.decide(report.at_us, &reason);
        }
        let limits = &self.wanted.limits;
        let facts = self.facts.entry(server.clone()).or_default();
        let reason = match &report.seen {
            Seen::Ping(outcome) => {
                let reason = facts.note_ping(outcome, limits);
                reason.or_else(|| self.note_latency(server))
            }
            Seen::ReadOnly(check, outcome) => facts.note_read_only(*check, outcome, limits),
            Seen::Gtids(outcome) => {
                let sample = outcome.as_ref().map(|answer| Sample::of(answer, report.at_us));
                facts.note_gtids(sample);
                None
            }
            Seen::Lag(hostgroup, outcome) => self.note_lag(*hostgroup, server, outcome),
            Seen::Group(outcome) => {
                self.note_member(ClusterKind::Group, server, |member, cluster, limits| {
                    member.note_group(outcome, cluster, limits)
                })
            }
            Seen::Galera(outcome) => {
                self.note_member(ClusterKind::Galera, server, |member, cluster, limits| {
                    member.note_galera(outcome, cluster, limits)
                })
            }
            // errors say nothing of where servers stand
            Seen::Aurora(..) | Seen::Rds(_) => None,
        };
        let settled = self.settle();
        match reason {
            Some(reason) if settled.is_empty() => {
                self.judge(server);
                events.extend(self.decide(report.at_us, &reason));
            }
            reason => {
                for settled in settled {
                    let own = reason.clone().map(|reason| (server, reason));
                    events.extend(self.follow(&settled, own, report.at_us));
                }
            }
        }
        events
    }

    /// Adds the servers that were found to those that were typed, but for those that are both.
    fn extend(&mut self) {
        let wanted = &mut self.wanted;
        wanted.servers.truncate(self.typed);
        let mut rows = Vec::new();
        self.found.retain(|writer, found| {
            let Some((hostgroups, row)) = wanted.place_of_found(*writer) else { return false };
            found.retain(|server| !wanted.is_typed_in(&hostgroups, server));
            rows.extend(found.iter().map(|server| server.row_like(&row)));
            !found.is_empty()
        });
        wanted.servers.append(&mut rows);
        self.known = wanted.servers.iter().map(Endpoint::of).collect();
    }

    /// The servers that another one named, by the hostgroups of writers that these belong to.
    fn named(&self, report: &Report) -> Vec<(i64, BTreeSet<Endpoint>)> {
        let server = &report.server;
        let sound = |named: &[Endpoint]| named.iter().filter(|it| it.is_sound()).cloned().collect();
        match &report.seen {
            Seen::Group(Ok(answer)) if answer.is_viable && !answer.members.is_empty() => {
                let clusters = self.wanted.clusters_of(ClusterKind::Group, server).into_iter();
                clusters.map(|cluster| (cluster.writer, sound(&answer.members))).collect()
            }
            Seen::Rds(Ok(named)) => {
                let pairs = self.wanted.clusters.pairs.iter();
                let is_its = |pair: &&Pair| {
                    let mut places = [pair.writer, pair.reader].into_iter();
                    places.any(|place| self.wanted.live_row(place, server).is_some())
                };
                pairs.filter(is_its).map(|pair| (pair.writer, sound(named))).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Servers that nobody typed come and go by what another one named.
    fn discover(
        &mut self,
        by: &Endpoint,
        named: impl IntoIterator<Item = (i64, BTreeSet<Endpoint>)>,
    ) -> Option<Reason> {
        let before = self.found.clone();
        self.found.extend(named);
        if self.found == before {
            return None;
        }
        self.extend();
        if self.found == before {
            return None;
        }
        let known = &self.known;
        self.facts.retain(|server, _| known.contains(server));
        self.roles.retain(|(_, server), _| known.contains(server));
        self.members.retain(|(_, server), _| known.contains(server));
        self.instances.retain(|(_, server), _| known.contains(server));
        Some(Reason::Discovered { by: by.clone() })
    }

    /// A server comes to be too slow in a hostgroup, or no longer is.
    fn note_latency(&self, server: &Endpoint) -> Option<Reason> {
        let latency_us = self.latency_us(server)?;
        let mut placed = self.decided.iter().filter(|placed| wanted::is_of(&placed.row, server));
        let changed = placed.find(|placed| {
            let was_slow = matches!(placed.stand, Stand::Slow { .. });
            let is_known = was_slow || placed.stand == Stand::Well;
            is_known && was_slow != (latency_us > self.latency_limit_us(&placed.row))
        })?;
        let limit_ms = self.latency_limit_us(&changed.row) / 1_000;
        Some(match changed.stand {
            Stand::Well => Reason::LatencyAbove { latency_us, limit_ms },
            _ => Reason::LatencyWithin { latency_us, limit_ms },
        })
    }

    /// How long the pings of a server may take in a hostgroup, in microseconds.
    fn latency_limit_us(&self, row: &ServerRow) -> u64 {
        let own = u64::try_from(row.max_latency_ms).unwrap_or(0);
        match if own > 0 { own } else { self.wanted.limits.latency_ms } {
            0 => u64::MAX,
            limit_ms => limit_ms.saturating_mul(1_000),
        }
    }

    /// The lag of a server in a hostgroup, or in all of them.
    fn note_lag(
        &mut self,
        hostgroup: Option<i64>,
        server: &Endpoint,
        outcome: &Result<Lag, Failure>,
    ) -> Option<Reason> {
        let rows = self.decided.iter().map(|decided| &decided.row);
        let rows = rows.filter(|row| wanted::is_of(row, server));
        let mut reason = None;
        for row in rows.filter(|row| hostgroup.is_none_or(|only| only == row.hostgroup_id)) {
            let lagging = self.lags.entry((row.hostgroup_id, server.clone())).or_default();
            let limits = &self.wanted.limits;
            reason = lagging.note(outcome, row.max_replication_lag, limits).or(reason);
        }
        reason
    }

    /// What a member of clusters said, noted for each of them.
    fn note_member(
        &mut self,
        kind: ClusterKind,
        server: &Endpoint,
        note: impl Fn(&mut Member, &Cluster, &Limits) -> Option<Reason>,
    ) -> Option<Reason> {
        let mut reason = None;
        for cluster in self.wanted.clusters_of(kind, server) {
            let member = self.members.entry((cluster.writer, server.clone())).or_default();
            reason = note(member, &cluster, &self.wanted.limits).or(reason);
        }
        reason
    }

    /// Applies to the roles of a server what its last checks said.
    fn judge(&mut self, server: &Endpoint) {
        let Some(facts) = self.facts.get(server) else { return };
        for pair in &self.wanted.clusters.pairs {
            let told = facts.read_only(pair.check);
            let told = if self.deposed.contains(server) { Some(true) } else { told };
            let Some(read_only) = told else { continue };
            let read_only = read_only || self.is_outdone(pair, server);
            let key = (pair.writer, server.clone());
            let role = self.roles.get(&key).copied().unwrap_or_default();
            if let Some(role) = role.after(read_only, &self.wanted, pair, server) {
                self.roles.insert(key, role);
            }
        }
    }

    fn judge_all(&mut self) {
        let servers: Vec<_> = self.facts.keys().cloned().collect();
        servers.iter().for_each(|server| self.judge(server));
    }

    /// Makes the decision that follows, and tells what it changes.
    fn decide(&mut self, at_us: u64, reason: &Reason) -> Vec<StatusChange> {
        let places = self.places();
        self.lags.retain(|(hostgroup, server), lagging| {
            let mut rows = places.iter().map(|place| &place.row);
            let row = rows.find(|r| r.hostgroup_id == *hostgroup && wanted::is_of(r, server));
            row.inspect(|row| lagging.judge_by(row.max_replication_lag)).is_some()
        });
        let decided = places.into_iter().map(|place| {
            let stand = self.stand(&place.row).unwrap_or(place.stand);
            Placed { row: place.row, stand }
        });
        let decided: Vec<_> = decided.collect();
        let events = event::between(&self.decided, &decided, at_us, reason);
        self.decided = decided;
        events
    }

    /// Where all servers are.
    fn places(&self) -> Vec<Placed> {
        let rows = placement::rows(&self.wanted, &self.roles).into_iter();
        let mut places: Vec<_> = rows.map(|row| Placed { row, stand: Stand::Well }).collect();
        let was_in = |hostgroup: i64, server: &Endpoint| {
            let mut before = self.decided.iter().map(|decided| &decided.row);
            before.any(|row| row.hostgroup_id == hostgroup && wanted::is_of(row, server))
        };
        for cluster in &self.wanted.clusters.members {
            let known = |server: &Endpoint| self.members.get(&(cluster.writer, server.clone()));
            places.extend(cluster::places(cluster, &self.wanted, known, was_in));
        }
        for cluster in &self.wanted.clusters.aurora {
            let known = |server: &Endpoint| self.instances.get(&(cluster.writer, server.clone()));
            places.extend(aurora::places(cluster, &self.wanted, known));
        }
        for row in self.outdone_rows() {
            let is_it = |place: &Placed| {
                place.row.hostgroup_id == row.hostgroup_id
                    && Endpoint::of(&place.row) == Endpoint::of(&row)
            };
            if !places.iter().any(is_it) {
                places.push(Placed { row, stand: Stand::Well });
            }
        }
        places
    }

    /// How a server stands in a hostgroup by its pings, its lag and its latency, where these are
    /// against it.
    fn stand(&self, row: &ServerRow) -> Option<Stand> {
        let server = Endpoint::of(row);
        if self.deposed.contains(&server) {
            return Some(Stand::Astray);
        }
        if self.facts.get(&server).is_some_and(Facts::is_silent) {
            return Some(Stand::Silent);
        }
        let pair = self.wanted.pair_of(row.hostgroup_id).filter(|_| wanted::is_in_use(row));
        if pair.is_some_and(|pair| self.is_outdone(pair, &server)) {
            return Some(Stand::Outdone);
        }
        let latency_us = self.latency_us(&server).unwrap_or(0);
        if let Some(lag_us) = self.lags.get(&(row.hostgroup_id, server)).and_then(Lagging::over_us)
        {
            return Some(Stand::Lagging { lag_us });
        }
        let is_slow = latency_us > self.latency_limit_us(row);
        is_slow.then_some(Stand::Slow { latency_us })
    }
}
