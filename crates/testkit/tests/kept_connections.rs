//! What a session keeps its connection for, as the process list tells it, statement by statement:
//! when a reason begins, and which statement ends it.

use engine::snapshot::Draft;
use io::{Faults, Service, Sock};
use testkit::raw::Hall;
use testkit::sim::{Simulator, Weather};
use wire::command::{self, code};
use wire::{Caps, lenenc};
use worker::Mail;

/// Somebody in front of servers that allow one connection each.
struct Room {
    hall: Hall,
    sock: Sock,
    number: u32,
}

/// What a statement tells the fake server of a session in autocommit.
const WORDS: &str = "u=ann db= cs=45 ac=1 tx=0 op=0 pin=0 pop=0 lid=-1 sw=0";

/// Of all clients, so that each can have another's connection.
const CAPS: Caps = Caps::DEPRECATE_EOF.union(Caps::MULTI_STATEMENTS);

fn weather() -> Weather {
    Weather { max_connections: 1, faults: Faults::none(), ..Weather::cutting() }
}

impl Room {
    fn open(simulator: &Simulator, weather: &Weather) -> Self {
        let mut hall = Hall::in_weather(7, simulator, weather);
        let sock = hall.login(CAPS);
        Self { hall, sock, number: 0 }
    }

    /// Sends a statement, with words that ask its server for an answer of that kind; the first
    /// byte of the answer.
    fn ask(&mut self, text: &str, kind: &str) -> u8 {
        self.ask_with("", text, kind)
    }

    /// The same with an annotation.
    fn ask_with(&mut self, hint: &str, text: &str, kind: &str) -> u8 {
        self.number += 1;
        let (verb, rest) = text.split_once(' ').unwrap_or((text, ""));
        // of the fake server's: which statements begin a transaction
        let tx = if text.starts_with("BEGIN") { "tx=1 op=1" } else { "tx=0 op=0" };
        let text = format!(
            "{verb} /*{hint}s1 q{} u=ann db= cs=45 ac=1 {tx} pin=0 pop=0 lid=-1 sw=0 k={kind} r=1 \
             w=0 n=1 wa=0*/ {rest}",
            self.number
        );
        let answer = self.hall.ask(self.sock, &text);
        if answer == [1] {
            self.hall.result(self.sock);
        }
        answer.first().copied().unwrap_or_default()
    }

    fn send(&mut self, code: u8, body: &[u8]) {
        let mut bytes = Vec::new();
        command::write(&mut bytes, code, body);
        self.hall.send(self.sock, &bytes);
    }

    fn held_for(&self) -> String {
        let mut sessions = self.hall.stage.proxies().flat_map(|proxy| proxy.sessions());
        let (_, session) = sessions.next().expect("the session is there");
        session.reasons().names().collect::<Vec<_>>().join(", ")
    }

    /// Somebody else gets the connection within so many milliseconds.
    fn is_free_for_others(&mut self, within_ms: u64) -> bool {
        let other = self.hall.login(CAPS);
        let words = "u=ann db= cs=45 ac=1 tx=0 op=0 pin=0 pop=0 lid=-1 sw=0 k=write r=0 w=0 n=1";
        self.hall.query(other, &format!("DELETE /*s2 q1 {words} wa=0*/ FROM t"));
        let (began, mut came) = (self.hall.stage.net.now(), Vec::new());
        while came.is_empty() && self.hall.stage.net.now().since(began).as_ms() < within_ms {
            self.hall.step();
            came = self.hall.take(other);
        }
        self.hall.close(other);
        let is_other_gone = |hall: &Hall| hall.stage.proxies().all(|p| p.session_count() <= 1);
        assert!(self.hall.until(is_other_gone));
        !came.is_empty()
    }
}

/// Statements in order, and what their session keeps its connection for after each.
type Story<'a> = &'a [(&'a str, &'a str)];

