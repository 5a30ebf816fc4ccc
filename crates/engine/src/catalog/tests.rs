//! What is known of names, what follows from it, and when it is read again.

use super::*;

mod redefined;

mod unknown;
mod varying;

/// Rows of a part: four cells each, `NULL` for none.
type Told<'a> = (Part, &'a [[&'a str; 4]]);

/// A text result of four columns.
fn result(rows: &[[&str; 4]], eof: bool) -> Vec<u8> {
    let mut out = Vec::new();
    let mut seq = 1;
    let mut packet = |payload: &[u8]| {
        wire::frame::write_with(&mut out, &mut seq, |out| out.extend_from_slice(payload));
    };
    packet(&[4]);
    (0..4).for_each(|_| packet(b"\x03def"));
    if eof {
        packet(&[0xfe, 0, 0, 2, 0]);
    }
    for row in rows {
        let mut cells = Vec::new();
        for cell in row {
            match *cell {
                "NULL" => cells.push(wire::lenenc::NULL),
                text => wire::lenenc::write_bytes(&mut cells, text.as_bytes()),
            }
        }
        packet(&cells);
    }
    packet(&[0xfe, 0, 0, 2, 0]);
    out
}

fn catalog(told: &[Told<'_>]) -> Catalog {
    let mut reading = Reading::default();
    for part in PARTS {
        let rows: Vec<_> =
            told.iter().filter(|(of, _)| *of == part).flat_map(|(_, rows)| rows.iter()).collect();
        let rows: Vec<[&str; 4]> = rows.into_iter().copied().collect();
        reading.feed(part, &result(&rows, true), true);
        reading.next();
    }
    reading.finish().expect("a catalog")
}

fn known(catalog: Catalog) -> Known {
    let mut known = Known::new("app".into(), HostgroupId(0));
    let definitions = defined(3).count();
    let finished = Finished { catalog: Ok(catalog), definitions, began_us: 10, now_us: 20 };
    known.finish(finished, &defined(3), 1);
    known
}

/// So many definitions, of anything.
fn defined(times: u64) -> Definitions {
    let definitions = Definitions::default();
    (0..times).for_each(|_| definitions.note_anything());
    definitions
}

fn reach(known: &mut Known, text: &str, definitions: u64) -> (Vec<&'static str>, bool) {
    reach_after(known, text, &defined(definitions))
}

/// What it does, but for three effects that tests of their own are about.
fn names_of(effects: Effects) -> Vec<&'static str> {
    effects.without(Effects::PRESUMED | Effects::CALLS_CODE | Effects::VARIES).names().collect()
}

fn reach_after(
    known: &mut Known,
    text: &str,
    definitions: &Definitions,
) -> (Vec<&'static str>, bool) {
    reach_where(known, (text.as_bytes(), true), definitions, &[])
}

/// Of a text in UTF-8 or not, in a session that made these tables.
fn reach_where(
    known: &mut Known,
    (text, is_utf8): (&[u8], bool),
    definitions: &Definitions,
    made: &[&[u8]],
) -> (Vec<&'static str>, bool) {
    let naming = Naming::of(&sql::facts(text));
    let asked = AskedText { text, how: How { modes: Modes::default(), is_utf8, naming } };
    if known.is_behind(definitions) {
        known.catch_up(definitions, known.epoch + 1);
    }
    let reached = known.reach(&asked, definitions, |table| made.contains(&table));
    let effects = reached.known | reached.presumed;
    (names_of(effects), reached.is_sure)
}

const MARIADB: Told<'_> = (Part::Sight, &[["", "10.11.1-MariaDB", "", ""]]);

/// Tables `t`, `u`, `logged`, `drawn`; what is called by others, some of it in circles.
fn everything() -> Vec<Told<'static>> {
    vec![
        MARIADB,
        (
            Part::Tables,
            &[
                ["test", "t", "", ""],
                ["test", "u", "", ""],
                ["test", "logged", "", ""],
                ["test", "drawn", "", ""],
                ["test", "computed", "", ""],
                ["test", "counted", "", ""],
                ["test", "stamped", "", ""],
                ["test", "doubly", "", ""],
                ["other", "doubly", "", ""],
                ["test", "gone_meanwhile", "", ""],
            ],
        ),
        (
            Part::Views,
            &[
                ["", "plain", "", "select `t`.`a` AS `a` from `test`.`t`"],
                ["", "paying", "", "select `test`.`pay`(21) AS `r`"],
                ["", "above", "", "select `paying`.`r` AS `r` from `paying` join `t`"],
                ["", "shut", "", ""],
                ["", "of_logged", "", "select `logged`.`a` AS `a` from `test`.`logged`"],
            ],
        ),
        (
            Part::Routines,
            &[
                ["FUNCTION", "pay", "", "BEGIN INSERT INTO u VALUES (x); RETURN x; END"],
                ["FUNCTION", "twice", "", "RETURN a * 2"],
                ["FUNCTION", "now", "", "BEGIN INSERT INTO u VALUES (1); RETURN 1; END"],
                ["FUNCTION", "ping", "", "BEGIN IF x THEN RETURN pong(x); END IF; RETURN 1; END"],
                ["FUNCTION", "pong", "", "BEGIN DO GET_LOCK('a', 0); RETURN ping(0); END"],
                ["FUNCTION", "hidden", "", "NULL"],
                ["FUNCTION", "latin", "", "RETURN (SELECT r FROM\u{a0}paying)"],
                ["FUNCTION", "away", "", "RETURN elsewhere.secret()"],
                ["FUNCTION", "quoting", "ANSI_QUOTES", "RETURN (SELECT 1 FROM \"paying\")"],
                ["PROCEDURE", "defining", "", "ALTER TABLE t ADD b INT"],
            ],
        ),
        (
            Part::Triggers,
            &[
                ["", "logged", "", "SET NEW.by = LAST_INSERT_ID()"],
                ["", "stamped", "", "SET NEW.id = 5"],
            ],
        ),
        (
            Part::Columns,
            &[
                ["", "drawn", "", "nextval(`test`.`sq`)"],
                ["GENERATED", "computed", "", "connection_id()"],
                ["NUMBER", "t", "", "a"],
                ["NUMBER", "u", "", "a"],
                ["NUMBER", "logged", "", "a"],
                ["NUMBER", "drawn", "", "n"],
                ["NUMBER", "computed", "", "a"],
                ["NUMBER", "counted", "auto_increment", "Id"],
                ["NUMBER", "counted", "AUTO_INCREMENT", "id"],
                ["NUMBER", "stamped", "auto_increment", "id"],
                ["NUMBER", "doubly", "", "a"],
                ["NUMBER", "doubly", "auto_increment", "id"],
                ["NUMBER", "doubly", "auto_increment", "a"],
            ],
        ),
    ]
}

#[test]
fn a_text_does_what_the_code_does_that_it_reaches() {
    let locks = ["USER_LOCK", "STORED_CODE"];
    let any: Vec<_> = names_of(Effects::ANY_STORED_CODE);
    let table: &[(&str, &[&str])] = &[
        ("SELECT a FROM t WHERE b = 1", &[]),
        ("INSERT INTO t VALUES (1)", &[]),
        ("SELECT a FROM plain", &[]),
        ("SELECT twice(a) FROM t", &[]),
        ("SELECT pay(14)", &["WRITES"]),
        ("select Test.PAY (14)", &["WRITES"]),
        ("SELECT pay FROM t", &[]),
        ("SELECT now(), curdate (), now", &[]),
        ("SELECT now ()", &["WRITES"]),
        ("SELECT now/**/()", &["WRITES"]),
        ("SELECT r FROM paying", &["WRITES"]),
        ("SELECT r FROM x, `Above`", &["WRITES"]),
        ("SELECT ping(1)", &locks),
        ("DO ping(1)", &locks),
        ("SET @a = pay(1)", &["WRITES"]),
        ("SELECT quoting()", &["WRITES"]),
        ("SELECT a FROM shut", &any),
        ("SELECT hidden(1)", &any),
        ("SELECT away()", &any),
        ("SELECT latin()", &["WRITES"]),
        ("SELECT * FROM logged", &[]),
        ("INSERT INTO logged (a) VALUES (1)", &["READS_LAST_INSERT_ID"]),
        ("UPDATE of_logged SET a = 1", &["READS_LAST_INSERT_ID"]),
        ("SELECT 1; DELETE FROM logged", &["READS_LAST_INSERT_ID"]),
        ("INSERT INTO of_logged (a) VALUES (1)", &["READS_LAST_INSERT_ID", "GIVES_INSERT_ID"]),
        ("INSERT INTO drawn (n) VALUES (1)", &["SEQUENCE", "STORED_CODE"]),
        ("SELECT * FROM drawn", &[]),
        ("SELECT * FROM computed", &["CONNECTION_ID"]),
        ("BEGIN", &[]),
        ("CREATE VIEW v AS SELECT 1", &["DEFINES"]),
        ("DROP TRIGGER x", &["DEFINES"]),
        ("CREATE FUNCTION f() RETURNS INT RETURN 1", &["DEFINES"]),
        ("SELECT 1; ALTER TABLE t ADD b INT", &["DEFINES"]),
        ("TRUNCATE TABLE t", &[]),
        ("CREATE TEMPORARY TABLE x (a INT)", &[]),
        ("CALL defining()", &["IMPLICIT_COMMIT", "WRITES", "DEFINES"]),
        ("DO twice(1) /*!99999 */", &["DEFINES"]),
        ("FROBNICATE logged", &["READS_LAST_INSERT_ID", "DEFINES"]),
    ];
    let mut known = known(catalog(&everything()));
    // nobody's
    known.absent.insert((key(b"x"), true), true);
    for (text, expected) in table {
        let (effects, _) = reach(&mut known, text, 3);
        assert_eq!(effects, *expected, "{text}");
    }
}

#[test]
fn functions_and_procedures_are_called_also_by_views_and_triggers() {
    let mut known = known(catalog(&everything()));
    let definitions = defined(3);
    for (text, calls) in [
        ("SELECT twice(1)", true),
        ("SELECT ping(1)", true),
        ("CALL defining()", true),
        ("SELECT * FROM paying", true),
        ("SELECT a FROM t", false),
        ("INSERT INTO logged VALUES (1)", false),
        ("SELECT nobodys(1)", true),
        ("LOCK TABLES paying READ", true),
        ("LOCK TABLES t READ", false),
        ("COMMIT RELEASE", false),
    ] {
        let naming = Naming::of(&sql::facts(text.as_bytes()));
        let how = How { modes: Modes::default(), is_utf8: true, naming };
        let reached =
            known.reach(&AskedText { text: text.as_bytes(), how }, &definitions, |_| false);
        let effects = reached.known | reached.presumed;
        assert_eq!(effects.intersects(Effects::CALLS_CODE), calls, "{text}");
    }
}

#[test]
fn functions_are_found_by_names_that_differ_by_accents() {
    let routines: Told<'_> = (
        Part::Routines,
        &[
            ["FUNCTION", "payé", "", "BEGIN INSERT INTO u VALUES (x); RETURN x; END"],
            ["FUNCTION", "pay", "", "RETURN 1"],
            ["FUNCTION", "caller", "", "RETURN PAYE()"],
            ["PROCEDURE", "définir", "", "ALTER TABLE t ADD b INT"],
        ],
    );
    let tables: Told<'_> = (Part::Tables, &[["test", "u", "", ""], ["test", "t", "", ""]]);
    let mut known = known(catalog(&[MARIADB, tables, routines]));
    let writes: &[_] = &["WRITES"];
    for (text, effects) in [
        ("SELECT pay()", &[][..]),
        ("SELECT paye()", writes),
        ("SELECT payé()", writes),
        ("SELECT PÂYÊ()", writes),
        ("SELECT caller()", writes),
    ] {
        let (reached, is_sure) = reach(&mut known, text, 3);
        assert_eq!((reached.as_slice(), is_sure), (effects, true), "{text}");
    }
    assert!(reach(&mut known, "CALL definir()", 3).0.contains(&"IMPLICIT_COMMIT"));
    let definitions = defined(3);
    definitions.note_names([("tést".as_bytes(), Role::Table)].into_iter(), Defined::Code);
    assert!(!reach_after(&mut known, "SELECT pay()", &definitions).1);
}

