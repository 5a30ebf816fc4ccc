//! All combinations of how the two legs are secured and compressed, how an account proves its
//! password on each, and what goes by. The bytes are the same as on a plain connection to the
//! server.
//!
//! Which combinations run is worked out, not written down ([`chosen`]). Among them is all that can
//! be of a login, and all that can lie between two sockets but long packets, with values of the
//! other dimensions by turns. Every pair of values of any two dimensions is there, too. What cannot
//! be has a rule ([`excluded`]), and what of that can be asked for is refused as it should be.

mod combinations;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use lab::{Cluster, Flavour, RunDir};
use live::cover::{Case, pairs};
use live::exchange::{Asked, CAPS, asked, difference, exchange, query};
use live::secured::{How, Secured};
use live::{Pki, Proxy, encrypted};
use rustls::client::Resumption;
use rustls::version::{TLS12, TLS13};
use rustls::{ClientConfig, HandshakeKind, ProtocolVersion};
use wire::Caps;
use wire::auth::{Plugin, native, rsa, sha2};
use wire::command::code;
use wire::result::ReplyKind;

use combinations::{
    CLIENT_ACCOUNT, CLIENT_COMPRESSION, CLIENT_TLS, DIMENSIONS, Excluded, NO_PASSWORD,
    SERVER_ACCOUNT, SERVER_COMPRESSION, SERVER_PLUGIN, SERVER_TLS, SESSION, WORK, candidates,
    chosen, excluded, name_of, refused, value,
};

const NO_KEY: &str = "failed: no password is encrypted for its public key unless \
                      mysql-server_public_keys has that";

/// The accounts of a combination.
struct Accounts {
    client: (String, String),
    server: (String, String),
}

impl Accounts {
    fn of(number: usize, case: &[usize]) -> Self {
        let name = format!("m{number}");
        let password = match value(case, CLIENT_ACCOUNT) {
            "empty" => String::new(),
            _ => format!("secret of {name}"),
        };
        let server = match value(case, SERVER_ACCOUNT) {
            "another" => (format!("{name}s"), format!("at servers {name}")),
            _ => (name.clone(), password.clone()),
        };
        Self { client: (name, password), server }
    }

    /// What a server is told to have the account.
    fn identified(&self, case: &[usize]) -> String {
        let (name, password) = &self.server;
        match value(case, SERVER_PLUGIN) {
            "native" => format!("'{name}' IDENTIFIED BY '{password}'"),
            "ed25519" => format!("'{name}' IDENTIFIED VIA ed25519 USING PASSWORD('{password}')"),
            "sha256" => format!("'{name}' IDENTIFIED WITH sha256_password BY '{password}'"),
            _ => format!("'{name}' IDENTIFIED WITH caching_sha2_password BY '{password}'"),
        }
    }

    /// The rows that Tidegate has of it.
    fn rows(&self, case: &[usize], tls: &str) -> String {
        let (name, password) = &self.client;
        let stored = match value(case, CLIENT_ACCOUNT) {
            kind if kind.starts_with('*') => {
                native::to_stored(&native::double_sha1(password.as_bytes()))
            }
            kind if kind.starts_with('$') => {
                let stored = sha2::make_stored_hash(password.as_bytes(), b"a salt of twenty ...");
                String::from_utf8(stored).expect("text")
            }
            _ => password.clone(),
        };
        let encrypted = value(case, SERVER_TLS) != "none";
        let hostgroup = hostgroup(encrypted, value(case, SERVER_COMPRESSION) != "none");
        let mut rows = format!(
            "[[mysql_users]]\nusername = \"{name}\"\npassword = '''{stored}'''\n\
             default_hostgroup = {hostgroup}\nfast_forward = {}\n",
            case[SESSION]
        );
        let (at_servers, password) = &self.server;
        if at_servers != name {
            write!(
                rows,
                "attributes = '{{\"backend_username\": \"{at_servers}\"}}'\n\
                 [[mysql_users]]\nusername = \"{at_servers}\"\npassword = \"{password}\"\n\
                 frontend = 0\n"
            )
            .expect("written");
        }
        if value(case, SERVER_TLS) == "TLSv1.2" {
            write!(
                rows,
                "[[mysql_servers_ssl_params]]\nusername = \"{at_servers}\"\n{tls}\
                 tls_version = \"TLSv1.2\"\n"
            )
            .expect("written");
        }
        rows
    }
}

/// The hostgroup whose server is reached so.
fn hostgroup(encrypted: bool, compressed: bool) -> u8 {
    2 * u8::from(encrypted) + u8::from(compressed)
}

