//! What is known of stored code: which names are tables, views, functions and procedures of a
//! hostgroup, as an account sees them, and what each of them does.
//!
//! Pure. It decides what a text reaches, and when there is something to be read; how it is read is
//! `session::maintenance::code_reading`. It knows no sessions, and schemas only as far as
//! privileges are about them: a name is everything that has it, in whatever schema.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use sql::{Effects, Given, Modes, Role};

use crate::ids::HostgroupId;

mod catalogs;
mod definitions;
mod key;
mod looked_at;
mod naming;
mod reading;
mod rows;
#[cfg(test)]
mod tests;

pub use catalogs::{CatalogId, Catalogs};
pub use definitions::{Defined, Definitions, UnderWay};
pub use key::{key, table_key};
pub use naming::{AskedText, How, Named, Naming};
pub use reading::{PARTS, Part, Reading};
pub use rows::CatalogRows;

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
    /// By name: whose definitions it stands in.
    callers: HashMap<u64, Box<[u64]>>,
    /// Definitions that the account may not read, and tables of which it may not see triggers.
    hidden: usize,
}

/// Which columns of a table number its rows.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Numbered {
    /// This one, of all tables that are called so.
    By(u64),
    /// Any: it is a view, a trigger may give numbers, or tables that are called so have several.
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

/// A name, and whether it stands where a table does.
type Place = (u64, bool);

/// Whether a text that did not fail has had a name in its place, before the reading by which that
/// is nobody's: it stands for something of the server's own there.
type Met = bool;

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
    /// The latest definition when the last reading began that told everything.
    read: u64,
    /// The latest definition that is in what follows.
    seen: u64,
    /// Names that were not defined since, and reach one that was.
    affected: HashSet<u64>,
    /// Names that were looked for and are nobody's. What of them was not met, somebody may be about
    /// to make.
    absent: HashMap<Place, Met>,
    /// Names that were asked for since the last reading began.
    asked: HashMap<Place, Met>,
    /// Something was called since the last reading began of which nobody knew what it does.
    wanted: bool,
    /// Names that the reading under way will tell of.
    sought: HashMap<Place, Met>,
    /// When the last reading ended, well or not; 0 for none.
    read_us: u64,
    /// The reading under way seeks nothing but what was nobody's before.
    is_again: bool,
    /// How long one that is asked for waits after it.
    pause_us: u64,
    /// How many in a row took too long.
    late: u32,
    /// The operator was told of what is hidden.
    is_told: bool,
    /// The operator was told that it cannot be read.
    is_told_unread: bool,
    /// Readings in a row that came to nothing.
    failures: u32,
}

/// A reading that has ended.
#[derive(Debug)]
pub struct Finished {
    /// What it came to.
    pub catalog: Result<Catalog, Untold>,
    /// The latest definition when it began.
    pub definitions: u64,
    /// When it began.
    pub began_us: u64,
    /// When it ended.
    pub now_us: u64,
}

/// What stored code does that a text reaches.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Reached {
    /// What is known of it.
    pub known: Effects,
    /// What it may do besides, as far as nobody has read it.
    pub presumed: Effects,
    /// No name is new, nor was anything defined: it stays so for this epoch.
    pub is_sure: bool,
}

/// What ran may be another thing now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Redefined;

/// Why a reading came to nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Untold {
    /// Its server did not tell everything.
    Refused,
    /// A question took longer than it may.
    Late,
    /// Its connection was lost.
    Lost,
}

/// What a table may run that nobody knows.
const OF_UNKNOWN_TABLE: Effects = Effects::READS_LAST_INSERT_ID.union(Effects::UNKNOWN_CODE);

/// The same of one that was not there when a reading told of all.
const OF_NEW_TABLE: Effects = OF_UNKNOWN_TABLE.union(Effects::NEW_TABLE).union(Effects::PRESUMED);

/// A reading that is asked for waits for so many times what the last one took, and at least for so
/// many microseconds.
const PAUSE: (u64, u64) = (4, 50_000);

