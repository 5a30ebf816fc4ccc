//! Prepared statements of many clients over few backend connections: sysbench in its default mode,
//! definitions that change between executions, and servers that take no more statements. Also
//! types, parameter data and cursors of sessions that take turns on one connection.

use std::time::Duration;

use lab::{Cluster, Flavour, SplitOptions};
use live::{Program, Proxy, Raw, Said, client, scripted, skip};
use mysql::Conn;
use mysql::consts::ColumnType;
use mysql::prelude::Queryable;

const FLAVOURS: [Flavour; 2] = [Flavour::MariaDb, Flavour::MySql];

/// A proxy with so many connections to each server, and so many statements on each of those.
fn proxy(cluster: &Cluster, connections: u32, statements: u32) -> Proxy {
    proxy_where(cluster, connections, &format!("max_stmts_per_connection = {statements}\n"))
}

fn proxy_where(cluster: &Cluster, connections: u32, variables: &str) -> Proxy {
    Proxy::start(|interfaces| {
        let variables = format!("threads = 1\n{variables}");
        let options = SplitOptions { interfaces, variables, ..Default::default() };
        let text = lab::split_toml(cluster, &options);
        text.replace("max_connections = 1000", &format!("max_connections = {connections}"))
    })
    .expect("tidegate starts")
}

/// One of the servers' counters, of all of them together.
fn status(cluster: &Cluster, name: &str) -> u64 {
    cluster.servers().iter().map(|server| server.status(name).expect("a counter")).sum()
}

fn sysbench(proxy: &Proxy, load: &str, seconds: u32, command: &str) {
    let words = [
        load.to_owned(),
        "--threads=64".into(),
        format!("--time={seconds}"),
        "--events=0".into(),
        "--tables=2".into(),
        "--table-size=1000".into(),
        "--mysql-ignore-errors=1213".into(),
        "--mysql-db=sbtest".into(),
        "--mysql-user=app".into(),
        "--mysql-password=app".into(),
        "--mysql-host=127.0.0.1".into(),
        format!("--mysql-port={}", proxy.port),
        command.into(),
    ];
    let skip_transactions = (load != "oltp_read_write").then_some("--skip-trx=on");
    let words = words.iter().map(String::as_str).chain(skip_transactions);
    let finished = Program::new("sysbench").args(words).limit(Duration::from_secs(90)).run();
    let said = format!("{}\n{}", finished.output, finished.errors);
    assert!(finished.success && !finished.errors.contains("FATAL"), "{said}\n{}", proxy.log());
    let kept = finished.output.lines().find(|line| line.contains("reconnects:"));
    assert!(
        kept.is_none_or(|line| line.contains("reconnects:                          0")),
        "{said}"
    );
}

/// A server may answer a prepare as long as it likes: what comes goes to the client, and no more of
/// it is kept than of any statement.
#[test]
fn an_answer_to_a_prepare_that_hardly_ends_fills_no_memory() {
    const COLUMNS: u16 = 60_000;
    let port = lab::free_port().expect("a port");
    let local = std::net::Ipv4Addr::LOCALHOST.into();
    scripted(local, port, |text| match text {
        "SELECT long" => Said::Defined(COLUMNS, 4096),
        _ => Said::Done,
    })
    .expect("it listens");
    let proxy = Proxy::start(|interfaces| {
        format!(
            "[mysql_variables]\ninterfaces = \"{interfaces}\"\nthreads = 1\n\
             monitor_enabled = false\n\n\
             [[mysql_servers]]\nhostgroup_id = 0\nhostname = \"127.0.0.1\"\nport = {port}\n\n\
             [[mysql_users]]\nusername = \"app\"\npassword = \"app\"\n"
        )
    })
    .expect("tidegate starts");
    let mut end = Raw::login(proxy.port, "app", "app").expect("logged in");
    let before = proxy.rss_bytes_max();
    end.send(0, b"\x16SELECT long").expect("sent");
    for number in 0..=u32::from(COLUMNS) {
        let (_, packet) = end.receive().expect("answered");
        let len = if number == 0 { 12 } else { 4096 };
        assert_eq!(packet.len(), len, "packet {number}: {}", packet[..12].escape_ascii());
    }
    let more = proxy.rss_bytes_max() - before;
    assert!(more < 48 << 20, "{more} bytes more for an answer of 240 MB");
}

