//! Padding, by a constant, by reflection or by replication.

use sconce_kernel_core::layout::shape::numel;

use crate::indexing::index_lists::pick;
use crate::{DType, Dims, Error, Result, Scalar, Tensor};

/// What padding consists of.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum PadMode {
    /// One number everywhere.
    Constant(Scalar),
    /// The input mirrored at its border, which is not repeated.
    Reflect,
    /// The border repeated.
    Replicate,
    /// The input repeated.
    Circular,
}

/// `torch.nn.functional.pad`: pairs of sizes, from the last dimension to the first. Negative sizes
/// cut off.
///
/// # Errors
/// Where there are more pairs than dimensions, or padding is larger than the mode allows.
pub fn pad(input: &Tensor, padding: &[i64], mode: PadMode) -> Result<Tensor> {
    if input.dtype().is_quantized() {
        let mode = match mode {
            PadMode::Constant(value) => PadMode::Constant(Scalar::Int(
                crate::quantize::quantized_integer(input, value.to_f64())?,
            )),
            other => other,
        };
        return crate::rearranged(input, |whole| pad(whole, padding, mode));
    }
    check_padding(input, padding)?;
    match mode {
        PadMode::Constant(value) => constant(input, padding, value),
        mode => picked(input, padding, mode),
    }
}

/// Refuses sizes that are no pairs, or more pairs than there are dimensions.
///
/// # Errors
/// Those of PyTorch's `pad`.
pub fn check_padding(input: &Tensor, padding: &[i64]) -> Result<()> {
    if !padding.len().is_multiple_of(2) {
        return Err(Error::runtime("Padding length must be divisible by 2"));
    }
    if padding.len() / 2 > input.dim() {
        return Err(Error::runtime(format!(
            "Padding length should be less than or equal to two times the input dimension but got \
             padding length {} and input of dimension {}",
            padding.len(),
            input.dim()
        )));
    }
    Ok(())
}

fn constant(input: &Tensor, padding: &[i64], value: Scalar) -> Result<Tensor> {
    let mut sizes = Dims::from_slice(input.sizes());
    let mut source = input.clone();
    let mut corner = Dims::from_elem(0, input.dim());
    for (pair, dim) in padding.chunks_exact(2).zip((0..input.dim()).rev()) {
        let (before, after) = (pair[0], pair[1]);
        // What is cut off goes first, so that cutting too much fails as PyTorch's `narrow` does.
        let (cut, end) = (before.min(0).saturating_neg(), after.min(0).saturating_neg());
        let kept = sizes[dim].saturating_sub(cut).saturating_sub(end);
        source = source.narrow(dim as i64, cut.min(sizes[dim]), kept)?;
        let size = sizes[dim].checked_add(before).and_then(|n| n.checked_add(after));
        let Some(size) = size.filter(|&n| n >= 0) else {
            return Err(Error::runtime(format!(
                "The input size {}, plus negative padding {before} and {after} resulted in a \
                 negative output size, which is invalid. Check dimension {dim} of your input.",
                sizes[dim]
            )));
        };
        corner[dim] = before.max(0);
        sizes[dim] = size;
    }
    if source.sizes() == &sizes[..] {
        value.check_fits(input.dtype())?;
        return source.copy()?.with_strides(&source.preserved_strides());
    }
    let result = Tensor::full(&sizes, value, input.dtype())?;
    let mut inside = result.clone();
    for (dim, &start) in corner.iter().enumerate() {
        inside = inside.narrow(dim as i64, start, source.sizes()[dim])?;
    }
    inside.copy_from(&source)?;
    Ok(result)
}

/// Padding with elements of the input, of the last one to three dimensions.
fn picked(input: &Tensor, padding: &[i64], mode: PadMode) -> Result<Tensor> {
    let rank = padding.len() / 2;
    if !(1..=3).contains(&rank) || (input.dim() != rank + 1 && input.dim() != rank + 2) {
        return Err(Error::runtime(format!(
            "Padding size {} is not supported for {}D input tensor.\n\
             Supported combinations for non-constant padding:\n  \
             - 2D or 3D input: padding size = 2 (pads last dimension)\n  \
             - 3D or 4D input: padding size = 4 (pads last 2 dimensions)\n  \
             - 4D or 5D input: padding size = 6 (pads last 3 dimensions)",
            padding.len(),
            input.dim()
        )));
    }
    let first = input.dim() - rank - 1;
    if input.sizes()[first..].contains(&0) {
        return Err(Error::runtime(format!(
            "Expected {}D or {}D (batch mode) tensor with possibly 0 batch size and other non-zero \
             dimensions for input, but got: {:?}",
            rank + 1,
            rank + 2,
            input.sizes()
        )));
    }
    if input.dtype() == DType::Bool && mode != PadMode::Circular {
        let name = if mode == PadMode::Reflect { "reflection" } else { "replication" };
        return Err(Error::no_kernel(&format!("{name}_pad{rank}d"), DType::Bool));
    }
    let mut lists = Vec::with_capacity(rank);
    for (pair, dim) in padding.chunks_exact(2).zip((0..input.dim()).rev()) {
        lists.insert(0, sources(input, dim, pair[0], pair[1], mode)?);
    }
    let result = pick(input, &lists)?;
    // PyTorch pads circularly into a row-major tensor.
    if mode == PadMode::Circular { Ok(result) } else { result.like_format_of(input) }
}

/// Which elements of a dimension the padded one consists of.
fn sources(
    input: &Tensor,
    dim: usize,
    before: i64,
    after: i64,
    mode: PadMode,
) -> Result<Vec<usize>> {
    let size = input.sizes()[dim];
    if mode == PadMode::Reflect && (before >= size || after >= size) {
        return Err(Error::runtime(format!(
            "Argument #{}: Padding size should be less than the corresponding input dimension, but \
             got: padding ({before}, {after}) at dimension {dim} of input {:?}",
            2 * (input.dim() - dim) + 2,
            input.sizes()
        )));
    }
    if mode == PadMode::Circular && (before > size || after > size) {
        let message = "Padding value causes wrapping around more than once.";
        return Err(Error::runtime(message));
    }
    let total = size.checked_add(before).and_then(|n| n.checked_add(after)).unwrap_or(i64::MAX);
    if total < 1 {
        let message = match mode {
            PadMode::Circular => {
                "Negative padding value is resulting in an empty dimension.".to_owned()
            }
            _ => format!("input (size: {size}) is too small. Calculated output size: {total}"),
        };
        return Err(Error::runtime(message));
    }
    numel(&[total])?;
    // What is cut off is not there to be repeated.
    let (first, end) = (before.min(0).saturating_neg(), size.saturating_add(after.min(0)));
    let kept = end.saturating_sub(first);
    if mode == PadMode::Circular && (kept < before || kept < after || kept < 1) {
        return Err(Error::not_implemented("circular padding with more than is kept"));
    }
    // What cannot be allocated fails before a list as long as it is made.
    Tensor::zeros(&[total], DType::Int64)?;
    let source = |i: i64| {
        let from = i - before;
        let at = match mode {
            PadMode::Circular => first + (i - before.max(0)).rem_euclid(kept),
            PadMode::Reflect if from < 0 => -from,
            PadMode::Reflect if from >= size => 2 * (size - 1) - from,
            _ => from.clamp(0, size - 1),
        };
        at as usize
    };
    Ok((0..total).map(source).collect())
}
