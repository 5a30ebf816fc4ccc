//! Settings of whole servers, such as how they read texts: what sessions begin with is the same
//! directly and through the proxy, whichever connection they meet.

use lab::Flavour;
use live::{Proxy, Raw};
use sql::lexer::Lexer;
use sql::{HighBytes, Modes};
use wire::Caps;

fn proxy(port: u16) -> Proxy {
    sized(port, 1, 2)
}

/// One with so many workers, and connections.
fn sized(port: u16, threads: u32, connections: u32) -> Proxy {
    Proxy::start(|interfaces| {
        format!(
            "[mysql_variables]\ninterfaces = \"{interfaces}\"\nthreads = {threads}\n\
             get_server_public_key = true\n\n\
             [[mysql_users]]\nusername = \"app\"\npassword = \"app\"\n\
             default_hostgroup = 0\n\n\
             [[mysql_users]]\nusername = \"plain\"\npassword = \"app\"\n\n\
             [[mysql_servers]]\nhostgroup_id = 0\nhostname = \"127.0.0.1\"\nport = {port}\n\
             max_connections = {connections}\n"
        )
    })
    .expect("tidegate starts")
}

/// One that has logged in to its server, which lets others in by what it remembers from there on.
fn met(port: u16) -> Proxy {
    let proxy = proxy(port);
    let mut end = Raw::login(proxy.port, "app", "app").expect("logged in");
    end.first_row("SELECT 1").expect("answered");
    proxy
}

/// Runs what has no result.
fn run(end: &mut Raw, text: &str) {
    end.send(0, &[b"\x03", text.as_bytes()].concat()).expect("sent");
    let (_, ok) = end.receive().expect("answered");
    assert_eq!(ok[0], 0, "{}", ok.escape_ascii());
}

/// Drivers read texts, and escape them, as the greeting and the end of the login say. Other
/// sessions have met the connections before.
#[test]
fn what_servers_begin_with_is_what_sessions_begin_with() {
    let Some(cluster) = live::cluster("server-wide settings", Flavour::MariaDb, 0) else { return };
    let primary = cluster.primary();
    primary.sql("CREATE TABLE test.w (a INT)").expect("created");
    for (number, settings) in [
        "sql_mode = 'NO_BACKSLASH_ESCAPES'",
        "sql_mode = 'ANSI_QUOTES,NO_BACKSLASH_ESCAPES'",
        "sql_mode = 'ORACLE', autocommit = 0",
        "sql_mode = '', autocommit = 1",
    ]
    .into_iter()
    .enumerate()
    {
        primary.sql(&format!("SET GLOBAL {}", settings.replace(", ", ", GLOBAL "))).expect("set");
        let proxy = proxy(primary.port);
        for round in 0..3 {
            let told = [primary.port, proxy.port].map(|port| {
                let mut end = Raw::login(port, "app", "app").expect("logged in");
                let mut flags = vec![end.welcome.greeted_status.0, end.welcome.login_status.0];
                // a ping, something that needs no server, a reset, a text with a lock behind
                // what is a string to one mode only
                for command in [&b"\x0e"[..], b"\x03SET @x = 1", b"\x1f", b"\x0e"] {
                    end.send(0, command).expect("sent");
                    let (_, ok) = end.receive().expect("answered");
                    flags.push(u16::from_le_bytes([ok[3], ok[4]]) & !0x4000);
                }
                let lock = format!("SELECT 'a\\', GET_LOCK('l{port}{number}{round}', 0), 'b'");
                let locks = end.first_row(&lock).map_err(|_| ());
                let free = format!("SELECT IS_FREE_LOCK('l{port}{number}{round}')");
                let free = Raw::login(port, "app", "app").and_then(|mut end| end.first_row(&free));
                let write = b"\x03INSERT INTO test.w VALUES (1)";
                end.send(0, write).and_then(|()| end.receive()).expect("written");
                let count = "SELECT COUNT(*), @@autocommit, @@sql_mode FROM test.w";
                let seen = end.first_row(count).expect("counted");
                end.send(0, b"\x03ROLLBACK").and_then(|()| end.receive()).expect("rolled back");
                end.send(0, b"\x03DELETE FROM test.w").and_then(|()| end.receive()).expect("gone");
                end.send(0, b"\x03COMMIT").and_then(|()| end.receive()).expect("committed");
                (flags, locks, free.expect("asked"), seen)
            });
            assert_eq!(told[0], told[1], "{settings}, round {round}");
        }
    }
}

