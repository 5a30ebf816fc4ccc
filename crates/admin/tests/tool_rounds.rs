//! What tools of ProxySQL's world do by themselves, round by round: Percona's checkers and its
//! scheduler for Galera clusters, hooks of orchestrators, agents beside a proxy, exporters of
//! metrics. Each reads rows, decides, and writes others.
//!
//! No worker is here to count connections: what is read of them is in the live tests.

mod fake;
mod told;

use std::collections::BTreeMap;

use admin::OpeningSource;
use engine::rows::{ServerRow, UserRow};
use engine::snapshot::Draft;
use fake::{Dir, Interface, lines};
use mysql::prelude::Queryable;
use mysql::{Conn, OptsBuilder, TxOpts};
use told::{ask, converse, done, load_and_save, refused, rows, table, values};

/// Two servers that write or would, and one that reads.
fn cluster() -> Draft {
    let server = |hostgroup_id, hostname: &str, comment: &str| ServerRow {
        hostgroup_id,
        hostname: hostname.into(),
        comment: comment.into(),
        ..ServerRow::default()
    };
    let user = UserRow { username: "app".into(), password: "app".into(), ..UserRow::default() };
    Draft {
        servers: vec![
            server(10, "db1", "WRITE"),
            server(11, "db1", "READ"),
            server(11, "db2", "READ"),
            server(12, "db2", ""),
        ],
        users: vec![user],
        ..Draft::default()
    }
}

#[test]
fn a_checker_finds_its_row_of_the_scheduler_and_changes_it() {
    let dir = Dir::new("rounds-scheduler");
    let interface = dir.open(Draft::default(), OpeningSource::Auto);
    let mut admin = interface.admin();
    let add = [
        ("DELETE FROM SCHEDULER WHERE COMMENT='pxc';", done(0)),
        (
            "INSERT INTO SCHEDULER (active,interval_ms,filename,arg1,comment) VALUES \
             (1,3000,'/bin/check','--write-hg=10 --read-hg=11 --mode=singlewrite','pxc');",
            done(1),
        ),
        (
            "INSERT INTO scheduler
               (active,
                interval_ms,
                filename,
                arg1,
                comment)
             VALUES
               (1, 2000, '/bin/handle', '--configfile=c.toml', '{ hgW:10, hgR:11 }');",
            done(1),
        ),
    ];
    converse(&mut admin, &add);
    load_and_save(&mut admin, "SCHEDULER");
    let active = "SELECT active
                    FROM runtime_scheduler
                   WHERE comment like '% hgW:10, hgR:11 %'";
    let own = "SELECT id FROM scheduler where arg1 LIKE '%--write-hg=10 %' OR arg1 LIKE '%-w 10 %'";
    let found = [
        (own, rows("id", "1")),
        ("SELECT comment FROM scheduler WHERE id=1", rows("comment", "pxc")),
        ("SELECT MAX(MAX(interval_ms / 1000 - 1, 1)) FROM scheduler", values("2")),
        (active, rows("active", "1")),
    ];
    converse(&mut admin, &found);
    let update = "UPDATE scheduler set comment='shop',arg1='--write-hg=10 -x', arg2=NULL where id=1\
                  ;load scheduler to runtime;save scheduler to disk";
    assert_eq!(ask(&mut admin, update), [done(1), done(0), done(0)]);
    let stop = "UPDATE scheduler SET active=0 WHERE id=2; LOAD SCHEDULER TO RUNTIME";
    assert_eq!(ask(&mut admin, stop), [done(1), done(0)]);
    let seen = [
        (
            "SELECT * FROM disk.scheduler WHERE id < 2",
            rows(
                "id|active|interval_ms|filename|arg1|arg2|arg3|arg4|arg5|comment",
                "1|1|3000|/bin/check|--write-hg=10 -x|NULL|NULL|NULL|NULL|shop",
            ),
        ),
        (active, rows("active", "0")),
        ("DELETE FROM scheduler\n WHERE comment like '% hgW:10, hgR:11 %'", done(1)),
    ];
    converse(&mut admin, &seen);
    let told = interface.fake().told();
    let run = "run /bin/check Some(\"--write-hg=10 -x\") each 3000";
    assert!(told.iter().any(|told| told == run), "{told:?}");
}

