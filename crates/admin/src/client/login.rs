//! Who the client is: greeting, password, and from where an account may come.
//!
//! How long a refusal is held back is the service's business.

use engine::vars::Vars;
use wire::auth::{Plugin, native, nonce_of, sha2};
use wire::connect::{AuthMore, AuthSwitch, ChangeUser, Greeting, HandshakeResponse};
use wire::{Caps, reply};

use super::{Client, Next, Statements};
use crate::admin::{Admin, Role, Session};
use crate::database::random;
use crate::fault::AdminFault;

/// How far a client has come.
pub(super) enum Stage {
    /// It has the nonce.
    Greeted {
        /// The nonce.
        scramble: [u8; 20],
    },
    /// It was asked for an answer by the plugin of its claim.
    Asked {
        /// The nonce.
        scramble: [u8; 20],
        /// Who it says it is.
        claim: Claim,
    },
    /// It has answered, and that is not judged yet.
    Answered {
        /// The nonce.
        scramble: [u8; 20],
        /// Who it says it is.
        claim: Claim,
        /// What shows that it knows the password, or does not.
        answer: Vec<u8>,
    },
    /// It has proved who it is.
    In,
    /// It was refused: nothing is heard of it any more.
    Out,
}

/// Who the client says it is.
pub(super) struct Claim {
    user: String,
    schema: String,
    /// The plugin that its answer is by.
    plugin: Plugin,
}

/// An account of the interface.
struct Account {
    role: Role,
    password: String,
    /// Whether it may come from this machine only.
    local_only: bool,
}

impl Client {
    pub(super) fn write_greeting(&mut self, admin: &Admin, scramble: [u8; 20], out: &mut Vec<u8>) {
        let told = admin.variable("mysql-server_version");
        let version = if told.is_empty() { Vars::FALLBACK_VERSION } else { &told };
        let greeting = Greeting {
            server_version: version.as_bytes(),
            connection_id: self.id,
            scramble,
            caps: Caps::OF_OWN_SERVERS,
            collation: wire::collation_table::UTF8MB4_GENERAL_CI,
            status: super::STATUS,
            plugin: Plugin::NativePassword.name().as_bytes(),
        };
        wire::frame::write_with(out, &mut self.seq, |out| greeting.encode(out));
    }

    /// A packet of a client that is not in.
    pub(super) fn on_credentials(
        &mut self,
        stage: Stage,
        payload: &[u8],
        out: &mut Vec<u8>,
    ) -> Next {
        let scramble = match stage {
            Stage::Greeted { scramble } => scramble,
            Stage::Asked { scramble, claim } => {
                return self.answered(scramble, claim, payload);
            }
            // it has to wait for its answer
            Stage::Answered { .. } | Stage::In | Stage::Out => return Next::Close,
        };
        let Ok(response) = HandshakeResponse::parse(payload) else {
            self.write_fault(&AdminFault::new(1043, *b"08S01", "Bad handshake"), out);
            return Next::Close;
        };
        self.caps = response.caps.intersect(Caps::OF_OWN_SERVERS);
        let claim = Claim {
            user: String::from_utf8_lossy(response.user).into_owned(),
            schema: String::from_utf8_lossy(response.schema.unwrap_or_default()).into_owned(),
            plugin: asked_by(response.plugin),
        };
        match response.plugin.map_or(Plugin::NativePassword, Plugin::from_name) {
            Plugin::NativePassword => self.answered(scramble, claim, response.auth_response),
            // a client that has no native passwords any more asks by its plugin
            _ if self.caps.contains(Caps::PLUGIN_AUTH) => self.switch(scramble, claim, out),
            _ => self.refuse(&claim.user, "its plugin is not supported", out),
        }
    }

    /// COM_CHANGE_USER: the exchange begins anew, with a nonce of its own.
    pub(super) fn change_user(&mut self, payload: &[u8], out: &mut Vec<u8>) -> Next {
        let (Ok(command), Ok(bytes)) = (ChangeUser::parse(payload, self.caps), random::<20>())
        else {
            self.write_fault(&AdminFault::new(1835, *b"HY000", "Malformed packet"), out);
            return Next::Go;
        };
        if !self.caps.contains(Caps::PLUGIN_AUTH) {
            self.write_fault(&AdminFault::new(1047, *b"08S01", "Unknown command"), out);
            return Next::Go;
        }
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let claim = Claim {
            user: text(command.user),
            schema: text(command.schema),
            plugin: asked_by(command.plugin),
        };
        self.statements = Statements::default();
        self.switch(nonce_of(bytes), claim, out)
    }

