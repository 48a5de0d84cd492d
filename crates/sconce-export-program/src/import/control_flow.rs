//! Higher-order operators: those that are given graphs.

use sconce_ir::{BlockId, Constant, NodeId, Prim, Type, ValueId};

use super::builder::{Builder, Result, unsupported};
use super::operators::{find, operator_name};
use crate::Error;
use crate::schema::{Argument, ArgumentKind, Graph, Node};

impl Builder {
    /// Imports a call of a higher-order operator.
    pub(super) fn higher_order(&mut self, name: &str, node: &Node) -> Result<()> {
        let results = match name {
            "cond" => self.cond(node)?,
            "while_loop" => self.while_loop(node)?,
            "map_impl" => self.map(node)?,
            "scan" => self.scan(node)?,
            "wrap_with_set_grad_enabled" => {
                let operands = self.operands(node, 2)?;
                self.inline(graph(node, 1)?, &operands)?
            }
            "wrap_with_autocast" => self.region_of_autocast(node)?,
            "invoke_subgraph" => {
                let operands = self.operands(node, 2)?;
                self.inline(graph(node, 0)?, &operands)?
            }
            "with_effects" => return self.with_effects(node),
            "print" => return self.print(node),
            _ => {
                let given: Vec<(&str, &Argument)> =
                    node.inputs.iter().map(|input| (input.name.as_str(), &input.arg)).collect();
                return self.unknown(&format!("higher_order::{name}"), "", &given, &node.outputs);
            }
        };
        if node.outputs.iter().all(|output| matches!(output, Argument::None(_))) {
            return Ok(());
        }
        // A list of results stands for as many.
        if let [Argument::Tensors(tensors)] = node.outputs.as_slice() {
            if tensors.len() != results.len() {
                let (named, given) = (tensors.len(), results.len());
                return Err(Error::malformed(format!(
                    "{named} results are named, and there are {given}"
                )));
            }
            for (tensor, &result) in tensors.iter().zip(&results) {
                self.define(&tensor.name, result)?;
            }
            return Ok(());
        }
        self.bind(&results, &node.outputs)
    }

    /// The operands from a place on.
    fn operands(&mut self, node: &Node, from: usize) -> Result<Vec<ValueId>> {
        let operands = node.inputs.get(from..).unwrap_or_default();
        operands.iter().map(|input| self.plain(&input.arg)).collect()
    }

    fn list_of(&mut self, node: &Node, index: usize) -> Result<Vec<ValueId>> {
        match node.inputs.get(index) {
            Some(input) => self.values(&input.arg),
            None => Ok(Vec::new()),
        }
    }

    fn cond(&mut self, node: &Node) -> Result<Vec<ValueId>> {
        let condition = self.plain(find(&node.inputs, 0, "pred")?)?;
        let condition = self.converted(condition, &Type::Bool)?;
        let operands = self.list_of(node, 3)?;
        let branch = self.node(Prim::If, &[condition], &[]);
        let mut given: Vec<(BlockId, Vec<ValueId>)> = Vec::new();
        for index in [1, 2] {
            given.push(self.block_of(branch, graph(node, index)?, &operands)?);
        }
        let [(_, then), (_, otherwise)] = given.as_slice() else { return Ok(Vec::new()) };
        if then.len() != otherwise.len() {
            let (a, b) = (then.len(), otherwise.len());
            return Err(Error::malformed(format!("the branches of cond give {a} and {b} values")));
        }
        let mut outputs = Vec::new();
        for (&a, &b) in then.iter().zip(otherwise) {
            let ty = match (self.ty(a), self.ty(b)) {
                (a, b) if a == b => a.clone(),
                (Type::None, other) | (other, Type::None) => Type::optional(other.clone()),
                (a, b) => {
                    let message =
                        format!("the branches of cond give a value of {a} and one of {b}");
                    return Err(Error::malformed(message));
                }
            };
            outputs.push(self.graph.add_output(branch, ty));
        }
        for (block, values) in &given {
            for &value in values {
                self.graph.add_block_output(*block, value);
            }
        }
        Ok(outputs)
    }

    /// A loop that is still without a body: its node, the body, what the body is given for what is carried.
    fn open_loop(
        &mut self,
        most: ValueId,
        condition: ValueId,
        carried: &[ValueId],
    ) -> (NodeId, BlockId, ValueId, Vec<ValueId>) {
        let types: Vec<Type> = carried.iter().map(|&value| self.ty(value).clone()).collect();
        let inputs: Vec<ValueId> = [most, condition].iter().chain(carried).copied().collect();
        let node = self.node(Prim::Loop, &inputs, &types);
        let body = self.graph.add_block(node);
        let index = self.graph.add_block_input(body, Type::Int);
        let inside = types.iter().map(|ty| self.graph.add_block_input(body, ty.clone())).collect();
        (node, body, index, inside)
    }

