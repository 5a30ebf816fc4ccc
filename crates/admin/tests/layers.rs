//! Layers: what LOAD and SAVE move, what is refused, and what a process begins with.

mod fake;

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use admin::{Opening, OpeningSource, Runtime};
use engine::rows::{ServerRow, UserRow};
use engine::snapshot::Draft;
use engine::topology::LastFault;
use fake::{Dir, GivenFile, Interface, error, lines, run};
use mysql::prelude::Queryable;

#[test]
fn every_spelling_moves_what_it_says() {
    let dir = Dir::new("spellings");
    let interface = dir.open(Draft::default(), OpeningSource::Auto);
    let mut admin = interface.admin();
    let places = "SELECT (SELECT count(*) FROM runtime_scheduler), \
                  (SELECT count(*) FROM scheduler), (SELECT count(*) FROM disk.scheduler)";
    let modules = [
        ("MYSQL SERVERS", "mysql_servers", "(hostname) VALUES ('a')"),
        ("MYSQL USERS", "mysql_users", "(username, backend) VALUES ('a', 0)"),
        ("MYSQL QUERY RULES", "mysql_query_rules_fast_routing", "VALUES ('a', 'b', 0, 1, '')"),
        ("PROXYSQL SERVERS", "proxysql_servers", "(hostname) VALUES ('a')"),
        ("TIDEGATE SERVERS", "proxysql_servers", "(hostname) VALUES ('a')"),
        ("SCHEDULER", "scheduler", "(interval_ms, filename) VALUES (1000, '/bin/true')"),
        (
            "RESTAPI",
            "restapi_routes",
            "(timeout_ms, method, uri, script) VALUES (100, 'GET', 'u', 's')",
        ),
        (
            "MYSQL FIREWALL",
            "mysql_firewall_whitelist_users",
            "(username, client_address, comment) VALUES ('a','','')",
        ),
    ];
    for (module, table, row) in modules {
        let places = places.replace("scheduler", table);
        let delete = format!("DELETE FROM {table}");
        for (to_runtime, to_memory, to_disk, from_disk) in [
            ("LOAD X TO RUNTIME", "SAVE X TO MEMORY", "SAVE X TO DISK", "LOAD X TO MEMORY"),
            ("LOAD X TO RUN", "SAVE X TO MEM", "SAVE X FROM MEMORY", "LOAD X TO MEM"),
            ("LOAD X FROM MEMORY", "SAVE X FROM RUNTIME", "SAVE X FROM MEM", "LOAD X FROM DISK"),
            ("load  x from mem", "save x from run", "save x to disk", "load x from disk;"),
        ] {
            let of = |command: &str| command.replace(['X', 'x'], module);
            run(&mut admin, &[&delete, &of(to_runtime), &of(to_disk)]);
            run(&mut admin, &[&format!("INSERT INTO {table} {row}")]);
            assert_eq!(lines(&mut admin, &places), "0|1|0", "{module}");
            run(&mut admin, &[&of(to_runtime)]);
            assert_eq!(lines(&mut admin, &places), "1|1|0", "{}", of(to_runtime));
            run(&mut admin, &[&delete, &of(to_memory)]);
            assert_eq!(lines(&mut admin, &places), "1|1|0", "{}", of(to_memory));
            run(&mut admin, &[&of(to_disk), &delete]);
            assert_eq!(lines(&mut admin, &places), "1|0|1", "{}", of(to_disk));
            run(&mut admin, &[&of(from_disk)]);
            assert_eq!(lines(&mut admin, &places), "1|1|1", "{}", of(from_disk));
        }
    }
}

