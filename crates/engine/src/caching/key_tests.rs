//! What has a key of its own.

use std::collections::BTreeMap;

use sql::{Access, Effects};

use super::*;
use crate::backend::CLASS;
use crate::holds::Holds;
use crate::link::Charset;

/// A prepared statement, read in a state with this collation.
fn prepared(text: &[u8], collation: u16) -> Text {
    Text {
        number: 1,
        user: "app".into(),
        class: Caps::NONE,
        state: LinkState::new(None, Charset::Collation(collation)),
        modes_known: true,
        text: text.into(),
        digest: None,
        begins: Access::Reads,
        access: Access::Reads,
        effects: Effects::NONE,
        holds: Holds::NONE,
        repeatable: true,
        shareable: true,
        varies: false,
        command: sql::command_class(&sql::facts(text)),
        naming: Naming::Nothing,
    }
}

#[test]
fn each_part_of_a_question_and_each_capability_is_in_its_key() {
    let want = LinkState::new(None, Charset::Collation(45));
    let texts = [(&b"SELECT ?"[..], 45), (b"SELECT ?", 8), (b"SELECT ?,", 45)];
    let texts = texts.map(|(text, collation)| prepared(text, collation));
    let (hostgroup, class) = (HostgroupId(1), Caps::NONE);
    let asker = Asker { hostgroup, account: "app", client: None, class, want: &want };
    let text = Question::Text(b"SELECT 1");
    let mut keys = BTreeMap::new();
    let mut add = |asker: Asker<'_>, question: Question<'_>, what: &str| {
        let mut key = Vec::new();
        write_key(&mut key, &asker, &question);
        assert_eq!(keys.insert(key, what.to_owned()), None, "{what}");
    };
    add(asker, text, "as it is");
    add(Asker { hostgroup: HostgroupId(2), ..asker }, text, "hostgroup");
    add(Asker { account: "ap", ..asker }, text, "account");
    add(Asker { account: "ap", client: Some("p"), ..asker }, text, "account and client");
    add(Asker { client: Some("127.0.0.1"), ..asker }, text, "client");
    for bit in (0..64).map(|bit| Caps(1 << bit)).filter(|bit| CLASS.contains(*bit)) {
        add(Asker { class: bit, ..asker }, text, &format!("{bit:?}"));
    }
    add(asker, Question::Text(b"SELECT 1 "), "text");
    for (at, types, values, what) in [
        (0, &b"\x03\0"[..], &b"\0\x07"[..], "execution"),
        (0, b"\x03\0\0", b"\x07", "types and values"),
        (0, b"\x08\0", b"\0\x07", "types"),
        (0, b"\x03\0", b"\0\x08", "values"),
        (1, b"\x03\0", b"\0\x07", "what it was prepared in"),
        (2, b"\x03\0", b"\0\x07", "what was prepared"),
    ] {
        add(asker, Question::Execution { text: &texts[at], types, values: [values, b""] }, what);
    }
}
