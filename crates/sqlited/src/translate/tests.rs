//! Statements in, SQLite's text out.

use super::*;
use crate::lexer::statements;

fn action_of(text: &str) -> Result<Action, Fault> {
    let all = statements(text.as_bytes()).unwrap();
    assert_eq!(all.len(), 1, "{text}");
    plan(&all[0], "demo").map(|plan| plan.action)
}

fn sql_of(text: &str) -> Sql {
    match action_of(text).unwrap() {
        Action::Look(sql) | Action::Run { sql, .. } | Action::LockingRead(sql) => sql,
        other => panic!("{text}: {other:?}"),
    }
}

fn steps_of(text: &str) -> Vec<String> {
    match action_of(text).unwrap() {
        Action::Schema { steps, .. } => steps.into_iter().map(|sql| sql.text).collect(),
        other => panic!("{text}: {other:?}"),
    }
}

#[test]
fn expressions_are_written_as_sqlite_wants_them() {
    for (mysql, sqlite) in [
        ("SELECT \"a\"", "SELECT 'a'"),
        ("SELECT 'it\\'s' 'x'", "SELECT 'it''sx'"),
        ("SELECT `a b` FROM demo.t", "SELECT `a b` FROM main.t"),
        ("SELECT demo.t.a FROM t", "SELECT main.t.a FROM t"),
        ("SELECT 1 || 0 && 1", "SELECT 1  OR  0  AND  1"),
        ("SELECT a <=> NULL FROM t", "SELECT a  IS  NULL FROM t"),
        ("SELECT 0xCAFE", "SELECT x'cafe'"),
        ("SELECT @@session.sql_mode", "SELECT sysvar('session','sql_mode')"),
        ("SELECT @A", "SELECT uservar('a')"),
        ("SELECT SQL_NO_CACHE a FROM t USE INDEX (k) WHERE a=1", "SELECT a FROM t WHERE a=1"),
        ("SELECT CAST(a AS UNSIGNED) FROM t", "SELECT CAST(a AS INTEGER) FROM t"),
        ("SELECT 1 FROM DUAL", "SELECT 1"),
        ("SELECT * FROM information_schema.TABLES", {
            "SELECT * FROM temp.`information_schema.tables`"
        }),
        ("SELECT GROUP_CONCAT(a SEPARATOR '-') FROM t", "SELECT GROUP_CONCAT(a , '-') FROM t"),
        ("SELECT _utf8mb4'x'", "SELECT 'x'"),
        ("SELECT _utf8mb4 X'61', _binary 'a'", "SELECT CAST(x'61' AS TEXT), x'61'"),
        ("SELECT '\\0a'", "SELECT CAST(x'0061' AS TEXT)"),
    ] {
        assert_eq!(sql_of(mysql).text, sqlite, "{mysql}");
    }
}

#[test]
fn column_names_are_what_the_client_wrote() {
    for (mysql, column, name) in [
        ("SELECT @@hostname", "sysvar('','hostname')", "@@hostname"),
        ("SELECT 'a'", "'a'", "a"),
        ("SELECT concat('a', \"b\")", "concat('a', 'b')", "concat('a', \"b\")"),
        ("SELECT 7 DIV 2, 1/2", "7 /+ 2", "7 DIV 2"),
        ("SELECT 7 DIV 2, 1/2", "1* 1.0 /2", "1/2"),
    ] {
        assert_eq!(sql_of(mysql).column_name(column), name, "{mysql}");
    }
}

#[test]
fn locking_clauses_are_taken_off_and_for_update_is_remembered() {
    let locking = action_of("SELECT * FROM t WHERE a = 1 FOR UPDATE SKIP LOCKED").unwrap();
    assert!(matches!(locking, Action::LockingRead(sql) if sql.text.ends_with("a = 1")));
    let shared = action_of("SELECT * FROM t LOCK IN SHARE MODE").unwrap();
    assert!(matches!(shared, Action::Run { sql, .. } if sql.text == "SELECT * FROM t"));
    let shared = action_of("SELECT * FROM t FOR SHARE").unwrap();
    assert!(matches!(shared, Action::Run { .. }));
}

#[test]
fn a_query_without_a_table_only_looks() {
    assert!(matches!(action_of("SELECT 1"), Ok(Action::Look(_))));
    assert!(matches!(action_of("SHOW TABLES"), Ok(Action::Look(_))));
    assert!(matches!(action_of("SELECT 1 FROM t"), Ok(Action::Run { .. })));
}

