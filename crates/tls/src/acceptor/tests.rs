use super::{Acceptor, Terms};
use crate::certificate::fits;
use crate::{OwnCertificate, Pem};

fn own() -> OwnCertificate {
    OwnCertificate::make("db.example", 1_800_000_000).expect("it can be made")
}

fn terms(certificate: &str, key: &str) -> Terms {
    let pair = (Pem::of_text("ssl_cert", certificate), Pem::of_text("ssl_key", key));
    Terms { certificates: vec![pair], ..Terms::default() }
}

fn fault(terms: &Terms) -> String {
    Acceptor::new(terms).err().expect("the terms are wrong").to_string()
}

#[test]
fn each_fault_names_its_setting() {
    let (own, other) = (own(), self::own());
    let mismatch = fault(&terms(&own.certificate, &other.key));
    assert_eq!(mismatch, "ssl_key: it is not the key of the certificate in ");
    assert_eq!(fault(&terms("nothing", &own.key)), "ssl_cert: there is no certificate in it");
    let none = fault(&terms(&own.certificate, &own.certificate));
    assert_eq!(none, "ssl_key: there is no private key in it");
    let encrypted = "-----BEGIN ENCRYPTED PRIVATE KEY-----\nMA==\n\
                     -----END ENCRYPTED PRIVATE KEY-----\n";
    assert_eq!(
        fault(&terms(&own.certificate, encrypted)),
        "ssl_key: the private key is encrypted; `openssl pkey` decrypts it"
    );
    assert_eq!(fault(&Terms::default()), "ssl_cert: there is no certificate to show");
    let revoked = Some(Pem::of_text("ssl_crl", "nothing"));
    let alone = Terms { revoked, ..terms(&own.certificate, &own.key) };
    assert_eq!(fault(&alone), "ssl_crl: there is no ssl_ca whose certificates it lists");
    let missing = Pem::read("ssl_ca", "/nowhere/ca.pem".as_ref()).err().expect("not there");
    let text = "ssl_ca: /nowhere/ca.pem: it cannot be read: No such file or directory (os error 2)";
    assert_eq!(missing.to_string(), text);
}

#[test]
fn what_is_shown_is_told() {
    let own = own();
    let ca = Some(Pem::of_text("ssl_ca", &own.authority));
    let terms = Terms { authorities: ca, ..terms(&own.certificate, &own.key) };
    let acceptor = Acceptor::new(&terms).expect("the terms are fine");
    let [server, authority] = acceptor.certificates() else { panic!("two") };
    assert_eq!(server.subject, "CN=Tidegate_Auto_Generated_Server_Certificate");
    assert_eq!(server.issuer, authority.subject);
    let names = ["DNS:db.example", "DNS:localhost", "IP:127.0.0.1", "IP:::1"];
    assert_eq!(server.names, names);
    assert_eq!(server.days_left(1_800_000_000), 3650);
    assert_eq!(server.days_left(server.not_after_s + 1), -1);
    assert_eq!(server.fingerprint.len(), 32 * 3 - 1);
}

#[test]
fn a_star_stands_for_one_label() {
    assert!(fits("*.example", "DB.example") && fits("Db.example", "db.EXAMPLE"));
    assert!(!fits("*.example", "a.db.example") && !fits("*.example", "example"));
}
