//! Blocked convolutions compared with [`conv`], at every level of vector instructions that this CPU
//! has.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

use sconce_kernel_core::simd::dispatch::Level;

use super::convolve::convolve;
use super::*;
use crate::{ConvOptions, PoolOptions, conv, max_pool};

/// Those that this CPU lacks are run as its best.
pub(super) const LEVELS: &[Level] = &[
    Level::Baseline,
    #[cfg(target_arch = "x86_64")]
    Level::Avx2,
    #[cfg(target_arch = "x86_64")]
    Level::Avx512,
    #[cfg(target_arch = "aarch64")]
    Level::Neon,
];

pub(super) fn numbers(sizes: &[i64], seed: u32) -> Tensor {
    let count = sizes.iter().product::<i64>() as usize;
    let mut state = seed;
    let values: Vec<f32> = (0..count)
        .map(|_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as f32 / (1 << 23) as f32 - 1.0
        })
        .collect();
    Tensor::from_slice(&values, sizes).unwrap()
}

#[track_caller]
pub(super) fn close(found: &Tensor, expected: &Tensor) {
    assert_eq!(found.sizes(), expected.sizes());
    let (found, expected) = (found.to_vec::<f32>().unwrap(), expected.to_vec::<f32>().unwrap());
    for (found, expected) in found.iter().zip(&expected) {
        assert!((found - expected).abs() <= 1e-4 * expected.abs().max(1.0), "{found} {expected}");
    }
}

#[test]
fn convolutions_in_blocks_are_convolutions() {
    // batch, in, out, groups, height, width, kernel, stride, padding, dilation
    type Case = ([i64; 6], [i64; 2], [i64; 2], [i64; 2], [i64; 2]);
    let cases: &[Case] = &[
        ([1, 3, 32, 1, 9, 11], [3, 3], [2, 2], [1, 1], [1, 1]),
        ([2, 3, 20, 1, 23, 31], [7, 7], [2, 2], [3, 3], [1, 1]),
        ([1, 1, 5, 1, 6, 40], [2, 3], [1, 3], [0, 2], [1, 2]),
        ([1, 32, 64, 1, 14, 14], [3, 3], [1, 1], [1, 1], [1, 1]),
        ([2, 24, 40, 1, 7, 29], [3, 3], [1, 1], [1, 1], [1, 1]),
        ([1, 17, 15, 1, 8, 9], [1, 1], [1, 1], [0, 0], [1, 1]),
        ([3, 48, 48, 1, 5, 3], [1, 1], [1, 1], [0, 0], [1, 1]),
        ([1, 16, 33, 1, 15, 15], [1, 1], [2, 2], [0, 0], [1, 1]),
        ([1, 16, 16, 1, 15, 17], [3, 5], [2, 1], [2, 0], [2, 3]),
        ([1, 16, 16, 1, 15, 19], [3, 3], [3, 3], [1, 1], [1, 1]),
        ([1, 64, 96, 2, 6, 6], [3, 3], [1, 1], [1, 1], [1, 1]),
        ([1, 64, 64, 4, 6, 5], [1, 1], [1, 1], [0, 0], [1, 1]),
        ([1, 48, 48, 6, 15, 17], [3, 3], [1, 1], [1, 1], [1, 1]),
        ([2, 24, 24, 6, 9, 30], [3, 3], [2, 2], [1, 1], [1, 1]),
        ([1, 40, 40, 20, 5, 5], [3, 3], [1, 1], [0, 0], [1, 1]),
        ([1, 56, 56, 7, 7, 7], [3, 3], [1, 1], [1, 1], [1, 1]),
        ([1, 32, 32, 8, 9, 12], [2, 3], [1, 3], [2, 4], [2, 3]),
        ([1, 32, 32, 4, 6, 2], [1, 1], [1, 1], [0, 0], [1, 1]),
        ([2, 24, 24, 24, 13, 13], [3, 3], [1, 1], [1, 1], [1, 1]),
        ([1, 32, 32, 32, 16, 28], [3, 3], [2, 2], [1, 1], [1, 1]),
        ([2, 48, 48, 48, 7, 7], [3, 3], [1, 1], [1, 1], [1, 1]),
        ([1, 32, 32, 32, 40, 33], [3, 3], [1, 1], [1, 1], [1, 1]),
        ([1, 16, 16, 16, 14, 15], [5, 5], [1, 1], [2, 2], [1, 1]),
        ([1, 16, 16, 16, 9, 8], [3, 3], [1, 1], [0, 0], [1, 1]),
        ([1, 33, 33, 33, 9, 7], [5, 5], [1, 1], [2, 2], [1, 1]),
        ([1, 16, 16, 16, 9, 12], [5, 5], [2, 2], [2, 2], [1, 1]),
        ([1, 16, 16, 16, 4, 2], [3, 3], [1, 1], [1, 1], [1, 1]),
        ([1, 16, 16, 16, 12, 12], [3, 2], [1, 3], [2, 4], [2, 3]),
    ];
    for &([n, channels, out, groups, height, width], kernel, stride, padding, dilation) in cases {
        let x = numbers(&[n, channels, height, width], 1);
        let w = numbers(&[out, channels / groups, kernel[0], kernel[1]], 2);
        let bias = numbers(&[out], 3);
        let plain = ConvOptions { stride: &stride, padding: &padding, dilation: &dilation, groups };
        let expected = conv(&x, &w, Some(&bias), &plain).unwrap();
        let residual = numbers(expected.sizes(), 4);
        let summed = crate::add((&expected).into(), (&residual).into(), 1.into()).unwrap();
        let packed = pack_weight(&w, groups).unwrap().unwrap();
        let packed_bias = pack_bias(Some(&bias), out).unwrap();
        let planar = ChannelLayout::of(w.sizes(), groups) == Some(ChannelLayout::Planar);
        let input = if planar { x } else { to_blocked(&x).unwrap() };
        let blocked_residual = to_blocked(&residual).unwrap();
        for level in LEVELS.iter().copied() {
            let run = |residual: Option<&Tensor>, activation| {
                let options = BlockedConv {
                    in_channels: channels,
                    out_channels: out,
                    groups,
                    kernel,
                    stride,
                    padding,
                    dilation,
                    activation,
                    exact: false,
                    bf16: false,
                };
                let result = convolve(level, &input, &packed, &packed_bias, residual, &options);
                from_blocked(&result.unwrap(), out).unwrap()
            };
            close(&run(None, Activation::None), &expected);
            let relu = crate::unary(crate::UnaryOp::Relu, &summed).unwrap();
            close(&run(Some(&blocked_residual), Activation::Relu), &relu);
            for (activation, function) in [
                (Activation::Silu, crate::UnaryOp::Silu),
                (Activation::Gelu, crate::UnaryOp::Gelu),
                (Activation::GeluTanh, crate::UnaryOp::GeluTanh),
            ] {
                let expected = crate::unary(function, &summed).unwrap();
                close(&run(Some(&blocked_residual), activation), &expected);
            }
        }
    }
}

