//! A client that was told OK for `COM_RESET_CONNECTION` or `COM_CHANGE_USER` has left nothing on a
//! server that others could meet, and is in the schema that the server says.

use std::path::Path;
use std::time::Duration;

use lab::{Cluster, Flavour};
use live::{Program, Proxy, Shared, client, skip};
use mysql::prelude::Queryable;
use mysql::{ChangeUserOpts, Conn};

static MARIADB: Shared = Shared::new("resets", Flavour::MariaDb, 0);
static MYSQL: Shared = Shared::new("resets with MySQL", Flavour::MySql, 0);

/// How often others try at once what was just given up.
const TRIES: u32 = 1000;

fn proxy(cluster: &Cluster) -> Proxy {
    proxy_greeting_by("mysql_native_password", cluster)
}

fn proxy_greeting_by(plugin: &str, cluster: &Cluster) -> Proxy {
    let port = cluster.primary().port;
    Proxy::start(|interfaces| {
        format!(
            "[mysql_variables]\ninterfaces = \"{interfaces}\"\nthreads = 2\n\
             get_server_public_key = true\nstored_code = false\n\
             default_authentication_plugin = \"{plugin}\"\n\
             [[mysql_servers]]\nhostgroup_id = 0\nhostname = \"127.0.0.1\"\nport = {port}\n\
             [[mysql_users]]\nusername = \"app\"\npassword = \"app\"\n\
             [[mysql_users]]\nusername = \"other\"\npassword = \"other\"\n"
        )
    })
    .expect("tidegate starts")
}

fn two(port: u16) -> [Conn; 2] {
    [(); 2].map(|()| client::connect(client::options(port)))
}

fn number(conn: &mut Conn, query: &str) -> Option<i64> {
    conn.query_first::<Option<i64>, _>(query).expect("answered").flatten()
}

fn change_user(conn: &mut Conn) {
    let user = ChangeUserOpts::new().with_user(Some("app".into())).with_pass(Some("app".into()));
    conn.change_user(user.with_db_name(Some("test".into()))).expect("let in");
}

fn named_locks_are_free(shared: &'static Shared) {
    let Some(cluster) = shared.cluster() else { return };
    let proxy = proxy(&cluster);
    let [mut one, mut other] = two(proxy.port);
    for turn in 0..TRIES {
        assert_eq!(number(&mut one, "SELECT GET_LOCK('reset', 0)"), Some(1), "{turn}");
        if turn % 4 == 1 {
            // its connection is closed
            one.query_drop("SET long_query_time = RAND()").expect("set");
        }
        match turn % 8 {
            7 => change_user(&mut one),
            _ => one.reset().expect("reset"),
        }
        assert_eq!(number(&mut other, "SELECT GET_LOCK('reset', 0)"), Some(1), "{turn}");
        other.query_drop("DO RELEASE_LOCK('reset')").expect("released");
    }
}

fn rows_are_free(shared: &'static Shared) {
    let Some(cluster) = shared.cluster() else { return };
    let made = "DROP TABLE IF EXISTS test.resets; CREATE TABLE test.resets (id INT PRIMARY KEY); \
                INSERT INTO test.resets VALUES (1)";
    cluster.primary().sql(made).expect("made");
    let proxy = proxy(&cluster);
    let [mut one, mut other] = two(proxy.port);
    let read = "SELECT id FROM resets FOR UPDATE";
    for turn in 0..TRIES {
        one.query_drop("BEGIN").expect("begun");
        assert_eq!(number(&mut one, read), Some(1), "{turn}");
        match turn % 8 {
            7 => change_user(&mut one),
            _ => one.reset().expect("reset"),
        }
        assert_eq!(number(&mut other, &format!("{read} NOWAIT")), Some(1), "{turn}");
    }
}

fn the_schema_is_the_servers(shared: &'static Shared) {
    let Some(cluster) = shared.cluster() else { return };
    cluster.primary().sql("CREATE DATABASE IF NOT EXISTS reset_into").expect("made");
    let proxy = proxy(&cluster);
    let unseen = [
        "SET session_track_schema = 0; USE reset_into",
        "SET session_track_schema = 0; SELECT 1; USE reset_into; SELECT 2",
        "PREPARE s FROM 'SET session_track_schema = 0'; EXECUTE s; USE reset_into; SELECT 1",
    ];
    for text in unseen {
        let schemas = [cluster.primary().port, proxy.port].map(|port| {
            let mut conn = client::connect(client::options(port));
            conn.query_drop(text).expect("done");
            conn.reset().expect("reset");
            let mut schema = || conn.query_first::<String, _>("SELECT DATABASE()");
            [(); 3].map(|()| schema().expect("answered").expect("one row"))
        });
        assert_eq!(schemas[0], schemas[1], "{text}");
        assert_eq!(schemas[0][0], "reset_into", "{text}");
    }
}

/// What a client's last statement came to is nothing to whoever gets its connection next, whatever
/// that one begins with.
fn diagnostics_are_their_session_s(shared: &'static Shared) {
    let Some(cluster) = shared.cluster() else { return };
    let proxy = proxy(&cluster);
    for _ in 0..4 {
        let mut first = client::connect(client::options(proxy.port));
        let signal = "SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'of the first one'";
        assert_eq!(client::refusal(&first.query_drop(signal).expect_err("it fails")).0, 1644);
        drop(first);
        let mut next = client::connect(client::options(proxy.port));
        next.select_db("test").expect("it is there");
        let told: Vec<mysql::Row> = next.query("SHOW WARNINGS").expect("answered");
        assert!(told.is_empty(), "{told:?}");
    }
}

