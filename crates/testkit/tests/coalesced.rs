//! Several clients ask the same at once: how often a server is asked, what everybody is told, and
//! that nobody waits for one that is gone.

use engine::rows::RuleRow;
use engine::snapshot::Draft;
use engine::stats::Counters;
use io::{Addr, Faults, Sock};
use testkit::mysqld::Manners;
use testkit::raw::{Hall, respond, tagged};
use testkit::sim::{Simulator, Weather};
use wire::connect::Greeting;
use wire::{Caps, command};

/// What clients are told.
const INTERRUPTED: u16 = 1317;
const TOO_LONG: u16 = 1907;
const SYNTAX: u16 = 1064;
const NO_SERVER: u16 = 9001;
const LOST: u16 = 1158;

fn set(draft: &mut Draft, pairs: &[(&str, &str)]) {
    let of = |(name, value): &(&str, &str)| (format!("mysql-{name}"), (*value).to_owned());
    draft.variables.extend(pairs.iter().map(of));
}

fn reads(draft: &mut Draft, cache_ttl: Option<i64>, attributes: &str) {
    draft.rules.clear();
    draft.rules.push(RuleRow {
        rule_id: 1,
        active: 1,
        match_pattern: Some("^SELECT".into()),
        destination_hostgroup: Some(1),
        cache_ttl,
        attributes: attributes.into(),
        ..RuleRow::default()
    });
    set(draft, &[("query_cache_coalesce_wait_ms", "5000")]);
}

fn kept(draft: &mut Draft) {
    reads(draft, Some(60_000), "");
}

struct Room {
    simulator: Simulator,
    hall: Hall,
    clients: Vec<(Sock, u32)>,
}

impl Room {
    /// So many clients, in front of servers whose answers take up to a second.
    fn open(clients: usize, amend: fn(&mut Draft)) -> Self {
        Self::with(clients, &Weather { amend, ..Weather::cutting() })
    }

    fn with(clients: usize, weather: &Weather) -> Self {
        let simulator = Simulator::new();
        let weather = Weather { faults: Faults::none(), ..weather.clone() };
        let mut hall = Hall::in_weather(7, &simulator, &weather);
        let clients = (0..clients).map(|_| enter(&mut hall)).collect();
        let mut room = Self { simulator, hall, clients };
        // there is a connection, and nothing is kept of this
        room.query(0, &tagged("SELECT", "rows", "0 op=0", "v FROM t FOR UPDATE"));
        room.answers(0..1);
        room.slow(1_000_000);
        room
    }

    /// From now on answers take so many microseconds at most.
    fn slow(&mut self, delay_us: u64) {
        let manners = Manners { late: 100, delay_us, ..Manners::default() };
        self.hall.stage.servers.service_mut().behave(manners);
    }

    fn quick(&mut self) {
        self.hall.stage.servers.service_mut().behave(Manners::default());
    }

    fn sock(&self, client: usize) -> Sock {
        self.clients[client].0
    }

    fn query(&mut self, client: usize, text: &str) {
        let (sock, before) = (self.sock(client), self.counters().queries);
        self.hall.query(sock, text);
        let came = |hall: &Hall| hall.counters().queries > before;
        assert!(self.hall.until(came), "the query comes");
    }

    /// One asks, and its statement is with a server that takes its time for it, and for nothing
    /// that comes later.
    fn lead(&mut self, client: usize, text: &str) {
        self.slow(1_000_000);
        let before = self.counters().checkouts;
        self.query(client, text);
        assert!(self.hall.until(|hall| hall.counters().checkouts > before), "it is sent");
        self.hall.wait_ms(1);
        self.quick();
    }

    /// All of these ask, one after the other and before there is an answer.
    fn ask(&mut self, clients: std::ops::Range<usize>, text: &str) {
        clients.for_each(|client| self.query(client, text));
    }

    fn answers(&mut self, clients: std::ops::Range<usize>) -> Vec<Vec<u8>> {
        clients.map(|client| self.hall.result(self.clients[client].0)).collect()
    }

    fn error(&mut self, client: usize) -> Option<u16> {
        self.hall.error(self.clients[client].0)
    }

    fn counters(&self) -> Counters {
        self.hall.counters()
    }

    fn kill(&mut self, killer: usize, victim: usize, what: &str) {
        let text = format!("{what} {}", self.clients[victim].1);
        let sock = self.sock(killer);
        let answer = self.hall.ask(sock, &text);
        assert_eq!(answer.first(), Some(&0), "{text}: {}", answer.escape_ascii());
    }

