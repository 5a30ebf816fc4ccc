//! Every password of a process, and each hash that it has of one, is looked for in everything that
//! it says. That is on the wires to clients and servers, in its log and output, in its errors and
//! in the answers of its HTTP port. It is also every table that is not one of passwords.

use std::ffi::OsString;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use base64::Engine as _;
use lab::{Cluster, Flavour, RunDir};
use live::{Proxy, client as driver, encrypted};
use mysql::prelude::Queryable;
use mysql::{Conn, Row, Value};
use wire::auth::{native, sha2};

/// Every password has this in it: right ones, and wrong ones that clients show.
const MARK: &str = "pAss-7c1f-";

/// Tables that have passwords, as ProxySQL's; so have those of what is in force.
const OF_PASSWORDS: [&str; 3] =
    ["mysql_users", "global_variables", "tidegate_replication_clusters"];

fn secret(of: &str) -> String {
    format!("{MARK}{of}")
}

/// Passes bytes on to a port, and keeps them.
struct Recorder {
    port: u16,
    heard: Arc<Mutex<Vec<u8>>>,
}

impl Recorder {
    fn start(to: u16) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let port = listener.local_addr().expect("known").port();
        let heard = Arc::<Mutex<Vec<u8>>>::default();
        let notes = heard.clone();
        thread::spawn(move || {
            for near in listener.incoming().flatten() {
                let far = TcpStream::connect((Ipv4Addr::LOCALHOST, to)).expect("it listens");
                let copy = |stream: &TcpStream| stream.try_clone().expect("a handle");
                let both = [(copy(&near), copy(&far)), (far, near)];
                for (from, to) in both {
                    let notes = notes.clone();
                    thread::spawn(move || pass_on(from, to, &notes));
                }
            }
        });
        Self { port, heard }
    }
}

fn pass_on(mut from: TcpStream, mut to: TcpStream, notes: &Mutex<Vec<u8>>) {
    let mut bytes = [0; 4096];
    while let Ok(count @ 1..) = from.read(&mut bytes) {
        notes.lock().expect("whole").extend_from_slice(&bytes[..count]);
        if to.write_all(&bytes[..count]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Write);
}

struct Scene {
    /// What is said nowhere: [`MARK`], and what is stored of passwords that have none in clear.
    secrets: [String; 3],
    proxy: Proxy,
    dir: RunDir,
    clients: Recorder,
    servers: Recorder,
    http: u16,
}

impl Scene {
    fn start(cluster: &Cluster) -> Self {
        let dir = RunDir::create().expect("a directory");
        let servers = Recorder::start(cluster.primary().port);
        let [admin_port, http] = [(); 2].map(|()| lab::free_port().expect("a port"));
        let hashed = native::double_sha1(secret("hashed").as_bytes());
        let hashed: String = hashed.iter().map(|byte| format!("{byte:02X}")).collect();
        let stored = sha2::make_stored_hash(secret("salted").as_bytes(), b"a salt of twenty ...");
        let stored = String::from_utf8(stored).expect("text");
        let (_, salted) = stored.split_at("$A$005$".len() + sha2::SALT_BYTES);
        let secrets = [MARK, &hashed, salted].map(str::to_owned);
        let user = |name: &str, password: &str, attributes: &str| {
            format!(
                "[[mysql_users]]\nusername = \"{name}\"\npassword = '''{password}'''\n\
                 attributes = '{attributes}'\n"
            )
        };
        let also = format!("{{\"additional_password\": \"{}\"}}", secret("also"));
        let words = [OsString::from("--datadir"), dir.path().into()];
        let mut proxy = Proxy::start_with(&words, |interfaces| {
            [
                format!(
                    "[mysql_variables]\ninterfaces = \"{interfaces}\"\nthreads = 1\n\
                     get_server_public_key = true\nmonitor_username = \"watcher\"\n\
                     monitor_password = \"{}\"\nmonitor_connect_interval = 200\n\
                     [[mysql_servers]]\nhostgroup_id = 0\nhostname = \"127.0.0.1\"\nport = {}\n",
                    secret("watcher"),
                    servers.port
                ),
                user("clear", &secret("clear"), &also),
                user("hashed", &format!("*{hashed}"), ""),
                user("salted", &stored, ""),
                user("proved", "", r#"{"password_from": "login"}"#),
                format!(
                    "[admin_variables]\nmysql_ifaces = \"127.0.0.1:{admin_port}\"\n\
                     admin_credentials = \"admin:{}\"\nstats_credentials = \"stats:{}\"\n\
                     restapi_enabled = true\nrestapi_port = {http}\n",
                    secret("admin"),
                    secret("stats")
                ),
            ]
            .concat()
        })
        .expect("tidegate starts");
        proxy.admin_port = admin_port;
        let clients = Recorder::start(proxy.port);
        let greets = || live::greeting_of(admin_port).is_ok();
        live::eventually("the interface greets", Duration::from_secs(10), greets);
        Self { secrets, proxy, dir, clients, servers, http }
    }

    /// A client that shows a password however its driver does; what it is told.
    fn log_in(&self, user: &str, password: &str) -> String {
        let told = Conn::new(driver::account(self.clients.port, user, password))
            .and_then(|mut conn| conn.query_first::<String, _>("SELECT CURRENT_USER()"));
        told.map_or_else(|error| error.to_string(), Option::unwrap_or_default)
    }

    /// The same in TLS, where the password itself is shown.
    fn log_in_encrypted(&self, user: &str, password: &str) -> String {
        let authorities = self.dir.path().join("tidegate-ca.pem");
        let tls = encrypted::trusting(&authorities, rustls::ALL_VERSIONS).expect("authorities");
        let told = encrypted::log_in(self.clients.port, &tls, user, password)
            .and_then(|mut client| encrypted::row_of(&mut client, "SELECT CURRENT_USER()"));
        told.map_or_else(
            |error| format!("{error:#}"),
            |row| String::from_utf8_lossy(&row[1..]).into_owned(),
        )
    }

    fn admin(&self) -> Conn {
        let options = driver::account(self.proxy.admin_port, "admin", &secret("admin"));
        driver::connect(options.db_name(None::<&str>))
    }

    fn get(&self, path: &str, password: &str) -> String {
        let who = format!("stats:{password}");
        let who = base64::engine::general_purpose::STANDARD.encode(who);
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.http)).expect("it listens");
        let head = format!("GET {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Basic {who}\r\n");
        stream.write_all(format!("{head}Connection: close\r\n\r\n").as_bytes()).expect("sent");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("it answers");
        answer
    }
}

