//! Products with weights that are kept as small integers or `float8`, and scales beside them.

use sconce_kernel_core::simd::dispatch::{Level, best};

use crate::{BinaryOp, DType, Error, Operand, Result, Tensor, binary, mm};

/// Groups of rows of a weight that may share scale and zero point.
const GROUPS: [i64; 4] = [32, 64, 128, 256];

/// How rows of 4-bit codes are packed: PyTorch packs them for the vector instructions of the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Packing {
    /// How many output channels a block has.
    block: usize,
    /// Whether the two codes of a byte are half a block apart, in whole blocks. Elsewhere they are neighbours.
    halves: bool,
}

impl Packing {
    fn of(level: Level) -> Packing {
        match level {
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => Packing { block: 64, halves: true },
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => Packing { block: 32, halves: true },
            _ => Packing { block: 32, halves: false },
        }
    }

    /// The byte of a code, and whether it is the upper half.
    fn place(self, channel: usize, at: usize, channels: usize, inner: usize) -> (usize, bool) {
        let (block, within) = (channel / self.block, channel % self.block);
        let start = block * self.block;
        let width = self.block.min(channels - start);
        let (byte, upper) = match self.halves && width == self.block {
            true => (within % (width / 2), within >= width / 2),
            false => (within / 2, within % 2 == 1),
        };
        (start * inner / 2 + at * (width / 2) + byte, upper)
    }
}

fn refused<T>(message: String) -> Result<T> {
    Err(Error::runtime(message))
}

/// A matrix of one of the floating dtypes that these products take.
fn check_input(operator: &str, input: &Tensor) -> Result<()> {
    if !matches!(input.dtype(), DType::Float32 | DType::Float16 | DType::BFloat16) {
        return refused(format!(
            "{operator} : expect A to be either 32-bit or 16-bit float tensor."
        ));
    }
    if input.dim() != 2 {
        return refused(format!("{operator} : expect A to be 2D tensor."));
    }
    Ok(())
}

fn check_dtype(expected: DType, tensor: &Tensor) -> Result<()> {
    if tensor.dtype() == expected {
        return Ok(());
    }
    let (expected, found) = (expected.scalar_type_name(), tensor.dtype().scalar_type_name());
    refused(format!("expected scalar type {expected} but found {found}"))
}

fn times(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    binary(BinaryOp::Mul, Operand::Tensor(a), Operand::Tensor(b))
}

/// `torch._weight_int8pack_mm`: a product with rows of `int8`, each with a scale.
///
/// # Errors
/// For other dtypes, and sizes that do not fit each other.
pub fn int8_weight_product(input: &Tensor, weight: &Tensor, scales: &Tensor) -> Result<Tensor> {
    let operator = "_weight_int8pack_mm_cpu";
    check_input(operator, input)?;
    if weight.dtype() != DType::Int8 {
        return refused(format!("{operator} : expect B to be int8 tensor."));
    }
    let inner = input.size(1)?;
    if weight.dim() != 2 || weight.size(1)? != inner {
        return refused(format!("{operator} : expect B.size(1) == {inner}"));
    }
    let channels = weight.size(0)?;
    if scales.sizes() != [channels] {
        return refused(format!("{operator} : expect scales to be 1d tensor with size {channels}"));
    }
    check_dtype(input.dtype(), scales)?;
    let real = |tensor: &Tensor| tensor.to_dtype(DType::Float32);
    let product = mm(&real(input)?, &real(weight)?.t()?)?;
    times(&product, &real(scales)?)?.to_dtype(input.dtype())
}

