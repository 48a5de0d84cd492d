//! numpy's arrays, scalars and dtypes as they stand in pickles.

use sconce_pickle::{Arena, CallKind, Node as PickleNode, Value};
use sconce_tensor::{ByteOrder, Device, Storage, Tensor};

use super::args::{bytes, describe, text};
use super::budget::Budget;
use crate::object::{ArrayForm, NumpyDType};
use crate::{Error, ErrorKind};

/// Records in records deeper than this are refused.
const MAX_DTYPE_DEPTH: usize = 16;

/// A numpy array before its objects have ids.
pub(super) struct RawArray {
    pub(super) dtype: NumpyDType,
    pub(super) shape: Vec<i64>,
    pub(super) data: RawData,
    pub(super) class: Option<Value>,
    pub(super) dtype_object: Value,
    pub(super) form: ArrayForm,
}

pub(super) enum RawData {
    Tensor(Tensor),
    Bytes { bytes: Box<[u8]>, fortran: bool },
    Objects { items: Value, fortran: bool },
}

impl RawArray {
    pub(super) fn tensor(self) -> Option<Tensor> {
        match self.data {
            RawData::Tensor(tensor) => Some(tensor),
            _ => None,
        }
    }
}

fn malformed(arena: &Arena<'_>, value: Value, message: String) -> Error {
    Error::new(ErrorKind::Malformed, message).at(arena.offset(value))
}

fn is_multiarray(module: &str) -> bool {
    matches!(module, "numpy.core.multiarray" | "numpy._core.multiarray")
}

fn is_numeric(module: &str) -> bool {
    matches!(module, "numpy.core.numeric" | "numpy._core.numeric")
}

/// The array that `value` is, or `None` when it is no array.
pub(super) fn array(
    arena: &Arena<'_>,
    value: Value,
    budget: &Budget,
) -> Result<Option<RawArray>, Error> {
    let PickleNode::Call(call) = arena.node(value) else { return Ok(None) };
    if call.kind != CallKind::Reduce {
        return Ok(None);
    }
    match arena.global(call.callable) {
        Some((module, "_reconstruct")) if is_multiarray(module) => {
            let class = arena.tuple(call.args).and_then(|args| args.first().copied());
            let class = class.filter(|&class| arena.global(class) != Some(("numpy", "ndarray")));
            let state = call.updates().states.last().copied();
            let parts = state.and_then(|state| arena.tuple(state));
            let [shape, dtype, fortran, data] = match parts {
                Some([_, shape, dtype, fortran, data] | [shape, dtype, fortran, data]) => {
                    [*shape, *dtype, *fortran, *data]
                }
                // A class derived from numpy.ndarray may have a state of its own.
                _ if class.is_some() => return Ok(None),
                _ => {
                    let message =
                        "a numpy array lacks its state (version, shape, dtype, order, data)";
                    return Err(malformed(arena, value, message.to_owned()));
                }
            };
            if is_foreign_dtype(arena, dtype) {
                return Ok(None);
            }
            let fortran = match arena.node(fortran) {
                PickleNode::Bool(flag) => *flag,
                PickleNode::Int(number) => *number != 0,
                _ => false,
            };
            let array = from_parts(arena, budget, shape, dtype, fortran, data)?;
            Ok(Some(RawArray { class, ..array }))
        }
        Some((module, "_frombuffer")) if is_numeric(module) => {
            let Some([data, dtype, shape, order]) = arena.tuple(call.args) else {
                let message = "numpy's _frombuffer needs (buffer, dtype, shape, order)";
                return Err(malformed(arena, value, message.to_owned()));
            };
            if is_foreign_dtype(arena, *dtype) {
                return Ok(None);
            }
            let fortran = arena.str(*order) == Some("F");
            let read_only = matches!(arena.node(*data), PickleNode::Bytes(_));
            let array = from_parts(arena, budget, *shape, *dtype, fortran, *data)?;
            Ok(Some(RawArray { form: ArrayForm::Buffer { read_only }, ..array }))
        }
        _ => Ok(None),
    }
}

