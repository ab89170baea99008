//! What was there before, in bounded memory.

use std::{
    collections::HashSet,
    hash::{BuildHasherDefault, Hash, Hasher},
};

/// Parts that grow one by one: a single table of many million entries is there twice while it grows.
const SHARDS: usize = 256;
const SHARD_SHIFT: u32 = 40;

/// Remembers values by 64 bits of a hash each, which is 9 to 20 bytes of memory.
///
/// Two different values are taken for the same with a probability of n²/2^65: 3e-6 for ten million.
#[derive(Clone, Debug)]
pub struct Seen {
    shards: Vec<HashSet<u64, BuildHasherDefault<AsItIs>>>,
    length: u64,
}

impl Default for Seen {
    fn default() -> Self {
        Self { shards: (0..SHARDS).map(|_| HashSet::default()).collect(), length: 0 }
    }
}

impl Seen {
    /// Adds a value. False: it was there.
    pub fn insert(&mut self, value: &impl Hash) -> bool {
        let hash = hash(value);
        let is_new = self.shards[shard(hash)].insert(hash);
        self.length += u64::from(is_new);
        is_new
    }

    /// Whether a value was added.
    pub fn contains(&self, value: &impl Hash) -> bool {
        let hash = hash(value);
        self.shards[shard(hash)].contains(&hash)
    }

    /// How many different values were added.
    pub fn len(&self) -> u64 {
        self.length
    }

    /// Whether none was.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }
}

fn shard(hash: u64) -> usize {
    // The table takes the lowest and the highest bits itself.
    (hash >> SHARD_SHIFT) as usize % SHARDS
}

/// SipHash with a constant key: the same in every process.
pub(crate) fn hash(value: &impl Hash) -> u64 {
    let mut hasher = std::hash::DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// Hasher for keys that are hashes.
#[derive(Clone, Debug, Default)]
pub(crate) struct AsItIs(u64);

impl Hasher for AsItIs {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_new_once() {
        let mut seen = Seen::default();
        for value in 0..100_000_u32 {
            assert!(!seen.contains(&value) && seen.insert(&value));
        }
        assert!((0..100_000_u32).all(|value| seen.contains(&value) && !seen.insert(&value)));
        assert!(seen.len() == 100_000 && !seen.contains(&100_000_u32));
        let largest = seen.shards.iter().map(HashSet::len).max();
        assert!(largest < Some(600), "spread over {SHARDS} parts, the largest has {largest:?}");
    }
}
