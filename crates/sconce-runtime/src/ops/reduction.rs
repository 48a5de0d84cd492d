//! Reductions, running reductions, order statistics and histograms.

use sconce_ir::Type;
use sconce_kernels as kernels;
use sconce_kernels::{
    BinaryOp, Bins, DType, Interpolation, MinMax, SegmentReduce, Segments, Spacing, Tensor,
};

use crate::error::{Raise, kernel};
use crate::ops::Args;
use crate::ops::descriptor::result_strides::ResultStrides;
use crate::ops::descriptor::{Table, op};
use crate::ops::tensor::operands::{both, listed, made};
use crate::value::IValue;

type Result<T = IValue> = std::result::Result<T, Raise>;

pub(crate) const TABLE: Table = &[
    op("aten::linalg_vector_norm", "-", |_, args| {
        let (order, dims) = (args.real(1)?, args.ints(2)?);
        made(kernels::vector_norm(args.tensor(0)?, order, &dims, args.bool(3)?, args.dtype(4)?))
    }),
    op("aten::frobenius_norm", "dim", |_, args| {
        made(kernels::vector_norm(args.tensor(0)?, 2.0, &args.ints(1)?, args.bool(2)?, None))
    }),
    op("aten::nansum", "-", |_, args| {
        let (dims, keepdim, dtype) = (args.ints(1)?, args.bool(2)?, args.dtype(3)?);
        made(kernels::nansum(args.tensor(0)?, &dims, keepdim, dtype))
    }),
    op("aten::nanmean", "-", |_, args| {
        let (dims, keepdim, dtype) = (args.ints(1)?, args.bool(2)?, args.dtype(3)?);
        made(kernels::nanmean(args.tensor(0)?, &dims, keepdim, dtype))
    }),
    op("aten::prod", "-", |_, args| {
        made(kernels::product(args.tensor(0)?, None, false, args.dtype(1)?))
    }),
    op("aten::prod", "dim_int", |_, args| {
        let (dim, keepdim) = (args.int(1)?, args.bool(2)?);
        made(kernels::product(args.tensor(0)?, Some(dim), keepdim, args.dtype(3)?))
    }),
    op("aten::amax", "-", |_, args| {
        made(kernels::amax(args.tensor(0)?, &args.ints(1)?, args.bool(2)?))
    }),
    op("aten::amin", "-", |_, args| {
        made(kernels::amin(args.tensor(0)?, &args.ints(1)?, args.bool(2)?))
    }),
    op("aten::aminmax", "-", |_, args| {
        let (input, dim, keepdim) = (args.tensor(0)?, args.optional_int(1)?, args.bool(2)?);
        let end = |which| kernels::min_max_values(which, input, dim, keepdim).map_err(kernel);
        let (low, high) = (end(MinMax::Min)?, end(MinMax::Max)?);
        Ok(IValue::tuple(vec![IValue::Tensor(low), IValue::Tensor(high)]))
    }),
    op("aten::all", "dims", |_, args| truth(&args, false)),
    op("aten::any", "dims", |_, args| truth(&args, true)),
    op("aten::count_nonzero", "-", |_, args| {
        let dims: Vec<i64> = args.optional_int(1)?.into_iter().collect();
        made(kernels::count_nonzero_dims(args.tensor(0)?, &dims))
    }),
    op("aten::count_nonzero", "dim_IntList", |_, args| {
        made(kernels::count_nonzero_dims(args.tensor(0)?, &args.ints(1)?))
    }),
    op("aten::logsumexp", "-", |_, args| {
        made(kernels::logsumexp(args.tensor(0)?, &args.ints(1)?, args.bool(2)?))
    }),
    op("aten::var", "- dim correction", |_, args| {
        let spread = Spread::of(&args)?;
        made(spread.compute(kernels::variance))
    }),
    op("aten::std", "- dim correction", |_, args| {
        let spread = Spread::of(&args)?;
        made(spread.compute(kernels::deviation))
    }),
    op("aten::var_mean", "- dim correction", |_, args| {
        let spread = Spread::of(&args)?;
        both(spread.with_mean(kernels::variance))
    }),
    op("aten::std_mean", "- dim correction", |_, args| {
        let spread = Spread::of(&args)?;
        both(spread.with_mean(kernels::deviation))
    }),
    op("aten::cumsum", "-", |_, args| {
        made(kernels::cumsum(args.tensor(0)?, args.int(1)?, args.dtype(2)?))
    })
    .strides(ResultStrides::RowMajor),
    op("aten::cumprod", "-", |_, args| {
        made(kernels::cumprod(args.tensor(0)?, args.int(1)?, args.dtype(2)?))
    })
    .strides(ResultStrides::RowMajor),
    op("aten::cumsum_", "-", |_, args| running_in_place(args, kernels::cumsum)),
    op("aten::cumprod_", "-", |_, args| running_in_place(args, kernels::cumprod)),
    op("aten::logcumsumexp", "-", |_, args| {
        made(kernels::logcumsumexp(args.tensor(0)?, args.int(1)?))
    })
    .strides(ResultStrides::RowMajor),
    op("aten::cummax", "-", |_, args| {
        both(kernels::cumulative_min_max(MinMax::Max, args.tensor(0)?, args.int(1)?))
    }),
    op("aten::cummin", "-", |_, args| {
        both(kernels::cumulative_min_max(MinMax::Min, args.tensor(0)?, args.int(1)?))
    }),
    op("aten::median", "-", |_, args| made(kernels::median_all(args.tensor(0)?, false))),
    op("aten::nanmedian", "-", |_, args| made(kernels::median_all(args.tensor(0)?, true))),
    op("aten::median", "dim", |_, args| {
        both(kernels::median(args.tensor(0)?, args.int(1)?, args.bool(2)?, false))
    }),
    op("aten::nanmedian", "dim", |_, args| {
        both(kernels::median(args.tensor(0)?, args.int(1)?, args.bool(2)?, true))
    }),
    op("aten::mode", "-", |_, args| {
        both(kernels::mode(args.tensor(0)?, args.int(1)?, args.bool(2)?))
    }),
    op("aten::kthvalue", "-", |_, args| {
        both(kernels::kthvalue(args.tensor(0)?, args.int(1)?, args.int(2)?, args.bool(3)?))
    }),
    op("aten::quantile", "- scalar", |_, args| quantile(&args, false)),
    op("aten::nanquantile", "- scalar", |_, args| quantile(&args, true)),
    op("aten::topk", "-", |_, args| {
        let (k, dim, largest, sorted) = (args.int(1)?, args.int(2)?, args.bool(3)?, args.bool(4)?);
        both(kernels::topk(args.tensor(0)?, k, dim, largest, sorted))
    }),
    op("aten::sort", "-", |_, args| {
        both(kernels::sort(args.tensor(0)?, args.int(1)?, args.bool(2)?, false))
    })
    .strides(ResultStrides::Copy),
    op("aten::sort", "stable", |_, args| {
        let stable = !args.get(1).is_none() && args.bool(1)?;
        both(kernels::sort(args.tensor(0)?, args.int(2)?, args.bool(3)?, stable))
    })
    .strides(ResultStrides::Copy),
    op("aten::argsort", "-", |_, args| argsort(&args, 1, false)).strides(ResultStrides::Copy),
    op("aten::argsort", "stable", |_, args| argsort(&args, 2, args.bool(1)?))
        .strides(ResultStrides::Copy),
    op("aten::msort", "-", |_, args| {
        made(kernels::sort(args.tensor(0)?, 0, false, true).map(|sorted| sorted.0))
    })
    .strides(ResultStrides::Copy),
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
    op("aten::cov", "-", |_, args| {
        let (fweights, aweights) = (args.optional_tensor(2)?, args.optional_tensor(3)?);
        made(kernels::cov(args.tensor(0)?, args.int(1)?, fweights, aweights))
    }),
    op("aten::corrcoef", "-", |_, args| made(kernels::corrcoef(args.tensor(0)?))),
    op("aten::trapezoid", "x", |_, args| {
        made(kernels::trapezoid(args.tensor(0)?, Spacing::At(args.tensor(1)?), args.int(2)?))
    }),
    op("aten::trapezoid", "dx", |_, args| {
        made(kernels::trapezoid(args.tensor(0)?, Spacing::Step(args.scalar(1)?), args.int(2)?))
    }),
    op("aten::trapz", "x", |_, args| {
        made(kernels::trapezoid(args.tensor(0)?, Spacing::At(args.tensor(1)?), args.int(2)?))
    }),
    op("aten::trapz", "dx", |_, args| {
        made(kernels::trapezoid(args.tensor(0)?, Spacing::Step(args.scalar(1)?), args.int(2)?))
    }),
    op("aten::cumulative_trapezoid", "x", |_, args| {
        let spacing = Spacing::At(args.tensor(1)?);
        made(kernels::cumulative_trapezoid(args.tensor(0)?, spacing, args.int(2)?))
    }),
    op("aten::cumulative_trapezoid", "dx", |_, args| {
        let spacing = Spacing::Step(args.scalar(1)?);
        made(kernels::cumulative_trapezoid(args.tensor(0)?, spacing, args.int(2)?))
    }),
    op("aten::diff", "-", |_, args| {
        let (prepend, append) = (args.optional_tensor(3)?, args.optional_tensor(4)?);
        made(kernels::diff(args.tensor(0)?, args.int(1)?, args.int(2)?, prepend, append))
    }),
    op("aten::gradient", "scalarint scalararray", |_, args| {
        let step = args.optional_real(1)?.unwrap_or(1.0);
        gradient(&args, Spacings::Same(step), 2)
    }),
    op("aten::gradient", "scalarrayint scalarrayarray", |_, args| {
        let steps = args.optional_reals(1)?.unwrap_or_default();
        let steps = steps.into_iter().map(|step| Spacing::Step(step.into())).collect();
        gradient(&args, Spacings::Each(steps), 2)
    }),
    op("aten::gradient", "array", |_, args| gradient(&args, Spacings::Same(1.0), 1)),
    op("aten::gradient", "tensorarrayint tensorarray", |_, args| {
        let places = args.tensors(1)?;
        gradient(&args, Spacings::Each(places.iter().map(Spacing::At).collect()), 2)
    }),
    op("aten::renorm", "-", |_, args| {
        made(kernels::renorm(args.tensor(0)?, args.real(1)?, args.int(2)?, args.real(3)?))
    })
    .strides(ResultStrides::RowMajor),
    op("aten::dist", "-", |_, args| {
        made(kernels::dist(args.tensor(0)?, args.tensor(1)?, args.real(2)?))
    }),
    op("aten::sum_to_size", "-", |_, args| {
        made(kernels::sum_to_size(args.tensor(0)?, &args.ints(1)?))
    }),
    op("aten::hash_tensor", "-", |_, args| match args.int(3)? {
        0 => made(kernels::hash(args.tensor(0)?, &args.ints(1)?, args.bool(2)?)),
        _ => Err(Raise::unsupported("aten::hash_tensor in a mode other than 0")),
    }),
    op("aten::_safe_softmax", "-", |_, args| {
        let (scores, dim) = (args.tensor(0)?, args.int(1)?);
        kernels::layout::wrap_dim(dim, scores.dim()).map_err(kernel)?;
        let dtype = args.dtype(2)?.unwrap_or(scores.dtype());
        if scores.numel() == 0 {
            return made(Tensor::zeros(scores.sizes(), dtype));
        }
        made(scores.to_dtype(dtype).and_then(|scores| kernels::safe_softmax(&scores, dim)))
    }),
    op("aten::segment_reduce", "-", |_, args| {
        let reduce = match &*args.str(1)? {
            "max" | "amax" => SegmentReduce::Max,
            "min" | "amin" => SegmentReduce::Min,
            "mean" => SegmentReduce::Mean,
            "sum" => SegmentReduce::Sum,
            "prod" => SegmentReduce::Prod,
            other => {
                return Err(Raise::message(format!(
                    "reduce argument must be either sum, prod, mean, amax or amin, got {other}"
                )));
            }
        };
        if !args.get(3).is_none() {
            return Err(Raise::message(
                "segment_reduce(): indices based reduction is not supported yet.",
            ));
        }
        let segments = match (args.optional_tensor(2)?, args.optional_tensor(4)?) {
            (_, Some(offsets)) => Segments::Offsets(offsets),
            (Some(lengths), None) if args.bool(6)? => Segments::SomeLengths(lengths),
            (Some(lengths), None) => Segments::Lengths(lengths),
            (None, None) => {
                return Err(Raise::message(
                    "segment_reduce(): Either lengths or offsets must be defined.",
                ));
            }
        };
        let (axis, initial) = (args.int(5)?, args.optional_real(7)?);
        made(kernels::segment_reduce(args.tensor(0)?, reduce, segments, axis, initial))
    }),
    op("aten::vander", "-", |_, args| {
        made(kernels::vander(args.tensor(0)?, args.optional_int(1)?, args.bool(2)?))
    }),
];

