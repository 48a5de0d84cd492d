//! Picking elements by index: `index_select`, `gather`, `scatter`, `embedding`, and advanced indexing.

use crate::shape::{broadcast, wrap_dim};
use crate::{Bool, DType, Dims, Element, Error, Operand, Result, Tensor};

/// Runs `$f::<T>` for an unsigned type as wide as the dtype's elements: moving needs no more.
macro_rules! by_width {
    ($tensor:expr, $f:ident ( $($arg:expr),* )) => {
        match $tensor.dtype().item_size() {
            1 => $f::<u8>($($arg),*),
            2 => $f::<u16>($($arg),*),
            4 => $f::<u32>($($arg),*),
            8 => $f::<u64>($($arg),*),
            _ => $f::<num_complex::Complex<f64>>($($arg),*),
        }
    };
}
pub(crate) use by_width;

/// A contiguous tensor's elements as units of their width.
pub(crate) fn units<T: Element>(tensor: &Tensor) -> Result<std::cell::Ref<'_, [T]>> {
    let start = if tensor.numel() == 0 { 0 } else { tensor.offset() as usize };
    let range = start..start + tensor.count();
    std::cell::Ref::filter_map(tensor.storage().read::<T>()?, |all| all.get(range))
        .map_err(|_| Error::runtime("tensor reaches beyond its storage"))
}

fn integers(index: &Tensor, refuse: impl FnOnce() -> Error) -> Result<Vec<i64>> {
    if !matches!(index.dtype(), DType::Int64 | DType::Int32) && index.numel() > 0 {
        return Err(refuse());
    }
    index.to_dtype(DType::Int64)?.to_vec::<i64>()
}

/// `torch.index_select`.
///
/// # Errors
/// For indices that are negative or beyond the dimension, or no integers.
pub fn index_select(input: &Tensor, dim: i64, index: &Tensor) -> Result<Tensor> {
    if input.dtype().is_quantized() {
        return crate::rearranged(input, |whole| index_select(whole, dim, index));
    }
    if index.dim() > 1 {
        return Err(Error::index("index_select(): Index is supposed to be a vector"));
    }
    let indices = integers(index, || {
        Error::runtime("index_select(): Expected dtype int32 or int64 for index")
    })?;
    let dim = wrap_dim(dim, input.dim())?;
    let vector = if input.dim() == 0 { input.view(&[1])? } else { input.clone() };
    let size = vector.sizes()[dim];
    if indices.iter().any(|i| !(0..size).contains(i)) {
        return Err(Error::index("index out of range in self"));
    }
    let result =
        take_rows(&vector.transpose(0, dim as i64)?, &indices)?.transpose(0, dim as i64)?;
    let strides = crate::contiguous_strides(result.sizes());
    if input.dim() == 0 { result.view(&[]) } else { result.with_strides(&strides) }
}

/// Rows of the first dimension, which are known to exist.
fn take_rows(input: &Tensor, indices: &[i64]) -> Result<Tensor> {
    let input = input.contiguous()?;
    let mut sizes = Dims::from_slice(input.sizes());
    let len = crate::shape::product(&sizes[1..]) as usize;
    sizes[0] = indices.len() as i64;
    let result = Tensor::zeros(&sizes, input.dtype())?;
    fn copy<T: Element>(
        input: &Tensor,
        result: &Tensor,
        indices: &[i64],
        len: usize,
    ) -> Result<()> {
        let from = units::<T>(input)?;
        let mut to = result.storage().write::<T>()?;
        if len > 0 {
            for (to, &i) in to.chunks_exact_mut(len).zip(indices) {
                to.copy_from_slice(&from[i as usize * len..(i as usize + 1) * len]);
            }
        }
        Ok(())
    }
    by_width!(input, copy(&input, &result, indices, len))?;
    Ok(result)
}

