//! Whether a server is the one that it says it is: its certificate, and what vouches for it.
//!
//! `rustls` reads no certificate of X.509 v1, and `webpki` takes no authority's own for a server's.
//! MySQL's servers have both, so that these are judged here. Which server is called, and what
//! becomes of one that is not taken, is not known here.

use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{
    CryptoProvider, WebPkiSupportedAlgorithms, verify_tls13_signature_with_raw_key,
};
use rustls::pki_types::{CertificateDer, ServerName, SubjectPublicKeyInfoDer, UnixTime};
use rustls::{
    AlertDescription, CertificateError, DigitallySignedStruct, Error, PeerIncompatible,
    RootCertStore, SignatureScheme,
};
use webpki::RawPublicKeyEntity;
use x509_parser::prelude::{FromDer, X509Certificate, X509Version};

use crate::certificate;
use crate::connector::ServerTerms;
use crate::fault::TlsFault;
use crate::handshake::OTHERS_MAX;

/// What is verified of a server's certificate.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Verify {
    /// Nothing: whoever answers is taken for the server.
    None,
    /// That an authority vouches for it.
    Ca,
    /// That as well, and that it is for the host that was called.
    #[default]
    Identity,
    /// The same, or, of a MariaDB, that it knows the account's password.
    Password,
}

impl Verify {
    /// By the operator's word for it.
    pub fn of_name(name: &str) -> Option<Self> {
        [Self::None, Self::Ca, Self::Identity, Self::Password]
            .into_iter()
            .find(|verify| verify.name() == name)
    }

    /// The operator's word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Ca => "ca",
            Self::Identity => "identity",
            Self::Password => "password",
        }
    }
}

/// Looks at servers' certificates.
#[derive(Debug)]
pub(crate) struct Judge {
    verify: Verify,
    /// `None` where nothing is verified, or there is no authority.
    webpki: Option<Arc<WebPkiServerVerifier>>,
    /// What was configured; empty where the system's authorities are asked.
    anchors: Vec<CertificateDer<'static>>,
    /// Certificates may be revoked.
    has_lists: bool,
    algorithms: WebPkiSupportedAlgorithms,
}

impl Judge {
    pub(crate) fn new(
        terms: &ServerTerms,
        provider: &Arc<CryptoProvider>,
        told: &mut Vec<certificate::Certificate>,
    ) -> Result<Self, TlsFault> {
        let mut anchors = Vec::new();
        let mut roots = RootCertStore::empty();
        for file in &terms.authorities {
            for certificate in file.certificates()? {
                told.extend(file.told(&certificate));
                if may_sign(&parse(&certificate).map_err(|error| file.fault(&error.to_string()))?) {
                    let added = roots.add(certificate.clone());
                    added.map_err(|error| file.fault(&error.to_string()))?;
                }
                anchors.push(certificate);
            }
        }
        let mut judge = Self {
            verify: terms.verify,
            webpki: None,
            anchors,
            has_lists: !terms.revoked.is_empty(),
            algorithms: provider.signature_verification_algorithms,
        };
        if terms.verify == Verify::None {
            return Ok(judge);
        }
        if terms.authorities.is_empty() {
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
        // nobody but the servers themselves, or a system without authorities
        if roots.is_empty() {
            return Ok(judge);
        }
        let mut lists = Vec::new();
        for file in &terms.revoked {
            lists.extend(file.revoked()?);
        }
        let builder =
            WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider.clone());
        // a certificate of an authority without a list is no worse than without any list
        let builder = builder.with_crls(lists).allow_unknown_revocation_status();
        match builder.build() {
            Ok(webpki) => judge.webpki = Some(webpki),
            Err(error) => {
                let file = terms.revoked.first().or(terms.authorities.first());
                let fault = |reason: &str| file.map(|file| file.fault(reason));
                let reason = error.to_string();
                return Err(fault(&reason).unwrap_or_else(|| TlsFault::new("ssl_crl", reason)));
            }
        }
        Ok(judge)
    }

    /// Whether a server may prove who it is by the account's password.
    pub(crate) fn lets_prove(&self) -> bool {
        self.verify == Verify::Password
    }

    /// What is verified of a server that an authority vouches for.
    pub(crate) fn verified(&self) -> Verify {
        match self.verify {
            Verify::Password => Verify::Identity,
            other => other,
        }
    }

