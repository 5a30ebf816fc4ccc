//! Switchovers of scripted servers: what they are told, in which order, and what is undone when one
//! of them fails at any step.

use std::collections::BTreeMap;
use std::time::Duration;

use failover::{Account, Clients, Order, Servers, Step, switch_over};
use keeper::Endpoint;
use wire::text_result::TextResult;

/// MariaDB servers: a primary and two replicas of it.
#[derive(Default)]
struct Script {
    /// What a server answers to statements that begin so, in place of the usual.
    answers: BTreeMap<(i64, &'static str), Result<Vec<&'static str>, &'static str>>,
    /// What is asked, and of whom, but for questions about how they stand.
    told: Vec<String>,
    in_use: u64,
    steps: Vec<Step>,
    held: bool,
}

const PRIMARY: i64 = 1;
const NEAR: i64 = 2;
const FAR: i64 = 3;

fn at(port: i64) -> Endpoint {
    Endpoint { hostname: "db".into(), port }
}

impl Script {
    fn says(mut self, port: i64, statement: &'static str, row: &[&'static str]) -> Self {
        self.answers.insert((port, statement), Ok(row.to_vec()));
        self
    }

    fn fails(mut self, port: i64, statement: &'static str) -> Self {
        self.answers.insert((port, statement), Err("1205 it takes too long"));
        self
    }

    /// What a server says that nothing else is scripted for.
    fn usual(port: i64, statement: &str) -> Vec<&'static str> {
        let is = |begin: &str| statement.starts_with(begin);
        match port {
            _ if is("SELECT VERSION") => vec!["10.11.6-MariaDB-log"],
            PRIMARY if is("SELECT @@global.read_only") => vec!["0", "11", "1", "1"],
            PRIMARY if is("SHOW") => vec![],
            NEAR if is("SELECT @@global.read_only") => vec!["1", "12", "1", "1"],
            NEAR if is("SHOW") => vec!["11", "db", "1", "Yes", "Yes", "Slave_Pos", "0"],
            FAR if is("SELECT @@global.read_only") => vec!["1", "13", "1", "1"],
            FAR if is("SHOW") => vec!["11", "db", "1", "Yes", "Yes", "Slave_Pos", "9"],
            _ if is("SELECT GET_LOCK") => vec!["1"],
            _ if is("SELECT @@global.gtid_binlog_pos") => vec!["0-11-42"],
            _ if is("SELECT MASTER_GTID_WAIT") => vec!["0"],
            _ => vec![],
        }
    }

    fn run(&mut self, order: &Order) -> Result<Endpoint, String> {
        // whoever asks servers and whoever holds clients are two; both write the same script
        let this = std::cell::RefCell::new(std::mem::take(self));
        let done = switch_over(order, &mut Side(&this), &mut Side(&this));
        *self = this.into_inner();
        done
    }
}

struct Side<'a>(&'a std::cell::RefCell<Script>);

impl Servers for Side<'_> {
    fn ask(&mut self, server: &Endpoint, statement: &str) -> Result<TextResult, String> {
        const COLUMNS: [&str; 7] = [
            "Master_Server_Id",
            "Master_Host",
            "Master_Port",
            "Slave_IO_Running",
            "Slave_SQL_Running",
            "Using_Gtid",
            "Seconds_Behind_Master",
        ];
        let mut script = self.0.borrow_mut();
        let asks = ["SELECT VERSION", "SELECT @@global.read_only", "SHOW"];
        if !asks.iter().any(|ask| statement.starts_with(ask)) {
            let word = if script.held { "" } else { "unheld " };
            script.told.push(format!("{word}{}: {statement}", server.port));
        }
        let mut own = script
            .answers
            .iter()
            .filter(|((port, begin), _)| *port == server.port && statement.starts_with(begin));
        let row = match own.next() {
            Some((_, Ok(row))) => row.clone(),
            Some((_, Err(why))) => return Err((*why).to_owned()),
            None => Script::usual(server.port, statement),
        };
        let rows = match row.is_empty() {
            true => vec![],
            false => vec![row.into_iter().map(|value| Some(value.to_owned())).collect()],
        };
        let columns = COLUMNS.map(str::to_owned).into();
        Ok(TextResult { columns, rows, ..TextResult::default() })
    }
}

