//! How the results of operators lie in memory: the strides that PyTorch's results have, which follow
//! from those of the operands. Where all operands are row-major nothing is asked but that.

use sconce_kernels::{
    DType, Dims, MemoryFormat, Operand, ResultLayout, Scalar, Tensor, contiguous_strides,
};
use smallvec::SmallVec;

use crate::error::{Raise, kernel};
use crate::ops::Args;
use crate::value::IValue;

type Result<T> = std::result::Result<T, Raise>;

/// What the strides of an operator's results follow from.
#[cfg_attr(
    not(feature = "linalg"),
    expect(dead_code, reason = "some are those of factorizations alone")
)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ResultStrides {
    /// All tensors, as PyTorch goes through them together.
    Elements,
    /// As [`ResultStrides::Elements`], of the first tensor alone.
    First,
    /// As [`ResultStrides::Elements`], where numbers among the first operands are tensors without dimensions.
    Numbers,
    /// As [`ResultStrides::Numbers`], the second operand first.
    Reversed,
    /// As [`ResultStrides::Numbers`], where the first operand is a condition.
    Choice,
    /// The first tensor: a copy that keeps its order.
    Copy,
    /// As [`ResultStrides::Elements`] where nothing is reduced: the operand of this place says.
    Unreduced(usize),
    /// As [`ResultStrides::Copy`] where nothing is reduced.
    UnreducedCopy(usize),
    /// The memory format that the first tensor suggests, for so many dimensions; any where 0.
    Format(usize),
    /// As [`ResultStrides::Format`] of volumes that one element each is left of, and row-major otherwise.
    Averaged,
    /// As [`ResultStrides::Format`], where an input that may pass for row-major does.
    Normalised,
    /// As [`ResultStrides::Format`], unless the padding goes round or, of a constant, only cuts off.
    Padded,
    /// What the input or the weight suggests, seen as pictures, or as volumes where the places of the
    /// dilation, of the groups and of the padding of the output say that PyTorch has its library convolve.
    Convolution { dilation: usize, groups: usize, extra: Option<usize> },
    /// What the input suggests, seen as a picture of one row.
    Row,
    /// The memory format that all tensors of a list suggest.
    Joined,
    /// The halves of a dimension, as [`ResultStrides::Elements`].
    Halves,
    /// The tensor that is indexed and its indices.
    Indexed,
    /// Row-major, whatever the operands are.
    RowMajor,
    /// Matrices of numbers that lie column by column.
    Columns,
    /// As [`ResultStrides::Columns`], where vectors of a batch are row-major.
    Matrices,
    /// As [`ResultStrides::Columns`], where the operand of this place says that the unknowns are on the right of
    /// their coefficients, and row-major otherwise.
    Solution(usize),
    /// As [`ResultStrides::Matrices`], with the rows that the right-hand side has more than the solution.
    LeastSquares,
    /// Coordinates that lie axis by axis.
    Coordinates,
}

/// How results lie in memory, of one call.
pub(crate) enum Strides {
    Iterated(ResultLayout),
    /// Of a copy of this tensor, which has its order.
    Copy(Tensor),
    Format(MemoryFormat),
    /// Of pictures of one row, channels last.
    Row,
    RowMajor,
    /// Of what has so many dimensions, or more.
    Columns(usize),
    /// The same of columns that are so long in memory.
    TallColumns(usize, i64),
    Coordinates,
}

