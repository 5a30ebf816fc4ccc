//! What is known of stored code: which names are tables, views, functions and procedures of a
//! hostgroup, as an account sees them, and what each of them does.
//!
//! Pure. It decides what a text reaches, and when there is something to be read; how it is read is
//! `session::survey`. It knows no sessions, and schemas only as far as privileges are about them: a
//! name is everything that has it, in whatever schema.

use std::collections::{HashMap, HashSet};
use std::hash::Hasher;
use std::sync::Arc;

use sql::{Effects, Facts, Given, Modes, Role, Verb};

use crate::ids::HostgroupId;

mod reading;
mod rows;
#[cfg(test)]
mod tests;

pub use reading::{PARTS, Part, Reading};
pub use rows::Rows;

/// What code of a table or view does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Code {
    /// When it is read.
    pub read: Effects,
    /// When its rows change.
    pub write: Effects,
}

/// What one reading came to.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Catalog {
    relations: HashMap<u64, Code>,
    functions: HashMap<u64, Effects>,
    procedures: HashMap<u64, Effects>,
    /// Tables and views whose rows get numbers.
    numbered: HashMap<u64, Numbered>,
}

/// Which columns of a table number its rows.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Numbered {
    /// These, of all tables that are called so.
    By(Vec<u64>),
    /// Any: it is a view, or a trigger may give numbers.
    Any,
}

/// What the last insert id is after an `INSERT` or `REPLACE`, by its text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InsertId {
    /// What its OK tells.
    Told,
    /// What it was: the rows came with their numbers.
    Kept,
    /// What its OK tells where that tells of one row, else what it was: the row was updated.
    ByRows,
    /// Its server knows.
    Asked,
}

/// What is known for an account in a hostgroup.
#[derive(Debug)]
pub struct Known {
    /// The account.
    pub user: Arc<str>,
    /// The hostgroup.
    pub hostgroup: HostgroupId,
    catalog: Catalog,
    /// Another one whenever the catalog says something else; 0 before the first reading.
    epoch: u64,
    /// Definitions that had been seen to change when the last reading began.
    definitions: u64,
    /// Names that were asked for and are nobody's.
    absent: HashSet<u64>,
    /// Names that were asked for since the last reading began.
    asked: HashSet<u64>,
    /// Names that the reading under way will tell of.
    sought: HashSet<u64>,
    /// When the last reading ended, well or not; 0 for none.
    read_us: u64,
    /// How long one that is asked for waits after it.
    pause_us: u64,
}

/// A reading that has ended.
#[derive(Debug)]
pub struct Finished {
    /// What it came to.
    pub catalog: Result<Catalog, Untold>,
    /// Definitions that had been seen to change when it began.
    pub definitions: u64,
    /// When it began.
    pub began_us: u64,
    /// When it ended.
    pub now_us: u64,
}

/// Why a reading came to nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Untold {
    /// Its server did not tell everything.
    Refused,
    /// Its connection was lost.
    Lost,
}

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
    /// It looks at definitions, or is about accounts: names that nobody knows are none of its.
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
    fn is_of_rows(self) -> bool {
        matches!(self, Self::Reads | Self::Writes | Self::Inserts | Self::Several)
    }
}

/// What a table may run that nobody knows.
const OF_UNKNOWN_TABLE: Effects = Effects::READS_LAST_INSERT_ID.union(Effects::UNKNOWN_CODE);

/// A reading that is asked for waits for so many times what the last one took, and at least for so
/// many microseconds.
const PAUSE: (u64, u64) = (4, 50_000);

/// After a reading that a server refused, the next one waits at least so long.
const REFUSED_PAUSE_US: u64 = 10_000_000;

/// After one whose connection was lost, it waits at least so long.
const LOST_PAUSE_US: u64 = 1_000_000;

impl Known {
    /// Nothing is known yet.
    pub fn new(user: Arc<str>, hostgroup: HostgroupId) -> Self {
        Self {
            user,
            hostgroup,
            catalog: Catalog::default(),
            epoch: 0,
            definitions: 0,
            absent: HashSet::new(),
            asked: HashSet::new(),
            sought: HashSet::new(),
            read_us: 0,
            pause_us: 0,
        }
    }