/// A proxy that knows all accounts, and its clients' TLS.
struct Scene {
    proxy: Proxy,
    tls: [Arc<ClientConfig>; 4],
    _dir: RunDir,
}

impl Scene {
    fn new(port: u16, pki: &Pki, variables: &str, rows: &str) -> Self {
        let dir = RunDir::create().expect("a directory");
        let words = [OsString::from("--datadir"), dir.path().into()];
        let proxy = Proxy::start_with(&words, |interfaces| {
            let trusted = pki.variables(&[("ssl_p2s_ca", "ca")]);
            let mut text = format!(
                "[mysql_variables]\ninterfaces = \"{interfaces}\"\nthreads = 2\n\
                 max_allowed_packet = 67108864\nenable_load_data_local_infile = true\n\
                 connect_timeout_server_max = 3000\n{trusted}{variables}\n{rows}\
                 [[mysql_users]]\nusername = \"app\"\npassword = \"app\"\n"
            );
            for number in 0..4_u8 {
                write!(
                    text,
                    "[[mysql_servers]]\nhostgroup_id = {number}\nhostname = \"127.0.0.1\"\n\
                     port = {port}\nuse_ssl = {}\ncompression = {}\n",
                    number / 2,
                    number % 2
                )
                .expect("written");
            }
            text
        });
        let authority = dir.path().join("tidegate-ca.pem");
        let tls = [(&TLS12, false), (&TLS12, true), (&TLS13, false), (&TLS13, true)];
        let tls = tls.map(|(version, resumes)| {
            let mut tls = encrypted::trusting(&authority, &[version]).expect("an authority");
            if !resumes {
                Arc::make_mut(&mut tls).resumption = Resumption::disabled();
            }
            tls
        });
        let scene = Self { proxy: proxy.expect("tidegate starts"), tls, _dir: dir };
        for tls in &scene.tls {
            let account = ("app", "app");
            let how = How { account, plugin: Plugin::CachingSha2, tls: Some(tls), caps: CAPS };
            told(&mut Secured::log_in(scene.proxy.port, &how).expect("logged in"), "SELECT 1");
        }
        scene
    }

    fn log_in(&self, case: &[usize], accounts: &Accounts) -> Result<Secured> {
        let compression = match value(case, CLIENT_COMPRESSION) {
            "zlib" => Caps::COMPRESS,
            "zstd" => Caps::ZSTD,
            _ => Caps::NONE,
        };
        let is_native = value(case, CLIENT_ACCOUNT).ends_with("by native");
        let how = How {
            account: (&accounts.client.0, &accounts.client.1),
            plugin: if is_native { Plugin::NativePassword } else { Plugin::CachingSha2 },
            tls: case[CLIENT_TLS].checked_sub(1).map(|at| &self.tls[at]),
            caps: CAPS.union(compression),
        };
        let mut secured = Secured::log_in(self.proxy.port, &how)?;
        if value(case, CLIENT_ACCOUNT).ends_with("warm") {
            ensure!(secured.has_shown, "the first login of all is taken without the password");
            secured = Secured::log_in(self.proxy.port, &how)?;
        }
        Ok(secured)
    }
}

fn told(secured: &mut Secured, text: &str) -> String {
    let reply = exchange((&mut secured.packets, &mut 0), &query(text), text);
    String::from_utf8_lossy(&reply).into_owned()
}