#[test]
fn activations_are_those_of_pytorch_and_let_nan_pass() {
    let x = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -4.0, -1.5, 0.5, 2.0, 7.0];
    let cases = [
        (Activation::None, x),
        (Activation::Relu, [f32::NAN, f32::INFINITY, 0.0, 0.0, 0.0, 0.5, 2.0, 7.0]),
        (Activation::Clamp(-1.0, 6.0), [f32::NAN, 6.0, -1.0, -1.0, -1.0, 0.5, 2.0, 6.0]),
        (Activation::Hardsigmoid, [f32::NAN, 1.0, 0.0, 0.0, 0.25, 3.5 / 6.0, 5.0 / 6.0, 1.0]),
        (
            Activation::Hardswish,
            [f32::NAN, f32::INFINITY, f32::NAN, 0.0, -0.375, 1.75 / 6.0, 10.0 / 6.0, 7.0],
        ),
    ];
    for (activation, expected) in cases {
        for level in LEVELS.iter().copied() {
            let input = Tensor::from_slice(&x, &[1, 1, 1, 8]).unwrap();
            let weight = Tensor::from_slice(&[1f32], &[1, 1, 1, 1]).unwrap();
            let options = BlockedConv {
                in_channels: 1,
                out_channels: 1,
                groups: 1,
                kernel: [1, 1],
                stride: [1, 1],
                padding: [0, 0],
                dilation: [1, 1],
                activation,
                exact: false,
                bf16: false,
            };
            let packed = pack_weight(&weight, 1).unwrap().unwrap();
            let bias = pack_bias(None, 1).unwrap();
            let found = convolve(level, &input, &packed, &bias, None, &options).unwrap();
            let found = from_blocked(&found, 1).unwrap().to_vec::<f32>().unwrap();
            for (found, expected) in found.iter().zip(expected) {
                let same = (found - expected).abs() < 1e-6 || *found == expected;
                assert!(same || (found.is_nan() && expected.is_nan()), "{activation:?} {level:?}");
            }
        }
    }
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let with_threads = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let (x, w) = (numbers(&[1, 64, 40, 40], 5), numbers(&[80, 64, 3, 3], 6));
            let packed = pack_weight(&w, 1).unwrap().unwrap();
            let (bias, x) = (pack_bias(None, 80).unwrap(), to_blocked(&x).unwrap());
            let options = BlockedConv {
                in_channels: 64,
                out_channels: 80,
                groups: 1,
                kernel: [3, 3],
                stride: [1, 1],
                padding: [1, 1],
                dilation: [1, 1],
                activation: Activation::None,
                exact: false,
                bf16: false,
            };
            conv_blocked(&x, &packed, &bias, None, &options).unwrap().to_vec::<f32>().unwrap()
        })
    };
    assert_eq!(with_threads(1), with_threads(3));
}

