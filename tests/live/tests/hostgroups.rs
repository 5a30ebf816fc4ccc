//! What holds for a user, a rule or a hostgroup in place of variables, in front of real servers.

use std::time::{Duration, Instant};

use lab::{Cluster, Flavour, SplitOptions};
use live::{Load, Proxy, client};
use mysql::prelude::Queryable;
use mysql::{Conn, OptsBuilder};

/// A proxy in front of one server that is there in hostgroups 0, 1 and 2.
fn proxy(cluster: &Cluster, more: &str) -> Proxy {
    let port = cluster.primary().port;
    Proxy::start(|interfaces| {
        let server = |hostgroup: u32| {
            format!(
                "[[mysql_servers]]\nhostgroup_id = {hostgroup}\nhostname = \"127.0.0.1\"\n\
                 port = {port}\n"
            )
        };
        let servers: String = (0..3).map(server).collect();
        format!(
            "[mysql_variables]\ninterfaces = \"{interfaces}\"\nthreads = 1\n\
             connect_timeout_server_max = 300\n{servers}\
             [[mysql_users]]\nusername = \"app\"\npassword = \"app\"\n{more}"
        )
    })
    .expect("tidegate starts")
}

/// How many of some reads shared a connection, asked by four clients at once.
fn shared(proxy: &Proxy, options: &OptsBuilder, sign: char) -> u64 {
    let before = proxy.counter("shared_queries").expect("counted");
    let load = Load::start(4, options, move |conn, turn| {
        let sum: Option<i64> =
            conn.query_first(format!("SELECT {turn} {sign} 1")).map_err(|e| e.to_string())?;
        sum.map(drop).ok_or_else(|| "no row".to_owned())
    });
    load.await_more(400);
    let wrong = load.stop();
    assert!(wrong.is_empty(), "{wrong:?}");
    proxy.counter("shared_queries").expect("counted") - before
}

#[test]
fn sharing_is_off_for_a_user_a_hostgroup_and_a_rule() {
    let Some(cluster) = live::cluster("sharing off", Flavour::MariaDb, 0) else { return };
    let proxy = proxy(
        &cluster,
        "[[mysql_users]]\nusername = \"monitor\"\npassword = \"monitor\"\n\
         attributes = '{\"pipeline_depth\": 0}'\n\
         [[mysql_hostgroup_attributes]]\nhostgroup_id = 1\n\
         hostgroup_settings = '{\"pipeline_depth\": 0}'\n\
         [[mysql_query_rules]]\nrule_id = 1\nactive = 1\nmatch_digest = '\\*'\n\
         destination_hostgroup = 1\napply = 1\n\
         [[mysql_query_rules]]\nrule_id = 2\nactive = 1\nmatch_digest = '-'\n\
         attributes = '{\"pipeline_depth\": 0}'\napply = 1\n",
    );
    let app = client::options(proxy.port);
    let monitor = app.clone().user(Some("monitor")).pass(Some("monitor")).db_name(None::<String>);
    assert!(shared(&proxy, &app, '+') > 200, "{}", proxy.log());
    assert_eq!(shared(&proxy, &monitor, '+'), 0, "by its user");
    assert_eq!(shared(&proxy, &app, '*'), 0, "by its hostgroup");
    assert_eq!(shared(&proxy, &app, '-'), 0, "by its rule");
    assert!(proxy.counter("unshared_forbidden").expect("counted") > 600);
}