#[test]
fn inserts_take_every_form() {
    for (mysql, sqlite) in [
        ("INSERT INTO t SET a=1, b=2", "INSERT INTO `t` (a, b) VALUES (1, 2)"),
        ("INSERT IGNORE t VALUES (1)", "INSERT OR IGNORE INTO `t` VALUES (1)"),
        ("INSERT INTO t () VALUES ()", "INSERT INTO `t` DEFAULT VALUES"),
        ("REPLACE INTO demo.t (a) VALUES (1)", "REPLACE INTO `t` (a) VALUES (1)"),
        ("INSERT INTO t (a) SELECT a FROM u ON DUPLICATE KEY UPDATE a = VALUES(a) + 1", {
            "INSERT INTO `t` (a) SELECT a FROM u WHERE true ON CONFLICT DO UPDATE SET a = \
             excluded.`a` + 1"
        }),
        ("DELETE FROM t WHERE a > 1 ORDER BY a LIMIT 3", {
            "DELETE FROM `t` WHERE rowid IN (SELECT rowid FROM `t` WHERE a > 1 ORDER BY a LIMIT 3)"
        }),
        ("UPDATE t SET a = 1 WHERE b = 2", "UPDATE `t` SET a = 1 WHERE b = 2"),
    ] {
        assert_eq!(sql_of(mysql).text, sqlite, "{mysql}");
    }
}

#[test]
fn a_table_keeps_its_keys_and_loses_its_options() {
    let steps = steps_of(
        "CREATE TABLE sbtest1(id INTEGER NOT NULL AUTO_INCREMENT, k INTEGER DEFAULT '0' NOT \
         NULL, c CHAR(120) DEFAULT '' NOT NULL, PRIMARY KEY (id), KEY k_1 (k)) /*! ENGINE = \
         innodb */",
    );
    assert_eq!(
        steps[0],
        "CREATE TABLE `sbtest1` (`id` INTEGER PRIMARY KEY AUTOINCREMENT, `k` INT NOT NULL \
         DEFAULT '0', `c` CHAR(120) NOT NULL DEFAULT '')"
    );
    assert_eq!(steps[1], "CREATE INDEX `sbtest1.k_1` ON `sbtest1` (`k`)");
    assert!(steps[2].starts_with("CREATE TRIGGER"), "{}", steps[2]);
    assert_eq!(
        steps_of("CREATE TABLE t (a BIGINT(20) UNSIGNED, b DATETIME(6), PRIMARY KEY (a, b(3)))"),
        ["CREATE TABLE `t` (`a` BIGINT UNSIGNED NOT NULL, `b` TEXT DATETIME(6) NOT NULL, PRIMARY \
          KEY (`a`, `b`))"]
    );
}

#[test]
fn alterations_become_one_statement_each() {
    assert_eq!(
        steps_of("ALTER TABLE t ADD COLUMN a INT NOT NULL AFTER b, DROP INDEX k, ENGINE=InnoDB"),
        ["ALTER TABLE `t` ADD COLUMN `a` INT NOT NULL DEFAULT 0", "DROP INDEX `t.k`"]
    );
}

#[test]
fn what_is_not_mysql_never_reaches_sqlite() {
    for text in ["PRAGMA journal_mode", "ATTACH 'x' AS y", "VACUUM INTO 'x'", "SELEC 1", "REINDEX"]
    {
        assert_eq!(action_of(text).unwrap_err().code, 1064, "{text}");
    }
    for text in ["SELECT 1 INTO OUTFILE 'x'", "LOAD DATA INFILE 'x' INTO TABLE t", "CALL p()"] {
        assert_eq!(action_of(text).unwrap_err().code, 1235, "{text}");
    }
}

#[test]
fn set_is_split_into_its_assignments() {
    let Ok(Action::Set(all)) = action_of("SET NAMES utf8mb4, @a = 1+1, GLOBAL read_only = ON")
    else {
        panic!("no SET");
    };
    let targets: Vec<Target> = all.iter().map(|assignment| assignment.target.clone()).collect();
    assert_eq!(targets.len(), 5);
    assert_eq!(targets[3], Target::User("a".into()));
    assert_eq!(targets[4], Target::System(Scope::Global, "read_only".into()));
    assert_eq!(all[3].value.as_ref().map(|sql| sql.text.as_str()), Some("1+1"));
    assert_eq!(all[4].value.as_ref().map(|sql| sql.text.as_str()), Some("'ON'"));
}

#[test]
fn sleep_alone_is_known_for_what_it_is() {
    let planned = action_of("SELECT SLEEP(0.25)").unwrap();
    assert_eq!(planned, Action::Sleep { milliseconds: 250, column: "SLEEP(0.25)".into() });
}