type Running = fn(&Tensor, i64, Option<DType>) -> kernels::Result<Tensor>;

/// A running reduction into its operand, whose dtype is the only one that may be asked for.
fn running_in_place(mut args: Args<'_>, function: Running) -> Result {
    let (input, dim) = (args.tensor(0)?, args.int(1)?);
    let own = input.dtype();
    let dtype = args.dtype(2)?.unwrap_or(own);
    if dtype != own {
        return Err(Raise::message(format!(
            "Bad in-place call: input tensor dtype {} and output tensor dtype {} should match",
            kernels::cpp_type_name(own),
            kernels::cpp_type_name(dtype)
        )));
    }
    let result = function(input, dim, Some(dtype)).map_err(kernel)?;
    input.copy_from(&result).map_err(kernel)?;
    Ok(args.take(0))
}

fn truth(args: &Args<'_>, any: bool) -> Result {
    let dims = args.ints(1)?;
    let dims = if args.get(1).is_none() { None } else { Some(dims.as_slice()) };
    made(kernels::truth_dims(any, args.tensor(0)?, dims, args.bool(2)?))
}

/// What variances are of, whichever overload they were called by.
struct Spread<'a> {
    input: &'a Tensor,
    dims: Vec<i64>,
    correction: f64,
    keepdim: bool,
}

