//! What clients are told when they are not let in, or when their backend account is not.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::time::Duration;

use lab::{Cluster, Flavour, Process, RunDir, SplitOptions};
use live::{Program, Proxy, Raw, client, eventually};
use mysql::Conn;
use mysql::prelude::Queryable;

fn proxy(cluster: &Cluster, variables: &str, more: &str) -> Proxy {
    let options =
        SplitOptions { variables: variables.into(), more: more.into(), ..Default::default() };
    Proxy::start(|interfaces| lab::split_toml(cluster, &SplitOptions { interfaces, ..options }))
        .expect("tidegate starts")
}

fn refused(options: mysql::OptsBuilder) -> (u16, String, String) {
    client::refusal(&Conn::new(options).map(drop).expect_err("refused"))
}

#[test]
fn a_wrong_password_gives_what_the_server_itself_would_say() {
    let Some(cluster) = live::cluster("wrong passwords", Flavour::MariaDb, 0) else { return };
    for plugin in ["mysql_native_password", "caching_sha2_password"] {
        let variable = format!("default_authentication_plugin = \"{plugin}\"\n");
        let proxy = proxy(&cluster, &variable, "");
        for (user, password) in [("app", "wrong"), ("app", ""), ("nobody", "x"), ("nobody", "")] {
            let direct = refused(client::account(cluster.primary().port, user, password));
            let through = refused(client::account(proxy.port, user, password));
            assert_eq!(through, direct, "{plugin}");
            assert_eq!((through.0, through.1.as_str()), (1045, "28000"));
        }
        client::connect(client::options(proxy.port)).ping().expect("the right one is let in");
    }
}

/// A login that has begun proves the password that is in force when it ends.
#[test]
fn a_password_that_was_changed_lets_no_login_in_that_began_before() {
    let Some(cluster) = live::cluster("changed passwords", Flavour::MariaDb, 0) else { return };
    let more = "\n[[mysql_users]]\nusername = \"wire\"\npassword = \"wire\"\n";
    let proxy = proxy(&cluster, "", more);
    let listens = || live::greeting_of(proxy.admin_port).is_ok();
    eventually("the administrative interface listens", Duration::from_secs(10), listens);
    let account = client::account(proxy.admin_port, "admin", "admin").db_name(None::<String>);
    let mut admin = client::connect(account);
    for change in [
        "UPDATE mysql_users SET password = 'other' WHERE username = 'wire'",
        "DELETE FROM mysql_users WHERE username = 'wire'",
    ] {
        let mut login = Raw::open(proxy.port).expect("connected");
        login.receive().expect("greeted");
        let mut asks = live::response("wire", b"");
        let plugin = asks.len() - "mysql_native_password".len() - 1;
        asks.truncate(plugin);
        asks.extend_from_slice(b"dialog\0");
        login.send(1, &asks).expect("sent");
        let (seq, switch) = login.receive().expect("answered");
        assert_eq!(switch[0], 0xfe, "{}", switch.escape_ascii());
        let scramble = switch[switch.len() - 21..][..20].try_into().expect("20 bytes");
        admin.query_drop(change).expect("changed");
        admin.query_drop("LOAD MYSQL USERS TO RUNTIME").expect("loaded");
        let proof = wire::auth::native::scramble(b"wire", &scramble);
        login.send(seq + 1, &proof).expect("sent");
        let (_, end) = login.receive().expect("answered");
        assert_eq!(end[..3], [0xff, 0x15, 0x04], "{change}: {}", end.escape_ascii());
        for back in [
            "REPLACE INTO mysql_users (username, password) VALUES ('wire', 'wire')",
            "LOAD MYSQL USERS TO RUNTIME",
        ] {
            admin.query_drop(back).expect("as before");
        }
    }
}