impl Clients for Side<'_> {
    fn hold(&mut self) {
        self.0.borrow_mut().held = true;
    }

    fn drain(&mut self, _: Duration) -> u64 {
        self.0.borrow().in_use
    }

    fn await_writer(&mut self, _: &Endpoint, _: Duration) -> bool {
        true
    }

    fn release(&mut self) {
        self.0.borrow_mut().held = false;
    }

    fn elapsed(&self) -> Duration {
        Duration::from_secs(1)
    }

    fn note(&mut self, step: Step) {
        self.0.borrow_mut().steps.push(step);
    }
}

fn order() -> Order {
    Order {
        primary: at(PRIMARY),
        others: vec![at(FAR), at(NEAR)],
        target: None,
        replication: Account { user: "repl".into(), password: "se'cret\\".into() },
        limit: Duration::from_secs(8),
        dry: false,
    }
}

#[test]
fn the_replica_least_behind_gets_everything_and_the_others_follow_it() {
    let mut script = Script::default();
    assert_eq!(script.run(&order()), Ok(at(NEAR)));
    let change = "CHANGE MASTER TO MASTER_HOST='db', MASTER_PORT=2, MASTER_USER='repl', \
                  MASTER_PASSWORD='se''cret\\\\', MASTER_USE_GTID=slave_pos";
    assert_eq!(
        script.told,
        [
            "unheld 1: SELECT GET_LOCK('tidegate_switchover', 0)",
            "unheld 2: SELECT GET_LOCK('tidegate_switchover', 0)",
            "1: SET SESSION lock_wait_timeout=5",
            "1: SET GLOBAL read_only=1",
            "1: SELECT @@global.gtid_binlog_pos",
            "2: SELECT MASTER_GTID_WAIT('0-11-42', 7)",
            "2: STOP ALL SLAVES",
            "2: RESET SLAVE ALL",
            "2: SET GLOBAL read_only=0",
            "1: STOP ALL SLAVES",
            "1: SET GLOBAL gtid_slave_pos='0-11-42'",
            &format!("1: {change}"),
            "1: START SLAVE",
            "3: STOP ALL SLAVES",
            &format!("3: {change}"),
            "3: START SLAVE",
        ]
    );
    assert!(!script.held);
    let told = format!("{:?}", script.steps);
    assert!(!told.contains("cret"), "the password is told: {told}");
}

#[test]
fn a_failure_before_the_new_one_is_opened_opens_the_old_one_again() {
    for (port, statement) in [
        (PRIMARY, "SET GLOBAL read_only=1"),
        (PRIMARY, "SELECT @@global.gtid_binlog_pos"),
        (NEAR, "SELECT MASTER_GTID_WAIT"),
        (NEAR, "STOP ALL SLAVES"),
        (NEAR, "RESET SLAVE ALL"),
        (NEAR, "SET GLOBAL read_only=0"),
    ] {
        let mut script = Script::default().fails(port, statement);
        let why = script.run(&order()).expect_err(statement);
        assert!(why.ends_with("db:1 is the primary again"), "{statement}: {why}");
        assert_eq!(script.told.last().expect("told"), "1: SET GLOBAL read_only=0", "{statement}");
        assert!(!script.held, "{statement}");
        let opens = |told: &&String| told.contains("read_only=0");
        let opened = script.told.iter().filter(opens).count();
        assert_eq!(opened, if statement.ends_with('0') { 2 } else { 1 }, "{statement}");
    }
}

