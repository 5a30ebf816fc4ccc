//! Recognises a statement by its first words and notes what it does as a whole.
//!
//! Nothing is checked: what no server accepts may be given any effects. A statement that is not
//! recognised is unclear. Effects of single words are noted by `reader` on the way.

use crate::keyword::Keyword;
use crate::lexer::TokenKind;
use crate::reader::Reader;
use crate::{Access, Effects, Verb};

impl Reader<'_> {
    /// Reads the head of a statement, prefixes such as `EXPLAIN` included.
    pub(crate) fn statement(&mut self, first: bool) -> Verb {
        let mut around = Around::Nothing;
        self.accesses(Access::Reads);
        loop {
            while self.kind() == Some(TokenKind::Punct(b'(')) {
                self.advance();
            }
            if self.at_end() {
                return Verb::Unknown;
            }
            match self.take_keyword() {
                Keyword::Explain | Keyword::Describe | Keyword::Desc
                    if around == Around::Nothing =>
                {
                    match self.explain() {
                        Explained::Statement(executed) => around = executed,
                        Explained::Connection => return Verb::Explain,
                        Explained::Table => return Verb::Describe,
                    }
                }
                Keyword::Analyze if around == Around::Nothing => {
                    if matches!(
                        self.keyword(),
                        Keyword::Table | Keyword::Local | Keyword::NoWriteToBinlog
                    ) {
                        self.note(Effects::IMPLICIT_COMMIT);
                        self.accesses(Access::Changes);
                        return Verb::AnalyzeTable;
                    }
                    self.explain_options();
                    around = Around::Executed;
                }
                Keyword::Set if self.keyword() == Keyword::Statement => {
                    self.set_statement();
                }
                head => return self.inner(head, first, around),
            }
        }
    }

    /// The statement itself, after its first word.
    fn inner(&mut self, head: Keyword, first: bool, around: Around) -> Verb {
        let next = self.keyword();
        let verb = self.head(head, first);
        if around != Around::Explained {
            self.accesses(Access::of(verb, head, next));
        }
        around.verb(verb)
    }

    fn head(&mut self, head: Keyword, first: bool) -> Verb {
        match head {
            Keyword::Select | Keyword::Table | Keyword::Values => Verb::Select,
            Keyword::Insert => self.inserting(Verb::Insert),
            Keyword::Update => Verb::Update,
            Keyword::Delete => Verb::Delete,
            Keyword::Replace => self.inserting(Verb::Replace),
            Keyword::With => self.with(),
            Keyword::Set => self.set(first),
            Keyword::Show => self.show(),
            Keyword::Use => self.use_schema(first),
            Keyword::Begin
            | Keyword::Start
            | Keyword::Commit
            | Keyword::Rollback
            | Keyword::Savepoint
            | Keyword::Release => self.transaction(head),
            Keyword::Prepare => {
                self.expect_texts();
                self.known(Verb::Prepare, Effects::TEXT_PREPARE)
            }
            Keyword::Execute => self.execute(),
            Keyword::Deallocate => self.known(Verb::Deallocate, Effects::TEXT_PREPARE),
            Keyword::Call => self.known(Verb::Call, Effects::CALLS_PROCEDURE),
            Keyword::Handler => self.known(Verb::Other, Effects::HANDLER),
            Keyword::Xa => self.xa(),
            Keyword::Lock | Keyword::Unlock | Keyword::Flush | Keyword::Backup => self.locks(head),
            Keyword::Get if self.diagnostics() => {
                self.expect_assignments();
                self.known(Verb::Other, Effects::SHOW_WARNINGS)
            }
            Keyword::Kill => Verb::Kill,
            Keyword::Load => self.load(),
            Keyword::Do
            | Keyword::Help
            | Keyword::Signal
            | Keyword::Resignal
            | Keyword::Checksum
            | Keyword::Shutdown
            | Keyword::Restart
            | Keyword::Clone => Verb::Other,
            _ => self.definition(head),
        }
    }

    /// Statements that define and administer: the server commits before them.
    fn definition(&mut self, head: Keyword) -> Verb {
        let verb = match head {
            Keyword::Create => return self.create(),
            Keyword::Alter => self.alter(),
            Keyword::Drop => return self.drop_object(),
            Keyword::Truncate => Verb::TruncateTable,
            Keyword::Rename => self.rename(),
            Keyword::Grant | Keyword::Revoke => {
                self.expect_accounts();
                if head == Keyword::Grant { Verb::Grant } else { Verb::Revoke }
            }
            Keyword::Optimize => Verb::Optimize,
            Keyword::Purge => Verb::Purge,
            Keyword::Change if matches!(self.keyword(), Keyword::Master | Keyword::Replication) => {
                Verb::ChangeMaster
            }
            Keyword::Reset => self.reset(),
            Keyword::Check
            | Keyword::Repair
            | Keyword::Cache
            | Keyword::Import
            | Keyword::Install
            | Keyword::Uninstall
            | Keyword::Stop => Verb::Other,
            Keyword::Binlog => {
                self.note(Effects::CHANGES_SESSION);
                Verb::Other
            }
            _ => return self.unclear(),
        };
        self.known(verb, Effects::IMPLICIT_COMMIT)
    }

    fn known(&mut self, verb: Verb, effects: Effects) -> Verb {
        self.note(effects);
        verb
    }

    fn unclear(&mut self) -> Verb {
        self.known(Verb::Unknown, Effects::UNCLEAR)
    }

    /// After `EXPLAIN`, `DESCRIBE` or `DESC`.
    fn explain(&mut self) -> Explained {
        if self.takes(Keyword::For) {
            return Explained::Connection;
        }
        let executed = self.explain_options();
        let statement = self.kind() == Some(TokenKind::Punct(b'('))
            || matches!(
                self.keyword(),
                Keyword::Select
                    | Keyword::Table
                    | Keyword::Values
                    | Keyword::With
                    | Keyword::Insert
                    | Keyword::Update
                    | Keyword::Delete
                    | Keyword::Replace
                    | Keyword::Call
                    | Keyword::Execute
            );
        if statement { Explained::Statement(executed) } else { Explained::Table }
    }

    /// Goes past `EXTENDED`, `FORMAT = x INTO @v`, `FOR SCHEMA x` and the like, up to the inner
    /// statement; tells whether it will be executed.
    fn explain_options(&mut self) -> Around {
        let mut around = Around::Explained;
        for _ in 0..OPTIONS {
            match self.keyword() {
                Keyword::Analyze => {
                    around = Around::Executed;
                    self.advance();
                }
                Keyword::Extended | Keyword::Partitions => self.advance(),
                Keyword::Format => {
                    self.advance();
                    // the name of a table when no `=` follows
                    if self.kind() == Some(TokenKind::Punct(b'=')) {
                        self.advance();
                        self.advance();
                    }
                }
                Keyword::Into => {
                    self.advance();
                    self.advance();
                    self.advance();
                }
                Keyword::For => {
                    self.advance();
                    self.advance();
                    self.advance();
                }
                _ => break,
            }
        }
        around
    }

    /// After `SET`, at `STATEMENT`: goes past `FOR`.
    fn set_statement(&mut self) {
        self.note(Effects::SET_STATEMENT);
        let depth = self.depth();
        while !self.at_end() {
            if self.keyword() == Keyword::For && self.depth() == depth {
                self.advance();
                return;
            }
            self.advance();
        }
        self.note(Effects::UNCLEAR);
    }

    /// After `WITH`: the statement behind the common table expressions.
    fn with(&mut self) -> Verb {
        let depth = self.depth();
        while !self.at_end() {
            if self.depth() == depth {
                match self.keyword() {
                    Keyword::Select | Keyword::Table | Keyword::Values => break,
                    Keyword::Update => return Verb::Update,
                    Keyword::Delete => return Verb::Delete,
                    Keyword::Insert => return self.inserting(Verb::Insert),
                    Keyword::Replace => return self.inserting(Verb::Replace),
                    _ => {}
                }
            }
            self.advance();
        }
        Verb::Select
    }

    fn set(&mut self, first: bool) -> Verb {
        let effects = match self.keyword() {
            Keyword::Password => Effects::CHANGES_SESSION | Effects::IMPLICIT_COMMIT,
            Keyword::Role | Keyword::Default | Keyword::Resource => Effects::CHANGES_SESSION,
            _ if !first => Effects::CHANGES_SESSION,
            _ => Effects::NONE,
        };
        self.known(Verb::Set, effects)
    }

    fn show(&mut self) -> Verb {
        let mut before = Keyword::None;
        for _ in 0..OPTIONS {
            let word = self.keyword();
            match (before, word) {
                (_, Keyword::Warnings | Keyword::Errors) => self.note(Effects::SHOW_WARNINGS),
                (Keyword::Global, Keyword::Variables) => {}
                // the last insert id is one of them
                (_, Keyword::Variables) => self.note(Effects::READS_LAST_INSERT_ID),
                (_, Keyword::Profile | Keyword::Profiles) => self.note(Effects::UNCLEAR),
                (_, Keyword::Grants) | (Keyword::Create, Keyword::User) => {
                    self.expect_accounts();
                }
                (Keyword::Table, Keyword::Status) => return Verb::ShowTableStatus,
                _ => {}
            }
            if self.at_end() {
                break;
            }
            before = word;
            self.advance();
        }
        Verb::Show
    }

    fn use_schema(&mut self, first: bool) -> Verb {
        if !self.take_schema() {
            self.note(Effects::UNCLEAR);
        }
        if !first {
            self.note(Effects::CHANGES_SESSION);
        }
        Verb::Use
    }

    fn transaction(&mut self, head: Keyword) -> Verb {
        match head {
            Keyword::Begin => self.begin(),
            Keyword::Start => self.start(),
            Keyword::Commit => self.transaction_end(Verb::Commit),
            Keyword::Rollback => self.transaction_end(Verb::Rollback),
            Keyword::Release if self.keyword() == Keyword::Savepoint => {
                self.known(Verb::ReleaseSavepoint, Effects::SAVEPOINT)
            }
            Keyword::Savepoint => self.known(Verb::Savepoint, Effects::SAVEPOINT),
            _ => self.unclear(),
        }
    }

    /// `BEGIN [WORK]`; anything else is a compound statement.
    fn begin(&mut self) -> Verb {
        self.takes(Keyword::Work);
        self.note(Effects::TRANSACTION_START);
        if !self.at_end() {
            self.note(Effects::UNCLEAR);
        }
        Verb::Begin
    }

    fn start(&mut self) -> Verb {
        match self.keyword() {
            Keyword::Transaction => self.known(Verb::StartTransaction, Effects::TRANSACTION_START),
            Keyword::Slave | Keyword::Replica | Keyword::GroupReplication | Keyword::All => {
                self.known(Verb::Other, Effects::IMPLICIT_COMMIT)
            }
            _ => self.unclear(),
        }
    }

    /// After `COMMIT` or `ROLLBACK`; unclear where a server would not take it.
    fn transaction_end(&mut self, verb: Verb) -> Verb {
        self.takes(Keyword::Work);
        if verb == Verb::Rollback && self.takes(Keyword::To) {
            return self.known(Verb::RollbackSavepoint, Effects::SAVEPOINT);
        }
        if self.takes(Keyword::And) {
            self.ends_with(Keyword::Chain, Effects::TRANSACTION_START);
        }
        if matches!(self.keyword(), Keyword::No | Keyword::Release) {
            self.ends_with(Keyword::Release, Effects::CHANGES_SESSION);
        }
        if !self.at_end() {
            self.note(Effects::UNCLEAR);
        }
        self.known(verb, Effects::TRANSACTION_END)
    }

    /// At a word that does something to the end of a transaction, or at `NO` in front of it.
    fn ends_with(&mut self, word: Keyword, does: Effects) {
        let is_denied = self.takes(Keyword::No);
        let effects = match self.takes(word) {
            true if is_denied => Effects::NONE,
            true => does,
            false => Effects::UNCLEAR,
        };
        self.note(effects);
    }

    fn execute(&mut self) -> Verb {
        if self.keyword() == Keyword::Immediate {
            self.expect_texts();
            self.note(Effects::UNCLEAR);
        }
        self.known(Verb::Execute, Effects::TEXT_EXECUTE)
    }

    fn locks(&mut self, head: Keyword) -> Verb {
        let tables = matches!(self.keyword(), Keyword::Table | Keyword::Tables);
        match head {
            Keyword::Lock if tables => {
                self.known(Verb::LockTable, Effects::LOCKS_TABLES | Effects::IMPLICIT_COMMIT)
            }
            Keyword::Unlock if tables => {
                self.known(Verb::UnlockTables, Effects::UNLOCKS_TABLES | Effects::IMPLICIT_COMMIT)
            }
            Keyword::Unlock if self.keyword() == Keyword::Instance => Verb::Other,
            Keyword::Flush => self.flush(),
            // `UNLOCK TABLES` does not end these, hence also unclear
            Keyword::Lock | Keyword::Backup => {
                self.known(Verb::Other, Effects::LOCKS_TABLES | Effects::UNCLEAR)
            }
            _ => self.unclear(),
        }
    }

    fn flush(&mut self) -> Verb {
        self.note(Effects::IMPLICIT_COMMIT);
        while !self.at_end() {
            if matches!(self.take_keyword(), Keyword::Lock | Keyword::Export) {
                self.note(Effects::LOCKS_TABLES);
            }
        }
        Verb::Flush
    }

    fn diagnostics(&mut self) -> bool {
        // after CURRENT or STACKED, which are no keywords here
        if self.keyword() == Keyword::None {
            self.advance();
        }
        self.keyword() == Keyword::Diagnostics
    }

    fn inserting(&mut self, verb: Verb) -> Verb {
        self.expect_rows();
        verb
    }

    fn load(&mut self) -> Verb {
        if self.keyword() == Keyword::Index {
            return self.known(Verb::Load, Effects::IMPLICIT_COMMIT);
        }
        self.expect_assignments();
        for _ in 0..OPTIONS {
            if self.kind() != Some(TokenKind::Word) {
                break;
            }
            if self.take_keyword() == Keyword::Local {
                self.note(Effects::LOAD_LOCAL);
            }
        }
        self.known(Verb::Load, Effects::SETS_LAST_INSERT_ID)
    }

    /// `RECOVER` only lists; everything else is about a transaction.
    fn xa(&mut self) -> Verb {
        let lists =
            self.kind() == Some(TokenKind::Word) && self.bytes().eq_ignore_ascii_case(b"RECOVER");
        let effects = if lists { Effects::NONE } else { Effects::XA };
        self.known(Verb::Other, effects)
    }

    fn create(&mut self) -> Verb {
        let (object, temporary) = self.object();
        if temporary {
            return self.known(Verb::CreateTemporary, Effects::TEMPORARY_TABLE);
        }
        self.note(Effects::IMPLICIT_COMMIT);
        self.find_body(object);
        match object {
            Keyword::Table => Verb::CreateTable,
            Keyword::View => Verb::CreateView,
            Keyword::Index => Verb::CreateIndex,
            Keyword::Trigger => Verb::CreateTrigger,
            Keyword::Database | Keyword::Schema => Verb::CreateDatabase,
            Keyword::User => Verb::CreateUser,
            Keyword::None => self.known(Verb::Other, Effects::UNCLEAR),
            _ => Verb::Other,
        }
    }

    fn alter(&mut self) -> Verb {
        let (object, _) = self.object();
        self.find_body(object);
        match object {
            Keyword::Table => Verb::AlterTable,
            Keyword::View => Verb::AlterView,
            Keyword::None => self.known(Verb::Other, Effects::UNCLEAR),
            _ => Verb::Other,
        }
    }

    /// What follows may be stored code. The time at which an event begins is computed at once.
    fn find_body(&mut self, object: Keyword) {
        if has_body(object) {
            self.expect_body();
        }
        let only_kept = matches!(
            object,
            Keyword::View | Keyword::Trigger | Keyword::Procedure | Keyword::Function
        );
        self.keeps_code(only_kept);
    }

    fn drop_object(&mut self) -> Verb {
        let (object, temporary) = self.object();
        if object == Keyword::Prepare {
            return self.known(Verb::Deallocate, Effects::TEXT_PREPARE);
        }
        let after = if temporary { Effects::TEMPORARY_TABLE } else { Effects::IMPLICIT_COMMIT };
        self.note(after);
        match object {
            Keyword::Table | Keyword::Tables => Verb::DropTable,
            Keyword::View => Verb::DropView,
            Keyword::Index => Verb::DropIndex,
            Keyword::Trigger => Verb::DropTrigger,
            // the session may be left without a schema
            Keyword::Database | Keyword::Schema => {
                self.known(Verb::DropDatabase, Effects::CHANGES_SESSION)
            }
            Keyword::User => Verb::DropUser,
            Keyword::None => self.known(Verb::Other, Effects::UNCLEAR),
            _ => Verb::Other,
        }
    }

    /// Goes past the kind of object a `CREATE`, `ALTER` or `DROP` is about; also whether
    /// `TEMPORARY` was said.
    fn object(&mut self) -> (Keyword, bool) {
        let mut temporary = false;
        for _ in 0..OBJECT_WORDS {
            if self.at_end() {
                break;
            }
            let word = self.take_keyword();
            match word {
                Keyword::Temporary => temporary = true,
                Keyword::User | Keyword::Role => {
                    self.expect_accounts();
                    return (word, temporary);
                }
                Keyword::Table
                | Keyword::Tables
                | Keyword::View
                | Keyword::Index
                | Keyword::Trigger
                | Keyword::Database
                | Keyword::Schema
                | Keyword::Procedure
                | Keyword::Function
                | Keyword::Event
                | Keyword::Server
                | Keyword::Tablespace
                | Keyword::Logfile
                | Keyword::Sequence
                | Keyword::Package
                | Keyword::Library
                | Keyword::Resource
                | Keyword::Reference
                | Keyword::Instance
                | Keyword::Prepare => return (word, temporary),
                _ => {}
            }
        }
        (Keyword::None, temporary)
    }

    fn rename(&mut self) -> Verb {
        match self.keyword() {
            Keyword::Table | Keyword::Tables => Verb::RenameTable,
            Keyword::User => {
                self.expect_accounts();
                Verb::Other
            }
            _ => self.known(Verb::Other, Effects::UNCLEAR),
        }
    }

    fn reset(&mut self) -> Verb {
        match self.keyword() {
            Keyword::Master | Keyword::Binary => Verb::ResetMaster,
            Keyword::Slave | Keyword::Replica => Verb::ResetSlave,
            _ => Verb::Other,
        }
    }
}

/// What stands around the statement that gives the verb.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Around {
    Nothing,
    /// `EXPLAIN`: the inner statement is not executed.
    Explained,
    /// `EXPLAIN ANALYZE` or `ANALYZE`: it is.
    Executed,
}

impl Around {
    fn verb(self, inner: Verb) -> Verb {
        match (self, inner) {
            (Self::Explained, _) | (Self::Executed, Verb::Select) => Verb::Explain,
            (Self::Nothing | Self::Executed, verb) => verb,
        }
    }
}

/// Whether such an object is stored code.
fn has_body(object: Keyword) -> bool {
    matches!(
        object,
        Keyword::Procedure
            | Keyword::Function
            | Keyword::Trigger
            | Keyword::Event
            | Keyword::Package
    )
}

enum Explained {
    Statement(Around),
    Connection,
    Table,
}

/// Words of options that are looked at.
const OPTIONS: usize = 8;
/// Words looked at to find the kind of an object; a `DEFINER` and its account take up to five.
const OBJECT_WORDS: usize = 32;
