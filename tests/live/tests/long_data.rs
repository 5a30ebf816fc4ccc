//! Parameter data that is sent ahead of an execution, and statements that were prepared before what
//! a session did since. Scripts say the same directly and through the proxy, which sends reads to a
//! replica.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use lab::{Cluster, Flavour, SplitOptions};
use live::{Proxy, Raw, client};
use mysql::prelude::Queryable;
use mysql::{Conn, Statement};
use wire::command::code;
use wire::reply::{EofPacket, ErrPacket, OkPacket};

const FLAVOURS: [Flavour; 2] = [Flavour::MariaDb, Flavour::MySql];

/// What a client does.
#[derive(Clone, Copy)]
enum Step {
    Text(&'static str),
    /// Bytes that are no UTF-8.
    Bytes(&'static [u8]),
    Prepare(&'static str),
    /// `LD` for the parameter.
    Data,
    /// With what was sent ahead.
    Execute,
    /// With a value of its own.
    ExecutePlainly,
    /// With a number.
    ExecuteNumber,
    Open,
    Fetch,
    Reset,
    Ping,
}
use Step::{
    Bytes, Data, Execute, ExecuteNumber, ExecutePlainly, Fetch, Open, Ping, Prepare, Reset, Text,
};

const READ: Step = Prepare("SELECT v FROM w WHERE v <> ?");
const INSERT: Step = Text("INSERT INTO w (v) VALUES ('mine')");
const CALLS: Step = Prepare("SELECT noted(?)");
const WRITTEN: Step = Text("SELECT v FROM w FOR UPDATE");
const HEX: Step = Text("SELECT HEX(v) FROM w FOR UPDATE");
const CHARSETS: Step =
    Text("SELECT @@character_set_client, @@character_set_results, @@collation_connection");
const ESCAPED: Step = Text(r"INSERT INTO w (v) VALUES ('a\'),(''b')");

const SCRIPTS: &[&[Step]] = &[
    &[CALLS, Data, Execute, WRITTEN],
    &[CALLS, Data, Text("BEGIN"), Execute, Text("ROLLBACK"), WRITTEN],
    &[READ, Data, Text("BEGIN"), INSERT, Execute, Text("ROLLBACK"), Ping],
    &[READ, Data, Text("SET autocommit = 0"), INSERT, Execute, Ping, Text("ROLLBACK")],
    &[READ, Data, Text("LOCK TABLES w WRITE"), INSERT, Execute, Text("UNLOCK TABLES")],
    &[READ, Data, Text("CREATE TEMPORARY TABLE w (v VARCHAR(60))"), INSERT, Execute],
    &[Prepare("SELECT CONCAT(?, @c)"), Data, Text("SET @c = CONCAT(1, 2)"), Execute],
    &[Prepare("SELECT CONCAT(?, @c)"), Data, Data, Text("SET @c = 5"), Execute, Data, Execute],
    &[READ, Data, Text("BEGIN"), INSERT, Reset, Ping, ExecutePlainly, Ping, Text("COMMIT")],
    &[READ, Open, Fetch, Text("BEGIN"), INSERT, Fetch, Ping, Text("COMMIT"), Ping],
    &[
        Prepare("SELECT ?"),
        Text("SET NAMES latin1"),
        Text("SET CHARACTER SET utf8mb4"),
        ExecutePlainly,
        CHARSETS,
        Text("INSERT INTO w (v) VALUES ('é')"),
        HEX,
    ],
    &[
        Prepare("SELECT ?"),
        Text("SET CHARACTER SET latin1"),
        Text("SET collation_connection = utf8mb4_bin"),
        Data,
        Execute,
        CHARSETS,
        Bytes(b"INSERT INTO w (v) VALUES ('\xe9')"),
        HEX,
    ],
    &[
        Prepare("SELECT ?"),
        Text("SET sql_mode = 'NO_BACKSLASH_ESCAPES'"),
        Text("SET sql_mode = DEFAULT"),
        ExecutePlainly,
        Ping,
        ESCAPED,
        HEX,
    ],
    // prepared where only the server knows the modes, and executed with other types in others
    &[
        Text("SET sql_mode = 4"),
        Prepare("SELECT \"v\", ? FROM w FOR UPDATE"),
        ExecutePlainly,
        Text("SET sql_mode = DEFAULT"),
        ExecuteNumber,
        Data,
        Execute,
        ExecutePlainly,
    ],
    &[
        Text("SET CHARACTER SET latin1"),
        Prepare("INSERT INTO w (v) VALUES (CONCAT('é', ?))"),
        ExecutePlainly,
        Text("SET NAMES utf8mb4"),
        ExecuteNumber,
        Data,
        Execute,
        HEX,
    ],
    // known from the second round on, so that it is prepared when only the server knows the modes
    &[
        Prepare("INSERT INTO w (v) VALUES (CONCAT('ü', ?))"),
        Text("SET CHARACTER SET latin1"),
        ExecutePlainly,
        Data,
        Execute,
        CHARSETS,
        HEX,
    ],
    &[
        Prepare("INSERT INTO w (v) VALUES ('ぃ\\'),(\"b\") -- ')"),
        Text("SET @q = 'cp932', character_set_client = 'latin1'"),
        Text("SET character_set_client = @q"),
        ExecutePlainly,
        CHARSETS,
        HEX,
    ],
    // as it was read when it was prepared
    &[Prepare("SELECT CONCAT(\"a\", ?)"), Text("SET sql_mode = 4"), ExecutePlainly, Ping],
    &[
        Text("SET sql_mode = 0"),
        Text("SET sql_mode = CONCAT(@@sql_mode, ',ANSI_QUOTES')"),
        Text("SELECT @@sql_mode"),
        INSERT,
    ],
    // what is known of it is no answer then
    &[
        Prepare("INSERT INTO w (v) VALUES (?)"),
        ExecutePlainly,
        Text("START TRANSACTION READ ONLY"),
        Prepare("INSERT INTO w (v) VALUES (?)"),
        ExecutePlainly,
        Text("ROLLBACK"),
    ],
];

/// The session of a script.
struct Session {
    raw: Raw,
    stmt: Vec<u8>,
}

impl Session {
    fn open(port: u16) -> Self {
        let mut session =
            Self { raw: Raw::login(port, "app", "app").expect("logged in"), stmt: Vec::new() };
        session.does(Text("USE test"));
        session
    }

    /// Does a step; the packets of its answer.
    fn does(&mut self, step: Step) -> Vec<Vec<u8>> {
        match step {
            Text(text) => self.asks(code::QUERY, text.as_bytes()),
            Bytes(text) => self.asks(code::QUERY, text),
            Prepare(text) => {
                self.raw.packets.command(code::STMT_PREPARE, text.as_bytes()).expect("sent");
                let answer = self.raw.receive().expect("prepared").1;
                if ErrPacket::is(&answer) {
                    return vec![answer];
                }
                self.stmt = answer[1..5].to_vec();
                // columns and parameters, and the end of each: `prepared` compares them
                let of_each = [answer[5], answer[7]].map(|count| count + u8::from(count > 0));
                let definitions = of_each.into_iter().sum::<u8>();
                (0..definitions).for_each(|_| drop(self.raw.receive().expect("a definition")));
                Vec::new()
            }
            Data => self.sends_data(b"LD"),
            Execute => self.executes(&[0, 1, 0, 0, 0, 0, 1, 0xfd, 0]),
            ExecutePlainly => self.executes(&[0, 1, 0, 0, 0, 0, 1, 0xfd, 0, 1, b'x']),
            ExecuteNumber => self.executes(&[0, 1, 0, 0, 0, 0, 1, 3, 0, 5, 0, 0, 0]),
            Open => self.executes(&[1, 1, 0, 0, 0, 0, 1, 0xfd, 0, 1, b'x']),
            Fetch => {
                self.commands(code::STMT_FETCH, &[1, 0, 0, 0]);
                self.until_ends(1)
            }
            Reset => {
                self.commands(code::STMT_RESET, &[]);
                self.answer()
            }
            Ping => self.asks(code::PING, b""),
        }
    }

    fn sends_data(&mut self, data: &[u8]) -> Vec<Vec<u8>> {
        self.commands(code::STMT_SEND_LONG_DATA, &[&[0, 0], data].concat());
        Vec::new()
    }

    fn executes(&mut self, how: &[u8]) -> Vec<Vec<u8>> {
        self.commands(code::STMT_EXECUTE, how);
        let opens = how.first() == Some(&1);
        if opens { self.until_ends(1) } else { self.answer() }
    }

    fn commands(&mut self, code: u8, rest: &[u8]) {
        let payload = [&self.stmt, rest].concat();
        self.raw.packets.command(code, &payload).expect("sent");
    }

    fn asks(&mut self, code: u8, payload: &[u8]) -> Vec<Vec<u8>> {
        self.raw.packets.command(code, payload).expect("sent");
        self.answer()
    }

    fn answer(&mut self) -> Vec<Vec<u8>> {
        self.until_ends(2)
    }

    fn until_ends(&mut self, ends: usize) -> Vec<Vec<u8>> {
        let mut packets = Vec::new();
        let mut seen = 0;
        while seen < ends {
            let packet = self.raw.receive().expect("answered").1;
            let is_ok = packets.is_empty() && packet.first() == Some(&OkPacket::MARKER);
            let is_end = packet.first() == Some(&EofPacket::MARKER);
            seen += usize::from(is_end && packet.len() <= EofPacket::BYTES);
            let is_all = is_ok && ends == 2 || ErrPacket::is(&packet);
            // what a column is may follow what its connection has in variables
            if ends == 1 || seen > 0 || packets.is_empty() {
                packets.push(packet);
            }
            if is_all {
                break;
            }
        }
        packets
    }
}

fn cluster(name: &str, flavour: Flavour) -> Option<Cluster> {
    let cluster = live::cluster(name, flavour, 1)?;
    let noted = "CREATE FUNCTION noted(x VARCHAR(60)) RETURNS VARCHAR(60) MODIFIES SQL DATA \
                 BEGIN INSERT INTO w (v) VALUES (CONCAT(@@server_id, x)); RETURN x; END";
    for text in [
        "SET GLOBAL log_bin_trust_function_creators = 1",
        "CREATE DATABASE IF NOT EXISTS test",
        "CREATE TABLE test.w (id INT AUTO_INCREMENT PRIMARY KEY, v VARCHAR(60))",
        &noted.replace("noted(", "test.noted(").replace("INTO w", "INTO test.w"),
    ] {
        cluster.primary().sql(text).expect(text);
    }
    cluster.wait_replicated().expect("replicated");
    // MySQL knows the password from then on, and asks for no more than a proof
    drop(client::connect(client::options(cluster.primary().port)));
    Some(cluster)
}

fn proxy(cluster: &Cluster, variables: &str) -> Proxy {
    Proxy::start(|interfaces| {
        let variables = format!("threads = 1\n{variables}");
        let options = SplitOptions { interfaces, variables, ..Default::default() };
        lab::split_toml(cluster, &options).replace("max_connections = 1000", "max_connections = 2")
    })
    .expect("tidegate starts")
}

#[test]
fn data_sent_ahead_and_older_statements_are_where_their_session_is() {
    for flavour in FLAVOURS {
        let Some(cluster) = cluster("sent ahead", flavour) else { continue };
        let proxy = proxy(&cluster, "");
        for (number, script) in SCRIPTS.iter().enumerate() {
            // a row that a replica wrote itself would end the replication
            for round in 0..3 {
                let told = [cluster.primary().port, proxy.port].map(|port| {
                    let rows = "INSERT INTO test.w (v) VALUES ('one'), ('two')";
                    for text in ["TRUNCATE test.w", rows] {
                        cluster.primary().sql(text).expect(text);
                    }
                    cluster.wait_replicated().expect("replicated");
                    let mut session = Session::open(port);
                    script.iter().map(|step| session.does(*step)).collect::<Vec<_>>()
                });
                for (at, (direct, through)) in told[0].iter().zip(&told[1]).enumerate() {
                    assert_eq!(direct, through, "{flavour:?}, {round}: step {at} of {number}");
                }
            }
        }
    }
}

#[test]
fn data_of_any_length_goes_out_with_its_execution() {
    for flavour in FLAVOURS {
        let Some(cluster) = cluster("long data of any length", flavour) else { continue };
        let proxy = proxy(&cluster, "");
        let told = [cluster.primary().port, proxy.port].map(|port| {
            let mut session = Session::open(port);
            session.does(Prepare("SELECT CRC32(?)"));
            // in one command that is collected, and in many
            [vec![3 << 20], vec![100; 1000], vec![1 << 16; 40]].map(|pieces| {
                for (piece, bytes) in pieces.into_iter().enumerate() {
                    session
                        .sends_data(&vec![b'a' + u8::try_from(piece % 20).expect("small"); bytes]);
                }
                session.does(Execute)
            })
        });
        assert_eq!(told[0], told[1], "{flavour:?}");
    }
}

/// As servers do, which compare the data of each parameter with their own `max_allowed_packet`.
#[test]
fn more_data_than_is_kept_fails_the_execution_and_nothing_else() {
    let Some(cluster) = cluster("too much long data", Flavour::MariaDb) else { return };
    let proxy = proxy(&cluster, "max_allowed_packet = 65536\n");
    let mut session = Session::open(proxy.port);
    session.does(Prepare("SELECT LENGTH(?)"));
    for _ in 0..3 {
        session.sends_data(&[b'x'; 30_000]);
    }
    let error = ErrPacket::parse(&session.does(Execute)[0]).map(|error| error.code);
    assert_eq!(error, Ok(1105));
    // longer than a command may be: it has no answer of its own
    session.sends_data(&[b'x'; 30_000]);
    session.sends_data(&[b'x'; 70_000]);
    let error = ErrPacket::parse(&session.does(Execute)[0]).map(|error| error.code);
    assert_eq!(error, Ok(1153));
    session.sends_data(&[b'x'; 30_000]);
    assert!(
        session
            .does(Execute)
            .iter()
            .any(|row| row.windows(4).any(|it| it == 30_000_u32.to_le_bytes()))
    );
}

/// A worker keeps four times `mysql-max_allowed_packet` for all of its sessions.
#[test]
fn data_counts_against_other_sessions_no_longer_than_it_is_kept() {
    let Some(cluster) = cluster("long data of many", Flavour::MariaDb) else { return };
    let proxy = proxy(&cluster, "max_allowed_packet = 262144\n");
    let sends = || {
        let mut session = Session::open(proxy.port);
        session.does(Prepare("SELECT LENGTH(?)"));
        session.sends_data(&[b'x'; 200_000]);
        session
    };
    let is_executed = |session: &mut Session| !ErrPacket::is(&session.does(Execute)[0]);
    let mut keep: Vec<_> = (0..4).map(|_| sends()).collect();
    // it was taken once the client has an answer behind it
    keep.iter_mut().for_each(|session| drop(session.does(Ping)));
    let error = ErrPacket::parse(&sends().does(Execute)[0]).map(|error| error.code);
    assert_eq!(error, Ok(1041));
    for (number, session) in keep.iter_mut().enumerate() {
        match number {
            0 => session.commands(code::STMT_CLOSE, &[]),
            1 => drop(session.does(Reset)),
            2 => assert!(is_executed(session)),
            _ => {
                session.sends_data(&[b'x'; 200_000]);
                let error = ErrPacket::parse(&session.does(Execute)[0]).map(|error| error.code);
                assert_eq!(error, Ok(1105));
            }
        }
        session.does(Ping);
    }
    let mut others: Vec<_> = (0..4).map(|_| sends()).collect();
    assert!(others.iter_mut().all(is_executed), "{}", proxy.log());
}

#[test]
fn what_could_not_be_prepared_alike_once_more_stays() {
    for flavour in FLAVOURS {
        let Some(cluster) = cluster("not evicted", flavour) else { continue };
        let proxy = proxy(&cluster, "max_stmts_per_connection = 2\n");
        for again in [
            "SET sql_mode = 'NO_BACKSLASH_ESCAPES'",
            "SET character_set_results = utf8mb4",
            "SET sql_mode = 'STRICT_ALL_TABLES'",
        ] {
            let told = [cluster.primary().port, proxy.port].map(|port| {
                cluster.primary().sql("TRUNCATE test.w").expect("emptied");
                let mut session = Session::open(port);
                // NO_BACKSLASH_ESCAPES, as a number
                session.does(Text("SET sql_mode = 1048576"));
                session.does(Prepare(r"INSERT INTO w (v) VALUES (CONCAT(?, '\',')),((2)) -- '))"));
                let (mut answers, stmt) = (session.does(ExecutePlainly), session.stmt.clone());
                session.does(Text(again));
                for other in ["SELECT 1, ?", "SELECT 2, ?", "SELECT 3, ?"] {
                    session.does(Prepare(other));
                    session.does(ExecutePlainly);
                }
                session.stmt = stmt;
                answers.extend(session.does(ExecutePlainly));
                answers.extend(session.does(HEX));
                answers
            });
            assert_eq!(told[0], told[1], "{flavour:?}, {again}");
        }
    }
}

/// Prepared where only the server knows that double quotes are for names, and executed with a
/// cursor; the execution that fails is by another type.
const FAILS_ONCE: &[Step] = &[
    Text("SET sql_mode = 4"),
    Prepare("SELECT \"v\", IF(? = 5, (SELECT 1 UNION SELECT 2), 3) FROM w ORDER BY id"),
    Open,
    Fetch,
    Text("SET sql_mode = ''"),
    ExecuteNumber,
    ExecutePlainly,
    Ping,
];

#[test]
fn what_fails_beside_its_cursor_stays_as_it_was_read() {
    let Some(cluster) = cluster("fails once", Flavour::MariaDb) else { return };
    let proxy = proxy(&cluster, "");
    cluster.primary().sql("INSERT INTO test.w (v) VALUES ('one'), ('two')").expect("written");
    cluster.wait_replicated().expect("replicated");
    let told = [cluster.primary().port, proxy.port].map(|port| {
        let mut session = Session::open(port);
        FAILS_ONCE.iter().map(|step| session.does(*step)).collect::<Vec<_>>()
    });
    assert_eq!(told[0], told[1]);
}

/// What a MySQL settles when it prepares a text: it is prepared again with that.
const SETTLED: &[Step] = &[
    Text("SET div_precision_increment = 4, lc_time_names = 'en_US', default_week_format = 3"),
    Prepare("INSERT INTO w (v) SELECT CONCAT(?, 1/3, DAYNAME('2026-11-27'), WEEK('2026-01-01'))"),
    Text("SET div_precision_increment = 9, lc_time_names = 'de_DE', default_week_format = 0"),
    Text("BEGIN"),
    ExecutePlainly,
    Text("COMMIT"),
    WRITTEN,
];

#[test]
fn what_is_settled_when_a_text_is_prepared_is_that_in_a_transaction_too() {
    for flavour in FLAVOURS {
        let Some(cluster) = cluster("settled", flavour) else { continue };
        let proxy = proxy(&cluster, "max_stmts_per_connection = 1\n");
        let told = [cluster.primary().port, proxy.port].map(|port| {
            cluster.primary().sql("TRUNCATE test.w").expect("emptied");
            let mut session = Session::open(port);
            let mut answers = Vec::new();
            for step in SETTLED {
                answers.push(session.does(*step));
                if matches!(step, Text("BEGIN")) {
                    // makes it go from its connection
                    let stmt = session.stmt.clone();
                    session.does(Prepare("SELECT ?"));
                    session.does(ExecutePlainly);
                    session.stmt = stmt;
                }
            }
            answers
        });
        assert_eq!(told[0], told[1], "{flavour:?}");
    }
}

/// A session in modes that only the server knows, with statements from before; more of them than
/// its connection may have.
fn with_older_statements(port: u16) -> (Conn, Vec<Statement>) {
    let mut conn = client::connect(client::options(port));
    let texts = (0..4).map(|number| format!("SELECT 'a' || 'b', {number}, ?"));
    let statements = texts.map(|text| conn.prep(text).expect("prepared")).collect();
    conn.query_drop("SET sql_mode = 4").expect("set");
    (conn, statements)
}

#[test]
fn a_kill_amid_what_is_put_aside_costs_the_session_no_setting() {
    let Some(cluster) = cluster("killed aside", Flavour::MariaDb) else { return };
    let proxy = proxy(&cluster, "max_stmts_per_connection = 2\n");
    let (mut conn, mut statements) = with_older_statements(proxy.port);
    let mut killer = client::connect(client::options(proxy.port));
    let (killed, end) =
        (Arc::new(AtomicU32::new(conn.connection_id())), Arc::new(AtomicBool::new(false)));
    let kills = {
        let (killed, end) = (killed.clone(), end.clone());
        thread::spawn(move || {
            while !end.load(Ordering::Relaxed) {
                // it may be gone by now
                drop(killer.query_drop(format!("KILL QUERY {}", killed.load(Ordering::Relaxed))));
            }
        })
    };
    let until = Instant::now() + Duration::from_secs(8);
    let (mut interrupted, mut lost) = (0, 0);
    while Instant::now() < until {
        for statement in statements.clone() {
            match conn.exec_drop(statement, ("x",)) {
                Ok(()) => continue,
                Err(mysql::Error::MySqlError(error)) if error.code == 1317 => interrupted += 1,
                Err(_) => {
                    lost += 1;
                    (conn, statements) = with_older_statements(proxy.port);
                    killed.store(conn.connection_id(), Ordering::Relaxed);
                    break;
                }
            }
            let modes =
                (0..100).find_map(|_| conn.query_first::<String, _>("SELECT @@sql_mode").ok());
            assert_eq!(modes.flatten().as_deref(), Some("ANSI_QUOTES"), "{interrupted}, {lost}");
        }
    }
    end.store(true, Ordering::Relaxed);
    kills.join().expect("it ran");
    assert!(interrupted + lost > 0, "nothing was hit");
}
