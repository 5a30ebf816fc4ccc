//! TLS towards clients: who gets it, how, and that nothing else comes by its way.

use std::ffi::OsString;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use lab::{Flavour, RunDir, Server};
use live::client::{account, refusal};
use live::{Kits, Program, Proxy, Raw, Shared, encrypted, skip};
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    SanType,
};
use rustls::version::{TLS12, TLS13};
use wire::auth::sha2;
use wire::command::code;
use wire::connect::AuthMore;
use wire::reply::OkPacket;

static SERVER: Shared = Shared::new("TLS", Flavour::MariaDb, 0);

const BOTH: [&rustls::SupportedProtocolVersion; 2] = [&TLS12, &TLS13];
const LONG: &str = "SELECT REPEAT('x', 100000)";

/// A proxy with a directory in which it made its certificates.
struct Scene {
    proxy: Proxy,
    dir: RunDir,
    port: u16,
}

impl Scene {
    fn new(server: &Server, variables: &str) -> Self {
        for user in ["closed", "spiffe", "shown"] {
            let text = format!("CREATE USER IF NOT EXISTS {user} IDENTIFIED BY 'app'");
            server.sql(&text).expect("made");
        }
        let port = server.port;
        let dir = RunDir::create().expect("a directory");
        let words = [OsString::from("--datadir"), dir.path().into()];
        let config = |interfaces: String| configuration(port, &interfaces, variables);
        let proxy = Proxy::start_with(&words, config).expect("tidegate starts");
        Self { proxy, dir, port }
    }

    fn authorities(&self) -> PathBuf {
        self.dir.path().join("tidegate-ca.pem")
    }

    fn reload(&self, variables: &str) -> bool {
        let config = |interfaces: String| configuration(self.port, &interfaces, variables);
        self.proxy.reload(config).expect("an outcome")
    }

