//! The administrative interface of a running Tidegate, by the command-line client and by PyMySQL.

use std::ffi::OsString;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use lab::{Process, RunDir};
use live::{Kits, Program, Proxy, skip};

const CONFIGURATION: &str = "server_version = \"8.0.11\"\nthreads = 1\n\
    [[mysql_servers]]\nhostgroup_id = 1\nhostname = \"127.0.0.1\"\nport = 1\n\
    [[mysql_users]]\nusername = \"app\"\npassword = \"app\"\n";

fn start() -> Proxy {
    let text =
        |interfaces| format!("[mysql_variables]\ninterfaces = \"{interfaces}\"\n{CONFIGURATION}");
    Proxy::start(text).expect("tidegate starts")
}

/// The command-line client on the interface, rows without a frame.
fn console(proxy: &Proxy, (user, password): (&str, &str), input: &str) -> live::Finished {
    Program::new("mariadb")
        .args(["--no-defaults", "--skip-ssl", "--batch", "--skip-column-names", "--force"])
        .args(["-h127.0.0.1".to_owned(), format!("-P{}", proxy.admin_port)])
        .args([format!("-u{user}"), format!("-p{password}")])
        .input(input)
        .limit(Duration::from_secs(20))
        .run()
}

#[test]
fn the_command_line_client_shows_changes_and_moves_a_configuration() {
    let proxy = start();
    let done = console(
        &proxy,
        ("admin", "admin"),
        "SELECT hostgroup_id, hostname, port, status FROM runtime_mysql_servers;\n\
         SHOW TABLES LIKE 'mysql\\_users';\n\
         INSERT INTO scheduler (interval_ms, filename) VALUES (1000, '/bin/true');\n\
         LOAD SCHEDULER TO RUNTIME;\n\
         SELECT filename FROM runtime_scheduler;\n\
         UPDATE mysql_servers SET status = 'BROKEN';\n\
         SET mysql-max_connections = 0.5;\n\
         SELECT @@mysql-max_connections;\n\
         SELECT CONFIG FILE;\n",
    );
    let out = done.output.as_str();
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(
        lines.get(..4),
        Some(["1\t127.0.0.1\t1\tONLINE", "mysql_users", "/bin/true", "10000"].as_slice()),
        "{out}\n{}",
        done.errors
    );
    assert!(out.contains("[[mysql_users]]\\nusername = \"app\""), "{out}");
    let errors: Vec<&str> = done.errors.lines().filter(|line| line.starts_with("ERROR")).collect();
    assert_eq!(errors.len(), 2, "{errors:?}");
    assert!(errors[0].starts_with("ERROR 3819 (HY000)"), "{errors:?}");
    assert!(errors[0].contains("column status: 'BROKEN' is not allowed, only "), "{errors:?}");
    assert!(errors[1].starts_with("ERROR 1231 (42000)"), "{errors:?}");
}

#[test]
fn strangers_and_readers_are_kept_out_and_logged() {
    let proxy = start();
    let done = console(&proxy, ("admin", "guess"), "SELECT 1;");
    assert!(done.errors.contains("ERROR 1045 (28000): "), "{}", done.errors);
    live::eventually("it is logged", Duration::from_secs(5), || {
        proxy.log().contains("user 'admin' from 127.0.0.1 was refused")
    });
    let done = console(
        &proxy,
        ("stats", "stats"),
        "SELECT count(*) > 0 FROM sqlite_master;\n\
         DELETE FROM stats_mysql_users;\nSELECT * FROM mysql_users;\nPROXYSQL SHUTDOWN;\n",
    );
    for reason in [
        "attempt to write a readonly database",
        "no such table: mysql_users",
        "near \"PROXYSQL\": syntax error",
    ] {
        assert!(done.errors.contains(reason), "{reason}: {}", done.errors);
    }
    assert!(proxy.is_running());
}

