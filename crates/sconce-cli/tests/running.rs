//! The verbs that run programs: run, bench, compare; what README says of them.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[macro_use]
mod support;

use std::fs;
use std::path::Path;

use sconce::checkpoint::{Checkpoint, Draft, SaveOptions, Value};
use sconce::tensor::Tensor;
use serde_json::Value as Json;
use support::{Run, fixtures};
use tempfile::TempDir;

/// By `examples/make_classifier.py` and `examples/make_shapes.py`.
const CLASSIFIER: &str = "../../examples/classifier.pt";
const SHAPES: &str = "../../examples/shapes.pt";
/// By `examples/make_shapes_pt2.py`.
const SHAPES_EXPORTED: &str = "../../examples/shapes.pt2";
const LABELS: &str = "../../examples/shapes.txt";
/// By the generators beside them: a loop without end; one that raises.
const ENDLESS: &str = "../../crates/sconce-runtime/tests/programs/endless/model.pt";
const LOOPS: &str = "../../crates/sconce-runtime/tests/programs/loops/model.pt";
/// One with an operator that is not here, and one that would read a file, both behind a branch.
const UNREACHED: &str = "../../crates/sconce-runtime/tests/programs/unreached/model.pt";
const READS_FILES: &str = "../../crates/sconce-runtime/tests/programs/reads_files/model.pt";

fn run(args: &[&str]) -> Run {
    support::sconce(args)
}

fn json(args: &[&str]) -> Json {
    let run = run(args);
    assert_eq!(run.code, 0, "{}", run.err);
    serde_json::from_str(&run.out).unwrap()
}

looks! {
    run_a_batch: "run", CLASSIFIER, "-i", "ones(2, 8)", "-i", "2";
    run_another_method: "run", CLASSIFIER, "--method", "name_of", "-i", "2";
    run_without_arguments: "run", CLASSIFIER;
    run_with_the_wrong_type: "run", CLASSIFIER, "-i", "3";
    run_what_raises: "run", CLASSIFIER, "-m", "name_of", "-i", "9";
    run_an_unknown_method: "run", CLASSIFIER, "-m", "backward";
    run_with_no_such_file: "run", CLASSIFIER, "-i", "nowhere.npy";
    run_with_a_bad_size: "run", CLASSIFIER, "-i", "zeros(-1)";
    run_a_checkpoint: "run", "2.15/zip/state_dict.pt";
    run_without_end: "run", ENDLESS, "-i", "1", "--max-steps", "100000";
    help_of_run: "run", "-h";
    help_of_bench: "bench", "-h";
    help_of_compare: "compare", "-h";
}

#[test]
fn a_missing_operator_stops_a_program_that_comes_to_it_or_a_strict_caller() {
    let call = |reach: &str, more: &[&str]| {
        run(&[&["run", UNREACHED, "-i", "ones(2)", "-i", reach], more].concat())
    };
    let past = call("False", &[]);
    assert_eq!((past.code, past.out.trim()), (0, "tensor([2., 2.])"), "{}", past.err);
    for (run, help) in [
        (call("True", &[]), "lists the operators of a program that are missing"),
        (call("False", &["--strict"]), "without --strict it runs"),
    ] {
        assert_eq!(run.code, 2);
        assert!(run.err.contains("aten::to_mkldnn") && run.err.contains(help), "{}", run.err);
    }
    let files = run(&["run", READS_FILES, "-i", "False"]);
    assert_eq!(files.code, 2);
    assert!(files.err.contains("aten::from_file (it would read or write files)"), "{}", files.err);
    let ops = run(&["ops", READS_FILES, "--no-header"]);
    assert!(
        ops.out.lines().any(|line| line.contains("aten::from_file") && line.ends_with("refused"))
    );
    let ops = run(&["ops", UNREACHED, "--no-header"]);
    assert!(
        ops.out.lines().any(|line| line.contains("aten::to_mkldnn") && line.ends_with("missing"))
    );
}