#[test]
fn a_query_calls_functions_whatever_it_is_in() {
    let any: Vec<_> = names_of(Effects::ANY_STORED_CODE);
    let mut known = known(catalog(&everything()));
    for (text, calls) in [
        ("SHOW TABLES WHERE new()", true),
        ("EXPLAIN SELECT new()", true),
        ("ANALYZE SELECT new()", true),
        ("ANALYZE FORMAT=JSON UPDATE t SET a = 1 WHERE new(a)", true),
        ("CREATE TABLE x AS SELECT new()", true),
        ("CREATE TEMPORARY TABLE x SELECT pay FROM t WHERE a = new()", true),
        ("VALUES ROW(new())", true),
        ("INSERT INTO t VALUES ROW(1), ROW(new())", true),
        ("ANALYZE VALUES (new())", true),
        ("EXPLAIN ANALYZE VALUES ROW(new())", true),
        ("CREATE TABLE x VALUES (new())", true),
        ("CREATE TEMPORARY TABLE x (a INT) AS VALUES (1), (new())", true),
        ("CREATE TABLE x (a INT) PARTITION BY LIST (a) (PARTITION p VALUES IN (idx (1)))", false),
        ("CREATE TABLE x (a VARCHAR(20), KEY idx (a), KEY `more` (a))", false),
        ("CREATE INDEX idx ON x (a)", false),
        ("ALTER TABLE x ADD UNIQUE idx (a)", false),
        ("GRANT INSERT ON x TO y", false),
        ("DESCRIBE x", false),
        ("EXPLAIN SELECT a FROM x", false),
        ("DO new(1) /*!99999 */", true),
        ("PURGE BINARY LOGS BEFORE new()", true),
    ] {
        let (effects, _) = reach(&mut known, text, 3);
        assert_eq!(any.iter().all(|effect| effects.contains(effect)), calls, "{text}");
    }
}

