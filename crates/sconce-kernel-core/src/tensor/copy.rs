//! Copying elements between views, and between dtypes.

use half::{bf16, f16};
use num_complex::Complex;
use sconce_tensor::Float8;

use crate::layout::strided_iter;
use crate::parallel::{grain, partition};
use crate::simd::dispatch::dispatch;
use crate::simd::half_precision::{narrow, widen};
use crate::simd::map_slice::map_slice;
use crate::tensor::float8;
use crate::tensor::transposed_copy::copy_transposed;
use crate::vecmath::float_element::FloatElement;
use crate::{Bool, DType, Error, PodElement, Result, Tensor};

impl Tensor {
    /// Writes `source`, broadcast and converted, into this tensor: `torch.Tensor.copy_`. Views of
    /// one storage may overlap; the source is read before anything is written.
    ///
    /// # Errors
    /// Where the sizes do not fit.
    pub fn copy_from(&self, source: &Tensor) -> Result<()> {
        let source = if source.sizes() == self.sizes() {
            source.clone()
        } else {
            let sizes = crate::layout::shape::broadcast(self.sizes(), source.sizes())?;
            if sizes[..] != *self.sizes() {
                return Err(cannot_grow(self, &sizes));
            }
            source.expand(self.sizes())?
        };
        if source.dtype() != self.dtype() {
            return self.copy_from(&source.to_dtype(self.dtype())?);
        }
        if self.dtype().is_quantized() {
            crate::tensor::quantization::inherit(self, &source)?;
        }
        if source.storage().ptr_eq(self.storage()) {
            let fresh = Tensor::for_overwrite(source.sizes(), source.dtype())?;
            fresh.copy_elements(&source)?;
            return self.copy_elements(&fresh);
        }
        self.copy_elements(&source)
    }

    /// Same sizes, same dtype, another storage.
    fn copy_elements(&self, source: &Tensor) -> Result<()> {
        match self.dtype().item_size() {
            1 => self.copy_units::<u8>(source),
            2 => self.copy_units::<u16>(source),
            4 => self.copy_units::<u32>(source),
            8 => self.copy_units::<u64>(source),
            16 => self.copy_units::<Complex<f64>>(source),
            _ => Err(Error::no_kernel("copy_", self.dtype())),
        }
    }

    fn copy_units<T: PodElement>(&self, source: &Tensor) -> Result<()> {
        let from = source.storage().read::<T>()?;
        let mut to = self.storage().write::<T>()?;
        let strides = [self.strides(), source.strides()];
        let start = [self.offset(), source.offset()];
        if copy_transposed(self.sizes(), strides, start, &mut to, &from) {
            return Ok(());
        }
        strided_iter::rows(self.sizes(), strides, start, |[t, f], [t_step, f_step], len| {
            match (t_step, f_step) {
                (1, 1) => copy_row(&mut to[t..t + len], &from[f..f + len]),
                (1, 0) => to[t..t + len].fill(from[f]),
                (1, _) => {
                    let spread = from[f..].iter().step_by(f_step);
                    to[t..t + len].iter_mut().zip(spread).for_each(|(to, &from)| *to = from);
                }
                _ => (0..len).for_each(|i| to[t + i * t_step] = from[f + i * f_step]),
            }
        });
        Ok(())
    }

