use std::iter::FusedIterator;

use half::{bf16, f16};

use crate::geometry::Positions;
use crate::{DType, Error, Tensor, small_float};

/// One element, of any dtype.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Scalar {
    /// `bool`; any byte but 0 is true.
    Bool(bool),
    /// Signed integers; the integers of `qint8` and `qint32`; `int1` to `int7`.
    Int(i64),
    /// Unsigned integers; the integers of `quint8`, `quint4x2` and `quint2x4`; `uint1` to `uint7`
    /// and the `bits` types.
    UInt(u64),
    /// Real floating types; for `float4_e2m1fn_x2` see [`Tensor::values`].
    Float(f64),
    /// Real and imaginary part.
    Complex(f64, f64),
}

impl Scalar {
    /// The number as `f64`, or `None` for complex numbers. Integers beyond 2^53 are rounded.
    pub fn to_f64(self) -> Option<f64> {
        match self {
            Scalar::Bool(b) => Some(f64::from(u8::from(b))),
            Scalar::Int(i) => Some(i as f64),
            Scalar::UInt(u) => Some(u as f64),
            Scalar::Float(f) => Some(f),
            Scalar::Complex(..) => None,
        }
    }
}

/// As Python prints the number: `True`, `3`, `0.5`, `(1+2j)`.
impl std::fmt::Display for Scalar {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Scalar::Bool(true) => f.write_str("True"),
            Scalar::Bool(false) => f.write_str("False"),
            Scalar::Int(number) => write!(f, "{number}"),
            Scalar::UInt(number) => write!(f, "{number}"),
            Scalar::Float(number) if number.is_nan() => f.write_str("nan"),
            Scalar::Float(number) => write!(f, "{number:?}"),
            Scalar::Complex(re, im) => write!(f, "({re}{im:+}j)"),
        }
    }
}

/// The bytes of one element; the caller made sure that they are there.
fn word<const N: usize>(data: &[u8], index: usize) -> [u8; N] {
    let mut out = [0; N];
    out.copy_from_slice(&data[index * N..(index + 1) * N]);
    out
}

/// The element at a position of a storage, in elements from its start.
pub(crate) fn decode(dtype: DType, data: &[u8], index: usize) -> Scalar {
    let packed = |bits: usize| {
        let per_byte = 8 / bits;
        let byte = data[index / per_byte] >> (index % per_byte * bits);
        Scalar::UInt(u64::from(byte & ((1u8 << bits) - 1)))
    };
    let small = |table: &[f32; 256]| Scalar::Float(f64::from(table[usize::from(data[index])]));
    match dtype {
        DType::Bool => Scalar::Bool(data[index] != 0),
        DType::UInt8 | DType::QUInt8 => Scalar::UInt(u64::from(data[index])),
        DType::UInt1
        | DType::UInt2
        | DType::UInt3
        | DType::UInt4
        | DType::UInt5
        | DType::UInt6
        | DType::UInt7
        | DType::Bits1x8
        | DType::Bits2x4
        | DType::Bits4x2
        | DType::Bits8 => Scalar::UInt(u64::from(data[index])),
        DType::Int8
        | DType::QInt8
        | DType::Int1
        | DType::Int2
        | DType::Int3
        | DType::Int4
        | DType::Int5
        | DType::Int6
        | DType::Int7 => Scalar::Int(i64::from(data[index] as i8)),
        DType::Int16 => Scalar::Int(i64::from(i16::from_ne_bytes(word(data, index)))),
        DType::Int32 | DType::QInt32 => {
            Scalar::Int(i64::from(i32::from_ne_bytes(word(data, index))))
        }
        DType::Int64 => Scalar::Int(i64::from_ne_bytes(word(data, index))),
        DType::UInt16 | DType::Bits16 => {
            Scalar::UInt(u64::from(u16::from_ne_bytes(word(data, index))))
        }
        DType::UInt32 => Scalar::UInt(u64::from(u32::from_ne_bytes(word(data, index)))),
        DType::UInt64 => Scalar::UInt(u64::from_ne_bytes(word(data, index))),
        DType::QUInt4x2 => packed(4),
        DType::QUInt2x4 => packed(2),
        DType::Float16 | DType::BFloat16 | DType::Float32 | DType::Float64 => {
            Scalar::Float(real(dtype, data, index))
        }
        DType::Float8E5M2 => small(&small_float::E5M2),
        DType::Float8E4M3FN => small(&small_float::E4M3FN),
        DType::Float8E5M2FNUZ => small(&small_float::E5M2FNUZ),
        DType::Float8E4M3FNUZ => small(&small_float::E4M3FNUZ),
        DType::Float8E8M0FNU => small(&small_float::E8M0FNU),
        // Two numbers; PyTorch shows the byte.
        DType::Float4E2M1FNx2 => Scalar::Float(f64::from(data[index])),
        DType::ComplexHalf | DType::BComplex32 | DType::Complex64 | DType::Complex128 => {
            let part = dtype.to_real();
            Scalar::Complex(real(part, data, 2 * index), real(part, data, 2 * index + 1))
        }
    }
}