#[test]
fn programs_run_as_the_rows_in_force_say() {
    let interface = Interface::start(&[]);
    let mut admin = interface.admin();
    run(
        &mut admin,
        &[
            "INSERT INTO scheduler (interval_ms, filename, arg1) VALUES (500, '/bin/a', 'x')",
            "INSERT INTO restapi_routes (timeout_ms, method, uri, script) \
             VALUES (1000, 'GET', 'u', '/bin/b')",
            "LOAD SCHEDULER TO RUNTIME",
        ],
    );
    assert_eq!(lines(&mut admin, "SHOW WARNINGS"), "", "its rows are acted on");
    assert_eq!(interface.fake().told(), ["run /bin/a Some(\"x\") each 500"]);
    run(&mut admin, &["LOAD RESTAPI TO RUNTIME"]);
    assert_eq!(lines(&mut admin, "SHOW WARNINGS"), "", "its rows are acted on");
    assert_eq!(interface.fake().told().last().expect("told"), "route GET u to /bin/b");
}

#[test]
fn nothing_is_applied_when_anything_is_wrong_and_everything_wrong_is_told() {
    let interface = Interface::start(&[]);
    let mut admin = interface.admin();
    run(
        &mut admin,
        &[
            "INSERT INTO mysql_servers (hostgroup_id, hostname, port) VALUES (1, 'good', 3306)",
            "LOAD MYSQL SERVERS TO RUNTIME",
            "INSERT INTO mysql_servers (hostgroup_id, hostname, port) VALUES (2, '', 3307)",
            "UPDATE mysql_servers SET max_connections = 'heavy' WHERE hostgroup_id = 1",
        ],
    );
    let applied = interface.fake().applied();
    let (code, state, message) = error(admin.query_drop("LOAD MYSQL SERVERS TO RUNTIME"));
    assert_eq!((code, state.as_str()), (1210, "HY000"));
    assert_eq!(
        message,
        "nothing was applied: mysql_servers (hostgroup_id=1, hostname='good', port=3306) \
         column max_connections: `heavy` is not a whole number"
    );
    run(&mut admin, &["UPDATE mysql_servers SET max_connections = 1"]);
    run(
        &mut admin,
        &["INSERT INTO mysql_servers (hostgroup_id, hostname, port) VALUES (3, '', 3308)"],
    );
    let (_, _, message) = error(admin.query_drop("LOAD MYSQL SERVERS TO RUNTIME"));
    assert!(message.ends_with("(and 1 more; see SHOW WARNINGS)"), "{message}");
    let warnings = lines(&mut admin, "SHOW WARNINGS");
    let told: Vec<&str> = warnings.lines().collect();
    assert_eq!(told.len(), 2, "{warnings}");
    for (line, row) in told
        .iter()
        .zip(["hostgroup_id=2, hostname='', port=3307", "hostgroup_id=3, hostname='', port=3308"])
    {
        assert!(
            line.starts_with(&format!("Error|1210|mysql_servers ({row}) column hostname: ")),
            "{line}"
        );
    }
    assert_eq!(lines(&mut admin, "SHOW COUNT(*) WARNINGS"), "2");
    assert_eq!(interface.fake().applied(), applied);
    assert_eq!(lines(&mut admin, "SELECT hostname FROM runtime_mysql_servers"), "good");
}

