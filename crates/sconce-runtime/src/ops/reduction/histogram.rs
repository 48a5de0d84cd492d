//! Histograms and counts.

use sconce_ir::Type;
use sconce_kernels as kernels;
use sconce_kernels::{Bins, MinMax, Tensor};

use crate::error::{Raise, kernel};
use crate::ops::Args;
use crate::ops::descriptor::{Table, op};
use crate::ops::tensor::operands::made;
use crate::value::IValue;

type Result<T = IValue> = std::result::Result<T, Raise>;

pub(crate) const TABLE: Table = &[
    op("aten::histc", "-", |_, args| {
        made(kernels::histc(args.tensor(0)?, args.int(1)?, args.real(2)?, args.real(3)?))
    }),
    op("aten::histogram", "bin_ct", |_, args| {
        let (input, range) = (args.tensor(0)?, args.optional_reals(2)?);
        histogram(input, Bins::Count(args.int(1)?), range, args.optional_tensor(3)?, args.bool(4)?)
    }),
    op("aten::histogram", "bins_tensor", |_, args| {
        let (input, edges) = (args.tensor(0)?, args.tensor(1)?.clone());
        histogram(input, Bins::Edges(edges), None, args.optional_tensor(2)?, args.bool(3)?)
    }),
    op("aten::histogramdd", "-", |_, args| {
        histogramdd(&args, args.ints(1)?.into_iter().map(Bins::Count).collect())
    }),
    op("aten::_histogramdd_bin_edges", "-", |_, args| {
        let bins = args.ints(1)?.into_iter().map(Bins::Count).collect();
        histogramdd_part(&args, bins, 1, true)
    }),
    op("aten::_histogramdd_from_bin_cts", "-", |_, args| {
        let bins = args.ints(1)?.into_iter().map(Bins::Count).collect();
        histogramdd_part(&args, bins, 1, false)
    }),
    op("aten::_histogramdd_from_bin_tensors", "-", |_, args| {
        let bins = args.tensors(1)?.into_iter().map(Bins::Edges).collect();
        histogramdd_part(&args, bins, 0, false)
    }),
    op("aten::histogramdd", "int_bins", |_, args| {
        let width = args.tensor(0)?.size(-1).map_err(kernel)?;
        let width = usize::try_from(width).unwrap_or(0).min(1 << 16);
        histogramdd(&args, vec![Bins::Count(args.int(1)?); width])
    }),
    op("aten::histogramdd", "TensorList_bins", |_, args| {
        histogramdd(&args, args.tensors(1)?.into_iter().map(Bins::Edges).collect())
    }),
    op("aten::bincount", "-", |context, args| {
        let (input, length) = (args.tensor(0)?, args.int(2)?);
        let greatest = match input.numel() > 0 && input.dtype().is_integral() {
            true => {
                let greatest = kernels::min_max_values(MinMax::Max, input, None, false);
                greatest.and_then(|greatest| greatest.item()).map_err(kernel)?.to_i64()
            }
            false => 0,
        };
        context.budget().check_sizes(&[greatest.saturating_add(1).max(length).max(0)])?;
        made(kernels::bincount(input, args.optional_tensor(1)?, length))
    }),
];

/// `torch.histogram`: one of points with one dimension.
fn histogram(
    input: &Tensor,
    bins: Bins,
    range: Option<Vec<f64>>,
    weight: Option<&Tensor>,
    density: bool,
) -> Result {
    let column = input.reshape(&[-1, 1]).map_err(kernel)?;
    let (counts, edges) = kernels::histogramdd(&column, &[bins], range.as_deref(), weight, density)
        .map_err(kernel)?;
    let results = std::iter::once(counts).chain(edges);
    Ok(IValue::tuple(results.map(IValue::Tensor).collect()))
}

fn histogramdd(args: &Args<'_>, bins: Vec<Bins>) -> Result {
    let (range, weight) = (args.optional_reals(2)?, args.optional_tensor(3)?);
    let (counts, edges) =
        kernels::histogramdd(args.tensor(0)?, &bins, range.as_deref(), weight, args.bool(4)?)
            .map_err(kernel)?;
    let edges = IValue::list(Type::Tensor, edges.into_iter().map(IValue::Tensor).collect());
    Ok(IValue::tuple(vec![IValue::Tensor(counts), edges]))
}

/// Counts or edges alone.
fn histogramdd_part(args: &Args<'_>, bins: Vec<Bins>, ranged: usize, edges: bool) -> Result {
    let range = if ranged == 1 { args.optional_reals(2)? } else { None };
    let (weight, density) = (args.optional_tensor(2 + ranged)?, args.bool(3 + ranged)?);
    let (counts, found) =
        kernels::histogramdd(args.tensor(0)?, &bins, range.as_deref(), weight, density)
            .map_err(kernel)?;
    Ok(match edges {
        true => IValue::list(Type::Tensor, found.into_iter().map(IValue::Tensor).collect()),
        false => IValue::Tensor(counts),
    })
}
