//! What kind of run a seed gives: how rough the network is, what breaks and how often, how many
//! clients come and what they are like.

use engine::snapshot::Draft;
use io::Faults;

use super::{SimFollowing, SimLimits};
use crate::client::Habits;
use crate::dice::Dice;
use crate::mysqld::Manners;

/// The kind of a run.
#[derive(Clone, Debug)]
pub struct Weather {
    /// The network.
    pub faults: Faults,
    /// Connections, servers or listeners may fail: some errors are right then.
    pub losses: bool,
    /// Of a thousand steps, how many bring a blow: a server killed, stopped, or stalled.
    pub blows_per_mille: u64,
    /// Workers of the proxy.
    pub workers: usize,
    /// Of a million calls of the proxy, how many panic at their beginning; as many at their end,
    /// and of a million orders, that many in front of one.
    pub panics_per_million: u64,
    /// Of a thousand steps, how many bring another configuration.
    pub changes_per_mille: u64,
    /// Backend connections that each server allows.
    pub max_connections: i64,
    /// Bytes that wait for a receiver before its sender is paused.
    pub backlog_max: usize,
    /// Commands of several sessions that one backend connection carries; 0 for one.
    pub depth: u64,
    /// Microseconds without a byte after which those behind the first go elsewhere.
    pub stall_us: u64,
    /// Microseconds that a command may take to share a backend connection.
    pub latency_us: u64,
    /// The proxy reads what stored code there is.
    pub stored_code: bool,
    /// What there is little of.
    pub limits: SimLimits,
    /// What becomes of questions that many ask, where they do.
    pub shares: Option<SimCache>,
    /// How the servers behave.
    pub manners: Manners,
    /// How the clients behave.
    pub habits: Habits,
    /// What else the configuration has, or has instead.
    pub amend: fn(&mut Draft),
}

impl Weather {
    /// A network that cuts and delays, and loses nothing.
    pub fn cutting() -> Self {
        let habits = Habits {
            clients: 0,
            stays: 0,
            commands: 1,
            large: false,
            long: false,
            ruled: true,
            crowd: false,
            drills: false,
            prepares: false,
            sets: false,
            careless: false,
            rude: false,
            shares: false,
            follows: false,
            ponders: false,
            wander: false,
        };
        Self {
            faults: Faults::cuts(),
            losses: false,
            blows_per_mille: 0,
            workers: 1,
            panics_per_million: 0,
            changes_per_mille: 0,
            max_connections: 50,
            backlog_max: 64 * 1024,
            depth: 0,
            stall_us: 30_000,
            latency_us: 100_000,
            stored_code: false,
            limits: SimLimits::default(),
            shares: None,
            manners: Manners::default(),
            habits,
            amend: |_| (),
        }
    }

    /// The kind of run that a seed gives.
    pub fn of(seed: u64) -> Self {
        let mut dice = Dice::new(seed ^ 0x7765_6174_6865_7200);
        let large = dice.percent(15);
        let mut habits = Habits {
            clients: dice.within(2..=6) as usize,
            stays: dice.within(1..=3) as u32,
            commands: dice.within(5..=14),
            large,
            long: dice.percent(30),
            ruled: dice.percent(60),
            prepares: Dice::new(seed ^ 0x7072_6570_6172_6573).percent(40),
            sets: Dice::new(seed ^ 0x7365_7473_0000_0000).percent(50),
            rude: dice.percent(60),
            ..Self::cutting().habits
        };
        let manners = Manners { late: 15, halting: 10, delay_us: 20_000, ..Manners::default() };
        let limits = SimLimits::of(seed, false);
        let changes_per_mille = changes(seed, &limits);
        habits.wander = changes_per_mille > 0 && wanders(seed);
        let (depth, stall_us, latency_us) = sharing(seed, &mut habits);
        habits.careless = Dice::new(seed ^ 0x6361_7265_6c65_7373).percent(12) && !habits.crowd;
        let shares = SimCache::of(seed);
        habits.shares = shares.is_some();
        let following = shares.and_then(|shares| shares.following);
        habits.follows = following.is_some();
        habits.ponders = following.is_some_and(|following| following.is_slow());
        let calm = Self {
            faults: Faults::none(),
            losses: false,
            blows_per_mille: 0,
            workers: workers(seed),
            panics_per_million: 0,
            changes_per_mille,
            max_connections: connections_for(&habits),
            backlog_max: if dice.percent(50) { 64 * 1024 } else { 1500 },
            depth,
            stall_us,
            latency_us,
            stored_code: Dice::new(seed ^ 0x636f_6465_0000_0000).percent(25),
            limits,
            shares,
            manners,
            habits,
            amend: |_| (),
        };
        let low = if large { 4096 } else { 256 };
        let window_bytes = low..=64 * 1024;
        let cuts = Faults { window_bytes, ..Faults::cuts() };
        let losses = Faults { refuse_percent: 3, kill_per_million: 3_000, ..cuts.clone() };
        let mut struck = Dice::new(seed ^ 0x7061_6e69_6373_0000);
        let panics_per_million = if struck.percent(40) { struck.within(200..=3_000) } else { 0 };
        match dice.below(10) {
            0 => Self { manners: Manners::default(), ..calm },
            1 => calm,
            2..=4 => Self { faults: cuts, ..calm },
            5 => Self { faults: cuts, losses: true, max_connections: 2, ..calm },
            6 | 7 => Self { faults: losses, losses: true, panics_per_million, ..calm },
            _ => Self {
                panics_per_million,
                faults: losses,
                losses: true,
                blows_per_mille: 4,
                max_connections: dice.within(2..=8) as i64,
                limits: SimLimits::of(seed, true),
                manners: Manners { dying: 3, leaving: 5, ..manners },
                ..calm
            },
        }
    }
}

