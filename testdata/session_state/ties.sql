# dropped_and_made_in_one_text
DROP TABLE IF EXISTS x; CREATE TEMPORARY TABLE u (b INT)
INSERT INTO u VALUES (1), (2)
SELECT b FROM u
SELECT b FROM u
# table_of_a_text_that_failed
CREATE TEMPORARY TABLE mine (a INT); SELECT * FROM missing
SELECT 1
INSERT INTO mine VALUES (1)
SELECT a FROM mine
# table_renamed_behind_a_read
CREATE TEMPORARY TABLE mine (a INT)
SELECT 1; ALTER TABLE mine RENAME TO yours
CREATE TABLE mine (b INT)
DROP TABLE mine
SELECT a FROM yours
# lock_of_a_text_that_failed
SELECT GET_LOCK('ties', 0); SELECT * FROM missing
SELECT 1
SELECT RELEASE_LOCK('ties')
SELECT RELEASE_LOCK('ties')
# lock_of_a_statement_that_failed
CREATE FUNCTION boom(x INT) RETURNS INT DETERMINISTIC BEGIN IF x = 2 THEN SIGNAL SQLSTATE '45000'; END IF; RETURN x; END
INSERT INTO u VALUES (1), (2)
SELECT GET_LOCK('ties', 0), boom(a) FROM u ORDER BY a
SELECT 1
SELECT RELEASE_LOCK('ties')
# tables_locked_behind_an_unlock
UNLOCK TABLES; LOCK TABLES t WRITE
SELECT 1
SELECT a FROM u
INSERT INTO t (a) VALUES (1)
UNLOCK TABLES
SELECT a FROM u
# everything_locked_by_a_text_that_failed
FLUSH TABLES WITH READ LOCK; SELECT * FROM missing
SELECT 1
INSERT INTO t (a) VALUES (1)
UNLOCK TABLES
INSERT INTO t (a) VALUES (2)
SELECT a FROM t
# savepoint_before_anything_else
SET autocommit = 0
SAVEPOINT s
SELECT 1
INSERT INTO t (a) VALUES (1)
ROLLBACK TO SAVEPOINT s
INSERT INTO t (a) VALUES (2)
RELEASE SAVEPOINT s
COMMIT
ROLLBACK TO SAVEPOINT s
SELECT a FROM t
COMMIT
# savepoint_of_a_text_that_failed
SET autocommit = 0
SAVEPOINT s; SELECT * FROM missing
INSERT INTO t (a) VALUES (1)
ROLLBACK TO SAVEPOINT s
COMMIT
SELECT a FROM t
# schema_set_behind_a_write
INSERT INTO t (a) VALUES (1); USE other
SELECT DATABASE()
USE: test
SELECT a FROM t
# prepared_call_has_its_own_insert_id
CREATE PROCEDURE shows() SELECT 1
SELECT 1
EXEC: CALL shows()
SELECT LAST_INSERT_ID()
RESET:
SELECT 1
SELECT 2
EXEC: CALL shows()
SELECT LAST_INSERT_ID()
DROP PROCEDURE shows
# next_transaction_behind_a_statement_that_failed
SET autocommit = 0
SET TRANSACTION READ ONLY
SELECT missing
SELECT 1
SELECT 1
INSERT INTO u VALUES (1)
ROLLBACK
INSERT INTO u VALUES (1)
ROLLBACK
# next_transaction_behind_one_that_did_not_begin
SET TRANSACTION READ ONLY
START TRANSACTION nonsense
SELECT 1
SELECT 1
INSERT INTO u VALUES (1)
# next_transaction_behind_a_text_that_chose_no_schema
SET autocommit = 0
SET TRANSACTION READ ONLY
USE nosuch; SELECT 1
SELECT 1
INSERT INTO u VALUES (1)
ROLLBACK
