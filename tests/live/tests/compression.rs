//! Compression of the protocol, towards clients and towards servers: every byte is the one that a
//! plain connection to the server gives.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use ::client::Login;
use compression::{Compressors, Leg, codec};
use lab::{Cluster, Flavour, SplitOptions};
use live::client::{connect, options};
use live::compressed::{Compressed, log_in};
use live::exchange::{Asked, CAPS, asked, difference, exchange, query};
use live::{Proxy, Shared, eventually};
use wire::Caps;
use wire::command::code;
use wire::connect::{ChangeUser, Compression};
use wire::result::ReplyKind;

static MARIADB: Shared = Shared::new("compression", Flavour::MariaDb, 0);
static MYSQL: Shared = Shared::new("compression", Flavour::MySql, 0);

/// Clients: what they ask for, and whose they are.
const WAYS: [(&str, Caps, &str); 5] = [
    ("none", Caps::NONE, "ff"),
    ("none", Caps::NONE, "app"),
    ("zlib", Caps::COMPRESS, "app"),
    ("zstd", Caps::ZSTD, "app"),
    ("zlib", Caps::COMPRESS, "ff"),
];
/// More than a packet of the protocol holds.
const LONG: usize = 17_000_000;

fn proxy(cluster: &Cluster, compresses: bool, variables: &str) -> Proxy {
    let variables = format!(
        "threads = 1\nmax_allowed_packet = 67108864\nenable_load_data_local_infile = true\n\
         {variables}"
    );
    Proxy::start(|interfaces| {
        let options = SplitOptions { interfaces, variables, ..Default::default() };
        let row = format!("max_connections = 1000\ncompression = {}\n", u8::from(compresses));
        lab::split_toml(cluster, &options).replace("max_connections = 1000\n", &row)
    })
    .expect("tidegate starts")
}

fn define(cluster: &Cluster) {
    for statement in [
        "SET GLOBAL max_allowed_packet = 67108864",
        "SET GLOBAL local_infile = 1",
        "DROP TABLE IF EXISTS test.packed, test.loaded",
        "CREATE TABLE test.packed (id INT PRIMARY KEY, c VARCHAR(200))",
        "CREATE TABLE test.loaded (id INT PRIMARY KEY, c VARCHAR(200))",
        "INSERT INTO test.packed WITH RECURSIVE n AS (SELECT 1 AS id UNION ALL SELECT id + 1 \
         FROM n WHERE id < 900) SELECT id, CONCAT(id, REPEAT('c', id % 120)) FROM n",
        "DROP PROCEDURE IF EXISTS test.twice",
        "CREATE PROCEDURE test.twice() BEGIN SELECT * FROM test.packed ORDER BY id; SELECT 2; END",
    ] {
        cluster.primary().sql(statement).expect(statement);
    }
    // a password in the clear is asked for until the server has seen it
    connect(options(cluster.primary().port));
}

fn questions() -> Vec<Asked> {
    // behind the statement's id: no cursor, once, nothing is NULL, a number
    let execute = [&[0, 1, 0, 0, 0, 0, 1, 8, 0][..], &400_u64.to_le_bytes()].concat();
    let mut who = Vec::new();
    let user = ChangeUser {
        user: b"app",
        auth_response: b"",
        schema: b"test",
        collation: Some(45),
        plugin: Some(b"mysql_native_password"),
        attributes: &[],
    };
    user.encode(Login::new("", "").caps, &mut who);
    let load = "LOAD DATA LOCAL INFILE 'any' INTO TABLE test.loaded";
    let rows = "SELECT * FROM test.packed ORDER BY id";
    vec![
        query("SELECT 1"),
        query(rows),
        query("SELECT REPEAT('x', 70000), 'end'"),
        query(&format!("SELECT 1; {rows}; SELECT REPEAT('y', 40000); SELECT 2")),
        query("CALL test.twice()"),
        asked(code::PING, "", ReplyKind::Simple),
        query("SELECT nothing FROM test.nowhere"),
        asked(code::STMT_PREPARE, "SELECT * FROM test.packed WHERE id < ?", ReplyKind::Prepare),
        asked(code::STMT_EXECUTE, execute, ReplyKind::Execute),
        query("TRUNCATE TABLE test.loaded"),
        query(load),
        query("SELECT COUNT(*), SUM(LENGTH(c)) FROM test.loaded"),
        query("TRUNCATE TABLE test.loaded"),
        query(&format!("{rows}; {load}; SELECT 1")),
        query(&format!("SELECT LENGTH('{}')", "a".repeat(LONG))),
        // one packet, and two of the compressed ones
        query(&format!("SELECT LENGTH('{}')", "a".repeat(16_700_000))),
        query("TRUNCATE TABLE test.loaded"),
        // the request for the file has number 255
        query(&format!("SELECT id FROM test.packed ORDER BY id LIMIT 250; {load}; SELECT 5")),
        query(&format!("SELECT REPEAT('z', {LONG})")),
        // behind what it changed, its connection is first brought back
        query("SET time_zone = '+01:00'"),
        asked(code::CHANGE_USER, &who[1..], ReplyKind::Auth),
        query(&format!("SELECT LENGTH('{}')", "a".repeat(16_700_000))),
        query(rows),
    ]
}

