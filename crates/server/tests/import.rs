//! `tidegate import` and ProxySQL's files from outside: what is said, what is written, exit codes.

use std::path::{Path, PathBuf};
use std::process::Command;

use rusqlite::Connection;

fn run(arguments: &[&str]) -> (i32, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tidegate"));
    let output = command.args(arguments).output().expect("the binary starts");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("output is text");
    (output.status.code().expect("an exit code"), text(output.stdout), text(output.stderr))
}

fn testdata(name: &str) -> String {
    format!("{}/../../testdata/config/cnf/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// A directory of its own for a test, removed at its end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let dir = std::env::temp_dir().join(format!("tidegate-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&dir).expect("the temporary directory is writable");
        Self(dir)
    }

    fn file(&self, name: &str) -> String {
        self.0.join(name).to_str().expect("a plain path").to_owned()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

#[test]
fn a_proxysql_file_is_checked_linted_and_explained_as_it_is() {
    let file = testdata("read-write-split.cnf");
    let (code, out, err) = run(&["check", &file]);
    assert_eq!(code, 0, "{err}");
    assert!(out.contains("  10.1.0.10:3306"), "{out}");
    assert!(!err.contains("hostgroups (line"), "{err}");
    let (code, out, err) = run(&["lint", &file]);
    assert_eq!(out, run(&["lint", "--config", &file]).1, "{err}");
    assert!(code <= 1 && out.contains("finding") || out.contains("nothing to say"), "{out}{err}");
    let (code, out, err) = run(&["explain", "SELECT 1", "--user", "shop", "--config", &file]);
    assert_eq!(code, 0, "{err}");
    assert!(out.contains("hostgroup  20"), "{out}");
}

#[test]
fn the_format_is_seen_in_the_text_where_the_name_says_nothing() {
    let scratch = Scratch::new("formats");
    for (name, from) in [("a", "container.cnf"), ("b", "sharding.cnf"), ("c", "default.cnf")] {
        std::fs::copy(testdata(from), scratch.file(name)).expect("a copy");
        let (code, _, err) = run(&["check", &scratch.file(name)]);
        assert_eq!(code, 0, "{from}: {err}");
    }
    std::fs::write(scratch.file("d"), "[mysql_variables]\nthreads = 0\n").expect("a file");
    let (code, _, err) = run(&["check", &scratch.file("d")]);
    assert_eq!(code, 1);
    assert!(err.contains("mysql_variables.threads: 0 is out of range"), "{err}");
}

#[test]
fn every_shape_is_imported_and_what_is_written_runs() {
    let scratch = Scratch::new("shapes");
    let folder = std::fs::read_dir(testdata("")).expect("testdata");
    let mut count = 0;
    for entry in folder {
        let file = entry.expect("an entry").path();
        let toml = scratch.file("out.toml");
        let cnf = scratch.file("out.cnf");
        let from = file.to_str().expect("a plain path");
        let (code, out, err) = run(&["import", from, "-o", &toml, "--force"]);
        assert_eq!(code, 0, "{from}: {out}{err}");
        assert!(out.ends_with(&format!("wrote {toml}\n")), "{out}");
        assert_eq!(run(&["check", &toml]).0, 0, "{from}");
        // and back: the same rows once more
        assert_eq!(run(&["import", &toml, "-o", &cnf, "--force"]).0, 0, "{from}");
        let again = run(&["import", &cnf]).1;
        let body = |text: &str| text.split_once('\n').expect("a comment").1.to_owned();
        let written = std::fs::read_to_string(&toml).expect("written");
        assert_eq!(body(&again), body(&written), "{from}");
        count += 1;
    }
    assert!(count >= 6, "{count}");
}

#[test]
fn the_report_tells_what_was_taken_and_what_was_not() {
    let (code, out, err) = run(&["import", &testdata("everything.cnf")]);
    assert_eq!(code, 0, "{err}");
    for line in [
        "       2  mysql_servers\n",
        "       8  mysql_variables\n",
        "       1  mysql_galera_hostgroups\n",
        "       1  mysql_aws_aurora_hostgroups\n",
        "  pgsql_servers: Tidegate does not speak PostgreSQL's protocol; left out\n",
        "  web_interface_plugin: there are no plugins; left out\n",
        "  a value out of range is refused when it is loaded later, not ignored as in a ",
    ] {
        assert!(err.contains(line), "{line}{err}");
    }
    assert!(out.contains("\n[[mysql_servers]]\nhostgroup_id = 0\nhostname = \"a\"\nport = 3306\n"));
    assert!(out.contains("errorlog = \"/var/lib/proxysql/proxysql.log\"\n"), "{out}");
}

#[test]
fn nothing_is_overwritten_without_being_told() {
    let scratch = Scratch::new("force");
    let file = scratch.file("tidegate.toml");
    std::fs::write(&file, "mine").expect("a file");
    let (code, _, err) = run(&["import", &testdata("container.cnf"), "-o", &file]);
    assert_eq!((code, err), (2, format!("{file} exists; --force overwrites it\n")));
    assert_eq!(std::fs::read_to_string(&file).expect("it is there"), "mine");
}

#[test]
fn a_file_that_cannot_be_read_writes_nothing_and_one_that_cannot_run_says_why() {
    let scratch = Scratch::new("wrong");
    let (wrong, unfit) = (scratch.file("wrong.cnf"), scratch.file("unfit.cnf"));
    let output = scratch.file("out.toml");
    std::fs::write(&wrong, "mysql_servers = ( { address = db } )").expect("a file");
    let (code, _, err) = run(&["import", &wrong, "-o", &output]);
    assert_eq!(code, 2);
    assert!(err.contains("`db` is no value; a text stands in quotes"), "{err}");
    assert!(!Path::new(&output).exists());
    let text = "mysql_variables = { threads = 4000; no_such = 1 }\n\
                mysql_users = ( { username = \"u\", use_ssl = 2 } )";
    std::fs::write(&unfit, text).expect("a file");
    let (code, out, _) = run(&["import", &unfit, "-o", &output]);
    assert_eq!(code, 1);
    assert!(out.contains("to be corrected before it can run:"), "{out}");
    assert!(out.contains("unfit.cnf:2:45"), "{out}");
    assert!(out.contains("left out:\n  mysql_variables.no_such: no variable of ProxySQL 2.7;"));
    assert!(out.contains("mysql_variables.threads: 4000 is out of range;"), "{out}");
    let written = std::fs::read_to_string(&output).expect("written");
    assert!(written.ends_with("\n\n[[mysql_users]]\nusername = \"u\"\nuse_ssl = 2\n"), "{written}");
}

#[test]
fn servers_are_verified_as_proxysql_does_and_that_is_told() {
    let scratch = Scratch::new("verified");
    for (authorities, verify, told) in [
        ("", "none", "whoever answers in the place of one gets passwords"),
        ("ssl_p2s_ca = \"/etc/ca.pem\"", "ca", "all that the authority knows may stand in"),
    ] {
        let (file, output) = (scratch.file("tls.cnf"), scratch.file("tls.toml"));
        let text = format!(
            "mysql_variables = {{ {authorities} }}\n\
             mysql_servers = ( {{ address = \"10.0.0.1\", hostgroup = 0, use_ssl = 1 }} )\n\
             mysql_servers_ssl_params = \
             ( {{ hostname = \"10.0.0.1\", ssl_capath = \"/etc/ca\" }} )\n"
        );
        std::fs::write(&file, text).expect("a file");
        let (code, out, _) = run(&["import", &file, "--force", "-o", &output]);
        assert_eq!(code, 0, "{out}");
        assert!(out.contains(told), "{out}");
        let written = std::fs::read_to_string(&output).expect("written");
        assert!(written.contains(&format!("ssl_p2s_verify = \"{verify}\"")), "{written}");
        assert!(written.contains("ssl_verify = \"ca\""), "{written}");
    }
}

#[test]
fn metrics_are_open_as_in_proxysql_and_that_is_told() {
    let scratch = Scratch::new("open");
    let told = "admin-restapi_authentication is `false`, and `true` asks for an account";
    for (variables, is_open) in [
        ("restapi_enabled = \"true\"", true),
        ("restapi_enabled = \"false\"", false),
        ("restapi_enabled = \"true\"; restapi_authentication = \"true\"", false),
    ] {
        let (file, output) = (scratch.file("web.cnf"), scratch.file("web.toml"));
        std::fs::write(&file, format!("admin_variables = {{ {variables} }}\n")).expect("a file");
        let (code, out, _) = run(&["import", &file, "--force", "-o", &output]);
        assert_eq!(code, 0, "{out}");
        assert_eq!(out.contains(told), is_open, "{variables}: {out}");
        let written = std::fs::read_to_string(&output).expect("written");
        let says = written.contains("restapi_authentication = false");
        assert_eq!(says, is_open, "{variables}: {written}");
    }
}

#[test]
fn a_database_of_proxysql_is_imported() {
    let scratch = Scratch::new("database");
    let file = scratch.file("proxysql.db");
    let database = Connection::open(&file).expect("a database");
    database.execute_batch(&OLD_DATABASE.replace("HASH", &hash())).expect("its tables");
    drop(database);
    let before = std::fs::read(&file).expect("a file");
    let (code, out, err) = run(&["import", &file]);
    assert_eq!(code, 0, "{err}");
    assert_eq!(std::fs::read(&file).expect("a file"), before);
    let body = out.split_once("\n\n").expect("a comment").1;
    assert_eq!(body, EXPECTED.replace("HASH", &hash()));
    for line in [
        "       2  mysql_servers\n",
        "  variables at their default, which need not be said: 1\n",
        "  pgsql-… variables, 2 of them: Tidegate does not speak PostgreSQL's protocol\n",
        "  mysql_servers_v2_0_11, rows: 1; a copy that an upgrade of ProxySQL left behind\n",
        "  pgsql_users, rows: 1; Tidegate does not speak PostgreSQL's protocol\n",
        "  mysql_variables.no_such: no variable of ProxySQL 2.7; ignored, as there\n",
    ] {
        assert!(err.contains(line), "{line}{err}");
    }
}

#[test]
fn a_database_of_something_else_is_refused() {
    let scratch = Scratch::new("other-database");
    let file = scratch.file("x.db");
    Connection::open(&file).expect("a database").execute_batch("CREATE TABLE t (a)").expect("sql");
    let (code, _, err) = run(&["import", &file]);
    assert_eq!(code, 2);
    assert_eq!(err, format!("cannot read {file} as a proxysql.db: it has no tables of ProxySQL\n"));
}

/// A `caching_sha2_password` hash whose salt is no text, byte by byte.
fn hash() -> String {
    let mut bytes = b"$A$005$\xff\x01".to_vec();
    bytes.resize(70, b'x');
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Tables as an early 2.x made them: columns that came later are missing.
const OLD_DATABASE: &str = r#"
CREATE TABLE mysql_servers (hostgroup_id INT NOT NULL, hostname VARCHAR NOT NULL, port INT,
    status VARCHAR, weight INT, max_connections INT, use_ssl INT, comment VARCHAR);
INSERT INTO mysql_servers VALUES (1, '10.0.0.1', 3306, 'ONLINE', 1, 1000, 0, ''),
    (2, '10.0.0.2', 3307, 'OFFLINE_SOFT', 7, 1000, 0, 'it''s "two"');
CREATE TABLE mysql_servers_v2_0_11 (a);
INSERT INTO mysql_servers_v2_0_11 VALUES (1);
CREATE TABLE mysql_users (username VARCHAR, password VARCHAR, active INT, default_hostgroup INT,
    default_schema VARCHAR, transaction_persistent INT);
INSERT INTO mysql_users VALUES ('a', 'p\w', 1, 1, NULL, 0),
    ('b', X'HASH', 0, 2, 's', 1), ('c', NULL, 1, 0, NULL, 1);
CREATE TABLE mysql_query_rules (rule_id INTEGER PRIMARY KEY, active INT, match_digest VARCHAR,
    re_modifiers VARCHAR, destination_hostgroup INT, apply INT);
INSERT INTO mysql_query_rules VALUES (1, 1, '^SELECT \d', 'CASELESS', 2, 1),
    (2, 0, 'x', NULL, NULL, 0);
CREATE TABLE scheduler (id INTEGER PRIMARY KEY, active INT, interval_ms INT, filename VARCHAR,
    arg1 VARCHAR, comment VARCHAR);
INSERT INTO scheduler VALUES (1, 0, 500, '/bin/true', 'x', '');
CREATE TABLE pgsql_users (a);
INSERT INTO pgsql_users VALUES (1);
CREATE TABLE restapi_routes (id INTEGER);
CREATE TABLE global_variables (variable_name VARCHAR, variable_value VARCHAR);
INSERT INTO global_variables VALUES ('mysql-threads', '3'), ('mysql-multiplexing', 'false'),
    ('mysql-max_connections', '2048'), ('admin-version', '2.0.9'), ('mysql-no_such', '1'),
    ('pgsql-threads', '4'), ('pgsql-interfaces', 'x'), ('admin-read_only', 'true');
"#;

const EXPECTED: &str = r#"[admin_variables]
read_only = true

[mysql_variables]
max_connections = 2048
multiplexing = false
threads = 3

[[mysql_servers]]
hostgroup_id = 1
hostname = "10.0.0.1"
port = 3306

[[mysql_servers]]
hostgroup_id = 2
hostname = "10.0.0.2"
port = 3307
status = "OFFLINE_SOFT"
weight = 7
comment = "it's \"two\""

[[mysql_users]]
username = "a"
password = 'p\w'
default_hostgroup = 1
transaction_persistent = 0

[[mysql_users]]
username = "b"
password_hex = "HASH"
active = 0
default_hostgroup = 2
default_schema = "s"

[[mysql_users]]
username = "c"

[[mysql_query_rules]]
rule_id = 1
active = 1
match_digest = '^SELECT \d'
destination_hostgroup = 2
apply = 1

[[mysql_query_rules]]
rule_id = 2
active = 0
match_digest = "x"
re_modifiers = ""

[[scheduler]]
id = 1
active = 0
interval_ms = 500
filename = "/bin/true"
arg1 = "x"
"#;
