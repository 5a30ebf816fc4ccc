use super::*;

const NATIVE: &str = "*14E65567ABDB5135D0CFD9A70B3032C179A49EE7";

fn answer(rows: &[[&str; 5]]) -> TextResult {
    let rows = rows.iter().map(|row| row.iter().map(|it| Some((*it).to_owned())).collect());
    TextResult { rows: rows.collect(), ..TextResult::default() }
}

#[test]
fn the_row_counts_by_which_a_server_would_know_us() {
    let of = |host| ["app", host, "mysql_native_password", NATIVE, ""];
    // each is known before all behind it
    let hosts = ["10.0.0.7", "10.0.0.0/255.255.255.0", "10.0.0.%", "10.0.%", "10.%", "%", ""];
    for (at, host) in hosts.iter().enumerate() {
        let locked =
            |host: &&'static str| ["app", host, "mysql_native_password", NATIVE, "it is locked"];
        let mut rows: Vec<_> = hosts[at + 1..].iter().map(locked).chain([of(host)]).collect();
        for _ in 0..2 {
            assert!(credential("app", &by_user(&answer(&rows))).is_ok(), "{host}");
            rows.reverse();
        }
        let without = credential("app", &by_user(&answer(&rows[..rows.len() - 1]))).err();
        let why = if rows.len() > 1 { "it is locked" } else { "it has no such account for us" };
        assert_eq!(without.as_deref(), Some(why), "{host}");
    }
}

#[test]
fn what_cannot_be_used_is_said() {
    let why = |plugin, hash| {
        let rows =
            [["App", "%", "mysql_native_password", NATIVE, ""], ["app", "%", plugin, hash, ""]];
        credential("app", &by_user(&answer(&rows))).err().unwrap_or_default()
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