    /// Who may vouch, for a person.
    pub(crate) fn authorities(&self) -> &'static str {
        if self.anchors.is_empty() { "the system trusts" } else { "is configured" }
    }

    /// Whether a certificate is what is demanded of a server of that name.
    pub(crate) fn judge(
        &self,
        own: &CertificateDer<'_>,
        others: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        now: UnixTime,
    ) -> Result<(), Error> {
        if self.verify == Verify::None {
            return Ok(());
        }
        if others.len() > OTHERS_MAX {
            let (shown, max) = (others.len(), OTHERS_MAX);
            let why = format!("{shown} certificates stand behind the server's, where {max} may");
            return Err(Error::General(why));
        }
        let parsed = parse(own)?;
        let is_anchor = self.anchors.iter().any(|anchor| anchor == own);
        // where authorities are constrained to some names, or many are asked, only those count that
        // they look at
        let is_constrained =
            self.anchors.is_empty() || self.anchors.iter().chain(others).any(has_constraints);
        let is_named = match self.webpki.as_ref().filter(|_| !is_anchor) {
            Some(webpki) if parsed.version() == X509Version::V3 => {
                match webpki.verify_server_cert(own, others, name, &[], now) {
                    Ok(_) => true,
                    // the chain was found good before the name was looked at
                    Err(error) if is_other_name(&error) => false,
                    Err(error) => return Err(error),
                }
            }
            _ if is_anchor => self.dated(&parsed, now)?,
            _ => {
                self.signed_by_anchor(&parsed)?;
                self.dated(&parsed, now)?
            }
        };
        match self.verified() == Verify::Identity && !is_named {
            true => named(&parsed, name, is_constrained),
            false => Ok(()),
        }
    }

    /// Whether one that is judged here is good now; never says that it has the right name.
    fn dated(&self, parsed: &X509Certificate<'_>, now: UnixTime) -> Result<bool, Error> {
        let now_s = now.as_secs().cast_signed();
        let validity = parsed.validity();
        if now_s > validity.not_after.timestamp() {
            return Err(CertificateError::Expired.into());
        }
        if now_s < validity.not_before.timestamp() {
            return Err(CertificateError::NotValidYet.into());
        }
        if self.has_lists {
            // these are looked up by what only a verified chain tells
            return Err(CertificateError::UnknownRevocationStatus.into());
        }
        Ok(false)
    }

    /// Whether an authority that was configured has signed a certificate itself.
    fn signed_by_anchor(&self, parsed: &X509Certificate<'_>) -> Result<(), Error> {
        let scheme = scheme(&parsed.signature_algorithm.algorithm.to_id_string())
            .ok_or(CertificateError::BadSignature)?;
        let (content, signature) = (parsed.tbs_certificate.as_ref(), &parsed.signature_value.data);
        let vouches = |anchor: &CertificateDer<'_>| {
            let Ok(anchor) = parse(anchor) else { return false };
            may_sign(&anchor)
                && anchor.subject().as_raw() == parsed.issuer().as_raw()
                && self.verify_by(anchor.public_key().raw, scheme, content, signature).is_ok()
        };
        match self.anchors.iter().any(vouches) {
            true => Ok(()),
            false => Err(CertificateError::UnknownIssuer.into()),
        }
    }

    /// Whether the owner of a key has signed something.
    fn verify_by(
        &self,
        key: &[u8],
        scheme: SignatureScheme,
        content: &[u8],
        signature: &[u8],
    ) -> Result<(), Error> {
        let key = SubjectPublicKeyInfoDer::from(key);
        let bad = || Error::InvalidCertificate(CertificateError::BadSignature);
        let key = RawPublicKeyEntity::try_from(&key).map_err(|_| bad())?;
        let of_scheme = self.algorithms.mapping.iter().find(|(known, _)| *known == scheme);
        let (_, algorithms) = of_scheme.ok_or_else(bad)?;
        let is_good = algorithms
            .iter()
            .any(|algorithm| key.verify_signature(*algorithm, content, signature).is_ok());
        if is_good { Ok(()) } else { Err(bad()) }
    }
}

fn parse<'a>(certificate: &'a CertificateDer<'_>) -> Result<X509Certificate<'a>, Error> {
    let parsed = X509Certificate::from_der(certificate);
    parsed.map(|(_, parsed)| parsed).map_err(|_| CertificateError::BadEncoding.into())
}

/// Whether an authority may vouch for some names only.
fn has_constraints(certificate: &CertificateDer<'_>) -> bool {
    parse(certificate).is_ok_and(|parsed| !matches!(parsed.name_constraints(), Ok(None)))
}

/// Whether a certificate that was configured is an authority's: a server's own, which may be among
/// them, vouches for itself and for nobody else.
fn may_sign(anchor: &X509Certificate<'_>) -> bool {
    match anchor.version() {
        X509Version::V3 => anchor.is_ca(),
        // there was no way to say so
        _ => anchor.subject().as_raw() == anchor.issuer().as_raw(),
    }
}

fn is_other_name(error: &Error) -> bool {
    use CertificateError::{NotValidForName, NotValidForNameContext};
    matches!(error, Error::InvalidCertificate(NotValidForName | NotValidForNameContext { .. }))
}