/// Every row of every table that is not about passwords, as text.
fn tables(admin: &mut Conn) -> String {
    let mut told = String::new();
    for database in ["main", "stats", "monitor", "disk", "stats_history"] {
        let names: Vec<String> =
            admin.query(format!("SHOW TABLES FROM {database}")).expect("a database");
        let is_open =
            |name: &&String| !OF_PASSWORDS.contains(&name.strip_prefix("runtime_").unwrap_or(name));
        for name in names.iter().filter(is_open) {
            let rows: Vec<Row> =
                admin.query(format!("SELECT * FROM {database}.{name}")).expect("readable");
            let values = rows.into_iter().flat_map(Row::unwrap);
            let texts = values.filter_map(|value| match value {
                Value::Bytes(bytes) => Some(String::from_utf8_lossy(&bytes).into_owned()),
                _ => None,
            });
            told.extend(texts.map(|text| text + "\n"));
        }
    }
    told
}

/// What the process has written into files that are not made for passwords.
fn files(proxy: &Proxy, dir: &RunDir) -> String {
    let of = |dir: &std::path::Path| -> Vec<PathBuf> {
        let entries = std::fs::read_dir(dir).expect("a directory").flatten();
        entries.map(|entry| entry.path()).filter(|path| path.is_file()).collect()
    };
    let config = proxy.config();
    let all = [of(dir.path()), of(config.parent().expect("a directory"))].concat();
    let is_for_passwords = |path: &PathBuf| {
        *path == config || path.file_name().is_some_and(|name| name == "tidegate.db")
    };
    let open = all.into_iter().filter(|path| !is_for_passwords(path));
    open.map(|path| String::from_utf8_lossy(&std::fs::read(path).expect("read")).into_owned())
        .collect()
}

