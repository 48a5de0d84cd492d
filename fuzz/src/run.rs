//! Programs that run: any code in an archive that is otherwise whole, called with arguments that its
//! schemas ask for.

use std::sync::OnceLock;
use std::time::Duration;

use sconce_archive::Archive;
use sconce_ir::{Schema, Type};
use sconce_kernels::{DType, Scalar, arange};
use sconce_runtime::{Dict, Error, IValue, Limits, Options, Session, Shared, Tensor, to_object};
use sconce_torchscript::{LoadOptions, Module};

use crate::{limits, program, python, source};

macro_rules! network {
    ($name:literal) => {
        include_bytes!(concat!("../../crates/sconce-runtime/tests/optimize/", $name, "/model.pt"))
    };
}

/// Networks with weights, each for the passes that make it faster.
const NETWORKS: [&[u8]; 15] = [
    network!("cells"),
    network!("chains0"),
    network!("changed"),
    network!("dense"),
    network!("drawn"),
    network!("features"),
    network!("gated"),
    network!("inverted"),
    network!("layers"),
    network!("listed"),
    network!("pointwise"),
    network!("residual"),
    network!("several"),
    network!("scaled"),
    network!("written"),
];

/// What tensors are given: those that the networks are made for, and others.
const TENSORS: [(&[i64], DType); 10] = [
    (&[2, 3, 12], DType::Float32),
    (&[5, 12], DType::Float32),
    (&[1, 3, 9, 9], DType::Float32),
    (&[3, 3, 11, 9], DType::Float32),
    (&[3], DType::Int64),
    (&[], DType::Float64),
    (&[0, 12], DType::Float32),
    (&[1, 3, 9, 9], DType::Float64),
    (&[2, 2], DType::Bool),
    (&[6, 1, 12], DType::Float32),
];

/// Runs a program: a letter that says what it is (`a` and on for code of one of [`NETWORKS`], `P` for
/// Python source, others for what [`program::archive`] takes), one for the arguments, then the program.
pub fn run(input: &[u8]) {
    let [kind, choice, text @ ..] = input else { return };
    let load = |archive: Vec<u8>| LoadOptions::new().limits(limits()).read(source(&archive)).ok();
    let network = usize::from(kind.wrapping_sub(b'a'));
    let module = match kind {
        b'P' => str::from_utf8(text).ok().and_then(python::module),
        _ if network < NETWORKS.len() => load(with_code(network, text)),
        _ => load(program::archive(text)),
    };
    let Some(module) = module else { return };
    let choice = usize::from(*choice);
    let (Some(mut plain), Some(mut optimized)) = (session(&module, false), session(&module, true))
    else {
        return;
    };
    for method in module.methods() {
        let _ = plain.needs(&method.name).map_err(|error| explain(&error));
        for choice in [choice, choice + 1] {
            let call = |session: &mut Session| {
                let args = arguments(&method.schema, choice);
                let result = session.call(&method.name, &args);
                result.inspect_err(explain).map(|value| {
                    let _ = to_object(&value);
                    shown(&value, 0)
                })
            };
            match (call(&mut plain), call(&mut optimized)) {
                // Where a limit is reached depends on what is done.
                (Err(Error::Limit(_)), _) | (_, Err(Error::Limit(_))) => return,
                (Ok(plain), Ok(optimized)) => assert_eq!(plain, optimized, "{}", method.name),
                (Err(_), Err(_)) => {}
                (plain, optimized) => panic!("{plain:?}, optimised {optimized:?}"),
            }
        }
    }
}

/// An archive of [`NETWORKS`] with other code.
fn with_code(which: usize, code: &[u8]) -> Vec<u8> {
    type Records = Vec<(String, Vec<u8>)>;
    static RECORDS: [OnceLock<Records>; NETWORKS.len()] =
        [const { OnceLock::new() }; NETWORKS.len()];
    let records = RECORDS[which].get_or_init(|| {
        let archive = Archive::open(source(NETWORKS[which]), &limits()).expect("a whole archive");
        let names = archive.records().iter().map(|entry| archive.record_name(entry).into_owned());
        let read = |name: String| {
            let data = archive.read(&name).expect("a whole record").to_vec();
            (name, data)
        };
        // The writer adds the others itself.
        names
            .filter(|name| !name.starts_with('.') && name != "version" && name != "byteorder")
            .map(read)
            .collect()
    });
    let data = |(name, data): &'static (String, Vec<u8>)| {
        (&**name, if name.ends_with(".py") { code } else { data })
    };
    program::written(records.iter().map(data))
}

