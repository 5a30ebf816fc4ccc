//! What is known of changes in a hostgroup whose servers' logs are followed.
//!
//! Each table has a version, which goes up with each change that a log tells of. An answer notes
//! the versions of what it reads before its statement is sent, and is told only while they are the
//! same.
//! A table is known by a hash of its names. Tables share 65,536 versions: two that share one only
//! make more answers invalid.
//!
//! **Not here:** the logs, and what a statement reads.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, OnceLock};

/// The changes of one hostgroup.
///
/// The follower of logs writes, and everybody reads. All of it is ordered (`SeqCst`): an answer
/// whose versions were noted before a change is never told after it.
#[derive(Debug)]
pub struct Followed {
    /// Whether every server of the hostgroup that may answer is followed, closely enough.
    stands: AtomicBool,
    /// Goes up when all answers of before are invalid.
    epoch: AtomicU64,
    versions: Box<[AtomicU64]>,
    /// The servers that are followed; 0 in places that none has.
    servers: Box<[AtomicU64]>,
    /// The last question for a writer's position that was begun, of any hostgroup.
    pulse: Arc<AtomicU64>,
    /// The last of this one whose position all its streams have passed.
    passed: AtomicU64,
    /// Until when answers may be told unless another pulse is passed, in microseconds.
    good_until_us: AtomicU64,
    /// How often servers have come to other places, in any hostgroup.
    moves: Arc<AtomicU64>,
    /// The same, as far as the follower of logs knows.
    moves_known: AtomicU64,
}

/// What an answer rests on: the versions of the tables that it reads, from before it was asked for.
#[derive(Clone, Debug)]
pub struct Basis {
    followed: Arc<Followed>,
    epoch: u64,
    versions: Box<[(u16, u64)]>,
}

const VERSIONS: usize = 1 << 16;

/// What is beyond them keeps no answers.
const SERVERS_MAX: usize = 64;

impl Followed {
    fn new(pulse: Arc<AtomicU64>, moves: Arc<AtomicU64>) -> Self {
        Self {
            stands: AtomicBool::new(false),
            epoch: AtomicU64::new(0),
            versions: (0..VERSIONS).map(|_| AtomicU64::new(0)).collect(),
            servers: (0..SERVERS_MAX).map(|_| AtomicU64::new(0)).collect(),
            pulse,
            passed: AtomicU64::new(0),
            good_until_us: AtomicU64::new(0),
            moves,
            moves_known: AtomicU64::new(0),
        }
    }

