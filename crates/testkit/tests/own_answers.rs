//! What needs no server and is counted all the same, and what becomes of those who leave before
//! they are answered: every command is counted once.

use engine::rows::RuleRow;
use engine::snapshot::Draft;
use engine::stats::Counters;
use io::{Addr, Faults, Micros, Sock};
use testkit::raw::Hall;
use testkit::sim::{Simulator, Weather};
use wire::command::{self, code};
use wire::{Caps, frame};

/// A client in front of servers that allow one connection each.
struct Room {
    hall: Hall,
    sock: Sock,
    number: u32,
}

impl Room {
    fn open(simulator: &Simulator) -> Self {
        Self::with(simulator, |_| ())
    }

    fn with(simulator: &Simulator, amend: fn(&mut Draft)) -> Self {
        let faults = Faults::none();
        let weather = Weather { max_connections: 1, faults, amend, ..Weather::cutting() };
        let mut hall = Hall::in_weather(7, simulator, &weather);
        let sock = hall.login(Caps::DEPRECATE_EOF);
        Self { hall, sock, number: 0 }
    }

    /// A statement with words for its server; `tx` is 1 in a transaction.
    fn text(&mut self, text: &str, kind: &str, tx: &str) -> String {
        self.number += 1;
        let (verb, rest) = text.split_once(' ').unwrap_or((text, ""));
        let words = format!("u=ann db= cs=45 ac=1 tx={tx} pin=0 pop=0 lid=-1 sw=0 k={kind}");
        format!("{verb} /*s1 q{} {words} r=1 w=0 n=1 wa=0*/ {rest}", self.number)
    }

    fn send(&mut self, text: &str, kind: &str, tx: &str) {
        let text = self.text(text, kind, tx);
        self.hall.query(self.sock, &text);
    }

    fn ask(&mut self, text: &str, kind: &str, tx: &str) -> Vec<u8> {
        self.send(text, kind, tx);
        self.hall.packet(self.sock).expect("answered").0
    }

    fn command(&mut self, payload: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        frame::write_packet(&mut bytes, &mut 0, payload);
        self.hall.send(self.sock, &bytes);
        self.hall.packet(self.sock).expect("answered").0
    }

    fn counters(&self) -> Counters {
        let counters = self.hall.counters();
        assert_eq!(counters.queries, counters.ok + counters.err + counters.killed);
        counters
    }

    /// The primary answers nothing for so many milliseconds.
    fn silence(&mut self, ms: u64) {
        let primary = Addr::Tcp(([10, 0, 0, 1], 3306).into());
        self.hall.stage.net.stall(&primary, Micros::from_ms(ms));
    }

    fn times(&self, what: &str) -> u64 {
        self.hall.stage.board.borrow().tally.get(what).copied().unwrap_or(0)
    }

    /// Prepares a text and takes the definitions of a parameter and a column.
    fn prepare(&mut self, text: &str) {
        let mut bytes = Vec::new();
        command::write(&mut bytes, code::STMT_PREPARE, text.as_bytes());
        self.hall.send(self.sock, &bytes);
        let packets = [(); 3].map(|()| self.hall.packet(self.sock).expect("prepared").0);
        assert_eq!(packets[0].first(), Some(&0));
    }
}

#[test]
fn what_the_proxy_answers_itself_is_counted_as_ok_or_as_an_error() {
    let mut room = Room::open(&Simulator::new());
    let before = room.counters();
    let texts: [&[u8]; 4] =
        [b"COMMIT", b"ROLLBACK", b"SET autocommit=1", b"SELECT CONNECTION_ID()"];
    for text in texts {
        let answer = room.command(&[b"\x03", text].concat());
        assert_ne!(answer.first(), Some(&0xff), "{}", text.escape_ascii());
        // the rest of a result
        room.hall.wait_ms(1);
        room.hall.take(room.sock);
    }
    for simple in [&[code::PING][..], &[code::STATISTICS], b"\x1b\x01\0", &[code::RESET_CONNECTION]]
    {
        assert_ne!(room.command(simple).first(), Some(&0xff), "{simple:?}");
    }
    assert_eq!(room.command(b"\x03SELECT v FROM forbidden_t")[..3], [0xff, 0x7c, 0x04]);
    assert_eq!(room.command(b"\x03SELECT v FROM ignored_t").first(), Some(&0));
    assert_eq!(room.command(b"\x1b\x07\0").first(), Some(&0xff), "there is no such option");
    assert_eq!(room.command(b"\x03KILL 123456")[..3], [0xff, 0x46, 0x04]);
    let after = room.counters();
    assert_eq!((after.ok - before.ok, after.err - before.err), (9, 3));
    assert_eq!((after.commits_filtered, after.rollbacks_filtered), (1, 1));
    assert_eq!((after.answered_by_rules, after.checkouts - before.checkouts), (2, 0));
}

