//! What is refused, or told, at LOAD and SAVE, since it could not be in force or would do nothing.

mod fake;

use std::time::{Duration, Instant};

use admin::{Opening, OpeningSource};
use engine::rows::ServerRow;
use engine::snapshot::Draft;
use fake::{Dir, GivenFile, Interface, error, lines, run};
use mysql::prelude::Queryable;

#[test]
fn how_a_server_is_verified_is_taken_as_a_whole_or_refused() {
    let interface = Interface::start(&[]);
    let mut admin = interface.admin();
    let load = "LOAD MYSQL SERVERS TO RUNTIME";
    let insert = "INSERT INTO mysql_servers_ssl_params (hostname, ssl_ca, ssl_verify)";
    let (_, _, message) = error(admin.query_drop(format!("{insert} VALUES ('a', '', 'some')")));
    assert!(message.contains("CHECK constraint failed"), "{message}");
    run(&mut admin, &[&format!("{insert} VALUES ('', '', 'ca')")]);
    let (code, _, message) = error(admin.query_drop(load));
    let row = "mysql_servers_ssl_params (hostname='', port=3306, username='')";
    let right = format!("nothing was applied: {row} column hostname: must not be empty");
    assert_eq!((code, message), (1210, right));
    let rename = "UPDATE mysql_servers_ssl_params SET hostname = 'a'";
    run(
        &mut admin,
        &["INSERT INTO mysql_servers (hostname, use_ssl) VALUES ('a', 1)", rename, load],
    );
    let rows = "SELECT hostname, port, username, ssl_verify FROM runtime_mysql_servers_ssl_params";
    assert_eq!(lines(&mut admin, rows), "a|3306||ca");
    assert_eq!(lines(&mut admin, "SELECT hostname, use_ssl FROM runtime_mysql_servers"), "a|1");
}

#[test]
fn nothing_is_saved_that_no_process_could_begin_with() {
    let dir = Dir::new("unfit");
    let interface = dir.open(Draft::default(), OpeningSource::Auto);
    let mut admin = interface.admin();
    let modules =
        ["SERVERS", "USERS", "QUERY RULES", "VARIABLES"].map(|word| format!("MYSQL {word}"));
    for (wrong, module, at) in [
        ("INSERT INTO mysql_servers (hostname) VALUES ('')", 0, "column hostname: "),
        ("INSERT INTO mysql_users (username) VALUES ('')", 1, "column username: "),
        (
            "INSERT INTO mysql_query_rules (active, match_digest) VALUES (1, '(')",
            2,
            "column match_digest: ",
        ),
        (
            "UPDATE global_variables SET variable_value = 'zzz' \
             WHERE variable_name = 'mysql-max_connections'",
            3,
            "global_variables mysql-max_connections: `zzz` is not a number",
        ),
    ] {
        let module = &modules[module];
        let disk = |admin: &mut _| {
            let tables = ["mysql_servers", "mysql_users", "mysql_query_rules", "global_variables"];
            tables.map(|table| lines(admin, &format!("SELECT * FROM disk.{table}")))
        };
        let before = disk(&mut admin);
        run(&mut admin, &[wrong]);
        let (_, _, load) = error(admin.query_drop(format!("LOAD {module} TO RUNTIME")));
        for save in ["TO DISK", "FROM MEMORY"] {
            let (code, _, saved) = error(admin.query_drop(format!("SAVE {module} {save}")));
            assert_eq!(code, 1210, "{saved}");
            assert!(saved.contains(at), "{saved}");
            assert_eq!(saved, load.replace("was applied", "was saved"));
        }
        assert_eq!(disk(&mut admin), before, "{module}");
        let [back, save] = ["FROM RUNTIME", "TO DISK"].map(|way| format!("SAVE {module} {way}"));
        // users that are not in force stay, as in ProxySQL
        run(&mut admin, &["DELETE FROM mysql_users", &back, &save]);
    }
}

