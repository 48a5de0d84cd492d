//! Embeddings whose rows are quantized one by one. As in FBGEMM, a row of bytes holds the codes,
//! followed by scale and bias.
//!
//! Codes of eight bits have a scale and bias of `float32`, shorter codes of `float16`. Codes fill bytes
//! from the low bits up. An element is `scale * code + bias`.

use half::f16;
use sconce_kernel_core::tensor::quantization::{codes, quantizer};
use sconce_kernel_core::tensor::quantizer::Quantizer;

use crate::{DType, Dims, Error, Result, Tensor};

/// How many bits a code has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CodeBits {
    /// `byte`.
    Eight,
    /// `4bit`.
    Four,
    /// `2bit`.
    Two,
}

impl CodeBits {
    fn count(self) -> usize {
        match self {
            CodeBits::Eight => 8,
            CodeBits::Four => 4,
            CodeBits::Two => 2,
        }
    }

    /// How many codes a byte holds.
    fn in_a_byte(self) -> usize {
        8 / self.count()
    }

    fn most(self) -> i64 {
        (1 << self.count()) - 1
    }

    /// Bytes of the scale and the bias.
    fn tail(self) -> usize {
        if self == CodeBits::Eight { 8 } else { 4 }
    }

    /// How a number is kept beside the codes.
    fn kept(self, x: f32) -> f32 {
        if self == CodeBits::Eight { x } else { f16::from_f32(x).to_f32() }
    }

    fn write_row(self, codes: impl Iterator<Item = i64>, [scale, bias]: [f32; 2], out: &mut [u8]) {
        for (at, code) in codes.enumerate() {
            if let Some(byte) = out.get_mut(at / self.in_a_byte()) {
                *byte |= (code as u8) << (at % self.in_a_byte() * self.count());
            }
        }
        let tail = out.len().saturating_sub(self.tail());
        let numbers = [scale, bias].into_iter();
        let bytes: Vec<u8> = match self {
            CodeBits::Eight => numbers.flat_map(f32::to_le_bytes).collect(),
            _ => numbers.flat_map(|x| f16::from_f32(x).to_le_bytes()).collect(),
        };
        if let Some(out) = out.get_mut(tail..) {
            out.copy_from_slice(&bytes);
        }
    }
}

/// A row of bytes taken apart.
struct Row<'a> {
    codes: &'a [u8],
    scale: f32,
    bias: f32,
    bits: CodeBits,
}

impl<'a> Row<'a> {
    fn of(bytes: &'a [u8], bits: CodeBits) -> Option<Row<'a>> {
        let (codes, tail) = bytes.split_at_checked(bytes.len().checked_sub(bits.tail())?)?;
        let (scale, bias) = match (bits, tail) {
            (CodeBits::Eight, &[a, b, c, d, e, f, g, h]) => {
                (f32::from_le_bytes([a, b, c, d]), f32::from_le_bytes([e, f, g, h]))
            }
            (_, &[a, b, c, d]) => {
                (f16::from_le_bytes([a, b]).to_f32(), f16::from_le_bytes([c, d]).to_f32())
            }
            _ => return None,
        };
        Some(Row { codes, scale, bias, bits })
    }

    /// Adds `factor` times the row to a sum.
    fn add_to(&self, sum: &mut [f32], factor: f32) {
        let (scale, bias) = (self.scale * factor, self.bias * factor);
        let (count, in_a_byte) = (self.bits.count(), self.bits.in_a_byte());
        for (at, sum) in sum.iter_mut().enumerate() {
            let byte = self.codes.get(at / in_a_byte).copied().unwrap_or(0);
            let code = i64::from(byte) >> (at % in_a_byte * count) & self.bits.most();
            *sum = (code as f32).mul_add(scale, *sum + bias);
        }
    }
}

/// Rows of bytes: what [`pack_rows`] and [`pack_quantized_rows`] give.
struct Table<'a> {
    bytes: &'a [u8],
    width: usize,
    rows: i64,
    bits: CodeBits,
}

