//! What a handshake came to.

use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

use io::Lock;
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
    pub(crate) trust: Option<Arc<Trust>>,
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
        let verdict = trust.verifier.verify_client_cert(own, others, UnixTime::now());
        if verdict.is_ok() {
            trust.note_good(own);
        }
        verdict.err().map(|error| error.to_string())
    }

    /// Whether nobody had a doubt about it before, by the same authorities and lists.
    pub fn was_good(&self) -> bool {
        let own = self.trust.as_ref().zip(self.chain.first());
        own.is_some_and(|(trust, own)| trust.good.take().contains(&digest(own)))
    }
}

/// Who says whether an authority vouches for clients' certificates.
#[derive(Debug)]
pub(crate) struct Trust {
    verifier: Arc<dyn ClientCertVerifier>,
    /// Digests of certificates that were good.
    good: Lock<BTreeSet<[u8; 32]>>,
}

impl Trust {
    pub(crate) fn new(verifier: Arc<dyn ClientCertVerifier>) -> Self {
        Self { verifier, good: Lock::default() }
    }

    pub(crate) fn verifier(&self) -> &Arc<dyn ClientCertVerifier> {
        &self.verifier
    }

    fn note_good(&self, own: &CertificateDer<'_>) {
        let mut good = self.good.take();
        good.insert(digest(own));
        // which one goes is chance: they stand in the order of digests
        if good.len() > GOOD_MAX {
            good.pop_first();
        }
    }
}

/// SHA-256 of a certificate.
pub(crate) fn digest(certificate: &CertificateDer<'_>) -> [u8; 32] {
    let digest = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, certificate);
    digest.as_ref().try_into().unwrap_or_default()
}

/// Of so many certificates it is remembered that they were good: half a megabyte.
const GOOD_MAX: usize = 1 << 13;

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

#[cfg(test)]
mod tests {
    use rustls::server::WebPkiClientVerifier;

    use super::*;

    #[test]
    fn of_many_certificates_that_were_good_some_are_remembered() {
        let trust = Trust::new(WebPkiClientVerifier::no_client_auth());
        let certificate = |number: usize| CertificateDer::from(number.to_le_bytes().to_vec());
        (0..GOOD_MAX + 50).for_each(|number| trust.note_good(&certificate(number)));
        let is_known = |number| trust.good.take().contains(&digest(&certificate(number)));
        assert_eq!((0..GOOD_MAX + 50).filter(|number| is_known(*number)).count(), GOOD_MAX);
        assert!(!is_known(GOOD_MAX + 50));
    }
}
