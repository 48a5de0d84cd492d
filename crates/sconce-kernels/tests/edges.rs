//! What PyTorch gives at the edges: infinities and NaN, dtypes that are mixed, numbers that do not fit.
//! Each expectation is what torch 2.15 printed for the expression beside it.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

use num_complex::Complex;
use sconce_kernels::*;

const INF: f32 = f32::INFINITY;
const NAN: f32 = f32::NAN;

fn vector<T: PodElement>(items: &[T]) -> Tensor {
    Tensor::from_slice(items, &[items.len() as i64]).unwrap()
}

fn floats(tensor: &Tensor) -> Vec<f32> {
    tensor.to_dtype(DType::Float32).unwrap().to_vec().unwrap()
}

fn same(a: &[f32], b: &[f32]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a == b || (a.is_nan() && b.is_nan()))
}

#[test]
fn complex_numbers_at_infinity() {
    let x = |re, im| vector(&[Complex::new(re, im)]);
    let cases = [
        // torch.tensor([1+2j]) + complex(inf, 0)
        (BinaryOp::Add, x(1.0, 2.0), x(INF, 0.0), [INF, NAN]),
        (BinaryOp::Sub, x(1.0, 2.0), x(0.0, INF), [NAN, -INF]),
        // torch.tensor([1+2j]) / 0, / inf, and what would overflow on the way
        (BinaryOp::Div, x(1.0, -2.0), x(0.0, 0.0), [INF, -INF]),
        (BinaryOp::Div, x(1.0, 2.0), x(INF, 0.0), [0.0, 0.0]),
        (BinaryOp::Div, x(1e30, 1e30), x(1e30, 1e30), [1.0, 0.0]),
    ];
    for (op, a, b, expected) in cases {
        let found = binary(op, (&a).into(), (&b).into()).unwrap();
        let found = found.to_vec::<Complex<f32>>().unwrap()[0];
        assert!(same(&[found.re, found.im], &expected), "{op:?} {found} {expected:?}");
    }
}

#[test]
fn nan_has_no_order_but_a_place() {
    // torch.mode
    for (row, value, index) in [
        (&[NAN, 5.0, NAN, 5.0][..], NAN, 0),
        (&[5.0, NAN], 5.0, 0),
        (&[5.0, 5.0, NAN], 5.0, 1),
        (&[2.0, NAN, 5.0, 5.0], 5.0, 3),
        (&[2.0, NAN, 1.0], 1.0, 2),
    ] {
        let (values, indices) = mode(&vector(row), 0, false).unwrap();
        assert!(same(&floats(&values), &[value]), "{row:?}");
        assert_eq!(indices.to_vec::<i64>().unwrap(), [index], "{row:?}");
    }
    // torch.nanmedian of nothing but NaN
    for (count, index) in [(1, 0), (3, 0), (5, 2)] {
        let (values, indices) = median(&vector(&vec![NAN; count]), 0, false, true).unwrap();
        assert!(same(&floats(&values), &[NAN]));
        assert_eq!(indices.to_vec::<i64>().unwrap(), [index], "{count}");
    }
    // torch.unique(torch.full((20,), nan), return_inverse=True)
    let found = unique(&vector(&[NAN; 20]), true, true).unwrap();
    let expected = [10, 19, 18, 17, 16, 15, 14, 13, 12, 11, 0, 9, 8, 7, 6, 5, 4, 3, 2, 1];
    assert_eq!(found.inverse.to_vec::<i64>().unwrap(), expected);
    // Rows in which the sort meets NaN on both sides of its pivot end, whatever they hold.
    for seed in 0..200u32 {
        let row: Vec<f32> = (0..60)
            .map(|i: u32| (i + seed).wrapping_mul(2_654_435_761) >> 28)
            .map(|x| if x % 3 == 0 { NAN } else { x as f32 })
            .collect();
        mode(&vector(&row), 0, false).unwrap();
    }
}

#[test]
fn dtypes_that_are_mixed() {
    // torch.searchsorted(torch.tensor([1, 3, 5]), torch.tensor([2.5, 3., 0.5]))
    let places = searchsorted(&vector(&[1i64, 3, 5]), &vector(&[2.5f32, 3.0, 0.5]), false, None);
    assert_eq!(places.unwrap().to_vec::<i64>().unwrap(), [1, 1, 0]);
    // torch.tensor([44, 255, 0], dtype=torch.uint8) == 300, which is 44 of 8 bits
    let bytes = vector(&[44u8, 255, 0]);
    for (op, number, expected) in [
        (BinaryOp::Eq, 300, [1.0, 0.0, 0.0]),
        (BinaryOp::Lt, 300, [0.0, 0.0, 1.0]),
        (BinaryOp::Eq, -1, [0.0, 1.0, 0.0]),
    ] {
        let found = binary(op, (&bytes).into(), number.into()).unwrap();
        assert_eq!(floats(&found), expected, "{op:?} {number}");
    }
    let bools = Tensor::from_bools(&[true, false], &[2]).unwrap();
    let no = Tensor::from_bools(&[false, false], &[2]).unwrap();
    // torch.add(a, b, alpha=-1), of which the second is an alpha that is true
    for (a, b, expected) in [(&no, &bools, [1.0, 0.0]), (&bools, &bools, [1.0, 0.0])] {
        assert_eq!(floats(&add(a.into(), b.into(), (-1).into()).unwrap()), expected);
    }
    // torch.addcmul(x, x, x, value=2.5) of integers
    let ints = vector(&[3i64, 5]);
    let found = addcmul(&ints, &ints, &ints, 2.5.into()).unwrap();
    assert_eq!(found.to_vec::<i64>().unwrap(), [21, 55]);
    // torch.ldexp(torch.tensor([1.]), torch.tensor(1.3, dtype=torch.float16))
    let exponent = Tensor::scalar(1.3.into(), DType::Float16).unwrap();
    assert_eq!(floats(&ldexp(&vector(&[1f32]), &exponent).unwrap()), [2.462_890_6]);
}

