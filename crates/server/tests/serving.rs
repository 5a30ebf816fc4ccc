//! `tidegate run` from outside: what it tells, that it listens, and how signals end it.

use std::io::{BufRead, BufReader, Read};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// Longest time anything here may take before a test fails.
const PATIENCE: Duration = Duration::from_secs(60);

/// A `tidegate run` with its log; killed when a test ends without having stopped it.
struct Running {
    child: Child,
    log: Receiver<String>,
    seen: Vec<String>,
    file: PathBuf,
}

impl Running {
    fn start(name: &str, configuration: &str, options: &[&str]) -> Self {
        Self::start_by(Command::new(env!("CARGO_BIN_EXE_tidegate")), name, configuration, options)
    }

    fn start_by(mut program: Command, name: &str, configuration: &str, options: &[&str]) -> Self {
        let file =
            std::env::temp_dir().join(format!("tidegate-{}-{name}.toml", std::process::id()));
        let mut text = configuration.to_owned();
        if !text.contains("[admin_variables]") {
            // its default place is one for the whole machine, and every test starts its own
            text.push_str("[admin_variables]\nmysql_ifaces = \"127.0.0.1:0\"\n");
        }
        std::fs::write(&file, text).expect("the temporary directory is writable");
        let mut child = program
            .args(["run", "--config"])
            .arg(&file)
            .args(options)
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary starts");
        let stderr = child.stderr.take().expect("it is piped");
        let (sender, log) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        Self { child, log, seen: Vec::new(), file }
    }

    /// Reads the log up to the first line that contains `text`, and gives that line.
    fn wait_for(&mut self, text: &str) -> String {
        loop {
            let Ok(line) = self.log.recv_timeout(PATIENCE) else {
                panic!("no line with {text} in\n{}", self.seen.join("\n"));
            };
            self.seen.push(line.clone());
            if line.contains(text) {
                return line;
            }
        }
    }

    fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        let sent = Command::new("kill").args([&format!("-{name}"), &pid]).status();
        assert!(sent.expect("kill is there").success());
    }

    /// Reads the log to its end, which is the end of the process.
    fn end(&mut self) -> ExitStatus {
        while let Ok(line) = self.log.recv_timeout(PATIENCE) {
            self.seen.push(line);
        }
        self.child.wait().expect("it was started")
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
        drop(std::fs::remove_file(&self.file));
    }
}

const ONE_WORKER: &str = "[mysql_variables]\nthreads = 1\ninterfaces = \"127.0.0.1:0\"\n";

/// The address in a line such as `… listening listener=127.0.0.1:6033`.
fn address(line: &str) -> &str {
    line.rsplit_once("listener=").expect("a listener").1.trim()
}

#[test]
fn no_core_file_is_written_unless_it_is_asked_for() {
    for (name, options, is_asked) in
        [("no-core", &[][..], false), ("core", &["--core-file"][..], true)]
    {
        // by a shell that would have one written otherwise
        let mut program = Command::new("sh");
        let limit = if is_asked { "ulimit -S -c 0" } else { "ulimit -S -c $(ulimit -H -c)" };
        program.args(["-c", &format!("{limit}; exec \"$0\" \"$@\"")]);
        program.arg(env!("CARGO_BIN_EXE_tidegate"));
        let mut running = Running::start_by(program, name, ONE_WORKER, options);
        let starts = running.wait_for("tidegate starts");
        assert_eq!(starts.contains("core_file=true"), is_asked, "{starts}");
        running.wait_for("workers started");
        let path = format!("/proc/{}/limits", running.child.id());
        let limits = std::fs::read_to_string(path).expect("it runs");
        let line = limits.lines().find(|line| line.starts_with("Max core file size"));
        let words: Vec<_> = line.expect("there is one").split_whitespace().collect();
        let (soft, hard) = (words[4], words[5]);
        assert_eq!(soft, if is_asked { hard } else { "0" }, "{limits}");
        running.signal("TERM");
        assert!(running.end().success());
    }
}

#[test]
fn it_reports_listens_and_ends_with_0_on_sigterm() {
    let mut running = Running::start("term", ONE_WORKER, &[]);
    running.wait_for("tidegate starts");
    let listening = running.wait_for("listening");
    let started = running.wait_for("workers started");
    assert!(started.contains("workers=1"), "{started}");
    running.wait_for("query rules");

    let mut client = TcpStream::connect(address(&listening)).expect("it listens");
    let mut greeting = [0; 5];
    client.read_exact(&mut greeting).expect("a greeting");
    assert_eq!((greeting[3], greeting[4]), (0, 10), "first packet, protocol version 10");

    running.signal("USR1");
    let told = running.wait_for("\"workers_answered\":1");
    assert!(told.contains("\"clients_created\":1"), "{told}");
    running.signal("TERM");
    let status = running.end();
    assert_eq!(status.code(), Some(0), "{}", running.seen.join("\n"));
    assert!(running.seen.last().is_some_and(|line| line.contains("stopped")));
    assert!(TcpStream::connect(address(&listening)).is_err(), "the port is free again");
}