fn keeps(stories: &[Story<'_>]) {
    let simulator = Simulator::new();
    stories.iter().for_each(|steps| tell(&simulator, steps));
}

/// The statements succeed; `COMMIT`s and `ROLLBACK`s end the fake server's transaction.
fn tell(simulator: &Simulator, steps: Story<'_>) {
    let mut room = Room::open(simulator, &weather());
    for (text, why) in steps {
        let ends = text.starts_with("COMMIT") || text.starts_with("ROLLBACK");
        let kind = match text.starts_with("SELECT") {
            true => "rows",
            false if ends => "end",
            false => "plain",
        };
        assert_ne!(room.ask(text, kind), 0xff, "{text}");
        assert_eq!(room.held_for(), *why, "after {text}, of {steps:?}");
    }
    let is_free = steps.last().is_some_and(|(_, why)| why.is_empty());
    assert_eq!(room.is_free_for_others(100), is_free, "after {steps:?}");
}

#[test]
fn a_transaction_unlocks_tables_but_not_the_instance() {
    keeps(&[
        &[("LOCK TABLES t WRITE", "lock_tables"), ("BEGIN", "transaction"), ("COMMIT", "")],
        &[
            ("FLUSH TABLES WITH READ LOCK", "lock_tables"),
            ("BEGIN", "transaction, lock_tables"),
            ("COMMIT", "lock_tables"),
            ("UNLOCK TABLES", ""),
        ],
        // what was locked before is forgotten with it
        &[
            ("SELECT GET_LOCK('a', 1)", "get_lock"),
            ("FLUSH TABLES WITH READ LOCK", "lock_tables, get_lock"),
            ("UNLOCK TABLES", "get_lock"),
            ("LOCK TABLES t READ", "lock_tables, get_lock"),
            ("BEGIN", "transaction, get_lock"),
            ("ROLLBACK", "get_lock"),
        ],
    ]);
}

#[test]
fn temporary_tables_keep_a_connection_until_the_last_is_dropped() {
    keeps(&[
        &[
            ("CREATE TEMPORARY TABLE a (i INT)", "temporary_table"),
            ("CREATE TEMPORARY TABLE two.b (i INT)", "temporary_table"),
            ("DROP TABLE a", "temporary_table"),
            ("DROP TEMPORARY TABLE IF EXISTS b", "temporary_table"),
            ("DROP TABLE two.b", ""),
        ],
        // what it is called then is not followed
        &[
            ("CREATE TEMPORARY TABLE a (i INT)", "temporary_table"),
            ("ALTER TABLE a RENAME TO b", "temporary_table"),
            ("DROP TABLE a, b", "temporary_table"),
        ],
        // there was none that could be called otherwise
        &[
            ("SELECT GET_LOCK('a', 1)", "get_lock"),
            ("ALTER TABLE a RENAME TO b", "get_lock"),
            ("CREATE TEMPORARY TABLE a (i INT)", "temporary_table, get_lock"),
            ("DROP TABLE a", "get_lock"),
        ],
    ]);
}

#[test]
fn what_is_fetched_on_another_connection_ends_no_reason_of_this_one() {
    let mut room = Room::open(&Simulator::new(), &weather());
    let text = format!("SELECT /*s1 q1 {WORDS} k=prepare r=1 w=0 n=1 wa=0*/ v FROM t WHERE a=?");
    room.send(code::STMT_PREPARE, text.as_bytes());
    let prepared = [(); 3].map(|()| room.hall.packet(room.sock).expect("prepared").0);
    let stmt = &prepared[0][1..5];
    // a cursor, once, with types: a string
    let mut body = [stmt, &[1, 1, 0, 0, 0, 0, 1, 0xfd, 0]].concat();
    let value = format!("s1 q2 {WORDS} k=rows r=3 w=0 n=1 wa=0 -");
    lenenc::write_bytes(&mut body, value.as_bytes());
    room.send(code::STMT_EXECUTE, &body);
    room.hall.result(room.sock);
    assert_eq!(room.held_for(), "cursor");
    room.number = 2;
    room.ask("CREATE TEMPORARY TABLE a (i INT)", "plain");
    assert_eq!(room.held_for(), "temporary_table, cursor");
    room.send(code::STMT_FETCH, &[stmt, &[1, 0, 0, 0]].concat());
    room.hall.result(room.sock);
    for text in ["SELECT 1", "SELECT 2"] {
        room.ask(text, "rows");
        assert_eq!(room.held_for(), "temporary_table, cursor", "{text}");
    }
    room.ask("DROP TABLE a", "plain");
    assert_eq!(room.held_for(), "cursor");
}

#[test]
fn named_locks_keep_a_connection_as_often_as_they_were_taken() {
    keeps(&[
        &[
            ("SELECT GET_LOCK('a', 1)", "get_lock"),
            ("SELECT GET_LOCK('A', 1)", "get_lock"),
            ("SELECT RELEASE_LOCK('b')", "get_lock"),
            ("SELECT RELEASE_LOCK('A')", "get_lock"),
            ("SELECT RELEASE_LOCK('a')", ""),
        ],
        &[
            ("SELECT GET_LOCK('a', 1)", "get_lock"),
            ("SELECT GET_LOCK('b', 1)", "get_lock"),
            ("SELECT IS_FREE_LOCK('a')", "get_lock"),
            ("SELECT RELEASE_ALL_LOCKS()", ""),
        ],
        // whose name is not known may be any
        &[
            ("SELECT GET_LOCK(CONCAT('a', 'b'), 1)", "get_lock"),
            ("SELECT RELEASE_LOCK('ab')", "get_lock"),
            ("SELECT RELEASE_ALL_LOCKS()", ""),
        ],
    ]);
}

#[test]
fn to_look_at_a_named_lock_keeps_no_connection_even_if_it_fails() {
    let mut room = Room::open(&Simulator::new(), &weather());
    for text in ["SELECT IS_FREE_LOCK('a')", "SELECT RELEASE_LOCK('a')"] {
        assert_eq!(room.ask(text, "rows"), 1);
        assert_eq!(room.held_for(), "", "{text}");
        assert_eq!(room.ask(text, "deadlock"), 0xff);
        assert_eq!(room.held_for(), "has_warnings", "{text}");
    }
    assert_eq!(room.ask("SELECT GET_LOCK('a', 1)", "deadlock"), 0xff);
    assert_eq!(room.held_for(), "get_lock, has_warnings");
}

#[test]
fn an_end_counts_only_as_the_one_statement_of_its_text() {
    keeps(&[
        &[
            ("DROP TABLE IF EXISTS x; CREATE TEMPORARY TABLE t (i INT)", "temporary_table"),
            ("DROP TABLE t", "temporary_table"),
        ],
        &[
            ("CREATE TEMPORARY TABLE a (i INT)", "temporary_table"),
            ("SELECT 1; ALTER TABLE a RENAME TO b", "temporary_table"),
            ("DROP TABLE a", "temporary_table"),
        ],
        &[("UNLOCK TABLES; LOCK TABLES t WRITE", "lock_tables"), ("UNLOCK TABLES", "")],
        &[
            ("LOCK TABLES t READ; FLUSH TABLES WITH READ LOCK", "lock_tables"),
            ("BEGIN", "transaction, lock_tables"),
            ("COMMIT", "lock_tables"),
            ("UNLOCK TABLES", ""),
        ],
        &[
            ("SELECT GET_LOCK('a', 1)", "get_lock"),
            ("SELECT RELEASE_ALL_LOCKS(); SELECT GET_LOCK('b', 1)", "get_lock"),
            ("SELECT RELEASE_LOCK('b')", "get_lock"),
            ("SELECT RELEASE_ALL_LOCKS()", ""),
        ],
    ]);
}

#[test]
fn what_failed_may_have_taken_a_lock_or_made_a_table() {
    let simulator = Simulator::new();
    let stories: &[&[(&str, &str, &str)]] = &[
        &[
            ("SELECT GET_LOCK('a', 1), v FROM t", "deadlock", "get_lock, has_warnings"),
            ("SELECT 1", "rows", "get_lock"),
            ("SELECT RELEASE_ALL_LOCKS()", "rows", ""),
        ],
        &[
            ("SELECT GET_LOCK('a', 1)", "deadlock", "get_lock, has_warnings"),
            ("SELECT 1", "rows", "get_lock"),
            ("SELECT RELEASE_LOCK('a')", "deadlock", "get_lock, has_warnings"),
            ("SELECT RELEASE_LOCK('a')", "rows", ""),
        ],
        // no row, so that nobody has computed it
        &[
            ("SELECT GET_LOCK('a', 1)", "rows", "get_lock"),
            ("SELECT RELEASE_LOCK('a')", "plain", "get_lock"),
            ("SELECT RELEASE_ALL_LOCKS()", "plain", "get_lock"),
            ("DO RELEASE_LOCK('a')", "plain", ""),
        ],
        &[
            ("SELECT GET_LOCK('a', 1); SELECT v FROM t", "deadlock", "get_lock, has_warnings"),
            ("SELECT RELEASE_LOCK('a')", "rows", "get_lock"),
        ],
        &[
            (
                "CREATE TEMPORARY TABLE a (i INT); SELECT v FROM t",
                "deadlock",
                "temporary_table, has_warnings",
            ),
            ("SELECT 1", "rows", "temporary_table"),
            ("DROP TABLE a", "plain", "temporary_table"),
        ],
        &[
            ("CREATE TEMPORARY TABLE a (i INT)", "plain", "temporary_table"),
            ("DROP TABLE a, b", "deadlock", "temporary_table, has_warnings"),
            ("DROP TABLE a", "plain", ""),
        ],
        &[(
            "FLUSH TABLES WITH READ LOCK; GIBBERISH",
            "deadlock",
            "lock_tables, has_warnings, not_understood",
        )],
        &[
            ("FLUSH TABLES WITH READ LOCK", "deadlock", "lock_tables, has_warnings"),
            ("BEGIN", "plain", "transaction, lock_tables"),
            ("COMMIT", "end", "lock_tables"),
            ("UNLOCK TABLES", "plain", ""),
        ],
        &[
            ("UNLOCK TABLES; SELECT v FROM t", "deadlock", "has_warnings"),
            ("PREPARE a FROM 'SELECT 1'", "deadlock", "text_prepare, has_warnings"),
            ("SELECT 1", "rows", "text_prepare"),
        ],
    ];
    for story in stories {
        let mut room = Room::open(&simulator, &weather());
        for (text, kind, why) in *story {
            assert_eq!(room.ask(text, kind) == 0xff, *kind == "deadlock", "{text}");
            assert_eq!(room.held_for(), *why, "after {text}, of {story:?}");
        }
    }
}

#[test]
fn whoever_waits_gets_a_new_connection_as_soon_as_one_is_closed() {
    let simulator = Simulator::new();
    let mut room = Room::open(&simulator, &weather());
    room.ask("LOCK TABLES t WRITE", "plain");
    let other = room.hall.login(CAPS);
    let words = "u=ann db= cs=45 ac=1 tx=0 op=0 pin=0 pop=0 lid=-1 sw=0 k=write r=0 w=0 n=1 wa=0";
    room.hall.query(other, &format!("DELETE /*s2 q1 {words}*/ FROM t"));
    // it has just looked
    room.hall.wait_ms(210);
    assert!(room.hall.take(other).is_empty(), "the only connection is kept");
    let mut bytes = Vec::new();
    command::write(&mut bytes, code::QUIT, &[]);
    let began = room.hall.stage.net.now();
    room.hall.send(room.sock, &bytes);
    assert_eq!(room.hall.packet(other).expect("answered").0.first(), Some(&0));
    let took_ms = room.hall.stage.net.now().since(began).as_ms();
    assert!(took_ms < 20, "{took_ms} ms");
}

#[test]
fn statements_with_names_keep_a_connection_for_good() {
    // an execution may have run anything, which outlasts its statement
    keeps(&[&[
        ("PREPARE a FROM 'SELECT f()'", "text_prepare"),
        ("EXECUTE a", "text_prepare"),
        ("DEALLOCATE PREPARE a", "text_prepare"),
    ]]);
}

#[test]
fn a_distributed_transaction_keeps_a_connection_until_it_is_ended() {
    keeps(&[&[
        ("XA START 'x'", "xa"),
        ("XA END 'x'", "xa"),
        ("XA PREPARE 'x'", "xa"),
        ("XA COMMIT 'x'", ""),
    ]]);
}

#[test]
fn characteristics_of_the_next_transaction_are_its_own_when_it_begins() {
    keeps(&[&[
        ("SET TRANSACTION ISOLATION LEVEL SERIALIZABLE", "next_transaction"),
        ("BEGIN", "transaction, transaction_characteristics"),
        ("SELECT v FROM t FOR UPDATE", "transaction, transaction_characteristics"),
        ("COMMIT", ""),
    ]]);
    // the servers here tell of transactions that a BEGIN opens
    keeps(&[&[
        ("START TRANSACTION READ ONLY", "transaction_characteristics"),
        ("SELECT v FROM t FOR UPDATE", "next_transaction"),
        ("SET @@autocommit = 1", "next_transaction"),
        ("COMMIT", ""),
        ("START TRANSACTION", ""),
    ]]);
}

#[test]
fn what_failed_is_kept_for_unless_it_can_have_done_nothing() {
    let simulator = Simulator::new();
    // 1213, which says nothing of how far it came, and 1064, with which nothing was done
    for (text, refused, failed) in [
        ("CREATE TEMPORARY TABLE a (i INT)", "temporary_table", "temporary_table"),
        ("CALL p()", "procedure", "procedure"),
        ("GIBBERISH", "", "not_understood"),
        ("GIBBERISH; GIBBERISH", "not_understood", "not_understood"),
        ("SET @a = 5, unknown_variable = v + 1", "", ""),
    ] {
        for (kind, why) in [("refuse", refused), ("deadlock", failed)] {
            let mut room = Room::open(&simulator, &weather());
            assert_eq!(room.ask(text, kind), 0xff, "{text}");
            let why: Vec<_> = [why, "has_warnings"].into_iter().filter(|w| !w.is_empty()).collect();
            let mut held: Vec<_> = room.held_for().split(", ").map(String::from).collect();
            held.sort_by_key(|name| name == "has_warnings");
            assert_eq!(held, why, "{text}: {kind}");
        }
    }
}

/// Sets a variable of a configuration.
fn set(draft: &mut Draft, name: &str, value: &str) {
    draft.variables.push((name.into(), value.into()));
}

#[test]
fn a_connection_is_kept_for_a_while_after_each_statement_where_that_is_asked_for() {
    let delay = |draft: &mut Draft| set(draft, "mysql-connection_delay_multiplex_ms", "300");
    let mut room = Room::open(&Simulator::new(), &Weather { amend: delay, ..weather() });
    // it is open, so nobody waits for it and sets a timer
    assert!(room.is_free_for_others(1000));
    for _ in 0..2 {
        room.ask("DELETE FROM t", "write");
        assert_eq!(room.held_for(), "delay");
        assert!(!room.is_free_for_others(200));
    }
    assert!(room.is_free_for_others(200), "the others wait for longer than that");
    assert_eq!(room.held_for(), "");
}

#[test]
fn each_connection_is_kept_for_a_while_after_its_own_last_statement() {
    let delay = |draft: &mut Draft| set(draft, "mysql-connection_delay_multiplex_ms", "300");
    let mut room = Room::open(&Simulator::new(), &Weather { amend: delay, ..weather() });
    room.ask("DELETE FROM t", "write");
    room.hall.wait_ms(200);
    room.ask_with("hostgroup=1;", "DELETE FROM t", "write");
    assert_eq!(room.held_for(), "delay");
    assert!(room.is_free_for_others(200), "the first one was last used 200 ms ago");
    assert_eq!(room.held_for(), "delay", "and the second one just now");
}

#[test]
fn a_connection_that_a_statement_asked_for_stays_for_others() {
    let mut room = Room::open(&Simulator::new(), &weather());
    let idle = |room: &Room| {
        let lanes = room.hall.stage.proxies().flat_map(|proxy| proxy.lanes());
        let idle = lanes.filter(|(_, lane)| lane.is_idle()).map(|(_, lane)| lane.greeted.thread_id);
        idle.collect::<Vec<_>>()
    };
    room.ask("DELETE FROM t", "write");
    let before = idle(&room);
    room.ask_with("create_new_connection=1;", "DELETE FROM t", "write");
    let after = idle(&room);
    assert_eq!((before.len(), after.len()), (1, 1));
    assert_ne!(before, after);
    room.ask("DELETE FROM t", "write");
    assert_eq!(idle(&room), after);
}

#[test]
fn no_connection_is_kept_for_warnings_where_they_are_not_handled() {
    let off = |draft: &mut Draft| set(draft, "mysql-handle_warnings", "0");
    let mut room = Room::open(&Simulator::new(), &Weather { amend: off, ..weather() });
    assert_eq!(room.ask("DELETE FROM t", "refuse"), 0xff);
    assert_eq!(room.held_for(), "");
}

/// Has connections flushed; says how many are meant, and which are idle afterwards.
fn flush(room: &mut Room, user: Option<&str>) -> (u64, Vec<u32>) {
    let count = std::sync::Arc::new(std::sync::atomic::AtomicU64::new(0));
    for worker in &mut room.hall.stage.workers {
        let (service, io) = worker.parts_mut();
        let counted = count.clone();
        let tell = Box::new(move |more| {
            counted.fetch_add(more, std::sync::atomic::Ordering::Relaxed);
        });
        service.on_mail(io, Mail::FlushConnections { user: user.map(Into::into), tell });
    }
    room.hall.wait_ms(10);
    let lanes = room.hall.stage.proxies().flat_map(|proxy| proxy.lanes());
    let idle = lanes.filter(|(_, lane)| lane.is_idle()).map(|(_, lane)| lane.greeted.thread_id);
    (count.load(std::sync::atomic::Ordering::Relaxed), idle.collect())
}

#[test]
fn flushed_connections_serve_nobody_but_whoever_has_them() {
    let mut room = Room::open(&Simulator::new(), &weather());
    assert_eq!(room.ask("DELETE FROM t", "write"), 0);
    let (of_nobody, before) = flush(&mut room, Some("nobody"));
    assert_eq!((of_nobody, before.len()), (0, 1));
    assert_eq!(flush(&mut room, Some("ann")), (1, vec![]));
    assert_eq!(room.ask("BEGIN", "plain"), 0);
    assert_eq!(room.held_for(), "transaction");
    assert_eq!(flush(&mut room, None), (1, vec![]));
    assert_eq!(room.held_for(), "transaction", "whoever has one keeps it");
    let dropped = room.hall.counters().lanes_dropped;
    assert_eq!(room.ask("COMMIT", "end"), 0);
    assert_eq!(flush(&mut room, Some("nobody")), (0, vec![]));
    assert_eq!(room.hall.counters().lanes_dropped, dropped + 1);
}

#[test]
fn without_multiplexing_each_session_keeps_its_connection() {
    let off = |draft: &mut Draft| set(draft, "mysql-multiplexing", "false");
    let mut room = Room::open(&Simulator::new(), &Weather { amend: off, ..weather() });
    room.ask("DELETE FROM t", "write");
    assert_eq!(room.held_for(), "multiplexing_off");
    assert!(!room.is_free_for_others(1000));
    // nothing is left on it
    room.hall.close(room.sock);
    assert!(room.is_free_for_others(1000));
    let counters = room.hall.counters();
    assert_eq!((counters.lanes_reset, counters.lanes_dropped), (0, 0));
}