#[test]
fn what_does_not_fit_is_refused_in_pytorch_words() {
    let words = |result: Result<Tensor>| result.unwrap_err().message().to_owned();
    let ints = vector(&[1i64, 2, 3, 4]);
    let bytes = vector(&[1u8]);
    let half = vector(&[1f32]).to_dtype(DType::Float16).unwrap();
    const BOOLS: &str = "\"cumsum_out_cpu\" not implemented for 'Bool'";
    let flag = Tensor::from_bools(&[true], &[1]).unwrap();
    let empty = Tensor::zeros(&[2, 0], DType::Float32).unwrap();
    let sum = "For non-complex input tensors, argument alpha must not be a complex number.";
    let alpha = Scalar::Complex(Complex::new(0.0, 1.0));
    for (found, expected) in [
        (
            masked_fill(&ints, &flag, f64::INFINITY.into()),
            "value cannot be converted to type int64_t without overflow",
        ),
        (
            bytes.fill((-1.0).into()).map(|()| bytes.clone()),
            "value cannot be converted to type uint8_t without overflow",
        ),
        (
            binary(BinaryOp::Pow, (&bytes).into(), 300.into()),
            "value cannot be converted to type uint8_t without overflow",
        ),
        (add((&vector(&[1f32])).into(), (&vector(&[1f32])).into(), alpha), sum),
        (arg_min_max(MinMax::Max, &flag, None, false), "argmax(): does not support bool input"),
        (
            arg_min_max(MinMax::Min, &empty, Some(1), false),
            "argmin(): Expected reduction dim 1 to have non-zero size.",
        ),
        (amax(&empty, &[-1], false), "amax(): Expected reduction dim -1 to have non-zero size."),
        (
            unflatten(&ints, 0, &[3, -1]),
            "unflatten: Provided sizes [3, -1] don't multiply up to the size of dim 0 (4) in the \
             input tensor",
        ),
        (unflatten(&ints, 0, &[]), "unflatten: sizes must be non-empty"),
        (
            Tensor::full(&[2], 1e30.into(), DType::Float16),
            "value cannot be converted to type c10::Half without overflow",
        ),
        (
            sub((&half).into(), (&half).into(), (1i64 << 31).into()),
            "value cannot be converted to type c10::Half without overflow",
        ),
        (
            add((&vector(&[1f32])).into(), (&vector(&[1f32])).into(), 1e300.into()),
            "value cannot be converted to type float without overflow",
        ),
        (cumsum(&flag, 0, None).and_then(|_| cumsum(&flag, 0, Some(DType::Bool))), BOOLS),
        (
            nanmean(&vector(&[1f32]), &[], false, Some(DType::UInt8)),
            "nanmean(): could not infer output dtype. Optional dtype must be either a floating point \
             or complex dtype. Got: Byte",
        ),
        (
            logsumexp(&ints, &[], false),
            "output with shape [] doesn't match the broadcast shape [1]",
        ),
        (
            norm(&empty, -1.0, &[], false),
            "linalg.vector_norm cannot compute the -1 norm on an empty tensor because the operation \
             does not have an identity",
        ),
        (
            cdist(&empty, &empty.to_dtype(DType::Float64).unwrap(), 2.0),
            "expected scalar type Float but found Double",
        ),
        (
            trapezoid(&ints, Spacing::At(&flag), 0),
            "trapezoid: received a bool input for `x` or `y`, but bool is not supported",
        ),
        (
            cumulative_trapezoid(&ints, Spacing::At(&bytes), 0),
            "cumulative_trapezoid: There must be one `x` value for each sample point",
        ),
        (ldexp(&vector(&[1f32]), &flag), "\"ldexp_cpu_exp\" not implemented for 'Bool'"),
        (corrcoef(&flag), "cov(): bool dtype is not supported for input"),
    ] {
        assert_eq!(words(found), expected);
    }
    assert_eq!(unflatten(&ints, 0, &[2, -1]).unwrap().sizes(), [2, 2]);
    assert_eq!(unflatten(&empty, 1, &[3, -1]).unwrap().sizes(), [2, 3, 0]);
}

#[test]
fn channels_with_zero_points_that_are_no_integers() {
    let weight = Tensor::from_slice(&[0f32, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 1e20], &[2, 4]).unwrap();
    let by = || Quantizer::PerChannelFloat {
        scales: vec![0.5, 0.25],
        zero_points: vec![7.25, 1.5],
        axis: 0,
    };
    // torch.quantize_per_channel(weight, scales, zero_points, 0, torch.quint8)
    let quantized = quantize(&weight, by(), DType::QUInt8).unwrap();
    let codes = int_repr(&quantized).unwrap().to_vec::<u8>().unwrap();
    assert_eq!(codes, [7, 8, 9, 10, 10, 12, 14, 0]);
    let back = dequantize(&quantized).unwrap();
    let expected = [-0.125, 0.375, 0.875, 1.375, 2.125, 2.625, 3.125, -0.375];
    assert_eq!(back.to_vec::<f32>().unwrap(), expected);
    // … and torch.quint4x2, whose integers are given as they are stored.
    let nibbles = quantize(&weight, by(), DType::QUInt4x2).unwrap();
    let codes = int_repr(&nibbles).unwrap().to_vec::<u8>().unwrap();
    assert_eq!(codes, [0x87, 0xa9, 0xca, 0x0e]);
    let (rows, bits) = pack_quantized_rows(&nibbles).unwrap();
    assert_eq!((rows.sizes(), bits), (&[2, 6][..], CodeBits::Four));
    assert_eq!(unpack_rows(&rows, bits).unwrap().to_vec::<f32>().unwrap(), expected);
}

#[test]
fn ranges_of_integers_between_numbers_that_are_none() {
    let ints = |tensor: Tensor| tensor.to_dtype(DType::Int64).unwrap().to_vec::<i64>().unwrap();
    // torch.arange(-0.9, 2.1, 2.0, dtype=torch.int64): counted before and stepped after rounding
    for (start, end, step, expected) in [
        (-0.9, 2.1, 2.0, &[0, 2][..]),
        (2.1, -2.9, -1.0, &[2, 1, 0, -1, -2]),
        (0.0, 2.0, 0.5, &[0, 0, 0, 0]),
    ] {
        for dtype in [DType::Int64, DType::Int16] {
            let range = arange(start.into(), end.into(), step.into(), Some(dtype)).unwrap();
            assert_eq!(ints(range), expected, "{start} {end} {step}");
        }
    }
    // torch.linspace(4.3, 0, 7, dtype=torch.int32)
    for (start, end, steps, expected) in
        [(4.3, 0.0, 7, &[4, 3, 2, 2, 1, 0, 0][..]), (-2.5, 8.7, 9, &[-2, 0, 0, 1, 3, 4, 5, 6, 8])]
    {
        assert_eq!(
            ints(linspace(start.into(), end.into(), steps, DType::Int32).unwrap()),
            expected
        );
    }
    let words = linspace((-2.5).into(), 8.7.into(), 9, DType::UInt8).unwrap_err().to_string();
    assert_eq!(words, "value cannot be converted to type uint8_t without overflow");
}

