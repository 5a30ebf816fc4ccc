//! The configuration of a run, and others that follow it while clients are served: servers come
//! and go, rules, accounts and variables change. Clients notice nothing where nothing is lost.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use engine::ids::HostgroupId;
use engine::rows::{HostgroupRow, RuleRow, ServerRow, UserRow};
use engine::snapshot::{Draft, Snapshot};
use keeper::{Endpoint, Failure, Lag, Report, Seen, Wanted};
use worker::Mail;

use super::configurations::Configurations;
use super::moves::Moves;
use super::{Stage, Trio, Weather, rules};
use crate::dice::Dice;
use crate::mysqld::execute::STATEMENTS_MAX;
use crate::mysqld::login::ACCOUNTS;
use crate::shared_questions::LARGEST;

/// The configuration of every run: a primary that takes everything, two readers for `SELECT`.
pub fn snapshot(weather: &Weather) -> Snapshot {
    Configurations::default().compile(&draft(weather), None)
}

pub(super) fn draft(weather: &Weather) -> Draft {
    let of_account = weather.limits.of_account.map_or(10_000, i64::from);
    let users = ACCOUNTS.iter().map(|(name, password)| UserRow {
        username: (*name).into(),
        password: password.as_bytes().to_vec(),
        fast_forward: i64::from(*name == "fay"),
        max_connections: of_account,
        ..UserRow::default()
    });
    let max_connections = weather.max_connections;
    let servers = [server(0, 1), server(1, 2), server(1, 3)];
    let servers = servers.into_iter().map(|row| ServerRow { max_connections, ..row });
    let mut draft = Draft {
        servers: servers.chain([rules::nobody()]).collect(),
        users: users.collect(),
        rules: if weather.habits.ruled { rules::all() } else { rules::split() },
        variables: variables(weather),
        replication: weather.habits.wander.then(Moves::pair).into_iter().collect(),
        ..Draft::default()
    };
    if weather.shares.is_some() {
        draft.rules.splice(0..0, rules::shared());
    }
    if weather.habits.follows {
        draft.rules.splice(0..0, rules::followed());
        draft.replication = vec![Moves::pair()];
    }
    (weather.amend)(&mut draft);
    draft
}

fn server(hostgroup_id: i64, at: u8) -> ServerRow {
    ServerRow {
        hostgroup_id,
        hostname: format!("10.0.0.{at}"),
        max_latency_ms: LATENCY_MS,
        max_replication_lag: LAG_S,
        ..ServerRow::default()
    }
}

fn variables(weather: &Weather) -> Vec<(String, String)> {
    let mut pairs = vec![
        ("mysql-default_schema", String::new()),
        ("mysql-threads", weather.workers.to_string()),
        ("mysql-max_stmts_per_connection", STATEMENTS_MAX.to_string()),
        ("mysql-mirror_max_concurrency", "1".into()),
        ("mysql-enable_load_data_local_infile", "true".into()),
        // the time of a run begins with it, and what is counted outlives it
        ("mysql-failed_connections_threshold", "0".into()),
        ("mysql-mirror_max_queue_length", u8::from(weather.max_connections < 50).to_string()),
    ];
    pairs.extend([
        ("mysql-pipeline_depth", weather.depth.to_string()),
        ("mysql-pipeline_stall_us", weather.stall_us.to_string()),
        ("mysql-pipeline_min_runs", "1".into()),
        ("mysql-stored_code", weather.stored_code.to_string()),
        ("mysql-pipeline_max_latency_us", weather.latency_us.to_string()),
    ]);
    if weather.habits.long {
        pairs.push(("mysql-threshold_query_length", "1024".into()));
        pairs.push(("mysql-max_allowed_packet", "8192".into()));
    }
    if let Some(shares) = weather.shares {
        pairs.extend([
            ("mysql-query_cache_coalesce_wait_ms", shares.wait_ms.to_string()),
            ("mysql-query_cache_soft_ttl_pct", shares.soft_pct.to_string()),
            ("mysql-threshold_resultset_size", LARGEST.to_string()),
        ]);
    }
    if let Some(following) = weather.shares.and_then(|shares| shares.following) {
        let lag_max = following.lag_max_ms.to_string();
        pairs.push(("mysql-query_cache_binlog_max_lag_ms", lag_max));
    }
    pairs.extend(weather.limits.variables());
    pairs.into_iter().map(|(name, value)| (name.into(), value)).collect()
}

