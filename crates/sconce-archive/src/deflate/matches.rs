//! Finds repeats: chains of places that begin alike, as far as 32 KiB back.
//!
//! Which repeat is found shows in the output, so places are tried in the original's order and as many as it tries.
//! Most of them are tried in vain, after the best repeat has been found. So whether there can be a longer one is
//! looked up first: its last bytes, the repeat in hand and the byte behind it, must have occurred before. They
//! seldom have, since that byte is the one that ended the repeat in hand.

/// Longest repeat that deflate can name.
pub(super) const MAX_MATCH: usize = 258;
/// Bytes that can be looked back.
const RING: usize = 32 << 10;
const MASK: usize = RING - 1;
const HASHES: usize = 1 << 15;
const HASH_SHIFT: usize = 5;
/// How many groups of three places are tried, for short repeats in hand and for good ones.
const GROUPS: [usize; 2] = [257, 65];
/// A repeat in hand this long is good.
const GOOD: usize = 32;
/// How many occurrences of a repeat's last bytes are looked at before the places are simply tried.
const OCCURRENCES: usize = 64;

/// The data around the current position: what was passed and some of what comes.
pub(super) struct Window<'d> {
    data: &'d [u8],
    position: usize,
    behind: usize,
    /// Up to here positions are entered in their chains.
    entered: usize,
    /// Of three bytes, as the original has them; 0 ends a chain.
    threes: Threes,
    /// Of five and eight bytes, to look up whether they have occurred.
    fives: Chains,
    eights: Chains,
}

/// Positions by the three bytes that stand there.
struct Threes {
    /// For each of the last positions, the three before it with the same hash, nearest first: so that a group is
    /// there at once.
    before: Box<[[u16; 3]; RING]>,
    heads: Box<[u16; HASHES]>,
}

impl Threes {
    fn enter(&mut self, position: usize, hash: usize) {
        let head = &mut self.heads[hash & (HASHES - 1)];
        let [second, third, _] = self.before[usize::from(*head) & MASK];
        self.before[position & MASK] = [*head, second, third];
        *head = position as u16;
    }
}

/// Positions by what stands there, of each the lowest 16 bits.
struct Chains {
    /// For each of the last positions, the one before it with the same hash.
    before: Box<[u16; RING]>,
    /// For each hash, its last position.
    heads: Box<[u16; HASHES]>,
}

impl Chains {
    fn new() -> Self {
        Chains { before: Box::new([0; RING]), heads: Box::new([0; HASHES]) }
    }

    fn enter(&mut self, position: usize, hash: usize) {
        let head = &mut self.heads[hash & (HASHES - 1)];
        self.before[position & MASK] = *head;
        *head = position as u16;
    }

    /// How far before `position` the one lies that comes before `of` in its chain, a distance of less than 64 KiB.
    fn distance(&self, position: usize, of: usize) -> usize {
        usize::from((position as u16).wrapping_sub(self.before[of & MASK]))
    }
}

impl<'d> Window<'d> {
    pub(super) fn new(data: &'d [u8]) -> Self {
        let [fives, eights] = std::array::from_fn(|_| Chains::new());
        let threes = Threes { before: Box::new([[0; 3]; RING]), heads: Box::new([0; HASHES]) };
        Window { data, position: 0, behind: 0, entered: 0, threes, fives, eights }
    }

    /// Bytes that come, the current one included, as far as a repeat reaches.
    pub(super) fn ahead(&self) -> usize {
        (self.data.len() - self.position).min(MAX_MATCH)
    }

    /// The current position from the start of the data.
    pub(super) fn position(&self) -> usize {
        self.position
    }

    /// Bytes that the original can look back.
    pub(super) fn behind(&self) -> usize {
        self.behind
    }

    /// The current place in the original's ring of the last bytes.
    pub(super) fn place(&self) -> usize {
        self.position & MASK
    }

    /// The current byte.
    pub(super) fn current(&self) -> u8 {
        self.data[self.position]
    }

