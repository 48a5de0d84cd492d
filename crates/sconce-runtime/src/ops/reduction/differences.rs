//! Differences, gradients along dimensions, and integrals by the trapezoidal rule.

use sconce_kernels as kernels;
use sconce_kernels::{Spacing, Tensor};

use crate::error::{Raise, kernel};
use crate::ops::Args;
use crate::ops::descriptor::{Table, op};
use crate::ops::tensor::operands::{listed, made};
use crate::value::IValue;

type Result<T = IValue> = std::result::Result<T, Raise>;

pub(crate) const TABLE: Table = &[
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
];

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
    use sconce_kernels::DType;

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