/// `torch._convert_weight_to_int4pack_for_cpu`: codes of four bits, two to a byte, packed as PyTorch packs them for
/// the vector instructions of this machine.
///
/// # Errors
/// For other dtypes than `int32`, and sizes that cannot be packed.
pub fn pack_int4_weight(weight: &Tensor) -> Result<Tensor> {
    let operator = "_convert_weight_to_int4pack_cpu";
    if weight.dim() != 2 {
        return refused(format!("{operator} : expect weight to be 2D tensor."));
    }
    if weight.dtype() != DType::Int32 {
        return refused(format!("{operator} : expect weight to be kInt."));
    }
    let (channels, inner) = (weight.size(0)?, weight.size(1)?);
    if channels % 16 != 0 {
        return refused(format!("{operator} : expect N to be dividable by 16"));
    }
    if inner % 2 != 0 {
        return refused("_convert_weight_to_int4pack: expect K to be dividable by 2".to_owned());
    }
    let packed = packed(&weight.to_vec::<i32>()?, inner as usize, Packing::of(best()));
    Tensor::from_slice(&packed, &[channels, inner / 2])
}

fn packed(codes: &[i32], inner: usize, packing: Packing) -> Vec<u8> {
    let mut packed = vec![0u8; codes.len() / 2];
    let channels = codes.len().checked_div(inner).unwrap_or(0);
    for (channel, row) in codes.chunks(inner.max(1)).enumerate() {
        for (at, code) in row.iter().enumerate() {
            let (byte, upper) = packing.place(channel, at, channels, inner);
            packed[byte] |= ((code & 0xf) as u8) << if upper { 4 } else { 0 };
        }
    }
    packed
}

fn unpacked(packed: &[u8], inner: usize, packing: Packing) -> Vec<u8> {
    let channels = (2 * packed.len()).checked_div(inner).unwrap_or(0);
    let mut codes = Vec::with_capacity(2 * packed.len());
    for channel in 0..channels {
        for at in 0..inner {
            let (byte, upper) = packing.place(channel, at, channels, inner);
            codes.push(packed[byte] >> if upper { 4 } else { 0 } & 0xf);
        }
    }
    codes
}

/// `torch._weight_int4pack_mm_for_cpu`: a product with codes of four bits, `(code - 8) * scale + zero`, where groups
/// of rows have a scale and a zero for each output channel.
///
/// # Errors
/// For other dtypes, and sizes that do not fit each other.
pub fn int4_weight_product(
    input: &Tensor,
    weight: &Tensor,
    group: i64,
    scales_and_zeros: &Tensor,
) -> Result<Tensor> {
    let operator = "_weight_int4pack_mm_cpu";
    check_input(operator, input)?;
    if weight.dtype() != DType::UInt8 {
        return refused(format!("{operator} : expect B to be uint8 tensor."));
    }
    let inner = input.size(1)?;
    if weight.dim() != 2 || weight.size(1)? != inner / 2 || inner % 2 != 0 {
        let found = weight.sizes().get(1).copied().unwrap_or_default();
        return refused(format!("{operator} : expect B.size(1) to be K/2, got {found}"));
    }
    if !GROUPS.contains(&group) {
        return refused(format!(
            "{operator}: expect qGroupSize to be 32, 64, 128 or 256, got {group}"
        ));
    }
    let channels = weight.size(0)?;
    let groups = inner / group + i64::from(inner % group != 0);
    if scales_and_zeros.sizes() != [groups, channels, 2] {
        return refused(format!(
            "{operator}: expect qScaleAndZeros to be 3d tensor with sizes [{groups}, {channels}, 2]"
        ));
    }
    check_dtype(input.dtype(), scales_and_zeros)?;
    let codes = unpacked(&weight.to_vec::<u8>()?, inner as usize, Packing::of(best()));
    let scales = scales_and_zeros.to_dtype(DType::Float32)?.to_vec::<f32>()?;
    let (width, group) = (channels as usize, group as usize);
    let rows = codes.chunks((inner as usize).max(1)).enumerate();
    let weight: Vec<f32> = rows
        .flat_map(|(channel, row)| {
            let scales = &scales;
            row.iter().enumerate().map(move |(at, &code)| {
                let place = 2 * (at / group * width + channel);
                (f32::from(code) - 8.0) * scales[place] + scales[place + 1]
            })
        })
        .collect();
    let weight = Tensor::from_slice(&weight, &[channels, inner])?;
    mm(&input.to_dtype(DType::Float32)?, &weight.t()?)?.to_dtype(input.dtype())
}