/// MySQL shows the flag of `autocommit` where it is off for everybody. What a client sets against
/// that is set, and its `COMMIT` begins a transaction where that is so for everybody.
#[test]
fn what_clients_do_is_done_whatever_sessions_begin_with() {
    for flavour in [Flavour::MariaDb, Flavour::MySql] {
        let Some(cluster) = live::cluster("server-wide settings", flavour, 0) else { continue };
        let primary = cluster.primary();
        primary.sql("CREATE TABLE test.w (a INT)").expect("created");
        primary.sql("SET GLOBAL autocommit = 0, GLOBAL completion_type = 1").expect("set");
        let proxy = proxy(primary.port);
        let rows = || primary.value("SELECT COUNT(*) FROM test.w").expect("counted");
        for round in 1..4 {
            let mut end = Raw::login(proxy.port, "app", "app").expect("logged in");
            let mut run = |text: &str| run(&mut end, text);
            run("INSERT INTO test.w VALUES (1)");
            run("ROLLBACK AND NO CHAIN");
            run("SET autocommit = 1");
            run("INSERT INTO test.w VALUES (1)");
            let kept = format!("{round}");
            assert_eq!(rows(), kept, "{}: it is committed at once", flavour.name());
            for end in ["COMMIT", "ROLLBACK"] {
                run(end);
                run("INSERT INTO test.w VALUES (1)");
                assert_eq!(rows(), kept, "{}: {end} has begun a transaction", flavour.name());
                run("ROLLBACK AND NO CHAIN");
            }
            run("INSERT INTO test.w VALUES (1)");
            run("DELETE FROM test.w LIMIT 1");
            assert_eq!(rows(), kept);
        }
    }
}

/// What a server's `init_connect` sets, every client has, whatever others set or left behind.
#[test]
fn what_a_server_runs_for_each_connection_stays_as_it_is() {
    const ASKS: &str = "SELECT CONCAT_WS(' ', @@time_zone, @@group_concat_max_len, @tenant)";
    for flavour in [Flavour::MariaDb, Flavour::MySql] {
        let Some(cluster) = live::cluster("init_connect of a server", flavour, 0) else { continue };
        let primary = cluster.primary();
        let text = "SET time_zone = '+02:00', group_concat_max_len = 2000, @tenant = 7";
        for sql in [
            "CREATE USER plain@'%' IDENTIFIED WITH mysql_native_password BY 'app'",
            "GRANT SELECT, CREATE TEMPORARY TABLES ON test.* TO plain@'%'",
            &format!("SET GLOBAL init_connect = \"{text}\""),
        ] {
            // MySQL from 9 has one method only
            let sql = match flavour {
                Flavour::MySql => sql.replace(" WITH mysql_native_password", ""),
                Flavour::MariaDb => sql.replace("WITH mysql_native_password BY", "BY"),
            };
            primary.sql(&sql).expect("set");
        }
        let proxy = proxy(primary.port);
        let login = || Raw::login(proxy.port, "plain", "app").expect("logged in");
        let (mut one, mut other) = (login(), login());
        let begun = "+02:00 2000 7";
        let asked = |end: &mut Raw| {
            let row = end.first_row(ASKS).expect("answered");
            String::from_utf8_lossy(&row[1..]).into_owned()
        };
        assert_eq!(asked(&mut one), begun, "{}", flavour.name());
        run(&mut other, "SET time_zone = '+05:00'");
        assert_eq!(asked(&mut other), "+05:00 2000 7", "{}", flavour.name());
        assert_eq!(asked(&mut one), begun, "{}: another has set one", flavour.name());
        run(&mut other, "CREATE TEMPORARY TABLE test.own (a INT)");
        other.send(0, b"\x01").expect("gone");
        drop(other);
        for _ in 0..4 {
            assert_eq!(asked(&mut one), begun, "{}: another has left", flavour.name());
        }
    }
}

