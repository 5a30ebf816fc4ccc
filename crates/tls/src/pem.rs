//! Certificates, keys and lists of revoked certificates, as PEM has them.

use std::path::Path;

use rustls::Error;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, CertificateRevocationListDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;

use crate::certificate::Certificate;
use crate::fault::TlsFault;

/// The content of a PEM file, and for which setting it was read.
pub struct Pem {
    pub(crate) setting: &'static str,
    /// The file's name; empty for what was never in one.
    pub(crate) file: String,
    text: Vec<u8>,
}

impl Pem {
    /// Reads a file for a setting.
    pub fn read(setting: &'static str, file: &Path) -> Result<Self, TlsFault> {
        let fault = |reason: &str| TlsFault::new(setting, format!("{}: {reason}", file.display()));
        let unreadable = |error: std::io::Error| fault(&format!("it cannot be read: {error}"));
        let kind = std::fs::metadata(file).map_err(unreadable)?;
        if !kind.is_file() || kind.len() > FILE_BYTES_MAX {
            return Err(fault("it is no file of at most 64 MiB"));
        }
        let text = std::fs::read(file).map_err(unreadable)?;
        Ok(Self { setting, file: file.display().to_string(), text })
    }

    /// Reads all files of a directory for a setting that have something of that kind in them:
    /// `CERTIFICATE`, `X509 CRL`.
    pub fn read_all(setting: &'static str, dir: &Path, kind: &str) -> Result<Vec<Self>, TlsFault> {
        let fault = |reason: &str| TlsFault::new(setting, format!("{}: {reason}", dir.display()));
        let unreadable = |error: std::io::Error| fault(&format!("it cannot be read: {error}"));
        let mut paths = Vec::new();
        for entry in std::fs::read_dir(dir).map_err(unreadable)? {
            paths.push(entry.map_err(unreadable)?.path());
        }
        paths.sort();
        let marker = format!("-----BEGIN {kind}-----");
        let mut files = Vec::new();
        for path in paths.iter().filter(|path| path.is_file()) {
            let file = Self::read(setting, path)?;
            if file.text.windows(marker.len()).any(|part| part == marker.as_bytes()) {
                files.push(file);
            }
        }
        match files.is_empty() {
            true => Err(fault(&format!("no file in it has a {kind}"))),
            false => Ok(files),
        }
    }

    /// What is in no file.
    pub fn of_text(setting: &'static str, text: &str) -> Self {
        Self { setting, file: String::new(), text: text.into() }
    }

    /// The certificates in it, at least one.
    pub(crate) fn certificates(&self) -> Result<Vec<CertificateDer<'static>>, TlsFault> {
        self.all("certificate", CertificateDer::pem_slice_iter(&self.text))
    }

    /// The revocation lists in it, at least one.
    pub(crate) fn revoked(&self) -> Result<Vec<CertificateRevocationListDer<'static>>, TlsFault> {
        self.all("revocation list", CertificateRevocationListDer::pem_slice_iter(&self.text))
    }

    /// The private key in it.
    pub(crate) fn key(&self) -> Result<PrivateKeyDer<'static>, TlsFault> {
        // of PKCS #8, and of the form before that
        let is_encrypted = self.text.windows(9).any(|part| part == b"ENCRYPTED");
        PrivateKeyDer::from_pem_slice(&self.text).map_err(|error| match error {
            _ if is_encrypted => {
                self.fault("the private key is encrypted; `openssl pkey` decrypts it")
            }
            pem::Error::NoItemsFound => self.fault("there is no private key in it"),
            error => self.fault(&format!("it is no PEM file: {error}")),
        })
    }

    /// The first certificate in it with the others behind, for whoever shows it, and what it says.
    pub(crate) fn certified(
        &self,
        key: &Self,
        provider: &CryptoProvider,
    ) -> Result<(Certificate, CertifiedKey), TlsFault> {
        let certificates = self.certificates()?;
        let own = certificates.first().and_then(|own| self.told(own));
        let own = own.ok_or_else(|| self.fault("the certificate is not X.509"))?;
        let certified = CertifiedKey::from_der(certificates, key.key()?, provider);
        let certified = certified.map_err(|error| match error {
            Error::InconsistentKeys(_) => {
                key.fault(&format!("it is not the key of the certificate in {}", self.file))
            }
            Error::General(_) => key.fault("it is of no kind or size that is supported"),
            error => self.fault(&error.to_string()),
        })?;
        Ok((own, certified))
    }

    /// What a certificate of it says; `None` where it cannot be read.
    pub(crate) fn told(&self, certificate: &CertificateDer<'_>) -> Option<Certificate> {
        Certificate::of(self.setting, self.file.clone(), certificate)
    }

    /// What a list of it says.
    pub(crate) fn told_of_list(
        &self,
        list: &CertificateRevocationListDer<'_>,
    ) -> Option<Certificate> {
        Certificate::of_list(self.setting, self.file.clone(), list)
    }

    /// A fault of it.
    pub(crate) fn fault(&self, reason: &str) -> TlsFault {
        match self.file.as_str() {
            "" => TlsFault::new(self.setting, reason),
            file => TlsFault::new(self.setting, format!("{file}: {reason}")),
        }
    }

    fn all<T>(
        &self,
        what: &str,
        items: impl Iterator<Item = Result<T, pem::Error>>,
    ) -> Result<Vec<T>, TlsFault> {
        let items: Result<Vec<_>, _> = items.collect();
        match items {
            Ok(items) if items.is_empty() => Err(self.fault(&format!("there is no {what} in it"))),
            Ok(items) => Ok(items),
            Err(error) => Err(self.fault(&format!("it is no PEM file: {error}"))),
        }
    }
}

/// Chains are shorter, and so are all but the longest lists of revoked certificates.
const FILE_BYTES_MAX: u64 = 64 << 20;
