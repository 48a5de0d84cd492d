//! The `.data/serialization_id` record: two hashes, of the record names and of their checksums.
//!
//! PyTorch combines the names in the iteration order of a `std::unordered_set<std::string>` of
//! GNU's libstdc++, so that order is reproduced here.

/// A set of names that iterates in the order libstdc++'s `unordered_set<string>` would.
///
/// ```
/// let mut names = sconce_archive::NameSet::default();
/// names.insert("data.pkl");
/// names.insert("version");
/// assert_eq!(names.iter().collect::<Vec<_>>(), ["version", "data.pkl"]);
/// ```
#[derive(Debug)]
pub struct NameSet {
    nodes: Vec<Node>,
    head: Option<usize>,
    /// For each bucket, the node before the bucket's first one ([`BEFORE_HEAD`] for the front).
    buckets: Vec<Option<usize>>,
    next_resize: usize,
}

const BEFORE_HEAD: usize = usize::MAX;

#[derive(Debug)]
struct Node {
    name: String,
    hash: u64,
    next: Option<usize>,
}

/// libstdc++'s bucket counts, as far as doubling from empty reaches.
const PRIMES: [usize; 24] = [
    13,
    29,
    59,
    127,
    257,
    541,
    1109,
    2357,
    5087,
    10273,
    20753,
    42043,
    85229,
    172_933,
    351_061,
    712_697,
    1_447_153,
    2_938_679,
    5_967_347,
    12_117_689,
    24_607_243,
    49_969_847,
    101_473_717,
    206_062_531,
];

impl Default for NameSet {
    fn default() -> Self {
        NameSet { nodes: Vec::new(), head: None, buckets: vec![None], next_resize: 0 }
    }
}

impl NameSet {
    /// Adds a name; one that is there already changes nothing.
    pub fn insert(&mut self, name: &str) {
        let hash = hash(name.as_bytes());
        if !self.contains(name, hash) {
            self.push(name, hash);
        }
    }

    /// [`NameSet::insert`] for a name known to be new: it is not searched for, so that names
    /// chosen to collide cost nothing.
    pub(crate) fn insert_new(&mut self, name: &str) {
        self.push(name, hash(name.as_bytes()));
    }

    fn push(&mut self, name: &str, hash: u64) {
        let count = self.nodes.len();
        if count + 1 > self.next_resize {
            self.grow(count);
        }
        self.nodes.push(Node { name: name.to_owned(), hash, next: None });
        self.link(count);
    }

    /// The names, in libstdc++'s order.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.order().map(|index| self.nodes[index].name.as_str())
    }

    fn order(&self) -> impl Iterator<Item = usize> {
        std::iter::successors(self.head, |&index| self.nodes[index].next)
    }

    fn bucket(&self, hash: u64) -> usize {
        (hash % self.buckets.len() as u64) as usize
    }

    fn contains(&self, name: &str, hash: u64) -> bool {
        let bucket = self.bucket(hash);
        let first = match self.buckets[bucket] {
            None => return false,
            Some(BEFORE_HEAD) => self.head,
            Some(before) => self.nodes[before].next,
        };
        std::iter::successors(first, |&index| self.nodes[index].next)
            .take_while(|&index| self.bucket(self.nodes[index].hash) == bucket)
            .any(|index| self.nodes[index].name == name)
    }

    fn grow(&mut self, count: usize) {
        let wanted = (count + 1).max(if self.next_resize == 0 { 11 } else { 0 });
        let buckets = self.buckets.len();
        if wanted < buckets {
            self.next_resize = buckets;
            return;
        }
        let least = (wanted + 1).max(buckets * 2);
        let size = PRIMES.into_iter().find(|&prime| prime >= least).unwrap_or(least | 1);
        self.next_resize = size;
        let order: Vec<usize> = self.order().collect();
        self.buckets = vec![None; size];
        self.head = None;
        for index in order {
            self.link(index);
        }
    }

    /// Puts a node at the front of its bucket, and of the whole list when the bucket is new.
    fn link(&mut self, index: usize) {
        let bucket = self.bucket(self.nodes[index].hash);
        match self.buckets[bucket] {
            None => {
                if let Some(head) = self.head {
                    let moved = self.bucket(self.nodes[head].hash);
                    self.buckets[moved] = Some(index);
                }
                self.nodes[index].next = self.head;
                self.head = Some(index);
                self.buckets[bucket] = Some(BEFORE_HEAD);
            }
            Some(BEFORE_HEAD) => {
                self.nodes[index].next = self.head;
                self.head = Some(index);
            }
            Some(before) => {
                self.nodes[index].next = self.nodes[before].next;
                self.nodes[before].next = Some(index);
            }
        }
    }
}

/// The 40 digits that PyTorch writes for these record names (without the folder) and these
/// checksums of the non-empty records, in file order.
pub fn serialization_id(names: &NameSet, checksums: impl IntoIterator<Item = u32>) -> String {
    let name_hash = names.iter().fold(0, |seed, name| combine(seed, hash(name.as_bytes())));
    let crc_hash = checksums.into_iter().fold(0, |seed, crc| combine(seed, u64::from(crc)));
    format!("{name_hash:020}{crc_hash:020}")
}

fn combine(seed: u64, value: u64) -> u64 {
    let mixed = value.wrapping_add(0x9e37_79b9).wrapping_add(seed << 6).wrapping_add(seed >> 2);
    seed ^ mixed
}

/// libstdc++'s `std::hash<std::string>`: 64-bit Murmur, in its own variant.
fn hash(bytes: &[u8]) -> u64 {
    const MUL: u64 = 0xc6a4_a793_5bd1_e995;
    let fold = |x: u64| x ^ (x >> 47);
    let mut state = 0xc70f_6907 ^ (bytes.len() as u64).wrapping_mul(MUL);
    let mut words = bytes.chunks_exact(8);
    for word in words.by_ref() {
        let word = word.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte));
        state = (state ^ fold(word.wrapping_mul(MUL)).wrapping_mul(MUL)).wrapping_mul(MUL);
    }
    let tail = words.remainder();
    if !tail.is_empty() {
        let tail = tail.iter().rev().fold(0, |tail, &byte| tail << 8 | u64::from(byte));
        state = (state ^ tail).wrapping_mul(MUL);
    }
    fold(fold(state).wrapping_mul(MUL))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_once_in_any_number() {
        let mut names = NameSet::default();
        for i in 0..3000 {
            names.insert(&format!("data/{i}"));
            names.insert(&format!("data/{}", i / 2));
        }
        let mut seen: Vec<&str> = names.iter().collect();
        assert_eq!(seen.len(), 3000);
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), 3000);
    }
}