/// Whether the value is the dtype of somebody else, or of a kind that has a function of its own
/// (`numpy.dtypes.StringDType`): arrays of those are kept as they are described.
fn is_foreign_dtype(arena: &Arena<'_>, value: Value) -> bool {
    match arena.node(value) {
        PickleNode::Call(call) => {
            let callable = arena.global(call.callable);
            callable.is_some_and(|name| name != ("numpy", "dtype"))
        }
        _ => false,
    }
}

/// The scalar of a call `numpy.core.multiarray.scalar(dtype, data)`.
pub(super) fn scalar(arena: &Arena<'_>, args: Value, budget: &Budget) -> Result<RawArray, Error> {
    let Some([dtype_value, data]) = arena.tuple(args) else {
        let message = "a numpy scalar needs (dtype, data)";
        return Err(malformed(arena, args, message.to_owned()));
    };
    finish(arena, budget, *data, *dtype_value, Vec::new(), false)
}

fn from_parts(
    arena: &Arena<'_>,
    budget: &Budget,
    shape: Value,
    dtype_value: Value,
    fortran: bool,
    data: Value,
) -> Result<RawArray, Error> {
    let dims = arena.tuple(shape).map(|dims| {
        dims.iter().map(|&dim| arena.int(dim).filter(|&dim| dim >= 0)).collect::<Option<Vec<i64>>>()
    });
    let Some(Some(dims)) = dims else {
        let found = describe(arena, shape);
        let message = format!("a numpy array's shape must be a tuple of sizes, found {found}");
        return Err(malformed(arena, shape, message));
    };
    budget.take(size_of_val(&dims[..]))?;
    finish(arena, budget, data, dtype_value, dims, fortran)
}

fn finish(
    arena: &Arena<'_>,
    budget: &Budget,
    data: Value,
    dtype_object: Value,
    shape: Vec<i64>,
    fortran: bool,
) -> Result<RawArray, Error> {
    let dtype = dtype(arena, budget, dtype_object, 0)?;
    let made = |dtype: NumpyDType, shape: Vec<i64>, data: RawData| RawArray {
        dtype,
        shape,
        data,
        class: None,
        dtype_object,
        form: ArrayForm::State,
    };
    if dtype.holds_objects() {
        return Ok(made(dtype, shape, RawData::Objects { items: data, fortran }));
    }
    let Some(bytes) = bytes(arena, data) else {
        let found = describe(arena, data);
        let message = format!("a numpy array's data must be bytes, found {found}");
        return Err(malformed(arena, data, message));
    };
    let count = shape.iter().try_fold(1i64, |product, &dim| product.checked_mul(dim));
    let needed = count.and_then(|count| (count as u64).checked_mul(dtype.item_size));
    if needed != Some(bytes.len() as u64) {
        let message = format!(
            "a numpy array of shape {shape:?} and dtype {} does not fill {} bytes",
            dtype.name(),
            bytes.len()
        );
        return Err(malformed(arena, data, message));
    }
    budget.take(bytes.len())?;
    let Some(torch) = dtype.to_torch() else {
        let bytes = bytes.into_owned().into_boxed_slice();
        return Ok(made(dtype, shape, RawData::Bytes { bytes, fortran }));
    };
    let order = dtype.byte_order;
    let storage =
        Storage::with_byte_order(bytes.into_owned().into(), order, torch.swap_size(), Device::CPU);
    let strides = strides(&shape, fortran);
    let tensor = Tensor::strided(storage, torch, 0, &shape, &strides)
        .map_err(|error| malformed(arena, data, error.to_string()))?;
    Ok(made(dtype, shape, RawData::Tensor(tensor)))
}

fn strides(shape: &[i64], fortran: bool) -> Vec<i64> {
    let mut strides = vec![1i64; shape.len()];
    let mut step = 1i64;
    let mut place = |dim: usize| {
        strides[dim] = step;
        step = step.saturating_mul(shape[dim].max(1));
    };
    if fortran {
        (0..shape.len()).for_each(&mut place);
    } else {
        (0..shape.len()).rev().for_each(&mut place);
    }
    strides
}

