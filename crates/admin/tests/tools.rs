//! What an operator does with the tools of ProxySQL's world: the kinds of statements that Percona's
//! `proxysql-admin` and `percona-scheduler-admin` send for it, and the rows they go on with.

mod fake;
mod told;

use admin::OpeningSource;
use engine::snapshot::Draft;
use fake::Dir;
use mysql::Conn;
use told::{ask, converse, done, load_and_save, refused, rows, values};

/// Puts three servers in hostgroups 10, 11, 12 and 9010; `db1` writes.
fn enable_cluster(client: &mut Conn) {
    let look = [
        (
            "SELECT COUNT(*)
               FROM mysql_galera_hostgroups
              WHERE writer_hostgroup IN (10,11,12,9010) OR
                    offline_hostgroup IN (10,11,12,9010)",
            rows("COUNT(*)", "0"),
        ),
        (
            "SELECT hostgroup_id
               FROM mysql_servers
              WHERE hostgroup_id IN (10,11,12,9010) AND status <> 'OFFLINE_HARD'",
            rows("hostgroup_id", ""),
        ),
        (
            "DELETE
               FROM mysql_servers
              WHERE hostgroup_id in (10,11,12,9010) AND
                    status = 'OFFLINE_HARD'",
            done(0),
        ),
    ];
    let add = [
        (
            "INSERT INTO mysql_servers
               (hostname,hostgroup_id,port,weight,max_connections,use_ssl)
             VALUES
               ('db1',10,3306,1000,500,0);",
            done(1),
        ),
        (
            "INSERT INTO mysql_servers (hostname,hostgroup_id,port,weight,max_connections) \
             VALUES ('db2',10,3306,1000,500),('127.0.0.1',10,4110,1000,500);",
            done(2),
        ),
        ("UPDATE mysql_servers SET weight = 1000000 WHERE hostname = 'db1';", done(1)),
        (
            "UPDATE mysql_servers
                SET hostgroup_id = 12
              WHERE hostgroup_id = 10 AND
                    ( hostname <> 'db1' OR
                      port <> 3306 )",
            done(2),
        ),
        (
            "INSERT INTO mysql_galera_hostgroups (writer_hostgroup,
                                                  backup_writer_hostgroup,
                                                  reader_hostgroup, offline_hostgroup,
                                                  active, max_writers,
                                                  writer_is_also_reader,
                                                  max_transactions_behind)
             VALUES
               (10, 12,
                11, 9010,
                1, 1, 2, 100)",
            done(1),
        ),
    ];
    converse(client, &[("SELECT 1", values("1"))]);
    converse(client, &look);
    converse(client, &add);
    load_and_save(client, "MYSQL SERVERS");
}

#[test]
fn a_galera_cluster_is_enabled() {
    let dir = Dir::new("tools-enable");
    let interface = dir.open(Draft::default(), OpeningSource::Auto);
    let mut admin = interface.admin();
    enable_cluster(&mut admin);
    converse(
        &mut admin,
        &[
            (
                "SELECT hostname,hostgroup_id,port,weight
                   FROM runtime_mysql_servers
                  WHERE hostgroup_id=10 AND
                        status != 'SHUNNED'",
                rows("hostname|hostgroup_id|port|weight", "db1|10|3306|1000000"),
            ),
            (
                "SELECT hostgroup_id, hostname FROM disk.mysql_servers ORDER BY 1, 2",
                rows("hostgroup_id|hostname", "10|db1\n12|127.0.0.1\n12|db2"),
            ),
            ("SELECT max_writers FROM disk.mysql_galera_hostgroups", rows("max_writers", "1")),
            (
                "INSERT INTO mysql_servers (hostname,hostgroup_id,port) VALUES ('db1',10,3306)",
                refused(1062, "ProxySQL Admin Error: UNIQUE constraint failed: mysql_servers"),
            ),
            (
                "INSERT INTO mysql_galera_hostgroups (writer_hostgroup, \
                 backup_writer_hostgroup, reader_hostgroup, offline_hostgroup) \
                 VALUES (20, 21, 20, 22)",
                refused(3819, "ProxySQL Admin Error: CHECK constraint failed: mysql_galera_host"),
            ),
            (
                "INSERT INTO mysql_galera_hostgroups (writer_hostgroup, \
                 backup_writer_hostgroup, reader_hostgroup, offline_hostgroup) \
                 VALUES (20, 12, 21, 22)",
                refused(1062, "ProxySQL Admin Error: UNIQUE constraint failed: mysql_galera_ho"),
            ),
        ],
    );
}

