//! Calls of operators: which one a target is, its arguments in the order of its schema, its results by name.

use sconce_ir::{Constant, Kind, NodeId, Operator, Prim, Type, ValueId, operators};

use super::arguments::is_number;
use super::autocast;
use super::builder::{Builder, Result, unsupported};
use crate::Error;
use crate::schema::{Argument, NamedArgument, Node};

/// How long a list of results may be.
const MAX_RESULTS: usize = 1 << 16;

impl Builder {
    /// Imports a node.
    pub(super) fn import(&mut self, node: &Node) -> Result<()> {
        let target = node.target.as_str();
        if let Some(name) = target.strip_prefix("torch.ops.higher_order.") {
            return self.higher_order(name, node);
        }
        if let Some((symbol, overload)) = operator_name(target) {
            let given: Vec<(&str, &Argument)> =
                node.inputs.iter().map(|input| (input.name.as_str(), &input.arg)).collect();
            return self.operator(&symbol, overload, &given, &node.outputs);
        }
        self.scalar(node)
    }

    /// Imports a call of an operator with arguments by name.
    pub(super) fn operator(
        &mut self,
        symbol: &str,
        overload: &str,
        given: &[(&str, &Argument)],
        outputs: &[Argument],
    ) -> Result<()> {
        if self.special(symbol, overload, given, outputs)? {
            return Ok(());
        }
        let Some(operator) = operators::find(symbol, overload) else {
            return self.unknown(symbol, overload, given, outputs);
        };
        if let Some(results) = self.with_number(operator, given)? {
            return self.bind(&results, outputs);
        }
        let mut inputs = self.inputs_of(operator, given)?;
        if let Some(dtype) = self.autocast {
            autocast::cast_operands(self, &operator.schema, &mut inputs, dtype)?;
        }
        let call = self.call(operator, &inputs);
        self.results(call, outputs)
    }

    /// The arguments of an operator in the order of its schema; what is not given has its default.
    pub(super) fn inputs_of(
        &mut self,
        operator: &Operator,
        given: &[(&str, &Argument)],
    ) -> Result<Vec<ValueId>> {
        let schema = &operator.schema;
        for (index, (name, _)) in given.iter().enumerate() {
            if schema.argument_index(name).is_none() {
                let message =
                    format!("{} takes no argument '{name}': {schema}", schema.full_name());
                return Err(Error::malformed(message));
            }
            if given.iter().take(index).any(|(other, _)| other == name) {
                return Err(Error::malformed(format!("the argument '{name}' is given twice")));
            }
        }
        let mut inputs = Vec::with_capacity(schema.arguments.len());
        for formal in &schema.arguments {
            let argument = given.iter().find(|(name, _)| *name == &*formal.name);
            let value = match (argument, &formal.default) {
                (Some((_, argument)), _) => self.argument(argument, formal).map_err(|error| {
                    let what = format!("argument '{}' of {}", formal.name, schema.full_name());
                    Error::new(error.kind(), format!("{what}: {}", error.message()))
                })?,
                (None, Some(default)) => self.default(default, formal),
                (None, None) => {
                    let message = format!(
                        "{} is missing value for argument '{}'. Declaration: {schema}",
                        schema.full_name(),
                        formal.name
                    );
                    return Err(Error::malformed(message));
                }
            };
            inputs.push(value);
        }
        Ok(inputs)
    }

    fn default(&mut self, default: &Constant, formal: &sconce_ir::Argument) -> ValueId {
        let ty = match &formal.ty {
            Type::Optional(of) => of,
            ty => ty,
        };
        match (default, ty) {
            (Constant::List(_, items), Type::List(element)) => {
                let items: Vec<ValueId> = items.iter().map(|item| self.constant(item)).collect();
                self.list((**element).clone(), &items)
            }
            (Constant::Int(value), Type::Float) => self.constant(&Constant::Float(*value as f64)),
            (Constant::Int(_), Type::List(element)) => {
                let item = self.constant(default);
                let count = formal.fixed_size.unwrap_or(1) as usize;
                self.list((**element).clone(), &vec![item; count])
            }
            _ => self.constant(default),
        }
    }

