//! Arguments: evaluated for a call, and bound to a function's parameters.

use std::sync::Arc;

use ruff_python_ast as py;
use rustc_hash::FxHashMap;

use super::control_flow::{Outcome, refuse};
use super::value::{Cell, Code, Dict, Key, Value};
use super::{Frame, Interpreter};

/// Arguments by name.
pub(super) type Keywords = Vec<(Arc<str>, Value)>;

/// The positional arguments of a call to something of a library, and those by name.
pub(super) struct LibraryArguments {
    name: Arc<str>,
    args: Vec<Option<Value>>,
    keywords: Keywords,
}

impl LibraryArguments {
    pub(super) fn new(name: &str, args: Vec<Value>, keywords: Keywords) -> Self {
        Self { name: name.into(), args: args.into_iter().map(Some).collect(), keywords }
    }

    /// The argument at a place or of a name.
    pub(super) fn take(&mut self, at: usize, name: &str) -> Option<Value> {
        if let Some(value) = self.args.get_mut(at).and_then(Option::take) {
            return Some(value);
        }
        let found = self.keywords.iter().position(|(known, _)| &**known == name)?;
        Some(self.keywords.remove(found).1)
    }

    /// All positional arguments that are left.
    pub(super) fn rest(&mut self) -> Vec<Value> {
        self.args.drain(..).flatten().collect()
    }

    /// All arguments by name that are left.
    pub(super) fn named(&mut self) -> Keywords {
        std::mem::take(&mut self.keywords)
    }
}

