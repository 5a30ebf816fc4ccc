//! Checks of a scripted server on the simulated network: what is told of them, and when.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::mpsc::{Receiver, channel};

use engine::clusters;
use engine::rows::{AuroraRow, ReplicationRow, ServerRow};
use engine::snapshot::{Draft, Snapshot};
use engine::topology::LastFault;
use io::{
    Addr, Driver, Edge, Failure, Faults, Listener, Loop, Micros, Options, Service, SimDriver,
    SimNet, Sock,
};
use keeper::Seen;
use monitor::{Check, CheckFound, Checked, Monitor, MonitorMail, Outside, Plan};
use wire::command::code;
use wire::connect::Greeting;
use wire::frame::{self, Framed};
use wire::reply::{ColumnDef, ErrPacket, OkPacket, write_err, write_ok, write_text_result};
use wire::{Caps, Status};

/// What the server does, and what it was asked.
#[derive(Default)]
struct Script {
    /// It answers nothing, not even with a greeting.
    mute: bool,
    /// It is no server, and says something else.
    other: bool,
    /// It refuses to let anybody in.
    refuses: bool,
    /// It closes the connection when it is asked something.
    hangs_up: bool,
    read_only: &'static str,
    asked: Vec<String>,
    connections: usize,
}

#[derive(Default)]
struct Server {
    script: Rc<RefCell<Script>>,
    /// Whether a client has logged in.
    logged_in: BTreeMap<Sock, bool>,
}

const CAPS: Caps = Caps::PROTOCOL_41.union(Caps::SECURE_CONNECTION).union(Caps::PLUGIN_AUTH);

impl Server {
    fn answer(&mut self, sock: Sock, payload: &[u8], out: &mut Vec<u8>) {
        let mut script = self.script.borrow_mut();
        let ok = OkPacket::default();
        if !self.logged_in[&sock] {
            match script.refuses {
                true => {
                    let message = b"Access denied";
                    let sqlstate = *b"28000";
                    write_err(out, &mut 2, &ErrPacket { code: 1045, sqlstate, message });
                }
                false => write_ok(out, &mut 2, CAPS, &ok),
            }
            self.logged_in.insert(sock, true);
            return;
        }
        let asked = match payload {
            [code::PING] => "ping".to_owned(),
            [_, text @ ..] => String::from_utf8_lossy(text).into_owned(),
            [] => String::new(),
        };
        match asked.contains("read_only") {
            true => {
                let row: &[Option<&[u8]>] = &[Some(script.read_only.as_bytes())];
                let columns = [ColumnDef::text(b"read_only")];
                write_text_result(out, &mut 1, CAPS, &columns, &[row], Status::default());
            }
            false => write_ok(out, &mut 1, CAPS, &ok),
        }
        script.asked.push(asked);
    }
}

impl Service for Server {
    type Mail = ();

    fn on_accepted<D: Driver>(&mut self, io: &mut Edge<D>, _: Listener, sock: Sock, _: Addr) {
        self.script.borrow_mut().connections += 1;
        self.logged_in.insert(sock, false);
        if self.script.borrow().mute {
            return;
        }
        let greeting = Greeting {
            server_version: b"8.4.0",
            connection_id: 7,
            scramble: [1; 20],
            caps: CAPS,
            collation: 45,
            status: Status::default(),
            plugin: b"mysql_native_password",
        };
        let mut out = Vec::new();
        let is_other = self.script.borrow().other;
        frame::write_with(&mut out, &mut 0, |payload| match is_other {
            true => payload.extend_from_slice(b"220 mail.example ready"),
            false => greeting.encode(payload),
        });
        io.send(sock, &[&out]);
    }

    fn on_connected<D: Driver>(&mut self, _: &mut Edge<D>, _: Sock, _: Result<(), Failure>) {}

    fn on_bytes<D: Driver>(&mut self, io: &mut Edge<D>, sock: Sock, bytes: &[u8]) -> usize {
        let (mut taken, mut out) = (0, Vec::new());
        while let Framed::Packet(packet) = frame::next_packet(&bytes[taken..]) {
            taken += packet.len;
            if self.script.borrow().hangs_up && self.logged_in[&sock] {
                io.close(sock);
                return bytes.len();
            }
            if !self.script.borrow().mute {
                self.answer(sock, packet.payload, &mut out);
            }
        }
        io.send(sock, &[&out]);
        taken
    }

    fn on_gone<D: Driver>(&mut self, _: &mut Edge<D>, _: Sock, _: Option<Failure>) {}

    fn on_drained<D: Driver>(&mut self, _: &mut Edge<D>, _: Sock) {}

    fn on_timer<D: Driver>(&mut self, _: &mut Edge<D>, _: u64) {}