    /// This tensor in another dtype, itself where it has it: `torch.Tensor.to(dtype)`.
    ///
    /// # Errors
    /// For dtypes without kernels (quantized ones, bits).
    pub fn to_dtype(&self, dtype: DType) -> Result<Tensor> {
        if dtype == self.dtype() {
            return Ok(self.clone());
        }
        if let Some(kind) = Float8::of(self.dtype()) {
            return float8::widened(self, kind)?.to_dtype(dtype);
        }
        if let Some(kind) = Float8::of(dtype) {
            return float8::rounded(&self.to_dtype(DType::Float32)?, kind, dtype);
        }
        let result = Tensor::for_overwrite(self.sizes(), dtype)?;
        let source = self.contiguous()?;
        if convert_quickly(&source, &result)? {
            return Ok(result);
        }
        macro_rules! from {
            ($($name:ident $ty:ty;)*) => {
                match self.dtype() {
                    $(DType::$name => convert_from::<$ty>(&source, &result)?,)*
                    other => return Err(Error::no_kernel("copy_", other)),
                }
            };
        }
        from! {
            Bool Bool; UInt8 u8; Int8 i8; Int16 i16; Int32 i32; Int64 i64; UInt16 u16; UInt32 u32;
            UInt64 u64; Float16 f16; BFloat16 bf16; Float32 f32; Float64 f64;
            ComplexHalf Complex<f16>; Complex64 Complex<f32>; Complex128 Complex<f64>;
        }
        Ok(result)
    }
}

/// The number that conversions go through: exact for every pair but 64-bit integers to 32-bit
/// floating types, which have a rule of their own.
trait Convert: PodElement {
    fn wide(self) -> Wide;
    fn narrow(wide: Wide) -> Self;
}

#[derive(Clone, Copy)]
enum Wide {
    Int(i64),
    Float(f64),
    Complex(f64, f64),
}

impl Wide {
    fn int(self) -> i64 {
        match self {
            Wide::Int(i) => i,
            // x86's conversion, which PyTorch's results come from: what does not fit is the minimum.
            Wide::Float(f) | Wide::Complex(f, _) => {
                if (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&f) {
                    f as i64
                } else {
                    i64::MIN
                }
            }
        }
    }

    /// As [`Wide::int`], of 32 bits.
    fn int32(self) -> i32 {
        match self {
            Wide::Int(i) => i as i32,
            Wide::Float(f) | Wide::Complex(f, _) => {
                if f > -2_147_483_649.0 && f < 2_147_483_648.0 {
                    f as i32
                } else {
                    i32::MIN
                }
            }
        }
    }

    fn f64(self) -> f64 {
        match self {
            Wide::Int(i) => i as f64,
            Wide::Float(f) | Wide::Complex(f, _) => f,
        }
    }

    fn f32(self) -> f32 {
        match self {
            Wide::Int(i) => i as f32,
            Wide::Float(f) | Wide::Complex(f, _) => f as f32,
        }
    }

    fn imaginary(self) -> f64 {
        if let Wide::Complex(_, im) = self { im } else { 0.0 }
    }
}

macro_rules! integers {
    ($int:ident: $($ty:ty)*) => {$(
        impl Convert for $ty {
            fn wide(self) -> Wide { Wide::Int(self as i64) }
            fn narrow(wide: Wide) -> Self { wide.$int() as $ty }
        }
    )*};
}
// By way of which integers PyTorch's compiler converts.
integers! { int: u8 i64 u32 u64 }
integers! { int32: i8 i16 i32 u16 }

impl Convert for Bool {
    fn wide(self) -> Wide {
        Wide::Int(i64::from(self.get()))
    }
    fn narrow(wide: Wide) -> Self {
        match wide {
            Wide::Int(i) => (i != 0).into(),
            Wide::Float(f) => (f != 0.0).into(),
            Wide::Complex(re, im) => (re != 0.0 || im != 0.0).into(),
        }
    }
}

macro_rules! floats {
    ($($ty:ty, $wide:expr, $narrow:expr;)*) => {$(
        impl Convert for $ty {
            fn wide(self) -> Wide { let f: fn($ty) -> Wide = $wide; f(self) }
            fn narrow(wide: Wide) -> Self { let f: fn(Wide) -> $ty = $narrow; f(wide) }
        }
    )*};
}
floats! {
    f32, |x| Wide::Float(f64::from(x)), |w| w.f32();
    f64, Wide::Float, |w| w.f64();
    f16, |x| Wide::Float(x.to_f64()), |w| f16::from_f32(w.f32());
    bf16, |x| Wide::Float(x.to_f64()), |w| bf16::from_f32(w.f32());
    Complex<f16>, |x| Wide::Complex(x.re.into(), x.im.into()),
        |w| Complex::new(f16::from_f32(w.f32()), f16::from_f32(w.imaginary() as f32));
    Complex<f32>, |x| Wide::Complex(x.re.into(), x.im.into()),
        |w| Complex::new(w.f32(), w.imaginary() as f32);
    Complex<f64>, |x| Wide::Complex(x.re, x.im), |w| Complex::new(w.f64(), w.imaginary());
}

