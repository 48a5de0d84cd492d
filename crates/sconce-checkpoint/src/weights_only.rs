//! What `torch.load(weights_only=True)` lets a pickle do, decided as torch 2.15 decides it.
//!
//! torch's `_weights_only_unpickler` looks at live objects: at the identity of what is called and at
//! the exact type of what is changed. Nothing lives here, so both are worked out from the record: a
//! class or function is its name, and the type of a call's result follows from what is called.
//!
//! Where torch would run into a plain Python error a step later (a `TypeError`, say, where something
//! that is not callable is called), the step is refused with that error's text.

use std::borrow::Cow;
use std::fmt::Write;

use sconce_pickle::{
    Arena, CallKind, Node, OpcodeInfo, Policy, Refusal, Value, opcode::byte, repr,
};

use crate::AllowList;
use crate::allow_list::{BLOCKED_MODULES, default_type};
use crate::python2_names::modern_for_weights_only;

/// The opcodes that the unpickler knows.
static SUPPORTED: &[u8] = &[
    byte::GLOBAL,
    byte::NEWOBJ,
    byte::REDUCE,
    byte::BUILD,
    byte::APPEND,
    byte::APPENDS,
    byte::SETITEM,
    byte::SETITEMS,
    byte::MARK,
    byte::TUPLE,
    byte::TUPLE1,
    byte::TUPLE2,
    byte::TUPLE3,
    byte::NONE,
    byte::NEWFALSE,
    byte::NEWTRUE,
    byte::EMPTY_TUPLE,
    byte::EMPTY_LIST,
    byte::EMPTY_DICT,
    byte::EMPTY_SET,
    byte::BININT,
    byte::BININT1,
    byte::BININT2,
    byte::BINFLOAT,
    byte::BINUNICODE,
    byte::SHORT_BINSTRING,
    byte::BINPERSID,
    byte::BINGET,
    byte::LONG_BINGET,
    byte::BINPUT,
    byte::LONG_BINPUT,
    byte::LONG1,
    byte::PROTO,
    byte::STOP,
];

/// Names that load only where Python has imported `torch.distributed.tensor`.
static DTENSOR_NAMES: [(&str, &str); 7] = [
    ("torch.distributed.device_mesh", "DeviceMesh"),
    ("torch.distributed.tensor._dtensor_spec", "DTensorSpec"),
    ("torch.distributed.tensor._dtensor_spec", "TensorMeta"),
    ("torch.distributed.tensor", "DTensor"),
    ("torch.distributed.tensor.placement_types", "Partial"),
    ("torch.distributed.tensor.placement_types", "Replicate"),
    ("torch.distributed.tensor.placement_types", "Shard"),
];

const TENSOR: &str = "torch.Tensor";
const PARAMETER: &str = "torch.nn.parameter.Parameter";
const ORDERED_DICT: &str = "collections.OrderedDict";

/// What a call of a function gives. Classes are not here: calling one gives an instance of it.
static RESULTS: &[(&str, Gives)] = &[
    ("_codecs.encode", Gives::Type("bytes")),
    ("copyreg.__newobj__", Gives::Argument(0)),
    ("copyreg._reconstructor", Gives::Argument(0)),
    ("numpy._core.multiarray._reconstruct", Gives::Argument(0)),
    ("numpy.core.multiarray._reconstruct", Gives::Argument(0)),
    ("numpy.dtype", Gives::NumpyDtype),
    ("torch._tensor._rebuild_from_type_v2", Gives::Argument(1)),
    ("torch._utils._rebuild_device_tensor_from_cpu_tensor", Gives::Type(TENSOR)),
    ("torch._utils._rebuild_device_tensor_from_numpy", Gives::Type(TENSOR)),
    ("torch._utils._rebuild_meta_tensor_no_storage", Gives::Type(TENSOR)),
    ("torch._utils._rebuild_parameter", Gives::Type(PARAMETER)),
    ("torch._utils._rebuild_parameter_with_state", Gives::Type(PARAMETER)),
    ("torch._utils._rebuild_qtensor", Gives::Type(TENSOR)),
    ("torch._utils._rebuild_sparse_tensor", Gives::Type(TENSOR)),
    ("torch._utils._rebuild_tensor", Gives::Type(TENSOR)),
    ("torch._utils._rebuild_tensor_v2", Gives::Type(TENSOR)),
    ("torch._utils._rebuild_tensor_v3", Gives::Type(TENSOR)),
    ("torch._utils._rebuild_wrapper_subclass", Gives::Argument(0)),
    ("torch.serialization._get_layout", Gives::Type("torch.layout")),
];

