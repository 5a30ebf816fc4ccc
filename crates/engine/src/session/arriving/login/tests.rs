//! How often a client has to wait for an answer until it is in, and that the documentation says so.

use std::sync::Arc;

use wire::auth::rsa::{ServerKey, encrypt_password};
use wire::auth::{Plugin, native, sha2};
use wire::connect::{AuthSwitch, Greeting, HandshakeResponse, PublicKeyRequest, SslRequest};
use wire::frame::{self, HEADER_BYTES};
use wire::reply::OkPacket;
use wire::{Caps, collation_table};

use crate::ids::{ConnectionId, SessionId};
use crate::orders::Order;
use crate::proxy::{Offer, Proxy, Secured};
use crate::rows::UserRow;
use crate::session::Arrival;
use crate::snapshot::{Draft, Snapshot};

const PASSWORD: &[u8] = b"apple";
const CAPS: Caps =
    Caps::MYSQL.union(Caps::PROTOCOL_41).union(Caps::SECURE_CONNECTION).union(Caps::PLUGIN_AUTH);
const BOTH: &[Plugin] = &[Plugin::NativePassword, Plugin::CachingSha2];

/// A proxy that announces a plugin, and a client of it.
struct Scene {
    proxy: Proxy,
    /// The plugins that the client has; it begins with the announced one, or else its first.
    has: &'static [Plugin],
    announced: Plugin,
    in_tls: bool,
}

impl Scene {
    fn new(announced: Plugin, has: &'static [Plugin], stored: &[u8], in_tls: bool) -> Self {
        let plugin = ("mysql-default_authentication_plugin".into(), announced.name().into());
        let scene = Self::of(|draft| {
            draft.users[0].password = stored.to_vec();
            draft.variables.push(plugin);
        });
        Self { has, announced, in_tls, ..scene }
    }

    fn of(amend: impl FnOnce(&mut Draft)) -> Self {
        let user = UserRow { username: "ann".into(), ..UserRow::default() };
        let mut draft = Draft { users: vec![user], ..Draft::default() };
        amend(&mut draft);
        let key = ServerKey::generate().expect("a key can be made");
        let offer = Offer::new(b"8.0.11", Caps::OF_OWN_SERVERS, key);
        let snapshot = Snapshot::compile(&draft).expect("valid");
        let proxy = Proxy::new(Arc::new(snapshot), Arc::new(offer), 1, [0; 32]);
        Self { proxy, has: BOTH, announced: Plugin::NativePassword, in_tls: false }
    }

    /// A client that is greeted, in TLS if it is to be: with its challenge and the number of its
    /// next packet.
    fn arrive(&mut self) -> (SessionId, [u8; 20], u8) {
        let id = self.proxy.on_accepted(Arrival {
            client: "127.0.0.1".into(),
            client_port: 40_000,
            secure: false,
            can_have_tls: true,
            proxy: ("127.0.0.1".into(), 6033),
            connection: ConnectionId(7),
            random: *b"abcdefghijklmnopqrst",
            clients: 1,
            failed_logins: 0,
        });
        let greeting = self.heard().swap_remove(0);
        let greeting = Greeting::parse(&greeting).expect("a greeting");
        assert_eq!(greeting.plugin, self.announced.name().as_bytes());
        let mut seq = 1;
        if self.in_tls {
            let request = SslRequest { caps: CAPS.union(Caps::SSL), max_packet: 1, collation: 45 };
            self.say(id, &mut seq, |out| request.encode(out));
            let (version, cipher) = ("TLSv1.3", "TLS_AES_256_GCM_SHA384");
            let (server_name, own_digest, certificate) = (None, None, None);
            let secured = Secured { version, cipher, server_name, own_digest, certificate };
            self.proxy.on_secured(id, secured);
        }
        (id, greeting.scramble, seq)
    }