#[test]
fn a_hostgroup_without_multiplexing_leaves_a_session_its_connection() {
    let Some(cluster) = live::cluster("no multiplexing", Flavour::MariaDb, 0) else { return };
    let proxy = proxy(
        &cluster,
        "[[mysql_hostgroup_attributes]]\nhostgroup_id = 1\nmultiplex = 0\n\
         [[mysql_query_rules]]\nrule_id = 1\nactive = 1\nmatch_digest = '^SELECT'\n\
         destination_hostgroup = 1\napply = 1\n",
    );
    let id = |conn: &mut Conn| client::server_id(conn, "");
    let mut conns: Vec<_> = (0..3).map(|_| client::connect(client::options(proxy.port))).collect();
    let first: Vec<_> = conns.iter_mut().map(id).collect();
    let again: Vec<_> = conns.iter_mut().rev().map(id).collect();
    assert_eq!(first, again.into_iter().rev().collect::<Vec<_>>());
    let mut apart = first.clone();
    apart.sort_unstable();
    apart.dedup();
    assert_eq!(apart.len(), 3, "{first:?}");
    assert_eq!(held_for(&proxy), [("multiplexing_off".to_owned(), 3)]);

    // three sessions keep a connection each, until it is on again
    let pool = "SELECT ConnFree, ConnUsed FROM stats_mysql_connection_pool WHERE hostgroup = 1";
    let mut admin = admin(&proxy);
    let mut connections = move |text: &str| -> (String, String) {
        admin.query_drop(text).expect("done");
        admin.query_first(pool).expect("told").expect("a row")
    };
    let of = |free: &str, used: &str| (free.to_owned(), used.to_owned());
    assert_eq!(connections("SELECT 1"), of("0", "3"));
    connections("DELETE FROM mysql_hostgroup_attributes");
    connections("LOAD MYSQL SERVERS TO RUNTIME");
    // stored code may be read on one of them
    live::eventually("all three are free", Duration::from_secs(20), || {
        connections("SELECT 1") == of("3", "0")
    });
    let all: Vec<_> = conns.iter_mut().map(|conn| (id(conn), id(conn))).collect();
    assert!(all.iter().all(|(one, other)| first.contains(one) && first.contains(other)), "{all:?}");
}

#[test]
fn no_server_is_used_where_more_are_online_than_may_be() {
    let Some(cluster) = live::cluster("too many servers", Flavour::MariaDb, 0) else { return };
    let proxy = proxy(
        &cluster,
        "[[mysql_hostgroup_attributes]]\nhostgroup_id = 0\nmax_num_online_servers = 0\n\
         [[mysql_users]]\nusername = \"relay\"\npassword = \"app\"\nfast_forward = 1\n",
    );
    let mut conn = client::connect(client::options(proxy.port).db_name(None::<String>));
    let began = Instant::now();
    let error = conn.query_drop("DO 1").expect_err("no server is used").to_string();
    assert!(began.elapsed() >= Duration::from_millis(300), "it waits: servers may change");
    assert!(error.contains("9001"), "{error}");
    assert!(error.contains("max_num_online_servers"), "{error}");
    let relayed = client::account(proxy.port, "relay", "app").db_name(None::<String>);
    let error = Conn::new(relayed).expect_err("no server is used").to_string();
    assert!(error.contains("9001") && error.contains("max_num_online_servers"), "{error}");
}

fn admin(proxy: &Proxy) -> Conn {
    let listens = || live::greeting_of(proxy.admin_port).is_ok();
    live::eventually("the administrative interface listens", Duration::from_secs(10), listens);
    client::connect(client::account(proxy.admin_port, "admin", "admin").db_name(None::<String>))
}

/// Times that sessions began to keep a connection, for those reasons that there were.
fn held_for(proxy: &Proxy) -> Vec<(String, u64)> {
    let statistics = proxy.statistics().expect("told");
    let reasons = statistics["held_for"].as_object().expect("reasons").iter();
    let counts = reasons.filter_map(|(name, count)| Some((name.clone(), count.as_u64()?)));
    counts.filter(|(_, count)| *count > 0).collect()
}

