//! Truth, equality, order, and what a value is an instance of.

use std::cmp::Ordering;

use ruff_python_ast::CmpOp;

use super::classes::MIXED_IN;
use super::control_flow::{Outcome, refuse};
use super::value::{Cell, ClassKind, Dict, Key, Value};
use super::{Interpreter, MAX_NESTED};
use crate::library;

/// Exceptions by what they are derived from, `Exception` aside.
const EXCEPTION_PARENTS: &[(&str, &str)] = &[
    ("KeyError", "LookupError"),
    ("IndexError", "LookupError"),
    ("ModuleNotFoundError", "ImportError"),
    ("NotImplementedError", "RuntimeError"),
    ("RecursionError", "RuntimeError"),
    ("ZeroDivisionError", "ArithmeticError"),
    ("OverflowError", "ArithmeticError"),
    ("FloatingPointError", "ArithmeticError"),
    ("UnicodeError", "ValueError"),
    ("UnboundLocalError", "NameError"),
    ("FileNotFoundError", "OSError"),
    ("PermissionError", "OSError"),
    ("TimeoutError", "OSError"),
    ("UserWarning", "Warning"),
    ("RuntimeWarning", "Warning"),
    ("FutureWarning", "Warning"),
    ("DeprecationWarning", "Warning"),
    ("IndentationError", "SyntaxError"),
];

/// Exceptions that are no `Exception`.
const BASE_EXCEPTIONS: &[&str] =
    &["BaseException", "SystemExit", "KeyboardInterrupt", "GeneratorExit"];