fn real(dtype: DType, data: &[u8], index: usize) -> f64 {
    match dtype {
        DType::Float16 => f64::from(f16::from_ne_bytes(word(data, index))),
        DType::BFloat16 => f64::from(bf16::from_ne_bytes(word(data, index))),
        DType::Float32 => f64::from(f32::from_ne_bytes(word(data, index))),
        _ => f64::from_ne_bytes(word(data, index)),
    }
}

/// What the lazy bits of a tensor do to its elements.
#[derive(Clone, Copy)]
pub(crate) struct Finish {
    dtype: DType,
    conj: bool,
    neg: bool,
}

impl Finish {
    pub(crate) fn apply(self, scalar: Scalar) -> Scalar {
        let scalar = match scalar {
            Scalar::Complex(re, im) if self.conj => Scalar::Complex(re, -im),
            other => other,
        };
        if !self.neg {
            return scalar;
        }
        match scalar {
            Scalar::Bool(b) => Scalar::Bool(b),
            Scalar::Int(i) => Scalar::Int(wrap(self.dtype, i.wrapping_neg())),
            Scalar::UInt(u) => Scalar::UInt(u.wrapping_neg() & mask(self.dtype)),
            Scalar::Float(f) => Scalar::Float(-f),
            Scalar::Complex(re, im) => Scalar::Complex(-re, -im),
        }
    }
}

/// The elements of a tensor, row-major. Made by [`Tensor::values`].
#[derive(Clone)]
pub struct Values<'a> {
    data: &'a [u8],
    positions: Positions,
    finish: Finish,
}

/// The bits that an unsigned element of this dtype has.
fn mask(dtype: DType) -> u64 {
    match dtype.item_size() {
        1 => 0xff,
        2 => 0xffff,
        4 => 0xffff_ffff,
        _ => u64::MAX,
    }
}

/// The one negation that overflows gives the number itself, as in every width.
fn wrap(dtype: DType, value: i64) -> i64 {
    match dtype.item_size() {
        1 => i64::from(value as i8),
        2 => i64::from(value as i16),
        4 => i64::from(value as i32),
        _ => value,
    }
}

impl Iterator for Values<'_> {
    type Item = Scalar;

    fn next(&mut self) -> Option<Scalar> {
        let position = self.positions.next()?;
        Some(self.finish.apply(decode(self.finish.dtype, self.data, position)))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.positions.size_hint()
    }
}

impl ExactSizeIterator for Values<'_> {}
impl FusedIterator for Values<'_> {}

impl Tensor {
    /// The elements in row-major order, whatever the dtype. Lazy conjugation and negation are
    /// applied.
    ///
    /// Quantized tensors give their integers (`int_repr`; one for each element, packed or not);
    /// [`Tensor::dequantize`] gives the numbers that they stand for. The dtypes that PyTorch cannot
    /// print give their raw bits: `uint1` to `uint7` and the `bits` types as
    /// [`Scalar::UInt`], `int1` to `int7` as [`Scalar::Int`]. An element of `float4_e2m1fn_x2` is two
    /// numbers; it gives its byte as [`Scalar::Float`], as PyTorch prints it, and
    /// [`decode_float4_pair`](crate::decode_float4_pair) takes that apart.
    ///
    /// An expanded view may have more elements than any memory: check [`Tensor::numel`].
    ///
    /// # Errors
    /// [`Error::NoData`] and the errors of [`Storage::data`](crate::Storage::data);
    /// [`Error::Unsupported`] for sparse and nested tensors.
    ///
    /// ```
    /// use sconce_tensor::{Scalar, Tensor};
    /// let t = Tensor::from_vec(vec![1i16, -2], &[2]).unwrap();
    /// assert_eq!(t.values().unwrap().last(), Some(Scalar::Int(-2)));
    /// ```
    pub fn values(&self) -> Result<Values<'_>, Error> {
        let data = self.strided_data()?;
        Ok(Values { data, positions: self.positions(), finish: self.finish() })
    }

    /// The element at an index that lies inside the sizes; `data` is that of the tensor's storage.
    pub(crate) fn element(&self, data: &[u8], index: &[i64]) -> Scalar {
        let steps: i64 = index.iter().zip(&self.strides).map(|(i, stride)| i * stride).sum();
        self.finish().apply(decode(self.dtype, data, (self.offset + steps) as usize))
    }

    pub(crate) fn finish(&self) -> Finish {
        Finish { dtype: self.dtype, conj: self.conj, neg: self.neg }
    }

    /// The only element of a tensor that has one: `torch.Tensor.item`.
    ///
    /// # Errors
    /// [`Error::BadIndex`] where the tensor has another number of elements; those of
    /// [`Tensor::values`].
    pub fn item(&self) -> Result<Scalar, Error> {
        match (self.numel, self.values()?.next()) {
            (1, Some(scalar)) => Ok(scalar),
            (n, _) => Err(Error::BadIndex(format!(
                "a Tensor with {n} elements cannot be converted to Scalar"
            ))),
        }
    }
}
