//! The certificates that clients are shown: which files they are in, and what is made where there
//! are none. What TLS to servers is made from is [`to_servers`]'s.
//!
//! Files in the data directory are named as ProxySQL names its own: `NAME-cert.pem` with
//! `NAME-key.pem`, and `NAME-ca.pem` for authorities of clients. The name is `tidegate`, or
//! `proxysql`. Certificates of other names are shown to clients that ask for one of their hosts.

mod to_servers;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use engine::config_fault::ConfigFault;
use engine::snapshot::Snapshot;
use engine::vars::Vars;
use io::Mailbox;
use tls::{Acceptor, ByServer, Certificate, Connectors, OwnCertificate, Pem, Terms, TlsFault};
use worker::Mail;

use crate::{clock, listening};

/// Reads certificates when that is asked for, and gives workers what clients get TLS from.
pub(crate) struct Certificates {
    dir: Option<PathBuf>,
    workers: Vec<Mailbox<Mail>>,
    /// In force; `None` where clients can have no TLS.
    acceptor: Mutex<Option<Arc<Acceptor>>>,
    /// In force towards servers, for whoever makes connections to them.
    connectors: Arc<Connectors>,
    /// When ends of certificates were last warned of, in seconds since 1970.
    warned_s: AtomicI64,
    /// What was last said of demands that nobody can meet.
    unmet: Mutex<Option<String>>,
    /// What was made in memory, for a process without a directory.
    own: Mutex<Option<Arc<OwnCertificate>>>,
}

/// Days before the end of a certificate from which on it is warned of.
const WARN_DAYS: i64 = 30;
const DAY_S: i64 = 86_400;

impl Certificates {
    /// Those of a data directory, where there is one. Before there are workers: a process whose
    /// certificates cannot be read serves whoever can do without.
    pub(crate) fn new(dir: Option<PathBuf>, snapshot: &Snapshot) -> Self {
        let (workers, acceptor, warned_s, unmet, own) = Default::default();
        let connectors = Arc::<Connectors>::default();
        connectors.replace(to_servers::as_far_as_can_be(snapshot));
        let certificates = Self { dir, workers, acceptor, connectors, warned_s, unmet, own };
        match certificates.read(&snapshot.vars) {
            Ok(acceptor) => {
                *lock(&certificates.acceptor) = acceptor;
                certificates.warn_of_ends();
            }
            Err(fault) => tracing::error!("clients cannot have TLS: {fault}"),
        }
        certificates.warn_of_demands(snapshot);
        certificates
    }

    /// What cannot be read of what a configuration names, where that is all that is known: who can
    /// have no TLS, and why.
    pub(crate) fn faults(snapshot: &Snapshot) -> Vec<String> {
        let (workers, acceptor, connectors, warned_s, unmet, own) = Default::default();
        let nowhere = Self { dir: None, workers, acceptor, connectors, warned_s, unmet, own };
        let acceptor = nowhere.read(&snapshot.vars);
        let lacks = |who: &str, fault: &ConfigFault| format!("{who} cannot have TLS: {fault}");
        let to_clients = acceptor.as_ref().err().map(|fault| lacks("clients", fault));
        let unmet = match acceptor {
            // which authorities there will be is not known
            Ok(Some(_)) => None,
            Ok(None) | Err(_) => unmet_by(None, snapshot),
        };
        let to_servers = to_servers::faults(snapshot);
        let to_servers = to_servers.iter().map(|fault| lacks("servers", fault));
        to_clients.into_iter().chain(unmet).chain(to_servers).collect()
    }

    /// The same, with workers that are to be told of changes.
    pub(crate) fn tell(self, workers: Vec<Mailbox<Mail>>) -> Self {
        Self { workers, ..self }
    }

    /// What clients get TLS from now.
    pub(crate) fn current(&self) -> Option<Arc<Acceptor>> {
        lock(&self.acceptor).clone()
    }

    /// What connections to servers have their TLS from, now and when that changes.
    pub(crate) fn connectors(&self) -> Arc<Connectors> {
        self.connectors.clone()
    }

    /// What clients and servers are shown, and which authorities vouch for theirs.
    pub(crate) fn shown(&self) -> Vec<Certificate> {
        let acceptor = self.current();
        let to_clients = acceptor.iter().flat_map(|acceptor| acceptor.certificates()).cloned();
        let by_server = self.connectors.current();
        let to_servers = by_server.iter().filter_map(|found| found.as_ref().ok());
        let to_servers = to_servers.flat_map(|connector| connector.certificates()).cloned();
        to_clients.chain(to_servers).collect()
    }

    /// Reads what other settings of TLS name, for [`Self::take_over`].
    pub(crate) fn prepare(
        &self,
        before: &Snapshot,
        after: &Snapshot,
    ) -> Result<PreparedCertificates, ConfigFault> {
        // also where a file cannot be read: changes of anything else are not refused for it
        let to_servers = match to_servers::are_same(before, after) {
            true => None,
            false => Some(to_servers::read(after)?),
        };
        let to_clients = self.prepare_to_clients(&before.vars, &after.vars)?;
        Ok(PreparedCertificates { to_clients, to_servers })
    }

