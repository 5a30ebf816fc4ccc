//! Names in texts, with the places that they stand in.

use super::*;

fn of(text: &str, role: Role) -> Vec<String> {
    let found = names(text.as_bytes(), Modes::default()).filter(|(_, its)| *its == role);
    found.map(|(name, _)| String::from_utf8_lossy(name).into_owned()).collect()
}

#[test]
fn tables_are_what_stands_where_tables_do() {
    let table: &[(&str, &[&str])] = &[
        ("SELECT a FROM t WHERE b=1", &["t"]),
        ("SELECT a, b FROM t AS x, `u` y, s.v WHERE t.a IN (1, 2)", &["t", "u", "v"]),
        (
            "SELECT * FROM a JOIN b ON f(a, c) = d, e LEFT JOIN (g, h) USING (i) ORDER BY j, k",
            &["a", "b", "e", "g", "h"],
        ),
        ("SELECT (SELECT MAX(x) FROM t), y FROM (SELECT 1 FROM u) AS d, w", &["t", "u", "w"]),
        ("SELECT EXTRACT(YEAR FROM a), TRIM(BOTH 'x' FROM b) FROM t", &["t"]),
        ("INSERT INTO t (a, b) VALUES (f(1), 2), (3, 4)", &["t"]),
        ("INSERT IGNORE t SET a=1, b=2 ON DUPLICATE KEY UPDATE a=3, b=4", &["t"]),
        (
            "INSERT INTO s.t SELECT a, b FROM u, v ON DUPLICATE KEY UPDATE a=1, b=2",
            &["t", "u", "v"],
        ),
        ("REPLACE INTO t VALUES (REPLACE(a, b, c))", &["t"]),
        (
            "UPDATE LOW_PRIORITY a, b SET a.c=1, b.d=2 WHERE e IN (SELECT 1 FROM f)",
            &["a", "b", "f"],
        ),
        ("DELETE FROM t WHERE a=1", &["t"]),
        ("SELECT a FROM s.24, s.0x1f AS x, s.1e5 WHERE b=1.5", &["24", "0x1f", "1e5"]),
        ("DELETE a FROM a JOIN b", &["a", "b"]),
        ("DELETE FROM a USING a JOIN b", &["a", "a", "b"]),
        ("SELECT a FROM t FOR UPDATE", &["t"]),
        ("SELECT a INTO n FROM t", &["t"]),
        ("SELECT * FROM JSON_TABLE('[]', '$' COLUMNS (a INT PATH '$')) AS j, t", &["t"]),
        ("SELECT * FROM information_schema.TABLES, `mysql`.user AS u, t", &["t"]),
        ("TRUNCATE TABLE t", &["t"]),
        // words of the language that servers take for names
        ("SELECT * FROM quick, only, local, concurrent", &["quick", "only", "local", "concurrent"]),
        ("SELECT * FROM tables, value, returning x", &["tables", "value", "returning"]),
        ("SELECT * FROM truncate JOIN window, lateral", &["truncate", "window", "lateral"]),
        ("SELECT * FROM t value, u AS returning, LATERAL (SELECT 1) x, v", &["t", "u", "v"]),
        ("INSERT INTO log (a) VALUES (1)", &["log"]),
        ("INSERT INTO value (a) VALUE (1), (a)", &["value"]),
        ("DELETE QUICK FROM t", &["t"]),
        // what stands between a table and a comma
        ("SELECT * FROM t USE INDEX FOR ORDER BY (i), u", &["t", "u"]),
        ("SELECT * FROM t FORCE INDEX FOR JOIN (i), u", &["t", "u"]),
        ("SELECT * FROM t FOR SYSTEM_TIME AS OF NOW(), u", &["t", "u"]),
        ("SELECT * FROM {OJ t LEFT JOIN u ON 1}", &["OJ", "t", "u"]),
        ("SELECT * FROM t FOR SYSTEM_TIME FROM '1' TO '2', u", &["t", "u"]),
        ("SELECT STRAIGHT_JOIN a, b FROM t STRAIGHT_JOIN u", &["t", "u"]),
        (
            "CREATE TABLE IF NOT EXISTS t (a DECIMAL(10,2), KEY k (a)) AS SELECT b FROM u",
            &["t", "u"],
        ),
        ("LOAD DATA LOCAL INFILE 'x' INTO TABLE t (a, b)", &["t"]),
        ("LOCK TABLES a READ, b WRITE", &["a", "b"]),
        ("SELECT 1; SELECT a, b FROM t", &["t"]),
        ("SELECT * FROM t GROUP BY a WITH ROLLUP HAVING b", &["t"]),
        ("SELECT @a.b, @@session.c FROM t", &["t"]),
        ("SELECT 'FROM x' -- FROM y\nFROM t", &["t"]),
        (
            "select `t`.`a` from ((`s`.`t` join `u` on((`t`.`a` = `u`.`a`))) join `v`)",
            &["t", "u", "v"],
        ),
    ];
    for (text, expected) in table {
        assert_eq!(of(text, Role::Table), *expected, "{text}");
    }
}