#[test]
fn lanes_without_a_channel_are_not_read() {
    for (channels, kernel, padding) in [(24, [1, 1], [0, 0]), (17, [3, 3], [1, 1])] {
        let (x, w) =
            (numbers(&[1, channels, 6, 9], 3), numbers(&[40, channels, kernel[0], kernel[1]], 4));
        let one = [1, 1];
        let plain = ConvOptions { stride: &one, padding: &padding, dilation: &one, groups: 1 };
        let expected = conv(&x, &w, None, &plain);
        let blocked = to_blocked(&x).unwrap();
        let lanes = blocked.narrow(4, channels % 16, 16 - channels % 16).unwrap();
        lanes.select(1, 1).unwrap().fill(f64::NAN.into()).unwrap();
        let options = BlockedConv {
            in_channels: channels,
            out_channels: 40,
            groups: 1,
            kernel,
            stride: [1, 1],
            padding,
            dilation: [1, 1],
            activation: Activation::None,
            exact: true,
            bf16: false,
        };
        let (packed, bias) = (pack_weight(&w, 1).unwrap().unwrap(), pack_bias(None, 40).unwrap());
        for level in LEVELS.iter().copied() {
            let found = convolve(level, &blocked, &packed, &bias, None, &options).unwrap();
            close(&from_blocked(&found, 40).unwrap(), expected.as_ref().unwrap());
        }
    }
}

#[test]
fn channels_are_selected_in_any_order() {
    let images =
        [numbers(&[2, 20, 3, 5], 1), numbers(&[2, 58, 3, 5], 2), numbers(&[2, 3, 3, 5], 3)];
    let blocked = [0, 1, 2].map(|at| to_blocked(&images[at]).unwrap());
    let blocked: Vec<&Tensor> = blocked.iter().collect();
    let shuffled: Vec<[i64; 2]> = (0..20).flat_map(|at| [[0, at], [1, 57 - at]]).collect();
    let cases = [
        shuffled,
        (0..58).map(|at| [1, (at * 23) % 58]).collect(),
        vec![[2, 1], [0, 19], [2, 1], [1, 0], [1, 33]],
        (0..33).map(|at| [i64::from(at % 2 == 0), at % 20]).collect(),
    ];
    for channels in &cases {
        let parts: Vec<Tensor> = channels
            .iter()
            .map(|&[image, channel]| images[image as usize].narrow(1, channel, 1).unwrap())
            .collect();
        let expected = crate::cat(&parts, 1).unwrap().to_vec::<f32>().unwrap();
        for level in LEVELS.iter().copied() {
            let found = select::select(level, &blocked, channels, [2, -1, 5]).unwrap();
            assert!(found.to_vec::<f32>().unwrap().iter().all(|x| x.is_finite()));
            let found = from_blocked(&found, channels.len() as i64).unwrap();
            assert_eq!(found.to_vec::<f32>().unwrap(), expected, "{level:?}");
        }
    }
    for (channels, sizes) in [
        (&[[0, 32]][..], [-1; 3]),
        (&[[3, 0]], [-1; 3]),
        (&[[0, -1]], [-1; 3]),
        (&[], [-1; 3]),
        (&[[0, 0]], [1, -1, -1]),
        (&[[0, 0]], [2, 3, 4]),
    ] {
        assert!(select_blocked(&blocked, channels, sizes).is_err(), "{channels:?}");
    }
}