    fn prepare_to_clients(&self, before: &Vars, after: &Vars) -> Result<ToClients, ConfigFault> {
        let settings = |vars: &Vars| {
            let files = [&vars.ssl_cert, &vars.ssl_key, &vars.ssl_ca, &vars.ssl_crl];
            let terms = [&vars.tls_version, &vars.ssl_cipher, &vars.tls_ciphersuites];
            (vars.have_ssl, files.map(String::clone), terms.map(String::clone))
        };
        match settings(before) == settings(after) {
            true => Ok(None),
            false => self.read(after).map(Some),
        }
    }

    /// Reads all files again. When that fails, nothing has changed.
    pub(crate) fn reload(&self, snapshot: &Snapshot) -> Result<(), ConfigFault> {
        let to_servers = Some(to_servers::read(snapshot)?);
        let to_clients = Some(self.read(&snapshot.vars)?);
        self.take_over(PreparedCertificates { to_clients, to_servers }, snapshot);
        Ok(())
    }

    /// Has connections that are made from now on get their TLS from there.
    pub(crate) fn take_over(&self, prepared: PreparedCertificates, snapshot: &Snapshot) {
        self.adopt(prepared);
        self.warn_of_demands(snapshot);
    }

    fn adopt(&self, PreparedCertificates { to_clients, to_servers }: PreparedCertificates) {
        if to_clients.is_none() && to_servers.is_none() {
            return;
        }
        if let Some(acceptor) = to_clients {
            for worker in &self.workers {
                listening::post(worker, Mail::Acceptor(acceptor.clone()));
            }
            *lock(&self.acceptor) = acceptor;
        }
        if let Some(connectors) = to_servers {
            self.connectors.replace(connectors);
        }
        self.warned_s.store(0, Ordering::Relaxed);
        self.warn_of_ends();
    }

    /// Warns, once each time that it begins, of what is demanded of clients and cannot be had.
    fn warn_of_demands(&self, snapshot: &Snapshot) {
        let unmet = unmet_by(self.current().as_deref(), snapshot);
        let before = std::mem::replace(&mut *lock(&self.unmet), unmet.clone());
        if let Some(unmet) = unmet.filter(|unmet| before.as_ref() != Some(unmet)) {
            tracing::warn!("{unmet}");
        }
    }

    /// Warns of certificates that end soon, once a day and when others come into force.
    pub(crate) fn warn_of_ends(&self) {
        let now_s = now_s();
        if now_s - self.warned_s.load(Ordering::Relaxed) < DAY_S {
            return;
        }
        self.warned_s.store(now_s, Ordering::Relaxed);
        for certificate in self.shown() {
            let (days, Certificate { file, subject, .. }) =
                (certificate.days_left(now_s), &certificate);
            if certificate.is_list() {
                // most are made anew each week or each day
                if days < 0 {
                    tracing::warn!(file, "a list of revoked certificates is out of date");
                }
            } else if days < 0 {
                tracing::warn!(file, subject, "a certificate has expired");
            } else if days < WARN_DAYS {
                tracing::warn!(file, subject, days, "a certificate expires soon");
            }
        }
    }

    fn read(&self, vars: &Vars) -> Result<Option<Arc<Acceptor>>, ConfigFault> {
        if !vars.have_ssl {
            return Ok(None);
        }
        let acceptor = self.terms(vars).and_then(|terms| Acceptor::new(&terms)).map_err(fault)?;
        Ok(Some(Arc::new(acceptor)))
    }

    fn terms(&self, vars: &Vars) -> Result<Terms, TlsFault> {
        let configured = |setting, file: &str| match file {
            "" => Ok(None),
            file => Pem::read(setting, Path::new(file)).map(Some),
        };
        let mut terms = Terms {
            authorities: configured("ssl_ca", &vars.ssl_ca)?,
            revoked: configured("ssl_crl", &vars.ssl_crl)?,
            versions: vars.tls_version.clone(),
            suites: vars.ssl_cipher.clone(),
            suites_of_1_3: vars.tls_ciphersuites.clone(),
            ..Terms::default()
        };
        let [certificates, keys] = [&vars.ssl_cert, &vars.ssl_key].map(|list| files(list));
        if certificates.len() != keys.len() {
            let (certificates, keys) = (certificates.len(), keys.len());
            let reason = format!("{keys} files, for {certificates} of mysql-ssl_cert");
            return Err(TlsFault { setting: "ssl_key", reason });
        }
        for (certificate, key) in certificates.into_iter().zip(keys) {
            terms
                .certificates
                .push((Pem::read("ssl_cert", certificate)?, Pem::read("ssl_key", key)?));
        }
        if terms.certificates.is_empty() {
            match &self.dir {
                Some(dir) => of_directory(dir, &mut terms)?,
                None => self.of_memory(&mut terms)?,
            }
        }
        Ok(terms)
    }