    /// The bytes of some positions.
    pub(super) fn bytes(&self, positions: std::ops::Range<usize>) -> &[u8] {
        &self.data[positions]
    }

    /// Takes note of what comes into sight.
    pub(super) fn fill(&mut self) {
        // What comes takes room in the original's ring.
        self.behind = self.behind.min(RING - self.ahead());
        let end = self.position + self.ahead();
        while self.entered + 8 <= end {
            let bytes = word(self.data, self.entered);
            self.threes.enter(self.entered, hash_of_three(bytes));
            self.fives.enter(self.entered, mixed(bytes << 24));
            self.eights.enter(self.entered, mixed(bytes));
            self.entered += 1;
        }
        // The last places of the data, and they alone, have fewer bytes.
        if end == self.data.len() {
            while self.entered + 3 <= end {
                let bytes = word(self.data, self.entered);
                self.threes.enter(self.entered, hash_of_three(bytes));
                if self.entered + 5 <= end {
                    self.fives.enter(self.entered, mixed(bytes << 24));
                }
                self.entered += 1;
            }
        }
    }

    pub(super) fn advance(&mut self, step: usize) {
        self.position += step;
        self.behind = (self.behind + step).min(RING);
    }

    /// The first longest repeat that is longer than `len`, as length and distance; `len` and 0
    /// when there is none.
    pub(super) fn find(&self, mut len: usize) -> (usize, usize) {
        let (data, here, ahead) = (self.data, self.position, self.ahead());
        let mut distance = 0;
        if ahead <= len || !self.may_repeat(len + 1) {
            return (len, distance);
        }
        let start = pair(data, here);
        let mut end = pair(data, here + len - 1);
        let mut place = here;
        for _ in 1..GROUPS[usize::from(len >= GOOD)] {
            let mut back = None;
            for before in self.threes.before[place & MASK] {
                let distance_to = usize::from((here as u16).wrapping_sub(before));
                if before == 0 || distance_to > self.behind || distance_to == 0 {
                    return (len, distance);
                }
                place = here - distance_to;
                if pair(data, place + len - 1) == end {
                    back = Some(distance_to);
                    break;
                }
            }
            let Some(back) = back else { continue };
            if pair(data, place) != start {
                continue;
            }
            let alike = alike(&data[here..here + ahead], &data[place..place + ahead]);
            if alike > len {
                (len, distance) = (alike, back);
                if len == ahead || !self.may_repeat(len + 1) {
                    break;
                }
                end = pair(data, here + len - 1);
            }
        }
        (len, distance)
    }

    /// Whether so many bytes may have occurred before; if not, they have not.
    fn may_repeat(&self, len: usize) -> bool {
        let (chains, bytes) = match len {
            8.. => (&self.eights, 8),
            5.. => (&self.fives, 5),
            _ => return true,
        };
        let (here, last) = (self.position, self.position + len - bytes);
        let (mut at, mut distance) = (last, 0);
        for _ in 0..OCCURRENCES {
            let next = chains.distance(last, at);
            if next <= distance || next > self.behind {
                return false;
            }
            distance = next;
            at = last - distance;
            let there = here - distance;
            if self.data[there..there + len] == self.data[here..here + len] {
                return true;
            }
        }
        true
    }
}

fn hash_of_three(bytes: u64) -> usize {
    let byte = |index: usize| bytes as usize >> (8 * index) & 0xFF;
    (byte(0) << (2 * HASH_SHIFT)) ^ (byte(1) << HASH_SHIFT) ^ byte(2)
}

/// A hash of all bits.
fn mixed(bytes: u64) -> usize {
    (bytes.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - HASHES.ilog2())) as usize
}

/// Eight bytes, the first one lowest; zeros stand for what is behind the data.
fn word(data: &[u8], at: usize) -> u64 {
    let rest = &data[at..];
    match rest.first_chunk() {
        Some(&bytes) => u64::from_le_bytes(bytes),
        None => rest.iter().rev().fold(0, |word, &byte| (word << 8) | u64::from(byte)),
    }
}

