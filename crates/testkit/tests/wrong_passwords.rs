//! Guessing passwords and names: how fast it goes, and what it tells.

use engine::rows::UserRow;
use engine::snapshot::Draft;
use io::Sock;
use testkit::raw::Hall;
use testkit::sim::{Simulator, Weather};
use wire::auth::{native, rsa, sha2};
use wire::connect::{Greeting, HandshakeResponse};
use wire::frame;
use wire::{Caps, collation_table};

const NATIVE: &[u8] = b"mysql_native_password";
const SHA2: &[u8] = b"caching_sha2_password";

/// Simulated clients come from so many addresses, one after the other.
const ADDRESSES: usize = 3;

/// Accounts of every form, and the limit on wrong passwords as it is by default.
fn amend(draft: &mut Draft) {
    let stored = sha2::make_stored_hash(b"plum", b"a salt of 20 letters");
    let hashed = native::to_stored(&native::double_sha1(b"pear")).into_bytes();
    draft.users = [("ann", b"apple".to_vec()), ("nat", hashed), ("sue", stored)]
        .map(|(name, password)| UserRow { username: name.into(), password, ..UserRow::default() })
        .into();
    draft.variables.push(("mysql-failed_connections_threshold".into(), "20".into()));
}

fn hall() -> Hall {
    let weather = Weather { amend, faults: io::Faults::none(), ..Weather::cutting() };
    Hall::in_weather(7, &Simulator::new(), &weather)
}

/// Connects and shows a password.
fn show(hall: &mut Hall, name: &str, plugin: &[u8], password: &[u8]) -> Sock {
    let (sock, greeting) = hall.connect();
    let greeting = Greeting::parse(&greeting).expect("a greeting");
    let auth = match plugin == SHA2 {
        true => sha2::scramble(password, &greeting.scramble).to_vec(),
        false => native::scramble(password, &greeting.scramble).to_vec(),
    };
    hall.send(sock, &respond_as(name, plugin, &auth));
    sock
}

fn respond_as(name: &str, plugin: &[u8], auth: &[u8]) -> Vec<u8> {
    let response = HandshakeResponse {
        caps: Caps::MYSQL
            .union(Caps::PROTOCOL_41)
            .union(Caps::SECURE_CONNECTION)
            .union(Caps::PLUGIN_AUTH),
        max_packet: 1 << 24,
        collation: collation_table::UTF8MB4_GENERAL_CI,
        user: name.as_bytes(),
        auth_response: auth,
        schema: None,
        plugin: Some(plugin),
        attributes: &[],
        zstd_level: 0,
    };
    let mut out = Vec::new();
    frame::write_with(&mut out, &mut 1, |payload| response.encode(payload));
    out
}

fn now_ms(hall: &Hall) -> u64 {
    hall.stage.net.now().0 / 1000
}

/// What the login is answered with, without what differs by name.
fn said(hall: &mut Hall, name: &str, plugin: &[u8]) -> Vec<u8> {
    let sock = show(hall, name, plugin, b"wrong");
    let (answer, _) = hall.packet(sock).expect("answered");
    hall.close(sock);
    match answer.first() {
        Some(0xfe) => answer[..23].to_vec(),
        Some(0xff) => answer[..9].to_vec(),
        _ => answer,
    }
}

#[test]
fn many_guesses_take_their_time_whether_the_answers_are_waited_for_or_not() {
    let mut hall = hall();
    for _ in 0..20 * ADDRESSES {
        let sock = show(&mut hall, "ann", NATIVE, b"wrong");
        assert_eq!(hall.error(sock), Some(1045));
    }
    let began_ms = now_ms(&hall);
    for _ in 0..30 {
        let hasty = show(&mut hall, "ann", NATIVE, b"wrong");
        hall.wait_ms(2);
        assert_eq!(hall.take(hasty), b"", "it is not looked at yet");
        hall.close(hasty);
    }
    for _ in 0..4 * ADDRESSES {
        let sock = show(&mut hall, "ann", NATIVE, b"wrong");
        assert_eq!(hall.error(sock), Some(1045));
    }
    let took_ms = now_ms(&hall) - began_ms;
    assert!(took_ms >= 1500, "4 guesses of each were judged in {took_ms} ms");
    assert!(hall.counters().logins_held_up >= 30);
    assert_eq!(hall.counters().denied_password, 24 * ADDRESSES as u64);
}

