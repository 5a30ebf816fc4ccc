//! What listeners demand of clients in TLS, word by word, with a listener that demands nothing
//! beside them.

use std::ffi::OsString;
use std::fs;
use std::time::Duration;

use lab::{Flavour, RunDir, Server};
use live::client::{account, refusal, socket_options};
use live::{Finished, Kits, Program, Proxy, Shared, eventually, skip};
use rcgen::{
    BasicConstraints, CertificateParams, CertificateRevocationListParams, DnType, IsCa, Issuer,
    KeyIdMethod, KeyPair, KeyUsagePurpose, RevokedCertParams, SerialNumber, date_time_ymd,
};

static SERVER: Shared = Shared::new("listeners that demand TLS", Flavour::MariaDb, 0);

const SOON: Duration = Duration::from_secs(20);

/// Three further listeners, each of which may demand something.
struct Scene {
    proxy: Proxy,
    dir: RunDir,
    ports: [u16; 3],
}

impl Scene {
    fn new(server: &Server, words: [&str; 3], variables: &str) -> Self {
        let dir = RunDir::create().expect("a directory");
        clients(&dir);
        let ports = [(); 3].map(|()| lab::free_port().expect("a free port"));
        let arguments = [OsString::from("--datadir"), dir.path().into()];
        let config = |interfaces: String| {
            let more = ports.map(|port| format!(";127.0.0.1:{port}")).concat();
            format!(
                "[mysql_variables]\ninterfaces = \"{interfaces}{more}\"\nthreads = 1\n\
                 interfaces_tls = \"{}\"\nssl_ca = \"{dir}/clients.pem\"\n\
                 ssl_crl = \"{dir}/revoked.pem\"\n{variables}\n\
                 [[mysql_users]]\nusername = \"app\"\npassword = \"app\"\n\
                 [[mysql_servers]]\nhostgroup_id = 0\nhostname = \"127.0.0.1\"\nport = {}\n",
                demands(ports, words),
                server.port,
                dir = dir.path().display(),
            )
        };
        let proxy = Proxy::start_with(&arguments, config).expect("tidegate starts");
        Self { proxy, ports, dir }
    }

    /// The client `mariadb` at a port, with these options.
    fn client(&self, port: u16, options: &[String]) -> Finished {
        Program::new("mariadb")
            .args(["--no-defaults", "-uapp", "-papp", "-h127.0.0.1", "--batch"])
            .args(["--skip-column-names".to_owned(), format!("-P{port}")])
            .args(options)
            .args(["-e", "SELECT 'served'"])
            .limit(SOON)
            .run()
    }

    /// Options of a client that shows a certificate.
    fn showing(&self, name: &str) -> Vec<String> {
        let file = |part: &str| self.dir.path().join(format!("{name}{part}.pem"));
        vec![
            "--ssl".to_owned(),
            format!("--ssl-cert={}", file("").display()),
            format!("--ssl-key={}", file("-key").display()),
        ]
    }

    /// What an administrator is told.
    fn administrate(&self, text: &str) -> Finished {
        Program::new("mariadb")
            .args(["--no-defaults", "--skip-ssl", "-uadmin", "-padmin", "-h127.0.0.1", "--batch"])
            .args(["--skip-column-names".to_owned(), format!("-P{}", self.proxy.admin_port)])
            .input(text)
            .limit(SOON)
            .run()
    }
}

fn demands(ports: [u16; 3], words: [&str; 3]) -> String {
    let entry = |(port, words): (u16, &str)| match words {
        "" => String::new(),
        words => format!("127.0.0.1:{port} {words};"),
    };
    ports.into_iter().zip(words).map(entry).collect()
}

