//! TLS towards servers: that it is had where it is demanded, what is verified, and that nothing
//! goes another way when it cannot be had.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread;
use std::time::Duration;

use lab::{Cluster, Flavour};
use live::client::{account, connect, refusal};
use live::{Pki, Program, Proxy};
use mysql::prelude::Queryable;
use mysql::{Conn, OptsBuilder};
use wire::connect::Greeting;
use wire::frame;
use wire::reply::{OkPacket, write_ok};
use wire::{Caps, Status};

const FLAVOURS: [Flavour; 2] = [Flavour::MariaDb, Flavour::MySql];

/// Servers that show this certificate, and have an account that nobody uses in clear text.
fn servers(pki: &Pki, flavour: Flavour, shown: &str) -> Option<Cluster> {
    let words = pki.options(shown);
    let words: Vec<_> = words.iter().map(String::as_str).collect();
    let cluster = live::cluster_with("TLS to servers", flavour, 0, &words)?;
    for text in [
        "CREATE USER sealed IDENTIFIED BY 'app' REQUIRE SSL",
        "GRANT ALL ON *.* TO sealed",
        "CREATE USER shown IDENTIFIED BY 'app' REQUIRE SUBJECT '/CN=client'",
        "GRANT ALL ON *.* TO shown",
    ] {
        cluster.primary().sql(text).expect(text);
    }
    Some(cluster)
}

/// A configuration whose one server has TLS.
fn configuration(host: &str, port: u16, interfaces: &str, variables: &str) -> String {
    format!(
        "[mysql_variables]\ninterfaces = \"{interfaces}\"\nthreads = 1\n\
         monitor_username = \"sealed\"\nmonitor_password = \"app\"\n\
         connect_timeout_server_max = 3000\n{variables}\n\
         [[mysql_users]]\nusername = \"sealed\"\npassword = \"app\"\n\
         [[mysql_users]]\nusername = \"shown\"\npassword = \"app\"\n\
         [[mysql_servers]]\nhostgroup_id = 0\nhostname = \"{host}\"\nport = {port}\nuse_ssl = 1\n"
    )
}

fn proxy(host: &str, port: u16, variables: &str) -> Proxy {
    Proxy::start(|interfaces| configuration(host, port, &interfaces, variables))
        .expect("tidegate starts")
}

fn sealed(port: u16) -> OptsBuilder {
    account(port, "sealed", "app")
}

/// The version of TLS on a session's connection to its server; `Err` with the last reason why there
/// is none.
fn version(options: OptsBuilder) -> Result<String, String> {
    let mut conn = Conn::new(options).expect("the proxy lets it in");
    match conn.query_first::<(String, String), _>("SHOW SESSION STATUS LIKE 'Ssl_version'") {
        Ok(row) => Ok(row.expect("a row").1),
        Err(error) => {
            let (code, _, message) = refusal(&error);
            assert_eq!(code, 9001, "{message}");
            let why = message.split_once("(last answer: ");
            let why = why.unwrap_or_else(|| panic!("no reason: {message}")).1;
            Err(why.trim_end_matches(')').to_owned())
        }
    }
}

#[test]
fn a_server_is_taken_for_itself_by_what_vouches_for_it() {
    let pki = Pki::new();
    let unknown = "no authority that is configured vouches for the server's certificate; \
                   ssl_p2s_ca, or ssl_ca in mysql_servers_ssl_params, may name a file of its \
                   authority or of itself";
    let other_name = "the server's certificate is for elsewhere.example, and not for 127.0.0.1";
    for flavour in FLAVOURS {
        for shown in ["server", "elsewhere"] {
            let Some(cluster) = servers(&pki, flavour, shown) else { continue };
            let port = cluster.primary().port;
            let is_named = shown == "server";
            let named = |why| if is_named { Ok(()) } else { Err(why) };
            for (ca, verify, outcome) in [
                ("ca", "identity", named(other_name)),
                (shown, "identity", named(other_name)),
                ("ca", "ca", Ok(())),
                ("stranger", "ca", Err(unknown)),
                ("stranger", "none", Ok(())),
            ] {
                let mut variables = pki.variables(&[("ssl_p2s_ca", ca)]);
                variables += &format!("ssl_p2s_verify = \"{verify}\"\n");
                let proxy = proxy("127.0.0.1", port, &variables);
                let outcome = outcome
                    .map(|()| "TLSv1.3".to_owned())
                    .map_err(|why| format!("2026 (HY000): TLS to 127.0.0.1:{port} failed: {why}"));
                let told = version(sealed(proxy.port));
                assert_eq!(told, outcome, "{flavour:?}, {shown}: {verify} by {ca}");
            }
        }
    }
}