#[test]
fn pools_in_blocks_are_pools() {
    let cases = [
        (20, [112, 57], [3, 3], [2, 2], [1, 1], [1, 1], false),
        (16, [13, 14], [3, 2], [2, 3], [1, 0], [1, 2], true),
        (7, [5, 5], [5, 5], [1, 1], [2, 2], [1, 1], true),
    ];
    for (channels, [height, width], kernel, stride, padding, dilation, ceil_mode) in &cases {
        let (channels, ceil_mode) = (*channels, *ceil_mode);
        let x = numbers(&[2, channels, *height, *width], 7);
        x.select(0, 1).unwrap().select(1, 2).unwrap().fill(f64::NAN.into()).unwrap();
        let options = PoolOptions { kernel, stride, padding, dilation, ceil_mode };
        let expected = max_pool(&x, 2, &options).unwrap();
        let found = max_pool2d_blocked(&to_blocked(&x).unwrap(), &options).unwrap();
        let found = from_blocked(&found, channels).unwrap();
        assert_eq!(found.sizes(), expected.sizes());
        let pairs =
            found.to_vec::<f32>().unwrap().into_iter().zip(expected.to_vec::<f32>().unwrap());
        pairs.for_each(|(a, b)| assert!(a == b || (a.is_nan() && b.is_nan())));
    }
    let x = numbers(&[2, 20, 7, 9], 8);
    let mean = from_blocked(&mean_blocked(&to_blocked(&x).unwrap()).unwrap(), 20).unwrap();
    close(&mean, &crate::adaptive_avg_pool(&x, &[1, 1]).unwrap());
}

/// Of the levels that lack the instruction, `float32`.
#[test]
fn convolutions_of_pairs_are_those_of_rounded_numbers() {
    let cases: &[([i64; 6], i64, i64)] = &[
        ([1, 32, 64, 1, 14, 14], 1, 1),
        ([2, 24, 40, 1, 7, 29], 3, 1),
        ([1, 17, 15, 1, 8, 9], 1, 1),
        ([1, 33, 33, 1, 15, 15], 3, 2),
        ([1, 64, 96, 2, 6, 6], 3, 1),
        ([1, 16, 48, 1, 9, 19], 5, 3),
        ([1, 32, 80, 1, 15, 4], 1, 2),
    ];
    let rounded =
        |x: &Tensor| x.to_dtype(DType::BFloat16).unwrap().to_dtype(DType::Float32).unwrap();
    for &([n, channels, out, groups, height, width], side, step) in cases {
        let x = numbers(&[n, channels, height, width], 1);
        let w = numbers(&[out, channels / groups, side, side], 2);
        let bias = numbers(&[out], 3);
        let (stride, padding) = ([step; 2], [side / 2; 2]);
        let plain = ConvOptions { stride: &stride, padding: &padding, dilation: &[1, 1], groups };
        let packed = pack_weight(&w, groups).unwrap().unwrap();
        let packed_bias = pack_bias(Some(&bias), out).unwrap();
        let input = to_blocked(&x).unwrap();
        for level in LEVELS.iter().copied() {
            let options = BlockedConv {
                in_channels: channels,
                out_channels: out,
                groups,
                kernel: [side; 2],
                stride,
                padding,
                dilation: [1, 1],
                activation: Activation::Relu,
                exact: true,
                bf16: true,
            };
            let has = super::channel_pairs::has_pairs(level);
            let [x, w] = if has { [rounded(&x), rounded(&w)] } else { [x.clone(), w.clone()] };
            let sum = conv(&x, &w, Some(&bias), &plain).unwrap();
            let residual = numbers(sum.sizes(), 4);
            let sum = crate::add((&sum).into(), (&residual).into(), 1.into()).unwrap();
            let residual = to_blocked(&residual).unwrap();
            let expected = crate::unary(crate::UnaryOp::Relu, &sum).unwrap();
            let found = convolve(level, &input, &packed, &packed_bias, Some(&residual), &options);
            close(&from_blocked(&found.unwrap(), out).unwrap(), &expected);
        }
    }
}
