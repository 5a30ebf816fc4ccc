//! The interface over its protocol, by a client that nobody here wrote.

mod fake;

use fake::{Interface, error, lines};
use mysql::ChangeUserOpts;
use mysql::prelude::Queryable;

/// What tools compare to know what an interface can do, before the version of the product.
const VERSION: &str = concat!("2.7.2-tidegate-", env!("CARGO_PKG_VERSION"));

#[test]
fn clients_find_what_they_ask_every_server_for() {
    let interface = Interface::start(&[]);
    let mut admin = interface.admin();
    for (query, answer) in [
        ("SELECT @@max_allowed_packet, @@wait_timeout", "67108864|28800"),
        ("SELECT @@session.autocommit AS a, @@sql_mode", "1|"),
        ("/* driver */ select @@version_comment limit 1", "(ProxySQL Admin Module)"),
        ("SELECT DATABASE(), USER() LIMIT 1", "main|admin"),
        ("SELECT @@mysql-max_connections + 1", "10001"),
        ("SELECT concat(@@admin-read_only, '@@x')", "false@@x"),
        ("SELECT COUNT(*) FROM INFORMATION_SCHEMA.TABLES WHERE table_schema='x'", "0"),
        ("SHOW VARIABLES LIKE 'sql\\_mode'", "sql_mode|"),
        ("SHOW VARIABLES WHERE Variable_name = 'mysql-threads' OR Value = 'x'", "mysql-threads|4"),
        ("SHOW GLOBAL VARIABLES LIKE 'read_only'", "read_only|0"),
        ("SELECT version()", VERSION),
        ("SELECT @@version", VERSION),
        ("SELECT @@admin-version", VERSION),
        ("SHOW VARIABLES LIKE 'version'", &format!("version|{VERSION}")),
        ("SELECT @@tidegate_version", env!("CARGO_PKG_VERSION")),
        (
            "SELECT @@max_allowed_packet, @@character_set_client, @@character_set_connection, \
             @@license, @@sql_mode, @@lower_case_table_names, @@autocommit",
            "67108864|utf8mb4|utf8mb4|Apache-2.0 OR MIT||0|1",
        ),
        ("SHOW WARNINGS", ""),
        ("SHOW PROMETHEUS METRICS", "# TYPE up gauge\nup 1\n"),
        ("SHOW PROMETHEUS METRICS\\G", "# TYPE up gauge\nup 1\n"),
        ("SHOW SESSION STATUS LIKE 'Ssl_cipher'", ""),
        ("SHOW DATABASES LIKE 'd%'", "2|disk|"),
        ("SHOW DATABASES LIKE 'stats\\_history'", "5|stats_history|"),
        ("SHOW DATABASES LIKE 'stats\\%'", ""),
    ] {
        assert_eq!(lines(&mut admin, query), answer, "{query}");
    }
    for query in [
        "SET NAMES utf8mb4",
        "SET AUTOCOMMIT = 0",
        "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
        "BEGIN",
        "COMMIT",
        "ROLLBACK",
        "USE disk",
        "LOCK TABLES x READ",
        "/*!40101 SET NAMES utf8 */",
        "SET sql_mode='STRICT_TRANS_TABLES'",
    ] {
        admin.query_drop(query).unwrap_or_else(|error| panic!("{query}: {error}"));
    }
    assert_eq!(lines(&mut admin, "SELECT DATABASE()"), "disk");
    assert_eq!(error(admin.query_drop("select $$")).0, 1064);
    let unknown = error(admin.query_drop("SELECT @@nonsense"));
    assert_eq!(unknown, (1193, "HY000".into(), "Unknown system variable 'nonsense'".into()));
}

