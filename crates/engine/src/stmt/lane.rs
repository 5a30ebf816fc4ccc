//! The statements that are prepared on one backend connection.

use crate::ids::{ClientStmtId, ServerStmtId, StmtKey};
use crate::link::ReadBy;

/// What a connection must have prepared to serve an execution.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    /// The text.
    pub key: StmtKey,
    /// The parameter types, two bytes each.
    pub types: &'a [u8],
    /// How it is executed.
    pub manner: Manner,
}

/// How a statement is executed, as far as its server may keep something of that with it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Manner(u64);

impl Manner {
    /// By what its session's texts are read now, and whether a cursor is asked for. An execution
    /// may have its server read the text once more, for parameters of other types or because a
    /// table is another one. Without a cursor, a MySQL gives no rows of a statement any more that
    /// it executed with one, even where that failed.
    #[inline]
    pub fn new(read_by: ReadBy, with_cursor: bool) -> Self {
        Self(if with_cursor { !read_by.number() } else { read_by.number() })
    }
}

/// A statement that is prepared on a connection.
#[derive(Debug)]
pub struct LaneStmt {
    /// The text.
    pub key: StmtKey,
    /// What the server knows it by.
    pub id: ServerStmtId,
    /// The statement of the connection's session that alone may use it, because parameter data or a
    /// cursor of it are there, or because it cannot be prepared again.
    pub owner: Option<ClientStmtId>,
    /// The parameter types that it is executed with, two bytes each. A server may settle what its
    /// expressions are by the types of the first execution, so that it serves no others.
    types: Vec<u8>,
    /// How it was executed.
    executions: Executions,
    /// The types were sent, and were not refused as far as is known.
    typed: bool,
    /// It cannot be prepared alike once more: it serves any execution, and stays.
    kept: bool,
    used: u64,
}

/// How a statement was executed: it serves executions of the same manner alone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Executions {
    None,
    All(Manner),
    /// Of several manners.
    Mixed,
}

impl LaneStmt {
    /// Notes that it is executed so, with types that the server knows or that may have to be told.
    #[inline]
    pub fn note_execution(&mut self, wanted: Wanted<'_>) {
        let alike = self.executions == Executions::All(wanted.manner) && self.types == wanted.types;
        if !alike {
            self.note_other_execution(wanted);
        }
    }

    #[inline(never)]
    fn note_other_execution(&mut self, wanted: Wanted<'_>) {
        self.executions = match self.executions {
            Executions::None => Executions::All(wanted.manner),
            Executions::All(before) if before == wanted.manner => self.executions,
            Executions::All(_) | Executions::Mixed => Executions::Mixed,
        };
        if self.types != wanted.types {
            self.typed = false;
            self.types.clear();
            self.types.extend_from_slice(wanted.types);
        }
    }

    /// Whether the server would read an execution without types with those of the last.
    pub fn knows_types(&self) -> bool {
        self.typed
    }

    /// The types of the last execution are sent with it.
    pub fn tell_types(&mut self) {
        self.typed = true;
    }

    /// Whether an execution may use it.
    #[inline]
    fn serves(&self, wanted: Wanted<'_>, owner: Option<ClientStmtId>) -> bool {
        let fits = || match self.executions {
            Executions::None => true,
            Executions::All(manner) => manner == wanted.manner && self.types == wanted.types,
            Executions::Mixed => false,
        };
        let is_its = self.key == wanted.key && self.owner == owner;
        is_its && (owner.is_some() || self.kept || fits())
    }

    /// Nobody knows which types the server remembers.
    pub fn forget_types(&mut self) {
        self.typed = false;
    }
}

/// The statements that are prepared on a connection.
#[derive(Debug, Default)]
pub struct OnLane {
    list: Vec<LaneStmt>,
    uses: u64,
    /// Some of them are kept.
    keeps: bool,
    /// What the server takes for the statement prepared last.
    last: Option<ServerStmtId>,
}

impl OnLane {
    /// Whether a text is prepared and free to be executed so by anybody.
    pub fn has(&self, wanted: Wanted<'_>) -> bool {
        self.find(wanted, None).is_some()
    }