#[derive(Clone, Copy)]
enum Gives {
    Type(&'static str),
    /// An instance of the class that is this argument.
    Argument(usize),
    /// One of the classes of `numpy.dtypes`, by the first argument.
    NumpyDtype,
}

/// numpy's classes of dtypes by the type string that a pickle gives `numpy.dtype`; an ending that is
/// a size comes off first where only the letter counts.
static NUMPY_DTYPES: &[(&str, &str)] = &[
    ("?", "numpy.dtypes.BoolDType"),
    ("M", "numpy.dtypes.DateTime64DType"),
    ("O", "numpy.dtypes.ObjectDType"),
    ("S", "numpy.dtypes.BytesDType"),
    ("U", "numpy.dtypes.StrDType"),
    ("V", "numpy.dtypes.VoidDType"),
    ("b1", "numpy.dtypes.BoolDType"),
    ("bool", "numpy.dtypes.BoolDType"),
    ("c16", "numpy.dtypes.Complex128DType"),
    ("c8", "numpy.dtypes.Complex64DType"),
    ("f2", "numpy.dtypes.Float16DType"),
    ("f4", "numpy.dtypes.Float32DType"),
    ("f8", "numpy.dtypes.Float64DType"),
    ("float16", "numpy.dtypes.Float16DType"),
    ("float32", "numpy.dtypes.Float32DType"),
    ("float64", "numpy.dtypes.Float64DType"),
    ("i1", "numpy.dtypes.Int8DType"),
    ("i2", "numpy.dtypes.Int16DType"),
    ("i4", "numpy.dtypes.Int32DType"),
    ("i8", "numpy.dtypes.Int64DType"),
    ("int16", "numpy.dtypes.Int16DType"),
    ("int32", "numpy.dtypes.Int32DType"),
    ("int64", "numpy.dtypes.Int64DType"),
    ("int8", "numpy.dtypes.Int8DType"),
    ("m", "numpy.dtypes.TimeDelta64DType"),
    ("u1", "numpy.dtypes.UInt8DType"),
    ("u2", "numpy.dtypes.UInt16DType"),
    ("u4", "numpy.dtypes.UInt32DType"),
    ("u8", "numpy.dtypes.UInt64DType"),
    ("uint16", "numpy.dtypes.UInt16DType"),
    ("uint32", "numpy.dtypes.UInt32DType"),
    ("uint64", "numpy.dtypes.UInt64DType"),
    ("uint8", "numpy.dtypes.UInt8DType"),
];

/// Types whose instances have no `__dict__` and no `__setstate__`: BUILD cannot give them a state.
static WITHOUT_DICT: [&str; 6] =
    ["bytearray", "collections.defaultdict", "complex", "set", "torch.Size", "torch.device"];

/// Longest text of a value in a message, in bytes.
const MAX_SHOWN: usize = 1000;

/// The policy of `torch.load(weights_only=True)` in torch 2.15.
///
/// Stricter than torch in one thing only: a PROTO above 5, for which torch warns, is refused by the
/// machine. A pybind11 class that the caller allowed counts as made when NEWOBJ asks for it.
#[derive(Debug)]
pub(crate) struct WeightsOnly<'a> {
    list: &'a AllowList,
    /// What torch would warn of, in its words.
    pub(crate) warnings: Vec<String>,
    last_opcode: u8,
}

impl<'a> WeightsOnly<'a> {
    pub(crate) fn new(list: &'a AllowList) -> WeightsOnly<'a> {
        WeightsOnly { list, warnings: Vec::new(), last_opcode: 0 }
    }

    fn admits_type(&self, name: &str) -> bool {
        match name.contains('.') {
            true => self.list.contains(name),
            false => self.list.contains(&format!("builtins.{name}")),
        }
    }

    /// Whether the value is one of those that the list allows; if not, it is shown to be something
    /// else, since what is named and not allowed never came onto the stack.
    fn admits_callable(&self, arena: &Arena<'_>, callable: Value) -> Option<Named> {
        let (module, name) = arena.global(callable)?;
        let (module, name) = modern_for_weights_only(module, name);
        if let Some(kind) = default_type(&module, &name) {
            return Some(Named { path: format!("{module}.{name}"), kind: Some(kind) });
        }
        self.list
            .was_added(&module, &name)
            .then(|| Named { path: format!("{module}.{name}"), kind: None })
    }
}

/// An allowed class, function or other object.
struct Named {
    path: String,
    /// The name of its type; unknown where the caller allowed it.
    kind: Option<&'static str>,
}

impl Named {
    fn is_function(&self) -> bool {
        matches!(self.kind, Some("function" | "builtin_function_or_method"))
    }

