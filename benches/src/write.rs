//! What is written: saving, editing and converting a large checkpoint.
//!
//! Edited and converted files are on the disk when they get their names (`fsync`). PyTorch, safetensors
//! and `cp` leave that to the system, and so does saving a new file; each is measured with an `fsync`
//! after it, and where sconce can do without one, also without. The target for saving is about what
//! `torch.save` does, without one: with it, both wait for the disk.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use sconce::checkpoint::{Draft, SaveOptions, StateDict};
use sconce::tensor::{DType, Device, Storage, Tensor};

use crate::make::{self, Spec};
use crate::peer::Peer;
use crate::process::{self, Cost};
use crate::{ms, verdict};

const RUNS: usize = 7;

pub fn run(folder: &Path, python: Option<&str>, wanted: impl Fn(&str) -> bool) {
    let folder = std::env::var_os("SCONCE_BENCH_DIR").map_or(folder.to_owned(), PathBuf::from);
    let folder = tempfile::tempdir_in(folder).expect("a folder for what is written");
    let megabytes = std::env::var("SCONCE_BENCH_MB").ok().and_then(|text| text.parse().ok());
    let total = megabytes.unwrap_or(1000) * 1_000_000;
    println!("\nmedians of {RUNS} interleaved runs, each after one that is not counted");
    if wanted("save") {
        save(folder.path(), python, total, 200);
        save(folder.path(), python, total, 5000);
    }
    if wanted("edit") || wanted("convert") {
        let path = folder.path().join("large.pt");
        let specs: Vec<Spec> = (0..200)
            .map(|at| Spec { name: format!("layers.{at}.weight"), shape: vec![total / 200 / 4] })
            .collect();
        make::checkpoint(&path, &specs, Some(7)).expect("writing the file");
        let sconce = process::sconce();
        if wanted("edit") {
            edit(folder.path(), &path, &sconce);
        }
        if wanted("convert") {
            convert(folder.path(), &path, &sconce, python);
        }
    }
}

/// A case: does its work once and says how long that took.
type Case<'c> = Box<dyn FnMut() -> Duration + 'c>;

/// Medians of cases run in turn. In its turn a case does its work twice, and the second time counts:
/// a file's page cache is that of the file removed before it, and where the two are unlike, a virtual
/// machine may have to ask its host for memory.
fn medians(mut cases: Vec<(&'static str, Case<'_>)>) -> Vec<(&'static str, Duration)> {
    let mut times = vec![Vec::new(); cases.len()];
    for _ in 0..RUNS {
        for ((_, case), times) in cases.iter_mut().zip(&mut times) {
            case();
            times.push(case());
        }
    }
    let middle = |mut times: Vec<Duration>| {
        times.sort();
        times[RUNS / 2]
    };
    cases.iter().zip(times).map(|((name, _), times)| (*name, middle(times))).collect()
}

/// Times `write` to a file that is not there before and is removed after.
fn fresh(path: &Path, write: impl FnOnce(&Path)) -> Duration {
    let _ = fs::remove_file(path);
    let start = Instant::now();
    write(path);
    let time = start.elapsed();
    fs::remove_file(path).expect("it was written");
    time
}