#[test]
fn variables_and_query_rules_of_a_cluster_are_set() {
    let dir = Dir::new("tools-rules");
    let interface = dir.open(Draft::default(), OpeningSource::Auto);
    let mut admin = interface.admin();
    let monitor = "UPDATE global_variables
                      SET variable_value='mon'
                    WHERE variable_name='mysql-monitor_username';
                   UPDATE global_variables
                      SET variable_value='it''s'
                    WHERE variable_name='mysql-monitor_password'; ";
    assert_eq!(ask(&mut admin, monitor), [done(1), done(1)]);
    let interval = "select variable_value from global_variables where variable_name = \
                    'mysql-monitor_galera_healthcheck_interval'";
    let rule = "SELECT COUNT(*)
                  FROM mysql_query_rules
                 WHERE username = 'app' AND
                       destination_hostgroup = 10 AND
                       active = 1 AND
                       match_digest = '^SELECT.*FOR UPDATE'";
    let set = [
        (interval, rows("variable_value", "5000")),
        ("SET mysql-monitor_galera_healthcheck_interval = 2000", done(1)),
        (interval, rows("variable_value", "2000")),
        (rule, values("0")),
        (
            "INSERT INTO mysql_query_rules
               (username,destination_hostgroup,active,match_digest,apply)
             VALUES
               ('app',10,1,'^SELECT.*FOR UPDATE',1),
               ('app',11,1,'^SELECT ',1);",
            done(2),
        ),
        (rule, values("1")),
    ];
    converse(&mut admin, &set);
    load_and_save(&mut admin, "MYSQL VARIABLES");
    load_and_save(&mut admin, "MYSQL QUERY RULES");
    let seen = [
        (
            "SELECT variable_value FROM global_variables WHERE variable_name IN \
             ('mysql-monitor_username','mysql-monitor_password') ORDER BY variable_name DESC",
            rows("variable_value", "mon\nit's"),
        ),
        (
            "SELECT * FROM runtime_global_variables WHERE variable_name='mysql-interfaces'",
            rows("variable_name|variable_value", "mysql-interfaces|0.0.0.0:6033"),
        ),
        (
            "select variable_value from global_variables \
             where variable_name like 'mysql-max_connections'",
            rows("variable_value", "10000"),
        ),
        (
            "SELECT * FROM disk.global_variables WHERE variable_name LIKE 'mysql-monitor_user%'",
            rows("variable_name|variable_value", "mysql-monitor_username|mon"),
        ),
        (
            "SELECT rule_id, match_digest, apply FROM disk.mysql_query_rules ORDER BY rule_id",
            rows("rule_id|match_digest|apply", "1|^SELECT.*FOR UPDATE|1\n2|^SELECT |1"),
        ),
        ("SELECT count(*) FROM runtime_mysql_query_rules", values("2")),
    ];
    converse(&mut admin, &seen);
}

#[test]
fn the_state_of_a_cluster_is_reported() {
    let dir = Dir::new("tools-state");
    let interface = dir.open(Draft::default(), OpeningSource::Auto);
    let mut admin = interface.admin();
    enable_cluster(&mut admin);
    let report = [
        (
            "SELECT writer_hostgroup || ',' || reader_hostgroup || ',' ||
                    backup_writer_hostgroup || ',' || offline_hostgroup
               FROM mysql_galera_hostgroups
              WHERE writer_hostgroup = 10",
            values("10,11,12,9010"),
        ),
        (
            "SELECT writer_hostgroup as writer,
                    backup_writer_hostgroup as 'backup-writer',
                    active,
                    writer_is_also_reader,
                    max_transactions_behind as max_trans_behind
               FROM runtime_mysql_galera_hostgroups
              WHERE writer_hostgroup IN (10,20)",
            rows(
                "writer|backup-writer|active|writer_is_also_reader|max_trans_behind",
                "10|12|1|2|100",
            ),
        ),
        (
            "SELECT
                CASE
                  WHEN hostgroup_id IN (10)
                    THEN 'writer'
                  WHEN hostgroup_id IN (12)
                    THEN 'backup-writer'
                  ELSE
                    'unknown'
                END hostgroup,
                hostgroup_id as hg_id,
                hostname,
                port,
                status,
                weight,
                max_connections as max_conn,
                use_ssl,
                gtid_port
               FROM runtime_mysql_servers
              WHERE hostgroup_id IN (10,11,12,9010)
              ORDER BY hostgroup_id,weight,hostname,port",
            rows(
                "hostgroup|hg_id|hostname|port|status|weight|max_conn|use_ssl|gtid_port",
                "writer|10|db1|3306|ONLINE|1000000|500|0|0\n\
                 backup-writer|12|127.0.0.1|4110|ONLINE|1000|500|0|0\n\
                 backup-writer|12|db2|3306|ONLINE|1000|500|0|0",
            ),
        ),
        (
            "SELECT CASE hostgroup_id WHEN 10 THEN 'writer' ELSE 'unknown' END hostgroup, \
             GROUP_CONCAT(hostname || ':' || port) servers, SUM(IIF(status = 'ONLINE', 1, 0)) up, \
             printf('%05d', port) port FROM runtime_mysql_servers WHERE weight > 1000 \
             GROUP BY hostgroup_id",
            rows("hostgroup|servers|up|port", "writer|db1:3306|1|03306"),
        ),
    ];
    converse(&mut admin, &report);
}

