//! One deflate block: what it repeats and what it spells out, then its bits.

use super::huffman::{Code, codes, lengths};
use super::matches::Window;

const END: usize = 256;
const LITERALS: usize = 288;
const DISTANCES: usize = 32;
/// Blocks of fewer bytes use the fixed codes.
const SMALL: usize = 48;
/// The original keeps a block's contents in a buffer of this size, whose filling ends the block.
const BUFFER: usize = 64 << 10;
/// Past this size, a block that does not shrink is ended.
const HOPELESS: usize = 31 << 10;
const LONGEST_CODE: usize = 15;
const LONGEST_LENGTH_CODE: usize = 7;
/// The order in which the lengths of the code lengths' codes are written.
const LENGTH_ORDER: [usize; 19] =
    [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];

/// Bits, lowest first.
#[derive(Debug, Default)]
pub(super) struct BitWriter {
    bytes: Vec<u8>,
    pending: u32,
    count: u32,
}

/// Where a writer stood.
struct Tail {
    len: usize,
    pending: u32,
    count: u32,
}

impl BitWriter {
    fn put(&mut self, bits: usize, count: u32) {
        self.pending |= (bits as u32) << self.count;
        self.count += count;
        while self.count >= 8 {
            self.bytes.push(self.pending as u8);
            self.pending >>= 8;
            self.count -= 8;
        }
    }

    fn code(&mut self, code: Code) {
        self.put(usize::from(code.bits), u32::from(code.len));
    }

    fn align(&mut self) {
        if self.count > 0 {
            self.put(0, 8 - self.count);
        }
    }

    fn tail(&self) -> Tail {
        Tail { len: self.bytes.len(), pending: self.pending, count: self.count }
    }

    fn rewind(&mut self, to: Tail) {
        self.bytes.truncate(to.len);
        (self.pending, self.count) = (to.pending, to.count);
    }

    pub(super) fn finish(mut self) -> Vec<u8> {
        self.align();
        self.bytes
    }
}

enum Item {
    Literal(u8),
    Repeat { len: usize, distance: usize },
}

/// An [`Item`] in four bytes: a literal, or above [`PackedItem::REPEAT`] the length and the distance of a repeat, from
/// their least on.
#[derive(Debug, Clone, Copy)]
struct PackedItem(u32);

impl PackedItem {
    const REPEAT: u32 = 1 << 31;
    const DISTANCE_BITS: u32 = 15;

    fn repeat(len: usize, distance: usize) -> Self {
        let (len, distance) = (len as u32 - 3, distance as u32 - 1);
        PackedItem(PackedItem::REPEAT | (len << PackedItem::DISTANCE_BITS) | distance)
    }

    fn unpack(self) -> Item {
        if self.0 & PackedItem::REPEAT == 0 {
            return Item::Literal(self.0 as u8);
        }
        let distance = self.0 & ((1 << PackedItem::DISTANCE_BITS) - 1);
        let len = (self.0 & !PackedItem::REPEAT) >> PackedItem::DISTANCE_BITS;
        Item::Repeat { len: len as usize + 3, distance: distance as usize + 1 }
    }
}

#[derive(Debug, Default)]
pub(super) struct Block {
    items: Vec<PackedItem>,
    /// Bytes of data that the items stand for.
    covered: usize,
    /// Bytes that the items take in the original's buffer, without their flags.
    buffered: usize,
    /// Where in the data the block begins.
    start: usize,
}

impl Block {
    pub(super) fn literal(&mut self, byte: u8) {
        self.items.push(PackedItem(u32::from(byte)));
        self.covered += 1;
        self.buffered += 1;
    }

    pub(super) fn repeat(&mut self, len: usize, distance: usize) {
        self.items.push(PackedItem::repeat(len, distance));
        self.covered += len;
        self.buffered += 3;
    }

    pub(super) fn is_full(&self) -> bool {
        // A flag byte stands before every eight items.
        let used = self.buffered + 1 + self.items.len() / 8;
        used > BUFFER - 8 || (self.covered > HOPELESS && (used * 115) >> 7 >= self.covered)
    }

    /// Writes the block and begins the next.
    pub(super) fn flush(&mut self, out: &mut BitWriter, window: &Window<'_>, last: bool) {
        out.put(usize::from(last), 1);
        let before = out.tail();
        if self.covered < SMALL {
            self.write_fixed(out);
        } else {
            self.write_dynamic(out);
        }
        let grew = self.covered > 0 && out.bytes.len() - before.len + 1 >= self.covered;
        if grew && window.position() - self.start <= window.behind() {
            out.rewind(before);
            self.write_stored(out, window);
        }
        self.start += self.covered;
        (self.covered, self.buffered) = (0, 0);
        self.items.clear();
    }

    fn write_stored(&self, out: &mut BitWriter, window: &Window<'_>) {
        out.put(0, 2);
        out.align();
        out.put(self.covered & 0xFFFF, 16);
        out.put(!self.covered & 0xFFFF, 16);
        for &byte in window.bytes(self.start..self.start + self.covered) {
            out.put(usize::from(byte), 8);
        }
    }

    fn write_fixed(&self, out: &mut BitWriter) {
        out.put(1, 2);
        let length = |symbol| match symbol {
            0..144 | 280.. => 8,
            144..256 => 9,
            256..280 => 7,
        };
        let literals: Vec<u8> = (0..LITERALS).map(length).collect();
        self.write_items(out, &codes(&literals), &codes(&[5; DISTANCES]));
    }

