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
        ("DELETE a FROM a JOIN b", &["a", "b"]),
        ("DELETE FROM a USING a JOIN b", &["a", "a", "b"]),
        ("SELECT a FROM t FOR UPDATE", &["t"]),
        ("SELECT a INTO n FROM t", &["t"]),
        ("WITH x AS (SELECT 1 FROM t), y (a) AS (SELECT 2) SELECT * FROM x, y, z", &["t", "z"]),
        ("SELECT * FROM JSON_TABLE('[]', '$' COLUMNS (a INT PATH '$')) AS j, t", &["t"]),
        ("SELECT * FROM information_schema.TABLES, `mysql`.user AS u, t", &["t"]),
        ("TRUNCATE TABLE t", &["t"]),
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
