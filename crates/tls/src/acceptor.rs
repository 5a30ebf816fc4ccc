//! TLS towards clients: what a server shows, demands and allows, and the codecs of its clients.

use std::sync::Arc;

use io::Codec;
use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::CryptoProvider;
use rustls::crypto::aws_lc_rs::Ticketer;
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::server::{
    ClientHello, NoServerSessionStorage, ResolvesServerCert, WebPkiClientVerifier,
};
use rustls::sign::CertifiedKey;
use rustls::version::TLS13;
use rustls::{
    Connection, DigitallySignedStruct, DistinguishedName, Error, RootCertStore, ServerConfig,
    ServerConnection, SignatureScheme, SupportedProtocolVersion,
};

use crate::certificate::{self, Certificate};
use crate::codec::{Records, Side};
use crate::fault::TlsFault;
use crate::handshake::{self, Trust, Watch};
use crate::pem::Pem;
use crate::suites;

/// What a server's TLS is to be like.
#[derive(Default)]
pub struct Terms {
    /// Certificates, each with the chain behind it and its private key. A client that names none
    /// of them is shown the first.
    pub certificates: Vec<(Pem, Pem)>,
    /// Authorities that vouch for clients' certificates; clients are asked for none without.
    pub authorities: Option<Pem>,
    /// Lists of certificates of theirs that are revoked.
    pub revoked: Option<Pem>,
    /// Versions, as MySQL writes them: `TLSv1.2,TLSv1.3`; all where it is empty.
    pub versions: String,
    /// Suites up to TLS 1.2, by OpenSSL's names and separated by `:`; all where it is empty.
    pub suites: String,
    /// The same for TLS 1.3.
    pub suites_of_1_3: String,
}

/// Makes the codecs of clients' sockets.
pub struct Acceptor {
    config: Arc<ServerConfig>,
    /// The same of TLS 1.3 alone, where that is spoken.
    newest: Option<Arc<ServerConfig>>,
    shown: Arc<ByName>,
    /// Says whether an authority vouches for a client's certificate.
    trust: Option<Arc<Trust>>,
    certificates: Vec<Certificate>,
}

impl Acceptor {
    /// One that keeps to these terms.
    pub fn new(terms: &Terms) -> Result<Self, TlsFault> {
        let versions = suites::versions("tls_version", &terms.versions)?;
        let suites = [("ssl_cipher", &*terms.suites), ("tls_ciphersuites", &*terms.suites_of_1_3)];
        let provider = Arc::new(suites::provider(suites)?);
        let mut certificates = Vec::new();
        let shown = Arc::new(shown(terms, &provider, &mut certificates)?);
        let trust = trust(terms, &provider, &mut certificates)?;
        let asks = trust.as_ref().map(|trust| Arc::new(Asks { trust: trust.verifier().clone() }));
        let config = |versions: &[&'static SupportedProtocolVersion]| {
            let builder = ServerConfig::builder_with_provider(provider.clone())
                .with_protocol_versions(versions)
                .map_err(|error| TlsFault::new("tls_version", error.to_string()))?;
            let builder = match &asks {
                Some(asks) => builder.with_client_cert_verifier(asks.clone()),
                None => builder.with_no_client_auth(),
            };
            let mut config = builder.with_cert_resolver(shown.clone());
            let ticketer = Ticketer::new();
            config.ticketer =
                ticketer.map_err(|error| TlsFault::new("ssl_key", error.to_string()))?;
            // a ticket has all that is needed to resume a session, and serves several times
            config.session_storage = Arc::new(NoServerSessionStorage {});
            config.send_tls13_tickets = 1;
            Ok(Arc::new(config))
        };
        let newest = versions.contains(&&TLS13).then(|| config(&[&TLS13])).transpose()?;
        let config = config(&versions)?;
        Ok(Self { config, newest, shown, trust, certificates })
    }

    /// The codec of a client's socket, for everything behind the request for TLS, and where to
    /// watch it. An error says why there is none, as where the system has no random bytes.
    pub fn accept(&self) -> Result<(Box<dyn Codec>, Watch), String> {
        self.accept_by(&self.config)
    }

    /// The same of a client that has to speak TLS 1.3; an error also where that is not spoken.
    pub fn accept_newest(&self) -> Result<(Box<dyn Codec>, Watch), String> {
        self.accept_by(self.newest.as_ref().ok_or("TLS 1.3 is not spoken")?)
    }