#[test]
fn every_column_is_a_text_and_null_is_null() {
    let interface = Interface::start(&[]);
    let mut admin = interface.admin();
    let result = admin.query_iter("SELECT 1 AS a, NULL b, 'x'").expect("it is SQL");
    let columns: Vec<_> = result
        .columns()
        .as_ref()
        .iter()
        .map(|c| {
            (c.name_str().into_owned(), c.column_type() as u8, c.character_set(), c.column_length())
        })
        .collect();
    assert_eq!(
        columns,
        [("a".into(), 253, 33, 15), ("b".into(), 253, 33, 15), ("'x'".into(), 253, 33, 15)]
    );
    drop(result);
    let row: (String, Option<String>) =
        admin.query_first("SELECT 1, NULL").expect("it is SQL").expect("a row");
    assert_eq!(row, ("1".into(), None));
}

#[test]
fn a_table_is_found_however_its_name_is_quoted() {
    let interface = Interface::start(&[]);
    let mut admin = interface.admin();
    let plain = lines(&mut admin, "SHOW CREATE TABLE disk.scheduler");
    for name in
        ["disk.`scheduler`", "`disk`.scheduler", "`disk`.`scheduler`", "`disk` . `scheduler`"]
    {
        assert_eq!(lines(&mut admin, &format!("SHOW CREATE TABLE {name}")), plain, "{name}");
        let fields = lines(&mut admin, "DESC disk.scheduler");
        assert_eq!(lines(&mut admin, &format!("SHOW FIELDS FROM {name}")), fields, "{name}");
    }
    let main = lines(&mut admin, "SHOW CREATE TABLE `scheduler`");
    assert!(main.starts_with("scheduler|CREATE TABLE scheduler"), "{main}");
    let add = "INSERT INTO scheduler (id, interval_ms, filename) VALUES (1, 500, '/bin/true')";
    admin.query_drop(add).expect("it is SQL");
    admin.query_drop("TRUNCATE TABLE `main`.`scheduler`").expect("it is known");
    assert_eq!(lines(&mut admin, "SELECT count(*) FROM scheduler"), "0");
}

#[test]
fn a_number_may_have_decimals_that_say_nothing() {
    let interface = Interface::start(&[]);
    let mut admin = interface.admin();
    admin.query_drop("SET mysql-long_query_time = 1000.000000").expect("it is a number");
    assert_eq!(lines(&mut admin, "SELECT @@mysql-long_query_time"), "1000");
    let update = "UPDATE global_variables SET variable_value = '1500.000000' \
                  WHERE variable_name = 'mysql-long_query_time'";
    admin.query_drop(update).expect("it is a number");
    admin.query_drop("LOAD MYSQL VARIABLES TO RUNTIME").expect("it is a number");
    let refused = error(admin.query_drop("SET mysql-long_query_time = 1000.5"));
    assert_eq!(refused.0, 1231, "{}", refused.2);
}

#[test]
fn statements_can_be_prepared() {
    let interface = Interface::start(&[]);
    let mut admin = interface.admin();
    let add = "INSERT INTO mysql_servers (hostgroup_id, hostname, comment) VALUES (?, ?, ?)";
    for (hostgroup, host, comment) in [(1, "a", Some("é")), (2, "b", Some(""))] {
        admin.exec_drop(add, (hostgroup, host, comment)).expect("it is SQL");
        assert_eq!(admin.affected_rows(), 1);
    }
    let query = "SELECT hostname, comment FROM mysql_servers WHERE hostgroup_id = ?";
    let row: Option<(String, String)> = admin.exec_first(query, (1,)).expect("it is SQL");
    assert_eq!(row, Some(("a".into(), "é".into())));
    let shown: Vec<(String, String)> =
        admin.exec("SHOW VARIABLES LIKE 'mysql-threads'", ()).expect("it is a command");
    assert_eq!(shown, [("mysql-threads".into(), "4".into())]);
    let asked: Option<String> = admin.exec_first("SELECT @@mysql-threads + ?", (1,)).expect("SQL");
    assert_eq!(asked.as_deref(), Some("5"));
    admin.exec_drop("LOAD MYSQL SERVERS TO RUNTIME", ()).expect("it is a command");
    assert_eq!(lines(&mut admin, "SELECT count(*) FROM runtime_mysql_servers"), "2");
}

