//! Filling tensors with random numbers, each distribution drawn as PyTorch's CPU kernels draw it.
//!
//! Elements get their numbers in the order in which memory holds them, not in the order of indices:
//! what a transposed view gets is what its base would have got.

use num_complex::Complex;

use crate::binary::{BinaryOp, binary};
use crate::{DType, Dims, Element, Error, Generator, MemoryFormat, Result, Tensor};

/// The dimensions, outermost in memory first: the order in which `TensorIterator` goes over one
/// tensor.
fn memory_order(tensor: &Tensor) -> Vec<i64> {
    let (sizes, strides) = (tensor.sizes(), tensor.strides());
    // Innermost first, as an insertion sort that takes steps of 0 for undecided.
    let mut order: Vec<usize> = (0..tensor.dim()).rev().collect();
    for end in 1..order.len() {
        let mut moving = end;
        for at in (0..end).rev() {
            let (a, b) = (order[at], order[moving]);
            let (x, y) = (strides[a], strides[b]);
            if x == 0 || y == 0 {
                continue;
            }
            if x > y || (x == y && sizes[a] > sizes[b]) {
                order.swap(at, moving);
                moving = at;
            } else if x < y {
                break;
            }
        }
    }
    order.into_iter().rev().map(|dim| dim as i64).collect()
}

/// A tensor of the sizes of another that lies in memory in the same order of dimensions,
/// `torch.empty_like`.
///
/// # Errors
/// Where memory is short.
pub fn empty_like(tensor: &Tensor, dtype: DType) -> Result<Tensor> {
    tensor.zeros_like(dtype, MemoryFormat::Preserve)
}

fn check_no_overlap(target: &Tensor) -> Result<()> {
    let repeated =
        target.sizes().iter().zip(target.strides()).any(|(&n, &step)| n > 1 && step == 0);
    if target.numel() > 0 && repeated {
        return Err(Error::runtime(
            "unsupported operation: more than one element of the written-to tensor refers to a \
             single memory location. Please clone() the tensor before performing the operation.",
        ));
    }
    Ok(())
}

/// Writes one number for each element, in the order of memory, converted to the target's dtype.
fn write_in_order<T: Element>(target: &Tensor, numbers: &[T]) -> Result<()> {
    check_no_overlap(target)?;
    let target = target.permute(&memory_order(target))?;
    target.copy_from(&Tensor::from_slice(numbers, target.sizes())?)
}

/// Writes real numbers: one for each element, two for each complex element.
fn write_reals(target: &Tensor, numbers: &[f64]) -> Result<()> {
    if !target.dtype().is_complex() {
        return write_in_order(target, numbers);
    }
    let pairs = numbers.chunks_exact(2).map(|pair| Complex::new(pair[0], pair[1]));
    write_in_order(target, &pairs.collect::<Vec<_>>())
}

/// How many real numbers a tensor holds.
fn reals(target: &Tensor) -> usize {
    target.count() * if target.dtype().is_complex() { 2 } else { 1 }
}

fn floating(target: &Tensor, kernel: &str) -> Result<()> {
    match target.dtype().is_floating_point() {
        true => Ok(()),
        false => Err(Error::no_kernel(kernel, target.dtype())),
    }
}

/// `torch.Tensor.uniform_`: numbers in [from, to).
///
/// # Errors
/// For integers, and bounds in the wrong order.
pub fn uniform_in_place(
    target: &Tensor,
    from: f64,
    to: f64,
    generator: &mut Generator,
) -> Result<()> {
    let dtype = target.dtype();
    if !dtype.is_complex() {
        floating(target, "check_uniform_bounds")?;
    }
    if from > to {
        return Err(Error::runtime(format!(
            "uniform_ expects to return a [from, to) range, but found from={from} > to={to}"
        )));
    }
    let wide = matches!(dtype, DType::Float64 | DType::Complex128);
    let numbers: Vec<f64> = (0..reals(target))
        .map(|_| match wide {
            true => generator.uniform().mul_add(to - from, from),
            false => {
                let (from, to) = (from as f32, to as f32);
                f64::from(narrowed(
                    generator.uniform_f32().mul_add(to - from, from),
                    from,
                    to,
                    dtype,
                ))
            }
        })
        .collect();
    write_reals(target, &numbers)
}