impl Stage {
    /// Another configuration is on its way to the workers.
    pub fn reconfigure(&mut self, draft: &Draft, backlog_max: usize) {
        let next = Arc::new(self.configurations.compile(draft, Some(&self.snapshot)));
        self.follow_with(next, backlog_max);
    }

    /// A configuration that follows the one in force is on its way to the workers. Gives how many
    /// have taken it over.
    pub fn follow_with(&mut self, next: Arc<Snapshot>, backlog_max: usize) -> Arc<AtomicUsize> {
        let addrs = self.server_addrs.iter().cloned();
        let addrs: Vec<_> = addrs.chain([super::trio::nobody()]).collect();
        let addresses = next.topology.servers().iter().map(|server| {
            let is_it = |addr: &&io::Addr| addr.to_string() == server.to_string();
            (server.index, addrs.iter().find(is_it).cloned())
        });
        self.addresses = Arc::new(self.addresses.with(addresses));
        // as whoever publishes: the followers of logs know of it later
        let is_same = Arc::ptr_eq(&next.topology, &self.snapshot.topology)
            && Arc::ptr_eq(&next.clusters, &self.snapshot.clusters);
        if !is_same {
            self.offer.cache.follows().note_move();
            let now = self.net.now();
            self.board.borrow_mut().data.iter_mut().for_each(|data| data.fall(now));
        }
        let taken_over = Arc::<AtomicUsize>::default();
        for worker in &self.workers {
            let taken_over = taken_over.clone();
            let mail = Mail::Snapshot {
                snapshot: next.clone(),
                addresses: self.addresses.clone(),
                backlog_max,
                tell: Box::new(move |_| {
                    taken_over.fetch_add(1, Ordering::Relaxed);
                }),
            };
            let posted = worker.mailbox().post(mail);
            assert!(posted.is_ok(), "the mailbox has room");
        }
        self.know(&next);
        self.snapshot = next;
        taken_over
    }
}

impl Trio {
    /// Another configuration is on its way to the workers.
    pub(super) fn change(&mut self, weather: &Weather) {
        let draft = other(weather, &self.moves, &mut self.dice);
        let next = self.stage.configurations.compile(&draft, Some(&self.stage.snapshot));
        let at_us = self.stage.net.now().0;
        self.keeper.adopt(Wanted::of(&next), at_us);
        for report in reports(weather, (&draft, &self.moves), at_us, &mut self.dice) {
            self.keeper.hear(&report);
        }
        let decided = self.keeper.decided();
        let next = next.place(decided, &self.stage.snapshot).expect("rows that are valid");
        for server in next.topology.servers() {
            server.gauge.note_ping_us(*self.dice.pick(&[100, 200, 900]));
        }
        let held = held(weather, &mut self.dice).into_iter().chain(self.moves.held());
        let next = next.holding(held.collect());
        self.stage.follow_with(Arc::new(next), weather.backlog_max);
        let mut board = self.stage.board.borrow_mut();
        board.count("changed configuration");
        board.tell(|| format!("another configuration: {:?}", draft.servers));
    }
}

/// What checks come to: where nothing is to be lost, they are against one of two readers at most,
/// and so that what was begun there may end.
fn reports(
    weather: &Weather,
    (draft, moves): (&Draft, &Moves),
    at_us: u64,
    dice: &mut Dice,
) -> Vec<Report> {
    const SLOW: Seen = Seen::Ping(Ok(SLOW_US));
    const LAGGING: Seen = Seen::Lag(None, Ok(Lag::Micros(LAG_US)));
    const SILENT: Seen = Seen::Ping(Err(Failure::NoAnswer));
    let mut reports = Vec::new();
    let mut hear = |row: &ServerRow, seen: &Seen| {
        let (server, seen) = (Endpoint::of(row), seen.clone());
        reports.extend(std::iter::repeat_n(Report { at_us, server, seen }, TIMES));
    };
    for row in &draft.servers {
        FIT.iter().for_each(|seen| hear(row, seen));
    }
    let wanders = |row: &ServerRow| weather.habits.wander && moves.needs(row);
    let serves =
        |row: &&ServerRow| row.hostgroup_id == 1 && row.status == "ONLINE" && !wanders(row);
    let readers: Vec<_> = draft.servers.iter().filter(serves).collect();
    if readers.len() > 1 && dice.percent(40) {
        hear(readers[dice.index(readers.len())], dice.pick(&[SLOW, LAGGING]));
    }
    if weather.losses && dice.percent(30) {
        hear(&draft.servers[dice.index(draft.servers.len())], dice.pick(&[SILENT, SLOW]));
    }
    reports
}

