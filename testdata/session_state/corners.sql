# ansi_quotes_then_text
SET sql_mode = 'ANSI_QUOTES'
SELECT "a" FROM t
SET @x = 'a"b'
SELECT @x
SET sql_mode = ''
SELECT "a" FROM t
# ansi_quotes_hides_a_variable
SET sql_mode = CONCAT(@@sql_mode, ',ANSI_QUOTES')
CREATE TABLE "q""@a" (a INT)
SELECT COUNT(*) FROM "q""@a"
SELECT @@sql_mode
SET @a = 1
SELECT @a
# ansi_mode
SET sql_mode = 'ANSI'
SELECT 'a' || 'b', "id" FROM t
SELECT @@sql_mode
# no_backslash_hides
SET sql_mode = 'NO_BACKSLASH_ESCAPES'
SELECT '\', ' -- x'
SELECT 'a\', LENGTH('\')
SET @s = 'x\'
SELECT @s, LENGTH(@s)
SET sql_mode = DEFAULT
SELECT '\'', @s
# mode_by_variable
SET @m = 'NO_BACKSLASH_ESCAPES'
SET sql_mode = @m
SELECT '\', LENGTH('\')
SELECT @@sql_mode
# mode_by_saved_variable
SET sql_mode = 'PIPES_AS_CONCAT'
SET @old = @@sql_mode
SET sql_mode = 'ANSI_QUOTES'
SELECT "id" FROM t
SET sql_mode = @old
SELECT 'a' || 'b', "x"
# mode_in_set_statement
MARIADB: SET STATEMENT sql_mode = 'ANSI_QUOTES' FOR SELECT "id" FROM t
SELECT "id" FROM t
# mode_restored_in_one_text
SET sql_mode = 'ANSI_QUOTES'; SET sql_mode = ''
SELECT "x"
SELECT @@sql_mode
# prepare_from_variable
SET @q = 'SELECT a + ? FROM t'
INSERT INTO t (a) VALUES (4)
PREPARE s FROM @q
SET @p = 3
EXECUTE s USING @p
SET @p = 5
EXECUTE s USING @p
DEALLOCATE PREPARE s
EXECUTE s USING @p
SELECT @p
# prepare_sets_a_variable
PREPARE s FROM 'SET @a = 7'
EXECUTE s
SELECT @a
DEALLOCATE PREPARE s
SELECT @a
# prepare_sets_the_mode
PREPARE s FROM 'SET sql_mode = ''ANSI_QUOTES'''
EXECUTE s
SELECT "id" FROM t
DEALLOCATE PREPARE s
SELECT @@sql_mode
# execute_immediate
MARIADB: EXECUTE IMMEDIATE 'SET @a = 3, time_zone = ''+03:00'''
SELECT @a, @@time_zone
SELECT @a, @@time_zone
# diagnostics
SELECT * FROM missing
GET DIAGNOSTICS CONDITION 1 @c = RETURNED_SQLSTATE, @m = MESSAGE_TEXT
SELECT @c, @m
GET DIAGNOSTICS @n = NUMBER, @r = ROW_COUNT
SELECT @n, @r
# diagnostics_of_warnings
INSERT INTO t (a, b) VALUES (1, 'x'), (2, 'y')
SET sql_mode = ''
INSERT INTO t (b) VALUES ('0123456789abc')
GET DIAGNOSTICS CONDITION 1 @m = MESSAGE_TEXT
SELECT @m
SHOW WARNINGS
SHOW COUNT(*) WARNINGS
# warnings_after_select
SELECT 1/0
SHOW WARNINGS
SELECT CAST('abc' AS SIGNED)
SELECT @@warning_count, @@error_count
SHOW WARNINGS
SHOW ERRORS
# calc_found_rows
INSERT INTO t (a) VALUES (1), (2), (3), (4)
SELECT SQL_CALC_FOUND_ROWS a FROM t LIMIT 1
SELECT FOUND_ROWS()
SELECT FOUND_ROWS()
SELECT SQL_CALC_FOUND_ROWS a FROM t WHERE a > 1 LIMIT 2
SELECT a FROM t WHERE a = 1
SELECT FOUND_ROWS(), ROW_COUNT()
# calc_found_rows_in_union
INSERT INTO t (a) VALUES (1), (2), (3)
(SELECT SQL_CALC_FOUND_ROWS a FROM t) UNION ALL (SELECT a FROM t) LIMIT 2
SELECT FOUND_ROWS()
# found_rows_in_a_set
INSERT INTO t (a) VALUES (1), (2), (3)
SELECT a FROM t
MARIADB: SET @f = FOUND_ROWS()
SELECT @f
SELECT @f
# row_count_in_a_set
INSERT INTO t (a) VALUES (1), (2), (3)
SET @f = ROW_COUNT()
SELECT @f
UPDATE t SET a = 1
DO 1
SELECT ROW_COUNT()
UPDATE t SET a = 5
SELECT ROW_COUNT()
SELECT ROW_COUNT()
# row_count_of_select_into
INSERT INTO t (a) VALUES (1)
SELECT a INTO @z FROM t LIMIT 1
SELECT ROW_COUNT()
SELECT @z
# temporary_then_drop
CREATE TEMPORARY TABLE tt (a INT)
INSERT INTO tt VALUES (1)
SELECT * FROM tt
DROP TABLE tt
SELECT * FROM tt
SHOW TABLES LIKE 'tt'
# temporary_in_a_routine
CREATE PROCEDURE mk() CREATE TEMPORARY TABLE tp (a INT)
CALL mk()
INSERT INTO tp VALUES (4)
SELECT * FROM tp
DROP TABLE tp
SELECT * FROM tp
DROP PROCEDURE mk
# temporary_as_select
INSERT INTO t (a) VALUES (1), (2)
CREATE TEMPORARY TABLE ts AS SELECT a FROM t
SELECT COUNT(*) FROM ts
CREATE TEMPORARY TABLE ts2 (a INT), ts3 (b INT)
DROP TEMPORARY TABLE IF EXISTS nothing, ts
SELECT COUNT(*) FROM ts
# temporary_in_a_comment
/*! CREATE TEMPORARY TABLE tc (a INT) */
INSERT INTO tc VALUES (1)
SELECT * FROM tc
# temporary_versioned_comment
/*!40000 CREATE TEMPORARY */ /*!99999 nothing */ TABLE tv (a INT)
INSERT INTO tv VALUES (1)
SELECT * FROM tv
# temporary_in_a_schema
CREATE TEMPORARY TABLE other.x (a INT)
INSERT INTO other.x VALUES (1)
USE: other
SELECT * FROM x
USE: test
DROP TABLE other.x
SELECT * FROM other.x
# temporary_same_name_dropped_once
CREATE TABLE p (a INT)
CREATE TEMPORARY TABLE p (b INT)
SHOW COLUMNS FROM p
DROP TABLE p
SHOW COLUMNS FROM p
DROP TABLE p
SHOW COLUMNS FROM p
# temporary_failed_drop
CREATE TEMPORARY TABLE a1 (a INT)
DROP TABLE a1, nothing
SELECT * FROM a1
# temporary_and_rollback
BEGIN
CREATE TEMPORARY TABLE r1 (a INT)
INSERT INTO r1 VALUES (1)
ROLLBACK
SELECT COUNT(*) FROM r1
DROP TEMPORARY TABLE r1
SELECT 1
# lock_tables_and_names
LOCK TABLES t WRITE, u READ
INSERT INTO t (a) VALUES (1)
SELECT COUNT(*) FROM u
INSERT INTO u VALUES (1)
SELECT * FROM information_schema.schemata WHERE schema_name = 'test'
UNLOCK TABLES
INSERT INTO u VALUES (1)
SELECT * FROM u
# lock_tables_and_commit
SET autocommit = 0
LOCK TABLES t WRITE
INSERT INTO t (a) VALUES (1)
COMMIT
INSERT INTO u VALUES (1)
UNLOCK TABLES
ROLLBACK
SELECT COUNT(*) FROM t
SET autocommit = 1
# lock_table_then_ddl
LOCK TABLES t WRITE
ALTER TABLE t ADD COLUMN z INT
SELECT COUNT(z) FROM t
SELECT * FROM u
UNLOCK TABLES
SELECT * FROM u
# get_lock_expr
SELECT GET_LOCK(CONCAT('a','b'), 1), IS_USED_LOCK('ab') = CONNECTION_ID()
SELECT RELEASE_LOCK('ab')
SELECT RELEASE_ALL_LOCKS()
SELECT IS_FREE_LOCK('ab')
# get_lock_in_where
INSERT INTO t (a) VALUES (1)
SELECT a FROM t WHERE GET_LOCK('w', 0)
SELECT IS_USED_LOCK('w') = CONNECTION_ID()
DO RELEASE_LOCK('w')
SELECT RELEASE_LOCK('w')
# get_lock_in_set
SET @l = GET_LOCK('v', 0)
SELECT IS_USED_LOCK('v') = CONNECTION_ID()
SELECT RELEASE_LOCK('v'), RELEASE_LOCK('v')
# flush_named
FLUSH TABLES t WITH READ LOCK
SELECT COUNT(*) FROM t
INSERT INTO t (a) VALUES (1)
UNLOCK TABLES
INSERT INTO t (a) VALUES (1)
# savepoints_everywhere
SAVEPOINT s
ROLLBACK TO s
BEGIN
INSERT INTO t (a) VALUES (1)
SAVEPOINT s
INSERT INTO t (a) VALUES (2)
ROLLBACK TO SAVEPOINT s
RELEASE SAVEPOINT s
ROLLBACK TO s
COMMIT
SELECT a FROM t
# set_transaction_then_error
SET TRANSACTION ISOLATION LEVEL SERIALIZABLE
SELECT * FROM missing
SELECT 1
SET TRANSACTION READ ONLY
INSERT INTO t (a) VALUES (1)
INSERT INTO t (a) VALUES (2)
SELECT a FROM t
# set_transaction_then_begin
SET TRANSACTION READ ONLY
BEGIN
INSERT INTO t (a) VALUES (1)
COMMIT
INSERT INTO t (a) VALUES (2)
BEGIN
INSERT INTO t (a) VALUES (3)
COMMIT
SELECT a FROM t
# set_transaction_twice
SET TRANSACTION READ ONLY
SET TRANSACTION READ WRITE
BEGIN
INSERT INTO t (a) VALUES (1)
COMMIT
SELECT a FROM t
# set_transaction_autocommit_off
SET autocommit = 0
SET TRANSACTION READ ONLY
SELECT COUNT(*) FROM t
INSERT INTO t (a) VALUES (1)
COMMIT
INSERT INTO t (a) VALUES (1)
COMMIT
SELECT COUNT(*) FROM t
# session_transaction_then_next
SET SESSION TRANSACTION READ ONLY
INSERT INTO t (a) VALUES (1)
SET TRANSACTION READ WRITE
INSERT INTO t (a) VALUES (2)
INSERT INTO t (a) VALUES (3)
SET SESSION TRANSACTION READ WRITE
SELECT a FROM t
# start_read_only
START TRANSACTION READ ONLY
INSERT INTO t (a) VALUES (1)
COMMIT
START TRANSACTION READ WRITE
INSERT INTO t (a) VALUES (1)
COMMIT
SELECT a FROM t
# set_role
SET ROLE NONE
SELECT CURRENT_ROLE()
SET ROLE nothing
SELECT CURRENT_ROLE()
SET DEFAULT ROLE NONE
# last_insert_id_expr
INSERT INTO t (a) VALUES (1)
SELECT LAST_INSERT_ID(17)
SELECT LAST_INSERT_ID()
SELECT LAST_INSERT_ID()
UPDATE t SET a = LAST_INSERT_ID(a + 5)
SELECT LAST_INSERT_ID()
INSERT INTO t (a) VALUES (9)
SELECT LAST_INSERT_ID()
# last_insert_id_duplicate_expr
INSERT INTO t (id, a) VALUES (5, 1)
INSERT INTO t (id, a) VALUES (5, 1) ON DUPLICATE KEY UPDATE id = LAST_INSERT_ID(id), a = 2
SELECT LAST_INSERT_ID()
SELECT LAST_INSERT_ID()
# last_insert_id_of_a_negative_number
CREATE TABLE n (id INT AUTO_INCREMENT PRIMARY KEY, a INT) AUTO_INCREMENT = 70
INSERT INTO n (a) VALUES (1)
INSERT INTO n (id, a) VALUES (-5, 2)
SELECT LAST_INSERT_ID()
SELECT LAST_INSERT_ID(), @@last_insert_id
INSERT INTO n VALUES (- 6, 3)
SELECT LAST_INSERT_ID()
INSERT INTO n (a) VALUES (4)
SELECT LAST_INSERT_ID(), (SELECT MAX(id) FROM n)
# last_insert_id_of_a_trigger
CREATE TABLE l (id INT AUTO_INCREMENT PRIMARY KEY, a INT) AUTO_INCREMENT = 50
CREATE TRIGGER tr AFTER INSERT ON t FOR EACH ROW INSERT INTO l (a) VALUES (NEW.a)
INSERT INTO t (a) VALUES (1)
SELECT LAST_INSERT_ID()
INSERT INTO l (a) VALUES (2)
SELECT LAST_INSERT_ID(), @@last_insert_id, @@identity
# last_insert_id_of_a_procedure
CREATE PROCEDURE ins() INSERT INTO t (a) VALUES (1)
CALL ins()
SELECT LAST_INSERT_ID()
SELECT LAST_INSERT_ID()
DROP PROCEDURE ins
# last_insert_id_of_a_function
CREATE FUNCTION f() RETURNS INT NOT DETERMINISTIC MODIFIES SQL DATA BEGIN INSERT INTO t (a) VALUES (8); RETURN 1; END
SELECT f()
SELECT LAST_INSERT_ID()
SELECT f(), LAST_INSERT_ID()
SELECT COUNT(*) FROM t
# last_insert_id_multi_insert
INSERT INTO t (a) VALUES (1), (2), (3)
INSERT INTO u SELECT LAST_INSERT_ID()
SELECT a FROM u
INSERT IGNORE INTO t (id, a) VALUES (1, 1)
SELECT LAST_INSERT_ID()
REPLACE INTO t (a) VALUES (7)
SELECT LAST_INSERT_ID()
# insert_select_keeps
INSERT INTO t (a) VALUES (1)
INSERT INTO u VALUES (1)
SELECT LAST_INSERT_ID()
DELETE FROM u
SELECT LAST_INSERT_ID(), ROW_COUNT()
# handler_twice
INSERT INTO t (a) VALUES (1), (2)
HANDLER t OPEN AS h
HANDLER h READ FIRST
HANDLER h READ NEXT
HANDLER h CLOSE
HANDLER h READ FIRST
SELECT 1
# begin_not_atomic
MARIADB: BEGIN NOT ATOMIC SET @a = 4; SET time_zone = '+04:00'; END
SELECT @a, @@time_zone
SELECT @a, @@time_zone
# begin_not_atomic_temporary
MARIADB: BEGIN NOT ATOMIC CREATE TEMPORARY TABLE na (a INT); START TRANSACTION; INSERT INTO t (a) VALUES (1); END
MARIADB: SELECT * FROM na
MARIADB: ROLLBACK
SELECT COUNT(*) FROM t
# procedure_changes_state
CREATE PROCEDURE ch() BEGIN SET time_zone = '+05:00'; SET sql_mode = 'ANSI_QUOTES'; SET autocommit = 0; END
CALL ch()
SELECT @@time_zone, @@sql_mode, @@autocommit
INSERT INTO t (a) VALUES (1)
ROLLBACK
SELECT COUNT(*) FROM t
# procedure_with_results
CREATE PROCEDURE two() BEGIN SELECT 1; SELECT 2, 'x'; END
CALL two()
SELECT 3
# procedure_out
CREATE PROCEDURE o(OUT x INT) SET x = 42
CALL o(@x)
SELECT @x
SELECT @x
# procedure_transaction
CREATE PROCEDURE bt() BEGIN START TRANSACTION; INSERT INTO t (a) VALUES (5); END
CALL bt()
SELECT COUNT(*) FROM t
ROLLBACK
SELECT COUNT(*) FROM t
# function_sets_variable
CREATE FUNCTION sv() RETURNS INT DETERMINISTIC BEGIN SET @fv = 12; RETURN 1; END
SELECT sv()
SELECT @fv
SELECT @fv
# function_get_lock
CREATE FUNCTION gl() RETURNS INT NOT DETERMINISTIC READS SQL DATA RETURN GET_LOCK('fl', 0)
SELECT gl()
SELECT IS_USED_LOCK('fl') = CONNECTION_ID()
# view_last_insert_id
CREATE VIEW v AS SELECT LAST_INSERT_ID() AS id
INSERT INTO t (a) VALUES (1)
SELECT * FROM v
SELECT * FROM v
# trigger_sets_variable
CREATE TRIGGER tg BEFORE INSERT ON t FOR EACH ROW SET @tg = NEW.a
INSERT INTO t (a) VALUES (77)
SELECT @tg
SELECT @tg
# trigger_reads_variable
CREATE TRIGGER tg BEFORE INSERT ON t FOR EACH ROW SET NEW.b = @who
SET @who = 'ann'
INSERT INTO t (a) VALUES (1)
SELECT b FROM t
SET @who = 'bob'
INSERT INTO t (a) VALUES (2)
SELECT b FROM t
# set_names_variants
SET NAMES 'latin1'
SELECT @@character_set_client, @@collation_connection, CHARSET('x')
SET NAMES utf8mb4 COLLATE utf8mb4_bin
SELECT @@collation_connection, 'a' = 'A'
SET NAMES DEFAULT
SELECT @@character_set_client, @@character_set_results, @@collation_connection
SET CHARACTER SET utf8mb4
SELECT @@character_set_connection, @@collation_connection
SET CHARACTER SET DEFAULT
SELECT @@character_set_connection, @@character_set_results
# set_names_in_variables
SET @cs = 'latin1'
SET character_set_results = @cs
SELECT @@character_set_results
SET collation_connection = utf8mb4_general_ci
SELECT @@collation_connection, COLLATION('x')
SET character_set_client = latin1, character_set_results = utf8mb4
SELECT 'é', LENGTH('é')
# collation_database
SELECT @@collation_database
ALTER DATABASE test COLLATE latin1_swedish_ci
SELECT @@collation_database, @@character_set_database
USE: test
SELECT @@collation_database, @@character_set_database
SELECT @@collation_database, @@character_set_database
# altered_schema
SELECT 1
ALTER DATABASE test CHARACTER SET latin1
CREATE TABLE altered (a VARCHAR(3))
SELECT table_collation FROM information_schema.tables WHERE table_schema = 'test' AND table_name = 'altered'
DROP TABLE altered
ALTER SCHEMA DEFAULT CHARACTER SET = utf8mb4
CREATE TABLE altered (a VARCHAR(3))
SELECT table_collation FROM information_schema.tables WHERE table_schema = 'test' AND table_name = 'altered'
DROP TABLE altered
# gbk
SET NAMES gbk
SELECT HEX('a'), @@character_set_client
SET @g = 'x'
SELECT @g, CHARSET(@g)
SET NAMES utf8mb4
SELECT CHARSET(@g)
# set_expressions
SET @a = 1 + 2, @b = NOW() IS NOT NULL, @c = (SELECT 5)
SELECT @a, @b, @c
SET @d = @a * 2
SELECT @d, @a
SET group_concat_max_len = 4 * 1024
SELECT @@group_concat_max_len
SET group_concat_max_len = (SELECT 2048)
SELECT @@group_concat_max_len
# set_with_if
SET @a = IF(@@sql_mode = '', 1, 2), @b = IFNULL(@nothing, 'd')
SELECT @a, @b
SET sql_mode = IF(1, 'PIPES_AS_CONCAT', '')
SELECT 'a' || 'b'
# set_replace
SET sql_mode = REPLACE(@@sql_mode, 'ONLY_FULL_GROUP_BY', '')
SELECT @@sql_mode
SELECT @@sql_mode
SET SESSION sql_mode = (SELECT REPLACE(@@sql_mode, 'STRICT_TRANS_TABLES', ''))
SELECT @@sql_mode
# set_sys_from_sys
SET lock_wait_timeout = @@wait_timeout
SELECT @@lock_wait_timeout
SET @w = @@session.wait_timeout + 0
SELECT @w
# set_mixed_global
SET GLOBAL nothing = 1, @a = 5
SELECT @a
SET @a = 6, GLOBAL nothing = 1
SELECT @a
# set_partial_failure
SET @a = 1, nothing = 2
SELECT @a
SET time_zone = '+01:00', sql_mode = 'BAD'
SELECT @@time_zone
SET autocommit = 0, nothing = 1
SELECT @@autocommit
SET @z = 1, @y = (SELECT a FROM t UNION SELECT 1 UNION SELECT 2)
SELECT @z IS NULL, @y IS NULL
# autocommit_off_everything
SET autocommit = 0
INSERT INTO t (a) VALUES (1)
SET @a = 5
SET time_zone = '+02:00'
SELECT @a, @@time_zone
USE: other
USE: test
ROLLBACK
SELECT COUNT(*) FROM t
INSERT INTO t (a) VALUES (2)
SET autocommit = 1
ROLLBACK
SELECT a FROM t
# autocommit_off_variable_rollback
SET autocommit = 0
INSERT INTO t (a) VALUES (1)
SET @a = 5, time_zone = '+02:00'
ROLLBACK
SELECT @a, @@time_zone, @@autocommit
COMMIT
SELECT @a, @@time_zone, @@autocommit
# set_inside_transaction_and_rollback
BEGIN
SET sql_mode = 'PIPES_AS_CONCAT', @a = 3, NAMES latin1
SET NAMES latin1
INSERT INTO t (a) VALUES (1)
ROLLBACK
SELECT @@sql_mode, @a, @@character_set_client
SELECT 'a' || 'b'
# set_autocommit_in_transaction
BEGIN
INSERT INTO t (a) VALUES (1)
SET autocommit = 1
ROLLBACK
SELECT COUNT(*) FROM t
BEGIN
INSERT INTO t (a) VALUES (1)
SET autocommit = 0
ROLLBACK
SELECT COUNT(*) FROM t
# implicit_commit_list
BEGIN
INSERT INTO t (a) VALUES (1)
CREATE INDEX i ON t (a)
ROLLBACK
SELECT COUNT(*) FROM t
BEGIN
INSERT INTO t (a) VALUES (1)
ANALYZE TABLE t
ROLLBACK
SELECT COUNT(*) FROM t
BEGIN
INSERT INTO t (a) VALUES (1)
SET PASSWORD = 'app'
ROLLBACK
SELECT COUNT(*) FROM t
BEGIN
INSERT INTO t (a) VALUES (1)
LOCK TABLES t READ
ROLLBACK
UNLOCK TABLES
SELECT COUNT(*) FROM t
# commit_chain
BEGIN
INSERT INTO t (a) VALUES (1)
COMMIT AND CHAIN
INSERT INTO t (a) VALUES (2)
ROLLBACK
SELECT a FROM t
# completion_type_chain
SET completion_type = 'CHAIN'
BEGIN
INSERT INTO t (a) VALUES (1)
COMMIT
INSERT INTO t (a) VALUES (2)
ROLLBACK
SELECT a FROM t
COMMIT NO CHAIN
# xa_prepared_elsewhere
XA START 'e2'
INSERT INTO t (a) VALUES (1)
XA END 'e2'
XA PREPARE 'e2'
XA ROLLBACK 'e2'
SELECT COUNT(*) FROM t
XA START 'e3'
XA END 'e3'
XA COMMIT 'e3' ONE PHASE
SELECT 1
# multi_statements_state
SET @a = 1; SET @b = 2; SELECT @a, @b
SELECT @a, @b
CREATE TEMPORARY TABLE mt (a INT); INSERT INTO mt VALUES (1)
SELECT * FROM mt
BEGIN; INSERT INTO t (a) VALUES (1)
ROLLBACK
SELECT COUNT(*) FROM t
# multi_statements_error
SET @a = 1; SELECT * FROM missing; SET @a = 2
SELECT @a
# comment_forms
SET/**/@a/**/=/**/9
SELECT @a
/* x */ SET # y
SELECT @a
SET -- hidden
SELECT @a
/*!50000 SET @c = 8 */
SELECT @c
/*M! SET @d = 8 */
SELECT @d
/*!99999 SET @e = 8 */
SELECT @e
# select_into_list
SELECT 1, 'x' INTO @i, @j
SELECT @i, @j
INSERT INTO t (a) VALUES (6)
SELECT a, id INTO @i, @j FROM t LIMIT 1
SELECT @i, @j
# assign_in_update
INSERT INTO t (a) VALUES (6), (7)
UPDATE t SET a = (@q := a + 1)
SELECT @q
DELETE FROM t WHERE (@cnt := IFNULL(@cnt, 0) + 1) > 1
SELECT @cnt
# rand_with_seed
SET rand_seed1 = 5, rand_seed2 = 7
SELECT RAND()
SELECT RAND()
# pseudo
SELECT @@pseudo_thread_id = CONNECTION_ID()
SELECT CONNECTION_ID() = CONNECTION_ID()
# timestamp_var
SET timestamp = 1000000000
SELECT NOW(), UNIX_TIMESTAMP()
SET time_zone = '+00:00'
SELECT NOW(), UNIX_TIMESTAMP()
SET timestamp = DEFAULT
SELECT YEAR(NOW()) > 2020
# insert_id_var
SET insert_id = 40
INSERT INTO t (a) VALUES (1)
INSERT INTO t (a) VALUES (2)
SELECT id FROM t
# sql_select_limit_zero
INSERT INTO t (a) VALUES (1), (2), (3)
SET sql_select_limit = 1
SELECT a FROM t
SELECT a FROM t ORDER BY a DESC
SET sql_select_limit = DEFAULT
SELECT a FROM t
# max_join
SET sql_big_selects = 0, max_join_size = 1
INSERT INTO t (a) VALUES (1), (2), (3)
SELECT x.a FROM t x, t y, t z
SET sql_big_selects = 1
SELECT COUNT(*) FROM t x, t y, t z
# auto_is_null
SET sql_auto_is_null = 1
INSERT INTO t (a) VALUES (3)
SELECT id, a FROM t WHERE id IS NULL
SELECT id, a FROM t WHERE id IS NULL
# div_zero_modes
SET sql_mode = 'ERROR_FOR_DIVISION_BY_ZERO,STRICT_ALL_TABLES'
INSERT INTO t (a) VALUES (1/0)
SET sql_mode = ''
INSERT INTO t (a) VALUES (1/0)
SELECT a FROM t
# tracked_by_name_case
SET SESSION SQL_MODE = 'pipes_as_concat'
SELECT 'a' || 'b', @@SQL_Mode
SET @@SESSION.`sql_mode` = ''
SELECT 'a' || 'b'
# tx_names
MARIADB: SET tx_isolation = 'READ-COMMITTED'
MARIADB: SELECT @@tx_isolation
MYSQL: SET transaction_isolation = 'READ-COMMITTED'
MYSQL: SELECT @@transaction_isolation
SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ
MARIADB: SELECT @@tx_isolation
MYSQL: SELECT @@transaction_isolation
# next_tx_variable
MARIADB: SET @@tx_read_only = 1
MYSQL: SET @@transaction_read_only = 1
INSERT INTO t (a) VALUES (1)
INSERT INTO t (a) VALUES (2)
SELECT a FROM t
# set_names_then_nothing
SET NAMES latin1; SELECT 'é'
SELECT @@character_set_client
# resignal
SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'mine', MYSQL_ERRNO = 3001
SHOW WARNINGS
SHOW ERRORS
GET DIAGNOSTICS CONDITION 1 @m = MESSAGE_TEXT
SELECT @m
# explain_and_warnings
EXPLAIN SELECT * FROM t
SHOW WARNINGS
SELECT @@warning_count
# desc_in_temp
CREATE TEMPORARY TABLE dt (a INT)
DESCRIBE dt
SHOW CREATE TABLE dt
DROP TABLE dt
# user_variable_with_dots
SET @a.b = 5
SELECT @a.b
SELECT @a.b, @a
# user_variable_unicode
SET @`é` = 5
SELECT @`é`
SET @É = 6
SELECT @`é`, @É
# trailing_spaces_variable
SET @`a ` = 5
SELECT @`a `, @a
# use_in_text
USE other
SELECT DATABASE()
SELECT DATABASE()
USE `test`;
SELECT DATABASE()
use other -- back
SELECT DATABASE()
/*!USE test*/
SELECT DATABASE()
SELECT DATABASE()
# drop_own_schema
CREATE DATABASE mine
USE: mine
SELECT DATABASE()
DROP DATABASE mine
SELECT DATABASE()
SELECT DATABASE()
USE: test
SELECT DATABASE()
# found_rows_named
INSERT INTO t (a) VALUES (1), (2), (3)
SELECT a FROM t
SELECT FOUND_ROWS() AS n
SELECT FOUND_ROWS() n
SELECT a FROM t LIMIT 2
SELECT found_rows() AS n, 'x'
SELECT a FROM t LIMIT 2
SELECT 'x', found_rows()
SELECT a FROM t LIMIT 2
SELECT 1, found_rows() FROM u
MARIADB: SELECT FOUND_ROWS()
# row_count_named
INSERT INTO t (a) VALUES (1), (2), (3)
SELECT ROW_COUNT() AS n
SELECT ROW_COUNT() AS n, FOUND_ROWS()
UPDATE t SET a = 9 WHERE a < 3
SELECT LAST_INSERT_ID(), ROW_COUNT(), 5 AS five
UPDATE t SET a = 10 WHERE a = 9
SELECT id FROM t WHERE ROW_COUNT() = 2 AND id = LAST_INSERT_ID()
UPDATE t SET a = 11
INSERT INTO u VALUES (ROW_COUNT())
SELECT a FROM u
# row_count_in_a_transaction
BEGIN
INSERT INTO t (a) VALUES (1), (2), (3)
SET @r = ROW_COUNT()
SELECT @r, ROW_COUNT()
UPDATE t SET a = 5
SELECT ROW_COUNT() AS n
COMMIT
SELECT ROW_COUNT() AS n
# row_count_after_local
UPDATE t SET a = 5
SET @a = 1
SELECT ROW_COUNT() AS n
INSERT INTO t (a) VALUES (1), (2)
SET @b = ROW_COUNT(), @c = 'x'
SELECT @b, @c
# procedure_reads_insert_id
CREATE PROCEDURE rd() SELECT LAST_INSERT_ID() AS id
INSERT INTO t (a) VALUES (1)
CALL rd()
INSERT INTO t (a) VALUES (1)
CALL rd()
SELECT LAST_INSERT_ID()
DROP PROCEDURE rd
# prepared_text_reads_insert_id
INSERT INTO t (a) VALUES (1), (2)
PREPARE s FROM 'SELECT LAST_INSERT_ID()'
EXECUTE s
INSERT INTO t (a) VALUES (3)
EXECUTE s
DEALLOCATE PREPARE s
SELECT LAST_INSERT_ID()
# procedure_row_count
CREATE PROCEDURE up() UPDATE t SET a = a + 1
INSERT INTO t (a) VALUES (1), (2)
CALL up()
SELECT ROW_COUNT()
CALL up()
SELECT ROW_COUNT() AS n
# procedure_out_transaction
CREATE PROCEDURE p2() BEGIN DECLARE EXIT HANDLER FOR SQLEXCEPTION ROLLBACK; START TRANSACTION; INSERT INTO t (a) VALUES (1); INSERT INTO missing VALUES (1); COMMIT; END
CALL p2()
SELECT COUNT(*) FROM t
SHOW WARNINGS
# cursor_like_limit
SET @lim = 2
INSERT INTO t (a) VALUES (1), (2), (3)
PREPARE s FROM 'SELECT a FROM t LIMIT ?'
EXECUTE s USING @lim
DROP PREPARE s
# user_variables_in_order_by
INSERT INTO t (a) VALUES (3), (1), (2)
SET @r = 0
SELECT @r := @r + 1 AS r, a FROM t ORDER BY a
SELECT @r
SET @r = 100
SELECT @r
# user_variable_in_derived
INSERT INTO t (a) VALUES (3), (1)
SELECT * FROM (SELECT @k := 5) x, t
SELECT @k
# load_into_variable
SET @s = CONCAT('a', 'b')
SELECT @s, CHARSET(@s)
SET @j = JSON_OBJECT('k', 1)
SELECT @j
# set_session_list
SET SESSION sql_mode = '', SESSION time_zone = '+00:00', @a = 5, LOCAL lock_wait_timeout = 5
SELECT @@sql_mode, @@time_zone, @a, @@lock_wait_timeout
# set_scoped_carry
SET GLOBAL max_connections = @@max_connections, time_zone = '+09:00'
SELECT @@time_zone
SET SESSION time_zone = '+08:00', lock_wait_timeout = 6
SELECT @@time_zone, @@lock_wait_timeout
# set_string_numbers
SET autocommit = '0'
SELECT @@autocommit
SET autocommit = 'ON'
SELECT @@autocommit
SET autocommit = OFF
SELECT @@autocommit
SET @@session.autocommit := TRUE
SELECT @@autocommit
SET autocommit = 2
SELECT @@autocommit
SET autocommit = @nothing
SELECT @@autocommit
SET autocommit = DEFAULT
SELECT @@autocommit
# autocommit_in_text
SET autocommit = 0; INSERT INTO t (a) VALUES (1)
ROLLBACK
SELECT COUNT(*), @@autocommit FROM t
# set_names_in_transaction
BEGIN
SELECT COUNT(*) FROM t
SET NAMES latin1
SELECT @@character_set_client
COMMIT
SELECT @@character_set_client
# select_for_update_outside
INSERT INTO t (a) VALUES (1)
SELECT a FROM t FOR UPDATE
UPDATE t SET a = 2
SELECT a FROM t LOCK IN SHARE MODE
# union_variable
SELECT 1 UNION SELECT @@sql_mode IS NULL
SELECT @a IS NULL UNION SELECT 2
# insert_returning
MARIADB: INSERT INTO t (a) VALUES (1), (2) RETURNING id, a
SELECT ROW_COUNT()
MARIADB: DELETE FROM t RETURNING a
SELECT ROW_COUNT()
# on_duplicate_counts
INSERT INTO t (id, a) VALUES (1, 1)
INSERT INTO t (id, a) VALUES (1, 1) ON DUPLICATE KEY UPDATE a = 2
SELECT ROW_COUNT()
INSERT INTO t (id, a) VALUES (1, 1) ON DUPLICATE KEY UPDATE a = 2
SELECT ROW_COUNT()
REPLACE INTO t (id, a) VALUES (1, 5)
SELECT ROW_COUNT() AS n
# failed_insert_id
INSERT INTO t (a) VALUES (1)
INSERT INTO t (id) VALUES (1)
SELECT LAST_INSERT_ID()
SELECT @@last_insert_id
INSERT INTO missing VALUES (1)
SELECT LAST_INSERT_ID(), ROW_COUNT()
# insert_ignore_warnings
INSERT INTO t (id, a) VALUES (1, 1)
INSERT IGNORE INTO t (id, a) VALUES (1, 1), (2, 2)
SHOW WARNINGS
SELECT ROW_COUNT()
SHOW COUNT(*) ERRORS
# warnings_asked_late
SELECT CAST('1x' AS SIGNED)
SELECT 5 FROM t
SHOW WARNINGS
MYSQL: SELECT CAST('1x' AS SIGNED)
MYSQL: USE: other
MYSQL: SHOW WARNINGS
MYSQL: SELECT CAST('1x' AS SIGNED)
MYSQL: BEGIN
MYSQL: SHOW WARNINGS
MYSQL: COMMIT
# error_then_show
SELECT * FROM missing
SHOW WARNINGS
SHOW ERRORS
SELECT @@error_count
SHOW ERRORS
# max_error_count
SET max_error_count = 1
SELECT CAST('x' AS SIGNED), CAST('y' AS SIGNED)
SHOW WARNINGS
SELECT @@warning_count
# prepared_last
SELECT LAST_INSERT_ID()
# sequences_more
MARIADB: CREATE SEQUENCE sq
MARIADB: SELECT NEXTVAL(sq)
MARIADB: SELECT LASTVAL(sq), NEXT VALUE FOR sq, PREVIOUS VALUE FOR sq
MARIADB: SELECT LASTVAL(sq)
# default_values_from_session
CREATE TABLE dflt (a INT, ts TIMESTAMP DEFAULT CURRENT_TIMESTAMP)
SET timestamp = 1000000000, time_zone = '+00:00'
INSERT INTO dflt (a) VALUES (1)
SELECT ts FROM dflt
SET timestamp = 0
SELECT ts FROM dflt
# old_charset_restore
SET @OLD_CS=@@CHARACTER_SET_CLIENT, NAMES utf8mb4
SET @OLD_CS = @@CHARACTER_SET_CLIENT
SET NAMES latin1
SET CHARACTER_SET_CLIENT = @OLD_CS
SELECT @@character_set_client, @@character_set_results
# mysqldump_head
/*!40101 SET @OLD_CHARACTER_SET_CLIENT=@@CHARACTER_SET_CLIENT */;
/*!40103 SET @OLD_TIME_ZONE=@@TIME_ZONE */;
/*!40103 SET TIME_ZONE='+00:00' */;
/*!40014 SET @OLD_UNIQUE_CHECKS=@@UNIQUE_CHECKS, UNIQUE_CHECKS=0 */;
/*!40111 SET @OLD_SQL_NOTES=@@SQL_NOTES, SQL_NOTES=0 */;
SELECT @@time_zone, @@unique_checks, @@sql_notes, @OLD_TIME_ZONE, @OLD_UNIQUE_CHECKS
/*!40103 SET TIME_ZONE=@OLD_TIME_ZONE */;
/*!40014 SET UNIQUE_CHECKS=@OLD_UNIQUE_CHECKS */;
/*!40111 SET SQL_NOTES=@OLD_SQL_NOTES */;
SELECT @@time_zone, @@unique_checks, @@sql_notes
# lower_ambiguous
SET @a=1,@`b`=2,@"c"=3,@'d'=4
SELECT @a,@b,@c,@d
# json_operator
SELECT '@a', "@b", `id` FROM t WHERE b = '@c'
# explicit_temp_rename
CREATE TEMPORARY TABLE r (a INT)
ALTER TABLE r RENAME TO r2
INSERT INTO r2 VALUES (1)
DROP TABLE r2
SELECT * FROM r2
SELECT * FROM r
# view_over_temporary_like
CREATE TEMPORARY TABLE q LIKE t
INSERT INTO q (a) VALUES (1)
SELECT LAST_INSERT_ID()
TRUNCATE TABLE q
SELECT COUNT(*) FROM q
DROP TEMPORARY TABLE q
SELECT LAST_INSERT_ID()
# read_only_session_with_locks
START TRANSACTION READ ONLY
SELECT GET_LOCK('ro', 0)
COMMIT
SELECT IS_USED_LOCK('ro') = CONNECTION_ID()
SELECT RELEASE_LOCK('ro')
# named_statements_end
PREPARE s FROM 'SELECT a, b FROM t WHERE a > ? ORDER BY a LIMIT 2'
SET @p = 0
EXECUTE s USING @p
PREPARE S FROM 'SELECT COUNT(*) FROM t'
EXECUTE s
DEALLOCATE PREPARE s
SELECT ROW_COUNT()
EXECUTE s
PREPARE i FROM 'INSERT INTO t (b) VALUES (7)'
EXECUTE i
SELECT ROW_COUNT(), LAST_INSERT_ID()
DROP PREPARE i
SELECT LAST_INSERT_ID()
EXECUTE i
# named_statements_that_do_more
PREPARE s FROM 'SELECT 1'
PREPARE u FROM 'SET @kept = 5'
EXECUTE u
DEALLOCATE PREPARE u
DEALLOCATE PREPARE s
SELECT @kept
# named_statement_with_a_function
CREATE FUNCTION f() RETURNS INT DETERMINISTIC BEGIN SET @in_f = 6; RETURN 1; END
PREPARE s FROM 'SELECT f()'
EXECUTE s
DEALLOCATE PREPARE s
SELECT @in_f
# ansi_names_everywhere
SET sql_mode = 'ANSI,TRADITIONAL'
CREATE TEMPORARY TABLE "m t" ("a b" INT)
INSERT INTO "m t" VALUES (1), (2)
SELECT "a b" FROM "m t" WHERE "a b" > 1
SELECT ROW_COUNT(), "a b" FROM "m t"
SELECT FOUND_ROWS()
DROP TEMPORARY TABLE "m t"
SELECT "m t"."a b" FROM "m t"
SELECT @@sql_mode
SELECT '"' AS "q"
# ansi_schema
SET sql_mode = 'ANSI_QUOTES'
USE "other"
SELECT DATABASE()
USE "test"
SELECT DATABASE()
USE 'other'
SELECT DATABASE()
# ansi_locks
SET sql_mode = CONCAT(@@sql_mode, ',ANSI_QUOTES')
SELECT GET_LOCK("l", 1)
SELECT GET_LOCK('l', 1) AS "RELEASE_LOCK('l')"
SELECT IS_FREE_LOCK('l')
SELECT RELEASE_LOCK('l') AS "GET_LOCK('l', 1)"
SELECT IS_FREE_LOCK('l')
# ansi_variables
SET sql_mode = 'ANSI_QUOTES'
SET @"v w" = 5
SELECT @"v w"
SELECT @n := id AS "@a" FROM t
SELECT @a
SET @s = 'it is "so"'
SELECT @s, @S = 'it is "so"'
SET @s = "so"
SELECT @s
# ansi_prepared
SET sql_mode = 'ANSI_QUOTES'
INSERT INTO t (a, b) VALUES (1, 'x'), (2, 'y')
EXEC [1]: SELECT "b" FROM "t" WHERE "a" = ?
SET sql_mode = ''
EXEC [2]: SELECT "b" FROM "t" WHERE "a" = ?
EXEC [2]: SELECT "b", a FROM t WHERE a = ?
SET sql_mode = 'ANSI_QUOTES'
EXEC [2]: SELECT "b", a FROM t WHERE a = ?
EXEC: SET @p = "t"
PREPARE "s s" FROM 'SELECT 7'
EXECUTE "s s"
DEALLOCATE PREPARE "s s"
EXECUTE "s s"
# backslash_is_itself
SET sql_mode = 'NO_BACKSLASH_ESCAPES'
SELECT '\', SLEEP(0), GET_LOCK('b\', 1), '\'
SELECT IS_FREE_LOCK('b\')
SELECT RELEASE_LOCK('b\')
INSERT INTO t (b) VALUES ('\'), ('\n')
SELECT b, LENGTH(b), ROW_COUNT() FROM t WHERE b LIKE '%\%' ORDER BY id
SET @b = 'x\', @c = 1
SELECT @b, @c
SET sql_mode = DEFAULT
SELECT LENGTH('\''), @b
# both_modes_and_back
SET sql_mode = 'ANSI_QUOTES,NO_BACKSLASH_ESCAPES'
SELECT '\' AS "\", "id" FROM t
SET @old = @@sql_mode, sql_mode = ''
SELECT "id\"" FROM t
SET sql_mode = @old
SELECT '\' AS "\", "id" FROM t
SET sql_mode = REPLACE(@@sql_mode, 'ANSI_QUOTES', '')
SELECT "id", '\' FROM t
RESET:
SELECT "x\""
# oracle_mode
MARIADB: SET sql_mode = 'ORACLE'
MARIADB: BEGIN SELECT 5; END
MARIADB: SELECT "id" FROM t
SELECT @@sql_mode
# mode_by_number
SET sql_mode = 4
SELECT "id" FROM t
SELECT @@sql_mode
# results_in_utf16
SET character_set_results = utf16
MARIADB: INSERT INTO t (a) VALUES (1) RETURNING id
MYSQL: INSERT INTO t (a) VALUES (1)
SELECT LAST_INSERT_ID()
INSERT INTO u VALUES (1), (2)
SELECT ROW_COUNT()
RESET:
SELECT a FROM u
# warnings_of_others_in_a_transaction
BEGIN
SHOW WARNINGS
ROLLBACK
# warnings_of_others_behind_a_lock
SELECT GET_LOCK('mine', 0)
SHOW COUNT(*) WARNINGS
SELECT @@warning_count
GET DIAGNOSTICS @number = NUMBER
SELECT @number
# last_insert_id_among_variables
SHOW VARIABLES LIKE 'last_insert_id'
INSERT INTO t (a) VALUES (1)
SHOW SESSION VARIABLES LIKE 'identity'
MARIADB: SELECT VARIABLE_VALUE FROM information_schema.SESSION_VARIABLES WHERE VARIABLE_NAME = 'LAST_INSERT_ID'
MYSQL: SELECT VARIABLE_VALUE FROM performance_schema.session_variables WHERE VARIABLE_NAME = 'last_insert_id'
# temporary_table_prepared_in_another_schema
EXEC: CREATE TEMPORARY TABLE IF NOT EXISTS u (a INT)
DROP TABLE u
USE: other
EXEC: CREATE TEMPORARY TABLE IF NOT EXISTS u (a INT)
CREATE TABLE u (a INT)
DROP TABLE u
SHOW CREATE TABLE test.u
SELECT COUNT(*) FROM test.u
# schema_beyond_ascii
CREATE DATABASE IF NOT EXISTS `café`
CREATE TABLE IF NOT EXISTS `café`.v (a INT)
USE `café`
SELECT DATABASE(), COUNT(*) FROM v
SET NAMES latin1
SELECT COUNT(*) FROM v
SET NAMES utf8mb4
SELECT DATABASE(), COUNT(*) FROM v
RESET:
SELECT DATABASE()
DROP DATABASE `café`
USE: test
