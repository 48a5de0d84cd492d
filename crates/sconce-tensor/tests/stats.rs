//! Statistics agree with PyTorch's in double precision.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use sconce_source::Bytes;
use sconce_tensor::{ByteOrder, DType, Device, Storage, Tensor};

fn lcg(mut seed: u64, count: usize) -> Vec<u8> {
    (0..count)
        .map(|_| {
            seed = (seed * 1_103_515_245 + 12345) % (1 << 31);
            (seed >> 16) as u8
        })
        .collect()
}

fn close(got: Option<f64>, want: f64) -> bool {
    match got {
        None => want.is_nan(),
        Some(got) => (got - want).abs() <= 1e-11 * want.abs().max(1e-300),
    }
}

#[test]
fn moments_agree_with_pytorch() {
    for line in include_str!("golden/stats.txt").lines() {
        let fields: Vec<&str> = line.split(' ').collect();
        let dtype = DType::from_name(fields[0]).unwrap();
        let count: usize = fields[2].parse().unwrap();
        let bytes = Bytes::from(lcg(fields[1].parse().unwrap(), count * dtype.item_size()));
        let storage =
            Storage::with_byte_order(bytes, ByteOrder::Little, dtype.swap_size(), Device::CPU);
        let stats = Tensor::contiguous(storage, dtype, &[count as i64]).unwrap().stats().unwrap();
        let counts = [stats.nan, stats.pos_inf, stats.neg_inf, stats.zeros];
        let want: Vec<u64> = fields[3..7].iter().map(|n| n.parse().unwrap()).collect();
        assert_eq!(counts[..], want, "{line}");
        let moments = [stats.min, stats.max, stats.mean, stats.std, Some(stats.l2)];
        for (got, want) in moments.into_iter().zip(&fields[7..]) {
            assert!(close(got, want.parse().unwrap()), "{line}: {got:?} is not {want}");
        }
    }
}
