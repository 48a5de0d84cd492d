//! Random integers: over a dtype or a range, permutations, Poisson numbers, `multinomial`.

use sconce_kernel_core::tensor::dtype_range::rounded;

use crate::elementwise::binary::binary;
use crate::elementwise::binary_op::BinaryOp;
use crate::random::continuous::{empty_like, exponential_in_place, write_in_order};
use crate::{DType, Dims, Error, Generator, Result, Tensor};

/// `torch.Tensor.random_()`: whole numbers over all that the dtype holds exactly.
///
/// # Errors
/// For complex numbers.
pub fn random_in_place(target: &Tensor, generator: &mut Generator) -> Result<()> {
    let dtype = target.dtype();
    let whole = |bits: u32| (1u64 << bits) + 1;
    let modulus = match dtype {
        DType::Int64 => 1 << 63,
        DType::Float64 => whole(53),
        DType::Float32 => whole(24),
        DType::Float16 => whole(11),
        DType::BFloat16 => whole(8),
        DType::Bool => 2,
        DType::UInt8 => 1 << 8,
        DType::Int8 => 1 << 7,
        DType::Int16 => 1 << 15,
        DType::Int32 => 1 << 31,
        other => return Err(Error::no_kernel("random_kernel_cpu", other)),
    };
    let wide = matches!(dtype, DType::Int64 | DType::Float64);
    let mut draw = || if wide { generator.random64() } else { u64::from(generator.random()) };
    let numbers: Vec<i64> = (0..target.count()).map(|_| (draw() % modulus) as i64).collect();
    write_in_order(target, &numbers)
}

/// The least and greatest whole number of a dtype that bounds may be.
fn whole_range(dtype: DType) -> Result<(i64, i64)> {
    Ok(match dtype {
        DType::Bool => (0, 1),
        DType::UInt8 => (0, 255),
        DType::Int8 => (-128, 127),
        DType::Int16 => (-32_768, 32_767),
        DType::Int32 => (i32::MIN.into(), i32::MAX.into()),
        DType::Float16 => (-65_504, 65_504),
        DType::Int64 | DType::Float64 | DType::Float32 | DType::BFloat16 => (i64::MIN, i64::MAX),
        _ => {
            return Err(Error::runtime(
                "check_random_bounds handles only integral, floating-point and boolean types",
            ));
        }
    })
}

/// Bits of a floating dtype's whole numbers: beyond, some are missing.
fn exact_bits(dtype: DType) -> Option<u32> {
    match dtype {
        DType::Float16 => Some(11),
        DType::BFloat16 => Some(8),
        DType::Float32 => Some(24),
        DType::Float64 => Some(53),
        _ => None,
    }
}

/// How far apart a dtype's numbers about this one are.
fn step_about(number: i64, bits: u32) -> i64 {
    let size = number.unsigned_abs().max(1).ilog2();
    1i64 << (size + 1).saturating_sub(bits)
}

/// The lower bound, or the next number that the dtype holds where rounding would go below it.
fn lower_bound(from: i64, dtype: DType) -> i64 {
    let Some(bits) = exact_bits(dtype) else { return from };
    let next = rounded((from + 1) as f64, dtype) as i64;
    if next < from { next + step_about(from + 1, bits) } else { from }
}

/// The upper bound, or a smaller one where rounding would reach it.
fn upper_bound(to: i64, dtype: DType) -> i64 {
    let Some(bits) = exact_bits(dtype) else { return to };
    let last = rounded((to - 1) as f64, dtype);
    // What 64 bits do not hold is left as it is.
    let reaches = last < 2f64.powi(63) && last as i64 >= to;
    if reaches { last as i64 - step_about(to - 1, bits) } else { to }
}

