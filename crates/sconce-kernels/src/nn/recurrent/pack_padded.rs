//! Packed and padded sequences of different lengths.

use crate::{DType, Dims, Error, Result, Scalar, Tensor, cat};

/// `torch._pack_padded_sequence`: the steps of all sequences, longest sequence first, without
/// padding, and how many sequences each step has.
///
/// # Errors
/// Where the lengths are not those of the sequences, do not fall, or are not positive.
pub fn pack_padded(
    input: &Tensor,
    lengths: &Tensor,
    batch_first: bool,
) -> Result<(Tensor, Tensor)> {
    let input = if batch_first { input.transpose(0, 1)? } else { input.clone() };
    if input.numel() == 0 || input.dim() < 2 {
        return Err(Error::runtime("Cannot pack empty tensors."));
    }
    let lengths = lengths.to_dtype(DType::Int64)?.to_vec::<i64>()?;
    let batch = input.size(1)?;
    if lengths.len() as i64 != batch {
        return Err(Error::runtime(format!(
            "Expected `len(lengths)` to be equal to batch_size, but got {} (batch_size={batch})",
            lengths.len()
        )));
    }
    if lengths.last().is_none_or(|&length| length <= 0) {
        return Err(Error::runtime(
            "Length of all samples has to be greater than 0, but found an element in 'lengths' \
             that is <= 0",
        ));
    }
    if lengths.windows(2).any(|pair| pair[0] < pair[1]) {
        return Err(Error::runtime(
            "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You \
             can pass `enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to \
             sidestep this requirement if you do not need ONNX exportability.",
        ));
    }
    let mut steps = Vec::new();
    let mut batch_sizes = Vec::new();
    for at in 0..lengths[0] {
        let running = lengths.partition_point(|&length| length > at) as i64;
        steps.push(input.narrow(0, at, 1)?.select(0, 0)?.narrow(0, 0, running)?);
        batch_sizes.push(running);
    }
    let count = batch_sizes.len() as i64;
    Ok((cat(&steps, 0)?, Tensor::from_slice(&batch_sizes, &[count])?))
}

/// `torch._pad_packed_sequence`: the sequences as one tensor, and their lengths.
///
/// # Errors
/// Where the batch sizes do not fit the data, or `total_length` is too short.
pub fn pad_packed(
    data: &Tensor,
    batch_sizes: &[i64],
    batch_first: bool,
    padding: Scalar,
    total_length: i64,
) -> Result<(Tensor, Tensor)> {
    let falling = batch_sizes.windows(2).all(|pair| pair[0] >= pair[1]);
    let (Some(&batch), true) = (batch_sizes.first(), falling) else {
        return Err(Error::runtime("batch sizes of a packed sequence that do not fall"));
    };
    let longest = batch_sizes.len() as i64;
    if total_length > 0 && total_length < longest {
        return Err(Error::runtime(format!(
            "Expected total_length to be at least the length of the longest sequence in input, but \
             got total_length={total_length} and max sequence length being {longest}"
        )));
    }
    let mut sizes = Dims::from_slice(&[longest.max(total_length), batch]);
    sizes.extend_from_slice(data.sizes().get(1..).unwrap_or_default());
    let result = Tensor::full(&sizes, padding, data.dtype())?;
    let mut start = 0;
    for (at, &size) in batch_sizes.iter().enumerate() {
        let step = result.select(0, at as i64)?.narrow(0, 0, size)?;
        step.copy_from(&data.narrow(0, start, size)?)?;
        start += size;
    }
    let lengths: Vec<i64> =
        (0..batch).map(|index| batch_sizes.partition_point(|&size| size > index) as i64).collect();
    let result = if batch_first { result.transpose(0, 1)? } else { result };
    Ok((result, Tensor::from_slice(&lengths, &[batch])?))
}

/// `torch.nn.utils.rnn.pad_sequence`.
///
/// # Errors
/// Where sequences differ in more than their first dimension.
pub fn pad_sequence(
    sequences: &[Tensor],
    batch_first: bool,
    padding: Scalar,
    on_the_left: bool,
) -> Result<Tensor> {
    let Some(first) = sequences.first() else {
        return Err(Error::runtime("received an empty list of sequences"));
    };
    let mut longest = 0;
    for sequence in sequences {
        longest = longest.max(sequence.size(0)?);
    }
    let mut sizes = Dims::from_slice(&[sequences.len() as i64, longest]);
    sizes.extend_from_slice(first.sizes().get(1..).unwrap_or_default());
    let result = Tensor::full(&sizes, padding, first.dtype())?;
    for (at, sequence) in sequences.iter().enumerate() {
        let length = sequence.size(0)?;
        let start = if on_the_left { longest - length } else { 0 };
        result.select(0, at as i64)?.narrow(0, start, length)?.copy_from(sequence)?;
    }
    if batch_first { Ok(result) } else { result.transpose(0, 1)?.contiguous() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_packed_comes_back_padded() {
        let numbers: Vec<i64> = (0..6).collect();
        let input = Tensor::from_slice(&numbers, &[3, 2, 1]).unwrap();
        let lengths = Tensor::from_slice(&[3i64, 1], &[2]).unwrap();
        let (data, sizes) = pack_padded(&input, &lengths, false).unwrap();
        assert_eq!(data.to_vec::<i64>().unwrap(), [0, 1, 2, 4]);
        let sizes = sizes.to_vec::<i64>().unwrap();
        assert_eq!(sizes, [2, 1, 1]);
        let (padded, found) = pad_packed(&data, &sizes, true, Scalar::Int(-1), 4).unwrap();
        assert_eq!(padded.sizes(), [2, 4, 1]);
        assert_eq!(padded.to_vec::<i64>().unwrap(), [0, 2, 4, -1, 1, -1, -1, -1]);
        assert_eq!(found.to_vec::<i64>().unwrap(), [3, 1]);
    }

    #[test]
    fn lengths_have_to_fall_and_to_fit() {
        let input = Tensor::zeros(&[3, 2, 1], DType::Float32).unwrap();
        for lengths in [&[1i64, 3][..], &[3, 0], &[3], &[4, 1]] {
            let lengths = Tensor::from_slice(lengths, &[lengths.len() as i64]).unwrap();
            assert!(pack_padded(&input, &lengths, false).is_err(), "{lengths:?}");
        }
        let data = Tensor::zeros(&[3, 1], DType::Float32).unwrap();
        for sizes in [&[][..], &[1, 2], &[2, 2], &[-1, -1]] {
            assert!(pad_packed(&data, sizes, false, Scalar::Int(0), -1).is_err(), "{sizes:?}");
        }
    }

    #[test]
    fn sequences_are_padded_on_either_side() {
        let long = Tensor::from_slice(&[1f32, 2.0], &[2]).unwrap();
        let short = Tensor::from_slice(&[3f32], &[1]).unwrap();
        let both = [long, short];
        for (left, expected) in [(false, [1.0, 2.0, 3.0, 0.0]), (true, [1.0, 2.0, 0.0, 3.0])] {
            let padded = pad_sequence(&both, true, Scalar::Int(0), left).unwrap();
            assert_eq!(padded.to_vec::<f32>().unwrap(), expected);
        }
    }
}
