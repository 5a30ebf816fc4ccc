//! Logging in to a server: greeting, response, authentication, until the connection is ready.
//!
//! A pure machine: packets in, bytes to send out. It does not know which connection is dialled,
//! when and why.

mod passwords;
mod tls;

use std::sync::Arc;

use wire::auth::Plugin;
use wire::connect::{
    Attributes, AuthMore, AuthSwitch, CHALLENGE_BYTES, Compression, Greeting, HandshakeResponse,
    SCRAMBLE_BYTES,
};
use wire::frame::{self, Packet};
use wire::redirect;
use wire::reply::{ErrPacket, OkPacket};
use wire::{Caps, Status};

use self::passwords::Secret;
use self::tls::Channel;
use crate::link::{Charset, LinkState};
use crate::topology::LastFault;
use crate::users::{Account, PasswordRank};
use crate::vars::KeyHash;

pub use passwords::Keys;
pub use tls::ServerTls;

/// Capabilities that change what the bytes on a connection look like or mean; a session may only
/// use a lane that has exactly those its client negotiated.
///
/// `MARIADB_CACHE_METADATA` is not among them: a server that leaves out the column definitions of a
/// statement knows which ones its connection has seen, not which ones each of its sessions has.
/// Nor is `SESSION_TRACK`: each client is told as much as it asked for.
pub const CLASS: Caps = Caps::FOUND_ROWS
    .union(Caps::NO_SCHEMA)
    .union(Caps::LOCAL_FILES)
    .union(Caps::IGNORE_SPACE)
    .union(Caps::INTERACTIVE)
    .union(Caps::MULTI_STATEMENTS)
    .union(Caps::MULTI_RESULTS)
    .union(Caps::PS_MULTI_RESULTS)
    .union(Caps::DEPRECATE_EOF)
    .union(Caps::MARIADB_PROGRESS)
    .union(Caps::MARIADB_BULK)
    .union(Caps::MARIADB_EXTENDED_METADATA)
    .union(Caps::MARIADB_BULK_UNIT_RESULTS);

/// Of those, the ones that a server must have, or replies could not be relayed as they are.
const FRAMING: Caps = Caps::DEPRECATE_EOF.union(Caps::MARIADB_ALL);

const ALWAYS: Caps = Caps::PROTOCOL_41
    .union(Caps::SECURE_CONNECTION)
    .union(Caps::PLUGIN_AUTH)
    .union(Caps::CONNECT_ATTRS)
    .union(Caps::TRANSACTIONS)
    .union(Caps::LONG_FLAG);

const MAX_PACKET: u32 = 1 << 30;

/// More packets no server needs for a login, also where an account has several plugins that are
/// tried in turn: each may cost a password's derivation.
const PACKETS_MAX: u8 = 12;

/// The connection attribute that has the mark of the process which was sent elsewhere.
pub const MARK: &[u8] = b"_tidegate_mark";

enum Stage {
    ExpectGreeting,
    /// TLS was asked for; the payload that goes out in it comes next.
    ExpectTls {
        plugin: Plugin,
        scramble: [u8; SCRAMBLE_BYTES],
        seq: u8,
        response: Vec<u8>,
    },
    ExpectResult {
        plugin: Plugin,
        scramble: [u8; SCRAMBLE_BYTES],
    },
    ExpectKey {
        plugin: Plugin,
        scramble: [u8; SCRAMBLE_BYTES],
    },
    /// The salt of `parsec`.
    ExpectSalt {
        challenge: [u8; CHALLENGE_BYTES],
        scramble: [u8; SCRAMBLE_BYTES],
    },
    Over,
}