fn alike(servers: &Shared) {
    let Some(cluster) = servers.cluster() else { return };
    define(&cluster);
    let port = cluster.primary().port;
    let questions = questions();
    let mut plain = log_in(port, ("app", "app"), CAPS).expect("logged in");
    let mut stmt = 0;
    let mut ask = |asked| exchange((&mut plain, &mut stmt), asked, "directly");
    let direct: Vec<_> = questions.iter().map(&mut ask).collect();
    for compresses in [false, true] {
        for depth in [0, 16] {
            let proxy = proxy(&cluster, compresses, &format!("pipeline_depth = {depth}"));
            for (name, kind, user) in WAYS {
                let what = format!("{name}, servers {compresses}, depth {depth}, {user}");
                let mut packets =
                    log_in(proxy.port, (user, user), CAPS.union(kind)).expect("logged in");
                for (asked, direct) in questions.iter().zip(&direct) {
                    // who is given a server for good stays who it is
                    if asked.kind == ReplyKind::Auth && user == "ff" {
                        continue;
                    }
                    let through = exchange((&mut packets, &mut stmt), asked, &what);
                    assert_eq!(difference(direct, &through), None, "{what}: {}", asked.text());
                }
            }
        }
    }
}

#[test]
fn every_byte_is_that_of_a_plain_mariadb() {
    alike(&MARIADB);
}

#[test]
fn every_byte_is_that_of_a_plain_mysql() {
    alike(&MYSQL);
}

fn told(packets: &mut Compressed, text: &str) -> String {
    let reply = exchange((packets, &mut 0), &query(text), text);
    String::from_utf8_lossy(&reply).into_owned()
}

#[test]
fn both_legs_are_compressed_that_ask_for_it() {
    let Some(cluster) = MYSQL.cluster() else { return };
    define(&cluster);
    for compresses in [false, true] {
        let proxy = proxy(&cluster, compresses, "");
        for (name, kind, _) in WAYS.iter().filter(|(.., user)| *user == "app") {
            let mut packets = log_in(proxy.port, ("app", "app"), CAPS.union(*kind)).expect("in");
            let before = packets.stream.get_ref().received;
            assert!(told(&mut packets, "SELECT REPEAT('x', 500000)").len() > 500_000);
            let received = packets.stream.get_ref().received - before;
            assert_eq!(received < 10_000, *name != "none", "{name}: {received}");
            let session = told(&mut packets, "PROXYSQL INTERNAL SESSION");
            let compression = format!("\"compression\": {}", *name != "none");
            assert!(session.contains(&compression), "{name}: {session}");
            let server = told(&mut packets, "SHOW SESSION STATUS LIKE 'Compression_algorithm'");
            assert_eq!(server.contains("zstd"), compresses, "{server}");
        }
    }
}

#[test]
fn what_is_not_offered_is_not_used() {
    let words = ["--protocol-compression-algorithms=uncompressed"];
    let Some(cluster) = live::cluster_with("compression refused", Flavour::MySql, 0, &words) else {
        return;
    };
    define(&cluster);
    let proxy = proxy(&cluster, true, "have_compress = false");
    let mut packets = log_in(proxy.port, ("app", "app"), CAPS).expect("logged in");
    let server = told(&mut packets, "SHOW SESSION STATUS LIKE 'Compression'");
    assert!(server.contains("OFF"), "{server}");
    for kind in [Caps::COMPRESS, Caps::ZSTD] {
        let refused = log_in(proxy.port, ("app", "app"), CAPS.union(kind)).err();
        assert_eq!(refused.expect("an error").to_string(), "it is not offered");
    }
}

/// The packets that come until the end, and the numbers of the compressed ones.
fn last_words(packets: &Compressed, kind: Caps) -> (Vec<u8>, Vec<u8>) {
    let mut wire = Vec::new();
    packets.stream.get_ref().carrier().read_to_end(&mut wire).expect("an orderly end");
    let mut numbers = Vec::new();
    let mut rest = &wire[..];
    while let Some((header, behind)) = rest.split_first_chunk::<7>() {
        numbers.push(header[3]);
        rest = &behind[usize::from(u16::from_le_bytes([header[0], header[1]]))..];
    }
    let agreed = Compression::agreed(kind, Compression::ZSTD_LEVEL).expect("one is asked for");
    let mut codec = codec(Leg::Server, agreed, &Compressors::default());
    let mut plain = vec![0; io::CODEC_ROOM_BYTES];
    let step = codec.decode(&mut wire, &mut plain).expect("compressed packets");
    assert_eq!(step.taken, wire.len());
    plain.truncate(step.given);
    (plain, numbers)
}

