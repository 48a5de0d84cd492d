//! Scaled dot-product attention in single precision, of `f32` or of widened half precision. It computes
//! one block of queries at a time, so that their scores become weights and are used while a cache holds
//! them.

use half::{bf16, f16};
use sconce_gemm::half_gemm::widen_part;
use sconce_gemm::matrix::Matrix;
use sconce_gemm::strided_gemm;
use sconce_kernel_core::alloc::caching_allocator::Block;
use sconce_kernel_core::parallel::partition;
use sconce_kernel_core::simd::half_precision::{Half, narrow};

use crate::reduction::softmax_rows::{safe_softmax_rows, softmax_rows};
use crate::{DType, Dims, Error, PodElement, Result, Tensor};

/// Queries of a block. Results do not depend on the number of threads, for blocks do not. Blocks that do not
/// see all keys are PyTorch's: keys beyond a block count for nothing, even where they are NaN.
fn queries_of_block(length: usize, partly: bool) -> usize {
    match length {
        768.. if partly => 256,
        192.. if partly => 64,
        _ if partly => 32,
        _ => 192,
    }
}

/// What attention is computed of.
trait Source: PodElement {
    /// The number in single precision.
    fn single(self) -> f32;

    /// A matrix of this many rows and columns in single precision: itself, or a copy in `block`.
    fn matrix<'a>(
        from: (&'a [Self], Matrix),
        sizes: [usize; 2],
        block: &'a mut Option<Block>,
    ) -> Result<(&'a [f32], Matrix)>;

    /// Rounds results to this many elements.
    fn round(from: &[f32], to: &mut [Self]);
}

impl Source for f32 {
    fn single(self) -> f32 {
        self
    }

    fn matrix<'a>(
        from: (&'a [f32], Matrix),
        _: [usize; 2],
        _: &'a mut Option<Block>,
    ) -> Result<(&'a [f32], Matrix)> {
        Ok(from)
    }

    fn round(from: &[f32], to: &mut [f32]) {
        to.copy_from_slice(from);
    }
}

macro_rules! half_source {
    ($($half:ty)*) => {$(
        impl Source for $half {
            fn single(self) -> f32 {
                self.widened()
            }

            fn matrix<'a>(
                from: (&'a [$half], Matrix),
                sizes: [usize; 2],
                block: &'a mut Option<Block>,
            ) -> Result<(&'a [f32], Matrix)> {
                let nbytes = sizes[0] * sizes[1] * size_of::<f32>();
                let (wide, at) = widen_part(from, sizes, block.insert(Block::for_overwrite(nbytes)?).bytes_mut());
                Ok((wide, at))
            }

            fn round(from: &[f32], to: &mut [$half]) {
                narrow(from, to);
            }
        }
    )*};
}
half_source! { half::f16 half::bf16 }

/// What becomes of the scores of what is left out.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Masking {
    /// They are negative infinity, whatever they were.
    Replaced,
    /// Negative infinity is added to them, which makes infinity and NaN NaN.
    Lowered,
}

/// How scores become weights.
#[derive(Clone, Copy)]
pub(crate) struct AttentionWeights<'a> {
    /// What queries are multiplied by.
    pub(crate) scale: f32,
    /// Whether a position sees only itself and those before it.
    pub(crate) causal: Option<Masking>,
    /// Numbers of the operands' dtype, or `f32`, that broadcast to the scores and are added to them;
    /// negative infinity leaves out.
    pub(crate) added: Option<(&'a Tensor, Masking)>,
    /// Whether rows of nothing but negative infinity give zeros, and not NaN.
    pub(crate) safe: bool,
}

