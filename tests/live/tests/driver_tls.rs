//! Drivers and clients that verify Tidegate's certificate as strictly as they can: they get in by
//! its own authority, and refuse another authority and a certificate for another name. Clients that
//! need no authority get in by what a login proves.

use std::ffi::{OsStr, OsString};
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use lab::{Flavour, RunDir, Server};
use live::{Kits, Program, Proxy, imposter, skip};
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};

/// Whoever vouches for a certificate for another name.
const STRANGER: &str = "stranger.pem";

/// A driver or client that is given an authority.
struct Strict {
    name: &'static str,
    /// What `setup.sh` has to be ready with, or nothing.
    kit: &'static str,
    /// What is told of an authority that it does not know, by itself or in Tidegate's log.
    untrusted: &'static str,
    /// What is told of a certificate for another name.
    elsewhere: &'static str,
}

const fn strict([name, kit, untrusted, elsewhere]: [&'static str; 4]) -> Strict {
    Strict { name, kit, untrusted, elsewhere }
}

const NO_ISSUER: &str = "unable to get local issuer certificate";

/// In the order of the time that they take.
const EACH: [Strict; 14] = [
    strict(["ruby-mysql2", "ruby", NO_ISSUER, "Validation of SSL server certificate failed"]),
    strict([
        "mysql-connector-j",
        "java",
        "Path does not chain with any of the trust anchors",
        "Server identity verification failed",
    ]),
    strict([
        "mariadb-connector-j",
        "java",
        "Self signed certificates",
        "SSL hostname verification failed",
    ]),
    strict(["PDO", "php", "certificate verify failed", "did not match expected name"]),
    strict(["mysqli", "php", "certificate verify failed", "did not match expected name"]),
    strict(["pymysql", "python", NO_ISSUER, "certificate is not valid for '127.0.0.1'"]),
    strict([
        "mysql-connector-python",
        "python",
        NO_ISSUER,
        "certificate is not valid for '127.0.0.1'",
    ]),
    // what it says itself is the same for both
    strict(["libmysqlclient", "python", "UnknownCA", "BadCertificate"]),
    strict([
        "mysql2",
        "node",
        "unable to verify the first certificate",
        "not in the cert's altnames",
    ]),
    strict([
        "go-sql-driver",
        "go",
        "certificate signed by unknown authority",
        "cannot validate certificate for 127.0.0.1",
    ]),
    strict(["rust-mysql", "rust-tls", "UnknownIssuer", "not valid for name \"127.0.0.1\""]),
    strict(["mariadb", "", NO_ISSUER, "Validation of SSL server certificate failed"]),
    strict([
        "mariadb-11.4",
        "",
        "The certificate issuer is unknown",
        "Certificate subject name doesn't match",
    ]),
    strict(["mysql", "", "UnknownCA", "BadCertificate"]),
];

/// Those that need no authority, with their kits and what they say of a login that proves another
/// certificate than they have seen. With an authority, too, they may make do with what a login
/// proves, so that they are shown somebody who has no password.
const PROVEN: [[&str; 3]; 2] = [
    ["mariadb-11.4", "", "The certificate is NOT trusted"],
    ["mariadb-connector-j", "java", "Self signed certificates"],
];

/// An address that they do not take for their own host, which they trust.
const FAR: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);
const FAR_HOST: &str = "127.0.0.2";

/// Whom a client connects to, and whom it trusts: an authority's file, or no path at all.
#[derive(Clone, Copy)]
struct Target<'a> {
    host: &'static str,
    port: u16,
    authorities: &'a Path,
}

struct Scene<'a> {
    kits: &'a Kits,
    dir: RunDir,
    /// Shows the certificate that Tidegate made.
    own: Proxy,
    /// Shows one for another name, for which the stranger vouches.
    elsewhere: Proxy,
    /// The port of somebody between clients and the first, who shows the same as the second.
    imposter: u16,
    /// A client of MariaDB from 11.4 on, or why there is none.
    newer: &'a Result<PathBuf, String>,
}