impl ResultStrides {
    /// What the operands say of the results' strides; `None` where all are row-major.
    pub(crate) fn strides(self, args: &Args<'_>) -> Option<Strides> {
        let tensors = || args.0.iter().filter_map(as_tensor);
        match self {
            ResultStrides::Columns => return Some(Strides::Columns(2)),
            ResultStrides::Matrices => {
                return Some(Strides::Columns(tensors().next().map_or(2, Tensor::dim).max(2)));
            }
            ResultStrides::LeastSquares => {
                let first = tensors().next()?;
                let rows = first.sizes().iter().rev().take(2).max().copied().unwrap_or(1);
                return Some(Strides::TallColumns(first.dim().max(2), rows));
            }
            ResultStrides::Coordinates => return Some(Strides::Coordinates),
            ResultStrides::Solution(left) => {
                return Some(match args.get(left) {
                    IValue::Bool(true) => Strides::Columns(2),
                    _ => Strides::RowMajor,
                });
            }
            ResultStrides::Joined => return joined(args),
            _ if tensors().all(Tensor::is_row_major) => {
                // Kernels may leave what they like for a dimension of one element.
                let turns = matches!(
                    self,
                    ResultStrides::RowMajor | ResultStrides::Copy | ResultStrides::Format(_)
                );
                return turns.then_some(Strides::RowMajor);
            }
            _ => {}
        }
        let operands = |numbers: usize| -> SmallVec<[Operand<'_>; 4]> {
            let operand = |(place, arg)| match as_number(arg).filter(|_| place < numbers) {
                Some(number) => Some(Operand::Scalar(number)),
                None => as_tensor(arg).map(Operand::Tensor),
            };
            args.0.iter().enumerate().filter_map(operand).collect()
        };
        let iterated = |iteration: Option<ResultLayout>| iteration.map(Strides::Iterated);
        let copied = || tensors().next().cloned().map(Strides::Copy);
        let is_whole = |place| matches!(args.get(place), IValue::Int(0));
        match self {
            ResultStrides::Elements => iterated(ResultLayout::of(&operands(0))),
            ResultStrides::First => iterated(ResultLayout::of(operands(0).get(..1)?)),
            ResultStrides::Numbers => iterated(ResultLayout::of(&operands(2))),
            ResultStrides::Reversed => {
                let mut operands = operands(2);
                operands.reverse();
                iterated(ResultLayout::of(&operands))
            }
            ResultStrides::Choice => {
                iterated(ResultLayout::of(&operands(3)).map(|iteration| iteration.unpromoted(1)))
            }
            ResultStrides::Copy => copied(),
            ResultStrides::Unreduced(place) if is_whole(place) => {
                iterated(ResultLayout::of(&operands(0)))
            }
            ResultStrides::UnreducedCopy(place) if is_whole(place) => copied(),
            ResultStrides::Unreduced(_) | ResultStrides::UnreducedCopy(_) => None,
            ResultStrides::Halves => halves(args),
            ResultStrides::Indexed => indexed(args),
            ResultStrides::Format(dims) => {
                let first = tensors().next()?;
                let fits = dims == 0 || first.dim() == dims;
                Some(Strides::Format(match fits {
                    true => first.suggested_format(),
                    false => MemoryFormat::Contiguous,
                }))
            }
            ResultStrides::Averaged => {
                let is_one = args.ints(1).is_ok_and(|sizes| sizes.iter().all(|&size| size == 1));
                let format = if is_one {
                    tensors().next()?.suggested_format()
                } else {
                    MemoryFormat::Contiguous
                };
                Some(Strides::Format(format))
            }
            ResultStrides::Normalised => {
                let first = tensors().next()?;
                Some(Strides::Format(match first.is_contiguous() {
                    true => MemoryFormat::Contiguous,
                    false => first.suggested_format(),
                }))
            }
            ResultStrides::Padded if matches!(args.get(2), IValue::Str(mode) if &**mode == "circular") => {
                None
            }
            // The kernel's copy of a part keeps its order.
            ResultStrides::Padded if is_cut(args) => None,
            ResultStrides::Padded => Some(Strides::Format(tensors().next()?.suggested_format())),
            ResultStrides::Convolution { dilation, groups, extra } => {
                let (input, weight) = (as_tensor(args.get(0))?, as_tensor(args.get(1))?);
                convolution(input, weight, || {
                    let (stride, dilation) = (args.ints(3).ok()?, args.ints(dilation).ok()?);
                    let extra = extra.map_or(Ok(Vec::new()), |place| args.ints(place)).ok()?;
                    let is_dense = stride.iter().chain(&dilation).all(|&step| step == 1);
                    let fits = stride.iter().zip(&extra).all(|(step, extra)| extra < step);
                    Some(fits && is_of_library(input, weight, is_dense, args.int(groups).ok()?))
                })
            }
            ResultStrides::Row => {
                let first = tensors().next()?;
                Some(match first.dim() == 3 && is_last(&first.unsqueeze(2).ok()?) {
                    true => Strides::Row,
                    false => Strides::RowMajor,
                })
            }
            ResultStrides::RowMajor => Some(Strides::RowMajor),
            ResultStrides::Columns
            | ResultStrides::Matrices
            | ResultStrides::LeastSquares
            | ResultStrides::Coordinates
            | ResultStrides::Solution(_)
            | ResultStrides::Joined => None,
        }
    }
}