    fn is_plain_object(&self) -> bool {
        matches!(
            self.kind,
            Some("torch.dtype" | "torch.qscheme" | "torch.serialization.StorageType")
        )
    }

    /// The type as C code names it, without the module where the class is written in Python.
    fn kind_in_c(&self) -> &'static str {
        match self.kind {
            Some("torch.serialization.StorageType") => "StorageType",
            Some(kind) => kind,
            None => "object",
        }
    }
}

impl Policy for WeightsOnly<'_> {
    #[inline]
    fn opcode(&mut self, info: &'static OpcodeInfo, _at: u64) -> Result<(), Refusal> {
        if !SUPPORTED.contains(&info.byte) {
            return Err(Refusal(unsupported_operand(info.byte)));
        }
        self.last_opcode = info.byte;
        Ok(())
    }

    fn protocol(&mut self, version: u8, _at: u64) -> Result<(), Refusal> {
        if version != 2 {
            let warning = format!(
                "Detected pickle protocol {version} in the checkpoint, which was not the default \
                 pickle protocol used by `torch.load` (2). The weights_only Unpickler might not \
                 support all instructions implemented by this protocol, please file an issue for \
                 adding support if you encounter this."
            );
            // A pickle may say its protocol any number of times.
            if !self.warnings.contains(&warning) {
                self.warnings.push(warning);
            }
        }
        Ok(())
    }

    fn global(&mut self, module: &str, name: &str, _at: u64) -> Result<(), Refusal> {
        let (module, name) = modern_for_weights_only(module, name);
        if BLOCKED_MODULES.contains(&&*module) {
            return Err(Refusal(format!(
                "Trying to load unsupported GLOBAL {module}.{name} whose module {module} is blocked."
            )));
        }
        if default_type(&module, &name).is_some() || self.list.was_added(&module, &name) {
            return Ok(());
        }
        if DTENSOR_NAMES.contains(&(&*module, &*name)) {
            let message = "``torch.distributed.tensor`` must be imported to load DTensors";
            return Err(Refusal(message.to_owned()));
        }
        let path = format!("{module}.{name}");
        let path = path.strip_prefix("builtins.").unwrap_or(&path);
        Err(Refusal(format!(
            "Unsupported global: GLOBAL {path} was not an allowed global by default. Please use \
             `torch.serialization.add_safe_globals([{path}])` or the \
             `torch.serialization.safe_globals([{path}])` context manager to allowlist this global \
             if you trust this class/function."
        )))
    }

    fn call(
        &mut self,
        arena: &Arena<'_>,
        kind: CallKind,
        callable: Value,
        args: Value,
        _at: u64,
    ) -> Result<(), Refusal> {
        let Some(named) = self.admits_callable(arena, callable) else {
            let shown = shown(arena, callable);
            return Err(Refusal(match kind {
                CallKind::NewObj => format!(
                    "Can only create new object for nn.Parameter or classes allowlisted via \
                     `add_safe_globals` but got {shown}"
                ),
                _ => format!("Trying to call reduce for unrecognized function {shown}"),
            }));
        };
        let kind_in_c = named.kind_in_c();
        if kind == CallKind::NewObj {
            if named.kind == Some("function") {
                let message = "function.__new__(X): X is not a type object (function)";
                return Err(Refusal(message.to_owned()));
            }
            if named.is_function() || named.is_plain_object() {
                let message = format!("object.__new__(X): X is not a type object ({kind_in_c})");
                return Err(Refusal(message));
            }
        } else if named.is_plain_object() {
            return Err(Refusal(format!("'{kind_in_c}' object is not callable")));
        }
        if !is_iterable(arena.node(args)) {
            let called = named.path.strip_prefix("builtins.").unwrap_or(&named.path);
            let what = match kind {
                CallKind::NewObj => "Value after".to_owned(),
                _ => format!("{called}() argument after"),
            };
            let found = type_of(arena, args);
            return Err(Refusal(format!("{what} * must be an iterable, not {found}")));
        }
        Ok(())
    }

    fn build(
        &mut self,
        arena: &Arena<'_>,
        target: Value,
        state: Value,
        _at: u64,
    ) -> Result<(), Refusal> {
        let kind = type_of(arena, target);
        let node = arena.node(state);
        let found = type_of(arena, state);
        match &*kind {
            TENSOR if !is_iterable(node) => Err(Refusal(format!(
                "torch._C.TensorBase.set_() argument after * must be an iterable, not {found}"
            ))),
            PARAMETER => match length(node) {
                Some(3..=5) => Ok(()),
                Some(short @ 0..=2) => {
                    Err(Refusal(format!("not enough values to unpack (expected 3, got {short})")))
                }
                Some(_) => Err(Refusal("too many values to unpack (expected 3)".to_owned())),
                None if node.is_opaque() => Ok(()),
                None => Err(Refusal(format!("cannot unpack non-iterable {found} object"))),
            },
            ORDERED_DICT if !updates_a_dict(arena, state) => Err(Refusal(match length(node) {
                Some(_) => {
                    "cannot convert dictionary update sequence element #0 to a sequence".into()
                }
                None => format!("'{found}' object is not iterable"),
            })),
            TENSOR | ORDERED_DICT => Ok(()),
            name if self.admits_type(name) => {
                if WITHOUT_DICT.contains(&name) && !is_falsy_state(arena, state) {
                    let message = format!("'{name}' object has no attribute '__dict__'");
                    return Err(Refusal(message));
                }
                Ok(())
            }
            name => Err(Refusal(format!(
                "Can only build Tensor, Parameter, OrderedDict or types allowlisted via \
                 `add_safe_globals`, but got <class '{name}'>"
            ))),
        }
    }

    #[inline]
    fn append(
        &mut self,
        arena: &Arena<'_>,
        target: Value,
        many: bool,
        _at: u64,
    ) -> Result<(), Refusal> {
        if matches!(arena.node(target), Node::List(_)) {
            return Ok(());
        }
        let kind = type_of(arena, target);
        if kind == "list" {
            return Ok(());
        }
        let verb = if many { "extend" } else { "append to" };
        Err(Refusal(format!("Can only {verb} lists, but got <class '{kind}'>")))
    }

    #[inline]
    fn set_items(&mut self, arena: &Arena<'_>, target: Value, _at: u64) -> Result<(), Refusal> {
        if matches!(arena.node(target), Node::Dict(_)) {
            return Ok(());
        }
        let kind = type_of(arena, target);
        if matches!(&*kind, "dict" | ORDERED_DICT | "collections.Counter") {
            return Ok(());
        }
        let opcode = if self.last_opcode == byte::SETITEM { "SETITEM" } else { "SETITEMS" };
        Err(Refusal(format!(
            "Can only {opcode} for dict, collections.OrderedDict, collections.Counter, but got \
             <class '{kind}'>"
        )))
    }

    fn persistent_id(&mut self, arena: &Arena<'_>, pid: Value, _at: u64) -> Result<(), Refusal> {
        let kind = type_of(arena, pid);
        if kind != "tuple" && kind != "int" {
            return Err(Refusal(format!(
                "persistent_load id must be tuple or int, but got <class '{kind}'>"
            )));
        }
        match arena.tuple(pid).and_then(|items| items.first()) {
            Some(&first) if ascii(arena, first).as_deref() != Some(b"storage") => {
                Err(Refusal(format!(
                    "Only persistent_load of storage is allowed, but got <class '{}'>",
                    type_of(arena, first)
                )))
            }
            _ => Ok(()),
        }
    }
}

