//! TorchScript programs: running them beside libtorch, ONNX Runtime and OpenVINO.
//!
//! Each side is a process of its own with so many threads; they take turns. PyTorch freezes the
//! module (`torch.jit.freeze`) and runs in inference mode; sconce runs the same archive as it does by
//! default. ONNX Runtime and OpenVINO run the network exported to ONNX, in float32; they take part where
//! the Python has `onnx`, `onnxruntime` and `openvino`. With `SCONCE_BENCH_AVX2=1` all but ONNX Runtime, which cannot be
//! told to, leave AVX-512 alone; `SCONCE_BENCH_MODELS=lstm,mlp` measures these alone.

use std::io::{BufRead, Write};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use sconce::run::{
    IValue, Options, RunTensor, Session, arguments, from_object, limit_vector_instructions,
};
use sconce::{Checkpoint, DType};

use crate::peer::{AVX2, Peer};
use crate::{process, verdict};

/// Turns of each side.
const ROUNDS: usize = 11;
/// How long a turn lasts at least.
const TURN: Duration = Duration::from_millis(40);
/// What passes before a turn: the other side's threads look for work a while before they sleep.
const SETTLE: Duration = Duration::from_millis(100);
/// The engines that run ONNX, by the names of their packages.
const ENGINES: [&str; 2] = ["onnxruntime", "openvino"];
/// The largest difference allowed, relative to the largest value of a result.
const TOLERANCE: f64 = 1e-4;

/// The script that makes the models.
const SCRIPT: &str = include_str!("infer_models.py");

/// What a model is to reach on a processor with AVX-512 of which libtorch's matrix product uses half. With
/// AVX2 alone, or with AVX-512 in halves as Zen 4 has it, both sides multiply near its peak.
#[derive(Clone, Copy)]
enum Target {
    /// The most of libtorch's time.
    Ratio(f64),
    /// The most of the time of the faster one of ONNX Runtime and OpenVINO, where they are there.
    Engines(f64),
    /// The most nanoseconds for each of so many operations of a call.
    Each(f64, u32),
}

const MODELS: [(&str, Target); 29] = [
    ("encoder", Target::Ratio(0.65)),
    ("nn_encoder", Target::Ratio(0.65)),
    // Networks of the libraries that people take them from.
    ("resnet18", Target::Engines(0.60)),
    ("resnet50", Target::Engines(0.82)),
    ("vgg11", Target::Engines(0.55)),
    ("unet", Target::Engines(0.50)),
    ("densenet121", Target::Engines(0.75)),
    ("inception_v3", Target::Engines(0.80)),
    ("regnet_y_400mf", Target::Engines(0.75)),
    ("efficientnet_b0", Target::Engines(0.78)),
    ("shufflenet_v2_x1_0", Target::Engines(0.78)),
    ("mobilenet_v3_large", Target::Engines(0.85)),
    ("mobilenet_v2", Target::Engines(0.92)),
    ("convnext_tiny", Target::Engines(0.90)),
    ("swin_t", Target::Engines(0.92)),
    ("vit_b_16", Target::Engines(0.95)),
    ("bert", Target::Engines(0.95)),
    ("repvgg_block", Target::Engines(0.60)),
    ("lstm", Target::Ratio(0.4)),
    // Both sides are near the processor's peak.
    ("lstm_batch", Target::Ratio(1.0)),
    ("lstm_cell", Target::Ratio(0.4)),
    ("small_cnn", Target::Ratio(0.4)),
    ("mlp", Target::Ratio(0.4)),
    ("pointwise", Target::Ratio(0.4)),
    ("hand_mlp", Target::Ratio(1.0)),
    // One row, for which both sides wait for the weight to come from memory, and many.
    ("brain_token", Target::Ratio(1.25)),
    ("brain_prompt", Target::Ratio(1.0)),
    ("tensor_loop", Target::Each(100.0, 10_000)),
    // Three operations on integers and the loop itself.
    ("int_loop", Target::Each(10.0, 400_000)),
];

