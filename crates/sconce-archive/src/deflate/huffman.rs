//! Huffman codes with a longest length: the textbook's, and a repair when it comes out too long.

use std::collections::VecDeque;

/// A code: its bits, first one lowest, and how many.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Code {
    pub(super) bits: u16,
    pub(super) len: u8,
}

/// The lengths of the codes for symbols that occur `counts` times, none above `limit`.
pub(super) fn lengths(counts: &[u16], limit: usize) -> Vec<u8> {
    let mut order: Vec<usize> = (0..counts.len()).filter(|&symbol| counts[symbol] > 0).collect();
    order.sort_by_key(|&symbol| counts[symbol]);
    let weights: Vec<u32> = order.iter().map(|&symbol| u32::from(counts[symbol])).collect();
    let of_length = limited(&depths(&weights), limit);
    let mut lengths = vec![0; counts.len()];
    // The most frequent symbols get the shortest codes.
    let mut symbols = order.iter().rev();
    for (len, &count) in of_length.iter().enumerate() {
        for &symbol in symbols.by_ref().take(count) {
            lengths[symbol] = len as u8;
        }
    }
    lengths
}

/// How deep each leaf of the tree over these ascending weights lies.
fn depths(weights: &[u32]) -> Vec<usize> {
    if weights.len() < 2 {
        return vec![1; weights.len()];
    }
    // Nodes are numbered as they are made, leaves first, so a parent's number is higher.
    let mut parents = vec![0; 2 * weights.len() - 1];
    let mut leaves = weights.iter().copied().enumerate().peekable();
    let mut inner: VecDeque<(usize, u32)> = VecDeque::new();
    for node in weights.len()..parents.len() {
        let mut sum = 0;
        for _ in 0..2 {
            let takes_inner = match (inner.front(), leaves.peek()) {
                (Some(inner), Some(leaf)) => inner.1 < leaf.1,
                (front, _) => front.is_some(),
            };
            let next = if takes_inner { inner.pop_front() } else { leaves.next() };
            let Some((child, weight)) = next else { break };
            parents[child] = node;
            sum += weight;
        }
        inner.push_back((node, sum));
    }
    let mut depths = vec![0; parents.len()];
    for node in (0..parents.len() - 1).rev() {
        depths[node] = depths[parents[node]] + 1;
    }
    depths.truncate(weights.len());
    depths
}

/// How many codes there are of each length from 0 to `limit`.
fn limited(depths: &[usize], limit: usize) -> Vec<usize> {
    let mut of_length = vec![0; limit + 1];
    for &depth in depths {
        of_length[depth.min(limit)] += 1;
    }
    if depths.len() < 2 {
        return of_length;
    }
    // Codes cut to the limit take more than all the room; each step gives one place back.
    let mut room: usize = (1..=limit).map(|len| of_length[len] << (limit - len)).sum();
    while room != 1 << limit {
        of_length[limit] -= 1;
        if let Some(len) = (1..limit).rev().find(|&len| of_length[len] > 0) {
            of_length[len] -= 1;
            of_length[len + 1] += 2;
        }
        room -= 1;
    }
    of_length
}

/// The canonical codes of these lengths.
pub(super) fn codes(lengths: &[u8]) -> Vec<Code> {
    let mut codes = vec![Code::default(); lengths.len()];
    let mut next = 0u16;
    for len in 1..=15u8 {
        next <<= 1;
        for (symbol, _) in lengths.iter().enumerate().filter(|&(_, &length)| length == len) {
            codes[symbol] = Code { bits: next.reverse_bits() >> (16 - len), len };
            next = next.wrapping_add(1);
        }
    }
    codes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_fill_the_room_and_keep_the_limit() {
        let fibonacci: Vec<u16> = std::iter::successors(Some((1, 1)), |&(a, b)| Some((b, a + b)))
            .map(|p| p.0)
            .take(22)
            .collect();
        for (counts, limit) in [
            (&fibonacci[..], 15),
            (&fibonacci[..], 7),
            (&[1, 1][..], 7),
            (&[5, 0, 5, 5][..], 7),
            (&[1; 19][..], 7),
        ] {
            let lengths = lengths(counts, limit);
            let room: usize = lengths
                .iter()
                .filter(|&&len| len > 0)
                .map(|&len| 1 << (limit - usize::from(len)))
                .sum();
            assert_eq!(room, 1 << limit, "{counts:?}");
            for (count, len) in counts.iter().zip(&lengths) {
                assert_eq!(*count > 0, *len > 0, "{counts:?}");
            }
        }
        assert_eq!(lengths(&[0, 9], 15), [0, 1]);
        assert_eq!(lengths(&[0, 0], 15), [0, 0]);
    }
}