impl<'a> Scene<'a> {
    fn new(server: &Server, kits: &'a Kits, newer: &'a Result<PathBuf, String>) -> Self {
        let dir = RunDir::create().expect("a directory");
        let path = |file: &str| dir.path().join(file);
        let (certificate, key) = stranger_for("elsewhere.example", &path(STRANGER));
        let (shown, hidden) = (path("shown.pem"), path("key.pem"));
        std::fs::write(&shown, certificate).expect("written");
        std::fs::write(&hidden, key).expect("written");
        std::fs::write(path("cases.json"), CASES).expect("written");
        let start = |words: &[OsString], more: &str| {
            let config = |interfaces: String| configuration(server.port, &interfaces, more);
            Proxy::start_with(words, config).expect("tidegate starts")
        };
        let own = start(&["--datadir".into(), dir.path().into()], "");
        let ours = path("tidegate-ca.pem");
        let imposter = imposter(FAR, own.port, &ours, [&shown, &hidden]).expect("it listens");
        let (shown, hidden) = (shown.display(), hidden.display());
        let other = format!("ssl_cert = \"{shown}\"\nssl_key = \"{hidden}\"\n");
        Self { kits, own, elsewhere: start(&[], &other), imposter, newer, dir }
    }

    /// The client, or why it cannot be had.
    fn program(&self, name: &str, target: Target) -> Result<Program, String> {
        let (host, port) = (target.host, target.port.to_string());
        let framework = |program: &str, file: &str, words: &[&str]| {
            let program = Program::new(program).args([self.kits.programs.join(file)]);
            program.args(words).args([host, &port])
        };
        Ok(match name {
            "PDO" => framework("php", "php/frameworks.php", &["laravel", "native"]),
            "mysqli" => framework("php", "php/frameworks.php", &["doctrine", "native"]),
            "ruby-mysql2" => framework("ruby", "ruby/frameworks.rb", &["native"]),
            "mariadb" => {
                let version = version_of(Path::new(name))?;
                if !["Distrib 10.", "from 10."].iter().any(|old| version.contains(old)) {
                    return Err(format!("it may be as new as mariadb-11.4: {version}"));
                }
                client(name, target, &["--protocol=tcp", "--ssl-verify-server-cert"])
            }
            "mariadb-11.4" => {
                let program = self.newer.as_ref().map_err(Clone::clone)?;
                client(program, target, &["--protocol=tcp", "--ssl-verify-server-cert"])
            }
            "mysql" => {
                if version_of(Path::new(name))?.contains("MariaDB") {
                    return Err("there is none of MySQL's here".into());
                }
                client(name, target, &["--ssl-mode=VERIFY_IDENTITY"])
            }
            _ => self.kits.suite(name, &self.kits.rust_with_tls()),
        })
    }

    /// How it ended, with what was told by the client and in the log.
    fn run(&self, name: &str, target: Target) -> Result<(bool, String), String> {
        let logged = self.logs().map(|log| log.len());
        let done = self
            .program(name, target)?
            .env("LIVE_HOST", target.host)
            .env("LIVE_PORT", target.port.to_string())
            .env("LIVE_USER", "app")
            .env("LIVE_PASSWORD", "app")
            .env("LIVE_DB", "test")
            .env("LIVE_FLAVOUR", "mariadb")
            .env("LIVE_BIG", "0")
            .env("LIVE_TMP", self.dir.path())
            .env("LIVE_CASES", self.dir.path().join("cases.json"))
            .env("LIVE_CA", target.authorities)
            .limit(Duration::from_secs(120))
            .run();
        let [mut own, mut other] = self.logs();
        let logs = own.split_off(logged[0]) + &other.split_off(logged[1]);
        Ok((done.success, format!("{}{}\n{logs}", done.output, done.errors)))
    }

    fn logs(&self) -> [String; 2] {
        [&self.own, &self.elsewhere].map(Proxy::log)
    }

    /// What is wrong with how a client ended: it is let in, or it refuses with these words.
    fn fault(&self, name: &str, target: Target, refusal: Option<&str>) -> Result<String, String> {
        let (success, told) = self.run(name, target)?;
        let is_right = match refusal {
            None => success,
            Some(words) => !success && told.contains(words),
        };
        if is_right {
            return Ok(String::new());
        }
        let short: String = told.chars().take(6000).collect();
        Ok(format!("{name}, success: {success}, expected: {refusal:?}: {short}\n"))
    }
}

