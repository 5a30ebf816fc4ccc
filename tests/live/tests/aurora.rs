//! Clusters of Amazon: servers that answer as those of Aurora and of RDS Multi-AZ do.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use live::{Proxy, Said, client, eventually, scripted};
use mysql::Conn;
use mysql::prelude::Queryable;

/// How long anything may take: the checks of these tests come ten times a second.
const LIMIT: Duration = Duration::from_secs(20);

/// What all servers say of their cluster: `None` for an error.
type Script = Arc<Mutex<Option<Vec<[String; 3]>>>>;

/// Rows of ids, sessions and lags.
fn rows<const N: usize>(of: [(&str, &str, u32); N]) -> Option<Vec<[String; 3]>> {
    let row = |(id, session, lag): (&str, &str, u32)| {
        [id.to_owned(), session.to_owned(), lag.to_string()]
    };
    Some(of.map(row).to_vec())
}

/// `SESSION_ID` of who writes.
const WRITES: &str = "MASTER_SESSION_ID";

/// The host of an id: all of them are this machine.
fn host(id: &str) -> String {
    format!("{id}.1")
}

fn says(script: &Script, id: &str, statement: &str) -> Said {
    if statement.contains("REPLICA_HOST_STATUS") {
        let Some(rows) = script.lock().expect("whole").clone() else {
            return Said::Refused(1109, "Unknown table 'REPLICA_HOST_STATUS'");
        };
        let columns = [
            "SERVER_ID",
            "SESSION_ID",
            "LAST_UPDATE_TIMESTAMP",
            "REPLICA_LAG_IN_MILLISECONDS",
            "CPU",
            "age_us",
        ];
        let row = |[id, session, lag]: [String; 3]| {
            let values = [id, session, "2026-01-01 00:00:00.5".into(), lag, "7.5".into()];
            values.into_iter().chain(["1000".to_owned()]).map(Some).collect()
        };
        return Said::Rows(columns.to_vec(), rows.into_iter().map(row).collect());
    }
    match statement {
        "SELECT who" => Said::Rows(vec!["who"], vec![vec![Some(id.to_owned())]]),
        _ => Said::Done,
    }
}

/// A proxy, and its administrator.
struct Scene {
    proxy: Proxy,
    admin: Conn,
}

impl Scene {
    fn open(tables: &str) -> Self {
        let proxy = Proxy::start(|interfaces| {
            format!(
                "[mysql_variables]\ninterfaces = \"{interfaces}\"\nthreads = 1\n\
                 monitor_read_only_interval = 100\n\
                 monitor_aws_rds_topology_discovery_interval = 2\n{tables}\
                 [[mysql_users]]\nusername = \"app\"\npassword = \"app\"\ndefault_hostgroup = 1\n"
            )
        })
        .expect("tidegate starts");
        let options = client::account(proxy.admin_port, "admin", "admin");
        let admin = client::connect(options.db_name(None::<String>));
        Self { proxy, admin }
    }

    fn column(&mut self, sql: &str) -> Vec<String> {
        let rows: Vec<mysql::Row> = self.admin.query(sql).unwrap_or_else(|e| panic!("{sql}: {e}"));
        let text = |row: mysql::Row| -> String {
            let values = row.unwrap().into_iter().map(mysql::from_value::<Option<String>>);
            values.map(|value| value.unwrap_or("NULL".into())).collect::<Vec<_>>().join(" ")
        };
        rows.into_iter().map(text).collect()
    }

    fn places(&mut self) -> Vec<String> {
        self.column(
            "SELECT hostgroup_id, hostname, status, weight FROM runtime_mysql_servers \
             ORDER BY hostgroup_id, hostname",
        )
    }

