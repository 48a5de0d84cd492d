//! Networks run optimised and as they are, against what PyTorch recorded
//! (tests/optimize/generate.py).

#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::cell::Cell;
use std::path::PathBuf;
use std::rc::Rc;

use sconce_checkpoint::Checkpoint;
use sconce_kernels::Importer;
use sconce_runtime::{
    Error, IValue, Model, Options, Precision, Session, Sink, Tensor, set_num_threads,
};

const NETWORKS: [&str; 35] = [
    "residual",
    "inverted",
    "written",
    "kept",
    "lent",
    "changed",
    "dense",
    "moved",
    "cells",
    "layers",
    "listed",
    "pointwise",
    "several",
    "chains0",
    "chains1",
    "chains2",
    "features",
    "gated",
    "scaled",
    "placed",
    "drawn",
    "flows",
    "shuffled",
    "enlarged",
    "heads",
    "branches",
    "unrolled",
    "ghosts",
    "rows",
    "transposed",
    "volumes",
    "pixels",
    "responses",
    "gathered",
    "asked",
];

fn network(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/optimize").join(name)
}

fn session(name: &str, optimize: bool) -> Session {
    let module = sconce_torchscript::load(network(name).join("model.pt")).unwrap();
    Session::new(&module, Options { optimize, profile: true, ..Options::default() }).unwrap()
}

/// The tensors of a result.
fn tensors(value: &IValue) -> Vec<Tensor> {
    match value {
        IValue::Tensor(tensor) => vec![tensor.clone()],
        IValue::Tuple(tuple) => tuple.items.iter().flat_map(tensors).collect(),
        other => panic!("a result {other:?}"),
    }
}

#[track_caller]
fn close(found: &Tensor, expected: &Tensor) {
    assert_eq!((found.sizes(), found.dtype()), (expected.sizes(), expected.dtype()));
    let numbers = |tensor: &Tensor| {
        tensor.to_dtype(sconce_kernels::DType::Float64).unwrap().to_vec::<f64>().unwrap()
    };
    for (found, expected) in numbers(found).into_iter().zip(numbers(expected)) {
        let near = (found - expected).abs() <= 1e-4 * expected.abs().max(1.0);
        assert!(
            near || found == expected || (found.is_nan() && expected.is_nan()),
            "{found}, expected {expected}"
        );
    }
}

/// Runs the recorded calls of a network, all in one session.
fn check(name: &str, optimize: bool) -> Session {
    let calls = Checkpoint::open(network(name).join("calls.pt")).unwrap();
    let mut session = session(name, optimize);
    session.manual_seed(7);
    for call in calls.root().iter() {
        let input = call.get("input").unwrap().as_tensor().unwrap();
        let input = IValue::Tensor(Importer::default().import(input).unwrap());
        match (session.call("forward", &[input]), call.get("result"), call.get("error")) {
            (Ok(found), Some(expected), _) => {
                let found = tensors(&found);
                let expected: Vec<_> = expected.iter().collect();
                assert_eq!(found.len(), expected.len());
                for (found, expected) in found.iter().zip(expected) {
                    close(found, &Tensor::from_file(expected.as_tensor().unwrap()).unwrap());
                }
                let strides = call.get("strides").into_iter().flat_map(|all| all.iter());
                for (found, expected) in found.iter().zip(strides) {
                    let expected: Vec<_> = expected.iter().filter_map(|n| n.as_i64()).collect();
                    assert_eq!(found.strides(), expected, "{name}");
                }
            }
            (Err(Error::Raised(raised)), _, Some(expected)) => {
                assert_eq!(raised.text.trim_end(), expected.as_str().unwrap().trim_end());
            }
            (other, ..) => panic!("{name}: {other:?}"),
        }
    }
    session
}

/// How often an operator ran.
fn calls(session: &Session, operator: &str) -> u64 {
    let entries = session.profile().into_iter();
    entries.filter(|entry| entry.operator == operator).map(|entry| entry.calls).sum()
}

