//! A client asks for TLS: from here on its bytes are those of the encrypted stream.
//!
//! Encryption is not done here: the worker carries out [`Order::Secure`], and tells when the
//! handshake is over. Until then nothing that the client has sent is looked at, so that no plain
//! text behind its request is ever taken for a login.

use std::sync::Arc;

use wire::Caps;
use wire::auth::{Plugin, native};

use crate::error::{self, SqlError};
use crate::ids::SessionId;
use crate::orders::{End, Order};
use crate::proxy::Proxy;
use crate::report::LogEvent;
use crate::session::Phase;
use crate::session::arriving::login::Login;
use crate::users::{ClientCertificate, Credential, Demands, Lack};
use crate::vars::TlsDemand;

/// What is known of a client's TLS.
#[derive(Clone, Debug)]
pub struct Secured {
    /// The version as MySQL writes it: `TLSv1.3`.
    pub version: &'static str,
    /// The cipher suite by OpenSSL's name.
    pub cipher: &'static str,
    /// The name by which the client asked for the server (SNI), where it did.
    pub server_name: Option<Arc<str>>,
    /// SHA-256 of the certificate that the client was shown.
    pub own_digest: Option<[u8; 32]>,
    /// The certificate that the client has shown.
    pub certificate: Option<Arc<dyn ClientCertificate>>,
}

impl Proxy {
    /// The client's request for TLS, in place of its login.
    pub(crate) fn on_tls_request(&mut self, id: SessionId, seq: u8, scramble: [u8; 20]) {
        let offered = self.offers_tls(id);
        let Some(session) = self.sessions.get_mut(id) else { return self.impossible(()) };
        if !offered || session.client.tls.is_some() {
            let why = "TLS was asked for but not offered";
            return self.refuse(id, seq, error::bad_handshake(why));
        }
        session.phase = Phase::Securing { scramble };
        let least = session.client.demand.unwrap_or_default().least;
        self.orders.push(Order::Secure(End::Client(id), least));
    }

    /// Whether a client may ask for TLS.
    pub(crate) fn offers_tls(&self, id: SessionId) -> bool {
        let can = self.sessions.get(id).is_some_and(|session| session.client.can_have_tls);
        can && self.snapshot.vars.have_ssl
    }

    /// What is demanded of clients that come there from now on.
    pub(crate) fn demand_at(&self, (address, port): &(Arc<str>, u16)) -> Option<TlsDemand> {
        let vars = &self.snapshot.vars;
        let of_all = vars.require_secure_transport.then(TlsDemand::default);
        vars.interfaces_tls.of((address, *port)).or(of_all)
    }

    /// Why a client is refused whoever it says it is: its listener demands more.
    pub(super) fn lack_at_listener(&mut self, id: SessionId) -> Option<SqlError> {
        let client = &self.sessions.get(id)?.client;
        let demand = client.demand?;
        if !client.secure {
            return Some(error::insecure_transport());
        }
        let lack = Demands::any().differ_from(self.certificate_of(id));
        lack.filter(|_| demand.certificate).map(|lack| error::access_refused(&lack.to_string()))
    }

    /// A login comes to its listener, which may demand that an authority vouches for the client's
    /// certificate. To find that none does may take long: it is a guess, unless it is known of the
    /// certificate that one did. Returns how many microseconds it has to wait before it is judged.
    pub(super) fn come_in(
        &mut self,
        id: SessionId,
        login: Box<Login>,
        response: &[u8],
    ) -> Result<(), (Box<Login>, u64)> {
        let client = self.sessions.get(id).map(|session| &session.client);
        let demands = client.and_then(|client| client.demand).is_some_and(|it| it.certificate);
        if let (true, Some(client)) = (demands, client)
            && let Some(shown) = self.certificate_of(id)
        {
            let (guesses, limits) = (&self.offer.guesses, self.guess_limits().of_address());
            let place = Some(guesses.certificates(&client.addr)).filter(|_| !shown.was_good());
            if let Some(wait_us) =
                place.and_then(|who| guesses.begin(who, self.now_us, limits).err())
            {
                return Err((login, wait_us));
            }
            if let Some(why) = shown.doubt() {
                self.stats.denied_without_tls += 1;
                let error = error::access_refused(&Lack::Doubted(why).to_string());
                self.refuse(id, login.seq, error);
                return Ok(());
            }
            place.into_iter().for_each(|who| guesses.give_back(who, limits));
        }
        self.judge(id, login, response);
        Ok(())
    }

    /// The handshake of a client's TLS is over: what follows is its login.
    pub fn on_secured(&mut self, id: SessionId, secured: Secured) {
        let Some(session) = self.sessions.get_mut(id) else { return };
        let Phase::Securing { scramble } = session.phase else { return };
        session.phase = Phase::Greeting { scramble };
        session.client.secure = true;
        session.client.tls = Some(Arc::new(secured));
        self.stats.tls_clients += 1;
    }

    /// What the OK of a login tells a client of MariaDB, so that it may trust a certificate that it
    /// cannot check: only who knows the password's hash can tell it.
    pub(crate) fn proof_of_certificate(&self, id: SessionId, login: &Login) -> Option<Vec<u8>> {
        let session = self.sessions.get(id)?;
        let account = login.account.as_ref()?;
        let digest = session.client.tls.as_ref()?.own_digest?;
        // who has shown no password may not know it, and could try some against the proof
        let is_asked = !session.caps.contains(Caps::MYSQL) && !account.demands.replace_password();
        let stored = match (login.plugin, account.stored(login.proved)?) {
            (
                Plugin::NativePassword,
                Credential::Clear { double_sha1, .. } | Credential::Native(double_sha1),
            ) => double_sha1.to_vec(),
            (Plugin::Ed25519 | Plugin::Parsec, _) => self.signer(login)?,
            _ => return None,
        };
        is_asked.then(|| native::proof_of_certificate(&stored, &login.scramble, &digest))
    }

    /// A client's TLS cannot go on, for that reason; its socket is gone.
    pub fn on_insecure(&mut self, id: SessionId, reason: &str) {
        self.stats.tls_failures += 1;
        let Some(session) = self.sessions.get(id) else { return };
        let (connection, client) = (session.client.connection, session.client.addr.to_string());
        let reason = reason.to_owned();
        self.report_client(LogEvent::ClientTls { connection, client, reason });
    }
}
