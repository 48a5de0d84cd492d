//! The names of `c10::ScalarType`. Dtypes as such are in `sconce-tensor`, which this crate does without: its tests see
//! that the names are the same.

/// A dtype that types and schemas name.
pub(crate) struct ScalarType {
    pub(crate) number: i64,
    /// In Python, behind `torch.`.
    pub(crate) name: &'static str,
    /// In C++ and in types of graphs.
    pub(crate) cpp_name: &'static str,
}

const fn row(number: i64, name: &'static str, cpp_name: &'static str) -> ScalarType {
    ScalarType { number, name, cpp_name }
}

/// In the order of their numbers. Integers of less than a byte have no types in graphs.
pub(crate) const SCALAR_TYPES: &[ScalarType] = &[
    row(0, "uint8", "Byte"),
    row(1, "int8", "Char"),
    row(2, "int16", "Short"),
    row(3, "int32", "Int"),
    row(4, "int64", "Long"),
    row(5, "float16", "Half"),
    row(6, "float32", "Float"),
    row(7, "float64", "Double"),
    row(8, "complex32", "ComplexHalf"),
    row(9, "complex64", "ComplexFloat"),
    row(10, "complex128", "ComplexDouble"),
    row(11, "bool", "Bool"),
    row(12, "qint8", "QInt8"),
    row(13, "quint8", "QUInt8"),
    row(14, "qint32", "QInt32"),
    row(15, "bfloat16", "BFloat16"),
    row(16, "quint4x2", "QUInt4x2"),
    row(17, "quint2x4", "QUInt2x4"),
    row(18, "bits1x8", "Bits1x8"),
    row(19, "bits2x4", "Bits2x4"),
    row(20, "bits4x2", "Bits4x2"),
    row(21, "bits8", "Bits8"),
    row(22, "bits16", "Bits16"),
    row(23, "float8_e5m2", "Float8_e5m2"),
    row(24, "float8_e4m3fn", "Float8_e4m3fn"),
    row(25, "float8_e5m2fnuz", "Float8_e5m2fnuz"),
    row(26, "float8_e4m3fnuz", "Float8_e4m3fnuz"),
    row(27, "uint16", "UInt16"),
    row(28, "uint32", "UInt32"),
    row(29, "uint64", "UInt64"),
    row(44, "float8_e8m0fnu", "Float8_e8m0fnu"),
    row(45, "float4_e2m1fn_x2", "Float4_e2m1fn_x2"),
];

/// Other names in Python.
const ALIASES: &[(&str, i64)] = &[
    ("short", 2),
    ("int", 3),
    ("half", 5),
    ("double", 7),
    ("chalf", 8),
    ("cfloat", 9),
    ("cdouble", 10),
];

/// The number of a dtype by a name in Python.
pub(crate) fn number(name: &str) -> Option<i64> {
    let row = SCALAR_TYPES.iter().find(|row| row.name == name).map(|row| row.number);
    row.or_else(|| ALIASES.iter().find(|(alias, _)| *alias == name).map(|&(_, number)| number))
}

/// A name in C++ that types of graphs may have.
pub(crate) fn cpp_name(name: &str) -> Option<&'static str> {
    SCALAR_TYPES.iter().map(|row| row.cpp_name).find(|known| *known == name)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may fail")]

    use sconce_tensor::DType;

    use super::*;

    #[test]
    fn names_are_those_of_dtypes() {
        for row in SCALAR_TYPES {
            let dtype = DType::from_scalar_type_number(row.number).unwrap();
            assert_eq!((dtype.name(), dtype.scalar_type_name()), (row.name, row.cpp_name));
        }
        for (alias, number) in ALIASES {
            let dtype = DType::from_name(alias).unwrap();
            assert_eq!(i64::from(dtype.scalar_type_number()), *number, "{alias}");
        }
    }
}
