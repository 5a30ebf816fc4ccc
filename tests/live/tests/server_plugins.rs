//! Accounts of servers: by each authentication plugin that Tidegate speaks, by one that it does
//! not, and by another name or password than clients have.

use std::fmt::Write as _;

use lab::{Cluster, Flavour, SplitOptions};
use live::{Proxy, client as driver};
use mysql::Conn;
use mysql::prelude::Queryable;

/// A proxy with these accounts, whose passwords are their names.
fn proxy(cluster: &Cluster, in_tls: bool, users: &[&str]) -> Proxy {
    proxy_with(cluster, in_tls, users, "")
}

/// The same with these rows besides.
fn proxy_with(cluster: &Cluster, in_tls: bool, users: &[&str], rows: &str) -> Proxy {
    let mut more = rows.to_owned();
    for user in users {
        let table = "[[mysql_users]]\nusername";
        writeln!(more, "\n{table} = \"{user}\"\npassword = \"{user}\"\ndefault_hostgroup = 0")
            .expect("written");
    }
    let variables = "connect_timeout_server_max = 3000\nssl_p2s_verify = \"none\"\n".to_owned();
    let row = format!("max_connections = 1000\nuse_ssl = {}\n", u8::from(in_tls));
    Proxy::start(|interfaces| {
        let options = SplitOptions { interfaces, variables, more, ..Default::default() };
        lab::split_toml(cluster, &options).replace("max_connections = 1000\n", &row)
    })
    .expect("tidegate starts")
}

fn who(proxy: &Proxy, user: &str) -> Result<String, String> {
    let told = |error: mysql::Error| driver::refusal(&error).2;
    let mut conn = Conn::new(driver::account(proxy.port, user, user)).map_err(told)?;
    let who = conn.query_first::<String, _>("SELECT CURRENT_USER()").map_err(told)?;
    Ok(who.expect("a row"))
}

fn define(cluster: &Cluster, statements: &[&str]) {
    for statement in statements {
        cluster.primary().sql(statement).expect(statement);
    }
}

#[test]
fn ed25519_of_a_mariadb_is_spoken_and_what_is_not_is_named() {
    let Some(cluster) = live::cluster("plugins", Flavour::MariaDb, 0) else { return };
    define(
        &cluster,
        &[
            "INSTALL SONAME 'auth_ed25519'",
            "INSTALL SONAME 'auth_pam'",
            "CREATE USER ed IDENTIFIED VIA ed25519 USING PASSWORD('ed')",
            "CREATE USER other IDENTIFIED VIA ed25519 USING PASSWORD('nobody knows')",
            "CREATE USER pam IDENTIFIED VIA pam",
            "CREATE USER two IDENTIFIED VIA ed25519 USING PASSWORD('another') \
             OR mysql_native_password USING PASSWORD('two')",
            "GRANT SELECT ON test.* TO ed, other, pam, two",
        ],
    );
    let proxy = proxy(&cluster, false, &["ed", "other", "pam", "two"]);
    assert_eq!(who(&proxy, "ed"), Ok("ed@%".to_owned()));
    // the server asks by one plugin after the other
    assert_eq!(who(&proxy, "two"), Ok("two@%".to_owned()));
    let told = who(&proxy, "other").expect_err("the password is another one");
    assert!(told.contains("1045 (28000): Access denied for user 'other'"), "{told}");
    let told = who(&proxy, "pam").expect_err("nobody can be asked for what PAM asks");
    assert!(told.contains("goes by the plugin 'dialog', which Tidegate does not speak"), "{told}");
    assert_eq!(proxy.counter("shuns").expect("told"), 0, "the server is well");
    assert_eq!(who(&proxy, "app"), Ok("app@%".to_owned()));
}

#[test]
fn sha256_password_of_a_mysql_is_spoken_in_clear_text_and_in_tls() {
    let Some(cluster) = live::cluster("plugins", Flavour::MySql, 0) else { return };
    define(
        &cluster,
        &[
            "CREATE USER sha IDENTIFIED WITH sha256_password BY 'sha'",
            "GRANT SELECT ON test.* TO sha",
        ],
    );
    for in_tls in [false, true] {
        let proxy = proxy(&cluster, in_tls, &["sha"]);
        // the server keeps nothing of one login for the next
        for _ in 0..3 {
            assert_eq!(who(&proxy, "sha"), Ok("sha@%".to_owned()), "TLS: {in_tls}");
        }
    }
}

#[test]
fn servers_know_accounts_by_their_own_names_and_passwords() {
    let Some(cluster) = live::cluster("plugins", Flavour::MariaDb, 0) else { return };
    define(
        &cluster,
        &[
            "CREATE USER shop IDENTIFIED BY 'of shop'",
            "CREATE USER pair IDENTIFIED BY 'of servers'",
            "GRANT SELECT ON test.* TO shop, pair",
        ],
    );
    let row = |name: &str, password: &str, more: &str| {
        format!("\n[[mysql_users]]\nusername = \"{name}\"\npassword = \"{password}\"\n{more}\n")
    };
    let rows = [
        row("web", "web", "attributes = '{\"backend_username\": \"shop\"}'"),
        row("shop", "of shop", "frontend = 0"),
        row("pair", "pair", "backend = 0"),
        row("pair", "of servers", "frontend = 0"),
    ];
    let proxy = proxy_with(&cluster, false, &[], &rows.concat());
    assert_eq!(who(&proxy, "web"), Ok("shop@%".to_owned()));
    assert_eq!(who(&proxy, "pair"), Ok("pair@%".to_owned()));
    for (user, password) in [("shop", "of shop"), ("pair", "of servers"), ("web", "of shop")] {
        let refused = Conn::new(driver::account(proxy.port, user, password));
        let (code, ..) = driver::refusal(&refused.expect_err("no client's password"));
        assert_eq!(code, 1045, "{user}");
    }
}