impl<'a> Table<'a> {
    fn of(bytes: &'a [u8], sizes: &[i64], bits: CodeBits) -> Result<Table<'a>> {
        let (Some(&width), rows) = (sizes.last(), bytes.len() as i64) else {
            return Err(Error::runtime("weight of quantized rows must have a dimension"));
        };
        if (width as usize) < bits.tail() {
            return Err(Error::runtime("quantized rows are too short for a scale and a bias"));
        }
        Ok(Table { bytes, width: width as usize, rows: rows / width, bits })
    }

    fn columns(&self) -> usize {
        (self.width - self.bits.tail()) * self.bits.in_a_byte()
    }

    fn row(&self, at: i64) -> Option<Row<'a>> {
        let start = usize::try_from(at).ok()?.checked_mul(self.width)?;
        Row::of(self.bytes.get(start..start.checked_add(self.width)?)?, self.bits)
    }
}

fn bytes_of(packed: &Tensor) -> Result<Tensor> {
    match packed.dtype() {
        DType::UInt8 => packed.contiguous(),
        other => Err(Error::no_kernel("quantized rows", other)),
    }
}

/// `quantized::embedding_bag_byte_prepack`, `embedding_bag_4bit_prepack` and `embedding_bag_2bit_prepack`:
/// each row in steps from its least number to its greatest.
///
/// # Errors
/// For other dtypes than `float32` and `float16`, and columns that do not fill bytes.
pub fn pack_rows(weight: &Tensor, bits: CodeBits) -> Result<Tensor> {
    if !matches!(weight.dtype(), DType::Float32 | DType::Float16) {
        let name = if bits == CodeBits::Eight { "byte" } else { "4bit" };
        return Err(Error::runtime(format!(
            "'embedding_bag_{name}_prepack' only support float32 or float16."
        )));
    }
    let columns = weight.sizes().last().map_or(0, |&columns| columns as usize);
    let aligned = columns.is_multiple_of(bits.in_a_byte());
    if !aligned || (bits != CodeBits::Eight && weight.dim() != 2) {
        let count = bits.count();
        return Err(Error::runtime(match aligned {
            true => "Unsupported number of columns".to_owned(),
            false => format!(
                "qembeddingbag_{count}bit_prepack only works for the number of columns a multiple of {}",
                bits.in_a_byte()
            ),
        }));
    }
    let numbers = weight.to_dtype(DType::Float32)?.contiguous()?;
    let numbers = numbers.read::<f32>()?;
    packed(weight.sizes(), bits, |at, out| {
        let row = numbers.get(at * columns..(at + 1) * columns).unwrap_or_default();
        let (least, steps) = range(row, bits);
        let codes = row.iter().map(|x| nearest((x - least) * steps.1, bits));
        bits.write_row(codes, [steps.0, least], out);
    })
}

/// The least number of a row as it is kept, the size of a step, and what is multiplied by for it.
fn range(row: &[f32], bits: CodeBits) -> (f32, (f32, f32)) {
    let least = row.iter().copied().fold(f32::INFINITY, f32::min);
    let most = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let (least, range) = (bits.kept(least), most - bits.kept(least));
    if bits == CodeBits::Eight {
        return (least, (range / 255.0, 255.0 / (range + 1e-8)));
    }
    let scale = bits.kept(if range == 0.0 { 1.0 } else { range / bits.most() as f32 });
    let usable = scale != 0.0 && !(1.0 / scale).is_infinite();
    (least, if usable { (scale, 1.0 / scale) } else { (1.0, 1.0) })
}

fn nearest(x: f32, bits: CodeBits) -> i64 {
    (x.round_ties_even() as i64).clamp(0, bits.most())
}

/// Rows of bytes for rows of numbers of these sizes.
fn packed(
    sizes: &[i64],
    bits: CodeBits,
    mut write: impl FnMut(usize, &mut [u8]),
) -> Result<Tensor> {
    let columns = sizes.last().map_or(0, |&columns| columns as usize);
    let width = columns.div_ceil(bits.in_a_byte()) + bits.tail();
    let mut wide = Dims::from_slice(sizes);
    if let Some(last) = wide.last_mut() {
        *last = width as i64;
    }
    let result = Tensor::zeros(&wide, DType::UInt8)?;
    for (at, row) in result.write::<u8>()?.chunks_exact_mut(width).enumerate() {
        write(at, row);
    }
    Ok(result)
}

