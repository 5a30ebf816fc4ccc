//! What stored code does on real servers, and what sessions keep connections for that call it.

mod characteristics;
mod kept;

use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use lab::{Cluster, Flavour};
use live::{Proxy, Raw, Shared, client};
use mysql::Conn;
use mysql::prelude::Queryable;

static MARIADB: Shared = Shared::new("stored code", Flavour::MariaDb, 0);
static MYSQL: Shared = Shared::new("stored code with MySQL", Flavour::MySql, 0);

/// One function computes, the other one leaves a variable behind.
const FUNCTIONS: [&str; 4] = [
    "DROP FUNCTION IF EXISTS test.clean",
    "DROP FUNCTION IF EXISTS test.dirty",
    "CREATE FUNCTION test.clean(x INT) RETURNS INT DETERMINISTIC NO SQL RETURN x + 1",
    "CREATE FUNCTION test.dirty() RETURNS INT DETERMINISTIC NO SQL \
     BEGIN SET @dirt = 7; RETURN 1; END",
];

/// A proxy of one worker that has not read anything, in front of a server that gives it four
/// connections.
fn proxy(cluster: &Cluster) -> Proxy {
    proxy_with(cluster, 4)
}

/// The same with so many connections.
fn proxy_with(cluster: &Cluster, connections: u32) -> Proxy {
    proxy_where(cluster, connections, "")
}

/// The same with more variables.
fn proxy_where(cluster: &Cluster, connections: u32, variables: &str) -> Proxy {
    for statement in FUNCTIONS {
        cluster.primary().sql(statement).expect(statement);
    }
    let port = cluster.primary().port;
    Proxy::start(|interfaces| {
        format!(
            "[mysql_variables]\ninterfaces = \"{interfaces}\"\nthreads = 1\n\
             get_server_public_key = true\n{variables}\
             [[mysql_servers]]\nhostgroup_id = 0\nhostname = \"127.0.0.1\"\nport = {port}\n\
             max_connections = {connections}\n[[mysql_users]]\n\
             username = \"app\"\npassword = \"app\"\n"
        )
    })
    .expect("tidegate starts")
}

fn number(conn: &mut Conn, query: &str) -> Option<i64> {
    conn.query_first::<Option<i64>, _>(query).expect("answered").flatten()
}

fn code(conn: &mut Conn, query: &str) -> u16 {
    match conn.query::<mysql::Row, _>(query) {
        Err(mysql::Error::MySqlError(error)) => error.code,
        other => panic!("{query}: {other:?}"),
    }
}

fn is_kept_for(proxy: &Proxy, reason: &str) -> u64 {
    proxy.statistics().expect("told")["held_for"][reason].as_u64().expect("a number")
}

#[test]
fn sessions_that_call_what_nobody_has_read_share_connections_within_two_seconds() {
    for servers in [&MARIADB, &MYSQL] {
        let Some(cluster) = servers.cluster() else { continue };
        let proxy = proxy(&cluster);
        let conns: Vec<_> = (0..8).map(|_| client::connect(client::options(proxy.port))).collect();
        let began = Instant::now();
        let callers: Vec<_> = conns
            .into_iter()
            .map(|mut conn| {
                thread::spawn(move || {
                    assert_eq!(number(&mut conn, "SELECT test.clean(1)"), Some(2));
                    conn
                })
            })
            .collect();
        let mut conns: Vec<_> = callers.into_iter().map(|one| one.join().expect("ran")).collect();
        assert!(began.elapsed() < Duration::from_secs(2), "took {:?}", began.elapsed());
        assert!(is_kept_for(&proxy, "user_variable") > 0, "nothing was known at first");
        for conn in &mut conns {
            assert_eq!(number(conn, "SELECT test.clean(2)"), Some(3));
        }
        let kept = is_kept_for(&proxy, "user_variable");
        for conn in &mut conns {
            assert_eq!(number(conn, "SELECT test.clean(2)"), Some(3));
        }
        assert_eq!(is_kept_for(&proxy, "user_variable"), kept, "and then everything was");
        assert!(proxy.statistics().expect("told")["lanes"].as_u64() <= Some(4));
    }
}

