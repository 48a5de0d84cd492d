//! Every kernel against what PyTorch makes of the same inputs: `reference.json`, which
//! `reference.py` writes. Errors are compared word by word.

#![allow(clippy::unwrap_used, reason = "a test that cannot read its own cases has failed")]

use num_complex::Complex;
use sconce_kernels::*;
use serde_json::Value;

/// The arguments of one case, taken by position.
struct Args<'a> {
    values: &'a [Value],
    transposed: bool,
}

fn float(value: &Value) -> f64 {
    match value {
        Value::String(text) => text.parse().unwrap(),
        Value::Bool(b) => f64::from(u8::from(*b)),
        number => number.as_f64().unwrap(),
    }
}

fn decode(value: &Value) -> Tensor {
    let dtype = DType::from_name(value["dtype"].as_str().unwrap()).unwrap();
    let sizes = ints(&value["sizes"]);
    let data = value["data"].as_array().unwrap();
    if dtype.is_complex() {
        let pairs = data.chunks(2).map(|p| Complex::new(float(&p[0]), float(&p[1])));
        let pairs: Vec<Complex<f64>> = pairs.collect();
        return Tensor::from_slice(&pairs, &sizes).unwrap().to_dtype(dtype).unwrap();
    }
    if dtype.is_integral() {
        let data: Vec<i64> = data.iter().map(|x| x.as_i64().unwrap()).collect();
        return Tensor::from_slice(&data, &sizes).unwrap().to_dtype(dtype).unwrap();
    }
    let data: Vec<f64> = data.iter().map(float).collect();
    Tensor::from_slice(&data, &sizes).unwrap().to_dtype(dtype).unwrap()
}

fn ints(value: &Value) -> Vec<i64> {
    value.as_array().unwrap().iter().map(|x| x.as_i64().unwrap()).collect()
}

fn scalar(value: &Value) -> Scalar {
    match value {
        Value::Bool(b) => Scalar::Bool(*b),
        value => value.as_i64().map_or_else(|| Scalar::Float(float(value)), Scalar::Int),
    }
}

/// A tensor or a number, kept alive to be lent as an operand.
enum Held {
    Tensor(Tensor),
    Scalar(Scalar),
}

impl Held {
    fn operand(&self) -> Operand<'_> {
        match self {
            Held::Tensor(tensor) => tensor.into(),
            Held::Scalar(scalar) => Operand::Scalar(*scalar),
        }
    }
}

impl Args<'_> {
    fn tensor(&self, i: usize) -> Tensor {
        let tensor = decode(&self.values[i]);
        if i == 0 && self.transposed { tensor.transpose(-1, -2).unwrap() } else { tensor }
    }

    fn maybe_tensor(&self, i: usize) -> Option<Tensor> {
        (!self.values[i].is_null()).then(|| self.tensor(i))
    }

    fn tensors(&self, i: usize) -> Vec<Option<Tensor>> {
        let list = self.values[i].as_array().unwrap();
        list.iter().map(|v| (!v.is_null()).then(|| decode(v))).collect()
    }

    fn held(&self, i: usize) -> Held {
        match &self.values[i] {
            Value::Object(_) => Held::Tensor(self.tensor(i)),
            number => Held::Scalar(scalar(number)),
        }
    }

    fn maybe_held(&self, i: usize) -> Option<Held> {
        (!self.values[i].is_null()).then(|| self.held(i))
    }

    fn int(&self, i: usize) -> i64 {
        self.values[i].as_i64().unwrap()
    }

    fn float(&self, i: usize) -> f64 {
        float(&self.values[i])
    }

    fn flag(&self, i: usize) -> bool {
        self.values[i].as_bool().unwrap()
    }

    fn ints(&self, i: usize) -> Vec<i64> {
        ints(&self.values[i])
    }

    fn pair(&self, i: usize) -> [i64; 2] {
        self.ints(i).try_into().unwrap()
    }
}

macro_rules! named {
    ($name:expr, $ty:ident: $($variant:ident)*) => {
        match $name { $(stringify!($variant) => Some($ty::$variant),)* _ => None }
    };
}