fn unsupported_operand(byte: u8) -> String {
    format!("Unsupported operand {byte}")
}

/// torch's message for what the machine or this policy refused: a byte that is no opcode of any
/// protocol is to torch only one more that it does not support.
pub(crate) fn message_of(error: &sconce_pickle::Error) -> String {
    match error {
        sconce_pickle::Error::UnknownOpcode { byte, .. } => unsupported_operand(*byte),
        other => other.to_string(),
    }
}

/// Name of the value's type: `int`, `collections.OrderedDict`. Only builtins have no dot.
pub(crate) fn type_of<'a>(arena: &'a Arena<'_>, value: Value) -> Cow<'a, str> {
    let call = match arena.node(value) {
        Node::Call(call) => call,
        Node::PersistentId(_) => return "torch.storage.TypedStorage".into(),
        Node::Global(global) => {
            let (module, name) = modern_for_weights_only(&global.module, &global.name);
            return Cow::Borrowed(match default_type(&module, &name) {
                Some(kind) => kind,
                None if name.starts_with(|c: char| c.is_uppercase()) => "type",
                None => "function",
            });
        }
        node => return Cow::Borrowed(node.type_name()),
    };
    let Some(class) = arena.global(call.callable) else { return "object".into() };
    let (module, name) = modern_for_weights_only(class.0, class.1);
    let path = format!("{module}.{name}");
    let gives = match RESULTS.binary_search_by(|(function, _)| (*function).cmp(&path)) {
        Ok(at) => RESULTS[at].1,
        Err(_) if default_type(&module, &name) == Some("torch.tensortype") => Gives::Type(TENSOR),
        Err(_) => return Cow::Owned(without_builtins(path)),
    };
    let argument = |at: usize| arena.tuple(call.args).and_then(|args| args.get(at)).copied();
    match gives {
        Gives::Type(name) => Cow::Borrowed(name),
        Gives::Argument(at) => match argument(at).and_then(|class| arena.global(class)) {
            Some((module, name)) => {
                let (module, name) = modern_for_weights_only(module, name);
                Cow::Owned(without_builtins(format!("{module}.{name}")))
            }
            None => Cow::Owned(path),
        },
        Gives::NumpyDtype => argument(0)
            .and_then(|spec| ascii(arena, spec))
            .and_then(|spec| numpy_dtype(&spec))
            .map_or(Cow::Owned(path), Cow::Borrowed),
    }
}