/// Certificates `app` and `gone` of the authority `clients`, whose list `revoked` has the latter,
/// and `stranger` of another one.
fn clients(dir: &RunDir) {
    let write = |name: &str, text: String| {
        fs::write(dir.path().join(format!("{name}.pem")), text).expect("written");
    };
    let authority = |name: &str| {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        params.distinguished_name.push(DnType::CommonName, name);
        let key = KeyPair::generate().expect("a key");
        let pem = params.self_signed(&key).expect("signed").pem();
        (Issuer::new(params, key), pem)
    };
    let (own, pem) = authority("authority of clients");
    write("clients", pem);
    let (other, _) = authority("authority of strangers");
    for (number, (name, issuer)) in (1..).zip([("app", &own), ("gone", &own), ("stranger", &other)])
    {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        params.serial_number = Some(SerialNumber::from(number));
        let key = KeyPair::generate().expect("a key");
        write(name, params.signed_by(&key, issuer).expect("signed").pem());
        write(&format!("{name}-key"), key.serialize_pem());
    }
    let revoked = RevokedCertParams {
        serial_number: SerialNumber::from(2),
        revocation_time: date_time_ymd(2024, 1, 1),
        reason_code: None,
        invalidity_date: None,
    };
    let list = CertificateRevocationListParams {
        this_update: date_time_ymd(2024, 1, 1),
        next_update: date_time_ymd(2024, 2, 1),
        crl_number: SerialNumber::from(1),
        issuing_distribution_point: None,
        revoked_certs: vec![revoked],
        key_identifier_method: KeyIdMethod::Sha256,
    };
    write("revoked", list.signed_by(&own).expect("signed").pem().expect("text"));
}

const IN_CLEAR: &str = "ERROR 3159 (HY000): Connections using insecure transport are prohibited \
                        while mysql-require_secure_transport is true or mysql-interfaces_tls \
                        demands TLS.";

fn plain() -> Vec<String> {
    vec!["--skip-ssl".to_owned()]
}

fn secure() -> Vec<String> {
    vec!["--ssl".to_owned()]
}

/// What a client got: its output, or the first line of its error.
fn outcome(done: &Finished) -> &str {
    let text = if done.success { &done.output } else { &done.errors };
    text.lines().next().unwrap_or_default()
}

#[test]
fn each_word_is_demanded_at_its_listener_alone() {
    let Some(cluster) = SERVER.cluster() else { return };
    let words = ["required", "certificate", "TLSv1.3"];
    let scene = Scene::new(cluster.primary(), words, "");
    let (free, [required, certificate, newest]) = (scene.proxy.port, scene.ports);
    for port in scene.ports {
        assert_eq!(outcome(&scene.client(port, &plain())), IN_CLEAR, "{port}");
    }
    let untrusted = "ERROR 1045 (28000): Access denied: The client's certificate is not trusted: \
                     invalid peer certificate: ";
    let missing = "ERROR 1045 (28000): Access denied: A certificate of the client is required";
    for (port, options, expected) in [
        (free, plain(), "served"),
        (free, scene.showing("gone"), "served"),
        (required, secure(), "served"),
        (required, scene.showing("stranger"), "served"),
        (certificate, secure(), missing),
        (certificate, scene.showing("stranger"), &format!("{untrusted}UnknownIssuer")),
        (certificate, scene.showing("gone"), &format!("{untrusted}Revoked")),
        (certificate, scene.showing("app"), "served"),
        (newest, secure(), "served"),
        (free, [secure(), vec!["--tls-version=TLSv1.2".into()]].concat(), "served"),
        (required, [secure(), vec!["--tls-version=TLSv1.2".into()]].concat(), "served"),
    ] {
        let done = scene.client(port, &options);
        let got = outcome(&done);
        let is_it = got == expected || got.starts_with(untrusted) && got.starts_with(expected);
        assert!(is_it, "{port} {options:?}: {got}");
    }
    // a list that should have been replaced still counts, and its operator is told
    let log = scene.proxy.log();
    assert!(log.contains("a list of revoked certificates is out of date"), "{log}");
    // a password is not looked at before
    assert_eq!(scene.proxy.counter("denied_password").expect("counted"), 0);
    assert_eq!(scene.proxy.counter("denied_without_tls").expect("counted"), 6);
    // an older version ends by an alert
    for (port, words, told) in [
        (newest, "-tls1_2", "alert protocol version"),
        (newest, "-tls1_3", "TLSv1.3, Cipher is TLS_"),
        (required, "-tls1_2", "TLSv1.2, Cipher is ECDHE"),
        (free, "-tls1_2", "TLSv1.2, Cipher is ECDHE"),
    ] {
        let done = Program::new("openssl")
            .args(["s_client", "-starttls", "mysql", words, "-connect"])
            .args([format!("127.0.0.1:{port}")])
            .input("")
            .limit(SOON)
            .run();
        let text = format!("{}{}", done.output, done.errors);
        assert!(text.contains(told), "{port} {words}: {text}");
    }
}