type Reduction = fn(&Tensor, &[i64], f64, bool) -> kernels::Result<Tensor>;

impl<'a> Spread<'a> {
    fn of(args: &'a Args<'_>) -> Result<Spread<'a>> {
        let input = args.tensor(0)?;
        let unbiased = |index| Ok::<_, Raise>(f64::from(u8::from(args.bool(index)?)));
        Ok(match args.get(1) {
            IValue::Bool(_) => {
                Spread { input, dims: Vec::new(), correction: unbiased(1)?, keepdim: false }
            }
            _ => Spread {
                input,
                dims: args.ints(1)?,
                correction: match args.get(2) {
                    IValue::Bool(_) => unbiased(2)?,
                    IValue::None => 1.0,
                    _ => args.real(2)?,
                },
                keepdim: args.bool(3)?,
            },
        })
    }

    fn compute(&self, reduction: Reduction) -> kernels::Result<Tensor> {
        reduction(self.input, &self.dims, self.correction, self.keepdim)
    }

    fn with_mean(&self, reduction: Reduction) -> kernels::Result<(Tensor, Tensor)> {
        let spread = self.compute(reduction)?;
        let mean = kernels::mean(self.input, &self.dims, self.keepdim, None)?;
        let infinite = kernels::isinf(&mean)?;
        if !kernels::any(&infinite, &[], false)?.item()?.to_bool() {
            return Ok((spread, mean));
        }
        if self.input.dtype().is_complex() {
            let message = "the variance and mean of infinite complex numbers";
            return Err(kernels::Error::not_implemented(message));
        }
        // PyTorch's running mean is NaN once a number follows an infinite one.
        let stays = kernels::binary(
            BinaryOp::LogicalAnd,
            (&self.last_is_infinite()?).into(),
            (&infinite).into(),
        )?;
        let lost = kernels::binary(BinaryOp::LogicalXor, (&stays).into(), (&infinite).into())?;
        Ok((spread, kernels::masked_fill(&mean, &lost, f64::NAN.into())?))
    }

    /// Whether of the numbers that are reduced together the last one is infinite, and no other.
    fn last_is_infinite(&self) -> kernels::Result<Tensor> {
        let infinite = kernels::isinf(self.input)?;
        let count = kernels::sum(&infinite, &self.dims, true, None)?;
        let mut last = infinite;
        for dim in 0..last.dim() as i64 {
            let size = last.size(dim)?;
            if count.size(dim)? == 1 && size > 1 {
                last = last.narrow(dim, size - 1, 1)?;
            }
        }
        let alone = kernels::binary(BinaryOp::Eq, (&count).into(), 1.into())?;
        let both = kernels::binary(BinaryOp::LogicalAnd, (&alone).into(), (&last).into())?;
        kernels::all(&both, &self.dims, self.keepdim)
    }
}