#[test]
fn a_certificate_of_x_509_v1_is_judged_as_any_other() {
    let pki = Pki::new();
    // what instructions for servers make with openssl
    let path = |name: &str| pki.dir.path().join(name).into_os_string().into_string().expect("text");
    let (key, request) = (path("old-key.pem"), path("old.csr"));
    let (ca, ca_key, old) = (path("old-ca.pem"), path("old-ca-key.pem"), path("old.pem"));
    for words in [
        vec!["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=old authority"],
        vec!["req", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost"],
        vec!["x509", "-req", "-days", "30", "-set_serial", "1"],
    ] {
        let files = match words[1] {
            "-x509" => vec!["-keyout", &ca_key, "-out", &ca],
            "-newkey" => vec!["-keyout", &key, "-out", &request],
            _ => vec!["-in", &request, "-CA", &ca, "-CAkey", &ca_key, "-out", &old],
        };
        let limit = Duration::from_secs(30);
        let made = Program::new("openssl").args(words.iter().chain(&files)).limit(limit).run();
        assert!(made.success, "{}", made.errors);
    }
    let Some(cluster) = servers(&pki, Flavour::MariaDb, "old") else { return };
    let port = cluster.primary().port;
    let trusting = |ca: &str, more: &str| pki.variables(&[("ssl_p2s_ca", ca)]) + more;
    for more in ["", "ssl_p2s_cipher = \"ECDHE-RSA-AES128-GCM-SHA256\"\n"] {
        let proxy = proxy("localhost", port, &trusting("old-ca", more));
        assert_eq!(version(sealed(proxy.port)).as_deref(), Ok("TLSv1.3"));
    }
    let by_name = version(sealed(proxy("127.0.0.1", port, &trusting("old-ca", "")).port));
    let why = by_name.expect_err("its name is another one");
    assert!(why.ends_with("is for localhost, and not for 127.0.0.1"), "{why}");
    let why = version(sealed(proxy("localhost", port, &trusting("ca", "")).port));
    let why = why.expect_err("its authority is another one");
    assert!(why.contains("no authority that is configured vouches"), "{why}");
}

#[test]
fn passwords_and_certificates_of_tidegate_s_own_go_to_a_server_that_is_trusted() {
    let pki = Pki::new();
    for flavour in FLAVOURS {
        let Some(cluster) = servers(&pki, flavour, "server") else { continue };
        let port = cluster.primary().port;
        let trusting = pki.variables(&[("ssl_p2s_ca", "ca")]);
        let own = [("ssl_p2s_cert", "client"), ("ssl_p2s_key", "client-key")];
        let plain = proxy("127.0.0.1", port, &trusting);
        // MySQL does not know the password yet, and wants it as it is
        assert_eq!(version(sealed(plain.port)).as_deref(), Ok("TLSv1.3"));
        let shown = |port| version(account(port, "shown", "app"));
        let refused = shown(plain.port).expect_err("it shows no certificate");
        assert!(refused.starts_with("1045 (28000): Access denied for user 'shown'"), "{refused}");
        let showing = proxy("127.0.0.1", port, &(trusting + &pki.variables(&own)));
        assert_eq!(shown(showing.port).as_deref(), Ok("TLSv1.3"));
    }
}

#[test]
fn what_goes_by_a_connection_goes_by_tls_as_well() {
    let pki = Pki::new();
    for flavour in FLAVOURS {
        let Some(cluster) = servers(&pki, flavour, "server") else { continue };
        let port = cluster.primary().port;
        let variables = pki.variables(&[("ssl_p2s_ca", "ca")]);
        let proxy = proxy("127.0.0.1", port, &variables);
        let clients: Vec<_> = (0..16_u32)
            .map(|client| {
                let options = sealed(proxy.port);
                thread::spawn(move || {
                    let mut conn = connect(options);
                    for number in 0..100_u32 {
                        let asked = client * 1000 + number;
                        let told = conn.query_first::<u32, _>(format!("SELECT {asked}"));
                        assert_eq!(told.expect("an answer"), Some(asked));
                        let told = conn.exec_first::<u32, _, _>("SELECT ? + 1", (asked,));
                        assert_eq!(told.expect("an answer"), Some(asked + 1));
                    }
                })
            })
            .collect();
        clients.into_iter().for_each(|client| client.join().expect("it ran"));
        // more than a packet has room for, both ways
        let mut conn = connect(sealed(proxy.port));
        let long = vec![b'x'; 17 << 20];
        let told = conn.exec_first::<(usize, Vec<u8>), _, _>("SELECT LENGTH(?), ?", (&long, &long));
        assert!(told.expect("an answer") == Some((long.len(), long)), "it is what was sent");
        // a kill goes by a connection of its own
        let id = conn.connection_id();
        let asks = thread::spawn(move || conn.query_first::<u32, _>("SELECT SLEEP(20)"));
        let mut other = connect(sealed(proxy.port));
        live::eventually("it is killed", Duration::from_secs(10), || {
            // one that comes too late is told so
            drop(other.query_drop(format!("KILL QUERY {id}")));
            asks.is_finished()
        });
        // MariaDB tells an error, MySQL a value
        let told = asks.join().expect("it ran");
        assert!(told.as_ref().map_or(true, |value| *value == Some(1)), "{told:?}");
        assert_eq!(proxy.counter("server_tls_failures").expect("counted"), 0);
        live::eventually("it is checked", Duration::from_secs(5), || {
            cluster.primary().value(CHECKED).expect("told") != "0"
        });
        assert!(!proxy.log().contains("the check of a server fails"), "{}", proxy.log());
    }
}

/// Connections of the monitor, which are the only ones that nobody gave a schema or a statement.
const CHECKED: &str = "SELECT COUNT(*) FROM information_schema.processlist WHERE user = 'sealed'";

#[test]
fn a_server_without_tls_gets_nothing() {
    for flavour in FLAVOURS {
        let off = if flavour == Flavour::MariaDb { "--skip-ssl" } else { "--tls-version=" };
        let Some(cluster) = live::cluster_with("no TLS", flavour, 0, &[off]) else { continue };
        let port = cluster.primary().port;
        let proxy = proxy("127.0.0.1", port, "");
        let why = version(account(proxy.port, "shown", "app")).expect_err("there is no TLS");
        let right =
            format!("2026 (HY000): TLS to 127.0.0.1:{port} failed: the server offers no TLS");
        assert_eq!(why, right);
    }
}

#[test]
fn an_account_that_demands_tls_where_there_is_none_is_told_of() {
    let pki = Pki::new();
    let plain = |host: &str, port| {
        let without = move |interfaces: String| {
            configuration(host, port, &interfaces, "get_server_public_key = true")
                .replace("use_ssl = 1", "use_ssl = 0")
                .replace(
                    "\"app\"\n[[mysql_servers]]",
                    "\"app\"\nfast_forward = 1\n[[mysql_servers]]",
                )
        };
        Proxy::start(without).expect("tidegate starts")
    };
    let hint = "; the server may demand TLS of this account: set use_ssl = 1 for";
    for flavour in FLAVOURS {
        let Some(cluster) = servers(&pki, flavour, "server") else { continue };
        let port = cluster.primary().port;
        let proxy = plain("127.0.0.1", port);
        let in_words = format!("{hint} 127.0.0.1:{port} in mysql_servers");
        let why = version(sealed(proxy.port)).expect_err("it is refused");
        assert!(why.starts_with("1045 (28000): Access denied for user 'sealed'"), "{why}");
        assert!(why.ends_with(&in_words), "{flavour:?}: {why}");
        // one that is relayed learns it at its login
        let refused = Conn::new(account(proxy.port, "shown", "app")).expect_err("it is refused");
        let (code, _, message) = refusal(&refused);
        assert_eq!(code, 9001, "{message}");
        assert!(message.contains("user 'shown'") && message.contains(&in_words), "{message}");
        live::eventually("the log has both", Duration::from_secs(5), || {
            let log = proxy.log();
            let told = |words: &str| log.lines().any(|line| line.contains(words));
            told(&in_words) && told(&format!("{hint} it in mysql_servers"))
        });
    }
    let Some(cluster) = live::cluster_with("no TLS", FLAVOURS[0], 0, &["--skip-ssl"]) else {
        return;
    };
    let proxy = plain("127.0.0.1", cluster.primary().port);
    let why = version(sealed(proxy.port)).expect_err("there is no such account");
    assert!(why.starts_with("1045") && !why.contains("TLS"), "{why}");
}

#[test]
fn what_comes_in_clear_behind_a_greeting_is_no_answer() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("told").port();
    let (told, heard) = std::sync::mpsc::channel();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.expect("accepted");
            let greeting = Greeting {
                server_version: b"8.0.36",
                connection_id: 7,
                scramble: [b'a'; 20],
                caps: client::Login::new("", "").caps.union(Caps::SSL),
                collation: 45,
                status: Status::AUTOCOMMIT,
                plugin: b"mysql_native_password",
            };
            let mut bytes = Vec::new();
            frame::write_with(&mut bytes, &mut 0, |payload| greeting.encode(payload));
            let ok = OkPacket { status: Status::AUTOCOMMIT, ..OkPacket::default() };
            for seq in [2_u8, 3, 1, 2] {
                write_ok(&mut bytes, &mut { seq }, greeting.caps, &ok);
            }
            if stream.write_all(&bytes).is_ok() {
                let mut heard = Vec::new();
                let _ = stream.set_read_timeout(Some(Duration::from_secs(5)));
                let _ = stream.read_to_end(&mut heard);
                let _ = told.send(heard);
            }
        }
    });
    let variables = "ssl_p2s_verify = \"none\"\nmonitor_enabled = false\n";
    let proxy = proxy("127.0.0.1", port, variables);
    let why = version(sealed(proxy.port)).expect_err("it is no server");
    assert!(why.contains("failed: received corrupt message"), "{why}");
    drop(proxy);
    // nothing came back to who only looked at the greeting
    let told = heard.iter().find(|heard| !heard.is_empty()).expect("a login");
    // a request for TLS, and then nothing but records: a greeting of a client, and an alert
    assert_eq!(told.get(..4), Some(&b"\x20\0\0\x01"[..]), "{told:?}");
    assert_eq!(told.get(36), Some(&22), "{told:?}");
    assert!(!told.windows(6).any(|part| part == b"sealed"), "{told:?}");
}