/// With autocommit off, servers lock a function or a table without transactions, and show no flag
/// for it. The client's `COMMIT` gives it back.
#[test]
fn a_commit_gives_back_what_no_flag_told_of() {
    for flavour in [Flavour::MariaDb, Flavour::MySql] {
        let Some(cluster) = live::cluster("locks without a flag", flavour, 0) else { continue };
        let primary = cluster.primary();
        primary.sql("CREATE TABLE test.plain (a INT) ENGINE = MyISAM").expect("created");
        primary.sql("CREATE FUNCTION test.f() RETURNS INT NO SQL RETURN 5").expect("created");
        let proxy = proxy(primary.port);
        let mut end = Raw::login(proxy.port, "app", "app").expect("logged in");
        for (locks, changes) in [
            ("SELECT a FROM test.plain", "ALTER TABLE test.plain COMMENT = 'x'"),
            ("EXPLAIN SELECT a FROM test.plain", "ALTER TABLE test.plain COMMENT = 'y'"),
            ("SELECT test.f()", "DROP FUNCTION test.f"),
        ] {
            let mut run = |text: &str| {
                end.send(0, &[b"\x03", text.as_bytes()].concat()).expect("sent");
                let mut ends = 0;
                while ends < 2 {
                    let (_, packet) = end.receive().expect("answered");
                    assert_ne!(packet[0], 0xff, "{}", packet.escape_ascii());
                    ends += match packet[0] {
                        0x00 => 2,
                        _ => i32::from(packet[0] == 0xfe && packet.len() < 9),
                    };
                }
            };
            run("SET autocommit = 0");
            run(locks);
            run("COMMIT");
            let changed = primary.sql(&format!("SET lock_wait_timeout = 1; {changes}"));
            assert!(changed.is_ok(), "{}: {locks}: {changed:?}", flavour.name());
        }
    }
}

/// Servers tell no connection that its schema was altered. Whoever altered it finds it so on any
/// connection, and so does each client that comes afterwards, on any worker.
#[test]
fn tables_begin_with_what_their_schema_was_altered_to() {
    for flavour in [Flavour::MariaDb, Flavour::MySql] {
        let Some(cluster) = live::cluster("an altered schema", flavour, 0) else { continue };
        let primary = cluster.primary();
        primary.sql("CREATE DATABASE shop CHARACTER SET utf8mb4").expect("created");
        let proxy = sized(primary.port, 2, 12);
        let client = || {
            let mut end = Raw::login(proxy.port, "app", "app").expect("logged in");
            end.send(0, b"\x02shop").and_then(|()| end.receive()).expect("in the schema");
            end
        };
        let mut made = 0;
        let mut charset_made_by = |end: &mut Raw| {
            made += 1;
            run(end, &format!("CREATE TABLE t{made} (a VARCHAR(3))"));
            let asks = format!(
                "SELECT LEFT(table_collation, 4) FROM information_schema.tables \
                 WHERE table_schema = 'shop' AND table_name = 't{made}'"
            );
            primary.sql(&asks).expect("told")[0][0].clone().expect("a name")
        };
        for (name, charset) in [("latin1", "lati"), ("utf8mb4", "utf8"), ("latin1", "lati")] {
            // many connections in the schema, which then are anybody's
            let mut here: Vec<Raw> = (0..8).map(|_| client()).collect();
            here.iter_mut().for_each(|end| run(end, "BEGIN"));
            here.iter_mut().for_each(|end| run(end, "DO 1"));
            here.iter_mut().for_each(|end| run(end, "COMMIT"));
            match charset {
                "utf8" => {
                    run(&mut here[0], "DROP DATABASE shop");
                    run(&mut here[0], &format!("CREATE DATABASE shop CHARACTER SET {name}"));
                    here[0].send(0, b"\x02shop").and_then(|()| here[0].receive()).expect("in it");
                }
                _ => run(&mut here[0], &format!("ALTER DATABASE shop CHARACTER SET {name}")),
            }
            // others take the connection that it was altered on
            here[1..4].iter_mut().for_each(|end| run(end, "BEGIN"));
            let by_itself = charset_made_by(&mut here[0]);
            assert_eq!(by_itself, charset, "{}: who altered it to {name}", flavour.name());
            for _ in 0..6 {
                let by_newcomer = charset_made_by(&mut client());
                assert_eq!(by_newcomer, charset, "{}: a client after {name}", flavour.name());
            }
        }
    }
}