    fn write_dynamic(&self, out: &mut BitWriter) {
        let (literals, distances) = self.counts();
        let literals = lengths(&literals, LONGEST_CODE);
        let distances = lengths(&distances, LONGEST_CODE);
        let used = |lengths: &[u8], least: usize| {
            lengths.iter().rposition(|&len| len > 0).map_or(least, |last| least.max(last + 1))
        };
        let (literal_count, distance_count) = (used(&literals, END + 1), used(&distances, 1));
        let both = [&literals[..literal_count], &distances[..distance_count]].concat();
        let runs = run_lengths(&both);
        let mut run_counts = [0u16; 19];
        runs.iter().for_each(|run| run_counts[run.symbol] += 1);
        let run_code_lengths = lengths(&run_counts, LONGEST_LENGTH_CODE);
        let order = LENGTH_ORDER.map(|symbol| run_code_lengths[symbol]);
        let order_count = used(&order, 4);

        out.put(2, 2);
        out.put(literal_count - 257, 5);
        out.put(distance_count - 1, 5);
        out.put(order_count - 4, 4);
        order[..order_count].iter().for_each(|&len| out.put(usize::from(len), 3));
        let run_codes = codes(&run_code_lengths);
        for run in runs {
            out.code(run_codes[run.symbol]);
            out.put(run.extra, run.extra_bits);
        }
        self.write_items(out, &codes(&literals), &codes(&distances));
    }

    fn counts(&self) -> ([u16; LITERALS], [u16; DISTANCES]) {
        let (mut literals, mut distances) = ([0; LITERALS], [0; DISTANCES]);
        for item in &self.items {
            match item.unpack() {
                Item::Literal(byte) => literals[usize::from(byte)] += 1,
                Item::Repeat { len, distance } => {
                    literals[length_symbol(len).symbol] += 1;
                    distances[distance_symbol(distance).symbol] += 1;
                }
            }
        }
        literals[END] = 1;
        (literals, distances)
    }

    fn write_items(&self, out: &mut BitWriter, literals: &[Code], distances: &[Code]) {
        for item in &self.items {
            match item.unpack() {
                Item::Literal(byte) => out.code(literals[usize::from(byte)]),
                Item::Repeat { len, distance } => {
                    for (symbol, codes) in
                        [(length_symbol(len), literals), (distance_symbol(distance), distances)]
                    {
                        out.code(codes[symbol.symbol]);
                        out.put(symbol.extra, symbol.extra_bits);
                    }
                }
            }
        }
        out.code(literals[END]);
    }
}

/// A symbol and the bits that follow its code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Symbol {
    symbol: usize,
    extra: usize,
    extra_bits: u32,
}

/// Lengths from 3 to 258.
fn length_symbol(len: usize) -> Symbol {
    if len == 258 {
        return Symbol { symbol: 285, extra: 0, extra_bits: 0 };
    }
    graded(len - 3, 4, 257)
}

/// Distances from 1 to 32768.
fn distance_symbol(distance: usize) -> Symbol {
    graded(distance - 1, 2, 0)
}

/// Deflate's way to write a range with few symbols: the first `2 * step` values one by one, then
/// `step` symbols for each power of two.
fn graded(value: usize, step: usize, first: usize) -> Symbol {
    if value < 2 * step {
        return Symbol { symbol: first + value, extra: 0, extra_bits: 0 };
    }
    let extra_bits = (value / step).ilog2();
    let symbol = first + step * extra_bits as usize + (value >> extra_bits);
    Symbol { symbol, extra: value & ((1 << extra_bits) - 1), extra_bits }
}

/// Code lengths with their repeats shortened.
fn run_lengths(lengths: &[u8]) -> Vec<Symbol> {
    let plain = |len: u8| Symbol { symbol: usize::from(len), extra: 0, extra_bits: 0 };
    let run = |symbol, extra, extra_bits| Symbol { symbol, extra, extra_bits };
    let mut runs = Vec::new();
    for group in lengths.chunk_by(|a, b| a == b) {
        let (len, mut left) = (group[0], group.len());
        if len > 0 {
            runs.push(plain(len));
            left -= 1;
        }
        let longest = if len == 0 { 138 } else { 6 };
        while left > 0 {
            let part = left.min(longest);
            left -= part;
            match (len, part) {
                (_, 1..3) => runs.extend(std::iter::repeat_n(plain(len), part)),
                (0, 3..11) => runs.push(run(17, part - 3, 3)),
                (0, _) => runs.push(run(18, part - 11, 7)),
                (_, _) => runs.push(run(16, part - 3, 2)),
            }
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols_are_deflate_s() {
        let symbol = |symbol, extra, extra_bits| Symbol { symbol, extra, extra_bits };
        for (len, want) in [
            (3, symbol(257, 0, 0)),
            (10, symbol(264, 0, 0)),
            (12, symbol(265, 1, 1)),
            (115, symbol(280, 0, 4)),
            (162, symbol(281, 31, 5)),
            (257, symbol(284, 30, 5)),
            (258, symbol(285, 0, 0)),
        ] {
            assert_eq!(length_symbol(len), want, "length {len}");
        }
        for (distance, want) in [
            (1, symbol(0, 0, 0)),
            (4, symbol(3, 0, 0)),
            (6, symbol(4, 1, 1)),
            (24_577, symbol(29, 0, 13)),
            (32_768, symbol(29, 8191, 13)),
        ] {
            assert_eq!(distance_symbol(distance), want, "distance {distance}");
        }
    }
}
