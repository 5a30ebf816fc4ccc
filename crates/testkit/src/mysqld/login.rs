//! How a fake server lets somebody in: both password plugins, a switch between them, and the
//! refusals that MySQL has.

use wire::auth::{native, sha2};
use wire::connect::{AuthMore, AuthSwitch, Greeting, HandshakeResponse};
use wire::frame;
use wire::reply::{ErrPacket, OkPacket, write_auth_more, write_auth_switch, write_err, write_ok};
use wire::{Caps, Status};

use super::Reaction;
use super::conn::Conn;
use crate::board::Board;

/// The accounts of every simulation: name and password.
pub(crate) const ACCOUNTS: [(&str, &str); 4] =
    [("ann", "apple"), ("bob", "banana"), ("cat", ""), ("fay", "fig")];

/// The schemas that exist on every server.
pub(crate) const SCHEMAS: [&str; 3] = ["one", "two", "three"];

const NATIVE: &[u8] = b"mysql_native_password";
const SHA2: &[u8] = b"caching_sha2_password";

/// A login that is not over.
#[derive(Debug)]
pub(super) struct MysqldLogin {
    sha2: bool,
    /// Asks for the other plugin once.
    switches: bool,
    response: Option<Response>,
}

#[derive(Debug)]
struct Response {
    user: String,
    schema: String,
    collation: u8,
}

impl MysqldLogin {
    pub(super) fn new(sha2: bool, switches: bool) -> Self {
        Self { sha2, switches, response: None }
    }
}

/// What somebody gets in place of a greeting where there is no room.
pub(super) fn too_many() -> Vec<u8> {
    let mut out = Vec::new();
    frame::write_with(&mut out, &mut 0, |payload| {
        payload.push(ErrPacket::MARKER);
        payload.extend_from_slice(&1040_u16.to_le_bytes());
        payload.extend_from_slice(b"Too many connections");
    });
    out
}

/// What fake servers can do.
pub(crate) fn server_caps() -> Caps {
    engine::backend::CLASS
        .union(Caps::PROTOCOL_41)
        .union(Caps::SECURE_CONNECTION)
        .union(Caps::PLUGIN_AUTH)
        .union(Caps::PLUGIN_AUTH_LENENC)
        .union(Caps::CONNECT_ATTRS)
        .union(Caps::CONNECT_WITH_DB)
        .union(Caps::TRANSACTIONS)
        .union(Caps::LONG_FLAG)
        .union(Caps::SESSION_TRACK)
}

impl Conn {
    pub(super) fn greeting(&self) -> Vec<u8> {
        let sha2 = self.login.as_ref().is_some_and(|login| login.sha2);
        let greeting = Greeting {
            server_version: b"10.11.6-MariaDB-simulated",
            connection_id: self.thread,
            scramble: self.scramble,
            caps: server_caps(),
            collation: wire::collation_table::UTF8MB4_GENERAL_CI,
            status: Status::AUTOCOMMIT,
            plugin: if sha2 { SHA2 } else { NATIVE },
        };
        let mut out = Vec::new();
        frame::write_with(&mut out, &mut 0, |payload| greeting.encode(payload));
        out
    }

    pub(super) fn on_login(&mut self, payload: &[u8], seq: u8, board: &mut Board) -> Reaction {
        let mut seq = seq.wrapping_add(1);
        let Some(login) = &mut self.login else { return Reaction::Close };
        if login.response.is_some() {
            let right = native_is_right(&self.scramble, login, payload);
            return self.admit(right, Vec::new(), seq, board);
        }
        let Ok(response) = HandshakeResponse::parse(payload) else {
            board.wrong("the proxy's handshake response cannot be read".into());
            return Reaction::Close;
        };
        self.caps = response.caps;
        let plugin = response.plugin.unwrap_or(NATIVE);
        login.response = Some(Response {
            user: String::from_utf8_lossy(response.user).into(),
            schema: String::from_utf8_lossy(response.schema.unwrap_or_default()).into(),
            collation: response.collation,
        });
        let mut out = Vec::new();
        if login.switches && plugin == NATIVE {
            self.scramble.reverse();
            let data = self.scramble;
            let switch = AuthSwitch { plugin: NATIVE, data: &data };
            write_auth_switch(&mut out, &mut seq, &switch);
            board.count("server: auth switch");
            return Reaction::Reply(out);
        }
        let right = match plugin {
            SHA2 => {
                write_auth_more(&mut out, &mut seq, &[AuthMore::FAST_OK]);
                sha2_is_right(&self.scramble, login, response.auth_response)
            }
            _ => native_is_right(&self.scramble, login, response.auth_response),
        };
        self.admit(right, out, seq, board)
    }

    fn admit(&mut self, right: bool, mut out: Vec<u8>, mut seq: u8, board: &mut Board) -> Reaction {
        let Some(login) = self.login.take() else { return Reaction::Close };
        let Some(response) = login.response else { return Reaction::Close };
        if !right {
            board.wrong(format!("the proxy logs in as {} wrongly", response.user));
            return Reaction::Close;
        }
        if !response.schema.is_empty() && !SCHEMAS.contains(&response.schema.as_str()) {
            let message = format!("Unknown database '{}'", response.schema);
            let err = ErrPacket { code: 1049, sqlstate: *b"42000", message: message.as_bytes() };
            write_err(&mut out, &mut seq, &err);
            // the connection is of no use; whoever made it closes it
            self.login = Some(MysqldLogin::new(false, false));
            return Reaction::Reply(out);
        }
        board.count("server: login");
        self.user = response.user;
        self.schema = response.schema;
        self.collation = response.collation.into();
        let ok = OkPacket { status: self.status(), ..OkPacket::default() };
        write_ok(&mut out, &mut seq, self.caps, &ok);
        Reaction::Reply(out)
    }
}

fn password(login: &MysqldLogin) -> Option<&'static str> {
    let user = &login.response.as_ref()?.user;
    ACCOUNTS.iter().find(|(name, _)| name == user).map(|(_, password)| *password)
}

fn native_is_right(scramble: &[u8; 20], login: &MysqldLogin, response: &[u8]) -> bool {
    password(login).is_some_and(|password| match password {
        "" => response.is_empty(),
        _ => response == native::scramble(password.as_bytes(), scramble),
    })
}

fn sha2_is_right(scramble: &[u8; 20], login: &MysqldLogin, response: &[u8]) -> bool {
    password(login).is_some_and(|password| match password {
        "" => response.is_empty(),
        _ => response == sha2::scramble(password.as_bytes(), scramble),
    })
}
