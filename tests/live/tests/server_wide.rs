//! Settings of whole servers, such as how they read texts: what sessions begin with is the same
//! directly and through the proxy, whichever connection they meet.

use lab::Flavour;
use live::{Proxy, Raw};

fn proxy(port: u16) -> Proxy {
    Proxy::start(|interfaces| {
        format!(
            "[mysql_variables]\ninterfaces = \"{interfaces}\"\nthreads = 1\n\
             get_server_public_key = true\n\n\
             [[mysql_users]]\nusername = \"app\"\npassword = \"app\"\n\
             default_hostgroup = 0\n\n\
             [[mysql_servers]]\nhostgroup_id = 0\nhostname = \"127.0.0.1\"\nport = {port}\n\
             max_connections = 2\n"
        )
    })
    .expect("tidegate starts")
}

/// Drivers read texts, and escape them, as the greeting and the end of the login say. Other
/// sessions have met the connections before.
#[test]
fn what_servers_begin_with_is_what_sessions_begin_with() {
    let Some(cluster) = live::cluster("server-wide settings", Flavour::MariaDb, 0) else { return };
    let primary = cluster.primary();
    primary.sql("CREATE TABLE test.w (a INT)").expect("created");
    for (number, settings) in [
        "sql_mode = 'NO_BACKSLASH_ESCAPES'",
        "sql_mode = 'ANSI_QUOTES,NO_BACKSLASH_ESCAPES'",
        "sql_mode = 'ORACLE', autocommit = 0",
        "sql_mode = '', autocommit = 1",
    ]
    .into_iter()
    .enumerate()
    {
        primary.sql(&format!("SET GLOBAL {}", settings.replace(", ", ", GLOBAL "))).expect("set");
        let proxy = proxy(primary.port);
        for round in 0..3 {
            let told = [primary.port, proxy.port].map(|port| {
                let mut end = Raw::login(port, "app", "app").expect("logged in");
                let mut flags = vec![end.greeted_status, end.login_status];
                // a ping, something that needs no server, a reset, a text with a lock behind
                // what is a string to one mode only
                for command in [&b"\x0e"[..], b"\x03SET @x = 1", b"\x1f", b"\x0e"] {
                    end.send(0, command).expect("sent");
                    let (_, ok) = end.receive().expect("answered");
                    flags.push(u16::from_le_bytes([ok[3], ok[4]]) & !0x4000);
                }
                let lock = format!("SELECT 'a\\', GET_LOCK('l{number}{round}', 0), 'b'");
                let locks = end.first_row(&lock).map_err(|_| ());
                let free = format!("SELECT IS_FREE_LOCK('l{number}{round}')");
                let free = Raw::login(port, "app", "app").and_then(|mut end| end.first_row(&free));
                let write = b"\x03INSERT INTO test.w VALUES (1)";
                end.send(0, write).and_then(|()| end.receive()).expect("written");
                let count = "SELECT COUNT(*), @@autocommit, @@sql_mode FROM test.w";
                let seen = end.first_row(count).expect("counted");
                end.send(0, b"\x03ROLLBACK").and_then(|()| end.receive()).expect("rolled back");
                end.send(0, b"\x03DELETE FROM test.w").and_then(|()| end.receive()).expect("gone");
                end.send(0, b"\x03COMMIT").and_then(|()| end.receive()).expect("committed");
                (flags, locks, free.expect("asked"), seen)
            });
            assert_eq!(told[0], told[1], "{settings}, round {round}");
        }
    }
}

/// MySQL shows the flag of `autocommit` where it is off for everybody. What a client sets against
/// that is set, and its `COMMIT` begins a transaction where that is so for everybody.
#[test]
fn what_clients_do_is_done_whatever_sessions_begin_with() {
    for flavour in [Flavour::MariaDb, Flavour::MySql] {
        let Some(cluster) = live::cluster("server-wide settings", flavour, 0) else { return };
        let primary = cluster.primary();
        primary.sql("CREATE TABLE test.w (a INT)").expect("created");
        primary.sql("SET GLOBAL autocommit = 0, GLOBAL completion_type = 1").expect("set");
        let proxy = proxy(primary.port);
        let rows = || primary.value("SELECT COUNT(*) FROM test.w").expect("counted");
        for round in 1..4 {
            let mut end = Raw::login(proxy.port, "app", "app").expect("logged in");
            let mut run = |text: &str| {
                end.send(0, &[b"\x03", text.as_bytes()].concat()).expect("sent");
                let (_, ok) = end.receive().expect("answered");
                assert_eq!(ok[0], 0, "{}", ok.escape_ascii());
            };
            run("INSERT INTO test.w VALUES (1)");
            run("ROLLBACK AND NO CHAIN");
            run("SET autocommit = 1");
            run("INSERT INTO test.w VALUES (1)");
            let kept = format!("{round}");
            assert_eq!(rows(), kept, "{}: it is committed at once", flavour.name());
            for end in ["COMMIT", "ROLLBACK"] {
                run(end);
                run("INSERT INTO test.w VALUES (1)");
                assert_eq!(rows(), kept, "{}: {end} has begun a transaction", flavour.name());
                run("ROLLBACK AND NO CHAIN");
            }
            run("INSERT INTO test.w VALUES (1)");
            run("DELETE FROM test.w LIMIT 1");
            assert_eq!(rows(), kept);
        }
    }
}