/// How many whole numbers there are from the first one on, which is given as the dtype has it.
fn random_range(from: i64, to: Option<i64>, dtype: DType) -> Result<(i64, u64)> {
    let (low, high) = whole_range(dtype)?;
    let check = |name: &str, bound: i64| match (low..=high).contains(&bound) {
        true => Ok(()),
        false => Err(Error::runtime(format!(
            "{name} is out of bounds for {}",
            sconce_kernel_core::error::cpp_type_name(dtype)
        ))),
    };
    let Some(to) = to else {
        check("from", from)?;
        let last = exact_bits(dtype).map_or(high, |bits| 1 << bits);
        let from = if from == i64::MAX { from } else { lower_bound(from, dtype) };
        if from > last {
            return Err(Error::runtime(format!(
                "random_ expects 'from' casted to dtype to be less than or equal to 'to_inc' casted \
                 to dtype, but got from={from} > to_inc={last}"
            )));
        }
        return Ok((from, (last.wrapping_sub(from) as u64).wrapping_add(1)));
    };
    if from >= to {
        return Err(Error::runtime(format!(
            "random_ expects 'from' to be less than 'to', but got from={from} >= to={to}"
        )));
    }
    check("from", from)?;
    check("to - 1", to - 1)?;
    let (from, to) = (lower_bound(from, dtype), upper_bound(to, dtype));
    if from >= to {
        return Err(Error::runtime(format!(
            "random_ expects 'from' casted to dtype to be less than 'to' casted to dtype, but got \
             from={from} >= to={to}"
        )));
    }
    Ok((from, to.wrapping_sub(from) as u64))
}

/// `torch.Tensor.random_(from, to)`: whole numbers in [from, to); up to the greatest one of the
/// dtype without `to`.
///
/// # Errors
/// For empty ranges and bounds that the dtype cannot hold.
pub fn random_from_to(
    target: &Tensor,
    from: i64,
    to: Option<i64>,
    generator: &mut Generator,
) -> Result<()> {
    let dtype = target.dtype();
    if to.is_none() && from == i64::MIN {
        if !matches!(dtype, DType::Int64 | DType::Float64 | DType::Float32 | DType::BFloat16) {
            return Err(Error::no_kernel("random_full_64_bits_range_kernel_cpu", dtype));
        }
        let numbers: Vec<i64> = (0..target.count()).map(|_| generator.random64() as i64).collect();
        return write_in_order(target, &numbers);
    }
    let (from, range) = random_range(from, to, dtype)?;
    // Above this, the remainder of 32 bits would be skewed by more than PyTorch puts up with.
    let wide = range >= 1 << 28;
    let mut draw = || if wide { generator.random64() } else { u64::from(generator.random()) };
    let numbers: Vec<i64> =
        (0..target.count()).map(|_| ((draw() % range) as i64).wrapping_add(from)).collect();
    write_in_order(target, &numbers)
}

/// `torch.randperm`: 0 to n - 1 in random order.
///
/// # Errors
/// For negative `n`, dtypes that cannot hold it, and more than 214 million numbers.
pub fn randperm(n: i64, dtype: DType, generator: &mut Generator) -> Result<Tensor> {
    if n < 0 {
        return Err(Error::runtime(format!("n must be non-negative, got{n}")));
    }
    if n >= i64::from(u32::MAX / 20) {
        return Err(Error::not_implemented(format!("randperm of {n} numbers")));
    }
    let exact = match exact_bits(dtype) {
        Some(bits) => 1 << bits,
        None => whole_range(dtype)?.1,
    };
    if n > exact.saturating_add(1) {
        return Err(Error::not_implemented(format!("randperm of {n} in {}", dtype.name())));
    }
    let mut numbers: Vec<i64> = (0..n).collect();
    for at in 0..numbers.len().saturating_sub(1) {
        let rest = numbers.len() - at;
        numbers.swap(at, at + generator.random() as usize % rest);
    }
    Tensor::from_slice(&numbers, &[n])?.to_dtype(dtype)
}

