//! Logins by tables: what a server says, what it is told, and what comes of it.

use wire::auth::{ed25519, native, rsa, sha2};
use wire::connect::PublicKeyRequest;
use wire::frame::{Framed, next_packet};
use wire::reply::{write_auth_more, write_auth_switch, write_err, write_ok};

use super::*;
use crate::rows::UserRow;
use crate::users::{Learned, Users};
use crate::vars::Vars;

const NATIVE: &[u8] = b"mysql_native_password";
const SHA2: &[u8] = b"caching_sha2_password";
const CLEAR: &[u8] = b"mysql_clear_password";

const SCRAMBLE: [u8; SCRAMBLE_BYTES] = *b"abcdefghijklmnopqrst";
const OTHER: [u8; SCRAMBLE_BYTES] = *b"ABCDEFGHIJKLMNOPQRST";

fn account(password: &[u8]) -> Arc<Account> {
    let (username, password) = ("app".into(), password.to_vec());
    let user = UserRow { username, password, ..UserRow::default() };
    Users::compile(&[user]).unwrap().find(b"app").unwrap().clone()
}

/// A login at a server that speaks first.
struct Scene {
    login: BackendLogin,
    seq: u8,
}

impl Scene {
    fn new(account: Arc<Account>, secure: bool) -> Self {
        let schema = Some(b"shop".as_slice().into());
        Self { login: BackendLogin::new(account, CLASS, schema, 45, secure), seq: 0 }
    }

    fn trusting(self, keys: Keys) -> Self {
        Self { login: self.login.trusting(keys), ..self }
    }

    /// The server says that; what comes of it, and what it is told.
    fn hears(&mut self, write: impl FnOnce(&mut Vec<u8>, &mut u8)) -> (LoginStep, Vec<u8>) {
        let (mut said, mut out) = (Vec::new(), Vec::new());
        write(&mut said, &mut self.seq);
        let Framed::Packet(packet) = next_packet(&said) else { panic!("one packet") };
        let step = self.login.on_packet(&packet, &mut out);
        match next_packet(&out) {
            Framed::Packet(told) => {
                assert_eq!(told.seq, packet.seq + 1, "its turn");
                self.seq = told.seq + 1;
                (step, told.payload.to_vec())
            }
            _ => (step, out),
        }
    }

    /// The answer to a greeting.
    fn greet(&mut self, plugin: &[u8], caps: Caps) -> (LoginStep, Vec<u8>) {
        self.hears(|out, seq| {
            let greeting = Greeting {
                server_version: b"8.0.11",
                connection_id: 77,
                scramble: SCRAMBLE,
                caps,
                collation: 45,
                status: Status::AUTOCOMMIT,
                plugin,
            };
            frame::write_with(out, seq, |payload| greeting.encode(payload));
        })
    }

    fn is_let_in(&mut self) -> bool {
        let caps = self.login.caps;
        let ok = OkPacket { status: Status::AUTOCOMMIT, ..OkPacket::default() };
        let (step, told) = self.hears(|out, seq| write_ok(out, seq, caps, &ok));
        assert!(told.is_empty(), "nothing is left to say");
        let is_in = matches!(step, LoginStep::Ready { thread_id: 77, .. });
        assert_eq!(self.hears(|out, seq| write_ok(out, seq, caps, &ok)).0, PROTOCOL);
        is_in
    }
}

const PROTOCOL: LoginStep = LoginStep::Failed { fault: LastFault::Protocol, said: None };
const NO_PASSWORD: LoginStep = LoginStep::Failed { fault: LastFault::NoPassword, said: None };

/// What a server has that can do all that a client may ask for.
fn everything() -> Caps {
    CLASS.union(ALWAYS).union(Caps::SESSION_TRACK).union(Caps::CONNECT_WITH_DB)
}

fn auth_of(told: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let response = HandshakeResponse::parse(told).unwrap();
    (response.plugin.unwrap().to_vec(), response.auth_response.to_vec())
}

