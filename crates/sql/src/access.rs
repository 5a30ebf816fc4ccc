//! What a statement does to data, as far as it matters on which servers it may run.
//!
//! Where reads and writes go is not known here; what a function, view or trigger does beside what
//! the text says, neither.

use crate::Verb;
use crate::keyword::Keyword;

/// What a text does to data. Of several statements, the greatest counts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Access {
    /// It only reads, so that it may run where no write can go.
    Reads,
    /// It neither reads nor changes any: it is about the session, a transaction or a server.
    Neither,
    /// It changes data or definitions that all sessions see, or may do so.
    #[default]
    Changes,
}

impl Access {
    /// Of a statement of that kind that begins with these two words.
    pub(crate) fn of(verb: Verb, head: Keyword, next: Keyword) -> Self {
        match verb {
            Verb::DropTable | Verb::Other if next == Keyword::Temporary => Self::Neither,
            Verb::Set if matches!(next, Keyword::Password | Keyword::Default) => Self::Changes,
            Verb::Select
            | Verb::SelectForUpdate
            | Verb::Show
            | Verb::ShowTableStatus
            | Verb::Describe
            | Verb::Explain => Self::Reads,
            Verb::Other => match head {
                Keyword::Checksum
                | Keyword::Do
                | Keyword::Get
                | Keyword::Help
                | Keyword::Signal
                | Keyword::Resignal => Self::Reads,
                Keyword::Handler
                | Keyword::Xa
                | Keyword::Lock
                | Keyword::Unlock
                | Keyword::Backup
                | Keyword::Shutdown
                | Keyword::Restart => Self::Neither,
                _ => Self::Changes,
            },
            Verb::Begin
            | Verb::StartTransaction
            | Verb::Commit
            | Verb::Rollback
            | Verb::Savepoint
            | Verb::ReleaseSavepoint
            | Verb::RollbackSavepoint
            | Verb::Set
            | Verb::Use
            | Verb::Prepare
            | Verb::Deallocate
            | Verb::LockTable
            | Verb::UnlockTables
            | Verb::CreateTemporary
            | Verb::Flush
            | Verb::Kill => Self::Neither,
            _ => Self::Changes,
        }
    }
}
