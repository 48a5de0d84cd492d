//! What every Python program can call.

use std::sync::Arc;

use super::arguments::{Keywords, LibraryArguments};
use super::control_flow::{Outcome, Stop, refuse};
use super::value::{Cell, Id, Property, Value};
use super::{Interpreter, dicts, lists, strings};

/// Functions that need no import; types and exceptions aside, which the library's table has.
const FUNCTIONS: &[&str] = &[
    "builtins.abs",
    "builtins.all",
    "builtins.any",
    "builtins.bin",
    "builtins.callable",
    "builtins.chr",
    "builtins.dir",
    "builtins.divmod",
    "builtins.enumerate",
    "builtins.filter",
    "builtins.format",
    "builtins.getattr",
    "builtins.hasattr",
    "builtins.hash",
    "builtins.hex",
    "builtins.id",
    "builtins.isinstance",
    "builtins.issubclass",
    "builtins.iter",
    "builtins.len",
    "builtins.map",
    "builtins.max",
    "builtins.min",
    "builtins.next",
    "builtins.ord",
    "builtins.pow",
    "builtins.print",
    "builtins.range",
    "builtins.repr",
    "builtins.reversed",
    "builtins.round",
    "builtins.sorted",
    "builtins.sum",
    "builtins.vars",
    "builtins.zip",
    "builtins.setattr",
    "builtins.delattr",
    "builtins.super",
    "builtins.type",
];

/// The full name of a function that needs no import.
pub(super) fn named(name: &str) -> Option<&'static str> {
    FUNCTIONS.iter().copied().find(|known| known.strip_prefix("builtins.") == Some(name))
}

/// Whether values of a built-in type have a method.
pub(super) fn has_method(kind: &str, name: &str) -> bool {
    let methods = match kind {
        "list" => lists::METHODS,
        "tuple" => lists::TUPLE_METHODS,
        "dict" => dicts::METHODS,
        "set" => dicts::SET_METHODS,
        "str" => strings::METHODS,
        "float" => &["is_integer"][..],
        "int" => &["bit_length"][..],
        _ => &[],
    };
    methods.contains(&name)
}

/// Methods of Python's built-in types, with those that are not here.
const METHODS_OF_PYTHON: &[(&str, &str)] = &[
    (
        "str",
        "encode expandtabs format_map isascii isdecimal isprintable istitle maketrans swapcase \
         translate",
    ),
    ("list", "append clear copy count extend index insert pop remove reverse sort"),
    ("tuple", "count index"),
    ("dict", "clear copy fromkeys get items keys pop popitem setdefault update values"),
    (
        "set",
        "intersection_update symmetric_difference symmetric_difference_update difference_update",
    ),
    (
        "int",
        "as_integer_ratio bit_count conjugate denominator from_bytes imag numerator real to_bytes",
    ),
    ("float", "as_integer_ratio conjugate fromhex hex imag real"),
];

/// Whether values of a built-in type have a method in Python.
pub(super) fn is_method_of_python(kind: &str, name: &str) -> bool {
    let known = METHODS_OF_PYTHON.iter().find(|(known, _)| *known == kind);
    known.is_some_and(|(_, names)| names.split(' ').any(|known| known == name))
}

