//! The two variants and their matrices: Toom and Cook's construction over a few points and infinity.
//!
//! The points decide how much is lost to rounding. With 0, ±3/4 and ±3/2 the larger variant stays within 1e-5 of the
//! result's root mean square; with 0, ±1 and ±2, as in the literature, it loses 3.5 times as much.

/// The most positions along a side of a transformed tile.
pub(super) const MAX_SIDE: usize = 6;

/// How large tiles are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Variant {
    /// F(4x4, 3x3): a quarter of the multiplications.
    Four,
    /// F(2x2, 3x3): four ninths, with half as many transformed weights.
    Two,
}

impl Variant {
    /// Pixels along a side of a tile.
    pub(super) const fn tile(self) -> usize {
        match self {
            Variant::Four => 4,
            Variant::Two => 2,
        }
    }

    /// Positions along a side of a transformed tile.
    pub(super) const fn side(self) -> usize {
        self.tile() + 2
    }

    /// All positions of a transformed tile.
    pub(super) const fn positions(self) -> usize {
        self.side() * self.side()
    }

    /// What profiles call it.
    pub(in super::super) const fn name(self) -> &'static str {
        match self {
            Variant::Four => "blocked layout, winograd F(4x4,3x3)",
            Variant::Two => "blocked layout, winograd F(2x2,3x3)",
        }
    }

    /// The points but infinity.
    const fn points(self) -> &'static [f64] {
        match self {
            Variant::Four => &[0.0, A, -A, B, -B],
            Variant::Two => &[0.0, 1.0, -1.0],
        }
    }

    /// What transforms the three weights along a side: for each point its powers, over the product of its distances
    /// to the others; for infinity the last weight.
    pub(super) fn weight_matrix(self) -> Vec<[f64; 3]> {
        let points = self.points();
        let distances = |at: f64| -> f64 {
            points.iter().filter(|&&other| other != at).map(|other| at - other).product()
        };
        let finite = points.iter().map(|&at| [1.0, at, at * at].map(|power| power / distances(at)));
        finite.chain([[0.0, 0.0, 1.0]]).collect()
    }
}

/// The points of the larger variant.
pub(super) const A: f64 = 0.75;
pub(super) const B: f64 = 1.5;
