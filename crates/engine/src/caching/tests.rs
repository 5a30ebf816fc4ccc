use super::*;
use crate::link::Charset;

fn tables_for(charset: u16, text: &str, schema: Option<&str>) -> Option<Vec<u64>> {
    let schema = schema.map(|schema| schema.as_bytes().into());
    let want = LinkState::new(schema, Charset::Collation(charset));
    Question::Text(text.as_bytes()).tables(&want)
}

fn tables(text: &str, schema: Option<&str>) -> Option<Vec<u64>> {
    tables_for(45, text, schema)
}

#[test]
fn whatever_a_text_may_read_is_among_its_tables() {
    let table = [
        ("SELECT a FROM items", "shop.items"),
        ("SELECT a FROM Items AS i", "SHOP.items"),
        ("SELECT a FROM stock . `items` i", "stock.items"),
        ("SELECT a FROM x, stock.items", "stock.items"),
        ("SELECT a FROM x LEFT JOIN (y, items) ON 1", "shop.items"),
        ("SELECT a FROM {OJ x LEFT JOIN items ON 1}", "shop.items"),
        ("SELECT a FROM x WHERE b IN (SELECT 1 FROM y WHERE EXISTS (TABLE items))", "shop.items"),
        ("WITH c AS (SELECT 1 FROM items), d AS (SELECT 2 FROM c) SELECT 3 FROM d", "shop.items"),
        ("SELECT 1 FROM x UNION ALL (SELECT 2 FROM stock.items ORDER BY 1)", "stock.items"),
        ("SELECT a FROM .items", "shop.items"),
        ("SELECT a FROM logs.20240101", "logs.20240101"),
        ("SELECT a FROM x, logs.3e8f l", "logs.3e8f"),
        ("SELECT `it``ems`.a FROM `it``ems`", "shop.items"),
    ];
    for (text, named) in table {
        let (schema, name) = named.split_once('.').unwrap();
        let found = tables(text, Some("shop")).unwrap();
        assert!(found.contains(&table_key(schema.as_bytes(), name.as_bytes())), "{text}");
        assert!(!found.contains(&table_key(b"other", b"items")), "{text}");
    }
    assert!(tables("SELECT a FROM stock.items", None).unwrap().len() < 4);
}

#[test]
fn what_changes_without_a_word_or_cannot_be_named_has_no_known_tables() {
    assert_eq!(tables("SELECT user FROM mysql.user", Some("shop")), None);
    assert_eq!(tables("SELECT user FROM user", Some("MySQL")), None);
    let many: Vec<_> = (0..=TABLES_MAX).map(|n| format!("t{n}")).collect();
    assert_eq!(tables(&format!("SELECT 1 FROM {}", many.join(", ")), Some("shop")), None);
    assert!(tables("SELECT 1 FROM größe", Some("shop")).is_some());
    assert_eq!(tables_for(8, "SELECT 1 FROM größe", Some("shop")), None, "in latin1");
}

#[test]
fn some_answers_are_told_from_others_by_their_keys() {
    let want = LinkState::new(None, Charset::Collation(45));
    let asker = Asker {
        hostgroup: HostgroupId(1),
        account: "app",
        client: None,
        class: Caps(0),
        want: &want,
    };
    let mut key = Vec::new();
    write_key(&mut key, &asker, &Question::Text(b"SELECT a FROM shop.`Items` WHERE b='x y'"));
    let about =
        About { rows: 1, status: 2, since_us: 0, lives_us: 1, stale_us: 0, basis: None, digest: 7 };
    let has = |some: CachedOf| some.has(&key, &about);
    assert!(has(CachedOf::Digest(7)) && !has(CachedOf::Digest(8)));
    assert!(has(CachedOf::User("app".into())) && !has(CachedOf::User("ap".into())));
    for (table, expected) in
        [("items", true), ("item", false), ("shop", true), ("y", true), ("ems", false)]
    {
        assert_eq!(has(CachedOf::Table(table.into())), expected, "{table}");
    }
    assert!(!CachedOf::Table("items".into()).has(b"short", &about));
}

#[test]
fn own_writes_wait_for_a_pulse_that_begins_after_them() {
    let follows = Follows::default();
    let followed = follows.of(1);
    let mut writes = SessionSeen::default();
    assert!(followed.has_passed(writes.pulse(&follows)));
    writes.note_if(true);
    let before = followed.begin_pulse();
    assert!(!followed.has_passed(writes.pulse(&follows)));
    followed.passed(before, 0);
    assert!(!followed.has_passed(writes.pulse(&follows)), "it began before the write ended");
    writes.note_if(false);
    followed.passed(followed.begin_pulse(), 0);
    assert!(followed.has_passed(writes.pulse(&follows)));
}

#[test]
fn what_was_read_past_the_cache_is_no_newer_than_what_is_told_behind_it() {
    let follows = Follows::default();
    let (followed, other) = (follows.of(1), follows.of(2));
    let mut seen = SessionSeen::default();
    assert_eq!(seen.until_us(&followed, &follows, 10), 0);
    seen.note_past();
    let before = followed.begin_pulse();
    assert_eq!(seen.until_us(&followed, &follows, 20), 20);
    followed.passed(before, 0);
    assert_eq!(seen.until_us(&followed, &follows, 30), 20, "it began before that was read");
    followed.passed(followed.begin_pulse(), 0);
    assert_eq!(seen.until_us(&followed, &follows, 40), 0);
    assert_eq!(seen.until_us(&other, &follows, 40), 20, "its logs are others");
}
