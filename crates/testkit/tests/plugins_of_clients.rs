//! Accounts whose clients have to go by one authentication plugin, and accounts of which servers
//! have the key of one.

use std::collections::BTreeMap;
use std::sync::Arc;

use engine::rows::UserRow;
use engine::snapshot::Draft;
use engine::users::{Credential, ReadPassword, ReadPasswords};
use io::{Faults, Sock};
use testkit::raw::Hall;
use testkit::sim::{Simulator, Weather};
use wire::auth::{ed25519, native, parsec, rsa, sha2};
use wire::connect::{AuthMore, AuthSwitch, ChangeUser, Greeting, HandshakeResponse};
use wire::{Caps, collation_table, frame};

const ED25519: &str = "client_ed25519";
const PARSEC: &str = "parsec";
const SHA256: &str = "sha256_password";
const SHA2: &str = "caching_sha2_password";
const NATIVE: &str = "mysql_native_password";
const PLUGINS: [&str; 5] = [ED25519, PARSEC, SHA256, SHA2, NATIVE];

/// What MariaDB stores of `pear`.
const OF_ED25519: &str = "FxTKwCKC9vecQzPZZcAoZVIFbJHgPvJZrW5dWMfk6zk";
const OF_PARSEC: &str = "P2:c2FsdCBvZiBlaWdodGVlbi4u:K6hHwyxXFkkC+TEpHLVLOBB/YuaBnY4Dy9Ir9uWS3Ig";

const CAPS: Caps =
    Caps::MYSQL.union(Caps::PROTOCOL_41).union(Caps::SECURE_CONNECTION).union(Caps::PLUGIN_AUTH);