#[test]
fn sixty_four_clients_prepare_each_statement_once_on_each_of_eight_connections() {
    if !Program::new("sysbench").args(["--version"]).run().success {
        return skip("sysbench", "the package sysbench is not installed");
    }
    let Some(cluster) = live::cluster("sysbench", Flavour::MariaDb, 2) else { return };
    cluster.primary().sql("CREATE DATABASE sbtest").expect("created");
    let proxy = proxy(&cluster, 8, 20);
    sysbench(&proxy, "oltp_read_only", 1, "prepare");
    cluster.wait_replicated().expect("replicated");
    for load in ["oltp_point_select", "oltp_read_only", "oltp_read_write"] {
        let counters = || ["Com_stmt_prepare", "Com_stmt_execute"].map(|n| status(&cluster, n));
        // the first rounds warm up, as many as a busy machine takes
        let mut told = String::new();
        let settles = (0..6).any(|round| {
            let before = counters();
            let most = most_standing(&cluster, || sysbench(&proxy, load, 2, "run"));
            assert!(most > 0 && most <= 8 * 20, "{load}: {most} statements on a server");
            let after = counters();
            let (prepared, executed) = (after[0] - before[0], after[1] - before[1]);
            let said = format!("{load}: {prepared} prepared, {executed} executed, {most} there");
            println!("{said}");
            told = format!("{told}{said}\n");
            round > 0 && executed > 1000 && prepared * 1000 < executed
        });
        assert!(settles, "{told}{}", proxy.log());
    }
}

/// The most statements that stood on a server at a time while something ran.
fn most_standing(cluster: &Cluster, run: impl FnOnce() + Send) -> u64 {
    let standing = |server: &lab::Server| server.status("Prepared_stmt_count").expect("told");
    std::thread::scope(|scope| {
        let run = scope.spawn(run);
        let mut most = 0;
        while !run.is_finished() {
            most = cluster.servers().iter().map(standing).fold(most, u64::max);
            std::thread::sleep(Duration::from_millis(50));
        }
        run.join().expect("it ends");
        most
    })
}

fn number(conn: &mut Conn, text: &str, param: u64) -> u64 {
    conn.exec_first(text, (param,)).expect("executed").expect("a row")
}

#[test]
fn a_connection_keeps_only_so_many_statements_and_serves_any_number() {
    for flavour in FLAVOURS {
        let Some(cluster) = live::cluster("prepared", flavour, 0) else { continue };
        let proxy = proxy(&cluster, 1, 3);
        let mut clients: Vec<_> =
            (0..4).map(|_| client::connect(client::options(proxy.port))).collect();
        for round in 0..10 {
            for client in &mut clients {
                for add in 0..10 {
                    let text = format!("SELECT ? + {add}");
                    assert_eq!(number(client, &text, round), round + add);
                }
            }
        }
        let standing = status(&cluster, "Prepared_stmt_count");
        assert!(standing <= 3, "{standing} on one connection, {}", flavour.name());

        // a server that takes no more than two: what is there makes room for what is needed
        let limit = "SET GLOBAL max_prepared_stmt_count = 2";
        cluster.primary().sql(limit).expect("limited");
        for add in 10..20 {
            let text = format!("SELECT ? + {add}");
            assert_eq!(number(&mut clients[0], &text, 1), 1 + add, "{}", flavour.name());
        }
        cluster.primary().sql("SET GLOBAL max_prepared_stmt_count = 0").expect("limited");
        let refused = clients[1].prep("SELECT ? + 100").expect_err("no statement may stand");
        assert_eq!(client::refusal(&refused).0, 1461, "{refused}");
    }
}

#[test]
fn a_server_that_takes_no_more_statements_executes_no_other_one() {
    for flavour in FLAVOURS {
        let Some(cluster) = live::cluster("prepared", flavour, 0) else { continue };
        // a MySQL's connections lose their statements for as long as tables may be views
        let proxy = proxy_where(&cluster, 2, "stored_code = false\n");
        let connect = || client::connect(client::options(proxy.port));
        let (mut writer, mut other) = (connect(), connect());
        let statements = ["first", "second"].map(|table| {
            writer.query_drop(format!("CREATE TABLE {table} (a INT)")).expect("created");
            writer.prep(format!("INSERT INTO {table} VALUES (?)")).expect("prepared")
        });
        // the connection that has both is taken; another one gets them when they are executed
        other.query_drop("BEGIN").expect("begun");
        writer.exec_drop(&statements[0], (1,)).expect("executed");
        let most = format!(
            "SET GLOBAL max_prepared_stmt_count = {}",
            status(&cluster, "Prepared_stmt_count")
        );
        cluster.primary().sql(&most).expect("limited");
        writer.exec_drop(&statements[1], (2,)).expect("executed");
        let what = "SELECT CONCAT(first.a, ' ', second.a) FROM test.first, test.second";
        let found = cluster.primary().sql(what).expect("told");
        assert_eq!(found, [[Some("1 2".to_owned())]], "{}", flavour.name());
        assert_eq!(proxy.counter("lanes_created").expect("counted"), 2, "{}", flavour.name());
    }
}