fn without_builtins(path: String) -> String {
    match path.strip_prefix("builtins.") {
        Some(rest) if !rest.contains('.') => rest.to_owned(),
        _ => path,
    }
}

fn numpy_dtype(spec: &[u8]) -> Option<&'static str> {
    let spec = std::str::from_utf8(spec).ok()?.trim_start_matches(['<', '>', '=', '|']);
    let lookup = |key: &str| {
        let at = NUMPY_DTYPES.binary_search_by(|(known, _)| (*known).cmp(key)).ok()?;
        Some(NUMPY_DTYPES[at].1)
    };
    let letter = spec.get(..1)?;
    let sized = spec[1..].starts_with(|c: char| c.is_ascii_digit() || c == '[');
    lookup(spec).or_else(|| lookup(letter).filter(|_| sized || spec.len() == 1))
}

/// The bytes of a str, a Python 2 str, or a bytes object that a pickle of protocol 2 makes by
/// `_codecs.encode`.
fn ascii<'a>(arena: &'a Arena<'_>, value: Value) -> Option<Cow<'a, [u8]>> {
    match arena.node(value) {
        Node::Str(text) => Some(Cow::Borrowed(text.as_bytes())),
        Node::ByteStr(bytes) | Node::Bytes(bytes) => Some(Cow::Borrowed(bytes)),
        Node::Call(call) if arena.global(call.callable) == Some(("_codecs", "encode")) => {
            let text = arena.str(*arena.tuple(call.args)?.first()?)?;
            text.is_ascii().then_some(Cow::Borrowed(text.as_bytes()))
        }
        _ => None,
    }
}

fn is_iterable(node: &Node<'_>) -> bool {
    !matches!(
        node,
        Node::None
            | Node::Bool(_)
            | Node::Int(_)
            | Node::BigInt(_)
            | Node::Float(_)
            | Node::Global(_)
    )
}

/// Number of elements, where the value is a plain container.
fn length(node: &Node<'_>) -> Option<usize> {
    match node {
        Node::Tuple(items) => Some(items.len()),
        Node::List(items) | Node::Set(items) => Some(items.len()),
        Node::Dict(entries) => Some(entries.len()),
        Node::Str(text) => Some(text.chars().count()),
        _ => None,
    }
}

/// Whether `dict.update` takes the value: a dict, or a run of pairs.
fn updates_a_dict(arena: &Arena<'_>, state: Value) -> bool {
    let items = match arena.node(state) {
        Node::Dict(_) => return true,
        Node::Tuple(items) => arena.items(*items),
        Node::List(items) | Node::Set(items) => items,
        Node::Str(text) => return text.is_empty(),
        node => return node.is_opaque(),
    };
    items.iter().all(|&item| length(arena.node(item)).is_none_or(|length| length == 2))
}