fn is_last(picture: &Tensor) -> bool {
    picture.suggested_format() == MemoryFormat::ChannelsLast
}

/// The format that convolutions give: channels last where the input or the weight is. Rows are made
/// row-major first, and only their weights are seen as pictures of one row. Volumes are channels last
/// where a library convolves them.
fn convolution(
    input: &Tensor,
    weight: &Tensor,
    by_library: impl FnOnce() -> Option<bool>,
) -> Option<Strides> {
    let spatial = weight.dim().checked_sub(2)?;
    let with_batch = match input.dim() == spatial + 1 {
        true => input.unsqueeze(0).ok()?,
        false => input.clone(),
    };
    let either = |format| {
        [&with_batch, weight].into_iter().any(|tensor| tensor.suggested_format() == format)
    };
    let format = match spatial {
        1 => {
            return Some(if is_last(&weight.unsqueeze(2).ok()?) {
                Strides::Row
            } else {
                Strides::RowMajor
            });
        }
        2 => MemoryFormat::ChannelsLast,
        _ => MemoryFormat::ChannelsLast3d,
    };
    let is_last = either(format) && (spatial == 2 || by_library()?);
    Some(if is_last { Strides::Format(format) } else { Strides::RowMajor })
}

/// Whether PyTorch hands a convolution of volumes to its library (oneDNN), as it does on one thread of
/// a processor with AVX-512.
fn is_of_library(input: &Tensor, weight: &Tensor, is_dense: bool, groups: i64) -> bool {
    let at = |tensor: &Tensor, from_end: usize| {
        tensor
            .dim()
            .checked_sub(from_end)
            .and_then(|dim| tensor.sizes().get(dim))
            .copied()
            .unwrap_or(1)
    };
    let kernel = [at(weight, 1), at(weight, 2)];
    let batch = at(input, 5);
    match input.dtype() {
        DType::BFloat16 => true,
        DType::Float32 | DType::Complex64 => {
            let is_more_than_sums = !is_dense || batch >= 16 || kernel != [1, 1];
            let count: i64 = [batch, at(input, 4), at(input, 3), at(input, 2)].iter().product();
            let is_large =
                groups > 1 || kernel.iter().all(|&size| size > 3) || batch > 1 || count > 20_480;
            is_more_than_sums && is_large
        }
        _ => false,
    }
}

/// The format of what tensors of one format are joined to.
fn joined(args: &Args<'_>) -> Option<Strides> {
    let IValue::List(list) = args.get(0) else { return None };
    let list = list.read();
    let mut formats = list.items.iter().filter_map(as_tensor).map(Tensor::suggested_format);
    let first = formats.next()?;
    let is_common = formats.all(|format| format == first);
    (first != MemoryFormat::Contiguous).then_some(match is_common {
        true => Strides::Format(first),
        false => Strides::RowMajor,
    })
}