/// A line for each case; the first is what the others are compared with. A limit is the most that
/// the first may take of the other's time.
fn table(rows: &[(&'static str, Duration)], total: u64, limits: &[(&str, f64)]) {
    let first = rows[0].1;
    for (name, time) in rows {
        let speed = total as f64 / 1e6 / time.as_secs_f64();
        print!("  {name:36} {:8.0} ms {speed:7.0} MB/s", ms(*time));
        if *time != first {
            print!("   ratio {:.3}", ms(first) / ms(*time));
        }
        if let Some((_, limit)) = limits.iter().find(|(limited, _)| limited == name) {
            print!(", target {limit:.2} {}", verdict(ms(first) <= limit * ms(*time)));
        }
        println!();
    }
}

fn save(folder: &Path, python: Option<&str>, total: u64, count: u64) {
    let each = total / count / 4 * 4;
    let mut state = StateDict::new();
    let mut data = Vec::with_capacity(count as usize);
    for at in 0..count {
        let bytes = (at as f32).to_le_bytes().repeat(each as usize / 4);
        let storage = Storage::from_bytes(bytes.clone().into(), Device::CPU);
        let sizes = [each as i64 / 4];
        let tensor = Tensor::contiguous(storage, DType::Float32, &sizes).expect("it fits");
        state.insert(format!("layers.{at}.weight"), tensor);
        data.push(bytes);
    }
    let state: Draft = state.finish();
    let mut peer = python.map(Peer::start);
    if let Some(peer) = &mut peer {
        peer.order(&["make", &count.to_string(), &each.to_string()]);
    }
    for fsync in [true, false] {
        let how = if fsync { "with fsync" } else { "without fsync" };
        println!("\nsave {} MB, {count} tensors of {} KB, {how}", total / 1_000_000, each / 1000);
        let path = |name: &str| folder.join(name);
        let ours = path("sconce.pt");
        let plain = path("plain");
        let theirs = path("torch.pt");
        let mut cases: Vec<(&'static str, Case<'_>)> = vec![
            (
                "sconce",
                Box::new(|| {
                    fresh(&ours, |path| {
                        SaveOptions::new().save(state.root(), path).expect("saves");
                        if fsync {
                            File::open(path).and_then(|file| file.sync_all()).expect("syncs");
                        }
                    })
                }),
            ),
            (
                "plain write + CRC pass",
                Box::new(|| {
                    fresh(&plain, |path| {
                        let mut file = File::create(path).expect("opens");
                        for bytes in &data {
                            std::hint::black_box(crc32fast::hash(bytes));
                            file.write_all(bytes).expect("writes");
                        }
                        if fsync {
                            file.sync_all().expect("syncs");
                        }
                    })
                }),
            ),
        ];
        if let Some(peer) = &mut peer {
            let theirs = &theirs;
            cases.push((
                "torch.save",
                Box::new(move || {
                    let how = if fsync { "fsync" } else { "" };
                    let time = peer.order(&["save", &theirs.to_string_lossy(), how]);
                    fs::remove_file(theirs).expect("it was written");
                    time
                }),
            ));
        }
        let rows = medians(cases);
        let mut limits = vec![("plain write + CRC pass", 1.25)];
        if !fsync {
            limits.push(("torch.save", 0.5));
        }
        table(&rows, total, &limits);
    }
}

fn edit(folder: &Path, input: &Path, sconce: &Path) {
    let (edited, copied) = (folder.join("edited.pt"), folder.join("copied.pt"));
    let args: [OsString; 6] = [
        "edit".into(),
        input.into(),
        edited.clone().into(),
        "--rename".into(),
        "s/^layers/model.layers/".into(),
        "--quiet".into(),
    ];
    let mut peak = 0;
    let rows = medians(vec![
        (
            "sconce edit --rename",
            Box::new(|| {
                let cost = process::measure(sconce.as_os_str(), &args);
                peak = peak.max(cost.peak);
                fs::remove_file(&edited).expect("it was written");
                cost.time
            }),
        ),
        (
            "copy + fsync",
            Box::new(|| {
                fresh(&copied, |path| {
                    fs::copy(input, path).expect("copies");
                    File::open(path).and_then(|file| file.sync_all()).expect("syncs");
                })
            }),
        ),
    ]);
    let total = fs::metadata(input).map_or(0, |data| data.len());
    println!("\nrename every key of a checkpoint of {} MB, whole processes", total / 1_000_000);
    table(&rows, total, &[("copy + fsync", 1.2)]);
    let peak = peak as f64 / 1024.0;
    println!("  peak resident  {peak:.1} MB   target 64 MB {}", verdict(peak < 64.0));
}

fn convert(folder: &Path, input: &Path, sconce: &Path, python: Option<&str>) {
    let total = fs::metadata(input).map_or(0, |data| data.len());
    let (ours, theirs) = (folder.join("ours.safetensors"), folder.join("theirs.safetensors"));
    let target = [("torch.load + save_file", 1.0), ("torch.load + save_file, then fsync", 1.0)];
    let mut peaks = [0, 0];
    let [our_peak, their_peak] = &mut peaks;
    let args: [OsString; 4] =
        ["convert".into(), input.into(), ours.clone().into(), "--quiet".into()];
    let mut cases: Vec<(&'static str, Case<'_>)> = vec![(
        "sconce convert (fsync)",
        Box::new(|| {
            let Cost { time, peak } = process::measure(sconce.as_os_str(), &args);
            *our_peak = peak.max(*our_peak);
            fs::remove_file(&ours).expect("it was written");
            time
        }),
    )];
    if let Some(python) = python {
        let (ours, theirs) = (input, theirs.clone());
        let script = "import sys, torch; from safetensors.torch import save_file; \
                      save_file(torch.load(sys.argv[1]), sys.argv[2])";
        cases.push((
            "torch.load + save_file",
            Box::new(move || {
                let args = ["-c".as_ref(), script.as_ref(), ours.as_os_str(), theirs.as_os_str()];
                let Cost { time, peak } = process::measure(python.as_ref(), args);
                *their_peak = peak.max(*their_peak);
                fs::remove_file(&theirs).expect("it was written");
                time
            }),
        ));
    }
    let rows = medians(cases);
    println!("\nconvert a checkpoint of {} MB to safetensors, whole processes", total / 1_000_000);
    table(&rows, total, &target);
    let [our_peak, their_peak] = peaks.map(|peak| peak as f64 / 1024.0);
    println!("  peak resident  sconce {our_peak:.1} MB, Python {their_peak:.1} MB");

    let in_process = |fsync: bool| {
        fresh(&ours, |path| {
            let checkpoint = sconce::load(input).expect("opens");
            let tensors: Vec<(String, Tensor)> = checkpoint
                .tensors()
                .into_iter()
                .map(|named| (named.name, named.tensor.clone()))
                .collect();
            let mut file = File::create(path).expect("opens");
            let metadata = Default::default();
            sconce::export::write_safetensors(&tensors, &metadata, &mut file, &mut |_| {})
                .expect("writes");
            if fsync {
                file.sync_all().expect("syncs");
            }
        })
    };
    for fsync in [true, false] {
        let (name, how) = match fsync {
            true => ("torch.load + save_file, then fsync", "fsync"),
            false => ("torch.load + save_file", ""),
        };
        let mut cases: Vec<(&'static str, Case<'_>)> =
            vec![("sconce", Box::new(|| in_process(fsync)))];
        if let Some(python) = python {
            let (mut peer, theirs) = (Peer::start(python), &theirs);
            cases.push((
                name,
                Box::new(move || {
                    let (input, output) = (input.to_string_lossy(), theirs.to_string_lossy());
                    let time = peer.order(&["convert", &input, &output, how]);
                    fs::remove_file(theirs).expect("it was written");
                    time
                }),
            ));
        }
        let rows = medians(cases);
        let how = if fsync { "with fsync" } else { "without fsync" };
        println!("\nconvert the same in a process that is there already, {how}");
        table(&rows, total, &target);
    }
}