#[test]
fn only_who_is_known_and_may_come_from_there_gets_in() {
    let interface = Interface::start(&[
        (
            "admin-admin_credentials",
            "admin:admin;root:s;cret:x:y;hashed:*14E65567ABDB5135D0CFD9A70B3032C179A49EE7",
        ),
        ("admin-stats_credentials", "stats:stats;viewer:"),
    ]);
    for (user, password) in [
        ("admin", "admin"),
        ("cret", "x:y"),
        ("hashed", "secret"),
        ("stats", "stats"),
        ("viewer", ""),
    ] {
        interface.login(user, password).unwrap_or_else(|error| panic!("{user}: {error}"));
    }
    for (user, password) in [("admin", "wrong"), ("nobody", "admin"), ("admin", ""), ("app", "app")]
    {
        let (code, state, message) = error(interface.login(user, password));
        assert_eq!((code, state.as_str()), (1045, "28000"), "{user}");
        assert!(message.contains(&format!("Access denied for user '{user}'@'127.0.0.1'")));
    }
    let log = interface.log();
    assert_eq!(log.len(), 4, "{log:?}");
    assert!(
        log[0].ends_with(
            "user 'admin' from 127.0.0.1 was refused: its password is wrong (1 in a row)"
        )
    );
    assert!(log[3].ends_with("there is no such account (4 in a row)"), "{log:?}");
}

#[test]
fn readers_read_statistics_and_nothing_else() {
    let interface = Interface::start(&[]);
    let mut stats = interface.login("stats", "stats").expect("it is the default account");
    let questions =
        "SELECT Variable_Value FROM stats_mysql_global WHERE Variable_Name = 'Questions'";
    assert_eq!(lines(&mut stats, questions), "0");
    assert!(
        lines(
            &mut stats,
            "SHOW \
        TABLES"
        )
        .starts_with("global_variables\nstats_memory_metrics")
    );
    assert_eq!(lines(&mut stats, "SHOW VARIABLES LIKE 'mysql-threads'"), "mysql-threads|4");
    for (query, reason) in [
        ("SELECT * FROM mysql_users", "no such table: mysql_users"),
        ("LOAD MYSQL USERS TO RUNTIME", "near \"LOAD\": syntax error"),
        ("PROXYSQL SHUTDOWN", "near \"PROXYSQL\": syntax error"),
        ("SET mysql-threads = 8", "near \"SET\": syntax error"),
        ("CREATE TABLE x (a INT)", "attempt to write a readonly database"),
        (
            "INSERT INTO stats_mysql_global VALUES ('a', 'b')",
            "attempt to write a readonly database",
        ),
        ("PRAGMA database_list", "PRAGMA is not allowed here"),
    ] {
        let (code, state, message) = error(stats.query_drop(query));
        let told = if reason.starts_with("no such") { (1146, "42S02") } else { (1045, "28000") };
        assert_eq!((code, state.as_str()), told, "{query}");
        assert_eq!(message, format!("ProxySQL Admin Error: {reason}"));
    }
}