#[test]
fn a_function_that_was_read_after_it_ran_and_leaves_a_variable_keeps_its_connection() {
    for servers in [&MARIADB, &MYSQL] {
        let Some(cluster) = servers.cluster() else { continue };
        let proxy = proxy(&cluster);
        let [mut first, mut second] = [0, 1].map(|_| client::connect(client::options(proxy.port)));
        assert_eq!(number(&mut first, "SELECT test.dirty()"), Some(1));
        assert_eq!(number(&mut second, "SELECT test.clean(1)"), Some(2));
        let readings = || proxy.counter("stored_code_readings").expect("counted");
        live::eventually("it is read", Duration::from_secs(20), || readings() > 0);
        // what is known by now gives no new reason
        live::eventually("all of it is known", Duration::from_secs(20), || {
            let kept = is_kept_for(&proxy, "get_lock");
            assert_eq!(number(&mut second, "SELECT test.clean(1)"), Some(2));
            is_kept_for(&proxy, "get_lock") == kept
        });
        for _ in 0..4 {
            let mut other = client::connect(client::options(proxy.port));
            assert_eq!(number(&mut other, "SELECT @dirt"), None);
        }
        assert_eq!(number(&mut first, "SELECT @dirt"), Some(7));
    }
}

#[test]
fn a_lock_is_one_sessions_whenever_its_function_was_made_and_however_it_is_spelled_or_called() {
    const TAKES: &str = "RETURNS INT RETURN GET_LOCK";
    for servers in [&MARIADB, &MYSQL] {
        let Some(cluster) = servers.cluster() else { continue };
        let direct = |statement: &str| cluster.primary().sql(statement).expect("done");
        for name in ["late", "verrou", "vérrou", "shown"] {
            direct(&format!("DROP FUNCTION IF EXISTS test.{name}"));
        }
        direct(&format!("CREATE FUNCTION test.vérrou() {TAKES}('accent', 0)"));
        let proxy = proxy(&cluster);
        let [mut first, mut second] = [0, 1].map(|_| client::connect(client::options(proxy.port)));
        let readings = || proxy.counter("stored_code_readings").expect("counted");
        for _ in 0..3 {
            let before = readings();
            assert_eq!(code(&mut first, "SELECT test.late()"), 1305);
            live::eventually("it is looked for", Duration::from_secs(20), || readings() > before);
        }
        direct(&format!("CREATE FUNCTION test.late() {TAKES}('late', 0)"));
        direct(&format!("CREATE FUNCTION test.shown() {TAKES}('shown', 0)"));
        let of_both = |first: &mut Conn, second: &mut Conn, query: &str| {
            [number(first, query), number(second, query)]
        };
        let late = of_both(&mut first, &mut second, "SELECT test.late()");
        assert_eq!(late, [Some(1), Some(0)]);
        let accent = of_both(&mut first, &mut second, "SELECT test.verrou()");
        assert_eq!(accent, [Some(1), Some(0)]);
        first.query_drop("SHOW SCHEMAS WHERE test.shown()").expect("shown");
        assert_eq!(number(&mut second, "SELECT test.shown()"), Some(0));
    }
}

#[test]
fn a_lock_is_one_sessions_whose_function_was_written_about_before_it_was_made() {
    for servers in [&MARIADB, &MYSQL] {
        let Some(cluster) = servers.cluster() else { continue };
        let direct = |statement: &str| cluster.primary().sql(statement).expect("done");
        for name in ["in_body", "in_comment", "in_block"] {
            direct(&format!("DROP FUNCTION IF EXISTS test.{name}"));
        }
        direct("DROP PROCEDURE IF EXISTS test.plans");
        let block = "BEGIN NOT ATOMIC IF 0 THEN SELECT test.in_block(); END IF; END";
        let texts = [
            ("in_body", "CREATE PROCEDURE test.plans() SELECT test.in_body()"),
            ("in_comment", "SELECT 1 /*!999999 , test.in_comment() */"),
            (
                "in_block",
                if cluster.software().flavour == Flavour::MariaDb { block } else { "SELECT 1" },
            ),
        ];
        let proxy = proxy(&cluster);
        let [mut first, mut second, mut other] =
            [0; 3].map(|_| client::connect(client::options(proxy.port)));
        let readings = || proxy.counter("stored_code_readings").expect("counted");
        for (name, text) in texts {
            let before = readings();
            other.query_drop(text).expect(text);
            let is_read = || readings() > before || !text.contains(name);
            live::eventually("it is looked for", Duration::from_secs(20), is_read);
            direct(&format!(
                "CREATE FUNCTION test.{name}() RETURNS INT RETURN GET_LOCK('{name}', 0)"
            ));
            let query = format!("SELECT test.{name}()");
            assert_eq!(
                [number(&mut first, &query), number(&mut second, &query)],
                [Some(1), Some(0)]
            );
        }
    }
}

