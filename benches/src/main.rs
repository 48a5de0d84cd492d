//! sconce beside its peers, in one run: `cargo run --release` in this folder.
//!
//! Prints every figure that the project promises, as medians of interleaved runs, with the ratio to
//! the peer and the target. PyTorch takes part when a Python that has it is found: `$PYTHON`, or
//! `python3`. Arguments choose a part: `read`, `hostile`, `save`, `edit`, `convert`,
//! `jit`, `infer` (of which `$SCONCE_BENCH_MODELS`, a list with commas, chooses models).
//!
//! The files that are written have `$SCONCE_BENCH_MB` megabytes (1000) and lie in a folder of their
//! own in `$SCONCE_BENCH_DIR` (`target/bench-data`), removed afterwards. A folder in memory, such as
//! `/dev/shm`, measures the programs; one on a disk, mostly the disk.

mod hostile;
mod infer;
mod jit;
mod make;
mod peer;
mod process;
mod write;

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use make::Spec;

const RUNS: usize = 21;

fn main() {
    let args: Vec<String> = std::env::args().collect();
    match args.get(1).map(String::as_str) {
        Some("child-open") => return child_open(&args[2]),
        Some("child-hostile") => return child_hostile(&args[2]),
        Some("child-infer") => return infer::child(),
        Some("child-run") => return process::child_run(&args[2..]),
        _ => {}
    }
    let wanted = |part: &str| args.len() == 1 || args[1..].iter().any(|arg| arg == part);
    let folder = PathBuf::from(std::env::var_os("CARGO_TARGET_DIR").unwrap_or("target".into()))
        .join("bench-data");
    std::fs::create_dir_all(&folder).expect("a folder for the files that are measured");
    let python = python();
    if wanted("read") {
        println!("medians of {RUNS} interleaved runs, after one that is not counted\n");
        small(&folder, python.as_deref());
        large(&folder);
        sum(&folder);
    }
    if wanted("hostile") {
        bad();
    }
    if ["save", "edit", "convert"].into_iter().any(wanted) {
        write::run(&folder, python.as_deref(), wanted);
    }
    if wanted("jit") {
        jit::run(&folder, python.as_deref());
    }
    if wanted("infer") {
        infer::run(&folder, python.as_deref());
    }
    if python.is_none() {
        println!("\nno Python with torch was found: set PYTHON to have PyTorch beside it");
    }
}

