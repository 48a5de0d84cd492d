//! Reductions, running reductions, order statistics and histograms.

use sconce_ir::Type;
use sconce_kernels::{
    self as kernels, BinaryOp, Bins, Extremum, Interpolation, SegmentReduce, Spacing, Tensor,
};

use super::tensor_args::{both, kernel, listed, made};
use super::{Args, Table};
use crate::error::Raise;
use crate::value::IValue;

type Result<T = IValue> = std::result::Result<T, Raise>;

pub(super) const TABLE: Table = &[
    ("aten::nansum", "-", |_, args| {
        let (dims, keepdim, dtype) = (args.ints(1)?, args.bool(2)?, args.dtype(3)?);
        made(kernels::nansum(args.tensor(0)?, &dims, keepdim, dtype))
    }),
    ("aten::nanmean", "-", |_, args| {
        let (dims, keepdim, dtype) = (args.ints(1)?, args.bool(2)?, args.dtype(3)?);
        made(kernels::nanmean(args.tensor(0)?, &dims, keepdim, dtype))
    }),
    ("aten::prod", "-", |_, args| {
        made(kernels::product(args.tensor(0)?, None, false, args.dtype(1)?))
    }),
    ("aten::prod", "dim_int", |_, args| {
        let (dim, keepdim) = (args.int(1)?, args.bool(2)?);
        made(kernels::product(args.tensor(0)?, Some(dim), keepdim, args.dtype(3)?))
    }),
    ("aten::amax", "-", |_, args| {
        made(kernels::amax(args.tensor(0)?, &args.ints(1)?, args.bool(2)?))
    }),
    ("aten::amin", "-", |_, args| {
        made(kernels::amin(args.tensor(0)?, &args.ints(1)?, args.bool(2)?))
    }),
    ("aten::aminmax", "-", |_, args| {
        let (input, dim, keepdim) = (args.tensor(0)?, args.optional_int(1)?, args.bool(2)?);
        let end = |which| kernels::extreme_values(which, input, dim, keepdim).map_err(kernel);
        let (low, high) = (end(Extremum::Min)?, end(Extremum::Max)?);
        Ok(IValue::tuple(vec![IValue::Tensor(low), IValue::Tensor(high)]))
    }),
    ("aten::all", "dims", |_, args| truth(&args, false)),
    ("aten::any", "dims", |_, args| truth(&args, true)),
    ("aten::count_nonzero", "-", |_, args| {
        let dims: Vec<i64> = args.optional_int(1)?.into_iter().collect();
        made(kernels::count_nonzero_dims(args.tensor(0)?, &dims))
    }),
    ("aten::count_nonzero", "dim_IntList", |_, args| {
        made(kernels::count_nonzero_dims(args.tensor(0)?, &args.ints(1)?))
    }),
    ("aten::logsumexp", "-", |_, args| {
        made(kernels::logsumexp(args.tensor(0)?, &args.ints(1)?, args.bool(2)?))
    }),
    ("aten::var", "- dim correction", |_, args| {
        let spread = Spread::of(&args)?;
        made(spread.compute(kernels::variance))
    }),
    ("aten::std", "- dim correction", |_, args| {
        let spread = Spread::of(&args)?;
        made(spread.compute(kernels::deviation))
    }),
    ("aten::var_mean", "- dim correction", |_, args| {
        let spread = Spread::of(&args)?;
        both(spread.with_mean(kernels::variance))
    }),
    ("aten::std_mean", "- dim correction", |_, args| {
        let spread = Spread::of(&args)?;
        both(spread.with_mean(kernels::deviation))
    }),
    ("aten::cumsum", "-", |_, args| {
        made(kernels::cumsum(args.tensor(0)?, args.int(1)?, args.dtype(2)?))
    }),
    ("aten::cumprod", "-", |_, args| {
        made(kernels::cumprod(args.tensor(0)?, args.int(1)?, args.dtype(2)?))
    }),
    ("aten::logcumsumexp", "-", |_, args| {
        made(kernels::logcumsumexp(args.tensor(0)?, args.int(1)?))
    }),
    ("aten::cummax", "-", |_, args| {
        both(kernels::running_extremum(Extremum::Max, args.tensor(0)?, args.int(1)?))
    }),
    ("aten::cummin", "-", |_, args| {
        both(kernels::running_extremum(Extremum::Min, args.tensor(0)?, args.int(1)?))
    }),
    ("aten::median", "-", |_, args| made(kernels::median_all(args.tensor(0)?, false))),
    ("aten::nanmedian", "-", |_, args| made(kernels::median_all(args.tensor(0)?, true))),
    ("aten::median", "dim", |_, args| {
        both(kernels::median(args.tensor(0)?, args.int(1)?, args.bool(2)?, false))
    }),
    ("aten::nanmedian", "dim", |_, args| {
        both(kernels::median(args.tensor(0)?, args.int(1)?, args.bool(2)?, true))
    }),
    ("aten::mode", "-", |_, args| {
        both(kernels::mode(args.tensor(0)?, args.int(1)?, args.bool(2)?))
    }),
    ("aten::kthvalue", "-", |_, args| {
        both(kernels::kthvalue(args.tensor(0)?, args.int(1)?, args.int(2)?, args.bool(3)?))
    }),
    ("aten::quantile", "- scalar", |_, args| quantile(&args, false)),
    ("aten::nanquantile", "- scalar", |_, args| quantile(&args, true)),
    ("aten::topk", "-", |_, args| {
        let (k, dim, largest, sorted) = (args.int(1)?, args.int(2)?, args.bool(3)?, args.bool(4)?);
        both(kernels::topk(args.tensor(0)?, k, dim, largest, sorted))
    }),
    ("aten::sort", "-", |_, args| {
        both(kernels::sort(args.tensor(0)?, args.int(1)?, args.bool(2)?, false))
    }),
    ("aten::sort", "stable", |_, args| {
        let stable = !args.get(1).is_none() && args.bool(1)?;
        both(kernels::sort(args.tensor(0)?, args.int(2)?, args.bool(3)?, stable))
    }),
    ("aten::argsort", "-", |_, args| argsort(&args, 1, false)),
    ("aten::argsort", "stable", |_, args| argsort(&args, 2, args.bool(1)?)),
    ("aten::msort", "-", |_, args| {
        made(kernels::sort(args.tensor(0)?, 0, false, true).map(|sorted| sorted.0))
    }),
    ("aten::histc", "-", |_, args| {
        made(kernels::histc(args.tensor(0)?, args.int(1)?, args.real(2)?, args.real(3)?))
    }),
    ("aten::histogram", "bin_ct", |_, args| {
        let (input, range) = (args.tensor(0)?, args.optional_reals(2)?);
        histogram(input, Bins::Count(args.int(1)?), range, args.optional_tensor(3)?, args.bool(4)?)
    }),
    ("aten::histogram", "bins_tensor", |_, args| {
        let (input, edges) = (args.tensor(0)?, args.tensor(1)?.clone());
        histogram(input, Bins::Edges(edges), None, args.optional_tensor(2)?, args.bool(3)?)
    }),
    ("aten::histogramdd", "-", |_, args| {
        histogramdd(&args, args.ints(1)?.into_iter().map(Bins::Count).collect())
    }),
    ("aten::histogramdd", "int_bins", |_, args| {
        let width = args.tensor(0)?.size(-1).map_err(kernel)?;
        let width = usize::try_from(width).unwrap_or(0).min(1 << 16);
        histogramdd(&args, vec![Bins::Count(args.int(1)?); width])
    }),
    ("aten::histogramdd", "TensorList_bins", |_, args| {
        histogramdd(&args, args.tensors(1)?.into_iter().map(Bins::Edges).collect())
    }),
    ("aten::bincount", "-", |machine, args| {
        let (input, length) = (args.tensor(0)?, args.int(2)?);
        let greatest = match input.numel() > 0 && input.dtype().is_integral() {
            true => {
                let greatest = kernels::extreme_values(Extremum::Max, input, None, false);
                greatest.and_then(|greatest| greatest.item()).map_err(kernel)?.to_i64()
            }
            false => 0,
        };
        machine.budget.check_sizes(&[greatest.saturating_add(1).max(length).max(0)])?;
        made(kernels::bincount(input, args.optional_tensor(1)?, length))
    }),
    ("aten::cov", "-", |_, args| {
        let (fweights, aweights) = (args.optional_tensor(2)?, args.optional_tensor(3)?);
        made(kernels::cov(args.tensor(0)?, args.int(1)?, fweights, aweights))
    }),
    ("aten::corrcoef", "-", |_, args| made(kernels::corrcoef(args.tensor(0)?))),
    ("aten::trapezoid", "x", |_, args| {
        made(kernels::trapezoid(args.tensor(0)?, Spacing::At(args.tensor(1)?), args.int(2)?))
    }),
    ("aten::trapezoid", "dx", |_, args| {
        made(kernels::trapezoid(args.tensor(0)?, Spacing::Step(args.scalar(1)?), args.int(2)?))
    }),
    ("aten::trapz", "x", |_, args| {
        made(kernels::trapezoid(args.tensor(0)?, Spacing::At(args.tensor(1)?), args.int(2)?))
    }),
    ("aten::trapz", "dx", |_, args| {
        made(kernels::trapezoid(args.tensor(0)?, Spacing::Step(args.scalar(1)?), args.int(2)?))
    }),
    ("aten::cumulative_trapezoid", "x", |_, args| {
        let spacing = Spacing::At(args.tensor(1)?);
        made(kernels::cumulative_trapezoid(args.tensor(0)?, spacing, args.int(2)?))
    }),
    ("aten::cumulative_trapezoid", "dx", |_, args| {
        let spacing = Spacing::Step(args.scalar(1)?);
        made(kernels::cumulative_trapezoid(args.tensor(0)?, spacing, args.int(2)?))
    }),
    ("aten::diff", "-", |_, args| {
        let (prepend, append) = (args.optional_tensor(3)?, args.optional_tensor(4)?);
        made(kernels::diff(args.tensor(0)?, args.int(1)?, args.int(2)?, prepend, append))
    }),
    ("aten::gradient", "scalarint scalararray scalarrayint scalarrayarray", |_, args| {
        let steps = match args.get(1) {
            IValue::None => Vec::new(),
            IValue::List(_) => args.optional_reals(1)?.unwrap_or_default(),
            _ => vec![args.real(1)?],
        };
        let steps: Vec<Spacing<'_>> =
            steps.into_iter().map(|step| Spacing::Step(step.into())).collect();
        gradient(&args, &steps, 2)
    }),
    ("aten::gradient", "array", |_, args| gradient(&args, &[], 1)),
    ("aten::gradient", "tensorarrayint tensorarray", |_, args| {
        let places = args.tensors(1)?;
        let places: Vec<Spacing<'_>> = places.iter().map(Spacing::At).collect();
        gradient(&args, &places, 2)
    }),
    ("aten::renorm", "-", |_, args| {
        made(kernels::renorm(args.tensor(0)?, args.real(1)?, args.int(2)?, args.real(3)?))
    }),
    ("aten::dist", "-", |_, args| {
        made(kernels::dist(args.tensor(0)?, args.tensor(1)?, args.real(2)?))
    }),
    ("aten::sum_to_size", "-", |_, args| {
        made(kernels::sum_to_size(args.tensor(0)?, &args.ints(1)?))
    }),
    ("aten::hash_tensor", "-", |_, args| match args.int(3)? {
        0 => made(kernels::hash(args.tensor(0)?, &args.ints(1)?, args.bool(2)?)),
        _ => Err(Raise::unsupported("aten::hash_tensor in a mode other than 0")),
    }),
    ("aten::_safe_softmax", "-", |_, args| {
        let (scores, dim) = (args.tensor(0)?, args.int(1)?);
        kernels::shape::wrap_dim(dim, scores.dim()).map_err(kernel)?;
        let dtype = args.dtype(2)?.unwrap_or(scores.dtype());
        if scores.numel() == 0 {
            return made(Tensor::zeros(scores.sizes(), dtype));
        }
        made(scores.to_dtype(dtype).and_then(|scores| kernels::safe_softmax(&scores, dim)))
    }),
    ("aten::segment_reduce", "-", |_, args| {
        let reduce = match &*args.str(1)? {
            "max" => SegmentReduce::Max,
            "min" => SegmentReduce::Min,
            "mean" => SegmentReduce::Mean,
            "sum" => SegmentReduce::Sum,
            "prod" => SegmentReduce::Prod,
            _ => return Err(Raise::unsupported("aten::segment_reduce of this kind")),
        };
        if !args.get(3).is_none() {
            return Err(Raise::unsupported("aten::segment_reduce by indices"));
        }
        let (segments, are_offsets) = match (args.optional_tensor(2)?, args.optional_tensor(4)?) {
            (Some(lengths), None) => (lengths, false),
            (None, Some(offsets)) => (offsets, true),
            _ => return Err(Raise::unsupported("aten::segment_reduce by both or neither")),
        };
        let (axis, initial) = (args.int(5)?, args.optional_real(7)?);
        made(kernels::segment_reduce(args.tensor(0)?, reduce, segments, are_offsets, axis, initial))
    }),
    ("aten::vander", "-", |_, args| {
        made(kernels::vander(args.tensor(0)?, args.optional_int(1)?, args.bool(2)?))
    }),
];

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

/// `torch.gradient` along each dimension, with one spacing for all or one for each.
fn gradient(args: &Args<'_>, spacing: &[Spacing<'_>], dims: usize) -> Result {
    let input = args.tensor(0)?;
    let dims = match args.get(dims) {
        IValue::None => (0..input.dim() as i64).collect(),
        IValue::Int(dim) => vec![*dim],
        _ => args.ints(dims)?,
    };
    if spacing.len() > 1 && spacing.len() != dims.len() {
        return Err(Raise::message(format!(
            "torch.gradient expected spacing to be unspecified, a scalar or a list of length equal \
             to 'self.dim() = {}', since dim argument was not given, but got a list of length {}",
            dims.len(),
            spacing.len()
        )));
    }
    let order = args.int(args.len().saturating_sub(1))?;
    let one = Spacing::Step(1.0.into());
    let along = |(i, &dim): (usize, &i64)| {
        let spacing = spacing.get(i).or(spacing.first()).copied().unwrap_or(one);
        kernels::gradient(input, spacing, dim, order)
    };
    listed(dims.iter().enumerate().map(along).collect())
}
