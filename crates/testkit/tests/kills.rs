//! `KILL` by clients: it ends the session whose id its client was told, or its query, in every
//! spelling that tells which it means. All others are refused. None reaches a server, where the
//! same numbers are other connections.

use io::{Faults, Sock};
use testkit::mysqld::Manners;
use testkit::raw::{Hall, respond, tagged};
use testkit::sim::{Simulator, Weather};
use wire::connect::Greeting;
use wire::reply::ErrPacket;
use wire::{Caps, command};

/// What clients are told.
const INTERRUPTED: u16 = 1317;
const NOT_SUPPORTED: u16 = 1235;
const NOT_PREPARED: u16 = 1295;
const UNKNOWN_THREAD: u16 = 1094;
const UNKNOWN_QUERY: u16 = 1957;
const LOST: u16 = 1158;

struct Room {
    hall: Hall,
    killer: Sock,
    /// The killer's id.
    own: u32,
}

impl Room {
    fn open() -> Self {
        // a rule that may rewrite makes the proxy collect long texts
        let weather = Weather { amend: |draft| draft.rules.clear(), ..Weather::cutting() };
        let mut hall = Hall::in_weather(7, &Simulator::new(), &weather);
        let (killer, own) = enter(&mut hall);
        Self { hall, killer, own }
    }

    /// What the killer is told: 0 for OK.
    fn told(&mut self, text: &str) -> u16 {
        code(&self.hall.ask(self.killer, text))
    }

    fn command(&mut self, code: u8, payload: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        command::write(&mut bytes, code, payload);
        self.hall.send(self.killer, &bytes);
        self.hall.packet(self.killer).expect("answered").0
    }

    /// Whether a client is still served.
    fn lives(&mut self, sock: Sock) -> bool {
        let mut bytes = Vec::new();
        command::write(&mut bytes, command::code::PING, b"");
        self.hall.send(sock, &bytes);
        self.hall.packet(sock).is_some_and(|(answer, _)| answer.first() == Some(&0))
    }

    /// The first login has asked one what sessions begin with.
    fn reached_servers(&self) -> bool {
        self.hall.counters().checkouts > 1
    }
}

/// A client that is logged in, and the id that it was told.
fn enter(hall: &mut Hall) -> (Sock, u32) {
    let (sock, greeting) = hall.connect();
    let id = Greeting::parse(&greeting).expect("a greeting").connection_id;
    hall.send(sock, &respond(&greeting, Caps::DEPRECATE_EOF));
    let (ok, _) = hall.packet(sock).expect("an answer to the login");
    assert_eq!(ok.first(), Some(&0));
    (sock, id)
}

fn code(answer: &[u8]) -> u16 {
    ErrPacket::parse(answer).map_or(0, |error| error.code)
}

#[test]
fn every_spelling_that_tells_whom_it_means_ends_that_session() {
    let mut room = Room::open();
    for form in [
        "KILL #",
        "kill connection #;",
        "KILL # /* app:x */",
        "/* app */ KILL #",
        "/*!40000 KILL # */",
        "KILL -- why\n #",
        "KILL #;;",
        "KILL HARD #",
        "KILL SOFT CONNECTION #",
        "KILL (#)",
        "KILL # + 0",
        "KILL '#'",
    ] {
        let (victim, id) = enter(&mut room.hall);
        assert_eq!(room.told(&form.replace('#', &id.to_string())), 0, "{form}");
        assert!(room.hall.ends(victim), "{form}");
    }
    let (victim, id) = enter(&mut room.hall);
    assert_eq!(room.told(&format!("SET @v = {id}")), 0);
    assert_eq!(room.told("KILL @v"), 0);
    assert!(room.hall.ends(victim));
    let (victim, id) = enter(&mut room.hall);
    assert_eq!(code(&room.command(command::code::PROCESS_KILL, &id.to_le_bytes())), 0);
    assert!(room.hall.ends(victim));
    let (victim, id) = enter(&mut room.hall);
    assert_eq!(room.told(&format!("KILL QUERY {id}")), 0);
    assert!(room.lives(victim), "only its query was meant");
    assert!(!room.reached_servers());
}

