//! Calls recorded programs with arguments that nobody would pass, and says which of them panic, take
//! too long or take too much memory. What they give or raise is not looked at: for that,
//! `conformance/operators/changed.py` asks PyTorch.
//!
//!     cargo run --profile optimized -p sconce-runtime --example mutants -- FOLDER [PATTERN] [--calls N] [--seed S]
//!
//! FOLDER holds cases as `conformance/operators/changed.py` and its like record them. Of each recorded call N
//! others are made (20). Each case runs in a process of its own; exits with failure when one of them does.
#![allow(clippy::print_stdout, reason = "a tool for developers")]

use std::error::Error as StdError;
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use sconce_checkpoint::Checkpoint;
use sconce_kernels::{DType, Scalar};
use sconce_runtime::{IValue, Limits, Options, Session, Tensor, arguments};

/// What a call may take.
const LONGEST: Duration = Duration::from_secs(20);
const TENSORS: usize = 64 << 20;
const RESIDENT: usize = 1 << 30;
/// Bytes of a tensor whose elements are changed.
const LARGEST_WRITTEN: usize = 16 << 20;

fn main() -> Result<ExitCode, Box<dyn StdError>> {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let mut option = |name: &str, usual: u64| -> Result<u64, Box<dyn StdError>> {
        let Some(at) = arguments.iter().position(|argument| argument == name) else {
            return Ok(usual);
        };
        let value = arguments.drain(at..(at + 2).min(arguments.len())).nth(1);
        Ok(value.ok_or(format!("{name} takes a number"))?.parse()?)
    };
    let (calls, seed) = (option("--calls", 20)?, option("--seed", 0)?);
    match arguments.as_slice() {
        [flag, case] if flag == "--one" => one(Path::new(case), calls, seed),
        [folder] => all(folder, "", calls, seed),
        [folder, pattern] => all(folder, pattern, calls, seed),
        _ => Err("mutants FOLDER [PATTERN] [--calls N] [--seed S]".into()),
    }
}