/// How many backend connections a server allows clients of this kind.
fn connections_for(habits: &Habits) -> i64 {
    match habits {
        Habits { drills: true, .. } => 3,
        Habits { careless: true, .. } => 1,
        _ => 50,
    }
}

/// What becomes of questions that many ask.
#[derive(Clone, Copy, Debug)]
pub struct SimCache {
    /// How long they wait for one another, in milliseconds.
    pub wait_ms: u64,
    /// After which share of its time an answer is fetched anew, in percent.
    pub soft_pct: u64,
    /// Of a thousand steps, how many flush what is kept.
    pub flushes_per_mille: u64,
    /// Bytes that are kept, where there is room for a few answers only.
    pub room: Option<u64>,
    /// How changes of what they read are seen, where they are.
    pub following: Option<SimFollowing>,
}

impl SimCache {
    fn of(seed: u64) -> Option<Self> {
        let mut dice = Dice::new(seed ^ 0x7368_6172_6564_0000);
        let shares = dice.percent(40);
        let (wait_ms, soft_pct) = (*dice.pick(&[0, 5, 1000, 1000]), *dice.pick(&[0, 0, 50]));
        let flushes_per_mille = *dice.pick(&[0, 1, 5]);
        let room = *dice.pick(&[16 << 10, 24 << 10, 64 << 10]);
        let room = dice.percent(20).then_some(room);
        let following = SimFollowing::of(seed);
        shares.then_some(Self { wait_ms, soft_pct, flushes_per_mille, room, following })
    }
}

/// Whether another server takes the writes now and then.
fn wanders(seed: u64) -> bool {
    Dice::new(seed ^ 0x7761_6e64_6572_0000).percent(50)
}

/// How many workers the proxy has.
fn workers(seed: u64) -> usize {
    let mut many = Dice::new(seed ^ 0x776f_726b_6572_7300);
    if many.percent(40) { many.within(2..=3) as usize } else { 1 }
}

/// How often the configuration changes.
fn changes(seed: u64, limits: &SimLimits) -> u64 {
    let mut dice = Dice::new(seed ^ 0x6368_616e_6765_7300);
    // a change may cost the connections that are being opened: with few of them a second, too many
    // changes leave none
    let most = if limits.connects_per_sec.is_some() { 8 } else { 40 };
    if dice.percent(50) { dice.within(1..=most) } else { 0 }
}

/// How many commands of several sessions share a connection, after how long in silence they go
/// elsewhere, and how long they may take; and clients who bring that about.
fn sharing(seed: u64, habits: &mut Habits) -> (u64, u64, u64) {
    let mut dice = Dice::new(seed ^ 0x7368_6172_696e_6700);
    let depth = if dice.percent(60) { *dice.pick(&[2, 4, 16]) } else { 0 };
    let stall_us = *dice.pick(&[1_000, 5_000, 30_000]);
    let latency_us = *dice.pick(&[3_000, 100_000, 100_000, 100_000]);
    if depth > 0 && dice.percent(40) {
        let clients = dice.within(6..=16) as usize;
        *habits = Habits { crowd: true, clients, stays: 1, ..*habits };
        if dice.percent(40) {
            let commands = dice.within(12..=24);
            let calm = Habits { rude: false, prepares: true, ..*habits };
            *habits = Habits { drills: true, commands, ..calm };
        }
    }
    (depth, stall_us, latency_us)
}
