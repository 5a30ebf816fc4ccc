//! What tools of ProxySQL's world read of connections, from a running proxy: Percona's scheduler
//! for Galera clusters, agents beside a proxy, exporters of metrics. The rest of what they send is
//! in `crates/admin/tests/tools.rs` and `tool_rounds.rs`.

use std::time::Duration;

use live::{Proxy, client, eventually};
use mysql::prelude::Queryable;
use mysql::{Conn, Value};

/// Three servers that nothing listens for, and answers to clients without any of them.
const CONFIGURATION: &str = "threads = 1\nserver_version = \"8.0.11\"\nmonitor_enabled = false\n\
    stored_code = false\n\
    [[mysql_servers]]\nhostgroup_id = 10\nhostname = \"127.0.0.1\"\nport = 1\nweight = 1000\n\
    [[mysql_servers]]\nhostgroup_id = 11\nhostname = \"127.0.0.1\"\nport = 1\n\
    status = \"OFFLINE_SOFT\"\ncomment = \"reader\"\n\
    [[mysql_servers]]\nhostgroup_id = 9010\nhostname = \"127.0.0.1\"\nport = 2\n\
    [[mysql_users]]\nusername = \"app\"\npassword = \"app\"\n\
    [[mysql_query_rules]]\nrule_id = 1\nactive = 1\nmatch_pattern = \".\"\nOK_msg = \"yes\"\n\
    apply = 1\n";

fn start() -> Proxy {
    let text =
        |interfaces| format!("[mysql_variables]\ninterfaces = \"{interfaces}\"\n{CONFIGURATION}");
    let proxy = Proxy::start(text).expect("tidegate starts");
    eventually("the interface greets", Duration::from_secs(10), || {
        live::greeting_of(proxy.admin_port).is_ok()
    });
    proxy
}

/// A connection to the interface in a schema, as tools say one.
fn log_in(proxy: &Proxy, account: &str, schema: &str) -> Conn {
    client::connect(client::account(proxy.admin_port, account, account).db_name(Some(schema)))
}

/// Names of a query's columns, and its rows, a line each.
fn told(admin: &mut Conn, query: &str) -> String {
    let result = admin.query_iter(query).unwrap_or_else(|error| panic!("{query}: {error}"));
    let columns = result.columns();
    let names: Vec<_> = columns.as_ref().iter().map(|column| column.name_str()).collect();
    let mut lines = vec![names.join("|")];
    let cell = |value: Value| match value {
        Value::NULL => "NULL".to_owned(),
        value => mysql::from_value(value),
    };
    lines.extend(result.map(|row| {
        let cells = row.expect("a row").unwrap().into_iter().map(cell);
        cells.collect::<Vec<_>>().join("|")
    }));
    lines.join("\n")
}

#[test]
fn a_scheduler_reads_servers_with_their_connections_and_takes_one_out() {
    let proxy = start();
    let mut admin = log_in(&proxy, "admin", "main");
    let servers = " select b.*, c.ConnUsed from stats_mysql_connection_pool c \
                   left JOIN runtime_mysql_servers b ON  c.hostgroup=b.hostgroup_id \
                   and c.srv_host=b.hostname and c.srv_port = b.port \
                   where hostgroup_id in (10,11,9010,9011)  order by hostgroup,srv_host desc;";
    let names = "hostgroup_id|hostname|port|gtid_port|status|weight|compression|max_connections|\
                 max_replication_lag|use_ssl|max_latency_ms|comment|ConnUsed";
    let before = "10|127.0.0.1|1|0|ONLINE|1000|0|1000|0|0|0||0\n\
                  11|127.0.0.1|1|0|OFFLINE_SOFT|1|0|1000|0|0|0|reader|0\n\
                  9010|127.0.0.1|2|0|ONLINE|1|0|1000|0|0|0||0";
    assert_eq!(told(&mut admin, servers), format!("{names}\n{before}"));
    let out = " UPDATE mysql_servers SET status='OFFLINE_SOFT' WHERE hostgroup_id=10 \
               AND hostname='127.0.0.1' AND port=1";
    admin.query_drop(out).expect("it is SQL");
    admin.query_drop(" Delete from mysql_servers WHERE hostgroup_id=9010").expect("it is SQL");
    admin.query_drop("LOAD mysql servers to RUN ").expect("a command");
    let after = before.replace("|ONLINE|1000|", "|OFFLINE_SOFT|1000|");
    let after = after.rsplit_once('\n').expect("lines").0;
    assert_eq!(told(&mut admin, servers), format!("{names}\n{after}"));
    let back = " UPDATE mysql_servers SET status='ONLINE' WHERE hostgroup_id=10";
    admin.query_drop(back).expect("it is SQL");
    admin.query_drop("LOAD mysql servers to RUN ").expect("a command");
    let pool = "SELECT hostgroup, srv_host, srv_port, status FROM stats_mysql_connection_pool \
                WHERE status <> 'OFFLINE_HARD'";
    assert_eq!(
        told(&mut admin, pool),
        "hostgroup|srv_host|srv_port|status\n10|127.0.0.1|1|ONLINE\n11|127.0.0.1|1|OFFLINE_SOFT"
    );
}

#[test]
fn an_exporter_counts_connections_of_servers_and_of_clients() {
    let proxy = start();
    let mut clients = [0, 1].map(|_| client::connect(client::options(proxy.port)));
    for client in &mut clients {
        client.query_drop("DO 1").expect("the rule answers");
    }
    let mut stats = log_in(&proxy, "stats", "stats");
    let pool = told(
        &mut stats,
        "SELECT hostgroup, srv_host, srv_port, * FROM stats_mysql_connection_pool \
         WHERE hostgroup < 100",
    );
    let names = "hostgroup|srv_host|srv_port|hostgroup|srv_host|srv_port|status|ConnUsed|ConnFree|\
                 ConnOK|ConnERR|MaxConnUsed|Queries|Queries_GTID_sync|Bytes_data_sent|\
                 Bytes_data_recv|Latency_us";
    let first = "10|127.0.0.1|1|10|127.0.0.1|1|ONLINE|0|0|0|0|0|0|0|0|0|0";
    let second = "11|127.0.0.1|1|11|127.0.0.1|1|OFFLINE_SOFT|0|0|0|0|0|0|0|0|0|0";
    assert_eq!(pool, format!("{names}\n{first}\n{second}"));
    for (query, answer) in [
        ("select sum(ConnUsed) used from stats_mysql_connection_pool", "used\n0"),
        (
            "SELECT COUNT(cli_host) as connection_count, cli_host FROM stats_mysql_processlist \
             GROUP BY cli_host",
            "connection_count|cli_host\n2|127.0.0.1",
        ),
        (
            "SELECT user, db, cli_host, hostgroup, COUNT(*) as count \
             from stats_mysql_processlist group by user, db, cli_host, hostgroup",
            "user|db|cli_host|hostgroup|count\napp|test|127.0.0.1|0|2",
        ),
        (
            "SELECT username, frontend_connections FROM stats_mysql_users",
            "username|frontend_connections\napp|2",
        ),
        (
            "SELECT Variable_Name, Variable_Value FROM stats_mysql_global \
             WHERE Variable_Name IN ('Client_Connections_connected', 'Questions') ORDER BY 1",
            "Variable_Name|Variable_Value\nClient_Connections_connected|2\nQuestions|2",
        ),
    ] {
        assert_eq!(told(&mut stats, query), answer, "{query}");
    }
}