/// Whether BUILD finds nothing to set in the state: it is false, or a pair of two such.
fn is_falsy_state(arena: &Arena<'_>, state: Value) -> bool {
    let is_falsy = |value: Value| match arena.node(value) {
        Node::None | Node::Bool(false) | Node::Int(0) => true,
        Node::Float(number) => *number == 0.0,
        node => length(node) == Some(0),
    };
    match arena.tuple(state) {
        Some(&[state, slots]) => is_falsy(state) && is_falsy(slots),
        _ => is_falsy(state),
    }
}

/// The value as Python's `str` shows it, as far as that can be told; shortened if it is long.
fn shown(arena: &Arena<'_>, value: Value) -> String {
    match arena.node(value) {
        Node::Str(text) => return shortened(text.as_ref().to_owned()),
        Node::ByteStr(bytes) => return shortened(String::from_utf8_lossy(bytes).into_owned()),
        _ => {}
    }
    enum Part<'t> {
        Value(Value),
        Text(&'t str),
    }
    let mut out = String::new();
    let mut parts = vec![Part::Value(value)];
    while let Some(part) = parts.pop()
        && out.len() <= MAX_SHOWN
    {
        let value = match part {
            Part::Text(text) => {
                out.push_str(text);
                continue;
            }
            Part::Value(value) => value,
        };
        let (open, items, close): (&str, &[Value], &str) = match arena.node(value) {
            Node::List(items) => ("[", items, "]"),
            Node::Set(items) if items.is_empty() => ("set()", &[], ""),
            Node::Set(items) => ("{", items, "}"),
            Node::Tuple(items) if items.len() == 1 => ("(", arena.items(*items), ",)"),
            Node::Tuple(items) => ("(", arena.items(*items), ")"),
            node => {
                let entries = match node {
                    Node::Dict(entries) => Some(("{", ": ", "", "}", entries)),
                    Node::Call(call) if type_of(arena, value) == ORDERED_DICT => {
                        let entries = &call.updates().entries;
                        match entries.is_empty() {
                            true => Some(("OrderedDict()", "", "", "", entries)),
                            false => Some(("OrderedDict([(", ", ", "), (", ")])", entries)),
                        }
                    }
                    _ => None,
                };
                match entries {
                    None => write_plain(&mut out, arena, value),
                    Some((open, between, after, close, entries)) => {
                        let after = if after.is_empty() { ", " } else { after };
                        out.push_str(open);
                        parts.push(Part::Text(close));
                        for (at, &(key, value)) in entries.iter().take(MAX_SHOWN).enumerate().rev()
                        {
                            parts.push(Part::Value(value));
                            parts.push(Part::Text(between));
                            parts.push(Part::Value(key));
                            if at > 0 {
                                parts.push(Part::Text(after));
                            }
                        }
                    }
                }
                continue;
            }
        };
        out.push_str(open);
        parts.push(Part::Text(close));
        for (at, &item) in items.iter().take(MAX_SHOWN).enumerate().rev() {
            parts.push(Part::Value(item));
            if at > 0 {
                parts.push(Part::Text(", "));
            }
        }
    }
    shortened(out)
}

/// Appends the `repr` of what holds no other values, or a stand-in.
fn write_plain(out: &mut String, arena: &Arena<'_>, value: Value) {
    // Writing to a String cannot fail.
    let _ = match arena.node(value) {
        Node::None => out.write_str("None"),
        Node::Bool(truth) => out.write_str(if *truth { "True" } else { "False" }),
        Node::Int(number) => write!(out, "{number}"),
        Node::BigInt(number) => {
            let _ = repr::write_bigint(out, number);
            Ok(())
        }
        Node::Float(number) => {
            repr::write_float(out, *number);
            Ok(())
        }
        Node::Str(text) => {
            repr::write_str(out, text);
            Ok(())
        }
        Node::Global(global) => {
            let (module, name) = modern_for_weights_only(&global.module, &global.name);
            let path = without_builtins(format!("{module}.{name}"));
            match default_type(&module, &name) {
                Some("function") => write!(out, "<function {name}>"),
                Some("builtin_function_or_method") => write!(out, "<built-in function {name}>"),
                Some("torch.dtype" | "torch.qscheme") => out.write_str(&path),
                Some("torch.serialization.StorageType") => {
                    write!(out, "<torch.serialization.StorageType>")
                }
                _ => write!(out, "<class '{path}'>"),
            }
        }
        _ => write!(out, "<{} object>", type_of(arena, value)),
    };
}