    /// Asks for an answer by the plugin of the claim.
    fn switch(&mut self, scramble: [u8; 20], claim: Claim, out: &mut Vec<u8>) -> Next {
        let plugin = claim.plugin.name().as_bytes();
        reply::write_auth_switch(out, &mut self.seq, &AuthSwitch { plugin, data: &scramble });
        self.stage = Stage::Asked { scramble, claim };
        Next::Go
    }

    fn answered(&mut self, scramble: [u8; 20], claim: Claim, answer: &[u8]) -> Next {
        self.stage = Stage::Answered { scramble, claim, answer: answer.to_vec() };
        Next::Judge
    }

    /// Judges the answer of a client that has given one.
    pub(crate) fn judge(&mut self, admin: &Admin, out: &mut Vec<u8>) -> Next {
        let Stage::Answered { scramble, claim, answer } =
            std::mem::replace(&mut self.stage, Stage::Out)
        else {
            return Next::Close;
        };
        self.verify(admin, &scramble, &claim, &answer, out)
    }

    fn verify(
        &mut self,
        admin: &Admin,
        scramble: &[u8; 20],
        claim: &Claim,
        answer: &[u8],
        out: &mut Vec<u8>,
    ) -> Next {
        let Claim { user, schema, plugin } = claim;
        let by_sha2 = *plugin == Plugin::CachingSha2;
        let Some(account) = find(admin, user) else {
            return self.refuse(user, "there is no such account", out);
        };
        // clients of some plugins say nothing by a lone NUL
        let silent = answer.is_empty() || answer == [0];
        let password = account.password.as_bytes();
        let right = match native::parse_stored(password) {
            _ if password.is_empty() || silent => password.is_empty() && silent,
            Some(double) if !by_sha2 => native::verify(answer, scramble, &double).is_some(),
            None if by_sha2 => sha2::verify_fast(answer, scramble, password),
            None => {
                let double = native::double_sha1(password);
                native::verify(answer, scramble, &double).is_some()
            }
            // nothing can be said of a hash of another kind
            Some(_) => false,
        };
        if !right {
            return self.refuse(user, "its password is wrong", out);
        }
        if account.local_only && !self.local {
            // whoever guesses from elsewhere is not told that the guess was right
            return self.refuse(user, "it may only connect locally", out);
        }
        if by_sha2 && !silent {
            reply::write_auth_more(out, &mut self.seq, &[AuthMore::FAST_OK]);
        }
        self.stage = Stage::In;
        self.session = Session::new(account.role, user, self.id);
        if !schema.is_empty() {
            self.session.schema = schema.clone();
        }
        self.write_done(out);
        Next::Welcome
    }

    /// One answer for everything, so that accounts cannot be guessed.
    fn refuse(&mut self, user: &str, why: &str, out: &mut Vec<u8>) -> Next {
        let message = format!(
            "ProxySQL Error: Access denied for user '{user}'@'{}' (using password: YES)",
            self.from
        );
        self.write_fault(&AdminFault::refused(message), out);
        Next::Refused { user: user.to_owned(), why: why.to_owned() }
    }
}

/// The plugin to ask a client by that named one, or none.
fn asked_by(named: Option<&[u8]>) -> Plugin {
    match named.map(Plugin::from_name) {
        Some(Plugin::CachingSha2) => Plugin::CachingSha2,
        _ => Plugin::NativePassword,
    }
}

/// The account of a name, as variables in force have it.
fn find(admin: &Admin, user: &str) -> Option<Account> {
    let monitor = admin.variable("mysql-monitor_username");
    let local_only = user == "admin" || user == "stats" || user == monitor;
    let listed = |name: &str, role: Role| {
        let list = admin.variable(name);
        let found = list.split(';').filter_map(|account| account.split_once(':'));
        let password = found.into_iter().find(|(name, _)| *name == user)?.1.to_owned();
        Some(Account { role, password, local_only })
    };
    listed("admin-admin_credentials", Role::Administrator)
        .or_else(|| listed("admin-stats_credentials", Role::Reader))
        .or_else(|| {
            let password = admin.variable("mysql-monitor_password");
            let known = !user.is_empty() && user == monitor;
            known.then_some(Account { role: Role::Reader, password, local_only })
        })
}
