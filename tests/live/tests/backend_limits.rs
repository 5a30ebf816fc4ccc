//! A user whose connections to servers are limited leaves the others to everybody else.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use lab::{Cluster, Flavour};
use live::{Load, Proxy, Shared, client};
use mysql::prelude::Queryable;

static MARIADB: Shared = Shared::new("limits of accounts", Flavour::MariaDb, 0);
static MYSQL: Shared = Shared::new("limits of accounts with MySQL", Flavour::MySql, 0);

/// Clients of the user that is limited, and the transactions of each.
const CLIENTS: usize = 20;
const TRANSACTIONS: usize = 5;

/// Connections to the server, and of those the user's.
const ALL: u32 = 10;
const MOST: u64 = 2;

fn proxy(cluster: &Cluster, attributes: &str, variable: u64) -> Proxy {
    let port = cluster.primary().port;
    let users = format!(
        "[[mysql_users]]\nusername = \"app\"\npassword = \"app\"\nattributes = '{attributes}'\n\
         [[mysql_users]]\nusername = \"spare\"\npassword = \"spare\"\n\
         attributes = '{{\"max_backend_connections\": 0}}'\n"
    );
    Proxy::start(|interfaces| {
        format!(
            "[mysql_variables]\ninterfaces = \"{interfaces}\"\nthreads = 2\n\
             get_server_public_key = true\nstored_code = false\n\
             max_backend_connections_per_user = {variable}\n\
             [[mysql_servers]]\nhostgroup_id = 0\nhostname = \"127.0.0.1\"\nport = {port}\n\
             max_connections = {ALL}\n{users}"
        )
    })
    .expect("tidegate starts")
}

/// Connections of the user that its server knows.
fn open(cluster: &Cluster) -> u64 {
    let text = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE USER = 'app'";
    let rows = cluster.primary().sql(text).expect("told");
    let count = rows.first().and_then(|row| row.first()?.as_ref()?.parse().ok());
    count.unwrap_or_else(|| panic!("{rows:?}"))
}

fn a_user_has_no_more_than_it_may(shared: &'static Shared) {
    let Some(cluster) = shared.cluster() else { return };
    let created = "CREATE USER IF NOT EXISTS spare@'%' IDENTIFIED BY 'spare'; \
                   GRANT ALL ON test.* TO spare@'%'";
    cluster.primary().sql(created).expect("created");
    for (attributes, variable) in [(r#"{"max_backend_connections": 2}"#, 0), ("", MOST)] {
        let proxy = proxy(&cluster, attributes, variable);
        let port = proxy.port;
        let clients: Vec<_> = (0..CLIENTS)
            .map(|_| {
                thread::spawn(move || {
                    let mut conn = client::connect(client::options(port));
                    for _ in 0..TRANSACTIONS {
                        conn.query_drop("BEGIN").expect("begun");
                        conn.query_drop("DO SLEEP(0.02)").expect("done");
                        conn.query_drop("COMMIT").expect("committed");
                    }
                })
            })
            .collect();
        let over = Arc::new(AtomicBool::new(false));
        let other = {
            let over = Arc::clone(&over);
            thread::spawn(move || {
                let mut conn = client::connect(client::account(port, "spare", "spare"));
                let mut longest = Duration::ZERO;
                while !over.load(Ordering::Relaxed) {
                    let began = Instant::now();
                    conn.query_drop("DO 1").expect("served");
                    longest = longest.max(began.elapsed());
                }
                longest
            })
        };
        let mut seen = 0;
        while clients.iter().any(|client| !client.is_finished()) {
            seen = seen.max(open(&cluster));
        }
        clients.into_iter().for_each(|client| client.join().expect("all are served"));
        over.store(true, Ordering::Relaxed);
        let longest = other.join().expect("the other is served");
        assert_eq!(seen, MOST, "{attributes} {variable}");
        // one that waited in the same line would have waited for all of them
        assert!(longest < Duration::from_millis(700), "{longest:?}");
        assert!(proxy.counter("checkouts_limited").expect("counted") > 0);
    }
}

#[test]
fn a_user_has_no_more_connections_to_mariadb_than_it_may() {
    a_user_has_no_more_than_it_may(&MARIADB);
}

#[test]
fn a_user_has_no_more_connections_to_mysql_than_it_may() {
    a_user_has_no_more_than_it_may(&MYSQL);
}

#[test]
fn a_busy_account_does_not_keep_another_one_from_a_full_server() {
    let Some(cluster) = MARIADB.cluster() else { return };
    let port = cluster.primary().port;
    let proxy = Proxy::start(|interfaces| {
        format!(
            "[mysql_variables]\ninterfaces = \"{interfaces}\"\nthreads = 1\nstored_code = false\n\
             connect_timeout_server_max = 2000\n\
             [[mysql_servers]]\nhostgroup_id = 0\nhostname = \"127.0.0.1\"\nport = {port}\n\
             max_connections = 1\n\
             [[mysql_users]]\nusername = \"app\"\npassword = \"app\"\n\
             [[mysql_users]]\nusername = \"monitor\"\npassword = \"monitor\"\n"
        )
    })
    .expect("tidegate starts");
    let options = client::options(proxy.port).db_name(None::<String>);
    let load = Load::start(3, &options, |conn, _| {
        for text in ["BEGIN", "DO SLEEP(0.001)", "COMMIT"] {
            conn.query_drop(text).map_err(|error| error.to_string())?;
        }
        Ok(())
    });
    load.await_more(20);
    let other = options.clone().user(Some("monitor")).pass(Some("monitor"));
    let mut conn = client::connect(other);
    for _ in 0..5 {
        let began = Instant::now();
        conn.query_drop("DO 1").expect("it has its turn");
        assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
    }
    load.await_more(20);
    let wrong = load.stop();
    assert!(wrong.is_empty(), "{wrong:?}");
}