fn shortened(mut text: String) -> String {
    if text.len() > MAX_SHOWN {
        let end = (0..=MAX_SHOWN).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
        text.truncate(end);
        text.push('…');
    }
    text
}

/// What every refusal of `torch.load` says.
pub(crate) const UNSAFE_MESSAGE: &str = "In PyTorch 2.6, we changed the default value of the `weights_only` \
    argument in `torch.load` from `False` to `True`. Re-running `torch.load` with `weights_only` set \
    to `False` will likely succeed, but it can result in arbitrary code execution. Do it only if you \
    got the file from a trusted source.";

const DOCS_MESSAGE: &str = "\n\nCheck the documentation of torch.load to learn more about types \
    accepted by default with weights_only \
    https://pytorch.org/docs/stable/generated/torch.load.html.";

/// How the messages of torch's unpickler itself begin; others are Python's, and not wrapped.
static UNPICKLER_MESSAGES: [&str; 10] = [
    "Can only append to lists",
    "Can only build ",
    "Can only create new object",
    "Can only extend lists",
    "Can only SETITEM",
    "Only persistent_load of storage",
    "Trying to ",
    "Unsupported ",
    "``torch.distributed.tensor``",
    "persistent_load id must be",
];

/// The whole text that `torch.load` raises around one message of its unpickler.
pub fn pytorch_message(inner: &str) -> String {
    if !UNPICKLER_MESSAGES.iter().any(|start| inner.starts_with(start)) {
        return inner.to_owned();
    }
    if has_word_between(inner, "GLOBAL ", " was not an allowed global by default") {
        return format!(
            "Weights only load failed. This file can still be loaded, to do so you have two options, \
             \x1b[1mdo those steps only if you trust the source of the checkpoint\x1b[0m. \n\t(1) \
             {UNSAFE_MESSAGE}\n\t(2) Alternatively, to load with `weights_only=True` please check \
             the recommended steps in the following error message.\n\tWeightsUnpickler error: \
             {inner}{DOCS_MESSAGE}"
        );
    }
    if has_word_between(inner, " must be ", " to load")
        && inner
            .split_once(" must be ")
            .is_some_and(|(before, _)| before.ends_with(|c: char| !c.is_whitespace()))
    {
        return format!("Weights only load failed. {inner}\n {UNSAFE_MESSAGE}\n");
    }
    let please = match has_word_between(inner, "whose module ", " is blocked") {
        true => "",
        false => {
            "Please file an issue with the following so that we can make `weights_only=True` \
             compatible with your use case: WeightsUnpickler error: "
        }
    };
    format!("Weights only load failed. {UNSAFE_MESSAGE}\n{please}\n\n{inner}{DOCS_MESSAGE}")
}

/// Whether somewhere in `text` exactly one word stands between `before` and `after`.
fn has_word_between(text: &str, before: &str, after: &str) -> bool {
    text.match_indices(before).any(|(at, _)| {
        let rest = &text[at + before.len()..];
        let word = rest.find(char::is_whitespace).unwrap_or(rest.len());
        word > 0 && rest[word..].starts_with(after)
    })
}

#[cfg(test)]
mod tests {
    use sconce_pickle::{Limits, load_with};

    use super::*;

    /// Cases that end as in torch with other words: the machine's own check comes first, or the
    /// message shows an object that is not made here.
    static OTHER_WORDS: [&str; 16] = [
        "opcode GLOBAL",
        "global without module",
        "reduce an int",
        "reduce a str",
        "reduce None",
        "reduce a list",
        "reduce a set",
        "reduce a nested list",
        "newobj an int",
        "newobj a str",
        "newobj None",
        "newobj a list",
        "reduce a tensor",
        "reduce a Size",
        "reduce a storage",
        "newobj a tensor",
    ];

    /// Cases that end otherwise, and why.
    static OTHERWISE: [(&str, &str); 3] = [
        ("short string not utf-8", "strings are decoded by the builder of the objects"),
        ("newobj args list", "the machine takes only tuples, as C does"),
        ("newobj, allowed function", "an allowed name may be a class"),
    ];

    #[test]
    fn tables_are_sorted() {
        assert!(RESULTS.is_sorted_by(|a, b| a.0 < b.0));
        assert!(NUMPY_DTYPES.is_sorted_by(|a, b| a.0 < b.0));
    }

