//! What servers come to, case by case.

use std::collections::BTreeMap;

use engine::clusters::{AlsoRead, Aurora, Check, Cluster, ClusterKind, Clusters, Pair};
use engine::hostgroups::SeveralWriters;
use engine::rows::{AuroraRow, GroupReplicationRow, HostgroupRow, ServerRow};
use engine::snapshot::{Draft, Snapshot};
use engine::topology::Placed;
use keeper::{
    AuroraAnswer, AuroraInstance, Endpoint, Failure, GaleraAnswer, GroupAnswer, GtidAnswer, Keeper,
    KeeperInput, Lag, Report, Seen, StatusChange, Wanted,
};

mod recordings;

/// What has the hostgroups of a case.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Has {
    Pair,
    Members(ClusterKind),
    Aurora,
}

/// The cases of each kind.
const CASES: [(Has, &str, usize); 4] = [
    (Has::Pair, include_str!("replication.txt"), 80),
    (Has::Members(ClusterKind::Group), include_str!("group.txt"), 40),
    (Has::Members(ClusterKind::Galera), include_str!("galera.txt"), 40),
    (Has::Aurora, include_str!("aurora.txt"), 40),
];

const PAIR: Pair = Pair { writer: 10, reader: 20, check: Check::ReadOnly };

/// `hostgroup:server[/STATUS][*weight][~max_replication_lag]`.
fn row(text: &str) -> ServerRow {
    let (text, lag) = text.split_once('~').unwrap_or((text, "0"));
    let (text, weight) = text.split_once('*').unwrap_or((text, "1"));
    let (text, status) = text.split_once('/').unwrap_or((text, "ONLINE"));
    let (hostgroup, hostname) = text.split_once(':').expect("hostgroup:server");
    ServerRow {
        hostgroup_id: hostgroup.parse().expect("a hostgroup"),
        hostname: hostname.to_owned(),
        status: status.to_owned(),
        weight: weight.parse().expect("a weight"),
        max_replication_lag: lag.parse().expect("a lag"),
        ..ServerRow::default()
    }
}

fn rows(text: &str) -> Vec<ServerRow> {
    text.split_whitespace().map(row).collect()
}

/// The rows in force, as they are written in the cases.
fn told(keeper: &Keeper) -> String {
    let tell = |decided: &Placed| {
        let row = &decided.row;
        let mut text = format!("{}:{}", row.hostgroup_id, row.hostname);
        if row.status != "ONLINE" {
            text += &format!("/{}", row.status);
        }
        if row.weight != 1 {
            text += &format!("*{}", row.weight);
        }
        if row.max_replication_lag != 0 {
            text += &format!("~{}", row.max_replication_lag);
        }
        match (row.status.as_str(), decided.stand.told()) {
            ("ONLINE", "ONLINE") => text,
            ("ONLINE", status) => format!("{text}({status})"),
            _ => text,
        }
    };
    keeper.decided().iter().map(tell).collect::<Vec<_>>().join(" ")
}

fn outcome<T>(text: &str, answer: impl Fn(&str) -> T) -> Result<T, Failure> {
    match text.split_at(1) {
        ("?", "") => Err(Failure::NoAnswer),
        ("~", "") => Err(Failure::OwnDelay),
        ("!", code) => Err(Failure::Error(code.parse().expect("an error's number"))),
        _ => Ok(answer(text.trim_start_matches('='))),
    }
}

fn lag(text: &str) -> Lag {
    match text {
        "null" => Lag::Unknown,
        "none" => Lag::NoReplica,
        seconds => {
            let (whole, ms) = seconds.split_once('.').unwrap_or((seconds, "0"));
            let number = |text: &str| text.parse::<u64>().expect("a number");
            Lag::Micros(number(whole) * 1_000_000 + number(ms) * 1_000)
        }
    }
}

/// An answer with what is behind its slash, and the marks behind that.
fn parts(answer: &str) -> (&str, u64, Vec<&str>) {
    let mut words = answer.split('+');
    let first = words.next().expect("an answer");
    let (word, behind) = first.split_once('/').unwrap_or((first, "0"));
    (word, behind.parse().expect("a number"), words.collect())
}

fn group(answer: &str) -> GroupAnswer {
    let (word, behind, marks) = parts(answer);
    let member = |name: &&str| Endpoint { hostname: (*name).to_owned(), port: 3306 };
    let members = marks.iter().map(member).collect();
    GroupAnswer { is_viable: word != "n", read_only: word != "w", behind, members }
}

