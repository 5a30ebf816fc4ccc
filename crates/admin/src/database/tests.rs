//! What a database file holds after statements, saves and an older version of itself.

use super::*;

fn run<'a>(rights: Rights, values: &'a [Value]) -> Run<'a> {
    Run {
        rights,
        read_only: rights == Rights::Reader,
        facts: FunctionFacts::default(),
        values,
        named: &[],
    }
}

fn text(ran: Result<Ran, AdminFault>) -> String {
    match ran {
        Ok(Ran::Changed(count)) => format!("changed {count}"),
        Ok(Ran::Rows(rows)) => {
            let line = |row: &Vec<Option<Vec<u8>>>| {
                let cells = row.iter().map(|cell| cell.clone().map_or("NULL".to_owned(), lossy));
                cells.collect::<Vec<_>>().join("|")
            };
            rows.rows.iter().map(line).collect::<Vec<_>>().join("\n")
        }
        Err(fault) => fault.message,
    }
}

fn nothing(_: Schema, _: &str) -> Vec<Row> {
    Vec::new()
}

#[test]
fn live_tables_are_filled_when_a_statement_reads_them_and_only_then() {
    let database = Database::administrators(None).unwrap();
    let mut asked = Vec::new();
    let mut fill = |schema: Schema, name: &str| {
        asked.push(format!("{}.{name}", schema.name()));
        vec![vec![Value::Text("Questions".into()), Value::Text("7".into())]]
    };
    let mut ask = |sql: &str| text(database.run(sql, run(Rights::Administrator, &[]), &mut fill));
    assert_eq!(ask("SELECT Variable_Value FROM STATS.Stats_Mysql_Global"), "7");
    assert_eq!(ask("SELECT count(*) FROM stats_mysql_global"), "1");
    assert_eq!(
        ask("CREATE TEMP VIEW v AS SELECT Variable_Name n FROM stats.stats_mysql_global"),
        "changed 0"
    );
    assert_eq!(ask("SELECT a.n FROM v a JOIN v b ON a.n = b.n"), "Questions");
    assert_eq!(ask("SELECT 'stats_mysql_global'"), "stats_mysql_global");
    assert_eq!(asked, ["stats.stats_mysql_global"; 3]);
}

#[test]
fn a_table_read_together_with_its_reset_twin_shows_the_same_rows() {
    let database = Database::administrators(None).unwrap();
    let mut asked = Vec::new();
    let mut fill = |_: Schema, name: &str| {
        asked.push(name.to_owned());
        vec![vec![Value::Text("h".into()), Value::Integer(3), Value::Integer(4)]]
    };
    let sql = "SELECT a.error_count + b.error_count FROM stats_mysql_client_host_cache a \
               JOIN stats_mysql_client_host_cache_reset b USING (client_address)";
    assert_eq!(text(database.run(sql, run(Rights::Administrator, &[]), &mut fill)), "6");
    assert_eq!(asked, ["stats_mysql_client_host_cache_reset"]);
}

#[test]
fn what_is_shown_cannot_be_written() {
    let database = Database::administrators(None).unwrap();
    let ask = |sql: &str| text(database.run(sql, run(Rights::Administrator, &[]), &mut nothing));
    let prefix = "ProxySQL Admin Error: ";
    for (sql, answer) in [
        ("INSERT INTO mysql_servers (hostname) VALUES ('a'), ('b')", "changed 2"),
        ("INSERT INTO disk.mysql_servers SELECT * FROM mysql_servers", "changed 2"),
        ("DELETE FROM runtime_mysql_servers", "table runtime_mysql_servers may not be modified"),
        (
            "UPDATE stats_mysql_global SET Variable_Value=1",
            "table stats_mysql_global may not be modified",
        ),
        ("DROP TABLE mysql_users", "table mysql_users may not be dropped or altered"),
        (
            "ALTER TABLE disk.mysql_users RENAME TO x",
            "table mysql_users may not be dropped or altered",
        ),
        ("DETACH disk", "database disk may not be detached"),
        ("PRAGMA writable_schema = 1", "writable_schema may not be changed"),
        ("SELECT * FROM nowhere", "no such table: nowhere"),
    ] {
        let told = ask(sql);
        assert_eq!(told.strip_prefix(prefix).unwrap_or(&told), answer, "{sql}");
    }
}

#[test]
fn a_reader_sees_statistics_and_writes_nothing() {
    let database = Database::readers(None).unwrap();
    let ask = |sql: &str| text(database.run(sql, run(Rights::Reader, &[]), &mut nothing));
    for (sql, answer) in [
        ("SELECT count(*) FROM stats_mysql_global", "0"),
        ("SELECT count(*) FROM stats.stats_mysql_global", "0"),
        ("SELECT count(*) FROM monitor.mysql_server_ping_log", "0"),
        ("SELECT * FROM mysql_servers", "ProxySQL Admin Error: no such table: mysql_servers"),
        (
            "UPDATE global_variables SET variable_value = 1",
            "ProxySQL Admin Error: attempt to write a readonly database",
        ),
        ("ATTACH 'x' AS y", "ProxySQL Admin Error: ATTACH and DETACH are not allowed here"),
        ("PRAGMA query_only = 0", "ProxySQL Admin Error: PRAGMA is not allowed here"),
    ] {
        assert_eq!(ask(sql), answer, "{sql}");
    }
}