#[test]
fn a_mariadb_proves_by_the_password_that_its_certificate_is_its_own() {
    let Some(cluster) = live::cluster("TLS without configuration", Flavour::MariaDb, 0) else {
        return;
    };
    let port = cluster.primary().port;
    let server = |password: &str| {
        // servers prove it from 11.4.1 on, and so does whoever is called so
        let config = |interfaces: String| {
            format!(
                "[mysql_variables]\ninterfaces = \"{interfaces}\"\n\
                 server_version = \"11.4.5-MariaDB\"\n\
                 [[mysql_users]]\nusername = \"app\"\npassword = \"{password}\"\n\
                 [[mysql_servers]]\nhostgroup_id = 0\nhostname = \"127.0.0.1\"\n\
                 port = {port}\n"
            )
        };
        Proxy::start(config).expect("tidegate starts")
    };
    let client = |server: &Proxy| {
        let config = |interfaces: String| {
            let verify = "ssl_p2s_verify = \"password\"";
            configuration("127.0.0.1", server.port, &interfaces, verify)
                .replace("\"sealed\"", "\"app\"")
        };
        Proxy::start(config).expect("tidegate starts")
    };
    let proves = server("app");
    let through = client(&proves);
    let mut conn = connect(account(through.port, "app", "app"));
    conn.query_drop("BEGIN").expect("begun");
    let told = conn.query_first::<String, _>("PROXYSQL INTERNAL SESSION").expect("told");
    let told: serde_json::Value = serde_json::from_str(&told.expect("a row")).expect("JSON");
    let conn = &told["backends"][0]["conn"];
    let seen = ["ssl_version", "ssl_verified"].map(|name| conn[name].as_str());
    assert_eq!(seen, [Some("TLSv1.3"), Some("password")], "{told}");
}