fn galera(answer: &str) -> GaleraAnswer {
    let (word, behind, marks) = parts(answer);
    let has = |mark: &str| marks.contains(&mark);
    let state = marks.iter().find_map(|mark| mark.strip_prefix("state="));
    GaleraAnswer {
        is_primary: !has("split"),
        local_state: state.map_or(4, |state| state.parse().expect("a state")),
        desync: has("desync"),
        rejects_queries: has("reject"),
        donor_rejects: has("donor"),
        in_maintenance: has("maint"),
        read_only: word == "r",
        behind,
    }
}

/// `id[!][/lag][@age]` of each server, `!` for the one that is written to, the age in seconds; a
/// word for what is no id.
fn aurora(answer: &str) -> AuroraAnswer {
    let instance = |text: &str| {
        let (text, age_s) = text.split_once('@').unwrap_or((text, "0"));
        let age_us = age_s.parse::<u64>().expect("an age") * 1_000_000;
        let (id, lag_ms) = text.split_once('/').unwrap_or((text, "0"));
        let server_id = match id.trim_end_matches('!') {
            "EMPTY" => String::new(),
            "BLANK" => "b b".to_owned(),
            "CONTROL" => "b\n".to_owned(),
            "LONG" => "b".repeat(64),
            "SLASH" => "b/b".to_owned(),
            name => name.to_owned(),
        };
        let lag_ms = lag_ms.parse().expect("a lag");
        AuroraInstance { server_id, writes: id.ends_with('!'), lag_ms, age_us }
    };
    let many = || (0..65).map(|at| instance(&format!("b{at}"))).collect();
    let instances = match answer {
        "NOBODY" => Vec::new(),
        "MANY" => many(),
        _ => answer.split('+').map(instance).collect(),
    };
    AuroraAnswer { instances }
}

/// `gtids[@steps that the answer took]`.
fn gtids(answer: &str, at_us: u64) -> GtidAnswer {
    let (gtids, took_us) = answer.split_once('@').unwrap_or((answer, "0"));
    let took_us: u64 = took_us.parse().expect("a number");
    GtidAnswer { gtids: gtids.to_owned(), asked_us: at_us - took_us }
}

/// The servers that one of RDS names.
fn rds(answer: &str) -> Vec<Endpoint> {
    let server = |name: &str| Endpoint { hostname: name.replace('_', " "), port: 3306 };
    answer.split('+').map(server).collect()
}

fn seen(kind: Has, check: &str, at_us: u64) -> Seen {
    if let Some(rest) = check.strip_prefix("ping") {
        return Seen::Ping(outcome(rest, |took_us| took_us.parse().expect("a time")));
    }
    if let Some((hostgroup, rest)) = check.split_once("lag") {
        let hostgroup = hostgroup.strip_suffix('.').map(|only| only.parse().expect("a hostgroup"));
        return Seen::Lag(hostgroup, outcome(rest, lag));
    }
    match kind {
        Has::Members(ClusterKind::Group) => Seen::Group(outcome(check, group)),
        Has::Members(ClusterKind::Galera) => Seen::Galera(outcome(check, galera)),
        Has::Aurora => Seen::Aurora(10, outcome(check, aurora)),
        Has::Pair if check.starts_with("rds") => Seen::Rds(outcome(&check[3..], rds)),
        Has::Pair if check.starts_with("gtid") => {
            Seen::Gtids(outcome(&check[4..], |answer| gtids(answer, at_us)))
        }
        Has::Pair => {
            let rest = check.strip_prefix("ro").expect("a check");
            Seen::ReadOnly(Check::ReadOnly, outcome(rest, |answer| answer == "1"))
        }
    }
}

/// The hostgroups of an Aurora cluster whose servers are called `….x`.
fn of_aurora() -> Aurora {
    let row = AuroraRow {
        writer_hostgroup: 10,
        reader_hostgroup: 20,
        domain_name: ".x".into(),
        max_lag_ms: 100,
        ..AuroraRow::default()
    };
    Clusters::compile(&[], &[], &[], &[row]).expect("valid").aurora.remove(0)
}

/// A keeper, and what it is told step by step.
struct Play {
    kind: Has,
    keeper: Keeper,
    wanted: Wanted,
    at_us: u64,
    /// All of it as it is recorded.
    recording: String,
}