/// To find that nobody vouches for a certificate may take long.
#[test]
fn certificates_that_nobody_vouches_for_are_guesses_of_their_address() {
    let Some(cluster) = SERVER.cluster() else { return };
    let few = "failed_connections_threshold = 1\nfailed_connection_delay = 600000\n\
               connect_timeout_client = 1000";
    let scene = Scene::new(cluster.primary(), ["certificate", "", ""], few);
    let port = scene.ports[0];
    let held_up = || scene.proxy.counter("logins_held_up").expect("counted");
    for _ in 0..15 {
        assert_eq!(outcome(&scene.client(port, &scene.showing("app"))), "served");
    }
    assert_eq!(held_up(), 0);
    let strangers = (0..15).map(|_| scene.client(port, &scene.showing("stranger")));
    let told: Vec<_> = strangers.map(|done| outcome(&done).to_owned()).collect();
    // ten names at once from an address, as for passwords that are shown
    let (judged, others) = told.split_at(10);
    assert!(judged.iter().all(|told| told.contains("UnknownIssuer")), "{told:?}");
    assert!(others.iter().all(|told| told.contains("ERROR 1129")), "{told:?}");
    assert_eq!(held_up(), 5);
    // whoever shares the address, and has shown a good one before, comes in all the while
    assert_eq!(outcome(&scene.client(port, &scene.showing("app"))), "served");
    assert_eq!(held_up(), 5);
}

#[test]
fn a_driver_is_told_what_is_demanded() {
    let Some(cluster) = SERVER.cluster() else { return };
    let kits = Kits::set_up();
    if let Some(why) = kits.missing("python") {
        return skip("PyMySQL at listeners that demand TLS", why);
    }
    let scene = Scene::new(cluster.primary(), ["required", "certificate", "TLSv1.3"], "");
    let program = "import pymysql, sys\n\
        port, cert, key = int(sys.argv[1]), sys.argv[2], sys.argv[3]\n\
        tls = {'ssl_ca': sys.argv[4], 'ssl_verify_cert': True} if sys.argv[4] else \
        {'ssl_disabled': True}\n\
        if cert: tls.update(ssl_cert=cert, ssl_key=key)\n\
        try:\n\
        \x20   with pymysql.connect(host='127.0.0.1', port=port, user='app', password='app', \
        **tls) as c:\n\
        \x20       cursor = c.cursor()\n\
        \x20       cursor.execute('SELECT 1')\n\
        \x20       print('served', cursor.fetchone()[0])\n\
        except pymysql.err.MySQLError as error: print(error.args[0])\n";
    let [required, certificate, newest] = scene.ports;
    let own = scene.dir.path().join("tidegate-ca.pem").display().to_string();
    let file = |name: &str| scene.dir.path().join(format!("{name}.pem")).display().to_string();
    let app = [file("app"), file("app-key")];
    let none = [String::new(), String::new()];
    for (port, certificate, authorities, expected) in [
        (scene.proxy.port, &none, "", "served 1"),
        (required, &none, "", "3159"),
        (required, &none, &*own, "served 1"),
        (certificate, &none, &*own, "1045"),
        (certificate, &app, &*own, "served 1"),
        (newest, &none, "", "3159"),
        (newest, &none, &*own, "served 1"),
    ] {
        let done = kits
            .python()
            .args(["-c", program, &port.to_string()])
            .args(certificate.iter())
            .args([authorities])
            .limit(SOON)
            .run();
        assert_eq!(done.output.trim(), expected, "{port} {authorities}: {}", done.errors);
    }
}