/// An account of each plugin, with a password in clear text and with none, and two keys.
fn amend(draft: &mut Draft) {
    let by = |plugin: &str| format!(r#"{{"authentication_plugin": "{plugin}"}}"#);
    let row = |name: String, password: &str, attributes: String| UserRow {
        username: name,
        password: password.into(),
        attributes,
        ..UserRow::default()
    };
    draft.users = Vec::new();
    for plugin in PLUGINS {
        draft.users.push(row(plugin.into(), "pear", by(plugin)));
        draft.users.push(row(format!("empty {plugin}"), "", by(plugin)));
        let attributes =
            format!(r#"{{"authentication_plugin": "{plugin}", "backend_username": "ann"}}"#);
        let relays = row(format!("fast {plugin}"), "pear", attributes);
        draft.users.push(UserRow { fast_forward: 1, ..relays });
    }
    draft.users.push(UserRow { frontend: 0, ..row("ann".into(), "apple", String::new()) });
    for (name, key, plugin) in [("ed key", OF_ED25519, ED25519), ("parsec key", OF_PARSEC, PARSEC)]
    {
        let clients = row(name.into(), key, by(plugin));
        draft.users.push(UserRow { backend: 0, ..clients });
        draft.users.push(UserRow { frontend: 0, ..row(name.into(), "pear", String::new()) });
    }
}

fn hall_with(amend: fn(&mut Draft)) -> Hall {
    let weather = Weather { amend, faults: Faults::none(), ..Weather::cutting() };
    Hall::in_weather(7, &Simulator::new(), &weather)
}

fn hall() -> Hall {
    hall_with(amend)
}

/// A client in the middle of a login.
struct Client<'a> {
    hall: &'a mut Hall,
    sock: Sock,
    /// The nonce that it was told last.
    nonce: Vec<u8>,
    seq: u8,
}

impl<'a> Client<'a> {
    /// One that names a plugin, and answers the greeting by it or by nothing.
    fn begin(hall: &'a mut Hall, name: &str, plugin: &str, answer: &[u8]) -> Self {
        Self::with_caps(hall, name, plugin, answer, CAPS)
    }

    fn with_caps(hall: &'a mut Hall, name: &str, plugin: &str, answer: &[u8], caps: Caps) -> Self {
        let (sock, greeting) = hall.connect();
        let nonce = Greeting::parse(&greeting).expect("a greeting").scramble.to_vec();
        let response = HandshakeResponse {
            caps,
            max_packet: 1 << 24,
            collation: collation_table::UTF8MB4_GENERAL_CI,
            user: name.as_bytes(),
            auth_response: answer,
            schema: None,
            plugin: Some(plugin.as_bytes()).filter(|_| caps.contains(Caps::PLUGIN_AUTH)),
            attributes: &[],
            zstd_level: 0,
        };
        let mut out = Vec::new();
        frame::write_with(&mut out, &mut 1, |payload| response.encode(payload));
        hall.send(sock, &out);
        Self { hall, sock, nonce, seq: 1 }
    }

    fn hear(&mut self) -> Vec<u8> {
        let (payload, seq) = self.hall.packet(self.sock).expect("answered");
        self.seq = seq;
        payload
    }

    fn say(&mut self, payload: &[u8]) -> &mut Self {
        let mut out = Vec::new();
        frame::write_packet(&mut out, &mut self.seq.wrapping_add(1), payload);
        self.hall.send(self.sock, &out);
        self
    }

    /// It is asked to go by that plugin.
    fn is_switched(&mut self, plugin: &str) -> &mut Self {
        let heard = self.hear();
        let switch = AuthSwitch::parse(&heard);
        let switch = switch.unwrap_or_else(|_| panic!("no switch: {}", heard.escape_ascii()));
        assert_eq!(switch.plugin, plugin.as_bytes());
        self.nonce = switch.data.to_vec();
        // clients count the bytes of a nonce
        let closing = usize::from(![ED25519, PARSEC].contains(&plugin));
        assert_eq!(heard.len(), 2 + plugin.len() + self.nonce.len() + closing);
        self
    }

    fn scramble(&self) -> [u8; 20] {
        self.nonce.as_slice().try_into().expect("a nonce of twenty bytes")
    }

    fn challenge(&self) -> [u8; 32] {
        self.nonce.as_slice().try_into().expect("a nonce of thirty-two bytes")
    }

    /// Shows a password by the plugin that it was asked for.
    fn show(&mut self, plugin: &str, password: &[u8]) -> &mut Self {
        match plugin {
            ED25519 => {
                let signature = ed25519::sign(password, &self.challenge());
                self.say(&signature)
            }
            PARSEC => {
                let salt = self.say(b"").hear();
                let key = parsec::Key::derive(password, &salt).expect("a salt");
                let answer = key.answer(&self.challenge()).expect("there is randomness");
                self.say(&answer)
            }
            SHA256 if password.is_empty() => self.say(&[0]),
            SHA256 => {
                let key = self.say(&[1]).hear();
                let shown = rsa::encrypt_password(&key[1..], password, &self.scramble());
                self.say(&shown.expect("a key"))
            }
            _ if password.is_empty() => self.say(b""),
            SHA2 => {
                let answer = sha2::scramble(password, &self.scramble());
                self.say(&answer)
            }
            _ => {
                let answer = native::scramble(password, &self.scramble());
                self.say(&answer)
            }
        }
    }

    /// What the login comes to: whether it is let in.
    fn is_let_in(&mut self) -> bool {
        loop {
            match self.hear().as_slice() {
                [0, ..] => return true,
                [AuthMore::MARKER, AuthMore::FAST_OK] => {}
                [0xff, low, high, ..] => {
                    assert_eq!(u16::from_le_bytes([*low, *high]), 1045);
                    return false;
                }
                other => panic!("neither OK nor an error: {}", other.escape_ascii()),
            }
        }
    }

    /// Another user on the same connection.
    fn change_user(&mut self, name: &str) -> &mut Self {
        let change = ChangeUser {
            user: name.as_bytes(),
            auth_response: b"",
            schema: b"",
            collation: Some(45),
            plugin: Some(NATIVE.as_bytes()),
            attributes: b"",
        };
        let mut out = Vec::new();
        frame::write_with(&mut out, &mut 0, |payload| change.encode(CAPS, payload));
        self.hall.send(self.sock, &out);
        self
    }

    fn close(&mut self) {
        self.hall.close(self.sock);
    }
}

/// Whether a client is let in that shows a password by the plugin that it is asked for.
fn log_in(hall: &mut Hall, name: &str, plugin: &str, password: &[u8]) -> bool {
    let mut client = Client::begin(hall, name, "mysql_clear_password", b"?");
    let is_in = client.is_switched(plugin).show(plugin, password).is_let_in();
    client.close();
    is_in
}

#[test]
fn each_plugin_lets_in_by_the_right_password_and_by_no_other() {
    let mut hall = hall();
    for plugin in PLUGINS {
        for name in [plugin.to_owned(), format!("fast {plugin}")] {
            // the second time by what was kept of the first
            for _ in 0..2 {
                assert!(!log_in(&mut hall, &name, plugin, b"Pear"), "{name}");
                assert!(!log_in(&mut hall, &name, plugin, b""), "{name}");
                assert!(log_in(&mut hall, &name, plugin, b"pear"), "{name}");
            }
        }
        let empty = format!("empty {plugin}");
        assert!(log_in(&mut hall, &empty, plugin, b""), "{empty}");
        assert!(!log_in(&mut hall, &empty, plugin, b"pear"), "{empty}");
    }
    for (name, plugin) in [("ed key", ED25519), ("parsec key", PARSEC)] {
        assert!(log_in(&mut hall, name, plugin, b"pear"), "{name}");
        assert!(!log_in(&mut hall, name, plugin, b"Pear"), "{name}");
        assert!(!log_in(&mut hall, name, plugin, b""), "{name}");
    }
}

#[test]
fn a_change_of_user_asks_for_the_plugin_of_the_other_account() {
    let mut hall = hall();
    for plugin in PLUGINS {
        let mut client = Client::begin(&mut hall, PARSEC, PARSEC, b"");
        assert!(client.is_switched(PARSEC).show(PARSEC, b"pear").is_let_in());
        for name in [plugin.to_owned(), format!("fast {plugin}")] {
            client.change_user(&name).is_switched(plugin).show(plugin, b"pear");
            assert!(client.is_let_in(), "{name}");
        }
        client.close();
        let mut client = Client::begin(&mut hall, PARSEC, PARSEC, b"");
        assert!(client.is_switched(PARSEC).show(PARSEC, b"pear").is_let_in());
        client.change_user(plugin).is_switched(plugin).show(plugin, b"Pear");
        assert!(!client.is_let_in(), "{plugin}");
        client.close();
    }
}

#[test]
fn nothing_but_the_account_s_plugin_proves_its_password() {
    let mut hall = hall();
    for plugin in [ED25519, PARSEC, SHA256] {
        for other in [NATIVE, SHA2] {
            let (sock, greeting) = hall.connect();
            hall.close(sock);
            let nonce = Greeting::parse(&greeting).expect("a greeting").scramble;
            // the nonce is another one by then: this is what such a client says first
            let answer = native::scramble(b"pear", &nonce);
            let mut client = Client::begin(&mut hall, plugin, other, &answer);
            client.is_switched(plugin);
            let nonce = *client.nonce.first_chunk().expect("twenty bytes at least");
            let answer = match other {
                NATIVE => native::scramble(b"pear", &nonce).to_vec(),
                _ => sha2::scramble(b"pear", &nonce).to_vec(),
            };
            client.say(&answer);
            assert!(!client.is_let_in(), "{plugin} by {other}");
        }
    }
    // a client that the account's plugin suits is asked for nothing else
    for (plugin, other) in [(NATIVE, SHA2), (SHA2, NATIVE)] {
        let mut client = Client::begin(&mut hall, plugin, other, b"whatever it says");
        assert!(client.is_switched(plugin).show(plugin, b"pear").is_let_in());
    }
}

#[test]
fn a_client_that_knows_no_plugins_is_told_so() {
    let mut hall = hall();
    let old = CAPS.without(Caps::PLUGIN_AUTH);
    for plugin in [ED25519, PARSEC, SHA256, SHA2] {
        let client = Client::with_caps(&mut hall, plugin, plugin, b"", old);
        let sock = client.sock;
        assert_eq!(hall.error(sock), Some(1251), "{plugin}");
    }
}

#[test]
fn answers_of_another_length_and_garbage_are_wrong_and_hang_ups_harm_nobody() {
    let mut hall = hall();
    for name in
        [ED25519, PARSEC, SHA256, "ed key", "parsec key", "empty parsec", "empty client_ed25519"]
    {
        let plugin = match name {
            "ed key" | "empty client_ed25519" => ED25519,
            "parsec key" | "empty parsec" => PARSEC,
            own => own,
        };
        for len in [1, 2, 20, 31, 32, 63, 64, 65, 95, 96, 97, 200, 256, 1000] {
            for byte in [0, 1, 2, 0x58, 0xff] {
                let mut client = Client::begin(&mut hall, name, plugin, b"");
                client.is_switched(plugin).say(&vec![byte; len]);
                // a request for the key, or an answer by a salt of before
                let is_asked_on =
                    plugin == SHA256 && (len, byte) == (1, 1) || plugin == PARSEC && len == 96;
                let heard = client.hear();
                if is_asked_on {
                    assert!(matches!(heard[0], AuthMore::MARKER | b'P'), "{name} {len} {byte}");
                    let garbage = vec![byte; len];
                    assert!(!client.say(&garbage).is_let_in(), "{name} {len} {byte}");
                } else {
                    assert_eq!(heard[..3], [0xff, 0x15, 0x04], "{name} {len} {byte}");
                }
                client.close();
            }
        }
        for steps in 0..3 {
            let mut client = Client::begin(&mut hall, name, plugin, b"");
            if steps > 0 {
                client.is_switched(plugin);
            }
            if steps > 1 {
                client.say(if plugin == SHA256 { &[1] } else { b"" });
            }
            client.close();
        }
        hall.wait_ms(10);
    }
    assert!(log_in(&mut hall, PARSEC, PARSEC, b"pear"));
    assert!(hall.until(|hall| hall.sessions() == 0));
}

/// What a client of a plugin is asked, up to the salt.
fn salt_of(hall: &mut Hall, name: &str) -> Option<Vec<u8>> {
    let mut client = Client::begin(hall, name, NATIVE, b"");
    let heard = client.hear();
    let salt = AuthSwitch::parse(&heard).is_ok_and(|switch| switch.plugin == PARSEC.as_bytes());
    let salt = salt.then(|| client.say(b"").hear());
    client.close();
    salt
}

#[test]
fn a_name_has_the_same_salt_each_time_whether_it_exists_or_not() {
    let mut hall = hall();
    let names: Vec<_> = (0..60).map(|number| format!("nobody{number}")).collect();
    let known = [PARSEC, "empty parsec", "fast parsec", "parsec key"];
    for name in known {
        assert!(salt_of(&mut hall, name).is_some(), "{name}");
    }
    let all = || known.into_iter().map(str::to_owned).chain(names.iter().cloned());
    let first: BTreeMap<_, _> =
        all().map(|name| (name.clone(), salt_of(&mut hall, &name))).collect();
    let again: BTreeMap<_, _> =
        all().map(|name| (name.clone(), salt_of(&mut hall, &name))).collect();
    assert_eq!(first, again);
    let salts: Vec<_> = first.values().flatten().collect();
    assert!(salts.iter().all(|salt| salt.len() == 20 && salt[0] == b'P'));
    let mut distinct = salts.clone();
    distinct.sort_unstable();
    distinct.dedup();
    assert_eq!(distinct.len(), salts.len());
    // one of four accounts in seventeen has other rounds
    let asked = names.iter().filter(|name| first[*name].is_some()).count();
    assert!((4..28).contains(&asked), "{asked} of 60");
}

#[test]
fn a_client_that_has_a_key_of_before_may_sign_at_once() {
    let mut hall = hall();
    let salt = salt_of(&mut hall, PARSEC).expect("a salt");
    let other = salt_of(&mut hall, "empty parsec").expect("a salt");
    for (salt, is_known) in [(&salt, true), (&other, false)] {
        let key = parsec::Key::derive(b"pear", salt).expect("a salt");
        let mut client = Client::begin(&mut hall, PARSEC, PARSEC, b"");
        let answer = key.answer(&client.is_switched(PARSEC).challenge()).expect("randomness");
        client.say(&answer);
        if !is_known {
            // a server that has another salt by now tells it
            let salt = client.hear();
            let key = parsec::Key::derive(b"pear", &salt).expect("a salt");
            let answer = key.answer(&client.challenge()).expect("randomness");
            client.say(&answer);
        }
        assert!(client.is_let_in());
        client.close();
    }
}

#[test]
fn a_signature_is_good_for_no_other_connection() {
    let mut hall = hall();
    let mut first = Client::begin(&mut hall, ED25519, ED25519, b"");
    let signature = ed25519::sign(b"pear", &first.is_switched(ED25519).challenge());
    assert!(first.say(&signature).is_let_in());
    let mut second = Client::begin(&mut hall, ED25519, ED25519, b"");
    assert!(!second.is_switched(ED25519).say(&signature).is_let_in());
}

#[test]
fn an_account_that_gets_another_plugin_in_the_middle_of_a_login_lets_nobody_in_by_the_old_one() {
    let mut hall = hall();
    let mut client = Client::begin(&mut hall, ED25519, ED25519, b"");
    let signature = ed25519::sign(b"pear", &client.is_switched(ED25519).challenge());
    let mut draft = Draft::clone(&client.hall.stage.snapshot.draft);
    let row = draft.users.iter_mut().find(|row| row.username == ED25519).expect("there");
    row.attributes = format!(r#"{{"authentication_plugin": "{SHA256}"}}"#);
    client.hall.stage.reconfigure(&draft, 1 << 16);
    client.hall.wait_ms(5);
    assert!(!client.say(&signature).is_let_in());
    assert!(log_in(&mut hall, ED25519, SHA256, b"pear"));
}

#[test]
fn wrong_passwords_are_bounded_as_by_any_plugin() {
    let few = |draft: &mut Draft| {
        amend(draft);
        draft.variables.push(("mysql-failed_connections_threshold".into(), "2".into()));
    };
    for plugin in [ED25519, PARSEC, SHA256] {
        let mut hall = hall_with(few);
        for _ in 0..30 {
            assert!(log_in(&mut hall, plugin, plugin, b"pear"), "right ones cost nothing");
        }
        let held_up = |hall: &Hall| hall.counters().logins_held_up;
        assert_eq!(held_up(&hall), 0, "{plugin}");
        for _ in 0..10 {
            assert!(!log_in(&mut hall, plugin, plugin, b"wrong"));
        }
        assert!(held_up(&hall) >= 1, "{plugin}");
    }
}

#[test]
fn an_answer_by_a_salt_of_before_costs_nothing_once_the_password_is_proved() {
    let few = |draft: &mut Draft| {
        amend(draft);
        draft.variables.push(("mysql-failed_connections_threshold".into(), "2".into()));
    };
    let mut hall = hall_with(few);
    let stale = [7; parsec::ANSWER_BYTES];
    for _ in 0..30 {
        let mut client = Client::begin(&mut hall, PARSEC, PARSEC, b"");
        client.is_switched(PARSEC).say(&stale);
        let salt = client.hear();
        let key = parsec::Key::derive(b"pear", &salt).expect("a salt");
        let answer = key.answer(&client.challenge()).expect("randomness");
        assert!(client.say(&answer).is_let_in());
        client.close();
    }
    assert_eq!(hall.counters().logins_held_up, 0);
    // without that it was a guess
    for _ in 0..10 {
        let mut client = Client::begin(&mut hall, PARSEC, PARSEC, b"");
        client.is_switched(PARSEC).say(&stale).hear();
        client.close();
    }
    assert!(hall.counters().logins_held_up >= 1);
}

/// Accounts whose passwords servers have, by keys and a hash: clients show the password once.
#[test]
fn a_key_that_a_server_has_is_proved_by_the_password_itself_which_is_learned() {
    let lent = |draft: &mut Draft| {
        let names = ["ed", "par", "sha"];
        let attributes = r#"{"password_from": "servers"}"#;
        draft.users = names
            .map(|name| UserRow {
                username: name.into(),
                attributes: attributes.into(),
                ..UserRow::default()
            })
            .into();
    };
    let mut hall = hall_with(lent);
    let stored = sha2::make_stored_hash(b"pear", b"a salt of 20 letters");
    let of_sha256 = [b"$5$", &stored[7..27], b"$", &stored[27..]].concat();
    let read = |plugin, stored: &[u8]| ReadPassword {
        primary: Credential::read(plugin, stored).expect("a hash"),
        additional: None,
        server: ("db".into(), 3306),
    };
    let passwords = ReadPasswords::from([
        ("ed".into(), read("ed25519", OF_ED25519.as_bytes())),
        ("par".into(), read("parsec", OF_PARSEC.as_bytes())),
        ("sha".into(), read("sha256_password", &of_sha256)),
    ]);
    let next = hall.stage.snapshot.with_passwords(passwords).map_err(|it| it.len());
    hall.stage.follow_with(Arc::new(next.expect("no fault")), 1 << 16);
    hall.wait_ms(5);
    for name in ["ed", "par", "sha"] {
        for (password, is_right) in [(&b"Pear"[..], false), (b"pear", true)] {
            let mut client = Client::begin(&mut hall, name, NATIVE, b"");
            client.is_switched(SHA2).show(SHA2, password);
            assert_eq!(client.hear(), [AuthMore::MARKER, AuthMore::FULL_AUTH], "{name}");
            let key = client.say(&[2]).hear();
            let shown = rsa::encrypt_password(&key[1..], password, &client.scramble());
            client.say(&shown.expect("a key"));
            assert_eq!(client.is_let_in(), is_right, "{name}");
            client.close();
        }
        // it is known by now
        let mut client = Client::begin(&mut hall, name, NATIVE, b"");
        client.is_switched(SHA2).show(SHA2, b"pear");
        assert_eq!(client.hear(), [AuthMore::MARKER, AuthMore::FAST_OK], "{name}");
        assert!(client.is_let_in());
        client.close();
    }
}