#[test]
fn a_right_password_waits_its_turn_and_other_names_do_not_wait() {
    let mut hall = hall();
    for _ in 0..20 * ADDRESSES {
        let sock = show(&mut hall, "ann", NATIVE, b"wrong");
        assert_eq!(hall.error(sock), Some(1045));
    }
    let other = show(&mut hall, "nat", NATIVE, b"pear");
    assert_eq!(hall.packet(other).expect("answered").0.first(), Some(&0));
    assert_eq!(hall.counters().logins_held_up, 0);
    let right = show(&mut hall, "ann", NATIVE, b"apple");
    assert_eq!(hall.packet(right).expect("answered").0.first(), Some(&0));
    assert_eq!(hall.counters().logins_held_up, 1);
    for _ in 0..100 {
        let right = show(&mut hall, "ann", NATIVE, b"apple");
        assert_eq!(hall.packet(right).expect("answered").0.first(), Some(&0));
        hall.close(right);
    }
}

#[test]
fn who_hangs_up_when_asked_for_the_password_itself_has_tried_too() {
    for name in ["sue", "nobody of that form"] {
        let mut hall = hall();
        let mut asked = 0;
        for _ in 0..20 * ADDRESSES {
            let sock = show(&mut hall, name, SHA2, b"wrong");
            asked += usize::from(hall.packet(sock).expect("answered").0 == [1, 4]);
            hall.close(sock);
        }
        assert!(name != "sue" || asked == 20 * ADDRESSES, "{asked}");
        assert_eq!(hall.counters().logins_held_up, 0, "{name}");
        let sock = show(&mut hall, name, SHA2, b"wrong");
        hall.packet(sock).expect("answered, late");
        assert_eq!(hall.counters().logins_held_up, 1, "{name}");
    }
}

#[test]
fn a_login_that_is_not_looked_at_in_time_is_told_so() {
    let mut hall = hall();
    let all = 60 * ADDRESSES;
    let socks: Vec<_> = (0..all).map(|_| show(&mut hall, "ann", NATIVE, b"wrong")).collect();
    let mut codes: Vec<_> = socks.into_iter().map(|sock| hall.error(sock)).collect();
    codes.sort_unstable();
    assert_eq!((codes[0], codes[all - 1]), (Some(1045), Some(1129)), "{codes:?}");
    let judged = codes.iter().filter(|code| **code == Some(1045)).count();
    let most = (20 + 20 + 1) * ADDRESSES;
    assert!(judged <= most, "{judged} guesses in 10 seconds");
}

#[test]
fn a_name_is_not_told_by_what_is_asked_of_it() {
    let mut hall = hall();
    for plugin in [NATIVE, SHA2, b"mysql_clear_password"] {
        let known: Vec<_> =
            ["ann", "nat", "sue"].into_iter().map(|name| said(&mut hall, name, plugin)).collect();
        let names: Vec<_> = (0..60).map(|number| format!("nobody{number}")).collect();
        let unknown: Vec<_> = names.iter().map(|name| said(&mut hall, name, plugin)).collect();
        let again: Vec<_> = names.iter().map(|name| said(&mut hall, name, plugin)).collect();
        assert_eq!(unknown, again, "the same every time");
        for answer in &known {
            let like_it = unknown.iter().filter(|other| *other == answer).count();
            let accounts = known.iter().filter(|other| *other == answer).count();
            let expected = 20 * accounts;
            let range = expected.saturating_sub(14)..=expected + 14;
            assert!(range.contains(&like_it), "{like_it} of 60 as {}", answer.escape_ascii());
        }
        assert!(unknown.iter().all(|answer| known.contains(answer)));
    }
}

