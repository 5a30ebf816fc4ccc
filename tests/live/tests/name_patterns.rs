//! A row that stands for many names: servers know each client by its own name and password, and
//! what is counted is the row's.

use std::time::Duration;

use client::{Client, Error, Login, Packets};
use lab::{Cluster, Flavour, SplitOptions};
use live::{Proxy, client as driver};
use mysql::Conn;
use mysql::prelude::Queryable;
use wire::auth::Plugin;

/// A pattern for names; `app_row` has a row of its own.
const ROWS: &str = r#"
[[mysql_users]]
username = "apps"
max_connections = 2
attributes = '{"password_from": "login", "name_pattern": "^app_[a-z]+$"}'

[[mysql_users]]
username = "app_row"
password = "row"

[[mysql_users]]
username = "off"
active = 0
attributes = '{"password_from": "login", "name_pattern": "other"}'

[[mysql_query_rules]]
rule_id = 100
active = 1
username = "app_b"
match_pattern = "of b alone"
error_msg = "not for b"
apply = 1
"#;

struct Scene {
    cluster: Cluster,
    proxy: Proxy,
    /// The words of the server's `IDENTIFIED` before and behind a password.
    by: [&'static str; 2],
}

impl Scene {
    fn start(flavour: Flavour) -> Option<Self> {
        let cluster = live::cluster("name_patterns", flavour, 0)?;
        let by = match flavour {
            Flavour::MariaDb => ["VIA mysql_native_password USING PASSWORD(", ")"],
            Flavour::MySql => ["WITH caching_sha2_password BY ", ""],
        };
        let proxy = Proxy::start(|interfaces| {
            let (more, variables) = (ROWS.to_owned(), "threads = 1\n".to_owned());
            let options = SplitOptions { interfaces, variables, more, ..Default::default() };
            lab::split_toml(&cluster, &options)
        })
        .expect("tidegate starts");
        let scene = Self { cluster, proxy, by };
        for user in ["app_a", "app_b", "app_c", "app_row", "other", "apps", "my_app_a"] {
            let password = user.trim_start_matches("app_");
            scene.identify("CREATE", user, password);
            scene.cluster.primary().sql(&format!("GRANT SELECT ON test.* TO {user}")).ok()?;
        }
        Some(scene)
    }

    fn identify(&self, verb: &str, user: &str, password: &str) {
        let by = format!("{}'{password}'{}", self.by[0], self.by[1]);
        self.cluster.primary().sql(&format!("{verb} USER {user} IDENTIFIED {by}")).expect(verb);
    }

    /// A client by the Unix socket, where a password may be shown.
    fn connect(&self, user: &str, password: &str) -> Result<Conn, (u16, String)> {
        let options = driver::socket_options(&self.proxy.socket);
        Conn::new(options.user(Some(user)).pass(Some(password))).map_err(|error| {
            let (code, _, message) = driver::refusal(&error);
            (code, message)
        })
    }

    fn is_refused(&self, user: &str, password: &str) {
        let told = self.connect(user, password).map(drop);
        let what = format!("Access denied for user '{user}'@'localhost' (using password: YES)");
        assert_eq!(told, Err((1045, what)));
    }

    fn admin(&self) -> Conn {
        let options = driver::account(self.proxy.admin_port, "admin", "admin");
        driver::connect(options.db_name(None::<&str>))
    }