    fn accept_by(&self, config: &Arc<ServerConfig>) -> Result<(Box<dyn Codec>, Watch), String> {
        let connection = ServerConnection::new(config.clone());
        let connection = connection.map_err(|error| error.to_string())?;
        let server = Serves { shown: self.shown.clone(), trust: self.trust.clone() };
        let (records, watch) = Records::new(Connection::Server(connection), Side::Server(server));
        Ok((Box::new(records), watch))
    }

    /// Whether clients are asked for certificates.
    pub fn asks(&self) -> bool {
        self.trust.is_some()
    }

    /// What `rustls` makes connections from, for sockets that have no codec.
    pub fn config(&self) -> Arc<ServerConfig> {
        self.config.clone()
    }

    /// What is shown, and which authorities are trusted.
    pub fn certificates(&self) -> &[Certificate] {
        &self.certificates
    }
}

/// What a server's handshake is looked at with.
pub(crate) struct Serves {
    shown: Arc<ByName>,
    trust: Option<Arc<Trust>>,
}

impl Serves {
    /// SHA-256 of the certificate that is shown to whoever asks for that name.
    pub(crate) fn digest(&self, asked: Option<&str>) -> Option<[u8; 32]> {
        Some(handshake::digest(self.shown.of(asked)?.cert.first()?))
    }

    /// Who says whether an authority vouches for a client's certificate.
    pub(crate) fn trust(&self) -> Option<Arc<Trust>> {
        self.trust.clone()
    }
}

/// Certificates by the name that a client asks for.
#[derive(Debug)]
struct ByName(Vec<(Vec<String>, Arc<CertifiedKey>)>);

impl ResolvesServerCert for ByName {
    fn resolve(&self, client_hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        self.of(client_hello.server_name()).cloned()
    }
}

impl ByName {
    /// What is shown to whoever asks for that name.
    fn of(&self, asked: Option<&str>) -> Option<&Arc<CertifiedKey>> {
        let named = |(names, _): &&(Vec<String>, _)| {
            asked.is_some_and(|asked| names.iter().any(|name| certificate::fits(name, asked)))
        };
        let found = self.0.iter().find(named).or_else(|| self.0.first());
        found.map(|(_, key)| key)
    }
}

fn shown(
    terms: &Terms,
    provider: &CryptoProvider,
    told: &mut Vec<Certificate>,
) -> Result<ByName, TlsFault> {
    let mut shown = Vec::new();
    for (chain, key) in &terms.certificates {
        let (own, certified) = chain.certified(key, provider)?;
        let names = own.names.iter().filter_map(|name| name.strip_prefix("DNS:"));
        let names = names.map(ToOwned::to_owned).collect();
        told.push(own);
        shown.push((names, Arc::new(certified)));
    }
    match shown.is_empty() {
        true => Err(TlsFault::new("ssl_cert", "there is no certificate to show")),
        false => Ok(ByName(shown)),
    }
}

fn trust(
    terms: &Terms,
    provider: &Arc<CryptoProvider>,
    told: &mut Vec<Certificate>,
) -> Result<Option<Arc<Trust>>, TlsFault> {
    let Some(authorities) = &terms.authorities else {
        return match &terms.revoked {
            Some(revoked) => Err(revoked.fault("there is no ssl_ca whose certificates it lists")),
            None => Ok(None),
        };
    };
    let mut roots = RootCertStore::empty();
    for certificate in authorities.certificates()? {
        told.extend(authorities.told(&certificate));
        roots.add(certificate).map_err(|error| authorities.fault(&error.to_string()))?;
    }
    let mut builder =
        WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider.clone());
    if let Some(revoked) = &terms.revoked {
        // a certificate of an authority without a list is no worse than without any list
        let lists = revoked.revoked()?;
        told.extend(lists.iter().filter_map(|list| revoked.told_of_list(list)));
        builder = builder.with_crls(lists).allow_unknown_revocation_status();
    }
    let trust = builder
        .build()
        .map_err(|error| terms.revoked.as_ref().unwrap_or(authorities).fault(&error.to_string()))?;
    Ok(Some(Arc::new(Trust::new(trust))))
}

/// Asks a client for a certificate and for a proof that it has the key, and lets it go on whatever
/// comes of that: which account demands which certificate is known when its name is.
#[derive(Debug)]
struct Asks {
    trust: Arc<dyn ClientCertVerifier>,
}

impl ClientCertVerifier for Asks {
    fn client_auth_mandatory(&self) -> bool {
        false
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        self.trust.root_hint_subjects()
    }

    fn verify_client_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.trust.verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.trust.verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.trust.supported_verify_schemes()
    }
}

#[cfg(test)]
mod tests;
