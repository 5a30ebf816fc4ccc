//! The driver suite: every driver's own view of one table of cases is the same through Tidegate as
//! directly. That holds for both authentication methods, with rules and in fast forward,
//! compressed, and over TLS with the certificate verified.

use std::cell::LazyCell;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use lab::{Cluster, Flavour, RunDir, SplitOptions};
use live::{Finished, Kits, Program, Proxy, client, skip};

const DRIVERS: [(&str, &str); 7] = [
    ("pymysql", "python"),
    ("mysql-connector-python", "python"),
    ("mysql2", "node"),
    ("go-sql-driver", "go"),
    ("mysql-connector-j", "java"),
    ("mariadb-connector-j", "java"),
    ("rust-mysql", "rust"),
];

/// Where a program connects to.
#[derive(Debug, Clone)]
struct Target {
    name: String,
    port: u16,
    user: &'static str,
    compressed: bool,
    /// Those who vouch for its certificate; without them, nothing is encrypted.
    authorities: Option<PathBuf>,
}

/// What a proxy has to be like.
#[derive(Clone, Copy, PartialEq)]
struct Kind {
    plugin: &'static str,
    /// On both legs, for drivers that can.
    compressed: bool,
    /// Demanded of clients, who verify the certificate as strictly as they can.
    tls: bool,
}

/// A way through Tidegate.
#[derive(Clone, Copy)]
struct Route {
    kind: Kind,
    user: &'static str,
}

const fn route(plugin: &'static str, user: &'static str) -> Route {
    Route { kind: Kind { plugin, compressed: false, tls: false }, user }
}

impl Route {
    const fn compressed(mut self) -> Self {
        self.kind.compressed = true;
        self
    }

    const fn encrypted(mut self) -> Self {
        self.kind.tls = true;
        self
    }
}

struct Suite<'a> {
    cluster: &'a Cluster,
    kits: &'a Kits,
    files: RunDir,
}

impl Suite<'_> {
    fn program(&self, driver: &str, target: &Target) -> Program {
        let rust = env!("CARGO_BIN_EXE_rust-suite").to_owned();
        let mut program = match &target.authorities {
            // a certificate has the name, which one of the drivers looks for in any case
            Some(authorities) => self
                .kits
                .suite(driver, &self.kits.rust_with_tls())
                .env("LIVE_HOST", "localhost")
                .env("LIVE_CA", authorities),
            None => self.kits.suite(driver, &rust).env("LIVE_HOST", "127.0.0.1"),
        };
        if target.compressed {
            program = program.env("LIVE_COMPRESS", "1");
        }
        program
    }

    /// Runs a driver's program against a target, on a fresh schema.
    fn run(&self, driver: &str, target: &Target) -> Finished {
        let fresh = "DROP DATABASE IF EXISTS test; CREATE DATABASE test CHARACTER SET utf8mb4";
        self.cluster.primary().sql(fresh).expect("a fresh schema");
        let flavour = match self.cluster.software().flavour {
            Flavour::MariaDb => "mariadb",
            Flavour::MySql => "mysql",
        };
        self.program(driver, target)
            .env("LIVE_PORT", target.port.to_string())
            .env("LIVE_USER", target.user)
            .env("LIVE_PASSWORD", target.user)
            .env("LIVE_DB", "test")
            .env("LIVE_FLAVOUR", flavour)
            .env("LIVE_BIG", (if live::full() { 40 << 20 } else { 17 << 20 }).to_string())
            .env("LIVE_TMP", self.files.path())
            .env("LIVE_CASES", self.kits.programs.join("cases.json"))
            .limit(Duration::from_secs(120))
            .run()
    }
}

/// A proxy that announces this method and the server's own version, and where it has the authority
/// that it made.
fn proxy(cluster: &Cluster, kind: Kind) -> (Proxy, RunDir) {
    let Kind { plugin, compressed, tls } = kind;
    let dir = RunDir::create().expect("made");
    let words = [OsString::from("--datadir"), dir.path().into()];
    let version = live::greeting_of(cluster.primary().port).expect("the server greets");
    let variables = format!(
        "server_version = \"{version}\"\ndefault_authentication_plugin = \"{plugin}\"\n\
         max_allowed_packet = 1073741824\nenable_load_data_local_infile = true\n\
         connect_timeout_server = 10000\n"
    );
    let options = SplitOptions { variables, ..Default::default() };
    let server = format!("max_connections = 1000\ncompression = {}\n", u8::from(compressed));
    let account = format!("default_hostgroup = 0\nuse_ssl = {}\n", u8::from(tls));
    let proxy = Proxy::start_with(&words, |interfaces| {
        lab::split_toml(cluster, &SplitOptions { interfaces, ..options })
            .replace("max_connections = 1000\n", &server)
            .replace("default_hostgroup = 0\n", &account)
    });
    (proxy.expect("tidegate starts"), dir)
}