/// `quantized::embedding_bag_prepack`: the rows of a tensor of the scheme
/// `per_channel_affine_float_qparams`.
///
/// # Errors
/// For other schemes and dtypes.
pub fn pack_quantized_rows(weight: &Tensor) -> Result<(Tensor, CodeBits)> {
    let bits = match weight.dtype() {
        DType::QUInt8 => CodeBits::Eight,
        DType::QUInt4x2 => CodeBits::Four,
        _ => {
            return Err(Error::runtime(
                "qembedding_bag_prepack currently only supports quint8 and quint4x2 weights",
            ));
        }
    };
    let known = quantizer(weight)?;
    let Quantizer::PerChannelFloat { scales, zero_points, axis } = &*known else {
        return Err(Error::runtime(
            "Expect embedding_bag weights to be quantized using kPerChannelAffineFloatQParams",
        ));
    };
    let columns = weight.sizes().last().map_or(0, |&columns| columns as usize);
    if *axis != 0 || weight.dim() != 2 || !columns.is_multiple_of(bits.in_a_byte()) {
        let message = "quantized::embedding_bag_prepack of a tensor of this shape";
        return Err(Error::not_implemented(message));
    }
    let all = codes(weight)?;
    let rows = packed(weight.sizes(), bits, |at, out| {
        let row = all.get(at * columns..(at + 1) * columns).unwrap_or_default();
        let scale = scales.get(at).copied().unwrap_or(1.0);
        let bias = -zero_points.get(at).copied().unwrap_or(0.0) * scale;
        bits.write_row(row.iter().copied(), [scale, bias], out);
    })?;
    Ok((rows, bits))
}

/// `quantized::embedding_bag_byte_unpack`, `embedding_bag_4bit_unpack` and `embedding_bag_2bit_unpack`.
///
/// # Errors
/// For what are no rows of bytes.
pub fn unpack_rows(rows: &Tensor, bits: CodeBits) -> Result<Tensor> {
    let bytes = bytes_of(rows)?;
    let bytes = bytes.read::<u8>()?;
    let table = Table::of(&bytes, rows.sizes(), bits)?;
    let mut sizes = Dims::from_slice(rows.sizes());
    if let Some(last) = sizes.last_mut() {
        *last = table.columns() as i64;
    }
    let result = Tensor::zeros(&sizes, DType::Float32)?;
    for (at, out) in result.write::<f32>()?.chunks_exact_mut(table.columns().max(1)).enumerate() {
        if let Some(row) = table.row(at as i64) {
            row.add_to(out, 1.0);
        }
    }
    Ok(result)
}

/// How [`quantized_embedding_bag`] reads its bags.
#[derive(Debug, Clone, Copy, Default)]
pub struct RowBags<'a> {
    /// Where each bag starts; `None` where each row of a matrix of indices is a bag.
    pub offsets: Option<&'a Tensor>,
    /// A factor for each index.
    pub weights: Option<&'a Tensor>,
    /// For rows left out of the table: the row of each index, or -1 for one that counts for nothing.
    pub mapping: Option<&'a Tensor>,
    /// Whether the last offset is the end of the last bag.
    pub include_last_offset: bool,
}

fn ints(tensor: &Tensor, what: &str) -> Result<Vec<i64>> {
    match tensor.dtype() {
        DType::Int32 | DType::Int64 => tensor.to_dtype(DType::Int64)?.to_vec(),
        other => Err(Error::runtime(format!(
            "Expect 32 or 64 bit {what}, but found {} instead.",
            other.scalar_type_name()
        ))),
    }
}

fn check_indices(indices: &Tensor) -> Result<()> {
    if matches!(indices.dim(), 1 | 2) {
        return Ok(());
    }
    Err(Error::runtime(format!(
        "qembedding/qembedding_bag operator supports 1 or 2d indices, got {}",
        indices.dim()
    )))
}

/// `quantized::embedding_byte` and `embedding_4bit`: the row of each index.
///
/// # Errors
/// For indices that are not rows.
pub fn quantized_embedding(rows: &Tensor, bits: CodeBits, indices: &Tensor) -> Result<Tensor> {
    check_indices(indices)?;
    let count = Tensor::from_slice(&(0..indices.numel()).collect::<Vec<_>>(), &[indices.numel()])?;
    let bags = RowBags { offsets: Some(&count), ..RowBags::default() };
    let found = quantized_embedding_bag(rows, bits, &indices.reshape(&[-1])?, &bags)?;
    let sizes: Dims = indices.sizes().iter().chain(found.sizes().last()).copied().collect();
    found.view(&sizes)
}