    fn while_loop(&mut self, node: &Node) -> Result<Vec<ValueId>> {
        let (condition, body) = (graph(node, 0)?, graph(node, 1)?);
        let (carried, additional) = (self.list_of(node, 2)?, self.list_of(node, 3)?);
        let with = |carried: &[ValueId]| -> Vec<ValueId> {
            carried.iter().chain(&additional).copied().collect()
        };
        let first = self.condition(condition, &with(&carried))?;
        let most = self.int(i64::MAX);
        let (repeat, block, _, inside) = self.open_loop(most, first, &carried);
        let around = std::mem::replace(&mut self.block, block);
        let new = self.inline(body, &with(&inside))?;
        if new.len() != inside.len() {
            let (a, b) = (new.len(), inside.len());
            return Err(Error::malformed(format!(
                "the body of while_loop gives {a} values for {b}"
            )));
        }
        let mut next = Vec::new();
        for (value, &place) in new.into_iter().zip(&inside) {
            let ty = self.ty(place).clone();
            next.push(self.converted(value, &ty)?);
        }
        let again = self.condition(condition, &with(&next))?;
        self.block = around;
        self.graph.add_block_output(block, again);
        for value in next {
            self.graph.add_block_output(block, value);
        }
        Ok(self.graph.node(repeat).outputs().to_vec())
    }

    fn condition(&mut self, graph: &Graph, operands: &[ValueId]) -> Result<ValueId> {
        match *self.inline(graph, operands)? {
            [value] => self.converted(value, &Type::Bool),
            ref values => {
                let count = values.len();
                Err(Error::malformed(format!("the condition of while_loop gives {count} values")))
            }
        }
    }

    fn map(&mut self, node: &Node) -> Result<Vec<ValueId>> {
        let (rows, additional) = (self.list_of(node, 1)?, self.list_of(node, 2)?);
        self.by_rows(graph(node, 0)?, &[], &rows, &additional)
    }

    fn scan(&mut self, node: &Node) -> Result<Vec<ValueId>> {
        let init = self.list_of(node, 1)?;
        let (rows, additional) = (self.list_of(node, 2)?, self.list_of(node, 3)?);
        self.by_rows(graph(node, 0)?, &init, &rows, &additional)
    }

    /// Calls a graph for each row of tensors, with what is carried from one to the next: gives that, and the rest of
    /// what the graph gives, stacked.
    fn by_rows(
        &mut self,
        body: &Graph,
        init: &[ValueId],
        rows: &[ValueId],
        additional: &[ValueId],
    ) -> Result<Vec<ValueId>> {
        let Some(&first) = rows.first() else { return Err(Error::malformed("there are no rows")) };
        let stacked = body.outputs.len().checked_sub(init.len());
        let Some(stacked) = stacked else {
            return Err(Error::malformed("a graph gives fewer values than are carried"));
        };
        let zero = self.int(0);
        let count = self.known("aten::size.int", &[first, zero])?;
        let lists: Vec<ValueId> = (0..stacked).map(|_| self.list(Type::Tensor, &[])).collect();
        let always = self.constant(&Constant::Bool(true));
        let (repeat, block, index, inside) = self.open_loop(count, always, init);
        let around = std::mem::replace(&mut self.block, block);
        let mut operands = inside.clone();
        let dim = self.int(0);
        for &tensor in rows {
            operands.push(self.known("aten::select.int", &[tensor, dim, index])?);
        }
        operands.extend(additional);
        let given = self.inline(body, &operands)?;
        let mut next = Vec::new();
        for (&value, &place) in given.iter().zip(&inside) {
            let ty = self.ty(place).clone();
            next.push(self.converted(value, &ty)?);
        }
        for (&value, &list) in given.iter().skip(init.len()).zip(&lists) {
            let value = self.converted(value, &Type::Tensor)?;
            let append = sconce_ir::operators::find_full("aten::append.t")
                .ok_or_else(|| unsupported("the operator aten::append is not known"))?;
            let node = self.call(append, &[list, value]);
            let output = self.graph.node(node).output();
            self.graph.set_type(output, Type::list(Type::Tensor));
        }
        let again = self.constant(&Constant::Bool(true));
        self.block = around;
        self.graph.add_block_output(block, again);
        for value in next {
            self.graph.add_block_output(block, value);
        }
        let mut results = self.graph.node(repeat).outputs().to_vec();
        for list in lists {
            results.push(self.known("aten::stack", &[list, zero])?);
        }
        Ok(results)
    }