/// What is indexed by whole numbers, seen in the sizes of the result: the indices stand where the
/// first of them does, or before all other dimensions where they are apart.
fn indexed(args: &Args<'_>) -> Option<Strides> {
    let (input, IValue::List(list)) = (as_tensor(args.get(0))?, args.get(1)) else { return None };
    let list = list.read();
    let is_index = |dim: usize| list.items.get(dim).is_some_and(|item| !item.is_none());
    let indices: Vec<&Tensor> =
        list.items.iter().filter(|item| !item.is_none()).map(as_tensor).collect::<Option<_>>()?;
    if indices.iter().any(|index| !index.dtype().is_integral() || index.dtype() == DType::UInt8) {
        return None;
    }
    let mut sizes = Dims::new();
    for index in &indices {
        sizes = sconce_kernels::layout::broadcast(&sizes, index.sizes()).ok()?;
    }
    let dims = 0..input.dim();
    let (first, last) =
        (dims.clone().find(|&dim| is_index(dim))?, dims.clone().rfind(|&dim| is_index(dim))?);
    let place = if last - first + 1 == indices.len() { first } else { 0 };
    let kept: Vec<usize> = dims.filter(|&dim| !is_index(dim)).collect();
    let (before, after) = kept.split_at(place);
    let own = |of: &[i64]| -> [Vec<i64>; 2] {
        [before, after].map(|dims| dims.iter().filter_map(|&dim| of.get(dim).copied()).collect())
    };
    let ([mut shape, shape_after], [mut steps, steps_after]) =
        (own(input.sizes()), own(input.strides()));
    shape.extend_from_slice(&sizes);
    steps.extend(std::iter::repeat_n(0, sizes.len()));
    shape.extend(shape_after);
    steps.extend(steps_after);
    let source = input.as_strided(&shape, &steps, None).ok()?;
    let placed = |index: &&Tensor| {
        let mut shape = vec![1; before.len()];
        shape.extend_from_slice(index.sizes());
        shape.resize(shape.len() + after.len(), 1);
        index.reshape(&shape).ok()
    };
    let placed: Vec<Tensor> = indices.iter().map(placed).collect::<Option<_>>()?;
    let operands: Vec<Operand<'_>> =
        std::iter::once(&source).chain(&placed).map(Operand::Tensor).collect();
    let iteration = ResultLayout::of(&operands)?;
    Some(Strides::Iterated(iteration.unpromoted(operands.len())))
}

/// Whether padding with a constant adds nothing.
fn is_cut(args: &Args<'_>) -> bool {
    let is_constant = match args.get(2) {
        IValue::Str(mode) => &**mode == "constant",
        _ => true,
    };
    is_constant && args.ints(1).is_ok_and(|sizes| sizes.iter().all(|&size| size <= 0))
}

/// The halves of the dimension that the second operand names.
fn halves(args: &Args<'_>) -> Option<Strides> {
    let (input, IValue::Int(dim)) = (as_tensor(args.get(0))?, args.get(1)) else { return None };
    let half = input.size(*dim).ok()? / 2;
    let (first, second) = (input.narrow(*dim, 0, half).ok()?, input.narrow(*dim, half, half).ok()?);
    let operands = [Operand::Tensor(&first), Operand::Tensor(&second)];
    ResultLayout::of(&operands).map(Strides::Iterated)
}

fn as_tensor(arg: &IValue) -> Option<&Tensor> {
    match arg {
        IValue::Tensor(tensor) if !tensor.dtype().is_quantized() => Some(tensor),
        _ => None,
    }
}

fn as_number(arg: &IValue) -> Option<Scalar> {
    match *arg {
        IValue::Bool(value) => Some(Scalar::Bool(value)),
        IValue::Int(value) => Some(Scalar::Int(value)),
        IValue::Float(value) => Some(Scalar::Float(value)),
        IValue::Complex(re, im) => Some(Scalar::Complex(num_complex::Complex::new(re, im))),
        _ => None,
    }
}

impl Strides {
    /// A result with the strides that it takes, or a tuple of such results.
    pub(crate) fn lay_out(&self, result: IValue) -> Result<IValue> {
        match result {
            IValue::Tensor(tensor) => self.tensor(tensor).map(IValue::Tensor),
            IValue::Tuple(tuple) => {
                let items = tuple.items.iter().map(|item| self.lay_out(item.clone()));
                Ok(IValue::tuple(items.collect::<Result<_>>()?))
            }
            other => Ok(other),
        }
    }