#[test]
fn what_there_is_can_be_looked_at() {
    let interface = Interface::start(&[]);
    let mut admin = interface.admin();
    let tables = lines(&mut admin, "SHOW TABLES FROM monitor");
    assert!(tables.contains("mysql_server_ping_log") && !tables.contains("sqlite"), "{tables}");
    assert_eq!(lines(&mut admin, "SHOW TABLES LIKE 'mysql\\_users'"), "mysql_users");
    let create = lines(&mut admin, "SHOW CREATE TABLE disk.mysql_replication_hostgroups");
    assert!(
        create.starts_with(
            "mysql_replication_hostgroups|CREATE TABLE \
        mysql_replication_hostgroups (writer_hostgroup INT PRIMARY KEY CHECK"
        ),
        "{create}"
    );
    assert_eq!(
        lines(&mut admin, "SHOW FIELDS FROM global_variables"),
        "variable_name|varchar(255)|NO|PRI|NULL|\nvariable_value|varchar(255)|NO||NULL|"
    );
    assert!(
        lines(&mut admin, "SHOW TABLE STATUS LIKE 'scheduler'").starts_with("scheduler|SQLite|")
    );
    let (code, _, message) = error(admin.query_drop("SHOW TABLES FROM nowhere"));
    assert_eq!((code, message.as_str()), (1049, "Unknown database 'nowhere'"));
    for look in ["SHOW CREATE TABLE", "DESC", "DESCRIBE", "SHOW COLUMNS FROM", "SHOW FIELDS IN"] {
        let (code, _, message) = error(admin.query_drop(format!("{look} main.nothing")));
        let told = "ProxySQL Admin Error: no such table: nothing";
        assert_eq!((code, message.as_str()), (1146, told), "{look}");
    }
    assert!(lines(&mut admin, "DESC stats.stats_mysql_global").starts_with("Variable_Name|"));
}

#[test]
fn a_word_that_is_not_known_is_told_with_what_comes_there() {
    let interface = Interface::start(&[]);
    let mut admin = interface.admin();
    let modules = "SERVERS, USERS, QUERY, VARIABLES, FIREWALL";
    let first = "MYSQL, ADMIN, PROXYSQL, SCHEDULER";
    let too_much =
        |word: &str, before: &str| format!("`{word}` is too much: nothing comes after {before}");
    let not_known = |word: &str, before: &str, allowed: &str| {
        format!("`{word}` is not known: after {before} comes {allowed}")
    };
    let missing = |before: &str, allowed: &str| {
        format!("the command is not complete: after {before} comes {allowed}")
    };
    let version = "the number of a version";
    for (text, told) in [
        ("load mysql", missing("LOAD MYSQL", &format!("{modules} or USER"))),
        (
            "load mysql severs to runtime",
            not_known("severs", "LOAD MYSQL", &format!("{modules} or USER; did you mean SERVERS?")),
        ),
        ("LOAD MYSQL QUERY RULE TO RUNTIME", not_known("RULE", "LOAD MYSQL QUERY", "RULES")),
        ("LOAD", missing("LOAD", &format!("{first} or RESTAPI"))),
        (
            "load mysql variables to nowhere",
            not_known("nowhere", "LOAD MYSQL VARIABLES TO", "RUNTIME or MEMORY"),
        ),
        ("LOAD MYSQL USERS TO DISK", not_known("DISK", "LOAD MYSQL USERS TO", "RUNTIME or MEMORY")),
        (
            "save mysql servers to disc",
            not_known("disc", "SAVE MYSQL SERVERS TO", "MEMORY or DISK; did you mean DISK?"),
        ),
        ("SAVE MYSQL SERVERS", missing("SAVE MYSQL SERVERS", "TO or FROM")),
        ("SAVE NOTHING", not_known("NOTHING", "SAVE", &format!("{first}, RESTAPI, CONFIG or ALL"))),
        ("LOAD MYSQL USER x TO DISK", not_known("DISK", "LOAD MYSQL USER X TO", "RUNTIME")),
        ("LOAD RESTAPI TO RUNTIME x", too_much("x", "LOAD RESTAPI TO RUNTIME")),
        ("rollback config to version abc", not_known("abc", "ROLLBACK CONFIG TO VERSION", version)),
        ("PLAN SCHEDULER x", too_much("x", "PLAN SCHEDULER")),
    ] {
        let (code, state, message) = error(admin.query_drop(text));
        assert_eq!((code, state.as_str()), (1064, "42000"), "{text}: {message}");
        assert_eq!(message, told, "{text}");
    }
}

