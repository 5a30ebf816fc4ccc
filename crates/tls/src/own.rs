//! Certificates that are made where none is configured.

use std::fs::{OpenOptions, Permissions};
use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, SanType,
};

use crate::fault::TlsFault;

/// An authority, and a server's certificate that it has signed; the authority's key is thrown away.
/// The keys are of the curve P-256, which every client since TLS 1.2 knows.
pub struct OwnCertificate {
    /// The authority's certificate, in PEM.
    pub authority: String,
    /// The server's certificate, in PEM.
    pub certificate: String,
    /// Its private key, in PEM.
    pub key: String,
}

/// For how long they are good.
const DAYS: i64 = 3650;

impl OwnCertificate {
    /// Makes one for a machine of that name, good from a time on, in seconds since 1970.
    pub fn make(host: &str, now_s: i64) -> Result<Self, TlsFault> {
        let fault = |error: rcgen::Error| TlsFault::new("ssl_cert", error.to_string());
        let authority_key = KeyPair::generate().map_err(fault)?;
        let mut authority = params("Tidegate_Auto_Generated_CA_Certificate", now_s);
        authority.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        authority.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let signed = authority.self_signed(&authority_key).map_err(fault)?;
        let issuer = Issuer::new(authority, authority_key);
        let key = KeyPair::generate().map_err(fault)?;
        let mut server = params("Tidegate_Auto_Generated_Server_Certificate", now_s);
        server.subject_alt_names = names(host);
        server.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        server.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        server.use_authority_key_identifier_extension = true;
        let certificate = server.signed_by(&key, &issuer).map_err(fault)?.pem();
        Ok(Self { authority: signed.pem(), certificate, key: key.serialize_pem() })
    }

    /// Writes the certificate and its key, which can be read by its owner only, to files that must
    /// not exist yet. So does the authority; where its file is somebody else's already, it goes
    /// behind the certificate. Either all is written or nothing.
    pub fn write(&self, [authority, certificate, key]: [&Path; 3]) -> Result<(), TlsFault> {
        let chain = format!("{}{}", self.certificate, self.authority);
        let files: &[(_, &Path, &str, _)] = match authority.exists() {
            false => &[
                ("ssl_key", key, &self.key, 0o600),
                ("ssl_ca", authority, &self.authority, 0o644),
                ("ssl_cert", certificate, &self.certificate, 0o644),
            ],
            true => &[("ssl_key", key, &self.key, 0o600), ("ssl_cert", certificate, &chain, 0o644)],
        };
        for (at, (setting, path, content, mode)) in files.iter().enumerate() {
            if let Err(error) = write_new(path, content, *mode) {
                // what is left would be taken for somebody's
                let made = files.iter().take(at);
                made.for_each(|(_, path, ..)| drop(std::fs::remove_file(path)));
                let reason = format!("{}: it cannot be made: {error}", path.display());
                return Err(TlsFault::new(setting, reason));
            }
        }
        Ok(())
    }
}

fn write_new(path: &Path, content: &str, mode: u32) -> std::io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(path)?;
    // whatever the mask of the process takes away
    let written = file
        .set_permissions(Permissions::from_mode(mode))
        .and_then(|()| file.write_all(content.as_bytes()))
        .and_then(|()| file.sync_all());
    if written.is_err() {
        drop(std::fs::remove_file(path));
    }
    written
}

fn params(name: &str, now_s: i64) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name.remove(DnType::CommonName);
    params.distinguished_name.push(DnType::CommonName, name);
    let day = |days: i64| {
        // clocks differ: it is good since yesterday
        let time = std::time::Duration::from_secs((now_s + days * 86_400).max(0).unsigned_abs());
        (std::time::SystemTime::UNIX_EPOCH + time).into()
    };
    params.not_before = day(-1);
    params.not_after = day(DAYS);
    params
}

fn names(host: &str) -> Vec<SanType> {
    let hosts = [host, "localhost"].into_iter().filter_map(|host| host.try_into().ok());
    let addresses = [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];
    let mut names: Vec<_> = hosts.map(SanType::DnsName).collect();
    names.dedup();
    names.extend(addresses.map(SanType::IpAddress));
    names
}