#[test]
fn definitions_that_change_between_executions_are_seen_by_everybody() {
    for flavour in FLAVOURS {
        let Some(cluster) = live::cluster("prepared", flavour, 0) else { continue };
        let proxy = proxy(&cluster, 1, 20);
        let mut clients: Vec<_> =
            (0..3).map(|_| client::connect(client::options(proxy.port))).collect();
        clients[0].query_drop("CREATE TABLE d (a INT)").expect("created");
        clients[0].query_drop("INSERT INTO d VALUES (7)").expect("filled");
        let text = "SELECT * FROM d WHERE a > ?";
        let mut before: Vec<_> =
            clients.iter_mut().map(|conn| conn.prep(text).expect("prepared")).collect();
        let mut widths = |clients: &mut [Conn]| -> Vec<usize> {
            let pairs = clients.iter_mut().zip(&mut before);
            pairs
                .map(|(conn, stmt)| {
                    let row: mysql::Row =
                        conn.exec_first(&*stmt, (1,)).expect("executed").expect("a row");
                    row.len()
                })
                .collect()
        };
        assert_eq!(widths(&mut clients), [1, 1, 1]);
        clients[0].query_drop("ALTER TABLE d ADD COLUMN b TEXT").expect("altered");
        assert_eq!(widths(&mut clients), [2, 2, 2], "{}", flavour.name());
        let mut late = client::connect(client::options(proxy.port));
        assert_eq!(late.prep(text).expect("prepared").columns().len(), 2, "{}", flavour.name());
        clients[0].query_drop("DROP TABLE d").expect("dropped");
        let mut last = client::connect(client::options(proxy.port));
        let gone = last.prep(text).expect_err("the table is gone");
        assert_eq!(client::refusal(&gone).0, 1146, "{gone}");
    }
}

#[test]
fn definitions_that_somebody_else_changes_are_seen_after_an_execution() {
    for flavour in FLAVOURS {
        let Some(cluster) = live::cluster("prepared", flavour, 0) else { continue };
        let proxy = proxy(&cluster, 1, 20);
        let change = |text: &str| drop(cluster.primary().sql(text).expect(text));
        change("CREATE TABLE test.e (a INT); INSERT INTO test.e VALUES (7)");
        let text = "SELECT * FROM e WHERE 1 = ?";
        let mut early = client::connect(client::options(proxy.port));
        let statement = early.prep(text).expect("prepared");
        // a lane of its own in the beginning, one that is shared later on
        for columns in 2..4 {
            change(&format!("ALTER TABLE test.e ADD COLUMN b{columns} INT"));
            for _ in 0..30 {
                let row: mysql::Row =
                    early.exec_first(&statement, (1,)).expect("executed").expect("a row");
                assert_eq!(row.len(), columns, "{}", flavour.name());
            }
            let mut late = client::connect(client::options(proxy.port));
            let told = late.prep(text).expect("prepared").columns().len();
            assert_eq!(told, columns, "a client that comes later, {}", flavour.name());
        }
        if live::full() {
            // as many columns as before, and nobody executes
            change("ALTER TABLE test.e MODIFY a BIGINT");
            live::eventually("the new type is told", Duration::from_secs(15), || {
                let mut late = client::connect(client::options(proxy.port));
                let told = late.prep(text).expect("prepared").columns()[0].column_type();
                told == ColumnType::MYSQL_TYPE_LONGLONG
            });
        }
    }
}