#[test]
fn sigint_ends_it_as_well_and_the_log_may_be_json() {
    let mut running = Running::start("int", ONE_WORKER, &["--log-format", "json"]);
    let started = running.wait_for("workers started");
    assert!(started.starts_with('{') && started.ends_with('}'), "{started}");
    assert!(started.contains("\"workers\":1") && started.contains("\"level\":\"INFO\""));
    running.wait_for("query rules");
    running.signal("INT");
    assert_eq!(running.end().code(), Some(0));
}

/// A limit of the process stands for a disk without room: no file may have a byte.
#[test]
fn where_no_file_can_be_written_it_serves_and_says_what_does_not_work() {
    let dir = std::env::temp_dir().join(format!("tidegate-{}-no-room", std::process::id()));
    let options = ["--datadir", dir.to_str().expect("a name in ASCII")];
    let limited = || {
        let mut program = Command::new("/bin/sh");
        let limit = r#"trap "" XFSZ; ulimit -f 0; exec "$0" "$@""#;
        program.args(["-c", limit, env!("CARGO_BIN_EXE_tidegate")]);
        program
    };
    let mut first = Running::start_by(limited(), "no-room", ONE_WORKER, &options);
    let told = first.wait_for("do not work");
    assert!(told.contains("/tidegate.db: ") && told.contains("SAVE … TO DISK"), "{told}");
    first.wait_for("query rules");
    first.signal("TERM");
    assert_eq!(first.end().code(), Some(0));

    let mut with_room = Running::start("room", ONE_WORKER, &options);
    with_room.wait_for("query rules");
    with_room.signal("TERM");
    assert_eq!(with_room.end().code(), Some(0));

    let mut again = Running::start_by(limited(), "no-room-again", ONE_WORKER, &options);
    again.wait_for("query rules");
    again.signal("TERM");
    assert_eq!(again.end().code(), Some(0), "{:?}", again.seen);
    drop(std::fs::remove_dir_all(dir));
}

#[test]
fn statistics_are_appended_to_the_file_that_is_named_one_document_a_line() {
    let name = format!("tidegate-statistics-{}.json", std::process::id());
    let file = std::env::temp_dir().join(name);
    let option = file.to_str().expect("a name in ASCII").to_owned();
    let mut running = Running::start("statistics", ONE_WORKER, &["--stats-file", &option]);
    running.wait_for("query rules");
    for _ in 0..2 {
        running.signal("USR1");
        running.wait_for("statistics written");
    }
    let text = std::fs::read_to_string(&file).expect("it was written");
    drop(std::fs::remove_file(&file));
    let documents: Vec<serde_json::Value> =
        text.lines().map(|line| serde_json::from_str(line).expect("a document")).collect();
    assert_eq!(documents.len(), 2);
    for document in documents {
        assert_eq!(document["workers_answered"], 1);
        let commands = document["stats_mysql_commands_counters"].as_array().expect("a table");
        assert_eq!(commands[0]["Command"], "ALTER_TABLE");
        assert_eq!(document["digests_all"]["count_star"], 0);
    }
}

#[test]
fn a_level_hides_what_is_less_severe() {
    let odd = format!("{ONE_WORKER}ssl_ca = \"/nowhere/ca.pem\"\n");
    let mut running = Running::start("level", &odd, &["--log-level", "warn"]);
    running.wait_for(
        "ERROR clients cannot have TLS: mysql_variables column ssl_ca: /nowhere/ca.pem: it cannot \
         be read: No such file or directory",
    );
    assert!(running.seen.iter().all(|line| !line.contains("INFO")), "{:?}", running.seen);
}

#[test]
fn a_port_that_is_taken_is_named_and_nothing_is_started() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = taken.local_addr().expect("it is bound");
    let configuration = format!("[mysql_variables]\ninterfaces = \"{address}\"\n");
    let mut running = Running::start("taken", &configuration, &[]);
    let line = running.wait_for("cannot listen");
    assert_eq!(line, format!("cannot listen on {address}: listen: Address already in use (98)"));
    assert_eq!(running.end().code(), Some(1));
}

#[test]
fn where_it_cannot_be_administered_no_client_is_served() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = taken.local_addr().expect("it is bound");
    let configuration = format!("{ONE_WORKER}[admin_variables]\nmysql_ifaces = \"{address}\"\n");
    let mut running = Running::start("taken-admin", &configuration, &[]);
    running.wait_for("admin interface: cannot listen on");
    assert_eq!(running.end().code(), Some(1));
    assert!(
        running.seen.iter().all(|line| !line.contains("workers started")),
        "{:?}",
        running.seen
    );
}