#[test]
fn variables_are_set_validated_and_shown() {
    let interface = Interface::start(&[]);
    let mut admin = interface.admin();
    run(&mut admin, &["SET mysql-max_connections = 500 * 2", "SET mysql-default_schema='it''s'"]);
    assert_eq!(admin.affected_rows(), 1);
    run(&mut admin, &["SET GLOBAL mysql-poll_timeout=1500"]);
    assert_eq!(
        lines(&mut admin, "SHOW MYSQL VARIABLES LIKE '%max\\_connections'"),
        "mysql-max_connections|1000"
    );
    let runtime = "SELECT variable_value FROM runtime_global_variables WHERE \
        variable_name='mysql-max_connections'";
    assert_eq!(lines(&mut admin, runtime), "10000");
    run(&mut admin, &["LOAD MYSQL VARIABLES TO RUNTIME"]);
    assert_eq!(lines(&mut admin, runtime), "1000");
    assert_eq!(lines(&mut admin, "SELECT @@mysql-default_schema"), "it's");
    let (code, state, message) = error(admin.query_drop("SET mysql-max_conections=1"));
    assert_eq!((code, state.as_str()), (1193, "HY000"));
    assert_eq!(
        message,
        "ERROR: Unknown global variable: 'mysql-max_conections'. Did you mean \
            'mysql-max_connections'?"
    );
    let (_, _, message) = error(admin.query_drop("SET threads = 2"));
    assert_eq!(message, "ERROR: Unknown global variable: 'threads'. Did you mean 'mysql-threads'?");
    // a name with capitals is known as well as any
    for name in ["mysql-max_connections", "mysql-query_cache_size_MB"] {
        let (code, _, message) = error(admin.query_drop(format!("SET {name}='many'")));
        assert_eq!(code, 1231);
        let told = format!("Variable '{name}': `many` is not a number");
        assert!(message.starts_with(&told), "{message}");
    }
    for several in
        ["SET mysql-threads=1,mysql-default_schema='x'", "SET mysql-threads=max(1, 2), mysql-a = 1"]
    {
        let (code, _, message) = error(admin.query_drop(several));
        assert_eq!(code, 1064, "{several}");
        let begin = "SET takes one variable at a time: give `mysql-";
        assert!(message.starts_with(begin), "{message}");
    }
    run(&mut admin, &["SET mysql-threads=max(1, 4)"]);
    run(
        &mut admin,
        &["UPDATE global_variables SET variable_value='-1' WHERE \
                variable_name='mysql-max_connections'"],
    );
    let (_, _, message) = error(admin.query_drop("LOAD MYSQL VARIABLES TO RUNTIME"));
    assert!(
        message.starts_with(
            "nothing was applied: global_variables mysql-max_connections: -1 is out of range"
        ),
        "{message}"
    );
    run(&mut admin, &["LOAD ADMIN VARIABLES TO RUNTIME"]);
    run(&mut admin, &["INSERT INTO global_variables VALUES ('admin-nonsense', '1')"]);
    let (_, _, message) = error(admin.query_drop("LOAD ADMIN VARIABLES TO RUNTIME"));
    assert!(message.contains("admin-nonsense: unknown variable"), "{message}");
    run(&mut admin, &["DELETE FROM global_variables WHERE variable_name='admin-nonsense'"]);
    run(
        &mut admin,
        &["SET admin-admin_credentials='admin:new'", "LOAD ADMIN VARIABLES TO RUNTIME"],
    );
    interface.login("admin", "new").expect("credentials act at the next login");
    run(&mut admin, &["SET admin-web_enabled=true"]);
    assert_eq!(
        lines(&mut admin, "SHOW WARNINGS"),
        "Note|1105|admin-web_enabled is accepted and has no effect in this version: \
         there is no web interface"
    );
}

