//! The identity of the client: greeting, password, and its proof.
//!
//! When a proof is judged, and how long a refusal is held back, is for the owner of the
//! connection to say: [`Next::Judge`] asks for it. `caching_sha2_password` takes the fast path, but
//! for a password that is stored as its hash: the client shows that one itself.

use wire::auth::{Plugin, native, sha2};
use wire::connect::{AuthMore, AuthSwitch, ChangeUser, Greeting, HandshakeResponse};
use wire::connect::{PublicKeyRequest, SslRequest};
use wire::{Caps, Status, reply};

use crate::connection::{Connection, Next, Tls};
use crate::handler::{Account, Answer, Fault, Handler, Refusal};
use crate::prepared::Statements;
use crate::results::Form;

/// What a greeting says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Greets<'a> {
    /// The version that clients read.
    pub version: &'a str,
    /// The id of the connection.
    pub id: u32,
    /// Random bytes, none of them 0, that no other connection has.
    pub scramble: [u8; 20],
    /// The state that sessions begin with.
    pub status: Status,
    /// The client may ask for TLS.
    pub offers_tls: bool,
}

/// How far a client has come.
#[derive(Debug)]
pub(crate) enum LoginStage {
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
    /// It was asked for the password itself.
    Showing {
        /// The nonce.
        scramble: [u8; 20],
        /// Who it says it is.
        claim: Claim,
        /// It has the key to encrypt it with.
        under_key: bool,
    },
    /// It has answered, and that is not judged yet.
    Answered {
        /// The nonce.
        scramble: [u8; 20],
        /// Who it says it is.
        claim: Claim,
        /// What shows that it knows the password, or does not.
        proof: Proof,
    },
    /// It has proved who it is.
    In,
    /// It was refused: nothing is heard of it any more.
    Out,
}

/// What a client has shown.
pub(crate) enum Proof {
    /// The response to the nonce.
    Response(Vec<u8>),
    /// The password itself.
    Password(Vec<u8>),
    /// The same under the key.
    Encrypted(Vec<u8>),
}

impl std::fmt::Debug for Proof {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a proof")
    }
}

/// Who the client says it is.
#[derive(Debug)]
pub(crate) struct Claim {
    user: String,
    schema: String,
    /// The plugin that its answer is by.
    plugin: Plugin,
}

impl Greets<'_> {
    /// Appends the greeting.
    pub(crate) fn write(&self, seq: &mut u8, out: &mut Vec<u8>) {
        let tls = if self.offers_tls { Caps::SSL } else { Caps::NONE };
        // by this its clients know a MariaDB
        let is_mariadb = self.version.contains("MariaDB");
        let not_of_mariadb = if is_mariadb { Caps::MYSQL } else { Caps::NONE };
        let greeting = Greeting {
            server_version: self.version.as_bytes(),
            connection_id: self.id,
            scramble: self.scramble,
            caps: Caps::OF_OWN_SERVERS.without(not_of_mariadb).union(tls),
            collation: wire::collation_table::UTF8MB4_GENERAL_CI,
            status: self.status,
            plugin: Plugin::NativePassword.name().as_bytes(),
        };
        wire::frame::write_with(out, seq, |out| greeting.encode(out));
    }
}

impl Connection {
    /// A packet of a client that is not in.
    pub(crate) fn on_credentials<H: Handler>(
        &mut self,
        handler: &H,
        stage: LoginStage,
        payload: &[u8],
        out: &mut Vec<u8>,
    ) -> Next {
        let scramble = match stage {
            LoginStage::Greeted { scramble } => scramble,
            LoginStage::Asked { scramble, claim } => {
                return self.responded(handler, scramble, claim, payload, out);
            }
            LoginStage::Showing { scramble, claim, under_key } => {
                return self.shown(handler, (scramble, claim, under_key), payload, out);
            }
            // it has to wait for its answer
            LoginStage::Answered { .. } | LoginStage::In | LoginStage::Out => return Next::Close,
        };
        let asks_for_tls = SslRequest::parse(payload).is_some();
        if asks_for_tls && self.tls == Tls::Offered {
            self.tls = Tls::Begun;
            self.stage = LoginStage::Greeted { scramble };
            return Next::Secure;
        }
        let response = match HandshakeResponse::parse(payload) {
            Ok(response) if !asks_for_tls && self.tls != Tls::Begun => response,
            _ => {
                self.write_fault(&Fault::new(1043, b"08S01", "Bad handshake"), out);
                return Next::Close;
            }
        };
        if !matches!(self.tls, Tls::On { .. })
            && let Some(fault) = handler.refuses_clear()
        {
            let user = String::from_utf8_lossy(response.user).into_owned();
            return self.refuse(user, fault, "it has to use TLS", out);
        }
        self.caps = response.caps.intersect(Caps::OF_OWN_SERVERS);
        let claim = Claim {
            user: String::from_utf8_lossy(response.user).into_owned(),
            schema: String::from_utf8_lossy(response.schema.unwrap_or_default()).into_owned(),
            plugin: asked_by(response.plugin),
        };
        let named = response.plugin.map_or(Plugin::NativePassword, Plugin::from_name);
        if self.caps.contains(Caps::PLUGIN_AUTH) && handler.wants_password(&claim.user) {
            return self.switch(scramble, Claim { plugin: Plugin::CachingSha2, ..claim }, out);
        }
        match named {
            Plugin::NativePassword => {
                self.answered(scramble, claim, Proof::Response(response.auth_response.to_vec()))
            }
            // a client that has no native passwords any more asks by its plugin
            _ if self.caps.contains(Caps::PLUGIN_AUTH) => self.switch(scramble, claim, out),
            _ => {
                let fault = handler.denied(&claim.user);
                self.refuse(claim.user, fault, "its plugin is not supported", out)
            }
        }
    }

