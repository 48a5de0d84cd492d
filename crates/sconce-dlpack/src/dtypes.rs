//! PyTorch's dtypes in DLPack's numbers.

use sconce_tensor::DType;

use crate::abi::DLDataType;

/// dtype, `DLDataTypeCode`, bits, lanes.
const TABLE: &[(DType, u8, u8, u16)] = &[
    (DType::Int8, 0, 8, 1),
    (DType::Int16, 0, 16, 1),
    (DType::Int32, 0, 32, 1),
    (DType::Int64, 0, 64, 1),
    (DType::UInt8, 1, 8, 1),
    (DType::UInt16, 1, 16, 1),
    (DType::UInt32, 1, 32, 1),
    (DType::UInt64, 1, 64, 1),
    (DType::Float16, 2, 16, 1),
    (DType::Float32, 2, 32, 1),
    (DType::Float64, 2, 64, 1),
    (DType::BFloat16, 4, 16, 1),
    (DType::ComplexHalf, 5, 32, 1),
    (DType::Complex64, 5, 64, 1),
    (DType::Complex128, 5, 128, 1),
    (DType::Bool, 6, 8, 1),
    (DType::Float8E4M3FN, 10, 8, 1),
    (DType::Float8E4M3FNUZ, 11, 8, 1),
    (DType::Float8E5M2, 12, 8, 1),
    (DType::Float8E5M2FNUZ, 13, 8, 1),
    (DType::Float8E8M0FNU, 14, 8, 1),
    (DType::Float4E2M1FNx2, 17, 4, 2),
];

/// A dtype as DLPack has it, if it does.
pub fn to_dl(dtype: DType) -> Option<DLDataType> {
    let row = TABLE.iter().find(|row| row.0 == dtype)?;
    Some(DLDataType { code: row.1, bits: row.2, lanes: row.3 })
}

/// The dtype of DLPack's numbers, if PyTorch has it.
pub fn from_dl(dtype: DLDataType) -> Option<DType> {
    let same = |row: &&(DType, u8, u8, u16)| {
        (row.1, row.2, row.3) == (dtype.code, dtype.bits, dtype.lanes)
    };
    TABLE.iter().find(same).map(|row| row.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_dtype_reads_back_and_has_its_size() {
        for &(dtype, ..) in TABLE {
            let dl = to_dl(dtype).unwrap();
            assert_eq!(from_dl(dl), Some(dtype));
            assert_eq!(usize::from(dl.bits) * usize::from(dl.lanes), 8 * dtype.item_size());
        }
        assert_eq!(to_dl(DType::QInt8), None);
        assert_eq!(from_dl(DLDataType { code: 3, bits: 64, lanes: 1 }), None);
    }
}