#[test]
fn differences_plans_versions_and_the_way_back() {
    let interface = Interface::start(&[]);
    let mut admin = interface.admin();
    run(
        &mut admin,
        &[
            "INSERT INTO mysql_servers (hostgroup_id, hostname, weight) VALUES (1, 'a', 1), \
                (1, 'b', 1)",
            "LOAD MYSQL SERVERS TO RUNTIME",
            "UPDATE mysql_servers SET weight = 5 WHERE hostname = 'a'",
            "DELETE FROM mysql_servers WHERE hostname = 'b'",
            "INSERT INTO mysql_servers (hostgroup_id, hostname) VALUES (2, 'c')",
        ],
    );
    let changes = "removed|mysql_servers|hostgroup_id=1, hostname='b', port=3306|||\n\
                   changed|mysql_servers|hostgroup_id=1, hostname='a', port=3306|weight|1|5\n\
                   added|mysql_servers|hostgroup_id=2, hostname='c', port=3306|||";
    assert_eq!(lines(&mut admin, "SHOW CONFIG DIFF"), changes);
    assert_eq!(
        lines(
            &mut admin,
            "SHOW CONFIG DIFF MYSQL SERVERS FROM RUNTIME TO \
        MEMORY"
        ),
        changes
    );
    assert_eq!(lines(&mut admin, "SHOW CONFIG DIFF MYSQL USERS"), "");
    assert!(lines(&mut admin, "PLAN MYSQL SERVERS").starts_with(changes));
    run(
        &mut admin,
        &["INSERT INTO mysql_query_rules (active, match_digest, apply) VALUES (1, '(', 1)"],
    );
    let plan = lines(&mut admin, "PLAN MYSQL QUERY RULES");
    assert!(
        plan.starts_with(
            "added|mysql_query_rules|rule_id=1|||\nerror|mysql_query_rules||||\
             mysql_query_rules (rule_id=1) column match_digest: "
        ),
        "{plan}"
    );
    run(
        &mut admin,
        &["UPDATE mysql_query_rules SET match_digest='^SELECT', destination_hostgroup=99"],
    );
    let plan = lines(&mut admin, "PLAN MYSQL QUERY RULES");
    assert!(plan.contains("\nlint|mysql_query_rules||||rule 1: "), "{plan}");
    assert!(lines(&mut admin, "LINT MYSQL QUERY RULES").contains("|mysql_query_rules|1|"));
    run(&mut admin, &["LOAD MYSQL SERVERS TO RUNTIME"]);
    let versions = lines(&mut admin, "SHOW CONFIG VERSIONS");
    let numbers: Vec<&str> = versions.lines().filter_map(|line| line.split('|').next()).collect();
    assert_eq!(numbers, ["1", "2", "3"], "{versions}");
    run(&mut admin, &["ROLLBACK MYSQL SERVERS TO VERSION 2"]);
    let hosts = "SELECT hostname, weight FROM runtime_mysql_servers ORDER BY 1";
    assert_eq!(lines(&mut admin, hosts), "a|1\nb|1");
    assert_eq!(lines(&mut admin, &hosts.replace("runtime_", "")), "a|1\nb|1");
    let (_, _, message) = error(admin.query_drop("ROLLBACK CONFIG TO VERSION 77"));
    assert_eq!(message, "there is no version 77; SHOW CONFIG VERSIONS lists them");
}

#[test]
fn a_file_that_was_read_again_is_a_version_and_in_memory() {
    let dir = Dir::new("reloaded");
    let interface = dir.open(Draft::default(), OpeningSource::Auto);
    let mut admin = interface.admin();
    let fast = "INSERT INTO mysql_query_rules (rule_id, active) VALUES (7, 0)";
    run(&mut admin, &["SET mysql-max_connections = 77", fast]);
    let before = interface.fake().current();
    let server = |hostname: &str| ServerRow { hostname: hostname.into(), ..ServerRow::default() };
    let servers = vec![server("a"), server("b")];
    let variables = vec![("mysql-threads".to_owned(), "3".to_owned())];
    let draft = Draft { servers, variables, ..Draft::clone(&before) };
    interface.fake().apply(&mut |_| Ok(draft.clone())).expect("it is right");
    interface.post(admin::Mail::Reloaded { before });
    let deadline = Instant::now() + Duration::from_secs(20);
    while !lines(&mut admin, "SHOW CONFIG VERSIONS").contains("|SIGHUP|") {
        assert!(Instant::now() < deadline, "it is no version");
    }
    assert_eq!(lines(&mut admin, "SELECT hostname FROM mysql_servers ORDER BY 1"), "a\nb");
    assert_eq!(lines(&mut admin, "SELECT @@mysql-threads"), "3");
    assert_eq!(lines(&mut admin, "SELECT rule_id FROM mysql_query_rules"), "7", "left alone");
    run(&mut admin, &["LOAD MYSQL SERVERS TO RUNTIME"]);
    assert_eq!(lines(&mut admin, "SELECT count(*) FROM runtime_mysql_servers"), "2");
    let not_saved = "log what the file says is in force and in memory, but not in the database: \
                     SAVE ALL TO DISK keeps it beyond a restart";
    assert_eq!(interface.fake().told(), [not_saved]);
    run(&mut admin, &["ROLLBACK CONFIG TO VERSION 1"]);
    assert_eq!(lines(&mut admin, "SELECT count(*) FROM runtime_mysql_servers"), "0");
}

