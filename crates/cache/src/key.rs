//! Keys of answers, which are hashed once however often they are looked for.

use std::hash::{BuildHasher, Hash, Hasher};
use std::sync::Arc;

use foldhash::quality::FixedState;
use quick_cache::Equivalent;

/// Everything that an answer depends on, and the hash of that.
#[derive(Clone, Debug)]
pub struct CacheKey {
    bytes: Arc<[u8]>,
    hash: u64,
}

/// A key that is looked for.
#[derive(Clone, Copy, Debug)]
pub struct SoughtKey<'a> {
    bytes: &'a [u8],
    hash: u64,
}

impl CacheKey {
    /// What it consists of.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// To look for it.
    pub fn sought(&self) -> SoughtKey<'_> {
        SoughtKey { bytes: &self.bytes, hash: self.hash }
    }

    pub(crate) fn hash(&self) -> u64 {
        self.hash
    }
}

impl<'a> SoughtKey<'a> {
    pub(crate) fn new(bytes: &'a [u8], hashing: &FixedState) -> Self {
        Self { bytes, hash: hashing.hash_one(bytes) }
    }

    /// What it consists of.
    pub fn bytes(self) -> &'a [u8] {
        self.bytes
    }

    /// A copy that may be kept.
    pub fn to_key(self) -> CacheKey {
        CacheKey { bytes: self.bytes.into(), hash: self.hash }
    }
}

impl PartialEq for CacheKey {
    fn eq(&self, other: &Self) -> bool {
        self.sought().equivalent(other)
    }
}

impl Eq for CacheKey {}

impl Equivalent<CacheKey> for SoughtKey<'_> {
    fn equivalent(&self, key: &CacheKey) -> bool {
        self.hash == key.hash && *self.bytes == *key.bytes
    }
}

impl Hash for CacheKey {
    fn hash<H: Hasher>(&self, to: &mut H) {
        to.write_u64(self.hash);
    }
}

impl Hash for SoughtKey<'_> {
    fn hash<H: Hasher>(&self, to: &mut H) {
        to.write_u64(self.hash);
    }
}

/// Takes for its hash what is one already: of a key, of a digest.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct OwnHash;

/// The hash of one key.
#[derive(Clone, Copy, Default, Debug)]
pub struct TakenHash(u64);

impl BuildHasher for OwnHash {
    type Hasher = TakenHash;

    fn build_hasher(&self) -> TakenHash {
        TakenHash::default()
    }
}

impl Hasher for TakenHash {
    fn write(&mut self, _: &[u8]) {
        debug_assert!(false, "a key tells its hash");
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