/// Attention of query … × L × E, key … × S × E and value … × S × V, of 3 or 4 dimensions: … × L × V, with
/// these strides, which leave no gaps. Key and value may have one batch for all, and fewer heads, each of
/// which several of the query's share. `None` for other operands.
///
/// # Errors
/// Where memory is short.
pub(crate) fn attend(
    [query, key, value]: [&Tensor; 3],
    weighing: AttentionWeights<'_>,
    strides: &[i64],
) -> Result<Option<Tensor>> {
    let all = [query, key, value];
    let dtype = query.dtype();
    let plain = |tensor: &&Tensor| {
        tensor.dtype() == dtype && tensor.numel() > 0 && tensor.dim() == query.dim()
    };
    let added =
        weighing.added.is_none_or(|(added, _)| [dtype, DType::Float32].contains(&added.dtype()));
    if !all.iter().all(plain) || !added || strides.last() != Some(&1) {
        return Ok(None);
    }
    match dtype {
        DType::Float32 => attend_of::<f32>(all, weighing, strides),
        DType::Float16 => attend_of::<f16>(all, weighing, strides),
        DType::BFloat16 => attend_of::<bf16>(all, weighing, strides),
        _ => Ok(None),
    }
}

/// [`attend`] of elements of one type.
fn attend_of<T: Source>(
    all: [&Tensor; 3],
    weighing: AttentionWeights<'_>,
    strides: &[i64],
) -> Result<Option<Tensor>> {
    let query = all[0];
    let [q, k, v] = all.map(four_dimensions);
    let (Some(q), Some(k), Some(v)) = (q?, k?, v?) else { return Ok(None) };
    let ([batch, heads, length, features], [_, _, keys, of_keys]) = (sizes(&q), sizes(&k));
    let [_, _, values, width] = sizes(&v);
    let shared = |of: &Tensor| {
        let [own_batch, own_heads, ..] = sizes(of);
        (own_batch == batch || own_batch == 1) && heads.is_multiple_of(own_heads)
    };
    if !shared(&k) || !shared(&v) || of_keys != features || values != keys {
        return Ok(None);
    }

    let scores = [batch, heads, length, keys].map(|size| size as i64);
    let wide = |added: &Tensor| added.to_dtype(DType::Float32)?.expand(&scores);
    let Ok(added) = weighing.added.map(|(added, _)| wide(added)).transpose() else {
        return Ok(None);
    };

    let mut result_sizes = Dims::from_slice(query.sizes());
    result_sizes[query.dim() - 1] = width as i64;
    let result = Tensor::for_overwrite(&result_sizes, T::DTYPE)?;
    let result = result.as_strided(&result_sizes, strides, None)?;
    let Some(result_of_four) = four_dimensions(&result)? else { return Ok(None) };
    let [to_batch, to_head, to_row, _] = steps(&result_of_four);
    let mut out = result.storage().write::<T>()?;
    let count = queries_of_block(length, weighing.causal == Some(Masking::Replaced));
    let sizes = [batch, heads, length, width];
    let blocks = divided(&mut out, sizes, [to_batch, to_head, to_row], count)?;
    let [qs, ks, vs] = [&q, &k, &v].map(|tensor| tensor.storage().read::<T>());
    let (qs, ks, vs) = (qs?, ks?, vs?);
    let ms = added.as_ref().map(|added| added.storage().read::<f32>()).transpose()?;
    let attention = Attention {
        heads,
        query: Operand::of(&q, &qs),
        key: Operand::of(&k, &ks),
        value: Operand::of(&v, &vs),
        added: added.as_ref().zip(ms.as_deref()).map(|(added, ms)| Operand::of(added, ms)),
        scale: weighing.scale,
        causal: weighing.causal,
        replaces: weighing.added.is_some_and(|(_, hidden)| hidden == Masking::Replaced),
        safe: weighing.safe,
    };
    let work = (batch * heads * length * keys).saturating_mul(features + width);
    if partition::num_threads() == 1 || work < strided_gemm::PARALLEL || blocks.len() == 1 {
        let alone = blocks.len() == 1;
        blocks.into_iter().try_for_each(|queries| attention.attend(queries, alone))?;
    } else {
        partition::try_for_each(blocks.into_iter(), |queries| attention.attend(queries, false))?;
    }
    drop(out);
    Ok(Some(result))
}