#[test]
fn networks_give_what_pytorch_gives_optimised_or_not() {
    for name in NETWORKS {
        check(name, true);
        let plain = check(name, false);
        assert_eq!(calls(&plain, "sconce::conv_blocked"), 0);
    }
}

/// Counts the warnings that it is given.
#[derive(Clone, Default)]
struct Warnings(Rc<Cell<usize>>);

impl Sink for Warnings {
    fn print(&mut self, _: &str) {}
    fn warn(&mut self, _: &str) {
        self.0.set(self.0.get() + 1);
    }
}

#[test]
fn a_plan_that_fails_leaves_no_trace() {
    let module = sconce_torchscript::load(network("drawn").join("model.pt")).unwrap();
    let warnings = Warnings::default();
    let sink = Some(Box::new(warnings.clone()) as Box<dyn Sink>);
    let mut session = Session::new(&module, Options { sink, ..Options::default() }).unwrap();
    for (number, succeeds) in [(1.0, true), (-1.0, false), (1.0, true)] {
        let input = Tensor::from_slice(&[number; 12], &[12]).unwrap();
        assert_eq!(session.call("forward", &[IValue::Tensor(input)]).is_ok(), succeeds);
    }
    assert_eq!(warnings.0.get(), 3);
}

#[test]
fn what_follows_a_convolution_becomes_part_of_it() {
    let mut session = session("residual", true);
    let input = Tensor::zeros(&[1, 3, 32, 40], sconce_kernels::DType::Float32).unwrap();
    session.call("forward", &[IValue::Tensor(input)]).unwrap();
    assert_eq!(calls(&session, "sconce::conv_blocked"), 3);
    for gone in
        ["aten::batch_norm", "aten::relu", "aten::relu_", "aten::add_.Tensor", "sconce::add"]
    {
        assert_eq!(calls(&session, gone), 0, "{gone}");
    }
    assert_eq!(calls(&session, "sconce::to_blocked"), 0);
    assert_eq!(calls(&session, "sconce::from_blocked"), 1);
}

#[test]
fn convolutions_behind_lists_gates_and_places_are_in_blocks_too() {
    for (name, convolutions, transposed) in [("features", 3, 0), ("gated", 6, 1), ("placed", 2, 0)]
    {
        let mut session = session(name, true);
        let input = Tensor::zeros(&[1, 3, 12, 16], sconce_kernels::DType::Float32).unwrap();
        session.call("forward", &[IValue::Tensor(input)]).unwrap();
        assert_eq!(calls(&session, "sconce::conv_blocked"), convolutions, "{name}");
        assert_eq!(calls(&session, "sconce::conv_transpose_blocked"), transposed, "{name}");
        for gone in [
            "aten::_convolution",
            "aten::conv2d",
            "sconce::conv2d",
            "aten::conv2d.padding",
            "aten::batch_norm",
            "prim::If",
        ] {
            assert_eq!(calls(&session, gone), 0, "{name}: {gone}");
        }
    }
}

#[test]
fn volumes_are_convolved_as_pictures() {
    let mut session = session("volumes", true);
    let input = Tensor::zeros(&[1, 3, 5, 14, 18], sconce_kernels::DType::Float32).unwrap();
    session.call("forward", &[IValue::Tensor(input)]).unwrap();
    assert_eq!(calls(&session, "sconce::conv3d_packed"), 7);
    assert_eq!(calls(&session, "aten::conv3d"), 2);
}

