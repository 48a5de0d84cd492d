//! TorchScript archives: loading one, and compiling all the code in it.
//!
//! `torch.jit.load` compiles every method and reads every tensor; sconce leaves both until they are
//! asked for, so it is measured twice: as it is, and with every method compiled.

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use nix::time::{ClockId, clock_gettime};
use sconce_torchscript::{Module, load};

use crate::peer::Peer;
use crate::{ms, verdict};

const RUNS: usize = 11;

/// The script that makes the models.
const SCRIPT: &str = include_str!("jit_models.py");

/// Those that are compared with PyTorch.
const COMPARED: [&str; 2] = ["resnet50", "many_classes"];

pub fn run(folder: &Path, python: Option<&str>) {
    let Some(python) = python else { return };
    let folder = folder.join("jit");
    let made = Command::new(python).args(["-c", SCRIPT]).arg(&folder).status();
    if !made.is_ok_and(|status| status.success()) {
        println!("\njit: the models could not be made (they need torchvision)");
        return;
    }
    println!("\nmedians of {RUNS} interleaved runs, after one that is not counted");
    for name in COMPARED {
        beside_torch(name, &folder.join(format!("{name}.pt")), python);
    }
    compile(&folder);
}

/// Every method and function of an archive.
fn compile_all(module: &Module) {
    module.with_program(|program| program.compile_all()).expect("compiles");
}

fn beside_torch(name: &str, path: &Path, python: &str) {
    let mut peer = Peer::start(python);
    let text = path.to_string_lossy();
    let mut times: [Vec<Duration>; 3] = Default::default();
    for run in 0..=RUNS {
        // What was loaded is dropped outside the time, here and in Python.
        let start = Instant::now();
        let module = load(path).expect("opens");
        let loaded = start.elapsed();
        compile_all(&module);
        let compiled = start.elapsed();
        drop(module);
        let theirs = peer.order(&["jit_load", &text]);
        if run > 0 {
            for (times, time) in times.iter_mut().zip([loaded, compiled, theirs]) {
                times.push(time);
            }
        }
    }
    let [lazy, whole, torch] = times.map(|mut times| {
        times.sort();
        ms(times[RUNS / 2])
    });
    println!("\nload {name}, both in a process that has done so before");
    println!("  torch.jit.load              {torch:8.2} ms");
    for (what, time) in
        [("sconce, as far as asked for", lazy), ("sconce, all code compiled  ", whole)]
    {
        let ratio = time / torch;
        println!(
            "  {what} {time:8.2} ms   ratio {ratio:.4}, target 0.2000 {}",
            verdict(ratio <= 0.2)
        );
    }
}

/// The time that this thread had a processor: other work on the machine does not count.
fn thread_time() -> Duration {
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).expect("Linux has it").into()
}

/// The code files of an archive, in bytes.
fn code_bytes(path: &Path) -> usize {
    let files = load(path).and_then(|module| module.code_files()).expect("opens");
    files.iter().map(|(_, text)| text.len()).sum()
}

fn compile(folder: &Path) {
    let files = std::fs::read_dir(folder).expect("it was made").flatten().map(|entry| entry.path());
    let models: Vec<PathBuf> =
        files.filter(|path| path.extension().is_some_and(|end| end == "pt")).collect();
    let bytes: usize = models.iter().map(|path| code_bytes(path)).sum();
    let mut times: [Vec<Duration>; 2] = Default::default();
    for run in 0..=RUNS {
        let (mut loading, mut compiling) = (Duration::ZERO, Duration::ZERO);
        for path in &models {
            let start = thread_time();
            let module = load(path).expect("opens");
            let loaded = thread_time();
            compile_all(&module);
            compiling += thread_time() - loaded;
            loading += loaded - start;
            black_box(module);
        }
        if run > 0 {
            times[0].push(compiling);
            times[1].push(loading + compiling);
        }
    }
    let count = models.len();
    println!(
        "\ncompile all code of {count} models, {:.2} MB, time of one thread",
        bytes as f64 / 1e6
    );
    for (what, mut times) in ["methods alone", "with loading"].into_iter().zip(times) {
        times.sort();
        let speed = bytes as f64 / 1e6 / times[RUNS / 2].as_secs_f64();
        let time = ms(times[RUNS / 2]);
        println!(
            "  {what} {time:8.2} ms {speed:6.2} MB/s, target 5 MB/s {}",
            verdict(speed >= 5.0)
        );
    }
}