/// A number that rounds up to the open bound of the range becomes its lower bound.
fn narrowed(number: f32, from: f32, to: f32, dtype: DType) -> f32 {
    let rounded = match dtype {
        DType::Float16 => half::f16::from_f32(number).to_f32(),
        DType::BFloat16 => half::bf16::from_f32(number).to_f32(),
        _ => return number,
    };
    if rounded == to { from } else { rounded }
}

/// `torch.Tensor.normal_`.
///
/// # Errors
/// For integers and negative deviations.
pub fn normal_in_place(
    target: &Tensor,
    mean: f64,
    std: f64,
    generator: &mut Generator,
) -> Result<()> {
    if std < 0.0 {
        return Err(Error::runtime(format!("normal expects std >= 0.0, but found std {std}")));
    }
    let (count, dtype) = (reals(target), target.dtype());
    // The variance of a complex number is shared by its parts.
    let std = if dtype.is_complex() { std / std::f64::consts::SQRT_2 } else { std };
    if !dtype.is_complex() {
        floating(target, "normal_kernel_cpu")?;
    }
    let numbers = if count >= BLOCK && target.is_contiguous() {
        match dtype {
            DType::Float64 | DType::Complex128 => blocks_of_doubles(count, mean, std, generator),
            DType::Float16 | DType::BFloat16 => blocks_of_halves(count, mean, std, generator),
            _ => blocks_of_floats(count, mean, std, generator),
        }
    } else {
        (0..count).map(|_| generator.normal().mul_add(std, mean)).collect()
    };
    write_reals(target, &numbers)
}

/// How many numbers Box and Muller's method makes at once in large tensors: the first half of them
/// gives radii, the second half angles.
const BLOCK: usize = 16;

fn blocks_of_doubles(count: usize, mean: f64, std: f64, generator: &mut Generator) -> Vec<f64> {
    let mut numbers: Vec<f64> = (0..count).map(|_| generator.uniform()).collect();
    numbers.chunks_exact_mut(BLOCK).for_each(|block| box_muller(block, mean, std));
    if !count.is_multiple_of(BLOCK) {
        let last = &mut numbers[count - BLOCK..];
        last.iter_mut().for_each(|number| *number = generator.uniform());
        box_muller(last, mean, std);
    }
    numbers
}

fn box_muller(block: &mut [f64], mean: f64, std: f64) {
    let (radii, angles) = block.split_at_mut(BLOCK / 2);
    for (a, b) in radii.iter_mut().zip(angles) {
        let radius = (-2.0 * (1.0 - *a).ln()).sqrt();
        let angle = std::f64::consts::TAU * *b;
        *a = (radius * angle.cos()).mul_add(std, mean);
        *b = (radius * angle.sin()).mul_add(std, mean);
    }
}

fn blocks_of_floats(count: usize, mean: f64, std: f64, generator: &mut Generator) -> Vec<f64> {
    let mut numbers: Vec<f32> = (0..count).map(|_| generator.uniform_f32()).collect();
    numbers.chunks_exact_mut(BLOCK).for_each(|block| box_muller_f32(block, mean, std));
    if !count.is_multiple_of(BLOCK) {
        let last = &mut numbers[count - BLOCK..];
        last.iter_mut().for_each(|number| *number = generator.uniform_f32());
        box_muller_f32(last, mean, std);
    }
    numbers.into_iter().map(f64::from).collect()
}

/// Half-precision tensors draw block by block, and the last block again from its own draws.
fn blocks_of_halves(count: usize, mean: f64, std: f64, generator: &mut Generator) -> Vec<f64> {
    let mut numbers = vec![0f32; count];
    let mut draw = |block: &mut [f32]| {
        block.iter_mut().for_each(|number| *number = generator.uniform_f32());
        box_muller_f32(block, mean, std);
    };
    numbers.chunks_exact_mut(BLOCK).for_each(&mut draw);
    if !count.is_multiple_of(BLOCK) {
        draw(&mut numbers[count - BLOCK..]);
    }
    numbers.into_iter().map(f64::from).collect()
}