#[test]
fn sums_scales_and_normalised_rows_are_part_of_the_layers_before() {
    let mut ghosts = session("ghosts", true);
    let input = Tensor::zeros(&[1, 3, 14, 18], sconce_kernels::DType::Float32).unwrap();
    ghosts.call("forward", &[IValue::Tensor(input)]).unwrap();
    assert_eq!(calls(&ghosts, "sconce::conv_blocked"), 7);
    assert_eq!(calls(&ghosts, "sconce::group_norm_blocked"), 1);
    for gone in ["aten::_convolution", "sconce::conv2d", "aten::avg_pool2d", "aten::group_norm"] {
        assert_eq!(calls(&ghosts, gone), 0, "{gone}");
    }
    // The one whose whole is given: others see it.
    assert_eq!(calls(&ghosts, "aten::add_.Tensor") + calls(&ghosts, "aten::mul_.Tensor"), 2);
    let mut rows = session("rows", true);
    let input = Tensor::zeros(&[2, 3, 12], sconce_kernels::DType::Float32).unwrap();
    rows.call("forward", &[IValue::Tensor(input)]).unwrap();
    assert_eq!(calls(&rows, "aten::batch_norm"), 1);
    assert_eq!(calls(&rows, "aten::mul.Tensor"), 0);
}

#[test]
fn what_lies_between_convolutions_is_in_blocks() {
    let mut session = session("flows", true);
    let input = Tensor::zeros(&[1, 3, 12, 16], sconce_kernels::DType::Float32).unwrap();
    session.call("forward", &[IValue::Tensor(input)]).unwrap();
    for gone in [
        "aten::avg_pool2d",
        "aten::max_pool2d",
        "aten::adaptive_avg_pool2d",
        "aten::batch_norm",
        "aten::silu",
        "aten::cat",
        "aten::chunk",
        "aten::slice.Tensor",
        "aten::mean.dim",
        "sconce::to_blocked",
    ] {
        assert_eq!(calls(&session, gone), 0, "{gone}");
    }
    assert_eq!(calls(&session, "sconce::affine_blocked"), 3);
    // Pictures that are joined to be normalised are read where they are, but for ragged ones and one
    // that is given.
    assert_eq!(calls(&session, "sconce::cat_blocked"), 7);
    assert_eq!(calls(&session, "sconce::gate_blocked"), 1);
    // What is given; parts are views of what they are parts of.
    assert_eq!(calls(&session, "sconce::from_blocked"), 4);
}

#[test]
fn channels_are_shuffled_in_blocks() {
    let mut session = session("shuffled", true);
    let input = Tensor::zeros(&[1, 3, 14, 18], sconce_kernels::DType::Float32).unwrap();
    session.call("forward", &[IValue::Tensor(input)]).unwrap();
    for gone in ["aten::view", "aten::contiguous"] {
        assert_eq!(calls(&session, gone), 0, "{gone}");
    }
    // One has sizes of another picture, which might not be those of its own.
    assert_eq!(calls(&session, "sconce::to_blocked"), 1);
    assert!(calls(&session, "sconce::select_blocked") >= 3);
    assert_eq!(calls(&session, "sconce::conv_blocked"), 5);
}

#[test]
fn numbers_for_channels_leave_pictures_in_blocks() {
    let mut session = session("responses", true);
    let input = Tensor::zeros(&[1, 3, 14, 18], sconce_kernels::DType::Float32).unwrap();
    session.call("forward", &[IValue::Tensor(input)]).unwrap();
    assert_eq!(calls(&session, "sconce::conv_blocked"), 8);
    for gone in ["aten::_convolution", "aten::layer_norm"] {
        assert_eq!(calls(&session, gone), 0, "{gone}");
    }
    assert_eq!(calls(&session, "sconce::norm_blocked"), 1);
    assert_eq!(calls(&session, "sconce::layer_norm_blocked"), 1);
}

#[test]
fn rows_that_were_normalised_are_not_reshaped_back() {
    let mut session = session("rows", true);
    let input = Tensor::zeros(&[2, 3, 12], sconce_kernels::DType::Float32).unwrap();
    session.call("forward", &[IValue::Tensor(input)]).unwrap();
    assert_eq!(calls(&session, "aten::reshape_as"), 0);
}

