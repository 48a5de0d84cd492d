//! What the numbers of a tensor look like as a whole.

use half::{bf16, f16};

use crate::geometry::Positions;
use crate::scalar::decode;
use crate::small_float;
use crate::{DType, Error, Scalar, Tensor};

/// Elements that are looked at as one block: small enough that a second look comes from the cache.
const BLOCK: usize = 4096;

/// Running sums of a block; independent lanes let the compiler use vector registers.
const LANES: usize = 8;

/// Counts and moments of a tensor's elements. Everything but the counts is of the finite elements
/// only, computed in `f64`.
///
/// ```
/// use sconce_tensor::Tensor;
/// let t = Tensor::from_vec(vec![1f32, 3.0, f32::NAN, 0.0, f32::INFINITY, 4.0], &[6]).unwrap();
/// let stats = t.stats().unwrap();
/// assert_eq!((stats.count, stats.nan, stats.pos_inf, stats.zeros), (6, 1, 1, 1));
/// assert_eq!((stats.min, stats.max, stats.mean), (Some(0.0), Some(4.0), Some(2.0)));
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Stats {
    /// All elements.
    pub count: u64,
    /// NaN.
    pub nan: u64,
    /// Positive infinity.
    pub pos_inf: u64,
    /// Negative infinity.
    pub neg_inf: u64,
    /// Zero, of either sign.
    pub zeros: u64,
    /// Neither zero nor large enough for the dtype's normal numbers; none in integers.
    pub subnormal: u64,
    /// The smallest finite element; `None` without finite elements.
    pub min: Option<f64>,
    /// The largest finite element.
    pub max: Option<f64>,
    /// The mean of the finite elements.
    pub mean: Option<f64>,
    /// The unbiased standard deviation (`torch.std`, divisor n - 1) of the finite elements; `None`
    /// for fewer than two.
    pub std: Option<f64>,
    /// The Euclidean norm of the finite elements; infinite where their squares add up to more than
    /// an `f64` holds, as in `torch.linalg.vector_norm`.
    pub l2: f64,
    /// Whether all elements are equal: every one finite and of one value, or every one NaN, or every
    /// one the same infinity. True for a tensor without elements.
    pub constant: bool,
}

impl Stats {
    /// The finite elements.
    pub fn finite(&self) -> u64 {
        self.count - self.nan - self.pos_inf - self.neg_inf
    }
}

/// Counts of elements between the smallest and the largest finite one, in bins of equal width.
#[derive(Debug, Clone, PartialEq)]
pub struct Histogram {
    /// The lower edge of the first bin.
    pub min: f64,
    /// The upper edge of the last bin, which the bin includes.
    pub max: f64,
    /// Elements in each bin.
    pub bins: Vec<u64>,
}

/// What is known after some blocks.
struct Running {
    count: u64,
    nan: u64,
    pos_inf: u64,
    neg_inf: u64,
    zeros: u64,
    subnormal: u64,
    finite: u64,
    min: f64,
    max: f64,
    mean: f64,
    /// Sum of squared distances from the mean.
    spread: f64,
    squares: f64,
    smallest_normal: f64,
}

impl Running {
    fn new(dtype: DType) -> Running {
        Running {
            count: 0,
            nan: 0,
            pos_inf: 0,
            neg_inf: 0,
            zeros: 0,
            subnormal: 0,
            finite: 0,
            min: f64::INFINITY,
            max: f64::NEG_INFINITY,
            mean: 0.0,
            spread: 0.0,
            squares: 0.0,
            smallest_normal: smallest_normal(dtype),
        }
    }

    /// Takes in up to [`BLOCK`] elements.
    fn add(&mut self, block: &[f64]) {
        self.count += block.len() as u64;
        let first = Sums::of(block, self.smallest_normal);
        self.zeros += first.zeros;
        self.subnormal += first.subnormal;
        if first.finite == block.len() as u64 {
            return self.add_finite(block, &first);
        }
        let mut finite = [0.0; BLOCK];
        let mut n = 0;
        for &value in block {
            if value.is_finite() {
                finite[n] = value;
                n += 1;
            } else if value.is_nan() {
                self.nan += 1;
            } else if value > 0.0 {
                self.pos_inf += 1;
            } else {
                self.neg_inf += 1;
            }
        }
        let finite = &finite[..n];
        self.add_finite(finite, &Sums::of(finite, self.smallest_normal));
    }