#[test]
fn a_checker_makes_a_reader_the_writer() {
    let dir = Dir::new("rounds-checker");
    let interface = dir.open(cluster(), OpeningSource::Auto);
    let mut admin = interface.admin();
    let writers = "SELECT count(*) FROM mysql_servers WHERE hostgroup_id=10 \
                   AND status = 'ONLINE' AND comment <> 'SLAVEREAD'";
    let leave = [
        (
            "SELECT writer.hostname, writer.port, writer.status, reader.status
               FROM mysql_servers as writer
               LEFT JOIN mysql_servers as reader
                 ON reader.hostgroup_id = 11
                AND reader.hostname = writer.hostname
                AND reader.port = writer.port
              WHERE writer.hostgroup_id IN (10, 12)
                AND writer.status <> 'OFFLINE_HARD'
              ORDER BY writer.status DESC, writer.hostname",
            rows("hostname|port|status|status", "db1|3306|ONLINE|ONLINE\ndb2|3306|ONLINE|ONLINE"),
        ),
        (
            "UPDATE mysql_servers set status='OFFLINE_SOFT' WHERE hostname='db1' and port=3306",
            done(2),
        ),
        (
            "SELECT hostgroup_id,status,comment from mysql_servers WHERE hostname='db1' \
             and port=3306 ORDER BY status DESC, hostgroup_id LIMIT 1",
            rows("hostgroup_id|status|comment", "10|OFFLINE_SOFT|WRITE"),
        ),
        (writers, values("0")),
    ];
    converse(&mut admin, &leave);
    let promote = [
        (
            "SELECT reader.hostname, reader.port, writer.status
               FROM mysql_servers as reader
               LEFT JOIN mysql_servers as writer
                 ON writer.hostgroup_id = 10
                AND writer.hostname = reader.hostname
                AND writer.port = reader.port
              WHERE reader.hostgroup_id = 11
                AND reader.status = 'ONLINE'
                AND reader.comment = 'READ'
              ORDER BY writer.status ASC, reader.weight DESC, reader.hostname, reader.port",
            rows("hostname|port|status", "db2|3306|NULL"),
        ),
        (
            "UPDATE mysql_servers set status='ONLINE',hostgroup_id=10, comment='WRITE', \
             weight=1000 WHERE hostgroup_id=11 and hostname='db2' and port=3306",
            done(1),
        ),
        (
            "select hostname,port FROM mysql_servers WHERE status='ONLINE' AND comment = 'WRITE' \
             AND hostgroup_id='10' ORDER BY random() LIMIT 1",
            rows("hostname|port", "db2|3306"),
        ),
        ("UPDATE mysql_servers SET status = 'OFFLINE_HARD'  WHERE hostname='db1';", done(2)),
        (writers, values("1")),
    ];
    converse(&mut admin, &promote);
    load_and_save(&mut admin, "MYSQL SERVERS");
    let saved = "SELECT hostgroup_id, hostname, status FROM disk.mysql_servers ORDER BY 1, 2";
    let now = "10|db1|OFFLINE_HARD\n10|db2|ONLINE\n11|db1|OFFLINE_HARD\n12|db2|ONLINE";
    let usable = "SELECT hostgroup_id, hostname FROM runtime_mysql_servers \
                  WHERE status = 'ONLINE' ORDER BY 1";
    converse(&mut admin, &[(saved, values(now)), (usable, values("10|db2\n12|db2"))]);
}