#[test]
fn several_statements_are_answered_one_after_the_other() {
    let interface = Interface::start(&[]);
    let mut admin = interface.admin();
    let mut results = admin
        .query_iter("SELECT 1; INSERT INTO mysql_users (username) VALUES ('a;b'); SELECT 2")
        .expect("the client says that it sends several");
    let mut seen = Vec::new();
    while let Some(result) = results.iter() {
        let affected = result.affected_rows();
        let rows = result.map(|row| row.expect("a row").get::<String, _>(0).unwrap());
        seen.push((rows.collect::<Vec<_>>(), affected));
    }
    assert_eq!(seen, [(vec!["1".into()], 0), (vec![], 1), (vec!["2".into()], 0)]);
}

#[test]
fn a_client_becomes_another_user_or_is_refused_on_the_same_connection() {
    let interface = Interface::start(&[("admin-stats_credentials", "stats:stats;viewer:")]);
    let mut client = interface.admin();
    let become_user = |client: &mut mysql::Conn, user: &str, password: &str| {
        let options = ChangeUserOpts::new()
            .with_user(Some(user.to_owned()))
            .with_pass(Some(password.to_owned()));
        client.change_user(options)
    };
    become_user(&mut client, "stats", "stats").expect("it is an account");
    assert_eq!(lines(&mut client, "SELECT USER()"), "stats");
    error(client.query_drop("LOAD MYSQL USERS TO RUNTIME"));
    become_user(&mut client, "admin", "admin").expect("it is an account");
    client.query_drop("LOAD MYSQL USERS TO RUNTIME").expect("an administrator may");
    client.query_drop("SET @x = 1").expect("it is accepted");
    client.reset().expect("it is a command");
    assert_eq!(lines(&mut client, "SELECT USER()"), "admin");
    let (code, ..) = error(become_user(&mut client, "admin", "wrong"));
    assert_eq!(code, 1045);
}

#[test]
fn the_reference_tells_what_is() {
    let interface = Interface::start(&[]);
    let mut admin = interface.admin();
    for command in admin::COMMANDS.iter().filter(|command| !command.example.is_empty()) {
        admin
            .query_drop(command.example)
            .unwrap_or_else(|error| panic!("{}: {error}", command.example));
    }
    for (words, why) in admin::refused() {
        let (code, _, message) = error(admin.query_drop(format!("{words} X Y")));
        assert_eq!((code, message.as_str()), (1045, why), "{words}");
    }
    for row in admin::FAULTS.iter().filter(|row| !row.example.is_empty()) {
        let (code, state, message) = error(admin.query_drop(row.example));
        assert_eq!((code, state.as_str()), (row.code, row.sqlstate), "{}: {message}", row.example);
    }
}

#[test]
fn the_process_is_told_what_is_asked_of_it() {
    let interface = Interface::start(&[]);
    let mut admin = interface.admin();
    for command in [
        "PROXYSQL PAUSE",
        "TIDEGATE RESUME",
        "proxysql flush query cache",
        "PROXYSQL FLUSH MYSQL QUERY CACHE",
        "PROXYSQL FLUSH QUERY CACHE TABLE Items",
        "PROXYSQL FLUSH MYSQL QUERY CACHE digest '0x00000000000000fF'",
        "proxysql flush query cache user 'App'",
        "TIDEGATE FLUSH CONNECTIONS",
        "tidegate flush connections 'App'",
        "LOGENTRY the moon is up",
        "KILL CONNECTION 7",
        "KILL QUERY 7",
    ] {
        admin.query_drop(command).unwrap_or_else(|error| panic!("{command}: {error}"));
    }
    assert_eq!(
        interface.fake().told(),
        [
            "Pause",
            "Resume",
            "FlushQueryCache",
            "FlushQueryCache",
            "FlushCached Table(\"Items\")",
            "FlushCached Digest(255)",
            "FlushCached User(\"App\")",
            "FlushConnections None",
            "FlushConnections Some(\"App\")",
            "log the moon is up",
            "7 Connection",
            "7 Query",
        ]
    );
}