#[test]
fn the_end_of_a_transaction_needs_a_server_only_where_there_is_one() {
    let mut room = Room::open(&Simulator::new());
    assert_eq!(room.ask("BEGIN", "plain", "1 op=1").first(), Some(&0));
    assert_eq!(room.ask("COMMIT", "end", "1 op=0").first(), Some(&0));
    assert_eq!(room.counters().commits_filtered, 0);
    let answer = room.ask("COMMIT", "end", "0 op=0");
    // a server would put its name there
    assert_eq!(answer, [0, 0, 0, 2, 0, 0, 0]);
    assert_eq!((room.counters().commits, room.counters().commits_filtered), (2, 1));
}

#[test]
fn a_transaction_that_no_server_tells_of_is_not_told() {
    let mut room = Room::open(&Simulator::new());
    room.command(b"\x03SET autocommit=0");
    let text = room.text("SAVEPOINT a", "plain", "0 op=0").replace("ac=1", "ac=0");
    assert_eq!(room.hall.ask(room.sock, &text).first(), Some(&0));
    assert_eq!(room.command(&[code::PING]), [0; 7], "no flags");
}

#[test]
fn a_text_that_was_prepared_before_is_answered_as_then_unless_the_connection_may_differ() {
    let mut room = Room::open(&Simulator::new());
    let text = room.text("DELETE FROM t WHERE v = ? RETURNING v", "prepare", "0 op=0");
    for _ in 0..3 {
        room.prepare(&text);
    }
    assert_eq!(room.times("server: prepared"), 1);
    // there may be a temporary table of that name now
    room.ask("CREATE TEMPORARY TABLE t (i INT)", "plain", "0 op=0");
    room.prepare(&text);
    assert_eq!(room.times("server: prepared"), 2);
    let counters = room.counters();
    assert_eq!((counters.prepares, counters.lane_prepares), (4, 2));
}

/// Drivers that pipeline execute the statement prepared last before they see whether it was.
#[test]
fn nothing_is_executed_for_a_statement_whose_prepare_failed() {
    let mut room = Room::with(&Simulator::new(), |draft| {
        set(draft, "mysql-max_allowed_packet", "8192");
    });
    let written = room.text("DELETE FROM t WHERE v = ?", "prepare", "0 op=0");
    let refused_by_the_server = room.text("DELETE FROM gone_t WHERE v = ?", "refuse", "0 op=0");
    let refused_by_a_rule = room.text("DELETE FROM forbidden_t WHERE v = ?", "prepare", "0 op=0");
    let too_long = "x".repeat(9000);
    for refused in [refused_by_the_server, refused_by_a_rule, too_long] {
        room.prepare(&written);
        let executed = room.counters().lane_executes;
        let mut bytes = Vec::new();
        command::write(&mut bytes, code::STMT_PREPARE, refused.as_bytes());
        command::write(
            &mut bytes,
            code::STMT_EXECUTE,
            b"\xff\xff\xff\xff\0\x01\0\0\0\x01\x01\x06\0",
        );
        room.hall.send(room.sock, &bytes);
        let told = [(); 2].map(|()| room.hall.error(room.sock));
        // behind one that is too long the session's connection ends
        let is_right = matches!(told, [Some(1064 | 1148), Some(1243)] | [Some(1153), None]);
        assert!(is_right, "{refused:.99}: {told:?}");
        assert_eq!(room.counters().lane_executes, executed);
    }
}

/// Sets a variable of a configuration.
fn set(draft: &mut Draft, name: &str, value: &str) {
    draft.variables.push((name.into(), value.into()));
}

/// The client loses patience, and its session goes with it.
fn leaves(room: &mut Room) {
    room.hall.wait_ms(150);
    room.hall.close(room.sock);
    assert!(room.hall.until(|hall| hall.sessions() == 0));
}

#[test]
fn who_leaves_while_a_rule_makes_it_wait_was_not_answered() {
    let slow = |draft: &mut Draft| set(draft, "mysql-default_query_delay", "500");
    let mut room = Room::with(&Simulator::new(), slow);
    room.send("DELETE FROM t", "write", "0 op=0");
    assert!(room.hall.until(|hall| hall.counters().delayed == 1));
    let asked = room.hall.counters().checkouts;
    leaves(&mut room);
    let counters = room.counters();
    assert_eq!((counters.killed, counters.clients_aborted), (1, 1));
    assert_eq!(counters.checkouts, asked);
}