/// What a session keeps its connection for goes on, whatever becomes of schemas meanwhile.
#[test]
fn a_transaction_goes_on_while_schemas_come_and_go() {
    for flavour in [Flavour::MariaDb, Flavour::MySql] {
        let Some(cluster) = live::cluster("schemas beside a transaction", flavour, 0) else {
            continue;
        };
        let primary = cluster.primary();
        primary.sql("CREATE DATABASE gone").expect("created");
        primary.sql("CREATE TABLE test.kept (a INT)").expect("created");
        let proxy = sized(primary.port, 1, 4);
        let [mut end, mut other] =
            [(); 2].map(|()| Raw::login(proxy.port, "app", "app").expect("logged in"));
        end.send(0, b"\x02gone").and_then(|()| end.receive()).expect("in the schema");
        run(&mut end, "BEGIN");
        run(&mut end, "INSERT INTO test.kept VALUES (1)");
        run(&mut other, "DROP DATABASE gone");
        run(&mut other, "CREATE DATABASE new");
        run(&mut end, "INSERT INTO test.kept VALUES (2)");
        run(&mut end, "COMMIT");
        let rows = primary.sql("SELECT COUNT(*) FROM test.kept").expect("counted");
        assert_eq!(rows[0][0].as_deref(), Some("2"), "{}", flavour.name());
    }
}

/// What a byte is in a client's character set, servers say: a blank is what may stand between two
/// words, and a control character begins a comment behind two dashes.
#[test]
fn bytes_are_read_as_servers_read_them_in_every_character_set() {
    for flavour in [Flavour::MariaDb, Flavour::MySql] {
        let Some(cluster) = live::cluster("character sets", flavour, 0) else { continue };
        let primary = cluster.primary();
        let _met = met(primary.port);
        let mut end = Raw::login(primary.port, "app", "app").expect("logged in");
        let mut runs = |text: &[u8]| {
            end.send(0, &[b"\x03", text].concat()).expect("sent");
            end.receive().expect("answered").1.first() == Some(&0)
        };
        let mut charsets: Vec<_> = wire::collation_table::ALL.iter().map(|c| c.charset).collect();
        charsets.sort_unstable();
        charsets.dedup();
        let mut blanks = 0;
        for charset in charsets {
            if !runs(format!("SET NAMES {charset}").as_bytes()) {
                continue;
            }
            let modes = Modes { high_bytes: HighBytes::of(charset), ..Modes::default() };
            let words = |text: &[u8]| {
                let mut lexer = Lexer::new(text, modes);
                std::iter::from_fn(|| lexer.next_token()).count()
            };
            for byte in 0x80..=0xff {
                let parted = [b"DO", &[byte][..], b"1"].concat();
                let is_blank = runs(&parted);
                assert!(!is_blank || words(&parted) == 2, "{charset}, blank {byte:#x}");
                blanks += usize::from(is_blank);
                let commented = [b"DO 1 --", &[byte][..], b" ("].concat();
                let is_comment = runs(&commented);
                assert!(!is_comment || words(&commented) == 2, "{charset}, dashes {byte:#x}");
            }
        }
        assert!(blanks >= 13, "{blanks} blanks");
    }
}