#[test]
fn a_variable_differs_by_what_it_means_not_by_how_it_is_written() {
    let interface = Interface::start(&[("mysql-max_connections", "7")]);
    let mut admin = interface.admin();
    let from_file = "SHOW CONFIG DIFF FROM FILE TO RUNTIME";
    assert_eq!(lines(&mut admin, from_file), "", "what a file does not name has its default");
    run(&mut admin, &["SET mysql-multiplexing=1"]);
    assert_eq!(lines(&mut admin, "SHOW CONFIG DIFF"), "");
    run(&mut admin, &["SET mysql-multiplexing=0"]);
    let change = "changed|global_variables|mysql-multiplexing|variable_value|'true'|'false'";
    assert_eq!(lines(&mut admin, "SHOW CONFIG DIFF"), change);
    run(&mut admin, &["LOAD MYSQL VARIABLES TO RUNTIME"]);
    assert_eq!(lines(&mut admin, from_file), change);
    let stored = "SELECT variable_value FROM global_variables WHERE variable_name LIKE '%plexing'";
    assert_eq!(lines(&mut admin, stored), "false", "written as it is in force");
    run(&mut admin, &["SET mysql-max_connections=8", "LOAD MYSQL VARIABLES FROM CONFIG"]);
    let kept = "SELECT @@mysql-max_connections, @@mysql-multiplexing";
    assert_eq!(lines(&mut admin, kept), "7|false", "what a file does not name stays");
}

#[test]
fn checksums_follow_what_is_in_force() {
    let interface = Interface::start(&[]);
    let mut admin = interface.admin();
    let sums = "SELECT name, version FROM runtime_checksums_values ORDER BY name";
    assert_eq!(
        lines(&mut admin, sums),
        "admin_variables|1\nmysql_query_rules|1\nmysql_servers|1\nmysql_servers_v2|1\n\
         mysql_users|1\nmysql_variables|1\nproxysql_servers|1"
    );
    let sum = "SELECT checksum FROM runtime_checksums_values WHERE name = 'mysql_users'";
    assert_eq!(lines(&mut admin, sum), "0x00");
    let global = lines(&mut admin, "SELECT GLOBAL_CHECKSUM()");
    run(
        &mut admin,
        &[
            "INSERT INTO mysql_users (username, password) VALUES ('a', 'p')",
            "LOAD MYSQL USERS TO RUNTIME",
        ],
    );
    let new = lines(&mut admin, sum);
    assert!(new.len() == 18 && new.starts_with("0x"), "{new}");
    assert_eq!(lines(&mut admin, "CHECKSUM MEMORY MYSQL USERS"), format!("MYSQL USERS|{new}"));
    assert_eq!(lines(&mut admin, "CHECKSUM DISK MYSQL USERS"), "MYSQL USERS|0x00");
    assert_ne!(lines(&mut admin, "SELECT GLOBAL_CHECKSUM()"), global);
    assert!(lines(&mut admin, sums).contains("mysql_users|2"));
}

#[test]
fn users_in_force_are_shown_by_side_and_one_of_them_can_be_loaded() {
    let interface = Interface::start(&[]);
    let mut admin = interface.admin();
    run(
        &mut admin,
        &[
            "INSERT INTO mysql_users (username, password) VALUES ('a', 'p'), ('b', 'q')",
            "LOAD MYSQL USER a TO RUNTIME",
        ],
    );
    let users =
        "SELECT username, backend, frontend FROM runtime_mysql_users ORDER BY username, backend";
    assert_eq!(lines(&mut admin, users), "a|0|1\na|1|0");
    let (_, _, message) = error(admin.query_drop("LOAD MYSQL USER zed TO RUNTIME"));
    assert_eq!(message, "mysql_users has no user 'zed'");
    run(&mut admin, &["SAVE MYSQL USERS FROM RUNTIME"]);
    let memory = "SELECT username, active, backend, frontend FROM mysql_users ORDER BY 1";
    assert_eq!(lines(&mut admin, memory), "a|1|1|1\nb|0|1|1");
}