fn convert_from<F: Convert>(source: &Tensor, result: &Tensor) -> Result<()> {
    macro_rules! to {
        ($($name:ident $ty:ty;)*) => {
            match result.dtype() {
                $(DType::$name => convert::<F, $ty>(source, result),)*
                other => Err(Error::no_kernel("copy_", other)),
            }
        };
    }
    to! {
        Bool Bool; UInt8 u8; Int8 i8; Int16 i16; Int32 i32; Int64 i64; UInt16 u16; UInt32 u32;
        UInt64 u64; Float16 f16; BFloat16 bf16; Float32 f32; Float64 f64;
        ComplexHalf Complex<f16>; Complex64 Complex<f32>; Complex128 Complex<f64>;
    }
}

fn convert<F: Convert, T: Convert>(source: &Tensor, result: &Tensor) -> Result<()> {
    // One copy for all CPUs: there are 256 pairs of types.
    convert_slices(source, result, &|from: &[F], to: &mut [T]| {
        to.iter_mut().zip(from).for_each(|(to, from)| *to = T::narrow(from.wide()));
    })
}

/// Copies a row, which may be so short that the call of a function that copies memory takes longer.
#[inline(always)]
pub fn copy_row<T: Copy>(to: &mut [T], from: &[T]) {
    const SHORT: usize = 32;
    if to.len() > SHORT {
        return to.copy_from_slice(from);
    }
    let ((to, to_rest), (from, from_rest)) = (to.as_chunks_mut::<4>(), from.as_chunks::<4>());
    to.iter_mut().zip(from).for_each(|(to, from)| *to = *from);
    to_rest.iter_mut().zip(from_rest).for_each(|(to, from)| *to = *from);
}

/// Converts pieces of a contiguous tensor, on several threads where there are many elements.
fn convert_slices<F: PodElement, T: PodElement>(
    source: &Tensor,
    result: &Tensor,
    convert: &(dyn Fn(&[F], &mut [T]) + Sync),
) -> Result<()> {
    let from = source.read::<F>()?;
    let from: &[F] = &from;
    partition::for_each_chunk(&mut result.write::<T>()?, 64, grain::ELEMENTWISE, |start, to| {
        convert(&from[start..start + to.len()], to);
    });
    Ok(())
}

