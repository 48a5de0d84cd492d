//! Convolution by fewer multiplications: Winograd's algorithm for windows of 3x3 with a step of one.
//!
//! The result is cut into tiles of 4x4 or of 2x2 pixels. What a tile is made of, six by six pixels or four by four, is
//! transformed, and so is the window; in between lies a matrix product for each position of what was transformed, which
//! multiplies 2.25 or 4 times less than the convolution itself.
//!
//! Sums differ from those of direct convolution by a few roundings more. What has no business in such a sum, NaN and
//! infinities, would spread over a whole tile: a result that is not finite is computed again by direct convolution.

mod outline;
mod points;
mod product;
mod schedule;
mod transform;
mod variant_choice;
mod weights;

pub(super) use outline::Outline;
pub(super) use schedule::{Operands, convolve};
pub(super) use variant_choice::choose;
pub(super) use weights::Forms;

#[cfg(test)]
mod tests;
