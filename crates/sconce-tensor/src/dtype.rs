use std::fmt;
use std::str::FromStr;

use crate::Error;

/// What one row of the table says about a dtype.
struct Row {
    dtype: DType,
    /// After `torch.`.
    name: &'static str,
    /// `c10::ScalarType` spelling; with `Storage` behind it, the class the C++ pickler writes.
    scalar: &'static str,
    item: u8,
    /// Bytes of the unit that a change of byte order reverses.
    swap: u8,
    kind: Kind,
    signed: bool,
    /// Whether `torch.<scalar>Storage` is a class that Python's `torch.save` writes.
    legacy: bool,
    safetensors: Option<&'static str>,
    numpy: Option<&'static str>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Bool,
    Int,
    Float,
    Complex,
    Quantized,
    Bits,
}

macro_rules! dtypes {
    ($($variant:ident $name:literal $scalar:literal $item:literal $swap:literal $kind:ident $signed:ident $legacy:ident $st:expr, $np:expr;)*) => {
        /// The type of a tensor's elements, `torch.dtype`.
        ///
        /// The order is that of `c10::ScalarType`, whose numbers are part of TorchScript's format.
        ///
        /// ```
        /// use sconce_tensor::DType;
        /// let dtype = DType::from_name("bfloat16").unwrap();
        /// assert_eq!(dtype.item_size(), 2);
        /// assert_eq!(dtype.to_string(), "torch.bfloat16");
        /// assert_eq!(DType::from_storage_class("FloatStorage"), Some(DType::Float32));
        /// ```
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        #[repr(u8)]
        pub enum DType {
            $(#[doc = concat!("`torch.", $name, "`, in C++ `", $scalar, "`.")] $variant,)*
        }

        static TABLE: &[Row] = &[$(Row {
            dtype: DType::$variant,
            name: $name,
            scalar: $scalar,
            item: $item,
            swap: $swap,
            kind: Kind::$kind,
            signed: $signed,
            legacy: $legacy,
            safetensors: $st,
            numpy: $np,
        },)*];
    };
}

// The order is c10::ScalarType's (torch/headeronly/core/ScalarType.h, 2.15).
dtypes! {
// variant        torch name          C++ name            item swap kind    signed legacy safetensors          numpy
    UInt8           "uint8"             "Byte"              1 1 Int       false true  Some("U8"),          Some("|u1");
    Int8            "int8"              "Char"              1 1 Int       true  true  Some("I8"),          Some("|i1");
    Int16           "int16"             "Short"             2 2 Int       true  true  Some("I16"),         Some("<i2");
    Int32           "int32"             "Int"               4 4 Int       true  true  Some("I32"),         Some("<i4");
    Int64           "int64"             "Long"              8 8 Int       true  true  Some("I64"),         Some("<i8");
    Float16         "float16"           "Half"              2 2 Float     true  true  Some("F16"),         Some("<f2");
    Float32         "float32"           "Float"             4 4 Float     true  true  Some("F32"),         Some("<f4");
    Float64         "float64"           "Double"            8 8 Float     true  true  Some("F64"),         Some("<f8");
    ComplexHalf     "complex32"         "ComplexHalf"       4 2 Complex   true  false None,                None;
    Complex64       "complex64"         "ComplexFloat"      8 4 Complex   true  true  Some("C64"),         Some("<c8");
    Complex128      "complex128"        "ComplexDouble"    16 8 Complex   true  true  None,                Some("<c16");
    Bool            "bool"              "Bool"              1 1 Bool      false true  Some("BOOL"),        Some("|b1");
    QInt8           "qint8"             "QInt8"             1 1 Quantized true  true  None,                None;
    QUInt8          "quint8"            "QUInt8"            1 1 Quantized false true  None,                None;
    QInt32          "qint32"            "QInt32"            4 4 Quantized true  true  None,                None;
    BFloat16        "bfloat16"          "BFloat16"          2 2 Float     true  true  Some("BF16"),        None;
    QUInt4x2        "quint4x2"          "QUInt4x2"          1 1 Quantized false true  None,                None;
    QUInt2x4        "quint2x4"          "QUInt2x4"          1 1 Quantized false true  None,                None;
    Bits1x8         "bits1x8"           "Bits1x8"           1 1 Bits      false false None,                None;
    Bits2x4         "bits2x4"           "Bits2x4"           1 1 Bits      false false None,                None;
    Bits4x2         "bits4x2"           "Bits4x2"           1 1 Bits      false false None,                None;
    Bits8           "bits8"             "Bits8"             1 1 Bits      false false None,                None;
    Bits16          "bits16"            "Bits16"            2 2 Bits      false false None,                None;
    Float8E5M2      "float8_e5m2"       "Float8_e5m2"       1 1 Float     true  false Some("F8_E5M2"),     None;
    Float8E4M3FN    "float8_e4m3fn"     "Float8_e4m3fn"     1 1 Float     true  false Some("F8_E4M3"),     None;
    Float8E5M2FNUZ  "float8_e5m2fnuz"   "Float8_e5m2fnuz"   1 1 Float     true  false Some("F8_E5M2FNUZ"), None;
    Float8E4M3FNUZ  "float8_e4m3fnuz"   "Float8_e4m3fnuz"   1 1 Float     true  false Some("F8_E4M3FNUZ"), None;
    UInt16          "uint16"            "UInt16"            2 2 Int       false false Some("U16"),         Some("<u2");
    UInt32          "uint32"            "UInt32"            4 4 Int       false false Some("U32"),         Some("<u4");
    UInt64          "uint64"            "UInt64"            8 8 Int       false false Some("U64"),         Some("<u8");
    UInt1           "uint1"             "UInt1"             1 1 Int       false false None,                None;
    UInt2           "uint2"             "UInt2"             1 1 Int       false false None,                None;
    UInt3           "uint3"             "UInt3"             1 1 Int       false false None,                None;
    UInt4           "uint4"             "UInt4"             1 1 Int       false false None,                None;
    UInt5           "uint5"             "UInt5"             1 1 Int       false false None,                None;
    UInt6           "uint6"             "UInt6"             1 1 Int       false false None,                None;
    UInt7           "uint7"             "UInt7"             1 1 Int       false false None,                None;
    Int1            "int1"              "Int1"              1 1 Int       true  false None,                None;
    Int2            "int2"              "Int2"              1 1 Int       true  false None,                None;
    Int3            "int3"              "Int3"              1 1 Int       true  false None,                None;
    Int4            "int4"              "Int4"              1 1 Int       true  false None,                None;
    Int5            "int5"              "Int5"              1 1 Int       true  false None,                None;
    Int6            "int6"              "Int6"              1 1 Int       true  false None,                None;
    Int7            "int7"              "Int7"              1 1 Int       true  false None,                None;
    Float8E8M0FNU   "float8_e8m0fnu"    "Float8_e8m0fnu"    1 1 Float     false false Some("F8_E8M0"),     None;
    Float4E2M1FNx2  "float4_e2m1fn_x2"  "Float4_e2m1fn_x2"  1 1 Float     true  false Some("F4"),          None;
    BComplex32      "bcomplex32"        "BComplex32"        4 2 Complex   true  false None,                None;
}

/// Other spellings that `torch.<name>` accepts.
static ALIASES: &[(&str, DType)] = &[
    ("float", DType::Float32),
    ("double", DType::Float64),
    ("half", DType::Float16),
    ("long", DType::Int64),
    ("int", DType::Int32),
    ("short", DType::Int16),
    ("cfloat", DType::Complex64),
    ("cdouble", DType::Complex128),
    ("chalf", DType::ComplexHalf),
];

impl DType {
    fn row(self) -> &'static Row {
        &TABLE[self as usize]
    }

    /// Every dtype, in the order of [`DType::scalar_type_number`].
    pub fn all() -> impl ExactSizeIterator<Item = DType> {
        TABLE.iter().map(|row| row.dtype)
    }

    /// The name after `torch.`, such as `float32`.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// The dtype that `torch.<name>` is, aliases such as `float` and `long` included.
    pub fn from_name(name: &str) -> Option<DType> {
        let canonical = TABLE.iter().find(|row| row.name == name).map(|row| row.dtype);
        canonical.or_else(|| ALIASES.iter().find(|(alias, _)| *alias == name).map(|&(_, d)| d))
    }

    /// The C++ name (`c10::toString(ScalarType)`), such as `Float` or `Long`.
    pub fn scalar_type_name(self) -> &'static str {
        self.row().scalar
    }

    /// The dtype of a C++ name such as `Float`.
    pub fn from_scalar_type_name(name: &str) -> Option<DType> {
        TABLE.iter().find(|row| row.scalar == name).map(|row| row.dtype)
    }

    /// `c10::ScalarType` as a number: 6 is `Float`.
    pub fn scalar_type_number(self) -> u8 {
        self as u8
    }

    /// The dtype of a `c10::ScalarType` number.
    pub fn from_scalar_type_number(number: i64) -> Option<DType> {
        let index = usize::try_from(number).ok()?;
        TABLE.get(index).map(|row| row.dtype)
    }

    /// The dtype of a storage class name without its module: `FloatStorage`, and also those that
    /// only the C++ pickler writes, such as `UInt16Storage` or `Float8_e4m3fnStorage`.
    ///
    /// `UntypedStorage` has no dtype and gives `None`.
    pub fn from_storage_class(class: &str) -> Option<DType> {
        DType::from_scalar_type_name(class.strip_suffix("Storage")?)
    }

    /// The legacy storage class of Python's `torch.save`, such as `FloatStorage`; `None` for the
    /// dtypes that it writes as `UntypedStorage` and `_rebuild_tensor_v3`.
    pub fn storage_class(self) -> Option<&'static str> {
        macro_rules! classes {
            ($($variant:ident $class:literal)*) => {
                match self { $(DType::$variant => Some($class),)* _ => None }
            };
        }
        if !self.row().legacy {
            return None;
        }
        classes! {
            UInt8 "ByteStorage" Int8 "CharStorage" Int16 "ShortStorage" Int32 "IntStorage"
            Int64 "LongStorage" Float16 "HalfStorage" Float32 "FloatStorage"
            Float64 "DoubleStorage" Complex64 "ComplexFloatStorage"
            Complex128 "ComplexDoubleStorage" Bool "BoolStorage" QInt8 "QInt8Storage"
            QUInt8 "QUInt8Storage" QInt32 "QInt32Storage" BFloat16 "BFloat16Storage"
            QUInt4x2 "QUInt4x2Storage" QUInt2x4 "QUInt2x4Storage"
        }
    }

    /// The class that the C++ (TorchScript) pickler writes, for every dtype:
    /// [`DType::scalar_type_name`] with `Storage` behind it.
    pub fn cpp_storage_class(self) -> String {
        format!("{}Storage", self.scalar_type_name())
    }

    /// Bytes of one element as `torch.Tensor.element_size` counts them. The packed quantized types
    /// give 1 although one byte holds several elements; see [`DType::elements_per_byte`].
    pub fn item_size(self) -> usize {
        usize::from(self.row().item)
    }

    /// Bytes of the unit whose order changes between little- and big-endian files: half an element
    /// for complex types, the element otherwise.
    pub fn swap_size(self) -> usize {
        usize::from(self.row().swap)
    }

    /// How many elements (as sizes and strides count them) share a byte: 2 for `quint4x2`, 4 for
    /// `quint2x4`, otherwise 1. `float4_e2m1fn_x2` and the `bits` types count bytes, so give 1.
    pub fn elements_per_byte(self) -> usize {
        match self {
            DType::QUInt4x2 => 2,
            DType::QUInt2x4 => 4,
            _ => 1,
        }
    }

    /// Bytes that `count` elements take side by side.
    pub(crate) fn bytes_for(self, count: u128) -> u128 {
        match self.elements_per_byte() {
            1 => count.saturating_mul(self.item_size() as u128),
            packed => count.div_ceil(packed as u128),
        }
    }

    /// `torch.dtype.is_floating_point`: real floating types, not complex ones.
    pub fn is_floating_point(self) -> bool {
        self.row().kind == Kind::Float
    }

    /// `torch.dtype.is_complex`.
    pub fn is_complex(self) -> bool {
        self.row().kind == Kind::Complex
    }

    /// `qint8`, `quint8`, `qint32`, `quint4x2`, `quint2x4`.
    pub fn is_quantized(self) -> bool {
        self.row().kind == Kind::Quantized
    }

    /// Integer types, without `bool`, the quantized types and the `bits` types.
    pub fn is_integral(self) -> bool {
        self.row().kind == Kind::Int
    }

    /// `torch.dtype.is_signed`. For quantized types, where PyTorch refuses to answer, whether the
    /// stored integers are signed; false for the `bits` types.
    pub fn is_signed(self) -> bool {
        self.row().signed
    }

    /// The dtype of one part of a complex element.
    pub fn to_real(self) -> DType {
        match self {
            DType::ComplexHalf => DType::Float16,
            DType::BComplex32 => DType::BFloat16,
            DType::Complex64 => DType::Float32,
            DType::Complex128 => DType::Float64,
            other => other,
        }
    }

    /// The name in a safetensors header, if that format has the type. For `F4` safetensors counts
    /// half-bytes: the last size is twice PyTorch's.
    pub fn safetensors_name(self) -> Option<&'static str> {
        self.row().safetensors
    }

    /// The dtype of a safetensors name.
    pub fn from_safetensors_name(name: &str) -> Option<DType> {
        TABLE.iter().find(|row| row.safetensors == Some(name)).map(|row| row.dtype)
    }

    /// NumPy's `dtype.str` for little-endian data, such as `<f4`, if NumPy has the type.
    pub fn numpy_descr(self) -> Option<&'static str> {
        self.row().numpy
    }
}

