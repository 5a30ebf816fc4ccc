use sql::CommandClass;

use super::*;
use crate::link::{Charset, LinkState};
use crate::pool::LagLimit;
use crate::rows::{HostgroupRow, ServerRow, UserRow};
use crate::snapshot::Draft;
use crate::users::Users;
use wire::Caps;

const HOSTGROUP: HostgroupId = HostgroupId(1);

const NOW_US: u64 = 10_000_000;

/// Servers `a`, `b` and so on with these weights, and a hostgroup with these settings.
fn snapshot(weights: &[i64], settings: &str, variables: &[(&str, &str)]) -> Snapshot {
    let server = |(name, weight): (char, &i64)| ServerRow {
        hostgroup_id: 1,
        hostname: name.to_string(),
        weight: *weight,
        ..ServerRow::default()
    };
    let hostgroup = HostgroupRow {
        hostgroup_id: 1,
        hostgroup_settings: settings.to_owned(),
        ..HostgroupRow::default()
    };
    let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    let draft = Draft {
        servers: ('a'..).zip(weights).map(server).collect(),
        hostgroups: vec![hostgroup],
        variables: variables.iter().map(own).collect(),
        ..Draft::default()
    };
    Snapshot::compile(&draft).expect("valid")
}

struct Chooser {
    snapshot: Snapshot,
    pool: PoolShard,
    traffic: ServerStats,
    lag: LagLimit,
}

impl Chooser {
    fn new(snapshot: Snapshot) -> Self {
        let pool = PoolShard::new(&snapshot.topology, 7);
        Self { snapshot, pool, traffic: ServerStats::default(), lag: LagLimit::NONE }
    }

    /// As many connections of each server are in use.
    fn in_use(mut self, open: &[u32]) -> Self {
        for (index, open) in open.iter().enumerate() {
            self.traffic.of(index).expect("one").open = *open;
        }
        self
    }

    /// A command of each server ended that took so long.
    fn took_us(&mut self, took_us: &[u64]) {
        let class = CommandClass::all().next().expect("one");
        for (index, took_us) in took_us.iter().enumerate() {
            self.traffic.of(index).expect("one").record(class, *took_us);
        }
    }

    /// Who gets so many commands, one behind the other.
    fn chosen(&mut self, times: usize, now_us: u64) -> String {
        self.chosen_but((0, None), times, now_us)
    }

    /// The same without those that were tried, and without one to avoid.
    fn chosen_but(
        &mut self,
        (tried, avoid): (u64, Option<usize>),
        times: usize,
        now_us: u64,
    ) -> String {
        let user = UserRow { username: "app".into(), ..UserRow::default() };
        let users = Users::compile(&[user]).expect("valid");
        let account = users.find(b"app").expect("there");
        let want = LinkState::new(None, Charset::Collation(45));
        let choice = Choice::of(&self.snapshot, HOSTGROUP, &self.traffic);
        let need = Need {
            choice: choice.as_ref(),
            avoid,
            lag: self.lag,
            ..Need::of(HOSTGROUP, account, Caps::NONE, &want)
        };
        let servers = self.snapshot.topology.hostgroup(HOSTGROUP);
        let lanes = Slab::default();
        let pool = &mut self.pool;
        let tried = Tried { first: tried, ..Tried::default() };
        let one = |_| pool.pick(servers, &tried, (&need, &lanes), now_us);
        (0..times).map(one).map(|found| found.map_or("-", |server| &server.hostname)).collect()
    }
}

fn count(chosen: &str, server: char) -> usize {
    chosen.chars().filter(|own| *own == server).count()
}

#[test]
fn a_hostgroup_without_a_word_goes_by_weights_alone() {
    let traffic = ServerStats::default();
    for settings in ["", r#"{"balance": "weight"}"#, r#"{"pipeline_depth": 0}"#] {
        let plain = snapshot(&[1, 1], settings, &[]);
        assert!(Choice::of(&plain, HOSTGROUP, &traffic).is_none(), "{settings}");
    }
}

#[test]
fn the_server_with_the_fewest_commands_for_its_weight_is_next() {
    let least = r#"{"balance": "least_outstanding"}"#;
    let chosen = |weights: &[i64], open: &[u32]| {
        Chooser::new(snapshot(weights, least, &[])).in_use(open).chosen(6, NOW_US)
    };
    assert_eq!(chosen(&[1, 1], &[3, 2]), "bbbbbb");
    assert_eq!(chosen(&[1, 1000], &[0, 500]), "bbbbbb", "half a command for each unit of weight");
    assert_eq!(chosen(&[3, 1, 1], &[1, 1, 0]), "aaaaaa", "with one more: 2/3, 2 and 1");
    let even = chosen(&[1, 1, 1], &[2, 2, 2]);
    assert_eq!(['a', 'b', 'c'].map(|server| count(&even, server)), [2, 2, 2], "{even}");
}

#[test]
fn the_server_with_the_shorter_wait_is_next() {
    let fast = r#"{"balance": "lowest_latency"}"#;
    let mut chooser = Chooser::new(snapshot(&[1, 1], fast, &[])).in_use(&[0, 0]);
    chooser.took_us(&[400, 9_000]);
    assert_eq!(chooser.chosen(8, NOW_US), "aaaaaaaa");
    // what is quick and has much to do is no better
    let mut chooser = chooser.in_use(&[60, 0]);
    assert_eq!(chooser.chosen(8, NOW_US), "bbbbbbbb");
    // three servers: two are drawn, so that the slowest alone gets nothing
    let mut chooser = Chooser::new(snapshot(&[1, 1, 1], fast, &[])).in_use(&[0, 0, 0]);
    chooser.took_us(&[400, 500, 9_000]);
    let chosen = chooser.chosen(300, NOW_US);
    assert_eq!(count(&chosen, 'c'), 0, "{chosen}");
    assert!(count(&chosen, 'a') > 150 && count(&chosen, 'b') > 50, "{chosen}");
}