/// The operands of [`scaled_product`] beside the matrices.
#[derive(Debug, Clone, Copy)]
pub struct Scaling<'a> {
    /// By what the rows of the first matrix are multiplied: one number, or one for each.
    pub of_rows: &'a Tensor,
    /// By what the columns of the second are.
    pub of_columns: &'a Tensor,
    /// What is added.
    pub bias: Option<&'a Tensor>,
    /// What a result of `float8` is multiplied by.
    pub of_result: Option<&'a Tensor>,
    /// The dtype of the result.
    pub dtype: Option<DType>,
}

/// `torch._scaled_mm`: a product of matrices of `float8`.
///
/// # Errors
/// For matrices of other dtypes, and scales that are neither one number nor one for each row and column.
pub fn scaled_product(a: &Tensor, b: &Tensor, scaling: &Scaling<'_>) -> Result<Tensor> {
    if a.dim() != 2 || b.dim() != 2 {
        let which = if a.dim() != 2 { "mat1" } else { "mat2" };
        return refused(format!("{which} must be a matrix"));
    }
    let ([rows, inner], [same, columns]) = (a.sizes(), b.sizes()) else {
        return refused("mat1 must be a matrix".to_owned());
    };
    if inner != same {
        return refused(format!(
            "mat_a and mat_b shapes cannot be multiplied ({rows}x{inner} and {same}x{columns})"
        ));
    }
    let (of_rows, of_columns) = (scaling.of_rows, scaling.of_columns);
    let are_numbers = of_rows.numel() == 1 && of_columns.numel() == 1;
    let are_vectors = of_rows.sizes() == [*rows, 1] && of_columns.sizes() == [1, *columns];
    let are_float = [of_rows, of_columns].iter().all(|scale| scale.dtype() == DType::Float32);
    if !(is_float8(a.dtype()) && is_float8(b.dtype()) && are_float && (are_numbers || are_vectors))
    {
        return refused(format!(
            "Invalid scaling configuration.\n- For TensorWise scaling, a and b should be float8, scales should be \
             float and singletons.\n- For RowWise scaling, a and b should be float8, scales should be float, scale_a \
             should be ({rows}, 1) and scale_b should be (1, {columns}), and both should be contiguous."
        ));
    }
    let real = |tensor: &Tensor| tensor.to_dtype(DType::Float32);
    let mut product = mm(&real(a)?, &real(b)?)?;
    let as_number = |scale: &Tensor| match are_numbers {
        true => scale.reshape(&[]),
        false => Ok(scale.clone()),
    };
    let (of_rows, of_columns) = (as_number(of_rows)?, as_number(of_columns)?);
    product = match are_numbers {
        true => times(&product, &times(&of_rows, &of_columns)?)?,
        false => times(&times(&product, &of_rows)?, &of_columns)?,
    };
    if let Some(bias) = scaling.bias {
        product = binary(BinaryOp::Add, Operand::Tensor(&product), Operand::Tensor(&real(bias)?))?;
    }
    let dtype = scaling.dtype.unwrap_or(a.dtype());
    if let Some(scale) = scaling.of_result
        && is_float8(dtype)
    {
        let scale = real(scale)?.reshape(&[])?;
        product = binary(BinaryOp::Div, Operand::Tensor(&product), Operand::Tensor(&scale))?;
    }
    product.to_dtype(dtype)
}

