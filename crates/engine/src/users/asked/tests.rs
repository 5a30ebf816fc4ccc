//! Which plugin goes with which form of a password, and what is asked for names that are not there.

use super::*;
use crate::rows::UserRow;
use crate::users::{PasswordRank, Users};

const NATIVE: &str = "*14E65567ABDB5135D0CFD9A70B3032C179A49EE7";
/// `ed25519_password('secret')`.
const ED25519: &str = "ZIgUREUg5PVgQ6LskhXmO+eZLS0nC8be6HPjYWR4YJY";
const PARSEC: &str = "P1:c2FsdCBvZiBlaWdodGVlbi4u:ZIgUREUg5PVgQ6LskhXmO+eZLS0nC8be6HPjYWR4YJY";

fn sha2() -> String {
    format!("$A$005${}", "x".repeat(63))
}

fn row(name: &str, password: &str, attributes: &str) -> UserRow {
    UserRow {
        username: name.into(),
        password: password.into(),
        attributes: attributes.into(),
        ..UserRow::default()
    }
}

fn by(plugin: &str) -> String {
    format!(r#"{{"authentication_plugin": "{plugin}"}}"#)
}

/// What comes of rows of which the first is for clients.
fn compile(rows: &[UserRow]) -> Result<Account, String> {
    let users = Users::compile(rows).map_err(|faults| faults[0].to_string())?;
    let account = users.find(rows[0].username.as_bytes()).expect("there");
    Ok(Account::clone(account))
}

/// What is stored of a password, or why it is refused, where servers have one of their own.
fn stored(plugin: &str, password: &str) -> Result<Form, String> {
    let clients = UserRow { backend: 0, ..row("a", password, &by(plugin)) };
    let servers = UserRow { frontend: 0, ..row("a", "of servers", "") };
    compile(&[clients, servers]).map(|account| account.asked().form)
}

#[test]
fn a_plugin_takes_what_it_can_prove_and_faults_say_what_to_do() {
    let not = |plugin: &str, what: &str| {
        Err(format!(
            "mysql_users row 1 column password: {plugin} does not prove {what}: give the password \
             itself, or another authentication_plugin"
        ))
    };
    let of_native = "a hash of mysql_native_password";
    let of_sha2 = "a hash of caching_sha2_password";
    let of_ed25519 = "a public key of client_ed25519";
    let of_parsec = "a public key of parsec";
    let (native, ed25519) = ("mysql_native_password", "client_ed25519");
    for (plugin, password, expected) in [
        (native, NATIVE, Ok(Form::Native)),
        (native, &sha2(), not(native, of_sha2)),
        (native, ED25519, not(native, of_ed25519)),
        (native, PARSEC, not(native, of_parsec)),
        ("caching_sha2_password", NATIVE, Ok(Form::Native)),
        ("caching_sha2_password", &sha2(), Ok(Form::CachingSha2)),
        ("sha256_password", NATIVE, Ok(Form::Native)),
        ("sha256_password", &sha2(), Ok(Form::CachingSha2)),
        // clients of these show the password, so that it is one
        ("caching_sha2_password", ED25519, Ok(Form::Clear)),
        ("sha256_password", PARSEC, Ok(Form::Clear)),
        ("mysql_clear_password", ED25519, Ok(Form::Clear)),
        ("mysql_clear_password", &sha2(), Ok(Form::CachingSha2)),
        (ed25519, ED25519, Ok(Form::Ed25519)),
        (ed25519, NATIVE, not(ed25519, of_native)),
        (ed25519, &sha2(), not(ed25519, of_sha2)),
        (ed25519, PARSEC, not(ed25519, of_parsec)),
        ("parsec", PARSEC, Ok(Form::Parsec(1))),
        ("parsec", NATIVE, not("parsec", of_native)),
        ("parsec", ED25519, not("parsec", of_ed25519)),
    ] {
        assert_eq!(stored(plugin, password), expected, "{plugin} {password}");
    }
    for plugin in PLUGINS.map(Plugin::name) {
        assert_eq!(stored(plugin, "clear"), Ok(Form::Clear), "{plugin}");
        assert_eq!(stored(plugin, ""), Ok(Form::Empty), "{plugin}");
    }
    // as ever, where no plugin is named
    for text in [ED25519, PARSEC] {
        assert_eq!(compile(&[row("a", text, "")]).expect("clear").asked().form, Form::Clear);
    }
}

#[test]
fn a_name_that_is_no_plugin_is_refused_with_those_that_are() {
    for name in ["\"ed25519\"", "\"\"", "1", "\"dialog\""] {
        let attributes = format!(r#"{{"authentication_plugin": {name}}}"#);
        let told = compile(&[row("a", "x", &attributes)]).err().expect("refused");
        let expected = "mysql_users row 1 column attributes: authentication_plugin is none of \
            mysql_native_password, caching_sha2_password, sha256_password, mysql_clear_password, \
            client_ed25519, parsec";
        assert_eq!(told, expected, "{name}");
    }
}

#[test]
fn clients_that_sign_need_a_password_for_servers() {
    let servers = "{\"password_from\": \"servers\", \"authentication_plugin\": \"client_ed25519\"";
    let lacks = "mysql_users row 1 column attributes: clients of client_ed25519 never show the \
        password that servers want: add a row of the name for servers (frontend = 0), or \
        backend_username";
    for first in [row("a", "", &format!("{servers}}}")), row("a", ED25519, &by("client_ed25519"))] {
        let told = compile(std::slice::from_ref(&first)).err();
        assert_eq!(told.as_deref(), Some(lacks));
        let clients = UserRow { backend: 0, ..first };
        let of_servers = UserRow { frontend: 0, ..row("a", "x", "") };
        assert!(compile(&[clients, of_servers]).is_ok());
    }
    let mapped = row("a", "", &format!("{servers}, \"backend_username\": \"b\"}}"));
    assert!(compile(&[mapped, row("b", "x", "")]).is_ok());
    // in clear text, servers are shown it
    assert!(compile(&[row("a", "x", &by("client_ed25519"))]).is_ok());
    let login = |plugin: &str| {
        let attributes =
            format!(r#"{{"password_from": "login", "authentication_plugin": "{plugin}"}}"#);
        compile(&[row("a", "", &attributes)]).map(|account| account.asked().form)
    };
    assert_eq!(login("sha256_password"), Ok(Form::CachingSha2));
    for plugin in ["mysql_native_password", "client_ed25519", "parsec"] {
        let told = login(plugin).expect_err("its clients show nothing");
        assert!(told.contains("column attributes: password_from \"login\" needs"), "{told}");
    }
}

#[test]
fn names_that_are_not_there_are_asked_as_often_for_each_thing() {
    let rows = [
        row("a", "x", &by("parsec")),
        row("b", "", &by("parsec")),
        row("c", "x", &by("client_ed25519")),
        row("d", NATIVE, ""),
        UserRow { frontend: 0, ..row("e", "x", "") },
    ];
    let users = Users::compile(&rows).map_err(|faults| faults.len()).expect("no fault");
    let all = |users: &Users| -> Vec<_> {
        (0..400).map(|part| users.asked_of_nobody(part * (u64::MAX / 400))).collect()
    };
    let asked = all(&users);
    let by_parsec = asked.iter().filter(|asked| asked.plugin == Some(Plugin::Parsec));
    // an account without a password is asked as one with
    assert!(by_parsec.count().abs_diff(200) <= 2);
    let clear = asked.iter().filter(|asked| asked.form == Form::Clear);
    assert!(clear.count().abs_diff(300) <= 2);
    // most names are asked the same when there is one account more
    let more: Vec<_> = (0..100).map(|at| row(&format!("n{at}"), NATIVE, "")).collect();
    let [before, behind] = [99, 100].map(|count| {
        let rows = [&rows[..], &more[..count]].concat();
        all(&Users::compile(&rows).map_err(|faults| faults.len()).expect("no fault"))
    });
    let changed = before.iter().zip(&behind).filter(|(before, behind)| before != behind);
    assert!(changed.count() <= 8);
}

#[test]
fn an_account_whose_plugin_changes_asks_for_something_else() {
    let compiled = |attributes: &str| compile(&[row("a", "x", attributes)]).expect("no fault");
    let [none, ed25519] = [String::new(), by("client_ed25519")].map(|it| compiled(&it));
    let primary = PasswordRank::Primary;
    assert!(!none.asks_as(&ed25519, primary) && none.asks_as(&compiled(""), primary));
}
