//! Packets of the connection phase as programs send them, and broken ones.

use super::*;
use crate::auth::Plugin;
use crate::fault::What;
use crate::{Caps, Malformed, Status};

/// The greeting of a MySQL 8.0.36, byte by byte.
const MYSQL_8: &[u8] = b"\x0a8.0.36\0\x0b\0\0\0\x11\x12\x13\x14\x15\x16\x17\x18\0\
    \xff\xff\xff\x02\0\xff\xdf\x15\0\0\0\0\0\0\0\0\0\0\
    \x21\x22\x23\x24\x25\x26\x27\x28\x29\x2a\x2b\x2c\0caching_sha2_password\0";

#[test]
fn a_greeting_of_mysql_is_read_byte_by_byte() {
    let greeting = Greeting::parse(MYSQL_8).unwrap();
    assert_eq!(greeting.server_version, b"8.0.36");
    assert_eq!(greeting.connection_id, 11);
    assert_eq!(&greeting.scramble[..8], b"\x11\x12\x13\x14\x15\x16\x17\x18");
    assert_eq!(&greeting.scramble[8..], b"\x21\x22\x23\x24\x25\x26\x27\x28\x29\x2a\x2b\x2c");
    assert_eq!(greeting.caps, Caps(0xdfff_ffff));
    assert_eq!((greeting.collation, greeting.status), (255, Status::AUTOCOMMIT));
    assert_eq!(greeting.plugin, b"caching_sha2_password");
    let mut again = Vec::new();
    greeting.encode(&mut again);
    assert_eq!(again, MYSQL_8);
}

#[test]
fn the_reserved_bytes_are_capabilities_only_of_a_mariadb() {
    let mut bytes = MYSQL_8.to_vec();
    let reserved = 1 + 7 + 4 + 8 + 1 + 2 + 1 + 2 + 2 + 1 + 6;
    bytes[reserved] = 0x1d;
    assert!(!Greeting::parse(&bytes).unwrap().caps.intersects(Caps::MARIADB_ALL));
    bytes[21] &= !1;
    let greeting = Greeting::parse(&bytes).unwrap();
    assert!(greeting.is_mariadb());
    let cached = Caps::MARIADB_CACHE_METADATA | Caps::MARIADB_PROGRESS;
    assert!(greeting.caps.contains(cached | Caps::MARIADB_EXTENDED_METADATA));
    assert!(!greeting.caps.contains(Caps::MARIADB_MULTI));
}

#[test]
fn only_a_mariadb_loses_the_version_that_fools_replicas() {
    let mut greeting = Greeting::parse(MYSQL_8).unwrap();
    greeting.server_version = b"5.5.5-10.11.19-MariaDB";
    assert_eq!(greeting.version(), b"10.11.19-MariaDB");
    greeting.server_version = b"5.5.5-m3";
    assert_eq!(greeting.version(), b"5.5.5-m3");
}

#[test]
fn greetings_cut_short_or_of_other_protocols_are_malformed() {
    for len in 0..MYSQL_8.len() - "\0caching_sha2_password\0".len() {
        assert!(Greeting::parse(&MYSQL_8[..len]).is_err(), "{len}");
    }
    let version = Malformed::new(What::GreetingVersion, 0);
    assert_eq!(Greeting::parse(b"\x093.23\0"), Err(version));
    assert_eq!(Greeting::parse(b""), Err(Malformed::new(What::Empty, 0)));
}

/// The handshake response of the command-line client of MySQL 8.
fn response() -> Vec<u8> {
    let mut bytes = b"\x8d\xa6\xff\x01\0\0\0\x01\xff".to_vec();
    bytes.extend_from_slice(&[0; 23]);
    bytes.extend_from_slice(b"app\0\x05proofshop\0caching_sha2_password\0");
    bytes.extend_from_slice(b"\x12\x03_os\x05Linux\x04_pid\x0242");
    bytes
}

#[test]
fn a_handshake_response_is_read_with_all_its_parts() {
    let bytes = response();
    let parsed = HandshakeResponse::parse(&bytes).unwrap();
    assert_eq!((parsed.user, parsed.auth_response), (&b"app"[..], &b"proof"[..]));
    assert_eq!(parsed.schema, Some(&b"shop"[..]));
    assert_eq!(parsed.plugin, Some(&b"caching_sha2_password"[..]));
    assert_eq!((parsed.max_packet, parsed.collation), (1 << 24, 255));
    let pairs: Vec<_> = Attributes::new(parsed.attributes).collect();
    assert_eq!(pairs, [(&b"_os"[..], &b"Linux"[..]), (b"_pid", b"42")]);
    let mut again = Vec::new();
    parsed.encode(&mut again);
    assert_eq!(again, bytes);
}

#[test]
fn attributes_cut_short_end_early_and_a_wrong_total_is_malformed() {
    assert_eq!(Attributes::new(b"\x03_os\x05Linux\x04_pi").count(), 1);
    let mut bytes = response();
    bytes.pop();
    assert_eq!(HandshakeResponse::parse(&bytes).unwrap_err().what, What::LengthString);
}

#[test]
fn a_client_without_protocol_41_is_refused_by_a_fault_of_its_own() {
    let ancient = b"\x85\x04\0\0\0root\0HGFEDCBA\0";
    let fault = Malformed::new(What::AncientClient, 0);
    assert_eq!(HandshakeResponse::parse(ancient), Err(fault));
    assert_eq!(HandshakeResponse::parse(b"\x85").unwrap_err().what, What::FixedField);
}

