//! Instructions that only compute: operators, and what the lite interpreter has instead of some.

use rustc_hash::FxHashMap;
use sconce_checkpoint::ErrorKind;
use sconce_ir::operators::{self, upgrader};
use sconce_ir::{Attribute, Constant, Kind, Operator, Prim, Schema, Type, TypeVariables, ValueId};

use super::facts::is_small;
use super::translation::{Result, Translation};
use crate::Error;

/// Instructions that are an operator of one overload, of so many values.
const OPERATORS: [(&str, &str, i64); 8] = [
    ("__IS__", "aten::__is__", 2),
    ("__ISNOT__", "aten::__isnot__", 2),
    ("__NOT__", "aten::__not__", 1),
    ("DEVICE", "prim::device", 1),
    ("DTYPE", "prim::dtype", 1),
    ("DIM", "aten::dim", 1),
    ("IS_CUDA", "prim::is_cuda", 1),
    ("WARN", "aten::warn", 2),
];

fn unsupported(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Unsupported, message)
}

impl Translation<'_> {
    /// Translates an instruction that takes values of the stack and gives others.
    pub(super) fn instruction(&mut self, op: &str, x: i64, n: i64) -> Result<()> {
        if let Some(&(_, name, count)) = OPERATORS.iter().find(|(known, ..)| *known == op) {
            return self.known(name, count);
        }
        match op {
            "OP" => self.operator(x, None),
            "OPN" => self.operator(x, Some(n)),
            "FORMAT" => self.known("aten::format", x),
            "NUM_TO_TENSOR" => {
                let value = self.pop()?;
                let is_bool = *self.graph.ty(value) == Type::Bool;
                self.push(value);
                let name =
                    if is_bool { "prim::NumToTensor.bool" } else { "prim::NumToTensor.Scalar" };
                self.known(name, 1)
            }
            "DICT_INDEX" => self.dict_index(),
            "RAISE_EXCEPTION" => self.special(Prim::RaiseException, None),
            "TUPLE_INDEX" => self.special(Prim::TupleIndex, None),
            "TO_LIST" => self.special(Prim::ToList, None),
            "UNCHECKED_CAST" => self.special(Prim::UncheckedCast, None),
            "UN_INITIALIZED" => self.special(Prim::Uninitialized, None),
            "TUPLE_CONSTRUCT" => {
                let items = self.pop_many(x)?;
                let types = items.iter().map(|&item| self.graph.ty(item).clone()).collect();
                self.value(Prim::TupleConstruct, &items, Type::tuple(types))
            }
            "LIST_CONSTRUCT" | "DICT_CONSTRUCT" => {
                let items = self.pop_many(n)?;
                let ty = self.ty(x)?;
                match (op, &ty) {
                    ("LIST_CONSTRUCT", Type::List(_)) => {
                        self.value(Prim::ListConstruct, &items, ty)
                    }
                    ("DICT_CONSTRUCT", Type::Dict(_)) if items.len() % 2 == 0 => {
                        self.value(Prim::DictConstruct, &items, ty)
                    }
                    _ => Err(Error::malformed(format!("it makes a {ty} of {n} values"))),
                }
            }
            "NAMED_TUPLE_CONSTRUCT" => {
                let items = self.pop_many(n)?;
                match self.ty(x)? {
                    Type::Tuple(of) if of.named.is_some() && of.elements.len() == items.len() => {
                        self.value(Prim::TupleConstruct, &items, Type::Tuple(of))
                    }
                    ty => Err(Error::malformed(format!("it makes a {ty} of {n} values"))),
                }
            }
            "LIST_UNPACK" => self.list_unpack(x),
            "TUPLE_SLICE" => self.tuple_slice(x, n),
            "ISINSTANCE" => {
                let value = self.pop()?;
                let types = (0..n).map(|place| self.ty(x.saturating_add(place)));
                let types = types.collect::<Result<Vec<_>>>()?;
                let node = self.node(Prim::Isinstance, &[value], &[Type::Bool]);
                self.graph.node_mut(node).set_attribute("types", Attribute::Types(types));
                self.push(self.graph.node(node).output());
                Ok(())
            }
            other => Err(unsupported(format!("the instruction {other} is not supported here"))),
        }
    }

    /// A type that the method names by number.
    fn ty(&self, index: i64) -> Result<Type> {
        let ty = usize::try_from(index).ok().and_then(|index| self.method.types.get(index));
        match ty {
            Some(Ok(ty)) => Ok(ty.clone()),
            Some(Err(error)) => Err(unsupported(error.as_str())),
            None => {
                let count = self.method.types.len();
                Err(Error::malformed(format!("it names type {index} of {count}")))
            }
        }
    }

    /// Adds a node with one output.
    fn value(&mut self, kind: impl Into<Kind>, inputs: &[ValueId], ty: Type) -> Result<()> {
        if !is_small(&ty) {
            return Err(Error::new(ErrorKind::Limit, "the type of what it gives is too large"));
        }
        let node = self.node(kind, inputs, &[ty]);
        self.push(self.graph.node(node).output());
        Ok(())
    }

    /// An operator of today, by its full name, of so many values.
    fn known(&mut self, name: &str, count: i64) -> Result<()> {
        let operator = operators::find_full(name)
            .ok_or_else(|| unsupported(format!("the operator {name} is not known")))?;
        let inputs = self.pop_many(count)?;
        self.call(operator, &operator.schema, &inputs)
    }

    fn operator(&mut self, index: i64, given: Option<i64>) -> Result<()> {
        let operators = &self.method.code.operators;
        let named = usize::try_from(index).ok().and_then(|index| operators.get(index));
        let (name, stated) = named.ok_or_else(|| {
            Error::malformed(format!("it names operator {index} of {}", operators.len()))
        })?;
        if let Some(prim) = Prim::from_symbol(name) {
            return self.special(prim, given.or(*stated));
        }
        let operator = operators::find_full(name)
            .ok_or_else(|| unsupported(format!("the operator {name} is not known here")))?;
        let version = self.program.op_version();
        let Some(upgrader) = upgrader(name, version) else {
            let inputs = self.arguments(&operator.schema, given, *stated)?;
            return self.call(operator, &operator.schema, &inputs);
        };
        let schema = Schema::parse(upgrader.old_schema)
            .map_err(|error| unsupported(format!("{}: {error}", upgrader.old_schema)))?;
        let inputs = self.arguments(&schema, given, *stated)?;
        self.call(operator, &schema, &inputs)?;
        let result = self.last()?;
        let node = self.graph.value(result).node();
        self.outdated.push((node, upgrader));
        Ok(())
    }

    /// The arguments of a call. Bytecode leaves out those at the end that are as by default; what is written to comes
    /// last all the same.
    fn arguments(
        &mut self,
        schema: &Schema,
        given: Option<i64>,
        stated: Option<i64>,
    ) -> Result<Vec<ValueId>> {
        let all = schema.arguments.len();
        if schema.is_vararg {
            return self.pop_many(given.or(stated).unwrap_or(all as i64));
        }
        let out = schema.arguments.iter().rev().take_while(|argument| argument.is_out()).count();
        let count = stated.map_or(Some(all), |stated| usize::try_from(stated).ok());
        let Some(count) = count.filter(|&count| count <= all && count >= out) else {
            let (name, stated) = (schema.full_name(), stated.unwrap_or_default());
            let message = format!("{name} takes {all} arguments, and is given {stated}");
            return Err(Error::malformed(message));
        };
        let mut inputs = self.pop_many(count as i64)?;
        let written = inputs.split_off(count - out);
        for argument in &schema.arguments[inputs.len()..all - out] {
            let Some(default) = &argument.default else {
                let (name, argument) = (schema.full_name(), &argument.name);
                let message = format!("{name} is not given '{argument}', which has no default");
                return Err(Error::malformed(message));
            };
            let value = self.constant(default);
            inputs.push(value);
        }
        inputs.extend(written);
        Ok(inputs)
    }

    /// Adds a call with all its arguments.
    fn call(&mut self, operator: &Operator, schema: &Schema, inputs: &[ValueId]) -> Result<()> {
        let enough = inputs.len() == schema.arguments.len()
            || (schema.is_vararg && inputs.len() >= schema.arguments.len());
        if !enough || schema.is_varret {
            let (name, given) = (schema.full_name(), inputs.len());
            return Err(unsupported(format!("a call of {name} with {given} values")));
        }
        let mut variables: TypeVariables = FxHashMap::default();
        for (argument, &input) in schema.arguments.iter().zip(inputs) {
            let actual = self.graph.ty(input);
            if !may_be(actual, &argument.ty) {
                let (name, argument, ty) = (schema.full_name(), &argument.name, &argument.ty);
                let message = format!("{name} takes a {ty} as '{argument}', not a {actual}");
                return Err(Error::malformed(message));
            }
            let actual = match (actual, &argument.ty) {
                (_, Type::Optional(_) | Type::Var(_)) => actual,
                (Type::Optional(of), _) => of,
                _ => actual,
            };
            // What does not match leaves its variables open.
            let _ = argument.ty.match_type_variables(actual, &mut variables, self.program.unit());
        }
        let mut types = Vec::with_capacity(schema.returns.len());
        for returned in &schema.returns {
            let ty = returned.ty.evaluate_type_variables(&variables, self.program.unit());
            types.push(ty.filter(is_small).unwrap_or(Type::Any));
        }
        let node = self.node(Kind::from_symbol(&schema.name), inputs, &types);
        self.graph.node_mut(node).operator = Some(operator.id);
        for output in self.graph.node(node).outputs().to_vec() {
            self.push(output);
        }
        Ok(())
    }

    /// What the language itself does with values.
    fn special(&mut self, prim: Prim, given: Option<i64>) -> Result<()> {
        match prim {
            Prim::UncheckedCast | Prim::UncheckedUnwrapOptional => {
                let value = self.pop()?;
                // A cast does not say to what. It stands where a value was found not to be `None`, or of a type that
                // the method tests for.
                let tests_for_none =
                    self.method.types.iter().any(|ty| matches!(ty, Ok(Type::None)));
                let ty = match (prim, self.graph.ty(value)) {
                    (Prim::UncheckedCast, ty) if tests_for_none => ty.clone(),
                    (_, Type::Optional(of)) => (**of).clone(),
                    (_, ty) => ty.clone(),
                };
                self.value(prim, &[value], ty)
            }
            Prim::Uninitialized => {
                self.value(prim, &[], Type::None)?;
                let value = self.last()?;
                self.nothing(value);
                Ok(())
            }
            Prim::RaiseException => {
                let count = given.unwrap_or(if self.height() > 1 { 2 } else { 1 });
                let inputs = self.pop_many(count)?;
                if !(1..=2).contains(&inputs.len()) {
                    let message = format!("an exception of {} values", inputs.len());
                    return Err(Error::malformed(message));
                }
                self.node(prim, &inputs, &[]);
                Ok(())
            }
            Prim::Print => {
                let given = given.ok_or_else(|| Error::malformed("print of how many values?"))?;
                let inputs = self.pop_many(given)?;
                self.node(prim, &inputs, &[]);
                Ok(())
            }
            Prim::TupleIndex => self.tuple_index(),
            Prim::TupleUnpack => self.tuple_unpack(),
            Prim::ListUnpack => {
                let count = self.stored_next();
                self.list_unpack(count)
            }
            Prim::ToList => self.nested_lists(),
            other => {
                Err(unsupported(format!("the operator {} is not supported here", other.symbol())))
            }
        }
    }

    /// The value on top of the stack.
    fn last(&mut self) -> Result<ValueId> {
        let value = self.pop()?;
        self.push(value);
        Ok(value)
    }

    /// How many values the next instruction stores: as many as this one gives.
    fn stored_next(&self) -> i64 {
        match self.next() {
            Some(next) if next.op == "STOREN" => next.n,
            _ => 1,
        }
    }

    /// The elements of a tuple, as far as its type says.
    fn elements(&self, tuple: ValueId) -> Option<Vec<Type>> {
        let ty = match self.graph.ty(tuple) {
            Type::Optional(of) => of,
            ty => ty,
        };
        match ty {
            Type::Tuple(of) => Some(of.elements.clone()),
            _ => None,
        }
    }

    fn tuple_unpack(&mut self) -> Result<()> {
        let tuple = self.pop()?;
        let types = match self.elements(tuple) {
            Some(elements) => elements,
            None => {
                let count = usize::try_from(self.stored_next()).unwrap_or(0);
                vec![Type::Any; count]
            }
        };
        let node = self.node(Prim::TupleUnpack, &[tuple], &types);
        for output in self.graph.node(node).outputs().to_vec() {
            self.push(output);
        }
        Ok(())
    }

    fn tuple_index(&mut self) -> Result<()> {
        let index = self.pop()?;
        let tuple = self.pop()?;
        let elements = self.elements(tuple);
        let ty = match (elements, self.graph.constant(index)) {
            (Some(elements), Some(Constant::Int(at))) => {
                let from_end = if at < 0 { elements.len() as i64 } else { 0 };
                let at = usize::try_from(at.saturating_add(from_end)).ok();
                at.and_then(|at| elements.get(at)).cloned().ok_or_else(|| {
                    let count = elements.len();
                    Error::malformed(format!("it takes an element that a tuple of {count} has not"))
                })?
            }
            _ => Type::Any,
        };
        self.value(Prim::TupleIndex, &[tuple, index], ty)
    }

    fn tuple_slice(&mut self, start: i64, len: i64) -> Result<()> {
        let tuple = self.pop()?;
        let bounds = usize::try_from(start).ok().zip(usize::try_from(len).ok());
        let elements = self.elements(tuple);
        let ty = match (&elements, bounds) {
            (Some(elements), Some((start, len))) => {
                let slice = start.checked_add(len).and_then(|end| elements.get(start..end));
                slice.map(|slice| Type::tuple(slice.to_vec()))
            }
            _ => None,
        };
        let ty = ty.ok_or_else(|| {
            let of = elements.map_or("unknown length".to_owned(), |of| of.len().to_string());
            Error::malformed(format!("it takes {len} elements from {start} of a tuple of {of}"))
        })?;
        let node = self.node(Prim::TupleSlice, &[tuple], &[ty]);
        for (name, bound) in [("beg", start), ("end", start.saturating_add(len))] {
            self.graph.node_mut(node).set_attribute(name, Attribute::Int(bound));
        }
        self.push(self.graph.node(node).output());
        Ok(())
    }

    fn list_unpack(&mut self, count: i64) -> Result<()> {
        /// The most values that a list is taken apart into.
        const MAX_ITEMS: usize = 1 << 16;
        let list = self.pop()?;
        let ty = match self.graph.ty(list) {
            Type::Optional(of) => of.element().cloned(),
            ty => ty.element().cloned(),
        };
        let Some(count) = usize::try_from(count).ok().filter(|&count| count <= MAX_ITEMS) else {
            return Err(Error::malformed(format!("it takes a list apart into {count} values")));
        };
        let node = self.node(Prim::ListUnpack, &[list], &vec![ty.unwrap_or(Type::Any); count]);
        for output in self.graph.node(node).outputs().to_vec() {
            self.push(output);
        }
        Ok(())
    }

    fn dict_index(&mut self) -> Result<()> {
        let key = self.pop()?;
        let dict = self.pop()?;
        let of = match self.graph.ty(key) {
            key if key.is_tensor() => "Tensor",
            Type::Str => "str",
            Type::Int => "int",
            Type::Bool => "bool",
            Type::Float => "float",
            Type::Complex => "complex",
            other => return Err(unsupported(format!("a key of the type {other} of a dict"))),
        };
        let operator = operators::find("aten::__getitem__", &format!("Dict_{of}"))
            .ok_or_else(|| unsupported(format!("dicts with keys of the type {of}")))?;
        self.call(operator, &operator.schema, &[dict, key])
    }

    /// A tensor as lists in lists, whose number and type are constants.
    fn nested_lists(&mut self) -> Result<()> {
        let inputs = self.pop_many(3)?;
        let number = |value| match self.graph.constant(value) {
            Some(Constant::Int(number)) => Some(number),
            _ => None,
        };
        let element = match number(inputs[2]) {
            Some(0) => Type::Int,
            Some(1) => Type::Float,
            Some(2) => Type::Bool,
            Some(3) => Type::Complex,
            _ => return Err(unsupported("a list of elements of a type that is not known")),
        };
        let Some(dims) = number(inputs[1]).filter(|dims| (0..=64).contains(dims)) else {
            return Err(unsupported("lists in lists, nested nobody knows how deep"));
        };
        let ty = (0..dims).fold(element, |element, _| Type::list(element));
        self.value(Prim::ToList, &inputs, ty)
    }
}

/// Whether a value of a type may be what an operator takes, as far as kinds of types tell.
fn may_be(actual: &Type, formal: &Type) -> bool {
    use Type::{Bool, Complex, Float, Int, Number};
    match (actual, formal) {
        (_, Type::Any | Type::Var(_)) | (Type::Any | Type::None, _) => true,
        (Type::Optional(actual), _) => may_be(actual, formal),
        (_, Type::Optional(formal)) => may_be(actual, formal),
        (Type::Union(actual), _) => actual.iter().any(|actual| may_be(actual, formal)),
        (_, Type::Union(formal)) => formal.iter().any(|formal| may_be(actual, formal)),
        (Bool | Int | Float | Complex | Number, Number) => true,
        (Number, Bool | Int | Float | Complex) => true,
        (Type::List(_), Type::List(_) | Type::AnyList) => true,
        (Type::Dict(_), Type::Dict(_)) => true,
        (Type::Tuple(_), Type::Tuple(_) | Type::AnyTuple) => true,
        (Type::Class(_), Type::AnyClass) | (Type::Enum(_), Type::AnyEnum) => true,
        _ => actual == formal || (actual.is_tensor() && formal.is_tensor()),
    }
}