#[test]
fn a_server_that_was_slow_is_tried_again() {
    let fast = r#"{"balance": "lowest_latency"}"#;
    let mut chooser = Chooser::new(snapshot(&[1, 1], fast, &[])).in_use(&[0, 0]);
    chooser.took_us(&[400, 9_000]);
    assert_eq!(chooser.chosen(4, NOW_US), "aaaa");
    let seconds = (1..10).find(|second| {
        chooser.took_us(&[400]);
        chooser.chosen(1, NOW_US + second * 1_000_000) == "b"
    });
    assert_eq!(seconds, Some(5), "its 9 ms count for half after each second");
}

#[test]
fn near_servers_come_first_while_there_are_enough() {
    let zones = r#"{"zones": {"a": "here", "b": "here", "c": "there"}, "zone_min_servers": 2}"#;
    let here = [("mysql-zone", "here")];
    let mut chooser = Chooser::new(snapshot(&[1, 1, 1], zones, &here));
    let chosen = chooser.chosen(6, NOW_US);
    assert_eq!(['a', 'b', 'c'].map(|server| count(&chosen, server)), [3, 3, 0], "{chosen}");
    assert_eq!(chooser.chosen_but((0b011, None), 1, NOW_US), "c", "the near ones have no room");
    assert_eq!(chooser.chosen_but((0b111, None), 1, NOW_US), "-");
    assert_eq!(chooser.chosen_but((0b110, Some(0)), 1, NOW_US), "a", "rather than none");
    // one of the near ones fails: two have to serve for the far ones to be left out
    let near = &chooser.snapshot.topology.servers()[0];
    near.gauge.on_fault(crate::topology::LastFault::Timeout, NOW_US, 1, 5_000_000);
    let chosen = chooser.chosen(6, NOW_US);
    assert_eq!(['a', 'b', 'c'].map(|server| count(&chosen, server)), [0, 3, 3], "{chosen}");
    // a proxy that is nowhere has no near servers
    let mut nowhere = Chooser::new(snapshot(&[1, 1, 1], zones, &[]));
    let chosen = nowhere.chosen(6, NOW_US);
    assert_eq!(['a', 'b', 'c'].map(|server| count(&chosen, server)), [2, 2, 2], "{chosen}");
}

#[test]
fn servers_with_slow_pings_are_left_out_where_there_are_enough() {
    let of = |least: &str| {
        let variables = [("mysql-min_num_servers_lantency_awareness", least)];
        let chooser = Chooser::new(snapshot(&[1, 1, 1], "", &variables));
        let pings = |pings: [u64; 3]| {
            for (server, ping_us) in chooser.snapshot.topology.servers().iter().zip(pings) {
                server.gauge.note_ping_us(ping_us);
            }
        };
        pings([100, 200, 900]);
        let mut chooser = chooser;
        let chosen = chooser.chosen(6, NOW_US);
        let counts = ['a', 'b', 'c'].map(|server| count(&chosen, server));
        let preferred = chooser.pool.take_preferred();
        let first = &chooser.snapshot.topology.servers()[0];
        first.gauge.note_ping_us(0);
        let unknown = chooser.chosen(3, NOW_US);
        (counts, preferred, count(&unknown, 'c'))
    };
    assert_eq!(of("3"), ([3, 3, 0], 6, 1), "one whose pings are not known: all count");
    assert_eq!(of("4"), ([2, 2, 2], 0, 1));
    assert_eq!(of("0"), ([2, 2, 2], 0, 1));
}

#[test]
fn servers_that_are_further_behind_than_asked_for_get_nothing() {
    let settings = [r#"{"balance": "weight"}"#, r#"{"balance": "least_outstanding"}"#];
    for settings in settings {
        let mut chooser = Chooser::new(snapshot(&[1, 1, 1], settings, &[]));
        for (server, lag_us) in chooser.snapshot.topology.servers().iter().zip([0, 500, 900]) {
            server.gauge.note_lag_us(lag_us);
        }
        let mut chosen = |lag: LagLimit| {
            chooser.lag = lag;
            let mut chosen: Vec<_> = chooser.chosen(9, NOW_US).chars().collect();
            chosen.sort_unstable();
            chosen.dedup();
            chosen.into_iter().collect::<String>()
        };
        assert_eq!(chosen(LagLimit::NONE), "abc");
        assert_eq!(chosen(LagLimit::of(900)), "abc");
        assert_eq!(chosen(LagLimit::of(899)), "ab");
        assert_eq!(chosen(LagLimit::of(0)), "a");
        let sparing = |most_us, replicas_min| LagLimit::of(most_us).sparing_primary(replicas_min);
        assert_eq!(chosen(sparing(899, 2)), "b", "two are enough");
        assert_eq!(chosen(sparing(899, 3)), "ab", "two are not");
        assert_eq!(chosen(sparing(0, 1)), "a", "nobody else is near enough");
        assert_eq!(chosen(sparing(u64::MAX, 1)), "abc", "nothing was asked for");
    }
}
