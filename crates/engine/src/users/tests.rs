//! What rows of accounts come to, and what is wrong with some.

use super::attributes::{LOGIN_NEEDS, LOGIN_SHOWS, REDIRECT_NEEDS};
use super::*;

fn row(name: &str, password: &[u8]) -> UserRow {
    UserRow { username: name.into(), password: password.into(), ..UserRow::default() }
}

#[test]
fn the_form_of_a_password_decides_what_it_is() {
    let clear = Credential::parse(b"secret").unwrap();
    assert!(matches!(clear, Credential::Clear { .. }));
    let hashed = Credential::parse(b"*14E65567ABDB5135D0CFD9A70B3032C179A49EE7").unwrap();
    let Credential::Clear { double_sha1, .. } = clear else { unreachable!() };
    assert!(hashed == Credential::Native(double_sha1));
    assert!(Credential::parse(b"$A$005$short").is_err());
    assert!(Credential::parse(b"").unwrap().is_empty());
}

#[test]
fn every_fault_of_every_row_is_named() {
    let mut bad = row("", b"x");
    bad.active = 2;
    bad.use_ssl = 2;
    bad.default_hostgroup = -1;
    bad.attributes = "{".into();
    let faults = Users::compile(&[row("a", b""), bad, row("a", b"")]).err().unwrap();
    let said: Vec<_> = faults.iter().map(ToString::to_string).collect();
    assert_eq!(
        said,
        [
            "mysql_users row 2 column username: must not be empty",
            "mysql_users row 2 column active: 2 is not 0 or 1",
            "mysql_users row 2 column use_ssl: 2 is not 0 or 1",
            "mysql_users row 2 column default_hostgroup: -1 is not 0 or more",
            "mysql_users row 2 column attributes: not JSON: at character 2",
            "mysql_users row 3 column username: this account is already there",
        ]
    );
}

#[test]
fn servers_may_know_an_account_by_another_name_and_its_password() {
    let mapped = |to: &str| UserRow {
        attributes: format!("{{\"backend_username\": {to}}}"),
        ..row("a", b"of a")
    };
    let of_servers = UserRow { frontend: 0, ..row("shop", b"of shop") };
    let compile = |rows: &[UserRow]| {
        let told = |faults: Vec<ConfigFault>| faults[0].to_string();
        Users::compile(rows).map_err(told)
    };
    let users = compile(&[mapped("\"shop\""), of_servers.clone()]).unwrap();
    let account = users.find(b"a").expect("for clients");
    assert_eq!(account.told_to_servers(), "shop");
    assert!(account.credential == Credential::parse(b"of a").unwrap());
    assert!(*account.shown_to_servers() == Credential::parse(b"of shop").unwrap());
    let plain = users.recompile(&[row("a", b"of a"), of_servers]).map_err(|it| it.len()).unwrap();
    assert!(plain.has_changed(account), "connections of the other name serve nobody else");
    for (to, why) in [
        ("\"nobody\"", "backend_username: there is no account 'nobody' with a password here"),
        ("\"\"", "backend_username is no name"),
        ("1", "backend_username is no name"),
    ] {
        let told = compile(&[mapped(to)]).err().unwrap();
        assert_eq!(told, format!("mysql_users row 1 column attributes: {why}"));
    }
}

