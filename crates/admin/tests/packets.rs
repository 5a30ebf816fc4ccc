//! Packets that the driver of the other tests does not send, written by hand.

mod fake;

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use admin::Mail;
use client::{Login, Packets};
use fake::{Dir, Interface, lines};
use io::Addr;

/// An administrator who has logged in, and reads answers when the test says so.
struct Raw<S>(Packets<S>);

impl Raw<TcpStream> {
    fn new(interface: &Interface) -> Self {
        Self::logged_in(interface, "admin")
    }

    fn logged_in(interface: &Interface, account: &str) -> Self {
        let address = (Ipv4Addr::LOCALHOST, interface.port()).into();
        let packets = Packets::tcp(address, PATIENCE).expect("it listens");
        Self::over(packets, account)
    }
}

impl<S: Read + Write> Raw<S> {
    /// Logs in to an account whose password is its name.
    fn over(mut packets: Packets<S>, account: &str) -> Self {
        packets.log_in(&Login::new(account, account)).expect("it is let in");
        Self(packets)
    }

    /// One command, whose answer is not waited for.
    fn send(&mut self, first: u8, body: &[u8]) {
        self.0.command(first, body).expect("it reads");
    }

    /// The payload of the next packet.
    fn packet(&mut self) -> Vec<u8> {
        self.0.receive().expect("an answer").1
    }

    /// The first packet of the answer to a command: `OK`, `EOF`, the text of an error, else bytes.
    fn ask(&mut self, first: u8, body: &[u8]) -> String {
        self.send(first, body);
        self.told()
    }

    fn told(&mut self) -> String {
        let packet = self.packet();
        match packet.first() {
            Some(0) if packet.len() >= 7 => "OK".to_owned(),
            Some(0xfe) => "EOF".to_owned(),
            Some(0xff) => {
                let code = u16::from_le_bytes([packet[1], packet[2]]);
                format!("{code} {}", String::from_utf8_lossy(&packet[3..]))
            }
            _ => String::from_utf8_lossy(&packet).into_owned(),
        }
    }

    /// The rows of a result of one column, its cells a line each.
    fn rows(&mut self) -> String {
        let count = self.packet();
        assert_eq!(count, [1], "one column: {}", String::from_utf8_lossy(&count));
        self.packet();
        assert_eq!(self.told(), "EOF");
        let mut rows = Vec::new();
        loop {
            let row = self.packet();
            if row.first() == Some(&0xfe) && row.len() < 9 {
                return rows.join("\n");
            }
            // a length of one to three bytes is not of interest
            let head = if row[0] == 0xfc { 3 } else { 1 };
            rows.push(String::from_utf8_lossy(&row[head..]).into_owned());
        }
    }
}

/// Drivers ask the status, and double quotes in texts instead of putting `\\` before them.
#[test]
fn clients_are_told_that_a_backslash_is_one() {
    let interface = Interface::start(&[]);
    let mut client = Raw::new(&interface);
    let no_backslash_escapes = 0x0200_u16.to_le_bytes()[1];
    client.send(QUERY, b"SET NAMES utf8mb4");
    assert_eq!(client.packet(), [0, 0, 0, 2, no_backslash_escapes, 0, 0], "an OK");
    client.send(QUERY, br"SELECT 'it''s \'");
    let packets: Vec<Vec<u8>> = (0..5).map(|_| client.packet()).collect();
    assert_eq!(packets[3], b"\x06it's \\");
    for eof in [2, 4] {
        assert_eq!(packets[eof], [0xfe, 0, 0, 2, no_backslash_escapes], "packet {eof}");
    }
}

#[test]
fn several_statements_need_the_clients_word_and_end_with_the_first_that_fails() {
    let interface = Interface::start(&[]);
    let mut client = Raw::new(&interface);
    let refused = "1064 #42000ProxySQL Admin Error: only one statement is allowed at a time";
    assert_eq!(client.ask(QUERY, b"SELECT 1; SELECT 2"), refused);
    assert_eq!(client.ask(QUERY, b"DELETE FROM mysql_users;"), "OK", "one is one");
    assert_eq!(client.ask(SET_OPTION, &[0, 0]), "EOF");
    let add = "INSERT INTO mysql_users (username) VALUES ('a')";
    client.send(QUERY, format!("{add}; SELECT nonsense; DELETE FROM mysql_users").as_bytes());
    let more_results = &[0, 1, 0, 10, 2, 0, 0];
    assert_eq!(client.packet(), more_results, "one row is affected, another answer follows");
    assert!(client.told().starts_with("1054 "), "and is the last");
    assert_eq!(lines(&mut interface.admin(), "SELECT username FROM mysql_users"), "a");
    assert_eq!(client.ask(SET_OPTION, &[1, 0]), "EOF");
    assert_eq!(client.ask(QUERY, b"SELECT 1; SELECT 2"), refused);
}

