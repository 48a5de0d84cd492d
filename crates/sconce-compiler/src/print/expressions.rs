//! Expressions: what a node computes.

use sconce_ir::{Argument, Attribute, Constant, Kind, Node, NodeId, Prim, Schema, Type, ValueId};

use super::constants::is_inferred;
use super::names::is_identifier;
use super::scope::Scope;
use super::tagged::Tagged;
use crate::Error;

/// Operators that are written as a call of a name without a namespace.
const BARE_CALLS: &[(&str, &str)] = &[
    ("aten::Int", "int"),
    ("aten::Float", "float"),
    ("aten::Bool", "bool"),
    ("aten::str", "str"),
    ("aten::sorted", "sorted"),
];

impl Scope<'_, '_, '_> {
    /// What a node computes, as code.
    pub(super) fn expression(&mut self, id: NodeId) -> Result<Tagged, Error> {
        let node = self.graph.node(id);
        let mut text = self.start();
        match &node.kind {
            Kind::Prim(prim) => self.instruction(*prim, id, &mut text)?,
            Kind::Op(name) => self.operator(name, id, &mut text)?,
        }
        Ok(text)
    }

    fn instruction(&mut self, prim: Prim, id: NodeId, text: &mut Tagged) -> Result<(), Error> {
        let node = self.graph.node(id);
        match prim {
            Prim::Constant => self.constant(node, text),
            Prim::Uninitialized => {
                let ty = self.annotation(self.output_type(node)?);
                text.push_str(&format!("uninitialized({ty})"));
                Ok(())
            }
            Prim::Print => self.call("print", node, text),
            Prim::TupleConstruct => self.tuple(node, text),
            Prim::TupleIndex => self.tuple_index(node, text),
            Prim::TupleSlice => self.tuple_slice(node, text),
            Prim::ListConstruct => self.list(node, text),
            Prim::DictConstruct => self.dict(node, text),
            Prim::CreateObject => {
                let class = self.annotation(self.output_type(node)?);
                text.push_str(&format!("{class}.__new__({class})"));
                Ok(())
            }
            Prim::GetAttr => self.get_attribute(node, text),
            Prim::CallFunction => self.call_function(node, text),
            Prim::CallMethod => self.call_method(node, text),
            Prim::UncheckedCast | Prim::UncheckedUnwrapOptional => {
                self.typed("unchecked_cast", node, text)
            }
            Prim::Isinstance => self.isinstance(node, text),
            Prim::ToList => {
                let ty = self.annotation(self.output_type(node)?);
                text.push_str(&format!("annotate({ty}, "));
                text.push(&*self.use_of(self.input(node, 0)?)?);
                text.push_str(".tolist())");
                Ok(())
            }
            Prim::EnumName => self.member(".name", node, text),
            Prim::EnumValue => self.member(".value", node, text),
            Prim::PythonOp => {
                let name = node.str_attribute("name").map_or("", |name| &**name);
                let message = format!(
                    "Could not export Python function call '{name}'. Remove calls to Python \
                     functions before export. Did you forget to add @script or @script_method \
                     annotation? If this is a nn.ModuleList, add it to __constants__"
                );
                Err(Error::at_node(node, message))
            }
            other => self.operator_call(other.symbol(), id, text),
        }
    }

    fn operator(&mut self, name: &str, id: NodeId, text: &mut Tagged) -> Result<(), Error> {
        let node = self.graph.node(id);
        if let Some((_, call)) = BARE_CALLS.iter().find(|(operator, _)| *operator == name) {
            return self.call(call, node, text);
        }
        match name {
            "aten::ScalarImplicit" | "aten::FloatImplicit" | "aten::IntImplicit" => {
                self.typed("annotate", node, text)
            }
            "aten::__getitem__" => {
                let (of, index) = (self.input(node, 0)?, self.input(node, 1)?);
                let of = self.use_of(of)?;
                // PyTorch drops the ranges of the left side here.
                if is_identifier(of.as_str()) {
                    text.push_str(of.as_str());
                } else {
                    text.push_str(&format!("({})", of.as_str()));
                }
                text.push_str("[");
                text.push(&*self.use_of(index)?);
                text.push_str("]");
                Ok(())
            }
            "aten::_unwrap_optional" => self.unwrap_optional(node, text),
            _ => self.operator_call(name, id, text),
        }
    }

    fn constant(&mut self, node: &Node, text: &mut Tagged) -> Result<(), Error> {
        let value = node.outputs().first().and_then(|&output| self.graph.constant(output));
        let Some(value) = value else { return Err(self.malformed(node)) };
        if let Constant::Function(_) = &value {
            self.session.dependencies.add(&value.ty());
        }
        text.push_str(&self.session.constant_text(&value));
        Ok(())
    }

    /// `name(inputs)`
    fn call(&self, name: &str, node: &Node, text: &mut Tagged) -> Result<(), Error> {
        text.push_str(name);
        text.push_str("(");
        self.push_values(node.inputs(), text)?;
        text.push_str(")");
        Ok(())
    }

    /// `name(T, input)`, of the type of the output.
    fn typed(&self, name: &str, node: &Node, text: &mut Tagged) -> Result<(), Error> {
        let ty = self.annotation(self.output_type(node)?);
        text.push_str(&format!("{name}({ty}, "));
        text.push(&*self.use_of(self.input(node, 0)?)?);
        text.push_str(")");
        Ok(())
    }

    /// `(input).name`
    fn member(&self, name: &str, node: &Node, text: &mut Tagged) -> Result<(), Error> {
        text.push_str("(");
        text.push(&*self.use_of(self.input(node, 0)?)?);
        text.push_str(")");
        text.push_str(name);
        Ok(())
    }

    fn tuple(&self, node: &Node, text: &mut Tagged) -> Result<(), Error> {
        let ty = self.output_type(node)?;
        if ty.qualified_name().is_some() {
            text.push_str(&self.annotation(ty));
        }
        text.push_str("(");
        self.push_values(node.inputs(), text)?;
        text.push_str(if node.inputs().len() == 1 { ",)" } else { ")" });
        Ok(())
    }

    fn tuple_index(&self, node: &Node, text: &mut Tagged) -> Result<(), Error> {
        text.push_str("(");
        text.push(&*self.use_of(self.input(node, 0)?)?);
        text.push_str(")[");
        text.push(&*self.use_of(self.input(node, 1)?)?);
        text.push_str("]");
        Ok(())
    }

    fn tuple_slice(&self, node: &Node, text: &mut Tagged) -> Result<(), Error> {
        let (Some(Attribute::Int(begin)), Some(Attribute::Int(end))) =
            (node.attribute("beg"), node.attribute("end"))
        else {
            return Err(self.malformed(node));
        };
        text.push_str("(");
        text.push(&*self.use_of(self.input(node, 0)?)?);
        text.push_str(&format!(")[{begin}:{end}]"));
        Ok(())
    }

    /// `[…]`, annotated where its elements do not tell the type.
    fn list(&self, node: &Node, text: &mut Tagged) -> Result<(), Error> {
        let ty = self.output_type(node)?;
        let Type::List(element) = ty else { return Err(self.malformed(node)) };
        let annotated = node.inputs().is_empty() || !is_inferred(element);
        if annotated {
            text.push_str(&format!("annotate({}, ", self.annotation(ty)));
        }
        text.push_str("[");
        self.push_values(node.inputs(), text)?;
        text.push_str("]");
        text.push_str(if annotated { ")" } else { "" });
        Ok(())
    }

    /// `{…}`, annotated where its entries do not tell the type.
    fn dict(&self, node: &Node, text: &mut Tagged) -> Result<(), Error> {
        let ty = self.output_type(node)?;
        let Type::Dict(of) = ty else { return Err(self.malformed(node)) };
        let annotated = node.inputs().is_empty() || !is_inferred(&of.0) || !is_inferred(&of.1);
        if annotated {
            text.push_str(&format!("annotate({}, ", self.annotation(ty)));
        }
        text.push_str("{");
        for (index, entry) in node.inputs().chunks(2).enumerate() {
            let &[key, value] = entry else { return Err(self.malformed(node)) };
            text.push_str(if index == 0 { "" } else { ", " });
            text.push(&*self.use_of(key)?);
            text.push_str(": ");
            text.push(&*self.use_of(value)?);
        }
        text.push_str("}");
        text.push_str(if annotated { ")" } else { "" });
        Ok(())
    }

    fn get_attribute(&self, node: &Node, text: &mut Tagged) -> Result<(), Error> {
        let Some(name) = node.str_attribute("name") else { return Err(self.malformed(node)) };
        let object = self.use_of(self.input(node, 0)?)?;
        if is_identifier(name) {
            text.push(&object);
            text.push_str(&format!(".{name}"));
        } else {
            text.push_str("getattr(");
            text.push(&object);
            text.push_str(&format!(", {})", Constant::Str(name.clone()).graph_text()));
        }
        Ok(())
    }

    fn call_function(&self, node: &Node, text: &mut Tagged) -> Result<(), Error> {
        text.push(&*self.use_of(self.input(node, 0)?)?);
        self.call_arguments(node, text)
    }

    fn call_method(&mut self, node: &Node, text: &mut Tagged) -> Result<(), Error> {
        let Some(name) = node.str_attribute("name") else { return Err(self.malformed(node)) };
        let object = self.input(node, 0)?;
        text.push_str("(");
        text.push(&*self.use_of(object)?);
        text.push_str(&format!(").{name}"));
        self.call_arguments(node, text)?;
        match self.graph.ty(object) {
            ty @ (Type::Class(_) | Type::Interface(_)) => self.session.dependencies.add(ty),
            _ => return Err(self.malformed(node)),
        }
        Ok(())
    }

    /// The arguments after the first input, each with a comma after it.
    fn call_arguments(&self, node: &Node, text: &mut Tagged) -> Result<(), Error> {
        text.push_str("(");
        for &argument in node.inputs().iter().skip(1) {
            text.push(&*self.use_of(argument)?);
            text.push_str(", ");
        }
        text.push_str(")");
        Ok(())
    }

    /// The type of `torch._unwrap_optional(None)` cannot be told, so it is said.
    fn unwrap_optional(&self, node: &Node, text: &mut Tagged) -> Result<(), Error> {
        let input = self.input(node, 0)?;
        text.push_str("torch._unwrap_optional(");
        let is_none = *self.graph.ty(input) == Type::None
            || matches!(self.graph.constant(input), Some(Constant::None));
        if is_none {
            let ty = Type::optional(self.output_type(node)?.clone());
            text.push_str(&format!("annotate({}, ", self.annotation(&ty)));
        }
        text.push(&*self.use_of(input)?);
        text.push_str(if is_none { "))" } else { ")" });
        Ok(())
    }

    fn isinstance(&self, node: &Node, text: &mut Tagged) -> Result<(), Error> {
        let Some(Attribute::Types(types)) = node.attribute("types") else {
            return Err(self.malformed(node));
        };
        text.push_str("isinstance(");
        text.push(&*self.use_of(self.input(node, 0)?)?);
        let types: Vec<String> = types.iter().map(|ty| self.annotation(ty)).collect();
        text.push_str(&match types.as_slice() {
            [one] => format!(", {one})"),
            several => format!(", ({}))", several.join(", ")),
        });
        Ok(())
    }

    /// An operator by its qualified name, with the arguments that say more than its defaults.
    fn operator_call(&self, name: &str, id: NodeId, text: &mut Tagged) -> Result<(), Error> {
        let node = self.graph.node(id);
        let Some(operator) = self.graph.operator(id) else {
            let message = format!("{name} is not an operator that takes what it is given here");
            return Err(Error::at_node(node, message));
        };
        text.push_str(&operator_name(name));
        text.push_str("(");
        self.operator_arguments(node, &operator.schema, text)?;
        text.push_str(")");
        Ok(())
    }

    fn operator_arguments(
        &self,
        node: &Node,
        schema: &Schema,
        text: &mut Tagged,
    ) -> Result<(), Error> {
        let (arguments, inputs) = (&schema.arguments, node.inputs());
        if arguments.is_empty() {
            return Ok(());
        }
        if inputs.len() < arguments.len() || (inputs.len() > arguments.len() && !schema.is_vararg) {
            return Err(self.malformed(node));
        }
        let out = arguments.iter().rev().take_while(|argument| argument.is_out()).count();
        let necessary = self.necessary_arguments(arguments, inputs, out);
        for (index, &input) in inputs.iter().take(necessary).enumerate() {
            text.push_str(if index == 0 { "" } else { ", " });
            if let Some(argument) = arguments.get(index).filter(|argument| argument.kwarg_only) {
                text.push_str(&format!("{}=", argument.name));
            }
            text.push(&*self.use_of(input)?);
        }
        let first_out = arguments.len() - out;
        for (argument, &input) in
            arguments.iter().skip(first_out).zip(inputs.iter().skip(inputs.len() - out))
        {
            text.push_str(&format!(", {}=", argument.name));
            text.push(&*self.use_of(input)?);
        }
        Ok(())
    }

    /// How many of the arguments before the `out` ones have to be given: all up to the last that is
    /// not its default. PyTorch's `CalculateNecessaryArgs`.
    fn necessary_arguments(&self, arguments: &[Argument], inputs: &[ValueId], out: usize) -> usize {
        if arguments.len() < inputs.len() {
            return inputs.len();
        }
        let plain = arguments.len() - out;
        let given = arguments.iter().zip(inputs).take(plain);
        let is_default = |(argument, input): &(&Argument, &ValueId)| {
            argument.default.is_some() && argument.default == self.graph.constant(**input)
        };
        plain - given.rev().take_while(is_default).count()
    }

    fn push_values(&self, values: &[ValueId], text: &mut Tagged) -> Result<(), Error> {
        for (index, &value) in values.iter().enumerate() {
            text.push_str(if index == 0 { "" } else { ", " });
            text.push(&*self.use_of(value)?);
        }
        Ok(())
    }

    fn input(&self, node: &Node, index: usize) -> Result<ValueId, Error> {
        node.inputs().get(index).copied().ok_or_else(|| self.malformed(node))
    }

    fn output_type(&self, node: &Node) -> Result<&Type, Error> {
        match node.outputs() {
            &[output] => Ok(self.graph.ty(output)),
            _ => Err(self.malformed(node)),
        }
    }
}

/// An operator's name in code: `torch.` for `aten::`, `ops.` and its namespace for others.
fn operator_name(symbol: &str) -> String {
    match symbol {
        "aten::backward" => "torch.autograd.backward".into(),
        "aten::grad" => "torch.autograd.grad".into(),
        _ => match symbol.split_once("::") {
            Some(("aten", name)) => format!("torch.{name}"),
            Some((namespace, name)) => format!("ops.{namespace}.{name}"),
            None => symbol.into(),
        },
    }
}