#[test]
fn a_process_begins_with_its_database_or_its_file_and_says_where_they_differ() {
    let dir = Dir::new("start");
    let server =
        |host: &str, weight| ServerRow { hostname: host.into(), weight, ..ServerRow::default() };
    let file = |weight| Draft {
        servers: vec![server("a", weight)],
        variables: vec![("mysql-threads".into(), weight.to_string())],
        ..Draft::default()
    };
    let seen = |interface: &Interface| {
        let query = "SELECT hostname, weight, (SELECT variable_value FROM \
            runtime_global_variables \
                     WHERE variable_name = 'mysql-threads') FROM runtime_mysql_servers";
        lines(&mut interface.admin(), query)
    };
    let missing = Interface::open(GivenFile(file(1)), Some(dir.0.clone()), OpeningSource::Database);
    let reason = missing.err().expect("there is no database").message;
    assert_eq!(reason, "there is no database to take the configuration from");
    drop(std::fs::remove_dir_all(&dir.0));
    let first = dir.open(file(2), OpeningSource::Auto);
    assert_eq!((seen(&first).as_str(), first.notes().len()), ("a|2|2", 0));
    drop(first);
    let second = dir.open(file(3), OpeningSource::Auto);
    assert_eq!(seen(&second), "a|2|2");
    assert_eq!(
        second.notes(),
        [
            "global_variables (mysql-threads) variable_value: the file says '3', the \
                database '2': the database wins",
            "mysql_servers (hostgroup_id=0, hostname='a', port=3306) weight: the file says \
                3, the database 2: the database wins",
        ]
    );
    run(
        &mut second.admin(),
        &[
            "INSERT INTO mysql_users (username) VALUES ('kept')",
            "SAVE MYSQL USERS TO DISK",
            "LOAD MYSQL SERVERS FROM CONFIG",
        ],
    );
    assert_eq!(lines(&mut second.admin(), "SELECT weight FROM mysql_servers"), "3");
    drop(second);
    let third = dir.open(file(4), OpeningSource::File);
    assert_eq!(seen(&third), "a|4|4");
    drop(third);
    let fourth =
        dir.open(Draft { users: vec![UserRow::default()], ..file(9) }, OpeningSource::Database);
    assert_eq!((seen(&fourth).as_str(), fourth.notes().len()), ("a|4|4", 0));
}

#[test]
fn no_password_is_told_where_file_and_database_differ() {
    let dir = Dir::new("secrets");
    let file = |secret: &str| {
        let names = ["admin-admin_credentials", "mysql-monitor_password"];
        let variable = |name: &str| (name.to_owned(), format!("admin:{secret}"));
        let user = UserRow { password: secret.as_bytes().into(), ..UserRow::default() };
        let user = UserRow { username: "app".into(), ..user };
        let variables = names.map(variable).to_vec();
        Draft { users: vec![user], variables, ..Draft::default() }
    };
    drop(dir.open(file("old"), OpeningSource::Auto));
    let second = dir.open(file("new"), OpeningSource::Auto);
    let told = second.notes();
    assert_eq!(told.len(), 3, "{told:?}");
    for note in told {
        assert!(note.contains("the database wins"), "{note}");
        assert!(!note.contains("old") && !note.contains("new"), "{note}");
    }
}

#[test]
fn a_database_file_that_was_replaced_is_read_after_a_flush() {
    let dir = Dir::new("flush");
    let interface = dir.open(Draft::default(), OpeningSource::Auto);
    let mut admin = interface.admin();
    let add = |name: &str| format!("INSERT INTO mysql_users (username) VALUES ('{name}')");
    run(&mut admin, &[&add("one"), "SAVE MYSQL USERS TO DISK"]);
    let (file, copy) = (dir.0.join("tidegate.db"), dir.0.join("copy.db"));
    std::fs::copy(&file, &copy).expect("the file holds everything");
    run(&mut admin, &[&add("two"), "SAVE MYSQL USERS TO DISK"]);
    std::fs::rename(&copy, &file).expect("the directory is writable");
    let saved = "SELECT group_concat(username) FROM disk.mysql_users";
    assert_eq!(lines(&mut admin, saved), "one,two");
    run(&mut admin, &["PROXYSQL FLUSH CONFIGDB"]);
    assert_eq!(lines(&mut admin, saved), "one");
    run(&mut admin, &["SAVE MYSQL USERS TO DISK"]);
    assert_eq!(lines(&mut admin, saved), "one,two");
}

