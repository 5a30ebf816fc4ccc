//! The commands of ProxySQL's documentation, pasted into the command-line client on the
//! administrative interface: each page has the effect on traffic that it tells of.
//!
//! Hostgroups are taps in front of one server, so that what went where is seen.

use std::time::Duration;

use lab::{Cluster, Flavour, RunDir};
use live::{Program, Proxy, Tap, client};
use mysql::Conn;
use mysql::prelude::Queryable;

/// A proxy without servers or users, and what the pages call servers.
struct Bench {
    proxy: Proxy,
    taps: Vec<Tap>,
    cluster: Cluster,
    _dir: RunDir,
}

impl Bench {
    fn start(what: &str, taps: usize) -> Option<Self> {
        let cluster = live::cluster(what, Flavour::MariaDb, 0)?;
        let server = cluster.primary();
        for sql in [
            "CREATE USER stnduser IDENTIFIED BY 'stnduser'",
            "GRANT ALL ON *.* TO stnduser",
            "CREATE DATABASE sbtest",
            "CREATE TABLE sbtest.sbtest1 (id INT PRIMARY KEY, k INT, c CHAR(20))",
            "INSERT INTO sbtest.sbtest1 VALUES (1, 1, 'b'), (2, 1, 'a')",
        ] {
            server.sql(sql).expect("the server is set up");
        }
        let dir = RunDir::create().expect("a directory");
        let stored = ["--datadir".into(), dir.path().join("data").into()];
        let proxy = Proxy::start_with(&stored, |interfaces| {
            // what servers are seen to be sent is what clients ask
            format!(
                "[mysql_variables]\ninterfaces = \"{interfaces}\"\nthreads = 1\n\
                 stored_code = false\n"
            )
        });
        let start = |_| Tap::start(server.port).expect("a tap");
        let taps = (0..taps).map(start).collect();
        Some(Self { proxy: proxy.expect("it starts"), taps, cluster, _dir: dir })
    }

    /// Pastes a text into the client; `{0}` is the port of the first server, and so on. Every
    /// statement must be carried out. What the client shows.
    fn paste(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (at, tap) in self.taps.iter().enumerate() {
            text = text.replace(&format!("{{{at}}}"), &tap.port.to_string());
        }
        let done = Program::new("mariadb")
            .args(["--no-defaults", "--skip-ssl", "--batch", "--skip-column-names"])
            .args(["-uadmin", "-padmin", "-h127.0.0.1"])
            .args([format!("-P{}", self.proxy.admin_port)])
            .input(text)
            .limit(Duration::from_secs(30))
            .run();
        assert!(done.success && !done.errors.contains("ERROR"), "{}\n{}", done.errors, done.output);
        done.output
    }

    fn client(&self, user: &str, password: &str, schema: &str) -> Conn {
        let account = client::account(self.proxy.port, user, password);
        client::connect(account.db_name(Some(schema)))
    }

    /// Which server got a query, and as what text.
    fn seen(&self, client: &mut Conn, query: &str) -> (usize, String) {
        self.taps.iter().for_each(|tap| drop(tap.take()));
        client.query_drop(query).unwrap_or_else(|error| panic!("{query}: {error}"));
        let word = query.split_whitespace().next().unwrap_or_default().to_ascii_uppercase();
        let found = self.taps.iter().enumerate().find_map(|(at, tap)| {
            tap.take()
                .into_iter()
                .find(|text| text.to_ascii_uppercase().starts_with(&word))
                .map(|text| (at, text))
        });
        found.unwrap_or_else(|| panic!("nobody got {query}"))
    }

    fn server_of(&self, client: &mut Conn, query: &str) -> usize {
        self.seen(client, query).0
    }
}

