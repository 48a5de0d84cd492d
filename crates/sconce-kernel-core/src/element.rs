//! The Rust types that kernels compute with.

use bytemuck::{Pod, Zeroable};
use half::{bf16, f16};
use num_complex::Complex;

use crate::DType;

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

/// A Rust type that kernels compute with.
pub trait Element: Pod + Send + Sync + PartialEq + std::fmt::Debug {
    /// The dtype of tensors that hold it.
    const DTYPE: DType;
}

macro_rules! elements {
    ($($ty:ty => $dtype:ident;)*) => {
        $(impl Element for $ty { const DTYPE: DType = DType::$dtype; })*
    };
}

elements! {
    u8 => UInt8;
    i8 => Int8;
    i16 => Int16;
    i32 => Int32;
    i64 => Int64;
    u16 => UInt16;
    u32 => UInt32;
    u64 => UInt64;
    f16 => Float16;
    bf16 => BFloat16;
    f32 => Float32;
    f64 => Float64;
    Complex<f16> => ComplexHalf;
    Complex<f32> => Complex64;
    Complex<f64> => Complex128;
    Bool => Bool;
}