    /// `COM_CHANGE_USER`: the exchange begins anew, with a nonce of its own.
    pub(crate) fn change_user<H: Handler>(
        &mut self,
        handler: &H,
        scramble: Option<[u8; 20]>,
        payload: &[u8],
        out: &mut Vec<u8>,
    ) -> Next {
        let (Ok(command), Some(scramble)) = (ChangeUser::parse(payload, self.caps), scramble)
        else {
            self.write_fault(&Fault::new(1835, b"HY000", "Malformed packet"), out);
            return Next::Go;
        };
        if !self.caps.contains(Caps::PLUGIN_AUTH) {
            self.write_fault(&Fault::new(1047, b"08S01", "Unknown command"), out);
            return Next::Go;
        }
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let user = text(command.user);
        let plugin = match handler.wants_password(&user) {
            true => Plugin::CachingSha2,
            false => asked_by(command.plugin),
        };
        let claim = Claim { user, schema: text(command.schema), plugin };
        self.statements = Statements::default();
        self.switch(scramble, claim, out)
    }

    /// Asks for an answer by the plugin of the claim.
    fn switch(&mut self, scramble: [u8; 20], claim: Claim, out: &mut Vec<u8>) -> Next {
        let plugin = claim.plugin.name().as_bytes();
        reply::write_auth_switch(out, &mut self.seq, &AuthSwitch { plugin, data: &scramble });
        self.stage = LoginStage::Asked { scramble, claim };
        Next::Go
    }

    /// The response of the plugin that a client was asked by.
    fn responded<H: Handler>(
        &mut self,
        handler: &H,
        scramble: [u8; 20],
        claim: Claim,
        response: &[u8],
        out: &mut Vec<u8>,
    ) -> Next {
        // a lone NUL is that of a client without a password
        let by_sha2 = claim.plugin == Plugin::CachingSha2 && response.len() > 1;
        if !by_sha2 || !handler.wants_password(&claim.user) {
            return self.answered(scramble, claim, Proof::Response(response.to_vec()));
        }
        reply::write_auth_more(out, &mut self.seq, &[AuthMore::FULL_AUTH]);
        self.stage = LoginStage::Showing { scramble, claim, under_key: false };
        Next::Go
    }

    /// The password itself, or the request for the key to show it under.
    fn shown<H: Handler>(
        &mut self,
        handler: &H,
        (scramble, claim, under_key): ([u8; 20], Claim, bool),
        payload: &[u8],
        out: &mut Vec<u8>,
    ) -> Next {
        let proof = match handler.key() {
            Some(key) if !under_key && PublicKeyRequest::is(payload, Plugin::CachingSha2) => {
                reply::write_auth_more(out, &mut self.seq, key.public_pem());
                self.stage = LoginStage::Showing { scramble, claim, under_key: true };
                return Next::Go;
            }
            _ if under_key => Proof::Encrypted(payload.to_vec()),
            _ if handler.is_private() || matches!(self.tls, Tls::On { .. }) => {
                Proof::Password(payload.strip_suffix(&[0]).unwrap_or(payload).to_vec())
            }
            // what anybody may have listened to proves nothing
            _ => Proof::Response(Vec::new()),
        };
        self.answered(scramble, claim, proof)
    }

    fn answered(&mut self, scramble: [u8; 20], claim: Claim, proof: Proof) -> Next {
        self.stage = LoginStage::Answered { scramble, claim, proof };
        Next::Judge
    }