pub fn run(folder: &Path, python: Option<&str>) {
    example();
    let Some(python) = python else { return };
    let folder = folder.join("infer");
    // TorchScript wants to read the source of what it compiles.
    std::fs::create_dir_all(&folder).expect("a folder for the models");
    let script = folder.join("infer_models.py");
    std::fs::write(&script, SCRIPT).expect("writing the script");
    let made = Command::new(python).arg(&script).arg(&folder).status();
    if !made.is_ok_and(|status| status.success()) {
        println!("\ninfer: the models could not be made (they need torchvision)");
        return;
    }
    let chosen = std::env::var("SCONCE_BENCH_MODELS").unwrap_or_default();
    for threads in [1, 2] {
        println!(
            "\ntime of a call, {threads} thread{}, medians of {ROUNDS} turns",
            if threads == 1 { "" } else { "s" }
        );
        for (name, target) in MODELS {
            if chosen.is_empty() || chosen.split(',').any(|chosen| chosen == name) {
                beside_torch(&folder, name, target, python, threads);
            }
        }
    }
}

/// The program as it is installed, from its start to the first result of the example model.
fn example() {
    const MOST_MILLISECONDS: f64 = 50.0;
    const MOST_MEGABYTES: f64 = 25.0;
    let sconce = process::sconce();
    let size = std::fs::metadata(&sconce).expect("the program").len() as f64 / 1e6;
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples");
    let path = |name: &str| examples.join(name).into_os_string();
    let args = ["run".into(), path("shapes.pt"), "--input".into(), path("shapes/heart.png")];
    let mut times = [(); ROUNDS].map(|()| process::measure(sconce.as_os_str(), &args).time);
    times.sort();
    let time = times[ROUNDS / 2].as_secs_f64() * 1e3;
    println!(
        "\nprocess start to first result {time:.1} ms, target {MOST_MILLISECONDS} ms {}\n\
         release binary {size:.1} MB, target {MOST_MEGABYTES} MB {}",
        verdict(time <= MOST_MILLISECONDS),
        verdict(size <= MOST_MEGABYTES)
    );
}

fn beside_torch(folder: &Path, name: &str, target: Target, python: &str, threads: usize) {
    let path = |end: &str| folder.join(format!("{name}.{end}")).to_string_lossy().into_owned();
    let [model, args, expect] = ["pt", "args.pt", "expect.pt"].map(path);
    let count = threads.to_string();
    let mut ours = Peer::start_sconce(threads);
    ours.order(&["load", &model, &args, &expect]);
    let mut torch = Peer::start(python);
    torch.order(&["infer_load", &model, &args, &count]);
    let mut sides = vec![("sconce", ours), ("libtorch", torch)];
    let onnx = path("onnx");
    for engine in ENGINES {
        if Path::new(&onnx).exists() && has_package(python, engine) {
            let mut peer = Peer::start(python);
            peer.order(&["onnx_load", engine, &onnx, &args, &count]);
            sides.push((engine, peer));
        }
    }
    let mut sides: Vec<_> = sides
        .into_iter()
        .map(|(engine, mut peer)| {
            // Enough calls for a turn, counted after a call that makes things ready.
            let call = peer.order(&["infer", "1"]).min(peer.order(&["infer", "1"]));
            let calls = TURN.as_secs_f64() / call.as_secs_f64().max(1e-7);
            (engine, peer, (calls.ceil() as u32).max(1), Vec::new())
        })
        .collect();
    for _ in 0..ROUNDS {
        for (_, peer, calls, times) in &mut sides {
            std::thread::sleep(SETTLE);
            times.push(peer.order(&["infer", &calls.to_string()]) / *calls);
        }
    }
    let times: Vec<(&str, f64)> = sides
        .into_iter()
        .map(|(engine, _, _, mut times)| {
            times.sort();
            (engine, times[ROUNDS / 2].as_secs_f64() * 1e6)
        })
        .collect();
    let (ours, torch) = (times[0].1, times[1].1);
    let ratio = ours / torch;
    print!("  {name:18} sconce {ours:10.1} us");
    for (engine, time) in &times[1..] {
        print!("   {engine} {time:10.1} us, ratio {:.3}", ours / time);
    }
    let fastest = times[1..].iter().filter(|(engine, _)| ENGINES.contains(engine));
    let fastest = fastest.map(|&(_, time)| time).min_by(f64::total_cmp);
    match target {
        Target::Engines(limit) => match fastest {
            Some(time) => {
                let ratio = ours / time;
                print!(", of the faster engine {ratio:.3}, target {limit:.3} ");
                print!("{}", verdict(ratio <= limit));
            }
            None => print!(", target {limit:.3} of engines that are not here"),
        },
        Target::Ratio(limit) => print!(", target {limit:.3} {}", verdict(ratio <= limit)),
        Target::Each(limit, operations) => {
            let [ours, theirs] = [ours, torch].map(|time| time * 1000.0 / f64::from(operations));
            print!(", an operation {ours:.1} and {theirs:.1} ns, target {limit:.0} ns ");
            print!("{}", verdict(ours <= limit));
        }
    }
    println!();
}

