//! A password is changed in Tidegate and on the server, one after the other, while clients log in
//! and query without a pause. No client gets an error, and the server refuses hardly a login.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use lab::{Cluster, Flavour, SplitOptions};
use live::{Proxy, client as driver};
use mysql::prelude::Queryable;
use mysql::{ChangeUserOpts, Conn};
use wire::auth::{native, sha2};

const SOON: Duration = Duration::from_secs(20);

/// Accounts that are changed at once: one whose statements are routed, and one that is relayed.
const ACCOUNTS: [&str; 2] = ["routed", "relayed"];

/// Logins that are seen in each stage.
const LOGINS: u64 = 30;

/// The passwords that clients show, and what comes of that.
struct Scene {
    flavour: Flavour,
    cluster: Cluster,
    proxy: Proxy,
    /// Which are shown now.
    shown: Mutex<Vec<&'static str>>,
    over: AtomicBool,
    logins: AtomicU64,
    /// How a password is stored in Tidegate.
    stored: fn(&str) -> String,
    /// The words of the server's `IDENTIFIED` before and behind a password.
    by: [&'static str; 2],
}

fn hash_for(flavour: Flavour) -> fn(&str) -> String {
    match flavour {
        Flavour::MariaDb => |password| {
            let hash = native::double_sha1(password.as_bytes());
            hash.iter().fold("*".to_owned(), |text, byte| format!("{text}{byte:02X}"))
        },
        Flavour::MySql => |password| {
            let hash = sha2::make_stored_hash(password.as_bytes(), b"a salt of twenty ...");
            String::from_utf8(hash).expect("text")
        },
    }
}

impl Scene {
    fn start(flavour: Flavour, stored: fn(&str) -> String) -> Option<Self> {
        let cluster = live::cluster("password_rotation", flavour, 0)?;
        let by = match flavour {
            Flavour::MariaDb => ["VIA mysql_native_password USING PASSWORD(", ")"],
            Flavour::MySql => ["WITH caching_sha2_password BY ", ""],
        };
        for user in ACCOUNTS {
            let primary = cluster.primary();
            primary.sql(&format!("CREATE USER {user} IDENTIFIED {}'one'{}", by[0], by[1])).ok()?;
            primary.sql(&format!("GRANT SELECT ON test.* TO {user}")).ok()?;
        }
        if flavour == Flavour::MySql {
            cluster.primary().sql("SET GLOBAL log_error_verbosity = 3").ok()?;
        }
        let row = |user: &str| {
            let is_relayed = u8::from(user == "relayed");
            format!(
                "\n[[mysql_users]]\nusername = \"{user}\"\npassword = '{}'\n\
                 fast_forward = {is_relayed}\n",
                stored("one")
            )
        };
        let proxy = Proxy::start(|interfaces| {
            let variables = "failed_connections_threshold = 3\nthreads = 2\n".to_owned();
            let more = ACCOUNTS.map(row).concat();
            let options = SplitOptions { interfaces, variables, more, ..Default::default() };
            lab::split_toml(&cluster, &options)
        })
        .expect("tidegate starts");
        let (over, logins) = (AtomicBool::new(false), AtomicU64::new(0));
        let shown = Mutex::new(vec!["one"]);
        Some(Self { flavour, cluster, proxy, shown, over, logins, stored, by })
    }

    fn admin(&self) -> Conn {
        let options = driver::account(self.proxy.admin_port, "admin", "admin");
        driver::connect(options.db_name(None::<&str>))
    }

    /// Tidegate takes these passwords from now on.
    fn load(&self, password: &str, additional: Option<&str>) {
        let mut admin = self.admin();
        let attributes = additional.map_or(String::new(), |additional| {
            format!("{{\"additional_password\": \"{}\"}}", (self.stored)(additional))
        });
        let password = (self.stored)(password);
        let set = format!(
            "UPDATE mysql_users SET password = '{password}', attributes = '{attributes}' \
             WHERE username IN ('routed', 'relayed')"
        );
        admin.query_drop(set).expect("set");
        admin.query_drop("LOAD MYSQL USERS TO RUNTIME").expect("loaded");
    }

    /// The servers take that password from now on, and in MySQL the one before where that is asked.
    fn alter(&self, password: &str, behind: &str) {
        for user in ACCOUNTS {
            let by = format!("{}'{password}'{}", self.by[0], self.by[1]);
            let alter = format!("ALTER USER {user} IDENTIFIED {by}{behind}");
            self.cluster.primary().sql(&alter).expect(&alter);
        }
    }

    /// From now on clients show these, and a good many have.
    fn show(&self, passwords: &[&'static str]) {
        *self.shown.lock().expect("whole") = passwords.to_vec();
        for _ in 0..2 {
            let before = self.logins.load(Ordering::Relaxed);
            let enough = || self.logins.load(Ordering::Relaxed) >= before + LOGINS;
            live::eventually("clients log in", SOON, enough);
        }
    }

    fn password(&self, turn: u64) -> &'static str {
        let shown = self.shown.lock().expect("whole");
        shown[usize::try_from(turn).expect("small") % shown.len()]
    }

    /// A client that logs in again and again, by a new connection or a change of user.
    fn client(&self, number: u64) {
        let user = ACCOUNTS[usize::try_from(number % 2).expect("small")];
        let mut turn = number;
        while !self.over.load(Ordering::Relaxed) {
            turn += 1;
            let password = self.password(turn);
            let mut conn = Conn::new(driver::account(self.proxy.port, user, password))
                .unwrap_or_else(|error| panic!("{user} with {password}: {error}"));
            self.ask(&mut conn, user);
            if user == "routed" {
                let again = ChangeUserOpts::new().with_user(Some(user.into()));
                let password = self.password(turn + 1);
                conn.change_user(again.with_pass(Some(password.into())))
                    .unwrap_or_else(|error| panic!("{user} changes with {password}: {error}"));
                self.ask(&mut conn, user);
            }
        }
    }

