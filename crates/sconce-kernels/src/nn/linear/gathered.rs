//! Linear layers of one input, computed together, with the layer normalisation before them.
//!
//! Queries, keys and values are one product with three weights: threads divide all of it at once, and rows meet all
//! weights while a cache holds them. Where there are many rows, some are normalised, multiplied and activated before
//! the next ones are, and nothing normalised goes through memory.

use sconce_gemm::packed_gemm::{self, Factor};
use sconce_gemm::panel::{PANEL, ROWS, TILE_ROWS};
use sconce_kernel_core::alloc::caching_allocator::Block;
use sconce_kernel_core::chosen_implementation::chose;
use sconce_kernel_core::parallel::partition;

use crate::nn::linear::activation::{LinearActivation, activate, activate_here};
use crate::nn::norm::layer_norm_rows::layer_norm_rows;
use crate::nn::norm::normalization::layer_norm;
use crate::{DType, Dims, Result, Tensor, linear_packed};

/// A linear layer: `activation(input @ weight.T + bias)`.
#[derive(Debug, Clone, Copy)]
pub struct PackedLinear<'a> {
    /// The weight as [`pack_linear`](crate::pack_linear) packs it.
    pub packed: &'a Tensor,
    /// Rows of the weight: columns of the result.
    pub n: i64,
    /// What is added, `[n]`.
    pub bias: Option<&'a Tensor>,
    /// What is applied to each sum.
    pub activation: Option<LinearActivation>,
}

/// Layer normalisation of the last dimension.
#[derive(Debug, Clone, Copy)]
pub struct RowNorm<'a> {
    /// What the rows are scaled by, of the size of the last dimension.
    pub weight: Option<&'a Tensor>,
    /// What is added then, of the same size.
    pub bias: Option<&'a Tensor>,
    /// What is added to the variance.
    pub eps: f64,
}

/// What each of several linear layers gives for an input, `[…, k]`, that is normalised first where `norm` says so: the
/// same numbers as [`layer_norm`] and [`linear_packed`] give one after the other. `None` where one of the layers does
/// not fit the input, which ordinary operators have to deal with.
///
/// # Errors
/// Where the normalisation does not fit the input, or memory is short.
pub fn gathered_linear(
    input: &Tensor,
    norm: Option<&RowNorm<'_>>,
    layers: &[PackedLinear<'_>],
) -> Result<Option<Vec<Tensor>>> {
    let Some((&k, batch)) = input.sizes().split_last() else { return Ok(None) };
    let rows = input.count().checked_div(k as usize).unwrap_or(0);
    let fits = |layer: &PackedLinear<'_>| {
        layer.n > 0
            && layer.packed.dtype() == DType::Float32
            && layer.packed.sizes()
                == [(layer.n as u64).div_ceil(PANEL as u64) as i64, k, PANEL as i64]
            && layer.bias.is_none_or(|bias| is_vector(bias, layer.n))
    };
    let norm_fits = norm.is_none_or(|norm| {
        norm.weight.iter().chain(&norm.bias).all(|parameter| is_vector(parameter, k))
    });
    let together = input.dtype() == DType::Float32
        && rows > 1
        && k > 0
        && norm_fits
        && layers.iter().all(fits)
        && !packed_gemm::is_by_bf16_parts(rows, k as usize);
    if !together {
        return one_by_one(input, norm, layers);
    }
    let results = layers.iter().map(|layer| {
        let sizes: Dims = batch.iter().copied().chain([layer.n]).collect();
        Tensor::for_overwrite(&sizes, DType::Float32)
    });
    let results: Vec<Tensor> = results.collect::<Result<_>>()?;
    let threads = partition::num_threads();
    let blocks = rows.div_ceil(ROWS);
    chose("packed GEMM");
    match norm {
        Some(norm) if blocks > 1 && (threads == 1 || blocks >= 2 * threads) => {
            by_blocks(&input.contiguous()?, norm, layers, &results)?;
        }
        _ => {
            let normalised =
                norm.map(|norm| layer_norm(input, &[k], norm.weight, norm.bias, norm.eps));
            let input = normalised.transpose()?.unwrap_or(input.clone()).contiguous()?;
            at_once(&input, layers, &results, threads)?;
        }
    }
    Ok(Some(results))
}

fn is_vector(tensor: &Tensor, len: i64) -> bool {
    tensor.dtype() == DType::Float32 && tensor.sizes() == [len] && tensor.is_contiguous()
}