/// MariaDB has a `KILL` for all sessions of an account, on any worker, which may only be one's own.
#[test]
fn a_kill_of_a_user_ends_its_own_sessions_alone() {
    let Some(cluster) = live::cluster("KILL USER", Flavour::MariaDb, 0) else { return };
    let proxy = sized(cluster.primary().port, 2, 12);
    let log_in = |user: &str| Raw::login(proxy.port, user, "app").expect("logged in");
    let (mut killer, mut other) = (log_in("app"), log_in("plain"));
    let mut victims: Vec<Raw> = (0..6).map(|_| log_in("app")).collect();
    let lives = |end: &mut Raw| {
        end.send(0, b"\x0e").and_then(|()| end.receive()).is_ok_and(|(_, p)| p[0] == 0)
    };
    run(&mut other, "KILL USER app");
    run(&mut other, "KILL HARD USER 'app'@'%'");
    run(&mut killer, "KILL QUERY USER app");
    run(&mut killer, "KILL USER ap");
    assert!(victims.iter_mut().chain([&mut killer, &mut other]).all(lives));
    run(&mut killer, "KILL USER 'app'");
    for end in victims.iter_mut().chain([&mut killer]) {
        end.rest().expect("it ends");
    }
    assert!(lives(&mut other), "another account's session");
}

/// What a client does to its character set in ways that nobody follows hides no `KILL`.
#[test]
fn no_character_set_hides_a_kill() {
    for flavour in [Flavour::MariaDb, Flavour::MySql] {
        let Some(cluster) = live::cluster("character sets", flavour, 0) else { continue };
        let primary = cluster.primary();
        let proxy = met(primary.port);
        let mut stranger = Raw::login(primary.port, "app", "app").expect("logged in");
        let row = stranger.first_row("SELECT CONNECTION_ID()").expect("an id");
        let digits = row.get(1..).unwrap_or_default();
        let told = |texts: &[&[u8]]| {
            let login = Raw::login_able(proxy.port, ("app", "app"), Caps::MULTI_STATEMENTS);
            let mut end = login.expect("logged in");
            texts
                .iter()
                .map(|text| {
                    end.send(0, &[b"\x03", *text].concat()).expect("sent");
                    match &*end.receive().expect("answered").1 {
                        [0xff, low, high, ..] => u16::from_le_bytes([*low, *high]),
                        _ => 0,
                    }
                })
                .collect::<Vec<_>>()
        };
        let latin = [b"KILL\xa0", digits].concat();
        let dos = [b"KILL\xff", digits].concat();
        for (sets, kill) in [
            (&b"SET NAMES latin1"[..], &latin),
            (b"SET CHARACTER SET latin1", &latin),
            (b"SET CHARSET 'cp852'", &dos),
            (b"SET character_set_client = CONCAT('lat', 'in1')", &latin),
            (b"SET @@session.character_set_client = 4 + 4", &latin),
        ] {
            let codes = told(&[sets, kill]);
            let sets = String::from_utf8_lossy(sets);
            // no such session, or nothing that is understood
            assert!(matches!(*codes, [0, 1094 | 1235]), "{flavour:?}, {sets}: {codes:?}");
        }
        let escaped = [&b"SELECT '\\';KILL "[..], digits, b" -- '"].concat();
        let quoted = [&b"SELECT 1 AS \"\\\";KILL "[..], digits, b" -- \""].concat();
        for (sets, kill) in [
            (&b"SET sql_mode=1048576"[..], &escaped),
            (b"SET sql_mode=(SELECT 1048576)", &escaped),
            (b"SET sql_mode=4", &quoted),
        ] {
            assert_eq!(told(&[sets, kill]), [0, 1235], "{flavour:?}, {}", sets.escape_ascii());
        }
        for (hidden, rest) in [
            ("/*!99999 # */ KILL ", ""),
            ("/*M!/*/KILL ", ""),
            ("DO 1;/*!99999 -- */KILL ", ""),
            ("SELECT /*! /*! 1 */ */* ' */ 1;KILL ", " -- '"),
            ("PREPARE s FROM '/*\\'*/KILL ", "'"),
        ] {
            let kill = [hidden.as_bytes(), digits, rest.as_bytes()].concat();
            assert_eq!(told(&[&kill]), [1235], "{flavour:?}, {hidden}");
        }
        let behind = [b"SET NAMES latin1; ", &latin[..]].concat();
        assert_eq!(told(&[&behind]), [1235], "{flavour:?}");
        assert_eq!(stranger.first_row("SELECT 1").expect("alive"), b"\x011");
    }
}