#[test]
fn a_scheduler_takes_its_lock_in_the_comment_of_a_proxy() {
    let dir = Dir::new("rounds-lock");
    let interface = dir.open(Draft::default(), OpeningSource::Auto);
    let mut admin = interface.admin();
    let proxies =
        "select weight,hostname,port,comment from runtime_proxysql_servers order by weight desc";
    let lock = "update proxysql_servers set comment ='one #LOCK_1_HG_10_W_HG_11_R_17_LOCK#' \
                where hostname='127.0.0.1' and port= 6032";
    let round = [
        (proxies, rows("weight|hostname|port|comment", "")),
        (
            "INSERT INTO proxysql_servers (hostname,port,weight,comment) \
             VALUES ('127.0.0.1',6032,100,'one'),('db9',6032,10,'two')",
            done(2),
        ),
        ("LOAD proxysql servers to RUN ", done(0)),
        (proxies, values("100|127.0.0.1|6032|one\n10|db9|6032|two")),
        ("START TRANSACTION", done(0)),
        (lock, done(1)),
        ("COMMIT", done(0)),
        ("LOAD proxysql servers to RUN ", done(0)),
        ("save proxysql servers to disk ", done(0)),
        (
            proxies,
            values("100|127.0.0.1|6032|one #LOCK_1_HG_10_W_HG_11_R_17_LOCK#\n10|db9|6032|two"),
        ),
        ("delete from proxysql_servers where hostname = 'db9' and port = 6032 ", done(1)),
        ("SELECT count(*) FROM disk.proxysql_servers", values("2")),
    ];
    converse(&mut admin, &round);
}

#[test]
fn a_scheduler_writes_what_it_has_decided() {
    let dir = Dir::new("rounds-changes");
    let interface = dir.open(cluster(), OpeningSource::Auto);
    let mut admin = interface.admin();
    let (names, lines) = table(&mut admin, "SHOW GLOBAL VARIABLES");
    assert_eq!(names, "Variable_name|Value");
    for line in ["mysql-monitor_username|monitor", "mysql-monitor_password|monitor"] {
        assert!(lines.lines().any(|found| found == line), "{line}: {lines}");
    }
    let mut changes = admin.start_transaction(TxOpts::default()).expect("it begins");
    for change in [
        " UPDATE mysql_servers SET status='OFFLINE_SOFT' WHERE hostgroup_id=10 \
         AND hostname='db1' AND port=3306",
        " UPDATE mysql_servers SET hostgroup_id=9011 WHERE hostgroup_id=11 \
         AND hostname='db1' AND port=3306",
        " UPDATE mysql_servers SET status='ONLINE' ,weight=10,max_connections=20,\
         max_replication_lag=0,max_latency_ms=0 WHERE hostgroup_id=12 \
         AND hostname='db2' AND port=3306",
        " UPDATE mysql_servers SET comment='two 10_W_11_R_retry_up=1;10_W_11_R_retry_down=0;' \
         WHERE hostgroup_id=11 AND hostname='db2' AND port=3306",
    ] {
        changes.query_drop(change).expect("it is SQL");
        assert_eq!(changes.affected_rows(), 1, "{change}");
    }
    for (change, changed) in [
        (" Delete from mysql_servers WHERE hostgroup_id=10 AND hostname='db2' AND port=3306", 0),
        (
            "INSERT INTO mysql_servers (hostgroup_id, hostname,port,gtid_port,status,weight,\
             compression,max_connections,max_replication_lag,use_ssl,max_latency_ms,comment)  \
             VALUES(10,'db2',3306,0,'ONLINE',1000,0,500,0,0,0,'new')",
            1,
        ),
    ] {
        changes.query_drop(change).expect("it is SQL");
        assert_eq!(changes.affected_rows(), changed, "{change}");
    }
    changes.commit().expect("it ends");
    let in_force = "SELECT hostgroup_id, hostname, status, weight, comment \
                    FROM runtime_mysql_servers ORDER BY hostgroup_id, hostname desc;";
    let put = [
        ("LOAD mysql servers to RUN ", done(0)),
        ("SAVE mysql servers to DISK ", done(0)),
        (
            in_force,
            rows(
                "hostgroup_id|hostname|status|weight|comment",
                "10|db2|ONLINE|1000|new\n10|db1|OFFLINE_SOFT|1|WRITE\n\
                 11|db2|ONLINE|1|two 10_W_11_R_retry_up=1;10_W_11_R_retry_down=0;\n\
                 12|db2|ONLINE|10|\n9011|db1|ONLINE|1|READ",
            ),
        ),
        ("SELECT count(*) FROM disk.mysql_servers", values("5")),
    ];
    converse(&mut admin, &put);
}