#[test]
fn what_the_process_cannot_do_is_refused_by_name() {
    let interface = Interface::start(&[]);
    let mut admin = interface.admin();
    let (code, _, message) = error(admin.query_drop("KILL 8"));
    assert_eq!((code, message.as_str()), (1094, "Unknown thread id: 8"));
    let (_, _, message) = error(admin.query_drop("PROXYSQL STOP"));
    assert_eq!(message, "cannot stop");
    let (code, ..) = error(admin.query_drop("PROXYSQL DANCE"));
    assert_eq!(code, 1064);
    for (known, why) in [
        ("PROXYSQL COREDUMP /tmp/x", "gcore"),
        ("PROXYSQL FLUSH QUERY CACHE DIGEST 'x'", "'x' is no digest: 0x and 16 digits"),
        ("PROXYSQL FLUSH QUERY CACHE TABLE shop.items", "without its schema"),
        ("PROXYSQL FLUSH QUERY CACHE SCHEMA shop", "{DIGEST | USER | TABLE}"),
        ("PROXYSQL CLUSTER_NODE_UUID x y", "clusters are not supported"),
        ("PROXYSQL FLUSH CONFIGDB", "no database on disk"),
        ("PULL VERSION MYSQL SERVERS 1 2", "runtime_checksums_values has the version"),
        ("LOAD LDAP VARIABLES TO RUNTIME", "no LDAP plugin"),
    ] {
        let (code, _, message) = error(admin.query_drop(known));
        assert!(code == 1045 && message.contains(why), "{known}: {code} {message}");
    }
    for (unknown, words) in [
        ("PROXYSQL RESTRAT", "did you mean RESTART?"),
        (
            "PROXYSQL FLUSH HOSTS",
            "after PROXYSQL FLUSH comes LOGS, QUERY, MYSQL, CONFIGDB or CONNECTIONS",
        ),
        ("PROXYSQL PAUSE NOW", "`NOW` is too much: nothing comes after PROXYSQL PAUSE"),
    ] {
        let (code, _, message) = error(admin.query_drop(unknown));
        assert!(code == 1064 && message.contains(words), "{unknown}: {code} {message}");
    }
    admin.query_drop("PROXYSQL READONLY").expect("it is a command");
    let (_, _, message) = error(admin.query_drop("DELETE FROM mysql_users"));
    let refused = "ProxySQL Admin Error: attempt to write a readonly database; \
                   PROXYSQL READWRITE lets it be written again";
    assert_eq!(message, refused);
    assert_eq!(error(admin.query_drop("SET mysql-threads = 2")).2, refused);
    assert_eq!(lines(&mut admin, "SELECT @@global.read_only"), "1");
    admin.query_drop("LOAD MYSQL USERS TO RUNTIME").expect("what is in force is no table");
    admin.query_drop("PROXYSQL READWRITE").expect("it is a command");
    admin.query_drop("DELETE FROM mysql_users").expect("it may be written again");
}

