# kept_error
INSERT INTO t VALUES (1, 1, 'a')
INSERT INTO t VALUES (1, 2, 'b')
SHOW WARNINGS
SHOW ERRORS
SHOW COUNT(*) WARNINGS
SHOW COUNT(*) ERRORS
SELECT @@warning_count
SELECT @@error_count
select  @@session.Warning_Count ;
SHOW WARNINGS LIMIT 0
SHOW WARNINGS LIMIT 1
SHOW ERRORS LIMIT 1, 1
SHOW WARNINGS LIMIT 1 OFFSET 0
# kept_warnings
SET sql_mode = ''
INSERT INTO t (a, b) VALUES ('x', 'much too long for it'), ('y', 1)
SHOW WARNINGS
SHOW ERRORS
SHOW WARNINGS LIMIT 1, 1
SHOW WARNINGS LIMIT 2
SHOW COUNT(*) WARNINGS
SELECT @@error_count
SHOW WARNINGS
SELECT ROW_COUNT()
# kept_note
DROP TABLE IF EXISTS nowhere
SHOW WARNINGS
SHOW COUNT(*) WARNINGS
SHOW ERRORS
# kept_more_than_are_told
SET sql_mode = '', max_error_count = 3
INSERT INTO t (a) VALUES ('a'), ('b'), ('c'), ('d'), ('e'), ('f')
SHOW WARNINGS
SHOW COUNT(*) WARNINGS
# kept_of_a_text_in_latin1
SET NAMES latin1
SELECT * FROM nowhere
SHOW WARNINGS
SHOW ERRORS
# kept_of_a_missing_function
SELECT nowhere(1)
SHOW WARNINGS
# kept_of_a_function_that_fails
CREATE FUNCTION fails() RETURNS INT DETERMINISTIC RETURN (SELECT 1 UNION SELECT 2)
SELECT fails()
SHOW WARNINGS
SELECT 1
# kept_of_a_syntax_error
SELEC 1
SHOW WARNINGS
SHOW COUNT(*) ERRORS
SELECT 1
# kept_of_an_execution
INSERT INTO t VALUES (7, 1, 'a')
EXEC [7]: INSERT INTO t (id) VALUES (?)
SHOW WARNINGS
EXEC [7]: INSERT INTO t (id) VALUES (?)
SHOW ERRORS
# kept_until_the_next_statement
SELECT * FROM nowhere
SELECT COUNT(*) FROM t
SHOW WARNINGS
SHOW COUNT(*) ERRORS
# kept_until_a_reset
SELECT * FROM nowhere
RESET:
SHOW WARNINGS
# raised_error
INSERT INTO t VALUES (1, 1, 'a')
INSERT INTO t VALUES (1, 2, 'b')
SELECT @@error_count + 1
SELECT @@warning_count, @@error_count
SHOW WARNINGS
# raised_for_a_prepared_question
EXEC: SHOW WARNINGS
INSERT INTO t VALUES (1, 1, 'a')
INSERT INTO t VALUES (1, 2, 'b')
EXEC: SHOW WARNINGS
EXEC: SHOW WARNINGS
# failed_set
SET @a = 1, sql_mode = 'nonsense'
SELECT @a IS NULL, @@sql_mode
SET sql_mode = '', @b = (SELECT 1 UNION SELECT 2)
SELECT @b IS NULL, @@sql_mode
SET big_tables = 1, nonsense = 2
SHOW WARNINGS
SELECT @@big_tables
SET NAMES nonsense
SELECT @@character_set_client
SET ROLE nonsense
SELECT CURRENT_ROLE()
SET long_query_time = 3, @c = (SELECT a FROM nowhere)
SELECT @@long_query_time, @c IS NULL
# kept_found_rows
SELECT 1 UNION SELECT 2 UNION SELECT 3
SHOW WARNINGS
SELECT FOUND_ROWS()
SELECT id FROM t
SHOW ERRORS LIMIT 1
SELECT FOUND_ROWS()
SELECT 1 UNION SELECT 2
SHOW COUNT(*) WARNINGS
SELECT FOUND_ROWS()
# prepare_fails
EXEC: SELEC 1
SHOW WARNINGS
EXEC: SELECT no_such_column FROM t
SELECT @@error_count
SHOW ERRORS
# prepared_behind_the_error
INSERT INTO t VALUES (1, 1, 'a')
INSERT INTO t VALUES (1, 2, 'b')
EXEC: SHOW WARNINGS
INSERT INTO t VALUES (1, 2, 'b')
EXEC: SHOW COUNT(*) ERRORS
INSERT INTO t VALUES (1, 2, 'b')
EXEC: SELECT @@error_count
SELECT CAST('x' AS SIGNED) FROM t
EXEC: SHOW ERRORS
EXEC: SELECT @@warning_count
EXEC: SHOW COUNT(*) WARNINGS
# where_no_more_than_a_row_may_be_looked_at
INSERT INTO t (a) VALUES (1), (2), (3)
SET sql_big_selects = 0, max_join_size = 1
SELECT COUNT(*) FROM t, t AS u, t AS v
SHOW WARNINGS
SELECT one FROM (SELECT 1 AS one) AS t
SELECT @@warning_count, LAST_INSERT_ID()
SHOW WARNINGS
