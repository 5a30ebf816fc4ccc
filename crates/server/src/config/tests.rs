//! The corpus of wrong files: each with the exact text an operator gets to see.

use engine::rows::Cell;

use super::*;

/// What an operator gets to see of a file.
fn shown(format: Format, origin: &str, text: &str) -> String {
    let judged = judge(document::read(format, origin, text), None);
    if judged.refused() {
        return fault::render(&judged.faults, &judged.sources);
    }
    let told = fault::told(&judged.faults, &judged.sources);
    let mut shown: Vec<_> = told.iter().map(Told::to_string).collect();
    shown.push("valid".to_owned());
    shown.join("\n")
}

/// A valid `tidegate.toml`: its rows, what they compile to and what is odd.
fn read(text: &str) -> (Draft, Snapshot, Vec<FileFault>) {
    let judged = judge(document::read(Format::Toml, "tidegate.toml", text), None);
    assert!(!judged.refused(), "{}", fault::render(&judged.faults, &judged.sources));
    (judged.draft, judged.snapshot.expect("it compiles"), judged.faults)
}

/// Compares every case of one file of the corpus: `=== name`, the file, `---`, the text shown.
/// With `TIDEGATE_BLESS=1` the texts are written anew, to be read before they are committed.
fn check_corpus(format: Format, file: &str) -> usize {
    let path = format!("{}/../../testdata/config/faults/{file}", env!("CARGO_MANIFEST_DIR"));
    let corpus = std::fs::read_to_string(&path).expect(&path);
    let mut rewritten = String::new();
    let mut wrong = Vec::new();
    let mut count = 0;
    for case in corpus.split("=== ").skip(1) {
        let (name, rest) = case.split_once('\n').expect("a name ends its line");
        let (input, expected) = rest.split_once("---\n").expect(name);
        let origin = if format == Format::Toml { "tidegate.toml" } else { "proxysql.cnf" };
        let shown = shown(format, origin, input);
        rewritten += &format!("=== {name}\n{input}---\n{shown}\n\n");
        if shown != expected.trim_end() {
            wrong.push(format!("== {name} ==\n{shown}\n-- instead of --\n{expected}"));
        }
        count += 1;
    }
    if std::env::var_os("TIDEGATE_BLESS").is_some() {
        std::fs::write(&path, rewritten.trim_end().to_owned() + "\n").expect(&path);
    } else {
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
    count
}

#[test]
fn wrong_servers_are_shown_in_place() {
    assert_eq!(check_corpus(Format::Toml, "servers.txt"), 16);
}

#[test]
fn wrong_users_are_shown_in_place() {
    assert_eq!(check_corpus(Format::Toml, "users.txt"), 13);
}

#[test]
fn wrong_rules_are_shown_in_place() {
    assert_eq!(check_corpus(Format::Toml, "rules.txt"), 13);
}

#[test]
fn wrong_variables_are_shown_in_place() {
    assert_eq!(check_corpus(Format::Toml, "variables.txt"), 16);
}

#[test]
fn wrong_files_are_shown_in_place() {
    assert_eq!(check_corpus(Format::Toml, "files.txt"), 12);
}

#[test]
fn odd_but_valid_files_are_warned_about() {
    assert_eq!(check_corpus(Format::Toml, "warnings.txt"), 8);
}

#[test]
fn every_column_reaches_its_field() {
    let text = include_str!("../../../../testdata/config/every-column.toml");
    let (draft, snapshot, _) = read(text);
    let server = &draft.servers[0];
    assert_eq!((server.hostgroup_id, server.hostname.as_str(), server.port), (7, "db1", 3307));
    assert_eq!(
        (server.gtid_port, server.status.as_str(), server.weight),
        (3308, "offline_soft", 5)
    );
    assert_eq!((server.compression, server.max_connections), (1, 50));
    assert_eq!((server.max_replication_lag, server.max_latency_ms), (10, 20));
    assert_eq!((server.use_ssl, server.comment.as_str()), (0, "a server"));
    assert_eq!((draft.servers[1].hostname.as_str(), draft.servers[1].port), ("/run/db.sock", 0));
    assert_eq!(draft.servers[1].hostgroup_id, 8);
    let user = &draft.users[0];
    assert_eq!((user.username.as_str(), user.password.as_slice()), ("ann", &b"secret"[..]));
    assert_eq!((user.active, user.use_ssl, user.default_hostgroup), (0, 0, 7));
    assert_eq!((user.default_schema.as_deref(), user.schema_locked), (Some("shop"), 1));
    assert_eq!((user.transaction_persistent, user.fast_forward), (0, 1));
    assert_eq!((user.backend, user.frontend, user.max_connections), (1, 1, 9));
    assert_eq!((user.attributes.as_str(), user.comment.as_str()), ("{}", "a user"));
    assert_eq!(draft.users[1].password, b"\x00\xffab");
    let rule = &draft.rules[0];
    assert_eq!((rule.rule_id, rule.active, rule.negate_match_pattern), (3, 1, 1));
    assert_eq!((rule.username.as_deref(), rule.schemaname.as_deref()), (Some("ann"), Some("shop")));
    assert_eq!((rule.match_pattern.as_deref(), rule.apply), (Some("^SELECT"), 1));
    assert_eq!((rule.destination_hostgroup, rule.comment.as_deref()), (Some(8), Some("a rule")));
    assert_eq!((rule.flag_in, rule.client_addr.as_deref()), (1, Some("10.0.%")));
    assert_eq!((rule.proxy_addr.as_deref(), rule.proxy_port), (Some("127.0.0.1"), Some(6033)));
    assert_eq!(rule.digest.as_deref(), Some("0x1D"));
    assert_eq!(rule.match_digest.as_deref(), Some("^SELECT \\?"));
    assert_eq!((rule.re_modifiers.as_deref(), rule.flag_out), (Some("GLOBAL"), Some(2)));
    assert_eq!(rule.replace_pattern.as_deref(), Some("\\0"));
    assert_eq!((rule.cache_ttl, rule.cache_empty_result), (Some(3), Some(0)));
    assert_eq!((rule.cache_timeout, rule.reconnect), (Some(4), Some(1)));
    assert_eq!((rule.timeout, rule.retries, rule.delay), (Some(5), Some(6), Some(7)));
    assert_eq!((rule.next_query_flag_in, rule.mirror_flag_out), (Some(8), Some(9)));
    assert_eq!((rule.mirror_hostgroup, rule.gtid_from_hostgroup), (Some(7), Some(10)));
    assert_eq!((rule.error_msg.as_deref(), rule.ok_msg.as_deref()), (Some("no"), Some("yes")));
    assert_eq!((rule.sticky_conn, rule.multiplex, rule.log), (Some(0), Some(2), Some(1)));
    assert_eq!(rule.attributes, r#"{"flagOUTs":[{"id":4,"weight":1}]}"#);
    let fast = &draft.fast_routing[0];
    assert_eq!(
        (fast.username.as_str(), fast.schemaname.as_str(), fast.flag_in),
        ("ann", "shop", 2)
    );
    assert_eq!((fast.destination_hostgroup, fast.comment.as_str()), (8, "a row"));
    assert_eq!((snapshot.vars.threads, snapshot.vars.max_connections), (2, 32));
    assert!(!snapshot.vars.multiplexing);
}

#[test]
fn an_empty_file_is_all_defaults() {
    let (draft, snapshot, warnings) = read("");
    assert!(draft.servers.is_empty() && draft.users.is_empty() && draft.rules.is_empty());
    assert_eq!(*snapshot.vars, engine::vars::Vars::default());
    assert_eq!(warnings, []);
}

#[test]
fn a_file_that_is_no_text_is_named_with_the_place() {
    let shown = fault::not_utf8(b"a = 1\nb = \"\xff\"\n", "x.toml");
    assert_eq!(shown, "x.toml:2:6: the file is not UTF-8 text");
}

#[test]
fn a_missing_file_is_named() {
    let error = load(Path::new("/nonexistent/tidegate.toml")).err().expect("no such file");
    assert_eq!(
        format!("{error:#}"),
        "cannot read /nonexistent/tidegate.toml: No such file or directory (os error 2)"
    );
}

/// Reads a text that may be refused for its values, but not for its shape.
fn rows(format: Format, text: &str) -> (Draft, Undrafted) {
    let judged = judge(document::read(format, "x", text), None);
    let wrong = |fault: &&FileFault| fault.severity == fault::Severity::Error;
    let wrong: Vec<_> = judged.faults.iter().filter(wrong).collect();
    assert!(wrong.is_empty(), "{wrong:?} of\n{text}");
    (judged.draft, judged.undrafted)
}

#[test]
fn what_is_written_is_read_back_equal() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/config");
    let mut count = 0;
    for entry in std::fs::read_dir(Path::new(folder).join("cnf")).expect(folder) {
        let file = entry.expect(folder).path();
        let text = std::fs::read_to_string(&file).expect(folder);
        let (draft, undrafted) = rows(Format::Cnf, &text);
        for format in [Format::Toml, Format::Cnf] {
            let written = write::text(format, &draft, &undrafted);
            let (again, undrafted_again) = rows(format, &written);
            assert_eq!(again, draft, "{}\n{written}", file.display());
            assert_eq!(undrafted_again, undrafted, "{}\n{written}", file.display());
        }
        count += 1;
    }
    assert!(count >= 6, "{count}");
    let text = include_str!("../../../../testdata/config/every-column.toml");
    let (draft, undrafted) = rows(Format::Toml, text);
    for format in [Format::Toml, Format::Cnf] {
        let written = write::text(format, &draft, &undrafted);
        assert_eq!(rows(format, &written).0, draft, "{written}");
    }
}

#[test]
fn rows_of_the_database_that_no_file_can_say_are_written_with_the_same_meaning() {
    let rule = engine::rows::RuleRow { rule_id: 1, re_modifiers: None, ..Default::default() };
    let draft = Draft { rules: vec![rule], ..Draft::default() };
    let written = write::text(Format::Toml, &draft, &Undrafted::default());
    assert_eq!(written, "[[mysql_query_rules]]\nrule_id = 1\nactive = 0\nre_modifiers = \"\"\n");
}

#[test]
fn kept_tables_are_the_recorded_ones() {
    let text = include_str!("../../../../testdata/admin.json");
    let recorded: serde_json::Value = serde_json::from_str(text).expect("JSON");
    for table in undrafted::tables() {
        let columns = recorded["tables"]["main"][table.name].as_array().expect(table.name);
        let names: Vec<_> = columns.iter().map(|column| column["name"].as_str()).collect();
        let ours: Vec<_> = table.columns.iter().map(|column| Some(column.name)).collect();
        assert_eq!(ours, names, "{}", table.name);
        for (column, recorded) in table.columns.iter().zip(columns) {
            let default = recorded["default"].as_str().map(|text| text.trim_matches(['(', ')']));
            let ours = match undrafted::absent(column) {
                Cell::Int(number) => Some(number.to_string()),
                Cell::Text(text) if text.is_empty() && default.is_none() => None,
                Cell::Text(text) => Some(format!("'{text}'")),
                Cell::Null | Cell::Bytes(_) => None,
            };
            assert_eq!(ours.as_deref(), default, "{}.{}", table.name, column.name);
        }
    }
}

#[test]
fn wrong_proxysql_files_are_shown_in_place() {
    assert_eq!(check_corpus(Format::Cnf, "proxysql.txt"), 34);
}

#[test]
fn what_proxysql_goes_on_without_is_told_and_no_end() {
    assert_eq!(check_corpus(Format::Cnf, "ignored.txt"), 19);
}

#[test]
fn any_text_is_written_so_that_it_is_read_back() {
    let texts =
        ["", "it's \"both\"", r"^\w+$", "a\nb\r\n\tc", "\u{0}\u{1}\u{7f}é", "'''", "\"\"\"", "\\"];
    for text in texts {
        let rule = engine::rows::RuleRow { comment: Some(text.into()), ..Default::default() };
        let user = engine::rows::UserRow {
            username: "u".into(),
            password: text.into(),
            ..Default::default()
        };
        let draft = Draft { rules: vec![rule], users: vec![user], ..Draft::default() };
        for format in [Format::Toml, Format::Cnf] {
            let written = write::text(format, &draft, &Undrafted::default());
            assert_eq!(rows(format, &written).0, draft, "{written}");
        }
    }
}
