//! Both variants beside sums in double precision, and beside direct convolution where numbers are not finite.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

use sconce_kernel_core::chosen_implementation::take_choice;
use sconce_kernel_core::parallel::partition::num_threads;
use sconce_kernel_core::simd::dispatch::Level;
use sconce_kernel_core::simd::lanes::LANES;

use super::super::convolve::convolve;
use super::super::{Activation, BlockedConv, from_blocked, pack_bias, pack_weight, to_blocked};
use super::points::Variant;
use super::*;
use crate::{DType, Generator, Tensor};

/// A convolution of images with random numbers.
struct Case {
    batch: usize,
    channels: usize,
    out_channels: usize,
    size: [usize; 2],
    padding: usize,
}

const fn case(
    batch: usize,
    [channels, out_channels]: [usize; 2],
    size: [usize; 2],
    padding: usize,
) -> Case {
    Case { batch, channels, out_channels, size, padding }
}

/// Odd sizes, sizes of less than a tile, channels that fill no block and no pair of blocks.
const CASES: &[Case] = &[
    case(1, [64, 64], [14, 14], 1),
    case(2, [24, 40], [7, 29], 1),
    case(3, [17, 15], [9, 11], 0),
    case(1, [5, 100], [4, 4], 1),
    case(2, [48, 48], [28, 28], 1),
    case(1, [33, 16], [3, 3], 0),
    case(1, [33, 16], [1, 1], 1),
    case(5, [64, 96], [7, 7], 1),
    case(1, [16, 16], [6, 70], 2),
    case(1, [256, 32], [15, 13], 1),
];

/// Numbers of the standard normal distribution.
fn normal(sizes: &[usize], seed: u64) -> Tensor {
    let sizes: Vec<i64> = sizes.iter().map(|&size| size as i64).collect();
    let numbers = Tensor::zeros(&sizes, DType::Float32).unwrap();
    crate::normal_in_place(&numbers, 0.0, 1.0, &mut Generator::new(seed)).unwrap();
    numbers
}

impl Case {
    fn output(&self) -> [usize; 2] {
        self.size.map(|size| size + 2 * self.padding - 2)
    }

    fn input(&self) -> Tensor {
        normal(&[self.batch, self.channels, self.size[0], self.size[1]], 1)
    }

    fn weight(&self) -> Tensor {
        normal(&[self.out_channels, self.channels, 3, 3], 2)
    }

    fn outline(&self) -> Outline {
        Outline {
            batch: self.batch,
            channels: self.channels,
            out_blocks: self.out_channels.div_ceil(LANES),
            input: self.size,
            output: self.output(),
            padding: [self.padding; 2],
        }
    }

    fn options(&self, activation: Activation, exact: bool) -> BlockedConv {
        BlockedConv {
            in_channels: self.channels as i64,
            out_channels: self.out_channels as i64,
            groups: 1,
            kernel: [3; 2],
            stride: [1; 2],
            padding: [self.padding as i64; 2],
            dilation: [1; 2],
            activation,
            exact,
            bf16: false,
        }
    }

    /// The convolution in double precision, with its bias.
    fn expected(&self, bias: &Tensor) -> Vec<f64> {
        let double = |tensor: &Tensor| tensor.to_dtype(DType::Float64).unwrap();
        let padding = [self.padding as i64; 2];
        let options =
            crate::ConvOptions { stride: &[1, 1], padding: &padding, dilation: &[1, 1], groups: 1 };
        let (x, w, b) = (double(&self.input()), double(&self.weight()), double(bias));
        crate::conv(&x, &w, Some(&b), &options).unwrap().to_vec::<f64>().unwrap()
    }

    /// The convolution by a variant, as a plain image.
    fn by(&self, level: Level, variant: Variant, bias: &Tensor, threads: usize) -> Vec<f32> {
        let packed = pack_weight(&self.weight(), 1).unwrap().unwrap();
        let forms = packed.storage().derived(Forms::default).unwrap();
        let packed = packed.read::<f32>().unwrap();
        let weights = forms.of(variant, &packed, self.channels, self.out_channels).unwrap();
        let input = to_blocked(&self.input()).unwrap();
        let (input, bias) = (input.read::<f32>().unwrap(), bias.read::<f32>().unwrap());
        let operands =
            Operands { input: &input, bias: &bias, residual: None, activation: Activation::None };
        let [height, width] = self.output();
        let blocks = self.out_channels.div_ceil(LANES);
        let sizes = [self.batch, blocks, height, width, LANES].map(|size| size as i64);
        let out = Tensor::for_overwrite(&sizes, DType::Float32).unwrap();
        {
            let mut out = out.write::<f32>().unwrap();
            let outline = self.outline();
            let finite =
                super::convolve(level, variant, &outline, operands, weights, threads, &mut out);
            assert!(finite);
        }
        from_blocked(&out, self.out_channels as i64).unwrap().to_vec::<f32>().unwrap()
    }
}

