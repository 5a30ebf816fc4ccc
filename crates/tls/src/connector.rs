//! TLS towards servers: what is shown, demanded and allowed, and the codecs of connections to them.
//! Whether a certificate is good is [`judge`]'s to say; which settings a server has, `connectors`'.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::sync::Arc;

use io::{Codec, Lock};
use rustls::client::Resumption;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::sign::SingleCertAndKey;
use rustls::{ClientConfig, ClientConnection, Connection, Error, StreamOwned};

use crate::certificate::{self, Certificate};
use crate::codec::{Records, Side};
use crate::fault::TlsFault;
use crate::handshake::{ServerSeen, Watch};
use crate::judge::{HandshakeJudge, Judge, Verify};
use crate::pem::Pem;
use crate::{judge, suites};

/// What TLS to servers is to be like.
#[derive(Default)]
pub struct ServerTerms {
    /// What is verified of a server's certificate.
    pub verify: Verify,
    /// Authorities that vouch for servers' certificates, or these themselves; those of the system
    /// where there are none.
    pub authorities: Vec<Pem>,
    /// Lists of certificates that are revoked.
    pub revoked: Vec<Pem>,
    /// The certificate to show to servers that ask for one, and its key.
    pub own: Option<(Pem, Pem)>,
    /// The setting that lists versions, and the list as MySQL writes it; all where it is empty.
    pub versions: (&'static str, String),
    /// The setting that lists suites, and the list by OpenSSL's names; all of a version of TLS of
    /// which it has none.
    pub suites: (&'static str, String),
}

/// Makes the codecs of connections to servers.
pub struct Connector {
    config: ClientConfig,
    judge: Arc<Judge>,
    certificates: Vec<Certificate>,
    /// By server, so that each resumes its own sessions.
    configs: Lock<HashMap<(String, u16), Arc<ClientConfig>>>,
}

/// Servers whose sessions are kept at most.
const SERVERS_MAX: usize = 1024;
/// Sessions of one server that are kept.
const SESSIONS_MAX: usize = 8;

impl Connector {
    /// One that keeps to these terms.
    pub fn new(terms: &ServerTerms) -> Result<Self, TlsFault> {
        let versions = suites::versions(terms.versions.0, &terms.versions.1)?;
        let (setting, list) = &terms.suites;
        let provider = Arc::new(suites::provider_of_both(setting, list)?);
        let mut certificates = Vec::new();
        let judge = Arc::new(Judge::new(terms, &provider, &mut certificates)?);
        let builder = ClientConfig::builder_with_provider(provider.clone())
            .with_protocol_versions(&versions)
            .map_err(|error| TlsFault::new(terms.versions.0, error.to_string()))?
            .dangerous()
            .with_custom_certificate_verifier(asked(&judge, true));
        let config = match &terms.own {
            None => builder.with_no_client_auth(),
            Some((chain, key)) => {
                let (own, certified) = chain.certified(key, &provider)?;
                certificates.push(own);
                builder.with_client_cert_resolver(Arc::new(SingleCertAndKey::from(certified)))
            }
        };
        Ok(Self { config, judge, certificates, configs: Lock::default() })
    }

    /// The codec of a connection to a server, for everything behind the request for TLS, and where
    /// to watch it. A server that `may_prove` itself by the account's password needs nobody who
    /// vouches for it where the terms say so. An error says why there is none.
    pub fn connect(
        &self,
        (host, port): (&str, u16),
        may_prove: bool,
    ) -> Result<(Box<dyn Codec>, Watch), String> {
        let (connection, called) = self.call(host, port, may_prove)?;
        let (records, watch) = Records::new(Connection::Client(connection), Side::Client(called));
        Ok((Box::new(records), watch))
    }

    /// The same for a stream that may block: what was seen of the server, and the stream in TLS.
    pub fn wrap<S: Read + Write>(
        &self,
        (host, port): (&str, u16),
        may_prove: bool,
        mut stream: S,
    ) -> Result<(ServerSeen, StreamOwned<ClientConnection, S>), String> {
        let (mut connection, called) = self.call(host, port, may_prove)?;
        while connection.is_handshaking() {
            connection.complete_io(&mut stream).map_err(|error| {
                let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<Error>());
                inner.map_or_else(|| error.to_string(), |error| called.words(error))
            })?;
        }
        let seen = called.seen(connection.peer_certificates());
        Ok((seen, StreamOwned::new(connection, stream)))
    }

    /// What `rustls` makes connections from, for sockets that have no codec. It proves nobody by a
    /// password, and resumes no session.
    pub fn config(&self) -> Arc<ClientConfig> {
        let mut config = self.config.clone();
        config.resumption = Resumption::disabled();
        Arc::new(config)
    }

    /// What is shown, and which authorities are trusted that were configured.
    pub fn certificates(&self) -> &[Certificate] {
        &self.certificates
    }

    fn call(
        &self,
        host: &str,
        port: u16,
        may_prove: bool,
    ) -> Result<(ClientConnection, Called), String> {
        let name = ServerName::try_from(host.to_owned())
            .map_err(|_| format!("`{host}` is no name that a certificate may be for"))?;
        let proves = may_prove && self.judge.lets_prove();
        let config = match proves {
            true => Arc::new(self.unjudged()),
            false => self.config_of(host, port),
        };
        let connection = ClientConnection::new(config, name.clone());
        let connection = connection.map_err(|error| error.to_string())?;
        Ok((connection, Called { name, judge: self.judge.clone(), proves }))
    }

    /// The configuration for one server, with its sessions.
    fn config_of(&self, host: &str, port: u16) -> Arc<ClientConfig> {
        let mut configs = self.configs.take();
        if configs.len() >= SERVERS_MAX {
            configs.clear();
        }
        let config = configs.entry((host.to_owned(), port)).or_insert_with(|| {
            let mut config = self.config.clone();
            config.resumption = Resumption::in_memory_sessions(SESSIONS_MAX);
            Arc::new(config)
        });
        config.clone()
    }

    /// The configuration for a server whose certificate is judged when the handshake is over. No
    /// session of it is resumed: what was seen then would not be seen again.
    fn unjudged(&self) -> ClientConfig {
        let mut config = self.config.clone();
        config.dangerous().set_certificate_verifier(asked(&self.judge, false));
        config.resumption = Resumption::disabled();
        config
    }
}

fn asked(judge: &Arc<Judge>, at_once: bool) -> Arc<HandshakeJudge> {
    Arc::new(HandshakeJudge { judge: judge.clone(), at_once })
}

/// What a handshake with a server is looked at with.
pub(crate) struct Called {
    name: ServerName<'static>,
    judge: Arc<Judge>,
    /// The certificate may go without an authority.
    proves: bool,
}

impl Called {
    /// What was seen of the server, when the handshake is over.
    pub(crate) fn seen(&self, shown: Option<&[CertificateDer<'_>]>) -> ServerSeen {
        let verified = self.judge.verified();
        let Some((own, others)) = shown.and_then(<[_]>::split_first).filter(|_| self.proves) else {
            return ServerSeen { verified, unproved: None };
        };
        match self.judge.judge(own, others, &self.name, UnixTime::now()) {
            Ok(()) => ServerSeen { verified, unproved: None },
            Err(error) => {
                let digest = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, own);
                let digest = digest.as_ref().try_into().unwrap_or_default();
                let doubt = self.words(&error);
                ServerSeen { verified: Verify::None, unproved: Some((digest, doubt)) }
            }
        }
    }

    /// What an error means, and what can be done about it.
    pub(crate) fn words(&self, error: &Error) -> String {
        judge::words(error, &certificate::host(&self.name), self.judge.authorities())
    }
}

#[cfg(test)]
mod tests;