/// The blocks of all queries, and the rows of the result that are each one's, wherever they lie.
fn divided<T>(
    out: &mut [T],
    [batches, heads, length, width]: [usize; 4],
    [to_batch, to_head, to_row]: [usize; 3],
    count: usize,
) -> Result<Vec<Queries<'_, T>>> {
    let mut rows: Vec<Option<&mut [T]>> = out.chunks_exact_mut(width).map(Some).collect();
    let mut blocks = Vec::new();
    for (batch, head) in (0..batches).flat_map(|b| (0..heads).map(move |h| (b, h))) {
        for first in (0..length).step_by(count) {
            let position = |row| (batch * to_batch + head * to_head + row * to_row) / width;
            let own = (first..length.min(first + count)).map(position);
            let own: Option<Vec<_>> = own.map(|at| rows.get_mut(at)?.take()).collect();
            let rows = own.ok_or_else(|| Error::runtime("strides of a result leave gaps"))?;
            blocks.push(Queries { batch, head, first, rows });
        }
    }
    Ok(blocks)
}

/// A view with a batch in front of three dimensions; `None` for other than three or four.
fn four_dimensions(tensor: &Tensor) -> Result<Option<Tensor>> {
    match tensor.dim() {
        3 => tensor.unsqueeze(0).map(Some),
        4 => Ok(Some(tensor.clone())),
        _ => Ok(None),
    }
}

fn sizes(tensor: &Tensor) -> [usize; 4] {
    std::array::from_fn(|dim| tensor.sizes()[dim] as usize)
}

fn steps(tensor: &Tensor) -> [usize; 4] {
    std::array::from_fn(|dim| tensor.strides()[dim] as usize)
}

/// A tensor of four dimensions: batch, heads, rows and columns.
#[derive(Clone, Copy)]
struct Operand<'a, T> {
    elements: &'a [T],
    start: usize,
    sizes: [usize; 4],
    steps: [usize; 4],
}

impl<'a, T> Operand<'a, T> {
    fn of(tensor: &Tensor, elements: &'a [T]) -> Operand<'a, T> {
        let start = tensor.offset() as usize;
        Operand { elements, start, sizes: sizes(tensor), steps: steps(tensor) }
    }

    /// The matrix that a head of a batch has or shares, of this many heads.
    fn matrix(&self, batch: usize, head: usize, heads: usize) -> Matrix {
        let [batches, own_heads, ..] = self.sizes;
        let [batch_step, head_step, row_stride, col_stride] = self.steps;
        let start =
            self.start + batch.min(batches - 1) * batch_step + head * own_heads / heads * head_step;
        Matrix { start, row_stride, col_stride }
    }
}

/// A block of queries of one head, and where their results go.
struct Queries<'a, T> {
    batch: usize,
    head: usize,
    first: usize,
    rows: Vec<&'a mut [T]>,
}

struct Attention<'a, T> {
    heads: usize,
    query: Operand<'a, T>,
    key: Operand<'a, T>,
    value: Operand<'a, T>,
    added: Option<Operand<'a, f32>>,
    scale: f32,
    causal: Option<Masking>,
    /// Whether negative infinity takes the position of a score.
    replaces: bool,
    safe: bool,
}