/// `quantized::embedding_bag_byte`, `embedding_bag_4bit` and the operators whose names end in
/// `_rowwise_offsets`: the sum of each bag, whatever `mode` says.
///
/// # Errors
/// For indices that are not rows, and bags that are not within the indices.
pub fn quantized_embedding_bag(
    rows: &Tensor,
    bits: CodeBits,
    indices: &Tensor,
    bags: &RowBags<'_>,
) -> Result<Tensor> {
    check_indices(indices)?;
    let bounds = bounds(bits, indices, bags)?;
    let picked = ints(indices, "indices")?;
    let mapping = bags.mapping.map(|mapping| ints(mapping, "indices")).transpose()?;
    let factors = match bags.weights {
        Some(factors) if factors.dtype() != DType::Float32 && bits == CodeBits::Eight => {
            return Err(Error::runtime(format!(
                "expected scalar type Float but found {}",
                factors.dtype().scalar_type_name()
            )));
        }
        Some(factors) => Some(factors.to_dtype(DType::Float32)?.to_vec::<f32>()?),
        None => None,
    };
    if factors.as_ref().is_some_and(|factors| factors.len() < picked.len()) {
        return Err(Error::not_implemented("a quantized bag with fewer weights than indices"));
    }
    let bytes = bytes_of(rows)?;
    let bytes = bytes.read::<u8>()?;
    let table = Table::of(&bytes, rows.sizes(), bits)?;
    let columns = table.columns();
    let result = Tensor::zeros(&[bounds.len() as i64 - 1, columns as i64], DType::Float32)?;
    let mut out = result.write::<f32>()?;
    for (bag, sum) in bounds.windows(2).zip(out.chunks_exact_mut(columns.max(1))) {
        for at in bag[0]..bag[1] {
            let index = picked.get(at).copied().unwrap_or(-1);
            let Some(row) = mapped(index, mapping.as_deref())? else { continue };
            let row = table.row(row).ok_or_else(|| {
                let rows = table.rows;
                Error::runtime(format!("Index {at} is out of bounds: {index}, range 0 to {rows}"))
            })?;
            row.add_to(sum, factors.as_ref().and_then(|all| all.get(at)).copied().unwrap_or(1.0));
        }
    }
    drop(out);
    Ok(result)
}

/// The row that an index stands for.
fn mapped(index: i64, mapping: Option<&[i64]>) -> Result<Option<i64>> {
    let Some(mapping) = mapping else { return Ok(Some(index)) };
    let row = usize::try_from(index).ok().and_then(|index| mapping.get(index)).copied();
    let row = row.ok_or_else(|| {
        let rows = mapping.len();
        Error::runtime(format!("Index is out of bounds: {index}, range 0 to {rows}"))
    })?;
    Ok((row != -1).then_some(row))
}

