//! Filling tensors with random numbers of continuous distributions, each drawn as PyTorch's CPU kernels
//! draw it.
//!
//! Elements receive their numbers in the order of memory, not in the order of indices: a transposed
//! view receives what its base would have received.

use num_complex::Complex;
use sconce_kernel_core::c_format::general;
use sconce_kernel_core::simd::dispatch::dispatch;
use sconce_kernel_core::vecmath::{double, single};

use crate::{DType, Error, Generator, MemoryFormat, PodElement, Result, Tensor};

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

/// Writes one number for each element, in the order of memory, converted to the target's dtype.
pub(crate) fn write_in_order<T: PodElement>(target: &Tensor, numbers: &[T]) -> Result<()> {
    target.expect_elements_once()?;
    if target.dtype() == T::DTYPE && target.is_contiguous() {
        target.write::<T>()?.copy_from_slice(numbers);
        return Ok(());
    }
    let target = target.permute(&memory_order(target))?;
    target.copy_from(&Tensor::from_slice(numbers, target.sizes())?)
}

/// Writes real numbers: one for each element, two for each complex element.
fn write_reals<T: PodElement>(target: &Tensor, numbers: &[T]) -> Result<()>
where
    Complex<T>: PodElement,
{
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
    check_range(dtype.to_real(), from, to)?;
    if matches!(dtype, DType::Float64 | DType::Complex128) {
        let draw = || generator.uniform().mul_add(to - from, from);
        let numbers: Vec<f64> = std::iter::repeat_with(draw).take(reals(target)).collect();
        return write_reals(target, &numbers);
    }
    let (from, to) = (from as f32, to as f32);
    let mut numbers = vec![0f32; reals(target)];
    generator.fill_uniform_f32(&mut numbers);
    dispatch(
        #[inline(always)]
        || numbers.iter_mut().for_each(|x| *x = x.mul_add(to - from, from)),
    );
    if dtype != DType::Float32 {
        numbers.iter_mut().for_each(|x| *x = narrowed(*x, from, to, dtype));
    }
    write_reals(target, &numbers)
}

/// Refuses bounds that are no range of what the dtype holds.
fn check_range(dtype: DType, from: f64, to: f64) -> Result<()> {
    let greatest = sconce_kernel_core::tensor::dtype_range::greatest(dtype).unwrap_or(f64::MAX);
    for (name, bound) in [("from", from), ("to", to)] {
        if bound.is_nan() || bound.abs() > greatest {
            let held = sconce_kernel_core::error::cpp_type_name(dtype);
            return Err(Error::runtime(format!("{name} is out of bounds for {held}")));
        }
    }
    let (from_text, to_text) = (general(from), general(to));
    if from > to {
        return Err(Error::runtime(format!(
            "uniform_ expects to return a [from, to) range, but found from={from_text} > to={to_text}"
        )));
    }
    if to - from > greatest {
        return Err(Error::runtime(format!(
            "uniform_ expects to-from <= std::numeric_limits<{}>::max(), but found to={to_text} and \
             from={from_text} which result in to-from to exceed the limit",
            dtype.scalar_type_name()
        )));
    }
    Ok(())
}

/// A number that rounds up to the open bound of the range becomes its lower bound.
fn narrowed(number: f32, from: f32, to: f32, dtype: DType) -> f32 {
    let rounded = sconce_kernel_core::tensor::dtype_range::rounded(number.into(), dtype) as f32;
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
    check_deviation(std)?;
    let (count, dtype) = (reals(target), target.dtype());
    // The variance of a complex number is shared by its parts.
    let std = if dtype.is_complex() { std / std::f64::consts::SQRT_2 } else { std };
    if count == 0 {
        return Ok(());
    }
    if !dtype.is_complex() {
        floating(target, "normal_kernel_cpu")?;
    }
    if count < BLOCK || !target.is_contiguous() {
        let draw = || generator.normal().mul_add(std, mean);
        let numbers: Vec<f64> = std::iter::repeat_with(draw).take(count).collect();
        return write_reals(target, &numbers);
    }
    match dtype {
        DType::Float64 | DType::Complex128 => {
            write_reals(target, &blocks_of_doubles(count, mean, std, generator))
        }
        DType::Float16 | DType::BFloat16 => {
            write_reals(target, &blocks_of_halves(count, mean, std, generator))
        }
        _ => write_reals(target, &blocks_of_floats(count, mean, std, generator)),
    }
}