    /// A call whose schema wants a tensor and that is given a number: the overload that takes numbers, in which they
    /// give way in type promotion. `None` where there is none.
    fn with_number(
        &mut self,
        operator: &Operator,
        given: &[(&str, &Argument)],
    ) -> Result<Option<Vec<ValueId>>> {
        let schema = &operator.schema;
        let is_given_number = |formal: &sconce_ir::Argument| {
            let argument = given.iter().find(|(name, _)| *name == &*formal.name);
            formal.ty == Type::Tensor && argument.is_some_and(|(_, argument)| is_number(argument))
        };
        let numbers: Vec<bool> = schema.arguments.iter().map(is_given_number).collect();
        if !numbers.contains(&true) {
            return Ok(None);
        }
        let suits = |other: &&Operator| {
            let (arguments, others) = (&schema.arguments, &other.schema.arguments);
            arguments.len() == others.len()
                && arguments.iter().zip(others).zip(&numbers).all(|((a, b), &number)| {
                    a.name == b.name && b.ty == if number { Type::Number } else { a.ty.clone() }
                })
        };
        if let Some(other) = operators::named(&schema.name).iter().find(suits) {
            let inputs = self.inputs_of(other, given)?;
            let call = self.call(other, &inputs);
            return Ok(Some(self.graph.node(call).outputs().to_vec()));
        }
        // `1 - x`, `2 + x`, `3 * x`
        let inputs = self.inputs_of(operator, given)?;
        let swapped = match (&*schema.name, &*schema.overload, inputs.as_slice()) {
            ("aten::sub", "Tensor", &[number, tensor, alpha]) => {
                Some(self.known("aten::rsub.Scalar", &[tensor, number, alpha])?)
            }
            ("aten::add", "Tensor", &[number, tensor, alpha]) if self.is_one(alpha) => {
                Some(self.known("aten::add.Scalar", &[tensor, number, alpha])?)
            }
            ("aten::mul", "Tensor", &[number, tensor]) => {
                Some(self.known("aten::mul.Scalar", &[tensor, number])?)
            }
            _ => None,
        };
        if let Some(value) = swapped {
            return Ok(Some(vec![value]));
        }
        let call = self.call(operator, &inputs);
        Ok(Some(self.graph.node(call).outputs().to_vec()))
    }

    fn is_one(&self, value: ValueId) -> bool {
        matches!(self.graph.constant(value), Some(Constant::Int(1)))
    }

    /// A call of an operator that is in no table: it is there to be shown, and refused before anything runs.
    pub(super) fn unknown(
        &mut self,
        symbol: &str,
        overload: &str,
        given: &[(&str, &Argument)],
        outputs: &[Argument],
    ) -> Result<()> {
        let full = match overload {
            "" => symbol.to_owned(),
            overload => format!("{symbol}.{overload}"),
        };
        let mut inputs = Vec::new();
        for (_, argument) in given {
            let value = self.plain(argument).or_else(|_| {
                let items = self.values(argument)?;
                let element = items.first().map_or(Type::Tensor, |&item| self.ty(item).clone());
                Ok(self.list(element, &items))
            });
            // What it is, nobody can say: it is not called.
            inputs.extend(value.or_else(|_: Error| Ok::<_, Error>(self.none())));
        }
        let outputs = match outputs {
            [Argument::None(_)] => &[],
            outputs => outputs,
        };
        let types: Vec<Type> = outputs.iter().map(result_type).collect();
        let node = self.node(Kind::Op(full.as_str().into()), &inputs, &types);
        if !self.unknown.contains(&full) {
            self.unknown.push(full);
        }
        self.results(node, outputs)
    }

    /// Gives the results of a node their names.
    pub(super) fn results(&mut self, node: NodeId, outputs: &[Argument]) -> Result<()> {
        let values = self.graph.node(node).outputs().to_vec();
        self.bind(&values, outputs)
    }

