//! The kinds of statements an operator sees in `stats_mysql_commands_counters`.
//!
//! A verb is for counting and for asking whether a statement is a `SET`, a `USE` or a read; what
//! a statement does to a connection is in its effects.

/// Kind of a statement.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[repr(u8)]
pub enum Verb {
    /// `ALTER TABLE`.
    AlterTable,
    /// `ALTER VIEW`.
    AlterView,
    /// `ANALYZE TABLE`.
    AnalyzeTable,
    /// `BEGIN [WORK]`.
    Begin,
    /// `CALL`.
    Call,
    /// Also `CHANGE REPLICATION SOURCE` and `… FILTER`.
    ChangeMaster,
    /// `COMMIT`.
    Commit,
    /// Also `CREATE SCHEMA`.
    CreateDatabase,
    /// `CREATE INDEX`.
    CreateIndex,
    /// `CREATE TABLE`.
    CreateTable,
    /// A temporary table.
    CreateTemporary,
    /// `CREATE TRIGGER`.
    CreateTrigger,
    /// `CREATE USER`.
    CreateUser,
    /// `CREATE VIEW`.
    CreateView,
    /// `DEALLOCATE PREPARE` and `DROP PREPARE`.
    Deallocate,
    /// `DELETE`.
    Delete,
    /// `DESCRIBE`, `DESC` or `EXPLAIN` of a table.
    Describe,
    /// Also `DROP SCHEMA`.
    DropDatabase,
    /// `DROP INDEX`.
    DropIndex,
    /// `DROP TABLE`.
    DropTable,
    /// `DROP TRIGGER`.
    DropTrigger,
    /// `DROP USER`.
    DropUser,
    /// `DROP VIEW`.
    DropView,
    /// `EXECUTE`.
    Execute,
    /// Also `DESCRIBE` and `DESC` of a statement.
    Explain,
    /// `FLUSH`.
    Flush,
    /// `GRANT`.
    Grant,
    /// `INSERT`.
    Insert,
    /// `KILL`.
    Kill,
    /// `LOAD DATA`, `LOAD XML`, `LOAD INDEX`.
    Load,
    /// `LOCK TABLE`.
    LockTable,
    /// `OPTIMIZE`.
    Optimize,
    /// `PREPARE`.
    Prepare,
    /// `PURGE`.
    Purge,
    /// `RELEASE SAVEPOINT`.
    ReleaseSavepoint,
    /// `RENAME TABLE`.
    RenameTable,
    /// Also `RESET BINARY LOGS AND GTIDS`.
    ResetMaster,
    /// Also `RESET REPLICA`.
    ResetSlave,
    /// `REPLACE`.
    Replace,
    /// `REVOKE`.
    Revoke,
    /// `ROLLBACK`.
    Rollback,
    /// `ROLLBACK SAVEPOINT`.
    RollbackSavepoint,
    /// `SAVEPOINT`.
    Savepoint,
    /// Also `TABLE t`, `VALUES …` and a parenthesised query.
    Select,
    /// A read that takes row locks, whatever its spelling.
    SelectForUpdate,
    /// `SET`.
    Set,
    /// `SHOW TABLE STATUS`.
    ShowTableStatus,
    /// `START TRANSACTION`.
    StartTransaction,
    /// `TRUNCATE TABLE`.
    TruncateTable,
    /// `UNLOCK TABLES`.
    UnlockTables,
    /// `UPDATE`.
    Update,
    /// `USE`.
    Use,
    /// Every other `SHOW`.
    Show,
    /// Understood, but without a counter of its own (`DO`, `HANDLER`, `XA`, `HELP`, …).
    Other,
    /// Not understood, or empty.
    #[default]
    Unknown,
}