#[test]
fn every_picture_of_the_example_is_recognised() {
    let labels = fs::read_to_string(fixtures().join(LABELS)).unwrap();
    assert_eq!(labels.lines().count(), 8);
    for name in labels.lines() {
        let picture = format!("../../examples/shapes/{name}.png");
        let run = run(&["run", SHAPES, "-i", &picture, "--top", "1", "--labels", LABELS]);
        assert_eq!(run.code, 0, "{}", run.err);
        let words: Vec<&str> = run.out.split_whitespace().collect();
        assert_eq!(words[0], name);
        assert!(words[1].parse::<f64>().unwrap() > 80.0, "{}", run.out);
        assert!(words[3].starts_with('█'), "{}", run.out);
    }
}

/// The commands that README shows, without those that need files of the reader.
#[test]
fn the_first_command_of_the_readme_works() {
    let root = fixtures().join("../..");
    let readme = fs::read_to_string(root.join("README.md")).unwrap();
    let prefix = "cargo run --release -p sconce-cli -- ";
    let commands: Vec<&str> =
        readme.lines().filter_map(|line| line.strip_prefix(prefix)?.split('#').next()).collect();
    assert!(commands.len() >= 2, "{commands:?}");
    for command in commands {
        let args: Vec<&str> = command.split_whitespace().collect();
        let output = support::command(&args).current_dir(&root).output().unwrap();
        assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
        assert!(!output.stdout.is_empty(), "{command}");
    }
}

struct Folder(TempDir);