/// `torch.nn.functional.embedding` (`aten::embedding`).
///
/// # Errors
/// For indices that are not rows of the weight, or no integers.
pub fn embedding(weight: &Tensor, indices: &Tensor) -> Result<Tensor> {
    let flat = integers(indices, || {
        Error::runtime(format!(
            "Expected tensor for argument #1 'indices' to have one of the following scalar types: \
             Long, Int; but got torch.{}Tensor instead (while checking arguments for embedding)",
            indices.dtype().scalar_type_name()
        ))
    })?;
    if weight.dim() != 2 {
        return Err(Error::runtime("'weight' must be 2-D"));
    }
    if flat.iter().any(|i| !(0..weight.sizes()[0]).contains(i)) {
        return Err(Error::index("index out of range in self"));
    }
    let sizes: Dims = indices.sizes().iter().copied().chain([weight.sizes()[1]]).collect();
    take_rows(weight, &flat)?.view(&sizes)
}

/// `torch.gather`.
///
/// # Errors
/// For indices beyond the dimension, and an index tensor larger than the input elsewhere.
pub fn gather(input: &Tensor, dim: i64, index: &Tensor) -> Result<Tensor> {
    let positions = positions(input, dim, index)?;
    let input = input.contiguous()?;
    let result = Tensor::zeros(index.sizes(), input.dtype())?;
    fn copy<T: Element>(input: &Tensor, result: &Tensor, positions: &[usize]) -> Result<()> {
        let from = units::<T>(input)?;
        for (to, &at) in result.storage().write::<T>()?.iter_mut().zip(positions) {
            *to = from[at];
        }
        Ok(())
    }
    by_width!(input, copy(&input, &result, &positions))?;
    Ok(result)
}

/// `torch.scatter`: a copy of `input` with `source` written to the indices; the last one wins.
///
/// # Errors
/// As [`gather`], and where the source is smaller than the index tensor.
pub fn scatter(input: &Tensor, dim: i64, index: &Tensor, source: Operand<'_>) -> Result<Tensor> {
    let positions = positions(input, dim, index)?;
    let result = input.copy()?;
    let source = match source {
        Operand::Scalar(_) => source.to_dtype(input.dtype())?.expand(index.sizes())?,
        Operand::Tensor(source) => {
            if source.dtype() != input.dtype() {
                let message = "scatter(): Expected self.dtype to be equal to src.dtype";
                return Err(Error::runtime(message));
            }
            let small = source.dim() != index.dim()
                || source.sizes().iter().zip(index.sizes()).any(|(s, i)| i > s);
            if small && index.numel() > 0 {
                return Err(Error::runtime(format!(
                    "Expected index {:?} to be no larger than self {:?} apart from dimension {} \
                     and to be no larger size than src {:?}",
                    index.sizes(),
                    input.sizes(),
                    wrap_dim(dim, input.dim())?,
                    source.sizes()
                )));
            }
            let mut corner = source.clone();
            for (dim, &size) in index.sizes().iter().enumerate() {
                corner = corner.narrow(dim as i64, 0, size)?;
            }
            corner
        }
    };
    let source = source.contiguous()?;
    fn copy<T: Element>(result: &Tensor, source: &Tensor, positions: &[usize]) -> Result<()> {
        let from = units::<T>(source)?;
        let mut to = result.storage().write::<T>()?;
        for (&x, &at) in from.iter().zip(positions) {
            to[at] = x;
        }
        Ok(())
    }
    by_width!(result, copy(&result, &source, &positions))?;
    Ok(result)
}

/// Where every element of `index` points to in a contiguous `input`.
pub(crate) fn positions(input: &Tensor, dim: i64, index: &Tensor) -> Result<Vec<usize>> {
    let refuse = || Error::runtime("gather(): Expected dtype int32/int64 for index");
    let indices = integers(index, refuse)?;
    let dim = wrap_dim(dim, input.dim())?;
    if indices.is_empty() {
        return Ok(Vec::new());
    }
    if index.dim().max(1) != input.dim().max(1) {
        let message = "Index tensor must have the same number of dimensions as input tensor";
        return Err(Error::runtime(message));
    }
    for (at, (&i, &n)) in index.sizes().iter().zip(input.sizes()).enumerate() {
        if at != dim && i > n {
            return Err(Error::runtime(format!(
                "Size does not match at dimension {at} expected index {:?} to be no larger than \
                 self {:?} apart from dimension {dim}",
                index.sizes(),
                input.sizes()
            )));
        }
    }
    let size = input.sizes().get(dim).copied().unwrap_or(1);
    let strides = crate::shape::contiguous_strides(input.sizes());
    let index_strides = crate::shape::contiguous_strides(index.sizes());
    let mut result = Vec::with_capacity(indices.len());
    for (n, &i) in indices.iter().enumerate() {
        if !(0..size).contains(&i) {
            return Err(Error::runtime(format!(
                "index {i} is out of bounds for dimension {dim} with size {size}"
            )));
        }
        let mut at = strides.get(dim).copied().unwrap_or(0) * i;
        let mut rest = n as i64;
        for (d, (&step, &stride)) in index_strides.iter().zip(&strides).enumerate() {
            if d != dim {
                at += rest / step * stride;
            }
            rest %= step;
        }
        result.push(at as usize);
    }

    Ok(result)
}