    fn on_mail<D: Driver>(&mut self, _: &mut Edge<D>, (): ()) {}

    fn on_turn_end<D: Driver>(&mut self, _: &mut Edge<D>) {}
}

/// A monitor and a server that it checks.
struct Scene {
    net: SimNet,
    script: Rc<RefCell<Script>>,
    server: Loop<SimDriver, Server>,
    monitor: Loop<SimDriver, Monitor>,
    told: Receiver<Checked>,
}

fn addr() -> Addr {
    Addr::Tcp(([10, 0, 0, 1], 3306).into())
}

/// The plan of a server in a hostgroup of writers, with these variables.
fn plan(variables: &[(&str, &str)]) -> Plan {
    let own = |(name, value): &(&str, &str)| (format!("mysql-monitor_{name}"), (*value).to_owned());
    let server = ServerRow { hostgroup_id: 10, hostname: "db".into(), ..ServerRow::default() };
    let pair =
        ReplicationRow { writer_hostgroup: 10, reader_hostgroup: 20, ..ReplicationRow::default() };
    let draft = Draft {
        servers: vec![server],
        replication: vec![pair],
        variables: variables.iter().map(own).collect(),
        ..Draft::default()
    };
    let snapshot = Snapshot::compile(&draft).expect("valid");
    Plan::of(&snapshot, |_| Some(addr()))
}

impl Scene {
    fn new() -> Self {
        let net = SimNet::new(5, Faults::none());
        let script = Rc::new(RefCell::new(Script { read_only: "0", ..Script::default() }));
        let service = Server { script: script.clone(), ..Server::default() };
        let mut server = Loop::new(net.driver(), service, Options::default());
        server.add_listener(net.listen(&addr()));
        let (tell, told) = channel();
        let outside = Outside {
            connectors: std::sync::Arc::default(),
            unix_us: Box::new(|| 0),
            tell: Box::new(move |checked| tell.send(checked).expect("somebody listens")),
        };
        let monitor = Monitor::new(plan(&[]), outside);
        let mut monitor = Loop::new(net.driver(), monitor, Options::default());
        let (service, edge) = monitor.parts_mut();
        service.start(edge);
        Self { net, script, server, monitor, told }
    }

    /// Lets time pass; what was told meanwhile of one kind of check.
    fn pass(&mut self, span: Micros, of: impl Fn(Check) -> bool) -> Vec<Checked> {
        let until = self.net.now() + span;
        while self.net.now() < until {
            assert!(self.net.step(&mut [&mut self.server, &mut self.monitor]), "timers go on");
        }
        self.told.try_iter().filter(|checked| of(checked.check)).collect()
    }

    fn set(&self, change: impl FnOnce(&mut Script)) {
        change(&mut self.script.borrow_mut());
    }
}

fn is_ping(check: Check) -> bool {
    check == Check::Ping
}

fn is_read_only(check: Check) -> bool {
    matches!(check, Check::ReadOnly(_))
}

fn read_only(outcome: Result<bool, keeper::Failure>) -> Option<Seen> {
    Some(Seen::ReadOnly(clusters::Check::ReadOnly, outcome))
}

#[test]
fn checks_come_as_often_as_is_said_and_tell_what_the_server_says() {
    let mut scene = Scene::new();
    let told = scene.pass(Micros::from_secs(20), |_| true);
    let count = |is: fn(Check) -> bool| told.iter().filter(|it| is(it.check)).count();
    // every 8 s, every second, every 120 s
    assert_eq!(count(is_ping), 3);
    assert_eq!(count(|check| check == Check::Connect), 1);
    assert!((19..=21).contains(&count(is_read_only)), "{}", count(is_read_only));
    assert!(told.iter().all(|it| it.found.is_ok() && it.took_us.is_some()), "{told:?}");
    let writer = told.iter().filter(|it| is_read_only(it.check));
    assert!(writer.clone().all(|it| it.seen == read_only(Ok(false))));
    assert!(writer.clone().all(|it| it.found == Ok(CheckFound::ReadOnly(Some(false)))));
    // connections are used again, and would end by themselves if nobody used them
    assert!(scene.script.borrow().connections <= 3);
    assert!(scene.script.borrow().asked.contains(&"SET wait_timeout=80".to_owned()));
    scene.set(|script| script.read_only = "1");
    let told = scene.pass(Micros::from_secs(2), is_read_only);
    assert_eq!(told.last().and_then(|it| it.seen.clone()), read_only(Ok(true)));
}