fn box_muller_f32(block: &mut [f32], mean: f64, std: f64) {
    let (mean, std) = (mean as f32, std as f32);
    let (radii, angles) = block.split_at_mut(BLOCK / 2);
    for (a, b) in radii.iter_mut().zip(angles) {
        let radius = (-2.0 * (1.0 - *a).ln()).sqrt();
        let angle = f64::from((std::f64::consts::TAU * f64::from(*b)) as f32);
        *a = (radius * angle.cos() as f32).mul_add(std, mean);
        *b = (radius * angle.sin() as f32).mul_add(std, mean);
    }
}

/// `torch.Tensor.log_normal_`: `exp` of normal numbers.
///
/// # Errors
/// For integers and deviations that are not positive.
pub fn log_normal_in_place(
    target: &Tensor,
    mean: f64,
    std: f64,
    generator: &mut Generator,
) -> Result<()> {
    if std <= 0.0 {
        return Err(Error::runtime(format!("log_normal_ expects std > 0.0, but found std={std}")));
    }
    floating(target, "log_normal_cpu")?;
    serial(target, || generator.normal().mul_add(std, mean).exp())
}

/// `torch.Tensor.cauchy_`.
///
/// # Errors
/// For integers and scales that are not positive.
pub fn cauchy_in_place(
    target: &Tensor,
    median: f64,
    sigma: f64,
    generator: &mut Generator,
) -> Result<()> {
    if sigma <= 0.0 {
        return Err(Error::runtime(format!(
            "cauchy_ expects sigma > 0.0, but found sigma={sigma}"
        )));
    }
    if !target.dtype().is_floating_point() {
        return Err(Error::runtime(format!(
            "Cauchy distribution is a continuous probability distribution. dtype must be a \
             floating point but you specified {}",
            crate::error::cpp_type_name(target.dtype())
        )));
    }
    serial(target, || {
        let angle = std::f64::consts::PI * (generator.uniform() - 0.5);
        sigma.mul_add(angle.tan(), median)
    })
}

/// `torch.Tensor.exponential_`.
///
/// # Errors
/// For integers and rates that are not positive.
pub fn exponential_in_place(target: &Tensor, rate: f64, generator: &mut Generator) -> Result<()> {
    if rate <= 0.0 {
        return Err(Error::runtime(format!(
            "exponential_ expects lambda > 0.0, but found lambda={rate}"
        )));
    }
    if !target.dtype().is_floating_point() {
        return Err(Error::runtime(format!(
            "Exponential distribution is a continuous probability distribution. dtype must be a \
             floating point but you specified {}",
            crate::error::cpp_type_name(target.dtype())
        )));
    }
    serial(target, || (-1.0 / rate) * (-generator.uniform()).ln_1p())
}

/// `torch.Tensor.geometric_`: trials until the first success.
///
/// # Errors
/// For chances outside (0, 1), `bool` and complex numbers.
pub fn geometric_in_place(target: &Tensor, p: f64, generator: &mut Generator) -> Result<()> {
    if !(0.0 < p && p < 1.0) {
        return Err(Error::runtime(format!("geometric_ expects p to be in (0, 1), but got p={p}")));
    }
    if target.dtype() == DType::Bool || target.dtype().is_complex() {
        return Err(Error::no_kernel("geometric_cpu", target.dtype()));
    }
    serial(target, || (generator.uniform().ln() / (-p).ln_1p()).ceil())
}

fn serial(target: &Tensor, draw: impl FnMut() -> f64) -> Result<()> {
    let numbers: Vec<f64> = std::iter::repeat_with(draw).take(target.count()).collect();
    write_in_order(target, &numbers)
}

/// `torch.Tensor.bernoulli_(p)`: 1 with the chance `p`.
///
/// # Errors
/// For chances outside [0, 1].
pub fn bernoulli_in_place(target: &Tensor, p: f64, generator: &mut Generator) -> Result<()> {
    if !(0.0..=1.0).contains(&p) {
        return Err(Error::runtime(format!("bernoulli_ expects p to be in [0, 1], but got p={p}")));
    }
    if target.dtype().is_complex() {
        return Err(Error::no_kernel("bernoulli_scalar_cpu_", target.dtype()));
    }
    serial(target, || f64::from(u8::from(generator.uniform() < p)))
}

