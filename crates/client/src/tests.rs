//! Against scripts of what a server says; what the client says is read by `wire`.

use std::io::{self, Cursor, Read, Write};

use wire::auth::{native, sha2};
use wire::command::write_query;
use wire::connect::{AuthMore, AuthSwitch, Greeting, HandshakeResponse};
use wire::frame::{MAX_PAYLOAD, write_packet, write_with};
use wire::reply::{self, ColumnDef, ErrPacket, OkPacket};
use wire::{Caps, Status};

use super::{Client, Error, Login, Packets};

/// A server that has said everything, and what it is told.
struct Scripted {
    says: Cursor<Vec<u8>>,
    told: Vec<u8>,
}

impl Read for Scripted {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.says.read(bytes)
    }
}

impl Write for Scripted {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.told.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn scripted(says: Vec<u8>) -> Packets<Scripted> {
    Packets::over(Scripted { says: Cursor::new(says), told: Vec::new() })
}

/// What the server was told, as packets.
fn told(packets: &Packets<Scripted>) -> Vec<(u8, Vec<u8>)> {
    let mut told = scripted(packets.stream.get_ref().told.clone());
    std::iter::from_fn(|| told.receive().ok()).collect()
}

fn greeting(plugin: &[u8]) -> Vec<u8> {
    let greeting = Greeting {
        server_version: b"9.7.0",
        connection_id: 77,
        scramble: *b"ABCDEFGHIJKLMNOPQRST",
        caps: Caps::OF_OWN_SERVERS,
        collation: 45,
        status: Status::AUTOCOMMIT,
        plugin,
    };
    let mut out = Vec::new();
    write_with(&mut out, &mut 0, |out| greeting.encode(out));
    out
}

/// A server that lets the client in at once and then says this.
fn logged_in(says: &[u8]) -> Client<Scripted> {
    let mut script = greeting(b"mysql_native_password");
    write_ok(&mut script, 2, Status::AUTOCOMMIT);
    script.extend_from_slice(says);
    Client::log_in(scripted(script), &Login::new("app", "app")).expect("let in")
}

fn write_ok(out: &mut Vec<u8>, mut seq: u8, status: Status) {
    let ok = OkPacket { affected_rows: 3, status, ..OkPacket::default() };
    reply::write_ok(out, &mut seq, Caps::NONE, &ok);
}

fn write_error(out: &mut Vec<u8>, mut seq: u8) {
    let error = ErrPacket { code: 1146, sqlstate: *b"42S02", message: b"no such table" };
    reply::write_err(out, &mut seq, &error);
}

fn write_rows(out: &mut Vec<u8>, rows: &[&[Option<&[u8]>]], status: Status) {
    let columns = [b"a", b"b"].map(|name| ColumnDef::text(name));
    reply::write_text_result(out, &mut 1, Caps::NONE, &columns, rows, status);
}

#[test]
fn a_login_proves_the_password_to_the_greetings_plugin_and_to_the_one_asked_for() {
    let mut script = greeting(b"mysql_native_password");
    let switch = AuthSwitch { plugin: b"caching_sha2_password", data: b"abcdefghijklmnopqrst" };
    reply::write_auth_switch(&mut script, &mut 2, &switch);
    reply::write_auth_more(&mut script, &mut 4, &[AuthMore::FAST_OK]);
    write_ok(&mut script, 5, Status::IN_TRANS);
    let mut packets = scripted(script);
    let login = Login { schema: Some("test"), ..Login::new("app", "secret") };

    let welcome = packets.log_in(&login).expect("let in");

    assert_eq!(welcome.connection_id, 77);
    assert_eq!(
        (welcome.greeted_status, welcome.login_status),
        (Status::AUTOCOMMIT, Status::IN_TRANS)
    );
    let [(1, first), (3, second)] = &told(&packets)[..] else { panic!("{:?}", told(&packets)) };
    let response = HandshakeResponse::parse(first).expect("a response");
    assert_eq!((response.user, response.schema), (&b"app"[..], Some(&b"test"[..])));
    assert_eq!(response.plugin, Some(&b"mysql_native_password"[..]));
    assert_eq!(response.auth_response, native::scramble(b"secret", b"ABCDEFGHIJKLMNOPQRST"));
    assert_eq!(second[..], sha2::scramble(b"secret", b"abcdefghijklmnopqrst"));
}

#[test]
fn no_password_is_answered_by_nothing_whatever_the_plugin() {
    let mut script = greeting(b"caching_sha2_password");
    let switch = AuthSwitch { plugin: b"unix_socket", data: b"" };
    reply::write_auth_switch(&mut script, &mut 2, &switch);
    write_ok(&mut script, 4, Status::AUTOCOMMIT);
    let mut packets = scripted(script);
    packets.log_in(&Login::new("root", "")).expect("let in");
    let told = told(&packets);
    assert_eq!(HandshakeResponse::parse(&told[0].1).expect("a response").auth_response, b"");
    assert_eq!(told[1..], [(3, Vec::new())]);
}

#[test]
fn a_password_is_sent_in_no_other_way_than_hashed() {
    let mut script = greeting(b"caching_sha2_password");
    reply::write_auth_more(&mut script, &mut 2, &[AuthMore::FULL_AUTH]);
    let refused = scripted(script).log_in(&Login::new("app", "secret"));
    assert!(matches!(refused, Err(Error::Unproven)), "{refused:?}");
    let mut script = greeting(b"mysql_native_password");
    let switch = AuthSwitch { plugin: b"mysql_clear_password", data: b"abcdefghijklmnopqrst" };
    reply::write_auth_switch(&mut script, &mut 2, &switch);
    let mut packets = scripted(script);
    let refused = packets.log_in(&Login::new("app", "secret"));
    assert!(matches!(refused, Err(Error::Unproven)), "{refused:?}");
    assert_eq!(told(&packets).len(), 1);
}

#[test]
fn rows_keep_null_apart_from_the_empty_text() {
    let (mut says, long) = (Vec::new(), "x".repeat(300));
    write_rows(&mut says, &[&[Some(b""), None], &[None, Some(long.as_bytes())]], Status::IN_TRANS);
    let mut client = logged_in(&says);
    let reply = client.query("SELECT a, b FROM t").expect("answered");
    assert_eq!(reply.rows, [[Some(String::new()), None], [None, Some(long)]]);
    assert_eq!(reply.status, Status::IN_TRANS);
    assert_eq!((reply.value(0), reply.value(1), reply.value(2)), (Some(""), None, None));
    let mut asked = Vec::new();
    write_query(&mut asked, b"SELECT a, b FROM t");
    assert!(client.packets.stream.get_ref().told.ends_with(&asked));
}

#[test]
fn the_last_of_several_results_is_given_and_all_are_taken() {
    let mut says = Vec::new();
    write_rows(&mut says, &[&[Some(b"1"), None]], Status::MORE_RESULTS);
    write_ok(&mut says, 5, Status::AUTOCOMMIT);
    write_rows(&mut says, &[&[Some(b"2"), None]], Status::AUTOCOMMIT);
    let mut client = logged_in(&says);
    let reply = client.query("SELECT 1, NULL; DELETE FROM t").expect("answered");
    assert_eq!((reply.rows, reply.affected_rows), (vec![], 3));
    assert_eq!(client.query("SELECT 2, NULL").expect("answered").value(0), Some("2"));
}

#[test]
fn an_error_amid_rows_is_told_and_the_connection_is_in_order() {
    let mut says = Vec::new();
    write_rows(&mut says, &[&[Some(b"1"), None]], Status::AUTOCOMMIT);
    // in the place of the EOF packet
    says.truncate(says.len() - 9);
    write_error(&mut says, 6);
    write_ok(&mut says, 1, Status::AUTOCOMMIT);
    let mut client = logged_in(&says);
    let error = client.query("SELECT a, b FROM t").expect_err("refused");
    let refusal = error.refusal().expect("the server's own");
    assert_eq!((refusal.code, &*refusal.sqlstate), (1146, "42S02"));
    assert_eq!(error.to_string(), "ERROR 1146 (42S02): no such table");
    assert_eq!(client.query("DO 0").expect("answered").affected_rows, 3);
}

#[test]
fn an_error_in_place_of_the_greeting_is_the_servers_own() {
    let mut script = Vec::new();
    write_error(&mut script, 0);
    let error = scripted(script).log_in(&Login::new("app", "app")).expect_err("refused");
    assert_eq!(error.refusal().map(|refusal| refusal.code), Some(1146));
}

#[test]
fn a_packet_of_16_mib_and_more_takes_several_frames_both_ways() {
    for len in [MAX_PAYLOAD - 1, MAX_PAYLOAD, MAX_PAYLOAD + 1] {
        let payload: Vec<u8> = [b"begins", &vec![b'x'; len - 10][..], b"ends"].concat();
        let mut framed = Vec::new();
        write_packet(&mut framed, &mut 7, &payload);
        let mut packets = scripted(framed.clone());
        packets.send(7, &payload).expect("sent");
        assert!(packets.stream.get_ref().told == framed, "{len} bytes sent");
        let (seq, received) = packets.receive().expect("received");
        assert!(received == payload, "{len} bytes received");
        assert_eq!(seq, if len < MAX_PAYLOAD { 7 } else { 8 });
    }
}

#[test]
fn a_connection_that_is_closed_is_no_answer() {
    let error = logged_in(&[]).query("SELECT 1").expect_err("closed");
    assert!(matches!(error, Error::Connection(_)), "{error}");
    assert_eq!(error.to_string(), "the connection was closed");
}