fn run_binary(name: &str, a: &Args<'_>) -> Result<Tensor> {
    let op = named!(name, BinaryOp: Add Sub Mul Div DivTrunc DivFloor Pow Remainder Fmod Maximum
        Minimum Fmax Fmin Atan2 Eq Ne Lt Le Gt Ge BitwiseAnd BitwiseOr BitwiseXor LeftShift
        RightShift LogicalAnd LogicalOr LogicalXor);
    binary(op.unwrap(), a.held(0).operand(), a.held(1).operand())
}

fn run_unary(name: &str, a: &Args<'_>) -> Result<Tensor> {
    let input = a.tensor(0);
    match name {
        "logical_not" => return logical_not(&input),
        "bitwise_not" => return bitwise_not(&input),
        "isnan" => return isnan(&input),
        "isinf" => return isinf(&input),
        "isfinite" => return isfinite(&input),
        _ => {}
    }
    let op = named!(name, UnaryOp: Neg Abs Relu Relu6 Sign Square Exp Exp2 Expm1 Log Log2 Log10
        Log1p Sqrt Rsqrt Reciprocal Sin Cos Tan Asin Acos Atan Sinh Cosh Tanh Sigmoid Erf Erfc Gelu
        GeluTanh Silu Mish Hardsigmoid Hardswish Frac Floor Ceil Round Trunc);
    unary(op.unwrap(), &input)
}

fn both((values, indices): (Tensor, Tensor)) -> Vec<Tensor> {
    vec![values, indices]
}

fn max_pool2d(a: &Args<'_>) -> Result<Vec<Tensor>> {
    let (kernel, stride, padding, dilation) = (a.pair(1), a.pair(2), a.pair(3), a.pair(4));
    let options = PoolOptions {
        kernel: &kernel,
        stride: &stride,
        padding: &padding,
        dilation: &dilation,
        ceil_mode: a.flag(5),
    };
    max_pool_with_indices(&a.tensor(0), 2, &options).map(both)
}

fn avg_pool2d(a: &Args<'_>) -> Result<Tensor> {
    let (kernel, stride, padding) = (a.pair(1), a.pair(2), a.pair(3));
    let options = PoolOptions {
        kernel: &kernel,
        stride: &stride,
        padding: &padding,
        dilation: &[1],
        ceil_mode: a.flag(4),
    };
    avg_pool(&a.tensor(0), 2, &options, a.flag(5), None)
}

