//! The numbers that stand for dtypes in exported programs: neither TorchScript's nor C++'s.

use sconce_tensor::DType;

static NUMBERS: [(i64, DType); 21] = [
    (1, DType::UInt8),
    (2, DType::Int8),
    (3, DType::Int16),
    (4, DType::Int32),
    (5, DType::Int64),
    (6, DType::Float16),
    (7, DType::Float32),
    (8, DType::Float64),
    (9, DType::ComplexHalf),
    (10, DType::Complex64),
    (11, DType::Complex128),
    (12, DType::Bool),
    (13, DType::BFloat16),
    (28, DType::UInt16),
    (29, DType::Float8E4M3FN),
    (30, DType::Float8E5M2),
    (31, DType::Float8E4M3FNUZ),
    (32, DType::Float8E5M2FNUZ),
    (33, DType::Float8E8M0FNU),
    (34, DType::UInt32),
    (35, DType::UInt64),
];

/// What a number stands for; schema 8.1 numbered two of them otherwise.
pub fn dtype_of_number(number: i64) -> Option<DType> {
    let number = match number {
        14 => 29,
        15 => 30,
        number => number,
    };
    NUMBERS.iter().find(|(known, _)| *known == number).map(|&(_, dtype)| dtype)
}

/// The number that stands for a dtype; quantized and packed ones have none.
pub fn number_of_dtype(dtype: DType) -> Option<i64> {
    NUMBERS.iter().find(|(_, known)| *known == dtype).map(|&(number, _)| number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_dtypes_are_one_to_one() {
        for (number, dtype) in NUMBERS {
            assert_eq!(dtype_of_number(number), Some(dtype));
            assert_eq!(number_of_dtype(dtype), Some(number));
        }
        assert_eq!(dtype_of_number(14), Some(DType::Float8E4M3FN));
        assert_eq!(dtype_of_number(0), None);
        assert_eq!(number_of_dtype(DType::QInt8), None);
    }
}