#[test]
fn no_answer_in_time_is_none_and_a_refusal_of_the_account_is_one() {
    let mut scene = Scene::new();
    scene.pass(Micros::from_secs(1), |_| true);
    scene.set(|script| script.mute = true);
    let told = scene.pass(Micros::from_secs(3), is_read_only);
    assert!(told.len() >= 2, "{told:?}");
    for checked in told {
        assert_eq!(checked.seen, read_only(Err(keeper::Failure::NoAnswer)));
        assert_eq!(checked.found, Err("timeout: no answer in 800 ms".to_owned()));
        assert_eq!(checked.took_us, None);
    }
    scene.set(|script| (script.mute, script.refuses) = (false, true));
    let told = scene.pass(Micros::from_secs(3), is_read_only);
    let last = told.last().expect("it goes on");
    assert_eq!(last.seen, read_only(Err(keeper::Failure::Error(1045))));
    assert_eq!(last.found, Err("Access denied".to_owned()));
    // what is no server does not live
    scene.set(|script| (script.refuses, script.other) = (false, true));
    let told = scene.pass(Micros::from_secs(3), is_read_only);
    let last = told.last().expect("it goes on");
    assert_eq!(last.seen, read_only(Err(keeper::Failure::NoAnswer)));
    assert_eq!(last.found, Err(LastFault::Protocol.to_string()));
    scene.set(|script| script.other = false);
    let told = scene.pass(Micros::from_secs(2), is_read_only);
    assert_eq!(told.last().and_then(|it| it.seen.clone()), read_only(Ok(false)));
}

#[test]
fn a_connection_that_had_ended_unseen_is_no_failure_and_one_that_was_made_for_it_is() {
    let mut scene = Scene::new();
    scene.pass(Micros::from_secs(2), |_| true);
    scene.set(|script| script.hangs_up = true);
    let told = scene.pass(Micros::from_secs(2), is_read_only);
    let gone = "the server closed the connection".to_owned();
    assert!(told.iter().all(|it| it.found == Err(gone.clone())), "{told:?}");
    scene.set(|script| script.hangs_up = false);
    scene.pass(Micros::from_secs(2), |_| true);
    assert!(scene.net.kill(&addr()) > 0, "there were connections");
    let told = scene.pass(Micros::from_secs(12), |_| true);
    assert!(told.iter().all(|it| it.found.is_ok()), "{told:?}");
    // nobody is there at all
    scene.net.stop(&addr());
    scene.net.kill(&addr());
    let told = scene.pass(Micros::from_secs(2), is_read_only);
    let last = told.last().expect("it goes on");
    assert_eq!(last.seen, read_only(Err(keeper::Failure::NoAnswer)));
}

#[test]
fn what_this_process_was_late_for_is_never_held_against_the_server() {
    let mut scene = Scene::new();
    scene.pass(Micros::from_secs(2), |_| true);
    // it asks, and does nothing for ten seconds
    while !scene.script.borrow().asked.last().is_some_and(|asked| asked.contains("read_only")) {
        scene.net.step(&mut [&mut scene.server, &mut scene.monitor]);
        scene.told.try_iter().for_each(drop);
    }
    scene.set(|script| script.mute = true);
    let sent = scene.net.now();
    while scene.net.now() < sent + Micros::from_secs(1) {
        scene.net.step(&mut [&mut scene.server, &mut scene.monitor]);
    }
    let mut idle = Loop::new(scene.net.driver(), Server::default(), Options::default());
    idle.parts_mut().1.set_timer(1, scene.net.now() + Micros::from_secs(10));
    let stopped = scene.net.now();
    while scene.net.now() < stopped + Micros::from_secs(10) {
        scene.net.step(&mut [&mut scene.server, &mut idle]);
    }
    scene.told.try_iter().for_each(drop);
    scene.set(|script| script.mute = false);
    let told = scene.pass(Micros::from_secs(3), is_read_only);
    let (late, rest): (Vec<_>, Vec<_>) =
        told.into_iter().partition(|it| it.seen == read_only(Err(keeper::Failure::OwnDelay)));
    assert_eq!(late.len(), 1, "{late:?} {rest:?}");
    assert!(late[0].found.as_ref().is_err_and(|text| text.contains("late itself")), "{late:?}");
    assert!(rest.iter().all(|it| it.seen == read_only(Ok(false))), "{rest:?}");
    // and it goes on without making up for what was missed
    assert!((2..=4).contains(&rest.len()), "{rest:?}");
}

