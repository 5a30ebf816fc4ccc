//! Accounts whose passwords PAM or LDAP checks: what a client is told, whatever the answer is and
//! whenever it comes. The test itself is who is asked.

use std::sync::Arc;

use engine::login_checks::{CheckAt, CheckOutcome, CheckTicket, LoginCheck};
use engine::report::LogEvent;
use engine::rows::UserRow;
use engine::snapshot::Draft;
use io::{Addr, Faults, Sock};
use testkit::raw::Hall;
use testkit::sim::{Simulator, Weather};
use wire::auth::{rsa, sha2};
use wire::connect::{AuthMore, AuthSwitch, ChangeUser, HandshakeResponse};
use wire::{Caps, collation_table, frame};
use worker::Mail;

const CAPS: Caps =
    Caps::MYSQL.union(Caps::PROTOCOL_41).union(Caps::SECURE_CONNECTION).union(Caps::PLUGIN_AUTH);
const NATIVE: &str = "mysql_native_password";
const SHA2: &str = "caching_sha2_password";
const CLEAR: &str = "mysql_clear_password";

/// A query that servers answer to `ann` alone.
const READ: &str = "SELECT /*s1 q1 u=ann db= cs=45 ac=1 tx=0 op=0 pin=0 pop=0 lid=-1 sw=0 k=rows \
    r=0 w=0 n=1 wa=0*/ v FROM t";