#[test]
fn a_hook_drains_a_lost_primary_and_promotes_another() {
    let dir = Dir::new("rounds-hook");
    let interface = dir.open(cluster(), OpeningSource::Auto);
    let mut admin = interface.admin();
    let one = "hostname=? AND port=? AND hostgroup_id=?";
    let change = |admin: &mut Conn, text: &str, values: (&str, u16, u32), changed| {
        admin.exec_drop(text, values).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(admin.affected_rows(), changed, "{text}");
    };
    let drain = format!("UPDATE mysql_servers SET status='OFFLINE_SOFT' WHERE {one}");
    change(&mut admin, &drain, ("db1", 3306, 10), 1);
    let weigh = format!("UPDATE mysql_servers SET weight=0 WHERE {one}");
    change(&mut admin, &weigh, ("db1", 3306, 10), 1);
    converse(&mut admin, &[("LOAD MYSQL SERVERS TO RUNTIME", done(0))]);
    let listed = "SELECT hostgroup_id, hostname, port, status, weight, max_connections, comment \
                  FROM runtime_mysql_servers WHERE hostgroup_id = ? ORDER BY hostname, port";
    let writers: Vec<(u32, String, u16, String, u32, u32, String)> =
        admin.exec(listed, (10,)).expect("it is SQL");
    let drained =
        (10, "db1".to_owned(), 3306, "OFFLINE_SOFT".to_owned(), 0, 1000, "WRITE".to_owned());
    assert_eq!(writers, [drained]);
    let remove = format!("DELETE FROM mysql_servers WHERE {one}");
    change(&mut admin, &remove, ("db1", 3306, 10), 1);
    change(&mut admin, &remove, ("db2", 3306, 11), 1);
    for (text, host, hostgroup) in [
        ("REPLACE INTO mysql_servers (hostgroup_id, hostname, port) VALUES (?, ?, ?)", "db2", 10),
        (
            "REPLACE INTO mysql_servers (hostgroup_id, hostname, port, status) \
             VALUES (?, ?, ?, 'OFFLINE_SOFT')",
            "db1",
            11,
        ),
    ] {
        admin.exec_drop(text, (hostgroup, host, 3306)).expect("it is SQL");
        assert_eq!(admin.affected_rows(), 1, "{text}");
    }
    load_and_save(&mut admin, "MYSQL SERVERS");
    let seen = "SELECT hostgroup_id, hostname, status, comment FROM disk.mysql_servers ORDER BY 1";
    let now = "10|db2|ONLINE|\n11|db1|OFFLINE_SOFT|\n12|db2|ONLINE|";
    converse(&mut admin, &[(seen, values(now))]);
}