impl fmt::Display for DType {
    /// As Python prints it: `torch.float32`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("torch.{}", self.name()))
    }
}

impl FromStr for DType {
    type Err = Error;

    /// Reads `float32`, an alias such as `float`, or either with `torch.` before it.
    fn from_str(text: &str) -> Result<DType, Error> {
        DType::from_name(text.strip_prefix("torch.").unwrap_or(text))
            .ok_or_else(|| Error::UnknownDType(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_stand_at_their_numbers() {
        for (i, row) in TABLE.iter().enumerate() {
            assert_eq!(row.dtype as usize, i, "{}", row.name);
            assert_eq!(DType::from_scalar_type_number(i as i64), Some(row.dtype));
        }
        assert_eq!(DType::BFloat16.scalar_type_number(), 15);
        assert_eq!(DType::UInt1.scalar_type_number(), 30);
        assert_eq!(DType::BComplex32.scalar_type_number(), 46);
        assert_eq!(DType::from_scalar_type_number(47), None);
        assert_eq!(DType::from_scalar_type_number(-1), None);
    }

    #[test]
    fn every_name_reads_back() {
        for dtype in DType::all() {
            assert_eq!(DType::from_name(dtype.name()), Some(dtype));
            assert_eq!(dtype.to_string().parse::<DType>().unwrap(), dtype);
            assert_eq!(DType::from_storage_class(&dtype.cpp_storage_class()), Some(dtype));
            if let Some(class) = dtype.storage_class() {
                assert_eq!(class, dtype.cpp_storage_class());
            }
            assert_eq!(dtype.storage_class().is_some(), dtype.row().legacy);
            if let Some(name) = dtype.safetensors_name() {
                assert_eq!(DType::from_safetensors_name(name), Some(dtype));
            }
        }
        assert_eq!(DType::from_storage_class("UntypedStorage"), None);
        assert_eq!(DType::from_storage_class("Float"), None);
        assert!("torch.float33".parse::<DType>().is_err());
    }

    #[test]
    fn aliases_and_sizes() {
        let cases = [
            ("float", DType::Float32, 4, 4),
            ("half", DType::Float16, 2, 2),
            ("long", DType::Int64, 8, 8),
            ("cdouble", DType::Complex128, 16, 8),
            ("chalf", DType::ComplexHalf, 4, 2),
        ];
        for (name, dtype, item, swap) in cases {
            assert_eq!(DType::from_name(name), Some(dtype), "{name}");
            assert_eq!((dtype.item_size(), dtype.swap_size()), (item, swap), "{name}");
        }
        assert_eq!(DType::QUInt4x2.bytes_for(5), 3);
        assert_eq!(DType::QUInt2x4.bytes_for(5), 2);
        assert_eq!(DType::Int64.bytes_for(5), 40);
    }
}