impl Folder {
    fn new() -> Folder {
        Folder(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> String {
        self.0.path().join(name).to_string_lossy().into_owned()
    }

    fn save(&self, name: &str, value: Value) -> String {
        let file = SaveOptions::new().save_to(Draft::from(value).root(), Vec::new()).unwrap();
        fs::write(self.path(name), file).unwrap();
        self.path(name)
    }
}

fn ones(rows: i64) -> Value {
    Tensor::from_slice(&vec![1f32; 8 * rows as usize], &[rows, 8]).unwrap().into()
}

#[test]
fn saved_arguments_and_results() {
    let folder = Folder::new();
    let args = folder.save("args.pt", Value::list([ones(3), Value::from(2)]));
    let (pt, npy, npz) = (folder.path("y.pt"), folder.path("y.npy"), folder.path("y.npz"));
    for output in [&pt, &npy, &npz] {
        let run = run(&["run", CLASSIFIER, "--inputs", &args, "-o", output]);
        assert_eq!((run.code, run.out.as_str()), (0, ""), "{}", run.err);
        assert!(run.err.contains("a tensor, float32 [3, 4]"), "{}", run.err);
    }
    let opened = Checkpoint::open(&pt).unwrap();
    let saved = opened.root().as_tensor().unwrap().to_vec::<f32>().unwrap();
    let array = Checkpoint::open(&npy).unwrap();
    assert_eq!(array.root().as_tensor().unwrap().to_vec::<f32>().unwrap(), saved);
    let arrays = Checkpoint::open(&npz).unwrap();
    assert_eq!(arrays.tensor("arr_0").unwrap().to_vec::<f32>().unwrap(), saved);

    // A file that is there stays, and what a format cannot hold is refused before.
    let again = run(&["run", CLASSIFIER, "--inputs", &args, "-o", &pt]);
    assert_eq!(again.code, 3, "{}", again.err);
    let forced = run(&["run", CLASSIFIER, "--inputs", &args, "-o", &pt, "-f", "-q"]);
    assert_eq!((forced.code, forced.err.as_str()), (0, ""));
    let word = folder.path("word.npy");
    let refused = run(&["run", CLASSIFIER, "-m", "name_of", "-i", "1", "-o", &word]);
    assert_eq!(refused.code, 3);
    assert!(refused.err.contains("an .npy file holds a tensor"), "{}", refused.err);
    assert!(!Path::new(&word).exists());

    // What was written goes in again.
    let scores = json(&["run", SHAPES, "-i", "zeros(1,3,40,40)", "--json"]);
    assert_eq!(scores["result"]["shape"], serde_json::json!([1, 8]));
    let array = run(&["run", CLASSIFIER, "-i", &npy]);
    assert_eq!(array.code, 2, "{}", array.err);
    assert!(array.err.contains("(3x4 and 8x4)"), "{}", array.err);
}

#[test]
fn arguments_of_every_kind_of_file() {
    let folder = Folder::new();
    let pt = folder.save("x.pt", ones(2));
    let npz = folder.path("x.npz");
    let converted = run(&["convert", &folder.save("d.pt", Value::dict([("x", ones(2))])), &npz]);
    assert_eq!(converted.code, 0, "{}", converted.err);
    let want = run(&["run", CLASSIFIER, "-i", "ones(2,8)"]).out;
    assert!(want.starts_with("tensor([["), "{want}");
    for input in [&pt, &npz] {
        let run = run(&["run", CLASSIFIER, "-i", input]);
        assert_eq!((run.code, &run.out), (0, &want), "{input}: {}", run.err);
    }
    let bytes = fs::read(&pt).unwrap();
    let piped = support::sconce_with_stdin(&["run", CLASSIFIER, "-i", "-"], &bytes);
    assert_eq!((piped.code, &piped.out), (0, &want), "{}", piped.err);
    let literal = run(&["run", LOOPS, "-i", "5"]);
    assert_eq!(literal.code, 0, "{}", literal.err);
}

#[test]
fn results_as_json() {
    let document = json(&["run", CLASSIFIER, "-i", "ones(1,8)", "--json"]);
    assert_eq!(document["schema_version"], 1);
    assert_eq!(document["result"]["dtype"], "float32");
    assert_eq!(document["result"]["data"][0].as_array().unwrap().len(), 4);
    let picture = "../../examples/shapes/star.png";
    let document =
        json(&["run", SHAPES, "-i", picture, "--json", "--top", "2", "--labels", LABELS]);
    assert_eq!(document["top"][0][0]["label"], "star");
    assert_eq!(document["top"][0].as_array().unwrap().len(), 2);
    assert!(document.get("result").is_none());
}

#[test]
fn a_result_is_compared_with_a_saved_one() {
    let folder = Folder::new();
    let args = folder.save("args.pt", Value::tuple([ones(2)]));
    let expected = folder.path("y.pt");
    assert_eq!(run(&["run", CLASSIFIER, "--inputs", &args, "-o", &expected]).code, 0);
    let command = ["compare", CLASSIFIER, "--inputs", &args, "--expect", &expected];
    let equal = run(&command);
    assert_eq!(equal.code, 0, "{}{}", equal.out, equal.err);
    assert!(equal.out.ends_with("1 output equal within 1e-4\n"), "{}", equal.out);
    let other = folder.save("z.pt", Tensor::from_slice(&[0f32; 8], &[2, 4]).unwrap().into());
    let differs = run(&["compare", CLASSIFIER, "--inputs", &args, "--expect", &other]);
    assert_eq!(differs.code, 1, "{}", differs.err);
    assert!(differs.out.contains("numbers differ"), "{}", differs.out);
    let shapes = folder.save("s.pt", Tensor::from_slice(&[0f32; 4], &[4]).unwrap().into());
    let document = ["compare", CLASSIFIER, "--inputs", &args, "--expect", &shapes, "--json"];
    let document: Json = serde_json::from_str(&run(&document).out).unwrap();
    assert_eq!(document["equal"], false);
    assert_eq!(document["outputs"][0]["note"], "expected float32 [4]");
}

#[test]
fn less_precision_is_compared_with_full() {
    let call = ["compare", CLASSIFIER, "-i", "ones(2,8)", "--precision"];
    for precision in ["bf16", "int8-weights"] {
        let compared = run(&[&call[..], &[precision, "--json", "--tol", "0.05"]].concat());
        assert_eq!(compared.code, 0, "{}{}", compared.out, compared.err);
        let document: Json = serde_json::from_str(&compared.out).unwrap();
        let rms = document["outputs"][0]["rms"].as_f64().unwrap();
        assert!(rms > 0.0 && rms < 8e-3, "{precision}: {rms}");
    }
    let refused = |arguments: &[&str], why: &str| {
        let said = run(&[&call[..], arguments].concat());
        assert!(said.code == 3 && said.err.contains(why), "{} {}", said.code, said.err);
    };
    refused(&["bf16", "--exact"], "the other spends it to round less");
    refused(&["bf16", "--no-optimize"], "cannot be used with");
    refused(&["full"], "full precision is what results are compared with");
    refused(&["half"], "possible values: full, bf16, int8-weights");
}

#[test]
fn times_and_parts_of_a_call() {
    let bench = ["bench", SHAPES, "--shape", "1x3x32x32", "--runs", "3", "--warmup", "1"];
    let text = run(&bench);
    assert_eq!(text.code, 0, "{}", text.err);
    for words in
        ["median", "p95", "3 runs", "sconce::conv_blocked(conv2d, relu)", "make_shapes.py:"]
    {
        assert!(text.out.contains(words), "{words}: {}", text.out);
    }
    let document = json(&[&bench[..], &["--json", "--threads", "1"]].concat());
    assert_eq!((&document["runs"], &document["threads"]), (&3.into(), &1.into()));
    let times = &document["seconds"];
    assert!(times["min"].as_f64().unwrap() <= times["median"].as_f64().unwrap());
    let shares = document["operators"].as_array().unwrap();
    let sum: f64 = shares.iter().map(|share| share["share"].as_f64().unwrap()).sum();
    assert!((sum - 1.0).abs() < 1e-6, "{sum}");
    let convolutions =
        shares.iter().find(|share| share["operator"] == "sconce::conv_blocked").unwrap();
    assert_eq!(convolutions["calls"], 3.0);
}

#[test]
fn newer_vector_instructions_are_left_alone() {
    let bench = ["bench", SHAPES, "--shape", "1x3x32x32", "--runs", "1", "--warmup", "0"];
    let level = |arguments: &[&str]| {
        json(&[&bench[..], &["--json"], arguments].concat())["vector_instructions"].clone()
    };
    let best = level(&[]);
    assert_eq!(level(&["--vector-instructions", best.as_str().unwrap()]), best);
    if cfg!(target_arch = "x86_64") {
        assert_eq!(level(&["--vector-instructions", "sse2"]), "SSE2");
    }
    let refused = run(&[&bench[..], &["--vector-instructions", "altivec"]].concat());
    assert_eq!(refused.code, 3);
    assert!(refused.err.contains("this CPU has no 'altivec'; it has "), "{}", refused.err);
}

#[test]
fn programs_are_measured_side_by_side() {
    let bench =
        ["bench", SHAPES, "--compare", SHAPES_EXPORTED, "--shape", "1x3x32x32", "--runs", "3"];
    let text = run(&bench);
    assert_eq!(text.code, 0, "{}", text.err);
    for words in ["shapes.pt2", "ratio", "1.00", "3 runs of each in turns"] {
        assert!(text.out.contains(words), "{words}: {}", text.out);
    }
    let document = json(&[&bench[..], &["--json"]].concat());
    let programs = document["programs"].as_array().unwrap();
    assert_eq!((programs.len(), programs[0]["ratio"].as_f64()), (2, Some(1.0)));
    let median = |at: usize| programs[at]["seconds"]["median"].as_f64().unwrap();
    let ratio = programs[1]["ratio"].as_f64().unwrap();
    assert!((ratio - median(1) / median(0)).abs() < 1e-9, "{document}");
}

#[test]
fn arguments_keep_their_order_and_methods_their_names() {
    // A tensor by its size, then an int: the order in which they stand.
    let result = run(&["run", CLASSIFIER, "--shape", "2x8", "-i", "2", "--seed", "1"]);
    assert_eq!(result.code, 0, "{}", result.err);
    let made = run(&["run", CLASSIFIER, "-i", "rand(2, 8)", "-i", "2", "--seed", "1"]);
    assert_eq!(result.out, made.out);
    let swapped = run(&["run", CLASSIFIER, "-i", "2", "--shape", "2x8"]);
    assert_ne!(swapped.code, 0);
    // By place or by flag, of the root or of a submodule.
    let by_place = run(&["run", CLASSIFIER, "encoder.forward", "-i", "ones(1, 8)"]).ok();
    let by_flag = run(&["run", CLASSIFIER, "-m", "encoder.forward", "-i", "ones(1, 8)"]).ok();
    assert_eq!(by_place, by_flag);
    for verb in ["code", "graph", "ops"] {
        let by_place = run(&[verb, CLASSIFIER, "encoder.forward"]).ok();
        assert_eq!(by_place, run(&[verb, CLASSIFIER, "-m", "encoder.forward"]).ok(), "{verb}");
        let typo = run(&[verb, CLASSIFIER, "encoder.forwrd"]);
        assert_eq!(typo.code, 3, "{verb}: {}", typo.err);
        assert!(typo.err.contains("did you mean 'encoder.forward'?"), "{verb}: {}", typo.err);
    }
    let both = run(&["graph", CLASSIFIER, "forward", "-m", "forward"]);
    assert_eq!(both.code, 3, "{}", both.err);
}

#[test]
fn defaults_of_a_python_function_hold() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("f.py");
    let text = "import torch\n\n\ndef f(x: torch.Tensor, k: int = 3, s: float = 0.5):\n    return x * k + s\n";
    fs::write(&file, text).unwrap();
    let entry = format!("{}:f", file.display());
    assert_eq!(run(&["run", &entry, "-i", "ones(1)"]).ok(), "tensor([3.5000])\n");
    assert_eq!(run(&["run", &entry, "-i", "ones(1)", "-i", "4"]).ok(), "tensor([4.5000])\n");
    let missing = run(&["run", &entry]);
    assert!(missing.err.contains("missing value for argument 'x'"), "{}", missing.err);
}

#[test]
fn an_operator_that_takes_long_is_stopped() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("long.py");
    let text = "import torch\n\n\ndef f(x: torch.Tensor):\n    return torch.diff(x, n=200000)\n";
    std::fs::write(&program, text).unwrap();
    let (program, archive) = (format!("{}:f", program.display()), folder.path().join("long.pt"));
    let archive = archive.to_str().unwrap();
    assert_eq!(run(&["script", &program, "-o", archive]).code, 0);
    for verb in ["run", "bench"] {
        let run = run(&[verb, archive, "-i", "zeros(400000)", "--max-seconds=0.05"]);
        assert_eq!(run.code, 2, "{verb}: {}", run.err);
        assert!(run.err.contains("time limit of 0.05 s exceeded"), "{verb}: {}", run.err);
    }
}

