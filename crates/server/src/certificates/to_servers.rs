//! What TLS to servers is made from: variables, rows that stand in their place for one server, and
//! the files that these name.

use std::path::Path;
use std::sync::Arc;

use engine::config_fault::ConfigFault;
use engine::rows::{Row, ServerTlsRow};
use engine::snapshot::Snapshot;
use engine::vars::Vars;
use tls::{ByServer, Connector, Pem, ServerTerms, TlsFault, Verify};

/// One group of settings: what each is called, and what it says.
struct Settings<'a> {
    ca: Named<'a>,
    capath: Named<'a>,
    cert: Named<'a>,
    key: Named<'a>,
    crl: Named<'a>,
    crlpath: Named<'a>,
    cipher: Named<'a>,
    versions: Named<'a>,
    verify: &'a str,
}

type Named<'a> = (&'static str, &'a str);

/// Whether two configurations say the same of TLS to servers.
pub(super) fn are_same(one: &Snapshot, other: &Snapshot) -> bool {
    let told = |vars: &Vars| {
        let Settings { ca, capath, cert, key, crl, crlpath, cipher, verify, .. } = of_vars(vars);
        [ca, capath, cert, key, crl, crlpath, cipher, ("", verify)].map(|(_, it)| it.to_owned())
    };
    one.draft.server_tls == other.draft.server_tls && told(&one.vars) == told(&other.vars)
}

/// Reads everything, or says what cannot be read.
pub(super) fn read(snapshot: &Snapshot) -> Result<ByServer, ConfigFault> {
    let (by_server, faults) = each(snapshot);
    match faults.into_iter().next() {
        Some(fault) => Err(fault),
        None => Ok(by_server),
    }
}

/// The same for a process that starts: what cannot be read is told in the log, and to whoever needs
/// it.
pub(super) fn as_far_as_can_be(snapshot: &Snapshot) -> ByServer {
    let (by_server, faults) = each(snapshot);
    faults.iter().for_each(|fault| tracing::error!("servers cannot have TLS: {fault}"));
    by_server
}

/// Everything that cannot be read, where there are servers that need it.
pub(super) fn faults(snapshot: &Snapshot) -> Vec<ConfigFault> {
    match snapshot.draft.servers.iter().any(|server| server.use_ssl == 1) {
        true => each(snapshot).1,
        false => Vec::new(),
    }
}

/// Reads all groups of settings; what cannot be read stands in its place, and is told.
fn each(snapshot: &Snapshot) -> (ByServer, Vec<ConfigFault>) {
    let mut faults = Vec::new();
    let mut keep = |read: Result<Connector, ConfigFault>| {
        read.map(Arc::new).map_err(|fault| {
            let text = fault.to_string();
            faults.push(fault);
            text
        })
    };
    let vars = &snapshot.vars;
    let others = Some(keep(connector(&of_vars(vars)).map_err(super::fault)));
    let rows = snapshot.draft.server_tls.iter().enumerate();
    let own = rows.map(|(at, row)| {
        let read = connector(&of_row(row, vars)).map_err(|fault| of_row_at(at, fault));
        (key(row), keep(read))
    });
    let own = own.collect();
    (ByServer { others, own }, faults)
}

fn key(row: &ServerTlsRow) -> (String, u16, String) {
    (row.hostname.clone(), u16::try_from(row.port).unwrap_or(0), row.username.clone())
}

fn of_row_at(at: usize, TlsFault { setting, reason }: TlsFault) -> ConfigFault {
    let table = ServerTlsRow::TABLE.name;
    ConfigFault { table, row: Some(at), column: setting.to_owned(), reason }
}

fn of_vars(vars: &Vars) -> Settings<'_> {
    Settings {
        ca: ("ssl_p2s_ca", &vars.ssl_p2s_ca),
        capath: ("ssl_p2s_capath", &vars.ssl_p2s_capath),
        cert: ("ssl_p2s_cert", &vars.ssl_p2s_cert),
        key: ("ssl_p2s_key", &vars.ssl_p2s_key),
        crl: ("ssl_p2s_crl", &vars.ssl_p2s_crl),
        crlpath: ("ssl_p2s_crlpath", &vars.ssl_p2s_crlpath),
        cipher: ("ssl_p2s_cipher", &vars.ssl_p2s_cipher),
        versions: ("tls_version", ""),
        verify: &vars.ssl_p2s_verify,
    }
}

/// All of a row stands in the place of the variables, but for what it leaves to the one that
/// ProxySQL does not have.
fn of_row<'a>(row: &'a ServerTlsRow, vars: &'a Vars) -> Settings<'a> {
    Settings {
        ca: ("ssl_ca", &row.ssl_ca),
        capath: ("ssl_capath", &row.ssl_capath),
        cert: ("ssl_cert", &row.ssl_cert),
        key: ("ssl_key", &row.ssl_key),
        crl: ("ssl_crl", &row.ssl_crl),
        crlpath: ("ssl_crlpath", &row.ssl_crlpath),
        cipher: ("ssl_cipher", &row.ssl_cipher),
        versions: ("tls_version", &row.tls_version),
        verify: if row.ssl_verify.is_empty() { &vars.ssl_p2s_verify } else { &row.ssl_verify },
    }
}

fn connector(settings: &Settings<'_>) -> Result<Connector, TlsFault> {
    let own = match (file(settings.cert)?, file(settings.key)?) {
        (Some(cert), Some(key)) => Some((cert, key)),
        (None, None) => None,
        (Some(_), None) => return Err(alone(settings.key.0, settings.cert.0)),
        (None, Some(_)) => return Err(alone(settings.cert.0, settings.key.0)),
    };
    let owned = |(setting, text): Named<'_>| (setting, text.to_owned());
    Connector::new(&ServerTerms {
        verify: Verify::of_name(settings.verify).unwrap_or_default(),
        authorities: files(settings.ca, settings.capath, "CERTIFICATE")?,
        revoked: files(settings.crl, settings.crlpath, "X509 CRL")?,
        own,
        versions: owned(settings.versions),
        suites: owned(settings.cipher),
    })
}

fn alone(setting: &'static str, other: &str) -> TlsFault {
    TlsFault { setting, reason: format!("there is none, where there is one for {other}") }
}

fn file((setting, name): Named<'_>) -> Result<Option<Pem>, TlsFault> {
    match name {
        "" => Ok(None),
        name => Pem::read(setting, Path::new(name)).map(Some),
    }
}

/// A file, and those of that kind in a directory.
fn files(one: Named<'_>, (setting, dir): Named<'_>, kind: &str) -> Result<Vec<Pem>, TlsFault> {
    let mut files: Vec<_> = file(one)?.into_iter().collect();
    if !dir.is_empty() {
        files.extend(Pem::read_all(setting, Path::new(dir), kind)?);
    }
    Ok(files)
}