#[test]
fn pictures_are_made_larger_in_blocks() {
    let mut session = session("enlarged", true);
    let input = Tensor::zeros(&[1, 3, 14, 18], sconce_kernels::DType::Float32).unwrap();
    session.call("forward", &[IValue::Tensor(input)]).unwrap();
    assert_eq!(calls(&session, "sconce::conv_blocked"), 6);
    for (operator, count) in [
        ("upsample_nearest2d", 2),
        ("_upsample_nearest_exact2d", 1),
        ("upsample_bilinear2d", 1),
        ("upsample_bicubic2d", 1),
    ] {
        assert_eq!(calls(&session, &format!("sconce::{operator}_blocked")), count, "{operator}");
    }
    // Four in blocks. Infinite numbers are not put into lanes: one is as it was.
    assert_eq!(calls(&session, "aten::pad"), 4);
    assert_eq!(calls(&session, "aten::constant_pad_nd"), 1);
    assert_eq!(calls(&session, "sconce::to_blocked"), 0);
    assert_eq!(calls(&session, "sconce::from_blocked"), 2);
}

#[test]
fn transposed_convolutions_and_gelu_are_in_blocks() {
    let mut session = session("transposed", true);
    let input = Tensor::zeros(&[1, 3, 14, 18], sconce_kernels::DType::Float32).unwrap();
    session.call("forward", &[IValue::Tensor(input)]).unwrap();
    for gone in [
        "aten::gelu",
        "aten::silu",
        "aten::relu",
        "aten::conv_transpose2d.input",
        "sconce::to_blocked",
    ] {
        assert_eq!(calls(&session, gone), 0, "{gone}");
    }
    assert_eq!(calls(&session, "sconce::conv_blocked"), 2);
    assert_eq!(calls(&session, "sconce::affine_blocked"), 1);
    assert_eq!(calls(&session, "sconce::conv_transpose_blocked"), 4);
    // Of two groups, whose normalisation stays, one whose windows have gaps, and one of few channels.
    assert_eq!(calls(&session, "sconce::conv_transpose2d"), 3);
    assert_eq!(calls(&session, "aten::batch_norm"), 1);
    assert_eq!(calls(&session, "sconce::from_blocked"), 1);
}

#[test]
fn branches_of_one_value_that_are_added_up_are_one_convolution() {
    let mut session = session("branches", true);
    let input = Tensor::zeros(&[1, 3, 12, 16], sconce_kernels::DType::Float32).unwrap();
    session.call("forward", &[IValue::Tensor(input)]).unwrap();
    // Convolutions with other steps stay, and those whose windows cross.
    assert_eq!(calls(&session, "sconce::conv_blocked"), 8);
    assert_eq!(calls(&session, "sconce::affine_blocked"), 0);
}

#[test]
fn what_is_made_of_constants_is_made_once_unless_it_is_given() {
    let [mut optimized, mut plain] = [session("scaled", true), session("scaled", false)];
    let input = Tensor::from_slice(&[0.5f32; 12], &[1, 3, 2, 2]).unwrap();
    for round in 0..3 {
        let [a, b] = [&mut optimized, &mut plain].map(|session| {
            tensors(&session.call("forward", &[IValue::Tensor(input.clone())]).unwrap())
        });
        a.iter().zip(&b).for_each(|(a, b)| close(a, b));
        for given in a.iter().chain(&b) {
            given.fill(f64::from(round).into()).unwrap();
        }
    }
    for (operator, times) in [("aten::sqrt", 1), ("aten::sin", 1), ("aten::cos", 1)] {
        assert_eq!(
            (calls(&optimized, operator), calls(&plain, operator)),
            (times, 3),
            "{operator}"
        );
    }
    for operator in ["aten::exp", "aten::tanh", "aten::rand_like"] {
        assert_eq!(calls(&optimized, operator), 3, "{operator}");
    }
}