    /// What becomes of a client that speaks these versions only.
    fn try_with(&self, versions: &[&'static rustls::SupportedProtocolVersion]) -> String {
        let tls = encrypted::trusting(&self.authorities(), versions).expect("authorities");
        match encrypted::log_in(self.proxy.port, &tls, "app", "app") {
            Ok(mut client) => {
                let length = encrypted::length_of(&mut client, LONG).expect("an answer");
                let told = encrypted::row_of(&mut client, "PROXYSQL INTERNAL SESSION");
                let told = told.expect("a row");
                let told = String::from_utf8_lossy(&told);
                let tls = [
                    "\"ssl_version\": \"TLSv1.",
                    "\"ssl_cipher\": \"",
                    "\"ssl_server_name\": \"localhost\"",
                ];
                assert!(tls.iter().all(|part| told.contains(part)), "{told}");
                format!("{length} {:?}", client.stream.get_ref().conn.protocol_version())
            }
            Err(error) => error.root_cause().to_string(),
        }
    }
}

fn configuration(port: u16, interfaces: &str, variables: &str) -> String {
    format!(
        "[mysql_variables]\ninterfaces = \"{interfaces}\"\nthreads = 1\n{variables}\n\
         [[mysql_users]]\nusername = \"app\"\npassword = \"app\"\n\
         [[mysql_users]]\nusername = \"closed\"\npassword = \"app\"\nuse_ssl = 1\n\
         [[mysql_users]]\nusername = \"hashed\"\npassword = '''{}'''\n\
         [[mysql_users]]\nusername = \"spiffe\"\npassword = \"app\"\n\
         attributes = '{{\"spiffe_id\": \"!spiffe://example/(app|batch)\"}}'\n\
         [[mysql_users]]\nusername = \"shown\"\npassword = \"app\"\n\
         attributes = '{{\"require_subject\": \"/CN=app\"}}'\n\
         [[mysql_servers]]\nhostgroup_id = 0\nhostname = \"127.0.0.1\"\nport = {port}\n",
        *HASHED
    )
}

/// What MySQL stores for the password `pear`.
static HASHED: LazyLock<String> = LazyLock::new(|| {
    let stored = sha2::make_stored_hash(b"pear", b"a salt of twenty ...");
    String::from_utf8(stored).expect("text")
});

#[test]
fn clients_speak_the_versions_and_suites_that_are_configured() {
    let Some(cluster) = SERVER.cluster() else { return };
    let scene = Scene::new(cluster.primary(), "");
    assert_eq!(scene.try_with(&[&TLS12]), "100000 Some(TLSv1_2)");
    assert_eq!(scene.try_with(&[&TLS13]), "100000 Some(TLSv1_3)");
    assert!(scene.reload("tls_version = \"TLSv1.3\""));
    let refused = scene.try_with(&[&TLS12]);
    assert_eq!(refused, "received fatal alert: ProtocolVersion");
    assert_eq!(scene.try_with(&BOTH), "100000 Some(TLSv1_3)");
    // what cannot be is told, and the old goes on
    assert!(!scene.reload("tls_version = \"TLSv1.1\""));
    let log = scene.proxy.log();
    let reason = "mysql_variables column tls_version: item 1, `TLSv1.1`, is broken, and not spoken";
    assert!(log.contains(reason), "{log}");
    assert_eq!(scene.try_with(&[&TLS12]), refused);
    assert!(scene.reload("ssl_cipher = \"ECDHE-ECDSA-AES128-GCM-SHA256\""));
    for (words, outcome) in [
        (vec!["-tls1_2"], "Cipher is ECDHE-ECDSA-AES128-GCM-SHA256"),
        (vec!["-tls1_2", "-cipher", "ECDHE-ECDSA-AES256-GCM-SHA384"], "alert handshake failure"),
        (vec!["-tls1_2", "-cipher", "AES128-SHA:@SECLEVEL=0"], "alert handshake failure"),
        (vec!["-tls1_1", "-cipher", "ALL:@SECLEVEL=0"], "alert handshake failure"),
        (vec!["-tls1_3", "-ciphersuites", "TLS_AES_128_GCM_SHA256"], "TLS_AES_128_GCM_SHA256"),
    ] {
        let done = Program::new("openssl")
            .args(["s_client", "-starttls", "mysql", "-connect"])
            .args([format!("127.0.0.1:{}", scene.proxy.port)])
            .args(words.iter())
            .input("")
            .limit(Duration::from_secs(10))
            .run();
        let told = format!("{}{}", done.output, done.errors);
        assert!(told.contains(outcome), "{words:?}: {told}");
    }
    assert!(scene.reload("have_ssl = false"));
    assert_eq!(scene.try_with(&BOTH), "TLS is not offered");
}

#[test]
fn plain_text_behind_the_request_is_never_read() {
    let Some(cluster) = SERVER.cluster() else { return };
    let scene = Scene::new(cluster.primary(), "");
    let mut raw = Raw::open(scene.proxy.port).expect("it accepts");
    raw.receive().expect("a greeting");
    // a login that would be right, and a statement, in the same send
    let mut bytes = encrypted::request();
    wire::frame::write_packet(&mut bytes, &mut 2, &live::response("app", b""));
    wire::frame::write_packet(&mut bytes, &mut 0, b"\x03CREATE TABLE test.injected (v INT)");
    raw.bytes(&bytes).expect("sent");
    let rest = raw.rest().expect("the connection ends");
    assert_eq!(rest.first(), Some(&21), "nothing but an alert: {rest:?}");
    assert_eq!(rest.len(), 7);
    live::eventually("the log has it", Duration::from_secs(5), || {
        scene.proxy.log().contains("TLS failed: received corrupt message")
    });
    assert_eq!(scene.proxy.counter("tls_failures").expect("counted"), 1);
    assert_eq!(scene.proxy.counter("queries").expect("counted"), 0);
}

#[test]
fn an_account_that_demands_tls_gets_nothing_without() {
    let Some(cluster) = SERVER.cluster() else { return };
    let scene = Scene::new(cluster.primary(), "");
    let refused = mysql::Conn::new(account(scene.proxy.port, "closed", "app"));
    let (code, state, message) = refusal(&refused.expect_err("it is refused"));
    assert_eq!((code, state.as_str()), (1045, "28000"));
    let expected =
        "Access denied for user 'closed'@'127.0.0.1' (using password: YES). SSL is required";
    assert_eq!(message, expected);
    // a wrong password is no more than that
    let refused = mysql::Conn::new(account(scene.proxy.port, "closed", "wrong"));
    let (_, _, message) = refusal(&refused.expect_err("it is refused"));
    assert_eq!(message, "Access denied for user 'closed'@'127.0.0.1' (using password: YES)");
    let tls = encrypted::trusting(&scene.authorities(), &BOTH).expect("authorities");
    let mut client = encrypted::log_in(scene.proxy.port, &tls, "closed", "app").expect("let in");
    client.command(code::PING, b"").expect("sent");
    assert_eq!(client.receive().expect("an answer").1.first(), Some(&OkPacket::MARKER));
    // nor by a change of user
    let mut raw = Raw::login(scene.proxy.port, "app", "app").expect("let in");
    let refused = raw.change_user(("closed", "app"), 45).expect_err("it is refused");
    assert!(refused.to_string().contains("SSL is required"), "{refused}");
    assert_eq!(scene.proxy.counter("denied_without_tls").expect("counted"), 2);
}

#[test]
fn rules_may_ask_for_the_host_by_which_a_client_called() {
    let Some(cluster) = SERVER.cluster() else { return };
    let rules = "[[mysql_query_rules]]\nrule_id = 1\nactive = 1\nerror_msg = \"by name\"\n\
                 attributes = '{\"sni\": [\"elsewhere\", \"LOCALHOST\"]}'\napply = 1\n";
    let scene = Scene::new(cluster.primary(), rules);
    let tls = encrypted::trusting(&scene.authorities(), &BOTH).expect("authorities");
    for _ in 0..3 {
        let mut client = encrypted::log_in(scene.proxy.port, &tls, "app", "app").expect("let in");
        client.command(code::QUERY, b"SELECT 1").expect("sent");
        let told = client.receive().expect("an answer").1;
        assert!(told.starts_with(b"\xff") && told.ends_with(b"by name"), "{told:?}");
        // the same text of a client that has called by none
        let mut clear = Raw::login(scene.proxy.port, "app", "app").expect("let in");
        assert_eq!(clear.first_row("SELECT 1").expect("a row"), b"\x011");
    }
}

#[test]
fn a_hashed_password_is_shown_once_it_is_encrypted() {
    let Some(cluster) = SERVER.cluster() else { return };
    let scene = Scene::new(cluster.primary(), "");
    let tls = encrypted::trusting(&scene.authorities(), &BOTH).expect("authorities");
    let told = |password: &[u8]| {
        let mut client = encrypted::open(scene.proxy.port, &tls, "hashed").expect("a handshake");
        let (seq, switch) = client.receive().expect("a question");
        assert!(switch.starts_with(b"\xfecaching_sha2_password\0"), "{switch:?}");
        client.send(seq + 1, &[7; 32]).expect("sent");
        let (seq, more) = client.receive().expect("a question");
        assert_eq!(more, [AuthMore::MARKER, AuthMore::FULL_AUTH]);
        client.send(seq + 1, &[password, &[0]].concat()).expect("sent");
        String::from_utf8_lossy(&client.receive().expect("an answer").1).into_owned()
    };
    assert!(told(b"pair").contains("Access denied for user 'hashed'"));
    assert!(told(b"pear").starts_with('\0'));
}

#[test]
fn certificates_change_under_clients_and_none_is_lost() {
    let Some(cluster) = SERVER.cluster() else { return };
    let scene = Scene::new(cluster.primary(), "");
    let old = encrypted::trusting(&scene.authorities(), &BOTH).expect("authorities");
    let port = scene.proxy.port;
    let log_in = |tls| encrypted::log_in(port, tls, "app", "app");
    let mut clients: Vec<_> = (0..64).map(|_| log_in(&old).expect("let in")).collect();
    for part in ["ca", "cert", "key"] {
        std::fs::remove_file(scene.dir.path().join(format!("tidegate-{part}.pem"))).expect("gone");
    }
    assert!(scene.reload(""));
    let new = encrypted::trusting(&scene.authorities(), &BOTH).expect("authorities");
    log_in(&new).expect("the new certificate is shown");
    let unknown = log_in(&old).expect_err("the old one is not").root_cause().to_string();
    assert!(unknown.contains("invalid peer certificate"), "{unknown}");
    // a file that cannot be read changes nothing
    std::fs::write(scene.dir.path().join("tidegate-cert.pem"), "nothing").expect("written");
    assert!(scene.reload(""));
    assert!(scene.proxy.log().contains("there is no certificate in it"));
    log_in(&new).expect("it goes on");
    for client in &mut clients {
        assert_eq!(encrypted::length_of(client, LONG).expect("an answer"), 100_000);
    }
}

#[test]
fn a_handshake_that_stalls_is_ended_and_delays_nobody() {
    let Some(cluster) = SERVER.cluster() else { return };
    let scene = Scene::new(cluster.primary(), "connect_timeout_client = 4000");
    // the first client of all brings what everybody needs
    assert_eq!(scene.try_with(&BOTH), "100000 Some(TLSv1_3)");
    let (count, before) = (as_many_as(5000), scene.proxy.rss_bytes());
    let mut stalled: Vec<TcpStream> = (0..count)
        .map(|_| {
            let mut raw = Raw::open(scene.proxy.port).expect("it accepts");
            raw.receive().expect("a greeting");
            raw.bytes(&encrypted::request()).expect("sent");
            // the beginning of a record
            raw.bytes(b"\x16\x03\x01\x02\x00\x01").expect("sent");
            raw.packets.stream.into_inner()
        })
        .collect();
    let began = Instant::now();
    assert_eq!(scene.try_with(&BOTH), "100000 Some(TLSv1_3)");
    let (took, cost) = (began.elapsed(), scene.proxy.rss_bytes().saturating_sub(before));
    println!("{count} stalled handshakes: {} kB, another one {took:?}", cost / 1024);
    assert!(cost < 20_000 * count && took < Duration::from_millis(500), "{cost} bytes, {took:?}");
    for stream in &mut stalled {
        let mut rest = Vec::new();
        stream.read_to_end(&mut rest).expect("it is ended");
        assert_eq!(rest, [21, 3, 3, 0, 2, 1, 0], "a farewell and no more");
        let _ = stream.write(b"x");
    }
    live::eventually("the log has it", Duration::from_secs(5), || {
        scene.proxy.log().contains("the handshake was not completed in time")
    });
}

#[test]
fn an_idle_client_in_tls_costs_less_than_16_kibibytes() {
    let Some(cluster) = SERVER.cluster() else { return };
    let scene = Scene::new(cluster.primary(), "");
    let tls = encrypted::trusting(&scene.authorities(), &BOTH).expect("authorities");
    let log_in = || {
        let mut client = encrypted::log_in(scene.proxy.port, &tls, "app", "app").expect("let in");
        encrypted::length_of(&mut client, LONG).expect("an answer");
        client
    };
    let _first: Vec<_> = (0..10).map(|_| log_in()).collect();
    let (count, before) = (as_many_as(1000), scene.proxy.rss_bytes());
    let _idle: Vec<_> = (0..count).map(|_| log_in()).collect();
    let each = scene.proxy.rss_bytes().saturating_sub(before) / count;
    println!("{count} idle clients in TLS: {each} bytes each");
    assert!(each < 16 * 1024, "{each} bytes");
}

/// So many clients, or as many as this process may have open.
fn as_many_as(count: u64) -> u64 {
    let limits = std::fs::read_to_string("/proc/self/limits").expect("told");
    let line = limits.lines().find(|line| line.starts_with("Max open files"));
    let most: u64 = line
        .and_then(|line| line.split_whitespace().nth(3)?.parse().ok())
        .expect("how many files it may open");
    count.min(most.saturating_sub(200))
}

/// An authority of clients, and what it signs.
struct Authority(Issuer<'static, KeyPair>);

impl Authority {
    fn new(file: &Path) -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, "authority of clients");
        let key = KeyPair::generate().expect("a key");
        std::fs::write(file, params.self_signed(&key).expect("signed").pem()).expect("written");
        Self(Issuer::new(params, key))
    }