#[test]
fn a_start_with_a_database_needs_no_room_and_an_empty_one_is_none() {
    let dir = Dir::new("room");
    let user = |name: &str| UserRow { username: name.into(), ..UserRow::default() };
    let file = |name: &str| Draft { users: vec![user(name)], ..Draft::default() };
    let path = dir.0.join("tidegate.db");
    drop(dir.open(file("one"), OpeningSource::Auto));
    let written = std::fs::read(&path).expect("it is there");
    let interface = dir.open(file("two"), OpeningSource::Auto);
    let users = "SELECT group_concat(username) FROM runtime_mysql_users WHERE frontend = 1";
    assert_eq!(lines(&mut interface.admin(), users), "one", "the database wins");
    drop(interface);
    assert!(std::fs::read(&path).expect("it is there") == written, "nothing was written");
    std::fs::write(&path, b"").expect("it can be emptied");
    let interface = dir.open(file("two"), OpeningSource::Auto);
    assert_eq!(lines(&mut interface.admin(), users), "two", "there is nothing else");
}

#[test]
fn every_module_is_saved_at_once() {
    let dir = Dir::new("all");
    let interface = dir.open(Draft::default(), OpeningSource::Auto);
    let mut admin = interface.admin();
    run(
        &mut admin,
        &[
            "INSERT INTO mysql_users (username) VALUES ('one')",
            "INSERT INTO mysql_query_rules (rule_id) VALUES (7)",
            "SET mysql-wait_timeout = 5000",
            "SAVE ALL TO DISK",
        ],
    );
    let of_disk = "SELECT group_concat(username) FROM disk.mysql_users";
    assert_eq!(lines(&mut admin, of_disk), "one");
    assert_eq!(lines(&mut admin, "SELECT rule_id FROM disk.mysql_query_rules"), "7");
    let variable = "SELECT variable_value FROM disk.global_variables \
                    WHERE variable_name = 'mysql-wait_timeout'";
    assert_eq!(lines(&mut admin, variable), "5000");
}

#[test]
fn a_database_that_is_put_aside_is_its_owners_alone() {
    let dir = Dir::new("aside");
    drop(dir.open(Draft::default(), OpeningSource::Auto));
    let file = |name: &str| dir.0.join(name);
    let mode =
        |name: &str| file(name).metadata().expect("it is there").permissions().mode() & 0o777;
    std::fs::set_permissions(file("tidegate.db"), Permissions::from_mode(0o644)).expect("ours");
    let (file, source) = (Box::new(GivenFile::default()), OpeningSource::Auto);
    let dir = Some(dir.0.clone());
    let opening = Opening { dir, source, initial: true, reload: false, file };
    drop(opening.open().expect("it opens"));
    assert_eq!(["tidegate.db.bak", "tidegate.db"].map(mode), [0o600; 2]);
}

#[test]
fn without_a_directory_nothing_is_said_to_be_saved() {
    let interface = Interface::start(&[]);
    let (_, _, message) = error(interface.admin().query_drop("SAVE MYSQL USERS TO DISK"));
    assert_eq!(message, "there is no database on disk; start Tidegate with --datadir to have one");
}