/// `torch.nonzero`: coordinates of the elements that are not zero, one row each.
///
/// # Errors
/// For dtypes without kernels.
pub fn nonzero(input: &Tensor) -> Result<Tensor> {
    let flags = input.to_dtype(DType::Bool)?.to_vec::<Bool>()?;
    let strides = crate::shape::contiguous_strides(input.sizes());
    let mut coordinates = Vec::new();
    let mut count = 0;
    for (n, _) in flags.iter().enumerate().filter(|(_, flag)| flag.get()) {
        count += 1;
        let mut rest = n as i64;
        for step in &strides {
            coordinates.push(rest / step);
            rest %= step;
        }
    }
    Tensor::from_slice(&coordinates, &[count, input.dim() as i64])
}

/// Advanced indexing laid out: which elements of a contiguous tensor, and the result's sizes.
struct Plan {
    positions: Vec<usize>,
    sizes: Dims,
}

fn plan(input: &Tensor, indices: &[Option<Tensor>]) -> Result<Plan> {
    let mut wanted: Vec<Option<Tensor>> = Vec::new();
    for index in indices {
        let Some(index) = index else {
            wanted.push(None);
            continue;
        };
        match index.dtype() {
            DType::Bool | DType::UInt8 => {
                let at = wanted.len();
                let own = input.sizes().get(at..at + index.dim());
                if own != Some(index.sizes()) {
                    let bad = index.sizes().iter().enumerate();
                    let mut bad = bad.filter(|(i, s)| input.sizes().get(at + i) != Some(s));
                    let at = at + bad.next().map_or(0, |(i, _)| i);
                    return Err(Error::index(format!(
                        "The shape of the mask {:?} at index {at} does not match the shape of the \
                         indexed tensor {:?} at index {at}",
                        index.sizes(),
                        input.sizes()
                    )));
                }
                let found = nonzero(index)?;
                for column in 0..index.dim() as i64 {
                    wanted.push(Some(found.select(1, column)?));
                }
            }
            DType::Int64 | DType::Int32 => wanted.push(Some(index.to_dtype(DType::Int64)?)),
            _ => {
                let message = "tensors used as indices must be long, int, byte or bool tensors";
                return Err(Error::index(message));
            }
        }
    }
    if wanted.len() > input.dim() {
        return Err(Error::index(format!(
            "too many indices for tensor of dimension {} (got {})",
            input.dim(),
            wanted.len()
        )));
    }
    wanted.resize(input.dim(), None);
    let mut shape = Dims::new();
    for index in wanted.iter().flatten() {
        shape = broadcast(&shape, index.sizes()).map_err(|_| {
            let shapes: Vec<String> =
                wanted.iter().flatten().map(|t| format!("{:?}", t.sizes())).collect();
            Error::index(format!(
                "shape mismatch: indexing tensors could not be broadcast together with shapes {}",
                shapes.join(", ")
            ))
        })?;
    }
    let strides = crate::shape::contiguous_strides(input.sizes());
    // An expanded index may be larger than memory: a tensor of its size says so.
    let mut picked = Tensor::zeros(&shape, DType::Int64)?.to_vec::<i64>()?;
    for (dim, index) in wanted.iter().enumerate() {
        let Some(index) = index else { continue };
        let size = input.sizes()[dim];
        for (at, &i) in picked.iter_mut().zip(&index.expand(&shape)?.to_vec::<i64>()?) {
            if !(-size..size).contains(&i) {
                return Err(Error::index(format!(
                    "index {i} is out of bounds for dimension {dim} with size {size}"
                )));
            }
            *at += strides[dim] * if i < 0 { i + size } else { i };
        }
    }
    // Indices side by side leave their dimensions in place; otherwise theirs come first.
    let places: Vec<usize> = (0..wanted.len()).filter(|&i| wanted[i].is_some()).collect();
    let side_by_side = places.windows(2).all(|pair| pair[0] + 1 == pair[1]);
    let before = if side_by_side { places.first().copied().unwrap_or(0) } else { 0 };
    let free: Vec<usize> = (0..wanted.len()).filter(|&i| wanted[i].is_none()).collect();
    let (outer, inner) = free.split_at(free.iter().filter(|&&dim| dim < before).count());
    let offsets = |dims: &[usize]| {
        dims.iter().fold(vec![0i64], |offsets, &dim| {
            let steps = 0..input.sizes()[dim];
            let next = offsets.iter().flat_map(|&at| steps.clone().map(move |i| (at, i)));
            next.map(|(at, i)| at + i * strides[dim]).collect()
        })
    };
    let (outer_offsets, inner_offsets) = (offsets(outer), offsets(inner));
    let mut positions =
        Vec::with_capacity(outer_offsets.len() * picked.len() * inner_offsets.len());
    for &a in &outer_offsets {
        for &b in &picked {
            positions.extend(inner_offsets.iter().map(|&c| (a + b + c) as usize));
        }
    }
    let size = |&dim: &usize| input.sizes()[dim];
    let sizes = outer.iter().map(size).chain(shape).chain(inner.iter().map(size)).collect();
    Ok(Plan { positions, sizes })
}

