//! Which server of a hostgroup gets the next command.

use super::{Need, PoolShard};
use crate::hostgroups::{Balance, Policy};
use crate::ids::{HostgroupId, LaneId};
use crate::lane::Lane;
use crate::slab::Slab;
use crate::snapshot::Snapshot;
use crate::stats::ServerStats;
use crate::topology::{Server, ServerRef};

/// What a server is chosen by, where that is more than the weights.
#[derive(Clone, Copy)]
pub struct Choice<'a> {
    /// What the hostgroup's row says.
    pub balance: Option<&'a Balance>,
    /// The zone that the proxy is in.
    pub zone: &'a str,
    /// Servers whose pings take longer than the mean are left out.
    pub prefers_quick: bool,
    /// What each server has to do.
    pub traffic: &'a ServerStats,
}

impl<'a> Choice<'a> {
    /// What the servers of a hostgroup are chosen by; `None` for their weights alone.
    #[inline]
    pub fn of(
        snapshot: &'a Snapshot,
        hostgroup: HostgroupId,
        traffic: &'a ServerStats,
    ) -> Option<Self> {
        let attributes = snapshot.hostgroups.find(hostgroup);
        let balance = attributes.map(|own| &own.balance).filter(|own| !own.is_plain());
        let topology = &snapshot.topology;
        let least = usize::try_from(snapshot.vars.min_num_servers).unwrap_or(usize::MAX);
        // no hostgroup has more servers than there are
        let prefers_quick = (1..=topology.servers().len()).contains(&least)
            && topology.hostgroup(hostgroup).len() >= least;
        let choice = Self { balance, zone: &snapshot.vars.zone, prefers_quick, traffic };
        (balance.is_some() || prefers_quick).then_some(choice)
    }
}

/// How long commands took lately on each server, as one worker saw it.
#[derive(Default)]
pub(super) struct Speeds(Vec<Speed>);

#[derive(Clone, Copy, Default)]
struct Speed {
    /// Commands, and the time that they took, up to the last look; microseconds.
    count: u64,
    time_us: u64,
    /// When that was.
    at_us: u64,
    /// What one takes.
    mean_us: u64,
}

/// How often it is looked how long commands take.
const LOOK_EVERY_US: u64 = 50_000;

/// After so long without a command it is worth another try whether they still take as long.
const FORGET_AFTER_US: u64 = 1_000_000;

impl Speeds {
    /// How long a command takes on a server now, in microseconds.
    fn mean_us(&mut self, server: usize, traffic: &ServerStats, now_us: u64) -> u64 {
        if self.0.len() <= server {
            self.0.resize(server + 1, Speed::default());
        }
        let Some(speed) = self.0.get_mut(server) else { return 0 };
        let passed_us = now_us.saturating_sub(speed.at_us);
        if passed_us < LOOK_EVERY_US {
            return speed.mean_us;
        }
        let (count, time_us) = traffic.totals(server);
        let commands = count.saturating_sub(speed.count);
        if let Some(mean_us) = time_us.saturating_sub(speed.time_us).checked_div(commands) {
            speed.mean_us =
                if speed.mean_us == 0 { mean_us } else { (speed.mean_us + mean_us) / 2 };
        } else if passed_us >= FORGET_AFTER_US {
            speed.mean_us /= 2;
        } else {
            return speed.mean_us;
        }
        (speed.count, speed.time_us, speed.at_us) = (count, time_us, now_us);
        speed.mean_us
    }
}

/// Servers of a hostgroup, by their places.
#[derive(Default)]
pub(super) struct Tried {
    /// A bit for each of the first ones.
    first: u64,
    others: Vec<usize>,
}

impl Tried {
    fn bit(position: usize) -> Option<u64> {
        1_u64.checked_shl(u32::try_from(position).ok()?)
    }

    pub(super) fn note(&mut self, position: usize) {
        match Self::bit(position) {
            Some(bit) => self.first |= bit,
            None => self.others.push(position),
        }
    }

    fn has(&self, position: usize) -> bool {
        match Self::bit(position) {
            Some(bit) => self.first & bit != 0,
            None => self.others.contains(&position),
        }
    }

    fn is_empty(&self) -> bool {
        self.first == 0 && self.others.is_empty()
    }
}