#[test]
fn what_cannot_be_decompressed_ends_its_client_and_says_so() {
    let Some(cluster) = MARIADB.cluster() else { return };
    define(&cluster);
    let proxy = proxy(&cluster, false, "");
    let mut other = log_in(proxy.port, ("app", "app"), CAPS.union(Caps::COMPRESS)).expect("in");
    let zstd = b"\x09\0\0\0\x05\0\0\x28\xb5\x2f\xfd\x04\x41\0\0\x03";
    let much = b"\x0b\0\0\0\x02\0\0\x78\x5e\x63\x60\x60\x60\0\0\0\x04\0\x01";
    // a command of 16 MiB, of which nothing more comes that makes sense
    let begun =
        [&b"\x07\0\0\0\0\0\0\xff\xff\xff\0\x03SE\x09\0\0\x01\x05\0\0"[..], &[7; 9]].concat();
    // behind which the client goes on
    let goes_on = [&zstd[..], &vec![0; 300_000]].concat();
    let cases = [
        (Caps::COMPRESS, &zstd[..]),
        (Caps::COMPRESS, &much[..]),
        (Caps::COMPRESS, &goes_on[..]),
        (Caps::COMPRESS, &begun[..]),
        (Caps::ZSTD, &much[..]),
    ];
    let words = b"\xff\x85\x04#08S01Couldn't uncompress communication packet";
    for (count, (kind, bytes)) in (1..).zip(cases) {
        let mut packets = log_in(proxy.port, ("app", "app"), CAPS.union(kind)).expect("in");
        packets.stream.get_mut().write_raw(bytes).expect("sent");
        let (told, numbers) = last_words(&packets, kind);
        assert_eq!(told.get(..4), Some(&[words.len() as u8, 0, 0, 1][..]), "{count}: {told:?}");
        assert_eq!(told.get(4..), Some(&words[..]), "{count}: {told:?}");
        assert_eq!(numbers, [1], "{count}");
        eventually("it is counted", Duration::from_secs(5), || {
            proxy.counter("client_faults").expect("told") == count
        });
    }
    let log = proxy.log();
    let line = "broke the protocol while idle: what it sent cannot be decompressed";
    assert_eq!(log.matches(line).count(), 5, "{log}");
    assert!(told(&mut other, "SELECT 'still here'").contains("still here"));
}

/// Stands in front of a server, and spoils what comes of it once it is told to.
fn spoiler(server: u16) -> (u16, Arc<AtomicBool>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("told").port();
    let spoils = Arc::<AtomicBool>::default();
    let told = spoils.clone();
    thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let server = TcpStream::connect(("127.0.0.1", server)).expect("it listens");
            let (mut from_client, mut to_server) = (
                client.try_clone().expect("a descriptor"),
                server.try_clone().expect("a descriptor"),
            );
            thread::spawn(move || {
                let _ = std::io::copy(&mut from_client, &mut to_server);
                to_server.shutdown(Shutdown::Both)
            });
            let (spoils, mut server, mut client) = (told.clone(), server, client);
            thread::spawn(move || {
                let mut bytes = [0; 1 << 14];
                while let Ok(count @ 1..) = server.read(&mut bytes) {
                    if spoils.load(Ordering::Relaxed) {
                        let _ = client.write_all(b"\x09\0\0\x01\x05\0\0no stream");
                    } else if client.write_all(&bytes[..count]).is_err() {
                        break;
                    }
                }
                client.shutdown(Shutdown::Both)
            });
        }
    });
    (port, spoils)
}

#[test]
fn a_server_that_cannot_be_decompressed_is_named() {
    let Some(cluster) = MARIADB.cluster() else { return };
    define(&cluster);
    let (port, spoils) = spoiler(cluster.primary().port);
    let proxy = Proxy::start(|interfaces| {
        let variables = "threads = 1\nmonitor_enabled = false".to_owned();
        let options = SplitOptions { interfaces, variables, ..Default::default() };
        let row = "max_connections = 1000\ncompression = 1\n";
        lab::split_toml(&cluster, &options)
            .replace("max_connections = 1000\n", row)
            .replace(&format!("port = {}", cluster.primary().port), &format!("port = {port}"))
    })
    .expect("tidegate starts");
    let mut packets = log_in(proxy.port, ("app", "app"), CAPS).expect("logged in");
    told(&mut packets, "BEGIN");
    spoils.store(true, Ordering::Relaxed);
    let why = told(&mut packets, "SELECT 1");
    let words = format!(
        "Lost connection to MySQL server during query (server 127.0.0.1:{port}: what it sent \
         cannot be decrypted or decompressed)"
    );
    assert!(why.starts_with("\u{fffd}") && why.contains(&words), "{why}");
    live::eventually("the log names it", Duration::from_secs(5), || {
        proxy.log().contains("broke the protocol: what it sent cannot be decrypted or")
    });
}