/// `input[indices]` with tensors as indices (`aten::index`); `None` stands for `:`.
///
/// # Errors
/// For indices beyond their dimension, masks of other sizes, and shapes that do not broadcast.
pub fn index(input: &Tensor, indices: &[Option<Tensor>]) -> Result<Tensor> {
    let plan = plan(input, indices)?;
    let input = input.contiguous()?;
    let result = Tensor::zeros(&plan.sizes, input.dtype())?;
    fn copy<T: Element>(input: &Tensor, result: &Tensor, positions: &[usize]) -> Result<()> {
        let from = units::<T>(input)?;
        for (to, &at) in result.storage().write::<T>()?.iter_mut().zip(positions) {
            *to = from[at];
        }
        Ok(())
    }
    by_width!(input, copy(&input, &result, &plan.positions))?;
    Ok(result)
}

/// `input[indices] = values` (`aten::index_put_`), or `+=` where `accumulate`.
///
/// # Errors
/// As [`index`], and where the values do not broadcast.
pub fn index_put(
    input: &Tensor,
    indices: &[Option<Tensor>],
    values: &Tensor,
    accumulate: bool,
) -> Result<()> {
    if values.dtype() != input.dtype() {
        return Err(Error::runtime(format!(
            "Index put requires the source and destination dtypes match, got {} for the \
             destination and {} for the source.",
            input.dtype().scalar_type_name(),
            values.dtype().scalar_type_name()
        )));
    }
    let plan = plan(input, indices)?;
    let values = values.expand(&plan.sizes).map_err(|_| {
        Error::runtime(format!(
            "shape mismatch: value tensor of shape {:?} cannot be broadcast to indexing result of \
             shape {:?}",
            values.sizes(),
            &plan.sizes[..]
        ))
    })?;
    let values = values.contiguous()?;
    let target = input.copy()?;
    if accumulate {
        let flat = target.view(&[-1])?;
        let values = values.view(&[-1])?;
        for (n, &at) in plan.positions.iter().enumerate() {
            let one = flat.select(0, at as i64)?;
            let value = values.select(0, n as i64)?;
            crate::binary_in_place(crate::BinaryOp::Add, &one, (&value).into())?;
        }
        return input.copy_from(&target);
    }
    fn copy<T: Element>(target: &Tensor, values: &Tensor, positions: &[usize]) -> Result<()> {
        let from = units::<T>(values)?;
        let mut to = target.storage().write::<T>()?;
        for (&x, &at) in from.iter().zip(positions) {
            to[at] = x;
        }
        Ok(())
    }
    by_width!(target, copy(&target, &values, &plan.positions))?;
    input.copy_from(&target)
}