#[test]
fn a_row_for_clients_and_one_for_servers_are_one_account() {
    let side = |frontend, backend, default_hostgroup| UserRow {
        frontend,
        backend,
        default_hostgroup,
        ..row("a", b"x")
    };
    for rows in [[side(1, 0, 3), side(0, 1, 4)], [side(0, 1, 4), side(1, 0, 3)]] {
        let users = Users::compile(&rows).map_err(|faults| faults[0].to_string()).unwrap();
        assert_eq!(users.len(), 1);
        assert_eq!(users.find(b"a").expect("for clients").default_hostgroup, HostgroupId(3));
    }
    // each with its password
    let [clients, servers] = [
        UserRow { password: b"theirs".to_vec(), ..side(1, 0, 3) },
        UserRow { password: b"ours".to_vec(), ..side(0, 1, 4) },
    ];
    let parse = |password: &[u8]| Credential::parse(password).unwrap();
    let compile = |rows: &[UserRow]| Users::compile(rows).map_err(|faults| faults.len()).unwrap();
    for rows in [[clients.clone(), servers.clone()], [servers.clone(), clients.clone()]] {
        let users = compile(&rows);
        let account = users.find(b"a").expect("for clients");
        assert!(account.credential == parse(b"theirs"));
        assert!(*account.shown_to_servers() == parse(b"ours"));
        assert!(!users.has_changed(account));
        // another one for servers is another one for connections that there are
        let later = UserRow { password: b"new".to_vec(), ..servers.clone() };
        let next = users.recompile(&[clients.clone(), later]).map_err(|it| it.len()).unwrap();
        assert!(next.has_changed(account));
        let follower = next.find(b"a").expect("for clients");
        assert!(*follower.shown_to_servers() == parse(b"new"));
        assert!(next.successor(account).is_some(), "clients go on");
    }
    // what clients taught says nothing of the other one
    let hash = b"*14E65567ABDB5135D0CFD9A70B3032C179A49EE7".to_vec();
    let users = compile(&[clients, UserRow { password: hash, ..servers }]);
    let account = users.find(b"a").expect("for clients");
    assert!(matches!(account.shown_to_servers(), Credential::Native(_)));
    for twice in [side(1, 0, 3), side(0, 1, 4), side(1, 1, 3)] {
        let faults = Users::compile(&[side(1, 0, 3), side(0, 1, 4), twice]).err().unwrap();
        let said: Vec<_> = faults.iter().map(ToString::to_string).collect();
        assert_eq!(said, ["mysql_users row 3 column username: this account is already there"]);
    }
}

#[test]
fn nobody_s_password_has_the_forms_that_accounts_have_as_often() {
    let native = b"*14E65567ABDB5135D0CFD9A70B3032C179A49EE7";
    let sha2 = [b"$A$005$".as_slice(), &[b'x'; 63]].concat();
    let backend = UserRow { frontend: 0, ..row("e", native) };
    let rows = [row("a", b"x"), row("b", native), row("c", &sha2), row("d", b""), backend];
    let users = Users::compile(&rows).unwrap();
    let quarter = u64::MAX / 4;
    let numbers = (0..4).map(|part| part * quarter + quarter / 2);
    let forms: Vec<_> = numbers.map(|number| users.asked_of_nobody(number).form).collect();
    assert_eq!(forms, [Form::Native, Form::CachingSha2, Form::Clear, Form::Clear]);
    assert_eq!(Users::default().asked_of_nobody(5), AskedProof { plugin: None, form: Form::Clear });
}