#[test]
fn a_greeting_is_answered_by_the_plugin_it_names_with_schema_and_collation() {
    let [native, sha2] = [native::scramble(b"pear", &SCRAMBLE).to_vec(), {
        sha2::scramble(b"pear", &SCRAMBLE).to_vec()
    }];
    // one that is not known is asked for what all have
    for (plugin, answered, auth) in
        [(NATIVE, NATIVE, &native), (SHA2, SHA2, &sha2), (b"sha256_password", NATIVE, &native)]
    {
        let mut scene = Scene::new(account(b"pear"), false);
        let (step, told) = scene.greet(plugin, everything());
        assert_eq!(step, LoginStep::Wait);
        assert_eq!(auth_of(&told), (answered.to_vec(), auth.clone()));
        let response = HandshakeResponse::parse(&told).unwrap();
        assert_eq!((response.user, response.collation), (b"app".as_slice(), 45));
        assert_eq!(response.schema, Some(b"shop".as_slice()));
        assert!(response.caps.contains(Caps::SESSION_TRACK));
        assert!(scene.is_let_in());
    }
}

#[test]
fn a_password_that_is_only_known_by_its_hash_is_shown_to_the_plugin_that_can_do_with_it() {
    let hashed = account(b"*0123456789012345678901234567890123456789");
    let mut scene = Scene::new(hashed.clone(), false);
    assert_eq!(scene.greet(NATIVE, everything()), (NO_PASSWORD, Vec::new()));
    // a client has logged in since
    let sha1 = [9; 20];
    hashed.learned.set(Learned::Sha1(sha1)).unwrap_or_else(|_| panic!("it was not known"));
    for plugin in [NATIVE, SHA2] {
        let mut scene = Scene::new(hashed.clone(), false);
        let (_, told) = scene.greet(plugin, everything());
        let right = native::scramble_from_sha1(&sha1, &SCRAMBLE).to_vec();
        assert_eq!(auth_of(&told), (NATIVE.to_vec(), right));
        // and cannot be told in clear
        let more = |out: &mut Vec<u8>, seq: &mut u8| write_auth_more(out, seq, &[4]);
        assert_eq!(scene.hears(more).0, PROTOCOL);
    }
}

#[test]
fn a_server_is_shown_the_password_of_its_own_row() {
    let row = |password: &str, frontend| UserRow {
        username: "app".into(),
        password: password.into(),
        frontend,
        backend: 1 - frontend,
        ..UserRow::default()
    };
    let users = Users::compile(&[row("of clients", 1), row("pear", 0)]).unwrap();
    let account = users.find(b"app").unwrap().clone();
    // a client has shown its own
    let learned = Learned::Clear(b"of clients".as_slice().into());
    account.learned.set(learned).unwrap_or_else(|_| panic!("it was not known"));
    let (_, told) = Scene::new(account, false).greet(NATIVE, everything());
    assert_eq!(auth_of(&told), (NATIVE.to_vec(), native::scramble(b"pear", &SCRAMBLE).to_vec()));
}

#[test]
fn a_server_that_switches_is_answered_by_its_new_challenge() {
    for (plugin, auth) in [
        (NATIVE, native::scramble(b"pear", &OTHER).to_vec()),
        (SHA2, sha2::scramble(b"pear", &OTHER).to_vec()),
    ] {
        let mut scene = Scene::new(account(b"pear"), false);
        scene.greet(NATIVE, everything());
        let switch = AuthSwitch { plugin, data: &OTHER };
        let (step, told) = scene.hears(|out, seq| write_auth_switch(out, seq, &switch));
        assert_eq!((step, told), (LoginStep::Wait, auth));
        assert!(scene.is_let_in());
    }
}

#[test]
fn a_password_in_clear_leaves_the_machine_for_nobody() {
    for secure in [false, true] {
        let mut scene = Scene::new(account(b"pear"), secure);
        scene.greet(NATIVE, everything());
        let switch = AuthSwitch { plugin: CLEAR, data: b"" };
        let (step, told) = scene.hears(|out, seq| write_auth_switch(out, seq, &switch));
        let right = (LoginStep::Wait, b"pear\0".to_vec());
        let why = "the account goes by 'mysql_clear_password'".to_owned();
        assert_eq!((step, told), if secure { right } else { (LoginStep::Insecure(why), vec![]) });
    }
}