#[test]
fn a_look_is_answered_at_once_and_one_in_vain_is_not_held_against_the_server() {
    let mut scene = Scene::new();
    scene.pass(Micros::from_secs(1), |_| true);
    let look = |scene: &Scene| {
        let server = keeper::Endpoint { hostname: "db".into(), port: 3306 };
        assert!(scene.monitor.mailbox().post(MonitorMail::Look(server)).is_ok());
    };
    scene.set(|script| script.read_only = "1");
    look(&scene);
    let told = scene.pass(Micros::from_ms(50), is_read_only);
    assert_eq!(told.first().and_then(|it| it.seen.clone()), read_only(Ok(true)), "{told:?}");
    scene.net.stop(&addr());
    scene.net.kill(&addr());
    scene.pass(Micros::from_ms(10), |_| true);
    let (mut pings, began) = (Vec::new(), scene.net.now());
    for _ in 0..80 {
        look(&scene);
        pings.append(&mut scene.pass(Micros::from_ms(100), is_ping));
    }
    let (missed, rest): (Vec<_>, Vec<_>) = pings.iter().partition(|it| it.seen.is_some());
    assert!(rest.len() > 50, "looks go on: {}", rest.len());
    let due = scene.net.now().since(began).as_ms() / 8_000;
    assert!((due..=due + 1).contains(&(missed.len() as u64)), "{missed:?} of {due} that were due");
}

#[test]
fn another_plan_takes_hold_at_once_and_what_is_to_be_looked_at_is() {
    let mut scene = Scene::new();
    scene.pass(Micros::from_secs(1), |_| true);
    let quick = plan(&[("read_only_interval", "100"), ("ping_interval", "60000")]);
    assert!(scene.monitor.mailbox().post(MonitorMail::Plan(Box::new(quick))).is_ok());
    let told = scene.pass(Micros::from_secs(2), is_read_only);
    assert!((18..=22).contains(&told.len()), "{}", told.len());
    let server = told[0].server.clone();
    assert!(scene.pass(Micros::from_secs(8), is_ping).len() <= 1);
    assert!(scene.monitor.mailbox().post(MonitorMail::Look(server)).is_ok());
    assert_eq!(scene.pass(Micros::from_ms(50), is_ping).len(), 1);
    assert!(
        scene
            .monitor
            .mailbox()
            .post(MonitorMail::Plan(Box::new(plan(&[("enabled", "false")]))))
            .is_ok()
    );
    scene.pass(Micros::from_secs(1), |_| true);
    assert!(scene.pass(Micros::from_secs(10), |_| true).is_empty());
}

/// The plan of servers of a cluster of Aurora, each asked after the other every 100 ms.
fn plan_of_aurora(names: &[&str]) -> Plan {
    let server = |name: &&str| ServerRow { hostname: (*name).to_owned(), ..ServerRow::default() };
    let cluster = AuroraRow {
        reader_hostgroup: 1,
        domain_name: ".x".into(),
        check_interval_ms: 100,
        check_timeout_ms: 80,
        ..AuroraRow::default()
    };
    let draft = Draft {
        servers: names.iter().map(server).collect(),
        aurora: vec![cluster],
        ..Draft::default()
    };
    Plan::of(&Snapshot::compile(&draft).expect("valid"), |_| Some(addr()))
}

#[test]
fn servers_of_aurora_are_asked_in_turn_and_one_that_goes_is_left_out() {
    let mut scene = Scene::new();
    let adopt = |scene: &Scene, names: &[&str]| {
        let plan = Box::new(plan_of_aurora(names));
        assert!(scene.monitor.mailbox().post(MonitorMail::Plan(plan)).is_ok());
    };
    let is_it = |check| matches!(check, Check::Aurora(0));
    let names = |told: &[Checked]| -> Vec<String> {
        told.iter().map(|checked| checked.server.hostname.clone()).collect()
    };
    adopt(&scene, &["c", "a", "b"]);
    let told = scene.pass(Micros::from_ms(700), is_it);
    assert_eq!(names(&told)[..6], ["a", "b", "c", "a", "b", "c"]);
    assert!(told.len() <= 8, "one at each interval: {}", told.len());
    // whichever is to be looked at, one is asked
    let server = told[0].server.clone();
    assert!(scene.monitor.mailbox().post(MonitorMail::Look(server)).is_ok());
    assert_eq!(scene.pass(Micros::from_ms(10), is_it).len(), 1);
    adopt(&scene, &["a", "c"]);
    let told = names(&scene.pass(Micros::from_ms(700), is_it));
    assert!(told.len() >= 6 && !told.contains(&"b".to_owned()), "{told:?}");
    assert!(told.windows(2).all(|two| two[0] != two[1]), "in turn: {told:?}");
    // one that is silent costs its turn, and no more
    scene.set(|script| script.mute = true);
    let told = scene.pass(Micros::from_ms(900), is_it);
    let missed = told.iter().filter(|checked| checked.seen.as_ref().is_some_and(Seen::is_missed));
    assert!(missed.count() >= 4, "{told:?}");
    adopt(&scene, &[]);
    scene.pass(Micros::from_ms(10), |_| true);
    assert!(scene.pass(Micros::from_secs(1), is_it).is_empty());
}
