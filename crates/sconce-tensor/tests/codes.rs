//! Every code of the 8-bit types has the value that PyTorch gives it, and numbers round to the codes
//! that PyTorch rounds them to.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use sconce_source::Bytes;
use sconce_tensor::{DType, Device, Quantizer, Scalar, Storage, Tensor};

fn all_codes() -> Storage {
    Storage::from_bytes(Bytes::from((0..=255u8).collect::<Vec<_>>()), Device::CPU)
}

fn build(name: &str) -> Tensor {
    let mut fields = name.split(':');
    let dtype = DType::from_name(fields.next().unwrap()).unwrap();
    let Some(scale) = fields.next() else {
        return Tensor::contiguous(all_codes(), dtype, &[256]).unwrap();
    };
    let scale = f64::from_bits(u64::from_str_radix(scale, 16).unwrap().swap_bytes());
    let zero_point = fields.next().unwrap().parse().unwrap();
    let quantizer = Quantizer::PerTensorAffine { scale, zero_point };
    Tensor::quantized(all_codes(), dtype, 0, &[256], &[1], quantizer).unwrap().dequantize().unwrap()
}

#[test]
fn all_256_codes() {
    for line in include_str!("golden/codes.txt").lines() {
        let (name, want) = line.split_once(' ').unwrap();
        let got = build(name);
        let got = got.values().unwrap().map(|scalar| match scalar {
            Scalar::Float(value) if value.is_nan() => "nan".to_owned(),
            Scalar::Float(value) => format!("{:08x}", (value as f32).to_bits()),
            other => panic!("{other:?}"),
        });
        for (code, (want, got)) in want.split(' ').zip(got).enumerate() {
            assert_eq!(got, want, "{name} code {code:#04x}");
        }
    }
}

#[test]
fn float32_rounds_as_in_pytorch() {
    for line in include_str!("golden/casts.txt").lines() {
        let (name, cases) = line.split_once(' ').unwrap();
        let dtype = DType::from_name(name).unwrap();
        let cases: Vec<(f32, &str)> = cases
            .split(' ')
            .map(|case| case.split_once(':').unwrap())
            .map(|(bits, code)| (f32::from_bits(u32::from_str_radix(bits, 16).unwrap()), code))
            .collect();
        let numbers: Vec<f32> = cases.iter().map(|(number, _)| *number).collect();
        let tensor = Tensor::from_vec(numbers, &[cases.len() as i64]).unwrap();
        let narrow = tensor.to_dtype(dtype).unwrap();
        assert_eq!(narrow.dtype(), dtype);
        let bytes = narrow.contiguous_bytes().unwrap();
        let values = narrow.values().unwrap();
        let found = bytes.chunks(dtype.item_size()).zip(values);
        for ((number, want), (code, value)) in cases.into_iter().zip(found) {
            let code = code.iter().rev().fold(0u32, |all, byte| all << 8 | u32::from(*byte));
            let got = format!("{code:x}");
            if want == "nan" {
                assert!(value.to_f64().unwrap().is_nan(), "{name} {number:e}");
            } else {
                assert_eq!(got, want, "{name} {number:e} ({:#x})", number.to_bits());
            }
        }
    }
}
