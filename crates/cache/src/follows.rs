//! What is known of changes in a hostgroup whose servers' logs are followed.
//!
//! Each table has a version, which goes up with each change that a log tells of. An answer notes the
//! versions of what it reads before its statement is sent, and is told only while they are the same.
//! Tables share 4,096 versions by a secret hash: two that share one only make more answers invalid.
//!
//! **Not here:** the logs, and what a statement reads.

use std::collections::BTreeMap;
use std::hash::{BuildHasher, Hasher};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, PoisonError, RwLock};

use foldhash::quality::FixedState;

/// The changes of one hostgroup.
///
/// The follower of logs writes, and everybody reads. All of it is ordered (`SeqCst`): an answer
/// whose versions were noted before a change is never told after it.
#[derive(Debug)]
pub struct Followed {
    hashing: FixedState,
    /// Whether every server of the hostgroup that may answer is followed, closely enough.
    stands: AtomicBool,
    /// Goes up when all answers of before are invalid.
    epoch: AtomicU64,
    versions: Box<[AtomicU64]>,
    /// The last question for the writer's position that was begun.
    pulse: AtomicU64,
    /// The last one whose position all streams have passed.
    passed: AtomicU64,
}

/// A table, by the names that the log has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TableName<'a> {
    /// Its schema.
    pub schema: &'a [u8],
    /// Its own name.
    pub table: &'a [u8],
}

/// What an answer rests on: the versions of the tables that it reads, from before it was asked for.
#[derive(Clone, Debug)]
pub struct Basis {
    followed: Arc<Followed>,
    epoch: u64,
    versions: Box<[(u16, u64)]>,
}

const VERSIONS: usize = 1 << 12;

impl Followed {
    fn new(seed: u64) -> Self {
        Self {
            hashing: FixedState::with_seed(seed),
            stands: AtomicBool::new(false),
            epoch: AtomicU64::new(0),
            versions: (0..VERSIONS).map(|_| AtomicU64::new(0)).collect(),
            pulse: AtomicU64::new(0),
            passed: AtomicU64::new(0),
        }
    }

    /// Every server is followed from now on; what was kept before is invalid.
    pub fn stand(&self) {
        self.epoch.fetch_add(1, SeqCst);
        self.stands.store(true, SeqCst);
    }

    /// Changes may go unseen, or be seen too late, from now on.
    pub fn fall(&self) {
        self.stands.store(false, SeqCst);
    }

    /// All changes since [`Self::fall`] have been told; answers of before are good again where
    /// none of them was of their tables.
    pub fn resume(&self) {
        self.stands.store(true, SeqCst);
    }

    /// Whether changes are seen in time.
    pub fn stands(&self) -> bool {
        self.stands.load(SeqCst)
    }

    /// A table has changed.
    pub fn changed(&self, table: TableName<'_>) {
        if let Some(version) = self.versions.get(usize::from(self.place(table))) {
            version.fetch_add(1, SeqCst);
        }
    }

    /// Any table may have changed.
    pub fn changed_all(&self) {
        self.epoch.fetch_add(1, SeqCst);
    }

    /// The number of a question for the writer's position that is about to be asked.
    pub fn begin_pulse(&self) -> u64 {
        self.pulse.fetch_add(1, SeqCst) + 1
    }

    /// All streams have passed the position that a pulse was told.
    pub fn passed(&self, pulse: u64) {
        self.passed.fetch_max(pulse, SeqCst);
    }

    /// The pulse that has to be passed before a write that has ended is known to be.
    pub fn next_pulse(&self) -> u64 {
        self.pulse.load(SeqCst) + 1
    }

    /// Whether a pulse has been passed.
    pub fn has_passed(&self, pulse: u64) -> bool {
        self.passed.load(SeqCst) >= pulse
    }

    /// Where a table's version is. Names that differ in ASCII case alone are one table: some
    /// servers see it so.
    fn place(&self, TableName { schema, table }: TableName<'_>) -> u16 {
        let mut hasher = self.hashing.build_hasher();
        for name in [schema, table] {
            name.iter().for_each(|byte| hasher.write_u8(byte.to_ascii_lowercase()));
            hasher.write_u8(0);
        }
        (hasher.finish() % VERSIONS as u64) as u16
    }
}

impl Basis {
    /// What an answer that reads these tables rests on from now on, if changes are seen.
    pub fn note<'a>(
        followed: &Arc<Followed>,
        tables: impl Iterator<Item = TableName<'a>>,
    ) -> Option<Self> {
        let version =
            |place: u16| Some((place, followed.versions.get(usize::from(place))?.load(SeqCst)));
        // the epoch first: it says that the versions behind it count
        let (epoch, stands) = (followed.epoch.load(SeqCst), followed.stands());
        let versions = tables.filter_map(|table| version(followed.place(table))).collect();
        stands.then(|| Self { followed: followed.clone(), epoch, versions })
    }

    /// Whether nothing of it has changed, and changes are seen.
    pub fn is_current(&self) -> bool {
        let Self { followed, epoch, versions } = self;
        let is_same = |(place, version): &(u16, u64)| {
            let now = followed.versions.get(usize::from(*place));
            now.is_some_and(|now| now.load(SeqCst) == *version)
        };
        followed.stands() && followed.epoch.load(SeqCst) == *epoch && versions.iter().all(is_same)
    }

    /// Whether it rests on the same hostgroup's changes.
    pub fn is_of(&self, followed: &Arc<Followed>) -> bool {
        Arc::ptr_eq(&self.followed, followed)
    }

    /// What it takes of memory.
    pub(crate) fn bytes(&self) -> usize {
        std::mem::size_of_val(&*self.versions)
    }
}

/// The hostgroups whose changes are asked for.
#[derive(Debug)]
pub struct Follows {
    seed: u64,
    hostgroups: RwLock<BTreeMap<u32, Arc<Followed>>>,
}

impl Follows {
    pub(crate) fn new(seed: u64) -> Self {
        Self { seed, hostgroups: RwLock::default() }
    }

    /// The changes of a hostgroup, which are wanted from now on.
    pub fn of(&self, hostgroup: u32) -> Arc<Followed> {
        let known = self.hostgroups.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(followed) = known.get(&hostgroup) {
            return followed.clone();
        }
        drop(known);
        let mut hostgroups = self.hostgroups.write().unwrap_or_else(PoisonError::into_inner);
        let followed = hostgroups.entry(hostgroup);
        followed.or_insert_with(|| Arc::new(Followed::new(self.seed))).clone()
    }

    /// What is wanted.
    pub fn wanted(&self) -> Vec<(u32, Arc<Followed>)> {
        let hostgroups = self.hostgroups.read().unwrap_or_else(PoisonError::into_inner);
        hostgroups.iter().map(|(hostgroup, followed)| (*hostgroup, followed.clone())).collect()
    }
}