#[test]
fn diagnostics_are_their_session_s_with_mariadb() {
    diagnostics_are_their_session_s(&MARIADB);
}

#[test]
fn diagnostics_are_their_session_s_with_mysql() {
    diagnostics_are_their_session_s(&MYSQL);
}

#[test]
fn libmariadb_changes_users_as_on_a_server() {
    let Some(cluster) = MARIADB.cluster() else { return };
    let made = "CREATE OR REPLACE USER other@'%' IDENTIFIED BY 'other'; GRANT ALL ON *.* TO other";
    cluster.primary().sql(made).expect("made");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("drivers/python/change_user.py");
    let loads = "import ctypes; ctypes.CDLL('libmariadb.so.3')";
    let loaded = Program::new("python3").args(["-c", loads]).run();
    if !loaded.success {
        return skip("libmariadb_changes_users_as_on_a_server", &loaded.errors);
    }
    let told = |port: u16, names: &[&str]| {
        let program = Program::new("python3").args([&script]);
        let finished = program.args([port.to_string()]).args(names).run();
        assert!(finished.success, "{names:?} on {port}: {}", finished.errors);
        finished.output
    };
    for plugin in ["mysql_native_password", "caching_sha2_password"] {
        let proxy = proxy_greeting_by(plugin, &cluster);
        let names = ["app", "other", "other", "app"];
        let lines = told(proxy.port, &names);
        assert_eq!(lines, "app test\nother test\nother test\napp test\n", "{plugin}");
        assert_eq!(lines, told(cluster.primary().port, &names), "{plugin}");
        let refused = told(proxy.port, &["app", "other", "nobody"]);
        assert!(refused.starts_with("app test\nother test\n1045 "), "{plugin}: {refused}");
    }
}

#[test]
fn named_locks_are_free_behind_a_reset_of_mariadb() {
    named_locks_are_free(&MARIADB);
}

#[test]
fn named_locks_are_free_behind_a_reset_of_mysql() {
    named_locks_are_free(&MYSQL);
}

#[test]
fn rows_are_free_behind_a_reset_of_mariadb() {
    rows_are_free(&MARIADB);
}

#[test]
fn rows_are_free_behind_a_reset_of_mysql() {
    rows_are_free(&MYSQL);
}

#[test]
fn the_schema_is_what_mariadb_says() {
    the_schema_is_the_servers(&MARIADB);
}

#[test]
fn the_schema_is_what_mysql_says() {
    the_schema_is_the_servers(&MYSQL);
}

#[test]
fn a_role_that_a_prepared_text_has_set_is_nobody_elses() {
    let Some(cluster) = MARIADB.cluster() else { return };
    let role = "CREATE OR REPLACE ROLE visitor; GRANT visitor TO app@'%'";
    cluster.primary().sql(role).expect("granted");
    let proxy = proxy_greeting_by("mysql_native_password", &cluster);
    let role_of = |conn: &mut mysql::Conn| {
        let role = conn.query_first::<Option<String>, _>("SELECT CURRENT_ROLE()");
        role.expect("answered").expect("one row")
    };
    for _ in 0..4 {
        let mut first = client::connect(client::options(proxy.port));
        assert_eq!(role_of(&mut first), None);
        first.query_drop("PREPARE r FROM 'SET ROLE visitor'").expect("prepared");
        first.query_drop("EXECUTE r").expect("set");
        assert_eq!(role_of(&mut first).as_deref(), Some("visitor"));
    }
}

#[test]
fn the_schema_s_character_set_is_what_it_was_behind_a_reset() {
    for shared in [&MARIADB, &MYSQL] {
        let Some(cluster) = shared.cluster() else { continue };
        for text in [
            "DROP DATABASE IF EXISTS read_otherwise",
            "CREATE DATABASE read_otherwise CHARACTER SET cp1250",
        ] {
            cluster.primary().sql(text).expect(text);
        }
        let proxy = proxy(&cluster);
        let options = || client::options(proxy.port).db_name(Some("read_otherwise"));
        let charset = |conn: &mut Conn| {
            let told = conn.query_first::<String, _>("SELECT @@character_set_database");
            told.expect("answered")
        };
        let resets = proxy.counter("lanes_reset").expect("counted");
        for _ in 0..8 {
            let mut leaves = client::connect(options());
            let told = charset(&mut leaves);
            assert_eq!(told.as_deref(), Some("cp1250"), "{:?}", cluster.software().flavour);
            // its connection is reset when it goes
            leaves.query_drop("CREATE TEMPORARY TABLE left_there (a INT)").expect("made");
            drop(leaves);
        }
        live::eventually("one is reset", Duration::from_secs(5), || {
            proxy.counter("lanes_reset").expect("counted") > resets
        });
        let mut conns: Vec<_> = (0..4).map(|_| client::connect(options())).collect();
        let told: Vec<_> = conns.iter_mut().map(charset).collect();
        assert_eq!(told, vec![Some("cp1250".to_owned()); 4]);
    }
}