/// What to log in as, and how far it is.
pub struct BackendLogin {
    account: Arc<Account>,
    /// Which of its passwords is shown.
    shows: PasswordRank,
    /// How many of them the server has refused before.
    refusals: u8,
    class: Caps,
    schema: Option<Arc<[u8]>>,
    collation: u8,
    channel: Channel,
    keys: Keys,
    /// The server is to tell what changes in its session.
    tracks: bool,
    /// Its packets are to be compressed.
    compresses: bool,
    /// What servers show as the program.
    program: &'static str,
    /// The name to log in with, where it is not the account's.
    user: Option<Box<[u8]>>,
    /// By which this process would know itself.
    mark: Option<String>,
    caps: Caps,
    thread_id: u32,
    is_mariadb: bool,
    /// The server offers TLS, and is not asked for it.
    leaves_tls: bool,
    /// How much the server has said.
    packets: u8,
    /// What a server that goes by `parsec` has of the password.
    stored: Option<Vec<u8>>,
    stage: Stage,
}

/// What a packet led to.
#[derive(PartialEq, Eq, Debug)]
pub enum LoginStep {
    /// More packets are awaited.
    Wait,
    /// Behind what is to be sent comes TLS, and in that [`BackendLogin::respond`].
    Secure {
        /// The server may prove by the password that its certificate is its own.
        may_prove: bool,
    },
    /// The connection is ready.
    Ready {
        /// What was negotiated.
        caps: Caps,
        /// The server's id of the connection.
        thread_id: u32,
        /// The server's status flags.
        status: Status,
        /// The server is a MariaDB.
        is_mariadb: bool,
        /// The url of the place that the server would rather have the connection at.
        offered: Option<Box<[u8]>>,
    },
    /// It will not be.
    Failed {
        /// Why, in short.
        fault: LastFault,
        /// The server's error, when it sent one.
        said: Option<(u16, [u8; 5], Vec<u8>)>,
    },
    /// It will not be: the server shows a public key that it may not have.
    KeyRefused(KeyHash),
    /// It will not be: the connection is not as secure as it has to be, for that reason.
    Insecure(String),
}

fn failed(fault: LastFault) -> LoginStep {
    LoginStep::Failed { fault, said: None }
}

impl BackendLogin {
    /// A login of `account` with the capability class of a client; `secure` where nobody can listen
    /// in.
    pub fn new(
        account: Arc<Account>,
        class: Caps,
        schema: Option<Arc<[u8]>>,
        collation: u8,
        secure: bool,
    ) -> Self {
        let stage = Stage::ExpectGreeting;
        Self {
            account,
            shows: PasswordRank::Primary,
            refusals: 0,
            class,
            schema,
            collation,
            channel: if secure { Channel::Local } else { Channel::Plain },
            keys: Keys::Only(Vec::new()),
            tracks: true,
            compresses: false,
            program: "tidegate",
            user: None,
            mark: None,
            caps: Caps::NONE,
            thread_id: 0,
            is_mariadb: false,
            leaves_tls: false,
            packets: 0,
            stored: None,
            stage,
        }
    }

    /// The same without being told what changes in the server's session.
    #[must_use]
    pub fn untracked(self) -> Self {
        Self { tracks: false, ..self }
    }

    /// The same with another program's name for servers to show.
    #[must_use]
    pub fn named(self, program: &'static str) -> Self {
        Self { program, ..self }
    }

    /// The same, where a password may be encrypted with these keys of the server.
    #[must_use]
    pub fn trusting(self, keys: Keys) -> Self {
        Self { keys, ..self }
    }

    /// The same in TLS.
    #[must_use]
    pub fn in_tls(self) -> Self {
        Self { channel: Channel::Wanted, ..self }
    }

    /// The same with compressed packets, where the server has these.
    #[must_use]
    pub fn compressed(self) -> Self {
        Self { compresses: true, ..self }
    }

    /// The same at a place that the server sent it to: with the name to use there, if it is
    /// another one, and a mark by which this process would know itself.
    #[must_use]
    pub fn sent_to(self, user: Option<Box<[u8]>>, mark: String) -> Self {
        Self { user, mark: Some(mark), ..self }
    }