    fn waiting(&self) -> usize {
        let sessions = self.hall.stage.proxies().flat_map(|proxy| proxy.sessions());
        let waits = |doing: &str| doing == "waiting for the answer to the same query";
        sessions.filter(|(_, session)| waits(session.doing())).count()
    }

    /// Nothing is left of anything that was shared.
    fn is_tidy(&mut self) {
        self.hall.stage.proxies().for_each(|proxy| proxy.check_invariants());
        let cache = self.simulator.offer().cache.clone();
        assert_eq!((self.waiting(), cache.flights().count(), cache.figures().underway), (0, 0, 0));
    }
}

fn enter(hall: &mut Hall) -> (Sock, u32) {
    let (sock, greeting) = hall.connect();
    let id = Greeting::parse(&greeting).expect("a greeting").connection_id;
    hall.send(sock, &respond(&greeting, Caps::DEPRECATE_EOF));
    let (ok, _) = hall.packet(sock).expect("an answer to the login");
    assert_eq!(ok.first(), Some(&0));
    (sock, id)
}

/// A read whose answer has so many rows of so many bytes.
fn read(rows: u32, width: u32) -> String {
    tagged("SELECT", "rows", "0 op=0", "v FROM t")
        .replace(" r=1 w=0", &format!(" r={rows} w={width}"))
}

fn all_alike(answers: &[Vec<u8>]) {
    assert!(answers.iter().all(|answer| *answer == answers[0] && answer.len() > 10));
}

#[test]
fn one_statement_runs_and_everybody_gets_its_bytes() {
    for workers in 1..=3 {
        let weather = Weather { workers, amend: kept, ..Weather::cutting() };
        let mut room = Room::with(40, &weather);
        let before = room.counters();
        room.ask(0..40, &read(3, 50));
        assert_eq!(room.waiting(), 39);
        all_alike(&room.answers(0..40));
        let after = room.counters();
        assert_eq!(after.checkouts - before.checkouts, 1, "{workers} workers");
        let told = (after.cache_coalesced, after.cache_fills, after.cache_hits);
        assert_eq!(told, (39, 1, 0), "{workers} workers");
        assert_eq!(after.ok - before.ok, 40);
        room.is_tidy();
        // another one has it from the cache
        room.ask(0..1, &read(3, 50));
        room.answers(0..1);
        assert_eq!(room.counters().cache_hits, 1);
    }
}

#[test]
fn executions_share_answers_as_texts_do() {
    let mut room = Room::open(6, kept);
    room.quick();
    let text = tagged("SELECT", "rows", "0 op=0", "v FROM t WHERE v=?");
    let mut prepare = Vec::new();
    command::write(&mut prepare, command::code::STMT_PREPARE, text.as_bytes());
    for client in 0..6 {
        let sock = room.sock(client);
        room.hall.send(sock, &prepare);
        let (answer, _) = room.hall.packet(sock).expect("prepared");
        assert_eq!(answer.first(), Some(&0), "{}", answer.escape_ascii());
        // the parameter's definition, and the column's
        room.hall.wait_ms(10);
        room.hall.take(sock);
    }
    room.slow(1_000_000);
    // one string as its parameter, which are the words of its answer
    let words = tagged("", "rows", "0 op=0", "");
    let words = words.trim().trim_start_matches("/*").trim_end_matches("*/");
    let before = room.counters();
    for client in 0..6 {
        let mut body = vec![1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 253, 0];
        body.push(words.len() as u8);
        body.extend_from_slice(words.as_bytes());
        let mut bytes = Vec::new();
        command::write(&mut bytes, command::code::STMT_EXECUTE, &body);
        let (sock, before) = (room.sock(client), room.counters().executes);
        room.hall.send(sock, &bytes);
        assert!(room.hall.until(|hall| hall.counters().executes > before));
    }
    let answers = room.answers(0..6);
    all_alike(&answers);
    let after = room.counters();
    assert_eq!(after.lane_executes - before.lane_executes, 1);
    assert_eq!(after.cache_coalesced, 5);
    room.is_tidy();
}

#[test]
fn whoever_waits_for_one_that_goes_is_led_anew() {
    let goes: [fn(&mut Room); 3] = [
        |room| room.kill(8, 0, "KILL QUERY"),
        |room| room.kill(8, 0, "KILL"),
        |room| room.hall.close(room.clients[0].0),
    ];
    for (which, goes) in goes.into_iter().enumerate() {
        let mut room = Room::open(9, kept);
        let before = room.counters();
        room.lead(0, &read(3, 50));
        room.ask(1..8, &read(3, 50));
        goes(&mut room);
        all_alike(&room.answers(1..8));
        let after = room.counters();
        assert_eq!(after.checkouts - before.checkouts, 2, "{which}: one leads anew");
        assert_eq!((after.cache_coalesced, after.cache_coalesce_gave_up), (6, 0), "{which}");
        if which == 0 {
            assert_eq!(room.error(0), Some(INTERRUPTED));
        }
        room.hall.wait_ms(3000);
        room.is_tidy();
    }
}