#[test]
fn a_cluster_that_is_not_active_is_told_from_none() {
    let dir = Dir::new("tools-active");
    let interface = dir.open(Draft::default(), OpeningSource::Auto);
    let mut admin = interface.admin();
    let active = "SELECT active
                    FROM runtime_mysql_galera_hostgroups
                   WHERE
                      writer_hostgroup = 10";
    let singular = "SELECT max_writers FROM mysql_galera_hostgroups WHERE writer_hostgroup = 10";
    converse(&mut admin, &[(active, rows("active", "")), (singular, rows("max_writers", ""))]);
    enable_cluster(&mut admin);
    converse(&mut admin, &[(active, rows("active", "1")), (singular, rows("max_writers", "1"))]);
    let stop = "UPDATE mysql_galera_hostgroups SET active=0 WHERE writer_hostgroup = 10";
    converse(&mut admin, &[(stop, done(1))]);
    load_and_save(&mut admin, "MYSQL SERVERS");
    converse(&mut admin, &[(active, rows("active", "0"))]);
}

#[test]
fn another_server_becomes_the_writer_and_the_cluster_is_disabled() {
    let dir = Dir::new("tools-disable");
    let interface = dir.open(Draft::default(), OpeningSource::Auto);
    let mut admin = interface.admin();
    enable_cluster(&mut admin);
    let update = [
        (
            "SELECT DISTINCT hostname, port
               FROM mysql_servers
              WHERE hostgroup_id in (10,11,12,9010)
              ORDER BY 1",
            rows("hostname|port", "127.0.0.1|4110\ndb1|3306\ndb2|3306"),
        ),
        (
            "DELETE FROM mysql_servers
              WHERE
                hostname = 'db2' AND
                port = 3306 AND
                hostgroup_id in (10,11,12,9010)",
            done(1),
        ),
        ("INSERT INTO mysql_servers (hostname,hostgroup_id) VALUES ('db2',10);", done(1)),
        (
            "UPDATE mysql_servers
                SET weight = 1000
              WHERE hostgroup_id IN (10,11,12,9010) AND
                    weight = 1000000",
            done(1),
        ),
        ("UPDATE mysql_servers SET weight = 1000000 WHERE hostname = 'db2';", done(1)),
    ];
    converse(&mut admin, &update);
    load_and_save(&mut admin, "MYSQL SERVERS");
    let writers = "SELECT COUNT(*)
                     FROM runtime_mysql_servers
                    WHERE
                      hostgroup_id = 10";
    let disable = [
        (writers, values("2")),
        ("DELETE FROM mysql_users\n WHERE default_hostgroup IN (10,11,12,9010)", done(0)),
        ("DELETE FROM mysql_servers\n WHERE hostgroup_id in (10,11,12,9010);", done(3)),
        (
            "DELETE FROM  mysql_query_rules_fast_routing
              WHERE destination_hostgroup in (10,11,12,9010)",
            done(0),
        ),
        ("DELETE FROM mysql_galera_hostgroups WHERE writer_hostgroup = 10", done(1)),
    ];
    converse(&mut admin, &disable);
    load_and_save(&mut admin, "MYSQL SERVERS");
    let left = "SELECT (SELECT count(*) FROM disk.mysql_servers) servers, \
                (SELECT count(*) FROM runtime_mysql_galera_hostgroups) clusters";
    converse(&mut admin, &[(writers, values("0")), (left, rows("servers|clusters", "0|0"))]);
}