impl<T: Source> Attention<'_, T> {
    /// Computes a block, `parallel` where nobody else computes another.
    fn attend(&self, queries: Queries<'_, T>, parallel: bool) -> Result<()> {
        let Queries { batch, head, first, rows } = queries;
        let ([.., keys, features], [.., width]) = (self.key.sizes, self.value.sizes);
        let count = rows.len();
        // What nobody of the block sees is left out as a whole.
        let partly = self.causal == Some(Masking::Replaced);
        let keys = if partly { keys.min(first + count) } else { keys };
        let sizes = [count * features, count * keys, count * width];
        let mut block = Block::for_overwrite(sizes.iter().sum::<usize>() * size_of::<f32>())?;
        let scratch: &mut [f32] = bytemuck::cast_slice_mut(block.bytes_mut());
        let (scaled, scratch) = scratch.split_at_mut(sizes[0]);
        let (scores, scratch) = scratch.split_at_mut(sizes[1]);
        let results = &mut scratch[..sizes[2]];

        let query = self.query.matrix(batch, head, self.heads);
        for (r, row) in scaled.chunks_exact_mut(features).enumerate() {
            let from = &self.query.elements[query.start + (first + r) * query.row_stride..];
            let scale = |(to, x): (&mut f32, &T)| *to = x.single() * self.scale;
            match query.col_stride {
                1 => row.iter_mut().zip(from).for_each(scale),
                step => row.iter_mut().enumerate().for_each(|(i, to)| scale((to, &from[i * step]))),
            }
        }
        let scaled_at = Matrix { start: 0, row_stride: features, col_stride: 1 };
        let mut wide = None;
        let own = (self.key.elements, self.key.matrix(batch, head, self.heads));
        let (elements, keys_at) = T::matrix(own, [keys, features], &mut wide)?;
        let of_keys = (elements, keys_at.transposed());
        let sizes = [count, features, keys];
        strided_gemm::multiply(sizes, (scaled, scaled_at), of_keys, scores, false, parallel)?;
        for (r, row) in scores.chunks_exact_mut(keys).enumerate() {
            if let Some(hidden) = self.causal {
                apply_mask(&mut row[keys.min(first + r + 1)..], hidden);
            }
            if let Some(added) = &self.added {
                let at = added.matrix(batch, head, self.heads);
                let numbers = &added.elements[at.start + (first + r) * at.row_stride..];
                let add = |x: &mut f32, y: f32| match self.replaces && y == f32::NEG_INFINITY {
                    true => *x = y,
                    false => *x += y,
                };
                match at.col_stride {
                    1 => row.iter_mut().zip(numbers).for_each(|(x, &y)| add(x, y)),
                    step => row.iter_mut().enumerate().for_each(|(i, x)| add(x, numbers[i * step])),
                }
            }
        }
        if self.safe {
            safe_softmax_rows(scores, keys);
        } else {
            softmax_rows(scores, keys);
        }
        let weights_at = Matrix { start: 0, row_stride: keys, col_stride: 1 };
        let own = (self.value.elements, self.value.matrix(batch, head, self.heads));
        let values = T::matrix(own, [keys, width], &mut wide)?;
        let sizes = [count, keys, width];
        strided_gemm::multiply(sizes, (scores, weights_at), values, results, false, parallel)?;
        for (row, result) in rows.into_iter().zip(results.chunks_exact(width)) {
            T::round(result, row);
        }
        Ok(())
    }
}