#[test]
fn a_readers_statement_takes_no_more_than_its_time_and_its_bytes() {
    let database = Database::readers(None).unwrap();
    let ask = |sql: &str| text(database.run(sql, run(Rights::Reader, &[]), &mut nothing));
    let counting = "WITH RECURSIVE x(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM x)";
    let too_long = "ProxySQL Admin Error: a statement of a statistics account may take 2 s";
    let begin = std::time::Instant::now();
    assert_eq!(ask(&format!("{counting} SELECT count(*) FROM x")), too_long);
    assert!(begin.elapsed() < std::time::Duration::from_secs(20));
    assert_eq!(ask("SELECT 1"), "1", "the next one has a time of its own");
    let too_big = "ProxySQL Admin Error: string or blob too big";
    for (sql, answer) in [
        ("SELECT length(zeroblob(65536))", "65536"),
        ("SELECT zeroblob(65537)", too_big),
        ("SELECT hex(zeroblob(65536))", too_big),
        ("SELECT printf('%300000d', 1)", too_big),
        (
            "SELECT 'a' LIKE printf('%.*c', 257, '%')",
            "ProxySQL Admin Error: LIKE or GLOB pattern too complex",
        ),
    ] {
        assert_eq!(ask(sql), answer, "{sql}");
    }
    assert_eq!(ask(&format!("{counting} SELECT zeroblob(60000) FROM x")), TOO_MUCH);
    assert_eq!(ask(&format!("{counting} SELECT NULL FROM x LIMIT 1000")).len(), 4_999);
    let administrators = Database::administrators(None).unwrap();
    let sql = "SELECT length(hex(zeroblob(10000000)))";
    let told = text(administrators.run(sql, run(Rights::Administrator, &[]), &mut nothing));
    assert_eq!(told, "20000000");
}

#[test]
fn no_expression_of_a_reader_takes_long_between_two_looks_at_the_clock() {
    let database = Database::readers(None).unwrap();
    let ask = |sql: &str| text(database.run(sql, run(Rights::Reader, &[]), &mut nothing));
    let begin = std::time::Instant::now();
    let sum = |term: &str, times| vec![term; times].join("+");
    let calls = "ProxySQL Admin Error: a statement of a statistics account may have 64 calls of \
                 functions";
    let costly = |name: &str| format!("ProxySQL Admin Error: function {name} is not allowed here");
    let texts = "WITH t(h, n, s) AS MATERIALIZED (SELECT replace(hex(zeroblob(18000)), '0', 'a'), \
                 replace(hex(zeroblob(9000)), '0', 'a') || 'b', replace(hex(zeroblob(4000)), \
                 '0', 'b') || 'a')";
    for (sql, answer) in [
        (format!("SELECT {}", sum("abs(1)", 64)), "64".to_owned()),
        (format!("SELECT {}", sum("abs(1)", 65)), calls.to_owned()),
        (format!("SELECT {}", sum("('a' LIKE 'a')", 65)), calls.to_owned()),
        // calls that take the product of two lengths
        (format!("{texts} SELECT {} FROM t", sum("instr(h, n)", 50)), "0".to_owned()),
        (format!("{texts} SELECT {} FROM t", sum("length(trim(h, s))", 25)), "0".to_owned()),
        ("SELECT caching_sha2_password('x')".to_owned(), costly("caching_sha2_password")),
        ("SELECT Mysql_Native_Password('x')".to_owned(), costly("mysql_native_password")),
        ("SELECT json_patch('{}', '{}')".to_owned(), costly("json_patch")),
        (format!("SELECT {}", sum("1", 900)), "900".to_owned()),
        (format!("SELECT 1 WHERE 1 IN ({})", vec!["?"; 8000].join(",")), TOO_LONG.to_owned()),
    ] {
        assert_eq!(ask(&sql), answer, "{sql}");
    }
    assert!(begin.elapsed() < std::time::Duration::from_secs(20), "{:?}", begin.elapsed());
    for (sql, answer) in [
        (
            "trim('xyabcyx', 'xy'), ltrim('éaé', 'é'), rtrim('éaé', 'é'), trim('  a ')",
            "abc|aé|éa|a",
        ),
        ("trim(NULL, 'a'), trim('a', NULL), trim('a', ''), trim(121, 1)", "NULL|NULL|a|2"),
    ] {
        assert_eq!(ask(&format!("SELECT {sql}")), answer, "{sql}");
    }
}

#[test]
fn long_values_are_cut_for_readers() {
    let database = Database::readers(None).unwrap();
    let mut long = |_: Schema, _: &str| {
        let text = |text: String| Value::Text(text);
        vec![vec![text("é".repeat(65_537)), text("short".to_owned())]]
    };
    let sql = "SELECT length(Variable_Name), Variable_Value FROM stats_mysql_global";
    assert_eq!(text(database.run(sql, run(Rights::Reader, &[]), &mut long)), "8192|short");
}