#[test]
fn a_wrong_password_is_asked_for_again_whether_the_right_one_is_known_or_not() {
    let mut hall = hall();
    let before = said(&mut hall, "nat", SHA2);
    let sock = show(&mut hall, "nat", NATIVE, b"pear");
    assert_eq!(hall.packet(sock).expect("answered").0.first(), Some(&0));
    assert_eq!(said(&mut hall, "nat", SHA2), before);
}

/// Shows the password itself under the key of the process, where that is asked for.
fn show_under_key(hall: &mut Hall, name: &str, password: &[u8]) -> Option<Sock> {
    let (sock, greeting) = hall.connect();
    let nonce = Greeting::parse(&greeting).expect("a greeting").scramble;
    let response = respond_as(name, SHA2, &sha2::scramble(b"wrong", &nonce));
    hall.send(sock, &response);
    if hall.packet(sock).expect("answered").0 != [1, 4] {
        hall.close(sock);
        return None;
    }
    hall.send(sock, &[1, 0, 0, 3, 2]);
    let (key, _) = hall.packet(sock).expect("a key");
    let packet = rsa::encrypt_password(&key[1..], password, &nonce).expect("a key that is one");
    let mut out = Vec::new();
    frame::write_with(&mut out, &mut 5, |payload| payload.extend_from_slice(&packet));
    hall.send(sock, &out);
    Some(sock)
}

#[test]
fn passwords_under_the_key_are_bounded_by_address_whatever_the_names() {
    let few = |draft: &mut Draft| {
        amend(draft);
        draft.variables.push(("mysql-failed_connections_threshold".into(), "2".into()));
    };
    let weather = Weather { amend: few, faults: io::Faults::none(), ..Weather::cutting() };
    let mut hall = Hall::in_weather(7, &Simulator::new(), &weather);
    // right ones cost nothing
    for _ in 0..30 * ADDRESSES {
        let right = show_under_key(&mut hall, "sue", b"plum").expect("asked for");
        assert_eq!(hall.packet(right).expect("answered").0.first(), Some(&0));
    }
    let began_ms = now_ms(&hall);
    let names = (0..).map(|number| format!("nobody{number}"));
    let shown = names.filter_map(|name| show_under_key(&mut hall, &name, b"wrong"));
    let shown: Vec<_> = shown.take(80 * ADDRESSES).collect();
    hall.wait_ms(1);
    let judged = shown.into_iter().filter(|sock| !hall.take(*sock).is_empty()).count();
    let took_ms = now_ms(&hall) - began_ms;
    // 20 at once, then one in 50 ms
    let most = (20 + took_ms as usize / 50 + 1) * ADDRESSES;
    assert!((20 * ADDRESSES..=most).contains(&judged), "{judged} in {took_ms} ms");
    assert!(judged < 60 * ADDRESSES, "{judged} in {took_ms} ms");
}

#[test]
fn a_guesser_does_not_fill_the_log_and_every_refusal_is_told() {
    let weather = Weather { faults: io::Faults::none(), ..Weather::cutting() };
    let mut hall = Hall::in_weather(7, &Simulator::new(), &weather);
    for _ in 0..200 {
        let sock = show(&mut hall, "ann", NATIVE, b"wrong");
        assert_eq!(hall.error(sock), Some(1045));
    }
    assert_eq!(hall.client_faults(), 60);
    (0..7).for_each(|_| hall.wait_ms(10_000));
    let log = hall.stage.log.lock().expect("nobody panics with the log in hand");
    let last = log.last().map(ToString::to_string).unwrap_or_default();
    assert_eq!(last, "140 more clients were refused or broke the protocol within a minute");
    assert_eq!(hall.counters().denied_password, 200);
}
