use bytemuck::{Pod, PodCastError, Zeroable};
use half::{bf16, f16};
use num_complex::Complex;

use crate::DType;

mod private {
    #[expect(unnameable_types, reason = "seals `Element`")]
    pub trait Sealed {}
}

/// A `torch.bool` as it lies in memory: any byte but 0 is true, since files may hold any byte.
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
#[repr(transparent)]
pub struct Bool(u8);

impl Bool {
    /// Whether it is true.
    #[inline]
    pub fn get(self) -> bool {
        self.0 != 0
    }
}

impl From<bool> for Bool {
    #[inline]
    fn from(value: bool) -> Bool {
        Bool(u8::from(value))
    }
}

impl PartialEq for Bool {
    #[inline]
    fn eq(&self, other: &Bool) -> bool {
        self.get() == other.get()
    }
}

/// A Rust type that tensors can lend or give their elements as.
///
/// Implemented for the integer and floating types that Rust has, [`half::f16`], [`half::bf16`],
/// [`num_complex::Complex`] of the floating types, `bool`, and [`Bool`], which lends bytes that `bool` refuses. `u8`, `i8`, `i32` and `u16` also read
/// dtypes that Rust has no type for, as their raw bits: see [`Element::reads`].
pub trait Element: Copy + Send + Sync + 'static + private::Sealed {
    /// The dtype that tensors made of this type have.
    const DTYPE: DType;

    /// Whether elements of `dtype` can be read as this type: [`Element::DTYPE`], and the dtypes
    /// whose raw bits it holds.
    fn reads(dtype: DType) -> bool {
        dtype == Self::DTYPE
    }

    /// Lends bytes in this machine's order as elements, or says why not.
    #[doc(hidden)]
    fn cast(bytes: &[u8]) -> Result<&[Self], &'static str>;

    /// Copies bytes in this machine's order, at any alignment.
    #[doc(hidden)]
    fn collect(bytes: &[u8]) -> Vec<Self>;

    /// The bytes of elements, in this machine's order.
    #[doc(hidden)]
    fn bytes_of(elements: &[Self]) -> Vec<u8>;
}

fn cast_pod<T: Pod>(bytes: &[u8]) -> Result<&[T], &'static str> {
    // An empty slice has no address worth aligning.
    if bytes.is_empty() {
        return Ok(&[]);
    }
    bytemuck::try_cast_slice(bytes).map_err(|error| match error {
        PodCastError::TargetAlignmentGreaterAndInputNotAligned => {
            "they do not lie at an aligned address in the file"
        }
        _ => "their bytes are not a whole number of elements",
    })
}

macro_rules! pod_element {
    ($($ty:ty => $dtype:ident $(| $other:ident)*;)*) => {$(
        impl private::Sealed for $ty {}

        impl Element for $ty {
            const DTYPE: DType = DType::$dtype;

            fn reads(dtype: DType) -> bool {
                matches!(dtype, DType::$dtype $(| DType::$other)*)
            }

            fn cast(bytes: &[u8]) -> Result<&[Self], &'static str> {
                cast_pod(bytes)
            }

            fn collect(bytes: &[u8]) -> Vec<Self> {
                bytemuck::pod_collect_to_vec(bytes)
            }

            fn bytes_of(elements: &[Self]) -> Vec<u8> {
                bytemuck::cast_slice(elements).to_vec()
            }
        }
    )*};
}

pod_element! {
    u8 => UInt8 | QUInt8 | Bits1x8 | Bits2x4 | Bits4x2 | Bits8
        | Float8E5M2 | Float8E4M3FN | Float8E5M2FNUZ | Float8E4M3FNUZ | Float8E8M0FNU | Float4E2M1FNx2
        | UInt1 | UInt2 | UInt3 | UInt4 | UInt5 | UInt6 | UInt7;
    i8 => Int8 | QInt8 | Int1 | Int2 | Int3 | Int4 | Int5 | Int6 | Int7;
    i16 => Int16;
    i32 => Int32 | QInt32;
    i64 => Int64;
    u16 => UInt16 | Bits16;
    u32 => UInt32;
    u64 => UInt64;
    f16 => Float16;
    bf16 => BFloat16;
    f32 => Float32;
    f64 => Float64;
    Complex<f16> => ComplexHalf;
    Complex<bf16> => BComplex32;
    Complex<f32> => Complex64;
    Complex<f64> => Complex128;
    Bool => Bool;
}

impl private::Sealed for bool {}

impl Element for bool {
    const DTYPE: DType = DType::Bool;

    fn cast(bytes: &[u8]) -> Result<&[Self], &'static str> {
        bytemuck::checked::try_cast_slice(bytes).map_err(|_| "a byte of a bool is neither 0 nor 1")
    }

    /// Every byte but 0 is true, as in PyTorch.
    fn collect(bytes: &[u8]) -> Vec<Self> {
        bytes.iter().map(|&b| b != 0).collect()
    }

    fn bytes_of(elements: &[Self]) -> Vec<u8> {
        elements.iter().map(|&b| u8::from(b)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_dtype_but_the_packed_ones_is_read_by_exactly_one_type() {
        macro_rules! readers {
            ($dtype:expr, $($ty:ty),*) => { 0 $(+ usize::from(<$ty>::reads($dtype)))* };
        }
        for dtype in DType::all() {
            let readers = readers!(
                dtype,
                u8,
                i8,
                i16,
                i32,
                i64,
                u16,
                u32,
                u64,
                f16,
                bf16,
                f32,
                f64,
                bool,
                Complex<f16>,
                Complex<bf16>,
                Complex<f32>,
                Complex<f64>
            );
            let packed = dtype.elements_per_byte() > 1;
            assert_eq!(readers, usize::from(!packed), "{dtype}");
        }
    }

    #[test]
    fn odd_bools_are_copied_but_not_lent() {
        assert_eq!(bool::collect(&[0, 1, 2, 255]), [false, true, true, true]);
        assert!(bool::cast(&[0, 2]).is_err());
        assert!(Bool::cast(&[0, 2]).unwrap()[1].get());
        assert_eq!(bool::cast(&[0, 1]).unwrap(), [false, true]);
    }
}
