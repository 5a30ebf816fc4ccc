//! Values that cannot be: each is refused through the command-line client with table, row, column
//! and reason, and what is in force goes on as before.

use std::time::Duration;

use lab::{Flavour, SplitOptions};
use live::{Load, Program, Proxy, client};

/// Statements with the number of their error and what it says, in parts.
const BAD: &str = include_str!("../../../testdata/admin/bad_values.txt");

const MODULES: [&str; 5] =
    ["MYSQL SERVERS", "MYSQL USERS", "MYSQL QUERY RULES", "MYSQL VARIABLES", "ADMIN VARIABLES"];

fn console(proxy: &Proxy, input: &str) -> live::Finished {
    Program::new("mariadb")
        .args(["--no-defaults", "--skip-ssl", "--batch", "--skip-column-names", "--force"])
        .args(["-h127.0.0.1".to_owned(), format!("-P{}", proxy.admin_port)])
        .args(["-uadmin", "-padmin"])
        .input(input)
        .limit(Duration::from_secs(60))
        .run()
}

/// What is in force, as one text.
fn in_force(proxy: &Proxy) -> String {
    let text = "SELECT name, version, checksum FROM runtime_checksums_values;\n\
                SELECT * FROM runtime_mysql_servers;";
    console(proxy, text).output
}

#[test]
fn bad_values_are_refused_with_their_place_and_nothing_in_force_changes() {
    let Some(cluster) = live::cluster("bad values", Flavour::MariaDb, 1) else { return };
    let proxy = Proxy::start(|interfaces| {
        lab::split_toml(&cluster, &SplitOptions { interfaces, ..SplitOptions::default() })
    });
    let proxy = proxy.expect("tidegate starts");
    let load = Load::reads(2, &client::options(proxy.port));
    let before = in_force(&proxy);
    let mut wrong = Vec::new();
    let (typed, loaded) = BAD.split_once("[loaded]").expect("both kinds");
    let back = MODULES.map(|module| format!("SAVE {module} TO MEMORY;\n")).concat()
        + "DELETE FROM mysql_users WHERE active = 0;\n\
           DELETE FROM global_variables WHERE variable_name = 'mysql-nonsense';\n\
           DELETE FROM mysql_hostgroup_attributes;\n\
           DELETE FROM mysql_group_replication_hostgroups;\n";
    let mut tried = 0;
    for (statement, expected) in pairs(typed) {
        let done = console(&proxy, &format!("{statement};\n"));
        judge(statement, expected, &done.errors, &mut wrong);
        tried += 1;
    }
    for (statement, expected) in pairs(loaded) {
        let load = format!("LOAD {} TO RUNTIME;\n", module_of(statement));
        // what was wrong is taken back, that the next is judged alone
        let done = console(&proxy, &format!("{statement};\n{load}{back}"));
        judge(statement, expected, &done.errors, &mut wrong);
        tried += 1;
    }
    assert!(tried >= 75, "{tried}");
    load.await_more(100);
    assert_eq!(wrong, [""; 0], "\n{}", wrong.join("\n"));
    assert_eq!(in_force(&proxy), before);
    let errors = load.stop();
    assert!(errors.is_empty(), "{errors:?}");
}

/// Statements and what follows each of them.
fn pairs(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let lines = text.lines().zip(text.lines().skip(1));
    lines.filter(|(_, next)| next.starts_with("    "))
}

/// The module that a statement is of.
fn module_of(statement: &str) -> &'static str {
    let tables = ["_servers", "_users", "_query_rules", "mysql-", "admin-"];
    let at = tables.iter().position(|table| statement.contains(table));
    MODULES[at.unwrap_or(0)]
}

fn judge(statement: &str, expected: &str, errors: &str, wrong: &mut Vec<String>) {
    let told = errors.lines().find(|line| line.starts_with("ERROR")).unwrap_or("no error");
    let (code, parts) = expected.trim().split_once(' ').expect("a number and a text");
    let right = told.starts_with(&format!("ERROR {code} ("))
        && parts.split(" | ").all(|part| told.contains(part));
    if !right {
        wrong.push(format!("{statement}\n  {expected}\n  {told}"));
    }
}