impl Interpreter<'_> {
    /// `bool(value)`
    pub(super) fn truth(&mut self, value: &Value) -> Outcome<bool> {
        Ok(match value {
            Value::None => false,
            Value::Bool(value) => *value,
            Value::Int(value) | Value::NumpyInt(value) => *value != 0,
            Value::Float(value) => *value != 0.0,
            Value::Complex(re, im) => *re != 0.0 || *im != 0.0,
            Value::Str(text) => !text.is_empty(),
            Value::Ref(id) => match self.arena.get(*id) {
                Cell::List(items) => !items.is_empty(),
                Cell::Tuple(tuple) => !tuple.items.is_empty(),
                Cell::Dict(dict) | Cell::Set(dict) => !dict.is_empty(),
                Cell::Range(start, stop, step) => range_length(*start, *stop, *step) > 0,
                Cell::Tensor(_) => return self.tensor_truth(value),
                Cell::Unknown(_) => return self.refuse_unknown(value),
                Cell::Instance(instance) => {
                    let class = instance.class;
                    if let Some(method) = self.member(class, "__bool__") {
                        let result = self.call(&method, vec![value.clone()], Vec::new())?;
                        return self.truth(&result);
                    }
                    if self.member(class, "__len__").is_some() {
                        return Ok(self.length(value)? > 0);
                    }
                    true
                }
                _ => true,
            },
            _ => true,
        })
    }

    /// `left == right`
    pub(super) fn equal(&mut self, left: &Value, right: &Value) -> Outcome<bool> {
        let result = self.nested(|this| this.equality(left, right))?;
        self.truth(&result)
    }

    fn equality(&mut self, left: &Value, right: &Value) -> Outcome<Value> {
        self.step()?;
        if let Some(unknown) = self.unknown_result(left, right)? {
            return Ok(unknown);
        }
        let plain = match (left, right) {
            (Value::Str(left), Value::Str(right)) => Some(left == right),
            (Value::Device(left), Value::Device(right)) => Some(left == right),
            (Value::Device(left), Value::Str(right)) | (Value::Str(left), Value::Device(right)) => {
                Some(left == right)
            }
            (Value::Complex(re, im), Value::Complex(other_re, other_im)) => {
                Some(re == other_re && im == other_im)
            }
            (Value::Int(left), Value::Int(right)) => Some(left == right),
            _ => match (left.as_float(), right.as_float()) {
                (Some(left), Some(right)) => Some(left == right),
                _ => None,
            },
        };
        if let Some(plain) = plain {
            return Ok(Value::Bool(plain));
        }
        if self.arena.tensor(left).is_some() || self.arena.tensor(right).is_some() {
            return match (left, right) {
                (Value::None, _) | (_, Value::None) => Ok(Value::Bool(false)),
                (Value::Str(_), _) | (_, Value::Str(_)) => Ok(Value::Bool(false)),
                _ => self.tensor_binary("==", left, right),
            };
        }
        let (Value::Ref(one), Value::Ref(other)) = (left, right) else {
            if let Some(result) = self.own_comparison("__eq__", left, right)? {
                return Ok(result);
            }
            return Ok(Value::Bool(left.is(right)));
        };
        match (self.arena.get(*one), self.arena.get(*other)) {
            (Cell::List(left), Cell::List(right)) => {
                let (left, right) = (left.clone(), right.clone());
                self.all_equal(&left, &right).map(Value::Bool)
            }
            (Cell::Tuple(one), Cell::Tuple(other)) => {
                let (one, other) = (one.items.clone(), other.items.clone());
                if let Some(result) = self.own_comparison("__eq__", left, right)? {
                    return Ok(result);
                }
                let (left, right) = (one, other);
                self.all_equal(&left, &right).map(Value::Bool)
            }
            (Cell::Dict(left), Cell::Dict(right)) => {
                if left.len() != right.len() {
                    return Ok(Value::Bool(false));
                }
                let mut pairs = Vec::new();
                for (key, (_, value)) in left {
                    match right.get(key) {
                        Some((_, other)) => pairs.push((value.clone(), other.clone())),
                        None => return Ok(Value::Bool(false)),
                    }
                }
                for (value, other) in pairs {
                    if !self.equal(&value, &other)? {
                        return Ok(Value::Bool(false));
                    }
                }
                Ok(Value::Bool(true))
            }
            (Cell::Set(left), Cell::Set(right)) => {
                let same =
                    left.len() == right.len() && left.keys().all(|key| right.contains_key(key));
                Ok(Value::Bool(same))
            }
            (Cell::Range(start, stop, step), Cell::Range(a, b, c)) => {
                Ok(Value::Bool((start, stop, step) == (a, b, c)))
            }
            _ => {
                if let Some(result) = self.own_comparison("__eq__", left, right)? {
                    return Ok(result);
                }
                Ok(Value::Bool(one == other))
            }
        }
    }

    fn own_comparison(
        &mut self,
        name: &str,
        left: &Value,
        right: &Value,
    ) -> Outcome<Option<Value>> {
        let Some(class) = self.own_class(left) else { return Ok(None) };
        if let Some(method) = self.member(class, name) {
            let result = self.call(&method, vec![left.clone(), right.clone()], Vec::new())?;
            return Ok((!matches!(result, Value::NotImplemented)).then_some(result));
        }
        // `class Format(str, Enum)`
        if name == "__eq__"
            && let Some(of) = self.arena.class(&Value::Ref(class))
            && (of.kind == ClassKind::Enum)
            && of
                .order
                .iter()
                .any(|base| matches!(base, Value::Library(name) if MIXED_IN.contains(&&**name)))
            && self.arena.instance(right).is_none()
        {
            let value = self.attribute(left, "value")?;
            return self.equal(&value, right).map(|same| Some(Value::Bool(same)));
        }
        // Data classes are equal where their fields are.
        let kind = self.arena.class(&Value::Ref(class)).map(|class| class.kind.clone());
        if name == "__eq__"
            && let Some(ClassKind::DataClass(fields)) = kind
            && self.arena.instance(right).is_some_and(|other| other.class == class)
        {
            for field in fields {
                let (one, other) = (self.attribute(left, &field)?, self.attribute(right, &field)?);
                if !self.equal(&one, &other)? {
                    return Ok(Some(Value::Bool(false)));
                }
            }
            return Ok(Some(Value::Bool(true)));
        }
        Ok(None)
    }

    fn all_equal(&mut self, left: &[Value], right: &[Value]) -> Outcome<bool> {
        if left.len() != right.len() {
            return Ok(false);
        }
        for (left, right) in left.iter().zip(right) {
            if !left.is(right) && !self.equal(left, right)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// One comparison.
    pub(super) fn compare(&mut self, op: CmpOp, left: &Value, right: &Value) -> Outcome<Value> {
        if let Some(unknown) = self.unknown_result(left, right)? {
            return Ok(unknown);
        }
        let symbol = match op {
            CmpOp::Is => return Ok(Value::Bool(left.is(right))),
            CmpOp::IsNot => return Ok(Value::Bool(!left.is(right))),
            CmpOp::In => return self.contains(right, left).map(Value::Bool),
            CmpOp::NotIn => return self.contains(right, left).map(|found| Value::Bool(!found)),
            CmpOp::Eq => return self.nested(|this| this.equality(left, right)),
            CmpOp::NotEq => {
                if self.arena.tensor(left).is_some() && !matches!(right, Value::None) {
                    return self.tensor_binary("!=", left, right);
                }
                if let Some(result) = self.own_comparison("__ne__", left, right)? {
                    return Ok(result);
                }
                return self.equal(left, right).map(|same| Value::Bool(!same));
            }
            CmpOp::Lt => "<",
            CmpOp::LtE => "<=",
            CmpOp::Gt => ">",
            CmpOp::GtE => ">=",
        };
        if self.arena.tensor(left).is_some() || self.arena.tensor(right).is_some() {
            return self.tensor_binary(symbol, left, right);
        }
        if let Some((left, right)) = self.as_versions(left, right)? {
            return self.nested(|this| this.compare(op, &left, &right));
        }
        let (name, mirrored) = match op {
            CmpOp::Lt => ("__lt__", "__gt__"),
            CmpOp::LtE => ("__le__", "__ge__"),
            CmpOp::Gt => ("__gt__", "__lt__"),
            _ => ("__ge__", "__le__"),
        };
        if let Some(result) = self.own_comparison(name, left, right)? {
            return Ok(result);
        }
        if let Some(result) = self.own_comparison(mirrored, right, left)? {
            return Ok(result);
        }
        if let (Some(Cell::Set(one)), Some(Cell::Set(other))) =
            (self.arena.cell(left), self.arena.cell(right))
        {
            let within = |one: &Dict, other: &Dict| one.keys().all(|key| other.contains_key(key));
            return Ok(Value::Bool(match op {
                CmpOp::Lt => one.len() < other.len() && within(one, other),
                CmpOp::LtE => within(one, other),
                CmpOp::Gt => one.len() > other.len() && within(other, one),
                _ => within(other, one),
            }));
        }
        let Some(order) = self.nested(|this| this.ordering(left, right))? else {
            if left.as_float().is_some() && right.as_float().is_some() {
                return Ok(Value::Bool(false));
            }
            let message = format!(
                "'{symbol}' not supported between instances of '{}' and '{}'",
                self.type_name(left),
                self.type_name(right)
            );
            return self.type_error(message);
        };
        Ok(Value::Bool(match op {
            CmpOp::Lt => order == Ordering::Less,
            CmpOp::LtE => order != Ordering::Greater,
            CmpOp::Gt => order == Ordering::Greater,
            _ => order != Ordering::Less,
        }))
    }

    /// The order of numbers, strings, lists and tuples; `None` where there is none.
    pub(super) fn ordering(&mut self, left: &Value, right: &Value) -> Outcome<Option<Ordering>> {
        self.step()?;
        match (left, right) {
            (Value::Str(left), Value::Str(right)) => return Ok(Some(left.cmp(right))),
            _ => {
                if let (Some(left), Some(right)) = (left.as_int(), right.as_int()) {
                    return Ok(Some(left.cmp(&right)));
                }
                if let (Some(left), Some(right)) = (left.as_float(), right.as_float()) {
                    return Ok(left.partial_cmp(&right));
                }
            }
        }
        let (left, right) = match (self.arena.cell(left), self.arena.cell(right)) {
            (Some(Cell::List(left)), Some(Cell::List(right))) => (left.clone(), right.clone()),
            (Some(Cell::Tuple(left)), Some(Cell::Tuple(right))) => {
                (left.items.clone(), right.items.clone())
            }
            _ => return Ok(None),
        };
        for (one, other) in left.iter().zip(&right) {
            if self.equal(one, other)? {
                continue;
            }
            return self.nested(|this| this.ordering(one, other));
        }
        Ok(Some(left.len().cmp(&right.len())))
    }

    /// `item in container`
    pub(super) fn contains(&mut self, container: &Value, item: &Value) -> Outcome<bool> {
        if let (Value::Str(text), Value::Str(part)) = (container, item) {
            return Ok(text.contains(&**part));
        }
        match self.arena.cell(container) {
            Some(Cell::Dict(_) | Cell::Set(_)) => {
                let key = self.key(item)?;
                Ok(match self.arena.cell(container) {
                    Some(Cell::Dict(dict) | Cell::Set(dict)) => dict.contains_key(&key),
                    _ => false,
                })
            }
            Some(Cell::Range(start, stop, step)) => {
                let Some(item) = item.as_int() else { return Ok(false) };
                let (start, stop, step) = (*start, *stop, *step);
                let inside = if step > 0 {
                    (start..stop).contains(&item)
                } else {
                    item <= start && item > stop
                };
                Ok(inside && (item - start) % step == 0)
            }
            Some(Cell::Instance(instance)) => {
                let class = instance.class;
                if let Some(method) = self.member(class, "__contains__") {
                    let args = vec![container.clone(), item.clone()];
                    let result = self.call(&method, args, Vec::new())?;
                    return self.truth(&result);
                }
                self.contains_by_iterating(container, item)
            }
            Some(Cell::Class(_)) => match self.metaclass_method(container, "__contains__")? {
                Some(method) => {
                    let result = self.call(&method, vec![item.clone()], Vec::new())?;
                    self.truth(&result)
                }
                None => self.contains_by_iterating(container, item),
            },
            _ => self.contains_by_iterating(container, item),
        }
    }

    fn contains_by_iterating(&mut self, container: &Value, item: &Value) -> Outcome<bool> {
        for other in self.iterate(container)? {
            if other.is(item) || self.equal(&other, item)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// What a dict looks a key up by.
    pub(super) fn key(&mut self, value: &Value) -> Outcome<Key> {
        self.key_at(value, 0)
    }

    fn key_at(&mut self, value: &Value, depth: usize) -> Outcome<Key> {
        self.step()?;
        if depth > MAX_NESTED {
            return refuse("a tuple is nested too deeply to be hashed");
        }
        Ok(match value {
            Value::None => Key::None,
            Value::Bool(value) => Key::Int(i64::from(*value)),
            Value::Int(value) | Value::NumpyInt(value) => Key::Int(*value),
            Value::Float(value) if value.fract() == 0.0 && value.abs() < 9e15 => {
                Key::Int(*value as i64)
            }
            Value::Float(value) => Key::Float(value.to_bits()),
            Value::Str(text) => Key::Str(text.clone()),
            Value::Library(name) => Key::Named("library", name.clone()),
            Value::Namespace(module) => Key::Named("file", module.name.clone()),
            Value::DType(dtype) => Key::Named("dtype", dtype.to_string().into()),
            Value::Device(device) => Key::Named("device", device.clone()),
            Value::Complex(re, im) => {
                Key::Tuple(vec![Key::Float(re.to_bits()), Key::Float(im.to_bits())])
            }
            Value::NotImplemented | Value::Ellipsis => Key::Named("singleton", "…".into()),
            Value::Ref(id) => match self.arena.get(*id) {
                Cell::Tuple(tuple) => {
                    let items = tuple.items.clone();
                    self.spend_items(items.len())?;
                    let mut keys = Vec::with_capacity(items.len());
                    for item in &items {
                        keys.push(self.key_at(item, depth + 1)?);
                    }
                    Key::Tuple(keys)
                }
                Cell::List(_) | Cell::Dict(_) | Cell::Set(_) => {
                    let message = format!("unhashable type: '{}'", self.type_name(value));
                    return self.type_error(message);
                }
                Cell::Instance(instance) => {
                    if self.member(instance.class, "__hash__").is_some() {
                        return refuse("objects with a __hash__ as keys are not supported");
                    }
                    Key::Ref(*id)
                }
                Cell::Unknown(_) => return self.refuse_unknown(value),
                _ => Key::Ref(*id),
            },
        })
    }

    /// `isinstance(value, class)`
    pub(super) fn is_instance(&mut self, value: &Value, class: &Value) -> Outcome<bool> {
        if let Some(unknown) = self.arena.unknown(value) {
            let may_be_module = unknown.may_be_module;
            // What the standard library makes is neither tensor nor module.
            let is_of_torch = match class {
                Value::Library(name) => name.starts_with("torch."),
                other => self.is_module_class(other)?,
            };
            return match is_of_torch && !may_be_module {
                true => Ok(false),
                false => self.refuse_unknown(value),
            };
        }
        self.check_known(class)?;
        if let Some(tuple) = self.arena.tuple(class) {
            let classes = tuple.items.clone();
            for class in &classes {
                if self.nested(|this| this.is_instance(value, class))? {
                    return Ok(true);
                }
            }
            return Ok(false);
        }
        match class {
            Value::None => Ok(matches!(value, Value::None)),
            Value::Ref(_) if self.arena.class(class).is_some() => {
                let own = self.class_of(value);
                Ok(self
                    .arena
                    .class(&own)
                    .is_some_and(|own| own.order.iter().any(|known| known.is(class))))
            }
            Value::Library(name) => {
                let name = name.clone();
                self.is_instance_of_library(value, &name)
            }
            _ => self.type_error("isinstance() arg 2 must be a type, a tuple of types, or a union"),
        }
    }

    fn is_instance_of_library(&mut self, value: &Value, name: &str) -> Outcome<bool> {
        if self.is_library_exception(name) {
            let wanted = name.strip_prefix("builtins.").unwrap_or(name);
            return Ok(self.is_exception(value) && self.derives_from(value, wanted));
        }
        // Classes of files that are derived from one of a library.
        let own = self.class_of(value);
        if let Some(class) = self.arena.class(&own)
            && class
                .order
                .iter()
                .any(|base| matches!(base, Value::Library(base) if **base == *name))
        {
            return Ok(true);
        }
        let cell = self.arena.cell(value);
        let short = name.rsplit('.').next().unwrap_or_default();
        let is_sequence = matches!(cell, Some(Cell::List(_) | Cell::Tuple(_) | Cell::Range(..)));
        // The generic types of typing are asked about the classes behind them.
        let name = match name {
            "typing.Tuple" => "builtins.tuple",
            "typing.List" => "builtins.list",
            "typing.Dict" => "builtins.dict",
            "typing.Set" => "builtins.set",
            "typing.FrozenSet" => "builtins.frozenset",
            name => name,
        };
        Ok(match name {
            "numpy.int64" | "numpy.integer" | "numpy.number" => {
                matches!(value, Value::NumpyInt(_))
            }
            "builtins.int" => matches!(value, Value::Int(_) | Value::Bool(_)),
            "numbers.Number" | "numbers.Real" => value.as_float().is_some(),
            "numbers.Integral" => value.as_int().is_some(),
            "builtins.float" => matches!(value, Value::Float(_)),
            "builtins.bool" => matches!(value, Value::Bool(_)),
            "builtins.complex" => matches!(value, Value::Complex(..)),
            "builtins.str" => matches!(value, Value::Str(_)),
            "builtins.list" => matches!(cell, Some(Cell::List(_))),
            "builtins.tuple" => matches!(cell, Some(Cell::Tuple(_))),
            "torch.Size" => false,
            "builtins.dict" | "collections.OrderedDict" => matches!(cell, Some(Cell::Dict(_))),
            "builtins.set" => matches!(cell, Some(Cell::Set(_))),
            "builtins.slice" => matches!(cell, Some(Cell::Slice(..))),
            "builtins.range" => matches!(cell, Some(Cell::Range(..))),
            "builtins.property" => matches!(cell, Some(Cell::Property(_))),
            "builtins.NoneType" | "types.NoneType" => matches!(value, Value::None),
            "builtins.object" => true,
            "builtins.type" => self.is_class(value),
            "enum.EnumMeta" | "enum.EnumType" => {
                self.arena.class(value).is_some_and(|class| class.kind == ClassKind::Enum)
            }
            "torch.Tensor" => matches!(cell, Some(Cell::Tensor(_))),
            "torch.nn.parameter.Parameter" => {
                matches!(cell, Some(Cell::Tensor(tensor)) if tensor.is_parameter)
            }
            "torch.nn.parameter.Buffer"
            | "torch.nn.parameter.UninitializedParameter"
            | "torch.nn.parameter.UninitializedBuffer"
            | "torch.nn.parameter.UninitializedTensorMixin"
            | "torch.nn.parameter.is_lazy" => false,
            "torch.dtype" => matches!(value, Value::DType(_)),
            "torch.device" => matches!(value, Value::Device(_)),
            "torch.SymInt" | "builtins.bytes" | "builtins.frozenset" => false,
            "functools.partial" => matches!(cell, Some(Cell::Partial(_))),
            "types.FunctionType" | "types.LambdaType" => matches!(cell, Some(Cell::Function(_))),
            "types.MethodType" => matches!(cell, Some(Cell::Method(..))),
            _ => match short {
                "Iterable" | "Collection" | "Container" | "Sized" => {
                    is_sequence
                        || matches!(value, Value::Str(_))
                        || matches!(
                            cell,
                            Some(
                                Cell::Dict(_) | Cell::Set(_) | Cell::Iterator(_) | Cell::Tensor(_)
                            )
                        )
                        || self.has_own(value, "__iter__")
                }
                "Sequence" => is_sequence || matches!(value, Value::Str(_)),
                "MutableSequence" => matches!(cell, Some(Cell::List(_))),
                "Mapping" | "MutableMapping" => matches!(cell, Some(Cell::Dict(_))),
                "Callable" => self.is_callable(value),
                "Hashable" => !matches!(cell, Some(Cell::List(_) | Cell::Dict(_) | Cell::Set(_))),
                "Iterator" => matches!(cell, Some(Cell::Iterator(_))),
                _ if library::ty(name).is_some()
                    || name.starts_with("torch.")
                    || name.starts_with("numpy.") =>
                {
                    false
                }
                _ => return refuse(format!("isinstance with '{name}' is not supported here")),
            },
        })
    }

    fn has_own(&self, value: &Value, name: &str) -> bool {
        self.own_class(value).is_some_and(|class| self.member(class, name).is_some())
    }

    /// `callable(value)`
    pub(super) fn is_callable(&self, value: &Value) -> bool {
        match value {
            Value::Library(_) => true,
            other => match self.arena.cell(other) {
                Some(
                    Cell::Function(_)
                    | Cell::Method(..)
                    | Cell::BuiltinMethod(..)
                    | Cell::Class(_)
                    | Cell::Partial(_),
                ) => true,
                _ => self.has_own(other, "__call__"),
            },
        }
    }

    fn derives_from(&self, exception: &Value, wanted: &str) -> bool {
        let own = self.class_of(exception);
        let mut names: Vec<String> = match self.arena.class(&own) {
            Some(class) => class
                .order
                .iter()
                .filter_map(|base| match base {
                    Value::Library(name) => Some(name.to_string()),
                    _ => None,
                })
                .collect(),
            None => match &own {
                Value::Library(name) => vec![name.to_string()],
                _ => Vec::new(),
            },
        };
        while let Some(name) = names.pop() {
            let short = name.strip_prefix("builtins.").unwrap_or(&name);
            if short == wanted
                || wanted == "BaseException"
                || (wanted == "Exception" && !BASE_EXCEPTIONS.contains(&short))
            {
                return true;
            }
            let parent = EXCEPTION_PARENTS.iter().find(|(known, _)| *known == short);
            names.extend(parent.map(|(_, parent)| (*parent).to_owned()));
        }
        false
    }

    /// `issubclass(class, other)`
    pub(super) fn is_subclass(&mut self, class: &Value, other: &Value) -> Outcome<bool> {
        if let Some(tuple) = self.arena.tuple(other) {
            let classes = tuple.items.clone();
            return Ok(classes.iter().any(|other| self.is_derived(class, other)));
        }
        Ok(self.is_derived(class, other))
    }

    fn is_derived(&self, class: &Value, other: &Value) -> bool {
        class.is(other)
            || matches!(other, Value::Library(name) if &**name == "builtins.object")
            || self
                .arena
                .class(class)
                .is_some_and(|class| class.order.iter().any(|known| known.is(other)))
    }
}

/// How many numbers a range has.
pub(super) fn range_length(start: i64, stop: i64, step: i64) -> usize {
    let (start, stop, step) = (i128::from(start), i128::from(stop), i128::from(step));
    let count = match step {
        1.. => (stop - start + step - 1).div_euclid(step),
        0 => 0,
        _ => (start - stop - step - 1).div_euclid(-step),
    };
    usize::try_from(count.max(0)).unwrap_or(usize::MAX)
}