/// The layers one after the other.
fn one_by_one(
    input: &Tensor,
    norm: Option<&RowNorm<'_>>,
    layers: &[PackedLinear<'_>],
) -> Result<Option<Vec<Tensor>>> {
    let input = match (norm, input.sizes().last()) {
        (Some(norm), Some(&k)) => &layer_norm(input, &[k], norm.weight, norm.bias, norm.eps)?,
        _ => input,
    };
    let result = |layer: &PackedLinear<'_>| {
        linear_packed(input, layer.packed, layer.n, layer.bias, layer.activation)
    };
    layers.iter().map(|layer| result(layer).transpose()).collect::<Option<_>>().transpose()
}

/// All rows times all weights.
fn at_once(
    input: &Tensor,
    layers: &[PackedLinear<'_>],
    results: &[Tensor],
    threads: usize,
) -> Result<()> {
    let (xs, k) = (input.read::<f32>()?, input.size(-1)? as usize);
    with_elements(layers, results, |weights, outs| {
        let m = xs.len() / k;
        packed_gemm::multiply_each(m, k, &xs, &mut factors(weights, outs), threads);
        for (layer, out) in layers.iter().zip(outs) {
            if let Some(activation) = layer.activation {
                activate(activation, out);
            }
        }
        Ok(())
    })
}

/// Blocks of rows, each normalised, multiplied and activated by one thread.
fn by_blocks(
    input: &Tensor,
    norm: &RowNorm<'_>,
    layers: &[PackedLinear<'_>],
    results: &[Tensor],
) -> Result<()> {
    let (xs, k) = (input.read::<f32>()?, input.size(-1)? as usize);
    let scale = norm.weight.map(Tensor::read::<f32>).transpose()?;
    let shift = norm.bias.map(Tensor::read::<f32>).transpose()?;
    // As many blocks for each thread, of whole tiles.
    let (rows, threads) = (xs.len() / k, partition::num_threads());
    let count = threads * rows.div_ceil(ROWS * threads);
    let step = rows.div_ceil(count).next_multiple_of(TILE_ROWS);
    let (scale, shift, xs, eps) = (scale.as_deref(), shift.as_deref(), &*xs, norm.eps);
    with_elements(layers, results, |weights, outs| {
        let mut rest: Vec<_> = outs
            .iter_mut()
            .zip(layers)
            .map(|(out, layer)| out.chunks_mut(step * layer.n as usize))
            .collect();
        let blocks = xs.chunks(step * k).map(|xs| {
            let outs: Vec<&mut [f32]> = rest.iter_mut().filter_map(Iterator::next).collect();
            (xs, outs)
        });
        let activations = layers.iter().map(|layer| layer.activation);
        let activations: Vec<Option<LinearActivation>> = activations.collect();
        partition::try_for_each(blocks, |(xs, mut outs)| {
            let mut block = Block::for_overwrite(size_of_val(xs))?;
            let rows: &mut [f32] = &mut bytemuck::cast_slice_mut(block.bytes_mut())[..xs.len()];
            rows.copy_from_slice(xs);
            layer_norm_rows(rows, k, eps, scale, shift);
            packed_gemm::multiply_each(
                rows.len() / k,
                k,
                rows,
                &mut factors(weights, &mut outs),
                1,
            );
            for (activation, out) in activations.iter().zip(outs) {
                if let &Some(activation) = activation {
                    activate_here(activation, out);
                }
            }
            Ok(())
        })
    })
}

/// The elements of a layer's weight and bias.
struct Weights<'a> {
    n: usize,
    packed: &'a [f32],
    bias: Option<&'a [f32]>,
}

fn factors<'a>(weights: &'a [Weights<'_>], outs: &'a mut [&mut [f32]]) -> Vec<Factor<'a>> {
    let factor = |(weights, out): (&'a Weights<'_>, &'a mut &mut [f32])| {
        let &Weights { n, packed, bias } = weights;
        Factor { n, packed, bias, out }
    };
    weights.iter().zip(outs).map(factor).collect()
}

