# function_sets_user_variable
CREATE FUNCTION f() RETURNS INT DETERMINISTIC BEGIN SET @hidden = 9; RETURN 1; END
SELECT f()
SELECT @hidden
SELECT @hidden + 1
# function_in_do
CREATE FUNCTION f() RETURNS INT DETERMINISTIC BEGIN SET @hidden = IFNULL(@hidden, 0) + 1; RETURN 1; END
DO f()
DO f()
SELECT @hidden
# function_in_a_table_made_of_a_select
CREATE FUNCTION f() RETURNS INT DETERMINISTIC BEGIN SET @hidden = 9; RETURN 1; END
RESET:
CREATE TABLE made AS SELECT f() AS x
EXEC: SELECT x, @hidden FROM made
SELECT x, @hidden FROM made
EXEC: SELECT x, @hidden FROM made
SELECT @hidden, x FROM made
# function_sets_system_variable
CREATE FUNCTION g() RETURNS INT DETERMINISTIC BEGIN SET div_precision_increment = 9; RETURN 1; END
SELECT g()
SELECT @@div_precision_increment, 1 / 3
# function_sets_time_zone
CREATE FUNCTION h() RETURNS INT DETERMINISTIC BEGIN SET time_zone = '+04:00'; RETURN 1; END
SELECT h()
SELECT @@time_zone, FROM_UNIXTIME(0)
SET time_zone = '+01:00'
SELECT @@time_zone, FROM_UNIXTIME(0)
# function_in_a_prepared_statement
CREATE FUNCTION f() RETURNS INT DETERMINISTIC BEGIN SET @hidden = 9; RETURN 1; END
EXEC: SELECT f()
SELECT @hidden
EXEC: SELECT @hidden
# view_hides_a_function
CREATE FUNCTION f() RETURNS INT DETERMINISTIC BEGIN SET @hidden = 9; RETURN 1; END
CREATE VIEW v AS SELECT f() AS x
SELECT * FROM v
SELECT @hidden
SELECT x, @hidden FROM v
# trigger_sets_user_variable
CREATE TRIGGER trg BEFORE INSERT ON t FOR EACH ROW SET @hidden = NEW.a
INSERT INTO t (a) VALUES (3)
SELECT @hidden
INSERT INTO t (a) VALUES (4)
SELECT @hidden
# trigger_of_a_prepared_insert
CREATE TRIGGER trg BEFORE INSERT ON t FOR EACH ROW SET @hidden = NEW.a
EXEC: INSERT INTO t (a) VALUES (7)
SELECT @hidden
EXEC: INSERT INTO t (a) VALUES (7)
SELECT @hidden, LAST_INSERT_ID()
# trigger_in_a_transaction
CREATE TRIGGER trg AFTER UPDATE ON u FOR EACH ROW SET @hidden = OLD.a
INSERT INTO u VALUES (1), (2)
BEGIN
UPDATE u SET a = a + 10
COMMIT
SELECT @hidden
# trigger_and_reset
CREATE TRIGGER trg BEFORE INSERT ON t FOR EACH ROW SET @hidden = NEW.a
INSERT INTO t (a) VALUES (3)
RESET:
SELECT @hidden
SELECT DATABASE()
# trigger_in_a_set_statement
CREATE TRIGGER trg BEFORE INSERT ON t FOR EACH ROW SET @hidden = NEW.a
MARIADB: SET STATEMENT max_statement_time = 9 FOR INSERT INTO t (a) VALUES (3)
SELECT @hidden
# function_in_a_set_statement
CREATE FUNCTION f() RETURNS INT DETERMINISTIC BEGIN SET @hidden = 9; RETURN 1; END
MARIADB: SET STATEMENT max_statement_time = 9 FOR SELECT f()
SELECT @hidden
MARIADB: EXEC: SET STATEMENT max_statement_time = 9 FOR SELECT f()
SELECT @hidden
# procedure_sets_variables
CREATE PROCEDURE p() BEGIN SET time_zone = '+03:00'; SET sql_mode = 'NO_ENGINE_SUBSTITUTION'; SET @hidden = 5; END
CALL p()
SELECT @@time_zone, @@sql_mode, @hidden
SET @other = 1
SELECT @@time_zone, @@sql_mode, @hidden, @other
# procedure_changes_autocommit
CREATE PROCEDURE p() SET autocommit = 0
CALL p()
SELECT @@autocommit
INSERT INTO u VALUES (1)
ROLLBACK
SELECT COUNT(*) FROM u
# procedure_makes_a_temporary_table
CREATE PROCEDURE p() CREATE TEMPORARY TABLE hidden (a INT)
CALL p()
INSERT INTO hidden VALUES (1)
SELECT * FROM hidden
DROP TEMPORARY TABLE hidden
# function_makes_a_temporary_table
CREATE FUNCTION f() RETURNS INT DETERMINISTIC BEGIN CREATE TEMPORARY TABLE IF NOT EXISTS hidden (a INT); RETURN 1; END
DO f()
INSERT INTO hidden VALUES (1)
SELECT * FROM hidden
# several_statements_in_one_text
SET time_zone = '+02:00'; SET @hidden = 1; USE other
SELECT @@time_zone, @hidden, DATABASE()
# prepared_text_sets
PREPARE s FROM 'SET time_zone = ''+02:00'''
EXECUTE s
DEALLOCATE PREPARE s
SELECT @@time_zone
# prepared_text_uses
PREPARE s FROM 'USE other'
EXECUTE s
SELECT DATABASE()
# prepared_set
EXEC: SET time_zone = '+02:00'
SELECT @@time_zone
EXEC: SET @hidden = 4
SELECT @hidden, @@time_zone
# value_of_a_query
SET time_zone = (SELECT '+02:00')
SELECT @@time_zone
SET @hidden = (SELECT COUNT(*) FROM u)
SELECT @hidden
SET sql_mode = (SELECT REPLACE(@@sql_mode, 'ONLY_FULL_GROUP_BY', ''))
SELECT @@sql_mode
# value_of_a_function
CREATE FUNCTION f() RETURNS INT DETERMINISTIC BEGIN SET @hidden = 9; RETURN 8; END
SET @a = f()
SELECT @a, @hidden
SET SESSION div_precision_increment = f()
SELECT @@div_precision_increment, @hidden
# own_tracking
SET session_track_state_change = 1
SELECT @@session_track_state_change
SET @a = 1
SELECT @a
SET session_track_state_change = 0
SELECT @@session_track_state_change
# own_tracking_of_variables
SET session_track_system_variables = 'sql_mode'
SELECT @@session_track_system_variables
SET sql_mode = 'ANSI_QUOTES'
SELECT @@sql_mode
# tracking_is_off_for_clients
SELECT @@session_track_schema
SELECT @@session_track_system_variables
# procedure_that_fails_as_a_lost_statement_does
CREATE PROCEDURE p() BEGIN INSERT INTO u VALUES (1); EXECUTE nosuch; END
EXEC: CALL p()
SELECT COUNT(*) FROM u
EXEC: CALL p()
SELECT COUNT(*) FROM u
# schema_untold
SET session_track_schema = OFF
USE other; SELECT 1
SELECT DATABASE(), @@session_track_schema
SELECT DATABASE()
INSERT INTO n (a, b) VALUES (0, 0)
# schema_told
SET session_track_schema = 1
USE other; SELECT 1
SELECT DATABASE(), @@session_track_schema
SELECT DATABASE()
# schema_untold_within_a_text
SET session_track_schema = 0; USE other; SELECT 1
SELECT DATABASE()
SELECT DATABASE()
# several_statements_before_use
INSERT INTO u VALUES (1); USE other
SELECT DATABASE()
USE test
SELECT a FROM u; USE test; USE other
SELECT DATABASE()
# use_and_what_fails_behind_it
USE other; SELECT no_such_column
SELECT DATABASE()
USE no_such_schema; SELECT 1
SELECT DATABASE()
# view_finds_rows_by_the_connection_s_id
CREATE TABLE ctx (conn BIGINT, tenant INT)
CREATE VIEW mine AS SELECT tenant FROM ctx WHERE conn = CONNECTION_ID()
INSERT INTO ctx VALUES (CONNECTION_ID(), 7)
SELECT tenant FROM mine
EXEC: SELECT tenant FROM ctx WHERE conn = CONNECTION_ID()
SELECT CONNECTION_ID() = (SELECT conn FROM ctx) AS same
SELECT COUNT(*) FROM ctx WHERE conn = @@pseudo_thread_id
# trigger_reads_the_last_insert_id
CREATE TABLE parent (id INT AUTO_INCREMENT PRIMARY KEY, a INT) AUTO_INCREMENT = 100
CREATE TABLE child (k INT PRIMARY KEY, parent BIGINT)
CREATE TRIGGER trg BEFORE INSERT ON child FOR EACH ROW SET NEW.parent = LAST_INSERT_ID()
INSERT INTO parent (a) VALUES (1)
INSERT INTO child (k) VALUES (1)
EXEC: INSERT INTO child (k) VALUES (2)
SELECT * FROM child
SELECT LAST_INSERT_ID()
# function_reads_the_last_insert_id
CREATE FUNCTION f() RETURNS BIGINT NOT DETERMINISTIC NO SQL RETURN LAST_INSERT_ID()
CREATE VIEW v AS SELECT f() AS x
INSERT INTO t (a) VALUES (5)
SELECT f()
SELECT x FROM v
EXEC: SELECT f()
EXEC: SELECT x FROM v
# view_reads_the_last_insert_id
CREATE VIEW v AS SELECT a FROM t WHERE id = LAST_INSERT_ID()
INSERT INTO t (a) VALUES (5), (6)
SELECT * FROM v
SELECT * FROM v
EXEC: SELECT * FROM v
# function_reads_a_user_variable
CREATE FUNCTION f() RETURNS INT NOT DETERMINISTIC NO SQL RETURN @x + 1
SET @x = 4
SELECT f()
EXEC: SELECT f()
# function_takes_a_lock
CREATE FUNCTION f() RETURNS INT NOT DETERMINISTIC READS SQL DATA RETURN GET_LOCK('of a function', 0)
SELECT f()
SELECT IS_USED_LOCK('of a function') = CONNECTION_ID()
SELECT RELEASE_LOCK('of a function')
SELECT RELEASE_LOCK('of a function')
# view_takes_a_lock
CREATE VIEW v AS SELECT GET_LOCK('of a view', 0) AS x
SELECT x FROM v
SELECT RELEASE_LOCK('of a view')
SELECT RELEASE_LOCK('of a view')
# column_draws_from_a_sequence
MARIADB: CREATE SEQUENCE s
MARIADB: CREATE TABLE drawn (id BIGINT PRIMARY KEY DEFAULT (NEXT VALUE FOR s), a INT)
MARIADB: INSERT INTO drawn (a) VALUES (1)
MARIADB: SELECT LASTVAL(s)
MARIADB: EXEC: INSERT INTO drawn (a) VALUES (2)
MARIADB: SELECT LASTVAL(s)
# trigger_sets_and_fails
CREATE TRIGGER trg BEFORE INSERT ON u FOR EACH ROW BEGIN SET @why = 'too small'; SIGNAL SQLSTATE '45000'; END
INSERT INTO u VALUES (1)
SELECT 1
SELECT @why
EXEC: INSERT INTO u VALUES (2)
SELECT @why
# function_sets_a_variable_and_fails
CREATE FUNCTION f() RETURNS INT DETERMINISTIC BEGIN SET div_precision_increment = 9; SIGNAL SQLSTATE '45000'; RETURN 1; END
SELECT f()
SELECT @@div_precision_increment
# prepared_before_a_prepared_set
EXEC [1]: SELECT ?, @@time_zone, 'prepared'
SET time_zone = '+01:00'
SELECT @b := 1
EXEC: SET time_zone = '+02:00'
EXEC [1]: SELECT ?, @@time_zone, 'prepared'
EXEC [1]: SELECT ? + 1, @@time_zone, 'prepared'
SELECT @@time_zone
# prepared_before_a_value_of_the_server
EXEC [1]: SELECT ?, @@foreign_key_checks, @@sql_mode, 'value'
SET foreign_key_checks = 0, sql_mode = 'PIPES_AS_CONCAT'
SET foreign_key_checks = @@global.foreign_key_checks
EXEC [1]: SELECT ?, @@foreign_key_checks, @@sql_mode, 'value'
SELECT @@foreign_key_checks, @@sql_mode, 'a' || 'b'
# prepared_before_a_procedure_that_sets
CREATE PROCEDURE p() BEGIN SET time_zone = '+02:00'; SET div_precision_increment = 8; END
EXEC [1]: SELECT ?, @@time_zone, 'procedure'
SET time_zone = '+01:00', div_precision_increment = 2
CALL p()
EXEC [1]: SELECT ?, @@time_zone, 'procedure'
EXEC: SELECT @@time_zone, @@div_precision_increment
SELECT @@time_zone, 1 / 3
# prepared_before_a_function_that_sets
CREATE FUNCTION h() RETURNS INT DETERMINISTIC BEGIN SET time_zone = '+04:00'; RETURN 1; END
EXEC [1]: SELECT ?, @@time_zone, 'function'
SET time_zone = '+01:00'
SELECT h()
EXEC [1]: SELECT ?, @@time_zone, 'function'
SELECT @@time_zone, FROM_UNIXTIME(0)
# prepared_before_a_text_that_sets
EXEC [1]: SELECT ?, @@time_zone, 'text'
SET time_zone = '+01:00'
PREPARE s FROM 'SET time_zone = ''+02:00'''
EXECUTE s
EXEC [1]: SELECT ?, @@time_zone, 'text'
SELECT @@time_zone
# prepared_before_several_that_set
EXEC [1]: SELECT ?, @@time_zone, @@transaction_isolation, 'that'
SET time_zone = '+01:00', SESSION transaction_isolation = 'READ-COMMITTED'
SET time_zone = '+02:00'; SET SESSION transaction_isolation = 'SERIALIZABLE'; SELECT 1
EXEC [1]: SELECT ?, @@time_zone, @@transaction_isolation, 'that'
SELECT @@time_zone, @@transaction_isolation
# prepared_before_a_block_that_sets
EXEC [1]: SELECT ?, @@time_zone, 'block'
SET time_zone = '+01:00'
MARIADB: BEGIN NOT ATOMIC SET time_zone = '+02:00'; END
EXEC [1]: SELECT ?, @@time_zone, 'block'
SELECT @@time_zone
# prepared_in_another_mode
INSERT INTO t (a) VALUES (7)
SET sql_mode = 'ANSI_QUOTES,PIPES_AS_CONCAT', time_zone = '+01:00'
EXEC: SELECT "a", 'x' || "a" FROM t
SET sql_mode = ''
SELECT @b := 1
EXEC: SET time_zone = '+02:00'
EXEC: SELECT "a", 'x' || "a" FROM t
SELECT @@time_zone, @@sql_mode, "a", 0 || 1
# prepared_in_another_character_set
SET NAMES latin1
EXEC: SELECT LENGTH('ä'), @@character_set_client
SET NAMES utf8mb4
SELECT @b := 1
EXEC: SET time_zone = '+02:00'
EXEC: SELECT LENGTH('ä'), @@character_set_client
SELECT @@time_zone, @@character_set_client, LENGTH('ä')
# function_with_characteristics_of_the_next_transaction
CREATE FUNCTION f() RETURNS INT NOT DETERMINISTIC NO SQL BEGIN SET TRANSACTION READ ONLY; RETURN 1; END
SELECT f()
INSERT INTO t (a) VALUES (1)
COMMIT
INSERT INTO t (a) VALUES (1)
# function_with_characteristics_of_the_session
CREATE FUNCTION f() RETURNS INT NOT DETERMINISTIC NO SQL BEGIN SET SESSION TRANSACTION READ ONLY; RETURN 1; END
EXEC: SELECT f()
INSERT INTO t (a) VALUES (1)
COMMIT
INSERT INTO t (a) VALUES (1)
# view_with_characteristics_of_the_next_transaction
CREATE FUNCTION f() RETURNS INT NOT DETERMINISTIC NO SQL BEGIN SET @@transaction_read_only = 1; RETURN 1; END
CREATE VIEW v AS SELECT f() AS a
SELECT a FROM v
INSERT INTO t (a) VALUES (1)
ROLLBACK
INSERT INTO t (a) VALUES (1)