/// Whether a certificate is for that host: by its further names, and by its common name where it
/// has none and no authority `is_constrained` to some, as MySQL's own clients look at it.
fn named(
    parsed: &X509Certificate<'_>,
    name: &ServerName<'_>,
    is_constrained: bool,
) -> Result<(), Error> {
    let names = certificate::names(parsed);
    let mut hosts: Vec<_> = (names.iter())
        .filter_map(|name| name.strip_prefix("DNS:").or_else(|| name.strip_prefix("IP:")))
        .map(str::to_owned)
        .collect();
    if hosts.is_empty() && !is_constrained {
        let common = parsed.subject().iter_common_name();
        hosts.extend(common.filter_map(|name| name.as_str().ok().map(str::to_owned)));
    }
    let asked = certificate::host(name);
    let is_it = |host: &String| match name {
        ServerName::IpAddress(_) => *host == asked,
        _ => certificate::fits(host, &asked),
    };
    match hosts.iter().any(is_it) {
        true => Ok(()),
        false => {
            let (expected, presented) = (name.to_owned(), hosts);
            Err(CertificateError::NotValidForNameContext { expected, presented }.into())
        }
    }
}

/// The scheme of a certificate's signature by its object identifier (RFC 4055, RFC 5758, RFC 8410).
fn scheme(id: &str) -> Option<SignatureScheme> {
    Some(match id {
        "1.2.840.113549.1.1.11" => SignatureScheme::RSA_PKCS1_SHA256,
        "1.2.840.113549.1.1.12" => SignatureScheme::RSA_PKCS1_SHA384,
        "1.2.840.113549.1.1.13" => SignatureScheme::RSA_PKCS1_SHA512,
        "1.2.840.10045.4.3.2" => SignatureScheme::ECDSA_NISTP256_SHA256,
        "1.2.840.10045.4.3.3" => SignatureScheme::ECDSA_NISTP384_SHA384,
        "1.3.101.112" => SignatureScheme::ED25519,
        _ => return None,
    })
}

/// A judge as `rustls` asks it, at once or not at all: then the certificate is judged when the
/// handshake is over.
#[derive(Debug)]
pub(crate) struct HandshakeJudge {
    pub(crate) judge: Arc<Judge>,
    pub(crate) at_once: bool,
}

impl ServerCertVerifier for HandshakeJudge {
    fn verify_server_cert(
        &self,
        own: &CertificateDer<'_>,
        others: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        _: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if self.at_once {
            self.judge.judge(own, others, name, now)?;
        }
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let parsed = parse(certificate)?;
        let key = parsed.public_key().raw;
        self.judge.verify_by(key, signed.scheme, message, signed.signature())?;
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let parsed = parse(certificate)?;
        let key = SubjectPublicKeyInfoDer::from(parsed.public_key().raw);
        verify_tls13_signature_with_raw_key(message, &key, signed, &self.judge.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.judge.algorithms.supported_schemes()
    }
}

/// What an error of a handshake with a server means, and what can be done about it.
pub(crate) fn words(error: &Error, host: &str, authorities: &str) -> String {
    match error {
        Error::InvalidCertificate(bad) => of_certificate(bad, host, authorities),
        Error::AlertReceived(AlertDescription::ProtocolVersion)
        | Error::PeerIncompatible(
            PeerIncompatible::ServerDoesNotSupportTls12Or13
            | PeerIncompatible::ServerTlsVersionIsDisabledByOurConfig,
        ) => "the server speaks no version of TLS that is allowed here; TLSv1.2 and TLSv1.3 can be"
            .to_owned(),
        Error::AlertReceived(
            AlertDescription::HandshakeFailure | AlertDescription::InsufficientSecurity,
        ) => "the server has no cipher suite that is allowed here, or demands a certificate: only \
              suites of TLSv1.3 and of ECDHE can be, not those of RSA key exchange or DHE"
            .to_owned(),
        Error::AlertReceived(
            AlertDescription::CertificateRequired
            | AlertDescription::BadCertificate
            | AlertDescription::UnknownCA
            | AlertDescription::CertificateExpired
            | AlertDescription::CertificateRevoked
            | AlertDescription::CertificateUnknown,
        ) => format!("the server does not take the certificate that it was shown ({error})"),
        Error::General(why) => why.clone(),
        error => error.to_string(),
    }
}

fn of_certificate(bad: &CertificateError, host: &str, authorities: &str) -> String {
    use CertificateError as Bad;
    match bad {
        Bad::UnknownIssuer | Bad::BadSignature => format!(
            "no authority that {authorities} vouches for the server's certificate; ssl_p2s_ca, or \
             ssl_ca in mysql_servers_ssl_params, may name a file of its authority or of itself"
        ),
        Bad::NotValidForNameContext { presented, .. } => format!(
            "the server's certificate is for {}, and not for {host}",
            if presented.is_empty() { "nobody".to_owned() } else { presented.join(", ") }
        ),
        Bad::Expired | Bad::ExpiredContext { .. } => {
            "the server's certificate has expired".to_owned()
        }
        Bad::NotValidYet | Bad::NotValidYetContext { .. } => {
            "the server's certificate is not valid yet".to_owned()
        }
        Bad::Revoked => "the server's certificate is revoked".to_owned(),
        Bad::UnknownRevocationStatus => "the server's certificate is of X.509 v1, or was itself \
                                         configured, so that it cannot be looked up in lists of \
                                         revoked ones"
            .to_owned(),
        bad => format!("the server's certificate is not taken: {bad}"),
    }
}
