//! A second product, cut into tiles, that is computed while `packed_gemv` waits for memory:
//! one line of a tile at a time.
#![allow(unsafe_code, reason = "vector kernels over raw pointers; see the safety comments")]

use std::ops::Range;

use sconce_kernel_core::simd::lanes::{LANES, Lanes};

use crate::bounds::lies_in;
use crate::panel::PANEL;

/// Lines of a panel that all rows are multiplied with before the next lines. They stay in the first cache,
/// next to the panels of the vector.
const CHUNK: usize = 64;

/// Part of a product of rows and panels, which is added to what `out` holds.
pub struct InterleavedProduct<'a> {
    /// The number of rows.
    pub rows: usize,
    /// The rows' elements.
    pub x: &'a [f32],
    /// From one row to the next.
    pub stride: usize,
    /// The panels, of `depth` lines each, from one to the next `apart` elements.
    pub panels: &'a [f32],
    /// Lines of a panel.
    pub depth: usize,
    /// Elements from one panel to the next.
    pub apart: usize,
    /// The lines to multiply, counted through the panels.
    pub lines: Range<usize>,
    /// The product, 32 columns for each panel, and `out_stride` from one row to the next.
    pub out: &'a mut [f32],
    /// From one row of the product to the next.
    pub out_stride: usize,
}

/// Some lines of a panel, or of a half of it, some rows' elements for them, and the product.
#[derive(Clone, Copy)]
pub(crate) struct RawTile {
    pub(crate) depth: usize,
    x: *const f32,
    stride: usize,
    panel: *const f32,
    out: *mut f32,
    out_stride: usize,
}

/// A [`InterleavedProduct`] in tiles of `unit` rows: all rows for some lines of a panel, then the next lines.
pub(crate) struct Tiles {
    /// The first rows and all lines of the first panel.
    first: RawTile,
    apart: usize,
    unit: usize,
    rows: usize,
    lines: Range<usize>,
    /// The next tile's first row, and its first column within the panel.
    row: usize,
    column: usize,
    /// A tile of which this many lines have been added.
    begun: Option<(RawTile, usize)>,
}

impl Tiles {
    /// Nothing to multiply.
    pub(crate) const NONE: Tiles = Tiles {
        first: RawTile {
            depth: 1,
            x: std::ptr::null(),
            stride: 0,
            panel: std::ptr::null(),
            out: std::ptr::null_mut(),
            out_stride: 0,
        },
        apart: 0,
        unit: 1,
        rows: 0,
        lines: 0..0,
        row: 0,
        column: 0,
        begun: None,
    };

    /// # Panics
    /// Where the product reaches beyond its operands or has rows that are no whole units.
    pub(crate) fn new(beside: InterleavedProduct<'_>, unit: usize) -> Tiles {
        let InterleavedProduct { rows, x, stride, panels, depth, apart, lines, out, out_stride } =
            beside;
        if rows == 0 || lines.is_empty() {
            return Tiles::NONE;
        }
        let last = (lines.end - 1) / depth;
        assert!(rows.is_multiple_of(unit), "rows are taken {unit} at a time");
        assert!(lies_in(rows, stride, depth, x.len()), "fewer elements than rows have");
        assert!(
            lies_in(last + 1, apart, depth * PANEL, panels.len()),
            "fewer lines than are taken"
        );
        assert!(lies_in(rows, out_stride, (last + 1) * PANEL, out.len()), "too small a product");
        let (x, panel, out) = (x.as_ptr(), panels.as_ptr(), out.as_mut_ptr());
        let first = RawTile { depth, x, stride, panel, out, out_stride };
        Tiles { first, apart, unit, rows, lines, row: 0, column: 0, begun: None }
    }

