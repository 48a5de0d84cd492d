//! What constructors use of Python's libraries and of torch besides its operators.

use std::sync::Arc;

use sconce_tensor::DType;

use super::arguments::{Keywords, LibraryArguments};
use super::control_flow::{Outcome, refuse};
use super::value::{Cell, Key, Partial, Value};
use super::{Attributes, Interpreter, execution};

/// What stands for the `__init__` that a data class gets.
pub(super) const DATA_CLASS_INIT: &str = "dataclasses.__init__";

/// What does nothing here: decorators give back what they decorate, other calls themselves, which
/// `with` takes.
const INERT: &[&str] = &[
    "sconce.inert",
    "abc.abstractmethod",
    "contextlib.contextmanager",
    "contextlib.nullcontext",
    "functools.cache",
    "functools.lru_cache",
    "torch._jit_internal._copy_to_script_wrapper",
    "torch._jit_internal._overload_method",
    "torch._jit_internal.export",
    "torch._jit_internal.ignore",
    "torch._jit_internal.unused",
    "torch.autograd.grad_mode.no_grad",
    "torch.enable_grad",
    "torch.fx._symbolic_trace.wrap",
    "torch.fx.wrap",
    "torch.inference_mode",
    "torch.jit._overload",
    "torch.jit._overload_method",
    "torch.jit.export",
    "torch.jit.ignore",
    "torch.jit.interface",
    "torch.jit.script",
    "torch.jit.unused",
    "torch.set_grad_enabled",
    "typing.final",
    "typing.no_type_check",
    "typing.overload",
    "typing.runtime_checkable",
    "typing_extensions.deprecated",
    "typing_extensions.override",
    "warnings.catch_warnings",
];

/// What is called for what it does elsewhere, and gives nothing.
const IGNORED: &[&str] = &[
    "torch._C._log_api_usage_once",
    "torch.manual_seed",
    "torch.random.manual_seed",
    "torch.cuda.manual_seed",
    "torch.cuda.manual_seed_all",
    "warnings.simplefilter",
    "warnings.filterwarnings",
    "warnings.warn",
];

/// `keyword.kwlist`
const KEYWORDS: &str = "False None True and as assert async await break class continue def del elif else except \
                        finally for from global if import in is lambda nonlocal not or pass raise return try \
                        while with yield";

/// Questions about the process with one answer here.
const ANSWERS: &[(&str, bool)] = &[
    ("torch.cuda.is_available", false),
    ("torch.backends.mps.is_available", false),
    ("torch.is_grad_enabled", true),
    ("torch.are_deterministic_algorithms_enabled", false),
    ("torch.is_deterministic_algorithms_warn_only_enabled", false),
    ("torch.jit.is_scripting", false),
    ("torch._C._get_tracing_state", false),
    ("torch.jit.is_tracing", false),
    ("torch.jit._trace.is_tracing", false),
    ("torch._C._is_tracing", false),
    ("torch.compiler.is_compiling", false),
    ("torch.distributed.is_available", false),
];

/// Whether calls of a function or class are answered here, whatever its source says.
pub(super) fn answers(name: &str) -> bool {
    INERT.contains(&name)
        || super::execution::answers(name)
        || IGNORED.contains(&name)
        || ANSWERS.iter().any(|(known, _)| *known == name)
}

