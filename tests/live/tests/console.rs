//! The `mariadb` command-line client at a terminal: a default schema, its status page, completion,
//! and a dump that is taken through Tidegate, restored through Tidegate and found equal.

use std::path::Path;
use std::time::Duration;

use lab::{Cluster, Flavour, RunDir, SplitOptions};
use live::{Finished, Program, Proxy, skip};

/// Runs the client at a terminal of its own, typing what it is told.
fn typed(words: &str, keys: &str, dir: &Path) -> Finished {
    // Completion wants a terminal that is there: script(1) makes one.
    let client = format!("TERM=dumb exec mariadb --no-defaults {words}");
    Program::new("script")
        .args(["--quiet", "--return", "--flush", "--command", &client])
        .args([dir.join("typescript")])
        .env("SHELL", "/bin/sh")
        .env("MYSQL_HISTFILE", "/dev/null")
        .input(keys)
        .limit(Duration::from_secs(60))
        .run()
}

fn account(proxy: &Proxy) -> String {
    format!("-h 127.0.0.1 -P {} -uapp -papp", proxy.port)
}

fn fill(cluster: &Cluster) {
    let text = "CREATE DATABASE shop CHARACTER SET utf8mb4; USE shop;
        CREATE TABLE customers_of_ours (id INT AUTO_INCREMENT PRIMARY KEY, name VARCHAR(50),
            picture BLOB, at TIMESTAMP DEFAULT '2024-01-01 00:00:00', notes TEXT);
        INSERT INTO customers_of_ours (name, picture, notes)
            SELECT CONCAT('name 😀 ', seq), UNHEX(SHA2(seq, 256)), REPEAT('n', seq % 300)
            FROM seq_1_to_5000;
        CREATE TABLE orders (id INT PRIMARY KEY, customer INT, KEY (customer),
            FOREIGN KEY (customer) REFERENCES customers_of_ours (id)) ENGINE=InnoDB;
        INSERT INTO orders SELECT seq, seq FROM seq_1_to_3000;
        CREATE VIEW recent AS SELECT * FROM orders WHERE id > 2900;
        CREATE PROCEDURE total() SELECT COUNT(*) FROM orders;
        CREATE TRIGGER tr BEFORE INSERT ON orders FOR EACH ROW SET NEW.customer = NEW.customer;
        USE test";
    cluster.primary().sql(text).expect("filled");
}

fn checksums(cluster: &Cluster, schema: &str) -> Vec<Option<String>> {
    let tables = format!("CHECKSUM TABLE {schema}.customers_of_ours, {schema}.orders");
    let rows = cluster.primary().sql(&tables).expect("summed");
    rows.into_iter().map(|mut row| row.remove(1)).collect()
}

fn has_programs() -> bool {
    for program in ["script", "mariadb", "mariadb-dump"] {
        if !Program::new(program).args(["--version"]).run().success {
            skip("the mariadb client", &format!("there is no program {program} here"));
            return false;
        }
    }
    true
}

#[test]
fn the_client_works_interactively_and_a_dump_comes_back_equal() {
    if !has_programs() {
        return;
    }
    let Some(cluster) = live::cluster("the mariadb client", Flavour::MariaDb, 0) else { return };
    let options = SplitOptions::default();
    let proxy = Proxy::start(|interfaces| {
        lab::split_toml(&cluster, &SplitOptions { interfaces, ..options.clone() })
    })
    .expect("tidegate starts");
    fill(&cluster);
    let dir = RunDir::create().expect("made");

    statements_and_status(&proxy, dir.path());
    completion(&proxy, dir.path());
    dump_and_source(&cluster, &proxy, dir.path());
}

fn statements_and_status(proxy: &Proxy, dir: &Path) {
    let keys = "use shop\nselect database();\n\\s\nselect count(*) from orders;\nexit\n";
    let seen = typed(&account(proxy), keys, dir);
    assert!(seen.success, "{}\n{}", seen.output, seen.errors);
    for text in ["Database changed", "| shop ", "Current database:", "Current user:", " 3000 |"] {
        assert!(seen.output.contains(text), "no {text:?} in {}", seen.output);
    }
    let port = format!("TCP port:\t\t{}", proxy.port);
    assert!(seen.output.replace('\r', "").contains(&port), "{}", seen.output);
    assert!(!seen.output.contains("ERROR"), "{}", seen.output);
}

fn completion(proxy: &Proxy, dir: &Path) {
    // The client asks for the fields of every table when it starts (COM_FIELD_LIST).
    let words = format!("{} --auto-rehash shop", account(proxy));
    let seen = typed(&words, "select count(*) from customers_of\t where id < 11;\nexit\n", dir);
    assert!(seen.output.contains(" 10 |"), "{seen:?}");
    assert!(seen.output.contains("customers_of_ours"), "{}", seen.output);
}

fn dump_and_source(cluster: &Cluster, proxy: &Proxy, dir: &Path) {
    let port = format!("-P{}", proxy.port);
    let dump = Program::new("mariadb-dump")
        .args(["--no-defaults", "-h127.0.0.1", &port, "-uapp", "-papp"])
        .args(["--single-transaction", "--routines", "--triggers", "--hex-blob", "shop"])
        .run();
    assert!(dump.success, "{}", dump.errors);
    let file = dir.join("shop.sql");
    // Who defined a trigger is not for an ordinary user to say.
    let text: Vec<&str> = dump.output.split_inclusive('\n').collect();
    let text = text.concat().replace("DEFINER=`root`@`localhost`", "");
    std::fs::write(&file, text).expect("written");

    let keys = format!(
        "create database shop2 character set utf8mb4;\nuse shop2\nsource {}\n\
         select 'done', count(*) from recent;\ncall total();\nexit\n",
        file.display()
    );
    let seen = typed(&account(proxy), &keys, dir);
    assert!(seen.success, "{}\n{}", seen.output, seen.errors);
    let errors: Vec<&str> = seen.output.lines().filter(|line| line.contains("ERROR")).collect();
    assert!(errors.is_empty(), "{errors:?}");
    assert!(seen.output.contains("| done | "), "{}", seen.output);
    let original = checksums(cluster, "shop");
    assert!(original.iter().all(|sum| sum.as_deref().is_some_and(|sum| sum != "0")));
    assert_eq!(checksums(cluster, "shop2"), original);
}