#[test]
fn who_leaves_while_it_waits_for_a_connection_was_not_answered_and_the_next_one_is() {
    let mut room = Room::open(&Simulator::new());
    assert_eq!(room.ask("BEGIN", "plain", "1 op=1").first(), Some(&0));
    let holder = room.sock;
    let waiters = [(); 2].map(|()| room.hall.login(Caps::DEPRECATE_EOF));
    for waiter in waiters {
        let text = room.text("DELETE FROM t", "write", "0 op=0");
        room.hall.query(waiter, &text);
        room.hall.wait_ms(10);
    }
    room.hall.wait_ms(150);
    room.hall.close(waiters[0]);
    room.hall.wait_ms(10);
    room.sock = holder;
    assert_eq!(room.ask("COMMIT", "end", "1 op=0").first(), Some(&0));
    assert_eq!(room.hall.packet(waiters[1]).expect("answered").0.first(), Some(&0));
    assert_eq!(room.counters().killed, 1);
}

#[test]
fn what_runs_for_who_leaves_is_killed_unless_the_configuration_says_otherwise() {
    let simulator = Simulator::new();
    for kills in [true, false] {
        let amend: fn(&mut Draft) = match kills {
            true => |_| (),
            false => |draft| set(draft, "mysql-kill_backend_connection_when_disconnect", "false"),
        };
        let mut room = Room::with(&simulator, amend);
        assert_eq!(room.ask("DELETE FROM t", "write", "0 op=0").first(), Some(&0));
        room.silence(500);
        room.send("DELETE FROM t", "write", "0 op=0");
        leaves(&mut room);
        let counters = room.counters();
        assert_eq!((counters.killed, counters.kills_sent), (1, u64::from(kills)));
    }
}

#[test]
fn copies_wait_for_their_turn_and_those_without_room_are_not_made() {
    let mut room = Room::open(&Simulator::new());
    // one may run and one may wait
    let readers = [2, 3].map(|at| Addr::Tcp(([10, 0, 0, at], 3306).into()));
    let began = room.hall.stage.net.now();
    readers.iter().for_each(|reader| room.hall.stage.net.stall(reader, Micros::from_ms(500)));
    for _ in 0..3 {
        assert_eq!(room.ask("DELETE FROM twice_t", "plain", "0 op=0").first(), Some(&0));
    }
    let counters = room.counters();
    assert_eq!((counters.mirrored, counters.mirrors_dropped), (1, 1));
    let counts = |hall: &Hall| hall.stage.proxies().map(|p| p.mirror_counts()).collect::<Vec<_>>();
    assert_eq!(counts(&room.hall), [(1, 1)]);
    assert!(room.hall.until(|hall| counts(hall) == [(0, 0)]));
    let took_ms = room.hall.stage.net.now().since(began).as_ms();
    assert!(took_ms < 600, "the second one waited for {took_ms} ms");
    let counters = room.counters();
    assert_eq!((counters.mirrored, counters.mirrors_failed), (2, 0));
}

/// A server runs a statement with the schema and in the modes that it was prepared with.
#[test]
fn a_rule_that_answers_looks_at_an_execution_as_it_was_prepared() {
    let mut room = Room::with(&Simulator::new(), |draft| {
        let rule = |rule_id, schemaname: &str, asks: &str| RuleRow {
            rule_id,
            active: 1,
            schemaname: Some(schemaname.into()).filter(|name: &String| !name.is_empty()),
            match_digest: Some(asks.into()),
            ok_msg: Some("nothing here".into()),
            ..RuleRow::default()
        };
        draft.rules = vec![rule(1, "", "secret_t"), rule(2, "two", "of_two_t")];
    });
    for (before, reads, after) in [
        (
            "SET sql_mode='NO_BACKSLASH_ESCAPES'",
            r"'\' UNION SELECT v FROM secret_t -- '",
            "SET sql_mode=''",
        ),
        ("SET NAMES gbk", r"'€\' UNION SELECT v FROM secret_t -- '", "SET NAMES latin1"),
        ("USE two", "v FROM of_two_t", "USE three"),
    ] {
        for executes_before in [true, false] {
            assert_eq!(room.hall.ask(room.sock, before).first(), Some(&0), "{before}");
            let text = room.text(&format!("SELECT {reads}"), "prepare", "0 op=0");
            let prepared = room.command(&[&[code::STMT_PREPARE], text.as_bytes()].concat());
            let execute = [&[code::STMT_EXECUTE], &prepared[1..5], &[0, 1, 0, 0, 0]].concat();
            if executes_before {
                assert!(room.command(&execute).ends_with(b"nothing here"), "{text}");
            }
            assert_eq!(room.hall.ask(room.sock, after).first(), Some(&0), "{after}");
            let answer = room.command(&execute);
            assert!(answer.ends_with(b"nothing here"), "{text}: {}", answer.escape_ascii());
        }
    }
    assert_eq!(room.counters().lane_executes, 0);
}