#[test]
fn each_reason_to_keep_a_connection_is_counted_and_ends() {
    let Some(cluster) = live::cluster("reasons", Flavour::MariaDb, 0) else { return };
    let proxy = proxy(&cluster, "");
    let mut conn = client::connect(client::options(proxy.port));
    assert_eq!(held_for(&proxy), []);
    let transaction = ["BEGIN", "DO 1", "COMMIT"];
    let table = ["CREATE TEMPORARY TABLE x (a INT)", "DROP TEMPORARY TABLE x"];
    let lock = ["SELECT GET_LOCK('x', 1)", "SELECT RELEASE_LOCK('x')"];
    let named = ["PREPARE s FROM 'SELECT 1'", "EXECUTE s", "DEALLOCATE PREPARE s"];
    for statement in transaction.iter().chain(&table).chain(&table).chain(&lock).chain(&named) {
        conn.query_drop(statement).expect("it works");
    }
    let expected =
        [("get_lock", 1), ("temporary_table", 2), ("text_prepare", 1), ("transaction", 1)];
    let told = held_for(&proxy);
    assert_eq!(told, expected.map(|(name, count)| (name.to_owned(), count)));
    let mut admin = admin(&proxy);
    let rows: Vec<(String, String)> = admin
        .query(
            "SELECT * FROM stats_mysql_global WHERE Variable_Name LIKE 'held_for_%' \
                AND Variable_Value > 0 ORDER BY 1",
        )
        .expect("shown");
    let shown = expected.map(|(name, count)| (format!("held_for_{name}"), count.to_string()));
    assert_eq!(rows, shown);
    let kept: Option<String> = admin
        .query_first(
            "SELECT json_extract(extended_info, '$.backends[0].conn.held_for') \
                      FROM stats_mysql_processlist WHERE user = 'app'",
        )
        .expect("shown")
        .flatten();
    assert_eq!(kept, None, "nothing is kept any more");
}

#[test]
fn changes_elsewhere_are_refused_while_a_session_is_tied() {
    let Some(cluster) = live::cluster("locked on a hostgroup", Flavour::MariaDb, 1) else { return };
    let replica = cluster.replicas()[0].port;
    let more = format!(
        "[[mysql_servers]]\nhostgroup_id = 7\nhostname = \"127.0.0.1\"\nport = {replica}\n\
             [[mysql_query_rules]]\nrule_id = 1\nactive = 1\nmatch_digest = 'elsewhere'\n\
             destination_hostgroup = 7\napply = 1\n\
             [[mysql_query_rules]]\nrule_id = 2\nactive = 1\nmatch_digest = 'same'\n\
             destination_hostgroup = 2\napply = 1\n"
    );
    let proxy = proxy(&cluster, &more);
    let mut conn = client::connect(client::options(proxy.port));
    conn.query_drop("CREATE TABLE same (a INT)").expect("it works");
    conn.query_drop("CREATE TEMPORARY TABLE kept (a INT)").expect("it works");
    // another hostgroup of the same server can serve it, and reads run where the session is
    conn.query_drop("INSERT INTO same VALUES (1)").expect("it works");
    conn.query_drop("SELECT 1 AS elsewhere FROM kept").expect("it works");
    let error = conn.query_drop("INSERT INTO elsewhere VALUES (1)").expect_err("refused");
    let said = error.to_string();
    assert!(said.contains("9006") && said.contains("Y0000"), "{said}");
    assert!(said.contains("locked to hostgroup 0 (temporary_table)"), "{said}");
    assert!(said.contains("hostgroup 7"), "{said}");
    let mut refused = || {
        let error = conn.query_drop("INSERT INTO elsewhere VALUES (1)").expect_err("refused");
        client::refusal(&error).0
    };
    let mut admin = admin(&proxy);
    for (lock, code) in [("0", 1146), ("1", 9006)] {
        admin.query_drop(format!("SET mysql-set_query_lock_on_hostgroup={lock}")).expect("set");
        admin.query_drop("LOAD MYSQL VARIABLES TO RUNTIME").expect("in force");
        live::eventually("it is in force", Duration::from_secs(5), || refused() == code);
    }
    conn.query_drop("DROP TEMPORARY TABLE kept").expect("it works");
    let error = conn.query_drop("INSERT INTO elsewhere VALUES (1)").expect_err("read-only");
    assert_eq!(client::refusal(&error).0, 1290, "it went where the rules say: {error}");
}