    fn set_pattern(&self, admin: &mut Conn, pattern: &str) -> Result<(), String> {
        let set = format!(
            "UPDATE mysql_users SET attributes = \
             '{{\"password_from\": \"login\", \"name_pattern\": \"{pattern}\"}}' \
             WHERE username = 'apps'"
        );
        admin.query_drop(set).expect("set");
        let loaded = admin.query_drop("LOAD MYSQL USERS TO RUNTIME");
        loaded.map_err(|error| driver::refusal(&error).2)
    }
}

fn who(conn: &mut Conn) -> String {
    conn.query_first("SELECT CURRENT_USER()").expect("answered").expect("a row")
}

fn stands_for_names(flavour: Flavour) {
    let Some(scene) = Scene::start(flavour) else { return };
    let mut admin = scene.admin();
    let mut first = scene.connect("app_a", "a").expect("it is right");
    let mut second = scene.connect("app_b", "b").expect("it is right");
    // however idle the connection of the other one is
    for _ in 0..3 {
        assert_eq!([&mut first, &mut second].map(who), ["app_a@%", "app_b@%"]);
    }
    assert_ne!(driver::server_id(&mut first, ""), driver::server_id(&mut second, ""));

    // what is counted is the row's
    let full = scene.connect("app_c", "c").map(drop).expect_err("there are two");
    let what = "User 'app_c' has exceeded the 'max_user_connections' resource (current value: 2)";
    assert_eq!(full, (1226, what.to_owned()));
    let clients = "SELECT frontend_connections FROM stats_mysql_users WHERE username = 'apps'";
    assert_eq!(admin.query_first(clients).expect("told"), Some(2));
    let names =
        "SELECT DISTINCT user FROM stats_mysql_processlist WHERE user LIKE 'app%' ORDER BY 1";
    assert_eq!(admin.query::<String, _>(names).expect("told"), ["app_a", "app_b"]);
    let lanes = "SELECT SUM(connections) > 1 FROM stats_tidegate_users WHERE username = 'apps'";
    assert_eq!(admin.query_first(lanes).expect("told"), Some(true));

    // rules go by the client's own name
    let text = "DO 'of b alone'";
    first.query_drop(text).expect("no rule is for it");
    let refused = second.query_drop(text).expect_err("a rule is for it");
    assert!(driver::refusal(&refused).2.contains("not for b"), "{refused}");
    for (name, is_refused) in [("app_a", false), ("app_b", true)] {
        let explain = format!("EXPLAIN ROUTE {text} FOR USER '{name}'");
        let told: Vec<(String, String, String)> = admin.query(explain).expect("explained");
        assert_eq!(format!("{told:?}").contains("not for b"), is_refused, "{told:?}");
    }
    let label = admin.query_drop("EXPLAIN ROUTE SELECT 1 FOR USER 'apps'").expect_err("no name");
    assert!(label.to_string().contains("there is no user `apps` that may log in"), "{label}");

    // what is wrong, matches nothing, or is no name, is answered alike
    drop(second);
    for (user, password) in
        [("app_b", "a"), ("app_nobody", "x"), ("apps", "apps"), ("my_app_a", "my_app_a")]
    {
        scene.is_refused(user, password);
    }
    scene.is_refused("other", "other");
    let plain = Conn::new(driver::account(scene.proxy.port, "app_a", "a"));
    assert_eq!(driver::refusal(&plain.expect_err("it is clear text")).0, 1045);
    follows(&scene, &mut admin, first);
}

/// What changes on the server, and in the row, is what clients meet.
fn follows(scene: &Scene, admin: &mut Conn, mut first: Conn) {
    // a row of its own wins, whatever a server has
    let mut own = scene.connect("app_row", "row").expect("it is right");
    assert_eq!(who(&mut own), "app_row@%");
    scene.identify("ALTER", "app_row", "server");
    scene.is_refused("app_row", "server");

    // a password that is changed on the server is right at once
    scene.identify("ALTER", "app_b", "new");
    scene.is_refused("app_b", "b");
    assert_eq!(who(&mut scene.connect("app_b", "new").expect("it is right")), "app_b@%");

    // the row can be put into force alone, and what is wrong with it is named with its place
    let fault = scene.set_pattern(admin, "app_(").expect_err("it is wrong");
    assert!(fault.contains("name_pattern: at character 5: unclosed group: `app_(`"), "{fault}");
    scene.set_pattern(admin, "^app_b$").expect("loaded");
    scene.is_refused("app_a", "a");
    assert_eq!(who(&mut first), "app_a@%", "it goes on with what it has shown");
    assert_eq!(who(&mut scene.connect("app_b", "new").expect("it is right")), "app_b@%");
    for statement in [
        "UPDATE mysql_users SET max_connections = 0 WHERE username = 'apps'",
        "LOAD MYSQL USER apps TO RUNTIME",
    ] {
        admin.query_drop(statement).expect(statement);
    }
    assert_eq!(scene.connect("app_b", "new").map(drop).expect_err("none may").0, 1226);
    for statement in [
        "SET mysql-kill_sessions_of_changed_users = 'true'",
        "LOAD MYSQL VARIABLES TO RUNTIME",
        "DELETE FROM mysql_users WHERE username = 'apps'",
        "LOAD MYSQL USERS TO RUNTIME",
    ] {
        admin.query_drop(statement).expect(statement);
    }
    first.query_drop("SELECT 1").expect_err("its account is gone");
    scene.is_refused("app_b", "new");
    for name in ["shuns", "defects"] {
        assert_eq!(scene.proxy.counter(name).expect("told"), 0, "{name}");
    }
}

/// As whom a server knows a client that logs in by the Unix socket with this collation, and the
/// collation that it has then; else the number of its error.
fn whom(scene: &Scene, user: &[u8], password: &str, collation: u8) -> Result<[String; 2], u16> {
    let wait = Duration::from_secs(15);
    let mut packets = Packets::unix(&scene.proxy.socket, wait).expect("it is reached");
    packets.receive().expect("a greeting");
    let login = Login { collation, ..Login::new("NAME", password) };
    let mut response = login.response(Plugin::CachingSha2, &[7; 32]);
    let at = response.windows(4).position(|part| part == b"NAME").expect("it is there");
    response.splice(at..at + 4, user.iter().copied());
    packets.send(1, &response).expect("sent");
    let (seq, asked) = packets.receive().expect("an answer");
    assert_eq!(asked, [1, 4], "the password itself");
    packets.send(seq.wrapping_add(1), &[password.as_bytes(), &[0]].concat()).expect("sent");
    packets.authenticate(password).map_err(|error| match error {
        Error::Refused(told) => told.code,
        other => panic!("{other}"),
    })?;
    let mut client = Client { packets };
    let row = "SELECT CAST(CURRENT_USER() AS BINARY), @@collation_connection";
    let answer = client.query(row).expect("answered");
    Ok([0, 1].map(|column| answer.rows[0][column].clone().expect("a value")))
}

/// Servers convert names from the character set of a login: what a client says must not become the
/// name of another row on the way.
#[test]
fn a_name_is_the_same_at_the_server_whatever_the_clients_character_set() {
    let Some(scene) = Scene::start(Flavour::MariaDb) else { return };
    for (user, password) in [("m~ller", "tilde"), ("müller", "umlaut")] {
        scene.identify("CREATE", &format!("'{user}'"), password);
    }
    let mut admin = scene.admin();
    let statement = "INSERT INTO mysql_users (username, password, frontend) \
        VALUES ('müller', 'umlaut', 0)";
    admin.query_drop(statement).expect("inserted");
    scene.set_pattern(&mut admin, "^.*$").expect("loaded");
    for (collation, name) in [(45, "utf8mb4_general_ci"), (10, "swe7_swedish_ci")] {
        let own = Ok(["m~ller@%".to_owned(), name.to_owned()]);
        assert_eq!(whom(&scene, b"m~ller", "tilde", collation), own);
        assert_eq!(whom(&scene, b"m~ller", "umlaut", collation), Err(1045));
    }
    admin.query_drop("DELETE FROM mysql_users WHERE username = 'müller'").expect("deleted");
    admin.query_drop("LOAD MYSQL USERS TO RUNTIME").expect("loaded");
    for (user, collation, name) in [
        ("müller".as_bytes(), 45, "utf8mb4_general_ci"),
        (b"m\xfcller", 8, "latin1_swedish_ci"),
        ("müller".as_bytes(), 8, "latin1_swedish_ci"),
        ("müller".as_bytes(), 10, "swe7_swedish_ci"),
    ] {
        let own = Ok(["müller@%".to_owned(), name.to_owned()]);
        assert_eq!(whom(&scene, user, "umlaut", collation), own, "{collation}");
    }
}

#[test]
fn a_pattern_stands_for_names_of_a_mariadb() {
    stands_for_names(Flavour::MariaDb);
}

#[test]
fn a_pattern_stands_for_names_of_a_mysql() {
    stands_for_names(Flavour::MySql);
}
