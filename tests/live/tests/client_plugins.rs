//! Accounts whose clients have to go by one authentication plugin: real clients and drivers, with
//! both kinds of servers behind.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use lab::{Cluster, Flavour, SplitOptions};
use live::{Kits, Program, Proxy, Shared, client as driver, skip};
use mysql::prelude::Queryable;

static MARIADB: Shared = Shared::new("plugins of clients", Flavour::MariaDb, 0);
static MYSQL: Shared = Shared::new("plugins of clients with MySQL", Flavour::MySql, 0);

/// Accounts by their plugins; the names are the passwords, too.
const PLUGINS: [(&str, &str); 5] = [
    ("nat", "mysql_native_password"),
    ("sha2", "caching_sha2_password"),
    ("sha", "sha256_password"),
    ("ed", "client_ed25519"),
    ("par", "parsec"),
];

/// What the client of MariaDB 10.11 has plugins for.
const OF_MARIADB: [&str; 4] = ["nat", "sha2", "sha", "ed"];

fn proxy(cluster: &Cluster, variables: &str, rows: &str) -> Proxy {
    let mut more = rows.to_owned();
    for (name, plugin) in PLUGINS {
        for (name, fast) in [(name.to_owned(), 0), (format!("fast{name}"), 1)] {
            let members =
                format!("\"authentication_plugin\": \"{plugin}\", \"backend_username\": \"app\"");
            write!(
                more,
                "\n[[mysql_users]]\nusername = \"{name}\"\npassword = \"{name}\"\n\
                 default_hostgroup = 0\nfast_forward = {fast}\nattributes = '{{{members}}}'\n"
            )
            .expect("written");
        }
    }
    Proxy::start(|interfaces| {
        let options = SplitOptions {
            interfaces,
            variables: variables.to_owned(),
            more: more.clone(),
            ..Default::default()
        };
        lab::split_toml(cluster, &options)
    })
    .expect("tidegate starts")
}

/// How a client comes.
#[derive(Clone, Copy, Debug)]
enum Way {
    Plain,
    Tls,
    Socket,
}

/// As whom a server knows the client `mariadb`, or what it says; it names a plugin, or none.
fn who(proxy: &Proxy, way: Way, [name, password, plugin]: [&str; 3]) -> String {
    let client = Program::new("mariadb").args(["--no-defaults", "-N", "-u", name]);
    let client = client.args([format!("-p{password}")]);
    let client = match way {
        Way::Plain => client.args(["--skip-ssl"]),
        Way::Tls => client.args(["--ssl"]),
        Way::Socket => client.args([format!("--socket={}", proxy.socket.display())]),
    };
    let client = match way {
        Way::Socket => client,
        _ => client.args(["-h127.0.0.1".to_owned(), format!("-P{}", proxy.port)]),
    };
    let client = match plugin {
        "" => client,
        _ => client.args([format!("--default-auth={plugin}")]),
    };
    let done = client.args(["-e", "SELECT CURRENT_USER()"]).run();
    if done.success { done.output } else { done.errors }
}

fn is_refused(told: &str, name: &str) {
    let denied = format!("ERROR 1045 (28000): Access denied for user '{name}'@'");
    assert!(told.starts_with(&denied), "{told}");
}

fn logs_in(cluster: &Cluster) {
    let proxy = proxy(cluster, "", "");
    for (name, plugin) in PLUGINS.into_iter().filter(|(name, _)| OF_MARIADB.contains(name)) {
        for way in [Way::Plain, Way::Tls, Way::Socket] {
            for named in ["", plugin, "mysql_native_password"] {
                for name in [name, &format!("fast{name}")] {
                    let told = who(&proxy, way, [name, name, named]);
                    assert_eq!(told, "app@%\n", "{name} {way:?} {named}");
                    is_refused(&who(&proxy, way, [name, "wrong", named]), name);
                }
            }
        }
    }
    // it has no such plugin, and is let in by no other
    let told = who(&proxy, Way::Plain, ["par", "par", ""]);
    assert!(told.starts_with("ERROR 2059") || told.starts_with("ERROR 1045"), "{told}");
    // what changes at LOAD
    let admin = driver::account(proxy.admin_port, "admin", "admin").db_name(None::<&str>);
    let mut admin = driver::connect(admin);
    let mut load = |name: &str, set: &str| {
        let set = format!("UPDATE mysql_users SET {set} WHERE username = '{name}'");
        for statement in [set.as_str(), "LOAD MYSQL USERS TO RUNTIME"] {
            admin.query_drop(statement).expect(statement);
        }
    };
    for name in OF_MARIADB {
        load(name, "password = 'new'");
        is_refused(&who(&proxy, Way::Plain, [name, name, ""]), name);
        assert_eq!(who(&proxy, Way::Plain, [name, "new", ""]), "app@%\n", "{name}");
    }
    // the public key of 'new'
    let key = "2Myhib04x6YbkKFUPRi2sDYC70U9V12xITjrzW+EOtY";
    load("ed", &format!("password = '{key}'"));
    assert_eq!(who(&proxy, Way::Plain, ["ed", "new", ""]), "app@%\n");
    is_refused(&who(&proxy, Way::Plain, ["ed", "ed", ""]), "ed");
    let log = proxy.log();
    assert!(!log.contains(key) && !log.contains("panic"), "{log}");
}