#[test]
fn what_a_method_changes_is_seen_after_it() {
    for name in ["kept", "lent", "changed"] {
        let [mut optimized, mut plain] = [session(name, true), session(name, false)];
        let input = Tensor::from_slice(&[1f32; 12], &[1, 3, 2, 2]).unwrap();
        for _ in 0..2 {
            let [a, b] = [&mut optimized, &mut plain].map(|session| {
                let result = session.call("forward", &[IValue::Tensor(input.clone())]).unwrap();
                session.call("change", &[]).unwrap();
                tensors(&result)
            });
            a.iter().zip(&b).for_each(|(a, b)| close(a, b));
        }
    }
}

#[test]
fn what_is_given_may_be_written_and_the_rest_is_packed_all_the_same() {
    let [mut optimized, mut plain] = [session("lent", true), session("lent", false)];
    let input = Tensor::from_slice(&[0.5f32; 12], &[1, 3, 2, 2]).unwrap();
    for round in 0..3 {
        let [a, b] = [&mut optimized, &mut plain].map(|session| {
            tensors(&session.call("forward", &[IValue::Tensor(input.clone())]).unwrap())
        });
        a.iter().zip(&b).for_each(|(a, b)| close(a, b));
        // The bias and the weight of the first convolution, which the module keeps.
        for given in a[2..].iter().chain(&b[2..]) {
            given.fill(f64::from(round).into()).unwrap();
        }
    }
    assert_eq!(calls(&optimized, "sconce::conv_blocked"), 3);
    assert_eq!(calls(&optimized, "sconce::conv2d"), 3);
}

#[test]
fn attention_with_many_heads_is_packed() {
    let mut session = session("heads", true);
    let input = Tensor::zeros(&[2, 5, 12], sconce_kernels::DType::Float32).unwrap();
    session.call("forward", &[IValue::Tensor(input)]).unwrap();
    assert_eq!(calls(&session, "sconce::many_heads_packed"), 2);
}

#[test]
fn linear_layers_of_one_input_are_gathered_with_the_normalisation_that_only_they_read() {
    let mut session = session("gathered", true);
    let input = Tensor::zeros(&[3, 2, 12], sconce_kernels::DType::Float32).unwrap();
    session.call("forward", &[IValue::Tensor(input)]).unwrap();
    // Queries, keys and values; a gate and what it lets through; one layer; two whose input is read by others; and one
    // behind a normalisation of two dimensions is left, as are those whose input is written, and one in a branch.
    assert_eq!(calls(&session, "sconce::gathered_linear"), 4);
    assert_eq!(calls(&session, "sconce::linear_packed"), 4);
    assert_eq!(calls(&session, "aten::layer_norm"), 3);
    let entries = session.profile();
    let steps: Vec<_> = entries.iter().flat_map(|entry| entry.steps.clone()).collect();
    assert!(steps.iter().any(|step| &**step == "layer_norm"), "{steps:?}");
}

#[test]
fn what_dense_tensors_answer_alike_is_not_asked_when_a_network_runs() {
    let mut session = session("asked", true);
    let input = Tensor::zeros(&[5, 12], sconce_kernels::DType::Float32).unwrap();
    session.call("forward", &[IValue::Tensor(input)]).unwrap();
    // The other branch is gone, whose layer would be packed as well.
    assert_eq!(calls(&session, "sconce::linear_packed"), 2);
    for gone in ["prim::device", "prim::is_nested", "prim::requires_grad", "aten::__not__"] {
        assert_eq!(calls(&session, gone), 0, "{gone}");
    }
}