#[test]
fn errors_stay_below_a_hundred_thousandth_of_the_root_mean_square() {
    for case in CASES {
        let bias = normal(&[case.out_channels], 3);
        let expected = case.expected(&bias);
        let bias = pack_bias(Some(&bias), case.out_channels as i64).unwrap();
        let squares: f64 = expected.iter().map(|x| x * x).sum();
        let rms = (squares / expected.len() as f64).sqrt();
        for level in Level::all() {
            for variant in [Variant::Four, Variant::Two] {
                let found = case.by(level, variant, &bias, 1);
                assert_eq!(found.len(), expected.len());
                let errors = found.iter().zip(&expected).map(|(a, b)| (f64::from(*a) - b).abs());
                let worst = errors.fold(0.0, f64::max);
                assert!(worst <= 1e-5 * rms, "{variant:?} {:?}: {worst} of {rms}", case.outline());
            }
        }
    }
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    for case in CASES {
        let bias = pack_bias(None, case.out_channels as i64).unwrap();
        let level = sconce_kernel_core::simd::dispatch::best();
        for variant in [Variant::Four, Variant::Two] {
            let one = case.by(level, variant, &bias, 1);
            for threads in [2, 3, num_threads().max(4)] {
                assert_eq!(case.by(level, variant, &bias, threads), one);
            }
        }
    }
}

/// A convolution whose shape is one that Winograd's algorithm is chosen for.
const CHOSEN: Case = case(2, [32, 40], [18, 15], 1);

fn run(input: &Tensor, residual: Option<&Tensor>, activation: Activation, exact: bool) -> Vec<f32> {
    let packed = pack_weight(&CHOSEN.weight(), 1).unwrap().unwrap();
    let bias = pack_bias(Some(&normal(&[40], 3)), 40).unwrap();
    let options = CHOSEN.options(activation, exact);
    let level = sconce_kernel_core::simd::dispatch::best();
    let input = to_blocked(input).unwrap();
    let residual = residual.map(|residual| to_blocked(residual).unwrap());
    let result = convolve(level, &input, &packed, &bias, residual.as_ref(), &options).unwrap();
    from_blocked(&result, 40).unwrap().to_vec::<f32>().unwrap()
}

#[test]
fn it_is_chosen_said_and_turned_off() {
    let choice = |exact| {
        take_choice();
        run(&CHOSEN.input(), None, Activation::None, exact);
        take_choice()
    };
    assert_eq!(choice(false), Some("blocked layout, winograd F(4x4,3x3)"));
    assert_eq!(choice(true), Some("blocked layout, direct"));
}

#[test]
fn residuals_and_activations_are_those_of_direct_convolution() {
    let residual = normal(&[2, 40, 18, 15], 4);
    for activation in [
        Activation::Relu,
        Activation::Hardswish,
        Activation::Clamp(-0.5, 2.0),
        Activation::Silu,
        Activation::Gelu,
    ] {
        let input = CHOSEN.input();
        let found = run(&input, Some(&residual), activation, false);
        let expected = run(&input, Some(&residual), activation, true);
        let close = |(a, b): (&f32, &f32)| (a - b).abs() <= 3e-4;
        assert!(found.iter().zip(&expected).all(close), "{activation:?}");
    }
}

#[test]
fn what_is_not_finite_stays_where_it_is() {
    for number in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MAX] {
        let input = CHOSEN.input();
        input.write::<f32>().unwrap()[18 * 15 * 3 + 15 * 7 + 6] = number;
        take_choice();
        let found = run(&input, None, Activation::None, false);
        assert_eq!(take_choice(), Some("blocked layout, direct"));
        let expected = run(&input, None, Activation::None, true);
        let bits = |numbers: &[f32]| numbers.iter().map(|x| x.to_bits()).collect::<Vec<u32>>();
        assert_eq!(bits(&found), bits(&expected));
    }
}

#[test]
fn weights_of_no_measure_are_convolved_directly() {
    let fits = |change: fn(&mut [f32])| {
        let weight = CHOSEN.weight();
        change(&mut weight.write::<f32>().unwrap());
        let packed = pack_weight(&weight, 1).unwrap().unwrap();
        let packed = packed.read::<f32>().unwrap();
        Forms::default().of(Variant::Four, &packed, 32, 40).is_some()
    };
    assert!(fits(|_| {}));
    assert!(fits(|weights| weights[..32 * 9].fill(0.0)));
    assert!(!fits(|weights| weights[7] = f32::NAN));
    assert!(!fits(|weights| weights[7] = f32::INFINITY));
    assert!(!fits(|weights| weights[7] = 1e20));
    // A place of the window that hardly counts beside the others.
    assert!(!fits(|weights| weights[..32 * 9].iter_mut().step_by(9).for_each(|w| *w *= 1e-7)));
}

#[test]
fn small_images_and_few_channels_are_left_to_direct_convolution() {
    let of = |level: Level, channels: usize, side: usize| {
        choose(level, &case(1, [channels; 2], [side; 2], 1).outline(), false)
    };
    let best = sconce_kernel_core::simd::dispatch::best();
    assert_eq!(of(best, 512, 2), None);
    assert_eq!(of(best, 512, 1), None);
    if best != Level::Baseline {
        assert_eq!(of(best, 64, 56), Some(Variant::Four));
        assert!(of(best, 512, 7).is_some());
    }
    // How quickly weights come counts where products are quick.
    #[cfg(target_arch = "x86_64")]
    assert_eq!(of(Level::Avx512, 512, 7), Some(Variant::Two));
}