    /// The state of what is known; `None` where definitions have changed since, or it was never
    /// read: then everything may run anything.
    pub fn epoch(&self, definitions: u64) -> Option<u64> {
        (self.epoch != 0 && self.definitions == definitions).then_some(self.epoch)
    }

    /// Whether there was a reading that told everything.
    pub fn is_read(&self) -> bool {
        self.epoch != 0
    }

    /// What the stored code does that a text may reach, and whether that is sure: no name is new.
    pub fn reach(&mut self, asked: &Asked<'_>, definitions: u64) -> (Effects, bool) {
        let is_current = self.epoch(definitions).is_some();
        let mut effects = match asked.naming {
            Naming::Nothing => return (Effects::NONE, is_current),
            Naming::Defines => Effects::DEFINES,
            _ => Effects::NONE,
        };
        if self.insert_id(asked, definitions, Given::Anything) != InsertId::Told {
            effects.insert(Effects::GIVES_INSERT_ID);
        }
        let names_unknown = asked.naming.is_of_rows();
        let mut is_sure = is_current;
        for (name, role) in sql::names(asked.text, asked.modes) {
            let key = key(name);
            let found = self.catalog.of_name(key, role, asked.naming);
            effects.insert(found.unwrap_or(Effects::NONE));
            let may_be = match role {
                Role::Call => Effects::ANY_STORED_CODE,
                Role::Table => OF_UNKNOWN_TABLE,
                Role::Procedure | Role::Other => continue,
            };
            let is_known = is_current && (found.is_some() || self.absent.contains(&key));
            if is_known || !names_unknown {
                continue;
            }
            effects.insert(may_be);
            // what a session calls it by is not what servers do, in another character set
            if name.is_ascii() && self.asked.len() < NAMES_MAX {
                self.asked.insert(key);
            }
            is_sure = false;
        }
        (effects, is_sure)
    }

    /// What the last insert id is after a text, where all its rows give a number as `numbers` says.
    pub fn insert_id(&self, asked: &Asked<'_>, definitions: u64, numbers: Given) -> InsertId {
        match asked.naming {
            Naming::Inserts => {}
            Naming::Several | Naming::Defines if may_insert(asked.text) => return InsertId::Asked,
            _ => return InsertId::Told,
        }
        let Some(insert) = sql::parse_insert(asked.text, asked.modes) else {
            return InsertId::Asked;
        };
        let table = key(insert.table);
        let columns = match self.catalog.numbered.get(&table) {
            _ if self.epoch(definitions).is_none() => return InsertId::Asked,
            Some(Numbered::By(columns)) => columns,
            Some(Numbered::Any) => return InsertId::Asked,
            None if self.catalog.relations.contains_key(&table) => return InsertId::Told,
            None => return InsertId::Asked,
        };
        let given = match insert.gives(|name| columns.contains(&key(name))) {
            Given::Number => numbers,
            given => given,
        };
        match given {
            Given::Number => InsertId::Kept,
            Given::Anything => InsertId::Asked,
            Given::Nothing if !insert.updates => InsertId::Told,
            Given::Nothing if insert.is_one_row => InsertId::ByRows,
            Given::Nothing => InsertId::Asked,
        }
    }

    /// Whether it is time for a reading, with so much time between two of them; 0 for none.
    pub fn is_due(&self, definitions: u64, interval_us: u64, now_us: u64) -> bool {
        if interval_us == 0 {
            return false;
        }
        if self.read_us == 0 {
            return true;
        }
        let since_us = now_us.saturating_sub(self.read_us);
        let wanted = self.epoch(definitions).is_none() || !self.asked.is_empty();
        since_us >= interval_us || (wanted && since_us >= self.pause_us)
    }

    /// A reading has begun: what is asked for from now on is for the next one.
    pub fn begin(&mut self) {
        self.sought.extend(self.asked.drain());
    }