#[test]
fn linspace_rounds_the_product_and_the_sum_at_once() {
    // torch.linspace(-1, 1, 8).tolist(), torch.linspace(-2.5, 2.3, 7).tolist()
    let cases: [(f64, f64, &[f64]); 2] = [
        (
            -1.0,
            1.0,
            &[
                -1.0,
                -0.7142857313156128,
                -0.4285714030265808,
                -0.14285710453987122,
                0.14285710453987122,
                0.4285714030265808,
                0.7142857313156128,
                1.0,
            ],
        ),
        (
            -2.5,
            2.3,
            &[
                -2.5,
                -1.7000000476837158,
                -0.8999999761581421,
                -0.10000008344650269,
                0.6999999284744263,
                1.5,
                2.299999952316284,
            ],
        ),
    ];
    for (start, end, expected) in cases {
        let line = linspace(start.into(), end.into(), expected.len() as i64, DType::Float32);
        let found: Vec<f64> =
            line.unwrap().to_vec::<f32>().unwrap().into_iter().map(f64::from).collect();
        assert_eq!(found, expected);
    }
}

#[test]
fn of_several_faults_the_one_is_named_that_pytorch_sees_first() {
    let zeros = |sizes: &[i64]| Tensor::zeros(sizes, DType::Float32).unwrap();
    let index = |sizes: &[i64]| Tensor::zeros(sizes, DType::Int64).unwrap();
    let (x, y) = (zeros(&[2, 5, 2]), zeros(&[2, 3, 3]));
    let two =
        PoolOptions { kernel: &[2], stride: &[], padding: &[0], dilation: &[1], ceil_mode: false };
    let cases = [
        (
            binary(BinaryOp::Mul, (&x).into(), (&y).into()),
            "The size of tensor a (2) must match the size of tensor b (3) at non-singleton dimension 2",
        ),
        (
            x.expand(&[2, 3, 3]),
            "The expanded size of the tensor (3) must match the existing size (2) at non-singleton \
             dimension 2.  Target sizes: [2, 3, 3].  Tensor sizes: [2, 5, 2]",
        ),
        (
            matmul(&zeros(&[2, 3, 16, 16]).transpose(-1, -2).unwrap(), &zeros(&[3, 3])),
            "Expected size for first two dimensions of batch2 tensor to be: [6, 16] but got: [6, 3].",
        ),
        (
            matmul(&zeros(&[2, 16, 16]), &zeros(&[3])),
            "size mismatch, got input (32), mat (32x16), vec (3)",
        ),
        (
            scatter(&zeros(&[2, 2]), 1, &index(&[18, 1]), Operand::Scalar(1.0.into())),
            "Expected index [18, 1] to be no larger than self [2, 2] apart from dimension 1",
        ),
        (
            scatter(&zeros(&[2, 2]), 1, &index(&[1]), Operand::Scalar(1.0.into())),
            "Index tensor must have the same number of dimensions as self tensor",
        ),
        (
            masked_fill(&zeros(&[2, 3, 16]), &zeros(&[2, 3, 3]), Operand::Scalar(0.0.into())),
            "The size of tensor a (3) must match the size of tensor b (16) at non-singleton \
             dimension 2",
        ),
        (
            rms_norm(&zeros(&[3, 4]), &[8, 2], None, None),
            "Given normalized_shape=[8, 2], expected input with shape [*8, 2], but got input of \
             size[3, 4]",
        ),
        (
            max_pool(&zeros(&[3, 3]), 2, &two),
            "non-empty 3D or 4D (batch mode) tensor expected for input",
        ),
        (
            avg_pool(&zeros(&[3, 3]), 2, &two, true, None),
            "Dimension out of range (expected to be in range of [-2, 1], but got -3)",
        ),
        (
            avg_pool(&zeros(&[3]), 1, &two, true, None),
            "Expected 2 to 3 dimensions, but got 1-dimensional tensor for argument #1 'self' (while \
             checking arguments for avg_pool1d)",
        ),
    ];
    for (found, words) in cases {
        assert_eq!(found.unwrap_err().message(), words);
    }
    let beyond = index_put(&zeros(&[2, 8]), &[Some(vector(&[5i64]))], &zeros(&[3, 8]), false);
    let words = "shape mismatch: value tensor of shape [3, 8] cannot be broadcast to indexing result \
                 of shape [1, 8]";
    assert_eq!(beyond.unwrap_err().message(), words);
}

#[test]
fn integrals_take_places_of_fewer_and_more_dimensions() {
    let counted = |sizes: &[i64]| {
        let numbers: Vec<f32> = (1..=sizes.iter().product()).map(|i| i as f32).collect();
        Tensor::from_slice(&numbers, sizes).unwrap()
    };
    // torch.trapezoid(y, x, dim=dim)
    for (y, x, dim, expected) in [
        (&[2, 3][..], &[2][..], 0, &[2.5, 3.5, 4.5][..]),
        (&[2, 2, 3], &[2, 3], -1, &[4.0, 10.0, 16.0, 22.0]),
        (&[2], &[2, 3], -1, &[4.5, 4.5, 4.5]),
        (&[2, 3], &[], 0, &[0.0, 0.0, 0.0]),
    ] {
        let (y, x) = (counted(y), counted(x));
        let found = trapezoid(&y, Spacing::At(&x), dim).unwrap();
        assert_eq!(floats(&found), expected, "{y:?} {x:?}");
    }
    let none = cumulative_trapezoid(&counted(&[2, 0]), Spacing::Step(3.into()), 1).unwrap();
    assert_eq!(none.sizes(), [2, 0]);
}

