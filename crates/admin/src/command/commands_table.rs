//! Commands of the interface, for the reference: how each is written, what it does, or why it is
//! refused.
//!
//! Data only; a test runs the example of each.

use super::process::{REFUSED, REFUSED_OF_PROCESS};

/// A command as the reference tells it.
#[derive(Clone, Copy, Debug)]
pub struct CommandRow {
    /// Heading that it stands under.
    pub group: &'static str,
    /// How it is written.
    pub syntax: &'static str,
    /// What it does.
    pub doc: &'static str,
    /// One that works on an interface that was just started; empty when there is none.
    pub example: &'static str,
}

/// Every command that does something.
pub const COMMANDS: &[CommandRow] = &[
    row(
        "Layers",
        "LOAD module {TO {RUNTIME | RUN} | FROM {MEMORY | MEM}}",
        "puts what is in memory in force: all of it or nothing",
        "LOAD MYSQL SERVERS TO RUNTIME",
    ),
    row(
        "Layers",
        "SAVE module {TO {MEMORY | MEM} | FROM {RUNTIME | RUN}}",
        "brings memory to what is in force",
        "SAVE MYSQL SERVERS TO MEMORY",
    ),
    row(
        "Layers",
        "LOAD module {TO {MEMORY | MEM} | FROM DISK}",
        "brings memory to what is on disk",
        "LOAD MYSQL SERVERS FROM DISK",
    ),
    row(
        "Layers",
        "SAVE module {TO DISK | FROM {MEMORY | MEM}}",
        "keeps memory on disk, in one transaction; needs `--datadir`",
        "",
    ),
    row(
        "Layers",
        "LOAD module FROM {CONFIG | FILE}",
        "adds what the configuration file says to memory",
        "LOAD MYSQL SERVERS FROM CONFIG",
    ),
    row("Layers", "SAVE ALL TO DISK", "keeps every module on disk, one after the other", ""),
    row("Layers", "LOAD MYSQL USER name TO RUNTIME", "puts one user in force", ""),
    row(
        "Layers",
        "SELECT CONFIG FILE",
        "memory as the text of a configuration file",
        "SELECT CONFIG FILE",
    ),
    row("Layers", "SELECT CONFIG INTO OUTFILE path", "the same to a file of the process", ""),
    row("Layers", "SAVE CONFIG TO FILE path", "the same to a file of the process", ""),
    row(
        "Layers",
        "CHECKSUM [MEMORY | MEM | DISK] MYSQL {SERVERS | USERS | QUERY RULES | VARIABLES | … HOSTGROUPS}",
        "one number for many rows",
        "CHECKSUM MYSQL SERVERS",
    ),
    row(
        "Layers",
        "SELECT GLOBAL_CHECKSUM()",
        "one number for everything in force",
        "SELECT GLOBAL_CHECKSUM()",
    ),
    row(
        "What changes",
        "PLAN module",
        "rows that a LOAD would add, remove or change, what is wrong with them, what the lint says",
        "PLAN MYSQL USERS",
    ),
    row(
        "What changes",
        "SHOW CONFIG DIFF [module] [FROM layer TO layer]",
        "differences between two layers",
        "SHOW CONFIG DIFF",
    ),
    row(
        "What changes",
        "SHOW CONFIG VERSIONS",
        "versions that were in force",
        "SHOW CONFIG VERSIONS",
    ),
    row(
        "What changes",
        "ROLLBACK {module | CONFIG} TO VERSION n",
        "puts a version in force again, and in memory",
        "ROLLBACK CONFIG TO VERSION 1",
    ),
    row("What changes", "LINT [module]", "rows in memory that are probably not meant so", "LINT"),
    row(
        "What changes",
        "CANDIDATE [MYSQL QUERY RULES]",
        "what the rules in memory would change of the queries counted so far",
        "CANDIDATE",
    ),
    row(
        "What changes",
        "EXPLAIN ROUTE statement [FOR USER 'u'] [SCHEMA 's'] [FROM 'addr'] [SNI 'host']",
        "where a query goes, and why",
        "",
    ),
    row(
        "What changes",
        "TIDEGATE CACHE ADVICE",
        "which queries would gain from the query cache, what speaks against it, and rules to paste",
        "TIDEGATE CACHE ADVICE",
    ),
    row(
        "Variables",
        "SET [GLOBAL] variable = value",
        "a variable in memory, judged at once",
        "SET mysql-max_connections = 500",
    ),
    row(
        "Variables",
        "SHOW [GLOBAL | ALL | MYSQL | ADMIN] VARIABLES [LIKE … | WHERE …]",
        "variables in memory",
        "SHOW MYSQL VARIABLES LIKE '%timeout'",
    ),
    row("Variables", "SELECT @@variable", "a variable in an expression", "SELECT @@mysql-threads"),
    row(
        "The process",
        "PROXYSQL PAUSE",
        "closes the listeners; sessions end as soon as they have no transaction open",
        "PROXYSQL PAUSE",
    ),
    row("The process", "PROXYSQL RESUME", "opens the listeners after a pause", "PROXYSQL RESUME"),
    row("The process", "PROXYSQL STOP", "closes the listeners and ends every session", ""),
    row("The process", "PROXYSQL START", "serves again after a stop", "PROXYSQL START"),
    row(
        "The process",
        "PROXYSQL RESTART",
        "ends every session and begins anew as the same process",
        "PROXYSQL RESTART",
    ),
    row(
        "The process",
        "PROXYSQL SHUTDOWN GRACEFUL",
        "takes no new clients, lets transactions end within `mysql-shutdown_timeout_ms`, and ends",
        "PROXYSQL SHUTDOWN GRACEFUL",
    ),
    row(
        "The process",
        "PROXYSQL {SHUTDOWN [SLOW] | KILL}",
        "ends every session and the process",
        "PROXYSQL SHUTDOWN SLOW",
    ),
    row(
        "The process",
        "PROXYSQL {READONLY | READWRITE}",
        "whether tables may be written",
        "PROXYSQL READWRITE",
    ),
    row(
        "The process",
        "PROXYSQL FLUSH LOGS",
        "nothing: the log is standard error",
        "PROXYSQL FLUSH LOGS",
    ),
    row(
        "The process",
        "PROXYSQL FLUSH [MYSQL] QUERY CACHE [{DIGEST | USER | TABLE} 'of']",
        "forgets answers of the query cache: all, or those of a digest, of an account by its name \
         at servers, or whose text has the name of a table, in whatever schema; the rows affected \
         are their number",
        "PROXYSQL FLUSH QUERY CACHE TABLE 'products'",
    ),
    row(
        "The process",
        "PROXYSQL FLUSH MYSQL CLIENT HOSTS",
        "forgets errors by client address",
        "PROXYSQL FLUSH MYSQL CLIENT HOSTS",
    ),
    row(
        "The process",
        "TIDEGATE FLUSH CONNECTIONS [user]",
        "connections to servers that are open now, of a user or of all, serve nobody new: they are \
         closed where they are free, and otherwise when their session lets go of them",
        "TIDEGATE FLUSH CONNECTIONS app",
    ),
    row(
        "The process",
        "PROXYSQL FLUSH CONFIGDB",
        "opens `tidegate.db` anew, after another was put in its place",
        "",
    ),
    row(
        "The process",
        "PROXYSQL RELOAD TLS",
        "reads certificates and keys anew; those before stay where one cannot be read",
        "PROXYSQL RELOAD TLS",
    ),
    row("The process", "LOGENTRY text", "writes to the log", "LOGENTRY hello"),
    row(
        "The process",
        "SIGNAL MYSQL THREADS",
        "nothing: workers are always awake to mail",
        "SIGNAL MYSQL THREADS",
    ),
    row(
        "The process",
        "LOAD COREDUMP TO RUNTIME",
        "nothing: the process does not dump itself",
        "LOAD COREDUMP TO RUNTIME",
    ),
    row(
        "The process",
        "TIDEGATE HOLD HOSTGROUP hostgroup [FOR seconds]",
        "lets nothing new begin there, for 30 seconds at most if nothing is said: statements wait, open transactions go on, and so do sessions that keep a connection",
        "TIDEGATE HOLD HOSTGROUP 1000 FOR 1",
    ),
    row(
        "The process",
        "TIDEGATE RELEASE HOSTGROUP hostgroup",
        "lets everything begin there again; what waited runs",
        "",
    ),
    row(
        "The process",
        "TIDEGATE SWITCHOVER hostgroup [TO 'host:port'] [DRY RUN]",
        "puts a replica, that one or the one least behind, in the place of a hostgroup's writer while clients wait; the count in the answer is the number by which stats_tidegate_switchovers tells how it goes. DRY RUN tells which it would be, and why others are not",
        "",
    ),
    row(
        "Statistics and sessions",
        "KILL [CONNECTION | QUERY] n",
        "ends a session, or what it runs",
        "",
    ),
    row("Statistics and sessions", "SHOW [FULL] PROCESSLIST", "sessions", "SHOW PROCESSLIST"),
    row(
        "Statistics and sessions",
        "SHOW TOPOLOGY",
        "servers by hostgroup: role, status, lag, latency, and why they stand there; times are UTC",
        "SHOW TOPOLOGY",
    ),
    row(
        "Statistics and sessions",
        "SHOW PROMETHEUS METRICS",
        "what `/metrics` answers",
        "SHOW PROMETHEUS METRICS",
    ),
    row(
        "Statistics and sessions",
        "SHOW [GLOBAL | SESSION | MYSQL] STATUS [LIKE … | WHERE …]",
        "`stats_mysql_global`",
        "SHOW MYSQL STATUS",
    ),
    row(
        "Statistics and sessions",
        "TRUNCATE [TABLE] stats_mysql_query_digest[_reset]",
        "forgets what was counted by digest",
        "TRUNCATE TABLE stats_mysql_query_digest",
    ),
    row(
        "Statistics and sessions",
        "TRUNCATE [TABLE] table",
        "deletes the rows of a table",
        "TRUNCATE TABLE scheduler",
    ),
    row(
        "Statistics and sessions",
        "SAVE MYSQL DIGEST TO DISK",
        "moves what was counted by digest to `history_mysql_query_digest`",
        "SAVE MYSQL DIGEST TO DISK",
    ),
    row(
        "Looking at things",
        "SHOW [FULL] TABLES [FROM | IN schema] [LIKE …]",
        "tables of a schema",
        "SHOW TABLES FROM stats",
    ),
    row("Looking at things", "SHOW {DATABASES | SCHEMAS} [LIKE …]", "schemas", "SHOW DATABASES"),
    row(
        "Looking at things",
        "SHOW CREATE TABLE [schema.]table",
        "how a table is made",
        "SHOW CREATE TABLE mysql_users",
    ),
    row(
        "Looking at things",
        "{SHOW [FULL] {FIELDS | COLUMNS} FROM | DESCRIBE | DESC} table",
        "columns of a table",
        "DESC mysql_users",
    ),
    row(
        "Looking at things",
        "SHOW TABLE STATUS [FROM schema] [LIKE …]",
        "tables in MySQL's form",
        "SHOW TABLE STATUS LIKE 'mysql_users'",
    ),
    row(
        "Looking at things",
        "SHOW {INDEX | INDEXES | KEYS} FROM table",
        "an empty answer, for tools that ask",
        "SHOW INDEX FROM mysql_users",
    ),
    row(
        "Looking at things",
        "SHOW MYSQL {USERS | SERVERS}",
        "tables in memory",
        "SHOW MYSQL SERVERS",
    ),
    row(
        "Looking at things",
        "SHOW {CHARSET | COLLATION | ENGINES | PLUGINS}",
        "what clients ask every server for",
        "SHOW CHARSET",
    ),
    row(
        "Looking at things",
        "SHOW [COUNT(*)] {WARNINGS | ERRORS}",
        "what the statement before had to say",
        "SHOW WARNINGS",
    ),
    row(
        "Habits of clients",
        "BEGIN, COMMIT, ROLLBACK, SAVEPOINT, RELEASE, START TRANSACTION, LOCK TABLES, UNLOCK TABLES",
        "nothing: each statement stands for itself",
        "START TRANSACTION",
    ),
    row(
        "Habits of clients",
        "USE schema",
        "what `DATABASE()` tells; names are found in all schemas",
        "USE stats",
    ),
    row(
        "Habits of clients",
        "SET {NAMES | SESSION … | @name = … | variables of servers}",
        "nothing",
        "SET NAMES utf8mb4",
    ),
];

/// What ProxySQL knows and is refused here: how it begins, and why.
pub fn refused() -> impl Iterator<Item = (String, &'static str)> {
    let of_process =
        REFUSED_OF_PROCESS.iter().map(|(word, why)| (format!("PROXYSQL {word}"), *why));
    of_process.chain(REFUSED.iter().map(|(words, why)| (words.join(" "), *why)))
}

const fn row(
    group: &'static str,
    syntax: &'static str,
    doc: &'static str,
    example: &'static str,
) -> CommandRow {
    CommandRow { group, syntax, doc, example }
}