#[test]
fn an_insert_tells_its_id_unless_rows_may_come_with_theirs_or_are_updated() {
    use InsertId::{Asked, ByRows, Kept, Told};
    let updates = "ON DUPLICATE KEY UPDATE a = 2";
    let table = [
        ("INSERT INTO t VALUES (5)", Told, Told),
        ("INSERT INTO counted (a) VALUES (1), (2)", Told, Told),
        ("REPLACE counted (id, a) VALUES (5, 1)", Kept, Asked),
        ("INSERT INTO counted (id, a) VALUES (NULL, 1)", Told, Asked),
        ("INSERT INTO counted (id, a) VALUES (DEFAULT, 1), (6, 1)", Asked, Asked),
        ("INSERT INTO counted VALUES (5, 1)", Asked, Asked),
        (&format!("INSERT INTO counted (a) VALUES (1) {updates}"), ByRows, ByRows),
        (&format!("INSERT INTO counted (a) VALUES (1), (2) {updates}"), Asked, Asked),
        (&format!("INSERT INTO counted (id) VALUES (5), (6) {updates}"), Kept, Asked),
        ("INSERT INTO stamped (a) VALUES (1)", Asked, Asked),
        ("INSERT INTO plain (a) VALUES (1)", Asked, Asked),
        ("INSERT INTO doubly (a) VALUES (5)", Asked, Asked),
        ("INSERT INTO gone_meanwhile (a) VALUES (5)", Asked, Asked),
        ("INSERT INTO nobody_knows (a) VALUES (1)", Asked, Asked),
        ("UPDATE counted SET id = REPLACE(a, 1, 2)", Told, Told),
        ("UPDATE t SET a = 1; INSERT INTO t VALUES (1)", Asked, Asked),
        ("SELECT 1; DELETE FROM t", Told, Told),
    ];
    let known = known(catalog(&everything()));
    for (text, expected, by_digest) in table {
        let naming = Naming::of(&sql::facts(text.as_bytes()));
        let how = How { modes: Modes::default(), is_utf8: true, naming };
        let asked = super::AskedText { text: text.as_bytes(), how };
        assert_eq!(known.insert_id(&asked, &defined(3), true), expected, "{text}");
        assert_eq!(known.insert_id(&asked, &defined(3), false), by_digest, "{text}");
        let not_yet = known.insert_id(&asked, &defined(4), true);
        assert_eq!(not_yet == Told, naming == Naming::Writes || text.starts_with("SELECT"));
    }
}