const CASES: &str =
    r#"[{"name": "verified", "steps": [{"sql": "SELECT REPEAT('x', 1000) AS x"}]}]"#;

/// A certificate for that name and its key, by an authority that is written to the file.
fn stranger_for(name: &str, file: &Path) -> (String, String) {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.distinguished_name.push(DnType::CommonName, "a stranger");
    let key = KeyPair::generate().expect("a key");
    std::fs::write(file, params.self_signed(&key).expect("signed").pem()).expect("written");
    let authority = Issuer::new(params, key);
    let mut leaf = CertificateParams::new([name.to_owned()]).expect("a name");
    leaf.distinguished_name.push(DnType::CommonName, name);
    let key = KeyPair::generate().expect("a key");
    (leaf.signed_by(&key, &authority).expect("signed").pem(), key.serialize_pem())
}

/// An account that is let in over TLS alone, and the server's own version.
fn configuration(port: u16, interfaces: &str, more: &str) -> String {
    let version = live::greeting_of(port).expect("the server greets");
    let far = interfaces.split(';').next().map(|it| it.replace("127.0.0.1", FAR_HOST));
    let far = far.unwrap_or_default();
    format!(
        "[mysql_variables]\ninterfaces = \"{interfaces};{far}\"\nthreads = 1\n\
         server_version = \"{version}\"\n{more}\n\
         [[mysql_users]]\nusername = \"app\"\npassword = \"app\"\nuse_ssl = 1\n\
         [[mysql_servers]]\nhostgroup_id = 0\nhostname = \"127.0.0.1\"\nport = {port}\n"
    )
}

fn newer_client() -> Result<PathBuf, String> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("drivers/mariadb.sh");
    let folder = live::target_dir().expect("known").join("live-mariadb");
    let finished = Program::new(script).args([folder]).limit(Duration::from_secs(400)).run();
    let server = finished.output.trim().strip_prefix("ready ").and_then(|it| it.split_once(' '));
    let Some((server, _)) = server else { return Err(finished.output + &finished.errors) };
    let program = Path::new(server).with_file_name("mariadb");
    version_of(&program).map(|_| program)
}

/// What it says of itself, or why it cannot be run.
fn version_of(program: &Path) -> Result<String, String> {
    let finished = Program::new(program).args(["--version"]).run();
    if finished.success { Ok(finished.output) } else { Err(finished.errors) }
}

fn client(program: impl AsRef<OsStr>, target: Target, words: &[&str]) -> Program {
    let program = Program::new(program)
        .args(["--no-defaults", "-uapp", "-papp", "--host", target.host])
        .args([format!("--port={}", target.port)])
        .args(words)
        .args(["-e", "SELECT REPEAT('x', 1000)"]);
    if target.authorities.as_os_str().is_empty() {
        return program;
    }
    program.args([format!("--ssl-ca={}", target.authorities.display())])
}

impl Strict {
    /// What it does that it should not, or why it cannot be tried.
    fn faults(&self, scene: &Scene) -> Result<String, String> {
        let (ours, theirs) =
            (scene.dir.path().join("tidegate-ca.pem"), scene.dir.path().join(STRANGER));
        // the one that looks for no addresses among a certificate's names
        let host = if self.name == "mysql2" { "localhost" } else { "127.0.0.1" };
        let own = scene.own.port;
        let [other, elsewhere] = match PROVEN.iter().any(|[name, ..]| *name == self.name) {
            true => [(FAR_HOST, scene.imposter, &ours), (FAR_HOST, scene.imposter, &theirs)],
            false => [(host, own, &theirs), (host, scene.elsewhere.port, &theirs)],
        };
        let mut wrong = String::new();
        for ((host, port, authorities), refusal) in [
            ((host, own, &ours), None),
            (other, Some(self.untrusted)),
            (elsewhere, Some(self.elsewhere)),
        ] {
            let target = Target { host, port, authorities };
            wrong += &scene.fault(self.name, target, refusal)?;
        }
        Ok(wrong)
    }
}