#[test]
fn commands_without_a_statement_are_answered() {
    let interface = Interface::start(&[]);
    let mut client = Raw::new(&interface);
    assert_eq!(client.ask(PING, &[]), "OK");
    assert_eq!(client.ask(DEBUG, &[]), "OK");
    assert_eq!(client.ask(STATISTICS, &[]), "Uptime: 0  Threads: 1");
    assert_eq!(client.ask(PROCESS_KILL, &[7, 0, 0, 0]), "OK");
    assert_eq!(interface.fake().told(), ["7 Connection"]);
    assert_eq!(client.ask(PROCESS_KILL, &[8, 0, 0, 0]), "1094 #HY000Unknown thread id: 8");
    assert_eq!(client.ask(TIME, &[]), "1047 #08S01Unknown command");
    assert_eq!(client.ask(INIT_DB, b"disk"), "OK");
    client.send(QUERY, b"SELECT DATABASE()");
    assert_eq!(client.rows(), "disk");
}

#[test]
fn the_columns_of_a_table_are_told_for_completion() {
    let interface = Interface::start(&[]);
    let mut client = Raw::new(&interface);
    client.send(FIELD_LIST, b"global_variables\0");
    for name in ["variable_name", "variable_value"] {
        let column = client.packet();
        let told = [name.as_bytes(), &[0, 12, 33, 0, 15, 0, 0, 0, 253]].concat();
        assert!(column.windows(told.len()).any(|bytes| bytes == told), "{name}: {column:?}");
        assert_eq!(column.last(), Some(&0xfb), "no default value");
    }
    assert_eq!(client.packet(), [0xfe, 0, 0, 2, 2]);
    let missing = client.ask(FIELD_LIST, b"no`thing\0");
    assert_eq!(missing, "1146 #42S02ProxySQL Admin Error: no such table: no`thing");
}

#[test]
fn a_prepared_statement_is_found_by_its_number_until_it_is_closed() {
    let interface = Interface::start(&[]);
    let mut client = Raw::new(&interface);
    let insert = |name: &str| format!("INSERT INTO mysql_users (username) VALUES ('{name}')");
    for (id, name) in [(1, "a"), (2, "b"), (3, "c")] {
        client.send(PREPARE, insert(name).as_bytes());
        let told = client.packet();
        assert_eq!((told[0], told[1]), (0, id), "numbers are given in order");
    }
    let run = |client: &mut Raw<_>, id: u32| {
        let body = [id.to_le_bytes().as_slice(), &[0, 1, 0, 0, 0]].concat();
        client.ask(EXECUTE, &body)
    };
    let unknown = |id| format!("1243 #HY000Unknown prepared statement handler ({id})");
    assert_eq!(run(&mut client, 1), "OK");
    assert_eq!(run(&mut client, u32::MAX), "OK", "the one that was prepared last");
    client.send(CLOSE, &2_u32.to_le_bytes());
    assert_eq!(run(&mut client, 2), unknown(2));
    assert_eq!(client.ask(RESET_STATEMENT, &1_u32.to_le_bytes()), "OK");
    assert_eq!(client.ask(RESET_CONNECTION, &[]), "OK");
    assert_eq!(run(&mut client, 1), unknown(1));
    let users = "SELECT group_concat(username) FROM mysql_users";
    assert_eq!(lines(&mut interface.admin(), users), "a,c");
}

#[test]
fn a_client_may_have_1024_statements_prepared() {
    let interface = Interface::start(&[]);
    let mut client = Raw::new(&interface);
    let prepare = |client: &mut Raw<_>| client.ask(PREPARE, b"DELETE FROM mysql_users");
    for _ in 0..1024 {
        assert_eq!(prepare(&mut client), "OK");
    }
    let refused = "1461 #42000Can't create more than 1024 prepared statements";
    assert_eq!(prepare(&mut client), refused);
    client.send(CLOSE, &1_u32.to_le_bytes());
    assert_eq!(prepare(&mut client), "OK");
}

#[test]
fn long_values_come_in_pieces_and_are_used_once() {
    let interface = Interface::start(&[]);
    let mut client = Raw::new(&interface);
    client.send(PREPARE, b"INSERT INTO mysql_users (username, comment) VALUES (?, ?)");
    assert_eq!(client.packet()[0], 0);
    // two parameters and what ends their list; there are no columns
    let marks = [client.packet(), client.packet(), client.packet()];
    assert_eq!(marks[2].first(), Some(&0xfe));
    for piece in ["long", "er"] {
        let body = [&[1, 0, 0, 0, 1, 0], piece.as_bytes()].concat();
        client.send(LONG_DATA, &body);
    }
    let run = |client: &mut Raw<_>, bound: &[u8], values: &[u8]| {
        client.ask(EXECUTE, &[&[1, 0, 0, 0, 0, 1, 0, 0, 0], bound, values].concat())
    };
    let (types_follow, types_as_before) = (&[0, 1, 253, 0, 253, 0], &[0, 0]);
    assert_eq!(run(&mut client, types_follow, b"\x01a"), "OK");
    assert_eq!(run(&mut client, types_as_before, b"\x01b\x05short"), "OK");
    let missing = run(&mut client, types_as_before, b"\x01c");
    assert_eq!(missing, "1835 #HY000Malformed communication packet");
    let users = "SELECT username, comment FROM mysql_users ORDER BY 1";
    assert_eq!(lines(&mut interface.admin(), users), "a|longer\nb|short");
}