    fn region_of_autocast(&mut self, node: &Node) -> Result<Vec<ValueId>> {
        let device = match find(&node.inputs, 0, "device_type")? {
            Argument::String(device) => device.as_str(),
            _ => "",
        };
        let enabled = matches!(find(&node.inputs, 2, "enabled")?, Argument::Bool(true));
        let dtype = match find(&node.inputs, 1, "dtype")? {
            Argument::ScalarType(of) => {
                of.dtype().map(|dtype| i64::from(dtype.scalar_type_number()))
            }
            _ => None,
        };
        // The default of the CPU is bfloat16. Regions of other devices do not touch what is on the CPU.
        const BFLOAT16: i64 = 15;
        let region = match (device, enabled) {
            ("cpu", true) => Some(dtype.unwrap_or(BFLOAT16)),
            ("cpu", false) => None,
            _ => self.autocast,
        };
        let operands = self.operands(node, 5)?;
        let around = std::mem::replace(&mut self.autocast, region);
        let results = self.inline(graph(node, 4)?, &operands);
        self.autocast = around;
        results
    }

    /// An operator in the order that tokens say, which is that of the nodes. The first result is a token.
    fn with_effects(&mut self, node: &Node) -> Result<()> {
        let Argument::Operator(target) = find(&node.inputs, 1, "op")? else {
            return Err(Error::malformed("with_effects of what is not an operator"));
        };
        let outputs = node.outputs.get(1..).unwrap_or_default();
        let rest = node.inputs.get(2..).unwrap_or_default();
        if target == "torch.ops.higher_order.print" || target == "print" {
            return self.printed(rest);
        }
        let Some((symbol, overload)) = operator_name(target) else {
            return Err(unsupported(format!("the operator {target} is not supported")));
        };
        let known = sconce_ir::operators::find(&symbol, overload);
        let names: Vec<&str> = known.map_or_else(Vec::new, |operator| {
            operator.schema.arguments.iter().map(|argument| &*argument.name).collect()
        });
        let mut given = Vec::new();
        let mut names = names.into_iter();
        for input in rest {
            let by_name = input.kind == Some(ArgumentKind::Keyword) || !input.name.is_empty();
            let name = match by_name {
                true => input.name.as_str(),
                false => names.next().unwrap_or_default(),
            };
            given.push((name, &input.arg));
        }
        self.operator(&symbol, overload, &given, outputs)
    }

    fn print(&mut self, node: &Node) -> Result<()> {
        self.printed(&node.inputs)
    }

    /// `print(format.format(**named))`.
    fn printed(&mut self, inputs: &[crate::schema::NamedArgument]) -> Result<()> {
        let Some((Argument::String(format), rest)) =
            inputs.split_first().map(|(first, rest)| (&first.arg, rest))
        else {
            return Err(Error::malformed("print without a text"));
        };
        let (text, order) = super::special::format_parts(format)?;
        let mut operands = vec![self.constant(&Constant::Str(text.into()))];
        let positional: Vec<&Argument> =
            rest.iter().filter(|input| input.name.is_empty()).map(|input| &input.arg).collect();
        for (place, name) in order.iter().enumerate() {
            let named = rest.iter().find(|input| !name.is_empty() && input.name == *name);
            let index = name.parse().unwrap_or(place);
            let argument = named.map(|input| &input.arg).or_else(|| positional.get(index).copied());
            let argument =
                argument.ok_or_else(|| Error::malformed(format!("print is not given '{name}'")))?;
            operands.push(self.plain(argument)?);
        }
        let operator = sconce_ir::operators::find_full("aten::format")
            .ok_or_else(|| unsupported("the operator aten::format is not known"))?;
        let node = self.call(operator, &operands);
        let text = self.graph.node(node).output();
        self.node(Prim::Print, &[text], &[]);
        Ok(())
    }
}

/// The graph that a higher-order operator is given at a place.
fn graph(node: &Node, index: usize) -> Result<&Graph> {
    match node.inputs.get(index).map(|input| &input.arg) {
        Some(Argument::Graph(graph)) => Ok(&graph.graph),
        _ => Err(Error::malformed(format!("argument {index} of {} is no graph", node.target))),
    }
}