/// Whether a Python has a package.
fn has_package(python: &str, package: &str) -> bool {
    let found = Command::new(python).args(["-c", &format!("import {package}")]).output();
    found.is_ok_and(|found| found.status.success())
}

/// sconce's side: takes the orders of [`Peer`] from standard input.
pub fn child() {
    if std::env::var_os(AVX2).is_some() {
        limit_vector_instructions("AVX2").expect("a processor with AVX2");
    }
    let mut loaded: Option<(Session, Vec<IValue>)> = None;
    for line in std::io::stdin().lock().lines() {
        let line = line.expect("an order");
        let words: Vec<&str> = line.split('\t').collect();
        let start = Instant::now();
        match words[..] {
            ["load", model, args, expect] => loaded = Some(load(model, args, expect)),
            ["infer", calls] => {
                let (session, args) = loaded.as_mut().expect("something is loaded");
                for _ in 0..calls.parse().expect("a number") {
                    session.call("forward", args).expect("runs");
                }
            }
            _ => panic!("an order: {line}"),
        }
        println!("{}", start.elapsed().as_secs_f64());
        std::io::stdout().flush().expect("somebody listens");
    }
}

/// Loads a model and holds its first result against PyTorch's.
fn load(model: &str, args: &str, expect: &str) -> (Session, Vec<IValue>) {
    let open = |path: &str| Checkpoint::open(path).expect("opens");
    let args = arguments(open(args).root()).expect("arguments");
    let module = sconce::jit::load(model).expect("opens");
    let mut session = Session::new(&module, Options::default()).expect("is made");
    let found = session.call("forward", &args).expect("runs");
    let expected = from_object(open(expect).root()).expect("a value");
    match (&found, &expected) {
        (IValue::Tensor(found), IValue::Tensor(expected)) => {
            let difference = difference(found, expected);
            assert!(difference <= TOLERANCE, "{model}: differs from PyTorch by {difference:.1e}");
        }
        _ => assert_eq!(found.equal(&expected), Some(true), "{model}: differs from PyTorch"),
    }
    (session, args)
}

fn difference(found: &RunTensor, expected: &RunTensor) -> f64 {
    assert_eq!(found.sizes(), expected.sizes());
    let values = |tensor: &RunTensor| -> Vec<f32> {
        tensor.to_dtype(DType::Float32).expect("numbers").to_vec().expect("float32")
    };
    let (found, expected) = (values(found), values(expected));
    let largest = expected.iter().fold(0f32, |largest, value| largest.max(value.abs()));
    let differences = found.iter().zip(&expected).map(|(a, b)| (a - b).abs());
    // `max` would pass over a NaN.
    let most = differences.fold(0f32, |most, d| if d > most || d.is_nan() { d } else { most });
    f64::from(most) / f64::from(largest.max(f32::MIN_POSITIVE))
}