    /// Whether the server has said anything.
    pub fn has_heard(&self) -> bool {
        self.packets > 0
    }

    /// Whether the server may have got what is shown of the password.
    pub fn has_shown(&self) -> bool {
        let has_responded =
            !matches!(self.stage, Stage::ExpectGreeting | Stage::ExpectTls { .. } | Stage::Over);
        has_responded && self.channel != Channel::Wanted
    }

    /// Whether what the server says of another place is heard at all.
    pub fn hears_offers(&self) -> bool {
        self.tracks
    }

    /// Whose login it is.
    pub fn account(&self) -> &Arc<Account> {
        &self.account
    }

    /// The capability class it was made for.
    pub fn class(&self) -> Caps {
        self.class
    }

    /// The collation that it asks for.
    pub fn collation(&self) -> u8 {
        self.collation
    }

    /// The state that the connection will have, as far as it is known before.
    pub fn state(&self) -> LinkState {
        let charset = Charset::Collation(u16::from(self.collation));
        LinkState::new(self.schema.clone(), charset)
    }

    /// Takes a whole packet and appends what is to be sent.
    pub fn on_packet(&mut self, packet: &Packet<'_>, out: &mut Vec<u8>) -> LoginStep {
        if ErrPacket::is(packet.payload) {
            return refused(packet.payload);
        }
        self.packets += 1;
        if self.packets > PACKETS_MAX {
            return failed(LastFault::Protocol);
        }
        let seq = packet.seq.wrapping_add(1);
        match std::mem::replace(&mut self.stage, Stage::Over) {
            Stage::ExpectGreeting => self.on_greeting(packet.payload, seq, out),
            // nothing comes in front of the answer to what is sent in TLS
            _ if self.channel == Channel::Wanted => failed(LastFault::Protocol),
            Stage::ExpectResult { plugin, scramble } => {
                self.on_result(packet.payload, seq, plugin, scramble, out)
            }
            Stage::ExpectKey { plugin, scramble } => {
                self.on_key(packet.payload, seq, plugin, scramble, out)
            }
            Stage::ExpectSalt { challenge, scramble } => {
                self.on_salt(packet.payload, seq, challenge, scramble, out)
            }
            Stage::ExpectTls { .. } | Stage::Over => failed(LastFault::Protocol),
        }
    }

    fn on_greeting(&mut self, payload: &[u8], mut seq: u8, out: &mut Vec<u8>) -> LoginStep {
        let Ok(greeting) = Greeting::parse(payload) else { return failed(LastFault::Protocol) };
        let class = self.class.intersect(CLASS);
        if !greeting.caps.contains(class.intersect(FRAMING)) {
            return failed(LastFault::Capability);
        }
        let mut asked = class.union(ALWAYS);
        if self.tracks {
            asked = asked.union(Caps::SESSION_TRACK);
        }
        if self.compresses {
            asked = asked.union(compression_of(greeting.caps));
        }
        if self.channel == Channel::Wanted {
            if !greeting.caps.contains(Caps::SSL) {
                return LoginStep::Insecure("the server offers no TLS".to_owned());
            }
            asked = asked.union(Caps::SSL);
        }
        let mut caps = asked.intersect(greeting.caps);
        if !class.intersects(Caps::MARIADB_ALL) {
            caps = caps.union(Caps::MYSQL);
        }
        let plugin = match Plugin::from_name(greeting.plugin) {
            Plugin::CachingSha2 if !matches!(self.secret(), Secret::Sha1(_)) => Plugin::CachingSha2,
            _ => Plugin::NativePassword,
        };
        let Some(auth) = self.response(plugin, &greeting.scramble) else {
            return failed(LastFault::NoPassword);
        };
        let mut attributes = Vec::new();
        if caps.contains(Caps::CONNECT_ATTRS) {
            Attributes::push(&mut attributes, b"_client_name", b"tidegate");
            Attributes::push(&mut attributes, b"program_name", self.program.as_bytes());
            if let Some(mark) = &self.mark {
                Attributes::push(&mut attributes, MARK, mark.as_bytes());
            }
        }
        let response = HandshakeResponse {
            caps,
            max_packet: MAX_PACKET,
            collation: self.collation,
            user: self.user.as_deref().unwrap_or(self.account.told_to_servers().as_bytes()),
            auth_response: &auth,
            schema: self.schema.as_deref(),
            plugin: Some(plugin.name().as_bytes()),
            attributes: &attributes,
            zstd_level: Compression::ZSTD_LEVEL,
        };
        self.caps = caps;
        self.thread_id = greeting.connection_id;
        // both came with the same version of MariaDB
        self.is_mariadb = greeting.caps.contains(Caps::MARIADB_BULK);
        self.leaves_tls = greeting.caps.contains(Caps::SSL) && self.channel == Channel::Plain;
        let scramble = greeting.scramble;
        if self.channel == Channel::Wanted {
            let mut payload = Vec::new();
            let may_prove = greeting.is_mariadb() && self.can_be_proved(plugin);
            // a MariaDB proves nothing to clients of MySQL
            let caps = if may_prove { caps.without(Caps::MYSQL) } else { caps };
            HandshakeResponse { caps, ..response }.encode(&mut payload);
            return self.ask_for_tls((plugin, scramble), seq, payload, may_prove, out);
        }
        frame::write_with(out, &mut seq, |payload| response.encode(payload));
        self.stage = Stage::ExpectResult { plugin, scramble };
        LoginStep::Wait
    }