/// Converts between the types that programs convert most, by vector code. Returns whether it did.
fn convert_quickly(source: &Tensor, result: &Tensor) -> Result<bool> {
    use DType::*;
    macro_rules! by {
        ($f:expr) => {
            convert_slices(source, result, &|from, to| map_slice(from, to, $f))
        };
    }
    match (source.dtype(), result.dtype()) {
        (Float16, Float32) => convert_slices(source, result, &widen::<f16>),
        (Float32, Float16) => convert_slices(source, result, &narrow::<f16>),
        (BFloat16, Float32) => convert_slices(source, result, &widen::<bf16>),
        (Float32, BFloat16) => convert_slices(source, result, &narrow::<bf16>),
        (Float32, Float64) => by!(|x: f32| f64::from(x)),
        (Float64, Float32) => by!(|x: f64| x as f32),
        (Float32, Int64) => convert_slices(source, result, &whole_numbers::<f32>),
        (Float64, Int64) => convert_slices(source, result, &whole_numbers::<f64>),
        (Float32, Int32) => by!(|x: f32| i32::narrow(x.wide())),
        (Float64, Int32) => by!(|x: f64| i32::narrow(x.wide())),
        (Float32, UInt8) => convert_slices(source, result, &bytes),
        (Float32, Bool) => by!(|x: f32| sconce_tensor::Bool::from(x != 0.0)),
        (Float64, Bool) => by!(|x: f64| sconce_tensor::Bool::from(x != 0.0)),
        (Int64, Float32) => by!(|x: i64| x as f32),
        (Int64, Float64) => by!(|x: i64| x as f64),
        (Int64, Int32) => by!(|x: i64| x as i32),
        (Int64, UInt8) => by!(|x: i64| x as u8),
        (Int64, Bool) => by!(|x: i64| sconce_tensor::Bool::from(x != 0)),
        (Int32, Int64) => by!(|x: i32| i64::from(x)),
        (Int32, Float32) => by!(|x: i32| x as f32),
        (UInt8, Float32) => by!(|x: u8| f32::from(x)),
        (UInt8, Float64) => by!(|x: u8| f64::from(x)),
        (UInt8, Int64) => by!(|x: u8| i64::from(x)),
        (UInt8, Int32) => by!(|x: u8| i32::from(x)),
        (UInt8, Bool) => by!(|x: u8| sconce_tensor::Bool::from(x != 0)),
        (Bool, Float32) => by!(|x: sconce_tensor::Bool| f32::from(u8::from(x.get()))),
        (Bool, Int64) => by!(|x: sconce_tensor::Bool| i64::from(x.get())),
        _ => return Ok(false),
    }?;
    Ok(true)
}

/// Floating numbers without their fractions, of which the last eight bits are kept.
fn bytes(from: &[f32], to: &mut [u8]) {
    const BLOCK: usize = 256;
    const LARGE: f32 = (1u32 << 31) as f32;
    for (from, to) in from.chunks(BLOCK).zip(to.chunks_mut(BLOCK)) {
        let are_small = dispatch(
            #[inline(always)]
            || from.iter().fold(true, |all, x| all & (x.abs() < LARGE)),
        );
        match are_small {
            true => map_slice(from, to, |x: f32| x as i32 as u8),
            false => map_slice(from, to, |x: f32| u8::narrow(x.wide())),
        }
    }
}

/// Floating numbers without their fractions. There are no vector instructions for that, but the last
/// bits of a large number are those of what is added to it.
fn whole_numbers<F: Convert + FloatElement>(from: &[F], to: &mut [i64]) {
    /// 1.5 * 2^52.
    const LARGE: f64 = 6_755_399_441_055_744.0;
    const LIMIT: f64 = 2_251_799_813_685_248.0;
    for (from, to) in from.chunks(256).zip(to.chunks_mut(256)) {
        map_slice(
            from,
            to,
            #[inline(always)]
            |x: F| {
                let bits = (x.to_double().trunc() + LARGE).to_bits();
                bits.wrapping_sub(LARGE.to_bits()) as i64
            },
        );
        if !from.iter().fold(true, |all, x| all & (x.to_double().abs() < LIMIT)) {
            to.iter_mut().zip(from).for_each(|(to, from)| *to = from.wide().int());
        }
    }
}