    /// The statement of a text: the owner's own, if there is an owner, else one that is free and
    /// serves such executions.
    #[inline]
    pub fn find(&self, wanted: Wanted<'_>, owner: Option<ClientStmtId>) -> Option<&LaneStmt> {
        self.list.iter().find(|stmt| stmt.serves(wanted, owner))
    }

    /// The same, to be used now.
    #[inline]
    pub fn take(
        &mut self,
        wanted: Wanted<'_>,
        owner: Option<ClientStmtId>,
    ) -> Option<&mut LaneStmt> {
        self.uses += 1;
        let uses = self.uses;
        let stmt = self.list.iter_mut().find(|stmt| stmt.serves(wanted, owner))?;
        stmt.used = uses;
        Some(stmt)
    }

    /// A text was prepared.
    pub fn insert(
        &mut self,
        key: StmtKey,
        id: ServerStmtId,
        owner: Option<ClientStmtId>,
    ) -> &mut LaneStmt {
        self.uses += 1;
        self.list.push_mut(LaneStmt {
            key,
            id,
            owner,
            types: Vec::new(),
            executions: Executions::None,
            typed: false,
            kept: false,
            used: self.uses,
        })
    }

    /// A statement cannot be prepared alike once more: only the server knows in which modes it was
    /// read.
    pub fn keep(&mut self, id: ServerStmtId) {
        if let Some(stmt) = self.list.iter_mut().find(|stmt| stmt.id == id) {
            stmt.kept = true;
            self.keeps = true;
        }
    }

    /// Its session has gone, or has no more settings that nobody was told of.
    pub fn keep_no_more(&mut self) {
        if std::mem::take(&mut self.keeps) {
            self.list.iter_mut().for_each(|stmt| stmt.kept = false);
        }
    }

    /// Takes out the statement that was not used for longest, if there is one that is free.
    pub fn evict(&mut self) -> Option<ServerStmtId> {
        let is_free = |stmt: &LaneStmt| stmt.owner.is_none() && !stmt.kept;
        let free = self.list.iter().enumerate().filter(|(_, stmt)| is_free(stmt));
        let (at, _) = free.min_by_key(|(_, stmt)| stmt.used)?;
        Some(self.list.swap_remove(at).id)
    }

    /// A statement has nothing there any more for which it alone may use what is prepared.
    pub fn disown(&mut self, key: StmtKey, owner: ClientStmtId) {
        let is_its = |stmt: &&mut LaneStmt| stmt.key == key && stmt.owner == Some(owner);
        self.list.iter_mut().filter(is_its).for_each(|stmt| stmt.owner = None);
    }

    /// Takes out the statement of a text, an owner's or a free one.
    pub fn remove(&mut self, key: StmtKey, owner: Option<ClientStmtId>) -> Option<ServerStmtId> {
        let at = self.list.iter().position(|stmt| stmt.key == key && stmt.owner == owner)?;
        Some(self.list.swap_remove(at).id)
    }

    /// Takes out the statement that its server calls so; whether it was there.
    pub fn take_out(&mut self, id: ServerStmtId) -> bool {
        let at = self.list.iter().position(|stmt| stmt.id == id);
        at.map(|at| self.list.swap_remove(at)).is_some()
    }

    /// The server has prepared a statement, whether it will be in the list or not.
    pub fn note_prepared(&mut self, id: ServerStmtId) {
        self.last = Some(id);
    }

    /// The server is told to close a statement.
    pub fn note_closed(&mut self, id: ServerStmtId) {
        self.last = self.last.filter(|last| *last != id);
    }

    /// Whether an execution of the statement prepared last finds none, should the prepare in front
    /// of it be refused. A MariaDB server that is full does not take notice of such a prepare, and
    /// executes the one before it.
    pub fn is_last_unknown(&self) -> bool {
        self.last.is_none()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &LaneStmt> {
        self.list.iter()
    }

    /// The server has forgotten all of them: the connection was reset.
    pub fn clear(&mut self) {
        self.list.clear();
        self.last = None;
    }
}
