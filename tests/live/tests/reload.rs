//! The configuration changed while clients are served: what they see of it, and what servers do.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::time::Duration;

use lab::{Cluster, Flavour, SplitOptions};
use live::{Load, Proxy, client, eventually};
use mysql::Conn;
use mysql::prelude::Queryable;

/// The configuration of a turn: in every second one a replica is missing, and rules, weights,
/// variables and another account change with each.
fn turn(cluster: &Cluster, interfaces: String, turn: u32) -> String {
    let mut more = format!(
        "\n[[mysql_query_rules]]\nrule_id = {}\nactive = 1\nmatch_digest = \"^SELECT {turn}$\"\n\
         destination_hostgroup = 0\n\n[[mysql_users]]\nusername = \"other\"\n\
         password = \"of turn {turn}\"\nmax_connections = {}\n",
        1000 + turn,
        100 + turn
    );
    if turn.is_multiple_of(2) {
        more += &second_replica(cluster, "ONLINE");
    }
    if turn % 4 == 1 {
        more += &second_replica(cluster, "OFFLINE_SOFT");
    }
    let variables = format!("free_connections_pct = {}\n", 10 + turn % 3);
    only_first_replica(cluster, interfaces, 1 + turn % 3, &variables, &more)
}

fn second_replica(cluster: &Cluster, status: &str) -> String {
    let server = &cluster.replicas()[1];
    format!(
        "\n[[mysql_servers]]\nhostgroup_id = 1\nhostname = \"{}\"\n\
         port = {}\nstatus = \"{status}\"\n",
        server.host, server.port
    )
}

/// The usual configuration without what it says of the second replica.
fn only_first_replica(
    cluster: &Cluster,
    interfaces: String,
    weight: u32,
    variables: &str,
    more: &str,
) -> String {
    let options = SplitOptions {
        interfaces,
        weights: vec![weight],
        variables: variables.into(),
        more: more.into(),
    };
    let text = lab::split_toml(cluster, &options);
    let row =
        format!("port = {}\nweight = 1\nmax_connections = 1000\n", cluster.replicas()[1].port);
    let end = text.find(&row).expect("the second replica's row") + row.len();
    let start = text[..end].rfind("[[mysql_servers]]").expect("its head");
    format!("{}{}", &text[..start], &text[end..])
}

fn transactions(count: usize, port: u16) -> Load {
    Load::start(count, &client::options(port), |conn, turn| {
        let mut transaction = || -> mysql::Result<u64> {
            conn.query_drop("BEGIN")?;
            conn.query_drop(format!("SET @turn = {turn}"))?;
            let told: Option<u64> = conn.query_first("SELECT @turn")?;
            conn.query_drop("COMMIT")?;
            Ok(told.unwrap_or(0))
        };
        match transaction() {
            Ok(told) if told == turn => Ok(()),
            Ok(told) => Err(format!("told {told} in turn {turn}")),
            Err(error) => Err(error.to_string()),
        }
    })
}

/// The numbers of the connections that a server has of `app`.
fn connections_of_app(server: &lab::Server) -> BTreeSet<u64> {
    let text = "SELECT COALESCE(GROUP_CONCAT(id), '') FROM information_schema.processlist \
                WHERE user = 'app'";
    let numbers = server.value(text).expect("told");
    numbers.split_terminator(',').map(|number| number.parse().expect("a number")).collect()
}

