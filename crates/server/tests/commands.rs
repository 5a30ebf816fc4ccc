//! The binary from outside: exit codes, what goes to which stream, files written.

use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::mpsc::channel;
use std::time::Duration;

fn tidegate(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tidegate"));
    command.args(arguments).stdin(Stdio::null());
    command
}

fn run(arguments: &[&str]) -> (i32, String, String) {
    ended(tidegate(arguments).output().expect("the binary starts"))
}

fn run_with_input(arguments: &[&str], input: &str) -> (i32, String, String) {
    let mut child = tidegate(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    let mut pipe = child.stdin.take().expect("it is piped");
    // The command may end before it has read everything; what it says then is what counts.
    drop(pipe.write_all(input.as_bytes()));
    drop(pipe);
    ended(child.wait_with_output().expect("it ends"))
}

fn ended(output: Output) -> (i32, String, String) {
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("output is text");
    (output.status.code().expect("an exit code"), text(output.stdout), text(output.stderr))
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

    fn write(&self, name: &str, text: &str) -> String {
        let file = self.file(name);
        std::fs::write(&file, text).expect("it is writable");
        set_mode(&file, 0o600);
        file
    }
}

fn set_mode(file: &str, mode: u32) {
    std::fs::set_permissions(file, PermissionsExt::from_mode(mode)).expect("its owner may");
}

impl Drop for Scratch {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

const VALID: &str = r#"
[mysql_variables]
interfaces = "127.0.0.1:7001;/tmp/tidegate-check.sock"
threads = 2

[[mysql_servers]]
hostgroup_id = 0
hostname = "db1"

[[mysql_servers]]
hostgroup_id = 1
hostname = "db2"
weight = 3
status = "offline_soft"

[[mysql_users]]
username = "app"
password = "app"

[[mysql_users]]
username = "ff"
fast_forward = 1
active = 0

[[mysql_query_rules]]
rule_id = 2
active = 1
match_pattern = '^SELECT'
destination_hostgroup = 1
apply = 1

[[mysql_query_rules]]
rule_id = 1
active = 0
username = "app"
destination_hostgroup = 0
"#;

#[test]
fn check_prints_what_would_run() {
    let scratch = Scratch::new("check");
    let file = scratch.write("valid.toml", VALID);
    let (code, out, err) = run(&["check", &file]);
    let expected = format!(
        "workers: 2
listeners:
  tcp 127.0.0.1:7001
  unix /tmp/tidegate-check.sock
hostgroup 0:
  db1:3306  ONLINE, weight 1, max_connections 1000
hostgroup 1:
  db2:3306  OFFLINE_SOFT, weight 3, max_connections 1000
users:
  app  hostgroup 0
  ff  hostgroup 0, fast forward, no password, INACTIVE
query rules:
  1  user app -> hostgroup 0, INACTIVE
  2  /^SELECT/ -> hostgroup 1, then no more rules
{file} is valid
"
    );
    assert_eq!((code, out, err), (0, expected, String::new()));
    set_mode(&file, 0o644);
    let (code, _, err) = run(&["check", &file]);
    let told = format!(
        "warning: {file} holds passwords, and every user of this machine may read it (mode 0644); \
         chmod o-rwx {file}"
    );
    assert_eq!((code, err.trim_end()), (0, told.as_str()));
}

#[test]
fn check_shows_every_error_on_standard_error_and_exits_1() {
    let scratch = Scratch::new("errors");
    let file = scratch.write("bad.toml", "[mysql_variables]\nthreads = 0\nthreds = 1\n");
    let (code, out, err) = run(&["check", &file]);
    assert_eq!((code, out.as_str()), (1, ""));
    assert!(err.contains("error: mysql_variables.threads: 0 is out of range"), "{err}");
    assert!(err.contains(&format!("{file}:3:1")), "{err}");
    assert!(err.contains("did you mean `threads`?"), "{err}");
    assert!(err.ends_with(&format!("{file}: 2 errors\n")), "{err}");
}

#[test]
fn check_warns_and_exits_0() {
    let scratch = Scratch::new("warnings");
    let file = scratch.write("odd.toml", "[mysql_variables]\nstacksize = 524288\n");
    let (code, out, err) = run(&["check", &file]);
    assert_eq!(code, 0);
    assert!(err.contains("note: mysql_variables.stacksize (line 2): accepted, but"), "{err}");
    assert!(out.ends_with(&format!("{file} is valid, with 1 note\n")), "{out}");
}

#[test]
fn check_reads_the_certificates_that_are_named() {
    let scratch = Scratch::new("certificates");
    let [own, other] =
        [(); 2].map(|()| tls::OwnCertificate::make("a", 1_700_000_000).expect("made"));
    let cert = scratch.write("cert", &own.certificate);
    let [key, other] =
        [("key", &own.key), ("other", &other.key)].map(|(name, text)| scratch.write(name, text));
    let check = |key: &str, ca: &str| {
        let text = format!(
            "[mysql_variables]\nssl_cert = \"{cert}\"\nssl_key = \"{key}\"\nssl_p2s_ca = \"{ca}\"\n\
             [[mysql_servers]]\nhostgroup_id = 0\nhostname = \"127.0.0.1\"\nuse_ssl = 1\n"
        );
        run(&["check", &scratch.write("tls.toml", &text)])
    };
    let (code, _, err) = check(&key, &cert);
    assert_eq!((code, err.as_str()), (0, ""));
    let (code, out, err) = check(&other, "/nowhere/ca.pem");
    assert_eq!(code, 0, "a process with these serves who can do without");
    let [clients, servers] =
        ["clients", "servers"].map(|who| format!("warning: {who} cannot have TLS: "));
    let lines: Vec<_> = err.lines().filter(|line| !line.is_empty()).collect();
    let [first, second] = lines[..] else { panic!("{err}") };
    assert!(first.starts_with(&clients) && first.contains(&other), "{first}");
    assert!(second.starts_with(&servers) && second.contains("/nowhere/ca.pem"), "{second}");
    assert!(out.ends_with("is valid, with 2 warnings\n"), "{out}");
}

#[test]
fn what_proxysql_ignores_is_no_end_and_the_serious_comes_first() {
    let scratch = Scratch::new("ignored");
    let text = "mysql_variables = { hash_passwords = true; threads = 0 }\n\
                mysql_servers = ( { address = \"a\", hostgroup = 1 } )\n\
                mysql_users = ( { username = \"u\", default_hostgroup = 2 } )\n\
                mysql_replication_hostgroups = ( { writer_hostgroup = 1, \
                reader_hostgroup = 2 } )\n";
    let file = scratch.write("proxysql.cnf", text);
    let (code, out, err) = run(&["check", &file]);
    assert_eq!(
        (code, err.as_str()),
        (
            0,
            "warning: mysql_variables.threads (line 1): 0 is out of range; allowed are 1 to 255; \
             its default 4 is kept\n\
             \n\
             note: mysql_variables.hash_passwords (line 1): no variable of ProxySQL 2.7; ignored, \
             as there\n\n"
        )
    );
    assert!(out.ends_with(&format!("{file} is valid, with 1 warning and 1 note\n")), "{out}");
    let (code, out, _) = run(&["import", &file]);
    assert_eq!(code, 0, "{out}");
    assert!(!out.contains("threads"), "{out}");
    let (code, out, _) = run(&["lint", &file]);
    assert_eq!(code, 0, "servers may come to hostgroup 2: {out}");
}

#[test]
fn a_missing_file_and_a_missing_configuration_exit_1() {
    let scratch = Scratch::new("missing");
    let (code, _, err) = run(&["check", &scratch.file("no.toml")]);
    assert_eq!(code, 1);
    assert!(err.starts_with("cannot read "), "{err}");
    let (code, _, err) = run(&["run", "--config", &scratch.file("no.toml")]);
    assert_eq!(code, 1);
    assert!(err.contains("No such file or directory"), "{err}");
}

#[test]
fn run_refuses_a_wrong_configuration_before_it_serves() {
    let scratch = Scratch::new("run");
    let file = scratch.write("bad.toml", "[[mysql_servers]]\nhostname = 1\n");
    let (code, out, err) = run(&["run", "--config", &file]);
    assert_eq!((code, out.as_str()), (1, ""));
    assert!(err.ends_with(&format!("{file}: 2 errors\n")), "{err}");
}

#[test]
fn run_ends_also_where_nobody_reads_why() {
    let scratch = Scratch::new("unread");
    let file = scratch.write("tidegate.toml", "[mysql_variables]\nthreads = \"many\"\n");
    let (unread, mut full) = std::io::pipe().expect("a pipe");
    let errors = full.try_clone().expect("a second name");
    let (tell, told) = channel::<()>();
    std::thread::spawn(move || {
        // what a pipe holds, or more
        let _ = full.write_all(&[b'x'; 64 * 1024]);
        drop(tell);
    });
    // written, or waiting for a reader: the pipe is full
    let _ = told.recv_timeout(Duration::from_secs(2));
    let mut server = tidegate(&["run", "--config", &file]);
    let mut server =
        server.stdout(Stdio::piped()).stderr(errors).spawn().expect("the binary starts");
    let mut output = server.stdout.take().expect("it is piped");
    let (tell, ends) = channel();
    std::thread::spawn(move || tell.send(output.read_to_end(&mut Vec::new())));
    let end = ends.recv_timeout(Duration::from_secs(10));
    drop(unread);
    assert!(end.is_ok(), "it waits for whoever reads why it ends");
    assert_eq!(server.wait().expect("it has ended").code(), Some(1));
}

#[test]
fn init_writes_a_file_that_check_accepts_and_overwrites_only_when_forced() {
    let scratch = Scratch::new("init");
    let file = scratch.file("tidegate.toml");
    let defaults = "\n".repeat(30);
    let (code, out, err) = run_with_input(&["init", "--output", &file], &defaults);
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    assert!(out.contains(&format!("wrote {file}")), "{out}");
    let (code, out, err) = run(&["check", &file]);
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    let (code, out, _) = run(&["lint", "--config", &file]);
    assert_eq!((code, out), (0, format!("{file}: nothing to say\n")));

    let (code, _, err) = run_with_input(&["init", "--output", &file], &defaults);
    assert_eq!((code, err), (1, format!("{file} exists; --force overwrites it\n")));
    let before = std::fs::read_to_string(&file).expect("it is there");
    let answers = format!("127.0.0.1:7009\n{defaults}");
    let (code, ..) = run_with_input(&["init", "--force", "--output", &file], &answers);
    assert_eq!(code, 0);
    let after = std::fs::read_to_string(&file).expect("it is there");
    assert_ne!(before, after);
    assert!(after.contains("interfaces = \"127.0.0.1:7009\""));
}

#[test]
fn init_without_answers_writes_nothing_and_exits_1() {
    let scratch = Scratch::new("noinput");
    let file = scratch.file("tidegate.toml");
    let (code, _, err) = run(&["init", "--output", &file]);
    assert_eq!(code, 1);
    assert_eq!(err, "the input ended before the question: Address for clients over TCP\n");
    assert!(!Path::new(&file).exists());
}

#[test]
fn help_and_version_exit_0_and_wrong_usage_exits_2() {
    let (code, out, _) = run(&["--version"]);
    assert_eq!((code, out), (0, format!("tidegate {}\n", env!("CARGO_PKG_VERSION"))));
    let (code, out, _) = run(&["--help"]);
    assert_eq!(code, 0);
    for command in ["run", "check", "lint", "explain", "candidate", "init", "demo", "sandbox"] {
        assert!(out.contains(&format!("\n  {command}")), "{out}");
    }
    for wrong in [
        &["serve"][..],
        &["check"],
        &["run", "--io", "uring"],
        &["run", "--log-level", "loud"],
        &["sandbox", "--replicas", "99"],
        &[],
    ] {
        assert_eq!(run(wrong).0, 2, "{wrong:?}");
    }
}

#[test]
fn a_recording_is_replayed_and_compared_and_what_is_wrong_has_its_line() {
    let scratch = Scratch::new("replay");
    let head = r#"{"tidegate_topology_recording":1}"#;
    let wanted = r#"{"adopt":{"clusters":{"pairs":[{"check":"ReadOnly","reader":20,"writer":10}]},
        "servers":[{"hostgroup_id":20,"hostname":"db1"}]},"at_us":1000000}"#;
    let wanted = wanted.replace('\n', "");
    let answered = r#""hear":{"seen":{"read_only":["ReadOnly",{"ok":false}]},
        "server":{"hostname":"db1","port":3306}}}"#;
    let answered = format!("{{\"at_us\":2500000,{}", answered.replace('\n', ""));
    let replay = |text: &str| run(&["replay-topology", &scratch.write("recording", text)]);
    let whole = format!("{head}\n{wanted}\n{answered}\n");
    let (code, out, err) = replay(&whole);
    assert_eq!((code, err.as_str()), (0, ""));
    let changed = "1970-01-01 00:00:02.500000 10 db1:3306 - ONLINE it answered read_only=0";
    let expected = format!(
        "1970-01-01 00:00:01.000000 20 db1:3306 - ONLINE the configuration was changed\n{changed}\n\
         \n  server    status  lag_s  latency_us  since                reason\n\
         hostgroup 10, writer\n  \
         db1:3306  ONLINE  -      -           1970-01-01 00:00:02  it answered read_only=0\n\
         hostgroup 20, reader\n  \
         db1:3306  ONLINE  -      -           1970-01-01 00:00:01  the configuration was changed\n"
    );
    assert_eq!(out, expected);

    let other = whole.replace("\"hear\"", "\"events\":[\"10 db1:3306 - SHUNNED why\"],\"hear\"");
    let (code, out, _) = replay(&other);
    let told = "line 3: then 10 db1:3306 - SHUNNED why, now 10 db1:3306 - ONLINE it answered";
    assert!(code == 1 && out.contains(told), "{code}: {out}");
    assert!(out.ends_with("\n1 changes are not as they were\n"), "{out}");
    for (text, why) in [
        (whole.replace("\"read_only\"", "\"read_once\""), ":3: `hear`: `seen`: `read_once`"),
        (format!("{whole}{answered}"), ":4: the line has no end"),
        (wanted, ":1: the line has no end"),
        ("SELECT 1\n".to_owned(), ":1: no JSON: "),
        (String::new(), ":1: no recording: the file is empty"),
    ] {
        let (code, _, err) = replay(&text);
        assert!(code == 2 && err.contains(why), "{code}: {err}");
    }
    assert_eq!(run(&["replay-topology", &scratch.file("none")]).0, 2);
}