#[test]
fn a_transaction_is_ended_in_the_hostgroup_that_has_it() {
    let Some(cluster) = live::cluster("transaction elsewhere", Flavour::MariaDb, 0) else { return };
    let direct = cluster.primary();
    let mut owner = client::connect(client::options(direct.port));
    owner.query_drop("CREATE TABLE test.kept (v INT)").expect("created");
    let proxy = proxy(
        &cluster,
        "transaction_persistent = 0\n\
         [[mysql_query_rules]]\nrule_id = 1\nactive = 1\nmatch_digest = '^INSERT'\n\
         destination_hostgroup = 1\napply = 1\n",
    );
    let rows = || direct.value("SELECT GROUP_CONCAT(v ORDER BY v) FROM test.kept");
    let mut conn = client::connect(client::options(proxy.port));
    let mut run = |texts: &[&str]| {
        texts
            .iter()
            .for_each(|text| conn.query_drop(text).unwrap_or_else(|e| panic!("{text}: {e}")));
        rows().expect("counted")
    };
    assert_eq!(run(&["SET autocommit = 0", "INSERT INTO test.kept VALUES (1)", "COMMIT"]), "1");
    assert_eq!(run(&["INSERT INTO test.kept VALUES (2)", "ROLLBACK"]), "1");
    let part = ["SAVEPOINT s", "INSERT INTO test.kept VALUES (4)", "ROLLBACK TO s", "COMMIT"];
    assert_eq!(run(&[&["INSERT INTO test.kept VALUES (3)"][..], &part].concat()), "1,3");
}

#[test]
fn a_chain_behind_reads_leaves_it_to_rules_where_the_first_change_goes() {
    let Some(cluster) = live::cluster("chained reads", Flavour::MariaDb, 1) else { return };
    let direct = cluster.primary();
    direct.sql("CREATE TABLE test.chained (v INT) ENGINE = InnoDB").expect("created");
    cluster.wait_replicated().expect("replicated");
    let proxy = Proxy::start(|interfaces| {
        let options = SplitOptions { interfaces, ..Default::default() };
        let app = "username = \"app\"\n";
        lab::split_toml(&cluster, &options)
            .replace(app, &format!("{app}transaction_persistent = 0\n"))
    })
    .expect("tidegate starts");
    for (value, chain) in [(1, "COMMIT AND CHAIN"), (2, "ROLLBACK AND CHAIN")] {
        let mut conn = client::connect(client::options(proxy.port));
        let insert = format!("INSERT INTO test.chained VALUES ({value})");
        for text in [
            "SET autocommit = 0",
            "SELECT COUNT(*) FROM test.chained",
            chain,
            insert.as_str(),
            "SAVEPOINT s",
            "DELETE FROM test.chained",
            "ROLLBACK TO s",
            "COMMIT",
        ] {
            conn.query_drop(text).unwrap_or_else(|error| panic!("{chain}: {text}: {error}"));
        }
    }
    let rows = direct.value("SELECT GROUP_CONCAT(v ORDER BY v) FROM test.chained");
    assert_eq!(rows.expect("counted"), "1,2");
}

#[test]
fn a_session_that_is_relayed_waits_while_all_connections_are_in_use() {
    let Some(cluster) = live::cluster("relay waits", Flavour::MariaDb, 0) else { return };
    let relay =
        "[[mysql_users]]\nusername = \"monitor\"\npassword = \"monitor\"\nfast_forward = 1\n";
    let proxy = proxy(&cluster, relay);
    let mut admin = admin(&proxy);
    for text in [
        "UPDATE mysql_servers SET max_connections = 1",
        "LOAD MYSQL SERVERS TO RUNTIME",
        "SET mysql-connect_timeout_server_max = 10000",
        "LOAD MYSQL VARIABLES TO RUNTIME",
    ] {
        admin.query_drop(text).expect("done");
    }
    let mut app = client::connect(client::options(proxy.port));
    app.query_drop("BEGIN").expect("a transaction");
    let options = client::account(proxy.port, "monitor", "monitor").db_name(None::<String>);
    let waits = std::thread::spawn(move || Conn::new(options)?.query_first::<i64, _>("SELECT 1"));
    let count = "SELECT COUNT(*) FROM stats_mysql_processlist WHERE user = 'monitor'";
    live::eventually("it has come", Duration::from_secs(10), || {
        waits.is_finished() || admin.query_first(count).expect("counted") == Some(1)
    });
    assert!(!waits.is_finished(), "{:?}", waits.join());
    app.query_drop("COMMIT").expect("its end");
    assert_eq!(waits.join().expect("no panic").expect("served"), Some(1));
}

