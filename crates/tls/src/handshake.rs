//! What a handshake came to.

use std::sync::{Arc, OnceLock};

use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::danger::ClientCertVerifier;

use crate::judge::Verify;

/// What both sides have agreed on, and what the other side has shown.
#[derive(Clone, Debug)]
pub struct Handshake {
    /// The version as MySQL and OpenSSL write it: `TLSv1.3`.
    pub version: &'static str,
    /// The cipher suite by OpenSSL's name: `TLS_AES_256_GCM_SHA384`.
    pub cipher: &'static str,
    /// The name by which a client asked for the server (SNI), where it did.
    pub server_name: Option<Box<str>>,
    /// Whether an earlier session was resumed.
    pub is_resumed: bool,
    /// SHA-256 of the certificate that a client was shown; `None` for a client's own handshake.
    pub own_digest: Option<[u8; 32]>,
    /// The certificate that a client has shown, and holds the key of.
    pub shown: Option<Shown>,
    /// What was seen of a server; `None` for a client's handshake.
    pub server: Option<ServerSeen>,
}

/// How far a server is known to be who it should be.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ServerSeen {
    /// What was verified of its certificate.
    pub verified: Verify,
    /// SHA-256 of a certificate that nothing vouches for, and why: the server has yet to prove that
    /// it knows the account's password.
    pub unproved: Option<([u8; 32], String)>,
}

/// A certificate of a client. Whether an authority vouches for it is looked at when that is asked:
/// a chain can be made so that this takes long, and anybody may show one.
#[derive(Clone, Debug)]
pub struct Shown {
    /// Its subject, with a backslash in front of commas and backslashes in it: `C=DE, CN=app`.
    pub subject: String,
    /// Who has signed it.
    pub issuer: String,
    /// Its further names: `DNS:app`, `IP:10.0.0.1`, `URI:spiffe://x/app`, `email:a@x`.
    pub names: Vec<String>,
    /// Itself, and the certificates behind it.
    pub(crate) chain: Vec<CertificateDer<'static>>,
    pub(crate) trust: Option<Arc<dyn ClientCertVerifier>>,
}

impl Shown {
    /// Why no authority that is trusted vouches for it now; `None` where one does.
    pub fn doubt(&self) -> Option<String> {
        let Some(trust) = &self.trust else {
            return Some("there is no authority to ask".to_owned());
        };
        let (own, others) = self.chain.split_first()?;
        if others.len() > OTHERS_MAX {
            let (shown, max) = (others.len(), OTHERS_MAX);
            return Some(format!("{shown} certificates stand behind it, where {max} may"));
        }
        let verdict = trust.verify_client_cert(own, others, UnixTime::now());
        verdict.err().map(|error| error.to_string())
    }
}

/// Most certificates behind one's own: what it takes to judge more grows with each.
pub(crate) const OTHERS_MAX: usize = 4;

/// Where the owner of a socket sees what became of its TLS.
#[derive(Clone, Default, Debug)]
pub struct Watch(Arc<Seen>);

#[derive(Default, Debug)]
struct Seen {
    handshake: OnceLock<Handshake>,
    fault: OnceLock<String>,
}

impl Watch {
    /// The handshake, once it is over.
    pub fn handshake(&self) -> Option<&Handshake> {
        self.0.handshake.get()
    }

    /// Why the connection cannot go on, once that is so.
    pub fn fault(&self) -> Option<&str> {
        self.0.fault.get().map(String::as_str)
    }

    pub(crate) fn set(&self, handshake: Handshake) {
        let _ = self.0.handshake.set(handshake);
    }

    /// Only the first one counts.
    pub(crate) fn fail(&self, fault: String) {
        let _ = self.0.fault.set(fault);
    }
}
