# begin_commit
BEGIN
INSERT INTO t (a) VALUES (1)
SELECT a FROM t
COMMIT
SELECT a FROM t
# begin_rollback
START TRANSACTION
INSERT INTO t (a) VALUES (1)
ROLLBACK
SELECT a FROM t
# needless_ends
COMMIT
ROLLBACK
SELECT 1
COMMIT
# and_chain
BEGIN
INSERT INTO t (a) VALUES (1)
COMMIT AND CHAIN
INSERT INTO t (a) VALUES (2)
ROLLBACK
SELECT a FROM t
# rollback_and_chain
BEGIN
INSERT INTO t (a) VALUES (1)
ROLLBACK AND CHAIN
INSERT INTO t (a) VALUES (2)
COMMIT
SELECT a FROM t
# commit_no_chain
BEGIN
INSERT INTO t (a) VALUES (1)
COMMIT AND NO CHAIN NO RELEASE
SELECT a FROM t
# savepoints
BEGIN
INSERT INTO t (a) VALUES (1)
SAVEPOINT s
INSERT INTO t (a) VALUES (2)
ROLLBACK TO s
RELEASE SAVEPOINT s
COMMIT
SELECT a FROM t
# savepoint_outside
SAVEPOINT s
ROLLBACK TO s
SELECT 1
# read_only_transaction
START TRANSACTION READ ONLY
INSERT INTO t (a) VALUES (1)
SELECT COUNT(*) FROM t
COMMIT
INSERT INTO t (a) VALUES (1)
# consistent_snapshot
START TRANSACTION WITH CONSISTENT SNAPSHOT
SELECT COUNT(*) FROM t
COMMIT
# set_transaction_read_only
SET TRANSACTION READ ONLY
BEGIN
INSERT INTO t (a) VALUES (1)
COMMIT
BEGIN
INSERT INTO t (a) VALUES (2)
COMMIT
SELECT a FROM t
# set_transaction_isolation
SET TRANSACTION ISOLATION LEVEL SERIALIZABLE
BEGIN
SELECT COUNT(*) FROM t
COMMIT
SELECT 1
# set_transaction_inside
BEGIN
INSERT INTO t (a) VALUES (1)
SET TRANSACTION ISOLATION LEVEL SERIALIZABLE
COMMIT
SELECT a FROM t
# set_transaction_wrong
SET TRANSACTION ISOLATION LEVEL NOTHING
SET TRANSACTION
SELECT 1
# session_isolation
SET SESSION TRANSACTION ISOLATION LEVEL READ UNCOMMITTED
MARIADB: SELECT @@tx_isolation
MYSQL: SELECT @@transaction_isolation
SELECT 1
MARIADB: SELECT @@tx_isolation
MYSQL: SELECT @@transaction_isolation
# session_isolation_by_variable
MARIADB: SET SESSION tx_isolation = 'READ-COMMITTED'
MARIADB: SELECT @@tx_isolation
MARIADB: SELECT @@session.tx_isolation
MYSQL: SET SESSION transaction_isolation = 'READ-COMMITTED'
MYSQL: SELECT @@transaction_isolation
MYSQL: SELECT @@session.transaction_isolation
MYSQL: SET SESSION transaction_isolation = DEFAULT
MYSQL: SELECT @@session.transaction_isolation
# next_isolation_by_variable
MARIADB: SET @@tx_isolation = 'READ-COMMITTED'
MARIADB: SELECT @@session.tx_isolation
MYSQL: SET @@transaction_isolation = 'READ-COMMITTED'
MYSQL: SELECT @@session.transaction_isolation
# session_read_only
SET SESSION TRANSACTION READ ONLY
INSERT INTO t (a) VALUES (1)
INSERT INTO t (a) VALUES (1)
SET SESSION TRANSACTION READ WRITE
INSERT INTO t (a) VALUES (1)
SELECT a FROM t
# session_both
SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE, READ ONLY
MARIADB: SELECT @@tx_isolation, @@tx_read_only
MYSQL: SELECT @@transaction_isolation, @@transaction_read_only
DELETE FROM t
MARIADB: SELECT @@tx_isolation, @@tx_read_only
MYSQL: SELECT @@transaction_isolation, @@transaction_read_only
# local_isolation
SET LOCAL TRANSACTION ISOLATION LEVEL REPEATABLE READ
MARIADB: SELECT @@tx_isolation
MYSQL: SELECT @@transaction_isolation
# implicit_commit_by_create
BEGIN
INSERT INTO t (a) VALUES (1)
CREATE TABLE x (a INT)
ROLLBACK
SELECT a FROM t
DROP TABLE x
# implicit_commit_by_begin
BEGIN
INSERT INTO t (a) VALUES (1)
BEGIN
ROLLBACK
SELECT a FROM t
# implicit_commit_by_truncate
BEGIN
INSERT INTO t (a) VALUES (1)
TRUNCATE TABLE t
ROLLBACK
SELECT COUNT(*) FROM t
# implicit_commit_by_alter
SET autocommit = 0
INSERT INTO t (a) VALUES (1)
ALTER TABLE t ADD COLUMN z INT
ROLLBACK
SELECT a, z FROM t
# temporary_table_does_not_commit
BEGIN
INSERT INTO t (a) VALUES (1)
CREATE TEMPORARY TABLE x (a INT)
ROLLBACK
SELECT COUNT(*) FROM t
DROP TEMPORARY TABLE x
# autocommit_off_read
SET autocommit = 0
SELECT COUNT(*) FROM t
SELECT COUNT(*) FROM t
COMMIT
SELECT 1
# autocommit_off_many
SET autocommit = 0
INSERT INTO t (a) VALUES (1)
COMMIT
INSERT INTO t (a) VALUES (2)
COMMIT
INSERT INTO t (a) VALUES (3)
ROLLBACK
SELECT a FROM t
COMMIT
# error_keeps_the_transaction
BEGIN
INSERT INTO t (id, a) VALUES (1, 1)
INSERT INTO t (id, a) VALUES (1, 2)
SELECT a FROM t
COMMIT
SELECT a FROM t
# syntax_error_in_a_transaction
BEGIN
INSERT INTO t (a) VALUES (1)
SELEC 1
ROLLBACK
SELECT COUNT(*) FROM t
# xa
XA START 'x1'
INSERT INTO t (a) VALUES (1)
XA END 'x1'
XA PREPARE 'x1'
XA COMMIT 'x1'
SELECT a FROM t
# xa_one_phase
XA START 'x2'
INSERT INTO t (a) VALUES (1)
XA END 'x2'
XA COMMIT 'x2' ONE PHASE
SELECT a FROM t
# xa_rollback
XA START 'x3'
INSERT INTO t (a) VALUES (1)
XA END 'x3'
XA ROLLBACK 'x3'
SELECT a FROM t
# xa_wrong_order
XA START 'x4'
XA COMMIT 'x4'
BEGIN
XA END 'x4'
XA ROLLBACK 'x4'
SELECT 1
# lock_tables
LOCK TABLES t WRITE
INSERT INTO t (a) VALUES (1)
SELECT COUNT(*) FROM mysql.user WHERE 1 = 0
UNLOCK TABLES
SELECT a FROM t
# lock_tables_read
LOCK TABLES t READ
INSERT INTO t (a) VALUES (1)
SELECT COUNT(*) FROM t
UNLOCK TABLES
INSERT INTO t (a) VALUES (1)
# lock_tables_begin_unlocks
LOCK TABLES t READ
BEGIN
INSERT INTO t (a) VALUES (1)
COMMIT
SELECT a FROM t
# lock_for_update
BEGIN
SELECT a FROM t FOR UPDATE
INSERT INTO t (a) VALUES (1)
COMMIT
SELECT a FROM t
# flush_with_read_lock
FLUSH TABLES WITH READ LOCK
SELECT COUNT(*) FROM t
UNLOCK TABLES
INSERT INTO t (a) VALUES (1)
# user_lock
SELECT GET_LOCK('tg_a', 1)
SELECT IS_FREE_LOCK('tg_a')
SELECT RELEASE_LOCK('tg_a')
SELECT IS_FREE_LOCK('tg_a')
SELECT RELEASE_LOCK('tg_a')
# user_lock_twice
SELECT GET_LOCK('tg_b', 1)
SELECT GET_LOCK('tg_b', 1)
SELECT RELEASE_LOCK('tg_b')
SELECT IS_FREE_LOCK('tg_b')
SELECT RELEASE_LOCK('tg_b')
SELECT IS_FREE_LOCK('tg_b')
# user_locks_of_two_names
SELECT GET_LOCK('tg_c', 0), GET_LOCK('tg_d', 0)
SELECT RELEASE_LOCK('tg_c')
SELECT IS_FREE_LOCK('tg_d')
SELECT RELEASE_ALL_LOCKS()
SELECT IS_FREE_LOCK('tg_d')
# user_lock_do
DO GET_LOCK('tg_e', 1)
SELECT IS_FREE_LOCK('tg_e')
DO RELEASE_LOCK('tg_e')
SELECT IS_FREE_LOCK('tg_e')
# user_lock_reset
SELECT GET_LOCK('tg_f', 1)
RESET:
SELECT GET_LOCK('tg_f', 10)
# isolation_of_the_next_transaction_alone_and_a_statement_prepared_under_another
EXEC: INSERT INTO t (a) VALUES (1)
SET autocommit = 0
COMMIT
SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED
SET TRANSACTION ISOLATION LEVEL REPEATABLE READ
EXEC: INSERT INTO t (a) VALUES (1)
SELECT SLEEP(0.2)
SELECT COUNT(*) FROM information_schema.innodb_trx WHERE trx_isolation_level = 'REPEATABLE READ'
COMMIT
SELECT SLEEP(0.2)
SELECT COUNT(*) FROM information_schema.innodb_trx WHERE trx_isolation_level = 'REPEATABLE READ'
# characteristics_that_outlast_their_transaction
SET autocommit = 0
START TRANSACTION READ ONLY
SELECT a FROM t
SET autocommit = 1
INSERT INTO t (a) VALUES (1)
INSERT INTO t (a) VALUES (1)
# characteristics_of_one_transaction_that_autocommit_ends
SET autocommit = 0
SET TRANSACTION READ ONLY
SELECT COUNT(*) FROM t
SET @@autocommit = on
INSERT INTO t (a) VALUES (2)
COMMIT
INSERT INTO t (a) VALUES (2)
# characteristics_of_a_chain
SET autocommit = 0
START TRANSACTION READ ONLY
SELECT COUNT(*) FROM t
COMMIT AND CHAIN
SET autocommit = 1
INSERT INTO t (a) VALUES (3)