#[test]
fn plugins_of_mariadb_get_signatures_of_their_longer_challenge() {
    // one whose last byte is taken for the end of a text
    for last in [b'!', 0] {
        let mut challenge = *b"thirty-two bytes of a challenge!";
        challenge[31] = last;
        let sent = challenge.strip_suffix(&[0]).unwrap_or(&challenge);
        let switch = |plugin| AuthSwitch { plugin, data: sent };
        let mut scene = Scene::new(account(b"pear"), false);
        scene.greet(NATIVE, everything());
        let (step, told) =
            scene.hears(|out, seq| write_auth_switch(out, seq, &switch(b"client_ed25519")));
        assert_eq!((step, told), (LoginStep::Wait, ed25519::sign(b"pear", &challenge).to_vec()));
        assert!(scene.is_let_in());

        let mut scene = Scene::new(account(b"pear"), false);
        scene.greet(NATIVE, everything());
        let asks = scene.hears(|out, seq| write_auth_switch(out, seq, &switch(b"parsec")));
        assert_eq!(asks, (LoginStep::Wait, Vec::new()), "it asks for the salt");
        let salt = b"P\0eighteen bytes 567";
        let (step, told) = scene.hears(|out, seq| frame::write_packet(out, seq, salt));
        assert_eq!((step, told.len()), (LoginStep::Wait, 96));
        assert!(scene.is_let_in());
    }
    // a salt with more rounds than anybody has time for, and a challenge that is none
    let mut scene = Scene::new(account(b"pear"), false);
    scene.greet(NATIVE, everything());
    let challenge = AuthSwitch { plugin: b"parsec", data: &[7; 32] };
    scene.hears(|out, seq| write_auth_switch(out, seq, &challenge));
    let salt = b"P\x14eighteen bytes 567";
    let (step, told) = scene.hears(|out, seq| frame::write_packet(out, seq, salt));
    let is_named = matches!(step, LoginStep::Failed { fault: LastFault::Plugin, said: Some(_) });
    assert!(is_named && told.is_empty(), "{step:?}");
    // several plugins are tried in turn, and not for ever
    for plugin in [&b"parsec"[..], b"client_ed25519", b"sha256_password", NATIVE] {
        let salt = Some(b"P\0eighteen bytes 567").filter(|_| plugin == b"parsec");
        let mut scene = Scene::new(account(b"pear"), true);
        scene.greet(NATIVE, everything());
        let again = AuthSwitch { plugin, data: &[7; 32] };
        let ask = |out: &mut Vec<u8>, seq: &mut u8| write_auth_switch(out, seq, &again);
        let mut one = || {
            let step = scene.hears(ask).0;
            salt.map_or(step, |salt| scene.hears(|out, seq| frame::write_packet(out, seq, salt)).0)
        };
        let heard = (0..20).take_while(|_| one() == LoginStep::Wait).count();
        assert!((3..12).contains(&heard), "{heard} times");
    }
    let mut scene = Scene::new(account(b"pear"), true);
    scene.greet(SHA2, everything());
    let full = |out: &mut Vec<u8>, seq: &mut u8| write_auth_more(out, seq, &[AuthMore::FULL_AUTH]);
    let heard = (0..20).take_while(|_| scene.hears(full).0 == LoginStep::Wait).count();
    assert!(heard < 12, "{heard} times");
    for plugin in [&b"parsec"[..], b"client_ed25519"] {
        let mut scene = Scene::new(account(b"pear"), false);
        scene.greet(NATIVE, everything());
        let short = AuthSwitch { plugin, data: &OTHER };
        let answer = scene.hears(|out, seq| write_auth_switch(out, seq, &short));
        assert_eq!(answer, (PROTOCOL, Vec::new()));
    }
}