    fn tensor(&self, tensor: Tensor) -> Result<Tensor> {
        if tensor.dtype().is_quantized() {
            return Ok(tensor);
        }
        let strides = match *self {
            Strides::Iterated(ref iteration) => return iteration.lay_out(tensor).map_err(kernel),
            // Where nothing has to be changed the operand itself may be given.
            Strides::Copy(ref first)
                if first.dim() != tensor.dim() || first.storage().ptr_eq(tensor.storage()) =>
            {
                return Ok(tensor);
            }
            Strides::Copy(ref first) => first.preserved_strides(),
            Strides::RowMajor => contiguous_strides(tensor.sizes()),
            Strides::Format(format) => match format.strides(tensor.sizes()) {
                Ok(strides) => strides,
                // Of another number of dimensions.
                Err(_) => return Ok(tensor),
            },
            Strides::Row => row(tensor.sizes()),
            Strides::Columns(dims) | Strides::TallColumns(dims, _)
                if tensor.dim() < dims || tensor.dtype().is_integral() =>
            {
                return Ok(tensor);
            }
            Strides::Columns(_) => columns(tensor.sizes()),
            Strides::TallColumns(_, rows) => return tall(&tensor, rows).map_err(kernel),
            Strides::Coordinates => match *tensor.sizes() {
                [count, _] => Dims::from_slice(&[1, count]),
                _ => return Ok(tensor),
            },
        };
        tensor.with_strides(&strides).map_err(kernel)
    }
}

/// The same numbers in columns that are so long in memory.
fn tall(tensor: &Tensor, rows: i64) -> sconce_kernels::Result<Tensor> {
    let own = tensor.size(-2)?;
    let mut sizes = Dims::from_slice(tensor.sizes());
    let dim = sizes.len().saturating_sub(2);
    sizes[dim] = rows.max(own);
    let whole = Tensor::zeros(&sizes, tensor.dtype())?.with_strides(&columns(&sizes))?;
    let top = whole.narrow(-2, 0, own)?;
    top.copy_from(tensor)?;
    Ok(top)
}

/// The strides of matrices that lie column by column.
fn columns(sizes: &[i64]) -> Dims {
    let mut turned = Dims::from_slice(sizes);
    let last = turned.len().saturating_sub(1);
    turned.swap(last, last.saturating_sub(1));
    let mut strides = contiguous_strides(&turned);
    strides.swap(last, last.saturating_sub(1));
    strides
}

/// The strides of rows whose channels lie side by side, with a batch or without.
fn row(sizes: &[i64]) -> Dims {
    match *sizes {
        [_, channels, length] => {
            Dims::from_slice(&[channels.saturating_mul(length).max(1), 1, channels.max(1)])
        }
        [channels, _] => Dims::from_slice(&[1, channels.max(1)]),
        _ => contiguous_strides(sizes),
    }
}

#[cfg(test)]
mod tests {
    use sconce_ir::Type;

    use super::*;

    fn laid(sizes: &[i64], strides: &[i64], dtype: DType) -> IValue {
        let whole = Tensor::zeros(&[4096], dtype).unwrap();
        IValue::Tensor(whole.as_strided(sizes, strides, None).unwrap())
    }

    fn ints(items: &[i64]) -> IValue {
        IValue::list(Type::Int, items.iter().map(|&item| IValue::Int(item)).collect())
    }

    /// The strides of a result of these sizes.
    fn strides(symbol: &str, mut args: Vec<IValue>, sizes: &[i64], dtype: DType) -> Vec<i64> {
        let result = IValue::Tensor(Tensor::zeros(sizes, dtype).unwrap());
        let overload = if symbol == "aten::index" { "Tensor" } else { "" };
        let layout = crate::ops::find(symbol, overload).unwrap().strides.unwrap();
        let result = match layout.strides(&Args(&mut args)) {
            Some(strides) => strides.lay_out(result).unwrap(),
            None => result,
        };
        as_tensor(&result).unwrap().strides().to_vec()
    }