#[test]
fn tensors_larger_than_memory_are_not_gone_over() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("large.py");
    let bodies = [
        "one.expand(1 << 40).relu()",
        "one.expand(1 << 40).zero_()",
        "one.expand(1 << 40).unbind(0)",
        "one.expand(1 << 40).chunk(1 << 31)",
        "torch.tensor_split(one, 1 << 40)",
        "torch.cat([one, one.expand((1 << 62) + ((1 << 62) - 1))])",
        "torch.block_diag(one, one.expand((1 << 62) + ((1 << 62) - 1)))",
        "torch.combinations(one, 1 << 61, True)",
        "torch.combinations(one.expand(100000), 50, True)",
        "torch.logdet(torch.zeros(1, 0, 0).expand(1 << 62, 0, 0))",
        "torch.fft.irfft(torch.zeros(0, 1).expand(0, 1 << 62))",
        "torch.linalg.svd(torch.zeros(1 << 16, 1))[0]",
    ];
    let functions = bodies.iter().enumerate().map(|(at, body)| {
        format!("\n\ndef f{at}():\n    one = torch.zeros(1)\n    return {body}\n")
    });
    std::fs::write(&program, format!("import torch\n{}", functions.collect::<String>())).unwrap();
    for (at, body) in bodies.iter().enumerate() {
        let function = format!("{}:f{at}", program.display());
        let run = run(&["run", &function, "--max-memory", "100000000"]);
        assert_eq!(run.code, 2, "{body}: {}", run.err);
        assert!(run.err.contains("memory limit of 95.4 MiB exceeded"), "{body}: {}", run.err);
    }
}