#[test]
fn getting_started() {
    let Some(bench) = Bench::start("getting started", 3) else { return };
    let empty = bench.paste(
        "SELECT * FROM mysql_servers;\nSELECT * from mysql_replication_hostgroups;\n\
         SELECT * from mysql_query_rules;\n",
    );
    assert_eq!(empty, "");
    let shown = bench.paste(
        "INSERT INTO mysql_servers(hostgroup_id,hostname,port) VALUES (1,'127.0.0.1',{0});\n\
         INSERT INTO mysql_servers(hostgroup_id,hostname,port) VALUES (2,'127.0.0.1',{1});\n\
         INSERT INTO mysql_servers(hostgroup_id,hostname,port) VALUES (2,'127.0.0.1',{2});\n\
         UPDATE global_variables SET variable_value='monitor' \
           WHERE variable_name='mysql-monitor_username';\n\
         UPDATE global_variables SET variable_value='monitor' \
           WHERE variable_name='mysql-monitor_password';\n\
         UPDATE global_variables SET variable_value='2000' WHERE variable_name IN \
           ('mysql-monitor_connect_interval','mysql-monitor_ping_interval',\
            'mysql-monitor_read_only_interval');\n\
         SELECT variable_value FROM global_variables WHERE variable_name LIKE \
           'mysql-monitor_ping_interval';\n\
         LOAD MYSQL VARIABLES TO RUNTIME;\nSAVE MYSQL VARIABLES TO DISK;\n\
         SHOW TABLES FROM monitor;\n\
         SELECT * FROM monitor.mysql_server_connect_log ORDER BY time_start_us DESC LIMIT 0;\n\
         LOAD MYSQL SERVERS TO RUNTIME;\n\
         SELECT count(*) FROM mysql_servers;\n\
         SHOW CREATE TABLE mysql_replication_hostgroups\\G\n\
         SHOW CREATE TABLE mysql_users\\G\n\
         INSERT INTO mysql_users(username,password,default_hostgroup) \
           VALUES ('stnduser','stnduser',1);\n\
         SELECT username, default_hostgroup FROM mysql_users;\n\
         LOAD MYSQL USERS TO RUNTIME;\nSAVE MYSQL USERS TO DISK;\nSAVE MYSQL SERVERS TO DISK;\n",
    );
    for line in ["2000", "mysql_server_ping_log", "3", "stnduser\t1"] {
        assert!(shown.lines().any(|found| found == line), "{line}: {shown}");
    }
    assert!(shown.contains("CREATE TABLE mysql_replication_hostgroups ("), "{shown}");
    let mut user = bench.client("stnduser", "stnduser", "sbtest");
    assert_eq!(bench.server_of(&mut user, "SELECT @@port"), 0);
    let rows: Vec<u32> = user.query("SELECT id FROM sbtest1 ORDER BY id").expect("answered");
    assert_eq!(rows, [1, 2]);
    statistics_lead_to_rules(&bench, &mut user);
}

/// The page's statistics, and rules from what they show.
fn statistics_lead_to_rules(bench: &Bench, user: &mut Conn) {
    let shown = bench.paste("SHOW TABLES FROM stats;\n");
    assert!(shown.lines().any(|line| line == "stats_mysql_query_digest"), "{shown}");
    bench.paste(
        "SELECT * FROM stats.stats_mysql_connection_pool;\n\
         SELECT * FROM stats_mysql_commands_counters WHERE Total_cnt;\n\
         SELECT * FROM stats_mysql_query_digest ORDER BY sum_time DESC;\n\
         INSERT INTO mysql_query_rules (rule_id,active,username,match_digest,\
           destination_hostgroup,apply) VALUES \
           (10,1,'stnduser','^SELECT c FROM sbtest1 WHERE id=\\?$',2,1);\n\
         INSERT INTO mysql_query_rules (rule_id,active,username,match_digest,\
           destination_hostgroup,apply) VALUES \
           (20,1,'stnduser','DISTINCT c FROM sbtest1',2,1);\n\
         LOAD MYSQL QUERY RULES TO RUNTIME;\nSAVE MYSQL QUERY RULES TO DISK;\n\
         SELECT hostgroup hg, sum_time, count_star, digest_text FROM stats_mysql_query_digest \
           ORDER BY sum_time DESC;\n\
         SELECT hostgroup hg, SUM(sum_time), SUM(count_star) FROM stats_mysql_query_digest \
           GROUP BY hostgroup;\n",
    );
    let read = bench.server_of(user, "SELECT c FROM sbtest1 WHERE id=1");
    assert!([1, 2].contains(&read), "hostgroup 2 has the last two servers");
    let read = bench.server_of(user, "SELECT DISTINCT c FROM sbtest1 ORDER BY c");
    assert!([1, 2].contains(&read));
    assert_eq!(bench.server_of(user, "SELECT k FROM sbtest1 WHERE id=1"), 0);
    // and its rewriting of a query
    bench.paste(
        "INSERT INTO mysql_query_rules (rule_id,active,username,match_pattern,replace_pattern,\
           apply) VALUES (5,1,'stnduser','DISTINCT(.*)ORDER BY c','DISTINCT\\1',1);\n\
         LOAD MYSQL QUERY RULES TO RUNTIME;\n",
    );
    let (_, text) = bench.seen(user, "SELECT DISTINCT c FROM sbtest1 ORDER BY c");
    assert_eq!(text, "SELECT DISTINCT c FROM sbtest1 ");
}

