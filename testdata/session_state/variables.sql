# user_number
SET @a = 5
SELECT @a, @a + 1
SELECT @a
# user_kinds
SET @i = -3, @d = 1.50, @e = 1e3, @s = 'it''s', @n = NULL, @t = TRUE
SELECT @i, @d, @e, @s, @n, @t
SELECT @i + 1, @d + 1, @e + 1, CONCAT(@s, '!'), @n IS NULL, @t + 1
# user_names
SET @`quoted` = 1, @'text' = 2, @Case = 3
SELECT @quoted, @text, @CASE
SELECT @`quoted`, @'text', @case
# user_never_set
SELECT @never
SELECT @never IS NULL
# user_set_by_others
SELECT @a, @b, @x
SELECT @a + 1, CONCAT(@b), IFNULL(@x, 1), COALESCE(@n, 'x'), CHARSET(@a)
EXEC: SELECT @b
SELECT @B, @`n`, @'x'
# user_after_reset
SET @a = 5, @b = 1.5, @x = 1e0
SELECT @a, @b, @x
RESET:
SELECT @a, @b, @x
SELECT @a
EXEC: SELECT @a, @b, @x
# user_null
SET @a = 5, @b = 1.5, @x = 'x'
SET @a = NULL, @b = NULL, @x = NULL, @n = NULL
SELECT @a, @b, @x, @n
SELECT @a + 1, COALESCE(@b, 'y'), CHARSET(@x), IFNULL(@n, 3)
SET @a = NULL
SELECT @a
SET @a = 'text'
SELECT @a
SET @m = @b
SELECT @m IS NULL, @b
# user_in_a_trigger
CREATE TRIGGER tr BEFORE INSERT ON t FOR EACH ROW SET NEW.b = IFNULL(@a, 'none')
INSERT INTO t (a) VALUES (1)
SET @a = 'me'
INSERT INTO t (a) VALUES (2)
SET @a = NULL
INSERT INTO t (a) VALUES (3)
SELECT a, b FROM t
# user_assigned_in_select
SELECT @a := 5
SELECT @a
SELECT @a := @a + 1
SELECT @a
# user_into
SELECT 7 INTO @a
SELECT @a
SELECT 8, 9 INTO @b, @c
SELECT @a, @b, @c
# user_counter
INSERT INTO t (a) VALUES (5), (6), (7)
SET @n = 0
SELECT @n := @n + 1, a FROM t ORDER BY a
SELECT @n
# user_in_where
INSERT INTO t (a) VALUES (5), (6)
SET @a = 6
SELECT a FROM t WHERE a = @a
SELECT a FROM t WHERE a < @a
UPDATE t SET a = @a + 1 WHERE a = @a
SELECT a FROM t ORDER BY a
# user_from_user
SET @a = 5
SET @b = @a
SET @a = 6
SELECT @a, @b
SELECT @a, @b
# user_from_expression
SET @a = 5
SET @b = @a + 1
SELECT @b
SELECT @a, @b
# user_from_query
INSERT INTO t (a) VALUES (5), (6)
SET @m = (SELECT MAX(a) FROM t)
SELECT @m
SELECT @m
# user_from_function
SET @u = UPPER('abc'), @l = LENGTH('abc')
SELECT @u, @l
SELECT @u, @l
# user_text_and_charset
SET @a = 'x'
SET NAMES latin1
SELECT @a, CHARSET(@a)
SELECT @a, CHARSET(@a)
# user_not_ascii
SET @a = 'é'
SELECT @a, LENGTH(@a)
SELECT HEX(@a)
# user_backslash
SET @a = 'a\nb\\c\'d'
SELECT @a, LENGTH(@a)
SELECT HEX(@a)
# user_bits
SET @a = 0x41, @b = b'1000001'
SELECT @a, @b
SELECT @a, @b
# user_long
SET @a = REPEAT('x', 10000)
SELECT LENGTH(@a)
SELECT LENGTH(@a)
# user_from_system
SET time_zone = '+01:00'
SET @tz = @@time_zone
SET time_zone = '+02:00'
SELECT @tz, @@time_zone
SET time_zone = @tz
SELECT @tz, @@time_zone
# user_in_prepared
SET @a = 5
EXEC: SELECT @a
SET @a = 6
EXEC: SELECT @a
SELECT @a
# user_multiple_in_order
SET @a = 1, @b = 2, @c = @a
SELECT @a, @b, @c
SET @a = 10, @b = @a
SELECT @a, @b
# user_in_a_transaction
BEGIN
SET @a = 1
SELECT @a
COMMIT
SELECT @a
SELECT @a
# user_wrong
SET @a = nothing
SET @a =
SET @a 5
SELECT @a
# user_comment
SET /* @b = 2, */ @a = 1 -- and nothing else
SELECT @a, @b
# user_reset
SET @a = 5
RESET:
SELECT @a
# user_procedure
CREATE PROCEDURE pr() SET @z = 9
CALL pr()
SELECT @z
SELECT @z
DROP PROCEDURE pr
# user_diagnostics
SELECT * FROM no_such_table
GET DIAGNOSTICS CONDITION 1 @code = MYSQL_ERRNO
SELECT @code
# prepared_set_variables
EXEC ["it's", -5, "z"]: SET @a = ?, @b = ?, @x = ?
SELECT @a, @b, @x
EXEC ["x", 7, "y"]: SET @a = ?, @b = ?, @x = ?
SELECT @a, @b, @x, COLLATION(@x)
# prepared_set_numbers
EXEC [9]: SET @a = ?
EXEC [-2]: SET @a = @a-?, @n = 1
SELECT @a, @n
EXEC [9223372036854775807]: SET @b = ?
SELECT @a, @b
EXEC [1.5]: SET @x = ?
SELECT @x, @a
# prepared_set_letters
EXEC ["it's"]: SET @a = ?
SELECT @a, COLLATION(@a)
EXEC ["\u00df \\"]: SET @a = ?
SELECT @a, HEX(@a)
EXEC [null]: SET @a = ?
SELECT @a IS NULL
# prepared_set_null
EXEC ["it's"]: SET @a = ?
SELECT @a
EXEC [null]: SET @a = ?
SELECT @a
# prepared_set_texts
EXEC: SET @a = 'x', @b = 1
SET @a = 'y'
EXEC: SET @a = 'x', @b = 1
SELECT @a, @b
SET NAMES latin1
EXEC: SET @a = 'x', @b = 1
SELECT @a, @b, CHARSET(@a)
EXEC ["z"]: SET @a = ?
SELECT @a, @b, CHARSET(@a)
# prepared_set_settings
EXEC ["+03:00", 77]: SET time_zone = ?, SESSION wait_timeout = ?
SELECT @@time_zone, @@wait_timeout
EXEC ["nowhere", 78]: SET time_zone = ?, SESSION wait_timeout = ?
SELECT @@time_zone
EXEC: SET NAMES latin1 COLLATE latin1_bin
SELECT @@collation_connection, @@character_set_results
EXEC: SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED
MARIADB: SELECT @@tx_isolation
MYSQL: SELECT @@transaction_isolation
EXEC: SET SESSION TRANSACTION READ ONLY
EXEC: INSERT INTO t (a) VALUES (1)
EXEC: SET SESSION TRANSACTION READ WRITE
EXEC ["STRICT_ALL_TABLES"]: SET sql_mode = CONCAT(@@sql_mode, ',', ?)
SELECT @@sql_mode
EXEC [123]: SET last_insert_id = ?
SELECT LAST_INSERT_ID()
EXEC [0]: SET autocommit = ?
INSERT INTO t (a) VALUES (5)
EXEC: ROLLBACK
EXEC [1]: SET autocommit = ?
SELECT COUNT(*), @@autocommit FROM t
EXEC [1]: SET no_such_variable = ?
# prepared_set_among_locks
EXEC: CREATE TEMPORARY TABLE x (a INT)
EXEC [4]: SET @a = ?
EXEC: INSERT INTO x VALUES (@a)
SELECT * FROM x
DROP TEMPORARY TABLE x
SELECT @a
SET sql_mode = 'ANSI_QUOTES'
EXEC [5]: SET @a = ?, @n = `sql_mode`
EXEC [5]: SET @a = ?
SELECT @a