    /// The tile that was begun, and how many of its lines have been added; otherwise the next.
    ///
    /// # Safety
    /// As [`Tiles::next`].
    #[inline]
    pub(crate) unsafe fn take(&mut self, columns: usize) -> Option<(RawTile, usize)> {
        let begun = self.begun.take();
        // SAFETY: the caller's.
        begun.or_else(|| unsafe { self.next(columns) }.map(|tile| (tile, 0)))
    }

    /// Puts a tile back of which this many lines have been added.
    pub(crate) fn put_back(&mut self, tile: RawTile, added: usize) {
        self.begun = Some((tile, added));
    }

    /// The next tile, `columns` wide.
    ///
    /// # Safety
    /// What [`Tiles::new`] was given must still be borrowed.
    #[inline]
    pub(crate) unsafe fn next(&mut self, columns: usize) -> Option<RawTile> {
        if self.lines.is_empty() {
            return None;
        }
        let RawTile { depth, x, stride, panel: panels, out, out_stride } = self.first;
        let (panel, line) = (self.lines.start / depth, self.lines.start % depth);
        // Lines that are taken once need not stay.
        let most = if self.rows == self.unit { depth } else { CHUNK };
        let len = self.lines.len().min(depth - line).min(most);
        // SAFETY: inside the operands, as `new` made sure.
        let tile = unsafe {
            RawTile {
                depth: len,
                x: x.add(self.row * stride + line),
                panel: panels.add(panel * self.apart + line * PANEL + self.column),
                out: out.add(self.row * out_stride + panel * PANEL + self.column),
                stride,
                out_stride,
            }
        };
        self.row += self.unit;
        if self.row == self.rows {
            self.row = 0;
            self.column += columns;
            if self.column == PANEL {
                self.column = 0;
                self.lines.start += len;
            }
        }
        Some(tile)
    }
}

/// A line of a tile's panel.
///
/// # Safety
/// The tile's operands must be borrowed, its product mutably, and have `ROWS` rows and `COLUMNS` times 16
/// columns; `i` is below its depth; the CPU must have the instructions of `V`.
#[inline(always)]
pub(crate) unsafe fn tile_line<V: Lanes, const ROWS: usize, const COLUMNS: usize>(
    tile: RawTile,
    i: usize,
    rows: &mut [[V; COLUMNS]; ROWS],
) {
    // SAFETY: the caller's.
    unsafe {
        let line = tile.panel.add(i * PANEL);
        let line: [V; COLUMNS] = std::array::from_fn(|column| V::load(line.add(column * LANES)));
        for (r, row) in rows.iter_mut().enumerate() {
            let x = V::broadcast(tile.x.add(r * tile.stride + i));
            for (sum, line) in row.iter_mut().zip(line) {
                *sum = sum.fma(x, line);
            }
        }
    }
}

/// What a tile adds to.
///
/// # Safety
/// As [`tile_line`].
#[inline(always)]
pub(crate) unsafe fn load_rows<V: Lanes, const ROWS: usize, const COLUMNS: usize>(
    tile: RawTile,
) -> [[V; COLUMNS]; ROWS] {
    // SAFETY: the caller's.
    unsafe {
        // Not by `from_fn`, which leaves this many registers in memory.
        let mut rows = [[V::splat(0.0); COLUMNS]; ROWS];
        for (r, row) in rows.iter_mut().enumerate() {
            for (column, sum) in row.iter_mut().enumerate() {
                *sum = V::load(tile.out.add(r * tile.out_stride + column * LANES));
            }
        }
        rows
    }
}

/// Puts what [`load_rows`] took back.
///
/// # Safety
/// As [`tile_line`].
#[inline(always)]
pub(crate) unsafe fn store_rows<V: Lanes, const ROWS: usize, const COLUMNS: usize>(
    tile: RawTile,
    rows: [[V; COLUMNS]; ROWS],
) {
    for (r, row) in rows.into_iter().enumerate() {
        for (column, sum) in row.into_iter().enumerate() {
            // SAFETY: the caller's.
            unsafe { sum.store(tile.out.add(r * tile.out_stride + column * LANES)) };
        }
    }
}