/// `torch.poisson`: a Poisson number for each rate.
///
/// # Errors
/// For integers and negative rates.
pub fn poisson(rates: &Tensor, generator: &mut Generator) -> Result<Tensor> {
    if !rates.dtype().is_floating_point() {
        return Err(Error::no_kernel("poisson_cpu", rates.dtype()));
    }
    let result = Tensor::zeros(rates.sizes(), rates.dtype())?;
    let mut numbers = Vec::with_capacity(rates.count());
    for rate in rates.to_dtype(DType::Float64)?.to_vec::<f64>()? {
        numbers.push(poisson_number(rate, generator)?);
    }
    write_in_order(&result, &numbers)?;
    Ok(result)
}

fn poisson_number(rate: f64, generator: &mut Generator) -> Result<f64> {
    if rate.is_nan() || rate < 0.0 {
        let message = "invalid Poisson rate, expected rate to be non-negative";
        return Err(Error::runtime(message));
    }
    if rate == 0.0 {
        return Ok(0.0);
    }
    if rate < 10.0 {
        let (limit, mut product, mut count) = ((-rate).exp(), 1.0, 0.0);
        loop {
            product *= generator.uniform();
            if product <= limit {
                return Ok(count);
            }
            count += 1.0;
        }
    }
    if rate.is_infinite() {
        return Err(Error::not_implemented("poisson with an infinite rate"));
    }
    // Hörmann's transformed rejection, "The transformed rejection method for generating Poisson
    // random variables" (1993).
    let (root, log) = (rate.sqrt(), rate.ln());
    let b = 0.931 + 2.53 * root;
    let a = -0.059 + 0.02483 * b;
    let inverse = 1.1239 + 1.1328 / (b - 3.4);
    let accept = 0.9277 - 3.6224 / (b - 2.0);
    loop {
        let u = generator.uniform() - 0.5;
        let v = generator.uniform();
        let edge = 0.5 - u.abs();
        let k = ((2.0 * a / edge + b) * u + rate + 0.43).floor();
        if edge >= 0.07 && v <= accept {
            return Ok(k);
        }
        if k < 0.0 || (edge < 0.013 && v > edge) {
            continue;
        }
        let bound = v.ln() + inverse.ln() - (a / (edge * edge) + b).ln();
        if bound <= -rate + k * log - libm::lgamma(k + 1.0) {
            return Ok(k);
        }
    }
}

/// `torch.multinomial`: indices of a row drawn with the chances in it.
///
/// # Errors
/// For negative or unending chances, rows of zeros, and more samples than a row holds without
/// replacement.
pub fn multinomial(
    chances: &Tensor,
    samples: i64,
    replacement: bool,
    generator: &mut Generator,
) -> Result<Tensor> {
    if !matches!(chances.dim(), 1 | 2) {
        return Err(Error::runtime("prob_dist must be 1 or 2 dim"));
    }
    if !chances.dtype().is_floating_point() {
        return Err(Error::runtime(format!(
            "multinomial only supports floating-point dtypes for input, got: {}",
            chances.dtype().scalar_type_name()
        )));
    }
    let categories = chances.size(-1)?;
    if samples <= 0 {
        return Err(Error::runtime("cannot sample n_sample <= 0 samples"));
    }
    if !replacement && samples > categories {
        let message = "cannot sample n_sample > prob_dist.size(-1) samples without replacement";
        return Err(Error::runtime(message));
    }
    if categories > 1 << 24 {
        return Err(Error::runtime("number of categories cannot exceed 2^24"));
    }
    let mut sizes = Dims::from_slice(&chances.sizes()[..chances.dim() - 1]);
    sizes.push(samples);
    if categories == 0 && sizes[0] > 0 {
        return Err(Error::runtime("invalid multinomial distribution (sum of probabilities <= 0)"));
    }
    if chances.numel() == 0 {
        return Tensor::zeros(&sizes, DType::Int64);
    }
    let rows = chances.to_dtype(DType::Float64)?.to_vec::<f64>()?;
    if rows.iter().any(|chance| !chance.is_finite() || *chance < 0.0) {
        return Err(Error::runtime(
            "probability tensor contains either `inf`, `nan` or element < 0",
        ));
    }
    if rows.chunks_exact(categories as usize).any(|row| row.iter().sum::<f64>() <= 0.0) {
        return Err(Error::runtime("invalid multinomial distribution (sum of probabilities <= 0)"));
    }
    if replacement && samples > 1 {
        let drawn = with_replacement(chances, samples as usize, generator)?;
        return Tensor::from_slice(&drawn, &sizes);
    }
    // The category whose chance over an exponential number is greatest.
    let waits = empty_like(chances, chances.dtype())?;
    exponential_in_place(&waits, 1.0, generator)?;
    let scores = binary(BinaryOp::Div, chances.into(), (&waits).into())?;
    Ok(crate::topk(&scores, samples, -1, true, true)?.1)
}