#[test]
fn read_write_split() {
    let Some(bench) = Bench::start("read/write split", 2) else { return };
    bench.paste(
        "INSERT INTO mysql_servers(hostgroup_id,hostname,port) VALUES \
           (10,'127.0.0.1',{0}),(20,'127.0.0.1',{1});\nLOAD MYSQL SERVERS TO RUNTIME;\n\
         INSERT INTO mysql_users(username,password) VALUES ('stnduser','stnduser');\n\
         UPDATE mysql_users SET default_hostgroup=10;\n\
         LOAD MYSQL USERS TO RUNTIME;\nSAVE MYSQL USERS TO DISK;\n\
         INSERT INTO mysql_query_rules (rule_id,active,match_digest,destination_hostgroup,apply)\n\
         VALUES\n(1,1,'^SELECT.*FOR UPDATE$',10,1),\n(2,1,'^SELECT',20,1);\n\
         LOAD MYSQL QUERY RULES TO RUNTIME;\nSAVE MYSQL QUERY RULES TO DISK;\n",
    );
    let mut user = bench.client("stnduser", "stnduser", "sbtest");
    assert_eq!(bench.server_of(&mut user, "SELECT c FROM sbtest1 WHERE id=1"), 1);
    assert_eq!(bench.server_of(&mut user, "SELECT c FROM sbtest1 WHERE id=1 FOR UPDATE"), 0);
    assert_eq!(bench.server_of(&mut user, "UPDATE sbtest1 SET k=2 WHERE id=1"), 0);
    // the page goes on: everything to the writer, but for the digests that cost most
    bench.paste(
        "DELETE FROM mysql_query_rules;\n\
         INSERT INTO mysql_query_rules (rule_id,active,match_digest,destination_hostgroup,apply) \
           VALUES (1,1,'^SELECT COUNT\\(\\*\\)',20,1);\n\
         LOAD MYSQL QUERY RULES TO RUNTIME;\n",
    );
    assert_eq!(bench.server_of(&mut user, "SELECT COUNT(*) FROM sbtest1"), 1);
    assert_eq!(bench.server_of(&mut user, "SELECT c FROM sbtest1 WHERE id=1"), 0);
    // more than one reader, by weight
    bench.paste(
        "INSERT INTO mysql_servers(hostgroup_id,hostname,port,weight) VALUES \
           (20,'127.0.0.1',{0},1);\n\
         UPDATE mysql_servers SET weight=10000000 WHERE hostgroup_id=20 AND port={1};\n\
         LOAD MYSQL SERVERS TO RUNTIME;\nSAVE MYSQL SERVERS TO DISK;\n",
    );
    assert_eq!(bench.server_of(&mut user, "SELECT COUNT(*) FROM sbtest1"), 1);
}