fn is_float8(dtype: DType) -> bool {
    matches!(dtype, DType::Float8E4M3FN | DType::Float8E5M2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_packed_for_the_machine_and_come_back() {
        let levels = [
            Packing { block: 64, halves: true },
            Packing { block: 32, halves: true },
            Packing { block: 32, halves: false },
        ];
        for (packing, places) in levels.into_iter().zip([
            // Where PyTorch 2.15 puts the second code of some channels of 112, of 4 codes each.
            [(0, 32, false), (32, 32, true), (63, 63, true), (95, 167, true), (96, 168, false)],
            [(0, 16, false), (16, 16, true), (31, 31, true), (95, 159, true), (96, 200, false)],
            [(0, 16, false), (1, 16, true), (31, 31, true), (95, 159, true), (96, 200, false)],
        ]) {
            for (channel, byte, upper) in places {
                assert_eq!(
                    packing.place(channel, 1, 112, 4),
                    (byte, upper),
                    "{packing:?} {channel}"
                );
            }
            let codes: Vec<i32> = (0..112 * 4).map(|at| at * 7 % 16).collect();
            let back = unpacked(&packed(&codes, 4, packing), 4, packing);
            assert!(codes.iter().zip(&back).all(|(&code, &back)| code == i32::from(back)));
        }
    }

    #[test]
    fn weights_of_small_integers_are_multiplied_with_their_scales() {
        let input = Tensor::from_slice(&[1f32, 2.0, -1.0, 0.5], &[2, 2]).unwrap();
        let weight = Tensor::from_slice(&[10i8, -20, 127, 4], &[2, 2]).unwrap();
        let scales = Tensor::from_slice(&[0.5f32, 2.0], &[2]).unwrap();
        let product = int8_weight_product(&input, &weight, &scales).unwrap();
        assert_eq!(product.to_vec::<f32>().unwrap(), [-15.0, 270.0, -10.0, -250.0]);
        let short = scales.narrow(0, 0, 1).unwrap();
        let said = int8_weight_product(&input, &weight, &short).unwrap_err();
        assert!(said.message().contains("expect scales to be 1d tensor with size 2"), "{said:?}");
    }

    #[test]
    fn codes_of_four_bits_are_moved_and_scaled_by_groups() {
        let codes: Vec<i32> = (0..16 * 64).map(|at| at % 16).collect();
        let weight = pack_int4_weight(&Tensor::from_slice(&codes, &[16, 64]).unwrap()).unwrap();
        let input = Tensor::from_slice(&[1f32; 64], &[1, 64]).unwrap();
        let scales: Vec<f32> = (0..2 * 16).flat_map(|at| [1.0 + (at / 16) as f32, 0.25]).collect();
        let scales = Tensor::from_slice(&scales, &[2, 16, 2]).unwrap();
        let product = int4_weight_product(&input, &weight, 32, &scales).unwrap();
        // Codes 0 to 15 four times over, less 8: -8 twice with scale 1, twice with 2; 64 zeros of 0.25.
        assert!(product.to_vec::<f32>().unwrap().iter().all(|&x| x == -16.0 - 32.0 + 16.0));
        let said = int4_weight_product(&input, &weight, 64, &scales).unwrap_err();
        assert!(said.message().contains("qScaleAndZeros"), "{said:?}");
    }

    #[test]
    fn a_product_of_float8_is_scaled_and_rounded_once() {
        let a = Tensor::from_slice(&[1f32, 2.0, -4.0, 0.5], &[2, 2]).unwrap();
        let small = a.to_dtype(DType::Float8E4M3FN).unwrap();
        let half = Tensor::from_slice(&[0.5f32], &[1]).unwrap();
        let two = Tensor::from_slice(&[2.0f32], &[]).unwrap();
        let mut scaling = Scaling {
            of_rows: &half,
            of_columns: &two,
            bias: None,
            of_result: None,
            dtype: Some(DType::Float32),
        };
        let product = scaled_product(&small, &small, &scaling).unwrap();
        assert_eq!(product.to_vec::<f32>().unwrap(), [-7.0, 3.0, -6.0, -7.75]);
        scaling.dtype = None;
        scaling.of_result = Some(&two);
        let product = scaled_product(&small, &small, &scaling).unwrap();
        assert_eq!(product.dtype(), DType::Float8E4M3FN);
        let real = product.to_dtype(DType::Float32).unwrap().to_vec::<f32>().unwrap();
        // Of two as near the even one: -3.875 becomes -4.
        assert_eq!(real, [-3.5, 1.5, -3.0, -4.0]);
        let said = scaled_product(&a, &small, &scaling).unwrap_err();
        assert!(said.message().starts_with("Invalid scaling configuration."), "{said:?}");
    }
}