#[test]
fn after_a_definition_nothing_is_taken_for_known_until_it_was_read() {
    let mut known = known(catalog(&everything()));
    assert_eq!(known.epoch(&defined(3)), Some(1));
    assert_eq!(known.epoch(&defined(4)), None);
    let (effects, is_sure) = reach(&mut known, "SELECT a FROM t", 4);
    assert_eq!((effects, is_sure), (vec!["READS_LAST_INSERT_ID", "UNKNOWN_CODE"], false));
    let again = |definitions| Finished {
        catalog: Ok(catalog(&everything())),
        definitions: defined(definitions).count(),
        began_us: 30,
        now_us: 40,
    };
    known.finish(again(4), &defined(3), 2);
    assert_eq!(known.epoch(&defined(4)), Some(1), "it says the same");
    known.finish(Finished { catalog: Ok(catalog(&[MARIADB])), ..again(4) }, &defined(3), 3);
    assert_eq!(known.epoch(&defined(4)), Some(3));
    for failed in 1..=FAILURES_MAX {
        assert!(!known.keeps_failing(), "{failed}: the next one may tell");
        known.finish(Finished { catalog: Err(Untold::Refused), ..again(5) }, &defined(3), 4);
    }
    assert!(known.keeps_failing());
    assert_eq!(known.epoch(&defined(5)), None, "nothing was told");
    known.finish(Finished { catalog: Ok(catalog(&[MARIADB])), ..again(5) }, &defined(3), 5);
    assert!(!known.keeps_failing());
}