impl Interpreter<'_> {
    /// A member of a library that is none of its names in the table; `Some(None)` for one that it
    /// does not have.
    pub(super) fn library_attribute(
        &mut self,
        base: &str,
        name: &str,
    ) -> Outcome<Option<Option<Value>>> {
        Ok(match (base, name) {
            ("builtins.object" | "builtins.type" | "builtins.dict" | "itertools.chain", _) => {
                Some(Some(Value::library(&format!("{base}.{name}"))))
            }
            ("builtins.tuple", "__new__" | "__getitem__") => {
                Some(Some(Value::library(&format!("builtins.object.{name}"))))
            }
            (_, "__dict__" | "__wrapped__" | "__version_info__") => Some(None),
            ("re", _) => execution::regex_flag(name).map(|flag| Some(Value::Int(flag))),
            ("torch.Tensor", _) => Some(Some(Value::library(&format!("torch.Tensor.{name}")))),
            _ => None,
        })
    }

    pub(super) fn call_library(
        &mut self,
        name: &str,
        args: Vec<Value>,
        keywords: Keywords,
    ) -> Outcome<Value> {
        if let Some(method) = name.strip_prefix("builtins.object.") {
            return self.object_function(method, args, keywords);
        }
        if let Some(method) = name.strip_prefix("builtins.type.") {
            return self.type_function(method, args, keywords);
        }
        if self.is_library_exception(name) {
            return self.library_exception(name, args);
        }
        if name == DATA_CLASS_INIT {
            return self.data_class_init(args, keywords);
        }
        if let Some(method) = name.strip_prefix("torch.Tensor.") {
            let mut args = args;
            if args.is_empty() {
                return self.type_error(format!("{name}() needs a tensor"));
            }
            let receiver = args.remove(0);
            return self.tensor_method(&receiver, method, args, keywords);
        }
        if INERT.contains(&name) {
            let mut args = args;
            let is_decorated = args.len() == 1
                && args
                    .first()
                    .is_some_and(|arg| !matches!(arg, Value::Library(_)) && self.is_callable(arg));
            return Ok(if is_decorated { args.remove(0) } else { Value::library("sconce.inert") });
        }
        if IGNORED.contains(&name) || name.starts_with("logging.") {
            return Ok(match name {
                "logging.getLogger" => Value::library("logging.Logger()"),
                _ => Value::None,
            });
        }
        if let Some(unknown) = self.call_with_unknown(name, &args, &keywords)? {
            return Ok(unknown);
        }
        if name.rsplit('.').next().is_some_and(|name| name.starts_with("has_torch_function")) {
            return Ok(Value::Bool(false));
        }
        if let Some((_, answer)) = ANSWERS.iter().find(|(known, _)| *known == name) {
            return Ok(Value::Bool(*answer));
        }
        let mut given = LibraryArguments::new(name, args, keywords);
        if let Some(result) = self.call_of_execution(name, &mut given)? {
            self.done(given)?;
            return Ok(result);
        }
        if let Some(result) = self.call_known(name, &mut given)? {
            self.done(given)?;
            return Ok(result);
        }
        let (args, keywords) = (given.rest(), given.named());
        match name.strip_prefix("builtins.") {
            Some(name) => self.call_builtin(name, args, keywords),
            None => self.call_torch(name, args, keywords),
        }
    }

    fn call_known(&mut self, name: &str, given: &mut LibraryArguments) -> Outcome<Option<Value>> {
        if name.starts_with("itertools.") {
            return self.call_itertools(name, given).map(Some);
        }
        Ok(Some(match name {
            "torch.nn.parameter.Parameter" => {
                let data = given.take(0, "data").unwrap_or(Value::None);
                let requires_grad = match given.take(1, "requires_grad") {
                    Some(value) => self.truth(&value)?,
                    None => true,
                };
                self.new_parameter(&data, requires_grad)?
            }
            "torch.get_default_dtype" => Value::DType(DType::Float32),
            "torch.device" => self.device(given)?,
            "torch.Size" => {
                let sizes = given.take(0, "sizes");
                let items = match sizes {
                    Some(sizes) => self.iterate(&sizes)?,
                    None => Vec::new(),
                };
                self.new_tuple(items)?
            }
            // Programs see no variables of the process.
            "os.getenv" | "os.environ.get" if self.execution.is_none() => {
                self.needed(given, 0, "key")?;
                given.take(1, "default").unwrap_or(Value::None)
            }
            "builtins.__import__" | "importlib.import_module" => {
                let name = self.needed(given, 0, "name")?;
                let name = self.string(&name)?;
                drop((given.rest(), given.named()));
                self.module_on_path(&name)?
            }
            "importlib.util.find_spec" => {
                let name = self.needed(given, 0, "name")?;
                given.take(1, "package");
                let name = self.string(&name)?;
                match self.loader.is_installed(&name) {
                    true => Value::library("importlib.machinery.ModuleSpec()"),
                    false => Value::None,
                }
            }
            "torch.finfo" | "torch.iinfo" => {
                let dtype = match given.take(0, "type") {
                    Some(dtype) => self.text(&dtype)?,
                    None => "torch.float32".to_owned(),
                };
                let short = name.trim_start_matches("torch.");
                let Some(class) = self.loader.defined("sconce.dtypes", short)? else {
                    return refuse("the limits of dtypes are not known here");
                };
                let class = self.object(class)?;
                self.call(&class, vec![Value::str(dtype)], Vec::new())?
            }
            "keyword.iskeyword" => {
                let text = self.needed(given, 0, "s")?;
                let is_keyword = |text: &str| KEYWORDS.split(' ').any(|known| known == text);
                Value::Bool(matches!(&text, Value::Str(text) if is_keyword(text)))
            }
            "traceback.format_exception" => {
                drop((given.rest(), given.named()));
                self.new_list(Vec::new())?
            }
            "torch.is_tensor" => {
                let value = self.needed(given, 0, "obj")?;
                Value::Bool(self.arena.tensor(&value).is_some())
            }
            "torch.Generator" => Value::None,
            "sconce.parameters" => {
                let function = self.needed(given, 0, "function")?;
                self.parameters(&function)?
            }
            "torch._jit_internal.boolean_dispatch" => {
                let keywords = given.named();
                let function = Value::library("sconce.dispatch");
                let settings = self.dict_of(keywords)?;
                let args = vec![settings];
                self.new_cell(Cell::Partial(Partial::new(function, args, Vec::new())))?
            }
            "sconce.dispatch" => self.dispatch(given)?,
            // What it refers to does not go away here.
            "weakref.ref" => {
                let args = vec![self.needed(given, 0, "object")?];
                let function = Value::library("sconce.referent");
                self.new_cell(Cell::Partial(Partial::new(function, args, Vec::new())))?
            }
            "sconce.referent" => self.needed(given, 0, "object")?,
            "torch.jit.annotate" | "torch._jit_internal.annotate" => {
                drop(given.take(0, "the_type"));
                self.needed(given, 1, "the_value")?
            }
            "torch.typename" => {
                let value = self.needed(given, 0, "obj")?;
                Value::Str(self.type_name(&value))
            }
            "collections.OrderedDict" => {
                let source = given.take(0, "source");
                let keywords = given.named();
                let dict = self.dict_from(source, keywords)?;
                self.new_dict(dict)?
            }
            "builtins.dict.fromkeys" => {
                let keys = self.needed(given, 0, "iterable")?;
                let value = given.take(1, "value").unwrap_or(Value::None);
                let mut dict = super::value::Dict::default();
                for key in self.iterate(&keys)? {
                    self.insert(&mut dict, key, value.clone())?;
                }
                self.new_dict(dict)?
            }
            "functools.partial" => {
                let function = self.needed(given, 0, "func")?;
                let (args, keywords) = (given.rest(), given.named());
                self.spend_items(args.len() + keywords.len())?;
                self.new_cell(Cell::Partial(Partial::new(function, args, keywords)))?
            }
            "functools.wraps" => {
                let wrapped = self.needed(given, 0, "wrapped")?;
                drop((given.rest(), given.named()));
                let function = Value::library("functools.update_wrapper");
                let keywords = vec![("wrapped".into(), wrapped)];
                self.new_cell(Cell::Partial(Partial::new(function, Vec::new(), keywords)))?
            }
            "functools.update_wrapper" => {
                let wrapper = self.needed(given, 0, "wrapper")?;
                let wrapped = self.needed(given, 1, "wrapped")?;
                let has_attributes = matches!(
                    self.arena.cell(&wrapper),
                    Some(Cell::Function(_) | Cell::Class(_) | Cell::Partial(_))
                );
                if has_attributes {
                    for name in ["__name__", "__doc__", "__module__"] {
                        if let Some(value) = self.attribute_or_none(&wrapped, name)? {
                            self.set_attribute(&wrapper, name, value)?;
                        }
                    }
                    self.set_attribute(&wrapper, "__wrapped__", wrapped)?;
                }
                wrapper
            }
            "functools.reduce" => {
                let function = self.needed(given, 0, "function")?;
                let items = self.needed(given, 1, "iterable")?;
                let mut items = self.iterate(&items)?.into_iter();
                let first = given.take(2, "initial").or_else(|| items.next());
                let Some(mut total) = first else {
                    return self.type_error("reduce() of empty iterable with no initial value");
                };
                for item in items {
                    total = self.call(&function, vec![total, item], Vec::new())?;
                }
                total
            }
            "copy.deepcopy" | "copy.copy" => {
                let value = self.needed(given, 0, "x")?;
                match name {
                    "copy.copy" => self.shallow_copy(&value)?,
                    _ => self.deep_copy(&value)?,
                }
            }
            "operator.index" => {
                let value = self.needed(given, 0, "a")?;
                Value::Int(self.int(&value)?)
            }
            "operator.mul" | "operator.add" => {
                let left = self.needed(given, 0, "a")?;
                let right = self.needed(given, 1, "b")?;
                let op = match name {
                    "operator.mul" => ruff_python_ast::Operator::Mult,
                    _ => ruff_python_ast::Operator::Add,
                };
                self.binary(op, &left, &right)?
            }
            "math.prod" | "numpy.prod" => {
                let items = self.needed(given, 0, "iterable")?;
                let mut total = given.take(1, "start").unwrap_or(Value::Int(1));
                let items = match items.as_int() {
                    Some(_) => vec![items],
                    None => self.iterate(&items)?,
                };
                for item in items {
                    total = self.binary(ruff_python_ast::Operator::Mult, &total, &item)?;
                }
                match total {
                    Value::Int(value) if name == "numpy.prod" => Value::NumpyInt(value),
                    other => other,
                }
            }
            "math.comb" => {
                let (n, k) = (self.needed(given, 0, "n")?, self.needed(given, 1, "k")?);
                let (n, k) = (self.int(&n)?, self.int(&k)?);
                match combinations(n, k) {
                    Some(count) => Value::Int(count),
                    None if n < 0 || k < 0 => {
                        return self.raise("ValueError", "n and k must be non-negative integers");
                    }
                    None => return refuse("an int of more than 64 bits is not supported here"),
                }
            }
            "math.sqrt" | "numpy.sqrt" | "math.log2" | "math.fsum" | "math.isclose"
            | "math.trunc" | "math.dist" | "numpy.log" | "numpy.exp" => {
                self.call_math(name, given)?
            }
            "numpy.int64" => {
                let value = self.needed(given, 0, "value")?;
                Value::NumpyInt(self.int(&value)?)
            }
            "numpy.float64" => {
                let value = self.needed(given, 0, "x")?;
                self.float_from(&value)?
            }
            "numpy.ones" | "numpy.zeros" => {
                let shape = self.needed(given, 0, "shape")?;
                let Value::Int(count) = shape else {
                    return refuse(format!("{name} of more than one dimension"));
                };
                let count = usize::try_from(count).unwrap_or(0);
                self.spend_items(count)?;
                self.tensor_of(&vec![if name == "numpy.ones" { 1.0 } else { 0.0 }; count])?
            }
            "numpy.hanning" => {
                let count = self.needed(given, 0, "M")?;
                let count = self.int(&count)?.max(0);
                self.spend_items(usize::try_from(count).unwrap_or(0))?;
                let last = (count - 1) as f64;
                let window = |at: i64| match count {
                    1 => 1.0,
                    _ => {
                        0.5 + 0.5
                            * (std::f64::consts::PI * (1 - count + 2 * at) as f64 / last).cos()
                    }
                };
                self.tensor_of(&(0..count).map(window).collect::<Vec<f64>>())?
            }
            "numpy.atleast_1d" => {
                let value = self.needed(given, 0, "x")?;
                let items = match self.arena.cell(&value) {
                    Some(Cell::List(_) | Cell::Tuple(_)) => self.iterate(&value)?,
                    Some(Cell::Tensor(_)) => return Ok(Some(value)),
                    _ => vec![value],
                };
                let list = self.new_list(items)?;
                self.call_library("torch.tensor", vec![list], Vec::new())?
            }
            "numpy.any" | "numpy.all" => {
                let value = self.needed(given, 0, "a")?;
                let method = if name == "numpy.any" { "any" } else { "all" };
                let found = self.tensor_method(&value, method, Vec::new(), Vec::new())?;
                Value::Bool(self.truth(&found)?)
            }
            "numpy.arange" => {
                let mut bounds = given.rest();
                if bounds.is_empty() {
                    bounds = vec![self.needed(given, 0, "stop")?];
                }
                let is_whole = bounds.iter().all(|bound| bound.as_int().is_some());
                let dtype = if is_whole { DType::Int64 } else { DType::Float64 };
                let keywords = vec![Self::keyword("dtype", Value::DType(dtype))];
                self.call_library("torch.arange", bounds, keywords)?
            }
            "numpy.min" | "numpy.max" | "numpy.amin" | "numpy.amax" => {
                let value = self.needed(given, 0, "a")?;
                let method = if name.ends_with("min") { "min" } else { "max" };
                let found = match self.arena.cell(&value) {
                    Some(Cell::Tensor(_)) => {
                        let found = self.tensor_method(&value, method, Vec::new(), Vec::new())?;
                        self.tensor_method(&found, "item", Vec::new(), Vec::new())?
                    }
                    _ => {
                        let method = format!("builtins.{method}");
                        self.call_library(&method, vec![value], Vec::new())?
                    }
                };
                match found {
                    Value::Int(value) => Value::NumpyInt(value),
                    other => other,
                }
            }
            "numpy.linspace" => {
                let start = self.needed(given, 0, "start")?.as_float().unwrap_or(0.0);
                let stop = self.needed(given, 1, "stop")?.as_float().unwrap_or(0.0);
                let count = match given.take(2, "num") {
                    Some(count) => usize::try_from(self.int(&count)?).unwrap_or(0),
                    None => 50,
                };
                self.spend_items(count)?;
                let step = (stop - start) / count.saturating_sub(1).max(1) as f64;
                let mut numbers: Vec<f64> = (0..count).map(|at| start + at as f64 * step).collect();
                if let (Some(last), true) = (numbers.last_mut(), count > 1) {
                    *last = stop;
                }
                self.tensor_of(&numbers)?
            }
            "typing.cast" => {
                given.take(0, "typ");
                self.needed(given, 1, "val")?
            }
            "typing.TypeVar" | "typing.ParamSpec" if self.execution.is_some() => {
                drop((given.rest(), given.named()));
                Value::library("typing.TypeVar()")
            }
            "typing.TypeVar" | "typing.NewType" | "typing.ParamSpec" => {
                drop((given.rest(), given.named()));
                Value::library("typing.Any")
            }
            "collections.namedtuple" => self.named_tuple_class(given)?,
            "dataclasses.dataclass" => match given.take(0, "cls") {
                Some(class) => self.make_data_class(&class)?,
                None => {
                    drop(given.named());
                    Value::library("dataclasses.dataclass")
                }
            },
            "dataclasses.field" => {
                let keywords = given.named();
                let function = Value::library(name);
                self.new_cell(Cell::Partial(Partial::new(function, Vec::new(), keywords)))?
            }
            "enum.auto" => Value::library("enum.auto()"),
            "enum.unique" => self.needed(given, 0, "enumeration")?,
            _ => return Ok(None),
        }))
    }

    /// One of two functions, by a flag among the arguments.
    fn dispatch(&mut self, given: &mut LibraryArguments) -> Outcome<Value> {
        let settings = self.needed(given, 0, "settings")?;
        let (args, keywords) = (given.rest(), given.named());
        let mut setting = |name: &str| self.item(&settings, &Value::str(name));
        let (name, index) = (setting("arg_name")?, setting("arg_index")?);
        let (default, if_true) = (setting("default")?, setting("if_true")?);
        let if_false = setting("if_false")?;
        let (name, index) = (self.string(&name)?, self.int(&index)?);
        let by_name = keywords.iter().find(|(known, _)| *known == name).map(|(_, value)| value);
        let by_place = usize::try_from(index).ok().and_then(|at| args.get(at));
        let flag = by_name.or(by_place).cloned().unwrap_or(default);
        let chosen = if self.truth(&flag)? { if_true } else { if_false };
        self.call(&chosen, args, keywords)
    }

    fn device(&mut self, given: &mut LibraryArguments) -> Outcome<Value> {
        let device = self.needed(given, 0, "type")?;
        if matches!(device, Value::Device(_)) {
            return Ok(device);
        }
        let device = self.string(&device)?;
        Ok(Value::Device(match given.take(1, "index") {
            Some(Value::Int(index)) => format!("{device}:{index}").into(),
            _ => device,
        }))
    }

    fn call_math(&mut self, name: &str, given: &mut LibraryArguments) -> Outcome<Value> {
        if name == "math.fsum" {
            let items = self.needed(given, 0, "seq")?;
            let mut total = 0.0;
            for item in self.iterate(&items)? {
                total += item.as_float().unwrap_or(f64::NAN);
            }
            return Ok(Value::Float(total));
        }
        let value = self.needed(given, 0, "x")?;
        let Value::Float(x) = self.float_from(&value)? else { return refuse("no float") };
        if matches!(name, "math.sqrt" | "numpy.sqrt") && x < 0.0 {
            return self.raise("ValueError", "math domain error");
        }
        if matches!(name, "math.log2" | "numpy.log") && x <= 0.0 {
            return self.raise("ValueError", "math domain error");
        }
        Ok(match name {
            "math.sqrt" | "numpy.sqrt" => Value::Float(x.sqrt()),
            "math.log2" => Value::Float(x.log2()),
            "numpy.log" => Value::Float(x.ln()),
            "numpy.exp" => Value::Float(x.exp()),
            "math.trunc" => Value::Int(x.trunc() as i64),
            "math.isclose" => {
                let other = self.needed(given, 1, "b")?;
                let Value::Float(y) = self.float_from(&other)? else { return refuse("no float") };
                let relative = given.take(usize::MAX, "rel_tol").and_then(|value| value.as_float());
                let absolute = given.take(usize::MAX, "abs_tol").and_then(|value| value.as_float());
                let bound = relative.unwrap_or(1e-9) * x.abs().max(y.abs());
                Value::Bool(x == y || (x - y).abs() <= bound.max(absolute.unwrap_or(0.0)))
            }
            _ => return self.unknown_function(name),
        })
    }

    fn call_itertools(&mut self, name: &str, given: &mut LibraryArguments) -> Outcome<Value> {
        let items = match name {
            "itertools.chain" | "itertools.chain.from_iterable" => {
                let mut parts = given.rest();
                if name == "itertools.chain.from_iterable"
                    && let [only] = parts.as_slice()
                {
                    parts = self.iterate(&only.clone())?;
                }
                let mut items = Vec::new();
                for part in parts {
                    items.extend(self.iterate(&part)?);
                }
                items
            }
            "itertools.repeat" => {
                let value = self.needed(given, 0, "object")?;
                let Some(times) = given.take(1, "times") else {
                    return refuse("an endless itertools.repeat is not supported here");
                };
                let times = usize::try_from(self.int(&times)?).unwrap_or(0);
                self.spend_items(times)?;
                vec![value; times]
            }
            "itertools.islice" => {
                let items = self.needed(given, 0, "iterable")?;
                let items = self.iterate(&items)?;
                let bounds = given.rest();
                let at = |at: usize| bounds.get(at).cloned().unwrap_or(Value::None);
                let (start, stop, step) = match bounds.len() {
                    1 => (Value::None, at(0), Value::None),
                    _ => (at(0), at(1), at(2)),
                };
                let places = self.slice_indices(&start, &stop, &step, items.len())?;
                places.into_iter().filter_map(|at| items.get(at).cloned()).collect()
            }
            "itertools.accumulate" => {
                let items = self.needed(given, 0, "iterable")?;
                let mut made: Vec<Value> = Vec::new();
                for item in self.iterate(&items)? {
                    let next = match made.last().cloned() {
                        Some(last) => self.binary(ruff_python_ast::Operator::Add, &last, &item)?,
                        None => item,
                    };
                    made.push(next);
                }
                made
            }
            "itertools.product" => {
                let mut rows: Vec<Vec<Value>> = vec![Vec::new()];
                for column in given.rest() {
                    let column = self.iterate(&column)?;
                    self.spend_items(rows.len().saturating_mul(column.len()).saturating_mul(8))?;
                    rows = rows
                        .iter()
                        .flat_map(|row| {
                            column.iter().map(move |item| {
                                row.iter().cloned().chain([item.clone()]).collect()
                            })
                        })
                        .collect();
                }
                let mut tuples = Vec::with_capacity(rows.len());
                for row in rows {
                    tuples.push(self.new_tuple(row)?);
                }
                tuples
            }
            "itertools.pairwise" => {
                let items = self.needed(given, 0, "iterable")?;
                let items = self.iterate(&items)?;
                let mut pairs = Vec::new();
                for pair in items.windows(2) {
                    pairs.push(self.new_tuple(pair.to_vec())?);
                }
                pairs
            }
            _ => return self.unknown_function(name),
        };
        self.new_iterator(items)
    }

    fn shallow_copy(&mut self, value: &Value) -> Outcome<Value> {
        match self.arena.cell(value) {
            Some(Cell::List(items)) => {
                let items = items.clone();
                self.new_list(items)
            }
            Some(Cell::Dict(dict)) => {
                let dict = dict.clone();
                self.new_dict(dict)
            }
            Some(Cell::Set(set)) => {
                let set = set.clone();
                self.spend_items(set.len() * 3)?;
                self.new_cell(Cell::Set(set))
            }
            Some(Cell::Instance(instance)) => {
                let (class, attributes) = (instance.class, instance.attributes.clone());
                self.spend_items(attributes.len() * 2)?;
                self.new_cell(Cell::Instance(super::value::Instance { class, attributes }))
            }
            _ => Ok(value.clone()),
        }
    }

    /// `copy.deepcopy(value)`
    fn deep_copy(&mut self, value: &Value) -> Outcome<Value> {
        let mut known = rustc_hash::FxHashMap::default();
        self.copied(value, &mut known)
    }

    fn copied(
        &mut self,
        value: &Value,
        known: &mut rustc_hash::FxHashMap<super::Id, Value>,
    ) -> Outcome<Value> {
        let Value::Ref(id) = value else { return Ok(value.clone()) };
        if let Some(copy) = known.get(id) {
            return Ok(copy.clone());
        }
        self.step()?;
        self.nested(|this| this.copied_cell(*id, known))
    }

    fn copied_cell(
        &mut self,
        id: super::Id,
        known: &mut rustc_hash::FxHashMap<super::Id, Value>,
    ) -> Outcome<Value> {
        match self.arena.get(id) {
            Cell::List(items) => {
                let items = items.clone();
                let copy = self.new_list(Vec::new())?;
                known.insert(id, copy.clone());
                let items = self.all_copied(&items, known)?;
                if let Value::Ref(at) = copy
                    && let Some(list) = self.arena.list_mut(at)
                {
                    *list = items;
                }
                Ok(copy)
            }
            Cell::Tuple(tuple) => {
                let (items, class) = (tuple.items.clone(), tuple.class);
                let items = self.all_copied(&items, known)?;
                self.spend_items(items.len())?;
                let copy = self.new_cell(Cell::Tuple(super::value::Tuple { items, class }))?;
                known.insert(id, copy.clone());
                Ok(copy)
            }
            Cell::Dict(dict) => {
                let entries: Vec<(Key, (Value, Value))> =
                    dict.iter().map(|(key, entry)| (key.clone(), entry.clone())).collect();
                let copy = self.new_dict(super::value::Dict::default())?;
                known.insert(id, copy.clone());
                for (key, (name, value)) in entries {
                    let value = self.copied(&value, known)?;
                    self.spend_items(3)?;
                    if let Value::Ref(at) = copy
                        && let Some(dict) = self.arena.dict_mut(at)
                    {
                        dict.insert(key, (name, value));
                    }
                }
                Ok(copy)
            }
            Cell::Instance(instance) => {
                let (class, attributes) = (instance.class, instance.attributes.clone());
                if self.member(class, "__deepcopy__").is_some() {
                    return refuse("objects with a __deepcopy__ are not supported here");
                }
                let is_enum = self.enum_members(&Value::Ref(class)).is_some();
                if is_enum {
                    return Ok(Value::Ref(id));
                }
                let empty = super::value::Instance { class, attributes: Attributes::default() };
                let copy = self.new_cell(Cell::Instance(empty))?;
                known.insert(id, copy.clone());
                for (name, value) in attributes {
                    let value = self.copied(&value, known)?;
                    self.spend_items(2)?;
                    if let Value::Ref(at) = copy
                        && let Some(instance) = self.arena.instance_mut(at)
                    {
                        instance.attributes.insert(name, value);
                    }
                }
                Ok(copy)
            }
            Cell::Tensor(_) => {
                let copy = self.copied_tensor(&Value::Ref(id))?;
                known.insert(id, copy.clone());
                Ok(copy)
            }
            Cell::Method(receiver, function) => {
                let (receiver, function) = (receiver.clone(), function.clone());
                let receiver = self.copied(&receiver, known)?;
                self.new_cell(Cell::Method(receiver, function))
            }
            Cell::Set(set) => {
                let set = set.clone();
                self.spend_items(set.len() * 3)?;
                self.new_cell(Cell::Set(set))
            }
            _ => Ok(Value::Ref(id)),
        }
    }

    fn all_copied(
        &mut self,
        items: &[Value],
        known: &mut rustc_hash::FxHashMap<super::Id, Value>,
    ) -> Outcome<Vec<Value>> {
        self.spend_items(items.len())?;
        let mut copies = Vec::with_capacity(items.len());
        for item in items {
            copies.push(self.copied(item, known)?);
        }
        Ok(copies)
    }

    /// A name that stands for a value, as keywords have it.
    pub(super) fn keyword(name: &str, value: Value) -> (Arc<str>, Value) {
        (name.into(), value)
    }
}

/// How many ways there are to choose `k` of `n`; `None` where that is no 64-bit int.
fn combinations(n: i64, k: i64) -> Option<i64> {
    if n < 0 || k < 0 {
        return None;
    }
    if k > n {
        return Some(0);
    }
    let mut count: i128 = 1;
    for at in 0..i128::from(k.min(n - k)) {
        count = count.checked_mul(i128::from(n) - at)? / (at + 1);
    }
    i64::try_from(count).ok()
}