#[test]
fn an_unknown_schema_gives_1049() {
    let Some(cluster) = live::cluster("an unknown schema", Flavour::MariaDb, 0) else { return };
    let user = "CREATE USER wire@'%' IDENTIFIED BY 'wire'; GRANT ALL ON *.* TO wire@'%'";
    cluster.primary().sql(user).expect("created");
    let more = "\n[[mysql_users]]\nusername = \"wire\"\npassword = \"wire\"\nfast_forward = 1\n";
    let proxy = proxy(&cluster, "", more);
    let options = client::options(proxy.port).db_name(Some("no_such_schema"));
    let error = match Conn::new(options) {
        Err(error) => error,
        Ok(mut conn) => conn.query_drop("SELECT 1").expect_err("refused at the first statement"),
    };
    let text = "Unknown database 'no_such_schema'".to_owned();
    assert_eq!(client::refusal(&error), (1049, "42000".to_owned(), text));

    let mut session = client::connect(client::options(proxy.port));
    let error = session.query_drop("USE no_such_schema").expect_err("refused");
    assert_eq!(client::refusal(&error).0, 1049);
    session.select_db("no_such_schema2").expect_err("refused");
    for _ in 0..20 {
        let options = client::account(proxy.port, "wire", "wire");
        assert_eq!(refused(options.db_name(Some("no_such_schema"))).0, 1049);
    }
    assert_eq!(proxy.counter("lanes_failed").expect("told"), 0, "the server is well");
    let schema: Option<String> = session.query_first("SELECT DATABASE()").expect("answered");
    assert_eq!(schema.as_deref(), Some("test"), "the session keeps the schema it had");
}

#[test]
fn a_schema_is_refused_to_an_account_whoever_else_may_use_it() {
    let Some(cluster) = live::cluster("a refused schema", Flavour::MariaDb, 0) else { return };
    let user = "CREATE DATABASE theirs; CREATE USER low@'%' IDENTIFIED BY 'low'";
    cluster.primary().sql(user).expect("created");
    let proxy = proxy(
        &cluster,
        "threads = 1\n",
        "\n[[mysql_users]]\nusername = \"low\"\npassword = \"low\"\n",
    );
    for (user, code) in [("app", 0), ("low", 1044), ("app", 0), ("low", 1044)] {
        let options = client::account(proxy.port, user, user).db_name(Some("theirs"));
        let told = Conn::new(options).err().map_or(0, |error| client::refusal(&error).0);
        assert_eq!(told, code, "{user}");
    }
}

#[test]
fn a_backend_account_that_is_refused_is_reported_and_others_work() {
    let Some(cluster) = live::cluster("backend passwords", Flavour::MariaDb, 0) else { return };
    let user = "CREATE USER stranger@'%' IDENTIFIED BY 'what the server knows'";
    cluster.primary().sql(user).expect("created");
    let more = "\n[[mysql_users]]\nusername = \"stranger\"\npassword = \"what the proxy knows\"\n";
    let proxy = proxy(&cluster, "connect_timeout_server_max = 2000\n", more);
    let options = client::account(proxy.port, "stranger", "what the proxy knows");
    let mut session = client::connect(options.db_name(None::<&str>));
    let error = session.query_drop("SELECT 1").expect_err("refused by the server");
    let (code, state, text) = client::refusal(&error);
    assert!([1045, 9001].contains(&code), "{code} {state} {text}");
    assert!(text.contains("Access denied for user 'stranger'"), "{text}");

    // A wrong account is not a broken server.
    let mut other = client::connect(client::options(proxy.port));
    let one: Option<u32> = other.query_first("SELECT 1").expect("answered");
    assert_eq!(one, Some(1));
}