/// Calls `compute` on the elements of all weights, and those of all results.
fn with_elements(
    layers: &[PackedLinear<'_>],
    results: &[Tensor],
    compute: impl FnOnce(&[Weights<'_>], &mut [&mut [f32]]) -> Result<()>,
) -> Result<()> {
    let biases = layers.iter().map(|layer| layer.bias.map(Tensor::read::<f32>).transpose());
    let biases: Vec<_> = biases.collect::<Result<_>>()?;
    let packed = layers.iter().map(|layer| layer.packed.read::<f32>());
    let packed: Vec<_> = packed.collect::<Result<_>>()?;
    let weights = layers.iter().zip(&packed).zip(&biases).map(|((layer, packed), bias)| Weights {
        n: layer.n as usize,
        packed,
        bias: bias.as_deref(),
    });
    let weights: Vec<_> = weights.collect();
    let outs = results.iter().map(Tensor::write::<f32>);
    let mut outs: Vec<_> = outs.collect::<Result<_>>()?;
    let mut outs: Vec<&mut [f32]> = outs.iter_mut().map(|out| &mut **out).collect();
    compute(&weights, &mut outs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Precision, pack_linear};

    fn numbers(sizes: &[i64], step: i64) -> Tensor {
        let all: Vec<f32> = (0..sizes.iter().product())
            .map(|i: i64| ((i * step % 101) as f32 - 50.0) / 40.0)
            .collect();
        Tensor::from_slice(&all, sizes).unwrap()
    }

    #[test]
    fn layers_together_give_what_they_give_one_by_one() {
        // Few rows, one, none, and more than a block of them; rows that would share lines of a cache.
        for sizes in [&[2, 5, 33][..], &[33], &[0, 33], &[600, 33], &[5, 1024], &[520, 1024]] {
            let input = numbers(sizes, 37);
            let k = *sizes.last().unwrap();
            let (scale, shift) = (numbers(&[k], 11), numbers(&[k], 13));
            let parts = [(70, Some(LinearActivation::Gelu)), (32, None), (1, None), (45, None)];
            let weights: Vec<(Tensor, Tensor)> = parts
                .iter()
                .map(|&(n, _)| {
                    let weight = numbers(&[n, k], 7 + n);
                    (pack_linear(&weight, Precision::Full).unwrap(), numbers(&[n], 3))
                })
                .collect();
            let layers: Vec<PackedLinear<'_>> = parts
                .iter()
                .zip(&weights)
                .map(|(&(n, activation), (packed, bias))| PackedLinear {
                    packed,
                    n,
                    bias: (n != 45).then_some(bias),
                    activation,
                })
                .collect();
            let norms = [(Some(&scale), Some(&shift)), (Some(&scale), None), (None, None)];
            let norms = norms.map(|(weight, bias)| Some(RowNorm { weight, bias, eps: 1e-5 }));
            for norm in norms.into_iter().chain([None]) {
                let alone = one_by_one(&input, norm.as_ref(), &layers).unwrap().unwrap();
                let bits = |tensors: &[Tensor]| -> Vec<Vec<u32>> {
                    let of = |tensor: &Tensor| tensor.to_vec::<f32>().unwrap();
                    tensors
                        .iter()
                        .map(|one| of(one).into_iter().map(f32::to_bits).collect())
                        .collect()
                };
                let together = gathered_linear(&input, norm.as_ref(), &layers).unwrap().unwrap();
                assert!(alone.iter().zip(&together).all(|(a, b)| a.sizes() == b.sizes()));
                assert_eq!(bits(&alone), bits(&together), "{sizes:?} {norm:?}");
                if let (Some(norm), true) = (&norm, sizes.len() == 2 && sizes[0] > 1) {
                    together.iter().for_each(|result| result.fill(7.into()).unwrap());
                    by_blocks(&input, norm, &layers, &together).unwrap();
                    assert_eq!(bits(&alone), bits(&together), "{sizes:?} {norm:?}");
                }
            }
        }
    }

    #[test]
    fn what_does_not_fit_is_left_to_others() {
        let (input, weight) = (numbers(&[4, 8], 37), numbers(&[3, 9], 5));
        let packed = pack_linear(&weight, Precision::Full).unwrap();
        let layer = PackedLinear { packed: &packed, n: 3, bias: None, activation: None };
        assert!(gathered_linear(&input, None, &[layer]).unwrap().is_none());
        let short = numbers(&[7], 3);
        let norm = RowNorm { weight: Some(&short), bias: None, eps: 1e-5 };
        assert!(gathered_linear(&input, Some(&norm), &[layer]).is_err());
    }
}