impl Interpreter<'_> {
    /// The argument at a place or of a name, which has to be there.
    pub(super) fn needed(
        &mut self,
        given: &mut LibraryArguments,
        at: usize,
        name: &str,
    ) -> Outcome<Value> {
        match given.take(at, name) {
            Some(value) => Ok(value),
            None => {
                let message = format!("{}() missing required argument: '{name}'", given.name);
                self.type_error(message)
            }
        }
    }

    /// Refuses arguments that nobody took.
    pub(super) fn done(&mut self, given: LibraryArguments) -> Outcome<()> {
        if let Some((name, _)) = given.keywords.first() {
            let message = format!("{}() got an unexpected keyword argument '{name}'", given.name);
            return self.type_error(message);
        }
        if given.args.iter().any(Option::is_some) {
            let message = format!(
                "{}() takes fewer positional arguments ({} were given)",
                given.name,
                given.args.len()
            );
            return self.type_error(message);
        }
        Ok(())
    }

    /// The arguments of a call, unpacked.
    pub(super) fn evaluate_arguments(
        &mut self,
        frame: &Frame,
        arguments: &py::Arguments,
    ) -> Outcome<(Vec<Value>, Keywords)> {
        let args = self.evaluate_all(frame, &arguments.args)?;
        let mut keywords: Keywords = Vec::with_capacity(arguments.keywords.len());
        for keyword in &arguments.keywords {
            let value = self.evaluate(frame, &keyword.value)?;
            let Some(name) = &keyword.arg else {
                for (name, value) in self.unpacked_keywords(&value)? {
                    self.add_keyword(&mut keywords, name, value)?;
                }
                continue;
            };
            self.add_keyword(&mut keywords, name.as_str().into(), value)?;
        }
        Ok((args, keywords))
    }

    fn add_keyword(&mut self, into: &mut Keywords, name: Arc<str>, value: Value) -> Outcome<()> {
        if into.iter().any(|(known, _)| *known == name) {
            return self.type_error(format!("got multiple values for keyword argument '{name}'"));
        }
        into.push((name, value));
        Ok(())
    }

    fn unpacked_keywords(&mut self, value: &Value) -> Outcome<Keywords> {
        self.check_known(value)?;
        let Some(entries) = self.arena.dict(value) else {
            return self.type_error("argument after ** must be a mapping");
        };
        let entries: Vec<Value> = entries.values().map(|(key, _)| key.clone()).collect();
        let values: Vec<Value> = match self.arena.dict(value) {
            Some(dict) => dict.values().map(|(_, value)| value.clone()).collect(),
            None => Vec::new(),
        };
        let mut keywords = Vec::with_capacity(values.len());
        for (key, value) in entries.into_iter().zip(values) {
            let Value::Str(name) = key else {
                return self.type_error("keywords must be strings");
            };
            keywords.push((name, value));
        }
        Ok(keywords)
    }

    /// The values of parameters' defaults.
    pub(super) fn defaults(
        &mut self,
        frame: &Frame,
        parameters: &py::Parameters,
    ) -> Outcome<Keywords> {
        let mut defaults = Vec::new();
        for parameter in parameters.iter_non_variadic_params() {
            if let Some(default) = &parameter.default {
                let value = self.evaluate(frame, default)?;
                defaults.push((parameter.parameter.name.as_str().into(), value));
            }
        }
        Ok(defaults)
    }

    /// The variables that a call begins with.
    pub(super) fn bound_arguments(
        &mut self,
        function: &str,
        parameters: &py::Parameters,
        defaults: &Keywords,
        args: Vec<Value>,
        keywords: Keywords,
    ) -> Outcome<FxHashMap<Arc<str>, Value>> {
        let mut variables: FxHashMap<Arc<str>, Value> = FxHashMap::default();
        let only_by_place = parameters.posonlyargs.len();
        let by_place: Vec<&str> = parameters
            .posonlyargs
            .iter()
            .chain(&parameters.args)
            .map(|parameter| parameter.parameter.name.as_str())
            .collect();
        let count = args.len();
        let mut args = args.into_iter();
        for (name, value) in by_place.iter().zip(args.by_ref()) {
            variables.insert((*name).into(), value);
        }
        let extra: Vec<Value> = args.collect();
        match &parameters.vararg {
            Some(parameter) => {
                let extra = self.new_tuple(extra)?;
                variables.insert(parameter.name.as_str().into(), extra);
            }
            None if !extra.is_empty() => {
                let message = format!(
                    "{function}() takes {} positional arguments but {count} were given",
                    by_place.len()
                );
                return self.type_error(message);
            }
            None => {}
        }
        let by_name = |name: &str| {
            by_place.iter().skip(only_by_place).any(|known| *known == name)
                || parameters.kwonlyargs.iter().any(|known| known.parameter.name.as_str() == name)
        };
        let mut others = Dict::default();
        for (name, value) in keywords {
            if by_name(&name) {
                if variables.insert(Arc::clone(&name), value).is_some() {
                    let message = format!("{function}() got multiple values for argument '{name}'");
                    return self.type_error(message);
                }
            } else if parameters.kwarg.is_some() {
                others.insert(Key::Str(Arc::clone(&name)), (Value::Str(name), value));
            } else {
                let message = format!("{function}() got an unexpected keyword argument '{name}'");
                return self.type_error(message);
            }
        }
        if let Some(parameter) = &parameters.kwarg {
            let others = self.new_dict(others)?;
            variables.insert(parameter.name.as_str().into(), others);
        }
        let mut missing = Vec::new();
        for parameter in parameters.iter_non_variadic_params() {
            let name = parameter.parameter.name.as_str();
            if variables.contains_key(name) {
                continue;
            }
            match defaults.iter().find(|(known, _)| &**known == name) {
                Some((name, value)) => {
                    variables.insert(Arc::clone(name), value.clone());
                }
                None => missing.push(format!("'{name}'")),
            }
        }
        if !missing.is_empty() {
            let s = if missing.len() == 1 { "" } else { "s" };
            let names = match missing.split_last() {
                Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
                _ => missing.concat(),
            };
            let message = format!(
                "{function}() missing {} required positional argument{s}: {names}",
                missing.len()
            );
            return self.type_error(message);
        }
        Ok(variables)
    }

    /// A function's parameters as `inspect` has them: name, kind and a tuple of the default, if any.
    pub(super) fn parameters(&mut self, function: &Value) -> Outcome<Value> {
        if let Some(Cell::Method(_, function)) = self.arena.cell(function) {
            let function = function.clone();
            let all = self.nested(|this| this.parameters(&function))?;
            let rest = self.iterate(&all)?.into_iter().skip(1).collect();
            return self.new_list(rest);
        }
        if self.arena.class(function).is_some() {
            // What calls of a class are given.
            let function = self.attribute(function, "__init__")?;
            let all = self.nested(|this| this.parameters(&function))?;
            let rest = self.iterate(&all)?.into_iter().skip(1).collect();
            return self.new_list(rest);
        }
        let Some(function) = self.arena.function(function) else {
            return refuse("the signature of this is not known here");
        };
        let (code, defaults) = (function.code.clone(), function.defaults.clone());
        let empty = py::Parameters::default();
        let parameters = match &code {
            Code::Def(function) => &*function.def.parameters,
            Code::Lambda(_, lambda) => lambda.parameters.as_deref().unwrap_or(&empty),
        };
        let mut named: Vec<(&str, i64)> = Vec::new();
        let several = |list: &'_ [py::ParameterWithDefault]| -> Vec<String> {
            list.iter().map(|parameter| parameter.parameter.name.to_string()).collect()
        };
        let (first, second) = (several(&parameters.posonlyargs), several(&parameters.args));
        let last = several(&parameters.kwonlyargs);
        named.extend(first.iter().map(|name| (name.as_str(), 0)));
        named.extend(second.iter().map(|name| (name.as_str(), 1)));
        named.extend(parameters.vararg.iter().map(|parameter| (parameter.name.as_str(), 2)));
        named.extend(last.iter().map(|name| (name.as_str(), 3)));
        named.extend(parameters.kwarg.iter().map(|parameter| (parameter.name.as_str(), 4)));
        let mut made = Vec::with_capacity(named.len());
        for (name, kind) in named {
            let default = defaults.iter().find(|(known, _)| &**known == name);
            let default = default.map(|(_, value)| value.clone()).into_iter().collect();
            let default = self.new_tuple(default)?;
            made.push(self.new_tuple(vec![Value::str(name), Value::Int(kind), default])?);
        }
        self.new_list(made)
    }

    /// An int argument.
    pub(super) fn int(&mut self, value: &Value) -> Outcome<i64> {
        self.check_known(value)?;
        if let Some(value) = value.as_int() {
            return Ok(value);
        }
        if self.arena.tensor(value).is_some() {
            return self.tensor_int(value);
        }
        let message =
            format!("'{}' object cannot be interpreted as an integer", self.type_name(value));
        self.type_error(message)
    }

    /// A string argument.
    pub(super) fn string(&mut self, value: &Value) -> Outcome<Arc<str>> {
        match value {
            Value::Str(text) => Ok(Arc::clone(text)),
            other if self.is_unknown(other) => self.refuse_unknown(other),
            other => {
                let message = format!("expected str instance, {} found", self.type_name(other));
                self.type_error(message)
            }
        }
    }

    /// Refuses a function of a library that is not here.
    pub(super) fn unknown_function<T>(&self, name: &str) -> Outcome<T> {
        refuse(format!(
            "'{name}' is not known here: constructors are run by a small interpreter, with what \
             constructors commonly use of the libraries"
        ))
    }
}