    /// A reading has ended; `epoch` is one that was never given.
    pub fn finish(&mut self, finished: Finished, epoch: u64) {
        let took_us = finished.now_us.saturating_sub(finished.began_us);
        self.read_us = finished.now_us.max(1);
        self.pause_us = match finished.catalog {
            Ok(_) => PAUSE.1.max(took_us.saturating_mul(PAUSE.0)),
            Err(Untold::Refused) => REFUSED_PAUSE_US,
            Err(Untold::Lost) => LOST_PAUSE_US,
        };
        let Ok(catalog) = finished.catalog else {
            self.asked.extend(self.sought.drain());
            return;
        };
        if self.absent.len() + self.sought.len() > NAMES_MAX {
            self.absent.clear();
        }
        self.absent.extend(self.sought.drain());
        let is_same = self.epoch != 0 && self.catalog == catalog;
        self.definitions = finished.definitions;
        if !is_same {
            self.catalog = catalog;
            self.epoch = epoch;
        }
    }
}

impl Catalog {
    /// What a name stands for; `None` where there is nothing that is called so.
    fn of_name(&self, key: u64, role: Role, naming: Naming) -> Option<Effects> {
        let relation = self.relations.get(&key).map(|code| match naming {
            Naming::Nothing | Naming::Looks | Naming::Reads => code.read,
            Naming::Defines | Naming::Writes | Naming::Inserts | Naming::Several => code.write,
        });
        match role {
            Role::Call => match (self.functions.get(&key), relation) {
                // `INSERT INTO t (a)`, read as a call
                (function, Some(relation)) => Some(function.map_or(relation, |f| *f | relation)),
                (function, None) => function.copied(),
            },
            Role::Procedure => self.procedures.get(&key).copied(),
            Role::Table | Role::Other => relation,
        }
    }
}

/// What is known for all accounts of a worker.
#[derive(Debug, Default)]
pub struct Catalogs {
    list: Vec<Known>,
    last_epoch: u64,
}

/// Names a [`Known`] of a worker.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CatalogId(usize);

impl Catalogs {
    /// Where an account's is, in a hostgroup.
    pub fn of(&mut self, user: &Arc<str>, hostgroup: HostgroupId) -> CatalogId {
        let is = |known: &Known| known.hostgroup == hostgroup && known.user == *user;
        let at = self.list.iter().position(is).unwrap_or_else(|| {
            self.list.push(Known::new(user.clone(), hostgroup));
            self.list.len() - 1
        });
        CatalogId(at)
    }

    /// One of them.
    pub fn get(&self, id: CatalogId) -> Option<&Known> {
        self.list.get(id.0)
    }

    /// One of them, to be asked.
    pub fn get_mut(&mut self, id: CatalogId) -> Option<&mut Known> {
        self.list.get_mut(id.0)
    }

    /// All of them.
    pub fn ids(&self) -> impl Iterator<Item = CatalogId> + use<> {
        (0..self.list.len()).map(CatalogId)
    }

    /// A reading has ended.
    pub fn finish(&mut self, id: CatalogId, finished: Finished) {
        self.last_epoch += 1;
        let epoch = self.last_epoch;
        if let Some(known) = self.get_mut(id) {
            known.finish(finished, epoch);
        }
    }
}

/// What a name is known by, in any case of its letters.
fn key(name: &[u8]) -> u64 {
    let mut hasher = std::hash::DefaultHasher::new();
    for byte in name {
        hasher.write_u8(byte.to_ascii_lowercase());
    }
    hasher.finish()
}

/// Whether a word of a text may begin an `INSERT` or `REPLACE`.
fn may_insert(text: &[u8]) -> bool {
    let has = |word: &[u8]| text.windows(word.len()).any(|at| at.eq_ignore_ascii_case(word));
    has(b"insert") || has(b"replace")
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
const LOOKS: [Verb; 14] = [
    Verb::Show,
    Verb::ShowTableStatus,
    Verb::Describe,
    Verb::Explain,
    Verb::AnalyzeTable,
    Verb::Optimize,
    Verb::TruncateTable,
    Verb::CreateTemporary,
    Verb::CreateUser,
    Verb::DropUser,
    Verb::Grant,
    Verb::Revoke,
    Verb::Purge,
    Verb::ChangeMaster,
];

/// Names that are kept beside the catalog.
const NAMES_MAX: usize = 10_000;