/// The lines that differ, a few of them in full.
fn differences(driver: &str, target: &Target, direct: &Finished, through: &Finished) -> String {
    let expected: Vec<&str> = direct.output.lines().collect();
    let given: Vec<&str> = through.output.lines().collect();
    let mut text = String::new();
    let unequal: Vec<usize> = (0..expected.len().max(given.len()))
        .filter(|&line| expected.get(line) != given.get(line))
        .collect();
    for &line in unequal.iter().take(8) {
        let short = |lines: &[&str]| -> String {
            lines.get(line).unwrap_or(&"nothing").chars().take(700).collect()
        };
        text += &format!("  direct:  {}\n  through: {}\n", short(&expected), short(&given));
    }
    if !through.success {
        let told = through.errors.lines().filter(|line| !line.contains(" WARN] "));
        text += &told.take(25).collect::<Vec<_>>().join("\n");
    }
    if !text.is_empty() {
        text = format!("{driver}, {}: {} lines\n{text}", target.name, unequal.len());
    }
    text
}

/// What the next driver is, for several who ask.
type Turn = AtomicUsize;

/// Runs the drivers whose turn it is on these servers; gives what they saw that differs.
fn differences_of_drivers(cluster: &Cluster, routes: &[Route], kits: &Kits, turn: &Turn) -> String {
    let flavour = cluster.software().flavour;
    let what = format!("drivers with {}", flavour.name());
    let mut proxies: Vec<(Kind, LazyCell<_, _>)> = Vec::new();
    for &Route { kind, .. } in routes {
        if !proxies.iter().any(|(there, _)| *there == kind) {
            proxies.push((kind, LazyCell::new(move || proxy(cluster, kind))));
        }
    }
    let files = RunDir::create().expect("made");
    let suite = Suite { cluster, kits, files };
    // a driver that cannot send a password in the clear needs a server that has seen it before
    client::connect(client::options(cluster.primary().port));
    let port = cluster.primary().port;
    let name = "direct".into();
    let direct = Target { name, port, user: "app", compressed: false, authorities: None };

    let mut wrong = String::new();
    while let Some(&(driver, kit)) = DRIVERS.get(turn.fetch_add(1, Ordering::Relaxed)) {
        if let Some(why) = kits.missing(kit) {
            skip(&format!("{what}: {driver}"), why);
            continue;
        }
        let expected = suite.run(driver, &direct);
        assert!(expected.success, "{driver} fails directly: {}", expected.errors);
        assert!(expected.output.lines().count() > 200, "{driver}: {}", expected.output);
        for &Route { kind, user } in routes {
            let Kind { plugin, compressed, tls } = kind;
            let sha2 = plugin == "caching_sha2_password";
            if driver == "mysql-connector-j" && flavour == Flavour::MariaDb && sha2 {
                // It takes the answers for those of a server too old for them.
                skip(&format!("{what}: {driver}, {plugin}"), "not with a version of 5.5.5");
                continue;
            }
            if let Some(why) = kits.missing("rust-tls").filter(|_| tls && kit == "rust") {
                skip(&format!("{what}: {driver}, TLS"), why);
                continue;
            }
            let behind = proxies.iter().find(|(there, _)| *there == kind);
            let (proxy, dir) = &**behind.map(|(_, proxy)| proxy).expect("one of each kind");
            let name = format!("{plugin}, user {user}, compressed: {compressed}, TLS: {tls}");
            let authorities = tls.then(|| dir.path().join("tidegate-ca.pem"));
            let target = Target { name, port: proxy.port, user, compressed, authorities };
            let through = suite.run(driver, &target);
            wrong += &differences(driver, &target, &expected, &through);
            assert!(proxy.is_running(), "{driver}: tidegate has ended\n{}", proxy.log());
        }
    }
    wrong
}

/// Two drivers at a time, on servers of their own: each waits much of the time.
fn drivers_agree(flavour: Flavour, routes: &[Route]) {
    let what = format!("drivers with {}", flavour.name());
    let Some(one) = live::cluster(&what, flavour, 0) else { return };
    let Some(other) = live::cluster(&what, flavour, 0) else { return };
    let (kits, turn) = (&Kits::set_up(), &Turn::default());
    let wrong: String = thread::scope(|scope| {
        let both = [&one, &other].map(|cluster| {
            scope.spawn(move || differences_of_drivers(cluster, routes, kits, turn))
        });
        both.map(|half| half.join().expect("each driver runs to its end")).concat()
    });
    assert!(wrong.is_empty(), "{what}:\n{wrong}");
}

const EVERY_WAY: [Route; 10] = [
    route("mysql_native_password", "app"),
    route("caching_sha2_password", "app"),
    route("mysql_native_password", "ff"),
    route("caching_sha2_password", "ff"),
    route("mysql_native_password", "app").compressed(),
    route("caching_sha2_password", "ff").compressed(),
    route("mysql_native_password", "app").encrypted(),
    route("caching_sha2_password", "ff").encrypted(),
    route("caching_sha2_password", "app").encrypted().compressed(),
    route("mysql_native_password", "ff").encrypted().compressed(),
];

#[test]
fn drivers_see_no_difference_with_mariadb() {
    // with the other flavour's, each method with each kind of user; drivers that cannot compress
    // are encrypted alone
    let quick = [
        route("mysql_native_password", "app"),
        route("caching_sha2_password", "ff"),
        route("mysql_native_password", "app").encrypted().compressed(),
    ];
    drivers_agree(Flavour::MariaDb, if live::full() { &EVERY_WAY } else { &quick });
}

#[test]
fn drivers_see_no_difference_with_mysql() {
    let quick = [
        route("caching_sha2_password", "app"),
        route("mysql_native_password", "ff").encrypted().compressed(),
    ];
    drivers_agree(Flavour::MySql, if live::full() { &EVERY_WAY } else { &quick });
}