#[test]
fn the_client_of_mariadb_logs_in_by_each_plugin_that_it_has() {
    let Some(cluster) = MARIADB.cluster() else { return };
    logs_in(&cluster);
}

#[test]
fn the_same_with_a_mysql_behind() {
    let Some(cluster) = MYSQL.cluster() else { return };
    logs_in(&cluster);
}

#[test]
fn libmariadb_changes_users_from_plugin_to_plugin() {
    let Some(cluster) = MARIADB.cluster() else { return };
    let proxy = proxy(&cluster, "", "");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("drivers/python/change_user.py");
    let users = ["ed", "sha", "nat", "ed", "sha2", "sha", "ed", "fasted"];
    let port = proxy.port.to_string();
    let done = Program::new("python3").args([script]).args([&*port]).args(users).run();
    assert_eq!(done.output, "app test\n".repeat(users.len()), "{}", done.errors);
}

#[test]
fn a_driver_of_javascript_logs_in_and_changes_users_by_signatures() {
    let kits = Kits::set_up();
    if let Some(why) = kits.missing("node") {
        return skip("plugins of clients in JavaScript", why);
    }
    let text = "const mariadb = require('mariadb')
const port = Number(process.argv[1])
async function main(first, ...others) {
  const options = { host: '127.0.0.1', port, database: 'test', user: first, password: first }
  const connection = await mariadb.createConnection(options)
  for (const user of [...others, '']) {
    console.log(Object.values((await connection.query('SELECT CURRENT_USER()'))[0])[0])
    if (user) await connection.changeUser({ user, password: user, database: 'test' })
  }
  await connection.end()
  const wrong = await mariadb.createConnection({ ...options, password: 'wrong' }).catch(e => e)
  console.log(wrong.errno)
}
main(...process.argv.slice(2)).catch(error => console.log(error.message))
";
    // with a MySQL behind, this driver refuses to change users
    let Some(cluster) = MARIADB.cluster() else { return };
    let proxy = proxy(&cluster, "", "");
    for users in [["ed", "par", "fasted"], ["par", "ed", "fastpar"], ["par", "par", "sha2"]] {
        let script = Program::new("node").env("NODE_PATH", kits.fetched.join("node/node_modules"));
        let script = script.args(["-e", text, &proxy.port.to_string()]).args(users);
        prints(script, "app@%\napp@%\napp@%\n1045\n");
    }
}

/// What a program prints of its logins.
fn prints(program: Program, expected: &str) {
    let done = program.limit(Duration::from_secs(120)).run();
    assert_eq!(done.output, expected, "{}", done.errors);
}

const DENIED: &str = "Access denied for user";