/// A block of eight channels looks the same whether three or eight are there.
#[test]
fn convolutions_in_blocks_refuse_other_numbers_of_channels() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("network.py");
    let text = "import torch\n\n\nclass Net(torch.nn.Module):\n    def __init__(self):\n        \
                super().__init__()\n        self.weight = torch.nn.Parameter(torch.ones(8, 8, 3, 3))\n\n    \
                def forward(self, x):\n        return torch.conv2d(x, self.weight)\n";
    std::fs::write(&program, text).unwrap();
    let network = format!("{}:Net", program.display());
    let whole = run(&["run", &network, "--input", "ones(2, 8, 16, 16)"]);
    assert_eq!(whole.code, 0, "{}", whole.err);
    let few = run(&["run", &network, "--input", "ones(2, 3, 16, 16)"]);
    assert_eq!(few.code, 2, "{}", few.out);
    let words = "expected input[2, 3, 16, 16] to have 8 channels, but got 3 channels instead";
    assert!(few.err.contains(words), "{}", few.err);
}

/// What an operator needs for itself is asked for before it is taken: the program is told, and the process goes on.
#[test]
fn scratch_of_operators_is_refused_before_it_is_taken() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("scratch.py");
    let cases = [
        (6, "torch.linalg.inv(x)"),
        (6, "torch.linalg.det(x)"),
        (6, "torch.linalg.slogdet(x)"),
        (6, "torch.linalg.lu_factor(x)"),
        (6, "torch.linalg.cholesky(x)"),
        (6, "torch.linalg.ldl_factor(x)"),
        (6, "torch.linalg.solve(x, x)"),
        (6, "torch.linalg.solve_triangular(x, x, upper=True)"),
        (6, "torch.linalg.lu_solve(x, torch.ones([512], dtype=torch.int32), x)"),
        (6, "torch.linalg.ldl_solve(x, torch.ones([512], dtype=torch.int32), x)"),
        (6, "torch.cholesky_solve(x, x)"),
        (6, "torch.cholesky_inverse(x)"),
        (6, "torch.linalg.householder_product(x, x[0])"),
        (6, "torch.ormqr(x, x[0], x)"),
        (6, "torch.geqrf(x)"),
        (3, "torch.lu_unpack(x, torch.ones([512], dtype=torch.int32))"),
        (6, "torch.linalg.lstsq(x, x)"),
        (6, "torch.linalg.pinv(x)"),
        (6, "torch.linalg.svd(x)"),
        (6, "torch.fft.fft(x.flatten())"),
        (4, "torch.fft.rfft(x.flatten())"),
        (6, "torch.fft.irfft(x.flatten())"),
        (6, "torch.fft.fft(x.flatten()[:262139])"),
        (6, "torch.conv1d(x.reshape(1, 4, -1), x[:4, :124].reshape(4, 4, 31))"),
        (6, "torch.conv_tbc(x.reshape(-1, 1, 4), x[:31, :16].reshape(31, 4, 4), x[0, :4])"),
        (6, "torch.conv_transpose1d(x.reshape(1, 4, -1), x[:4, :124].reshape(4, 4, 31))"),
        (6, "torch.conv_transpose2d(x.reshape(1, 4, 256, 256), x[:4, :196].reshape(4, 4, 7, 7))"),
        (
            6,
            "torch.conv_transpose3d(x.reshape(1, 4, 64, 32, 32), x[:4, :108].reshape(4, 4, 3, 3, 3))",
        ),
        (6, "torch.sort(x.flatten())"),
        (4, "torch.unique(x)"),
        (4, "torch.unique_consecutive(x)"),
        (6, "torch.isin(x, x)"),
        (6, "torch.combinations(x.flatten()[:1000])"),
        (4, "str(x)"),
    ];
    let functions = cases
        .iter()
        .enumerate()
        .map(|(at, (_, body))| format!("\n\ndef f{at}(x: torch.Tensor):\n    return {body}\n"));
    std::fs::write(&program, format!("import torch\n{}", functions.collect::<String>())).unwrap();
    for (at, (limit, body)) in cases.iter().enumerate() {
        let function = format!("{}:f{at}", program.display());
        let limit_flag = format!("--max-memory={limit}MiB");
        let run = run(&["run", &function, &limit_flag, "-i", "rand(512,512)"]);
        assert_eq!(run.code, 2, "{body}: {}", run.err);
        let said = format!("memory limit of {limit} MiB exceeded: the program holds ");
        assert!(
            run.err.contains(&said) && run.err.contains(" and asks for "),
            "{body}: {}",
            run.err
        );
    }
}