impl Play {
    fn new(kind: Has, typed: &str) -> Self {
        let cluster = |kind| Cluster {
            kind,
            writer: 10,
            backup: 11,
            reader: 20,
            offline: 30,
            max_writers: 1,
            also_read: AlsoRead::Nobody,
            max_behind: 0,
        };
        let mut clusters = Clusters::default();
        match kind {
            Has::Pair => clusters.pairs.push(PAIR),
            Has::Members(kind) => clusters.members.push(cluster(kind)),
            Has::Aurora => clusters.aurora.push(of_aurora()),
        }
        let wanted = Wanted { servers: rows(typed), clusters, ..Wanted::default() };
        let keeper = Keeper::default();
        let recording = keeper::beginning(&keeper);
        let mut play = Self { kind, keeper, wanted, at_us: 0, recording };
        play.load();
        play
    }

    fn load(&mut self) -> Vec<StatusChange> {
        self.tell(KeeperInput::Adopt { at_us: self.at_us, wanted: self.wanted.clone() })
    }

    fn tell(&mut self, input: KeeperInput) -> Vec<StatusChange> {
        let events = self.keeper.take(&input);
        self.recording += &keeper::line(&input, Some(&events));
        events
    }

    fn step(&mut self, step: &str) -> Vec<StatusChange> {
        self.at_us += 1;
        if let Some(typed) = step.strip_prefix("LOAD ") {
            self.wanted.servers = rows(typed);
            return self.load();
        }
        if let Some((server, check)) = step.split_once(' ') {
            let server = Endpoint { hostname: server.to_owned(), port: 3306 };
            if let "deposed" | "rejoined" = check {
                let (at_us, is_deposed) = (self.at_us, check == "deposed");
                return self.tell(KeeperInput::Depose { at_us, server, is_deposed });
            }
            let seen = seen(self.kind, check, self.at_us);
            return self.tell(KeeperInput::Hear(Report { at_us: self.at_us, server, seen }));
        }
        let (name, value) = step.split_once('=').expect("a limit");
        self.set(name, value);
        self.load()
    }

    fn set(&mut self, name: &str, value: &str) {
        let limits = &mut self.wanted.limits;
        let number = || value.parse().expect("a number");
        if let Some(cluster) = self.wanted.clusters.aurora.first_mut() {
            let number = || value.parse().expect("a number");
            match name {
                "max" => return cluster.max_lag_ms = number(),
                "add" => return cluster.add_lag_ms = number(),
                "min" => return cluster.min_lag_ms = number(),
                "checks" => return cluster.lag_checks = value.parse().expect("a number"),
                "weight" => return cluster.reader_weight = value.parse().expect("a weight"),
                "also" => return cluster.writer_is_read = value == "1",
                _ => {}
            }
        }
        match (name, self.wanted.clusters.members.first_mut()) {
            ("max", Some(cluster)) => cluster.max_writers = value.parse().expect("a number"),
            ("behind", Some(cluster)) => cluster.max_behind = value.parse().expect("a number"),
            ("also", Some(cluster)) => {
                cluster.also_read = match value {
                    "0" => AlsoRead::Nobody,
                    "1" => AlsoRead::Writers,
                    _ => AlsoRead::Backups,
                }
            }
            ("misses", _) => limits.group_failures = number(),
            ("counts", _) => limits.group_behind_count = number(),
            ("for", _) => limits.group_behind_for = number(),
            ("also", None) => limits.writer_is_also_reader = value == "1",
            ("reload", _) => limits.evaluate_lag_on_load = value == "1",
            ("pings", _) => limits.ping_failures = number(),
            ("missed", _) => limits.read_only_failures = number(),
            ("latency", _) => limits.latency_ms = number().into(),
            ("lags", _) => limits.lag_count = number(),
            ("rds", _) => limits.finds_rds = value == "1",
            ("several", _) => {
                let policy = SeveralWriters::ALL.iter().find(|(name, _)| *name == value);
                let (_, policy) = policy.expect("a policy");
                self.wanted.several_writers = BTreeMap::from([(PAIR.writer, *policy)]);
                self.wanted.several_writers.retain(|_, policy| *policy != SeveralWriters::All);
            }
            ("enabled", _) => limits.enabled = value == "1",
            ("check", _) => {
                self.wanted.clusters.pairs = vec![Pair { check: Check::SuperReadOnly, ..PAIR }]
            }
            _ => panic!("{name}"),
        }
    }
}