    /// Certificates of a process that has no directory to keep them in: others at each start.
    fn of_memory(&self, terms: &mut Terms) -> Result<(), TlsFault> {
        let mut own = lock(&self.own);
        let own = match &*own {
            Some(own) => own.clone(),
            None => own.insert(Arc::new(make()?)).clone(),
        };
        let pem = |setting, text: &String| Pem::of_text(setting, text);
        terms.certificates.push((pem("ssl_cert", &own.certificate), pem("ssl_key", &own.key)));
        Ok(())
    }
}

/// What was read and is not in force yet.
pub(crate) struct PreparedCertificates {
    to_clients: ToClients,
    /// `None` where nothing has changed.
    to_servers: Option<ByServer>,
}

/// What gives clients TLS, if they can have it; `None` where nothing has changed.
type ToClients = Option<Option<Arc<Acceptor>>>;

/// Between two steps everything is whole, whatever happened to the thread that held it.
fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

fn fault(TlsFault { setting, reason }: TlsFault) -> ConfigFault {
    ConfigFault { table: "mysql_variables", row: None, column: setting.to_owned(), reason }
}

/// What is demanded of clients that these can have no TLS for, and why.
fn unmet_by(acceptor: Option<&Acceptor>, snapshot: &Snapshot) -> Option<String> {
    let vars = &snapshot.vars;
    let mut demands = vars.interfaces_tls.demands();
    if let Some(acceptor) = acceptor {
        let is_unmet = !acceptor.asks() && demands.any(|demand| demand.certificate);
        let told = "mysql-interfaces_tls demands certificates of clients, and there is no ssl_ca \
                    that could vouch for one";
        return is_unmet.then(|| told.to_owned());
    }
    let by_accounts = || snapshot.users.iter().any(|account| account.use_ssl);
    let who = match demands.next() {
        _ if vars.require_secure_transport => "mysql-require_secure_transport demands",
        Some(_) => "mysql-interfaces_tls demands",
        None if by_accounts() => "accounts with use_ssl = 1 demand",
        None => return None,
    };
    let why = if vars.have_ssl { "there is no certificate" } else { "mysql-have_ssl is false" };
    Some(format!("{who} TLS of clients, and they can have none: {why}"))
}

/// The files of a list.
fn files(list: &str) -> Vec<&Path> {
    let names = list.split(';').map(str::trim).filter(|name| !name.is_empty());
    names.map(Path::new).collect()
}

/// Adds the certificates of a directory, and its authorities where none are configured.
fn of_directory(dir: &Path, terms: &mut Terms) -> Result<(), TlsFault> {
    let mut names = names(dir)?;
    if names.is_empty() {
        let paths = ["ca", "cert", "key"].map(|part| file(dir, OWN, part));
        make()?.write([&paths[0], &paths[1], &paths[2]])?;
        tracing::info!(certificate = %paths[1].display(), "made certificates for TLS");
        names.push(OWN.to_owned());
    }
    for name in &names {
        let certificate = Pem::read("ssl_cert", &file(dir, name, "cert"))?;
        let key = Pem::read("ssl_key", &file(dir, name, "key"))?;
        terms.certificates.push((certificate, key));
    }
    let authorities = file(dir, &names[0], "ca");
    if terms.authorities.is_none() && authorities.exists() {
        terms.authorities = Some(Pem::read("ssl_ca", &authorities)?);
    }
    Ok(())
}

/// The names of which a directory has certificates: Tidegate's, ProxySQL's, and then the others.
fn names(dir: &Path) -> Result<Vec<String>, TlsFault> {
    let unreadable = |error: std::io::Error| TlsFault {
        setting: "ssl_cert",
        reason: format!("{}: it cannot be read: {error}", dir.display()),
    };
    let mut names = Vec::new();
    for entry in std::fs::read_dir(dir).map_err(unreadable)? {
        let name = entry.map_err(unreadable)?.file_name();
        names.extend(
            name.to_str().and_then(|name| name.strip_suffix("-cert.pem")).map(str::to_owned),
        );
    }
    names.sort_by_key(|name| (name != OWN, name != "proxysql", name.clone()));
    Ok(names)
}

fn file(dir: &Path, name: &str, part: &str) -> PathBuf {
    dir.join(format!("{name}-{part}.pem"))
}

fn make() -> Result<OwnCertificate, TlsFault> {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    OwnCertificate::make(host.trim(), now_s())
}

fn now_s() -> i64 {
    (clock::unix_us() / 1_000_000).cast_signed()
}

/// The name of the files that are made.
const OWN: &str = "tidegate";

#[cfg(test)]
mod tests;