fn with_replacement(
    chances: &Tensor,
    samples: usize,
    generator: &mut Generator,
) -> Result<Vec<i64>> {
    let narrow = |number: f64| rounded(number, chances.dtype());
    let rows = chances.to_dtype(DType::Float64)?.to_vec::<f64>()?;
    let mut drawn = Vec::new();
    for row in rows.chunks_exact(chances.size(-1)? as usize) {
        let mut total = 0.0;
        let mut cumulative: Vec<f64> = row
            .iter()
            .map(|chance| {
                total = narrow(total + chance);
                total
            })
            .collect();
        cumulative.iter_mut().for_each(|sum| *sum = narrow(*sum / total));
        if let Some(last) = cumulative.last_mut() {
            *last = 1.0;
        }
        for _ in 0..samples {
            let at = generator.uniform();
            drawn.push(cumulative.partition_point(|&sum| sum < at) as i64);
        }
    }
    Ok(drawn)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_numbers_of_the_dtype() {
        for (dtype, from, to, expected) in [
            (DType::Float32, 2, Some(1 << 31), Some((2, (1 << 31) - 130))),
            (DType::Float32, (1 << 24) + 1, Some((1 << 24) + 2), Some(((1 << 24) + 1, 1))),
            (DType::Float16, 4097, Some(4098), None),
            (DType::Float16, 0, Some(70_000), None),
            (DType::Float16, 60_000, None, None),
            (DType::Float32, -1, None, Some((-1, (1 << 24) + 2))),
            (DType::UInt8, 250, None, Some((250, 6))),
            (DType::UInt8, 0, Some(257), None),
            (DType::Int64, 5, Some(5), None),
        ] {
            assert_eq!(random_range(from, to, dtype).ok(), expected, "{dtype:?} {from} {to:?}");
        }
    }

    #[test]
    fn whole_numbers_are_pytorchs() {
        let mut generator = Generator::new(0);
        let order = randperm(6, DType::Int64, &mut generator).unwrap();
        assert_eq!(order.to_vec::<i64>().unwrap(), [2, 5, 3, 0, 1, 4]);
        let chances = Tensor::from_slice(&[1f32, 2.0, 3.0, 4.0], &[4]).unwrap();
        let mut generator = Generator::new(0);
        let drawn = multinomial(&chances, 3, false, &mut generator).unwrap();
        assert_eq!(drawn.to_vec::<i64>().unwrap(), [2, 1, 3]);
        let drawn = multinomial(&chances, 6, true, &mut generator).unwrap();
        assert_eq!(drawn.to_vec::<i64>().unwrap(), [3, 3, 1, 2, 2, 1]);
        let rates = Tensor::from_slice(&[1f32, 20.0, 0.0, 3.0], &[4]).unwrap();
        let drawn = poisson(&rates, &mut Generator::new(0)).unwrap();
        assert_eq!(drawn.to_vec::<f32>().unwrap(), [2.0, 28.0, 0.0, 2.0]);
    }
}
