use engine::rows::{ServerRow, UserRow};
use engine::snapshot::Draft;

use super::*;

const NATIVE: &str = "*14E65567ABDB5135D0CFD9A70B3032C179A49EE7";

fn answer<const COLUMNS: usize>(rows: &[[&str; COLUMNS]]) -> TextResult {
    let rows = rows.iter().map(|row| row.iter().map(|it| Some((*it).to_owned())).collect());
    TextResult { rows: rows.collect(), ..TextResult::default() }
}

#[test]
fn the_row_counts_by_which_a_server_would_know_us() {
    let of = |host| ["app", host, "mysql_native_password", NATIVE, ""];
    // each is known before all behind it
    let networks = ["10.0.0.0/24", "10.0.0.0/8", "10.0.0.0/255.255.255.0", "10.0.0.0/255.255.0.0"];
    let patterns = ["10.0.0.%", "10.0.%", "10.%", "%", ""];
    let hosts = [&["10.0.0.7"][..], &networks, &patterns].concat();
    for (at, host) in hosts.iter().enumerate() {
        let locked =
            |host: &&'static str| ["app", host, "mysql_native_password", NATIVE, "it is locked"];
        let mut rows: Vec<_> = hosts[at + 1..].iter().map(locked).chain([of(host)]).collect();
        for _ in 0..2 {
            assert!(credentials("app", &by_user(&answer(&rows))).is_ok(), "{host}");
            rows.reverse();
        }
        let without = credentials("app", &by_user(&answer(&rows[..rows.len() - 1]))).err();
        let why = if rows.len() > 1 { "it is locked" } else { "it has no such account for us" };
        assert_eq!(without.as_deref(), Some(why), "{host}");
    }
}

#[test]
fn what_cannot_be_used_is_said() {
    let why = |plugin, hash| {
        let rows =
            [["App", "%", "mysql_native_password", NATIVE, ""], ["app", "%", plugin, hash, ""]];
        credentials("app", &by_user(&answer(&rows))).err().unwrap_or_default()
    };
    assert_eq!(why("mysql_native_password", NATIVE), "");
    let other = why("unix_socket", "");
    assert_eq!(other, "its plugin is unix_socket, by which no password can be checked here");
    for plugin in ["ed25519", "parsec", "sha256_password"] {
        assert_eq!(why(plugin, NATIVE), format!("what {plugin} has of it is no hash"));
        assert_eq!(why(plugin, ""), format!("what {plugin} has of it is no hash"));
    }
    assert_eq!(why("ed25519", "ZIgUREUg5PVgQ6LskhXmO+eZLS0nC8be6HPjYWR4YJY"), "");
    // each try of a client would take a worker that long
    let long = format!("$A$0FF${}", "x".repeat(63));
    assert_eq!(why("caching_sha2_password", &long), "its hash has more than 20,000 rounds");
    // what a server has of an account that nobody may use
    let invalid = why("mysql_native_password", "invalid");
    assert_eq!(invalid, "what mysql_native_password has of it is no hash");
    assert_eq!(
        why("caching_sha2_password", "$A$005$"),
        "a caching_sha2_password hash has 70 bytes, this one has 7"
    );
}

/// Accounts that leave their passwords to the servers of a hostgroup.
fn snapshot(of: &[(&str, i64)]) -> Snapshot {
    let row = |(name, hostgroup): &(&str, i64)| UserRow {
        username: (*name).to_owned(),
        default_hostgroup: *hostgroup,
        attributes: r#"{"password_from": "servers"}"#.to_owned(),
        ..UserRow::default()
    };
    let server =
        |hostgroup_id| ServerRow { hostgroup_id, hostname: "db".into(), ..Default::default() };
    let (users, servers) = (of.iter().map(row).collect(), vec![server(0), server(1)]);
    Snapshot::compile(&Draft { users, servers, ..Draft::default() }).expect("valid")
}