#[test]
fn whoever_waits_for_an_error_asks_by_itself() {
    let mut room = Room::open(6, kept);
    let before = room.counters();
    room.ask(0..6, &tagged("SELECT", "refuse", "0 op=0", "v FROM t"));
    let told: Vec<_> = (0..6).map(|client| room.error(client)).collect();
    assert_eq!(told, [Some(SYNTAX); 6]);
    let after = room.counters();
    assert_eq!(after.checkouts - before.checkouts, 6);
    assert_eq!((after.cache_coalesced, after.cache_coalesce_unshared), (0, 5));
    room.is_tidy();
}

#[test]
fn nobody_is_told_a_part_of_an_answer_that_breaks_off() {
    let mut room = Room::open(5, kept);
    room.ask(0..5, &tagged("SELECT", "break", "0 op=0", "v FROM t").replace(" r=1", " r=4"));
    let told: Vec<_> = (0..5).map(|client| room.error(client)).collect();
    assert_eq!(told, [Some(1028); 5]);
    assert_eq!(room.counters().cache_coalesce_unshared, 4);
    room.is_tidy();
}

#[test]
fn an_answer_that_grows_too_large_holds_nobody_up() {
    let large = |draft: &mut Draft| {
        kept(draft);
        set(draft, &[("threshold_resultset_size", "2048")]);
    };
    let mut room = Room::open(5, large);
    let before = room.counters();
    room.ask(0..5, &read(10, 1000));
    // servers have names
    assert!(room.answers(0..5).iter().all(|answer| answer.len() > 10_000));
    let after = room.counters();
    assert_eq!(after.checkouts - before.checkouts, 5);
    assert_eq!((after.cache_coalesce_unshared, after.unkept_large), (4, 5));
    room.is_tidy();
}

#[test]
fn who_has_waited_long_enough_asks_by_itself() {
    let impatient = |draft: &mut Draft| {
        kept(draft);
        set(draft, &[("query_cache_coalesce_wait_ms", "20")]);
    };
    let mut room = Room::open(4, impatient);
    room.ask(0..4, &read(3, 50));
    assert_eq!(room.waiting(), 3);
    room.hall.wait_ms(30);
    assert_eq!((room.waiting(), room.counters().cache_coalesce_gave_up), (0, 3));
    let answers = room.answers(0..4);
    assert_eq!(answers.len(), 4);
    room.is_tidy();
}