#[test]
fn parts_that_a_client_promised_but_left_out_are_missing_and_no_fault() {
    let bytes = response();
    let end_of_proof = bytes.len() - b"shop\0caching_sha2_password\0".len() - 19;
    let parsed = HandshakeResponse::parse(&bytes[..end_of_proof]).unwrap();
    assert_eq!((parsed.schema, parsed.plugin, parsed.attributes), (None, None, &b""[..]));
}

#[test]
fn a_request_for_tls_is_told_from_a_response() {
    let mut request = response()[..SslRequest::BYTES].to_vec();
    assert_eq!(SslRequest::parse(&request), None);
    request[1] |= 0x08;
    let parsed = SslRequest::parse(&request).unwrap();
    assert!(parsed.caps.contains(Caps::SSL | Caps::DEPRECATE_EOF));
    assert_eq!((parsed.max_packet, parsed.collation), (1 << 24, 255));
    let mut again = Vec::new();
    parsed.encode(&mut again);
    assert_eq!(again, request);
    request.push(0);
    assert_eq!(SslRequest::parse(&request), None);
}

#[test]
fn the_answer_is_read_as_the_capabilities_say() {
    let base = Caps::PROTOCOL_41 | Caps::MYSQL;
    let long = [b'x'; 300];
    for (caps, answer) in [
        (base, &b"proof"[..]),
        (base | Caps::SECURE_CONNECTION, b"pro\0of"),
        (base | Caps::SECURE_CONNECTION | Caps::PLUGIN_AUTH_LENENC, &long),
    ] {
        let ours = HandshakeResponse {
            caps,
            max_packet: 0,
            collation: 8,
            user: b"u",
            auth_response: answer,
            schema: None,
            plugin: None,
            attributes: b"",
            zstd_level: Compression::ZSTD_LEVEL,
        };
        let mut payload = Vec::new();
        ours.encode(&mut payload);
        assert_eq!(HandshakeResponse::parse(&payload), Ok(ours));
    }
}

#[test]
fn a_change_of_user_may_end_after_the_schema() {
    let caps = Caps::PROTOCOL_41 | Caps::SECURE_CONNECTION | Caps::PLUGIN_AUTH;
    let parsed = ChangeUser::parse(b"\x11me\0\x03abcshop\0", caps).unwrap();
    assert_eq!((parsed.user, parsed.auth_response), (&b"me"[..], &b"abc"[..]));
    assert_eq!((parsed.schema, parsed.collation), (&b"shop"[..], None));
    let mut again = Vec::new();
    parsed.encode(caps, &mut again);
    assert_eq!(again, b"\x11me\0\x03abcshop\0");
    // or after each part that follows, whatever the connection could have
    let caps = caps | Caps::CONNECT_ATTRS;
    let head = b"\x11me\0\x03abcshop\0\x21\0";
    let parsed = ChangeUser::parse(head, caps).unwrap();
    assert_eq!((parsed.collation, parsed.plugin, parsed.attributes), (Some(33), None, &b""[..]));
    let named = [&head[..], b"a_plugin\0"].concat();
    let parsed = ChangeUser::parse(&named, caps).unwrap();
    assert_eq!((parsed.plugin, parsed.attributes), (Some(&b"a_plugin"[..]), &b""[..]));
    let whole = [&named[..], b"\x02\x00\x00"].concat();
    assert_eq!(ChangeUser::parse(&whole, caps).unwrap().attributes, b"\0\0");
    let caps = caps.without(Caps::PLUGIN_AUTH | Caps::CONNECT_ATTRS);
    let parsed = ChangeUser::parse(&whole, caps).unwrap();
    assert_eq!((parsed.plugin, parsed.attributes), (None, &b""[..]));
    assert_eq!(ChangeUser::parse(b"\x11me\0\x09abc", caps).unwrap_err().what, What::LengthString);
    assert_eq!(ChangeUser::parse(b"\x12me\0", caps).unwrap_err().what, What::Marker);
}

#[test]
fn auth_switches_are_read_with_and_without_a_closing_nul() {
    let with = b"\xfemysql_native_password\x0012345678901234567890\0";
    for payload in [&with[..], &with[..with.len() - 1]] {
        let switch = AuthSwitch::parse(payload).unwrap();
        assert_eq!(switch.plugin, b"mysql_native_password");
        assert_eq!(switch.scramble(), Ok(*b"12345678901234567890"));
    }
    let old = AuthSwitch::parse(b"\xfe").unwrap();
    assert_eq!(old.plugin, b"mysql_old_password");
    assert_eq!(old.scramble().unwrap_err().what, What::Scramble);
    assert_eq!(AuthSwitch::parse(b"\x01").unwrap_err().what, What::Marker);
}

#[test]
fn data_of_plugins_is_read_with_and_without_its_marker() {
    assert_eq!(AuthMore::parse(&[1, AuthMore::FAST_OK]).unwrap().data, [3]);
    assert_eq!(AuthMore::parse(&[AuthMore::FULL_AUTH]).unwrap().data, [4]);
    assert_eq!(AuthMore::parse(&[]).unwrap_err().what, What::Empty);
    assert!(PublicKeyRequest::is(&[2], Plugin::CachingSha2));
    assert!(PublicKeyRequest::is(&[1], Plugin::Sha256Password));
    assert!(!PublicKeyRequest::is(&[2], Plugin::Sha256Password));
    assert!(!PublicKeyRequest::is(&[2, 0], Plugin::CachingSha2));
}
