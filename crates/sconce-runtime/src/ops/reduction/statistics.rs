//! Variances, covariances, medians and quantiles.

use sconce_kernels as kernels;
use sconce_kernels::{BinaryOp, Interpolation, Tensor};

use crate::error::{Raise, kernel};
use crate::ops::Args;
use crate::ops::descriptor::{Table, op};
use crate::ops::tensor::operands::{both, made};
use crate::value::IValue;

type Result<T = IValue> = std::result::Result<T, Raise>;

pub(crate) const TABLE: Table = &[
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
    op("aten::quantile", "- scalar", |_, args| quantile(&args, false)),
    op("aten::nanquantile", "- scalar", |_, args| quantile(&args, true)),
    op("aten::cov", "-", |_, args| {
        let (fweights, aweights) = (args.optional_tensor(2)?, args.optional_tensor(3)?);
        made(kernels::cov(args.tensor(0)?, args.int(1)?, fweights, aweights))
    }),
    op("aten::corrcoef", "-", |_, args| made(kernels::corrcoef(args.tensor(0)?))),
];

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