#[test]
fn layers_with_constant_weights_are_packed() {
    let run = |name: &str, sizes: &[i64]| {
        let mut session = session(name, true);
        let input = Tensor::zeros(sizes, sconce_kernels::DType::Float32).unwrap();
        session.call("forward", &[IValue::Tensor(input)]).unwrap();
        session
    };
    let dense = run("dense", &[4, 12]);
    assert_eq!(calls(&dense, "sconce::linear_packed"), 4);
    for gone in ["aten::linear", "aten::silu"] {
        assert_eq!(calls(&dense, gone), 0, "{gone}");
    }
    let cells = run("cells", &[3, 2, 12]);
    assert_eq!(calls(&cells, "sconce::lstm_cell_packed"), 4);
    assert_eq!(calls(&cells, "aten::lstm_cell"), 0);
    let layers = run("layers", &[3, 1, 12]);
    for (operator, count) in [
        ("sconce::lstm_packed", 1),
        ("sconce::gru_packed", 2),
        ("sconce::rnn_tanh_packed", 1),
        ("sconce::rnn_relu_packed", 1),
        ("sconce::gru_cell_packed", 1),
        ("sconce::rnn_tanh_cell_packed", 1),
        ("sconce::rnn_relu_cell_packed", 1),
        ("aten::lstm.input", 1),
    ] {
        assert_eq!(calls(&layers, operator), count, "{operator}");
    }
    let listed = run("listed", &[3, 1, 12]);
    assert_eq!(calls(&listed, "sconce::lstm_packed"), 1);
    let unrolled = run("unrolled", &[3, 2, 12]);
    assert_eq!(calls(&unrolled, "sconce::lstm_packed"), 2);
}

#[test]
fn chains_of_elementwise_operators_are_one_and_give_the_same_bits() {
    let bits = |tensor: &Tensor| -> Vec<u32> {
        let bits = |x: f32| if x.is_nan() { u32::MAX } else { x.to_bits() };
        tensor.to_vec::<f32>().unwrap().into_iter().map(bits).collect()
    };
    let numbers = |count: i64| (0..count).map(|at| (at as f32 * 0.37).sin() * 4.0);
    // Less than a block, and blocks for several threads.
    // Row-major, and with the last dimension outermost in memory.
    let turns: [fn(&Tensor) -> Tensor; 2] = [Tensor::clone, |tensor| {
        let turned = tensor.transpose(0, -1).unwrap().contiguous().unwrap();
        turned.transpose(0, -1).unwrap()
    }];
    let sizes = [&[2i64, 12][..], &[12], &[40, 70, 12]];
    let all = sizes.into_iter().flat_map(|sizes| turns.map(|turned| (sizes, turned)));
    for name in ["chains0", "chains1", "chains2", "several"] {
        for (sizes, turned) in all.clone() {
            let numbers: Vec<f32> = numbers(sizes.iter().product()).collect();
            let input = Tensor::from_slice(&numbers, sizes).unwrap();
            let input = IValue::Tensor(turned(&input));
            let [mut optimized, mut plain] = [true, false].map(|optimize| session(name, optimize));
            let [found, expected] = [&mut optimized, &mut plain].map(|session| {
                tensors(&session.call("forward", std::slice::from_ref(&input)).unwrap())
            });
            for (at, (found, expected)) in found.iter().zip(&expected).enumerate() {
                assert_eq!(found.sizes(), expected.sizes());
                assert_eq!(found.strides(), expected.strides(), "{name} {sizes:?} {at}");
                assert_eq!(bits(found), bits(expected), "{name} {sizes:?} {at}");
            }
            let [fused, plain] = [optimized, plain].map(|session| {
                let all = session.profile();
                all.iter().filter(|entry| !entry.operator.starts_with("prim::")).count()
            });
            assert!(fused < plain, "{name}: {fused} of {plain}");
        }
    }
    let mut session = session("pointwise", true);
    let input = Tensor::zeros(&[2, 12], sconce_kernels::DType::Float32).unwrap();
    session.call("forward", &[IValue::Tensor(input)]).unwrap();
    // Three rounds of the cell, the activation by hand, and what the gate is used for.
    assert_eq!(calls(&session, "sconce::pointwise"), 3 + 2);
    let entries = session.profile();
    let mut steps: Vec<String> = entries
        .iter()
        .filter(|entry| entry.operator == "sconce::pointwise")
        .map(|entry| entry.steps.join(" "))
        .collect();
    steps.sort();
    let expected = [
        "add sigmoid mul sigmoid tanh mul add sigmoid tanh mul add",
        "mul add sigmoid mul gt where sub",
        "mul pow mul add mul tanh add mul",
    ];
    assert_eq!(steps, expected);
    assert_eq!(calls(&session, "aten::sigmoid") + calls(&session, "aten::mul.Tensor"), 0);
}