fn says_no_password(flavour: Flavour, plugin: &str) {
    let Some(cluster) = live::cluster("passwords_hidden", flavour, 0) else { return };
    for user in ["clear", "hashed", "salted", "proved", "watcher"] {
        for statement in [
            format!("CREATE USER {user} IDENTIFIED {plugin} '{}'", secret(user)),
            format!("GRANT SELECT ON *.* TO {user}"),
        ] {
            cluster.primary().sql(&statement).expect("made");
        }
    }
    let scene = Scene::start(&cluster);
    let mut told = String::new();
    // by what each account shows of its own, the first time and the second
    for _ in 0..2 {
        // of a hash there is nothing to show to a server that asks for more
        let hashed = Some("hashed").filter(|_| flavour == Flavour::MariaDb);
        for user in ["clear"].into_iter().chain(hashed) {
            assert_eq!(scene.log_in(user, &secret(user)), format!("{user}@%"));
        }
        for user in ["clear", "salted", "proved"] {
            assert_eq!(scene.log_in_encrypted(user, &secret(user)), format!("{user}@%"));
        }
        assert_eq!(scene.log_in("salted", &secret("salted")), "salted@%");
    }
    for user in ["clear", "hashed", "salted", "proved", "nobody"] {
        let wrong = secret("wrong");
        for refused in [scene.log_in(user, &wrong), scene.log_in_encrypted(user, &wrong)] {
            assert!(refused.contains("Access denied"), "{user}: {refused}");
            told += &refused;
        }
    }
    assert_eq!(scene.log_in("clear", &secret("also")), "clear@%");
    // what a configuration is refused for, by statement and by file
    let mut admin = scene.admin();
    let long =
        format!("UPDATE mysql_users SET password = '$A${}' WHERE username = 'clear'", secret("x"));
    admin.query_drop(long).expect("written");
    let refused = admin.query_drop("LOAD MYSQL USERS TO RUNTIME").expect_err("it is no hash");
    told += &refused.to_string();
    let long = format!(
        "UPDATE mysql_users SET password = 'x', attributes = \
         '{{\"additional_password\": \"$A${}\"}}' WHERE username = 'clear'",
        secret("x")
    );
    admin.query_drop(long).expect("written");
    let refused = admin.query_drop("LOAD MYSQL USERS TO RUNTIME").expect_err("it is no hash");
    assert!(refused.to_string().contains("additional_password: a caching_sha2"), "{refused}");
    told += &refused.to_string();
    let own = std::fs::read_to_string(scene.proxy.config()).expect("read");
    let broken = own.replace("monitor_password = \"", "monitor_password = 7\"");
    assert!(!scene.proxy.reload(|_| broken).expect("an outcome"));
    std::fs::write(scene.proxy.config(), own).expect("written");
    told += &scene.get("/metrics", &secret("stats"));
    assert!(told.contains("tidegate_"), "{told}");
    told += &scene.get("/metrics", &secret("wrong"));
    told += &scene.get(&format!("/{}", "nowhere"), &secret("stats"));
    let rows = tables(&mut admin);
    assert!(
        ["salted", "CURRENT_USER", "Access denied"].iter().all(|it| rows.contains(it)),
        "{rows}"
    );
    told += &rows;
    told += &scene.proxy.log();
    told += &files(&scene.proxy, &scene.dir);
    assert!(told.contains("'nobody'"), "what is looked at has the refusals: {told}");
    has_none(&scene, told);
}

/// Neither what was told nor what went by holds a secret.
fn has_none(scene: &Scene, told: String) {
    let [clients, servers] = [&scene.clients, &scene.servers]
        .map(|recorder| recorder.heard.lock().expect("whole").clone());
    for (place, heard) in [("told", told.into_bytes()), ("clients", clients), ("servers", servers)]
    {
        assert!(heard.len() > 1000, "{place}: {} bytes", heard.len());
        for secret in &scene.secrets {
            let at = heard.windows(secret.len()).position(|bytes| bytes == secret.as_bytes());
            let around = at.map(|at| &heard[at.saturating_sub(300)..(at + 60).min(heard.len())]);
            let around = around.map(|bytes| bytes.escape_ascii().to_string());
            assert_eq!(around, None, "{place}");
        }
    }
}

#[test]
fn no_password_is_said_with_a_mariadb() {
    says_no_password(Flavour::MariaDb, "BY");
}

#[test]
fn no_password_is_said_with_a_mysql() {
    says_no_password(Flavour::MySql, "WITH caching_sha2_password BY");
}