#[test]
fn a_database_that_nothing_can_begin_with_is_named_with_the_ways_out() {
    let dir = Dir::new("stuck");
    let first = dir.open(Draft::default(), OpeningSource::Auto);
    run(&mut first.admin(), &["INSERT INTO disk.mysql_servers (hostname) VALUES ('')"]);
    drop(first);
    let path = dir.0.join("tidegate.db");
    for source in [OpeningSource::Auto, OpeningSource::Database] {
        let opened = Interface::open(GivenFile::default(), Some(dir.0.clone()), source);
        let told = opened.err().expect("it is refused").all;
        assert_eq!(told.len(), 3, "{told:?}");
        let head = format!("the database {} says what cannot be put in force:", path.display());
        assert_eq!(told[0], head);
        let row = "mysql_servers (hostgroup_id=0, hostname='', port=3306) column hostname: ";
        assert!(told[1].starts_with(row), "{}", told[1]);
        assert!(told[2].contains("--initial") && told[2].contains("--config-source=file"));
    }
    let anew = dir.open(Draft::default(), OpeningSource::File);
    assert_eq!(lines(&mut anew.admin(), "SELECT * FROM disk.mysql_servers"), "");
}

#[test]
fn a_file_laid_over_a_wrong_database_is_not_saved() {
    let dir = Dir::new("laid-over");
    let first = dir.open(Draft::default(), OpeningSource::Auto);
    run(&mut first.admin(), &["INSERT INTO disk.mysql_servers (hostname) VALUES ('')"]);
    drop(first);
    let server = ServerRow { hostname: "new".into(), ..ServerRow::default() };
    let file = Box::new(GivenFile(Draft { servers: vec![server], ..Draft::default() }));
    let (source, folder) = (OpeningSource::Auto, Some(dir.0.clone()));
    let opening = Opening { dir: folder, source, initial: false, reload: true, file };
    assert_eq!(opening.open().err().expect("it is refused").code, 1210);
    let saved = rusqlite::Connection::open(dir.0.join("tidegate.db")).expect("it is there");
    let names = "SELECT group_concat(hostname) FROM mysql_servers";
    let hosts: String = saved.query_row(names, [], |row| row.get(0)).expect("a row");
    assert_eq!(hosts, "");
}

#[test]
fn columns_that_nothing_looks_at_are_noted_once_each() {
    let interface = Interface::start(&[]);
    let mut admin = interface.admin();
    run(
        &mut admin,
        &[
            "INSERT INTO mysql_servers (hostname) VALUES ('a'), ('b')",
            "UPDATE mysql_servers SET gtid_port = 5",
            "INSERT INTO mysql_hostgroup_attributes (hostgroup_id, init_connect, autocommit) \
             VALUES (0, 'SET @a = 1', 1)",
            "LOAD MYSQL SERVERS TO RUNTIME",
        ],
    );
    let a = "(hostgroup_id=0, hostname='a', port=3306)";
    let idle = "accepted, but without effect in this version";
    assert_eq!(
        lines(&mut admin, "SHOW WARNINGS"),
        format!(
            "Note|1105|mysql_hostgroup_attributes (hostgroup_id=0) column autocommit: {idle}\n\
             Note|1105|mysql_servers {a} column gtid_port: {idle} (and in 1 other row)"
        )
    );
    let rule = "INSERT INTO mysql_query_rules (rule_id, log, sticky_conn) VALUES (1, 1, 1)";
    run(&mut admin, &[rule, "LOAD MYSQL QUERY RULES TO RUNTIME"]);
    let note = format!("Note|1105|mysql_query_rules (rule_id=1) column log: {idle}");
    assert_eq!(lines(&mut admin, "SHOW WARNINGS"), note);
}

#[test]
fn a_name_longer_than_any_holds_nobody_up_and_is_not_told_whole() {
    let interface = Interface::start(&[]);
    let mut stats = interface.login("stats", "stats").expect("it is an account");
    let name = "{".repeat(60_000);
    let began = Instant::now();
    for (text, number) in [
        (format!("SHOW CREATE TABLE {name}"), 1146),
        (format!("SHOW TABLES FROM {name}"), 1049),
        (format!("SELECT * FROM \"{name}\""), 1146),
        (format!("SELECT `{name}` FROM stats_mysql_global"), 1054),
        (format!("SELECT '{name}"), 1045),
        (format!("SELECT @@{}", "a".repeat(20_000)), 1193),
    ] {
        let (code, _, message) = error(stats.query_drop(&text));
        assert_eq!(code, number, "{text:.30}: {message:.200}");
        assert!(message.len() < 400, "{text:.30}: {message:.500}");
    }
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
}