#[test]
fn a_library_sets_the_writer_in_small_letters() {
    let dir = Dir::new("rounds-library");
    let interface = dir.open(cluster(), OpeningSource::Auto);
    let mut admin = interface.admin();
    let round = [
        ("select hostname from mysql_servers where hostgroup_id = 10", rows("hostname", "db1")),
        ("delete from mysql_servers where hostgroup_id = 10", done(1)),
        (
            "insert into mysql_servers (hostgroup_id, hostname, max_connections) \
             values (10, 'db2', 500)",
            done(1),
        ),
        ("delete from mysql_servers where hostname = 'db2' and hostgroup_id = 11", done(1)),
        ("save mysql servers to disk", done(0)),
        ("load mysql servers to runtime", done(0)),
        (
            "select hostname, hostgroup_id from mysql_servers order by 2",
            rows("hostname|hostgroup_id", "db2|10\ndb1|11\ndb2|12"),
        ),
        ("select count(*) from mysql_servers where hostgroup_id = 10", rows("count(*)", "1")),
        (
            "select hostname, max_connections from runtime_mysql_servers where hostgroup_id = 10",
            rows("hostname|max_connections", "db2|500"),
        ),
    ];
    converse(&mut admin, &round);
}

#[test]
fn an_agent_joins_a_proxy_to_others_and_probes_it() {
    let dir = Dir::new("rounds-agent");
    let interface = dir.open(cluster(), OpeningSource::Auto);
    let mut admin = interface.admin();
    let known = "SELECT count(*) FROM proxysql_servers WHERE hostname = ?";
    let count: Option<u32> = admin.exec_first(known, ("10.0.0.5",)).expect("it is SQL");
    assert_eq!(count, Some(0));
    let join = [
        ("DELETE FROM proxysql_servers WHERE hostname = 'proxysql-core'", done(0)),
        (r#"INSERT INTO proxysql_servers VALUES ("10.0.0.5", 6032, 0, "core-1")"#, done(1)),
        ("LOAD PROXYSQL SERVERS TO RUNTIME", done(0)),
        ("LOAD ADMIN VARIABLES TO RUNTIME", done(0)),
        ("LOAD MYSQL VARIABLES TO RUNTIME", done(0)),
        ("LOAD MYSQL SERVERS TO RUNTIME", done(0)),
        ("LOAD MYSQL USERS TO RUNTIME", done(0)),
        ("LOAD MYSQL QUERY RULES TO RUNTIME", done(0)),
        ("SELECT hostname, comment FROM runtime_proxysql_servers", values("10.0.0.5|core-1")),
        (r#"DELETE FROM proxysql_servers WHERE hostname = "10.0.0.5""#, done(1)),
    ];
    converse(&mut admin, &join);
    let probe = [
        ("SELECT COUNT(*) FROM runtime_mysql_servers", rows("COUNT(*)", "4")),
        ("SELECT COUNT(*) FROM runtime_mysql_servers WHERE status = 'ONLINE'", values("4")),
        (
            "SELECT hostgroup_id, hostname, port FROM runtime_mysql_servers ORDER BY hostgroup_id",
            rows(
                "hostgroup_id|hostname|port",
                "10|db1|3306\n11|db1|3306\n11|db2|3306\n12|db2|3306",
            ),
        ),
        (
            "SELECT COUNT(hostname)
               FROM stats_proxysql_servers_metrics
              WHERE last_check_ms > 30000
                AND hostname != 'proxysql-core'
                AND Uptime_s > 0",
            values("0"),
        ),
        ("DELETE FROM proxysql_servers", done(0)),
        ("LOAD PROXYSQL SERVERS FROM CONFIG", done(0)),
        ("SELECT COUNT(*) FROM stats_mysql_query_digest", values("0")),
        ("select sum(ConnUsed) from stats_mysql_connection_pool", values("NULL")),
    ];
    converse(&mut admin, &probe);
    converse(&mut admin, &[("PROXYSQL SHUTDOWN SLOW", done(0))]);
    assert_eq!(interface.fake().told(), ["Shutdown"]);
}

#[test]
fn every_table_can_be_dumped_in_its_own_schema() {
    let dir = Dir::new("rounds-dump");
    let interface = dir.open(cluster(), OpeningSource::Auto);
    let mut admin = interface.admin();
    converse(
        &mut admin,
        &[("SHOW TABLES LIKE 'runtime\\_mysql\\_u%'", rows("tables", "runtime_mysql_users"))],
    );
    for (schema, one) in [
        ("main", "mysql_galera_hostgroups"),
        ("disk", "scheduler"),
        ("stats", "stats_mysql_connection_pool_reset"),
        ("monitor", "mysql_server_galera_log"),
        ("stats_history", "mysql_connections"),
    ] {
        let tables = lines(&mut admin, &format!("SHOW TABLES FROM {schema}"));
        assert!(tables.lines().any(|name| name == one), "{schema}: {tables}");
        let options = OptsBuilder::new()
            .ip_or_hostname(Some("127.0.0.1"))
            .tcp_port(interface.port())
            .user(Some("admin"))
            .pass(Some("admin"))
            .db_name(Some(schema))
            .prefer_socket(false);
        let mut dump = Conn::new(options).expect("the default account");
        for name in tables.lines() {
            let fields = lines(&mut admin, &format!("SHOW FIELDS FROM {schema}.{name}"));
            let fields: Vec<_> =
                fields.lines().filter_map(|field| field.split('|').next()).collect();
            let (names, _) = table(&mut dump, &format!("SELECT * FROM {name}"));
            assert_eq!(names, fields.join("|"), "{schema}.{name}");
        }
    }
    converse(&mut admin, &[("SELECT CONFIG FILE", rows("Data", "1 users"))]);
}

#[test]
fn an_exporter_reads_numbers_as_a_reader_of_statistics() {
    let interface = Interface::start(&[]);
    let mut admin = interface.admin();
    let user = "INSERT INTO mysql_users (username, default_hostgroup) VALUES ('app', 10); \
                LOAD MYSQL USERS TO RUNTIME";
    assert_eq!(ask(&mut admin, user), [done(1), done(0)]);
    let mut stats = interface.login("stats", "stats").expect("it is the default account");
    for (from, known) in [
        ("stats_mysql_global", ["ProxySQL_Uptime", "Questions", "Slow_queries"]),
        ("stats_memory_metrics", ["Auth_memory", "SQLite3_memory_bytes", "jemalloc_resident"]),
    ] {
        let query = format!("SELECT Variable_Name, Variable_Value FROM {from}");
        let (names, lines) = table(&mut stats, &query);
        assert_eq!(names, "Variable_Name|Variable_Value");
        let numbers = lines.lines().map(|line| {
            let (name, value) = line.split_once('|').expect("two columns");
            (name, value.parse::<u64>().unwrap_or_else(|error| panic!("{line}: {error}")))
        });
        let numbers: BTreeMap<_, _> = numbers.collect();
        assert!(known.iter().all(|name| numbers.contains_key(name)), "{from}: {numbers:?}");
    }
    let queries = [
        (
            "SELECT username, frontend_connections FROM stats_mysql_users",
            rows("username|frontend_connections", "app|0"),
        ),
        (
            "SELECT hostgroup, srv_host, srv_port, * FROM stats_mysql_connection_pool",
            rows(
                "hostgroup|srv_host|srv_port|hostgroup|srv_host|srv_port|status|ConnUsed|ConnFree|\
                 ConnOK|ConnERR|MaxConnUsed|Queries|Queries_GTID_sync|Bytes_data_sent|\
                 Bytes_data_recv|Latency_us",
                "",
            ),
        ),
        (
            "SELECT COUNT(cli_host) as connection_count, cli_host FROM stats_mysql_processlist \
             GROUP BY cli_host",
            rows("connection_count|cli_host", ""),
        ),
        ("SELECT hostname FROM runtime_mysql_servers", refused(1146, "ProxySQL Admin Error: no")),
        ("LOAD MYSQL SERVERS TO RUNTIME", refused(1045, "ProxySQL Admin Error: near \"LOAD\"")),
    ];
    converse(&mut stats, &queries);
}