#[test]
fn sha256_password_gets_it_encrypted_or_over_a_secure_way() {
    const SHA256: AuthSwitch<'_> = AuthSwitch { plugin: b"sha256_password", data: &OTHER };
    let switched = |scene: &mut Scene| {
        scene.greet(NATIVE, everything());
        scene.hears(|out, seq| write_auth_switch(out, seq, &SHA256))
    };
    let mut scene = Scene::new(account(b"pear"), true);
    assert_eq!(switched(&mut scene), (LoginStep::Wait, b"pear\0".to_vec()));
    assert!(scene.is_let_in());
    let mut scene = Scene::new(account(b""), false);
    assert_eq!(switched(&mut scene), (LoginStep::Wait, vec![0]));

    let key = rsa::ServerKey::generate().unwrap();
    let print = KeyHash(rsa::key_hash(key.public_pem()).unwrap());
    for (keys, is_told) in [(Keys::Any, true), (Keys::Only(Vec::new()), false)] {
        let mut scene = Scene::new(account(b"pear"), false).trusting(keys);
        assert_eq!(switched(&mut scene), (LoginStep::Wait, vec![1]), "it asks for the key");
        let (step, told) = scene.hears(|out, seq| write_auth_more(out, seq, key.public_pem()));
        if is_told {
            assert_eq!(key.decrypt(&told, &OTHER).as_deref(), Some(b"pear".as_slice()));
            assert!(scene.is_let_in());
        } else {
            assert_eq!((step, told), (LoginStep::KeyRefused(print), Vec::new()));
        }
    }
}

#[test]
fn a_plugin_that_is_not_spoken_is_named() {
    let mut scene = Scene::new(account(b"pear"), true);
    scene.greet(NATIVE, everything());
    let switch = AuthSwitch { plugin: b"auth_gssapi\n_client", data: b"realm" };
    let (step, told) = scene.hears(|out, seq| write_auth_switch(out, seq, &switch));
    let text = "the account goes by the plugin 'auth_gssapi\\n_client', which Tidegate does not \
                speak";
    let said = Some((2059, *b"HY000", text.as_bytes().to_vec()));
    assert_eq!(step, LoginStep::Failed { fault: LastFault::Plugin, said });
    assert!(told.is_empty());
}

#[test]
fn a_server_that_has_forgotten_the_password_gets_it_encrypted_or_over_its_socket() {
    let full = |out: &mut Vec<u8>, seq: &mut u8| write_auth_more(out, seq, &[AuthMore::FULL_AUTH]);
    let mut scene = Scene::new(account(b"pear"), true);
    scene.greet(SHA2, everything());
    assert_eq!(scene.hears(full), (LoginStep::Wait, b"pear\0".to_vec()));
    assert!(scene.is_let_in());

    let key = rsa::ServerKey::generate().unwrap();
    let print = KeyHash(rsa::key_hash(key.public_pem()).unwrap());
    for keys in [Keys::Any, Keys::Only(vec![KeyHash([0; 32]), print])] {
        let mut scene = Scene::new(account(b"pear"), false).trusting(keys);
        scene.greet(SHA2, everything());
        assert_eq!(scene.hears(full), (LoginStep::Wait, vec![2]), "it asks for the key");
        let (step, told) = scene.hears(|out, seq| write_auth_more(out, seq, key.public_pem()));
        assert_eq!(step, LoginStep::Wait);
        assert_eq!(key.decrypt(&told, &SCRAMBLE).as_deref(), Some(b"pear".as_slice()));
        assert!(scene.is_let_in());
    }

    // what is no key
    let mut scene = Scene::new(account(b"pear"), false).trusting(Keys::Any);
    scene.greet(SHA2, everything());
    scene.hears(full);
    let nonsense = scene.hears(|out, seq| write_auth_more(out, seq, b"nonsense"));
    assert_eq!(nonsense, (PROTOCOL, Vec::new()));
}