#[test]
fn triggers_are_known_where_the_software_or_a_privilege_shows_them() {
    let tables: Told<'_> =
        (Part::Tables, &[["shop_eu", "a", "", ""], ["shop", "b", "", ""], ["other", "c", "", ""]]);
    let sight: [(&[[&str; 4]], [bool; 3]); 5] = [
        (&[["", "10.11.1-MariaDB", "", ""]], [true; 3]),
        (&[["", "9.1.0", "", ""]], [false; 3]),
        (&[["", "9.1.0", "", ""], ["%", "", "", ""]], [true; 3]),
        (&[["", "9.1.0", "", ""], ["shop\\_eu", "", "", ""]], [true, false, false]),
        (&[["", "9.1.0", "", ""], ["shop%", "", "", ""]], [true, true, false]),
    ];
    for (rows, seen) in sight {
        let mut known = known(catalog(&[(Part::Sight, rows), tables]));
        let hidden = seen.iter().filter(|seen| !**seen).count();
        assert_eq!(known.take_hidden(), Some(hidden).filter(|hidden| *hidden > 0));
        assert_eq!(known.take_hidden(), None, "it is told once");
        let sees = ["a", "b", "c"].map(|table| {
            assert_eq!(reach(&mut known, &format!("SELECT * FROM {table}"), 3).0, [""; 0]);
            reach(&mut known, &format!("DELETE FROM {table}"), 3).0.is_empty()
        });
        assert_eq!(sees, seen, "{rows:?}");
    }
}

#[test]
fn an_answer_is_read_however_it_is_cut_and_a_broken_one_is_none() {
    let rows = [["test", "t", "", "NULL"], ["test", "a longer name", "", "x"]];
    for eof in [true, false] {
        let whole = result(&rows, eof);
        for cut in 0..=whole.len() {
            let mut reading = Reading::default();
            for part in [&whole[..cut], &whole[cut..]] {
                reading.feed(Part::Tables, part, eof);
            }
            let catalog = reading.finish().expect("a catalog");
            assert_eq!(catalog.relations.len(), 2, "{cut}");
        }
    }
    let mut reading = Reading::default();
    reading.feed(Part::Tables, &[1, 0, 0, 1, 0xfb], false);
    assert_eq!(reading.finish(), None);
    let mut reading = Reading::default();
    reading.fail();
    reading.feed(Part::Tables, &result(&rows, false), false);
    assert_eq!(reading.finish(), None, "what failed stays so");
}

#[test]
fn a_reading_is_due_by_time_by_name_and_after_a_definition_but_not_all_the_time() {
    const INTERVAL_US: u64 = 60_000_000;
    let mut known = Known::new("app".into(), HostgroupId(0));
    assert!(known.is_due(&defined(3), INTERVAL_US, 5) && !known.is_due(&defined(3), 0, 5));
    let definitions = defined(3).count();
    let finished = |catalog| Finished { catalog, definitions, began_us: 0, now_us: 100_000 };
    known.finish(finished(Err(Untold::Refused)), &defined(3), 1);
    assert!(
        !known.is_due(&defined(3), INTERVAL_US, 9_000_000)
            && known.is_due(&defined(3), INTERVAL_US, 11_000_000)
    );
    known.begin();
    known.finish(finished(Ok(catalog(&everything()))), &defined(3), 2);
    assert!(!known.is_due(&defined(3), INTERVAL_US, 50_000_000));
    assert!(known.is_due(&defined(3), INTERVAL_US, 61_000_000));
    // it took a tenth of a second
    assert!(
        !known.is_due(&defined(4), INTERVAL_US, 400_000)
            && known.is_due(&defined(4), INTERVAL_US, 600_000)
    );
    reach(&mut known, "SELECT a FROM new", 3);
    assert!(
        !known.is_due(&defined(3), INTERVAL_US, 400_000)
            && known.is_due(&defined(3), INTERVAL_US, 600_000)
    );
    known.begin();
    assert!(!known.is_due(&defined(3), INTERVAL_US, 600_000));
    known.finish(finished(Err(Untold::Lost)), &defined(3), 3);
    assert!(
        !known.is_due(&defined(3), INTERVAL_US, 1_000_000)
            && known.is_due(&defined(3), INTERVAL_US, 1_100_000)
    );
}