#[test]
fn tools_find_what_they_look_for() {
    let interface = Interface::start(&[]);
    let mut admin = interface.admin();
    for (query, answer) in [
        ("SHOW FULL TABLES FROM disk LIKE 'scheduler'", "scheduler|BASE TABLE"),
        (
            "SHOW COLUMNS FROM scheduler FROM disk",
            &lines(&mut admin, "SHOW COLUMNS FROM disk.scheduler"),
        ),
        ("SHOW INDEX FROM mysql_users", ""),
        ("SHOW ENGINES", "SQLite|DEFAULT||NO|NO|NO"),
        ("SHOW STATUS LIKE 'Quest%'", "Questions|0"),
        ("SHOW GLOBAL STATUS WHERE Variable_name = 'Questions'", "Questions|0"),
        ("SHOW ADMIN VARIABLES LIKE '%read\\_only'", "admin-read_only|false"),
        ("SHOW FULL PROCESSLIST", ""),
        (
            "SELECT table_name, engine FROM INFORMATION_SCHEMA.TABLES \
             WHERE table_name = 'scheduler'",
            "scheduler|SQLite",
        ),
        (
            "SELECT column_name, ordinal_position FROM information_schema.columns \
             WHERE table_name = 'global_variables'",
            "variable_name|1\nvariable_value|2",
        ),
        (
            "SELECT schema_name FROM information_schema.schemata ORDER BY 1",
            "disk\nmain\nmonitor\nstats\nstats_history",
        ),
        ("SELECT @@GLOBAL.mysql-threads, @@local.autocommit, '@@x', @@Questions", "4|1|@@x|0"),
    ] {
        assert_eq!(lines(&mut admin, query), answer, "{query}");
    }
    let result = admin.query_iter("SELECT @@version_comment, @@autocommit + 1").expect("SQL");
    let columns = result.columns();
    let names: Vec<_> = columns.as_ref().iter().map(|column| column.name_str()).collect();
    assert_eq!(names, ["@@version_comment", "@@autocommit + 1"]);
    drop(result);
    let status = lines(&mut admin, "SHOW MYSQL STATUS");
    let names: Vec<_> = status.lines().filter_map(|line| line.split('|').next()).collect();
    assert!(names.is_sorted() && names.len() > 100, "{status}");
    let (code, ..) = error(admin.query_drop("SHOW COLUMNS FROM scheduler FROM nowhere"));
    assert_eq!(code, 1049);
}

#[test]
fn a_variable_is_set_however_it_is_written() {
    let interface = Interface::start(&[]);
    let mut admin = interface.admin();
    for (set, value) in [
        ("SET mysql-max_connections := 11", "11"),
        ("SET mysql-max_connections:=12", "12"),
        ("SET GLOBAL mysql-max_connections=13", "13"),
        ("SET @@global.mysql-max_connections = 14", "14"),
        ("set @@mysql-max_connections='15'", "15"),
        ("SET `MySQL-Max_Connections` = 4 * (2, 3) IS NULL OR 16", "1"),
    ] {
        admin.query_drop(set).unwrap_or_else(|error| panic!("{set}: {error}"));
        assert_eq!(lines(&mut admin, "SELECT @@mysql-max_connections"), value, "{set}");
    }
    for (word, value) in [("OFF", "false"), ("on", "true"), ("False", "false"), ("TRUE", "true")] {
        admin.query_drop(format!("SET mysql-multiplexing = {word}")).expect("it is a word");
        assert_eq!(lines(&mut admin, "SELECT @@mysql-multiplexing"), value);
    }
    for (set, told) in [
        ("SET mysql-threads", (1045, "SET needs a name, = and a value")),
        ("SET mysql-threads 4", (1045, "SET needs a name, = and a value")),
        ("SET mysql-threads = 1 WHERE 0", (1231, "Variable 'mysql-threads': has no value")),
        ("SET mysql-threads = NULL", (1231, "Variable 'mysql-threads': one value is wanted")),
    ] {
        let (code, _, message) = error(admin.query_drop(set));
        assert_eq!((code, message.as_str()), told, "{set}");
    }
}

#[test]
fn values_of_prepared_statements_are_of_their_kind() {
    use mysql::Value::{Bytes, Date, Double, Float, Int, NULL, Time, UInt};
    let interface = Interface::start(&[]);
    let mut admin = interface.admin();
    for (value, kind, told) in [
        (NULL, "null", None),
        (Int(-7), "integer", Some("-7")),
        (UInt(9_223_372_036_854_775_807), "integer", Some("9223372036854775807")),
        (UInt(9_223_372_036_854_775_808), "real", Some("9.223372036854776e18")),
        (Float(1.5), "real", Some("1.5")),
        (Double(-0.25), "real", Some("-0.25")),
        (Bytes("é".into()), "text", Some("é")),
        (Bytes(vec![0xff, 0x41]), "blob", Some("FF41")),
        (Date(2024, 2, 29, 1, 2, 3, 4), "text", Some("2024-02-29 01:02:03.000004")),
        (Time(true, 1, 2, 3, 4, 0), "text", Some("-26:03:04")),
    ] {
        let show = "SELECT typeof(?1), CASE typeof(?1) WHEN 'blob' THEN hex(?1) ELSE ?1 END";
        let row: Option<(String, Option<String>)> = admin.exec_first(show, (&value,)).expect("SQL");
        assert_eq!(row, Some((kind.into(), told.map(str::to_owned))), "{value:?}");
    }
}