impl PoolShard {
    /// The server that is to have the next command, among those that are usable and not tried yet;
    /// the one to avoid only when it is alone, and of those that stand still only the last, where
    /// all of them do.
    pub(super) fn pick<'s>(
        &mut self,
        servers: &'s [ServerRef],
        tried: &Tried,
        (need, lanes): (&Need<'_>, &Slab<LaneId, Lane>),
        now_us: u64,
    ) -> Option<&'s ServerRef> {
        let latest_still_us = match self.health.is_any_still() {
            true => self.health.latest_still_us(servers, now_us),
            false => 0,
        };
        let health = &self.health;
        let stands = |server: &Server| {
            let stands_still =
                latest_still_us > 0 && health.still_since_us(server.index) < latest_still_us;
            !stands_still && server.state(now_us).is_serving()
        };
        let near = need.lag.near(servers.iter().filter(|server| stands(server)));
        let serves = |server: &Server| match &near {
            None => stands(server),
            Some(near) => near.contains(&server.gauge.lag_us()) && stands(server),
        };
        let untried = servers.iter().enumerate();
        let untried = untried
            .filter(|(position, server)| !tried.has(*position) && serves(server))
            .map(|(_, server)| server);
        let candidates = untried.clone().filter(|server| need.avoid != Some(server.index));
        let Some(choice) = need.choice else {
            return self.credits.next(candidates).or_else(|| untried.clone().next());
        };
        let ranks = Ranks::of(choice, servers.iter().filter(|server| serves(server)));
        let best = candidates.clone().map(|server| ranks.of_server(server)).min();
        let best: Vec<_> =
            candidates.filter(|server| Some(ranks.of_server(server)) == best).collect();
        let spared = untried.clone().next();
        self.preferred += u64::from(ranks.mean_us > 0 && tried.is_empty());
        self.choose(&best, choice, lanes, now_us).or(spared)
    }

    /// Of servers that are equally near and quick, the one that the policy says.
    fn choose<'s>(
        &mut self,
        servers: &[&'s ServerRef],
        choice: &Choice<'_>,
        lanes: &Slab<LaneId, Lane>,
        now_us: u64,
    ) -> Option<&'s ServerRef> {
        let load = |pool: &Self, server: &Server| {
            let commands = pool.outstanding(server, choice.traffic, lanes) + 1;
            commands.saturating_mul(LOAD_UNIT) / u64::from(server.weight.max(1))
        };
        match choice.balance.map(|balance| balance.policy).unwrap_or_default() {
            Policy::Weight => self.credits.next(servers.iter().copied()),
            Policy::LeastOutstanding => {
                let loads: Vec<_> = servers.iter().map(|server| load(self, server)).collect();
                let least = loads.iter().min()?;
                let of_least = servers.iter().zip(&loads).filter(|(_, load)| *load == least);
                self.credits.next(of_least.map(|(server, _)| *server))
            }
            Policy::LowestLatency => {
                let one = place(self.random(), servers.len());
                let other = one + 1 + place(self.random(), servers.len().saturating_sub(1));
                let drawn = [one, other % servers.len().max(1)].map(|at| {
                    let server = servers.get(at)?;
                    let mean_us = self.speeds.mean_us(server.index, choice.traffic, now_us);
                    Some((load(self, server).saturating_mul(mean_us + 1), *server))
                });
                let drawn = drawn.into_iter().flatten();
                drawn.min_by_key(|(wait, _)| *wait).map(|(_, server)| server)
            }
        }
    }

    /// Commands that a server has from this worker. A connection that a session keeps counts as
    /// one, and so does one that is being opened.
    fn outstanding(
        &self,
        server: &Server,
        traffic: &ServerStats,
        lanes: &Slab<LaneId, Lane>,
    ) -> u64 {
        let idle = self.idle.get(server.index).map_or(0, Vec::len) as u64;
        let shared = self.shared_of(server);
        let gathered =
            shared.iter().filter_map(|id| lanes.get(*id)).map(|lane| lane.depth() as u64);
        let alone = traffic.open(server.index).saturating_sub(idle + shared.len() as u64);
        alone + gathered.sum::<u64>()
    }

    /// How often servers were left out for the time that their pings take, since this was asked the
    /// last time.
    pub fn take_preferred(&mut self) -> u64 {
        std::mem::take(&mut self.preferred)
    }
}

/// What a command counts for at a weight of 1: divided by weights it leaves enough to compare.
const LOAD_UNIT: u64 = 1 << 24;

/// One of so many places.
fn place(random: u64, count: usize) -> usize {
    usize::try_from(random % count.max(1) as u64).unwrap_or(0)
}

/// Which servers come before which, whatever the policy.
struct Ranks<'a> {
    choice: &'a Choice<'a>,
    /// Enough servers of the proxy's own zone serve.
    is_near_enough: bool,
    /// The mean of what pings take, in microseconds; 0 where that does not count.
    mean_us: u64,
}

impl<'a> Ranks<'a> {
    fn of<'s>(
        choice: &'a Choice<'a>,
        serving: impl Iterator<Item = &'s ServerRef> + Clone,
    ) -> Self {
        let mut ranks = Self { choice, is_near_enough: false, mean_us: 0 };
        let near = serving.clone().filter(|server| ranks.is_near(server)).count();
        let near_min = choice.balance.map_or(0, |balance| balance.near_min);
        ranks.is_near_enough = near > 0 && near >= near_min;
        if choice.prefers_quick {
            let known = serving.map(|server| server.gauge.ping_us());
            let (count, sum) = known.clone().fold((0, 0), |(n, sum), us| (n + 1, sum + us));
            let all_known = known.clone().all(|us| us > 0);
            ranks.mean_us = if all_known && count > 0 { sum / count } else { 0 };
        }
        ranks
    }

    fn is_near(&self, server: &Server) -> bool {
        let zone = self.choice.balance.and_then(|balance| balance.zones.of(server));
        zone.is_some_and(|zone| zone == self.choice.zone)
    }

    /// Less is better.
    fn of_server(&self, server: &Server) -> (bool, bool) {
        let is_far = self.is_near_enough && !self.is_near(server);
        (is_far, self.mean_us > 0 && server.gauge.ping_us() > self.mean_us)
    }
}

#[cfg(test)]
mod tests;