#[test]
fn a_definition_is_about_what_it_names_and_what_reaches_that() {
    let any: Vec<_> = names_of(Effects::ANY_STORED_CODE);
    let unsure = ["READS_LAST_INSERT_ID", "UNKNOWN_CODE", "GIVES_INSERT_ID"];
    let new = ["READS_LAST_INSERT_ID", "UNKNOWN_CODE", "NEW_TABLE", "GIVES_INSERT_ID"];
    let above = ["WRITES"];
    let new_above = ["READS_LAST_INSERT_ID", "WRITES", "UNKNOWN_CODE", "NEW_TABLE"];
    // what is defined, and what is not sure then, with what it may do
    let locks = ["USER_LOCK", "STORED_CODE"];
    use Defined::{Code, Table};
    let table: &[(&[&str], Defined, &str, &[&str])] = &[
        (&["u", "t"], Code, "SELECT twice(1)", &[]),
        (&["logged"], Code, "SELECT a FROM t", &[]),
        (&["t"], Code, "INSERT INTO t VALUES (1)", &new),
        (&["t"], Table, "INSERT INTO t VALUES (1)", &unsure),
        (&["t"], Code, "SELECT r FROM above", &new_above),
        (&["t"], Table, "SELECT r FROM above", &above),
        (&["Pong"], Code, "SELECT ping(1)", &any),
        (&["twice"], Code, "SELECT ping(1)", &locks),
        (&["new"], Code, "SELECT new(1)", &any),
        (&["other"], Code, "SELECT new(1)", &[]),
    ];
    for (names, defined_as, text, expected) in table {
        let mut known = known(catalog(&everything()));
        known.absent.insert((key(b"new"), false), true);
        let definitions = defined(3);
        let (before, is_sure) = reach_after(&mut known, text, &definitions);
        assert!(is_sure, "{text}");
        let named = names.iter().map(|name| (name.as_bytes(), Role::Table));
        definitions.note_names(named, *defined_as);
        let epoch = known.epoch;
        let (effects, is_sure) = reach_after(&mut known, text, &definitions);
        assert_eq!((effects.as_slice(), is_sure), (*expected, before == *expected), "{names:?}");
        assert_ne!(known.epoch, epoch, "verdicts of before are out of date");
        let (catalog, definitions_then) = (Ok(catalog(&everything())), definitions.count());
        let read = Finished { catalog, definitions: definitions_then, began_us: 30, now_us: 40 };
        known.begin();
        known.finish(read, &definitions, 9);
        assert_eq!(reach_after(&mut known, text, &definitions), (before, true), "{names:?}");
    }
}

#[test]
fn what_was_called_is_told_unless_it_was_defined_since() {
    let definitions = defined(3);
    let known = known(catalog(&everything()));
    let since = definitions.count();
    let looked = |called: &[&str], definitions: &Definitions| {
        let (role, naming) = (Role::Call, Naming::Reads);
        let named = |name: &&str| Named { key: key(name.as_bytes()), role, naming };
        let called: Vec<_> = called.iter().map(named).collect();
        let found = known.look_back(&called, since, definitions);
        found.map(|all| all.map(names_of))
    };
    assert_eq!(looked(&["twice"], &definitions), Ok(Some(vec![])));
    assert_eq!(looked(&["twice", "pay"], &definitions), Ok(Some(vec!["WRITES"])));
    assert_eq!(looked(&["twice", "new"], &definitions), Ok(None), "nobody has looked for it");
    definitions.note_names([(b"pong".as_slice(), Role::Other)].into_iter(), Defined::Code);
    assert_eq!(looked(&["twice"], &definitions), Ok(Some(vec![])));
    assert_eq!(looked(&["twice", "ping"], &definitions), Err(Redefined));
    definitions.note_anything();
    assert_eq!(looked(&["twice"], &definitions), Err(Redefined));
}

