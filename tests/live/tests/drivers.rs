//! The driver suite: every driver's own view of one table of cases is the same through Tidegate as
//! directly, for both authentication methods, with rules and in fast forward.

use std::cell::LazyCell;
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
}

/// A way through Tidegate.
#[derive(Clone, Copy)]
struct Route {
    plugin: &'static str,
    user: &'static str,
    /// On both legs, for drivers that can.
    compressed: bool,
}

const fn route(plugin: &'static str, user: &'static str) -> Route {
    Route { plugin, user, compressed: false }
}

const fn compressed(plugin: &'static str, user: &'static str) -> Route {
    Route { plugin, user, compressed: true }
}

struct Suite<'a> {
    cluster: &'a Cluster,
    kits: &'a Kits,
    files: RunDir,
}

impl Suite<'_> {
    fn program(&self, driver: &str) -> Program {
        let Kits { programs, fetched, .. } = self.kits;
        match driver {
            "pymysql" | "mysql-connector-python" => {
                self.kits.python().args([programs.join("python/suite.py")]).args([driver])
            }
            "mysql2" => Program::new("node").args([fetched.join("node/suite.js")]),
            "go-sql-driver" => Program::new(fetched.join("go-suite")),
            "rust-mysql" => Program::new(env!("CARGO_BIN_EXE_rust-suite")),
            _ => {
                let path = self.kits.java_path();
                Program::new("java").args(["-Xmx1g", "-cp", &path, "Suite", driver])
            }
        }
    }

    /// Runs a driver's program against a target, on a fresh schema.
    fn run(&self, driver: &str, target: &Target) -> Finished {
        let fresh = "DROP DATABASE IF EXISTS test; CREATE DATABASE test CHARACTER SET utf8mb4";
        self.cluster.primary().sql(fresh).expect("a fresh schema");
        let flavour = match self.cluster.software().flavour {
            Flavour::MariaDb => "mariadb",
            Flavour::MySql => "mysql",
        };
        let program = match target.compressed {
            true => self.program(driver).env("LIVE_COMPRESS", "1"),
            false => self.program(driver),
        };
        program
            .env("LIVE_HOST", "127.0.0.1")
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

/// A proxy that announces this method and the server's own version.
fn proxy(cluster: &Cluster, plugin: &str, compresses: bool) -> Proxy {
    let version = live::greeting_of(cluster.primary().port).expect("the server greets");
    let variables = format!(
        "server_version = \"{version}\"\ndefault_authentication_plugin = \"{plugin}\"\n\
         max_allowed_packet = 1073741824\nenable_load_data_local_infile = true\n\
         connect_timeout_server = 10000\n"
    );
    let options = SplitOptions { variables, ..Default::default() };
    let server = format!("max_connections = 1000\ncompression = {}\n", u8::from(compresses));
    Proxy::start(|interfaces| {
        let toml = lab::split_toml(cluster, &SplitOptions { interfaces, ..options });
        toml.replace("max_connections = 1000\n", &server)
    })
    .expect("tidegate starts")
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
    let plugins = ["mysql_native_password", "caching_sha2_password"];
    let kinds = plugins.into_iter().flat_map(|plugin| [(plugin, false), (plugin, true)]);
    let proxies: Vec<_> =
        kinds.map(|kind| (kind, LazyCell::new(move || proxy(cluster, kind.0, kind.1)))).collect();
    let files = RunDir::create().expect("made");
    let suite = Suite { cluster, kits, files };
    // a driver that cannot send a password in the clear needs a server that has seen it before
    client::connect(client::options(cluster.primary().port));
    let port = cluster.primary().port;
    let direct = Target { name: "direct".into(), port, user: "app", compressed: false };

    let mut wrong = String::new();
    while let Some(&(driver, kit)) = DRIVERS.get(turn.fetch_add(1, Ordering::Relaxed)) {
        if let Some(why) = kits.missing(kit) {
            skip(&format!("{what}: {driver}"), why);
            continue;
        }
        let expected = suite.run(driver, &direct);
        assert!(expected.success, "{driver} fails directly: {}", expected.errors);
        assert!(expected.output.lines().count() > 200, "{driver}: {}", expected.output);
        for &Route { plugin, user, compressed } in routes {
            let sha2 = plugin == "caching_sha2_password";
            if driver == "mysql-connector-j" && flavour == Flavour::MariaDb && sha2 {
                // It takes the answers for those of a server too old for them.
                skip(&format!("{what}: {driver}, {plugin}"), "not with a version of 5.5.5");
                continue;
            }
            let is_meant = |(kind, _): &&(_, _)| *kind == (plugin, compressed);
            let (_, proxy) = proxies.iter().find(is_meant).expect("there is one of each kind");
            let name = format!("{plugin}, user {user}, compressed: {compressed}");
            let target = Target { name, port: proxy.port, user, compressed };
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

const EVERY_WAY: [Route; 6] = [
    route("mysql_native_password", "app"),
    route("caching_sha2_password", "app"),
    route("mysql_native_password", "ff"),
    route("caching_sha2_password", "ff"),
    compressed("mysql_native_password", "app"),
    compressed("caching_sha2_password", "ff"),
];

#[test]
fn drivers_see_no_difference_with_mariadb() {
    // with the other flavour's, each method with each kind of user
    let quick = [
        route("mysql_native_password", "app"),
        route("caching_sha2_password", "ff"),
        compressed("mysql_native_password", "app"),
    ];
    drivers_agree(Flavour::MariaDb, if live::full() { &EVERY_WAY } else { &quick });
}

#[test]
fn drivers_see_no_difference_with_mysql() {
    let quick = [route("caching_sha2_password", "app"), compressed("mysql_native_password", "ff")];
    drivers_agree(Flavour::MySql, if live::full() { &EVERY_WAY } else { &quick });
}