#[test]
fn reloads_under_load_are_felt_by_nobody() {
    let Some(cluster) = live::cluster("reloads under load", Flavour::MariaDb, 2) else { return };
    let proxy = Proxy::start(|interfaces| turn(&cluster, interfaces, 0)).expect("tidegate starts");
    let (reads, writes) =
        (Load::reads(8, &client::options(proxy.port)), transactions(4, proxy.port));
    let reload = |number| {
        let changed = proxy.reload(|interfaces| turn(&cluster, interfaces, number));
        assert!(changed.expect("an outcome"), "turn {number}\n{}", proxy.log());
        reads.await_more(20);
        writes.await_more(2);
    };
    (1..=20).for_each(reload);
    let unchanged = [cluster.primary(), &cluster.replicas()[0]];
    let before = unchanged.map(connections_of_app);
    (21..=if live::full() { 103 } else { 43 }).for_each(reload);
    let after = unchanged.map(connections_of_app);
    let errors = [reads.stop(), writes.stop()].concat();
    assert!(errors.is_empty(), "{errors:?}\n{}", proxy.log());
    for (before, after) in before.iter().zip(&after) {
        assert!(!before.is_empty() && before.is_subset(after), "{before:?} became {after:?}");
    }
    let drained = &cluster.replicas()[1];
    eventually("the removed server is left", Duration::from_secs(10), || {
        connections_of_app(drained).is_empty()
    });
}

#[test]
fn a_wrong_file_changes_nothing_and_is_logged_with_its_places() {
    let Some(cluster) = live::cluster("a wrong file", Flavour::MariaDb, 2) else { return };
    let proxy = Proxy::start(|interfaces| turn(&cluster, interfaces, 0)).expect("tidegate starts");
    let mut session = client::connect(client::options(proxy.port));
    let changed = proxy.reload(|interfaces| {
        let wrong = "\n[[mysql_servers]]\nhostgroup_id = 1\nhostname = \"x\"\nweight = -1\n";
        turn(&cluster, interfaces, 2) + wrong
    });
    assert!(!changed.expect("an outcome"));
    let log = proxy.log();
    let places = log.lines().filter(|line| line.contains("--> ") && line.contains("toml:"));
    assert_eq!(places.count(), 1, "{log}");
    assert!(log.contains("-1 is not in 0..10000000"), "{log}");
    let sum: Option<u32> = session.query_first("SELECT 1 + 1").expect("served as before");
    assert_eq!(sum, Some(2));
    let later = |interfaces| turn(&cluster, interfaces, 2).replacen("\n", "\nthreads = 3\n", 1);
    assert!(proxy.reload(later).expect("an outcome"));
    let log = proxy.log();
    assert!(log.contains("mysql-threads stays 4 until a restart; 3 is wanted"), "{log}");
}

#[test]
fn a_changed_password_acts_on_the_next_login_and_sessions_go_on() {
    let Some(cluster) = live::cluster("a changed password", Flavour::MariaDb, 2) else { return };
    let user = |password: &str| {
        let mut text = String::new();
        let row = write!(
            text,
            "\n[[mysql_users]]\nusername = \"eve\"\npassword = \"{password}\"\n\
             default_hostgroup = 0\n"
        );
        row.expect("written");
        text
    };
    let on_servers = "CREATE USER eve@'%' IDENTIFIED BY 'old'; GRANT SELECT ON *.* TO eve@'%'";
    cluster.primary().sql(on_servers).expect("created");
    cluster.wait_replicated().expect("replicated");
    let config = |interfaces, password| turn(&cluster, interfaces, 0) + &user(password);
    let proxy = Proxy::start(|interfaces| config(interfaces, "old")).expect("tidegate starts");
    let mut session = client::connect(client::account(proxy.port, "eve", "old"));
    session.query_drop("SELECT 1").expect("served");
    cluster.primary().sql("SET PASSWORD FOR eve@'%' = PASSWORD('new')").expect("changed");
    cluster.wait_replicated().expect("replicated");
    assert!(proxy.reload(|interfaces| config(interfaces, "new")).expect("an outcome"));
    let login = |password| Conn::new(client::account(proxy.port, "eve", password));
    let refused = login("old").expect_err("the old password");
    assert_eq!(client::refusal(&refused).0, 1045);
    let mut next = login("new").expect("the new password");
    for conn in [&mut session, &mut next] {
        // a transaction needs a connection of its own, made with the new password
        conn.query_drop("BEGIN").expect("served");
    }
    for conn in [&mut session, &mut next] {
        conn.query_drop("SELECT 1").expect("served");
        conn.query_drop("COMMIT").expect("served");
    }
}