    /// Joins the moments of a block of finite numbers to those before it, after Chan, Golub and
    /// LeVeque: the means are weighted, and their distance adds to the spread.
    fn add_finite(&mut self, block: &[f64], sums: &Sums) {
        if block.is_empty() {
            return;
        }
        let (before, new) = (self.finite as f64, block.len() as f64);
        // Near the end of the range a sum can overflow where the mean does not.
        let mean =
            if sums.sum.is_finite() { sums.sum / new } else { lanes(block, |value| value / new) };
        let spread = lanes(block, |value| (value - mean) * (value - mean));
        let distance = mean - self.mean;
        let all = before + new;
        self.spread += spread + distance * distance * (before * (new / all));
        self.mean += distance * (new / all);
        self.squares += sums.squares;
        self.finite += block.len() as u64;
        self.min = self.min.min(sums.min);
        self.max = self.max.max(sums.max);
    }

    fn finish(self) -> Stats {
        let any = self.finite > 0;
        let alone = |n: u64| n == self.count;
        Stats {
            count: self.count,
            nan: self.nan,
            pos_inf: self.pos_inf,
            neg_inf: self.neg_inf,
            zeros: self.zeros,
            subnormal: self.subnormal,
            min: any.then_some(self.min),
            max: any.then_some(self.max),
            // Rounding may not carry the mean out of the range.
            mean: any.then(|| self.mean.clamp(self.min, self.max)),
            std: (self.finite > 1).then(|| {
                let variance = self.spread / (self.finite - 1) as f64;
                // Only a spread beyond the range can have become NaN.
                if variance.is_nan() { f64::INFINITY } else { variance.sqrt() }
            }),
            l2: self.squares.sqrt(),
            constant: alone(self.nan)
                || alone(self.pos_inf)
                || alone(self.neg_inf)
                || alone(self.finite) && self.min == self.max,
        }
    }
}

/// Sum over a block in independent lanes.
fn lanes(block: &[f64], of: impl Fn(f64) -> f64) -> f64 {
    let mut sums = [0.0; LANES];
    let (chunks, rest) = block.as_chunks::<LANES>();
    for chunk in chunks {
        for (sum, &value) in sums.iter_mut().zip(chunk) {
            *sum += of(value);
        }
    }
    sums.iter().sum::<f64>() + rest.iter().map(|&value| of(value)).sum::<f64>()
}

/// Counts (finite, zero, below the normal numbers) and extremes in independent lanes.
struct Lanes {
    counts: [[u64; LANES]; 3],
    low: [f64; LANES],
    high: [f64; LANES],
}

impl Lanes {
    fn new() -> Lanes {
        Lanes {
            counts: [[0; LANES]; 3],
            low: [f64::INFINITY; LANES],
            high: [f64::NEG_INFINITY; LANES],
        }
    }

    fn add(&mut self, chunk: &[f64; LANES], smallest_normal: f64) {
        for (lane, &value) in chunk.iter().enumerate() {
            let magnitude = value.abs();
            self.counts[0][lane] += u64::from(magnitude < f64::INFINITY);
            self.counts[1][lane] += u64::from(value == 0.0);
            self.counts[2][lane] += u64::from(magnitude < smallest_normal);
            self.low[lane] = if value < self.low[lane] { value } else { self.low[lane] };
            self.high[lane] = if value > self.high[lane] { value } else { self.high[lane] };
        }
    }
}

struct Sums {
    finite: u64,
    zeros: u64,
    subnormal: u64,
    min: f64,
    max: f64,
    sum: f64,
    squares: f64,
}

impl Sums {
    /// Sums and counts without branches. Where an element is not finite, only the counts hold.
    fn of(block: &[f64], smallest_normal: f64) -> Sums {
        let mut lanes_of = Lanes::new();
        let (chunks, rest) = block.as_chunks::<LANES>();
        for chunk in chunks {
            lanes_of.add(chunk, smallest_normal);
        }
        // NaN is counted nowhere and is neither low nor high.
        let mut last = [f64::NAN; LANES];
        last[..rest.len()].copy_from_slice(rest);
        lanes_of.add(&last, smallest_normal);
        let Lanes { counts, low, high } = lanes_of;
        let [finite, zeros, small] = counts.map(|lane| lane.iter().sum::<u64>());
        Sums {
            finite,
            zeros,
            subnormal: small.saturating_sub(zeros),
            min: low.into_iter().fold(f64::INFINITY, f64::min),
            max: high.into_iter().fold(f64::NEG_INFINITY, f64::max),
            sum: lanes(block, |value| value),
            squares: lanes(block, |value| value * value),
        }
    }
}