#[test]
fn tables_are_found_behind_variables_digits_and_with() {
    let table: &[(&str, &[&str])] = &[
        ("SELECT @`x`FROM`t`", &["t"]),
        ("SELECT @'x'FROM t, @@`version`", &["t"]),
        ("SELECT * FROM s.1t, s1.2u WHERE .5", &["1t", "2u"]),
        // tables of a WITH, where it reaches
        ("WITH x AS (SELECT 1 FROM t), y (a) AS (SELECT 2) SELECT * FROM x, y, z", &["t", "z"]),
        ("WITH t AS (SELECT 1) SELECT * FROM t, s.t", &["t"]),
        ("WITH t AS (SELECT 1) SELECT * FROM T", &["T"]),
        ("SELECT * FROM (WITH t AS (SELECT 1) SELECT * FROM t) d, t", &["t"]),
        ("WITH t AS (SELECT 1) SELECT 1; INSERT INTO t VALUES (1)", &["t"]),
    ];
    for (text, expected) in table {
        assert_eq!(of(text, Role::Table), *expected, "{text}");
    }
}

#[test]
fn objects_are_named_by_texts_that_keep_others_from_changing_them() {
    let is_named = |text: &str| names_objects(text.as_bytes(), Modes::default());
    for text in
        ["SELECT f()", "DO f()", "SELECT a FROM t", "EXPLAIN SELECT a FROM t", "SHOW CREATE VIEW v"]
    {
        assert!(is_named(text), "{text}");
    }
    for text in ["SELECT 1", "SELECT NOW(), @a", "SET @a = 1", "SHOW WARNINGS", "COMMIT"] {
        assert!(!is_named(text), "{text}");
    }
}

#[test]
fn tables_are_found_however_deep_they_stand() {
    for depth in [30, 31, 32, 33, 100, 5000] {
        let (open, close) = ("(".repeat(depth), ")".repeat(depth));
        let text = format!("SELECT {open}(SELECT MAX(x) FROM (SELECT 1) d, t){close}");
        assert_eq!(of(&text, Role::Table), ["t"], "{depth}");
    }
}

#[test]
fn calls_are_what_a_parenthesis_follows() {
    let table: &[(&str, &[&str])] = &[
        ("SELECT mine(1), COUNT(*), s.theirs (2) FROM t", &["mine", "theirs"]),
        ("SELECT `count`(1), s.uuid()", &["count", "uuid"]),
        ("SELECT UUID(), IF(a, b, c), IN (1), CAST(a AS DECIMAL(1,2))", &[]),
        ("INSERT INTO t (a) VALUES (mine())", &["mine"]),
        ("SELECT * FROM t USE INDEX (i) WHERE a = ANY (SELECT 1) AND (b OR NOT (c))", &[]),
        ("WITH x (a) AS (SELECT 1) SELECT * FROM (SELECT 1) y (b), x", &[]),
        ("RETURN (a + 1)", &[]),
        ("SELECT @f (1)", &[]),
    ];
    for (text, expected) in table {
        assert_eq!(of(text, Role::Call), *expected, "{text}");
    }
    assert_eq!(
        of("SELECT nvl(1), uuid_to_bin(2), MD5 (3), max(4)", Role::DoubtfulCall)[..2],
        ["nvl".to_owned(), "uuid_to_bin".to_owned(),]
    );
    assert_eq!(of("CALL s.p(f(1))", Role::Procedure), ["p"]);
    assert_eq!(of("CALL s.p(f(1))", Role::Call), ["f"]);
}

#[test]
fn every_name_is_given() {
    let given: Vec<_> =
        names(b"SELECT `v` x, \"y\" FROM t AS z WHERE s.v = @v", Modes::default()).collect();
    let words = given.iter().map(|(name, _)| String::from_utf8_lossy(name)).collect::<Vec<_>>();
    assert_eq!(words, ["v", "x", "t", "z", "s", "v"]);
    let ansi = Modes { ansi_quotes: true, ..Modes::default() };
    assert!(names(b"SELECT \"v\"", ansi).any(|(name, _)| name == b"v"));
}
