//! Runs the calls that `conformance/torchscript/generate.py` and `conformance/operators/generate.py`
//! recorded, and says how many give what PyTorch gave.
//!
//!     cargo run --profile optimized -p sconce-runtime --example calls -- FOLDER [PATTERN] [--table FILE]
//!
//! The table has a line for each group of cases (`NAME.DTYPE` of `NAME.DTYPE.INDEX`). Exits with
//! failure when a call gives something else.
#![allow(clippy::print_stdout, reason = "a tool for developers")]

use std::collections::BTreeMap;
use std::error::Error as StdError;
use std::fmt::Write as _;
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};

use sconce_checkpoint::{Checkpoint, Node, Object};
use sconce_kernels::{self as kernels, DType, Sparse, SparseParts};
use sconce_runtime::{Error, IValue, Options, Session, Tensor, arguments, from_object};

fn main() -> Result<ExitCode, Box<dyn StdError>> {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let table = arguments.iter().position(|argument| argument == "--table");
    let table = table.map(|at| arguments.drain(at..).nth(1).ok_or("--table FILE")).transpose()?;
    let Some(folder) = arguments.first() else { return Err("calls FOLDER [PATTERN]".into()) };
    let pattern = arguments.get(1).map_or("", String::as_str);
    let mut folders: Vec<PathBuf> = std::fs::read_dir(folder)?
        .map(|entry| Ok(entry?.path()))
        .collect::<std::io::Result<_>>()?;
    folders.sort();
    // A panic is a wrong answer like others; the cases after it still run.
    static PANIC: Mutex<String> = Mutex::new(String::new());
    std::panic::set_hook(Box::new(|what| {
        *PANIC.lock().unwrap_or_else(PoisonError::into_inner) = what.to_string();
    }));
    let mut groups: BTreeMap<String, [usize; 3]> = BTreeMap::new();
    let mut signs = 0;
    for folder in folders {
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if !name.contains(pattern) || !folder.join("calls.pt").exists() {
            continue;
        }
        let calls = Checkpoint::open(folder.join("calls.pt"))?;
        let group = name.rsplit_once('.').map_or(&*name, |(group, _)| group);
        let counts = groups.entry(group.to_owned()).or_default();
        for (index, call) in calls.root().iter().enumerate() {
            let checked = std::panic::catch_unwind(AssertUnwindSafe(|| check(&folder, call)));
            let panicked =
                |_| Verdict::Wrong(PANIC.lock().map_or_else(|_| String::new(), |p| p.clone()));
            match checked.unwrap_or_else(panicked) {
                Verdict::Equal => counts[0] += 1,
                Verdict::EqualButForSigns => {
                    counts[0] += 1;
                    signs += 1;
                }
                Verdict::Unsupported(why) => {
                    counts[1] += 1;
                    println!("not supported  {name}[{index}]: {}", first_line(&why));
                }
                Verdict::Wrong(why) => {
                    counts[2] += 1;
                    println!("WRONG          {name}[{index}]: {why}");
                }
            }
        }
    }
    let [equal, unsupported, wrong] = groups
        .values()
        .fold([0; 3], |sum, counts| std::array::from_fn(|index| sum[index] + counts[index]));
    if let Some(table) = table {
        let mut text = "cases\tequal\tnot supported\twrong\n".to_owned();
        for (name, [equal, unsupported, wrong]) in &groups {
            writeln!(text, "{name}\t{equal}\t{unsupported}\t{wrong}")?;
        }
        std::fs::write(table, text)?;
    }
    println!("{equal} equal, {unsupported} not supported, {wrong} wrong");
    if signs > 0 {
        println!("of the equal ones {signs} are factorisations with other signs of vectors");
    }
    Ok(if wrong == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

enum Verdict {
    Equal,
    /// Factors of the same matrix of which columns have other signs or phases, which no definition
    /// fixes.
    EqualButForSigns,
    Unsupported(String),
    Wrong(String),
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

fn check(folder: &Path, call: Object<'_>) -> Verdict {
    let args = match call.get("arguments").map(arguments) {
        Some(Ok(args)) => args,
        Some(Err(why)) => return Verdict::Unsupported(why.to_string()),
        None => return Verdict::Wrong("no arguments are recorded".to_owned()),
    };
    let case = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let compared = call.get("compare").and_then(Object::as_str).unwrap_or_default();
    // The recorders call `torch.manual_seed(0)` where they name no seed.
    let seed = match call.get("seed").map(|seed| seed.data()) {
        Some(Node::Int(seed)) => *seed as u64,
        _ => 0,
    };
    match (run(folder, &args, seed), call.get("result"), call.get("error").and_then(Object::as_str))
    {
        // Words count where the arguments are what somebody would pass, not for each way to be wrong.
        (Err(_), _, Some(_)) if compared.starts_with("outcome") => Verdict::Equal,
        // PyTorch may have no kernel for these dtypes either.
        (Err(Error::Unsupported { what, .. }), _, Some(expected))
            if expected.trim_end().ends_with(&format!("Error: {what}")) =>
        {
            Verdict::Equal
        }
        (Err(Error::Unsupported { what, .. }), _, Some(expected)) => {
            let raised = expected.trim_end().lines().last().unwrap_or_default();
            Verdict::Unsupported(format!("{what} (where PyTorch raises {raised:?})"))
        }
        (Err(Error::Unsupported { what, .. }), ..) => Verdict::Unsupported(what),
        (Ok(result), Some(expected), _) => match differs(&case, &result, expected, compared) {
            None => Verdict::Equal,
            Some(_) if factors_agree(folder, &args, &result, expected) => Verdict::EqualButForSigns,
            Some(why) => Verdict::Wrong(why),
        },
        (Err(error), _, Some(expected)) => {
            let said = match &error {
                // What torch.jit.load gives says this of a module without the method.
                Error::Archive(error) if error.message().starts_with("Method 'forward' is not") => {
                    "'RecursiveScriptModule' object has no attribute 'forward'".to_owned()
                }
                error => error.to_string(),
            };
            match begins(&said) == begins(expected) {
                true => Verdict::Equal,
                false => Verdict::Wrong(format!("raised\n{said}\nexpected\n{expected}")),
            }
        }
        (Ok(result), None, expected) => {
            Verdict::Wrong(format!("gave {result:?}, expected the error {expected:?}"))
        }
        // Of arguments that make little sense a clear refusal is no wrong result.
        (Err(error), _, None) if compared.starts_with("outcome") => {
            let said = error.to_string();
            let said = said.trim_end().lines().last().unwrap_or_default();
            Verdict::Unsupported(format!("refused where PyTorch gives a result: {said}"))
        }
        (Err(error), _, None) => Verdict::Wrong(format!("raised {error}")),
    }
}

/// What an error says but for what follows about Python objects, which there are none of here, and
/// about versions of tensors, which are not counted alike.
fn begins(said: &str) -> &str {
    ["\nCast error details: ", "\n Python error details: ", "]], which is output", "]]. Hint: "]
        .iter()
        .find_map(|words| said.split_once(words))
        .map_or(said, |(said, _)| said)
        .trim_end()
}

fn run(folder: &Path, args: &[IValue], seed: u64) -> Result<IValue, Error> {
    let module = sconce_torchscript::load(folder.join("model.pt"))?;
    let mut session = Session::new(&module, Options::default())?;
    session.manual_seed(seed);
    session.call("forward", args)
}

/// What differs between a result and what PyTorch gave, where `compared` names what is compared.
fn differs(case: &str, found: &IValue, expected: Object<'_>, compared: &str) -> Option<String> {
    if let Some(text) = expected.as_str()
        && text.starts_with('<')
        && text.ends_with('>')
        && !matches!(found, IValue::Str(_))
    {
        // A value of a class of its own, of which only the class is recorded.
        return None;
    }
    let expected = match from_object(expected) {
        Ok(expected) => expected,
        Err(why) => return Some(why.to_string()),
    };
    if let (true, IValue::Tensor(found), IValue::Tensor(expected)) =
        (compared.ends_with("shapes"), found, &expected)
        && (found.dtype(), found.sizes()) == (expected.dtype(), expected.sizes())
    {
        return None;
    }
    let alike = |found: &Tensor, expected: &Tensor| {
        same_within(found, expected, tolerance(found.dtype()).max(rounding(case)))
            && (!strides_count(case, compared) || same_strides(found, expected))
    };
    (!same(found, &expected, &alike)).then(|| {
        let first = first_difference(found, &expected).unwrap_or_default();
        format!("gave\n{found:?}\nexpected\n{expected:?}\n{first}")
    })
}

/// Where tensors of the same shape, or the first such tensors of two tuples or lists, differ.
fn first_difference(found: &IValue, expected: &IValue) -> Option<String> {
    if let (Some(found), Some(expected)) = (found.items(), expected.items()) {
        return found.iter().zip(&expected).find_map(|(a, b)| first_difference(a, b));
    }
    let (found, expected) = (found.as_tensor()?, expected.as_tensor()?);
    if found.sizes() != expected.sizes() || same_tensors(found, expected) {
        return None;
    }
    let pairs = numbers(found)?.into_iter().zip(numbers(expected)?);
    let tolerance = tolerance(found.dtype());
    let (at, (a, b)) = pairs.enumerate().find(|(_, (a, b))| {
        !(close(a.0, b.0, 2.0 * tolerance) && close(a.1, b.1, 2.0 * tolerance))
    })?;
    Some(format!("at {at}: {a:?}, expected {b:?}"))
}

/// Whether both are factorisations into singular vectors or eigenvectors of the same matrix: such
/// vectors are free in sign, or phase, and eigenvalues of general matrices in their order. Those of small
/// matrices are PyTorch's own, but where rounding decides, which differs between processors.
fn factors_agree(folder: &Path, args: &[IValue], found: &IValue, expected: Object<'_>) -> bool {
    let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let Some((operator, _)) = name.split_once('.') else { return false };
    let expected = from_object(expected);
    if let ("linalg_eigvals", IValue::Tensor(found), Ok(IValue::Tensor(expected))) =
        (operator, found, &expected)
    {
        return same_in_some_order(found, expected);
    }
    let Ok(IValue::Tuple(expected)) = expected else { return false };
    let IValue::Tuple(found) = found else { return false };
    let tensors = |items: &[IValue]| -> Option<Vec<Tensor>> {
        items
            .iter()
            .map(|item| if let IValue::Tensor(t) = item { Some(t.clone()) } else { None })
            .collect()
    };
    let (Some(found), Some(expected)) = (tensors(&found.items), tensors(&expected.items)) else {
        return false;
    };
    let shapes = |all: &[Tensor]| -> Vec<_> {
        all.iter().map(|t| (t.dtype(), t.sizes().to_vec())).collect()
    };
    let Some(IValue::Tensor(input)) = args.first() else { return false };
    shapes(&found) == shapes(&expected)
        && factors_match(operator, input, &found, &expected).unwrap_or(false)
}

/// Whether the rows of two tensors hold the same numbers.
fn same_in_some_order(found: &Tensor, expected: &Tensor) -> bool {
    if (found.dtype(), found.sizes()) != (expected.dtype(), expected.sizes()) {
        return false;
    }
    let width = found.sizes().last().map_or(1, |&size| size.max(1) as usize);
    let (Some(found), Some(mut expected)) = (numbers(found), numbers(expected)) else {
        return false;
    };
    let size = |z: (f64, f64)| z.0.hypot(z.1);
    let pairs = found.chunks(width).zip(expected.chunks_mut(width));
    pairs.fold(true, |same, (found, expected)| {
        // Each of them stands for one, and small ones differ by the rounding of the largest.
        let within = 1e-4 * expected.iter().map(|&z| size(z)).fold(0.0, f64::max);
        let mut left = expected.len();
        let all = found.iter().all(|z| {
            let near = expected[..left].iter().position(|e| size((z.0 - e.0, z.1 - e.1)) <= within);
            near.is_some_and(|at| {
                left -= 1;
                expected.swap(at, left);
                true
            })
        });
        same && all
    })
}

fn factors_match(
    operator: &str,
    input: &Tensor,
    found: &[Tensor],
    expected: &[Tensor],
) -> kernels::Result<bool> {
    let adjoint = |t: &Tensor| kernels::conj(&t.transpose(-2, -1)?);
    let scaled = |t: &Tensor, by: &Tensor| {
        let by = by.unsqueeze(-2)?;
        kernels::binary(kernels::BinaryOp::Mul, t.into(), (&by).into())
    };
    let orthonormal = |t: &Tensor| {
        let (n, product) = (t.size(-1)?, kernels::matmul(&adjoint(t)?, t)?);
        let identity = kernels::eye(n, n, t.dtype())?.expand(product.sizes())?;
        kernels::Result::Ok(same_tensors(&product, &identity))
    };
    match (operator, found, expected) {
        ("linalg_eigh" | "_linalg_eigh", [w, v], [w_expected, v_expected]) => {
            let product = |w, v| kernels::matmul(&scaled(v, w)?, &adjoint(v)?);
            let agree = same_tensors(&product(w, v)?, &product(w_expected, v_expected)?);
            Ok(same_tensors(w, w_expected) && agree && orthonormal(v)?)
        }
        ("linalg_eig", [w, v], [w_expected, _]) => {
            let left = kernels::matmul(&input.to_dtype(v.dtype())?, v)?;
            let traces = |w: &Tensor| {
                let powers = kernels::binary(kernels::BinaryOp::Mul, w.into(), w.into())?;
                Ok([
                    kernels::sum(w, &[-1], false, None)?,
                    kernels::sum(&powers, &[-1], false, None)?,
                ])
            };
            let sums: kernels::Result<[Tensor; 2]> = traces(w);
            let same_sums = sums?.iter().zip(&traces(w_expected)?).all(|(a, b)| same_tensors(a, b));
            Ok(same_tensors(&left, &scaled(v, w)?) && same_sums)
        }
        (
            "linalg_svd" | "svd" | "svd_lowrank" | "pca_lowrank" | "_linalg_svd",
            [u, s, v],
            [u_expected, s_expected, v_expected],
        ) => {
            let k = s.size(-1)?;
            // Some give V, others its conjugate transpose.
            let is_v = operator.starts_with("svd") || operator.ends_with("lowrank");
            let turned = |v: &Tensor| if is_v { Ok(v.clone()) } else { adjoint(v) };
            let product = |u: &Tensor, s: &Tensor, v: &Tensor| {
                let (left, right) = (u.narrow(-1, 0, k)?, v.narrow(-1, 0, k)?);
                kernels::matmul(&scaled(&left, s)?, &adjoint(&right)?)
            };
            let (v, v_expected) = (turned(v)?, turned(v_expected)?);
            let expected = product(u_expected, s_expected, &v_expected)?;
            let agree = same_tensors(&product(u, s, &v)?, &expected);
            Ok(agree && same_tensors(s, s_expected) && orthonormal(u)? && orthonormal(&v)?)
        }
        _ => Ok(false),
    }
}

/// Whether two values are equal, their tensors `alike`.
fn same(a: &IValue, b: &IValue, alike: &dyn Fn(&Tensor, &Tensor) -> bool) -> bool {
    let same = |a: &IValue, b: &IValue| same(a, b, alike);
    let all =
        |a: &[IValue], b: &[IValue]| a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b));
    match (a, b) {
        (IValue::Float(a), IValue::Float(b)) => close(*a, *b, 1e-14),
        (IValue::Complex(a, b), IValue::Complex(c, d)) => {
            close(*a, *c, 1e-14) && close(*b, *d, 1e-14)
        }
        (IValue::List(a), IValue::List(b)) => all(&a.read().items, &b.read().items),
        (IValue::Tuple(a), IValue::Tuple(b)) => all(&a.items, &b.items),
        (IValue::Dict(a), IValue::Dict(b)) => {
            let (a, b) = (a.read(), b.read());
            a.len() == b.len()
                && a.entries().zip(b.entries()).all(|(a, b)| same(a.0, b.0) && same(a.1, b.1))
        }
        (IValue::Tensor(a), IValue::Tensor(b)) => alike(a, b),
        (IValue::Sparse(a), IValue::Sparse(b)) => same_sparse(&a.read(), &b.read(), alike),
        (IValue::Enum(..) | IValue::Object(_), IValue::Str(text)) => text.starts_with('<'),
        _ => a.is(b) || a.equal(b) == Some(true),
    }
}

/// Whether two sparse tensors have the same entries in the same order, their values `alike`.
fn same_sparse(a: &Sparse, b: &Sparse, alike: &dyn Fn(&Tensor, &Tensor) -> bool) -> bool {
    use SparseParts::{Compressed, Coordinates};
    if a.sizes() != b.sizes() || a.layout() != b.layout() || !alike(a.values(), b.values()) {
        return false;
    }
    match (a.parts(), b.parts()) {
        (
            Coordinates { indices, is_coalesced, .. },
            Coordinates { indices: expected, is_coalesced: coalesced, .. },
        ) => is_coalesced == coalesced && same_tensors(indices, expected),
        (
            Compressed { compressed, plain, .. },
            Compressed { compressed: begins, plain: others, .. },
        ) => same_tensors(compressed, begins) && same_tensors(plain, others),
        _ => false,
    }
}

fn close(a: f64, b: f64, tolerance: f64) -> bool {
    a == b
        || (a.is_nan() && b.is_nan())
        || (a - b).abs() <= tolerance * a.abs().max(b.abs()).max(1e-3)
}

/// Sums of many terms differ by the order of the terms: by so much of the largest of them.
fn tolerance(dtype: DType) -> f64 {
    match dtype {
        DType::Float16 => 2e-3,
        DType::BFloat16 => 1e-2,
        DType::Float64 | DType::Complex128 => 1e-9,
        _ => 1e-5,
    }
}

/// How far PyTorch's own results are off where that is more than the tolerance of their dtype: scores of
/// several hundreds leave softmax nothing but their rounding, and its results are 2.3e-5 from `float64`.
fn rounding(case: &str) -> f64 {
    if case.starts_with("nn_functional_multi_head_attention_forward.float32") { 1e-4 } else { 0.0 }
}

/// The elements of a tensor, in row-major order, as complex numbers.
fn numbers(tensor: &Tensor) -> Option<Vec<(f64, f64)>> {
    let plain = match tensor.dtype().is_quantized() {
        true => kernels::dequantize(tensor).ok()?,
        false => tensor.clone(),
    };
    let flat = plain.reshape(&[-1]).ok()?;
    (0..flat.numel())
        .map(|index| {
            let item = flat.select(0, index).ok()?.item().ok()?.to_complex();
            Some((item.re, item.im))
        })
        .collect()
}

fn same_tensors(a: &Tensor, b: &Tensor) -> bool {
    same_within(a, b, tolerance(a.dtype()))
}

fn same_within(a: &Tensor, b: &Tensor, tolerance: f64) -> bool {
    if a.dtype() != b.dtype() || a.sizes() != b.sizes() {
        return false;
    }
    match (numbers(a), numbers(b)) {
        (Some(a), Some(b)) => {
            let finite = b.iter().flat_map(|b| [b.0.abs(), b.1.abs()]).filter(|b| b.is_finite());
            let absolute = tolerance * finite.fold(1e-3, f64::max);
            let close = |a: f64, b: f64| close(a, b, 2.0 * tolerance) || (a - b).abs() <= absolute;
            a.iter().zip(&b).all(|(a, b)| close(a.0, b.0) && close(a.1, b.1))
        }
        _ => a.numel() == 0,
    }
}

/// Whether the elements lie in memory alike. What was recorded may be a copy, which has no gaps; the
/// strides of dimensions of one element lead nowhere, nor do any where there are no elements.
fn same_strides(found: &Tensor, expected: &Tensor) -> bool {
    let like = |strides: &[i64]| {
        let both = strides.iter().zip(expected.strides()).zip(expected.sizes());
        both.into_iter().all(|((found, expected), &size)| size == 1 || found == expected)
    };
    found.numel() == 0 || like(found.strides()) || like(&found.preserved_strides())
}

/// Whether it counts how results lie in memory: but for quantized tensors and gradients.
fn strides_count(case: &str, compared: &str) -> bool {
    !case.starts_with("quantized_") && compared != "numbers"
}
