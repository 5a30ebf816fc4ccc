//! Certificates of every target that is measured in TLS, and of the load.
//!
//! One key and one certificate that it has signed itself serve all: what is verified is not what is
//! measured.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;
use lab::RunDir;
use rcgen::{CertificateParams, KeyPair};

/// A directory with them, under the names that sysbench looks for in its own.
pub(crate) struct TlsFiles {
    dir: RunDir,
}

const CERTIFICATE: &str = "client-cert.pem";
const KEY: &str = "client-key.pem";
const BOTH: &str = "both.pem";

impl TlsFiles {
    pub(crate) fn make() -> Result<Self> {
        let files = Self { dir: RunDir::create()? };
        let key = KeyPair::generate()?;
        let names = ["localhost", "127.0.0.1"].map(str::to_owned);
        let certificate = CertificateParams::new(names)?.self_signed(&key)?.pem();
        let key = key.serialize_pem();
        let both = format!("{certificate}{key}");
        let all =
            [(CERTIFICATE, &certificate), ("cacert.pem", &certificate), (KEY, &key), (BOTH, &both)];
        for (name, text) in all {
            fs::write(files.dir().join(name), text)?;
        }
        Ok(files)
    }

    /// The directory that sysbench runs in.
    pub(crate) fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// The certificate with its key, as HAProxy takes them.
    pub(crate) fn both(&self) -> PathBuf {
        self.dir().join(BOTH)
    }

    /// What a server is started with.
    pub(crate) fn of_servers(&self) -> Vec<String> {
        self.named(["--ssl-cert", "--ssl-key"]).map(|(name, path)| format!("{name}={path}")).into()
    }

    /// What Tidegate shows clients; servers are not verified.
    pub(crate) fn variables(&self) -> String {
        let [certificate, key] = self
            .named(["ssl_cert", "ssl_key"])
            .map(|(name, path)| format!("{name} = \"{path}\"\n"));
        format!("{certificate}{key}ssl_p2s_verify = \"none\"\n")
    }

    fn named(&self, [certificate, key]: [&'static str; 2]) -> [(&'static str, String); 2] {
        [(certificate, CERTIFICATE), (key, KEY)]
            .map(|(name, file)| (name, self.dir().join(file).display().to_string()))
    }
}
