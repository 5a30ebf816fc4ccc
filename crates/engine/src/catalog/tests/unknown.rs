//! Names that no reading has found: what they may stand for, and what proves them nobody's.

use super::*;

/// A reading after which everything is as it was.
fn read_again(known: &mut Known) {
    read_again_with(known, catalog(&everything()));
}

fn read_again_with(known: &mut Known, catalog: Catalog) {
    let (catalog, definitions) = (Ok(catalog), defined(3).count());
    known.finish(Finished { catalog, definitions, began_us: 30, now_us: 40 }, &defined(3), 2);
}

#[test]
fn what_nobody_knows_may_be_code_until_it_was_looked_for() {
    let careful = ["READS_LAST_INSERT_ID", "UNKNOWN_CODE"];
    let any: Vec<_> = names_of(Effects::ANY_STORED_CODE);
    let again = |catalog| Finished { catalog, definitions: 6, began_us: 30, now_us: 40 };
    let mut none = Known::new("app".into(), HostgroupId(0));
    assert_eq!(reach(&mut none, "SELECT a FROM t", 0), (careful.to_vec(), false));
    let gives = ["READS_LAST_INSERT_ID", "UNKNOWN_CODE", "GIVES_INSERT_ID"];
    assert_eq!(reach(&mut none, "INSERT INTO t VALUES (1)", 0), (gives.to_vec(), false));
    assert_eq!(reach(&mut none, "SELECT mine(1)", 0), (any.clone(), false));
    assert_eq!(reach(&mut none, "SELECT 1 + COUNT(*)", 0), (vec![], false));
    assert_eq!(reach(&mut none, "SELECT now ()", 0), (any.clone(), false));
    let new: Vec<_> = OF_NEW_TABLE.without(Effects::PRESUMED).names().collect();
    let mut known = known(catalog(&everything()));
    for (text, effects) in [("SELECT a FROM new", new.clone()), ("SELECT loaded(1)", any)] {
        assert_eq!(reach(&mut known, "SELECT a FROM t", 3), (vec![], true));
        assert_eq!(reach(&mut known, text, 3), (effects.clone(), false), "{text}");
        known.begin();
        assert_eq!(reach(&mut known, text, 3), (effects.clone(), false), "{text} may be there");
        known.finish(again(Err(Untold::Lost)), &defined(3), 2);
        assert_eq!(reach(&mut known, text, 3), (effects.clone(), false), "{text}: none told");
        known.begin();
        known.finish(again(Ok(catalog(&everything()))), &defined(3), 2);
        assert_eq!(reach(&mut known, text, 3), (effects.clone(), false), "{text}: who knows it?");
        known.meet(text.as_bytes(), Modes::default());
        known.begin();
        known.finish(again(Ok(catalog(&everything()))), &defined(3), 2);
        assert_eq!(reach(&mut known, text, 3), (vec![], true), "{text} is not there");
        assert_eq!(reach(&mut known, text, 4), (effects, false), "{text} may be there now");
    }
    let foreign = reach(&mut known, "SELECT a FROM größe", 3);
    known.begin();
    known.finish(again(Ok(catalog(&everything()))), &defined(3), 2);
    assert_eq!(reach(&mut known, "SELECT a FROM größe", 3), foreign, "in any character set");
    assert_eq!(foreign, (new, false));
}

#[test]
fn a_name_is_nobodys_that_a_server_found_before_a_reading_did_not() {
    let any: Vec<_> = names_of(Effects::ANY_STORED_CODE);
    let text = "SELECT loaded(1)";
    let (bytes, modes) = (text.as_bytes(), Modes::default());
    let (unknown, nothing) = ((any, false), (vec![], true));
    let mut known = known(catalog(&everything()));
    known.meet(bytes, modes);
    assert_eq!(reach(&mut known, text, 3), unknown);
    known.begin();
    known.meet(bytes, modes);
    read_again(&mut known);
    assert_eq!(reach(&mut known, text, 3), unknown, "it may have been made after the reading");
    known.begin();
    read_again(&mut known);
    assert_eq!(reach(&mut known, text, 3), nothing, "it is built in, or loaded");
    assert!(!reach(&mut known, "SELECT a FROM loaded", 3).1, "the table is another one");
    assert!(known.miss(bytes, modes), "verdicts are out of date");
    assert!(!known.miss(bytes, modes), "but once");
    assert_eq!(reach(&mut known, text, 3), unknown);
    known.meet(bytes, modes);
    known.miss(bytes, modes);
    known.begin();
    read_again(&mut known);
    assert_eq!(reach(&mut known, text, 3), unknown, "it was missed after it was met");
    // a text that names it in another place says nothing of it
    known.meet(b"SELECT loaded FROM loaded", modes);
    known.begin();
    read_again(&mut known);
    assert_eq!(reach(&mut known, text, 3), unknown);
}

