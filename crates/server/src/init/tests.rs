//! The dialogue, driven as a script would: answers in, file out, and the file through `check`.

use super::*;
use crate::config::Loaded;

/// Composes with `answers`, one a line; the file's text and everything that was asked.
fn converse(answers: &[&str]) -> (anyhow::Result<String>, String) {
    let mut asked = Vec::new();
    let input = answers.iter().map(|answer| format!("{answer}\n")).collect::<String>();
    let text = compose(input.as_bytes(), &mut asked);
    (text, String::from_utf8(asked).expect("questions are text"))
}

/// Loads a text as the commands do.
fn loaded(name: &str, text: &str) -> Loaded {
    let file = std::env::temp_dir().join(format!("tidegate-{}-{name}.toml", std::process::id()));
    write(&file, text).expect("the temporary directory is writable");
    let loaded = config::load(&file);
    let mode = std::fs::metadata(&file).expect("it was written").permissions().mode();
    std::fs::remove_file(&file).expect("it was written");
    assert_eq!(mode & 0o777, 0o600);
    loaded.unwrap_or_else(|error| panic!("{error}\n{text}"))
}

#[test]
fn defaults_alone_make_a_valid_file_for_one_server() {
    let (text, _) = converse(&[""; 26]);
    let loaded = loaded("defaults", &text.expect("26 empty answers are enough"));
    assert_eq!(loaded.warnings, []);
    assert_eq!(loaded.draft.servers.len(), 1);
    assert_eq!(loaded.draft.servers[0].hostname, "127.0.0.1");
    assert_eq!(loaded.draft.users[0].username, "app");
    assert!(loaded.draft.rules.is_empty());
    let vars = &loaded.snapshot.vars;
    assert_eq!(vars.interfaces.len(), 1);
    assert_eq!((vars.max_connections, vars.max_allowed_packet), (10_000, 67_108_864));
}

/// Answers for a primary, a replica behind a socket, one over IPv6, two users and the rules.
const FULL: &[&str] = &[
    "127.0.0.1:7001",
    "/tmp/tidegate-test.sock",
    "127.0.0.1:7002",
    "root:secret;ops:more",
    "3",
    "500",
    "1048576",
    "65536",
    "131072",
    "20",
    "40",
    "watcher",
    "eyes \"open\"",
    "db1:3310",
    "",
    "",
    "/run/db2.sock",
    "",
    "7",
    "[::1]:3312",
    "1",
    "0",
    "done",
    "ann",
    "p\\w\"d",
    "",
    "",
    "relay",
    "x",
    "1",
    "yes",
    "done",
    "yes",
    "",
    "",
];

#[test]
fn every_answer_reaches_the_configuration() {
    let (text, _) = converse(FULL);
    let text = text.expect("the answers are complete");
    let loaded = loaded("full", &text);
    let vars = &loaded.snapshot.vars;
    let interfaces: Vec<String> = vars.interfaces.iter().map(ToString::to_string).collect();
    assert_eq!(interfaces, ["127.0.0.1:7001", "/tmp/tidegate-test.sock"]);
    assert_eq!((vars.threads, vars.max_connections), (3, 500));
    assert_eq!((vars.max_allowed_packet, vars.threshold_query_length), (1_048_576, 65_536));
    assert_eq!((vars.threshold_resultset_size, vars.free_connections_pct), (131_072, 20));
    for (name, value) in [
        ("admin-mysql_ifaces", "127.0.0.1:7002"),
        ("admin-admin_credentials", "root:secret;ops:more"),
        ("mysql-monitor_username", "watcher"),
        ("mysql-monitor_password", "eyes \"open\""),
    ] {
        assert_eq!(vars.value(name).map(ToString::to_string).as_deref(), Some(value));
    }
    let servers: Vec<_> = loaded
        .draft
        .servers
        .iter()
        .map(|row| (row.hostgroup_id, row.hostname.as_str(), row.port, row.weight))
        .collect();
    let expected = [(0, "db1", 3310, 1), (1, "/run/db2.sock", 0, 7), (1, "::1", 3312, 0)];
    assert_eq!(servers, expected);
    assert!(loaded.draft.servers.iter().all(|row| row.max_connections == 40));
    let users: Vec<_> = loaded
        .draft
        .users
        .iter()
        .map(|row| (row.username.as_str(), row.password.as_slice(), row.default_hostgroup))
        .collect();
    assert_eq!(users, [("ann", &b"p\\w\"d"[..], 0), ("relay", b"x", 1)]);
    assert_eq!((loaded.draft.users[0].fast_forward, loaded.draft.users[1].fast_forward), (0, 1));
    let destinations: Vec<_> =
        loaded.draft.rules.iter().map(|row| (row.rule_id, row.destination_hostgroup)).collect();
    assert_eq!(destinations, [(1, Some(0)), (2, Some(1))]);
}

#[test]
fn a_wrong_answer_is_asked_again_with_the_reason() {
    let mut answers = vec!["6033", "0.0.0.0:6033", "tidegate.sock", "none"];
    answers.extend(["", "", "many", "0", "2"]);
    answers.extend([""; 25]);
    let (text, asked) = converse(&answers);
    assert!(text.expect("the answers are complete").contains("\nthreads = 2\n"));
    for reason in [
        "`6033` has no port; write ip:port, [ipv6]:port or /path/of.sock",
        "`tidegate.sock` is not an absolute path",
        "`many` is not a number; allowed are 1 to 255",
        "0 is out of range; allowed are 1 to 255",
    ] {
        assert!(asked.contains(reason), "{reason} is missing in\n{asked}");
    }
    assert_eq!(asked.matches("Worker threads (1 to 255)").count(), 3);
}

#[test]
fn no_listener_at_all_is_asked_for_again() {
    let mut answers = vec!["none", "none", "127.0.0.1:1234", "none"];
    answers.extend([""; 25]);
    let (text, asked) = converse(&answers);
    assert!(asked.contains("Clients need an address or a socket."));
    assert!(text.expect("complete").contains("interfaces = \"127.0.0.1:1234\""));
}

#[test]
fn the_same_server_or_user_is_not_taken_twice() {
    let mut answers = vec![""; 13];
    answers.extend(["db1", "", "", "db1:3306", "0", "", "done"]);
    answers.extend(["ann", "x", "", "", "ann", "done", "no"]);
    let (text, asked) = converse(&answers);
    let loaded = loaded("twice", &text.expect("complete"));
    assert_eq!((loaded.draft.servers.len(), loaded.draft.users.len()), (1, 1));
    assert!(asked.contains("that server is already in that hostgroup"));
    assert!(asked.contains("`ann` is already there"));
}

#[test]
fn input_that_ends_early_names_the_question_that_is_open() {
    let (text, _) = converse(&["127.0.0.1:6033"]);
    let error = text.expect_err("one answer is not enough").to_string();
    assert_eq!(error, "the input ended before the question: Unix socket for clients");
}
