//! No statistics account, and not the monitor's, sees a password, whichever way it asks.

mod fake;

use admin::tables::{self, Schema};
use admin::{COMMANDS, OpeningSource};
use engine::rows::UserRow;
use engine::snapshot::Draft;
use engine::vars;
use fake::Dir;
use mysql::prelude::Queryable;
use mysql::{Conn, QueryResult, Value};

/// What every password has in it, and no statement of the test.
const MARK: &str = "S3cret";
/// The same in hexadecimal digits.
const MARK_IN_HEX: &str = "533363726574";

fn configuration() -> Draft {
    let variables = [
        ("admin-admin_credentials", "admin:S3cret1;ops:S3cret2"),
        ("admin-stats_credentials", "stats:S3cret3;viewer:S3cret4"),
        ("admin-cluster_password", "S3cret5"),
        ("mysql-monitor_password", "S3cret6"),
    ];
    let own = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
    let user =
        UserRow { username: "app".into(), password: b"S3cret7".into(), ..UserRow::default() };
    Draft { variables: variables.map(own).to_vec(), users: vec![user], ..Draft::default() }
}

/// Everything that a result says: names of columns, values, text of the OK.
fn told<P: mysql::prelude::Protocol>(result: mysql::Result<QueryResult<'_, '_, '_, P>>) -> String {
    let mut result = match result {
        Ok(result) => result,
        Err(error) => return error.to_string(),
    };
    let mut all = result.info_str().into_owned();
    for column in result.columns().as_ref() {
        all.push_str(&column.name_str());
    }
    while let Some(set) = result.iter() {
        for row in set {
            for value in row.map(mysql::Row::unwrap).unwrap_or_default() {
                all.push('\n');
                match value {
                    Value::Bytes(bytes) => all.push_str(&String::from_utf8_lossy(&bytes)),
                    other => all.push_str(&format!("{other:?}")),
                }
            }
        }
    }
    all
}

/// Everything that a client is told of a statement, as text and prepared.
fn ask(client: &mut Conn, sql: &str) -> String {
    let as_text = told(client.query_iter(sql));
    let warned = told(client.query_iter("SHOW WARNINGS"));
    let prepared = told(client.exec_iter(sql, ()));
    format!("{as_text}\n{warned}\n{prepared}")
}

/// Every statement by which a password could be seen.
fn paths(dir: &Dir) -> Vec<String> {
    let mut all: Vec<String> = COMMANDS.iter().map(|command| command.example.to_owned()).collect();
    for schema in Schema::ALL {
        for (name, _) in schema.tables() {
            let full = format!("{}.{name}", schema.name());
            all.extend([&name, &full].map(|table| format!("SELECT * FROM {table}")));
        }
    }
    for variable in vars::all().filter(|variable| variable.secret) {
        let name = variable.full_name();
        for written in [name.clone(), name.to_uppercase(), format!("global.{name}")] {
            all.push(format!("SELECT @@{written}"));
            all.push(format!("SELECT hex(@@{written}), length(@@{written})"));
            all.push(format!("SELECT 1 WHERE @@{written} LIKE '%S3'||'cret%'"));
        }
        all.push(format!("SHOW VARIABLES LIKE '{name}'"));
        all.push(format!("SHOW GLOBAL VARIABLES WHERE Variable_name = '{name}'"));
        all.push(format!("SET {name} = 'x'"));
    }
    let file = dir.0.join("copy").display().to_string();
    let of_file = ["SAVE CONFIG TO FILE", "SELECT CONFIG INTO OUTFILE", "VACUUM INTO", "ATTACH"];
    all.extend(of_file.map(|command| format!("{command} '{file}'")));
    let of_modules = ["PLAN", "LINT", "CHECKSUM", "SHOW CONFIG DIFF", "CHECKSUM DISK"];
    for module in ["ADMIN VARIABLES", "MYSQL VARIABLES", "MYSQL USERS"] {
        all.extend(of_modules.map(|command| format!("{command} {module}")));
        all.push(format!("SHOW CONFIG DIFF {module} FROM FILE TO MEMORY"));
        all.push(format!("ROLLBACK {module} TO VERSION 1"));
    }
    all.extend(EXTRA.map(str::to_owned));
    all
}

/// What no registry knows of.
const EXTRA: [&str; 14] = [
    "SHOW VARIABLES",
    "SHOW ADMIN VARIABLES",
    "SHOW MYSQL VARIABLES",
    "SHOW MYSQL USERS",
    "SHOW CONFIG VERSIONS",
    "SELECT hex(variable_value) FROM stats.global_variables",
    "WITH x AS (SELECT * FROM global_variables) SELECT group_concat(variable_value) FROM x",
    "SELECT json_group_object(variable_name, variable_value) FROM global_variables",
    "SELECT variable_name FROM global_variables WHERE variable_value LIKE '%S3'||'cret%'",
    "EXPLAIN SELECT * FROM global_variables",
    "EXPLAIN QUERY PLAN SELECT * FROM global_variables",
    "SELECT * FROM sqlite_master",
    "SELECT * FROM dbstat",
    "SELECT (SELECT password FROM main.mysql_users)",
];

#[test]
fn no_reader_sees_a_password_whichever_way_it_asks() {
    let dir = Dir::new("readers");
    let interface = dir.open(configuration(), OpeningSource::Auto);
    let mut admin = interface.login("admin", "S3cret1").expect("it is an account");
    admin.query_drop("SAVE ADMIN VARIABLES TO DISK").expect("an administrator may");
    admin.query_drop("UPDATE mysql_users SET password = 'S3cret8'").expect("an administrator may");
    admin.query_drop("LOAD MYSQL USERS TO RUNTIME").expect("an administrator may");
    let files = || std::fs::read_dir(&dir.0).expect("a directory").count();
    let before = files();
    for (user, password) in [("stats", "S3cret3"), ("monitor", "S3cret6")] {
        let mut reader = interface.login(user, password).expect("it is an account");
        for path in paths(&dir) {
            let told = ask(&mut reader, &path);
            assert!(!told.contains(MARK) && !told.contains(MARK_IN_HEX), "{user}: {path}: {told}");
        }
        assert_eq!(fake::lines(&mut reader, "SHOW VARIABLES LIKE '%credentials'"), SHOWN);
        let predicate =
            "SELECT count(*) FROM global_variables WHERE variable_value LIKE '%S3'||'c%'";
        assert_eq!(fake::lines(&mut reader, predicate), "0");
    }
    assert_eq!(files(), before, "and none is left in a file");
    assert!(interface.log().iter().all(|line| !line.contains(MARK)));
    // the test is not blind: whoever may see them does, by the same ways
    let mut seen = paths(&dir).into_iter().filter(|path| ask(&mut admin, path).contains(MARK));
    assert_eq!(seen.by_ref().take(20).count(), 20);
}

const SHOWN: &str = "admin-admin_credentials|********\nadmin-stats_credentials|********";

#[test]
fn every_variable_and_column_that_is_named_like_a_password_is_marked() {
    let is_named = |name: &str| name.contains("password") || name.contains("credentials");
    for variable in vars::all().filter(|variable| is_named(variable.name)) {
        assert!(variable.secret, "{}", variable.name);
        assert_ne!(variable.effect, vars::Effect::Restart, "its values would be told in a log");
    }
    for table in tables::configured() {
        for column in table.columns.iter().filter(|column| is_named(column.name)) {
            assert!(column.secret, "{}.{}", table.name, column.name);
        }
    }
}
