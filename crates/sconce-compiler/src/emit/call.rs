//! Calls of what is no form of the language.

use std::sync::Arc;

use sconce_ir::{
    Argument, ClassId, Constant, FunctionId, InterfaceId, Prim, Schema, Type, ValueId,
};
use sconce_syntax::{Range, ast};

use super::Emitter;
use super::sugared::Sugared;
use crate::emit::matching::{ArgumentValue, Arguments, Keyword};
use crate::{Dispatch, Error};

impl Emitter<'_> {
    /// A call of an operator with values alone.
    pub(super) fn call_values(
        &mut self,
        at: Option<Range>,
        symbol: &str,
        inputs: &[ValueId],
    ) -> Result<ValueId, Error> {
        self.operator(at, symbol, inputs)
    }

    /// Positional arguments; starred tuples are taken apart.
    pub(super) fn passed(
        &mut self,
        expressions: &[ast::Expr],
    ) -> Result<Vec<ArgumentValue>, Error> {
        let values = self.values(expressions, true)?;
        Ok(values.into_iter().map(ArgumentValue::Value).collect())
    }

    /// The values of expressions, those of starred tuples one by one if `unpack`.
    pub(super) fn values(
        &mut self,
        expressions: &[ast::Expr],
        unpack: bool,
    ) -> Result<Vec<ValueId>, Error> {
        let mut values = Vec::with_capacity(expressions.len());
        for expression in expressions {
            match &expression.kind {
                ast::ExprKind::Starred(inner) if unpack => {
                    let tuple = self.sugared(inner, None)?;
                    for element in self.as_tuple(&tuple, expression.range, None)? {
                        values.push(self.as_value(element, expression.range)?);
                    }
                }
                _ => values.push(self.expression(expression, None)?),
            }
        }
        Ok(values)
    }

    pub(super) fn keywords(&mut self, keywords: &[ast::Keyword]) -> Result<Vec<Keyword>, Error> {
        let mut passed = Vec::with_capacity(keywords.len());
        for keyword in keywords {
            let value = ArgumentValue::Value(self.expression(&keyword.value, None)?);
            passed.push(Keyword { name: Arc::clone(&keyword.name.name), value });
        }
        Ok(passed)
    }

    /// Calls what is no form.
    pub(super) fn call(
        &mut self,
        callee: Sugared,
        at: Range,
        args: &[ArgumentValue],
        keywords: &[Keyword],
    ) -> Result<Sugared, Error> {
        match callee {
            Sugared::Builtin(symbol, receiver) => {
                let arguments =
                    Arguments { positional: args, keywords, receiver: receiver.as_ref() };
                self.call_operator(Some(at), &symbol, arguments).map(Sugared::Simple)
            }
            Sugared::Method(object, name) => {
                self.call_method(object, &name, Some(at), args, keywords)
            }
            Sugared::Module(module) => self.call_module(module, at, args, keywords),
            Sugared::MethodOverloads(module, names) => {
                self.call_method_overload(module, &names, at, args, keywords)
            }
            Sugared::DroppedMethod(module, schema) => {
                let mut positional = vec![ArgumentValue::Value(module)];
                positional.extend_from_slice(args);
                self.call_dropped(&schema, at, &positional, keywords)
            }
            Sugared::ModuleContents(contents, _) if args.is_empty() && keywords.is_empty() => {
                Ok(*contents)
            }
            Sugared::ModuleContents(_, name) => {
                Err(self.error(at, format!("{name} method does not accept any arguments")))
            }
            Sugared::Function(function) => self.call_function(&[function], at, args, keywords),
            Sugared::Overloads(functions) => self.call_function(&functions, at, args, keywords),
            Sugared::Dropped(schema) => self.call_dropped(&schema, at, args, keywords),
            Sugared::Python(schema) => self.call_python(&schema, at, args, keywords),
            Sugared::Dispatch(dispatch) => self.call_dispatched(&dispatch, at, args, keywords),
            Sugared::Callable(name) => {
                // One tensor for each argument, and one for the result.
                let named = |name: String| Argument::new(name, Type::Tensor);
                let schema = Schema {
                    name,
                    overload: "".into(),
                    arguments: (0..args.len()).map(|at| named(at.to_string())).collect(),
                    returns: vec![named("0".into())],
                    is_vararg: false,
                    is_varret: false,
                };
                self.call_python(&schema, at, args, keywords)
            }
            Sugared::Opaque(_) | Sugared::Refused(_) => {
                let value = self.as_value(callee, at)?;
                self.call(Sugared::Simple(value), at, args, keywords)
            }
            Sugared::Magic(method, base) => self.call_magic(method, *base, at, args, keywords),
            Sugared::Cast(ty, symbol) => self.cast(&ty, symbol, at, args, keywords),
            Sugared::TensorCast(name, ..) if !args.is_empty() || !keywords.is_empty() => {
                // PyTorch asserts that there are none.
                Err(self.error(at, format!("{name} of a tensor takes no arguments in TorchScript")))
            }
            Sugared::TensorCast(_, dtype, value) => self.cast_tensor(dtype, value, at),
            Sugared::Print => self.print(at, args, keywords),
            Sugared::Class(id, ty) => self.construct(id, ty, at, args, keywords),
            Sugared::NamedTuple(ty) => self.construct_named_tuple(ty, at, args, keywords),
            Sugared::Exception(class) => self.exception(class, at, args, keywords),
            Sugared::Simple(value) if matches!(self.module_or_value(value), Sugared::Module(_)) => {
                self.call_module(value, at, args, keywords)
            }
            Sugared::Simple(value) if matches!(self.graph.ty(value), Type::Class(_)) => {
                let call = self.attribute(callee, at, &Arc::from("__call__"))?;
                self.call(call, at, args, keywords)
            }
            other => Err(self.error(at, format!("cannot call a {}", self.kind_text(&other)))),
        }
    }

    /// A call of the first of several functions that takes these arguments.
    fn call_function(
        &mut self,
        functions: &[FunctionId],
        at: Range,
        args: &[ArgumentValue],
        keywords: &[Keyword],
    ) -> Result<Sugared, Error> {
        let mut schemas = Vec::with_capacity(functions.len());
        for &function in functions {
            self.ensure_schema(function, Some(at))?;
            schemas.push(Arc::clone(&self.unit.function(function).schema));
        }
        let arguments = Arguments { positional: args, keywords, receiver: None };
        let candidates = schemas.iter().map(|schema| &**schema);
        let (chosen, matched) = self.match_schemas(Some(at), candidates, arguments)?;
        let mut inputs = vec![self.function_constant(functions[chosen])];
        inputs.extend(matched.inputs);
        let ty = matched.returns.into_iter().next().unwrap_or(Type::None);
        Ok(Sugared::Simple(self.insert_at(Prim::CallFunction, &inputs, ty, at)))
    }

    /// A call of a function that stays in Python: it raises.
    fn call_dropped(
        &mut self,
        schema: &Schema,
        at: Range,
        args: &[ArgumentValue],
        keywords: &[Keyword],
    ) -> Result<Sugared, Error> {
        const MESSAGE: &str = "This Python function is annotated to be ignored and cannot be run";
        let arguments = Arguments { positional: args, keywords, receiver: None };
        let matched = self.match_schema(Some(at), schema, arguments)?;
        let message = self.constant(&Constant::Str(MESSAGE.into()), None);
        let none = self.constant(&Constant::None, None);
        self.operator(Some(at), "prim::RaiseException", &[message, none])?;
        let ty = matched.returns.into_iter().next().unwrap_or(Type::None);
        Ok(Sugared::Simple(self.insert_at(Prim::Uninitialized, &[], ty, at)))
    }

    /// A call of a function that stays in Python: `^name(…)`, which has no place in an archive.
    fn call_python(
        &mut self,
        schema: &Schema,
        at: Range,
        args: &[ArgumentValue],
        keywords: &[Keyword],
    ) -> Result<Sugared, Error> {
        let arguments = Arguments { positional: args, keywords, receiver: None };
        let matched = self.match_schema(Some(at), schema, arguments)?;
        let ty = matched.returns.into_iter().next().unwrap_or(Type::None);
        let value = self.insert_named(Prim::PythonOp, &matched.inputs, &schema.name, ty);
        self.set_known_range(self.graph.value(value).node(), Some(at));
        Ok(Sugared::Simple(value))
    }

    /// A call of one of two functions, by an argument that must be a constant.
    fn call_dispatched(
        &mut self,
        dispatch: &Dispatch,
        at: Range,
        args: &[ArgumentValue],
        keywords: &[Keyword],
    ) -> Result<Sugared, Error> {
        let named = keywords.iter().find(|keyword| keyword.name == dispatch.argument);
        let (flag, which) = match (args.get(dispatch.index), named) {
            (Some(passed), _) => (Some(passed), format!("at position {}", dispatch.index)),
            (None, Some(keyword)) => (Some(&keyword.value), format!("'{}'", dispatch.argument)),
            (None, None) => (None, String::new()),
        };
        let known = match flag {
            None => Some(dispatch.default),
            Some(ArgumentValue::Default(Constant::Bool(flag))) => Some(*flag),
            Some(ArgumentValue::Value(value)) => match self.graph.constant(*value) {
                Some(Constant::Bool(flag)) => Some(flag),
                _ => None,
            },
            Some(ArgumentValue::Default(_)) => None,
        };
        let Some(known) = known else {
            let message = format!("Argument for boolean dispatch {which} was not constant");
            return Err(self.error(at, message));
        };
        let name = if known { &dispatch.if_true } else { &dispatch.if_false };
        let global = self.resolver.member(self.unit, &dispatch.namespace, name);
        match global.map_err(|error| error.or_at(self.source_range(at)))? {
            Some(global) => {
                let callee = self.global(global, at);
                self.call(callee, at, args, keywords)
            }
            None => Err(self.error(at, format!("object has no attribute {name}"))),
        }
    }

    /// Makes sure that it is known what a function returns.
    pub(super) fn ensure_schema(
        &mut self,
        function: FunctionId,
        at: Option<Range>,
    ) -> Result<(), Error> {
        let result = self.resolver.ensure_schema(self.unit, function);
        result.map_err(|error| match at {
            Some(at) => error.or_at(self.source_range(at)),
            None => error,
        })
    }

    /// A call of a method of an object or interface.
    pub(super) fn call_method(
        &mut self,
        object: ValueId,
        name: &Arc<str>,
        at: Option<Range>,
        args: &[ArgumentValue],
        keywords: &[Keyword],
    ) -> Result<Sugared, Error> {
        let schema = self.method_schema(object, name, at)?;
        let mut positional = Vec::with_capacity(args.len() + 1);
        positional.push(ArgumentValue::Value(object));
        positional.extend_from_slice(args);
        let arguments = Arguments { positional: &positional, keywords, receiver: None };
        let matched = self.match_schema(at, &schema, arguments)?;
        let ty = matched.returns.into_iter().next().unwrap_or(Type::None);
        let value = self.insert_named(Prim::CallMethod, &matched.inputs, name, ty);
        self.set_known_range(self.graph.value(value).node(), at);
        Ok(Sugared::Simple(value))
    }

    pub(super) fn method_schema(
        &mut self,
        object: ValueId,
        name: &str,
        at: Option<Range>,
    ) -> Result<Arc<Schema>, Error> {
        let found = match self.graph.ty(object).clone() {
            Type::Class(class) => {
                let id = self.class_of(&class)?;
                let method = self.unit.find_method(id, name);
                if let Some(method) = method {
                    self.ensure_schema(method, at)?;
                }
                method.map(|method| Arc::clone(&self.unit.function(method).schema))
            }
            Type::Interface(interface) => {
                let methods = &self.unit.interface(InterfaceId(interface.id)).methods;
                methods.iter().find(|method| &*method.name == name).cloned()
            }
            _ => None,
        };
        found.ok_or_else(|| {
            let ty = self.type_text(object);
            self.error(at, format!("'{ty}' object has no attribute or method '{name}'."))
        })
    }

    /// An object's own method if the first argument is one, else the function.
    pub(super) fn call_magic(
        &mut self,
        method: &'static str,
        base: Sugared,
        at: Range,
        args: &[ArgumentValue],
        keywords: &[Keyword],
    ) -> Result<Sugared, Error> {
        if let Some((ArgumentValue::Value(first), rest)) = args.split_first()
            && matches!(self.graph.ty(*first), Type::Class(_))
        {
            let method = self.attribute(Sugared::Simple(*first), at, &Arc::from(method))?;
            return self.call(method, at, rest, keywords);
        }
        self.call(base, at, args, keywords)
    }

    /// An operator with a magic method, on values.
    pub(super) fn magic_operator(
        &mut self,
        method: &'static str,
        symbol: &str,
        at: Range,
        inputs: &[ValueId],
    ) -> Result<ValueId, Error> {
        let args: Vec<ArgumentValue> = inputs.iter().copied().map(ArgumentValue::Value).collect();
        let base = Sugared::Builtin(symbol.into(), None);
        let result = self.call_magic(method, base, at, &args, &[])?;
        self.as_value(result, at)
    }

    fn cast(
        &mut self,
        ty: &Type,
        symbol: &str,
        at: Range,
        args: &[ArgumentValue],
        keywords: &[Keyword],
    ) -> Result<Sugared, Error> {
        if let ([ArgumentValue::Value(value)], []) = (args, keywords) {
            // Made whether it is needed or not, as in PyTorch.
            let zero = self.constant(&Constant::Int(0), None);
            if self.is_subtype(*value, ty) {
                return Ok(Sugared::Simple(*value));
            }
            let actual = self.graph.ty(*value);
            let is_sized =
                matches!(actual, Type::List(_) | Type::AnyList | Type::Str | Type::Dict(_));
            if *ty == Type::Bool && is_sized {
                let length = self.operator(Some(at), "aten::len", &[*value])?;
                return Ok(Sugared::Simple(self.operator(
                    Some(at),
                    "aten::gt",
                    &[length, zero],
                )?));
            }
        }
        let arguments = Arguments { positional: args, keywords, receiver: None };
        self.call_operator(Some(at), symbol, arguments).map(Sugared::Simple)
    }

    fn cast_tensor(&mut self, dtype: i64, value: ValueId, at: Range) -> Result<Sugared, Error> {
        let dtype = self.int(dtype, at);
        let keywords = [
            Keyword { name: "self".into(), value: ArgumentValue::Value(value) },
            Keyword { name: "dtype".into(), value: ArgumentValue::Value(dtype) },
        ];
        let arguments = Arguments { positional: &[], keywords: &keywords, receiver: None };
        self.call_operator(Some(at), "aten::to", arguments).map(Sugared::Simple)
    }

    fn print(
        &mut self,
        at: Range,
        args: &[ArgumentValue],
        keywords: &[Keyword],
    ) -> Result<Sugared, Error> {
        if !keywords.is_empty() {
            return Err(self.error(at, "print doesn't accept any keyword arguments"));
        }
        let inputs = passed_values(args);
        let node = self.insert(Prim::Print, &inputs);
        self.set_range(node, at);
        Ok(Sugared::Nothing)
    }

    fn construct(
        &mut self,
        id: ClassId,
        ty: Type,
        at: Range,
        args: &[ArgumentValue],
        keywords: &[Keyword],
    ) -> Result<Sugared, Error> {
        let object = self.insert_at(Prim::CreateObject, &[], ty, at);
        if self.unit.find_method(id, "__init__").is_none() {
            let name = self.unit.class(id).name.rsplit('.').next().unwrap_or_default();
            let message = format!("Class {name} does not have an __init__ function defined");
            return Err(self.error(at, message));
        }
        self.call_method(object, &Arc::from("__init__"), Some(at), args, keywords)?;
        Ok(Sugared::Simple(object))
    }

    fn construct_named_tuple(
        &mut self,
        ty: Type,
        at: Range,
        args: &[ArgumentValue],
        keywords: &[Keyword],
    ) -> Result<Sugared, Error> {
        let schema = named_tuple_schema(&ty);
        let arguments = Arguments { positional: args, keywords, receiver: None };
        let matched = self.match_schema(Some(at), &schema, arguments)?;
        Ok(Sugared::Simple(self.insert_at(Prim::TupleConstruct, &matched.inputs, ty, at)))
    }

    fn exception(
        &mut self,
        class: Option<Arc<str>>,
        at: Range,
        args: &[ArgumentValue],
        keywords: &[Keyword],
    ) -> Result<Sugared, Error> {
        let is_of_python = class.as_ref().is_none_or(|class| class.starts_with("builtins."));
        if is_of_python && !keywords.is_empty() {
            let name = class.as_deref().and_then(|class| class.rsplit('.').next());
            let name = name.unwrap_or("AssertionError");
            return Err(self.error(at, format!("{name}() takes no keyword arguments")));
        }
        match class {
            Some(class) => {
                let message = match args {
                    [] => self.constant(&Constant::Str("".into()), Some(at)),
                    [ArgumentValue::Value(only)] => *only,
                    _ => self.tuple(at, &passed_values(args))?,
                };
                let class = self.constant(&Constant::Str(class), Some(at));
                Ok(Sugared::ExceptionMessage(message, Some(class)))
            }
            None => {
                let mut message =
                    self.constant(&Constant::Str("AssertionError: ".into()), Some(at));
                for mut input in passed_values(args) {
                    if !self.is_subtype(input, &Type::Str) {
                        input = self.operator(Some(at), "aten::str", &[input])?;
                    }
                    message = self.operator(Some(at), "aten::add", &[message, input])?;
                }
                Ok(Sugared::ExceptionMessage(message, None))
            }
        }
    }
}