#[test]
fn a_server_with_a_key_that_nobody_vouches_for_learns_nothing() {
    let full = |out: &mut Vec<u8>, seq: &mut u8| write_auth_more(out, seq, &[AuthMore::FULL_AUTH]);
    let key = rsa::ServerKey::generate().unwrap();
    let print = KeyHash(rsa::key_hash(key.public_pem()).unwrap());
    let other = Vars::from_pairs(&[
        ("mysql-server_public_keys".into(), KeyHash([7; 32]).to_string()),
        ("mysql-get_server_public_key".into(), "true".into()),
    ]);
    for vars in [Vars::default(), other.unwrap()] {
        let mut scene = Scene::new(account(b"pear"), false).trusting(Keys::of_vars(&vars));
        scene.greet(SHA2, everything());
        assert_eq!(scene.hears(full), (LoginStep::Wait, vec![2]), "it asks for the key");
        let answer = scene.hears(|out, seq| write_auth_more(out, seq, key.public_pem()));
        assert_eq!(answer, (LoginStep::KeyRefused(print), Vec::new()));
    }
}

#[test]
fn a_server_that_remembers_the_password_only_says_so() {
    let fast = |out: &mut Vec<u8>, seq: &mut u8| write_auth_more(out, seq, &[AuthMore::FAST_OK]);
    let mut scene = Scene::new(account(b"pear"), false);
    scene.greet(SHA2, everything());
    assert_eq!(scene.hears(fast), (LoginStep::Wait, Vec::new()));
    scene.seq += 1;
    let ok = OkPacket::default();
    let caps = scene.login.caps;
    let (step, _) = scene.hears(|out, seq| write_ok(out, seq, caps, &ok));
    assert!(matches!(step, LoginStep::Ready { .. }));
    // which is of that plugin alone
    let mut scene = Scene::new(account(b"pear"), false);
    scene.greet(NATIVE, everything());
    assert_eq!(scene.hears(fast), (PROTOCOL, Vec::new()));
}

#[test]
fn no_more_is_asked_for_than_the_server_has_and_what_frames_replies_it_must_have() {
    let poor = ALWAYS.without(Caps::CONNECT_ATTRS);
    let login = |class: Caps, has: Caps| {
        let login = BackendLogin::new(account(b""), class, None, 45, false);
        let mut scene = Scene { login, seq: 0 };
        let (step, told) = scene.greet(NATIVE, has);
        (step, HandshakeResponse::parse(&told).map(|response| response.caps).ok())
    };
    let (step, asked) = login(Caps::FOUND_ROWS.union(Caps::MULTI_STATEMENTS), poor);
    let asked = asked.unwrap();
    assert_eq!(step, LoginStep::Wait);
    let lacking = [Caps::FOUND_ROWS, Caps::CONNECT_ATTRS, Caps::SESSION_TRACK];
    assert!(lacking.iter().all(|lacks| !asked.intersects(*lacks)), "{asked:?}");
    assert!(!asked.contains(Caps::CONNECT_WITH_DB), "there is no schema");
    let asked = login(Caps::NONE, ALWAYS).1.unwrap();
    assert!(asked.contains(Caps::CONNECT_ATTRS));
    for framing in [Caps::DEPRECATE_EOF, Caps::MARIADB_EXTENDED_METADATA] {
        let failed = LoginStep::Failed { fault: LastFault::Capability, said: None };
        assert_eq!(login(framing, poor), (failed, None));
        assert_eq!(login(framing, poor.union(framing)).0, LoginStep::Wait);
    }
}

#[test]
fn what_a_server_says_of_a_refusal_is_kept() {
    for is_greeted in [false, true] {
        let mut scene = Scene::new(account(b"pear"), false);
        if is_greeted {
            scene.greet(NATIVE, everything());
        }
        let err = ErrPacket { code: 1045, sqlstate: *b"28000", message: b"denied" };
        let (step, told) = scene.hears(|out, seq| write_err(out, seq, &err));
        let said = Some((1045, *b"28000", b"denied".to_vec()));
        assert_eq!(step, LoginStep::Failed { fault: LastFault::Server(1045), said });
        assert!(told.is_empty());
    }
}

