//! Who the client is: greeting, password exchange, COM_CHANGE_USER.
//!
//! The server knows its users' passwords, so `caching_sha2_password` always takes the fast path.
//! Which users there are is `ServerOptions`' business.

use wire::auth::{Plugin, native, sha2};
use wire::connect::{AuthMore, AuthSwitch, ChangeUser, Greeting, HandshakeResponse, SslRequest};
use wire::{Caps, Status, reply};

use super::Session;
use crate::facts::Server;
use crate::fault::Fault;
use crate::options::User;
use crate::store::Store;

/// The plugin that the greeting names.
const GREETED: Plugin = Plugin::NativePassword;

/// A client that has not proved its password yet.
#[derive(Debug, Default)]
pub(super) struct Exchange {
    scramble: [u8; 20],
    /// The user whose answer to an authentication switch is awaited.
    switched: Option<Claim>,
}

/// Who the client says it is.
#[derive(Clone, Debug)]
struct Claim {
    user: String,
    schema: String,
    /// Whether a session is there already, to be begun anew.
    change: bool,
}

impl Exchange {
    /// An exchange by this nonce.
    pub(super) fn new(scramble: [u8; 20]) -> Self {
        Self { scramble, switched: None }
    }
}

impl Session {
    /// The first packet.
    pub(crate) fn greet(&mut self, out: &mut Vec<u8>) {
        let greeting = Greeting {
            server_version: Server::VERSION.as_bytes(),
            connection_id: self.work.facts.connection_id,
            scramble: self.exchange.scramble,
            caps: Caps::OF_OWN_SERVERS,
            collation: wire::collation_table::UTF8MB4_GENERAL_CI,
            status: Status::AUTOCOMMIT,
            plugin: GREETED.name().as_bytes(),
        };
        self.seq = 0;
        wire::frame::write_with(out, &mut self.seq, |out| greeting.encode(out));
    }

    /// A packet of the exchange. An error ends the connection.
    pub(super) fn on_credentials(
        &mut self,
        store: &mut Store,
        payload: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), Fault> {
        if let Some(claim) = self.exchange.switched.take() {
            return self.verify(store, claim, payload, out);
        }
        if SslRequest::parse(payload).is_some() {
            return Err(bad_handshake());
        }
        let response = HandshakeResponse::parse(payload).map_err(|_| bad_handshake())?;
        self.caps = response.caps.intersect(Caps::OF_OWN_SERVERS);
        let claim = Claim {
            user: String::from_utf8_lossy(response.user).into_owned(),
            schema: String::from_utf8_lossy(response.schema.unwrap_or_default()).into_owned(),
            change: false,
        };
        let plugin = response.plugin.map_or(Plugin::NativePassword, Plugin::from_name);
        self.judge(store, claim, plugin, response.auth_response, out)
    }

    /// COM_CHANGE_USER: the nonce of the connection still holds.
    pub(super) fn on_change_user(
        &mut self,
        store: &mut Store,
        payload: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), Fault> {
        let change = ChangeUser::parse(payload, self.caps).map_err(|_| Fault::malformed())?;
        let claim = Claim {
            user: String::from_utf8_lossy(change.user).into_owned(),
            schema: String::from_utf8_lossy(change.schema).into_owned(),
            change: true,
        };
        let plugin = change.plugin.map_or(Plugin::NativePassword, Plugin::from_name);
        self.judge(store, claim, plugin, change.auth_response, out)
    }

    /// Verifies the answer, or asks for the one of the user's own plugin.
    fn judge(
        &mut self,
        store: &mut Store,
        claim: Claim,
        plugin: Plugin,
        answer: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), Fault> {
        let wanted = self.user(&claim.user).map_or(Plugin::NativePassword, |user| user.plugin);
        // as MySQL's: an answer counts only if it is to the plugin of the greeting, for clients
        // that prefer another one send none yet
        if plugin == wanted && wanted == GREETED {
            return self.verify(store, claim, answer, out);
        }
        if !self.caps.contains(Caps::PLUGIN_AUTH) {
            return Err(self.denied(&claim, answer));
        }
        let switch = AuthSwitch { plugin: wanted.name().as_bytes(), data: &self.exchange.scramble };
        reply::write_auth_switch(out, &mut self.seq, &switch);
        self.exchange.switched = Some(claim);
        self.authenticating = true;
        Ok(())
    }

    fn verify(
        &mut self,
        store: &mut Store,
        claim: Claim,
        answer: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), Fault> {
        let scramble = &self.exchange.scramble;
        let proved = self.user(&claim.user).map(|user| {
            let password = user.password.as_bytes();
            // clients of some plugins say nothing by a lone NUL
            let silent = answer.is_empty() || answer == [0];
            let right = match user.plugin {
                _ if password.is_empty() || silent => password.is_empty() && silent,
                Plugin::CachingSha2 => sha2::verify_fast(answer, scramble, password),
                _ => native::verify(answer, scramble, &native::double_sha1(password)).is_some(),
            };
            (right, user.superuser, user.plugin, silent)
        });
        let Some((true, superuser, plugin, silent)) = proved else {
            return Err(self.denied(&claim, answer));
        };
        if plugin == Plugin::CachingSha2 && !silent {
            reply::write_auth_more(out, &mut self.seq, &[AuthMore::FAST_OK]);
        }
        if claim.change {
            self.begin_anew(store);
        }
        self.work.facts.user = claim.user;
        self.work.facts.superuser = superuser;
        self.work.facts.schema = None;
        if !claim.schema.is_empty() {
            self.work.use_schema(&claim.schema)?;
        }
        self.authenticating = false;
        self.write_done(0, 0, out);
        Ok(())
    }

    fn user(&self, name: &str) -> Option<&User> {
        self.work.facts.server.options.users.iter().find(|user| user.name == name)
    }

    fn denied(&self, claim: &Claim, answer: &[u8]) -> Fault {
        Fault::access_denied(&claim.user, &self.work.facts.host, !answer.is_empty())
    }
}

fn bad_handshake() -> Fault {
    Fault::new(1043, b"08S01", "Bad handshake")
}