#[test]
fn demands_change_for_clients_that_come_later() {
    let Some(cluster) = SERVER.cluster() else { return };
    let scene = Scene::new(cluster.primary(), ["", "required", ""], "");
    let [first, second, third] = scene.ports;
    let mut stays = live::client::connect(account(first, "app", "app"));
    let listening = |log: &str| log.matches("listening").count();
    live::eventually("all are told", SOON, || listening(&scene.proxy.log()) == 5);
    let load = |demands: &str| {
        scene.administrate(&format!(
            "SET mysql-interfaces_tls = '{demands}';\nLOAD MYSQL VARIABLES TO RUNTIME;\n"
        ))
    };
    let done = load(&demands(scene.ports, ["certificate", "", "TLSv1.3"]));
    assert!(done.success, "{}", done.errors);
    assert_eq!(outcome(&scene.client(first, &plain())), IN_CLEAR);
    assert_eq!(outcome(&scene.client(second, &plain())), "served");
    assert_eq!(outcome(&scene.client(third, &plain())), IN_CLEAR);
    assert_eq!(outcome(&scene.client(third, &secure())), "served");
    let row: Option<u32> = mysql::prelude::Queryable::query_first(&mut stays, "SELECT 7").unwrap();
    assert_eq!(row, Some(7), "a client from before goes on");
    assert_eq!(listening(&scene.proxy.log()), 5, "no listener was opened again");
    // what cannot be is refused with its place, and nothing changes
    let unknown = lab::free_port().expect("a free port");
    for (text, why) in [
        (
            format!("127.0.0.1:{first} required; 127.0.0.1:{unknown} required"),
            format!("item 2, `127.0.0.1:{unknown} required`: mysql-interfaces has no such address"),
        ),
        (
            format!("127.0.0.1:{first} encrypted"),
            format!(
                "Variable 'mysql-interfaces_tls': item 1, `127.0.0.1:{first} encrypted`: \
                 `encrypted` is no demand; there are required, certificate, TLSv1.2 and TLSv1.3"
            ),
        ),
    ] {
        let done = load(&text);
        assert!(!done.success && done.errors.contains(&why), "{text}: {}", done.errors);
        assert_eq!(outcome(&scene.client(third, &plain())), IN_CLEAR);
    }
    // and of all TCP clients, while a Unix socket is secure
    let done = scene.administrate(
        "SET mysql-interfaces_tls = '';\nSET mysql-require_secure_transport = 'true';\n\
         LOAD MYSQL VARIABLES TO RUNTIME;\n",
    );
    assert!(done.success, "{}", done.errors);
    for port in [scene.proxy.port, first, second, third] {
        assert_eq!(outcome(&scene.client(port, &plain())), IN_CLEAR);
        assert_eq!(outcome(&scene.client(port, &secure())), "served");
    }
    let by_socket = socket_options(&scene.proxy.socket).user(Some("app")).pass(Some("app"));
    live::client::connect(by_socket);
    // nobody learns whether there is an account
    let refused = mysql::Conn::new(account(first, "nobody", "wrong")).expect_err("it is refused");
    assert_eq!(refusal(&refused).0, 3159);
}

#[test]
fn what_nobody_can_meet_is_warned_of() {
    let Some(cluster) = SERVER.cluster() else { return };
    let scene = Scene::new(cluster.primary(), ["required", "", ""], "have_ssl = false");
    let warning = "mysql-interfaces_tls demands TLS of clients, and they can have none: \
                   mysql-have_ssl is false";
    assert_eq!(scene.proxy.log().matches(warning).count(), 1, "{}", scene.proxy.log());
    let done = Program::new(live::binary().expect("built"))
        .args(["check".into(), scene.proxy.config()])
        .limit(SOON)
        .run();
    assert!(done.success && done.errors.contains(warning), "{}", done.errors);
    assert_eq!(outcome(&scene.client(scene.ports[0], &plain())), IN_CLEAR);
    let all = scene.administrate(
        "SET mysql-require_secure_transport = 'true';\nLOAD MYSQL VARIABLES TO RUNTIME;\n",
    );
    assert!(all.success, "{}", all.errors);
    let warning = "mysql-require_secure_transport demands TLS of clients, and they can have none";
    eventually("the log has it", SOON, || scene.proxy.log().contains(warning));
}