#[test]
fn what_does_not_tell_is_refused_and_kills_nobody() {
    let mut room = Room::open();
    let (victim, id) = enter(&mut room.hall);
    assert_eq!(room.told(&format!("SET @k = 'KILL {id}', @ki = 'KI', @ll = 'LL {id}'")), 0);
    for (form, expected) in [
        ("SELECT 1; KILL #", NOT_SUPPORTED),
        ("KILL #; KILL #", NOT_SUPPORTED),
        ("KILL (SELECT #)", NOT_SUPPORTED),
        ("KILL ID #", NOT_SUPPORTED),
        ("KILL # * 1", NOT_SUPPORTED),
        ("KILL @unset", NOT_SUPPORTED),
        ("/*M! KILL # */", NOT_SUPPORTED),
        ("SET STATEMENT max_statement_time=1 FOR KILL #", NOT_SUPPORTED),
        ("BEGIN NOT ATOMIC KILL #; END", NOT_SUPPORTED),
        ("EXECUTE IMMEDIATE 'KILL #'", NOT_SUPPORTED),
        ("EXECUTE IMMEDIATE CONCAT('KILL ', #)", NOT_SUPPORTED),
        (r"EXECUTE IMMEDIATE '\nK\ILL #'", NOT_SUPPORTED),
        ("EXECUTE IMMEDIATE N'KILL #'", NOT_SUPPORTED),
        ("EXECUTE IMMEDIATE CONCAT('KI', 'LL ', #)", NOT_SUPPORTED),
        ("EXECUTE IMMEDIATE X'4b494C4C2035'", NOT_SUPPORTED),
        ("PREPARE s FROM 0x4b494C4C2035", NOT_SUPPORTED),
        ("PREPARE s FROM 'KI' 'LL #'", NOT_SUPPORTED),
        (
            "CREATE TRIGGER t BEFORE INSERT ON a FOR EACH ROW INSERT INTO begin SET a = 1; KILL #",
            NOT_SUPPORTED,
        ),
        ("PREPARE s FROM 'KILL #'", NOT_SUPPORTED),
        ("PREPARE s FROM @k", NOT_SUPPORTED),
        ("EXECUTE IMMEDIATE @k", NOT_SUPPORTED),
        ("EXECUTE IMMEDIATE CONCAT(@ki, @`LL`)", NOT_SUPPORTED),
        ("BEGIN NOT ATOMIC EXECUTE IMMEDIATE @k; END", NOT_SUPPORTED),
        ("SET @fresh = @k; PREPARE s FROM @fresh", NOT_SUPPORTED),
        ("SET @a='KI', @b='LL #'; EXECUTE IMMEDIATE CONCAT(@a, @b)", NOT_SUPPORTED),
        (
            "BEGIN NOT ATOMIC DECLARE v TEXT DEFAULT CONCAT('ki', 'll #'); \
             EXECUTE IMMEDIATE v; END",
            NOT_SUPPORTED,
        ),
        ("EXECUTE IMMEDIATE _utf16 x'004b0049004c004c00200035'", NOT_SUPPORTED),
        ("PREPARE s FROM b'010010110100100101001100010011000010000000110101'", NOT_SUPPORTED),
        ("EXECUTE IMMEDIATE REVERSE('# LLIK')", NOT_SUPPORTED),
        ("KILL QUERY ID #", UNKNOWN_QUERY),
        ("KILL 0", UNKNOWN_THREAD),
        ("KILL -#", UNKNOWN_THREAD),
        ("KILL 4294967295", UNKNOWN_THREAD),
        ("KILL 4294967296", UNKNOWN_THREAD),
    ] {
        assert_eq!(room.told(&form.replace('#', &id.to_string())), expected, "{form}");
        assert!(room.lives(victim), "{form}");
    }
    let answer = room.command(command::code::STMT_PREPARE, b"BEGIN NOT ATOMIC KILL ?; END");
    assert_eq!(code(&answer), NOT_PREPARED);
    for text in [
        "BEGIN NOT ATOMIC EXECUTE IMMEDIATE ?; END",
        "BEGIN NOT ATOMIC PREPARE s FROM ?; EXECUTE s; END",
        "BEGIN NOT ATOMIC SET @z = ?; EXECUTE IMMEDIATE @z; END",
    ] {
        let answer = room.command(command::code::STMT_PREPARE, text.as_bytes());
        assert_eq!(code(&answer), NOT_SUPPORTED, "{text}");
    }
    assert!(room.lives(victim) && room.lives(room.killer));
    assert!(!room.reached_servers());
}

