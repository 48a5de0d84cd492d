//! Raw deflate, bit for bit as `torch.jit.save` compresses code: miniz's `tdefl` at level 9, with
//! the quirks that show in its output. `matches.rs` finds repeats, `block.rs` and `huffman.rs`
//! write them down. Other compressors write other, equally valid bits.

mod block;
mod huffman;
mod matches;

use self::block::{BitWriter, Block};
use self::matches::{MAX_MATCH, Window};

/// Matches at least this long are taken at once, without a look at the next position.
const GOOD_MATCH: usize = 128;
/// A match of three bytes this far back costs more than it saves.
const FAR: usize = 8 << 10;

/// A match or literal that waits for what the next position has to offer.
#[derive(Debug, Clone, Copy)]
struct Saved {
    literal: u8,
    distance: usize,
    len: usize,
}

/// Compresses `data` into one raw deflate stream.
pub(crate) fn deflate(data: &[u8]) -> Vec<u8> {
    let mut out = BitWriter::default();
    let mut window = Window::new(data);
    let mut block = Block::default();
    let mut saved: Option<Saved> = None;
    while window.ahead() > 0 {
        window.fill();
        let found = window.find(saved.map_or(2, |saved| saved.len));
        let (mut len, mut distance) = found;
        // The second condition looks at a place in a ring where a distance is meant; it is a slip
        // of the original that changes what comes out.
        if (len == 3 && distance >= FAR) || window.place() == distance {
            (len, distance) = (0, 0);
        }
        let literal = window.current();
        let here = Saved { literal, distance, len };
        let step = match saved.take() {
            Some(before) if len > before.len => {
                block.literal(before.literal);
                if len >= GOOD_MATCH {
                    block.repeat(len, distance);
                    len
                } else {
                    saved = Some(here);
                    1
                }
            }
            Some(before) => {
                block.repeat(before.len, before.distance);
                before.len - 1
            }
            None if distance == 0 => {
                block.literal(literal);
                1
            }
            None if len >= GOOD_MATCH => {
                block.repeat(len, distance);
                len
            }
            None => {
                saved = Some(here);
                1
            }
        };
        debug_assert!(step <= MAX_MATCH);
        window.advance(step);
        if block.is_full() {
            block.flush(&mut out, &window, false);
        }
    }
    block.flush(&mut out, &window, true);
    out.finish()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use sconce_source::Limits;

    use super::*;
    use crate::inflate::inflate;

    fn round_trip(data: &[u8]) {
        let packed = deflate(data);
        let back = inflate(&packed, data.len() as u64, &Limits::default()).unwrap();
        assert!(back == data, "{} bytes came back different", data.len());
    }

    fn noise(len: usize, mask: u8) -> Vec<u8> {
        let mut state = 1u32;
        let mut next = || {
            state = state.wrapping_mul(1_103_515_245).wrapping_add(12_345);
            (state >> 16) as u8 & mask
        };
        (0..len).map(|_| next()).collect()
    }

    #[test]
    fn every_kind_of_data_comes_back() {
        for len in [0, 1, 2, 3, 47, 48, 257, 258, 259, 32_767, 32_768, 33_100, 70_000] {
            round_trip(&vec![b'a'; len]);
            for mask in [0x01, 0x0F, 0x7F, 0xFF] {
                round_trip(&noise(len, mask));
            }
        }
        let far: Vec<u8> = noise(9000, 0xFF).repeat(9);
        round_trip(&far);
    }

    proptest! {
        #[test]
        fn anything_comes_back(
            words in proptest::collection::vec("[a-d]{1,6}|[ -~]{1,3}", 0..300),
        ) {
            round_trip(words.concat().as_bytes());
        }
    }
}