/// Every case of a folder, each in a process of its own.
fn all(folder: &str, pattern: &str, calls: u64, seed: u64) -> Result<ExitCode, Box<dyn StdError>> {
    let mut cases: Vec<PathBuf> = std::fs::read_dir(folder)?
        .map(|entry| Ok(entry?.path()))
        .collect::<std::io::Result<_>>()?;
    cases.retain(|case| {
        let name = case.file_name().unwrap_or_default().to_string_lossy();
        name.contains(pattern) && case.join("calls.pt").exists()
    });
    cases.sort();
    let mut failed = 0;
    for case in &cases {
        let mut child = Command::new(std::env::current_exe()?);
        child.arg("--one").arg(case);
        child.args(["--calls", &calls.to_string(), "--seed", &seed.to_string()]);
        let output = child.output()?;
        if !output.status.success() {
            failed += 1;
            let name = case.file_name().unwrap_or_default().to_string_lossy();
            let said = String::from_utf8_lossy(&output.stdout);
            println!("FAILED  {name}: {} {said}", output.status);
        }
    }
    println!("{} passed, {failed} failed", cases.len() - failed);
    Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The call that runs, for who watches the clock.
static NOW: Mutex<Option<(Instant, String)>> = Mutex::new(None);

/// The calls of one case.
fn one(case: &Path, calls: u64, seed: u64) -> Result<ExitCode, Box<dyn StdError>> {
    static PANIC: Mutex<String> = Mutex::new(String::new());
    std::panic::set_hook(Box::new(|what| {
        *PANIC.lock().unwrap_or_else(PoisonError::into_inner) = what.to_string();
    }));
    std::thread::spawn(watch);
    let module = sconce_torchscript::load(case.join("model.pt"))?;
    let recorded = Checkpoint::open(case.join("calls.pt"))?;
    let mut dice = Dice::new(seed);
    let mut failed = false;
    for call in recorded.root().iter() {
        let Some(Ok(given)) = call.get("arguments").map(arguments) else { continue };
        for _ in 0..calls {
            let mut args: Vec<IValue> = given.iter().map(copy).collect();
            for _ in 0..=dice.below(3) {
                let at = dice.below(args.len().max(1));
                let others = args.clone();
                if let Some(arg) = args.get_mut(at) {
                    *arg = dice.change(arg, &others);
                }
            }
            let shown: Vec<String> = args.iter().map(shown).collect();
            let shown = shown.join(", ");
            let set = |now| *NOW.lock().unwrap_or_else(PoisonError::into_inner) = now;
            set(Some((Instant::now(), shown.clone())));
            let before = resident();
            let ran = std::panic::catch_unwind(AssertUnwindSafe(|| {
                let limits = Limits { elements: 1 << 20, steps: 1 << 20, ..Limits::default() };
                let options = Options { limits, memory: Some(TENSORS), ..Options::default() };
                Session::new(&module, options)
                    .and_then(|mut session| session.call("forward", &args))
            }));
            set(None);
            if ran.is_err() {
                failed = true;
                let why = PANIC.lock().unwrap_or_else(PoisonError::into_inner);
                println!("panicked: {}\n    ({shown})", why.replace('\n', " "));
            }
            if resident() > before.max(RESIDENT) {
                failed = true;
                println!("took {} MB\n    ({shown})", resident() >> 20);
            }
        }
    }
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Ends the process when a call takes too long.
fn watch() {
    loop {
        std::thread::sleep(LONGEST / 10);
        let now = NOW.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((start, call)) = &*now
            && start.elapsed() > LONGEST
        {
            println!("takes too long\n    ({call})");
            #[allow(clippy::exit, reason = "a call that is busy cannot be stopped otherwise")]
            std::process::exit(3);
        }
    }
}

/// The most that the process has held, in bytes; nothing where the system does not say.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<usize>().ok());
    kilobytes.unwrap_or(0) << 10
}

/// The same value in memory of its own: calls may change what they are given.
fn copy(value: &IValue) -> IValue {
    match value {
        IValue::Tensor(tensor) => IValue::Tensor(tensor.copy().unwrap_or_else(|_| tensor.clone())),
        IValue::List(list) => {
            let list = list.read();
            IValue::list(list.element.clone(), list.items.iter().map(copy).collect())
        }
        IValue::Tuple(tuple) => IValue::tuple(tuple.items.iter().map(copy).collect()),
        other => other.clone(),
    }
}

/// What an argument is, in few words.
fn shown(value: &IValue) -> String {
    match value {
        IValue::Tensor(tensor) => {
            let strides = tensor.strides();
            format!("{}{:?} by {strides:?}", tensor.dtype(), tensor.sizes())
        }
        IValue::List(list) => {
            let items: Vec<String> = list.read().items.iter().map(shown).collect();
            format!("[{}]", items.join(", "))
        }
        other => format!("{other:?}"),
    }
}

const INTS: [i64; 22] = [
    0,
    1,
    -1,
    2,
    -2,
    3,
    4,
    5,
    7,
    16,
    -100,
    100,
    1000,
    65_536,
    1 << 31,
    -(1 << 31) - 1,
    1 << 40,
    1 << 61,
    1 << 62,
    i64::MAX,
    i64::MIN,
    i64::MIN + 1,
];
const FLOATS: [f64; 16] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    2.0,
    -3.5,
    1e-30,
    1e30,
    1e300,
    -1e300,
    5e-324,
    9.3e18,
    f64::NAN,
    f64::INFINITY,
    f64::NEG_INFINITY,
];
const DTYPES: [DType; 12] = [
    DType::Float32,
    DType::Float64,
    DType::Float16,
    DType::BFloat16,
    DType::Int64,
    DType::Int32,
    DType::Int16,
    DType::Int8,
    DType::UInt8,
    DType::Bool,
    DType::Complex64,
    DType::Complex128,
];
const WORDS: [&str; 18] = [
    "",
    "none",
    "mean",
    "sum",
    "constant",
    "reflect",
    "replicate",
    "circular",
    "floor",
    "trunc",
    "ij",
    "nearest",
    "ortho",
    "forward",
    "valid",
    "same",
    "ij,jk->ik",
    "\u{1f525}%s{}",
];

/// Random numbers, and what they change.
struct Dice(u64);

