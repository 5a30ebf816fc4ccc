//! Programs that read binary logs through the proxy get what they get from the server. What they
//! asked of their connection before, variables of the session, is there when the dump begins.

use std::time::Duration;

use lab::{Cluster, Flavour};
use live::{Program, Proxy, Shared, client, eventually, skip};
use mysql::prelude::Queryable;

static MARIADB: Shared = Shared::new("binary logs", Flavour::MariaDb, 1);

fn proxy(cluster: &Cluster) -> Proxy {
    let port = cluster.primary().port;
    Proxy::start(|interfaces| {
        format!(
            "[mysql_variables]\ninterfaces = \"{interfaces}\"\nthreads = 1\n\
             [[mysql_servers]]\nhostgroup_id = 0\nhostname = \"127.0.0.1\"\nport = {port}\n\
             [[mysql_users]]\nusername = \"app\"\npassword = \"app\"\n\
             [[mysql_users]]\nusername = \"repl\"\npassword = \"repl\"\n\
             [[mysql_users]]\nusername = \"ff\"\npassword = \"ff\"\nfast_forward = 1\n"
        )
    })
    .expect("tidegate starts")
}

/// What the program prints of a log, of which the first lines name the moment it ran at.
fn printed(program: &str, port: u16, user: &str, log: &str) -> String {
    let finished = Program::new(program)
        .args(["--no-defaults", "--read-from-remote-server", "--host=127.0.0.1", "--verbose"])
        .args([format!("--port={port}"), format!("--user={user}"), format!("--password={user}")])
        .args(["--base64-output=decode-rows", log])
        .run();
    assert!(finished.success, "{user} on {port}: {}", finished.errors);
    finished.output
}

#[test]
fn a_log_that_is_read_through_the_proxy_is_the_servers() {
    let Some(cluster) = MARIADB.cluster() else { return };
    let program = "mariadb-binlog";
    if !Program::new(program).args(["--version"]).run().success {
        return skip("mariadb-binlog through the proxy", "it is not installed");
    }
    let primary = cluster.primary();
    let proxy = proxy(&cluster);
    let mut conn = client::connect(client::options(proxy.port));
    conn.query_drop("CREATE OR REPLACE TABLE logged (a INT PRIMARY KEY, b TEXT)").expect("made");
    for round in 0..20 {
        conn.query_drop(format!("INSERT INTO logged VALUES ({round}, UUID())")).expect("written");
    }
    let log = primary.value("SELECT @@log_bin_basename").expect("told");
    let log = format!("{}.000001", log.rsplit('/').next().expect("a name"));
    primary.sql("FLUSH BINARY LOGS").expect("flushed");
    let direct = printed(program, primary.port, "app", &log);
    assert!(direct.matches("INSERT INTO `test`.`logged`").count() >= 20, "{direct}");
    for user in ["app", "ff"] {
        assert_eq!(printed(program, proxy.port, user, &log), direct, "{user}");
    }
}

#[test]
fn a_replica_follows_through_the_proxy() {
    let Some(cluster) = MARIADB.cluster() else { return };
    let (primary, replica) = (cluster.primary(), &cluster.replicas()[0]);
    let proxy = proxy(&cluster);
    let follow = |port: u16| {
        let text = format!("STOP SLAVE; CHANGE MASTER TO MASTER_PORT={port}; START SLAVE");
        replica.sql(&text).expect("it follows");
    };
    follow(proxy.port);
    primary.sql("CREATE OR REPLACE TABLE test.followed (a INT)").expect("made");
    primary.sql("INSERT INTO test.followed VALUES (7), (8)").expect("written");
    eventually("the rows are on the replica", Duration::from_secs(30), || {
        replica.value("SELECT SUM(a) FROM test.followed").is_ok_and(|sum| sum == "15")
    });
    follow(primary.port);
}