#[test]
fn gradients_over_steps_of_nothing_and_infinity() {
    let x = vector(&[1f32, 3.0, 2.0, 5.0]);
    // torch.gradient(x, spacing=step, edge_order=order)
    for (step, order, expected) in [
        (f64::INFINITY, 1, [0.0, 0.0, 0.0, 0.0]),
        (f64::INFINITY, 2, [0.0, 0.0, 0.0, 0.0]),
        (0.0, 1, [INF, INF, INF, INF]),
    ] {
        let found = gradient(&x, Spacing::Step(step.into()), 0, order).unwrap();
        assert!(floats(&found).iter().zip(expected).all(|(a, b)| *a == b), "{step} {order}");
    }
    // torch.gradient(x, spacing=[torch.tensor([4., 4., 6., 7.])])
    let places = vector(&[4f32, 4.0, 6.0, 7.0]);
    let found = gradient(&x, Spacing::At(&places), 0, 1).unwrap();
    assert!(same(&floats(&found), &[INF, NAN, 1.833_333_4, 3.0]), "{:?}", floats(&found));
}

#[test]
fn of_nothing_there_is_no_deviation() {
    // torch.std(torch.zeros(0), correction=-0.5)
    let none = Tensor::zeros(&[0], DType::Float32).unwrap();
    assert!(same(&floats(&std(&none, &[], -0.5, false).unwrap()), &[NAN]));
    assert!(same(&floats(&var(&none, &[], f64::NEG_INFINITY, false).unwrap()), &[NAN]));
}

#[test]
fn halves_over_one_number_are_cut_off_before_they_are_rounded() {
    let x = vector(&[7.949_218_8f32]).to_dtype(DType::Float16).unwrap();
    let by = vector(&[0.042_061_206f32]);
    let by_number = by.reshape(&[]).unwrap();
    let of_halves = by.to_dtype(DType::Float16).unwrap();
    for (by, expected) in [(&by_number, 188.0), (&of_halves, 189.0)] {
        let found = binary(BinaryOp::DivTrunc, (&x).into(), by.into()).unwrap();
        assert_eq!(floats(&found), [expected]);
    }
}

#[test]
fn differences_of_order_nothing_leave_out_what_stands_beside() {
    // torch.diff(x, n=0, append=x)
    let x = vector(&[1i64, 4]);
    let same = diff(&x, 0, 0, None, Some(&x)).unwrap();
    assert_eq!(same.to_vec::<i64>().unwrap(), [1, 4]);
    // Whatever the dimension, unless something stands beside.
    assert!(diff(&x, 0, 7, None, None).is_ok());
    assert!(diff(&x, 0, 7, None, Some(&x)).is_err());
}

#[test]
fn bins_whose_edges_are_out_of_order_are_searched_as_if_they_were_not() {
    // torch.histogramdd(torch.tensor([[0.], [2.], [3.], [5.]]), [torch.tensor([0., 4., 1., 5.])])
    let points = vector(&[0f32, 2.0, 3.0, 5.0]).view(&[4, 1]).unwrap();
    let bins = [Bins::Edges(vector(&[0f32, 4.0, 1.0, 5.0]))];
    let (counts, _) = histogramdd(&points, &bins, None, None, false).unwrap();
    assert_eq!(floats(&counts), [1.0, 0.0, 3.0]);
}

#[test]
fn weights_of_covariances_are_checked() {
    let x = Tensor::from_slice(&[1f32, 2.0, 4.0, 3.0, 5.0, 9.0], &[2, 3]).unwrap();
    // torch.cov(x, fweights=..., aweights=...)
    let (times, by) = (vector(&[1i64, 2, 1]), vector(&[0.5f64, 1.0, 2.0]));
    let cov_of = |times: Option<&Tensor>, by: Option<&Tensor>| cov(&x, 1, times, by);
    let found = cov_of(Some(&times), Some(&by)).unwrap();
    assert_eq!(found.dtype(), DType::Float64);
    let expected = [1.857_142_8, 3.714_285_6, 3.714_285_6, 7.428_571];
    assert!(same(&floats(&found), &expected), "{:?}", floats(&found));
    for (times, by, words) in [
        (
            Some(vector(&[1i64; 4])),
            None,
            "cov(): expected fweights to have the same numel as there are observations in the input but got 4 != 3",
        ),
        (
            Some(vector(&[1f32; 3])),
            None,
            "cov(): expected fweights to have integral dtype but got fweights with Float dtype",
        ),
        (Some(vector(&[1i64, -1, 1])), None, "cov(): fweights cannot be negative"),
        (None, Some(vector(&[NAN, 1.0, 1.0])), "cov(): aweights cannot be negative"),
        (
            None,
            Some(vector(&[1i64; 3])),
            "cov(): expected aweights to have floating point dtype but got aweights with Long dtype",
        ),
        (None, Some(vector(&[0f32; 3])), "cov(): weights sum to zero, can't be normalized"),
    ] {
        assert_eq!(cov_of(times.as_ref(), by.as_ref()).unwrap_err().to_string(), words);
    }
}