/// The error for a result of these sizes that is to be stored in a tensor of other sizes.
pub fn cannot_grow(target: &Tensor, sizes: &[i64]) -> Error {
    Error::runtime(format!(
        "output with shape {:?} doesn't match the broadcast shape {sizes:?}",
        target.sizes()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fractions_are_left_out() {
        let spread = (0..4099u32).map(|i| f32::from_bits(i.wrapping_mul(1_047_787)));
        let numbers: Vec<f32> = spread.chain((-300..300).map(|i| i as f32 * 0.3)).collect();
        let wide: Vec<f64> = (-300..300).map(|i| f64::from(i) * 7.5e12 + 0.7).collect();
        let expected = |x: f64| if x.abs() < 9.2e18 { x as i64 } else { i64::MIN };
        let whole =
            |tensor: Tensor| tensor.to_dtype(DType::Int64).unwrap().to_vec::<i64>().unwrap();
        let found = whole(Tensor::from_slice(&numbers, &[numbers.len() as i64]).unwrap());
        assert!(numbers.iter().zip(found).all(|(&x, found)| found == expected(x.into())));
        let found = whole(Tensor::from_slice(&wide, &[wide.len() as i64]).unwrap());
        assert!(wide.iter().zip(found).all(|(&x, found)| found == expected(x)));
    }

    #[test]
    fn what_no_integer_holds_is_the_least_of_32_or_64_bits() {
        let numbers = [f64::NAN, f64::INFINITY, 3_000_000_123.0, -3_000_000_123.0, 70_000.9, -0.9];
        let tensor = Tensor::from_slice(&numbers, &[6]).unwrap();
        let to = |dtype| tensor.to_dtype(dtype).unwrap().to_dtype(DType::Int64).unwrap();
        let least = i64::from(i32::MIN);
        for (dtype, expected) in [
            (DType::Int32, [least, least, least, least, 70_000, 0]),
            (DType::Int16, [0, 0, 0, 0, 4464, 0]),
            (DType::Int8, [0, 0, 0, 0, 112, 0]),
            (DType::UInt8, [0, 0, 123, 133, 112, 0]),
        ] {
            assert_eq!(to(dtype).to_vec::<i64>().unwrap(), expected, "{dtype:?}");
        }
    }

    #[test]
    fn bytes_of_numbers_are_the_last_of_their_whole_part() {
        let mut numbers: Vec<f32> = (-3000..3000).map(|i| i as f32 * 0.3).collect();
        numbers.extend([3e9, -5e9, 1e20, f32::INFINITY, f32::NAN]);
        let found = Tensor::from_slice(&numbers, &[numbers.len() as i64]).unwrap();
        let found = found.to_dtype(DType::UInt8).unwrap().to_vec::<u8>().unwrap();
        for (&x, found) in numbers.iter().zip(found) {
            let whole = if x.abs() < 9.2e18 { x as i64 } else { i64::MIN };
            assert_eq!(found, whole as u8, "{x}");
        }
    }

    #[test]
    fn half_precision_in_bulk_is_that_of_single_numbers() {
        let edges =
            [0.0, -0.0, 1.0, 65504.0, 65520.0, 1e-8, f32::MAX, f32::MIN_POSITIVE, f32::INFINITY];
        let spread = (0..4099u32).map(|i| f32::from_bits(i.wrapping_mul(1_047_787)));
        let numbers: Vec<f32> =
            edges.into_iter().chain([f32::NEG_INFINITY]).chain(spread).collect();
        let tensor = Tensor::from_slice(&numbers, &[numbers.len() as i64]).unwrap();
        let half = tensor.to_dtype(DType::Float16).unwrap();
        let brain = tensor.to_dtype(DType::BFloat16).unwrap();
        let (halves, brains) = (half.to_vec::<f16>().unwrap(), brain.to_vec::<bf16>().unwrap());
        let back =
            [&half, &brain].map(|t| t.to_dtype(DType::Float32).unwrap().to_vec::<f32>().unwrap());
        for (i, &x) in numbers.iter().enumerate() {
            if x.is_nan() {
                assert!(
                    halves[i].is_nan()
                        && brains[i].is_nan()
                        && back[0][i].is_nan()
                        && back[1][i].is_nan()
                );
                continue;
            }
            assert_eq!(halves[i].to_bits(), f16::from_f32(x).to_bits(), "{x}");
            assert_eq!(brains[i].to_bits(), bf16::from_f32(x).to_bits(), "{x}");
            assert_eq!(back[0][i], halves[i].to_f32());
            assert_eq!(back[1][i], brains[i].to_f32());
        }
    }
}
