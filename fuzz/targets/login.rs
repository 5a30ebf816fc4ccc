//! Authentication: whatever a client sends that knows no password, it is not let in, and others
//! notice nothing.
#![no_main]

use engine::rows::UserRow;
use engine::snapshot::Draft;
use libfuzzer_sys::fuzz_target;
use testkit::raw::{Hall, respond};
use testkit::sim::{Simulator, Weather};
use wire::connect::{Greeting, HandshakeResponse};
use wire::frame::{self, Framed};
use wire::{Caps, collation_table};

/// What tells the servers that a statement changes nothing.
const WORDS: &str = "u=ann db= cs=45 ac=1 tx=0 op=0 pin=0 pop=0 lid=-1 sw=0 k=plain r=0 w=0 n=1";

/// One login's part of the data. Those of one run have one simulator: its key takes longest.
const LOGIN_BYTES: usize = 96;

/// Plugins that accounts of these names go by.
const PLUGINS: [&str; 4] =
    ["client_ed25519", "parsec", "sha256_password", "caching_sha2_password"];

fn amend(draft: &mut Draft) {
    draft.users.extend(PLUGINS.map(|plugin| UserRow {
        username: plugin.into(),
        password: b"pear".into(),
        attributes: format!(r#"{{"authentication_plugin": "{plugin}"}}"#),
        ..UserRow::default()
    }));
}

/// A login by a plugin: its packets are as long as the data says, and repeat the rest of it.
fn by_plugin(bytes: &[u8]) -> Vec<u8> {
    let [name, first, second, rest @ ..] = bytes else { return Vec::new() };
    let response = HandshakeResponse {
        caps: Caps::PROTOCOL_41.union(Caps::SECURE_CONNECTION).union(Caps::PLUGIN_AUTH),
        max_packet: 1 << 24,
        collation: collation_table::UTF8MB4_GENERAL_CI,
        user: PLUGINS[usize::from(name & 3)].as_bytes(),
        auth_response: b"",
        schema: None,
        plugin: Some(b"mysql_native_password"),
        attributes: &[],
        zstd_level: 0,
    };
    let mut out = Vec::new();
    frame::write_with(&mut out, &mut 1, |payload| response.encode(payload));
    for (len, mut seq) in [(first, 3), (second, 5)] {
        let payload: Vec<_> = rest.iter().copied().cycle().take(usize::from(*len)).collect();
        frame::write_packet(&mut out, &mut seq, &payload);
    }
    out
}

fuzz_target!(|data: &[u8]| {
    let simulator = Simulator::new();
    data.chunks(LOGIN_BYTES).for_each(|data| log_in(&simulator, data));
});

fn log_in(simulator: &Simulator, data: &[u8]) {
    let [choice, piece, bytes @ ..] = data else { return };
    if bytes.is_empty() {
        return;
    }
    let weather = Weather { amend, ..Weather::cutting() };
    let mut hall = Hall::in_weather(u64::from(choice >> 2), simulator, &weather);
    let other = hall.login(Caps::DEPRECATE_EOF);
    let (sock, greeting) = hall.connect();
    let parsed = Greeting::parse(&greeting).expect("a greeting");
    let whole = match choice & 3 {
        // a login that is right but for its last bytes, which are the answer and the plugin
        0 => {
            let mut response = respond(&greeting, Caps::DEPRECATE_EOF);
            let from = response.len().saturating_sub(44);
            for (at, byte) in bytes.iter().enumerate().take(44) {
                response[from + at] ^= byte | u8::from(at == 0);
            }
            [&response[..], bytes.get(44..).unwrap_or_default()].concat()
        }
        // any payload
        1 => {
            let mut out = Vec::new();
            frame::write_packet(&mut out, &mut 1, bytes);
            out
        }
        2 => by_plugin(bytes),
        _ => bytes.to_vec(),
    };
    assert_eq!(parsed.scramble.len(), 20);
    for piece in whole.chunks(usize::from(*piece).max(1)) {
        hall.send(sock, piece);
        hall.step();
    }
    hall.end_sending(sock);
    (0..200).for_each(|_| hall.step());
    let mut heard = hall.take(sock);
    while let Framed::Packet(packet) = frame::next_packet(&heard) {
        assert_ne!(packet.payload.first(), Some(&0), "it is let in by {}", whole.escape_ascii());
        let len = packet.len;
        heard.drain(..len);
    }
    let answer = hall.ask(other, &format!("DO /*s1 q1 {WORDS} wa=0*/ 1"));
    assert_eq!(answer.first(), Some(&0), "{}", answer.escape_ascii());
}