/// After one that sought nothing but what had been missed, the next one waits twice as long, up to
/// this, in microseconds.
const MISSED_PAUSE_US: u64 = 2_000_000;

/// After a reading that a server refused, the next one waits at least so long.
const REFUSED_PAUSE_US: u64 = 10_000_000;

/// So many readings in a row that came to nothing, and none is expected any more.
const FAILURES_MAX: u32 = 5;

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
            read: 0,
            seen: 0,
            affected: HashSet::new(),
            absent: HashMap::new(),
            asked: HashMap::new(),
            wanted: false,
            sought: HashMap::new(),
            read_us: 0,
            is_again: false,
            pause_us: 0,
            late: 0,
            is_told: false,
            is_told_unread: false,
            failures: 0,
        }
    }

    /// The state of what is known; `None` where anything may have been defined since, or it was
    /// never read: then everything may run anything.
    #[inline]
    pub fn epoch(&self, definitions: &Definitions) -> Option<u64> {
        let is_current = self.epoch != 0 && definitions.is_told(self.read);
        is_current.then_some(self.epoch)
    }

    /// Whether something was defined since this was asked last.
    #[inline]
    fn is_behind(&self, definitions: &Definitions) -> bool {
        self.epoch != 0 && self.seen != definitions.count()
    }

    /// Takes in what was defined; `epoch` is one that was never given.
    fn catch_up(&mut self, definitions: &Definitions, epoch: u64) {
        self.seen = definitions.count();
        if self.epoch(definitions).is_some() {
            self.affected = self.catalog.affected(|key| self.runs_anew(key, definitions));
            self.epoch = epoch;
        }
    }

    /// Whether a name may run what it did not when it was read.
    fn runs_anew(&self, key: u64, definitions: &Definitions) -> bool {
        definitions.latest_of_code(key) > self.read || definitions.is_under_way(key)
    }

    /// Whether there was a reading that told everything.
    pub fn is_read(&self) -> bool {
        self.epoch != 0
    }

    /// What the stored code does that a text may reach, in a session for which some tables without
    /// a schema in front are temporary ones that it made.
    pub fn reach(
        &mut self,
        asked: &AskedText<'_>,
        definitions: &Definitions,
        is_own: impl Fn(&[u8]) -> bool,
    ) -> Reached {
        let is_current = self.epoch(definitions).is_some();
        let mut reached = Reached { is_sure: is_current, ..Reached::default() };
        match asked.how.naming {
            Naming::Nothing => return reached,
            Naming::MakesCode => {
                reached.known = self.code_made(asked);
                return reached;
            }
            Naming::Defines | Naming::Unclear => reached.known = Effects::DEFINES,
            _ => {}
        }
        if self.insert_id(asked, definitions, false) != InsertId::Told {
            reached.known.insert(Effects::GIVES_INSERT_ID);
        }
        let mut names = sql::names(asked.text, asked.how.modes);
        while let Some((name, role)) = names.next() {
            let (key, is_table) = (key(name), role == Role::Table);
            let found = self.catalog.of_name(key, role, asked.how.naming);
            let runs = names.is_in_query() || asked.how.naming.is_of_rows();
            if runs {
                reached.known.insert(found.unwrap_or(Effects::NONE));
            }
            // a MySQL reads it all the same
            if asked.how.naming != Naming::Reads {
                reached.known.insert(self.calls(key, role));
            }
            let is_foreign = asked.how.is_foreign(name);
            let found = found.filter(|_| !is_foreign);
            let may_be = match role {
                Role::Call => Effects::ANY_STORED_CODE | Effects::PRESUMED,
                // no stored function hides behind the name unless one was just defined
                Role::OwnCall | Role::DoubtfulCall
                    if found.is_none()
                        && self.is_read()
                        && !self.is_redefined(key, definitions) =>
                {
                    continue;
                }
                Role::OwnCall | Role::DoubtfulCall => Effects::ANY_STORED_CODE | Effects::PRESUMED,
                Role::Table
                    if self.is_new((key, found), definitions)
                        && (names.is_qualified() || !is_own(name)) =>
                {
                    OF_NEW_TABLE
                }
                Role::Table => OF_UNKNOWN_TABLE,
                Role::Other if found.is_some() => OF_UNKNOWN_TABLE,
                Role::Procedure | Role::Other => continue,
            };
            let is_known = is_current
                && !is_foreign
                && !self.is_redefined(key, definitions)
                && (found.is_some() || self.absent.get(&(key, is_table)) == Some(&true));
            if is_known || !runs {
                continue;
            }
            reached.presumed.insert(may_be);
            if !is_foreign && self.asked.len() < NAMES_MAX {
                self.asked.entry((key, is_table)).or_default();
            }
            reached.is_sure = false;
        }
        reached
    }

    /// A server missed what a name of a text stands for: it may be any of them. Whether something
    /// was known of one that is not any more.
    fn miss(&mut self, text: &[u8], modes: Modes) -> bool {
        let mut was_known = false;
        for place in sql::names(text, modes).map(place) {
            for met in [self.asked.get_mut(&place), self.sought.get_mut(&place)] {
                met.into_iter().for_each(|met| *met = false);
            }
            was_known |= self.absent.get_mut(&place).is_some_and(std::mem::take);
        }
        was_known
    }

    /// A server found what each name of a text stands for: the next reading tells of whom it is.
    pub fn meet(&mut self, text: &[u8], modes: Modes) {
        let is_meant = |role| !matches!(role, Role::Procedure | Role::Other);
        // what is not ASCII may be another name in another session's character set
        let meant = sql::names(text, modes);
        let meant = meant.filter(|(name, role)| name.is_ascii() && is_meant(*role));
        for place in meant.map(place) {
            let is_next = self.absent.get(&place) == Some(&false)
                || self.sought.contains_key(&place)
                || self.asked.contains_key(&place);
            if is_next {
                self.asked.insert(place, true);
            }
        }
    }

    fn is_redefined(&self, key: u64, definitions: &Definitions) -> bool {
        self.affected.contains(&key)
            || definitions.latest(key) > self.read
            || definitions.is_under_way(key)
    }

    /// Whether a table may run something of which no reading has told: it is not the one that was
    /// read, or one that nobody is known to have made as a base table since.
    fn is_new(&self, (key, found): (u64, Option<Effects>), definitions: &Definitions) -> bool {
        let runs_anew = self.affected.contains(&key) || self.runs_anew(key, definitions);
        let is_made = definitions.latest_made(key) > self.read;
        self.is_read() && (runs_anew || found.is_none() && !is_made)
    }

    /// What the names of texts stand for that ran when `since` was the latest definition; `Err`
    /// where that may have been something else then, `Ok(None)` where it is not known yet.
    pub fn look_back(
        &self,
        names: &[Named],
        since: u64,
        definitions: &Definitions,
    ) -> Result<Option<Effects>, Redefined> {
        let is_later = |key| definitions.latest_change(key) > since;
        let affected = match definitions.count() == since {
            true => HashSet::new(),
            false => self.catalog.affected(is_later),
        };
        let any_is = definitions.latest_of_anything() > since;
        let is_redefined = |named: &Named| is_later(named.key) || affected.contains(&named.key);
        if any_is || names.iter().any(is_redefined) {
            return Err(Redefined);
        }
        let mut all = Effects::NONE;
        for Named { key, role, naming } in names {
            let is_untold = *role != Role::Table && !definitions.is_told(self.read);
            if is_untold || self.affected.contains(key) || self.runs_anew(*key, definitions) {
                return Ok(None);
            }
            match self.catalog.of_name(*key, *role, *naming) {
                Some(effects) => all.insert(effects),
                None if self.absent.contains_key(&(*key, *role == Role::Table)) => {}
                None => return Ok(None),
            }
        }
        Ok(Some(all))
    }

    /// What the last insert id is after a text; without `by_values`, after all texts that differ
    /// from it by values alone.
    pub fn insert_id(
        &self,
        asked: &AskedText<'_>,
        definitions: &Definitions,
        by_values: bool,
    ) -> InsertId {
        match asked.how.naming {
            Naming::Inserts => {}
            Naming::Several | Naming::Defines | Naming::Unclear if may_insert(asked.text) => {
                return InsertId::Asked;
            }
            _ => return InsertId::Told,
        }
        let Some(insert) = sql::parse_insert(asked.text, asked.how.modes) else {
            return InsertId::Asked;
        };
        let mut names = sql::names(asked.text, asked.how.modes);
        if !asked.text.is_ascii() && names.any(|(name, _)| asked.how.is_foreign(name)) {
            return InsertId::Asked;
        }
        let table = key(insert.table);
        let is_current = self.epoch(definitions).is_some();
        let column = match self.catalog.numbered.get(&table) {
            _ if !is_current || self.is_redefined(table, definitions) => return InsertId::Asked,
            Some(Numbered::By(column)) => *column,
            Some(Numbered::Any) => return InsertId::Asked,
            None if self.catalog.relations.contains_key(&table) => return InsertId::Told,
            None => return InsertId::Asked,
        };
        match insert.gives(|name| key(name) == column) {
            Given::Number | Given::Null if !by_values => InsertId::Asked,
            Given::Number => InsertId::Kept,
            Given::Anything => InsertId::Asked,
            Given::Nothing | Given::Null if !insert.updates => InsertId::Told,
            Given::Nothing | Given::Null if insert.is_one_row => InsertId::ByRows,
            Given::Nothing | Given::Null => InsertId::Asked,
        }
    }

    /// Whether it is time for a reading, with so much time between two of them; 0 for none.
    pub fn is_due(&self, definitions: &Definitions, interval_us: u64, now_us: u64) -> bool {
        if interval_us == 0 {
            return false;
        }
        if self.read_us == 0 {
            return true;
        }
        let since_us = now_us.saturating_sub(self.read_us);
        let is_known = self.epoch(definitions).is_some() && self.asked.is_empty();
        let wanted = self.wanted || !is_known;
        since_us >= interval_us || (wanted && since_us >= self.pause_us)
    }

    /// Somebody waits for a reading that begins from now on.
    pub fn want(&mut self) {
        self.wanted = true;
    }

    /// Whether somebody does.
    pub fn is_wanted(&self) -> bool {
        self.wanted
    }

    /// A reading has begun: what is asked for from now on is for the next one.
    pub fn begin(&mut self) {
        join(&mut self.sought, &mut self.asked);
        self.is_again = !self.sought.is_empty()
            && self.sought.keys().all(|place| self.absent.contains_key(place));
        self.wanted = false;
    }

    /// How long a question of a reading may take that a session waits for, in seconds: in MariaDB
    /// it waits for tables that a `CREATE TABLE … SELECT` is filling.
    pub fn limit_s(&self) -> u32 {
        1 << self.late.min(2)
    }

    /// How much the account may not read, once.
    pub fn take_hidden(&mut self) -> Option<usize> {
        let hidden = Some(self.catalog.hidden).filter(|hidden| *hidden > 0 && !self.is_told);
        self.is_told |= hidden.is_some();
        hidden
    }

    /// Whether one reading after the other came to nothing: what nobody has read may stay so.
    pub fn keeps_failing(&self) -> bool {
        self.failures >= FAILURES_MAX
    }

    /// Whether the operator has to be told that it cannot be read; once, until it was read.
    pub fn take_unread(&mut self) -> bool {
        !std::mem::replace(&mut self.is_told_unread, true)
    }

    /// A reading has ended; `epoch` is one that was never given.
    pub fn finish(&mut self, finished: Finished, definitions: &Definitions, epoch: u64) {
        let took_us = finished.now_us.saturating_sub(finished.began_us);
        self.read_us = finished.now_us.max(1);
        self.pause_us = match finished.catalog {
            // what is missed again and again may wait
            Ok(_) if self.is_again => self.pause_us.saturating_mul(2).min(MISSED_PAUSE_US),
            Ok(_) => PAUSE.1.max(took_us.saturating_mul(PAUSE.0)),
            Err(Untold::Refused) => REFUSED_PAUSE_US,
            Err(Untold::Late) => LOST_PAUSE_US.max(took_us),
            Err(Untold::Lost) => LOST_PAUSE_US,
        };
        self.late = match finished.catalog {
            Err(Untold::Late) => self.late.saturating_add(1),
            _ => 0,
        };
        self.failures = match finished.catalog {
            Ok(_) => 0,
            Err(_) => self.failures.saturating_add(1),
        };
        let Ok(catalog) = finished.catalog else {
            join(&mut self.asked, &mut self.sought);
            self.wanted = true;
            return;
        };
        self.is_told_unread = false;
        if self.absent.len() + self.sought.len() > NAMES_MAX {
            self.absent.clear();
        }
        join(&mut self.absent, &mut self.sought);
        self.absent.retain(|(key, is_table), _| match is_table {
            true => !catalog.relations.contains_key(key),
            false => !catalog.functions.contains_key(key),
        });
        let is_same = self.epoch != 0 && self.catalog == catalog;
        (self.read, self.seen) = (finished.definitions, finished.definitions);
        if !is_same {
            if self.is_read() {
                definitions.note_told();
            }
            self.catalog = catalog;
            self.epoch = epoch;
        }
        self.affected = self.catalog.affected(|key| self.runs_anew(key, definitions));
    }
}