#[test]
fn scattering_into_a_view_copies_what_lies_beside_it() {
    // torch.as_strided_scatter(torch.arange(6.)[1:4], torch.tensor([7., 8.]), (2,), (2,), 0)
    let all = vector(&[0f32, 1.0, 2.0, 3.0, 4.0, 5.0]);
    let view = all.narrow(0, 1, 3).unwrap();
    let source = vector(&[7f32, 8.0]);
    let found = as_strided_scatter(&view, &source, &[2], &[2], Some(0)).unwrap();
    assert_eq!(floats(&found), [1.0, 8.0, 3.0]);
    assert_eq!(found.offset(), 1);
    assert_eq!(floats(&all), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
}

#[test]
fn sums_are_of_the_dtype_that_is_asked_for() {
    // torch.tensor([200, 100], dtype=torch.uint8).sum(dtype=torch.uint8)
    let bytes = vector(&[200u8, 100]);
    for (dtype, expected) in [
        (None, 300),
        (Some(DType::UInt8), 44),
        (Some(DType::Int8), 44),
        (Some(DType::Int32), 300),
        (Some(DType::Int64), 300),
    ] {
        let found = sum(&bytes, &[], false, dtype).unwrap();
        assert_eq!(found.dtype(), dtype.unwrap_or(DType::Int64));
        assert_eq!(found.item().unwrap(), Scalar::Int(expected), "{dtype:?}");
    }
    // torch.tensor([1.9, 2.9]).sum(dtype=torch.int32)
    let floats = sum(&vector(&[1.9f32, 2.9]), &[], false, Some(DType::Int32)).unwrap();
    assert_eq!(floats.item().unwrap(), Scalar::Int(3));
}

#[test]
fn numbers_fit_a_dtype_or_are_refused() {
    // torch.full([2], value, dtype=dtype)
    let complex = |re, im| Scalar::Complex(Complex::new(re, im));
    let cases = [
        (300.into(), DType::UInt8, Some("uint8_t")),
        ((-1).into(), DType::UInt8, None),
        ((-1).into(), DType::UInt64, None),
        (70_000.into(), DType::UInt16, Some("uint16_t")),
        (f64::NAN.into(), DType::Int32, Some("int")),
        (70_000.into(), DType::Float16, Some("c10::Half")),
        (f64::INFINITY.into(), DType::Float16, None),
        (1e39.into(), DType::BFloat16, Some("c10::BFloat16")),
        (1e300.into(), DType::Float32, Some("float")),
        (1e300.into(), DType::Float64, None),
        (complex(1.0, 2.0), DType::Float64, Some("double")),
        (complex(1.0, 0.0), DType::Int32, None),
        (complex(1.0, 2.0), DType::Bool, None),
        (complex(1.0, 1e300), DType::Complex64, Some("c10::complex<float>")),
    ];
    for (value, dtype, refused) in cases {
        let words = Tensor::full(&[2], value, dtype).err().map(|error| error.message().to_owned());
        let expected = refused
            .map(|name: &str| format!("value cannot be converted to type {name} without overflow"));
        assert_eq!(words, expected, "{value:?} {dtype:?}");
    }
    // torch.full([1], 70000, dtype=torch.float16)
    let one = Tensor::full(&[1], 70_000.into(), DType::Float16).unwrap();
    assert_eq!(floats(&one), [INF]);
}

#[test]
fn lines_to_infinity_are_what_the_formula_gives() {
    // torch.linspace(0, float('inf'), 4)
    for (steps, expected) in [(1, &[0.0][..]), (2, &[NAN, NAN]), (4, &[NAN, INF, NAN, NAN])] {
        let line = linspace(0.into(), f64::INFINITY.into(), steps, DType::Float32).unwrap();
        assert!(same(&floats(&line), expected), "{steps}");
    }
}

#[test]
fn triangles_of_many_empty_rows_end() {
    let (huge, ints) = (1i64 << 62, DType::Int64);
    // torch.triu_indices(2**62, 2), torch.tril_indices(2**62, 0)
    let above = triangle_indices(false, huge, 2, 0, ints).unwrap();
    assert_eq!(above.to_vec::<i64>().unwrap(), [0, 0, 1, 0, 1, 1]);
    assert_eq!(triangle_indices(true, huge, 0, 0, ints).unwrap().sizes(), [2, 0]);
    assert!(triangle_indices(true, huge, 3, 0, ints).is_err());
    for (rows, columns, offset) in
        [(4, 3, 0), (3, 5, -1), (3, 5, 2), (2, 2, 9), (2, 2, -9), (5, 2, -3)]
    {
        let count =
            |lower| triangle_indices(lower, rows, columns, offset, ints).unwrap().sizes()[1];
        let whole = Tensor::full(&[rows, columns], 1.into(), ints).unwrap();
        let marked = |t: Tensor| sum(&t, &[], false, None).unwrap().item().unwrap().to_i64();
        assert_eq!(count(true), marked(tril(&whole, offset).unwrap()), "{rows} {columns} {offset}");
        assert_eq!(
            count(false),
            marked(triu(&whole, offset).unwrap()),
            "{rows} {columns} {offset}"
        );
    }
}

#[test]
fn slices_with_nan_are_their_own() {
    // torch.unique(torch.tensor([[1, nan], [1, nan], [0, 1], [0, 1]]), dim=0, return_inverse=True)
    let rows = vector(&[1.0, NAN, 1.0, NAN, 0.0, 1.0, 0.0, 1.0]).view(&[4, 2]).unwrap();
    let found = unique_dim(&rows, 0).unwrap();
    assert!(same(&floats(&found.values.flatten(0, -1).unwrap()), &[0.0, 1.0, 1.0, NAN, 1.0, NAN]));
    assert_eq!(found.inverse.to_vec::<i64>().unwrap(), [1, 2, 0, 0]);
    assert_eq!(found.counts.to_vec::<i64>().unwrap(), [2, 1, 1]);
    let words = unique_dim(&Tensor::scalar(1.into(), DType::Float32).unwrap(), 5).err().unwrap();
    assert_eq!(words.message(), "Dimension specified as 5 but tensor has no dimensions");
}

#[test]
fn a_weight_without_dimensions_may_be_of_another_dtype() {
    // torch.lerp(x, y, torch.tensor(0.5, dtype=torch.float64)) is of the dtype of x, which has dimensions
    let (x, y) = (vector(&[1f32, 2.0]), vector(&[2f32, 4.0]));
    let half = Tensor::scalar(0.5.into(), DType::Float64).unwrap();
    let between = lerp(&x, &y, (&half).into()).unwrap();
    assert_eq!(between.to_vec::<f32>().unwrap(), [1.5, 3.0]);
    let one = Tensor::scalar(1.0.into(), DType::Float32).unwrap();
    let wide = lerp(&one, &one, (&half).into()).unwrap();
    assert_eq!((wide.dtype(), wide.dim()), (DType::Float64, 0));
    let error = lerp(&x, &y, (&vector(&[0.5f64])).into()).unwrap_err();
    assert_eq!(error.message(), "expected dtype float for `weight` but got dtype double");
}

#[test]
fn segments_hold_any_reduction() {
    let data = vector(&[1f32, -2.0, 3.0]);
    let offsets = vector(&[0i64, 0, 2, 3]);
    for (reduce, expected) in [
        (SegmentReduce::Max, [0.5, 1.0, 3.0]),
        (SegmentReduce::Min, [0.5, -2.0, 0.5]),
        (SegmentReduce::Sum, [0.5, -0.5, 3.5]),
        (SegmentReduce::Prod, [0.5, -1.0, 1.5]),
        (SegmentReduce::Mean, [0.5, -0.25, 3.5]),
    ] {
        let found = segment_reduce(&data, reduce, Segments::Offsets(&offsets), 0, Some(0.5));
        assert_eq!(floats(&found.unwrap()), expected, "{reduce:?}");
    }
}

#[test]
fn segments_are_of_whole_rows() {
    let data = vector(&[1f32, 2.0, 3.0]);
    let reduce = |segments: Segments<'_>| {
        segment_reduce(&data, SegmentReduce::Sum, segments, 0, None).map(|sums| floats(&sums))
    };
    let (short, whole, negative) = (vector(&[1i64, 1]), vector(&[1i64, 2]), vector(&[4i64, -1]));
    assert_eq!(reduce(Segments::Lengths(&whole)).unwrap(), [1.0, 5.0]);
    assert_eq!(reduce(Segments::SomeLengths(&short)).unwrap(), [1.0, 2.0]);
    assert_eq!(reduce(Segments::Offsets(&whole)).unwrap(), [2.0]);
    for (lengths, words) in [
        (&short, "Expected all rows of lengths along axis to sum to data.size(lengths.dim()-1)"),
        (&negative, "lengths contains negative value!"),
    ] {
        let error = reduce(Segments::Lengths(lengths)).unwrap_err();
        assert!(error.message().contains(words), "{error}");
    }
}

