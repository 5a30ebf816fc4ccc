//! Reads that say how far behind their server may be.

use io::{Faults, Sock};
use testkit::raw::{Hall, tagged};
use testkit::sim::{Simulator, Weather};
use wire::command::{self, code};
use wire::{Caps, lenenc};

const FAR_US: u64 = 9_000_000;

/// Two readers, `rhea` and `rosa`.
struct Room {
    hall: Hall,
    sock: Sock,
}

impl Room {
    /// Commands share connections, so many one behind the other.
    fn open(depth: u64) -> Self {
        let weather = Weather { faults: Faults::none(), depth, ..Weather::cutting() };
        let mut hall = Hall::in_weather(7, &Simulator::new(), &weather);
        let sock = hall.login(Caps::DEPRECATE_EOF);
        Self { hall, sock }
    }

    /// The readers are so far behind, in microseconds.
    fn lag(&self, rhea_us: u64, rosa_us: u64) {
        let lags = [("10.0.0.2", rhea_us), ("10.0.0.3", rosa_us)];
        for server in self.hall.stage.snapshot.topology.servers() {
            let found = lags.iter().find(|(hostname, _)| *hostname == server.hostname);
            found.into_iter().for_each(|(_, lag_us)| server.gauge.note_lag_us(*lag_us));
        }
    }

    /// Which reader answers a read with this annotation.
    fn reader(&mut self, annotation: &str) -> &'static str {
        self.hall.query(self.sock, &read(annotation));
        self.answered()
    }

    fn answered(&mut self) -> &'static str {
        named(&self.hall.result(self.sock))
    }
}

fn named(answer: &[u8]) -> &'static str {
    let says = |name: &str| answer.windows(name.len()).any(|part| part == name.as_bytes());
    match (says("rhea"), says("rosa")) {
        (true, false) => "rhea",
        (false, true) => "rosa",
        _ => panic!("{}", answer.escape_ascii()),
    }
}

fn read(annotation: &str) -> String {
    annotated(annotation, &tagged("SELECT", "rows", "0 op=0", "v FROM t"))
}

fn annotated(annotation: &str, text: &str) -> String {
    text.replacen("/*", &format!("/*{annotation};"), 1)
}

#[test]
fn a_read_goes_to_a_server_that_is_no_further_behind_than_it_says() {
    for depth in [0, 16] {
        let mut room = Room::open(depth);
        room.lag(FAR_US, 400_000);
        for annotation in ["max_lag_ms=400", "max_lag_ms=8999"] {
            let readers: Vec<_> = (0..20).map(|_| room.reader(annotation)).collect();
            assert_eq!(readers, ["rosa"; 20], "{annotation}");
        }
        for annotation in ["max_lag_ms=9000", "hostgroup=1"] {
            room.lag(FAR_US, FAR_US);
            let readers: Vec<_> = (0..40).map(|_| room.reader(annotation)).collect();
            assert!(readers.contains(&"rhea") && readers.contains(&"rosa"), "{annotation}");
        }
        let counters = room.hall.counters();
        assert_eq!((counters.lag_limited, counters.lag_limit_waits), (80, 0));
        assert_eq!(counters.shared_queries > 0, depth > 0);
    }
}

#[test]
fn data_may_be_asked_for_that_is_as_new_as_a_moment() {
    let mut room = Room::open(0);
    room.hall.wait_ms(20_000);
    room.lag(FAR_US, 0);
    let now_ms = room.hall.stage.net.now().0 / 1_000;
    let (since, before) = (now_ms - 8_000, now_ms - 10_000);
    let of = |room: &mut Room, epoch_ms| -> Vec<_> {
        (0..20).map(|_| room.reader(&format!("min_epoch_ms={epoch_ms}"))).collect()
    };
    assert_eq!(of(&mut room, since), ["rosa"; 20]);
    assert!(of(&mut room, before).contains(&"rhea"));
    assert_eq!(of(&mut room, now_ms + 60_000), ["rosa"; 20], "it is behind by nothing");
}

#[test]
fn an_execution_is_as_near_as_its_statement_says() {
    let mut room = Room::open(0);
    room.lag(FAR_US, 0);
    let text = tagged("SELECT", "prepare", "0 op=0", "v FROM t WHERE v = ?");
    let mut bytes = Vec::new();
    command::write(&mut bytes, code::STMT_PREPARE, annotated("max_lag_ms=5", &text).as_bytes());
    room.hall.send(room.sock, &bytes);
    let stmt = room.hall.packet(room.sock).expect("prepared").0[1..5].to_vec();
    // a parameter and a column
    assert!([(); 2].iter().all(|()| room.hall.packet(room.sock).is_some()));
    let tag = tagged("", "rows", "0 op=0", "");
    let words = tag.trim().trim_start_matches("/*").trim_end_matches("*/");
    let mut body = [&stmt[..], &[0, 1, 0, 0, 0, 0, 1, 0xfd, 0]].concat();
    lenenc::write_bytes(&mut body, words.as_bytes());
    bytes.clear();
    command::write(&mut bytes, code::STMT_EXECUTE, &body);
    for (lags, reader) in [((FAR_US, 0), "rosa"), ((0, FAR_US), "rhea")].repeat(5) {
        room.lag(lags.0, lags.1);
        room.hall.send(room.sock, &bytes);
        assert_eq!(room.answered(), reader);
    }
}

#[test]
fn where_all_are_too_far_behind_it_waits_and_nobody_behind_it_does() {
    let mut room = Room::open(16);
    let other = room.hall.login(Caps::DEPRECATE_EOF);
    room.lag(FAR_US, FAR_US);
    room.hall.query(room.sock, &read("max_lag_ms=500"));
    room.hall.wait_ms(300);
    assert_eq!(room.hall.take(room.sock), [0_u8; 0], "it waits");
    room.hall.query(other, &read("hostgroup=1"));
    named(&room.hall.result(other));
    room.lag(FAR_US, 500_000);
    assert_eq!(room.answered(), "rosa", "as soon as one has caught up");
    let counters = room.hall.counters();
    assert_eq!((counters.lag_limited, counters.lag_limit_waits), (1, 1));
    assert!((300_000..600_000).contains(&counters.lag_limit_wait_us));
    room.lag(FAR_US, 501_000);
    room.hall.query(room.sock, &read("max_lag_ms=500"));
    let (answer, _) = room.hall.packet(room.sock).expect("answered");
    let told = String::from_utf8_lossy(&answer[9..]).into_owned();
    let why = "the query asks for 500 ms at most: 10.0.0.2:3306 is 9000 ms behind, 10.0.0.3:3306 \
               is 501 ms behind";
    assert!(told.starts_with("Max connect timeout reached while reaching hostgroup 1"), "{told}");
    assert!(told.ends_with(why), "{told}");
}

#[test]
fn a_connection_that_is_kept_for_warnings_keeps_no_read_with_a_server_that_lags() {
    let mut room = Room::open(0);
    for (lags, reader) in [((0, FAR_US), "rhea"), ((FAR_US, 0), "rosa")].repeat(3) {
        room.lag(lags.0, lags.1);
        let warns = read("max_lag_ms=5").replace("wa=0", "wa=2");
        room.hall.query(room.sock, &warns);
        assert_eq!(room.answered(), reader);
    }
}
