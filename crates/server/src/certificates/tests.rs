use std::os::unix::fs::PermissionsExt;

use engine::snapshot::{Draft, Snapshot};

use super::Certificates;

fn configured(pairs: &[(&str, &str)]) -> Snapshot {
    let pairs =
        pairs.iter().map(|(name, value)| (format!("mysql-{name}"), (*value).to_owned())).collect();
    let draft = Draft { variables: pairs, ..Draft::default() };
    Snapshot::compile(&draft).expect("valid")
}

/// A directory of a test, which goes with it.
struct Dir(std::path::PathBuf);

impl Dir {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("tidegate-tls-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("it can be made");
        Self(path)
    }

    fn shown(&self, wanted: &Snapshot) -> Vec<String> {
        let acceptor = Certificates::new(Some(self.0.clone()), wanted).current().expect("TLS");
        let name = |file: &str| file.rsplit('/').next().unwrap_or_default().to_owned();
        acceptor.certificates().iter().map(|own| name(&own.file)).collect()
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn what_is_missing_is_made_once_and_kept_from_others() {
    let dir = Dir::new("made");
    let wanted = configured(&[]);
    let files = ["tidegate-cert.pem", "tidegate-ca.pem"];
    assert_eq!(dir.shown(&wanted), files);
    let key = dir.0.join("tidegate-key.pem");
    let content = std::fs::read(&key).expect("it is there");
    let mode = std::fs::metadata(&key).expect("it is there").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert_eq!(dir.shown(&wanted), files);
    assert_eq!(std::fs::read(&key).expect("it is there"), content);
}

#[test]
fn an_authority_that_is_there_is_left_alone_and_nothing_is_made_in_part() {
    let dir = Dir::new("there");
    let authority = dir.0.join("tidegate-ca.pem");
    let other = tls::OwnCertificate::make("other", 1_800_000_000).expect("it can be made");
    std::fs::write(&authority, &other.authority).expect("written");
    assert_eq!(dir.shown(&configured(&[])), ["tidegate-cert.pem", "tidegate-ca.pem"]);
    assert_eq!(std::fs::read_to_string(&authority).expect("there"), other.authority);
    let certificate = dir.0.join("tidegate-cert.pem");
    let chain = std::fs::read_to_string(&certificate).expect("there");
    assert_eq!(chain.matches("BEGIN CERTIFICATE").count(), 2);
    // a key without its certificate is not written over
    std::fs::remove_file(&certificate).expect("gone");
    let fault = Certificates::new(Some(dir.0.clone()), &configured(&[("have_ssl", "false")]))
        .reload(&configured(&[]))
        .expect_err("the key is in the way");
    assert!(
        fault.to_string().contains("tidegate-key.pem: it cannot be made: File exists"),
        "{fault}"
    );
    assert!(!certificate.exists());
}

#[test]
fn proxysql_s_files_serve_and_others_are_there_for_names() {
    let dir = Dir::new("others");
    dir.shown(&configured(&[]));
    for part in ["cert", "key", "ca"] {
        let own = dir.0.join(format!("tidegate-{part}.pem"));
        std::fs::copy(&own, dir.0.join(format!("a-{part}.pem"))).expect("copied");
        std::fs::rename(&own, dir.0.join(format!("proxysql-{part}.pem"))).expect("moved");
    }
    let files = ["proxysql-cert.pem", "a-cert.pem", "proxysql-ca.pem"];
    assert_eq!(dir.shown(&configured(&[])), files);
}

#[test]
fn what_cannot_be_read_changes_nothing() {
    let dir = Dir::new("unread");
    let before = configured(&[]);
    let certificates = Certificates::new(Some(dir.0.clone()), &before);
    let first = certificates.current().expect("TLS");
    std::fs::write(dir.0.join("tidegate-key.pem"), "").expect("written");
    let fault = certificates.reload(&before).expect_err("there is no key").to_string();
    let file = dir.0.join("tidegate-key.pem");
    let told = format!(
        "mysql_variables column ssl_key: {}: there is no private key in it",
        file.display()
    );
    assert_eq!(fault, told);
    assert!(std::sync::Arc::ptr_eq(&first, &certificates.current().expect("TLS")));
    let one_key = configured(&[("ssl_cert", "/a;/b"), ("ssl_key", "/c")]);
    let fault = certificates.prepare(&before, &one_key).err().expect("a key is missing");
    assert_eq!(
        fault.to_string(),
        "mysql_variables column ssl_key: 1 files, for 2 of mysql-ssl_cert"
    );
    let off = configured(&[("have_ssl", "false")]);
    let prepared = certificates.prepare(&before, &off).expect("nothing is read");
    certificates.take_over(prepared, &off);
    assert!(certificates.current().is_none());
}

#[test]
fn a_file_for_tls_to_servers_is_named_with_its_row_and_costs_no_other() {
    use engine::rows::{ServerTlsRow, UserRow};
    let dir = Dir::new("servers");
    let own = tls::OwnCertificate::make("db", 1_800_000_000).expect("it can be made");
    let file = |name: &str, text: &str| {
        let path = dir.0.join(name);
        std::fs::write(&path, text).expect("written");
        path.display().to_string()
    };
    let (good, key) = (file("ca.pem", &own.authority), file("own-key.pem", &own.key));
    let row = |hostname: &str, ssl_ca: &str| ServerTlsRow {
        hostname: hostname.to_owned(),
        ssl_ca: ssl_ca.to_owned(),
        ..ServerTlsRow::default()
    };
    let with = |rows: Vec<ServerTlsRow>| {
        let draft = Draft { server_tls: rows, ..Draft::default() };
        Snapshot::compile(&draft).expect("valid")
    };
    let before = with(Vec::new());
    let certificates = Certificates::new(Some(dir.0.clone()), &before);
    for (bad, column, reason) in [
        (row("b", "/nowhere"), "ssl_ca", "/nowhere: it cannot be read: No such file"),
        (row("b", &key), "ssl_ca", "there is no certificate in it"),
        (ServerTlsRow { ssl_key: key.clone(), ..row("b", "") }, "ssl_cert", "where there is one"),
        (ServerTlsRow { ssl_capath: "/dev".into(), ..row("b", "") }, "ssl_capath", "has a CERT"),
        (
            ServerTlsRow { ssl_cipher: "HIGH".into(), ..row("b", "") },
            "ssl_cipher",
            "item 1, `HIGH`",
        ),
        (ServerTlsRow { tls_version: "TLSv1".into(), ..row("b", "") }, "tls_version", "is broken"),
    ] {
        let after = with(vec![row("a", &good), bad]);
        let fault = certificates.prepare(&before, &after).err().expect("refused").to_string();
        let begin = format!("mysql_servers_ssl_params row 2 column {column}: ");
        assert!(fault.starts_with(&begin) && fault.contains(reason), "{fault}");
        // a process that starts with it has the others, and everything else may change
        let started = Certificates::new(Some(dir.0.clone()), &after);
        let found = |host: &str| started.connectors().find(host, 3306, "app").err();
        assert_eq!((found("a"), found("b"), found("c")), (None, Some(fault.clone()), None));
        let locked = UserRow { username: "app".into(), active: 0, ..UserRow::default() };
        let draft = Draft { users: vec![locked], ..Draft::clone(&after.draft) };
        let other = Snapshot::compile(&draft).expect("valid");
        let prepared = started.prepare(&after, &other).expect("nothing is read");
        assert!(prepared.to_servers.is_none());
        let again = started.reload(&other).err().map(|fault| fault.to_string());
        assert_eq!(again, Some(fault));
    }
}
