//! Which accounts of PAM and LDAP can be in force, and what is said of the others.

use super::*;
use crate::rows::UserRow;
use crate::users::Users;

fn row(name: &str, password: &str, attributes: &str) -> UserRow {
    UserRow {
        username: name.into(),
        password: password.into(),
        attributes: attributes.into(),
        ..UserRow::default()
    }
}

fn of_servers(name: &str, password: &str) -> UserRow {
    UserRow { frontend: 0, ..row(name, password, "") }
}

fn of_clients(attributes: &str) -> UserRow {
    UserRow { backend: 0, ..row("eve", "", attributes) }
}

fn faults_with(features: CheckFeatures, rows: &[UserRow]) -> Vec<String> {
    let users = Users::with_features(features).recompile(rows);
    users.err().unwrap_or_default().iter().map(ToString::to_string).collect()
}

fn faults(rows: &[UserRow]) -> Vec<String> {
    faults_with(CheckFeatures::ALL, rows)
}

const PAM: &str = r#"{"password_from": "pam"}"#;
const LDAP: &str = r#"{"password_from": "ldap"}"#;

#[test]
fn servers_are_logged_in_to_by_a_second_row_or_by_another_account() {
    let of = |name: &str| format!(r#"{{"password_from": "ldap", "backend_username": "{name}"}}"#);
    for (rows, name, password) in [
        (vec![of_clients(PAM), of_servers("eve", "plum")], "eve", &b"plum"[..]),
        (vec![of_servers("eve", ""), of_clients(LDAP)], "eve", b""),
        (vec![row("eve", "", &of("app")), row("app", "apple", "")], "app", b"apple"),
        // the attribute says more than the row
        (
            vec![of_clients(&of("app")), of_servers("eve", "plum"), of_servers("app", "apple")],
            "app",
            b"apple",
        ),
    ] {
        let users = Users::with_features(CheckFeatures::ALL).recompile(&rows);
        let users = users.map_err(|faults| faults[0].to_string()).expect("valid");
        let eve = users.find(b"eve").expect("there");
        assert_eq!(eve.told_to_servers(), name);
        let shown = match eve.stored_for_servers(eve.shown_first(0)) {
            Some(Credential::Clear { password, .. }) => password.to_vec(),
            Some(Credential::Empty) => Vec::new(),
            _ => panic!("nothing that a server is shown"),
        };
        assert_eq!(shown, password);
    }
}

#[test]
fn an_account_that_no_server_could_be_logged_in_to_by_is_refused() {
    let at = |row: u8, why: &str| vec![format!("mysql_users row {row} column attributes: {why}")];
    let none = "password_from \"pam\" says nothing of servers: add a row of the name for them \
                (frontend = 0, and backend = 0 here), or backend_username";
    assert_eq!(faults(&[row("eve", "", PAM)]), at(1, none));
    let hash = "password_from \"pam\" needs the password for servers in clear text: no login \
                of a client teaches what a hash is of";
    let native = format!("*{}", "0".repeat(40));
    assert_eq!(faults(&[of_clients(PAM), of_servers("eve", &native)]), at(1, hash));
    let to_ann = r#"{"password_from": "pam", "backend_username": "ann"}"#;
    assert_eq!(faults(&[row("ann", &native, ""), row("eve", "", to_ann)]), at(2, hash));
    let unknown = "backend_username: there is no account 'ann' with a password here";
    assert_eq!(faults(&[row("eve", "", to_ann)]), at(1, unknown));
    for other in [r#"{"password_from": "login"}"#, PAM] {
        let ann = row("ann", "", other);
        assert!(faults(&[row("eve", "", to_ann), ann]).contains(&at(1, unknown)[0]), "{other}");
    }
    let mut found =
        faults(&[of_servers("eve", "plum"), UserRow { frontend: 0, ..of_clients(PAM) }]);
    found.truncate(1);
    assert_eq!(found, at(2, NEEDS_CLIENTS));
}

#[test]
fn a_build_without_the_feature_refuses_what_needs_it_and_names_it() {
    let rows = [of_clients(LDAP), of_servers("eve", "plum")];
    let none = CheckFeatures { pam: false, ldap: false };
    let why = "mysql_users row 1 column attributes: password_from \"ldap\" is not in this build \
               of Tidegate: it needs the feature `ldap` (cargo build --features ldap)";
    assert_eq!(faults_with(none, &rows), [why]);
    assert_eq!(faults_with(CheckFeatures { ldap: false, ..CheckFeatures::ALL }, &rows), [why]);
    assert!(faults_with(CheckFeatures { pam: false, ..CheckFeatures::ALL }, &rows).is_empty());
    let rows = [of_clients(PAM), of_servers("eve", "plum")];
    assert!(faults_with(none, &rows)[0].contains("it needs the feature `pam`"));
    let off = UserRow { active: 0, ..of_clients(PAM) };
    assert!(faults_with(none, &[off]).is_empty(), "it is not in force");
}

#[test]
fn attributes_that_do_not_go_with_a_check_are_refused() {
    for (attributes, why) in [
        (r#"{"pam_service": "x"}"#, "pam_service needs password_from \"pam\""),
        (
            r#"{"password_from": "ldap", "pam_service": "x"}"#,
            "pam_service needs password_from \"pam\"",
        ),
        (
            r#"{"password_from": "pam", "pam_service": "../x"}"#,
            "pam_service is no name of a file in /etc/pam.d",
        ),
        (
            r#"{"password_from": "PAM"}"#,
            "password_from is not \"servers\", \"login\", \"pam\" or \"ldap\"",
        ),
        (r#"{"password_from": "pam", "name_pattern": "e.*"}"#, NEEDS_NAME),
        (
            r#"{"password_from": "pam", "additional_password": "x"}"#,
            "additional_password is of no use beside password_from",
        ),
    ] {
        let found = faults(&[of_clients(attributes), of_servers("eve", "plum")]);
        assert_eq!(found, [format!("mysql_users row 1 column attributes: {why}")]);
    }
    let signs = r#"{"password_from": "pam", "authentication_plugin": "client_ed25519"}"#;
    let found = faults(&[of_clients(signs), of_servers("eve", "plum")]);
    assert!(found[0].contains("need clients that show the password"), "{found:?}");
    let stored = UserRow { password: b"x".into(), ..of_clients(PAM) };
    let found = faults(&[stored, of_servers("eve", "plum")]);
    assert!(found[0].ends_with("column password: password_from says where it is: leave it empty"));
}