impl Catalog {
    /// What reaches a name for which `is_changed`, whatever is between the two.
    fn affected(&self, is_changed: impl Fn(u64) -> bool) -> HashSet<u64> {
        let mut affected = HashSet::new();
        let mut left: Vec<u64> =
            self.callers.keys().copied().filter(|key| is_changed(*key)).collect();
        while let Some(key) = left.pop() {
            for caller in self.callers.get(&key).into_iter().flatten() {
                if affected.insert(*caller) {
                    left.push(*caller);
                }
            }
        }
        affected
    }

    /// What a name stands for; `None` where there is nothing that is called so.
    fn of_name(&self, key: u64, role: Role, naming: Naming) -> Option<Effects> {
        let relation = self.relations.get(&key).map(|code| match naming {
            Naming::Nothing | Naming::Looks | Naming::Reads => code.read,
            _ => code.write,
        });
        match role {
            // `INSERT INTO t (a)` may look like a call, a call behind `RETURNING a,` like a table
            Role::Call | Role::Table => match (self.functions.get(&key), relation) {
                (function, Some(relation)) => Some(function.map_or(relation, |f| *f | relation)),
                (function, None) => function.copied(),
            },
            Role::OwnCall | Role::DoubtfulCall => self.functions.get(&key).copied(),
            Role::Procedure => self.procedures.get(&key).copied(),
            Role::Other => relation,
        }
    }
}

/// Whether a word of a text may begin an `INSERT` or `REPLACE`.
fn may_insert(text: &[u8]) -> bool {
    let has = |word: &[u8]| text.windows(word.len()).any(|at| at.eq_ignore_ascii_case(word));
    has(b"insert") || has(b"replace")
}

fn place((name, role): (&[u8], Role)) -> Place {
    (key(name), role == Role::Table)
}

/// Moves names to others.
fn join(to: &mut HashMap<Place, Met>, from: &mut HashMap<Place, Met>) {
    from.drain().for_each(|(place, met)| *to.entry(place).or_default() |= met);
}

/// Names that are kept beside the catalog.
const NAMES_MAX: usize = 10_000;