/// A Python that can import torch.
fn python() -> Option<String> {
    let chosen = std::env::var("PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let found = Command::new(&chosen).args(["-c", "import torch"]).output().ok()?;
    found.status.success().then_some(chosen)
}

/// Medians of closures run in turn, so that a machine that slows down slows all of them.
fn medians<const N: usize>(mut cases: [&mut dyn FnMut(); N]) -> [Duration; N] {
    let mut times = vec![Vec::new(); N];
    for run in 0..=RUNS {
        for (case, times) in cases.iter_mut().zip(&mut times) {
            let start = Instant::now();
            case();
            if run > 0 {
                times.push(start.elapsed());
            }
        }
    }
    std::array::from_fn(|case| {
        times[case].sort();
        times[case][RUNS / 2]
    })
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn verdict(good: bool) -> &'static str {
    if good { "ok" } else { "MISSED" }
}

fn small(folder: &Path, python: Option<&str>) {
    let path = folder.join("small-5000.pt");
    let specs: Vec<Spec> =
        (0..5000).map(|i| Spec { name: format!("layers.{i}.weight"), shape: vec![4, 4] }).collect();
    make::checkpoint(&path, &specs, Some(1)).expect("writing the file");
    let [ours, reader, candle] = medians([
        &mut || {
            let checkpoint = sconce::load(&path).expect("opens");
            let tensors = checkpoint.tensors();
            assert_eq!(tensors.len(), 5000);
            black_box(tensors.iter().map(|named| named.name.len()).sum::<usize>());
        },
        &mut || {
            let reader = pytorch_reader::PytorchReader::new(&path).expect("opens");
            assert_eq!(reader.tensors().len(), 5000);
            black_box(reader.tensors().values().map(|tensor| tensor.name.len()).sum::<usize>());
        },
        &mut || {
            let infos =
                candle_core::pickle::read_pth_tensor_info(&path, false, None).expect("opens");
            assert_eq!(infos.len(), 5000);
            black_box(infos.len());
        },
    ]);
    println!("open + list 5,000 small tensors");
    println!("  sconce         {:8.2} ms", ms(ours));
    let ratio = |peer: Duration| ms(ours) / ms(peer);
    println!(
        "  pytorch-reader {:8.2} ms   ratio {:.3}, target 0.200 {}",
        ms(reader),
        ratio(reader),
        verdict(ratio(reader) <= 0.2)
    );
    println!("  candle-core    {:8.2} ms   ratio {:.3}", ms(candle), ratio(candle));
    if let Some(torch) = python.and_then(|python| torch_load(python, &path)) {
        println!(
            "  torch.load     {:8.2} ms   ratio {:.4}, target 0.0250 {}",
            ms(torch),
            ratio(torch),
            verdict(ratio(torch) <= 0.025)
        );
    }
}

/// The median time of torch.load on a file, measured inside Python.
fn torch_load(python: &str, path: &Path) -> Option<Duration> {
    let script = format!(
        "import sys, time, torch\n\
         times = []\n\
         for _ in range({RUNS} + 1):\n    \
             start = time.perf_counter(); torch.load(sys.argv[1]); \
             times.append(time.perf_counter() - start)\n\
         print(sorted(times[1:])[{RUNS} // 2])"
    );
    let output = Command::new(python).args(["-c", &script]).arg(path).output().ok()?;
    let seconds: f64 = String::from_utf8(output.stdout).ok()?.trim().parse().ok()?;
    Some(Duration::from_secs_f64(seconds))
}

fn large(folder: &Path) {
    // The tensors of a model of 32 layers, 291 in all, 16 GB of holes.
    let path = folder.join("large-16g.pt");
    let layers = 32;
    let mut specs = vec![Spec { name: "embed.weight".into(), shape: vec![32_000, 4096] }];
    for layer in 0..layers {
        for at in 0..9 {
            let shape = if at < 7 { vec![4096, 4096] } else { vec![4096] };
            specs.push(Spec { name: format!("layers.{layer}.{at}.weight"), shape });
        }
    }
    specs.push(Spec { name: "norm.weight".into(), shape: vec![4096] });
    specs.push(Spec { name: "head.weight".into(), shape: vec![32_000, 4096] });
    assert_eq!(specs.len(), 291);
    make::checkpoint(&path, &specs, None).expect("writing a sparse file");
    let mut times = Vec::new();
    let mut peak = 0;
    for _ in 0..RUNS {
        let (time, resident) = child("child-open", &path.to_string_lossy());
        times.push(time);
        peak = peak.max(resident);
    }
    times.sort_by(f64::total_cmp);
    let size = std::fs::metadata(&path).map_or(0, |data| data.len());
    println!(
        "\nopen a checkpoint of {:.1} GB (sparse), 291 tensors, in a fresh process",
        size as f64 / 1e9
    );
    let time = times[RUNS / 2];
    println!("  time           {time:8.2} ms   target 5 ms {}", verdict(time < 5.0));
    let resident = peak as f64 / 1024.0;
    println!("  peak resident  {resident:8.2} MB   target 20 MB {}", verdict(resident < 20.0));
    let _ = std::fs::remove_file(&path);
}

/// Runs this program for one measurement; gives milliseconds and peak kilobytes resident.
fn child(mode: &str, arg: &str) -> (f64, u64) {
    let me = std::env::current_exe().expect("the path of this program");
    let output = Command::new(me).args([mode, arg]).output().expect("starting a child");
    assert!(output.status.success(), "{mode} {arg}: {}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut numbers = text.split_whitespace().map(|word| word.parse::<f64>().expect("a number"));
    (numbers.next().expect("time"), numbers.next().expect("memory") as u64)
}

/// The most memory that this process ever had resident, in kilobytes.
fn peak_resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|word| word.parse().ok()).unwrap_or(0)
}