#[test]
fn query_rewrite() {
    let Some(bench) = Bench::start("query rewrite", 1) else { return };
    bench.paste(
        "INSERT INTO mysql_servers(hostgroup_id,hostname,port) VALUES (0,'127.0.0.1',{0});\n\
         LOAD MYSQL SERVERS TO RUNTIME;\n\
         INSERT INTO mysql_users(username,password) VALUES ('stnduser','stnduser');\n\
         LOAD MYSQL USERS TO RUNTIME;\n\
         INSERT INTO mysql_query_rules (active,match_pattern,replace_pattern,re_modifiers,apply) \
           VALUES (1,'^SELECT \\* FROM old_name (.*)','SELECT * FROM sbtest1 \\1','CASELESS',1);\n\
         INSERT INTO mysql_query_rules (rule_id,active,match_pattern,replace_pattern,apply) \
           VALUES (2,1,'sbtest([0-9])\\.','sbtest.sbtest\\1.',0),\
                  (3,1,'LIMIT [0-9]+$','LIMIT 1',1);\n\
         LOAD MYSQL QUERY RULES TO RUNTIME;\nSAVE MYSQL QUERY RULES TO DISK;\n",
    );
    let mut user = bench.client("stnduser", "stnduser", "sbtest");
    let (_, text) = bench.seen(&mut user, "select * from old_name where id=2");
    assert_eq!(text, "SELECT * FROM sbtest1 where id=2");
    // a rule without apply hands what it wrote to the next
    let (_, text) = bench.seen(&mut user, "SELECT sbtest1.id FROM sbtest1 LIMIT 100");
    assert_eq!(text, "SELECT sbtest.sbtest1.id FROM sbtest1 LIMIT 1");
    let hits = "SELECT rule_id FROM runtime_mysql_query_rules ORDER BY rule_id;\n";
    assert_eq!(bench.paste(hits), "1\n2\n3\n");
}

#[test]
fn sharding_by_user_schema_and_comment() {
    let Some(bench) = Bench::start("sharding", 3) else { return };
    for sql in [
        "CREATE DATABASE shard_0",
        "CREATE DATABASE shard_1",
        "CREATE DATABASE shard_2",
        "CREATE USER accounts IDENTIFIED BY 'shard_accounts'",
        "CREATE USER transactions IDENTIFIED BY 'shard_transactions'",
        "GRANT ALL ON *.* TO accounts, transactions",
    ] {
        bench.cluster.primary().sql(sql).expect("the server is set up");
    }
    bench.paste(
        "INSERT INTO mysql_servers (hostname,hostgroup_id,port,weight) VALUES \
           ('127.0.0.1',0,{0},1),('127.0.0.1',1,{1},1),('127.0.0.1',2,{2},1);\n\
         LOAD MYSQL SERVERS TO RUNTIME;\nSAVE MYSQL SERVERS TO DISK;\n\
         INSERT INTO mysql_users (username,password,active,default_hostgroup,max_connections) \
           VALUES ('accounts','shard_accounts',1,0,200),\
                  ('transactions','shard_transactions',1,1,200),\
                  ('stnduser','stnduser',1,0,200);\n\
         LOAD MYSQL USERS TO RUNTIME;\nSAVE MYSQL USERS TO DISK;\n",
    );
    let mut accounts = bench.client("accounts", "shard_accounts", "sbtest");
    let mut transactions = bench.client("transactions", "shard_transactions", "sbtest");
    assert_eq!(bench.server_of(&mut accounts, "SELECT 1"), 0);
    assert_eq!(bench.server_of(&mut transactions, "SELECT 1"), 1);
    // by schema
    bench.paste(
        "DELETE FROM mysql_query_rules;\n\
         INSERT INTO mysql_query_rules (rule_id,active,schemaname,destination_hostgroup,apply) \
           VALUES (1,1,'shard_0',0,1),(2,1,'shard_1',1,1),(3,1,'shard_2',2,1);\n\
         LOAD MYSQL QUERY RULES TO RUNTIME;\nSAVE MYSQL QUERY RULES TO DISK;\n",
    );
    let mut user = bench.client("stnduser", "stnduser", "shard_1");
    assert_eq!(bench.server_of(&mut user, "SELECT 1"), 1);
    user.query_drop("USE shard_2").expect("the schema is there");
    assert_eq!(bench.server_of(&mut user, "SELECT 1"), 2);
    // by a comment, else by what the text says
    bench.paste(
        "DELETE FROM mysql_query_rules;\n\
         INSERT INTO mysql_query_rules (rule_id,active,match_pattern,destination_hostgroup,apply) \
           VALUES (31,1,'\\S*\\s*\\/\\*\\s*continent=.*EMEA\\s*\\*.',1,1),\
                  (32,1,'\\S*\\s*\\/\\*\\s*continent=.*NorthAmerica\\s*\\*.',2,1),\
                  (33,1,'\\s*continent\\s*=\\s*\"?''?(EMEA)',1,1);\n\
         LOAD MYSQL QUERY RULES TO RUNTIME;\n",
    );
    let mut user = bench.client("stnduser", "stnduser", "sbtest");
    assert_eq!(bench.server_of(&mut user, "SELECT /* continent=EMEA */ 1"), 1);
    assert_eq!(bench.server_of(&mut user, "SELECT /* continent=NorthAmerica */ 1"), 2);
    assert_eq!(bench.server_of(&mut user, "SELECT 1 FROM DUAL WHERE 'EMEA' = 'x'"), 0);
    let by_value = "SELECT * FROM (SELECT 'EMEA' continent) t WHERE continent='EMEA'";
    assert_eq!(bench.server_of(&mut user, by_value), 1);
}

