//! Every code of the 8-bit types has the value that PyTorch gives it.

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