#[test]
fn limits_stop_a_program_without_end() {
    for (limit, said) in [
        ("--max-seconds=0.05", "time limit of 0.05 s exceeded"),
        ("--max-steps=1000", "step limit of 1000 exceeded"),
    ] {
        let run = run(&["run", ENDLESS, "-i", "1", limit]);
        assert_eq!(run.code, 2);
        assert!(run.err.contains(said), "{}", run.err);
    }
}

#[test]
fn exported_programs_run_as_torchscript_does() {
    let heart = "../../examples/shapes/heart.png";
    for program in [SHAPES, SHAPES_EXPORTED] {
        let top = json(&["run", program, "-i", heart, "--top", "1", "--labels", LABELS, "--json"]);
        assert_eq!(top["top"][0][0]["label"], "heart", "{program}");
    }
    let graph = run(&["graph", SHAPES_EXPORTED]);
    assert!(
        graph
            .out
            .starts_with("graph(%self : __torch__.ExportedProgram,\n      %pictures : Tensor):")
    );
    assert!(graph.out.contains("%linear : Tensor = aten::linear("), "{}", graph.out);
    let bench = json(&[
        "bench",
        SHAPES_EXPORTED,
        "--shape",
        "1x3x40x40",
        "--runs",
        "2",
        "--warmup",
        "1",
        "--json",
    ]);
    assert_eq!(bench["runs"], 2);
    let wrong = run(&["run", SHAPES_EXPORTED, "-i", "ones(1, 4, 9, 9)"]);
    assert_eq!(wrong.code, 3);
    assert!(
        wrong.err.contains("Expected input at *args[0].shape[1] to be equal to 3, but got 4."),
        "{}",
        wrong.err
    );
    let other = run(&["run", SHAPES_EXPORTED, "-i", heart, "-m", "backward"]);
    assert_eq!(other.code, 3, "{}", other.err);
}