    /// Gives values the names of results.
    pub(super) fn bind(&mut self, values: &[ValueId], outputs: &[Argument]) -> Result<()> {
        if values.len() != outputs.len() {
            if outputs.iter().all(|output| matches!(output, Argument::None(_))) {
                return Ok(());
            }
            let message =
                format!("{} results are named, and there are {}", outputs.len(), values.len());
            return Err(Error::malformed(message));
        }
        for (&value, output) in values.iter().zip(outputs) {
            match output {
                Argument::None(_) => {}
                Argument::Tensors(tensors) => {
                    let names: Vec<&str> =
                        tensors.iter().map(|tensor| tensor.name.as_str()).collect();
                    self.unpack(value, &names)?;
                }
                Argument::SymInts(items) => {
                    let items = items.iter().map(|item| match item {
                        crate::schema::SymIntArgument::Name(name) => Ok(name.as_str()),
                        crate::schema::SymIntArgument::Int(_) => {
                            Err(Error::malformed("a result is a number"))
                        }
                    });
                    let names = items.collect::<Result<Vec<&str>>>()?;
                    self.unpack(value, &names)?;
                }
                other => match other.name() {
                    Some(name) => {
                        let value = self.typed_result(value, other)?;
                        self.define(name, value)?;
                    }
                    None => {
                        return Err(unsupported(format!("a result that is {}", other.tag())));
                    }
                },
            }
        }
        Ok(())
    }

    /// Names the items of a list.
    fn unpack(&mut self, list: ValueId, names: &[&str]) -> Result<()> {
        let Some(element) = self.ty(list).element().cloned() else {
            return Err(Error::malformed("a list of names is given to what is not a list"));
        };
        if names.len() > MAX_RESULTS {
            return Err(Error::malformed(format!(
                "more than {MAX_RESULTS} results of one operator"
            )));
        }
        let node = self.node(Prim::ListUnpack, &[list], &vec![element; names.len()]);
        for (index, name) in names.iter().enumerate() {
            let value = self.graph.node(node).outputs()[index];
            self.define(name, value)?;
        }
        Ok(())
    }

    /// The result of an operator that gives a number of any kind, as one of the kind that the name says.
    fn typed_result(&mut self, value: ValueId, output: &Argument) -> Result<ValueId> {
        let cast = match (self.ty(value), output) {
            (Type::Number, Argument::SymInt(_)) => "aten::Int.Scalar",
            (Type::Number, Argument::SymFloat(_)) => "aten::Float.Scalar",
            _ => return Ok(value),
        };
        self.known(cast, &[value])
    }
}

/// The type of a result of an operator that nobody knows.
fn result_type(output: &Argument) -> Type {
    match output {
        Argument::Tensors(_) => Type::list(Type::Tensor),
        Argument::SymInt(_) => Type::Int,
        Argument::SymFloat(_) => Type::Float,
        Argument::SymBool(_) => Type::Bool,
        Argument::SymInts(_) => Type::list(Type::Int),
        _ => Type::Tensor,
    }
}

/// Symbol and overload of a target such as `torch.ops.aten.add.Tensor`.
pub(super) fn operator_name(target: &str) -> Option<(String, &str)> {
    let name = target.strip_prefix("torch.ops.")?;
    let mut parts = name.split('.');
    let (namespace, name, overload) = (parts.next()?, parts.next()?, parts.next()?);
    if parts.next().is_some() {
        return None;
    }
    let overload = if overload == "default" { "" } else { overload };
    Some((format!("{namespace}::{name}"), overload))
}

/// The argument of a name, or at a place where names are empty.
pub(super) fn find<'a>(
    inputs: &'a [NamedArgument],
    index: usize,
    name: &str,
) -> Result<&'a Argument> {
    let by_name = inputs.iter().find(|input| input.name == name);
    let found = by_name.or_else(|| inputs.get(index));
    found
        .map(|input| &input.arg)
        .ok_or_else(|| Error::malformed(format!("there is no argument '{name}'")))
}