fn child_open(path: &str) {
    let start = Instant::now();
    let checkpoint = sconce::load(path).expect("opens");
    let tensors = checkpoint.tensors().len();
    let time = start.elapsed();
    assert_eq!(tensors, 291);
    println!("{} {}", ms(time), peak_resident());
}

fn child_hostile(name: &str) {
    let pickle = match name {
        "deep" => hostile::deep(),
        _ => hostile::pickles().into_iter().find(|(known, _)| *known == name).expect("known").1,
    };
    let start = Instant::now();
    let source = sconce::Source::from_vec("hostile", pickle);
    match sconce::Checkpoint::from_source(source) {
        Ok(checkpoint) => {
            black_box(checkpoint.tensors().len());
            black_box(checkpoint.root().repr(500));
        }
        Err(error) => {
            black_box(error.to_string());
        }
    }
    println!("{} {}", ms(start.elapsed()), peak_resident());
}

fn sum(folder: &Path) {
    let specs: Vec<Spec> =
        (0..200).map(|i| Spec { name: format!("t{i}"), shape: vec![262_144] }).collect();
    let (ours, theirs) = (folder.join("sum.pt"), folder.join("sum.safetensors"));
    make::checkpoint(&ours, &specs, Some(3)).expect("writing the file");
    make::safetensors(&theirs, &specs, 3).expect("writing the file");
    let add = |bytes: &[u8]| bytes.iter().map(|&byte| u64::from(byte)).sum::<u64>();
    let whole = 200 * 1024 * 1024 * 3u64;
    let [sconce, safetensors, reader] = medians([
        &mut || {
            let checkpoint = sconce::load(&ours).expect("opens");
            let tensors = checkpoint.tensors();
            let sums = tensors
                .iter()
                .map(|named| add(&named.tensor.contiguous_bytes().expect("readable")));
            assert_eq!(sums.sum::<u64>(), whole);
        },
        &mut || {
            let file = std::fs::File::open(&theirs).expect("opens");
            // SAFETY: nothing else touches the file while it is mapped.
            let map = unsafe { memmap2::Mmap::map(&file).expect("maps") };
            let tensors = safetensors::SafeTensors::deserialize(&map).expect("opens");
            let sums = tensors.iter().map(|(_, view)| add(view.data()));
            assert_eq!(sums.sum::<u64>(), whole);
        },
        &mut || {
            let reader = pytorch_reader::PytorchReader::new(&ours).expect("opens");
            let sums = reader.tensors().values().map(|t| add(&t.read().expect("readable")));
            assert_eq!(sums.sum::<u64>(), whole);
        },
    ]);
    println!("\nopen + sum every byte of 200 tensors of 1 MB");
    println!("  sconce         {:8.2} ms", ms(sconce));
    let ratio = ms(sconce) / ms(safetensors);
    // Two medians of the same work differ by a few per cent on a quiet machine.
    println!(
        "  safetensors    {:8.2} ms   ratio {ratio:.3}, target 1.00 (±5 %) {}",
        ms(safetensors),
        verdict(ratio <= 1.05)
    );
    println!("  pytorch-reader {:8.2} ms   ratio {:.3}", ms(reader), ms(sconce) / ms(reader));
    for path in [ours, theirs] {
        let _ = std::fs::remove_file(path);
    }
}

fn bad() {
    println!("\nhostile pickles of about 1 KB, each in a fresh process (targets 50 ms, 64 MB)");
    for (name, pickle) in hostile::pickles() {
        let (time, resident) = child("child-hostile", name);
        let megabytes = resident as f64 / 1024.0;
        println!(
            "  {name:26} {:5} bytes {time:8.2} ms {megabytes:7.1} MB {}",
            pickle.len(),
            verdict(time < 50.0 && megabytes < 64.0)
        );
    }
    let (time, resident) = child("child-hostile", "deep");
    let megabytes = resident as f64 / 1024.0;
    println!("  1,000,000 nested tuples, 1 MB         {time:8.2} ms {megabytes:7.1} MB");
}