/// The smallest positive normal number, or 0 for types without subnormal numbers.
fn smallest_normal(dtype: DType) -> f64 {
    match dtype {
        DType::Float16 | DType::Float8E5M2 => 2f64.powi(-14),
        DType::BFloat16 | DType::Float32 => f64::from(f32::MIN_POSITIVE),
        DType::Float64 => f64::MIN_POSITIVE,
        DType::Float8E4M3FN => 2f64.powi(-6),
        DType::Float8E5M2FNUZ => 2f64.powi(-15),
        DType::Float8E4M3FNUZ => 2f64.powi(-7),
        DType::Float4E2M1FNx2 => 1.0,
        _ => 0.0,
    }
}

impl Tensor {
    /// Counts and moments of the elements, in one pass over them. A `bool` counts as 0 or 1, both
    /// halves of a `float4_e2m1fn_x2` count, and a quantized tensor's stored integers are taken as
    /// they are; [`Tensor::dequantize`] it first for the numbers they stand for.
    ///
    /// Expanded views are walked element by element, however many they have: check
    /// [`Tensor::numel`] where the file is not trusted.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for complex dtypes (take them apart first), and for sparse and nested
    /// tensors (take their values); the errors of [`Storage::data`](crate::Storage::data).
    pub fn stats(&self) -> Result<Stats, Error> {
        let mut running = Running::new(self.dtype);
        self.for_each_block(|block| running.add(block))?;
        Ok(running.finish())
    }

    /// Counts of the finite elements in `bins` bins of equal width between `stats.min` and
    /// `stats.max`. Without finite elements the range is 0 to 0 and all bins are empty; where all
    /// are equal they count in the first.
    ///
    /// # Errors
    /// [`Error::BadIndex`] for 0 bins or more than a million, and those of [`Tensor::stats`].
    ///
    /// ```
    /// use sconce_tensor::Tensor;
    /// let t = Tensor::from_vec(vec![0f32, 1.0, 2.0, 3.0, 4.0], &[5]).unwrap();
    /// let histogram = t.histogram(&t.stats().unwrap(), 2).unwrap();
    /// assert_eq!(histogram.bins, [2, 3]);
    /// ```
    pub fn histogram(&self, stats: &Stats, bins: usize) -> Result<Histogram, Error> {
        if !(1..=1_000_000).contains(&bins) {
            return Err(Error::BadIndex(format!("a histogram of {bins} bins")));
        }
        let (min, max) = (stats.min.unwrap_or(0.0), stats.max.unwrap_or(0.0));
        let mut counts = vec![0u64; bins];
        // Halves, so that the width of the range itself cannot overflow.
        let half_width = max / 2.0 - min / 2.0;
        let scale = bins as f64 / 2.0;
        self.for_each_block(|block| {
            for &value in block.iter().filter(|value| (min..=max).contains(*value)) {
                let bin = if half_width > 0.0 {
                    ((value / 2.0 - min / 2.0) / half_width * scale * 2.0) as usize
                } else {
                    0
                };
                counts[bin.min(bins - 1)] += 1;
            }
        })?;
        Ok(Histogram { min, max, bins: counts })
    }

    /// Where the first element is of which `wanted` holds, counted in row-major order from 0.
    ///
    /// # Errors
    /// Those of [`Tensor::stats`].
    ///
    /// ```
    /// use sconce_tensor::Tensor;
    /// let t = Tensor::from_vec(vec![0f32, 1.0, f32::NAN, 3.0], &[2, 2]).unwrap();
    /// assert_eq!(t.position(f64::is_nan).unwrap(), Some(2));
    /// assert_eq!(t.position(f64::is_infinite).unwrap(), None);
    /// ```
    pub fn position(&self, wanted: impl Fn(f64) -> bool) -> Result<Option<u64>, Error> {
        let (mut passed, mut found) = (0, None);
        self.for_each_block(|block| {
            if found.is_none() {
                let here = block.iter().position(|&value| wanted(value));
                found = here.map(|at| passed + at as u64);
                passed += block.len() as u64;
            }
        })?;
        Ok(found)
    }

