//! Accounts that leave their passwords to servers, which are read there or proved by a login. What
//! happens to an account is seen here, and no client logs in by what was true before.

use std::ffi::OsString;
use std::net::{Ipv4Addr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use lab::{Cluster, Flavour, RunDir, SplitOptions};
use live::encrypted::Encrypted;
use live::{Login, Proxy, Said, client as driver, encrypted};
use mysql::Conn;
use mysql::prelude::Queryable;
use rustls::ClientConfig;

/// What a reading five times a second takes at most.
const SOON: Duration = Duration::from_secs(5);

/// A proxy that has the password of `lent` from there; what is read is read five times a second.
fn proxy(cluster: &Cluster, password_from: &str) -> Proxy {
    let more = format!(
        "\n[[mysql_users]]\nusername = \"lent\"\ndefault_hostgroup = 0\n\
         attributes = '{{\"password_from\": \"{password_from}\"}}'\n"
    );
    let variables = "monitor_accounts_interval = 200\nmonitor_username = \"reader\"\n\
                     monitor_password = \"reader\"\n\
                     failed_connections_threshold = 5\nfailed_connection_delay = 200\n";
    Proxy::start(|interfaces| {
        let options = SplitOptions {
            interfaces,
            variables: variables.to_owned(),
            more: more.clone(),
            ..Default::default()
        };
        lab::split_toml(cluster, &options)
    })
    .expect("tidegate starts")
}

fn run(cluster: &Cluster, statement: &str) {
    cluster.primary().sql(statement).expect(statement);
}

/// As whom a server knows a client with that password, or why it is let in nowhere.
fn who(proxy: &Proxy, password: &str) -> Result<String, String> {
    let refusal = |error: mysql::Error| driver::refusal(&error).2;
    let mut conn = Conn::new(driver::account(proxy.port, "lent", password)).map_err(refusal)?;
    let who = conn.query_first::<String, _>("SELECT CURRENT_USER()").map_err(refusal)?;
    Ok(who.expect("a row"))
}

/// Soon a client is let in with the one password and with no other.
fn is_let_in(proxy: &Proxy, right: &str, wrong: &[&str]) {
    let mut last = Ok(String::new());
    let is_in = || {
        last = who(proxy, right);
        last.as_deref() == Ok("lent@%")
    };
    live::eventually(&format!("{right} is right"), SOON, is_in);
    for wrong in wrong {
        let refused = who(proxy, wrong).expect_err("another password is right");
        assert!(refused.contains("Access denied for user 'lent'"), "{refused}");
    }
}

/// Soon a client is let in with none of these, and the log says why behind so many bytes.
fn is_kept_out((proxy, mark): (&Proxy, usize), passwords: &[&str], why: &str) {
    live::eventually(why, SOON, || {
        passwords.iter().all(|password| who(proxy, password).is_err())
            && proxy.log()[mark..].contains(why)
    });
}

/// Follows an account that is identified by a password with these words before and behind it.
fn follows(cluster: &Cluster, table: &str, [before, behind]: [&str; 2]) {
    run(cluster, "CREATE USER reader IDENTIFIED BY 'reader'");
    let proxy = proxy(cluster, "servers");
    is_kept_out((&proxy, 0), &["", "one"], "passwords cannot be read there: ");
    run(cluster, &format!("GRANT SELECT ON mysql.{table} TO reader"));
    is_kept_out((&proxy, 0), &["", "one"], "nobody can log in with it, by ");
    let identified = |password: &str| format!("IDENTIFIED {before}'{password}'{behind}");
    run(cluster, &format!("CREATE USER lent {}", identified("one")));
    run(cluster, "GRANT SELECT ON test.* TO lent");
    is_let_in(&proxy, "one", &["two", ""]);
    // one that is for others says nothing of us
    run(cluster, &format!("CREATE USER lent@'10.%' {}", identified("two")));
    run(cluster, &format!("ALTER USER lent {}", identified("three")));
    is_let_in(&proxy, "three", &["one", "two", ""]);
    let mark = proxy.log().len();
    run(cluster, "ALTER USER lent ACCOUNT LOCK");
    is_kept_out((&proxy, mark), &["three"], "it is locked");
    run(cluster, "ALTER USER lent ACCOUNT UNLOCK");
    is_let_in(&proxy, "three", &["one"]);
    // a server that says nothing changes nothing
    run(cluster, &format!("REVOKE SELECT ON mysql.{table} FROM reader"));
    let readings = || proxy.log().matches("passwords cannot be read there").count();
    let told = readings();
    live::eventually("it was tried", SOON, || readings() > told);
    is_let_in(&proxy, "three", &["one"]);
    run(cluster, &format!("GRANT SELECT ON mysql.{table} TO reader"));
    let mark = proxy.log().len();
    run(cluster, "DROP USER lent, lent@'10.%'");
    is_kept_out((&proxy, mark), &["three", "one", "two", ""], "it has no such account for us");
    let log = proxy.log();
    let secrets = ["three", "$A$", "$5$"];
    assert!(secrets.iter().all(|secret| !log.contains(secret)), "{log}");
}

#[test]
fn accounts_of_a_mariadb_are_followed() {
    let Some(cluster) = live::cluster("left passwords", Flavour::MariaDb, 0) else { return };
    follows(&cluster, "global_priv", ["VIA mysql_native_password USING PASSWORD(", ")"]);
}

#[test]
fn public_keys_of_a_mariadb_are_followed() {
    let Some(cluster) = live::cluster("left keys", Flavour::MariaDb, 0) else { return };
    run(&cluster, "INSTALL SONAME 'auth_ed25519'");
    follows(&cluster, "global_priv", ["VIA ed25519 USING PASSWORD(", ")"]);
}

#[test]
fn accounts_of_a_mysql_are_followed() {
    for plugin in ["caching_sha2_password", "sha256_password"] {
        let Some(cluster) = live::cluster("left passwords", Flavour::MySql, 0) else { return };
        follows(&cluster, "user", [&format!("WITH {plugin} BY "), ""]);
    }
}

/// Of two passwords that a MySQL has, either is right, for as long as that is so.
#[test]
fn the_password_that_a_mysql_retains_is_right_as_well() {
    let Some(cluster) = live::cluster("retained passwords", Flavour::MySql, 0) else { return };
    run(&cluster, "CREATE USER reader IDENTIFIED BY 'reader'");
    run(&cluster, "GRANT SELECT ON mysql.user TO reader");
    run(&cluster, "CREATE USER lent IDENTIFIED BY 'one'");
    run(&cluster, "GRANT SELECT ON test.* TO lent");
    let proxy = proxy(&cluster, "servers");
    is_let_in(&proxy, "one", &["two"]);
    run(&cluster, "ALTER USER lent IDENTIFIED BY 'two' RETAIN CURRENT PASSWORD");
    is_let_in(&proxy, "two", &["three", ""]);
    assert_eq!(who(&proxy, "one").as_deref(), Ok("lent@%"));
    assert!(proxy.log().contains("its two passwords are read on "), "{}", proxy.log());
    run(&cluster, "ALTER USER lent DISCARD OLD PASSWORD");
    live::eventually("the old one is wrong", SOON, || who(&proxy, "one").is_err());
    assert_eq!(who(&proxy, "two").as_deref(), Ok("lent@%"));
    let log = proxy.log();
    assert!(!log.contains("'two'") && !log.contains("$A$"), "{log}");
}

/// The same by the Unix socket, where a password may be shown.
fn who_is(proxy: &Proxy, password: &str) -> Result<String, (u16, String)> {
    let refusal = |error: mysql::Error| {
        let (code, _, message) = driver::refusal(&error);
        (code, message)
    };
    let options = driver::socket_options(&proxy.socket).user(Some("lent")).pass(Some(password));
    let mut conn = Conn::new(options).map_err(refusal)?;
    let who = conn.query_first::<String, _>("SELECT CURRENT_USER()").map_err(refusal)?;
    Ok(who.expect("a row"))
}

fn proves(cluster: &Cluster, by: [&str; 2]) {
    let identified = |password: &str| format!("IDENTIFIED {}'{password}'{}", by[0], by[1]);
    run(cluster, &format!("CREATE USER lent {}", identified("one")));
    run(cluster, "GRANT SELECT ON test.* TO lent");
    let proxy = proxy(cluster, "login");
    let denied = |who: &Result<String, (u16, String)>| {
        let what = "Access denied for user 'lent'@'localhost' (using password: YES)";
        assert_eq!(*who, Err((1045, what.to_owned())));
    };
    let right = Ok("lent@%".to_owned());
    assert_eq!(who_is(&proxy, "one"), right);
    // whatever connections there are that the right one has opened
    denied(&who_is(&proxy, "two"));
    run(cluster, &format!("ALTER USER lent {}", identified("two")));
    denied(&who_is(&proxy, "one"));
    assert_eq!(who_is(&proxy, "two"), right);
    // what only the server knows is said as it says it
    run(cluster, "ALTER USER lent ACCOUNT LOCK");
    let (code, locked) = who_is(&proxy, "two").expect_err("it is locked");
    assert!([3118, 4151].contains(&code), "{code} {locked}");
    run(cluster, "ALTER USER lent ACCOUNT UNLOCK");
    // in clear text it is never shown, and nobody is told which names that holds for
    let plain = who(&proxy, "two").expect_err("it is clear text");
    assert!(plain.ends_with("(using password: YES)"), "{plain}");
    live::eventually("the log says why", SOON, || proxy.log().contains("SSL is required"));
    // those who guess wait, and so does whoever knows
    let before = proxy.counter("lanes_failed").expect("told");
    let began = Instant::now();
    for guess in 0..12 {
        denied(&who_is(&proxy, &format!("guess {guess}")));
    }
    assert_eq!(who_is(&proxy, "two"), right);
    let took = began.elapsed();
    assert!(took > Duration::from_millis(1000), "{took:?}");
    assert_eq!(proxy.counter("lanes_failed").expect("told"), before, "the server is well");
    assert_eq!(proxy.counter("shuns").expect("told"), 0);
    run(cluster, "DROP USER lent");
    denied(&who_is(&proxy, "two"));
    let log = proxy.log();
    assert!(!log.contains("guess 1") && !log.contains("'two'"), "{log}");
    cluster.primary().pause().expect("paused");
    let silent = who_is(&proxy, "two");
    cluster.primary().resume().expect("resumed");
    let what = "no server could say whether the password is right".to_owned();
    assert_eq!(silent, Err((9001, what)));
    live::eventually("the log says why", SOON, || proxy.log().contains("connect timeout"));
}

#[test]
fn servers_prove_passwords() {
    let Some(cluster) = live::cluster("proved passwords", Flavour::MariaDb, 0) else { return };
    proves(&cluster, ["VIA mysql_native_password USING PASSWORD(", ")"]);
    let Some(cluster) = live::cluster("proved passwords", Flavour::MySql, 0) else { return };
    proves(&cluster, ["WITH caching_sha2_password BY ", ""]);
}

/// Each login is one at a server; connections grow by sessions all the same.
#[test]
fn many_logins_leave_few_connections() {
    let Some(cluster) = live::cluster("logins one by one", Flavour::MariaDb, 0) else { return };
    run(&cluster, "CREATE USER lent IDENTIFIED BY 'one'");
    run(&cluster, "GRANT SELECT ON test.* TO lent");
    let proxy = proxy(&cluster, "login");
    for _ in 0..40 {
        assert_eq!(who_is(&proxy, "one"), Ok("lent@%".to_owned()));
    }
    let list = "SELECT COUNT(*) FROM information_schema.processlist WHERE user = 'lent'";
    let mut server = driver::connect(driver::options(cluster.primary().port));
    let count: u32 = server.query_first(list).expect("told").expect("a row");
    // two a worker: one is made ready for others while the next login comes
    // and a busy server shows those a while longer that were closed
    assert!((1..=20).contains(&count), "{count} connections of 40 logins");
}

/// While servers say nothing of a password, its client takes no place, and no change of rows makes
/// it right.
#[test]
fn what_no_server_has_proved_is_right_for_nothing() {
    let Some(cluster) = live::cluster("unproved passwords", Flavour::MariaDb, 0) else { return };
    run(&cluster, "CREATE USER lent IDENTIFIED BY 'one'");
    run(&cluster, "GRANT SELECT ON test.* TO lent");
    let proxy = proxy(&cluster, "login");
    let mut admin =
        driver::connect(driver::account(proxy.admin_port, "admin", "admin").db_name(None::<&str>));
    for row in [
        "password = 'one', attributes = ''",
        "attributes = '{\"backend_username\": \"app\"}'",
        "frontend = 0",
        "use_ssl = 1",
    ] {
        let load = "LOAD MYSQL USERS TO RUNTIME";
        let set = "UPDATE mysql_users SET password = '', frontend = 1, use_ssl = 0, \
            attributes = '{\"password_from\": \"login\"}', max_connections = 1 \
            WHERE username = 'lent'";
        for statement in [set, load] {
            admin.query_drop(statement).expect(statement);
        }
        assert_eq!(who_is(&proxy, "one"), Ok("lent@%".to_owned()));
        cluster.primary().pause().expect("paused");
        thread::scope(|scope| {
            let guess = scope.spawn(|| who_is(&proxy, "wrong"));
            let other = scope.spawn(|| who_is(&proxy, "wrong"));
            let list = "SELECT COUNT(*) FROM stats_mysql_processlist WHERE user = 'lent'";
            let dialing = || admin.query_first::<u8, _>(list).expect("told") == Some(2);
            live::eventually("both wait for a server", SOON, dialing);
            let set = format!("UPDATE mysql_users SET {row} WHERE username = 'lent'");
            for statement in [&set, load] {
                admin.query_drop(statement).expect(statement);
            }
            cluster.primary().resume().expect("resumed");
            for guess in [guess, other] {
                let told = guess.join().expect("no panic").expect_err("it is wrong");
                assert!([1045, 9001].contains(&told.0), "{row}: {told:?}");
            }
        });
    }
    assert_eq!(["shuns", "defects"].map(|name| proxy.counter(name).expect("told")), [0, 0]);
}

/// Whoever finds no server has guessed nothing, and has nothing but a share of the log.
#[test]
fn while_servers_are_away_nobody_is_a_guesser() {
    const TRIES: usize = 100;
    let port = lab::free_port().expect("a port");
    let proxy = Proxy::start(|interfaces| {
        format!(
            "[mysql_variables]\ninterfaces = \"{interfaces}\"\nthreads = 1\n\
             failed_connections_threshold = 5\nclient_host_cache_size = 10\n\
             shun_on_failures = 1000\n\
             client_host_error_counts = 5\n\
             [[mysql_users]]\nusername = \"lent\"\n\
             attributes = '{{\"password_from\": \"login\"}}'\n\
             [[mysql_servers]]\nhostgroup_id = 0\nhostname = \"127.0.0.1\"\nport = {port}\n"
        )
    })
    .expect("tidegate starts");
    let what = "no server could say whether the password is right".to_owned();
    for _ in 0..TRIES {
        assert_eq!(who_is(&proxy, "one"), Err((9001, what.clone())));
    }
    let counted = ["logins_held_up", "denied_password"].map(|name| proxy.counter(name));
    assert_eq!(counted.map(|count| count.expect("told")), [0, 0]);
    let log = proxy.log();
    let lines = log.lines().filter(|line| line.contains("No server available")).count();
    assert!((1..=60).contains(&lines), "{lines} lines\n{log}");
}

/// A server gets each password and says nothing: whoever gives up has guessed all the same.
#[test]
fn guesses_count_where_a_server_is_slow_to_refuse() {
    const AT_ONCE: usize = 6;
    let (port, seen) = (lab::free_port().expect("a port"), Arc::new(AtomicUsize::new(0)));
    let seen_there = seen.clone();
    let logs_in = move |user: &str| match user {
        "lent" => {
            seen_there.fetch_add(1, Ordering::Relaxed);
            Login::Silent
        }
        _ => Login::In,
    };
    live::scripted_login(Ipv4Addr::LOCALHOST.into(), port, logs_in, |_| Said::Done)
        .expect("it listens");
    let proxy = Proxy::start(|interfaces| {
        format!(
            "[mysql_variables]\ninterfaces = \"{interfaces}\"\nthreads = 1\n\
             failed_connections_threshold = {AT_ONCE}\nfailed_connection_delay = 3600000\n\
             connect_timeout_server = 200\nconnect_timeout_client = 1000\n\
             [[mysql_users]]\nusername = \"lent\"\n\
             attributes = '{{\"password_from\": \"login\"}}'\n\
             [[mysql_servers]]\nhostgroup_id = 0\nhostname = \"127.0.0.1\"\nport = {port}\n"
        )
    })
    .expect("tidegate starts");
    let told: Vec<_> = (0..AT_ONCE + 2)
        .map(|guess| who_is(&proxy, &format!("guess {guess}")).expect_err("it is wrong").0)
        .collect();
    assert_eq!(told[..AT_ONCE], [9001; AT_ONCE]);
    assert_eq!(told[AT_ONCE..], [1129; 2], "beyond that, none is looked at");
    assert_eq!(seen.load(Ordering::Relaxed), AT_ONCE, "nor shown to the server");
    assert_eq!(proxy.counter("logins_held_up").expect("told"), 2);
}

/// An account may have few connections at its server, and all of them are idle.
#[test]
fn idle_connections_make_room_for_the_next_login() {
    let Some(cluster) = live::cluster("few connections", Flavour::MariaDb, 0) else { return };
    run(&cluster, "CREATE USER lent IDENTIFIED BY 'one' WITH MAX_USER_CONNECTIONS 2");
    run(&cluster, "GRANT SELECT ON test.* TO lent");
    let proxy = proxy(&cluster, "login");
    let options = || driver::socket_options(&proxy.socket).user(Some("lent")).pass(Some("one"));
    let both: Vec<_> = (0..2).map(|_| Conn::new(options()).expect("let in")).collect();
    drop(both);
    for turn in 0..4 {
        assert_eq!(who_is(&proxy, "one"), Ok("lent@%".to_owned()), "{turn}");
    }
}

/// A proxy behind another one, whose accounts `lent` and `right` have their passwords at a server.
struct Lent {
    proxy: Proxy,
    tls: Arc<ClientConfig>,
    _dir: RunDir,
}

impl Lent {
    /// In front of a server on a port, with more variables.
    fn start(port: u16, variables: &str) -> Self {
        let dir = RunDir::create().expect("a directory");
        let arguments = [OsString::from("--datadir"), dir.path().into()];
        let proxy = Proxy::start_with(&arguments, |interfaces| {
            let user = |name: &str| {
                format!(
                    "[[mysql_users]]\nusername = \"{name}\"\n\
                     attributes = '{{\"password_from\": \"login\"}}'\n"
                )
            };
            format!(
                "[mysql_variables]\ninterfaces = \"{interfaces}\"\nthreads = 2\n\
                 proxy_protocol_networks = \"127.0.0.1\"\n{variables}{}{}\
                 [[mysql_servers]]\nhostgroup_id = 0\nhostname = \"127.0.0.1\"\n\
                 port = {port}\nmax_connections = 100\n",
                user("lent"),
                user("right"),
            )
        })
        .expect("tidegate starts");
        let tls = encrypted::trusting(&dir.path().join("tidegate-ca.pem"), rustls::ALL_VERSIONS)
            .expect("the authority of the proxy");
        Self { proxy, tls, _dir: dir }
    }

    /// A login from an address, with the last number of it.
    fn logs_in(&self, address: u8, user: &str) -> anyhow::Result<Encrypted> {
        let header = format!("PROXY TCP4 192.0.2.{address} 192.0.2.1 4000 3306\r\n");
        encrypted::log_in_behind(header.as_bytes(), self.proxy.port, &self.tls, (user, "one"))
    }

    /// What so many logins at once came to, all from one address.
    fn log_in_at_once(&self, count: usize, user: &str) -> Vec<anyhow::Result<Encrypted>> {
        thread::scope(|scope| {
            let logins: Vec<_> =
                (0..count).map(|_| scope.spawn(|| self.logs_in(7, user))).collect();
            logins.into_iter().map(|login| login.join().expect("it ends")).collect()
        })
    }
}

/// How long a wrong password counts is no matter of those with right ones: they wait for a place
/// among those that servers are asked about, which takes as long as these take.
#[test]
fn right_passwords_from_one_address_do_not_wait_as_long_as_wrong_ones() {
    let port = lab::free_port().expect("a port");
    live::scripted_login(Ipv4Addr::LOCALHOST.into(), port, |_| Login::In, |_| Said::Done)
        .expect("it listens");
    let lent = Lent::start(port, "failed_connection_delay = 3600000\n");
    let told = lent.log_in_at_once(30, "right");
    let refused: Vec<_> = told.iter().filter_map(|told| told.as_ref().err()).collect();
    assert!(refused.is_empty(), "{refused:?}");
    assert!(lent.proxy.counter("logins_held_up").expect("told") > 0, "none had to wait");
}

/// Whoever cannot be asked about in time has not guessed.
#[test]
fn a_password_that_no_server_was_free_to_look_at_is_no_guess() {
    let port = lab::free_port().expect("a port");
    let asked = Arc::new(AtomicBool::new(false));
    let asked_there = asked.clone();
    let logs_in = move |user: &str| match user {
        "lent" => {
            asked_there.store(true, Ordering::Relaxed);
            Login::Silent
        }
        _ => Login::In,
    };
    live::scripted_login(Ipv4Addr::LOCALHOST.into(), port, logs_in, |_| Said::Done)
        .expect("it listens");
    let lent = Lent::start(
        port,
        "failed_connections_threshold = 5\nfailed_connection_delay = 3600000\n\
         shun_on_failures = 1000\nmax_connects_per_server = 8\n\
         connect_timeout_server = 4000\nconnect_timeout_client = 1500\n",
    );
    thread::scope(|scope| {
        scope.spawn(|| lent.logs_in(7, "lent").expect_err("no server lets it in"));
        let is_asked = || asked.load(Ordering::Relaxed);
        live::eventually("the server is asked", SOON, is_asked);
        for told in lent.log_in_at_once(20, "right") {
            let error = told.expect_err("no server was free").to_string();
            assert!(error.contains("9001"), "{error}");
        }
    });
    let log = lent.proxy.log();
    assert!(log.contains("as many connections to each server as may prove passwords do so"));
    let comes_in = || lent.logs_in(7, "right").is_ok();
    live::eventually("a server is free again", 2 * SOON, comes_in);
}

/// Strangers have a server asked about as many passwords as there may be, to none of which it says
/// anything. Whoever has the right one, at another address, is let in soon.
#[test]
fn guesses_from_a_few_addresses_keep_no_other_address_out() {
    const STRANGERS: u8 = 5;
    const CLIENTS_EACH: usize = 24;
    const LIMIT: Duration = Duration::from_secs(60);
    let port = lab::free_port().expect("a port");
    let logs_in = |user: &str| if user == "lent" { Login::Silent } else { Login::In };
    live::scripted_login(Ipv4Addr::LOCALHOST.into(), port, logs_in, |_| Said::Done)
        .expect("it listens");
    let lent = Lent::start(
        port,
        "failed_connections_threshold = 100\nshun_on_failures = 1000\n\
         connect_timeout_server = 800\nconnect_timeout_client = 10000\n",
    );
    let logs_in = |address, user| lent.logs_in(address, user).map(drop);
    let is_over = AtomicBool::new(false);
    let guess = |address: u8| {
        let began = Instant::now();
        while !is_over.load(Ordering::Relaxed) && began.elapsed() < LIMIT {
            logs_in(address, "lent").expect_err("no server has let it in");
        }
    };
    thread::scope(|scope| {
        for address in (2..2 + STRANGERS).flat_map(|address| [address; CLIENTS_EACH]) {
            scope.spawn(move || guess(address));
        }
        let held_up = || lent.proxy.counter("logins_held_up").expect("told") > 50;
        live::eventually("more guess than may", SOON, held_up);
        let took: Vec<_> = (0..6)
            .map(|_| {
                let began = Instant::now();
                (logs_in(99, "right"), began.elapsed())
            })
            .collect();
        is_over.store(true, Ordering::Relaxed);
        for (told, took) in &took {
            let is_quick = *took < Duration::from_secs(2);
            assert!(told.is_ok() && is_quick, "{told:?} in {took:?}");
        }
    });
}

/// A server that takes connections and says nothing is in front of one that answers.
#[test]
fn a_silent_server_leaves_the_passwords_to_the_next_one() {
    // servers are asked in the order of their ports, which grow
    let port = lab::free_port().expect("a port");
    let _silent = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).expect("it is free");
    let Some(cluster) = live::cluster("silent servers", Flavour::MariaDb, 0) else { return };
    assert!(port < cluster.primary().port, "{port}");
    run(&cluster, "CREATE USER reader IDENTIFIED BY 'reader'");
    run(&cluster, "GRANT SELECT ON mysql.global_priv TO reader");
    run(&cluster, "CREATE USER lent IDENTIFIED BY 'one'");
    let row = |port| {
        format!("[[mysql_servers]]\nhostgroup_id = 0\nhostname = \"127.0.0.1\"\nport = {port}\n")
    };
    let rows = [row(port), row(cluster.primary().port)].concat();
    let proxy = Proxy::start(|interfaces| {
        format!(
            "[mysql_variables]\ninterfaces = \"{interfaces}\"\nthreads = 1\n\
             monitor_username = \"reader\"\nmonitor_password = \"reader\"\n\
             [[mysql_users]]\nusername = \"lent\"\n\
             attributes = '{{\"password_from\": \"servers\"}}'\n{rows}"
        )
    })
    .expect("tidegate starts");
    let own =
        format!("account 'lent': its password is read on 127.0.0.1:{}", cluster.primary().port);
    live::eventually(&own, Duration::from_secs(12), || proxy.log().contains(&own));
    let first = format!("127.0.0.1:{port}: passwords cannot be read there");
    assert!(proxy.log().contains(&first), "{}", proxy.log());
}

#[test]
fn the_account_counts_by_which_a_server_knows_an_address() {
    let Some(cluster) = live::cluster("hosts of accounts", Flavour::MariaDb, 0) else { return };
    run(&cluster, "CREATE USER reader IDENTIFIED BY 'reader'");
    run(&cluster, "GRANT SELECT ON mysql.global_priv TO reader");
    let proxy = proxy(&cluster, "servers");
    for (host, password) in [
        ("%", "all"),
        ("127.%", "pattern"),
        ("127.0.0.0/255.0.0.0", "network"),
        ("127.0.0.1", "address"),
    ] {
        run(&cluster, &format!("CREATE USER lent@'{host}' IDENTIFIED BY '{password}'"));
        run(&cluster, &format!("GRANT SELECT ON test.* TO lent@'{host}'"));
        let own = format!("lent@{host}");
        live::eventually(&own, SOON, || who(&proxy, password).as_ref() == Ok(&own));
    }
}