/// Whether the client got what it asked for, and its server's connection is what it should be.
fn check_negotiated(
    flavour: Flavour,
    secured: &mut Secured,
    case: &[usize],
    accounts: &Accounts,
) -> Result<()> {
    let tls = match value(case, CLIENT_TLS) {
        "1.2" => Some((ProtocolVersion::TLSv1_2, HandshakeKind::Full)),
        "1.2 resumed" => Some((ProtocolVersion::TLSv1_2, HandshakeKind::Resumed)),
        "1.3" => Some((ProtocolVersion::TLSv1_3, HandshakeKind::Full)),
        "1.3 resumed" => Some((ProtocolVersion::TLSv1_3, HandshakeKind::Resumed)),
        _ => None,
    };
    ensure!(secured.tls() == tls, "the client's TLS is {:?}", secured.tls());
    let is_shown = value(case, CLIENT_ACCOUNT).ends_with("cold");
    ensure!(secured.has_shown == is_shown, "the password was asked for: {}", secured.has_shown);
    let before = secured.packets.stream.get_ref().received;
    ensure!(told(secured, "SELECT REPEAT('x', 70000)").len() > 70_000, "too few bytes");
    let received = secured.packets.stream.get_ref().received - before;
    let is_compressed = value(case, CLIENT_COMPRESSION) != "none";
    ensure!((received < 10_000) == is_compressed, "{received} bytes came");
    let user = told(secured, "SELECT CURRENT_USER()");
    ensure!(user.contains(&format!("{}@%", accounts.server.0)), "the server knows it as {user}");
    let text = "SHOW SESSION STATUS WHERE Variable_name IN \
                ('Ssl_version', 'Compression', 'Compression_algorithm')";
    let status = told(secured, text);
    let compression = value(case, SERVER_COMPRESSION);
    let on = if compression == "none" { "OFF" } else { "ON" };
    let version = value(case, SERVER_TLS).replace("none", "");
    let mut rows = vec![("Ssl_version", &*version), ("Compression", on)];
    if flavour == Flavour::MySql {
        rows.push(("Compression_algorithm", compression.trim_start_matches("none")));
    }
    for (name, value) in rows {
        let row = format!("{name}{}{value}", char::from(value.len() as u8));
        ensure!(status.contains(&row), "not {name} {value}: {status}");
    }
    Ok(())
}

/// What goes by under each name.
fn questions(work: &str) -> Vec<Asked> {
    let load = "LOAD DATA LOCAL INFILE 'any' INTO TABLE test.loaded";
    match work {
        "text" => vec![
            query("SELECT 1"),
            query("SELECT * FROM test.packed ORDER BY id; SELECT REPEAT('y', 40000); SELECT 2"),
            asked(code::PING, "", ReplyKind::Simple),
            query("SELECT nothing FROM test.nowhere"),
        ],
        "prepared" => {
            // behind the statement's id: no cursor, once, nothing is NULL, a number
            let execute = [&[0, 1, 0, 0, 0, 0, 1, 8, 0][..], &400_u64.to_le_bytes()].concat();
            let text = "SELECT * FROM test.packed WHERE id < ?";
            vec![
                asked(code::STMT_PREPARE, text, ReplyKind::Prepare),
                asked(code::STMT_EXECUTE, execute.clone(), ReplyKind::Execute),
                asked(code::STMT_EXECUTE, execute, ReplyKind::Execute),
            ]
        }
        "a file" => vec![
            query("BEGIN"),
            query(load),
            query("SELECT COUNT(*), SUM(LENGTH(c)) FROM test.loaded"),
            query("ROLLBACK"),
        ],
        _ => {
            let block: String = (0..997_u32).map(|at| letter(at * at % 997)).collect();
            let long = block.repeat(17_000);
            vec![
                query(&format!("SELECT SHA2('{long}', 256)")),
                query(&format!("SELECT REPEAT('{block}', 17000)")),
            ]
        }
    }
}

fn letter(number: u32) -> char {
    char::from_u32('a' as u32 + number % 26).expect("a letter")
}

/// A server with all accounts and what is known of it.
struct Stage {
    flavour: Flavour,
    cluster: Cluster,
    /// What works.
    cases: Vec<(Accounts, Case)>,
    /// What does not.
    refused: Vec<(Accounts, Case)>,
    /// The questions of each work, and what a plain connection answers to them.
    works: Vec<Vec<(Asked, Vec<u8>)>>,
}

impl Stage {
    fn new(flavour: Flavour, pki: &Pki) -> Option<Self> {
        let words = pki.options("server");
        let words: Vec<_> = words.iter().map(String::as_str).collect();
        let cluster = live::cluster_with("both legs secured", flavour, 0, &words)?;
        let (works, refused) = (chosen(flavour), refused(flavour));
        let count = works.len();
        let cases = works.into_iter().chain(refused).enumerate();
        let mut cases: Vec<_> = cases.map(|(at, case)| (Accounts::of(at, &case), case)).collect();
        let refused = cases.split_off(count);
        let mut stage = Self { flavour, cluster, cases, refused, works: Vec::new() };
        stage.define();
        stage.works = DIMENSIONS[WORK].1.iter().map(|work| stage.ask_directly(work)).collect();
        Some(stage)
    }

    fn sql(&self, text: &str) {
        self.cluster.primary().sql(text).unwrap_or_else(|error| panic!("{text}: {error:?}"));
    }