    /// Hands all elements to `visit` as `f64`, up to [`BLOCK`] at a time.
    fn for_each_block(&self, mut visit: impl FnMut(&[f64])) -> Result<(), Error> {
        if self.dtype.is_complex() {
            return Err(Error::Unsupported(format!("statistics of {}", self.dtype)));
        }
        let data = self.strided_data()?;
        let lent = self.is_contiguous() && !self.neg && self.dtype.elements_per_byte() == 1;
        if lent {
            let item = self.dtype.item_size();
            let start = if self.numel == 0 { 0 } else { self.offset as usize * item };
            return dense(self.dtype, &data[start..start + self.numel as usize * item], visit);
        }
        let mut block = Vec::with_capacity(BLOCK);
        let positions: Positions = self.positions();
        for position in positions {
            if self.dtype == DType::Float4E2M1FNx2 {
                let (low, high) = small_float::decode_float4_pair(data[position]);
                let sign = if self.neg { -1.0 } else { 1.0 };
                block.extend([f64::from(low) * sign, f64::from(high) * sign]);
            } else {
                let scalar: Scalar = self.finish().apply(decode(self.dtype, data, position));
                block.extend(scalar.to_f64());
            }
            if block.len() >= BLOCK {
                visit(&block);
                block.clear();
            }
        }
        if !block.is_empty() {
            visit(&block);
        }
        Ok(())
    }
}

/// The contiguous case: one loop a dtype, that the compiler can turn into vector code.
fn dense(dtype: DType, bytes: &[u8], visit: impl FnMut(&[f64])) -> Result<(), Error> {
    use crate::small_float::{E4M3FN, E4M3FNUZ, E5M2, E5M2FNUZ, E8M0FNU};
    let small =
        |table: &'static [f32; 256]| move |[code]: [u8; 1]| f64::from(table[usize::from(code)]);
    match dtype {
        DType::Float32 => blocks(bytes, |word| f64::from(f32::from_ne_bytes(word)), visit),
        DType::Float16 => half_blocks(bytes, |bits| f16::from_bits(bits).to_f64(), visit),
        DType::BFloat16 => {
            blocks(bytes, |word| f64::from(bf16::from_ne_bytes(word).to_f32()), visit);
        }
        DType::Float64 => blocks(bytes, f64::from_ne_bytes, visit),
        DType::Bool => blocks(bytes, |[byte]| f64::from(u8::from(byte != 0)), visit),
        DType::Int16 => blocks(bytes, |word| f64::from(i16::from_ne_bytes(word)), visit),
        DType::Int32 | DType::QInt32 => {
            blocks(bytes, |word| f64::from(i32::from_ne_bytes(word)), visit);
        }
        DType::Int64 => blocks(bytes, |word| i64::from_ne_bytes(word) as f64, visit),
        DType::UInt16 | DType::Bits16 => {
            blocks(bytes, |word| f64::from(u16::from_ne_bytes(word)), visit);
        }
        DType::UInt32 => blocks(bytes, |word| f64::from(u32::from_ne_bytes(word)), visit),
        DType::UInt64 => blocks(bytes, |word| u64::from_ne_bytes(word) as f64, visit),
        DType::Float8E5M2 => blocks(bytes, small(&E5M2), visit),
        DType::Float8E4M3FN => blocks(bytes, small(&E4M3FN), visit),
        DType::Float8E5M2FNUZ => blocks(bytes, small(&E5M2FNUZ), visit),
        DType::Float8E4M3FNUZ => blocks(bytes, small(&E4M3FNUZ), visit),
        DType::Float8E8M0FNU => blocks(bytes, small(&E8M0FNU), visit),
        DType::Float4E2M1FNx2 => float4_blocks(bytes, visit),
        dtype if dtype.is_signed() && dtype.item_size() == 1 => {
            blocks(bytes, |[byte]| f64::from(byte as i8), visit);
        }
        dtype if dtype.item_size() == 1 => blocks(bytes, |[byte]| f64::from(byte), visit),
        dtype => return Err(Error::Unsupported(format!("statistics of {dtype}"))),
    }
    Ok(())
}

fn blocks<const N: usize>(
    bytes: &[u8],
    decode: impl Fn([u8; N]) -> f64,
    mut visit: impl FnMut(&[f64]),
) {
    let mut block = [0.0; BLOCK];
    for words in bytes.as_chunks::<N>().0.chunks(BLOCK) {
        for (to, word) in block.iter_mut().zip(words) {
            *to = decode(*word);
        }
        visit(&block[..words.len()]);
    }
}

/// Half precision through a table of all 65,536 values, made where there are enough elements for it.
fn half_blocks(bytes: &[u8], decode: impl Fn(u16) -> f64, visit: impl FnMut(&[f64])) {
    if bytes.len() < 1 << 20 {
        return blocks(bytes, |word| decode(u16::from_ne_bytes(word)), visit);
    }
    let table: Vec<f32> = (0..=u16::MAX).map(|bits| decode(bits) as f32).collect();
    blocks(bytes, |word| f64::from(table[usize::from(u16::from_ne_bytes(word))]), visit);
}

