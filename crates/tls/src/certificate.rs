//! What certificates say.

use std::net::IpAddr;
use std::sync::Arc;

use rustls::pki_types::{CertificateDer, CertificateRevocationListDer, ServerName};
use x509_parser::extensions::GeneralName;
use x509_parser::objects::{oid_registry, oid2abbrev};
use x509_parser::prelude::{CertificateRevocationList, FromDer, X509Certificate, X509Name};

use crate::handshake::{Shown, Trust};

/// A certificate in use, or a list of revoked ones, for whoever wants to know which one it is and
/// how long it is good.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Certificate {
    /// The file that it came from; empty for one that was made in memory.
    pub file: String,
    /// What it is for, as the setting that names it: `ssl_cert`, `ssl_ca`, `ssl_crl`.
    pub setting: &'static str,
    /// Its subject; empty for a list.
    pub subject: String,
    /// Who has signed it.
    pub issuer: String,
    /// Its further names: `DNS:app`, `IP:10.0.0.1`.
    pub names: Vec<String>,
    /// Its serial number, in hexadecimal with colons.
    pub serial: String,
    /// SHA-256 of it, in hexadecimal with colons.
    pub fingerprint: String,
    /// Seconds since 1970 from which on it is good.
    pub not_before_s: i64,
    /// Seconds since 1970 until which it is good. A list still counts behind that, and lacks what
    /// was revoked since.
    pub not_after_s: i64,
}

impl Certificate {
    /// What one says; `None` where it cannot be read.
    pub(crate) fn of(
        setting: &'static str,
        file: String,
        certificate: &CertificateDer<'_>,
    ) -> Option<Self> {
        let (_, parsed) = X509Certificate::from_der(certificate).ok()?;
        let digest = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, certificate);
        Some(Self {
            file,
            setting,
            subject: distinguished(parsed.subject()),
            issuer: distinguished(parsed.issuer()),
            names: names(&parsed),
            serial: parsed.raw_serial_as_string(),
            fingerprint: hexadecimal(digest.as_ref()),
            not_before_s: parsed.validity().not_before.timestamp(),
            not_after_s: parsed.validity().not_after.timestamp(),
        })
    }

    /// What a list of revoked ones says; `None` where it cannot be read, or tells of no next one.
    pub(crate) fn of_list(
        setting: &'static str,
        file: String,
        list: &CertificateRevocationListDer<'_>,
    ) -> Option<Self> {
        let (_, parsed) = CertificateRevocationList::from_der(list).ok()?;
        let digest = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, list);
        Some(Self {
            file,
            setting,
            subject: String::new(),
            issuer: distinguished(parsed.issuer()),
            names: Vec::new(),
            serial: parsed.crl_number().map_or_else(String::new, |number| format!("{number:x}")),
            fingerprint: hexadecimal(digest.as_ref()),
            not_before_s: parsed.last_update().timestamp(),
            not_after_s: parsed.next_update()?.timestamp(),
        })
    }

    /// Whether it is a list of revoked ones.
    pub fn is_list(&self) -> bool {
        self.setting == LISTS
    }

    /// Whole days that are left of it at a time, in seconds since 1970; less than none once it has
    /// expired.
    pub fn days_left(&self, now_s: i64) -> i64 {
        (self.not_after_s - now_s).div_euclid(86_400)
    }
}

/// The setting that names lists of revoked certificates.
const LISTS: &str = "ssl_crl";

/// The certificate that a client has shown; `trust` is asked about it later.
pub(crate) fn shown(chain: &[CertificateDer<'static>], trust: Option<Arc<Trust>>) -> Option<Shown> {
    let (_, parsed) = X509Certificate::from_der(chain.first()?).ok()?;
    Some(Shown {
        subject: distinguished(parsed.subject()),
        issuer: distinguished(parsed.issuer()),
        names: names(&parsed),
        chain: chain.to_vec(),
        trust,
    })
}

/// A name with its parts in their order, `C=DE, CN=app`. A comma or a backslash within a part has a
/// backslash in front, so that no part looks like two.
fn distinguished(name: &X509Name<'_>) -> String {
    let parts = name.iter().map(|together| {
        let parts = together.iter().map(|part| {
            let kind = oid2abbrev(part.attr_type(), oid_registry());
            let kind = kind.map_or_else(|_| part.attr_type().to_id_string(), str::to_owned);
            let value = part.as_str().map_or_else(|_| hexadecimal(part.as_slice()), str::to_owned);
            format!("{kind}={}", value.replace('\\', "\\\\").replace(',', "\\,"))
        });
        parts.collect::<Vec<_>>().join(" + ")
    });
    parts.collect::<Vec<_>>().join(", ")
}

/// The further names of a certificate, as [`Certificate::names`] has them.
pub(crate) fn names(certificate: &X509Certificate<'_>) -> Vec<String> {
    let Ok(Some(extension)) = certificate.subject_alternative_name() else { return Vec::new() };
    let names = extension.value.general_names.iter();
    names
        .filter_map(|name| match name {
            GeneralName::DNSName(name) => Some(format!("DNS:{name}")),
            GeneralName::RFC822Name(name) => Some(format!("email:{name}")),
            GeneralName::URI(name) => Some(format!("URI:{name}")),
            GeneralName::IPAddress(bytes) => address(bytes).map(|address| format!("IP:{address}")),
            _ => None,
        })
        .collect()
}

/// Whether a certificate's name, which may begin with `*.`, is the one asked for (RFC 6125, section
/// 6.4.3).
pub(crate) fn fits(name: &str, asked: &str) -> bool {
    match name.strip_prefix("*.") {
        Some(domain) => {
            asked.split_once('.').is_some_and(|(_, rest)| rest.eq_ignore_ascii_case(domain))
        }
        None => name.eq_ignore_ascii_case(asked),
    }
}

/// The name of a server as it is written: a host's, or an address.
pub(crate) fn host(name: &ServerName<'_>) -> String {
    match name {
        ServerName::IpAddress(ip) => IpAddr::from(*ip).to_string(),
        name => name.to_str().into_owned(),
    }
}

fn address(bytes: &[u8]) -> Option<IpAddr> {
    let v4 = <[u8; 4]>::try_from(bytes).ok().map(Into::into);
    v4.or_else(|| <[u8; 16]>::try_from(bytes).ok().map(Into::into))
}

fn hexadecimal(bytes: &[u8]) -> String {
    let bytes: Vec<_> = bytes.iter().map(|byte| format!("{byte:02X}")).collect();
    bytes.join(":")
}