#[test]
fn connectors_for_java_log_in_by_the_plugins_that_they_have() {
    let kits = Kits::set_up();
    if let Some(why) = kits.missing("java") {
        return skip("plugins of clients in Java", why);
    }
    // that of MySQL reads no packet of a plugin from what calls itself 5.5.5, as a MariaDB does
    for (shared, oracle) in [(&MARIADB, &["nat"][..]), (&MYSQL, &["nat", "sha2", "sha", "fastsha"])]
    {
        let Some(cluster) = shared.cluster() else { return };
        let proxy = proxy(&cluster, "", "");
        let port = proxy.port;
        let mut urls = Vec::new();
        let mut expected = Vec::new();
        let maria = ["nat", "sha2", "ed", "par", "fastpar"];
        for (driver, names, ways) in [
            (
                "mariadb",
                &maria[..],
                ["sslMode=disable&allowPublicKeyRetrieval=true", "sslMode=trust"],
            ),
            (
                "mysql",
                oracle,
                ["sslMode=DISABLED&allowPublicKeyRetrieval=true", "sslMode=REQUIRED"],
            ),
        ] {
            for (name, way) in names.iter().flat_map(|name| ways.map(|way| (name, way))) {
                for password in [name, "wrong"] {
                    urls.push(format!(
                        "jdbc:{driver}://127.0.0.1:{port}/test?user={name}&password={password}&{way}"
                    ));
                    expected.push(password == *name);
                }
            }
        }
        let java = Program::new("java").args(["-cp", &kits.java_path(), "Login"]).args(&urls);
        let done = java.limit(Duration::from_secs(120)).run();
        let told: Vec<_> = done.output.lines().filter(|line| !line.starts_with("Caused")).collect();
        assert_eq!(told.len(), urls.len(), "{} {}", done.output, done.errors);
        for ((told, is_right), url) in told.iter().zip(expected).zip(&urls) {
            let is_as_expected = match is_right {
                true => *told == "app@%",
                false => told.starts_with("1045") && told.contains(DENIED),
            };
            assert!(is_as_expected, "{url}: {told}");
        }
    }
}

#[test]
fn drivers_of_python_log_in_by_sha256_password() {
    let kits = Kits::set_up();
    if let Some(why) = kits.missing("python") {
        return skip("plugins of clients in Python", why);
    }
    let Some(cluster) = MYSQL.cluster() else { return };
    let proxy = proxy(&cluster, "", "");
    let text = "import sys, pymysql, mysql.connector as oracle
port = int(sys.argv[1])
def tell(connect, **more):
    for password in ('sha', 'wrong'):
        try:
            link = connect(host='127.0.0.1', port=port, user='sha', password=password, **more)
            cursor = link.cursor()
            cursor.execute('SELECT CURRENT_USER()')
            print(cursor.fetchone()[0])
        except (pymysql.Error, oracle.Error) as error:
            print(error.args[0])
tell(pymysql.connect, ssl_disabled=True)
tell(pymysql.connect, ssl={'check_hostname': False})
tell(oracle.connect, use_pure=True, auth_plugin='sha256_password')
";
    let python = kits.python().args(["-c", text, &proxy.port.to_string()]);
    prints(python, &"app@%\n1045\n".repeat(3));
}

#[test]
fn a_hash_is_proved_by_the_password_that_clients_of_sha256_password_show() {
    let Some(cluster) = MYSQL.cluster() else { return };
    for statement in [
        "CREATE USER hashed IDENTIFIED WITH caching_sha2_password BY 'of both'",
        "GRANT SELECT ON test.* TO hashed",
    ] {
        cluster.primary().sql(statement).expect(statement);
    }
    let hash = wire::auth::sha2::make_stored_hash(b"of both", b"a salt of 20 letters");
    let hash = String::from_utf8(hash).expect("letters");
    let row = format!(
        "\n[[mysql_users]]\nusername = \"hashed\"\npassword = \"{hash}\"\n\
         attributes = '{{\"authentication_plugin\": \"sha256_password\"}}'\n"
    );
    let proxy = proxy(&cluster, "", &row);
    for way in [Way::Plain, Way::Tls, Way::Socket] {
        is_refused(&who(&proxy, way, ["hashed", "wrong", ""]), "hashed");
        assert_eq!(who(&proxy, way, ["hashed", "of both", ""]), "hashed@%\n", "{way:?}");
    }
}

#[test]
fn a_signature_proves_the_certificate_to_a_client_of_mariadb() {
    let kits = Kits::set_up();
    if let Some(why) = kits.missing("node") {
        return skip("TLS without configuration, by signatures", why);
    }
    let Some(cluster) = MARIADB.cluster() else { return };
    // such a client looks for it from 11.4.1 on
    let proxy = proxy(&cluster, "server_version = \"11.4.5-MariaDB\"\n", "");
    for user in ["ed", "par"] {
        let script = kits.fetched.join("node/self_signed.js");
        let script = Program::new("node").args([script]).args(["127.0.0.1"]);
        let port = proxy.port.to_string();
        let script = script.args([&*port, "SELECT REPEAT('x', 1000) AS x", user]);
        prints(script, "1000 over TLS\n");
    }
}