fn argsort(args: &Args<'_>, dim: usize, stable: bool) -> Result {
    let sorted = kernels::sort(args.tensor(0)?, args.int(dim)?, args.bool(dim + 1)?, stable);
    made(sorted.map(|sorted| sorted.1))
}

fn quantile(args: &Args<'_>, ignore_nan: bool) -> Result {
    let input = args.tensor(0)?;
    let q = match args.get(1) {
        IValue::Tensor(q) => q.clone(),
        _ => Tensor::scalar(args.scalar(1)?, input.dtype()).map_err(kernel)?,
    };
    let interpolation = Interpolation::named(&args.str(4)?).map_err(kernel)?;
    let (dim, keepdim) = (args.optional_int(2)?, args.bool(3)?);
    made(kernels::quantile(input, &q, dim, keepdim, interpolation, ignore_nan))
}

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

/// How far apart samples are along the dimensions of a gradient.
enum Spacings<'a> {
    Same(f64),
    Each(Vec<Spacing<'a>>),
}

/// `torch.gradient` along each dimension, with one spacing for all or one for each.
fn gradient(args: &Args<'_>, spacings: Spacings<'_>, dims: usize) -> Result {
    let input = args.tensor(0)?;
    let given = !args.get(dims).is_none();
    let dims = match args.get(dims) {
        IValue::None => (0..input.dim() as i64).collect(),
        IValue::Int(dim) => vec![*dim],
        _ => args.ints(dims)?,
    };
    let order = args.int(args.len().saturating_sub(1))?;
    let spacings = match spacings {
        Spacings::Same(step) => vec![Spacing::Step(step.into()); dims.len()],
        Spacings::Each(each) => each,
    };
    check_gradient(input, &dims, given, spacings.len(), order)?;
    let along = |(&dim, spacing)| kernels::gradient(input, spacing, dim, order);
    listed(dims.iter().zip(spacings).map(along).collect())
}

