//! Views accept and read exactly what a brute-force model does, and no bytes or numbers can make
//! anything here panic.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use proptest::prelude::*;
use sconce_source::Bytes;
use sconce_tensor::{
    ByteOrder, ChannelScheme, DType, Device, Layout, PrintOptions, Quantizer, Storage, Tensor,
    read_npy, write_npy,
};

fn storage(bytes: Vec<u8>) -> Storage {
    Storage::from_bytes(bytes.into(), Device::CPU)
}

/// Element positions in row-major order, the obvious way.
fn model(offset: i64, sizes: &[i64], strides: &[i64]) -> Vec<i128> {
    let mut positions = vec![i128::from(offset)];
    for (&size, &stride) in sizes.iter().zip(strides) {
        let step = |at: i128| (0..size).map(move |i| at + i128::from(i) * i128::from(stride));
        positions = positions.into_iter().flat_map(step).collect();
    }
    positions
}

fn any_dtype() -> impl Strategy<Value = DType> {
    (0..47i64).prop_map(|number| DType::from_scalar_type_number(number).unwrap())
}

/// Small numbers mostly, with the extremes that a hostile file would try.
fn wild() -> impl Strategy<Value = i64> {
    prop_oneof![
        6 => 0..5i64,
        1 => -2..1000i64,
        1 => prop_oneof![Just(i64::MAX), Just(i64::MIN), Just(1 << 32), Just(1 << 62)],
    ]
}