#[test]
fn a_collation_means_what_the_server_makes_of_it() {
    const ASKED: &str = "SELECT CONCAT_WS(' ', @@character_set_client, @@collation_connection)";
    const APP: (&str, &str) = ("app", "app");
    let Some(cluster) = live::cluster("collations", Flavour::MariaDb, 0) else { return };
    let proxy = proxy(&cluster, "connect_timeout_server_max = 4000\n", "");
    let login = |port, collation| {
        let mut raw = Raw::login_with(port, APP, collation).map_err(|error| error.to_string())?;
        raw.first_row(ASKED).map_err(|error| error.to_string())
    };
    let change = |port, collation| {
        let mut raw = Raw::login(port, APP.0, APP.1).map_err(|error| error.to_string())?;
        raw.change_user(APP, collation).map_err(|error| error.to_string())?;
        raw.first_row(ASKED).map_err(|error| error.to_string())
    };
    let servers_port = cluster.primary().port;
    // of MySQL 8, of nobody, of both, what no server reads, and the others once more
    for id in [255, 250, 100, 0, 8, 46, 17, 35, 54, 56, 60, 101, 128, 160, 45, 255] {
        assert_eq!(login(proxy.port, id), login(servers_port, id), "{id}");
    }
    for id in [1273, 9999, 308, 255, 250, 608, 1069, 17, 640, 45] {
        assert_eq!(change(proxy.port, id), change(servers_port, id), "{id}");
    }
    assert_eq!(proxy.counter("lanes_failed").expect("told"), 0, "the server is well");
}

#[test]
fn the_limit_of_a_user_gives_1226_until_one_leaves() {
    let Some(cluster) = live::cluster("user limits", Flavour::MariaDb, 0) else { return };
    cluster.primary().sql("CREATE USER two@'%' IDENTIFIED BY 'two'").expect("created");
    let more = "\n[[mysql_users]]\nusername = \"two\"\npassword = \"two\"\nmax_connections = 2\n";
    let proxy = proxy(&cluster, "", more);
    let options = || client::account(proxy.port, "two", "two").db_name(None::<&str>);
    let first = client::connect(options());
    let mut second = client::connect(options());
    let (code, state, text) = refused(options());
    assert_eq!((code, state.as_str()), (1226, "42000"), "{text}");
    assert!(text.starts_with("User 'two' has exceeded the 'max_user_connections' resource"));
    second.ping().expect("those inside are not disturbed");
    client::connect(client::options(proxy.port)).ping().expect("nor are others");
    drop(first);
    eventually("a place is free again", Duration::from_secs(5), || Conn::new(options()).is_ok());
}

#[test]
fn the_limit_of_all_clients_gives_1040_until_one_leaves() {
    let Some(cluster) = live::cluster("the global limit", Flavour::MariaDb, 0) else { return };
    let proxy = proxy(&cluster, "max_connections = 3\n", "");
    let options = || client::options(proxy.port);
    let mut inside = Vec::new();
    eventually("three are inside", Duration::from_secs(5), || {
        inside.extend(Conn::new(options()).ok());
        inside.len() == 3
    });
    // Sent in place of a greeting, it has no SQLSTATE: nothing was negotiated yet.
    let (code, _, text) = refused(options());
    assert_eq!((code, text.as_str()), (1040, "Too many connections"));
    inside[0].ping().expect("those inside are not disturbed");
    inside.pop();
    eventually("a place is free again", Duration::from_secs(5), || Conn::new(options()).is_ok());
}

#[test]
fn strangers_that_say_nothing_keep_nobody_out() {
    const CLIENTS: usize = 100;
    let Some(cluster) = live::cluster("strangers", Flavour::MariaDb, 0) else { return };
    let proxy = proxy(&cluster, "max_connections = 100\nthreads = 2\n", "");
    let mut inside = client::connect(client::options(proxy.port));
    let mut strangers: VecDeque<Raw> = VecDeque::new();
    for login in 0..20 {
        // those that were let go come again
        for _ in 0..CLIENTS {
            strangers.push_back(Raw::open(proxy.port).expect("connected"));
        }
        strangers.drain(..strangers.len().saturating_sub(6 * CLIENTS));
        let options = client::options(proxy.port);
        let value: Option<u32> = Conn::new(options)
            .unwrap_or_else(|error| panic!("login {login}: {error}"))
            .query_first("SELECT 7")
            .expect("served");
        assert_eq!(value, Some(7));
    }
    inside.ping().expect("whoever has logged in stays");
    assert!(proxy.counter("newcomers_gave_way").expect("told") > 0, "{}", proxy.log());
    assert_eq!(proxy.counter("denied_max_connections").expect("told"), 0);
    // the one that came first is told so after its greeting
    let mut first = Raw::open(proxy.port).expect("connected");
    first.receive().expect("a greeting");
    let mut later = Vec::new();
    let told = loop {
        later.extend((0..CLIENTS).map(|_| Raw::open(proxy.port).expect("connected")));
        first.stream().set_read_timeout(Some(Duration::from_millis(50))).expect("set");
        match first.receive() {
            Ok((_, told)) => break told,
            Err(_) => assert!(later.len() < 20 * CLIENTS, "nobody gives way"),
        }
    };
    assert_eq!(told, b"\xff\x10\x04#08004Too many connections");
}