/// Plays a case; what differs from what it says.
fn play(kind: Has, line: &str) -> Option<String> {
    let parts: Vec<_> = line.split('|').map(str::trim).collect();
    let [_, typed, steps, expected, reason] = parts[..] else { panic!("five parts: {line}") };
    let (mut play, mut last) = (Play::new(kind, typed), Vec::new());
    for step in steps.split(", ").filter(|step| !step.is_empty()) {
        last = play.step(step);
    }
    let mut reasons: Vec<_> = last.iter().map(|event| event.reason.to_string()).collect();
    reasons.dedup();
    recordings::check(&play.recording, &play.keeper);
    let (told, reasons) = (told(&play.keeper), reasons.join(", "));
    (told != expected || reasons != reason).then(|| format!("{line}\n    {told} | {reasons}"))
}

#[test]
fn servers_come_to_what_each_case_says() {
    for (kind, cases, at_least) in CASES {
        let lines = cases.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
        let wrong: Vec<_> = lines.clone().filter_map(|line| play(kind, line)).collect();
        assert!(wrong.is_empty(), "{} of {kind:?}\n{}", wrong.len(), wrong.join("\n"));
        assert!(lines.count() >= at_least, "cases of {kind:?}");
    }
}

#[test]
fn each_change_is_told_with_where_and_from_what_to_what() {
    let mut play = Play::new(Has::Pair, "10:a 20:b");
    let why = "it answered read_only=1";
    let moved = [format!("20 a:3306 - ONLINE {why}"), format!("10 a:3306 ONLINE - {why}")];
    assert_eq!(events_told(&play.step("a ro1")), moved);
    assert_eq!(events_told(&play.step("a ro1")), [""; 0]);
    play.step("b ping?");
    play.step("b ping?");
    let silent = ["20 b:3306 ONLINE SHUNNED it missed 3 pings"];
    assert_eq!(events_told(&play.step("b ping?")), silent);
}

#[test]
fn each_row_of_a_server_tells_who_has_become_the_writer() {
    let mut play = Play::new(Has::Pair, "10:a 20:b");
    for step in ["several=newest_gtid", "a ro0", "b ro1", "b ro0", "b gtid=0-1-6"] {
        play.step(step);
    }
    let why = "2 servers answer read_only=0: b:3306 has the newest GTIDs";
    let rows = [
        "10 a:3306 ONLINE SHUNNED",
        "10 b:3306 SHUNNED ONLINE",
        "20 a:3306 - ONLINE",
        "20 b:3306 ONLINE ONLINE",
    ];
    assert_eq!(events_told(&play.step("a gtid=0-1-5")), rows.map(|row| format!("{row} {why}")));
}

/// Events as hostgroup, server, status before and after, and why.
fn events_told(events: &[StatusChange]) -> Vec<String> {
    let status = |status: &Option<String>| status.clone().unwrap_or("-".into());
    let tell = |event: &StatusChange| {
        let (from, to) = (status(&event.from), status(&event.to));
        format!("{} {} {from} {to} {}", event.hostgroup, event.server, event.reason)
    };
    events.iter().map(tell).collect()
}

#[test]
fn latency_is_the_mean_of_three_pings() {
    let mut play = Play::new(Has::Pair, "10:a");
    let server = Endpoint { hostname: "a".into(), port: 3306 };
    assert_eq!(play.keeper.latency_us(&server), None);
    for (step, mean) in [("a ping=100", 100), ("a ping=300", 200), ("a ping?", 200)] {
        play.step(step);
        assert_eq!(play.keeper.latency_us(&server), Some(mean), "{step}");
    }
    for step in ["a ping=200", "a ping=1000"] {
        play.step(step);
    }
    assert_eq!(play.keeper.latency_us(&server), Some(500));
}

#[test]
fn servers_that_are_found_have_the_defaults_of_their_hostgroup() {
    let draft = Draft {
        servers: rows("10:a"),
        hostgroups: vec![HostgroupRow {
            hostgroup_id: 20,
            servers_defaults: r#"{"weight": 7, "max_connections": 50}"#.into(),
            ..HostgroupRow::default()
        }],
        group_replication: vec![GroupReplicationRow {
            writer_hostgroup: 10,
            backup_writer_hostgroup: 11,
            reader_hostgroup: 20,
            offline_hostgroup: 30,
            ..GroupReplicationRow::default()
        }],
        ..Draft::default()
    };
    let snapshot = Snapshot::compile(&draft).expect("valid");
    let mut play = Play::new(Has::Members(ClusterKind::Group), "10:a");
    play.wanted = Wanted::of(&snapshot);
    play.load();
    play.step("a w+a+b");
    let found = &play.keeper.decided().iter().find(|placed| placed.row.hostname == "b");
    let row = &found.expect("it is there").row;
    assert_eq!((row.hostgroup_id, row.weight, row.max_connections), (20, 7, 50));
}