    fn on_result(
        &mut self,
        payload: &[u8],
        seq: u8,
        plugin: Plugin,
        scramble: [u8; SCRAMBLE_BYTES],
        out: &mut Vec<u8>,
    ) -> LoginStep {
        match payload.first() {
            Some(&OkPacket::MARKER) => self.on_ok(payload, plugin, &scramble),
            Some(&AuthSwitch::MARKER) => match AuthSwitch::parse(payload) {
                Ok(switch) => self.on_switch(&switch, seq, scramble, out),
                Err(_) => failed(LastFault::Protocol),
            },
            Some(&AuthMore::MARKER) if plugin == Plugin::CachingSha2 => {
                self.on_more(payload, seq, scramble, out)
            }
            _ => failed(LastFault::Protocol),
        }
    }

    fn on_ok(
        &mut self,
        payload: &[u8],
        plugin: Plugin,
        scramble: &[u8; SCRAMBLE_BYTES],
    ) -> LoginStep {
        match OkPacket::parse(payload, self.caps) {
            Ok(ok) if !self.is_proved(ok.info, plugin, scramble) => {
                LoginStep::Insecure(self.unproved())
            }
            Ok(ok) => LoginStep::Ready {
                caps: self.caps,
                thread_id: self.thread_id,
                status: ok.status,
                is_mariadb: self.is_mariadb,
                offered: redirect::offered(&ok).map(|url| cut(url).into()),
            },
            Err(_) => failed(LastFault::Protocol),
        }
    }
}

/// What is asked of a server that can do these: zstd is the quicker one.
fn compression_of(offered: Caps) -> Caps {
    match offered.contains(Caps::ZSTD) {
        true => Caps::ZSTD,
        false => offered.intersect(Caps::COMPRESS),
    }
}

/// As much of a url as tells whether it is too long.
fn cut(url: &[u8]) -> &[u8] {
    url.get(..=redirect::URL_BYTES_MAX).unwrap_or(url)
}

fn refused(payload: &[u8]) -> LoginStep {
    let Ok(err) = ErrPacket::parse(payload) else { return failed(LastFault::Protocol) };
    LoginStep::Failed {
        fault: LastFault::Server(u32::from(err.code)),
        said: Some((err.code, err.sqlstate, err.message.to_vec())),
    }
}

#[cfg(test)]
mod tests;
