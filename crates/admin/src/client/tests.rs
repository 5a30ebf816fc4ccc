//! Who is let in, and from where.

use wire::Caps;
use wire::auth::native;
use wire::connect::HandshakeResponse;

use super::*;
use crate::Role;

const NONCE: [u8; 20] = *b"abcdefghijklmnopqrst";

/// What becomes of a client from this address that logs in: the role it has, or the error it gets.
fn login(admin: &mut Admin, from: &io::Addr, user: &str, password: &str) -> Result<Role, String> {
    let mut out = Vec::new();
    let mut client = InterfaceClient::greet(admin, 1, from, (NONCE, false), &mut out);
    out.clear();
    let payload = response(user, password);
    assert_eq!(client.on_packet(admin, (&payload, 1), &mut out), Next::Judge);
    assert!(out.is_empty(), "nothing is told before it is judged");
    match client.judge(admin, &mut out) {
        Next::Welcome { .. } => Ok(client.session.role),
        Next::Refused { why, .. } => {
            let told = String::from_utf8_lossy(&out[7..]).into_owned();
            Err(format!("{told}; log: {why}"))
        }
        next => panic!("{next:?}"),
    }
}

/// What becomes of a client behind its first packet; in TLS if it was shown a certificate.
fn first_packet(
    admin: &mut Admin,
    from: &io::Addr,
    (user, password): (&str, &str),
    certificate: Option<[u8; 32]>,
    out: &mut Vec<u8>,
) -> Next {
    let mut client = InterfaceClient::greet(admin, 1, from, (NONCE, true), out);
    if certificate.is_some() {
        client.secured(certificate);
    }
    out.clear();
    client.on_packet(admin, (&response(user, password), 1), out)
}

/// The response to a greeting.
fn response(user: &str, password: &str) -> Vec<u8> {
    let answer = match password {
        "" => Vec::new(),
        _ => native::scramble(password.as_bytes(), &NONCE).to_vec(),
    };
    let response = HandshakeResponse {
        caps: Caps::PROTOCOL_41.union(Caps::SECURE_CONNECTION),
        max_packet: 1 << 24,
        collation: 33,
        user: user.as_bytes(),
        auth_response: &answer,
        schema: None,
        plugin: None,
        attributes: &[],
        zstd_level: 0,
    };
    let mut payload = Vec::new();
    response.encode(&mut payload);
    payload
}

#[test]
fn tls_can_be_demanded_of_whoever_comes_from_elsewhere() {
    let demanded = ("admin-require_secure_transport", "true");
    let mut admin =
        crate::fake_process::admin(&[("admin-admin_credentials", "remote:r"), demanded]);
    let tcp = |ip: &str| io::Addr::Tcp((ip.parse::<std::net::IpAddr>().expect("an IP"), 1).into());
    for here in [tcp("127.0.0.1"), tcp("::ffff:127.0.0.1"), io::Addr::Unix("".into())] {
        assert_eq!(login(&mut admin, &here, "remote", "r"), Ok(Role::Administrator));
    }
    let mut out = Vec::new();
    let there = tcp("192.0.2.7");
    let refused = first_packet(&mut admin, &there, ("remote", "r"), None, &mut out);
    assert!(matches!(refused, Next::Refused { .. }), "before a password is judged: {refused:?}");
    let told = b"\xff\x57\x0c#HY000Connections using insecure transport are prohibited while \
                 admin-require_secure_transport is true.";
    assert_eq!(&out[4..], told);
    out.clear();
    let shown = Some([7; 32]);
    let judged = first_packet(&mut admin, &there, ("remote", "r"), shown, &mut out);
    assert_eq!(judged, Next::Judge);
}

#[test]
fn accounts_that_everybody_knows_are_for_this_machine_alone() {
    let mut admin = crate::fake_process::admin(&[
        ("admin-admin_credentials", "admin:a;remote:r"),
        ("admin-stats_credentials", "stats:s;viewer:v;remote:other"),
        ("mysql-monitor_username", "watch"),
        ("mysql-monitor_password", "w"),
    ]);
    let tcp = |ip: &str| io::Addr::Tcp((ip.parse::<std::net::IpAddr>().expect("an IP"), 1).into());
    let here = [tcp("127.0.0.1"), tcp("::1"), tcp("::ffff:127.0.0.1"), io::Addr::Unix("".into())];
    let there = [tcp("192.0.2.7"), tcp("2001:db8::1"), tcp("::ffff:192.0.2.7")];
    let known = [
        ("admin", "a", Role::Administrator),
        ("stats", "s", Role::Reader),
        ("watch", "w", Role::Reader),
    ];
    for (user, password, role) in known {
        for from in &here {
            assert_eq!(login(&mut admin, from, user, password), Ok(role), "{user} from {from}");
        }
        for from in &there {
            let right = login(&mut admin, from, user, password).expect_err("not from there");
            let wrong = login(&mut admin, from, user, "guess").expect_err("nor with that");
            let (right, why) = right.split_once("; log: ").expect("both are told");
            assert_eq!(wrong, format!("{right}; log: its password is wrong"), "{from}");
            assert_eq!(why, "it may only connect locally");
        }
    }
    // who guesses from elsewhere is not told that the account is there
    let told = "#28000ProxySQL Error: Access denied for user 'admin'@'192.0.2.7' (using password: \
                YES); log: its password is wrong";
    assert_eq!(login(&mut admin, &there[2], "admin", "guess"), Err(told.to_owned()));
    for (user, password, role) in
        [("remote", "r", Role::Administrator), ("viewer", "v", Role::Reader)]
    {
        for from in here.iter().chain(&there) {
            assert_eq!(login(&mut admin, from, user, password), Ok(role), "{user} from {from}");
        }
    }
    let told = login(&mut admin, &io::Addr::Unix("".into()), "", "").expect_err("nobody");
    assert!(told.starts_with("#28000ProxySQL Error: Access denied for user ''@'localhost'"));
}

