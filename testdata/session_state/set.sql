# names_that_not_every_server_has
SET NAMES utf8mb4 COLLATE utf8mb4_0900_ai_ci
SELECT 'a', @@collation_connection
SET NAMES latin1
SET NAMES gb18030
SELECT 'a', @@character_set_client
SET NAMES ucs2
SELECT 'a', @@character_set_client
SET NAMES utf8mb4 COLLATE utf8mb4_uca1400_ai_ci, @x = 1
SELECT 'a', @@collation_connection, @x
SET NAMES utf8mb4 COLLATE nothing_of_the_kind
SET NAMES latin1 COLLATE utf8mb4_bin
SELECT 'a', @@collation_connection
EXEC: SET NAMES utf8mb4 COLLATE utf8mb4_zh_0900_as_cs
SELECT 'a', @@collation_connection
# names_and_back
SET NAMES latin1
SELECT @@character_set_client, @@character_set_connection, @@character_set_results, @@collation_connection
SET NAMES utf8mb4 COLLATE utf8mb4_bin
SELECT @@collation_connection, 'a' = 'A'
SELECT @@character_set_client
# names_quoted
SET NAMES 'utf8mb4' COLLATE 'utf8mb4_unicode_ci'
SELECT @@collation_connection
SELECT CHARSET('x'), COLLATION('x')
# names_unknown
SET NAMES klingon
SELECT @@character_set_client
SELECT 1
# names_wrong_collation
SET NAMES latin1 COLLATE utf8mb4_bin
SELECT @@collation_connection
# names_in_a_list
SET NAMES latin1, @x = 5, time_zone = '+02:00'
SELECT @x, @@time_zone, @@character_set_client
SELECT @x, @@time_zone, @@character_set_client
# names_in_a_comment
/*!40101 SET NAMES latin1 */
SELECT @@character_set_results
# character_set
SET CHARACTER SET latin1
SELECT @@character_set_client, @@character_set_connection, @@character_set_results
SELECT @@character_set_client, @@collation_connection
# charset_short
SET CHARSET utf8mb4
SELECT @@character_set_client
SELECT 1
# results_null
SET character_set_results = NULL
SELECT @@character_set_results
SELECT @@character_set_results, @@character_set_client
SET NAMES utf8mb4
SELECT @@character_set_results
# results_alone
SET character_set_results = latin1
SELECT @@character_set_results, 'x'
SELECT @@character_set_results, @@character_set_client
# client_alone
SET character_set_client = latin1
SELECT @@character_set_client, @@character_set_results
SELECT @@character_set_client, @@character_set_results
# connection_and_collation
SET character_set_connection = latin1
SELECT @@collation_connection
SET collation_connection = utf8mb4_bin
SELECT @@character_set_connection, @@collation_connection
SELECT @@character_set_connection, @@collation_connection
# autocommit_off_and_on
SET autocommit = 0
SELECT @@autocommit
INSERT INTO t (a) VALUES (1)
SELECT COUNT(*) FROM t
ROLLBACK
SELECT COUNT(*) FROM t
SET autocommit = 1
SELECT @@autocommit
INSERT INTO t (a) VALUES (2)
ROLLBACK
SELECT a FROM t
# autocommit_on_commits
SET autocommit = 0
INSERT INTO t (a) VALUES (7)
SET autocommit = 1
ROLLBACK
SELECT a FROM t
# autocommit_spellings
SET @@session.autocommit = OFF
SELECT @@autocommit
SET @@autocommit := ON
SELECT @@autocommit
SET SESSION autocommit = 'off'
SELECT @@autocommit
SET LOCAL autocommit = DEFAULT
SELECT @@autocommit
SELECT @@autocommit
# autocommit_wrong
SET autocommit = 2
SELECT @@autocommit
SET autocommit = 'maybe'
SELECT @@autocommit
# list_of_many
SET sql_mode = '', time_zone = '+03:00', foreign_key_checks = 0, @a = 'x', unique_checks = 0
SELECT @@sql_mode, @@time_zone, @@foreign_key_checks, @a, @@unique_checks
SELECT @@sql_mode, @@time_zone, @@foreign_key_checks, @a, @@unique_checks
SET foreign_key_checks = 1, @a = NULL
SELECT @@sql_mode, @@time_zone, @@foreign_key_checks, @a, @@unique_checks
# list_with_an_error_changes_nothing
SET time_zone = '+04:00', sql_mode = 'NO_SUCH_MODE'
SELECT @@time_zone
SET foreign_key_checks = 0, no_such_variable = 1
SELECT @@foreign_key_checks
# unknown_variable
SET no_such_variable = 5
SHOW WARNINGS
# read_only_variable
SET version = 'x'
SET @@session.hostname = 'x'
SELECT 1
# global_variable_as_session
SET max_connections = 100
SELECT 1
# wrong_type
SET sql_select_limit = 'x'
SET time_zone = 'Nowhere/At_All'
SET foreign_key_checks = 'maybe'
SELECT @@foreign_key_checks
# global
SET GLOBAL net_retry_count = 11
SELECT @@global.net_retry_count, @@session.net_retry_count
SET GLOBAL net_retry_count = DEFAULT
SELECT @@global.net_retry_count
SET @@global.net_retry_count = 10
SELECT @@session.net_retry_count
# sql_mode_extended
SET sql_mode = 'ALLOW_INVALID_DATES'
SET sql_mode = CONCAT(@@sql_mode, ',STRICT_ALL_TABLES')
SELECT @@sql_mode
SELECT @@sql_mode
SET SESSION sql_mode = REPLACE(@@sql_mode, 'STRICT_ALL_TABLES', '')
SELECT @@sql_mode
# sql_mode_extended_from_default
SET @@SESSION.sql_mode = CONCAT(@@sql_mode, ',STRICT_ALL_TABLES'), @@SESSION.sql_auto_is_null = 0, @@SESSION.wait_timeout = 2147483
SELECT @@sql_mode, @@sql_auto_is_null, @@wait_timeout
SELECT @@sql_mode, @@sql_auto_is_null, @@wait_timeout
# sql_mode_rails
SET NAMES utf8mb4, @@SESSION.sql_mode = CONCAT(CONCAT(@@sql_mode, ',STRICT_ALL_TABLES'), ',NO_AUTO_VALUE_ON_ZERO'), @@SESSION.sql_auto_is_null = 0, @@SESSION.wait_timeout = 2147483
SELECT @@sql_mode, @@collation_connection
INSERT INTO t (id, a) VALUES (0, 1)
SELECT id FROM t
# sql_mode_laravel
set names 'utf8mb4' collate 'utf8mb4_unicode_ci'
set session sql_mode='ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION'
SELECT @@sql_mode
SELECT a, b FROM t GROUP BY a
# sql_mode_django
SET SQL_AUTO_IS_NULL = 0
SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED
SELECT @@sql_mode, @@default_storage_engine, @@sql_auto_is_null, @@lower_case_table_names, CONVERT_TZ('2001-01-01 01:00:00', 'UTC', 'UTC') IS NOT NULL
SELECT 1
# sql_mode_save_and_restore
SET @OLD_SQL_MODE=@@SQL_MODE, SQL_MODE='NO_AUTO_VALUE_ON_ZERO'
SELECT @@sql_mode
INSERT INTO t (id, a) VALUES (0, 1)
SET SQL_MODE=@OLD_SQL_MODE
SELECT @@sql_mode
INSERT INTO t (a) VALUES (2)
SELECT id, a FROM t ORDER BY id
# dump_preamble
/*!40014 SET @OLD_UNIQUE_CHECKS=@@UNIQUE_CHECKS, UNIQUE_CHECKS=0 */
/*!40014 SET @OLD_FOREIGN_KEY_CHECKS=@@FOREIGN_KEY_CHECKS, FOREIGN_KEY_CHECKS=0 */
/*!40103 SET @OLD_TIME_ZONE=@@TIME_ZONE */
/*!40103 SET TIME_ZONE='+00:00' */
/*!40111 SET @OLD_SQL_NOTES=@@SQL_NOTES, SQL_NOTES=0 */
SELECT @@unique_checks, @@foreign_key_checks, @@time_zone, @@sql_notes
/*!40103 SET TIME_ZONE=@OLD_TIME_ZONE */
/*!40014 SET FOREIGN_KEY_CHECKS=@OLD_FOREIGN_KEY_CHECKS */
/*!40014 SET UNIQUE_CHECKS=@OLD_UNIQUE_CHECKS */
/*!40111 SET SQL_NOTES=@OLD_SQL_NOTES */
SELECT @@unique_checks, @@foreign_key_checks, @@time_zone, @@sql_notes
# dump_preamble_charset
/*!40101 SET @OLD_CHARACTER_SET_CLIENT=@@CHARACTER_SET_CLIENT */
/*!40101 SET @OLD_CHARACTER_SET_RESULTS=@@CHARACTER_SET_RESULTS */
/*!40101 SET @OLD_COLLATION_CONNECTION=@@COLLATION_CONNECTION */
SET NAMES latin1
SELECT @@character_set_client
/*!40101 SET CHARACTER_SET_CLIENT=@OLD_CHARACTER_SET_CLIENT */
/*!40101 SET CHARACTER_SET_RESULTS=@OLD_CHARACTER_SET_RESULTS */
/*!40101 SET COLLATION_CONNECTION=@OLD_COLLATION_CONNECTION */
SELECT @@character_set_client, @@character_set_results, @@collation_connection
# ansi_quotes
SET sql_mode = 'ANSI_QUOTES'
SELECT "id" FROM t
SET @x = 'a'
SELECT "a" FROM t
SELECT @x
# no_backslash_escapes
SET sql_mode = 'NO_BACKSLASH_ESCAPES'
SELECT 'a\b'
SELECT 'a\', @@sql_mode
# sql_mode_number
SET sql_mode = 0
SELECT @@sql_mode
SET sql_mode = 4194304
SELECT @@sql_mode
SELECT @@sql_mode
# timestamp
SET timestamp = 1234567890
SET time_zone = '+00:00'
SELECT NOW()
SELECT NOW(), UNIX_TIMESTAMP()
SET timestamp = DEFAULT
SELECT NOW() > '2020-01-01'
# timestamp_fraction
SET timestamp = 1234567890.5
SET time_zone = '+00:00'
SELECT NOW(3)
SELECT NOW(3)
# long_query_time
SET long_query_time = 0.5
SELECT @@long_query_time
SELECT @@long_query_time
SET long_query_time = DEFAULT
SELECT @@long_query_time = @@global.long_query_time
# time_zone_acts
SET time_zone = '+05:30'
SELECT FROM_UNIXTIME(0)
SET time_zone = '-08:00'
SELECT FROM_UNIXTIME(0)
SET time_zone = SYSTEM
SELECT @@time_zone
# group_concat_acts
INSERT INTO t (a, b) VALUES (1, 'aaaa'), (2, 'bbbb'), (3, 'cccc')
SET group_concat_max_len = 6
SELECT GROUP_CONCAT(b ORDER BY a) FROM t
SELECT GROUP_CONCAT(b ORDER BY a) FROM t
SET SESSION group_concat_max_len = 100
SELECT GROUP_CONCAT(b ORDER BY a) FROM t
# select_limit_acts
INSERT INTO t (a) VALUES (1), (2), (3)
SET sql_select_limit = 2
SELECT a FROM t ORDER BY a
SELECT a FROM t ORDER BY a DESC
SET sql_select_limit = DEFAULT
SELECT a FROM t ORDER BY a
# safe_updates_act
INSERT INTO t (a) VALUES (1), (2)
SET sql_safe_updates = 1
UPDATE t SET a = 9
DELETE FROM t
SET sql_safe_updates = 0
UPDATE t SET a = 9
# foreign_keys_act
CREATE TABLE p (id INT PRIMARY KEY) ENGINE=InnoDB
CREATE TABLE c (id INT, FOREIGN KEY (id) REFERENCES p (id)) ENGINE=InnoDB
INSERT INTO c VALUES (1)
SET foreign_key_checks = 0
INSERT INTO c VALUES (1)
INSERT INTO c VALUES (2)
SET foreign_key_checks = 1
INSERT INTO c VALUES (3)
DROP TABLE c
DROP TABLE p
# increments
SET auto_increment_increment = 10, auto_increment_offset = 5
INSERT INTO t (a) VALUES (1), (2)
INSERT INTO t (a) VALUES (3)
SELECT id FROM t ORDER BY id
SET auto_increment_increment = DEFAULT, auto_increment_offset = DEFAULT
SELECT @@auto_increment_increment
# insert_id
SET insert_id = 50
INSERT INTO t (a) VALUES (1)
INSERT INTO t (a) VALUES (2)
SELECT id FROM t ORDER BY id
# last_insert_id_set
SET last_insert_id = 77
SELECT LAST_INSERT_ID()
SELECT LAST_INSERT_ID(), @@last_insert_id
# rand_seeds
SET rand_seed1 = 1, rand_seed2 = 2
SELECT RAND()
# max_statement_time
MARIADB: SET max_statement_time = 5
MARIADB: SELECT @@max_statement_time
MYSQL: SET max_execution_time = 5000
MYSQL: SELECT @@max_execution_time
SELECT 1
MARIADB: SELECT @@max_statement_time
MYSQL: SELECT @@max_execution_time
# max_statement_time_acts
MARIADB: SET max_statement_time = 0.05
MARIADB: SELECT SLEEP(5)
MARIADB: SELECT SLEEP(5)
MYSQL: SET max_execution_time = 50
MYSQL: SELECT SLEEP(5)
MYSQL: SELECT SLEEP(5)
# set_statement
MARIADB: SET STATEMENT sql_select_limit = 1 FOR SELECT 1 UNION SELECT 2
MARIADB: SET STATEMENT max_statement_time = 0.05 FOR SELECT SLEEP(3)
SELECT 1 UNION SELECT 2
MYSQL: SELECT /*+ SET_VAR(sql_select_limit=1) */ 1 UNION SELECT 2
# wait_timeouts
SET wait_timeout = 1000, net_read_timeout = 100, net_write_timeout = 100
SELECT @@wait_timeout, @@net_read_timeout, @@net_write_timeout
SELECT @@wait_timeout, @@net_read_timeout, @@net_write_timeout
# completion_type
SET completion_type = 1
SELECT @@completion_type
BEGIN
INSERT INTO t (a) VALUES (1)
COMMIT
INSERT INTO t (a) VALUES (2)
ROLLBACK
SELECT a FROM t
# role_none
SET ROLE NONE
SELECT CURRENT_ROLE()
SELECT CURRENT_ROLE()
# set_in_a_transaction
BEGIN
INSERT INTO t (a) VALUES (1)
SET time_zone = '+01:00'
SET @x = 5
SET NAMES latin1
SELECT @@time_zone, @x, @@character_set_client
ROLLBACK
SELECT @@time_zone, @x, @@character_set_client
SELECT COUNT(*) FROM t
# default_storage_engine
SET default_storage_engine = MEMORY
SELECT @@default_storage_engine
CREATE TABLE m (a INT)
SELECT engine FROM information_schema.tables WHERE table_schema = 'test' AND table_name = 'm'
DROP TABLE m
# lc_time_names
SET lc_time_names = 'de_DE'
SELECT DATE_FORMAT('2001-03-04', '%M')
SELECT DATE_FORMAT('2001-03-04', '%W')
# div_precision
SET div_precision_increment = 2
SELECT 1/3
SELECT 1/3
# big_selects
SET max_join_size = 1000, sql_big_selects = 1
SELECT @@max_join_size, @@sql_big_selects
SELECT @@max_join_size, @@sql_big_selects
# optimizer_switch
SET optimizer_switch = 'mrr=off'
SELECT @@optimizer_switch LIKE '%mrr=off%'
SET optimizer_switch = 'mrr=on'
SELECT @@optimizer_switch LIKE '%mrr=on,%'
SET optimizer_switch = DEFAULT
SELECT @@optimizer_switch = @@global.optimizer_switch
# reset_clears_everything
SET time_zone = '+06:00', @x = 1, sql_mode = ''
SET NAMES latin1
SET autocommit = 0
RESET:
SELECT @@time_zone, @x, @@autocommit
SELECT @@sql_mode = @@global.sql_mode
# optimizer_switch_adds_up
SET optimizer_switch = 'index_merge=off'
SET optimizer_switch = 'mrr=off'
SELECT @@optimizer_switch LIKE '%index_merge=off%', @@optimizer_switch LIKE '%mrr=off%'
SELECT @@optimizer_switch LIKE '%index_merge=off%', @@optimizer_switch LIKE '%mrr=off%'
SET optimizer_switch = 'default,mrr=off'
SELECT @@optimizer_switch LIKE '%index_merge=on%', @@optimizer_switch LIKE '%mrr=off%'
SELECT @@optimizer_switch LIKE '%index_merge=on%', @@optimizer_switch LIKE '%mrr=off%'
# server_charset_behind_its_collation
SET collation_server = utf8mb4_bin
SET character_set_server = latin1
SELECT @@character_set_server, @@collation_server
SELECT @@character_set_server, @@collation_server
SET collation_server = utf8mb4_bin
SELECT @@character_set_server, @@collation_server
SELECT @@character_set_server, @@collation_server
# database_charset
SET character_set_database = latin1
SET collation_database = utf8mb4_bin
SELECT @@character_set_database, @@collation_database
SET character_set_database = latin1
SELECT @@character_set_database, @@collation_database
SELECT @@character_set_database, @@collation_database
# connection_charset_behind_its_collation
SET NAMES latin1
SET collation_connection = utf8mb4_bin
SET character_set_connection = latin1
SELECT @@character_set_connection, @@collation_connection
SELECT @@character_set_connection, @@collation_connection
# join_size_behind_big_selects
SET sql_big_selects = 1
SET max_join_size = 1
SELECT @@sql_big_selects, @@max_join_size
SELECT @@sql_big_selects, @@max_join_size
SET sql_big_selects = 1
SELECT @@sql_big_selects, @@max_join_size
SELECT @@sql_big_selects, @@max_join_size
# global_value_of_before
SET @old = @@global.slow_launch_time
SET GLOBAL slow_launch_time = 7
SELECT @old
SELECT @old
SET GLOBAL slow_launch_time = @old
SELECT @@global.slow_launch_time
# optimizer_trace
SET optimizer_trace = 'enabled=on'
SELECT 'mine' FROM DUAL WHERE 1
SELECT LEFT(QUERY, 13) FROM information_schema.OPTIMIZER_TRACE
# strings_in_binary
SET NAMES binary
SET sql_mode = ''
SELECT @@sql_mode, @@collation_connection
SET sql_mode = 'ANSI_QUOTES', time_zone = '+01:00'
SELECT @@sql_mode, @@time_zone, @@character_set_client
# strings_by_a_login_in_binary
SET NAMES binary COLLATE binary
SET @v = 'x'
SELECT @v, COLLATION(@v)
SET NAMES utf8mb4
SELECT @v, COLLATION(@v)
# strings_of_wide_characters
SET time_zone = '+02:00', lc_time_names = 'fr_FR'
SET character_set_connection = utf16
SELECT @@time_zone, @@collation_connection
SET collation_connection = utf32_bin
SELECT @@time_zone, @@lc_time_names, @@character_set_connection
SET NAMES latin1
SELECT @@time_zone, @@lc_time_names, @@character_set_connection
# ends_that_are_none
COMMIT AND NO
ROLLBACK NO
COMMIT(
COMMIT AND CHAIN RELEASE NO
COMMIT nothing
SET @x /*! = 7
SELECT @x IS NULL
# values_that_servers_make
SET group_concat_max_len = 1
SET @b = @@group_concat_max_len
SELECT @b, @@group_concat_max_len
SET time_zone = '+1:00', @c = 1
SET @c = @@time_zone
SELECT @c, @@time_zone
SET sql_mode = 'TRADITIONAL'
SET @d = @@sql_mode
SELECT @d = @@sql_mode
# collations_of_names_alone
MYSQL: SET default_collation_for_utf8mb4 = 'utf8mb4_general_ci'
MYSQL: SET NAMES utf8mb4
MYSQL: SELECT @@collation_connection, 'a' = 'A '
MYSQL: SET NAMES latin1
MYSQL: SET NAMES utf8mb4
MYSQL: SELECT @@collation_connection