/// `eve` and `fast` by PAM, `app_…` by a pattern, each with the server account `ann`; `ann` for
/// clients as well.
fn amend(draft: &mut Draft) {
    let row = |name: &str, password: &str, attributes: &str| UserRow {
        username: name.into(),
        password: password.into(),
        attributes: attributes.into(),
        ..UserRow::default()
    };
    let by = r#"{"password_from": "pam", "backend_username": "ann""#;
    let clear = format!(r#"{by}, "authentication_plugin": "mysql_clear_password"}}"#);
    let named = format!(r#"{by}, "pam_service": "mysql", "name_pattern": "app_.*"}}"#);
    draft.users = vec![
        row("ann", "apple", ""),
        row("eve", "", &format!("{by}}}")),
        UserRow { fast_forward: 1, ..row("fast", "", &format!("{by}}}")) },
        row("clear", "", &clear),
        row("apps", "", &named),
    ];
    for (name, value) in [
        ("failed_connections_threshold", "3"),
        ("failed_connection_delay", "10000"),
        ("login_check_queue_max", "2"),
        ("login_check_timeout", "3000"),
    ] {
        draft.variables.push((format!("mysql-{name}"), value.into()));
    }
}

fn hall() -> Hall {
    let weather = Weather { amend, faults: Faults::none(), ..Weather::cutting() };
    Hall::in_weather(7, &Simulator::new(), &weather)
}

/// A client whose login has come to the point where its password is checked.
struct Client<'a> {
    hall: &'a mut Hall,
    sock: Sock,
    seq: u8,
}

impl<'a> Client<'a> {
    /// One that shows a password as it is, where nobody can listen in.
    fn show(hall: &'a mut Hall, name: &str, password: &str) -> Self {
        let to = hall.stage.local_addr.clone();
        let mut client = Self::begin(hall, &to, name);
        client.answer(password);
        client
    }

    fn begin(hall: &'a mut Hall, to: &Addr, name: &str) -> Self {
        let (sock, _) = hall.connect_to(to);
        let response = HandshakeResponse {
            caps: CAPS,
            max_packet: 1 << 24,
            collation: collation_table::UTF8MB4_GENERAL_CI,
            user: name.as_bytes(),
            auth_response: b"whatever",
            schema: None,
            plugin: Some(NATIVE.as_bytes()),
            attributes: &[],
            zstd_level: 0,
        };
        let mut out = Vec::new();
        frame::write_with(&mut out, &mut 1, |payload| response.encode(payload));
        hall.send(sock, &out);
        Self { hall, sock, seq: 1 }
    }

    /// Goes by the plugin that it is asked for, and shows the password.
    fn answer(&mut self, password: &str) {
        let heard = self.hear();
        let switch = AuthSwitch::parse(&heard);
        let switch = switch.unwrap_or_else(|_| panic!("no switch: {}", heard.escape_ascii()));
        let clear = [password.as_bytes(), &[0]].concat();
        match switch.plugin {
            plugin if plugin == SHA2.as_bytes() => {
                let nonce: [u8; 20] = switch.data.try_into().expect("a nonce");
                self.say(&sha2::scramble(password.as_bytes(), &nonce));
                assert_eq!(self.hear(), [AuthMore::MARKER, AuthMore::FULL_AUTH]);
            }
            plugin => assert_eq!(plugin, CLEAR.as_bytes()),
        }
        self.say(&clear);
    }

    fn hear(&mut self) -> Vec<u8> {
        let (payload, seq) = self.hall.packet(self.sock).expect("answered");
        self.seq = seq;
        payload
    }

    fn say(&mut self, payload: &[u8]) {
        let mut out = Vec::new();
        frame::write_packet(&mut out, &mut self.seq.wrapping_add(1), payload);
        self.hall.send(self.sock, &out);
    }

    fn is_let_in(&mut self) -> bool {
        self.hear().first() == Some(&0)
    }

    /// The number and the text of the error that it gets, which ends its connection.
    fn refused(&mut self) -> (u16, String) {
        let heard = self.hear();
        let [0xff, low, high, b'#', rest @ ..] = heard.as_slice() else {
            panic!("no error: {}", heard.escape_ascii());
        };
        assert!(self.hall.ends(self.sock));
        let text = String::from_utf8_lossy(rest.get(5..).unwrap_or_default());
        (u16::from_le_bytes([*low, *high]), text.into_owned())
    }
}

/// The next check that was asked for, and was not taken before.
fn check(hall: &mut Hall) -> Arc<LoginCheck> {
    assert!(hall.until(|hall| waiting(hall) > 0), "something is to be checked");
    hall.stage.login_checks.lock().expect("whole").remove(0)
}

fn waiting(hall: &Hall) -> usize {
    hall.stage.login_checks.lock().expect("whole").len()
}

/// Nothing is asked, however long it takes.
fn nothing_is_checked(hall: &mut Hall) {
    hall.wait_ms(200);
    assert_eq!(waiting(hall), 0);
}

fn tell(hall: &Hall, ticket: &CheckTicket, outcome: CheckOutcome) {
    let mail = Mail::LoginChecked(ticket.clone(), outcome);
    assert!(hall.stage.workers[0].mailbox().post(mail).is_ok());
}

/// Shows a password, has it judged so, and gives what becomes of it.
fn judged(hall: &mut Hall, name: &str, outcome: CheckOutcome) -> Result<Sock, (u16, String)> {
    let sock = Client::show(hall, name, "pear").sock;
    let check = check(hall);
    tell(hall, &check.ticket, outcome);
    drop(check);
    let (payload, _) = hall.packet(sock).expect("answered");
    match payload.as_slice() {
        [0, ..] => Ok(sock),
        [0xff, low, high, b'#', rest @ ..] => {
            let text = String::from_utf8_lossy(rest.get(5..).unwrap_or_default()).into_owned();
            Err((u16::from_le_bytes([*low, *high]), text))
        }
        other => panic!("neither: {}", other.escape_ascii()),
    }
}

fn denied(name: &str) -> (u16, String) {
    (1045, format!("Access denied for user '{name}'@'localhost' (using password: YES)"))
}

fn log(hall: &Hall) -> Vec<String> {
    hall.stage.log.lock().expect("whole").iter().map(LogEvent::to_string).collect()
}

/// Nobody waits, and nothing is kept for a client.
fn is_at_rest(hall: &Hall) -> bool {
    hall.stage.proxies().all(|proxy| proxy.session_count() == 0)
}

#[test]
fn a_right_password_lets_in_and_servers_are_shown_the_other_account_s() {
    let mut hall = hall();
    for (name, service) in [("eve", "tidegate"), ("clear", "tidegate"), ("app_1", "mysql")] {
        let sock = Client::show(&mut hall, name, "pear").sock;
        let check = check(&mut hall);
        assert_eq!((&*check.user, check.password.bytes()), (name, &b"pear"[..]));
        assert_eq!((&*check.client, &check.at), ("localhost", &CheckAt::Pam(service.into())));
        assert_eq!((check.timeout_ms, check.is_awaited()), (3000, true));
        assert_eq!(hall.take(sock), b"", "nothing is said before");
        tell(&hall, &check.ticket, CheckOutcome::Right);
        drop(check);
        assert!(Client { hall: &mut hall, sock, seq: 0 }.is_let_in(), "{name}");
        hall.query(sock, READ);
        let result = hall.result(sock);
        assert_ne!(result.first(), Some(&0xff), "{name}: {}", result.escape_ascii());
        hall.close(sock);
    }
    let sock = judged(&mut hall, "fast", CheckOutcome::Right).expect("let in");
    hall.query(sock, READ);
    assert_ne!(hall.result(sock).first(), Some(&0xff));
    assert_eq!(hall.counters().login_checks_right, 4);
}

#[test]
fn a_wrong_password_and_a_name_that_is_not_there_are_told_the_same() {
    let mut hall = hall();
    assert_eq!(judged(&mut hall, "eve", CheckOutcome::Wrong).err(), Some(denied("eve")));
    let refused = CheckOutcome::Refused("the account has expired".to_owned());
    assert_eq!(judged(&mut hall, "eve", refused).err(), Some(denied("eve")));
    let line = log(&hall).into_iter().find(|line| line.contains("is not let in by PAM"));
    assert!(line.expect("told").ends_with(": the account has expired"));
    let counters = hall.counters();
    assert_eq!((counters.login_checks_wrong, counters.denied_password), (2, 2));
    // a name that is not there is asked as some account is; here it is one of PAM's
    let mut client = Client::show(&mut hall, "nobody4", "pear");
    assert_eq!(client.refused(), denied("nobody4"));
    nothing_is_checked(&mut hall);
}

#[test]
fn an_empty_password_is_wrong_and_nobody_is_asked() {
    let mut hall = hall();
    for name in ["eve", "clear", "app_1"] {
        let to = hall.stage.local_addr.clone();
        let mut client = Client::begin(&mut hall, &to, name);
        client.hear();
        client.say(&[0]);
        let mut heard = client.hear();
        if heard == [AuthMore::MARKER, AuthMore::FULL_AUTH] {
            client.say(&[0]);
            heard = client.hear();
        }
        assert_eq!(heard[..3], [0xff, 0x15, 0x04], "{name}: {}", heard.escape_ascii());
    }
    nothing_is_checked(&mut hall);
}

#[test]
fn in_clear_text_nobody_is_asked_whether_or_not_the_password_is_under_the_key() {
    let mut hall = hall();
    let to = hall.stage.client_addr.clone();
    let mut client = Client::begin(&mut hall, &to, "eve");
    let heard = client.hear();
    let nonce = AuthSwitch::parse(&heard).expect("a switch").data.try_into().expect("a nonce");
    client.say(&sha2::scramble(b"pear", &nonce));
    assert_eq!(client.hear(), [AuthMore::MARKER, AuthMore::FULL_AUTH]);
    client.say(&[2]);
    let key = client.hear();
    client.say(&rsa::encrypt_password(&key[1..], b"pear", &nonce).expect("a key"));
    assert_eq!(client.refused().0, 1045);
    // one that would say it as it is, is not even asked for it
    let mut client = Client::begin(&mut hall, &to, "clear");
    assert_eq!(client.refused().0, 1045);
    nothing_is_checked(&mut hall);
    assert_eq!(hall.counters().denied_without_tls, 2);
    assert_eq!(log(&hall).iter().filter(|line| line.contains("SSL is required")).count(), 2);
}

#[test]
fn an_answer_that_does_not_come_in_time_is_a_failure_and_too_late_afterwards() {
    let mut hall = hall();
    let mut client = Client::show(&mut hall, "eve", "pear");
    let began_us = client.hall.stage.net.now().0;
    let late = check(client.hall);
    let (code, text) = client.refused();
    let took_us = client.hall.stage.net.now().0 - began_us;
    let said = "PAM did not say within mysql-login_check_timeout whether the password is right";
    assert_eq!((code, text.as_str()), (9001, said));
    assert!((2_900_000..3_500_000).contains(&took_us), "{took_us}");
    assert!(!late.is_awaited());
    tell(&hall, &late.ticket, CheckOutcome::Right);
    // the place of a session that is gone may be another one's by then
    let sock = Client::show(&mut hall, "eve", "pear").sock;
    let own = check(&mut hall);
    for ticket in [&late.ticket, &own.ticket] {
        assert_eq!(hall.take(sock), b"");
        tell(&hall, ticket, CheckOutcome::Right);
        hall.wait_ms(20);
    }
    assert!(Client { hall: &mut hall, sock, seq: 0 }.is_let_in());
    assert_eq!(hall.counters().login_checks_timed_out, 1);
    assert_eq!(hall.counters().denied_password, 0);
    assert!(log(&hall).iter().any(|line| line.contains(said)));
}

#[test]
fn beyond_so_many_that_wait_a_login_is_refused_at_once_until_one_is_answered() {
    let mut hall = hall();
    let [first, second] = [0; 2].map(|_| Client::show(&mut hall, "eve", "pear").sock);
    let (one, other) = (check(&mut hall), check(&mut hall));
    let full = (1040, "Too many logins wait for PAM (mysql-login_check_queue_max)".to_owned());
    for name in ["eve", "app_1"] {
        assert_eq!(Client::show(&mut hall, name, "pear").refused(), full);
    }
    assert_eq!(hall.counters().login_checks_full, 2);
    assert!(log(&hall).iter().any(|line| line.contains("Too many logins wait for PAM")));
    tell(&hall, &one.ticket, CheckOutcome::Right);
    drop(one);
    assert!(Client { hall: &mut hall, sock: first, seq: 0 }.is_let_in());
    assert!(judged(&mut hall, "eve", CheckOutcome::Right).is_ok(), "there is room again");
    tell(&hall, &other.ticket, CheckOutcome::Right);
    assert!(Client { hall: &mut hall, sock: second, seq: 0 }.is_let_in());
}

#[test]
fn a_client_that_hangs_up_leaves_nothing_behind() {
    let mut hall = hall();
    let sock = Client::show(&mut hall, "eve", "pear").sock;
    let check = check(&mut hall);
    hall.close(sock);
    assert!(hall.until(|_| !check.is_awaited()), "nobody waits for it");
    assert!(hall.until(is_at_rest));
    tell(&hall, &check.ticket, CheckOutcome::Right);
    hall.wait_ms(20);
    assert!(is_at_rest(&hall));
    drop(check);
    let counters = hall.counters();
    assert_eq!((counters.login_checks_right, counters.login_checks_timed_out), (0, 0));
    let account = hall.stage.snapshot.users.find(b"eve").expect("there");
    assert_eq!(account.clients(), 0);
    // its place is free: two more may wait
    let socks = [0; 2].map(|_| Client::show(&mut hall, "eve", "pear").sock);
    assert!(hall.until(|hall| waiting(hall) == 2));
    socks.into_iter().for_each(|sock| hall.close(sock));
}

#[test]
fn a_load_in_between_counts() {
    let removed: fn(&mut Draft) = |draft| draft.users.retain(|row| row.username != "eve");
    let of_others: [fn(&mut Draft); 4] = [
        |draft| of_eve(draft).attributes.clear(),
        |draft| {
            of_eve(draft).attributes = of_eve(draft)
                .attributes
                .replace("\"pam\"", "\"login\"")
                .replace(", \"backend_username\": \"ann\"", "")
        },
        |draft| {
            let service = "\"pam\", \"pam_service\": \"other\"";
            of_eve(draft).attributes = of_eve(draft).attributes.replace("\"pam\"", service);
        },
        |draft| of_eve(draft).frontend = 0,
    ];
    let same: fn(&mut Draft) = |draft| of_eve(draft).max_connections = 9;
    let cases = of_others.into_iter().map(|change| (change, false));
    for (change, is_in) in cases.chain([(removed, false), (same, true)]) {
        let mut hall = hall();
        let sock = Client::show(&mut hall, "eve", "pear").sock;
        let check = check(&mut hall);
        let mut draft = Draft::clone(&hall.stage.snapshot.draft);
        change(&mut draft);
        if of_eve_is_for_servers(&draft) {
            // it says nothing of passwords for clients any more
            draft.users.retain(|row| row.username != "eve");
        }
        draft.variables.clear();
        hall.stage.reconfigure(&draft, 1 << 16);
        hall.wait_ms(5);
        tell(&hall, &check.ticket, CheckOutcome::Right);
        let mut client = Client { hall: &mut hall, sock, seq: 0 };
        match is_in {
            true => assert!(client.is_let_in()),
            false => assert_eq!(client.refused(), denied("eve")),
        }
    }
}

fn of_eve(draft: &mut Draft) -> &mut UserRow {
    draft.users.iter_mut().find(|row| row.username == "eve").expect("there")
}

fn of_eve_is_for_servers(draft: &Draft) -> bool {
    draft.users.iter().any(|row| row.username == "eve" && row.frontend == 0)
}

#[test]
fn wrong_passwords_are_bounded_and_what_nobody_judged_is_none() {
    let mut hall = hall();
    let failed = || CheckOutcome::Failed("connection refused".to_owned());
    for _ in 0..9 {
        let said = judged(&mut hall, "eve", failed()).err();
        assert_eq!(
            said,
            Some((9001, "PAM could not say whether the password is right".to_owned()))
        );
        let sock = judged(&mut hall, "eve", CheckOutcome::Right).expect("let in");
        hall.close(sock);
    }
    assert!(log(&hall).iter().any(|line| line.ends_with("not let in by PAM: connection refused")));
    assert_eq!(hall.counters().login_checks_failed, 9);
    for _ in 0..3 {
        assert_eq!(judged(&mut hall, "eve", CheckOutcome::Wrong).err(), Some(denied("eve")));
    }
    assert_eq!(hall.counters().logins_held_up, 0);
    let to = hall.stage.local_addr.clone();
    let mut client = Client::begin(&mut hall, &to, "eve");
    let heard = client.hear();
    let nonce = AuthSwitch::parse(&heard).expect("a switch").data.try_into().expect("a nonce");
    client.say(&sha2::scramble(b"pear", &nonce));
    nothing_is_checked(&mut hall);
    assert_eq!(hall.counters().logins_held_up, 1);
    // other names from there do not wait
    assert!(judged(&mut hall, "app_1", CheckOutcome::Right).is_ok());
}

#[test]
fn a_change_of_user_is_checked_as_a_login_is() {
    let mut hall = hall();
    for (outcome, is_in) in [(CheckOutcome::Right, true), (CheckOutcome::Wrong, false)] {
        let sock = Client::show(&mut hall, "app_1", "pear").sock;
        let first = check(&mut hall);
        tell(&hall, &first.ticket, CheckOutcome::Right);
        assert!(Client { hall: &mut hall, sock, seq: 0 }.is_let_in());
        let change = ChangeUser {
            user: b"eve",
            auth_response: b"",
            schema: b"",
            collation: Some(45),
            plugin: Some(NATIVE.as_bytes()),
            attributes: b"",
        };
        let mut out = Vec::new();
        frame::write_with(&mut out, &mut 0, |payload| change.encode(CAPS, payload));
        hall.send(sock, &out);
        Client { hall: &mut hall, sock, seq: 0 }.answer("plum");
        let check = check(&mut hall);
        assert_eq!((&*check.user, check.password.bytes()), ("eve", &b"plum"[..]));
        // what was said of another password on this connection says nothing of this one
        tell(&hall, &first.ticket, CheckOutcome::Right);
        hall.wait_ms(20);
        assert_eq!(hall.take(sock), b"");
        tell(&hall, &check.ticket, outcome);
        let mut client = Client { hall: &mut hall, sock, seq: 0 };
        match is_in {
            true => assert!(client.is_let_in()),
            false => assert_eq!(client.refused(), denied("eve")),
        }
    }
}