#[test]
fn multi_layer_configuration() {
    let Some(bench) = Bench::start("layers", 1) else { return };
    let counts = "SELECT (SELECT count(*) FROM runtime_mysql_users WHERE frontend), \
                  (SELECT count(*) FROM mysql_users), (SELECT count(*) FROM disk.mysql_users);\n";
    let pasted = |text: &str| {
        let shown = bench.paste(&format!("{text}{counts}"));
        shown.lines().last().expect("the counts").to_owned()
    };
    assert_eq!(pasted(""), "0\t0\t0");
    let user = "INSERT INTO mysql_users(username,password) VALUES ('stnduser','stnduser');\n";
    assert_eq!(pasted(user), "0\t1\t0");
    assert_eq!(pasted("LOAD MYSQL USERS FROM MEMORY;\n"), "1\t1\t0");
    assert_eq!(pasted("SAVE MYSQL USERS FROM MEMORY;\n"), "1\t1\t1");
    assert_eq!(pasted("DELETE FROM mysql_users;\n"), "1\t0\t1");
    assert_eq!(pasted("SAVE MYSQL USERS FROM RUNTIME;\n"), "1\t1\t1");
    assert_eq!(pasted("DELETE FROM mysql_users;\nLOAD MYSQL USERS TO RUNTIME;\n"), "0\t0\t1");
    assert_eq!(pasted("LOAD MYSQL USERS FROM DISK;\n"), "0\t1\t1");
    assert_eq!(pasted("LOAD MYSQL USERS TO RUN;\nSAVE MYSQL USERS TO MEM;\n"), "1\t1\t1");
    for module in ["MYSQL SERVERS", "MYSQL QUERY RULES", "MYSQL VARIABLES", "ADMIN VARIABLES"] {
        bench.paste(&format!(
            "LOAD {module} TO RUNTIME;\nSAVE {module} TO MEMORY;\nSAVE {module} TO DISK;\n\
             LOAD {module} TO MEMORY;\nLOAD {module} FROM CONFIG;\n"
        ));
    }
    // a variable: in memory first, then in force, then kept
    let value = "SELECT variable_value FROM runtime_global_variables \
                 WHERE variable_name='mysql-max_connections';\n";
    let set = "SET mysql-max_connections=300;\n";
    assert_eq!(bench.paste(&format!("{set}{value}")), "10000\n");
    assert_eq!(bench.paste(&format!("LOAD MYSQL VARIABLES TO RUNTIME;\n{value}")), "300\n");
}