    #[test]
    fn decides_as_torch_does() {
        let mut problems = Vec::new();
        let mut cases = 0;
        for line in include_str!("../tests/golden/weights_only.tsv").lines().skip(1) {
            let columns: Vec<&str> = line.split('\t').collect();
            let [name, allowed, hex, outcome, detail] = columns[..] else { panic!("{line}") };
            cases += 1;
            let mut list = AllowList::default();
            for name in allowed.split(',').filter(|name| !name.is_empty()) {
                list.allow(name);
            }
            let bytes = unhex(hex);
            let mut policy = WeightsOnly::new(&list);
            let found = load_with(&bytes, &Limits::default(), &mut policy);
            let (found, text) = match &found {
                Ok(loaded) => {
                    let kind = type_of(&loaded.arena, loaded.root);
                    ("ok", format!("<class '{kind}'>"))
                }
                Err(error) => ("error", pytorch_message(&message_of(error))),
            };
            let same_outcome = (found == "ok") == (outcome == "ok");
            let by_torch = matches!(outcome, "ok" | "UnpicklingError");
            let other_words = OTHER_WORDS.contains(&name);
            let otherwise = OTHERWISE.iter().any(|(known, _)| *known == name);
            let same_words = !by_torch || other_words || otherwise || text == unescape(detail);
            if same_outcome == otherwise || !same_words {
                problems.push(format!("{name}: torch {outcome} {detail}\n    here {found} {text}"));
            }
        }
        assert!(cases > 300, "{cases}");
        assert!(problems.is_empty(), "{} problems\n{}", problems.len(), problems.join("\n"));
    }

    #[test]
    fn what_cannot_be_called_is_shown() {
        // A pickle whose result is called, and how Python shows it.
        let cases: [(&[u8], &str); 9] = [
            (b"K\x01.", "1"),
            (b"X\x01\0\0\0f.", "f"),
            (b"N.", "None"),
            (b"\x8f.", "set()"),
            (b"](K\x01X\x01\0\0\0x]e.", "[1, 'x', []]"),
            (b"K\x01\x85.", "(1,)"),
            (b"}(K\x01)K\x02\x88u.", "{1: (), 2: True}"),
            (b"G?\xf8\0\0\0\0\0\0ctorch\nSize\n\x86.", "(1.5, <class 'torch.Size'>)"),
            (b"]ctorch._utils\n_rebuild_tensor\na.", "[<function _rebuild_tensor>]"),
        ];
        let list = AllowList::default();
        let mut policy = WeightsOnly::new(&list);
        for (bytes, shown) in cases {
            let loaded = load_with(bytes, &Limits::default(), &mut policy).unwrap();
            let root = loaded.root;
            let refusal = policy.call(&loaded.arena, CallKind::Reduce, root, root, 0).unwrap_err();
            assert_eq!(
                refusal.0,
                format!("Trying to call reduce for unrecognized function {shown}")
            );
        }
    }

    #[test]
    fn shown_values_are_bounded() {
        // A list that holds itself, and one that doubles sixty times.
        let mut doubling = b"]".to_vec();
        for _ in 0..60 {
            doubling.extend_from_slice(b"q\x00h\x00\x86");
        }
        doubling.push(b'.');
        let list = AllowList::default();
        for bytes in [&b"]q\0h\0a."[..], &doubling] {
            let loaded =
                load_with(bytes, &Limits::default(), &mut WeightsOnly::new(&list)).unwrap();
            assert!(shown(&loaded.arena, loaded.root).len() < MAX_SHOWN + 100);
        }
    }

    #[test]
    fn other_protocols_are_warned_of() {
        let list = AllowList::default();
        for (bytes, warnings) in [(&b"\x80\x02N."[..], 0), (b"\x80\x04N.", 1), (b"N.", 0)] {
            let mut policy = WeightsOnly::new(&list);
            load_with(bytes, &Limits::default(), &mut policy).unwrap();
            assert_eq!(policy.warnings.len(), warnings);
        }
    }

    fn unhex(hex: &str) -> Vec<u8> {
        let digit = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
        (0..hex.len()).step_by(2).map(digit).collect()
    }

    fn unescape(text: &str) -> String {
        let mut out = String::new();
        let mut chars = text.chars();
        while let Some(c) = chars.next() {
            out.push(match c {
                '\\' => match chars.next() {
                    Some('n') => '\n',
                    Some('t') => '\t',
                    Some('e') => '\x1b',
                    other => other.unwrap(),
                },
                c => c,
            });
        }
        out
    }
}