/// `torch.Tensor.bernoulli_(p)` with a chance for each element.
///
/// # Errors
/// For chances outside [0, 1] and those that are no floating numbers.
pub fn bernoulli_from(target: &Tensor, p: &Tensor, generator: &mut Generator) -> Result<()> {
    if !p.dtype().is_floating_point() {
        return Err(Error::no_kernel("bernoulli_tensor_cpu_p_", p.dtype()));
    }
    if target.dtype().is_complex() {
        return Err(Error::no_kernel("bernoulli_tensor_cpu_self_", target.dtype()));
    }
    check_no_overlap(target)?;
    let order = memory_order(target);
    let chances = p.expand(target.sizes())?.permute(&order)?;
    let wide = p.dtype() == DType::Float64;
    let mut drawn = Vec::with_capacity(target.count());
    for chance in chances.to_dtype(DType::Float64)?.to_vec::<f64>()? {
        if !(0.0..=1.0).contains(&chance) {
            return Err(Error::runtime(
                "Expected p_in >= 0 && p_in <= 1 to be true, but got false.",
            ));
        }
        let hit = match wide {
            true => generator.uniform() < chance,
            false => f64::from(generator.uniform_f32()) < chance,
        };
        drawn.push(u8::from(hit));
    }
    write_in_order(target, &drawn)
}

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

/// The least and greatest whole number of a dtype that [`random_between`] gives.
fn whole_range(dtype: DType) -> Result<(i64, i64)> {
    Ok(match dtype {
        DType::Bool => (0, 1),
        DType::UInt8 => (0, 255),
        DType::Int8 => (-128, 127),
        DType::Int16 => (-32_768, 32_767),
        DType::Int32 => (i32::MIN.into(), i32::MAX.into()),
        DType::Int64 => (i64::MIN, i64::MAX),
        DType::Float64 => (-(1 << 53), 1 << 53),
        DType::Float32 => (-(1 << 24), 1 << 24),
        DType::Float16 => (-65_504, 65_504),
        DType::BFloat16 => (-(1 << 8), 1 << 8),
        other => return Err(Error::no_kernel("check_random_bounds", other)),
    })
}

/// `torch.Tensor.random_(from, to)`: whole numbers in [from, to); up to the greatest one of the
/// dtype without `to`.
///
/// # Errors
/// For empty ranges and bounds that the dtype cannot hold.
pub fn random_between(
    target: &Tensor,
    from: i64,
    to: Option<i64>,
    generator: &mut Generator,
) -> Result<()> {
    let dtype = target.dtype();
    let (low, high) = whole_range(dtype)?;
    let range = match to {
        Some(to) => {
            if from >= to {
                return Err(Error::runtime(format!(
                    "random_ expects 'from' to be less than 'to', but got from={from} >= to={to}"
                )));
            }
            for (name, bound) in [("from", from), ("to - 1", to - 1)] {
                if dtype.is_floating_point() && !(low..=high).contains(&bound) {
                    return Err(Error::not_implemented(format!(
                        "random_ with '{name}' beyond the whole numbers of {}",
                        dtype.scalar_type_name()
                    )));
                }
                if !(low..=high).contains(&bound) {
                    return Err(Error::runtime(format!(
                        "{name} is out of bounds for {}",
                        crate::error::cpp_type_name(dtype)
                    )));
                }
            }
            to.wrapping_sub(from) as u64
        }
        None if dtype == DType::Int64 && from == i64::MIN => {
            let numbers: Vec<i64> =
                (0..target.count()).map(|_| generator.random64() as i64).collect();
            return write_in_order(target, &numbers);
        }
        None if from < low || from > high || dtype == DType::Float16 => {
            return Err(Error::not_implemented("random_ from beyond what the dtype holds"));
        }
        None => (high.wrapping_sub(from) as u64).wrapping_add(1),
    };
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
    let exact = match dtype {
        DType::Float16 => 1 << 11,
        DType::BFloat16 => 1 << 8,
        DType::Float32 => 1 << 24,
        DType::Float64 => 1 << 53,
        other => whole_range(other)?.1,
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
    let narrow = |number: f64| match chances.dtype() {
        DType::Float64 => number,
        DType::Float16 => half::f16::from_f64(number).to_f64(),
        DType::BFloat16 => half::bf16::from_f64(number).to_f64(),
        _ => f64::from(number as f32),
    };
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