    fn await_places(&mut self, what: &str, expected: &[&str]) {
        let mut places = Vec::new();
        for _ in 0..LIMIT.as_millis() / 20 {
            places = self.places();
            if places == expected {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        panic!("{what}: {places:?}\n{}", self.proxy.log());
    }

    /// Which server a client's statement comes to.
    fn who(&self) -> Option<String> {
        let mut conn = Conn::new(client::options(self.proxy.port)).ok()?;
        conn.query_first("SELECT who").ok()?
    }
}

#[test]
fn servers_of_aurora_are_found_and_stand_where_their_cluster_has_them() {
    let script = Script::default();
    let port = lab::free_port().expect("a port");
    let ids = ["127.0.1", "127.0.2", "127.0.3"];
    let set = |rows| *script.lock().expect("whole") = rows;
    for id in ids {
        let script = script.clone();
        let at: IpAddr = host(id).parse().expect("an address");
        scripted(at, port, move |statement| says(&script, id, statement)).expect("it listens");
    }
    let [a, b, c] = ids;
    set(rows([(a, WRITES, 0), (b, "s1", 19), (c, "s2", 400)]));
    let mut scene = Scene::open(&format!(
        "[[mysql_servers]]\nhostgroup_id = 2\nhostname = \"{}\"\nport = {port}\nweight = 9\n\
         [[mysql_aws_aurora_hostgroups]]\nwriter_hostgroup = 1\nreader_hostgroup = 2\n\
         aurora_port = {port}\ndomain_name = \".1\"\nmax_lag_ms = 500\n\
         check_interval_ms = 100\ncheck_timeout_ms = 3000\nnew_reader_weight = 3\n",
        host(a)
    ));
    let all = ["1 127.0.1.1 ONLINE 9", "2 127.0.2.1 ONLINE 3", "2 127.0.3.1 ONLINE 3"];
    scene.await_places("a writer and two readers that nobody typed", &all);
    assert_eq!(scene.who().as_deref(), Some(a));

    // a failover: the writer's clients are at the new one, and nowhere else
    set(rows([(a, "s0", 20), (b, WRITES, 0), (c, "s2", 400)]));
    let moved = ["1 127.0.2.1 ONLINE 3", "2 127.0.1.1 ONLINE 9", "2 127.0.3.1 ONLINE 3"];
    scene.await_places("the other writer", &moved);
    eventually("clients follow", LIMIT, || scene.who().as_deref() == Some(b));
    let failovers = "SELECT writer_hostgroup, hostname FROM mysql_server_aws_aurora_failovers";
    assert_eq!(scene.column(failovers), ["1 127.0.1.1", "1 127.0.2.1"]);
    let reasons = "SELECT DISTINCT reason FROM stats_tidegate_topology WHERE hostgroup = 1";
    let told = format!("its cluster's writer is {}:{port}", host(b));
    assert_eq!(scene.column(reasons), [told]);

    // one is too far behind, for a while
    set(rows([(a, "s0", 20), (b, WRITES, 0), (c, "s2", 471)]));
    let lagging = ["1 127.0.2.1 ONLINE 3", "2 127.0.1.1 ONLINE 9", "2 127.0.3.1 SHUNNED 3"];
    scene.await_places("the one that is behind", &lagging);
    let reasons = "SELECT status, reason FROM stats_tidegate_topology WHERE srv_host = '127.0.3.1'";
    let told = "SHUNNED_REPLICATION_LAG it was 501 ms behind, more than 500 ms";
    assert_eq!(scene.column(reasons), [told]);
    set(rows([(a, "s0", 20), (b, WRITES, 0), (c, "s2", 470)]));
    scene.await_places("it has caught up", &moved);

    // errors and answers of no cluster change nothing
    let failed = "SELECT Variable_Value FROM stats_mysql_global \
                  WHERE Variable_Name = 'aurora_checks_failed'";
    for hostile in [None, rows([(a, WRITES, 0), ("evil host", "s", 1)]), rows([("", WRITES, 0)])] {
        let count = |scene: &mut Scene| scene.column(failed)[0].parse::<u64>().expect("a number");
        let before = count(&mut scene);
        set(hostile);
        eventually("it was asked again", LIMIT, || count(&mut scene) > before + 2);
        assert_eq!(scene.places(), moved);
    }
    set(rows([(b, WRITES, 0), (a, "s0", 20)]));
    scene.await_places("one is gone", &moved[..2]);
    tables_tell(&mut scene);
    scene.admin.query_drop("SAVE MYSQL SERVERS TO MEMORY").expect("saved");
    let typed = "SELECT hostgroup_id, hostname, weight FROM mysql_servers";
    assert_eq!(scene.column(typed), ["2 127.0.1.1 9"]);
}

/// What is in the tables of the checks.
fn tables_tell(scene: &mut Scene) {
    let log = "SELECT DISTINCT error, SERVER_ID, SESSION_ID, LAST_UPDATE_TIMESTAMP, \
               replica_lag_in_milliseconds, estimated_lag_ms, CPU \
               FROM mysql_server_aws_aurora_log ORDER BY 1, 2, 3, 5";
    let told = scene.column(log);
    for row in [
        "NULL 127.0.1 MASTER_SESSION_ID 2026-01-01 00:00:00.5 0 0 7",
        "NULL 127.0.3 s2 2026-01-01 00:00:00.5 471 501 7",
        "Unknown table 'REPLICA_HOST_STATUS' (1109)  NULL NULL 0 0 0",
        "the answer is not understood  NULL NULL 0 0 0",
    ] {
        assert!(told.iter().any(|own| own == row), "{row}: {told:#?}");
    }
    let status = "SELECT writer_hostgroup, hostname, checks_ok > 0, checks_tot > checks_ok, \
                  last_error, LENGTH(last_checked_at) \
                  FROM mysql_server_aws_aurora_check_status ORDER BY hostname";
    let expected = ["1 127.0.1.1", "1 127.0.2.1", "1 127.0.3.1"]
        .map(|server| format!("{server} 1 1 the answer is not understood 19"));
    assert_eq!(scene.column(status), expected);
}

#[test]
fn servers_of_rds_multi_az_are_found_by_what_one_of_them_tells() {
    let port = lab::free_port().expect("a port");
    let names = Arc::new(Mutex::new(Some(["db-instance-1", "db-instance-2", "db-instance-3"])));
    let told = names.clone();
    let says = move |statement: &str| match statement {
        _ if statement.contains("rds_topology") => {
            let Some(names) = *told.lock().expect("whole") else {
                return Said::Refused(1146, "Table 'mysql.rds_topology' doesn't exist");
            };
            let row = |name: &str| {
                let (id, endpoint) = (name.to_owned(), format!("{name}.invalid"));
                [id, endpoint, "3307".to_owned()].map(Some).to_vec()
            };
            Said::Rows(vec!["id", "endpoint", "port"], names.map(row).to_vec())
        }
        _ if statement.contains("read_only") => {
            Said::Rows(vec!["read_only"], vec![vec![Some("0".to_owned())]])
        }
        _ => Said::Done,
    };
    scripted(Ipv4Addr::LOCALHOST.into(), port, says).expect("it listens");
    let mut scene = Scene::open(&format!(
        "[[mysql_servers]]\nhostgroup_id = 1\nhostname = \"127.0.0.1\"\nport = {port}\n\
         [[mysql_replication_hostgroups]]\nwriter_hostgroup = 1\nreader_hostgroup = 2\n\
         [[mysql_hostgroup_attributes]]\nhostgroup_id = 2\nservers_defaults = '{{\"weight\": 7}}'\n"
    ));
    let all = [
        "1 127.0.0.1 ONLINE 1",
        "2 db-instance-1.invalid ONLINE 7",
        "2 db-instance-2.invalid ONLINE 7",
        "2 db-instance-3.invalid ONLINE 7",
    ];
    scene.await_places("the others are read from", &all);
    // an error of that question is none of the other one
    let failed = "SELECT Variable_Value FROM stats_mysql_global \
                  WHERE Variable_Name = 'rds_topology_checks_failed'";
    for names_now in [None, Some(["db-instance-1", "db-instance-2", "other"])] {
        let count = |scene: &mut Scene| scene.column(failed)[0].parse::<u64>().expect("a number");
        let before = count(&mut scene);
        *names.lock().expect("whole") = names_now;
        eventually("it was asked again", LIMIT, || count(&mut scene) > before + 3);
        assert_eq!(scene.places()[0], all[0]);
        assert_eq!(scene.places().len(), 4);
    }
    let errors = "SELECT DISTINCT error FROM mysql_server_read_only_log \
                  WHERE hostname = '127.0.0.1'";
    assert_eq!(scene.column(errors), ["NULL"]);
}