/// The results of a network's recorded calls, one number after the other.
fn results(name: &str, session: &mut Session) -> Vec<f64> {
    let calls = Checkpoint::open(network(name).join("calls.pt")).unwrap();
    let mut all = Vec::new();
    for call in calls.root().iter().filter(|call| call.get("result").is_some()) {
        let input = call.get("input").unwrap().as_tensor().unwrap();
        let input = IValue::Tensor(Importer::default().import(input).unwrap());
        for result in tensors(&session.call("forward", &[input]).unwrap()) {
            let result = result.to_dtype(sconce_kernels::DType::Float64).unwrap();
            all.extend(result.to_vec::<f64>().unwrap());
        }
    }
    all
}

#[test]
fn less_precision_costs_what_it_says_whatever_the_number_of_threads() {
    for name in ["residual", "inverted", "dense", "heads"] {
        let model = Model::new(sconce_torchscript::load(network(name).join("model.pt")).unwrap());
        // Sessions of one model, which share what is not of their precision.
        let at = |precision| {
            let options = Options { precision, profile: true, ..Options::default() };
            let mut session = model.session(options).unwrap();
            (results(name, &mut session), session)
        };
        let (full, _) = at(Precision::Full);
        let square = |x: &f64| if x.is_finite() { x * x } else { 0.0 };
        let squares: f64 = full.iter().map(square).sum();
        let bits = |all: Vec<f64>| all.into_iter().map(f64::to_bits).collect::<Vec<_>>();
        for precision in [Precision::Bf16, Precision::Int8Weights] {
            let (found, session) = at(precision);
            // What is not finite is so in both.
            let pairs = full.iter().zip(&found);
            assert!(pairs.clone().all(|(a, b)| a.is_finite() == b.is_finite()), "{name}");
            let errors: f64 = pairs.map(|(a, b)| square(&(a - b))).sum();
            let error = (errors / squares).sqrt();
            assert!(error < 8e-3, "{name} at {precision}: {error}");
            let mark = if precision == Precision::Bf16 { "bfloat16" } else { "int8 weights" };
            let is_marked = |entry: &sconce_runtime::ProfileEntry| {
                entry.implementation.is_some_and(|how| how.contains(mark))
            };
            let marked = session.profile().iter().any(is_marked);
            assert!(marked == (error > 0.0), "{name} at {precision}: {error}");
            set_num_threads(3);
            let found = bits(found);
            assert_eq!(bits(at(precision).0), found, "{name} at {precision}");
            set_num_threads(1);
            assert_eq!(bits(at(precision).0), found, "{name} at {precision}");
        }
        assert_eq!(bits(at(Precision::Full).0), bits(full));
    }
}

#[test]
fn options_that_contradict_each_other_are_refused() {
    let module = sconce_torchscript::load(network("dense").join("model.pt")).unwrap();
    for (options, why) in [
        (Options { exact: true, ..Options::default() }, "rounding"),
        (Options { optimize: false, ..Options::default() }, "optimised"),
    ] {
        let options = Options { precision: Precision::Bf16, ..options };
        let error = Session::new(&module, options).err().unwrap().to_string();
        assert!(error.starts_with("precision bf16 goes ") && error.contains(why), "{error}");
    }
}