#[test]
fn what_is_defined_or_looked_at_does_not_run() {
    let mut known = known(catalog(&everything()));
    let locks = ["USER_LOCK", "STORED_CODE"];
    let locking = ["USER_LOCK", "STORED_CODE", "DEFINES"];
    for (text, expected) in [
        ("DROP FUNCTION pong", &["DEFINES"][..]),
        ("ALTER TABLE logged ADD b INT", &["DEFINES"]),
        ("DESCRIBE paying", &[]),
        ("CREATE VIEW x AS SELECT pong(1)", &["DEFINES"]),
        ("CREATE TRIGGER x BEFORE INSERT ON t FOR EACH ROW SET NEW.a = pong(1)", &["DEFINES"]),
        ("CREATE PROCEDURE x() SELECT pong(1)", &["DEFINES"]),
        ("CREATE VIEW x AS SELECT 1; SELECT pong(1)", &locking),
        ("CREATE TABLE x AS SELECT pong(1)", &locking),
        ("CREATE TABLE x AS TABLE paying", &["WRITES", "DEFINES"]),
        ("CREATE TABLE x IGNORE TABLE paying", &["WRITES", "DEFINES"]),
        ("CREATE TABLE x (a INT) TABLE paying", &["WRITES", "DEFINES"]),
        ("EXPLAIN ANALYZE TABLE paying", &["WRITES"]),
        ("EXPLAIN FORMAT=JSON TABLE paying", &["WRITES"]),
        ("ANALYZE TABLE paying", &[]),
        ("CREATE TABLE IF NOT EXISTS paying (a INT)", &["DEFINES"]),
        ("SHOW COLUMNS FROM paying", &[]),
        ("SHOW CREATE VIEW paying", &[]),
        ("SHOW TABLES WHERE pong(1)", &locks),
        ("EXPLAIN SELECT r FROM paying", &["WRITES"]),
        ("ANALYZE UPDATE t SET a = pong(1)", &locks),
    ] {
        let (effects, _) = reach(&mut known, text, 3);
        assert_eq!(effects, expected, "{text}");
    }
}

#[test]
fn a_name_beyond_ascii_may_be_any_while_it_is_defined_and_until_it_was_read() {
    let definitions = Arc::new(defined(3));
    let mut known = known(catalog(&everything()));
    let finish = |known: &mut Known| {
        let (catalog, definitions_then) = (Ok(catalog(&everything())), definitions.count());
        let read = Finished { catalog, definitions: definitions_then, began_us: 30, now_us: 40 };
        known.finish(read, &definitions, 9);
    };
    let called = [Named { key: key(b"twice"), role: Role::Call, naming: Naming::Reads }];
    let is_sure = |known: &mut Known| reach_after(known, "SELECT twice(1)", &definitions).1;
    assert!(is_sure(&mut known));
    // `pr\u{ea}t` as a client with latin1 sends it
    let under_way = UnderWay::begin(&definitions, [b"pr\xeat".as_slice()].into_iter());
    let ran = definitions.count();
    assert!(!is_sure(&mut known));
    finish(&mut known);
    assert!(!is_sure(&mut known), "a reading before its end tells nothing");
    assert_eq!(known.look_back(&called, ran, &definitions), Ok(None));
    drop(under_way);
    assert!(!is_sure(&mut known));
    finish(&mut known);
    assert!(is_sure(&mut known));
}

#[test]
fn questions_that_took_too_long_may_take_longer_the_next_time() {
    let mut known = Known::new("app".into(), HostgroupId(0));
    for (limit_s, catalog) in [
        (1, Err(Untold::Late)),
        (2, Err(Untold::Late)),
        (4, Err(Untold::Late)),
        (4, Err(Untold::Lost)),
        (1, Ok(catalog(&everything()))),
        (1, Err(Untold::Refused)),
    ] {
        assert_eq!(known.limit_s(), limit_s);
        let text = Part::Views.limited_text(limit_s);
        let limit = format!("/*M! SET STATEMENT max_statement_time={limit_s} FOR */");
        assert!(text.starts_with(&limit), "{text}");
        assert_eq!(Part::asked_by(text.as_bytes()), Some(Part::Views));
        let finished = Finished { catalog, definitions: 0, began_us: 10, now_us: 20 };
        known.finish(finished, &defined(0), 1);
    }
}