#[test]
fn a_log_that_nobody_reads_holds_up_nobody() {
    const REFUSALS: u64 = 6_000;
    let dir = RunDir::create().expect("a directory");
    let port = lab::free_port().expect("a port");
    let text = format!(
        "[mysql_variables]\ninterfaces = \"127.0.0.1:{port}\"\nserver_version = \"8.0.11\"\n\
         failed_connections_threshold = 0\n\
         [admin_variables]\nmysql_ifaces = \"{}/admin\"\n\
         [[mysql_users]]\nusername = \"app\"\npassword = \"app\"\n\
         [[mysql_query_rules]]\nrule_id = 1\nactive = 1\nmatch_pattern = \"^SELECT\"\n\
         OK_msg = \"yes\"\napply = 1\n",
        dir.path().display()
    );
    let file = dir.path().join("tidegate.toml");
    std::fs::write(&file, text).expect("written");
    let pipe = dir.path().join("log");
    assert!(Program::new("mkfifo").args([&pipe]).run().success);
    let log = File::options().read(true).write(true).open(&pipe).expect("opened");
    let tidegate = live::binary().expect("built");
    let words = [tidegate.into(), "run".into(), "--config".into(), file.into_os_string()];
    let _proxy = Process::launch(&words, &pipe).expect("tidegate starts");
    eventually("it greets", Duration::from_secs(20), || live::greeting_of(port).is_ok());
    // each is a line, and all of them more than the pipe and the queue behind it hold
    let mut conn =
        client::connect(client::options(port).read_timeout(Some(Duration::from_secs(10))));
    for _ in 0..REFUSALS {
        let refused = conn.query_drop("DO 1").expect_err("there is no server");
        assert!(refused.to_string().contains("9001"), "{refused}");
    }
    conn.query_drop("SELECT 1").expect("served as before");

    let mut lines = BufReader::new(log).lines().map_while(Result::ok);
    let told = lines.find(|line| line.contains("lines of the log were lost")).expect("told");
    let lost = told.split("lines=").nth(1).and_then(|number| number.parse().ok());
    assert!(lost.is_some_and(|lost| (1..REFUSALS).contains(&lost)), "{told}");
}

/// A server says what it likes to those that come, the monitor included.
#[test]
fn a_server_s_words_begin_no_line_of_the_log() {
    const FORGED: &str = "2026-11-23T00:00:00Z ERROR forged";
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("bound").port();
    std::thread::spawn(move || {
        let text = format!("no\n{FORGED}\r\n{FORGED}");
        let payload = [&[0xff, 0x15, 0x04], text.as_bytes()].concat();
        let length = u8::try_from(payload.len()).expect("short");
        for mut stream in listener.incoming().flatten() {
            // it may be gone by now
            drop(stream.write_all(&[&[length, 0, 0, 0], payload.as_slice()].concat()));
        }
    });
    let proxy = Proxy::start(|interfaces| {
        format!(
            "[mysql_variables]\ninterfaces = \"{interfaces}\"\nthreads = 1\n\
             [[mysql_servers]]\nhostgroup_id = 0\nhostname = \"127.0.0.1\"\nport = {port}\n\
             [[mysql_users]]\nusername = \"app\"\npassword = \"app\"\n"
        )
    })
    .expect("tidegate starts");
    let told = || proxy.log().contains("the check of a server fails: ");
    eventually("the monitor's check fails", Duration::from_secs(20), told);
    let log = proxy.log();
    assert!(log.contains(&format!("no\\n{FORGED}\\r\\n")), "{log}");
    assert!(!log.lines().any(|line| line.starts_with(FORGED)), "{log}");
}