/// `numpy.dtype(typestr, align, copy)` with the state `(version, order, subarray, names, fields,
/// item size, alignment, flags[, metadata])`.
fn dtype(
    arena: &Arena<'_>,
    budget: &Budget,
    value: Value,
    depth: usize,
) -> Result<NumpyDType, Error> {
    let wrong = || {
        let found = describe(arena, value);
        malformed(arena, value, format!("expected a numpy dtype, found {found}"))
    };
    if depth > MAX_DTYPE_DEPTH {
        let message = "numpy dtypes are nested too deeply".to_owned();
        return Err(Error::new(ErrorKind::Limit, message).at(arena.offset(value)));
    }
    budget.take(size_of::<NumpyDType>())?;
    let PickleNode::Call(call) = arena.node(value) else { return Err(wrong()) };
    if arena.global(call.callable) != Some(("numpy", "dtype")) {
        return Err(wrong());
    }
    let args = arena.tuple(call.args).ok_or_else(wrong)?;
    let letters = match args.first().map(|&first| (arena.global(first), first)) {
        // Records whose fields are attributes too.
        Some((Some(("numpy" | "numpy.core.records" | "numpy.rec", "record")), _)) => "V".into(),
        Some((_, first)) => text(arena, first).ok_or_else(wrong)?,
        None => return Err(wrong()),
    };
    let letters = letters.trim_start_matches(['<', '>', '|', '=']);
    let kind = letters.chars().next().ok_or_else(wrong)?;
    let digits = &letters[kind.len_utf8()..];
    let number = digits.split('[').next().unwrap_or_default();
    let size: u64 = number.parse().unwrap_or(0);
    let mut out = NumpyDType {
        kind,
        item_size: if kind == 'U' { size.saturating_mul(4) } else { size },
        byte_order: ByteOrder::Little,
        unit: None,
        fields: Vec::new(),
        subarray: None,
    };
    let state = call.updates().states.last().and_then(|&state| arena.tuple(state));
    let Some([_, order, subarray, names, fields, item_size, ..]) = state else {
        return Ok(out);
    };
    if text(arena, *order).as_deref() == Some(">") {
        out.byte_order = ByteOrder::Big;
    }
    if let Some(size) = arena.int(*item_size).filter(|&size| size >= 0) {
        out.item_size = size as u64;
    }
    if let Some([base, shape]) = arena.tuple(*subarray) {
        let shape = match arena.tuple(*shape) {
            Some(dims) => {
                budget.take(size_of_val(dims))?;
                dims.iter().map(|&dim| arena.int(dim)).collect::<Option<_>>()
            }
            None => arena.int(*shape).map(|dim| vec![dim]),
        };
        out.subarray =
            Some((Box::new(dtype(arena, budget, *base, depth + 1)?), shape.ok_or_else(wrong)?));
    }
    if let (Some(names), PickleNode::Dict(entries)) = (arena.tuple(*names), arena.node(*fields)) {
        for &name in names {
            let name = text(arena, name).ok_or_else(wrong)?;
            // For the name, and for looking through the entries.
            budget.take(name.len() + entries.len())?;
            let field = entries
                .iter()
                .find(|(key, _)| text(arena, *key).as_deref() == Some(&*name))
                .and_then(|(_, field)| arena.tuple(*field))
                .ok_or_else(wrong)?;
            let [base, offset, ..] = field else { return Err(wrong()) };
            let offset = arena.int(*offset).and_then(|at| u64::try_from(at).ok());
            let base = dtype(arena, budget, *base, depth + 1)?;
            out.fields.push((name.into_owned(), base, offset.ok_or_else(wrong)?));
        }
    }
    if matches!(kind, 'M' | 'm') {
        out.unit = state.and_then(|state| state.get(8)).and_then(|&meta| date_unit(arena, meta));
    }
    Ok(out)
}

/// The unit in a date dtype's metadata: `({}, (unit, count, 1, 1))`.
fn date_unit(arena: &Arena<'_>, metadata: Value) -> Option<String> {
    let [_, unit] = arena.tuple(metadata)? else { return None };
    let [name, count, ..] = arena.tuple(*unit)? else { return None };
    let name = match arena.node(*name) {
        PickleNode::Call(_) => String::from_utf8(bytes(arena, *name)?.into_owned()).ok()?,
        _ => text(arena, *name)?.into_owned(),
    };
    match arena.int(*count)? {
        1 => Some(name),
        count => Some(format!("{count}{name}")),
    }
}
