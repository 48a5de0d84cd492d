//! Gamma, Dirichlet and binomial distributions, drawn as PyTorch's CPU kernels draw them.

use sconce_kernel_core::layout::shape;
use sconce_kernel_core::tensor::dtype_range::rounded;

use crate::{DType, Error, Generator, Result, Tensor};

/// `torch._standard_gamma`: a number of the gamma distribution of rate 1 for each concentration.
///
/// # Errors
/// For dtypes other than `float32` and `float64`, as PyTorch.
pub fn standard_gamma(concentrations: &Tensor, generator: &mut Generator) -> Result<Tensor> {
    let dtype = concentrations.dtype();
    let least = least_positive(dtype).ok_or_else(|| Error::no_kernel("gamma_cpu", dtype))?;
    let numbers: Vec<f64> = doubles(concentrations)?
        .into_iter()
        .map(|alpha| at_least(rounded(gamma_number(alpha, dtype, generator), dtype), least))
        .collect();
    Tensor::from_slice(&numbers, concentrations.sizes())?.to_dtype(dtype)
}

/// `torch._sample_dirichlet`: for each row of concentrations, shares of 1.
///
/// # Errors
/// For dtypes other than `float32` and `float64`, as PyTorch.
pub fn sample_dirichlet(concentrations: &Tensor, generator: &mut Generator) -> Result<Tensor> {
    let dtype = concentrations.dtype();
    let least = least_positive(dtype).ok_or_else(|| Error::no_kernel("dirichlet", dtype))?;
    let most = if dtype == DType::Float64 { 1f64.next_down() } else { 1f32.next_down().into() };
    let mut shares: Vec<f64> = doubles(concentrations)?
        .into_iter()
        .map(|alpha| gamma_number(alpha, DType::Float64, generator))
        .collect();
    let row = concentrations.sizes().last().map_or(1, |&n| n as usize).max(1);
    for row in shares.chunks_exact_mut(row) {
        let sum: f64 = row.iter().sum();
        for share in row {
            *share = at_least(rounded(*share / sum, dtype), least);
            // NaN passes through.
            if *share > most {
                *share = most;
            }
        }
    }
    Tensor::from_slice(&shares, concentrations.sizes())?.to_dtype(dtype)
}

/// `torch.binomial`: how many of this many trials succeed, each with its chance; both broadcast.
///
/// # Errors
/// For dtypes other than `float32` and `float64` and for two different ones, as PyTorch.
pub fn binomial(counts: &Tensor, chances: &Tensor, generator: &mut Generator) -> Result<Tensor> {
    for (tensor, name) in [(counts, "count"), (chances, "prob")] {
        if !tensor.dtype().is_floating_point() {
            return Err(Error::value(format!(
                "binomial only supports floating-point dtypes for {name}, got: {}",
                tensor.dtype().scalar_type_name()
            )));
        }
    }
    let dtype = counts.dtype();
    if chances.dtype() != dtype {
        return Err(Error::runtime(format!(
            "Found dtype {} but expected {}",
            chances.dtype().scalar_type_name(),
            dtype.scalar_type_name()
        )));
    }
    if least_positive(dtype).is_none() {
        return Err(Error::no_kernel("binomial_cpu", dtype));
    }
    let sizes = shape::broadcast(counts.sizes(), chances.sizes())?;
    let pairs =
        doubles(&counts.expand(&sizes)?)?.into_iter().zip(doubles(&chances.expand(&sizes)?)?);
    let numbers: Vec<f64> =
        pairs.map(|(count, chance)| binomial_number(count, chance, generator)).collect();
    Tensor::from_slice(&numbers, &sizes)?.to_dtype(dtype)
}

fn doubles(tensor: &Tensor) -> Result<Vec<f64>> {
    tensor.to_dtype(DType::Float64)?.to_vec()
}

/// The least positive number with all its bits, of the dtypes that have these distributions.
fn least_positive(dtype: DType) -> Option<f64> {
    match dtype {
        DType::Float32 => Some(f32::MIN_POSITIVE.into()),
        DType::Float64 => Some(f64::MIN_POSITIVE),
        _ => None,
    }
}

/// The number, or the least one that is allowed. NaN passes through.
fn at_least(number: f64, least: f64) -> f64 {
    if number < least { least } else { number }
}

/// Marsaglia and Tsang, "A simple method for generating gamma variables" (2000), with PyTorch's constants
/// of single precision, and what is made of the concentration alone in its dtype.
fn gamma_number(alpha: f64, dtype: DType, generator: &mut Generator) -> f64 {
    if alpha == 0.0 {
        return 0.0;
    }
    let (scale, alpha) = match alpha < 1.0 {
        // A greater concentration has numbers that are refused less often.
        true => {
            let scale = (1.0 - generator.uniform()).powf(rounded(1.0 / alpha, dtype));
            (scale, rounded(alpha + 1.0, dtype))
        }
        false => (1.0, alpha),
    };
    let d = rounded(alpha - f64::from(1f32 / 3.0), dtype);
    if d.is_nan() || d <= 0.0 {
        // PyTorch goes on for ever.
        return f64::NAN;
    }
    let c = 1.0 / (9.0 * d).sqrt();
    loop {
        let (x, y) = loop {
            let x = generator.normal();
            let y = 1.0 + c * x;
            if y > 0.0 {
                break (x, y);
            }
        };
        let v = y * y * y;
        let u = 1.0 - generator.uniform();
        let square = x * x;
        if u < 1.0 - f64::from(0.0331f32) * square * square
            || u.ln() < 0.5 * square + d * (1.0 - v + v.ln())
        {
            return scale * d * v;
        }
    }
}