#[test]
fn a_slow_reading_says_nothing_of_accounts_that_are_elsewhere_now() {
    let of = |byte: u8| Credential::Native([byte; 20]);
    let found_on = |host: &str, of: &[(&str, Credential)]| -> ReadPasswords {
        let read = |primary: &Credential| ReadPassword {
            primary: primary.clone(),
            additional: None,
            server: (host.into(), 3306),
        };
        of.iter().map(|(name, it)| ((*name).into(), read(it))).collect()
    };
    let found = |of: &[(&str, Credential)]| found_on("db", of);
    // `moved` and `gone` were in hostgroup 0 when that was asked
    let read = found(&[("moved", of(2)), ("gone", of(3)), ("other", of(4))]);
    let before = snapshot(&[("moved", 1), ("stays", 0), ("other", 1)]);
    let before = before.with_passwords(read).expect("valid");
    let late = found(&[("moved", of(7)), ("gone", of(8)), ("stays", of(9))]);
    let known = known_with(&before, HostgroupId(0), &late);
    assert!(known == found(&[("moved", of(2)), ("other", of(4)), ("stays", of(9))]));
    // nor does one on a server that is elsewhere now
    let late = found_on("gone", &[("stays", of(9))]);
    let known = known_with(&before, HostgroupId(0), &late);
    assert!(known == found(&[("moved", of(2)), ("other", of(4))]));
}

#[test]
fn a_reading_that_goes_on_is_the_only_one_of_its_hostgroup() {
    let (go, wait) = std::sync::mpsc::channel::<()>();
    let thread = thread::spawn(move || {
        wait.recv().expect("it is let go");
        Told::default()
    });
    let of = BTreeSet::from([Box::<str>::from("app")]);
    let others = BTreeSet::new();
    let server = |port| vec![Endpoint { hostname: "db".to_owned(), port }];
    let asked = (of.clone(), server(1));
    let reading = Reading { began: Instant::now(), of: asked, thread: Some(thread) };
    let others = (others, server(1));
    assert!(reading.goes_on() && reading.is_enough(Duration::ZERO, &others));
    go.send(()).expect("it waits");
    while reading.goes_on() {
        thread::yield_now();
    }
    assert!(!reading.is_enough(Duration::ZERO, &others));
    // another one is due at once where accounts or servers are others
    let long = Duration::from_secs(1000);
    assert!(reading.is_enough(long, &(of.clone(), server(1))));
    assert!(!reading.is_enough(long, &others) && !reading.is_enough(long, &(of, server(2))));
}

#[test]
fn what_is_gone_is_told_again_when_it_is_back() {
    let server = |port| Endpoint { hostname: "db".to_owned(), port };
    let account = |name: &str| About::Account(name.into());
    let mut told = Told::default();
    assert!(told.is_news(account("a"), "locked") && told.is_news(account("b"), "locked"));
    assert!(told.is_news(About::Server(server(1)), "silent"));
    assert!(!told.is_news(account("a"), "locked") && told.is_news(account("a"), "read"));
    told.keep(&BTreeSet::from(["a".into()]), &[server(2)]);
    assert_eq!(told.0.len(), 1);
    assert!(!told.is_news(account("a"), "read") && told.is_news(account("b"), "locked"));
}

#[test]
fn the_password_of_before_is_right_as_well() {
    let read = |password: &str, before: &str| {
        let rows = [["app", "%", "mysql_native_password", password, "", before]];
        credentials("app", &by_user(&answer(&rows)))
    };
    let other = NATIVE.replace('1', "2");
    let parse = |hash: &str| Credential::read("mysql_native_password", hash.as_bytes()).ok();
    assert!(read(NATIVE, &other).ok() == parse(NATIVE).map(|it| (it, parse(&other))));
    assert!(read(NATIVE, "").is_ok_and(|(_, before)| before.is_none()));
    // what is of no use takes nothing from the one of now, nor does the one of before stand for it
    assert!(read(NATIVE, "no hash").is_ok_and(|(_, before)| before.is_none()));
    assert!(read("no hash", NATIVE).is_err());
    let locked = [["app", "%", "mysql_native_password", NATIVE, "it is locked", &other]];
    assert!(credentials("app", &by_user(&answer(&locked))).is_err());
}