/// What the proxy tells the client of its session, as text.
fn internal_session(room: &mut Room) -> String {
    room.hall.query(room.sock, "PROXYSQL INTERNAL SESSION");
    let packets = [(); 3].map(|()| room.hall.packet(room.sock).expect("answered").0);
    room.hall.wait_ms(1);
    room.hall.take(room.sock);
    assert_eq!(packets[0], [1], "one column");
    assert!(packets[1].windows(12).any(|name| name == b"session_info"));
    String::from_utf8_lossy(&packets[2]).into_owned()
}

#[test]
fn a_client_is_told_of_its_session_in_proxysqls_words_and_without_secrets() {
    let mut room = Room::open(&Simulator::new());
    assert_eq!(room.command(b"\x03SET @secret = 'hush'").first(), Some(&0));
    let told = internal_session(&mut room);
    for part in [
        "\"default_hostgroup\": 0,",
        "\"locked_on_hostgroup\": -1,",
        "\"transaction_persistent\": true,",
        "\"username\": \"ann\",",
        "\"character_set_client\": \"utf8mb4\",",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
    for part in ["secret", "hush", "password", "\"backends\""] {
        assert!(!told.contains(part), "{part}: {told}");
    }
    assert_eq!(room.ask("BEGIN", "plain", "1 op=1").first(), Some(&0));
    let told = internal_session(&mut room);
    for part in [
        "\"active_transactions\": 1,",
        "\"hostgroup_id\": 0,",
        "\"MultiplexDisabled\": false,",
        "\"MultiplexDisabled_ext\": true,",
        "\"thread_id\": ",
        "\"server_status\": 3,",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
    let other = room.command(b"\x03PROXYSQL INTERNAL WHATEVER");
    assert_eq!(other, b"\xff\x28\x04#42000Unknown PROXYSQL INTERNAL command");
    assert_eq!(room.ask("COMMIT", "end", "1 op=0").first(), Some(&0));
}

/// Nothing is deleted and no secret read, and no rule rewrites anything.
fn forbid(draft: &mut Draft) {
    let refuse = |rule_id, match_digest: &str| RuleRow {
        rule_id,
        active: 1,
        match_digest: Some(match_digest.into()),
        error_msg: Some("forbidden".into()),
        apply: 1,
        ..RuleRow::default()
    };
    let by_text = RuleRow { match_pattern: Some("hidden_t".into()), ..refuse(3, "") };
    draft.rules = vec![
        refuse(1, "^DELETE"),
        refuse(2, "secret_t"),
        RuleRow { match_digest: None, ..by_text },
    ];
}

#[test]
fn a_text_longer_than_what_is_usually_kept_is_judged_by_all_of_it() {
    let mut room = Room::with(&Simulator::new(), forbid);
    let padding = " ".repeat(600_000);
    let columns = "c + c + ".repeat(1000);
    for text in [
        format!("/*{padding}*/ DELETE FROM t"),
        format!("/*{padding}*/ SELECT v FROM hidden_t"),
        format!("SELECT {columns} c FROM secret_t"),
    ] {
        for code in [code::QUERY, code::STMT_PREPARE] {
            let answer = room.command(&[&[code], text.as_bytes()].concat());
            assert_eq!(answer.get(..3), Some(&[0xff, 0x7c, 0x04][..]), "{}", text.len());
        }
    }
    // the login has met a server
    assert_eq!((room.counters().answered_by_rules, room.counters().checkouts), (6, 1));
}

#[test]
fn rules_that_answer_see_what_a_server_runs() {
    let mut room = Room::with(&Simulator::new(), forbid);
    for text in [
        "\x0bDELETE FROM t",
        "/*M! DELETE FROM t */",
        "/*!99999 SELECT 1 */ /*!50700 DELETE FROM t */",
        "/*!99999 ' */ /*!50700 DELETE FROM t */ -- '",
        "SELECT 1 AS `'`; SELECT v FROM secret_t -- '`",
        "SELECT v FROM /*M! secret_t */",
    ] {
        for code in [code::QUERY, code::STMT_PREPARE] {
            let answer = room.command(&[&[code], text.as_bytes()].concat());
            assert_eq!(answer.get(..3), Some(&[0xff, 0x7c, 0x04][..]), "{text}");
        }
    }
    // the login has met a server
    assert_eq!((room.counters().answered_by_rules, room.counters().checkouts), (12, 1));
}

/// Binds no types to its parameter, or is cut; a server must not run it with what others left.
#[test]
fn an_execution_without_parameter_types_and_an_empty_command_are_malformed() {
    let mut room = Room::open(&Simulator::new());
    let text = room.text("DELETE FROM t WHERE v = ?", "prepare", "0 op=0");
    room.prepare(&text);
    let malformed = [0xff, 0x2b, 0x07];
    let whole: &[u8] = b"\x17\xff\xff\xff\xff\0\x01\0\0\0\0\0";
    for short in 5..=whole.len() {
        let answer = room.command(&whole[..short]);
        assert_eq!(answer.get(..3), Some(&malformed[..]), "{short}: {}", answer.escape_ascii());
    }
    assert_eq!(room.command(b"").get(..3), Some(&malformed[..]));
    assert_eq!(room.counters().lane_executes, 0);
}

#[test]
fn a_client_that_sets_how_long_it_may_be_silent_is_ended_then() {
    let mut room = Room::open(&Simulator::new());
    let text = "SET SESSION wait_timeout = 3";
    assert_eq!(room.ask(text, "set", "0 op=0").first(), Some(&0));
    let other = room.hall.login(Caps::DEPRECATE_EOF);
    room.hall.wait_ms(2000);
    assert_eq!(room.command(&[code::PING]).first(), Some(&0));
    room.hall.wait_ms(2000);
    assert_eq!(room.command(&[code::PING]).first(), Some(&0));
    let began = room.hall.stage.net.now();
    assert!(room.hall.ends(room.sock));
    assert!(room.hall.stage.net.now().since(began).as_ms() < 4000);
    room.sock = other;
    assert_eq!(room.command(&[code::PING]).first(), Some(&0));
}

#[test]
fn servers_that_do_not_track_gtids_are_not_asked_to() {
    let mut room = Room::open(&Simulator::new());
    let checkouts = room.counters().checkouts;
    for text in
        [&b"\x03SET SESSION_TRACK_GTIDS = OWN_GTID"[..], b"\x03SET session_track_gtids='OFF'"]
    {
        assert_eq!(room.command(text).first(), Some(&0));
    }
    assert_eq!(room.counters().checkouts, checkouts);
}

#[test]
fn sessions_begin_with_the_isolation_level_of_their_account_and_so_they_do_after_a_reset() {
    let mut room = Room::with(&Simulator::new(), |draft| {
        for user in &mut draft.users {
            user.attributes = r#"{"default-transaction_isolation": "READ COMMITTED"}"#.into();
        }
    });
    let begins = "\"isolation_level\": \"READ COMMITTED\"";
    let told = internal_session(&mut room);
    assert!(told.contains(begins), "{told}");
    let text = "SET SESSION transaction_isolation = 'SERIALIZABLE'";
    assert_eq!(room.ask(text, "set", "0 op=0").first(), Some(&0));
    assert!(!internal_session(&mut room).contains(begins));
    assert_eq!(room.command(&[code::RESET_CONNECTION]).first(), Some(&0));
    assert!(internal_session(&mut room).contains(begins));
}

#[test]
fn what_is_prepared_is_among_the_digests() {
    let mut room = Room::open(&Simulator::new());
    let text = room.text("DELETE FROM t WHERE v = ?", "prepare", "0 op=0");
    for _ in 0..3 {
        room.prepare(&text);
    }
    assert_eq!(room.times("server: prepared"), 1);
    let proxy = room.hall.stage.proxies().next().expect("it is there");
    let digests = &proxy.query_stats.digests;
    let is_it = |text: &str| text.starts_with("DELETE FROM t");
    let rows = digests.rows().filter(|row| is_it(&String::from_utf8_lossy(row.text)));
    let told = rows.map(|row| (row.hostgroup.map(|hostgroup| hostgroup.0), row.totals.count));
    assert_eq!(told.collect::<Vec<_>>(), [(Some(0), 3)], "wherever they were answered");
}