    fn define(&self) {
        if self.flavour == Flavour::MariaDb {
            self.sql("INSTALL SONAME 'auth_ed25519'");
        }
        for text in [
            "CREATE TABLE test.packed (id INT PRIMARY KEY, c VARCHAR(200))",
            "CREATE TABLE test.loaded (id INT PRIMARY KEY, c VARCHAR(200))",
            "INSERT INTO test.packed WITH RECURSIVE n AS (SELECT 1 AS id UNION ALL SELECT id + 1 \
             FROM n WHERE id < 900) SELECT id, CONCAT(id, REPEAT('c', id % 120)) FROM n",
        ] {
            self.sql(text);
        }
        let all: Vec<_> = self.cases.iter().chain(&self.refused).collect();
        for cases in all.chunks(100) {
            let made = cases.iter().map(|(accounts, case)| accounts.identified(case));
            self.sql(&format!("CREATE USER {}", made.collect::<Vec<_>>().join(", ")));
            let names = cases.iter().map(|(accounts, _)| format!("'{}'", accounts.server.0));
            let names = names.collect::<Vec<_>>().join(", ");
            self.sql(&format!("GRANT SELECT, INSERT ON test.* TO {names}"));
        }
        for (accounts, case) in all {
            if value(case, SERVER_PLUGIN) == "sha2, warm" {
                let (name, password) = &accounts.server;
                self.log_in_directly((name, password)).expect("logged in");
            }
        }
    }

    fn log_in_directly(&self, account: (&str, &str)) -> Result<Secured> {
        let plugin = match self.flavour {
            Flavour::MariaDb => Plugin::NativePassword,
            Flavour::MySql => Plugin::CachingSha2,
        };
        let how = How { account, plugin, tls: None, caps: CAPS };
        Secured::log_in(self.cluster.primary().port, &how)
    }

    fn ask_directly(&self, work: &str) -> Vec<(Asked, Vec<u8>)> {
        let mut plain = self.log_in_directly(("app", "app")).expect("logged in");
        let mut stmt = 0;
        let answered = |asked: Asked| {
            let reply = exchange((&mut plain.packets, &mut stmt), &asked, "directly");
            (asked, reply)
        };
        questions(work).into_iter().map(answered).collect()
    }

    fn scene(&self, pki: &Pki, variables: &str) -> Scene {
        let port = self.cluster.primary().port;
        let server = format!("hostname = \"127.0.0.1\"\nport = {port}\n");
        let tls = server + &pki.variables(&[("ssl_ca", "ca")]);
        let all = self.cases.iter().chain(&self.refused);
        let rows = all.map(|(accounts, case)| accounts.rows(case, &tls));
        Scene::new(port, pki, variables, &rows.collect::<String>())
    }

    fn run(&self, scene: &Scene, accounts: &Accounts, case: &[usize]) -> Result<()> {
        let mut secured = scene.log_in(case, accounts)?;
        check_negotiated(self.flavour, &mut secured, case, accounts)?;
        let mut stmt = 0;
        for (asked, direct) in &self.works[case[WORK]] {
            let through = exchange((&mut secured.packets, &mut stmt), asked, &name_of(case));
            let difference = difference(direct, &through);
            ensure!(difference.is_none(), "{}: {}", asked.text(), difference.unwrap_or_default());
        }
        Ok(())
    }

    /// The variable with the key under which the server takes passwords.
    fn keys(&self) -> Result<String> {
        let text = "SHOW GLOBAL STATUS LIKE 'Caching_sha2_password_rsa_public_key'";
        let rows = self.cluster.primary().sql(text)?;
        let key = rows.first().and_then(|row| row.get(1)?.as_deref()).context("a key")?;
        let hash = rsa::key_hash(key.as_bytes()).context("a hash")?;
        let digits = hash.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        Ok(format!("server_public_keys = \"SHA256:{digits}\"\n"))
    }
}

/// Whether the server has to be shown the password itself in clear text.
fn needs_key(accounts: &Accounts, case: &[usize]) -> bool {
    let shows = ["sha2, cold", "sha256"].contains(&value(case, SERVER_PLUGIN));
    shows && value(case, SERVER_TLS) == "none" && !accounts.server.1.is_empty()
}

