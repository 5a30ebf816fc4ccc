//! How simulated clients log in: rightly, wrongly, or with nonsense. Knows the protocol's packets;
//! what follows the login is not known here.

use wire::auth::{native, sha2};
use wire::connect::{AuthMore, AuthSwitch, Greeting, HandshakeResponse};
use wire::frame;
use wire::reply::ErrPacket;
use wire::{Caps, Status};

use crate::dice::Dice;
use crate::mysqld::login::{ACCOUNTS, SCHEMAS};

/// Who a client is in one of its stays.
#[derive(Clone, Debug)]
pub(super) struct Persona {
    pub(super) user: String,
    pub(super) password: String,
    /// The login must be refused.
    pub(super) impostor: bool,
    pub(super) schema: String,
    /// No such schema.
    pub(super) lost: bool,
    pub(super) collation: u8,
    pub(super) caps: Caps,
    sha2: bool,
    /// It answers the greeting with nonsense.
    pub(super) garbled: bool,
}

const CHOICES: [Caps; 8] = [
    Caps::DEPRECATE_EOF,
    Caps::SESSION_TRACK,
    Caps::MULTI_RESULTS,
    Caps::PS_MULTI_RESULTS,
    Caps::LOCAL_FILES,
    Caps::FOUND_ROWS,
    Caps::MULTI_STATEMENTS,
    Caps::INTERACTIVE,
];
const MARIADB_CHOICES: [Caps; 2] = [Caps::MARIADB_BULK, Caps::MARIADB_EXTENDED_METADATA];

/// The capabilities that every client has.
pub(super) const ALWAYS: Caps = Caps::PROTOCOL_41
    .union(Caps::SECURE_CONNECTION)
    .union(Caps::PLUGIN_AUTH)
    .union(Caps::TRANSACTIONS)
    .union(Caps::LONG_FLAG)
    .union(Caps::CONNECT_WITH_DB);

impl Persona {
    pub(super) fn new(dice: &mut Dice) -> Self {
        // few kinds, so that connections can be shared
        let (user, password) = match dice.below(10) {
            0..=5 => ACCOUNTS[0],
            6 | 7 => ACCOUNTS[1],
            8 => ACCOUNTS[2],
            _ => ACCOUNTS[3],
        };
        let mut caps = ALWAYS;
        let mariadb = dice.percent(40);
        if dice.percent(60) {
            caps = caps.union(Caps::DEPRECATE_EOF).union(Caps::MULTI_RESULTS);
            caps = caps.union(Caps::LOCAL_FILES);
        } else {
            for choice in CHOICES {
                caps = if dice.percent(50) { caps.union(choice) } else { caps };
            }
            for choice in MARIADB_CHOICES {
                caps = if mariadb && dice.percent(50) { caps.union(choice) } else { caps };
            }
        }
        if !mariadb {
            caps = caps.union(Caps::MYSQL);
        }
        let impostor = dice.percent(4);
        let lost = !impostor && user != "fay" && dice.percent(2);
        let schema = match dice.percent(20) {
            _ if lost => "nowhere",
            true => "",
            false => SCHEMAS[dice.index(2)],
        };
        Self {
            user: if impostor && dice.percent(50) { "nobody".into() } else { user.into() },
            password: if impostor { "wrong".into() } else { password.into() },
            impostor,
            schema: schema.into(),
            lost,
            collation: *dice.pick(&[45, 45, 45, 8, 33]),
            caps,
            sha2: dice.percent(20),
            garbled: dice.percent(2),
        }
    }

    /// One of many that are alike, so that their commands travel together.
    pub(super) fn of_crowd(dice: &mut Dice) -> Self {
        let (user, password) = ACCOUNTS[0];
        let caps = ALWAYS.union(Caps::DEPRECATE_EOF).union(Caps::MULTI_RESULTS).union(Caps::MYSQL);
        Self {
            user: user.into(),
            password: password.into(),
            impostor: false,
            schema: SCHEMAS[0].into(),
            lost: false,
            collation: wire::collation_table::UTF8MB4_GENERAL_CI,
            caps,
            sha2: dice.percent(20),
            garbled: false,
        }
    }

    fn response(&self, sha2: bool, scramble: &[u8; 20]) -> Vec<u8> {
        match self.password.as_bytes() {
            b"" => Vec::new(),
            password if sha2 => sha2::scramble(password, scramble).to_vec(),
            password => native::scramble(password, scramble).to_vec(),
        }
    }

    /// The answer to a greeting.
    pub(super) fn respond(&self, greeting: &Greeting<'_>) -> Vec<u8> {
        let plugin: &[u8] =
            if self.sha2 { b"caching_sha2_password" } else { b"mysql_native_password" };
        let response = HandshakeResponse {
            caps: self.caps,
            max_packet: 1 << 24,
            collation: self.collation,
            user: self.user.as_bytes(),
            auth_response: &self.response(self.sha2, &greeting.scramble),
            schema: Some(self.schema.as_bytes()).filter(|schema| !schema.is_empty()),
            plugin: Some(plugin),
            attributes: &[],
            zstd_level: 0,
        };
        let mut out = Vec::new();
        frame::write_with(&mut out, &mut 1, |payload| response.encode(payload));
        out
    }
}

/// What a packet of the server's means during an authentication.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum AuthStep {
    /// Nothing yet.
    Wait,
    /// This is to be sent.
    Answer(Vec<u8>),
    /// It is over, with this status.
    Welcome(Status),
    /// It is refused.
    Refused(u16),
    /// It cannot be understood.
    Nonsense,
}

/// Reads a packet of an authentication with a password.
pub(super) fn step(payload: &[u8], seq: u8, password: &str, caps: Caps) -> AuthStep {
    match payload.first() {
        Some(&0) => match wire::reply::OkPacket::parse(payload, caps) {
            Ok(ok) => AuthStep::Welcome(ok.status),
            Err(_) => AuthStep::Nonsense,
        },
        Some(&ErrPacket::MARKER) => match ErrPacket::parse(payload) {
            Ok(err) => AuthStep::Refused(err.code),
            Err(_) => AuthStep::Nonsense,
        },
        Some(&AuthSwitch::MARKER) => {
            let Ok(switch) = AuthSwitch::parse(payload) else { return AuthStep::Nonsense };
            let Ok(scramble) = switch.scramble() else { return AuthStep::Nonsense };
            let sha2 = switch.plugin == b"caching_sha2_password";
            let response = match password.as_bytes() {
                b"" => Vec::new(),
                password if sha2 => sha2::scramble(password, &scramble).to_vec(),
                password => native::scramble(password, &scramble).to_vec(),
            };
            let mut out = Vec::new();
            frame::write_packet(&mut out, &mut seq.wrapping_add(1), &response);
            AuthStep::Answer(out)
        }
        Some(&AuthMore::MARKER) if payload.get(1) == Some(&AuthMore::FAST_OK) => AuthStep::Wait,
        _ => AuthStep::Nonsense,
    }
}