#[test]
fn where_nobody_may_wait_each_asks_by_itself() {
    let off: [fn(&mut Draft); 2] = [
        |draft| {
            kept(draft);
            set(draft, &[("query_cache_coalesce_wait_ms", "0")]);
        },
        |draft| reads(draft, Some(60_000), r#"{"coalesce": false}"#),
    ];
    for amend in off {
        let mut room = Room::open(4, amend);
        let before = room.counters();
        room.ask(0..4, &read(3, 50));
        assert_eq!(room.waiting(), 0);
        room.answers(0..4);
        assert_eq!(room.counters().checkouts - before.checkouts, 4);
        room.is_tidy();
    }
}

#[test]
fn who_waits_and_is_killed_leaves_without_a_trace() {
    let mut room = Room::open(6, kept);
    room.ask(0..5, &read(3, 50));
    room.kill(5, 1, "KILL QUERY");
    assert_eq!(room.error(1), Some(INTERRUPTED));
    room.kill(5, 2, "KILL");
    room.hall.close(room.clients[3].0);
    assert!(room.hall.until(|hall| hall.sessions() == 4), "two are gone");
    assert_eq!(room.waiting(), 1);
    room.hall.stage.proxies().for_each(|proxy| proxy.check_invariants());
    let told = [room.answers(0..1), room.answers(4..5)].concat();
    all_alike(&told);
    assert_eq!(room.counters().cache_coalesced, 1);
    // its session goes on
    room.quick();
    room.ask(1..2, &read(3, 50));
    room.answers(1..2);
    room.is_tidy();
}

#[test]
fn the_time_of_a_statement_runs_while_it_waits() {
    let short = |draft: &mut Draft| {
        kept(draft);
        draft.rules[0].timeout = Some(40);
    };
    let mut room = Room::open(4, short);
    room.lead(0, &read(3, 50));
    let began = room.hall.stage.net.now();
    room.ask(1..4, &read(3, 50));
    let told: Vec<_> = (1..4).map(|client| room.error(client)).collect();
    assert_eq!(told, [Some(TOO_LONG); 3]);
    assert!(room.hall.stage.net.now().since(began).as_ms() < 60);
    assert_eq!(room.error(0), Some(TOO_LONG));
    assert_eq!(room.counters().timed_out, 4);
    room.hall.wait_ms(3000);
    room.is_tidy();
}

#[test]
fn a_leader_whose_client_does_not_read_holds_nobody_up() {
    let weather = Weather { amend: kept, backlog_max: 2048, ..Weather::cutting() };
    let mut room = Room::with(4, &weather);
    let sock = room.sock(0);
    room.hall.hold(sock);
    let before = room.counters();
    // more than lies in the network
    room.ask(0..4, &read(300, 2000));
    all_alike(&room.answers(1..4));
    let after = room.counters();
    assert_eq!((after.checkouts - before.checkouts, after.cache_coalesced), (1, 3));
    assert_eq!(after.pauses, before.pauses, "its server is read on");
    room.hall.release(sock);
    room.answers(0..1);
    room.is_tidy();
}

#[test]
fn where_nobody_waits_the_server_of_a_client_that_does_not_read_waits() {
    let weather = Weather { amend: kept, backlog_max: 2048, ..Weather::cutting() };
    let mut room = Room::with(3, &weather);
    room.quick();
    let sock = room.sock(0);
    room.hall.hold(sock);
    let before = room.counters();
    room.ask(0..1, &read(300, 2000));
    assert!(room.hall.until(|hall| hall.counters().pauses > before.pauses), "it is not read");
    // whoever comes then does not wait for it
    room.ask(1..3, &read(300, 2000));
    all_alike(&room.answers(1..3));
    assert_eq!(room.counters().checkouts - before.checkouts, 2);
    room.hall.release(sock);
    room.answers(0..1);
    room.is_tidy();
}

#[test]
fn a_server_is_read_on_for_others_as_far_as_its_answer_may_be_kept() {
    let small = |draft: &mut Draft| {
        kept(draft);
        set(draft, &[("threshold_resultset_size", "20000")]);
    };
    let weather = Weather { amend: small, backlog_max: 2048, ..Weather::cutting() };
    let mut room = Room::with(3, &weather);
    let sock = room.sock(0);
    room.hall.hold(sock);
    let before = room.counters();
    room.ask(0..3, &read(300, 2000));
    assert!(room.answers(1..3).iter().all(|answer| answer.len() > 500_000));
    let after = room.counters();
    assert_eq!(after.cache_coalesce_unshared, 2);
    assert!(after.pauses > before.pauses, "nobody else hears it");
    room.hall.release(sock);
    room.answers(0..1);
    room.is_tidy();
}

#[test]
fn nobody_who_asks_behind_a_flush_is_told_what_was_asked_before_it() {
    let mut room = Room::open(6, kept);
    let before = room.counters();
    room.lead(0, &read(3, 50));
    room.ask(1..3, &read(3, 50));
    room.simulator.offer().cache.flush();
    room.slow(1_000_000);
    room.ask(3..6, &read(3, 50));
    all_alike(&room.answers(0..3));
    all_alike(&room.answers(3..6));
    let after = room.counters();
    assert_eq!(after.checkouts - before.checkouts, 2);
    assert_eq!((after.cache_coalesced, after.cache_fills), (4, 1));
    room.is_tidy();
}

fn together(draft: &mut Draft) {
    reads(draft, None, r#"{"coalesce": true}"#);
}

#[test]
fn without_a_time_to_live_an_answer_is_told_to_those_who_asked_before_it_was_sent() {
    for workers in 1..=2 {
        let weather = Weather { workers, amend: together, ..Weather::cutting() };
        let mut room = Room::with(9, &weather);
        let before = room.counters();
        // it is sent for itself; the second leads the others, when the first has ended
        room.lead(0, &read(3, 50));
        room.ask(1..9, &read(3, 50));
        assert_eq!(room.waiting(), 8);
        let answers = room.answers(0..9);
        all_alike(&answers[1..]);
        let after = room.counters();
        assert_eq!(after.checkouts - before.checkouts, 2, "{workers} workers");
        assert_eq!((after.cache_coalesced, after.cache_fills, after.cache_lookups), (7, 0, 0));
        // nothing is kept
        room.ask(0..1, &read(3, 50));
        room.answers(0..1);
        assert_eq!(room.counters().checkouts - before.checkouts, 3);
        room.is_tidy();
    }
}

#[test]
fn whoever_is_to_lead_next_and_goes_is_replaced() {
    let mut room = Room::open(7, together);
    let before = room.counters();
    room.lead(0, &read(3, 50));
    room.ask(1..6, &read(3, 50));
    room.kill(6, 1, "KILL QUERY");
    assert_eq!(room.error(1), Some(INTERRUPTED));
    room.answers(0..1);
    all_alike(&room.answers(2..6));
    let after = room.counters();
    assert_eq!((after.checkouts - before.checkouts, after.cache_coalesced), (2, 3));
    room.is_tidy();
}

fn reader(at: u8) -> Addr {
    Addr::Tcp(([10, 0, 0, at], 3306).into())
}

fn bridging(draft: &mut Draft) {
    reads(draft, Some(100), r#"{"serve_stale_ms": 5000}"#);
    set(draft, &[("connect_timeout_server_max", "300"), ("query_retries_on_failure", "0")]);
}

impl Room {
    /// No server for reads can be reached.
    fn lose_readers(&mut self) {
        for at in [2, 3] {
            self.hall.stage.net.stop(&reader(at));
            self.hall.stage.net.kill(&reader(at));
        }
        self.hall.wait_ms(1);
    }
}

#[test]
fn an_answer_whose_time_is_over_is_told_while_no_server_can_answer() {
    let mut room = Room::open(3, bridging);
    room.quick();
    room.ask(0..1, &read(3, 50));
    let kept = room.answers(0..1);
    room.lose_readers();
    room.hall.wait_ms(1000);
    // each would have been told that there is no server
    room.ask(0..3, &read(3, 50));
    assert_eq!(room.answers(0..3), [kept[0].clone(), kept[0].clone(), kept[0].clone()]);
    assert_eq!((room.counters().cache_stale_told, room.counters().err), (3, 0));
    // of another question there is none
    room.query(0, &read(2, 50));
    assert_eq!(room.error(0), Some(NO_SERVER));
    room.hall.wait_ms(5000);
    room.query(0, &read(3, 50));
    assert_eq!(room.error(0), Some(NO_SERVER));
    room.is_tidy();
}

#[test]
fn an_answer_of_before_takes_the_place_of_a_lost_connection_but_not_of_what_a_server_says() {
    let mut room = Room::open(3, bridging);
    room.quick();
    let failing = tagged("SELECT", "refuse", "0 op=0", "v FROM t");
    room.ask(0..1, &read(3, 50));
    let kept = room.answers(0..1);
    room.hall.wait_ms(200);
    room.slow(1_000_000);
    room.ask(0..1, &read(3, 50));
    room.hall.wait_ms(5);
    for at in [2, 3] {
        room.hall.stage.net.kill(&reader(at));
    }
    assert_eq!(room.answers(0..1), kept);
    assert_eq!(room.counters().cache_stale_told, 1);
    // a part of it is out
    room.quick();
    room.query(1, &failing);
    assert_eq!(room.error(1), Some(SYNTAX));
    room.is_tidy();
}

#[test]
fn a_killed_statement_is_not_bridged() {
    let mut room = Room::open(3, bridging);
    room.quick();
    room.ask(0..1, &read(3, 50));
    room.answers(0..1);
    room.hall.wait_ms(200);
    room.lead(0, &read(3, 50));
    room.kill(1, 0, "KILL QUERY");
    let told = room.error(0);
    assert!(matches!(told, Some(INTERRUPTED | LOST)), "{told:?}");
    assert_eq!(room.counters().cache_stale_told, 0);
    room.hall.wait_ms(3000);
    room.is_tidy();
}

#[test]
fn where_fetching_anew_fails_the_next_one_fetches() {
    let soft = |draft: &mut Draft| {
        reads(draft, Some(10_000), "");
        set(draft, &[("query_cache_soft_ttl_pct", "10")]);
    };
    let mut room = Room::open(4, soft);
    room.quick();
    room.ask(0..1, &read(3, 50));
    room.answers(0..1);
    room.hall.wait_ms(1100);
    let before = room.counters();
    room.lead(0, &read(3, 50));
    room.ask(1..2, &read(3, 50));
    room.answers(1..2);
    assert_eq!(room.counters().cache_hits, 1, "one fetches, and the other is told");
    room.kill(3, 0, "KILL QUERY");
    assert_eq!(room.error(0), Some(INTERRUPTED));
    room.ask(2..3, &read(3, 50));
    room.answers(2..3);
    let after = room.counters();
    assert_eq!((after.checkouts - before.checkouts, after.cache_hits), (2, 1));
    assert_eq!(after.cache_fills, 2);
    room.hall.wait_ms(3000);
    room.is_tidy();
}