/// Leaves out what has these scores.
pub(crate) fn apply_mask<T: num_traits::Float>(scores: &mut [T], hidden: Masking) {
    match hidden {
        Masking::Replaced => scores.fill(T::neg_infinity()),
        Masking::Lowered => scores.iter_mut().for_each(|x| *x = *x + T::neg_infinity()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attention;
    use crate::{AttentionOptions, Generator, attention_with_weights};

    fn numbers(sizes: &[i64], seed: usize) -> Tensor {
        let count = sizes.iter().product::<i64>() as usize;
        let all: Vec<f32> =
            (0..count).map(|i| ((i * 37 + seed * 11) % 97) as f32 / 30.0 - 1.5).collect();
        Tensor::from_slice(&all, sizes).unwrap()
    }

    fn assert_near(found: &Tensor, expected: &Tensor, what: &str) {
        assert_eq!(found.sizes(), expected.sizes(), "{what}");
        // Sums of another order may be rounded to the next number.
        let position = match found.dtype() {
            DType::BFloat16 => 1.0 / 128.0,
            DType::Float16 => 1.0 / 1024.0,
            _ => 0.0,
        };
        let single =
            |tensor: &Tensor| tensor.to_dtype(DType::Float32).unwrap().to_vec::<f32>().unwrap();
        let (found, expected) = (single(found), single(expected));
        for (a, b) in found.iter().zip(&expected) {
            let near = (a - b).abs() < 1e-5 + b.abs() * position;
            assert!(near || (a.is_nan() && b.is_nan()), "{what}: {a} {b}");
        }
    }

    #[test]
    fn blocks_give_what_weights_give() {
        let sizes: [[&[i64]; 3]; 7] = [
            [&[2, 3, 5, 8], &[2, 3, 7, 8], &[2, 3, 7, 4]],
            [&[2, 3, 5, 8], &[1, 1, 7, 8], &[1, 1, 7, 8]],
            [&[2, 6, 5, 8], &[2, 2, 7, 8], &[2, 2, 7, 8]],
            [&[3, 5, 8], &[3, 5, 8], &[3, 5, 8]],
            [&[1, 2, 400, 16], &[1, 2, 33, 16], &[1, 2, 33, 16]],
            [&[1, 1, 200, 4], &[1, 1, 210, 4], &[1, 1, 210, 4]],
            [&[1, 1, 1, 3], &[1, 1, 9, 3], &[1, 1, 9, 3]],
        ];
        let dtypes = [DType::Float32, DType::Float16, DType::BFloat16];
        for (operands, dtype) in sizes.iter().flat_map(|sizes| dtypes.map(|dtype| (sizes, dtype))) {
            let [q, k, v] = operands.map(|sizes| {
                numbers(sizes, sizes.len() + sizes[1] as usize).to_dtype(dtype).unwrap()
            });
            let (length, keys) = (q.size(-2).unwrap(), k.size(-2).unwrap());
            let number = numbers(&[length, keys], 5);
            let flags: Vec<bool> = (0..length * keys).map(|i| i % 3 != 1 && i >= keys).collect();
            let flags = Tensor::from_bools(&flags, &[length, keys]).unwrap();
            let column = numbers(&[length, 1], 7);
            for (mask, causal) in [
                (None, false),
                (None, true),
                (Some(&number), false),
                (Some(&flags), false),
                (Some(&column), false),
            ] {
                let options =
                    AttentionOptions { mask, causal, grouped: true, ..AttentionOptions::default() };
                let found = attention([&q, &k, &v], &options, &mut Generator::default()).unwrap();
                let expected =
                    attention_with_weights([&q, &k, &v], &options, &mut Generator::default());
                let what = format!("{operands:?} {dtype:?} {causal} {:?}", mask.map(Tensor::dtype));
                assert_near(&found, &expected.unwrap().0, &what);
            }
        }
    }

    #[test]
    fn the_result_lies_in_memory_as_the_query_does() {
        let heads_inside =
            |heads: i64, width: i64| numbers(&[2, 5, heads, width], 3).transpose(1, 2).unwrap();
        let (q, k, v) = (heads_inside(3, 8), heads_inside(3, 8), heads_inside(3, 8));
        let options = AttentionOptions::default();
        let run = |operands: [&Tensor; 3]| {
            attention(operands, &options, &mut Generator::default()).unwrap()
        };
        assert_eq!(run([&q, &k, &v]).strides(), [120, 8, 24, 1]);
        assert_eq!(run([&q.contiguous().unwrap(), &k, &v]).strides(), [120, 40, 8, 1]);
        // Parts of one tensor, as of a product for all three.
        let part = heads_inside(3, 24).narrow(3, 8, 8).unwrap();
        assert_eq!(run([&part, &k, &v]).strides(), [120, 8, 24, 1]);
        // What PyTorch has no fused kernel for.
        assert_eq!(run([&q, &k, &heads_inside(3, 4)]).strides(), [60, 20, 4, 1]);
        let wide = numbers(&[2, 5, 3, 8], 3).to_dtype(DType::Float64).unwrap();
        let wide = wide.transpose(1, 2).unwrap();
        assert_eq!(run([&wide, &wide, &wide]).strides(), [120, 8, 24, 1]);
        let rows = numbers(&[5, 3, 8], 4).transpose(0, 1).unwrap();
        assert_eq!(run([&rows, &rows, &rows]).strides(), [8, 24, 1]);
    }

    #[test]
    fn what_is_not_a_number_spreads_as_far_as_it_should() {
        let x = numbers(&[1, 1, 3, 2], 1);
        let hidden = Tensor::full(&[3, 3], f64::NEG_INFINITY.into(), DType::Float32).unwrap();
        let added = Some((&hidden, Masking::Lowered));
        let weighing = AttentionWeights { scale: 1.0, causal: None, added, safe: false };
        for safe in [false, true] {
            let weighing = AttentionWeights { safe, ..weighing };
            let found = attend([&x, &x, &x], weighing, x.strides()).unwrap().unwrap();
            let all = found.to_vec::<f32>().unwrap();
            assert!(all.iter().all(|x| if safe { *x == 0.0 } else { x.is_nan() }));
        }
        // A mask that does not fit is for the operator that names it.
        let mask = numbers(&[4, 3], 2);
        let weighing = AttentionWeights { added: Some((&mask, Masking::Lowered)), ..weighing };
        assert!(attend([&x, &x, &x], weighing, x.strides()).unwrap().is_none());
    }
}