fn float4_blocks(bytes: &[u8], mut visit: impl FnMut(&[f64])) {
    let mut block = [0.0; BLOCK];
    for codes in bytes.chunks(BLOCK / 2) {
        for (to, &code) in block.as_chunks_mut::<2>().0.iter_mut().zip(codes) {
            let (low, high) = small_float::decode_float4_pair(code);
            *to = [f64::from(low), f64::from(high)];
        }
        visit(&block[..2 * codes.len()]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Device, Storage};

    #[test]
    fn large_offsets_do_not_cost_precision() {
        let values: Vec<f64> = (0..10_000).map(|i| 1e9 + f64::from(i % 2)).collect();
        let stats = Tensor::from_vec(values, &[10_000]).unwrap().stats().unwrap();
        assert_eq!(stats.mean, Some(1e9 + 0.5));
        let want = (10_000f64 * 0.25 / 9_999.0).sqrt();
        assert!((stats.std.unwrap() - want).abs() < 1e-12);
    }

    #[test]
    fn the_ends_of_the_range_stay_numbers() {
        let t = Tensor::from_vec(vec![f64::MAX, f64::MAX, f64::MAX], &[3]).unwrap();
        let stats = t.stats().unwrap();
        assert_eq!((stats.mean, stats.l2), (Some(f64::MAX), f64::INFINITY));
        let t = Tensor::from_vec(vec![f64::MAX, f64::MIN], &[2]).unwrap();
        let stats = t.stats().unwrap();
        assert_eq!(stats.std, Some(f64::INFINITY));
        assert_eq!(t.histogram(&stats, 2).unwrap().bins, [1, 1]);
    }

    #[test]
    fn special_values_are_counted_apart() {
        let values = vec![f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 0.0, -0.0, 1e-40, 2.0];
        let t = Tensor::from_vec(values, &[7]).unwrap();
        let stats = t.stats().unwrap();
        assert_eq!((stats.nan, stats.pos_inf, stats.neg_inf), (1, 1, 1));
        assert_eq!((stats.zeros, stats.subnormal, stats.finite()), (2, 1, 4));
        assert_eq!((stats.min, stats.max), (Some(0.0), Some(2.0)));
        assert_eq!(t.histogram(&stats, 4).unwrap().bins, [3, 0, 0, 1]);
    }

    #[test]
    fn constants_and_empties() {
        let stats = |values: Vec<f32>| {
            let n = values.len() as i64;
            Tensor::from_vec(values, &[n]).unwrap().stats().unwrap()
        };
        assert!(stats(vec![2.0; 5]).constant);
        assert_eq!(stats(vec![2.0; 5]).std, Some(0.0));
        assert!(stats(vec![f32::NAN; 3]).constant);
        assert!(!stats(vec![f32::NAN, 1.0]).constant);
        let empty = stats(vec![]);
        assert!(empty.constant);
        assert_eq!((empty.min, empty.mean, empty.std, empty.l2), (None, None, None, 0.0));
        assert_eq!(stats(vec![3.0]).std, None);
    }

    #[test]
    fn every_real_dtype_agrees_with_its_values_in_any_layout() {
        let bytes: Vec<u8> = (0..16 * 64u32).map(|i| (i * 167 % 251) as u8).collect();
        for dtype in DType::all().filter(|dtype| !dtype.is_complex()) {
            let storage = Storage::from_bytes(bytes.clone().into(), Device::CPU);
            let dense = Tensor::contiguous(storage, dtype, &[8, 16]).unwrap();
            let turned = dense.transpose(0, 1).unwrap();
            let (a, b) = (dense.stats().unwrap(), turned.stats().unwrap());
            assert_eq!((a.count, a.nan, a.zeros), (b.count, b.nan, b.zeros), "{dtype}");
            assert_eq!((a.subnormal, a.min, a.max), (b.subnormal, b.min, b.max), "{dtype}");
            if dtype != DType::Float4E2M1FNx2 {
                let finite =
                    dense.values().unwrap().filter_map(Scalar::to_f64).filter(|v| v.is_finite());
                assert_eq!(a.max, finite.reduce(f64::max), "{dtype}");
            }
        }
        let complex = Tensor::meta(DType::Complex64, &[1], &[1]).unwrap();
        assert!(matches!(complex.stats(), Err(Error::Unsupported(_))));
    }
}