fn run(op: &str, a: &Args<'_>) -> Result<Vec<Tensor>> {
    if let Some(name) = op.strip_prefix("binary:") {
        return run_binary(name, a).map(|t| vec![t]);
    }
    if let Some(name) = op.strip_prefix("unary:") {
        return run_unary(name, a).map(|t| vec![t]);
    }
    let one = match op {
        "max" | "min" => {
            let which = if op == "max" { MinMax::Max } else { MinMax::Min };
            return min_max(which, &a.tensor(0), a.values[1].as_i64(), a.flag(2)).map(both);
        }
        "sort" => return sort(&a.tensor(0), a.int(1), a.flag(2), true).map(both),
        "topk" => return topk(&a.tensor(0), a.int(1), a.int(2), a.flag(3), true).map(both),
        "split" => return split(&a.tensor(0), a.int(1), a.int(2)),
        "chunk" => return chunk(&a.tensor(0), a.int(1), a.int(2)),
        "split_with_sizes" => return split_with_sizes(&a.tensor(0), &a.ints(1), a.int(2)),
        "max_pool2d" => return max_pool2d(a),
        "avg_pool2d" => avg_pool2d(a),
        "adaptive_avg_pool2d" => adaptive_avg_pool(&a.tensor(0), &a.pair(1)),
        "add_alpha" => add((&a.tensor(0)).into(), (&a.tensor(1)).into(), scalar(&a.values[2])),
        "where" => where_(&a.tensor(0), a.held(1).operand(), a.held(2).operand()),
        "masked_fill" => masked_fill(&a.tensor(0), &a.tensor(1), a.held(2).operand()),
        "clamp" => {
            let (min, max) = (a.maybe_held(1), a.maybe_held(2));
            clamp(&a.tensor(0), min.as_ref().map(Held::operand), max.as_ref().map(Held::operand))
        }
        "leaky_relu" => leaky_relu(&a.tensor(0), scalar(&a.values[1])),
        "elu" => elu(&a.tensor(0), a.float(1), 1.0, 1.0),
        "softplus" => softplus(&a.tensor(0), a.float(1), a.float(2)),
        "sum" => sum(&a.tensor(0), &a.ints(1), a.flag(2), None),
        "mean" => mean(&a.tensor(0), &a.ints(1), a.flag(2), None),
        "all" => all(&a.tensor(0), &a.ints(1), a.flag(2)),
        "any" => any(&a.tensor(0), &a.ints(1), a.flag(2)),
        "logsumexp" => logsumexp(&a.tensor(0), &a.ints(1), a.flag(2)),
        "amax" => amax(&a.tensor(0), &a.ints(1), a.flag(2)),
        "var" => var(&a.tensor(0), &a.ints(1), a.float(2), a.flag(3)),
        "std" => std(&a.tensor(0), &a.ints(1), a.float(2), a.flag(3)),
        "norm" => norm(&a.tensor(0), a.float(1), &a.ints(2), a.flag(3)),
        "cumsum" => cumsum(&a.tensor(0), a.int(1), None),
        "softmax" => softmax(&a.tensor(0), a.int(1)),
        "log_softmax" => log_softmax(&a.tensor(0), a.int(1)),
        "prod" => prod(&a.tensor(0), a.values[1].as_i64(), false),
        "matmul" => matmul(&a.tensor(0), &a.tensor(1)),
        "mm" => mm(&a.tensor(0), &a.tensor(1)),
        "bmm" => bmm(&a.tensor(0), &a.tensor(1)),
        "addmm" => {
            let (beta, alpha) = (scalar(&a.values[3]), scalar(&a.values[4]));
            addmm(&a.tensor(0), &a.tensor(1), &a.tensor(2), beta, alpha)
        }
        "linear" => linear(&a.tensor(0), &a.tensor(1), a.maybe_tensor(2).as_ref()),
        "cat" | "stack" => {
            let list: Vec<Tensor> = a.tensors(0).into_iter().flatten().collect();
            if op == "cat" { cat(&list, a.int(1)) } else { stack(&list, a.int(1)) }
        }
        "index_select" => index_select(&a.tensor(0), a.int(1), &a.tensor(2)),
        "gather" => gather(&a.tensor(0), a.int(1), &a.tensor(2)),
        "scatter" => scatter(&a.tensor(0), a.int(1), &a.tensor(2), a.held(3).operand()),
        "embedding" => embedding(&a.tensor(0), &a.tensor(1)),
        "index" => index(&a.tensor(0), &a.tensors(1)),
        "index_put" => {
            let target = a.tensor(0);
            index_put(&target, &a.tensors(1), &a.tensor(2), a.flag(3)).map(|()| target)
        }
        "nonzero" => nonzero(&a.tensor(0)),
        "batch_norm" => {
            let (weight, bias) = (a.maybe_tensor(1), a.maybe_tensor(2));
            let (mean, var) = (a.tensor(3), a.tensor(4));
            let (weight, bias) = (weight.as_ref(), bias.as_ref());
            batch_norm(&a.tensor(0), weight, bias, &mean, &var, a.float(5))
        }
        "layer_norm" | "group_norm" => {
            let (weight, bias) = (a.maybe_tensor(2), a.maybe_tensor(3));
            let (input, weight, bias) = (a.tensor(0), weight.as_ref(), bias.as_ref());
            match op {
                "layer_norm" => layer_norm(&input, &a.ints(1), weight, bias, a.float(4)),
                _ => group_norm(&input, a.int(1), weight, bias, a.float(4)),
            }
        }
        "conv" => {
            let (stride, padding, dilation) = (&a.ints(3), &a.ints(4), &a.ints(5));
            let options = ConvOptions { stride, padding, dilation, groups: a.int(6) };
            conv(&a.tensor(0), &a.tensor(1), a.maybe_tensor(2).as_ref(), &options)
        }
        "arange" => arange(scalar(&a.values[0]), scalar(&a.values[1]), scalar(&a.values[2]), None),
        "linspace" => linspace(a.float(0).into(), a.float(1).into(), a.int(2), DType::Float32),
        "pad_constant" => pad(&a.tensor(0), &a.ints(1), PadMode::Constant(scalar(&a.values[2]))),
        "pad_reflect" => pad(&a.tensor(0), &a.ints(1), PadMode::Reflect),
        "pad_replicate" => pad(&a.tensor(0), &a.ints(1), PadMode::Replicate),
        "nearest" => upsample(&a.tensor(0), Upsample::Nearest, &a.pair(1), false, &[]),
        "bilinear" => upsample(&a.tensor(0), Upsample::Linear, &a.pair(1), a.flag(2), &[]),
        "tril" => tril(&a.tensor(0), a.int(1)),
        "triu" => triu(&a.tensor(0), a.int(1)),
        "eye" => eye(a.int(0), a.int(1), DType::Float32),
        other => panic!("no kernel is called {other}"),
    };
    one.map(|t| vec![t])
}