#[test]
fn a_reader_makes_no_files_and_an_administrators_are_the_owners() {
    use std::os::unix::fs::PermissionsExt;

    let dir = std::env::temp_dir().join(format!("tidegate-files-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let administrators = Database::administrators(Some(&dir)).unwrap();
    let readers = Database::readers(Some(&dir)).unwrap();
    let path = |name: &str| dir.join(name).display().to_string();
    let ask = |sql: &str| text(readers.run(sql, run(Rights::Reader, &[]), &mut nothing));
    let before = std::fs::read_dir(&dir).unwrap().count();
    for sql in [
        format!("VACUUM INTO '{}'", path("a")),
        format!("VACUUM stats_history INTO '{}'", path("b")),
        format!("ATTACH '{}' AS x", path("c")),
        "VACUUM stats_history".to_owned(),
        "SELECT file FROM pragma_database_list".to_owned(),
        "CREATE TEMP TABLE z (a)".to_owned(),
        "REINDEX".to_owned(),
        "ANALYZE".to_owned(),
        "SELECT load_extension('x')".to_owned(),
    ] {
        let told = ask(&sql);
        assert!(told.starts_with("ProxySQL Admin Error: "), "{sql}: {told}");
    }
    assert_eq!(std::fs::read_dir(&dir).unwrap().count(), before);
    let ask =
        |sql: &str| text(administrators.run(sql, run(Rights::Administrator, &[]), &mut nothing));
    assert_eq!(ask("INSERT INTO mysql_users (username) VALUES ('app')"), "changed 1");
    assert_eq!(ask(&format!("VACUUM INTO '{}'", path("copy"))), "changed 0");
    assert_eq!(ask(&format!("ATTACH '{}' AS mine", path("mine"))), "changed 0");
    assert_eq!(ask("CREATE TABLE mine.t (a)"), "changed 0");
    assert_eq!(ask(&format!("ATTACH '{}' AS copy", path("copy"))), "changed 0");
    assert_eq!(ask("SELECT username FROM copy.mysql_users"), "app");
    for (sql, reason) in [
        (
            format!("VACUUM INTO 'file:{}'", path("d")),
            "is an address, the name of a file is needed",
        ),
        (
            format!("ATTACH 'FILE:{}' AS d", path("d")),
            "is an address, the name of a file is needed",
        ),
        (format!("ATTACH '{}'||'d' AS d", path("")), "ATTACH needs the name of a file, in quotes"),
    ] {
        let told = ask(&sql);
        assert!(told.ends_with(reason), "{sql}: {told}");
        assert!(!dir.join("d").exists(), "{sql}");
    }
    for name in ["copy", "mine", DISK_FILE, HISTORY_FILE] {
        let mode = dir.join(name).metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
    std::fs::remove_dir_all(dir).unwrap();
}

#[test]
fn a_file_of_another_version_keeps_its_rows() {
    let dir = std::env::temp_dir().join(format!("tidegate-db-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let old = Connection::open(dir.join(DISK_FILE)).unwrap();
    old.execute_batch(
        "CREATE TABLE mysql_servers (hostgroup_id INT, hostname VARCHAR, port INT, gone INT);
         INSERT INTO mysql_servers VALUES (3, 'db', 3307, 1);
         CREATE TABLE mine (a INT); INSERT INTO mine VALUES (5);",
    )
    .unwrap();
    drop(old);
    for _ in 0..2 {
        let database = Database::administrators(Some(&dir)).unwrap();
        let ask =
            |sql: &str| text(database.run(sql, run(Rights::Administrator, &[]), &mut nothing));
        let sql = "SELECT hostgroup_id, hostname, port, status, weight, a \
                   FROM disk.mysql_servers, disk.mine";
        assert_eq!(ask(sql), "3|db|3307|ONLINE|1|5");
    }
    std::fs::remove_dir_all(dir).unwrap();
}

#[test]
fn functions_of_mysql_and_proxysql_are_there() {
    let database = Database::administrators(None).unwrap();
    let ask = |sql: &str| text(database.run(sql, run(Rights::Administrator, &[]), &mut nothing));
    assert_eq!(ask("SELECT from_unixtime(1700000000)"), "2023-11-14 22:13:20");
    let hash = "*14E65567ABDB5135D0CFD9A70B3032C179A49EE7";
    assert_eq!(ask("SELECT MYSQL_NATIVE_PASSWORD('secret')"), hash);
    assert_eq!(ask("SELECT mysql_native_password()"), "Invalid number of arguments");
    let sha2 = ask("SELECT CACHING_SHA2_PASSWORD('secret', '01234567890123456789')");
    assert!(sha2.starts_with("$A$005$01234567890123456789") && sha2.len() == 70, "{sha2}");
    assert_eq!(ask("SELECT length(caching_sha2_password('secret'))"), "70");
    assert_eq!(ask("SELECT caching_sha2_password('secret', 'x')"), "Invalid argument size");
}