/// Refuses what is no standard deviation.
///
/// # Errors
/// For negative numbers and NaN.
pub fn check_deviation(std: f64) -> Result<()> {
    if std >= 0.0 {
        return Ok(());
    }
    Err(Error::runtime(format!("normal expects std >= 0.0, but found std {}", general(std))))
}

/// Refuses a parameter that has to be positive.
fn check_positive(name: &str, parameter: &str, number: f64) -> Result<()> {
    if number > 0.0 {
        return Ok(());
    }
    let (symbol, found) = (parameter, general(number));
    Err(Error::runtime(format!("{name} expects {symbol} > 0.0, but found {symbol}={found}")))
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

fn blocks_of_floats(count: usize, mean: f64, std: f64, generator: &mut Generator) -> Vec<f32> {
    let mut numbers = vec![0f32; count];
    generator.fill_uniform_f32(&mut numbers);
    box_muller_f32(&mut numbers, mean, std);
    redraw_last(&mut numbers, mean, std, generator);
    numbers
}

/// Half-precision tensors draw block by block, and the last block again from its own draws.
fn blocks_of_halves(count: usize, mean: f64, std: f64, generator: &mut Generator) -> Vec<f32> {
    let mut numbers = vec![0f32; count];
    let whole = count / BLOCK * BLOCK;
    generator.fill_uniform_f32(&mut numbers[..whole]);
    box_muller_f32(&mut numbers[..whole], mean, std);
    redraw_last(&mut numbers, mean, std, generator);
    numbers
}

/// Draws the last block again where it is not a whole one.
fn redraw_last(numbers: &mut [f32], mean: f64, std: f64, generator: &mut Generator) {
    let count = numbers.len();
    if !count.is_multiple_of(BLOCK) {
        let last = &mut numbers[count - BLOCK..];
        generator.fill_uniform_f32(last);
        box_muller_f32(last, mean, std);
    }
}

/// Box and Muller's method over whole blocks; what is left over stays.
fn box_muller_f32(numbers: &mut [f32], mean: f64, std: f64) {
    let (mean, std) = (mean as f32, std as f32);
    /// Blocks that are computed together, each step for all of them.
    const TOGETHER: usize = 32;
    const HALF: usize = BLOCK / 2;
    let [mut radii, mut turns, mut sins] = [[0f32; TOGETHER * HALF]; 3];
    dispatch(
        #[inline(always)]
        || {
            for blocks in numbers.as_chunks_mut::<BLOCK>().0.chunks_mut(TOGETHER) {
                let halves = radii.as_chunks_mut::<HALF>().0.iter_mut();
                let halves = halves.zip(turns.as_chunks_mut::<HALF>().0);
                for (block, (radii, turns)) in blocks.iter().zip(halves) {
                    radii.copy_from_slice(&block[..HALF]);
                    turns.copy_from_slice(&block[HALF..]);
                }
                for radius in &mut radii {
                    *radius = (-2.0 * single::log(1.0 - *radius)).sqrt();
                }
                for (turn, sin) in turns.iter_mut().zip(&mut sins) {
                    (*sin, *turn) = sin_cos_of_turn(*turn);
                }
                let halves = turns.as_chunks::<HALF>().0.iter().zip(sins.as_chunks::<HALF>().0);
                let halves = radii.as_chunks::<HALF>().0.iter().zip(halves);
                for (block, (radii, (cosines, sines))) in blocks.iter_mut().zip(halves) {
                    for i in 0..HALF {
                        block[i] = (radii[i] * cosines[i]).mul_add(std, mean);
                        block[i + HALF] = (radii[i] * sines[i]).mul_add(std, mean);
                    }
                }
            }
        },
    );
}

/// Sine and cosine of 2π times a number in [0, 1): of the product as `float32` holds it.
#[inline(always)]
fn sin_cos_of_turn(turn: f32) -> (f32, f32) {
    let angle = f64::from((std::f64::consts::TAU * f64::from(turn)) as f32);
    (double::sin(angle) as f32, double::cos(angle) as f32)
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
    check_positive("log_normal_", "std", std)?;
    if target.numel() > 0 {
        floating(target, "log_normal_cpu")?;
    }
    serial(target, || generator.normal().mul_add(std, mean).exp())
}

/// Refuses to fill integers with the numbers of a distribution that has others.
fn check_continuous(distribution: &str, target: &Tensor) -> Result<()> {
    if target.dtype().is_floating_point() {
        return Ok(());
    }
    Err(Error::runtime(format!(
        "{distribution} distribution is a continuous probability distribution. dtype must be a \
         floating point but you specified {}",
        sconce_kernel_core::error::cpp_type_name(target.dtype())
    )))
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
    check_positive("cauchy_", "sigma", sigma)?;
    check_continuous("Cauchy", target)?;
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
    check_positive("exponential_", "lambda", rate)?;
    if target.numel() > 0 {
        check_continuous("Exponential", target)?;
    }
    serial(target, || (-1.0 / rate) * (-generator.uniform()).ln_1p())
}

/// `torch.Tensor.geometric_`: trials until the first success.
///
/// # Errors
/// For chances outside (0, 1), `bool` and complex numbers.
pub fn geometric_in_place(target: &Tensor, p: f64, generator: &mut Generator) -> Result<()> {
    if !(0.0 < p && p < 1.0) {
        let p = general(p);
        return Err(Error::runtime(format!("geometric_ expects p to be in (0, 1), but got p={p}")));
    }
    if (target.dtype() == DType::Bool || target.dtype().is_complex()) && target.numel() > 0 {
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
        let p = general(p);
        return Err(Error::runtime(format!("bernoulli_ expects p to be in [0, 1], but got p={p}")));
    }
    if target.dtype().is_complex() && target.numel() > 0 {
        return Err(Error::no_kernel("bernoulli_scalar_cpu_", target.dtype()));
    }
    serial(target, || f64::from(u8::from(generator.uniform() < p)))
}

/// `torch.Tensor.bernoulli_(p)` with a chance for each element.
///
/// # Errors
/// For chances outside [0, 1] and those that are no floating numbers.
pub fn bernoulli_from(target: &Tensor, p: &Tensor, generator: &mut Generator) -> Result<()> {
    if target.numel() == 0 {
        return Ok(());
    }
    if !p.dtype().is_floating_point() {
        return Err(Error::no_kernel("bernoulli_tensor_cpu_p_", p.dtype()));
    }
    if target.dtype().is_complex() {
        return Err(Error::no_kernel("bernoulli_tensor_cpu_self_", target.dtype()));
    }
    target.expect_elements_once()?;
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

#[cfg(test)]
mod tests {
    use super::*;

    /// What `fill` makes of zeros after `torch.manual_seed(0)`.
    fn filled(
        count: i64,
        dtype: DType,
        fill: impl FnOnce(&Tensor, &mut Generator) -> Result<()>,
    ) -> Vec<f64> {
        let tensor = Tensor::zeros(&[count], dtype).unwrap();
        fill(&tensor, &mut Generator::new(0)).unwrap();
        tensor.to_dtype(DType::Float64).unwrap().to_vec::<f64>().unwrap()
    }

    fn close(found: &[f64], expected: &[f64]) {
        assert_eq!(found.len(), expected.len());
        for (a, b) in found.iter().zip(expected) {
            assert!((a - b).abs() < 1e-6, "{found:?} is not {expected:?}");
        }
    }

    #[test]
    fn small_tensors_draw_normal_numbers_in_pairs_and_keep_the_spare_one() {
        let mut generator = Generator::new(0);
        let mut draw = |count: i64| {
            let tensor = Tensor::zeros(&[count], DType::Float32).unwrap();
            normal_in_place(&tensor, 0.0, 1.0, &mut generator).unwrap();
            tensor.to_dtype(DType::Float64).unwrap().to_vec::<f64>().unwrap()
        };
        close(&draw(3), &[1.540_996_07, -0.293_428_9, -2.178_789_38]);
        close(&draw(2), &[0.568_431_26, -1.084_522_37]);
    }

    #[test]
    fn large_tensors_draw_blocks_and_the_last_one_again() {
        let normal = |tensor: &Tensor, generator: &mut Generator| {
            normal_in_place(tensor, 0.0, 1.0, generator)
        };
        let pick = |all: &[f64], at: &[usize]| at.iter().map(|&i| all[i]).collect::<Vec<_>>();
        let floats = filled(17, DType::Float32, normal);
        close(
            &pick(&floats, &[0, 1, 15, 16]),
            &[-1.125_839_83, -1.695_931_2, -0.843_676_75, 0.931_826_59],
        );
        let doubles = filled(17, DType::Float64, normal);
        let expected = [-2.310_411_800_234_176, -0.633_274_608_867_509_6, 0.674_857_543_594_003_9];
        assert_eq!(pick(&doubles, &[0, 1, 16]), expected);
        let halves = filled(17, DType::Float16, normal);
        close(&pick(&halves, &[0, 1, 16]), &[-1.125_976_562_5, -1.352_539_062_5, -0.843_75]);
    }

    #[test]
    fn elements_get_their_numbers_in_the_order_of_memory() {
        let base = Tensor::zeros(&[2, 3], DType::Float32).unwrap();
        uniform_in_place(&base.t().unwrap(), 0.0, 1.0, &mut Generator::new(0)).unwrap();
        let plain = Tensor::zeros(&[2, 3], DType::Float32).unwrap();
        uniform_in_place(&plain, 0.0, 1.0, &mut Generator::new(0)).unwrap();
        assert_eq!(base.to_vec::<f32>().unwrap(), plain.to_vec::<f32>().unwrap());
        let like = empty_like(&base.t().unwrap(), DType::Float32).unwrap();
        assert_eq!((like.sizes(), like.strides()), (&[3i64, 2][..], &[1i64, 3][..]));
    }

    #[test]
    fn sine_and_cosine_are_those_of_the_rounded_angle() {
        for i in 0..1 << 14 {
            let turn = i as f32 / (1 << 14) as f32;
            let angle = f64::from((std::f64::consts::TAU * f64::from(turn)) as f32);
            let (sin, cos) = sin_cos_of_turn(turn);
            let near = |found: f32, exact: f64| (f64::from(found) - exact).abs() < 6e-8;
            assert!(near(sin, angle.sin()) && near(cos, angle.cos()), "{turn} {sin} {cos}");
        }
    }

    #[test]
    fn hits_are_pytorchs() {
        let hits = filled(8, DType::Float32, |tensor, generator| {
            bernoulli_in_place(tensor, 0.3, generator)
        });
        assert_eq!(hits, [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0]);
    }

    #[test]
    fn parameters_that_are_no_numbers_are_refused() {
        type Fill = fn(&Tensor, f64, &mut Generator) -> Result<()>;
        let fills: [Fill; 6] = [
            |x, p, generator| normal_in_place(x, 0.0, p, generator),
            |x, p, generator| log_normal_in_place(x, 0.0, p, generator),
            |x, p, generator| cauchy_in_place(x, 0.0, p, generator),
            |x, p, generator| uniform_in_place(x, 0.0, p, generator),
            |x, p, generator| uniform_in_place(x, p, f64::INFINITY, generator),
            exponential_in_place,
        ];
        let x = Tensor::zeros(&[3], DType::Float32).unwrap();
        for (at, fill) in fills.iter().enumerate() {
            for p in [f64::NAN, -1.0] {
                assert!(fill(&x, p, &mut Generator::new(0)).is_err(), "{at} {p}");
            }
        }
    }

    #[test]
    fn a_repeated_element_cannot_be_filled() {
        let tensor = Tensor::zeros(&[1], DType::Float32).unwrap().expand(&[3]).unwrap();
        assert!(uniform_in_place(&tensor, 0.0, 1.0, &mut Generator::new(0)).is_err());
    }
}
