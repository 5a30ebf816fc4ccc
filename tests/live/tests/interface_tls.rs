//! TLS where administrators and HTTP clients are served.

use std::ffi::OsString;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use lab::RunDir;
use live::{Kits, Program, Proxy, Raw, encrypted, eventually, skip};
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::ServerName;
use rustls::version::{TLS12, TLS13};
use rustls::{
    ClientConfig, ClientConnection, RootCertStore, StreamOwned, SupportedProtocolVersion,
};
use wire::command::code;

const SOON: Duration = Duration::from_secs(20);
const BOTH: [&SupportedProtocolVersion; 2] = [&TLS12, &TLS13];
/// Shows the account `exporter`, whose password is `shown`.
const EXPORTER: &str = "Authorization: Basic ZXhwb3J0ZXI6c2hvd24=\r\n";

/// A proxy without servers, in a directory in which it made its certificates.
struct Scene {
    proxy: Proxy,
    dir: RunDir,
    /// Of the administrative interface.
    admin: u16,
    http: u16,
}

impl Scene {
    fn new(variables: &str) -> Self {
        let [admin, http] = [(); 2].map(|()| lab::free_port().expect("a free port"));
        let dir = RunDir::create().expect("a directory");
        let words = [OsString::from("--datadir"), dir.path().into()];
        let config = |interfaces: String| {
            format!(
                "[admin_variables]\nmysql_ifaces = \"127.0.0.1:{admin}\"\n\
                 admin_credentials = \"admin:admin;operator:right\"\n\
                 stats_credentials = \"stats:stats;exporter:shown\"\n\
                 restapi_enabled = true\nrestapi_port = {http}\n\
                 restapi_tokens = \"a-token-that-nobody-guesses\"\n\
                 [mysql_variables]\ninterfaces = \"{interfaces}\"\nthreads = 1\n{variables}\n"
            )
        };
        let proxy = Proxy::start_with(&words, config).expect("tidegate starts");
        eventually("the interface greets", SOON, || live::greeting_of(admin).is_ok());
        Self { proxy, dir, admin, http }
    }

    fn authorities(&self) -> PathBuf {
        self.dir.path().join("tidegate-ca.pem")
    }