/// What a server has not.
fn check_absent(stage: &Stage) {
    let plugins = match stage.flavour {
        Flavour::MariaDb => ["caching_sha2_password", "sha256_password"],
        Flavour::MySql => ["mysql_native_password", "ed25519"],
    };
    for plugin in plugins {
        let made = stage.cluster.primary().sql(&format!("CREATE USER x IDENTIFIED WITH {plugin}"));
        let why = format!("{:#}", made.expect_err("there is no such plugin"));
        assert!(why.contains(&format!("Plugin '{plugin}' is not loaded")), "{why}");
    }
    let (account, plugin) = (("app", "app"), Plugin::CachingSha2);
    let how = How { account, plugin, tls: None, caps: Caps::ZSTD };
    if stage.flavour == Flavour::MariaDb {
        let zstd = Secured::log_in(stage.cluster.primary().port, &how).err();
        assert_eq!(zstd.expect("an error").to_string(), "it is not offered");
    }
}

/// What a user is told who asks for what cannot be.
fn check_refused(stage: &Stage, keyless: &Scene) {
    let text = "SELECT COUNT(*) FROM test.packed";
    for (accounts, case) in &stage.refused {
        let Some(Excluded::Refused(why)) = excluded(stage.flavour, case) else {
            panic!("{} is not refused", name_of(case));
        };
        let mut client = keyless.log_in(case, accounts).expect("the client itself is let in");
        let refusal = told(&mut client, text);
        assert!(refusal.contains(why), "{}: {refusal}", name_of(case));
        if why == NO_PASSWORD && !needs_key(accounts, case) {
            // until a client shows the password itself: then it is known to all
            let mut shows = case.clone();
            shows[CLIENT_ACCOUNT] += 1;
            let other = keyless.log_in(&shows, accounts).expect("let in");
            assert!(other.has_shown, "{}", name_of(&shows));
            let answer = told(&mut client, text);
            assert!(answer.contains("\x03900"), "{}: {answer}", name_of(case));
        }
    }
    // nothing is shown in clear text under a key that nobody trusts
    let unsafe_ones = stage.cases.iter().filter(|(accounts, case)| needs_key(accounts, case));
    for plugin in ["sha2, cold", "sha256"] {
        let mut ones = unsafe_ones.clone().filter(|(_, case)| value(case, SERVER_PLUGIN) == plugin);
        let Some((accounts, case)) = ones.next() else { continue };
        let refusal = match keyless.log_in(case, accounts) {
            Ok(mut client) => told(&mut client, text),
            // who is relayed has a server from the login on
            Err(error) => error.to_string(),
        };
        assert!(refusal.contains(NO_KEY), "{}: {refusal}", name_of(case));
    }
}

/// Runs what works; gives what failed.
fn run_all(stage: &Stage, keyless: &Scene, keyed: Option<&Scene>) -> Vec<String> {
    let mut is_zlib = false;
    let mut failures = Vec::new();
    for (accounts, case) in &stage.cases {
        let wants_zlib = value(case, SERVER_COMPRESSION) == "zlib";
        if stage.flavour == Flavour::MySql && wants_zlib && !is_zlib {
            is_zlib = true;
            stage.sql("SET GLOBAL protocol_compression_algorithms = 'zlib,uncompressed'");
        }
        let scene = keyed.filter(|_| needs_key(accounts, case)).unwrap_or(keyless);
        if let Err(error) = stage.run(scene, accounts, case) {
            failures.push(format!("{}: {}: {error:#}", accounts.client.0, name_of(case)));
        }
    }
    failures
}

fn run(flavour: Flavour) {
    let began = Instant::now();
    let pki = Pki::new();
    let Some(stage) = Stage::new(flavour, &pki) else { return };
    let keyless = stage.scene(&pki, "");
    let keys = (flavour == Flavour::MySql).then(|| stage.keys().expect("a key"));
    let keyed = keys.map(|keys| stage.scene(&pki, &keys));
    let ready = began.elapsed();
    check_absent(&stage);
    check_refused(&stage, &keyless);
    let failures = run_all(&stage, &keyless, keyed.as_ref());
    let (count, refused) = (stage.cases.len(), stage.refused.len());
    let (name, took) = (flavour.name(), began.elapsed());
    println!(
        "{name}: {count} combinations and {refused} refused: {took:.1?}, {ready:.1?} to begin"
    );
    assert!(failures.is_empty(), "{} failed:\n{}", failures.len(), failures.join("\n"));
    let ran: BTreeSet<_> = stage.cases.iter().flat_map(|(_, case)| pairs(case)).collect();
    assert_eq!(ran, candidates(flavour).pairs(), "every pair that can be");
}

#[test]
fn every_combination_is_a_plain_mariadb() {
    run(Flavour::MariaDb);
}

#[test]
fn every_combination_is_a_plain_mysql() {
    run(Flavour::MySql);
}