/// Begins a transaction; the port of the server that has it.
fn begin(conn: &mut Conn) -> u16 {
    conn.query_drop("BEGIN").expect("begun");
    conn.query_first("SELECT @@port").expect("told").expect("a row")
}

#[test]
fn servers_are_chosen_by_what_they_have_to_do_and_by_where_they_are() {
    let Some(cluster) = live::cluster("balancing", Flavour::MariaDb, 1) else { return };
    let ports = [cluster.primary().port, cluster.replicas()[0].port];
    let proxy = Proxy::start(|interfaces| {
        let server = |port: &u16| {
            format!(
                "[[mysql_servers]]\nhostgroup_id = 0\nhostname = \"127.0.0.1\"\nport = {port}\n"
            )
        };
        let servers: String = ports.iter().map(server).collect();
        format!(
            "[mysql_variables]\ninterfaces = \"{interfaces}\"\nthreads = 1\n\
             stored_code = false\n{servers}\
             [[mysql_users]]\nusername = \"app\"\npassword = \"app\"\n\
             [[mysql_hostgroup_attributes]]\nhostgroup_id = 0\n\
             hostgroup_settings = '{{\"balance\": \"least_outstanding\"}}'\n"
        )
    })
    .expect("tidegate starts");
    let options = client::options(proxy.port).db_name(None::<String>);
    let mut conns: Vec<_> = (0..8).map(|_| client::connect(options.clone())).collect();
    let mut at: Vec<_> = conns.iter_mut().map(begin).collect();
    let count = |at: &[u16], port: u16| at.iter().filter(|own| **own == port).count();
    assert_eq!(ports.map(|port| count(&at, port)), [4, 4], "{at:?}");
    // those of one server end: it gets all the next ones, for it has nothing to do
    let ended: Vec<_> = (0..8).filter(|number| at[*number] == ports[0]).collect();
    for number in &ended {
        conns[*number].query_drop("ROLLBACK").expect("ended");
    }
    for number in &ended {
        at[*number] = begin(&mut conns[*number]);
    }
    assert_eq!(ports.map(|port| count(&at, port)), [4, 4], "{at:?}");
    for conn in &mut conns {
        conn.query_drop("ROLLBACK").expect("ended");
    }

    let mut admin = admin(&proxy);
    let near = format!("{{\"zones\": {{\"127.0.0.1:{}\": \"here\"}}}}", ports[1]);
    for text in [
        format!("UPDATE mysql_hostgroup_attributes SET hostgroup_settings = '{near}'"),
        "LOAD MYSQL SERVERS TO RUNTIME".to_owned(),
        "SET mysql-zone = 'here'".to_owned(),
        "LOAD MYSQL VARIABLES TO RUNTIME".to_owned(),
    ] {
        admin.query_drop(text).expect("done");
    }
    let at: Vec<_> = conns.iter_mut().map(begin).collect();
    assert_eq!(ports.map(|port| count(&at, port)), [0, 8], "{at:?}");
    let text = "UPDATE mysql_servers SET status = 'OFFLINE_SOFT' WHERE port =";
    admin.query_drop(format!("{text} {}", ports[1])).expect("done");
    admin.query_drop("LOAD MYSQL SERVERS TO RUNTIME").expect("done");
    for conn in &mut conns {
        conn.query_drop("ROLLBACK").expect("ended");
    }
    let at: Vec<_> = conns.iter_mut().map(begin).collect();
    assert_eq!(ports.map(|port| count(&at, port)), [8, 0], "none of its own zone serves: {at:?}");
}