fn binomial_number(count: f64, chance: f64, generator: &mut Generator) -> f64 {
    if count.is_nan() {
        // PyTorch goes on for ever.
        return f64::NAN;
    }
    let mut number = |chance: f64| match count * chance >= 10.0 {
        true => by_rejection(count, chance, generator),
        false => by_waiting(count, chance, generator),
    };
    if count <= 0.0 || chance <= 0.0 {
        0.0
    } else if chance >= 1.0 {
        count
    } else if chance <= 0.5 {
        number(chance)
    } else if chance > 0.5 {
        count - number(1.0 - chance)
    } else {
        f64::NAN
    }
}

/// Successes, by how many trials each of them takes.
fn by_waiting(count: f64, chance: f64, generator: &mut Generator) -> f64 {
    let log = (-chance).ln_1p();
    let (mut trials, mut successes) = (0.0, 0.0);
    loop {
        trials += (generator.uniform().ln() / log).ceil();
        if trials > count {
            return successes;
        }
        successes += 1.0;
    }
}

/// Hörmann, "The generation of binomial random variates" (1993), algorithm BTRS.
fn by_rejection(count: f64, chance: f64, generator: &mut Generator) -> f64 {
    let deviation = (count * chance * (1.0 - chance)).sqrt();
    let b = 1.15 + 2.53 * deviation;
    let a = -0.0873 + 0.0248 * b + 0.01 * chance;
    let c = count * chance + 0.5;
    let accept = 0.92 - 4.2 / b;
    let odds = chance / (1.0 - chance);
    let alpha = (2.83 + 5.1 / b) * deviation;
    let mode = ((count + 1.0) * chance).floor();
    loop {
        let u = generator.uniform() - 0.5;
        let v = generator.uniform();
        let edge = 0.5 - u.abs();
        let k = ((2.0 * a / edge + b) * u + c).floor();
        if edge >= 0.07 && v <= accept {
            return k;
        }
        if k < 0.0 || k > count {
            continue;
        }
        let v = (v * alpha / (a / (edge * edge) + b)).ln();
        let bound = (mode + 0.5) * ((mode + 1.0) / (odds * (count - mode + 1.0))).ln()
            + (count + 1.0) * ((count - mode + 1.0) / (count - k + 1.0)).ln()
            + (k + 0.5) * (odds * (count - k + 1.0) / (k + 1.0)).ln()
            + stirling_rest(mode)
            + stirling_rest(count - mode)
            - stirling_rest(k)
            - stirling_rest(count - k);
        if v <= bound {
            return k;
        }
    }
}

/// What Stirling's formula leaves of the logarithm of k!.
fn stirling_rest(k: f64) -> f64 {
    const FIRST: [f64; 10] = [
        0.081_061_466_795_327_2,
        0.041_340_695_955_409_2,
        0.027_677_925_684_998_3,
        0.020_790_672_103_765_09,
        0.016_644_691_189_821_1,
        0.013_876_128_823_070_7,
        0.011_896_709_945_891_7,
        0.010_411_265_261_972_0,
        0.009_255_462_182_712_73,
        0.008_330_563_433_362_87,
    ];
    if k <= 9.0 {
        return FIRST[(k.max(0.0)) as usize];
    }
    let square = (k + 1.0) * (k + 1.0);
    (1.0 / 12.0 - (1.0 / 360.0 - 1.0 / 1260.0 / square) / square) / (k + 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn floats(tensor: &Tensor) -> Vec<f32> {
        tensor.to_vec().unwrap()
    }

    /// The tensors are those of PyTorch after `torch.manual_seed(0)`.
    #[test]
    fn numbers_are_pytorchs() {
        let alphas = Tensor::from_slice(&[0.5f32, 1.0, 2.0, 10.0, 0.0, 1e-3], &[6]).unwrap();
        let drawn = standard_gamma(&alphas, &mut Generator::new(0)).unwrap();
        let least = f32::MIN_POSITIVE;
        let expected = [7.893_581_6e-4, 0.118_983_7, 1.882_410_3, 7.901_071, least, least];
        assert_eq!(floats(&drawn), expected);
        let alphas = [0.5f32, 1.0, 2.0, 10.0, 1e-3, 1e-3];
        let alphas = Tensor::from_slice(&alphas, &[2, 3]).unwrap();
        let drawn = sample_dirichlet(&alphas, &mut Generator::new(0)).unwrap();
        let first = [3.942_487e-4, 0.059_426_98, 0.940_178_75];
        assert_eq!(floats(&drawn), [&first[..], &[1f32.next_down(), least, least]].concat());
        let counts = [10f32, 100.0, 5.0, 0.0, 7.0, 1000.0, 50.0];
        let chances = [0.5f32, 0.3, 0.9, 0.5, 1.0, 0.99, 0.0];
        let [counts, chances] =
            [counts, chances].map(|all| Tensor::from_slice(&all, &[7]).unwrap());
        let drawn = binomial(&counts, &chances, &mut Generator::new(0)).unwrap();
        assert_eq!(floats(&drawn), [7.0, 31.0, 5.0, 0.0, 7.0, 989.0, 0.0]);
    }

    #[test]
    fn numbers_that_are_none_end() {
        let odd = [f32::NAN, f32::INFINITY, -1.0, -3.0, f32::NEG_INFINITY, 1e30];
        let odd = Tensor::from_slice(&odd, &[6]).unwrap();
        let mut generator = Generator::new(0);
        for chance in [0.3f32, 0.7, f32::NAN] {
            let chance = Tensor::from_slice(&[chance], &[1]).unwrap();
            binomial(&odd, &chance, &mut generator).unwrap();
        }
        standard_gamma(&odd, &mut generator).unwrap();
        sample_dirichlet(&odd, &mut generator).unwrap();
    }
}