#[test]
fn what_is_missed_again_and_again_is_looked_for_less_and_less() {
    let mut known = known(catalog(&everything()));
    let mut pauses = Vec::new();
    for text in ["SELECT loaded(1)"; 8] {
        reach(&mut known, text, 3);
        known.begin();
        read_again(&mut known);
        pauses.push(known.pause_us);
    }
    assert_eq!(pauses, [50, 100, 200, 400, 800, 1600, 2000, 2000].map(|ms| ms * 1000));
    reach(&mut known, "SELECT another()", 3);
    known.begin();
    read_again(&mut known);
    assert_eq!(known.pause_us, 50_000, "news may come at once");
}

#[test]
fn what_is_nobodys_any_more_was_somebodys() {
    let (text, modes) = ("SELECT a FROM late", Modes::default());
    let mut known = known(catalog(&everything()));
    reach(&mut known, text, 3);
    known.meet(text.as_bytes(), modes);
    known.begin();
    let tables: Told<'_> = (Part::Tables, &[["test", "late", "", ""]]);
    read_again_with(&mut known, catalog(&[MARIADB, tables]));
    assert_eq!(reach(&mut known, text, 3), (vec![], true));
    known.begin();
    read_again(&mut known);
    assert!(!reach(&mut known, text, 3).1, "it is gone, and may come back as a view");
}

#[test]
fn only_a_statement_that_fails_without_them_says_that_its_names_are_there() {
    for (text, is_resolved) in [
        ("SELECT late()", true),
        ("INSERT INTO t SELECT a FROM late", true),
        ("UPDATE t SET a = late()", true),
        ("SET @a = late()", true),
        ("SELECT 1 /*!999999 , late() */", false),
        ("SELECT 1; CHECKSUM TABLE late", false),
        ("BEGIN NOT ATOMIC IF 0 THEN SELECT late(); END IF; END", false),
        ("IF 0 THEN SELECT late(); END IF", false),
        ("CREATE PROCEDURE p() SELECT late()", false),
        ("CREATE FUNCTION f() RETURNS INT RETURN late()", false),
        ("CREATE TRIGGER x AFTER INSERT ON t FOR EACH ROW SET @a = late()", false),
        ("CREATE EVENT e ON SCHEDULE EVERY 1 DAY DO SELECT late()", false),
        ("PREPARE s FROM 'SELECT late()'", false),
        ("CHECKSUM TABLE late", false),
        ("DROP TABLE IF EXISTS late", false),
    ] {
        assert_eq!(Naming::is_resolved(&sql::facts(text.as_bytes())), is_resolved, "{text}");
    }
}

#[test]
fn what_a_new_table_runs_is_told_by_the_next_reading() {
    let definitions = defined(3);
    let mut known = known(catalog(&everything()));
    let since = definitions.count();
    let looked = |known: &Known, table: &str, naming| {
        let named = Named { key: key(table.as_bytes()), role: Role::Table, naming };
        let found = known.look_back(&[named], since, &definitions);
        found.map(|all| all.map(names_of))
    };
    assert_eq!(looked(&known, "logged", Naming::Reads), Ok(Some(vec![])));
    assert_eq!(looked(&known, "logged", Naming::Inserts), Ok(Some(vec!["READS_LAST_INSERT_ID"])));
    assert_eq!(looked(&known, "new", Naming::Reads), Ok(None));
    reach(&mut known, "SELECT a FROM new", 3);
    known.begin();
    read_again(&mut known);
    assert_eq!(looked(&known, "new", Naming::Reads), Ok(Some(vec![])), "it was a temporary one");
}