    /// How many answers a login takes; `None` where the client has not what it is asked for.
    fn log_in(&mut self) -> Option<usize> {
        let (id, scramble, mut seq) = self.arrive();
        let is_had = self.has.contains(&self.announced);
        let plugin = if is_had { self.announced } else { self.has[0] };
        let response = HandshakeResponse {
            caps: CAPS,
            max_packet: 1 << 24,
            collation: collation_table::UTF8MB4_GENERAL_CI,
            user: b"ann",
            auth_response: &answer(plugin, &scramble),
            schema: None,
            plugin: Some(plugin.name().as_bytes()),
            attributes: &[],
            zstd_level: 0,
        };
        self.say(id, &mut seq, |out| response.encode(out));
        for answers in 1.. {
            let last = self.heard().pop().expect("an answer");
            seq += 1;
            let said = match *last {
                [OkPacket::MARKER, ..] => return Some(answers),
                [AuthSwitch::MARKER, ..] => {
                    let switch = AuthSwitch::parse(&last).expect("a switch");
                    let asked = Plugin::from_name(switch.plugin);
                    let has = self.has.contains(&asked);
                    has.then(|| answer(asked, &scramble))?
                }
                [1, 4] if self.in_tls => [PASSWORD, &[0]].concat(),
                [1, 4] => PublicKeyRequest::PAYLOAD.to_vec(),
                [1, ref pem @ ..] => encrypt_password(pem, PASSWORD, &scramble).expect("a key"),
                _ => panic!("{}", String::from_utf8_lossy(&last)),
            };
            self.say(id, &mut seq, |out| out.extend_from_slice(&said));
        }
        None
    }

    fn say(&mut self, id: SessionId, seq: &mut u8, write: impl FnOnce(&mut Vec<u8>)) {
        let mut bytes = Vec::new();
        frame::write_with(&mut bytes, seq, write);
        assert_eq!(self.proxy.on_client_bytes(id, &bytes), bytes.len());
    }

    /// The packets that were sent to the client since the last time.
    fn heard(&mut self) -> Vec<Vec<u8>> {
        let orders = &mut self.proxy.orders;
        let sent = orders.list.iter().filter_map(|order| match order {
            Order::Send { range, .. } => Some(&orders.made[range.clone()]),
            _ => None,
        });
        let mut bytes = sent.collect::<Vec<_>>().concat();
        orders.clear();
        let mut packets = Vec::new();
        while !bytes.is_empty() {
            let len = usize::from(bytes[0]) | usize::from(bytes[1]) << 8;
            let rest = bytes.split_off(HEADER_BYTES + len);
            packets.push(bytes.split_off(HEADER_BYTES));
            bytes = rest;
        }
        packets
    }
}

fn answer(plugin: Plugin, scramble: &[u8; 20]) -> Vec<u8> {
    match plugin {
        Plugin::CachingSha2 => sha2::scramble(PASSWORD, scramble).to_vec(),
        _ => native::scramble(PASSWORD, scramble).to_vec(),
    }
}

/// The first login of an account and the next one, in TLS and in clear text: `3, 2 (4, 2)`.
fn answers(announced: Plugin, has: &'static [Plugin], stored: &[u8]) -> String {
    let [[first, next], in_clear] = [true, false].map(|in_tls| {
        let mut scene = Scene::new(announced, has, stored, in_tls);
        [(); 2].map(|()| scene.log_in().map_or("–".to_owned(), |count| count.to_string()))
    });
    let told = |[first, next]: &[String; 2]| match first == next {
        true => first.clone(),
        false => format!("{first}, then {next}"),
    };
    let (in_tls, in_clear) = (told(&[first, next]), told(&in_clear));
    if in_tls == in_clear { in_tls } else { format!("{in_tls} (in clear text {in_clear})") }
}