#[test]
fn a_mask_puts_one_value_of_any_dtype() {
    // x[mask] = torch.tensor(7) for x of zeros, which x[torch.tensor([0])] does not take
    let x = Tensor::zeros(&[2, 2], DType::Float32).unwrap();
    let seven = Tensor::scalar(7.into(), DType::Int64).unwrap();
    let mask = vector(&[false, true].map(Bool::from));
    index_put(&x, &[None, Some(mask)], &seven, false).unwrap();
    assert_eq!(floats(&x), [0.0, 7.0, 0.0, 7.0]);
    let error = index_put(&x, &[Some(vector(&[0i64]))], &seven, false).unwrap_err();
    assert!(
        error.message().starts_with("Index put requires the source and destination dtypes match")
    );
}

#[test]
fn dimensions_are_named_once() {
    let x = Tensor::zeros(&[1, 2, 1], DType::Float32).unwrap();
    assert_eq!(x.squeeze(Some(&[0, 2])).unwrap().sizes(), [2]);
    let words = "dim 0 appears multiple times in the list of dims";
    assert_eq!(x.squeeze(Some(&[0, -3])).unwrap_err().message(), words);
}

#[test]
fn views_of_a_whole_keep_its_looks() {
    let x = vector(&[1f32, 2.0]);
    let views =
        [x.t().unwrap(), x.alias(), chunk(&x, 1, 0).unwrap().swap_remove(0), x.view(&[2]).unwrap()];
    let own = x.flatten(0, -1).unwrap();
    x.show(&x.unsqueeze(0).unwrap()).unwrap();
    assert!(views.iter().all(|view| view.sizes() == [2]));
    // torch.flatten of one dimension is no view, but the tensor.
    assert_eq!(own.sizes(), [1, 2]);
}

#[test]
fn masks_without_dimensions_are_no_indices_alone() {
    // x[mask] = 3 for x of zeros; torch.index_put_ beside another index takes no notice of the mask
    let mask = |set: bool| Tensor::scalar(set.into(), DType::Bool).unwrap();
    let three = Tensor::scalar(3.0.into(), DType::Float32).unwrap();
    let put = |x: &Tensor, indices: &[Option<Tensor>]| index_put(x, indices, &three, false);
    let x = Tensor::zeros(&[2], DType::Float32).unwrap();
    put(&x, &[Some(mask(false))]).unwrap();
    assert_eq!(floats(&x), [0.0, 0.0]);
    put(&x, &[Some(mask(true))]).unwrap();
    assert_eq!(floats(&x), [3.0, 3.0]);
    assert!(index(&x, &[Some(mask(true))]).is_err());
    let nothing = Tensor::zeros(&[], DType::Float32).unwrap();
    let error = put(&nothing, &[Some(mask(false))]).unwrap_err();
    assert_eq!(error.message(), "too many indices for tensor of dimension 0 (got 1)");
}

#[test]
fn what_is_put_is_checked_as_pytorch_checks_it() {
    let x = Tensor::zeros(&[2, 3], DType::Float32).unwrap();
    let cases = [
        // Sizes before dtypes, and masks by their own dimension first.
        (
            vector(&[0i64]),
            vector(&[1i64, 2]),
            "shape mismatch: value tensor of shape [2] cannot be broadcast to indexing result of \
             shape [1, 3]",
        ),
        (
            Tensor::from_bools(&[true; 4], &[2, 2]).unwrap(),
            vector(&[1f32]),
            "The shape of the mask [2, 2] at index 1 does not match the shape of the indexed tensor \
             [2, 3] at index 1",
        ),
        (
            vector(&[1u8, 0]),
            vector(&[1f32]),
            "masked_fill_ only supports boolean masks, but got mask with dtype unsigned char",
        ),
    ];
    for (at, values, words) in cases {
        let error = index_put(&x, &[Some(at)], &values, false).unwrap_err();
        assert_eq!(error.message(), words);
    }
}

#[test]
fn nothing_grows_in_place() {
    // torch.zeros(4).copy_(torch.zeros(2, 4)), torch.zeros(1).add_(...): sizes before dtypes
    let small = Tensor::zeros(&[4], DType::Int64).unwrap();
    let large = Tensor::zeros(&[2, 4], DType::Float32).unwrap();
    let words = "output with shape [4] doesn't match the broadcast shape [2, 4]";
    assert_eq!(small.copy_from(&large).unwrap_err().message(), words);
    let error = binary_in_place(BinaryOp::Add, &small, (&large).into()).unwrap_err();
    assert_eq!(error.message(), words);
}