    /// Judges the answer of a client that has given one.
    pub fn judge<H: Handler>(&mut self, handler: &mut H, out: &mut Vec<u8>) -> Next {
        let LoginStage::Answered { scramble, claim, proof } =
            std::mem::replace(&mut self.stage, LoginStage::Out)
        else {
            return Next::Close;
        };
        let Claim { user, schema, plugin } = claim;
        let by_sha2 = plugin == Plugin::CachingSha2;
        let is_response = matches!(&proof, Proof::Response(answer) if !is_silent(answer));
        let known = handler.account(&user);
        // whoever is not there takes as long
        let stored = known.clone().or_else(|| handler.account_of_nobody());
        let stored = stored.map(|account| account.password).unwrap_or_default();
        let stored = stored.as_bytes();
        let is_it = match proof {
            Proof::Response(answer) => is_right(stored, &answer, &scramble, by_sha2),
            Proof::Password(shown) => is_password(stored, &shown),
            Proof::Encrypted(shown) => {
                let shown = handler.key().and_then(|key| key.decrypt(&shown, &scramble));
                is_password(stored, &shown.unwrap_or_default())
            }
        };
        let right = match known {
            None => Err("there is no such account"),
            Some(Account { password }) if is_it => Ok(password),
            Some(_) => Err("its password is wrong"),
        };
        let password = match right {
            Ok(password) => password,
            Err(why) => {
                let fault = handler.denied(&user);
                return self.refuse(user, fault, why, out);
            }
        };
        if let Err(Refusal { fault, why }) = handler.begin(&user, &schema) {
            return self.refuse(user, fault, &why, out);
        }
        if by_sha2 && is_response {
            reply::write_auth_more(out, &mut self.seq, &[AuthMore::FAST_OK]);
        }
        self.stage = LoginStage::In;
        let info = match by_sha2 {
            true => String::new(),
            false => self.proof_of_certificate(password.as_bytes(), &scramble),
        };
        let answer = Answer::Done { affected_rows: 0, last_insert_id: 0, info };
        self.write_answer(handler, Ok(answer), Form::Text, false, out);
        Next::Welcome { user }
    }

    /// What tells a client of MariaDB that the certificate is this server's own; empty for others.
    fn proof_of_certificate(&self, password: &[u8], scramble: &[u8; 20]) -> String {
        match self.tls {
            Tls::On { certificate: Some(certificate) }
                if !self.caps.contains(Caps::MYSQL) && !password.is_empty() =>
            {
                let stored = native::parse_stored(password);
                let stored = stored.unwrap_or_else(|| native::double_sha1(password));
                let proof = native::proof_of_certificate(&stored, scramble, &certificate);
                String::from_utf8(proof).unwrap_or_default()
            }
            _ => String::new(),
        }
    }

    fn refuse(&mut self, user: String, fault: Fault, why: &str, out: &mut Vec<u8>) -> Next {
        self.write_fault(&fault, out);
        Next::Refused { user, why: why.to_owned() }
    }
}

/// Whether a client says that it has no password: some plugins do by a lone NUL.
fn is_silent(answer: &[u8]) -> bool {
    answer.is_empty() || answer == [0]
}

/// Whether a password that was shown is the stored one.
fn is_password(stored: &[u8], shown: &[u8]) -> bool {
    match std::str::from_utf8(stored).ok().zip(std::str::from_utf8(shown).ok()) {
        _ if sha2::rounds(stored).is_some() => sha2::verify_stored(shown, stored),
        Some((stored, shown)) => native::is_password(shown, stored),
        None => false,
    }
}

/// Whether a response shows that its client knows a password.
fn is_right(password: &[u8], answer: &[u8], scramble: &[u8; 20], by_sha2: bool) -> bool {
    let answer = if is_silent(answer) { &[] } else { answer };
    match native::parse_stored(password) {
        // such a hash is no password
        _ if sha2::rounds(password).is_some() => false,
        _ if password.is_empty() || answer.is_empty() => password.is_empty() && answer.is_empty(),
        Some(double) if !by_sha2 => native::verify(answer, scramble, &double).is_some(),
        None if by_sha2 => sha2::verify_fast(answer, scramble, password),
        None => native::verify(answer, scramble, &native::double_sha1(password)).is_some(),
        // nothing can be said of a hash of another kind
        Some(_) => false,
    }
}

/// The plugin to ask a client by that named one, or none.
fn asked_by(named: Option<&[u8]>) -> Plugin {
    match named.map(Plugin::from_name) {
        Some(Plugin::CachingSha2) => Plugin::CachingSha2,
        _ => Plugin::NativePassword,
    }
}