/// Where each bag starts among the indices, and where the last one ends.
fn bounds(bits: CodeBits, indices: &Tensor, bags: &RowBags<'_>) -> Result<Vec<usize>> {
    let name = match bits {
        CodeBits::Eight => "embedding_bag_byte",
        _ => "embedding_bag_4bit/embedding_bag_2bit operator",
    };
    let count = indices.count();
    let offsets = match (bags.offsets, indices.sizes()) {
        (None, &[_, width]) => {
            let width = width as usize;
            return Ok((0..=indices.sizes()[0] as usize).map(|bag| bag * width).collect());
        }
        (Some(offsets), [_]) => ints(offsets, "offsets")?,
        (Some(_), _) => {
            let name = name.trim_end_matches(" operator");
            return Err(Error::runtime(format!(
                "{name} operator: input is 2D, then offsets has to be None, as input is treated is \
                 a mini-batch of fixed length sequences."
            )));
        }
        (None, _) => {
            return Err(Error::runtime(format!(
                "{name} expects offsets to be set for 1D indices."
            )));
        }
    };
    let last = offsets.last().copied().unwrap_or(0);
    if bags.include_last_offset && bits != CodeBits::Eight && last != count as i64 {
        return Err(Error::runtime(
            "Yout input seems to be incorrect: the last offset value should be the size of the \
             indices tensor, but it appears not.",
        ));
    }
    let end = if bags.include_last_offset { None } else { Some(count as i64) };
    let first = match bits {
        CodeBits::Eight => 0,
        // Bags follow each other from the first index on, wherever the first offset points.
        _ => offsets.first().copied().unwrap_or(count as i64),
    };
    let starts = offsets.iter().copied().chain(end).map(|at| at.saturating_sub(first));
    let bounds: Option<Vec<usize>> =
        starts.map(|at| usize::try_from(at).ok().filter(|&at| at <= count)).collect();
    bounds.filter(|bounds| !bounds.is_empty() && bounds.is_sorted()).ok_or_else(|| {
        Error::runtime(
            "Expected i < index_size to be true, but got false.  (Could this error message be \
             improved?  If so, please report an enhancement request to PyTorch.)",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// torch.ops.quantized.embedding_bag_*_prepack of the same rows.
    #[test]
    fn rows_are_packed_as_pytorch_packs_them() {
        let numbers = [2.5f32, 2.5, 2.5, 2.5, 1e-9, 0.0, 0.0, 0.0, -1.0, 0.5, 2.0, 0.25];
        let weight = Tensor::from_slice(&numbers, &[3, 4]).unwrap();
        let bytes = |bits| pack_rows(&weight, bits).unwrap().to_vec::<u8>().unwrap();
        let eight = bytes(CodeBits::Eight);
        assert_eq!(eight[..12], [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 32, 64]);
        assert_eq!(eight[12..24], [23, 0, 0, 0, 89, 250, 137, 44, 0, 0, 0, 0]);
        let four = bytes(CodeBits::Four);
        assert_eq!(four[..12], [0, 0, 0, 60, 0, 65, 0, 0, 0, 60, 0, 0]);
        for bits in [CodeBits::Eight, CodeBits::Four, CodeBits::Two] {
            let back = unpack_rows(&pack_rows(&weight, bits).unwrap(), bits).unwrap();
            let back = back.to_vec::<f32>().unwrap();
            let step = 3.0 / bits.most() as f32;
            assert!(back[8..].iter().zip(&numbers[8..]).all(|(a, b)| (a - b).abs() <= step));
        }
        let odd = Tensor::zeros(&[2, 3], DType::Float32).unwrap();
        assert!(pack_rows(&odd, CodeBits::Four).is_err());
    }

    #[test]
    fn bags_are_summed_and_malformed_ones_refused() {
        let weight = Tensor::from_slice(&[0f32, 1.0, 0.0, 3.0, 0.0, 15.0], &[3, 2]).unwrap();
        let ints = |numbers: &[i64]| Tensor::from_slice(numbers, &[numbers.len() as i64]).unwrap();
        for bits in [CodeBits::Eight, CodeBits::Four] {
            let rows = pack_rows(&weight, bits).unwrap();
            let bag = |indices: &[i64], offsets: &[i64], last: bool| {
                let offsets = ints(offsets);
                let bags = RowBags {
                    offsets: Some(&offsets),
                    include_last_offset: last,
                    ..RowBags::default()
                };
                quantized_embedding_bag(&rows, bits, &ints(indices), &bags)
            };
            let found = bag(&[0, 1, 2], &[0, 2], false).unwrap().to_vec::<f32>().unwrap();
            let near = |a: &[f32], b: &[f32]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-2);
            assert!(near(&found, &[0.0, 4.0, 0.0, 15.0]), "{found:?}");
            assert!(bag(&[3], &[0], false).is_err());
            assert!(bag(&[0, 1], &[0, 3], false).is_err());
            assert!(bag(&[0, 1], &[1, 0], false).is_err());
            assert!(bag(&[0, 1], &[], true).is_err());
            // Of what comes before the first offset, bytes lose the beginning and nibbles the end.
            let found = bag(&[0, 1, 2, 0], &[1, 3], false).unwrap().to_vec::<f32>().unwrap();
            let expected = match bits {
                CodeBits::Eight => [0.0, 18.0, 0.0, 1.0],
                _ => [0.0, 4.0, 0.0, 15.0],
            };
            assert!(near(&found, &expected), "{found:?}");
            let rows = quantized_embedding(&rows, bits, &ints(&[2, 1])).unwrap();
            assert!(near(&rows.to_vec::<f32>().unwrap(), &[0.0, 15.0, 0.0, 3.0]));
        }
        let short = Tensor::zeros(&[2, 3], DType::UInt8).unwrap();
        assert!(quantized_embedding(&short, CodeBits::Eight, &ints(&[0])).is_err());
    }
}