fn pair(data: &[u8], at: usize) -> [u8; 2] {
    [data[at], data[at + 1]]
}

/// How many bytes two slices of one length have in common at their beginnings.
fn alike(a: &[u8], b: &[u8]) -> usize {
    let (words_a, rest_a) = a.as_chunks::<8>();
    let (words_b, rest_b) = b.as_chunks::<8>();
    for (index, (&a, &b)) in words_a.iter().zip(words_b).enumerate() {
        let different = u64::from_le_bytes(a) ^ u64::from_le_bytes(b);
        if different != 0 {
            return index * 8 + different.trailing_zeros() as usize / 8;
        }
    }
    let rest = rest_a.iter().zip(rest_b).take_while(|(a, b)| a == b).count();
    words_a.len() * 8 + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The original's way: each place of a chain is looked at, in chains of one link for each position.
    struct Plain<'d> {
        data: &'d [u8],
        chains: Chains,
        entered: usize,
    }

    impl Plain<'_> {
        fn find(&mut self, here: usize, behind: usize, mut len: usize) -> (usize, usize) {
            let ahead = (self.data.len() - here).min(MAX_MATCH);
            while self.entered + 3 <= here + ahead {
                self.chains.enter(self.entered, hash_of_three(word(self.data, self.entered)));
                self.entered += 1;
            }
            let byte = |at: usize| self.data[at];
            let (mut place, mut distance) = (here, 0);
            let mut groups = GROUPS[usize::from(len >= GOOD)];
            while ahead > len {
                groups -= 1;
                if groups == 0 {
                    break;
                }
                let mut is_alike = false;
                for _ in 0..3 {
                    let before = self.chains.before[place & MASK];
                    let back = usize::from((here as u16).wrapping_sub(before));
                    if before == 0 || back == 0 || back > behind {
                        return (len, distance);
                    }
                    place = here - back;
                    is_alike = byte(place + len) == byte(here + len)
                        && byte(place + len - 1) == byte(here + len - 1);
                    if is_alike {
                        break;
                    }
                }
                let alike =
                    (0..ahead).take_while(|&at| byte(place + at) == byte(here + at)).count();
                if is_alike && alike > len {
                    (len, distance) = (alike, here - place);
                }
            }
            (len, distance)
        }
    }

    /// Records with counters, words and noise, by turns: long chains, far repeats and places of long ago.
    fn records(len: usize) -> Vec<u8> {
        let mut state = 7u32;
        let mut next = |below: u32| {
            state = state.wrapping_mul(1_103_515_245).wrapping_add(12_345);
            (state >> 16) % below
        };
        let mut data = Vec::with_capacity(len);
        let mut counter = 0u32;
        while data.len() < len {
            counter += next(3);
            match next(40) {
                0 => data.extend((0..next(900)).map(|_| next(256) as u8)),
                1..8 => data.extend(format!("x{counter} = f(x{})\n", next(9)).bytes()),
                _ => {
                    data.extend([0x87, 0x4A]);
                    data.extend((counter * 8).to_le_bytes());
                    data.extend([0x85, 0, 0x6A, 0x49, next(2) as u8, 0x4A]);
                }
            }
        }
        data
    }

    #[test]
    fn what_is_looked_up_beforehand_changes_no_repeat() {
        let data = records(300_000);
        let mut window = Window::new(&data);
        let chains = Chains::new();
        let mut plain = Plain { data: &data, chains, entered: 0 };
        let (mut longer, mut last) = (0, 2);
        while window.ahead() > 0 {
            window.fill();
            let (here, behind) = (window.position(), window.behind());
            for len in [2, last] {
                let found = window.find(len);
                assert_eq!(found, plain.find(here, behind, len), "at {here}, longer than {len}");
                longer += usize::from(found.1 > 0);
                last = if len == 2 { found.0 } else { last };
            }
            window.advance(1);
        }
        assert!(longer > 100_000, "{longer}");
    }
}
