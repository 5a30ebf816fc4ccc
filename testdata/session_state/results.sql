# last_insert_id
INSERT INTO t (a) VALUES (1)
SELECT LAST_INSERT_ID()
SELECT LAST_INSERT_ID()
INSERT INTO t (a) VALUES (2), (3)
SELECT LAST_INSERT_ID()
SELECT 1
SELECT LAST_INSERT_ID()
# last_insert_id_none
SELECT LAST_INSERT_ID()
SELECT LAST_INSERT_ID() = 0
# last_insert_id_in_a_statement
INSERT INTO t (a) VALUES (1)
INSERT INTO t (a) VALUES (LAST_INSERT_ID())
SELECT a FROM t ORDER BY id
UPDATE t SET a = LAST_INSERT_ID() + 10 WHERE id = LAST_INSERT_ID()
SELECT a FROM t ORDER BY id
# last_insert_id_given
INSERT INTO t (id, a) VALUES (1, 5)
UPDATE t SET a = LAST_INSERT_ID(a + 1)
SELECT LAST_INSERT_ID()
SELECT LAST_INSERT_ID()
# last_insert_id_given_in_select
SELECT LAST_INSERT_ID(42)
SELECT LAST_INSERT_ID()
SELECT LAST_INSERT_ID()
# last_insert_id_on_duplicate
INSERT INTO t (id, a) VALUES (7, 1)
INSERT INTO t (id, a) VALUES (7, 2) ON DUPLICATE KEY UPDATE id = LAST_INSERT_ID(id), a = 3
SELECT LAST_INSERT_ID()
SELECT a FROM t
# last_insert_id_after_an_error
INSERT INTO t (a) VALUES (1)
INSERT INTO t (id, a) VALUES (1, 2)
SELECT LAST_INSERT_ID()
# last_insert_id_after_returning
INSERT INTO t (a) VALUES (1), (2)
MARIADB: INSERT INTO t (a) VALUES (3), (4) RETURNING id
SELECT LAST_INSERT_ID()
SELECT LAST_INSERT_ID()
MARIADB: REPLACE INTO t (a) VALUES (5) RETURNING id
SELECT COUNT(*) FROM t
SHOW WARNINGS
SELECT LAST_INSERT_ID()
MARIADB: INSERT INTO u VALUES (7) RETURNING a
SELECT LAST_INSERT_ID()
MARIADB: EXEC [9]: INSERT INTO t (a) VALUES (?) RETURNING id, a
INSERT INTO u VALUES (LAST_INSERT_ID())
SELECT LAST_INSERT_ID(), a FROM u
BEGIN
MARIADB: INSERT INTO t (a) VALUES (10) RETURNING id
SELECT COUNT(*) FROM t
MARIADB: INSERT INTO t (a) VALUES (11) RETURNING id
ROLLBACK
SELECT LAST_INSERT_ID()
MARIADB: INSERT INTO t (a) VALUES (12) RETURNING id
INSERT INTO t (a) VALUES (13)
SELECT LAST_INSERT_ID()
MARIADB: INSERT INTO t (a) VALUES (14) RETURNING id
SET last_insert_id = 4
SELECT LAST_INSERT_ID()
MARIADB: INSERT INTO t (id, a) VALUES (900, 15), (NULL, 16), (900, 17) RETURNING id
SELECT LAST_INSERT_ID()
# last_insert_id_after_a_returning_with_warnings
SET sql_mode = ''
MARIADB: INSERT INTO t (b) VALUES ('much too long for this column') RETURNING id
SHOW WARNINGS
SELECT LAST_INSERT_ID()
MARIADB: INSERT INTO t (b) VALUES ('much too long for this column') RETURNING id
SELECT LAST_INSERT_ID()
MARIADB: INSERT INTO t (b) VALUES ('much too long for this column') RETURNING id
INSERT INTO u VALUES (1)
SELECT LAST_INSERT_ID()
# last_insert_id_after_a_file
INSERT INTO t (a) VALUES (1)
MARIADB: LOAD DATA LOCAL INFILE 'x' INTO TABLE t (a)
SELECT LAST_INSERT_ID(), ROW_COUNT()
SELECT LAST_INSERT_ID()
MARIADB: LOAD DATA LOCAL INFILE 'x' INTO TABLE t (a)
SHOW WARNINGS
INSERT INTO u VALUES (1)
SELECT LAST_INSERT_ID()
MARIADB: LOAD DATA LOCAL INFILE 'x' INTO TABLE u (a)
SELECT LAST_INSERT_ID()
BEGIN
MARIADB: LOAD DATA LOCAL INFILE 'x' INTO TABLE t (a)
COMMIT
SELECT LAST_INSERT_ID()
MARIADB: LOAD DATA LOCAL INFILE 'x' INTO TABLE t (id)
SHOW WARNINGS
SELECT LAST_INSERT_ID()
# last_insert_id_set_to_an_expression
INSERT INTO t (a) VALUES (1)
SET last_insert_id = 3 + 4 * 2
SELECT LAST_INSERT_ID()
SET @@identity = LAST_INSERT_ID() + 1
SELECT LAST_INSERT_ID(), @@identity
INSERT INTO t (a) VALUES (1)
SELECT LAST_INSERT_ID()
# last_insert_id_set_by_a_prepared_statement
INSERT INTO t (a) VALUES (1)
EXEC: SET last_insert_id = 40 + 2
SELECT LAST_INSERT_ID()
INSERT INTO t (a) VALUES (1)
EXEC: SET last_insert_id = 40 + 2
SELECT LAST_INSERT_ID()
# last_insert_id_set_beside_others
INSERT INTO t (a) VALUES (1); SET last_insert_id = 40 + 2
SELECT LAST_INSERT_ID()
SET last_insert_id = 50 + 2; INSERT INTO t (a) VALUES (1)
SELECT LAST_INSERT_ID()
# last_insert_id_set_to_no_number
INSERT INTO t (a) VALUES (1)
SET last_insert_id = (SELECT MAX(id) FROM missing)
SELECT LAST_INSERT_ID()
SET last_insert_id = (SELECT 70 + MAX(id) FROM t)
SELECT LAST_INSERT_ID()
# last_insert_id_variable
INSERT INTO t (a) VALUES (1)
SELECT @@last_insert_id, @@identity
SELECT @@identity
# last_insert_id_rolled_back
BEGIN
INSERT INTO t (a) VALUES (1)
ROLLBACK
SELECT LAST_INSERT_ID()
# last_insert_id_other_table
INSERT INTO t (a) VALUES (1)
INSERT INTO u VALUES (5)
SELECT LAST_INSERT_ID()
# row_count
INSERT INTO t (a) VALUES (1), (2), (3)
SELECT ROW_COUNT()
UPDATE t SET a = 5 WHERE a > 1
SELECT ROW_COUNT()
DELETE FROM t
SELECT ROW_COUNT()
SELECT ROW_COUNT()
# row_count_beside_the_insert_id_where_the_connection_is_kept
SELECT GET_LOCK('tg_rows', 0)
INSERT INTO t (a) VALUES (1), (2)
SELECT LAST_INSERT_ID(), ROW_COUNT()
SELECT LAST_INSERT_ID(), ROW_COUNT()
UPDATE t SET a = 3
SELECT ROW_COUNT() AS n, LAST_INSERT_ID() FROM t
# results_in_expressions
INSERT INTO t (a) VALUES (1), (2)
SELECT ROW_COUNT() + 1
UPDATE t SET a = 5
SELECT IF(ROW_COUNT() = 2, 'both', 'not both'), 1+row_count()*2 AS n, a FROM t
SELECT IFNULL( FOUND_ROWS( ), 0 );
SELECT a FROM t
SELECT 10 - FOUND_ROWS(), -FOUND_ROWS()
# found_rows_of_before_the_connection_was_kept
SELECT 1 UNION SELECT 2
SET @f = 1 + 1
SELECT FOUND_ROWS(), @f
# row_count_as_written
UPDATE t SET a = 1
select  Row_Count()
SELECT row_count();
Select Found_Rows()
# row_count_after_select
SELECT 1
SELECT ROW_COUNT()
# row_count_after_error
SELECT * FROM no_such_table
SELECT ROW_COUNT()
# row_count_after_ddl
CREATE TABLE x (a INT)
SELECT ROW_COUNT()
DROP TABLE x
SELECT ROW_COUNT()
# row_count_after_set
SET @a = 1
SELECT ROW_COUNT()
SET time_zone = '+00:00'
SELECT ROW_COUNT()
# found_rows
INSERT INTO t (a) VALUES (1), (2), (3)
SELECT SQL_CALC_FOUND_ROWS a FROM t LIMIT 1
SELECT FOUND_ROWS()
# found_rows_plain
INSERT INTO t (a) VALUES (1), (2), (3)
SELECT a FROM t LIMIT 2
SELECT FOUND_ROWS()
SELECT FOUND_ROWS()
# found_rows_after_an_insert
SELECT 1 UNION SELECT 2
INSERT INTO t (a) VALUES (1)
SELECT FOUND_ROWS()
# warnings
SELECT CAST('x' AS SIGNED)
SHOW WARNINGS
SHOW WARNINGS
SELECT COUNT(*) FROM t
SHOW WARNINGS
# warnings_count
SELECT CAST('x' AS SIGNED), CAST('y' AS SIGNED)
SHOW COUNT(*) WARNINGS
SELECT @@warning_count
SELECT COUNT(*) FROM t
SELECT @@warning_count
# warnings_of_an_error
SELECT * FROM no_such_table
SHOW WARNINGS
SHOW ERRORS
SELECT @@error_count
# warnings_none
SELECT @@warning_count, @@error_count
SHOW WARNINGS
SHOW ERRORS
# warnings_limit
SELECT CAST('x' AS SIGNED), CAST('y' AS SIGNED)
SHOW WARNINGS LIMIT 1
SHOW WARNINGS LIMIT 1, 1
# warnings_of_an_insert
SET sql_mode = ''
INSERT INTO t (b) VALUES ('much too long for this column')
SHOW WARNINGS
SELECT b FROM t
# warnings_lost_by_the_next
SELECT CAST('x' AS SIGNED)
INSERT INTO t (a) VALUES (1)
SHOW WARNINGS
# warnings_of_a_drop
DROP TABLE IF EXISTS nothing_here
SHOW WARNINGS
# warnings_after_set
SELECT CAST('x' AS SIGNED)
SET @a = 1
SHOW WARNINGS
SELECT CAST('x' AS SIGNED)
SET NAMES utf8mb4
SHOW WARNINGS
# notes_off
SET sql_notes = 0
DROP TABLE IF EXISTS nothing_here
SHOW WARNINGS
DROP TABLE IF EXISTS nothing_here
# strict_and_lax
SET sql_mode = 'STRICT_ALL_TABLES'
INSERT INTO t (b) VALUES ('much too long for this column')
SET sql_mode = ''
INSERT INTO t (b) VALUES ('much too long for this column')
SELECT b FROM t
# zero_dates
SET sql_mode = 'NO_ZERO_DATE,STRICT_ALL_TABLES'
SELECT CAST('0000-00-00' AS DATE)
SHOW WARNINGS
SET sql_mode = ''
SELECT CAST('0000-00-00' AS DATE)
# pipes
SET sql_mode = 'PIPES_AS_CONCAT'
SELECT 'a' || 'b'
SELECT 'a' || 'b'
SET sql_mode = ''
SELECT 1 || 0
# division
SET sql_mode = 'ERROR_FOR_DIVISION_BY_ZERO'
SELECT 1 / 0
SHOW WARNINGS
SET sql_mode = ''
SELECT 1 / 0
# statements_together
EXEC: SELECT 1
SELECT 1
EXEC: SELECT 1
# show_variables
SET time_zone = '+09:00'
SHOW VARIABLES LIKE 'time_zone'
SHOW SESSION VARIABLES LIKE 'time_zone'
SELECT @@session.time_zone, @@local.time_zone
# several_results_then_row_count
CREATE TABLE several (id INT AUTO_INCREMENT PRIMARY KEY, a INT)
INSERT INTO several (a) VALUES (1), (2); INSERT INTO several (a) VALUES (5)
SELECT ROW_COUNT()
SELECT 1; INSERT INTO several (a) VALUES (6), (7)
SELECT ROW_COUNT()
INSERT INTO several (a) VALUES (8); SELECT 1
SELECT ROW_COUNT()
# several_results_then_found_rows
SELECT 1 UNION SELECT 2; SELECT 3
SELECT FOUND_ROWS()
SELECT 3; SELECT 1 UNION SELECT 2
SELECT FOUND_ROWS()
# compound_then_insert_id
CREATE TABLE compound (id INT AUTO_INCREMENT PRIMARY KEY, a INT)
MARIADB: BEGIN NOT ATOMIC INSERT INTO compound (a) VALUES (1); END
SELECT LAST_INSERT_ID()
# insert_id_then_compound
CREATE TABLE compound2 (id INT AUTO_INCREMENT PRIMARY KEY, a INT)
INSERT INTO compound2 (a) VALUES (1), (2)
INSERT INTO compound2 (a) VALUES (3)
MARIADB: BEGIN NOT ATOMIC SELECT COUNT(*) FROM compound2; END
SELECT LAST_INSERT_ID()
# number_out_of_range
SET @d = 1e308
SET @d = 1e400
SELECT @d
# prepared_found_rows
SELECT SQL_CALC_FOUND_ROWS 1 UNION ALL SELECT 2 UNION ALL SELECT 3 LIMIT 1
EXEC: SELECT FOUND_ROWS()
# the_connection_s_id
SELECT CONNECTION_ID() > 0, CONNECTION_ID() - CONNECTION_ID() AS none
SELECT IF(CONNECTION_ID() = CONNECTION_ID(), 'same', 'another') AS which
SELECT COUNT(*) FROM information_schema.processlist WHERE id = CONNECTION_ID()
KILL QUERY CONNECTION_ID()
/* app */ KILL QUERY (CONNECTION_ID() + 0);
SELECT 1
# insert_id_of_a_text_that_fails_behind_it
INSERT INTO t (a) VALUES (1); SELECT no_such_column FROM t
SELECT LAST_INSERT_ID()
INSERT INTO t (a) VALUES (2); INSERT INTO t (a) VALUES (3); INSERT INTO t (no_such_column) VALUES (4)
SELECT LAST_INSERT_ID()
EXEC: SELECT LAST_INSERT_ID()
