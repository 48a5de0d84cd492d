use half::{bf16, f16};
use num_complex::Complex;

use crate::{DType, Element, Error};

/// Dense bytes in blocks of equal size, to which entries are added.
pub(super) struct Blocks<'a> {
    dtype: DType,
    out: &'a mut [u8],
    block: usize,
    /// Which blocks an entry was written to. The first is copied, so that -0.0 and the bits of a NaN
    /// come through, and so that types without addition work as long as no entries meet.
    used: Vec<bool>,
}

impl<'a> Blocks<'a> {
    pub(super) fn new(dtype: DType, out: &'a mut [u8], block: usize) -> Blocks<'a> {
        let used = vec![false; out.len() / block];
        Blocks { dtype, out, block, used }
    }

    /// Adds one entry, of a block's size, to the block at `index`.
    pub(super) fn add(&mut self, index: usize, value: &[u8]) -> Result<(), Error> {
        let target = &mut self.out[index * self.block..(index + 1) * self.block];
        if std::mem::replace(&mut self.used[index], true) {
            return add(self.dtype, target, value);
        }
        target.copy_from_slice(value);
        Ok(())
    }
}

/// Element by element `target += value`, in the dtype's own arithmetic; integers wrap.
fn add(dtype: DType, target: &mut [u8], value: &[u8]) -> Result<(), Error> {
    fn apply<T: Element>(target: &mut [u8], value: &[u8], plus: impl Fn(T, T) -> T) {
        let sums: Vec<T> = T::collect(target)
            .into_iter()
            .zip(T::collect(value))
            .map(|(a, b)| plus(a, b))
            .collect();
        target.copy_from_slice(&T::bytes_of(&sums));
    }
    match dtype {
        DType::Bool => apply::<bool>(target, value, |a, b| a | b),
        DType::UInt8 => apply::<u8>(target, value, u8::wrapping_add),
        DType::Int8 => apply::<i8>(target, value, i8::wrapping_add),
        DType::Int16 => apply::<i16>(target, value, i16::wrapping_add),
        DType::Int32 => apply::<i32>(target, value, i32::wrapping_add),
        DType::Int64 => apply::<i64>(target, value, i64::wrapping_add),
        DType::UInt16 => apply::<u16>(target, value, u16::wrapping_add),
        DType::UInt32 => apply::<u32>(target, value, u32::wrapping_add),
        DType::UInt64 => apply::<u64>(target, value, u64::wrapping_add),
        DType::Float16 => apply::<f16>(target, value, |a, b| a + b),
        DType::BFloat16 => apply::<bf16>(target, value, |a, b| a + b),
        DType::Float32 => apply::<f32>(target, value, |a, b| a + b),
        DType::Float64 => apply::<f64>(target, value, |a, b| a + b),
        DType::ComplexHalf => {
            apply::<Complex<f16>>(target, value, |a, b| Complex::new(a.re + b.re, a.im + b.im));
        }
        DType::BComplex32 => {
            apply::<Complex<bf16>>(target, value, |a, b| Complex::new(a.re + b.re, a.im + b.im));
        }
        DType::Complex64 => apply::<Complex<f32>>(target, value, |a, b| a + b),
        DType::Complex128 => apply::<Complex<f64>>(target, value, |a, b| a + b),
        other => return Err(Error::Unsupported(format!("adding up sparse entries of {other}"))),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_entry_is_copied_and_the_next_added() {
        let mut out = vec![0u8; 4];
        let mut blocks = Blocks::new(DType::Float32, &mut out, 4);
        blocks.add(0, &(-0.0f32).to_ne_bytes()).unwrap();
        assert_eq!(blocks.out, (-0.0f32).to_ne_bytes());
        blocks.add(0, &1.5f32.to_ne_bytes()).unwrap();
        assert_eq!(out, 1.5f32.to_ne_bytes());
    }

    #[test]
    fn types_without_addition_are_an_error_only_when_entries_meet() {
        let mut out = vec![0u8; 2];
        let mut blocks = Blocks::new(DType::Float8E5M2, &mut out, 1);
        blocks.add(0, &[1]).unwrap();
        blocks.add(1, &[2]).unwrap();
        assert!(matches!(blocks.add(1, &[3]), Err(Error::Unsupported(_))));
    }
}