#[test]
fn while_nothing_may_be_written_other_faults_are_told_as_ever() {
    let interface = Interface::start(&[("admin-read_only", "true")]);
    let mut admin = interface.admin();
    let (code, _, message) = error(admin.query_drop("DELETE FROM mysql_servers"));
    assert!(code == 1045 && message.ends_with("PROXYSQL READWRITE lets it be written again"));
    let (code, _, message) = error(admin.query_drop("SELECT nonsense FROM mysql_servers"));
    assert_eq!(code, 1054, "{message}");
    assert_eq!(lines(&mut admin, "SELECT count(*) FROM mysql_servers"), "0");
    let mut stats = interface.login("stats", "stats").expect("it is the default account");
    let (_, _, message) = error(stats.query_drop("CREATE TABLE x (a)"));
    assert_eq!(message, "ProxySQL Admin Error: attempt to write a readonly database");
}

#[test]
fn notes_are_no_errors_and_last_until_the_next_statement() {
    let interface = Interface::start(&[]);
    let mut admin = interface.admin();
    let counts = |admin: &mut _| {
        ["SHOW COUNT(*) WARNINGS", "SHOW COUNT(*) ERRORS"].map(|query| lines(admin, query))
    };
    admin.query_drop("SET admin-web_enabled = true").expect("it is accepted");
    assert_eq!(admin.warnings(), 1);
    assert_eq!(counts(&mut admin), ["1", "0"]);
    assert_eq!(lines(&mut admin, "SHOW ERRORS"), "");
    assert!(lines(&mut admin, "SHOW WARNINGS").starts_with("Note|1105|"));
    error(admin.query_drop("SELECT nonsense"));
    assert_eq!(counts(&mut admin), ["1", "1"]);
    let told = "Error|1054|ProxySQL Admin Error: no such column: nonsense";
    assert_eq!(lines(&mut admin, "SHOW ERRORS"), told);
    assert_eq!(lines(&mut admin, "SELECT 1"), "1");
    assert_eq!(counts(&mut admin), ["0", "0"]);
}

#[test]
fn rows_are_truncated_and_sessions_are_killed_by_their_numbers() {
    let interface = Interface::start(&[]);
    let mut admin = interface.admin();
    for table in ["mysql_users", "TABLE mysql_users", "table main.mysql_users"] {
        admin.query_drop("INSERT INTO mysql_users (username) VALUES ('a'), ('b')").expect("SQL");
        admin.query_drop(format!("TRUNCATE {table}")).expect("it is a command");
        assert_eq!(admin.affected_rows(), 2, "{table}");
    }
    admin.query_drop("TRUNCATE stats.stats_mysql_query_digest").expect("what was counted goes");
    let (_, _, message) = error(admin.query_drop("TRUNCATE stats_mysql_global"));
    let told = "ProxySQL Admin Error: table stats_mysql_global may not be modified";
    assert_eq!(message, told);
    admin.query_drop("KILL '7'").expect("a number in quotes");
    admin.query_drop("kill query 7").expect("it is a command");
    assert_eq!(interface.fake().told(), ["7 Connection", "7 Query"]);
    for text in ["KILL", "KILL QUERY", "KILL x", "KILL -1"] {
        let (code, _, message) = error(admin.query_drop(text));
        assert_eq!((code, message.as_str()), (1064, "KILL needs the number of a session"));
    }
}