impl Dice {
    fn new(seed: u64) -> Dice {
        Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, end: usize) -> usize {
        ((self.next() >> 33) % end.max(1) as u64) as usize
    }

    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }

    /// Another value in the place of one; `others` are those beside it.
    fn change(&mut self, value: &IValue, others: &[IValue]) -> IValue {
        if self.below(12) == 0 {
            return match value {
                IValue::None => IValue::Int(self.of(&INTS)),
                _ => IValue::None,
            };
        }
        match value {
            IValue::Int(_) => IValue::Int(self.of(&INTS)),
            IValue::Float(_) => IValue::Float(self.of(&FLOATS)),
            IValue::Complex(..) => IValue::Complex(self.of(&FLOATS), self.of(&FLOATS)),
            IValue::Bool(value) => IValue::Bool(!value),
            IValue::Str(_) => IValue::str(self.of(&WORDS)),
            IValue::None => match self.below(4) {
                0 => IValue::Int(self.of(&INTS)),
                1 => IValue::Float(self.of(&FLOATS)),
                2 => IValue::Bool(true),
                _ => IValue::None,
            },
            IValue::List(list) => {
                let list = list.read();
                let mut items = list.items.clone();
                let at = self.below(items.len());
                match self.below(4) {
                    0 => items.truncate(at),
                    1 if !items.is_empty() => items.insert(at, items[at].clone()),
                    _ if !items.is_empty() => items[at] = self.change(&items[at].clone(), others),
                    _ => {}
                }
                IValue::list(list.element.clone(), items)
            }
            IValue::Tensor(tensor) => {
                let other = others.iter().filter_map(IValue::as_tensor).nth(self.below(3));
                let changed = self.change_tensor(tensor, other);
                IValue::Tensor(changed.unwrap_or_else(|_| tensor.clone()))
            }
            other => other.clone(),
        }
    }

    fn change_tensor(
        &mut self,
        tensor: &Tensor,
        other: Option<&Tensor>,
    ) -> sconce_kernels::Result<Tensor> {
        let dims = tensor.dim() as i64;
        let dim = self.below(tensor.dim()) as i64;
        match self.below(14) {
            0 => tensor.to_dtype(self.of(&DTYPES)),
            1 => tensor.unsqueeze(self.below(tensor.dim() + 1) as i64),
            2 if dims > 0 => {
                let size = tensor.size(dim)?;
                tensor.narrow(dim, 0, self.below(size as usize + 1) as i64)
            }
            3 if dims > 0 && tensor.size(dim)? > 0 => tensor.select(dim, 0),
            4 if dims > 1 => tensor.transpose(dim, self.below(tensor.dim()) as i64),
            5 => {
                let mut sizes = tensor.sizes().to_vec();
                sizes.insert(0, self.of(&[0, 1, 2, 1000]));
                tensor.expand(&sizes)
            }
            6 if dims > 0 && tensor.size(dim)? > 0 => {
                // Enormous, and nothing in memory.
                let mut sizes = tensor.sizes().to_vec();
                sizes[dim as usize] = self.of(&[1 << 12, 1 << 40, i64::MAX]);
                tensor.narrow(dim, 0, 1)?.expand(&sizes)
            }
            7 if dims > 0 => tensor.slice(dim, None, None, 2),
            8 => {
                let sizes: Vec<i64> =
                    (0..self.below(6)).map(|_| self.of(&[0, 1, 2, 3, 5])).collect();
                let value = self.value(tensor.dtype());
                Tensor::full(&sizes, value, tensor.dtype())
            }
            9 => tensor.reshape(&[-1]),
            11 => Tensor::full(&[], self.value(tensor.dtype()), tensor.dtype()),
            10 if other.is_some() => Ok(other.unwrap_or(tensor).clone()),
            // Its elements are to be written, each to memory of its own.
            _ if tensor.extent() <= LARGEST_WRITTEN => {
                let value = self.value(tensor.dtype());
                let changed = tensor.copy()?;
                let flat = changed.reshape(&[-1])?;
                let end = flat.numel();
                let from = self.below(end as usize + 1) as i64;
                flat.narrow(
                    0,
                    from,
                    if self.below(2) == 0 { (end - from).min(1) } else { end - from },
                )?
                .fill(value)?;
                Ok(changed)
            }
            _ => Ok(tensor.clone()),
        }
    }

    /// A number that a dtype may hold.
    fn value(&mut self, dtype: DType) -> Scalar {
        if dtype.is_floating_point() || dtype.is_complex() {
            Scalar::Float(self.of(&FLOATS))
        } else {
            Scalar::Int(self.of(&INTS))
        }
    }
}
