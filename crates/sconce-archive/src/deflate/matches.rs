//! Finds repeats: a ring of the last 32 KiB, with chains of places that begin alike.

/// Longest repeat that deflate can name.
pub(super) const MAX_MATCH: usize = 258;
/// Bytes that can be looked back.
const RING: usize = 32 << 10;
const MASK: usize = RING - 1;
/// The ring's first bytes stand again behind its last, so that repeats need not wrap.
const MIRROR: usize = MAX_MATCH - 1;
/// Bytes of the ring: it takes `RING + MIRROR`. With a power of two a mask keeps every place inside, which saves
/// the check of each of the many bytes that are looked at.
const BYTES: usize = 2 * RING;
const HASHES: usize = 1 << 15;
const HASH_SHIFT: usize = 5;
/// How many groups of three places are tried, for short repeats in hand and for good ones.
const GROUPS: [usize; 2] = [257, 65];
/// A repeat in hand this long is good.
const GOOD: usize = 32;

/// The data around the current position: what was passed and some of what comes.
pub(super) struct Window {
    ring: Box<[u8; BYTES]>,
    /// For each place, the one before it with the same hash; 0 ends a chain.
    chain: Box<[u16; RING]>,
    /// For each hash, its last place.
    heads: Box<[u16; HASHES]>,
    position: usize,
    ahead: usize,
    behind: usize,
}

impl Window {
    pub(super) fn new() -> Self {
        Window {
            ring: Box::new([0; BYTES]),
            chain: Box::new([0; RING]),
            heads: Box::new([0; HASHES]),
            position: 0,
            ahead: 0,
            behind: 0,
        }
    }

    /// Bytes that come, the current one included.
    pub(super) fn ahead(&self) -> usize {
        self.ahead
    }

    /// The current position from the start of the data.
    pub(super) fn position(&self) -> usize {
        self.position
    }

    /// Bytes that can be looked back.
    pub(super) fn behind(&self) -> usize {
        self.behind
    }

    /// The current place in the ring.
    pub(super) fn place(&self) -> usize {
        self.position & MASK
    }

    /// The current byte.
    pub(super) fn current(&self) -> u8 {
        self.ring[self.place()]
    }

    /// The byte at a position that is still in the ring.
    pub(super) fn byte(&self, position: usize) -> u8 {
        self.ring[position & MASK]
    }

    /// Takes bytes in until 258 lie ahead; gives back the rest.
    pub(super) fn fill<'a>(&mut self, data: &'a [u8]) -> &'a [u8] {
        let (taken, rest) = data.split_at(data.len().min(MAX_MATCH - self.ahead));
        for &byte in taken {
            let place = (self.position + self.ahead) & MASK;
            self.ring[place] = byte;
            if place < MIRROR {
                self.ring[RING + place] = byte;
            }
            self.ahead += 1;
            if self.ahead + self.behind >= 3 {
                self.enter(self.position + self.ahead - 3);
            }
        }
        self.behind = self.behind.min(RING - self.ahead);
        rest
    }

    /// Enters the three bytes at a position into their chain.
    fn enter(&mut self, position: usize) {
        let hash =
            (0..3).fold(0, |hash, i| (hash << HASH_SHIFT) ^ usize::from(self.byte(position + i)));
        let head = &mut self.heads[hash & (HASHES - 1)];
        self.chain[position & MASK] = *head;
        *head = position as u16;
    }

    pub(super) fn advance(&mut self, step: usize) {
        self.position += step;
        self.ahead -= step;
        self.behind = (self.behind + step).min(RING);
    }

    fn pair(&self, place: usize) -> [u8; 2] {
        [self.ring[place & (BYTES - 1)], self.ring[(place + 1) & (BYTES - 1)]]
    }

    /// The first longest repeat that is longer than `len`, as length and distance; `len` and 0
    /// when there is none.
    pub(super) fn find(&self, mut len: usize) -> (usize, usize) {
        let here = self.place();
        let mut distance = 0;
        if self.ahead <= len {
            return (len, distance);
        }
        let start = self.pair(here);
        let mut end = self.pair(here + len - 1);
        let mut place = here;
        for _ in 1..GROUPS[usize::from(len >= GOOD)] {
            let mut back = usize::MAX;
            for _ in 0..3 {
                let before = self.chain[place & MASK];
                let distance_to = usize::from((self.position as u16).wrapping_sub(before));
                if before == 0 || distance_to > self.behind {
                    return (len, distance);
                }
                place = usize::from(before) & MASK;
                if self.pair(place + len - 1) == end {
                    back = distance_to;
                    break;
                }
            }
            if back == usize::MAX {
                continue;
            }
            if back == 0 {
                break;
            }
            if self.pair(place) != start {
                continue;
            }
            let after = |place: usize| &self.ring[place..place + MAX_MATCH];
            let alike = after(here).iter().zip(after(place));
            let alike = alike.take_while(|(a, b)| a == b).count();
            if alike > len {
                distance = back;
                len = alike.min(self.ahead);
                if len == self.ahead {
                    break;
                }
                end = self.pair(here + len - 1);
            }
        }
        (len, distance)
    }
}