impl Verb {
    /// Every verb, in the order of their discriminants.
    pub const ALL: [Self; 55] = [
        Self::AlterTable,
        Self::AlterView,
        Self::AnalyzeTable,
        Self::Begin,
        Self::Call,
        Self::ChangeMaster,
        Self::Commit,
        Self::CreateDatabase,
        Self::CreateIndex,
        Self::CreateTable,
        Self::CreateTemporary,
        Self::CreateTrigger,
        Self::CreateUser,
        Self::CreateView,
        Self::Deallocate,
        Self::Delete,
        Self::Describe,
        Self::DropDatabase,
        Self::DropIndex,
        Self::DropTable,
        Self::DropTrigger,
        Self::DropUser,
        Self::DropView,
        Self::Execute,
        Self::Explain,
        Self::Flush,
        Self::Grant,
        Self::Insert,
        Self::Kill,
        Self::Load,
        Self::LockTable,
        Self::Optimize,
        Self::Prepare,
        Self::Purge,
        Self::ReleaseSavepoint,
        Self::RenameTable,
        Self::ResetMaster,
        Self::ResetSlave,
        Self::Replace,
        Self::Revoke,
        Self::Rollback,
        Self::RollbackSavepoint,
        Self::Savepoint,
        Self::Select,
        Self::SelectForUpdate,
        Self::Set,
        Self::ShowTableStatus,
        Self::StartTransaction,
        Self::TruncateTable,
        Self::UnlockTables,
        Self::Update,
        Self::Use,
        Self::Show,
        Self::Other,
        Self::Unknown,
    ];

    /// Name in the `Command` column; two verbs without a counter of their own share `UNKNOWN`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::AlterTable => "ALTER_TABLE",
            Self::AlterView => "ALTER_VIEW",
            Self::AnalyzeTable => "ANALYZE_TABLE",
            Self::Begin => "BEGIN",
            Self::Call => "CALL",
            Self::ChangeMaster => "CHANGE_MASTER",
            Self::Commit => "COMMIT",
            Self::CreateDatabase => "CREATE_DATABASE",
            Self::CreateIndex => "CREATE_INDEX",
            Self::CreateTable => "CREATE_TABLE",
            Self::CreateTemporary => "CREATE_TEMPORARY",
            Self::CreateTrigger => "CREATE_TRIGGER",
            Self::CreateUser => "CREATE_USER",
            Self::CreateView => "CREATE_VIEW",
            Self::Deallocate => "DEALLOCATE",
            Self::Delete => "DELETE",
            Self::Describe => "DESCRIBE",
            Self::DropDatabase => "DROP_DATABASE",
            Self::DropIndex => "DROP_INDEX",
            Self::DropTable => "DROP_TABLE",
            Self::DropTrigger => "DROP_TRIGGER",
            Self::DropUser => "DROP_USER",
            Self::DropView => "DROP_VIEW",
            Self::Execute => "EXECUTE",
            Self::Explain => "EXPLAIN",
            Self::Flush => "FLUSH",
            Self::Grant => "GRANT",
            Self::Insert => "INSERT",
            Self::Kill => "KILL",
            Self::Load => "LOAD",
            Self::LockTable => "LOCK_TABLE",
            Self::Optimize => "OPTIMIZE",
            Self::Prepare => "PREPARE",
            Self::Purge => "PURGE",
            Self::ReleaseSavepoint => "RELEASE_SAVEPOINT",
            Self::RenameTable => "RENAME_TABLE",
            Self::ResetMaster => "RESET_MASTER",
            Self::ResetSlave => "RESET_SLAVE",
            Self::Replace => "REPLACE",
            Self::Revoke => "REVOKE",
            Self::Rollback => "ROLLBACK",
            Self::RollbackSavepoint => "ROLLBACK_SAVEPOINT",
            Self::Savepoint => "SAVEPOINT",
            Self::Select => "SELECT",
            Self::SelectForUpdate => "SELECT_FOR_UPDATE",
            Self::Set => "SET",
            Self::ShowTableStatus => "SHOW_TABLE_STATUS",
            Self::StartTransaction => "START_TRANSACTION",
            Self::TruncateTable => "TRUNCATE_TABLE",
            Self::UnlockTables => "UNLOCK_TABLES",
            Self::Update => "UPDATE",
            Self::Use => "USE",
            Self::Show => "SHOW",
            Self::Other | Self::Unknown => "UNKNOWN",
        }
    }

    /// Position in [`Verb::ALL`], for tables of counters.
    pub const fn index(self) -> usize {
        self as usize
    }
}
