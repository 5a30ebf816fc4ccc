use rcgen::{CertificateParams, DnType, IsCa, Issuer, KeyPair};

use super::{Connector, ServerTerms};
use crate::codec::tests::{Side, now_s, settle};
use crate::{Acceptor, Handshake, OwnCertificate, Pem, Terms, Verify};

const SERVER: (&str, u16) = ("db.example", 3306);

/// What is called and shown, and by what it is judged.
struct Case<'a> {
    shown: (&'a str, &'a str),
    authorities: &'a str,
    verify: Verify,
    host: &'a str,
    may_prove: bool,
}

fn pem(setting: &'static str, text: &str) -> Pem {
    Pem::of_text(setting, text)
}

fn own() -> OwnCertificate {
    OwnCertificate::make(SERVER.0, now_s()).expect("it can be made")
}

fn acceptor(certificate: &str, key: &str, amend: impl Fn(&mut Terms)) -> Acceptor {
    let pair = (pem("ssl_cert", certificate), pem("ssl_key", key));
    let mut terms = Terms { certificates: vec![pair], ..Terms::default() };
    amend(&mut terms);
    Acceptor::new(&terms).expect("the terms are fine")
}

fn connector(authorities: &str, verify: Verify, amend: impl Fn(&mut ServerTerms)) -> Connector {
    let authorities = (!authorities.is_empty()).then(|| pem("ssl_p2s_ca", authorities));
    let authorities = authorities.into_iter().collect();
    let mut terms = ServerTerms { verify, authorities, ..ServerTerms::default() };
    amend(&mut terms);
    Connector::new(&terms).expect("the terms are fine")
}

/// What a client sees of a handshake, or why there is none.
fn meet(
    acceptor: &Acceptor,
    connector: &Connector,
    (host, may_prove): (&str, bool),
) -> Result<Handshake, String> {
    let (server, _) = acceptor.accept().expect("random bytes");
    let (client, watch) = connector.connect((host, SERVER.1), may_prove)?;
    settle(&mut [Side::new(client), Side::new(server)], 4096);
    watch.handshake().cloned().ok_or_else(|| watch.fault().unwrap_or("no end").to_owned())
}

fn seen(case: &Case<'_>) -> Result<(Verify, bool), String> {
    let acceptor = acceptor(case.shown.0, case.shown.1, |_| {});
    let connector = connector(case.authorities, case.verify, |_| {});
    let handshake = meet(&acceptor, &connector, (case.host, case.may_prove))?;
    let server = handshake.server.expect("it is a client's");
    Ok((server.verified, server.unproved.is_some()))
}

#[test]
fn a_server_is_taken_for_what_vouches_for_it() {
    let (own, other) = (own(), self::own());
    let shown = (&*own.certificate, &*own.key);
    let no_authority = "no authority that is configured vouches for the server's certificate; \
                        ssl_p2s_ca, or ssl_ca in mysql_servers_ssl_params, may name a file of its \
                        authority or of itself";
    let wrong_name = "the server's certificate is for db.example, localhost, 127.0.0.1, ::1, and \
                      not for other.example";
    let (a, b) = (&*own.authority, &*other.authority);
    for (authorities, verify, host, told) in [
        (a, Verify::Identity, SERVER.0, Ok(())),
        (a, Verify::Identity, "127.0.0.1", Ok(())),
        (a, Verify::Identity, "::1", Ok(())),
        (a, Verify::Identity, "other.example", Err(wrong_name)),
        (a, Verify::Ca, "other.example", Ok(())),
        (b, Verify::Ca, SERVER.0, Err(no_authority)),
        (b, Verify::None, "other.example", Ok(())),
        // the file may have the certificate itself
        (shown.0, Verify::Identity, SERVER.0, Ok(())),
        (shown.0, Verify::Identity, "other.example", Err(wrong_name)),
    ] {
        let case = Case { shown, authorities, verify, host, may_prove: true };
        let told = told.map(|()| (verify, false)).map_err(str::to_owned);
        assert_eq!(seen(&case), told, "{verify:?} of {host}");
    }
}

#[test]
fn a_server_without_authority_may_prove_itself_where_the_operator_lets_it() {
    let own = own();
    let shown = (&*own.certificate, &*own.key);
    let case =
        |verify, may_prove| Case { shown, authorities: "", verify, host: SERVER.0, may_prove };
    assert_eq!(seen(&case(Verify::Password, true)), Ok((Verify::None, true)));
    assert_eq!(seen(&case(Verify::None, true)), Ok((Verify::None, false)));
    for case in [case(Verify::Identity, true), case(Verify::Password, false)] {
        let error = seen(&case).expect_err("nothing vouches for it");
        assert!(error.starts_with("no authority that the system trusts vouches"), "{error}");
    }
    let authorities = &own.authority;
    let known = Case { authorities, ..case(Verify::Password, true) };
    assert_eq!(seen(&known), Ok((Verify::Identity, false)));
}

#[test]
fn a_session_is_resumed_with_its_own_server_and_no_other() {
    let own = own();
    let acceptor = acceptor(&own.certificate, &own.key, |_| {});
    let connector = connector(&own.authority, Verify::Identity, |_| {});
    let resumed = |port| {
        let (server, _) = acceptor.accept().expect("random bytes");
        let (client, watch) = connector.connect((SERVER.0, port), true).expect("a name");
        settle(&mut [Side::new(client), Side::new(server)], 4096);
        watch.handshake().expect("it is over").is_resumed
    };
    assert_eq!([resumed(1), resumed(1), resumed(2), resumed(2)], [false, true, false, true]);
}