#[test]
fn a_kill_whose_end_was_not_seen_is_refused() {
    let mut room = Room::open();
    let (victim, id) = enter(&mut room.hall);
    let mut bytes = Vec::new();
    let text = format!("KILL {id} /*{}*/", "x".repeat(600_000));
    command::write_query(&mut bytes, text.as_bytes());
    let end = bytes.split_off(bytes.len() - 20);
    room.hall.send(room.killer, &bytes);
    room.hall.wait_ms(100);
    room.hall.send(room.killer, &end);
    let answer = room.hall.packet(room.killer).expect("answered").0;
    assert_eq!(code(&answer), NOT_SUPPORTED);
    assert!(room.lives(victim) && room.lives(room.killer) && !room.reached_servers());
}

#[test]
fn who_kills_itself_is_told_so_and_leaves() {
    for form in ["KILL CONNECTION_ID()", "KILL #", "KILL @@pseudo_thread_id"] {
        let mut room = Room::open();
        let own = room.own.to_string();
        assert_eq!(room.told(&format!("KILL QUERY {own}")), INTERRUPTED);
        // the servers are MySQL's
        assert_eq!(room.told(&form.replace('#', &own)), INTERRUPTED, "{form}");
        assert!(room.hall.ends(room.killer), "{form}");
        assert!(!room.reached_servers());
    }
}

#[test]
fn a_prepared_kill_names_its_session_by_a_parameter() {
    let mut room = Room::open();
    let (victim, id) = enter(&mut room.hall);
    let words = "s1 q1 u=ann db= cs=45 ac=1 tx=0 op=0 pin=0 pop=0 lid=-1 sw=0 k=prepare r=1 w=0 \
                 n=1 wa=0";
    let text = format!("KILL /*{words}*/ ?");
    let prepared = room.command(command::code::STMT_PREPARE, text.as_bytes());
    assert_eq!(prepared.first(), Some(&0), "{}", prepared.escape_ascii());
    room.hall.wait_ms(5);
    room.hall.take(room.killer);
    let before = room.hall.counters().lane_executes;
    let execute = [&prepared[1..5], &[0, 1, 0, 0, 0, 0, 1, 8, 0], &u64::from(id).to_le_bytes()];
    let answer = room.command(command::code::STMT_EXECUTE, &execute.concat());
    assert_eq!(code(&answer), 0);
    assert!(room.hall.ends(victim));
    let null = [&prepared[1..5], &[0, 1, 0, 0, 0, 1, 1, 8, 0]].concat();
    let answer = room.command(command::code::STMT_EXECUTE, &null);
    assert_eq!(code(&answer), NOT_SUPPORTED);
    assert_eq!(room.hall.counters().lane_executes, before);
}

/// A `SET` that only a server can do says what its variables may be all the same.
#[test]
fn a_variable_that_a_server_computes_hides_no_kill() {
    let mut room = Room::open();
    let (stranger, id) = enter(&mut room.hall);
    for (sets, runs) in [
        ("SET @c = CONCAT('KILL ', #)", "PREPARE s FROM @c"),
        ("SET @K = CONCAT('KILL ', #), @x = 1", "EXECUTE IMMEDIATE @k"),
        ("SET @p = 'KI', @p = CONCAT(@p, 'LL #')", "EXECUTE IMMEDIATE CONCAT(@p, '')"),
        ("SET @o = CONCAT('KILL ', CONNECTION_ID() + 1)", "PREPARE s FROM @o"),
        ("SET @q = CONCAT('KILL ', (SELECT MAX(id) FROM t)) -- x", "PREPARE s FROM @q"),
        ("SELECT @r := CONCAT('KILL ', #)", "PREPARE s FROM @r"),
    ] {
        room.told(&sets.replace('#', &id.to_string()));
        assert_eq!(room.told(runs), NOT_SUPPORTED, "{sets}");
    }
    room.told("SET @p = CONCAT(@p, ' ')");
    assert_eq!(room.told("PREPARE s FROM @p"), NOT_SUPPORTED);
    for (sets, runs) in [
        ("SET @c = REVERSE('1 TCELES')", "PREPARE s FROM @c"),
        ("SET @c = 'SELECT 1'", "PREPARE s FROM @c"),
    ] {
        room.told(sets);
        assert_ne!(room.told(runs), NOT_SUPPORTED, "{sets}");
    }
    room.told("SET @c = CONCAT('KILL ', 1)");
    room.command(command::code::RESET_CONNECTION, b"");
    assert_ne!(room.told("PREPARE s FROM @c"), NOT_SUPPORTED, "it is gone");
    assert!(room.lives(stranger));
}

