//! What a statement does to what it names.
//!
//! Pure. It decides by a statement's facts alone whether its names may be called, read, written or
//! defined; what stands behind a name is [`super::Catalog`]'s.

use sql::{Effects, Facts, Modes, Verb};

/// A text whose reach is asked for.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// The text.
    pub text: &'a [u8],
    /// How it is read.
    pub modes: Modes,
    /// What it does to what it names.
    pub naming: Naming,
}

impl<'a> Asked<'a> {
    /// A text that is read so and does that.
    pub fn new(text: &'a [u8], (modes, naming): (Modes, Naming)) -> Self {
        Self { text, modes, naming }
    }
}

/// What a statement does to what it names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Naming {
    /// Nothing: it names nothing that runs.
    Nothing,
    /// It looks at definitions, or is about accounts: names that nobody knows are none of its,
    /// outside of a query.
    Looks,
    /// It changes definitions, likewise.
    Defines,
    /// It reads rows.
    Reads,
    /// It may change rows.
    Writes,
    /// It writes new rows.
    Inserts,
    /// Likewise, as one of several statements.
    Several,
}

impl Naming {
    /// That of a statement with these facts.
    pub fn of(facts: &Facts) -> Self {
        const SEVERAL: Effects = Effects::MULTI_STATEMENT.union(Effects::UNCLEAR);
        const COMMITS: Effects = Effects::IMPLICIT_COMMIT.union(Effects::UNCLEAR);
        let is_one = !facts.effects.intersects(SEVERAL);
        match facts.verb {
            Verb::Insert | Verb::Replace if is_one => Self::Inserts,
            verb if is_one && READS.contains(&verb) => Self::Reads,
            verb if is_one && NOTHING.contains(&verb) => Self::Nothing,
            verb if is_one && LOOKS.contains(&verb) => Self::Looks,
            _ if facts.effects.intersects(COMMITS) => Self::Defines,
            _ if !is_one => Self::Several,
            _ => Self::Writes,
        }
    }

    /// Whether it has to do with rows.
    pub(super) fn is_of_rows(self) -> bool {
        matches!(self, Self::Reads | Self::Writes | Self::Inserts | Self::Several)
    }
}

/// Statements that name nothing that runs.
const NOTHING: [Verb; 12] = [
    Verb::Begin,
    Verb::StartTransaction,
    Verb::Commit,
    Verb::Rollback,
    Verb::RollbackSavepoint,
    Verb::Savepoint,
    Verb::ReleaseSavepoint,
    Verb::Use,
    Verb::Kill,
    Verb::UnlockTables,
    Verb::LockTable,
    Verb::Flush,
];

/// Statements that read rows.
const READS: [Verb; 3] = [Verb::Select, Verb::SelectForUpdate, Verb::Set];

/// Statements that look at definitions, keep tables in order, or are about accounts.
const LOOKS: [Verb; 16] = [
    Verb::Show,
    Verb::ShowTableStatus,
    Verb::Describe,
    Verb::Explain,
    Verb::AnalyzeTable,
    Verb::Optimize,
    Verb::TruncateTable,
    Verb::CreateIndex,
    Verb::DropIndex,
    Verb::CreateTemporary,
    Verb::CreateUser,
    Verb::DropUser,
    Verb::Grant,
    Verb::Revoke,
    Verb::Purge,
    Verb::ChangeMaster,
];