#[test]
fn a_login_takes_as_many_answers_as_the_documentation_says() {
    let native = native::to_stored(&native::double_sha1(PASSWORD)).into_bytes();
    let sha2 = sha2::make_stored_hash(PASSWORD, b"a salt of 20 letters");
    let clients: [(&str, &[Plugin]); 3] = [
        ("both", BOTH),
        ("`mysql_native_password`", &[Plugin::NativePassword]),
        ("`caching_sha2_password`", &[Plugin::CachingSha2]),
    ];
    let documentation = include_str!("../../../../../../docs/security.md");
    for announced in [Plugin::NativePassword, Plugin::CachingSha2] {
        for (name, has) in clients {
            let stored = [PASSWORD, &native, &sha2];
            let [clear, native, sha2] = stored.map(|stored| answers(announced, has, stored));
            let row =
                format!("| `{}` | {name} | {clear} | {native} | {sha2} |\n", announced.name());
            assert!(documentation.contains(&row), "{row}");
        }
    }
}

/// What a client that begins by `caching_sha2_password` is told last, and how many passwords its
/// address may show at once afterwards.
fn told(attributes: &str, in_tls: bool, password: &[u8]) -> (String, usize) {
    let mut scene = Scene::of(|draft| {
        draft.users[0].password.clear();
        draft.users[0].attributes = attributes.to_owned();
        draft.variables.push(("mysql-failed_connections_threshold".into(), "2".into()));
    });
    scene.in_tls = in_tls;
    let (id, scramble, mut seq) = scene.arrive();
    let mut auth_response = password.to_vec();
    if !password.is_empty() {
        auth_response = sha2::scramble(password, &scramble).to_vec();
    }
    // a client without an answer to the greeting waits to be asked, unless it goes by its plugin
    let plugin = if password.is_empty() { scene.announced } else { Plugin::CachingSha2 };
    let plugin = Some(plugin.name().as_bytes());
    let (schema, attributes, user): (_, &[u8], &[u8]) = (None, &[], b"ann");
    let (collation, max_packet, caps) = (collation_table::UTF8MB4_GENERAL_CI, 1 << 24, CAPS);
    let auth_response = auth_response.as_slice();
    let response = HandshakeResponse {
        caps,
        max_packet,
        collation,
        user,
        auth_response,
        schema,
        plugin,
        attributes,
        zstd_level: 0,
    };
    let [_, (who, limits)] = scene.proxy.guessers(id, b"ann").expect("it is there");
    scene.say(id, &mut seq, |out| response.encode(out));
    let mut last = scene.heard().pop().expect("an answer");
    while let [1, asked @ ..] = &*last {
        let said = match asked {
            [4] if in_tls => [password, &[0]].concat(),
            [4] => PublicKeyRequest::PAYLOAD.to_vec(),
            pem => encrypt_password(pem, password, &scramble).expect("a key"),
        };
        seq += 1;
        scene.say(id, &mut seq, |out| out.extend_from_slice(&said));
        last = scene.heard().pop().expect("an answer");
    }
    let guesses = &scene.proxy.offer.guesses;
    let left = (0..100).take_while(|_| guesses.begin(who, 0, limits).is_ok()).count();
    (String::from_utf8_lossy(&last[9..]).into_owned(), left)
}

/// In clear text, a password that only servers could prove is as wrong as any, and costs as much.
#[test]
fn a_password_for_servers_is_a_guess_in_clear_text_as_well() {
    let denied = "Access denied for user 'ann'@'127.0.0.1' (using password: YES)".to_owned();
    for attributes in [r#"{"password_from": "login"}"#, r#"{"password_from": "servers"}"#] {
        let (told, left) = told(attributes, false, b"guess");
        assert_eq!(told, denied, "{attributes}");
        assert_eq!(left, 19, "{attributes}");
    }
}

/// Who is known by a certificate has no password that could be right: not the empty one either.
#[test]
fn an_empty_password_proves_nothing_in_place_of_a_certificate() {
    let denied = "Access denied for user 'ann'@'127.0.0.1' (using password: NO)".to_owned();
    let attributes = r#"{"spiffe_id": "spiffe://example/app"}"#;
    for in_tls in [true, false] {
        assert_eq!(told(attributes, in_tls, b"").0, denied);
    }
}