    #[test]
    fn volumes_are_channels_last_where_a_library_convolves_them() {
        for (dtype, batch, groups, is_last) in [
            (DType::Float32, 1, 1, false),
            (DType::Float32, 1, 2, true),
            (DType::Float32, 2, 1, true),
            (DType::BFloat16, 1, 1, true),
            (DType::Float64, 2, 2, false),
        ] {
            let input = laid(&[batch, 4, 3, 3, 3], &[108, 1, 36, 12, 4], dtype);
            let weight = laid(&[4, 4 / groups, 2, 2, 2], &[32, 8, 4, 2, 1], dtype);
            let one = || ints(&[1, 1, 1]);
            let args =
                vec![input, weight, IValue::None, one(), ints(&[0]), one(), IValue::Int(groups)];
            let found = strides("aten::conv3d", args, &[batch, 4, 2, 2, 2], dtype);
            let expected = if is_last { [32, 1, 16, 8, 4] } else { [32, 8, 4, 2, 1] };
            assert_eq!(found, expected, "{dtype:?} {batch} {groups}");
        }
    }

    #[test]
    fn rows_lie_as_the_weight_that_they_are_convolved_with() {
        let one = || ints(&[1]);
        let given = |input, weight| {
            vec![input, weight, IValue::None, one(), ints(&[0]), one(), IValue::Int(1)]
        };
        let laid = |sizes: &[i64], strides: &[i64]| laid(sizes, strides, DType::Float32);
        let (turned, plain) = (laid(&[1, 4, 6], &[24, 1, 4]), laid(&[1, 4, 6], &[24, 6, 1]));
        let found = |input, weight| {
            strides("aten::conv1d", given(input, weight), &[1, 3, 5], DType::Float32)
        };
        assert_eq!(found(turned, laid(&[3, 4, 2], &[8, 2, 1])), [15, 5, 1]);
        assert_eq!(found(plain, laid(&[3, 4, 2], &[8, 1, 4])), [15, 1, 3]);
    }

    #[cfg(feature = "linalg")]
    #[test]
    fn solutions_lie_as_lapack_leaves_them() {
        let square = || laid(&[3, 3], &[3, 1], DType::Float64);
        for (left, sizes, expected) in [(true, [3, 2], [1, 3]), (false, [2, 3], [3, 1])] {
            let args =
                vec![square(), laid(&sizes, &[sizes[1], 1], DType::Float64), IValue::Bool(left)];
            assert_eq!(strides("aten::linalg_solve", args, &sizes, DType::Float64), expected);
        }
        // Of three equations for two unknowns, and the other way round.
        for (equations, expected) in [([3, 2], [1, 3]), ([2, 3], [1, 3])] {
            let (rows, unknowns) = (equations[0], equations[1]);
            let a = laid(&equations, &[unknowns, 1], DType::Float64);
            let args =
                vec![a, laid(&[rows, 2], &[2, 1], DType::Float64), IValue::None, IValue::None];
            assert_eq!(
                strides("aten::linalg_lstsq", args, &[unknowns, 2], DType::Float64),
                expected
            );
        }
    }

    #[test]
    fn averages_of_volumes_are_channels_last_where_they_are_one() {
        for (size, expected) in [(1, [4, 1, 4, 4, 4]), (2, [32, 8, 4, 2, 1])] {
            let input = laid(&[1, 4, 3, 3, 3], &[108, 1, 36, 12, 4], DType::Float32);
            let args = vec![input, ints(&[size; 3])];
            let sizes = [1, 4, size, size, size];
            assert_eq!(
                strides("aten::adaptive_avg_pool3d", args, &sizes, DType::Float32),
                expected
            );
        }
    }

    #[test]
    fn slopes_take_no_part_in_the_order_of_dimensions() {
        let input = laid(&[1, 2, 3, 4], &[24, 1, 8, 2], DType::Float32);
        let args = vec![input, laid(&[2], &[1], DType::Float32)];
        let found = strides("aten::prelu", args, &[1, 2, 3, 4], DType::Float32);
        assert_eq!(found, [24, 1, 8, 2]);
    }

    #[test]
    fn indices_stand_behind_dimensions_of_one_element() {
        let index = IValue::Tensor(Tensor::from_slice(&[0i64, -1], &[2]).unwrap());
        let list = IValue::list(Type::optional(Type::Tensor), vec![IValue::None, index]);
        let input = laid(&[1, 3, 1, 2], &[3, 1, 1, 3], DType::Float32);
        let found = strides("aten::index", vec![input, list], &[1, 2, 1, 2], DType::Float32);
        assert_eq!(found, [4, 2, 1, 1]);
    }
}