/// Reads a tensor in every way there is.
fn exercise(tensor: &Tensor) {
    let options = PrintOptions { threshold: 20, ..PrintOptions::default() };
    let _ = tensor.display(&options).to_string();
    let _ = (tensor.nbytes(), tensor.storage_range(), format!("{tensor:?}"));
    let _ = tensor.contiguous_bytes_with_limit(1 << 16);
    let _ = tensor.validate_sparse();
    let _ = tensor.to_dense_with_limit(1 << 16);
    if tensor.numel() < 1 << 12 {
        let _ = tensor.values().map(Iterator::count);
        let _ = tensor.stats().map(|stats| tensor.histogram(&stats, 5));
        let _ = tensor.dequantize();
        let _ = write_npy(tensor, std::io::sink());
    }
    for dim in 0..tensor.ndim() as i64 {
        let _ = tensor.select(dim, -1).map(|t| t.display(&options).to_string());
        let _ = tensor
            .slice(dim, 1, i64::MAX, 2)
            .map(|t| t.contiguous_bytes_with_limit(1 << 12).is_ok());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(1000) })]

    #[test]
    fn views_are_accepted_and_read_as_the_model_says(
        offset in 0..6i64,
        dims in prop::collection::vec((0..4i64, 0..7i64), 0..4),
        held in 0..40usize,
        conj in any::<bool>(),
    ) {
        let (sizes, strides): (Vec<i64>, Vec<i64>) = dims.into_iter().unzip();
        let positions = model(offset, &sizes, &strides);
        let words: Vec<u16> = (0..held as u16).map(|i| i * 257 + 3).collect();
        let bytes = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        let view = Tensor::strided(storage(bytes), DType::UInt16, offset, &sizes, &strides);
        let fits = positions.iter().all(|&at| at < held as i128);
        prop_assert_eq!(view.is_ok(), fits);
        if let Ok(view) = view {
            let view = view.with_conj(conj);
            let want: Vec<u16> = positions.iter().map(|&at| words[at as usize]).collect();
            prop_assert_eq!(view.to_vec::<u16>().unwrap(), want.clone());
            prop_assert_eq!(view.numel(), want.len() as i64);
            if let Ok(slice) = view.as_slice::<u16>() {
                prop_assert_eq!(slice, &want[..]);
            }
            let values = view.values().unwrap().map(|v| v.to_f64().unwrap() as u16);
            prop_assert_eq!(values.collect::<Vec<_>>(), want);
            if let Some(range) = view.storage_range().filter(|range| !range.is_empty()) {
                prop_assert_eq!(range.start as i128, positions.iter().min().unwrap() * 2);
                prop_assert_eq!(range.end as i128, (positions.iter().max().unwrap() + 1) * 2);
            }
        }
    }

    #[test]
    fn packed_elements_are_gathered_as_the_model_says(
        offset in 0..6i64,
        dims in prop::collection::vec((1..4i64, 0..5i64), 0..3),
        bytes in prop::collection::vec(any::<u8>(), 8..20),
        four in any::<bool>(),
    ) {
        let (sizes, strides): (Vec<i64>, Vec<i64>) = dims.into_iter().unzip();
        let (dtype, bits) = if four { (DType::QUInt4x2, 4) } else { (DType::QUInt2x4, 2) };
        let per_byte = 8 / bits;
        let quantizer = Quantizer::PerTensorAffine { scale: 1.0, zero_point: 0 };
        let code = |at: usize| bytes[at / per_byte] >> (at % per_byte * bits) & ((1 << bits) - 1);
        let positions = model(offset, &sizes, &strides);
        let view = Tensor::quantized(storage(bytes.clone()), dtype, offset, &sizes, &strides, quantizer);
        let fits = positions.iter().all(|&at| at < (bytes.len() * per_byte) as i128);
        prop_assert_eq!(view.is_ok(), fits);
        if let Ok(view) = view {
            let want: Vec<f32> = positions.iter().map(|&at| f32::from(code(at as usize))).collect();
            prop_assert_eq!(view.dequantize().unwrap().to_vec::<f32>().unwrap(), want.clone());
            let packed = view.contiguous_bytes().unwrap();
            for (i, want) in want.into_iter().enumerate() {
                let got = packed[i / per_byte] >> (i % per_byte * bits) & ((1 << bits) - 1);
                prop_assert_eq!(f32::from(got), want);
            }
        }
    }

    #[test]
    fn no_view_of_any_bytes_panics(
        dtype in any_dtype(),
        offset in wild(),
        sizes in prop::collection::vec(wild(), 0..5),
        strides in prop::collection::vec(wild(), 0..5),
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        bits in any::<[bool; 4]>(),
    ) {
        let [big, conj, neg, short] = bits;
        let strides = if short { strides } else { sizes.iter().map(|_| 1).collect() };
        let order = if big { ByteOrder::Big } else { ByteOrder::Little };
        let storage = Storage::with_byte_order(bytes.into(), order, dtype.swap_size(), Device::CPU);
        let quantizer = Quantizer::PerTensorAffine { scale: 0.5, zero_point: 3 };
        let makers = [
            Tensor::strided(storage.clone(), dtype, offset, &sizes, &strides),
            Tensor::quantized(storage, dtype, offset, &sizes, &strides, quantizer),
            Tensor::meta(dtype, &sizes, &strides),
            Tensor::wrapper(dtype, &sizes, &strides, offset, Layout::Jagged, Device::CPU),
        ];
        for tensor in makers.into_iter().flatten() {
            exercise(&tensor.with_conj(conj).with_neg(neg));
        }
    }

    #[test]
    fn no_parts_of_other_layouts_panic(
        dtype in any_dtype(),
        indices in prop::collection::vec(-1..6i64, 12),
        shape in prop::collection::vec(0..4i64, 1..4),
        sizes in prop::collection::vec(wild(), 0..4),
        bytes in prop::collection::vec(any::<u8>(), 27 * 16),
        layout in 1..7i64,
        axis in -1..3i64,
    ) {
        let view = |shape: &[i64]| Tensor::from_vec(indices.clone(), &[12]).unwrap()
            .narrow(0, 0, shape.iter().product::<i64>().min(12)).unwrap().reshape(shape);
        let values = Tensor::contiguous(storage(bytes.clone()), dtype, &shape).unwrap();
        let n = shape[0];
        let layout = Layout::from_number(layout).unwrap();
        if let Ok(table) = view(&[2, n]) {
            let _ = Tensor::sparse_coo(table, values.clone(), &sizes, None).map(|t| exercise(&t));
        }
        if let (Ok(starts), Ok(plain)) = (view(&[3]), view(&[n])) {
            for sizes in [&sizes[..], &[2, 4], &[4, 2]] {
                let (starts, plain) = (starts.clone(), plain.clone());
                let t = Tensor::sparse_compressed(layout, starts, plain, values.clone(), sizes);
                let _ = t.map(|t| exercise(&t));
            }
        }
        if let (Ok(rows), Ok(starts)) = (view(&[n, 2]), view(&[n])) {
            let buffer = Tensor::contiguous(storage(bytes.clone()), dtype, &[12]).unwrap();
            let _ = Tensor::nested(buffer, rows.clone(), rows, starts.clone()).map(|t| exercise(&t));
            let scheme = ChannelScheme::Affine;
            let quantizer =
                Quantizer::PerChannel { scheme, scales: starts.clone(), zero_points: starts, axis };
            let _ = Tensor::quantized(storage(bytes), dtype, 0, &[n, n], &[n, 1], quantizer)
                .map(|t| exercise(&t));
        }
    }

    #[test]
    fn no_npy_bytes_panic(at in 0..140usize, byte in any::<u8>(), cut in 0..140usize) {
        let t = Tensor::from_vec(vec![1i32, 2, 3, 4, 5, 6], &[2, 3]).unwrap();
        let mut file = Vec::new();
        write_npy(&t, &mut file).unwrap();
        file[at] = byte;
        let _ = read_npy(&Bytes::from(file.clone())).map(|t| exercise(&t));
        file.truncate(cut);
        let _ = read_npy(&Bytes::from(file)).map(|t| exercise(&t));
    }
}
