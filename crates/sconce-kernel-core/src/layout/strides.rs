//! Strides of results from those of operands, as PyTorch's `TensorIterator` chooses them.

use std::cmp::Ordering;

use smallvec::SmallVec;

use crate::Dims;
use crate::layout::memory_format::MemoryFormat;
use crate::layout::shape::{contiguous_strides, expanded_strides, is_contiguous};

/// Sizes and strides of an operand.
pub type Geometry<'a> = (&'a [i64], &'a [i64]);

/// The strides of a result of these sizes.
pub fn strides_of_result(operands: &[Geometry<'_>], sizes: &[i64]) -> Dims {
    if operands.iter().all(|(own, _)| *own == sizes)
        && let Some(strides) = strides_in_common(operands, sizes)
    {
        return strides;
    }
    let expanded: SmallVec<[Dims; 4]> =
        operands.iter().map(|(own, strides)| expanded_strides(own, strides, sizes)).collect();
    let order = iteration_order(sizes, &expanded);
    if order.iter().rev().copied().eq(0..sizes.len()) {
        return contiguous_strides(sizes);
    }
    let mut strides = Dims::from_elem(0, sizes.len());
    let mut step = 1i64;
    for &dim in &order {
        strides[dim] = step;
        // A size of 0 counts as it is here.
        step = step.saturating_mul(sizes[dim]);
    }
    strides
}

/// The strides of operands of one shape that lie in memory alike, without gaps.
fn strides_in_common(operands: &[Geometry<'_>], sizes: &[i64]) -> Option<Dims> {
    let all =
        |is: fn(&[i64], &[i64]) -> bool| operands.iter().all(|(own, strides)| is(own, strides));
    if all(is_contiguous) {
        return Some(contiguous_strides(sizes));
    }
    if sizes.len() == 4 && all(|own, strides| MemoryFormat::ChannelsLast.fits(own, strides)) {
        return MemoryFormat::ChannelsLast.strides(sizes).ok();
    }
    let (_, first) = operands.first()?;
    let alike = operands.iter().all(|(_, strides)| strides == first);
    (alike && is_dense(sizes, first)).then(|| Dims::from_slice(first))
}

/// Whether a tensor has no two elements at one position, and no gaps between them.
pub fn is_dense(sizes: &[i64], strides: &[i64]) -> bool {
    if sizes.contains(&0) {
        return true;
    }
    let mut order: SmallVec<[usize; 8]> = (0..sizes.len()).filter(|&dim| sizes[dim] > 1).collect();
    order.sort_unstable_by_key(|&dim| strides[dim]);
    let mut step = 1i64;
    order.into_iter().all(|dim| {
        let fits = strides[dim] == step;
        step = step.saturating_mul(sizes[dim]);
        fits
    })
}

/// The dimensions from the innermost to the outermost: by the strides of the first operand that tells
/// two apart, where dimensions along which elements are repeated tell nothing.
pub fn iteration_order(sizes: &[i64], operands: &[Dims]) -> SmallVec<[usize; 8]> {
    let compare = |a: usize, b: usize| {
        let decide = |strides: &Dims| match strides[a].cmp(&strides[b]) {
            _ if strides[a] == 0 || strides[b] == 0 => Ordering::Equal,
            Ordering::Equal if sizes[a] > sizes[b] => Ordering::Greater,
            order => order,
        };
        let mut decided = operands.iter().map(decide);
        decided.find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
    };
    let mut order: SmallVec<[usize; 8]> = (0..sizes.len()).rev().collect();
    for end in 1..order.len() {
        let mut at = end;
        for before in (0..end).rev() {
            match compare(order[before], order[at]) {
                Ordering::Greater => {
                    order.swap(before, at);
                    at = before;
                }
                Ordering::Less => break,
                Ordering::Equal => {}
            }
        }
    }
    order
}