/// What differs, if anything.
fn difference(got: &Tensor, want: &Tensor) -> Option<String> {
    if got.dtype() != want.dtype() || got.sizes() != want.sizes() {
        return Some(format!("{got:?} instead of {want:?}"));
    }
    let tolerance = match got.dtype() {
        DType::Float16 => 2e-3,
        DType::BFloat16 => 1.6e-2,
        DType::Float64 | DType::Complex128 => 1e-11,
        DType::Float32 | DType::Complex64 => 4e-6,
        _ => 0.0,
    };
    let wide =
        |t: &Tensor| t.to_dtype(DType::Complex128).unwrap().to_vec::<Complex<f64>>().unwrap();
    let near = |x: f64, y: f64| {
        x == y || (x.is_nan() && y.is_nan()) || (x - y).abs() <= tolerance * y.abs().max(1.0)
    };
    wide(got).into_iter().zip(wide(want)).find_map(|(x, y)| {
        (!near(x.re, y.re) || !near(x.im, y.im)).then(|| format!("{x} instead of {y}"))
    })
}

#[test]
fn kernels_do_what_pytorch_does() {
    let text = include_str!("reference.json");
    let cases: Vec<Value> = serde_json::from_str(text).unwrap();
    let mut failures = Vec::new();
    for case in &cases {
        let op = case["op"].as_str().unwrap();
        let transposed = case["transposed"].as_bool().unwrap();
        let got = run(op, &Args { values: case["args"].as_array().unwrap(), transposed });
        let problem = match (got, &case["error"]) {
            (Ok(got), Value::Null) => {
                let want: Vec<Tensor> = match &case["want"] {
                    Value::Array(list) => list.iter().map(decode).collect(),
                    one => vec![decode(one)],
                };
                if got.len() == want.len() {
                    got.iter().zip(&want).find_map(|(got, want)| difference(got, want))
                } else {
                    Some(format!("{} tensors instead of {}", got.len(), want.len()))
                }
            }
            (Err(got), Value::String(want)) if got.message() == want => None,
            (Err(got), Value::Null) => Some(format!("refused: {got}")),
            (Err(got), want) => Some(format!("says: {got}\n    not:  {want}")),
            (Ok(_), want) => Some(format!("not refused: {want}")),
        };
        if let Some(problem) = problem {
            let dtypes: Vec<&str> = case["args"]
                .as_array()
                .unwrap()
                .iter()
                .filter_map(|v| v["dtype"].as_str())
                .collect();
            failures.push(format!("{op} {dtypes:?}: {problem}"));
        }
    }
    let count = failures.len();
    assert!(failures.is_empty(), "{count} of {}:\n{}", cases.len(), failures.join("\n"));
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let numbers = |n: usize| -> Vec<f32> { (0..n).map(|i| (i as f32 * 0.37).sin()).collect() };
    let bits = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let a = Tensor::from_slice(&numbers(300 * 257), &[300, 257]).unwrap();
            let b = Tensor::from_slice(&numbers(257 * 190), &[257, 190]).unwrap();
            let image = Tensor::from_slice(&numbers(32 * 40 * 40), &[1, 32, 40, 40]).unwrap();
            let weight = Tensor::from_slice(&numbers(64 * 32 * 9), &[64, 32, 3, 3]).unwrap();
            let depth = Tensor::from_slice(&numbers(32 * 9), &[32, 1, 3, 3]).unwrap();
            let options =
                |groups| ConvOptions { stride: &[1], padding: &[1], dilation: &[1], groups };
            let results = [
                matmul(&a, &b).unwrap(),
                conv(&image, &weight, None, &options(1)).unwrap(),
                conv(&image, &depth, None, &options(32)).unwrap(),
            ];
            results
                .map(|t| t.to_vec::<f32>().unwrap().iter().map(|x| x.to_bits()).collect::<Vec<_>>())
        })
    };
    let one = bits(1);
    assert!(one == bits(2) && one == bits(5));
}