#[test]
fn a_python_driver_prepares_and_reads() {
    let kits = Kits::set_up();
    if let Some(why) = kits.missing("python") {
        return skip("PyMySQL on the admin interface", why);
    }
    let proxy = start();
    let script = "import pymysql, sys\n\
        c = pymysql.connect(host='127.0.0.1', port=int(sys.argv[1]), user='admin',\n\
            password='admin', database='main')\n\
        k = c.cursor(pymysql.cursors.DictCursor)\n\
        k.execute('INSERT INTO mysql_users (username, password) VALUES (%s, %s)', ('x', 'y'))\n\
        c.commit()\n\
        k.execute('SELECT username, active, default_schema FROM mysql_users ORDER BY 1')\n\
        print(k.fetchall())\n\
        try:\n    k.execute('NOTHING')\n\
        except pymysql.err.OperationalError as e: print(e.args[0])\n";
    let done = kits
        .python()
        .args(["-c".to_owned(), script.to_owned(), proxy.admin_port.to_string()])
        .limit(Duration::from_secs(20))
        .run();
    assert_eq!(
        done.output,
        "[{'username': 'app', 'active': '1', 'default_schema': None}, \
         {'username': 'x', 'active': '1', 'default_schema': None}]\n1045\n",
        "{}",
        done.errors
    );
}

#[test]
fn a_shutdown_that_was_asked_for_ends_the_process_in_order() {
    let proxy = start();
    console(&proxy, ("admin", "admin"), "TIDEGATE SHUTDOWN GRACEFUL;");
    live::eventually("the process ends", Duration::from_secs(20), || !proxy.is_running());
    assert!(proxy.log().contains("stopped"), "{}", proxy.log());
}

#[test]
fn whenever_it_is_killed_the_database_holds_one_configuration_whole() {
    let dir = RunDir::create().expect("a directory");
    let rounds = if live::full() { 200 } else { 12 };
    for round in 0..rounds {
        let port = lab::free_port().expect("a free port");
        let process = launch(dir.path(), port);
        assert_whole(port);
        let mut client = Command::new("mariadb")
            .args(["--no-defaults", "--skip-ssl", "-h127.0.0.1", "-uadmin", "-padmin"])
            .arg(format!("-P{port}"))
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("the client starts");
        let mut saves = client.stdin.take().expect("it was asked for");
        // each configuration has its number in every row
        let statements: String = (0..2000).map(|number| save(round * 2000 + number)).collect();
        let writer = std::thread::spawn(move || drop(saves.write_all(statements.as_bytes())));
        std::thread::sleep(Duration::from_millis(60 + round * 7 % 90));
        process.signal("KILL").expect("it runs");
        process.wait(Duration::from_secs(20)).expect("it ends");
        client.wait().expect("it ends without a server");
        writer.join().expect("it writes until the client ends");
    }
    let port = lab::free_port().expect("a free port");
    let _process = launch(dir.path(), port);
    assert_ne!(assert_whole(port), "0\t0", "something was saved");
}

fn save(number: u64) -> String {
    let rows: Vec<String> = (0..40).map(|row| format!("('{row}', '{number}')")).collect();
    format!(
        "DELETE FROM mysql_users; INSERT INTO mysql_users (username, comment) VALUES {}; \
         SAVE MYSQL USERS TO DISK;\n",
        rows.join(",")
    )
}

fn launch(dir: &Path, port: u16) -> Process {
    let file = dir.join("tidegate.toml");
    let interfaces = dir.join("sock");
    let text = format!(
        "[mysql_variables]\ninterfaces = \"{}\"\nserver_version = \"8.0.11\"\nthreads = 1\n\
         [admin_variables]\nmysql_ifaces = \"127.0.0.1:{port}\"\n",
        interfaces.display()
    );
    std::fs::write(&file, text).expect("written");
    let words: [OsString; 6] = [
        live::binary().expect("it is built").into(),
        "run".into(),
        "--config".into(),
        file.into(),
        "--datadir".into(),
        dir.join("data").into(),
    ];
    // the port is another one each time, so the database's is not to win
    let words = [&words[..], &["--reload".into()]].concat();
    let process = Process::launch(&words, &dir.join("log")).expect("it starts");
    live::eventually("the interface greets", Duration::from_secs(20), || {
        live::greeting_of(port).is_ok()
    });
    process
}

/// Every row of the saved users is of one configuration.
fn assert_whole(port: u16) -> String {
    let done = Program::new("mariadb")
        .args(["--no-defaults", "--skip-ssl", "--batch", "--skip-column-names", "-h127.0.0.1"])
        .args([format!("-P{port}"), "-uadmin".into(), "-padmin".into()])
        .input("SELECT count(*), count(DISTINCT comment) FROM disk.mysql_users;")
        .limit(Duration::from_secs(20))
        .run();
    let found = done.output.trim().to_owned();
    assert!(["0\t0", "40\t1"].contains(&found.as_str()), "{found} {}", done.errors);
    found
}