    fn ask(&self, conn: &mut Conn, user: &str) {
        let who: Option<String> = conn.query_first("SELECT CURRENT_USER()").expect("a row");
        assert_eq!(who, Some(format!("{user}@%")));
        self.logins.fetch_add(1, Ordering::Relaxed);
    }

    /// A client that logged in once, and whose statements go by connections that come and go.
    fn stay(&self) {
        let mut conn = driver::connect(driver::account(self.proxy.port, "routed", "one"));
        while !self.over.load(Ordering::Relaxed) {
            self.ask(&mut conn, "routed");
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// No connection to a server lasts.
    fn flush(&self) {
        let mut admin = self.admin();
        while !self.over.load(Ordering::Relaxed) {
            admin.query_drop("PROXYSQL FLUSH CONNECTIONS").expect("flushed");
            thread::sleep(Duration::from_millis(40));
        }
    }

    fn refused_at_server(&self) -> u64 {
        let primary = self.cluster.primary();
        match self.flavour {
            Flavour::MariaDb => primary.status("Access_denied_errors").expect("told"),
            Flavour::MySql => {
                let log = primary.error_log(usize::MAX);
                log.matches("Access denied for user").count() as u64
            }
        }
    }

    /// Goes through a rotation beside clients: from `one` to `two`.
    fn rotate(&self, steps: impl FnOnce(&Self)) {
        let refused = self.refused_at_server();
        thread::scope(|scope| {
            let mut clients: Vec<_> =
                (0..6).map(|number| scope.spawn(move || self.client(number))).collect();
            clients.push(scope.spawn(|| self.stay()));
            clients.push(scope.spawn(|| self.flush()));
            let steps = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| steps(self)));
            self.over.store(true, Ordering::Relaxed);
            let ended: Vec<_> = clients.into_iter().map(|client| client.join().is_ok()).collect();
            assert!(ended.iter().all(|is_well| *is_well), "{ended:?} {}", self.proxy.log());
            assert!(steps.is_ok());
        });
        let connections = self.proxy.counter("lanes_created").expect("told");
        assert!(connections > 100, "{connections}");
        // at most each client finds out for itself, once or twice
        let refused = self.refused_at_server() - refused;
        assert!((1..=24).contains(&refused), "{refused} of {connections}");
        for name in ["shuns", "lanes_failed", "logins_held_up", "denied_password", "defects"] {
            assert_eq!(self.proxy.counter(name).expect("told"), 0, "{name} {}", self.proxy.log());
        }
        let log = self.proxy.log();
        assert!(!log.contains("Access denied"), "{log}");
    }

    /// The password of before is wrong for new logins, and right for nothing.
    fn is_over(&self) {
        for user in ACCOUNTS {
            let refused = Conn::new(driver::account(self.proxy.port, user, "one"));
            let (code, _, message) = driver::refusal(&refused.expect_err("it is wrong"));
            assert_eq!(code, 1045, "{message}");
            Conn::new(driver::account(self.proxy.port, user, "two")).expect("it is right");
        }
    }
}

/// Tidegate is told first, and clients show either before the server is changed.
fn proxy_first(scene: &Scene) {
    scene.show(&["one"]);
    scene.load("two", Some("one"));
    scene.show(&["one", "two"]);
    scene.alter("two", "");
    scene.show(&["one", "two"]);
    scene.show(&["two"]);
    scene.load("two", None);
    scene.show(&["two"]);
}

/// The server is changed while what Tidegate has in the first place is still the old password.
fn server_first(scene: &Scene) {
    scene.load("one", Some("two"));
    scene.show(&["one", "two"]);
    scene.alter("two", "");
    scene.show(&["one", "two"]);
    scene.load("two", Some("one"));
    scene.show(&["two"]);
    scene.load("two", None);
    scene.show(&["two"]);
}

/// The server keeps both, before Tidegate knows of any change.
fn server_retains(scene: &Scene) {
    scene.show(&["one"]);
    scene.alter("two", " RETAIN CURRENT PASSWORD");
    scene.show(&["one"]);
    scene.load("two", Some("one"));
    scene.show(&["one", "two"]);
    for user in ACCOUNTS {
        let discard = format!("ALTER USER {user} DISCARD OLD PASSWORD");
        scene.cluster.primary().sql(&discard).expect("discarded");
    }
    scene.show(&["one", "two"]);
    scene.show(&["two"]);
    scene.load("two", None);
    scene.show(&["two"]);
}

fn goes_unnoticed(flavour: Flavour, stored: fn(&str) -> String, steps: fn(&Scene)) {
    let Some(scene) = Scene::start(flavour, stored) else { return };
    let mut earlier = driver::connect(driver::account(scene.proxy.port, "routed", "one"));
    scene.rotate(steps);
    scene.is_over();
    // who logged in by the password of before is still in
    scene.ask(&mut earlier, "routed");
}

fn clear(password: &str) -> String {
    password.to_owned()
}

#[test]
fn a_rotation_with_a_mariadb_goes_unnoticed() {
    for stored in [clear, hash_for(Flavour::MariaDb)] {
        goes_unnoticed(Flavour::MariaDb, stored, proxy_first);
        goes_unnoticed(Flavour::MariaDb, stored, server_first);
    }
}

#[test]
fn a_rotation_with_a_mysql_goes_unnoticed() {
    for stored in [clear, hash_for(Flavour::MySql)] {
        goes_unnoticed(Flavour::MySql, stored, proxy_first);
        goes_unnoticed(Flavour::MySql, stored, server_retains);
    }
}