/// Servers refuse an account that demands TLS as they refuse a wrong password.
#[test]
fn a_refusal_may_be_for_want_of_tls_where_the_server_offers_it_and_it_was_not_asked_for() {
    let refused = |secure, caps, code| {
        let mut scene = Scene::new(account(b"pear"), secure);
        let before = scene.login.may_lack_tls(code);
        scene.greet(NATIVE, caps);
        let err = ErrPacket { code, sqlstate: *b"28000", message: b"denied" };
        scene.hears(|out, seq| write_err(out, seq, &err));
        (before, scene.login.may_lack_tls(code))
    };
    let offers = everything().union(Caps::SSL);
    assert_eq!(refused(false, offers, 1045), (false, true));
    assert_eq!(refused(false, offers, 1044), (false, false));
    assert_eq!(refused(false, everything(), 1045), (false, false));
    // over a Unix socket there is none to ask for
    assert_eq!(refused(true, offers, 1045), (false, false));
    let mut scene = in_tls(account(b"pear"), NATIVE, everything(), seen("ca", None)).0;
    let err = ErrPacket { code: 1045, sqlstate: *b"28000", message: b"denied" };
    scene.hears(|out, seq| write_err(out, seq, &err));
    assert!(!scene.login.may_lack_tls(1045));
}

/// What is seen of a server in a handshake; of one that nothing vouches for, its digest.
fn seen(verified: &str, unproved: Option<[u8; 32]>) -> ServerTls {
    let unproved = unproved.map(|digest| (digest, "nobody vouches".to_owned()));
    ServerTls::seen(("TLSv1.3", "TLS_AES_256_GCM_SHA384"), verified, unproved)
}

/// A login that asks for TLS, gets it, and then says what is given.
fn in_tls(account: Arc<Account>, plugin: &[u8], caps: Caps, tls: ServerTls) -> (Scene, Vec<u8>) {
    let login = BackendLogin::new(account, Caps::NONE, None, 45, false).in_tls();
    let mut scene = Scene { login, seq: 0 };
    let (step, asked) = scene.greet(plugin, caps.union(Caps::SSL));
    let may_prove = !caps.contains(Caps::MYSQL) && plugin == NATIVE;
    assert_eq!(step, LoginStep::Secure { may_prove });
    let request = wire::connect::SslRequest::parse(&asked).expect("nothing else goes in clear");
    assert_eq!(request.caps.contains(Caps::MYSQL), !may_prove, "a MariaDB is asked to prove");
    let mut told = Vec::new();
    scene.login.respond(&mut told);
    let Framed::Packet(packet) = next_packet(&told) else { panic!("one packet") };
    assert_eq!(packet.seq, 2, "behind the request");
    scene.seq = 3;
    scene.login.on_secured(tls);
    (scene, packet.payload.to_vec())
}

#[test]
fn in_tls_the_login_goes_behind_the_request_and_nothing_in_clear_is_heard() {
    let mysql = everything().union(Caps::MYSQL);
    let (mut scene, told) = in_tls(account(b"pear"), NATIVE, mysql, seen("ca", None));
    assert_eq!(auth_of(&told), (NATIVE.to_vec(), native::scramble(b"pear", &SCRAMBLE).to_vec()));
    assert!(scene.is_let_in());
    // a server that has none
    let login = BackendLogin::new(account(b"pear"), CLASS, None, 45, false).in_tls();
    let mut scene = Scene { login, seq: 0 };
    let why = "the server offers no TLS".to_owned();
    assert_eq!(scene.greet(NATIVE, everything()), (LoginStep::Insecure(why), Vec::new()));
    // an OK that comes before the handshake is over
    for responds in [false, true] {
        let login = BackendLogin::new(account(b"pear"), CLASS, None, 45, false).in_tls();
        let mut scene = Scene { login, seq: 0 };
        scene.greet(NATIVE, everything().union(Caps::SSL));
        if responds {
            scene.login.respond(&mut Vec::new());
        }
        assert!(scene.login.is_securing());
        let caps = scene.login.caps;
        let ok = OkPacket { status: Status::AUTOCOMMIT, ..OkPacket::default() };
        assert_eq!(scene.hears(|out, seq| write_ok(out, seq, caps, &ok)).0, PROTOCOL);
    }
}