fn check_gradient(
    input: &Tensor,
    dims: &[i64],
    given: bool,
    spacings: usize,
    order: i64,
) -> Result<()> {
    if spacings != dims.len() {
        let expected = "torch.gradient expected spacing to be unspecified, a scalar";
        return Err(Raise::message(match given {
            true => format!(
                "{expected} or it's spacing and dim arguments to have the same length, but got a \
                 spacing argument of length {spacings} and a dim argument of length {}.",
                dims.len()
            ),
            false => format!(
                "{expected}, or a list of length equal to 'self.dim() = {}', since dim argument was \
                 not given, but got a list of length {spacings}",
                input.dim()
            ),
        }));
    }
    if !(1..=2).contains(&order) {
        let message = "torch.gradient only supports edge_order=1 and edge_order=2.";
        return Err(Raise::message(message));
    }
    let mut seen = Vec::with_capacity(dims.len());
    for &dim in dims {
        let dim = kernels::layout::wrap_dim(dim, input.dim()).map_err(kernel)?;
        if seen.contains(&dim) {
            let message = format!("dim {dim} appears multiple times in the list of dims");
            return Err(Raise::message(message));
        }
        seen.push(dim);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gradients_are_over_each_dimension_once_and_as_many_spacings() {
        let input = Tensor::zeros(&[3, 3], DType::Float32).unwrap();
        for (dims, given, spacings, order, allowed) in [
            (&[0, 1][..], false, 2, 1, true),
            (&[0, 1], true, 1, 1, false),
            (&[0, 1], false, 1, 1, false),
            (&[0, -2], true, 2, 1, false),
            (&[2], true, 1, 1, false),
            (&[], true, 0, 3, false),
            (&[], true, 0, 2, true),
        ] {
            let found = check_gradient(&input, dims, given, spacings, order);
            assert_eq!(found.is_ok(), allowed, "{dims:?} {spacings} {order}");
        }
    }
}