fn session(module: &Module, optimize: bool) -> Option<Session> {
    let limits = Limits {
        steps: 1 << 14,
        call_depth: 100,
        elements: 1 << 16,
        time: Some(Duration::from_secs(2)),
        ..Limits::default()
    };
    let options = Options { limits, memory: Some(1 << 20), optimize, ..Options::default() };
    let mut session = Session::new(module, options).inspect_err(explain).ok()?;
    session.manual_seed(0);
    Some(session)
}

fn explain(error: &Error) {
    assert!(!error.to_string().is_empty());
    assert!(!matches!(error, Error::Malformed(_)), "{error}");
}

/// Arguments after `self`, of the types that a method takes.
fn arguments(schema: &Schema, choice: usize) -> Vec<IValue> {
    let arguments = schema.arguments.iter().skip(1).enumerate();
    arguments.map(|(at, argument)| value(&argument.ty, choice + at, 0)).collect()
}

/// A value of a type; `None` where only the program has any.
fn value(ty: &Type, choice: usize, depth: usize) -> IValue {
    const MAX_DEPTH: usize = 8;
    let inner = |ty: &Type, at: usize| value(ty, choice + at, depth + 1);
    match ty {
        _ if depth > MAX_DEPTH => IValue::None,
        Type::Bool => IValue::Bool(choice % 2 == 0),
        Type::Int => IValue::Int([2, 0, -1, 7, i64::MAX][choice % 5]),
        Type::Float | Type::Number => IValue::Float([0.5, -1.0, f64::NAN, 1e30][choice % 4]),
        Type::Complex => IValue::Complex(0.5, -1.0),
        Type::Str => IValue::str(["", "mean", "ä b"][choice % 3]),
        Type::Device => IValue::Device("cpu".into()),
        Type::Tensor | Type::TensorOf(_) | Type::Any => IValue::Tensor(tensor(choice)),
        Type::Optional(_) if choice % 4 == 3 => IValue::None,
        Type::Optional(of) => inner(of, 0),
        Type::Union(of) => of.first().map_or(IValue::None, |of| inner(of, 0)),
        Type::List(of) => {
            let items = (0..choice % 4).map(|at| inner(of, at)).collect();
            IValue::list((**of).clone(), items)
        }
        Type::Dict(of) => {
            let mut dict = Dict::new(of.0.clone(), of.1.clone());
            let _ = dict.insert(inner(&of.0, 0), inner(&of.1, 1));
            IValue::Dict(Shared::new(dict))
        }
        Type::Tuple(of) => {
            let items = of.elements.iter().enumerate().map(|(at, of)| inner(of, at));
            IValue::tuple(items.collect())
        }
        _ => IValue::None,
    }
}

fn tensor(choice: usize) -> Tensor {
    let (sizes, dtype) = TENSORS[choice % TENSORS.len()];
    let count: i64 = sizes.iter().product();
    let numbers = arange(Scalar::Int(0), Scalar::Int(count), Scalar::Int(1), Some(DType::Int64));
    let tensor = numbers.and_then(|numbers| numbers.reshape(sizes)?.to_dtype(dtype));
    tensor.expect("a small tensor")
}

/// What a value is, with dtypes and sizes of tensors. Their numbers may differ by another order of sums.
fn shown(value: &IValue, depth: usize) -> String {
    const MAX_DEPTH: usize = 20;
    let all = |items: &[IValue]| {
        items.iter().map(|item| shown(item, depth + 1)).collect::<Vec<_>>().join(", ")
    };
    match value {
        _ if depth > MAX_DEPTH => "…".to_owned(),
        IValue::Tensor(tensor) => format!("{} {:?}", tensor.dtype(), tensor.sizes()),
        IValue::List(list) => format!("[{}]", all(&list.read().items)),
        IValue::Tuple(tuple) => format!("({})", all(&tuple.items)),
        other => other.kind_name().to_owned(),
    }
}