#[test]
fn a_prepared_set_goes_where_its_session_goes() {
    for flavour in FLAVOURS {
        let Some(cluster) = live::cluster("prepared", flavour, 0) else { continue };
        let proxy = proxy(&cluster, 1, 20);
        // each has the one connection in turn
        let mut clients: Vec<_> =
            (0..2).map(|_| client::connect(client::options(proxy.port))).collect();
        for round in 0..3 {
            for (number, client) in (10..).zip(&mut clients) {
                let zone = format!("+0{round}:{number}");
                client.exec_drop("SET time_zone = ?, @a = ?", (&zone, round)).expect("set");
                client.exec_drop("SET NAMES latin1", ()).expect("set");
            }
            for (number, client) in (10..).zip(&mut clients) {
                let text = "SELECT @@time_zone, @a, @@character_set_client";
                let seen: (String, i64, String) =
                    client.query_first(text).expect("read").expect("a row");
                let zone = format!("+0{round}:{number}");
                assert_eq!(seen, (zone, round, "latin1".into()), "{}", flavour.name());
            }
        }
        let held = proxy.statistics().expect("told")["held_for"]["set"].as_u64();
        assert_eq!(held, Some(0), "{}", flavour.name());
    }
}

/// A statement of a client that speaks bytes.
struct Stmt {
    raw: Raw,
    id: [u8; 4],
}

const LONGLONG: u8 = 8;
const STRING: u8 = 253;

impl Stmt {
    fn prepare(proxy: &Proxy, text: &str) -> Self {
        let mut raw = Raw::login(proxy.port, "app", "app").expect("a login");
        raw.send(0, &[&[0x16], text.as_bytes()].concat()).expect("sent");
        let (_, head) = raw.receive().expect("an answer");
        assert_eq!(head[0], 0, "{}", String::from_utf8_lossy(&head));
        let id = head[1..5].try_into().expect("four bytes");
        let parts = [&head[5..7], &head[7..9]].iter().filter(|count| ***count != [0, 0]).count();
        Self { raw, id }.skip_parts(parts)
    }

    fn skip_parts(mut self, parts: usize) -> Self {
        for _ in 0..parts {
            while self.raw.receive().expect("a definition").1[0] != 0xfe {}
        }
        self
    }

    fn send(&mut self, code: u8, rest: &[u8]) {
        let command = [&[code], &self.id[..], rest].concat();
        self.raw.send(0, &command).expect("sent");
    }

    /// Executes it with one parameter, telling its type or not; gives the rows' bytes.
    fn execute(&mut self, cursor: u8, kind: Option<u8>, value: &[u8]) -> Vec<Vec<u8>> {
        let mut rest = vec![cursor, 1, 0, 0, 0, 0, u8::from(kind.is_some())];
        rest.extend(kind.iter().flat_map(|kind| [*kind, 0]));
        rest.extend_from_slice(value);
        self.send(0x17, &rest);
        let (_, count) = self.raw.receive().expect("an answer");
        assert_ne!(count[0], 0xff, "{}", String::from_utf8_lossy(&count));
        while self.raw.receive().expect("a definition").1[0] != 0xfe {}
        if cursor == 0 { self.rows() } else { Vec::new() }
    }

    fn rows(&mut self) -> Vec<Vec<u8>> {
        let mut rows = Vec::new();
        loop {
            let (_, packet) = self.raw.receive().expect("a row");
            match packet[0] {
                0xfe => return rows,
                0xff => panic!("{}", String::from_utf8_lossy(&packet)),
                // status and NULLs come first
                _ => rows.push(packet[2..].to_vec()),
            }
        }
    }

    fn fetch(&mut self, count: u8) -> Vec<Vec<u8>> {
        self.send(0x1c, &[count, 0, 0, 0]);
        self.rows()
    }
}

fn text(value: &str) -> Vec<u8> {
    let len = u8::try_from(value.len()).expect("short");
    [&[len], value.as_bytes()].concat()
}

#[test]
fn sessions_that_take_turns_on_one_connection_keep_their_types() {
    for flavour in FLAVOURS {
        let Some(cluster) = live::cluster("prepared", flavour, 0) else { continue };
        let proxy = proxy(&cluster, 1, 20);
        let words = "SELECT HEX(?)";
        let (mut one, mut other) = (Stmt::prepare(&proxy, words), Stmt::prepare(&proxy, words));
        let number = 255_u64.to_le_bytes();
        assert_eq!(one.execute(0, Some(LONGLONG), &number), [text("FF")]);
        assert_eq!(other.execute(0, Some(STRING), &text("abc")), [text("616263")]);
        for _ in 0..3 {
            assert_eq!(one.execute(0, None, &number), [text("FF")], "{}", flavour.name());
            assert_eq!(other.execute(0, None, &text("abc")), [text("616263")]);
        }
        // one for each of the types
        assert!(status(&cluster, "Prepared_stmt_count") <= 2);
    }
}

