//! The schema that generated scripts work on: whatever hides something from the text of a
//! statement.

/// Its statements, each marked where only one kind of server knows it.
pub(crate) const SCHEMA: &[&str] = &[
    "DROP DATABASE IF EXISTS test",
    "CREATE DATABASE test CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci",
    "USE test",
    "CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, a INT, b VARCHAR(20), UNIQUE KEY (a))",
    "CREATE TABLE u (a INT PRIMARY KEY, b INT)",
    "CREATE TABLE g (id INT AUTO_INCREMENT PRIMARY KEY, a INT, twice INT AS (a * 2), \
     next INT AS (a + 1) STORED, b VARCHAR(20) DEFAULT (CONCAT('d', 1 + 1)))",
    "MARIADB: CREATE TABLE e (a INT, b INT DEFAULT (a + 1), c VARCHAR(40) DEFAULT (USER()))",
    "MYSQL: CREATE TABLE e (a INT, b INT DEFAULT (a + 1), c VARCHAR(40) DEFAULT ('c'))",
    "CREATE TABLE noted (id INT AUTO_INCREMENT PRIMARY KEY, what VARCHAR(40)) \
     AUTO_INCREMENT = 100",
    "CREATE TABLE triggered (id INT AUTO_INCREMENT PRIMARY KEY, a INT) AUTO_INCREMENT = 500",
    "CREATE TRIGGER before_insert BEFORE INSERT ON triggered FOR EACH ROW \
     BEGIN SET @seen = NEW.a; \
     IF NEW.a < 0 THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'negative'; END IF; END",
    "CREATE TRIGGER after_update AFTER UPDATE ON triggered FOR EACH ROW \
     INSERT INTO noted (what) VALUES (CONCAT('from ', IFNULL(OLD.a, 'nothing'), IFNULL(@a, '')))",
    "CREATE TRIGGER after_delete AFTER DELETE ON triggered FOR EACH ROW \
     SET @hidden = LAST_INSERT_ID()",
    "CREATE FUNCTION pure(x INT) RETURNS INT DETERMINISTIC NO SQL RETURN x + 1",
    "CREATE FUNCTION writes(x INT) RETURNS INT MODIFIES SQL DATA \
     BEGIN INSERT INTO noted (what) VALUES (CONCAT('f', IFNULL(x, ''))); RETURN x; END",
    "CREATE FUNCTION sets_one(x INT) RETURNS INT BEGIN SET @hidden = x; RETURN x; END",
    "CREATE FUNCTION sets_zone() RETURNS INT BEGIN SET time_zone = '+03:00'; RETURN 3; END",
    "CREATE FUNCTION sets_mode() RETURNS INT BEGIN SET sql_mode = 'ANSI_QUOTES'; RETURN 4; END",
    "CREATE FUNCTION sees_variable() RETURNS VARCHAR(40) RETURN IFNULL(@a, 'none')",
    "CREATE FUNCTION sees_id() RETURNS INT RETURN LAST_INSERT_ID()",
    "CREATE FUNCTION sees_zone() RETURNS VARCHAR(40) RETURN @@time_zone",
    "CREATE FUNCTION sees_count() RETURNS INT RETURN ROW_COUNT()",
    "CREATE FUNCTION sees_connection() RETURNS INT RETURN CONNECTION_ID()",
    "CREATE FUNCTION locks() RETURNS INT RETURN GET_LOCK('l', 0)",
    "CREATE FUNCTION unlocks() RETURNS INT RETURN RELEASE_LOCK('l')",
    "CREATE FUNCTION makes_temporary() RETURNS INT \
     BEGIN CREATE TEMPORARY TABLE IF NOT EXISTS x (a INT); RETURN 1; END",
    "CREATE FUNCTION fails() RETURNS INT BEGIN SET @hidden = 'failed'; \
     SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'it fails'; RETURN 1; END",
    "CREATE VIEW v_plain AS SELECT a, b FROM u",
    "CREATE VIEW v_id AS SELECT LAST_INSERT_ID() AS id",
    "CREATE VIEW v_variable AS SELECT sees_variable() AS seen, a FROM u",
    "CREATE VIEW v_connection AS SELECT CONNECTION_ID() AS id",
    "CREATE VIEW v_sets AS SELECT sets_one(a) AS x FROM u",
    "CREATE VIEW v_writes AS SELECT writes(a) AS x FROM u WHERE a < 3",
    "CREATE VIEW v_nested AS SELECT seen FROM v_variable",
    "CREATE PROCEDURE plain() SELECT a FROM u ORDER BY a",
    "CREATE PROCEDURE two() BEGIN SELECT 1; SELECT sees_variable(); END",
    "CREATE PROCEDURE sets_all() BEGIN SET time_zone = '+02:00'; SET @a = 'procedure'; \
     SET SESSION group_concat_max_len = 77; END",
    "CREATE PROCEDURE temporary() BEGIN CREATE TEMPORARY TABLE IF NOT EXISTS x (a INT); \
     INSERT INTO x VALUES (1); END",
    "CREATE PROCEDURE opens() BEGIN START TRANSACTION; INSERT INTO noted (what) VALUES ('o'); END",
    "CREATE PROCEDURE commits() BEGIN INSERT INTO noted (what) VALUES ('c'); COMMIT; END",
    "CREATE PROCEDURE signals() BEGIN INSERT INTO noted (what) VALUES ('s'); SET @hidden = 8; \
     SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'signalled'; END",
    "CREATE PROCEDURE gives(OUT x INT) SET x = 7",
    "CREATE PROCEDURE duplicates() BEGIN INSERT INTO u VALUES (90, 1); \
     INSERT INTO u VALUES (1, 1); END",
    "MARIADB: CREATE SEQUENCE q",
    "INSERT INTO u VALUES (1, 10), (2, 20), (3, 30), (4, NULL), (5, 50)",
    "INSERT INTO t (a, b) VALUES (1, 'one'), (2, 'two'), (3, NULL)",
    "INSERT INTO g (a) VALUES (1), (2)",
    "COMMIT",
];