#[test]
fn paddings_of_pools_are_half_a_kernel_without_its_gaps() {
    let x = |rank: usize| Tensor::zeros(&[1, 1, 8, 8, 8][..rank + 2], DType::Float32).unwrap();
    let options = |kernel, padding| PoolOptions {
        kernel,
        padding,
        stride: &[],
        dilation: &[2],
        ceil_mode: false,
    };
    let said = "pad should be smaller than or equal to half of kernel size, but got";
    for (rank, kernel, padding, words) in [
        (
            1,
            &[3i64][..],
            &[2i64][..],
            "max_pool1d() padding should be at most half of kernel size, but got padding=2 and \
             kernel_size=3"
                .to_owned(),
        ),
        (2, &[3, 2], &[2, 1], format!("{said} padW = 1, padH = 2, kW = 2, kH = 3")),
        (3, &[3], &[2], format!("{said} kT: 3 kW: 3 kH: 3 padT: 2 padW: 2 padH: 2")),
    ] {
        let error = max_pool(&x(rank), rank, &options(kernel, padding)).unwrap_err();
        assert_eq!(error.message(), words);
    }
    let row = max_pool_with_indices(&x(1), 1, &options(&[3], &[2])).unwrap_err();
    assert_eq!(row.message(), format!("{said} padW = 2, padH = 0, kW = 3, kH = 1"));
    assert!(max_pool(&x(2), 2, &options(&[3], &[1])).is_ok());
}

#[test]
fn what_is_scattered_into_keeps_its_gaps() {
    // torch.ones(2, 8)[:1, ::2].slice_scatter(torch.zeros(1, 1), 1, 0, 1)
    let x = Tensor::full(&[2, 8], 1.into(), DType::Float32).unwrap();
    let x = x.narrow(0, 0, 1).unwrap().slice(1, None, None, 2).unwrap();
    let zero = Tensor::zeros(&[1, 1], DType::Float32).unwrap();
    let found = scatter_view(&x, &zero, |copy| copy.narrow(1, 0, 1)).unwrap();
    assert_eq!((found.strides(), floats(&found)), (&[8, 2][..], vec![0.0, 1.0, 1.0, 1.0]));
    assert_eq!(floats(&x), [1.0; 4]);
}

#[test]
fn indices_are_of_the_dtypes_that_operators_name() {
    let (x, one) = (vector(&[0f32; 3]), vector(&[1f32]));
    let fold = |name, fold, index: &Tensor| index_reduce(name, &x, 0, index, &one, fold, true);
    let error = fold("index_copy", ScatterReduce::Replace, &vector(&[0i32])).unwrap_err();
    assert_eq!(error.message(), "index_copy_(): Expected a long tensor for index, but got Int");
    assert!(fold("index_add", ScatterReduce::Sum, &vector(&[0i32])).is_ok());
    let error = fold("index_add", ScatterReduce::Sum, &vector(&[0u8])).unwrap_err();
    let words = "index_add_(): Expected dtype int32/int64 for index but got: Byte";
    assert_eq!(error.message(), words);
}

#[test]
fn pictures_that_are_rolled_stay_channels_last() {
    let x = Tensor::zeros(&[1, 2, 3, 4], DType::Float32).unwrap();
    let x = x.contiguous_in(MemoryFormat::ChannelsLast).unwrap();
    assert_eq!(roll(&x, &[1], &[3]).unwrap().strides(), [24, 1, 8, 2]);
    assert_eq!(roll(&x, &[1], &[]).unwrap().strides(), [24, 12, 4, 1]);
}

#[test]
fn equal_tensors_may_be_of_two_dtypes() {
    // torch.equal
    let ones = vector(&[1i64, 2]);
    assert!(equal(&ones, &vector(&[1i16, 2])).unwrap());
    assert!(!equal(&ones, &vector(&[1f32, 2.5])).unwrap());
    assert!(!equal(&ones, &vector(&[1i16, 2, 3])).unwrap());
}

#[test]
fn grids_are_rounded_where_pytorch_rounds_them() {
    // F.affine_grid of a bfloat16 matrix, size [1, 1, 2, 3]
    let theta = Tensor::from_slice(&[1.2f32, 0.55, -0.33, 0.1, -2.2, 0.77], &[1, 2, 3]).unwrap();
    let theta = theta.to_dtype(DType::BFloat16).unwrap();
    let found = floats(&affine_grid(&theta, &[1, 1, 2, 3], false).unwrap());
    let expected = [
        -1.406_25,
        1.804_687_5,
        -0.605_468_75,
        1.875,
        0.198_242_19,
        1.9375,
        -0.859_375,
        -0.398_437_5,
        -0.054_687_5,
        -0.332_031_25,
        0.75,
        -0.265_625,
    ];
    assert_eq!(found, expected);
    let error = affine_grid(&theta, &[1, 1, 2, 1], false).unwrap_err();
    assert_eq!(error.message(), "\"tensor_cpu\" not implemented for 'BFloat16'");
}

#[test]
fn masks_of_attention_have_rows() {
    let x = Tensor::full(&[1, 2, 3, 8], 1.into(), DType::Float32).unwrap();
    let mask = Tensor::from_bools(&[true; 3], &[3]).unwrap();
    let attend = |query: &Tensor, causal| {
        let options = AttentionOptions {
            mask: Some(&mask),
            dropout: 0.0,
            causal,
            scale: None,
            grouped: false,
        };
        attention([query; 3], &options, &mut Generator::new(0))
    };
    let words = "Dimension out of range (expected to be in range of [-1, 0], but got -2)";
    assert_eq!(attend(&x, false).unwrap_err().message(), words);
    assert!(attend(&x.select(0, 0).unwrap(), false).is_ok());
    assert!(attend(&x, true).unwrap_err().message().starts_with("_scaled_dot_product_attention: "));
}

#[test]
fn sizes_of_nothing_are_named_as_pytorch_names_them() {
    let zeros = |sizes: &[i64]| Tensor::zeros(sizes, DType::Float32).unwrap();
    for (sizes, output, words) in [
        (&[1, 1, 1][..], &[0i64][..], "input (W: 1) and output (W: 0)"),
        (&[1, 1, 3, 4], &[0, 1], "input (H: 3, W: 4) output (H: 0, W: 1)"),
    ] {
        let factors = vec![None; output.len()];
        let error = upsample(&zeros(sizes), Upsample::Nearest, output, false, &factors);
        assert!(error.unwrap_err().message().ends_with(words), "{words}");
    }
}

