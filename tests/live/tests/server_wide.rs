//! Settings of whole servers, such as how they read texts: what sessions begin with is the same
//! directly and through the proxy, whichever connection they meet.

use lab::Flavour;
use live::{Proxy, Raw};

fn proxy(port: u16) -> Proxy {
    Proxy::start(|interfaces| {
        format!(
            "[mysql_variables]\ninterfaces = \"{interfaces}\"\nthreads = 1\n\n\
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
