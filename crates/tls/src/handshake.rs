//! What a handshake came to.

use std::sync::{Arc, OnceLock};

/// What both sides have agreed on, and what the other side has shown.
#[derive(Clone, PartialEq, Eq, Debug)]
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
    /// The certificate that the other side has shown, and holds the key of.
    pub shown: Option<Shown>,
}

/// A certificate of the other side.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Shown {
    /// Its subject, as X.509 writes it: `C=DE, CN=app`.
    pub subject: String,
    /// Who has signed it.
    pub issuer: String,
    /// Its further names: `DNS:app`, `IP:10.0.0.1`, `URI:spiffe://x/app`, `email:a@x`.
    pub names: Vec<String>,
    /// Why no authority that is trusted vouches for it; `None` where one does.
    pub doubt: Option<String>,
}

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
