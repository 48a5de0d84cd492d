//! The sizes of a convolution in tiles.

use sconce_kernel_core::simd::lanes::LANES;

use super::points::Variant;

/// A convolution of 3x3 with steps of one. Tiles are numbered through all images, row by row.
#[derive(Debug, Clone, Copy)]
pub(in super::super) struct Outline {
    pub(in super::super) batch: usize,
    /// Input channels.
    pub(in super::super) channels: usize,
    /// Blocks of result channels.
    pub(in super::super) out_blocks: usize,
    pub(in super::super) input: [usize; 2],
    pub(in super::super) output: [usize; 2],
    pub(in super::super) padding: [usize; 2],
}

/// Where a tile lies: its image, and its row and column among the tiles of that.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    pub(super) image: usize,
    pub(super) row: usize,
    pub(super) column: usize,
}

impl Outline {
    /// Blocks of input channels.
    pub(super) fn in_blocks(&self) -> usize {
        self.channels.div_ceil(LANES)
    }

    /// Rows and columns of tiles in an image.
    pub(super) fn grid(&self, variant: Variant) -> [usize; 2] {
        self.output.map(|size| size.div_ceil(variant.tile()))
    }

    /// The tiles of all images.
    pub(super) fn tiles(&self, variant: Variant) -> usize {
        let [rows, columns] = self.grid(variant);
        self.batch * rows * columns
    }

    pub(super) fn place(&self, variant: Variant, tile: usize) -> Place {
        let [rows, columns] = self.grid(variant);
        let row = tile / columns;
        Place { image: row / rows, row: row % rows, column: tile % columns }
    }

    /// The numbers of the input of all images.
    pub(super) fn input_len(&self) -> usize {
        self.batch * self.in_blocks() * self.input[0] * self.input[1] * LANES
    }
}