#[test]
fn factors_beyond_all_bounds_are_multiplied_where_pytorch_does() {
    let matrix = |items: &[f32], sizes: &[i64]| Tensor::from_slice(items, sizes).unwrap();
    let (a, b) = (matrix(&[1.0, -1.0], &[1, 2]), matrix(&[2.0, 3.0, 1.0, -4.0], &[2, 2]));
    let nothing = Tensor::zeros(&[1, 2], DType::Float32).unwrap();
    let infinite = Scalar::Float(f64::INFINITY);
    // torch.addmm(torch.zeros(1, 2), a, b, alpha=inf): a is multiplied
    assert!(same(&floats(&addmm(&nothing, &a, &b, 1.into(), infinite).unwrap()), &[NAN, INF]));
    // torch.baddbmm of the same as a batch of one: small products are multiplied
    let [batch, left, right] = [&nothing, &a, &b].map(|matrix| matrix.unsqueeze(0).unwrap());
    let found = baddbmm(&batch, &left, &right, 1.into(), infinite).unwrap();
    assert!(same(&floats(&found), &[INF, INF]));
    // torch.addbmm of two batches: infinity minus infinity
    let both = |x: &Tensor, y: &Tensor| cat(&[x.clone(), y.clone()], 0).unwrap();
    let negative = unary(UnaryOp::Neg, &left).unwrap();
    let found =
        addbmm(&nothing, &both(&left, &negative), &both(&right, &right), 1.into(), infinite);
    assert!(same(&floats(&found.unwrap()), &[NAN, NAN]));
    // torch.nn.functional.elu(torch.tensor([-8.47, 2.]), 0) scaled by -2 and -2.3e18
    let found = elu(&vector(&[-8.47f32, 2.0]), 0.0, -2.0, -2.3e18).unwrap();
    assert!(same(&floats(&found), &[NAN, -4.0]));
    // torch.addr of complex vectors: the first is multiplied before infinity is met
    let complex = |re, im| vector(&[Complex::new(re, im)]);
    let alpha = Scalar::Complex(Complex::new(0.1, 0.3));
    let sum = addr(
        &complex(1.0f32, 0.0),
        &complex(-4.3228, -2.4005),
        &complex(-INF, 0.0),
        1.into(),
        alpha,
    );
    let sum = sum.unwrap().to_vec::<Complex<f32>>().unwrap()[0];
    assert!(same(&[sum.re, sum.im], &[-INF, INF]), "{sum}");
}

#[test]
fn indices_and_counts_go_round_as_pytorchs_do() {
    let x = vector(&[0f32, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0]);
    let x = x.view(&[3, 4]).unwrap();
    let indices = |items: &[i64]| vector(items).unsqueeze(0).unwrap();
    // torch.take_along_dim(x, torch.tensor([[0, 5, -1, -7]]), 0), and without a dimension
    let found = take_along_dim(&x, &indices(&[0, 5, -1, -7]), Some(0)).unwrap();
    assert_eq!(found.to_vec::<f32>().unwrap(), [0.0, 9.0, 10.0, 11.0]);
    assert!(take_along_dim(&x, &vector(&[13i64]), None).is_err());
    assert!(take_along_dim(&x.t().unwrap(), &vector(&[0i64]), None).is_err());
    let nothing = Tensor::zeros(&[0, 4], DType::Float32).unwrap();
    assert!(take_along_dim(&nothing, &indices(&[0, 0, 0, 0]), Some(0)).is_err());
    // torch.chunk(x, n): the size of a chunk is a sum that goes round
    for (chunks, expected) in [(i64::MAX, None), (i64::MAX - 1, None), (i64::MAX - 2, Some(3))] {
        let found = chunk(&x, chunks, 0).ok().map(|all| all.len());
        assert_eq!(found, expected, "{chunks}");
    }
    // torch.arange(-2**61, 3, 2**61, dtype=dtype): counted as integers where the result holds them
    let step = 1i64 << 61;
    for (dtype, count) in [(DType::UInt8, 1), (DType::Int32, 1), (DType::Int64, 2)] {
        let range = arange((-step).into(), 3.into(), step.into(), Some(dtype)).unwrap();
        assert_eq!(range.numel(), count, "{dtype:?}");
    }
    // torch.logspace(1, nan, 3, dtype=torch.complex64)
    let powers = logspace(1.into(), Scalar::Float(f64::NAN), 3, 10.0, DType::Complex64).unwrap();
    let powers = powers.to_vec::<Complex<f32>>().unwrap();
    assert!(powers.iter().all(|z| z.re.is_nan() && z.im.is_nan()));
}

#[test]
fn products_that_pytorch_cannot_view_are_refused() {
    let x = Tensor::zeros(&[2, 3], DType::Float32).unwrap();
    let y = Tensor::zeros(&[4, 5], DType::Float32).unwrap();
    let (turned_x, turned_y) = (x.t().unwrap(), y.t().unwrap());
    // torch.kron: its product of all pairs is viewed as a matrix
    assert!(kron(&turned_x, &y).unwrap_err().message().starts_with("view size is not compatible"));
    assert!(kron(&x, &turned_y).is_err());
    assert_eq!(kron(&turned_x, &turned_y).unwrap().strides(), [1, 15]);
    assert_eq!(kron(&x, &y).unwrap().strides(), [15, 1]);
}

#[test]
fn corners_that_are_no_numbers_are_the_least_integer() {
    // torchvision.ops.ps_roi_pool of a box that ends at infinity: its width is 1
    let image: Vec<f32> = (0..4 * 64).map(|i| i as f32).collect();
    let image = Tensor::from_slice(&image, &[1, 4, 8, 8]).unwrap();
    let rois = Tensor::from_slice(&[0.0, 0.5, 0.5, INF, 5.0], &[1, 5]).unwrap();
    let options =
        RoiOptions { spatial_scale: 0.5, output: [2, 2], sampling_ratio: 0, aligned: false };
    let (found, _) = ps_roi_pool(&image, &rois, &options).unwrap();
    assert_eq!(floats(&found), [4.0, 68.0, 140.0, 204.0]);
}