#[test]
fn a_table_is_new_that_no_reading_told_of_and_that_may_run_something() {
    let definitions = defined(3);
    let mut known = known(catalog(&everything()));
    let holds = |known: &mut Known, text: &[u8], made: &[&[u8]]| {
        let (effects, _) = reach_where(known, (text, true), &definitions, made);
        effects.contains(&"NEW_TABLE")
    };
    for (text, is_new) in [
        ("SELECT a FROM new", true),
        ("INSERT INTO other.new VALUES (1)", true),
        ("SELECT a FROM other.mine", true),
        ("SELECT a FROM mine", false),
        ("INSERT INTO mine SELECT a FROM t", false),
        ("SELECT 1 FROM DUAL", false),
        ("SELECT a FROM information_schema.new", false),
        ("SELECT a FROM mysql.new JOIN performance_schema.other", false),
        ("WITH new AS (SELECT 1) SELECT * FROM new", false),
        ("WITH new (a) AS (SELECT a FROM t), u AS (SELECT a FROM new) SELECT a FROM u", false),
        ("WITH RECURSIVE new AS (SELECT 1 UNION SELECT a FROM new) SELECT a FROM new", false),
        ("WITH new AS (SELECT a FROM new) SELECT a FROM new", true),
        ("WITH new (a) AS (SELECT a FROM new) SELECT a FROM new", true),
        ("CREATE TABLE x AS SELECT a FROM new", true),
        ("CREATE TABLE x SELECT a FROM new", true),
        ("EXPLAIN SELECT a FROM new", true),
        ("ANALYZE SELECT a FROM new", true),
        ("SHOW TABLES WHERE (SELECT a FROM new)", true),
        ("CREATE TABLE new (a INT)", false),
        ("ALTER TABLE new ADD b INT", false),
        ("DROP TABLE new", false),
        ("DROP TEMPORARY TABLE new", false),
    ] {
        assert_eq!(holds(&mut known, text.as_bytes(), &[b"mine"]), is_new, "{text}");
    }
    // whoever made it is known to have made a base table
    let named = |role| [(b"new".as_slice(), role)].into_iter();
    definitions.note_names(named(Role::Other), Defined::Table);
    assert!(holds(&mut known, b"SELECT a FROM new", &[]), "a column was called so");
    definitions.note_names(named(Role::Table), Defined::Table);
    assert!(!holds(&mut known, b"SELECT a FROM new", &[]));
    definitions.note_names(named(Role::Other), Defined::Code);
    assert!(holds(&mut known, b"SELECT a FROM new", &[]));
    // after a definition of anything, what was known is careful
    let (effects, _) = reach(&mut known, "SELECT a FROM t", 4);
    assert_eq!(effects, ["READS_LAST_INSERT_ID", "UNKNOWN_CODE"]);
}

#[test]
fn a_name_in_another_character_set_is_not_known_whatever_its_bytes_are() {
    let definitions = defined(3);
    let tables: Told<'_> = (Part::Tables, &[["test", "été", "", ""], ["test", "Ã", "", ""]]);
    let numbers: Told<'_> =
        (Part::Columns, &[["NUMBER", "été", "", "a"], ["NUMBER", "Ã", "", "a"]]);
    let mut known = known(catalog(&[MARIADB, tables, numbers]));
    for text in ["SELECT a FROM été".as_bytes(), "SELECT 'é' FROM `Ã`".as_bytes()] {
        assert_eq!(reach_where(&mut known, (text, true), &definitions, &[]), (vec![], true));
        for _ in 0..2 {
            let (effects, is_sure) = reach_where(&mut known, (text, false), &definitions, &[]);
            assert!(effects.contains(&"NEW_TABLE") && !is_sure, "{}", text.escape_ascii());
            known.meet(text, Modes::default());
            known.begin();
            read_again_with(&mut known, catalog(&[MARIADB, tables, numbers]));
        }
    }
    let insert_id = |is_utf8| {
        let how = How { modes: Modes::default(), is_utf8, naming: Naming::Inserts };
        let asked = AskedText { text: "INSERT INTO été VALUES (1)".as_bytes(), how };
        known.insert_id(&asked, &definitions, true)
    };
    assert_eq!([insert_id(true), insert_id(false)], [InsertId::Told, InsertId::Asked]);
}