/// A server reads a text in its client's character set, which may have a blank of its own.
#[test]
fn a_blank_of_the_client_s_character_set_hides_no_kill() {
    let mut room = Room::open();
    let (stranger, id) = enter(&mut room.hall);
    let hidden = [b"KILL\xa0", id.to_string().as_bytes()].concat();
    assert_eq!(room.told("SET NAMES latin1"), 0);
    let answer = room.command(command::code::QUERY, &hidden);
    assert_eq!(code(&answer), 0);
    assert!(!room.lives(stranger));

    let (stranger, id) = enter(&mut room.hall);
    let hidden = [b"KILL\xa0", id.to_string().as_bytes()].concat();
    assert_eq!(room.told("SET NAMES utf8"), 0);
    let behind = [b"SET NAMES latin1; ", &*hidden].concat();
    for text in [&behind, &[b"DO 1; ", &*behind].concat()] {
        assert_eq!(code(&room.command(command::code::QUERY, text)), NOT_SUPPORTED);
    }
    // what it sets is not followed, and may be how texts are read
    assert_eq!(room.told("SET session_track_state_change = 1"), 0);
    assert_eq!(code(&room.command(command::code::QUERY, &hidden)), NOT_SUPPORTED);
    let prepared = room.command(command::code::STMT_PREPARE, &hidden);
    assert_eq!(code(&prepared), NOT_PREPARED);
    assert!(room.lives(stranger));
}

/// The command behind it runs all the same, in a state that is not its session's.
#[test]
fn a_kill_that_hits_a_step_in_front_of_a_command_interrupts_a_read_and_loses_a_write() {
    const SLOW: Manners = Manners {
        late: 100,
        delay_us: 10_000_000,
        halting: 0,
        dying: 0,
        leaving: 0,
        blurting: 0,
        hits_steps: true,
    };
    let weather = Weather { faults: Faults::none(), ..Weather::cutting() };
    let mut hall = Hall::in_weather(7, &Simulator::new(), &weather);
    let own = |text: &str| text.replace("ac=1", "ac=0");
    let read = own(&tagged("SELECT", "rows", "0 op=0", "v FROM t"));
    let write = own(&tagged("DELETE", "write", "0 op=0", "FROM t"));
    for (text, expected) in [(&read, INTERRUPTED), (&write, LOST)] {
        let ((killer, _), (victim, id)) = (enter(&mut hall), enter(&mut hall));
        // a connection is there, in which each statement commits by itself
        let plain = tagged("DELETE", "write", "0 op=0", "FROM t");
        assert_eq!(code(&hall.ask(victim, &plain)), 0);
        assert_eq!(code(&hall.ask(victim, "SET autocommit=0")), 0);
        hall.stage.servers.service_mut().behave(SLOW);
        hall.query(victim, text);
        hall.wait_ms(5);
        hall.stage.servers.service_mut().behave(Manners { late: 0, ..SLOW });
        assert_eq!(code(&hall.ask(killer, &format!("KILL QUERY {id}"))), 0);
        assert_eq!(hall.error(victim), Some(expected), "{text}");
        if expected == LOST {
            assert!(hall.ends(victim), "what would come behind counts on it");
            continue;
        }
        assert_eq!(hall.ask(victim, &read).first(), Some(&1), "one column");
    }
    let log = hall.stage.log.lock().expect("nobody panics with the log in hand");
    let broken: Vec<_> = log.iter().map(ToString::to_string).collect();
    assert!(!broken.iter().any(|line| line.contains("internal error")), "{broken:?}");
}