#[test]
fn arguments_by_name_and_several_calls() {
    let folder = TempDir::new().unwrap();
    let save = |name: &str, value: Value| {
        let path = folder.path().join(name);
        SaveOptions::new().save(Draft::from(value).root(), &path).unwrap();
        path.to_string_lossy().into_owned()
    };
    let tensor =
        |values: &[f32], sizes: &[i64]| Value::from(Tensor::from_slice(values, sizes).unwrap());
    let by_name = save(
        "by_name.pt",
        Value::dict([
            ("args", Value::list([tensor(&[1.0, 2.0, 3.0], &[3])])),
            (
                "kwargs",
                Value::dict([
                    ("alpha", tensor(&[10.0], &[1])),
                    ("beta", tensor(&[1.0, 1.0, 2.0], &[3])),
                ]),
            ),
        ]),
    );
    let keywords = json(&["run", "../pt2/run_keywords.pt2", "--inputs", &by_name, "--json"]);
    assert_eq!(keywords["result"]["data"], serde_json::json!([11.0, 21.0, 32.0]));
    let ones = save("ones.pt", Value::list([tensor(&[1.0; 8], &[4, 2])]));
    let counted = json(&[
        "run",
        "../pt2/run_buffer_mutation.pt2",
        "--inputs",
        &ones,
        "--inputs",
        &ones,
        "--json",
    ]);
    assert_eq!(counted["result"][0]["data"], serde_json::json!([5.0, 5.0]));
    assert_eq!(counted["result"][1]["data"], serde_json::json!([9.0, 9.0]));
    // TorchScript takes both as well.
    let eight = tensor(&[1.0; 8], &[1, 8]);
    let classify = save(
        "classify.pt",
        Value::dict([
            ("args", Value::list([eight])),
            ("kwargs", Value::dict([("rounds", Value::from(2))])),
        ]),
    );
    let twice = json(&["run", CLASSIFIER, "--inputs", &classify, "--inputs", &classify, "--json"]);
    assert_eq!(twice["result"][0], twice["result"][1]);
    let bench = run(&["bench", CLASSIFIER, "--inputs", &classify, "--inputs", &classify]);
    assert_eq!(bench.code, 3, "{}", bench.err);
}
