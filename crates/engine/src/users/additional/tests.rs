//! Two passwords at once: which is right, what each login taught, and which a server is shown.

use super::super::Users;
use super::*;
use crate::rows::UserRow;

const OLD: &str = "*14E65567ABDB5135D0CFD9A70B3032C179A49EE7";
const NEW: &str = "*0000000000000000000000000000000000000001";

fn row(password: &str, additional: &str) -> UserRow {
    let attributes = match additional {
        "" => String::new(),
        additional => format!(r#"{{"additional_password": "{additional}"}}"#),
    };
    UserRow { attributes, ..plain("a", password) }
}

fn plain(name: &str, password: &str) -> UserRow {
    UserRow { username: name.into(), password: password.into(), ..UserRow::default() }
}

fn users(rows: &[UserRow]) -> Users {
    Users::compile(rows).map_err(|faults| faults[0].to_string()).expect("valid")
}

fn found(users: &Users) -> Arc<Account> {
    users.find(b"a").expect("for clients").clone()
}

fn parse(stored: &str) -> Credential {
    Credential::parse(stored.as_bytes()).expect("valid")
}

#[test]
fn what_is_no_second_password_is_refused_without_being_told() {
    let fault = |password: &str, attributes: &str| {
        let row = UserRow { attributes: attributes.into(), ..plain("a", password) };
        Users::compile(&[row]).err().map(|faults| faults[0].to_string())
    };
    let told = |why: &str| Some(format!("mysql_users row 1 column attributes: {why}"));
    let short = r#"{"additional_password": "$A$005$hunter2"}"#;
    let why = "additional_password: a caching_sha2_password hash has 70 bytes, this one has 14";
    assert_eq!(fault("x", short), told(why));
    assert_eq!(fault("x", r#"{"additional_password": 7}"#), told("additional_password is no text"));
    let why = "additional_password is of no use beside an empty password";
    assert_eq!(fault("", r#"{"additional_password": "x"}"#), told(why));
    for from in ["login", "servers"] {
        let both = format!(r#"{{"password_from": "{from}", "additional_password": "x"}}"#);
        let why = "additional_password is of no use beside password_from";
        assert_eq!(fault("", &both), told(why));
    }
    for plugin in ["client_ed25519", "parsec"] {
        let both =
            format!(r#"{{"authentication_plugin": "{plugin}", "additional_password": "x"}}"#);
        let why = "additional_password is not proved by signatures: take another \
                   authentication_plugin";
        assert_eq!(fault("y", &both), told(why));
    }
    assert_eq!(fault("", r#"{"additional_password": ""}"#), None);
    let twice = users(&[row("x", "x")]);
    assert!(found(&twice).additional.is_none(), "it is the same one");
}

#[test]
fn what_a_login_taught_goes_with_its_password_whichever_that_is() {
    let before = users(&[row(OLD, "")]);
    let taught = Learned::Clear(b"secret".as_slice().into());
    found(&before).learn(&parse(OLD), taught.clone());
    let mut next = before;
    // the new one comes first, in the second place, or alone; then the old one again
    for (password, additional, can) in
        [(NEW, OLD, true), (OLD, NEW, true), (NEW, OLD, true), (NEW, "", false), (NEW, OLD, false)]
    {
        let old = found(&next);
        next = next.recompile(&[row(password, additional)]).map_err(|it| it.len()).expect("valid");
        let account = found(&next);
        assert_eq!(account.learned_of(&parse(OLD)) == Some(&taught), can, "{password}");
        assert!(account.learned_of(&parse(NEW)).is_none());
        assert_eq!(next.successor(&old).is_some(), can, "a server can be logged in to");
        assert!(!next.has_changed(&old), "{password} {additional}");
    }
}

#[test]
fn connections_and_logins_outlive_a_change_as_long_as_a_password_is_of_both() {
    let steps = [row("old", ""), row("new", "old"), row("new", ""), row("other", "")];
    let of: Vec<_> = steps.iter().map(|row| users(std::slice::from_ref(row))).collect();
    let [old, both, new, other] = [0, 1, 2, 3].map(|at| found(&of[at]));
    assert!(!of[1].has_changed(&old) && !of[2].has_changed(&both) && !of[1].has_changed(&both));
    assert!(of[2].has_changed(&old) && of[3].has_changed(&both) && of[3].has_changed(&new));
    use PasswordRank::{Additional, Primary};
    // a login that is under way counts by what it proved
    assert!(both.asks_as(&old, Primary) && new.asks_as(&both, Primary));
    assert!(!new.asks_as(&both, Additional) && !other.asks_as(&new, Primary));
    assert!(!new.asks_as(&new, Additional), "there is none");
}

#[test]
fn each_server_is_shown_first_what_it_took_last() {
    use PasswordRank::{Additional, Primary};
    let before = users(&[row("old", "")]);
    found(&before).note_shown(3, Primary);
    let both = before.recompile(&[row("new", "old")]).map_err(|it| it.len()).expect("valid");
    let account = found(&both);
    assert_eq!([3, 4].map(|server| account.shown_first(server)), [Additional, Primary]);
    assert_eq!([3, 4].map(|server| account.is_additional_at(server)), [true, false]);
    assert_eq!(account.shown_instead_of(&parse("old")), Some(Primary));
    assert_eq!(account.shown_instead_of(&parse("new")), Some(Additional));
    // also in a version in which it is the other one, or of a login from before the change
    let back = both.recompile(&[row("old", "new")]).map_err(|it| it.len()).expect("valid");
    assert_eq!([3, 4].map(|server| found(&back).shown_first(server)), [Primary; 2]);
    account.note_shown(3, Primary);
    assert_eq!(account.shown_first(3), Primary);
    assert_eq!(found(&back).shown_first(3), Additional);
    let alone = both.recompile(&[row("new", "")]).map_err(|it| it.len()).expect("valid");
    assert_eq!(found(&alone).shown_first(3), Primary);
    assert_eq!(found(&alone).shown_instead_of(&parse("new")), None);
    assert_eq!(found(&alone).shown_instead_of(&parse("old")), Some(Primary));
}

#[test]
fn of_hashes_that_one_is_shown_of_which_more_is_known() {
    use PasswordRank::{Additional, Primary};
    let account = found(&users(&[row(NEW, OLD)]));
    assert_eq!(account.shown_first(0), Primary);
    assert_eq!(account.shown_instead_of(&parse(NEW)), None, "nothing is known of it");
    account.learn(&parse(OLD), Learned::Sha1([7; 20]));
    assert_eq!(account.shown_first(0), Additional);
    assert_eq!(account.shown_instead_of(&parse(NEW)), Some(Additional));
}

#[test]
fn servers_may_know_two_passwords_that_clients_do_not() {
    use PasswordRank::{Additional, Primary};
    let clients = UserRow { backend: 0, ..plain("a", "x") };
    let servers = UserRow { frontend: 0, ..row("new", "old") };
    let mapped = UserRow { attributes: r#"{"backend_username": "b"}"#.into(), ..plain("a", "x") };
    let other = UserRow { username: "b".into(), ..row("new", "old") };
    for rows in [[clients, servers], [mapped, other]] {
        let account = found(&users(&rows));
        assert!(account.additional.is_none());
        assert!(account.stored_for_servers(Primary) == Some(&parse("new")));
        assert!(account.stored_for_servers(Additional) == Some(&parse("old")));
        assert_eq!(account.shown_instead_of(&parse("old")), Some(Primary));
    }
    let same = [UserRow { backend: 0, ..row(NEW, OLD) }, UserRow { frontend: 0, ..row(NEW, OLD) }];
    assert!(found(&users(&same)).at_servers.is_none(), "what clients teach is of use there");
}

#[test]
fn a_login_asks_for_what_proves_either_and_every_name_costs_as_much() {
    let sha2 = format!("$A$005${}", "x".repeat(63));
    let other = format!("$A$005${}", "y".repeat(63));
    let form =
        |password: &str, additional: &str| found(&users(&[row(password, additional)])).form();
    assert_eq!(form("x", "y"), Form::Clear);
    assert_eq!(form("x", OLD), Form::Native);
    assert_eq!(form(OLD, "x"), Form::Native);
    assert_eq!(form(OLD, &sha2), Form::CachingSha2);
    assert_eq!(form(&sha2, "x"), Form::CachingSha2);
    let rounds = |rows: &[UserRow]| users(rows).sha2_rounds();
    assert_eq!(rounds(&[plain("b", "x")]), 5_000);
    assert_eq!(rounds(&[row(&sha2, "x")]), 5_000);
    assert_eq!(rounds(&[row(&sha2, &other), plain("b", &sha2)]), 10_000);
    let slow = other.replace("005", "014");
    assert_eq!(rounds(&[row(&sha2, &slow), plain("b", &sha2)]), 25_000);
    assert_eq!(rounds(&[plain("b", &sha2), plain("c", &slow)]), 20_000);
    let account = |row| found(&users(&[row])).sha2_rounds();
    assert_eq!(
        [row(&sha2, &slow), row(&sha2, "x"), row("x", "y")].map(account),
        [25_000, 5_000, 0]
    );
}