    fn trusting(&self, versions: &[&'static SupportedProtocolVersion]) -> Arc<ClientConfig> {
        encrypted::trusting(&self.authorities(), versions).expect("authorities")
    }

    /// The answer over HTTPS, its head included; an error is one of TLS.
    fn https(&self, tls: &Arc<ClientConfig>, line: &str, path: &str) -> std::io::Result<String> {
        let name = ServerName::try_from("localhost").expect("a name");
        let client = ClientConnection::new(tls.clone(), name).expect("a client");
        let stream = TcpStream::connect(("127.0.0.1", self.http))?;
        stream.set_read_timeout(Some(SOON))?;
        exchange(StreamOwned::new(client, stream), line, path)
    }

    /// The same in clear.
    fn http(&self, line: &str, path: &str) -> std::io::Result<String> {
        exchange(TcpStream::connect(("127.0.0.1", self.http))?, line, path)
    }

    fn logs(&self, text: &str) {
        eventually(text, SOON, || self.proxy.log().contains(text));
    }
}

fn exchange(mut stream: impl Read + Write, line: &str, path: &str) -> std::io::Result<String> {
    let request =
        format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n{line}Connection: close\r\n\r\n");
    stream.write_all(request.as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

/// A client that takes no certificate.
fn trusting_nobody() -> Arc<ClientConfig> {
    let config = ClientConfig::builder_with_provider(aws_lc_rs::default_provider().into())
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_root_certificates(RootCertStore::empty())
        .with_no_client_auth();
    Arc::new(config)
}

fn status(answer: &str) -> &str {
    answer.split(' ').nth(1).unwrap_or_default()
}

#[test]
fn administrators_speak_tls_and_others_still_do_not_have_to() {
    let scene = Scene::new("");
    for version in [&TLS12, &TLS13] {
        let tls = scene.trusting(&[version]);
        let mut admin = encrypted::log_in(scene.admin, &tls, "operator", "right").expect("let in");
        let row = encrypted::row_of(&mut admin, "SELECT 'told'").expect("a row");
        assert_eq!(row, b"\x04told");
        // more than one record, both ways
        let long = "x".repeat(100_000);
        let row = encrypted::row_of(&mut admin, &format!("SELECT '{long}'")).expect("a row");
        assert_eq!(row.len(), 4 + long.len());
        let refused = encrypted::log_in(scene.admin, &tls, "operator", "wrong").expect_err("not");
        assert!(refused.to_string().contains("Access denied for user 'operator'"), "{refused}");
        // which the next one waits for
        eventually("it is judged", SOON, || {
            encrypted::log_in(scene.admin, &tls, "operator", "right").is_ok()
        });
    }
    let mut clear = Raw::login(scene.admin, "operator", "right").expect("let in");
    assert_eq!(clear.first_row("SELECT 'told'").expect("a row"), b"\x04told");
}

#[test]
fn what_comes_in_clear_behind_the_request_is_never_run() {
    let scene = Scene::new("");
    let mut raw = Raw::open(scene.admin).expect("it accepts");
    raw.receive().expect("a greeting");
    let mut bytes = encrypted::request();
    wire::frame::write_packet(&mut bytes, &mut 2, &live::response("operator", b""));
    let injected = b"\x03INSERT INTO mysql_users (username) VALUES ('injected')";
    wire::frame::write_packet(&mut bytes, &mut 0, injected);
    raw.bytes(&bytes).expect("sent");
    let rest = raw.rest().expect("the connection ends");
    assert_eq!((rest.first(), rest.len()), (Some(&21), 7), "nothing but an alert: {rest:?}");
    scene.logs("admin: TLS with a client from 127.0.0.1: received corrupt message");
    let mut admin = Raw::login(scene.admin, "operator", "right").expect("let in");
    let count = admin.first_row("SELECT count(*) FROM mysql_users").expect("a row");
    assert_eq!(count, b"\x010");
}

#[test]
fn handshakes_that_stall_are_ended_and_delay_nobody() {
    let scene = Scene::new("");
    let began = Instant::now();
    let mut stalled = Vec::new();
    for _ in 0..20 {
        let mut raw = Raw::open(scene.admin).expect("it accepts");
        raw.receive().expect("a greeting");
        // the header of a record that does not come
        raw.bytes(&[&encrypted::request()[..], b"\x16\x03\x01\x02\x00"].concat()).expect("sent");
        stalled.push(raw);
    }
    let mut slow: Vec<_> = (0..20)
        .map(|_| {
            let mut stream = TcpStream::connect(("127.0.0.1", scene.http)).expect("it listens");
            stream.write_all(b"\x16\x03\x01\x02\x00").expect("sent");
            stream.set_read_timeout(Some(SOON)).expect("a time");
            stream
        })
        .collect();
    let tls = scene.trusting(&BOTH);
    encrypted::log_in(scene.admin, &tls, "operator", "right").expect("let in");
    assert_eq!(status(&scene.https(&tls, "", "/healthz").expect("an answer")), "200");
    for raw in &mut stalled {
        let told = raw.rest().expect("the connection ends");
        assert_eq!(told, [21, 3, 3, 0, 2, 1, 0], "a farewell, and no error in clear");
    }
    for stream in &mut slow {
        assert_eq!(stream.read(&mut [0; 16]).expect("the connection ends"), 0);
    }
    assert!(began.elapsed() < SOON, "in the time of a login, not one after the other");
}

#[test]
fn metrics_are_for_accounts_and_tokens_in_clear_and_in_tls() {
    let scene = Scene::new("");
    let token = "Authorization: Bearer a-token-that-nobody-guesses\r\n";
    for tls in [&TLS12, &TLS13].map(|version| scene.trusting(&[version])) {
        for (line, path, wanted) in [
            ("", "/metrics", "401"),
            ("", "/readyz", "200"),
            (EXPORTER, "/metrics", "200"),
            (token, "/metrics", "200"),
        ] {
            let encrypted = scene.https(&tls, line, path).expect("an answer");
            let clear = scene.http(line, path).expect("an answer");
            assert_eq!([status(&encrypted), status(&clear)], [wanted; 2], "{line}{path}");
        }
        let scrape = scene.https(&tls, EXPORTER, "/metrics").expect("an answer");
        assert!(scrape.contains("\nproxysql_uptime_seconds_total "), "{scrape}");
    }
    let refused = scene.https(&trusting_nobody(), "", "/healthz").expect_err("refused");
    assert!(refused.to_string().contains("UnknownIssuer"), "{refused}");
    scene.logs("HTTP: TLS with 127.0.0.1: received fatal alert: UnknownCA");
}

#[test]
fn a_new_certificate_is_shown_to_whoever_comes_next() {
    let scene = Scene::new("");
    let before = scene.trusting(&BOTH);
    let mut admin = encrypted::log_in(scene.admin, &before, "operator", "right").expect("let in");
    for part in ["ca", "cert", "key"] {
        let file = scene.dir.path().join(format!("tidegate-{part}.pem"));
        std::fs::remove_file(file).expect("removed");
    }
    // others are made in their place
    admin.command(code::QUERY, b"PROXYSQL RELOAD TLS").expect("sent");
    let told = admin.receive().expect("an answer").1;
    assert_eq!(told.first(), Some(&0), "{told:?}");
    let after = scene.trusting(&BOTH);
    let refused = encrypted::log_in(scene.admin, &before, "operator", "right").expect_err("not");
    let refused = refused.root_cause().to_string();
    assert!(refused.contains("invalid peer certificate"), "{refused}");
    assert!(scene.https(&before, "", "/healthz").is_err());
    encrypted::log_in(scene.admin, &after, "operator", "right").expect("let in");
    assert_eq!(status(&scene.https(&after, "", "/healthz").expect("an answer")), "200");
    let row = encrypted::row_of(&mut admin, "SELECT 'still'").expect("a row");
    assert_eq!(row, b"\x05still");
}

#[test]
fn a_client_of_mariadb_trusts_a_certificate_that_its_password_proves() {
    let kits = Kits::set_up();
    if let Some(why) = kits.missing("node") {
        return skip("TLS without configuration for administrators", why);
    }
    // such a client looks for it from 11.4.1 on
    let scene = Scene::new("server_version = \"11.4.5-MariaDB\"");
    let mut admin = Raw::login(scene.admin, "operator", "right").expect("let in");
    let more = b"SET admin-stats_credentials = 'app:app'";
    admin.send(0, &[&[code::QUERY], &more[..]].concat()).expect("sent");
    admin.receive().expect("an answer");
    let load = b"LOAD ADMIN VARIABLES TO RUNTIME";
    admin.send(0, &[&[code::QUERY], &load[..]].concat()).expect("sent");
    assert_eq!(admin.receive().expect("an answer").1.first(), Some(&0));
    let done = Program::new("node")
        .args([kits.fetched.join("node/self_signed.js")])
        .args(["127.0.0.1".to_owned(), scene.admin.to_string()])
        .args(["SELECT replace(hex(zeroblob(20000)), '0', 'x') AS x"])
        .limit(Duration::from_secs(30))
        .run();
    assert_eq!(done.output, "40000 over TLS\n", "{}", done.errors);
}

/// Statements of an account by the client `mariadb`, and its output or its error.
fn administrate(port: u16, account: [&str; 2], option: &str, statements: &str) -> String {
    let [user, password] = account;
    let done = Program::new("mariadb")
        .args(["--no-defaults", "-h127.0.0.1", "--batch", "--skip-column-names", option])
        .args([format!("-P{port}"), format!("-u{user}"), format!("-p{password}")])
        .input(statements)
        .limit(SOON)
        .run();
    if done.success { done.output } else { done.errors }
}

#[test]
fn a_password_that_is_stored_as_a_hash_of_mysql_s_is_shown_safely() {
    let scene = Scene::new("");
    // whatever the salts have in them
    let lists = [("admin", "operator", "pear"), ("stats", "viewer", "plum")];
    let set = lists.map(|(list, user, password)| {
        format!(
            "UPDATE global_variables \
             SET variable_value = '{list}:{list};{user}:' || CACHING_SHA2_PASSWORD('{password}') \
             WHERE variable_name = 'admin-{list}_credentials';\n"
        )
    });
    let set = set.concat() + "LOAD ADMIN VARIABLES TO RUNTIME;\n";
    assert_eq!(administrate(scene.admin, ["admin", "admin"], "--skip-ssl", &set), "");
    let ask = "SELECT COUNT(*) FROM stats_mysql_global WHERE variable_name = 'tls_clients';\n";
    for option in ["--ssl", "--skip-ssl"] {
        for [user, password] in [["operator", "pear"], ["viewer", "plum"], ["admin", "admin"]] {
            let told = administrate(scene.admin, [user, password], option, ask);
            assert_eq!(told, "1\n", "{option} {user}");
        }
        let stored = administrate(
            scene.admin,
            ["operator", "pear"],
            option,
            "SELECT substr(variable_value, 22, 70) FROM global_variables \
             WHERE variable_name = 'admin-admin_credentials';\n",
        );
        for guess in ["plum", stored.trim_end_matches('\n')] {
            let told = administrate(scene.admin, ["operator", guess], option, ask);
            assert!(told.starts_with("ERROR 1045 (28000): "), "{option} {guess}: {told}");
        }
    }
    let tls = scene.trusting(&BOTH);
    for (pair, expected) in
        [("dmlld2VyOnBsdW0=", "200"), ("dmlld2VyOnBsdW0=", "200"), ("dmlld2VyOnBlYXI=", "401")]
    {
        let line = format!("Authorization: Basic {pair}\r\n");
        let answer = scene.https(&tls, &line, "/metrics").expect("an answer");
        assert_eq!(status(&answer), expected, "{pair}");
    }
}

#[test]
fn without_tls_for_clients_there_is_none_here() {
    let scene = Scene::new("have_ssl = false");
    let tls = trusting_nobody();
    let refused = encrypted::log_in(scene.admin, &tls, "operator", "right").expect_err("refused");
    assert_eq!(refused.to_string(), "TLS is not offered");
    // nor does it come by asking for it all the same
    let mut raw = Raw::open(scene.admin).expect("it accepts");
    raw.receive().expect("a greeting");
    raw.bytes(&encrypted::request()).expect("sent");
    let (_, told) = raw.receive().expect("an error");
    assert_eq!(&told[..3], b"\xff\x13\x04", "1043: {told:?}");
    assert!(scene.https(&tls, "", "/healthz").is_err());
    scene.logs("HTTP: TLS with 127.0.0.1: TLS is asked for, and mysql-have_ssl is false");
    assert_eq!(status(&scene.http("", "/healthz").expect("an answer")), "200");
}
