//! Certificates for servers, made for a test.

use std::fs;
use std::path::PathBuf;

use lab::RunDir;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
};

/// A directory with an authority, certificates that it has signed, and one that nobody has.
#[derive(Debug)]
pub struct Pki {
    /// Where the files are.
    pub dir: RunDir,
    authority: Issuer<'static, KeyPair>,
}

impl Pki {
    /// An authority `ca`, certificates `server`, `elsewhere` and `client` of it, and `stranger`.
    #[expect(clippy::new_without_default, reason = "it writes files")]
    pub fn new() -> Self {
        let dir = RunDir::create().expect("a directory");
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, "authority of servers");
        let key = KeyPair::generate().expect("a key");
        let pem = params.self_signed(&key).expect("signed").pem();
        fs::write(dir.path().join("ca.pem"), pem).expect("written");
        let pki = Self { dir, authority: Issuer::new(params, key) };
        pki.sign("server", &["localhost", "127.0.0.1"]);
        pki.sign("elsewhere", &["elsewhere.example"]);
        pki.sign("client", &[]);
        let (own, key) = (CertificateParams::default(), KeyPair::generate().expect("a key"));
        let own = own.self_signed(&key).expect("signed").pem();
        fs::write(pki.dir.path().join("stranger.pem"), own).expect("written");
        pki
    }

    /// Makes a certificate for these hosts, and its key.
    pub fn sign(&self, name: &str, hosts: &[&str]) {
        let hosts: Vec<_> = hosts.iter().map(|host| (*host).to_owned()).collect();
        let mut params = CertificateParams::new(hosts).expect("names");
        params.distinguished_name.remove(DnType::CommonName);
        params.distinguished_name.push(DnType::CommonName, name);
        params.extended_key_usages =
            vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        let key = KeyPair::generate().expect("a key");
        let certificate = params.signed_by(&key, &self.authority).expect("signed").pem();
        fs::write(self.file(name), certificate).expect("written");
        fs::write(self.file(&format!("{name}-key")), key.serialize_pem()).expect("written");
    }

    /// The file of a certificate; that of its key has `-key` behind the name.
    pub fn file(&self, name: &str) -> PathBuf {
        self.dir.path().join(format!("{name}.pem"))
    }

    /// Variables that name files.
    pub fn variables(&self, named: &[(&str, &str)]) -> String {
        let line = |(variable, file): &(&str, &str)| {
            format!("{variable} = \"{}\"\n", self.file(file).display())
        };
        named.iter().map(line).collect()
    }

    /// Options of a server that shows this certificate.
    pub fn options(&self, shown: &str) -> Vec<String> {
        let key = format!("{shown}-key");
        [("ca", "ca"), ("cert", shown), ("key", &key)]
            .map(|(option, name)| format!("--ssl-{option}={}", self.file(name).display()))
            .into()
    }
}