    /// A certificate of that subject and SPIFFE id, and its key.
    fn sign(&self, subject: &str, id: &str) -> (String, String) {
        let mut params = CertificateParams::default();
        params.distinguished_name.remove(DnType::CommonName);
        params.distinguished_name.push(DnType::CommonName, subject);
        params.subject_alt_names = vec![SanType::URI(id.try_into().expect("an address"))];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        let key = KeyPair::generate().expect("a key");
        let certificate = params.signed_by(&key, &self.0).expect("signed");
        (certificate.pem(), key.serialize_pem())
    }
}

#[test]
fn a_client_s_certificate_is_what_its_account_demands() {
    let Some(cluster) = SERVER.cluster() else { return };
    let scene = Scene::new(cluster.primary(), "");
    let file = scene.dir.path().join("clients.pem");
    let (own, other) = (Authority::new(&file), Authority::new(&scene.dir.path().join("other")));
    let with_ca = format!("ssl_ca = \"{}\"", file.display());
    assert!(scene.reload(&with_ca));
    let log_in = |(certificate, key): &(String, String), user: &str, password: &str| {
        let tls = encrypted::showing(&scene.authorities(), certificate, key).expect("a client");
        match encrypted::log_in(scene.proxy.port, &tls, user, password) {
            Ok(mut client) => {
                client.command(code::PING, b"").expect("sent");
                let (_, answer) = client.receive().expect("an answer");
                assert_eq!(answer.first(), Some(&OkPacket::MARKER));
                "let in".to_owned()
            }
            Err(error) => error.root_cause().to_string(),
        }
    };
    let denied = |user: &str, why: &str| {
        let account = format!("'{user}'@'127.0.0.1' (using password: YES)");
        format!("ERROR 1045 (28000): Access denied for user {account}{why}")
    };
    let app = own.sign("app", "spiffe://example/app");
    // who it is says the certificate, whatever the password
    assert_eq!(log_in(&app, "spiffe", "no password at all"), "let in");
    assert_eq!(log_in(&own.sign("x", "spiffe://example/batch"), "spiffe", ""), "let in");
    let elsewhere = own.sign("app", "spiffe://example/app/other");
    let is_another = ". The SPIFFE id of the client's certificate is another one";
    assert_eq!(log_in(&elsewhere, "spiffe", "app"), denied("spiffe", is_another));
    assert_eq!(log_in(&elsewhere, "spiffe", "wrong"), denied("spiffe", ""));
    let forged = other.sign("app", "spiffe://example/app");
    let doubt = ". The client's certificate is not trusted: invalid peer certificate: BadSignature";
    // no password makes up for it, and whoever has forged one is told nothing
    let unheard = denied("spiffe", "").replace("YES", "NO");
    assert_eq!(log_in(&forged, "spiffe", "app"), unheard);
    let logged = || scene.proxy.log().contains(doubt);
    live::eventually("the log says why", Duration::from_secs(5), logged);
    // an account that asks for none takes any, and that goes on asking for a password
    assert_eq!(log_in(&forged, "app", "app"), "let in");
    assert_eq!(log_in(&app, "shown", "app"), "let in");
    assert_eq!(log_in(&app, "shown", "wrong"), denied("shown", ""));
    let is_other = ". The subject of the client's certificate is another one";
    let batch = own.sign("batch", "spiffe://example/batch");
    assert_eq!(log_in(&batch, "shown", "app"), denied("shown", is_other));
    let tls = encrypted::trusting(&scene.authorities(), &BOTH).expect("authorities");
    let none = encrypted::log_in(scene.proxy.port, &tls, "spiffe", "app").expect_err("refused");
    let is_missing = ". A certificate of the client is required";
    assert_eq!(none.root_cause().to_string(), denied("spiffe", is_missing));
    let refused = mysql::Conn::new(account(scene.proxy.port, "shown", "app"));
    let (_, _, message) = refusal(&refused.expect_err("it is refused"));
    assert!(message.ends_with(is_missing), "{message}");
    // to find that nobody vouches for a certificate may take long, so that tries are limited
    assert!(scene.reload(&format!("{with_ca}\nfailed_connections_threshold = 8")));
    let held_up = || scene.proxy.counter("logins_held_up").expect("told");
    for _ in 0..10 {
        assert_eq!(log_in(&app, "spiffe", ""), "let in");
        assert_eq!(log_in(&elsewhere, "spiffe", "app"), denied("spiffe", is_another));
    }
    assert_eq!(held_up(), 0);
    for _ in 0..10 {
        assert_eq!(log_in(&forged, "spiffe", "app"), unheard);
    }
    assert!(held_up() > 0);
}

#[test]
fn a_client_of_mariadb_trusts_a_certificate_that_its_password_proves() {
    let Some(cluster) = SERVER.cluster() else { return };
    let kits = Kits::set_up();
    if let Some(why) = kits.missing("node") {
        return skip("TLS without configuration", why);
    }
    // such a client looks for it from 11.4.1 on
    let scene = Scene::new(cluster.primary(), "server_version = \"11.4.5-MariaDB\"");
    let done = Program::new("node")
        .args([kits.fetched.join("node/self_signed.js")])
        .args(["127.0.0.1".to_owned(), scene.proxy.port.to_string()])
        .limit(Duration::from_secs(30))
        .run();
    assert_eq!(done.output, "100000 over TLS\n", "{}", done.errors);
}