#[test]
fn the_configuration_can_be_had_as_a_file() {
    let dir = Dir::new("outfile");
    std::fs::create_dir_all(&dir.0).unwrap();
    let interface = Interface::start(&[]);
    let mut admin = interface.admin();
    assert_eq!(lines(&mut admin, "SELECT CONFIG FILE"), "0 users");
    let path = dir.0.join("out.cnf");
    run(&mut admin, &[&format!("SELECT CONFIG INTO OUTFILE {}", path.display())]);
    assert_eq!(
        (admin.affected_rows(), admin.info_str().into_owned()),
        (7, format!("File {} is saved.", path.display()))
    );
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "0 users");
    let (_, _, message) = error(admin.query_drop("SAVE CONFIG TO FILE '/nonexistent/x'"));
    assert!(message.starts_with("cannot write /nonexistent/x: No such file"), "{message}");
    run(
        &mut admin,
        &[
            "INSERT INTO mysql_servers (hostname, port) VALUES ('a', 0)",
            "INSERT INTO mysql_users (username) VALUES ('new')",
        ],
    );
    let (code, _, message) =
        error(admin.query_drop(format!("SAVE CONFIG TO FILE {}", path.display())));
    assert_eq!(code, 1210);
    let begin = "nothing was saved: mysql_servers (hostgroup_id=0, hostname='a', port=0) column \
                 port: ";
    assert!(message.starts_with(begin), "{message}");
    assert_eq!(std::fs::read_to_string(path).unwrap(), "0 users", "as it was");
    assert_eq!(lines(&mut admin, "SELECT CONFIG FILE"), "1 users", "to look at");
}

#[test]
fn a_route_is_explained_by_the_configuration_in_force() {
    let interface = Interface::start(&[]);
    let mut admin = interface.admin();
    run(
        &mut admin,
        &[
            "INSERT INTO mysql_servers (hostgroup_id, hostname) VALUES (2, 'a')",
            "INSERT INTO mysql_users (username, password) VALUES ('app', 'p')",
            "INSERT INTO mysql_query_rules (active, match_digest, destination_hostgroup, apply) \
             VALUES (1, '^UPDATE', 1, 1), (1, '^SELECT', 2, 1)",
            "UPDATE mysql_query_rules SET cache_ttl = 50 WHERE match_digest = '^SELECT'",
            "LOAD MYSQL SERVERS TO RUNTIME",
            "LOAD MYSQL USERS TO RUNTIME",
            "LOAD MYSQL QUERY RULES TO RUNTIME",
            "DELETE FROM mysql_query_rules",
        ],
    );
    let told = lines(&mut admin, "EXPLAIN ROUTE SELECT 'x;y' FROM t FOR USER 'app' SCHEMA 's'");
    let told: Vec<&str> = told.lines().skip(1).collect();
    assert_eq!(
        told,
        [
            "no match|1|match_digest is `SELECT ? FROM t`, not `^UPDATE`",
            "match|2|destination_hostgroup=2, cache_ttl=50, apply=1",
            "cached||for 50 ms, outside transactions",
            "hostgroup|2|2: a rule names it",
            "server||a:3306 gets 100.0 %",
        ]
    );
    let server = interface.fake().snapshot().topology.servers()[0].clone();
    server.gauge.on_fault(LastFault::Timeout, 0, 1, 60_000_000);
    let told = lines(&mut admin, "EXPLAIN ROUTE SELECT 1 FROM t");
    let shunned = "server||a:3306 gets 0.0 %: shunned for 60000 ms more: connect timeout";
    assert_eq!(told.lines().last(), Some(shunned));
    let (code, ..) = error(admin.query_drop("EXPLAIN ROUTE"));
    assert_eq!(code, 1064);
    assert!(lines(&mut admin, "EXPLAIN QUERY PLAN SELECT 1").contains("SCAN"));
}

#[test]
fn candidate_rules_are_compared_and_wrong_ones_are_refused() {
    let interface = Interface::start(&[]);
    let mut admin = interface.admin();
    run(&mut admin, &["INSERT INTO mysql_query_rules (rule_id, active) VALUES (1, 1)"]);
    assert_eq!(lines(&mut admin, "CANDIDATE MYSQL QUERY RULES"), "");
    run(&mut admin, &["UPDATE mysql_query_rules SET match_digest = '('"]);
    let (code, _, message) = error(admin.query_drop("CANDIDATE"));
    assert!(code == 1210 && message.contains("column match_digest"), "{code} {message}");
    assert_eq!(interface.fake().applied(), 0);
}