impl Interpreter<'_> {
    pub(super) fn call_builtin_method(
        &mut self,
        receiver: &Value,
        name: &str,
        args: Vec<Value>,
        keywords: Keywords,
    ) -> Outcome<Value> {
        let id = match receiver {
            Value::Str(text) => return self.str_method(&text.clone(), name, args, keywords),
            Value::Float(value) => return Ok(Value::Bool(value.fract() == 0.0)),
            Value::Int(value) => {
                return Ok(Value::Int(i64::from(64 - value.unsigned_abs().leading_zeros())));
            }
            Value::Ref(id) => *id,
            _ => return refuse(format!("the method '{name}' is not supported here")),
        };
        match self.arena.get(id) {
            Cell::List(_) => self.list_method(id, name, args, keywords),
            Cell::Dict(_) => self.dict_method(id, name, args, keywords),
            Cell::Set(_) => self.set_method(id, name, args, keywords),
            Cell::Tuple(_) => {
                self.sequence_method(receiver, name, LibraryArguments::new(name, args, keywords))
            }
            Cell::Tensor(_) => self.tensor_method(receiver, name, args, keywords),
            Cell::Pattern(pattern) => {
                let pattern = Arc::clone(pattern);
                match keywords.is_empty() {
                    true => self.matched(&pattern, name, &args),
                    false => refuse("arguments by name are not supported here"),
                }
            }
            Cell::Match(_) => self.match_method(receiver, name, &args),
            Cell::File(_) => self.file_method(receiver, name, args),
            Cell::Path(_) => self.path_method(receiver, name, args),
            Cell::Saved(_) => self.saved_method(receiver, name, &args, &keywords),
            Cell::Archive(_) => self.archive_method(receiver, name, &args, &keywords),
            Cell::Slice(start, stop, step) => {
                let (start, stop, step) = (start.clone(), stop.clone(), step.clone());
                let length = match args.first() {
                    Some(length) => usize::try_from(self.int(&length.clone())?).unwrap_or(0),
                    None => return self.type_error("indices() takes exactly one argument"),
                };
                let (start, stop, step) = self.slice_bounds(&start, &stop, &step, length)?;
                self.new_tuple(vec![Value::Int(start), Value::Int(stop), Value::Int(step)])
            }
            _ => refuse(format!("the method '{name}' is not supported here")),
        }
    }

    /// Calls a function that needs no import.
    pub(super) fn call_builtin(
        &mut self,
        name: &str,
        args: Vec<Value>,
        keywords: Keywords,
    ) -> Outcome<Value> {
        let mut given = LibraryArguments::new(name, args, keywords);
        if let Some(result) = self.call_of_type(name, &mut given)? {
            self.done(given)?;
            return Ok(result);
        }
        let result = match name {
            "print" => return Ok(Value::None),
            "super" => {
                let class = self.needed(&mut given, 0, "type")?;
                let object = self.needed(&mut given, 1, "object")?;
                match class {
                    Value::Ref(id) if self.arena.class(&class).is_some() => {
                        self.new_cell(Cell::Super(id, object))?
                    }
                    _ => return self.type_error("super() argument 1 must be a type"),
                }
            }
            "isinstance" => {
                let value = self.needed(&mut given, 0, "object")?;
                let class = self.needed(&mut given, 1, "class")?;
                Value::Bool(self.is_instance(&value, &class)?)
            }
            "issubclass" => {
                let class = self.needed(&mut given, 0, "class")?;
                let other = self.needed(&mut given, 1, "class")?;
                self.check_known(&class)?;
                self.check_known(&other)?;
                Value::Bool(self.is_subclass(&class, &other)?)
            }
            "callable" => {
                let value = self.needed(&mut given, 0, "object")?;
                self.check_known(&value)?;
                Value::Bool(match self.execution.is_some() {
                    true => self.is_callable_at_all(&value),
                    false => self.is_callable(&value),
                })
            }
            "getattr" | "hasattr" | "setattr" | "delattr" => {
                self.attribute_function(name, &mut given)?
            }
            "dir" => {
                let value = self.needed(&mut given, 0, "object")?;
                let names: Vec<Arc<str>> = match &value {
                    Value::Namespace(module) if self.namespace(module).is_some() => {
                        let mut names = self.names_of_file(module);
                        names.sort();
                        names
                    }
                    Value::Namespace(module) => module.names().to_vec(),
                    Value::Ref(id) => self.own_names(*id),
                    _ => return self.unknown_function("dir()"),
                };
                let names = names.into_iter().map(Value::Str).collect();
                self.new_list(names)?
            }
            "vars" => {
                let value = self.needed(&mut given, 0, "object")?;
                match &value {
                    Value::Namespace(module) if self.namespace(module).is_none() => {
                        let mut members = Vec::with_capacity(module.names().len());
                        for name in module.names().to_vec() {
                            let member = self.attribute(&value, &name)?;
                            members.push((name, member));
                        }
                        self.dict_of(members)?
                    }
                    _ => self.attribute(&value, "__dict__")?,
                }
            }
            "id" | "hash" => {
                let value = self.needed(&mut given, 0, "object")?;
                let key = self.key(&value)?;
                let mut hasher = rustc_hash::FxHasher::default();
                std::hash::Hash::hash(&key, &mut hasher);
                Value::Int((std::hash::Hasher::finish(&hasher) >> 2) as i64)
            }
            "len" => {
                let value = self.needed(&mut given, 0, "obj")?;
                Value::Int(self.length(&value)? as i64)
            }
            "repr" | "format" => {
                let value = self.needed(&mut given, 0, "value")?;
                let text = match (name, given.take(1, "format_spec")) {
                    ("format", Some(specification)) => {
                        let specification = self.string(&specification)?;
                        self.formatted(&value, &specification)?
                    }
                    ("format", None) => self.text(&value)?,
                    _ => self.repr(&value)?,
                };
                self.new_str(text)?
            }
            "chr" | "ord" | "hex" | "bin" => self.character(name, &mut given)?,
            "abs" | "round" | "divmod" | "pow" | "min" | "max" | "sum" => {
                return self.call_number_function(name, given);
            }
            _ => return self.call_iteration_function(name, given),
        };
        self.done(given)?;
        Ok(result)
    }

    fn attribute_function(&mut self, name: &str, given: &mut LibraryArguments) -> Outcome<Value> {
        let value = self.needed(given, 0, "object")?;
        let attribute = self.needed(given, 1, "name")?;
        let attribute = self.string(&attribute)?;
        match name {
            "getattr" => match given.take(2, "default") {
                Some(default) => Ok(self.attribute_or_none(&value, &attribute)?.unwrap_or(default)),
                None => self.attribute(&value, &attribute),
            },
            "hasattr" if self.is_unknown(&value) => self.refuse_unknown(&value),
            "hasattr" => Ok(Value::Bool(self.attribute_or_none(&value, &attribute)?.is_some())),
            "setattr" => {
                let new = self.needed(given, 2, "value")?;
                self.set_attribute(&value, &attribute, new)?;
                Ok(Value::None)
            }
            _ => {
                self.delete_attribute(&value, &attribute)?;
                Ok(Value::None)
            }
        }
    }

    fn character(&mut self, name: &str, given: &mut LibraryArguments) -> Outcome<Value> {
        let value = self.needed(given, 0, "value")?;
        if name == "ord" {
            let text = self.string(&value)?;
            let mut chars = text.chars();
            return match (chars.next(), chars.next()) {
                (Some(c), None) => Ok(Value::Int(i64::from(c as u32))),
                _ => self.type_error("ord() expected a character"),
            };
        }
        let value = self.int(&value)?;
        Ok(Value::str(match name {
            "chr" => {
                let c = u32::try_from(value).ok().and_then(char::from_u32);
                match c {
                    Some(c) => c.to_string(),
                    None => return self.raise("ValueError", "chr() arg not in range(0x110000)"),
                }
            }
            "hex" if value < 0 => format!("-{:#x}", value.unsigned_abs()),
            "hex" => format!("{value:#x}"),
            _ if value < 0 => format!("-{:#b}", value.unsigned_abs()),
            _ => format!("{value:#b}"),
        }))
    }

    /// `int(…)`, `list(…)` and other types that make values.
    fn call_of_type(&mut self, name: &str, given: &mut LibraryArguments) -> Outcome<Option<Value>> {
        let first = match name {
            "int" | "float" | "bool" | "str" | "list" | "tuple" | "set" | "frozenset"
            | "complex" => given.take(0, "object"),
            _ => None,
        };
        Ok(Some(match (name, first) {
            ("int", None) => Value::Int(0),
            ("float", None) => Value::Float(0.0),
            ("bool", None) => Value::Bool(false),
            ("str", None) => Value::str(""),
            ("list", None) => self.new_list(Vec::new())?,
            ("tuple", None) => self.new_tuple(Vec::new())?,
            ("set" | "frozenset", None) => self.new_set(Vec::new())?,
            ("int", Some(value)) => self.int_from(&value, given)?,
            ("float", Some(value)) => self.float_from(&value)?,
            ("bool", Some(value)) => Value::Bool(self.truth(&value)?),
            ("str", Some(value)) => {
                let text = self.text(&value)?;
                self.new_str(text)?
            }
            ("list", Some(value)) => {
                let items = self.iterate(&value)?;
                self.new_list(items)?
            }
            ("tuple", Some(value)) => {
                let items = self.iterate(&value)?;
                self.new_tuple(items)?
            }
            ("set" | "frozenset", Some(value)) => {
                let items = self.iterate(&value)?;
                self.new_set(items)?
            }
            ("complex", Some(value)) => {
                let re = value.as_float().unwrap_or(0.0);
                let im = given.take(1, "imag").and_then(|im| im.as_float()).unwrap_or(0.0);
                Value::Complex(re, im)
            }
            ("dict", _) => {
                let source = given.take(0, "source");
                let keywords = given.named();
                let dict = self.dict_from(source, keywords)?;
                self.new_dict(dict)?
            }
            ("type", _) => {
                let value = self.needed(given, 0, "object")?;
                match given.take(1, "bases") {
                    Some(bases) => {
                        let members = self.needed(given, 2, "dict")?;
                        let metaclass = self.iterate(&bases)?;
                        let metaclass = self.inherited_metaclass(&metaclass);
                        self.new_class(metaclass, &value, &bases, &members, given.named())?
                    }
                    None => self.class_of(&value),
                }
            }
            ("slice", _) => {
                let args = given.rest();
                let at = |at: usize| args.get(at).cloned().unwrap_or(Value::None);
                let slice = match args.len() {
                    1 => Cell::Slice(Value::None, at(0), Value::None),
                    _ => Cell::Slice(at(0), at(1), at(2)),
                };
                self.new_cell(slice)?
            }
            ("property", _) => {
                let getter = self.needed(given, 0, "fget")?;
                let setter = given.take(1, "fset");
                self.new_cell(Cell::Property(Property { getter, setter }))?
            }
            ("staticmethod", _) => {
                let function = self.needed(given, 0, "function")?;
                self.new_cell(Cell::StaticMethod(function))?
            }
            ("classmethod", _) => {
                let function = self.needed(given, 0, "function")?;
                self.new_cell(Cell::ClassMethod(function))?
            }
            ("object", _) => self.new_cell(Cell::Plain)?,
            _ => return Ok(None),
        }))
    }

    fn int_from(&mut self, value: &Value, given: &mut LibraryArguments) -> Outcome<Value> {
        if let Value::Str(text) = value {
            let base = match given.take(1, "base") {
                Some(base) => self.int(&base)?,
                None => 10,
            };
            let digits = text.trim().replace('_', "");
            let base =
                u32::try_from(base).ok().filter(|base| (2..=36).contains(base)).unwrap_or(10);
            return match i64::from_str_radix(&digits, base) {
                Ok(value) => Ok(Value::Int(value)),
                Err(_) => {
                    let shown = self.repr(value)?;
                    let message = format!("invalid literal for int() with base {base}: {shown}");
                    self.raise("ValueError", message)
                }
            };
        }
        if let Some(number) = value.as_int() {
            return Ok(Value::Int(number));
        }
        if let Value::Float(number) = value {
            if !number.is_finite() {
                let kind = if number.is_nan() { "ValueError" } else { "OverflowError" };
                return self.raise(kind, "cannot convert this float to integer");
            }
            if number.abs() >= 9.2e18 {
                return refuse("an int of more than 64 bits is not supported here");
            }
            return Ok(Value::Int(number.trunc() as i64));
        }
        if self.arena.tensor(value).is_some() {
            return self.tensor_int(value).map(Value::Int);
        }
        if self.arena.instance(value).is_some() {
            return self.call_method(value, "__int__", Vec::new());
        }
        let message = format!(
            "int() argument must be a string or a real number, not '{}'",
            self.type_name(value)
        );
        self.type_error(message)
    }

    pub(super) fn float_from(&mut self, value: &Value) -> Outcome<Value> {
        if let Some(number) = value.as_float() {
            return Ok(Value::Float(number));
        }
        if self.arena.tensor(value).is_some() {
            return self.tensor_float(value).map(Value::Float);
        }
        if let Value::Str(text) = value {
            let digits = text.trim().replace('_', "");
            if let Ok(number) = digits.parse() {
                return Ok(Value::Float(number));
            }
            let message = format!("could not convert string to float: {}", self.repr(value)?);
            return self.raise("ValueError", message);
        }
        let message = format!(
            "float() argument must be a string or a real number, not '{}'",
            self.type_name(value)
        );
        self.type_error(message)
    }

    fn call_number_function(&mut self, name: &str, mut given: LibraryArguments) -> Outcome<Value> {
        let result = match name {
            "abs" => {
                let value = self.needed(&mut given, 0, "x")?;
                match &value {
                    Value::Float(value) => Value::Float(value.abs()),
                    Value::Complex(re, im) => Value::Float(re.hypot(*im)),
                    other if other.as_int().is_some() => {
                        Value::Int(other.as_int().unwrap_or(0).saturating_abs())
                    }
                    other => self.tensor_method(other, "abs", Vec::new(), Vec::new())?,
                }
            }
            "round" => {
                let value = self.needed(&mut given, 0, "number")?;
                let digits = match given.take(1, "ndigits") {
                    None | Some(Value::None) => None,
                    Some(digits) => Some(self.int(&digits)?),
                };
                match (value.as_int(), value.as_float(), digits) {
                    (Some(value), ..) => Value::Int(value),
                    (_, Some(value), None) => {
                        return self.int_from(&Value::Float(value.round_ties_even()), &mut given);
                    }
                    (_, Some(value), Some(digits)) => {
                        let digits = usize::try_from(digits).unwrap_or(0).min(300);
                        Value::Float(format!("{value:.digits$}").parse().unwrap_or(value))
                    }
                    _ => return self.type_error("a number is required"),
                }
            }
            "divmod" => {
                let left = self.needed(&mut given, 0, "x")?;
                let right = self.needed(&mut given, 1, "y")?;
                let quotient = self.binary(ruff_python_ast::Operator::FloorDiv, &left, &right)?;
                let rest = self.binary(ruff_python_ast::Operator::Mod, &left, &right)?;
                self.new_tuple(vec![quotient, rest])?
            }
            "pow" => {
                let left = self.needed(&mut given, 0, "base")?;
                let right = self.needed(&mut given, 1, "exp")?;
                self.binary(ruff_python_ast::Operator::Pow, &left, &right)?
            }
            "sum" => {
                let items = self.needed(&mut given, 0, "iterable")?;
                let mut total = given.take(1, "start").unwrap_or(Value::Int(0));
                for item in self.iterate(&items)? {
                    total = self.binary(ruff_python_ast::Operator::Add, &total, &item)?;
                }
                total
            }
            _ => self.extremum(name, &mut given)?,
        };
        self.done(given)?;
        Ok(result)
    }

    /// `min(…)`, `max(…)`
    fn extremum(&mut self, name: &str, given: &mut LibraryArguments) -> Outcome<Value> {
        let key = given.take(usize::MAX, "key").filter(|key| !matches!(key, Value::None));
        let default = given.take(usize::MAX, "default");
        let mut items = given.rest();
        if let [only] = items.as_slice() {
            items = self.iterate(&only.clone())?;
        }
        let mut best: Option<(Value, Value)> = None;
        for item in items {
            let by = match &key {
                Some(key) => self.call(key, vec![item.clone()], Vec::new())?,
                None => item.clone(),
            };
            let is_better = match &best {
                None => true,
                Some((known, _)) => {
                    let op = if name == "min" {
                        ruff_python_ast::CmpOp::Lt
                    } else {
                        ruff_python_ast::CmpOp::Gt
                    };
                    let known = known.clone();
                    let better = self.compare(op, &by, &known)?;
                    self.truth(&better)?
                }
            };
            if is_better {
                best = Some((by, item));
            }
        }
        match (best, default) {
            (Some((_, item)), _) => Ok(item),
            (None, Some(default)) => Ok(default),
            (None, None) => {
                self.raise("ValueError", format!("{name}() iterable argument is empty"))
            }
        }
    }

    fn call_iteration_function(
        &mut self,
        name: &str,
        mut given: LibraryArguments,
    ) -> Outcome<Value> {
        let result = match name {
            "range" => {
                let mut bounds = Vec::new();
                for bound in given.rest() {
                    bounds.push(self.int(&bound)?);
                }
                let (start, stop, step) = match *bounds.as_slice() {
                    [stop] => (0, stop, 1),
                    [start, stop] => (start, stop, 1),
                    [start, stop, step] => (start, stop, step),
                    _ => return self.type_error("range expected 1 to 3 arguments"),
                };
                if step == 0 {
                    return self.raise("ValueError", "range() arg 3 must not be zero");
                }
                self.new_cell(Cell::Range(start, stop, step))?
            }
            "enumerate" => {
                let items = self.needed(&mut given, 0, "iterable")?;
                let start = match given.take(1, "start") {
                    Some(start) => self.int(&start)?,
                    None => 0,
                };
                let mut pairs = Vec::new();
                for (at, item) in self.iterate(&items)?.into_iter().enumerate() {
                    pairs.push(
                        self.new_tuple(vec![Value::Int(start.saturating_add(at as i64)), item])?,
                    );
                }
                self.new_iterator(pairs)?
            }
            "zip" => {
                let strict = match given.take(usize::MAX, "strict") {
                    Some(strict) => self.truth(&strict)?,
                    None => false,
                };
                let rows = self.zipped(given.rest(), strict)?;
                let mut tuples = Vec::with_capacity(rows.len());
                for row in rows {
                    tuples.push(self.new_tuple(row)?);
                }
                self.new_iterator(tuples)?
            }
            "map" => {
                let function = self.needed(&mut given, 0, "function")?;
                let mut made = Vec::new();
                for row in self.zipped(given.rest(), false)? {
                    made.push(self.call(&function, row, Vec::new())?);
                }
                self.new_iterator(made)?
            }
            "filter" => {
                let function = self.needed(&mut given, 0, "function")?;
                let items = self.needed(&mut given, 1, "iterable")?;
                let mut kept = Vec::new();
                for item in self.iterate(&items)? {
                    let holds = match &function {
                        Value::None => item.clone(),
                        function => self.call(function, vec![item.clone()], Vec::new())?,
                    };
                    if self.truth(&holds)? {
                        kept.push(item);
                    }
                }
                self.new_iterator(kept)?
            }
            "sorted" => {
                let items = self.needed(&mut given, 0, "iterable")?;
                let key = given.take(usize::MAX, "key");
                let reverse = given.take(usize::MAX, "reverse");
                let items = self.iterate(&items)?;
                let sorted = self.sorted(items, key, reverse)?;
                self.new_list(sorted)?
            }
            "reversed" => {
                let items = self.needed(&mut given, 0, "sequence")?;
                let mut items = self.iterate(&items)?;
                items.reverse();
                self.new_iterator(items)?
            }
            "iter" => {
                let value = self.needed(&mut given, 0, "object")?;
                match self.arena.iterator(&value) {
                    Some(_) => value,
                    None => {
                        let items = self.iterate(&value)?;
                        self.new_iterator(items)?
                    }
                }
            }
            "next" => {
                let iterator = self.needed(&mut given, 0, "iterator")?;
                match (self.next(&iterator)?, given.take(1, "default")) {
                    (Some(item), _) => item,
                    (None, Some(default)) => default,
                    (None, None) => {
                        let end = self.library_exception("builtins.StopIteration", Vec::new())?;
                        return Err(Stop::Raised(end, None));
                    }
                }
            }
            "any" | "all" => {
                let items = self.needed(&mut given, 0, "iterable")?;
                let mut result = name == "all";
                for item in self.iterate(&items)? {
                    if self.truth(&item)? != result {
                        result = !result;
                        break;
                    }
                }
                Value::Bool(result)
            }
            _ => return self.unknown_function(&format!("{name}()")),
        };
        self.done(given)?;
        Ok(result)
    }

    /// The elements of several iterables beside each other, up to the end of the shortest.
    fn zipped(&mut self, columns: Vec<Value>, strict: bool) -> Outcome<Vec<Vec<Value>>> {
        let mut lists = Vec::with_capacity(columns.len());
        for column in &columns {
            lists.push(self.iterate(column)?);
        }
        let shortest = lists.iter().map(Vec::len).min().unwrap_or(0);
        if strict && lists.iter().any(|list| list.len() != shortest) {
            return self.raise("ValueError", "zip() arguments have different lengths");
        }
        self.spend_items(shortest.saturating_mul(lists.len()))?;
        Ok((0..shortest)
            .map(|at| lists.iter().filter_map(|list| list.get(at).cloned()).collect())
            .collect())
    }

    /// `object.__init__` and what else every class has from `object`.
    pub(super) fn object_function(
        &mut self,
        name: &str,
        args: Vec<Value>,
        keywords: Keywords,
    ) -> Outcome<Value> {
        let mut given = LibraryArguments::new(name, args, keywords);
        let value = self.needed(&mut given, 0, "self")?;
        match name {
            "__init__" | "__init_subclass__" => {
                if self.is_exception(&value)
                    && let Value::Ref(id) = value
                {
                    let args = given.rest();
                    let args = self.new_tuple(args)?;
                    self.set_own(id, "args", args);
                }
                Ok(Value::None)
            }
            "__new__" => self.plain_object(&value, given.rest(), given.named()),
            "__getitem__" => {
                let index = self.needed(&mut given, 1, "index")?;
                self.plain_item(&value, &index)
            }
            "__setattr__" => {
                let attribute = self.needed(&mut given, 1, "name")?;
                let attribute = self.string(&attribute)?;
                let new = self.needed(&mut given, 2, "value")?;
                self.set_plain_attribute(&value, &attribute, new)?;
                Ok(Value::None)
            }
            "__delattr__" => {
                let attribute = self.needed(&mut given, 1, "name")?;
                let attribute = self.string(&attribute)?;
                self.delete_plain_attribute(&value, &attribute)?;
                Ok(Value::None)
            }
            "__getattribute__" => {
                let attribute = self.needed(&mut given, 1, "name")?;
                let attribute = self.string(&attribute)?;
                self.attribute_of_itself(&value, &attribute)
            }
            "__repr__" | "__str__" => {
                let name = self.type_name(&value);
                self.new_str(format!("<{name} object>"))
            }
            _ => self.unknown_function(&format!("object.{name}")),
        }
    }

    /// The names of an object's own attributes.
    pub(super) fn own_names(&self, id: Id) -> Vec<Arc<str>> {
        match self.arena.get(id) {
            Cell::Instance(instance) => instance.attributes.keys().cloned().collect(),
            _ => Vec::new(),
        }
    }
}