#[test]
fn without_a_monitoring_account_nobody_has_an_empty_name() {
    let mut admin = crate::fake_process::admin(&[
        ("mysql-monitor_username", ""),
        ("mysql-monitor_password", ""),
    ]);
    let from = io::Addr::Unix("".into());
    let told = login(&mut admin, &from, "", "").expect_err("nobody");
    assert!(told.ends_with("; log: there is no such account"), "{told}");
}

/// A client over TLS that has both plugins and shows this when it is asked for the password; what
/// it is sent up to there, and what becomes of it.
fn shows(admin: &mut Admin, user: &str, password: &[u8]) -> (Vec<Vec<u8>>, Next) {
    shows_from(admin, &io::Addr::Tcp(([192, 0, 2, 7], 1).into()), true, (user, password))
}

/// The same from there, over TLS or not.
fn shows_from(
    admin: &mut Admin,
    from: &io::Addr,
    in_tls: bool,
    (user, password): (&str, &[u8]),
) -> (Vec<Vec<u8>>, Next) {
    let (mut sent, mut out) = (Vec::new(), Vec::new());
    let mut client = InterfaceClient::greet(admin, 1, from, (NONCE, in_tls), &mut out);
    if in_tls {
        client.secured(Some([7; 32]));
    }
    let response = HandshakeResponse {
        caps: Caps::PROTOCOL_41.union(Caps::SECURE_CONNECTION).union(Caps::PLUGIN_AUTH),
        max_packet: 1 << 24,
        collation: 33,
        user: user.as_bytes(),
        auth_response: &native::scramble(password, &NONCE),
        schema: None,
        plugin: Some(b"mysql_native_password"),
        attributes: &[],
        zstd_level: 0,
    };
    let mut payload = Vec::new();
    response.encode(&mut payload);
    for payload in [payload, vec![7; 32], [password, &[0]].concat()] {
        out.clear();
        let next = client.on_packet(admin, (&payload, 1), &mut out);
        if next == Next::Judge {
            out.clear();
            let next = client.judge(admin, &mut out);
            sent.push(out);
            return (sent, next);
        }
        assert_eq!(next, Next::Go);
        sent.push(out.clone());
    }
    panic!("{sent:?}")
}

#[test]
fn a_password_that_is_stored_as_a_hash_is_shown_and_no_name_is_told_by_that() {
    let stored = wire::auth::sha2::make_stored_hash(b"pear", b"a;salt:of 20 letters");
    let stored = String::from_utf8(stored).expect("text");
    let hashed = [
        ("admin-admin_credentials", format!("operator:{stored}")),
        ("admin-stats_credentials", format!("viewer:{stored}")),
    ];
    let hashed = hashed.each_ref().map(|(name, value)| (*name, value.as_str()));
    let mut admin = crate::fake_process::admin(&hashed);
    let (asked, next) = shows(&mut admin, "operator", b"pear");
    assert_eq!(next, Next::Welcome { user: "operator".to_owned() });
    assert_eq!(asked[0][4..], *b"\xfecaching_sha2_password\0abcdefghijklmnopqrst\0");
    assert_eq!(asked[1][4..], [1, 4]);
    let (_, next) = shows(&mut admin, "viewer", b"pear");
    assert_eq!(next, Next::Welcome { user: "viewer".to_owned() });
    let refused = |admin: &mut Admin, user: &str, password: &[u8], why: &str| {
        let (mut sent, next) = shows(admin, user, password);
        assert_eq!(next, Next::Refused { user: user.to_owned(), why: why.to_owned() });
        sent.pop().expect("an error");
        sent
    };
    let wrong = refused(&mut admin, "operator", b"peer", "its password is wrong");
    let hash = refused(&mut admin, "operator", stored.as_bytes(), "its password is wrong");
    let nobody = refused(&mut admin, "nobody", b"pear", "there is no such account");
    for other in [wrong, hash, nobody] {
        assert_eq!(other, asked[..2], "asked for the same things");
    }
    // nobody can listen in at a Unix socket; elsewhere a password in clear text proves nothing
    let shown = ("operator", &b"pear"[..]);
    let (_, next) = shows_from(&mut admin, &io::Addr::Unix("".into()), false, shown);
    assert_eq!(next, Next::Welcome { user: "operator".to_owned() });
    let here = io::Addr::Tcp(([127, 0, 0, 1], 1).into());
    let (_, next) = shows_from(&mut admin, &here, false, shown);
    assert!(matches!(next, Next::Refused { .. }), "{next:?}");
    // where passwords are in clear text, nobody is asked for one
    let mut admin = crate::fake_process::admin(&[("admin-admin_credentials", "operator:pear")]);
    for (user, why) in
        [("operator", "its password is wrong"), ("nobody", "there is no such account")]
    {
        assert_eq!(refused(&mut admin, user, b"peer", why), [[0; 0]; 0]);
    }
}