#[test]
fn what_a_server_does_not_speak_is_told_by_name() {
    let own = own();
    let new = acceptor(&own.certificate, &own.key, |terms| terms.versions = "TLSv1.3".into());
    let old = connector(&own.authority, Verify::Ca, |terms| {
        terms.versions = ("tls_version", "TLSv1.2".into());
    });
    assert_eq!(
        meet(&new, &old, (SERVER.0, false)).expect_err("no version"),
        "the server speaks no version of TLS that is allowed here; TLSv1.2 and TLSv1.3 can be"
    );
    let one = acceptor(&own.certificate, &own.key, |terms| {
        (terms.versions, terms.suites) = ("TLSv1.2".into(), "ECDHE-ECDSA-AES128-GCM-SHA256".into());
    });
    let other = connector(&own.authority, Verify::Ca, |terms| {
        terms.suites = ("ssl_p2s_cipher", "ECDHE-ECDSA-AES256-GCM-SHA384".into());
    });
    let error = meet(&one, &other, (SERVER.0, false)).expect_err("no suite");
    assert!(error.starts_with("the server has no cipher suite that is allowed here"), "{error}");
    let fits = connector(&own.authority, Verify::Ca, |terms| {
        terms.suites =
            ("ssl_p2s_cipher", "TLS_AES_128_GCM_SHA256:ECDHE-ECDSA-AES128-GCM-SHA256".into());
    });
    let handshake = meet(&one, &fits, (SERVER.0, false)).expect("they agree");
    assert_eq!(handshake.cipher, "ECDHE-ECDSA-AES128-GCM-SHA256");
    let terms = ServerTerms { suites: ("ssl_p2s_cipher", "HIGH".into()), ..ServerTerms::default() };
    let fault = Connector::new(&terms).err().expect("a class is no suite").to_string();
    assert!(fault.starts_with("ssl_p2s_cipher: item 1, `HIGH`, is no suite"), "{fault}");
}

#[test]
fn a_certificate_that_has_ended_or_not_begun_is_refused() {
    const DAY_S: i64 = 86_400;
    for (from_s, error) in [
        (now_s() - 4000 * DAY_S, "the server's certificate has expired"),
        (now_s() + 10 * DAY_S, "the server's certificate is not valid yet"),
    ] {
        let own = OwnCertificate::make(SERVER.0, from_s).expect("it can be made");
        // of an authority, and configured itself
        for authorities in [&own.authority, &own.certificate] {
            let shown = (&*own.certificate, &*own.key);
            let verify = Verify::Ca;
            let case = Case { shown, authorities, verify, host: SERVER.0, may_prove: false };
            assert_eq!(seen(&case), Err(error.to_owned()));
        }
    }
}

#[test]
fn a_server_s_own_certificate_vouches_for_nobody_else() {
    let made = |issuer: Option<&Issuer<'_, KeyPair>>| {
        let key = KeyPair::generate().expect("a key");
        let mut params = CertificateParams::new(vec![SERVER.0.to_owned()]).expect("a name");
        params.distinguished_name.push(DnType::CommonName, "server");
        let signed = match issuer {
            Some(issuer) => params.signed_by(&key, issuer),
            None => params.self_signed(&key),
        };
        (signed.expect("signed").pem(), params, key)
    };
    let (own, params, key) = made(None);
    let own_key = key.serialize_pem();
    let issuer = Issuer::new(params, key);
    let (forged, _, key) = made(Some(&issuer));
    for (shown, is_taken) in [((&own, &own_key), true), ((&forged, &key.serialize_pem()), false)] {
        let case = Case {
            shown: (shown.0, shown.1),
            authorities: &own,
            verify: Verify::Identity,
            host: SERVER.0,
            may_prove: false,
        };
        assert_eq!(seen(&case).is_ok(), is_taken, "{:?}", seen(&case));
    }
}

#[test]
fn a_common_name_counts_where_there_is_no_other() {
    let key = KeyPair::generate().expect("a key");
    let mut authority = CertificateParams::default();
    authority.is_ca = IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    authority.distinguished_name.push(DnType::CommonName, "authority");
    let root = authority.self_signed(&key).expect("signed").pem();
    let issuer = Issuer::new(authority, key);
    let key = KeyPair::generate().expect("a key");
    let mut server = CertificateParams::default();
    server.distinguished_name = rcgen::DistinguishedName::new();
    server.distinguished_name.push(DnType::CommonName, "*.example");
    let certificate = server.signed_by(&key, &issuer).expect("signed").pem();
    let key = key.serialize_pem();
    let case = |host| Case {
        shown: (&certificate, &key),
        authorities: &root,
        verify: Verify::Identity,
        host,
        may_prove: false,
    };
    assert_eq!(seen(&case(SERVER.0)), Ok((Verify::Identity, false)));
    assert!(seen(&case("a.db.example")).is_err(), "a star stands for one label");
}

#[test]
fn a_chain_that_would_take_long_to_judge_is_refused_unread() {
    let own = own();
    let others: String = (0..5).map(|_| self::own().authority).collect();
    let chain = format!("{}{others}", own.certificate);
    let case = Case {
        shown: (&chain, &own.key),
        authorities: &own.authority,
        verify: Verify::Ca,
        host: SERVER.0,
        may_prove: false,
    };
    let error = "5 certificates stand behind the server's, where 4 may";
    assert_eq!(seen(&case), Err(error.to_owned()));
}