#[test]
fn attributes_switch_off_what_is_on() {
    let with = |attributes: &str| UserRow { attributes: attributes.into(), ..row("a", b"") };
    let read = |attributes| {
        let users = Users::compile(&[with(attributes)]).map_err(|faults| faults[0].to_string());
        users.map(|users| users.find(b"a").map(|a| (a.replication, a.annotations)).unwrap())
    };
    assert_eq!(read(""), Ok((true, true)));
    assert_eq!(read(r#"{"unknown": 1}"#), Ok((true, true)));
    assert_eq!(read(r#"{"replication": false}"#), Ok((false, true)));
    assert_eq!(read(r#"{"annotations": false, "replication": true}"#), Ok((true, false)));
    let wrong = "mysql_users row 1 column attributes: annotations is neither true nor false";
    assert_eq!(read(r#"{"annotations": 0}"#), Err(wrong.to_owned()));
    let first = Users::compile(&[with("")]).unwrap();
    let next = first.recompile(&[with(r#"{"annotations": false}"#)]).unwrap();
    assert!(!next.find(b"a").unwrap().annotations, "a change comes into force");
    let next = first.recompile(&[UserRow { use_ssl: 1, ..with("") }]).unwrap();
    assert!(next.find(b"a").unwrap().use_ssl, "so does this one");
    let spiffe = first.recompile(&[with(r#"{"spiffe_id": "a"}"#)]).unwrap();
    assert!(spiffe.find(b"a").unwrap().demands.replace_password(), "and this one");
    let other = spiffe.recompile(&[with(r#"{"spiffe_id": "!a"}"#)]).unwrap();
    let [spiffe, other] = [&spiffe, &other].map(|users| users.find(b"a").unwrap());
    assert!(spiffe.demands != other.demands);
}

#[test]
fn attributes_may_name_the_isolation_level_that_sessions_begin_with() {
    let read = |level: &str| {
        let attributes = format!(r#"{{"default-transaction_isolation": {level}}}"#);
        let users = Users::compile(&[UserRow { attributes, ..row("a", b"") }]);
        let users = users.map_err(|faults| faults[0].to_string());
        users.map(|users| users.find(b"a").unwrap().isolation)
    };
    assert_eq!(read(r#""READ COMMITTED""#), Ok(Some("'READ-COMMITTED'")));
    assert_eq!(read(r#""repeatable-read""#), Ok(Some("'REPEATABLE-READ'")));
    let wrong = "mysql_users row 1 column attributes: default-transaction_isolation is no \
                 isolation level";
    assert_eq!(read(r#""NONE""#), Err(wrong.to_owned()));
    assert_eq!(read("4"), Err(wrong.to_owned()));
}

#[test]
fn the_account_s_limit_counts_clients() {
    let mut limited = row("a", b"");
    limited.max_connections = 1;
    let users = Users::compile(&[limited]).unwrap();
    let account = users.find(b"a").unwrap();
    assert_eq!(account.admit(), Ok(()));
    assert_eq!(account.admit(), Err(1));
    account.leave();
    assert_eq!(account.admit(), Ok(()));
}

#[test]
fn a_changed_account_goes_on_counting_and_forgets_what_another_password_taught() {
    let hash = b"*14E65567ABDB5135D0CFD9A70B3032C179A49EE7";
    let first = Users::compile(&[row("same", b"x"), row("a", hash)]).unwrap();
    let old = first.find(b"a").unwrap().clone();
    let taught = old.learned.set(Learned::Clear(b"secret".as_slice().into()));
    assert!(taught.is_ok() && old.admit().is_ok());

    let elsewhere = UserRow { default_hostgroup: 7, ..row("a", hash) };
    let next = first.recompile(&[row("same", b"x"), elsewhere]).unwrap();
    assert!(Arc::ptr_eq(next.find(b"same").unwrap(), first.find(b"same").unwrap()));
    let moved = next.find(b"a").unwrap();
    assert_eq!(moved.default_hostgroup, HostgroupId(7));
    assert!(moved.learned.get().is_some(), "the password is the same");
    assert!(Arc::ptr_eq(next.successor(&old).unwrap(), moved));
    old.leave();
    assert_eq!(moved.connected.load(Ordering::Relaxed), 0);

    assert!(!next.has_changed(&old) && first.recompile(&[]).unwrap().has_changed(&old));

    let other = b"*0000000000000000000000000000000000000000";
    let hashed = next.recompile(&[row("a", other)]).unwrap();
    assert!(hashed.find(b"a").unwrap().learned.get().is_none());
    assert!(hashed.successor(&old).is_none(), "nobody has told the new password");
    assert!(hashed.has_changed(&old));
    let clear = next.recompile(&[row("a", b"new")]).unwrap();
    assert!(clear.successor(&old).is_some());
    assert!(clear.recompile(&[]).unwrap().successor(&old).is_none(), "it was removed");
}

#[test]
fn only_accounts_that_no_rule_is_for_send_their_clients_to_the_server() {
    let read = |attributes: &str, fast_forward| {
        let attributes = attributes.to_owned();
        let row =
            UserRow { username: "app".into(), attributes, fast_forward, ..UserRow::default() };
        let users = Users::compile(&[row]).map_err(|faults| faults[0].reason.clone())?;
        Ok::<_, String>(users.find(b"app").expect("there").redirect)
    };
    assert_eq!(read("", 1), Ok(false));
    assert_eq!(read(r#"{"redirect": false}"#, 0), Ok(false));
    assert_eq!(read(r#"{"redirect": true}"#, 1), Ok(true));
    assert_eq!(read(r#"{"redirect": true}"#, 0), Err(REDIRECT_NEEDS.to_owned()));
    let wrong = "redirect is neither true nor false".to_owned();
    assert_eq!(read(r#"{"redirect": 1}"#, 1), Err(wrong));
}

#[test]
fn a_password_that_is_left_to_servers_is_what_was_read_there() {
    let left = r#"{"password_from": "servers"}"#;
    let row = |password: &[u8], attributes: &str| UserRow {
        username: "a".into(),
        password: password.into(),
        attributes: attributes.into(),
        ..UserRow::default()
    };
    let told = |row| Users::compile(&[row]).err().expect("refused")[0].to_string();
    let both = "mysql_users row 1 column password: password_from says where it is: leave it empty";
    assert_eq!(told(row(b"x", left)), both);
    let other = "mysql_users row 1 column attributes: password_from is not \"servers\", \
        \"login\", \"pam\" or \"ldap\"";
    assert_eq!(told(row(b"", r#"{"password_from": "nowhere"}"#)), other);
    // ignored, it would leave an account without a password
    let strange =
        "mysql_users row 1 column attributes: Password_form is unknown; there is password_from";
    assert_eq!(told(row(b"", r#"{"Password_form": "servers"}"#)), strange);
    let rows = [row(b"", left)];
    let users = Users::compile(&rows).unwrap();
    let unread = users.find(b"a").unwrap().clone();
    assert!(unread.credential == Credential::Unread && !unread.credential.is_empty());
    let hash = Credential::read("mysql_native_password", &[b'*'; 1]).err().unwrap();
    assert_eq!(hash, "what mysql_native_password has of it is no hash");
    let hash = b"*14E65567ABDB5135D0CFD9A70B3032C179A49EE7";
    let read = Credential::read("mysql_native_password", hash).unwrap();
    let of_server =
        ReadPassword { primary: read.clone(), additional: None, server: ("db".into(), 3306) };
    let passwords = ReadPasswords::from(["a", "b"].map(|name| (name.into(), of_server.clone())));
    let users = users.reading(&rows, Arc::new(passwords)).unwrap();
    let account = users.find(b"a").unwrap();
    assert!(account.credential == read && users.has_changed(&unread));
    // what is read stays over a change of rows, and is of no account that does not ask for it
    let users = users.recompile(&rows).unwrap();
    assert!(users.find(b"a").unwrap().credential == read && !users.has_changed(account));
    let other = users.recompile(&[row(b"", "")]).unwrap();
    assert!(other.find(b"a").unwrap().credential.is_empty());
    // what other servers said of it, or of one of its name that is gone, is not right
    let moved = users.recompile(&[UserRow { default_hostgroup: 7, ..row(b"", left) }]).unwrap();
    let gone = users.recompile(&[]).unwrap();
    for users in [moved, gone.recompile(&rows).unwrap(), other.recompile(&rows).unwrap()] {
        assert!(users.find(b"a").unwrap().credential == Credential::Unread);
        assert!(users.recompile(&rows).unwrap().read_passwords().is_empty());
    }
}

#[test]
fn each_password_that_servers_are_to_prove_is_an_account_of_its_own_to_them() {
    let login = r#"{"password_from": "login"}"#;
    let row = |attributes: &str| UserRow {
        username: "a".into(),
        attributes: attributes.into(),
        ..UserRow::default()
    };
    let of_servers = UserRow { username: "b".into(), password: b"b".into(), ..UserRow::default() };
    let told = |rows: &[UserRow]| Users::compile(rows).err().expect("refused")[0].to_string();
    let fast = UserRow { fast_forward: 1, ..row(login) };
    let why = format!("mysql_users row 1 column attributes: {LOGIN_NEEDS}");
    assert_eq!(told(&[fast]), why);
    let certified = row(r#"{"password_from": "login", "spiffe_id": "spiffe://example/app"}"#);
    let why = format!("mysql_users row 1 column attributes: {LOGIN_SHOWS}");
    assert_eq!(told(&[certified]), why);
    let why = format!("mysql_users row 1 column attributes: {ONE_PASSWORD}");
    let mapped = row(r#"{"password_from": "login", "backend_username": "b"}"#);
    assert_eq!(told(&[mapped, of_servers]), why);
    let clients = UserRow { backend: 0, ..row(login) };
    let servers = UserRow { frontend: 0, password: b"x".into(), ..row("") };
    assert_eq!(told(&[clients, servers]), why);

    let users = Users::compile(&[row(login)]).unwrap();
    let account = users.find(b"a").unwrap();
    let [one, again, other] = [(b"1", 7), (b"1", 8), (b"2", 7)]
        .map(|(password, number)| account.proving(password, number, None));
    assert!(!one.is_same_at_servers(&again) && !one.is_same_at_servers(&other));
    let [proved, too, differs] = [&one, &again, &other].map(Account::proved);
    assert!(proved.is_same_at_servers(&too) && !proved.is_same_at_servers(&differs));
    assert!(!proved.is_same_at_servers(account) && !proved.is_same_at_servers(&one));
    // a change of something else leaves the sessions of before, and their connections
    let next = users.recompile(&[UserRow { default_hostgroup: 3, ..row(login) }]).unwrap();
    assert!(!next.has_changed(&proved) && next.successor(&proved).is_none());
    assert!(users.recompile(&[row("")]).unwrap().has_changed(&proved));
}

#[test]
fn the_password_itself_is_learned_whatever_was_known_before() {
    let (sha1, clear) = (Learned::Sha1([9; 20]), Learned::Clear(b"secret".as_slice().into()));
    for lessons in [[&sha1, &clear], [&clear, &sha1]] {
        let users = Users::compile(&[row("a", b"*14E65567ABDB5135D0CFD9A70B3032C179A49EE7")]);
        let account = users.unwrap().find(b"a").unwrap().clone();
        assert!(lessons.map(|learned| account.learned.set(learned.clone()).is_ok()) == [true; 2]);
        assert!(account.learned.get() == Some(&clear));
    }
}

#[test]
fn a_misspelt_attribute_is_refused_and_one_of_another_program_is_not() {
    let compiled = |attributes: &str| {
        let attributes = attributes.into();
        let row = UserRow { username: "a".into(), attributes, ..UserRow::default() };
        Users::compile(&[row]).map(|_| ()).map_err(|faults| faults[0].to_string())
    };
    for (typed, meant) in [
        ("authentication_plugn", "authentication_plugin"),
        ("additional_pasword", "additional_password"),
        ("Max_backend_connections", "max_backend_connections"),
        ("name_patern", "name_pattern"),
    ] {
        let told = format!(
            "mysql_users row 1 column attributes: {typed} is unknown; did you mean {meant}?"
        );
        assert_eq!(compiled(&format!("{{\"{typed}\": 1}}")), Err(told));
    }
    assert_eq!(compiled(r#"{"team": "a", "plugin": 1, "name": "x", "reader": true}"#), Ok(()));
}
