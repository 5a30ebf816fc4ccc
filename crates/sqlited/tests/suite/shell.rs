//! The `mariadb` command-line client, where it is installed.

use std::process::Command;

use crate::group::Group;

/// Output and error text of the client, or `None` when there is no client.
fn mariadb(group: &Group, arguments: &[&str]) -> Option<(String, String)> {
    program("mariadb", group, &[&["-A"], arguments].concat())
}

fn program(name: &str, group: &Group, arguments: &[&str]) -> Option<(String, String)> {
    let output = Command::new(name)
        .args(["--no-defaults", "-h127.0.0.1", "-udemo", "-pdemo"])
        .arg(format!("-P{}", group.port(0)))
        .args(arguments)
        .output();
    match output {
        Ok(output) => Some((
            String::from_utf8_lossy(&output.stdout).into_owned(),
            String::from_utf8_lossy(&output.stderr).into_owned(),
        )),
        Err(_) => {
            eprintln!("SKIPPED: {name} is not installed");
            None
        }
    }
}

#[test]
fn the_client_connects_and_shows_its_status() {
    let group = Group::start();
    let Some((status, _)) = mariadb(&group, &["demo", "-e", "\\s"]) else { return };
    assert!(status.contains("Current database:\tdemo"), "{status}");
    assert!(status.contains("8.0.40-sqlited"), "{status}");
    assert!(status.contains("Uptime:"), "{status}");
}

#[test]
fn the_client_runs_a_script_of_several_statements() {
    let group = Group::start();
    let script = "create table t (id int auto_increment primary key, a varchar(10));
        insert into t (a) values ('one'), ('two');
        begin; update t set a = 'zwei' where id = 2; commit;
        select * from t; select nix from t;";
    let Some((output, errors)) = mariadb(&group, &["demo", "-e", script]) else { return };
    assert_eq!(output, "id\ta\n1\tone\n2\tzwei\n");
    assert!(errors.contains("ERROR 1054 (42S22)"), "{errors}");
}

#[test]
fn completion_finds_tables_and_columns() {
    let group = Group::start();
    let create = "create table t (a int, b int)";
    let Some(_) = mariadb(&group, &["demo", "-e", create]) else { return };
    // the last -A is undone: the client asks for tables and their fields
    let (output, errors) = mariadb(&group, &["demo", "--auto-rehash", "-e", "select 1"]).unwrap();
    assert_eq!((output.as_str(), errors.as_str()), ("1\n1\n", ""));
}

#[test]
fn a_dump_of_a_table_makes_the_same_table_again() {
    let group = Group::start();
    let create = "create table t (id int auto_increment primary key, a varchar(9), unique k (a));
        insert into t (a) values ('one'), (null), ('it''s');";
    let Some(_) = mariadb(&group, &["demo", "-e", create]) else { return };
    let Some((dump, errors)) = program("mariadb-dump", &group, &["demo", "t"]) else { return };
    assert_eq!(errors, "");
    mariadb(&group, &["demo", "-e", "drop table t"]);
    let (_, errors) = mariadb(&group, &["demo", "-e", &dump]).unwrap();
    assert_eq!(errors, "");
    let look = "select * from t; show create table t";
    let (output, _) = mariadb(&group, &["demo", "-N", "-e", look]).unwrap();
    let definition = "CREATE TABLE `t` (`id` INT NOT NULL AUTO_INCREMENT PRIMARY KEY, `a` \
                      VARCHAR(9), UNIQUE KEY `k` (`a`))";
    assert_eq!(output, format!("1\tone\n2\tNULL\n3\tit's\nt\t{definition}\n"));
}