    /// These servers are followed from now on, and no others may answer; what was kept before is
    /// invalid.
    pub fn stand(&self, servers: impl Iterator<Item = u64>) {
        self.epoch.fetch_add(1, SeqCst);
        let servers = servers.chain(std::iter::repeat(0));
        self.servers.iter().zip(servers).for_each(|(place, server)| place.store(server, SeqCst));
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

    /// The follower of logs knows where servers are after so many moves ([`Follows::moves`]).
    pub fn know(&self, moves: u64) {
        self.moves_known.store(moves, SeqCst);
    }

    /// Whether changes are seen in time, on the servers that may answer.
    pub fn stands(&self) -> bool {
        self.stands.load(SeqCst) && self.moves_known.load(SeqCst) == self.moves.load(SeqCst)
    }

    /// A table or view gives other rows than before.
    pub fn changed(&self, table: u64) {
        if let Some(version) = self.version(place(table)) {
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

    /// All streams have passed the position that a pulse was told. Answers may be told until that
    /// time, of the clock of those who ask, even if nobody comes to say more.
    pub fn passed(&self, pulse: u64, good_until_us: u64) {
        self.good_until_us.store(good_until_us, SeqCst);
        self.passed.fetch_max(pulse, SeqCst);
    }

    /// Whether changes have been seen up to a moment ago, now. They have not where the process was
    /// stopped for a while, or whoever follows logs is.
    pub fn is_good_at(&self, now_us: u64) -> bool {
        now_us < self.good_until_us.load(SeqCst)
    }

    /// Whether a pulse has been passed that was begun no earlier than this one.
    pub fn has_passed(&self, pulse: u64) -> bool {
        self.passed.load(SeqCst) >= pulse
    }

    fn version(&self, place: u16) -> Option<&AtomicU64> {
        self.versions.get(usize::from(place))
    }
}

/// Where the version of a table is.
fn place(table: u64) -> u16 {
    (table % VERSIONS as u64) as u16
}

impl Basis {
    /// What an answer that reads these tables rests on from now on, if changes are seen.
    pub fn note(followed: &Arc<Followed>, tables: impl Iterator<Item = u64>) -> Option<Self> {
        let version = |place| Some((place, followed.version(place)?.load(SeqCst)));
        // the epoch first: whoever stands anew makes another one
        let (epoch, stands) = (followed.epoch.load(SeqCst), followed.stands());
        let versions = tables.filter_map(|table| version(place(table))).collect();
        stands.then(|| Self { followed: followed.clone(), epoch, versions })
    }

    /// Whether the same is so of an answer of this server.
    pub fn is_current_at(&self, server: u64) -> bool {
        let has = |place: &AtomicU64| place.load(SeqCst) == server;
        self.followed.servers.iter().any(has) && self.is_current()
    }

    /// Whether nothing of it has changed, and changes are seen.
    pub fn is_current(&self) -> bool {
        self.followed.stands() && !self.has_changed()
    }

    /// Whether some of it is known to have changed.
    pub fn has_changed(&self) -> bool {
        let Self { followed, epoch, versions } = self;
        let is_same = |(place, version): &(u16, u64)| {
            followed.version(*place).is_some_and(|now| now.load(SeqCst) == *version)
        };
        followed.epoch.load(SeqCst) != *epoch || !versions.iter().all(is_same)
    }

    /// What it takes of memory.
    pub(crate) fn bytes(&self) -> usize {
        std::mem::size_of_val(&*self.versions)
    }
}

/// The hostgroups whose changes are asked for.
#[derive(Debug, Default)]
pub struct Follows {
    first: OnceLock<Box<Wanted>>,
    pulse: Arc<AtomicU64>,
    moves: Arc<AtomicU64>,
}

/// One of them; none ever goes.
#[derive(Debug)]
struct Wanted {
    hostgroup: u32,
    followed: Arc<Followed>,
    next: OnceLock<Box<Self>>,
}

impl Follows {
    /// The changes of a hostgroup, which are wanted from now on.
    pub fn of(&self, hostgroup: u32) -> Arc<Followed> {
        let wanted = || {
            let followed = Arc::new(Followed::new(self.pulse.clone(), self.moves.clone()));
            Box::new(Wanted { hostgroup, followed, next: OnceLock::new() })
        };
        let mut found = self.first.get_or_init(wanted);
        while found.hostgroup != hostgroup {
            found = found.next.get_or_init(wanted);
        }
        found.followed.clone()
    }

    /// The pulse that has to be passed before a write that has ended is known to be, wherever it
    /// was.
    pub fn next_pulse(&self) -> u64 {
        self.pulse.load(SeqCst) + 1
    }

    /// Servers are about to come to other places: nothing is told from the cache until the follower
    /// of logs knows of it ([`Followed::know`]).
    pub fn note_move(&self) {
        self.moves.fetch_add(1, SeqCst);
    }

    /// How often that has been so.
    pub fn moves(&self) -> u64 {
        self.moves.load(SeqCst)
    }

    /// What is wanted.
    pub fn wanted(&self) -> impl Iterator<Item = (u32, Arc<Followed>)> {
        let all = std::iter::successors(self.first.get(), |wanted| wanted.next.get());
        all.map(|wanted| (wanted.hostgroup, wanted.followed.clone()))
    }
}