#[test]
fn a_statement_may_have_more_bytes_than_a_packet_and_not_more_than_64_mib() {
    let interface = Interface::start(&[]);
    let mut client = Raw::new(&interface);
    let filler = "x".repeat(1 << 24);
    client.send(QUERY, format!("SELECT 1 /* {filler} */ + 1 AS n").as_bytes());
    assert_eq!(client.rows(), "2");
    let mut packets = Vec::new();
    for _ in 0..4 {
        packets.extend_from_slice(&[0xff, 0xff, 0xff, 0]);
        packets.extend_from_slice(&filler.as_bytes()[1..]);
    }
    // five bytes more
    packets.extend_from_slice(&[5, 0, 0, 4]);
    client.0.bytes(&packets).expect("it reads");
    let too_big = "1153 #08S01Got a packet bigger than 'max_allowed_packet' bytes";
    assert_eq!(client.told(), too_big);
    assert_eq!(client.0.stream.read(&mut [0]).expect("the end"), 0, "it is closed");
}

#[test]
fn who_leaves_its_answers_is_not_asked_for_more_until_it_takes_them() {
    let interface = Interface::start(&[]);
    let mut client = Raw::new(&interface);
    let queries = 500;
    for _ in 0..queries {
        client.send(QUERY, b"SELECT hex(zeroblob(20000))");
    }
    client.send(QUERY, b"LOGENTRY all are answered");
    assert_eq!(lines(&mut interface.admin(), "SELECT 1"), "1", "others are served");
    assert_eq!(interface.fake().told(), [""; 0]);
    for _ in 0..queries {
        assert_eq!(client.rows().len(), 40_000);
    }
    assert_eq!(client.told(), "OK");
    assert_eq!(interface.fake().told(), ["log all are answered"]);
}

#[test]
fn readers_who_leave_their_answers_hold_no_more_than_256_mib_together() {
    let interface = Interface::start(&[]);
    let rows = "WITH RECURSIVE x(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM x LIMIT 930) \
                SELECT zeroblob(65000) FROM x";
    // 60 MB each, of which the system keeps some
    let readers: Vec<_> = (0..6)
        .map(|_| {
            let mut reader = Raw::logged_in(&interface, "stats");
            reader.send(QUERY, rows.as_bytes());
            reader.0.stream
        })
        .collect();
    assert_eq!(lines(&mut interface.admin(), "SELECT 1"), "1", "administrators are served");
    let mut last = Raw::logged_in(&interface, "stats");
    assert_eq!(last.ask(PING, &[]), "OK", "readers have their turns in the order they came in");
    let whole = readers.into_iter().map(|reader| {
        // that of one that is let go ends early
        let (mut all, most) = (Vec::new(), 60_000_000);
        drop(reader.take(most).read_to_end(&mut all));
        all.len() as u64 == most
    });
    let whole = whole.filter(|whole| *whole).count();
    assert!((3..6).contains(&whole), "{whole} have all of it");
}

#[test]
fn a_socket_of_this_machine_is_listened_on_until_it_is_taken_back() {
    let dir = Dir::new("socket");
    std::fs::create_dir_all(&dir.0).expect("a directory");
    let path = dir.0.join("admin.sock");
    let interface = Interface::start(&[]);
    let on = Addr::Unix(path.clone());
    interface.post(Mail::Listen(io::listen(&on, 8, false).expect("it is free"), on.clone()));
    let socket = Packets::unix(&path, PATIENCE).expect("it listens");
    let mut client = Raw::over(socket, "admin");
    interface.post(Mail::Unlisten(on));
    let deadline = Instant::now() + Duration::from_secs(10);
    while UnixStream::connect(&path).is_ok() {
        assert!(Instant::now() < deadline, "it listens on");
        std::thread::yield_now();
    }
    assert_eq!(client.ask(PING, &[]), "OK", "who came from there stays");
    assert_eq!(lines(&mut interface.admin(), "SELECT 1"), "1", "the other door stays open");
}

const PATIENCE: Duration = Duration::from_secs(20);
const INIT_DB: u8 = 0x02;
const QUERY: u8 = 0x03;
const FIELD_LIST: u8 = 0x04;
const STATISTICS: u8 = 0x09;
const PROCESS_KILL: u8 = 0x0c;
const DEBUG: u8 = 0x0d;
const PING: u8 = 0x0e;
const TIME: u8 = 0x0f;
const PREPARE: u8 = 0x16;
const EXECUTE: u8 = 0x17;
const LONG_DATA: u8 = 0x18;
const CLOSE: u8 = 0x19;
const RESET_STATEMENT: u8 = 0x1a;
const SET_OPTION: u8 = 0x1b;
const RESET_CONNECTION: u8 = 0x1f;