#[test]
fn of_two_that_may_be_open_neither_is_opened_besides() {
    let mut script = Script::default()
        .fails(NEAR, "SET GLOBAL read_only=0")
        .fails(NEAR, "SET GLOBAL read_only=1");
    let why = script.run(&order()).expect_err("neither");
    assert!(why.ends_with("db:1 stays closed: see which is to be opened"), "{why}");
    assert!(!script.told.contains(&"1: SET GLOBAL read_only=0".to_owned()), "{:?}", script.told);
}

#[test]
fn nothing_is_told_where_it_cannot_be_done() {
    let not_caught_up = ["11", "db", "1", "Yes", "Yes", "Slave_Pos", "0"];
    let with = |place: usize, value: &'static str| {
        let mut row = not_caught_up.to_vec();
        row[place] = value;
        row
    };
    for (row, why) in [
        (with(0, "99"), "its source is db:1, another server"),
        (with(3, "Connecting"), "it receives nothing from its source"),
        (with(4, "No"), "it applies nothing of what it receives"),
        (with(5, "No"), "it does not replicate by GTID"),
        (vec![], "it is no replica"),
    ] {
        let mut script = Script::default().says(NEAR, "SHOW", &row);
        let to_near = Order { target: Some(at(NEAR)), ..order() };
        let refused = script.run(&to_near).expect_err(why);
        assert_eq!(refused, format!("db:2 cannot take its place: {why}"));
        assert!(script.told.is_empty(), "{why}: {:?}", script.told);
        assert_eq!(script.run(&order()), Ok(at(FAR)), "the other one can");
    }
    let mut script =
        Script::default().says(NEAR, "SELECT @@global.read_only", &["1", "12", "0", "1"]);
    let refused = script.run(&Order { target: Some(at(NEAR)), ..order() }).expect_err("no log");
    assert!(refused.ends_with("it keeps no binary log of what it replicates"), "{refused}");
    let mut script = Script::default().fails(FAR, "SELECT VERSION").fails(NEAR, "SELECT VERSION");
    assert_eq!(script.run(&order()), Err("no replica can take its place".into()));
    let mut script =
        Script::default().says(PRIMARY, "SELECT @@global.read_only", &["1", "1", "1", "1"]);
    assert_eq!(script.run(&order()), Err("db:1 refuses writes itself: it is no primary".into()));
    let mut script = Script::default().says(NEAR, "SELECT GET_LOCK", &["0"]);
    assert_eq!(script.run(&order()), Err("somebody else switches db:2 over".into()));
    let stranger = Order { target: Some(at(7)), ..order() };
    let refused = Script::default().run(&stranger).expect_err("a stranger");
    assert_eq!(refused, "db:7 cannot take its place: it is no server of this cluster");
}

#[test]
fn transactions_that_do_not_end_are_not_cut_off() {
    let mut script = Script { in_use: 3, ..Script::default() };
    assert_eq!(script.run(&order()), Err("3 connections are still in use".into()));
    assert!(!script.told.iter().any(|told| told.contains("read_only")), "{:?}", script.told);
    assert!(!script.held);
}

#[test]
fn a_dry_run_says_who_could_and_tells_nobody_anything() {
    let mut script = Script::default().fails(FAR, "SHOW");
    assert_eq!(script.run(&Order { dry: true, ..order() }), Ok(at(NEAR)));
    assert!(script.told.is_empty());
    let outcomes: Vec<_> =
        script.steps.into_iter().map(|step| (step.server.port, step.outcome)).collect();
    let expected = [(FAR, Err("1205 it takes too long".into())), (NEAR, Ok("0 s behind".into()))];
    assert_eq!(outcomes, expected);
}

#[test]
fn a_replica_that_does_not_answer_is_left_as_it_is_and_told() {
    let mut script = Script::default().fails(FAR, "SELECT VERSION");
    assert_eq!(script.run(&order()), Ok(at(NEAR)));
    let left = script.steps.iter().filter(|step| step.server == at(FAR) && step.outcome.is_err());
    assert_eq!(left.count(), 2, "{:?}", script.steps);
}