#[test]
fn in_place_operators_write_through_views() {
    let base = Tensor::from_slice(&[1f32, 2.0, 3.0, 4.0], &[2, 2]).unwrap();
    let column = base.select(1, 0).unwrap();
    binary_in_place(BinaryOp::Add, &column, (&base.select(0, 1).unwrap()).into()).unwrap();
    assert_eq!(base.to_vec::<f32>().unwrap(), [4.0, 2.0, 7.0, 4.0]);
    unary_in_place(UnaryOp::Neg, &column).unwrap();
    assert_eq!(base.to_vec::<f32>().unwrap(), [-4.0, 2.0, -7.0, 4.0]);
    let ints = Tensor::from_slice(&[1i32], &[1]).unwrap();
    let error = binary_in_place(BinaryOp::Add, &ints, 1.5.into()).unwrap_err();
    assert_eq!(error.message(), "result type Float can't be cast to the desired output type Int");
    let error = binary_in_place(BinaryOp::Add, &column, (&base).into());
    let words = "output with shape [2] doesn't match the broadcast shape [2, 2]";
    assert_eq!(error.unwrap_err().message(), words);
}

#[test]
fn odd_sizes_are_answers_or_errors_and_never_panics() {
    let huge = 1i64 << 40;
    assert!(Tensor::zeros(&[0, huge, huge], DType::Float32).is_err());
    let hollow = Tensor::zeros(&[0, 1, 1], DType::Float32).unwrap();
    let hollow = hollow.expand(&[0, huge, huge]).unwrap();
    let empty_image = Tensor::zeros(&[1, 2, 0, 4], DType::Float32).unwrap();
    let filter = Tensor::zeros(&[3, 2, 3, 3], DType::Float32).unwrap();
    let wide = Tensor::zeros(&[1], DType::Float32).unwrap().expand(&[huge]).unwrap();
    let many = Tensor::zeros(&[1], DType::Int64).unwrap().expand(&[huge, 1 << 20]).unwrap();
    let all_dims = [None, Some(0), Some(1), Some(-1)];
    for input in [&hollow, &empty_image] {
        for dim in all_dims {
            let dims = dim.as_slice();
            drop(sum(input, dims, false, None).map(|t| t.numel()));
            drop(mean(input, dims, true, None).map(|t| t.numel()));
            drop(min_max(MinMax::Max, input, dim, false).map(|t| t.0.numel()));
            drop(softmax(input, dim.unwrap_or(2)).map(|t| t.numel()));
            drop(sort(input, dim.unwrap_or(2), true, true).map(|t| t.0.numel()));
            drop(layer_norm(input, &input.sizes()[1..], None, None, 1e-5).map(|t| t.numel()));
        }
        assert!(input.is_contiguous());
        assert_eq!(input.flatten(0, -1).unwrap().sizes(), [0]);
        drop(matmul(input, &input.transpose(-1, -2).unwrap()).map(|t| t.numel()));
    }
    let options = |padding| ConvOptions { stride: &[1], padding, dilation: &[1], groups: 1 };
    assert!(conv(&empty_image, &filter, None, &options(&[2])).is_err());
    assert!(conv(&empty_image, &filter, None, &options(&[i64::MAX])).is_err());
    assert!(Tensor::zeros(&[huge, huge], DType::Float32).is_err());
    assert!(Tensor::zeros(&[0, huge, huge], DType::Float32).is_err());
    assert!(many.expand(&[huge, huge, 1 << 20]).is_err());
    assert!(index(&wide, &[Some(many)]).is_err());
    assert!(eye(0, i64::MAX, DType::Float32).is_ok());
    assert!(arange(0.into(), i64::MAX.into(), 1.into(), None).is_err());
    assert!(chunk(&hollow, i64::MAX, 0).is_err());
    assert!(pad(&wide, &[i64::MAX, i64::MAX], PadMode::Constant(0.into())).is_err());
    assert!(pad(&empty_image, &[i64::MIN, 0], PadMode::Constant(0.into())).is_err());
    assert!(pad(&empty_image, &[1, 1, 1, 1], PadMode::Replicate).is_err());
}