#[test]
fn users_are_added_and_synchronised() {
    let dir = Dir::new("tools-users");
    let interface = dir.open(Draft::default(), OpeningSource::Auto);
    let mut admin = interface.admin();
    let known = "SELECT username
                   FROM mysql_users
                  WHERE username='o''hara'";
    converse(&mut admin, &[(known, rows("username", ""))]);
    let add = "INSERT INTO mysql_users (username,password,active,default_hostgroup) values \
               ('o''hara','pa''ss',1,10);LOAD MYSQL USERS TO RUNTIME;\
               SAVE MYSQL USERS FROM RUNTIME;SAVE MYSQL USERS TO DISK;";
    assert_eq!(ask(&mut admin, add), [done(1), done(0), done(0), done(0)]);
    let of_cluster = "SELECT username,password
                        FROM mysql_users
                       WHERE password!='' AND default_hostgroup=10";
    let synchronise = [
        (known, rows("username", "o'hara")),
        (
            "SELECT username, backend, frontend FROM runtime_mysql_users ORDER BY frontend",
            rows("username|backend|frontend", "o'hara|1|0\no'hara|0|1"),
        ),
        ("SELECT DISTINCT username, password FROM disk.mysql_users", values("o'hara|pa'ss")),
        (
            "INSERT INTO mysql_users (username, password, active, default_hostgroup) \
             VALUES ('o''hara', 'other', 1, 10)",
            refused(1062, "ProxySQL Admin Error: UNIQUE constraint failed: mysql_users"),
        ),
        (
            "select variable_value
               from global_variables
              where variable_name like 'admin-%_credentials'",
            rows("variable_value", "admin:admin\nstats:stats"),
        ),
        (
            "INSERT INTO mysql_users
               (username, password, active, default_hostgroup)
             VALUES
               ('shop', '*14E65567ABDB5135D0CFD9A70B3032C179A49EE7', 1, 10)",
            done(1),
        ),
        (
            of_cluster,
            rows(
                "username|password",
                "o'hara|pa'ss\nshop|*14E65567ABDB5135D0CFD9A70B3032C179A49EE7",
            ),
        ),
        ("DELETE FROM mysql_users WHERE username='o''hara' and default_hostgroup=10", done(1)),
        (
            "DELETE FROM mysql_query_rules WHERE username='o''hara' \
             and destination_hostgroup in(10,11)",
            done(0),
        ),
    ];
    converse(&mut admin, &synchronise);
    load_and_save(&mut admin, "MYSQL USERS");
    let left = "SELECT username, default_hostgroup FROM runtime_mysql_users WHERE frontend=1";
    converse(&mut admin, &[(left, rows("username|default_hostgroup", "shop|10"))]);
}

#[test]
fn the_proxys_version_is_made_the_servers() {
    let dir = Dir::new("tools-version");
    let interface = dir.open(Draft::default(), OpeningSource::Auto);
    let mut admin = interface.admin();
    let version = "select variable_value from runtime_global_variables \
                   where variable_name like 'mysql-server_version'";
    let update = "UPDATE global_variables
                     SET variable_value='8.0.36'
                   WHERE variable_name='mysql-server_version';";
    converse(&mut admin, &[(update, done(1))]);
    load_and_save(&mut admin, "MYSQL VARIABLES");
    converse(&mut admin, &[(version, rows("variable_value", "8.0.36"))]);
}

#[test]
fn proxies_are_kept_from_following_and_let_again() {
    let dir = Dir::new("tools-updates");
    let interface = dir.open(Draft::default(), OpeningSource::Auto);
    let mut admin = interface.admin();
    let of_users = "SELECT variable_value
                      FROM global_variables
                     WHERE variable_name = 'admin-checksum_mysql_users'
                   ";
    let interval = "SELECT variable_value FROM runtime_global_variables \
                    WHERE variable_name = 'admin-cluster_check_interval_ms'";
    let stop = [
        ("SAVE ADMIN VARIABLES FROM RUNTIME", done(0)),
        (of_users, rows("variable_value", "true")),
        ("SET admin-checksum_mysql_users = 'false'", done(1)),
        ("SET admin-checksum_mysql_servers = 'false'", done(1)),
        ("SET admin-checksum_mysql_query_rules = 'false'", done(1)),
        ("SET admin-cluster_username = '';", done(1)),
        ("SET admin-cluster_check_interval_ms = 300000;", done(1)),
        (interval, rows("variable_value", "1000")),
        ("LOAD ADMIN VARIABLES TO RUNTIME", done(0)),
        (of_users, rows("variable_value", "false")),
        (interval, rows("variable_value", "300000")),
    ];
    converse(&mut admin, &stop);
    let resume = [
        ("SET admin-checksum_mysql_users = 'true'", done(1)),
        ("SET admin-cluster_check_interval_ms = '1000'", done(1)),
        ("LOAD ADMIN VARIABLES TO RUNTIME", done(0)),
        (of_users, rows("variable_value", "true")),
        (interval, rows("variable_value", "1000")),
    ];
    converse(&mut admin, &resume);
}