/// What checks of a server come to that nothing speaks against.
pub(super) const FIT: [Seen; 2] = [Seen::Ping(Ok(1)), Seen::Lag(None, Ok(Lag::Micros(0)))];

/// How often each is seen: as often as it takes.
pub(super) const TIMES: usize = 3;

/// How long the pings of a server may take, and how far behind a reader may be; and more.
const LATENCY_MS: i64 = 7;
const SLOW_US: u64 = 9_000;
const LAG_S: i64 = 5;
const LAG_US: u64 = 9_000_000;

/// How long answers are kept now and then, in milliseconds, whatever they are.
const SHORT_MS: i64 = 10;

/// Hostgroups that are held until the next change.
fn held(weather: &Weather, dice: &mut Dice) -> BTreeSet<HostgroupId> {
    let is_held = |_: &u32| weather.losses && dice.percent(10);
    [0, 1].into_iter().filter(is_held).map(HostgroupId).collect()
}

/// A configuration in which the same clients get the same answers.
fn other(weather: &Weather, moves: &Moves, dice: &mut Dice) -> Draft {
    let mut draft = draft(weather);
    draft.servers = servers(weather, moves, dice);
    if dice.percent(50) {
        let rule_id = dice.within(1000..=1003) as i64;
        let match_pattern = Some(format!("nobody_asks_for_{rule_id}"));
        draft.rules.push(RuleRow { rule_id, active: 1, match_pattern, ..RuleRow::default() });
    }
    for user in &mut draft.users {
        user.max_connections += dice.below(2) as i64;
    }
    if dice.percent(20) {
        let kept = draft.rules.iter_mut().filter(|rule| rule.cache_ttl.is_some());
        kept.for_each(|rule| rule.cache_ttl = Some(SHORT_MS));
    }
    let mut vary = |name: &str, values: &[&str]| {
        if dice.percent(30) {
            draft.variables.push((name.into(), (*dice.pick(values)).into()));
        }
    };
    vary("mysql-free_connections_pct", &["0", "10", "100"]);
    vary("mysql-connection_max_age_ms", &["0", "50", "60000"]);
    vary("mysql-query_digests_memory_bytes_max", &["1048576", "67108864"]);
    vary("mysql-query_processor_regex", &["1", "2"]);
    vary("mysql-pipeline_depth", &["0", "2", "16"]);
    vary("mysql-min_num_servers_lantency_awareness", &["0", "2"]);
    if dice.percent(50) {
        let balance = dice.pick(&["weight", "least_outstanding", "lowest_latency"]);
        draft.hostgroups.push(HostgroupRow {
            hostgroup_id: 1,
            hostgroup_settings: format!("{{\"balance\": \"{balance}\"}}"),
            ..HostgroupRow::default()
        });
    }
    draft
}

fn servers(weather: &Weather, moves: &Moves, dice: &mut Dice) -> Vec<ServerRow> {
    let least = match weather.max_connections {
        1 => 1,
        2..20 => 2,
        _ => 20,
    };
    let mut any = |hostgroup_id, at: u8| ServerRow {
        weight: dice.within(1..=4) as i64,
        max_connections: dice.within(least..=weather.max_connections as u64) as i64,
        ..server(hostgroup_id, at)
    };
    let mut rows = vec![any(0, 1), any(1, 2), any(1, 3), rules::nobody()];
    // one of the readers stays
    let mut at = 1 + dice.index(2);
    if weather.habits.wander && moves.needs(&rows[at]) {
        at = 3 - at;
    }
    if weather.habits.wander && moves.needs(&rows[at]) {
        return rows;
    }
    match dice.below(if weather.losses { 6 } else { 4 }) {
        0 | 1 => {
            rows.remove(at);
        }
        2 => rows[at].status = "OFFLINE_SOFT".into(),
        4 => rows[at].status = "OFFLINE_HARD".into(),
        5 => {
            let statuses = ["OFFLINE_SOFT", "OFFLINE_HARD"];
            rows.iter_mut().for_each(|row| row.status = (*dice.pick(&statuses)).into());
        }
        _ => {}
    }
    if dice.percent(30) {
        rows.reverse();
    }
    rows
}