/// The same of one that is given no authority.
fn faults_without(scene: &Scene, name: &str, refusal: &str) -> Result<String, String> {
    let target = |port| Target { host: FAR_HOST, port, authorities: Path::new("") };
    let proven = scene.fault(name, target(scene.own.port), None)?;
    Ok(proven + &scene.fault(name, target(scene.imposter), Some(refusal))?)
}

/// What the clients do wrong whose turn it is.
fn faults(scene: &Scene, turn: &AtomicUsize) -> String {
    let mut wrong = String::new();
    loop {
        let at = turn.fetch_add(1, Ordering::Relaxed);
        let proven = at.checked_sub(EACH.len()).map(|at| PROVEN.get(at));
        let (name, kit, without) = match (EACH.get(at), proven.flatten()) {
            (Some(one), _) => (one.name, one.kit, ""),
            (None, Some([name, kit, _])) => (*name, *kit, " without an authority"),
            (None, None) => return wrong,
        };
        let missing = scene.kits.missing(kit).filter(|_| !kit.is_empty());
        let found = match (missing, EACH.get(at), proven.flatten()) {
            (None, Some(one), _) => one.faults(scene),
            (None, None, Some([.., refusal])) => faults_without(scene, name, refusal),
            (why, ..) => Err(why.unwrap_or_default().to_owned()),
        };
        match found {
            Ok(found) => wrong += &found,
            Err(why) => skip(&format!("{name} verifies a certificate{without}"), &why),
        }
    }
}

/// Two at a time, with proxies of their own for the logs.
#[test]
fn drivers_verify_the_certificate_and_refuse_others() {
    let Some(cluster) = live::cluster("drivers that verify", Flavour::MariaDb, 0) else { return };
    let (kits, newer, turn) = (&Kits::set_up(), &newer_client(), &AtomicUsize::default());
    let server = cluster.primary();
    let wrong: String = thread::scope(|scope| {
        let both =
            [(); 2].map(|()| scope.spawn(move || faults(&Scene::new(server, kits, newer), turn)));
        both.map(|half| half.join().expect("each runs to its end")).concat()
    });
    assert!(wrong.is_empty(), "{wrong}");
}

/// Why `mysql_native_password` is announced by default.
#[test]
fn without_an_authority_a_client_of_mariadb_goes_by_the_announced_plugin() {
    let what = "the announced plugin and TLS without an authority";
    let program = match newer_client() {
        Ok(program) => program,
        Err(why) => return skip(what, &why),
    };
    let Some(cluster) = live::cluster(what, Flavour::MariaDb, 0) else { return };
    for (announced, is_let_in) in
        [("mysql_native_password", true), ("caching_sha2_password", false)]
    {
        let dir = RunDir::create().expect("a directory");
        let announces = format!("default_authentication_plugin = \"{announced}\"");
        let port = cluster.primary().port;
        let config = |interfaces: String| configuration(port, &interfaces, &announces);
        let words = ["--datadir".into(), dir.path().into()];
        let proxy = Proxy::start_with(&words, config).expect("tidegate starts");
        let target = Target { host: FAR_HOST, port: proxy.port, authorities: Path::new("") };
        let done = client(&program, target, &["--protocol=tcp", "--ssl-verify-server-cert"]).run();
        assert_eq!(done.success, is_let_in, "{announced}: {}", done.errors);
        let refusal = "The certificate is NOT trusted";
        assert_eq!(done.errors.contains(refusal), !is_let_in, "{announced}: {}", done.errors);
        // it leaves in the middle of the handshake: no switch to another plugin could reach it
        let secured = proxy.counter("tls_clients").expect("counted");
        assert_eq!(secured, u64::from(is_let_in), "{announced}: {}", proxy.log());
        let authority = dir.path().join("tidegate-ca.pem");
        let verified = Target { host: "127.0.0.1", port: proxy.port, authorities: &authority };
        let done = client(&program, verified, &["--protocol=tcp"]).run();
        assert!(done.success, "{announced}: {}", done.errors);
    }
}