#[test]
fn what_a_function_set_before_it_raised_an_error_is_its_sessions() {
    for servers in [&MARIADB, &MYSQL] {
        let Some(cluster) = servers.cluster() else { continue };
        for statement in [
            "DROP FUNCTION IF EXISTS test.raises",
            "CREATE FUNCTION test.raises() RETURNS INT DETERMINISTIC NO SQL BEGIN \
             SET SESSION lock_wait_timeout = 77; \
             SIGNAL SQLSTATE '42000' SET MYSQL_ERRNO = 1064; RETURN 1; END",
        ] {
            cluster.primary().sql(statement).expect(statement);
        }
        let proxy = proxy(&cluster);
        let mut early = client::connect(client::options(proxy.port));
        number(&mut early, "SELECT test.clean(1)");
        live::eventually("it is read", Duration::from_secs(20), || {
            proxy.counter("stored_code_readings").expect("counted") > 0
        });
        let mut first = client::connect(client::options(proxy.port));
        assert_eq!(code(&mut first, "SELECT test.raises()"), 1064);
        // nobody asks for the error
        assert_eq!(number(&mut first, "SELECT 1"), Some(1));
        for _ in 0..4 {
            let mut other = client::connect(client::options(proxy.port));
            assert_ne!(number(&mut other, "SELECT @@lock_wait_timeout"), Some(77));
        }
        assert_eq!(number(&mut first, "SELECT @@lock_wait_timeout"), Some(77));
    }
}

#[test]
fn a_lock_is_one_sessions_that_a_view_or_trigger_takes_which_was_not_there_when_all_was_read() {
    for servers in [&MARIADB, &MYSQL] {
        let Some(cluster) = servers.cluster() else { continue };
        let direct = |statement: &str| cluster.primary().sql(statement).expect(statement);
        for statement in [
            "DROP VIEW IF EXISTS test.new_view",
            "DROP TABLE IF EXISTS test.new_table, test.plain_table",
            "DROP FUNCTION IF EXISTS test.takes",
            "CREATE FUNCTION test.takes(x VARCHAR(9)) RETURNS INT RETURN GET_LOCK(x, 0)",
        ] {
            direct(statement);
        }
        let proxy = proxy(&cluster);
        live::eventually("all of it is known", Duration::from_secs(20), || {
            let kept = is_kept_for(&proxy, "get_lock");
            let mut early = client::connect(client::options(proxy.port));
            assert_eq!(number(&mut early, "SELECT test.clean(1)"), Some(2));
            is_kept_for(&proxy, "get_lock") == kept
        });
        let [mut first, mut second] = [0, 1].map(|_| client::connect(client::options(proxy.port)));
        direct("CREATE VIEW test.new_view AS SELECT test.takes('view') AS a");
        let view = "SELECT a FROM test.new_view";
        assert_eq!([number(&mut first, view), number(&mut second, view)], [Some(1), Some(0)]);
        direct("CREATE TABLE test.new_table (a INT)");
        direct(
            "CREATE TRIGGER test.x BEFORE INSERT ON test.new_table \
             FOR EACH ROW SET NEW.a = test.takes('trigger')",
        );
        let mut third = client::connect(client::options(proxy.port));
        third.query_drop("INSERT INTO test.new_table VALUES (1)").expect("written");
        assert_eq!(number(&mut second, "SELECT IS_FREE_LOCK('trigger')"), Some(0));
        assert_eq!(number(&mut second, "SELECT GET_LOCK('trigger', 0)"), Some(0));
        // one that runs nothing is soon like any other
        direct("CREATE TABLE test.plain_table (a INT)");
        let mut fourth = client::connect(client::options(proxy.port));
        number(&mut fourth, "SELECT a FROM test.plain_table");
        live::eventually("it is known", Duration::from_secs(20), || {
            let kept = is_kept_for(&proxy, "new_table");
            number(&mut fourth, "SELECT a FROM test.plain_table");
            is_kept_for(&proxy, "new_table") == kept
        });
    }
}