#[test]
fn a_password_goes_in_clear_where_the_operator_trusts_the_server() {
    let mysql = everything().union(Caps::MYSQL);
    let elsewhere = |login: BackendLogin| login.sent_to(None, "mark".to_owned());
    for (verified, is_elsewhere, is_told) in [
        ("identity", false, true),
        ("ca", false, true),
        ("none", false, true),
        ("identity", true, true),
        ("none", true, false),
    ] {
        let (mut scene, _) = in_tls(account(b"pear"), SHA2, mysql, seen(verified, None));
        if is_elsewhere {
            scene.login = elsewhere(scene.login);
        }
        let (step, told) = scene.hears(|out, seq| write_auth_more(out, seq, &[4]));
        assert_eq!(step, LoginStep::Wait);
        let right: &[u8] = if is_told { b"pear\0" } else { &PublicKeyRequest::PAYLOAD };
        assert_eq!(told, right, "{verified}, elsewhere: {is_elsewhere}");
    }
}

#[test]
fn a_server_that_nobody_vouches_for_proves_that_it_knows_the_password() {
    let mariadb = everything().without(Caps::MYSQL);
    let digest = [7; 32];
    let proof = |password: &[u8], digest| {
        native::proof_of_certificate(&native::double_sha1(password), &SCRAMBLE, &digest)
    };
    for (info, is_proved) in [
        (proof(b"pear", digest), true),
        (proof(b"plum", digest), false),
        (proof(b"pear", [8; 32]), false),
        (Vec::new(), false),
    ] {
        let (mut scene, _) = in_tls(account(b"pear"), NATIVE, mariadb, seen("none", Some(digest)));
        let caps = scene.login.caps;
        let ok = OkPacket { info: &info, status: Status::AUTOCOMMIT, ..OkPacket::default() };
        let (step, _) = scene.hears(|out, seq| write_ok(out, seq, caps, &ok));
        match is_proved {
            true => assert!(matches!(step, LoginStep::Ready { .. }), "{step:?}"),
            false => assert_eq!(step, LoginStep::Insecure(UNPROVED.to_owned())),
        }
    }
    // by what it has of the password: a public key
    for (password, is_proved) in [(b"pear", true), (b"plum", false)] {
        let (mut scene, _) = in_tls(account(b"pear"), NATIVE, mariadb, seen("none", Some(digest)));
        let switch = AuthSwitch { plugin: b"client_ed25519", data: &[7; 32] };
        scene.hears(|out, seq| write_auth_switch(out, seq, &switch));
        let stored = ed25519::public_key(password);
        let info = native::proof_of_certificate(&stored, &SCRAMBLE, &digest);
        let caps = scene.login.caps;
        let ok = OkPacket { info: &info, status: Status::AUTOCOMMIT, ..OkPacket::default() };
        let (step, _) = scene.hears(|out, seq| write_ok(out, seq, caps, &ok));
        assert_eq!(matches!(step, LoginStep::Ready { .. }), is_proved, "{step:?}");
    }
    // nor is it told anything that says more of the password
    for plugin in [SHA2, CLEAR] {
        let (mut scene, _) = in_tls(account(b"pear"), NATIVE, mariadb, seen("none", Some(digest)));
        let switch = AuthSwitch { plugin, data: &OTHER };
        let (step, told) = scene.hears(|out, seq| write_auth_switch(out, seq, &switch));
        assert_eq!((step, told), (LoginStep::Insecure(UNPROVED.to_owned()), Vec::new()));
    }
}

const UNPROVED: &str =
    "nobody vouches; nor did the server prove that it knows the account's password";