/// The values among what is passed; what a call's expressions give is nothing else.
fn passed_values(args: &[ArgumentValue]) -> Vec<ValueId> {
    let value = |passed: &ArgumentValue| match passed {
        ArgumentValue::Value(value) => Some(*value),
        ArgumentValue::Default(_) => None,
    };
    args.iter().filter_map(value).collect()
}

/// The signature by which a NamedTuple is made.
fn named_tuple_schema(ty: &Type) -> Schema {
    let mut schema = Schema {
        name: "".into(),
        overload: "".into(),
        arguments: Vec::new(),
        returns: Vec::new(),
        is_vararg: false,
        is_varret: false,
    };
    let Type::Tuple(tuple) = ty else { return schema };
    let Some(named) = &tuple.named else { return schema };
    schema.name = named.name.rsplit('.').next().unwrap_or_default().into();
    let first_default = named.fields.len().saturating_sub(named.defaults.len());
    for (index, (field, element)) in named.fields.iter().zip(&tuple.elements).enumerate() {
        let mut argument = sconce_ir::Argument::new(Arc::clone(field), element.clone());
        let default = index.checked_sub(first_default);
        argument.default = default.and_then(|index| named.defaults.get(index)).cloned();
        schema.arguments.push(argument);
    }
    schema
}