/// A view that is to take a lock of its name, and a table below it.
struct Changing(&'static str);

impl Changing {
    fn select(&self) -> String {
        format!("SELECT a FROM test.{}", self.0)
    }

    fn takes_lock(&self) -> String {
        format!("CREATE OR REPLACE VIEW test.{0} AS SELECT GET_LOCK('{0}', 0) AS a", self.0)
    }

    /// Makes the view harmless, and waits until a proxy knows that.
    fn know_harmless(&self, cluster: &Cluster, proxy: &Proxy) {
        let table = format!("CREATE TABLE IF NOT EXISTS test.{}_t (a INT)", self.0);
        let view = format!("CREATE OR REPLACE VIEW test.{0} AS SELECT a FROM test.{0}_t", self.0);
        for statement in [table, view] {
            cluster.primary().sql(&statement).expect(&statement);
        }
        let mut early = client::connect(client::options(proxy.port));
        live::eventually("the view is known", Duration::from_secs(20), || {
            let kept = is_kept_for(proxy, "new_table");
            number(&mut early, &self.select());
            let readings = proxy.counter("stored_code_readings").expect("counted");
            readings > 0 && is_kept_for(proxy, "new_table") == kept
        });
    }

    /// Waits until so many statements about it wait for a metadata lock.
    fn statements_wait(&self, cluster: &Cluster, count: u64) {
        let waiting = format!(
            "SELECT COUNT(*) FROM information_schema.processlist \
             WHERE state LIKE 'Waiting for table metadata lock%' AND info LIKE '%.{}%'",
            self.0
        );
        live::eventually("statements wait", Duration::from_secs(20), || {
            let value = cluster.primary().value(&waiting).expect("told");
            value.parse::<u64>().expect("a number") >= count
        });
    }

    /// One session has the lock; as many others as there are connections want it, each in a
    /// transaction. One of them has to wait until the first one has left.
    fn is_only_the_readers(&self, proxy: &Proxy, mut reader: Conn, others: usize) {
        let waited = proxy.counter("checkouts_waited").expect("counted");
        let get = format!("SELECT GET_LOCK('{}', 0)", self.0);
        let wants = || {
            let mut other = client::connect(client::options(proxy.port));
            let get = get.clone();
            thread::spawn(move || {
                other.query_drop("BEGIN").expect("begun");
                (number(&mut other, &get), other)
            })
        };
        let others: Vec<_> = (0..others).map(|_| wants()).collect();
        live::eventually("the others wait, or have all", Duration::from_secs(20), || {
            proxy.counter("checkouts_waited").expect("counted") > waited
                || others.iter().all(thread::JoinHandle::is_finished)
        });
        let release = format!("SELECT RELEASE_LOCK('{}')", self.0);
        assert_eq!(number(&mut reader, &release), Some(1));
        drop(reader);
        let got: Vec<_> = others.into_iter().map(|one| one.join().expect("answered")).collect();
        let got_it = got.iter().filter(|(got, _)| *got == Some(1)).count();
        assert_eq!(got_it, 1, "{:?}", got.iter().map(|(got, _)| got).collect::<Vec<_>>());
    }
}

#[test]
fn a_lock_is_one_sessions_whose_view_was_made_anew_while_the_statement_waited_for_a_connection() {
    let view = Changing("beside");
    for servers in [&MARIADB, &MYSQL] {
        let Some(cluster) = servers.cluster() else { continue };
        let proxy = proxy_with(&cluster, 1);
        view.know_harmless(&cluster, &proxy);
        let [mut definer, mut reader] =
            [0; 2].map(|_| client::connect(client::options(proxy.port)));
        definer.query_drop("BEGIN").expect("begun");
        number(&mut definer, "SELECT a FROM test.beside_t");
        let waited = proxy.counter("checkouts_waited").expect("counted");
        let select = view.select();
        let reads = thread::spawn(move || (number(&mut reader, &select), reader));
        live::eventually("the reader waits", Duration::from_secs(20), || {
            proxy.counter("checkouts_waited").expect("counted") > waited
        });
        definer.query_drop(view.takes_lock()).expect("made");
        let (taken, reader) = reads.join().expect("answered");
        assert_eq!(taken, Some(1));
        view.is_only_the_readers(&proxy, reader, 1);
    }
}

#[test]
fn a_lock_is_one_sessions_whose_view_was_made_anew_while_the_server_kept_the_statement_waiting() {
    let view = Changing("behind");
    for servers in [&MARIADB, &MYSQL] {
        let Some(cluster) = servers.cluster() else { continue };
        let proxy = proxy_with(&cluster, 2);
        view.know_harmless(&cluster, &proxy);
        let [mut definer, mut reader] =
            [0; 2].map(|_| client::connect(client::options(proxy.port)));
        let mut direct = client::connect(client::options(cluster.primary().port));
        direct.query_drop("BEGIN").expect("begun");
        number(&mut direct, &view.select());
        let (text, select) = (view.takes_lock(), view.select());
        let defines = thread::spawn(move || definer.query_drop(text).map(|()| definer));
        view.statements_wait(&cluster, 1);
        // a reading that began now tells of the view as it was
        let reads = thread::spawn(move || (number(&mut reader, &select), reader));
        view.statements_wait(&cluster, 2);
        direct.query_drop("COMMIT").expect("ended");
        let _definer = defines.join().expect("ran").expect("made");
        let (taken, reader) = reads.join().expect("answered");
        assert_eq!(taken, Some(1));
        view.is_only_the_readers(&proxy, reader, 2);
    }
}

#[test]
fn a_lock_is_one_sessions_whose_view_was_made_anew_by_a_client_that_had_left() {
    let view = Changing("after");
    // MariaDB ends a statement whose client has left
    let Some(cluster) = MYSQL.cluster() else { return };
    let goes_on = "kill_backend_connection_when_disconnect = false\n";
    let proxy = proxy_where(&cluster, 2, goes_on);
    view.know_harmless(&cluster, &proxy);
    let mut direct = client::connect(client::options(cluster.primary().port));
    direct.query_drop("BEGIN").expect("begun");
    number(&mut direct, &view.select());
    let (port, text) = (proxy.port.to_string(), view.takes_lock());
    let mut definer = Command::new("mariadb");
    definer.args(["-h127.0.0.1", "-P", &port, "-uapp", "-papp", "-e", &text]);
    let mut definer = definer.stderr(Stdio::null()).spawn().expect("mariadb-client is there");
    view.statements_wait(&cluster, 1);
    // one who ends sooner than a tenth of a second after asking still reads
    thread::sleep(Duration::from_millis(300));
    definer.kill().and_then(|()| definer.wait()).expect("it has left");
    live::eventually("its session has ended", Duration::from_secs(20), || {
        proxy.statistics().expect("told")["sessions"].as_u64() == Some(0)
    });
    let readings = || proxy.counter("stored_code_readings").expect("counted");
    let before = readings();
    let mut reader = client::connect(client::options(proxy.port));
    live::eventually("the view is read as it was", Duration::from_secs(20), || {
        let other = "CREATE OR REPLACE VIEW test.after_that AS SELECT 1";
        reader.query_drop(other).expect("made");
        // the first one may have begun before the client left
        readings() > before + 2
    });
    direct.query_drop("COMMIT").expect("ended");
    live::eventually("the view is another one", Duration::from_secs(20), || {
        let made = "SELECT view_definition FROM information_schema.views \
                    WHERE table_name = 'after'";
        cluster.primary().value(made).expect("told").to_ascii_lowercase().contains("get_lock")
    });
    assert_eq!(number(&mut reader, &view.select()), Some(1));
    view.is_only_the_readers(&proxy, reader, 2);
}

/// Names behind which a lock is taken: the kind of server that has no other use for it, what
/// defines it, and what uses it.
const HIDING: [(Option<Flavour>, &str, &str); 11] = [
    (None, "VIEW test.1st AS SELECT GET_LOCK('n', 0) AS x", "SELECT x FROM test.1st"),
    (
        None,
        "VIEW test.close AS SELECT GET_LOCK('n', 0) AS x",
        "SELECT x FROM (SELECT x, @`y`FROM`close`) d",
    ),
    (
        None,
        "FUNCTION test.joins() RETURNS INT RETURN GET_LOCK('n', 0)",
        "SELECT STRAIGHT_JOIN joins()",
    ),
    (None, "VIEW test.quick AS SELECT GET_LOCK('n', 0) AS x", "SELECT x FROM quick"),
    (None, "VIEW test.value AS SELECT GET_LOCK('n', 0) AS x", "SELECT x FROM value"),
    (None, "VIEW test.tables AS SELECT GET_LOCK('n', 0) AS x", "SELECT x FROM tables t"),
    (None, "VIEW test.`v``q` AS SELECT GET_LOCK('n', 0) AS x", "SELECT x FROM `v``q`"),
    (
        Some(Flavour::MariaDb),
        "FUNCTION test.random() RETURNS INT RETURN GET_LOCK('n', 0)",
        "SELECT random()",
    ),
    (None, "FUNCTION test.`f``q`() RETURNS INT RETURN GET_LOCK('n', 0)", "SELECT `f``q`()"),
    (
        Some(Flavour::MariaDb),
        "FUNCTION test.uuid_to_bin(x INT) RETURNS INT RETURN GET_LOCK('n', 0)",
        "SELECT uuid_to_bin(1)",
    ),
    (
        Some(Flavour::MySql),
        "FUNCTION test.nvl(x INT) RETURNS INT RETURN GET_LOCK('n', 0)",
        "SELECT nvl(1)",
    ),
];

/// Sessions of the schema `test`, after all was read.
fn after_a_reading<const N: usize>(proxy: &Proxy) -> [Conn; N] {
    let readings = || proxy.counter("stored_code_readings").expect("counted");
    let mut asks = client::connect(client::options(proxy.port));
    asks.query_drop("SELECT test.clean(1)").expect("answered");
    live::eventually("it is read", Duration::from_secs(20), || readings() > 0);
    [0; N].map(|_| client::connect(client::options(proxy.port)))
}

#[test]
fn a_lock_is_one_sessions_under_whatever_name_it_is_taken() {
    for (servers, flavour) in [(&MARIADB, Flavour::MariaDb), (&MYSQL, Flavour::MySql)] {
        let Some(cluster) = servers.cluster() else { continue };
        let here = || HIDING.iter().filter(|(of, ..)| of.is_none_or(|of| of == flavour));
        for (_, definition, _) in here() {
            cluster.primary().sql(&format!("CREATE {definition}")).expect(definition);
        }
        let proxy = proxy_with(&cluster, 2);
        for (_, _, text) in here() {
            let [mut first, mut second] = after_a_reading(&proxy);
            assert_eq!(number(&mut first, text), Some(1), "{text}");
            assert_eq!(number(&mut second, "SELECT GET_LOCK('n', 0)"), Some(0), "{text}");
            assert_eq!(number(&mut first, "SELECT RELEASE_LOCK('n')"), Some(1), "{text}");
        }
    }
}

#[test]
fn a_lock_is_one_sessions_whatever_became_of_its_code_before_it_was_read() {
    const LOCKS: &str = "CREATE FUNCTION test.changes() RETURNS INT DETERMINISTIC NO SQL \
                         RETURN GET_LOCK('n', 0)";
    const TRIGGER: &str = "CREATE TRIGGER test.tr BEFORE INSERT ON test.noted FOR EACH ROW \
                           SET NEW.a = GET_LOCK('n', 0)";
    for servers in [&MARIADB, &MYSQL] {
        let Some(cluster) = servers.cluster() else { continue };
        let mut direct = client::connect(client::options(cluster.primary().port));
        for statement in [
            "DROP TABLE IF EXISTS test.noted",
            "CREATE TABLE test.noted (a INT)",
            "DROP FUNCTION IF EXISTS test.changes",
            "CREATE FUNCTION test.changes() RETURNS INT DETERMINISTIC NO SQL RETURN 1",
        ] {
            direct.query_drop(statement).expect(statement);
        }
        let proxy = proxy_with(&cluster, 3);
        let [mut first, mut second, mut defines] = after_a_reading(&proxy);
        let mut define = |statement: &str| defines.query_drop(statement).expect(statement);
        let readings = || proxy.counter("stored_code_readings").expect("counted");
        // what an execution took lasts longer than its statement
        first.query_drop("PREPARE s FROM 'SELECT test.changes()'").expect("prepared");
        define("DROP FUNCTION test.changes");
        let before = readings();
        define(LOCKS);
        live::eventually("it is read again", Duration::from_secs(20), || readings() > before);
        assert_eq!(number(&mut first, "EXECUTE s"), Some(1));
        first.query_drop("DEALLOCATE PREPARE s").expect("gone");
        assert_eq!(number(&mut second, "SELECT GET_LOCK('n', 0)"), Some(0));
        assert_eq!(number(&mut first, "SELECT RELEASE_LOCK('n')"), Some(1));
        first.reset().expect("reset");
        // ran before its trigger was dropped
        define(TRIGGER);
        first.query_drop("INSERT INTO test.noted VALUES (2)").expect("written");
        let before = readings();
        define("DROP TRIGGER test.tr");
        live::eventually("it is read again", Duration::from_secs(20), || readings() > before);
        assert_eq!(number(&mut second, "SELECT GET_LOCK('n', 0)"), Some(0));
        assert_eq!(number(&mut first, "SELECT RELEASE_LOCK('n')"), Some(1));
    }
}

#[test]
fn a_session_waits_no_longer_than_seconds_for_what_is_read_on_its_connection() {
    const FILLS: &str = "CREATE TABLE test.filling AS SELECT SLEEP(20) AS a";
    for servers in [&MARIADB, &MYSQL] {
        let Some(cluster) = servers.cluster() else { continue };
        let proxy = proxy_with(&cluster, 1);
        cluster.primary().sql("DROP TABLE IF EXISTS test.filling").expect("dropped");
        let mut direct = client::connect(client::options(cluster.primary().port));
        let filler = direct.connection_id();
        let fills = thread::spawn(move || direct.query_drop(FILLS));
        let is_filling = format!(
            "SELECT COUNT(*) FROM information_schema.processlist \
             WHERE id = {filler} AND state LIKE 'User sleep'"
        );
        live::eventually("the table is being filled", Duration::from_secs(20), || {
            cluster.primary().value(&is_filling).expect("told") == "1"
        });
        let mut conn = client::connect(client::options(proxy.port));
        let began = Instant::now();
        for _ in 0..3 {
            assert_eq!(number(&mut conn, "SELECT test.clean(1)"), Some(2));
            thread::sleep(Duration::from_millis(300));
        }
        assert!(began.elapsed() < Duration::from_secs(15), "took {:?}", began.elapsed());
        cluster.primary().sql(&format!("KILL {filler}")).expect("killed");
        fills.join().expect("ran").expect_err("killed");
        // what could not be read is read later
        let mut other = client::connect(client::options(proxy.port));
        assert_eq!(number(&mut other, "SELECT test.clean(1)"), Some(2));
    }
}

#[test]
fn what_a_function_sets_reaches_nobody_else_though_an_eof_packet_tells_of_nothing() {
    for servers in [&MARIADB, &MYSQL] {
        let Some(cluster) = servers.cluster() else { continue };
        let zoned = "CREATE FUNCTION test.zoned() RETURNS INT NO SQL \
                     BEGIN SET time_zone = '+02:00'; RETURN 1; END";
        for statement in ["DROP FUNCTION IF EXISTS test.zoned", zoned] {
            cluster.primary().sql(statement).expect(statement);
        }
        let proxy = proxy_with(&cluster, 2);
        let [_known] = after_a_reading(&proxy);
        let [mut first, mut second] =
            [0, 1].map(|_| Raw::login(proxy.port, "app", "app").expect("in"));
        let zone = |client: &mut Raw| client.first_row("SELECT @@time_zone").expect("a row");
        assert_eq!(first.first_row("SELECT test.zoned()").expect("a row"), b"\x011");
        assert_eq!(zone(&mut first), b"\x06+02:00");
        for _ in 0..4 {
            assert_eq!(zone(&mut second), b"\x06SYSTEM");
        }
        drop(first);
        let mut third = Raw::login(proxy.port, "app", "app").expect("in");
        assert_eq!([zone(&mut second), zone(&mut third)], [b"\x06SYSTEM"; 2]);
    }
}