#[test]
fn parameter_data_and_cursors_stay_with_their_session() {
    for flavour in FLAVOURS {
        let Some(cluster) = live::cluster("prepared", flavour, 0) else { continue };
        let proxy = proxy(&cluster, 2, 20);
        let words = "SELECT LENGTH(?)";
        let (mut one, mut other) = (Stmt::prepare(&proxy, words), Stmt::prepare(&proxy, words));
        let length = |length: u32| length.to_le_bytes().to_vec();
        assert_eq!(one.execute(0, Some(STRING), &text("ab"))[0][..4], length(2));
        for _ in 0..2 {
            one.send(0x18, &[&[0, 0], &[b'x'; 300][..]].concat());
            assert_eq!(other.execute(0, Some(STRING), &text("abc"))[0][..4], length(3));
            one.send(0x18, &[&[0, 0], &[b'x'; 300][..]].concat());
            assert_eq!(other.execute(0, None, &text("abcd"))[0][..4], length(4));
            assert_eq!(one.execute(0, None, &[])[0][..4], length(600), "{}", flavour.name());
        }
        assert_eq!(one.execute(0, None, &text("a"))[0][..4], length(1));

        let words = "SELECT 1 WHERE 1 < ? UNION SELECT 2 UNION SELECT 3 UNION SELECT 4";
        let (mut one, mut other) = (Stmt::prepare(&proxy, words), Stmt::prepare(&proxy, words));
        let two = 2_u64.to_le_bytes();
        one.execute(1, Some(LONGLONG), &two);
        assert_eq!(one.fetch(2).len(), 2);
        assert_eq!(other.execute(0, Some(LONGLONG), &two).len(), 4);
        assert_eq!(one.fetch(2).len(), 2, "{}", flavour.name());
        assert_eq!(other.execute(0, None, &two).len(), 4);
    }
}

#[test]
fn a_closed_statement_is_gone_and_its_id_is_not_given_again() {
    let Some(cluster) = live::cluster("prepared", Flavour::MariaDb, 0) else { return };
    let proxy = proxy(&cluster, 1, 20);
    let mut stmt = Stmt::prepare(&proxy, "SELECT HEX(?)");
    assert_eq!(stmt.execute(0, Some(STRING), &text("a")), [text("61")]);
    stmt.send(0x19, &[]);
    stmt.send(0x17, &[&[0, 1, 0, 0, 0, 0, 1, STRING, 0], &text("a")[..]].concat());
    let (_, refused) = stmt.raw.receive().expect("an answer");
    assert_eq!((refused[0], &refused[1..3]), (0xff, &1243_u16.to_le_bytes()[..]));
    stmt.raw.send(0, b"\x16SELECT LENGTH(?)").expect("sent");
    let (_, head) = stmt.raw.receive().expect("an answer");
    assert_eq!(head[0], 0);
    assert_ne!(head[1..5], stmt.id, "whoever uses the old one is told so");
}

#[test]
fn a_table_is_in_the_schema_where_its_statement_was_prepared() {
    for flavour in FLAVOURS {
        let what = format!("temporary tables of statements with {}", flavour.name());
        let Some(cluster) = live::cluster(&what, flavour, 0) else { continue };
        for schema in ["one", "two"] {
            let text = format!("CREATE DATABASE {schema}; CREATE TABLE {schema}.t (a INT)");
            cluster.primary().sql(&text).expect("made");
        }
        let proxy = proxy(&cluster, 4, 20);
        let mut maker = client::connect(client::options(proxy.port).db_name(Some("one")));
        let made = maker.prep("CREATE TEMPORARY TABLE t (a INT)").expect("prepared");
        maker.query_drop("USE two").expect("used");
        maker.exec_drop(&made, ()).expect("made in one");
        // that of the other schema, which is everybody's
        maker.query_drop("DROP TABLE t").expect("dropped");
        let mut others: Vec<Conn> =
            (0..4).map(|_| client::connect(client::options(proxy.port))).collect();
        for other in &mut others[..3] {
            other.query_drop("BEGIN").expect("begun");
            other.query_drop("INSERT INTO one.t VALUES (1)").expect("written");
        }
        others[..3].iter_mut().for_each(|other| other.query_drop("COMMIT").expect("done"));
        let count: Option<i64> = maker.query_first("SELECT COUNT(*) FROM one.t").expect("read");
        assert_eq!(count, Some(0), "its own");
        drop(maker);
        let mut direct = client::connect(client::options(cluster.primary().port));
        let count: Option<i64> = direct.query_first("SELECT COUNT(*) FROM one.t").expect("read");
        assert_eq!(count, Some(3), "everybody's");
    }
}
